#pragma once
// The storage plan of a CVM model: which entries of the graph share memory, and whether they may.

#include <span>

#include "standards/cvm/read_symbol.h"
#include "standards/cvm/signatures.h"

namespace nnex::cvm_format {

/// One node to the plan.
struct PlannedNode {
  const Signature* rule = nullptr;  ///< Null: a variable.
  int64_t first = 0;                ///< The node's first entry.

  int64_t outputs() const { return rule ? rule->outputs : 1; }
};

/// Checks the file's plan, which nothing here runs by, and returns its size in bytes. A storage may hold two entries
/// only where their lives do not meet:
///     a parameter lives always (it is loaded once, and read at every inference);
///     `data` from before the first node, where each inference writes it, to the last node that reads it;
///     an operator's outputs from their node, which writes all of them, read or not, to the last that reads them;
///     a head to the end, behind the last node.
/// A node reads before it writes, so its output may take the place of its own input where the rule allows that. With
/// `compatible` only this last and the numbers' sign are checked, as upstream does. Inputs and heads exist. Errors:
/// logic.
Result<int64_t> check_storage(const Symbol& symbol, std::span<const PlannedNode> nodes, bool compatible);

}  // namespace nnex::cvm_format
