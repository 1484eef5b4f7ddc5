// Recurrent layers.

#include "nnex/elements.h"
#include "ops/recurrent.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

using Gate = GateFunction::Kind;

/// The function of a gate as an expression of `x`, which is a name.
std::string gate_text(StepWriter& w, const GateFunction& f, const std::string& x, DType type) {
  const auto number = [&](double v) { return literal(v, type); };
  const auto call = [&](std::string_view function, const std::string& of) {
    return fmt::format("{}({})", math(function, type), of);
  };
  switch (f.kind) {
    case Gate::sigmoid:
      return fmt::format("{}({})", w.need("sigmoid", type), x);
    case Gate::tanh:
      return call("tanh", x);
    case Gate::relu:
      return fmt::format("({0} <= 0 ? 0 : {0})", x);
    case Gate::affine:
      return fmt::format("({} * {} + {})", number(f.alpha), x, number(f.beta));
    case Gate::leaky_relu:
      return fmt::format("({0} < 0 ? {1} * {0} : {0})", x, number(f.alpha));
    case Gate::thresholded_relu:
      return fmt::format("({0} <= {1} ? 0 : {0})", x, number(f.alpha));
    case Gate::scaled_tanh:
      return fmt::format("({} * {})", number(f.alpha), call("tanh", number(f.beta) + " * " + x));
    case Gate::hard_sigmoid:
      return fmt::format("{}({} * {} + {}, 0, 1)", w.need("limited", type), number(f.alpha), x, number(f.beta));
    case Gate::elu:
      return fmt::format("({0} < 0 ? {1} * {2} : {0})", x, number(f.alpha), call("expm1", x));
    case Gate::softsign:
      return fmt::format("({} / (1 + {}))", x, call("fabs", x));
    case Gate::softplus:
      return fmt::format("{}({})", w.need("softplus", type), x);
    case Gate::count:
      break;
  }
  return x;
}

enum class Cell : uint8_t { rnn, gru, lstm };

/// A layer as it is written: names of its memory and numbers.
struct LayerText {
  Cell cell = Cell::rnn;
  int64_t steps = 1, batch = 1, in = 1, hidden = 1, dirs = 1, gates = 1;
  DType type = DType::f32;
  double clip = 0;
  bool reset_after = false, input_forget = false;
  std::vector<GateFunction> functions;
  std::string h, c, z, before, dot, p;
};

class LayerWriter {
 public:
  LayerWriter(StepWriter& w, LayerText layer) : w_(w), l_(std::move(layer)) {}

  /// `l_.z` has W x and both biases: the cell's own part. `f`: the first function of this direction.
  void cell(size_t f) {
    Text& b = w_.body();
    if (l_.cell != Cell::lstm)
      b.line("for (long i = 0; i < {}; ++i) {}[i] = h[i];", l_.hidden, l_.before);
    else
      b.line("for (long i = 0; i < {0}; ++i) {1}[i] += {2}(r + i * {3}, h, {3});", 4 * l_.hidden, l_.z, l_.dot,
             l_.hidden);
    switch (l_.cell) {
      case Cell::rnn:
        return rnn(f);
      case Cell::gru:
        return gru(f);
      case Cell::lstm:
        return lstm(f);
    }
  }

 private:
  /// Declares `name` as function f of a sum, limited where the layer says so.
  void gate(const std::string& name, size_t f, const std::string& sum) {
    Text& b = w_.body();
    const std::string of = name + "_sum";
    if (l_.clip > 0)
      b.line("const {} {} = {}({}, -{}, {});", c_type(l_.type), of, w_.need("limited", l_.type), sum,
             literal(l_.clip, l_.type), literal(l_.clip, l_.type));
    else
      b.line("const {} {} = {};", c_type(l_.type), of, sum);
    b.line("const {} {} = {};", c_type(l_.type), name, gate_text(w_, l_.functions[f], of, l_.type));
  }

  std::string recurrent(const std::string& row, const std::string& state) const {
    return fmt::format("{}(r + ({}) * {}, {}, {})", l_.dot, row, l_.hidden, state, l_.hidden);
  }

  void rnn(size_t f) {
    w_.body().open("for (long i = 0; i < {}; ++i)", l_.hidden);
    gate("next", f, fmt::format("{}[i] + {}", l_.z, recurrent("i", l_.before)));
    w_.body().line("h[i] = next;");
    w_.body().close();
  }

  void gru(size_t f) {
    Text& b = w_.body();
    const int64_t n = l_.hidden;
    b.open("for (long i = 0; i < {}; ++i)", 2 * n);
    gate("open", f, fmt::format("{}[i] + {}", l_.z, recurrent("i", l_.before)));
    b.line("{}[i] = open;", l_.z);
    b.close();
    // Update gates are in z[0, n), reset gates in z[n, 2n).
    if (!l_.reset_after) b.line("for (long i = 0; i < {0}; ++i) {1}[{0} + i] *= {2}[i];", n, l_.z, l_.before);
    b.open("for (long i = 0; i < {}; ++i)", n);
    const std::string row = fmt::format("{} + i", 2 * n);
    if (l_.reset_after)
      gate("next", f + 1,
           w_.given(3) ? fmt::format("{0}[{1}] - bias[{2} + i] + {0}[{3} + i] * ({4} + bias[{2} + i])", l_.z, row,
                                     5 * n, n, recurrent(row, l_.before))
                       : fmt::format("{0}[{1}] + {0}[{2} + i] * {3}", l_.z, row, n, recurrent(row, l_.before)));
    else
      gate("next", f + 1, fmt::format("{}[{}] + {}", l_.z, row, recurrent(row, fmt::format("{} + {}", l_.z, n))));
    b.line("h[i] = (1 - {0}[i]) * next + {0}[i] * {1}[i];", l_.z, l_.before);
    b.close();
  }

  void lstm(size_t f) {
    Text& b = w_.body();
    const int64_t n = l_.hidden;
    const auto sum = [&](int64_t k, int64_t peephole) {
      return fmt::format("{}[{} + i]{}", l_.z, k * n,
                         l_.p.empty() ? "" : fmt::format(" + peephole[{} + i] * c[i]", peephole * n));
    };
    b.open("for (long i = 0; i < {}; ++i)", n);
    gate("input", f, sum(0, 0));
    if (l_.input_forget)
      b.line("const {} forget = 1 - input;", c_type(l_.type));
    else
      gate("forget", f, sum(2, 2));
    gate("cell", f + 1, fmt::format("{}[{} + i]", l_.z, 3 * n));
    b.line("c[i] = forget * c[i] + input * cell;");
    gate("output", f, sum(1, 1));
    b.line("const {} state = c[i];", c_type(l_.type));
    b.line("h[i] = output * {};", gate_text(w_, l_.functions[f + 2], "state", l_.type));
    b.close();
  }

  StepWriter& w_;
  LayerText l_;
};

void write_layer(StepWriter& w, const RnnAttrs& a, Cell cell, std::span<const Gate> kinds, bool reset_after,
                 bool input_forget) {
  const Shape x = w.x(0), wide = w.x(1);
  LayerText l;
  l.cell = cell, l.reset_after = reset_after, l.input_forget = input_forget;
  l.gates = cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4;
  l.steps = x[0], l.batch = x[1], l.in = x[2], l.dirs = wide[0], l.hidden = w.x(2)[2], l.type = w.x_type();
  l.clip = a.clip.value_or(0);
  auto functions = gate_functions(a, kinds);
  if (!functions.ok()) return w.refuse(functions.error().message());
  l.functions = *functions;
  const int64_t state = l.batch * l.hidden, n = l.hidden;
  const std::string type(c_type(l.type)), in = w.in(0), weights = w.in(1), inner = w.in(2);
  const std::string lengths = w.given(4) ? w.in(4) : "";
  const bool lstm = cell == Cell::lstm;
  l.dot = w.need("dot", l.type);
  l.h = w.wants(1) ? w.out(1) : w.scratch(l.type, l.dirs * state);
  if (lstm) l.c = w.wants(2) ? w.out(2) : w.scratch(l.type, l.dirs * state);
  l.z = w.scratch(l.type, l.gates * n);
  if (!lstm) l.before = w.scratch(l.type, n);
  if (lstm && w.given(7)) l.p = w.in(7);
  Text& b = w.body();
  const auto start = [&](const std::string& to, size_t port) {
    b.line("for (long i = 0; i < {}; ++i) {}[i] = {};", l.dirs * state, to, w.given(port) ? w.in(port) + "[i]" : "0");
  };
  start(l.h, 5);
  if (lstm) start(l.c, 6);
  const std::string bias = w.given(3) ? w.in(3) : "", y = w.wants(0) ? w.out(0) : "";
  for (int64_t d = 0; d < l.dirs; ++d) {
    const bool reverse = a.direction == Direction::reverse || d == 1;
    b.open("for (long n = 0; n < {}; ++n)", l.batch);
    b.line("const {} *const w = {} + {};", type, weights, d * l.gates * n * l.in);
    b.line("const {} *const r = {} + {};", type, inner, d * l.gates * n * n);
    if (!bias.empty()) b.line("const {} *const bias = {} + {};", type, bias, d * 2 * l.gates * n);
    if (!l.p.empty()) b.line("const {} *const peephole = {} + {};", type, l.p, d * 3 * n);
    b.line("{} *const h = {} + {} + n * {};", type, l.h, d * state, n);
    if (lstm) b.line("{} *const c = {} + {} + n * {};", type, l.c, d * state, n);
    if (lengths.empty()) {
      b.line("const long length = {};", l.steps);
    } else {
      b.line("const long length = (long){}[n];", lengths);
      b.line("if (length < 0 || length > {}) return 0;", l.steps);
      w.may_fail();
    }
    b.open("for (long s = 0; s < {}; ++s)", l.steps);
    b.line("const long t = {};", reverse ? "s < length ? length - 1 - s : s" : "s");
    b.open("if (s < length)");
    b.line("const {} *const x = {} + (t * {} + n) * {};", type, in, l.batch, l.in);
    b.line("for (long i = 0; i < {0}; ++i) {1}[i] = {2}(w + i * {3}, x, {3}){4};", l.gates * n, l.z, l.dot, l.in,
           bias.empty() ? "" : fmt::format(" + (bias[i] + bias[{} + i])", l.gates * n));
    LayerWriter(w, l).cell(static_cast<size_t>(d) * kinds.size());
    b.close();
    if (!y.empty())
      b.line("for (long i = 0; i < {0}; ++i) {1}[t * {2} + {3} + n * {0} + i] = s < length ? h[i] : 0;", n, y,
             l.dirs * state, d * state);
    b.close();
    b.close();
  }
}

template <class A>
RnnAttrs layer_attributes(const A& a) {
  return {a.direction, a.activations, a.activation_alpha, a.activation_beta, a.clip};
}

constexpr Gate kOneGate[] = {Gate::tanh};
constexpr Gate kTwoGates[] = {Gate::sigmoid, Gate::tanh};
constexpr Gate kThreeGates[] = {Gate::sigmoid, Gate::tanh, Gate::tanh};

constexpr RowEntry kRecurrentRows[] = {
    {"rnn", [](StepWriter& w) { write_layer(w, w.attr<RnnAttrs>(), Cell::rnn, kOneGate, false, false); }},
    {"gru",
     [](StepWriter& w) {
       const auto& a = w.attr<GruAttrs>();
       write_layer(w, layer_attributes(a), Cell::gru, kTwoGates, a.reset_after, false);
     }},
    {"lstm",
     [](StepWriter& w) {
       const auto& a = w.attr<LstmAttrs>();
       write_layer(w, layer_attributes(a), Cell::lstm, kThreeGates, false, a.input_forget);
     }},
};

}  // namespace

std::span<const RowEntry> recurrent_rows() { return kRecurrentRows; }

}  // namespace nnex::c_format
