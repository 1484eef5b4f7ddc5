#pragma once
// A float network with codes in it: quantize_linear and dequantize_linear around what computes.

#include <map>

#include "api/quantize/choose.h"
#include "base/try.h"
#include "nnex/quantize.h"

namespace nnex {

/// What samples told.
struct Measured {
  std::map<uint32_t, CodeRange> ranges;          ///< By tensor: of those whose scale is their own.
  std::map<uint32_t, std::vector<float>> means;  ///< By tensor that a product reads: of its channels.
};

/// Rewrites the graph. Returns for each coded tensor the one that stands for it: its codes as floats again.
/// y = conv(x, w, b)  ->  dequantize_linear(quantize_linear(conv(dequantize_linear(x'), dequantize_linear(w'),
/// dequantize_linear(b')))), x' being the codes of x.
Result<std::map<uint32_t, ValueId>> insert_codes(ir::Graph& graph, const Coding& coding, const Measured& measured,
                                                 const QuantizeSettings& settings);

/// What profiles call the nodes that make and read the codes of v.
std::string place_of_codes(const ir::Graph& graph, ValueId v);

/// Weights of products become codes of 4 bits in blocks: y = matmul(x, dequantize_linear(w')). Returns why products
/// stay as they are, by node.
Result<std::map<uint32_t, std::string>> block_weights(ir::Graph& graph, const QuantizeSettings& settings,
                                                      const std::map<uint32_t, std::string>& kept);

}  // namespace nnex
