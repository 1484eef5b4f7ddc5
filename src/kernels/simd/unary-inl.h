// The functions of kernels/elementwise/unary.h on one vector of float32; simple ones round as their formula reads, so
// they are the same everywhere, the others take M (Fused or Exact). Included by files under simd/ inside
// foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_SIMD_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_UNARY_INL_H_
#undef NNEX_KERNELS_SIMD_UNARY_INL_H_
#else
#define NNEX_KERNELS_SIMD_UNARY_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/elementwise/unary.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/trig-inl.h"
#include "ops/built.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Of equal operands the second; NaN wins.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V max_f32(D d, V a, V b) {
  (void)d;
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V min_f32(D d, V a, V b) {
  (void)d;
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V relu_f32(D d, V x) {
  return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
}

/// x where x >= 0 or NaN, else `negative`.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V where_negative(D d, V x, V negative) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, x);
}

/// min(max(x, low), high); a NaN x stays, a NaN limit does nothing, of equal numbers the limit's zero wins.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clamp_f32(D d, V x, V low, V high) {
  (void)d;
  const V above = hn::IfThenElse(hn::Le(x, low), low, x);
  return hn::IfThenElse(hn::Ge(above, high), high, above);
}

/// x, but `instead` for a NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V without_nan(D d, V x, V instead) {
  (void)d;
  return hn::IfThenElse(hn::IsNaN(x), instead, x);
}

/// IEEE's pow(x, -0.5): 0 for both infinities, infinity for both zeros.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V rsqrt_f32(D d, V x) {
  const V root = hn::Sqrt(hn::Add(x, hn::Zero(d)));
  return hn::IfThenZeroElse(hn::Eq(x, hn::Set(d, -__builtin_huge_valf())), hn::Div(hn::Set(d, 1.0F), root));
}

/// Within 4 units in the last place, as sinh. With h = e^(|x| / 2), which no finite result overflows.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V cosh_f32(D d, V x) {
  const V half = hn::Set(d, 0.5F);
  const V h = exp_f32<M>(d, hn::Mul(half, hn::Abs(x)));
  return M::madd(hn::Mul(half, h), h, hn::Div(half, hn::Mul(h, h)));
}

/// With m = h - 1 and so m (m + 2) = h h - 1: keeps small numbers.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V sinh_f32(D d, V x) {
  const V half = hn::Set(d, 0.5F), one = hn::Set(d, 1.0F);
  const V m = expm1_f32<M>(d, hn::Mul(half, hn::Abs(x)));
  const V h = hn::Add(m, one);
  const V product = hn::Mul(hn::Mul(half, m), hn::Add(h, one));
  return hn::CopySign(hn::Mul(product, hn::Add(one, hn::Div(one, hn::Mul(h, h)))), x);
}

/// log(1 + y) for y of 0 and more, or NaN where 1 + y is negative. What 1 + y lost is made good by the quotient.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_f32(D d, V y) {
  const V one = hn::Set(d, 1.0F), u = hn::Add(one, y);
  const V log = hn::Mul(log_f32<M>(d, u), hn::Div(y, hn::Sub(u, one)));
  return hn::IfThenElse(hn::Or(hn::Eq(u, one), hn::Eq(y, hn::Set(d, __builtin_huge_valf()))), y, log);
}

/// log(2 x), which `near` becomes where x is so large that nothing else counts.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V far_f32(D d, V x, V near) {
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 1e8F)), hn::Add(log_f32<M>(d, x), hn::Set(d, 0.69314718F)), near);
}

/// Within 4 units in the last place, as acosh and atanh.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V asinh_f32(D d, V x) {
  const V one = hn::Set(d, 1.0F), t = hn::Abs(x), square = hn::Mul(t, t);
  const V y = hn::Add(t, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one)))));
  return hn::CopySign(far_f32<M>(d, t, log1p_f32<M>(d, y)), x);
}

template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V acosh_f32(D d, V x) {
  const V one = hn::Set(d, 1.0F), t = hn::Sub(x, one);
  const V y = hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, 2.0F)))));
  const V result = far_f32<M>(d, x, log1p_f32<M>(d, y));
  return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), result);
}

template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V atanh_f32(D d, V x) {
  const V one = hn::Set(d, 1.0F), t = hn::Abs(x);
  const V twice = log1p_f32<M>(d, hn::Div(hn::Add(t, t), hn::Sub(one, t)));
  return hn::CopySign(hn::Mul(hn::Set(d, 0.5F), twice), x);
}

template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_erf_f32(D d, V x) {
  const V half = hn::Mul(x, hn::Set(d, 0.5F));
  return hn::Mul(half, hn::Add(hn::Set(d, 1.0F), erf_f32<M>(d, hn::Mul(x, hn::Set(d, 0.70710678F)))));
}

/// x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), which equals the form with tanh and keeps small results.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh_f32(D d, V x) {
  const V inner = M::madd(hn::Mul(x, x), hn::Set(d, 0.071354814F), hn::Set(d, 1.5957691F));
  return hn::Mul(x, sigmoid_f32<M>(d, hn::Mul(x, inner)));
}

template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V silu_f32(D d, V x, V alpha) {
  return hn::Mul(x, sigmoid_f32<M>(d, hn::Mul(alpha, x)));
}

template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V softplus_f32(D d, V x) {
  const V tail = log1p_of_unit<M>(d, exp_f32<M>(d, hn::Neg(hn::Abs(x))));
  return hn::Add(hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x), tail);
}

/// With e = e^x and n = e (e + 2): tanh(log(1 + e)) = n / (n + 2).
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V mish_f32(D d, V x) {
  const V two = hn::Set(d, 2.0F);
  const V e = exp_f32<M>(d, hn::IfThenElse(hn::Gt(x, hn::Set(d, 20.0F)), hn::Set(d, 20.0F), x));
  const V n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_sigmoid_f32(D d, V x, V alpha, V beta) {
  return clamp_f32(d, hn::Add(hn::Mul(alpha, x), beta), hn::Zero(d), hn::Set(d, 1.0F));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_swish_f32(D d, V x) {
  const V six = hn::Set(d, 6.0F);
  const V gate = clamp_f32(d, hn::Add(x, hn::Set(d, 3.0F)), hn::Zero(d), six);
  return hn::Mul(x, hn::Div(gate, six));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sign_f32(D d, V x) {
  const auto nonzero = hn::Ne(x, hn::Zero(d));
  return hn::IfThenElse(hn::AndNot(hn::IsNaN(x), nonzero), hn::CopySign(hn::Set(d, 1.0F), x), x);
}

/// Calls `use` with the vector function of f.kind: the switch stands outside the loop.
template <class M, class D, class Use>
HWY_INLINE void with_unary(D d, const Unary& f, Use use) {
  using V = hn::Vec<D>;
  const V alpha = hn::Set(d, f.alpha), beta = hn::Set(d, f.beta), nan = hn::Set(d, f.nan);
  if (f.replaces_nan() && f.kind == UnaryKind::relu)
    return use([&](V x) HWY_ATTR { return without_nan(d, relu_f32(d, x), nan); });
  if (f.replaces_nan() && f.kind == UnaryKind::clamp)
    return use([&](V x) HWY_ATTR { return without_nan(d, clamp_f32(d, x, alpha, beta), nan); });
#define NNEX_CASE(kind, formula) \
  case UnaryKind::kind:          \
    return use([&](V x) HWY_ATTR { return formula; })
// Of kinds that the kernels of one row alone ask for.
#define NNEX_CASE_OF(row, kind, formula)                                     \
  case UnaryKind::kind:                                                      \
    if constexpr (is_built(row)) use([&](V x) HWY_ATTR { return formula; }); \
    return
  switch (f.kind) {
    NNEX_CASE(identity, x);
    NNEX_CASE(neg, hn::Neg(x));
    NNEX_CASE(abs, hn::Abs(x));
    NNEX_CASE(sign, sign_f32(d, x));
    NNEX_CASE(sqrt, hn::Sqrt(x));
    NNEX_CASE(rsqrt, rsqrt_f32(d, x));
    NNEX_CASE(rcp, hn::Div(hn::Set(d, 1.0F), x));
    NNEX_CASE(square, hn::Mul(x, x));
    NNEX_CASE_OF("exp", exp, exp_f32<M>(d, x));
    NNEX_CASE(log, log_f32<M>(d, x));
    NNEX_CASE_OF("sin", sin, sin_f32<M>(d, x));
    NNEX_CASE_OF("cos", cos, cos_f32<M>(d, x));
    NNEX_CASE_OF("sinh", sinh, sinh_f32<M>(d, x));
    NNEX_CASE_OF("cosh", cosh, cosh_f32<M>(d, x));
    NNEX_CASE_OF("asinh", asinh, asinh_f32<M>(d, x));
    NNEX_CASE_OF("acosh", acosh, acosh_f32<M>(d, x));
    NNEX_CASE_OF("atanh", atanh, atanh_f32<M>(d, x));
    NNEX_CASE(tanh, tanh_f32<M>(d, x));
    NNEX_CASE(sigmoid, sigmoid_f32<M>(d, x));
    NNEX_CASE_OF("erf", erf, erf_f32<M>(d, x));
    NNEX_CASE_OF("asin", asin, asin_f32<M>(d, x));
    NNEX_CASE_OF("acos", acos, acos_f32<M>(d, x));
    NNEX_CASE_OF("atan", atan, atan_f32<M>(d, x));
    NNEX_CASE_OF("gelu", gelu_erf, gelu_erf_f32<M>(d, x));
    NNEX_CASE_OF("gelu", gelu_tanh, gelu_tanh_f32<M>(d, x));
    NNEX_CASE_OF("gelu", gelu_sigmoid, silu_f32<M>(d, x, hn::Set(d, 1.702F)));
    NNEX_CASE_OF("silu", silu, silu_f32<M>(d, x, alpha));
    NNEX_CASE(relu, relu_f32(d, x));
    NNEX_CASE(leaky_relu, where_negative(d, x, hn::Mul(alpha, x)));
    NNEX_CASE(thresholded_relu, hn::IfThenElseZero(hn::Gt(x, alpha), x));
    NNEX_CASE_OF("elu", elu, where_negative(d, x, hn::Mul(alpha, expm1_f32<M>(d, x))));
    NNEX_CASE_OF("selu", selu, hn::Mul(beta, where_negative(d, x, hn::Mul(alpha, expm1_f32<M>(d, x)))));
    NNEX_CASE_OF("celu", celu, where_negative(d, x, hn::Mul(alpha, expm1_f32<M>(d, hn::Div(x, alpha)))));
    NNEX_CASE_OF("softplus", softplus, softplus_f32<M>(d, x));
    NNEX_CASE(softsign, hn::Div(x, hn::Add(hn::Set(d, 1.0F), hn::Abs(x))));
    NNEX_CASE_OF("mish", mish, mish_f32<M>(d, x));
    NNEX_CASE(hard_sigmoid, hard_sigmoid_f32(d, x, alpha, beta));
    NNEX_CASE(hard_swish, hard_swish_f32(d, x));
    NNEX_CASE(clamp, clamp_f32(d, x, alpha, beta));
    NNEX_CASE(floor, hn::CopySign(hn::Floor(x), x));  // scalar code loses the sign of zero
    NNEX_CASE(ceil, hn::CopySign(hn::Ceil(x), x));
    NNEX_CASE(round, hn::CopySign(hn::Round(x), x));
    NNEX_CASE(affine, hn::Add(hn::Mul(alpha, x), beta));
    NNEX_CASE(scaled_tanh, hn::Mul(alpha, tanh_f32<M>(d, hn::Mul(beta, x))));
    case UnaryKind::count:
      break;
  }
#undef NNEX_CASE
#undef NNEX_CASE_OF
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
