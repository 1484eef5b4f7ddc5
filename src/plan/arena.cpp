#include "plan/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/checked.h"

namespace nnex::plan {

namespace {

constexpr size_t kFew = 2048;  ///< Requests that may each be compared with all others.

/// Bytes in steps of 64; nothing where that is too many.
std::optional<int64_t> rounded(int64_t bytes) {
  const auto size = checked_add(bytes, 63);
  return size ? std::optional(*size & ~int64_t{63}) : std::nullopt;
}

Error too_large() { return Error(Code::limit, "the arena is too large"); }

/// The largest first, each at the lowest place that is free as long as it lives.
Result<int64_t> place_by_size(std::vector<ArenaRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (size_t index : order) {
    ArenaRequest& r = requests[index];
    int64_t at = 0;
    for (size_t other : placed) {
      const ArenaRequest& p = requests[other];
      if (p.last < r.first || r.last < p.first) continue;
      if (at + *rounded(r.bytes) <= p.offset) break;
      at = std::max(at, p.offset + *rounded(p.bytes));
    }
    const auto end = checked_add(at, *rounded(r.bytes));
    if (!end) return too_large();
    r.offset = at;
    total = std::max(total, *end);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return requests[a].offset < requests[b].offset; }),
                  index);
  }
  return total;
}

/// Memory that is free for now: pieces by offset and by size, none beside another.
class FreePieces {
 public:
  /// The smallest piece that fits, else new memory at the end; nothing where that is too much.
  std::optional<int64_t> take(int64_t size) {
    const auto fits = by_size_.lower_bound({size, 0});
    if (fits == by_size_.end()) return grow(size);
    const auto [have, at] = *fits;
    erase(by_offset_.find(at));
    if (have > size) insert(at + size, have - size);
    return at;
  }
  void give(int64_t at, int64_t size) {
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.begin())
      if (const auto before = std::prev(next); before->first + before->second == at) {
        at = before->first, size += before->second;
        erase(before);
      }
    if (next != by_offset_.end() && at + size == next->first) {
      size += next->second;
      erase(next);
    }
    insert(at, size);
  }
  int64_t end() const { return end_; }

 private:
  using ByOffset = std::map<int64_t, int64_t>;
  void insert(int64_t at, int64_t size) { by_offset_.emplace(at, size), by_size_.emplace(size, at); }
  void erase(ByOffset::iterator piece) {
    by_size_.erase({piece->second, piece->first});
    by_offset_.erase(piece);
  }
  /// From the last piece on, where that reaches the end.
  std::optional<int64_t> grow(int64_t size) {
    int64_t at = end_;
    if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second == end_) at = last->first, erase(last);
    }
    const auto end = checked_add(at, size);
    if (end) end_ = *end;
    return end ? std::optional(at) : std::nullopt;
  }

  ByOffset by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

/// One step after another, each request in the piece that fits it best.
Result<int64_t> place_by_step(std::vector<ArenaRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].first < requests[b].first; });
  std::set<std::pair<size_t, size_t>> living;  // by their last step
  FreePieces pieces;
  for (size_t index : order) {
    ArenaRequest& r = requests[index];
    r.offset = 0;
    if (r.bytes == 0) continue;
    for (; !living.empty() && living.begin()->first < r.first; living.erase(living.begin())) {
      const ArenaRequest& dead = requests[living.begin()->second];
      pieces.give(dead.offset, *rounded(dead.bytes));
    }
    const auto at = pieces.take(*rounded(r.bytes));
    if (!at) return too_large();
    r.offset = *at;
    living.emplace(r.last, index);
  }
  return pieces.end();
}

}  // namespace

Result<int64_t> arena_offsets(std::vector<ArenaRequest>& requests) {
  for (const ArenaRequest& r : requests)
    if (!rounded(r.bytes)) return Error(Code::limit, "a tensor is too large for the arena");
  return requests.size() <= kFew ? place_by_size(requests) : place_by_step(requests);
}

}  // namespace nnex::plan
