// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moves/loops_transpose_narrow.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/signatures.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// As many rows as a row has elements, in 16 bytes. Each round deals the upper half of the vectors between the elements
/// of the lower half; after as many rounds as a place has bits, element c of row r is element r of row c.
template <class T>
HWY_INLINE void transpose_tile(const T* x, size_t x_stride, T* y, size_t y_stride) {
  const hn::Full128<T> d;
  constexpr size_t kSide = 16 / sizeof(T);
  hn::Vec<decltype(d)> v[kSide], dealt[kSide];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kSide; ++i) v[i] = hn::LoadU(d, x + i * x_stride);
  HWY_UNROLL(4)
  for (size_t round = 1; round < kSide; round *= 2) {
    HWY_UNROLL(8)
    for (size_t i = 0; i < kSide / 2; ++i) {
      dealt[2 * i] = hn::InterleaveLower(d, v[i], v[i + kSide / 2]);
      dealt[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kSide / 2]);
    }
    HWY_UNROLL(16)
    for (size_t i = 0; i < kSide; ++i) v[i] = dealt[i];
  }
  HWY_UNROLL(16)
  for (size_t i = 0; i < kSide; ++i) hn::StoreU(v[i], d, y + i * y_stride);
}
#endif

template <class T>
HWY_INLINE void transpose_narrow(const T* x, size_t x_stride, T* y, size_t y_stride, size_t rows, size_t columns) {
  const auto plain = [&](size_t r0, size_t r1, size_t c0, size_t c1) {
    for (size_t c = c0; c < c1; ++c)
      for (size_t r = r0; r < r1; ++r) y[c * y_stride + r] = x[r * x_stride + c];
  };
#if HWY_TARGET == HWY_SCALAR
  plain(0, rows, 0, columns);
#else
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  if (x_stride == columns && columns >= 2 && columns <= 4) {  // pixels of few to planes
    size_t r = 0;
    for (; r + lanes <= rows; r += lanes) {
      hn::Vec<decltype(d)> v[4];
      if (columns == 2) {
        hn::LoadInterleaved2(d, x + 2 * r, v[0], v[1]);
      } else if (columns == 3) {
        hn::LoadInterleaved3(d, x + 3 * r, v[0], v[1], v[2]);
      } else {
        hn::LoadInterleaved4(d, x + 4 * r, v[0], v[1], v[2], v[3]);
      }
      for (size_t c = 0; c < columns; ++c) hn::StoreU(v[c], d, y + c * y_stride + r);
    }
    plain(r, rows, 0, columns);
    return;
  }
  if (rows == 3 && y_stride == 3) {  // planes of three to pixels of three
    size_t c = 0;
    for (; c + lanes <= columns; c += lanes)
      hn::StoreInterleaved3(hn::LoadU(d, x + c), hn::LoadU(d, x + x_stride + c), hn::LoadU(d, x + 2 * x_stride + c), d,
                            y + 3 * c);
    plain(0, rows, c, columns);
    return;
  }
  constexpr size_t kSide = 16 / sizeof(T), kBlock = 64;
  const size_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  // A line of y's cache is written whole before the next: the rows within a block of columns.
  for (size_t c0 = 0; c0 < whole_columns; c0 += kBlock)
    for (size_t r = 0; r < whole_rows; r += kSide)
      for (size_t c = c0; c < HWY_MIN(whole_columns, c0 + kBlock); c += kSide)
        transpose_tile(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
  plain(whole_rows, rows, 0, whole_columns);
  plain(0, rows, whole_columns, columns);
#endif
}

void transpose_u8(const uint8_t* x, size_t x_stride, uint8_t* y, size_t y_stride, size_t rows, size_t columns) {
  transpose_narrow(x, x_stride, y, y_stride, rows, columns);
}
void transpose_u16(const uint16_t* x, size_t x_stride, uint16_t* y, size_t y_stride, size_t rows, size_t columns) {
  transpose_narrow(x, x_stride, y, y_stride, rows, columns);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(transpose_u8);
NNEX_SIMD_BUILDS(transpose_u16);
}  // namespace nnex::kernels::simd
#endif
