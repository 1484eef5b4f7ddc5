// Pools on the channels-last kernels, or where planes lie; other channels-first tensors are transposed on the way in
// and out.

#include "kernels/pool/pool.h"

#include <optional>

#include "base/checked.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/moves/transposed.h"
#include "kernels/pool/planes.h"
#include "ops/pool.h"

namespace nnex::kernels {
namespace {

class PoolKernel : public Kernel {
 public:
  PoolKernel(const simd::Loops& loops, const PoolWindow& window, bool max, bool zeros, PoolDivisor divisor,
             bool channels_last)
      : loops_(loops), window_(window), max_(max), zeros_(zeros), divisor_(divisor) {
    if (!channels_last)
      transposed_ = Transposed(window.batch, window.channels, window.in[0] * window.in[1] * window.in[2],
                               window.channels, window.out[0] * window.out[1] * window.out[2]);
  }

  int64_t workspace() const override { return transposed_.bytes(); }

  Status run(Call& c) const override {
    transposed_.around(loops_, c, 0, [&](const float* x, float* y) {
      if (max_)
        max_pool(loops_, *c.team, window_, zeros_, x, y);
      else
        average_pool(loops_, *c.team, window_, divisor_, x, y);
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  PoolWindow window_;
  bool max_, zeros_;
  PoolDivisor divisor_;
  Transposed transposed_;
};

/// Channels first.
class PlanePool : public Kernel {
 public:
  PlanePool(const simd::Loops& loops, const PoolPlanes& planes, bool max, PoolDivisor divisor)
      : loops_(loops), planes_(planes), max_(max), divisor_(divisor) {}
  int64_t workspace() const override { return planes_.workspace(usable_threads()); }
  Status run(Call& c) const override {
    const float* const x = c.in<float>(0).data();
    float* const y = c.out<float>(0).data();
    if (max_)
      planes_.max(loops_, *c.team, x, y, c.workspace);
    else
      planes_.average(loops_, *c.team, divisor_, x, y, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  PoolPlanes planes_;
  bool max_;
  PoolDivisor divisor_;
};

/// The root of the sum of squares, or the sum of magnitudes.
class NormPool : public Kernel {
 public:
  NormPool(const simd::Loops& loops, const PoolPlanes& planes, int64_t count, bool squares, PoolDivisor divisor)
      : loops_(loops), planes_(planes), bytes_(round_up(count * 4, 64)), squares_(squares), divisor_(divisor) {}
  int64_t workspace() const override { return bytes_ + planes_.workspace(usable_threads()); }
  Status run(Call& c) const override {
    auto* const terms = reinterpret_cast<float*>(c.workspace);
    float* const y = c.out<float>(0).data();
    const Unary term = {squares_ ? UnaryKind::square : UnaryKind::abs};
    unary_map(loops_, *c.team, term, c.in<float>(0).data(), terms, c.in(0).count());
    planes_.average(loops_, *c.team, divisor_, terms, y, c.workspace + bytes_);
    if (squares_) unary_map(loops_, *c.team, {UnaryKind::sqrt}, y, y, c.out(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  PoolPlanes planes_;
  int64_t bytes_;  // of the terms
  bool squares_;
  PoolDivisor divisor_;
};

class IndexPool : public Kernel {
 public:
  IndexPool(const PoolWindow& window, PoolIndex index) : window_(window), index_(index) {}
  Status run(Call& c) const override {
    max_pool_indices(*c.team, window_, index_, c.in<float>(0).data(), c.wants(0) ? c.out<float>(0).data() : nullptr,
                     c.out<int64_t>(1).data());
    return {};
  }

 private:
  PoolWindow window_;
  PoolIndex index_;
};

/// Bytes; what lies beyond the input counts as nothing.
class BytePool : public Kernel {
 public:
  BytePool(const simd::Loops& loops, const PoolWindow& window, bool is_signed, bool channels_last)
      : loops_(loops), window_(window), signed_(is_signed) {
    if (!channels_last)
      transposed_ = Transposed(window.batch, window.channels, window.in[0] * window.in[1] * window.in[2],
                               window.channels, window.out[0] * window.out[1] * window.out[2], 1, 1);
  }
  int64_t workspace() const override { return transposed_.bytes(); }
  Status run(Call& c) const override {
    transposed_.around_bytes(loops_, c, 0, [&](const std::byte* x, std::byte* y) {
      max_pool_bytes(loops_, *c.team, window_, signed_, reinterpret_cast<const uint8_t*>(x),
                     reinterpret_cast<uint8_t*>(y));
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  PoolWindow window_;
  bool signed_;
  Transposed transposed_;
};

/// The windows of one to three spatial axes alone, borders of zeros or of nothing; nothing for other pools.
Result<std::optional<PoolWindow>> plain_window(const KernelRequest& r) {
  const auto& a = r.attr<PoolAttrs>();
  const Shape &x = r.in[0].shape, &y = r.out[r.out[0].given() ? 0 : 1].shape;
  if (x.rank() < 3 || x.rank() > 5 || x.count() == 0 || y.count() == 0 ||
      (a.border != PoolBorder::constant && a.border != PoolBorder::ignore))
    return std::optional<PoolWindow>();
  const auto rank = static_cast<size_t>(x.rank()), spatial = rank - 2;
  PoolWindow w;
  w.batch = x[0], w.channels = x[a.channels_last ? x.rank() - 1 : 1];
  for (size_t i = 0; i < rank; ++i) {
    const auto pads = i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
    const size_t place = !a.channels_last || i == 0 ? i : i == 1 ? rank - 1 : i - 1;
    NNEX_ASSIGN(AxisWindow axis, window_of(x[static_cast<int64_t>(place)], a.size[i], entry(a.stride, i, 1),
                                           entry(a.dilation, i, 1), pads, a.auto_pad, a.ceil));
    if (i < 2) {
      if (axis.size != 1 || axis.stride != 1 || axis.before != 0 || axis.after != 0) return std::optional<PoolWindow>();
      continue;
    }
    const size_t to = 3 - spatial + i - 2;
    w.in[to] = axis.input, w.out[to] = axis.output, w.size[to] = axis.size, w.stride[to] = axis.stride;
    w.dilation[to] = axis.dilation, w.before[to] = axis.before, w.after[to] = axis.after;
  }
  return std::optional<PoolWindow>(w);
}

/// Whether windows reach beyond the input.
bool has_borders(const PoolWindow& w) {
  for (int axis = 0; axis < 3; ++axis)
    for (const int64_t position : {int64_t{0}, w.out[axis] - 1}) {
      const AxisTaps t = axis_taps(w, axis, position);
      if (t.last - t.first != w.size[axis]) return true;
    }
  return false;
}

bool wants_index(const KernelRequest& r) { return r.out.size() > 1 && r.out[1].given(); }

template <bool max>
Result<std::unique_ptr<Kernel>> make_pool(const KernelRequest& r) {
  if (!r.all_f32() || wants_index(r)) return nullptr;
  const auto& a = r.attr<PoolAttrs>();
  NNEX_ASSIGN(const auto w, plain_window(r));
  if (!w) return nullptr;
  const PoolPlanes planes(r.loops, *w, max);
  if (!a.channels_last && planes.fit() && (!max || a.border == PoolBorder::ignore || !has_borders(*w)))
    return made<PlanePool>(r.loops, planes, max, static_cast<PoolDivisor>(divisor_of(a)));
  return made<PoolKernel>(r.loops, *w, max, a.border == PoolBorder::constant, static_cast<PoolDivisor>(divisor_of(a)),
                          a.channels_last);
}

Result<std::unique_ptr<Kernel>> make_norm_pool(const KernelRequest& r) {
  const auto& a = r.attr<PoolAttrs>();
  if (!r.all_f32() || a.channels_last || (a.p != 1 && a.p != 2)) return nullptr;
  NNEX_ASSIGN(const auto w, plain_window(r));
  if (!w) return nullptr;
  const PoolPlanes planes(r.loops, *w, false);
  if (!planes.fit()) return nullptr;
  return made<NormPool>(r.loops, planes, r.in[0].shape.count(), a.p == 2, static_cast<PoolDivisor>(divisor_of(a)));
}

/// The greatest of each window and its place.
Result<std::unique_ptr<Kernel>> make_index_pool(const KernelRequest& r) {
  const auto& a = r.attr<PoolAttrs>();
  if (r.in[0].dtype != DType::f32 || !wants_index(r) || a.channels_last) return nullptr;
  NNEX_ASSIGN(const auto w, plain_window(r));
  if (!w || w->in[0] != 1 || w->out[0] != 1 || w->size[0] != 1 || w->before[0] != 0) return nullptr;
  if (a.border != PoolBorder::ignore && has_borders(*w)) return nullptr;
  return made<IndexPool>(*w, static_cast<PoolIndex>(a.index_as));
}

Result<std::unique_ptr<Kernel>> make_byte_pool(const KernelRequest& r) {
  if (wants_index(r)) return nullptr;
  const bool is_signed = r.in[0].dtype == DType::i8;
  const auto& a = r.attr<PoolAttrs>();
  if (!is_signed && r.in[0].dtype != DType::u8) return nullptr;
  if (is_signed && a.border != PoolBorder::ignore) return nullptr;  // a zero beside it never exceeds an unsigned byte
  NNEX_ASSIGN(const auto w, plain_window(r));
  if (!w) return nullptr;
  return made<BytePool>(r.loops, *w, is_signed, a.channels_last);
}

constexpr KernelDef kPoolKernels[] = {{"max_pool", "max_pool_f32", make_pool<true>},
                                      {"max_pool", "max_pool_index_f32", make_index_pool},
                                      {"max_pool", "max_pool_i8", make_byte_pool},
                                      {"lp_pool", "lp_pool_f32", make_norm_pool},
                                      {"box", "box_f32", make_pool<false>}};
static_assert(static_cast<int>(PoolDivisor::inside) == static_cast<int>(Divisor::inside));
static_assert(static_cast<int>(PoolIndex::tensor_column_major) == static_cast<int>(IndexAs::tensor_column_major));

}  // namespace

std::span<const KernelDef> pool_kernels() { return built<kPoolKernels>(); }

}  // namespace nnex::kernels
