#include "kernels/product/batch_i8.h"

#include <algorithm>

#include "base/checked.h"
#include "base/split.h"

namespace nnex::kernels {

ByteProducts::ByteProducts(const simd::Loops& loops, BatchGemm which) : loops_(&loops), which_(std::move(which)) {}

int64_t ByteProducts::slab(bool to_bytes) const {
  const Gemm& g = which_.one;
  return packed_bytes_i8(*loops_, g.k, g.n) + round_up(gemm_i8_workspace(*loops_, g.m, g.n, g.k, to_bytes), 64);
}

int64_t ByteProducts::workspace(bool to_bytes) const {
  return slab(to_bytes) * std::min<int64_t>(usable_threads(), which_.batch());
}

void ByteProducts::run(Team& team, const Side& a, const Side& b, const IntEpilogue& end, std::byte* workspace) const {
  const Gemm& one = which_.one;
  const int64_t batch = which_.batch(), bytes = slab(end.y != nullptr);
  const auto multiply = [&](Team& by, int64_t first, int64_t last, std::byte* scratch) {
    const ByteMatrix matrix{nullptr, one.k, one.n, which_.b_row_stride, which_.b_col_stride, b.is_signed, &b.zero, 0};
    const std::byte* packed = nullptr;  // whose bytes lie in scratch
    for (int64_t i = first; i < last; ++i) {
      int64_t of_a = 0, of_b = 0, of_c = 0, rest = i;
      for (size_t axis = which_.axes.size(); axis-- > 0;) {
        const BatchAxis& at = which_.axes[axis];
        const int64_t index = rest % at.extent;
        rest /= at.extent;
        of_a += index * at.a, of_b += index * at.b, of_c += index * at.c;
      }
      if (packed != b.x + of_b) {
        ByteMatrix from = matrix;
        from.b = packed = b.x + of_b;
        pack_b_i8(*loops_, by, from, scratch);
      }
      GemmI8 g;
      g.m = one.m, g.n = one.n, g.k = one.k;
      g.a = a.x + of_a, g.a_signed = a.is_signed, g.a_zero = a.zero;
      g.a_row_stride = one.a_row_stride, g.a_col_stride = one.a_col_stride;
      g.b = scratch;
      g.end = end;
      if (end.y) g.end.y += of_c;
      if (end.c) g.end.c += of_c;
      gemm_i8(*loops_, by, g, scratch + packed_bytes_i8(*loops_, one.k, one.n));
    }
  };
  const int64_t parts = std::min<int64_t>(team.size(), batch);
  if (team.size() == 1 || parts < team.size() || parts_for(team, batch * one.m * one.n * one.k / 16) == 1)
    return multiply(team, 0, batch, workspace);
  team.run(parts, [&](int64_t part) {
    Team alone(1);
    const Part p = part_of(batch, parts, part);
    multiply(alone, p.begin, p.end, workspace + part * bytes);
  });
}

}  // namespace nnex::kernels
