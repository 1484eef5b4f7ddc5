#pragma once
// One call on its way to nodes. For import_*.cpp.

#include <fmt/format.h>

#include <optional>

#include "graph/infer.h"
#include "standards/nnef/import_calls.h"
#include "standards/spelling.h"

namespace nnex::nnef_format {

Type tensor_type(DType type, const Ints& extents);
/// What a literal is in the engine: numbers of scalar tensors are f32, integers of the document's width.
Result<Tensor> literal_tensor(const Arg& arg, DType integers);
/// Error: invalid_model (L2), a number that a tensor's real would make infinite.
Status check_real(double x);

/// The arguments of a call, as the table's spellings take them: tensors are values, attributes have their names. The
/// table infers every node that is made of it; the first fault it finds is status()'s.
class ImportCall {
 public:
  /// `dry`: nobody wants the graph, only shapes and faults.
  ImportCall(ir::Graph& graph, const Operation& op, Tensors& tensors, Where where, std::string_view rule,
             DType integers, bool dry)
      : b(graph, kMain, where),
        op(op),
        integers(integers),
        dry(dry),
        tensors_(tensors),
        graph_(graph),
        rule_(rule),
        inference_(graph, static_cast<uint32_t>(graph.value_count())) {}

  /// Makes values of the tensors among the arguments and attributes of the rest.
  Status read();

  std::string_view name() const { return op.declaration->name; }
  ir::Graph& graph() { return graph_; }
  Error error(std::string message, Code code = Code::unsupported) const;
  /// The first fault that the table found in a node, as refused() has it.
  Status status() const { return status_.ok() ? Status() : refused(status_.error()); }
  /// What the table says of the call, under the operation's rule and at its place.
  Error refused(const Error& e) const;

  // ---- Tensors
  /// Position among `in` of a parameter that is one tensor.
  const Ints& extents(std::string_view parameter) const { return extents_of(op.arg(parameter), tensors_); }
  size_t rank(std::string_view parameter) const { return extents(parameter).size(); }
  ValueId& value(std::string_view parameter);
  /// The number that stands for a tensor, when it is a literal.
  std::optional<double> literal(std::string_view parameter) const;
  /// The same elements under other extents of equal product.
  ValueId reshaped(ValueId v, const Ints& extents) { return known("reshape", v, extents, extents); }
  /// A vector of n numbers, all of them the one of v.
  ValueId expanded(ValueId v, int64_t n) { return known("expand", v, {n}, {n}); }
  /// Extents of 1 at the end until it has `rank` axes; a tensor without axes stays.
  ValueId trailing(ValueId v, const Ints& extents, size_t rank);
  /// Every tensor of `in` from `first` on, `count` of them (0: all), gets the axes of the longest.
  void align(size_t first = 0, size_t count = 0);
  /// A node of a row of the table.
  template <class... A>
  ValueId make(std::string_view row, std::vector<ValueId> from, A... attrs) {
    return inferred(b(row, std::move(from), std::move(attrs)...));
  }
  /// v, and what else its producer makes, with the types that the table infers.
  ValueId inferred(ValueId v);
  Status infer(NodeId id);
  DType element(ItemType type) const { return type == ItemType::integer ? integers : element_type(type); }
  /// v under another element type; where v is a cast of such integers that holds them all, those.
  ValueId as_type(ValueId v, DType to);

  // ---- Attributes
  AttrValue* find(std::string_view attribute);
  void set(std::string_view attribute, AttrValue value);
  void drop(std::string_view attribute);
  Ints ints(std::string_view attribute);
  bool empty(std::string_view attribute);

  // ---- Results
  Tensors& tensors() { return tensors_; }
  /// A result of the call is v: of the document's integers where the row makes those of another width.
  void give(const Arg& result, ValueId v);
  void give(ValueId v) { give(op.results[0], v); }
  /// The node that the table spells under `as` ("": the operation's own name), and its outputs as the results.
  Status plain(std::string_view as = {});
  Result<NodeId> spelled(std::string_view as, size_t outputs);

  Builder b;
  const Operation& op;
  const DType integers;  ///< The element type of the document's integers.
  const bool dry;
  std::vector<ValueId> in;
  std::vector<Ints> in_extents;  ///< Of `in`.
  AttrMap attrs;
  bool done = false;  ///< The results are given.
  std::string hint;   ///< What a fault of the table may have to do with.

 private:
  Status read_tensor(const Arg& arg, const DeclaredType& type);
  /// What a row that takes a list makes of v, where nobody need infer the extents.
  ValueId known(std::string_view row, ValueId v, const Ints& list, const Ints& extents);
  std::string about() const;

  Tensors& tensors_;
  ir::Graph& graph_;
  std::string_view rule_;
  Inference inference_;
  Status status_;
  bool aligned_ = false;
};

/// What an operation needs before (or instead of) the node that the table spells.
using ImportFunction = Status (*)(ImportCall&);

/// An operation of the standard.
struct OperationRow {
  std::string_view name;
  std::string_view rule;  ///< Its own rule, for faults that the table finds.
  CheckFunction check = nullptr;
  ImportFunction import_call = nullptr;
};
const OperationRow& operation_row(const Declaration& d);

// import_math.cpp
Status import_aligned(ImportCall& c);
Status import_add_n(ImportCall& c);
Status import_sum_reduce(ImportCall& c);
Status import_linear(ImportCall& c);
Status import_batch_normalization(ImportCall& c);

// import_move.cpp
Status import_transpose(ImportCall& c);
Status import_reshape(ImportCall& c);
Status import_slice(ImportCall& c);
Status import_cast(ImportCall& c);
Status import_copies(ImportCall& c);

// import_window.cpp
Status import_conv(ImportCall& c);
Status import_deconv(ImportCall& c);
Status import_separable_conv(ImportCall& c);
Status import_separable_deconv(ImportCall& c);
Status import_pool(ImportCall& c);
Status import_argmax_pool(ImportCall& c);
Status import_reverse_pool(ImportCall& c);
Status import_nearest_downsample(ImportCall& c);
Status import_roi_align(ImportCall& c);

}  // namespace nnex::nnef_format
