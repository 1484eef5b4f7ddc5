#include "kernels/pool/pool.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "base/split.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

constexpr size_t kMaxPoolTaps = 128;  // taps folded in one call; larger windows go on from what they have

/// Folds taps of float32 into y.
struct FoldFloats {
  using Element = float;
  const simd::Loops& loops;
  bool maximum;
  float divisor = 1;

  void operator()(const float** taps, size_t count, bool started, bool last, float* y, size_t n) const {
    const float by = last ? divisor : 1.0F;
    if (count == 0 && started && by == 1.0F) return;
    loops.fold_taps_f32(maximum, taps, count, started ? y : nullptr, by, y, n, 1, 0);
  }
  /// Pixels side by side whose windows lie inside the input.
  void line(const float** taps, size_t count, const PoolWindow& w, float* y, int64_t pixels) const {
    loops.fold_taps_f32(maximum, taps, count, nullptr, divisor, y, static_cast<size_t>(w.channels), pixels,
                        w.stride[2] * w.channels);
  }
};

/// The greatest of bytes; flip 0x80: signed.
struct GreatestByte {
  using Element = uint8_t;
  const simd::Loops& loops;
  uint8_t flip;

  void operator()(const uint8_t** taps, size_t count, bool started, bool /*last*/, uint8_t* y, size_t n) const {
    if (started) taps[count++] = y;
    loops.max_bytes({taps, count, flip, 1, 0, y, 0, n});
  }
  void line(const uint8_t** taps, size_t count, const PoolWindow& w, uint8_t* y, int64_t pixels) const {
    loops.max_bytes(
        {taps, count, flip, pixels, w.stride[2] * w.channels, y, w.channels, static_cast<size_t>(w.channels)});
  }
};

/// Folds the taps of one output pixel into y.
template <class Fold>
struct PixelPool {
  using T = typename Fold::Element;
  Fold fold;
  const PoolWindow& window;
  const T* taps[kMaxPoolTaps + 1];
  size_t count = 0;
  bool started = false;

  void flush(bool last, T* y) {
    fold(taps, count, started, last, y, static_cast<size_t>(window.channels));
    count = 0;
    started = true;
  }

  /// `pixels`: of a line, all of whose windows look like the first one's, of at most kMaxPoolTaps.
  void run(const T* image, const AxisTaps (&axis)[3], T* y, int64_t pixels) {
    started = false;
    for (int64_t i = axis[0].first; i < axis[0].last; ++i) {
      const int64_t at0 = axis[0].start + i * window.dilation[0];
      for (int64_t j = axis[1].first; j < axis[1].last; ++j) {
        const int64_t at1 = at0 * window.in[1] + axis[1].start + j * window.dilation[1];
        for (int64_t k = axis[2].first; k < axis[2].last; ++k) {
          const int64_t at2 = at1 * window.in[2] + axis[2].start + k * window.dilation[2];
          if (count == kMaxPoolTaps) flush(false, y);
          taps[count++] = image + at2 * window.channels;
        }
      }
    }
    if (pixels > 1) return fold.line(taps, std::exchange(count, 0), window, y, pixels);
    flush(true, y);
  }
};

/// The output columns [begin, end) whose windows lie inside the input's lines.
struct WholeWindows {
  int64_t begin = 0, end = 0;

  explicit WholeWindows(const PoolWindow& w) {
    const int64_t reach = window_reach(w.size[2], w.dilation[2]), room = w.in[2] + w.before[2] - reach;
    begin = std::min(w.out[2], w.before[2] > 0 ? (w.before[2] + w.stride[2] - 1) / w.stride[2] : int64_t{0});
    end = room < 0 ? begin : std::clamp(room / w.stride[2] + 1, begin, w.out[2]);
  }
};

/// Calls value(pixel, image, axis, taps, y, pixels) for every run of output pixels whose windows look alike: those of a
/// line that lie inside the input's lines together, the others one by one. `none` is the value of a window without
/// taps.
template <class Fold, class T, class Value>
void pool(const Fold& fold, Team& team, const PoolWindow& w, T none, const T* x, T* y, Value value) {
  const int64_t rows = w.batch * w.out[0] * w.out[1], volume = w.size[0] * w.size[1] * w.size[2];
  const int64_t cost = rows * w.out[2] * w.channels * int64_t{sizeof(T)} * (1 + volume / (sizeof(T) == 1 ? 4 : 2));
  const WholeWindows whole(w);
  // Few lines are cut into pieces.
  const int64_t wanted = ceil_div(parts_for(team, cost), std::max<int64_t>(rows, 1));
  const int64_t pieces = std::max<int64_t>(1, std::min(wanted, ceil_div(w.out[2], 16)));
  split(team, rows * pieces, cost, 1, [&](int64_t begin, int64_t end) {
    PixelPool<Fold> pixel{fold, w, {}};
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit / pieces;
      const Part piece = part_of(w.out[2], pieces, unit % pieces);
      const int64_t o1 = row % w.out[1], o0 = row / w.out[1] % w.out[0], image = row / w.out[1] / w.out[0];
      AxisTaps axis[3] = {axis_taps(w, 0, o0), axis_taps(w, 1, o1), {}};
      for (int64_t o2 = piece.begin, pixels = 1; o2 < piece.end; o2 += pixels) {
        axis[2] = axis_taps(w, 2, o2);
        int64_t taps = 1;
        for (const AxisTaps& a : axis) taps *= a.last - a.first;
        const bool alike = o2 >= whole.begin && o2 < whole.end && taps <= static_cast<int64_t>(kMaxPoolTaps);
        pixels = alike ? std::min(whole.end, piece.end) - o2 : 1;
        T* const to = y + (row * w.out[2] + o2) * w.channels;
        if (taps == 0)
          std::fill_n(to, pixels * w.channels, none);
        else
          value(pixel, x + image * w.in[0] * w.in[1] * w.in[2] * w.channels, axis, taps, to, pixels);
      }
    }
  });
}

}  // namespace

AxisTaps axis_taps(const PoolWindow& w, int axis, int64_t position) {
  const int64_t step = w.dilation[axis], size = w.size[axis];
  AxisTaps taps;
  taps.start = position * w.stride[axis] - w.before[axis];
  const auto taps_below = [&](int64_t limit) {  // how many taps lie below `limit`
    return limit <= taps.start ? int64_t{0} : std::min(size, (limit - taps.start + step - 1) / step);
  };
  taps.first = taps_below(0);
  taps.last = std::max(taps.first, taps_below(w.in[axis]));
  taps.padded =
      taps_below(w.in[axis] + std::max<int64_t>(w.after[axis], 0)) - taps_below(-std::max<int64_t>(w.before[axis], 0));
  return taps;
}

void max_pool(const simd::Loops& loops, Team& team, const PoolWindow& w, bool zeros_count, const float* x, float* y) {
  const int64_t volume = w.size[0] * w.size[1] * w.size[2];
  const float none = zeros_count ? 0.0F : -std::numeric_limits<float>::infinity();
  pool(FoldFloats{loops, true}, team, w, none, x, y,
       [&](PixelPool<FoldFloats>& pixel, const float* image, const AxisTaps(&axis)[3], int64_t taps, float* to,
           int64_t pixels) {
         pixel.run(image, axis, to, pixels);
         if (zeros_count && taps < volume) {
           const float zero = 0.0F;
           loops.binary_f32(BinaryKind::max, Form::vector_scalar, to, &zero, to,
                            static_cast<size_t>(pixels * w.channels));
         }
       });
}

void max_pool_bytes(const simd::Loops& loops, Team& team, const PoolWindow& w, bool is_signed, const uint8_t* x,
                    uint8_t* y) {
  const uint8_t flip = is_signed ? 0x80 : 0;
  pool(GreatestByte{loops, flip}, team, w, flip, x, y,
       [](PixelPool<GreatestByte>& pixel, const uint8_t* image, const AxisTaps(&axis)[3], int64_t /*taps*/, uint8_t* to,
          int64_t pixels) { pixel.run(image, axis, to, pixels); });
}

void average_pool(const simd::Loops& loops, Team& team, const PoolWindow& w, PoolDivisor divisor, const float* x,
                  float* y) {
  pool(FoldFloats{loops, false}, team, w, 0.0F, x, y,
       [&](PixelPool<FoldFloats>& pixel, const float* image, const AxisTaps(&axis)[3], int64_t taps, float* to,
           int64_t pixels) {
         int64_t by = 1;
         switch (divisor) {
           case PoolDivisor::one:
             break;
           case PoolDivisor::window:
             by = w.size[0] * w.size[1] * w.size[2];
             break;
           case PoolDivisor::padded:
             by = axis[0].padded * axis[1].padded * axis[2].padded;
             break;
           case PoolDivisor::inside:
             by = taps;
             break;
         }
         pixel.fold.divisor = static_cast<float>(by);
         pixel.run(image, axis, to, pixels);
       });
}

}  // namespace nnex::kernels
