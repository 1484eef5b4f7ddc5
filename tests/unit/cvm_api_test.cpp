// What the original runtime's interface gives, by include/nnex/cvm.h.

#include "nnex/cvm.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cvm_model.h"
#include "run/compile.h"

namespace nnex {
namespace {

using namespace cvm_model;

const std::string kSymbol = write_symbol(base_symbol()), kParams = write_params(base_params());

Model base() {
  auto model = load_cvm(std::string(kSymbol), std::string(kParams));  // neither outlives the call
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  return *model;
}

TEST(CvmApi, FactsAreThoseOfTheFiles) {
  const auto facts = cvm_facts(base());
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->version, "cvm_1.0.0");
  EXPECT_EQ(facts->postprocess, "");
  EXPECT_EQ(facts->input_bits, 8);
  EXPECT_EQ(facts->head_bits, std::vector<int64_t>{8});
  EXPECT_EQ(facts->input_width, 1);
  EXPECT_EQ(facts->output_width, 1);
  // Seven entries in storages of their own, six of 6 elements and one of 3, 4 bytes each.
  EXPECT_EQ(facts->storage_bytes, (6 * 6 + 3) * 4);
  // 5 for each of those elements, 1 for each of 6 results of four operators.
  EXPECT_EQ(facts->gas, 5 * 39 + 4 * 6);
}

TEST(CvmApi, GasNeedsTheSymbolAlone) {
  EXPECT_EQ(*cvm_gas(kSymbol), 5 * 39 + 4 * 6);
  auto refused = cvm_gas("{}");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(cvm_blame(refused.error()), CvmBlame::none);
}

TEST(CvmApi, BytesInAndOut) {
  const Model model = base();
  const std::string in = {100, -128, 3, 4, 5, 6};
  auto x = cvm_input(model, in);
  ASSERT_TRUE(x.ok()) << x.error().text();
  EXPECT_EQ(x->tensor()->as<int32_t>()[1], -128);
  auto out = model.session().run(std::span<const Value>(&*x, 1));
  ASSERT_TRUE(out.ok()) << out.error().text();
  auto bytes = cvm_output_bytes(model, *out);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  // relu(data * (1, 2, 3) + (0 .. 5)), data clamped to 127, then halves up of 1/16.
  const std::string wanted = {6, 0, 1, 0, 1, 1};
  EXPECT_EQ(*bytes, wanted);
}

TEST(CvmApi, WideElementsHaveFourBytes) {
  Symbol s = base_symbol();
  s.precision = Ints{9, 8, 16, -1, -1, -1, -1};
  s.op_attrs[6] = R"({"precision": "9", "shift_bit": "1"})";
  auto model = load_cvm(write_symbol(s), kParams);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(cvm_facts(*model)->input_width, 4);
  EXPECT_EQ(cvm_facts(*model)->output_width, 4);
  const std::vector<int32_t> numbers = {200, -1, 0, 1, 2, 3};
  std::string in(24, '\0');
  std::memcpy(in.data(), numbers.data(), in.size());
  auto x = cvm_input(*model, in);
  ASSERT_TRUE(x.ok());
  auto out = model->session().run(std::span<const Value>(&*x, 1));
  ASSERT_TRUE(out.ok());
  auto bytes = cvm_output_bytes(*model, *out);
  ASSERT_TRUE(bytes.ok());
  ASSERT_EQ(bytes->size(), 24U);
  int32_t first = 0;
  std::memcpy(&first, bytes->data(), 4);
  EXPECT_EQ(first, 100);
  // An input of another length is told with both lengths.
  auto refused = cvm_input(*model, "123");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().text().find("found 3 bytes; needed 24"), std::string::npos) << refused.error().text();
}

TEST(CvmApi, PostprocessAndBlame) {
  Symbol s = base_symbol();
  s.postprocess = "argmax";
  auto model = load_cvm(write_symbol(s), kParams);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(cvm_facts(*model)->output_width, 4);
  auto x = cvm_input(*model, {"\0\1\2\5\4\0", 6});
  ASSERT_TRUE(x.ok());
  auto out = model->session().run(std::span<const Value>(&*x, 1));
  ASSERT_TRUE(out.ok());
  // Rows of (0, 3, 8) / 16 and (8, 12, 5) / 16, halves up: 0 0 1 and 1 1 0.
  EXPECT_EQ(*cvm_output_bytes(*model, *out), std::string("\2\0\0\0\0\0\0\0", 8));
  auto short_file = load_cvm(kSymbol, "short"), no_json = load_cvm("symbol", kParams);
  ASSERT_FALSE(short_file.ok() || no_json.ok());
  EXPECT_EQ(cvm_blame(short_file.error()), CvmBlame::logic);
  EXPECT_EQ(cvm_blame(no_json.error()), CvmBlame::runtime);
}

TEST(CvmApi, OtherModelsHaveNoFacts) {
  ir::Graph graph;
  Builder b(graph, kMain);
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, Dims{Dim(2)}));
  graph.set_results(kMain, {b("relu", {x})});
  auto model = compile(std::move(graph));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_FALSE(cvm_facts(*model).has_value());
  EXPECT_FALSE(cvm_input(*model, "").ok());
  EXPECT_FALSE(cvm_output_bytes(*model, {}).ok());
}

}  // namespace
}  // namespace nnex
