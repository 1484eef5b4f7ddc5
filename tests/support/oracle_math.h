#pragma once
// Plain C++ oracles of kernels/simd/math-inl.h and unary-inl.h: one number at a time, the same roundings in the same
// order. fused = multiply-add rounds once, as on AVX2, AVX-512 and NEON.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/elementwise/unary.h"

namespace nnex::kernels::oracle {

template <bool fused>
float madd(float a, float b, float c) {
  if constexpr (fused) return std::fma(a, b, c);
  const float product = a * b;
  return product + c;
}
template <bool fused>
float nmadd(float a, float b, float c) {
  return madd<fused>(-a, b, c);
}

template <bool fused, size_t n>
float polynomial(const float (&highest_first)[n], float x) {
  float y = highest_first[0];
  for (size_t i = 1; i < n; ++i) y = madd<fused>(y, x, highest_first[i]);
  return y;
}

inline float power_of_two(int n) {
  const uint32_t bits = static_cast<uint32_t>(n + 127) << 23;
  float y;
  std::memcpy(&y, &bits, 4);
  return y;
}

/// x = n ln 2 + r; em1 = e^r - 1.
struct ExpParts {
  int n;
  float em1;
};
template <bool fused>
ExpParts exp_parts(float x) {
  const float n = madd<fused>(x, 1.44269504F, 12582912.0F) - 12582912.0F;
  const float r = nmadd<fused>(n, -2.12194440e-4F, nmadd<fused>(n, 0.693359375F, x));
  const float tail = polynomial<fused>({1.381453825160861e-3F, 8.36874544620514e-3F, 4.166838899254799e-2F,
                                        1.666652113199234e-1F, 4.999999403953552e-1F},
                                       r);
  return {static_cast<int>(n), madd<fused>(tail, r * r, r)};
}

template <bool fused>
float exp(float x) {
  if (x != x) return x;
  const ExpParts p = exp_parts<fused>(x < -104.0F ? -104.0F : x > 89.0F ? 89.0F : x);
  const int half = p.n >> 1;
  return (p.em1 + 1.0F) * power_of_two(half) * power_of_two(p.n - half);
}

template <bool fused>
float exp_inside(float x) {
  const ExpParts p = exp_parts<fused>(x);
  return (p.em1 + 1.0F) * power_of_two(p.n);
}

template <bool fused>
float exp_of_negative(float x) {
  if (x != x) return x;
  const ExpParts p = exp_parts<fused>(x < -88.0F ? -88.0F : x);
  return p.n == -127 ? 0.0F : madd<fused>(p.em1, power_of_two(p.n), power_of_two(p.n));
}

template <bool fused>
float expm1(float x) {
  if (x != x) return x;
  const ExpParts p = exp_parts<fused>(x < -18.0F ? -18.0F : x > 89.0F ? 89.0F : x);
  const float half_scale = power_of_two(p.n - 1);
  const float half = madd<fused>(half_scale, p.em1, half_scale - 0.5F);
  return half + half;
}

template <bool fused>
float log(float x) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  if (x != x || x == inf) return x;
  if (x == 0) return -inf;
  if (x < 0) return std::numeric_limits<float>::quiet_NaN();
  const bool small = x < 1.17549435e-38F;
  const float scaled = small ? x * 33554432.0F : x;
  int32_t bits;
  std::memcpy(&bits, &scaled, 4);
  const int32_t e = (bits - 0x3f3504f3) >> 23;
  bits -= e * (1 << 23);
  float m;
  std::memcpy(&m, &bits, 4);
  const float exponent = static_cast<float>(e) - (small ? 25.0F : 0.0F);
  const float f = m - 1.0F, f2 = f * f;
  const float q =
      polynomial<fused>({-7.635588198900223e-2F, 1.276330053806305e-1F, -1.3160595297813416e-1F, 1.4201557636260986e-1F,
                         -1.6623297333717346e-1F, 2.0001232624053955e-1F, -2.50008225440979e-1F, 3.333333134651184e-1F},
                        f);
  float y = q * f * f2;
  y = madd<fused>(exponent, -2.12194440e-4F, y);
  y = nmadd<fused>(0.5F, f2, y);
  y = y + f;
  return madd<fused>(exponent, 0.693359375F, y);
}

template <bool fused>
float log1p(float y) {
  const float u = 1.0F + y;
  if (u == 1.0F || y == std::numeric_limits<float>::infinity()) return y;
  return log<fused>(u) * (y / (u - 1.0F));
}

template <bool fused>
float log1p_of_unit(float e) {
  const float t = e / (e + 2.0F), z = t * t;
  const float q = polynomial<fused>(
      {2.801603376865387e-1F, 2.8001049160957336e-1F, 4.0021568536758423e-1F, 6.66664183139801e-1F}, z);
  return madd<fused>(q * z, t, t + t);
}

/// e^t - 1 with t = -2|x| = n ln 2 + 2 r: the polynomial of exp_parts in 2 r, less one rounding where it is not split.
template <bool fused>
float tanh(float x) {
  if (x != x) return x;
  const float minus = -std::fabs(x), inside = minus < -9.25F ? -9.25F : minus;
  const float n = madd<fused>(inside, 2.88539008F, 12582912.0F) - 12582912.0F;
  const float r = nmadd<fused>(n, 3.465735912322998e-1F, inside), scale = power_of_two(static_cast<int>(n));
  const float w = polynomial<fused>({64 * 1.381453825160861e-3F, 32 * 8.36874544620514e-3F, 16 * 4.166838899254799e-2F,
                                     8 * 1.666652113199234e-1F, 4 * 4.999999403953552e-1F, 2.0F},
                                    r);
  const float m = madd<fused>(scale * r, w, scale - 1.0F);
  return std::copysign(m / (m + 2.0F), x);
}

template <bool fused>
float erf(float x) {
  if (x != x) return x;
  const float a = std::fabs(x) > 3.95F ? 3.95F : std::fabs(x);
  if (a < 0.85F) {
    const float p = polynomial<fused>({-6.315254722721875e-4F, 5.051119718700647e-3F, -2.6802565902471542e-2F,
                                       1.1282718181610107e-1F, -3.761257231235504e-1F, 1.283791065216064e-1F},
                                      a * a);
    return std::copysign(madd<fused>(p, a, a), x);
  }
  const float h =
      polynomial<fused>({2.025284484261647e-4F, -3.1071887351572514e-3F, 2.247900888323784e-2F, -1.044480949640274e-1F,
                         -6.366015672683716e-1F, -1.1280155181884766F, -1.1469565652078018e-4F},
                        a);
  return std::copysign(1.0F - exp_inside<fused>(h), x);
}

template <bool fused>
float sigmoid(float x) {
  if (x != x) return x;
  const ExpParts p = exp_parts<fused>(x < -104.0F ? -104.0F : x > 20.0F ? 20.0F : x);
  const float e = madd<fused>(p.em1, power_of_two(p.n + 24), power_of_two(p.n + 24));
  return e / (power_of_two(24) + e);
}

/// x - n pi/2 in [-pi/4, pi/4], and n modulo 4: long multiplication of the mantissa with 256 bits of 2/pi.
inline double exact_remainder(float x, int* n) {
  constexpr uint32_t two_over_pi[8] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                       0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  int exponent;
  const uint64_t m = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 24));
  uint32_t product[9] = {};  // m times 2/pi: the first word is whole
  uint64_t carry = 0;
  for (int i = 7; i >= 0; --i) {
    carry += m * two_over_pi[i];
    product[i + 1] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  product[0] = static_cast<uint32_t>(carry);
  const int shift = exponent - 24;               // bit b of the product counts 2^(b's place + shift)
  const auto bit = [&](int place) -> uint32_t {  // place 0 counts 1, -1 counts 1/2
    const int at = 31 - (place - shift);
    return at < 0 || at >= 288 ? 0 : product[at / 32] >> (31 - at % 32) & 1;
  };
  int whole = static_cast<int>(2 * bit(1) + bit(0));
  double fraction = bit(-1) ? -0.5 : 0.0;
  whole += static_cast<int>(bit(-1));
  for (int k = 2; k <= 60; ++k) fraction += bit(-k) ? std::ldexp(1.0, -k) : 0.0;
  *n = x < 0 ? -whole : whole;
  return (x < 0 ? -fraction : fraction) * 1.5707963267948966;
}

/// sin(x + quarter pi/2). Beyond 12800 the reduction is exact in all but the last rounding.
template <bool fused>
float sin_shifted(float x, int quarter) {
  if (x != x || std::fabs(x) == std::numeric_limits<float>::infinity()) return std::numeric_limits<float>::quiet_NaN();
  int n;
  float r;
  if (std::fabs(x) <= 12800.0F) {
    const float whole = madd<fused>(x, 0.63661977F, 12582912.0F) - 12582912.0F;
    n = static_cast<int>(whole);
    r = nmadd<fused>(whole, 1.5703125F, x);
    r = nmadd<fused>(whole, 4.837512969970703e-4F, r);
    r = nmadd<fused>(whole, 7.549533620476723e-8F, r);
    r = nmadd<fused>(whole, 2.563344151594519e-12F, r);
  } else {
    int quotient;
    r = static_cast<float>(exact_remainder(x, &quotient));
    n = quotient;
  }
  n += quarter;
  const float z = r * r;
  const float s = madd<fused>(
      polynomial<fused>({-1.951463200384751e-4F, 8.332155644893646e-3F, -1.6666655242443085e-1F}, z) * z, r, r);
  const float c =
      madd<fused>(polynomial<fused>({2.4432411009911448e-5F, -1.3887309469282627e-3F, 4.166664555668831e-2F}, z) * z, z,
                  nmadd<fused>(0.5F, z, 1.0F));
  const float y = n & 1 ? c : r == 0 ? r : s;
  return n & 2 ? -y : y;
}

/// asin of a, or of sqrt((1 - a) / 2) where that is asked for; a in [0, 1].
template <bool fused>
float asin_of_part(float a, bool of_rest) {
  const float rest = nmadd<fused>(0.5F, a, 0.5F);
  const float z = of_rest ? rest : a * a, r = of_rest ? std::sqrt(rest) : a;
  return madd<fused>(polynomial<fused>({4.216628521680832e-2F, 2.4179525673389435e-2F, 4.547037556767464e-2F,
                                        7.495297491550446e-2F, 1.6666752099990845e-1F},
                                       z) *
                         z,
                     r, r);
}

template <bool fused>
float asin(float x) {
  const float a = std::fabs(x);
  const float p = asin_of_part<fused>(a, a > 0.5F);
  return x != x ? x : std::copysign(a > 0.5F ? nmadd<fused>(2.0F, p, 1.57079637F) : p, x);
}

template <bool fused>
float acos(float x) {
  const float a = std::fabs(x);
  const float p = asin_of_part<fused>(a, a > 0.5F);
  if (x != x) return x;
  if (a > 0.5F) return x < 0 ? 3.14159274F - (p + p + 8.74227766e-8F) : p + p;
  return 1.57079637F - (std::copysign(p, x) + 4.37113883e-8F);
}

template <bool fused>
float atan(float x) {
  const float a = std::fabs(x), t = a > 1.0F ? 1.0F / a : a, z = t * t;
  const float q = polynomial<fused>({-1.793593866750598e-3F, 1.0914481244981289e-2F, -3.1177613884210587e-2F,
                                     5.795735865831375e-2F, -8.403436839580536e-2F, 1.0952181369066238e-1F,
                                     -1.4264240860939026e-1F, 1.9998548924922943e-1F, -3.3333298563957214e-1F},
                                    z);
  const float p = madd<fused>(q * z, t, t);
  return x != x ? x : std::copysign(a > 1.0F ? 1.57079637F - p : p, x);
}

/// Of equal operands the second; NaN wins.
inline float maximum(float a, float b) { return a > b || a != a ? a : b; }
inline float minimum(float a, float b) { return a < b || a != a ? a : b; }

inline float clamp(float x, float low, float high) {
  const float above = x <= low ? low : x;
  return above >= high ? high : above;
}

template <bool fused>
float unary(const Unary& f, float x) {
  const float a = f.alpha, b = f.beta;
  switch (f.kind) {
    case UnaryKind::identity:
      return x;
    case UnaryKind::neg:
      return -x;
    case UnaryKind::abs:
      return std::fabs(x);
    case UnaryKind::sign:
      return x > 0 ? 1.0F : x < 0 ? -1.0F : x;
    case UnaryKind::sqrt:
      return std::sqrt(x);
    case UnaryKind::rsqrt:
      return std::isinf(x) ? 0.0F : 1.0F / std::sqrt(x + 0.0F);
    case UnaryKind::rcp:
      return 1.0F / x;
    case UnaryKind::square:
      return x * x;
    case UnaryKind::exp:
      return exp<fused>(x);
    case UnaryKind::log:
      return log<fused>(x);
    case UnaryKind::sin:
      return sin_shifted<fused>(x, 0);
    case UnaryKind::cos:
      return sin_shifted<fused>(x, 1);
    case UnaryKind::tanh:
      return tanh<fused>(x);
    case UnaryKind::sigmoid:
      return sigmoid<fused>(x);
    case UnaryKind::erf:
      return erf<fused>(x);
    case UnaryKind::asin:
      return asin<fused>(x);
    case UnaryKind::acos:
      return acos<fused>(x);
    case UnaryKind::atan:
      return atan<fused>(x);
    case UnaryKind::gelu_erf:
      return x * 0.5F * (1.0F + erf<fused>(x * 0.70710678F));
    case UnaryKind::gelu_tanh:
      return x * sigmoid<fused>(x * madd<fused>(x * x, 0.071354814F, 1.5957691F));
    case UnaryKind::gelu_sigmoid:
      return x * sigmoid<fused>(1.702F * x);
    case UnaryKind::silu:
      return x * sigmoid<fused>(a * x);
    case UnaryKind::sinh: {
      const float m = expm1<fused>(0.5F * std::fabs(x)), h = m + 1.0F, product = 0.5F * m * (h + 1.0F);
      return std::copysign(product * (1.0F + 1.0F / (h * h)), x);
    }
    case UnaryKind::cosh: {
      const float h = exp<fused>(0.5F * std::fabs(x));
      return madd<fused>(0.5F * h, h, 0.5F / (h * h));
    }
    case UnaryKind::asinh: {
      const float t = std::fabs(x), square = t * t, y = t + square / (1.0F + std::sqrt(square + 1.0F));
      return std::copysign(t > 1e8F ? log<fused>(t) + 0.69314718F : log1p<fused>(y), x);
    }
    case UnaryKind::acosh: {
      const float t = x - 1.0F;
      if (x < 1.0F) return std::numeric_limits<float>::quiet_NaN();
      return x > 1e8F ? log<fused>(x) + 0.69314718F : log1p<fused>(t + std::sqrt(t * (t + 2.0F)));
    }
    case UnaryKind::atanh: {
      const float t = std::fabs(x);
      return std::copysign(0.5F * log1p<fused>((t + t) / (1.0F - t)), x);
    }
    case UnaryKind::relu:
      return x != x ? f.nan : x <= 0 ? 0.0F : x;
    case UnaryKind::leaky_relu:
      return x < 0 ? a * x : x;
    case UnaryKind::thresholded_relu:
      return x > a ? x : 0.0F;
    case UnaryKind::elu:
      return x < 0 ? a * expm1<fused>(x) : x;
    case UnaryKind::selu:
      return b * (x < 0 ? a * expm1<fused>(x) : x);
    case UnaryKind::celu:
      return x < 0 ? a * expm1<fused>(x / a) : x;
    case UnaryKind::softplus:
      return (x <= 0 ? 0.0F : x) + log1p_of_unit<fused>(exp<fused>(-std::fabs(x)));
    case UnaryKind::softsign:
      return x / (1.0F + std::fabs(x));
    case UnaryKind::mish: {
      const float e = exp<fused>(x > 20.0F ? 20.0F : x), n = e * (e + 2.0F);
      return x * (n / (n + 2.0F));
    }
    case UnaryKind::hard_sigmoid:
      return clamp(a * x + b, 0.0F, 1.0F);
    case UnaryKind::hard_swish:
      return x * (clamp(x + 3.0F, 0.0F, 6.0F) / 6.0F);
    case UnaryKind::clamp:
      return x != x ? f.nan : clamp(x, a, b);
    case UnaryKind::floor:
      return std::floor(x);
    case UnaryKind::ceil:
      return std::ceil(x);
    case UnaryKind::round:
      return std::nearbyint(x);
    case UnaryKind::affine:
      return a * x + b;
    case UnaryKind::scaled_tanh:
      return a * tanh<fused>(b * x);
    case UnaryKind::count:
      break;
  }
  return 0;
}

}  // namespace nnex::kernels::oracle
