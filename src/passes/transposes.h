#pragma once
// Transposes in a graph: what they permute, and nodes put in the place of others with transposes around them.

#include <memory>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace nnex::passes {

/// Axis i of the result is axis perm[i] of the source.
using Perm = Ints;

/// Channels, axis 1, become the last axis.
Perm to_last(size_t rank);
Perm inverse(const Perm& p);

class Transposes {
 public:
  explicit Transposes(ir::Graph& graph) : graph_(graph) {}

  ir::Graph& graph() { return graph_; }
  /// How many nodes were replaced.
  int changed() const { return changed_; }

  std::optional<Perm> perm_of(const Node& node) const;
  /// The permutation v comes out of, if a transpose made it.
  std::optional<Perm> perm_of(ValueId v) const;
  /// The same, unless what is turned is constant: that will be folded where it stands.
  std::optional<Perm> perm_to_move(ValueId v) const;

  /// v through p. A node of one scale that turns v to or from bytes for this reader alone comes after the transpose.
  ValueId transposed(NodeId before, ValueId v, const Perm& p);
  ValueId plain_transpose(NodeId before, ValueId v, const Perm& p);
  /// transpose(transpose(x))   ->   transpose(x) or x
  void join(NodeId id);
  /// A node like `id` on other inputs, whose outputs then go through p; the old node goes.
  void rebuild(NodeId id, std::vector<ValueId> in, std::shared_ptr<const void> attrs, const std::vector<Perm>& perms);

 private:
  void replace(NodeId id, const std::vector<ValueId>& by);

  ir::Graph& graph_;
  int changed_ = 0;
};

/// A node that does not mind lets a transpose before it through, by its column `layout`: the transpose stands behind
/// it.
void pass_transpose(Transposes& transposes, NodeId id);

}  // namespace nnex::passes
