// Tensors: their type, shape and data, in the model or in other files.
#include <fmt/format.h>

#include <algorithm>

#include "ops/codecs.h"
#include "standards/below.h"
#include "standards/onnx/check_context.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

/// The IR version that an element type came with.
int64_t ir_of_element(DType t) {
  constexpr std::pair<Types, int64_t> kVersions[] = {
      {types(DType::bf16), 4},
      {types(DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz), 9},
      {types(DType::i4, DType::u4), 10},
      {types(DType::f4e2m1), 11},
      {types(DType::f8e8m0), 12},
      {types(DType::i2, DType::u2), 13}};
  for (const auto& [set, version] : kVersions)
    if (set & only(t)) return version;
  return 1;
}

class TensorCheck {
 public:
  TensorCheck(CheckContext& context, const Site& site) : context_(context), site_(site) {}

  void check(std::string_view message) {
    read(message);
    const bool shaped = shape();
    element_type();
    check_properties(context_, properties_, site_);
    if (segment_) context_.tell(Rule::tensor_segment, site_, "the tensor says that it is a segment of another");
    if (external_) {
      if (raw_given_ || !values_.empty())
        context_.tell(Rule::external_inline, site_, "it has both external and inline data");
      else if (type_ == DType::str)
        context_.tell(Rule::tensor_raw_text, site_, "texts cannot lie in another file");
      else
        external(shaped && type_ != DType::none);
      return;
    }
    if (!entries_.empty() && (raw_given_ || !values_.empty()))
      context_.tell(Rule::external_unmarked, site_, "it names another file, and does not say that its data lie there");
    if (shaped && type_ != DType::none) data();
  }

 private:
  void read(std::string_view message) {
    using T = TensorProto;
    wire::Reader r(message);
    Field f;
    while (r.next(f)) {
      if (f.number == T::dims)
        (void)wire::each_number(f, 0, [&](uint64_t d) { dims_.push_back(static_cast<int64_t>(d)); });
      if (f.number == T::data_type) number_ = f.integer();
      if (f.number == T::segment) segment_ = true;
      if (is_one_of(f.number, T::float_data, T::int32_data, T::string_data, T::int64_data, T::double_data,
                    T::uint64_data))
        values_.push_back(f);
      if (f.number == T::raw_data) raw_ = f.bytes, raw_given_ = true;
      if (f.number == T::external_data) entries_.push_back(f.bytes);
      if (f.number == T::data_location) external_ = f.integer() == kExternalData;
      if (f.number == T::metadata_props) properties_.push_back(f.bytes);
    }
  }

  bool shape() {
    for (const int64_t d : dims_)
      if (d < 0) {
        context_.tell(Rule::tensor_extent, site_, fmt::format("extent {} is negative", d), std::to_string(d));
        return false;
      }
    // Elements of 16 bytes are the widest: what they can take is a size for all.
    const auto count = Shape(dims_).checked_count();
    if (!count || !bytes_for(DType::c128, *count)) {
      context_.tell(Rule::tensor_extent, site_, fmt::format("shape {} is too large", Shape(dims_).text()));
      return false;
    }
    count_ = *count;
    return true;
  }

  void element_type() {
    type_ = dtype_of_onnx(number_);
    if (type_ == DType::none)
      context_.tell(Rule::tensor_type, site_,
                    number_ == 0 ? "it has no element type" : fmt::format("element type {} is unknown", number_),
                    number_ == 0 ? std::string() : std::to_string(number_));
    else
      context_.needs_ir(ir_of_element(type_), site_, fmt::format("element type {}", name(type_)));
  }

  static std::string field_of(wire::FieldNumber number) {
    return fmt::format("field {}", static_cast<uint32_t>(number));
  }

  /// Elements of the field, numbers or texts.
  size_t entries_in(const Field& f, int width) const {
    return f.number == TensorProto::string_data ? 1 : wire::count_numbers(f, width);
  }

  void data() {
    std::set<wire::FieldNumber> fields;
    for (const Field& f : values_) fields.insert(f.number);
    if (raw_given_) fields.insert(TensorProto::raw_data);
    if (fields.size() > 1) {
      const bool raw = fields.count(TensorProto::raw_data) != 0;
      context_.tell(Rule::tensor_fields, site_,
                    raw ? "it has both raw and typed data" : "it has elements in fields of different types");
    } else if (count_ == 0) {
      size_t found = raw_.size();
      for (const Field& f : values_) found += entries_in(f, storage_of(type_).width);
      if (found)
        context_.tell(Rule::tensor_empty, site_,
                      fmt::format("its shape {} holds no element, and it has data", Shape(dims_).text()));
    } else if (fields.empty()) {
      context_.tell(Rule::tensor_missing, site_,
                    fmt::format("found no data; its shape {} needs {} elements", Shape(dims_).text(), count_));
    } else if (raw_given_) {
      raw_data();
    } else {
      typed_data();
    }
  }

  std::string shape_and_type() const { return fmt::format("its shape {} of {}", Shape(dims_).text(), name(type_)); }

  void raw_data() {
    if (type_ == DType::str) {
      context_.tell(Rule::tensor_raw_text, site_, "strings cannot be raw");
      return;
    }
    const int64_t needed = *bytes_for(type_, count_), found = static_cast<int64_t>(raw_.size());
    if (found == needed) return;
    context_.tell(found < needed ? Rule::tensor_short : Rule::tensor_surplus, site_,
                  fmt::format("found {} bytes; {} needs {}", found, shape_and_type(), needed),
                  fmt::format("{} bytes", found), fmt::format("{} bytes", needed));
  }

  void typed_data() {
    const Storage s = storage_of(type_);
    if (values_[0].number != s.field) {
      context_.tell(Rule::tensor_field, site_, "elements stand in a field of another type", field_of(values_[0].number),
                    field_of(s.field));
      return;
    }
    size_t found = 0;
    for (const Field& f : values_) found += entries_in(f, s.width);
    const size_t needed = static_cast<size_t>(count_) * (is_complex(type_) ? 2 : 1);
    // Writers put a packed byte into each entry, or an element.
    const size_t packed = bits(type_) < 8 ? static_cast<size_t>(*bytes_for(type_, count_)) : needed;
    if (found == needed || found == packed) return;
    const std::string_view noun = type_ == DType::str ? "strings" : "numbers";
    context_.tell(found < needed ? Rule::tensor_short : Rule::tensor_long, site_,
                  fmt::format("found {} {}; {} needs {}", found, noun, shape_and_type(), needed),
                  fmt::format("{} {}", found, noun), fmt::format("{} {}", needed, noun));
  }

  // ---- Data in other files

  void external(bool sized) {
    std::map<std::string, std::string> entries;
    for (std::string_view m : entries_) {
      const std::string key(field_text(m, StringStringEntryProto::key)),
          value(field_text(m, StringStringEntryProto::value));
      constexpr std::string_view kKeys[] = {"location", "offset", "length", "checksum"};
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
        context_.tell(Rule::external_key, site_,
                      fmt::format("external data have an entry '{}', which means nothing", key));
      else if (!entries.emplace(key, value).second)
        context_.tell(Rule::external_twice, site_, fmt::format("external data have their '{}' twice", key));
    }
    std::optional<uint64_t> offset, length;
    const bool first = number(entries, "offset", offset), numbers = number(entries, "length", length) && first;
    const auto at = entries.find("location");
    if (at == entries.end()) {
      context_.tell(Rule::external_location, site_, "external data have no location");
      return;
    }
    if (const External* file = open(at->second); file && numbers) range(*file, at->second, offset, length, sized);
  }

  bool number(const std::map<std::string, std::string>& entries, const std::string& key, std::optional<uint64_t>& out) {
    const auto it = entries.find(key);
    if (it == entries.end()) return true;
    uint64_t n = 0;
    bool fine = !it->second.empty();
    for (const char c : it->second)
      fine = fine && c >= '0' && c <= '9' && !__builtin_mul_overflow(n, 10, &n) &&
             !__builtin_add_overflow(n, static_cast<uint64_t>(c - '0'), &n);
    if (fine && n <= INT64_MAX) return out = n, true;
    context_.tell(Rule::external_number, site_, fmt::format("external {} '{}' is no size", key, it->second),
                  fmt::format("'{}'", it->second), "a number of bytes");
    return false;
  }

  /// The file of a location, opened once; null: it was told why not.
  const External* open(const std::string& location) {
    auto parts = path_parts("external location", location);
    const bool windows = location.find('\\') != std::string::npos;
    if (!parts.ok() || parts->empty() || windows) {
      context_.tell(Rule::external_path, site_,
                    parts.ok() ? fmt::format("external location '{}' {}", location,
                                             windows ? "has a '\\'; needed '/' between folders" : "names no file")
                               : parts.error().message());
      return nullptr;
    }
    if (!context_.source.external) {
      context_.refuse(Rule::external_file, Code::unreadable, site_,
                      fmt::format("its data lie in '{}', and no folder is known", location),
                      "the model's own file alone", fmt::format("'{}' with it, or its folder", location));
      return nullptr;
    }
    auto known = context_.files.find(location);
    if (known == context_.files.end())
      known = context_.files.emplace(location, context_.source.external({{"location", location}})).first;
    if (known->second.ok()) return &*known->second;
    context_.tell(Rule::external_file, site_, known->second.error().message());
    return nullptr;
  }

  void range(const External& file, const std::string& location, std::optional<uint64_t> offset,
             std::optional<uint64_t> length, bool sized) {
    const uint64_t size = file.bytes.size(), from = offset.value_or(0);
    if (from > size || length.value_or(0) > size - from) {
      context_.tell(Rule::external_range, site_,
                    length ? fmt::format("{} bytes of external data from {} on run past the {} bytes of '{}'", *length,
                                         from, size, location)
                           : fmt::format("external offset {} is past the {} bytes of '{}'", from, size, location));
      return;
    }
    const uint64_t found = length.value_or(size - from);
    const auto needed = sized ? static_cast<uint64_t>(*bytes_for(type_, count_)) : found;
    if (found < needed)
      context_.tell(Rule::external_short, site_, fmt::format("found {} external bytes; needed {}", found, needed),
                    fmt::format("{} bytes", found), fmt::format("{} bytes", needed));
    else if (found > needed && length)
      context_.tell(Rule::tensor_surplus, site_, fmt::format("found {} external bytes; needed {}", found, needed),
                    fmt::format("{} bytes", found), fmt::format("{} bytes", needed));
  }

  CheckContext& context_;
  const Site& site_;
  std::vector<int64_t> dims_;
  int64_t number_ = 0, count_ = 0;
  DType type_ = DType::none;
  std::vector<Field> values_;  ///< The typed fields, in order.
  std::string_view raw_;
  bool raw_given_ = false, external_ = false, segment_ = false;
  std::vector<std::string_view> entries_, properties_;
};

/// The indices of a sparse tensor against its shape; `rows`: they are coordinates.
void check_indices(CheckContext& context, const Tensor& indices, const Shape& shape, bool rows, const Site& site) {
  int64_t last = -1;
  for (int64_t i = 0; i < indices.shape()[0]; ++i) {
    int64_t flat = rows ? 0 : int_at(indices, i);
    bool inside = flat >= 0 && flat < *shape.checked_count();
    for (int64_t a = 0; rows && inside && a < shape.rank(); ++a) {
      const int64_t k = int_at(indices, i * shape.rank() + a);
      inside = k >= 0 && k < shape[a];
      flat = flat * shape[a] + k;
    }
    if (!inside) {
      context.tell(Rule::sparse_range, site, fmt::format("index {} lies outside of the shape {}", i, shape.text()));
      return;
    }
    if (flat <= last) {
      context.tell(Rule::sparse_order, site, fmt::format("index {} is not above the one before it", i));
      return;
    }
    last = flat;
  }
}

}  // namespace

void check_tensor(CheckContext& context, std::string_view message, const Site& site) {
  TensorCheck(context, site).check(message);
}

void check_sparse_tensor(CheckContext& context, std::string_view message, const Site& site) {
  std::string_view values = field_text(message, SparseTensorProto::values),
                   indices = field_text(message, SparseTensorProto::indices);
  std::vector<int64_t> dims;
  wire::Reader r(message);
  Field f;
  while (r.next(f))
    if (f.number == SparseTensorProto::dims)
      (void)wire::each_number(f, 0, [&](uint64_t d) { dims.push_back(static_cast<int64_t>(d)); });
  context.needs_ir(6, site, "a sparse tensor");
  if (!values.data()) {
    context.tell(Rule::sparse_values, site, "it has no values");
    return;
  }
  const size_t before = context.broken.count();
  check_tensor(context, values, site);
  if (indices.data()) check_tensor(context, indices, site);
  const bool positive = std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d > 0; });
  const bool sized = positive && !dims.empty() && Shape(dims).checked_count();
  if (!sized) context.tell(Rule::sparse_extent, site, fmt::format("its shape is {}", Shape(dims).text()));
  if (context.broken.count() != before) return;
  auto read_values = read_tensor(values, context.source);
  if (!read_values.ok()) return;  // the importer tells
  const Shape& of_values = read_values->tensor.shape();
  if (of_values.rank() != 1) {
    context.tell(Rule::sparse_values, site, fmt::format("its values have the shape {}", of_values.text()),
                 fmt::format("rank {}", of_values.rank()), "rank 1");
    return;
  }
  if (!indices.data()) {
    if (of_values[0] > 0) context.tell(Rule::sparse_indices, site, "it has values and no indices");
    return;
  }
  auto read_indices = read_tensor(indices, context.source);
  if (!read_indices.ok()) return;
  const Tensor& at = read_indices->tensor;
  const bool rows = at.shape().rank() == 2;
  const bool fits = at.dtype() == DType::i64 &&
                    (at.shape().rank() == 1 || (rows && at.shape()[1] == Shape(dims).rank())) &&
                    at.shape()[0] == of_values[0];
  if (!fits)
    context.tell(Rule::sparse_indices, site,
                 fmt::format("its indices are {}{}; needed i64[{}] or i64[{},{}] for its values", name(at.dtype()),
                             at.shape().text(), of_values[0], of_values[0], dims.size()));
  else
    check_indices(context, at, Shape(dims), rows, site);
}

void check_type(CheckContext& context, std::string_view message, const Site& site, bool whole, int depth) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest) {
    if (depth == kDeepest + 1)
      context.refuse(Rule::nesting, Code::limit, site, fmt::format("a type is nested deeper than {}", kDeepest));
    return;
  }
  const auto missing = [&](const char* what) {
    if (whole) context.tell(Rule::type_parts, site, fmt::format("its type has no {}", what));
  };
  wire::Reader r(message);
  Field f;
  bool any = false;
  while (r.next(f)) {
    if (f.kind != Kind::bytes || f.number == TypeProto::denotation) continue;
    any = true;
    if (is_one_of(f.number, TypeProto::tensor_type, TypeProto::sparse_tensor_type)) {
      int64_t element = 0;
      bool shaped = false;
      wire::Reader inner(f.bytes);
      Field g;
      while (inner.next(g)) {
        if (g.number == TensorTypeProto::elem_type) element = g.integer();
        if (g.number != TensorTypeProto::shape) continue;
        shaped = true;
        for (std::string_view dim : fields_of(g.bytes, TensorShapeProto::dim)) {
          wire::Reader extent(dim);
          Field d;
          while (extent.next(d))
            if (d.number == DimensionProto::dim_value && d.integer() < 0)
              context.tell(Rule::type_extent, site, fmt::format("its type has the extent {}", d.integer()));
        }
      }
      const DType type = dtype_of_onnx(element);
      if (element == 0)
        missing("element type");
      else if (type == DType::none)
        context.tell(Rule::type_element, site, fmt::format("element type {} is unknown", element));
      else
        context.needs_ir(ir_of_element(type), site, fmt::format("element type {}", name(type)));
      if (!shaped && depth == 0) missing("shape");
    } else if (f.number == TypeProto::opaque_type) {
      if (field_text(f.bytes, OpaqueTypeProto::name).empty()) missing("name");
    } else if (f.number == TypeProto::map_type) {
      int64_t key = 0;
      wire::Reader inner(f.bytes);
      Field g;
      while (inner.next(g))
        if (g.number == MapTypeProto::key_type) key = g.integer();
      const DType type = dtype_of_onnx(key);
      constexpr Types kKeys = types(DType::i8, DType::i16, DType::i32, DType::i64) |
                              types(DType::u8, DType::u16, DType::u32, DType::u64) | only(DType::str);
      if (key == 0)
        missing("key type");
      else if (type == DType::none || !(kKeys & only(type)))
        context.tell(Rule::type_key, site,
                     fmt::format("keys of a map are of type {}; needed integers or texts",
                                 type == DType::none ? std::to_string(key) : std::string(name(type))));
      const std::string_view value = field_text(f.bytes, MapTypeProto::value_type);
      if (!value.data())
        missing("value type");
      else
        check_type(context, value, site, whole, depth + 1);
    } else if (is_one_of(f.number, TypeProto::sequence_type, TypeProto::optional_type)) {
      if (f.number == TypeProto::optional_type) context.needs_ir(8, site, "an optional type");
      const std::string_view element = field_text(f.bytes, ElementTypeProto::elem_type);
      if (!element.data())
        missing("element type");
      else
        check_type(context, element, site, whole, depth + 1);
    }
  }
  if (!any && whole && depth == 0) context.tell(Rule::type_missing, site, "it has no type");
  if (!any && depth > 0) missing("element type");
}

void check_properties(CheckContext& context, const std::vector<std::string_view>& messages, const Site& site) {
  std::set<std::string_view> seen;
  for (std::string_view m : messages)
    if (const std::string_view key = field_text(m, StringStringEntryProto::key); !seen.insert(key).second)
      context.tell(Rule::metadata_twice, site, fmt::format("property '{}' is given twice", key));
}

void CheckContext::needs_ir(int64_t version, const Site& at, std::string_view what) {
  if (ir < 1 || ir >= version) return;
  tell(Rule::ir_too_old, at, fmt::format("{} came with IR version {}; the model has {}", what, version, ir),
       std::to_string(ir), std::to_string(version));
}

}  // namespace nnex::onnx_format
