#pragma once
// A builder program: the calls that make a graph, as data. Files hold one (docs/webnn-file.md), a writer makes one of
// an engine graph, a player calls a builder with it.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ops/attrs.h"
#include "webnn/builder.h"
#include "webnn/idl.h"
#include "webnn/method.h"

namespace nnex::ml {

/// An operand of a program, by its place in Program::operands.
struct Ref {
  int32_t n = -1;
  bool valid() const { return n >= 0; }
};

/// An argument or option member; monostate: not given. Words of enumerations are strings; an integer beyond 2^53 is the
/// text of a BigInt ("18446744073709551615n").
using ProgramValue = std::variant<std::monostate, Ref, std::vector<Ref>, AttrValue>;

struct ProgramOperand {
  std::string name;  ///< Unique in the program.
  OperandDescriptor descriptor;
  OperandState::Role role = OperandState::Role::computed;
  nnex::Tensor content;  ///< Of constants: as many bytes as the descriptor has.
};

struct ProgramCall {
  const Method* method = nullptr;
  std::vector<ProgramValue> values;  ///< Arguments by position, then the options' members in their order.
  std::string label;
  std::vector<Ref> results;
};

struct Program {
  std::string name;
  std::vector<ProgramOperand> operands;
  std::vector<ProgramCall> calls;
  std::vector<std::pair<std::string, Ref>> outputs;
};

/// The parameter of index i: arguments first, then options.
const Param& param_of(const Method& method, size_t i);
/// Index of a parameter; -1 where the method has none of that name.
int param_index(const Method& method, std::string_view name);

/// Calls a builder as a program says, step by step.
class Player {
 public:
  /// A builder of its own, without a thread.
  Player();
  explicit Player(GraphBuilder builder) : builder_(std::move(builder)) {}

  /// Makes operand `n` of the program, the next one. A constant's bytes are shared, not copied.
  /// Errors: the builder's TypeErrors.
  Status add(const ProgramOperand& operand);
  /// Calls the operation; its results are the next operands, in order. Errors: those of call().
  Result<std::vector<Operand>> call(const ProgramCall& c);
  const Operand& operator[](Ref r) const { return operands_[static_cast<size_t>(r.n)]; }
  size_t size() const { return operands_.size(); }
  BuilderState& builder() const { return *builder_.state(); }

 private:
  idl::Value value(const Param& p, const ProgramValue& v) const;

  GraphBuilder builder_;
  std::vector<Operand> operands_;
};

/// Plays a whole program: the operands behind its outputs. Results' descriptors are filled in. Errors: the calls'.
Result<NamedOperands> play(Player& player, Program& program);

/// The engine's graph of a program. Errors: invalid_model.
nnex::Result<ir::Graph> graph_of(Program& program);

}  // namespace nnex::ml
