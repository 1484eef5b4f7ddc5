// Quantisation, normalisation, random numbers and training steps by their reference kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "op_run.h"
#include "tensor_of.h"

namespace nnex {
namespace {

using test::absent;
using test::f;
using test::i32;
using test::i64;
using test::i8;
using test::run_op;
using test::shown;
using test::u8;

TEST(Quantize, Granularities) {
  EXPECT_EQ(shown(run_op("quantize_linear", {f({5}, {-1, 1, 3, 5, 600}), f({}, {2}), u8({}, {128})})),
            "u8[5] 128 128 130 130 255");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({2, 2}, {2, 4, 6, 8}), f({2}, {1, 2}), i8({2}, {0, -1})})),
            "i8[2,2] 2 1 6 3");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({2, 2}, {2, 4, 6, 8}), f({2}, {1, 2})}, {{"axis", int64_t{0}}})),
            "u8[2,2] 2 4 3 4");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({1, 5}, {2, 4, 6, 8, 10}), f({1, 3}, {1, 2, 5})},
                         {{"block_size", int64_t{2}}, {"result", DType::i16}})),
            "i16[1,5] 2 4 3 4 2");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), f({1, 2}, {1, 2})})),
            "u8[2,4] 1 2 2 2 5 6 4 4");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({2}, {1, 2}), f({}, {1}), u8({}, {0})}, {{"result", DType::i8}})),
            "quantize_linear: result is i8, zero has elements of type u8; needed the same");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({2, 3}, {1, 2, 3, 4, 5, 6}), f({2}, {1, 1})})),
            "quantize_linear: scale [2] for x [2,3]: needed one or 3 scales along axis 1");
  EXPECT_EQ(shown(run_op("quantize_linear", {f({3}, {9, -3, 1e9f}), f({}, {1})}, {{"result", DType::i4}})),
            "i4[3] 7 -3 7");
}

TEST(Quantize, Back) {
  EXPECT_EQ(shown(run_op("dequantize_linear", {u8({3}, {0, 128, 255}), f({}, {0.5f}), u8({}, {128})})),
            "f32[3] -64 0 63.5");
  EXPECT_EQ(shown(run_op("dequantize_linear", {i32({2}, {-3, 5}), f({1}, {2})})), "f32[2] -6 10");
  EXPECT_EQ(shown(run_op("dequantize_linear", {u8({2, 2}, {1, 2, 3, 4}), f({2}, {1, 10})})), "f32[2,2] 1 20 3 40");
  auto dynamic = run_op("dynamic_quantize_linear", {f({4}, {0, 2, -3, 2.5f})}, {}, 3);
  EXPECT_EQ(shown(dynamic, 0), "u8[4] 139 232 0 255");
  EXPECT_EQ(shown(dynamic, 1), "f32[] 0.021568628");
  EXPECT_EQ(shown(dynamic, 2), "u8[] 139");
  EXPECT_EQ(shown(run_op("dynamic_quantize_linear", {f({1}, {0})}, {}, 3), 1), "f32[] 0.003921569");
}

TEST(Quantize, StaysReal) {
  const AttrMap two_bits = {{"bits", int64_t{2}}, {"signed", false}, {"symmetric", false}};
  EXPECT_EQ(shown(run_op("min_max_linear_quantize", {f({4}, {-1, 0.4f, 1.6f, 9}), f({}, {0}), f({}, {3})}, two_bits)),
            "f32[4] 0 0 2 3");
  EXPECT_EQ(shown(run_op("min_max_linear_quantize", {f({1}, {7}), f({}, {3}), f({}, {3})}, two_bits)), "f32[1] 3");
  EXPECT_EQ(shown(run_op("zero_point_linear_quantize", {f({3}, {0.26f, -9, 9}), i32({}, {1}), f({}, {0.5f})},
                         {{"bits", int64_t{3}}, {"signed", true}, {"symmetric", true}})),
            "f32[3] 0.5 -2 1");
  EXPECT_EQ(shown(run_op("logarithmic_quantize", {f({4}, {0, 3, -5, 100}), f({}, {16})}, {{"bits", int64_t{2}}})),
            "f32[4] 0 4 -4 16");
  EXPECT_EQ(shown(run_op("logarithmic_quantize", {f({1}, {0}), f({}, {16})}, {{"bits", int64_t{0}}})),
            "logarithmic_quantize: bits is 0; needed 1 to 32");
}

TEST(Norm, Batch) {
  const Tensor x = f({1, 2, 2}, {1, 3, 10, 30});
  EXPECT_EQ(shown(run_op("batch_normalization", {x, f({2}, {1, 10}), f({2}, {4, 100}), f({2}, {0, 1}), f({2}, {1, 2})},
                         {{"epsilon", 0.0}})),
            "f32[1,2,2] 0 1 1 5");
  auto trained = run_op("batch_normalization", {x, f({2}, {0, 0}), f({2}, {0, 0})},
                        {{"epsilon", 0.0}, {"training", true}, {"momentum", 0.5}}, 3);
  EXPECT_EQ(shown(trained, 0), "f32[1,2,2] -1 1 -1 1");
  EXPECT_EQ(shown(trained, 1), "f32[2] 1 10");
  EXPECT_EQ(shown(trained, 2), "f32[2] 0.5 50");
  EXPECT_EQ(shown(run_op("batch_normalization", {x, f({3}, {1, 1, 1}), f({3}, {1, 1, 1})})),
            "batch_normalization: extent of mean: found 3, needed 2");
}

TEST(Norm, MeanAndDeviation) {
  const Tensor x = f({1, 2, 2}, {1, 3, 10, 30});
  const AttrMap exact = {{"epsilon", 0.0}};
  EXPECT_EQ(shown(run_op("instance_normalization", {x, f({2}, {1, 2}), f({2}, {0, 5})}, exact)), "f32[1,2,2] -1 1 3 7");
  auto layer = run_op("layer_normalization", {x, f({2}, {1, 2})}, exact, 3);
  EXPECT_EQ(shown(layer, 0), "f32[1,2,2] -1 2 -1 2");
  EXPECT_EQ(shown(layer, 1), "f32[1,2,1] 2 20");
  EXPECT_EQ(shown(layer, 2), "f32[1,2,1] 1 0.1");
  EXPECT_EQ(shown(run_op("layer_normalization", {f({2}, {4, 5}), absent(), f({2}, {1, 2})}, {{"axes", Ints{}}})),
            "f32[2] 1 2");
  EXPECT_EQ(shown(run_op("group_normalization", {f({1, 2, 1}, {1, 3}), f({2}, {1, 2}), f({2}, {0, 0})},
                         {{"groups", int64_t{1}}, {"epsilon", 0.0}})),
            "f32[1,2,1] -1 2");
  EXPECT_EQ(shown(run_op("group_normalization", {x, f({2}, {1, 2}), f({2}, {0, 0})}, {{"groups", int64_t{3}}})),
            "group_normalization: x has 2 channels; 3 groups do not divide them");
  EXPECT_EQ(shown(run_op("rms_normalization", {f({2}, {3, 3}), f({2}, {1, 2})}, exact)), "f32[2] 1 2");
  EXPECT_EQ(shown(run_op("mean_variance_normalization", {f({1, 1, 1, 2}, {1, 3})}, exact)), "f32[1,1,1,2] -1 1");
}

TEST(Norm, Windows) {
  EXPECT_EQ(shown(run_op("local_response_normalization", {f({1, 3}, {1, 2, 3})},
                         {{"size", Ints{1, 2}}, {"alpha", 2.0}, {"beta", 1.0}, {"bias", 0.0}})),
            "f32[1,3] 0.2 0.15384616 0.33333334");
  EXPECT_EQ(shown(run_op("local_mean_normalization", {f({1, 3}, {3, 6, 9})}, {{"size", Ints{1, 3}}})),
            "f32[1,3] 0 0 4");
  EXPECT_EQ(shown(run_op("local_variance_normalization", {f({1, 1}, {3})}, {{"size", Ints{1, 1}}, {"epsilon", 6.0}})),
            "f32[1,1] 0.5");
  EXPECT_EQ(shown(run_op("l1_normalization", {f({2, 2}, {1, -3, 0, 0})}, {{"at_zero", std::string("zero")}})),
            "f32[2,2] 0.25 -0.75 0 0");
  EXPECT_EQ(shown(run_op("l2_normalization", {f({2}, {3, 4})})), "f32[2] 0.6 0.8");
  EXPECT_EQ(shown(run_op("l2_normalization", {f({1}, {0})})), "f32[1] nan");
}

TEST(Random, SameKeySameBytes) {
  auto a = run_op("random_uniform", {i64({2}, {100, 10})}, {{"low", 2.0}, {"high", 3.0}});
  auto b = run_op("random_uniform", {i64({2}, {100, 10})}, {{"low", 2.0}, {"high", 3.0}}, 1, true);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(shown(a), shown(b));
  double sum = 0;
  for (float v : (*a)[0].as<float>()) {
    EXPECT_TRUE(v >= 2 && v < 3) << v;
    sum += v;
  }
  EXPECT_NEAR(sum / 1000, 2.5, 0.05);
  auto other = run_op("random_uniform", {i64({2}, {100, 10})}, {{"seed", 7.0}});
  EXPECT_NE(shown(a), shown(other));
  EXPECT_EQ(shown(run_op("random_uniform", {i64({1}, {-1})})), "random_uniform: shape holds -1; needed 0 or more");
}

TEST(Random, Distributions) {
  auto n = run_op("random_normal", {i64({1}, {10000})}, {{"mean", 1.0}, {"scale", 2.0}, {"dtype", DType::f64}});
  ASSERT_TRUE(n.ok());
  double sum = 0, squares = 0;
  for (double v : (*n)[0].as<double>()) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 10000, 1, 0.1);
  EXPECT_NEAR(squares / 10000 - 1, 4, 0.3);
  EXPECT_EQ(shown(run_op("bernoulli", {f({3}, {0, 1, 1})}, {{"dtype", DType::i32}})), "i32[3] 0 1 1");
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(shown(run_op("multinomial", {f({2, 3}, {none, 0, none, none, none, 5})}, {{"samples", int64_t{2}}})),
            "i32[2,2] 1 1 2 2");
}

TEST(Training, Dropout) {
  auto kept = run_op("dropout", {f({2}, {1, 2})}, {}, 2);
  EXPECT_EQ(shown(kept, 0), "f32[2] 1 2");
  EXPECT_EQ(shown(kept, 1), "bool[2] true true");
  const Tensor yes = u8({}, {1}).reinterpreted(DType::boolean);
  auto half = run_op("dropout", {f({1000}, std::vector<float>(1000, 1)), f({}, {0.5f}), yes}, {}, 2);
  ASSERT_TRUE(half.ok());
  int kept_count = 0;
  for (size_t i = 0; i < 1000; ++i) {
    const bool keep = (*half)[1].as<uint8_t>()[i] != 0;
    EXPECT_EQ((*half)[0].as<float>()[i], keep ? 2 : 0);
    kept_count += keep;
  }
  EXPECT_NEAR(kept_count, 500, 80);
  EXPECT_EQ(shown(run_op("dropout", {f({1}, {1}), f({}, {1}), yes})), "f32[1] 0");
}

TEST(Training, Losses) {
  const Tensor x = f({2, 2}, {-1, -2, -3, -4});
  EXPECT_EQ(shown(run_op("negative_log_likelihood_loss", {x, i64({2}, {1, 0})})), "f32[] 2.5");
  EXPECT_EQ(shown(run_op("negative_log_likelihood_loss", {x, i64({2}, {1, 0}), f({2}, {1, 3})})), "f32[] 2.25");
  EXPECT_EQ(shown(run_op("negative_log_likelihood_loss", {x, i64({2}, {1, -5})},
                         {{"reduction", std::string("none")}, {"ignore", int64_t{-5}}})),
            "f32[2] 2 0");
  EXPECT_EQ(shown(run_op("negative_log_likelihood_loss", {x, i64({2}, {1, 2})})),
            "negative_log_likelihood_loss: target 2 is outside [0, 2)");
  auto cross = run_op("softmax_cross_entropy_loss", {f({1, 2, 1}, {0, 0}), i32({1, 1}, {1})}, {}, 2);
  EXPECT_EQ(shown(cross, 0), "f32[] 0.6931472");
  EXPECT_EQ(shown(cross, 1), "f32[1,2,1] -0.6931472 -0.6931472");
}

TEST(Training, Steps) {
  const Tensor rate = f({}, {0.1f}), first = i64({}, {0}), x = f({1}, {1}), g = f({1}, {2}), zero = f({1}, {0});
  auto adagrad = run_op("adagrad", {rate, first, x, g, zero}, {{"epsilon", 0.0}}, 2);
  EXPECT_EQ(shown(adagrad, 0), "f32[1] 0.9");
  EXPECT_EQ(shown(adagrad, 1), "f32[1] 4");
  const AttrMap momentum = {{"alpha", 0.5}, {"beta", 0.1}, {"norm", 0.0}};
  EXPECT_EQ(shown(run_op("momentum", {rate, first, x, g, f({1}, {4})}, momentum, 2), 1), "f32[1] 4");
  EXPECT_EQ(shown(run_op("momentum", {rate, first, x, g, f({1}, {4})}, momentum, 2), 0), "f32[1] 0.6");
  auto adam = run_op("adam", {rate, first, x, g, zero, zero}, {{"alpha", 0.5}, {"beta", 0.75}, {"epsilon", 0.0}}, 3);
  EXPECT_EQ(shown(adam, 0), "f32[1] 0.9");
  EXPECT_EQ(shown(adam, 1), "f32[1] 1");
  EXPECT_EQ(shown(adam, 2), "f32[1] 1");
}

}  // namespace
}  // namespace nnex
