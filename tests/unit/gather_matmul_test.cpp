// Rows by matrices that indices choose: constant matrices of floats, codes and halves.

#include <gtest/gtest.h>

#include "nnex/elements.h"
#include "node_run.h"
#include "ops/cast.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "passes/pipeline.h"
#include "simd_test.h"
#include "tensor/convert.h"

namespace nnex::gather_matmul_test {
namespace {

using test::Dice;

constexpr int64_t kCount = 5, kK = 48, kN = 40, kBlock = 16;

/// Matrices as they are stored, and what they stand for: [count, n, k] where transposed, else [count, k, n].
struct Stored {
  DType type = DType::none;
  bool transposed = false;
  Tensor stored, scale, zero, floats;

  Stored(Dice& dice, DType type, bool transposed, bool zeros) : type(type), transposed(transposed) {
    const Shape shape = transposed ? Shape{kCount, kN, kK} : Shape{kCount, kK, kN};
    floats = dice.floats(shape);
    if (type == DType::f32) return;
    if (is_float(type)) {
      stored = convert(floats, type).value();
      floats = convert(stored, DType::f32).value();
      return;
    }
    const int64_t blocks = kK / kBlock;
    const Shape scales = transposed ? Shape{kCount, kN, blocks} : Shape{kCount, blocks, kN};
    stored = dice.bytes(type, shape), scale = dice.floats(scales, 0.001F, 0.1F);
    if (zeros) zero = dice.bytes(type, scales);
    for (int64_t i = 0; i < shape.count(); ++i) {
      const int64_t block = transposed ? i / kBlock : i / (kK * kN) * blocks * kN + i / kN % kK / kBlock * kN + i % kN;
      const int64_t code = int_at(stored, i) - (zeros ? int_at(zero, block) : 0);
      floats.mutable_as<float>()[static_cast<size_t>(i)] =
          static_cast<float>(code) * scale.as<float>()[static_cast<size_t>(block)];
    }
  }

  float at(int64_t matrix, int64_t k, int64_t n) const {
    return floats.as<float>()[static_cast<size_t>(matrix * kK * kN + (transposed ? n * kK + k : k * kN + n))];
  }

  ir::Graph graph(const Shape& x, const Shape& index, bool as_stored) const {
    ir::Graph g;
    Builder b(g, kMain);
    const auto dims = [](const Shape& s) { return Dims(s.begin(), s.end()); };
    const ValueId rows = g.add_param(kMain, "x", Type::tensor(DType::f32, dims(x)));
    const ValueId places = g.add_param(kMain, "index", Type::tensor(DType::i64, dims(index)));
    ValueId w;
    if (!as_stored || type == DType::f32) {
      w = b.constant(Tensor(floats));
    } else if (is_float(type)) {
      CastAttrs wide;
      wide.to = DType::f32;
      w = b("cast", {b.constant(Tensor(stored))}, wide);
    } else {
      DequantizeAttrs a;
      a.axis = transposed ? 2 : 1, a.block_size = kBlock;
      std::vector<ValueId> in = {b.constant(Tensor(stored)), b.constant(Tensor(scale))};
      if (zero.count() > 1) in.push_back(b.constant(Tensor(zero)));
      w = b("dequantize_linear", std::move(in), a);
    }
    g.set_results(kMain, {b("gather_matmul", {rows, w, places}, GatherMatmulAttrs{transposed})});
    return g;
  }
};

struct Answer {
  Tensor y;
  std::string kernel;
};

Result<Answer> run(const ir::Graph& graph, const Tensor& x, const Tensor& index, int threads) {
  NNEX_ASSIGN(const Model model, compile(ir::Graph(graph)));
  SessionOptions how;
  how.threads = threads;
  Session session = model.session(how);
  session.profile(true);
  const std::vector<Value> given = {Value(x), Value(index)};
  NNEX_ASSIGN(const std::vector<Value> out, session.run(given));
  return Answer{*out[0].tensor(), session.nodes().at(0).kernel};
}

std::string bytes_of(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())};
}

/// More rows of one matrix than are copied together, a row for some indices, matrices that nobody chose.
void expect_products(Dice& dice, const Stored& w, const Shape& x_shape, const Shape& index_shape,
                     const std::string& kernel) {
  const Tensor x = dice.floats(x_shape);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < index_shape.count(); ++i) places.push_back(i % 7 == 0 ? -1 : i % 5 == 0 ? 2 : 0);
  const Tensor index = Tensor::of(index_shape, places);
  const auto found = run(w.graph(x_shape, index_shape, true), x, index, 1);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->kernel, kernel);
  const auto floats = run(w.graph(x_shape, index_shape, false), x, index, 2);
  ASSERT_TRUE(floats.ok()) << floats.error().text();
  EXPECT_EQ(floats->kernel, "gather_gemm");
  EXPECT_EQ(bytes_of(found->y), bytes_of(floats->y));
  const int64_t repeat = index_shape.count() * kK / x_shape.count();
  for (int64_t row = 0; row < index_shape.count(); ++row)
    for (int64_t n = 0; n < kN; ++n) {
      const int64_t place = places[static_cast<size_t>(row)];
      double sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum += double{x.as<float>()[static_cast<size_t>(row / repeat * kK + k)]} * w.at(place < 0 ? 4 : place, k, n);
      ASSERT_NEAR(real_at(found->y, row * kN + n), sum, 1e-3) << "row " << row << " column " << n;
    }
}

TEST(GatherMatmul, BytesOfFloatsForEveryForm) {
  Dice dice(1);
  struct Form {
    DType type;
    bool zeros;
    const char* kernel;
  };
  for (const auto& [type, zeros, kernel] : {Form{DType::f32, false, "gather_gemm"},
                                            {DType::i4, false, "gather_gemm_codes"},
                                            {DType::u4, true, "gather_gemm_codes"},
                                            {DType::u8, true, "gather_gemm_codes"},
                                            {DType::i8, false, "gather_gemm_codes"},
                                            {DType::f16, false, "gather_gemm_halves"},
                                            {DType::bf16, false, "gather_gemm_halves"}})
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(testing::Message() << name(type) << (transposed ? " transposed" : ""));
      const Stored w(dice, type, transposed, zeros);
      expect_products(dice, w, {1, 1, kK}, {1, 2}, kernel);
      expect_products(dice, w, {150, 1, kK}, {150, 4}, kernel);
      expect_products(dice, w, {9, 3, kK}, {9, 3}, kernel);
      expect_products(dice, w, {11, kK}, {11}, kernel);
    }
}

TEST(GatherMatmul, FaultsOfIndices) {
  Dice dice(2);
  const Stored w(dice, DType::f32, true, false);
  for (int64_t outside : {kCount, -kCount - 1}) {
    const auto found =
        run(w.graph({2, kK}, {2}, false), dice.floats({2, kK}), Tensor::of<int64_t>(Shape{2}, {0, outside}), 1);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.error().text().find(fmt::format("index {} is outside [-5, 5) of axis 0", outside)),
              std::string::npos)
        << found.error().text();
  }
}

/// Rows that several matrices share along another axis are left to the reference.
TEST(GatherMatmul, OtherBroadcasts) {
  Dice dice(3);
  const Stored w(dice, DType::f32, true, false);
  const Tensor x = dice.floats({1, 3, kK}), index = Tensor::of<int64_t>(Shape{2, 3}, {0, 1, 2, 3, 4, 0});
  const auto found = run(w.graph(x.shape(), index.shape(), false), x, index, 1);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->y.shape(), (Shape{2, 3, kN}));
  double sum = 0;
  for (int64_t k = 0; k < kK; ++k) sum += double{x.as<float>()[static_cast<size_t>(kK + k)]} * w.at(4, k, 7);
  EXPECT_NEAR(real_at(found->y, 4 * kN + 7), sum, 1e-3);
}

}  // namespace
}  // namespace nnex::gather_matmul_test
