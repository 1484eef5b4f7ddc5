// Integer networks: what passes and fast kernels make of them against the same graph run node by node by the table's
// reference kernels, bit for bit, on every instruction set. NNEX_CVM_CASES raises the number of random graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>

#include "graph/exact.h"
#include "graph/infer.h"
#include "graph/intervals.h"
#include "nnex/model.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/shape.h"
#include "ops/window.h"
#include "passes/pipeline.h"
#include "run/compile.h"
#include "simd_test.h"

namespace nnex {
namespace {

constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();

/// A random integer network of a few nodes, with the contents of its input.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed), b_(graph_, kMain) {
    const bool plane = !one_in(4);
    const Ints extents = plane ? Ints{1 + below(2), 1 + below(one_in(3) ? 40 : 9), 1 + below(9), 1 + below(20)}
                               : Ints{1 + below(20), 1 + below(70)};
    ValueId x = graph_.add_param(kMain, "data", Type::tensor(DType::i32, dims(extents)));
    input_ = tensor(extents, one_in(2) ? 127 : kLargest);
    values_.push_back(clip(x, 8));
    for (int64_t n = 1 + below(3); n > 0; --n) layer();
    std::vector<ValueId> results = {values_.back()};
    if (one_in(4)) results.push_back(values_[static_cast<size_t>(below(static_cast<int64_t>(values_.size())))]);
    for (size_t i = 0; i < results.size(); ++i) results[i] = b_("copy", {results[i]});
    graph_.set_results(kMain, results);
  }

  ir::Graph& graph() { return graph_; }
  const Tensor& input() const { return input_; }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  static Dims dims(const Ints& extents) {
    Dims out;
    for (int64_t n : extents) out.push_back(Dim(n));
    return out;
  }
  /// Numbers up to `most` in magnitude, many of them extreme.
  int32_t number(int64_t max) {
    if (one_in(3)) return static_cast<int32_t>(one_in(2) ? max : -max);
    if (one_in(8)) return 0;
    return static_cast<int32_t>(below(2 * max + 1) - max);
  }
  Tensor tensor(const Ints& extents, int64_t max) {
    Tensor t = Tensor::make(DType::i32, Shape(extents)).value();
    for (int32_t& v : t.mutable_as<int32_t>()) v = number(max);
    return t;
  }
  ValueId constant(const Ints& extents, int64_t max) { return graph_.add_constant(tensor(extents, max)); }
  ValueId scalar(int64_t value) {
    Tensor t = Tensor::make(DType::i32, Shape{}).value();
    t.mutable_as<int32_t>()[0] = static_cast<int32_t>(value);
    return graph_.add_constant(std::move(t));
  }
  Ints extents_of(ValueId v) {
    Faults faults;
    infer_types(graph_, faults);
    EXPECT_TRUE(faults.none());
    const Shape s = *concrete(graph_[v].type);
    return Ints(s.begin(), s.end());
  }
  /// A node with integer attributes by their names.
  ValueId node(std::string_view name, ValueId x, const std::vector<std::pair<std::string_view, int64_t>>& attrs) {
    const OpDef& def = op(name);
    std::shared_ptr<void> a = def.attrs.make();
    for (const auto& [field, value] : attrs) EXPECT_TRUE(def.attrs.find(field)->set(a.get(), AttrValue(value)));
    return graph_[b_.node(def, {x}, 1, a)].out[0];
  }

  ValueId clip(ValueId x, int64_t precision) { return node("cvm_clip", x, {{"precision", precision}}); }

  ValueId conv(ValueId x, const Ints& in) {
    ConvAttrs a;
    const int64_t channels = in[1];
    int64_t outputs = 1 + below(one_in(3) ? 70 : 20), groups = 1;
    if (one_in(3)) {
      std::vector<int64_t> fit;
      for (int64_t g = 1; g <= channels; ++g)
        if (channels % g == 0) fit.push_back(g);
      groups = one_in(2) ? channels : fit[static_cast<size_t>(below(static_cast<int64_t>(fit.size())))];
      outputs = groups * (groups == channels && one_in(2) ? 1 : 1 + below(3));
    }
    a.groups = groups;
    Ints filter = {outputs, channels / groups};
    for (size_t i = 0; i < 2; ++i) {
      const int64_t kernel = 1 + below(4), dilation = 1 + below(2), reach = (kernel - 1) * dilation + 1;
      const int64_t needed = std::max<int64_t>(0, (reach - in[2 + i] + 1) / 2);
      const int64_t padding = needed + below(3);
      filter.push_back(kernel);
      a.stride.push_back(1 + below(3)), a.dilation.push_back(dilation);
      a.padding.emplace_back(padding, padding);
    }
    std::vector<ValueId> inputs = {x, constant(filter, one_in(8) ? 300 : 127)};
    if (one_in(2)) inputs.push_back(constant({outputs}, one_in(2) ? kLargest : 5000));
    return b_("conv", inputs, a);
  }

  ValueId dense(ValueId x, const Ints& in) {
    LinearAttrs a;
    a.transpose_b = !one_in(4);
    const int64_t units = 1 + below(80), k = in[1];
    std::vector<ValueId> inputs = {x, constant(a.transpose_b ? Ints{units, k} : Ints{k, units}, 127)};
    if (one_in(2)) inputs.push_back(constant({units}, one_in(2) ? kLargest : 5000));
    return b_("linear", inputs, a);
  }

  ValueId pool(ValueId x, const Ints& in) {
    PoolAttrs a;
    a.border = one_in(4) ? PoolBorder::constant : PoolBorder::ignore;
    a.size = a.stride = {1, 1};
    a.padding = {{0, 0}, {0, 0}};
    for (size_t i = 2; i < 4; ++i) {
      const int64_t size = 1 + below(std::min<int64_t>(in[i], 4)), padding = below(size);
      a.size.push_back(size), a.stride.push_back(1 + below(3)), a.padding.emplace_back(padding, padding);
    }
    return b_("max_pool", {x}, a);
  }

  /// What stands beside elements of these extents.
  ValueId beside(const Ints& to) {
    const int64_t max = one_in(3) ? kLargest : one_in(2) ? 127 : 40000;
    std::vector<ValueId> fits;
    for (ValueId v : values_)
      if (extents_of(v) == to) fits.push_back(v);
    if (!fits.empty() && one_in(2)) return fits[static_cast<size_t>(below(static_cast<int64_t>(fits.size())))];
    if (one_in(3)) return scalar(number(max));
    if (one_in(6)) return constant(to, max);
    if (to.size() == 4) return constant({1, to[1], 1, 1}, max);
    return constant({to.back()}, max);
  }

  ValueId element_wise(ValueId x) {
    constexpr std::string_view kBinary[] = {"add", "sub", "mul", "max", "min"};
    switch (below(9)) {
      case 0:
        return b_("relu", {x});
      case 1:
        return clip(x, 1 + below(32));
      case 2:
      case 3:
        return node("cvm_right_shift", x, {{"precision", 1 + below(32)}, {"shift_bit", 1 + below(32)}});
      case 4:
        return node("cvm_left_shift", x, {{"precision", 1 + below(32)}, {"shift_bit", 1 + below(31)}});
      case 5: {
        const int64_t a = number(one_in(2) ? 127 : 40000), b = number(255);
        return b_("clamp", {x, scalar(std::min(a, b)), scalar(std::max(a, b))});
      }
      case 6:
        return one_in(2) ? b_("neg", {x}) : b_("mul", {x, scalar(number(127))});
      default: {
        const ValueId other = beside(extents_of(x));
        const std::string_view name = kBinary[below(5)];
        return one_in(4) ? b_(name, {other, x}) : b_(name, {x, other});
      }
    }
  }

  void layer() {
    ValueId x = values_[static_cast<size_t>(below(static_cast<int64_t>(values_.size())))];
    const Ints in = extents_of(x);
    if (in.size() == 4) {
      if (!one_in(3)) x = clip(x, 8);
      x = one_in(4) ? pool(x, in) : one_in(6) ? join(x) : conv(x, in);
    } else if (!one_in(4)) {
      x = dense(clip(x, 8), in);
    }
    for (int64_t n = below(6); n > 0; --n) x = element_wise(x);
    if (one_in(4) && extents_of(x).size() == 4) x = b_("flatten", {x});
    if (one_in(2)) values_.push_back(x);
    values_.push_back(one_in(2) ? clip(x, 1 + below(9)) : x);
  }
  ValueId join(ValueId x) {
    AxisAttrs a;
    a.axis = 1;
    return b_("concat", {x, clip(x, 7)}, a);
  }

  std::mt19937 random_;
  ir::Graph graph_;
  Builder b_;
  Tensor input_;
  std::vector<ValueId> values_;
};

std::vector<Value> run_graph(const ir::Graph& graph, const Tensor& input, const LoadOptions& options, int threads,
                             std::vector<std::string>* kernels = nullptr) {
  auto model = compile(graph, options);
  if (!model.ok()) {
    ADD_FAILURE() << model.error().text();
    return {};
  }
  SessionOptions session_options;
  session_options.threads = threads;
  Session session = model->session(session_options);
  if (kernels) session.profile(true);
  const Value in(input);
  auto out = session.run(std::span<const Value>(&in, 1));
  if (!out.ok()) {
    ADD_FAILURE() << out.error().text();
    return {};
  }
  if (kernels)
    for (const NodeTime& n : session.nodes()) kernels->push_back(n.kernel);
  return std::move(out).value();
}

LoadOptions unchanged() {
  LoadOptions options;
  options.optimize = false;
  options.isa = InstructionSet::scalar;
  return options;
}

bool same(const Value& a, const Value& b) {
  const Tensor &x = *a.tensor(), &y = *b.tensor();
  return x.dtype() == y.dtype() && x.shape() == y.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
}

/// Every value of the graph lies in its interval.
void check_intervals(ir::Graph graph, const Tensor& input) {
  ASSERT_TRUE(passes::prepare(graph).ok());
  const Intervals intervals(graph, {});
  std::vector<ValueId> all;
  for (NodeId id : graph.order()) all.push_back(graph[id].out[0]);
  graph.set_results(kMain, all);
  const std::vector<Value> out = run_graph(graph, input, unchanged(), 1);
  ASSERT_EQ(out.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto interval = intervals.of(all[i]);
    ASSERT_TRUE(interval.has_value());
    for (int32_t x : out[i].tensor()->as<int32_t>())
      ASSERT_TRUE(x >= interval->low && x <= interval->high)
          << graph[graph[all[i]].producer].op->name << ": " << x << " is outside [" << interval->low << ", "
          << interval->high << "]";
  }
}

uint32_t cases() {
  const char* wish = std::getenv("NNEX_CVM_CASES");
  return wish ? static_cast<uint32_t>(std::strtoul(wish, nullptr, 10)) : 400;
}

TEST(CvmKernels, EqualTheReferenceRowsOnRandomNetworks) {
  const std::vector<kernels::simd::Isa> isas = test::runnable_isas();
  std::map<std::string, int> ran;
  for (uint32_t seed = 0; seed < cases(); ++seed) {
    SCOPED_TRACE(seed);
    RandomNetwork network(seed);
    const std::vector<Value> expected = run_graph(network.graph(), network.input(), unchanged(), 1);
    for (size_t i = 0; i < isas.size(); ++i) {
      LoadOptions options;
      options.isa = *instruction_set_named(kernels::simd::name(isas[i]));
      std::vector<std::string> kernels;
      const std::vector<Value> found =
          run_graph(network.graph(), network.input(), options, 1 + static_cast<int>((seed + i) % 2), &kernels);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t o = 0; o < found.size(); ++o) ASSERT_TRUE(same(found[o], expected[o])) << name(options.isa);
      for (const std::string& k : kernels) ++ran[k];
    }
    if (HasFatalFailure()) return;
  }
  for (const char* kernel : {"conv_int", "gemm_int", "chain_int", "max_pool_i8"}) EXPECT_GT(ran[kernel], 0) << kernel;
  // Regions are made for kernels: hardly any is interpreted.
  EXPECT_LT(ran["blocks"], (ran["conv_int"] + ran["gemm_int"] + ran["chain_int"]) / 20);
  for (const auto& [kernel, count] : ran) RecordProperty(kernel, count);
}

TEST(Intervals, HoldEveryElementOfRandomNetworks) {
  for (uint32_t seed = 0; seed < cases() / 4; ++seed) {
    SCOPED_TRACE(seed);
    RandomNetwork network(seed + 1'000'000);
    check_intervals(network.graph(), network.input());
    if (HasFatalFailure()) return;
  }
}

/// conv + bias, relu, multiply, right shift with its clip: one kernel on bytes.
TEST(NarrowIntegers, AChainIsOneRegion) {
  ir::Graph graph;
  Builder b(graph, kMain);
  const auto shifted = [&](ValueId x, int64_t precision, int64_t bits) {
    const OpDef& def = op("cvm_right_shift");
    std::shared_ptr<void> a = def.attrs.make();
    EXPECT_TRUE(def.attrs.find("precision")->set(a.get(), AttrValue(precision)));
    EXPECT_TRUE(def.attrs.find("shift_bit")->set(a.get(), AttrValue(bits)));
    return graph[b.node(def, {x}, 1, a)].out[0];
  };
  const auto filled = [&](const Ints& extents, int32_t value) {
    Tensor t = Tensor::make(DType::i32, Shape(extents)).value();
    for (int32_t& v : t.mutable_as<int32_t>()) v = value;
    return t;
  };
  ValueId x = graph.add_param(kMain, "data", Type::tensor(DType::i32, Dims{Dim(1), Dim(8), Dim(6), Dim(6)}));
  x = shifted(x, 8, 1);
  for (int layer = 0; layer < 2; ++layer) {
    ConvAttrs a;
    a.padding = {{1, 1}, {1, 1}};
    x = b("conv", {x, b.constant(filled({8, 8, 3, 3}, 3 - layer * 5)), b.constant(filled({8}, 100))}, a);
    x = b("relu", {x});
    x = b("mul", {x, b.constant(filled({1}, 7))});
    x = shifted(x, 8, 9);
  }
  graph.set_results(kMain, {x});
  const Tensor input = filled({1, 8, 6, 6}, 200);
  std::vector<std::string> kernels;
  LoadOptions options;
  const auto found = run_graph(graph, input, options, 1, &kernels);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(same(found[0], run_graph(graph, input, unchanged(), 1)[0]));
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "conv_int"), 2);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "reference"), 0);
  EXPECT_LE(kernels.size(), 5U);  // and the shift, the layout's two transposes
}

TEST(Exact, RefusesFloatsByName) {
  ir::Graph graph;
  Builder b(graph, kMain);
  const ValueId x = graph.add_param(kMain, "data", Type::tensor(DType::f32, Dims{Dim(2)}));
  const NodeId id = b.node(op("relu"), {x}, 1, nullptr);
  graph.set_where(id, graph.add_place("node 'act'"));
  graph.set_results(kMain, {graph[id].out[0]});
  ASSERT_TRUE(passes::prepare(graph).ok());
  const Status refused = check_exact(graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_NE(refused.error().text().find("node 'act'"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().text().find("relu: computes with f32"), std::string::npos) << refused.error().text();
}

}  // namespace
}  // namespace nnex
