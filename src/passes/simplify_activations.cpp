// Activations written in simpler rows.
#include <array>
#include <cmath>
#include <optional>

#include "graph/queries.h"
#include "ops/activation.h"
#include "passes/simplify.h"

namespace nnex::passes::simplification {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

class ActivationFinder {
 public:
  explicit ActivationFinder(ir::Graph& graph) : graph_(graph) {}

  /// x/2 + x/2 * v   ->   gelu(x)
  bool sum(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->name != "add") return false;
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
          return become(graph_, id, Builder(graph_, id)("gelu", {x}, GeluAttrs{*form}));
      }
    }
    return false;
  }

  bool product(NodeId id) {
    if (graph_[id].op->name != "mul" && graph_[id].op->name != "div") return false;
    const ValueId y = graph_[id].out[0];
    const Factors f = factors(y);
    if (f.values.size() != 2) return false;
    for (size_t i : {size_t{0}, size_t{1}}) {
      const ValueId x = f.values[i], g = f.values[1 - i];
      if (!same_extents(graph_, x, y) || !is_f32(graph_, x)) continue;
      if (activation(id, x, g, f.number)) return true;
    }
    return false;
  }

 private:
  bool activation(NodeId id, ValueId x, ValueId g, double scale) {
    Builder b(graph_, id);
    if (const Node* s = made_by(graph_, g, "sigmoid"); s && scale == 1) {
      const Factors inner = factors(s->in[0]);
      if (inner.values.size() == 1 && inner.values[0] == x && std::isfinite(static_cast<float>(inner.number)))
        return become(graph_, id, b("silu", {x}, AlphaAttrs{inner.number}));
      // sigmoid(2 t) = (1 + tanh(t)) / 2
      if (!is_gelu_argument(s->in[0], x, 2)) return false;
      return become(graph_, id, b("gelu", {x}, GeluAttrs{GeluForm::tanh}));
    }
    if (const Affine a = affine(g); near(scale * a.offset, 0.5) && near(std::abs(scale * a.slope), 0.5))
      if (const auto form = gelu_form(a.of, x, scale * a.slope < 0 ? -1 : 1))
        return become(graph_, id, b("gelu", {x}, GeluAttrs{*form}));
    if (const Node* c = made_by(graph_, g, "clamp"); c && near(scale, 1.0 / 6) && c->in.size() == 3) {
      const Node* add = made_by(graph_, c->in[0], "add");
      auto parts = add ? with_number(graph_, *add) : std::nullopt;
      if (parts && parts->first == x && parts->second == 3 && real_constant(graph_, c->in[1]) == 0.0 &&
          real_constant(graph_, c->in[2]) == 6.0)
        return become(graph_, id, b("hard_swish", {x}));
    }
    if (const Node* h = made_by(graph_, g, "hard_sigmoid"); h && scale == 1 && h->in[0] == x) {
      const auto& a = graph_.attrs<HardSigmoidAttrs>(*h);
      if (near(a.alpha, 1.0 / 6) && a.beta == 0.5) return become(graph_, id, b("hard_swish", {x}));
    }
    return false;
  }

  // ---- Looking ----

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
    const auto parts = with_number(graph_, *n);
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

  ir::Graph& graph_;
};

}  // namespace

bool activation_of_product(ir::Graph& graph, NodeId id) { return ActivationFinder(graph).product(id); }
bool activation_of_sum(ir::Graph& graph, NodeId id) { return ActivationFinder(graph).sum(id); }

}  // namespace nnex::passes::simplification
