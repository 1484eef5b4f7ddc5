// Operators that go element by element, and reductions.
#include "recipes.h"

namespace nnex::differential {
namespace {

void unary(Maker& m) {
  m.finish({m.add(m.reals(m.floating(), m.shape(0, 4), m.dice.one_of({Fill::normal, Fill::special})))});
}

/// alpha, beta: the parameters that many activations have.
void activation(Maker& m) {
  m.maybe(0.6, "alpha", float(m.dice.in(-8, 12)) / 4);
  if (m.made.op == "HardSigmoid") m.maybe(0.5, "beta", float(m.dice.in(-4, 4)) / 4);
  if (m.made.op == "Selu") m.maybe(0.5, "gamma", float(m.dice.in(1, 8)) / 4);
  unary(m);
}

void celu(Maker& m) {
  m.maybe(0.7, "alpha", m.dice.one_of({0.5f, 1.0f, 2.0f, -1.0f}));
  m.finish({m.add(m.reals(DType::f32, m.shape(0, 4), Fill::special))});
}

void shrink(Maker& m) {
  m.maybe(0.6, "lambd", float(m.dice.in(-4, 8)) / 4);
  m.maybe(0.6, "bias", float(m.dice.in(-4, 8)) / 4);
  const DType type = m.number();
  m.finish({m.add(m.any(type, m.shape(0, 3)))});
}

void gelu(Maker& m) {
  m.maybe(0.6, "approximate", m.dice.word({"none", "tanh"}));
  m.finish({m.add(m.reals(m.floating(), m.shape(0, 4), m.dice.one_of({Fill::normal, Fill::special})))});
}

void swish(Maker& m) {
  m.maybe(0.6, "alpha", float(m.dice.in(-4, 8)) / 4);
  unary(m);
}

/// Operators that take every number.
void unary_number(Maker& m) { m.finish({m.add(m.any(m.number(), m.shape(0, 4), Fill::special))}); }

void is_inf(Maker& m) {
  m.maybe(0.5, "detect_negative", m.dice.in(0, 1));
  m.maybe(0.5, "detect_positive", m.dice.in(0, 1));
  unary(m);
}

void logic_not(Maker& m) { m.finish({m.add(m.any(DType::boolean, m.shape(0, 4)))}); }
void bitwise_not(Maker& m) { m.finish({m.add(m.any(m.integer(), m.shape(0, 4)))}); }

void identity(Maker& m) {
  const DType type = m.dice.one_of({DType::f32, DType::f16, DType::i64, DType::boolean, DType::str, DType::u8});
  m.finish({m.add(m.any(type, m.shape(0, 4), Fill::special))});
}

struct Pair {
  Extents a, b;
};
Pair broadcastable(Maker& m) {
  const Extents full = m.shape(0, 4);
  return {m.part_of(full), m.part_of(full)};
}

void binary_of(Maker& m, DType type, Fill fill = Fill::exact) {
  const Pair p = broadcastable(m);
  m.finish({m.add(m.any(type, p.a, fill)), m.add(m.any(type, p.b, fill))});
}
void arithmetic(Maker& m) { binary_of(m, m.number(), m.dice.one_of({Fill::exact, Fill::special})); }
void compared(Maker& m) { binary_of(m, m.number(), m.dice.one_of({Fill::exact, Fill::special})); }
void logical(Maker& m) { binary_of(m, DType::boolean); }
void bitwise(Maker& m) { binary_of(m, m.integer()); }

void equal(Maker& m) {
  const DType type = m.dice.chance(0.15) ? DType::boolean : m.dice.chance(0.1) ? DType::str : m.number();
  binary_of(m, type, Fill::special);
}

/// Whole numbers are never divided by 0.
Tensor divisor(Maker& m, DType type, const Extents& shape) {
  if (is_float(type)) return m.any(type, shape, Fill::exact);
  Tensor t = m.whole(type, shape, 1, 7);
  return t;
}

void divide(Maker& m) {
  const Pair p = broadcastable(m);
  const DType type = m.number();
  m.finish({m.add(m.any(type, p.a, Fill::exact)), m.add(divisor(m, type, p.b))});
}

void modulo(Maker& m) {
  const Pair p = broadcastable(m);
  const DType type = m.number();
  if (is_float(type) || m.dice.chance(0.3)) m.attribute("fmod", int64_t(1));
  m.finish({m.add(m.any(type, p.a)), m.add(divisor(m, type, p.b))});
}

void power(Maker& m) {
  const Pair p = broadcastable(m);
  const DType base = m.dice.chance(0.7) ? m.floating() : m.dice.one_of({DType::i32, DType::i64});
  const DType exponent =
      m.opset() < 12 || m.dice.chance(0.6) ? base : m.dice.one_of({DType::f32, DType::i32, DType::i64});
  const Tensor x = is_float(base) ? m.any(base, p.a, m.dice.one_of({Fill::positive, Fill::exact, Fill::special}))
                                  : m.whole(base, p.a, -4, 4);
  const Tensor y = is_float(exponent) ? m.any(exponent, p.b, m.dice.one_of({Fill::exact, Fill::special}))
                                      : m.whole(exponent, p.b, 0, 5);
  m.finish({m.add(x), m.add(is_float(exponent) && !is_float(base) ? m.whole(exponent, p.b, 0, 4) : y)});
}

void bit_shift(Maker& m) {
  m.attribute("direction", m.dice.word({"LEFT", "RIGHT"}));
  const DType type = m.dice.one_of({DType::u8, DType::u16, DType::u32, DType::u64});
  const Pair p = broadcastable(m);
  m.finish({m.add(m.whole(type, p.a, 0, 250)), m.add(m.whole(type, p.b, 0, 9))});
}

void prelu(Maker& m) {
  const Extents x = m.shape(1, 4);
  const DType type = m.floating();
  m.finish({m.add(m.any(type, x, Fill::special)), m.add(m.any(type, m.part_of(x)))});
}

void variadic(Maker& m) {
  const bool extremum = m.made.op == "Max" || m.made.op == "Min";
  const DType type = extremum ? m.number() : m.floating();
  const Extents full = m.shape(0, 4);
  Names in;
  for (int64_t n = m.dice.in(1, 4); n-- > 0;)
    in.push_back(m.add(m.any(type, m.part_of(full), extremum && m.dice.chance(0.3) ? Fill::special : Fill::exact)));
  m.finish(in);
}

void where(Maker& m) {
  const Extents full = m.shape(0, 4);
  const DType type = m.dice.chance(0.1) ? DType::str : m.number();
  const auto condition = m.add(m.any(DType::boolean, m.part_of(full)));
  m.finish({condition, m.add(m.any(type, m.part_of(full), Fill::special)), m.add(m.any(type, m.part_of(full)))});
}

void clip(Maker& m) {
  const DType type = m.opset() < 12 ? m.floating() : m.number();
  const Extents shape = m.shape(0, 4);
  const bool low = m.dice.chance(0.7), high = m.dice.chance(0.7);
  const Tensor min = is_unsigned_int(type) ? m.whole(type, {}, 0, 8) : m.any(type, {});
  const Tensor max = is_unsigned_int(type) ? m.whole(type, {}, 4, 16) : m.any(type, {});
  const auto x = m.add(m.any(type, shape, Fill::special));
  if (m.opset() < 11) {
    if (low) m.attribute("min", float(m.dice.in(-8, 4)) / 4);
    if (high) m.attribute("max", float(m.dice.in(-4, 8)) / 4);
    m.finish({x});
    return;
  }
  Names in = {x, low ? m.add(min) : m.absent()};
  if (high) in.push_back(m.add(max));
  m.finish(in);
}

void cast(Maker& m) {
  const auto any_type = [&] {
    return m.dice.chance(0.1) ? DType::boolean : m.dice.chance(0.05) ? DType::bf16 : m.number();
  };
  const DType from = any_type(), to = any_type();
  // To a whole number only what it can hold: the rest is undefined by the standard.
  const bool to_int = is_int(to);
  const Extents shape = m.shape(0, 3);
  const Tensor x = to_int && !is_int(from) && from != DType::boolean ? m.reals(from, shape, Fill::positive)
                                                                     : m.any(from, shape, Fill::special);
  if (m.made.op == "CastLike") {
    m.finish({m.add(x), m.add(m.any(to, m.shape(0, 2)))});
    return;
  }
  m.attribute("to", int64_t(onnx_number(to)));
  m.finish({m.add(x)});
}

/// Sums of many normal numbers differ in their last bits; exact ones do not.
void reduction(Maker& m) {
  const bool plain_sum = m.made.op == "ReduceSum", extremum = m.made.op == "ReduceMax" || m.made.op == "ReduceMin";
  const bool product = m.made.op == "ReduceProd", logs = m.made.op.find("Log") != std::string::npos;
  const DType type = m.dice.chance(0.75) ? m.floating() : m.dice.one_of({DType::i32, DType::i64});
  const Extents shape = m.shape(0, 4);
  const int64_t rank = int64_t(shape.size());
  const bool axes_port = plain_sum ? m.opset() >= 13 : m.opset() >= 18;
  const Fill fill = extremum && m.dice.chance(0.4) ? Fill::special : logs ? Fill::positive : Fill::exact;
  const Tensor x = product && !is_float(type) ? m.whole(type, shape, -2, 2)
                   : product                  ? m.reals(type, shape, Fill::positive)
                                              : m.any(type, shape, fill);
  Names in = {m.add(x)};
  m.maybe(0.6, "keepdims", m.dice.in(0, 1));
  if (axes_port) {
    m.maybe(0.4, "noop_with_empty_axes", m.dice.in(0, 1));
    if (m.dice.chance(0.7)) in.push_back(m.add(m.longs(m.dice.chance(0.1) ? Extents{} : m.axes(rank)), 0.7));
  } else if (rank > 0) {
    Extents axes = m.axes(rank);
    if (m.opset() < 11)
      for (int64_t& a : axes) a = (a + rank) % rank;
    m.maybe(0.7, "axes", axes);
  }
  m.finish(in);
}

void arg_reduction(Maker& m) {
  const Extents shape = m.positive_shape(1, 4);
  const int64_t rank = int64_t(shape.size());
  m.maybe(0.7, "axis", m.opset() < 11 ? m.dice.in(0, rank - 1) : m.axis(rank));
  m.maybe(0.5, "keepdims", m.dice.in(0, 1));
  if (m.opset() >= 12) m.maybe(0.4, "select_last_index", m.dice.in(0, 1));
  m.finish({m.add(m.whole(m.dice.chance(0.7) ? DType::f32 : m.number(), shape, 0, 5))});
}

void cumulative(Maker& m) {
  const Extents shape = m.shape(1, 4);
  const DType type = m.dice.one_of({DType::f32, DType::f32, DType::f64, DType::i32, DType::i64});
  m.maybe(0.5, "exclusive", m.dice.in(0, 1));
  m.maybe(0.5, "reverse", m.dice.in(0, 1));
  const Tensor x = m.made.op == "CumProd" ? m.whole(type, shape, -2, 2) : m.any(type, shape);
  const Tensor axis = m.scalar(m.dice.one_of({DType::i32, DType::i64}), double(m.axis(int64_t(shape.size()))));
  m.finish({m.add(x), m.add(axis)});
}

void softmax(Maker& m) {
  const Extents shape = m.shape(1, 4);
  const bool default_fits = shape.size() > 1 || m.opset() >= 13;  // the default was 1, now it is -1
  m.maybe(default_fits ? 0.7 : 1, "axis",
          m.opset() < 11 ? m.dice.in(0, int64_t(shape.size()) - 1) : m.axis(int64_t(shape.size())));
  m.finish({m.add(m.reals(m.floating(), shape, m.made.op == "Hardmax" ? Fill::exact : Fill::normal))});
}

constexpr Recipe kRecipes[] = {
    {"Abs", 6, unary_number},
    {"Acos", 7, unary},
    {"Acosh", 9, unary},
    {"Add", 7, arithmetic},
    {"And", 7, logical},
    {"ArgMax", 1, arg_reduction},
    {"ArgMin", 1, arg_reduction},
    {"Asin", 7, unary},
    {"Asinh", 9, unary},
    {"Atan", 7, unary},
    {"Atanh", 9, unary},
    {"BitShift", 11, bit_shift},
    {"BitwiseAnd", 18, bitwise},
    {"BitwiseNot", 18, bitwise_not},
    {"BitwiseOr", 18, bitwise},
    {"BitwiseXor", 18, bitwise},
    {"Cast", 9, cast},
    {"CastLike", 15, cast},
    {"Ceil", 6, unary},
    {"Celu", 12, celu},
    {"Clip", 6, clip},
    {"Cos", 7, unary},
    {"Cosh", 9, unary},
    {"CumProd", 26, cumulative},
    {"CumSum", 11, cumulative},
    {"Div", 7, divide},
    {"Elu", 6, activation},
    {"Equal", 7, equal},
    {"Erf", 9, unary},
    {"Exp", 6, unary},
    {"Floor", 6, unary},
    {"Gelu", 20, gelu},
    {"Greater", 7, compared},
    {"GreaterOrEqual", 12, compared},
    {"HardSigmoid", 6, activation},
    {"HardSwish", 14, unary},
    {"Hardmax", 1, softmax},
    {"Identity", 1, identity},
    {"IsInf", 10, is_inf},
    {"IsNaN", 9, unary},
    {"LeakyRelu", 6, activation},
    {"Less", 7, compared},
    {"LessOrEqual", 12, compared},
    {"Log", 6, unary},
    {"LogSoftmax", 1, softmax},
    {"Max", 6, variadic},
    {"Mean", 6, variadic},
    {"Min", 6, variadic},
    {"Mish", 18, unary},
    {"Mod", 10, modulo},
    {"Mul", 7, arithmetic},
    {"Neg", 6, unary_number},
    {"Not", 1, logic_not},
    {"Or", 7, logical},
    {"PRelu", 7, prelu},
    {"Pow", 7, power},
    {"Reciprocal", 6, unary},
    {"ReduceL1", 1, reduction},
    {"ReduceL2", 1, reduction},
    {"ReduceLogSum", 1, reduction},
    {"ReduceLogSumExp", 1, reduction},
    {"ReduceMax", 1, reduction},
    {"ReduceMean", 1, reduction},
    {"ReduceMin", 1, reduction},
    {"ReduceProd", 1, reduction},
    {"ReduceSum", 1, reduction},
    {"ReduceSumSquare", 1, reduction},
    {"Relu", 6, unary_number},
    {"Round", 11, unary},
    {"Selu", 6, activation},
    {"Shrink", 9, shrink},
    {"Sigmoid", 6, unary},
    {"Sign", 9, unary_number},
    {"Sin", 7, unary},
    {"Sinh", 9, unary},
    {"Softmax", 1, softmax},
    {"Softplus", 1, unary},
    {"Softsign", 1, unary},
    {"Sqrt", 6, unary},
    {"Sub", 7, arithmetic},
    {"Sum", 6, variadic},
    {"Swish", 24, swish},
    {"Tan", 7, unary},
    {"Tanh", 6, unary},
    {"ThresholdedRelu", 10, activation},
    {"Where", 9, where},
    {"Xor", 7, logical},
};

}  // namespace

std::span<const Recipe> math_recipes() { return kRecipes; }

}  // namespace nnex::differential
