// Reductions, and positions of extremes on float32. Sums of floats add 16 at a time where the reference adds in pairs:
// results differ by a few roundings of the sum of magnitudes. Whole numbers, extremes and positions are equal.

#include "kernels/reduce/reduce.h"

#include <algorithm>

#include "base/built.h"
#include "base/checked.h"
#include "base/split.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "ops/reduce.h"
#include "ops/reduction.h"
#include "ops/softmax.h"

namespace nnex::kernels {
namespace {

template <class T>
class FoldKernel : public Kernel {
 public:
  FoldKernel(const simd::Loops& loops, const AxisFold& fold, bool logarithm)
      : loops_(loops), fold_(fold), logarithm_(logarithm) {}
  int64_t workspace() const override { return fold_.workspace(sizeof(T)); }
  Status run(Call& c) const override {
    T* y = c.out<T>(0).data();
    fold_.run(loops_, *c.team, c.in<T>(0).data(), y, c.workspace);
    if constexpr (std::is_same_v<T, float>)
      if (logarithm_) unary_map(loops_, *c.team, {UnaryKind::log}, y, y, c.out(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  AxisFold fold_;
  bool logarithm_;
};

/// The mean of int32, which is that of a wider sum.
class WideMeanKernel : public Kernel {
 public:
  WideMeanKernel(const simd::Loops& loops, const AxisFold& fold, int64_t in, int64_t out)
      : loops_(loops), fold_(fold), in_(round_up(in, 8)), out_(round_up(out, 8)) {}
  int64_t workspace() const override { return (in_ + out_) * 8 + fold_.workspace(8); }
  Status run(Call& c) const override {
    auto* const x = reinterpret_cast<int64_t*>(c.workspace);
    int64_t* const y = x + in_;
    cast_i32_to_i64(*c.team, c.in<int32_t>(0).data(), x, c.in(0).count());
    fold_.run(loops_, *c.team, x, y, y + out_);
    cast_i64_to_i32(*c.team, y, c.out<int32_t>(0).data(), c.out(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  AxisFold fold_;
  int64_t in_, out_;  ///< Elements of both, widened.
};

/// Whether whole numbers of the type have the fold.
bool folds_whole(DType type, ReduceKind kind) {
  const bool extreme = kind == ReduceKind::max || kind == ReduceKind::min;
  if (type == DType::u8 || type == DType::i8) return extreme;
  if (type == DType::i32) return extreme || kind == ReduceKind::sum || kind == ReduceKind::mean;
  return type == DType::i64 && (extreme || kind == ReduceKind::sum || kind == ReduceKind::mean);
}

template <class... T>
Result<std::unique_ptr<Kernel>> fold_kernel(const KernelRequest& r, const AxisFold& fold, bool logarithm) {
  std::unique_ptr<Kernel> kernel;
  const auto offer = [&]<class E>(E) {
    if (runs_on(dtype_for<E>) && r.in[0].dtype == dtype_for<E>)
      kernel = std::make_unique<FoldKernel<E>>(r.loops, fold, logarithm);
  };
  (..., offer(T()));
  return kernel;
}

/// Axes that are known while planning. Error: invalid_model where they do not fit x.
Result<std::unique_ptr<Kernel>> make_fold(const KernelRequest& r, ReduceKind kind, const ReduceRule& rule,
                                          bool logarithm = false) {
  const Shape& x = r.in[0].shape;
  const DType type = r.in[0].dtype;
  const bool has_loops = type == DType::f32 || (!logarithm && (type == DType::f64 || folds_whole(type, kind)));
  if (!has_loops || r.out[0].dtype != type || x.count() == 0) return nullptr;
  if (r.has(1) && !r.in[1].content) return nullptr;
  std::vector<bool> gone(static_cast<size_t>(x.rank()), true);
  if (r.has(1)) {
    NNEX_ASSIGN(gone, reduced_axes(r.op.name, ints_of(*r.in[1].content), x.rank(), rule));
  }
  Ints axes;
  for (size_t i = 0; i < gone.size(); ++i)
    if (gone[i]) axes.push_back(static_cast<int64_t>(i));
  const AxisFold fold(kind, x.extents(), axes);
  if (!fold.ok()) return nullptr;
  if (type == DType::i32 && kind == ReduceKind::mean) {
    if (!runs_on(DType::i32) || !runs_on(DType::i64)) return nullptr;
    return made<WideMeanKernel>(r.loops, fold, x.count(), r.out[0].shape.count());
  }
  return fold_kernel<float, double, int32_t, int64_t, uint8_t, int8_t>(r, fold, logarithm);
}

template <ReduceKind kind, bool logarithm = false>
Result<std::unique_ptr<Kernel>> make_reduce(const KernelRequest& r) {
  const auto& a = r.attr<ReduceAttrs>();
  return make_fold(r, kind, {a.keepdims, a.when_empty == WhenEmpty::all, a.to_end}, logarithm);
}

template <ReduceKind kind>
Result<std::unique_ptr<Kernel>> make_extreme(const KernelRequest& r) {
  const auto& a = r.attr<ExtremeAttrs>();
  if (a.initial) return nullptr;
  return make_fold(r, kind, {a.keepdims, a.when_empty == WhenEmpty::all, a.to_end});
}

class LogSumExpKernel : public Kernel {
 public:
  LogSumExpKernel(const simd::Loops& loops, int64_t rows, int64_t n) : loops_(loops), rows_(rows), n_(n) {}
  Status run(Call& c) const override {
    const float* const x = c.in<float>(0).data();
    float* const y = c.out<float>(0).data();
    split(*c.team, rows_, rows_ * n_ * 16, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = loops_.log_sum_exp_f32(x + i * n_, static_cast<size_t>(n_));
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t rows_, n_;
};

/// Of the last axes, which are known while planning.
Result<std::unique_ptr<Kernel>> make_log_sum_exp(const KernelRequest& r) {
  const auto& a = r.attr<ReduceAttrs>();
  const Shape& x = r.in[0].shape;
  const bool floats = r.in[0].dtype == DType::f32 && r.out[0].dtype == DType::f32;
  if (!floats || x.count() == 0 || (r.has(1) && !r.in[1].content)) return nullptr;
  std::vector<bool> gone(static_cast<size_t>(x.rank()), true);
  if (r.has(1)) {
    const ReduceRule rule{a.keepdims, a.when_empty == WhenEmpty::all, a.to_end};
    NNEX_ASSIGN(gone, reduced_axes(r.op.name, ints_of(*r.in[1].content), x.rank(), rule));
  }
  const auto m = middle_of(x, gone);
  if (!m || m->inner != 1) return nullptr;
  return made<LogSumExpKernel>(r.loops, m->outer, m->n);
}

class ArgKernel : public Kernel {
 public:
  ArgKernel(const simd::Loops& loops, const Middle& shape, bool greatest, bool last, bool narrow)
      : loops_(loops), shape_(shape), greatest_(greatest), last_(last), narrow_(narrow) {}
  int64_t workspace() const override { return narrow_ ? 8 * shape_.outer * shape_.inner : 0; }
  Status run(Call& c) const override {
    auto* at = narrow_ ? reinterpret_cast<int64_t*>(c.workspace) : c.out<int64_t>(0).data();
    arg_extreme(loops_, *c.team, greatest_, last_, c.in<float>(0).data(), at, shape_.outer, shape_.n, shape_.inner);
    if (narrow_) {
      auto y = c.out<int32_t>(0);
      for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int32_t>(at[i]);
    }
    return {};
  }

 private:
  const simd::Loops& loops_;
  Middle shape_;
  bool greatest_, last_;
  bool narrow_;  // to i32
};

/// Axes that stand together; the index is row-major among them.
template <bool greatest>
Result<std::unique_ptr<Kernel>> make_arg(const KernelRequest& r) {
  const auto& a = r.attr<ArgReduceAttrs>();
  const Shape& x = r.in[0].shape;
  const DType to = r.out[0].dtype;
  if (r.in[0].dtype != DType::f32 || (to != DType::i64 && to != DType::i32) || x.count() == 0) return nullptr;
  NNEX_ASSIGN(auto gone, reduced_axes(r.op.name, a.axes, x.rank(), {a.keepdims, false, false}));
  const auto m = middle_of(x, gone);
  if (!m || m->n > INT32_MAX) return nullptr;
  return made<ArgKernel>(r.loops, *m, greatest, a.ties == Ties::last, to == DType::i32);
}

/// 1 where the greatest stands, else 0.
class HardmaxKernel : public Kernel {
 public:
  HardmaxKernel(const simd::Loops& loops, const Middle& shape) : loops_(loops), shape_(shape) {}
  int64_t workspace() const override { return 8 * shape_.outer * shape_.inner; }
  Status run(Call& c) const override {
    auto* at = reinterpret_cast<int64_t*>(c.workspace);
    const int64_t n = shape_.n, inner = shape_.inner;
    arg_extreme(loops_, *c.team, true, false, c.in<float>(0).data(), at, shape_.outer, n, inner);
    float* y = c.out<float>(0).data();
    split(*c.team, shape_.outer, shape_.outer * n * inner * 4, 1, [&](int64_t begin, int64_t end) {
      std::fill(y + begin * n * inner, y + end * n * inner, 0.0F);
      for (int64_t o = begin; o < end; ++o)
        for (int64_t i = 0; i < inner; ++i) y[(o * n + at[o * inner + i]) * inner + i] = 1;
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  Middle shape_;
};

/// One axis, or one axis and all after it.
Result<std::unique_ptr<Kernel>> make_hardmax(const KernelRequest& r) {
  const auto& a = r.attr<SoftmaxAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.axes.size() != 1 || x.count() == 0) return nullptr;
  Middle m = middle_of(x, a.axes[0]);
  if (a.to_end) m.n *= m.inner, m.inner = 1;
  if (m.n > INT32_MAX) return nullptr;
  return made<HardmaxKernel>(r.loops, m);
}

constexpr KernelDef kReduceKernels[] = {
    {"sum_reduce", "reduce", make_reduce<ReduceKind::sum>},
    {"mean_reduce", "reduce", make_reduce<ReduceKind::mean>},
    {"reduce_prod", "reduce", make_reduce<ReduceKind::product>},
    {"reduce_l1", "reduce", make_reduce<ReduceKind::sum_abs>},
    {"reduce_l2", "reduce", make_reduce<ReduceKind::l2>},
    {"reduce_sum_square", "reduce", make_reduce<ReduceKind::sum_squares>},
    {"reduce_log_sum", "reduce", make_reduce<ReduceKind::sum, true>},
    {"reduce_log_sum_exp", "log_sum_exp_f32", make_log_sum_exp},
    {"max_reduce", "reduce", make_extreme<ReduceKind::max>},
    {"min_reduce", "reduce", make_extreme<ReduceKind::min>},
    {"argmax_reduce", "arg_reduce_f32", make_arg<true>},
    {"argmin_reduce", "arg_reduce_f32", make_arg<false>},
    {"hardmax", "hardmax_f32", make_hardmax},
};

}  // namespace

std::span<const KernelDef> reduce_kernels() { return built<kReduceKernels>(); }

}  // namespace nnex::kernels
