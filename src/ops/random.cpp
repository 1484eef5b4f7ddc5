// Random tensors. Never folded, never merged.

#include "ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/answer.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/put.h"
#include "ops/random_bits.h"
#include "ops/stored.h"

namespace nnex {
namespace {

/// The extents that port `shape` holds.
template <class A>
Status infer_from_shape(InferCall& c) {
  const DType type = c.attr<A>().dtype;
  if (!is_float(type)) return c.error("dtype is {}; needed a float type", name(type));
  if (auto extents = c.values(0)) {
    for (const Dim& d : *extents)
      if (d.is_number() && d.value() < 0) return c.error("shape holds {}; needed 0 or more", d.value());
    c.result(0, std::move(extents));
    return {};
  }
  if (c.rank(0) && *c.rank(0) == 1 && (*c.dims(0))[0].is_number() && (*c.dims(0))[0].value() <= 64)
    c.result(0, c.unknowns_if_possible((*c.dims(0))[0].value()));
  else
    c.result(0, MaybeDims{});
  return {};
}

/// Output 0 of the shape at port 0, element i from number(i).
template <class F>
Status fill(Call& c, DType type, F number) {
  const Ints extents = ints_of(c.in(0));
  for (int64_t e : extents)
    if (e < 0) return c.fault("shape holds {}; needed 0 or more", e);
  const Shape shape(extents);
  NNEX_ASSIGN(Tensor y, Tensor::make(DType::f64, shape));
  auto v = y.mutable_as<double>();
  for (size_t i = 0; i < v.size(); ++i) v[i] = number(static_cast<uint64_t>(i));
  return put(c, 0, y, type, shape);
}

/// Least distance below 1 that type keeps: so many bits of a uniform number.
int uniform_bits(DType type) {
  switch (type) {
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    default:
      return 8;
  }
}

Status run_uniform(Call& c) {
  const auto& a = c.attr<UniformAttrs>();
  const RandomBits random(c.random, a.seed);
  const double steps = std::exp2(uniform_bits(a.dtype));
  NNEX_TRY(fill(c, a.dtype,
                [&](uint64_t i) { return a.low + std::floor(random.uniform(i) * steps) / steps * (a.high - a.low); }));
  if (!c.wants(0)) return {};
  // Rounding may have reached `high`, which is no result unless it is `low` too.
  Tensor& y = c.out(0);
  for (int64_t i = 0; i < y.count(); ++i)
    if (real_at(y, i) >= a.high && a.high > a.low) set_real(y, i, a.low);
  return {};
}

Status run_normal(Call& c) {
  const auto& a = c.attr<NormalAttrs>();
  const RandomBits random(c.random, a.seed);
  return fill(c, a.dtype, [&](uint64_t i) { return a.mean + a.scale * random.normal(i); });
}

Status infer_bernoulli(InferCall& c) {
  const DType type = c.attr<BernoulliAttrs>().dtype.value_or(c.dtype(0));
  c.result(0, type, c.dims(0));
  return {};
}

Status run_bernoulli(Call& c) {
  const RandomBits random(c.random, c.attr<BernoulliAttrs>().seed);
  const std::vector<double> x = reals_of(c.in(0));
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    for (size_t i = 0; i < y.size(); ++i) y[i] = random.uniform(i) < x[i];
    return {};
  });
}

Status infer_multinomial(InferCall& c) {
  const auto& a = c.attr<MultinomialAttrs>();
  if (a.dtype != DType::i32 && a.dtype != DType::i64) return c.error("dtype is {}; needed i32 or i64", name(a.dtype));
  if (a.samples < 0) return c.error("samples is {}; needed 0 or more", a.samples);
  NNEX_TRY(need_rank(c, 0, 2));
  c.result(0, Dims{c.dims(0) ? (*c.dims(0))[0] : c.unknown(), Dim(a.samples)});
  return {};
}

/// Draws from each row of unnormalised log-probabilities.
Status run_multinomial(Call& c) {
  const auto& a = c.attr<MultinomialAttrs>();
  const RandomBits random(c.random, a.seed);
  const Shape& shape = c.shape(0);
  const int64_t classes = shape[1];
  if (classes == 0 && shape[0] * a.samples > 0) return c.fault("x has no classes to draw from");
  Tensor& y = c.out(0);
  std::vector<double> sums(static_cast<size_t>(classes));
  Asked asked(c);
  for (int64_t row = 0; row < shape[0]; ++row) {
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t k = 0; k < classes; ++k) top = std::fmax(top, real_at(c.in(0), row * classes + k));
    for (int64_t k = 0; k < classes; ++k) {
      const double weight = std::exp(real_at(c.in(0), row * classes + k) - top);
      sums[static_cast<size_t>(k)] = total += weight > 0 ? weight : 0;
    }
    for (int64_t s = 0; s < a.samples; ++s) {
      const int64_t at = row * a.samples + s;
      const double draw = random.uniform(static_cast<uint64_t>(at)) * total;
      const auto found = std::upper_bound(sums.begin(), sums.end(), draw);
      set_int(y, at, std::min<int64_t>(found - sums.begin(), classes - 1));
      NNEX_TRY(asked.now_and_then(16));
    }
  }
  return {};
}

constexpr Port kShapePort = {.name = "shape", .type = kIndex, .by_value = true, .doc = "Extents of the result."};

constexpr OpRow kRandomOps[] = {
    {
        .name = "random_uniform",
        .summary = "Numbers from [low, high), each equally likely.",
        .source = "ONNX RandomUniform-22, RandomUniformLike-22",
        .inputs = {kShapePort},
        .outputs = {{"y", type_among(kN | kB, "dtype")}},
        .attrs = attrs_of<UniformAttrs>({field<&UniformAttrs::low>("low", "Least number."),
                                         field<&UniformAttrs::high>("high", "End of the range, not reached."),
                                         field<&UniformAttrs::dtype>("dtype", "Element type."),
                                         field<&UniformAttrs::seed>("seed", "Absent: the session's.")}),
        .infer = infer_from_shape<UniformAttrs>,
        .reference = any(run_uniform),
        .spelled = {{onnx, "RandomUniform", {{"shape", "shape"}, {"dtype", "dtype", &onnx_dtype}}}},
        .pure = false,
    },
    {
        .name = "random_normal",
        .summary = "Numbers of a normal distribution.",
        .source = "ONNX RandomNormal-22, RandomNormalLike-22",
        .inputs = {kShapePort},
        .outputs = {{"y", type_among(kN | kB, "dtype")}},
        .attrs = attrs_of<NormalAttrs>({field<&NormalAttrs::mean>("mean", "Mean."),
                                        field<&NormalAttrs::scale>("scale", "Standard deviation."),
                                        field<&NormalAttrs::dtype>("dtype", "Element type."),
                                        field<&NormalAttrs::seed>("seed", "Absent: the session's.")}),
        .infer = infer_from_shape<NormalAttrs>,
        .reference = any(run_normal),
        .spelled = {{onnx, "RandomNormal", {{"shape", "shape"}, {"dtype", "dtype", &onnx_dtype}}}},
        .pure = false,
    },
    {
        .name = "bernoulli",
        .summary = "1 with the probability that x gives, else 0.",
        .source = "ONNX Bernoulli-22",
        .inputs = {{"x", kF}},
        .outputs = {{"y", type_among(kN | kB, "dtype", "x")}},
        .attrs = attrs_of<BernoulliAttrs>({field<&BernoulliAttrs::dtype>("dtype", "Element type; absent: x's."),
                                           field<&BernoulliAttrs::seed>("seed", "Absent: the session's.")}),
        .infer = infer_bernoulli,
        .reference = any(run_bernoulli),
        .spelled = {{onnx, "Bernoulli", {{"dtype", "dtype", &onnx_dtype}}, 15}},
        .pure = false,
    },
    {
        .name = "multinomial",
        .summary = "Classes drawn from rows of unnormalised log-probabilities.",
        .source = "ONNX Multinomial-22",
        .inputs = {{"x", kF}},
        .outputs = {{"y", type_among(kN | kB, "dtype")}},
        .attrs = attrs_of<MultinomialAttrs>({field<&MultinomialAttrs::samples>("samples", "Draws from each row."),
                                             field<&MultinomialAttrs::dtype>("dtype", "Element type, i32 or i64."),
                                             field<&MultinomialAttrs::seed>("seed", "Absent: the session's.")}),
        .infer = infer_multinomial,
        .reference = any(run_multinomial),
        .spelled = {{onnx, "Multinomial", {{"samples", "sample_size"}, {"dtype", "dtype", &onnx_dtype}}, 7}},
        .pure = false,
    },
};
}  // namespace

std::span<const OpDef> random_ops() { return stored<kRandomOps>(); }

}  // namespace nnex
