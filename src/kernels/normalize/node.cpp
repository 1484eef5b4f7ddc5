// Normalisation nodes. Against the reference kernels, which add in another order, results differ by a few roundings of
// the largest terms: x and the mean, both by the deviation.

#include "ops/norm.h"

#include <cmath>
#include <limits>

#include "base/split.h"
#include "kernels/elementwise/chain.h"
#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "kernels/normalize/normalize.h"
#include "kernels/reduce/reduce.h"
#include "ops/reduction.h"

namespace nnex::kernels {
namespace {

const float* optional_input(const Call& c, size_t i) { return c.has(i) ? c.in<float>(i).data() : nullptr; }

// ---- Layer, RMS: rows

class RowNorm : public Kernel {
 public:
  RowNorm(const simd::Loops& loops, int64_t rows, int64_t n, double epsilon, bool centred)
      : loops_(loops), rows_(rows), n_(n), epsilon_(static_cast<float>(epsilon)), centred_(centred) {}
  bool in_place(size_t input) const override { return input == 0; }
  Status run(Call& c) const override {
    Normalize what;
    what.x = c.in<float>(0).data();
    what.scale = optional_input(c, 1);
    what.offset = optional_input(c, 2);
    what.y = c.out<float>(0).data();
    if (c.wants(1)) what.mean = c.out<float>(1).data();
    if (c.wants(2)) what.inv_std = c.out<float>(2).data();
    what.epsilon = epsilon_;
    what.centred = centred_;
    normalize_rows(loops_, *c.team, what, rows_, n_);
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t rows_, n_;
  float epsilon_;
  bool centred_;
};

/// Whether the parameter at a port (absent: yes) has one number for each element of the marked axes, in x's order.
bool has_each(const KernelRequest& r, size_t port, const std::vector<bool>& marked) {
  if (!r.has(port)) return true;
  const Shape &x = r.in[0].shape, &p = r.in[port].shape;
  const int64_t missing = x.rank() - p.rank();
  if (missing < 0) return false;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t extent = axis < missing ? 1 : p[axis - missing];
    if (extent != (marked[static_cast<size_t>(axis)] ? x[axis] : 1)) return false;
  }
  return true;
}

/// The last axes, scale and offset of their extents.
template <bool centred>
Result<std::unique_ptr<Kernel>> make_rows(const KernelRequest& r) {
  const auto& a = r.attr<LayerNormAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.stash != DType::f32 || x.count() == 0) return nullptr;
  NNEX_ASSIGN(auto marked, reduced_axes(r.op.name, a.axes, x.rank(), {true, false, a.to_end}));
  const auto m = middle_of(x, marked);
  if (!m || m->inner != 1 || !has_each(r, 1, marked) || !has_each(r, 2, marked)) return nullptr;
  return made<RowNorm>(r.loops, m->outer, m->n, a.epsilon, centred);
}

// ---- Instance, group: runs of channels

class GroupNorm : public Kernel {
 public:
  GroupNorm(const simd::Loops& loops, const Shape& x, int64_t groups, double epsilon)
      : loops_(loops), batch_(x[0]), channels_(x[1]), groups_(groups), epsilon_(static_cast<float>(epsilon)) {
    for (int64_t i = 2; i < x.rank(); ++i) inner_ *= x[i];
  }
  bool in_place(size_t input) const override { return input == 0; }
  Status run(Call& c) const override {
    normalize_groups(loops_, *c.team, c.in<float>(0).data(), optional_input(c, 1), optional_input(c, 2),
                     c.out<float>(0).data(), batch_, channels_, inner_, groups_, epsilon_);
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t batch_, channels_, inner_ = 1, groups_;
  float epsilon_;
};

Result<std::unique_ptr<Kernel>> make_instance(const KernelRequest& r) {
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || x.count() == 0) return nullptr;
  return made<GroupNorm>(r.loops, x, x[1], r.attr<InstanceNormAttrs>().epsilon);
}

Result<std::unique_ptr<Kernel>> make_group(const KernelRequest& r) {
  const auto& a = r.attr<GroupNormAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.stash != DType::f32 || x.count() == 0 || x[1] % a.groups != 0) return nullptr;
  return made<GroupNorm>(r.loops, x, a.groups, a.epsilon);
}

// ---- Batch: a factor and a shift for each channel

enum : size_t { kX, kMean, kVariance, kOffset, kScale };  // ports of batch_normalization

/// y = x factor + shift, with factor = scale / sqrt(variance + epsilon), shift = offset - mean factor; both are
/// computed in double and rounded once.
class BatchNorm : public Kernel {
 public:
  BatchNorm(const simd::Loops& loops, const Middle& shape, double epsilon)
      : loops_(loops), shape_(shape), epsilon_(epsilon) {
    if (shape.inner > 1) return;
    const int64_t whole[] = {shape.outer, shape.n}, each[] = {shape.n};
    const std::span<const int64_t> inputs[] = {whole, each, each};
    const ChainStep steps[] = {{.a = 0, .b = 1, .binary = BinaryKind::mul}, {.a = 3, .b = 2}};
    rows_ = Chain::make(whole, inputs, steps);
  }

  /// Parameters that never change: the factors are made now. Error: limit.
  Status fix(const KernelRequest& r) {
    const float* at[5] = {};
    Tensor held[5];
    for (size_t i : {kMean, kVariance, kOffset, kScale}) {
      if (!r.has(i)) continue;
      NNEX_ASSIGN(held[i], r.in[i].constant->aligned_copy());
      at[i] = held[i].as<float>().data();
    }
    fixed_.resize(2 * static_cast<size_t>(shape_.n));
    fill(at, fixed_.data());
    return {};
  }

  bool in_place(size_t input) const override { return input == kX; }
  bool packed(size_t input) const override { return input != kX && !fixed_.empty(); }
  int64_t workspace() const override { return fixed_.empty() ? 8 * shape_.n : 0; }

  Status run(Call& c) const override {
    const float* factors = fixed_.data();
    if (fixed_.empty()) {
      const float* at[5] = {};
      for (size_t i : {kMean, kVariance, kOffset, kScale}) at[i] = optional_input(c, i);
      auto* made = reinterpret_cast<float*>(c.workspace);
      fill(at, made);
      factors = made;
    }
    const float *x = c.in<float>(kX).data(), *shifts = factors + shape_.n;
    float* y = c.out<float>(0).data();
    if (rows_) {
      const float* const inputs[] = {x, factors, shifts};
      rows_->run(loops_, *c.team, inputs, y);
      return {};
    }
    const int64_t inner = shape_.inner;
    split(*c.team, shape_.outer * shape_.n, shape_.outer * shape_.n * inner * 8, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t channel = row % shape_.n;
        loops_.unary_f32({UnaryKind::affine, factors[channel], shifts[channel]}, x + row * inner, y + row * inner,
                         static_cast<size_t>(inner));
      }
    });
    return {};
  }

 private:
  void fill(const float* const (&at)[5], float* to) const {
    for (int64_t i = 0; i < shape_.n; ++i) {
      const double scale = at[kScale] ? at[kScale][i] : 1, offset = at[kOffset] ? at[kOffset][i] : 0;
      const double factor = scale / std::sqrt(at[kVariance][i] + epsilon_);
      to[i] = static_cast<float>(factor);
      to[shape_.n + i] = static_cast<float>(offset - at[kMean][i] * factor);
    }
  }

  const simd::Loops& loops_;
  Middle shape_;
  double epsilon_;
  std::optional<Chain> rows_;  // where channels lie side by side
  std::vector<float> fixed_;   // factors, then shifts
};

Result<std::unique_ptr<Kernel>> make_batch_norm(const KernelRequest& r) {
  const auto& a = r.attr<BatchNormAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.training || x.count() == 0) return nullptr;
  for (size_t o = 1; o < r.out.size(); ++o)
    if (r.out[o].given()) return nullptr;
  bool constant = true;
  for (size_t i = 1; i < r.in.size(); ++i) constant &= !r.in[i].given() || r.in[i].constant;
  auto kernel = std::make_unique<BatchNorm>(r.loops, middle_of(x, a.axis), a.epsilon);
  if (constant) NNEX_TRY(kernel->fix(r));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

// ---- Local response: a window along one axis

class LocalResponseKernel : public Kernel {
 public:
  LocalResponseKernel(const simd::Loops& loops, const LocalResponse& what, const Middle& shape)
      : loops_(loops), what_(what), shape_(shape) {}
  Status run(Call& c) const override {
    local_response(loops_, *c.team, what_, c.in<float>(0).data(), c.out<float>(0).data(), shape_.outer, shape_.n,
                   shape_.inner);
    return {};
  }

 private:
  const simd::Loops& loops_;
  LocalResponse what_;
  Middle shape_;
};

Result<std::unique_ptr<Kernel>> make_local_response(const KernelRequest& r) {
  const auto& a = r.attr<LocalResponseNormAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || x.count() == 0 || x.rank() == 0) return nullptr;
  int64_t axis = -1, window = 1;
  for (size_t i = 0; i < a.size.size(); ++i) {
    if (a.size[i] == 1) continue;
    if (axis >= 0) return nullptr;
    axis = static_cast<int64_t>(i), window = a.size[i];
  }
  if (window > 257) return nullptr;
  LocalResponse what;
  what.factor = static_cast<float>(a.alpha / static_cast<double>(window));
  what.beta = static_cast<float>(a.beta), what.bias = static_cast<float>(a.bias);
  what.before = (window - 1) / 2, what.after = window - 1 - what.before;
  return made<LocalResponseKernel>(r.loops, what, middle_of(x, axis));
}

// ---- Norms of axes

class LpNorm : public Kernel {
 public:
  LpNorm(const simd::Loops& loops, ReduceKind kind, const LpNormAttrs& a, const Middle& shape, const Chain& divide)
      : loops_(loops),
        kind_(kind),
        bias_(static_cast<float>(a.bias)),
        min_(static_cast<float>(a.epsilon)),
        at_zero_(a.at_zero == AtZero::zero ? std::numeric_limits<float>::infinity() : 0.0F),
        shape_(shape),
        divide_(divide) {}
  bool in_place(size_t) const override { return true; }
  int64_t workspace() const override { return 4 * shape_.outer * shape_.inner; }
  Status run(Call& c) const override {
    const float* x = c.in<float>(0).data();
    auto* by = reinterpret_cast<float*>(c.workspace);
    reduce_middle(loops_, *c.team, kind_, x, by, shape_.outer, shape_.n, shape_.inner);
    for (int64_t i = 0; i < shape_.outer * shape_.inner; ++i) {
      const float norm = by[i] + bias_;
      by[i] = norm > min_ || (at_zero_ != 0 && norm != norm) ? norm : min_;  // ONNX's NaN stays
      if (by[i] == 0) by[i] = at_zero_;
    }
    const float* const inputs[] = {x, by};
    divide_.run(loops_, *c.team, inputs, c.out<float>(0).data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  ReduceKind kind_;
  float bias_, min_;
  float at_zero_;  // what divides where the norm is 0: infinity makes the quotients 0
  Middle shape_;
  Chain divide_;
};

template <ReduceKind kind>
Result<std::unique_ptr<Kernel>> make_lp_norm(const KernelRequest& r) {
  const auto& a = r.attr<LpNormAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || x.count() == 0) return nullptr;
  NNEX_ASSIGN(auto marked, reduced_axes(r.op.name, a.axes, x.rank(), {}));
  const auto m = middle_of(x, marked);
  if (!m) return nullptr;
  const int64_t whole[] = {m->outer, m->n, m->inner}, norms[] = {m->outer, 1, m->inner};
  const std::span<const int64_t> inputs[] = {whole, norms};
  const ChainStep step = {.a = 0, .b = 1, .binary = BinaryKind::div};
  const auto divide = Chain::make(whole, inputs, {&step, 1});
  if (!divide) return nullptr;
  return made<LpNorm>(r.loops, kind, a, *m, *divide);
}

constexpr KernelDef kNormKernels[] = {
    {"layer_normalization", "layer_norm_f32", make_rows<true>},
    {"rms_normalization", "rms_norm_f32", make_rows<false>},
    {"instance_normalization", "instance_norm_f32", make_instance},
    {"group_normalization", "group_norm_f32", make_group},
    {"batch_normalization", "batch_norm_f32", make_batch_norm},
    {"local_response_normalization", "local_response_f32", make_local_response},
    {"l2_normalization", "lp_norm_f32", make_lp_norm<ReduceKind::l2>},
    {"l1_normalization", "lp_norm_f32", make_lp_norm<ReduceKind::sum_abs>},
};

}  // namespace

std::span<const KernelDef> norm_kernels() { return built<kNormKernels>(); }

}  // namespace nnex::kernels
