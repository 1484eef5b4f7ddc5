#pragma once
// The matrix product under matmul, linear and their integer relatives.

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/interrupt.h"
#include "ops/broadcast_walk.h"
#include "ops/infer_call.h"

namespace nnex {

/// Extents of the product of inputs a and b: numpy's rule, rank 1 operands included (the axis added is dropped);
/// the last two axes are exchanged first where asked. Errors: a scalar, inner extents that differ, batch axes that do
/// not broadcast.
Result<MaybeDims> product_dims(InferCall& c, size_t a, size_t b, bool transpose_a, bool transpose_b);

/// A matrix inside a tensor: element (i, j) lies at i * row + j * column.
struct MatrixSteps {
  int64_t row = 0, column = 0;
};

/// Where the matrices of a product lie in two tensors that fit (product_dims said so).
class Product {
 public:
  Product(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b);

  int64_t m = 1, k = 1, n = 1;
  MatrixSteps a_steps, b_steps;

  /// z = a b, row-major; z holds as many elements as product_dims says. Each is one chain of products added over
  /// ascending k; integers wrap.
  template <class T>
  void run(const T* a, const T* b, T* z) const {
    each_matrix([&](int64_t a_at, int64_t b_at, int64_t z_at) { matrix(a + a_at, b + b_at, z + z_at); });
  }

  /// Calls f(where its matrix of a begins, that of b, that of z) for every product.
  template <class F>
  void each_matrix(F f) const {
    BroadcastWalk<2>(batch_, {&a_batch_, &b_batch_})
        .rows([&](int64_t at, const auto& from, int64_t count, const auto& step) {
          for (int64_t i = 0; i < count; ++i)
            f((from[0] + i * step[0]) * m * k, (from[1] + i * step[1]) * k * n, (at + i) * m * n);
        });
  }

 private:
  template <class T>
  static T step(T sum, T x, T y) {
    if constexpr (std::is_same_v<T, int64_t>)
      return wrap_add(sum, wrap_mul(x, y));
    else if constexpr (std::is_same_v<T, int32_t>)
      return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
    else
      return sum + x * y;
  }

  template <class T>
  void matrix(const T* a, const T* b, T* z) const {
    if (k == 0) std::fill(z, z + m * n, T(0));
    if (k == 0 || n == 0) return;
    for (int64_t i = 0; i < m && !Interrupt::wanted(); ++i) {
      const T* row = a + i * a_steps.row;
      T* out = z + i * n;
      if (b_steps.column != 1 && n > 1) {
        for (int64_t j = 0; j < n; ++j) {
          T sum(0);
          for (int64_t p = 0; p < k; ++p)
            sum = step(sum, row[p * a_steps.column], b[p * b_steps.row + j * b_steps.column]);
          out[j] = sum;
        }
        continue;
      }
      for (int64_t j = 0; j < n; ++j) out[j] = T(0);
      for (int64_t p = 0; p < k; ++p) {
        const T x = row[p * a_steps.column];
        const T* line = b + p * b_steps.row;
        for (int64_t j = 0; j < n; ++j) out[j] = step(out[j], x, line[j]);
      }
    }
  }

  Shape a_batch_, b_batch_, batch_;
};

}  // namespace nnex
