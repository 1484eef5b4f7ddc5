// A graph that load_graph() read is compiled, checked and edited as what it was read with says.

#include <gtest/gtest.h>

#include <cmath>

#include "c_handles.h"
#include "door.h"
#include "nnex/check.h"
#include "nnex/edit.h"
#include "nnex/inspect.h"
#include "nnex/load.h"

namespace nnex::test {
namespace {

/// h grows by Double(x) with every run, where it is carried.
constexpr std::string_view kSums = R"(<ir_version: 8, opset_import: ["": 17, "com.example": 1]>
net (float[N,2] x, float[N,2] h) => (float[N,2] y, float[N,2] h_out) {
  s = com.example.Double(x)
  h_out = Add(s, h)
  y = Relu(h_out)
}
)";

CustomOperator doubling() {
  CustomOperator op;
  op.domain = "com.example", op.name = "Double";
  op.infer = [](const CustomInfer& c) -> Result<std::vector<TypeInfo>> { return std::vector{c.inputs[0]}; };
  op.run = [](CustomRun& c) -> Status {
    const Tensor& x = *c.tensor(0);
    auto y = c.output(0, x.dtype(), x.shape());
    if (!y.ok()) return std::move(y).error();
    for (size_t i = 0; i < static_cast<size_t>(x.count()); ++i) (*y)->mutable_as<float>()[i] = 2 * x.as<float>()[i];
    return {};
  };
  return op;
}

LoadOptions sums() {
  LoadOptions options;
  EXPECT_TRUE(options.custom_operators.add(doubling()).ok());
  options.symbols = {{"N", 1}};
  options.carry = {{.output = "h_out", .input = "h"}};
  return options;
}

Graph loaded(const LoadOptions& options) {
  auto graph = load_graph(ModelSource::memory(kSums), options);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return graph.ok() ? *std::move(graph) : Graph();
}

/// What the second of two runs on 1, 2 gives.
std::vector<float> second_answer(const Model& model) {
  Session session = model.session();
  const std::vector<Value> in = {Value(Tensor::of<float>({1, 2}, {1, 2}))};
  EXPECT_TRUE(session.run(in).ok());
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  if (!out.ok()) return {};
  const auto y = (*out)[0].tensor()->as<float>();
  return {y.begin(), y.end()};
}

TEST(LoadedGraph, IsCompiledAsItWasRead) {
  const Graph graph = loaded(sums());
  const auto model = Model::compile(graph);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->inputs().size(), 1u);
  ASSERT_EQ(model->states().size(), 1u);
  EXPECT_EQ(model->states()[0].name, "h");
  EXPECT_EQ(second_answer(*model), (std::vector<float>{4, 8}));
  const auto again = Model::compile(graph, sums());  // the same options once more
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(second_answer(*again), (std::vector<float>{4, 8}));
  expect_error(Model::compile(graph, {.symbols = {{"N", 2}}}), Code::invalid_argument,
               "symbol 'N' was fixed as 1 when the graph was read; found 2");
  expect_error(Model::compile(graph, {.symbols = {{"M", 2}}}), Code::invalid_argument, "no symbol 'M'");
}

TEST(LoadedGraph, KeepsLimitsAndPromises) {
  LoadOptions options = sums();
  options.exact = true;
  expect_error(Model::compile(loaded(options)), Code::unsupported, "");
  options = sums(), options.carry.clear();
  options.symbols["N"] = int64_t{1} << 20, options.memory_limit = int64_t{1} << 20;  // 8 MiB a tensor
  const Graph graph = loaded(options);
  const auto limited = Model::compile(graph), free = Model::compile(graph, {.memory_limit = int64_t{1} << 30});
  ASSERT_TRUE(limited.ok() && free.ok());
  const Status refused = limited->session().prepare();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(name(refused.error().code()), name(Code::limit)) << refused.error().text();
  EXPECT_TRUE(free->session().prepare().ok());
}

TEST(LoadedGraph, IsEditedWithItsOperators) {
  Graph graph = loaded(sums());
  EXPECT_TRUE(graph.infer().ok());
  EXPECT_EQ(graph.value(graph.outputs()[0])->type.text, "f32[1,2]");
  ASSERT_TRUE(rename(graph, {{"h", "before"}, {"h_out", "after"}, {"y", "z"}}).ok());
  const auto renamed = Model::compile(graph);
  ASSERT_TRUE(renamed.ok()) << renamed.error().text();
  EXPECT_EQ(second_answer(*renamed), (std::vector<float>{4, 8}));
  auto report = simplify(graph);  // runs the network
  ASSERT_TRUE(report.ok()) << report.error().text();
  const auto part = extract(graph, {}, {"z"});  // without the port that is carried
  ASSERT_TRUE(part.ok()) << part.error().text();
  const auto cut = Model::compile(*part);
  ASSERT_TRUE(cut.ok()) << cut.error().text();
  EXPECT_EQ(cut->inputs().size(), 2u);
}

TEST(LoadedGraph, RefusesWhatLoadingRefuses) {
  LoadOptions options = sums();
  options.carry = {{.output = "h_oot", .input = "h"}};
  expect_error(load_graph(ModelSource::memory(kSums), options), Code::invalid_argument, "'h_oot'");
  options = sums(), options.symbols.clear();
  expect_error(load_graph(ModelSource::memory(kSums), options), Code::invalid_argument, "decides its extent N");
}

TEST(LoadedGraph, OperatorsOfTheHostAreKnownToChecks) {
  const auto report = check(ModelSource::memory(kSums), sums());
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->sound()) << report->faults[0].text();
  EXPECT_FALSE(check(ModelSource::memory(kSums))->sound());
  const auto inspection = inspect(ModelSource::memory(kSums), sums());
  ASSERT_TRUE(inspection.ok()) << inspection.error().text();
  EXPECT_EQ(inspection->outputs[1].type, "f32[1,2]");
}

TEST(LoadedGraph, ExtentsThatNobodyKnowsHaveTheSameNamesAgain) {
  constexpr std::string_view kFound = R"(<ir_version: 8, opset_import: ["": 17]>
net (float[N] x) => (int64[] y, int64[] z) {
  i = NonZero(x)
  j = NonZero(x)
  y = Transpose(i)
  z = Concat<axis = 1>(i, j)
}
)";
  for (int again = 0; again < 2; ++again) {
    const auto source = ModelSource::memory(kFound);
    const auto model = load_model(source);
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto inspection = inspect(source);
    ASSERT_TRUE(inspection.ok()) << inspection.error().text();
    EXPECT_EQ(model->outputs()[0].type, "i64[?non_zero0,1]");
    EXPECT_EQ(inspection->outputs[0].type, "i64[?non_zero0,1]");
    EXPECT_EQ(inspection->outputs[1].type, "i64[1,?non_zero0+?non_zero1]");
  }
}

TEST(LoadedGraph, InC) {
  const auto load = made<LoadHandle>(nnex_load_options_make);
  nnex_custom_op op = {};
  op.size = sizeof op, op.domain = "com.example", op.name = "Double";
  op.run = [](void*, nnex_custom_node* node) {
    return nnex_custom_node_set_output(node, 0, nnex_custom_node_input(node, 0));  // of one: the same
  };
  EXPECT_EQ(said(nnex_load_options_custom_op(load.get(), &op)), "ok");
  EXPECT_EQ(said(nnex_load_options_symbol(load.get(), "N", 1)), "ok");
  EXPECT_EQ(said(nnex_load_options_carry(load.get(), "h_out", "h")), "ok");
  const auto source =
      made<SourceHandle>([&](nnex_source** s) { return nnex_source_memory(kSums.data(), kSums.size(), nullptr, s); });
  const auto graph = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_load(source.get(), load.get(), g); });
  const ModelHandle model = compiled(graph.get()), again = compiled(graph.get(), load.get());
  EXPECT_EQ(nnex_model_states(model.get()), 1u);
  EXPECT_EQ(nnex_model_states(again.get()), 1u);
  EXPECT_EQ(numbers_of(run(session_of(model.get()).get(), floats({1, 2}, {-1, 3})).get()), (std::vector<float>{0, 3}));
}

}  // namespace
}  // namespace nnex::test
