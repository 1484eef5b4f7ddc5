// Recurrent layers of a known number of steps, unrolled; and their cells.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ops/activation.h"
#include "ops/recurrent.h"
#include "passes/lower.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

using Gate = GateFunction::Kind;

constexpr int64_t kMaxSteps = 4096;  ///< Of a layer that is unrolled: some thirty nodes each.

enum class Cell : uint8_t { rnn, gru, lstm };
constexpr std::array<int64_t, 3> kGates = {1, 3, 4};
constexpr std::array<Gate, 1> kRnnKinds = {Gate::tanh};
constexpr std::array<Gate, 2> kGruKinds = {Gate::sigmoid, Gate::tanh};
constexpr std::array<Gate, 3> kLstmKinds = {Gate::sigmoid, Gate::tanh, Gate::tanh};

std::span<const Gate> usual(Cell cell) {
  if (cell == Cell::rnn) return kRnnKinds;
  if (cell == Cell::gru) return kGruKinds;
  return kLstmKinds;
}

/// One direction of a layer while it is unrolled. An invalid value is zeros.
struct Layer {
  Lowering& l;
  Cell cell;
  DType type;
  int64_t batch, hidden;
  std::span<const GateFunction> f;
  double clip = 0;
  bool reset_after = false, input_forget = false;
  ValueId r = {};          ///< [gates * hidden, hidden]
  ValueId bias = {};       ///< [gates * hidden]: added to what comes from x.
  ValueId inner = {};      ///< [hidden]: of a gru whose reset gate acts after the product, added inside.
  ValueId peephole = {};   ///< [3 * hidden]
  ValueId h = {}, c = {};  ///< [batch, hidden]

  ValueId number(double v) const { return l.b.number(type, v); }
  ValueId plus(ValueId a, ValueId b) const { return !a.valid() ? b : !b.valid() ? a : l.row("add", {a, b}); }
  ValueId times(ValueId a, ValueId b) const { return a.valid() && b.valid() ? l.row("mul", {a, b}) : ValueId{}; }
  ValueId complement(ValueId v) const { return l.row("sub", {number(1), v}); }
  /// The numbers of gate k, or of `count` gates from it.
  ValueId part(ValueId v, int64_t axis, int64_t k, int64_t count = 1) const {
    return v.valid() ? l.sliced(v, axis, k * hidden, (k + count) * hidden) : v;
  }
  /// v R', of the rows of gates [k, k + count).
  ValueId recurrent(ValueId v, int64_t k, int64_t count) const {
    if (!v.valid()) return v;
    return l.matmul(v, count == kGates[static_cast<size_t>(cell)] ? r : part(r, 0, k, count), true);
  }

  /// Function i of a value; of a gate's sum, which is clipped before.
  ValueId function(size_t i, ValueId v) const;
  ValueId gate(size_t i, ValueId sum) const;
  void step(ValueId x);
  void gru_step(ValueId x);
  void lstm_step(ValueId x);
};

ValueId Layer::gate(size_t i, ValueId sum) const {
  return function(i, clip > 0 ? l.row("clamp", {sum, number(-clip), number(clip)}) : sum);
}

ValueId Layer::function(size_t i, ValueId sum) const {
  const GateFunction& g = f[i];
  const auto scaled = [&](ValueId v, double by) { return by == 1 ? v : l.row("mul", {v, number(by)}); };
  switch (g.kind) {
    case Gate::sigmoid:
      return l.row("sigmoid", {sum});
    case Gate::tanh:
      return l.row("tanh", {sum});
    case Gate::relu:
      return l.row("relu", {sum});
    case Gate::affine:
      return l.row("add", {scaled(sum, g.alpha), number(g.beta)});
    case Gate::leaky_relu:
      return l.row("leaky_relu", {sum}, LeakyReluAttrs{g.alpha});
    case Gate::thresholded_relu:
      return l.row("thresholded_relu", {sum}, AlphaAttrs{g.alpha});
    case Gate::scaled_tanh:
      return scaled(l.row("tanh", {scaled(sum, g.beta)}), g.alpha);
    case Gate::hard_sigmoid:
      return l.row("hard_sigmoid", {sum}, HardSigmoidAttrs{g.alpha, g.beta});
    case Gate::elu:
      return l.row("elu", {sum}, AlphaAttrs{g.alpha});
    case Gate::softsign:
      return l.row("softsign", {sum});
    case Gate::softplus:
      return l.row("softplus", {sum});
    case Gate::count:
      break;
  }
  return sum;
}

/// z r h: h = (1 - z) candidate + z h.
void Layer::gru_step(ValueId x) {
  const ValueId gates = plus(part(x, 1, 0, 2), recurrent(h, 0, 2));
  const ValueId update = gate(0, part(gates, 1, 0)), reset = gate(0, part(gates, 1, 1));
  const ValueId inside = reset_after ? times(reset, plus(recurrent(h, 2, 1), inner)) : recurrent(times(reset, h), 2, 1);
  const ValueId candidate = gate(1, plus(part(x, 1, 2), inside));
  h = plus(times(complement(update), candidate), times(update, h));
}

/// i o f c: c = f c + i candidate; h = o g(c).
void Layer::lstm_step(ValueId x) {
  const ValueId sums = plus(x, recurrent(h, 0, 4));
  const auto gate_of = [&](int64_t k, int64_t peep, ValueId state) {
    return gate(0, plus(part(sums, 1, k), times(part(peephole, 0, peep), state)));
  };
  const ValueId input = gate_of(0, 0, c);
  const ValueId kept = c.valid() ? times(input_forget ? complement(input) : gate_of(2, 2, c), c)
                                 : ValueId{};  // of zeros nothing is kept
  const ValueId candidate = gate(1, part(sums, 1, 3));
  c = plus(kept, times(input, candidate));
  h = times(gate_of(1, 1, c), function(2, c));
}

/// x: [batch, gates * hidden], the input's share of every gate with the bias.
void Layer::step(ValueId x) {
  if (cell == Cell::gru) return gru_step(x);
  if (cell == Cell::lstm) return lstm_step(x);
  h = gate(0, plus(x, recurrent(h, 0, 1)));
}

/// Both biases of a direction, [2 * gates * hidden], in their places.
void add_bias(Layer& s, ValueId both) {
  const int64_t gates = kGates[static_cast<size_t>(s.cell)];
  const ValueId of_x = s.part(both, 0, 0, gates), of_h = s.part(both, 0, gates, gates);
  if (!s.reset_after) {
    s.bias = s.plus(of_x, of_h);
    return;
  }
  s.bias = s.l.concat({s.plus(s.part(of_x, 0, 0, 2), s.part(of_h, 0, 0, 2)), s.part(of_x, 0, 2)}, 0);
  s.inner = s.part(of_h, 0, 2);
}

/// The share of x, [rows, in], in every gate: x W' + bias.
ValueId shares(const Layer& s, ValueId x, ValueId w) { return s.plus(s.l.matmul(x, w, true), s.bias); }

template <class A>
RnnAttrs common(const A& a) {
  return {a.direction, a.activations, a.activation_alpha, a.activation_beta, a.clip, a.hidden};
}

/// What a layer gives, direction for direction.
struct Results {
  std::vector<ValueId> y, h, c;
};

/// The steps of a direction. `lengths`: [batch, 1] as elements of the layer's type; past a row's length y is 0 and the
/// states stay, backwards, too, where those steps come first.
void unroll(Layer& s, ValueId x, int64_t steps, bool reverse, ValueId lengths, bool wants_y, Results& out) {
  Lowering& l = s.l;
  const ValueId zeros = l.b.number(s.type, 0);
  const auto full = [&](ValueId v) { return v.valid() ? v : l.row("expand", {zeros, l.b.ints({s.batch, s.hidden})}); };
  std::vector<ValueId> all(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    const ValueId h = s.h, c = s.c;
    s.step(l.sliced(x, 0, t * s.batch, (t + 1) * s.batch));
    ValueId y = s.h;
    if (lengths.valid()) {
      const ValueId runs = l.row("gt", {lengths, s.number(static_cast<double>(t))});
      y = l.row("select", {runs, s.h, zeros});
      s.h = l.row("select", {runs, s.h, full(h)});
      if (s.cell == Cell::lstm) s.c = l.row("select", {runs, s.c, full(c)});
    }
    if (wants_y) all[static_cast<size_t>(t)] = l.reshaped(y, {1, 1, s.batch, s.hidden});
  }
  if (wants_y) out.y.push_back(l.concat(std::move(all), 0));
  out.h.push_back(l.reshaped(s.h, {1, s.batch, s.hidden}));
  if (s.cell == Cell::lstm) out.c.push_back(l.reshaped(s.c, {1, s.batch, s.hidden}));
}

/// Rows of lengths that are all the number of steps are none.
Result<ValueId> lengths_of(Lowering& l, int64_t steps, int64_t batch, DType type) {
  if (!l.given(4)) return ValueId{};
  if (const Tensor* known = l.constant(4)) {
    const Ints all = ints_of(*known);
    if (std::all_of(all.begin(), all.end(), [&](int64_t n) { return n == steps; })) return ValueId{};
  }
  return l.reshaped(l.cast(l.in(4), type), {batch, 1});
}

// Ports: x w r b lengths h0, and for an lstm c0 p.
template <class A>
Status layer(Lowering& l, Cell cell) {
  const RnnAttrs a = common(l.attrs<A>());
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const Shape r, l.shape(2));
  const int64_t steps = x[0], batch = x[1], in = x[2], hidden = r[2], gates = kGates[static_cast<size_t>(cell)];
  if (steps > kMaxSteps) return l.error("it has {} steps; at most {} are unrolled", steps, kMaxSteps);
  NNEX_ASSIGN(const std::vector<GateFunction> f, gate_functions(a, usual(cell)));
  NNEX_ASSIGN(const ValueId lengths, lengths_of(l, steps, batch, l.type(0)));
  const ValueId rows = l.reshaped(l.in(0), {steps * batch, in});
  Results out;
  for (int64_t d = 0; d < r[0]; ++d) {
    const auto own = [&](size_t port, const Ints& shape) {
      if (!l.given(port)) return ValueId{};
      return l.reshaped(r[0] == 1 ? l.in(port) : l.sliced(l.in(port), 0, d, d + 1), shape);
    };
    Layer s{l, cell, l.type(0), batch, hidden, std::span(f).subspan(static_cast<size_t>(d) * usual(cell).size())};
    s.clip = a.clip.value_or(0);
    s.r = own(2, {gates * hidden, hidden});
    s.h = own(5, {batch, hidden});
    if constexpr (std::is_same_v<A, GruAttrs>) s.reset_after = l.attrs<A>().reset_after;
    if constexpr (std::is_same_v<A, LstmAttrs>) {
      s.input_forget = l.attrs<A>().input_forget;
      s.c = own(6, {batch, hidden});
      s.peephole = own(7, {3 * hidden});
    }
    if (l.given(3)) add_bias(s, own(3, {2 * gates * hidden}));
    const ValueId share = shares(s, rows, own(1, {gates * hidden, in}));
    unroll(s, share, steps, a.direction == Direction::reverse || d == 1, lengths, l.wants(0), out);
  }
  if (l.wants(0)) l.give(0, l.concat(out.y, 1));
  if (l.wants(1)) l.give(1, l.concat(out.h, 0));
  if (cell == Cell::lstm && l.wants(2)) l.give(2, l.concat(out.c, 0));
  return {};
}

Status rnn(Lowering& l) { return layer<RnnAttrs>(l, Cell::rnn); }
Status gru(Lowering& l) { return layer<GruAttrs>(l, Cell::gru); }
Status lstm(Lowering& l) { return layer<LstmAttrs>(l, Cell::lstm); }

// Ports: x w r b h0, and for an lstm c0 p.
template <class A>
Status cell(Lowering& l, Cell kind) {
  RnnAttrs words;
  words.activations = l.attrs<A>().activations;
  NNEX_ASSIGN(const Shape h, l.shape(4));
  NNEX_ASSIGN(const std::vector<GateFunction> f, gate_functions(words, usual(kind)));
  Layer s{l, kind, l.type(0), h[0], h[1], f};
  s.r = l.in(2), s.h = l.in(4);
  if constexpr (std::is_same_v<A, GruCellAttrs>) s.reset_after = l.attrs<A>().reset_after;
  if constexpr (std::is_same_v<A, LstmCellAttrs>) {
    s.input_forget = l.attrs<A>().input_forget;
    s.c = l.in(5);
    if (l.given(6)) s.peephole = l.in(6);
  }
  if (l.given(3)) add_bias(s, l.in(3));
  s.step(shares(s, l.in(0), l.in(1)));
  if (l.wants(0)) l.give(0, s.h);
  if (kind == Cell::lstm && l.wants(1)) l.give(1, s.c);
  return {};
}

Status gru_cell(Lowering& l) { return cell<GruCellAttrs>(l, Cell::gru); }
Status lstm_cell(Lowering& l) { return cell<LstmCellAttrs>(l, Cell::lstm); }

constexpr LowerRow kLowerRecurrent[] = {
    {"rnn", rnn}, {"gru", gru}, {"lstm", lstm}, {"gru_cell", gru_cell}, {"lstm_cell", lstm_cell},
};

}  // namespace

std::span<const LowerRow> lower_recurrent() { return kLowerRecurrent; }

}  // namespace nnex::passes
