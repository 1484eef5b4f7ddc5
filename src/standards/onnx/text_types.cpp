#include "standards/onnx/text_types.h"

#include <fmt/format.h>

#include <cstring>

#include "base/failure.h"
#include "ops/codecs.h"
#include "standards/onnx/read_proto.h"
#include "standards/onnx/text_words.h"

namespace nnex::onnx_format {

using wire::Message;

Status TextTypes::pairs(wire::FieldNumber field, Message& out) {
  return s_.list('[', ']', [&]() -> Status {
    NNEX_ASSIGN(const std::string key, s_.text("a key"));
    NNEX_TRY(s_.need(':'));
    NNEX_ASSIGN(const std::string value, s_.text("a text"));
    Message pair;
    pair.bytes(StringStringEntryProto::key, key), pair.bytes(StringStringEntryProto::value, value);
    out.message(field, std::move(pair));
    return {};
  });
}

Result<TextType> TextTypes::type(int depth) {
  if (depth > kTextDepth) return failure(Code::limit, "types are nested deeper than {}", kTextDepth);
  const std::string_view word = s_.peek_word();
  TextType out;
  out.element = element_type(word);
  const MadeTypeWord* const of_others = find_word(kMadeTypeWords, word);
  if (out.element == 0 && !of_others) return s_.needed("a type");
  s_.word();
  if (out.element != 0) {
    NNEX_ASSIGN(Message tensor, tensor_type(out));
    out.proto.message(TypeProto::tensor_type, std::move(tensor));
    return out;
  }
  NNEX_TRY(s_.need('('));
  Message inner;
  const wire::FieldNumber made = of_others->field;
  if (made == TypeProto::sparse_tensor_type) {
    NNEX_ASSIGN(TextType of, type(depth + 1));
    if (of.element == 0) return s_.fault("a type that is no tensor's; needed one in sparse_tensor(...)");
    NNEX_ASSIGN(inner, extents(of));
  } else if (made == TypeProto::opaque_type) {
    NNEX_TRY(opaque(inner));
  } else {
    const bool map = made == TypeProto::map_type;
    if (map) {
      const int64_t key = element_type(s_.peek_word());
      if (key == 0) return s_.needed("the element type of a map's keys");
      s_.word();
      inner.integer(MapTypeProto::key_type, key);
      NNEX_TRY(s_.need(','));
    }
    NNEX_ASSIGN(TextType of, type(depth + 1));
    inner.message(map ? MapTypeProto::value_type : ElementTypeProto::elem_type, std::move(of.proto));
  }
  NNEX_TRY(s_.need(')'));
  out.proto.message(made, std::move(inner));
  return out;
}

Status TextTypes::opaque(Message& out) {
  std::string first(s_.word());
  while (!first.empty() && s_.take('.')) {
    NNEX_ASSIGN(const std::string part, s_.identifier("an identifier"));
    first += "." + part;
  }
  if (first.empty()) return {};
  if (!s_.take(',')) {
    out.bytes(OpaqueTypeProto::name, first);
    return {};
  }
  NNEX_ASSIGN(const std::string name, s_.identifier("the name of an opaque type"));
  out.bytes(OpaqueTypeProto::domain, first), out.bytes(OpaqueTypeProto::name, name);
  return {};
}

Result<Message> TextTypes::tensor_type(TextType& out) {
  if (!s_.take('[')) {
    out.dims.emplace();
  } else if (!s_.take(']')) {
    out.dims.emplace();
    do NNEX_TRY(extent(*out.dims));
    while (s_.take(','));
    NNEX_TRY(s_.need(']'));
  }
  return extents(out);
}

Status TextTypes::extent(std::vector<std::string>& dims) {
  if (s_.take('?')) {
    dims.emplace_back("?");
    return {};
  }
  NNEX_ASSIGN(const auto symbol, s_.name_if_any());
  if (symbol) {
    dims.push_back('"' + *symbol);
    return {};
  }
  NNEX_ASSIGN(const int64_t n, s_.number_as<int64_t>());
  dims.push_back(fmt::to_string(n));
  return {};
}

Result<Message> TextTypes::extents(const TextType& type) {
  Message out;
  out.integer(TensorTypeProto::elem_type, type.element);
  if (!type.dims) return out;
  Message shape;
  for (const std::string& d : *type.dims) {
    Message dim;
    if (d[0] == '"') dim.bytes(DimensionProto::dim_param, std::string_view(d).substr(1));
    if (d[0] != '"' && d[0] != '?') dim.integer(DimensionProto::dim_value, std::stoll(d));
    shape.message(TensorShapeProto::dim, std::move(dim));
  }
  out.message(TensorTypeProto::shape, std::move(shape));
  return out;
}

Result<Message> TextTypes::tensor(const TextType& type, const std::string& name) {
  if (type.element == 0 || !type.dims) return s_.fault("a constant of that type; needed a tensor's with its extents");
  Message out;
  std::vector<int64_t> dims;
  for (const std::string& d : *type.dims) {
    if (d[0] == '"' || d[0] == '?') return s_.fault("a constant with an open extent; needed numbers");
    dims.push_back(std::stoll(d));
  }
  out.integers(TensorProto::dims, dims);
  out.integer(TensorProto::data_type, type.element);
  if (!name.empty()) out.bytes(TensorProto::name, name);
  if (s_.peek() == '[') {
    NNEX_TRY(pairs(TensorProto::external_data, out));
    out.integer(TensorProto::data_location, kExternalData);
    return out;
  }
  NNEX_TRY(elements(type.element, out));
  return out;
}

template <class T>
Result<std::string> TextTypes::numbers(bool varints) {
  std::string packed;
  NNEX_TRY(s_.list('{', '}', [&]() -> Status {
    NNEX_ASSIGN(const T value, s_.number_as<T>());
    if constexpr (std::is_integral_v<T>) {
      auto bits = static_cast<uint64_t>(value);
      for (; varints && bits >= 0x80; bits >>= 7) packed += static_cast<char>(bits | 0x80);
      packed += static_cast<char>(bits);
    } else {
      char bytes[sizeof(T)];
      std::memcpy(bytes, &value, sizeof(T));
      packed.append(bytes, sizeof(T));
    }
    return {};
  }));
  return packed;
}

Status TextTypes::elements(int64_t type, Message& out) {
  const wire::FieldNumber field = storage_of(dtype_of_onnx(type)).field;
  if (field == TensorProto::string_data)
    return s_.list('{', '}', [&]() -> Status {
      NNEX_ASSIGN(const std::string element, s_.text("an element"));
      out.bytes(field, element);
      return {};
    });
  std::string packed;
  if (field == TensorProto::float_data) {
    NNEX_ASSIGN(packed, numbers<float>(false));
  } else if (field == TensorProto::double_data) {
    NNEX_ASSIGN(packed, numbers<double>(false));
  } else if (field == TensorProto::int64_data) {
    NNEX_ASSIGN(packed, numbers<int64_t>(true));
  } else if (field == TensorProto::uint64_data) {
    NNEX_ASSIGN(packed, numbers<uint64_t>(true));
  } else {
    NNEX_ASSIGN(packed, numbers<int32_t>(true));
  }
  if (!packed.empty()) out.bytes(field, packed);
  return {};
}

}  // namespace nnex::onnx_format
