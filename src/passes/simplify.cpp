// Sentences of several nodes that one operator says.

#include <algorithm>
#include <array>
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
  explicit Simplifier(ir::Graph& graph) : graph_(graph) {}

  int run() {
    for (NodeId id : graph_.order_with_blocks()) {
      if (graph_[id].erased || graph_[id].out.size() != 1 || !is_f32(graph_, graph_[id].out[0])) continue;
      power(id);
      if (!graph_[id].erased) product(id);
      if (!graph_[id].erased) sum(id);
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

  /// Whether a few steps back show that no element of v is below 0.
  bool never_negative(ValueId v, int depth = 0) const {
    if (const auto n = real_constant(graph_, v)) return *n >= 0;
    const Node* producer = graph_.producer(v);
    if (!producer || depth > 4) return false;
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), producer->op->name) != names.end();
    };
    if (is({"sqr", "abs", "exp", "relu", "sigmoid", "softmax"})) return true;
    if (is({"mul"}) && producer->in[0] == producer->in[1]) return true;
    if (is({"mean_reduce", "sum_reduce", "max_reduce"})) return never_negative(producer->in[0], depth + 1);
    return is({"add", "mul", "div", "max"}) && never_negative(producer->in[0], depth + 1) &&
           never_negative(producer->in[1], depth + 1);
  }

  /// pow(x, 2)   ->   sqr(x);   pow(x, 0.5)   ->   sqrt(x), where x is not negative: pow(-inf, 0.5) is inf
  void power(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->name != "pow" || !is_f32(graph_, node.in[0])) return;
    const auto exponent = real_constant(graph_, node.in[1]);
    if (!exponent || !same_extents(graph_, node.in[0], node.out[0])) return;
    const bool root = *exponent == 0.5 && never_negative(node.in[0]);
    const std::string_view name = *exponent == 2 ? "sqr" : root ? "sqrt" : "";
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
      if (depth == 6) return f.values.push_back(v);
      if (const Node* m = made_by(graph_, v, "mul")) {
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
  /// v = slope * of + offset.
  struct Affine {
    ValueId of;
    double slope = 1, offset = 0;
  };
  Affine affine(ValueId v, int depth = 0) const {
    const Node* n = graph_.producer(v);
    if (!n || depth == 6 || n->in.size() < 2) return {v};
    const std::string_view op = n->op->name;
    if (op != "add" && op != "sub" && op != "mul" && op != "div") return {v};
    const auto parts = with_number(*n);
    if (!parts || (op == "div" && (parts->first == n->in[1] || parts->second == 0))) return {v};
    Affine a = affine(parts->first, depth + 1);
    const double c = op == "div" ? 1 / parts->second : parts->second;
    if (op == "mul" || op == "div") return a.slope *= c, a.offset *= c, a;
    if (op == "sub" && parts->first == n->in[1]) a.slope = -a.slope, a.offset = -a.offset;
    a.offset += op == "sub" && parts->first == n->in[0] ? -c : c;
    return a;
  }

  /// The factors of 1, x, x^2 and x^3.
  using Polynomial = std::array<double, 4>;
  /// v as a polynomial in x.
  std::optional<Polynomial> polynomial(ValueId v, ValueId x, int depth = 0) const {
    if (v == x) return Polynomial{0, 1, 0, 0};
    if (const auto c = real_constant(graph_, v)) return Polynomial{*c, 0, 0, 0};
    const Node* n = graph_.producer(v);
    if (!n || depth == 7 || n->in.empty()) return std::nullopt;
    const std::string_view op = n->op->name;
    if (op != "add" && op != "sub" && op != "mul" && op != "div" && op != "sqr" && op != "pow") return std::nullopt;
    const auto a = polynomial(n->in[0], x, depth + 1);
    const auto b = op == "sqr" ? a : a ? polynomial(n->in[1], x, depth + 1) : std::nullopt;
    if (!a || !b) return std::nullopt;
    const bool number = (*b)[1] == 0 && (*b)[2] == 0 && (*b)[3] == 0;
    Polynomial y = {};
    if (op == "add" || op == "sub") {
      for (size_t i = 0; i < 4; ++i) y[i] = op == "add" ? (*a)[i] + (*b)[i] : (*a)[i] - (*b)[i];
      return y;
    }
    if (op == "div") {
      for (size_t i = 0; i < 4; ++i) y[i] = (*a)[i] / (*b)[0];
      return number && (*b)[0] != 0 ? std::optional(y) : std::nullopt;
    }
    if (op != "pow") return times(*a, *b);
    const auto square = number ? times(*a, *a) : std::nullopt;
    return !square || (*b)[0] == 2 ? square : (*b)[0] == 3 ? times(*square, *a) : std::nullopt;
  }
  static std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b) {
    Polynomial y = {};
    for (size_t i = 0; i < 4; ++i)
      for (size_t k = 0; k < 4; ++k) {
        if (a[i] == 0 || b[k] == 0) continue;
        if (i + k > 3) return std::nullopt;
        y[i + k] += a[i] * b[k];
      }
    return y;
  }
  /// v = factor * sqrt(2/pi) (x + 0.044715 x^3).
  bool is_gelu_argument(ValueId v, ValueId x, double factor) const {
    constexpr double kRoot = 0.79788456080286536;
    const auto p = polynomial(v, x);
    return p && (*p)[0] == 0 && near((*p)[1], factor * kRoot) && (*p)[2] == 0 &&
           near((*p)[3], factor * kRoot * 0.044715);
  }
  /// (1 + v) / 2 is the normal distribution of x, or its usual likeness.
  std::optional<GeluForm> gelu_form(ValueId v, ValueId x, double sign) const {
    const Node *e = made_by(graph_, v, "erf"), *t = made_by(graph_, v, "tanh");
    if (e && is_scaled(e->in[0], sign * 0.70710678118654752, x)) return GeluForm::erf;
    if (t && is_gelu_argument(t->in[0], x, sign)) return GeluForm::tanh;
    return std::nullopt;
  }

  /// x/2 + x/2 * v   ->   gelu(x)
  void sum(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->name != "add") return;
    for (size_t i : {size_t{0}, size_t{1}}) {
      const Factors half = factors(node.in[i]), rest = factors(node.in[1 - i]);
      if (half.values.size() != 1 || !near(half.number, 0.5) || rest.values.size() != 2) continue;
      const ValueId x = half.values[0];
      if (!same_extents(graph_, x, node.out[0]) || !is_f32(graph_, x)) continue;
      for (size_t k : {size_t{0}, size_t{1}}) {
        const Affine other = affine(rest.values[k]);
        const double scale = rest.number * other.slope;
        if (!(other.of == x) || other.offset != 0 || !near(std::abs(scale), 0.5)) continue;
        if (const auto form = gelu_form(rest.values[1 - k], x, scale < 0 ? -1 : 1))
          return become(id, Builder(graph_, id)("gelu", {x}, GeluAttrs{*form}));
      }
    }
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
      if (inner.values.size() == 1 && inner.values[0] == x)
        return become(id, b("silu", {x}, AlphaAttrs{inner.number})), true;
      // sigmoid(2 t) = (1 + tanh(t)) / 2
      if (!is_gelu_argument(s->in[0], x, 2)) return false;
      return become(id, b("gelu", {x}, GeluAttrs{GeluForm::tanh})), true;
    }
    if (const Affine a = affine(g); near(scale * a.offset, 0.5) && near(std::abs(scale * a.slope), 0.5))
      if (const auto form = gelu_form(a.of, x, scale * a.slope < 0 ? -1 : 1))
        return become(id, b("gelu", {x}, GeluAttrs{*form})), true;
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

  ir::Graph& graph_;
  int changed_ = 0;
};

}  // namespace

/// Activations and normalisations that a network spells out   ->   the operator itself. Results differ by the roundings
/// that the spelled-out form has more: a few units in the last place.
Result<int> simplify(ir::Graph& graph) { return Simplifier(graph).run(); }

}  // namespace nnex
