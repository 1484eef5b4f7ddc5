// Products of quantised matrices.

#include <cmath>
#include <cstring>

#include "base/copy_bytes.h"
#include "ops/elementwise.h"
#include "ops/int_limits.h"
#include "ops/interval_call.h"
#include "ops/product.h"
#include "ops/stored.h"

namespace nnex {
namespace {

constexpr Types kBytes = types(DType::i8, DType::u8);

/// input i minus the zero point at `zero` (absent: 0), which broadcasts to it, as T.
template <class T>
Result<Tensor> centred(const Call& c, size_t i, size_t zero) {
  NNEX_ASSIGN(Tensor wide, convert(c.in(i), dtype_for<T>));
  if (!c.has(zero)) return wide;
  NNEX_ASSIGN(Tensor zeros, convert(c.in(zero), dtype_for<T>));
  if (auto both = broadcast(wide.shape(), zeros.shape()); !both || !(*both == wide.shape()))
    return c.fault("zero point {} does not broadcast to {}", zeros.shape().text(), wide.shape().text());
  NNEX_ASSIGN(Tensor out, Tensor::make(dtype_for<T>, wide.shape()));
  map_two(wide.as<T>(), wide.shape(), zeros.as<T>(), zeros.shape(), out.mutable_as<T>(), out.shape(),
          [](T x, T z) { return x - z; });
  return out;
}

Status check_zero(InferCall& c, size_t i, size_t zero) {
  if (!c.has(zero) || !c.dims(zero) || !c.dims(i)) return {};
  NNEX_ASSIGN(MaybeDims both, broadcast(c, c.dims(i), c.dims(zero)));
  if (both->size() != c.dims(i)->size())
    return c.error("{} {} has more axes than {} {}", c.op().inputs[zero].name, text(c.dims(zero)),
                   c.op().inputs[i].name, text(c.dims(i)));
  return {};
}

Status infer_matmul_integer(InferCall& c) {
  NNEX_TRY(check_zero(c, 0, 2));
  NNEX_TRY(check_zero(c, 1, 3));
  NNEX_ASSIGN(MaybeDims out, product_dims(c, 0, 1, false, false));
  c.result(0, std::move(out));
  return {};
}

Status run_matmul_integer(Call& c) {
  NNEX_ASSIGN(Tensor x, centred<int32_t>(c, 0, 2));
  NNEX_ASSIGN(Tensor y, centred<int32_t>(c, 1, 3));
  Product(x.shape(), y.shape(), false, false)
      .run(x.as<int32_t>().data(), y.as<int32_t>().data(), c.out<int32_t>(0).data());
  return {};
}

// Ports of qlinear_matmul.
enum : size_t {
  kProductX,
  kProductXScale,
  kProductXZero,
  kProductY,
  kProductYScale,
  kProductYZero,
  kProductZScale,
  kProductZZero
};

Status infer_qlinear_matmul(InferCall& c) {
  NNEX_TRY(check_zero(c, kProductX, kProductXZero));
  NNEX_TRY(check_zero(c, kProductY, kProductYZero));
  NNEX_ASSIGN(MaybeDims out, product_dims(c, kProductX, kProductY, false, false));
  for (size_t scale : {kProductXScale, kProductYScale, kProductZScale, kProductZZero}) {
    NNEX_ASSIGN(MaybeDims both, broadcast(c, out, c.dims(scale)));
    if (both && both->size() != out->size())
      return c.error("{} {} has more axes than the product {}", c.op().inputs[scale].name, text(c.dims(scale)),
                     text(out));
  }
  c.result(0, std::move(out));
  return {};
}

/// The sum of products, exact in i32 or in f32, as f32 elements.
template <class T>
Result<Tensor> product_as_f32(const Call& c) {
  NNEX_ASSIGN(Tensor x, centred<T>(c, kProductX, kProductXZero));
  NNEX_ASSIGN(Tensor y, centred<T>(c, kProductY, kProductYZero));
  NNEX_ASSIGN(Tensor z, Tensor::make(dtype_for<T>, c.out(0).shape()));
  Product(x.shape(), y.shape(), false, false)
      .run(x.as<T>().data(), y.as<T>().data(), z.template mutable_as<T>().data());
  return convert(z, DType::f32);
}

/// factor = x_scale * y_scale / z_scale in f32, one an element of the result.
Status scale_product(const Call& c, Tensor& z) {
  NNEX_ASSIGN(Tensor x_scale, convert(c.in(kProductXScale), DType::f32));
  NNEX_ASSIGN(Tensor y_scale, convert(c.in(kProductYScale), DType::f32));
  NNEX_ASSIGN(Tensor z_scale, convert(c.in(kProductZScale), DType::f32));
  for (const Tensor* s : {&x_scale, &y_scale, &z_scale})
    if (auto both = broadcast(z.shape(), s->shape()); !both || !(*both == z.shape()))
      return c.fault("scale {} does not broadcast to {}", s->shape().text(), z.shape().text());
  auto values = z.mutable_as<float>();
  auto a = x_scale.as<float>(), b = y_scale.as<float>(), d = z_scale.as<float>();
  BroadcastWalk<3>(z.shape(), {&x_scale.shape(), &y_scale.shape(), &z_scale.shape()})
      .rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
        for (int64_t i = 0; i < n; ++i) {
          auto pick = [&](std::span<const float> s, size_t k) { return s[static_cast<size_t>(from[k] + i * step[k])]; };
          values[static_cast<size_t>(at + i)] *= pick(a, 0) * pick(b, 1) / pick(d, 2);
        }
      });
  return {};
}

Status run_qlinear_matmul(Call& c) {
  const DType type = c.out(0).dtype();
  const bool whole = is_int(c.in(kProductX).dtype()) && is_int(c.in(kProductY).dtype());
  NNEX_ASSIGN(Tensor z, whole ? product_as_f32<int32_t>(c) : product_as_f32<float>(c));
  NNEX_TRY(scale_product(c, z));
  NNEX_ASSIGN(Tensor zero, convert(c.in(kProductZZero), DType::f32));
  if (auto both = broadcast(z.shape(), zero.shape()); !both || !(*both == z.shape()))
    return c.fault("zero point {} does not broadcast to {}", zero.shape().text(), z.shape().text());
  NNEX_ASSIGN(Tensor shifted, Tensor::make(DType::f32, z.shape()));
  map_two(z.as<float>(), z.shape(), zero.as<float>(), zero.shape(), shifted.mutable_as<float>(), z.shape(),
          [=](float v, float o) { return is_int(type) ? std::nearbyint(v) + o : v + o; });
  NNEX_ASSIGN(Tensor narrow, convert(shifted, type));  // saturates
  copy_bytes(c.out(0).mutable_data(), narrow.data(), narrow.bytes());
  return {};
}

/// Of one matrix on the right.
void matmul_integer_interval(IntervalCall& c) {
  if (const auto y = c.shape(1); y && y->rank() == 2) dot_interval(c, {.by_rows = false, .has_zeros = true});
}

constexpr OpRow kMatmulIntegerOps[] = {
    {
        .name = "matmul_integer",
        .summary = "The exact product of 8-bit matrices less their zero points, in i32.",
        .source = "ONNX MatMulInteger-10",
        .inputs = {{"x", kBytes},
                   {"y", kBytes},
                   {"x_zero", same_type_as("x"), Arity::optional},
                   {"y_zero", same_type_as("y"), Arity::optional}},
        .outputs = {{"z", DType::i32}},
        .infer = infer_matmul_integer,
        .interval = matmul_integer_interval,
        .reference = any(run_matmul_integer),
        .spelled = {{onnx, "MatMulInteger", {}, 10}},
        .work = Work::product,
    },
    {
        .name = "qlinear_matmul",
        .summary = "The product of quantised matrices, quantised again: exact sum, one f32 factor, ties to even.",
        .source = "ONNX QLinearMatMul-21",
        .inputs = {{"x", kBytes | kF8},
                   {"x_scale", kF},
                   {"x_zero", same_type_as("x")},
                   {"y", kBytes | kF8},
                   {"y_scale", kF},
                   {"y_zero", same_type_as("y")},
                   {"z_scale", kF},
                   {"z_zero", kBytes | kF8}},
        .outputs = {{"z", same_type_as("z_zero")}},
        .infer = infer_qlinear_matmul,
        .reference = any(run_qlinear_matmul),
        .spelled = {{onnx, "QLinearMatMul", {}, 10}},
        .work = Work::product,
    },
};
}  // namespace

std::span<const OpDef> matmul_integer_ops() { return stored<kMatmulIntegerOps>(); }

}  // namespace nnex
