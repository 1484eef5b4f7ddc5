#pragma once
// How work is cut into parts for a Team. Parts are by output and end at multiples of 16 elements, so results never
// depend on them.

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace nnex {

struct Part {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// Where part number `part` of `parts` nearly equal ones of n begins. The longer ones stand evenly among the others, as
/// each thread takes a stretch of parts.
constexpr int64_t share(int64_t n, int64_t parts, int64_t part) { return n / parts * part + n % parts * part / parts; }

/// Part number `part` of `parts` nearly equal ones of [0, count); all but the last end at a multiple of `multiple`.
inline Part part_of(int64_t count, int64_t parts, int64_t part, int64_t multiple = 1) {
  const int64_t units = (count + multiple - 1) / multiple;
  const auto edge = [&](int64_t i) { return std::min(count, share(units, parts, i) * multiple); };
  return {edge(part), edge(part + 1)};
}

/// At most so many parts: with one or two for a thread, none waits for another's last.
inline int64_t whole_rounds(const Team& team, int64_t parts) {
  return parts <= team.size() ? parts : parts / team.size() * team.size();
}

/// How many parts pay for work that moves `bytes` (or costs as much): waking a worker takes about as long as moving 128
/// KiB. Up to four for each thread, so that a thread that comes late leaves its share to the others; more where one
/// would take long, one thread's too: between two of them a run sees that it shall stop.
inline int64_t parts_for(const Team& team, int64_t bytes) {
  constexpr int64_t kPartBytes = 32 * 1024, kMinBytes = 128 * 1024, kLongest = int64_t{64} << 20;
  const int64_t least = std::max<int64_t>(1, bytes / kLongest);
  if (team.size() == 1 || bytes < kMinBytes) return least;
  return std::max(least, whole_rounds(team, std::min<int64_t>(bytes / kPartBytes, int64_t{4} * team.size())));
}

/// Calls work(begin, end) for the parts of [0, count), on the team when `bytes` in all pay for it.
template <class F>
void split(Team& team, int64_t count, int64_t bytes, int64_t multiple, F work) {
  if (count <= 0) return;
  const int64_t units = (count + multiple - 1) / multiple;
  const int64_t parts = std::min(units, parts_for(team, bytes));
  if (parts <= 1) {
    work(int64_t{0}, count);
    return;
  }
  team.run(parts, [&](int64_t part) {
    const Part p = part_of(count, parts, part, multiple);
    work(p.begin, p.end);
  });
}

}  // namespace nnex
