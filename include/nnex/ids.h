#pragma once
/// Handles of what a graph holds: numbers, not pointers.

#include <cstdint>

#pragma GCC visibility push(default)
namespace nnex {

/// Names a value, node or block of one graph. Default-constructed it names none.
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t n = kNone;
  bool valid() const { return n != kNone; }
  friend bool operator==(Id a, Id b) { return a.n == b.n; }
  friend bool operator<(Id a, Id b) { return a.n < b.n; }
};
using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using BlockId = Id<struct BlockTag>;

}  // namespace nnex
#pragma GCC visibility pop
