#include "kernels/conv/winograd.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/try.h"
#include "kernels/product/matrix_rows.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kProducts = 16;
constexpr int kMaxWidth = 64;  // of a panel

Columns product_columns(const simd::Loops& loops, const ConvShape& s, const float* packed) {
  return {loops.tile_shape_f32(), s.in_channels, s.out_channels, packed, 0};
}

/// The patches of a batch in groups, whose transformed values stay in the second level cache. A group's extent changes
/// no number.
struct Groups {
  Groups(const ConvShape& s, int64_t threads)
      : columns(ceil_div(s.out[2], 2)),
        patches(ceil_div(s.out[1], 2) * columns),
        total(s.batch * patches),
        v_step(ceil_div(s.in_channels, 16) * 16 + 16),  // rows of a tile start in different sets of the cache
        m_step(ceil_div(s.out_channels, 16) * 16 + 16) {
    constexpr int64_t kFloats = 112 * 1024, kMin = 56, kRows = 14;
    const int64_t wanted = std::max(kMin, kFloats / (kProducts * (v_step + m_step)) / kRows * kRows);
    count = std::min(std::max(ceil_div(total, wanted), threads), std::max<int64_t>(total, 1));
    // A few patches for each thread, which each would read all filters: threads share the products of all patches out.
    constexpr int64_t kFewPatches = 2 * kRows, kPatchFloats = 2 * kFloats;  // for a thread
    together =
        threads > 1 && total < kFewPatches * threads && kProducts * total * (v_step + m_step) <= kPatchFloats * threads;
    if (together) count = 1;
    max = ceil_div(total, count);
  }
  /// Of one group: transformed patches, products, and a pixel of zeros.
  int64_t floats() const { return kProducts * max * (v_step + m_step) + v_step; }

  int64_t columns, patches, total, v_step, m_step;
  int64_t count = 1, max = 1;
  bool together = false;  ///< One group, of which each thread has some products.
};

/// The patches of one group.
class GroupRun {
 public:
  GroupRun(const simd::Loops& loops, const ConvShape& s, const Groups& groups, const float* x, const float* packed,
           float* y, const Epilogue& end, float* scratch)
      : loops_(loops),
        s_(s),
        g_(groups),
        x_(x),
        packed_(packed),
        y_(y),
        end_(end),
        v_(scratch),
        m_(scratch + kProducts * groups.max * groups.v_step),
        zeros_(m_ + kProducts * groups.max * groups.m_step) {
    std::fill_n(zeros_, groups.v_step, 0.0F);
  }

  void run(int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; ++i) take(first + i, v_ + i * g_.v_step);
    for (int64_t p = 0; p < kProducts; ++p) multiply(p, n, 0, 1);
    for (int64_t i = 0; i < n; ++i) give(first + i, m_ + i * g_.m_step);
  }

  /// The same of all patches, by a team.
  void run(Team& team) {
    const int64_t n = g_.total, parts = std::min<int64_t>(n, 2 * team.size());
    team.run(parts, [&](int64_t part) {
      for (int64_t i = share(n, parts, part); i < share(n, parts, part + 1); ++i) take(i, v_ + i * g_.v_step);
    });
    const int64_t pieces =
        std::min(product_columns(loops_, s_, packed_).panels(), ceil_div(2 * team.size(), kProducts));
    team.run(kProducts * pieces, [&](int64_t part) { multiply(part / pieces, n, part % pieces, pieces); });
    team.run(parts, [&](int64_t part) {
      for (int64_t i = share(n, parts, part); i < share(n, parts, part + 1); ++i) give(i, m_ + i * g_.m_step);
    });
  }

 private:
  /// Product p of n patches; of its columns one of so many pieces.
  void multiply(int64_t p, int64_t n, int64_t piece, int64_t pieces) const {
    Columns columns = product_columns(loops_, s_, packed_);
    const int64_t width = columns.shape.columns, panels = columns.panels();
    const int64_t begin = share(panels, pieces, piece), end = share(panels, pieces, piece + 1);
    columns.b += p * columns.floats() + begin * columns.panel_stride();
    columns.n = std::min(columns.n, end * width) - begin * width;
    Team alone;
    multiply_tiles(loops_, alone,
                   MatrixRows<LiftFloat>(columns.shape, {}, v_ + p * g_.max * g_.v_step, n, g_.v_step, 1), columns,
                   m_ + p * g_.max * g_.m_step + begin * width, g_.m_step, {});
  }

  struct Place {
    int64_t image, row, column;  // of the first output
  };
  Place place(int64_t patch) const {
    const int64_t at = patch % g_.patches;
    return {patch / g_.patches, at / g_.columns * 2, at % g_.columns * 2};
  }

  void take(int64_t patch, float* to) const {
    const Place at = place(patch);
    simd::WinogradPatch p;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t row = at.row - s_.before[1] + i;
      const float* line = x_ + (at.image * s_.in[1] + row) * s_.in[2] * s_.x_step();
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t column = at.column - s_.before[2] + j;
        const bool inside = row >= 0 && row < s_.in[1] && column >= 0 && column < s_.in[2];
        p.d[4 * i + j] = inside ? line + column * s_.x_step() : zeros_;
      }
    }
    p.y = to, p.y_stride = g_.max * g_.v_step;
    p.channels = s_.in_channels;
    loops_.winograd_patch_f32(p);
  }

  void give(int64_t patch, const float* from) const {
    const Place at = place(patch);
    simd::WinogradResult r;
    r.m = from, r.m_stride = g_.max * g_.m_step;
    r.channels = s_.out_channels;
    r.end = tile_end(end_, 0, 0);
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t row = at.row + i / 2, column = at.column + i % 2;
      if (row >= s_.out[1] || column >= s_.out[2]) continue;
      const int64_t pixel = (at.image * s_.out[1] + row) * s_.out[2] + column;
      r.y[i] = y_ + pixel * s_.y_step();
      if (end_.residual) r.residual[i] = end_.residual + pixel * end_.residual_stride;
    }
    loops_.winograd_result_f32(r);
    if (ends_in_tile(end_.activation)) return;
    for (float* y : r.y)
      if (y) loops_.unary_f32(end_.activation, y, y, static_cast<size_t>(s_.out_channels));
  }

  const simd::Loops& loops_;
  const ConvShape& s_;
  const Groups& g_;
  const float* const x_;
  const float* const packed_;
  float* const y_;
  const Epilogue& end_;
  float* const v_;
  float* const m_;
  float* const zeros_;
};

/// Four numbers of G g for three of a column (or row) of the filter, each `step` vectors apart; width numbers at once.
void filter_column(const float (*g)[kMaxWidth], int step, int width, float (*t)[kMaxWidth], int t_step) {
  for (int j = 0; j < width; ++j) {
    const float a = g[0][j], b = g[step][j], c = g[2 * step][j], ends = a + c;
    t[0][j] = a;
    t[t_step][j] = (ends + b) * 0.5F;
    t[2 * t_step][j] = (ends - b) * 0.5F;
    t[3 * t_step][j] = c;
  }
}

/// Columns [first, first + count) of the filter, transformed, into a panel of `width` columns of every product.
void pack_panel(const ConvShape& s, const std::byte* filter, int64_t first, int count, int width, float* packed,
                int64_t product_floats) {
  float g[9][kMaxWidth] = {}, t[12][kMaxWidth], u[kProducts][kMaxWidth];
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int j = 0; j < count; ++j) {
      float taps[9];
      std::memcpy(taps, filter + ((first + j) * s.in_channels + c) * 36, 36);
      for (int k = 0; k < 9; ++k) g[k][j] = taps[k];
    }
    for (int k = 0; k < 3; ++k) filter_column(g + k, 3, width, t + k, 3);
    for (int i = 0; i < 4; ++i) filter_column(t + 3 * i, 1, width, u + 4 * i, 1);
    for (int64_t p = 0; p < kProducts; ++p) std::copy_n(u[p], width, packed + p * product_floats + c * width);
  }
}

}  // namespace

bool is_winograd_conv(const ConvShape& s) {
  // The transforms take time for each channel, the multiplications they save for each pair of channels.
  constexpr int64_t kMinChannels = 16, kMinPairs = 12, kMinPatches = 32;
  const ConvShape::Axes ones = {1, 1, 1}, plane = {1, 3, 3};
  if (s.groups != 1 || s.low_memory || s.kernel != plane || s.stride != ones || s.dilation != ones || s.in[0] != 1 ||
      s.out[0] != 1 || s.before[0] != 0 || s.in_channels < kMinChannels || s.out_channels < kMinChannels ||
      s.in_channels * s.out_channels < kMinPairs * (s.in_channels + s.out_channels))
    return false;
  const int64_t patches = ceil_div(s.out[1], 2) * ceil_div(s.out[2], 2);
  return patches >= kMinPatches && patches * 20 <= s.out[1] * s.out[2] * 9;
}

int64_t winograd_filter_floats(const simd::Loops& loops, const ConvShape& s) {
  return kProducts * product_columns(loops, s, nullptr).floats();
}

void pack_winograd_filter(const simd::Loops& loops, Team& team, const ConvShape& s, const std::byte* filter,
                          float* packed) {
  const Columns columns = product_columns(loops, s, packed);
  NNEX_ASSERT(columns.shape.columns <= kMaxWidth);
  team.run(columns.panels(), [&](int64_t panel) {
    pack_panel(s, filter, panel * columns.shape.columns, columns.columns(panel), columns.width(panel),
               packed + panel * columns.panel_stride(), columns.floats());
  });
}

int64_t winograd_workspace(const ConvShape& s, int threads) {
  int64_t floats = 0;
  for (int64_t t = 1; t <= std::clamp(threads, 1, usable_threads()); ++t) {
    const Groups groups(s, t);
    floats = std::max(floats, std::min(t, groups.count) * groups.floats());
  }
  return ceil_div(floats, 16) * 64;
}

void conv_winograd(const simd::Loops& loops, Team& team, const ConvShape& s, const float* x, const float* packed,
                   float* y, const Epilogue& end, std::byte* workspace) {
  const int threads = std::min(team.size(), usable_threads());  // a team may have more than the workspace was made for
  const Groups groups(s, threads);
  if (groups.total == 0) return;
  if (groups.together)
    return GroupRun(loops, s, groups, x, packed, y, end, reinterpret_cast<float*>(workspace)).run(team);
  const int64_t parts = std::min<int64_t>(threads, groups.count);
  team.run(parts, [&](int64_t part) {
    GroupRun run(loops, s, groups, x, packed, y, end, reinterpret_cast<float*>(workspace) + part * groups.floats());
    for (int64_t i = share(groups.count, parts, part); i < share(groups.count, parts, part + 1); ++i) {
      const int64_t first = share(groups.total, groups.count, i);
      run.run(first, share(groups.total, groups.count, i + 1) - first);
    }
  });
}

}  // namespace nnex::kernels
