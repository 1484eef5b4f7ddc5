// Real numbers into storage types and back.

#include "ops/quantize.h"
#include "base/failure.h"
#include "ops/answer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/int_limits.h"
#include "ops/put.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Granularity: which element of the scale belongs to which elements of x

/// Elements of x along one axis that share a scale.
using Blocks = std::vector<int64_t>;

/// One block length an axis of x: all of it where one scale serves the axis. `fits` holds where the numbers are known
/// and agree: scale of one element, along `axis`, or of x's rank by blocks. Error text: what does not fit.
Result<Blocks> blocks_of(std::string_view op, const Shape& x, const Shape& scale, int64_t axis, int64_t block_size) {
  auto error = [&](std::string_view why) {
    return failure(Code::invalid_model, "{}: scale {} for x {}: {}", op, scale.text(), x.text(), why);
  };
  const int64_t rank = x.rank();
  Blocks blocks(x.begin(), x.end());
  if (scale.rank() == 0 || (scale.rank() == 1 && scale[0] == 1 && block_size == 0)) return blocks;
  if (axis < -rank || axis >= rank) return error(fmt::format("axis {} is outside [{}, {}]", axis, -rank, rank - 1));
  const size_t along = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  if (scale.rank() == 1 && rank != 1) {
    if (scale[0] != x[static_cast<int64_t>(along)])
      return error(fmt::format("needed one or {} scales along axis {}", x[static_cast<int64_t>(along)], along));
    blocks[along] = 1;
    return blocks;
  }
  if (scale.rank() != rank) return error("needed rank 0, 1 or that of x");
  for (int64_t a = 0; a < rank; ++a) {
    int64_t& block = blocks[static_cast<size_t>(a)];
    if (block_size > 0 && static_cast<size_t>(a) == along) {
      block = block_size;
      if (ceil_div(x[a], block_size) != scale[a])
        return error(fmt::format("axis {} has {} blocks of {}", a, ceil_div(x[a], block_size), block_size));
    } else if (scale[a] == 0 || x[a] % scale[a] != 0) {
      if (x[a] != 0 || scale[a] != 0) return error(fmt::format("{} scales do not divide axis {}", scale[a], a));
    } else {
      block = x[a] / scale[a];
    }
  }
  return blocks;
}

/// Calls f(at, n, s) for every stretch of elements at .. at+n-1 of x that share element s of the scale.
template <class F>
void each_stretch(const Shape& x, const Shape& scale, const Blocks& blocks, F f) {
  const int64_t rank = x.rank();
  if (rank == 0) return f(0, 1, 0);
  // Steps of the scale for each axis of x: a scale of rank 1 lies along the one axis whose blocks are shorter.
  std::vector<int64_t> step(static_cast<size_t>(rank));
  if (scale.rank() == rank) {
    int64_t pace = 1;
    for (int64_t a = rank - 1; a >= 0; --a) {
      step[static_cast<size_t>(a)] = pace;
      pace *= scale[a];
    }
  } else if (scale.count() > 1) {
    for (size_t a = 0; a < step.size(); ++a)
      if (blocks[a] == 1 && x[static_cast<int64_t>(a)] == scale[0]) step[a] = 1;
  }
  const int64_t count = x.count(), n = x[rank - 1], block = std::max<int64_t>(blocks.back(), 1);
  std::vector<int64_t> index(static_cast<size_t>(rank));
  for (int64_t at = 0; at < count; at += n) {
    int64_t base = 0;
    for (size_t a = 0; a + 1 < index.size(); ++a) base += index[a] / std::max<int64_t>(blocks[a], 1) * step[a];
    for (int64_t i = 0; i < n; i += block) f(at + i, std::min(block, n - i), base + i / block * step.back());
    for (size_t a = index.size() - 1; a-- > 0;) {
      if (++index[a] < x[static_cast<int64_t>(a)]) break;
      index[a] = 0;
    }
  }
}

Status check_granularity(InferCall& c, size_t scale, size_t zero, int64_t axis, int64_t block_size) {
  if (block_size < 0) return c.error("block_size is {}; needed 0 or more", block_size);
  if (c.has(zero) && c.dims(scale) && c.dims(zero)) {
    auto s = shape_of(*c.dims(scale)), z = shape_of(*c.dims(zero));
    // One number each is one number, however many axes it is written with.
    if (s && z && !(*s == *z) && (s->count() != 1 || z->count() != 1))
      return c.error("scale has shape {}, zero {}; needed the same", s->text(), z->text());
  }
  if (!c.dims(0) || !c.dims(scale)) return {};
  auto x = shape_of(*c.dims(0)), s = shape_of(*c.dims(scale));
  if (x && s) NNEX_TRY(blocks_of(c.op().name, *x, *s, axis, block_size));
  return {};
}

// ---- Quantise

enum : size_t { kQuantizeX, kQuantizeScale, kQuantizeZero };

Status infer_quantize(InferCall& c) {
  const auto& a = c.attr<QuantizeAttrs>();
  DType type = c.has(kQuantizeZero) ? c.dtype(kQuantizeZero) : a.result.value_or(DType::u8);
  if (c.has(kQuantizeZero) && type == DType::none) type = a.result.value_or(DType::none);
  if (a.result && type != DType::none && type != *a.result)
    return c.error("result is {}, zero has elements of type {}; needed the same", name(*a.result), name(type));
  if (type != DType::none && !((kI | kQ) & only(type))) return c.error("result {} is no storage type", name(type));
  NNEX_TRY(check_granularity(c, kQuantizeScale, kQuantizeZero, a.axis, a.block_size));
  c.result(0, type, c.dims(0));
  return {};
}

/// x / scale as the precision has it.
float divided(float x, float scale, DType precision) {
  const float q = x / scale;
  if (precision == DType::f16) return f16(q);
  if (precision == DType::bf16) return bf16(q);
  return q;
}

/// To the nearest, ties to even; the run's rounding mode is that one.
double half_even(double x) { return std::nearbyint(x); }

Status run_quantize(Call& c) {
  const auto& a = c.attr<QuantizeAttrs>();
  Tensor& out = c.out(0);
  const DType type = out.dtype(), scale_type = c.in(kQuantizeScale).dtype();
  const DType precision = a.precision.value_or(is_float(scale_type) ? scale_type : DType::f32);
  const bool wide = precision == DType::f64;
  auto blocks = blocks_of(c.op().name, c.shape(kQuantizeX), c.shape(kQuantizeScale), a.axis, a.block_size);
  if (!blocks.ok()) return c.fault("{}", blocks.error().message());
  NNEX_ASSIGN(Tensor x, writable(c.in(kQuantizeX), DType::f64));
  NNEX_ASSIGN(Tensor scale, convert(c.in(kQuantizeScale), DType::f64));
  std::vector<double> zeros = c.has(kQuantizeZero) ? reals_of(c.in(kQuantizeZero)) : std::vector<double>(1);
  auto from = x.mutable_as<double>();
  auto scales = scale.as<double>();
  const IntLimits range = int_limits(type);
  each_stretch(c.shape(kQuantizeX), c.shape(kQuantizeScale), *blocks, [&](int64_t at, int64_t n, int64_t s) {
    const double by = scales[static_cast<size_t>(s)];
    const double zero = zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(s)];
    for (int64_t i = at; i < at + n; ++i) {
      double& v = from[static_cast<size_t>(i)];
      v = wide ? v / by : static_cast<double>(divided(static_cast<float>(v), static_cast<float>(by), precision));
      if (!is_int(type)) {
        v += zero;
        continue;
      }
      v = (v != v ? 0 : half_even(v)) + zero;
      v = std::min(std::max(v, static_cast<double>(range.low)), static_cast<double>(range.high));
    }
  });
  if (is_int(type) && bits(type) < 64) {
    NNEX_ASSIGN(x, convert(x, DType::i64));  // whole numbers in range
  }
  CastOptions options;
  options.overflow = a.saturate ? Overflow::saturate : Overflow::overflow;
  NNEX_ASSIGN(Tensor y, convert(x, type, options));
  return put(c, 0, y, type, out.shape());
}

// ---- Dequantise

Status infer_dequantize(InferCall& c) {
  const auto& a = c.attr<DequantizeAttrs>();
  const DType type = a.result.value_or(is_float(c.dtype(kQuantizeScale)) || c.dtype(kQuantizeScale) == DType::none
                                           ? c.dtype(kQuantizeScale)
                                           : DType::f32);
  if (type != DType::none && !is_float(type)) return c.error("result is {}; needed a float type", name(type));
  NNEX_TRY(check_granularity(c, kQuantizeScale, kQuantizeZero, a.axis, a.block_size));
  c.result(0, type, c.dims(0));
  return {};
}

/// The difference is exact, the product rounded once to T.
template <class T>
void scaled(const Call& c, const Blocks& blocks, std::span<const double> x, std::span<const double> scales,
            std::span<const double> zeros, std::span<T> y) {
  each_stretch(c.shape(kQuantizeX), c.shape(kQuantizeScale), blocks, [&](int64_t at, int64_t n, int64_t s) {
    const T by = static_cast<T>(scales[static_cast<size_t>(s)]);
    const double zero = zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(s)];
    for (int64_t i = at; i < at + n; ++i)
      y[static_cast<size_t>(i)] = static_cast<T>(x[static_cast<size_t>(i)] - zero) * by;
  });
}

Status run_dequantize(Call& c) {
  const auto& a = c.attr<DequantizeAttrs>();
  Tensor& out = c.out(0);
  auto blocks = blocks_of(c.op().name, c.shape(kQuantizeX), c.shape(kQuantizeScale), a.axis, a.block_size);
  if (!blocks.ok()) return c.fault("{}", blocks.error().message());
  NNEX_ASSIGN(Tensor x, convert(c.in(kQuantizeX), DType::f64));
  NNEX_ASSIGN(Tensor scale, convert(c.in(kQuantizeScale), DType::f64));
  std::vector<double> zeros = c.has(kQuantizeZero) ? reals_of(c.in(kQuantizeZero)) : std::vector<double>(1);
  if (out.dtype() == DType::f64) {
    scaled(c, *blocks, x.as<double>(), scale.as<double>(), zeros, out.mutable_as<double>());
    return {};
  }
  if (out.dtype() == DType::f32) {
    scaled(c, *blocks, x.as<double>(), scale.as<double>(), zeros, out.mutable_as<float>());
    return {};
  }
  NNEX_ASSIGN(Tensor y, Tensor::make(DType::f32, out.shape()));
  scaled(c, *blocks, x.as<double>(), scale.as<double>(), zeros, y.mutable_as<float>());
  return put(c, 0, y, out.dtype(), out.shape());
}

// ---- Numbers of a codebook

enum : size_t { kCodebookX, kCodebookScale, kCodebook };

Status infer_codebook(InferCall& c) {
  const auto& a = c.attr<CodebookAttrs>();
  NNEX_TRY(need_rank(c, kCodebook, 1));
  if (c.dims(kCodebook)) NNEX_TRY(meet(c, (*c.dims(kCodebook))[0], Dim(16), "codebook"));
  NNEX_TRY(check_granularity(c, kCodebookScale, c.op().inputs.size(), a.axis, a.block_size));
  c.result(0, c.dims(kCodebookX));
  return {};
}

template <class T>
Status run_codebook_of(Call& c) {
  const auto& a = c.attr<CodebookAttrs>();
  const Tensor& x = c.in(kCodebookX);
  const auto blocks = blocks_of(c.op().name, x.shape(), c.shape(kCodebookScale), a.axis, a.block_size);
  if (!blocks.ok()) return c.fault("{}", blocks.error().message());
  NNEX_ASSIGN(const Tensor scale, convert(c.in(kCodebookScale), dtype_for<T>));
  NNEX_ASSIGN(const Tensor codebook, convert(c.in(kCodebook), dtype_for<T>));
  NNEX_ASSIGN(Tensor y, Tensor::make(dtype_for<T>, x.shape()));
  const auto scales = scale.as<T>(), numbers = codebook.as<T>();
  T* const to = y.mutable_as<T>().data();
  each_stretch(x.shape(), scale.shape(), *blocks, [&](int64_t at, int64_t n, int64_t s) {
    for (int64_t i = at; i < at + n; ++i)
      to[i] = numbers[static_cast<size_t>(int_at(x, i))] * scales[static_cast<size_t>(s)];
  });
  return put(c, 0, y, c.out(0).dtype(), x.shape());
}

Status run_codebook(Call& c) {
  return c.out(0).dtype() == DType::f64 ? run_codebook_of<double>(c) : run_codebook_of<float>(c);
}

// ---- Quantise by the range found

Status infer_dynamic_quantize(InferCall& c) {
  c.result(0, c.dims(0));
  c.result(1, Dims{});
  c.result(2, Dims{});
  return {};
}

/// The range widened to include 0, in f32 throughout; an empty or all-zero x has scale 1/255. A NaN is that of the
/// range, as of ONNX's ReduceMin and ReduceMax.
Status run_dynamic_quantize(Call& c) {
  float low = 0, high = 0;
  auto x = c.in<float>(0);
  for (float v : x) {
    if (v < low || v != v) low = v;
    if (v > high || v != v) high = v;
  }
  const float scale = (high == low ? 1.0f : high - low) / 255.0f;
  const float zero = std::nearbyint(std::fmin(std::fmax((0.0f - low) / scale, 0.0f), 255.0f));
  if (c.wants(1)) c.out<float>(1)[0] = scale;
  if (c.wants(2)) c.out<uint8_t>(2)[0] = static_cast<uint8_t>(zero);
  if (!c.wants(0)) return {};
  auto y = c.out<uint8_t>(0);
  for (size_t i = 0; i < x.size(); ++i) {
    const float q = std::nearbyint(x[i] / scale) + zero;
    y[i] = static_cast<uint8_t>(std::fmin(std::fmax(q, 0.0f), 255.0f));
  }
  return {};
}

// ---- Codecs

/// ONNX element type number, 0 for none.
Result<AttrValue> dtype_or_none(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v); i && *i == 0) return AttrValue{};
  return onnx_dtype.read(v);
}
Result<AttrValue> number_or_zero(const AttrValue& v) {
  if (std::holds_alternative<std::monostate>(v)) return AttrValue(int64_t{0});
  return onnx_dtype.write(v);
}
const Codec kOptionalDtype = {"optional_dtype", dtype_or_none, number_or_zero};

// ---- Entries

constexpr Types kScales = kF | types(DType::i32, DType::f8e8m0);

constexpr OpRow kQuantizeOps[] = {
    {
        .name = "quantize_linear",
        .summary = "x / scale to the nearest whole number, ties to even, plus zero, saturated.",
        .source = "ONNX QuantizeLinear-25; WebNN quantizeLinear()",
        .inputs = {{"x", kF | only(DType::i32)}, {"scale", kScales}, {"zero", kI | kQ, Arity::optional}},
        .outputs = {{"y", type_among(kI | kQ, "result", "zero")}},
        .attrs = attrs_of<QuantizeAttrs>(
            {field<&QuantizeAttrs::axis>("axis", "Where a scale of rank 1 lies, or blocks are cut."),
             field<&QuantizeAttrs::block_size>("block_size",
                                               "Elements along the axis that share a scale; 0: by "
                                               "extents."),
             field<&QuantizeAttrs::result>("result", "Element type where zero is absent; else u8."),
             field<&QuantizeAttrs::saturate>("saturate",
                                             "To float8: clamp to the largest finite; else NaN or "
                                             "infinity."),
             field<&QuantizeAttrs::precision>("precision", "The type divided in; absent: scale's.")}),
        .infer = infer_quantize,
        .reference = any(run_quantize),
        .spelled = {{onnx,
                     "QuantizeLinear",
                     {{"result", "output_dtype", &kOptionalDtype},
                      {"saturate", "saturate", &int_bool},
                      {"precision", "precision", &kOptionalDtype}},
                     10},
                    {webnn, "quantizeLinear", {}, 1, "", {{"axis", "0"}, {"precision", "'f32'"}}}},
        .layout = LayoutRole::axis,
    },
    {
        .name = "dequantize_linear",
        .summary = "(x - zero) scale, the difference exact.",
        .source = "ONNX DequantizeLinear-25; WebNN dequantizeLinear()",
        .inputs = {{"x", kI | kQ}, {"scale", kScales}, {"zero", same_type_as("x"), Arity::optional}},
        .outputs = {{"y", type_among(kF, "result", "scale")}},
        .attrs = attrs_of<DequantizeAttrs>(
            {field<&DequantizeAttrs::axis>("axis", "Where a scale of rank 1 lies, or blocks are cut."),
             field<&DequantizeAttrs::block_size>("block_size",
                                                 "Elements along the axis that share a scale; 0: by "
                                                 "extents."),
             field<&DequantizeAttrs::result>("result", "Element type; absent: scale's.")}),
        .infer = infer_dequantize,
        .reference = any(run_dequantize),
        .spelled = {{onnx, "DequantizeLinear", {{"result", "output_dtype", &kOptionalDtype}}, 10},
                    {webnn, "dequantizeLinear", {}, 1, "", {{"axis", "0"}}}},
        .layout = LayoutRole::axis,
    },
    {
        .name = "dequantize_codebook",
        .summary = "codebook[x] scale: 4-bit codes of numbers that lie anywhere.",
        .source = "com.microsoft MatMulBnb4 (its NF4 and FP4)",
        .inputs = {{"x", DType::u4},
                   {"scale", kF},
                   {.name = "codebook", .type = same_type_as("scale"), .doc = "16 numbers, which codes stand for."}},
        .outputs = {{"y", same_type_as("scale")}},
        .attrs = attrs_of<CodebookAttrs>(
            {field<&CodebookAttrs::axis>("axis", "Where a scale of rank 1 lies, or blocks are cut."),
             field<&CodebookAttrs::block_size>("block_size",
                                               "Elements along the axis that share a scale; 0: by "
                                               "extents.")}),
        .infer = infer_codebook,
        .reference = any(run_codebook),
        .body = "i = cast(x, to = 'i64'); one = cast(i * 0 + 1, to = 'u8'); "
                "y = gather(codebook, i) * dequantize_linear(one, scale, axis = axis, block_size = block_size);",
    },
    {
        .name = "dynamic_quantize_linear",
        .summary = "x in u8, with the scale and zero point of its own range widened to 0.",
        .source = "ONNX DynamicQuantizeLinear-11",
        .inputs = {{"x", DType::f32}},
        .outputs = {{"y", DType::u8},
                    {.name = "scale", .type = DType::f32, .doc = "1/255 where x is 0 throughout, or empty."},
                    {"zero", DType::u8}},
        .infer = infer_dynamic_quantize,
        .reference = any(run_dynamic_quantize),
        .spelled = {{onnx, "DynamicQuantizeLinear", {}, 11}},
    },
};
}  // namespace

std::span<const OpDef> quantize_ops() { return stored<kQuantizeOps>(); }

}  // namespace nnex
