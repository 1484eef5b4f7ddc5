// State: variables that a document updates live in the session, from run to run.

#include <gtest/gtest.h>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/nnef/import.h"

namespace nnex::nnef_format {
namespace {

Result<Model> model_of(const std::string& body, const std::string& header = "net(x) -> (y)") {
  const std::string text = "version 1.0;\ngraph " + header + " {\n" + body + "\n}\n";
  ImportOptions options;
  options.lowering.variable = [](const VariableRequest& r) -> Result<Tensor> {
    NNEX_ASSIGN(Tensor t, Tensor::make(element_type(r.type), Shape(r.extents)));
    for (float& v : t.mutable_as<float>()) v = static_cast<float>(r.label.size());
    return t;
  };
  NNEX_ASSIGN(ir::Graph graph, import_document(text, "graph.nnef", options));
  return compile(std::move(graph));
}

Value number(float x) { return Value(Tensor::of(Shape{1}, std::vector<float>{x})); }
float number(const Value& v) { return v.tensor()->as<float>()[0]; }

float run(Session& s, float x, size_t output = 0) {
  const std::vector<Value> in = {number(x)};
  auto out = s.run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? number((*out)[output]) : 0;
}

const char* kSum =
    "x = external(shape = [1]); total = variable(shape = [1], label = 'sum'); t = add(total, x); "
    "y = update(total, t);";

TEST(NnefState, GoesOnFromRunToRun) {
  auto model = model_of(kSum);
  ASSERT_TRUE(model.ok()) << model.error().text();
  ASSERT_EQ(model->inputs().size(), 1u);
  ASSERT_EQ(model->outputs().size(), 1u);
  ASSERT_EQ(model->states().size(), 1u);
  EXPECT_EQ(model->states()[0].name, "sum");
  EXPECT_EQ(model->states()[0].type, "f32[1]");
  Session a = model->session(), b = model->session();
  EXPECT_EQ(run(a, 1), 4);
  EXPECT_EQ(run(a, 2), 6);
  EXPECT_EQ(run(b, 1), 4);  // a session of its own
  EXPECT_EQ(number(*a.state("sum")), 6);
}

TEST(NnefState, IsReadSetAndReset) {
  auto model = model_of(kSum);
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  EXPECT_TRUE(s.set_state("sum", number(10)).ok());
  EXPECT_EQ(run(s, 1), 11);
  EXPECT_TRUE(s.reset_states().ok());
  EXPECT_EQ(number(*s.state("sum")), 3);
  EXPECT_FALSE(s.state("total").ok());
  EXPECT_FALSE(s.set_state("sum", Value(Tensor::of(Shape{2}, std::vector<float>{1, 2}))).ok());
  EXPECT_FALSE(s.set_state("sum", Value(Tensor::of(Shape{1}, std::vector<int64_t>{1}))).ok());
}

TEST(NnefState, OldValuesAreReadDuringTheRun) {
  auto model =
      model_of("x = external(shape = [1]); v = variable(shape = [1], label = 'v'); n = update(v, x); y = add(v, 0.0);");
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  EXPECT_EQ(run(s, 5), 1);
  EXPECT_EQ(run(s, 6), 5);
}

TEST(NnefState, TwoVariablesSwap) {
  auto model = model_of(
      "x = external(shape = [1]); v = variable(shape = [1], label = 'v'); w = variable(shape = [1], label = 'ww'); "
      "a = update(v, w); b = update(w, v); y = sub(v, w); z = add(x, x);",
      "net(x) -> (y, z)");
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  EXPECT_EQ(run(s, 0), -1);
  EXPECT_EQ(run(s, 0), 1);
  EXPECT_EQ(run(s, 0), -1);
}

TEST(NnefState, OneLabelIsOneState) {
  auto model = model_of(
      "x = external(shape = [1]); v = variable(shape = [1], label = 'v'); w = variable(shape = [1], label = 'V'); "
      "n = update(v, x); y = add(w, 0.0);");
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->states().size(), 1u);
  Session s = model->session();
  EXPECT_EQ(run(s, 5), 1);
  EXPECT_EQ(run(s, 6), 5);
}

TEST(NnefState, WithoutUpdateTheyAreConstants) {
  auto model = model_of("x = external(shape = [1]); v = variable(shape = [1], label = 'v'); y = add(x, v);");
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_TRUE(model->states().empty());
  Session s = model->session();
  EXPECT_EQ(run(s, 5), 6);
}

TEST(NnefState, AnUpdateMayGiveAnInputOrANumber) {
  auto model = model_of(
      "x = external(shape = [1]); v = variable(shape = [1], label = 'v'); c = constant(shape = [1], value = [7.0]); "
      "n = update(v, c); y = add(v, x);");
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  EXPECT_EQ(run(s, 0), 1);
  EXPECT_EQ(run(s, 0), 7);
  EXPECT_EQ(run(s, 1), 8);
}

TEST(NnefState, AFailedRunLeavesThem) {
  auto model = model_of(
      "x = external(shape = [1]); v = variable(shape = [1], label = 'v'); t = add(v, x); n = update(v, t); "
      "i = cast<integer>(x); y = gather(v, i, axis = 0);");
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  const std::vector<Value> in = {number(3)};
  EXPECT_FALSE(s.run(in).ok());
  EXPECT_EQ(number(*s.state("v")), 1);
  EXPECT_EQ(run(s, 0), 1);
}

}  // namespace
}  // namespace nnex::nnef_format
