// Layers, and the wires that are too long to be drawn.

#include <algorithm>
#include <limits>
#include <utility>

#include "api/view/layout.h"

namespace nnex::drawing {

std::vector<size_t> layers_of(size_t frames, const std::vector<Wire>& wires) {
  std::vector<std::vector<size_t>> out(frames);
  std::vector<size_t> in(frames, 0);
  for (size_t w = 0; w < wires.size(); ++w) {
    out[wires[w].from].push_back(w);
    for (size_t to : wires[w].to) ++in[to];
  }
  std::vector<size_t> layer(frames, 0);
  for (size_t f = 0; f < frames; ++f)  // whoever reads comes later
    for (size_t w : out[f])
      for (size_t to : wires[w].to) layer[to] = std::max(layer[to], layer[f] + 1);
  // What gives more than it takes stands just above its first reader.
  for (size_t f = frames; f-- > 0;) {
    if (out[f].size() <= in[f] || out[f].empty()) continue;
    size_t first = std::numeric_limits<size_t>::max();
    for (size_t w : out[f])
      for (size_t to : wires[w].to) first = std::min(first, layer[to]);
    if (first != std::numeric_limits<size_t>::max()) layer[f] = std::max(layer[f], first - 1);
  }
  // No layer is empty: columns and rows are counted by them.
  size_t last = 0;
  for (size_t l : layer) last = std::max(last, l);
  std::vector<size_t> used(frames == 0 ? 0 : last + 1, 0);
  for (size_t l : layer) used[l] = 1;
  for (size_t l = 0, next = 0; l < used.size(); ++l) next += std::exchange(used[l], next);
  for (size_t& l : layer) l = used[l];
  return layer;
}

std::vector<std::pair<size_t, size_t>> too_far(const std::vector<Wire>& wires, const std::vector<size_t>& layers,
                                               size_t budget) {
  constexpr size_t kNear = 6;  ///< Layers over which a wire is always drawn.
  std::vector<std::pair<size_t, size_t>> by_span;
  for (size_t w = 0; w < wires.size(); ++w) {
    size_t lowest = layers[wires[w].from];
    for (size_t to : wires[w].to) lowest = std::max(lowest, layers[to]);
    by_span.emplace_back(lowest - layers[wires[w].from], w);
  }
  std::sort(by_span.begin(), by_span.end());
  std::vector<std::pair<size_t, size_t>> far;
  size_t bends = 0;
  for (const auto& [span, w] : by_span) {
    if (span <= kNear || bends + span <= budget) {
      bends += span;
      continue;
    }
    for (size_t i = 0; i < wires[w].to.size(); ++i)
      if (layers[wires[w].to[i]] - layers[wires[w].from] > kNear) far.emplace_back(w, i);
  }
  std::sort(far.begin(), far.end());
  return far;
}

}  // namespace nnex::drawing
