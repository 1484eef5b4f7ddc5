#include "tensor/stack.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/checked.h"
#include "base/failure.h"
#include "base/try.h"
#include "tensor/has_memory.h"

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
  NNEX_TRY(need_memory(t));
  if (axis < 0 || axis >= t.shape().rank())
    return failure(Code::invalid_argument, "slice_at: axis {} of a tensor of {} axes", axis, t.shape().rank());
  if (index < 0 || index >= t.shape()[axis])
    return failure(Code::invalid_argument, "slice_at: index {} is outside [0, {}) of axis {}", index, t.shape()[axis],
                   axis);
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

Status Stacker::reserve(int64_t parts) {
  const auto elements = checked_mul(parts, part_.count());
  if (!elements) return failure(Code::limit, "{} steps of {} are too many elements", parts, part_.text());
  NNEX_ASSIGN(Tensor larger, Tensor::make(type_, Shape{*elements}));
  if (count_ > 0) copy_elements(elements_, 0, larger, 0, count_ * part_.count());
  elements_ = std::move(larger);
  room_ = parts;
  return {};
}

Status Stacker::add(const Tensor& part) {
  if (count_ == 0) {
    if (bits(part.dtype()) < 8) return Error(Code::unsupported, "stacks of tensors narrower than a byte");
    type_ = part.dtype(), part_ = part.shape();
    NNEX_TRY(reserve(std::max<int64_t>(expected_, 1)));
  } else if (!(part.shape() == part_) || part.dtype() != type_) {
    return failure(Code::fault, "steps gave {}{} and {}{}; needed one shape", name(type_), part_.text(),
                   name(part.dtype()), part.shape().text());
  }
  if (part_.count() > 0) {
    if (count_ == room_) NNEX_TRY(reserve(count_ + count_ / 2 + 1));
    copy_elements(part, 0, elements_, count_ * part_.count(), part_.count());
  }
  ++count_;
  return {};
}

Result<Tensor> Stacker::take(int64_t axis, const Type& item, bool reversed) {
  std::vector<int64_t> extents(part_.begin(), part_.end());
  if (count_ == 0 && item.dims)
    for (const Dim& d : *item.dims) extents.push_back(d.number().value_or(0));
  const int64_t rank = static_cast<int64_t>(extents.size()) + 1;
  if (axis < -rank || axis >= rank) return failure(Code::fault, "axis {} is outside a result of {} axes", axis, rank);
  if (axis < 0) axis += rank;
  const DType type = count_ == 0 ? item.dtype : type_;
  if (bits(type) < 8) return Error(Code::unsupported, "stacks of tensors narrower than a byte");
  extents.insert(extents.begin() + axis, count_);
  const Tensor parts = std::move(elements_);
  if (count_ > 0 && axis == 0 && !reversed && part_.count() > 0)
    return Tensor::borrow_mutable(type, Shape(extents), const_cast<std::byte*>(parts.data()), parts.owner());
  NNEX_ASSIGN(Tensor out, Tensor::make(type, Shape(extents)));
  if (out.count() == 0) return out;
  const int64_t outer = extent_product(out.shape(), 0, axis), inner = extent_product(out.shape(), axis + 1, rank);
  for (int64_t p = 0; p < count_; ++p)
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(parts, ((reversed ? count_ - 1 - p : p) * outer + o) * inner, out, (o * count_ + p) * inner, inner);
  return out;
}

Result<Tensor> stack(std::span<const Tensor> parts, int64_t axis, const Type& item) {
  Stacker stacker(static_cast<int64_t>(parts.size()));
  for (const Tensor& part : parts) NNEX_TRY(stacker.add(part));
  return stacker.take(axis, item);
}

Result<Tensor> stack(std::span<const Tensor> parts, int64_t axis) {
  if (parts.empty()) return Error(Code::invalid_argument, "stack: found no tensor; needed at least one");
  for (const Tensor& part : parts) NNEX_TRY(need_memory(part));
  return stack(parts, axis, Type::tensor(parts.front().dtype()));
}

}  // namespace nnex
