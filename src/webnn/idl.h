#pragma once
// Web IDL: the dynamic values a binding or a recorded call passes, and their conversions to the types of the
// interface. What throws a TypeError in JavaScript gives one here.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/webnn.h"

namespace nnex::ml::idl {

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

// ---- Conversions. `what` begins the message: "conv2d: options.padding".

/// ECMAScript's ToNumber. TypeError: a BigInt.
Result<double> to_number(const Value& v, std::string_view what);
bool to_boolean(const Value& v);
/// USVString and DOMString (text is UTF-8 here).
Result<std::string> to_string(const Value& v, std::string_view what);
/// [EnforceRange] unsigned long. TypeError: not finite, or outside 0..2^32-1 once truncated.
Result<uint32_t> to_unsigned_long(const Value& v, std::string_view what);
/// unsigned long without [EnforceRange]: modulo 2^32.
Result<uint32_t> to_wrapped_unsigned_long(const Value& v, std::string_view what);
/// [EnforceRange] long.
Result<int32_t> to_long(const Value& v, std::string_view what);
/// double. TypeError: not finite.
Result<double> to_double(const Value& v, std::string_view what);
/// float. TypeError: not finite once rounded to single precision.
Result<float> to_float(const Value& v, std::string_view what);
/// MLNumber: (bigint or unrestricted double).
Result<Number> to_ml_number(const Value& v, std::string_view what);
/// sequence<...>: the items. TypeError: no iterable object. Typed arrays iterate their numbers.
Result<Sequence> to_sequence(const Value& v, std::string_view what);
/// Whether a union with a sequence takes the value as one.
bool iterable(const Value& v);
/// An enumeration: the index of the word. TypeError: another one.
Result<size_t> to_word(const Value& v, std::span<const std::string_view> words, std::string_view what);
Result<DataType> to_data_type(const Value& v, std::string_view what);
/// MLOperand. TypeError: anything else.
Result<Operand> to_operand(const Value& v, std::string_view what);
/// Whether the value may stand for a dictionary: undefined, null or an object. TypeError: anything else.
Status check_dictionary(const Value& v, std::string_view what);
/// MLOperandDescriptor, MLTensorDescriptor, MLContextOptions.
Result<OperandDescriptor> to_operand_descriptor(const Value& v, std::string_view what);
Result<TensorDescriptor> to_tensor_descriptor(const Value& v, std::string_view what);
Result<ContextOptions> to_context_options(const Value& v, std::string_view what);
/// AllowSharedBufferSource. TypeError: no buffer and no view.
Result<View> to_buffer_source(const Value& v, std::string_view what);

/// A text for messages: control characters, bidirectional controls and whatever cannot be seen become \uXXXX.
std::string printable(std::string_view text);

}  // namespace nnex::ml::idl
