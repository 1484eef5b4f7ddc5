#pragma once
// What a host may do to a graph: ids that name something, values that are made before they are read.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "graph/graph.h"

namespace nnex {

template <class... A>
Error bad_argument(fmt::format_string<A...> format, A&&... args) {
  return failure(Code::invalid_argument, format, std::forward<A>(args)...);
}

/// Whether the engine's id names what is there and reachable. Errors: invalid_argument.
Status check(const ir::Graph& graph, ValueId v);
Status check(const ir::Graph& graph, NodeId n);
Status check(const ir::Graph& graph, BlockId b);

/// "value 'x'", "output 0 of conv", "a constant": for messages.
std::string shown(const ir::Graph& graph, ValueId v);
/// "relu" or "relu (node 'r1')".
std::string shown(const ir::Graph& graph, NodeId n);

/// Whether a node of `block` that stands before `before` (invalid: at its end) may read v: it is constant, or made
/// before, in this block or one around it. In a block that nobody owns yet, what lies outside counts as readable:
/// whoever takes the block over asks again.
bool readable(const ir::Graph& graph, ValueId v, BlockId block, NodeId before);
/// Whether a node may read its inputs and the values its blocks read from outside, where it stands. Error:
/// invalid_argument, naming the first it may not.
Status check_reads(const ir::Graph& graph, NodeId id);
/// Whether all readers of v may read it where they stand. Error: invalid_argument.
Status check_users(const ir::Graph& graph, ValueId v);
/// Whether node n stands in block b or in a block inside it.
bool inside(const ir::Graph& graph, NodeId n, BlockId b);

/// Gives a member of an operator's attributes a host's value; monostate: its default. Error: invalid_argument (no such
/// attribute, another kind, a word it lacks; what it takes).
Status set_field(const OpDef& op, void* attrs, std::string_view name, const Attribute& value);

/// Infers one node from the types the graph has and keeps what it finds of its outputs. Error: its rule's; the types
/// are then as they were.
Status infer_node(ir::Graph& graph, NodeId id);
/// What was known of all that is computed from the node's outputs, and of these, is forgotten.
void forget_types(ir::Graph& graph, NodeId id);

}  // namespace nnex
