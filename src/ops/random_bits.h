#pragma once
// Random numbers by counter: number i of a node's run is a function of (seed, node, run, i), so that neither threads
// nor order matter.

#include <cmath>
#include <cstdint>
#include <optional>

#include "ops/call.h"

namespace nnex {

class RandomBits {
 public:
  /// The stream of a key; a seed of the node's own stands in for the session's.
  explicit RandomBits(const RandomKey& key, std::optional<double> seed = {})
      : start_(mix(mix(mix(seed ? __builtin_bit_cast(uint64_t, *seed) : key.seed) ^ key.node) ^ key.run)) {}

  /// 64 bits, the i-th of the stream.
  uint64_t bits(uint64_t i) const { return mix(start_ + (i + 1) * kStride); }
  /// A number from [0, 1), a multiple of 2^-53.
  double uniform(uint64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }
  /// A number of the standard normal distribution; uses numbers 2 i and 2 i + 1 (Box and Muller).
  double normal(uint64_t i) const {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * i)));
    return radius * std::cos(6.283185307179586477 * uniform(2 * i + 1));
  }

 private:
  static constexpr uint64_t kStride = 0x9E3779B97F4A7C15u;
  /// A bijection whose every output bit depends on every input bit (Stafford's mixer 13, as in SplitMix64).
  static uint64_t mix(uint64_t x) {
    x ^= x >> 30, x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27, x *= 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  uint64_t start_;
};

}  // namespace nnex
