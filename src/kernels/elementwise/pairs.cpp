#include "kernels/elementwise/pairs.h"

#include <algorithm>
#include <cstring>

#include "kernels/split.h"

namespace nnex::kernels {
namespace {

/// Elements that are gathered before a loop runs over them: so there is one loop a function, over dense operands.
constexpr int64_t kBlock = 512;

struct Block {
  alignas(64) std::byte bytes[kBlock * 8];
};

/// Elements as wide as T, whatever their type is.
template <class T>
void gather(const std::byte* x, int64_t step, int64_t n, Block& block) {
  std::byte* const to = block.bytes;
  constexpr int64_t kBytes = sizeof(T);
  T value;
  if (step == 0) {
    std::memcpy(&value, x, kBytes);
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * kBytes, &value, kBytes);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(&value, x + i * step * kBytes, kBytes);
    std::memcpy(to + i * kBytes, &value, kBytes);
  }
}

/// An operand of a row: its elements from `x` on, `step` apart.
struct Operand {
  const std::byte* x;
  int64_t step;
  int64_t bytes;  // of an element
  Block& block;
  bool gathered = false;

  /// `n` elements from number `at` on: themselves where they are dense, else in the block. One that stays is gathered
  /// once.
  const void* dense(int64_t at, int64_t n) {
    const std::byte* from = x + at * step * bytes;
    if (step == 1) return from;
    if (step == 0 && gathered) return block.bytes;
    gathered = true;
    switch (bytes) {
      case 1:
        gather<uint8_t>(from, step, n, block);
        break;
      case 2:
        gather<uint16_t>(from, step, n, block);
        break;
      case 4:
        gather<uint32_t>(from, step, n, block);
        break;
      default:
        gather<uint64_t>(from, step, n, block);
    }
    return block.bytes;
  }
};

}  // namespace

void each_pair(Team& team, const Nest& nest, size_t element_bytes, size_t result_bytes, const void* a, const void* b,
               void* y, PairLoop loop) {
  if (nest.elements == 0) return;
  const auto bytes = static_cast<int64_t>(element_bytes), written = static_cast<int64_t>(result_bytes);
  const int64_t n = nest.row_length(), rows = nest.rows();
  const int64_t step_a = nest.row_stride(0), step_b = nest.row_stride(1);
  const auto* const from_a = static_cast<const std::byte*>(a);
  const auto* const from_b = static_cast<const std::byte*>(b);
  auto* const to = static_cast<std::byte*>(y);
  // `rows` rows from number `first` on, of each the elements from begin to end.
  const auto part = [&](int64_t first, int64_t last, int64_t begin, int64_t end) {
    Block block_a, block_b;
    NestRows at(nest, first);
    for (int64_t row = first; row < last; ++row, at.next()) {
      Operand u{from_a + (at.offset(0) + begin * step_a) * bytes, step_a, bytes, block_a};
      Operand v{from_b + (at.offset(1) + begin * step_b) * bytes, step_b, bytes, block_b};
      const int64_t block = step_a == 1 && step_b == 1 ? end - begin : kBlock;
      for (int64_t i = 0; i < end - begin; i += block) {
        const int64_t m = std::min(block, end - begin - i);
        loop(u.dense(i, m), v.dense(i, m), to + (row * n + begin + i) * written, m);
      }
    }
  };
  const int64_t cost = nest.elements * bytes * 3;
  if (rows >= parts_for(team, cost))
    split(team, rows, cost, 1, [&](int64_t begin, int64_t end) { part(begin, end, 0, n); });
  else
    split(team, n, cost, 64, [&](int64_t begin, int64_t end) { part(0, rows, begin, end); });
}

}  // namespace nnex::kernels
