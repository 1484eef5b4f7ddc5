#include "webnn_values.h"

#include <limits>

#include "webnn_objects.h"

namespace nnex::js {
namespace {

using ml::idl::Value;

void check(Napi::Env env, napi_status status) {
  if (status != napi_ok) throw Napi::Error::New(env);
}

Value sequence_of(Napi::Env env, napi_value array) {
  uint32_t length = 0;
  check(env, napi_get_array_length(env, array, &length));
  ml::idl::Sequence items;
  items.reserve(length);
  for (uint32_t i = 0; i < length; ++i) {
    napi_value item = nullptr;
    check(env, napi_get_element(env, array, i, &item));
    items.push_back(value_of(env, item));
  }
  return items;
}

Value dictionary_of(Napi::Env env, napi_value object) {
  const Napi::Array names = Napi::Object(env, object).GetPropertyNames();
  ml::idl::Dictionary members;
  members.reserve(names.Length());
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const Napi::Value name = names[i];
    napi_value member = nullptr;
    check(env, napi_get_property(env, object, name, &member));
    members.emplace_back(text_of(env, name), value_of(env, member));
  }
  return members;
}

Napi::Array type_array(Napi::Env env, const std::vector<ml::DataType>& types) {
  Napi::Array names = Napi::Array::New(env, types.size());
  for (size_t i = 0; i < types.size(); ++i) put(env, names, i, string_of(env, ml::name(types[i])));
  return names;
}

Napi::Object tensor_limits(Napi::Env env, const ml::TensorLimits& limits) {
  Napi::Object range = Napi::Object::New(env), object = Napi::Object::New(env);
  put(env, range, "min", Napi::Number::New(env, limits.rankRange.min));
  put(env, range, "max", Napi::Number::New(env, limits.rankRange.max));
  put(env, object, "dataTypes", type_array(env, limits.dataTypes));
  put(env, object, "rankRange", range);
  return object;
}

}  // namespace

Value value_of(Napi::Env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  check(env, napi_typeof(env, value, &type));
  switch (type) {
    case napi_undefined:
      return {};
    case napi_null:
      return ml::idl::Null{};
    case napi_boolean: {
      bool truth = false;
      check(env, napi_get_value_bool(env, value, &truth));
      return truth;
    }
    case napi_number: {
      double number = 0;
      check(env, napi_get_value_double(env, value, &number));
      return number;
    }
    case napi_string:
      return text_of(env, value);
    case napi_bigint:
      return big_int_of(env, value);
    case napi_object: {
      bool is_array = false;
      check(env, napi_is_array(env, value, &is_array));
      if (is_array) return sequence_of(env, value);
      if (const OperandObject* operand = wrapped<OperandObject>(env, value)) return operand->operand();
      return dictionary_of(env, value);
    }
    default:
      return ml::idl::Object{};
  }
}

ml::BigInt big_int_of(Napi::Env env, napi_value value) {
  ml::BigInt big;
  int sign = 0;
  size_t words = 1;
  check(env, napi_get_value_bigint_words(env, value, &sign, &words, &big.magnitude));
  if (words > 1) big.magnitude = std::numeric_limits<uint64_t>::max();
  big.negative = sign != 0 && big.magnitude != 0;
  return big;
}

std::string text_of(Napi::Env env, napi_value value) {
  char room[64];
  size_t size = 0;
  check(env, napi_get_value_string_utf8(env, value, room, sizeof room, &size));
  if (size < sizeof room - 4) return std::string(room, size);  // else it may have been cut, by a character at most
  check(env, napi_get_value_string_utf8(env, value, nullptr, 0, &size));
  std::string text(size, '\0');
  check(env, napi_get_value_string_utf8(env, value, text.data(), size + 1, &size));
  return text;
}

ml::DataType data_type_of(Napi::Env env, napi_value name) {
  const std::string text = text_of(env, name);
  const auto type = ml::data_type_named(text);
  if (!type) throw_error(env, {ml::ErrorKind::TypeError, "no data type '" + text + "'"});
  return *type;
}

ml::OperandDescriptor descriptor_of(const Napi::Object& descriptor) {
  const Napi::Env env = descriptor.Env();
  ml::OperandDescriptor d;
  d.dataType = data_type_of(env, descriptor.Get("dataType"));
  const Napi::Array shape = descriptor.Get("shape").As<Napi::Array>();
  const uint32_t rank = shape.Length();
  d.shape.reserve(rank);
  for (uint32_t i = 0; i < rank; ++i) d.shape.push_back(Napi::Value(shape[i]).ToNumber().Uint32Value());
  return d;
}

ml::BufferSource source_of(const Napi::Object& data) {
  static constexpr std::pair<std::string_view, ml::BufferKind> kKinds[] = {
      {"ArrayBuffer", ml::BufferKind::ArrayBuffer},     {"SharedArrayBuffer", ml::BufferKind::SharedArrayBuffer},
      {"DataView", ml::BufferKind::DataView},           {"Int8Array", ml::BufferKind::Int8Array},
      {"Uint8Array", ml::BufferKind::Uint8Array},       {"Uint8ClampedArray", ml::BufferKind::Uint8ClampedArray},
      {"Int16Array", ml::BufferKind::Int16Array},       {"Uint16Array", ml::BufferKind::Uint16Array},
      {"Int32Array", ml::BufferKind::Int32Array},       {"Uint32Array", ml::BufferKind::Uint32Array},
      {"BigInt64Array", ml::BufferKind::BigInt64Array}, {"BigUint64Array", ml::BufferKind::BigUint64Array},
      {"Float16Array", ml::BufferKind::Float16Array},   {"Float32Array", ml::BufferKind::Float32Array},
      {"Float64Array", ml::BufferKind::Float64Array},
  };
  const Napi::Env env = data.Env();
  const std::string kind = text_of(env, data.Get("kind"));
  const Napi::Value bytes = data.Get("bytes");
  if (!bytes.IsTypedArray()) throw Napi::TypeError::New(env, "bytes: needed a Uint8Array");
  void* start = nullptr;
  size_t size = 0;
  check(env, napi_get_typedarray_info(env, bytes, nullptr, &size, &start, nullptr, nullptr));
  for (const auto& [name, value] : kKinds)
    if (name == kind) return {value, {static_cast<const std::byte*>(start), size}};
  throw Napi::TypeError::New(env, "no kind of buffer '" + kind + "'");
}

void put(napi_env env, napi_value object, const std::string& name, napi_value value) {
  constexpr auto kPlain = static_cast<napi_property_attributes>(napi_writable | napi_enumerable | napi_configurable);
  const napi_property_descriptor property{name.c_str(), nullptr, nullptr, nullptr, nullptr, value, kPlain, nullptr};
  check(env, napi_define_properties(env, object, 1, &property));
}

void put(napi_env env, napi_value array, size_t index, napi_value value) {
  put(env, array, std::to_string(index), value);
}

Napi::Object limits_object(Napi::Env env, const ml::OpSupportLimits& limits) {
  Napi::Object all = Napi::Object::New(env);
  const bool nchw = limits.preferredInputLayout == ml::InputOperandLayout::nchw;
  put(env, all, "preferredInputLayout", string_of(env, nchw ? "nchw" : "nhwc"));
  put(env, all, "maxTensorByteLength", Napi::Number::New(env, static_cast<double>(limits.maxTensorByteLength)));
  put(env, all, "input", tensor_limits(env, limits.input));
  put(env, all, "constant", tensor_limits(env, limits.constant));
  put(env, all, "output", tensor_limits(env, limits.output));
  for (const ml::OperationLimits& operation : limits.operations) {
    Napi::Object operands = Napi::Object::New(env);
    for (const auto& [name, operand] : operation.operands) put(env, operands, name, tensor_limits(env, operand));
    put(env, all, operation.name, operands);
  }
  return all;
}

Napi::String string_of(Napi::Env env, std::string_view text) {
  return Napi::String::New(env, text.data(), text.size());
}

Napi::Array shape_array(Napi::Env env, const std::vector<uint32_t>& shape) {
  Napi::Array extents = Napi::Array::New(env, shape.size());
  for (size_t i = 0; i < shape.size(); ++i) put(env, extents, i, Napi::Number::New(env, shape[i]));
  return extents;
}

napi_value exception_of(napi_env env, const ml::Error& error) {
  napi_value text = nullptr, name = nullptr, exception = nullptr;
  if (napi_create_string_utf8(env, error.message.data(), error.message.size(), &text) != napi_ok) return nullptr;
  if (error.kind == ml::ErrorKind::TypeError)
    return napi_create_type_error(env, nullptr, text, &exception) == napi_ok ? exception : nullptr;
  const std::string_view kind = ml::name(error.kind);
  napi_create_string_utf8(env, kind.data(), kind.size(), &name);
  if (napi_create_error(env, nullptr, text, &exception) != napi_ok) return nullptr;
  const napi_property_descriptor own = {"name",
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        name,
                                        static_cast<napi_property_attributes>(napi_writable | napi_configurable),
                                        nullptr};
  napi_define_properties(env, exception, 1, &own);
  return exception;
}

void throw_error(Napi::Env env, const ml::Error& error) {
  const napi_value exception = exception_of(env, error);
  if (!exception) throw Napi::Error::New(env);
  throw Napi::Error(env, exception);
}

}  // namespace nnex::js
