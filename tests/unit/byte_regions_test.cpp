// Regions between dequantize_linear and quantize_linear, against what their nodes say.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "graph_run.h"
#include "node_run.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using test::Dice;
using test::GraphRun;
using test::run_graph;

void expect_same_codes(const Tensor& found, const Tensor& wanted) {
  ASSERT_EQ(found.dtype(), wanted.dtype());
  ASSERT_EQ(found.shape(), wanted.shape());
  for (int64_t i = 0; i < wanted.count(); ++i) ASSERT_EQ(int_at(found, i), int_at(wanted, i)) << "element " << i;
}

// A function of one code has 256 values: each is what the nodes make of it, and so are tensors longer than a block.
TEST(ByteRegions, FunctionsOfOneCodeAreTheirNodes) {
  Dice dice(1);
  for (const char* type : {"u8", "i8"})
    for (const char* to : {"u8", "i8"})
      for (const char* steps :
           {"s = sigmoid(x); y = mul(x, s);", "y = hard_sigmoid(x);", "y = tanh(x);", "y = gelu(x);", "y = abs(x);"}) {
        const std::string text = "graph g(q: " + std::string(type) +
                                 "[5,1000]) -> (c) { x = dequantize_linear(q, f32[](0.05), " + type + "[](7)); " +
                                 steps + " c = quantize_linear(y, f32[](0.03), " + to + "[](20)); }";
        SCOPED_TRACE(text);
        const Tensor q = dice.bytes(type[0] == 'u' ? DType::u8 : DType::i8, Shape{5, 1000});
        const GraphRun fused = run_graph(text, {q}, true), plain = run_graph(text, {q}, false);
        EXPECT_EQ(fused.kernels("fused"), "chain_i8 ");
        expect_same_codes(fused.y, plain.y);
        expect_same_codes(run_graph(text, {q}, true, 2).y, plain.y);
      }
}

// sums of (a - a_zero)(b - b_zero), times one factor, ties to even, within the codes.
TEST(ByteRegions, ProductsOfTwoSidesThatARunMakes) {
  Dice dice(2);
  for (int i = 0; i < 40; ++i) {
    const int64_t heads = dice.roll(1, 5), m = dice.roll(1, 40), k = dice.roll(1, 70), n = dice.roll(1, 40);
    const bool turned = i % 2 == 0, a_signed = i % 3 == 0, b_signed = i % 5 < 2;
    const auto type = [](bool is_signed) { return std::string(is_signed ? "i8" : "u8"); };
    const auto shape = [](std::initializer_list<int64_t> extents) { return Shape(extents).text(); };
    const Shape b_shape = turned ? Shape{heads, n, k} : Shape{heads, k, n};
    const std::string text = "graph g(p: " + type(a_signed) + shape({heads, m, k}) + ", q: " + type(b_signed) +
                             b_shape.text() + ") -> (c) { a = dequantize_linear(p, f32[](0.02), " + type(a_signed) +
                             "[](3)); b = dequantize_linear(q, f32[](0.01), " + type(b_signed) + "[](5)); " +
                             (turned ? "t = transpose(b, axes = [0, 2, 1]); y = matmul(a, t);" : "y = matmul(a, b);") +
                             " c = quantize_linear(y, f32[](0.06), u8[](100)); }";
    SCOPED_TRACE(text);
    const Tensor p = dice.bytes(a_signed ? DType::i8 : DType::u8, Shape{heads, m, k});
    const Tensor q = dice.bytes(b_signed ? DType::i8 : DType::u8, b_shape);
    Tensor wanted = Tensor::make(DType::u8, Shape{heads, m, n}).value();
    const auto factor = static_cast<float>(double{0.02F} * double{0.01F} / double{0.06F});
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t r = 0; r < m; ++r)
        for (int64_t c = 0; c < n; ++c) {
          int64_t sum = 0;
          for (int64_t j = 0; j < k; ++j)
            sum += (int_at(p, (h * m + r) * k + j) - 3) *
                   (int_at(q, turned ? (h * n + c) * k + j : (h * k + j) * n + c) - 5);
          const float code = std::nearbyint(static_cast<float>(sum) * factor) + 100;
          wanted.mutable_as<uint8_t>()[static_cast<size_t>((h * m + r) * n + c)] =
              static_cast<uint8_t>(std::min(255.0F, std::max(0.0F, code)));
        }
    for (int threads : {1, 2}) {
      const GraphRun fused = run_graph(text, {p, q}, true, threads);
      EXPECT_EQ(fused.kernels("fused"), "gemm_i8 ");
      expect_same_codes(fused.y, wanted);
    }
  }
}

}  // namespace
}  // namespace nnex
