#include "tensor/sparse.h"

#include <fmt/format.h>

#include <cstring>

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

Result<Tensor> dense_of(const SparseTensor& t) {
  const DType type = t.values.dtype();
  NNEX_ASSIGN(Tensor out, Tensor::make(type, t.shape));
  std::byte* const to = out.mutable_data();
  if (!is_object(type) && out.bytes() > 0) std::memset(to, 0, static_cast<size_t>(out.bytes()));
  const size_t width = static_cast<size_t>(bits(type)) / 8;
  for (int64_t i = 0; i < t.values.count(); ++i) {
    const int64_t at = flat_index(t, i, out.count());
    if (type == DType::str)
      out.mutable_as<std::string>()[static_cast<size_t>(at)] = t.values.strings()[static_cast<size_t>(i)];
    else if (bits(type) < 8 && is_real(type))
      set_real(out, at, real_at(t.values, i));
    else if (bits(type) < 8)
      set_int(out, at, int_at(t.values, i));
    else
      std::memcpy(to + static_cast<size_t>(at) * width, t.values.data() + static_cast<size_t>(i) * width, width);
  }
  return out;
}

}  // namespace nnex
