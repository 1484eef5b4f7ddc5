#include "model_values.h"

#include <cstring>
#include <limits>

#include "model_errors.h"

namespace nnex::js {
namespace {

struct View {
  const void* data = nullptr;
  size_t bytes = 0;
  bool shared = false;  // other threads may write it
  napi_value buffer = nullptr;
};

size_t element_bytes(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array:
      return 1;
    case napi_int16_array:
    case napi_uint16_array:
      return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array:
      return 4;
    case napi_float64_array:
    case napi_bigint64_array:
    case napi_biguint64_array:
      return 8;
    default:
      return 0;  // Float16Array comes as Uint16Array
  }
}

View bytes_of(const Napi::Value& from) {
  napi_typedarray_type type{};
  size_t length = 0;
  void* data = nullptr;
  napi_value buffer = nullptr;
  bool own = false;
  if (napi_get_typedarray_info(from.Env(), from, &type, &length, &data, &buffer, nullptr) != napi_ok ||
      napi_is_arraybuffer(from.Env(), buffer, &own) != napi_ok)
    throw Napi::TypeError::New(from.Env(), "data is no typed array");
  return {data, length * element_bytes(type), !own, buffer};
}

/// Whether the bytes may be read where they lie.
bool stays(Napi::Env env, const View& view, Bytes bytes) {
  if (bytes == Bytes::copy || view.shared || !view.data) return false;
  return bytes == Bytes::borrow || !Napi::Object(env, view.buffer).Get("resizable").ToBoolean();
}

Shape shape_from(const Napi::Value& from) {
  if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "dims is no array");
  const auto array = from.As<Napi::Array>();
  std::vector<int64_t> extents(array.Length());
  for (uint32_t i = 0; i < extents.size(); ++i) extents[i] = array.Get(i).As<Napi::Number>().Int64Value();
  return Shape(extents);
}

Tensor strings_from(const Napi::Value& from, Shape shape) {
  const Napi::Env env = from.Env();
  if (!from.IsArray()) throw Napi::TypeError::New(env, "data of strings is no array");
  const auto array = from.As<Napi::Array>();
  Tensor t = or_throw(env, Tensor::make(DType::str, std::move(shape)));
  if (array.Length() != static_cast<uint64_t>(t.count())) throw Napi::TypeError::New(env, "data has another length");
  const auto texts = t.mutable_as<std::string>();
  for (uint32_t i = 0; i < array.Length(); ++i) texts[i] = array.Get(i).As<Napi::String>().Utf8Value();
  return t;
}

Tensor tensor_from(const Napi::Object& from, Bytes bytes) {
  const Napi::Env env = from.Env();
  const uint32_t type = from.Get("type").As<Napi::Number>().Uint32Value();
  if (type == 0 || type > static_cast<uint32_t>(DType::str)) throw Napi::TypeError::New(env, "no such type");
  const auto dtype = static_cast<DType>(type);
  Shape shape = shape_from(from.Get("dims"));
  const Napi::Value data = from.Get("data");
  if (dtype == DType::str) return strings_from(data, std::move(shape));
  const View view = bytes_of(data);
  const auto count = shape.checked_count();
  const auto needed = count ? bytes_for(dtype, *count) : std::nullopt;
  if (!needed || *needed < 0 || static_cast<uint64_t>(*needed) != view.bytes)
    throw Napi::TypeError::New(env, "data has another length");
  if (stays(env, view, bytes)) return Tensor::borrow(dtype, std::move(shape), view.data);
  Tensor t = or_throw(env, Tensor::make(dtype, std::move(shape)));
  if (view.bytes > 0) std::memcpy(t.mutable_data(), view.data, view.bytes);
  return t;
}

std::vector<Value> values_from(const Napi::Value& from, Bytes bytes) {
  if (!from.IsArray()) throw Napi::TypeError::New(from.Env(), "not an array of values");
  const auto array = from.As<Napi::Array>();
  std::vector<Value> values;
  values.reserve(array.Length());
  for (uint32_t i = 0; i < array.Length(); ++i) values.push_back(value_from(array.Get(i), bytes));
  return values;
}

napi_typedarray_type array_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::c128:
      return napi_float64_array;
    case DType::f32:
    case DType::c64:
      return napi_float32_array;
    case DType::i64:
      return napi_bigint64_array;
    case DType::u64:
      return napi_biguint64_array;
    case DType::i32:
      return napi_int32_array;
    case DType::u32:
      return napi_uint32_array;
    case DType::i16:
      return napi_int16_array;
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return napi_uint16_array;
    case DType::i8:
      return napi_int8_array;
    default:
      return napi_uint8_array;
  }
}

Napi::Value data_of(Napi::Env env, Tensor t, Handing handing) {
  if (t.dtype() == DType::str) {
    auto texts = Napi::Array::New(env, static_cast<size_t>(t.count()));
    uint32_t i = 0;
    for (const std::string& text : t.strings()) texts.Set(i++, Napi::String::New(env, text));
    return texts;
  }
  const napi_typedarray_type type = array_of(t.dtype());
  const size_t length = static_cast<size_t>(t.bytes()) / element_bytes(type);
  return view_of(env, type, length, buffer_of(env, std::move(t), handing));
}

Napi::Array dims_of(Napi::Env env, const Shape& shape) {
  auto dims = Napi::Array::New(env, static_cast<size_t>(shape.rank()));
  uint32_t i = 0;
  for (const int64_t extent : shape) dims.Set(i++, Napi::Number::New(env, static_cast<double>(extent)));
  return dims;
}

Napi::Object tensor_to_js(Napi::Env env, Tensor t, Handing handing) {
  auto to = Napi::Object::New(env);
  to.Set("type", Napi::Number::New(env, static_cast<double>(t.dtype())));
  to.Set("dims", dims_of(env, t.shape()));
  to.Set("data", data_of(env, std::move(t), handing));
  return to;
}

Napi::Array array_to_js(Napi::Env env, const std::vector<Value>& values, Handing handing) {
  auto to = Napi::Array::New(env, values.size());
  uint32_t i = 0;
  for (const Value& v : values) to.Set(i++, to_js(env, v, handing));
  return to;
}

}  // namespace

Value value_from(const Napi::Value& from, Bytes bytes) {
  if (from.IsNull()) return {};
  if (!from.IsObject()) throw Napi::TypeError::New(from.Env(), "no value");
  const auto object = from.As<Napi::Object>();
  if (object.Has("data")) return tensor_from(object, bytes);
  if (object.Has("items"))
    return Sequence{static_cast<DType>(object.Get("element").As<Napi::Number>().Uint32Value()),
                    values_from(object.Get("items"), bytes)};
  if (object.Has("keys"))
    return Map{tensor_from(object.Get("keys").As<Napi::Object>(), Bytes::copy),
               values_from(object.Get("values"), bytes)};
  if (object.Has("item")) {
    const Napi::Value item = object.Get("item");
    return Optional{item.IsNull() ? nullptr : std::make_shared<const Value>(value_from(item, bytes))};
  }
  return SparseTensor{tensor_from(object.Get("values").As<Napi::Object>(), bytes),
                      tensor_from(object.Get("indices").As<Napi::Object>(), bytes), shape_from(object.Get("dims"))};
}

Napi::Value to_js(Napi::Env env, Value value, Handing handing) {
  if (Tensor* t = value.tensor()) return tensor_to_js(env, std::move(*t), handing);
  if (value.empty()) return env.Null();
  auto to = Napi::Object::New(env);
  if (const Sequence* s = value.sequence()) {
    to.Set("element", Napi::Number::New(env, static_cast<double>(s->element)));
    to.Set("items", array_to_js(env, s->items, handing));
  } else if (const Map* m = value.map()) {
    to.Set("keys", tensor_to_js(env, m->keys, handing));
    to.Set("values", array_to_js(env, m->values, handing));
  } else if (const Optional* o = value.optional()) {
    to.Set("item", o->item ? to_js(env, *o->item, handing) : env.Null());
  } else if (const SparseTensor* s = value.sparse()) {
    to.Set("values", tensor_to_js(env, s->values, handing));
    to.Set("indices", tensor_to_js(env, s->indices, handing));
    to.Set("dims", dims_of(env, s->shape));
  }
  return to;
}

}  // namespace nnex::js
