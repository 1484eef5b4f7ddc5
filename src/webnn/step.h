#pragma once
// One call of an operation: its arguments, converted, and what is wrong with them.

#include <fmt/format.h>

#include <string>
#include <variant>
#include <vector>

#include "ops/attrs.h"
#include "webnn/builder.h"
#include "webnn/method.h"

namespace nnex::ml {

/// An argument or option member after conversion; monostate: absent.
using Arg = std::variant<std::monostate, Operand, std::vector<Operand>, int64_t, Ints, Reals, double, Number, bool,
                         std::string, Texts, DataType>;

/// Arguments by position, then the options' members in their order.
struct Arguments {
  const Method* method = nullptr;
  std::vector<Arg> values;
  std::string label;

  /// All absent but for the IDL's defaults.
  explicit Arguments(const Method& m);
  /// Index of an argument or member; it must exist.
  size_t index(std::string_view name) const;
  /// The parameter of index i.
  const Param& param(size_t i) const;
};

/// Extents of an operand.
Ints extents(const OperandState& operand);

class Step {
 public:
  Step(BuilderState& builder, const Arguments& args) : builder_(builder), args_(args) {}

  BuilderState& builder() const { return builder_; }
  const Method& method() const { return *args_.method; }
  const Arguments& args() const { return args_; }

  // ---- Arguments by name. Those that read a value need it to be there.
  bool given(std::string_view name) const { return arg(name).index() != 0; }
  const OperandState& operand(std::string_view name) const { return *std::get<Operand>(arg(name)).state(); }
  const std::vector<Operand>& operands(std::string_view name) const {
    return std::get<std::vector<Operand>>(arg(name));
  }
  Ints shape(std::string_view operand_name) const { return extents(operand(operand_name)); }
  int64_t integer(std::string_view name) const { return std::get<int64_t>(arg(name)); }
  double real(std::string_view name) const { return std::get<double>(arg(name)); }
  bool flag(std::string_view name) const { return std::get<bool>(arg(name)); }
  const std::string& word(std::string_view name) const { return std::get<std::string>(arg(name)); }
  const Number& number(std::string_view name) const { return std::get<Number>(arg(name)); }
  DataType data_type(std::string_view name) const { return std::get<DataType>(arg(name)); }
  const Ints& ints(std::string_view name) const { return std::get<Ints>(arg(name)); }
  Ints ints_or(std::string_view name, Ints otherwise) const { return given(name) ? ints(name) : otherwise; }
  const Arg& arg(std::string_view name) const { return args_.values[args_.index(name)]; }

  // ---- Checks
  /// A TypeError: "[label] conv2d: ...".
  template <class... T>
  Error fail(std::string_view text, const T&... values) const {
    return type_error(prefix() + fmt::vformat(text, fmt::make_format_args(values...)));
  }
  std::string prefix() const;
  /// A number of the input's type is a BigInt for integers of 64 bits alone: stored cases of clamp() and constant() say
  /// so, the text casts.
  Status need_number(std::string_view name) const;
  /// list has n items.
  Status need_count(std::string_view name, size_t n) const;
  /// Every item is at least 1.
  Status need_positive(std::string_view name) const;
  /// axis < rank.
  Status need_axis(std::string_view name, size_t rank) const;
  /// Every axis < rank, none twice.
  Status need_axes(std::string_view name, size_t rank) const;
  /// An operand, where it is given, has this shape.
  Status need_shape(std::string_view operand_name, const Ints& shape) const;

 private:
  BuilderState& builder_;
  const Arguments& args_;
};

/// Arithmetic on extents that stops at 2^62 in either direction instead of wrapping.
int64_t bounded_add(int64_t a, int64_t b);
int64_t bounded_mul(int64_t a, int64_t b);

}  // namespace nnex::ml
