#pragma once
// A row in the words of simpler ones, where a body cannot say it: the rewrite depends on extents, or on constants.

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "base/try.h"
#include "graph/graph.h"

namespace nnex::passes {

/// A node on its way into simpler rows, and what the rules, one file a theme, have at hand.
class Lowering {
 public:
  Lowering(ir::Graph& graph, NodeId id) : b(graph, id), graph_(graph), id_(id) {}

  Builder b;

  ir::Graph& graph() { return graph_; }
  const Node& node() const { return graph_[id_]; }
  template <class A>
  const A& attrs() const {
    return graph_.attrs<A>(id_);
  }
  bool given(size_t i) const { return i < node().in.size() && node().in[i].valid(); }
  bool wants(size_t o) const { return o < node().out.size() && node().out[o].valid(); }
  ValueId in(size_t i) const { return node().in[i]; }
  DType type(size_t i) const { return type_of_value(in(i)).dtype; }
  DType result_type(size_t o = 0) const { return graph_[node().out[o]].type.dtype; }
  const Tensor* constant(size_t i) const { return given(i) ? graph_.constant_in(node(), i) : nullptr; }
  /// The extents of input i, or of output o. Errors: unsupported, where one is no number, or 0.
  Result<Shape> shape(size_t i) const { return extents(in(i), node().op->inputs[i].name); }
  Result<Shape> result_shape(size_t o = 0) const { return extents(node().out[o], node().op->outputs[o].name); }

  template <class... A>
  ValueId row(std::string_view op, std::vector<ValueId> in, A... attrs) {
    return b(op, std::move(in), std::move(attrs)...);
  }
  ValueId cast(ValueId v, DType to);
  /// Of reals that are whole numbers of that type: no rounding need be said.
  ValueId cast_whole(ValueId v, DType to);
  ValueId reshaped(ValueId v, const Ints& shape);
  /// v itself where the axes stay in place.
  ValueId transposed(ValueId v, const Ints& axes);
  /// Elements [begin, end) of an axis, every stride-th.
  ValueId sliced(ValueId v, int64_t axis, int64_t begin, int64_t end, int64_t stride = 1);
  ValueId concat(std::vector<ValueId> parts, int64_t axis);
  ValueId sum(ValueId v, const Ints& axes);
  ValueId matmul(ValueId x, ValueId y, bool transpose_y = false);
  ValueId whole(ValueId v);  ///< The nearest whole numbers, ties to even.

  /// Output o is this value from here on.
  void give(size_t o, ValueId v);
  /// What keeps the node from being lowered, behind its row's name.
  template <class... T>
  Error error(fmt::format_string<T...> text, T&&... args) const {
    return failure(Code::unsupported, text, std::forward<T>(args)...);
  }

 private:
  Type type_of_value(ValueId v) const;
  Result<Shape> extents(ValueId v, std::string_view port) const;

  ir::Graph& graph_;
  NodeId id_;
};

/// Gives every output that somebody reads. Errors: unsupported, saying what was found and needed, or nothing where the
/// node needs no other words; then nothing is given.
using LowerRule = Status (*)(Lowering& l);
struct LowerRow {
  std::string_view row;
  LowerRule rule;
};
std::span<const LowerRow> lower_recurrent();
std::span<const LowerRow> lower_products();
std::span<const LowerRow> lower_attention();
std::span<const LowerRow> lower_classes();
std::span<const LowerRow> lower_codes();
std::span<const LowerRow> lower_moves();
std::span<const LowerRow> lower_numbers();
std::span<const LowerRow> lower_integers();

/// What a rule makes of halves.
enum class Halves : uint8_t {
  plain,   ///< Rows of halves, for standards that do not round to them (NNEF) or round each operation (WebNN).
  widened  ///< Rows of f32, rounded once, as references do it.
};

/// One node that a standard refused becomes simpler rows in its place, by its row's body or, where the extents of its
/// results are known, by a rule (of halves as `halves` says); types are left to inference. False: the node stays; where
/// a rule does not fit it, `reason`, why it was refused, goes on with why. Errors: the body's own.
Result<bool> lower(ir::Graph& graph, NodeId id, std::string& reason, Halves halves = Halves::plain);
/// Whether a rule is there for a row; what a node has may still not fit it.
bool has_rule(std::string_view row);

}  // namespace nnex::passes
