#pragma once
// What stands behind a graph builder and its operands: the engine's graph that the operations append to.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "nnex/webnn.h"

namespace nnex::ml {

/// The engine's element type, and back (none: WebNN has no such type).
DType dtype_of(DataType type);
std::optional<DataType> data_type_of(DType type);

/// One operand: a value of its builder's graph. Keeps the builder's state alive, never the other way round.
struct OperandState {
  enum class Role : uint8_t { input, constant, computed };

  std::shared_ptr<BuilderState> builder;
  ValueId value;
  DataType dataType = DataType::float32;
  std::vector<uint32_t> shape;
  Role role = Role::computed;
};

/// A builder: nodes of operations are appended to block 0 of `graph` as they are called; build() takes it away.
struct BuilderState : std::enable_shared_from_this<BuilderState> {
  std::shared_ptr<ContextState> context;
  ir::Graph graph;
  std::vector<std::pair<ValueId, std::shared_ptr<TensorState>>> constant_tensors;  ///< Those of constant(tensor).
  bool built = false;

  /// InvalidStateError once it has built, or when the context is lost: every operation asks this first, after the
  /// conversion of its arguments.
  Status can_build() const;
  /// Whether the operand is one of this builder's.
  bool owns(const Operand& operand) const { return !operand.empty() && operand.state()->builder.get() == this; }
  /// A handle for a value of the graph, whose type is set to this one.
  Operand operand(ValueId value, DataType type, std::vector<uint32_t> shape,
                  OperandState::Role role = OperandState::Role::computed);
  /// A constant whose bytes are elsewhere, where the context only checks: no input, though it stands among them.
  Operand absent_constant(DataType type, const std::vector<uint32_t>& shape);
};

/// What every call on a builder asks first: can_build(), and TypeError for an empty builder.
Status usable(const std::shared_ptr<BuilderState>& builder);

/// What a handle points to; the program ends where that is nothing. `call`: "Operand::shape".
template <class State>
State& held(const std::shared_ptr<State>& state, const char* call) {
  if (!state) misused(std::string(call) + ": the handle is empty (default-constructed, or moved elsewhere)");
  return *state;
}

/// Largest extent, element count and byte length of a tensor; largest rank.
inline constexpr int64_t kMaxDimension = 2147483647;
inline constexpr int64_t kMaxElements = 2147483647;
inline constexpr int64_t kMaxTensorBytes = 2147483647;
inline constexpr uint32_t kMaxRank = 8;

/// TypeError for a number that is no enumerator.
Status check_type_exists(DataType type, std::string_view what);
/// The specification's "check dimensions": every extent in 1..2^31-1, at most 2^31-1 elements and kMaxTensorBytes
/// bytes, rank at most kMaxRank. `what` begins the message ("input 'x'", "output of conv2d"). Error: TypeError.
Status check_dimensions(DataType type, const std::vector<uint32_t>& shape, std::string_view what);
/// Bytes of a tensor whose dimensions are checked.
int64_t byte_length(DataType type, const std::vector<uint32_t>& shape);

/// Whether a buffer may fill a constant of the descriptor: exactly as many bytes; a buffer, a Uint8Array or the view
/// that matches the type (float16: Float16Array or Uint16Array). Error: TypeError.
Status check_buffer(const OperandDescriptor& descriptor, const BufferSource& buffer, std::string_view what);

/// An engine scalar of the type with the number cast to it: floats round to nearest even (overflow to infinity),
/// integers are cut to whole numbers and clamp to the type's range, NaN gives 0. A BigInt that is cast to an integer
/// type stays exact.
nnex::Tensor cast_number(DataType type, const Number& value);

/// Built once: what every operation allows, by operation and operand.
const OpSupportLimits& op_support_limits();

Error type_error(std::string message);
Error invalid_state(std::string message);
/// An engine failure as an Error of that kind.
Error from_engine(ErrorKind kind, const nnex::Error& error);

}  // namespace nnex::ml
