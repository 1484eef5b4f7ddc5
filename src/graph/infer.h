#pragma once
// Inference of types, extents and small contents, forward through a graph. With symbols it serves check and passes;
// with concrete inputs it serves the plan.

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/faults.h"
#include "graph/graph.h"

namespace nnex {

/// What is known of every value before a run. Contents are those of small tensors (shapes on their way to a reshape):
/// of the value's own type when all is known, of type dim when formulas are in it.
class Inference {
 public:
  /// Values below `first` are known by the types the graph has for them: who adds a few nodes to a large graph pays for
  /// those alone.
  explicit Inference(const ir::Graph& graph, uint32_t first = 0);
  /// For a few nodes of a large graph: pays for the values they meet alone.
  enum class Few : uint8_t { nodes };
  Inference(const ir::Graph& graph, Few) : graph_(graph), first_(0), sparse_(true) {}
  ~Inference();

  const Type& type(ValueId v) const { return v.n < first_ ? graph_[v].type : fact(v).type; }
  /// The known content of a value: a constant of any size, or a small propagated tensor; null when only a run knows.
  /// May be of type dim.
  const Tensor* content(ValueId v) const;

  /// Makes room for values added to the graph since.
  void grow();

  /// Says what a parameter or an earlier result is.
  void bind(ValueId v, Type type) { fact(v) = {std::move(type), std::nullopt}; }
  void bind_content(ValueId v, Tensor content) { fact(v).content = std::move(content); }

  /// Infers one node from the facts of its inputs. Errors carry the node's place.
  Status node(NodeId id);
  /// Infers the nodes of a block in order. Stops at the first error.
  Status block(BlockId id);
  /// Infers as much as it can: a node that fails leaves unknown types behind it.
  void block(BlockId id, Faults& faults);

 private:
  class NodeCall;
  struct Fact {
    Type type;
    std::optional<Tensor> content;
  };

  Fact& fact(ValueId v) {
    NNEX_ASSERT(v.n >= first_);
    return sparse_ ? sparse_fact(v) : facts_[v.n - first_];
  }
  const Fact& fact(ValueId v) const { return sparse_ ? sparse_fact(v) : facts_[v.n - first_]; }
  Fact& sparse_fact(ValueId v) const;
  void propagate(const Node& node);
  void propagate_numbers(const Node& node, std::span<const Tensor* const> in);
  void propagate_formulas(const Node& node, std::span<const Tensor* const> in);
  void keep(ValueId v, const Tensor& content);

  const ir::Graph& graph_;
  uint32_t first_ = 0;
  bool sparse_ = false;
  std::vector<Fact> facts_;                         ///< Of values from first_ on.
  mutable std::unordered_map<uint32_t, Fact> few_;  ///< Those that were met, where they are few.
  int nesting_ = 0;                                 ///< Blocks being inferred for their owners.
};

/// Infers the whole graph from its declared inputs and writes what it finds into the values' types.
/// Faults: every node whose inputs break its rule, with its place.
void infer_types(ir::Graph& graph, Faults& faults);

/// Whether the type's extents are all numbers.
std::optional<Shape> concrete(const Type& type);

}  // namespace nnex
