// Products of doubles and of whole numbers of 32 and 64 bits, of matrices as they lie; b is transposed first where its
// rows are not dense: once, where it is a constant.

#include <fmt/format.h>

#include <cstring>

#include "base/built.h"
#include "base/checked.h"
#include "base/interrupt.h"
#include "base/split.h"
#include "base/try.h"
#include "kernels/kernel.h"
#include "kernels/simd/loops.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/product.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kRowsAnEntry = 144;  // between two looks at the clock

/// Whether the rows of b are not dense.
bool is_transposed(const Product& p) { return p.b_steps.column != 1 && p.n > 1; }

/// Rows of one matrix of b from `begin` up to `end`; b may be unaligned.
template <class T>
void transpose_rows(const Product& p, const std::byte* b, T* rows, int64_t begin, int64_t end) {
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t q = begin; q < end; ++q)
      std::memcpy(rows + q * p.n + j, b + (q * p.b_steps.row + j * p.b_steps.column) * int64_t{sizeof(T)}, sizeof(T));
}

template <class T>
class TypedProductKernel : public Kernel {
 public:
  TypedProductKernel(const simd::Loops& loops, const Product& product, Packs::Bytes b)
      : loops_(loops), product_(product), b_(std::move(b)) {}

  bool packed(size_t input) const override { return b_ && input == 1; }
  int64_t workspace() const override {
    return is_transposed(product_) && !b_ ? product_.k * product_.n * int64_t{sizeof(T)} : 0;
  }

  Status run(Call& c) const override {
    const T* const a = c.in<T>(0).data();
    T* const z = c.out<T>(0).data();
    product_.each_matrix(
        [&](int64_t a_at, int64_t b_at, int64_t z_at) { multiply(c, a + a_at, dense_rows(c, b_at), z + z_at); });
    if (!c.has(2)) return {};
    const Shape& shape = c.out(0).shape();
    const std::span<const T> sums(z, c.out<T>(0).size());
    map_two(sums, shape, c.in<T>(2), c.shape(2), c.out<T>(0), shape, &plus);
    return {};
  }

 private:
  static T plus(T sum, T bias) {
    if constexpr (std::is_floating_point_v<T>) return sum + bias;
    return static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(bias));  // wraps
  }
  static simd::ProductOf<T>* product_of(const simd::Loops& loops) {
    if constexpr (std::is_same_v<T, double>) return loops.product_f64;
    if constexpr (std::is_same_v<T, int32_t>) return loops.product_i32;
    if constexpr (std::is_same_v<T, int64_t>) return loops.product_i64;
  }

  const T* dense_rows(Call& c, int64_t at) const {
    if (b_) return reinterpret_cast<const T*>(b_.get()) + at;
    const T* const b = c.in<T>(1).data() + at;
    if (!is_transposed(product_)) return b;
    auto* const rows = reinterpret_cast<T*>(c.workspace);
    split(*c.team, product_.k, product_.k * product_.n * 16, 8, [&](int64_t begin, int64_t end) {
      transpose_rows(product_, reinterpret_cast<const std::byte*>(b), rows, begin, end);
    });
    return rows;
  }

  /// Cut along the longer side first: what all parts read is then the smaller matrix.
  void multiply(Call& c, const T* a, const T* b, T* z) const {
    constexpr int64_t kRows = 6, kColumns = 128 / sizeof(T);  // of a tile, at most
    const int64_t m = product_.m, n = product_.n, work = m * n * (product_.k + 1);
    const int64_t wanted = parts_for(*c.team, work), of_rows = ceil_div(m, kRows), of_columns = ceil_div(n, kColumns);
    const int64_t row_parts = std::min(of_rows, n >= m ? ceil_div(wanted, std::max<int64_t>(of_columns, 1)) : wanted);
    const int64_t column_parts = std::min(of_columns, ceil_div(wanted, std::max<int64_t>(row_parts, 1)));
    c.team->run(row_parts * column_parts, [&](int64_t part) {
      const Part rows = part_of(m, row_parts, part / column_parts, kRows);
      const Part columns = part_of(n, column_parts, part % column_parts, kColumns);
      const auto size = [](int64_t count) { return static_cast<size_t>(count); };
      for (int64_t i = rows.begin; i < rows.end && !Interrupt::wanted(); i += kRowsAnEntry) {
        simd::TypedProduct<T> p;
        p.a = a + i * product_.a_steps.row;
        p.a_row = size(product_.a_steps.row), p.a_column = size(product_.a_steps.column);
        p.b = b + columns.begin, p.b_row = size(is_transposed(product_) ? n : product_.b_steps.row);
        p.z = z + i * n + columns.begin, p.z_row = size(n);
        p.m = size(std::min(kRowsAnEntry, rows.end - i)), p.k = size(product_.k), p.n = size(columns.size());
        product_of(loops_)(p);
      }
    });
  }

  const simd::Loops& loops_;
  Product product_;
  Packs::Bytes b_;  ///< A constant b with dense rows; null: as it is fed.
};

template <class T>
Result<std::unique_ptr<Kernel>> typed_product(const KernelRequest& r, bool transpose_a, bool transpose_b) {
  const Operand& b = r.in[1];
  const Product product(r.in[0].shape, b.shape, transpose_a, transpose_b);
  constexpr int64_t kSize = sizeof(T);
  Packs::Bytes rows;
  if (b.constant && is_transposed(product)) {
    const int64_t matrix = product.k * product.n, count = b.shape.count();
    NNEX_ASSIGN(rows, r.packs.get(fmt::format("rows_{} {}", name(b.dtype), b.id), count * kSize, [&](std::byte* to) {
      for (int64_t at = 0; at < count; at += matrix)
        transpose_rows(product, b.constant->data() + at * kSize, reinterpret_cast<T*>(to) + at, 0, product.k);
    }));
  }
  return made<TypedProductKernel<T>>(r.loops, product, std::move(rows));
}

Result<std::unique_ptr<Kernel>> make_typed_product(const KernelRequest& r, bool transpose_a, bool transpose_b) {
  const DType type = r.in[0].dtype;
  for (const Operand& o : r.in)
    if (o.given() && o.dtype != type) return nullptr;
  if (runs_on(DType::f64) && type == DType::f64) return typed_product<double>(r, transpose_a, transpose_b);
  if (runs_on(DType::i32) && type == DType::i32) return typed_product<int32_t>(r, transpose_a, transpose_b);
  if (runs_on(DType::i64) && type == DType::i64) return typed_product<int64_t>(r, transpose_a, transpose_b);
  return nullptr;
}

Result<std::unique_ptr<Kernel>> make_typed_matmul(const KernelRequest& r) {
  const auto& a = r.attr<MatmulAttrs>();
  return make_typed_product(r, a.transpose_a, a.transpose_b);
}

Result<std::unique_ptr<Kernel>> make_typed_linear(const KernelRequest& r) {
  const auto& a = r.attr<LinearAttrs>();
  if (a.alpha != 1 || (r.has(2) && a.beta != 1)) return nullptr;
  return make_typed_product(r, a.transpose_a, a.transpose_b);
}

constexpr KernelDef kTypedKernels[] = {{"matmul", "product_typed", make_typed_matmul},
                                       {"linear", "product_typed", make_typed_linear}};

}  // namespace

std::span<const KernelDef> typed_product_kernels() { return built<kTypedKernels>(); }

}  // namespace nnex::kernels
