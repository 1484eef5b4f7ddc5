#pragma once
// From NNEF's operations to nodes of the engine's graph: what differs from the table's rows is converted
// here, once: extents that meet from axis 0, automatic padding, ports that are numbers in the text.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nnex/custom.h"
#include "standards/nnef/check_operations.h"

namespace nnex::nnef_format {

/// A variable whose content is wanted.
struct VariableRequest {
  std::string_view label;  ///< As the document writes it.
  std::string_view name;   ///< The tensor's, in the graph's body; may be empty.
  ItemType type = ItemType::scalar;
  Ints extents;
};

struct CallOptions {
  /// The content of a variable: f32 for scalars, i64 for integers, bool for logical ones, of the extents asked for.
  /// Absent: a variable is an error.
  std::function<Result<Tensor>(const VariableRequest&)> variable;
  /// The host's: their shape rules tell the extents that later operations ask for.
  CustomOperators custom_operators;
  /// Nobody wants the graph, only shapes and faults: tensors that no operation makes have no content, and what custom
  /// operations make has no shape.
  bool dry = false;
};

/// The engine's element type for a data-type of NNEF: f32, i64, bool, str.
DType element_type(ItemType type);

/// Makes the graph while the document is evaluated: each call is checked by NNEF's own rules (check_operations.h) and
/// becomes rows of the table, which infers the extents of its results; what the table refuses is a fault under the
/// operation's rule. Variables that are updated become states of the graph, the others
/// constants; variables of one label are one value. A custom operation becomes a custom node.
class Importer : public Sink {
 public:
  Importer(ir::Graph& graph, CallOptions options) : graph_(graph), options_(std::move(options)), dry_(options_.dry) {}

  void begin(const GraphHeader& header) override;
  void operation(const Operation& op, Tensors& tensors, Faults& faults) override;
  void assigned(std::string_view name, TensorId id, Tensors& tensors) override;
  void end(std::span<const TensorId> results, Tensors& tensors) override;
  /// Whether the document has fragments of its own.
  bool has_fragments() const { return fragments_; }

 private:
  struct Kept {
    ValueId value, next;  ///< What is read, and what the update gives.
    std::string label;
  };

  using Introduce = Status (Importer::*)(const Operation&, Tensors&);

  Status import_operation(const Operation& op, Tensors& tensors);
  /// Of operations that are no rows; null: of all others.
  static Introduce introducing(std::string_view name);
  Where place_of(const Operation& op, const Tensors& tensors);
  void stand_in(TensorInfo& t);
  Status introduce_external(const Operation& op, Tensors& tensors);
  Status introduce_constant(const Operation& op, Tensors& tensors);
  Status introduce_variable(const Operation& op, Tensors& tensors);
  Status update(const Operation& op, Tensors& tensors);
  Status custom(const Operation& op, Tensors& tensors);
  DType element(ItemType type) const { return type == ItemType::integer ? integers_ : element_type(type); }
  ValueId named_result(ValueId v, const std::string& name);
  void make_states(std::vector<ValueId>& results);
  void note_variables();

  ir::Graph& graph_;
  CallOptions options_;
  VariableTable variables_;
  std::vector<std::string> result_names_;
  bool fragments_ = false;
  bool dry_ = false;
  DType integers_ = DType::i64;                         ///< The element type of the document's integers.
  std::map<std::string, ValueId, std::less<>> params_;  ///< Of the graph, by name.
  std::map<std::string, Kept, std::less<>> kept_;       ///< Variables, by label in lower case.
  std::vector<std::string> updated_;                    ///< Their keys, in the order of their updates.
};

/// A sink that checks documents, and gives their tensors shapes.
class ShapeChecker : public Sink {
 public:
  ShapeChecker() : importer_(graph_, {.variable = {}, .custom_operators = {}, .dry = true}) {}
  void operation(const Operation& op, Tensors& tensors, Faults& faults) override {
    importer_.operation(op, tensors, faults);
  }

 private:
  ir::Graph graph_;
  Importer importer_;
};

/// Of a document whose integers have 32 bits: constants and literals in the place of tensors that need more (S18).
Status check_integers32(const Operation& op);
/// Integers of any width in 32 bits. Error: invalid_model (C7), naming the first that needs more.
Result<Tensor> as_integers32(const Tensor& t);

/// Numbers in the range of trained weights, the same for the same label and seed: up to sqrt(6 / inputs of one output)
/// either way, vectors up to 0.1, around 1 where the label speaks of a variance or scale. Integers and truth are 0 and
/// 1. Errors: limit.
Result<Tensor> seeded_weights(const VariableRequest& request, uint64_t seed);

}  // namespace nnex::nnef_format
