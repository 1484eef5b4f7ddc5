#pragma once
// From a format's node to the table's: the loop that readers share. It knows spellings, not formats.

#include <string_view>

#include "base/function_ref.h"
#include "graph/graph.h"

namespace nnex {

/// A node as a format spells it: inputs in the format's order, attributes by the format's names.
struct SpelledNode {
  Spelled spelled;
  std::vector<ValueId> in;
  AttrMap attrs;
  size_t outputs = 1;
  std::vector<BlockId> blocks;
};

/// Makes the table's node: presets, then every attribute through its rename and codec into a field, or as a constant at
/// a parameter port, of the type that `type_of` the port beside it asks for. Errors: invalid_model naming the
/// attribute: unknown, of the wrong kind, missing though required.
Result<NodeId> make_spelled(Builder& b, SpelledNode node, FunctionRef<const Type&(ValueId)> type_of);

/// The value that a Preset's text stands for.
AttrValue preset_value(std::string_view text);

}  // namespace nnex
