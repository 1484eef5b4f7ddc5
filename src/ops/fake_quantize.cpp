// Quantisation that stays in real numbers: every element moves to the nearest level.

#include <cmath>

#include "ops/elementwise.h"
#include "ops/infer_call.h"
#include "ops/quantize.h"
#include "ops/stored.h"

namespace nnex {
namespace {

template <class A>
Status infer_levels(InferCall& c) {
  const int64_t bits = c.attr<A>().bits;
  if (bits < 1 || bits > 32) return c.error("bits is {}; needed 1 to 32", bits);
  NNEX_TRY(broadcast_shape(c));
  if (!c.dims(0)) return {};
  MaybeDims both = c.dims(0);
  for (size_t i = 1; i < c.inputs(); ++i) {
    NNEX_ASSIGN(both, broadcast(c, both, c.dims(i)));
    if (both && both->size() != c.dims(0)->size())
      return c.error("{} {} has more axes than x {}", c.op().inputs[i].name, text(c.dims(i)), text(c.dims(0)));
  }
  c.result(0, c.dims(0));
  return {};
}

/// NNEF's clamp: by comparisons, which are false of NaN.
double clamped(double x, double low, double high) {
  x = x < high ? x : high;
  return x > low ? x : low;
}

double half_up(double x) {
  const double below = std::floor(x);
  return x - below >= 0.5 ? below + 1 : below;
}

/// Calls y[i] = f(x[i], a[i], b[i]) in double; a and b broadcast to x.
template <class T, class F>
Status levels(Call& c, const Tensor& a, const Tensor& b, F f) {
  for (const Tensor* t : {&a, &b})
    if (auto both = broadcast(c.shape(0), t->shape()); !both || !(*both == c.shape(0)))
      return c.fault("{} does not broadcast to x {}", t->shape().text(), c.shape(0).text());
  auto x = c.in<T>(0);
  auto y = c.out<T>(0);
  auto u = a.as<double>(), v = b.as<double>();
  BroadcastWalk<3>(c.shape(0), {&c.shape(0), &a.shape(), &b.shape()})
      .rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
        for (int64_t i = 0; i < n; ++i)
          y[static_cast<size_t>(at + i)] = static_cast<T>(
              f(static_cast<double>(x[static_cast<size_t>(from[0] + i * step[0])]),
                u[static_cast<size_t>(from[1] + i * step[1])], v[static_cast<size_t>(from[2] + i * step[2])]));
      });
  return {};
}

/// 2^bits - 1 levels above the lowest, one fewer where they are symmetric about 0; a range of no width gives low.
template <class T>
Status run_min_max(Call& c) {
  const auto& a = c.attr<RangeQuantizeAttrs>();
  const double steps = std::exp2(static_cast<double>(a.bits)) - 1 - (a.is_signed && a.symmetric ? 1 : 0);
  NNEX_ASSIGN(Tensor low, convert(c.in(1), DType::f64));
  NNEX_ASSIGN(Tensor high, convert(c.in(2), DType::f64));
  return levels<T>(c, low, high, [=](double x, double lo, double hi) {
    if (hi == lo || steps <= 0) return lo;
    return half_up((clamped(x, lo, hi) - lo) / (hi - lo) * steps) / steps * (hi - lo) + lo;
  });
}

template <class T>
Status run_zero_point(Call& c) {
  const auto& a = c.attr<RangeQuantizeAttrs>();
  const double top = std::exp2(static_cast<double>(a.bits - (a.is_signed ? 1 : 0))) - 1;
  const double bottom = !a.is_signed ? 0 : a.symmetric ? -top : -top - 1;
  NNEX_ASSIGN(Tensor zero, convert(c.in(1), DType::f64));
  NNEX_ASSIGN(Tensor scale, convert(c.in(2), DType::f64));
  return levels<T>(c, zero, scale,
                   [=](double x, double z, double s) { return (clamped(half_up(x / s) + z, bottom, top) - z) * s; });
}

/// The nearest power of two, of the 2^bits largest that reach high.
template <class T>
Status run_logarithmic(Call& c) {
  const double range = std::exp2(static_cast<double>(c.attr<LogQuantizeAttrs>().bits)) - 1;
  NNEX_ASSIGN(Tensor high, convert(c.in(1), DType::f64));
  return levels<T>(c, high, high, [=](double x, double top, double) {
    if (x == 0 || x != x) return x;
    const double m = std::ceil(std::log2(top));
    const double q = half_up(clamped(std::log2(std::fabs(x)), m - range, m));
    return std::copysign(std::exp2(q), x);
  });
}

constexpr AttrType kRangeFields = attrs_of<RangeQuantizeAttrs>(
    {field<&RangeQuantizeAttrs::bits>("bits", "Width of the codes.", required),
     field<&RangeQuantizeAttrs::is_signed>("signed", "Codes below zero exist.", required),
     field<&RangeQuantizeAttrs::symmetric>("symmetric", "As many codes below zero as above.", required)});

constexpr OpRow kFakeQuantizeOps[] = {
    {
        .name = "min_max_linear_quantize",
        .summary = "x moved to the nearest of evenly spaced levels from low to high.",
        .source = "NNEF 1.0.5 min_max_linear_quantize, linear_quantize",
        .inputs = {{"x", kF}, {"low", same_type_as("x")}, {"high", same_type_as("x")}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = kRangeFields,
        .infer = infer_levels<RangeQuantizeAttrs>,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_min_max<T>(c); }),
        .spelled = {{nnef, "min_max_linear_quantize", {{"low", "min"}, {"high", "max"}}},
                    {nnef,
                     "linear_quantize",
                     {{"low", "min"}, {"high", "max"}},
                     1,
                     "",
                     {{"signed", "false"}, {"symmetric", "false"}}}},
        .elementwise = true,
    },
    {
        .name = "zero_point_linear_quantize",
        .summary = "x moved to the nearest code: a whole number of scales from the zero point.",
        .source = "NNEF 1.0.5 zero_point_linear_quantize",
        .inputs = {{"x", kF}, {"zero", kI}, {"scale", same_type_as("x")}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = kRangeFields,
        .infer = infer_levels<RangeQuantizeAttrs>,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_zero_point<T>(c); }),
        .spelled = {{nnef, "zero_point_linear_quantize", {{"zero", "zero_point"}}}},
        .elementwise = true,
    },
    {
        .name = "logarithmic_quantize",
        .summary = "x moved to the nearest power of two; 0 stays.",
        .source = "NNEF 1.0.5 logarithmic_quantize",
        .inputs = {{"x", kF}, {"high", same_type_as("x")}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<LogQuantizeAttrs>({field<&LogQuantizeAttrs::bits>("bits", "Width of the codes.", required)}),
        .infer = infer_levels<LogQuantizeAttrs>,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_logarithmic<T>(c); }),
        .spelled = {{nnef, "logarithmic_quantize", {{"high", "max"}}}},
        .elementwise = true,
    },
};
}  // namespace

std::span<const OpDef> fake_quantize_ops() { return stored<kFakeQuantizeOps>(); }

}  // namespace nnex
