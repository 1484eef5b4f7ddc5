#pragma once
// Plain C++ oracles of the row loops: 16 partials, one tree (kernels/reduce/reduce_kind.h).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/reduce/reduce_kind.h"
#include "oracle_math.h"

namespace nnex::kernels::oracle {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Takes x[i] into partial i % 16 by take, then joins.
template <class Take, class Join>
float fold(const float* x, size_t n, float start, Take take, Join join) {
  float p[16];
  std::fill_n(p, 16, start);
  for (size_t i = 0; i < n; ++i) p[i % 16] = take(p[i % 16], x[i]);
  for (size_t step : {8, 4, 2, 1})
    for (size_t j = 0; j < step; ++j) p[j] = join(p[j], p[j + step]);
  return p[0];
}

inline float add(float a, float b) { return a + b; }

template <bool fused>
float take(ReduceKind kind, float a, float x) {
  switch (kind) {
    case ReduceKind::product:
      return a * x;
    case ReduceKind::max:
      return maximum(a, x);
    case ReduceKind::min:
      return minimum(a, x);
    case ReduceKind::sum_squares:
    case ReduceKind::l2:
      return madd<fused>(x, x, a);
    case ReduceKind::sum_abs:
      return a + std::fabs(x);
    default:
      return a + x;
  }
}
inline float join(ReduceKind kind, float a, float b) {
  switch (kind) {
    case ReduceKind::product:
      return a * b;
    case ReduceKind::max:
      return maximum(a, b);
    case ReduceKind::min:
      return minimum(a, b);
    default:
      return a + b;
  }
}
inline float start(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::product:
      return 1;
    case ReduceKind::max:
      return -kInf;
    case ReduceKind::min:
      return kInf;
    default:
      return 0;
  }
}

template <bool fused>
float reduce(ReduceKind kind, const float* x, size_t n) {
  return fold(
      x, n, start(kind), [&](float a, float v) { return take<fused>(kind, a, v); },
      [&](float a, float b) { return join(kind, a, b); });
}

template <bool fused>
float reduce_column(ReduceKind kind, const float* x, size_t stride, size_t rows) {
  float total = start(kind);
  for (size_t r0 = 0; r0 < rows; r0 += 128) {
    float chain = start(kind);
    for (size_t r = r0; r < std::min(rows, r0 + 128); ++r) chain = take<fused>(kind, chain, x[r * stride]);
    total = r0 == 0 ? chain : join(kind, total, chain);
  }
  return total;
}

template <bool fused>
std::vector<float> softmax(bool logarithm, const std::vector<float>& x) {
  const float top = fold(x.data(), x.size(), -kInf, maximum, maximum);
  std::vector<float> e(x.size()), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) e[i] = exp_of_negative<fused>(x[i] - top);
  const float sum = fold(e.data(), e.size(), 0.0F, add, add), scale = 1.0F / sum, log_sum = log<fused>(sum);
  for (size_t i = 0; i < x.size(); ++i) y[i] = logarithm ? x[i] - top - log_sum : e[i] * scale;
  return y;
}

template <bool fused>
float log_sum_exp(const std::vector<float>& x) {
  const float top = fold(x.data(), x.size(), -kInf, maximum, maximum);
  std::vector<float> e(x.size());
  for (size_t i = 0; i < x.size(); ++i) e[i] = exp_of_negative<fused>(x[i] - top);
  return top + log<fused>(fold(e.data(), e.size(), 0.0F, add, add));
}

template <bool fused>
std::vector<float> softmax_column(bool logarithm, const std::vector<float>& x) {
  float top = x[0];
  for (size_t i = 1; i < x.size(); ++i) top = maximum(top, x[i]);
  std::vector<float> y(x.size());
  float sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += y[i] = exp_of_negative<fused>(x[i] - top);
  const float scale = 1.0F / sum, log_sum = log<fused>(sum);
  for (size_t i = 0; i < x.size(); ++i) y[i] = logarithm ? x[i] - top - log_sum : y[i] * scale;
  return y;
}

}  // namespace nnex::kernels::oracle
