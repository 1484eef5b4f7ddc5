#pragma once
// From a format's node to the table's: the loop that readers share. It knows spellings, not formats.

#include <string_view>

#include "graph/graph.h"
#include "graph/infer.h"

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
/// a parameter port. Errors: invalid_model naming the attribute: unknown, of the wrong kind, missing though required.
Result<NodeId> make_spelled(Builder& b, SpelledNode node, const Inference& types);

/// The value that a Preset's text stands for.
AttrValue preset_value(std::string_view text);

}  // namespace nnex
