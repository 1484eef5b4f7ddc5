// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_unary.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class M>
HWY_INLINE void unary_loop(const Unary& f, const float* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  with_unary<M>(d, f, [&](auto formula) HWY_ATTR { map(d, x, y, n, formula); });
}

void unary_f32(const Unary& f, const float* x, float* y, size_t n) { unary_loop<Fused>(f, x, y, n); }
void unary_f32_exact(const Unary& f, const float* x, float* y, size_t n) { unary_loop<Portable>(f, x, y, n); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(unary_f32);
NNEX_SIMD_BUILDS(unary_f32_exact);
}  // namespace nnex::kernels::simd
#endif
