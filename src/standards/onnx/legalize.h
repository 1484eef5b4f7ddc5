#pragma once
// A node on its way into ONNX's conventions: what legalize_for_onnx's rules, one file a theme, have at hand.

#include <optional>
#include <span>
#include <string_view>

#include "base/try.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "ops/cast.h"
#include "ops/shape.h"

namespace nnex::onnx_format {

struct Legalized {
  ir::Graph& graph;
  NodeId id;
  Builder b;
  std::vector<int64_t>& bits;  ///< Of values of an integer network, by ValueId; empty: it is none.

  Legalized(ir::Graph& g, NodeId n, std::vector<int64_t>& known) : graph(g), id(n), b(g, n), bits(known) {}

  const Node& node() const { return graph[id]; }
  bool has(size_t i) const { return i < node().in.size() && node().in[i].valid(); }
  ValueId in(size_t i) const { return node().in[i]; }
  Type type_of_value(ValueId v) const;
  Type type(size_t i) const { return type_of_value(in(i)); }
  DType dtype(size_t i) const { return type(i).dtype; }
  std::optional<int64_t> rank(size_t i) const;
  /// Extents of input i, where all are numbers.
  std::optional<Shape> shape(size_t i) const;
  std::optional<Shape> out_shape(size_t o = 0) const;
  /// Bits that hold the elements of a value, sign included; 0: nobody knows.
  int64_t bits_of(ValueId v) const { return v.n < bits.size() ? bits[v.n] : 0; }
  /// What is known of a value holds of the one that takes its place.
  void keep_bits(ValueId of, ValueId v);
  const Tensor* constant(size_t i) const { return graph.constant_in(node(), i); }
  template <class A>
  A attrs() const {
    return graph.attrs<A>(id);
  }
  template <class A>
  void set(A a) const {
    graph.set_attrs(id, std::move(a));
  }

  /// x under another type; x itself where it has that type.
  ValueId cast(ValueId x, DType to);
  ValueId ints(const Ints& values) { return b.ints(values); }
  ValueId reshaped(ValueId x, const Ints& extents);
  /// A constant under another shape, with its name if nobody else reads it.
  ValueId constant_as(ValueId constant, const Shape& shape);
  ValueId transposed(ValueId x, Ints axes);
  /// A node like this one, at its place, of other inputs; its first output.
  ValueId again(std::vector<ValueId> in);
  /// Output o is this value from here on; the node goes when all its outputs are replaced.
  void replace(ValueId v, size_t o = 0);
  /// Output o, cast back to the type that its readers know, when this node makes another one now.
  void cast_result(DType made, size_t o = 0);
};

/// What a zero of a reshape of `from` to `to` may be said to be: copied, as all opsets have it, where none can be or
/// it is the extent that it would copy.
ZeroExtent zero_of(const MaybeDims& from, const MaybeDims& to);

/// Changes the node, or replaces its outputs. The node stays where nothing fits.
using LegalizeRule = void (*)(Legalized& l);
struct LegalizeRow {
  std::string_view row;
  LegalizeRule rule;
  int64_t below = 0;  ///< Only where an opset below this one is asked for; 0: always.
  int64_t from = 0;   ///< Not where an opset below this one is asked for.
};

std::span<const LegalizeRow> legalize_composed();
std::span<const LegalizeRow> legalize_windows();
std::span<const LegalizeRow> legalize_numbers();
std::span<const LegalizeRow> legalize_moves();
std::span<const LegalizeRow> legalize_norms();
std::span<const LegalizeRow> legalize_integers();
/// They go over what the others made, and over what they make themselves.
std::span<const LegalizeRow> legalize_older();
/// Operands that an opset takes in the shape of the result alone, or as one number a channel, where they are others.
void fit_operands(Legalized& l, int64_t opset);

}  // namespace nnex::onnx_format
