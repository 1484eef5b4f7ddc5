#pragma once
// Custom operators: nodes that a host's functions stand behind.

#include <span>
#include <string>

#include "graph/graph.h"
#include "nnex/custom.h"
#include "ops/call.h"
#include "ops/infer_call.h"

namespace nnex {

/// What an author calls the operator of a node: "conv", "com.example:Rotate" (of NNEF, without a domain: "Rotate").
std::string operator_name(const Node& node);

/// Gives every node of the row `custom`, in every block, the host's functions for it; those that the host does not have
/// stay as they are.
void resolve_custom(ir::Graph& graph, const CustomOperators& operators);

/// An error of a node at its place. One of a host's function that knew a place says the node as what was being done.
Error placed(Error error, const Node& node, std::string_view place);

/// Whether the host has functions for a node, and whether they may be run at load.
inline bool has_host(const Node& node) { return node.custom && node.custom->host; }
inline bool is_pure_custom(const Node& node) { return has_host(node) && node.custom->host->pure; }

/// The host's shape rule of a node that has_host(). Errors: the host's; invalid_model, another number of types than
/// outputs; what it throws.
Status infer_custom(const Node& node, InferCall& call);

/// The host's kernel of a node that has_host(). Outputs that have memory are filled; the others are what it made, in
/// memory of their own. `expected`: what inference found of each output. Errors: the host's; fault, an output that was
/// not made, or is not as expected; what it throws.
Status run_custom(const CustomNode& node, const Call& call, std::span<const Type> expected);

}  // namespace nnex
