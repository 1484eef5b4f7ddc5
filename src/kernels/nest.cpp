#include "kernels/nest.h"

#include <algorithm>

namespace nnex::kernels {
namespace {

constexpr int kMaxRank = 64;

/// Whether every operand walks the nest's last axis and the one given as a single longer axis.
bool merges(const Nest& nest, int64_t extent, const int64_t* strides) {
  if (nest.axes == 0) return false;
  for (int k = 0; k < nest.operands; ++k)
    if (nest.stride[k][nest.axes - 1] != strides[k] * extent) return false;
  return true;
}

}  // namespace

std::optional<Nest> strided_nest(std::span<const int64_t> out, std::span<const std::span<const int64_t>> strides) {
  if (strides.size() > Nest::kMaxOperands) return std::nullopt;
  Nest nest;
  nest.operands = static_cast<int>(strides.size());
  nest.elements = 1;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    nest.elements *= out[axis];
    if (out[axis] == 1) continue;
    int64_t here[Nest::kMaxOperands] = {};
    for (size_t k = 0; k < strides.size(); ++k) here[k] = strides[k][axis];
    if (merges(nest, out[axis], here)) {
      nest.extent[nest.axes - 1] *= out[axis];
    } else {
      if (nest.axes == Nest::kMaxAxes) return std::nullopt;
      nest.extent[nest.axes++] = out[axis];
    }
    for (int k = 0; k < nest.operands; ++k) nest.stride[k][nest.axes - 1] = here[k];
  }
  if (nest.axes == 0) nest.extent[nest.axes++] = 1;
  if (nest.elements == 0) std::fill_n(nest.extent, nest.axes, 0);
  return nest;
}

std::optional<Nest> broadcast_nest(std::span<const int64_t> out, std::span<const std::span<const int64_t>> shapes) {
  if (shapes.size() > Nest::kMaxOperands || out.size() > kMaxRank) return std::nullopt;
  int64_t strides[Nest::kMaxOperands][kMaxRank] = {};
  std::span<const int64_t> lists[Nest::kMaxOperands];
  for (size_t k = 0; k < shapes.size(); ++k) {
    const std::span<const int64_t> shape = shapes[k];
    if (shape.size() > out.size()) return std::nullopt;
    int64_t step = 1;
    for (size_t i = 1; i <= shape.size(); ++i) {
      const int64_t extent = shape[shape.size() - i], wanted = out[out.size() - i];
      if (extent != wanted && extent != 1) return std::nullopt;
      strides[k][out.size() - i] = extent == 1 ? 0 : step;
      step *= extent;
    }
    lists[k] = {strides[k], out.size()};
  }
  return strided_nest(out, {lists, shapes.size()});
}

NestRows::NestRows(const Nest& nest, int64_t row) : nest_(nest) {
  for (int axis = nest.axes - 2; axis >= 0; --axis) {
    index_[axis] = row % nest.extent[axis];
    row /= nest.extent[axis];
    for (int k = 0; k < nest.operands; ++k) offset_[k] += index_[axis] * nest.stride[k][axis];
  }
}

void NestRows::next() {
  for (int axis = nest_.axes - 2; axis >= 0; --axis) {
    const bool wraps = ++index_[axis] == nest_.extent[axis];
    const int64_t steps = wraps ? 1 - nest_.extent[axis] : 1;
    for (int k = 0; k < nest_.operands; ++k) offset_[k] += steps * nest_.stride[k][axis];
    if (!wraps) return;
    index_[axis] = 0;
  }
}

}  // namespace nnex::kernels
