#pragma once
// Numbers as networks have them.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace nnex::test {

/// Twelve evenly distributed numbers added up: all but normally distributed, and the same on every machine.
inline std::vector<float> normal(size_t n, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::vector<float> out(n);
  for (float& x : out) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) * 0x1p-32;
    x = static_cast<float>(sum) * scale;
  }
  return out;
}

}  // namespace nnex::test
