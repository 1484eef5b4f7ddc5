// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_winograd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/conv/loops_winograd.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PatchTag = hn::ScalableTag<float>;
using PatchVec = hn::Vec<PatchTag>;

/// A vector of channels from c on: whole, or its first `count` lanes.
template <bool kWhole>
HWY_INLINE PatchVec load_patch(const float* p, size_t count) {
  const PatchTag d;
  if constexpr (kWhole) return hn::LoadU(d, p);
  return load_part(d, p, count);
}
template <bool kWhole>
HWY_INLINE void store_patch(PatchVec v, float* p, size_t count) {
  const PatchTag d;
  if constexpr (kWhole) {
    hn::StoreU(v, d, p);
  } else {
    store_part(v, d, p, count);
  }
}

template <bool kWhole>
HWY_INLINE void patch_channels(const WinogradPatch& p, int64_t c, size_t count) {
  PatchVec t[16];
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    const PatchVec d0 = load_patch<kWhole>(p.d[j] + c, count), d1 = load_patch<kWhole>(p.d[4 + j] + c, count);
    const PatchVec d2 = load_patch<kWhole>(p.d[8 + j] + c, count), d3 = load_patch<kWhole>(p.d[12 + j] + c, count);
    t[j] = hn::Sub(d0, d2);
    t[4 + j] = hn::Add(d1, d2);
    t[8 + j] = hn::Sub(d2, d1);
    t[12 + j] = hn::Sub(d1, d3);
  }
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    float* y = p.y + 4 * i * p.y_stride + c;
    store_patch<kWhole>(hn::Sub(t[4 * i], t[4 * i + 2]), y, count);
    store_patch<kWhole>(hn::Add(t[4 * i + 1], t[4 * i + 2]), y + p.y_stride, count);
    store_patch<kWhole>(hn::Sub(t[4 * i + 2], t[4 * i + 1]), y + 2 * p.y_stride, count);
    store_patch<kWhole>(hn::Sub(t[4 * i + 1], t[4 * i + 3]), y + 3 * p.y_stride, count);
  }
}

template <bool kWhole>
HWY_INLINE void result_channels(const WinogradResult& r, int64_t c, size_t count) {
  const PatchTag d;
  PatchVec s[8], y[4];
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    const float* m = r.m + j * r.m_stride + c;
    const PatchVec m0 = load_patch<kWhole>(m, count), m1 = load_patch<kWhole>(m + 4 * r.m_stride, count);
    const PatchVec m2 = load_patch<kWhole>(m + 8 * r.m_stride, count);
    const PatchVec m3 = load_patch<kWhole>(m + 12 * r.m_stride, count);
    s[j] = hn::Add(hn::Add(m0, m1), m2);
    s[4 + j] = hn::Sub(hn::Sub(m1, m2), m3);
  }
  HWY_UNROLL(2)
  for (int i = 0; i < 2; ++i) {
    y[2 * i] = hn::Add(hn::Add(s[4 * i], s[4 * i + 1]), s[4 * i + 2]);
    y[2 * i + 1] = hn::Sub(hn::Sub(s[4 * i + 1], s[4 * i + 2]), s[4 * i + 3]);
  }
  const TileEnd& end = r.end;
  const auto each = [&](auto f) HWY_ATTR {
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) y[i] = f(y[i]);
  };
  if (end.scale != 1) each([&](PatchVec v) HWY_ATTR { return hn::Mul(v, hn::Set(d, end.scale)); });
  if (end.bias) {
    const PatchVec bias = load_patch<kWhole>(end.bias + c, count);
    each([&](PatchVec v) HWY_ATTR { return hn::Add(v, bias); });
  }
  if (end.residual) {
    const PatchVec scale = hn::Set(d, end.residual_scale);
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i)
      if (r.y[i]) y[i] = hn::Add(y[i], hn::Mul(load_patch<kWhole>(r.residual[i] + c, count), scale));
  }
  if (end.activation.kind == UnaryKind::relu) {
    each([&](PatchVec v) HWY_ATTR { return relu_f32(d, v); });
  } else if (end.activation.kind == UnaryKind::clamp) {
    const PatchVec low = hn::Set(d, end.activation.alpha), high = hn::Set(d, end.activation.beta);
    each([&](PatchVec v) HWY_ATTR { return clamp_f32(d, v, low, high); });
  }
  if (end.activation.replaces_nan()) {
    const PatchVec nan = hn::Set(d, end.activation.nan);
    each([&](PatchVec v) HWY_ATTR { return without_nan(d, v, nan); });
  }
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i)
    if (r.y[i]) store_patch<kWhole>(y[i], r.y[i] + c, count);
}

void winograd_patch_f32(const WinogradPatch& p) {
  const int64_t lanes = static_cast<int64_t>(hn::MaxLanes(PatchTag()));
  int64_t c = 0;
  for (; c + lanes <= p.channels; c += lanes) patch_channels<true>(p, c, 0);
  if (c < p.channels) patch_channels<false>(p, c, static_cast<size_t>(p.channels - c));
}

void winograd_result_f32(const WinogradResult& r) {
  const int64_t lanes = static_cast<int64_t>(hn::MaxLanes(PatchTag()));
  int64_t c = 0;
  for (; c + lanes <= r.channels; c += lanes) result_channels<true>(r, c, 0);
  if (c < r.channels) result_channels<false>(r, c, static_cast<size_t>(r.channels - c));
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(winograd_patch_f32);
NNEX_SIMD_BUILDS(winograd_result_f32);
}  // namespace nnex::kernels::simd
#endif
