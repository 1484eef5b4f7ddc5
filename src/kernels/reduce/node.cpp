// Reductions and positions of extremes on float32. Sums add 16 at a time where the reference adds in pairs: results
// differ by a few roundings of the sum of magnitudes. Extremes and positions are equal.

#include "kernels/reduce/reduce.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "ops/reduce.h"
#include "ops/reduction.h"

namespace nnex {
namespace {

class FoldKernel : public Kernel {
 public:
  FoldKernel(const simd::Loops& loops, const AxisFold& fold, bool logarithm)
      : loops_(loops), fold_(fold), logarithm_(logarithm) {}
  int64_t workspace() const override { return fold_.workspace(); }
  Status run(Call& c) const override {
    float* y = c.out<float>(0).data();
    fold_.run(loops_, *c.team, c.in<float>(0).data(), y, c.workspace);
    if (logarithm_) unary_map(loops_, *c.team, {UnaryKind::log}, y, y, c.out(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  AxisFold fold_;
  bool logarithm_;
};

struct NamedFold {
  std::string_view op;
  ReduceKind kind;
};
constexpr NamedFold kFolds[] = {{"sum_reduce", ReduceKind::sum},      {"mean_reduce", ReduceKind::mean},
                                {"reduce_prod", ReduceKind::product}, {"reduce_l1", ReduceKind::sum_abs},
                                {"reduce_l2", ReduceKind::l2},        {"reduce_sum_square", ReduceKind::sum_squares},
                                {"reduce_log_sum", ReduceKind::sum}};

/// Axes that are known while planning. Error: invalid_model where they do not fit x.
Result<std::unique_ptr<Kernel>> make_fold(const KernelRequest& r, ReduceKind kind, const ReduceRule& rule) {
  const Shape& x = r.in[0].shape;
  if (r.in[0].dtype != DType::f32 || r.out[0].dtype != DType::f32 || x.count() == 0) return nullptr;
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
  return made<FoldKernel>(r.loops, fold, r.op.name == "reduce_log_sum");
}

Result<std::unique_ptr<Kernel>> make_reduce(const KernelRequest& r) {
  const auto& a = r.attr<ReduceAttrs>();
  for (const NamedFold& f : kFolds)
    if (f.op == r.op.name) return make_fold(r, f.kind, {a.keepdims, a.when_empty == WhenEmpty::all, a.to_end});
  return nullptr;
}

Result<std::unique_ptr<Kernel>> make_extreme(const KernelRequest& r) {
  const auto& a = r.attr<ExtremeAttrs>();
  if (a.initial) return nullptr;
  return make_fold(r, r.op.name == "max_reduce" ? ReduceKind::max : ReduceKind::min,
                   {a.keepdims, a.when_empty == WhenEmpty::all, a.to_end});
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
Result<std::unique_ptr<Kernel>> make_arg(const KernelRequest& r) {
  const auto& a = r.attr<ArgReduceAttrs>();
  const Shape& x = r.in[0].shape;
  const DType to = r.out[0].dtype;
  if (r.in[0].dtype != DType::f32 || (to != DType::i64 && to != DType::i32) || x.count() == 0) return nullptr;
  NNEX_ASSIGN(auto gone, reduced_axes(r.op.name, a.axes, x.rank(), {a.keepdims, false, false}));
  const auto m = middle_of(x, gone);
  if (!m) return nullptr;
  return made<ArgKernel>(r.loops, *m, r.op.name == "argmax_reduce", a.ties == Ties::last, to == DType::i32);
}

constexpr KernelDef kReduceKernels[] = {
    {"sum_reduce", "reduce_f32", make_reduce},     {"mean_reduce", "reduce_f32", make_reduce},
    {"reduce_prod", "reduce_f32", make_reduce},    {"reduce_l1", "reduce_f32", make_reduce},
    {"reduce_l2", "reduce_f32", make_reduce},      {"reduce_sum_square", "reduce_f32", make_reduce},
    {"reduce_log_sum", "reduce_f32", make_reduce}, {"max_reduce", "reduce_f32", make_extreme},
    {"min_reduce", "reduce_f32", make_extreme},    {"argmax_reduce", "arg_reduce_f32", make_arg},
    {"argmin_reduce", "arg_reduce_f32", make_arg},
};

}  // namespace

std::span<const KernelDef> reduce_kernels() { return built<kReduceKernels>(); }

}  // namespace nnex
