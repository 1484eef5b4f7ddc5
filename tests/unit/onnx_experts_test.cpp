// Mixtures of experts of the domain com.microsoft. The numbers are those of their formulas, worked out beside the
// program; bench/differential compares random models of each with ONNX Runtime.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "nnex/load.h"
#include "nnex/model.h"
#include "tensor/convert.h"
#include "tensor_of.h"

namespace nnex::experts_test {
namespace {

using test::f;
using Numbers = std::vector<double>;

Result<Tensor> run(std::string_view held, std::string_view node, const std::vector<Tensor>& inputs,
                   int64_t* packed = nullptr) {
  std::string declared;
  for (size_t i = 0; i < inputs.size(); ++i)
    declared += fmt::format("{}float[{}] {}", i ? ", " : "",
                            fmt::join(inputs[i].shape().extents().begin(), inputs[i].shape().extents().end(), ","),
                            i ? "r" : "x");
  const std::string model = fmt::format(
      "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\ng ({}) => (float[] y) <{}> {{ {} }}",
      declared, held, node);
  NNEX_ASSIGN(const Model m, load_model(ModelSource::memory(model)));
  const std::vector<Value> values(inputs.begin(), inputs.end());
  NNEX_ASSIGN(const std::vector<Value> out, m.session().run(values));
  if (packed) *packed = m.packed_memory();
  return *out[0].tensor();
}

void expect_near(const Result<Tensor>& y, const Shape& shape, const Numbers& wanted) {
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->shape(), shape);
  ASSERT_EQ(static_cast<size_t>(y->count()), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(real_at(*y, static_cast<int64_t>(i)), wanted[i], 1e-5) << "element " << i;
}

std::string wrong(std::string_view held, std::string_view node, const std::vector<Tensor>& inputs) {
  const auto y = run(held, node, inputs);
  return y.ok() ? "no error" : y.error().message();
}

/// Three experts of three numbers between two.
const char* const kW1 = "float[3,3,2] a = {1, 0, 0, 1, 1, 1, -1, 0.5, 2, 1, 0, -1, 0.5, 0.5, 1, -1, 0.25, 2}";
const char* const kW3 = "float[3,3,2] g = {1, 1, 0, 1, 1, 0, 0, -1, 2, 1, -1, 0.5, 0.25, 2, 1, -1, 0.5, 0.5}";
const char* const kB1 = "float[3,3] p = {0, 1, 0, 0.5, 0, 0, 0, 0, -1}";
const char* const kW2 = "float[3,2,3] b = {1, 2, 3, -1, 0, 1, 0, 1, 0, 1, 1, 1, 2, 0, -1, 0.5, 1, 0}";
const char* const kB2 = "float[3,2] q = {0.1, 0.2, 0, 0, -1, 1}";

std::vector<Tensor> tokens(const Shape& shape = {3, 2}) {
  return {f(shape, {1, -2, 0.5, 1, 2, 0.25}), f({3, 3}, {1, 0, 2, 0, 1, -1, 0.5, 0.25, 0})};
}
std::string all() { return fmt::format("{}, {}, {}, {}, {}", kW1, kW3, kB1, kW2, kB2); }

TEST(OnnxExperts, ChosenAndWeighted) {
  expect_near(
      run(all(), "y = com.microsoft.MoE<k: int = 2, normalize_routing_weights: int = 1>(x, r, a, p, b, q)", tokens()),
      {3, 2}, {-0.43522302, 2.70908118, 3.90948409, 2.15037615, 8.24145316, 2.1137293});
  expect_near(run(all(), "y = com.microsoft.MoE<activation_type: string = \"gelu\">(x, r, a, , b, q)", tokens()),
              {3, 2}, {-0.87036982, 2.6072254, 1.30027844, 1.19463285, 3.78242799, 0.1962834});
  expect_near(run(all(), "y = com.microsoft.MoE<k: int = 3, activation_type: string = \"silu\">(x, r, a, p, b, , g)",
                  tokens({1, 3, 2})),
              {1, 3, 2}, {0.81518798, 5.68530714, 3.90799198, 2.22976306, 13.23156343, 6.72045638});
}

/// Two products, or one whose rows are pairs, or halves: the same numbers.
TEST(OnnxExperts, GatesOfThreeForms) {
  const auto gated = [](int fusion, std::string_view held, std::string_view inputs) {
    return run(held,
               fmt::format("y = com.microsoft.MoE<k: int = 2, normalize_routing_weights: int = 1, activation_type: "
                           "string = \"swiglu\", swiglu_fusion: int = {}, swiglu_limit: float = 0.75, "
                           "activation_alpha: float = 1.5, activation_beta: float = 1.0>({})",
                           fusion, inputs),
               tokens());
  };
  const Numbers wanted = {-1.00544062, 1.37061411, 2.12924026, 0.77542078, 3.51384222, 0.48416817};
  expect_near(gated(0, all(), "x, r, a, p, b, q, g"), {3, 2}, wanted);
  const std::string second = fmt::format("{}, {}", kW2, kB2);
  expect_near(gated(1,
                    second + ", float[3,6,2] a = {1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, -1, 0.5, 0, -1, 2, 1, 2, 1, 0, "
                             "-1, -1, 0.5, 0.5, 0.5, 0.25, 2, 1, -1, 1, -1, 0.25, 2, 0.5, 0.5}, "
                             "float[3,6] p = {0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0}",
                    "x, r, a, p, b, q"),
              {3, 2}, wanted);
  expect_near(gated(2,
                    second + ", float[3,6,2] a = {1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, -1, 0.5, 2, 1, 0, -1, 0, -1, 2, "
                             "1, -1, 0.5, 0.5, 0.5, 1, -1, 0.25, 2, 0.25, 2, 1, -1, 0.5, 0.5}, "
                             "float[3,6] p = {0, 1, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0}",
                    "x, r, a, p, b, q"),
              {3, 2}, wanted);
}

/// Weights among the scores that are near the chosen one's: three of them, two, or it alone.
TEST(OnnxExperts, SparseMixer) {
  std::vector<Tensor> given = tokens();
  given[1] = f({3, 3}, {1, 1.01F, 0.995F, 2, -1, 1.97F, 0.5F, 0.495F, 0.5F});
  expect_near(run(all(), "y = com.microsoft.MoE<k: int = 2, use_sparse_mixer: int = 1>(x, r, a, p, b, q)", given),
              {3, 2}, {0.551375, 0.27123236, 3.99324488, 1.98399933, 4.41619612, 1.81064041});
}

/// Older files name the same numbers [experts, inputs, outputs].
TEST(OnnxExperts, OlderOrderOfAxes) {
  std::string held = all();
  held.replace(held.find("[3,3,2] a"), 7, "[3,2,3]");
  held.replace(held.find("[3,2,3] b"), 7, "[3,3,2]");
  expect_near(
      run(held, "y = com.microsoft.MoE<k: int = 2, normalize_routing_weights: int = 1>(x, r, a, p, b, q)", tokens()),
      {3, 2}, {-0.43522302, 2.70908118, 3.90948409, 2.15037615, 8.24145316, 2.1137293});
}

/// Of one channel, w2 relu(w1 x): 6 relu(x) and 12 relu(-x), with zero points 6 relu(2 x) and 12 relu(4 x).
TEST(OnnxExperts, CodesAndTheirZeroPoints) {
  const char* const held =
      "uint8[2,1,1] a = {130, 126}, float[2,1] s = {0.5, 0.5}, uint8[2,1,1] b = {131, 131}, float[2,1] t = {2, 4}, "
      "uint8[2,1] z = {126, 118}, uint8[2,1] o = {128, 128}, float[1,2] v = {0.5, 0.25}";
  const auto mixed = [&](std::string_view inputs, std::string_view more = "") {
    return run(held, fmt::format("y = com.microsoft.QMoE<k: int = 2, expert_weight_bits: int = 8{}>({})", more, inputs),
               {f({1, 1}, {2}), f({1, 2}, {0, 1})});
  };
  constexpr double kFirst = 0.26894142, kSecond = 0.73105858;
  expect_near(mixed("x, r, a, s, , b, t"), {1, 1}, {2 * 6 * kFirst});
  expect_near(mixed("x, r, a, s, , b, t, , , , , z, o"), {1, 1}, {4 * 6 * kFirst + 8 * 12 * kSecond});
  expect_near(mixed("x, r, a, s, , b, t, , , , , z, o, , v"), {1, 1}, {4 * 6 * 0.5 + 8 * 12 * 0.25});
  expect_near(mixed("x, r, a, s, , b, t, , , , , z, o, , v", ", normalize_routing_weights: int = 1"), {1, 1},
              {(4 * 6 * 2.0 + 8 * 12) / 3});
}

/// Experts of 64 x 64 in blocks of 32 stay half a byte a weight: every code 9 by 0.5 is 0.5.
TEST(OnnxExperts, CodesStayInMemory) {
  const auto list = [](int n, std::string_view item) {
    std::string items(item);
    for (int i = 1; i < n; ++i) (items += ", ") += item;
    return items;
  };
  const std::string held =
      fmt::format("uint8[4,64,32] w = {{{}}}, float[4,64,2] s = {{{}}}", list(4 * 64 * 32, "153"), list(512, "0.5"));
  int64_t packed = 0;
  const auto y = run(held, "y = com.microsoft.QMoE<k: int = 2, block_size: int = 32>(x, r, w, s, , w, s)",
                     {f({3, 64}, std::vector<float>(192, 0.125F)), f({3, 4}, std::vector<float>(12, 1))}, &packed);
  expect_near(y, {3, 64}, Numbers(192, 0.125 * 32 * 32));
  EXPECT_EQ(packed, 2 * (4 * 64 * 64 / 2 + 4 * 64 * 2 * 4));
}

TEST(OnnxExperts, SaysWhatItLacks) {
  EXPECT_EQ(wrong(all(), "y = com.microsoft.MoE<k: int = 4>(x, r, a, p, b, q)", tokens()),
            "MoE: k is 4; needed 1 to 3, the number of experts");
  EXPECT_EQ(wrong(all(), "y = com.microsoft.MoE<use_sparse_mixer: int = 1>(x, r, a, p, b, q)", tokens()),
            "MoE: k is 1; needed 2 with use_sparse_mixer");
  EXPECT_EQ(wrong(all(), "y = com.microsoft.MoE<activation_type: string = \"tanh\">(x, r, a, p, b, q)", tokens()),
            "MoE: activation_type is 'tanh'; needed relu, gelu, silu, identity or swiglu");
  EXPECT_EQ(wrong(all(), "y = com.microsoft.MoE<activation_type: string = \"swiglu\">(x, r, a, p, b, q)", tokens()),
            "MoE: swiglu_fusion is 0, and fc3 is absent");
  EXPECT_EQ(wrong(all(), "y = com.microsoft.MoE(x, r, a, p, p, q)", tokens()),
            "MoE with weights of unknown extents, or of other than 3 axes");
  EXPECT_EQ(wrong(all() + ", float[3,2,2] c = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}",
                  "y = com.microsoft.MoE(x, r, a, p, c, q)", tokens()),
            "MoE: found weights [3,3,2]; needed 3 matrices of 2 by 2, 1 an element");
  EXPECT_EQ(wrong(all(), "y = com.microsoft.QMoE<expert_weight_bits: int = 2>(x, r, a, p, , b, q)", tokens()),
            "QMoE with weights of 2 bits");
}

}  // namespace
}  // namespace nnex::experts_test
