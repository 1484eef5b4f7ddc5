// Operators of a host: shape rule and kernel as callbacks, reached from a graph, from ONNX and from NNEF.

#include "nnex/custom.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace {

using nnex::CustomInfer;
using nnex::CustomOperator;
using nnex::CustomOperators;
using nnex::CustomRun;
using nnex::DType;
using nnex::Error;
using nnex::Graph;
using nnex::LoadOptions;
using nnex::Model;
using nnex::Result;
using nnex::Shape;
using nnex::Status;
using nnex::Tensor;
using nnex::TypeInfo;
using nnex::Value;
using nnex::ValueId;

/// y = x * factor, and how often it ran.
CustomOperator scale(std::atomic<int>* runs = nullptr) {
  CustomOperator op;
  op.domain = "com.example", op.name = "Scale";
  op.infer = [](const CustomInfer& c) -> Result<std::vector<TypeInfo>> { return std::vector{c.inputs[0]}; };
  op.run = [runs](CustomRun& c) -> Status {
    if (runs) ++*runs;
    auto factor = nnex::attribute_as<double>(c.attributes(), "factor", 2.0);
    if (!factor.ok()) return std::move(factor).error();
    const Tensor& x = *c.tensor(0);
    auto y = c.output(0, x.dtype(), x.shape());
    if (!y.ok()) return std::move(y).error();
    for (int64_t i = 0; i < x.count(); ++i)
      (*y)->mutable_as<float>()[static_cast<size_t>(i)] =
          x.as<float>()[static_cast<size_t>(i)] * static_cast<float>(*factor);
    return {};
  };
  return op;
}

LoadOptions with(CustomOperator op) {
  LoadOptions options;
  EXPECT_TRUE(options.custom_operators.add(std::move(op)).ok());
  return options;
}

/// y = relu(Scale(x)), x: f32[N].
Graph scaled(const nnex::Attributes& attributes = {}) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N]");
  const ValueId s = *g.add("com.example:Scale", {x}, attributes);
  EXPECT_TRUE(g.set_outputs({{"y", *g.add("relu", {s})}}).ok());
  return g;
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values);
}

std::vector<float> run(const Model& model, const std::vector<Value>& in) {
  auto out = model.session().run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  if (!out.ok()) return {};
  const auto y = (*out)[0].tensor()->as<float>();
  return {y.begin(), y.end()};
}

std::string failed(const Model& model, const std::vector<Value>& in) {
  auto out = model.session().run(in);
  return out.ok() ? "it ran" : out.error().text();
}

TEST(CustomOps, RunsWhatTheTableLacks) {
  const auto model = Model::compile(scaled(), with(scale()));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->outputs()[0].type, "f32[N]");
  EXPECT_EQ(run(*model, {floats({1, -2, 3})}), (std::vector<float>{2, 0, 6}));
  const auto three = Model::compile(scaled({{"factor", 3.0}}), with(scale()));
  EXPECT_EQ(run(*three, {floats({1, -2, 3, 4})}), (std::vector<float>{3, 0, 9, 12}));
}

TEST(CustomOps, MissingOnesAreNamed) {
  const auto model = Model::compile(scaled());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code(), nnex::Code::unsupported);
  EXPECT_NE(model.error().message().find("com.example.Scale"), std::string::npos);
  CustomOperator other = scale();
  other.domain = "com.other";
  EXPECT_FALSE(Model::compile(scaled(), with(other)).ok());
}

TEST(CustomOps, WithoutAShapeRule) {
  CustomOperator op = scale();
  op.infer = nullptr;
  const auto model = Model::compile(scaled(), with(op));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(run(*model, {floats({1, -2, 3})}), (std::vector<float>{2, 0, 6}));
  EXPECT_EQ(run(*model, {floats({5})}), (std::vector<float>{10}));
}

TEST(CustomOps, ATypeGoesThroughItsText) {  // as the C interface hands it over
  for (const char* text : {"f32[2,?non_zero2]", "f32[?]", "f32[]", "f32[N,2*H+1]", "f32[floor((N+1)/2),3]",
                           "f32[picture.0,max(N,3)]", "sequence(i64[?loop7,2])", "optional(f32[?a1])"}) {
    const auto type = TypeInfo::parse(text);
    ASSERT_TRUE(type.ok()) << type.error().text();
    EXPECT_EQ(type->text, text);
  }
  const auto open = TypeInfo::parse("f32[?,3]");
  ASSERT_TRUE(open.ok()) << open.error().text();
  EXPECT_EQ(open->extents, (std::vector<int64_t>{-1, 3}));
  for (const char* text : {"f32[N 3]", "f32[2", "f32[2,,3]", "f32[-1]", "f32[,]", "f33[2]"})
    EXPECT_FALSE(TypeInfo::parse(text).ok()) << text;
  for (const char* extent : {",", "]", "2,3"}) EXPECT_FALSE(TypeInfo::of(DType::f32, {extent}).ok()) << extent;
  const auto made = TypeInfo::of(DType::f32, {"N", "?", "3"});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(TypeInfo::parse(made->text)->text, made->text);

  nnex::Graph g;  // the column of each number above zero, behind which nobody knows how many there are
  const ValueId x = *g.add_input("x", "f32[N]"), places = *g.add("non_zero", {x});
  const ValueId floats_of = *g.add("cast", {places}, {{"to", DType::f32}});
  nnex::AddOptions how;
  const auto node = g.add_node("com.example:Scale", {floats_of}, {}, how);
  ASSERT_TRUE(node.ok()) << node.error().text();
  ASSERT_TRUE(g.set_outputs({{"y", g.node(*node)->outputs[0]}}).ok());
  CustomOperator op = scale();
  op.infer = [](const CustomInfer& c) -> Result<std::vector<TypeInfo>> {
    auto type = TypeInfo::parse(c.inputs[0].text);
    if (!type.ok()) return std::move(type).error();
    return std::vector{*type};
  };
  const auto model = Model::compile(std::move(g), with(op));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(run(*model, {floats({1, 0, 3})}), (std::vector<float>{0, 4}));
}

TEST(CustomOps, ExtentsThatDependOnData) {  // those above zero
  CustomOperator op = scale();
  op.infer = [](const CustomInfer&) -> Result<std::vector<TypeInfo>> {
    return std::vector{*TypeInfo::of(DType::f32, {"?"})};
  };
  op.run = [](CustomRun& c) -> Status {
    std::vector<float> kept;
    for (float x : c.tensor(0)->as<float>())
      if (x > 0) kept.push_back(x);
    return c.set(0, Tensor::of<float>(Shape{static_cast<int64_t>(kept.size())}, kept));
  };
  const auto model = Model::compile(scaled(), with(op));
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = model->session();
  for (int turn = 0; turn < 3; ++turn) {
    auto out =
        session.run(std::vector<Value>{floats(turn == 1 ? std::vector<float>{1, 2, 3} : std::vector<float>{1, -2})});
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ((*out)[0].tensor()->count(), turn == 1 ? 3 : 1);
  }
}

TEST(CustomOps, ErrorsAndExceptionsNameTheNode) {
  Graph g;
  nnex::AddOptions at;
  at.location = "line 7";
  const ValueId x = *g.add_input("x", "f32[2]");
  const auto node = *g.add_node("com.example:Scale", {x}, {}, at);
  ASSERT_TRUE(g.set_outputs({{"y", g.node(node)->outputs[0]}}).ok());

  CustomOperator op = scale();
  op.run = [](CustomRun&) -> Status { return Error(nnex::Code::fault, "the device is off"); };
  EXPECT_EQ(failed(*Model::compile(g, with(op)), {floats({1, 2})}),
            "line 7: the device is off\n  while the kernel of custom operator 'com.example:Scale'");
  op.run = [](CustomRun&) -> Status { return Error(nnex::Code::fault, "no answer").at("device 3"); };
  EXPECT_EQ(failed(*Model::compile(g, with(op)), {floats({1, 2})}),
            "device 3: no answer\n  while the kernel of custom operator 'com.example:Scale'\n  while at line 7");
  op.run = [](CustomRun&) -> Status { throw std::runtime_error("boom"); };
  EXPECT_EQ(failed(*Model::compile(g, with(op)), {floats({1, 2})}),
            "line 7: com.example:Scale: boom\n  while the kernel of custom operator 'com.example:Scale'");
  op.run = [](CustomRun&) -> Status { throw 7; };
  EXPECT_NE(failed(*Model::compile(g, with(op)), {floats({1, 2})}).find("line 7"), std::string::npos);
  op = scale();
  op.infer = [](const CustomInfer&) -> Result<std::vector<TypeInfo>> { throw std::runtime_error("no shape"); };
  const auto model = Model::compile(g, with(op));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().where(), "line 7");
  EXPECT_EQ(model.error().code(), nnex::Code::fault);
  EXPECT_NE(model.error().text().find("no shape"), std::string::npos);
}

TEST(CustomOps, WhatDoesNotFitItsRuleIsRefused) {
  const std::vector<Value> in = {floats({1, 2})};
  CustomOperator op = scale();
  op.infer = [](const CustomInfer&) -> Result<std::vector<TypeInfo>> { return std::vector<TypeInfo>(); };
  EXPECT_FALSE(Model::compile(scaled(), with(op)).ok());  // no type for an output
  op.infer = [](const CustomInfer&) -> Result<std::vector<TypeInfo>> {
    return std::vector{TypeInfo::of(DType::f32, Shape{3})};
  };
  EXPECT_NE(failed(*Model::compile(scaled(), with(op)), in).find("output 0 is made as f32[2]; needed f32[3]"),
            std::string::npos);
  op.run = [](CustomRun& c) -> Status { return c.set(0, Tensor::of<int64_t>(Shape{3}, {1, 2, 3})); };
  EXPECT_NE(failed(*Model::compile(scaled(), with(op)), in).find("is set to i64[3]; needed f32[3]"), std::string::npos);
  op.infer = [](const CustomInfer&) -> Result<std::vector<TypeInfo>> {
    return std::vector{*TypeInfo::of(DType::f32, {"?"})};
  };
  EXPECT_NE(failed(*Model::compile(scaled(), with(op)), in).find("the shape rule said f32["), std::string::npos);
  op.run = [](CustomRun&) -> Status { return {}; };
  EXPECT_NE(failed(*Model::compile(scaled(), with(op)), in).find("did not make output 0"), std::string::npos);
  op = scale();
  op.run = [](CustomRun& c) -> Status {
    return c.output(1, DType::f32, Shape{1}).ok() ? Status() : Error(nnex::Code::fault, "one output");
  };
  EXPECT_NE(failed(*Model::compile(scaled(), with(op)), in).find("one output"), std::string::npos);
  EXPECT_NE(failed(*Model::compile(scaled({{"factor", "two"}}), with(scale())), in).find("needed real"),
            std::string::npos);
}

TEST(CustomOps, WhatAKernelLeavesOutIsAFault) {  // though memory was planned for it
  CustomOperator op = scale();
  op.run = [](CustomRun& c) -> Status {
    EXPECT_FALSE(c.made(0));
    return {};
  };
  EXPECT_NE(failed(*Model::compile(scaled(), with(op)), {floats({1, 2})})
                .find("com.example:Scale: the kernel did not make output 0"),
            std::string::npos);
  op.run = [](CustomRun& c) -> Status {
    EXPECT_FALSE(c.output(0, DType::f32, Shape{9}).ok());
    EXPECT_FALSE(c.made(0));
    EXPECT_TRUE(c.set(0, floats({5, 6})).ok());
    EXPECT_TRUE(c.made(0));
    EXPECT_FALSE(c.made(1));
    return {};
  };
  EXPECT_EQ(run(*Model::compile(scaled(), with(op)), {floats({1, 2})}), (std::vector<float>{5, 6}));
}

/// Of the outputs of a node, one is read.
TEST(CustomOps, OutputsThatNobodyReadsNeedNotBeMade) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2]");
  nnex::AddOptions options;
  options.outputs = 3;
  const auto node = *g.add_node("com.example:Scale", {x}, {}, options);
  ASSERT_TRUE(g.set_outputs({{"y", g.node(node)->outputs[1]}}).ok());
  for (const bool rule : {false, true}) {
    CustomOperator op = scale();
    op.infer = nullptr;
    if (rule)
      op.infer = [](const CustomInfer& c) -> Result<std::vector<TypeInfo>> {
        return std::vector<TypeInfo>(c.outputs, c.inputs[0]);
      };
    op.run = [](CustomRun& c) -> Status {
      EXPECT_EQ(c.outputs(), 3u);
      EXPECT_FALSE(c.wants(0));
      EXPECT_TRUE(c.wants(1));
      EXPECT_FALSE(c.wants(2));
      EXPECT_TRUE(c.output(0, DType::f32, Shape{7}).ok());  // memory all the same
      return c.set(1, *c.input(0));
    };
    const auto model = Model::compile(g, with(op));
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(run(*model, {floats({1, 2})}), (std::vector<float>{1, 2})) << rule;
  }
}

TEST(CustomOps, RegisteringMistakes) {
  CustomOperators all;
  EXPECT_FALSE(all.add({}).ok());
  CustomOperator op = scale();
  op.run = nullptr;
  EXPECT_FALSE(all.add(op).ok());
  EXPECT_TRUE(all.add(scale()).ok());
  EXPECT_FALSE(all.add(scale()).ok());  // there already
  EXPECT_TRUE(all.find("com.example", "Scale"));
  EXPECT_FALSE(all.find("com.example", "scale"));
}

TEST(CustomOps, VersionsOfADomain) {
  CustomOperators all;
  CustomOperator first = scale(), second = scale();
  first.until = 1, second.since = 2;
  ASSERT_TRUE(all.add(first).ok());
  ASSERT_TRUE(all.add(second).ok());
  EXPECT_NE(all.find("com.example", "Scale", 1), all.find("com.example", "Scale", 2));
}

TEST(CustomOps, FoldedOnlyWhenPure) {
  Graph g;
  const ValueId k = *g.add_constant(floats({1, 2}));
  const ValueId s = *g.add("com.example:Scale", {k});
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("relu", {s})}}).ok());
  for (const bool pure : {false, true}) {
    std::atomic<int> runs = 0;
    CustomOperator op = scale(&runs);
    op.pure = pure;
    const auto model = Model::compile(g, with(op));
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(runs, pure ? 1 : 0);
    auto session = model->session();
    for (int turn = 0; turn < 3; ++turn) EXPECT_TRUE(session.run(std::vector<Value>{}).ok());
    EXPECT_EQ(runs, pure ? 1 : 3);
    EXPECT_EQ(run(*model, {}), (std::vector<float>{2, 4}));
  }
}

TEST(CustomOps, InALoop) {
  Graph g;
  const ValueId n = *g.add_input("n", "i64[]"), x = *g.add_input("x", "f32[2]");
  nnex::AddOptions body, loop;
  body.block = g.add_block();
  ASSERT_TRUE(g.add_parameter(body.block, "i", "i64[]").ok());
  const ValueId go = *g.add_parameter(body.block, "go", "bool[]"), s = *g.add_parameter(body.block, "s", "f32[2]");
  const auto twice = *g.add_node("com.example:Scale", {s}, {}, body);
  ASSERT_TRUE(g.set_results(body.block, {go, g.node(twice)->outputs[0]}).ok());
  loop.blocks = {body.block};
  const auto made = *g.add_node("loop", {n, ValueId(), x}, {}, loop);
  ASSERT_TRUE(g.set_outputs({{"y", g.node(made)->outputs[0]}}).ok());
  const auto model = Model::compile(g, with(scale()));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(run(*model, {Tensor::scalar<int64_t>(4), floats({1, 2})}), (std::vector<float>{16, 32}));
  EXPECT_EQ(run(*model, {Tensor::scalar<int64_t>(0), floats({1, 2})}), (std::vector<float>{1, 2}));
}

TEST(CustomOps, SessionsInThreads) {
  std::atomic<int> runs = 0;
  const auto model = Model::compile(scaled(), with(scale(&runs)));
  ASSERT_TRUE(model.ok());
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto session = model->session();
      for (int i = 0; i < 50; ++i) {
        const float v = static_cast<float>(t * 100 + i);
        auto out = session.run(std::vector<Value>{floats({v, 1})});
        if (out.ok() && (*out)[0].tensor()->as<float>()[0] == 2 * v) ++right;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(runs, 200);
}

TEST(CustomOps, SharingAnInputIsSafe) {  // what belongs to the session is copied
  CustomOperator op = scale();
  op.infer = nullptr;
  op.run = [](CustomRun& c) -> Status { return c.set(0, *c.input(0)); };
  Graph g;
  const ValueId x = *g.add_input("x", "f32[4]");
  const ValueId h = *g.add("exp", {*g.add("neg", {x})});
  const ValueId s = *g.add("com.example:Scale", {h});
  ASSERT_TRUE(g.set_outputs({{"y", s}, {"z", *g.add("add", {*g.add("mul", {h, h}), x})}}).ok());
  const auto model = Model::compile(g, with(op));
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = model->session();
  auto first = session.run(std::vector<Value>{floats({0, 0, 0, 0})});
  auto second = session.run(std::vector<Value>{floats({1, 1, 1, 1})});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)[0].tensor()->as<float>()[0], 1.0f);
  EXPECT_LT((*second)[0].tensor()->as<float>()[0], 0.5f);
}

TEST(CustomOps, SeenInProfiles) {
  const auto model = Model::compile(scaled(), with(scale()));
  auto session = model->session();
  session.profile(true);
  ASSERT_TRUE(session.run(std::vector<Value>{floats({1})}).ok());
  bool seen = false;
  for (const auto& node : session.nodes()) seen |= node.op == "com.example:Scale" && node.kernel == "host";
  EXPECT_TRUE(seen);
}

// ---- From files

void put(std::string& to, int field, const std::string& bytes) {
  to += static_cast<char>(field << 3 | 2);
  to += static_cast<char>(bytes.size());
  to += bytes;
}
void put(std::string& to, int field, int number) {
  to += static_cast<char>(field << 3);
  to += static_cast<char>(number);
}

/// ir 10, one node com.example:Scale(x) -> y with factor = 3, x and y f32[2], opsets ai.onnx 21 and com.example 1.
std::string onnx_model() {
  const auto port = [](const std::string& name) {
    std::string dim, shape, tensor, type, info;
    put(dim, 1, 2);
    put(shape, 1, dim);
    put(tensor, 1, 1), put(tensor, 2, shape);
    put(type, 1, tensor);
    put(info, 1, name), put(info, 2, type);
    return info;
  };
  std::string attribute, node, graph, plain, ours, model;
  put(attribute, 1, "factor");
  put(attribute, 3, 3);
  put(attribute, 20, 2);
  attribute.resize(attribute.size() - 2);
  attribute += std::string("\xa0\x01\x02", 3);  // field 20: type INT
  put(node, 1, "x"), put(node, 2, "y"), put(node, 3, "s1"), put(node, 4, "Scale"), put(node, 5, attribute);
  put(node, 7, "com.example");
  put(graph, 1, node), put(graph, 2, "g"), put(graph, 11, port("x")), put(graph, 12, port("y"));
  put(plain, 1, ""), put(plain, 2, 21);
  put(ours, 1, "com.example"), put(ours, 2, 1);
  put(model, 1, 10), put(model, 7, graph), put(model, 8, plain), put(model, 8, ours);
  return model;
}

TEST(CustomOps, OfAnOnnxModel) {
  const auto without = Model::from_bytes(onnx_model());
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().text().find("com.example.Scale"), std::string::npos) << without.error().text();
  const auto model = Model::from_bytes(onnx_model(), with(scale()));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(run(*model, {floats({1, -2})}), (std::vector<float>{3, -6}));
  CustomOperator later = scale();
  later.since = 2;
  EXPECT_FALSE(Model::from_bytes(onnx_model(), with(later)).ok());
  CustomOperator broken = scale();
  broken.run = [](CustomRun&) -> Status { throw std::runtime_error("boom"); };
  EXPECT_NE(failed(*Model::from_bytes(onnx_model(), with(broken)), {floats({1, 2})}).find("s1"), std::string::npos);
}

TEST(CustomOps, OfAnNnefModel) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "nnex_custom_nnef";
  fs::create_directories(folder);
  std::ofstream(folder / "graph.nnef")
      << "version 1.0;\nextension KHR_enable_fragment_definitions;\n\n"
         "fragment Scale( x: tensor<scalar>, factor: scalar = 2.0 ) -> ( y: tensor<scalar> );\n\n"
         "graph g( x ) -> ( y )\n{\n  x = external(shape = [2]);\n  s = Scale(x, factor = 5.0);\n  y = copy(s);\n}\n";
  CustomOperator op = scale();
  op.domain = "";
  const auto model = Model::load(folder.string(), with(op));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(run(*model, {floats({1, 2})}), (std::vector<float>{5, 10}));
  EXPECT_FALSE(Model::load(folder.string()).ok());
  fs::remove_all(folder);
}

}  // namespace
