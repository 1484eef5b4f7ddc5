#include "kernels/elementwise/pairs.h"

#include <algorithm>
#include <cstring>

#include "base/split.h"

namespace nnex::kernels {
namespace {

/// Elements that are gathered before a loop runs over them: so there is one loop a function, over dense operands.
constexpr int64_t kBlock = 512;
constexpr int64_t kShort = 32, kShortRepeated = 128;  // shorter rows are gathered too, and such as come again and again

struct Block {
  alignas(64) std::byte bytes[kBlock * 8];
  int64_t begins[kBlock];  // where the rows begin that it holds
};

/// Elements as wide as T, whatever their type is.
template <class T>
void gather(const std::byte* x, int64_t step, int64_t n, std::byte* to) {
  constexpr int64_t kBytes = sizeof(T);
  T value;
  if (step == 0) {
    std::memcpy(&value, x, kBytes);
    T many[16];  // written as vectors are
    std::fill_n(many, 16, value);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) std::memcpy(to + i * kBytes, many, sizeof many);
    for (; i < n; ++i) std::memcpy(to + i * kBytes, &value, kBytes);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(&value, x + i * step * kBytes, kBytes);
    std::memcpy(to + i * kBytes, &value, kBytes);
  }
}

/// An operand of a nest: elements of a row are `step` apart.
struct Operand {
  const std::byte* x;
  int64_t step;
  int64_t bytes;  // of an element
  Block& block;
  bool gathered = false;
  int64_t held = 0;  ///< Rows that the block holds.

  /// n elements from number `at` on into the block, behind `behind` others.
  void gather_into(int64_t at, int64_t n, int64_t behind) {
    const std::byte* from = x + at * bytes;
    std::byte* const to = block.bytes + behind * bytes;
    switch (bytes) {
      case 1:
        return gather<uint8_t>(from, step, n, to);
      case 2:
        return gather<uint16_t>(from, step, n, to);
      case 4:
        return gather<uint32_t>(from, step, n, to);
      default:
        gather<uint64_t>(from, step, n, to);
    }
  }

  /// The n elements of a row as the block's number `place`, if it holds another one there.
  void gather_row(int64_t begin, int64_t n, int64_t place) {
    if (place < held && block.begins[place] == begin) return;
    gather_into(begin, n, place * n);
    block.begins[place] = begin;
    held = std::max(held, place + 1);
  }

  /// `n` elements of the row at `row` from number `i` on: themselves where they are dense, else in the block. One that
  /// stays is gathered once, at the row's begin.
  const void* dense(int64_t row, int64_t i, int64_t n) {
    if (step == 1) return x + (row + i) * bytes;
    if (step != 0 || !gathered) gather_into(row + i * step, n, 0);
    gathered = true;
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
    Operand u{from_a, step_a, bytes, block_a}, v{from_b, step_b, bytes, block_b};
    const int64_t block = step_a == 1 && step_b == 1 ? end - begin : kBlock;
    for (int64_t row = first; row < last; ++row, at.next()) {
      u.gathered = v.gathered = false;
      for (int64_t i = begin; i < end; i += block) {
        const int64_t m = std::min(block, end - i);
        loop(u.dense(at.offset(0), i, m), v.dense(at.offset(1), i, m), to + (row * n + i) * written, m);
      }
    }
  };
  // Whether rows of an operand lie one after the other as those of the result do.
  const auto is_dense = [&](int operand) {
    int64_t step = 1;
    for (int axis = nest.axes - 1; axis >= 0; step *= nest.extent[axis--])
      if (nest.stride[operand][axis] != step) return false;
    return true;
  };
  const bool dense_a = is_dense(0), dense_b = is_dense(1);
  // Short ones: as many at once as a block holds.
  const auto short_rows = [&](int64_t first, int64_t last) {
    Block block_a, block_b;
    NestRows at(nest, first);
    Operand u{from_a, step_a, bytes, block_a}, v{from_b, step_b, bytes, block_b};
    for (int64_t row = first; row < last;) {
      const int64_t begin = row, end = std::min(last, row + kBlock / n);
      for (; row < end; ++row, at.next()) {
        if (!dense_a) u.gather_row(at.offset(0), n, row - begin);
        if (!dense_b) v.gather_row(at.offset(1), n, row - begin);
      }
      loop(dense_a ? from_a + begin * n * bytes : block_a.bytes, dense_b ? from_b + begin * n * bytes : block_b.bytes,
           to + begin * n * written, (end - begin) * n);
    }
  };
  const int64_t cost = nest.elements * bytes * 3;
  // A block is written in either case, or the same one serves many times.
  const auto repeats = [&](int operand) {
    return nest.row_stride(operand) == 0 || (nest.axes > 1 && nest.stride[operand][nest.axes - 2] == 0);
  };
  const bool few_gathers = (dense_a && repeats(1)) || (dense_b && repeats(0));
  if (rows > 1 && n < (few_gathers ? kShortRepeated : kShort))
    split(team, rows, cost, 1, short_rows);
  else if (rows >= parts_for(team, cost))
    split(team, rows, cost, 1, [&](int64_t begin, int64_t end) { part(begin, end, 0, n); });
  else
    split(team, n, cost, 64, [&](int64_t begin, int64_t end) { part(0, rows, begin, end); });
}

}  // namespace nnex::kernels
