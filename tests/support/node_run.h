#pragma once
// Running one node as a model does, by the kernel its plan chooses, and by the operator's reference kernel.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "nnex/model.h"
#include "op_run.h"
#include "run/compile.h"

namespace nnex::test {

/// A node: inputs that are `constant` are constants of the graph, the others are fed.
struct NodeCase {
  std::string op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
  std::vector<size_t> constant = {};
  size_t outputs = 1;
};

struct NodeRun {
  std::string kernel;  ///< "reference" where no kernel took the node.
  std::vector<Tensor> out;
};

/// With `inside` the node stands between copies, so that the plan lays its tensors out and may give the result the
/// memory of an input.
inline Result<NodeRun> run_node(const NodeCase& c, int threads = 1, bool inside = false) {
  ir::Graph graph;
  std::vector<ValueId> in;
  std::vector<Value> fed;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    if (is_absent(t)) {
      in.emplace_back();
    } else if (std::find(c.constant.begin(), c.constant.end(), i) != c.constant.end()) {
      in.push_back(graph.add_constant(t));
    } else {
      in.push_back(graph.add_param(kMain, "x" + std::to_string(i), Type::tensor(t.dtype(), dims_of(t.shape()))));
      fed.emplace_back(t);
      if (inside) in.back() = Builder(graph, kMain)("copy", {in.back()});
    }
  }
  NodeId id = graph.add_node(kMain, op(c.op), in, c.outputs, attrs_with(op(c.op), c.attrs));
  std::vector<ValueId> results = graph[id].out;
  if (inside)
    for (ValueId& v : results) v = Builder(graph, kMain)("copy", {v});
  graph.set_results(kMain, results);
  LoadOptions options;
  options.optimize = false;
  NNEX_ASSIGN(Model model, compile(std::move(graph), options));
  SessionOptions how;
  how.threads = threads;
  Session session = model.session(how);
  session.profile(true);
  NNEX_ASSIGN(auto out, session.run(fed));
  NodeRun run;
  for (const NodeTime& n : session.nodes())
    if (n.op == c.op) run.kernel = n.kernel;
  for (const Value& v : out) run.out.push_back(*v.tensor());
  return run;
}

/// How far a kernel may be from the reference: |got - wanted| <= relative |wanted| + absolute. NaN meets NaN, an
/// infinity itself.
struct Bound {
  double relative = 0, absolute = 0;
};

inline bool near(double got, double wanted, const Bound& b) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return true;
  return std::isfinite(got) && std::fabs(got - wanted) <= b.relative * std::fabs(wanted) + b.absolute;
}

/// The case by the model and by the reference: the same faults, outputs within the bound, and `kernel` ran it.
inline void expect_same(const NodeCase& c, std::string_view kernel, const Bound& bound = {}) {
  std::string what = c.op;
  for (const Tensor& t : c.inputs) what += " " + std::string(name(t.dtype())) + t.shape().text();
  SCOPED_TRACE(what);
  std::vector<Tensor> aligned;  // as the plan hands them to a reference kernel
  for (const Tensor& t : c.inputs) aligned.push_back(t.aligned_copy().value());
  auto wanted = run_op(c.op, aligned, c.attrs, c.outputs);
  auto got = run_node(c);
  ASSERT_EQ(got.ok(), wanted.ok()) << (got.ok() ? wanted.error().message() : got.error().message());
  if (!wanted.ok()) {
    EXPECT_EQ(got.error().message(), wanted.error().message());
    return;
  }
  EXPECT_EQ(got->kernel, kernel);
  for (size_t o = 0; o < wanted->size(); ++o) {
    const Tensor &w = (*wanted)[o], &g = got->out[o];
    ASSERT_EQ(g.dtype(), w.dtype());
    ASSERT_EQ(g.shape().text(), w.shape().text());
    const bool wide = w.dtype() == DType::i64 || w.dtype() == DType::u64;
    for (int64_t i = 0; i < w.count(); ++i)
      ASSERT_TRUE(wide ? int_at(g, i) == int_at(w, i) : near(real_at(g, i), real_at(w, i), bound))
          << "output " << o << " element " << i << ": found " << element_text(g, i) << ", needed "
          << element_text(w, i);
  }
  auto inside = run_node(c, 1, true);
  ASSERT_TRUE(inside.ok()) << inside.error().text();
  for (size_t o = 0; o < wanted->size(); ++o) {
    const Tensor &a = got->out[o], &b = inside->out[o];
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_TRUE(a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0)
        << "output " << o << " differs between copies";
  }
}

/// Tensors of random content, the same in every run.
class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}

  int64_t roll(int64_t min, int64_t max) { return std::uniform_int_distribution<int64_t>(min, max)(engine_); }

  /// Extents that kernels find hard: ones, odd ones, just past a vector.
  int64_t extent() {
    static constexpr int64_t kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 70};
    return kExtents[roll(0, std::size(kExtents) - 1)];
  }
  Shape shape(int64_t rank, int64_t max = 6000) {
    while (true) {
      std::vector<int64_t> extents;
      for (int64_t i = 0; i < rank; ++i) extents.push_back(extent());
      Shape s(extents);
      if (s.count() <= max) return s;
    }
  }
  /// Some axes of s become 1, some leading ones go.
  Shape stretched(const Shape& s) {
    std::vector<int64_t> extents(s.begin() + roll(0, s.rank() > 1 ? 1 : 0), s.end());
    for (int64_t& e : extents)
      if (roll(0, 2) == 0) e = 1;
    return Shape(extents);
  }

  Tensor floats(const Shape& s, float low = -2, float high = 2) {
    std::vector<float> v(static_cast<size_t>(s.count()));
    std::uniform_real_distribution<float> pick(low, high);
    for (float& x : v) x = pick(engine_);
    return Tensor::of(s, v);
  }
  /// Floats with zeros, infinities, NaN and huge ones among them.
  Tensor wild_floats(const Shape& s) {
    static constexpr float kOdd[] = {0.0F, -0.0F, 1e-40F, -1.0F, 3e38F, -3e38F, HUGE_VALF, -HUGE_VALF, NAN, 0.5F, 2.5F};
    Tensor t = floats(s, -300, 300);
    for (float& x : t.mutable_as<float>())
      if (roll(0, 3) == 0) x = kOdd[roll(0, std::size(kOdd) - 1)];
    return t;
  }
  template <class T>
  Tensor ints(const Shape& s, int64_t low, int64_t high) {
    std::vector<T> v(static_cast<size_t>(s.count()));
    for (T& x : v) x = static_cast<T>(roll(low, high));
    return Tensor::of(s, v);
  }
  /// Bits of any kind under a type.
  Tensor bytes(DType type, const Shape& s) {
    auto t = Tensor::make(type, s);
    for (int64_t i = 0; i < t->bytes(); ++i) t->mutable_data()[i] = static_cast<std::byte>(roll(0, 255));
    return *t;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace nnex::test
