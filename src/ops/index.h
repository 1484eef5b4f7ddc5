#pragma once
// Indices that come as data: which element they name.

#include <algorithm>
#include <numeric>

#include "ops/call.h"
#include "ops/gather.h"
#include "ops/infer_call.h"

namespace nnex {

/// The place in [0, n) that index k names; -1: outside, a fault.
inline int64_t index_in(int64_t k, int64_t n, bool from_end, Outside outside) {
  if (k < 0 && from_end) k += n;
  if (k >= 0 && k < n) return k;
  return outside == Outside::fault || n == 0 ? -1 : std::clamp<int64_t>(k, 0, n - 1);
}

/// Number i of a tensor of indices.
inline int64_t index_at(const Tensor& index, int64_t i) {
  return index.dtype() == DType::i64 ? index.as<int64_t>()[static_cast<size_t>(i)] : int_at(index, i);
}

/// The block of `shape`, counted row-major over the axes batch to batch + taken, that `taken` numbers of `index` from
/// element `first` on name.
inline Result<int64_t> block_at(Call& c, const Tensor& index, int64_t first, int64_t taken, const Shape& shape,
                                int64_t batch, bool from_end, Outside outside) {
  int64_t block = 0;
  for (int64_t i = 0; i < taken; ++i) {
    const int64_t k = index_at(index, first + i), n = shape[batch + i], place = index_in(k, n, from_end, outside);
    if (place < 0) return c.fault("index {} is outside [{}, {}) of axis {}", k, from_end ? -n : 0, n, batch + i);
    block = block * n + place;
  }
  return block;
}

/// That what is known of the numbers of input 1 lies in the axes that they name, where their extents are numbers: each
/// row of it has one for each of the axes `first`, `first` + 1, ... of these extents.
inline Status known_inside(InferCall& c, std::span<const Dim> extents, int64_t first, bool from_end, Outside outside) {
  const auto inside = [&](int64_t k, size_t i) -> Status {
    const Dim& n = extents[i % extents.size()];
    if (!n.is_number() || index_in(k, n.value(), from_end, outside) >= 0) return {};
    return c.error("index {} is outside [{}, {}) of axis {}", k, from_end ? -n.value() : 0, n.value(),
                   first + static_cast<int64_t>(i % extents.size()));
  };
  if (extents.empty()) return {};
  if (const Tensor* index = c.constant(1)) {
    for (int64_t i = 0; i < index->count(); ++i) NNEX_TRY(inside(int_at(*index, i), static_cast<size_t>(i)));
  } else if (const auto values = c.values(1)) {
    for (size_t i = 0; i < values->size(); ++i)
      if ((*values)[i].is_number()) NNEX_TRY(inside((*values)[i].value(), i));
  }
  return {};
}

/// Axes of a run, counted from 0: each inside the rank, none twice.
inline Result<Ints> distinct_axes(const Call& c, Ints axes, int64_t rank) {
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) return c.fault("axis {} is outside [{}, {})", axis, -rank, rank);
    if (axis < 0) axis += rank;
    if (seen[static_cast<size_t>(axis)]) return c.fault("axis {} is named twice", axis);
    seen[static_cast<size_t>(axis)] = true;
  }
  return axes;
}
/// The first `count` axes, where a node names none.
inline Ints first_axes(int64_t count) {
  Ints axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}

}  // namespace nnex
