// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/integer/loops_chain_i32.cpp"
#include <hwy/foreach_target.h>

#include "kernels/integer/chain-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/signatures.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
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

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(chain_i32);
}  // namespace nnex::kernels::simd
#endif
