// Fast integer kernels on random shapes, attributes and extreme values: every instruction set against the scalar build,
// byte for byte. A case is one problem on one table of loops that is not the scalar one. NNEX_INT_CASES says how many
// run (500000 takes some minutes); NNEX_INT_SEED where the problems begin.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>

#include "kernels/conv/int8.h"
#include "kernels/integer/chain.h"
#include "kernels/pool/pool.h"
#include "kernels/product/gemm_i8.h"
#include "nnex/tensor.h"
#include "share.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::IntOperand;
using simd::IntStepKind;
using simd::IntType;
using simd::Loops;

constexpr int32_t kLowest = std::numeric_limits<int32_t>::min(), kHighest = std::numeric_limits<int32_t>::max();

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : bits_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int32_t number() {
    constexpr std::array<int32_t, 12> kEdges = {0, 1, -1, 2, 127, -127, -128, 255, 32767, -32768, kHighest, kLowest};
    if (one_in(3)) return kEdges[static_cast<size_t>(below(kEdges.size()))];
    return static_cast<int32_t>(static_cast<uint32_t>(bits_())) >> below(32);
  }
  /// Bytes of one of four kinds: any, extremes alone, mostly one of those, small numbers.
  std::vector<std::byte> bytes(int64_t n) {
    constexpr std::array<uint8_t, 6> kEdges = {0x80, 0x7f, 0xff, 0x00, 0x81, 0x01};
    const int64_t kind = below(4);
    const uint8_t often = kEdges[static_cast<size_t>(below(kEdges.size()))];
    std::vector<std::byte> out(static_cast<size_t>(n));
    for (std::byte& b : out) {
      const uint64_t r = bits_();
      const uint8_t edge = kEdges[r % kEdges.size()];
      b = static_cast<std::byte>(kind == 0   ? r >> 8
                                 : kind == 1 ? edge
                                 : kind == 2 ? (r >> 8 & 7 ? often : edge)
                                             : (r >> 8 & 3) - 1);
    }
    return out;
  }
  std::vector<int32_t> numbers(int64_t n) {
    std::vector<int32_t> out(static_cast<size_t>(n));
    for (int32_t& x : out) x = number();
    return out;
  }

 private:
  std::mt19937_64 bits_;
};

/// 64-byte aligned memory.
struct Aligned {
  explicit Aligned(int64_t bytes) : tensor(Tensor::make(DType::u8, Shape{std::max<int64_t>(bytes, 1)}).value()) {}
  std::byte* data() { return tensor.mutable_data(); }
  Tensor tensor;
};

/// A problem: run() gives the bytes of its answer.
struct Problem {
  virtual ~Problem() = default;
  virtual std::vector<std::byte> run(const Loops& loops, Team& team) const = 0;
  /// Extents, for who looks for what is wrong.
  virtual std::string text() const = 0;
};

/// Steps behind sums, their operands, and how results lie.
struct RandomChain {
  IntSteps steps;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<IntOperand> operands;
  IntType type = IntType::i32;

  RandomChain(Numbers& random, int64_t rows, int64_t columns, const IntRange& from, IntType from_type) {
    constexpr std::array<IntType, 4> kTypes = {IntType::i8, IntType::u8, IntType::i16, IntType::i32};
    const auto any_type = [&] { return kTypes[static_cast<size_t>(random.below(4))]; };
    type = random.one_in(3) ? any_type() : random.one_in(2) ? IntType::i8 : IntType::u8;
    for (int64_t n = random.below(7); n > 0; --n) {
      const int64_t what = random.below(6);
      if (what == 0) {
        const int32_t a = random.number(), b = random.number();
        steps.clamp(std::min(a, b), std::max(a, b));
      } else if (what == 1) {
        steps.clamp(random.one_in(2) ? 0 : -127, random.one_in(2) ? 127 : 32767);
      } else if (what == 2) {
        steps.multiply(random.one_in(2) ? random.number() : static_cast<int32_t>(random.between(-127, 127)));
      } else if (what < 5) {
        steps.shift_right(static_cast<int32_t>(random.between(1, random.one_in(3) ? 32 : 15)));
      } else if (operands.size() < 4) {
        IntOperand o;
        o.type = any_type();
        o.one = random.one_in(3);
        o.row_stride = random.one_in(2) ? 0 : o.one ? 1 : columns + random.below(3);
        const int64_t elements = rows * std::max<int64_t>(o.row_stride, 1) + columns;
        std::vector<std::byte> memory(static_cast<size_t>(elements * 4));
        for (size_t i = 0; i < memory.size(); i += 4) {
          const int32_t value = random.number();
          std::memcpy(memory.data() + i, &value, 4);
        }
        bytes.push_back(std::move(memory));
        steps.combine(static_cast<IntStepKind>(random.between(1, 6)), static_cast<int>(operands.size()),
                      range_of(o.type));
        operands.push_back(o);
      }
    }
    steps.finish(from, from_type, type);
  }

  std::string text() const {
    std::string out = fmt::format("{} steps to type {}, narrow from {}:", steps.steps().size(), static_cast<int>(type),
                                  steps.narrow());
    for (const simd::IntStep& s : steps.steps()) {
      const simd::IntStage& f = s.stage;
      out += s.kind == IntStepKind::stage
                 ? fmt::format(" [{}, {}] * {} >> {} [{}, {}] fixed {}", f.low, f.high, f.factor, f.shift, f.min, f.max,
                               f.fixed)
                 : fmt::format(" kind {} of type {}", static_cast<int>(s.kind),
                               static_cast<int>(operands[static_cast<size_t>(s.operand)].type));
    }
    return out;
  }

  IntChain chain(std::vector<std::byte>& y, int64_t columns) const {
    IntChain c;
    c.steps = steps.steps(), c.narrow = steps.narrow();
    for (size_t i = 0; i < operands.size(); ++i) {
      c.operands[i] = operands[i];
      c.operands[i].p = bytes[i].data();
    }
    c.n_operands = operands.size();
    c.y = y.data(), c.y_type = type, c.y_row_stride = columns;
    return c;
  }
};

/// How the sums of a product or convolution end: as they are, as bytes, or through a chain.
struct RandomEnd {
  enum { sums, to_bytes, chained } what = sums;
  std::vector<int32_t> bias;
  std::vector<float> scale;
  simd::Requantize requantize;
  std::unique_ptr<RandomChain> steps;

  RandomEnd(Numbers& random, int64_t rows, int64_t columns, int64_t depth) {
    what = random.one_in(4) ? sums : random.one_in(3) ? to_bytes : chained;
    const bool wild = random.one_in(4);
    if (random.one_in(2)) {
      bias = random.numbers(columns);
      if (!wild)
        for (int32_t& b : bias) b %= 100'000;
    }
    for (int64_t i = 0; i <= columns; ++i) scale.push_back(0.0001F * static_cast<float>(random.between(1, 60)));
    const bool is_signed = random.one_in(2);
    requantize = {.scale = nullptr,
                  .step = random.one_in(2) ? 1 : 0,
                  .zero = static_cast<int32_t>(random.between(-20, 20)),
                  .low = is_signed ? -128 : 0,
                  .high = is_signed ? 127 : 255};
    const int64_t max = depth * 255 * 255 * 2 + 100'000;
    const IntRange range = wild || max > kHighest ? IntRange{} : IntRange{-max, max};
    if (what == chained) steps = std::make_unique<RandomChain>(random, rows, columns, range, IntType::i32);
  }

  std::string text() const { return what == sums ? "sums" : what == to_bytes ? "bytes" : steps->text(); }
  int64_t width() const { return what == sums ? 4 : what == to_bytes ? 1 : bytes_of(steps->type); }
  IntEpilogue epilogue(std::vector<std::byte>& y, int64_t columns, IntChain& chain) const {
    IntEpilogue end;
    if (!bias.empty()) end.bias = bias.data();
    if (what == sums) {
      end.c = reinterpret_cast<int32_t*>(y.data()), end.c_row_stride = columns;
    } else if (what == to_bytes) {
      end.y = y.data(), end.y_row_stride = columns;
      end.to_bytes = requantize;
      end.to_bytes.scale = scale.data();
    } else {
      chain = steps->chain(y, columns);
      end.chain = &chain;
    }
    return end;
  }
};

struct Convolution final : Problem {
  ConvShape s;
  bool x_signed, w_signed;
  int32_t x_zero = 0;
  std::vector<int32_t> zeros;
  std::vector<std::byte> x, w;
  std::unique_ptr<RandomEnd> end;

  explicit Convolution(Numbers& random) {
    const int64_t kind = random.below(4);  // any, 1x1, depthwise, grouped
    s.batch = random.between(1, 2);
    s.in_channels = random.between(1, random.one_in(3) ? 70 : 20);
    s.out_channels = random.between(1, random.one_in(3) ? 70 : 20);
    if (kind == 2) s.groups = s.in_channels, s.out_channels = s.in_channels;
    if (kind == 3) {
      s.groups = random.between(1, 4);
      s.in_channels = s.groups * random.between(1, 9), s.out_channels = s.groups * random.between(1, 20);
    }
    for (size_t i = 1; i < 3; ++i) {
      s.kernel[i] = kind == 1 ? 1 : random.one_in(2) ? 3 : random.between(1, 5);
      s.stride[i] = random.one_in(2) ? 1 : random.between(1, 3);
      s.dilation[i] = random.one_in(4) ? 2 : 1;
      const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
      s.before[i] = kind == 1 && random.one_in(2) ? 0 : random.below(reach + 1);
      const int64_t after = random.one_in(3) ? random.below(reach + 1) : s.before[i];
      const int64_t min = std::max<int64_t>(1, reach - s.before[i] - after);
      s.in[i] = min + random.below(random.one_in(3) && i == 2 ? 40 : 9);
      s.out[i] = (s.in[i] + s.before[i] + after - reach) / s.stride[i] + 1;
    }
    x_signed = random.one_in(2), w_signed = !random.one_in(4);
    if (random.one_in(3)) x_zero = static_cast<int32_t>(x_signed ? random.between(-128, 127) : random.between(0, 255));
    if (random.one_in(4))
      for (int64_t i = 0; i < s.out_channels; ++i)
        zeros.push_back(static_cast<int32_t>(w_signed ? random.between(-128, 127) : random.between(0, 255)));
    x = random.bytes(s.batch * s.in_pixels() * s.in_channels);
    w = random.bytes(s.out_channels * s.group_inputs() * s.taps());
    end = std::make_unique<RandomEnd>(random, s.batch * s.out_pixels(), s.out_channels, s.group_inputs() * s.taps());
  }

  std::vector<std::byte> run(const Loops& loops, Team& team) const override {
    Aligned packed(conv_i8_filter_bytes(loops, s));
    conv_i8_pack_filter(loops, team, s, {w.data(), w_signed, zeros.empty() ? nullptr : zeros.data(), 1}, packed.data());
    std::vector<std::byte> y(static_cast<size_t>(s.batch * s.out_pixels() * s.out_channels * end->width()) + 8);
    ConvI8 c{.x = x.data(), .x_signed = x_signed, .x_zero = x_zero, .packed = packed.data()};
    IntChain chain;
    c.end = end->epilogue(y, s.out_channels, chain);
    Aligned workspace(conv_i8_workspace(loops, s, end->what != RandomEnd::sums));
    conv_i8(loops, team, s, c, workspace.data());
    return y;
  }
  std::string text() const override {
    return fmt::format("convolution {}x{}x{}x{}, {} by {}x{}, {} groups, to {}", s.batch, s.in[1], s.in[2],
                       s.in_channels, s.out_channels, s.kernel[1], s.kernel[2], s.groups, end->text());
  }
};

struct Product final : Problem {
  int64_t m, n, k;
  bool a_signed, b_signed, a_turned, b_turned;
  int32_t a_zero = 0;
  std::vector<int32_t> zeros;
  std::vector<std::byte> a, b;
  std::unique_ptr<RandomEnd> end;

  explicit Product(Numbers& random) {
    m = random.between(1, random.one_in(3) ? 60 : 9), n = random.between(1, random.one_in(3) ? 120 : 20);
    k = random.between(1, random.one_in(20) ? 5000 : random.one_in(3) ? 300 : 40);
    a_signed = random.one_in(2), b_signed = !random.one_in(4), a_turned = random.one_in(4), b_turned = random.one_in(2);
    if (random.one_in(3)) a_zero = static_cast<int32_t>(a_signed ? random.between(-128, 127) : random.between(0, 255));
    if (random.one_in(4))
      for (int64_t i = 0; i < n; ++i)
        zeros.push_back(static_cast<int32_t>(b_signed ? random.between(-128, 127) : random.between(0, 255)));
    a = random.bytes(m * k), b = random.bytes(k * n);
    end = std::make_unique<RandomEnd>(random, m, n, k);
  }

  std::vector<std::byte> run(const Loops& loops, Team& team) const override {
    Aligned packed(packed_bytes_i8(loops, k, n));
    ByteMatrix right{b.data(), k, n, b_turned ? 1 : n, b_turned ? k : 1, b_signed};
    right.zero = zeros.empty() ? nullptr : zeros.data(), right.zero_stride = 1;
    pack_b_i8(loops, team, right, packed.data());
    std::vector<std::byte> y(static_cast<size_t>(m * n * end->width()) + 8);
    GemmI8 g{.m = m, .n = n, .k = k, .a = a.data(), .a_signed = a_signed, .a_zero = a_zero};
    g.a_row_stride = a_turned ? 1 : k, g.a_col_stride = a_turned ? m : 1;
    g.b = packed.data();
    IntChain chain;
    g.end = end->epilogue(y, n, chain);
    Aligned workspace(gemm_i8_workspace(loops, m, n, k, end->what != RandomEnd::sums));
    gemm_i8(loops, team, g, workspace.data());
    return y;
  }
  std::string text() const override { return fmt::format("product {}x{}x{} to {}", m, n, k, end->text()); }
};

struct ElementWise final : Problem {
  int64_t rows, columns;
  IntOperand x;
  std::vector<std::byte> bytes;
  std::unique_ptr<RandomChain> steps;

  explicit ElementWise(Numbers& random) {
    constexpr std::array<IntType, 4> kTypes = {IntType::i8, IntType::u8, IntType::i16, IntType::i32};
    rows = random.between(1, 20), columns = random.between(1, random.one_in(2) ? 150 : 20);
    x.type = kTypes[static_cast<size_t>(random.below(4))];
    x.row_stride = columns + (random.one_in(2) ? 0 : random.below(4));
    bytes = random.bytes(rows * x.row_stride * 4);
    steps = std::make_unique<RandomChain>(random, rows, columns, range_of(x.type), x.type);
  }

  std::vector<std::byte> run(const Loops& loops, Team& team) const override {
    std::vector<std::byte> y(static_cast<size_t>(rows * columns * bytes_of(steps->type)) + 8);
    IntOperand from = x;
    from.p = bytes.data();
    steps->chain(y, columns).run(loops, team, from, rows, columns);
    return y;
  }
  std::string text() const override {
    return fmt::format("chain on {}x{} of type {}, {}", rows, columns, static_cast<int>(x.type), steps->text());
  }
};

struct Pool final : Problem {
  PoolWindow window;
  bool is_signed;
  std::vector<std::byte> x;

  explicit Pool(Numbers& random) {
    PoolWindow& p = window;
    p.batch = random.between(1, 2), p.channels = random.between(1, 70);
    for (int i = 1; i < 3; ++i) {
      p.size[i] = random.between(1, 4), p.stride[i] = random.between(1, 3), p.dilation[i] = random.between(1, 2);
      p.before[i] = random.below(p.size[i]), p.after[i] = random.below(p.size[i]);
      const int64_t reach = (p.size[i] - 1) * p.dilation[i] + 1;
      p.in[i] = reach + random.below(8);
      p.out[i] = (p.in[i] + p.before[i] + p.after[i] - reach) / p.stride[i] + 1;
    }
    is_signed = random.one_in(2);
    x = random.bytes(p.batch * p.in[1] * p.in[2] * p.channels);
  }

  std::vector<std::byte> run(const Loops& loops, Team& team) const override {
    std::vector<std::byte> y(static_cast<size_t>(window.batch * window.out[1] * window.out[2] * window.channels) + 8);
    max_pool_bytes(loops, team, window, is_signed, reinterpret_cast<const uint8_t*>(x.data()),
                   reinterpret_cast<uint8_t*>(y.data()));
    return y;
  }
  std::string text() const override {
    return fmt::format("pool {}x{}x{}x{}", window.batch, window.in[1], window.in[2], window.channels);
  }
};

std::unique_ptr<Problem> problem(uint64_t seed, int64_t& kind) {
  Numbers random(seed);
  kind = random.below(16);
  if (kind < 8) return kind = 0, std::make_unique<Convolution>(random);
  if (kind < 12) return kind = 1, std::make_unique<Product>(random);
  if (kind < 15) return kind = 2, std::make_unique<ElementWise>(random);
  return kind = 3, std::make_unique<Pool>(random);
}

/// Every instruction set but the scalar one, and those that use less of its machine.
std::vector<test::ByteTable> tables() {
  std::vector<test::ByteTable> out;
  for (simd::Isa isa : test::runnable_isas()) {
    if (isa == simd::Isa::scalar) continue;
    for (const test::ByteTable& t : test::byte_tables(simd::loops(isa))) out.push_back(t);
  }
  return out;
}

int64_t from_environment(const char* name, int64_t otherwise) {
  const char* wish = std::getenv(name);
  return wish ? std::strtoll(wish, nullptr, 10) : otherwise;
}

TEST(IntDifferential, EveryInstructionSetEqualsTheScalarBuild) {
  const int64_t wanted = from_environment("NNEX_INT_CASES", test::some_of(6000));
  ASSERT_GT(wanted, 0) << "NNEX_INT_CASES is no number of cases";
  const auto first = static_cast<uint64_t>(from_environment("NNEX_INT_SEED", 1));
  if (!simd::can_run(simd::Isa::scalar)) GTEST_SKIP() << "this program has no scalar build (Arm, WebAssembly)";
  const std::vector<test::ByteTable> others = tables();
  if (others.empty()) GTEST_SKIP() << "this machine runs the scalar build alone";
  const Loops& scalar = simd::loops(simd::Isa::scalar);
  constexpr std::array<const char*, 4> kKinds = {"convolutions", "products", "chains", "pools"};
  std::array<int64_t, 4> problems = {};
  int64_t done = 0;
  for (uint64_t seed = first; done < wanted; ++seed) {
    int64_t kind = 0;
    const auto p = problem(seed, kind);
    ++problems[static_cast<size_t>(kind)];
    std::vector<std::byte> expected;
    {
      Team alone(1);
      expected = p->run(scalar, alone);
    }
    for (size_t i = 0; i < others.size() && done < wanted; ++i, ++done) {
      Team team(1 + static_cast<int>((seed + i) % 2));
      const std::vector<std::byte> found = p->run(others[i].loops, team);
      const auto at = std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin();
      ASSERT_TRUE(found == expected) << "problem " << seed << ", " << p->text() << ", on "
                                     << simd::name(others[i].loops.isa) << ", " << others[i].name << ": byte " << at
                                     << " of " << found.size();
    }
  }
  RecordProperty("cases", std::to_string(done));
  for (size_t k = 0; k < problems.size(); ++k) RecordProperty(kKinds[k], std::to_string(problems[k]));
}

}  // namespace
}  // namespace nnex::kernels
