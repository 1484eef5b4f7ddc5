// The order of spots within rows: fewer crossings.

#include <algorithm>

#include "api/view/layout.h"

namespace nnex::drawing {

void Layers::number() {
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) spots[row[i]].position = i;
}

namespace {

/// Pairs (i < j) of which the second stands before the first, counted by a binary indexed tree.
size_t inversions(const std::vector<size_t>& positions, size_t limit) {
  std::vector<size_t> tree(limit + 1, 0);
  size_t count = 0, seen = 0;
  for (size_t p : positions) {
    size_t not_after = 0;
    for (size_t i = p + 1; i > 0; i -= i & (~i + 1)) not_after += tree[i];
    count += seen - not_after;
    ++seen;
    for (size_t i = p + 1; i <= limit; i += i & (~i + 1)) ++tree[i];
  }
  return count;
}

/// Ascending, in the place of what `out` held.
void take_positions(const Layers& layers, const std::vector<size_t>& spots, std::vector<size_t>& out) {
  out.resize(spots.size());
  for (size_t i = 0; i < spots.size(); ++i) out[i] = layers.spots[spots[i]].position;
  if (out.size() > 1) std::sort(out.begin(), out.end());
}

/// Between the two middle positions, nearer to the side that is denser (Gansner and others, weighted median).
double median(const std::vector<size_t>& p) {
  const size_t m = p.size() / 2;
  if (p.size() % 2 == 1) return static_cast<double>(p[m]);
  if (p.size() == 2) return static_cast<double>(p[0] + p[1]) / 2;
  const auto left = static_cast<double>(p[m - 1] - p[0]), right = static_cast<double>(p.back() - p[m]);
  if (left + right == 0) return static_cast<double>(p[m - 1] + p[m]) / 2;
  return (static_cast<double>(p[m - 1]) * right + static_cast<double>(p[m]) * left) / (left + right);
}

/// Orders a row by the medians of its neighbours; those without neighbours keep their place.
void order_row(Layers& layers, std::vector<size_t>& row, bool down) {
  std::vector<std::pair<double, size_t>> moving;
  std::vector<size_t> positions;
  for (size_t s : row) {
    const auto& side = down ? layers.spots[s].above : layers.spots[s].below;
    if (side.empty()) continue;
    take_positions(layers, side, positions);
    moving.emplace_back(median(positions), s);
  }
  std::stable_sort(moving.begin(), moving.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t next = 0;
  for (size_t& s : row)
    if (!(down ? layers.spots[s].above : layers.spots[s].below).empty()) s = moving[next++].second;
  for (size_t i = 0; i < row.size(); ++i) layers.spots[row[i]].position = i;
}

/// Crossings of the wires of a left of b on one side.
size_t crossing_pairs(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  size_t count = 0, before = 0;
  for (size_t p : a) {
    while (before < b.size() && b[before] < p) ++before;
    count += before;
  }
  return count;
}

/// Where the wires of a spot go, ascending.
struct Ends {
  std::vector<size_t> above, below;

  void take(const Layers& layers, size_t s) {
    take_positions(layers, layers.spots[s].above, above);
    take_positions(layers, layers.spots[s].below, below);
  }
};

/// Exchanges neighbours as long as that saves crossings. Whether it saved any.
bool exchange_neighbours(Layers& layers) {
  bool any = false;
  Ends a, b;
  for (auto& row : layers.rows) {
    if (row.size() < 2) continue;
    a.take(layers, row[0]);
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      b.take(layers, row[i + 1]);
      const size_t now = crossing_pairs(a.above, b.above) + crossing_pairs(a.below, b.below);
      if (now > 0 && crossing_pairs(b.above, a.above) + crossing_pairs(b.below, a.below) < now) {
        std::swap(row[i], row[i + 1]);
        layers.spots[row[i]].position = i, layers.spots[row[i + 1]].position = i + 1;
        any = true;
      } else {
        std::swap(a, b);
      }
    }
  }
  return any;
}

}  // namespace

size_t crossings(const Layers& layers) {
  size_t count = 0;
  std::vector<size_t> ends, below;
  for (size_t r = 0; r + 1 < layers.rows.size(); ++r) {
    ends.clear();
    for (size_t s : layers.rows[r]) {
      take_positions(layers, layers.spots[s].below, below);
      ends.insert(ends.end(), below.begin(), below.end());
    }
    count += inversions(ends, layers.rows[r + 1].size());
  }
  return count;
}

void reduce_crossings(Layers& layers) {
  constexpr size_t kMaxSweeps = 16, kMinSweeps = 4, kJoins = 100'000;  // joins that all sweeps together look at
  constexpr size_t kPatience = 4;
  constexpr int kExchanges = 4;
  layers.number();
  size_t joins = 1;
  for (const Spot& s : layers.spots) joins += s.below.size();
  const size_t sweeps = std::clamp(kJoins / joins, kMinSweeps, kMaxSweeps);
  std::vector<std::vector<size_t>> best = layers.rows;
  size_t min = crossings(layers);
  for (size_t sweep = 0, without = 0; sweep < sweeps && without < kPatience && min > 0; ++sweep) {
    const bool down = sweep % 2 == 0;
    for (size_t i = 1; i < layers.rows.size(); ++i)
      order_row(layers, layers.rows[down ? i : layers.rows.size() - 1 - i], down);
    for (int round = 0; round < kExchanges && exchange_neighbours(layers); ++round) {
    }
    const size_t now = crossings(layers);
    ++without;
    if (now < min) min = now, best = layers.rows, without = 0;
  }
  layers.rows = std::move(best);
  layers.number();
}

}  // namespace nnex::drawing
