#pragma once
/// Element types of tensors: every one that ONNX, NNEF, WebNN and CVM know.

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace nnex {

/// Element type. Sub-byte types are stored dense (low bits first); bool is a byte tested against 0; str is a
/// std::string.
enum class DType : uint8_t {
  none,  ///< No type (an absent value, an untyped container).
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i64,
  i32,
  i16,
  i8,
  i4,
  i2,
  u64,
  u32,
  u16,
  u8,
  u4,
  u2,
  boolean,
  c64,
  c128,
  str
};

/// "f32", "bool", "str": the name in graph text and messages.
std::string_view name(DType type);
/// The type of a name as name() gives it, or of a WebNN name ("float32", "uint8").
std::optional<DType> dtype_named(std::string_view text);

/// Width of one element in bits (str: of the C++ object that holds it; none: 0).
int bits(DType type);
/// Bytes that hold `count` elements, the last byte padded; nullopt when that overflows, or `count` is below 0.
std::optional<int64_t> bytes_for(DType type, int64_t count);

constexpr bool is_real(DType t) { return t >= DType::f64 && t <= DType::f4e2m1; }
constexpr bool is_float(DType t) { return t >= DType::f64 && t <= DType::bf16; }
constexpr bool is_signed_int(DType t) { return t >= DType::i64 && t <= DType::i2; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::u64 && t <= DType::u2; }
constexpr bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
constexpr bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }
/// Elements are C++ objects, not bytes.
constexpr bool is_object(DType t) { return t >= DType::str; }

}  // namespace nnex
#pragma GCC visibility pop
