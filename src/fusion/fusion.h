#pragma once
// The patterns that one kernel serves. Each is found by one function, which says what a graph must look like and what
// kernels are then told (kernels/fused.h).

#include <optional>

#include "fusion/region.h"

namespace nnex::fusion {

/// A product of float32 with a constant filter, then + a row, + a residual, an activation, as far as the graph goes on
/// in this order. The filter may be constant codes, dequantised: a dequantize_linear that others read too is copied.
std::optional<Found> find_product(ir::Graph& graph, NodeId product);

/// The dequantize_linear or dequantize_codebook of constants that makes `right`, where kernels of float32 read its
/// codes as the right side of this product; else null. Of what floats both are now does not matter.
const Node* decoder_of(const ir::Graph& graph, const Node& product, ValueId right);

/// Whether a node dequantises constants for products alone, all of which read them as codes.
bool only_for_products(const ir::Graph& graph, NodeId dequantize);

/// Element-wise nodes of float32 that feed one another and at last this one, all with its extents.
std::optional<Found> find_chain(const ir::Graph& graph, NodeId last);

/// The scale of a dequantize_linear of bytes to float32; nothing for other nodes. Null: no node.
std::optional<kernels::ByteScale> dequantizes(const ir::Graph& graph, const Node* node);
/// The same of a quantize_linear to bytes.
std::optional<kernels::ByteScale> quantizes(const ir::Graph& graph, const Node& node);

/// Which convolutions of codes are found: kernels know those whose channels lie last.
enum class ConvLayout : uint8_t { channels_last, channels_first };

/// What lies between dequantize_linear and this quantize_linear of bytes: a product of constant codes, with a constant
/// row and a limit behind it, or element-wise nodes of one shape. A dequantize_linear that others read too is copied.
std::optional<Found> find_bytes(ir::Graph& graph, NodeId quantize, ConvLayout layout = ConvLayout::channels_last);

/// A product of codes and constant codes whose result is float32: what its exact sums, without the bias, are multiplied
/// by. The codes are inputs of the nodes that make its own.
std::optional<kernels::FusedByteProduct> find_code_sums(const ir::Graph& graph, const Node& product, ConvLayout layout);

}  // namespace nnex::fusion
