#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/integer/chain.h"
#include "kernels/pool/pool.h"
#include "share.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::IntBlock;
using simd::IntOperand;
using simd::IntStep;
using simd::IntStepKind;
using simd::IntType;
using simd::Loops;

constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();

int64_t wrapped(int64_t x) { return static_cast<int32_t>(static_cast<uint64_t>(x)); }

int64_t element(const IntOperand& o, int64_t row, int64_t column) {
  const int64_t at = row * o.row_stride + (o.one ? 0 : column);
  switch (o.type) {
    case IntType::i8:
      return static_cast<const int8_t*>(o.p)[at];
    case IntType::u8:
      return static_cast<const uint8_t*>(o.p)[at];
    case IntType::i16:
      return static_cast<const int16_t*>(o.p)[at];
    case IntType::i32:
      return static_cast<const int32_t*>(o.p)[at];
  }
  return 0;
}

/// The formulas, in 64 bits.
int64_t through(const IntStep& s, int64_t x, int64_t other) {
  switch (s.kind) {
    case IntStepKind::add:
      return wrapped(x + other);
    case IntStepKind::subtract:
      return wrapped(x - other);
    case IntStepKind::subtract_from:
      return wrapped(other - x);
    case IntStepKind::multiply:
      return wrapped(x * other);
    case IntStepKind::maximum:
      return std::max(x, other);
    case IntStepKind::minimum:
      return std::min(x, other);
    case IntStepKind::stage:
      break;
  }
  const simd::IntStage& f = s.stage;
  x = std::min<int64_t>(std::max<int64_t>(x, f.low), f.high);
  x = wrapped(x * f.factor);
  if (f.shift > 0) x = ((x >> (f.shift - 1)) + 1) >> 1;
  return std::min<int64_t>(std::max<int64_t>(x, f.min), f.max);
}

class Random {
 public:
  explicit Random(uint32_t seed) : bits_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int32_t number() {
    constexpr std::array<int32_t, 12> kEdges = {0, 1, -1, 2, 127, -127, -128, 255, 32767, -32768, kMax, kMin};
    if (one_in(3)) return kEdges[static_cast<size_t>(below(kEdges.size()))];
    return static_cast<int32_t>(static_cast<uint32_t>(bits_()) << below(1)) >> below(32);
  }

 private:
  std::mt19937 bits_;
};

/// A tensor of random storage beside a block of rows x columns.
struct Stored {
  std::vector<std::byte> bytes;
  IntOperand operand;

  Stored(Random& random, int64_t rows, int64_t columns, bool whole) {
    constexpr std::array<IntType, 4> kTypes = {IntType::i8, IntType::u8, IntType::i16, IntType::i32};
    operand.type = kTypes[static_cast<size_t>(random.below(4))];
    operand.one = !whole && random.one_in(3);
    operand.row_stride = whole || random.one_in(2) ? (operand.one ? 1 : columns + random.below(3)) : 0;
    const int64_t n = rows * std::max<int64_t>(operand.row_stride, 1) + columns;
    bytes.resize(static_cast<size_t>(n * 4));
    for (size_t i = 0; i < bytes.size(); i += 4) {
      const int32_t value = random.number();
      std::memcpy(bytes.data() + i, &value, 4);
    }
    operand.p = bytes.data();
  }
};

IntStep random_step(Random& random, int operands) {
  IntStep s;
  s.operand = static_cast<int>(random.below(operands));
  s.kind = static_cast<IntStepKind>(random.below(7));
  if (s.kind != IntStepKind::stage) return s;
  const auto limits = [&](int32_t& low, int32_t& high) {
    if (random.one_in(2)) return;
    low = random.number(), high = random.number();
    if (low > high) std::swap(low, high);
  };
  limits(s.stage.low, s.stage.high);
  limits(s.stage.min, s.stage.max);
  if (random.one_in(2)) s.stage.factor = random.number();
  if (random.one_in(2)) s.stage.shift = static_cast<int32_t>(1 + random.below(32));
  return s;
}

void check_block(const Loops& loops, uint32_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const int64_t rows = random.below(9), columns = 1 + random.below(random.one_in(4) ? 100 : 20);
  const Stored x(random, rows, columns, true);
  std::vector<Stored> stored;
  for (int i = 0; i < 3; ++i) stored.emplace_back(random, rows, columns, false);
  std::vector<IntOperand> operands;
  for (const Stored& s : stored) operands.push_back(s.operand);
  std::vector<IntStep> steps;
  for (int64_t n = random.below(5); n > 0; --n) steps.push_back(random_step(random, 3));
  const IntType type = static_cast<IntType>(random.below(4));
  const int64_t stride = columns + random.below(5);
  std::vector<std::byte> y(static_cast<size_t>(rows * stride * bytes_of(type)) + 1, std::byte{0x5a}), expected = y;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      int64_t value = element(x.operand, i, j);
      for (const IntStep& s : steps) value = through(s, value, element(operands[static_cast<size_t>(s.operand)], i, j));
      const auto low = static_cast<uint32_t>(value);
      std::memcpy(expected.data() + (i * stride + j) * bytes_of(type), &low, static_cast<size_t>(bytes_of(type)));
    }
  IntBlock b;
  b.rows = rows, b.columns = columns, b.x = x.operand;
  b.steps = steps.data(), b.n_steps = static_cast<int>(steps.size()), b.operands = operands.data();
  b.y = y.data(), b.y_type = type, b.y_row_stride = stride;
  loops.chain_i32(b);
  ASSERT_TRUE(y == expected);
}

TEST(IntChain, EqualsTheFormulas) {
  test::for_each_table([](const Loops& loops) {
    if (loops.numbers == simd::Numbers::exact) return;  // integers are the same
    for (uint32_t seed = 0; seed < test::some_of(3000); ++seed) check_block(loops, seed);
  });
}

TEST(IntChain, WholeTensorsInAnySplit) {
  test::for_each_table([](const Loops& loops) {
    if (loops.numbers == simd::Numbers::exact) return;
    for (int64_t columns : {1, 7, 64, 128, 1000})
      for (int64_t rows : {1, 3, columns == 1000 ? 40 : 400}) {
        const auto n = static_cast<size_t>(rows * columns);
        std::vector<int8_t> x(n), other(n), y(n), expected(n);
        std::vector<int32_t> row(static_cast<size_t>(columns));
        for (size_t i = 0; i < n; ++i) x[i] = static_cast<int8_t>(i * 37), other[i] = static_cast<int8_t>(i * 11);
        for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int32_t>(j * 3) - 9;
        for (const bool with_row : {false, true}) {
          IntSteps steps;
          steps.combine(IntStepKind::add, 0);
          if (with_row) steps.combine(IntStepKind::add, 1);
          steps.multiply(5);
          steps.shift_right(3);
          steps.clamp(-100, 100);
          for (size_t i = 0; i < n; ++i) {
            const int64_t sum = x[i] + other[i] + (with_row ? row[i % row.size()] : 0);
            expected[i] = static_cast<int8_t>(std::clamp<int64_t>(((sum * 5 >> 2) + 1) >> 1, -100, 100));
          }
          IntChain chain;
          chain.steps = steps.steps();
          chain.operands[0] = {other.data(), IntType::i8, false, columns};
          chain.operands[1] = {row.data(), IntType::i32, false, 0};
          chain.n_operands = with_row ? 2 : 1;
          chain.y = reinterpret_cast<std::byte*>(y.data()), chain.y_type = IntType::i8, chain.y_row_stride = columns;
          for (int threads : {1, 2}) {
            std::fill(y.begin(), y.end(), int8_t{0});
            Team team(threads);
            chain.run(loops, team, {x.data(), IntType::i8, false, columns}, rows, columns);
            test::expect_same(y, expected);
          }
        }
      }
  });
}

/// One thing said to a chain, and its formula.
struct Said {
  enum { clamp, multiply, shift, combine } what = clamp;
  int32_t a = 0, b = 0;
  IntStepKind kind = IntStepKind::add;

  explicit Said(Random& random) {
    what = static_cast<decltype(what)>(random.below(4));
    a = random.number(), b = random.number();
    if (what == clamp && random.one_in(2)) a = random.one_in(2) ? 0 : -127, b = random.one_in(2) ? 127 : 32767;
    if (a > b && what == clamp) std::swap(a, b);
    if (what == multiply && random.one_in(2)) a = static_cast<int32_t>(random.below(255)) - 127;
    if (what == shift) a = static_cast<int32_t>(1 + random.below(random.one_in(3) ? 32 : 15));
    kind = static_cast<IntStepKind>(1 + random.below(6));
  }
  void say(IntSteps& steps, int operand, IntType type) const {
    if (what == clamp) return steps.clamp(a, b);
    if (what == multiply) return steps.multiply(a);
    if (what == shift) return steps.shift_right(a);
    steps.combine(kind, operand, range_of(type));
  }
  int64_t of(int64_t x, int64_t other) const {
    if (what == clamp) return std::clamp<int64_t>(x, a, b);
    if (what == multiply) return wrapped(x * a);
    if (what == shift) return ((x >> (a - 1)) + 1) >> 1;
    return through({kind, 0, {}}, x, other);
  }
};

/// Random chains, finished for elements of a known range; returns where int16 began to be enough.
int check_finished(const Loops& loops, uint32_t seed) {
  Random random(seed);
  const int64_t rows = 1 + random.below(16), columns = 1 + random.below(random.one_in(2) ? 100 : 20);
  Stored x(random, rows, columns, true);
  IntRange range = range_of(x.operand.type);
  if (x.operand.type == IntType::i32) {
    const int64_t max = int64_t{1} << random.below(32);
    range = {std::max<int64_t>(kMin, -max), std::min<int64_t>(kMax, max)};
    for (size_t i = 0; i + 4 <= x.bytes.size(); i += 4) {
      int32_t value = 0;
      std::memcpy(&value, x.bytes.data() + i, 4);
      value = static_cast<int32_t>(std::clamp<int64_t>(value, range.low, range.high));
      std::memcpy(x.bytes.data() + i, &value, 4);
    }
  }
  std::vector<Said> said;
  std::vector<Stored> stored;
  IntSteps steps;
  for (int64_t n = random.below(6); n > 0; --n) {
    said.emplace_back(random), stored.emplace_back(random, rows, columns, false);
    said.back().say(steps, static_cast<int>(said.size()) - 1, stored.back().operand.type);
  }
  const IntType type = static_cast<IntType>(random.below(4));
  steps.finish(range, x.operand.type, type);
  std::vector<std::byte> y(static_cast<size_t>(rows * columns * bytes_of(type))), expected = y;
  for (int64_t i = 0; i < rows * columns; ++i) {
    int64_t value = element(x.operand, i / columns, i % columns);
    for (size_t s = 0; s < said.size(); ++s)
      value = said[s].of(value, element(stored[s].operand, i / columns, i % columns));
    const auto low = static_cast<uint32_t>(value);
    std::memcpy(expected.data() + i * bytes_of(type), &low, static_cast<size_t>(bytes_of(type)));
  }
  IntChain chain;
  chain.steps = steps.steps(), chain.narrow = steps.narrow();
  for (const Stored& s : stored) chain.operands[chain.n_operands++] = s.operand;
  chain.y = y.data(), chain.y_type = type, chain.y_row_stride = columns;
  Team team(1);
  chain.run(loops, team, x.operand, rows, columns);
  EXPECT_TRUE(y == expected) << "seed " << seed << ", narrow from " << steps.narrow();
  return steps.narrow();
}

TEST(IntChain, FinishedStepsGiveTheSameNumbers) {
  test::for_each_table([](const Loops& loops) {
    if (loops.numbers == simd::Numbers::exact) return;
    int at_once = 0, later = 0, never = 0;
    const int64_t seeds = test::some_of(3000);
    for (uint32_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
      const int narrow = check_finished(loops, seed);
      ++(narrow == 0 ? at_once : narrow == IntBlock::kNever ? never : later);
    }
    EXPECT_GT(at_once, seeds / 30);
    EXPECT_GT(later, seeds / 30);
    EXPECT_GT(never, seeds / 30);
  });
}

/// sum + bias to 16 bits, relu, times a factor, to 8 bits: what follows the first shift needs int16 alone.
TEST(IntSteps, ARequantisationIsNarrowBehindItsFirstShift) {
  IntSteps steps;
  steps.shift_right(6);
  steps.clamp(-32767, 32767);
  steps.clamp(0, kMax);
  steps.multiply(101);
  steps.shift_right(13);
  steps.clamp(-127, 127);
  steps.combine(IntStepKind::add, 0, range_of(IntType::i8));
  steps.clamp(0, 127);
  steps.finish({-9'000'000, 9'000'000}, IntType::i32, IntType::u8);
  EXPECT_EQ(steps.narrow(), 1);
  ASSERT_EQ(steps.steps().size(), 4U);
  EXPECT_FALSE(steps.steps()[0].stage.carries);
  EXPECT_EQ(steps.steps()[1].stage.fixed, 101 << 2);
  EXPECT_EQ(steps.steps()[1].stage.min, kMin);  // relu came before: no number is below 0
}

/// An element of int16 that a limit takes out of it.
TEST(IntSteps, LimitsBeyondInt16AreNotNarrow) {
  IntSteps steps;
  steps.shift_right(8);
  steps.clamp(-127, 127);
  steps.combine(IntStepKind::maximum, 0, range_of(IntType::u8));
  steps.clamp(195'326, kMax);
  steps.shift_right(15);
  steps.finish({}, IntType::i32, IntType::i8);
  EXPECT_EQ(steps.narrow(), 3);  // the result alone is
}

TEST(IntSteps, OneStageHoldsWhatComesInItsOrder) {
  IntSteps steps;
  steps.clamp(0, kMax);
  steps.clamp(-5, 1000);
  steps.multiply(3);
  steps.multiply(-7);
  steps.shift_right(4);
  steps.clamp(-127, 127);
  ASSERT_EQ(steps.steps().size(), 1U);
  const simd::IntStage& s = steps.steps()[0].stage;
  EXPECT_EQ(s.low, 0);
  EXPECT_EQ(s.high, 1000);
  EXPECT_EQ(s.factor, -21);
  EXPECT_EQ(s.shift, 4);
  EXPECT_EQ(s.min, -127);
  EXPECT_EQ(s.max, 127);
  steps.multiply(2);
  steps.shift_right(1);
  steps.shift_right(1);
  EXPECT_EQ(steps.steps().size(), 3U);
}

TEST(MaxPoolBytes, EqualsTheWindows) {
  std::mt19937 random(7);
  test::for_each_table([&](const Loops& loops) {
    if (loops.numbers == simd::Numbers::exact) return;
    for (int64_t i = test::some_of(200); i > 0; --i) {
      const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
      PoolWindow w;
      w.batch = 1 + below(2), w.channels = 1 + below(70);
      for (int a = 1; a < 3; ++a) {
        w.size[a] = 1 + below(a == 2 ? 13 : 12), w.stride[a] = 1 + below(3), w.dilation[a] = 1 + below(2);
        w.before[a] = below(w.size[a]), w.after[a] = below(w.size[a]);
        w.in[a] = (w.size[a] - 1) * w.dilation[a] + 1 + below(6);
        w.out[a] = (w.in[a] + w.before[a] + w.after[a] - (w.size[a] - 1) * w.dilation[a] - 1) / w.stride[a] + 1;
      }
      const bool is_signed = below(2);
      std::vector<uint8_t> x(static_cast<size_t>(w.batch * w.in[1] * w.in[2] * w.channels));
      for (uint8_t& b : x) b = static_cast<uint8_t>(random());
      std::vector<uint8_t> y(static_cast<size_t>(w.batch * w.out[1] * w.out[2] * w.channels)), expected;
      for (int64_t n = 0; n < w.batch; ++n)
        for (int64_t h = 0; h < w.out[1]; ++h)
          for (int64_t v = 0; v < w.out[2]; ++v)
            for (int64_t c = 0; c < w.channels; ++c) {
              int max = is_signed ? -128 : 0;
              for (int64_t k = 0; k < w.size[1] * w.size[2]; ++k) {
                const int64_t row = h * w.stride[1] - w.before[1] + k / w.size[2] * w.dilation[1];
                const int64_t column = v * w.stride[2] - w.before[2] + k % w.size[2] * w.dilation[2];
                if (row < 0 || row >= w.in[1] || column < 0 || column >= w.in[2]) continue;
                const uint8_t byte = x[static_cast<size_t>(((n * w.in[1] + row) * w.in[2] + column) * w.channels + c)];
                max = std::max(max, is_signed ? static_cast<int8_t>(byte) : int{byte});
              }
              expected.push_back(static_cast<uint8_t>(max));
            }
      Team team(1 + static_cast<int>(below(2)));
      max_pool_bytes(loops, team, w, is_signed, x.data(), y.data());
      test::expect_same(y, expected);
    }
  });
}

/// A byte that is read with a zero point, and what it stands for.
float dequantized(uint8_t byte, bool is_signed, int32_t zero, float scale) {
  return static_cast<float>((is_signed ? static_cast<int8_t>(byte) : int{byte}) - zero) * scale;
}

TEST(AddBytes, EqualsItsStepsOnAllPairs) {
  std::mt19937 random(11);
  const auto one_in = [&](uint32_t n) { return random() % n == 0; };
  test::for_each_table([&](const Loops& loops) {
    if (loops.numbers == simd::Numbers::exact) return;
    const auto add = loops.add_bytes;
    for (int64_t round = test::some_of(60); round > 0; --round) {
      // Scales in simple ratios: many sums lie halfway between two results.
      const auto scale = [&] {
        const float s = one_in(2) ? static_cast<float>(1 + random() % 12) / static_cast<float>(1 + random() % 12)
                                  : static_cast<float>(random() % 10000 + 1) * 0.00037F;
        return one_in(8) ? s * 0x1p40F : s;
      };
      const bool a_signed = one_in(2), b_signed = one_in(2), y_signed = one_in(2);
      const auto zero = [&](bool is_signed) {
        return static_cast<int32_t>(one_in(2) ? 0 : random() % 256) - (is_signed && !one_in(2) ? 128 : 0);
      };
      const auto byte_zero = [&](bool is_signed) {
        return std::clamp(zero(is_signed), is_signed ? -128 : 0, is_signed ? 127 : 255);
      };
      const int32_t za = byte_zero(a_signed), zb = byte_zero(b_signed), zy = byte_zero(y_signed);
      const float sa = scale(), sb = scale(), sy = scale();
      const float infinity = std::numeric_limits<float>::infinity();
      const float min = one_in(2) ? -infinity : 0, max = one_in(2) ? infinity : 6;
      std::vector<uint8_t> a, b, expected;
      for (int i = 0; i < 256; ++i)
        for (int j = 0; j < 256; ++j) a.push_back(static_cast<uint8_t>(i)), b.push_back(static_cast<uint8_t>(j));
      a.resize(a.size() - random() % 70);
      for (size_t i = 0; i < a.size(); ++i) {
        const float sum = dequantized(a[i], a_signed, za, sa) + dequantized(b[i], b_signed, zb, sb);
        const double q = std::nearbyint(std::min(std::max(sum, min), max) / sy) + zy;
        const double low = y_signed ? -128 : 0;
        expected.push_back(static_cast<uint8_t>(static_cast<int>(std::clamp(q, low, low + 255))));
      }
      const auto operand = [](const uint8_t* p, bool is_signed, int32_t z, float s) {
        return simd::ByteOperand{p, static_cast<uint8_t>(is_signed ? 0x80 : 0), z + (is_signed ? 128 : 0), s};
      };
      std::vector<uint8_t> y(a.size());
      simd::AddBytes m;
      m.a = operand(a.data(), a_signed, za, sa), m.b = operand(b.data(), b_signed, zb, sb);
      m.to = operand(nullptr, y_signed, zy, sy);
      m.min = min, m.max = max, m.y = y.data(), m.n = a.size();
      add(m);
      ASSERT_TRUE(y == expected) << "scales " << sa << ", " << sb << ", " << sy << "; zeros " << za << ", " << zb
                                 << ", " << zy;
    }
  });
}

}  // namespace
}  // namespace nnex::kernels
