// Every pass on small networks: what it makes of them, and that answers stay.

#include "passes/passes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/infer.h"
#include "nnex/model.h"
#include "ops/activation.h"
#include "ops/deconv.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "passes/pipeline.h"
#include "run/compile.h"

namespace nnex::passes {
namespace {

/// Numbers in [-1, 1] that repeat on every machine.
Tensor noise(const Shape& shape, uint32_t seed, float low = -1) {
  Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
  for (float& v : t.mutable_as<float>()) {
    seed = seed * 1664525U + 1013904223U;
    v = low + (1 - low) * static_cast<float>(seed >> 8) / static_cast<float>(1 << 24);
  }
  return t;
}

/// A network under construction with one float32 input.
struct Net {
  ir::Graph g;
  Builder b{g, kMain};
  ValueId x;
  uint32_t seed = 1;

  explicit Net(Dims dims) { x = g.add_param(kMain, "x", Type::tensor(DType::f32, std::move(dims))); }
  ValueId weights(const Shape& shape) { return b.constant(noise(shape, ++seed)); }
  ValueId positive(const Shape& shape) { return b.constant(noise(shape, ++seed, 0.1F)); }
  ValueId conv(ValueId v, int64_t out, int64_t in, int64_t kernel, ConvAttrs a = {}) {
    const int64_t p = kernel / 2;
    a.padding = {{p, p}, {p, p}};
    return b("conv", {v, weights({out, in / a.groups, kernel, kernel}), weights({out})}, a);
  }
  ValueId batch_norm(ValueId v, int64_t n) {
    return b("batch_normalization", {v, weights({n}), positive({n}), weights({n}), weights({n})}, BatchNormAttrs{});
  }
  ValueId mean_of_space(ValueId v) {
    ReduceAttrs a;
    return b("mean_reduce", {v, b.ints({2, 3})}, a);
  }
};

int count(const ir::Graph& g, std::string_view op) {
  int n = 0;
  for (NodeId id : g.order_with_blocks()) n += g[id].op->name == op;
  return n;
}

std::vector<Value> run(const ir::Graph& g, const Tensor& x, bool optimize, int threads = 1) {
  LoadOptions options;
  options.optimize = optimize;
  auto model = compile(ir::Graph(g), options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  SessionOptions session_options;
  session_options.threads = threads;
  auto session = model->session(session_options);
  std::vector<Value> in = {Value(x)};
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return std::move(*out);
}

/// The graph after the passes, verified after each.
ir::Graph optimized(const ir::Graph& network) {
  ir::Graph g(network);
  EXPECT_TRUE(prepare(g).ok());
  PipelineOptions options;
  options.verify = true;
  const Status s = optimize(g, options);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().text());
  return g;
}

/// Runs with and without passes; answers agree within 1e-5 of the largest. Returns the optimised graph.
ir::Graph expect_same(Net& net, std::vector<ValueId> results, const Shape& shape) {
  net.g.set_results(kMain, std::move(results));
  const Tensor x = noise(shape, 99);
  const auto plain = run(net.g, x, false), better = run(net.g, x, true), two = run(net.g, x, true, 2);
  EXPECT_EQ(plain.size(), better.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    const Tensor &a = *plain[i].tensor(), &b = *better[i].tensor(), &c = *two[i].tensor();
    EXPECT_EQ(a.shape(), b.shape());
    if (!(a.shape() == b.shape())) continue;
    float largest = 1e-6F;
    for (float v : a.as<float>()) largest = std::max(largest, std::abs(v));
    for (size_t k = 0; k < a.as<float>().size(); ++k) {
      EXPECT_NEAR(a.as<float>()[k], b.as<float>()[k], 1e-5F * largest) << "result " << i << " element " << k;
      EXPECT_EQ(b.as<float>()[k], c.as<float>()[k]) << "two threads, element " << k;
    }
  }
  return optimized(net.g);
}

TEST(Fuse, ConvolutionTakesNormalisationResidualAndActivation) {
  Net n({1, 8, 9, 7});
  ValueId a = n.b("relu", {n.batch_norm(n.conv(n.x, 16, 8, 3), 16)});
  ValueId c = n.batch_norm(n.conv(a, 16, 16, 3), 16);
  ValueId y = n.b("relu", {n.b("add", {c, a})});
  const ir::Graph g = expect_same(n, {y}, {1, 8, 9, 7});
  EXPECT_EQ(count(g, "batch_normalization"), 0);
  EXPECT_EQ(count(g, "fused"), 2);
  EXPECT_EQ(count(g, "transpose"), 2);  // of the network's input and output
}

TEST(Fuse, ConvolutionsOfOtherGroupsMayShareAFilter) {
  Net n({1, 8, 5, 5});
  const ValueId w = n.weights({8, 4, 3, 3});
  ConvAttrs whole, halves;
  whole.padding = halves.padding = {{1, 1}, {1, 1}};
  halves.groups = 2;
  const ValueId first = n.b("slice", {n.x, n.b.ints({0}), n.b.ints({4}), n.b.ints({1})});
  expect_same(n, {n.b("conv", {first, w}, whole), n.b("conv", {n.x, w}, halves)}, {1, 8, 5, 5});
}

TEST(Fuse, EveryActivationAfterAConvolution) {
  for (const char* name : {"relu", "sigmoid", "tanh", "hard_swish", "mish", "softplus", "silu", "gelu", "elu", "selu",
                           "leaky_relu", "hard_sigmoid", "exp", "abs", "neg", "floor"}) {
    SCOPED_TRACE(name);
    Net n({2, 3, 5, 5});
    const ir::Graph g = expect_same(n, {n.b(name, {n.conv(n.x, 5, 3, 3)})}, {2, 3, 5, 5});
    EXPECT_EQ(count(g, "fused"), 1);
  }
}

TEST(Fuse, ClampWithConstantLimits) {
  Net n({1, 4, 6, 6});
  ValueId y = n.b("clamp", {n.conv(n.x, 4, 4, 1), n.b.number(DType::f32, 0), n.b.number(DType::f32, 0.5)});
  EXPECT_EQ(count(expect_same(n, {y}, {1, 4, 6, 6}), "fused"), 1);
}

TEST(Fuse, AResultReadTwiceStays) {
  Net n({1, 4, 6, 6});
  ValueId c = n.conv(n.x, 4, 4, 1);
  const ir::Graph g = expect_same(n, {n.b("relu", {c}), c}, {1, 4, 6, 6});
  EXPECT_EQ(count(g, "fused"), 0);
}

TEST(Fuse, ResidualOfOtherExtentsStays) {
  Net n({1, 4, 6, 6});
  ValueId c = n.conv(n.x, 4, 4, 1);
  expect_same(n, {n.b("relu", {n.b("add", {c, n.mean_of_space(n.x)})})}, {1, 4, 6, 6});
}

TEST(Fuse, ProductWithRowResidualAndActivation) {
  Net n({2, 5, 8});
  ValueId m = n.b("matmul", {n.x, n.weights({8, 8})});
  ValueId y = n.b("gelu", {n.b("add", {n.b("add", {n.weights({8}), m}), n.x})});
  EXPECT_EQ(count(expect_same(n, {y}, {2, 5, 8}), "fused"), 1);
}

TEST(Fuse, ChainOfElementWiseNodes) {
  Net n({2, 3, 40});
  ValueId s = n.b("sigmoid", {n.b("mul", {n.x, n.weights({40})})});
  ValueId t = n.b("sub", {n.b("add", {s, n.weights({3, 1})}), n.b("div", {n.x, n.positive({2, 1, 40})})});
  const ir::Graph g = expect_same(n, {n.b("max", {t, n.b("tanh", {s})})}, {2, 3, 40});
  EXPECT_EQ(count(g, "fused"), 1);
}

TEST(Fuse, LongChainsAreCut) {
  Net n({300});
  ValueId v = n.x;
  for (int i = 0; i < 60; ++i) v = n.b("tanh", {n.b("add", {v, n.weights({300})})});
  const ir::Graph g = expect_same(n, {v}, {300});
  EXPECT_GE(count(g, "fused"), 3);
}

TEST(Fold, WorkWithoutEndIsLeftToTheRun) {
  for (const int64_t size : {int64_t{8}, int64_t{1} << 40}) {
    Net n({1});
    PoolAttrs a;
    a.size = {size}, a.padding = {{size / 2, size - size / 2 - 1}};
    n.g.set_results(kMain, {n.b("add", {n.x, n.b("max_pool", {n.weights({1})}, a)})});
    EXPECT_EQ(count(optimized(n.g), "max_pool"), size == 8 ? 0 : 1) << size;
  }
}

/// Whose reference would take long: by fast kernels, as far as a second goes.
TEST(Fold, LargeProductsAndConvolutionsOfConstants) {
  const struct {
    const char* name;
    int64_t n;
    bool folds;
  } rows[] = {{"products", 300, true}, {"a product of 64 billion steps", 4000, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Net net({row.n});
    const ValueId a = net.weights({2, row.n}), w = net.weights({row.n, row.n}), v = net.weights({row.n, row.n});
    const ValueId merged = net.b("add", {net.b("matmul", {w, v}), w});
    const ValueId y = net.b("add", {net.b("matmul", {a, merged}), net.x});
    net.g.set_results(kMain, {y});
    Faults faults;
    infer_types(net.g, faults);
    ir::Graph g = net.g;
    ASSERT_TRUE(fold_constants(g).ok());
    EXPECT_EQ(count(g, "matmul"), row.folds ? 0 : 2);
    if (!row.folds) continue;
    const std::vector<Value> made = run(g, noise({row.n}, 7), false), wanted = run(net.g, noise({row.n}, 7), false);
    for (int64_t i = 0; i < 2 * row.n; ++i)
      ASSERT_NEAR(made[0].tensor()->as<float>()[i], wanted[0].tensor()->as<float>()[i], 2e-3) << i;
  }
  Net net({1, 64, 30, 30});
  const ValueId c = net.conv(net.weights({1, 64, 30, 30}), 64, 64, 3);
  net.g.set_results(kMain, {net.b("add", {c, net.x})});
  Faults faults;
  infer_types(net.g, faults);
  ASSERT_TRUE(fold_constants(net.g).ok());
  EXPECT_EQ(count(net.g, "conv"), 0);
}

TEST(Layout, DeconvolutionsOfEveryKind) {
  struct Row {
    const char* name;
    int64_t size, stride, groups;
    Pairs padding;
  };
  const Row rows[] = {{"a pixel becomes four", 2, 2, 1, {}},
                      {"windows that overlap, cut", 3, 2, 2, {{1, 0}, {0, 1}}},
                      {"places that nothing reaches", 2, 3, 1, {}},
                      {"too many phases for the kernel", 3, 9, 1, {{1, 1}, {0, 0}}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Net n({2, 4, 5, 6});
    DeconvAttrs a;
    a.stride = {row.stride, row.stride}, a.groups = row.groups, a.padding = row.padding;
    const ValueId w = n.weights({8, 6 / row.groups, row.size, row.size});
    ValueId d = n.b("deconv", {n.conv(n.x, 8, 4, 3), w, n.weights({6})}, a);
    const ir::Graph g = expect_same(n, {n.conv(d, 3, 6, 1)}, {2, 4, 5, 6});
    EXPECT_EQ(count(g, "transpose"), 2);
  }
}

TEST(Layout, DepthwiseByItselfKeepsItsPlanes) {
  for (int64_t stride : {1, 2, 3}) {
    SCOPED_TRACE(stride);
    Net n({2, 6, 13, 21});
    ConvAttrs a;
    a.groups = 6, a.stride = {stride, stride};
    ValueId y = n.b("relu", {n.conv(n.b("silu", {n.conv(n.x, 6, 6, 3, a)}, AlphaAttrs{1}), 6, 6, 5, a)});
    const ir::Graph g = expect_same(n, {y}, {2, 6, 13, 21});
    EXPECT_EQ(count(g, "transpose"), 0);
  }
}

TEST(Layout, TransposesMoveThroughAndCancel) {
  Net n({1, 8, 12, 10});
  ValueId a = n.b("relu", {n.conv(n.x, 8, 8, 3)});
  PoolAttrs pool;
  pool.size = {1, 1, 2, 2}, pool.stride = {1, 1, 2, 2}, pool.border = PoolBorder::ignore;
  ValueId p = n.b("max_pool", {a}, pool);
  ValueId c = n.b("concat", {p, n.b("mul", {p, n.weights({8, 1, 1})})}, [] {
    AxisAttrs a;
    a.axis = 1;
    return a;
  }());
  ValueId gate = n.b("sigmoid", {n.conv(n.mean_of_space(c), 16, 16, 1)});
  ValueId y = n.conv(n.b("mul", {c, gate}), 4, 16, 3);
  const ir::Graph g = expect_same(n, {y}, {1, 8, 12, 10});
  EXPECT_EQ(count(g, "transpose"), 2);
}

TEST(Layout, PadSliceSoftmaxAndSplit) {
  Net n({2, 4, 6, 6});
  ValueId c = n.conv(n.x, 6, 4, 3);
  ValueId p = n.b("pad", {c, n.b.ints({0, 0, 1, 2, 0, 0, 0, 1})});
  ValueId s = n.b("slice", {p, n.b.ints({1, 0}), n.b.ints({6, 8}), n.b.ints({1, 3}), n.b.ints({2, 3})});
  SoftmaxAttrs soft;
  soft.axes = {1};
  ValueId y = n.conv(n.b("softmax", {s}, soft), 2, 3, 1);
  const ir::Graph g = expect_same(n, {y}, {2, 4, 6, 6});
  EXPECT_EQ(count(g, "transpose"), 2);
}

TEST(Layout, ReductionsWithoutTheirAxes) {
  Net n({2, 4, 6, 5});
  ReduceAttrs a;
  a.keepdims = false;
  ValueId c = n.conv(n.x, 6, 4, 3);
  expect_same(n,
              {n.b("mean_reduce", {c, n.b.ints({2, 3})}, a),
               n.b("max_reduce", {c, n.b.ints({1})},
                   [] {
                     ExtremeAttrs e;
                     e.keepdims = false;
                     return e;
                   }()),
               n.b("sum_reduce", {c, n.b.ints({-2})}, a)},
              {2, 4, 6, 5});
}

TEST(Layout, OneAndThreeSpatialAxes) {
  for (const Shape& x : {Shape{2, 3, 11}, Shape{1, 3, 4, 5, 6}}) {
    Net n(Dims(x.begin(), x.end()));
    Shape w = x;
    w.set(0, 5);
    for (int64_t i = 2; i < x.rank(); ++i) w.set(i, 2);
    ValueId y = n.b("relu", {n.b("conv", {n.x, n.weights(w), n.weights({5})}, ConvAttrs{})});
    expect_same(n, {y}, x);
  }
}

TEST(Layout, DepthwiseAndGroups) {
  for (int64_t groups : {2, 8}) {
    Net n({1, 8, 7, 9});
    ConvAttrs a;
    a.groups = groups;
    a.stride = {2, 1};
    expect_same(n, {n.b("relu", {n.conv(n.x, 16, 8, 3, a)})}, {1, 8, 7, 9});
  }
}

TEST(Simplify, GeluInBothSpellings) {
  Net n({4, 33});
  const auto number = [&](double v) { return n.b.number(DType::f32, v); };
  ValueId erf = n.b("erf", {n.b("div", {n.x, number(std::sqrt(2.0))})});
  ValueId exact = n.b("mul", {n.b("mul", {n.x, n.b("add", {erf, number(1)})}), number(0.5)});
  ValueId cube = n.b("mul", {n.b("pow", {n.x, number(3)}), number(0.044715)});
  ValueId inner = n.b("mul", {n.b("add", {n.x, cube}), number(std::sqrt(2 / M_PI))});
  ValueId tanh = n.b("mul", {n.b("mul", {number(0.5), n.x}), n.b("add", {number(1), n.b("tanh", {inner})})});
  const ir::Graph g = expect_same(n, {exact, tanh}, {4, 33});
  EXPECT_EQ(count(g, "gelu"), 2);
}

TEST(Simplify, SiluAndHardSwish) {
  Net n({4, 33});
  const auto number = [&](double v) { return n.b.number(DType::f32, v); };
  ValueId silu = n.b("mul", {n.x, n.b("sigmoid", {n.x})});
  ValueId clamp = n.b("clamp", {n.b("add", {n.x, number(3)}), number(0), number(6)});
  ValueId swish = n.b("div", {n.b("mul", {n.x, clamp}), number(6)});
  const ir::Graph g = expect_same(n, {silu, swish}, {4, 33});
  EXPECT_EQ(count(g, "silu"), 1);
  EXPECT_EQ(count(g, "hard_swish"), 1);
}

TEST(Simplify, AProductThatOnlyLooksLikeGelu) {
  Net n({4, 33});
  const auto number = [&](double v) { return n.b.number(DType::f32, v); };
  ValueId erf = n.b("erf", {n.b("div", {n.x, number(1.5)})});
  ValueId y = n.b("mul", {n.b("mul", {n.x, n.b("add", {erf, number(1)})}), number(0.5)});
  EXPECT_EQ(count(expect_same(n, {y}, {4, 33}), "gelu"), 0);
}

/// The average of a constant is it, however many are added.
TEST(Simplify, AveragesOfLargePlanes) {
  Net net({1, 1, 1024, 1024});
  PoolAttrs a;
  a.size = {1, 1, 1024, 1024}, a.border = PoolBorder::ignore, a.divisor = Divisor::inside;
  net.g.set_results(kMain, {net.b("box", {net.x}, a)});
  Tensor x = noise({1, 1, 1024, 1024}, 1);
  for (float& v : x.mutable_as<float>()) v = 1.1F;
  EXPECT_NEAR(run(net.g, x, true)[0].tensor()->as<float>()[0], 1.1F, 2e-5);
}

TEST(Simplify, LayerNormalisation) {
  Net n({2, 7, 24});
  const auto mean = [&](ValueId v) { return n.b("mean_reduce", {v, n.b.ints({-1})}, ReduceAttrs{}); };
  ValueId d = n.b("sub", {n.x, mean(n.x)});
  ValueId var = mean(n.b("pow", {d, n.b.number(DType::f32, 2)}));
  ValueId root = n.b("sqrt", {n.b("add", {var, n.b.number(DType::f32, 1e-5)})});
  ValueId y = n.b("add", {n.b("mul", {n.b("div", {d, root}), n.weights({24})}), n.weights({24})});
  const ir::Graph g = expect_same(n, {y}, {2, 7, 24});
  EXPECT_EQ(count(g, "layer_normalization"), 1);
  EXPECT_EQ(count(g, "mean_reduce"), 0);
}

TEST(Simplify, NormalisationBeforeAConvolution) {
  Net n({1, 6, 5, 5});
  ValueId y = n.conv(n.b("relu", {n.batch_norm(n.x, 6)}), 3, 6, 1);
  const ir::Graph g = expect_same(n, {y}, {1, 6, 5, 5});
  EXPECT_EQ(count(g, "batch_normalization"), 0);
}

/// Bytes of random numbers as a constant.
ValueId bytes(Net& n, const Shape& shape, DType type) {
  const Tensor real = noise(shape, ++n.seed);
  Tensor t = std::move(Tensor::make(type, shape)).value();
  for (int64_t i = 0; i < t.count(); ++i)
    t.mutable_data()[i] = static_cast<std::byte>(static_cast<int8_t>(real.as<float>()[static_cast<size_t>(i)] * 100));
  return n.b.constant(std::move(t));
}
ValueId vector_of(Net& n, int64_t count, float first) {
  Tensor t = std::move(Tensor::make(DType::f32, Shape{count})).value();
  for (int64_t i = 0; i < count; ++i)
    t.mutable_as<float>()[static_cast<size_t>(i)] = first * (1 + static_cast<float>(i) / 8);
  return n.b.constant(std::move(t));
}
struct ByteNet : Net {
  using Net::Net;
  ValueId zero = b.constant(Tensor::scalar<uint8_t>(120));
  ValueId step = b.number(DType::f32, 0.05);
  ValueId down(ValueId v) { return b("quantize_linear", {v, step, zero}, QuantizeAttrs{}); }
  ValueId up(ValueId v) { return b("dequantize_linear", {v, step, zero}, DequantizeAttrs{}); }
  ValueId weights_of(const Shape& shape, int64_t axis) {
    DequantizeAttrs a;
    a.axis = axis;
    return b("dequantize_linear", {bytes(*this, shape, DType::i8), vector_of(*this, shape[axis], 0.002F)}, a);
  }
  ValueId byte_conv(ValueId v, int64_t out, int64_t in, int64_t kernel, ConvAttrs a = {}) {
    const int64_t p = kernel / 2;
    a.padding = {{p, p}, {p, p}};
    return b("conv", {v, weights_of({out, in / a.groups, kernel, kernel}, 0), weights({out})}, a);
  }
};

/// Runs with and without passes; results are bytes dequantised, which differ by `steps` of 0.05 at most.
ir::Graph expect_near(ByteNet& net, ValueId result, const Shape& shape, int steps) {
  net.g.set_results(kMain, {result});
  const Tensor x = noise(shape, 99);
  const auto plain = run(net.g, x, false), better = run(net.g, x, true);
  const auto a = plain[0].tensor()->as<float>(), b = better[0].tensor()->as<float>();
  EXPECT_EQ(a.size(), b.size());
  size_t apart = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    EXPECT_LE(std::abs(a[i] - b[i]), 0.05F * static_cast<float>(steps) + 1e-6F) << "element " << i;
    apart += a[i] != b[i];
  }
  EXPECT_LE(apart, a.size() / 50 + 1) << "of " << a.size();
  return optimized(net.g);
}

TEST(Quantized, ConvolutionsPoolsAndResiduals) {
  ByteNet n({1, 3, 12, 12});
  ValueId a = n.up(n.down(n.b("relu", {n.byte_conv(n.up(n.down(n.x)), 16, 3, 3)})));
  PoolAttrs pool;
  pool.size = {1, 1, 2, 2}, pool.stride = {1, 1, 2, 2}, pool.border = PoolBorder::ignore;
  ValueId p = n.b("max_pool", {a}, pool);
  ConvAttrs depthwise;
  depthwise.groups = 16;
  ValueId c = n.up(n.down(n.byte_conv(p, 16, 16, 3, depthwise)));
  ValueId d = n.up(n.down(n.byte_conv(p, 16, 16, 1)));
  ValueId y = n.up(n.down(n.b("relu", {n.b("add", {c, d})})));
  const ir::Graph g = expect_near(n, y, {1, 3, 12, 12}, 3);
  EXPECT_EQ(count(g, "conv"), 3);  // inside regions
  EXPECT_EQ(count(g, "fused"), 4);
}

TEST(Quantized, Products) {
  for (bool transposed : {false, true}) {
    ByteNet n({5, 24});
    LinearAttrs a;
    a.transpose_b = transposed;
    const Shape shape = transposed ? Shape{10, 24} : Shape{24, 10};
    ValueId y = n.b("linear", {n.up(n.down(n.x)), n.weights_of(shape, transposed ? 0 : 1), n.weights({10})}, a);
    EXPECT_EQ(count(expect_near(n, n.up(n.down(y)), {5, 24}, 1), "fused"), 1);
  }
}

TEST(Quantized, ConvolutionsWhoseFiltersComeInAnotherLayout) {
  ByteNet n({1, 6, 6, 4});  // channels last, as the filter's channels are
  TransposeAttrs first, last;
  first.axes = {0, 3, 1, 2}, last.axes = {0, 2, 3, 1};
  const ValueId w = n.b("transpose", {n.weights_of({8, 3, 3, 4}, 0)}, first);
  ValueId y = n.b("conv", {n.b("transpose", {n.up(n.down(n.x))}, first), w, n.weights({8})}, ConvAttrs{});
  const ir::Graph g = expect_near(n, n.up(n.down(n.b("relu", {n.b("transpose", {y}, last)}))), {1, 6, 6, 4}, 1);
  EXPECT_EQ(count(g, "fused"), 1);
  EXPECT_EQ(count(g, "transpose"), 0);
}

TEST(Quantized, ProductsWithARowAndLimits) {
  for (bool limits : {false, true}) {
    ByteNet n({2, 5, 24});
    ValueId y = n.b("add", {n.weights({10}), n.b("matmul", {n.up(n.down(n.x)), n.weights_of({24, 10}, 1)})});
    if (limits) y = n.b("clamp", {y, n.b.number(DType::f32, -0.25), n.b.number(DType::f32, 0.5)});
    EXPECT_EQ(count(expect_near(n, n.up(n.down(y)), {2, 5, 24}, 1), "fused"), 1);
  }
}

// ---- Chains of transposes and views ----

ValueId turn(Net& n, ValueId v, Ints axes) {
  TransposeAttrs a;
  a.axes = std::move(axes);
  return n.b("transpose", {v}, a);
}

ValueId seen(Net& n, ValueId v, const Ints& extents, ZeroExtent zero = ZeroExtent::literal) {
  ReshapeAttrs a;
  a.zero = zero;
  return n.b("reshape", {v, n.b.ints(extents)}, a);
}

TEST(Moves, ChannelsChangePlacesWithinPixels) {
  Net n({1, 6, 5, 8});
  ValueId y = turn(n, n.x, {0, 3, 1, 2});
  y = seen(n, turn(n, seen(n, y, {1, 4, 2, 6, 5}), {0, 2, 1, 3, 4}), {1, 8, 6, 5});
  const ir::Graph g = expect_same(n, {turn(n, y, {0, 2, 3, 1})}, {1, 6, 5, 8});
  ASSERT_EQ(count(g, "transpose"), 1);
  for (NodeId id : g.order_with_blocks()) {
    if (g[id].op->name != "transpose") continue;
    EXPECT_EQ(*g[g[id].in[0]].type.dims, (Dims{30, 4, 2}));
  }
}

TEST(Moves, ABatchThatNobodyKnows) {
  Net n({Dim::symbol("n"), 6, 4, 3});
  ValueId y = seen(n, turn(n, n.x, {0, 2, 1, 3}), {0, 4, 18}, ZeroExtent::copy);
  y = seen(n, turn(n, y, {0, 2, 1}), {0, 6, 3, 4}, ZeroExtent::copy);
  for (const Shape& x : {Shape{1, 6, 4, 3}, Shape{5, 6, 4, 3}})
    EXPECT_EQ(count(expect_same(n, {y}, x), "transpose"), 1);
}

TEST(Moves, AChainThatComesToNothing) {
  Net n({2, 6, 4});
  ValueId y = seen(n, turn(n, seen(n, turn(n, n.x, {0, 2, 1}), {2, 2, 2, 6}), {0, 3, 1, 2}), {2, 6, 4});
  y = n.b("add", {n.b("relu", {y}), n.x});
  EXPECT_EQ(count(expect_same(n, {y}, {2, 6, 4}), "transpose"), 0);
}

/// A view that cuts across what was turned, and a transpose in between that others read.
TEST(Moves, WhatDoesNotJoin) {
  Net across({4, 6});
  ValueId y = turn(across, seen(across, turn(across, across.x, {1, 0}), {8, 3}), {1, 0});
  EXPECT_EQ(count(expect_same(across, {y}, {4, 6}), "transpose"), 2);
  Net read({2, 4, 6});
  const ValueId a = turn(read, read.x, {0, 2, 1});
  y = turn(read, seen(read, a, {2, 2, 3, 4}), {0, 3, 2, 1});
  EXPECT_EQ(count(expect_same(read, {y, a}, {2, 4, 6}), "transpose"), 2);
}

/// Views of a tensor of 2^3 * 3^2 elements in random order with random transposes.
TEST(Moves, RandomChains) {
  uint32_t seed = 7;
  const auto below = [&](size_t n) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 8) % n;
  };
  const auto cut = [&] {
    Ints extents(1 + below(5), 1);
    for (int64_t factor : {2, 2, 2, 3, 3}) extents[below(extents.size())] *= factor;
    return extents;
  };
  for (int chain = 0; chain < 60; ++chain) {
    const Ints first = cut();
    Net n(Dims(first.begin(), first.end()));
    ValueId y = n.x;
    size_t rank = first.size();
    for (int i = 0; i < 5; ++i) {
      Ints axes(rank);
      for (size_t k = 0; k < rank; ++k) axes[k] = static_cast<int64_t>(k);
      for (size_t k = rank; k > 1; --k) std::swap(axes[k - 1], axes[below(k)]);
      const Ints to = cut();
      y = seen(n, turn(n, y, axes), to);
      rank = to.size();
    }
    expect_same(n, {y}, Shape(first));
  }
}

TEST(Passes, SymbolicExtents) {
  Net n({Dim::symbol("n"), 4, Dim::symbol("h"), Dim::symbol("w")});
  ValueId a = n.b("relu", {n.batch_norm(n.conv(n.x, 4, 4, 3), 4)});
  ValueId y = n.b("add", {n.b("sigmoid", {a}), n.b("mul", {a, n.x})});
  for (const Shape& x : {Shape{1, 4, 6, 5}, Shape{3, 4, 1, 1}}) expect_same(n, {y}, x);
}

}  // namespace
}  // namespace nnex::passes
