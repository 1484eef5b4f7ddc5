// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_planes.cpp"
#include <hwy/foreach_target.h>

#include "kernels/conv/loops_planes.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PlaneTag = hn::ScalableTag<float>;
constexpr int kSums = 4;  // chains of one call, of as many lines or vectors: with the next call's they hide the latency

/// Ends sums of one plane and stores the first `count` numbers of each: sum i at y + i * step.
template <int kCount>
HWY_INLINE void end_plane(const TileEnd& end, hn::Vec<PlaneTag> (&sum)[kCount], float* y, int64_t step, int64_t count) {
  const PlaneTag d;
  using V = hn::Vec<PlaneTag>;
  const auto each = [&](auto f) HWY_ATTR {
    HWY_UNROLL(4)
    for (int i = 0; i < kCount; ++i) sum[i] = f(sum[i]);
  };
  if (end.scale != 1) each([&](V v) HWY_ATTR { return hn::Mul(v, hn::Set(d, end.scale)); });
  if (end.bias) each([&](V v) HWY_ATTR { return hn::Add(v, hn::Set(d, *end.bias)); });
  if (end.activation.kind == UnaryKind::relu) {
    each([&](V v) HWY_ATTR { return relu_f32(d, v); });
  } else if (end.activation.kind == UnaryKind::clamp) {
    const V low = hn::Set(d, end.activation.alpha), high = hn::Set(d, end.activation.beta);
    each([&](V v) HWY_ATTR { return clamp_f32(d, v, low, high); });
  }
  if (end.activation.replaces_nan())
    each([&](V v) HWY_ATTR { return without_nan(d, v, hn::Set(d, end.activation.nan)); });
  const bool whole = count >= static_cast<int64_t>(hn::MaxLanes(d));
  HWY_UNROLL(4)
  for (int i = 0; i < kCount; ++i) {
    if (whole)
      hn::StoreU(sum[i], d, y + i * step);
    else
      store_part(sum[i], d, y + i * step, static_cast<size_t>(count));
  }
}

/// The same of vectors side by side, of which only a single one may be cut.
template <int kCount>
HWY_INLINE void end_vectors(const TileEnd& end, hn::Vec<PlaneTag> (&sum)[kCount], float* y, int64_t count) {
  constexpr int64_t kLanes = hn::MaxLanes(PlaneTag());
  end_plane(end, sum, y, kLanes, kCount == 1 ? count : kLanes);
}

/// Where the vector of pixel o begins: the last one of a line overlaps the one before it, as storing a part is slow.
HWY_INLINE int64_t place_of(const PlaneLines& p, int64_t o) {
  constexpr int64_t kLanes = hn::MaxLanes(PlaneTag());
  return p.out_width < kLanes ? o : HWY_MIN(o, p.out_width - kLanes);
}

/// Square filters of one slice, kSums lines at once, each `step` behind the one before: each vector of a row is loaded
/// once for all lines it meets. Rows of the filter are `step` rows apart. Returns the first line that is left.
template <class M, int kTaps, int kStride>
HWY_NOINLINE int64_t lines_together(const PlaneLines& p, int64_t line, int64_t step) {
  const PlaneTag d;
  using V = hn::Vec<PlaneTag>;
  constexpr int kRows = (kSums - 1) * kStride + kTaps;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  V w[kTaps * kTaps];
  HWY_UNROLL(32)
  for (int i = 0; i < kTaps * kTaps; ++i) w[i] = hn::Set(d, p.w[i]);
  int64_t offset[kTaps];
  HWY_UNROLL(8)
  for (int t = 0; t < kTaps; ++t) offset[t] = p.offsets[t];
  for (; line + (kSums - 1) * step < p.lines; line += kSums * step) {
    const float* const* rows = p.rows + line * kStride;
    for (int64_t i = 0; i < p.out_width; i += kLanes) {
      const int64_t o = place_of(p, i);
      V sum[kSums];
      HWY_UNROLL(4)
      for (int l = 0; l < kSums; ++l) sum[l] = hn::Zero(d);
      HWY_UNROLL(16)
      for (int q = 0; q < kRows; ++q) {
        const float* const row = rows[q * step] + o;
        HWY_UNROLL(8)
        for (int t = 0; t < kTaps; ++t) {
          V x = hn::LoadU(d, row + offset[t]);
          keep_in_register(x);
          HWY_UNROLL(4)
          for (int l = 0; l < kSums; ++l) {
            const int r = q - l * kStride;
            if (r >= 0 && r < kTaps) sum[l] = M::madd(x, w[r * kTaps + t], sum[l]);
          }
        }
      }
      end_plane(p.end, sum, p.y + line * p.y_stride + o, step * p.y_stride, p.out_width - o);
    }
  }
  return line;
}

/// kVectors vectors of one line from pixel o on.
template <class M, int kVectors>
HWY_INLINE void vectors_of(const PlaneLines& p, const float* const* first, int64_t line, int64_t o) {
  const PlaneTag d;
  using V = hn::Vec<PlaneTag>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  V sum[kVectors];
  HWY_UNROLL(4)
  for (int j = 0; j < kVectors; ++j) sum[j] = hn::Zero(d);
  const float* weight = p.w;
  for (int64_t s = 0; s < p.slices; ++s)
    for (int64_t r = 0; r < p.n_rows; ++r) {
      const float* const row = first[s * p.slice_rows + r * p.dilation] + o;
      for (int64_t t = 0; t < p.taps; ++t) {
        const V w = hn::Set(d, *weight++);
        HWY_UNROLL(4)
        for (int j = 0; j < kVectors; ++j) sum[j] = M::madd(hn::LoadU(d, row + p.offsets[t] + j * kLanes), w, sum[j]);
      }
    }
  end_vectors(p.end, sum, p.y + line * p.y_stride + o, p.out_width - o);
}

/// The vectors of kSums lines at pixel o.
template <class M>
HWY_INLINE void vectors_below(const PlaneLines& p, int64_t line, int64_t o) {
  const PlaneTag d;
  using V = hn::Vec<PlaneTag>;
  V sum[kSums];
  HWY_UNROLL(4)
  for (int l = 0; l < kSums; ++l) sum[l] = hn::Zero(d);
  const float* weight = p.w;
  for (int64_t s = 0; s < p.slices; ++s)
    for (int64_t r = 0; r < p.n_rows; ++r) {
      const float* const* row = p.rows + line * p.stride + s * p.slice_rows + r * p.dilation;
      for (int64_t t = 0; t < p.taps; ++t) {
        const V w = hn::Set(d, *weight++);
        HWY_UNROLL(4)
        for (int l = 0; l < kSums; ++l) sum[l] = M::madd(hn::LoadU(d, row[l * p.stride] + p.offsets[t] + o), w, sum[l]);
      }
    }
  end_plane(p.end, sum, p.y + line * p.y_stride + o, p.y_stride, p.out_width - o);
}

/// Vectors of one line from pixel o on, kSums of them at once as long as there are so many. Returns where it ends.
template <class M>
HWY_INLINE int64_t whole_vectors(const PlaneLines& p, int64_t line) {
  constexpr int64_t kLanes = hn::MaxLanes(PlaneTag());
  const int64_t whole = p.out_width / (kSums * kLanes) * (kSums * kLanes);
  for (int64_t o = 0; o < whole; o += kSums * kLanes) vectors_of<M, kSums>(p, p.rows + line * p.stride, line, o);
  return whole;
}

/// Any filter, one line.
template <class M>
HWY_NOINLINE void line_alone(const PlaneLines& p, int64_t line) {
  constexpr int64_t kLanes = hn::MaxLanes(PlaneTag());
  for (int64_t i = whole_vectors<M>(p, line); i < p.out_width; i += kLanes)
    vectors_of<M, 1>(p, p.rows + line * p.stride, line, place_of(p, i));
}

/// Any filter, all lines: kSums vectors of a line at once, what is left of kSums lines at once.
template <class M>
HWY_NOINLINE void lines_alone(const PlaneLines& p) {
  constexpr int64_t kLanes = hn::MaxLanes(PlaneTag());
  int64_t line = 0;
  for (; line + kSums <= p.lines; line += kSums) {
    int64_t i = 0;
    for (int64_t l = line; l < line + kSums; ++l) i = whole_vectors<M>(p, l);
    for (; i < p.out_width; i += kLanes) vectors_below<M>(p, line, place_of(p, i));
  }
  for (; line < p.lines; ++line) line_alone<M>(p, line);
}

/// kPlanes planes of any filter: each vector of a row is loaded once for all of them. Their sums, so many vectors of
/// each, stay in registers: of 32, or of 16, which have to hold products too where none is added at once.
constexpr int kPlanes = HWY_TARGET <= HWY_AVX3 ? 8 : 4, kPlaneVectors = HWY_NATIVE_FMA ? 3 : 2;
template <class M, int kVectors>
HWY_INLINE void planes_at(const PlaneLines& p, int64_t plane, int64_t line, int64_t o) {
  const PlaneTag d;
  using V = hn::Vec<PlaneTag>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const int64_t taps = p.slices * p.n_rows * p.taps;
  V sum[kPlanes][kVectors];
  HWY_UNROLL(8)
  for (int k = 0; k < kPlanes; ++k) HWY_UNROLL(4)
  for (int j = 0; j < kVectors; ++j) sum[k][j] = hn::Zero(d);
  const float* weight = p.w + plane * taps;
  const float* const* first = p.rows + line * p.stride;
  for (int64_t s = 0; s < p.slices; ++s)
    for (int64_t r = 0; r < p.n_rows; ++r) {
      const float* const row = first[s * p.slice_rows + r * p.dilation] + o;
      for (int64_t t = 0; t < p.taps; ++t, ++weight) {
        V x[kVectors];
        HWY_UNROLL(4)
        for (int j = 0; j < kVectors; ++j) {
          x[j] = hn::LoadU(d, row + p.offsets[t] + j * kLanes);
          keep_in_register(x[j]);
        }
        HWY_UNROLL(8)
        for (int k = 0; k < kPlanes; ++k) {
          const V w = hn::Set(d, weight[k * taps]);
          HWY_UNROLL(4)
          for (int j = 0; j < kVectors; ++j) sum[k][j] = M::madd(x[j], w, sum[k][j]);
        }
      }
    }
  HWY_UNROLL(8)
  for (int k = 0; k < kPlanes; ++k) {
    TileEnd end = p.end;
    if (end.bias) end.bias += plane + k;
    float* const y = p.y + (plane + k) * p.plane_step + line * p.y_stride + o;
    end_vectors(end, sum[k], y, p.out_width - o);
  }
}

template <class M>
HWY_NOINLINE void planes_together(const PlaneLines& p, int64_t plane) {
  constexpr int64_t kLanes = hn::MaxLanes(PlaneTag()), kPair = 2 * kLanes, kMost = kPlaneVectors * kLanes;
  for (int64_t line = 0; line < p.lines; ++line) {
    int64_t o = 0;
    // Rather two pairs than three vectors and one: few sums at once wait for themselves.
    for (; p.out_width - o >= kMost && (p.out_width - o != 2 * kPair || kMost == kPair); o += kMost)
      planes_at<M, kPlaneVectors>(p, plane, line, o);
    if constexpr (kMost != kPair)
      for (; p.out_width - o >= kPair; o += kPair) planes_at<M, 2>(p, plane, line, o);
    for (; o < p.out_width; o += kLanes) planes_at<M, 1>(p, plane, line, place_of(p, o));
  }
}

/// Square filters; dilated ones meet every so manieth row, and lines as far apart meet the same rows.
template <class M, int kTaps, int kStride>
HWY_INLINE void square_plane(const PlaneLines& p) {
  const int64_t step = kStride == 1 ? p.dilation : 1;
  for (int64_t first = 0; first < HWY_MIN(step, p.lines); ++first)
    for (int64_t line = lines_together<M, kTaps, kStride>(p, first, step); line < p.lines; line += step)
      line_alone<M>(p, line);
}

template <class M>
HWY_INLINE void run_plane(const PlaneLines& p) {
  if (p.slices == 1 && p.n_rows == p.taps && (p.dilation == 1 || p.stride == 1)) {
    if (p.taps == 3 && p.stride == 1) return square_plane<M, 3, 1>(p);
    if (p.taps == 3 && p.stride == 2) return square_plane<M, 3, 2>(p);
    if (p.taps == 5 && p.stride == 1) return square_plane<M, 5, 1>(p);
    if (p.taps == 5 && p.stride == 2) return square_plane<M, 5, 2>(p);
  }
  lines_alone<M>(p);
}

template <class M>
HWY_INLINE void run_planes(const PlaneLines& p) {
  int64_t plane = 0;
  for (; plane + kPlanes <= p.planes; plane += kPlanes) planes_together<M>(p, plane);
  for (; plane < p.planes; ++plane) {
    PlaneLines one = p;
    one.w += plane * p.slices * p.n_rows * p.taps;
    one.y += plane * p.plane_step;
    if (one.end.bias) one.end.bias += plane;
    run_plane<M>(one);
  }
}

void depthwise_planes_f32(const PlaneLines& p) { run_planes<Fused>(p); }
void depthwise_planes_f32_exact(const PlaneLines& p) { run_planes<Portable>(p); }

#if HWY_TARGET != HWY_SCALAR
/// Two phases of n floats in vectors, the last two of which may overlap; returns how many are done, an even number or
/// all.
template <class D>
HWY_INLINE size_t two_phases(D d, const float* x, float* y, size_t n, int64_t y_stride) {
  const size_t step = 2 * hn::Lanes(d), end = n / 2 * 2;
  if (end < step) return 0;
  for (size_t i = 0;; i += step) {
    const size_t at = HWY_MIN(i, end - step);
    hn::Vec<D> even, odd;
    hn::LoadInterleaved2(d, x + at, even, odd);
    hn::StoreU(even, d, y + at / 2);
    hn::StoreU(odd, d, y + y_stride + at / 2);
    if (at + step >= end) return end;
  }
}
#endif

HWY_INLINE void cut_line(const float* x, float* y, size_t n, size_t phases, int64_t y_stride) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (phases == 2) {
    i = two_phases(PlaneTag(), x, y, n, y_stride);
    if (i == 0) i = two_phases(hn::CappedTag<float, 4>(), x, y, n, y_stride);
  }
#endif
  for (size_t phase = 0; phase < phases && i + phase < n; ++phase) {
    float* to = y + static_cast<int64_t>(phase) * y_stride + i / phases;
    for (size_t from = i + phase; from < n; from += phases) *to++ = x[from];
  }
}

void phases_f32(const Phases& p) {
  for (size_t r = 0; r < p.rows; ++r) cut_line(p.x + r * p.x_row, p.y + r * p.y_row, p.n, p.phases, p.y_stride);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(depthwise_planes_f32);
NNEX_SIMD_BUILDS(depthwise_planes_f32_exact);
NNEX_SIMD_BUILDS(phases_f32);
}  // namespace nnex::kernels::simd
#endif
