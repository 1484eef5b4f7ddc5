#pragma once
// From a checked call to nodes of the builder's graph.

#include "graph/infer.h"
#include "webnn/step.h"

namespace nnex::ml {

/// Appends nodes and infers their types at once. The first failure is kept: what is made after it is nothing.
class Importer {
 public:
  explicit Importer(const Step& step);

  const Step& step() const { return step_; }

  /// The value of an operand; invalid where it was not given.
  ValueId in(std::string_view operand_name) const;
  Shape shape(ValueId v) const;
  const Type& type(ValueId v) const { return types_.type(v); }
  DType dtype(ValueId v) const { return types_.type(v).dtype; }

  /// A node with default attributes, or with these; its first output.
  ValueId operator()(std::string_view op_name, std::vector<ValueId> inputs) {
    return first(nodes(op(op_name), std::move(inputs), 1, nullptr));
  }
  template <class A>
  ValueId operator()(std::string_view op_name, std::vector<ValueId> inputs, A attrs) {
    return first(several(op_name, std::move(inputs), 1, std::move(attrs)));
  }
  /// All outputs of a node.
  template <class A>
  std::vector<ValueId> several(std::string_view op_name, std::vector<ValueId> inputs, size_t outputs, A attrs) {
    NNEX_ASSERT(op(op_name).attrs.type == &nnex::detail::type_tag<A>);
    return nodes(op(op_name), std::move(inputs), outputs, std::make_shared<A>(std::move(attrs)));
  }
  /// The row that spells the operation: operands to their ports, everything else to attributes or parameter ports.
  std::vector<ValueId> spelled();

  ValueId ints(const Ints& values);
  ValueId constant(nnex::Tensor t);
  ValueId zeros(DType type, const Shape& shape);
  /// The same value where the order is the identity.
  ValueId transposed(ValueId v, const Ints& axes);
  ValueId reshaped(ValueId v, const Ints& shape);

  /// A value of this shape and the input's type by a node that no engine runs: what the specification's checks let
  /// through. Compilation names `why`.
  ValueId impossible(std::string_view why, const Ints& shape);

  /// The next result of the operation.
  void result(ValueId v) { results_.push_back(v); }
  const std::vector<ValueId>& results() const { return results_; }
  const nnex::Status& status() const { return status_; }

 private:
  std::vector<ValueId> nodes(const OpDef& op, std::vector<ValueId> inputs, size_t outputs,
                             std::shared_ptr<const void> attrs);
  std::vector<ValueId> inferred(NodeId id);
  ValueId first(const std::vector<ValueId>& v) const { return v.empty() ? ValueId{} : v.front(); }
  bool failed() const { return !status_.ok(); }

  const Step& step_;
  ir::Graph& graph_;
  Builder builder_;
  Inference types_;
  std::vector<ValueId> results_;
  nnex::Status status_;
};

}  // namespace nnex::ml
