#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>

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

template <class T>
bool compare(CompareKind kind, T a, T b) {
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

template <class T>
void expect_comparisons(simd::CompareOf<T>* simd::Loops::*loop, const std::vector<T>& a, const std::vector<T>& b) {
  for (int k = 0; k < static_cast<int>(CompareKind::count); ++k) {
    const CompareKind kind = static_cast<CompareKind>(k);
    test::for_each_table([&](const Loops& table) {
      for (size_t n : {a.size(), size_t{0}, size_t{1}, size_t{7}, size_t{33}}) {
        std::vector<uint8_t> y(n + 1, 9), expected(n + 1, 9);
        for (size_t i = 0; i < n; ++i) expected[i] = compare(kind, a[i], b[i]);
        (table.*loop)(kind, a.data(), b.data(), y.data(), n);
        test::expect_same(y, expected);
      }
    });
  }
}

/// Pairs in which limits and small numbers meet.
template <class T>
struct Edges {
  std::vector<T> a, b;
  Edges() {
    std::vector<T> special;
    if constexpr (std::is_same_v<T, double>) {
      for (float x : test::test_floats(40)) special.push_back(static_cast<double>(x) * 1.000000001);
    } else {
      for (int i = -3; i < 4; ++i) special.push_back(static_cast<T>(i));
      using Limits = std::numeric_limits<T>;
      for (T x : {Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(), static_cast<T>(Limits::max() / 3)})
        special.push_back(x);
      std::mt19937_64 random(3);
      for (int i = 0; i < 20; ++i) special.push_back(static_cast<T>(random()));
    }
    for (T u : special)
      for (T v : special) a.push_back(u), b.push_back(v);
  }
};

TEST(SimdCompare, EveryKindEqualsItsOracle) {
  const Pairs floats;
  expect_comparisons(&Loops::compare_f32, floats.a, floats.b);
  const Edges<int32_t> i32;
  expect_comparisons(&Loops::compare_i32, i32.a, i32.b);
  const Edges<int64_t> i64;
  expect_comparisons(&Loops::compare_i64, i64.a, i64.b);
}

/// The step in plain C++; nothing: a loop of T does not have it.
template <class T>
std::optional<T> plain(WholeStep step, T a, T b, T low, T high) {
  constexpr bool real = std::is_same_v<T, double>;
  constexpr bool is_signed = std::is_signed_v<T> && !real, is_unsigned = std::is_unsigned_v<T>;
  using Wide = std::conditional_t<real, double, uint64_t>;
  const bool nan = a != a;
  switch (step) {
    case WholeStep::min:
      return a < b || nan ? a : b;
    case WholeStep::max:
      return a > b || nan ? a : b;
    default:
      break;
  }
  if constexpr (real || is_unsigned) switch (step) {
      case WholeStep::add:
        return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
      case WholeStep::sub:
        return static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b));
      case WholeStep::mul:
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      default:
        break;
    }
  if constexpr (real) switch (step) {
      case WholeStep::div:
        return a / b;
      case WholeStep::sign:
        return a > 0 ? 1.0 : a < 0 ? -1.0 : a;
      default:
        return std::nullopt;
    }
  else if (step == WholeStep::clamp)
    return a < low ? low : a > high ? high : a;
  if constexpr (is_unsigned) switch (step) {
      case WholeStep::neg:
        return static_cast<T>(uint64_t{0} - a);
      case WholeStep::bit_and:
        return static_cast<T>(a & b);
      case WholeStep::bit_or:
        return static_cast<T>(a | b);
      case WholeStep::bit_xor:
        return static_cast<T>(a ^ b);
      default:
        return std::nullopt;
    }
  if constexpr (is_signed)
    if (step == WholeStep::abs) return a < 0 ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a)) : a;
  return std::nullopt;
}

template <class T>
void expect_steps(simd::WholeLoop<T>* simd::Loops::*loop) {
  const Edges<T> pairs;
  int found = 0;
  for (int k = 0; k <= static_cast<int>(WholeStep::sign); ++k) {
    const auto step = static_cast<WholeStep>(k);
    const T limits[] = {static_cast<T>(1), static_cast<T>(5)};
    if (!plain<T>(step, T(1), T(1), T(0), T(1))) continue;
    ++found;
    SCOPED_TRACE(k);
    for (size_t step_b : {size_t{0}, size_t{1}}) {
      if (step_b == 1 && step == WholeStep::clamp) continue;
      const T* const b = step_b ? pairs.b.data() : limits;
      test::for_each_table([&](const Loops& table) {
        for (size_t n : {pairs.a.size(), size_t{0}, size_t{1}, size_t{7}, size_t{69}}) {
          std::vector<T> y(n + 1, T(77)), expected(n + 1, T(77)), first(pairs.a), second(pairs.b);
          for (size_t i = 0; i < n; ++i) expected[i] = *plain(step, pairs.a[i], b[i * step_b], limits[0], limits[1]);
          (table.*loop)(step, pairs.a.data(), b, step_b, y.data(), n);
          test::expect_same(y, expected);
          (table.*loop)(step, first.data(), b, step_b, first.data(), n);
          first.resize(n), expected.resize(n);
          test::expect_same(first, expected);
          if (!step_b) continue;
          (table.*loop)(step, pairs.a.data(), second.data(), 1, second.data(), n);
          second.resize(n);
          test::expect_same(second, expected);
        }
      });
    }
  }
  EXPECT_GE(found, 4);
}

TEST(SimdWhole, EveryStepEqualsItsOracle) {
  expect_steps(&Loops::whole_i8);
  expect_steps(&Loops::whole_i16);
  expect_steps(&Loops::whole_i32);
  expect_steps(&Loops::whole_i64);
  expect_steps(&Loops::whole_u8);
  expect_steps(&Loops::whole_u16);
  expect_steps(&Loops::whole_u32);
  expect_steps(&Loops::whole_u64);
  expect_steps(&Loops::whole_f64);
}

/// Every float16 and bfloat16 there is, through float32.
TEST(SimdWhole, StepsOfHalvesEqualThoseOfFloats) {
  constexpr size_t kAll = 65536;
  std::vector<uint16_t> x(kAll);
  for (size_t i = 0; i < kAll; ++i) x[i] = static_cast<uint16_t>(i);
  test::for_each_table([&](const Loops& table) {
    for (bool brain : {false, true}) {
      const int16_t numbers[] = {static_cast<int16_t>(brain ? 0x7f80 : 0x7c00),
                                 static_cast<int16_t>(brain ? 0x3f80 : 0x3c00)};
      std::vector<float> wide(kAll);
      (brain ? table.f32_from_bf16 : table.f32_from_f16)(x.data(), wide.data(), kAll);
      for (bool is_sign : {true, false}) {
        std::vector<uint16_t> y(kAll);
        std::vector<float> found(kAll), expected(kAll);
        table.whole_i16(is_sign ? WholeStep::half_sign : WholeStep::half_relu,
                        reinterpret_cast<const int16_t*>(x.data()), numbers, 0, reinterpret_cast<int16_t*>(y.data()),
                        kAll);
        (brain ? table.f32_from_bf16 : table.f32_from_f16)(y.data(), found.data(), kAll);
        for (size_t i = 0; i < kAll; ++i) {
          const float v = wide[i];
          expected[i] = is_sign ? (v > 0 ? 1.0F : v < 0 ? -1.0F : v) : (v > 0 || v != v ? v : 0.0F);
        }
        test::expect_same(found, expected);
      }
    }
  });
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
