#pragma once
// NNEF's own rules of its operations (reference sections 7 and 8): where they ask for more than the rows of the table
// that the operations are imported to. The rest, and the extents of results, the table infers while they are imported.

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

/// What the rules of variables remember of a document: labels without regard to case, and the variables that have them.
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

/// Extents of a tensor; a literal in its place has none.
inline const Ints& extents_of(const Arg& a, const Tensors& tensors) {
  static const Ints kNone;
  return a.is_tensor() ? tensors[a.tensor()].extents : kNone;
}
/// Whether a tensor of these extents, none below 0, has at most 2^58 elements.
bool countable(const Ints& extents);
/// `to` becomes the extents that both meet in from dimension 0: equal, or one of them 1; missing ones are 1. False
/// where they do not fit; `to` stays then.
bool stretch(Ints& to, const Ints& by);
/// Whether `from` stretches to `to` and leaves `to` as it is.
bool broadcasts_to(const Ints& from, const Ints& to);

/// Which tensors of a call do not meet, and why; empty: all do.
std::string misfit_text(const Operation& op, const Tensors& tensors);

class CheckCall;
/// The rules of one operation beyond the table's, for arguments whose tensors all have shapes. Gives externals,
/// constants, variables and updates, which are no rows, the extents they declare. Errors: invalid_model with the rule's
/// number, at the call's place.
using CheckFunction = Status (*)(CheckCall&);

}  // namespace nnex::nnef_format
