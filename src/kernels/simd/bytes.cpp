// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/bytes.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/int_loops.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void max_bytes(const MaxBytes& m) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const auto sign = hn::Set(d, m.flip);
  for (int64_t p = 0; p < m.pixels; ++p) {
    uint8_t* const y = m.y + p * m.y_step;
    for (size_t i = 0; i < m.n; i += lanes) {
      const size_t here = HWY_MIN(lanes, m.n - i), at = static_cast<size_t>(p * m.x_step) + i;
      const auto load = [&](const uint8_t* x) HWY_ATTR {
        return hn::Xor(here == lanes ? hn::LoadU(d, x + at) : load_part(d, x + at, here), sign);
      };
      auto most = load(m.taps[0]);
      for (size_t t = 1; t < m.count; ++t) most = hn::Max(most, load(m.taps[t]));
      most = hn::Xor(most, sign);
      if (here == lanes) {
        hn::StoreU(most, d, y + i);
      } else {
        store_part(most, d, y + i, here);
      }
    }
  }
}

void interleave_three(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* y, size_t n) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d))
    hn::StoreInterleaved3(hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i), d, y + 3 * i);
#endif
  for (; i < n; ++i) y[3 * i] = a[i], y[3 * i + 1] = b[i], y[3 * i + 2] = c[i];
}

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(max_bytes);
NNEX_SIMD_BUILDS(interleave_three);
}  // namespace nnex::simd
#endif
