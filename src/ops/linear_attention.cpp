// Attention by a state that is carried from token to token instead of by all pairs of them.

#include <cmath>
#include <cstring>

#include "base/copy_bytes.h"
#include "ops/attention.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

enum LinearPort : size_t { kLinearQ, kLinearK, kLinearV, kLinearPast, kLinearDecay, kLinearBeta };

bool decays(StateRule r) { return r == StateRule::gated || r == StateRule::gated_delta; }
bool corrects(StateRule r) { return r == StateRule::delta || r == StateRule::gated_delta; }

Status check_rule(const InferCall& c, const LinearAttentionAttrs& a) {
  if (a.q_heads <= 0 || a.kv_heads <= 0 || a.q_heads % a.kv_heads != 0)
    return c.error("q_heads = {} cannot share kv_heads = {} in equal groups", a.q_heads, a.kv_heads);
  const std::string_view rule = enumerators(a.rule)[static_cast<size_t>(a.rule)];
  if (c.has(kLinearDecay) != decays(a.rule))
    return c.error("rule '{}' {} decay", rule, decays(a.rule) ? "needs" : "takes no");
  if (c.has(kLinearBeta) != corrects(a.rule))
    return c.error("rule '{}' {} beta", rule, corrects(a.rule) ? "needs" : "takes no");
  return {};
}

/// heads * depth numbers a position cut into heads; unknown where the rank is.
Result<Dim> depth_of(InferCall& c, size_t i, int64_t heads) {
  if (!c.dims(i)) return c.unknown();
  const Dim& numbers = c.dims(i)->back();
  if (numbers.is_number() && numbers.value() % heads != 0)
    return c.error("{} has {} numbers a position; needed a multiple of {} heads", c.op().inputs[i].name,
                   numbers.value(), heads);
  return floor_div(numbers, Dim(heads));
}

/// The last axis of decay and beta: one number for all heads (beta), a head, or a number of a head's key (decay).
Status check_gate(const InferCall& c, size_t i, const Dim& one, const Dim& other) {
  if (!c.has(i) || !c.dims(i)) return {};
  const Dim& n = c.dims(i)->back();
  if (!n.is_number() || !one.is_number() || !other.is_number()) return {};
  if (n.value() != one.value() && n.value() != other.value())
    return c.error("{} has {} numbers a position; needed {} or {}", c.op().inputs[i].name, n.value(), one.value(),
                   other.value());
  return {};
}

Status infer_linear_attention(InferCall& c) {
  const auto& a = c.attr<LinearAttentionAttrs>();
  NNEX_TRY(check_rule(c, a));
  Dim batch = c.unknown(), positions = c.unknown();
  for (size_t i : {kLinearQ, kLinearK, kLinearV, kLinearDecay, kLinearBeta}) {
    if (!c.has(i)) continue;
    NNEX_TRY(need_rank(c, i, 3));
    if (!c.dims(i)) continue;
    const std::string_view name = c.op().inputs[i].name;
    NNEX_ASSIGN(batch, meet(c, (*c.dims(i))[0], batch, fmt::format("batches of {}", name)));
    NNEX_ASSIGN(positions, meet(c, (*c.dims(i))[1], positions, fmt::format("positions of {}", name)));
  }
  NNEX_ASSIGN(Dim depth, depth_of(c, kLinearQ, a.q_heads));
  NNEX_ASSIGN(Dim of_k, depth_of(c, kLinearK, a.kv_heads));
  NNEX_ASSIGN(depth, meet(c, of_k, depth, "numbers in a head of k"));
  NNEX_ASSIGN(Dim value_depth, depth_of(c, kLinearV, a.kv_heads));
  if (c.has(kLinearPast)) {
    NNEX_TRY(need_rank(c, kLinearPast, 4));
    if (c.dims(kLinearPast)) {
      const Dims& past = *c.dims(kLinearPast);
      NNEX_ASSIGN(batch, meet(c, past[0], batch, "batches of past"));
      NNEX_TRY(meet(c, past[1], Dim(a.kv_heads), "heads of past"));
      NNEX_ASSIGN(depth, meet(c, past[2], depth, "rows of past"));
      NNEX_ASSIGN(value_depth, meet(c, past[3], value_depth, "columns of past"));
    }
  }
  NNEX_TRY(check_gate(c, kLinearDecay, Dim(a.kv_heads), Dim(a.kv_heads) * depth));
  NNEX_TRY(check_gate(c, kLinearBeta, Dim(a.kv_heads), Dim(1)));
  c.result(0, Dims{batch, positions, Dim(a.q_heads) * value_depth});
  c.result(1, c.has(kLinearPast) ? c.dtype(kLinearPast) : c.dtype(kLinearQ),
           Dims{batch, Dim(a.kv_heads), depth, value_depth});
  return {};
}

/// The recurrence of one batch and key head, over all positions. Strides count elements from one position to the next.
template <class T>
struct Recurrence {
  const LinearAttentionAttrs& a;
  int64_t positions = 0, depth = 0, value_depth = 0, group = 0;
  T scale = 0;
  const T *q = nullptr, *k = nullptr, *v = nullptr, *decay = nullptr, *beta = nullptr;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0, decay_stride = 0, beta_stride = 0;
  bool decay_each = false;  ///< A decay for each number of the key, not one for the head.
  T* y = nullptr;           ///< Steps by y_stride.
  int64_t y_stride = 0;

  /// state: [depth, value_depth], in and out; change: value_depth numbers of scratch.
  void run(T* state, T* change) const {
    for (int64_t t = 0; t < positions; ++t) {
      const T *const key = k + t * k_stride, *const value = v + t * v_stride;
      if (decay) fade(state, decay + t * decay_stride);
      for (int64_t m = 0; m < value_depth; ++m) change[m] = 0;
      if (beta) read(state, key, change);
      for (int64_t m = 0; m < value_depth; ++m)
        change[m] = beta ? beta[t * beta_stride] * (value[m] - change[m]) : value[m];
      for (int64_t d = 0; d < depth; ++d)
        for (int64_t m = 0; m < value_depth; ++m) state[d * value_depth + m] += key[d] * change[m];
      for (int64_t g = 0; g < group; ++g) {
        T* const to = y + t * y_stride + g * value_depth;
        for (int64_t m = 0; m < value_depth; ++m) to[m] = 0;
        read(state, q + t * q_stride + g * depth, to);
        for (int64_t m = 0; m < value_depth; ++m) to[m] *= scale;
      }
    }
  }

 private:
  void fade(T* state, const T* by) const {
    T factor = std::exp(by[0]);
    for (int64_t d = 0; d < depth; ++d) {
      if (decay_each) factor = std::exp(by[d]);
      for (int64_t m = 0; m < value_depth; ++m) state[d * value_depth + m] *= factor;
    }
  }

  /// to += row * state.
  void read(const T* state, const T* row, T* to) const {
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t m = 0; m < value_depth; ++m) to[m] += row[d] * state[d * value_depth + m];
  }
};

template <class T>
Status run_recurrence(Call& c) {
  const auto& a = c.attr<LinearAttentionAttrs>();
  Tensor in[6];
  for (size_t i = 0; i < 6; ++i)
    if (c.has(i)) {
      NNEX_ASSIGN(in[i], convert(c.in(i), dtype_for<T>));
    }
  const int64_t batch = in[kLinearQ].shape()[0], positions = in[kLinearQ].shape()[1];
  Recurrence<T> r{a, positions};
  r.depth = in[kLinearQ].shape()[2] / a.q_heads, r.value_depth = in[kLinearV].shape()[2] / a.kv_heads;
  r.group = a.q_heads / a.kv_heads;
  r.scale = static_cast<T>(a.scale != 0 ? a.scale : r.depth ? 1 / std::sqrt(static_cast<double>(r.depth)) : 1);
  r.q_stride = a.q_heads * r.depth, r.k_stride = a.kv_heads * r.depth, r.v_stride = a.kv_heads * r.value_depth;
  r.y_stride = a.q_heads * r.value_depth;
  if (c.has(kLinearDecay)) r.decay_stride = in[kLinearDecay].shape()[2], r.decay_each = r.decay_stride != a.kv_heads;
  if (c.has(kLinearBeta)) r.beta_stride = in[kLinearBeta].shape()[2];
  const int64_t state_count = r.depth * r.value_depth;
  NNEX_ASSIGN(Tensor y, Tensor::make(dtype_for<T>, Shape{batch, positions, r.y_stride}));
  NNEX_ASSIGN(Tensor state, Tensor::make(dtype_for<T>, Shape{batch, a.kv_heads, r.depth, r.value_depth}));
  for (int64_t i = 0; i < state.count(); ++i)
    state.mutable_as<T>()[static_cast<size_t>(i)] =
        c.has(kLinearPast) ? in[kLinearPast].as<T>()[static_cast<size_t>(i)] : T(0);
  std::vector<T> change(static_cast<size_t>(r.value_depth));
  const auto data = [&](LinearPort p) { return in[p].as<T>().data(); };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < a.kv_heads; ++h) {
      const int64_t at = b * positions;
      r.q = data(kLinearQ) + at * r.q_stride + h * r.group * r.depth;
      r.k = data(kLinearK) + at * r.k_stride + h * r.depth;
      r.v = data(kLinearV) + at * r.v_stride + h * r.value_depth;
      if (c.has(kLinearDecay)) r.decay = data(kLinearDecay) + at * r.decay_stride + h * (r.decay_each ? r.depth : 1);
      if (c.has(kLinearBeta)) r.beta = data(kLinearBeta) + at * r.beta_stride + (r.beta_stride == 1 ? 0 : h);
      r.y = y.mutable_as<T>().data() + at * r.y_stride + h * r.group * r.value_depth;
      r.run(state.mutable_as<T>().data() + (b * a.kv_heads + h) * state_count, change.data());
    }
  const Tensor made[] = {y, state};
  const DType types[] = {c.in(kLinearQ).dtype(),
                         c.has(kLinearPast) ? c.in(kLinearPast).dtype() : c.in(kLinearQ).dtype()};
  for (size_t o = 0; o < 2; ++o) {
    if (!c.wants(o)) continue;
    NNEX_ASSIGN(Tensor narrow, convert(made[o], types[o]));
    NNEX_ASSIGN(Tensor * to, c.make(o, types[o], narrow.shape()));
    copy_bytes(to->mutable_data(), narrow.data(), narrow.bytes());
  }
  return {};
}

Status run_linear_attention(Call& c) {
  return c.in(kLinearQ).dtype() == DType::f64 ? run_recurrence<double>(c) : run_recurrence<float>(c);
}

constexpr OpRow kLinearAttentionOps[] = {
    {.name = "linear_attention",
     .summary = "Attention by a state of keys times values that every token changes and every query reads.",
     .source = "ONNX LinearAttention-27",
     .inputs = {{.name = "q", .type = kF, .doc = "[batch, positions, q_heads * depth]."},
                {"k", same_type_as("q")},
                {"v", same_type_as("q")},
                {.name = "past", .type = kF, .arity = Arity::optional, .doc = "[batch, kv_heads, depth, value depth]."},
                {.name = "decay",
                 .type = kF,
                 .arity = Arity::optional,
                 .doc = "Logarithm of what is kept of the state: for each head, or each number of its key."},
                {.name = "beta", .type = kF, .arity = Arity::optional, .doc = "Rate of the change, for each head."}},
     .outputs = {{"y", same_type_as("q")}, {"state", kF, Arity::optional}},
     .attrs = attrs_of<LinearAttentionAttrs>(
         {field<&LinearAttentionAttrs::q_heads>("q_heads", "Heads of q.", required),
          field<&LinearAttentionAttrs::kv_heads>("kv_heads", "Heads of k and v.", required),
          field<&LinearAttentionAttrs::scale>("scale", "Of what is read; 0: 1 / sqrt(depth)."),
          field<&LinearAttentionAttrs::rule>("rule", "How a token changes the state."),
          field<&LinearAttentionAttrs::chunk_size>("chunk_size",
                                                   "A hint of the author; results do not depend on it.")}),
     .infer = infer_linear_attention,
     .reference = any(run_linear_attention),
     .spelled = {{onnx,
                  "LinearAttention",
                  {{"q_heads", "q_num_heads"}, {"kv_heads", "kv_num_heads"}, {"rule", "update_rule"}},
                  27}}},
};
}  // namespace

std::span<const OpDef> linear_attention_ops() { return stored<kLinearAttentionOps>(); }

}  // namespace nnex
