// Arithmetic of one operand.

#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/copy_bytes.h"
#include "ops/arithmetic.h"
#include "ops/elementwise.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Kernels

struct Negate {
  float operator()(float x) const { return -x; }
  double operator()(double x) const { return -x; }
  int64_t operator()(int64_t x) const { return wrap_sub(0, x); }
  uint64_t operator()(uint64_t x) const { return 0 - x; }
  Dim operator()(const Dim& x) const { return Dim(0) - x; }
};

struct Absolute {
  float operator()(float x) const { return std::fabs(x); }
  double operator()(double x) const { return std::fabs(x); }
  int64_t operator()(int64_t x) const { return x < 0 ? wrap_sub(0, x) : x; }
  uint64_t operator()(uint64_t x) const { return x; }
  Dim operator()(const Dim& x) const { return max(x, Dim(0) - x); }
};

struct Sign {
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;  // a zero and a NaN stay themselves
  }
};

/// A function computed in double and rounded once: f32 results are correct but for the rarest double roundings.
template <double (*f)(double)>
struct ThroughDouble {
  float operator()(float x) const { return static_cast<float>(f(x)); }
  double operator()(double x) const { return f(x); }
};

struct Reciprocal {
  template <class T>
  T operator()(T x) const {
    return T(1) / x;
  }
};
struct Square {
  float operator()(float x) const { return x * x; }
  double operator()(double x) const { return x * x; }
  int64_t operator()(int64_t x) const { return wrap_mul(x, x); }
  uint64_t operator()(uint64_t x) const { return x * x; }
};
struct SquareRoot {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct ReciprocalSquare {
  template <class T>
  T operator()(T x) const {
    return T(1) / (x * x);
  }
};
/// IEEE's pow(x, -0.5): 0 for both infinities, infinity for both zeros.
struct ReciprocalRoot {
  template <class T>
  T operator()(T x) const {
    return std::isinf(x) ? T(0) : T(1) / std::sqrt(x + T(0));
  }
};
struct Floor {
  template <class T>
  T operator()(T x) const {
    return std::floor(x);
  }
};
struct Ceil {
  template <class T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};

/// To the nearest integer, ties to even, whatever rounding mode the machine is in.
template <class T>
T round_half_even(T x) {
  const T below = std::floor(x);
  const T rest = x - below;
  T y = rest < T(0.5) ? below : rest > T(0.5) ? below + 1 : std::fmod(below, T(2)) == 0 ? below : below + 1;
  return std::isfinite(x) ? std::copysign(y, x) : x;
}

/// floor(x + 0.5) with the sum not rounded: x - floor(x) is exact wherever it decides.
template <class T>
T round_half_up(T x) {
  const T below = std::floor(x);
  return x - below >= T(0.5) ? below + 1 : below;
}

template <class T>
Status run_round(Call& c) {
  auto x = c.in<T>(0);
  auto y = c.out<T>(0);
  switch (c.attr<RoundAttrs>().rounding) {
    case Rounding::half_even:
      map_one(x, y, [](T v) { return round_half_even(v); });
      break;
    case Rounding::half_up:
      map_one(x, y, [](T v) { return round_half_up(v); });
      break;
    case Rounding::half_away:
      map_one(x, y, [](T v) { return std::round(v); });
      break;
  }
  return {};
}

template <class T>
Status run_affine(Call& c) {
  const T alpha = static_cast<T>(c.attr<AffineAttrs>().alpha), beta = static_cast<T>(c.attr<AffineAttrs>().beta);
  map_one(c.in<T>(0), c.out<T>(0), [=](T v) { return alpha * v + beta; });
  return {};
}

/// Tensors are copied into the memory the plan gave, other values are shared.
Status run_copy(Call& c) {
  const Tensor* x = c.value(0).tensor();
  if (!x) {
    c.set(0, c.value(0));
    return {};
  }
  NNEX_ASSIGN(Tensor * y, c.make(0, x->dtype(), x->shape()));
  if (x->dtype() == DType::str)
    std::copy(x->strings().begin(), x->strings().end(), y->mutable_as<std::string>().begin());
  else if (x->dtype() == kDimType)
    std::copy(x->as<Dim>().begin(), x->as<Dim>().end(), y->mutable_as<Dim>().begin());
  else if (x->bytes() > 0)
    copy_bytes(y->mutable_data(), x->data(), x->bytes());
  return {};
}

Status infer_copy(InferCall& c) {
  c.result_type(0, c.in(0));
  if (auto values = c.values(0)) c.result_values(0, *values);
  return {};
}

template <double (*f)(double)>
constexpr Reference through_double() {
  return unary<ThroughDouble<f>, float, double>();
}

// ---- Entries

/// A row of one real operand without attributes.
constexpr OpRow real_function(std::string_view name, std::string_view summary, std::string_view source,
                              Reference reference, List<SpellingRow, 6> spelled, std::string_view body = {}) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kF}};
  op.outputs = {{"y", same_type_as("x")}};
  op.infer = same_shape;
  op.reference = reference;
  op.body = body;
  op.spelled = spelled;
  op.elementwise = true;
  return op;
}

/// Of float32 within two units in the last place, by the polynomials of kernels/simd/math-inl.h: an odd one near 0,
/// from there 1 - e^(a polynomial). Of float64 by W. J. Cody's rational functions (Mathematics of Computation 23,
/// 1969).
constexpr std::string_view kErf =
    "s = min(abs(x), 3.95); q = s * s; "
    "p = ((((-6.315254722721875e-4 * q + 5.051119718700647e-3) * q - 2.6802565902471542e-2) * q + "
    "1.1282718181610107e-1) * q - 3.761257231235504e-1) * q + 1.283791065216064e-1; "
    "h = (((((2.025284484261647e-4 * s - 3.1071887351572514e-3) * s + 2.247900888323784e-2) * s - "
    "1.044480949640274e-1) * s - 6.366015672683716e-1) * s - 1.1280155181884766) * s - 1.1469565652078018e-4; "
    "a = min(abs(x), 6.0); z = a * a; "
    "n = (((1.85777706184603153e-1 * z + 3.16112374387056560) * z + 1.13864154151050156e2) * z + "
    "3.77485237685302021e2) * z + 3.20937758913846947e3; "
    "d = (((z + 2.36012909523441209e1) * z + 2.44024637934444173e2) * z + 1.28261652607737228e3) * z + "
    "2.84423683343917062e3; "
    "m = (((((((2.15311535474403846e-8 * a + 5.64188496988670089e-1) * a + 8.88314979438837594) * a + "
    "6.61191906371416295e1) * a + 2.98635138197400131e2) * a + 8.81952221241769090e2) * a + 1.71204761263407058e3) * a "
    "+ "
    "2.05107837782607147e3) * a + 1.23033935479799725e3; "
    "e = (((((((a + 1.57449261107098347e1) * a + 1.17693950891312499e2) * a + 5.37181101862009858e2) * a + "
    "1.62138957456669019e3) * a + 3.29079923573345963e3) * a + 4.36261909014324716e3) * a + 3.43936767414372164e3) * a "
    "+ "
    "1.23033935480374942e3; "
    "r = select(a < 0.46875, a * n / d, 1.0 - exp(-z) * m / e) if dtype(x) == 'f64' else "
    "select(s < 0.85, p * s + s, 1.0 - exp(h)); "
    "y = select(x < 0.0, -r, r);";

void neg_interval(IntervalCall& c) {
  if (const auto x = c.in(0)) c.result({-x->high, -x->low});
}

void abs_interval(IntervalCall& c) {
  if (const auto x = c.in(0)) c.result({x->low > 0 ? x->low : x->high < 0 ? -x->high : 0, x->magnitude()});
}

constexpr OpRow kUnaryOps[] = {
    {
        .name = "copy",
        .summary = "The same value.",
        .source = "NNEF 1.0.5 copy, copy_n; ONNX Identity; WebNN identity()",
        .inputs = {{"x", any_value()}},
        .outputs = {{"y", any_value()}},
        .infer = infer_copy,
        .precision = keeps_precision,
        .reference = any(run_copy),
        .spelled = {{nnef, "copy"}, {nnef, "copy_n"}, {onnx, "Identity"}, {webnn, "identity"}},
        .elementwise = true,
        .elements = Elements::of_first,
    },
    {
        .name = "neg",
        .summary = "-x; integers wrap, so their minimum stays.",
        .source = "NNEF 1.0.5 neg; ONNX Neg; WebNN neg(); CVM negative",
        .inputs = {{"x", kN}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = same_shape,
        .precision = keeps_precision,
        .interval = neg_interval,
        .reference = unary<Negate, float, double, int64_t, uint64_t, Dim>(),
        .spelled = {{nnef, "neg"}, {onnx, "Neg"}, {webnn, "neg"}, {cvm, "negative"}},
        .elementwise = true,
    },
    {
        .name = "abs",
        .summary = "The magnitude of x; an integer minimum stays.",
        .source = "NNEF 1.0.5 abs; ONNX Abs; WebNN abs(); CVM abs",
        .inputs = {{"x", kN}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = same_shape,
        .precision = keeps_precision,
        .interval = abs_interval,
        .reference = unary<Absolute, float, double, int64_t, uint64_t, Dim>(),
        .spelled = {{nnef, "abs"}, {onnx, "Abs"}, {webnn, "abs"}, {cvm, "abs"}},
        .elementwise = true,
    },
    {
        .name = "sign",
        .summary = "-1, 0 or 1; a zero and a NaN stay themselves.",
        .source = "NNEF 1.0.5 sign; ONNX Sign; WebNN sign()",
        .inputs = {{"x", kN}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = same_shape,
        .reference = unary<Sign, float, double, int64_t, uint64_t>(),
        .spelled = {{nnef, "sign"}, {onnx, "Sign", {}, 9}, {webnn, "sign"}},
        .elementwise = true,
    },
    {
        .name = "sqr",
        .summary = "x times x.",
        .source = "NNEF 1.0.5 sqr",
        .inputs = {{"x", kN}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = same_shape,
        .reference = unary<Square, float, double, int64_t, uint64_t>(),
        .body = "y = x * x;",
        .spelled = {{nnef, "sqr"}},
        .elementwise = true,
    },
    real_function("rcp", "1 / x, correctly rounded.", "NNEF 1.0.5 rcp; ONNX Reciprocal; WebNN reciprocal()",
                  unary<Reciprocal, float, double>(), {{nnef, "rcp"}, {onnx, "Reciprocal"}, {webnn, "reciprocal"}}),
    real_function("sqrt", "The square root; NaN for negative x.", "NNEF 1.0.5 sqrt; ONNX Sqrt; WebNN sqrt()",
                  unary<SquareRoot, float, double>(), {{nnef, "sqrt"}, {onnx, "Sqrt"}, {webnn, "sqrt"}}),
    real_function("rsqr", "1 / x^2.", "NNEF 1.0.5 rsqr", unary<ReciprocalSquare, float, double>(), {{nnef, "rsqr"}},
                  "y = rcp(x * x);"),
    real_function("rsqrt", "x to the power -0.5.", "NNEF 1.0.5 rsqrt", unary<ReciprocalRoot, float, double>(),
                  {{nnef, "rsqrt"}}, "y = pow(x, -0.5);"),
    real_function("exp", "e^x.", "NNEF 1.0.5 exp; ONNX Exp; WebNN exp()", through_double<std::exp>(),
                  {{nnef, "exp"}, {onnx, "Exp"}, {webnn, "exp"}}),
    real_function("log", "The natural logarithm; -inf at 0, NaN below.", "NNEF 1.0.5 log; ONNX Log; WebNN log()",
                  through_double<std::log>(), {{nnef, "log"}, {onnx, "Log"}, {webnn, "log"}}),
    real_function("log2", "The logarithm to base 2, exact on powers of two.", "NNEF 1.0.5 log2",
                  through_double<std::log2>(), {{nnef, "log2"}}),
    real_function("sin", "The sine.", "NNEF 1.0.5 sin; ONNX Sin; WebNN sin()", through_double<std::sin>(),
                  {{nnef, "sin"}, {onnx, "Sin", {}, 7}, {webnn, "sin"}}),
    real_function("cos", "The cosine.", "NNEF 1.0.5 cos; ONNX Cos; WebNN cos()", through_double<std::cos>(),
                  {{nnef, "cos"}, {onnx, "Cos", {}, 7}, {webnn, "cos"}}),
    real_function("tan", "The tangent.", "NNEF 1.0.5 tan; ONNX Tan; WebNN tan()", through_double<std::tan>(),
                  {{nnef, "tan"}, {onnx, "Tan", {}, 7}, {webnn, "tan"}}),
    real_function("asin", "The inverse sine; NaN outside [-1, 1].", "NNEF 1.0.5 asin; ONNX Asin",
                  through_double<std::asin>(), {{nnef, "asin"}, {onnx, "Asin", {}, 7}}),
    real_function("acos", "The inverse cosine; NaN outside [-1, 1].", "NNEF 1.0.5 acos; ONNX Acos",
                  through_double<std::acos>(), {{nnef, "acos"}, {onnx, "Acos", {}, 7}}),
    real_function("atan", "The inverse tangent.", "NNEF 1.0.5 atan; ONNX Atan", through_double<std::atan>(),
                  {{nnef, "atan"}, {onnx, "Atan", {}, 7}}),
    real_function("sinh", "The hyperbolic sine.", "NNEF 1.0.5 sinh; ONNX Sinh", through_double<std::sinh>(),
                  {{nnef, "sinh"}, {onnx, "Sinh", {}, 9}}),
    real_function("cosh", "The hyperbolic cosine.", "NNEF 1.0.5 cosh; ONNX Cosh", through_double<std::cosh>(),
                  {{nnef, "cosh"}, {onnx, "Cosh", {}, 9}}),
    real_function("tanh", "The hyperbolic tangent.", "NNEF 1.0.5 tanh; ONNX Tanh; WebNN tanh()",
                  through_double<std::tanh>(), {{nnef, "tanh"}, {onnx, "Tanh"}, {webnn, "tanh"}}),
    real_function("asinh", "The inverse hyperbolic sine.", "NNEF 1.0.5 asinh; ONNX Asinh", through_double<std::asinh>(),
                  {{nnef, "asinh"}, {onnx, "Asinh", {}, 9}}),
    real_function("acosh", "The inverse hyperbolic cosine; NaN below 1.", "NNEF 1.0.5 acosh; ONNX Acosh",
                  through_double<std::acosh>(), {{nnef, "acosh"}, {onnx, "Acosh", {}, 9}}),
    real_function("atanh", "The inverse hyperbolic tangent; NaN outside [-1, 1].", "NNEF 1.0.5 atanh; ONNX Atanh",
                  through_double<std::atanh>(), {{nnef, "atanh"}, {onnx, "Atanh", {}, 9}}),
    real_function("erf", "The error function.", "ONNX Erf; WebNN erf()", through_double<std::erf>(),
                  {{onnx, "Erf", {}, 9}, {webnn, "erf"}}, kErf),
    real_function("floor", "The largest integer not above x.", "NNEF 1.0.5 floor; ONNX Floor; WebNN floor()",
                  unary<Floor, float, double>(), {{nnef, "floor"}, {onnx, "Floor"}, {webnn, "floor"}}),
    real_function("ceil", "The smallest integer not below x.", "NNEF 1.0.5 ceil; ONNX Ceil; WebNN ceil()",
                  unary<Ceil, float, double>(), {{nnef, "ceil"}, {onnx, "Ceil"}, {webnn, "ceil"}}),
    {
        .name = "round",
        .summary = "The nearest integer; `rounding` says what a tie does.",
        .source = "NNEF 1.0.5 round (half_up); ONNX Round, WebNN roundEven() (half_even)",
        .inputs = {{"x", kF}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<RoundAttrs>({field<&RoundAttrs::rounding>("rounding", "Where ties go.")}),
        .infer = same_shape,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_round<T>(c); }),
        .spelled = {{nnef, "round", {}, 1, "", {{"rounding", "'half_up'"}}},
                    {onnx, "Round", {}, 11},
                    {webnn, "roundEven"}},
        .elementwise = true,
    },
    {
        .name = "affine",
        .summary = "alpha x + beta, two roundings.",
        .source = "WebNN linear()",
        .inputs = {{"x", kF}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<AffineAttrs>(
            {field<&AffineAttrs::alpha>("alpha", "Factor."), field<&AffineAttrs::beta>("beta", "What is added.")}),
        .infer = same_shape,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_affine<T>(c); }),
        .body = "y = alpha * x + beta;",
        .spelled = {{webnn, "linear"}},
        .elementwise = true,
    },
};
}  // namespace

std::span<const OpDef> unary_ops() { return stored<kUnaryOps>(); }

}  // namespace nnex
