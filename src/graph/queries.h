#pragma once
// What passes and other rewrites ask of a graph.

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace nnex {

/// The node that alone reads v, in the block of v's producer; an invalid id when there are more readers or none.
NodeId only_reader(const ir::Graph& graph, ValueId v);

/// The node that makes v when it is this operator; null otherwise.
const Node* made_by(const ir::Graph& graph, ValueId v, std::string_view op);
/// The attributes of a node where they are of this type; null: it is another operator.
template <class A>
const A* attrs_if(const Node& node) {
  return node.op->attrs.type == &detail::type_tag<A> ? static_cast<const A*>(node.attrs.get()) : nullptr;
}
/// The one number of a real constant.
std::optional<double> real_constant(const ir::Graph& graph, ValueId v);

/// Float32 with known rank.
bool is_f32(const ir::Graph& graph, ValueId v);
/// Whether both have the same extents, numbers or formulas.
bool same_extents(const ir::Graph& graph, ValueId a, ValueId b);

/// Whether a block, the network itself above all, gives the value to who runs it.
bool is_result(const ir::Graph& graph, ValueId v);
/// Whether a node's results come from random numbers: a dropout outside training draws none.
bool draws(const ir::Graph& graph, const Node& node);

/// Whether a document of NNEF does not write the node: the engine meets the standard's conventions by it, extents of 1
/// and repetitions that broadcasting means.
bool is_implied(const ir::Graph& graph, NodeId id);

/// Whether the port of a node's input i is one whose content decides extents or meaning.
bool reads_by_value(const Node& node, size_t i);

/// Bytes of the constant tensors that something reads.
int64_t constant_bytes(const ir::Graph& graph);

/// The constants of a model as its author counts them.
struct Parameters {
  int64_t count = 0;  ///< Elements.
  int64_t bytes = 0;
};
/// Of the constant tensors that something reads. What a reader made of an operator's setting (axes, extents, a number)
/// has no name and is none of them.
Parameters parameters_of(const ir::Graph& graph);

}  // namespace nnex
