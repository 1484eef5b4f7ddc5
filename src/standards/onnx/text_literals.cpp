#include "standards/onnx/text_literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/failure.h"
#include "base/try.h"
#include "ops/codecs.h"
#include "standards/onnx/read_proto.h"
#include "standards/onnx/text_words.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

/// The shortest digits that are read as the same number.
template <class T>
std::string shortest(T x) {
  if (std::isnan(x)) return std::signbit(x) ? "-nan" : "nan";
  return fmt::format("{}", x);
}

/// Whether a NaN is another than the one that its sign and "nan" are read as.
template <class Bits, class T>
bool differs_from_nan(T x) {
  const T read = std::copysign(std::numeric_limits<T>::quiet_NaN(), x);
  return x != x && __builtin_bit_cast(Bits, x) != __builtin_bit_cast(Bits, read);
}

/// A number of a typed field; `payloads` counts those that has_payload() tells.
std::string typed(uint64_t bits, wire::FieldNumber field, int64_t& payloads) {
  const auto real = [&](auto x) {
    payloads += has_payload(x);
    return shortest(x);
  };
  if (field == TensorProto::float_data) return real(__builtin_bit_cast(float, static_cast<uint32_t>(bits)));
  if (field == TensorProto::double_data) return real(__builtin_bit_cast(double, bits));
  return field == TensorProto::uint64_data ? fmt::to_string(bits) : fmt::to_string(static_cast<int64_t>(bits));
}

/// Elements of raw_data: floats of 16 bits and less as their bits, those of less than 8 bits as the bytes they share.
template <class F>
Status raw(std::string_view bytes, DType type, int64_t& payloads, F add) {
  const auto each = [&](auto element) -> Status {
    if (bytes.size() % sizeof element != 0)
      return Error(Code::invalid_model, "the last element of a tensor is cut off");
    for (size_t i = 0; i < bytes.size(); i += sizeof element) {
      std::memcpy(&element, bytes.data() + i, sizeof element);
      if constexpr (std::is_floating_point_v<decltype(element)>) {
        payloads += has_payload(element);
        add(shortest(element));
      } else {
        add(fmt::to_string(+element));
      }
    }
    return {};
  };
  switch (type) {
    case DType::f32:
    case DType::c64:
      return each(float());
    case DType::f64:
    case DType::c128:
      return each(double());
    case DType::i8:
      return each(int8_t());
    case DType::i16:
      return each(int16_t());
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return each(uint16_t());
    case DType::i32:
      return each(int32_t());
    case DType::u32:
      return each(uint32_t());
    case DType::i64:
      return each(int64_t());
    case DType::u64:
      return each(uint64_t());
    default:
      return each(uint8_t());
  }
}

std::string_view name_of_tensor(std::string_view message) {
  std::string_view out;
  wire::Reader r(message);
  for (Field f; r.next(f);)
    if (f.number == TensorProto::name && f.kind == wire::Kind::bytes) out = f.bytes;
  return out;
}

}  // namespace

bool is_identifier(std::string_view s) {
  return !s.empty() && begins_identifier(s[0]) && std::all_of(s.begin(), s.end(), in_identifier);
}

bool is_qualified(std::string_view s) {
  while (!s.empty()) {
    const size_t dot = s.find('.');
    if (!is_identifier(s.substr(0, dot)) || dot + 1 == s.size()) return false;
    s = dot == std::string_view::npos ? std::string_view() : s.substr(dot + 1);
  }
  return true;
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string named(std::string_view s) { return is_identifier(s) && !is_type_word(s) ? std::string(s) : quoted(s); }

std::string real_text(float x) {
  const std::string digits = shortest(x);
  return digits.find_first_of(".en") == std::string::npos ? digits + ".0" : digits;  // "inf" and "nan" have an n
}

bool has_payload(double x) { return differs_from_nan<uint64_t>(x); }
bool has_payload(float x) { return differs_from_nan<uint32_t>(x); }

bool has_elements(wire::FieldNumber field) {
  using T = TensorProto;
  return is_one_of(field, T::float_data, T::int32_data, T::string_data, T::int64_data, T::raw_data, T::double_data,
                   T::uint64_data);
}

Status print_elements(std::string_view message, int64_t type, std::string& out, int64_t& payloads) {
  const Storage where = storage_of(dtype_of_onnx(type));
  bool first = true;
  const auto add = [&](const std::string& text) {
    if (!first) out += ", ";
    first = false;
    out += text;
  };
  out += '{';
  wire::Reader r(message);
  for (Field f; r.next(f);) {
    if (f.number == TensorProto::raw_data && f.kind == wire::Kind::bytes)
      NNEX_TRY(raw(f.bytes, dtype_of_onnx(type), payloads, add));
    if (f.number != where.field) continue;
    const bool whole =
        where.field == TensorProto::string_data
            ? (add(quoted(f.bytes)), true)
            : wire::each_number(f, where.width, [&](uint64_t bits) { add(typed(bits, where.field, payloads)); });
    if (!whole) return failure(Code::invalid_model, "tensor '{}': its numbers are cut off", name_of_tensor(message));
  }
  out += '}';
  return {};
}

}  // namespace nnex::onnx_format
