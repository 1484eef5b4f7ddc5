#include "tensor/half.h"

#include <cmath>

namespace nnex {
namespace {

uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
float float_of(uint32_t b) { return __builtin_bit_cast(float, b); }
uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }

/// A small binary float: 1 sign bit, E exponent bits, M mantissa bits, exponent bias B.
struct Layout {
  int exponent_bits, mantissa_bits, bias;
};

/// The magnitude of a finite x in the layout, rounded to nearest even; may come out above the layout's largest finite
/// pattern (the caller decides what overflow means). Subnormals included.
uint32_t rounded(double magnitude, Layout l) {
  if (magnitude == 0) return 0;
  const int exponent = static_cast<int>((bits_of(magnitude) >> 52) & 0x7ff) - 1023;
  const int min = 1 - l.bias;
  const int e = exponent < min ? min : exponent;
  // One unit of the last place is 2^(e - M): an exact scaling, then one rounding.
  const double units = std::nearbyint(std::ldexp(magnitude, l.mantissa_bits - e));
  if (units > 1e9) return 0xffffffffu;
  auto u = static_cast<uint32_t>(units);
  return u + (static_cast<uint32_t>(e - min) << l.mantissa_bits);
}

float widened(uint32_t magnitude, Layout l) {
  const uint32_t mantissa = magnitude & ((1u << l.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> l.mantissa_bits);
  if (exponent == 0) return std::ldexp(static_cast<float>(mantissa), 1 - l.bias - l.mantissa_bits);
  return std::ldexp(static_cast<float>(mantissa + (1u << l.mantissa_bits)), exponent - l.bias - l.mantissa_bits);
}

constexpr Layout kF16 = {5, 10, 15}, kE4M3 = {4, 3, 7}, kE4M3Z = {4, 3, 8}, kE5M2 = {5, 2, 15}, kE5M2Z = {5, 2, 16};

uint16_t f16_from(double x) {
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  if (std::isnan(x)) return sign | 0x7e00;
  const uint32_t m = std::isinf(x) ? 0x7c00 : rounded(std::fabs(x), kF16);
  return static_cast<uint16_t>(sign | (m > 0x7c00 ? 0x7c00 : m));
}

/// Formats with a signed zero whose NaN is the all-ones magnitude (e4m3fn) or which have infinities (e5m2).
uint8_t f8_from(float x, Layout l, uint32_t largest, uint8_t beyond, uint8_t nan, Overflow o) {
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return sign | nan;
  const uint32_t m = std::isinf(x) ? largest + 1 : rounded(std::fabs(static_cast<double>(x)), l);
  if (m > largest) return sign | (o == Overflow::saturate ? static_cast<uint8_t>(largest) : beyond);
  return static_cast<uint8_t>(sign | m);
}

/// FNUZ formats: no -0, and 0x80 is the only NaN.
uint8_t f8z_from(float x, Layout l, Overflow o) {
  if (std::isnan(x)) return 0x80;
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  const uint32_t m = std::isinf(x) ? 0x80 : rounded(std::fabs(static_cast<double>(x)), l);
  if (m == 0) return 0;
  if (m > 0x7f) return o == Overflow::saturate ? static_cast<uint8_t>(sign | 0x7f) : uint8_t{0x80};
  return static_cast<uint8_t>(sign | m);
}

float signed_value(uint8_t bits, float magnitude) { return bits & 0x80 ? -magnitude : magnitude; }

}  // namespace

f16::f16(double x) : bits(f16_from(x)) {}

f16::f16(float x) {
  const uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000, m = b & 0x7fffffff;
  if (m > 0x7f800000)
    bits = static_cast<uint16_t>(sign | 0x7e00);
  else if (m >= 0x477ff000)
    bits = static_cast<uint16_t>(sign | 0x7c00);  // rounds to 65536 or more
  else if (m < 0x38800000) {                      // below 2^-14: units of 2^-24
    const float units = float_of(m) * 16777216.0f;
    const float whole = (units + 8388608.0f) - 8388608.0f;  // to nearest even
    bits = static_cast<uint16_t>(sign | static_cast<uint32_t>(whole));
  } else {
    const uint32_t even = (m >> 13) & 1;
    bits = static_cast<uint16_t>(sign | ((m - 0x38000000 + 0xfff + even) >> 13));
  }
}

f16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, m = bits & 0x7fffu;
  if (m >= 0x7c00) return float_of(sign | 0x7f800000 | ((m & 0x3ff) << 13));
  if (m >= 0x400) return float_of(sign | ((m << 13) + 0x38000000));
  return float_of(sign | bits_of(static_cast<float>(m) * 0x1p-24f));
}

bf16::bf16(float x) {
  const uint32_t b = bits_of(x);
  bits = (b & 0x7fffffff) > 0x7f800000 ? static_cast<uint16_t>((b >> 16) | 0x40)
                                       : static_cast<uint16_t>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

bf16::bf16(double x) {
  // Through float rounded to odd, so that the second rounding is the only one that counts.
  float f = static_cast<float>(x);
  if (static_cast<double>(f) != x && !std::isnan(x) && !std::isinf(f)) {
    uint32_t b = bits_of(f);
    if (std::fabs(static_cast<double>(f)) > std::fabs(x)) --b;
    f = float_of(b | 1);
  }
  *this = bf16(f);
}

bf16::operator float() const { return float_of(static_cast<uint32_t>(bits) << 16); }

f8e4m3fn::f8e4m3fn(float x, Overflow o) : bits(f8_from(x, kE4M3, 0x7e, 0x7f, 0x7f, o)) {}
f8e4m3fn::operator float() const {
  if ((bits & 0x7f) == 0x7f) return float_of(0x7fc00000 | (static_cast<uint32_t>(bits & 0x80) << 24));
  return signed_value(bits, widened(bits & 0x7f, kE4M3));
}

f8e5m2::f8e5m2(float x, Overflow o) : bits(f8_from(x, kE5M2, 0x7b, 0x7c, 0x7f, o)) {}
f8e5m2::operator float() const {
  const uint32_t m = bits & 0x7f;
  if (m >= 0x7c) return float_of((static_cast<uint32_t>(bits & 0x80) << 24) | 0x7f800000 | ((m & 3) << 21));
  return signed_value(bits, widened(m, kE5M2));
}

f8e4m3fnuz::f8e4m3fnuz(float x, Overflow o) : bits(f8z_from(x, kE4M3Z, o)) {}
f8e4m3fnuz::operator float() const {
  return bits == 0x80 ? float_of(0x7fc00000) : signed_value(bits, widened(bits & 0x7f, kE4M3Z));
}

f8e5m2fnuz::f8e5m2fnuz(float x, Overflow o) : bits(f8z_from(x, kE5M2Z, o)) {}
f8e5m2fnuz::operator float() const {
  return bits == 0x80 ? float_of(0x7fc00000) : signed_value(bits, widened(bits & 0x7f, kE5M2Z));
}

f8e8m0::f8e8m0(float x, Overflow o, PowerRounding r) {
  if (std::isnan(x)) {
    bits = 0xff;
    return;
  }
  // A power of two, 2^(bits - 127): the sign is lost, 0 and what lies below become the least.
  const uint32_t m = bits_of(x) & 0x7fffffff;
  uint32_t exponent = m >> 23, mantissa = m & 0x7fffff;
  if (m >= 0x7f800000) {
    bits = o == Overflow::saturate ? 0xfe : 0xff;
    return;
  }
  bool up = false;
  if (exponent == 0)
    up = r == PowerRounding::up ? mantissa > 0x400000 : r == PowerRounding::nearest && mantissa >= 0x600000;
  else
    up = r == PowerRounding::up ? mantissa != 0 : r == PowerRounding::nearest && mantissa >= 0x400000;
  exponent += up;
  bits = exponent > 0xfe ? (o == Overflow::saturate ? 0xfe : 0xff) : static_cast<uint8_t>(exponent);
}
f8e8m0::operator float() const {
  if (bits == 0xff) return float_of(0x7fc00000);
  return bits == 0 ? 0x1p-127f : float_of(static_cast<uint32_t>(bits) << 23);
}

float f4e2m1_value(uint8_t bits) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return bits & 8 ? -kValues[bits & 7] : kValues[bits & 7];
}

uint8_t f4e2m1_bits(float x) {
  if (std::isnan(x)) return 8;  // the pattern of -0, as the stored ONNX cases have it
  const uint8_t sign = std::signbit(x) ? 8 : 0;
  const float m = std::fabs(x);
  // Halfway points, even mantissas win: 0.25 to 0, 0.75 to 1, 1.25 to 1, 1.75 to 2, 2.5 to 2, 3.5 to 4, 5 to 4.
  uint8_t b = m <= 0.25f   ? 0
              : m < 0.75f  ? 1
              : m <= 1.25f ? 2
              : m < 1.75f  ? 3
              : m <= 2.5f  ? 4
              : m < 3.5f   ? 5
              : m <= 5     ? 6
                           : 7;
  return sign | b;
}

}  // namespace nnex
