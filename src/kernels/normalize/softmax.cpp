#include "kernels/normalize/softmax.h"

#include <algorithm>
#include <cstring>

#include "base/split.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kShortRow = 40;

/// Whether vectors across rows beat vectors along them, the last of which is only partly full.
constexpr bool is_short_row(int64_t n) { return n <= 16 || (n < kShortRow && n % 16 != 0); }

/// Rows as columns, a block of them at a time.
void short_rows(const simd::Loops& loops, Team& team, bool logarithm, const float* x, float* y, int64_t rows,
                int64_t n) {
  constexpr int64_t kBlock = 64;
  const auto length = static_cast<size_t>(n);
  split(team, rows, rows * n * 20, kBlock, [&](int64_t begin, int64_t end) {
    alignas(64) float columns[kShortRow * kBlock];
    auto* const words = reinterpret_cast<uint32_t*>(columns);
    for (int64_t row = begin; row < end; row += kBlock) {
      const auto count = static_cast<size_t>(std::min(kBlock, end - row));
      loops.transpose_u32(reinterpret_cast<const uint32_t*>(x + row * n), length, words, kBlock, count, length);
      loops.softmax_columns_f32(logarithm, columns, columns, kBlock, length, count);
      loops.transpose_u32(words, kBlock, reinterpret_cast<uint32_t*>(y + row * n), length, length, count);
    }
  });
}

}  // namespace

void softmax(const simd::Loops& loops, Team& team, bool logarithm, const float* x, float* y, int64_t outer, int64_t n,
             int64_t inner) {
  const int64_t cost = outer * n * inner * 20;
  if (inner == 1 && is_short_row(n)) return short_rows(loops, team, logarithm, x, y, outer, n);
  if (inner == 1) {
    const auto rows = logarithm ? loops.log_softmax_f32 : loops.softmax_f32;
    split(team, outer, cost, 1, [&](int64_t begin, int64_t end) {
      rows(x + begin * n, y + begin * n, static_cast<size_t>(n), static_cast<size_t>(end - begin));
    });
    return;
  }
  constexpr int64_t kColumns = 64, kNear = 8192;  // floats in the first level cache
  // Lines of a block that start in the same few sets of the caches push each other out: they are copied.
  const bool copies = n > 4 && n * 16 <= kNear && inner * static_cast<int64_t>(sizeof(float)) % 1024 == 0;
  const int64_t columns = copies ? std::min(kColumns, kNear / n / 16 * 16) : kColumns;
  const int64_t pieces = (inner + columns - 1) / columns;
  split(team, outer * pieces, cost, 1, [&](int64_t begin, int64_t end) {
    alignas(64) float near[kNear];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % pieces * columns, at = unit / pieces * n * inner + column;
      const auto width = static_cast<size_t>(std::min(columns, inner - column)), rows = static_cast<size_t>(n);
      if (!copies) {
        loops.softmax_columns_f32(logarithm, x + at, y + at, static_cast<size_t>(inner), rows, width);
        continue;
      }
      const size_t bytes = width * sizeof(float);
      for (int64_t i = 0; i < n; ++i) std::memcpy(near + i * columns, x + at + i * inner, bytes);
      loops.softmax_columns_f32(logarithm, near, near, static_cast<size_t>(columns), rows, width);
      for (int64_t i = 0; i < n; ++i) std::memcpy(y + at + i * inner, near + i * columns, bytes);
    }
  });
}

}  // namespace nnex::kernels
