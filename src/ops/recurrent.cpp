// Recurrent layers and their cells. Gates stand in ONNX's order: z r h, and i o f c.

#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/joined.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {

// ---- Functions of gates

namespace {

using Gate = GateFunction::Kind;
constexpr std::array<std::string_view, static_cast<size_t>(Gate::count)> kWords = {
    "sigmoid",     "tanh",         "relu", "affine",   "leaky_relu", "thresholded_relu",
    "scaled_tanh", "hard_sigmoid", "elu",  "softsign", "softplus"};

/// The numbers a function has, with their defaults; NaN: it has none.
struct Numbers {
  double alpha = NAN, beta = NAN;
};
Numbers numbers_of(Gate k) {
  switch (k) {
    case Gate::affine:
    case Gate::scaled_tanh:
      return {1, k == Gate::affine ? 0.0 : 1.0};
    case Gate::leaky_relu:
      return {0.01, NAN};
    case Gate::thresholded_relu:
    case Gate::elu:
      return {1, NAN};
    case Gate::hard_sigmoid:
      return {0.2, 0.5};
    default:
      return {};
  }
}

}  // namespace

std::span<const std::string_view> gate_words() { return kWords; }

double GateFunction::operator()(double x) const {
  switch (kind) {
    case Gate::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Gate::tanh:
      return std::tanh(x);
    case Gate::relu:
      return x > 0 || x != x ? x : 0;
    case Gate::affine:
      return alpha * x + beta;
    case Gate::leaky_relu:
      return x < 0 ? alpha * x : x;
    case Gate::thresholded_relu:
      return x > alpha || x != x ? x : 0;
    case Gate::scaled_tanh:
      return alpha * std::tanh(beta * x);
    case Gate::hard_sigmoid:
      return x != x ? x : std::clamp(alpha * x + beta, 0.0, 1.0);
    case Gate::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case Gate::softsign:
      return x / (1 + std::abs(x));
    case Gate::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Gate::count:
      break;
  }
  return x;
}

Result<std::vector<GateFunction>> gate_functions(const RnnAttrs& a, std::span<const Gate> defaults) {
  const size_t directions = a.direction == Direction::bidirectional ? 2 : 1, each = defaults.size();
  if (!a.activations.empty() && a.activations.size() != each && a.activations.size() != each * directions)
    return failure(Code::invalid_model, "{} activations; needed {} for each of {} directions", a.activations.size(),
                   each, directions);
  std::vector<GateFunction> out;
  size_t alphas = 0, betas = 0;
  for (size_t i = 0; i < each * directions; ++i) {
    GateFunction f{defaults[i % each], 0, 0};
    if (!a.activations.empty()) {
      const std::string& word = a.activations[i % a.activations.size()];
      const auto at = std::find(kWords.begin(), kWords.end(), word);
      if (at == kWords.end())
        return failure(Code::invalid_model, "activation '{}'; there are: {}", word, joined(kWords, " "));
      f.kind = static_cast<Gate>(at - kWords.begin());
    }
    const auto next = [](const Reals& list, size_t& used, double otherwise) {
      if (otherwise != otherwise) return 0.0;
      return used < list.size() ? list[used++] : otherwise;
    };
    const Numbers n = numbers_of(f.kind);
    f.alpha = next(a.activation_alpha, alphas, n.alpha);
    f.beta = next(a.activation_beta, betas, n.beta);
    out.push_back(f);
  }
  return out;
}

namespace {

// ---- One direction of a layer

/// What one direction reads and writes. Weights are [gates * hidden, in] and [gates * hidden, hidden]; states are
/// [batch, hidden] and are updated in place.
template <class T>
struct Layer {
  int64_t steps = 1, batch = 0, in = 0, hidden = 0, gates = 1;
  bool reverse = false;
  const T* x = nullptr;  ///< [steps, batch, in]
  const T *w = nullptr, *r = nullptr;
  const T* b = nullptr;  ///< [2 * gates * hidden] or null.
  const T* p = nullptr;  ///< [3 * hidden] or null.
  const int64_t* lengths = nullptr;
  T *h = nullptr, *c = nullptr;
  T* y = nullptr;      ///< Of step 0, row 0; null: nobody reads it.
  int64_t y_step = 0;  ///< Elements from one step to the next.
  double clip = 0;
  const GateFunction* f = nullptr;

  double limited(double v) const { return clip > 0 ? std::clamp(v, -clip, clip) : v; }
  double gate(size_t function, T sum) const { return f[function](limited(static_cast<double>(sum))); }
};

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int64_t k = 0; k < 8; ++k) lanes[k] += a[i + k] * b[i + k];
  T sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Walks the steps of every row: step(x row, h row, c row) updates the states. Past a row's length y is 0 and the
/// states stay.
template <class T, class Step>
void walk(const Layer<T>& l, Step step) {
  for (int64_t b = 0; b < l.batch; ++b) {
    const int64_t n = l.lengths ? l.lengths[b] : l.steps;
    T *h = l.h + b * l.hidden, *c = l.c ? l.c + b * l.hidden : nullptr;
    for (int64_t s = 0; s < l.steps; ++s) {
      const int64_t t = s >= n ? s : l.reverse ? n - 1 - s : s;
      if (s < n) step(l.x + (t * l.batch + b) * l.in, h, c);
      if (!l.y) continue;
      T* y = l.y + t * l.y_step + b * l.hidden;
      if (s < n)
        std::copy_n(h, l.hidden, y);
      else
        std::fill_n(y, l.hidden, T{});
    }
  }
}

/// W x + both biases of every gate.
template <class T>
void input_sums(const Layer<T>& l, const T* x, std::vector<T>& z) {
  const int64_t rows = l.gates * l.hidden;
  for (int64_t i = 0; i < rows; ++i)
    z[static_cast<size_t>(i)] = dot(l.w + i * l.in, x, l.in) + (l.b ? l.b[i] + l.b[rows + i] : T{});
}

struct RnnStep {
  template <class T>
  void operator()(const Layer<T>& l) const {
    const auto hidden = static_cast<size_t>(l.hidden);
    std::vector<T> z(hidden), before(hidden);
    walk(l, [&](const T* x, T* h, T*) {
      input_sums(l, x, z);
      std::copy_n(h, l.hidden, before.data());
      for (size_t i = 0; i < hidden; ++i)
        h[i] = static_cast<T>(l.gate(0, z[i] + dot(l.r + static_cast<int64_t>(i) * l.hidden, before.data(), l.hidden)));
    });
  }
};

struct GruStep {
  bool reset_after;
  template <class T>
  void operator()(const Layer<T>& l) const {
    const auto hidden = static_cast<size_t>(l.hidden);
    std::vector<T> z(3 * hidden), before(hidden), reset(hidden), update(hidden);
    const T* rh = l.r + 2 * l.hidden * l.hidden;
    walk(l, [&](const T* x, T* h, T*) {
      input_sums(l, x, z);
      std::copy_n(h, l.hidden, before.data());
      for (size_t i = 0; i < 2 * hidden; ++i) {
        const T sum = z[i] + dot(l.r + static_cast<int64_t>(i) * l.hidden, before.data(), l.hidden);
        (i < hidden ? update[i] : reset[i - hidden]) = static_cast<T>(l.gate(0, sum));
      }
      std::vector<T>& gated = z;  // its first rows are used up
      if (!reset_after)
        for (size_t i = 0; i < hidden; ++i) gated[i] = reset[i] * before[i];
      for (size_t i = 0; i < hidden; ++i) {
        const T* row = rh + static_cast<int64_t>(i) * l.hidden;
        T sum = z[2 * hidden + i];
        if (reset_after) {
          // The recurrent bias is inside the product: it was added outside before.
          const T bias = l.b ? l.b[5 * hidden + i] : T{};
          sum = (l.b ? sum - bias : sum) + reset[i] * (dot(row, before.data(), l.hidden) + bias);
        } else {
          sum += dot(row, gated.data(), l.hidden);
        }
        const T candidate = static_cast<T>(l.gate(1, sum));
        h[i] = (T(1) - update[i]) * candidate + update[i] * before[i];
      }
    });
  }
};

struct LstmStep {
  bool input_forget;
  template <class T>
  void operator()(const Layer<T>& l) const {
    const auto hidden = static_cast<size_t>(l.hidden);
    std::vector<T> z(4 * hidden);
    walk(l, [&](const T* x, T* h, T* c) {
      input_sums(l, x, z);
      for (size_t i = 0; i < 4 * hidden; ++i) z[i] += dot(l.r + static_cast<int64_t>(i) * l.hidden, h, l.hidden);
      for (size_t i = 0; i < hidden; ++i) {
        const auto peep = [&](size_t k, T state) { return l.p ? l.p[k * hidden + i] * state : T{}; };
        const double input = l.gate(0, z[i] + peep(0, c[i]));
        const double forget = input_forget ? 1 - input : l.gate(0, z[2 * hidden + i] + peep(2, c[i]));
        const double cell = l.gate(1, z[3 * hidden + i]);
        c[i] = static_cast<T>(forget * static_cast<double>(c[i]) + input * cell);
        const double output = l.gate(0, z[hidden + i] + peep(1, c[i]));
        h[i] = static_cast<T>(output * l.f[2](static_cast<double>(c[i])));
      }
    });
  }
};

// ---- Whole layers

/// What all layers have.
template <class A>
RnnAttrs common(const A& a) {
  return {a.direction, a.activations, a.activation_alpha, a.activation_beta, a.clip, a.hidden};
}

constexpr Gate kRnnKinds[] = {Gate::tanh};
constexpr Gate kGruKinds[] = {Gate::sigmoid, Gate::tanh};
constexpr Gate kLstmKinds[] = {Gate::sigmoid, Gate::tanh, Gate::tanh};

Status infer_layer(InferCall& c, const RnnAttrs& a, int64_t gates, std::span<const Gate> kinds, size_t c0) {
  auto functions = gate_functions(a, kinds);
  if (!functions.ok()) return c.error("{}", functions.error().message());
  if (a.hidden && *a.hidden < 1) return c.error("hidden is {}; needed 1 or more", *a.hidden);
  for (size_t i : {size_t{0}, size_t{1}, size_t{2}}) NNEX_TRY(need_rank(c, i, 3));
  const int64_t dirs = a.direction == Direction::bidirectional ? 2 : 1;
  Dim steps = c.unknown(), batch = c.unknown(), hidden = c.unknown();
  if (c.dims(0)) steps = (*c.dims(0))[0], batch = (*c.dims(0))[1];
  if (c.dims(2)) {
    const Dims& r = *c.dims(2);
    hidden = r[2];
    NNEX_TRY(meet(c, r[0], Dim(dirs), "directions of r"));
    NNEX_TRY(meet(c, r[1], Dim(gates) * hidden, "rows of r"));
    if (a.hidden) NNEX_TRY(meet(c, hidden, Dim(*a.hidden), "columns of r"));
  } else if (a.hidden) {
    hidden = Dim(*a.hidden);
  }
  const bool known = c.dims(2) || a.hidden;
  if (c.dims(1)) {
    const Dims& w = *c.dims(1);
    NNEX_TRY(meet(c, w[0], Dim(dirs), "directions of w"));
    if (known) NNEX_TRY(meet(c, w[1], Dim(gates) * hidden, "rows of w"));
    if (c.dims(0)) NNEX_TRY(meet(c, w[2], (*c.dims(0))[2], "columns of w"));
  }
  const auto need = [&](size_t i, Dims dims) -> Status {
    if (!c.has(i)) return {};
    NNEX_TRY(need_rank(c, i, static_cast<int64_t>(dims.size())));
    if (!c.dims(i)) return {};
    for (size_t k = 0; k < dims.size(); ++k)
      NNEX_TRY(meet(c, (*c.dims(i))[k], dims[k], fmt::format("extent of {} at axis {}", c.op().inputs[i].name, k)));
    return {};
  };
  if (known) NNEX_TRY(need(3, {Dim(dirs), Dim(2 * gates) * hidden}));
  if (c.dims(0)) NNEX_TRY(need(4, {batch}));
  if (c.dims(0) && known) {
    NNEX_TRY(need(5, {Dim(dirs), batch, hidden}));
    if (c0) NNEX_TRY(need(c0, {Dim(dirs), batch, hidden}));
  }
  if (c0 && known) NNEX_TRY(need(c0 + 1, {Dim(dirs), Dim(3) * hidden}));
  c.result(0, Dims{steps, Dim(dirs), batch, hidden});
  c.result(1, Dims{Dim(dirs), batch, hidden});
  if (c0) c.result(2, Dims{Dim(dirs), batch, hidden});
  return {};
}

/// Ports: x w r b lengths h0, and for an lstm c0 p.
template <class T, class Step>
Status run_layer(Call& c, const RnnAttrs& a, int64_t gates, std::span<const Gate> kinds, Step step, bool lstm) {
  NNEX_ASSIGN(auto functions, gate_functions(a, kinds));
  const Shape &x = c.shape(0), &w = c.shape(1), &r = c.shape(2);
  Layer<T> l;
  l.steps = x[0], l.batch = x[1], l.in = x[2], l.hidden = r[2], l.gates = gates;
  l.clip = a.clip.value_or(0);
  const int64_t dirs = w[0], state = l.batch * l.hidden;
  Ints lengths;
  if (c.has(4)) {
    lengths = ints_of(c.in(4));
    for (size_t i = 0; i < lengths.size(); ++i)
      if (lengths[i] < 0 || lengths[i] > l.steps)
        return c.fault("length {} of row {} is outside [0, {}]", lengths[i], i, l.steps);
    l.lengths = lengths.data();
  }
  const auto states = [&](size_t port) {
    std::vector<T> out(static_cast<size_t>(dirs * state));
    if (c.has(port)) std::copy(c.in<T>(port).begin(), c.in<T>(port).end(), out.begin());
    return out;
  };
  std::vector<T> h = states(5), cells = lstm ? states(6) : std::vector<T>{};
  for (int64_t d = 0; d < dirs; ++d) {
    l.reverse = a.direction == Direction::reverse || d == 1;
    l.x = c.in<T>(0).data();
    l.w = c.in<T>(1).data() + d * w[1] * w[2];
    l.r = c.in<T>(2).data() + d * r[1] * r[2];
    l.b = c.has(3) ? c.in<T>(3).data() + d * 2 * gates * l.hidden : nullptr;
    l.p = lstm && c.has(7) ? c.in<T>(7).data() + d * 3 * l.hidden : nullptr;
    l.h = h.data() + d * state;
    l.c = lstm ? cells.data() + d * state : nullptr;
    l.y = c.wants(0) ? c.out<T>(0).data() + d * state : nullptr;
    l.y_step = dirs * state;
    l.f = functions.data() + static_cast<size_t>(d) * kinds.size();
    step(l);
  }
  if (c.wants(1)) std::copy(h.begin(), h.end(), c.out<T>(1).begin());
  if (lstm && c.wants(2)) std::copy(cells.begin(), cells.end(), c.out<T>(2).begin());
  return {};
}

// ---- Cells: one step, without the axes of steps and directions

template <class A>
RnnAttrs words_of(const A& a) {
  RnnAttrs out;
  out.activations = a.activations;
  return out;
}

Status infer_cell(InferCall& c, const Texts& words, int64_t gates, std::span<const Gate> kinds, size_t outputs) {
  RnnAttrs a;
  a.activations = words;
  auto functions = gate_functions(a, kinds);
  if (!functions.ok()) return c.error("{}", functions.error().message());
  for (size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{4}}) NNEX_TRY(need_rank(c, i, 2));
  if (c.dims(2)) {
    const Dims& r = *c.dims(2);
    NNEX_TRY(meet(c, r[0], Dim(gates) * r[1], "rows of r"));
    if (c.dims(1)) NNEX_TRY(meet(c, (*c.dims(1))[0], r[0], "rows of w"));
    if (c.dims(4)) NNEX_TRY(meet(c, (*c.dims(4))[1], r[1], "columns of h0"));
    if (c.has(3) && c.dims(3)) {
      NNEX_TRY(need_rank(c, 3, 1));
      NNEX_TRY(meet(c, (*c.dims(3))[0], Dim(2 * gates) * r[1], "elements of b"));
    }
  }
  if (c.dims(0) && c.dims(1)) NNEX_TRY(meet(c, (*c.dims(1))[1], (*c.dims(0))[1], "columns of w"));
  if (c.dims(0) && c.dims(4)) NNEX_TRY(meet(c, (*c.dims(4))[0], (*c.dims(0))[0], "rows of h0"));
  if (outputs == 2) NNEX_TRY(need_rank(c, 5, 2));
  if (outputs == 2 && c.has(6)) {
    NNEX_TRY(need_rank(c, 6, 1));
    if (c.dims(6) && c.dims(2)) NNEX_TRY(meet(c, (*c.dims(6))[0], Dim(3) * (*c.dims(2))[1], "elements of p"));
  }
  if (outputs == 2 && c.dims(5) && c.dims(4))
    for (size_t k : {size_t{0}, size_t{1}}) NNEX_TRY(meet(c, (*c.dims(5))[k], (*c.dims(4))[k], "extent of c0"));
  for (size_t o = 0; o < outputs; ++o) c.result(o, c.dims(4) ? c.dims(4) : MaybeDims(c.unknowns(2)));
  return {};
}

/// Ports: x w r b h0, and for an lstm c0 p.
template <class T, class Step>
Status run_cell(Call& c, const RnnAttrs& a, int64_t gates, std::span<const Gate> kinds, Step step, bool lstm) {
  NNEX_ASSIGN(auto functions, gate_functions(a, kinds));
  Layer<T> l;
  l.batch = c.shape(0)[0], l.in = c.shape(0)[1], l.hidden = c.shape(2)[1], l.gates = gates;
  l.x = c.in<T>(0).data(), l.w = c.in<T>(1).data(), l.r = c.in<T>(2).data();
  l.b = c.has(3) ? c.in<T>(3).data() : nullptr;
  l.p = lstm && c.has(6) ? c.in<T>(6).data() : nullptr;
  std::vector<T> h(c.in<T>(4).begin(), c.in<T>(4).end()), cells;
  if (lstm) cells.assign(c.in<T>(5).begin(), c.in<T>(5).end());
  l.h = h.data(), l.c = cells.data(), l.f = functions.data();
  step(l);
  if (c.wants(0)) std::copy(h.begin(), h.end(), c.out<T>(0).begin());
  if (lstm && c.wants(1)) std::copy(cells.begin(), cells.end(), c.out<T>(1).begin());
  return {};
}

// ---- Entries

template <class A>
constexpr AttrType layer_fields(std::initializer_list<detail::FieldOf<A>> more = {}) {
  AttrType t =
      attrs_of<A>({field<&A::direction>("direction", "Steps from the first, from the last, or both."),
                   field<&A::activations>("activations", "Functions of a direction's gates; empty: the usual ones."),
                   field<&A::activation_alpha>("activation_alpha", "First numbers of functions that have one."),
                   field<&A::activation_beta>("activation_beta", "Second numbers."),
                   field<&A::clip>("clip", "Bound of what a gate's function takes; absent: none."),
                   field<&A::hidden>("hidden", "Numbers of a state; absent: as r says.")});
  for (const auto& f : more) t.fields.item[t.fields.n++] = f.field;
  return t;
}

constexpr Types kLengths = kIndex;

constexpr OpRow layer(std::string_view name, std::string_view summary, std::string_view source, const AttrType& attrs,
                      InferFn infer, Reference reference, List<SpellingRow, 6> spelled) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kF},
               {"w", same_type_as("x")},
               {"r", same_type_as("x")},
               {"b", same_type_as("x"), Arity::optional},
               {"lengths", kLengths, Arity::optional},
               {"h0", same_type_as("x"), Arity::optional}};
  op.outputs = {{"y", same_type_as("x"), Arity::optional}, {"h", same_type_as("x"), Arity::optional}};
  op.attrs = attrs;
  op.infer = infer;
  op.reference = reference;
  op.spelled = spelled;
  op.work = Work::recurrent;
  return op;
}

constexpr OpRow lstm_layer() {
  OpRow op =
      layer("lstm", "Long short-term memory over steps; gates i o f c.", "ONNX LSTM-22; WebNN lstm()",
            layer_fields<LstmAttrs>({field<&LstmAttrs::input_forget>("input_forget", "The forget gate is 1 - input.")}),
            [](InferCall& c) { return infer_layer(c, common(c.attr<LstmAttrs>()), 4, kLstmKinds, 6); },
            typed<float, double>([]<class T>(Call& c) -> Status {
              const auto& a = c.attr<LstmAttrs>();
              return run_layer<T>(c, common(a), 4, kLstmKinds, LstmStep{a.input_forget}, true);
            }),
            {{onnx, "LSTM", {{"input_forget", "input_forget", &int_bool}}}, {webnn, "lstm"}});
  op.inputs.item[op.inputs.n++] = {"c0", same_type_as("x"), Arity::optional};
  op.inputs.item[op.inputs.n++] = {"p", same_type_as("x"), Arity::optional};
  op.outputs.item[op.outputs.n++] = {"c", same_type_as("x"), Arity::optional};
  return op;
}

constexpr OpRow cell(std::string_view name, std::string_view summary, const AttrType& attrs, InferFn infer,
                     Reference reference, std::string_view webnn_name) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = "WebNN";
  op.inputs = {{"x", kF},
               {"w", same_type_as("x")},
               {"r", same_type_as("x")},
               {"b", same_type_as("x"), Arity::optional},
               {"h0", same_type_as("x")}};
  op.outputs = {{"h", same_type_as("x")}};
  op.attrs = attrs, op.infer = infer, op.reference = reference;
  op.spelled = {{webnn, webnn_name}};
  op.work = Work::recurrent;
  return op;
}

constexpr OpRow lstm_cell() {
  OpRow op = cell(
      "lstm_cell", "One step of an lstm.",
      attrs_of<LstmCellAttrs>(
          {field<&LstmCellAttrs::activations>("activations", "Functions of gates; empty: the usual ones."),
           field<&LstmCellAttrs::input_forget>("input_forget", "The forget gate is 1 - input.")}),
      [](InferCall& c) { return infer_cell(c, c.attr<LstmCellAttrs>().activations, 4, kLstmKinds, 2); },
      typed<float, double>([]<class T>(Call& c) -> Status {
        const auto& a = c.attr<LstmCellAttrs>();
        return run_cell<T>(c, words_of(a), 4, kLstmKinds, LstmStep{a.input_forget}, true);
      }),
      "lstmCell");
  op.inputs.item[op.inputs.n++] = {"c0", same_type_as("x")};
  op.inputs.item[op.inputs.n++] = {"p", same_type_as("x"), Arity::optional};
  op.outputs.item[op.outputs.n++] = {"c", same_type_as("x")};
  return op;
}

constexpr OpRow kRecurrentOps[] = {
    layer("rnn", "h = f(W x + R h + b) over steps.", "ONNX RNN-22", layer_fields<RnnAttrs>(),
          [](InferCall& c) { return infer_layer(c, c.attr<RnnAttrs>(), 1, kRnnKinds, 0); },
          typed<float, double>([]<class T>(Call& c) -> Status {
            return run_layer<T>(c, c.attr<RnnAttrs>(), 1, kRnnKinds, RnnStep{}, false);
          }),
          {{onnx, "RNN"}}),
    layer("gru", "Gated recurrent unit over steps; gates z r h.", "ONNX GRU-22; WebNN gru()",
          layer_fields<GruAttrs>({field<&GruAttrs::reset_after>("reset_after", "The reset gate acts after R h + Rb.")}),
          [](InferCall& c) { return infer_layer(c, common(c.attr<GruAttrs>()), 3, kGruKinds, 0); },
          typed<float, double>([]<class T>(Call& c) -> Status {
            const auto& a = c.attr<GruAttrs>();
            return run_layer<T>(c, common(a), 3, kGruKinds, GruStep{a.reset_after}, false);
          }),
          {{onnx, "GRU", {{"reset_after", "linear_before_reset", &int_bool}}},
           {webnn, "gru", {{"reset_after", "resetAfter"}}}}),
    lstm_layer(),
    cell(
        "gru_cell", "One step of a gru.",
        attrs_of<GruCellAttrs>(
            {field<&GruCellAttrs::activations>("activations", "Functions of gates; empty: the usual ones."),
             field<&GruCellAttrs::reset_after>("reset_after", "The reset gate acts after R h + Rb.")}),
        [](InferCall& c) { return infer_cell(c, c.attr<GruCellAttrs>().activations, 3, kGruKinds, 1); },
        typed<float, double>([]<class T>(Call& c) -> Status {
          const auto& a = c.attr<GruCellAttrs>();
          return run_cell<T>(c, words_of(a), 3, kGruKinds, GruStep{a.reset_after}, false);
        }),
        "gruCell"),
    lstm_cell(),
};
}  // namespace

std::span<const OpDef> recurrent_ops() { return stored<kRecurrentOps>(); }

}  // namespace nnex
