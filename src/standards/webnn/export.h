#pragma once
// An engine graph as a builder program: node after node becomes calls, which a builder checks as they are made.

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "standards/export_spelling.h"
#include "standards/unwritable.h"
#include "standards/webnn/program.h"

namespace nnex::ml {

/// The program of the graph, which is made plain on the way: functions inlined, shapes computed, constants folded,
/// operations that WebNN lacks replaced by what their rows' bodies say. Truth values become uint8. Errors:
/// invalid_argument (an extent that is no number: it names the input and symbol), unsupported, naming every operation
/// that WebNN cannot say.
nnex::Result<Program> to_program(ir::Graph& graph, const std::string& name);

/// An argument of a call by its name.
struct Named {
  Named(std::string_view n, ProgramValue v);
  std::string_view name;
  ProgramValue value;
};

/// Appends calls to a program and makes them at once. The first failure is kept: what is called after it is nothing.
class Writer {
 public:
  explicit Writer(const ir::Graph& graph) : graph_(graph) {}

  const ir::Graph& graph() const { return graph_; }
  /// The whole graph; nodes that cannot be said are listed in `refused`, then the program is not complete.
  nnex::Status write(std::vector<Unwritable>& refused);
  Program take() { return std::move(program_); }

  // ---- For rows
  /// The operand of a value; a constant is added when it is first asked for.
  Ref of(ValueId v);
  DataType type(Ref r) const { return descriptor(r).dataType; }
  Ints shape(Ref r) const;
  /// The concrete extents of a value.
  Ints extents(ValueId v) const;

  Ref constant(const nnex::Tensor& content, std::string name = {});
  /// A constant of rank 0.
  Ref scalar(DataType type, double value);
  Ref call(std::string_view operation, std::vector<Named> args) { return first(calls(operation, std::move(args))); }
  std::vector<Ref> calls(std::string_view operation, std::vector<Named> args);
  /// The same operand where it has that shape, type or order already; constants are shaped anew without a call.
  Ref reshaped(Ref r, const Ints& shape);
  Ref cast(Ref r, DataType type);
  Ref transposed(Ref r, const Ints& axes);
  /// Elements [start, start + size) of an axis.
  Ref sliced(Ref r, size_t axis, int64_t start, int64_t size);
  /// The value is this operand, whose type and shape must be the value's.
  void give(ValueId v, Ref r);
  void refuse(std::string reason);
  bool failed() const { return failed_; }

 private:
  const OperandDescriptor& descriptor(Ref r) const { return program_.operands[static_cast<size_t>(r.n)].descriptor; }
  static Ref first(const std::vector<Ref>& r) { return r.empty() ? Ref{} : r.front(); }
  Ref add(ProgramOperand operand);
  void know(ValueId v, Ref r);
  nnex::Status inputs();
  void node(NodeId id);
  void outputs();
  void name_operands();

  const ir::Graph& graph_;
  Program program_;
  Player player_;
  std::unordered_map<uint32_t, Ref> values_;
  std::vector<uint32_t> known_;      ///< Values of values_ that the node at hand added.
  std::vector<std::string> wanted_;  ///< Names of operands, as the graph has them; empty: none.
  std::string label_, reason_;
  bool failed_ = false, follows_ = false;  ///< follows_: it only reads what failed before.
};

/// A node on its way into calls.
struct RowNode {
  Writer& to;
  const Node& node;
  PlainNode plain;
  std::shared_ptr<void> attrs;  ///< A copy that may be changed.

  const ir::Graph& graph() const { return to.graph(); }
  std::string_view row() const { return node.op->name; }
  bool given(size_t i) const { return i < node.in.size() && node.in[i].valid(); }
  Ref in(size_t i) const { return given(i) ? to.of(node.in[i]) : Ref{}; }
  Ints x(size_t i = 0) const { return given(i) ? to.extents(node.in[i]) : Ints{}; }
  Ints y(size_t i = 0) const { return to.extents(node.out[i]); }
  bool wants(size_t i) const;
  DType dtype(size_t i = 0) const { return graph()[node.in[i]].type.dtype; }
  const nnex::Tensor* constant(size_t i) const { return given(i) ? graph().constant_in(node, i) : nullptr; }
  void give(Ref r) const { to.give(node.out[0], r); }
  void refuse(std::string reason) const { to.refuse(std::move(reason)); }
  template <class A>
  const A& attr() const {
    return graph().attrs<A>(node);
  }
  bool has(std::string_view field) const { return node.op->attrs.find(field) != nullptr; }
  AttrValue get(std::string_view field) const;
  void set(std::string_view field, const AttrValue& value);
  void reset(std::string_view field);
};

/// What writes a row in its own way, or prepares it for plain_row; null: plain_row alone.
using RowWriter = void (*)(RowNode& w);
struct RowEntry {
  std::string_view name;
  RowWriter write = nullptr;
};
/// The rows that move elements, and those of products, windows and recurrent layers.
std::span<const RowEntry> moving_rows();
std::span<const RowEntry> product_rows();
/// Of those and every other row.
RowWriter find_row(std::string_view row);

/// The row as the table spells it: operands by their ports, attributes by their names.
void plain_row(RowNode& w);

/// The content of a constant of one element as an MLNumber; monostate where it is none.
AttrValue number_of(const nnex::Tensor* t);

}  // namespace nnex::ml
