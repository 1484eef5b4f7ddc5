#pragma once
// Where the operands of an operation stand in the row that spells it.

#include "ops/table.h"

namespace nnex::ml {

/// The port of a row that an operand goes to: the one it is renamed to, of its name, or of its place among the
/// operation's operands.
inline size_t port_of(const OpDef& op, const Spelling& spelling, std::string_view operand, size_t place) {
  for (const Rename& r : spelling.renames)
    if (r.theirs == operand)
      if (const int port = op.input(r.ours); port >= 0) return static_cast<size_t>(port);
  const int port = op.input(operand);
  return port >= 0 ? static_cast<size_t>(port) : place;
}

}  // namespace nnex::ml
