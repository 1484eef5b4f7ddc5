// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_depthwise_i8.cpp"
#include <hwy/foreach_target.h>

#include <cstring>

#include "kernels/conv/loops_depthwise.h"
#include "kernels/conv/loops_depthwise_i8.h"
#include "kernels/product/requantize-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::Rebind<uint8_t, SumTag>;
using Sum = hn::Vec<SumTag>;
constexpr int kBytePixels = 8;

/// sum + x * w where x and w fit 16 bits.
HWY_INLINE Sum add_product(Sum sum, Sum x, Sum w) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_NEON
  return hn::Add(sum, hn::Mul(x, w));
#else
  // The upper halves of x are zeros: the pair's other product is 0, and one instruction is enough.
  const hn::RepartitionToNarrow<SumTag> d16;
  Sum none = hn::Zero(SumTag());
  return hn::ReorderWidenMulAccumulate(SumTag(), hn::BitCast(d16, x), hn::BitCast(d16, w), sum, none);
#endif
}

HWY_INLINE hn::Vec<ByteTag> load_bytes(const uint8_t* p, size_t count) {
  const ByteTag d8;
  if (count == hn::Lanes(d8)) return hn::LoadU(d8, p);
  HWY_ALIGN uint8_t padded[HWY_MAX_BYTES] = {};
  std::memcpy(padded, p, count);
  return hn::LoadU(d8, padded);
}

/// Stores one pixel's sums, or their bytes.
HWY_INLINE void finish_sums(const DepthwiseByteLine& line, int64_t pixel, int64_t c, size_t count, Sum sum) {
  const SumTag d;
  const size_t lanes = hn::Lanes(d);
  if (!line.y) {
    int32_t* to = line.sums + pixel * line.sums_stride + c;
    if (count == lanes) return hn::StoreU(sum, d, to);
    return store_part(sum, d, to, count);
  }
  const hn::RebindToFloat<SumTag> df;
  const float* scale = line.to_bytes.scale;
  const auto factor = line.to_bytes.step == 0 ? hn::Set(df, scale[0])
                      : count == lanes        ? hn::LoadU(df, scale + c)
                                              : load_part(df, scale + c, count);
  const auto bytes = Requantized(line.to_bytes).of(sum, factor);
  uint8_t* to = line.y + pixel * line.y_stride + c;
  if (count == lanes) return hn::StoreU(bytes, ByteTag(), to);
  HWY_ALIGN uint8_t padded[HWY_MAX_BYTES];
  hn::StoreU(bytes, ByteTag(), padded);
  std::memcpy(to, padded, count);
}

/// kBytePixels pixels and a vector of channels; input (r, t, p) is at inputs(r, t, p).
template <class Inputs>
HWY_INLINE void byte_pixels(const DepthwiseByteLine& line, int64_t pixel, int64_t pixels, int64_t c, size_t count,
                            const Inputs& inputs) {
  const SumTag d;
  const auto flip = hn::Set(d, line.flip);
  Sum sum[kBytePixels];
  const Sum add = hn::LoadU(d, line.add + c);
  HWY_UNROLL(8)
  for (int p = 0; p < kBytePixels; ++p) sum[p] = add;
  for (int64_t r = 0; r < line.n_rows; ++r) {
    for (int64_t t = 0; t < line.taps; ++t) {
      const Sum w = hn::LoadU(d, line.w + (r * line.taps + t) * line.w_stride + c);
      HWY_UNROLL(8)
      for (int p = 0; p < kBytePixels; ++p) {
        const Sum x = hn::PromoteTo(d, load_bytes(inputs(r, t, p) + c, count));
        sum[p] = add_product(sum[p], hn::Xor(x, flip), w);
      }
    }
  }
  HWY_ALIGN int32_t kept[kBytePixels * hn::MaxLanes(d)];
  HWY_UNROLL(8)
  for (int p = 0; p < kBytePixels; ++p) hn::Store(sum[p], d, kept + p * hn::MaxLanes(d));
  HWY_UNROLL(1)
  for (int64_t p = 0; p < pixels; ++p)
    finish_sums(line, pixel + p, c, count, hn::Load(d, kept + static_cast<size_t>(p) * hn::MaxLanes(d)));
}

template <class Inputs>
HWY_INLINE void byte_channels(const DepthwiseByteLine& line, int64_t pixel, int64_t pixels, const Inputs& inputs) {
  const size_t lanes = hn::MaxLanes(SumTag());
  const auto channels = static_cast<size_t>(line.channels);
  if (channels < lanes) return byte_pixels(line, pixel, pixels, 0, channels, inputs);
  size_t c = 0;
  for (; c + lanes <= channels; c += lanes) byte_pixels(line, pixel, pixels, static_cast<int64_t>(c), lanes, inputs);
  if (c < channels) byte_pixels(line, pixel, pixels, static_cast<int64_t>(channels - lanes), lanes, inputs);
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_NEON

bool three_by_three(const DepthwiseByteLine& /*line*/) { return false; }

#else

/// Three rows and taps side by side: every input is read once for all the windows it lies in, two rows at a time.
template <int kPixels, int kStride>
struct Windows {
  static constexpr int kColumns = (kPixels - 1) * kStride + 3;
  const uint8_t* at[3][kColumns];

  /// The windows of kPixels outputs from `pixel` on.
  Windows(const DepthwiseByteLine& line, int64_t pixel) {
    const int64_t first = pixel * kStride - line.before;
    for (int r = 0; r < 3; ++r)
      for (int q = 0; q < kColumns; ++q) {
        const int64_t column = first + q;
        const bool exists = line.rows[r] && column >= 0 && column < line.in_width;
        at[r][q] = exists ? line.rows[r] + column * line.x_stride : line.outside;
      }
  }

  HWY_INLINE Sum load(int r, int q, int64_t c) const {
    return hn::PromoteTo(SumTag(), hn::LoadU(ByteTag(), at[r][q] + c));
  }

  void run(const DepthwiseByteLine& line, int64_t pixel, int64_t c) const;
};

/// A vector of channels from c on.
template <int kPixels, int kStride>
HWY_NOINLINE void Windows<kPixels, kStride>::run(const DepthwiseByteLine& line, int64_t pixel, int64_t c) const {
  const SumTag d;
  const hn::RepartitionToNarrow<SumTag> d16;
  const auto pair = [&](Sum low, Sum high) HWY_ATTR {
    return hn::OddEven(hn::BitCast(d16, hn::ShiftLeft<16>(high)), hn::BitCast(d16, low));
  };
  const auto dot = [&](Sum sum, auto x, auto w) HWY_ATTR {
    Sum none = hn::Zero(d);
    return hn::ReorderWidenMulAccumulate(d, x, w, sum, none);
  };
  const Sum flip = hn::Set(d, line.flip), flips = hn::Set(d, line.flip * 0x10001);
  hn::Vec<decltype(d16)> two[3], one[3];
  HWY_UNROLL(3)
  for (int t = 0; t < 3; ++t) {
    const auto w = [&](int r) HWY_ATTR { return hn::LoadU(d, line.w + (r * 3 + t) * line.w_stride + c); };
    two[t] = pair(w(0), w(1));
    one[t] = hn::BitCast(d16, w(2));
  }
  const Sum add = hn::LoadU(d, line.add + c);
  Sum sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = add;
  HWY_UNROLL(32)
  for (int q = 0; q < kColumns; ++q) {
    const auto upper = hn::BitCast(d16, hn::Xor(hn::Or(load(0, q, c), hn::ShiftLeft<16>(load(1, q, c))), flips));
    const auto lower = hn::BitCast(d16, hn::Xor(load(2, q, c), flip));
    HWY_UNROLL(3)
    for (int t = 0; t < 3; ++t) {
      const int p = (q - t) / kStride;
      if (q < t || (q - t) % kStride != 0 || p >= kPixels) continue;
      sum[p] = dot(dot(sum[p], upper, two[t]), lower, one[t]);
      if (t == 2) finish_sums(line, pixel + p, c, hn::Lanes(d), sum[p]);
    }
  }
}

template <int kPixels, int kStride>
HWY_INLINE void pixels_of_line(const DepthwiseByteLine& line) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(SumTag()));
  for (int64_t pixel = 0; pixel < line.out_width; pixel += kPixels) {
    const int64_t first = HWY_MIN(pixel, line.out_width - kPixels);  // the last may overlap
    const Windows<kPixels, kStride> windows(line, first);
    for (int64_t c = 0; c < line.channels; c += lanes) windows.run(line, first, HWY_MIN(c, line.channels - lanes));
  }
}

bool three_by_three(const DepthwiseByteLine& line) {
  if (line.n_rows != 3 || line.taps != 3 || line.dilation != 1 || line.stride > 2 || line.out_width < 4 ||
      line.channels < static_cast<int64_t>(hn::Lanes(SumTag())))
    return false;
  const bool wide = line.out_width >= 8;
  if (line.stride == 1) {
    wide ? pixels_of_line<8, 1>(line) : pixels_of_line<4, 1>(line);
  } else {
    wide ? pixels_of_line<8, 2>(line) : pixels_of_line<4, 2>(line);
  }
  return true;
}

#endif

void depthwise_i8(const DepthwiseByteLine& line) {
  if (three_by_three(line)) return;
  const int64_t reach = (kBytePixels - 1) * line.stride + (line.taps - 1) * line.dilation;
  for (int64_t pixel = 0; pixel < line.out_width; pixel += kBytePixels) {
    const int64_t pixels = HWY_MIN(kBytePixels, line.out_width - pixel), first = pixel * line.stride - line.before;
    bool inside = first >= 0 && first + reach < line.in_width;
    for (int64_t r = 0; r < line.n_rows; ++r) inside = inside && line.rows[r];
    if (inside) {
      const int64_t x_step = line.stride * line.x_stride, t_step = line.dilation * line.x_stride;
      byte_channels(line, pixel, pixels, [&](int64_t r, int64_t t, int64_t p) HWY_ATTR {
        return line.rows[r] + first * line.x_stride + t * t_step + p * x_step;
      });
    } else {
      const uint8_t* table[kMaxDepthwiseTaps * kBytePixels];
      const uint8_t** to = table;
      for (int64_t r = 0; r < line.n_rows; ++r)
        for (int64_t t = 0; t < line.taps; ++t)
          for (int64_t p = 0; p < kBytePixels; ++p) {
            const int64_t at = first + p * line.stride + t * line.dilation;
            const bool exists = line.rows[r] && at >= 0 && at < line.in_width;
            *to++ = exists ? line.rows[r] + at * line.x_stride : line.outside;
          }
      byte_channels(line, pixel, pixels, [&](int64_t r, int64_t t, int64_t p) HWY_ATTR {
        return table[(r * line.taps + t) * kBytePixels + p];
      });
    }
  }
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(depthwise_i8);
}  // namespace nnex::kernels::simd
#endif
