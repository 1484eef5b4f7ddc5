#pragma once
// Storage types narrower than f32: structs that hold the bits. Arithmetic happens in float, rounded once.
// Conversions round to nearest even; what is out of range becomes infinity (f16, bf16), or what Overflow says (float8).

#include <cstdint>

#include "nnex/half.h"

namespace nnex {

/// What a conversion to a float8 type does with values out of range (ONNX Cast `saturate`).
enum class Overflow : uint8_t { saturate, overflow };
/// How a conversion to f8e8m0 picks a power of two (ONNX Cast `round_mode`).
enum class PowerRounding : uint8_t { up, down, nearest };

struct f8e4m3fn {
  uint8_t bits = 0;
  f8e4m3fn() = default;
  explicit f8e4m3fn(float x, Overflow o = Overflow::saturate);
  operator float() const;  // NOLINT
};

struct f8e4m3fnuz {
  uint8_t bits = 0;
  f8e4m3fnuz() = default;
  explicit f8e4m3fnuz(float x, Overflow o = Overflow::saturate);
  operator float() const;  // NOLINT
};

struct f8e5m2 {
  uint8_t bits = 0;
  f8e5m2() = default;
  explicit f8e5m2(float x, Overflow o = Overflow::saturate);
  operator float() const;  // NOLINT
};

struct f8e5m2fnuz {
  uint8_t bits = 0;
  f8e5m2fnuz() = default;
  explicit f8e5m2fnuz(float x, Overflow o = Overflow::saturate);
  operator float() const;  // NOLINT
};

struct f8e8m0 {
  uint8_t bits = 0;
  f8e8m0() = default;
  explicit f8e8m0(float x, Overflow o = Overflow::saturate, PowerRounding r = PowerRounding::up);
  operator float() const;  // NOLINT
};

/// The 4-bit float: bits 0..15 to a value; a value to bits (always saturates; NaN gives -0).
float f4e2m1_value(uint8_t bits);
uint8_t f4e2m1_bits(float x);

}  // namespace nnex
