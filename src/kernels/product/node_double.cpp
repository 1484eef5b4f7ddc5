// Products of doubles, of matrices as they lie; b is transposed first where its rows are not dense: once, where it is a
// constant.

#include <fmt/format.h>

#include <cstring>

#include "base/interrupt.h"
#include "base/try.h"
#include "kernels/kernel.h"
#include "kernels/simd/loops.h"
#include "kernels/split.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/product.h"

namespace nnex {
namespace {

constexpr int64_t kRowsAtOnce = 48;  // between two looks at the clock

/// Whether the rows of b are not dense.
bool is_transposed(const Product& p) { return p.b_steps.column != 1 && p.n > 1; }

/// Rows of one matrix of b from `begin` up to `end`; b may be unaligned.
void transpose_rows(const Product& p, const std::byte* b, double* rows, int64_t begin, int64_t end) {
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t q = begin; q < end; ++q)
      std::memcpy(rows + q * p.n + j, b + (q * p.b_steps.row + j * p.b_steps.column) * 8, 8);
}

class DoubleProductKernel : public Kernel {
 public:
  DoubleProductKernel(const simd::Loops& loops, const Product& product, Packs::Bytes b)
      : loops_(loops), product_(product), b_(std::move(b)) {}

  bool packed(size_t input) const override { return b_ && input == 1; }
  int64_t workspace() const override { return is_transposed(product_) && !b_ ? product_.k * product_.n * 8 : 0; }

  Status run(Call& c) const override {
    const double* const a = c.in<double>(0).data();
    double* const z = c.out<double>(0).data();
    product_.each_matrix(
        [&](int64_t a_at, int64_t b_at, int64_t z_at) { multiply(c, a + a_at, dense_rows(c, b_at), z + z_at); });
    if (!c.has(2)) return {};
    const Shape& shape = c.out(0).shape();
    const std::span<const double> sums(z, c.out<double>(0).size());
    map_two(sums, shape, c.in<double>(2), c.shape(2), c.out<double>(0), shape,
            [](double sum, double bias) { return sum + bias; });
    return {};
  }

 private:
  const double* dense_rows(Call& c, int64_t at) const {
    if (b_) return reinterpret_cast<const double*>(b_.get()) + at;
    const double* const b = c.in<double>(1).data() + at;
    if (!is_transposed(product_)) return b;
    auto* const rows = reinterpret_cast<double*>(c.workspace);
    split(*c.team, product_.k, product_.k * product_.n * 16, 8, [&](int64_t begin, int64_t end) {
      transpose_rows(product_, reinterpret_cast<const std::byte*>(b), rows, begin, end);
    });
    return rows;
  }

  void multiply(Call& c, const double* a, const double* b, double* z) const {
    const auto size = [](int64_t n) { return static_cast<size_t>(n); };
    split(*c.team, product_.m, product_.m * product_.n * (product_.k + 1), 6, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && !Interrupt::wanted(); i += kRowsAtOnce) {
        simd::DoubleProduct p;
        p.a = a + i * product_.a_steps.row;
        p.a_row = size(product_.a_steps.row), p.a_column = size(product_.a_steps.column);
        p.b = b, p.b_row = size(is_transposed(product_) ? product_.n : product_.b_steps.row);
        p.z = z + i * product_.n, p.z_row = size(product_.n);
        p.m = size(std::min(kRowsAtOnce, end - i)), p.k = size(product_.k), p.n = size(product_.n);
        loops_.product_f64(p);
      }
    });
  }

  const simd::Loops& loops_;
  Product product_;
  Packs::Bytes b_;  ///< A constant b with dense rows; null: as it is fed.
};

Result<std::unique_ptr<Kernel>> make_double_product(const KernelRequest& r, bool transpose_a, bool transpose_b) {
  for (const Operand& o : r.in)
    if (o.given() && o.dtype != DType::f64) return nullptr;
  const Operand& b = r.in[1];
  const Product product(r.in[0].shape, b.shape, transpose_a, transpose_b);
  Packs::Bytes rows;
  if (b.constant && is_transposed(product)) {
    const int64_t matrix = product.k * product.n, count = b.shape.count();
    NNEX_ASSIGN(rows, r.packs.get(fmt::format("rows_f64 {}", b.id), count * 8, [&](std::byte* to) {
      for (int64_t at = 0; at < count; at += matrix)
        transpose_rows(product, b.constant->data() + at * 8, reinterpret_cast<double*>(to) + at, 0, product.k);
    }));
  }
  return made<DoubleProductKernel>(r.loops, product, std::move(rows));
}

Result<std::unique_ptr<Kernel>> make_double_matmul(const KernelRequest& r) {
  const auto& a = r.attr<MatmulAttrs>();
  return make_double_product(r, a.transpose_a, a.transpose_b);
}

Result<std::unique_ptr<Kernel>> make_double_linear(const KernelRequest& r) {
  const auto& a = r.attr<LinearAttrs>();
  if (a.alpha != 1 || (r.has(2) && a.beta != 1)) return nullptr;
  return make_double_product(r, a.transpose_a, a.transpose_b);
}

constexpr KernelDef kDoubleKernels[] = {{"matmul", "product_f64", make_double_matmul},
                                        {"linear", "product_f64", make_double_linear}};

}  // namespace

std::span<const KernelDef> double_kernels() { return built<kDoubleKernels>(); }

}  // namespace nnex
