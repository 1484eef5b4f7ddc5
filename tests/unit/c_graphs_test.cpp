// Graphs, carried outputs and quantising through the C interface.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>

#include "c_handles.h"
#include "normal.h"

namespace nnex::test {
namespace {

/// A cache of rows: present is past with x behind it, y the sums of its columns.
GraphHandle cache() {
  return parsed(
      "graph main(past_key: f32[past,2], x: f32[1,2]) -> (present_key, y)\n{\n"
      "  present_key = concat(past_key, x, axis = 0);\n"
      "  y = sum_reduce(present_key, i64[1](0));\n}\n");
}

// ---- Carried outputs

TEST(CCarry, ACacheGrowsFromRunToRun) {
  const GraphHandle graph = cache();
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  EXPECT_EQ(said(nnex_load_options_carry(load.get(), "present_key", "past_key")), "ok");
  const ModelHandle model = compiled(graph.get(), load.get());
  ASSERT_EQ(nnex_model_inputs(model.get()), 1u);
  ASSERT_EQ(nnex_model_outputs(model.get()), 1u);
  ASSERT_EQ(nnex_model_states(model.get()), 1u);
  EXPECT_STREQ(nnex_port_name(nnex_model_state(model.get(), 0)), "past_key");
  const SessionHandle session = session_of(model.get());
  for (float step = 1; step <= 5; ++step)
    EXPECT_EQ(numbers_of(run(session.get(), floats({1, 2}, {1, step})).get()),
              (std::vector<float>{step, step * (step + 1) / 2}));
  const auto kept = made<ValueHandle>([&](nnex_value** v) { return nnex_session_state(session.get(), "past_key", v); });
  EXPECT_STREQ(nnex_value_text(kept.get()), "f32[5,2]");
  EXPECT_EQ(said(nnex_session_reset_states(session.get())), "ok");
  EXPECT_EQ(numbers_of(run(session.get(), floats({1, 2}, {3, 4})).get()), (std::vector<float>{3, 4}));
}

TEST(CCarry, LikelyPairsAreThoseOfAnInspection) {
  const GraphHandle graph = parsed(
      "graph main(p 'past_key_values.0.key': f32[past,2], x: f32[1,2]) -> (y, q 'present.0.key')\n{\n"
      "  y = relu(x);\n  q 'present.0.key' = concat(p, x, axis = 0);\n}\n");
  const SourceHandle source = onnx_of(graph.get());
  const auto seen = made<InspectionHandle>([&](nnex_inspection** i) { return nnex_inspect(source.get(), nullptr, i); });
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  size_t count = 9;
  EXPECT_EQ(said(nnex_load_options_carry_likely(load.get(), seen.get(), &count)), "ok");
  EXPECT_EQ(count, 1u);
  const auto model = made<ModelHandle>([&](nnex_model** m) { return nnex_model_load(source.get(), load.get(), m); });
  ASSERT_EQ(nnex_model_states(model.get()), 1u);
  EXPECT_STREQ(nnex_port_name(nnex_model_state(model.get(), 0)), "past_key_values.0.key");

  EXPECT_EQ(said(nnex_load_options_carry_likely(load.get(), nullptr, &count)), "found NULL for 'inspection'");
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(said(nnex_load_options_carry_likely(nullptr, seen.get(), nullptr)), "found NULL for 'options'");
}

TEST(CCarry, RefusesWhatDoesNotFit) {
  const GraphHandle graph = cache();
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  EXPECT_EQ(said(nnex_load_options_carry(nullptr, "y", "x")), "found NULL for 'options'");
  EXPECT_EQ(said(nnex_load_options_carry(load.get(), nullptr, "x")), "found NULL for 'output'");
  EXPECT_EQ(said(nnex_load_options_carry(load.get(), "y", nullptr)), "found NULL for 'input'");
  EXPECT_EQ(said(nnex_load_options_carry(load.get(), "present_kei", "past_key")), "ok");
  EXPECT_EQ(with(refused<ModelHandle>([&](nnex_model** m) { return nnex_model_compile(graph.get(), load.get(), m); }),
                 "present_key"),
            "");
}

TEST(CSession, PreparesForTheShapesOfTensors) {
  const GraphHandle graph = parsed("graph main(x: f32[N,2]) -> (y)\n{\n  y = relu(x);\n}\n");
  const ModelHandle model = compiled(graph.get());
  const SessionHandle session = session_of(model.get());
  const ValueHandle x = floats({4, 2}, {-1, 2}), wrong = floats({4, 3}, {});
  nnex_value *good = x.get(), *bad = wrong.get();
  EXPECT_NE(said(nnex_session_prepare(session.get())), "ok");
  EXPECT_EQ(said(nnex_session_prepare_for(session.get(), &good, 1)), "ok");
  EXPECT_EQ(numbers_of(run(session.get(), x).get())[1], 2);
  EXPECT_NE(said(nnex_session_prepare_for(session.get(), &bad, 1)), "ok");
  EXPECT_EQ(said(nnex_session_prepare_for(session.get(), nullptr, 0)), "found 0 inputs; the model takes 1");
  EXPECT_EQ(said(nnex_session_prepare_for(session.get(), nullptr, 1)), "found NULL for 'inputs'");
  EXPECT_EQ(said(nnex_session_prepare_for(nullptr, &good, 1)), "found NULL for 'session'");
}

// ---- Graphs

constexpr char kTwoLayers[] =
    "graph main(x: f32[N,2]) -> (y)\n{\n  a = mul(x, f32[](2.0));\n  b = relu(a);\n  y = add(b, f32[](1.0));\n}\n";

TEST(CGraph, IsReadPrintedCompiledAndWritten) {
  const GraphHandle graph = parsed(kTwoLayers);
  ASSERT_EQ(nnex_graph_inputs(graph.get()), 1u);
  ASSERT_EQ(nnex_graph_outputs(graph.get()), 1u);
  EXPECT_EQ(nnex_graph_nodes(graph.get()), 3u);
  EXPECT_STREQ(nnex_port_name(nnex_graph_input(graph.get(), 0)), "x");
  EXPECT_STREQ(nnex_port_type(nnex_graph_input(graph.get(), 0)), "f32[N,2]");
  EXPECT_EQ(nnex_port_rank(nnex_graph_output(graph.get(), 0)), 2);
  EXPECT_EQ(nnex_port_extent(nnex_graph_output(graph.get(), 0), 0), -1);
  EXPECT_EQ(nnex_graph_output(graph.get(), 1), nullptr);
  const char* text = nnex_graph_text(graph.get(), true);
  EXPECT_EQ(text, nnex_graph_text(graph.get(), true));  // lives as long as the graph
  EXPECT_STREQ(nnex_graph_text(parsed(text).get(), true), text);

  const ModelHandle model = compiled(graph.get());
  EXPECT_EQ(numbers_of(run(session_of(model.get()).get(), floats({1, 2}, {-1, 3})).get()), (std::vector<float>{1, 7}));
  const auto ran = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_of_model(model.get(), g); });
  EXPECT_GE(nnex_graph_nodes(ran.get()), 1u);

  nnex_save_options save = {};
  save.size = sizeof save, save.overwrite = true;
  const std::string path = ::testing::TempDir() + "c_graph.onnx";
  EXPECT_EQ(said(nnex_graph_save(graph.get(), path.c_str(), &save)), "ok");
  const auto source = made<SourceHandle>([&](nnex_source** s) { return nnex_source_path(path.c_str(), s); });
  const auto again = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_load(source.get(), nullptr, g); });
  EXPECT_EQ(nnex_graph_nodes(again.get()), 3u);
  save.overwrite = false;
  EXPECT_NE(said(nnex_graph_save(graph.get(), path.c_str(), &save)), "ok");
}

TEST(CGraph, ShortTextsLeaveLongConstantsOut) {
  const GraphHandle graph = parsed(
      "graph main(x: f32[20]) -> (y)\n{\n  y = add(x, f32[20](1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, "
      "12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0));\n}\n");
  EXPECT_EQ(with(nnex_graph_text(graph.get(), true), "1.5"), "");
  EXPECT_EQ(std::strstr(nnex_graph_text(graph.get(), false), "1.5"), nullptr);
  EXPECT_EQ(with(nnex_graph_text(graph.get(), false), "..."), "");
}

TEST(CGraph, EditsMakeOthers) {
  const GraphHandle graph = parsed(kTwoLayers);
  const std::string before = nnex_graph_text(graph.get(), true);
  const char *a = "a", *b = "b", *x = "x", *image = "image";
  const auto part = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_extract(graph.get(), &a, 1, &b, 1, g); });
  EXPECT_EQ(nnex_graph_nodes(part.get()), 1u);
  EXPECT_STREQ(nnex_port_name(nnex_graph_input(part.get(), 0)), "a");
  const auto whole =
      made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_extract(graph.get(), nullptr, 0, nullptr, 0, g); });
  EXPECT_EQ(nnex_graph_nodes(whole.get()), 3u);
  const auto renamed =
      made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_rename(graph.get(), &x, &image, 1, g); });
  EXPECT_STREQ(nnex_port_name(nnex_graph_input(renamed.get(), 0)), "image");
  const auto batch =
      made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_set_batch(graph.get(), 3, nullptr, g); });
  EXPECT_STREQ(nnex_port_type(nnex_graph_input(batch.get(), 0)), "f32[3,2]");
  const auto stripped = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_strip(graph.get(), true, g); });
  EXPECT_EQ(with(nnex_graph_text(stripped.get(), true), "relu"), "");
  const auto simple = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_simplify(graph.get(), nullptr, g); });
  EXPECT_LE(nnex_graph_nodes(simple.get()), 3u);
  EXPECT_EQ(nnex_graph_text(graph.get(), true), before);
}

TEST(CGraph, OpenExtentsBecomeNumbers) {
  const GraphHandle graph = parsed("graph main(x: f32[N,3]) -> (y) { y = relu(x); }");
  const auto fixed = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_set_symbol(graph.get(), "N", 2, g); });
  EXPECT_STREQ(nnex_port_type(nnex_graph_input(fixed.get(), 0)), "f32[2,3]");
  EXPECT_STREQ(nnex_port_type(nnex_graph_input(graph.get(), 0)), "f32[N,3]");
  nnex_save_options save = {};
  save.size = sizeof save, save.format = "nnef";
  nnex_files* files = nullptr;
  EXPECT_EQ(said(nnex_graph_save_to_memory(fixed.get(), &save, &files)), "ok");
  nnex_files_free(files);
  EXPECT_EQ(refused<GraphHandle>([&](nnex_graph** g) { return nnex_graph_set_symbol(graph.get(), "M", 2, g); }),
            "no symbol 'M'; the inputs have: N");
}

TEST(CGraph, IsCompiledForOtherShapes) {
  const GraphHandle graph = parsed("graph main(x: f32[2,3]) -> (y) { y = matmul(x, f32[3,1](1, 2, 3)); }");
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  const int64_t five[] = {5, 3}, wrong[] = {5};
  EXPECT_EQ(said(nnex_load_options_shape(load.get(), "x", 2, five)), "ok");
  const ModelHandle model = compiled(graph.get(), load.get());
  EXPECT_STREQ(nnex_port_type(nnex_model_output(model.get(), 0)), "f32[5,1]");
  EXPECT_EQ(said(nnex_load_options_shape(load.get(), "x", 1, wrong)), "ok");
  EXPECT_EQ(refused<ModelHandle>([&](nnex_model** m) { return nnex_model_compile(graph.get(), load.get(), m); }),
            "input 'x' is f32[2,3]; found 1 extents, needed 2");
  const int64_t open[] = {-1, 3};
  EXPECT_EQ(said(nnex_load_options_shape(load.get(), "x", 2, open)), "ok");
  EXPECT_EQ(refused<ModelHandle>([&](nnex_model** m) { return nnex_model_compile(graph.get(), load.get(), m); }),
            "input 'x' cannot have an extent of -1; needed 0 or more");
}

TEST(CGraph, NarrowsWeights) {
  std::string text = "graph main(x: f32[1,64]) -> (y)\n{\n  y = mul(x, f32[64](";
  for (int i = 0; i < 64; ++i) text += (i ? ", " : "") + std::to_string(i) + ".5";
  const GraphHandle graph = parsed((text + "));\n}\n").c_str());
  const auto narrow =
      made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_narrow(graph.get(), NNEX_F16, nullptr, g); });
  EXPECT_EQ(with(nnex_graph_text(narrow.get(), true), "f16[64]"), "");
  EXPECT_NE(refused<GraphHandle>([&](nnex_graph** g) { return nnex_graph_narrow(graph.get(), NNEX_I8, nullptr, g); }),
            "ok");
  EXPECT_NE(refused<GraphHandle>([&](nnex_graph** g) {
              return nnex_graph_narrow(graph.get(), static_cast<nnex_dtype>(30), nullptr, g);
            }),
            "ok");
}

TEST(CGraph, RefusesWrongArguments) {
  const GraphHandle graph = parsed(kTwoLayers);
  const nnex_graph* g = graph.get();
  const char *two[] = {"a", nullptr}, *same[] = {"a", "a"}, *other[] = {"b", "c"};
  nnex_run_options late = {};
  late.size = sizeof late, late.timeout_ns = -1;
  const struct {
    const char* needed;
    std::function<nnex_error*(nnex_graph**)> call;
  } rows[] = {
      {"found NULL for 'source'", [&](nnex_graph** o) { return nnex_graph_load(nullptr, nullptr, o); }},
      {"found NULL for 'text'", [&](nnex_graph** o) { return nnex_graph_parse(nullptr, nullptr, o); }},
      {"net:1:", [&](nnex_graph** o) { return nnex_graph_parse("graph", "net", o); }},
      {"found NULL for 'model'", [&](nnex_graph** o) { return nnex_graph_of_model(nullptr, o); }},
      {"found NULL for 'graph'", [&](nnex_graph** o) { return nnex_graph_strip(nullptr, false, o); }},
      {"found NULL for 'from'", [&](nnex_graph** o) { return nnex_graph_extract(g, nullptr, 1, nullptr, 0, o); }},
      {"found NULL for 'to[1]'", [&](nnex_graph** o) { return nnex_graph_extract(g, nullptr, 0, two, 2, o); }},
      {"'nosuch'",
       [&](nnex_graph** o) {
         const char* nosuch = "nosuch";
         return nnex_graph_extract(g, nullptr, 0, &nosuch, 1, o);
       }},
      {"found NULL for 'names[1]'", [&](nnex_graph** o) { return nnex_graph_rename(g, two, other, 2, o); }},
      {"found NULL for 'others[1]'", [&](nnex_graph** o) { return nnex_graph_rename(g, other, two, 2, o); }},
      {"found the name 'a' twice", [&](nnex_graph** o) { return nnex_graph_rename(g, same, other, 2, o); }},
      {"batch", [&](nnex_graph** o) { return nnex_graph_set_batch(g, 0, nullptr, o); }},
      {"found a timeout of -1 ns; needed 0 or more", [&](nnex_graph** o) { return nnex_graph_simplify(g, &late, o); }},
  };
  for (const auto& row : rows) EXPECT_EQ(with(refused<GraphHandle>(row.call), row.needed), "") << row.needed;
  EXPECT_EQ(said(nnex_graph_strip(g, false, nullptr)), "found NULL for 'out'");
  EXPECT_EQ(said(nnex_graph_parse(kTwoLayers, nullptr, nullptr)), "found NULL for 'out'");
  EXPECT_EQ(said(nnex_graph_save(nullptr, "x.onnx", nullptr)), "found NULL for 'graph'");
  EXPECT_EQ(said(nnex_graph_save(g, nullptr, nullptr)), "found NULL for 'path'");
  EXPECT_EQ(said(nnex_model_compile(g, nullptr, nullptr)), "found NULL for 'out'");
  EXPECT_EQ(refused<ModelHandle>([&](nnex_model** m) { return nnex_model_compile(nullptr, nullptr, m); }),
            "found NULL for 'graph'");
  EXPECT_EQ(refused<FilesHandle>([&](nnex_files** f) { return nnex_graph_save_to_memory(g, nullptr, f); }),
            "found no save->format; needed onnx, onnxtxt, nnef, tar, tgz, webnn, mjs, js, cvm, c");
  EXPECT_EQ(nnex_graph_inputs(nullptr) + nnex_graph_outputs(nullptr) + nnex_graph_nodes(nullptr), 0u);
  EXPECT_EQ(nnex_graph_input(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_graph_output(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_graph_text(nullptr, true), nullptr);
  nnex_graph_free(nullptr);
}

TEST(CGraph, IsDrawn) {
  const GraphHandle graph = parsed(kTwoLayers);
  const SourceHandle source = onnx_of(graph.get());
  const auto page = made<FilesHandle>([&](nnex_files** f) { return nnex_view(source.get(), nullptr, nullptr, f); });
  ASSERT_EQ(nnex_files_count(page.get()), 1u);
  EXPECT_STREQ(nnex_files_name(page.get(), 0), "model.html");
  nnex_view_options o = {};
  o.size = sizeof o, o.format = "dot";
  const auto dot = made<FilesHandle>([&](nnex_files** f) { return nnex_view(source.get(), nullptr, &o, f); });
  size_t size = 0;
  const auto* text = static_cast<const char*>(nnex_files_data(dot.get(), 0, &size));
  EXPECT_EQ(with(std::string_view(text, size), "digraph"), "");
  o.format = "gif";
  EXPECT_EQ(refused<FilesHandle>([&](nnex_files** f) { return nnex_view(source.get(), nullptr, &o, f); }),
            "found format 'gif'; needed html, svg or dot");
  o.size = 0;
  EXPECT_EQ(with(refused<FilesHandle>([&](nnex_files** f) { return nnex_view(source.get(), nullptr, &o, f); }),
                 "nnex_view_options"),
            "");
  EXPECT_EQ(refused<FilesHandle>([&](nnex_files** f) { return nnex_view(nullptr, nullptr, nullptr, f); }),
            "found NULL for 'source'");
}

// ---- Quantising

/// A product of 32 with 16, its maxima with 0, and a product with 8.
GraphHandle floats_network() {
  const auto matrix = [](int64_t rows, int64_t columns, uint32_t seed) {
    const std::vector<float> w = normal(static_cast<size_t>(rows * columns), seed, 0.3F);
    std::string text = "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "](";
    for (size_t i = 0; i < w.size(); ++i) text += (i ? ", " : "") + std::to_string(w[i]);
    return text + ")";
  };
  return parsed(("graph main(x: f32[N,32]) -> (scores)\n{\n  h = relu(linear(x, " + matrix(16, 32, 1) +
                 "));\n  scores = linear(h, " + matrix(8, 16, 2) + ");\n}\n")
                    .c_str());
}

struct Samples {
  std::atomic<int> asked = 0;
  bool fails = false, forgets = false;

  nnex_samples c(int64_t count) {
    nnex_samples s = {};
    s.size = sizeof s, s.count = count, s.context = this;
    s.read = [](void* context, int64_t index, nnex_value** inputs, size_t input_count) -> nnex_error* {
      auto* self = static_cast<Samples*>(context);
      ++self->asked;
      EXPECT_EQ(input_count, 1u);
      EXPECT_EQ(inputs[0], nullptr);
      if (!self->forgets) inputs[0] = floats({2, 32}, normal(64, static_cast<uint32_t>(100 + index))).release();
      return self->fails ? nnex_error_make(NNEX_UNREADABLE, "the disk is gone", nullptr) : nullptr;
    };
    return s;
  }
};

nnex_quantize_options quick() {
  nnex_quantize_options o = {};
  o.size = sizeof o, o.threads = 1;
  return o;
}

TEST(CQuantize, MakesANetworkThatAnswersAlike) {
  const GraphHandle graph = floats_network();
  Samples samples;
  const nnex_samples set = samples.c(6);
  const nnex_quantize_options o = quick();
  const auto q = made<QuantizedHandle>([&](nnex_quantized** out) { return nnex_quantize(graph.get(), &set, &o, out); });
  EXPECT_GE(samples.asked, 6);
  const char *name = nullptr, *op = nullptr, *kept = nullptr;
  int64_t bytes = 0, rows = 0, agreed = -1;
  double sqnr = 0;
  ASSERT_TRUE(nnex_quantized_layer(q.get(), 1, &name, &op, &kept, &bytes, &sqnr));
  EXPECT_STREQ(op, "linear");
  EXPECT_STREQ(kept, "");
  EXPECT_GT(bytes, 0);
  EXPECT_GT(sqnr, 20);
  EXPECT_FALSE(nnex_quantized_layer(q.get(), 2, nullptr, nullptr, nullptr, nullptr, nullptr));
  ASSERT_TRUE(nnex_quantized_output(q.get(), 0, &name, &sqnr, &rows, &agreed));
  EXPECT_STREQ(name, "scores");
  EXPECT_EQ(rows, 12);
  EXPECT_GT(agreed, 8);
  EXPECT_FALSE(nnex_quantized_output(q.get(), 1, nullptr, nullptr, nullptr, nullptr));
  EXPECT_LT(nnex_quantized_bytes(q.get()), nnex_quantized_float_bytes(q.get()));
  EXPECT_GT(nnex_quantized_us(q.get()), 0);
  EXPECT_GT(nnex_quantized_float_us(q.get()), 0);

  auto codes = made<GraphHandle>([&](nnex_graph** g) { return nnex_quantized_graph(q.get(), g); });
  const std::string recipe = nnex_quantized_recipe(q.get());
  EXPECT_EQ(with(recipe, "ranges"), "");
  const ModelHandle plain = compiled(graph.get()), coded = compiled(codes.get());
  const ValueHandle x = floats({1, 32}, normal(32, 7));
  const ValueHandle a = run(session_of(plain.get()).get(), x), b = run(session_of(coded.get()).get(), x);
  const auto compared =
      made<ComparisonHandle>([&](nnex_comparison** c) { return nnex_compare_values(a.get(), b.get(), nullptr, c); });
  EXPECT_GT(nnex_compared_sqnr_db(nnex_comparison_output(compared.get(), 0)), 20);

  // The recipe alone makes the same file.
  nnex_quantize_options again = quick();
  again.recipe = recipe.c_str();
  const auto r =
      made<QuantizedHandle>([&](nnex_quantized** out) { return nnex_quantize(graph.get(), nullptr, &again, out); });
  EXPECT_EQ(nnex_quantized_recipe(r.get()), recipe);
  EXPECT_TRUE(std::isnan(nnex_quantized_us(r.get())));
  const auto same = made<GraphHandle>([&](nnex_graph** g) { return nnex_quantized_graph(r.get(), g); });
  EXPECT_STREQ(nnex_graph_text(same.get(), true), nnex_graph_text(codes.get(), true));
}

TEST(CQuantize, OptionsAreHeard) {
  const GraphHandle graph = floats_network();
  Samples samples;
  const nnex_samples set = samples.c(3);
  nnex_quantize_options o = quick();
  const char* scores = "scores";
  o.keep_float = &scores, o.keep_float_count = 1, o.no_judge = true, o.method = "minmax";
  const auto q = made<QuantizedHandle>([&](nnex_quantized** out) { return nnex_quantize(graph.get(), &set, &o, out); });
  const char* kept = nullptr;
  double sqnr = 0;
  ASSERT_TRUE(nnex_quantized_layer(q.get(), 1, nullptr, nullptr, &kept, nullptr, &sqnr));
  EXPECT_STRNE(kept, "");
  EXPECT_TRUE(std::isnan(sqnr));
  EXPECT_EQ(with(nnex_quantized_recipe(q.get()), "minmax"), "");

  nnex_quantize_options four = quick();
  four.weights = "int4", four.block = 16;
  const auto w =
      made<QuantizedHandle>([&](nnex_quantized** out) { return nnex_quantize(graph.get(), nullptr, &four, out); });
  EXPECT_EQ(with(nnex_quantized_recipe(w.get()), "int4"), "");
}

TEST(CQuantize, ACallbackEndsIt) {
  const GraphHandle graph = floats_network();
  Samples samples;
  const nnex_samples set = samples.c(100000);
  nnex_run_options stop = {};
  stop.size = sizeof stop, stop.context = &samples;
  stop.cancelled = [](void* context) { return static_cast<Samples*>(context)->asked > 3; };
  nnex_quantize_options o = quick();
  o.run = &stop;
  nnex_quantized* q = nullptr;
  nnex_error* e = nnex_quantize(graph.get(), &set, &o, &q);
  EXPECT_EQ(nnex_error_code(e), NNEX_CANCELLED) << nnex_error_text(e);
  EXPECT_EQ(q, nullptr);
  EXPECT_LT(samples.asked, 100000);
  nnex_error_free(e);
}

TEST(CQuantize, RefusesWrongArguments) {
  const GraphHandle graph = floats_network();
  Samples samples;
  const nnex_samples good = samples.c(2);
  const auto why = [&](const nnex_samples* set, const nnex_quantize_options* o) {
    return refused<QuantizedHandle>([&](nnex_quantized** out) { return nnex_quantize(graph.get(), set, o, out); });
  };
  EXPECT_NE(why(nullptr, nullptr), "ok");  // no samples
  EXPECT_EQ(refused<QuantizedHandle>([&](nnex_quantized** q) { return nnex_quantize(nullptr, &good, nullptr, q); }),
            "found NULL for 'graph'");
  EXPECT_EQ(said(nnex_quantize(graph.get(), &good, nullptr, nullptr)), "found NULL for 'out'");
  nnex_samples set = good;
  set.size = 0;
  EXPECT_EQ(with(why(&set, nullptr), "'size' of nnex_samples"), "");
  set = good, set.read = nullptr;
  EXPECT_EQ(why(&set, nullptr), "found NULL for 'samples->read'");
  set = good, set.count = -1;
  EXPECT_EQ(why(&set, nullptr), "found -1 samples; needed 0 or more");
  nnex_quantize_options o = quick();
  o.size = 8;
  EXPECT_EQ(with(why(&good, &o), "'size' of nnex_quantize_options"), "");
  o = quick(), o.to = "webnn";
  EXPECT_EQ(why(&good, &o), "found format 'webnn'; needed onnx, nnef or cvm");
  o = quick(), o.method = "best";
  EXPECT_EQ(why(&good, &o), "found method 'best'; needed minmax, percentile, mse or entropy");
  o = quick(), o.weights = "int3";
  EXPECT_EQ(why(&good, &o), "found weights 'int3'; needed int8 or int4");
  o = quick(), o.threads = -1;
  EXPECT_EQ(why(&good, &o), "found -1 threads; needed 0 or more");
  o = quick(), o.keep_float_count = 1;
  EXPECT_EQ(why(&good, &o), "found NULL for 'options->keep_float'");
  o = quick(), o.percentile = 12;
  EXPECT_NE(why(&good, &o), "ok");
  o = quick(), o.judge_count = -3;
  EXPECT_EQ(why(&good, &o), "found -3 samples to judge on; needed 0 (all) or more");
  o = quick(), o.min_sqnr_db = std::nan("");
  EXPECT_EQ(why(&good, &o), "found NaN as the least SQNR; needed a number");
  o = quick(), o.recipe = "{";
  EXPECT_NE(why(&good, &o), "ok");
  nnex_run_options stop = {};
  stop.size = sizeof stop, stop.timeout_ns = 1;
  o = quick(), o.run = &stop;
  EXPECT_NE(why(&good, &o), "ok");

  samples.fails = true;  // the value that it made nevertheless is freed
  EXPECT_EQ(with(why(&good, nullptr), "the disk is gone"), "");
  samples.fails = false, samples.forgets = true;
  EXPECT_EQ(with(why(&good, nullptr), "sample 0 has no value for input 'x'"), "");

  EXPECT_EQ(nnex_quantized_recipe(nullptr), nullptr);
  EXPECT_EQ(nnex_quantized_note(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_quantized_bytes(nullptr) + nnex_quantized_float_bytes(nullptr), 0);
  EXPECT_EQ(refused<GraphHandle>([&](nnex_graph** g) { return nnex_quantized_graph(nullptr, g); }),
            "found NULL for 'quantized'");
  nnex_quantized_free(nullptr);
}

}  // namespace
}  // namespace nnex::test
