#pragma once
// Intervals of whole numbers, forward through a graph: what every element of a value is proven to lie in, over the real
// contents of constants. Tighter than bits by rule (precision.h), and the proof that no int32 sum overflows.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/interval_call.h"

namespace nnex {

/// What is proven of an int32 node.
struct NodeBound {
  NodeId node;
  Interval result;         ///< Of output 0 as unbounded integers; beyond +-2^62 only that it is there.
  int64_t partial = 0;     ///< Of sums: no partial sum, in whatever order, has a greater magnitude. Else 0.
  bool overflows = false;  ///< One of both does not fit int32.
  bool bounded = true;     ///< False: nobody could bound the row, or what it reads: whether it overflows is not known.
};

/// The intervals of a graph's main block, from formulas and contents alone: no rule of precision is taken on trust.
/// Elements of values that are no integers, or of 64 bits and bounded by nobody, have none.
class Intervals {
 public:
  /// `known`: of values that the caller knows more of (inputs of declared precision); others have their type's range.
  Intervals(const ir::Graph& graph, const std::map<ValueId, Interval>& known);

  std::optional<Interval> of(ValueId v) const { return v.n < of_.size() ? of_[v.n] : std::nullopt; }
  /// One entry for each int32 node, in order.
  const std::vector<NodeBound>& nodes() const { return nodes_; }

 private:
  void node(NodeId id);
  std::optional<Interval> constant(ValueId v) const;
  const Tensor* content(ValueId v) const;
  IntervalCall bounded(const Node& node) const;

  const ir::Graph& graph_;
  std::vector<std::optional<Interval>> of_;
  std::vector<bool> open_;  ///< Values that have an end of int32 for want of a bound.
  std::vector<NodeBound> nodes_;
};

}  // namespace nnex
