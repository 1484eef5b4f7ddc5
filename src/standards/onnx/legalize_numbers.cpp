// Arithmetic, comparisons, products: types of truth values, crossed limits, exchanged axes.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/matmul.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

// ---- Truth

/// Answers are of type bool; another type is cast to.
void answer(Legalized& l) {
  const Field* f = l.node().op->attrs.find("result");
  if (!f || std::get<DType>(f->get(l.node().attrs.get())) == DType::boolean) return;
  std::shared_ptr<void> a = l.node().op->attrs.copy(l.node().attrs.get());
  f->set(a.get(), DType::boolean);
  l.graph.set_attrs(l.id, std::shared_ptr<const void>(std::move(a)));
  l.cast_result(DType::boolean);
}

/// Operands of logic are of type bool.
void truths(Legalized& l) {
  for (size_t i = 0; i < l.node().in.size(); ++i) l.graph.set_input(l.id, i, l.cast(l.in(i), DType::boolean));
  answer(l);
}

void not_equal(Legalized& l) {
  const AnswerAttrs a = l.attrs<AnswerAttrs>();
  const ValueId equal = l.b("eq", {l.in(0), l.in(1)}, AnswerAttrs{});
  l.graph.set_type(equal, Type::tensor(DType::boolean, l.graph[l.node().out[0]].type.dims));
  const ValueId unequal = l.b("not", {equal}, AnswerAttrs{});
  l.graph.set_type(unequal, l.graph[equal].type);
  l.replace(l.cast(unequal, a.result));
}

void condition(Legalized& l) { l.graph.set_input(l.id, 0, l.cast(l.in(0), DType::boolean)); }

// ---- Limits

bool ordered(const Tensor* low, const Tensor* high) {
  return low && high && low->count() == 1 && high->count() == 1 && real_at(*low, 0) <= real_at(*high, 0);
}

/// NNEF defines numbers alone: what its comparisons would give for a NaN is not said.
void of_nans(Legalized& l) { l.set(NansAttrs{}); }

/// Limits are scalars of which the upper one wins; others are a minimum and a maximum.
void clamp(Legalized& l) {
  ClampAttrs a = l.attrs<ClampAttrs>();
  a.nans = Nans::pass;
  const bool both = l.has(1) && l.has(2);
  bool fine = true;
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (!l.has(i) || l.rank(i) == 0) continue;
    const Tensor* t = l.constant(i);
    if (t && t->count() == 1 && l.rank(0).value_or(0) >= t->shape().rank())
      l.graph.set_input(l.id, i, l.b.constant(t->reshaped(Shape{})));
    else
      fine = fine && !l.rank(i);
  }
  if (!both || ordered(l.constant(1), l.constant(2))) a.crossed = Crossed::high;
  if (fine && a.crossed == Crossed::high) return l.set(a);
  ValueId y = l.in(0);
  if (a.crossed == Crossed::high && l.has(1)) y = l.b("max", {y, l.in(1)});
  if (l.has(2)) y = l.b("min", {y, l.in(2)});
  if (a.crossed == Crossed::low && l.has(1)) y = l.b("max", {y, l.in(1)});
  l.replace(y);
}

// ---- Numbers

void round(Legalized& l) {
  const Rounding how = l.attrs<RoundAttrs>().rounding;
  if (how == Rounding::half_even) return;
  const ValueId half = l.b.number(l.dtype(0), 0.5);
  if (how == Rounding::half_up) return l.replace(l.b("floor", {l.b("add", {l.in(0), half})}));
  const ValueId size = l.b("floor", {l.b("add", {l.b("abs", {l.in(0)}), half})});
  l.replace(l.b("mul", {l.b("sign", {l.in(0)}), size}));
}

/// Down instead of toward zero.
void cast(Legalized& l) {
  CastAttrs a = l.attrs<CastAttrs>();
  if (a.rounding == CastRounding::truncate) return;
  if (is_float(l.dtype(0)) && (is_int(a.to))) {
    const ValueId whole = l.b("floor", {l.in(0)});
    l.graph.set_type(whole, l.type(0));
    l.graph.set_input(l.id, 0, whole);
  }
  a.rounding = CastRounding::truncate;
  l.set(a);
}

void log2(Legalized& l) { l.replace(l.b("mul", {l.b("log", {l.in(0)}), l.b.number(l.dtype(0), 1 / std::log(2.0))})); }

/// Of real numbers Mod gives the remainder with the dividend's sign alone: where the divisor has the other one, it is
/// added; a remainder of 0 is one of either sign.
void mod(Legalized& l) {
  if (!is_real(l.dtype(0)) || l.attrs<ModAttrs>().division == Division::truncate) return;
  const MaybeDims dims = l.graph[l.node().out[0]].type.dims;
  const auto made = [&](std::string_view row, std::vector<ValueId> in, DType type, auto attrs) {
    const ValueId v = l.b(row, std::move(in), attrs);
    l.graph.set_type(v, Type::tensor(type, dims));
    return v;
  };
  const ValueId zero = l.b.number(l.dtype(0), 0), x = l.in(0), y = l.in(1);
  const ValueId rest = made("mod", {x, y}, l.dtype(0), ModAttrs{Division::truncate});
  const auto is = [&](std::string_view row, ValueId a, ValueId b) {
    return made(row, {a, b}, DType::boolean, AnswerAttrs{});
  };
  const ValueId other = is("xor", is("lt", rest, zero), is("lt", y, zero));
  const ValueId some = made("not", {is("eq", rest, zero)}, DType::boolean, AnswerAttrs{});
  l.replace(l.b("select", {is("and", some, other), l.b("add", {rest, y}), rest}));
}

/// Sum takes real numbers; whole ones are added one by one.
void add_n(Legalized& l) {
  if (l.node().in.empty() || is_real(l.dtype(0))) return;
  ValueId sum = l.in(0);
  for (size_t i = 1; i < l.node().in.size(); ++i) sum = l.b("add", {sum, l.in(i)});
  l.replace(sum);
}

// ---- Products

ValueId exchanged(Legalized& l, ValueId x, std::optional<int64_t> rank) {
  Ints axes(static_cast<size_t>(*rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return l.transposed(x, axes);
}

void matmul(Legalized& l) {
  MatmulAttrs a = l.attrs<MatmulAttrs>();
  for (size_t i : {size_t{0}, size_t{1}}) {
    bool& turn = i == 0 ? a.transpose_a : a.transpose_b;
    const auto rank = l.rank(i);
    if (!turn || !rank || *rank < 2) continue;
    l.graph.set_input(l.id, i, exchanged(l, l.in(i), rank));
    turn = false;
  }
  l.set(a);
}

/// Gemm is of matrices.
void linear(Legalized& l) {
  const LinearAttrs a = l.attrs<LinearAttrs>();
  const auto x = l.rank(0), filter = l.rank(1);
  if (!x || !filter || (*x == 2 && *filter == 2) || *x < 2 || *filter < 2) return;
  const DType type = l.dtype(0);
  const ValueId left = a.transpose_a ? exchanged(l, l.in(0), x) : l.in(0);
  const ValueId right = a.transpose_b ? exchanged(l, l.in(1), filter) : l.in(1);
  ValueId y = l.b("matmul", {left, right}, MatmulAttrs{});
  if (a.alpha != 1) y = l.b("mul", {y, l.b.number(type, a.alpha)});
  if (l.has(2)) {
    const ValueId bias = a.beta == 1 ? l.in(2) : l.b("mul", {l.in(2), l.b.number(type, a.beta)});
    y = l.b("add", {y, bias});
  }
  l.replace(y);
}

constexpr LegalizeRow kNumberRows[] = {
    {"eq", answer},     {"lt", answer},     {"le", answer},        {"gt", answer},         {"ge", answer},
    {"is_nan", answer}, {"is_inf", answer}, {"and", truths},       {"or", truths},         {"xor", truths},
    {"not", truths},    {"ne", not_equal},  {"select", condition}, {"if_else", condition}, {"clamp", clamp},
    {"round", round},   {"cast", cast},     {"log2", log2},        {"add_n", add_n},       {"matmul", matmul},
    {"linear", linear}, {"min", of_nans},   {"max", of_nans},      {"relu", of_nans},      {"mod", mod},
};

}  // namespace

std::span<const LegalizeRow> legalize_numbers() { return kNumberRows; }

}  // namespace nnex::onnx_format
