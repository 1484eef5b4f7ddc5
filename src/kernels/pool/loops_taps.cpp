// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/loops_taps.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls run(load, store) for blocks of four vectors, of one, and for the last part: load(p, k) reads vector k of the
/// block at p + shift, store(v, k) writes it to y.
template <class Run>
HWY_INLINE void each_block(float* y, size_t n, int64_t shift, Run run) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  size_t c = 0;
  const auto load = [&](const float* p, size_t k) HWY_ATTR { return hn::LoadU(d, p + shift + c + k * lanes); };
  const auto store = [&](V v, size_t k) HWY_ATTR { hn::StoreU(v, d, y + c + k * lanes); };
  for (; c + 4 * lanes <= n; c += 4 * lanes) run.template operator()<4>(load, store);
  for (; c + lanes <= n; c += lanes) run.template operator()<1>(load, store);
  if (c < n) {
    const size_t left = n - c;
    run.template operator()<1>([&](const float* p, size_t) HWY_ATTR { return load_part(d, p + shift + c, left); },
                               [&](V v, size_t) HWY_ATTR { store_part(v, d, y + c, left); });
  }
}

/// Functors instead of lambdas: a template operator inside an attribute region.
template <class Fold>
struct FoldTaps {
  const float* const* taps;
  size_t count;
  const float* start;  // null: from the first tap
  float divisor;
  Fold fold;

  template <size_t vectors, class Load, class Store>
  HWY_INLINE void operator()(Load load, Store store) const {
    const hn::ScalableTag<float> d;
    hn::Vec<decltype(d)> sum[vectors];
    HWY_UNROLL(4)
    for (size_t k = 0; k < vectors; ++k) sum[k] = load(start ? start : taps[0], k);
    for (size_t t = start ? 0 : 1; t < count; ++t) {
      HWY_UNROLL(4)
      for (size_t k = 0; k < vectors; ++k) sum[k] = fold(d, sum[k], load(taps[t], k));
    }
    const auto by = hn::Set(d, divisor);
    HWY_UNROLL(4)
    for (size_t k = 0; k < vectors; ++k) store(divisor == 1.0F ? sum[k] : hn::Div(sum[k], by), k);
  }
};

struct KeepGreater {  // of equal ones the earlier stays
  template <class D, class V>
  HWY_INLINE V operator()(D d, V kept, V next) const {
    return max_f32(d, next, kept);
  }
};
struct AddNext {
  template <class D, class V>
  HWY_INLINE V operator()(D, V kept, V next) const {
    return hn::Add(kept, next);
  }
};

void fold_taps_f32(bool maximum, const float* const* taps, size_t count, const float* start, float divisor, float* y,
                   size_t n, int64_t pixels, int64_t step) {
  for (int64_t p = 0; p < pixels; ++p, y += n) {
    if (maximum) {
      each_block(y, n, p * step, FoldTaps<KeepGreater>{taps, count, start, divisor, {}});
    } else {
      each_block(y, n, p * step, FoldTaps<AddNext>{taps, count, start, divisor, {}});
    }
  }
}

template <class M>
struct WeighTaps {
  const float* const* taps;
  const float* weights;
  size_t count;

  template <size_t vectors, class Load, class Store>
  HWY_INLINE void operator()(Load load, Store store) const {
    const hn::ScalableTag<float> d;
    hn::Vec<decltype(d)> sum[vectors];
    const auto first = hn::Set(d, weights[0]);
    HWY_UNROLL(4)
    for (size_t k = 0; k < vectors; ++k) sum[k] = hn::Mul(load(taps[0], k), first);
    for (size_t t = 1; t < count; ++t) {
      const auto w = hn::Set(d, weights[t]);
      HWY_UNROLL(4)
      for (size_t k = 0; k < vectors; ++k) sum[k] = M::madd(load(taps[t], k), w, sum[k]);
    }
    HWY_UNROLL(4)
    for (size_t k = 0; k < vectors; ++k) store(sum[k], k);
  }
};

void weigh_taps_f32(const float* const* taps, const float* weights, size_t count, float* y, size_t n) {
  each_block(y, n, 0, WeighTaps<Fused>{taps, weights, count});
}
void weigh_taps_f32_exact(const float* const* taps, const float* weights, size_t count, float* y, size_t n) {
  each_block(y, n, 0, WeighTaps<Portable>{taps, weights, count});
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(fold_taps_f32);
NNEX_SIMD_BUILDS(weigh_taps_f32);
NNEX_SIMD_BUILDS(weigh_taps_f32_exact);
}  // namespace nnex::kernels::simd
#endif
