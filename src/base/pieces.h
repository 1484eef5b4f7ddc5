#pragma once
// Long arrays, piece by piece on all threads.

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace nnex {

/// Calls work(from, to) for the pieces of [0, count), on every thread this process may use where there is more than one
/// piece; returns when all are done. Each piece must write only what is its own. Memory that is written for the first
/// time is given its pages by the thread that writes it.
inline void for_pieces(int64_t count, FunctionRef<void(int64_t from, int64_t to)> work) {
  constexpr int64_t kPiece = int64_t{1} << 18;  // A large page of 8-byte elements.
  if (count <= kPiece) return work(0, count);
  Team team(0);
  team.run((count + kPiece - 1) / kPiece,
           [&](int64_t part) { work(part * kPiece, std::min(count, (part + 1) * kPiece)); });
}

}  // namespace nnex
