#pragma once
// A node, or several that share a loop, on its way into a function of C and a call of it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "standards/c/write_text.h"

namespace nnex::c_format {

/// What is given for a parameter of a function.
struct Argument {
  enum class Kind : uint8_t { value, weight, scratch } kind = Kind::value;
  ValueId value;  ///< Read or written.
  bool written = false;
  size_t index = 0;   ///< Which of the weights; of scratch memory, which piece of the arena.
  int64_t bytes = 0;  ///< Of scratch memory.
  DType type = DType::none;
};

/// A call in the network's order.
struct Step {
  std::string function;  ///< Its name.
  std::vector<Argument> arguments;
  bool faults = false;  ///< It returns whether its data was such that it could work.
  std::string comment;  ///< Which nodes it is.
};

/// A constant as the file holds it.
struct Weight {
  std::string name;
  Tensor content;
};

/// Functions and constants of the file: those that are equal are written once.
class Parts {
 public:
  /// `prefix` begins the names of what is this file's alone, so that several may be compiled as one.
  explicit Parts(std::string prefix) : prefix_(std::move(prefix)) {}

  /// The name of a function of this body, with `kind` in it.
  std::string function(std::string_view kind, bool faults, const std::vector<std::string>& parameters,
                       const std::string& body);
  /// A function of the library that stands before all others (write_library.h), with those it needs: its name.
  std::string library(std::string_view name, DType type);
  /// Which of the constants this is: those of one type and the same bytes are one.
  size_t weight(const ir::Graph& graph, ValueId v);
  size_t weight(Tensor content, std::string_view name);

  /// Text of the functions: the library's, and those of nodes.
  const std::string& library_text() const { return library_text_; }
  const std::string& functions_text() const { return functions_text_; }
  const std::vector<Weight>& weights() const { return weights_; }
  size_t function_count() const { return names_.size(); }

 private:
  std::string prefix_, library_text_, functions_text_;
  std::set<std::string> in_library_;
  std::unordered_map<std::string, std::string> names_;  // of functions by their text
  std::unordered_map<uint32_t, size_t> weight_of_;      // by value
  std::unordered_multimap<size_t, size_t> by_content_;  // by hashes
  std::vector<Weight> weights_;
  std::set<std::string> taken_;
};

/// The function and the call of a node.
class StepWriter {
 public:
  StepWriter(const ir::Graph& graph, NodeId id, Parts& parts) : graph_(graph), node_(graph[id]), parts_(parts) {}

  const ir::Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  std::string_view row() const { return node_.op->name; }
  template <class A>
  const A& attr() const {
    return graph_.attrs<A>(node_);
  }

  /// The value of a field, where no header declares the row's struct.
  AttrValue get(std::string_view field) const { return node_.op->attrs.find(field)->get(node_.attrs.get()); }

  // ---- What the node has
  bool given(size_t i) const { return i < node_.in.size() && node_.in[i].valid(); }
  bool wants(size_t o) const { return o < node_.out.size() && node_.out[o].valid(); }
  Shape shape(ValueId v) const;
  Shape x(size_t i = 0) const { return shape(node_.in[i]); }
  Shape y(size_t o = 0) const { return shape(node_.out[o]); }
  DType type(ValueId v) const;
  DType x_type(size_t i = 0) const { return type(node_.in[i]); }
  DType y_type(size_t o = 0) const { return type(node_.out[o]); }
  const Tensor* constant(size_t i) const { return given(i) ? graph_.constant_in(node_, i) : nullptr; }
  /// The numbers of a parameter that must be known; refuses where it is computed.
  Ints numbers(size_t i);

  // ---- The function's parameters: each is made when it is first asked for, and named
  std::string read(ValueId v);
  std::string in(size_t i = 0) { return read(node_.in[i]); }
  std::string out(size_t o = 0) { return write(node_.out[o]); }
  std::string write(ValueId v);
  /// Memory of its own, of so many elements.
  std::string scratch(DType type, int64_t count);
  /// A constant that the file holds beside the graph's.
  std::string table(Tensor content, std::string_view name);

  Text& body() { return body_; }
  /// The name of a function of the library.
  std::string need(std::string_view function, DType type = DType::none) { return parts_.library(function, type); }
  /// It may find data that it cannot work with: the body returns 1 where it could, else 0.
  void may_fail() { faults_ = true; }

  // ---- Results of a product, one by one, which other nodes may compute on
  /// An element: the expressions of its value, of where it lies in the result and on the axis of columns.
  struct Element {
    std::string value, place, column;
  };
  /// Writes what becomes of an element: it is stored, if nobody else says.
  void result(const Element& e) {
    if (end_) return end_(e);
    body_.line("{}[{}] = {};", out(), e.place, e.value);
  }
  void end_with(std::function<void(const Element&)> end) { end_ = std::move(end); }

  void refuse(std::string reason);
  bool refused() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }

  /// The call; nothing may be asked for after it.
  Step take(std::string_view kind, std::string comment);

 private:
  std::string parameter(Argument argument, std::string name, bool written);

  const ir::Graph& graph_;
  const Node& node_;
  Parts& parts_;
  Text body_;
  std::vector<Argument> arguments_;
  std::vector<std::string> parameters_;
  std::unordered_map<uint32_t, std::string> names_;  // of values
  size_t reads_ = 0, writes_ = 0, scratches_ = 0, tables_ = 0;
  bool faults_ = false;
  std::string reason_;
  std::function<void(const Element&)> end_;
};

/// What writes a row.
using RowWriter = void (*)(StepWriter& w);
struct RowEntry {
  std::string_view name;
  RowWriter write = nullptr;
  /// Whether elements stay as they are and in their order, so that there is nothing to do; null: never.
  bool (*keeps)(const StepWriter& w) = nullptr;
  /// The axis of the result that columns lie along, of products that give results one by one.
  std::optional<int64_t> column_axis = {};
};
std::span<const RowEntry> moving_rows();
std::span<const RowEntry> gathering_rows();
std::span<const RowEntry> reducing_rows();
std::span<const RowEntry> product_rows();
std::span<const RowEntry> code_rows();
std::span<const RowEntry> class_rows();
std::span<const RowEntry> order_rows();
std::span<const RowEntry> window_rows();
std::span<const RowEntry> resize_rows();
std::span<const RowEntry> recurrent_rows();
/// Of all of them; null: another one.
const RowEntry* find_row(std::string_view row);

// ---- Rows whose result at i depends on their operands at i alone

/// Whether a formula of write_maps.cpp says the row.
bool is_map(const OpDef& op);
/// The shape under which a map reads operand i: its own, or that of a parameter along an axis.
Result<Shape> operand_shape(const ir::Graph& graph, const Node& node, size_t i);
/// Appends lines that compute the node of these operands (names or literals) and returns the result's expression; an
/// empty one: it was refused.
std::string map_expression(StepWriter& w, const Node& node, const std::vector<std::string>& operands);

}  // namespace nnex::c_format
