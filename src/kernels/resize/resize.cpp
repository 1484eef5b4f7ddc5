#include "kernels/resize/resize.h"

#include <cstring>

#include "base/split.h"
#include "base/try.h"

namespace nnex::kernels {
namespace {

constexpr int kMaxResizeTaps = 512;

int64_t index_of(const ResizeAxis& axis, int64_t o, int k) { return axis.index ? axis.index[o * axis.taps + k] : o; }
float weight_of(const ResizeAxis& axis, int64_t o, int k) {
  return axis.weight ? axis.weight[o * axis.taps + k] : 1.0F;
}

/// The taps of two axes' output positions: offsets in pixels and products of weights.
struct Taps {
  int64_t at[kMaxResizeTaps];
  float weight[kMaxResizeTaps];
  int count = 0;
};

}  // namespace

void resize_channels_last(const simd::Loops& loops, Team& team, const ResizeAxis (&axes)[3], int64_t batch,
                          int64_t channels, const float* x, float* y) {
  const ResizeAxis &plane = axes[0], &line = axes[1], &column = axes[2];
  const int all_taps = plane.taps * line.taps * column.taps;
  NNEX_ASSERT(all_taps <= kMaxResizeTaps);
  const bool copies = all_taps == 1 && !plane.weight && !line.weight && !column.weight;
  const int64_t rows = batch * plane.out * line.out;
  const size_t n = static_cast<size_t>(channels);
  split(team, rows, rows * column.out * channels * 4 * (1 + all_taps), 1, [&](int64_t begin, int64_t end) {
    Taps outer;
    const float* taps[kMaxResizeTaps];
    float weights[kMaxResizeTaps];
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o1 = row % line.out, o0 = row / line.out % plane.out, image = row / line.out / plane.out;
      outer.count = 0;
      for (int i = 0; i < plane.taps; ++i) {
        for (int j = 0; j < line.taps; ++j) {
          outer.at[outer.count] =
              ((image * plane.in + index_of(plane, o0, i)) * line.in + index_of(line, o1, j)) * column.in;
          outer.weight[outer.count++] = weight_of(plane, o0, i) * weight_of(line, o1, j);
        }
      }
      float* to = y + row * column.out * channels;
      for (int64_t o2 = 0; o2 < column.out; ++o2, to += channels) {
        if (copies) {
          std::memcpy(to, x + (outer.at[0] + index_of(column, o2, 0)) * channels, n * sizeof(float));
          continue;
        }
        int count = 0;
        for (int t = 0; t < outer.count; ++t) {
          for (int k = 0; k < column.taps; ++k) {
            taps[count] = x + (outer.at[t] + index_of(column, o2, k)) * channels;
            weights[count++] = outer.weight[t] * weight_of(column, o2, k);
          }
        }
        loops.weigh_taps_f32(taps, weights, static_cast<size_t>(count), to, n);
      }
    }
  });
}

}  // namespace nnex::kernels
