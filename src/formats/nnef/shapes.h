#pragma once
// Shapes of NNEF's operations (reference sections 7 and 8): the numbered rules of each call, and the extents of its
// results. No graph is needed.

#include <string>
#include <unordered_map>

#include "formats/nnef/evaluate.h"

namespace nnex::nnef_format {

/// What variables with one label share (A14), and whether one of them was updated (A13).
struct SharedLabel {
  std::string written;  ///< As the first variable has it.
  ItemType type = ItemType::scalar;
  Ints extents;
  bool updated = false;
};

/// What the shape rules remember of a document: labels without regard to case, and the variables that have them.
struct VariableTable {
  std::unordered_map<std::string, SharedLabel> labels;
  std::unordered_map<uint32_t, std::string> variables;  ///< The label in lower case, by the tensor's number.
};

/// The label as it is compared: ASCII letters in lower case.
std::string label_key(std::string_view label);

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
