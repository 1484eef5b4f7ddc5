#pragma once
/// f16 and bf16: floats of two bytes, as C++ values.

#include <cstdint>

#pragma GCC visibility push(default)
namespace nnex {

/// A float of IEEE 754's binary16. What is made of wider ones is rounded to nearest even, once; out of range it is an
/// infinity.
struct f16 {
  uint16_t bits = 0;
  f16() = default;
  explicit f16(float x);
  explicit f16(double x);
  operator float() const;  // NOLINT: widening loses nothing
};

/// The upper half of a float. Rounded as f16.
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float x);
  explicit bf16(double x);
  operator float() const;  // NOLINT
};

}  // namespace nnex
#pragma GCC visibility pop
