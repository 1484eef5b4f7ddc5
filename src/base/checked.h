#pragma once
// Arithmetic on sizes from files: nothing wraps.

#include <cstdint>
#include <optional>

namespace nnex {

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

/// Two's complement arithmetic that wraps, as operators of integers do.
inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// floor(a / b) and ceil(a / b) for b > 0.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/// The next multiple of `multiple` that is not below n.
constexpr int64_t round_up(int64_t n, int64_t multiple) { return ceil_div(n, multiple) * multiple; }

}  // namespace nnex
