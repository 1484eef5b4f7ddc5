#include "plan/arena.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace nnex {

Result<int64_t> arena_offsets(std::vector<ArenaRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (size_t index : order) {
    ArenaRequest& r = requests[index];
    auto size = checked_add(r.bytes, 63);
    if (!size) return Error(Code::limit, "a tensor is too large for the arena");
    *size &= ~int64_t{63};
    int64_t at = 0;
    for (size_t other : placed) {
      const ArenaRequest& p = requests[other];
      if (p.last < r.first || r.last < p.first) continue;
      if (at + *size <= p.offset) break;
      at = std::max(at, p.offset + ((p.bytes + 63) & ~int64_t{63}));
    }
    auto end = checked_add(at, *size);
    if (!end) return Error(Code::limit, "the arena is too large");
    r.offset = at;
    total = std::max(total, *end);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return requests[a].offset < requests[b].offset; }),
                  index);
  }
  return total;
}

}  // namespace nnex
