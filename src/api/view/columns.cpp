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

namespace {

/// Breaks that make about so many columns of equal height, where few wires cross.
std::vector<size_t> breaks_for(size_t columns, const std::vector<size_t>& wires, const std::vector<double>& row_heights,
                               double height) {
  constexpr size_t kMaxWires = 12;  // more of them in a gutter cannot be followed
  const double one = height / static_cast<double>(columns);
  std::vector<size_t> breaks;
  double begin = 0, y = 0, kept_y = 0;
  size_t kept = 0, fewest = kMaxWires + 1;
  for (size_t r = 0; r + 1 < row_heights.size(); ++r) {
    y += row_heights[r];
    if (height - y < 0.4 * one) break;
    if (y - begin >= 0.75 * one && wires[r] <= kMaxWires) {
      // Fewer wires first, then the height that was asked for.
      const bool nearer = std::abs(y - begin - one) < std::abs(kept_y - begin - one);
      if (wires[r] < fewest || (wires[r] == fewest && nearer)) fewest = wires[r], kept = r, kept_y = y;
    }
    if (y - begin < 1.2 * one || fewest > kMaxWires) continue;
    breaks.push_back(kept);
    begin = kept_y, fewest = kMaxWires + 1;
    y = kept_y, r = kept;
  }
  return breaks;
}

/// The side of the smallest frame of the wanted shape that holds the columns.
double extent_of(const std::vector<size_t>& breaks, const std::vector<std::pair<double, double>>& sides,
                 const std::vector<double>& row_heights, const LayoutOptions& options) {
  double width = 0, highest = 0;
  for (size_t r = 0, next = 0; r < row_heights.size();) {
    const size_t end = next < breaks.size() ? breaks[next++] + 1 : row_heights.size();
    double low = 0, high = 0, height = 0;
    for (; r < end; ++r) {
      low = height == 0 ? sides[r].first : std::min(low, sides[r].first);
      high = height == 0 ? sides[r].second : std::max(high, sides[r].second);
      height += row_heights[r];
    }
    width += high - low + options.column_gap;
    highest = std::max(highest, height);
  }
  return std::max(width / options.aspect, highest);
}

}  // namespace

std::vector<size_t> column_breaks(const Layers& layers, const std::vector<double>& axes,
                                  const std::vector<double>& row_heights, const LayoutOptions& options) {
  double height = 0;
  for (double h : row_heights) height += h;
  if (options.aspect <= 0 || height <= options.tall) return {};
  std::vector<size_t> wires;
  std::vector<std::pair<double, double>> sides;  // of rows, bends apart: in a column of their own they come nearer
  for (size_t r = 0; r < row_heights.size(); ++r) {
    wires.push_back(wires_below(layers, r));
    double low = 1e300, high = -1e300;
    for (size_t s : layers.rows[r])
      if (!layers.spots[s].bend)
        low = std::min(low, axes[s] - layers.spots[s].left), high = std::max(high, axes[s] + layers.spots[s].right);
    sides.emplace_back(low, high);
  }
  std::vector<size_t> best;
  double min = extent_of(best, sides, row_heights, options);
  const auto max = static_cast<size_t>(std::clamp(height / options.tall * 2, 2.0, 200.0));
  for (size_t columns = 2; columns <= max; ++columns) {
    std::vector<size_t> breaks = breaks_for(columns, wires, row_heights, height);
    const double extent = extent_of(breaks, sides, row_heights, options);
    if (extent < 0.93 * min) min = extent, best = std::move(breaks);
  }
  return best;
}

}  // namespace nnex::drawing
