#pragma once
// A float network as one of whole numbers, in rows that CVM has: codes of 8 bits, sums of 32, and a multiplication and
// shifts between them.

#include <map>
#include <string>
#include <vector>

#include "api/quantize/choose.h"
#include "api/quantize/rewrite.h"
#include "base/try.h"

namespace nnex {

/// The tensors whose ranges decide the scales, and the layers. Error: unsupported, naming every node that whole numbers
/// cannot say.
Result<Coding> integer_coding(const ir::Graph& graph);

struct IntegerNetwork {
  ir::Graph graph;                           ///< Takes and gives i32.
  ir::Graph judged;                          ///< The same between floats, to be set beside the float network.
  std::map<uint32_t, ValueId> decoded;       ///< In `judged`: what stands for the ends of layers.
  std::map<uint32_t, int64_t> weight_bytes;  ///< By product.
  std::vector<std::string> notes;            ///< What the numbers at both ends mean, and what was left out.
};
Result<IntegerNetwork> integer_network(const ir::Graph& graph, const Measured& measured,
                                       const QuantizeSettings& settings);

}  // namespace nnex
