#pragma once
// Bits of every value of an integer network: the table's precision rules, run over a graph.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "graph/graph.h"

namespace nnex {

struct PrecisionOptions {
  bool compatible = false;  ///< Upstream's rules where ours are deliberately stricter.
};

/// Runs the rules node by node. Values must have concrete types in the graph.
class PrecisionInference {
 public:
  PrecisionInference(const ir::Graph& graph, PrecisionOptions options) : graph_(graph), options_(options) {}

  void bind(ValueId v, int64_t bits);
  /// Bits of a value: bound or inferred; of a constant without a promise, those its elements need; 0: unknown.
  int64_t bits(ValueId v) const;
  /// Infers one node from its inputs. Errors, with the node's place: the rule's; a result outside 1 to 32 bits;
  /// unsupported when the row has no rule.
  Status node(NodeId id);

 private:
  const ir::Graph& graph_;
  PrecisionOptions options_;
  mutable std::vector<int64_t> bits_;
};

/// Bits by ValueId of a whole graph of one block, from what it declares of inputs and constants; 0 where no rule says.
/// Faults: every node that has no rule or whose result needs more than 32 bits.
std::vector<int64_t> infer_precision(const ir::Graph& graph, const PrecisionOptions& options, Faults& faults);

}  // namespace nnex
