#include "ops/fft.h"

#include <array>
#include <cmath>

#include "base/interrupt.h"
#include "base/try.h"

namespace nnex {
namespace {

constexpr int64_t kMaxRadix = 61;

constexpr int64_t kLong = 1 << 16;  ///< From so many numbers on it is asked whether the run shall stop.

Status wanted_at(int64_t k) {
  if (k % kLong != kLong - 1 || !Interrupt::wanted()) return {};
  return Error(Code::cancelled, "the run was cancelled or passed its deadline");
}

Result<Tensor> room(int64_t n) { return Tensor::make(DType::f64, Shape{n, 2}); }
Complex* numbers(Tensor& t) { return reinterpret_cast<Complex*>(t.mutable_data()); }
const Complex* numbers(const Tensor& t) { return reinterpret_cast<const Complex*>(t.data()); }

}  // namespace

Complex turn(int64_t k, int64_t n) {
  const __int128 eighths = static_cast<__int128>(k) * 8;
  const auto octant = static_cast<int>(eighths / n);
  const auto rest = static_cast<int64_t>(eighths % n);
  const double angle = M_PI / 4 * static_cast<double>(octant % 2 ? n - rest : rest) / static_cast<double>(n);
  const double c = std::cos(angle), s = std::sin(angle);
  switch (octant) {
    case 0:
      return {c, -s};
    case 1:
      return {s, -c};
    case 2:
      return {-s, -c};
    case 3:
      return {-c, -s};
    case 4:
      return {-c, s};
    case 5:
      return {-s, c};
    case 6:
      return {s, c};
    default:
      return {c, s};
  }
}

Result<Fft> Fft::make(int64_t n) {
  Fft f;
  f.n_ = n;
  int64_t rest = n;
  for (int64_t p : {4, 2, 3, 5})
    for (; rest % p == 0; rest /= p) f.radices_.push_back(p);
  for (int64_t p = 7; p <= kMaxRadix; p += 2)
    for (; rest % p == 0; rest /= p) f.radices_.push_back(p);
  if (rest > 1) {
    f.radices_.clear();
    NNEX_TRY(f.make_chirp());
    return f;
  }
  NNEX_ASSIGN(f.turns_, room(n));
  for (int64_t k = 0; k < n; ++k) {
    numbers(f.turns_)[k] = turn(k, n);
    NNEX_TRY(wanted_at(k));
  }
  return f;
}

/// chirp[k] = exp(-pi i k^2 / n). With k t = (k^2 + t^2 - (k - t)^2) / 2 the transform is a convolution of x chirp with
/// the conjugate chirp, which a cyclic one of at least 2 n - 1 places holds.
Status Fft::make_chirp() {
  int64_t m = 1;
  while (m < 2 * n_ - 1) m *= 2;
  NNEX_ASSIGN(Fft inner, Fft::make(m));
  NNEX_ASSIGN(chirp_, room(n_));
  NNEX_ASSIGN(chirp_spectrum_, room(m));
  NNEX_ASSIGN(scratch_, room(2 * m));
  Complex* chirp = numbers(chirp_);
  int64_t square = 0;  // k^2 mod 2 n
  for (int64_t k = 0; k < n_; ++k) {
    chirp[k] = turn(square, 2 * n_);
    square = (square + 2 * k + 1) % (2 * n_);
    NNEX_TRY(wanted_at(k));
  }
  Complex* wave = numbers(scratch_);
  std::fill_n(wave, m, Complex{});
  for (int64_t k = 0; k < n_; ++k) wave[k] = wave[(m - k) % m] = {chirp[k].re, -chirp[k].im};
  inner.run(wave, numbers(chirp_spectrum_));
  inner_.push_back(std::move(inner));
  return {};
}

void Fft::run(const Complex* x, Complex* y) {
  if (inner_.empty()) {
    y[0] = x[0];
    if (n_ > 1) pass(x, y, 1, 0);
    return;
  }
  Fft& inner = inner_[0];
  const int64_t m = inner.size();
  const Complex *chirp = numbers(chirp_), *filter = numbers(chirp_spectrum_);
  Complex *wave = numbers(scratch_), *spectrum = wave + m;
  for (int64_t k = 0; k < n_; ++k) wave[k] = x[k] * chirp[k];
  std::fill(wave + n_, wave + m, Complex{});
  inner.run(wave, spectrum);
  for (int64_t k = 0; k < m; ++k) {
    const Complex p = spectrum[k] * filter[k];
    spectrum[k] = {p.re, -p.im};  // back: conjugate, forth, conjugate
  }
  inner.run(spectrum, wave);
  const double scale = 1 / static_cast<double>(m);
  for (int64_t k = 0; k < n_; ++k) y[k] = Complex{wave[k].re * scale, -wave[k].im * scale} * chirp[k];
}

/// y[0, n / stride) = the transform of x[0], x[stride], ...: of `radix` interleaved rows, then joined.
void Fft::pass(const Complex* x, Complex* y, int64_t stride, size_t level) const {
  const int64_t radix = radices_[level], m = n_ / stride / radix;
  if (m * radix >= kLong && Interrupt::wanted()) return;  // what is made then is thrown away
  for (int64_t k = 0; k < radix; ++k) {
    if (m == 1)
      y[k] = x[k * stride];
    else
      pass(x + k * stride, y + k * m, stride * radix, level + 1);
  }
  butterflies(y, stride, radix, m);
}

/// y[j m + i] = sum over k of w^(k (i + j m)) y[k m + i], with w the turn of a row of radix * m.
void Fft::butterflies(Complex* y, int64_t stride, int64_t radix, int64_t m) const {
  const Complex* w = numbers(turns_);
  const auto joined = [y, m](int64_t i, Complex t0, Complex t1, Complex t2, Complex t3) {
    const Complex a = t0 + t2, b = t0 - t2, c = t1 + t3, d = t1 - t3;
    y[i] = a + c, y[2 * m + i] = a - c;
    y[m + i] = {b.re + d.im, b.im - d.re}, y[3 * m + i] = {b.re - d.im, b.im + d.re};
  };
  if (radix == 4) {
    joined(0, y[0], y[m], y[2 * m], y[3 * m]);
    for (int64_t i = 1, at = stride; i < m; ++i, at += stride)
      joined(i, y[i], y[m + i] * w[at], y[2 * m + i] * w[2 * at], y[3 * m + i] * w[3 * at]);
  } else if (radix == 2) {
    for (int64_t i = 0, at = 0; i < m; ++i, at += stride) {
      const Complex a = y[i], b = i == 0 ? y[m] : y[m + i] * w[at];
      y[i] = a + b, y[m + i] = a - b;
    }
  } else {
    any_butterflies(y, stride, radix, m);
  }
}

void Fft::any_butterflies(Complex* y, int64_t stride, int64_t radix, int64_t m) const {
  const Complex* w = numbers(turns_);
  const int64_t whole = n_ / radix;
  std::array<Complex, kMaxRadix> t;
  for (int64_t i = 0; i < m; ++i) {
    t[0] = y[i];
    for (int64_t k = 1; k < radix; ++k)
      t[static_cast<size_t>(k)] = i == 0 ? y[k * m] : y[k * m + i] * w[stride * k * i];
    for (int64_t j = 0; j < radix; ++j) {
      Complex sum = t[0];
      for (int64_t k = 1, at = j; k < radix; ++k, at = at + j < radix ? at + j : at + j - radix)
        sum = sum + t[static_cast<size_t>(k)] * w[at * whole];
      y[j * m + i] = sum;
    }
  }
}

}  // namespace nnex
