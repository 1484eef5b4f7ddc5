// RNN, LSTM and GRU layers with constant weights: one product for all steps' inputs, then one product a step.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/split.h"
#include "kernels/kernel.h"
#include "kernels/product/gemm.h"
#include "ops/recurrent.h"

namespace nnex::kernels {
namespace {

/// One direction's packed weights.
struct OneDirection {
  Packs::Bytes w;        ///< [in, gates * hidden]
  Packs::Bytes r;        ///< [hidden, gates * hidden]; of a GRU its first two gates.
  Packs::Bytes r_third;  ///< Of a GRU the hidden gate's.
  Packs::Bytes bias;     ///< [gates * hidden]: added to the inputs' product; a GRU's recurrent [hidden] bias follows.
};

const float* floats(const Packs::Bytes& b) { return reinterpret_cast<const float*>(b.get()); }

struct LayerShape {
  int64_t steps = 0, batch = 0, in = 0, hidden = 0, gates = 0;
  bool lstm = false, reset_after = false, couples = false, reverse_first = false;
  float clip = 0;
  Unary activation = {};  ///< Of a layer of one gate.

  int64_t columns() const { return gates * hidden; }
  int64_t state() const { return batch * hidden; }
  int64_t inputs_bytes() const { return round_up(steps * batch * columns() * 4, 64); }
  int64_t sums_bytes() const { return round_up(batch * columns() * 4, 64); }
  int64_t state_bytes() const { return round_up(state() * 4, 64); }
};

class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const simd::Loops& loops, const LayerShape& shape, std::vector<OneDirection> directions)
      : loops_(loops), s_(shape), directions_(std::move(directions)) {}

  bool packed(size_t input) const override { return input >= 1 && input <= 3; }
  int64_t workspace() const override { return s_.inputs_bytes() + 2 * s_.sums_bytes() + 3 * s_.state_bytes(); }

  Status run(Call& c) const override {
    for (size_t d = 0; d < directions_.size(); ++d) direction(c, static_cast<int64_t>(d));
    return {};
  }

 private:
  struct Memory {
    float *inputs, *sums, *third, *h, *cells, *reset;
  };

  void direction(Call& c, int64_t d) const {
    std::byte* at = c.workspace;
    const auto take = [&](int64_t bytes) {
      auto* p = reinterpret_cast<float*>(at);
      at += bytes;
      return p;
    };
    Memory m;
    m.inputs = take(s_.inputs_bytes()), m.sums = take(s_.sums_bytes()), m.third = take(s_.sums_bytes());
    m.h = take(s_.state_bytes()), m.cells = take(s_.state_bytes()), m.reset = take(s_.state_bytes());
    start(c, 5, d, m.h);
    if (s_.lstm) start(c, 6, d, m.cells);
    const OneDirection& w = directions_[static_cast<size_t>(d)];
    Gemm inputs{.m = s_.steps * s_.batch, .n = s_.columns(), .k = s_.in, .a = c.in<float>(0).data()};
    inputs.a_row_stride = s_.in, inputs.b = floats(w.w), inputs.c = m.inputs, inputs.c_row_stride = s_.columns();
    inputs.end.bias = floats(w.bias);
    gemm(loops_, *c.team, inputs);
    const bool reverse = d == 1 || s_.reverse_first;
    const int64_t directions = static_cast<int64_t>(directions_.size());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = reverse ? s_.steps - 1 - i : i;
      const float* gates = m.inputs + t * s_.batch * s_.columns();
      if (s_.gates == 1)
        rnn_step(c, w, gates, m);
      else if (s_.lstm)
        lstm_step(c, d, w, gates, m);
      else
        gru_step(c, w, gates, m);
      if (c.wants(0)) std::copy_n(m.h, s_.state(), c.out<float>(0).data() + (t * directions + d) * s_.state());
    }
    if (c.wants(1)) std::copy_n(m.h, s_.state(), c.out<float>(1).data() + d * s_.state());
    if (s_.lstm && c.wants(2)) std::copy_n(m.cells, s_.state(), c.out<float>(2).data() + d * s_.state());
  }

  void start(Call& c, size_t port, int64_t d, float* to) const {
    if (c.has(port))
      std::copy_n(c.in<float>(port).data() + d * s_.state(), s_.state(), to);
    else
      std::fill_n(to, s_.state(), 0.0F);
  }

  /// y[batch, n] = h * r + the inputs' sums of these columns.
  void recurrent(Call& c, const float* h, const float* r, int64_t n, const float* residual, const float* bias, float* y,
                 const Unary& activation = {}) const {
    Gemm g{.m = s_.batch, .n = n, .k = s_.hidden, .a = h};
    g.a_row_stride = s_.hidden, g.b = r, g.c = y, g.c_row_stride = n;
    g.end.residual = residual, g.end.residual_stride = s_.columns(), g.end.bias = bias;
    g.end.activation = activation;
    gemm(loops_, *c.team, g);
  }

  /// Calls step(b) for every row of the batch, whose gates and functions are worth threads where there are many.
  template <class Step>
  void each_row(Call& c, Step step) const {
    constexpr int64_t kCost = 64;  // bytes moved in the time that one state takes
    split(*c.team, s_.batch, s_.state() * kCost, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) step(b);
    });
  }

  void rnn_step(Call& c, const OneDirection& w, const float* gates, Memory& m) const {
    const auto n = static_cast<size_t>(s_.state());
    recurrent(c, m.h, floats(w.r), s_.hidden, gates, nullptr, m.sums, s_.clip > 0 ? Unary{} : s_.activation);
    std::swap(m.h, m.sums);
    if (!(s_.clip > 0)) return;
    loops_.unary_f32({UnaryKind::clamp, -s_.clip, s_.clip}, m.h, m.h, n);
    loops_.unary_f32(s_.activation, m.h, m.h, n);
  }

  void lstm_step(Call& c, int64_t d, const OneDirection& w, const float* gates, Memory& m) const {
    recurrent(c, m.h, floats(w.r), s_.columns(), gates, nullptr, m.sums);
    const float* p = c.has(7) ? c.in<float>(7).data() + d * 3 * s_.hidden : nullptr;
    each_row(c, [&](int64_t b) {
      const float* z = m.sums + b * s_.columns();
      simd::LstmRow row;
      row.z_input = z, row.z_output = z + s_.hidden, row.z_forget = z + 2 * s_.hidden, row.z_cell = z + 3 * s_.hidden;
      if (p) row.p_input = p, row.p_output = p + s_.hidden, row.p_forget = p + 2 * s_.hidden;
      row.c_before = row.c = m.cells + b * s_.hidden;
      row.h = m.h + b * s_.hidden;
      row.clip = s_.clip, row.couples = s_.couples;
      loops_.lstm_f32(row, static_cast<size_t>(s_.hidden));
    });
  }

  void gru_step(Call& c, const OneDirection& w, const float* gates, Memory& m) const {
    const auto n = static_cast<size_t>(s_.hidden);
    recurrent(c, m.h, floats(w.r), 2 * s_.hidden, gates, nullptr, m.sums);
    const float* h = m.h;
    if (!s_.reset_after) {
      for (int64_t b = 0; b < s_.batch; ++b)
        loops_.gru_reset_f32(m.sums + b * 2 * s_.hidden + s_.hidden, m.h + b * s_.hidden, s_.clip,
                             m.reset + b * s_.hidden, n);
      h = m.reset;
    }
    recurrent(c, h, floats(w.r_third), s_.hidden, s_.reset_after ? nullptr : gates + 2 * s_.hidden,
              s_.reset_after ? floats(w.bias) + s_.columns() : nullptr, m.third);
    each_row(c, [&](int64_t b) {
      simd::GruRow row;
      row.z_update = m.sums + b * 2 * s_.hidden, row.z_reset = row.z_update + s_.hidden;
      const float* third = m.third + b * s_.hidden;
      row.z_hidden = s_.reset_after ? gates + b * s_.columns() + 2 * s_.hidden : third;
      if (s_.reset_after) row.r_hidden = third;
      row.h_before = row.h = m.h + b * s_.hidden;
      row.clip = s_.clip;
      loops_.gru_f32(row, n);
    });
  }

  const simd::Loops& loops_;
  LayerShape s_;
  std::vector<OneDirection> directions_;
};

/// Rows [first, first + n) of direction d of a constant [dirs, rows, k], as a right-hand side of k rows and n columns.
Result<Packs::Bytes> packed_rows(const KernelRequest& r, const Operand& w, int64_t d, int64_t first, int64_t n) {
  const int64_t rows = w.shape[1], k = w.shape[2];
  const std::string key = fmt::format("rnn {} {} {} {}", w.id, static_cast<int>(r.loops.isa), d, first);
  return r.packs.get(key, packed_floats(r.loops, k, n) * 4, [&](std::byte* to) {
    pack_b(r.loops, r.team, w.constant->data() + (d * rows + first) * k * 4, k, n, 1, k, reinterpret_cast<float*>(to));
  });
}

/// The biases of direction d as OneDirection wants them.
Result<Packs::Bytes> packed_bias(const KernelRequest& r, const LayerShape& s, int64_t d) {
  const int64_t n = s.columns(), own = !s.reset_after ? n : 2 * s.hidden;
  const std::string key = fmt::format("rnn bias {} {} {}", r.has(3) ? static_cast<int64_t>(r.in[3].id) : -n, d, own);
  return r.packs.get(key, (n + s.hidden) * 4, [&](std::byte* bytes) {
    auto* to = reinterpret_cast<float*>(bytes);
    std::fill_n(to, n + s.hidden, 0.0F);
    if (!r.has(3)) return;
    std::vector<float> b(static_cast<size_t>(2 * n));
    std::memcpy(b.data(), r.in[3].constant->data() + d * 2 * n * 4, b.size() * 4);
    for (int64_t i = 0; i < n; ++i) {
      const float first = b[static_cast<size_t>(i)], second = b[static_cast<size_t>(n + i)];
      to[i] = i < own ? first + second : first;
      if (i >= own) to[n + i - own] = second;
    }
  });
}

template <class A>
bool usual(const A& a, std::initializer_list<std::string_view> words) {
  for (size_t i = 0; i < a.activations.size(); ++i)
    if (a.activations[i] != *(words.begin() + i % words.size())) return false;
  return true;
}

/// Float32, constant weights and biases, the usual functions, rows of one length.
Result<std::unique_ptr<Kernel>> make(const KernelRequest& r, LayerShape s, Direction direction, double clip) {
  for (const Operand& o : r.in)
    if (o.given() && o.dtype != DType::f32) return nullptr;
  if (!r.in[1].constant || !r.in[2].constant || (r.has(3) && !r.in[3].constant) || r.has(4)) return nullptr;
  s.steps = r.in[0].shape[0], s.batch = r.in[0].shape[1], s.in = r.in[0].shape[2], s.hidden = r.in[2].shape[2];
  if (s.steps * s.batch * s.in * s.hidden == 0) return nullptr;
  s.reverse_first = direction == Direction::reverse;
  s.clip = static_cast<float>(clip);
  std::vector<OneDirection> directions;
  for (int64_t d = 0; d < r.in[1].shape[0]; ++d) {
    OneDirection& w = directions.emplace_back();
    NNEX_ASSIGN(w.w, packed_rows(r, r.in[1], d, 0, s.columns()));
    const bool gru = s.gates == 3;
    NNEX_ASSIGN(w.r, packed_rows(r, r.in[2], d, 0, gru ? 2 * s.hidden : s.columns()));
    if (gru) {
      NNEX_ASSIGN(w.r_third, packed_rows(r, r.in[2], d, 2 * s.hidden, s.hidden));
    }
    NNEX_ASSIGN(w.bias, packed_bias(r, s, d));
  }
  return std::unique_ptr<Kernel>(std::make_unique<RecurrentKernel>(r.loops, s, std::move(directions)));
}

Result<std::unique_ptr<Kernel>> make_lstm(const KernelRequest& r) {
  const auto& a = r.attr<LstmAttrs>();
  if (!usual(a, {"sigmoid", "tanh", "tanh"})) return nullptr;
  LayerShape s;
  s.gates = 4, s.lstm = true, s.couples = a.input_forget;
  return make(r, s, a.direction, a.clip.value_or(0));
}

Result<std::unique_ptr<Kernel>> make_gru(const KernelRequest& r) {
  const auto& a = r.attr<GruAttrs>();
  if (!usual(a, {"sigmoid", "tanh"})) return nullptr;
  LayerShape s;
  s.gates = 3, s.reset_after = a.reset_after;
  return make(r, s, a.direction, a.clip.value_or(0));
}

Result<std::unique_ptr<Kernel>> make_rnn(const KernelRequest& r) {
  const auto& a = r.attr<RnnAttrs>();
  LayerShape s;
  s.gates = 1;
  const std::string_view word = a.activations.empty() ? "tanh" : std::string_view(a.activations[0]);
  if (!usual(a, {word})) return nullptr;
  if (word == "tanh")
    s.activation.kind = UnaryKind::tanh;
  else if (word == "relu")
    s.activation.kind = UnaryKind::relu;
  else if (word == "sigmoid")
    s.activation.kind = UnaryKind::sigmoid;
  else
    return nullptr;
  return make(r, s, a.direction, a.clip.value_or(0));
}

constexpr KernelDef kRecurrentKernels[] = {
    {"rnn", "rnn_f32", make_rnn}, {"lstm", "lstm_f32", make_lstm}, {"gru", "gru_f32", make_gru}};

}  // namespace

std::span<const KernelDef> recurrent_kernels() { return built<kRecurrentKernels>(); }

}  // namespace nnex::kernels
