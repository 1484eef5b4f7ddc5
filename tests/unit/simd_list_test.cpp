// Every line of simd.def, by a loop over the list. What the numbers must be the other tests of inner loops say, by
// plain C++ and with special values.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "simd_cases.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

std::string bytes_of_run(const test::SimdLine& line, const simd::Loops& table, size_t n) {
  const test::SimdCase c = line.make(table, {n});
  c.run();
  return c.operands->bytes();
}

/// Whether loops without multiply-add are these, and with it those: the bytes are the same on every instruction set.
TEST(SimdList, EveryLineGivesTheSameBytesOnEveryInstructionSet) {
  const simd::Isa first = test::runnable_isas().at(0);
  for (const test::SimdLine& line : test::simd_lines()) {
    SCOPED_TRACE(line.name);
    for (size_t n : {1, 3, 8, 21, 64, 133}) {
      SCOPED_TRACE(n);
      const std::string plain = bytes_of_run(line, simd::loops(first, simd::Numbers::exact), n);
      std::optional<std::string> fused;
      test::for_each_table([&](const simd::Loops& table) {
        const std::string found = bytes_of_run(line, table, n);
        const bool by_multiply_add = line.fused && test::fuses(table);
        if (by_multiply_add && !fused) fused = found;
        EXPECT_TRUE(found == (by_multiply_add ? *fused : plain));
      });
    }
  }
}

TEST(SimdList, EveryLineWritesItsResults) {
  for (const test::SimdLine& line : test::simd_lines()) {
    const test::SimdCase c = line.make(simd::loops(simd::best_isa()), {133});
    const std::string before = c.operands->bytes();
    ASSERT_FALSE(before.empty()) << line.name;
    c.run();
    const std::string after = c.operands->bytes();
    EXPECT_NE(before, after) << line.name;
    // Few bytes look as if they were not written.
    const auto unwritten = std::count(after.begin(), after.end(), static_cast<char>(test::Operands::kUnwritten));
    EXPECT_LE(unwritten * 8, static_cast<std::ptrdiff_t>(after.size())) << line.name;
  }
}

}  // namespace
}  // namespace nnex::kernels
