// Comparing, and tensors in files, through the C interface.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "c_handles.h"

namespace nnex::test {
namespace {

constexpr char kRight[] =
    "graph main(x: f32[1,2]) -> (y)\n{\n  a = mul(x, f32[](2.0));\n  b = add(a, f32[](1.0));\n  y = neg(b);\n}\n";
constexpr char kWrong[] =
    "graph main(x: f32[1,2]) -> (y)\n{\n  a = mul(x, f32[](2.0));\n  b = add(a, f32[](1.5));\n  y = neg(b);\n}\n";

nnex_compare_options comparing() {
  nnex_compare_options o = {};
  o.size = sizeof o;
  return o;
}

ComparisonHandle compared(const SourceHandle& a, const SourceHandle& b, const nnex_compare_options* o = nullptr) {
  const ValueHandle x = floats({1, 2}, {1, 2});
  nnex_value* in = x.get();
  return made<ComparisonHandle>([&](nnex_comparison** c) { return nnex_compare(a.get(), b.get(), &in, 1, o, c); });
}

ComparisonHandle compared(const ValueHandle& a, const ValueHandle& b, const nnex_compare_options* o = nullptr) {
  return made<ComparisonHandle>([&](nnex_comparison** c) { return nnex_compare_values(a.get(), b.get(), o, c); });
}

TEST(CCompare, FindsTheFirstTensorThatDiffers) {
  const SourceHandle a = onnx_of(parsed(kRight).get()), b = onnx_of(parsed(kWrong).get());
  const ComparisonHandle same = compared(a, a);
  EXPECT_TRUE(nnex_comparison_same(same.get()));
  EXPECT_EQ(nnex_comparison_first(same.get()), nullptr);
  EXPECT_EQ(nnex_comparison_layers(same.get()), 0u);

  const ComparisonHandle c = compared(a, b);
  EXPECT_FALSE(nnex_comparison_same(c.get()));
  ASSERT_EQ(nnex_comparison_outputs(c.get()), 1u);
  const nnex_compared* y = nnex_comparison_output(c.get(), 0);
  EXPECT_STREQ(nnex_compared_a(y), "y");
  EXPECT_STREQ(nnex_compared_b(y), "y");
  EXPECT_STREQ(nnex_compared_type(y), "f32[1,2]");
  EXPECT_STREQ(nnex_compared_by(y), "port");
  EXPECT_STREQ(nnex_compared_mismatch(y), "");
  EXPECT_FALSE(nnex_compared_same(y));
  EXPECT_EQ(nnex_compared_count(y), 2);
  EXPECT_EQ(nnex_compared_differing(y), 2);
  EXPECT_FLOAT_EQ(static_cast<float>(nnex_compared_max_absolute(y)), 0.5F);
  const char *worst_a = nullptr, *worst_b = nullptr;
  EXPECT_GE(nnex_compared_worst(y, &worst_a, &worst_b), 0);
  EXPECT_STRNE(worst_a, worst_b);
  const nnex_compared* first = nnex_comparison_first(c.get());
  ASSERT_NE(first, nullptr);
  EXPECT_STREQ(nnex_compared_a(first), "b");
  EXPECT_STREQ(nnex_compared_op(first), "add");
  ASSERT_NE(nnex_comparison_cause(c.get(), 0), nullptr);
  EXPECT_EQ(with(nnex_comparison_cause(c.get(), 0), "add"), "");
  EXPECT_EQ(nnex_comparison_cause(c.get(), 1), nullptr);

  nnex_compare_options o = comparing();
  o.no_search = true;
  EXPECT_EQ(nnex_comparison_first(compared(a, b, &o).get()), nullptr);
  o.no_search = false, o.layers = true;
  const ComparisonHandle layers = compared(a, a, &o);
  EXPECT_GE(nnex_comparison_layers(layers.get()), 3u);
  EXPECT_TRUE(nnex_compared_same(nnex_comparison_layer(layers.get(), 0)));
  o.atol = 1;
  EXPECT_TRUE(nnex_comparison_same(compared(a, b, &o).get()));
}

TEST(CCompare, IsolatesTheNodesThatDiffer) {
  const SourceHandle a = onnx_of(parsed(kRight).get()), b = onnx_of(parsed(kWrong).get());
  const std::string path = ::testing::TempDir() + "c_isolated.onnx";
  nnex_compare_options o = comparing();
  o.isolate = path.c_str(), o.overwrite = true;
  const char* note = nullptr;
  bool reproduced = false;
  const ComparisonHandle written = compared(a, b, &o);
  EXPECT_TRUE(nnex_comparison_isolated(written.get(), &note, &reproduced));
  EXPECT_STREQ(note, "");
  EXPECT_TRUE(reproduced);
  EXPECT_TRUE(std::filesystem::exists(path));
  o.overwrite = false;
  const ComparisonHandle there = compared(a, b, &o);
  EXPECT_TRUE(nnex_comparison_isolated(there.get(), &note, &reproduced));
  EXPECT_EQ(with(note, "exists"), "");
  EXPECT_FALSE(reproduced);
  EXPECT_FALSE(nnex_comparison_isolated(compared(a, a, &o).get(), &note, nullptr));
  EXPECT_EQ(note, nullptr);
  o.isolate = "cut.txt";
  EXPECT_EQ(
      refused<ComparisonHandle>([&](nnex_comparison** c) { return nnex_compare(a.get(), b.get(), nullptr, 0, &o, c); }),
      "'cut.txt': nodes that differ are written to a name that ends in .onnx");
}

TEST(CCompare, TensorsFromElsewhere) {
  const SourceHandle a = onnx_of(parsed(kRight).get());
  const ValueHandle x = floats({1, 2}, {1, 2}), y = floats({1, 2}, {-3, -5}), b = floats({1, 2}, {3, 6});
  nnex_value *in = x.get(), *there[] = {y.get(), b.get()};
  const char* names[] = {"y", "b"};
  const auto with_tensors = [&](size_t count, const nnex_compare_options* o) {
    return made<ComparisonHandle>(
        [&](nnex_comparison** c) { return nnex_compare_tensors(a.get(), names, there, count, &in, 1, o, c); });
  };
  EXPECT_TRUE(nnex_comparison_same(with_tensors(1, nullptr).get()));
  nnex_compare_options o = comparing();
  o.layers = true;
  const ComparisonHandle c = with_tensors(2, &o);
  EXPECT_FALSE(nnex_comparison_same(c.get()));
  ASSERT_NE(nnex_comparison_first(c.get()), nullptr);
  EXPECT_STREQ(nnex_compared_a(nnex_comparison_first(c.get())), "b");
  const ComparisonHandle none = with_tensors(0, nullptr);
  EXPECT_STREQ(nnex_comparison_only_a(none.get(), 0), "y");
  EXPECT_EQ(nnex_comparison_only_a(none.get(), 1), nullptr);
  EXPECT_EQ(nnex_comparison_only_b(none.get(), 0), nullptr);
}

TEST(CCompare, ValuesWithinATolerance) {
  const ValueHandle a = floats({2}, {1, 100}), b = floats({2}, {1, 100.001F}), c = floats({3}, {1, 2, 3});
  EXPECT_TRUE(nnex_comparison_same(compared(a, b).get()));
  nnex_compare_options exact = comparing();
  exact.atol = exact.rtol = -1;
  const ComparisonHandle ab = compared(a, b, &exact);
  EXPECT_FALSE(nnex_comparison_same(ab.get()));
  EXPECT_EQ(nnex_compared_worst(nnex_comparison_output(ab.get(), 0), nullptr, nullptr), 1);
  exact.ulp = 1000;
  EXPECT_TRUE(nnex_comparison_same(compared(a, b, &exact).get()));
  EXPECT_TRUE(std::isinf(nnex_compared_sqnr_db(nnex_comparison_output(compared(a, a).get(), 0))));
  const ComparisonHandle ac = compared(a, c);
  EXPECT_FALSE(nnex_comparison_same(ac.get()));
  EXPECT_STREQ(nnex_compared_mismatch(nnex_comparison_output(ac.get(), 0)), "found f32[3]; needed f32[2]");
  for (auto number :
       {nnex_compared_max_absolute, nnex_compared_max_relative, nnex_compared_cosine, nnex_compared_sqnr_db})
    EXPECT_TRUE(std::isnan(number(nnex_comparison_output(ac.get(), 0))));
}

TEST(CCompare, RefusesWrongArguments) {
  const SourceHandle a = onnx_of(parsed(kRight).get());
  const ValueHandle x = floats({1, 2}, {}), wide = floats({1, 3}, {});
  nnex_value *in = x.get(), *wrong = wide.get(), *none = nullptr;
  nnex_compare_options o = comparing();
  const nnex_source* s = a.get();
  const char* y = "y";
  const struct {
    const char* needed;
    std::function<nnex_error*(nnex_comparison**)> call;
  } rows[] = {
      {"found NULL for 'a'", [&](nnex_comparison** c) { return nnex_compare(nullptr, s, &in, 1, nullptr, c); }},
      {"found NULL for 'b'", [&](nnex_comparison** c) { return nnex_compare(s, nullptr, &in, 1, nullptr, c); }},
      {"found NULL for 'inputs'", [&](nnex_comparison** c) { return nnex_compare(s, s, nullptr, 1, nullptr, c); }},
      {"found NULL for 'inputs[0]'", [&](nnex_comparison** c) { return nnex_compare(s, s, &none, 1, nullptr, c); }},
      {"needed f32[1,2]", [&](nnex_comparison** c) { return nnex_compare(s, s, &wrong, 1, nullptr, c); }},
      {"", [&](nnex_comparison** c) { return nnex_compare(s, s, nullptr, 0, nullptr, c); }},
      {"found NULL for 'names'",
       [&](nnex_comparison** c) { return nnex_compare_tensors(s, nullptr, &in, 1, &in, 1, nullptr, c); }},
      {"found NULL for 'tensors'",
       [&](nnex_comparison** c) { return nnex_compare_tensors(s, &y, nullptr, 1, &in, 1, nullptr, c); }},
      {"found the name 'y' twice",
       [&](nnex_comparison** c) {
         const char* twice[] = {"y", "y"};
         nnex_value* tensors[] = {in, in};
         return nnex_compare_tensors(s, twice, tensors, 2, &in, 1, nullptr, c);
       }},
      {"found NULL for 'a'", [&](nnex_comparison** c) { return nnex_compare_values(nullptr, in, nullptr, c); }},
      {"found NULL for 'b'", [&](nnex_comparison** c) { return nnex_compare_values(in, nullptr, nullptr, c); }},
      {"'size' of nnex_compare_options",
       [&](nnex_comparison** c) {
         nnex_compare_options forgotten = {};
         return nnex_compare_values(in, in, &forgotten, c);
       }},
      {"found -2 threads; needed 0 or more",
       [&](nnex_comparison** c) {
         o.threads = -2;
         return nnex_compare(s, s, &in, 1, &o, c);
       }},
      {"found a tolerance that is no number",
       [&](nnex_comparison** c) {
         nnex_compare_options odd = comparing();
         odd.rtol = std::numeric_limits<double>::quiet_NaN();
         return nnex_compare_values(in, in, &odd, c);
       }},
  };
  for (const auto& row : rows) {
    const std::string text = refused<ComparisonHandle>(row.call);
    EXPECT_EQ(with(text, row.needed), "");
    EXPECT_NE(text, "ok");
  }
  EXPECT_EQ(said(nnex_compare_values(in, in, nullptr, nullptr)), "found NULL for 'out'");
  EXPECT_FALSE(nnex_comparison_same(nullptr));
  EXPECT_EQ(nnex_comparison_output(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_comparison_layer(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_comparison_first(nullptr), nullptr);
  EXPECT_EQ(nnex_comparison_cause(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_compared_a(nullptr), nullptr);
  EXPECT_EQ(nnex_compared_by(nullptr), nullptr);
  EXPECT_FALSE(nnex_compared_same(nullptr));
  EXPECT_EQ(nnex_compared_worst(nullptr, nullptr, nullptr), -1);
  nnex_comparison_free(nullptr);
}

// ---- Tensors in files

std::string in_temp(const char* name) { return ::testing::TempDir() + "c_tensor_" + name; }

ValueHandle read_back(const std::string& path) {
  return made<ValueHandle>([&](nnex_value** v) { return nnex_tensor_read(path.c_str(), v); });
}

TEST(CTensorFile, EveryFormatComesBack) {
  const ValueHandle t = floats({2, 3}, {1, 2, 3, 4, 5, 6.5F});
  for (const char* name : {"t.npy", "t.npz", "t.pb", "t.dat", "t.json"}) {
    SCOPED_TRACE(name);
    const std::string path = in_temp(name);
    EXPECT_EQ(said(nnex_tensor_write(t.get(), path.c_str(), "t", true)), "ok");
    const ValueHandle back = read_back(path);
    EXPECT_STREQ(nnex_value_text(back.get()), "f32[2,3]");
    EXPECT_EQ(numbers_of(back.get()), numbers_of(t.get()));
  }
  EXPECT_EQ(with(said(nnex_tensor_write(t.get(), in_temp("t.npy").c_str(), nullptr, false)), "exists"), "");
  EXPECT_NE(said(nnex_tensor_write(t.get(), in_temp("t.xyz").c_str(), nullptr, true)), "ok");
}

TEST(CTensorFile, TextsBecomeWhatIsAskedFor) {
  const std::string path = in_temp("typed.json"), binary = in_temp("typed.npy");
  EXPECT_EQ(said(nnex_tensor_write(floats({2}, {1, 2}).get(), path.c_str(), nullptr, true)), "ok");
  EXPECT_EQ(said(nnex_tensor_write(floats({2}, {1, 2}).get(), binary.c_str(), nullptr, true)), "ok");
  const auto as = [](const std::string& file, nnex_dtype dtype) {
    return [=](nnex_value** v) { return nnex_tensor_read_as(file.c_str(), dtype, v); };
  };
  EXPECT_STREQ(nnex_value_text(made<ValueHandle>(as(path, NNEX_F64)).get()), "f64[2]");
  EXPECT_STREQ(nnex_value_text(made<ValueHandle>(as(path, NNEX_NONE)).get()), "f32[2]");
  EXPECT_STREQ(nnex_value_text(made<ValueHandle>(as(binary, NNEX_F32)).get()), "f32[2]");
  EXPECT_EQ(with(refused<ValueHandle>(as(binary, NNEX_I64)), "found f32[2]; needed elements of i64"), "");
  EXPECT_NE(refused<ValueHandle>(as(path, static_cast<nnex_dtype>(NNEX_STR + 1))), "ok");
}

TEST(CTensorFile, ArchivesHoldNames) {
  const ValueHandle a = floats({1}, {1}), b = floats({2}, {2, 3});
  nnex_value* both[] = {a.get(), b.get()};
  const char* names[] = {"a", "b"};
  const std::string path = in_temp("two.npz");
  EXPECT_EQ(said(nnex_tensors_write(path.c_str(), names, both, 2, true)), "ok");
  const auto all = made<TensorsHandle>([&](nnex_tensors** t) { return nnex_tensors_read(path.c_str(), t); });
  ASSERT_EQ(nnex_tensors_count(all.get()), 2u);
  EXPECT_STREQ(nnex_tensors_name(all.get(), 1), "b");
  EXPECT_EQ(nnex_tensors_name(all.get(), 2), nullptr);
  const auto item = made<ValueHandle>([&](nnex_value** v) { return nnex_tensors_item(all.get(), 1, v); });
  EXPECT_EQ(numbers_of(item.get()), (std::vector<float>{2, 3}));
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_tensors_item(all.get(), 2, v); }),
            "tensor 2 of a file that has 2");
  EXPECT_NE(refused<ValueHandle>([&](nnex_value** v) { return nnex_tensor_read(path.c_str(), v); }), "ok");
}

TEST(CTensorFile, FilesBecomeInputs) {
  const GraphHandle graph =
      parsed("graph main(x: f32[1,3], n: i64[1,3]) -> (y, m)\n{\n  y = neg(x);\n  m = neg(n);\n}\n");
  const nnex_port *x = nnex_graph_input(graph.get(), 0), *n = nnex_graph_input(graph.get(), 1);
  const std::string path = in_temp("x.json");
  EXPECT_EQ(said(nnex_tensor_write(floats({1, 3}, {1, 2, 3}).get(), path.c_str(), nullptr, true)), "ok");
  const auto value = made<ValueHandle>([&](nnex_value** v) { return nnex_port_read(x, path.c_str(), nullptr, v); });
  EXPECT_EQ(numbers_of(value.get()), (std::vector<float>{1, 2, 3}));
  nnex_input_options picture = {};
  picture.size = sizeof picture, picture.layout = "nhwc";
  EXPECT_EQ(with(refused<ValueHandle>([&](nnex_value** v) { return nnex_port_read(x, path.c_str(), &picture, v); }),
                 "needed a picture for them"),
            "");
  nnex_input_options cast = {};
  cast.size = sizeof cast, cast.cast = true;
  const auto whole = made<ValueHandle>([&](nnex_value** v) { return nnex_port_read(n, path.c_str(), &cast, v); });
  EXPECT_EQ(nnex_tensor_dtype(whole.get()), NNEX_I64);
  const std::string text = "[[4, 5, 6]]";
  const auto bytes = made<ValueHandle>(
      [&](nnex_value** v) { return nnex_port_read_memory(x, text.data(), text.size(), nullptr, nullptr, v); });
  EXPECT_EQ(numbers_of(bytes.get()), (std::vector<float>{4, 5, 6}));
}

TEST(CTensorFile, APictureBecomesPlanes) {
  const GraphHandle graph = parsed("graph main(x: f32[1,3,1,2]) -> (y)\n{\n  y = neg(x);\n}\n");
  const nnex_port* x = nnex_graph_input(graph.get(), 0);
  const std::string path = in_temp("p.ppm");
  std::ofstream(path, std::ios::binary) << "P6\n2 1\n255\n" << std::string("\xFF\0\0\0\0\x33", 6);  // red, dark blue
  const double mean = 0.5, scale = 0.5;
  nnex_input_options o = {};
  o.size = sizeof o, o.mean = &mean, o.mean_count = 1, o.scale = &scale, o.scale_count = 1;
  const auto read = [&](const nnex_input_options* options) {
    return numbers_of(
        made<ValueHandle>([&](nnex_value** v) { return nnex_port_read(x, path.c_str(), options, v); }).get());
  };
  const std::vector<float> planes = {1, 0, 0, 0, 0, 0.2F}, centred = {1, -1, -1, -1, -1, -0.6F};
  const std::vector<float> plain = read(nullptr), scaled = read(&o);
  ASSERT_EQ(plain.size(), 6u);
  ASSERT_EQ(scaled.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_FLOAT_EQ(plain[i], planes[i]);
    EXPECT_FLOAT_EQ(scaled[i], centred[i]);
  }
  o.bgr = true, o.mean_count = o.scale_count = 0;
  const std::vector<float> bgr = read(&o);
  ASSERT_EQ(bgr.size(), 6u);
  EXPECT_FLOAT_EQ(bgr[4], 1);
  o.layout = "chw";
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_port_read(x, path.c_str(), &o, v); }),
            "found layout 'chw'; needed nchw or nhwc");
}

TEST(CTensorFile, SoundOfAnotherRateIsRefused) {
  const GraphHandle graph = parsed("graph main(x: f32[2]) -> (y)\n{\n  y = neg(x);\n}\n");
  const nnex_port* x = nnex_graph_input(graph.get(), 0);
  // RIFF: PCM, one channel, 8,000 samples a second of 16 bits; 0.5 and -1.
  const std::string wav(
      "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0\0\x40\0\x80", 48);
  nnex_input_options o = {};
  o.size = sizeof o, o.sample_rate = 8000;
  const auto read = [&](nnex_value** v) { return nnex_port_read_memory(x, wav.data(), wav.size(), "x.wav", &o, v); };
  EXPECT_EQ(numbers_of(made<ValueHandle>(read).get()), (std::vector<float>{0.5F, -1}));
  o.sample_rate = 16000;
  EXPECT_EQ(with(refused<ValueHandle>(read), "found 8000 samples a second; needed 16000"), "");
  // A program that was compiled before there was this option.
  o.size = offsetof(nnex_input_options, sample_rate);
  EXPECT_EQ(numbers_of(made<ValueHandle>(read).get()), (std::vector<float>{0.5F, -1}));
}

TEST(CTensorFile, RefusesWrongArguments) {
  const GraphHandle graph = parsed("graph main(x: f32[1,3]) -> (y)\n{\n  y = neg(x);\n}\n");
  const nnex_port* x = nnex_graph_input(graph.get(), 0);
  const ValueHandle t = floats({1, 2}, {});
  nnex_value* one = t.get();
  const char* name = "t";
  const auto list = made<ValueHandle>([&](nnex_value** v) { return nnex_sequence_make(&one, 1, v); });
  nnex_input_options o = {};
  o.size = sizeof o, o.mean_count = 3;
  const struct {
    const char* needed;
    std::function<nnex_error*(nnex_value**)> call;
  } rows[] = {
      {"found NULL for 'path'", [&](nnex_value** v) { return nnex_tensor_read(nullptr, v); }},
      {"nosuch.npy", [&](nnex_value** v) { return nnex_tensor_read("nosuch.npy", v); }},
      {"found NULL for 'tensors'", [&](nnex_value** v) { return nnex_tensors_item(nullptr, 0, v); }},
      {"found NULL for 'input'", [&](nnex_value** v) { return nnex_port_read(nullptr, "x.npy", nullptr, v); }},
      {"found NULL for 'path'", [&](nnex_value** v) { return nnex_port_read(x, nullptr, nullptr, v); }},
      {"found NULL for 'bytes'",
       [&](nnex_value** v) { return nnex_port_read_memory(x, nullptr, 3, nullptr, nullptr, v); }},
      {"in.json", [&](nnex_value** v) { return nnex_port_read_memory(x, "[[1, 2]", 7, "in.json", nullptr, v); }},
      {"found NULL for 'options->mean'",
       [&](nnex_value** v) { return nnex_port_read_memory(x, "[[1, 2, 3]]", 11, nullptr, &o, v); }},
      {"'size' of nnex_input_options",
       [&](nnex_value** v) {
         const nnex_input_options forgotten = {};
         return nnex_port_read_memory(x, "[[1, 2, 3]]", 11, nullptr, &forgotten, v);
       }},
  };
  for (const auto& row : rows) EXPECT_EQ(with(refused<ValueHandle>(row.call), row.needed), "");
  EXPECT_EQ(said(nnex_tensor_read("x.npy", nullptr)), "found NULL for 'out'");
  EXPECT_EQ(said(nnex_tensor_write(nullptr, "x.npy", nullptr, true)), "found NULL for 'tensor'");
  EXPECT_EQ(said(nnex_tensor_write(t.get(), nullptr, nullptr, true)), "found NULL for 'path'");
  EXPECT_EQ(said(nnex_tensor_write(list.get(), "x.npy", nullptr, true)), "found sequence of 1; needed a tensor");
  EXPECT_EQ(said(nnex_tensors_write("x.npz", nullptr, &one, 1, true)), "found NULL for 'names'");
  EXPECT_EQ(said(nnex_tensors_write("x.npz", &name, nullptr, 1, true)), "found NULL for 'tensors'");
  one = nullptr;
  EXPECT_EQ(said(nnex_tensors_write("x.npz", &name, &one, 1, true)), "found NULL for 'tensors[0]'");
  EXPECT_EQ(refused<TensorsHandle>([](nnex_tensors** a) { return nnex_tensors_read(nullptr, a); }),
            "found NULL for 'path'");
  EXPECT_EQ(nnex_tensors_count(nullptr), 0u);
  EXPECT_EQ(nnex_tensors_name(nullptr, 0), nullptr);
  nnex_tensors_free(nullptr);
}

}  // namespace
}  // namespace nnex::test
