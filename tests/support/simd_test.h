#pragma once
// What the tests of inner loops share: every table of loops this machine can run, inputs with every special value, and
// equality of bits (any NaN equals any NaN: payloads are not promised).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/product/loops_tile_u8.h"
#include "kernels/simd/loops.h"

namespace nnex::test {

namespace simd = kernels::simd;

using simd::Isa;
using simd::Loops;
using simd::Numbers;

inline std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (int i = 0; i < static_cast<int>(Isa::count); ++i)
    if (simd::can_run(static_cast<Isa>(i))) isas.push_back(static_cast<Isa>(i));
  return isas;
}

/// Whether the loops of this table round a multiply-add once.
inline bool fuses(const Loops& table) {
  return table.numbers == Numbers::fast &&
         (table.isa == Isa::avx2 || table.isa == Isa::avx512 || table.isa == Isa::neon);
}

/// Calls test(table) for fast and exact loops of every instruction set.
template <class F>
void for_each_table(F test) {
  for (Isa isa : runnable_isas()) {
    for (Numbers numbers : {Numbers::fast, Numbers::exact}) {
      const Loops& table = simd::loops(isa, numbers);
      if (table.isa != isa) continue;  // it has another's
      SCOPED_TRACE(std::string(simd::name(isa)) + (numbers == Numbers::exact ? " exact" : " fast"));
      test(table);
    }
  }
}

/// The table, and those that use less of the machine: no tile unit, no dot products of bytes.
struct ByteTable {
  const char* name;
  Loops loops;
};
inline std::vector<ByteTable> byte_tables(const Loops& table) {
  std::vector<ByteTable> out = {{"as it is", table}};
  Loops less = table;
#if defined(__x86_64__)
  if (table.release_unit) {
    less.tile_u8 = simd::tile_u8, less.tile_shape_u8 = simd::kTileShapeU8, less.release_unit = nullptr;
    out.push_back({"without the tile unit", less});
  }
#endif
  if (!table.tile_u8 && !table.tile_pairs) return out;
  if (table.tile_u8 && table.tile_pairs) {
    less.tile_u8 = nullptr;
    out.push_back({"without dot products", less});
  }
  less.tile_u8 = nullptr, less.tile_pairs = nullptr, less.release_unit = nullptr;
  out.push_back({"without tiles of bytes", less});
  return out;
}

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

inline bool same_bits(float a, float b) { return bits_of(a) == bits_of(b) || (a != a && b != b); }
inline bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
template <class T>
bool same_bits(T a, T b) {
  return a == b;
}

/// Fails with the first difference.
template <class T>
void expect_same(const std::vector<T>& found, const std::vector<T>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(same_bits(found[i], expected[i]))
        << "at " << i << ": found " << +found[i] << ", expected " << +expected[i];
}

/// n floats: zeros, subnormals, limits, infinities, NaN first, then numbers of every magnitude and many near 1.
inline std::vector<float> test_floats(size_t n, uint32_t seed = 1) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0F,
                          -0.0F,
                          1.0F,
                          -1.0F,
                          0.5F,
                          -0.5F,
                          1.5F,
                          2.5F,
                          -2.5F,
                          3.0F,
                          -3.0F,
                          6.0F,
                          1e-45F,
                          -1e-45F,
                          1e-40F,
                          -1e-40F,
                          1.17549435e-38F,
                          3.40282347e38F,
                          -3.40282347e38F,
                          inf,
                          -inf,
                          std::nanf(""),
                          88.72F,
                          88.73F,
                          -87.0F,
                          -87.5F,
                          -103.9F,
                          -104.1F,
                          8388607.5F,
                          8388608.0F,
                          1e10F,
                          -1e10F,
                          20.0F,
                          -20.0F,
                          0.85F,
                          3.95F};
  std::mt19937 random(seed);
  while (x.size() < n) {
    const uint32_t bits = random();
    x.push_back(x.size() % 2 ? float_of(bits) : (static_cast<float>(bits >> 8) / 8388608.0F - 1.0F) * 10.0F);
  }
  x.resize(n);
  return x;
}

/// n finite floats in [-scale, scale).
inline std::vector<float> uniform_floats(size_t n, float scale = 1, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = (static_cast<float>(random() >> 8) / 8388608.0F - 1.0F) * scale;
  return x;
}

}  // namespace nnex::test
