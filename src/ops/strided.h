#pragma once
// Walking tensors by strides: what reference kernels that only move elements are made of.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nnex/shape.h"
#include "ops/attrs.h"

namespace nnex {

/// Elements between neighbours along each axis of a dense row-major tensor.
inline Ints row_major_strides(const Shape& shape) {
  Ints strides(static_cast<size_t>(shape.rank()), 1);
  for (int64_t i = shape.rank() - 1; i > 0; --i)
    strides[static_cast<size_t>(i - 1)] = strides[static_cast<size_t>(i)] * shape[i];
  return strides;
}

/// An axis that may count from the last one, counted from the first.
inline int64_t from_front(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

/// Elements of the axes from `begin` up to `end`.
inline int64_t count_between(const Shape& s, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t i = begin; i < end; ++i) n *= s[i];
  return n;
}

/// Calls each(offset_x, offset_y) for every index of `shape` but the last axis, in row-major order: rows of
/// `shape[last]` elements. Rank 0 is one row of one element; an empty shape has no rows.
template <class F>
void for_each_row(const Shape& shape, const Ints& x_strides, const Ints& y_strides, F&& each) {
  const int64_t rank = shape.rank();
  if (shape.count() == 0) return;
  Ints index(static_cast<size_t>(rank));
  int64_t x = 0, y = 0;
  while (true) {
    each(x, y);
    int64_t axis = rank - 2;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      x += x_strides[a], y += y_strides[a];
      if (++index[a] < shape[axis]) break;
      x -= x_strides[a] * shape[axis], y -= y_strides[a] * shape[axis];
      index[a] = 0;
    }
    if (axis < 0) return;
  }
}

/// y[i...] = x[i...] over `shape`, each side by its own strides (which may be 0 or negative).
template <class T>
void copy_strided(const Shape& shape, const T* x, const Ints& x_strides, T* y, const Ints& y_strides) {
  const int64_t rank = shape.rank();
  const int64_t n = rank ? shape[rank - 1] : 1;
  const int64_t dx = rank ? x_strides.back() : 0, dy = rank ? y_strides.back() : 0;
  for_each_row(shape, x_strides, y_strides, [&](int64_t at, int64_t to) {
    const T* from = x + at;
    T* into = y + to;
    if (dx == 1 && dy == 1)
      std::copy_n(from, n, into);
    else
      for (int64_t i = 0; i < n; ++i) into[i * dy] = from[i * dx];
  });
}

}  // namespace nnex
