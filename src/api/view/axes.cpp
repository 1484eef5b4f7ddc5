// Horizontal coordinates: U. Brandes, B. Koepf, "Fast and simple horizontal coordinate assignment" (2001), with blocks
// placed by longest paths, so that spots of any width keep their distance.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_set>

#include "api/view/layout.h"

namespace nnex::drawing {
namespace {

/// The layers seen with top and bottom, or left and right, exchanged.
struct Seen {
  const Layers& layers;
  bool up, leftward;

  size_t rows() const { return layers.rows.size(); }
  const std::vector<size_t>& row(size_t i) const { return layers.rows[up ? rows() - 1 - i : i]; }
  size_t at(size_t r, size_t i) const {
    const auto& all = row(r);
    return all[leftward ? all.size() - 1 - i : i];
  }
  size_t position(size_t s) const {
    const Spot& spot = layers.spots[s];
    return leftward ? layers.rows[spot.layer].size() - 1 - spot.position : spot.position;
  }
  const std::vector<size_t>& before(size_t s) const { return up ? layers.spots[s].below : layers.spots[s].above; }
  double left(size_t s) const { return leftward ? layers.spots[s].right : layers.spots[s].left; }
  double right(size_t s) const { return leftward ? layers.spots[s].left : layers.spots[s].right; }
};

uint64_t pair_of(size_t upper, size_t lower) { return static_cast<uint64_t>(upper) << 32 | lower; }

/// Joins of a frame's wire that cross a wire between two bends: the longer wire stays straight.
std::unordered_set<uint64_t> conflicts_of(const Layers& layers) {
  std::unordered_set<uint64_t> out;
  for (size_t r = 1; r < layers.rows.size(); ++r) {
    const auto& row = layers.rows[r];
    size_t k0 = 0, next = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      const Spot& spot = layers.spots[row[i]];
      size_t inner = std::numeric_limits<size_t>::max();
      if (spot.bend)
        for (size_t u : spot.above)
          if (layers.spots[u].bend) inner = layers.spots[u].position;
      if (i + 1 < row.size() && inner == std::numeric_limits<size_t>::max()) continue;
      const size_t k1 = inner == std::numeric_limits<size_t>::max() ? layers.rows[r - 1].size() : inner;
      for (; next <= i; ++next)
        for (size_t u : layers.spots[row[next]].above) {
          const size_t p = layers.spots[u].position;
          if ((p < k0 || p > k1) && !(layers.spots[u].bend && layers.spots[row[next]].bend))
            out.insert(pair_of(u, row[next]));
        }
      k0 = k1;
    }
  }
  return out;
}

/// The first spot of the block that each spot belongs to: spots of one block share their axis.
std::vector<size_t> blocks_of(const Seen& seen, const std::unordered_set<uint64_t>& conflicts) {
  const size_t n = seen.layers.spots.size();
  std::vector<size_t> root(n);
  std::vector<char> taken(n, 0);  // has one after it in its block
  for (size_t s = 0; s < n; ++s) root[s] = s;
  for (size_t r = 1; r < seen.rows(); ++r) {
    ptrdiff_t last = -1;
    for (size_t i = 0; i < seen.row(r).size(); ++i) {
      const size_t v = seen.at(r, i);
      std::vector<std::pair<ptrdiff_t, size_t>> near;
      for (size_t u : seen.before(v)) near.emplace_back(static_cast<ptrdiff_t>(seen.position(u)), u);
      if (near.empty()) continue;
      std::sort(near.begin(), near.end());
      for (size_t m : {(near.size() - 1) / 2, near.size() / 2}) {
        const auto [p, u] = near[m];
        const auto key = seen.up ? pair_of(v, u) : pair_of(u, v);
        if (root[v] != v || taken[u] || p <= last || conflicts.count(key)) continue;
        root[v] = root[u], taken[u] = 1, last = p;
      }
    }
  }
  return root;
}

/// Blocks as far left as their neighbours allow, then those with room to their right as near to it as they can be.
std::vector<double> compact(const Seen& seen, const std::vector<size_t>& root, const LayoutOptions& options) {
  const size_t n = seen.layers.spots.size();
  struct Apart {
    size_t to;
    double by;
  };
  std::vector<std::vector<Apart>> right(n);
  std::vector<size_t> waiting(n, 0);
  for (size_t r = 0; r < seen.rows(); ++r)
    for (size_t i = 0; i + 1 < seen.row(r).size(); ++i) {
      const size_t a = seen.at(r, i), b = seen.at(r, i + 1);
      const bool wires = seen.layers.spots[a].bend && seen.layers.spots[b].bend;
      right[root[a]].push_back({root[b], seen.right(a) + seen.left(b) + (wires ? options.wire_gap : options.box_gap)});
      ++waiting[root[b]];
    }
  std::vector<double> x(n, 0);
  std::vector<size_t> order;
  for (size_t s = 0; s < n; ++s)
    if (root[s] == s && waiting[s] == 0) order.push_back(s);
  for (size_t i = 0; i < order.size(); ++i)
    for (const Apart& a : right[order[i]]) {
      x[a.to] = std::max(x[a.to], x[order[i]] + a.by);
      if (--waiting[a.to] == 0) order.push_back(a.to);
    }
  for (size_t i = order.size(); i-- > 0;) {
    double room = std::numeric_limits<double>::infinity();
    for (const Apart& a : right[order[i]]) room = std::min(room, x[a.to] - a.by);
    if (room != std::numeric_limits<double>::infinity()) x[order[i]] = std::max(x[order[i]], room);
  }
  for (size_t s = 0; s < n; ++s)
    if (root[s] != s) x[s] = x[root[s]];
  return x;
}

}  // namespace

std::vector<double> axes_of(const Layers& layers, const LayoutOptions& options) {
  const size_t n = layers.spots.size();
  const auto conflicts = conflicts_of(layers);
  struct Placed {
    std::vector<double> x;
    double low = 0, high = 0;
    bool leftward = false;
  };
  std::array<Placed, 4> all;
  for (size_t k = 0; k < 4; ++k) {
    const Seen seen{layers, k / 2 == 1, k % 2 == 1};
    Placed& p = all[k];
    p.leftward = seen.leftward;
    p.x = compact(seen, blocks_of(seen, conflicts), options);
    p.low = std::numeric_limits<double>::infinity(), p.high = -p.low;
    for (size_t s = 0; s < n; ++s) {
      if (seen.leftward) p.x[s] = -p.x[s];
      p.low = std::min(p.low, p.x[s] - layers.spots[s].left);
      p.high = std::max(p.high, p.x[s] + layers.spots[s].right);
    }
  }
  if (n == 0) return {};
  const Placed& narrow = *std::min_element(
      all.begin(), all.end(), [](const Placed& a, const Placed& b) { return a.high - a.low < b.high - b.low; });
  const double low = narrow.low, high = narrow.high;
  for (Placed& p : all) {
    const double by = p.leftward ? high - p.high : low - p.low;
    for (double& x : p.x) x += by;
  }
  std::vector<double> out(n);
  for (size_t s = 0; s < n; ++s) {
    std::array<double, 4> x{all[0].x[s], all[1].x[s], all[2].x[s], all[3].x[s]};
    std::sort(x.begin(), x.end());
    out[s] = (x[1] + x[2]) / 2;
  }
  return out;
}

}  // namespace nnex::drawing
