// Products of matrices.

#include "ops/matmul.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/broadcast_walk.h"
#include "ops/codecs.h"
#include "ops/elementwise.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/product.h"
#include "ops/stored.h"
#include "tensor/counted.h"

namespace nnex {
namespace {

Status infer_matmul(InferCall& c) {
  const auto& a = c.attr<MatmulAttrs>();
  NNEX_ASSIGN(MaybeDims out, product_dims(c, 0, 1, a.transpose_a, a.transpose_b));
  c.result(0, std::move(out));
  return {};
}

template <class T>
Status run_matmul(Call& c) {
  const auto& a = c.attr<MatmulAttrs>();
  Product(c.shape(0), c.shape(1), a.transpose_a, a.transpose_b)
      .run(c.in<T>(0).data(), c.in<T>(1).data(), c.out<T>(0).data());
  return {};
}

// ---- Rows by matrices that indices choose

Status infer_gather_matmul(InferCall& c) {
  const MaybeDims &x = c.dims(0), &w = c.dims(1);
  if (x && x->empty()) return c.error("x is a scalar; needed rows");
  if (w && w->size() != 3) return c.error("w has {} axes; needed 3, the first of matrices", w->size());
  if (!x || !w || !c.dims(2)) {
    c.result(0, MaybeDims{});
    return {};
  }
  const bool turned = c.attr<GatherMatmulAttrs>().transpose_b;
  const Dim &row = x->back(), &rows = (*w)[turned ? 2 : 1];
  if (row.is_number() && rows.is_number() && !(row == rows))
    return c.error("x has rows of {}, w has columns of {}; needed the same", row.value(), rows.value());
  NNEX_ASSIGN(MaybeDims out, broadcast(c, Dims(x->begin(), x->end() - 1), c.dims(2)));
  out->push_back((*w)[turned ? 1 : 2]);
  c.result(0, std::move(out));
  return {};
}

template <class T>
Status run_gather_matmul(Call& c) {
  const Shape &x = c.shape(0), &w = c.shape(1), &index = c.shape(2), &out = c.out(0).shape();
  const auto all_but_last = [](const Shape& s) { return Shape(s.extents().first(static_cast<size_t>(s.rank() - 1))); };
  const Shape x_rows = all_but_last(x), rows = all_but_last(out);
  const Product one(Shape{x[x.rank() - 1]}, Shape{w[1], w[2]}, false, c.attr<GatherMatmulAttrs>().transpose_b);
  Status status;
  BroadcastWalk<2>(rows, {&x_rows, &index}).rows([&](int64_t at, const auto& from, int64_t count, const auto& step) {
    for (int64_t i = 0; i < count && status.ok(); ++i) {
      const int64_t given = int_at(c.in(2), from[1] + i * step[1]), place = given < 0 ? given + w[0] : given;
      if (place < 0 || place >= w[0]) {
        status = c.fault("index {} is outside [{}, {}) of axis 0", given, -w[0], w[0]);
        return;
      }
      one.run(c.in<T>(0).data() + (from[0] + i * step[0]) * one.k, c.in<T>(1).data() + place * one.k * one.n,
              c.out<T>(0).data() + (at + i) * one.n);
    }
  });
  return status;
}

Status infer_linear(InferCall& c) {
  const auto& a = c.attr<LinearAttrs>();
  if (is_int(c.dtype(0)) && (a.alpha != std::trunc(a.alpha) || a.beta != std::trunc(a.beta)))
    return c.error("alpha is {}, beta is {}; integers need whole numbers", a.alpha, a.beta);
  NNEX_ASSIGN(MaybeDims out, product_dims(c, 0, 1, a.transpose_a, a.transpose_b));
  if (c.has(2) && out && c.dims(2)) {
    if (c.dims(2)->size() > out->size())
      return c.error("bias {} has more axes than the product {}", text(c.dims(2)), text(out));
    NNEX_ASSIGN(MaybeDims both, broadcast(c, out, c.dims(2)));
    for (size_t i = 0; i < out->size(); ++i)
      if ((*out)[i].is_number() && (*both)[i].is_number() && !((*out)[i] == (*both)[i]))
        return c.error("bias {} does not broadcast to the product {}", text(c.dims(2)), text(out));
  }
  c.result(0, std::move(out));
  return {};
}

template <class T>
T wrapped_mul(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) return wrap_mul(a, b);
  return a * b;
}
template <class T>
T wrapped_add(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) return wrap_add(a, b);
  return a + b;
}

/// One product for each extent that x and filter share. A factor other than 1 has no rule.
Status linear_precision(PrecisionCall& c) {
  const auto& a = c.attr<LinearAttrs>();
  if (a.alpha != 1 || (c.has(2) && a.beta != 1)) return c.error("alpha is {} and beta {}; needed 1", a.alpha, a.beta);
  return dot_precision(c, c.shape(0)[a.transpose_a ? 0 : 1]);
}

template <class T>
Status run_linear(Call& c) {
  const auto& a = c.attr<LinearAttrs>();
  const T alpha = static_cast<T>(a.alpha), beta = static_cast<T>(a.beta);
  auto y = c.out<T>(0);
  Product(c.shape(0), c.shape(1), a.transpose_a, a.transpose_b).run(c.in<T>(0).data(), c.in<T>(1).data(), y.data());
  if (a.alpha != 1)
    for (T& v : y) v = wrapped_mul(alpha, v);
  if (!c.has(2)) return {};
  const Shape& shape = c.out(0).shape();
  const std::span<const T> product = y;
  if (a.beta == 1)
    map_two(product, shape, c.in<T>(2), c.shape(2), y, shape, [](T v, T bias) { return wrapped_add(v, bias); });
  else
    map_two(product, shape, c.in<T>(2), c.shape(2), y, shape,
            [=](T v, T bias) { return wrapped_add(v, wrapped_mul(beta, bias)); });
  return {};
}

// ---- Determinant and inverse

Status check_square(const InferCall& c) {
  if (!c.dims(0)) return {};
  const Dims& d = *c.dims(0);
  if (d.size() < 2) return c.error("x has {} axes; needed 2 or more", d.size());
  const Dim &rows = d[d.size() - 2], &columns = d[d.size() - 1];
  if (rows.is_number() && columns.is_number() && !(rows == columns))
    return c.error("x holds matrices of {} by {}; needed square ones", rows.value(), columns.value());
  return {};
}

Status infer_det(InferCall& c) {
  NNEX_TRY(check_square(c));
  MaybeDims y = c.dims(0);
  if (y) y->erase(y->end() - 2, y->end());
  c.result(0, std::move(y));
  return {};
}

Status infer_inverse(InferCall& c) {
  NNEX_TRY(check_square(c));
  c.result(0, c.dims(0));
  return {};
}

/// The row, from i on, whose column i has the largest number of a row-major n by n matrix.
size_t pivot_row(std::span<const double> a, size_t n, size_t i) {
  size_t pivot = i;
  for (size_t r = i + 1; r < n; ++r)
    if (std::fabs(a[r * n + i]) > std::fabs(a[pivot * n + i])) pivot = r;
  return pivot;
}

/// The product of the pivots of a row-major n by n matrix, which is used up.
Result<double> determinant(std::span<double> a, size_t n, Asked& asked) {
  double product = 1;
  for (size_t i = 0; i < n; ++i) {
    NNEX_TRY(asked.now_and_then(static_cast<int64_t>(n * (n - i))));
    const size_t pivot = pivot_row(a, n, i);
    if (a[pivot * n + i] == 0) return 0.0;
    if (pivot != i) {
      for (size_t j = 0; j < n; ++j) std::swap(a[i * n + j], a[pivot * n + j]);
      product = -product;
    }
    product *= a[i * n + i];
    for (size_t r = i + 1; r < n; ++r) {
      const double factor = a[r * n + i] / a[i * n + i];
      for (size_t j = i; j < n; ++j) a[r * n + j] -= factor * a[i * n + j];
    }
  }
  return product;
}

template <class T>
Status run_det(Call& c) {
  const size_t n = static_cast<size_t>(c.shape(0)[c.shape(0).rank() - 1]);
  auto x = c.in<T>(0);
  auto y = c.out<T>(0);
  CountedVector<double> matrix(n * n);
  Asked asked(c);
  for (size_t o = 0; o < y.size(); ++o) {
    for (size_t i = 0; i < n * n; ++i) matrix[i] = static_cast<double>(x[o * n * n + i]);
    NNEX_ASSIGN(const double value, determinant(matrix, n, asked));
    y[o] = static_cast<T>(value);
  }
  return {};
}

/// Rows of a, which is used up, until it is the identity, and the same of y, which then is the inverse (Gauss-Jordan).
/// Without one: NaN.
Status invert(std::span<double> a, std::span<double> y, size_t n, Asked& asked) {
  std::fill(y.begin(), y.end(), 0.0);
  for (size_t i = 0; i < n; ++i) y[i * n + i] = 1;
  for (size_t i = 0; i < n; ++i) {
    NNEX_TRY(asked.now_and_then(static_cast<int64_t>(n * n)));
    const size_t pivot = pivot_row(a, n, i);
    if (a[pivot * n + i] == 0) {
      std::fill(y.begin(), y.end(), std::numeric_limits<double>::quiet_NaN());
      return {};
    }
    for (double* m : {a.data(), y.data()})
      if (pivot != i) std::swap_ranges(m + i * n, m + (i + 1) * n, m + pivot * n);
    const double divisor = a[i * n + i];
    for (size_t j = 0; j < n; ++j) a[i * n + j] /= divisor, y[i * n + j] /= divisor;
    for (size_t r = 0; r < n; ++r) {
      const double factor = a[r * n + i];
      if (r == i || factor == 0) continue;
      for (size_t j = 0; j < n; ++j) a[r * n + j] -= factor * a[i * n + j], y[r * n + j] -= factor * y[i * n + j];
    }
  }
  return {};
}

template <class T>
Status run_inverse(Call& c) {
  const Shape& shape = c.shape(0);
  const auto n = static_cast<size_t>(shape[shape.rank() - 1]);
  const auto x = c.in<T>(0);
  auto y = c.out<T>(0);
  if (n == 0) return {};
  CountedVector<double> a(n * n), inverse(n * n);
  Asked asked(c);
  for (size_t o = 0; o < x.size(); o += n * n) {
    for (size_t i = 0; i < n * n; ++i) a[i] = static_cast<double>(x[o + i]);
    NNEX_TRY(invert(a, inverse, n, asked));
    for (size_t i = 0; i < n * n; ++i) y[o + i] = static_cast<T>(inverse[i]);
  }
  return {};
}

/// Of one matrix on the right.
void matmul_interval(IntervalCall& c) {
  if (const auto y = c.shape(1); y && y->rank() == 2) dot_interval(c, {.by_rows = c.attr<MatmulAttrs>().transpose_b});
}

void linear_interval(IntervalCall& c) {
  const auto& a = c.attr<LinearAttrs>();
  const auto filter = c.shape(1);
  if (filter && filter->rank() == 2 && a.alpha == 1 && a.beta == 1) dot_interval(c, {.by_rows = a.transpose_b});
}

constexpr OpRow kMatmulOps[] = {
    {
        .name = "matmul",
        .summary = "The product of matrices in the last two axes; earlier axes broadcast.",
        .source = "NNEF 1.0.5 matmul; ONNX MatMul-13; WebNN matmul()",
        .inputs = {{"x", kN}, {"y", same_type_as("x")}},
        .outputs = {{"z", same_type_as("x")}},
        .attrs = attrs_of<MatmulAttrs>(
            {field<&MatmulAttrs::transpose_a>("transposeA", "The last two axes of x are exchanged first."),
             field<&MatmulAttrs::transpose_b>("transposeB", "The last two axes of y are exchanged first.")}),
        .infer = infer_matmul,
        .interval = matmul_interval,
        .reference = typed<float, double, int32_t, int64_t, uint64_t>(
            []<class T>(Call& c) -> Status { return run_matmul<T>(c); }),
        .spelled = {{nnef, "matmul"}, {onnx, "MatMul"}, {webnn, "matmul"}},
        .in_bytes = ByteRole::product,
        .work = Work::product,
    },
    {
        .name = "gather_matmul",
        .summary = "Each row of x times the matrix of w that its index names; axes before rows broadcast with indices.",
        .source = "com.microsoft MoE and QMoE (the experts of each token); OpenVINO GatherMatmul",
        .inputs = {{"x", kF},
                   {.name = "w", .type = same_type_as("x"), .doc = "Matrices, along axis 0."},
                   {.name = "index", .type = kIndex, .doc = "Negative counts from the last."}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<GatherMatmulAttrs>(
            {field<&GatherMatmulAttrs::transpose_b>("transposeB", "The last two axes of w are exchanged first.")}),
        .infer = infer_gather_matmul,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_gather_matmul<T>(c); }),
        .body =
            "y = squeeze(matmul(unsqueeze(x, axes = [-2]), gather(w, index), transposeB = transposeB), axes = [-2]);",
        .work = Work::product,
    },
    {
        .name = "linear",
        .summary = "alpha times the product of x and the filter, plus beta times the bias.",
        .source = "NNEF 1.0.5 linear; ONNX Gemm-13; WebNN gemm(); CVM dense",
        .inputs = {{"x", kN}, {"filter", same_type_as("x")}, {"bias", same_type_as("x"), Arity::optional}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<LinearAttrs>(
            {field<&LinearAttrs::transpose_a>("transposeA", "The last two axes of x are exchanged first."),
             field<&LinearAttrs::transpose_b>("transposeB", "The last two axes of the filter are exchanged first."),
             field<&LinearAttrs::alpha>("alpha", "Factor of the product."),
             field<&LinearAttrs::beta>("beta", "Factor of the bias.")}),
        .infer = infer_linear,
        .precision = linear_precision,
        .interval = linear_interval,
        .reference =
            typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_linear<T>(c); }),
        .spelled = {{nnef, "linear"},
                    {onnx,
                     "Gemm",
                     {{"transposeA", "transA", &int_bool}, {"transposeB", "transB", &int_bool}},
                     1,
                     "",
                     {{"transposeB", "false"}}},
                    {webnn,
                     "gemm",
                     {{"transposeA", "aTranspose"}, {"transposeB", "bTranspose"}},
                     1,
                     "",
                     {{"transposeB", "false"}}},
                    {cvm, "dense"}},
        .in_bytes = ByteRole::product,
        .work = Work::product,
    },
    {
        .name = "det",
        .summary = "Determinants of the matrices in the last two axes.",
        .source = "ONNX Det-22",
        .inputs = {{"x", kF}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = infer_det,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_det<T>(c); }),
        .spelled = {{onnx, "Det", {}, 11}},
    },
    {
        .name = "inverse",
        .summary = "Inverses of the matrices in the last two axes; NaN where there is none.",
        .source = "ONNX Runtime's com.microsoft Inverse-1, which PyTorch's exporter writes for torch.inverse",
        .inputs = {{"x", kF}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = infer_inverse,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_inverse<T>(c); }),
        .spelled = {{onnx, "Inverse", {}, 1, "com.microsoft"}},
    },
};
}  // namespace

std::span<const OpDef> matmul_ops() { return stored<kMatmulOps>(); }

}  // namespace nnex
