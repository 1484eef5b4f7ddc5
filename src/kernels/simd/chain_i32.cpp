// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/chain_i32.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/chain-inl.h"
#include "kernels/simd/int_loops.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int kRows, int kVectors>
HWY_NOINLINE void run_part(const IntBlock& b, int64_t row, int64_t column, size_t count) {
  Part<kRows, kVectors> part;
  part.load(b.x, row, column, count);
  run_steps(b, b.n_steps, row, column, count, part);
  part.store(b, row, column, count);
}

void chain_i32(const IntBlock& b) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(IntTag()));
  const auto all = static_cast<size_t>(lanes);
  int64_t row = 0;
  for (; row + 4 <= b.rows; row += 4) {
    int64_t column = 0;
    for (; column + 2 * lanes <= b.columns; column += 2 * lanes) run_part<4, 2>(b, row, column, all);
    for (; column < b.columns; column += lanes)
      run_part<4, 1>(b, row, column, static_cast<size_t>(HWY_MIN(lanes, b.columns - column)));
  }
  for (; row < b.rows; ++row) {
    int64_t column = 0;
    for (; column + 2 * lanes <= b.columns; column += 2 * lanes) run_part<1, 2>(b, row, column, all);
    for (; column < b.columns; column += lanes)
      run_part<1, 1>(b, row, column, static_cast<size_t>(HWY_MIN(lanes, b.columns - column)));
  }
}

/// y[i] = the greatest of taps[t][i]; flip 0x80: of signed bytes.
void max_bytes(uint8_t flip, const uint8_t* const* taps, size_t count, uint8_t* y, size_t n) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const auto sign = hn::Set(d, flip);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t here = HWY_MIN(lanes, n - i);
    const auto load = [&](const uint8_t* p)
                          HWY_ATTR { return here == lanes ? hn::LoadU(d, p) : load_part(d, p, here); };
    auto most = hn::Xor(load(taps[0] + i), sign);
    for (size_t t = 1; t < count; ++t) most = hn::Max(most, hn::Xor(load(taps[t] + i), sign));
    most = hn::Xor(most, sign);
    if (here == lanes) {
      hn::StoreU(most, d, y + i);
    } else {
      store_part(most, d, y + i, here);
    }
  }
}

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(chain_i32);
NNEX_SIMD_BUILDS(max_bytes);
}  // namespace nnex::simd
#endif
