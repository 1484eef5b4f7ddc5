#include "tensor/sparse.h"

#include <fmt/format.h>

#include "tensor/convert.h"
#include "tensor/has_memory.h"

namespace nnex {
namespace {

Error bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }

/// Element `i` of the indices as one number; -1: it lies outside the shape.
int64_t flat_index(const SparseTensor& t, int64_t i, int64_t count) {
  if (t.indices.shape().rank() == 1) {
    const int64_t at = int_at(t.indices, i);
    return at < count ? at : -1;
  }
  const int64_t axes = t.shape.rank();
  int64_t flat = 0;
  for (int64_t a = 0; a < axes; ++a) {
    const int64_t at = int_at(t.indices, i * axes + a);
    if (at < 0 || at >= t.shape[a]) return -1;
    flat = flat * t.shape[a] + at;
  }
  return flat;
}

}  // namespace

Status check_sparse(const SparseTensor& t) {
  const auto count = t.shape.checked_count();
  bool negative = false;
  for (const int64_t extent : t.shape) negative = negative || extent < 0;
  if (!count || negative) return bad(fmt::format("its shape {} is negative or too large", t.shape.text()));
  const Shape& at = t.indices.shape();
  const bool linear = at.rank() == 1, pairs = at.rank() == 2 && at[1] == t.shape.rank();
  if (t.values.shape().rank() != 1 || t.indices.dtype() != DType::i64 || !(linear || pairs) ||
      at[0] != t.values.count())
    return bad(
        fmt::format("values {} and indices {} do not fit each other; needed a value for each index, which is i64[n] "
                    "or i64[n,{}]",
                    Value(t.values).text(), Value(t.indices).text(), t.shape.rank()));
  if (!has_memory(t.values) || !has_memory(t.indices)) return bad("its values or indices have no memory");
  int64_t last = -1;
  for (int64_t i = 0; i < at[0]; ++i) {
    const int64_t flat = flat_index(t, i, *count);
    if (flat <= last)
      return bad(
          fmt::format("found index {} out of order or range; indices must ascend inside the "
                      "shape {}",
                      i, t.shape.text()));
    last = flat;
  }
  return {};
}

}  // namespace nnex
