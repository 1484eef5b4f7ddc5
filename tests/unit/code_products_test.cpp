// Products whose right side is constant codes: the bytes of the product with what dequantize_linear or
// dequantize_codebook makes of them.

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/product/codes.h"
#include "kernels/product/gemm.h"
#include "nnex/elements.h"
#include "node_run.h"
#include "ops/cast.h"
#include "ops/fused.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "passes/pipeline.h"
#include "simd_test.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

namespace simd = kernels::simd;

using kernels::CodeColumns;
using kernels::CodeShape;
using test::Dice;

enum class Scales : uint8_t { one, column, block };
enum class Zeros : uint8_t { none, one, all, codebook };

/// A matrix of codes [k, n], or [n, k] where transposed, and what it stands for.
struct Weights {
  Tensor codes, scale, zero;
  Tensor codebook;
  DequantizeAttrs attrs;
  bool transposed = false, has_zero = false, has_codebook = false;
  std::vector<float> floats;  ///< [k, n]

  Weights(Dice& dice, DType type, int64_t k, int64_t n, bool turned, Scales scales, int64_t block, Zeros zeros)
      : transposed(turned),
        has_zero(zeros == Zeros::one || zeros == Zeros::all),
        has_codebook(zeros == Zeros::codebook) {
    codes = dice.bytes(type, turned ? Shape{n, k} : Shape{k, n});
    const int64_t blocks = (k + block - 1) / block;
    Shape shape;
    attrs.axis = turned ? 0 : 1;
    if (scales == Scales::column) shape = {n};
    if (scales == Scales::block) {
      shape = turned ? Shape{n, blocks} : Shape{blocks, n};
      attrs.axis = 1 - attrs.axis, attrs.block_size = block;
    }
    scale = dice.floats(shape, 0.001F, 0.1F);
    if (has_codebook) codebook = dice.floats({16});
    if (has_zero) zero = dice.bytes(type, zeros == Zeros::one ? Shape{} : shape);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t b = i / block;
        const int64_t s = scales == Scales::one      ? 0
                          : scales == Scales::column ? j
                          : turned                   ? j * blocks + b
                                                     : b * n + j;
        const int64_t z = has_zero ? int_at(zero, zero.count() == 1 ? 0 : s) : 0;
        const int64_t code = int_at(codes, turned ? j * k + i : i * n + j);
        const float number =
            has_codebook ? codebook.as<float>()[static_cast<size_t>(code)] : static_cast<float>(code - z);
        floats.push_back(number * scale.as<float>()[static_cast<size_t>(s)]);
      }
  }
};

void expect_same_product(const simd::Loops& table, Team& team, const Weights& w, int64_t m, int64_t k, int64_t n) {
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (w.transposed ? " transposed" : ""));
  const auto size = [](int64_t count) { return static_cast<size_t>(count); };
  const std::vector<float> a = test::uniform_floats(size(m * k), 2, 3), bias = test::uniform_floats(size(n), 2, 4);
  std::vector<float> expected(size(m * n)), found(size(m * n), 7.0F);
  kernels::Gemm p{.m = m, .n = n, .k = k, .a = a.data(), .a_row_stride = k, .c = expected.data(), .c_row_stride = n};
  p.end.bias = bias.data();
  p.end.activation.kind = kernels::UnaryKind::sigmoid;
  std::vector<float> b(size(kernels::packed_floats(table, k, n)) + 16);
  kernels::pack_b(table, team, reinterpret_cast<const std::byte*>(w.floats.data()), k, n, n, 1, b.data());
  p.b = b.data();
  kernels::gemm(table, team, p);

  const Tensor* const zero = w.has_zero ? &w.zero : nullptr;
  auto shape = CodeShape::of(w.codes.dtype(), w.codes.shape(), w.scale.shape(), zero ? &zero->shape() : nullptr,
                             w.attrs.axis, w.attrs.block_size, w.transposed);
  ASSERT_TRUE(shape);
  shape->codebook = w.has_codebook;
  const CodeColumns unpacked(table, *shape, zero, nullptr);
  Tensor memory = Tensor::make(DType::u8, Shape{unpacked.bytes()}).value();
  unpacked.pack(team, w.codes, w.scale, w.has_codebook ? &w.codebook : zero, memory.mutable_data());
  const CodeColumns columns(table, *shape, zero, memory.data());
  std::vector<float> room(size(kernels::unpacked_floats(usable_threads())));
  p.b = nullptr, p.codes = &columns, p.unpacked = room.data(), p.c = found.data();
  kernels::gemm(table, team, p);
  test::expect_same(found, expected);
}

constexpr DType kTypes[] = {DType::i4, DType::u4, DType::i8, DType::u8};

/// A matrix of halves [k, n], or [n, k] where transposed, and as floats [k, n].
struct Halves {
  Tensor narrow, wide;
  Halves(Dice& dice, DType type, int64_t k, int64_t n, bool transposed) {
    narrow = convert(dice.floats(transposed ? Shape{n, k} : Shape{k, n}), type).value();
    wide = Tensor::make(DType::f32, Shape{k, n}).value();
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        wide.mutable_as<float>()[static_cast<size_t>(i * n + j)] =
            static_cast<float>(real_at(narrow, transposed ? j * k + i : i * n + j));
  }
};

TEST(CodeProducts, HalvesAreTheBytesOfFloats) {
  Dice dice(7);
  Team one(1), two(2);
  const auto size = [](int64_t count) { return static_cast<size_t>(count); };
  for (DType type : {DType::f16, DType::bf16})
    for (bool transposed : {false, true})
      for (const auto& size_of : {std::pair<int64_t, int64_t>{1, 1}, {133, 37}, {301, 131}, {1030, 260}}) {
        const int64_t k = size_of.first, n = size_of.second;
        SCOPED_TRACE(testing::Message() << name(type) << " " << k << "x" << n << (transposed ? " transposed" : ""));
        const Halves w(dice, type, k, n, transposed);
        const auto shape = CodeShape::of_halves(type, w.narrow.shape(), transposed);
        ASSERT_TRUE(shape);
        test::for_each_table([&](const simd::Loops& table) {
          Team& team = k % 2 ? one : two;
          std::vector<float> b(size(kernels::packed_floats(table, k, n)) + 16),
              room(size(kernels::unpacked_floats(usable_threads())));
          kernels::pack_b(table, team, w.wide.data(), k, n, n, 1, b.data());
          const CodeColumns unpacked(table, *shape, nullptr, nullptr);
          Tensor memory = Tensor::make(DType::u8, Shape{unpacked.bytes()}).value();
          unpacked.pack(team, w.narrow, memory.mutable_data());
          const CodeColumns columns(table, *shape, nullptr, memory.data());
          for (int64_t m : {1, 2, 3, 4, 7, 64}) {
            const std::vector<float> a = test::uniform_floats(size(m * k), 2, 3);
            std::vector<float> expected(size(m * n)), found(size(m * n), 7.0F);
            kernels::Gemm p{.m = m, .n = n, .k = k, .a = a.data(), .a_row_stride = k};
            p.b = b.data(), p.c = expected.data(), p.c_row_stride = n;
            kernels::gemm(table, team, p);
            p.b = nullptr, p.codes = &columns, p.unpacked = room.data(), p.c = found.data();
            kernels::gemm(table, team, p);
            test::expect_same(found, expected);
          }
        });
      }
}

TEST(CodeProducts, BytesOfFloatsForEveryTypeAndGranularity) {
  Dice dice(1);
  Team one(1), two(2);
  const struct {
    Scales scales;
    int64_t block;
  } granularities[] = {{Scales::one, 1},    {Scales::column, 1}, {Scales::block, 16},
                       {Scales::block, 32}, {Scales::block, 64}, {Scales::block, 128}};
  int turn = 0;
  for (DType type : kTypes)
    for (const auto& g : granularities)
      for (Zeros zeros : {Zeros::none, Zeros::one, Zeros::all}) {
        SCOPED_TRACE(testing::Message() << name(type) << " block " << g.block << " zeros " << static_cast<int>(zeros));
        const int64_t k = turn % 2 ? 133 : 301, n = turn % 3 ? 37 : 131;
        const Weights w(dice, type, k, n, turn % 5 < 2, g.scales, g.block, zeros);
        ++turn;
        test::for_each_table([&](const simd::Loops& table) {
          for (int64_t m : {1, 2, 3, 4, 7, 64}) expect_same_product(table, m % 2 ? one : two, w, m, k, n);
        });
      }
}

TEST(CodeProducts, CodebooksAreTheBytesOfFloats) {
  Dice dice(10);
  Team one(1), two(2);
  for (Scales scales : {Scales::one, Scales::column, Scales::block})
    for (bool turned : {false, true})
      for (const auto& size : {std::pair<int64_t, int64_t>{1, 1}, {9, 16}, {133, 37}, {520, 70}}) {
        const int64_t k = size.first, n = size.second;
        const Weights w(dice, DType::u4, k, n, turned, scales, 64, Zeros::codebook);
        test::for_each_table([&](const simd::Loops& table) {
          for (int64_t m : {1, 2, 3, 4, 7, 64}) expect_same_product(table, m % 2 ? one : two, w, m, k, n);
        });
      }
}

TEST(CodeProducts, FewRowsAndColumns) {
  Dice dice(2);
  Team two(2);
  for (DType type : kTypes)
    for (int64_t k : {1, 3, 7, 8, 9, 31, 520, 1030})
      for (int64_t n : {1, 5, 16, 33}) {
        const Weights w(dice, type, k, n, k % 2 == 0, k > 16 ? Scales::block : Scales::column, 16, Zeros::all);
        test::for_each_table([&](const simd::Loops& table) {
          for (int64_t m : {1, 5, 20}) expect_same_product(table, two, w, m, k, n);
        });
      }
}

TEST(CodeProducts, ShapesThatNoLoopReads) {
  const auto of = [](Shape codes, Shape scale, int64_t axis, int64_t block, DType type = DType::i4) {
    return CodeShape::of(type, codes, scale, nullptr, axis, block, false).has_value();
  };
  EXPECT_TRUE(of({64, 8}, {8}, 1, 0));
  EXPECT_TRUE(of({64, 8}, {4, 8}, 0, 16));
  EXPECT_TRUE(of({64, 8}, {4, 8}, -2, 16));
  EXPECT_TRUE(of({64, 8}, {1, 8}, 0, 0));
  EXPECT_FALSE(of({64, 8}, {64}, 0, 0));       // a scale for each of what is summed
  EXPECT_FALSE(of({64, 32}, {64, 2}, 1, 16));  // blocks along columns
  EXPECT_FALSE(of({64, 8}, {16, 8}, 0, 4));    // shorter than a word of codes
  EXPECT_FALSE(of({2, 64, 8}, {2, 4, 8}, 1, 16));
  EXPECT_FALSE(of({64, 8}, {8}, 1, 0, DType::i16));
}

// ---- Networks

struct Net {
  ir::Graph g;
  Builder b{g, kMain};

  ValueId input(Dims dims) { return g.add_param(kMain, "x", Type::tensor(DType::f32, std::move(dims))); }
  ValueId decoded(const Weights& w) {
    std::vector<ValueId> in = {b.constant(Tensor(w.codes)), b.constant(Tensor(w.scale))};
    if (w.has_codebook) {
      in.push_back(b.constant(Tensor(w.codebook)));
      return b("dequantize_codebook", std::move(in), CodebookAttrs{w.attrs.axis, w.attrs.block_size});
    }
    if (w.has_zero) in.push_back(b.constant(Tensor(w.zero)));
    return b("dequantize_linear", std::move(in), w.attrs);
  }
  ValueId floats(const Weights& w, int64_t k, int64_t n) {
    Tensor t = Tensor::of(Shape{k, n}, w.floats);
    if (!w.transposed) return b.constant(std::move(t));
    Tensor turned = Tensor::make(DType::f32, Shape{n, k}).value();
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        turned.mutable_as<float>()[static_cast<size_t>(j * k + i)] = w.floats[static_cast<size_t>(i * n + j)];
    return b.constant(std::move(turned));
  }
};

struct Answer {
  std::string bytes;
  std::vector<std::string> kernels;
};

Answer run(const ir::Graph& graph, const Tensor& x, int threads = 1) {
  auto model = compile(ir::Graph(graph));
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  SessionOptions how;
  how.threads = threads;
  Session session = model->session(how);
  session.profile(true);
  const Value fed(x);
  auto out = session.run(std::span<const Value>(&fed, 1));
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  Answer a;
  for (const NodeTime& n : session.nodes()) a.kernels.push_back(n.kernel);
  const Tensor& y = *(*out)[0].tensor();
  a.bytes.assign(reinterpret_cast<const char*>(y.data()), static_cast<size_t>(y.bytes()));
  return a;
}

constexpr int64_t kK = 520, kN = 136;  // more weights than are kept as floats

/// What follows the product is one step with it, and the bytes are those of the product of floats.
void expect_one_step(DType type, Zeros zeros, const std::string& kernel) {
  Dice dice(3);
  for (int form = 0; form < 6; ++form) {
    SCOPED_TRACE(testing::Message() << name(type) << " form " << form);
    const bool turned = form % 2 == 1;
    const Weights w(dice, type, kK, kN, turned, Scales::block, 32, zeros);
    const Tensor row = dice.floats({kN});
    const auto made = [&](bool as_codes) {
      Net n;
      const ValueId x = n.input(form == 0 ? Dims{2, 3, kK} : Dims{6, kK});
      const ValueId weights = as_codes ? n.decoded(w) : n.floats(w, kK, kN);
      LinearAttrs linear;
      linear.transpose_b = turned;
      if (form == 4) linear.alpha = 0.5;
      MatmulAttrs matmul;
      matmul.transpose_b = turned;
      ValueId y = form < 3 ? n.b("matmul", {x, weights}, matmul)
                           : n.b("linear", {x, weights, n.b.constant(Tensor(row))}, linear);
      if (form < 2) y = n.b("add", {y, n.b.constant(Tensor(row))});
      if (form != 5) y = n.b("gelu", {y});
      n.g.set_results(kMain, {y});
      return n.g;
    };
    const Tensor x = dice.floats(form == 0 ? Shape{2, 3, kK} : Shape{6, kK});
    const Answer codes = run(made(true), x), floats = run(made(false), x);
    EXPECT_EQ(codes.kernels, std::vector<std::string>{kernel});
    EXPECT_EQ(codes.bytes, floats.bytes);
    EXPECT_EQ(run(made(true), x, 2).bytes, floats.bytes);
  }
}

TEST(CodeProducts, EpiloguesStayInTheStep) {
  for (DType type : kTypes) expect_one_step(type, Zeros::all, "gemm_codes");
  expect_one_step(DType::u4, Zeros::codebook, "gemm_codebook");
}

/// The weights of a network of halves stay two bytes in memory.
TEST(CodeProducts, HalvesStayInTheStep) {
  Dice dice(8);
  for (DType type : {DType::f16, DType::bf16})
    for (bool turned : {false, true}) {
      const Halves w(dice, type, kK, kN, turned);
      const auto made = [&](bool narrow) {
        Net n;
        const ValueId x = n.input({6, kK});
        CastAttrs to;
        to.to = DType::f32;
        MatmulAttrs matmul;
        matmul.transpose_b = turned && narrow;
        const ValueId weights =
            narrow ? n.b("cast", {n.b.constant(Tensor(w.narrow))}, to) : n.b.constant(Tensor(w.wide));
        n.g.set_results(kMain, {n.b("gelu", {n.b("matmul", {x, weights}, matmul)})});
        return n.g;
      };
      const Tensor x = dice.floats({6, kK});
      const Answer halves = run(made(true), x), floats = run(made(false), x);
      EXPECT_EQ(halves.kernels, std::vector<std::string>{"gemm_halves"});
      EXPECT_EQ(halves.bytes, floats.bytes);
      EXPECT_EQ(run(made(true), x, 2).bytes, floats.bytes);
    }
}

/// Two products share codes, one of them transposed by a node of its own; each keeps them.
TEST(CodeProducts, SharedAndTransposed) {
  Dice dice(4);
  for (Scales scales : {Scales::one, Scales::column, Scales::block})
    for (int64_t size : {64, 264}) {
      const Weights w(dice, DType::i4, size, size, false, scales, 16, Zeros::all);
      const Weights v(dice, DType::u8, size, size, true, scales, 16, Zeros::all);
      const auto made = [&](bool as_codes) {
        Net n;
        const ValueId x = n.input({3, size});
        const ValueId a = as_codes ? n.decoded(w) : n.floats(w, size, size),
                      b = as_codes ? n.decoded(v) : n.floats(v, size, size);
        const ValueId y = n.b("matmul", {n.b("matmul", {x, a}), a});
        n.g.set_results(kMain, {n.b("matmul", {y, n.b("transpose", {b})})});
        return n.g;
      };
      const Tensor x = dice.floats({3, size});
      const Answer codes = run(made(true), x), floats = run(made(false), x);
      EXPECT_EQ(codes.kernels, (std::vector<std::string>{"gemm_codes", "gemm_codes", "gemm_codes"}));
      EXPECT_EQ(codes.bytes, floats.bytes);
    }
}

/// What another node reads becomes floats, for the product too.
TEST(CodeProducts, WhatOthersReadIsUnpacked) {
  Dice dice(5);
  const Weights w(dice, DType::i4, 64, 64, false, Scales::block, 16, Zeros::none);
  Net n;
  const ValueId x = n.input({64, 64}), weights = n.decoded(w);
  n.g.set_results(kMain, {n.b("add", {n.b("matmul", {x, weights}), weights})});
  const Answer a = run(n.g, dice.floats({64, 64}));
  EXPECT_EQ(a.kernels, std::vector<std::string>{"gemm_f32"});
}

/// Nothing holds the matrix as floats: neither the graph nor what kernels have packed.
void expect_memory_of_codes(DType type, Zeros zeros) {
  constexpr int64_t kSize = 1024, kCodes = kSize * kSize / 2;
  const int64_t scales = kSize * kSize / 32 * 4 + (zeros == Zeros::codebook ? 64 : 0);
  Dice dice(6);
  const Weights w(dice, type, kSize, kSize, false, Scales::block, 32, zeros);
  Net n;
  const ValueId x = n.input({Dim::symbol("N"), kSize});
  n.g.set_results(kMain, {n.b("matmul", {x, n.decoded(w)})});
  auto model = compile(ir::Graph(n.g));
  ASSERT_TRUE(model.ok());
  Session session = model->session();
  for (int64_t m : {1, 40}) {
    const Value fed(dice.floats({m, kSize}));
    ASSERT_TRUE(session.run(std::span<const Value>(&fed, 1)).ok());
    EXPECT_EQ(model->packed_memory(), kCodes + scales);
    EXPECT_LT(session.memory(), kCodes + kernels::unpacked_floats(usable_threads()) * 4);
  }
  int64_t constants = 0;
  const ir::Graph& graph = graph_of(*model);
  for (uint32_t v = 0; v < graph.value_count(); ++v)
    if (const Tensor* t = graph[ValueId{v}].constant.tensor()) constants += t->bytes();
  EXPECT_LE(constants, kCodes + scales);
}

TEST(CodeProducts, MemoryIsThatOfCodes) {
  expect_memory_of_codes(DType::i4, Zeros::none);
  expect_memory_of_codes(DType::u4, Zeros::codebook);
}

TEST(CodeProducts, MemoryIsThatOfHalves) {
  constexpr int64_t kSize = 512;
  Dice dice(9);
  Net n;
  ValueId y = n.g.add_param(kMain, "x", Type::tensor(DType::f16, Dims{Dim::symbol("N"), kSize}));
  for (int i = 0; i < 2; ++i)
    y = n.b("matmul", {y, n.b.constant(Halves(dice, DType::f16, kSize, kSize, false).narrow)});
  n.g.set_results(kMain, {y});
  auto model = compile(ir::Graph(n.g));
  ASSERT_TRUE(model.ok());
  Session session = model->session();
  for (int64_t m : {1, 40}) {
    const Value fed(convert(dice.floats({m, kSize}), DType::f16).value());
    ASSERT_TRUE(session.run(std::span<const Value>(&fed, 1)).ok());
    EXPECT_EQ(model->packed_memory(), 2 * kSize * kSize * 2);
  }
}

/// In a network of halves codes stay codes: the answers are those of float32, rounded where the network says halves.
TEST(CodeProducts, CodesOfHalvesStayCodes) {
  Dice dice(10);
  for (const DType half : {DType::f16, DType::bf16})
    for (const DType type : {DType::i4, DType::u8})
      for (const Zeros zeros : {Zeros::none, Zeros::all, Zeros::codebook})
        for (const int form : {0, 1, 2}) {  // a product by itself, in a network of halves, of floats between casts
          if (zeros == Zeros::codebook && type != DType::i4) continue;
          SCOPED_TRACE(testing::Message()
                       << name(half) << " " << name(type) << " " << static_cast<int>(zeros) << " form " << form);
          Weights w(dice, zeros == Zeros::codebook ? DType::u4 : type, kK, kN, false, Scales::block, 32, zeros);
          const auto narrow = [&](const Tensor& t) { return convert(t, half).value(); };
          const auto wide = [&](const Tensor& t) { return convert(narrow(t), DType::f32).value(); };
          const auto made = [&](bool narrowed) {
            Net n;
            Weights v = w;
            v.scale = narrowed ? narrow(w.scale) : wide(w.scale);
            if (w.has_codebook) v.codebook = narrowed ? narrow(w.codebook) : wide(w.codebook);
            CastAttrs to_f32, to_half;
            to_f32.to = DType::f32, to_half.to = half;
            const ValueId x = n.g.add_param(kMain, "x", Type::tensor(half, Dims{6, kK}));
            const bool casts = !narrowed || form == 2;
            ValueId weights = n.decoded(v);
            if (narrowed && form == 2) weights = n.b("cast", {weights}, to_f32);
            ValueId y = n.b("matmul", {casts ? n.b("cast", {x}, to_f32) : x, weights});
            if (form == 1) y = n.b("gelu", {y});
            n.g.set_results(kMain, {casts ? n.b("cast", {y}, to_half) : y});
            return n.g;
          };
          const Tensor x = narrow(dice.floats({6, kK}));
          const Answer halves = run(made(true), x), floats = run(made(false), x);
          EXPECT_EQ(halves.kernels, floats.kernels);
          EXPECT_EQ(halves.bytes, floats.bytes);
          const std::string kernel = w.has_codebook ? "gemm_codebook" : "gemm_codes";
          EXPECT_EQ(std::count(halves.kernels.begin(), halves.kernels.end(), kernel), 1);
        }
}

}  // namespace
}  // namespace nnex
