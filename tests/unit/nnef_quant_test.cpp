#include "standards/nnef/read_quant.h"

#include <gtest/gtest.h>

#include "standards/nnef/model.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

/// The rules of every fault, in order: "Q2 Q6".
std::string rules_of(const std::string& text) {
  const auto rule = [](const std::string& message) { return message.substr(0, message.find(':')); };
  auto file = parse_quant(text, "graph.quant");
  if (!file.ok()) return rule(file.error().message());
  TensorInfo x, n;
  x.shaped = n.shaped = true;
  x.extents = {1, 2, 4}, n.extents = {2}, n.type = ItemType::integer;
  QuantContext context;
  context.tensor = [&](std::string_view name) { return name == "x" ? &x : name == "n" ? &n : nullptr; };
  context.fragment = [](std::string_view name) -> std::optional<QuantParameters> {
    if (name != "mine") return std::nullopt;
    return QuantParameters{{"a", ItemType::scalar, true},
                           {"k", ItemType::integer, false, true},
                           {"axes", ItemType::integer, false, true, 1}};
  };
  Faults faults;
  std::vector<std::string> notes;
  check_quant(*file, "graph.quant", context, faults, notes);
  std::string out;
  for (const Error& e : faults.list()) out += (out.empty() ? "" : " ") + rule(e.message());
  return out;
}

/// The rules that a quantisation file breaks beside a document with fragments.
std::string rules_beside(const std::string& quant) {
  const std::string document =
      "version 1.0;\nextension KHR_enable_fragment_definitions;\n"
      "fragment rounded(x: tensor<scalar>, step: scalar, axes: integer[] = []) -> (y: tensor<scalar>)"
      " { y = copy(x); }\n"
      "fragment spread(x: tensor<scalar>, steps: tensor<scalar>, pads: (integer,integer)[] = [])"
      " -> (y: tensor<scalar>);\n"
      "graph g(x) -> (y)\n{\n  x = external(shape = [2,3]);\n  y = relu(x);\n}\n";
  Faults faults;
  std::vector<std::string> notes;
  check_quant_file(quant, "graph.quant", document, "graph.nnef", faults, notes);
  std::string out;
  for (const Error& e : faults.list()) out += e.message().substr(0, e.message().find(':')) + " ";
  return out;
}

TEST(NnefQuant, WhatNobodyCanMeanIsNoted) {
  const struct {
    const char *line, *note;
  } rows[] = {
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = 8);", ""},
      {"'x': linear_quantize(min = [[0.0, 2.0, 0.0]], max = 1.0, bits = 8);", "min is 2, which is more than max, 1"},
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = 64);", "bits is 64; a run quantises by up to 32"},
      {"'x': logarithmic_quantize(max = 0.0, bits = 8);", "max is 0; it has no logarithm"},
      {"'x': zero_point_linear_quantize(zero_point = -128, scale = 0.1, bits = 8, signed = true, symmetric = false);",
       ""},
      {"'x': zero_point_linear_quantize(zero_point = -128, scale = 0.1, bits = 8, signed = true, symmetric = true);",
       "zero_point is -128; codes of 8 bits go from -127 to 127"},
      {"'x': zero_point_linear_quantize(zero_point = 0, scale = -0.1, bits = 8, signed = true, symmetric = false);",
       "scale is -0.1; no numbers but 0 have codes by it"},
  };
  const std::string document =
      "version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [2,3]);\n  y = relu(x);\n}\n";
  for (const auto& row : rows) {
    SCOPED_TRACE(row.line);
    Faults faults;
    std::vector<std::string> notes;
    check_quant_file(row.line, "graph.quant", document, "graph.nnef", faults, notes);
    EXPECT_TRUE(faults.none());
    const std::string all = notes.empty() ? "" : notes[0];
    EXPECT_EQ(all, *row.note ? "graph.quant:1:1: " + std::string(row.note) : "");
  }
}

TEST(NnefQuant, FragmentsOfTheDocument) {
  EXPECT_EQ(rules_beside("'x': rounded(step = 0.5);"), "");
  EXPECT_EQ(rules_beside("'y': rounded(step = 0.5, axes = [0, 1]);"), "");
  EXPECT_EQ(rules_beside("'x': spread(steps = [0.5, 1.0], pads = [(1, 2)]);"), "");
  EXPECT_EQ(rules_beside("'x': rounded();"), "Q6 ");
  EXPECT_EQ(rules_beside("'x': rounded(step = 1);"), "Q9 ");
  EXPECT_EQ(rules_beside("'x': rounded(step = [0.5]);"), "Q9 ");
  EXPECT_EQ(rules_beside("'x': rounded(x = 1.0, step = 0.5);"), "Q4 ");
  EXPECT_EQ(rules_beside("'x': spread(steps = [0.5, 1.0, 2.0]);"), "Q8 ");
  EXPECT_EQ(rules_beside("'x': other(step = 0.5);"), "Q3 ");
}

TEST(NnefQuant, Lines) {
  const struct {
    const char *text, *rules;
  } rows[] = {
      {"", ""},
      {"# nothing\n", ""},
      {"'x': linear_quantize(min = -1.0, max = 1.0, bits = 8);", ""},
      {"\"x\": linear_quantize(bits = 8, min = [[0.0, -1.0]], max = 1e3);", ""},
      {"'x': mine();", ""},
      {"'x': mine(k = 3);", ""},
      {"'x': mine(axes = [1, 2]);", ""},
      {"'x': mine(axes = []);", ""},
      {"'x': mine(axes = 1);", "Q9"},
      {"'x': mine(axes = [[1]]);", "Q9"},
      {"'x': mine(axes = [1.0]);", "Q9"},
      {"x: mine();", "Q1"},
      {"'x' mine();", "Q1"},
      {"'x': mine()", "Q1"},
      {"'x': mine(k = 3,);", "Q5"},
      {"'x': mine(3);", "Q5"},
      {"'x': mine(k = y);", "Q5"},
      {"'y': mine();", "Q2"},
      {"'x': quantize();", "Q3"},
      {"'n': mine();", "Q3"},
      {"'x': mine(a = 1.0);", "Q4"},
      {"'x': linear_quantize(min = 0.0, max = 1.0);", "Q6"},
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = 8, bits = 8);", "Q6"},
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = 8, more = 1);", "Q6"},
      {"'x': linear_quantize(min = [[0.0], [0.0, 1.0]], max = 1.0, bits = 8);", "Q7"},
      {"'x': linear_quantize(min = [0.0, 1.0], max = 1.0, bits = 8);", "Q8"},
      {"'x': linear_quantize(min = 0, max = 1.0, bits = 8);", "Q9"},
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = 8.0);", "Q9"},
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = [8]);", "Q9"},
      {"'x': linear_quantize(min = 0.0, max = 1.0, bits = 99);", "Q9"},
      {"'x': linear_quantize(min = (0.0, 1.0), max = 1.0, bits = 8);", "Q9"},
      {"'x': linear_quantize(min = [(0.0, 1.0)], max = 1.0, bits = 8);", "Q9"},
      {"'x': linear_quantize(min = (0.0), max = 1.0, bits = 8);", "Q1"},
      {"'x': linear_quantize(min = (), max = 1.0, bits = 8);", "Q1"},
      {"'x': mine(axes = (1, 2));", "Q9"},
      {"'x': mine(); 'x': mine();", "Q10"},
      {"'y': linear_quantize(min = 0.0, bits = 8.0);", "Q2 Q9 Q6"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(rules_of(row.text), row.rules);
  }
}

TEST(NnefQuant, PlacesAndTextAgain) {
  auto bad = parse_quant("'x': mine();\n  'y': mine(4);", "graph.quant");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().where(), "graph.quant:2:13");
  const char* text =
      "'x': linear_quantize(min = [[0.0, -1.5]], max = 1e+30, bits = 8);\n'y': mine(k = -3, s = 'a', p = [(1, 2)]);\n";
  auto file = parse_quant(text, "graph.quant");
  ASSERT_TRUE(file.ok()) << file.error().text();
  auto again = parse_quant(quant_text(*file), "again");
  ASSERT_TRUE(again.ok()) << again.error().text() << quant_text(*file);
  EXPECT_EQ(quant_text(*again), quant_text(*file));
}

TEST(NnefQuant, CodesBecomeReals) {
  const struct {
    const char* line;
    StoredItem item;
    std::vector<int64_t> codes;
    std::vector<double> reals;
  } rows[] = {
      {"'x': linear_quantize(min = [0.0, -2.0], max = [1.0, 2.0], bits = 2);",
       StoredItem::quantized_unsigned,
       {0, 3, 0, 3},
       {0, 1, -2, 2}},
      {"'x': min_max_linear_quantize(min = -2.0, max = 2.0, bits = 8, signed = true, symmetric = true);",
       StoredItem::quantized_signed,
       {-127, 0, 127, 0},
       {-2, 0, 2, 0}},
      {"'x': zero_point_linear_quantize(zero_point = [[1, 2]], scale = 0.5, bits = 8, signed = true, symmetric = "
       "false);",
       StoredItem::quantized_signed,
       {1, 2, 3, 0},
       {0, 0, 1, -1}},
      {"'x': logarithmic_quantize(max = 4.0, bits = 2);", StoredItem::quantized_unsigned, {0, 1, 2, 3}, {0.5, 1, 2, 4}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.line);
    auto lines = parse_quant(row.line, "graph.quant");
    ASSERT_TRUE(lines.ok()) << lines.error().text();
    StoreAs as{row.item, 8};
    auto written = write_tensor_file(Tensor::of<int64_t>({2, 2}, row.codes), &as);
    ASSERT_TRUE(written.ok()) << written.error().text();
    const std::string bytes = written->joined();
    auto file = read_tensor_file(bytes);
    ASSERT_TRUE(file.ok()) << file.error().text();
    auto reals = reals_of_codes(*file, lines->front());
    ASSERT_TRUE(reals.ok()) << reals.error().text();
    for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(real_at(*reals, i), row.reals[static_cast<size_t>(i)], 1e-6) << i;
  }
}

/// Runs of equal parameters that do not end where the pieces do, which the threads share; short and long ones.
TEST(NnefQuant, ManyCodesBecomeReals) {
  for (const Ints& extents : {Ints{3, 200'001}, Ints{200'001, 3}, Ints{700'001}}) {
    std::string scales = "0.5";
    const auto scale = [&](int64_t i) {
      return extents.size() == 1 ? 0.5 : 0.25 * static_cast<double>(i / extents[1] % 7 + 1);
    };
    if (extents.size() == 2) {
      scales = "[";
      for (int64_t i = 0; i < extents[0]; ++i) scales += (i ? ", [" : "[") + number_text(scale(i * extents[1])) + "]";
      scales += "]";
    }
    auto lines = parse_quant("'x': zero_point_linear_quantize(zero_point = 3, scale = " + scales +
                                 ", bits = 8, signed = true, symmetric = false);",
                             "graph.quant");
    ASSERT_TRUE(lines.ok()) << lines.error().text();
    Tensor codes = *Tensor::make(DType::i8, Shape(extents));
    for (size_t i = 0; i < codes.mutable_as<int8_t>().size(); ++i)
      codes.mutable_as<int8_t>()[i] = static_cast<int8_t>(i * 31 + i / 997);
    const StoreAs as{StoredItem::quantized_signed, 8};
    auto written = write_tensor_file(codes, &as);
    ASSERT_TRUE(written.ok()) << written.error().text();
    const std::string bytes = written->joined();
    auto file = read_tensor_file(bytes);
    ASSERT_TRUE(file.ok()) << file.error().text();
    auto reals = reals_of_codes(*file, lines->front());
    ASSERT_TRUE(reals.ok()) << reals.error().text();
    for (int64_t i = 0; i < codes.count(); ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(reals->as<float>()[at], static_cast<float>((codes.as<int8_t>()[at] - 3) * scale(i))) << i;
    }
  }
}

}  // namespace
}  // namespace nnex::nnef_format
