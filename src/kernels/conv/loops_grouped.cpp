// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_grouped.cpp"
#include <hwy/foreach_target.h>

#include "kernels/conv/line-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/plain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kGroupLanes = static_cast<int>(hn::MaxLanes(LineTag()));

/// The inputs that a vector of output channels at c takes from one pixel: input i of each channel's group.
template <int kGroup, bool kWhole>
class GroupInputs {
 public:
  using V = hn::Vec<LineTag>;
  static constexpr bool kOneGroup = kGroup >= kGroupLanes;  ///< All channels of a vector share their inputs.

  /// `pixel` points to the first channel that the vector's groups have.
  HWY_INLINE GroupInputs(const float* pixel, size_t count) {
    if constexpr (kOneGroup) {
      first_ = pixel;
    } else {
      all_ = load_channels<kWhole>(pixel, count);
    }
  }

  HWY_INLINE V operator[](int i) const {
    if constexpr (kOneGroup) {
      return hn::Set(LineTag(), first_[i]);
    } else {
#if HWY_TARGET != HWY_SCALAR
      if constexpr (kGroup == 2) return i == 0 ? hn::DupEven(all_) : hn::DupOdd(all_);
      if constexpr (kGroup == 4)
        return i == 0   ? hn::Broadcast<0>(all_)
               : i == 1 ? hn::Broadcast<1>(all_)
               : i == 2 ? hn::Broadcast<2>(all_)
                        : hn::Broadcast<3>(all_);
      return hn::TableLookupLanes(all_, hn::SetTableIndices(LineTag(), kOfEight[i]));
#else
      return all_;
#endif
    }
  }

 private:
  /// Lanes of two groups of eight.
  alignas(64) static constexpr int32_t kOfEight[8][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8},
                                                          {1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9},
                                                          {2, 2, 2, 2, 2, 2, 2, 2, 10, 10, 10, 10, 10, 10, 10, 10},
                                                          {3, 3, 3, 3, 3, 3, 3, 3, 11, 11, 11, 11, 11, 11, 11, 11},
                                                          {4, 4, 4, 4, 4, 4, 4, 4, 12, 12, 12, 12, 12, 12, 12, 12},
                                                          {5, 5, 5, 5, 5, 5, 5, 5, 13, 13, 13, 13, 13, 13, 13, 13},
                                                          {6, 6, 6, 6, 6, 6, 6, 6, 14, 14, 14, 14, 14, 14, 14, 14},
                                                          {7, 7, 7, 7, 7, 7, 7, 7, 15, 15, 15, 15, 15, 15, 15, 15}};

  const float* first_ = nullptr;
  V all_;
};

/// A vector of output channels: where they and their weights begin, and from where on the pixels' channels are theirs.
struct GroupChannels {
  int64_t c;
  int64_t first;
  const float* w;
  size_t count;  ///< Of a vector that is not whole.
};

/// From channel `first` on of input pixel `at` of a row, or zeros where there is no such row or pixel.
HWY_INLINE const float* group_input_at(const DepthwiseLine& line, int64_t row, int64_t at, int64_t first) {
  const bool inside = line.rows[row] && at >= 0 && at < line.in_width;
  return inside ? line.rows[row] + at * line.x_stride + first : line.zeros;
}

/// kPixels pixels of a filter of kTaps taps a row, dilation 1; inputs(row)[q] is input q of a row.
template <class M, int kGroup, int kTaps, int kStride, bool kWhole, class Inputs>
HWY_INLINE void group_pixels(const DepthwiseLine& line, int64_t pixel, int64_t pixels, const GroupChannels& of,
                             const Inputs& inputs) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  constexpr int kInputs = (kPixels - 1) * kStride + kTaps;
  V sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
  const float* w = of.w;
  for (int64_t r = 0; r < line.n_rows; ++r, w += kTaps * kGroup * kGroupLanes) {
    const auto x = inputs(r);
    HWY_UNROLL(24)
    for (int q = 0; q < kInputs; ++q) {
      const GroupInputs<kGroup, kWhole> in(x[q], of.count);
      HWY_UNROLL(4)
      for (int i = 0; i < kGroup; ++i) {
        const V value = in[i];
        HWY_UNROLL(8)
        for (int p = 0; p < kPixels; ++p) {
          const int t = q - p * kStride;
          if (t >= 0 && t < kTaps) sum[p] = M::madd(value, hn::LoadU(d, w + (t * kGroup + i) * kGroupLanes), sum[p]);
        }
      }
    }
  }
  finish_pixels<kWhole>(line, pixel, pixels, of.c, of.count, sum);
}

/// The same for any filter: input (tap, p) of a row is inputs(row)[tap * kPixels + p].
template <class M, int kGroup, bool kWhole>
HWY_INLINE void any_group_pixels(const DepthwiseLine& line, int64_t pixel, int64_t pixels, const GroupChannels& of,
                                 const float* const* inputs) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  V sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
  const float* w = of.w;
  for (int64_t t = 0; t < line.n_rows * line.taps; ++t, inputs += kPixels) {
    HWY_UNROLL(4)
    for (int i = 0; i < kGroup; ++i, w += kGroupLanes) {
      const V weight = hn::LoadU(d, w);
      HWY_UNROLL(8)
      for (int p = 0; p < kPixels; ++p)
        sum[p] = M::madd(GroupInputs<kGroup, kWhole>(inputs[p], of.count)[i], weight, sum[p]);
    }
  }
  finish_pixels<kWhole>(line, pixel, pixels, of.c, of.count, sum);
}

/// Calls f(channels) for vectors of them that cover the line, along it before across it: a vector's weights stay in the
/// first level cache. The last two may overlap.
template <int kGroup, class F>
HWY_INLINE void each_group_channels(const DepthwiseLine& line, F f) {
  const int64_t last = line.channels - kGroupLanes, weights = line.n_rows * line.taps * kGroup * kGroupLanes;
  const float* w = line.w;
  for (int64_t at = 0; at < line.channels; at += kGroupLanes, w += weights) {
    const int64_t c = HWY_MAX(HWY_MIN(at, last), 0);
    f(GroupChannels{c, c / kGroup * kGroup, w, static_cast<size_t>(line.channels)});
  }
}

template <class M, int kGroup, int kTaps, int kStride>
HWY_NOINLINE void group_line_of(const DepthwiseLine& line) {
  constexpr int kInputs = (kPixels - 1) * kStride + kTaps;
  each_group_channels<kGroup>(line, [&](const GroupChannels& of) HWY_ATTR {
    for (int64_t pixel = 0; pixel < line.out_width; pixel += kPixels) {
      const int64_t pixels = HWY_MIN(kPixels, line.out_width - pixel), first = pixel * kStride - line.before;
      if (first >= 0 && first + kInputs <= line.in_width) {
        const auto inputs = [&](int64_t r) HWY_ATTR {
          return line.rows[r] ? Inside{line.rows[r] + first * line.x_stride + of.first, line.x_stride}
                              : Inside{line.zeros, 0};
        };
        group_pixels<M, kGroup, kTaps, kStride, true>(line, pixel, pixels, of, inputs);
      } else {
        const float* table[kMaxDepthwiseTaps / kTaps][kInputs];
        for (int64_t r = 0; r < line.n_rows; ++r)
          for (int q = 0; q < kInputs; ++q) table[r][q] = group_input_at(line, r, first + q, of.first);
        const auto inputs = [&](int64_t r) HWY_ATTR { return table[r]; };
        group_pixels<M, kGroup, kTaps, kStride, true>(line, pixel, pixels, of, inputs);
      }
    }
  });
}

template <class M, int kGroup, bool kWhole>
HWY_NOINLINE void group_line_of_any(const DepthwiseLine& line) {
  each_group_channels<kGroup>(line, [&](const GroupChannels& of) HWY_ATTR {
    for (int64_t pixel = 0; pixel < line.out_width; pixel += kPixels) {
      const int64_t pixels = HWY_MIN(kPixels, line.out_width - pixel), first = pixel * line.stride - line.before;
      const float* table[kMaxDepthwiseTaps * kPixels];
      const float** to = table;
      for (int64_t r = 0; r < line.n_rows; ++r)
        for (int64_t t = 0; t < line.taps; ++t)
          for (int64_t p = 0; p < kPixels; ++p)
            *to++ = group_input_at(line, r, first + p * line.stride + t * line.dilation, of.first);
      any_group_pixels<M, kGroup, kWhole>(line, pixel, pixels, of, table);
    }
  });
}

template <class M, int kGroup>
HWY_INLINE void run_group_line(const DepthwiseLine& line) {
  if (line.channels < kGroupLanes) return group_line_of_any<M, kGroup, false>(line);
  if constexpr (kGroup > 2) {
    if (line.dilation == 1 && line.taps == 3 && line.stride == 1) return group_line_of<M, kGroup, 3, 1>(line);
    if (line.dilation == 1 && line.taps == 3 && line.stride == 2) return group_line_of<M, kGroup, 3, 2>(line);
  }
  group_line_of_any<M, kGroup, true>(line);
}

template <class M>
HWY_INLINE void run_grouped(const GroupedLine& line) {
  switch (line.group) {
    case 2:
      return run_group_line<M, 2>(line);
    case 4:
      return run_group_line<M, 4>(line);
    default:
      return run_group_line<M, 8>(line);
  }
}

void grouped_f32(const GroupedLine& line) { run_grouped<Fused>(line); }
void grouped_f32_exact(const GroupedLine& line) { run_grouped<Portable>(line); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(grouped_f32);
NNEX_SIMD_BUILDS(grouped_f32_exact);
}  // namespace nnex::kernels::simd
#endif
