#include "webnn_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/convert.h"

namespace nnex::cli {
namespace {

using ml::BufferKind;

struct ViewRow {
  std::string_view name;
  ViewType type;
};
constexpr ViewRow kViews[] = {
    {"Int8Array", {BufferKind::Int8Array, DType::i8}},
    {"Uint8Array", {BufferKind::Uint8Array, DType::u8}},
    {"Uint8ClampedArray", {BufferKind::Uint8ClampedArray, DType::u8}},
    {"Int16Array", {BufferKind::Int16Array, DType::i16}},
    {"Uint16Array", {BufferKind::Uint16Array, DType::u16}},
    {"Int32Array", {BufferKind::Int32Array, DType::i32}},
    {"Uint32Array", {BufferKind::Uint32Array, DType::u32}},
    {"BigInt64Array", {BufferKind::BigInt64Array, DType::i64}},
    {"BigUint64Array", {BufferKind::BigUint64Array, DType::u64}},
    {"Float16Array", {BufferKind::Float16Array, DType::f16}},
    {"Float32Array", {BufferKind::Float32Array, DType::f32}},
    {"Float64Array", {BufferKind::Float64Array, DType::f64}},
    {"DataView", {BufferKind::DataView, DType::u8}},
};

std::optional<double> special(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "-0") return -0.0;
  return std::nullopt;
}

/// "123n" or {"$bigint": "123"}.
std::optional<ml::BigInt> big_int(const Json& j) {
  if (j.is_object() && j.contains("$bigint") && j["$bigint"].is_string())
    return ml::idl::big_int_of(j["$bigint"].get<std::string>());
  if (!j.is_string()) return std::nullopt;
  const auto& text = j.get_ref<const std::string&>();
  if (text.size() < 2 || text.back() != 'n') return std::nullopt;
  return ml::idl::big_int_of(std::string_view(text).substr(0, text.size() - 1));
}

/// In the data of an integer tensor the digits alone will do.
std::optional<ml::BigInt> big_element(const Json& j) {
  if (const auto big = big_int(j)) return big;
  return j.is_string() ? ml::idl::big_int_of(j.get_ref<const std::string&>()) : std::nullopt;
}

std::optional<double> real(const Json& j) {
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return special(j.get_ref<const std::string&>());
  if (j.is_object() && j.contains("$num") && j["$num"].is_string()) return special(j["$num"].get<std::string>());
  return std::nullopt;
}

/// Writes one element; false when the JSON is no number.
bool put(Tensor& t, int64_t i, const Json& j) {
  if (is_real(t.dtype())) {
    const auto x = real(j);
    if (x) set_real(t, i, *x);
    return x.has_value();
  }
  if (const auto big = big_element(j)) {
    set_int(t, i, static_cast<int64_t>(big->negative ? uint64_t{0} - big->magnitude : big->magnitude));
    return true;
  }
  if (j.is_number_unsigned())
    set_int(t, i, static_cast<int64_t>(j.get<uint64_t>()));
  else if (j.is_number_integer())
    set_int(t, i, j.get<int64_t>());
  else if (const auto x = real(j); x && std::fabs(*x) < 18446744073709551616.0)
    set_int(t, i,
            *x < 9223372036854775808.0 ? static_cast<int64_t>(*x) : static_cast<int64_t>(static_cast<uint64_t>(*x)));
  else
    return false;
  return true;
}

/// The bits of a float as an integer that ascends with the value; both zeros are 0.
int64_t ladder(uint32_t bits, int width) {
  const int64_t sign = int64_t{1} << (width - 1);
  return bits & static_cast<uint32_t>(sign) ? -static_cast<int64_t>(bits & static_cast<uint32_t>(sign - 1))
                                            : static_cast<int64_t>(bits);
}

double ulps(const Tensor& a, const Tensor& b, int64_t i) {
  if (a.dtype() == DType::f32)
    return std::fabs(static_cast<double>(ladder(a.as<uint32_t>()[static_cast<size_t>(i)], 32) -
                                         ladder(b.as<uint32_t>()[static_cast<size_t>(i)], 32)));
  return std::fabs(static_cast<double>(ladder(a.as<uint16_t>()[static_cast<size_t>(i)], 16) -
                                       ladder(b.as<uint16_t>()[static_cast<size_t>(i)], 16)));
}

double integer_distance(const Tensor& a, const Tensor& b, int64_t i) {
  const int64_t x = int_at(a, i), y = int_at(b, i);
  if (x == y) return 0;
  if (a.dtype() == DType::u64) {
    const auto p = static_cast<uint64_t>(x), q = static_cast<uint64_t>(y);
    return static_cast<double>(p > q ? p - q : q - p);
  }
  return static_cast<double>(x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
                                   : static_cast<uint64_t>(y) - static_cast<uint64_t>(x));
}

bool near(const Tensor& got, const Tensor& want, int64_t i, const Closeness& c) {
  if (!is_float(want.dtype())) return integer_distance(got, want, i) <= c.bound;
  const double g = real_at(got, i), w = real_at(want, i);
  if (std::isnan(g) || std::isnan(w)) return std::isnan(g) && std::isnan(w);
  if (c.signed_zero && w == 0 && g == 0) return std::signbit(g) == std::signbit(w);
  if (c.ulp && want.dtype() != DType::f64) return ulps(got, want, i) <= c.bound;
  return g == w || std::fabs(g - w) <= c.bound;
}

}  // namespace

std::optional<ViewType> view_named(std::string_view name) {
  for (const ViewRow& r : kViews)
    if (r.name == name) return r.type;
  return std::nullopt;
}

std::optional<ml::idl::Value> number_of(const Json& j) {
  if (const auto x = real(j)) return ml::idl::Value(*x);
  if (const auto big = big_int(j)) return ml::idl::Value(*big);
  return std::nullopt;
}

Result<Tensor> tensor_of(DType type, const Shape& shape, const Json& data) {
  NNEX_ASSIGN(Tensor t, Tensor::make(type, shape));
  if (t.bytes() > 0) std::memset(t.mutable_data(), 0, static_cast<size_t>(t.bytes()));
  const bool list = data.is_array();
  if (list && static_cast<int64_t>(data.size()) != t.count())
    return Error(Code::invalid_model, fmt::format("found {} numbers; {} has {}", data.size(), shape.text(), t.count()));
  for (int64_t i = 0; i < t.count(); ++i)
    if (const Json& item = list ? data[static_cast<size_t>(i)] : data; !put(t, i, item))
      return Error(Code::invalid_model, fmt::format("element {}: {} is no number", i, item.dump()));
  return t;
}

Closeness closeness_of(const Json& tolerance) {
  Closeness c;
  if (!tolerance.is_object()) return c;
  c.ulp = tolerance.value("metric", "ULP") == "ULP";
  if (tolerance.contains("value")) c.bound = real(tolerance["value"]).value_or(0);
  return c;
}

std::string difference(const Tensor& got, const Tensor& want, const Closeness& closeness, int64_t count) {
  if (got.dtype() != want.dtype() || !(got.shape() == want.shape()))
    return fmt::format("found {}{}; needed {}{}", name(got.dtype()), got.shape().text(), name(want.dtype()),
                       want.shape().text());
  int64_t wrong = 0, first = 0;
  count = std::min(count, want.count());
  for (int64_t i = 0; i < count; ++i)
    if (!near(got, want, i, closeness) && wrong++ == 0) first = i;
  if (wrong == 0) return {};
  std::string by;
  if (closeness.ulp && (want.dtype() == DType::f32 || want.dtype() == DType::f16))
    by = fmt::format(" ({} ULP apart; allowed {})", ulps(got, want, first), closeness.bound);
  return fmt::format("{} of {} elements differ; element {}: found {}; needed {}{}", wrong, count, first,
                     element_text(got, first), element_text(want, first), by);
}

Result<Buffer> buffer_of(const Json& j) {
  Buffer b;
  if (j.value("detached", false)) return b;
  const bool typed = j.contains("$typed");
  if (!typed) {
    if (j.value("$buffer", "") == "SharedArrayBuffer") b.kind = BufferKind::SharedArrayBuffer;
    b.length = j.value("byteLength", size_t{0});
    b.bytes->resize(b.length);
    const Json bytes = j.contains("bytes") ? j["bytes"] : Json(j.value("fill", 0));
    NNEX_ASSIGN(const Tensor t, tensor_of(DType::u8, Shape{static_cast<int64_t>(b.length)}, bytes));
    std::copy_n(t.data(), b.length, b.bytes->data());
    return b;
  }
  const auto type = view_named(j.value("$typed", ""));
  if (!type) return Error(Code::unsupported, fmt::format("no view '{}'", j.value("$typed", "")));
  b.kind = type->kind;
  const auto length = j.value("length", int64_t{0});
  const Json data = j.contains("data") ? j["data"] : j.contains("fill") ? j["fill"] : Json(0);
  NNEX_ASSIGN(const Tensor t, tensor_of(type->dtype, Shape{length}, data));
  b.offset = j.value("byteOffset", size_t{0});
  b.length = static_cast<size_t>(t.bytes());
  b.bytes->resize(std::max(j.value("bufferByteLength", size_t{0}), b.offset + b.length));
  std::copy_n(t.data(), b.length, b.bytes->data() + b.offset);
  return b;
}

}  // namespace nnex::cli
