// Arithmetic, comparison, casts, reductions and activations by their reference kernels.

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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Row {
  const char* op;
  std::vector<Tensor> in;
  AttrMap attrs;
  const char* expected;
};

void check(const std::vector<Row>& rows) {
  for (const Row& r : rows) {
    SCOPED_TRACE(r.op);
    EXPECT_EQ(shown(run_op(r.op, r.in, r.attrs)), r.expected);
    EXPECT_EQ(shown(run_op(r.op, r.in, r.attrs, 1, true)), r.expected);
  }
}

TEST(Arithmetic, IntegersWrapAndNeverTrap) {
  constexpr int64_t low = std::numeric_limits<int64_t>::min();
  check({
      {"add", {i8({2}, {127, 1}), i8({1}, {1})}, {}, "i8[2] -128 2"},
      {"sub", {u8({2}, {0, 5}), u8({2}, {1, 2})}, {}, "u8[2] 255 3"},
      {"mul", {i32({1}, {1 << 30}), i32({1}, {4})}, {}, "i32[1] 0"},
      {"div", {i64({5}, {7, -7, 7, low, 5}), i64({5}, {2, 2, -2, -1, 0})}, {}, "i64[5] 3 -3 -3 -9223372036854775808 0"},
      {"mod", {i64({6}, {7, -7, 7, -7, low, 5}), i64({6}, {3, 3, -3, -3, -1, 0})}, {}, "i64[6] 1 2 -2 -1 0 0"},
      {"mod",
       {i64({4}, {7, -7, 7, -7}), i64({4}, {3, 3, -3, -3})},
       {{"division", std::string("truncate")}},
       "i64[4] 1 -1 1 -1"},
      {"neg", {i8({2}, {-128, 3})}, {}, "i8[2] -128 -3"},
      {"abs", {i8({2}, {-128, -3})}, {}, "i8[2] -128 3"},
      {"pow", {i64({4}, {2, -1, 3, 2}), i64({4}, {62, -3, -1, 64})}, {}, "i64[4] 4611686018427387904 -1 0 0"},
      {"pow", {i32({2}, {2, 9}), f({2}, {-1, 0.5f})}, {}, "i32[2] 0 3"},
      {"sqr", {i8({1}, {16})}, {}, "i8[1] 0"},
  });
}

TEST(Arithmetic, FloatRules) {
  check({
      {"min", {f({3}, {kNan, 1, 0.0f}), f({3}, {1, kNan, -0.0f})}, {}, "f32[3] nan nan -0"},
      {"max", {f({3}, {kNan, 1, 2}), f({3}, {1, kNan, 3})}, {}, "f32[3] nan nan 3"},
      {"round", {f({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49999997f})}, {}, "f32[6] 0 2 2 -0 -2 0"},
      {"round",
       {f({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49999997f})},
       {{"rounding", std::string("half_up")}},
       "f32[6] 1 2 3 0 -1 0"},
      {"round", {f({3}, {0.5f, -0.5f, 2.4f})}, {{"rounding", std::string("half_away")}}, "f32[3] 1 -1 2"},
      {"mod", {f({4}, {5.3f, -5, 5, 1}), f({4}, {2, 3, -3, 0})}, {}, "f32[4] 1.3000002 1 -1 nan"},
      {"log2", {f({3}, {8, 0.125f, 0})}, {}, "f32[3] 3 -3 -inf"},
      {"sign", {f({4}, {-3, 0, 2, kNan})}, {}, "f32[4] -1 0 1 nan"},
      {"erf", {f({2}, {0, 1})}, {}, "f32[2] 0 0.8427008"},
      {"clamp", {f({4}, {-1, 0.5f, 7, kNan}), f({}, {0}), f({}, {1})}, {}, "f32[4] 0 0.5 1 nan"},
      {"clamp", {f({2}, {-1, 7}), f({}, {kNan}), f({}, {1})}, {}, "f32[2] -1 1"},
      {"clamp", {f({1}, {2}), f({}, {3}), f({}, {1})}, {}, "f32[1] 3"},
      {"clamp", {f({1}, {2}), f({}, {3}), f({}, {1})}, {{"crossed", std::string("high")}}, "f32[1] 1"},
      {"clamp", {f({2}, {2, -5}), absent(), f({}, {1})}, {}, "f32[2] 1 -5"},
      {"affine", {f({2}, {2, -5})}, {{"alpha", 2.0}, {"beta", 1.0}}, "f32[2] 5 -9"},
  });
}

TEST(Arithmetic, Functions) {
  check({
      {"exp", {f({3}, {0, 1, -kInf})}, {}, "f32[3] 1 2.7182817 0"},
      {"log", {f({4}, {1, 0, -1, kInf})}, {}, "f32[4] 0 -inf nan inf"},
      {"rcp", {f({3}, {4, 0, -0.0f})}, {}, "f32[3] 0.25 inf -inf"},
      {"sqrt", {f({3}, {4, 2, -1})}, {}, "f32[3] 2 1.4142135 nan"},
      {"rsqrt", {f({1}, {4})}, {}, "f32[1] 0.5"},
      {"rsqr", {f({1}, {4})}, {}, "f32[1] 0.0625"},
      {"sin", {f({2}, {0, 1})}, {}, "f32[2] 0 0.84147096"},
      {"cos", {f({2}, {0, 1})}, {}, "f32[2] 1 0.5403023"},
      {"tan", {f({1}, {1})}, {}, "f32[1] 1.5574077"},
      {"asin", {f({2}, {1, 2})}, {}, "f32[2] 1.5707964 nan"},
      {"acos", {f({2}, {1, 2})}, {}, "f32[2] 0 nan"},
      {"atan", {f({1}, {1})}, {}, "f32[1] 0.7853982"},
      {"sinh", {f({1}, {1})}, {}, "f32[1] 1.1752012"},
      {"cosh", {f({1}, {1})}, {}, "f32[1] 1.5430807"},
      {"tanh", {f({2}, {1, 100})}, {}, "f32[2] 0.7615942 1"},
      {"asinh", {f({1}, {1})}, {}, "f32[1] 0.8813736"},
      {"acosh", {f({2}, {1, 0})}, {}, "f32[2] 0 nan"},
      {"atanh", {f({2}, {0.5f, 1})}, {}, "f32[2] 0.54930615 inf"},
      {"floor", {f({2}, {1.5f, -1.5f})}, {}, "f32[2] 1 -2"},
      {"ceil", {f({2}, {1.5f, -1.5f})}, {}, "f32[2] 2 -1"},
      {"copy", {i8({2}, {1, -1})}, {}, "i8[2] 1 -1"},
      {"div", {f({3}, {1, -1, 0}), f({}, {0})}, {}, "f32[3] inf -inf nan"},
      {"pow", {f({3}, {2, -8, 0}), i32({3}, {3, 3, 0})}, {}, "f32[3] 8 -512 1"},
  });
}

TEST(Arithmetic, Broadcast) {
  check({
      {"add", {f({2, 1}, {1, 2}), f({3}, {10, 20, 30})}, {}, "f32[2,3] 11 21 31 12 22 32"},
      {"sub", {f({2, 2, 1}, {1, 2, 3, 4}), f({2, 1, 2}, {1, 2, 3, 4})}, {}, "f32[2,2,2] 0 -1 1 0 0 -1 1 0"},
      {"mul", {f({}, {3}), f({}, {4})}, {}, "f32[] 12"},
      {"add", {f({0, 3}, {}), f({1, 3}, {1, 2, 3})}, {}, "f32[0,3]"},
      {"add_n", {f({2}, {1, 2}), f({}, {10}), f({2, 1}, {100, 200})}, {}, "f32[2,2] 111 112 211 212"},
      {"add_n", {}, {}, "f32[] 0"},
      {"add",
       {f({2}, {1, 2}), f({3}, {1, 2, 3})},
       {},
       "add: shapes [2] and [3] do not broadcast: 2 meets 3 at axis 1 from the last"},
  });
}

TEST(Compare, Answers) {
  check({
      {"eq", {f({3}, {1, kNan, 2}), f({3}, {1, kNan, 3})}, {}, "bool[3] true false false"},
      {"ne", {f({3}, {1, kNan, 2}), f({3}, {1, kNan, 3})}, {}, "bool[3] false true true"},
      {"le", {f({3}, {1, kNan, 4}), f({3}, {1, 1, 3})}, {}, "bool[3] true false false"},
      {"gt", {i32({2}, {3, 1}), i32({}, {2})}, {{"result", DType::i32}}, "i32[2] 1 0"},
      {"lt", {u8({2}, {200, 1}), u8({}, {100})}, {{"result", DType::u8}}, "u8[2] 0 1"},
      {"and", {u8({3}, {0, 7, 2}), u8({3}, {1, 9, 0})}, {}, "bool[3] false true false"},
      {"xor", {i64({3}, {0, 7, 2}), i64({3}, {1, 9, 0})}, {}, "bool[3] true false true"},
      {"not", {u8({2}, {0, 7})}, {{"result", DType::u8}}, "u8[2] 1 0"},
      {"is_nan", {f({3}, {kNan, 1, kInf})}, {}, "bool[3] true false false"},
      {"is_inf", {f({3}, {-kInf, 1, kInf})}, {{"negative", false}}, "bool[3] false false true"},
      {"is_inf", {i32({1}, {1})}, {}, "bool[1] false"},
      {"select",
       {u8({2, 1}, {0, 2}).reinterpreted(DType::boolean), f({2}, {1, 2}), f({}, {9})},
       {},
       "f32[2,2] 9 9 1 2"},
      {"bit_shift", {u8({3}, {16, 4, 1}), u8({3}, {1, 2, 9})}, {{"direction", std::string("right")}}, "u8[3] 8 1 0"},
      {"bit_shift", {u8({3}, {16, 4, 1}), u8({3}, {4, 2, 9})}, {{"direction", std::string("left")}}, "u8[3] 0 16 0"},
      {"bit_shift", {i8({2}, {-8, 8}), i8({2}, {1, 100})}, {{"direction", std::string("right")}}, "i8[2] -4 0"},
      {"bitwise_not", {u8({1}, {5})}, {}, "u8[1] 250"},
      {"bitwise_xor", {i8({1}, {-1}), i8({1}, {1})}, {}, "i8[1] -2"},
  });
  EXPECT_EQ(
      shown(run_op("eq", {Tensor::of<std::string>(Shape{2}, {"a", "b"}), Tensor::of<std::string>(Shape{}, {"b"})})),
      "bool[2] false true");
}

TEST(Cast, Rules) {
  check({
      {"cast", {f({5}, {1.9f, -1.9f, 300, kNan, -kInf})}, {{"to", DType::i8}}, "i8[5] 1 -1 127 0 -128"},
      {"cast", {f({2}, {1.9f, -1.9f})}, {{"to", DType::i64}, {"rounding", std::string("floor")}}, "i64[2] 1 -2"},
      {"cast", {i32({2}, {300, -1})}, {{"to", DType::u8}}, "u8[2] 44 255"},
      {"cast", {f({3}, {0, kNan, 0.25f})}, {{"to", DType::boolean}}, "bool[3] false true true"},
      {"bit_cast", {f({1}, {1})}, {{"to", DType::i32}}, "i32[1] 1065353216"},
      {"bit_cast", {f({1}, {1})}, {{"to", DType::i64}}, "bit_cast: x has elements of 32 bits; i64 has 64"},
  });
}

TEST(Reduce, Sums) {
  const Tensor x = f({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  check({
      {"sum_reduce", {x, i64({1}, {1})}, {}, "f32[2,1,3] 5 7 9 17 19 21"},
      {"sum_reduce", {x, i64({2}, {0, -1})}, {{"keepdims", false}}, "f32[2] 30 48"},
      {"sum_reduce", {x}, {{"keepdims", false}}, "f32[] 78"},
      {"sum_reduce", {x, i64({1}, {1})}, {{"to_end", true}}, "f32[2,1,1] 21 57"},
      {"sum_reduce", {i32({2}, {3, 4}), i64({0}, {})}, {}, "i32[2] 3 4"},
      {"sum_reduce", {i32({2}, {3, 4}), i64({0}, {})}, {{"when_empty", std::string("all")}}, "i32[1] 7"},
      {"sum_reduce", {f({2, 0}, {}), i64({1}, {1})}, {}, "f32[2,1] 0 0"},
      {"mean_reduce", {i32({3}, {-1, -2, -2}), i64({1}, {0})}, {}, "i32[1] -1"},
      {"mean_reduce", {f({0}, {})}, {}, "f32[1] nan"},
      {"max_reduce", {i8({0}, {})}, {}, "i8[1] -128"},
      {"min_reduce", {u8({0}, {})}, {}, "u8[1] 255"},
      {"max_reduce", {f({3}, {1, kNan, 3})}, {}, "f32[1] nan"},
      {"max_reduce", {i32({2}, {-5, -3})}, {{"initial", 0.0}}, "i32[1] 0"},
      {"reduce_prod", {i64({2, 2}, {1, 2, 3, 4}), i64({1}, {0})}, {}, "i64[1,2] 3 8"},
      {"reduce_l1", {i32({3}, {-1, 2, -3})}, {}, "i32[1] 6"},
      {"reduce_l2", {f({2}, {3, 4})}, {}, "f32[1] 5"},
      {"reduce_l2", {i32({2}, {3, 3})}, {}, "i32[1] 4"},
      {"reduce_log_sum", {f({0}, {})}, {}, "f32[1] -inf"},
      {"reduce_log_sum_exp", {f({2}, {1000, 1000})}, {}, "f32[1] 1000.6932"},
      {"reduce_log_sum_exp", {f({2}, {-kInf, -kInf})}, {}, "f32[1] -inf"},
      {"all_reduce", {u8({2, 2}, {1, 0, 3, 4}), i64({1}, {1})}, {}, "bool[2,1] false true"},
      {"any_reduce", {u8({2, 2}, {0, 0, 3, 0}), i64({1}, {1})}, {{"result", DType::u8}}, "u8[2,1] 0 1"},
      {"sum_reduce", {x, i64({1}, {3})}, {}, "sum_reduce: axes names axis 3; x has 3 axes"},
      {"sum_reduce", {x, i64({2}, {1, -2})}, {}, "sum_reduce: axes names axis 1 twice"},
  });
  auto moments = run_op("moments", {f({2, 2}, {1, 3, 5, 5}), i64({1}, {1})}, {}, 2);
  EXPECT_EQ(shown(moments, 0), "f32[2,1] 2 5");
  EXPECT_EQ(shown(moments, 1), "f32[2,1] 1 0");
}

TEST(Reduce, LongSumsStayExact) {
  std::vector<float> tenths(100003, 0.1f);
  auto r = run_op("sum_reduce", {f({100003}, tenths)});
  ASSERT_TRUE(r.ok());
  EXPECT_NEAR((*r)[0].as<float>()[0], 10000.3f, 0.01f);
}

TEST(Reduce, Positions) {
  check({
      {"argmax_reduce", {f({2, 3}, {1, 3, 3, kNan, 9, kNan})}, {{"axes", Ints{1}}}, "i64[2,1] 1 0"},
      {"argmax_reduce",
       {f({1, 3}, {1, 3, 3})},
       {{"axes", Ints{1}}, {"ties", std::string("last")}, {"keepdims", false}, {"result", DType::i32}},
       "i32[1] 2"},
      {"argmin_reduce", {i8({2, 2}, {4, 3, 2, 1})}, {{"axes", Ints{0, 1}}}, "i64[1,1] 3"},
      {"cum_sum", {f({3}, {1, 2, 3}), i64({}, {0})}, {}, "f32[3] 1 3 6"},
      {"cum_sum", {f({3}, {1, 2, 3}), i64({1}, {-1})}, {{"exclusive", true}, {"reverse", true}}, "f32[3] 5 3 0"},
      {"cum_sum", {f({2, 2}, {1, 2, 3, 4}), i64({}, {0})}, {}, "f32[2,2] 1 2 4 6"},
      {"cum_prod", {i32({3}, {2, 3, 4}), i64({}, {0})}, {{"exclusive", true}}, "i32[3] 1 2 6"},
  });
  EXPECT_EQ(shown(run_op("argmax_reduce", {f({2, 0}, {})}, {{"axes", Ints{1}}})),
            "argmax_reduce: found axes of 0 elements; needed at least 1");
  EXPECT_EQ(shown(run_op("argmin_reduce", {f({0, 2}, {})}, {{"axes", Ints{1}}})), "i64[0,1]");
  EXPECT_EQ(shown(run_op("cum_sum", {f({1}, {1}), i64({}, {2})})), "cum_sum: axis 2 is outside [-1, 0] for 1 axes");
}

TEST(Activation, Values) {
  check({
      {"relu", {f({3}, {-1, 2, kNan})}, {}, "f32[3] 0 2 nan"},
      {"relu", {i8({2}, {-1, 2})}, {}, "i8[2] 0 2"},
      {"sigmoid", {f({3}, {0, -1000, 1000})}, {}, "f32[3] 0.5 0 1"},
      {"softplus", {f({3}, {0, 1000, -1000})}, {}, "f32[3] 0.6931472 1000 0"},
      {"silu", {f({1}, {1})}, {}, "f32[1] 0.7310586"},
      {"gelu", {f({2}, {1, -1})}, {}, "f32[2] 0.8413448 -0.15865526"},
      {"gelu", {f({1}, {1})}, {{"form", std::string("tanh")}}, "f32[1] 0.841192"},
      {"elu", {f({2}, {-1, 1})}, {{"alpha", 2.0}}, "f32[2] -1.2642411 1"},
      {"selu", {f({1}, {-1})}, {}, "f32[1] -1.1113307"},
      {"celu", {f({2}, {-1, 2})}, {{"alpha", 2.0}}, "f32[2] -0.78693867 2"},
      {"prelu", {f({2, 2}, {-1, 2, -3, 4}), f({2, 1}, {0.5f, 2})}, {}, "f32[2,2] -0.5 2 -6 4"},
      {"leaky_relu", {f({2}, {-100, 2})}, {}, "f32[2] -1 2"},
      {"thresholded_relu", {f({3}, {0.5f, 1, 1.5f})}, {}, "f32[3] 0 0 1.5"},
      {"shrink", {f({3}, {-2, 0, 2})}, {{"lambda", 1.5}, {"bias", 1.5}}, "f32[3] -0.5 0 0.5"},
      {"hard_sigmoid", {f({3}, {-9, 1, 9})}, {}, "f32[3] 0 0.7 1"},
      {"hard_swish", {f({3}, {-4, 1, 4})}, {}, "f32[3] -0 0.6666667 4"},
      {"mish", {f({1}, {1})}, {}, "f32[1] 0.8650984"},
      {"softsign", {f({1}, {-1})}, {}, "f32[1] -0.5"},
      {"swiglu", {f({1}, {1}), f({1}, {2})}, {}, "f32[1] 1.4621172"},
      {"softmax", {f({1, 3}, {1000, 1000, 1000})}, {{"axes", Ints{1}}}, "f32[1,3] 0.33333334 0.33333334 0.33333334"},
      {"softmax", {f({2, 2}, {0, 0, 0, 0})}, {{"axes", Ints{0}}, {"to_end", true}}, "f32[2,2] 0.25 0.25 0.25 0.25"},
      {"softmax", {f({2}, {-kInf, -kInf})}, {}, "f32[2] nan nan"},
      {"softmax", {f({3}, {0, 0, 0})}, {{"axes", Ints{1}}}, "softmax: axes names axis 1; x has 1 axis"},
      {"log_softmax", {f({2}, {0, 0})}, {}, "f32[2] -0.6931472 -0.6931472"},
      {"hardmax", {f({2, 3}, {1, 3, 3, kNan, 1, kNan})}, {}, "f32[2,3] 0 1 0 1 0 0"},
  });
}

TEST(Activation, HalfIsRoundedOnce) {
  auto half = run_op("cast", {f({2}, {1, -1})}, {{"to", DType::f16}});
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(shown(run_op("sigmoid", {(*half)[0]})), "f16[2] 0.73095703 0.26904297");
}

TEST(Formulas, PassThroughArithmetic) {
  ir::Graph graph;
  const Dim n = Dim::symbol("N");
  ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::i64, Dims{2}));
  ValueId two = graph.add_constant(i64({1}, {2}));
  NodeId id = graph.add_node(kMain, op("mul"), {x, two}, 1);
  NodeId sum = graph.add_node(kMain, op("sum_reduce"), {graph[id].out[0]}, 1);
  NodeId same = graph.add_node(kMain, op("eq"), {graph[id].out[0], graph[id].out[0]}, 1);
  Inference inference(graph);
  Tensor content = *Tensor::make(kDimType, Shape{2});
  content.mutable_as<Dim>()[0] = n;
  content.mutable_as<Dim>()[1] = 5;
  inference.bind_content(x, content);
  ASSERT_TRUE(inference.node(id).ok());
  ASSERT_TRUE(inference.node(sum).ok());
  ASSERT_TRUE(inference.node(same).ok());
  const Tensor* product = inference.content(graph[id].out[0]);
  ASSERT_TRUE(product != nullptr);
  EXPECT_EQ(product->as<Dim>()[0].text(), "2*N");
  EXPECT_EQ(product->as<Dim>()[1].text(), "10");
  const Tensor* total = inference.content(graph[sum].out[0]);
  ASSERT_TRUE(total != nullptr);
  EXPECT_EQ(total->as<Dim>()[0].text(), "2*N+10");
  const Tensor* equal = inference.content(graph[same].out[0]);
  ASSERT_TRUE(equal != nullptr);
  EXPECT_EQ(equal->as<uint8_t>()[0], 1);
}

}  // namespace
}  // namespace nnex
