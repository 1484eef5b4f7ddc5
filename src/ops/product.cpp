#include "ops/product.h"

#include <utility>

namespace nnex {
namespace {

/// The matrix an operand is: its batch axes, then rows and columns; a vector is a row (left) or a column (right).
struct MatrixDims {
  Dims batch;
  Dim rows = 1, columns = 1;
};

MatrixDims matrix_dims(const Dims& d, bool left, bool transpose) {
  MatrixDims m;
  if (d.size() == 1) {
    (left ? m.columns : m.rows) = d[0];
    return m;
  }
  m.batch.assign(d.begin(), d.end() - 2);
  m.rows = d[d.size() - 2], m.columns = d[d.size() - 1];
  if (transpose) std::swap(m.rows, m.columns);
  return m;
}

}  // namespace

Result<MaybeDims> product_dims(InferCall& c, size_t a, size_t b, bool transpose_a, bool transpose_b) {
  for (size_t i : {a, b})
    if (c.dims(i) && c.dims(i)->empty())
      return c.error("{} is a scalar; needed a vector or matrices", c.op().inputs[i].name);
  if (!c.dims(a) || !c.dims(b)) return MaybeDims{};
  const MatrixDims x = matrix_dims(*c.dims(a), true, transpose_a), y = matrix_dims(*c.dims(b), false, transpose_b);
  if (x.columns.is_number() && y.rows.is_number() && !(x.columns == y.rows))
    return c.error("{} has rows of {}, {} has columns of {}; needed the same", c.op().inputs[a].name, x.columns.value(),
                   c.op().inputs[b].name, y.rows.value());
  NNEX_ASSIGN(MaybeDims out, broadcast(c, x.batch, y.batch));
  if (c.dims(a)->size() > 1) out->push_back(x.rows);
  if (c.dims(b)->size() > 1) out->push_back(y.columns);
  return out;
}

Product::Product(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  auto batch_of = [](const Shape& s) {
    return s.rank() < 2 ? Shape{} : Shape(s.extents().first(static_cast<size_t>(s.rank() - 2)));
  };
  a_batch_ = batch_of(a), b_batch_ = batch_of(b);
  batch_ = broadcast(a_batch_, b_batch_).value_or(Shape{0});
  if (a.rank() == 1) {
    k = a[0], a_steps = {k, 1};
  } else {
    const int64_t rows = a[a.rank() - 2], columns = a[a.rank() - 1];
    m = transpose_a ? columns : rows, k = transpose_a ? rows : columns;
    a_steps = transpose_a ? MatrixSteps{1, columns} : MatrixSteps{columns, 1};
  }
  if (b.rank() == 1) {
    n = 1, b_steps = {1, 1};
  } else {
    const int64_t rows = b[b.rank() - 2], columns = b[b.rank() - 1];
    n = transpose_b ? rows : columns;
    b_steps = transpose_b ? MatrixSteps{1, columns} : MatrixSteps{columns, 1};
  }
}

}  // namespace nnex
