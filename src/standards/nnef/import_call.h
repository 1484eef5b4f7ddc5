#pragma once
// One call on its way to nodes. For import_*.cpp.

#include <fmt/format.h>

#include <optional>

#include "standards/nnef/import_calls.h"
#include "standards/spelling.h"

namespace nnex::nnef_format {

/// The arguments of a call, as the table's spellings take them: tensors are values, attributes have their names.
class ImportCall {
 public:
  ImportCall(ir::Graph& graph, const Operation& op, Tensors& tensors, Where where, DType integers)
      : b(graph, kMain, where), op(op), integers(integers), tensors_(tensors), graph_(graph) {}

  /// Makes values of the tensors among the arguments and attributes of the rest.
  Status read();

  std::string_view name() const { return op.declaration->name; }
  ir::Graph& graph() { return graph_; }
  Error error(std::string message, Code code = Code::unsupported) const;

  // ---- Tensors
  /// Position among `in` of a parameter that is one tensor.
  const Ints& extents(std::string_view parameter) const;
  size_t rank(std::string_view parameter) const { return extents(parameter).size(); }
  ValueId& value(std::string_view parameter);
  /// The number that stands for a tensor, when it is a literal.
  std::optional<double> literal(std::string_view parameter) const;
  /// The same elements under other extents of equal product.
  ValueId reshaped(ValueId v, const Ints& extents);
  /// Extents of 1 at the end until it has `rank` axes; a tensor without axes stays.
  ValueId trailing(ValueId v, const Ints& extents, size_t rank);
  /// Every tensor of `in` from `first` on, `count` of them (0: all), gets the axes of the longest.
  void align(size_t first = 0, size_t count = 0);
  /// A node of a row of the table, its result's type said.
  template <class A>
  ValueId make(std::string_view row, std::vector<ValueId> from, A attrs, DType type, const Ints& extents) {
    return typed(b(row, std::move(from), std::move(attrs)), type, extents);
  }
  ValueId make(std::string_view row, std::vector<ValueId> from, DType type, const Ints& extents) {
    return typed(b(row, std::move(from)), type, extents);
  }
  ValueId typed(ValueId v, DType type, const Ints& extents);
  DType element(ItemType type) const { return type == ItemType::integer ? integers : element_type(type); }
  /// v under another element type; where v is a cast of such integers that holds them all, those.
  ValueId as_type(ValueId v, DType to);
  /// A node's output as a result of that type: where the row makes integers of another width, those of the document's.
  Result<ValueId> as_result(ValueId v, const TensorInfo& t);

  // ---- Attributes
  AttrValue* find(std::string_view attribute);
  void set(std::string_view attribute, AttrValue value);
  void drop(std::string_view attribute);
  Ints ints(std::string_view attribute);
  bool empty(std::string_view attribute);

  // ---- Results
  Tensors& tensors() { return tensors_; }
  const TensorInfo& result(size_t i = 0) const { return tensors_[op.results[i].tensor()]; }
  /// Result i of the call is v.
  void give(ValueId v, size_t i = 0);
  /// The node that the table spells under `as` ("": the operation's own name), and its outputs as the results.
  Status plain(std::string_view as = {});
  Result<NodeId> spelled(std::string_view as, size_t outputs);

  Builder b;
  const Operation& op;
  const DType integers;  ///< The element type of the document's integers.
  std::vector<ValueId> in;
  std::vector<Ints> in_extents;  ///< Of `in`.
  AttrMap attrs;
  bool done = false;  ///< The results are given.

 private:
  Status read_tensor(const Arg& arg, const DeclaredType& type);

  Tensors& tensors_;
  ir::Graph& graph_;
};

/// What an operation needs before (or instead of) the node that the table spells.
using ImportFunction = Status (*)(ImportCall&);
struct ImportRow {
  std::string_view name;
  ImportFunction import_call = nullptr;
};
std::span<const ImportRow> import_window_rows();
std::span<const ImportRow> import_move_rows();
std::span<const ImportRow> import_math_rows();

}  // namespace nnex::nnef_format
