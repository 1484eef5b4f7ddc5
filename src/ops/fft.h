#pragma once
// The discrete Fourier transform of one row of complex numbers, of any length, in f64.

#include <cstdint>
#include <vector>

#include "nnex/tensor.h"

namespace nnex {

struct Complex {
  double re = 0, im = 0;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/// y[k] = sum over t of x[t] exp(-2 pi i k t / n) in O(n log n) steps: mixed radix where every prime factor of n is
/// small, else by a convolution of a power of two (Bluestein 1970).
class Fft {
 public:
  /// n >= 1. Errors: limit when the tables cannot be had; cancelled.
  static Result<Fft> make(int64_t n);

  int64_t size() const { return n_; }
  /// x and y hold n numbers each and do not overlap. Where the run shall stop (base/interrupt.h), y is anything.
  void run(const Complex* x, Complex* y);

 private:
  void pass(const Complex* x, Complex* y, int64_t stride, size_t level) const;
  void butterflies(Complex* y, int64_t stride, int64_t radix, int64_t m) const;
  void any_butterflies(Complex* y, int64_t stride, int64_t radix, int64_t m) const;
  Status make_chirp();

  int64_t n_ = 1;
  std::vector<int64_t> radices_;  ///< Their product is n; empty with a chirp.
  Tensor turns_;                  ///< exp(-2 pi i k / n).
  // Bluestein: y = chirp * (spectrum of (x chirp)) * the chirp's own spectrum, back again.
  std::vector<Fft> inner_;  ///< One, of a power of two.
  Tensor chirp_, chirp_spectrum_, scratch_;
};

/// exp(-2 pi i k / n) for 0 <= k < n: exact on the axes and diagonals, symmetric between octants.
Complex turn(int64_t k, int64_t n);

}  // namespace nnex
