#include "kernels/product/matrices.h"

#include <algorithm>

namespace nnex::kernels {
namespace {

/// Matrices of an operand: extents, how far one is from its neighbour, elements of each.
struct Matrices {
  Matrices(const Shape& s, bool left, bool transposed) {
    if (s.rank() == 1) {
      (left ? columns : rows) = s[0];
      row_step = left ? s[0] : 1;
      return;
    }
    rows = s[s.rank() - 2], columns = s[s.rank() - 1], row_step = columns;
    if (!transposed) return;
    std::swap(rows, columns);
    std::swap(row_step, column_step);
  }
  int64_t rows = 1, columns = 1, row_step = 1, column_step = 1;
};

}  // namespace

BatchGemm products_of(const Shape& x, const Shape& w, bool transpose_x, bool transpose_w) {
  const Matrices a(x, true, transpose_x), b(w, false, transpose_w);
  BatchGemm g;
  g.one.m = a.rows, g.one.k = a.columns, g.one.n = b.columns;
  g.one.a_row_stride = a.row_step, g.one.a_col_stride = a.column_step;
  g.b_row_stride = b.row_step, g.b_col_stride = b.column_step;
  g.one.c_row_stride = g.one.n;
  BatchAxis next{1, g.one.m * g.one.k, g.one.k * g.one.n, g.one.m * g.one.n};
  for (int64_t i = 3; i <= std::max(x.rank(), w.rank()); ++i) {
    const int64_t of_a = i <= x.rank() ? x[x.rank() - i] : 1, of_b = i <= w.rank() ? w[w.rank() - i] : 1;
    BatchAxis axis = next;
    axis.extent = std::max(of_a, of_b);
    if (of_a == 1) axis.a = 0;
    if (of_b == 1) axis.b = 0;
    if (axis.extent > 1) g.axes.push_back(axis);
    next.a *= of_a, next.b *= of_b, next.c *= axis.extent;
  }
  std::reverse(g.axes.begin(), g.axes.end());
  std::stable_partition(g.axes.begin(), g.axes.end(), [](const BatchAxis& axis) { return axis.b != 0; });
  // Rows of matrices that lie one after the other and meet the same b are rows of one.
  while (!g.axes.empty()) {
    const BatchAxis& last = g.axes.back();
    if (last.b != 0 || last.a != g.one.m * g.one.a_row_stride || last.c != g.one.m * g.one.n) break;
    g.one.m *= last.extent;
    g.axes.pop_back();
  }
  return g;
}

}  // namespace nnex::kernels
