#include "kernels/normalize/softmax.h"

#include <algorithm>

#include "kernels/split.h"

namespace nnex::kernels {
namespace {

/// Rows of so few that vectors across them beat vectors along them.
constexpr int64_t kShortRow = 16;

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
  if (inner == 1 && n <= kShortRow) return short_rows(loops, team, logarithm, x, y, outer, n);
  if (inner == 1) {
    const auto rows = logarithm ? loops.log_softmax_f32 : loops.softmax_f32;
    split(team, outer, cost, 1, [&](int64_t begin, int64_t end) {
      rows(x + begin * n, y + begin * n, static_cast<size_t>(n), static_cast<size_t>(end - begin));
    });
    return;
  }
  constexpr int64_t kColumns = 64;
  const int64_t pieces = (inner + kColumns - 1) / kColumns;
  split(team, outer * pieces, cost, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % pieces * kColumns, at = unit / pieces * n * inner + column;
      loops.softmax_columns_f32(logarithm, x + at, y + at, static_cast<size_t>(inner), static_cast<size_t>(n),
                                static_cast<size_t>(std::min(kColumns, inner - column)));
    }
  });
}

}  // namespace nnex::kernels
