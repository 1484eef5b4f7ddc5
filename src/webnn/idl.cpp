#include "webnn/idl.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/joined.h"
#include "base/try.h"
#include "tensor/convert.h"
#include "tensor/half.h"
#include "webnn/interface.h"

namespace nnex::ml::idl {
namespace {

constexpr double kTwoTo32 = 4294967296.0;

Error wrong(std::string_view what, const Value& found, std::string_view needed) {
  return Error{ErrorKind::TypeError, fmt::format("{}: found {}; needed {}", what, found.text(), needed)};
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Digits of a base that is a power of two, after its prefix.
double prefixed_number(std::string_view digits, int base) {
  double sum = 0;
  if (digits.empty()) return std::nan("");
  for (char c : digits) {
    const int lower = c | 0x20;
    const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
    if (digit >= base) return std::nan("");
    sum = sum * base + digit;
  }
  return sum;
}

/// ECMAScript's StringToNumber; white space beyond ASCII is not taken for space.
double number_of(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  if (s.empty()) return 0;
  if (s.size() > 2 && s[0] == '0') {
    const char kind = static_cast<char>(s[1] | 0x20);
    if (kind == 'x') return prefixed_number(s.substr(2), 16);
    if (kind == 'o') return prefixed_number(s.substr(2), 8);
    if (kind == 'b') return prefixed_number(s.substr(2), 2);
  }
  const double sign = s.front() == '-' ? -1 : 1;
  if (s.front() == '-' || s.front() == '+') s.remove_prefix(1);
  if (s == "Infinity") return sign * std::numeric_limits<double>::infinity();
  if (s.empty() || !((s.front() >= '0' && s.front() <= '9') || s.front() == '.')) return std::nan("");
  double x = 0;
  auto [end, error] = fast_float::from_chars(s.data(), s.data() + s.size(), x);
  const bool all = end == s.data() + s.size();
  if (!all || (error != std::errc() && error != std::errc::result_out_of_range)) return std::nan("");
  return sign * x;
}

template <class T>
T element(std::span<const std::byte> bytes, size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
  return x;
}

template <class T, class Make>
Sequence elements(std::span<const std::byte> bytes, Make make) {
  Sequence items;
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) items.push_back(make(element<T>(bytes, i)));
  return items;
}

template <class T>
Sequence numbers_in(std::span<const std::byte> bytes) {
  return elements<T>(bytes, [](T x) { return Value(static_cast<double>(x)); });
}

/// The items of a typed array; nothing for buffers and data views, which do not iterate.
std::optional<Sequence> items_of(const BufferSource& s) {
  switch (s.kind) {
    case BufferKind::Int8Array:
      return numbers_in<int8_t>(s.bytes);
    case BufferKind::Uint8Array:
    case BufferKind::Uint8ClampedArray:
      return numbers_in<uint8_t>(s.bytes);
    case BufferKind::Int16Array:
      return numbers_in<int16_t>(s.bytes);
    case BufferKind::Uint16Array:
      return numbers_in<uint16_t>(s.bytes);
    case BufferKind::Int32Array:
      return numbers_in<int32_t>(s.bytes);
    case BufferKind::Uint32Array:
      return numbers_in<uint32_t>(s.bytes);
    case BufferKind::Float32Array:
      return numbers_in<float>(s.bytes);
    case BufferKind::Float64Array:
      return numbers_in<double>(s.bytes);
    case BufferKind::Float16Array:
      return elements<uint16_t>(s.bytes, [](uint16_t bits) {
        f16 x;
        x.bits = bits;
        return Value(static_cast<double>(static_cast<float>(x)));
      });
    case BufferKind::BigInt64Array:
      return elements<int64_t>(s.bytes, [](int64_t x) {
        return Value(BigInt{x < 0, x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x)});
      });
    case BufferKind::BigUint64Array:
      return elements<uint64_t>(s.bytes, [](uint64_t x) { return Value(BigInt{false, x}); });
    case BufferKind::ArrayBuffer:
    case BufferKind::SharedArrayBuffer:
    case BufferKind::DataView:
      break;
  }
  return std::nullopt;
}

/// A whole number in [low, high] after truncation ([EnforceRange]).
Result<double> to_whole(const Value& v, double low, double high, std::string_view what) {
  NNEX_ASSIGN(double x, to_number(v, what));
  if (!std::isfinite(x)) return wrong(what, v, "a finite number");
  x = std::trunc(x);
  if (x < low || x > high) return wrong(what, v, fmt::format("a number in {:.0f}..{:.0f}", low, high));
  return x + 0.0;  // no negative zero
}

Status require(const Value& member, std::string_view what) {
  if (!member.undefined()) return {};
  return Error{ErrorKind::TypeError, fmt::format("{} is required", what)};
}

}  // namespace

const Value& Value::member(std::string_view name) const {
  static const Value kAbsent;
  const Value* found = &kAbsent;
  if (const Dictionary* d = dictionary())
    for (const auto& [key, value] : *d)
      if (key == name) found = &value;
  return *found;
}

std::string Value::text() const {
  if (undefined()) return "undefined";
  if (null()) return "null";
  if (boolean()) return *boolean() ? "true" : "false";
  if (number()) return fmt::format("the number {}", number_text(*number()));
  if (big_int()) return fmt::format("the BigInt {}{}", big_int()->negative ? "-" : "", big_int()->magnitude);
  if (string()) return fmt::format("'{}'", printable(*string()));
  if (sequence()) return fmt::format("a sequence of {}", sequence()->size());
  if (dictionary()) return "an object";
  if (operand()) return "an operand";
  if (tensor()) return "a tensor";
  return view() ? "a buffer" : "an object";
}

std::optional<BigInt> big_int_of(std::string_view digits) {
  BigInt n;
  n.negative = !digits.empty() && digits.front() == '-';
  digits.remove_prefix(n.negative);
  if (digits.empty()) return std::nullopt;
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    n.magnitude = n.magnitude > (kMax - digit) / 10 ? kMax : n.magnitude * 10 + digit;
  }
  if (n.magnitude == 0) n.negative = false;
  return n;
}

Result<double> to_number(const Value& v, std::string_view what) {
  if (v.null()) return 0.0;
  if (v.boolean()) return *v.boolean() ? 1.0 : 0.0;
  if (v.number()) return *v.number();
  if (v.string()) return number_of(*v.string());
  if (v.big_int()) return wrong(what, v, "a Number");
  if (const Sequence* items = v.sequence()) {  // by way of its text: [] is 0, [x] is x, others are no number
    if (items->empty()) return 0.0;
    const Value& only = items->front();
    if (items->size() == 1 && (only.undefined() || only.null())) return 0.0;
    if (items->size() == 1 && only.boolean()) return std::nan("");
    if (items->size() == 1 && only.big_int())
      return (only.big_int()->negative ? -1 : 1) * static_cast<double>(only.big_int()->magnitude);
    if (items->size() == 1) return to_number(only, what);
  }
  return std::nan("");
}

bool to_boolean(const Value& v) {
  if (v.undefined() || v.null()) return false;
  if (v.boolean()) return *v.boolean();
  if (v.number()) return *v.number() != 0 && !std::isnan(*v.number());
  if (v.big_int()) return v.big_int()->magnitude != 0;
  if (v.string()) return !v.string()->empty();
  return true;
}

Result<std::string> to_string(const Value& v, std::string_view what) {
  if (v.string()) return *v.string();
  if (v.undefined()) return std::string("undefined");
  if (v.null()) return std::string("null");
  if (v.boolean()) return std::string(*v.boolean() ? "true" : "false");
  if (v.number())
    return std::isinf(*v.number())   ? std::string(*v.number() < 0 ? "-Infinity" : "Infinity")
           : std::isnan(*v.number()) ? std::string("NaN")
                                     : number_text(*v.number());
  if (v.big_int()) return fmt::format("{}{}", v.big_int()->negative ? "-" : "", v.big_int()->magnitude);
  if (const Sequence* items = v.sequence()) {
    std::string joined;
    for (size_t i = 0; i < items->size(); ++i) {
      if (i) joined += ',';
      const Value& item = (*items)[i];
      if (item.undefined() || item.null()) continue;
      NNEX_ASSIGN(std::string text, to_string(item, what));
      joined += text;
    }
    return joined;
  }
  return std::string(v.operand() ? "[object MLOperand]" : v.tensor() ? "[object MLTensor]" : "[object Object]");
}

Result<uint32_t> to_unsigned_long(const Value& v, std::string_view what) {
  NNEX_ASSIGN(double x, to_whole(v, 0, kTwoTo32 - 1, what));
  return static_cast<uint32_t>(x);
}

Result<uint32_t> to_wrapped_unsigned_long(const Value& v, std::string_view what) {
  NNEX_ASSIGN(double x, to_number(v, what));
  if (!std::isfinite(x)) return uint32_t{0};
  x = std::fmod(std::trunc(x), kTwoTo32);
  return static_cast<uint32_t>(x < 0 ? x + kTwoTo32 : x);
}

Result<int32_t> to_long(const Value& v, std::string_view what) {
  NNEX_ASSIGN(double x, to_whole(v, -kTwoTo32 / 2, kTwoTo32 / 2 - 1, what));
  return static_cast<int32_t>(x);
}

Result<double> to_double(const Value& v, std::string_view what) {
  NNEX_ASSIGN(double x, to_number(v, what));
  if (!std::isfinite(x)) return wrong(what, v, "a finite number");
  return x;
}

Result<float> to_float(const Value& v, std::string_view what) {
  NNEX_ASSIGN(double x, to_number(v, what));
  const double max = static_cast<double>(std::numeric_limits<float>::max());
  if (!std::isfinite(x) || std::fabs(x) >= max * (1 + std::ldexp(1, -25)))
    return wrong(what, v, "a finite number of single precision");
  return static_cast<float>(std::clamp(x, -max, max));
}

Result<Number> to_ml_number(const Value& v, std::string_view what) {
  if (v.big_int()) return Number(*v.big_int());
  NNEX_ASSIGN(double x, to_number(v, what));
  return Number(x);
}

bool iterable(const Value& v) { return v.sequence() || (v.view() && items_of(v.view()->source)); }

Result<Sequence> to_sequence(const Value& v, std::string_view what) {
  if (v.sequence()) return *v.sequence();
  if (v.view())
    if (auto items = items_of(v.view()->source)) return std::move(*items);
  return wrong(what, v, "a sequence");
}

Result<size_t> to_word(const Value& v, std::span<const std::string_view> words, std::string_view what) {
  NNEX_ASSIGN(std::string text, to_string(v, what));
  const auto at = std::find(words.begin(), words.end(), text);
  if (at == words.end())
    return Error{ErrorKind::TypeError,
                 fmt::format("{}: found '{}'; needed one of {}", what, printable(text), joined(words, ", "))};
  return static_cast<size_t>(at - words.begin());
}

Result<DataType> to_data_type(const Value& v, std::string_view what) {
  NNEX_ASSIGN(std::string text, to_string(v, what));
  if (auto type = data_type_named(text); type && in_interface(*type)) return *type;
  return Error{ErrorKind::TypeError, fmt::format("{}: found '{}'; needed a data type", what, printable(text))};
}

Result<Operand> to_operand(const Value& v, std::string_view what) {
  if (v.operand() && !v.operand()->empty()) return *v.operand();
  return wrong(what, v, "an operand");
}

Status check_dictionary(const Value& v, std::string_view what) {
  if (v.undefined() || v.null() || v.object()) return {};
  return wrong(what, v, "an object");
}

Result<OperandDescriptor> to_operand_descriptor(const Value& v, std::string_view what) {
  NNEX_TRY(check_dictionary(v, what));
  const std::string type_name = fmt::format("{}.dataType", what), shape_name = fmt::format("{}.shape", what);
  OperandDescriptor d;
  NNEX_TRY(require(v.member("dataType"), type_name));
  NNEX_ASSIGN(d.dataType, to_data_type(v.member("dataType"), type_name));
  NNEX_TRY(require(v.member("shape"), shape_name));
  NNEX_ASSIGN(Sequence extents, to_sequence(v.member("shape"), shape_name));
  for (const Value& item : extents) {
    NNEX_ASSIGN(uint32_t extent, to_unsigned_long(item, shape_name));
    d.shape.push_back(extent);
  }
  return d;
}

Result<TensorDescriptor> to_tensor_descriptor(const Value& v, std::string_view what) {
  TensorDescriptor d;
  NNEX_ASSIGN(OperandDescriptor typed, to_operand_descriptor(v, what));
  d.dataType = typed.dataType;
  d.shape = std::move(typed.shape);
  d.readable = to_boolean(v.member("readable"));
  d.writable = to_boolean(v.member("writable"));
  return d;
}

Result<ContextOptions> to_context_options(const Value& v, std::string_view what) {
  static constexpr std::array<std::string_view, 3> kPreferences = {"default", "high-performance", "low-power"};
  static constexpr std::array<std::string_view, 3> kDevices = {"cpu", "gpu", "npu"};
  NNEX_TRY(check_dictionary(v, what));
  ContextOptions options;
  if (const Value& m = v.member("accelerated"); !m.undefined()) options.accelerated = to_boolean(m);
  if (const Value& m = v.member("deviceType"); !m.undefined())
    NNEX_TRY(to_word(m, kDevices, fmt::format("{}.deviceType", what)));
  if (const Value& m = v.member("powerPreference"); !m.undefined()) {
    NNEX_ASSIGN(size_t word, to_word(m, kPreferences, fmt::format("{}.powerPreference", what)));
    options.powerPreference = static_cast<PowerPreference>(word);
  }
  return options;
}

Result<View> to_buffer_source(const Value& v, std::string_view what) {
  if (v.view()) return *v.view();
  return wrong(what, v, "an ArrayBuffer, a SharedArrayBuffer or a view on one");
}

// ---- Text for messages

namespace {

/// Length of the UTF-8 sequence at `at` and its code point; a byte that begins none is one of its own.
std::pair<size_t, uint32_t> code_point(std::string_view s, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(s[at + i])); };
  const uint32_t first = byte(0);
  const size_t n = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (n == 0 || at + n > s.size()) return {1, 0xFFFD};
  uint32_t c = n == 1 ? first : first & (0x7Fu >> n);
  for (size_t i = 1; i < n; ++i) {
    if (byte(i) >> 6 != 2) return {1, 0xFFFD};
    c = c << 6 | (byte(i) & 0x3F);
  }
  return {n, c};
}

/// Controls, format characters (direction, joiners, byte order), separators of lines, private and lone surrogates.
bool hidden(uint32_t c) {
  static constexpr std::pair<uint32_t, uint32_t> kHidden[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
      {0x70F, 0x70F},   {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},   {0xD800, 0xF8FF},
      {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [c](auto range) { return c >= range.first && c <= range.second; });
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto [n, c] = code_point(text, at);
    if (c == 0xFFFD)  // also for bytes that are no UTF-8
      out += "\\uFFFD";
    else if (!hidden(c))
      out += text.substr(at, n);
    else if (c < 0x10000)
      out += fmt::format("\\u{:04X}", c);
    else
      out += fmt::format("\\u{:04X}\\u{:04X}", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF));
    at += n;
  }
  return out;
}

}  // namespace nnex::ml::idl
