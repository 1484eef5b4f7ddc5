// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moves/loops_transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/builds.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// The vector whose 16-byte block b holds as many elements as fit, of row b * (so many rows) on.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* x, size_t stride) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) <= 16) {
    return hn::LoadU(d, x);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, x + stride * hn::Lanes(half), stride), load_blocks(half, x, stride));
  }
}

/// Lanes(d) rows of 4 elements become 4 rows of Lanes(d).
template <class D>
HWY_INLINE void transpose_block(D d, const uint32_t* x, size_t x_stride, uint32_t* y, size_t y_stride) {
  const hn::Repartition<uint64_t, D> d64;
  const auto r0 = load_blocks(d, x, x_stride), r1 = load_blocks(d, x + x_stride, x_stride);
  const auto r2 = load_blocks(d, x + 2 * x_stride, x_stride), r3 = load_blocks(d, x + 3 * x_stride, x_stride);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1)),
             high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3)),
             high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)), d, y);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)), d, y + y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)), d, y + 2 * y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)), d, y + 3 * y_stride);
}
/// Lanes(d) rows of 2 elements become 2 rows of Lanes(d).
template <class D>
HWY_INLINE void transpose_block(D d, const uint64_t* x, size_t x_stride, uint64_t* y, size_t y_stride) {
  const auto r0 = load_blocks(d, x, x_stride), r1 = load_blocks(d, x + x_stride, x_stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, y);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, y + y_stride);
}
#endif

template <class T>
HWY_INLINE void transpose(const T* x, size_t x_stride, T* y, size_t y_stride, size_t rows, size_t columns) {
  const auto plain = [&](size_t r0, size_t r1, size_t c0, size_t c1) {
    for (size_t c = c0; c < c1; ++c)
      for (size_t r = r0; r < r1; ++r) y[c * y_stride + r] = x[r * x_stride + c];
  };
#if HWY_TARGET == HWY_SCALAR
  plain(0, rows, 0, columns);
#else
  constexpr size_t kOfBlock = 16 / sizeof(T);  // rows and columns of 16 bytes
  const hn::ScalableTag<T> d;
  const hn::Full128<T> d_block;
  const size_t lanes = hn::Lanes(d);
  if (rows == 3 && y_stride == 3) {  // planes of three to pixels of three
    size_t c = 0;
    for (; c + lanes <= columns; c += lanes)
      hn::StoreInterleaved3(hn::LoadU(d, x + c), hn::LoadU(d, x + x_stride + c), hn::LoadU(d, x + 2 * x_stride + c), d,
                            y + 3 * c);
    plain(0, rows, c, columns);
    return;
  }
  if (rows == 2 && y_stride == 2) {
    size_t c = 0;
    for (; c + lanes <= columns; c += lanes)
      hn::StoreInterleaved2(hn::LoadU(d, x + c), hn::LoadU(d, x + x_stride + c), d, y + 2 * c);
    plain(0, rows, c, columns);
    return;
  }
  if (columns == 2 && x_stride == 2) {
    size_t r = 0;
    for (; r + lanes <= rows; r += lanes) {
      hn::Vec<decltype(d)> a, b;
      hn::LoadInterleaved2(d, x + 2 * r, a, b);
      hn::StoreU(a, d, y + r);
      hn::StoreU(b, d, y + y_stride + r);
    }
    plain(r, rows, 0, columns);
    return;
  }
  if (columns == 3 && x_stride == 3) {
    size_t r = 0;
    for (; r + lanes <= rows; r += lanes) {
      hn::Vec<decltype(d)> a, b, c;
      hn::LoadInterleaved3(d, x + 3 * r, a, b, c);
      hn::StoreU(a, d, y + r);
      hn::StoreU(b, d, y + y_stride + r);
      hn::StoreU(c, d, y + 2 * y_stride + r);
    }
    plain(r, rows, 0, columns);
    return;
  }
  if (rows == 4 && y_stride == 4 && columns >= lanes) {
    for (size_t c = 0; c < columns; c += lanes) {
      const size_t at = c + lanes <= columns ? c : columns - lanes;  // the last two may overlap
      const T* from = x + at;
      hn::StoreInterleaved4(hn::LoadU(d, from), hn::LoadU(d, from + x_stride), hn::LoadU(d, from + 2 * x_stride),
                            hn::LoadU(d, from + 3 * x_stride), d, y + 4 * at);
    }
    return;
  }
  const size_t whole = columns / kOfBlock * kOfBlock;
  // As many rows at once as fill a line of the cache: where rows of y are a multiple of some KiB apart, few of its
  // lines fit into the cache, and a part of one would leave it before the next comes.
  constexpr size_t kLine = 64 / sizeof(T), kColumns = 4 * kLine;
  constexpr size_t kFilling = hn::MaxLanes(d) < kLine ? kLine / hn::MaxLanes(d) : 1;
  for (size_t c0 = 0; c0 < whole; c0 += kColumns) {
    const size_t c1 = c0 + kColumns < whole ? c0 + kColumns : whole;
    size_t r = 0;
    for (; r + kFilling * lanes <= rows; r += kFilling * lanes)
      for (size_t c = c0; c < c1; c += kOfBlock) {
        HWY_UNROLL(4)
        for (size_t k = 0; k < kFilling; ++k)
          transpose_block(d, x + (r + k * lanes) * x_stride + c, x_stride, y + c * y_stride + r + k * lanes, y_stride);
      }
    for (; kFilling > 1 && r + lanes <= rows; r += lanes)
      for (size_t c = c0; c < c1; c += kOfBlock)
        transpose_block(d, x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    for (; r + kOfBlock <= rows; r += kOfBlock)
      for (size_t c = c0; c < c1; c += kOfBlock)
        transpose_block(d_block, x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    plain(r, rows, c0, c1);
  }
  plain(0, rows, whole, columns);
#endif
}

void transpose_u32(const uint32_t* x, size_t x_stride, uint32_t* y, size_t y_stride, size_t rows, size_t columns) {
  transpose(x, x_stride, y, y_stride, rows, columns);
}
void transpose_u64(const uint64_t* x, size_t x_stride, uint64_t* y, size_t y_stride, size_t rows, size_t columns) {
  transpose(x, x_stride, y, y_stride, rows, columns);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(transpose_u32);
NNEX_SIMD_BUILDS(transpose_u64);
}  // namespace nnex::kernels::simd
#endif
