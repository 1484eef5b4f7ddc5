// Offsets in the arena: tensors that live at the same time never overlap, and the whole is hardly more than what lives
// at once, for few tensors and for many.

#include "plan/arena.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nnex::plan {
namespace {

/// Tensors of many sizes that live for a few steps, some for all.
std::vector<ArenaRequest> requests_of(size_t n) {
  std::vector<ArenaRequest> out;
  uint32_t seed = 1;
  const auto random = [&](uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
  };
  for (size_t i = 0; i < n; ++i) {
    const size_t first = i / 2, life = random(50) == 0 ? n : random(6);
    out.push_back({first, first + life, static_cast<int64_t>(random(4) == 0 ? random(100'000) : random(1000)), 0});
  }
  return out;
}

int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The most bytes that live at one step.
int64_t peak(const std::vector<ArenaRequest>& requests) {
  std::vector<int64_t> change(2 * requests.size() + 2);
  for (const ArenaRequest& r : requests) {
    change[r.first] += rounded(r.bytes);
    change[std::min(r.last + 1, change.size() - 1)] -= rounded(r.bytes);
  }
  int64_t max = 0, now = 0;
  for (int64_t c : change) max = std::max(max, now += c);
  return max;
}

TEST(Arena, TensorsThatLiveTogetherLieApart) {
  for (const size_t n : {size_t{0}, size_t{1}, size_t{500}, size_t{2048}, size_t{2049}, size_t{6000}}) {
    SCOPED_TRACE(n);
    std::vector<ArenaRequest> requests = requests_of(n);
    const auto bytes = arena_offsets(requests);
    ASSERT_TRUE(bytes.ok());
    EXPECT_LE(*bytes, peak(requests) * 5 / 4);
    for (size_t i = 0; i < n; ++i) {
      const ArenaRequest& a = requests[i];
      ASSERT_TRUE(a.offset % 64 == 0 && a.offset >= 0 && a.offset + a.bytes <= *bytes) << i;
      for (size_t k = 0; k < i; ++k) {
        const ArenaRequest& b = requests[k];
        const bool together = a.first <= b.last && b.first <= a.last;
        ASSERT_TRUE(!together || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << i << ", " << k;
      }
    }
  }
}

TEST(Arena, TooLargeIsRefused) {
  for (const size_t n : {size_t{3}, size_t{5000}}) {
    std::vector<ArenaRequest> requests(n, {0, 1, INT64_MAX / 2, 0});
    EXPECT_FALSE(arena_offsets(requests).ok());
    requests = {{0, 1, INT64_MAX, 0}};
    EXPECT_FALSE(arena_offsets(requests).ok());
  }
}

}  // namespace
}  // namespace nnex::plan
