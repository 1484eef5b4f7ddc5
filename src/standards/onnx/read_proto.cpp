#include "standards/onnx/read_proto.h"

#include <fmt/format.h>

#include <cstring>

#include "base/built.h"
#include "base/failure.h"
#include "ops/codecs.h"
#include "tensor/convert.h"
#include "tensor/sparse.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

constexpr int kDeepest = 64;

Error broken(std::string_view what, std::string_view fault) {
  return failure(Code::invalid_model, "{}: {}", what, fault);
}

/// The parts of a TensorProto before its data is understood.
struct Parts {
  std::vector<int64_t> dims;
  int64_t type = 0;
  std::string name;
  std::vector<Field> numbers;  ///< The value fields, in order: float_data, int32_data, string_data, ...
  std::string_view raw;
  bool has_raw = false, external = false;
  std::map<std::string, std::string> entries;
};

Result<std::pair<std::string, std::string>> read_entry(std::string_view message) {
  std::pair<std::string, std::string> entry;
  wire::Reader r(message);
  Field f;
  while (r.next(f))
    if (f.kind == Kind::bytes)
      (f.number == StringStringEntryProto::key ? entry.first : entry.second) = std::string(f.bytes);
  if (!r.ok()) return broken("a key and value", r.fault());
  return entry;
}

Result<Parts> read_parts(std::string_view message) {
  Parts p;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    switch (f.number) {
      case TensorProto::dims:
        if (!wire::each_number(f, 0, [&](uint64_t d) { p.dims.push_back(static_cast<int64_t>(d)); }))
          return broken("tensor dims", "cut off");
        break;
      case TensorProto::data_type:
        p.type = f.integer();
        break;
      case TensorProto::float_data:
      case TensorProto::int32_data:
      case TensorProto::string_data:
      case TensorProto::int64_data:
      case TensorProto::double_data:
      case TensorProto::uint64_data:
        p.numbers.push_back(f);
        break;
      case TensorProto::name:
        p.name = std::string(f.bytes);
        break;
      case TensorProto::raw_data:
        p.raw = f.bytes, p.has_raw = true;
        break;
      case TensorProto::external_data: {
        if (f.kind != Kind::bytes) return broken("external data", "not a message");
        NNEX_ASSIGN(auto entry, read_entry(f.bytes));
        const std::string key = entry.first;
        if (!p.entries.insert(std::move(entry)).second)  // readers differ in which of them counts
          return broken("tensor '" + p.name + "'", fmt::format("its external data have their '{}' twice", key));
        break;
      }
      case TensorProto::data_location:
        p.external = f.integer() == kExternalData;
        break;
      default:
        break;
    }
  }
  if (!r.ok()) return broken("tensor '" + p.name + "'", r.fault());
  return p;
}

Result<Tensor> read_strings(const Parts& p, Tensor t) {
  size_t i = 0;
  for (const Field& f : p.numbers) {
    if (f.number != TensorProto::string_data || f.kind != Kind::bytes)
      return broken("tensor '" + p.name + "'", "strings must stand in string_data");
    if (i == static_cast<size_t>(t.count()))
      return broken("tensor '" + p.name + "'", "more strings than the shape holds");
    t.mutable_as<std::string>()[i++] = std::string(f.bytes);
  }
  if (i != static_cast<size_t>(t.count()))
    return failure(Code::invalid_model, "tensor '{}': found {} strings; its shape {} needs {}", p.name, i,
                   t.shape().text(), t.count());
  return t;
}

/// Numbers of the typed fields into the tensor's bytes. An entry holds one element, or for sub-byte types one packed
/// byte or one element.
Result<Tensor> read_numbers(const Parts& p, Tensor t) {
  const Storage s = storage_of(t.dtype());
  size_t found = 0;
  for (const Field& f : p.numbers) {
    if (f.number != s.field) return broken("tensor '" + p.name + "'", "elements stand in a field of another type");
    found += wire::count_numbers(f, s.width);
  }
  const bool packed = bits(t.dtype()) < 8;
  const size_t per_element = is_complex(t.dtype()) ? 2 : 1;
  const size_t needed = static_cast<size_t>(t.count()) * per_element;
  const bool by_byte = packed && found == static_cast<size_t>(t.bytes());
  if (found != needed && !by_byte)
    return failure(Code::invalid_model, "tensor '{}': found {} numbers; its shape {} needs {}", p.name, found,
                   t.shape().text(), needed);
  const int width = packed ? 1 : bits(t.dtype()) / 8 / static_cast<int>(per_element);
  std::byte* const to = t.mutable_data();
  if (packed && t.bytes() > 0) std::memset(to, 0, static_cast<size_t>(t.bytes()));
  size_t i = 0;
  bool fine = true;
  for (const Field& f : p.numbers) {
    if (f.kind == Kind::bytes && s.width == width) {  // as the tensor has them
      const size_t n = wire::count_numbers(f, width);
      if (n > 0) std::memcpy(to + i * static_cast<size_t>(width), f.bytes.data(), n * static_cast<size_t>(width));
      fine &= f.bytes.size() == n * static_cast<size_t>(width);
      i += n;
      continue;
    }
    fine &= wire::each_number(f, s.width, [&](uint64_t value) {
      if (i >= found) return;
      if (packed && !by_byte)
        set_int(t, static_cast<int64_t>(i), static_cast<int64_t>(value));
      else
        std::memcpy(to + i * static_cast<size_t>(width), &value, static_cast<size_t>(width));
      ++i;
    });
  }
  if (!fine) return broken("tensor '" + p.name + "'", "its numbers are cut off");
  return t;
}

/// Truth values are bytes of 0 and 1 everywhere: what a file has otherwise becomes 1.
Result<Tensor> truths(Tensor t) {
  if (t.dtype() != DType::boolean) return t;
  const auto is_none = [](std::byte b) { return b > std::byte{1}; };
  if (std::none_of(t.data(), t.data() + t.bytes(), is_none)) return t;
  NNEX_ASSIGN(Tensor plain, Tensor::make(DType::boolean, t.shape()));
  std::transform(t.data(), t.data() + t.bytes(), plain.mutable_data(),
                 [](std::byte b) { return std::byte{b != std::byte{}}; });
  return plain;
}

void append_varint(std::string& out, uint64_t v) {
  while (v >= 0x80) {
    out += static_cast<char>(v | 0x80);
    v >>= 7;
  }
  out += static_cast<char>(v);
}

/// What stands before a field.
void append_tag(std::string& out, wire::FieldNumber field, Kind kind) {
  append_varint(out, static_cast<uint32_t>(field) << 3 | static_cast<uint32_t>(kind));
}

void append_bytes(std::string& out, wire::FieldNumber field, std::string_view bytes) {
  append_tag(out, field, Kind::bytes);
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

Storage storage_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::c64:
      return {TensorProto::float_data, 4};
    case DType::f64:
    case DType::c128:
      return {TensorProto::double_data, 8};
    case DType::i64:
      return {TensorProto::int64_data, 0};
    case DType::u64:
    case DType::u32:
      return {TensorProto::uint64_data, 0};
    case DType::str:
      return {TensorProto::string_data, 0};
    default:
      return {TensorProto::int32_data, 0};
  }
}

Result<NamedTensor> read_tensor(std::string_view message, const Source& source) {
  NNEX_ASSIGN(Parts p, read_parts(message));
  const DType type = dtype_of_onnx(p.type);
  if (type == DType::none)
    return failure(Code::invalid_model, "tensor '{}': element type {} is unknown", p.name, p.type);
  if (!has_elements(type))
    return failure(Code::unsupported, "tensor '{}': this build of nnex leaves elements of type {} out (NNEX_OPS)",
                   p.name, name(type));
  for (int64_t d : p.dims)
    if (d < 0) return failure(Code::invalid_model, "tensor '{}': extent {} is negative", p.name, d);
  Shape shape(p.dims);
  auto count = shape.checked_count();
  auto bytes = count ? bytes_for(type, *count) : std::nullopt;
  if (!bytes) return failure(Code::invalid_model, "tensor '{}': shape {} is too large", p.name, shape.text());
  if (p.external) {
    if (p.has_raw || !p.numbers.empty())
      return broken("tensor '" + p.name + "'", "it has both external and inline data");
    if (type == DType::str) return broken("tensor '" + p.name + "'", "strings cannot be external");
    if (!source.external) {
      const auto file = p.entries.find("location");
      return failure(Code::unreadable,
                     "tensor '{}': its data lie in {}, and no folder is known; needed that file with the model", p.name,
                     file == p.entries.end() ? "another file" : "'" + file->second + "'")
          .helped_by({"external_folder", "", "names its folder"});
    }
    auto opened = source.external(p.entries);
    if (!opened.ok()) return std::move(opened).error().during("reading tensor '" + p.name + "'");
    if (static_cast<int64_t>(opened->bytes.size()) < *bytes)
      return failure(Code::invalid_model, "tensor '{}': found {} external bytes; needed {}", p.name,
                     opened->bytes.size(), *bytes);
    NNEX_ASSIGN(Tensor t, truths(Tensor::borrow(type, std::move(shape), opened->bytes.data(), opened->owner)));
    return NamedTensor{p.name, std::move(t)};
  }
  if (p.has_raw && p.numbers.empty() && type != DType::str) {
    if (static_cast<int64_t>(p.raw.size()) < *bytes)
      return failure(Code::invalid_model, "tensor '{}': found {} bytes; its shape {} of {} needs {}", p.name,
                     p.raw.size(), shape.text(), name(type), *bytes);
    NNEX_ASSIGN(Tensor t, truths(Tensor::borrow(type, std::move(shape), p.raw.data(), source.owner)));
    return NamedTensor{p.name, std::move(t)};
  }
  if (p.has_raw)
    return broken("tensor '" + p.name + "'",
                  type == DType::str ? "strings cannot be raw" : "it has both raw and typed data");
  // Every element takes at least one byte of the message: the shape cannot ask for more memory than that.
  const int64_t min = bits(type) < 8 ? *bytes : *count;
  if (min > static_cast<int64_t>(message.size()))
    return failure(Code::invalid_model, "tensor '{}': its data end before the shape {} is filled", p.name,
                   shape.text());
  NNEX_ASSIGN(Tensor t, Tensor::make(type, std::move(shape)));
  NNEX_ASSIGN(t, type == DType::str ? read_strings(p, std::move(t)) : read_numbers(p, std::move(t)));
  NNEX_ASSIGN(t, truths(std::move(t)));
  return NamedTensor{p.name, std::move(t)};
}

Result<NamedValue> read_sparse_tensor(std::string_view message, const Source& source) {
  SparseTensor s;
  NamedValue out;
  std::vector<int64_t> dims;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == SparseTensorProto::dims) {
      if (!wire::each_number(f, 0, [&](uint64_t d) { dims.push_back(static_cast<int64_t>(d)); }))
        return broken("sparse dims", "cut off");
    } else if (is_one_of(f.number, SparseTensorProto::values, SparseTensorProto::indices) && f.kind == Kind::bytes) {
      NNEX_ASSIGN(NamedTensor t, read_tensor(f.bytes, source));
      const bool values = f.number == SparseTensorProto::values;
      if (values) out.name = t.name;
      (values ? s.values : s.indices) = std::move(t.tensor);
    }
  }
  if (!r.ok()) return broken("sparse tensor", r.fault());
  s.shape = Shape(dims);
  if (Status sound = check_sparse(s); !sound.ok())
    return broken("sparse tensor '" + out.name + "'", sound.error().message().c_str());
  out.value = Value(std::move(s));
  return out;
}

Result<NamedTensor> read_dense(std::string_view message, const Source& source) {
  NNEX_ASSIGN(NamedValue v, read_sparse_tensor(message, source));
  const SparseTensor& s = *v.value.sparse();
  const auto bytes = bytes_for(s.values.dtype(), s.shape.checked_count().value_or(0));
  if (!bytes || (source.dense && !source.dense->bytes.take(*bytes))) {
    Error e(Code::limit, fmt::format("sparse tensor '{}': {} of shape {} takes more than the model's sparse tensors "
                                     "may together: {} bytes",
                                     v.name, name(s.values.dtype()), s.shape.text(),
                                     source.dense ? source.dense->bytes.limit() : INT64_MAX));
    return source.dense ? std::move(e).helped_by(source.dense->more) : std::move(e);
  }
  NNEX_ASSIGN(Tensor t, dense_of(s));
  return NamedTensor{v.name, std::move(t)};
}

namespace {

Result<Type> read_tensor_type(std::string_view message) {
  Type t = Type::tensor(DType::none);
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == TensorTypeProto::elem_type) t.dtype = dtype_of_onnx(f.integer());
    if (f.number != TensorTypeProto::shape || f.kind != Kind::bytes) continue;
    t.dims.emplace();
    wire::Reader dims(f.bytes);
    Field d;
    while (dims.next(d)) {
      if (d.number != TensorShapeProto::dim || d.kind != Kind::bytes) continue;
      std::optional<Dim> extent;
      wire::Reader one(d.bytes);
      Field part;
      while (one.next(part)) {
        if (part.number == DimensionProto::dim_value && part.integer() >= 0) extent = Dim(part.integer());
        if (part.number == DimensionProto::dim_param && !part.bytes.empty()) extent = Dim::symbol(part.bytes);
      }
      if (!one.ok()) return broken("an extent", one.fault());
      t.dims->push_back(extent ? std::move(*extent) : Dim::unknown(kNameless));
      if (t.dims->size() > 1024) return broken("a shape", "more than 1024 axes");
    }
    if (!dims.ok()) return broken("a shape", dims.fault());
  }
  if (!r.ok()) return broken("a tensor type", r.fault());
  return t;
}

}  // namespace

Result<Type> read_type(std::string_view message, int depth) {
  if (depth > kDeepest) return failure(Code::limit, "a type is nested deeper than {}", kDeepest);
  Type t;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    if (is_one_of(f.number, TypeProto::tensor_type, TypeProto::sparse_tensor_type)) {
      NNEX_ASSIGN(t, read_tensor_type(f.bytes));
      if (f.number == TypeProto::sparse_tensor_type) t.kind = nnex::Kind::sparse;
    }
    if (!is_one_of(f.number, TypeProto::sequence_type, TypeProto::map_type, TypeProto::optional_type)) continue;
    wire::Reader inner(f.bytes);
    Field g;
    DType key = DType::none;
    Type element;
    while (inner.next(g)) {
      if (g.kind == Kind::varint) key = dtype_of_onnx(g.integer());
      if (g.kind != Kind::bytes) continue;
      NNEX_ASSIGN(element, read_type(g.bytes, depth + 1));
    }
    if (!inner.ok()) return broken("a type", inner.fault());
    t = f.number == TypeProto::sequence_type ? Type::sequence(element)
        : f.number == TypeProto::map_type    ? Type::map(key, element)
                                             : Type::optional(element);
  }
  if (!r.ok()) return broken("a type", r.fault());
  return t;
}

namespace {

/// A SequenceProto: whatever fields its values are in, all are of one type.
Result<NamedValue> read_sequence(std::string_view message, const Type& type, const Source& source, int depth) {
  NamedValue out;
  Sequence s;
  if (type.element) s.element = type.element->dtype;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == SequenceProto::name) out.name = std::string(f.bytes);
    if (is_one_of(f.number, SequenceProto::name, SequenceProto::elem_type) || f.kind != Kind::bytes) continue;
    NNEX_ASSIGN(NamedValue item, read_value(f.bytes, type.element ? *type.element : Type{}, source, depth + 1));
    s.items.push_back(std::move(item.value));
  }
  if (!r.ok()) return broken("a sequence", r.fault());
  out.value = Value(std::move(s));
  return out;
}

/// A MapProto.
Result<NamedValue> read_map(std::string_view message, const Type& type, const Source& source, int depth) {
  NamedValue out;
  Map m;
  std::vector<int64_t> numbers;
  std::vector<std::string> words;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == MapProto::name) out.name = std::string(f.bytes);
    if (f.number == MapProto::keys &&
        !wire::each_number(f, 0, [&](uint64_t k) { numbers.push_back(static_cast<int64_t>(k)); }))
      return broken("map keys", "cut off");
    if (f.number == MapProto::string_keys) words.emplace_back(f.bytes);
    if (f.number == MapProto::values && f.kind == Kind::bytes) {
      NNEX_ASSIGN(NamedValue values,
                  read_sequence(f.bytes, Type::sequence(type.element ? *type.element : Type{}), source, depth + 1));
      m.values = values.value.sequence()->items;
    }
  }
  if (!r.ok()) return broken("a map", r.fault());
  const bool texts = !words.empty() || (numbers.empty() && type.dtype == DType::str);
  m.keys = texts ? Tensor::of(Shape{static_cast<int64_t>(words.size())}, words)
                 : Tensor::of(Shape{static_cast<int64_t>(numbers.size())}, numbers);
  if (m.keys.count() != static_cast<int64_t>(m.values.size()))
    return broken("a map", "keys and values differ in number");
  out.value = Value(std::move(m));
  return out;
}

/// An OptionalProto.
Result<NamedValue> read_optional(std::string_view message, const Type& type, const Source& source, int depth) {
  NamedValue out;
  Optional o;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == OptionalProto::name) out.name = std::string(f.bytes);
    if (is_one_of(f.number, OptionalProto::name, OptionalProto::elem_type) || f.kind != Kind::bytes) continue;
    NNEX_ASSIGN(NamedValue item, read_value(f.bytes, type.element ? *type.element : Type{}, source, depth + 1));
    o.item = std::make_shared<const Value>(std::move(item.value));
  }
  if (!r.ok()) return broken("an optional", r.fault());
  out.value = Value(std::move(o));
  return out;
}

}  // namespace

Result<NamedValue> read_value(std::string_view message, const Type& type, const Source& source, int depth) {
  if (depth > kDeepest) return failure(Code::limit, "a value is nested deeper than {}", kDeepest);
  switch (type.kind) {
    case nnex::Kind::sequence:
      return read_sequence(message, type, source, depth);
    case nnex::Kind::map:
      return read_map(message, type, source, depth);
    case nnex::Kind::optional:
      return read_optional(message, type, source, depth);
    case nnex::Kind::sparse:
      return read_sparse_tensor(message, source);
    default:
      break;
  }
  NNEX_ASSIGN(NamedTensor t, read_tensor(message, source));
  return NamedValue{std::move(t.name), Value(std::move(t.tensor))};
}

Result<std::string> write_tensor(const Tensor& tensor, std::string_view tensor_name) {
  const int64_t number = onnx_number(tensor.dtype());
  if (number == 0) return failure(Code::unsupported, "ONNX has no element type {}", name(tensor.dtype()));
  std::string out, dims;
  for (int64_t d : tensor.shape()) append_varint(dims, static_cast<uint64_t>(d));
  append_bytes(out, TensorProto::dims, dims);
  append_tag(out, TensorProto::data_type, Kind::varint);
  append_varint(out, static_cast<uint64_t>(number));
  append_bytes(out, TensorProto::name, tensor_name);
  if (tensor.dtype() == DType::str) {
    for (const std::string& s : tensor.strings()) append_bytes(out, TensorProto::string_data, s);
  } else {
    append_bytes(out, TensorProto::raw_data,
                 {reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes())});
  }
  return out;
}

}  // namespace nnex::onnx_format
