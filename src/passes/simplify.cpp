// Sentences of several nodes that one operator says.

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/activation.h"
#include "ops/norm.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph) {}

  int run() {
    for (NodeId id : graph_.order_with_blocks()) {
      if (graph_[id].erased || graph_[id].out.size() != 1 || !is_f32(graph_, graph_[id].out[0])) continue;
      power(id);
      if (!graph_[id].erased) product(id);
      if (!graph_[id].erased) batch_normalization(id);
    }
    return changed_;
  }

 private:
  // ---- Looking ----

  /// The other operand of a node of two when one is a number: (value, number).
  std::optional<std::pair<ValueId, double>> with_number(const Node& n) const {
    for (size_t i : {size_t{0}, size_t{1}})
      if (auto c = real_constant(graph_, n.in[i])) return std::pair(n.in[1 - i], *c);
    return std::nullopt;
  }

  void become(NodeId id, ValueId y) {
    const ValueId old = graph_[id].out[0];
    graph_.set_type(y, graph_[old].type);
    graph_.set_name(y, graph_[old].name);
    graph_.replace_uses(old, y);
    graph_.erase(id);
    ++changed_;
  }

  // ---- pow ----

  /// pow(x, 2)   ->   sqr(x);   pow(x, 0.5)   ->   sqrt(x)
  void power(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->name != "pow" || !is_f32(graph_, node.in[0])) return;
    const auto exponent = real_constant(graph_, node.in[1]);
    if (!exponent || !same_extents(graph_, node.in[0], node.out[0])) return;
    const std::string_view name = *exponent == 2 ? "sqr" : *exponent == 0.5 ? "sqrt" : "";
    if (!name.empty()) become(id, Builder(graph_, id)(name, {node.in[0]}));
  }

  // ---- Activations written as products ----

  struct Factors {
    double number = 1;
    std::vector<ValueId> values;
  };
  /// What v is a product of, through multiplications (and divisions by numbers) that nobody else reads.
  void collect(ValueId v, bool top, Factors& f, int depth = 0) const {
    if (auto n = real_constant(graph_, v)) {
      f.number *= *n;
      return;
    }
    if (top || graph_.read_once(v)) {
      if (const Node* m = depth < 6 ? made_by(graph_, v, "mul") : nullptr) {
        collect(m->in[0], false, f, depth + 1);
        return collect(m->in[1], false, f, depth + 1);
      }
      if (const Node* d = made_by(graph_, v, "div"))
        if (auto n = real_constant(graph_, d->in[1]); n && *n != 0) {
          f.number /= *n;
          return collect(d->in[0], false, f, depth + 1);
        }
    }
    f.values.push_back(v);
  }
  Factors factors(ValueId v) const {
    Factors f;
    collect(v, true, f);
    return f;
  }
  /// v = number * x.
  bool is_scaled(ValueId v, double number, ValueId x) const {
    const Factors f = factors(v);
    return near(f.number, number) && f.values.size() == 1 && f.values[0] == x;
  }
  /// The value that v is 1 plus.
  std::optional<ValueId> one_plus(ValueId v) const {
    const Node* add = made_by(graph_, v, "add");
    auto parts = add ? with_number(*add) : std::nullopt;
    if (!parts || parts->second != 1) return std::nullopt;
    return parts->first;
  }
  /// v = sqrt(2/pi) (x + 0.044715 x^3).
  bool is_gelu_argument(ValueId v, ValueId x) const {
    const Factors f = factors(v);
    if (!near(f.number, 0.7978845608) || f.values.size() != 1) return false;
    const Node* add = made_by(graph_, f.values[0], "add");
    if (!add) return false;
    for (size_t i : {size_t{0}, size_t{1}}) {
      if (!(add->in[i] == x)) continue;
      const Factors cube = factors(add->in[1 - i]);
      if (!near(cube.number, 0.044715)) continue;
      int power = 0;
      for (ValueId u : cube.values) {
        const Node *square = made_by(graph_, u, "sqr"), *pow = made_by(graph_, u, "pow");
        if (u == x)
          power += 1;
        else if (square && square->in[0] == x)
          power += 2;
        else if (pow && pow->in[0] == x && real_constant(graph_, pow->in[1]) == 3.0)
          power += 3;
        else
          return false;
      }
      return power == 3;
    }
    return false;
  }

  void product(NodeId id) {
    if (graph_[id].op->name != "mul" && graph_[id].op->name != "div") return;
    const ValueId y = graph_[id].out[0];
    const Factors f = factors(y);
    if (f.values.size() != 2) return;
    for (size_t i : {size_t{0}, size_t{1}}) {
      const ValueId x = f.values[i], g = f.values[1 - i];
      if (!same_extents(graph_, x, y) || !is_f32(graph_, x)) continue;
      if (activation(id, x, g, f.number)) return;
    }
  }
  bool activation(NodeId id, ValueId x, ValueId g, double scale) {
    Builder b(graph_, id);
    if (const Node* s = made_by(graph_, g, "sigmoid"); s && scale == 1) {
      const Factors inner = factors(s->in[0]);
      if (inner.values.size() != 1 || !(inner.values[0] == x)) return false;
      return become(id, b("silu", {x}, AlphaAttrs{inner.number})), true;
    }
    if (auto inner = one_plus(g); inner && near(scale, 0.5)) {
      if (const Node* e = made_by(graph_, *inner, "erf"); e && is_scaled(e->in[0], 0.70710678118, x))
        return become(id, b("gelu", {x}, GeluAttrs{GeluForm::erf})), true;
      if (const Node* t = made_by(graph_, *inner, "tanh"); t && is_gelu_argument(t->in[0], x))
        return become(id, b("gelu", {x}, GeluAttrs{GeluForm::tanh})), true;
    }
    if (const Node* c = made_by(graph_, g, "clamp"); c && near(scale, 1.0 / 6) && c->in.size() == 3) {
      const Node* add = made_by(graph_, c->in[0], "add");
      auto parts = add ? with_number(*add) : std::nullopt;
      if (parts && parts->first == x && parts->second == 3 && real_constant(graph_, c->in[1]) == 0.0 &&
          real_constant(graph_, c->in[2]) == 6.0)
        return become(id, b("hard_swish", {x})), true;
    }
    if (const Node* h = made_by(graph_, g, "hard_sigmoid"); h && scale == 1 && h->in[0] == x) {
      const auto& a = graph_.attrs<HardSigmoidAttrs>(*h);
      if (near(a.alpha, 1.0 / 6) && a.beta == 0.5) return become(id, b("hard_swish", {x})), true;
    }
    return false;
  }

  /// batch_normalization with constant numbers   ->   x * scale + offset
  void batch_normalization(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->name != "batch_normalization") return;
    const auto& a = graph_.attrs<BatchNormAttrs>(node);
    const auto rank = static_cast<int64_t>(graph_[node.out[0]].type.dims->size());
    const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
    Reals numbers[4];  // scale, offset, mean, variance
    constexpr std::string_view kPorts[] = {"scale", "offset", "mean", "variance"};
    int64_t n = -1;
    for (size_t i = 4; i-- > 0;) {
      const auto port = static_cast<size_t>(node.op->input(kPorts[i]));
      const bool given = port < node.in.size() && node.in[port].valid();
      const Tensor* t = graph_.constant_in(node, port);
      if (!given && i < 2 && n >= 0) {
        numbers[i].assign(static_cast<size_t>(n), i == 0 ? 1 : 0);
        continue;
      }
      if (!t || t->dtype() != DType::f32 || (n >= 0 && t->count() != n)) return;
      n = t->count();
      for (int64_t k = 0; k < n; ++k) numbers[i].push_back(real_at(*t, k));
    }
    if (a.training) return;
    std::vector<int64_t> shape(static_cast<size_t>(rank - axis), 1);
    shape[0] = n;
    auto scale = Tensor::make(DType::f32, Shape(shape)), offset = Tensor::make(DType::f32, Shape(shape));
    if (!scale.ok() || !offset.ok()) return;
    for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
      const double s = numbers[0][k] / std::sqrt(numbers[3][k] + a.epsilon);
      scale->mutable_as<float>()[k] = static_cast<float>(s);
      offset->mutable_as<float>()[k] = static_cast<float>(numbers[1][k] - numbers[2][k] * s);
    }
    Builder b(graph_, id);
    const ValueId scaled = b("mul", {node.in[0], b.constant(std::move(*scale))});
    graph_.set_type(scaled, graph_[node.out[0]].type);
    become(id, b("add", {scaled, b.constant(std::move(*offset))}));
  }

  Graph& graph_;
  int changed_ = 0;
};

}  // namespace

/// Activations and normalisations that a network spells out   ->   the operator itself. Results differ by the roundings
/// that the spelled-out form has more: a few units in the last place.
Result<int> simplify(Graph& graph) { return Simplifier(graph).run(); }

}  // namespace nnex
