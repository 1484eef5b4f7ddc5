// Activation functions.

#include "ops/activation.h"

#include <cmath>

#include "base/checked.h"
#include "base/failure.h"
#include "ops/arithmetic.h"
#include "ops/elementwise.h"
#include "ops/infer_call.h"
#include "ops/int_limits.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Kernels. Those with an exponential are computed in double and rounded once.

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

template <class T>
Status run_relu(Call& c) {
  const bool pass = c.attr<NansAttrs>().nans == Nans::pass;
  map_one(c.in<T>(0), c.out<T>(0), [=](T x) { return x > T(0) || (pass && x != x) ? x : T(0); });
  return {};
}

/// y = f(x, attributes) with f in double.
template <class A, double (*f)(double, const A&)>
constexpr Reference in_double() {
  return typed<float, double>([]<class T>(Call& c) -> Status {
    const A& a = c.attr<A>();
    map_one(c.in<T>(0), c.out<T>(0), [&](T x) { return static_cast<T>(f(static_cast<double>(x), a)); });
    return {};
  });
}

/// y = f(x) with f in double.
template <double (*f)(double)>
constexpr Reference in_double() {
  return typed<float, double>([]<class T>(Call& c) -> Status {
    map_one(c.in<T>(0), c.out<T>(0), [](T x) { return static_cast<T>(f(static_cast<double>(x))); });
    return {};
  });
}

double nan_softplus(double x) { return x != x ? x : softplus(x); }
double silu(double x, const AlphaAttrs& a) { return x * sigmoid(a.alpha * x); }
double mish(double x) { return x * std::tanh(nan_softplus(x)); }
double softsign(double x) { return x / (1 + std::fabs(x)); }
double elu(double x, const AlphaAttrs& a) { return x < 0 ? a.alpha * std::expm1(x) : x; }
double selu(double x, const SeluAttrs& a) { return a.lambda * (x < 0 ? a.alpha * std::expm1(x) : x); }
double celu(double x, const AlphaAttrs& a) {
  if (x != x) return x;
  return std::fmax(x, 0) + std::fmin(0, a.alpha * std::expm1(x / a.alpha));
}
double gelu(double x, const GeluAttrs& a) {
  switch (a.form) {
    case GeluForm::erf:
      return x / 2 * (1 + std::erf(x * 0.70710678118654752440));
    case GeluForm::tanh:
      return x / 2 * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case GeluForm::sigmoid:
      return x * sigmoid(1.702 * x);
  }
  return x;
}
double hard_swish(double x) { return x != x ? x : x * (std::fmax(0, std::fmin(6, x + 3)) / 6); }
double hard_sigmoid(double x, const HardSigmoidAttrs& a) {
  const double y = a.alpha * x + a.beta;
  return y != y ? y : std::fmax(0, std::fmin(1, y));
}

template <class T>
Status run_leaky_relu(Call& c) {
  const T alpha = static_cast<T>(c.attr<LeakyReluAttrs>().alpha);
  map_one(c.in<T>(0), c.out<T>(0), [=](T x) { return x < T(0) ? alpha * x : x; });
  return {};
}

template <class T>
Status run_thresholded_relu(Call& c) {
  const T alpha = static_cast<T>(c.attr<AlphaAttrs>().alpha);
  map_one(c.in<T>(0), c.out<T>(0), [=](T x) { return x > alpha ? x : T(0); });
  return {};
}

struct Prelu {
  float operator()(float x, float alpha) const { return x < 0 ? alpha * x : x; }
  double operator()(double x, double alpha) const { return x < 0 ? alpha * x : x; }
  int64_t operator()(int64_t x, int64_t alpha) const { return x < 0 ? wrap_mul(alpha, x) : x; }
  uint64_t operator()(uint64_t x, uint64_t) const { return x; }
};

template <class T>
Status run_shrink(Call& c) {
  const auto& a = c.attr<ShrinkAttrs>();
  const DType type = c.narrowed == DType::none ? dtype_for<T> : c.narrowed;
  auto moved = [=](T x, double by) {
    if constexpr (std::is_floating_point_v<T>)
      return x + static_cast<T>(by);
    else
      return by == 0 ? x : saturated_int<T>(static_cast<double>(x) + by, type);
  };
  map_one(c.in<T>(0), c.out<T>(0), [=](T x) -> T {
    const double v = static_cast<double>(x);
    if (v < -a.lambda) return moved(x, a.bias);
    if (v > a.lambda) return moved(x, -a.bias);
    return T(0);
  });
  return {};
}

template <class T>
Status run_swiglu(Call& c) {
  const AlphaAttrs& a = c.attr<AlphaAttrs>();
  map_two(c.in<T>(0), c.shape(0), c.in<T>(1), c.shape(1), c.out<T>(0), c.out(0).shape(),
          [&](T x, T y) { return static_cast<T>(silu(static_cast<double>(x), a) * static_cast<double>(y)); });
  return {};
}

// ---- Codecs

Result<AttrValue> form_from_approximate(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (s && *s == "none") return AttrValue(std::string("erf"));
  if (s && *s == "tanh") return AttrValue(std::string("tanh"));
  return failure(Code::invalid_model, "found {}; needed 'none' or 'tanh'", text(v));
}
Result<AttrValue> approximate_from_form(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (s && *s == "erf") return AttrValue(std::string("none"));
  if (s && *s == "tanh") return AttrValue(std::string("tanh"));
  return failure(Code::unsupported, "ONNX has no gelu of form {}", text(v));
}
const Codec kApproximate = {"approximate", form_from_approximate, approximate_from_form};

void relu_interval(IntervalCall& c) {
  if (const auto x = c.in(0)) c.result(clamped(*x, 0, std::numeric_limits<int64_t>::max()));
}

// ---- Entries

/// A row of one operand whose result has its shape and type.
constexpr OpRow activation(std::string_view name, std::string_view summary, std::string_view source, Types allowed,
                           const AttrType& attrs, Reference reference, std::string_view body,
                           List<SpellingRow, 6> spelled, PrecisionFn precision = nullptr) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", allowed}};
  op.outputs = {{"y", same_type_as("x")}};
  op.attrs = attrs;
  op.infer = same_shape;
  op.reference = reference;
  op.body = body;
  op.precision = precision;
  op.spelled = spelled;
  op.elementwise = true;
  return op;
}

constexpr AttrType kNone = {};
constexpr AttrType kAlphaFields = attrs_of<AlphaAttrs>({field<&AlphaAttrs::alpha>("alpha", "Scale or threshold.")});

constexpr OpRow kActivationOps[] = {
    in_bytes(
        ByteRole::limit,
        in_intervals(
            relu_interval,
            activation(
                "relu", "x where it is positive, else 0; NaN stays, or gives 0.",
                "NNEF 1.0.5 relu; ONNX Relu-14; WebNN relu(); CVM relu", kN,
                attrs_of<NansAttrs>({field<&NansAttrs::nans>("nans", "What a NaN gives.")}),
                typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_relu<T>(c); }),
                "y = max(x, 0.0, nans = nans);",
                {{nnef, "relu", {}, 1, "", {{"nans", "'compare'"}}}, {onnx, "Relu"}, {webnn, "relu"}, {cvm, "relu"}},
                keeps_precision))),
    activation("sigmoid", "1 / (1 + e^-x).", "NNEF 1.0.5 sigmoid; ONNX Sigmoid-13; WebNN sigmoid()", kF, kNone,
               in_double<sigmoid>(), "y = rcp(1.0 + exp(-x));",
               {{nnef, "sigmoid"}, {onnx, "Sigmoid"}, {webnn, "sigmoid"}}),
    activation("softplus", "log(1 + e^x), without overflow.", "NNEF 1.0.5 softplus; ONNX Softplus-22; WebNN softplus()",
               kF, kNone, in_double<nan_softplus>(), "y = max(x, 0.0) + log(1.0 + exp(-abs(x)));",
               {{nnef, "softplus"}, {onnx, "Softplus"}, {webnn, "softplus"}}),
    activation("silu", "x sigmoid(alpha x).", "NNEF 1.0.5 silu; ONNX Swish-24", kF, kAlphaFields,
               in_double<AlphaAttrs, silu>(), "y = x * sigmoid(x if alpha == 1.0 else alpha * x);",
               {{nnef, "silu"}, {onnx, "Swish", {}, 24}}),
    activation("gelu", "x times the normal distribution function of x, or one of two approximations.",
               "NNEF 1.0.5 gelu (sigmoid); ONNX Gelu-20; WebNN gelu()", kF,
               attrs_of<GeluAttrs>({field<&GeluAttrs::form>("form", "Exact, or by tanh or sigmoid.")}),
               in_double<GeluAttrs, gelu>(),
               "y = 0.5 * x * (1.0 + erf(x * 0.7071067811865476)) if form == 'erf' else "
               "0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) if form == 'tanh' else "
               "x * sigmoid(1.702 * x);",
               {{nnef, "gelu", {}, 1, "", {{"form", "'sigmoid'"}}},
                {onnx, "Gelu", {{"form", "approximate", &kApproximate}}, 20},
                {webnn, "gelu"}}),
    activation("elu", "x, below 0 alpha (e^x - 1).", "NNEF 1.0.5 elu; ONNX Elu-22; WebNN elu()", kF, kAlphaFields,
               in_double<AlphaAttrs, elu>(), "y = select(x < 0.0, alpha * (exp(x) - 1.0), x);",
               {{nnef, "elu"}, {onnx, "Elu"}, {webnn, "elu"}}),
    activation("selu", "elu with the constants that keep mean and variance.", "NNEF 1.0.5 selu; ONNX Selu-22", kF,
               attrs_of<SeluAttrs>({field<&SeluAttrs::alpha>("alpha", "Scale below 0."),
                                    field<&SeluAttrs::lambda>("lambda", "Scale of everything.")}),
               in_double<SeluAttrs, selu>(), "y = lambda * select(x < 0.0, alpha * (exp(x) - 1.0), x);",
               {{nnef, "selu"},
                {onnx, "Selu", {{"lambda", "gamma"}}, 6},
                {onnx, "Selu", {{"lambda", "gamma"}}, 1, "", {{"alpha", "1.6732"}, {"lambda", "1.0507"}}}}),
    activation("celu", "x, below 0 alpha (e^(x / alpha) - 1).", "ONNX Celu-28", kF, kAlphaFields,
               in_double<AlphaAttrs, celu>(), "y = max(x, 0.0) + min(0.0, alpha * (exp(x / alpha) - 1.0));",
               {{onnx, "Celu", {}, 12}}),
    {
        .name = "prelu",
        .summary = "x, below 0 alpha x.",
        .source = "NNEF 1.0.5 prelu; ONNX PRelu-16; WebNN prelu()",
        .inputs = {{"x", kN}, {"alpha", same_type_as("x")}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = broadcast_shape,
        .reference = binary<Prelu, float, double, int64_t, uint64_t>(),
        .body = "y = select(x < 0.0, alpha * x, x);",
        .spelled = {{nnef, "prelu"}, {onnx, "PRelu"}, {webnn, "prelu"}},
        .elementwise = true,
    },
    activation("leaky_relu", "x, below 0 alpha x.", "NNEF 1.0.5 leaky_relu; ONNX LeakyRelu-16; WebNN leakyRelu()", kF,
               attrs_of<LeakyReluAttrs>({field<&LeakyReluAttrs::alpha>("alpha", "Slope below 0.")}),
               typed<float, double>([]<class T>(Call& c) -> Status { return run_leaky_relu<T>(c); }),
               "y = select(x < 0.0, alpha * x, x);", {{nnef, "leaky_relu"}, {onnx, "LeakyRelu"}, {webnn, "leakyRelu"}}),
    activation("thresholded_relu", "x above alpha, else 0.", "ONNX ThresholdedRelu-22", kF, kAlphaFields,
               typed<float, double>([]<class T>(Call& c) -> Status { return run_thresholded_relu<T>(c); }),
               "y = select(x > alpha, x, 0.0);", {{onnx, "ThresholdedRelu", {}, 10}}),
    activation("shrink", "x moved toward 0 by bias where it lies beyond lambda, else 0.", "ONNX Shrink-9", kN,
               attrs_of<ShrinkAttrs>({field<&ShrinkAttrs::lambda>("lambda", "Half the width of what becomes 0."),
                                      field<&ShrinkAttrs::bias>("bias", "How far the rest moves.")}),
               typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_shrink<T>(c); }),
               "real = dtype(x) == 'f32' || dtype(x) == 'f64'; v = x if real else cast(x, to = 'f64'); "
               "up = x + bias if real else x if bias == 0.0 else cast(v + bias, to = dtype(x)); "
               "down = x - bias if real else x if bias == 0.0 else cast(v - bias, to = dtype(x)); "
               "y = select(v < -lambda, up, select(v > lambda, down, 0));",
               {{onnx, "Shrink", {{"lambda", "lambd"}}, 9}}),
    activation("hard_sigmoid", "alpha x + beta between 0 and 1.", "ONNX HardSigmoid-22; WebNN hardSigmoid()", kF,
               attrs_of<HardSigmoidAttrs>({field<&HardSigmoidAttrs::alpha>("alpha", "Slope."),
                                           field<&HardSigmoidAttrs::beta>("beta", "Value at 0.")}),
               in_double<HardSigmoidAttrs, hard_sigmoid>(), "y = max(min(alpha * x + beta, 1.0), 0.0);",
               {{onnx, "HardSigmoid"}, {webnn, "hardSigmoid"}}),
    activation("hard_swish", "x times (x + 3 between 0 and 6) / 6.", "ONNX HardSwish-22; WebNN hardSwish()", kF, kNone,
               in_double<hard_swish>(), "y = x * (max(min(x + 3.0, 6.0), 0.0) / 6.0);",
               {{onnx, "HardSwish", {}, 14}, {webnn, "hardSwish"}}),
    activation("mish", "x tanh(softplus(x)).", "ONNX Mish-22", kF, kNone, in_double<mish>(),
               "y = x * tanh(softplus(x));", {{onnx, "Mish", {}, 18}}),
    activation("softsign", "x / (1 + |x|).", "ONNX Softsign-22; WebNN softsign()", kF, kNone, in_double<softsign>(),
               "y = x / (1.0 + abs(x));", {{onnx, "Softsign"}, {webnn, "softsign"}}),
    {
        .name = "swiglu",
        .summary = "silu(x) y.",
        .source = "ONNX SwiGLU-28",
        .inputs = {{"x", kF}, {"y", same_type_as("x")}},
        .outputs = {{"z", same_type_as("x")}},
        .attrs = kAlphaFields,
        .infer = broadcast_shape,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_swiglu<T>(c); }),
        .body = "z = silu(x, alpha = alpha) * y;",
        .spelled = {{onnx, "SwiGLU", {}, 28}},
        .elementwise = true,
    },
};
}  // namespace

std::span<const OpDef> activation_ops() { return stored<kActivationOps>(); }

}  // namespace nnex
