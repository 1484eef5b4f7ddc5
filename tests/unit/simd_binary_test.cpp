#include <gtest/gtest.h>

#include <cmath>

#include "oracle_math.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

float binary(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::add:
      return a + b;
    case BinaryKind::sub:
      return a - b;
    case BinaryKind::mul:
      return a * b;
    case BinaryKind::div:
      return a / b;
    case BinaryKind::min:
      return oracle::minimum(a, b);
    case BinaryKind::max:
      return oracle::maximum(a, b);
    case BinaryKind::lesser:
      return a < b ? a : b;
    case BinaryKind::greater:
      return a > b ? a : b;
    case BinaryKind::prelu:
      return a < 0 ? a * b : a;
    case BinaryKind::pow:
      return static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    case BinaryKind::count:
      break;
  }
  return 0;
}

bool compare(CompareKind kind, float a, float b) {
  switch (kind) {
    case CompareKind::eq:
      return a == b;
    case CompareKind::ne:
      return a != b;
    case CompareKind::lt:
      return a < b;
    case CompareKind::le:
      return a <= b;
    case CompareKind::gt:
      return a > b;
    case CompareKind::ge:
      return a >= b;
    case CompareKind::count:
      break;
  }
  return false;
}

/// Pairs in which special values meet special values.
struct Pairs {
  std::vector<float> a, b;
  Pairs() {
    const std::vector<float> special = test::test_floats(40), more = test::test_floats(1000, 7);
    for (float u : special)
      for (float v : special) {
        a.push_back(u);
        b.push_back(v);
      }
    a.insert(a.end(), more.begin(), more.end());
    b.insert(b.end(), more.rbegin(), more.rend());
  }
};

constexpr Form kForms[] = {Form::vector_vector, Form::vector_scalar, Form::scalar_vector};

TEST(SimdBinary, EveryKindAndFormEqualsItsOracle) {
  const Pairs pairs;
  for (int k = 0; k < static_cast<int>(BinaryKind::count); ++k) {
    const BinaryKind kind = static_cast<BinaryKind>(k);
    if (kind == BinaryKind::pow) continue;  // bounded, not equal: below
    SCOPED_TRACE(k);
    test::for_each_table([&](const Loops& table) {
      for (size_t n : {pairs.a.size(), size_t{0}, size_t{1}, size_t{5}, size_t{31}}) {
        for (Form form : kForms) {
          std::vector<float> y(n), expected(n);
          for (size_t i = 0; i < n; ++i)
            expected[i] = binary(kind, form == Form::scalar_vector ? pairs.a[0] : pairs.a[i],
                                 form == Form::vector_scalar ? pairs.b[0] : pairs.b[i]);
          table.binary_f32(kind, form, pairs.a.data(), pairs.b.data(), y.data(), n);
          test::expect_same(y, expected);
        }
      }
    });
  }
}

TEST(SimdBinary, PowRoundsOnceAndKnowsSpecialValues) {
  Pairs pairs;
  for (float base : {2.0F, 10.0F, -3.0F, 0.9F, 1.0000001F})
    for (float e = -40; e < 40; e += 0.5F) {
      pairs.a.push_back(base);
      pairs.b.push_back(e);
    }
  std::vector<float> first;
  test::for_each_table([&](const Loops& table) {
    std::vector<float> y(pairs.a.size());
    table.binary_f32(BinaryKind::pow, Form::vector_vector, pairs.a.data(), pairs.b.data(), y.data(), y.size());
    if (first.empty()) first = y;
    test::expect_same(y, first);
  });
  for (size_t i = 0; i < first.size(); ++i) {
    const float expected = binary(BinaryKind::pow, pairs.a[i], pairs.b[i]);
    const bool close =
        test::same_bits(first[i], expected) || std::fabs(static_cast<double>(first[i]) - expected) <=
                                                   1.2e-7 * std::fabs(static_cast<double>(expected)) + 1.5e-45;
    ASSERT_TRUE(close) << pairs.a[i] << "^" << pairs.b[i] << ": " << first[i] << ", expected " << expected;
  }
}

TEST(SimdCompare, EveryKindAndFormEqualsItsOracle) {
  const Pairs pairs;
  for (int k = 0; k < static_cast<int>(CompareKind::count); ++k) {
    const CompareKind kind = static_cast<CompareKind>(k);
    test::for_each_table([&](const Loops& table) {
      for (size_t n : {pairs.a.size(), size_t{0}, size_t{1}, size_t{7}, size_t{33}}) {
        for (Form form : kForms) {
          std::vector<uint8_t> y(n + 1, 9), expected(n + 1, 9);
          for (size_t i = 0; i < n; ++i)
            expected[i] = compare(kind, form == Form::scalar_vector ? pairs.a[0] : pairs.a[i],
                                  form == Form::vector_scalar ? pairs.b[0] : pairs.b[i]);
          table.compare_f32(kind, form, pairs.a.data(), pairs.b.data(), y.data(), n);
          test::expect_same(y, expected);
        }
      }
    });
  }
}

TEST(SimdSelect, AnyNonzeroByteIsTrue) {
  std::vector<uint32_t> a(77), b(77);
  std::vector<uint8_t> which(77);
  for (size_t i = 0; i < which.size(); ++i) {
    which[i] = static_cast<uint8_t>(i % 3 ? i * 37 : 0);
    a[i] = static_cast<uint32_t>(i * 2654435761U);
    b[i] = ~a[i];
  }
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {size_t{77}, size_t{0}, size_t{3}, size_t{16}}) {
      for (size_t steps = 0; steps < 4; ++steps) {
        const size_t step_a = steps & 1, step_b = steps >> 1;
        std::vector<uint32_t> y(n), expected(n);
        for (size_t i = 0; i < n; ++i) expected[i] = which[i] ? a[i * step_a] : b[i * step_b];
        table.select_u32(which.data(), a.data(), b.data(), y.data(), n, step_a, step_b);
        test::expect_same(y, expected);
      }
    }
  });
}

}  // namespace
}  // namespace nnex::kernels
