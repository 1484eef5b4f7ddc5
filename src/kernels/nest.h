#pragma once
// Nested loops over a dense result and the operands that meet it: numpy broadcast, permuted axes, slices, all as
// strides.

#include <cstdint>
#include <optional>
#include <span>

namespace nnex::kernels {

/// Axes of a result, outermost first, with the step of every operand along each; all counts are elements. Axes of
/// extent 1 are gone and axes that every operand walks as one are merged, so few remain; there is at least one. The
/// result itself is dense.
struct Nest {
  static constexpr int kMaxAxes = 8, kMaxOperands = 8;

  int axes = 0, operands = 0;
  int64_t elements = 0;
  int64_t extent[kMaxAxes] = {};
  int64_t stride[kMaxOperands][kMaxAxes] = {};

  /// Runs of the last axis.
  int64_t rows() const { return extent[axes - 1] == 0 ? 0 : elements / extent[axes - 1]; }
  int64_t row_length() const { return extent[axes - 1]; }
  int64_t row_stride(int operand) const { return stride[operand][axes - 1]; }
};

/// For operands given by their strides along the axes of `out`. Nothing when more axes or operands remain than a Nest
/// holds.
std::optional<Nest> strided_nest(std::span<const int64_t> out, std::span<const std::span<const int64_t>> strides);

/// For dense operands whose shapes meet `out` from the last axis (numpy broadcast); nothing also when one does not.
std::optional<Nest> broadcast_nest(std::span<const int64_t> out, std::span<const std::span<const int64_t>> shapes);

/// Walks the rows of a nest: offset(k) is where operand k's row begins.
class NestRows {
 public:
  NestRows(const Nest& nest, int64_t row);
  int64_t offset(int operand) const { return offset_[operand]; }
  void next();

 private:
  const Nest& nest_;
  int64_t index_[Nest::kMaxAxes] = {};
  int64_t offset_[Nest::kMaxOperands] = {};
};

}  // namespace nnex::kernels
