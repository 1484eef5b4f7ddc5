#pragma once
// From the table's node to a format's: the loop that writers share, the reverse of standards/spelling.h. It knows
// spellings, not formats.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace nnex {

/// Whether a format's operation has an attribute of that name.
using HasAttribute = std::function<bool(std::string_view theirs)>;

/// A node on its way out: what a writer may have changed of it first.
struct PlainNode {
  const OpDef* op = nullptr;
  const void* attrs = nullptr;
  std::vector<ValueId> in;
  /// Contents of parameter ports, known although the graph may compute them; they beat `in`.
  std::vector<std::pair<std::string, AttrValue>> known;
};

/// The node as a format spells it.
struct ExportedNode {
  std::vector<int> in;  ///< Position in PlainNode::in of each tensor, in the format's order; -1: absent.
  AttrMap attrs;        ///< By the format's names: every one the operation has, in the order of the table.
};

/// Renames reversed, codecs written, presets compared. What the spelling cannot say must be as presets and defaults
/// have it. Errors: unsupported, naming the field or port.
Result<ExportedNode> export_spelling(const ir::Graph& graph, const PlainNode& node, const Spelling& spelling,
                                     const HasAttribute& has);

/// A small constant as an attribute: a number of rank 0, a list of rank 1. Error: unsupported for others.
Result<AttrValue> attribute_of(const Tensor& t);

}  // namespace nnex
