// Every kernel of a node against the operator's reference kernel, on small random shapes: the same bytes where the
// kernel only moves or counts, else within the bound written at each.

#include <cstring>
#include <memory>
#include <set>

#include "kernels/kernel.h"
#include "node_run.h"
#include "ops/gather.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "run/compile.h"

namespace nnex {
namespace {

using test::absent;
using test::Bound;
using test::Dice;
using test::expect_same;
using test::NodeCase;
using test::run_node;

// ---- Reductions

TEST(ReduceKernels, Sums) {
  Dice dice(10);
  static constexpr const char* kOps[] = {"sum_reduce", "mean_reduce",       "reduce_prod",   "reduce_l1",
                                         "reduce_l2",  "reduce_sum_square", "reduce_log_sum"};
  for (int i = 0; i < 120; ++i) {
    const std::string op = kOps[static_cast<size_t>(i) % std::size(kOps)];
    const Shape s = dice.shape(dice.roll(0, 5));
    Ints axes;
    for (int64_t a = 0; a < s.rank(); ++a)
      if (dice.roll(0, 1)) axes.push_back(dice.roll(0, 1) ? a : a - s.rank());
    const int64_t n = static_cast<int64_t>(axes.size());
    const Tensor x = op == "reduce_prod"      ? dice.floats(s, 0.9F, 1.1F)
                     : op == "reduce_log_sum" ? dice.floats(s, 0.5F, 2)
                                              : dice.floats(s);
    AttrMap attrs = {{"keepdims", i % 2 == 0}};
    if (i % 3 == 0) attrs.emplace_back("when_empty", std::string("all"));
    // Sums of 6,000 values of size 4: the bound grows with the sum of magnitudes.
    expect_same({op, {x, Tensor::of<int64_t>(Shape{n}, axes)}, attrs, {1}}, "reduce", {1e-4, 1e-3});
  }
  expect_same({"sum_reduce", {dice.floats({2, 3})}}, "reduce", {1e-6, 1e-6});
  expect_same({"sum_reduce", {dice.floats({2, 0})}}, "reference");
  expect_same({"sum_reduce", {dice.ints<int16_t>({2, 3}, -9, 9)}}, "reference");
  expect_same({"mean_reduce", {dice.ints<int32_t>({2, 3}, -9, 9)}}, "reduce");
  for (const Ints& axes : std::vector<Ints>{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    const Tensor wide = dice.ints<int32_t>({3, 20, 37}, INT32_MIN, INT32_MAX);
    const Tensor named = Tensor::of<int64_t>(Shape{static_cast<int64_t>(axes.size())}, axes);
    expect_same({"mean_reduce", {wide, named}, {}, {1}}, "reduce");
  }
}

TEST(ReduceKernels, Extremes) {
  Dice dice(11);
  for (int i = 0; i < 60; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4));
    const int64_t axis = dice.roll(-s.rank(), s.rank() - 1);
    const Tensor x = i % 3 ? dice.wild_floats(s) : dice.floats(s);
    expect_same({i % 2 ? "max_reduce" : "min_reduce", {x, Tensor::of<int64_t>(Shape{1}, {axis})}, {}, {1}}, "reduce");
    AttrMap attrs = {{"axes", Ints{axis}}, {"keepdims", i % 2 == 1}};
    if (i % 4 < 2) attrs.emplace_back("ties", std::string("last"));
    if (i % 5 < 2) attrs.emplace_back("result", DType::i32);
    expect_same({i % 2 ? "argmax_reduce" : "argmin_reduce", {x}, attrs}, "arg_reduce_f32");
  }
  expect_same({"max_reduce", {dice.floats({3})}, {{"initial", 0.5}}}, "reference");
  expect_same({"argmax_reduce", {dice.floats({3, 2, 2})}, {{"axes", Ints{0, 2}}}}, "reference");
}

// ---- Functions of one number: the bounds of kernels/simd/math-inl.h, 3 ulp or so; functions made of them add up.

TEST(MapKernels, OneOperand) {
  Dice dice(20);
  static constexpr const char* kExact[] = {"neg", "abs",   "sign", "sqrt", "rsqrt",    "rcp",
                                           "sqr", "floor", "ceil", "relu", "softsign", "round"};
  for (const char* op : kExact)
    for (int64_t rank = 0; rank < 4; ++rank) expect_same({op, {dice.wild_floats(dice.shape(rank))}}, "map_f32");
  static constexpr const char* kNear[] = {"exp", "log",      "sin",  "cos",  "tanh", "sigmoid",
                                          "erf", "softplus", "mish", "gelu", "silu", "hard_swish"};
  for (const char* op : kNear)
    for (int64_t rank = 0; rank < 4; ++rank)
      expect_same({op, {dice.floats(dice.shape(rank), -9, 9)}}, "map_f32", {3e-6, 1e-7});
  for (const char* op : {"sinh", "cosh"})
    for (float reach : {1e-3F, 9.0F, 91.0F})
      expect_same({op, {dice.floats(dice.shape(2), -reach, reach)}}, "map_f32", {6e-7, 0});
  for (const char* op : {"asinh", "atanh"})
    for (float reach : {1e-3F, 1.0F, 1.2F, 1e4F, 3e38F})
      expect_same({op, {dice.floats(dice.shape(2), -reach, reach)}}, "map_f32", {6e-7, 0});
  for (float reach : {1.001F, 2.0F, 1e4F, 3e38F})
    expect_same({"acosh", {dice.floats(dice.shape(2), 0.99F, reach)}}, "map_f32", {6e-7, 0});
  for (const char* op : {"asin", "acos", "atan"})
    for (float reach : {1.0F, 1.2F, 9.0F})
      expect_same({op, {dice.floats(dice.shape(2), -reach, reach)}}, "map_f32", {3e-7, 1e-7});
}

TEST(MapKernels, Parameters) {
  Dice dice(21);
  const auto x = [&] { return dice.floats(dice.shape(2), -9, 9); };
  const Bound near = {2e-6, 1e-6};
  expect_same({"leaky_relu", {x()}, {{"alpha", 0.3}}}, "map_f32");
  for (double alpha : {1.0, 0.4, -1.5}) {
    expect_same({"silu", {x()}, {{"alpha", alpha}}}, "map_f32", {1e-5, 1e-6});
    expect_same({"elu", {x()}, {{"alpha", alpha}}}, "map_f32", near);
    expect_same({"celu", {x()}, {{"alpha", alpha}}}, "map_f32", near);
    expect_same({"thresholded_relu", {x()}, {{"alpha", alpha}}}, "map_f32");
    expect_same({"affine", {x()}, {{"alpha", alpha}, {"beta", 0.7}}}, "map_f32");
    expect_same({"hard_sigmoid", {x()}, {{"alpha", alpha}, {"beta", 0.4}}}, "map_f32", near);
  }
  expect_same({"celu", {x()}, {{"alpha", 0.0}}}, "map_f32", near);
  expect_same({"selu", {x()}}, "map_f32", near);
  expect_same({"gelu", {x()}, {{"form", std::string("tanh")}}}, "map_f32", near);
  expect_same({"gelu", {x()}, {{"form", std::string("sigmoid")}}}, "map_f32", {1e-5, 1e-6});
  expect_same({"round", {x()}, {{"rounding", std::string("half_up")}}}, "reference");
  expect_same({"thresholded_relu", {x()}, {{"alpha", static_cast<double>(NAN)}}}, "map_f32");
}

TEST(MapKernels, Clamp) {
  Dice dice(22);
  const auto number = [](float v) { return Tensor::scalar(v); };
  for (const char* crossed : {"low", "high"}) {
    const AttrMap attrs = {{"crossed", std::string(crossed)}};
    for (auto [low, high] : {std::pair{-1.0F, 2.0F}, {3.0F, -2.0F}, {NAN, 1.0F}, {0.5F, NAN}, {-HUGE_VALF, 0.0F}})
      expect_same({"clamp", {dice.wild_floats({37}), number(low), number(high)}, attrs, {1, 2}}, "map_f32");
    expect_same({"clamp", {dice.wild_floats({5, 7}), number(0.5F)}, attrs, {1}}, "map_f32");
    expect_same({"clamp", {dice.wild_floats({5, 7}), absent(), Tensor::of<float>({1, 1, 1}, {3})}, attrs, {2}},
                "map_f32");
  }
  expect_same({"clamp", {dice.floats({4}), number(0), number(1)}}, "reference");
  expect_same({"clamp", {dice.floats({4}), dice.floats({4})}, {}, {1}}, "reference");
}

// ---- Functions of more numbers, with broadcast

TEST(MapKernels, TwoOperands) {
  Dice dice(23);
  static constexpr const char* kExact[] = {"add", "sub", "mul", "div", "min", "max", "prelu"};
  for (int i = 0; i < 70; ++i) {
    const Shape s = dice.shape(dice.roll(0, 4));
    const Tensor a = dice.wild_floats(dice.stretched(s)), b = dice.wild_floats(dice.stretched(s));
    expect_same({kExact[static_cast<size_t>(i) % std::size(kExact)], {a, b}}, "map2_f32");
  }
  for (int i = 0; i < 10; ++i) {
    const Shape s = dice.shape(3, 2000);
    expect_same({"pow", {dice.floats(s, 0, 4), dice.floats(dice.stretched(s))}}, "map2_f32", {1e-6, 0});
    expect_same({"swiglu", {dice.floats(s), dice.floats(dice.stretched(s))}, {{"alpha", 1.5}}}, "map2_f32",
                {2e-6, 1e-7});
    std::vector<Tensor> items;
    for (int k = 0; k < 2 + i % 7; ++k) items.push_back(dice.floats(dice.stretched(s)));
    expect_same({"add_n", items}, "map2_f32");
  }
  expect_same({"add_n", std::vector<Tensor>(9, dice.floats({3}))}, "reference");
  expect_same({"add", {dice.floats({0, 3}), dice.floats({3})}}, "map2_f32");
}

TEST(MapKernels, Softmax) {
  Dice dice(24);
  for (int i = 0; i < 20; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4));
    const AttrMap attrs = {{"axes", Ints{dice.roll(-s.rank(), s.rank() - 1)}}, {"to_end", i % 3 == 0}};
    expect_same({"softmax", {dice.floats(s, -9, 9)}, attrs}, "softmax_f32", {5e-6, 1e-7});
    expect_same({"log_softmax", {dice.floats(s, -9, 9)}, attrs}, "softmax_f32", {5e-6, 2e-6});
  }
}

TEST(LossKernels, CrossEntropy) {
  Dice dice(26);
  for (int i = 0; i < 30; ++i) {
    const Shape s = dice.shape(dice.roll(2, 4));
    Ints extents = {s[0]};
    for (int64_t axis = 2; axis < s.rank(); ++axis) extents.push_back(s[axis]);
    const Shape items(extents);
    static constexpr const char* kReductions[] = {"none", "sum", "mean"};
    AttrMap attrs = {{"reduction", std::string(kReductions[i % 3])}};
    if (i % 2) attrs.emplace_back("ignore", int64_t{0});
    const Tensor x = dice.floats(s, -9, 9), target = dice.ints<int64_t>(items, 0, s[1] - 1);
    const Tensor weight = i % 4 ? dice.floats({s[1]}, 0.5F, 2) : absent();
    for (size_t outputs : {1, 2})
      expect_same({"softmax_cross_entropy_loss", {x, target, weight}, attrs, {}, outputs}, "cross_entropy_f32",
                  {5e-6, 5e-6});
  }
}

/// Types that the kernels of whole numbers take.
constexpr DType kWhole[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                            DType::u8, DType::u16, DType::u32, DType::u64};

TEST(WholeKernels, TwoOperands) {
  Dice dice(25);
  static constexpr const char* kOps[] = {"add", "sub",         "mul",        "div",        "min",
                                         "max", "bitwise_and", "bitwise_or", "bitwise_xor"};
  for (int i = 0; i < 30; ++i)
    for (const char* op : kOps)
      for (DType type : kWhole) {
        const Shape s = dice.shape(dice.roll(0, 4)), t = dice.stretched(s);
        expect_same({op, {dice.bytes(type, i % 2 ? s : t), dice.bytes(type, i % 2 ? t : s)}}, "map2_whole");
      }
}

/// Numbers near the ends of a type and around zero, each with each.
TEST(WholeKernels, EdgesOfDivisionAndShifts) {
  for (DType type : kWhole) {
    const int width = bits(type);
    std::vector<int64_t> edges = {0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 65, -1, -2, -7, -64};
    const int64_t top = width == 64 ? INT64_MAX : (int64_t{1} << (width - 1)) - 1;
    for (int64_t e : {top, top - 1, -top, -top - 1}) edges.push_back(e);
    const auto n = static_cast<int64_t>(edges.size());
    Tensor column = Tensor::make(type, Shape{n, 1}).value(), row = Tensor::make(type, Shape{n}).value();
    for (int64_t i = 0; i < n; ++i)
      set_int(column, i, edges[static_cast<size_t>(i)]), set_int(row, i, edges[static_cast<size_t>(i)]);
    for (const char* op : {"div", "add", "sub", "mul", "min", "max"}) expect_same({op, {column, row}}, "map2_whole");
    for (int64_t division : {0, 1})
      expect_same({"mod", {column, row}, {{"division", division ? "floor" : "truncate"}}}, "map2_whole");
    for (const char* direction : {"left", "right"})
      expect_same({"bit_shift", {column, row}, {{"direction", direction}}}, "map2_whole");
    for (const char* op : {"neg", "abs", "sign", "sqr", "relu", "bitwise_not"}) expect_same({op, {row}}, "map_whole");
    const auto limit = [&](int64_t v) {
      Tensor t = Tensor::make(type, Shape{}).value();
      set_int(t, 0, v);
      return t;
    };
    for (const char* crossed : {"low", "high"})
      for (auto [low, high] : {std::pair<int64_t, int64_t>{-3, 7}, {7, 3}, {0, 0}})
        expect_same({"clamp", {row, limit(low), limit(high)}, {{"crossed", crossed}}}, "map_whole");
  }
}

TEST(WholeKernels, LongRowsAndScalars) {
  Dice dice(28);
  for (DType type : kWhole)
    for (const char* op : {"mul", "div"}) {
      expect_same({op, {dice.bytes(type, {3, 1500}), dice.bytes(type, {3, 1})}}, "map2_whole");
      expect_same({op, {dice.bytes(type, {1}), dice.bytes(type, {2000})}}, "map2_whole");
      expect_same({op, {dice.bytes(type, {40, 1100}), dice.bytes(type, {1100})}}, "map2_whole");
    }
}

TEST(WholeKernels, Doubles) {
  Dice dice(29);
  const auto doubles = [&](const Shape& s) {
    const Tensor f = dice.wild_floats(s);
    Tensor t = Tensor::make(DType::f64, s).value();
    for (int64_t i = 0; i < t.count(); ++i) set_real(t, i, real_at(f, i) * 1.1);
    return t;
  };
  for (int i = 0; i < 20; ++i) {
    const Shape s = dice.shape(dice.roll(0, 4)), t = dice.stretched(s);
    for (const char* op : {"add", "sub", "mul", "div", "min", "max"})
      expect_same({op, {doubles(s), doubles(t)}}, "map2_whole");
    for (const char* op : {"neg", "abs", "sign", "sqr", "relu"}) expect_same({op, {doubles(s)}}, "map_whole");
  }
  expect_same({"max", {doubles({9}), doubles({9})}, {{"nans", "compare"}}}, "reference");
}

TEST(ChoiceKernels, Comparisons) {
  Dice dice(26);
  static constexpr const char* kOps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (int i = 0; i < 60; ++i) {
    const Shape s = dice.shape(dice.roll(0, 4)), t = dice.stretched(s);
    const std::string op = kOps[static_cast<size_t>(i) % std::size(kOps)];
    const AttrMap attrs = i % 2 ? AttrMap{{"result", DType::u8}} : AttrMap{};
    expect_same({op, {dice.wild_floats(s), dice.wild_floats(t)}, attrs}, "compare");
    expect_same({op, {dice.ints<int32_t>(t, -3, 3), dice.ints<int32_t>(s, -3, 3)}, attrs}, "compare");
    expect_same({op, {dice.ints<int64_t>(t, -3, 3), dice.ints<int64_t>(t, -3, 3)}, attrs}, "compare");
  }
  expect_same({"gt", {dice.floats({3}), dice.floats({3})}, {{"result", DType::i32}}}, "reference");
}

TEST(ChoiceKernels, Truth) {
  Dice dice(27);
  static constexpr const char* kOps[] = {"and", "or", "xor"};
  for (int i = 0; i < 30; ++i) {
    const Shape s = dice.shape(dice.roll(0, 4)), t = dice.stretched(s);
    const std::string op = kOps[static_cast<size_t>(i) % std::size(kOps)];
    expect_same({op, {dice.ints<uint8_t>(s, 0, 2), dice.ints<uint8_t>(t, 0, 1)}}, "logic");
    expect_same({op, {dice.ints<uint8_t>(t, 0, 1).reinterpreted(DType::boolean), dice.ints<uint8_t>(s, 0, 1)}},
                "logic");
    expect_same({"not", {dice.ints<uint8_t>(s, 0, 2).reinterpreted(DType::boolean)}}, "logic");
  }
  expect_same({"not", {dice.ints<int64_t>({5}, 0, 1)}}, "reference");
}

TEST(ChoiceKernels, Select) {
  Dice dice(28);
  static constexpr DType kTypes[] = {DType::i8, DType::boolean, DType::f16, DType::i32, DType::i64, DType::u16};
  for (int i = 0; i < 60; ++i) {
    const Shape s = dice.shape(dice.roll(0, 4));
    const DType type = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
    expect_same({"select",
                 {dice.ints<uint8_t>(dice.stretched(s), 0, 2).reinterpreted(DType::boolean),
                  dice.bytes(type, dice.stretched(s)), dice.bytes(type, dice.stretched(s))}},
                "select");
  }
  expect_same({"select", {dice.ints<int64_t>({2}, 0, 1), dice.floats({2}), dice.floats({2})}}, "reference");
}

// ---- Types

TEST(CastKernels, EveryPair) {
  Dice dice(30);
  static constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,    DType::i64,
                                     DType::i32, DType::u8,  DType::i8,  DType::boolean, DType::u16};
  // Pairs without a loop: halves and doubles among the others.
  const auto half = [](DType t) { return t == DType::f16 || t == DType::bf16; };
  const auto known = [&](DType a, DType b) {
    if (a == b) return true;
    if (a == DType::u16 || b == DType::u16) return false;
    const bool large = a == DType::i64 || a == DType::i32;  // float32 rounds these, then bfloat16 again
    if (half(b) && !half(a) && a != DType::f64) return b == DType::f16 || !large;
    if (half(a) || half(b)) return a == DType::f32 || b == DType::f32;
    if (a == DType::f64) return b == DType::f32 || b == DType::i64 || b == DType::i32;
    return b != DType::f64 || a == DType::f32 || a == DType::i64 || a == DType::i32;
  };
  for (DType from : kTypes)
    for (DType to : kTypes) {
      const Shape s = dice.shape(2);
      const Tensor x = from == DType::f32 ? dice.wild_floats(s) : dice.bytes(from, s);
      SCOPED_TRACE(std::string(name(to)));
      const bool through_f32 = half(from) && !half(to) && known(DType::f32, to);  // from it: rounded twice
      expect_same({"cast", {x}, {{"to", to}}}, known(from, to) ? "cast" : through_f32 ? "widened" : "reference");
    }
  const AttrMap down = {{"to", DType::i32}, {"rounding", std::string("floor")}};
  expect_same({"cast", {dice.floats({9})}, down}, "reference");
}

TEST(CastKernels, Quantize) {
  Dice dice(31);
  for (int i = 0; i < 60; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4));
    const int64_t axis = dice.roll(-s.rank(), s.rank() - 1), channels = s[axis < 0 ? axis + s.rank() : axis];
    const DType type = i % 2 ? DType::u8 : DType::i8;
    const Shape one_each = i % 3 ? Shape{channels} : i % 4 ? Shape{} : Shape{1};
    Tensor scale = dice.floats(one_each, 0.01F, 2), zero = dice.bytes(type, one_each);
    AttrMap attrs = {{"axis", axis}};
    const Tensor x = i % 5 ? dice.floats(s, -200, 200) : dice.wild_floats(s);
    expect_same({"quantize_linear", {x, scale, zero}, attrs, {1, 2}}, "quantize_f32");
    expect_same({"dequantize_linear", {dice.bytes(type, s), scale, zero}, attrs}, "dequantize_f32");
    expect_same({"dequantize_linear", {dice.bytes(type, s), scale}, attrs}, "dequantize_f32");
    attrs.emplace_back("result", type);
    expect_same({"quantize_linear", {x, scale}, attrs}, "quantize_f32");
    expect_same({"dynamic_quantize_linear", {x}, {}, {}, 3}, "dynamic_quantize_f32");
  }
  for (int i = 0; i < 40; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4));
    const int64_t axis = dice.roll(0, s.rank() - 1);
    const Shape one_each = i % 3 ? Shape{s[axis]} : Shape{};
    const auto whole = [&](const Shape& shape) {
      return i % 2 ? dice.ints<uint16_t>(shape, 0, 65535) : dice.ints<int16_t>(shape, -32768, 32767);
    };
    const Tensor scale = dice.floats(one_each, 0.001F, 2), zero = whole(one_each);
    const Tensor x = i % 5 ? dice.floats(s, -60000, 60000) : dice.wild_floats(s);
    const AttrMap attrs = {{"axis", axis}};
    expect_same({"quantize_linear", {x, scale, zero}, attrs, {1, 2}}, "quantize_f32");
    expect_same({"dequantize_linear", {whole(s), scale, zero}, attrs}, "dequantize_f32");
    expect_same({"dequantize_linear", {whole(s), scale}, attrs}, "dequantize_f32");
  }
  const AttrMap blocks = {{"block_size", int64_t{2}}, {"axis", int64_t{1}}};
  expect_same({"quantize_linear", {dice.floats({2, 4}), dice.floats({2, 2}, 1, 2)}, blocks}, "reference");
  expect_same({"dequantize_linear", {dice.ints<int32_t>({4}, -9, 9), dice.floats({}, 1, 2)}}, "reference");
}

// ---- Indices

/// The same content one byte off any alignment.
Tensor shifted(const Tensor& t) {
  auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(t.bytes()) + 1);
  if (t.bytes() > 0) std::memcpy(memory->data() + 1, t.data(), static_cast<size_t>(t.bytes()));
  return Tensor::borrow(t.dtype(), t.shape(), memory->data() + 1, memory);
}

/// Columns of one element, and runs of others.
TEST(MoveKernels, JoinedAndParted) {
  Dice dice(57);
  for (const int64_t rows : {5, 64, 700})
    for (const int64_t columns : {2, 3, 4, 7, 9})
      for (const bool one : {true, false}) {
        NodeCase join = {"concat", {}, {{"axis", int64_t{1}}}};
        Ints sizes;
        for (int64_t i = 0; i < columns; ++i) {
          sizes.push_back(one ? 1 : 1 + i % 3);
          join.inputs.push_back(dice.floats({rows, sizes.back()}));
        }
        expect_same(join, "move");
        const auto whole = run_node(join);
        ASSERT_TRUE(whole.ok());
        const Tensor parts = Tensor::of<int64_t>({columns}, sizes);
        expect_same({"split", {whole->out[0], parts}, {{"axis", int64_t{1}}}, {1}, sizes.size()}, "move");
      }
}

TEST(GatherKernels, RowsAndElements) {
  Dice dice(40);
  static constexpr DType kTypes[] = {DType::f32, DType::i64, DType::f16, DType::u8, DType::c128};
  for (int i = 0; i < 60; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4), 2000);
    const int64_t axis = dice.roll(-s.rank(), s.rank() - 1), place = axis < 0 ? axis + s.rank() : axis;
    const int64_t n = s[place];
    const DType type = kTypes[static_cast<size_t>(i) % std::size(kTypes)];
    const Tensor x = dice.bytes(type, s);
    AttrMap attrs = {{"axis", axis}};
    if (i % 3 == 0) attrs.emplace_back("outside", std::string("clamp"));
    if (i % 4 == 0) attrs.emplace_back("from_end", false);
    const int64_t low = i % 3 == 0 ? -n - 3 : i % 4 == 0 ? 0 : -n, high = i % 3 == 0 ? n + 3 : n - 1;
    const Shape where = dice.shape(dice.roll(0, 2), 20);
    expect_same({"gather", {x, dice.ints<int64_t>(where, low, high)}, attrs}, "gather");
    expect_same({"gather", {shifted(x), dice.ints<int32_t>(where, low, high)}, attrs, {0}}, "gather");
    Shape index = s;
    index.set(place, dice.roll(1, 6));
    const std::string_view elements = type == DType::c128 ? "reference" : "gather_elements";
    expect_same({"gather_elements", {x, dice.ints<int64_t>(index, low, high)}, attrs}, elements);
    expect_same({"gather_elements", {shifted(x), dice.ints<int32_t>(index, low, high)}, attrs, {0}}, elements);
  }
}

TEST(GatherKernels, FaultsInTheReferencesWords) {
  Dice dice(41);
  const Tensor x = dice.floats({4, 3});
  for (int64_t bad : {4, -5, 1000}) {
    const Tensor index = Tensor::of<int64_t>({3}, {1, bad, 99});
    expect_same({"gather", {x, index}}, "gather");
    expect_same({"gather", {x, index}, {{"axis", int64_t{1}}, {"from_end", false}}}, "gather");
    expect_same({"gather_elements", {x, Tensor::of<int64_t>({1, 3}, {1, bad, 99})}}, "gather_elements");
  }
  const Tensor none = dice.floats({0, 3});
  expect_same({"gather", {none, Tensor::of<int64_t>({1}, {0})}, {{"outside", std::string("clamp")}}}, "gather");
  expect_same({"gather", {x, Tensor::of<uint32_t>({1}, {2})}}, "reference");
}

TEST(GatherKernels, OneHot) {
  Dice dice(42);
  static constexpr DType kTypes[] = {DType::f32, DType::i64, DType::f16, DType::boolean};
  for (int i = 0; i < 20; ++i) {
    const Shape s = dice.shape(dice.roll(0, 3), 300);
    const int64_t depth = dice.roll(1, 9);
    const AttrMap attrs = {{"axis", dice.roll(-s.rank() - 1, s.rank())}};
    const Tensor values = dice.bytes(kTypes[static_cast<size_t>(i) % std::size(kTypes)], {2});
    expect_same({"one_hot", {dice.ints<int64_t>(s, -12, 12), Tensor::scalar(depth), values}, attrs, {1}}, "one_hot");
    expect_same({"one_hot", {dice.ints<int32_t>(s, -12, 12), Tensor::scalar(depth), values}, attrs, {1, 2}}, "one_hot");
  }
}

// ---- All of them

/// Two threads give the bytes of one, on work large enough to be split.
TEST(MoveKernels, PadWithAConstant) {
  Dice dice(64);
  for (const Shape& x : {Shape{3, 5, 40}, Shape{7, 1}, Shape{1}, Shape{2, 3, 4, 70}, Shape{4, 300, 150}})
    for (DType type : {DType::boolean, DType::f16, DType::f32, DType::i64}) {
      const int64_t rank = x.rank();
      std::vector<int64_t> amounts;
      for (int64_t i = 0; i < 2 * rank; ++i) amounts.push_back(dice.roll(0, 1) * dice.roll(0, 40 / rank));
      const Tensor padding = Tensor::of<int64_t>(Shape{2 * rank}, amounts), value = dice.bytes(type, Shape{});
      expect_same({"pad", {dice.bytes(type, x), padding}, {}, {1}}, "move");
      const NodeCase with_value = {"pad", {dice.bytes(type, x), padding, value}, {}, {1}};
      expect_same(with_value, "move");
      const auto alone = run_node(with_value), shared = run_node(with_value, 2);
      ASSERT_TRUE(alone.ok() && shared.ok());
      EXPECT_EQ(alone->out[0].shape(), shared->out[0].shape());
      EXPECT_EQ(std::memcmp(alone->out[0].data(), shared->out[0].data(), static_cast<size_t>(shared->out[0].bytes())),
                0);
    }
}

TEST(NodeKernels, ThreadsDoNotMatter) {
  Dice dice(50);
  const Tensor x = dice.floats({3, 70, 41, 37}), c = dice.floats({70}, 0.5F, 2), last = dice.floats({37});
  const Tensor axes = Tensor::of<int64_t>({2}, {0, 2});
  const NodeCase cases[] = {
      {"layer_normalization", {x, last, last}},
      {"instance_normalization", {x, c, c}},
      {"batch_normalization", {x, c, c, c, c}},
      {"batch_normalization", {dice.floats({9000, 70}), c, c, c, c}},
      {"local_response_normalization", {x}, {{"size", Ints{1, 5}}}},
      {"l2_normalization", {x}, {{"axes", Ints{1}}}},
      {"sum_reduce", {x}},
      {"reduce_l2", {x, axes}, {}, {1}},
      {"argmax_reduce", {x}, {{"axes", Ints{1}}}},
      {"exp", {x}},
      {"mul", {x, last}},
      {"gt", {x, last}},
      {"cast", {x}, {{"to", DType::f16}}},
      {"quantize_linear", {x, c}},
      {"gather", {x, dice.ints<int64_t>({200}, 0, 69)}, {{"axis", int64_t{1}}}},
  };
  for (const NodeCase& one : cases) {
    SCOPED_TRACE(one.op);
    auto alone = run_node(one, 1), together = run_node(one, 2);
    ASSERT_TRUE(alone.ok() && together.ok());
    EXPECT_NE(alone->kernel, "reference");
    const Tensor &a = alone->out[0], &b = together->out[0];
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0);
  }
}

/// What was computed while planning is there in every run.
TEST(NodeKernels, RunAgain) {
  Dice dice(51);
  const Tensor table = dice.floats({4, 3});
  ir::Graph graph;
  ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, dims_of(table.shape())));
  Builder b(graph, kMain);
  ValueId index = b("add", {b.ints({1}), b.ints({2})});
  graph.set_results(kMain, {b("gather", {x, index}), b("gather", {b.constant(table), index})});
  LoadOptions options;
  options.optimize = false;
  auto model = compile(std::move(graph), options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session session = model->session();
  for (int i = 0; i < 3; ++i) {
    auto out = session.run(std::vector<Value>{Value(table)});
    ASSERT_TRUE(out.ok()) << out.error().text();
    for (const Value& y : *out) EXPECT_EQ(y.tensor()->as<float>()[2], table.as<float>()[11]);
  }
}

}  // namespace
}  // namespace nnex
