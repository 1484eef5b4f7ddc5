#pragma once
// What follows a product in its node or region: bias, residual, activation.

#include <optional>

#include "kernels/conv/conv.h"
#include "kernels/kernel.h"
#include "kernels/product/tiles.h"
#include "ops/window.h"

namespace nnex::kernels {

/// Which inputs of the node (or region) a product reads, and how it ends. -1: absent.
struct EpilogueSpec {
  int x = 0, constant = 1, bias = -1, residual = -1;
  Unary activation = {};

  /// Whether the input is read at every run, whatever else it is.
  bool reads(int input) const { return input == x || input == bias || input == residual; }
  /// The epilogue of a run; rows of the residual are `columns` apart.
  Epilogue epilogue(const Call& c, int64_t columns) const;
};

/// The extents of a convolution at these shapes (ONNX's filter layout); nothing for windows that crop, more than three
/// spatial axes, or tensors without elements.
std::optional<ConvShape> conv_shape(const ConvAttrs& a, const Shape& x, const Shape& w);

/// Names the packing of constant `w` in Packs: the constant, the instruction set, and the zero points that the packing
/// takes in.
std::string pack_key(std::string_view what, const KernelRequest& r, const Operand& w,
                     std::span<const int32_t> zeros = {});
/// The same for a filter, whose packing depends on groups and method too.
std::string filter_key(std::string_view what, const KernelRequest& r, const Operand& w, const ConvShape& s,
                       std::span<const int32_t> zeros = {});

}  // namespace nnex::kernels
