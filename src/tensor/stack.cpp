#include "tensor/stack.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "base/try.h"

namespace nnex {
namespace {

/// Copies `count` elements, objects included. Sub-byte types are never sliced here.
void copy_elements(const Tensor& from, int64_t at, Tensor& to, int64_t into, int64_t count) {
  if (from.dtype() == DType::str) {
    for (int64_t i = 0; i < count; ++i)
      to.mutable_as<std::string>()[static_cast<size_t>(into + i)] = from.strings()[static_cast<size_t>(at + i)];
    return;
  }
  const int64_t width = bits(from.dtype()) / 8;
  std::memcpy(to.mutable_data() + into * width, from.data() + at * width, static_cast<size_t>(count * width));
}

int64_t extent_product(const Shape& s, int64_t begin, int64_t end) {
  return std::accumulate(s.begin() + begin, s.begin() + end, int64_t{1}, std::multiplies<>());
}

}  // namespace

Result<Tensor> slice_at(const Tensor& t, int64_t axis, int64_t index) {
  if (bits(t.dtype()) < 8) return Error(Code::unsupported, "slices of tensors narrower than a byte");
  std::vector<int64_t> extents(t.shape().begin(), t.shape().end());
  const int64_t outer = extent_product(t.shape(), 0, axis),
                inner = extent_product(t.shape(), axis + 1, t.shape().rank());
  const int64_t extent = extents[static_cast<size_t>(axis)];
  extents.erase(extents.begin() + axis);
  NNEX_ASSIGN(Tensor out, Tensor::make(t.dtype(), Shape(extents)));
  for (int64_t o = 0; o < outer; ++o) copy_elements(t, (o * extent + index) * inner, out, o * inner, inner);
  return out;
}

Result<Tensor> stack(std::span<const Tensor> parts, int64_t axis, const Type& item) {
  std::vector<int64_t> extents;
  if (!parts.empty())
    extents.assign(parts[0].shape().begin(), parts[0].shape().end());
  else if (item.dims)
    for (const Dim& d : *item.dims) extents.push_back(d.number().value_or(0));
  const int64_t rank = static_cast<int64_t>(extents.size()) + 1;
  if (axis < -rank || axis >= rank)
    return Error(Code::fault, fmt::format("axis {} is outside a result of {} axes", axis, rank));
  if (axis < 0) axis += rank;
  const DType type = parts.empty() ? item.dtype : parts[0].dtype();
  if (bits(type) < 8) return Error(Code::unsupported, "stacks of tensors narrower than a byte");
  extents.insert(extents.begin() + axis, static_cast<int64_t>(parts.size()));
  NNEX_ASSIGN(Tensor out, Tensor::make(type, Shape(extents)));
  const int64_t outer = extent_product(out.shape(), 0, axis), inner = extent_product(out.shape(), axis + 1, rank);
  for (size_t p = 0; p < parts.size(); ++p) {
    if (!(parts[p].shape() == parts[0].shape()) || parts[p].dtype() != type)
      return Error(Code::fault, fmt::format("steps gave {} and {}; needed one shape", parts[0].shape().text(),
                                            parts[p].shape().text()));
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(parts[p], o * inner, out,
                    (o * static_cast<int64_t>(parts.size()) + static_cast<int64_t>(p)) * inner, inner);
  }
  return out;
}

}  // namespace nnex
