// The specification's ways of saying what it has no operation for, and its example graphs, as programs in C++.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "nnex/webnn.h"

namespace nnex::ml {
namespace {

using Shape = std::vector<uint32_t>;

uint32_t count_of(const Shape& shape) { return std::accumulate(shape.begin(), shape.end(), 1u, std::multiplies<>()); }

// ---- Emulations

/// squeeze: a reshape without axes of extent 1; no axes named: all of them.
Result<Operand> squeeze(GraphBuilder& builder, const Operand& x, const std::vector<uint32_t>& axes = {}) {
  Shape shape;
  for (uint32_t i = 0; i < x.shape().size(); ++i) {
    const bool named = axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!named || x.shape()[i] != 1) shape.push_back(x.shape()[i]);
  }
  return builder.reshape(x, shape);
}

/// unsqueeze: a reshape with axes of extent 1 at these places of the result, ascending.
Result<Operand> unsqueeze(GraphBuilder& builder, const Operand& x, const std::vector<uint32_t>& axes) {
  Shape shape = x.shape();
  for (uint32_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return builder.reshape(x, shape);
}

/// flatten: two axes, the product before `axis` and from it on.
Result<Operand> flatten(GraphBuilder& builder, const Operand& x, uint32_t axis) {
  const Shape& s = x.shape();
  return builder.reshape(x, {count_of(Shape(s.begin(), s.begin() + axis)), count_of(Shape(s.begin() + axis, s.end()))});
}

/// A graph of one input or none run once: the output's numbers.
class OneRun {
 public:
  OneRun() : context_(*createContext().get()), builder(*GraphBuilder::create(context_)) {}

  Operand input(const std::string& name, const Shape& shape, std::vector<float> values) {
    values_[name] = std::move(values);
    return *builder.input(name, {DataType::float32, shape});
  }
  Operand constant(const Shape& shape, const std::vector<float>& values) {
    return *builder.constant({DataType::float32, shape}, values);
  }
  /// Counting from `first`.
  Operand counting(const Shape& shape, float first = 0) {
    std::vector<float> values(count_of(shape));
    std::iota(values.begin(), values.end(), first);
    return constant(shape, values);
  }

  std::vector<float> operator()(const Result<Operand>& y) {
    EXPECT_TRUE(y.ok()) << (y.ok() ? "" : y.error().text());
    if (!y.ok()) return {};
    const auto graph = builder.build({{"y", *y}}).get();
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
    if (!graph.ok()) return {};
    NamedTensors in;
    for (const auto& [name, d] : graph->inputs()) {
      in[name] = *context_.createTensor(d, {.writable = true}).get();
      EXPECT_TRUE(context_.writeTensor(in[name], values_[name]).ok());
    }
    const Tensor out = *context_.createTensor(graph->outputs().at("y"), {.readable = true}).get();
    EXPECT_TRUE(context_.dispatch(*graph, in, {{"y", out}}).ok());
    const auto bytes = context_.readTensor(out).get();
    EXPECT_TRUE(bytes.ok());
    std::vector<float> numbers(bytes->size() / sizeof(float));
    std::memcpy(numbers.data(), bytes->data(), bytes->size());
    return numbers;
  }

 private:
  Context context_;
  std::map<std::string, std::vector<float>> values_;

 public:
  GraphBuilder builder;
};

void expect_near(const std::vector<float>& got, const std::vector<float>& want, float bound = 1e-5F) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], bound * (1 + std::fabs(want[i]))) << i;
}

TEST(WebnnExamples, SqueezeUnsqueezeFlatten) {
  OneRun run;
  const Operand x = run.input("x", {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(squeeze(run.builder, x)->shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(run.builder, x, {2})->shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(unsqueeze(run.builder, x, {0, 5})->shape(), (Shape{1, 1, 2, 1, 3, 1}));
  EXPECT_EQ(flatten(run.builder, x, 2)->shape(), (Shape{2, 3}));
  EXPECT_EQ(flatten(run.builder, x, 0)->shape(), (Shape{1, 6}));
  expect_near(run(flatten(run.builder, *run.builder.neg(x), 4)), {-1, -2, -3, -4, -5, -6});
}

/// C = 0.2 A + B, as the introduction of the specification has it.
TEST(WebnnExamples, SumOfScaledInputs) {
  OneRun run;
  const Operand a = run.input("A", {2, 2}, {1, 2, 3, 4}), b = run.input("B", {2, 2}, {10, 20, 30, 40});
  const Operand factor = *run.builder.constant(DataType::float32, 0.2);
  expect_near(run(run.builder.add(*run.builder.mul(a, factor), b)), {10.2F, 20.4F, 30.6F, 40.8F});
}

/// (const1 + in1) (const2 + in2) of eight numbers each.
TEST(WebnnExamples, ProductOfTwoSums) {
  OneRun run;
  const Shape shape = {1, 2, 2, 2};
  const Operand half = run.constant(shape, std::vector<float>(8, 0.5F)),
                other = run.constant(shape, std::vector<float>(8, 0.5F));
  const Operand first = run.input("first", shape, std::vector<float>(8, 1)),
                second = run.input("second", shape, std::vector<float>(8, 1));
  expect_near(run(run.builder.mul(*run.builder.add(half, first), *run.builder.add(other, second))),
              std::vector<float>(8, 2.25F));
}

/// One graph with an output that is an intermediate value of the other.
TEST(WebnnExamples, SeveralOutputs) {
  const Context context = *createContext().get();
  GraphBuilder builder = *GraphBuilder::create(context);
  const Operand a = *builder.input("a", {DataType::float32, {3, 4}});
  const Operand b = *builder.constant({DataType::float32, {4, 3}}, std::vector<float>(12, 1));
  const Operand c = *builder.matmul(a, b), d = *builder.add(c, *builder.constant(DataType::float32, 1));
  const Graph graph = *builder.build({{"c", c}, {"d", d}}).get();
  const Tensor in = *context.createTensor({.dataType = DataType::float32, .shape = {3, 4}, .writable = true}).get();
  const Tensor sum = *context.createTensor({.dataType = DataType::float32, .shape = {3, 3}, .readable = true}).get(),
               more = *context.createTensor({.dataType = DataType::float32, .shape = {3, 3}, .readable = true}).get();
  ASSERT_TRUE(context.writeTensor(in, std::vector<float>(12, 1)).ok());
  ASSERT_TRUE(context.dispatch(graph, {{"a", in}}, {{"c", sum}, {"d", more}}).ok());
  for (const auto& [tensor, want] : {std::pair{sum, 4.0F}, {more, 5.0F}}) {
    const auto bytes = *context.readTensor(tensor).get();
    float first = 0;
    std::memcpy(&first, bytes.data(), sizeof(first));
    EXPECT_EQ(first, want);
  }
}

/// A step fed with its own result: two tensors change places, so nothing is copied between dispatches.
TEST(WebnnExamples, TensorsThatChangePlaces) {
  const Context context = *createContext().get();
  GraphBuilder builder = *GraphBuilder::create(context);
  const Operand previous = *builder.input("previous", {DataType::float32, {2}});
  const Operand next = *builder.add(previous, *builder.constant({DataType::float32, {2}}, std::vector<float>{1, 2}));
  const Graph graph = *builder.build({{"next", next}}).get();
  Tensor a =
      *context.createTensor({.dataType = DataType::float32, .shape = {2}, .readable = true, .writable = true}).get();
  Tensor b =
      *context.createTensor({.dataType = DataType::float32, .shape = {2}, .readable = true, .writable = true}).get();
  for (int step = 0; step < 10; ++step) {
    ASSERT_TRUE(context.dispatch(graph, {{"previous", a}}, {{"next", b}}).ok());
    std::swap(a, b);
  }
  const auto bytes = *context.readTensor(a).get();
  std::vector<float> numbers(2);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  EXPECT_EQ(numbers, (std::vector<float>{10, 20}));
}

// ---- Operations that the specification also writes in simpler ones: both must agree.

TEST(WebnnExamples, DecompositionsAgree) {
  const Shape shape = {2, 3};
  const std::vector<float> values = {-2.5F, -0.75F, 0, 0.25F, 1.5F, 3};
  const auto number = [](OneRun& run, double v) { return *run.builder.constant(DataType::float32, v); };
  const auto compare = [&](const char* name, auto whole, auto parts) {
    SCOPED_TRACE(name);
    OneRun a, b;
    const Operand x = a.input("x", shape, values), z = b.input("x", shape, values);
    expect_near(b(parts(b, z)), a(whole(a.builder, x)));
  };
  compare(
      "relu", [](GraphBuilder& g, const Operand& x) { return g.relu(x); },
      [&](OneRun& r, const Operand& x) { return r.builder.max(number(r, 0), x); });
  compare(
      "leakyRelu", [](GraphBuilder& g, const Operand& x) { return g.leakyRelu(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        return g.add(*g.max(number(r, 0), x), *g.mul(number(r, 0.01), *g.min(number(r, 0), x)));
      });
  compare(
      "elu", [](GraphBuilder& g, const Operand& x) { return g.elu(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        return g.add(*g.max(number(r, 0), x), *g.sub(*g.exp(*g.min(number(r, 0), x)), number(r, 1)));
      });
  compare(
      "sigmoid", [](GraphBuilder& g, const Operand& x) { return g.sigmoid(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        return g.div(number(r, 1), *g.add(*g.exp(*g.neg(x)), number(r, 1)));
      });
  compare(
      "tanh", [](GraphBuilder& g, const Operand& x) { return g.tanh(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        const Operand e = *g.exp(*g.mul(number(r, 2), x));
        return g.div(*g.sub(e, number(r, 1)), *g.add(e, number(r, 1)));
      });
  compare(
      "softsign", [](GraphBuilder& g, const Operand& x) { return g.softsign(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        return g.div(x, *g.add(number(r, 1), *g.abs(x)));
      });
  compare(
      "softplus", [](GraphBuilder& g, const Operand& x) { return g.softplus(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        return g.log(*g.add(*g.exp(x), number(r, 1)));
      });
  compare(
      "gelu", [](GraphBuilder& g, const Operand& x) { return g.gelu(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        return g.mul(*g.mul(x, *g.add(number(r, 1), *g.erf(*g.div(x, *g.sqrt(number(r, 2)))))), number(r, 0.5));
      });
  compare(
      "hardSwish", [](GraphBuilder& g, const Operand& x) { return g.hardSwish(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        const Operand inner = *g.max(number(r, 0), *g.min(number(r, 6), *g.add(x, number(r, 3))));
        return g.div(*g.mul(x, inner), number(r, 6));
      });
  compare(
      "softmax", [](GraphBuilder& g, const Operand& x) { return g.softmax(x, 1); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        ReduceOptions over;
        over.axes = std::vector<uint32_t>{1}, over.keepDimensions = true;
        const Operand e = *g.exp(*g.sub(x, *g.reduceMax(x, over)));
        return g.div(e, *g.reduceSum(e, over));
      });
  compare(
      "layerNormalization", [](GraphBuilder& g, const Operand& x) { return g.layerNormalization(x); },
      [&](OneRun& r, const Operand& x) {
        GraphBuilder& g = r.builder;
        ReduceOptions over;
        over.axes = std::vector<uint32_t>{1}, over.keepDimensions = true;
        const Operand d = *g.sub(x, *g.reduceMean(x, over));
        const Operand variance = *g.reduceMean(*g.pow(d, number(r, 2)), over);
        return g.div(d, *g.sqrt(*g.add(variance, number(r, 1e-5))));
      });
}

/// gemm by matmul: alpha A' B' + beta C.
TEST(WebnnExamples, GemmInParts) {
  OneRun a, b;
  const auto whole = [&](OneRun& r) {
    GemmOptions options;
    options.c = r.constant({2}, {1, -1});
    options.alpha = 0.5, options.beta = 3, options.aTranspose = true;
    return r.builder.gemm(r.counting({3, 2}), r.counting({3, 2}, 1), options);
  };
  const auto parts = [&](OneRun& r) {
    GraphBuilder& g = r.builder;
    const Operand product = *g.matmul(*g.transpose(r.counting({3, 2})), r.counting({3, 2}, 1));
    const Operand scaled = *g.mul(product, *g.constant(DataType::float32, 0.5));
    return g.add(scaled, *g.mul(r.constant({2}, {1, -1}), *g.constant(DataType::float32, 3)));
  };
  expect_near(b(parts(b)), a(whole(a)));
}

}  // namespace
}  // namespace nnex::ml
