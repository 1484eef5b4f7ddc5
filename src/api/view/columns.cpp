// Where a tall drawing is cut into columns, as a newspaper is.

#include <algorithm>
#include <cmath>

#include "api/view/layout.h"

namespace nnex::drawing {
namespace {

/// Wires that go from a row to the next one, each counted once.
size_t wires_below(const Layers& layers, size_t row) {
  size_t count = 0;
  for (size_t s : layers.rows[row]) count += layers.spots[s].below.empty() ? 0 : 1;
  return count;
}

}  // namespace

std::vector<size_t> column_breaks(const Layers& layers, const std::vector<double>& axes,
                                  const std::vector<double>& row_heights, const LayoutOptions& options) {
  double height = 0, low = 0, high = 0;
  for (double h : row_heights) height += h;
  for (size_t s = 0; s < axes.size(); ++s) {
    low = s == 0 ? axes[s] - layers.spots[s].left : std::min(low, axes[s] - layers.spots[s].left);
    high = s == 0 ? axes[s] + layers.spots[s].right : std::max(high, axes[s] + layers.spots[s].right);
  }
  const double width = high - low + options.column_gap;
  if (options.aspect <= 0 || height <= options.tall) return {};
  const double columns = std::round(std::sqrt(options.aspect * height / width));
  if (columns < 2) return {};
  const double one = height / columns;
  constexpr size_t kMaxWires = 12;  // more of them in a gutter cannot be followed
  std::vector<size_t> breaks;
  double begin = 0, y = 0, kept_y = 0;
  size_t kept = 0, fewest = kMaxWires + 1;
  for (size_t r = 0; r + 1 < row_heights.size(); ++r) {
    y += row_heights[r];
    if (height - y < 0.4 * one) break;
    if (const size_t wires = wires_below(layers, r); y - begin >= 0.75 * one && wires <= kMaxWires) {
      // Fewer wires first, then the height that was asked for.
      const bool nearer = std::abs(y - begin - one) < std::abs(kept_y - begin - one);
      if (wires < fewest || (wires == fewest && nearer)) fewest = wires, kept = r, kept_y = y;
    }
    if (y - begin < 1.25 * one || fewest > kMaxWires) continue;
    breaks.push_back(kept);
    begin = kept_y, fewest = kMaxWires + 1;
    y = kept_y, r = kept;
  }
  return breaks;
}

}  // namespace nnex::drawing
