#pragma once
// The messages of onnx.proto: numbers of fields by their names, and every field with what it holds. schema.def lists
// them.

#include <cstdint>
#include <span>
#include <string_view>

#include "standards/onnx/read_wire.h"

namespace nnex::onnx_format {

// The numbers of each message's fields: NodeProto::op_type is 4.
#define NNEX_MESSAGE(message, name) struct message {
#define NNEX_FIELD(number, field, times, holds) static constexpr wire::FieldNumber field{number};
#define NNEX_PART(number, field, times, kind) static constexpr wire::FieldNumber field{number};
#define NNEX_END \
  }              \
  ;
#include "standards/onnx/schema.def"
#undef NNEX_MESSAGE
#undef NNEX_FIELD
#undef NNEX_PART
#undef NNEX_END

enum class MessageKind : uint8_t {
#define NNEX_MESSAGE(message, name) name,
#define NNEX_FIELD(number, field, times, holds)
#define NNEX_PART(number, field, times, kind)
#define NNEX_END
#include "standards/onnx/schema.def"
#undef NNEX_MESSAGE
#undef NNEX_FIELD
#undef NNEX_PART
#undef NNEX_END
  count
};

/// Numbers are varints; reals have 4 bytes, doubles 8; what ends in s is a list, packed or not. Texts are UTF-8.
enum class Holds : uint8_t { number, text, bytes, real, message, numbers, reals, doubles };

enum class Times : uint8_t { one, many };

struct FieldForm {
  wire::FieldNumber number = {};
  std::string_view name;
  Holds holds = {};
  Times times = {};
  MessageKind message = MessageKind::count;  ///< What a field of messages holds; else count.
};

/// All that onnx.proto knows of a message, in the order of their numbers.
std::span<const FieldForm> message_fields(MessageKind kind);
/// Null: onnx.proto does not know the number.
const FieldForm* find_field(MessageKind kind, wire::FieldNumber number);
/// Whether bytes that are a file's first begin as those of a model's message.
bool begins_model(std::string_view begin);
/// "model", "value_info", ...
std::string_view message_name(MessageKind kind);
/// Whether such a message is a tensor, or one may lie below it.
bool has_tensors(MessageKind kind);

/// Whether a field is one of these of its message.
template <class... Numbers>
constexpr bool is_one_of(wire::FieldNumber number, Numbers... of) {
  return ((number == of) || ...);
}

/// AttributeProto.AttributeType: the number of what an attribute has.
enum class AttributeType : int64_t {
  undefined = 0,
  real = 1,
  integer = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14
};

/// A type's field of AttributeProto, its letter in signatures, its word in ONNX's textual syntax, and the type of lists
/// of it (of lists: undefined).
struct AttributeForm {
  AttributeType type = {};
  wire::FieldNumber field = {};
  char letter = 0;
  std::string_view word;
  AttributeType list = AttributeType::undefined;
};
inline constexpr AttributeForm kAttributeForms[] = {
    {AttributeType::real, AttributeProto::f, 'f', "float", AttributeType::reals},
    {AttributeType::integer, AttributeProto::i, 'i', "int", AttributeType::integers},
    {AttributeType::string, AttributeProto::s, 's', "string", AttributeType::strings},
    {AttributeType::tensor, AttributeProto::t, 't', "tensor", AttributeType::tensors},
    {AttributeType::graph, AttributeProto::g, 'g', "graph", AttributeType::graphs},
    {AttributeType::reals, AttributeProto::floats, 'F', "floats"},
    {AttributeType::integers, AttributeProto::ints, 'I', "ints"},
    {AttributeType::strings, AttributeProto::strings, 'S', "strings"},
    {AttributeType::tensors, AttributeProto::tensors, 'x', "tensors"},
    {AttributeType::graphs, AttributeProto::graphs, 'G', "graphs"},
    {AttributeType::sparse_tensor, AttributeProto::sparse_tensor, 'p', "sparse_tensor", AttributeType::sparse_tensors},
    {AttributeType::sparse_tensors, AttributeProto::sparse_tensors, 'P', "sparse_tensors"},
    {AttributeType::type, AttributeProto::tp, 'T', "type_proto", AttributeType::types},
    {AttributeType::types, AttributeProto::type_protos, 'Y', "type_protos"}};

/// The form whose `member` has the value: attribute_form(&AttributeForm::letter, 'f'). Null: there is none.
template <class T>
constexpr const AttributeForm* attribute_form(T AttributeForm::*member, T value) {
  for (const AttributeForm& f : kAttributeForms)
    if (f.*member == value) return &f;
  return nullptr;
}

/// TensorProto.DataLocation: the data lie in another file.
inline constexpr int64_t kExternalData = 1;

}  // namespace nnex::onnx_format
