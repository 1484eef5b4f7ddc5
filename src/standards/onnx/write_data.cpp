#include "standards/onnx/write_data.h"

#include <algorithm>
#include <vector>

#include "base/failure.h"
#include "ops/codecs.h"
#include "standards/onnx/read_proto.h"
#include "standards/onnx/write_wire.h"

namespace nnex::onnx_format {
namespace {

using wire::FieldNumber;
using wire::Message;

constexpr int kDeepest = 64;  // as the reader has it

/// What a sequence or an optional has, and the field that each of the two messages keeps it in.
struct ItemKind {
  int64_t elem_type = 0;
  FieldNumber in_sequence = {}, in_optional = {};
};

ItemKind kind_of(const Value& v) {
  if (v.sparse()) return {2, SequenceProto::sparse_tensor_values, OptionalProto::sparse_tensor_value};
  if (v.sequence()) return {3, SequenceProto::sequence_values, OptionalProto::sequence_value};
  if (v.map()) return {4, SequenceProto::map_values, OptionalProto::map_value};
  if (v.optional()) return {5, SequenceProto::optional_values, OptionalProto::optional_value};
  return {1, SequenceProto::tensor_values, OptionalProto::tensor_value};
}

Result<std::string> message_of(const Value& value, std::string_view name, int depth);

Result<std::string> sparse_message(const SparseTensor& s, std::string_view name) {
  NNEX_ASSIGN(const std::string values, write_tensor(s.values, name));
  NNEX_ASSIGN(const std::string indices, write_tensor(s.indices, ""));
  Message m;
  m.bytes(SparseTensorProto::values, values);
  m.bytes(SparseTensorProto::indices, indices);
  m.integers(SparseTensorProto::dims, std::span(s.shape.begin(), s.shape.end()));
  return m.text();
}

Result<std::string> sequence_message(const std::vector<Value>& items, std::string_view name, int depth) {
  Message m;
  m.bytes(SequenceProto::name, name);
  m.integer(SequenceProto::elem_type, kind_of(items.empty() ? Value() : items[0]).elem_type);
  for (const Value& item : items) {
    NNEX_ASSIGN(const std::string one, message_of(item, "", depth + 1));
    m.bytes(kind_of(item).in_sequence, one);
  }
  return m.text();
}

Result<std::string> map_message(const Map& map, std::string_view name, int depth) {
  const DType key = map.keys.dtype();
  if (key != DType::i64 && key != DType::str)
    return failure(Code::unsupported, "found keys of type {}; needed i64 or str", nnex::name(key));
  Message m;
  m.bytes(MapProto::name, name);
  m.integer(MapProto::key_type, onnx_number(key));
  if (key == DType::str) {
    for (const std::string& word : map.keys.strings()) m.bytes(MapProto::string_keys, word);
  } else {
    NNEX_ASSIGN(const Tensor keys, map.keys.aligned_copy());
    m.integers(MapProto::keys, keys.as<int64_t>());
  }
  NNEX_ASSIGN(const std::string values, sequence_message(map.values, "", depth + 1));
  m.bytes(MapProto::values, values);
  return m.text();
}

Result<std::string> optional_message(const Optional& o, std::string_view name, int depth) {
  Message m;
  m.bytes(OptionalProto::name, name);
  m.integer(OptionalProto::elem_type, o.item ? kind_of(*o.item).elem_type : 0);
  if (o.item) {
    NNEX_ASSIGN(const std::string item, message_of(*o.item, "", depth + 1));
    m.bytes(kind_of(*o.item).in_optional, item);
  }
  return m.text();
}

Result<std::string> message_of(const Value& value, std::string_view name, int depth) {
  if (depth > kDeepest) return failure(Code::limit, "a value is nested deeper than {}", kDeepest);
  if (const Tensor* t = value.tensor()) return write_tensor(*t, name);
  if (const SparseTensor* s = value.sparse()) return sparse_message(*s, name);
  if (const Sequence* s = value.sequence()) return sequence_message(s->items, name, depth);
  if (const Map* m = value.map()) return map_message(*m, name, depth);
  if (const Optional* o = value.optional()) return optional_message(*o, name, depth);
  return failure(Code::invalid_argument, "'{}' is an empty value", name);
}

}  // namespace

Result<std::string> write_value(const Value& value, std::string_view name) { return message_of(value, name, 0); }

}  // namespace nnex::onnx_format
