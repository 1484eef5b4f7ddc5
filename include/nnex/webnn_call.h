#pragma once
/// WebNN by name: the values of JavaScript, and calls of a builder's operations with them. What a binding or a recorded
/// call needs; C++ programs have the typed operations (webnn_ops.h).
///
///     const ml::idl::Value args[] = {x, 1, ml::idl::Dictionary{{"label", "last"}}};
///     std::vector<ml::Operand> y = *ml::call(builder, "softmax", args);

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/webnn.h"

#pragma GCC visibility push(default)
namespace nnex::ml {
namespace idl {

class Value;

struct Undefined {};
struct Null {};
/// An object with nothing of interest: a function, a date. Its dictionary members are all absent.
struct Object {};
/// What iterates: an array.
using Sequence = std::vector<Value>;
/// Members of a plain object; of two with one name the last counts.
using Dictionary = std::vector<std::pair<std::string, Value>>;

/// A typed array, a data view or a buffer; `owner` keeps the bytes alive where nobody else does.
struct View {
  BufferSource source;
  std::shared_ptr<const void> owner;
};

/// A JavaScript value.
class Value {
 public:
  Value() = default;
  Value(Undefined) {}                                                                // NOLINT: implicit
  Value(Null v) : state_(v) {}                                                       // NOLINT
  Value(bool v) : state_(v) {}                                                       // NOLINT
  Value(double v) : state_(v) {}                                                     // NOLINT
  Value(int v) : state_(static_cast<double>(v)) {}                                   // NOLINT
  Value(int64_t v) : state_(static_cast<double>(v)) {}                               // NOLINT
  Value(BigInt v) : state_(v) {}                                                     // NOLINT
  Value(std::string v) : state_(std::move(v)) {}                                     // NOLINT
  Value(const char* v) : state_(std::string(v)) {}                                   // NOLINT
  Value(Sequence v) : state_(std::make_shared<const Sequence>(std::move(v))) {}      // NOLINT
  Value(Dictionary v) : state_(std::make_shared<const Dictionary>(std::move(v))) {}  // NOLINT
  Value(Operand v) : state_(std::move(v)) {}                                         // NOLINT
  Value(Tensor v) : state_(std::move(v)) {}                                          // NOLINT
  Value(View v) : state_(std::move(v)) {}                                            // NOLINT
  Value(Object v) : state_(v) {}                                                     // NOLINT

  bool undefined() const { return std::holds_alternative<Undefined>(state_); }
  bool null() const { return std::holds_alternative<Null>(state_); }
  const bool* boolean() const { return std::get_if<bool>(&state_); }
  const double* number() const { return std::get_if<double>(&state_); }
  const BigInt* big_int() const { return std::get_if<BigInt>(&state_); }
  const std::string* string() const { return std::get_if<std::string>(&state_); }
  const Sequence* sequence() const { return pointed<Sequence>(); }
  const Dictionary* dictionary() const { return pointed<Dictionary>(); }
  const Operand* operand() const { return std::get_if<Operand>(&state_); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&state_); }
  const View* view() const { return std::get_if<View>(&state_); }
  /// Neither undefined, null, a boolean, a number, a BigInt nor a string.
  bool object() const { return state_.index() > 5; }
  /// Member of a dictionary; undefined where it has none or the value is no dictionary.
  const Value& member(std::string_view name) const;
  /// "undefined", "the number 3", "a sequence of 2", "an operand": for messages.
  std::string text() const;

 private:
  template <class T>
  const T* pointed() const {
    auto* p = std::get_if<std::shared_ptr<const T>>(&state_);
    return p ? p->get() : nullptr;
  }
  std::variant<Undefined, Null, bool, double, BigInt, std::string, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Dictionary>, Operand, Tensor, View, Object>
      state_;
};

/// A BigInt of decimal digits with an optional minus sign; nothing where the text is none.
std::optional<BigInt> big_int_of(std::string_view digits);

}  // namespace idl

/// Calls an operation of a builder by its name in the specification, `input` and `constant` too, as JavaScript would:
/// the arguments are converted by the rules of Web IDL. Errors: TypeError for an unknown operation or arguments that
/// cannot be converted, then those of the operation.
Result<std::vector<Operand>> call(GraphBuilder& builder, std::string_view operation, std::span<const idl::Value> args);

}  // namespace nnex::ml
#pragma GCC visibility pop
