#pragma once
// Shapes of NNEF's operations (reference sections 7 and 8): the numbered rules of each call, and the extents of its
// results. No graph is needed.

#include <string>
#include <vector>

#include "graph/text/arena.h"
#include "graph/text/name_table.h"
#include "standards/nnef/evaluate.h"

namespace nnex::nnef_format {

/// The label as it is compared: ASCII letters in lower case.
std::string label_key(std::string_view label);

/// What variables with one label share (A14), and whether one of them was updated (A13).
struct SharedLabel {
  std::string_view key;      ///< In lower case.
  std::string_view written;  ///< As the first variable has it.
  TensorId first;            ///< That variable's tensor.
  bool updated = false;
};

/// What the shape rules remember of a document: labels without regard to case, and the variables that have them.
class VariableTable {
 public:
  /// Notes that a tensor is a variable; what its label's variables share. Tensors come in the order of their numbers.
  SharedLabel& add(std::string_view label, TensorId variable);
  /// What a variable shares with others; null: the tensor is no variable.
  SharedLabel* find(TensorId variable);

 private:
  struct Variable {
    uint32_t tensor;
    uint32_t label;  ///< In list_.
  };
  graph_text::Arena texts_;
  ChunkedList<SharedLabel> list_;
  NameTable<uint32_t> by_key_;
  std::vector<Variable> variables_;
  std::string key_;
};

/// Checks one call by its operation's rules and gives its results their extents. Results of custom operations, and of
/// calls whose tensors have no shape, stay without. Errors: invalid_model with the rule's number, at the call's place.
Status infer_shapes(const Operation& op, Tensors& tensors, VariableTable& variables);

/// A sink that checks documents: types come from the evaluator, shapes from here.
class ShapeChecker : public Sink {
 public:
  void operation(const Operation& op, Tensors& tensors, Faults& faults) override {
    faults.check(infer_shapes(op, tensors, variables_));
  }

 private:
  VariableTable variables_;
};

}  // namespace nnex::nnef_format
