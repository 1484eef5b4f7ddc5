// Quantisation files: applied to the network that runs, kept by the one that is written.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "api/export.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "standards/container.h"
#include "standards/nnef/model.h"
#include "standards/nnef/quantise.h"
#include "standards/nnef/read_tensor.h"
#include "standards/nnef/weights.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using namespace nnef_format;

constexpr const char* kGraph =
    "version 1.0;\ngraph net(x) -> (y) {\n"
    "  x = external(shape = [2, 3]);\n"
    "  w = variable(shape = [3, 2], label = 'layer/w');\n"
    "  h = matmul(x, w);\n"
    "  y = add(h, 0.1);\n}\n";
constexpr const char* kRecords =
    "'w': zero_point_linear_quantize(zero_point = [[1], [0], [-1]], scale = 0.5, bits = 8, signed = true, symmetric = "
    "false);\n"
    "'h': min_max_linear_quantize(min = -4.0, max = 4.0, bits = 3, signed = false, symmetric = false);\n";

void add(Container& all, const std::string& name, std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  all.add(name, name, {*owner, owner});
}

/// The model; its weights are codes.
Container model(const std::string& records) {
  Container all = Container::of_folder("");
  add(all, "graph.nnef", kGraph);
  if (!records.empty()) add(all, "graph.quant", records);
  const Tensor codes = Tensor::of(Shape{3, 2}, std::vector<int8_t>{3, -2, 5, 1, 0, -7});
  const StoreAs as{StoredItem::quantized_signed, 8};
  add(all, "layer/w.dat", write_tensor_file(codes, &as)->joined());
  return all;
}

Tensor answer(ir::Graph graph) {
  EXPECT_TRUE(apply_quantisation(graph).ok());
  auto m = compile(std::move(graph));
  EXPECT_TRUE(m.ok()) << m.error().text();
  Session s = m->session();
  const Value in[] = {Tensor::of(Shape{2, 3}, std::vector<float>{1, 0.5f, -1, 0.25f, -0.75f, 1})};
  auto out = s.run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return *(*out)[0].tensor();
}

/// h = x w with w = (code - zero) scale, moved to one of 8 levels from -4 to 4; y = h + 0.1.
TEST(NnefQuantise, TensorsTakeTheValuesOfTheirCodes) {
  auto graph = read_nnef(model(kRecords), {});
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const Tensor y = answer(*graph);
  const double w[3][2] = {{1, -1.5}, {2.5, 0.5}, {0.5, -3}}, x[2][3] = {{1, 0.5, -1}, {0.25, -0.75, 1}};
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      double h = 0;
      for (int j = 0; j < 3; ++j) h += x[i][j] * w[j][k];
      const double level = std::floor((std::fmax(std::fmin(h, 4), -4) + 4) / 8 * 7 + 0.5);
      EXPECT_NEAR(real_at(y, i * 2 + k), level / 7 * 8 - 4 + 0.1, 1e-5) << i << "," << k;
    }
}

TEST(NnefQuantise, WithoutRecordsNothingChanges) {
  auto graph = read_nnef(model(kRecords), {});
  ASSERT_TRUE(graph.ok());
  graph->provenance.quantization.clear();
  const size_t nodes = graph->order().size();
  ASSERT_TRUE(apply_quantisation(*graph).ok());
  EXPECT_EQ(graph->order().size(), nodes);
}

TEST(NnefQuantise, ResultsAndInputsKeepTheirNames) {
  const std::string line = "linear_quantize(min = 0.0, max = 1.0, bits = 2);\n";
  auto graph = read_nnef(model("'x': " + line + "'y': " + line + kRecords), {});
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(apply_quantisation(*graph).ok());
  EXPECT_EQ((*graph)[graph->inputs()[0]].name, "x");
  EXPECT_EQ((*graph)[graph->outputs()[0]].name, "y");
  const Tensor y = answer(*graph);
  for (int64_t i = 0; i < y.count(); ++i) {
    const double level = real_at(y, i) * 3;
    EXPECT_NEAR(level, std::round(level), 1e-5);
  }
}

/// Written as it was read: the same records, and codes in the files.
TEST(NnefQuantise, IsWrittenBack) {
  auto graph = read_nnef(model(kRecords), {});
  ASSERT_TRUE(graph.ok());
  auto w = to_nnef(*graph, {});
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_NE(w->quant.find("'w': zero_point_linear_quantize"), std::string::npos) << w->quant;
  EXPECT_NE(w->quant.find("'h': min_max_linear_quantize"), std::string::npos) << w->quant;
  EXPECT_EQ(w->graph.find("quantize"), std::string::npos) << w->graph;
  ASSERT_EQ(w->variables.size(), 1u);
  EXPECT_EQ(w->variables[0].first, "layer/w");
  auto stored = variable_file(*w, w->variables[0].first, w->variables[0].second);
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  auto before = model(kRecords).read("layer/w.dat");
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(stored->joined(), std::string(before->bytes));
}

/// Numbers that are no codes are stored as numbers.
TEST(NnefQuantise, OtherNumbersStayNumbers) {
  auto records = parse_quant(kRecords, "graph.quant");
  ASSERT_TRUE(records.ok());
  const Tensor on = Tensor::of(Shape{3, 2}, std::vector<float>{1, -1.5f, 2.5f, 0.5f, 0.5f, -3});
  const Tensor off = Tensor::of(Shape{3, 2}, std::vector<float>{1, -1.5f, 2.5f, 0.51f, 0.5f, -3});
  const auto codes = codes_of_reals(on, records->front());
  ASSERT_TRUE(codes.has_value());
  EXPECT_EQ(ints_of(codes->items), (std::vector<int64_t>{3, -2, 5, 1, 0, -7}));
  EXPECT_FALSE(codes_of_reals(off, records->front()).has_value());
}

/// Codes of a byte go by tables where runs are long, by the formula where they are short: the same reals.
TEST(NnefQuantise, LongRunsDecodeAsShortOnes) {
  Tensor codes = *Tensor::make(DType::i8, Shape{2, 1024});
  for (int64_t i = 0; i < codes.count(); ++i) set_int(codes, i, (i * 37) % 256 - 128);
  const StoreAs as{StoredItem::quantized_signed, 8};
  const std::string bytes = write_tensor_file(codes, &as)->joined();
  auto file = read_tensor_file(bytes);
  ASSERT_TRUE(file.ok());
  auto records = parse_quant(
      "'w': min_max_linear_quantize(min = [[-1.0], [-3.0]], max = 2.5, bits = 8, signed = true, symmetric = true);",
      "graph.quant");
  ASSERT_TRUE(records.ok());
  auto reals = reals_of_codes(*file, records->front());
  ASSERT_TRUE(reals.ok()) << reals.error().text();
  for (int64_t i = 0; i < codes.count(); ++i) {
    const double min = i < 1024 ? -1 : -3;
    const auto want = static_cast<float>((static_cast<double>(int_at(codes, i)) + 127) / 254 * (2.5 - min) + min);
    ASSERT_EQ(reals->as<float>()[static_cast<size_t>(i)], want) << i;
  }
}

}  // namespace
}  // namespace nnex
