#pragma once
// Web IDL: conversions of JavaScript's values (nnex/webnn_call.h) to the types of the interface. What throws a
// TypeError in JavaScript gives one here.

#include <span>
#include <string>
#include <string_view>

#include "nnex/webnn_call.h"

namespace nnex::ml::idl {

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
