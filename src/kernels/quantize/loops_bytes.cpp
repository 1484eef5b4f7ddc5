// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize/loops_bytes.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/signatures.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
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
      auto max = load(m.taps[0]);
      for (size_t t = 1; t < m.count; ++t) max = hn::Max(max, load(m.taps[t]));
      max = hn::Xor(max, sign);
      if (here == lanes) {
        hn::StoreU(max, d, y + i);
      } else {
        store_part(max, d, y + i, here);
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

using RealTag = hn::ScalableTag<float>;
using Real = hn::Vec<RealTag>;
using WholeTag = hn::RebindToSigned<RealTag>;
using LaneBytes = hn::Rebind<uint8_t, RealTag>;  // a byte for every lane

HWY_INLINE Real dequantized(const ByteOperand& o, hn::Vec<LaneBytes> x) {
  const RealTag d;
  const WholeTag di;
  const auto moved = hn::PromoteTo(di, hn::Xor(x, hn::Set(LaneBytes(), o.flip)));
  return hn::Mul(hn::ConvertTo(d, hn::Sub(moved, hn::Set(di, o.zero))), hn::Set(d, o.scale));
}

constexpr float kFarQuotient = 1024;  // beyond which a byte cannot tell quotients apart

/// The nearest whole number to v / scale, ties to even; |v| is at most kFarQuotient * scale.
HWY_INLINE hn::Vec<WholeTag> quotient(Real v, Real scale, Real inverse) {
  const RealTag d;
  const WholeTag di;
  const Real magic = hn::Set(d, 12582912.0F);  // 1.5 * 2^23: adding it rounds
  const Real q = hn::Mul(v, inverse);
  Real moved = hn::Add(q, magic);
  // The product is within 2^-12 of the quotient: another whole number is nearest only where both lie between two.
  const Real off = hn::Abs(hn::Sub(q, hn::Sub(moved, magic)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(off, hn::Set(d, 0.5F - 0x1p-11F)))))
    moved = hn::Add(hn::Div(v, scale), magic);
  return hn::Sub(hn::BitCast(di, moved), hn::Set(di, 0x4b400000));
}

void add_bytes(const AddBytes& m) {
  const RealTag d;
  const WholeTag di;
  const LaneBytes d8;
  const size_t lanes = hn::Lanes(d);
  const Real scale = hn::Set(d, m.to.scale), inverse = hn::Set(d, 1 / m.to.scale);
  const float far = kFarQuotient * m.to.scale;
  const Real min = hn::Set(d, HWY_MAX(m.min, -far)), max = hn::Set(d, HWY_MIN(m.max, far));
  const auto zero = hn::Set(di, m.to.zero);
  const auto flip = hn::Set(d8, m.to.flip);
  const auto sum = [&](hn::Vec<LaneBytes> a, hn::Vec<LaneBytes> b) HWY_ATTR {
    const Real v = hn::Add(dequantized(m.a, a), dequantized(m.b, b));
    const auto q = quotient(hn::Min(hn::Max(v, min), max), scale, inverse);
    return hn::Xor(hn::DemoteTo(d8, hn::Add(q, zero)), flip);
  };
  size_t i = 0;
  for (; i + lanes <= m.n; i += lanes) hn::StoreU(sum(hn::LoadU(d8, m.a.p + i), hn::LoadU(d8, m.b.p + i)), d8, m.y + i);
  if (i < m.n)
    store_part(sum(load_part(d8, m.a.p + i, m.n - i), load_part(d8, m.b.p + i, m.n - i)), d8, m.y + i, m.n - i);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(max_bytes);
NNEX_SIMD_BUILDS(interleave_three);
NNEX_SIMD_BUILDS(add_bytes);
}  // namespace nnex::kernels::simd
#endif
