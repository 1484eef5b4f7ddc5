// Convolutions of quantised tensors: exact sums in i32.

#include <cmath>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/conv.h"
#include "ops/infer_call.h"
#include "ops/int_limits.h"
#include "ops/interval_call.h"
#include "ops/put.h"
#include "ops/stored.h"

namespace nnex {
namespace {

constexpr Types kBytes = types(DType::i8, DType::u8);

/// Port `i` holds one number, or one for each output channel where `channels` is given.
Status check_count(InferCall& c, size_t i, const MaybeDims& filter = {}) {
  if (!c.has(i) || !c.dims(i)) return {};
  const Dim n = product(*c.dims(i));
  if (!n.is_number() || n.value() == 1) return {};
  const std::string_view name = c.op().inputs[i].name;
  if (!filter) return c.error("{} has {} elements; needed 1", name, n.value());
  if (filter->front().is_number() && filter->front().value() != n.value())
    return c.error("{} has {} elements; needed 1 or {}, one for each output channel", name, n.value(),
                   filter->front().value());
  return {};
}

/// Filters of at least one axis; the rest of the shape is checked by conv_dims.
MaybeDims filter_dims(InferCall& c, size_t i) { return c.dims(i) && !c.dims(i)->empty() ? c.dims(i) : MaybeDims{}; }

/// Bytes as i32, less a zero point: one, or one for each item of the first axis.
Result<Tensor> centred(const Call& c, size_t i, size_t zero) {
  NNEX_ASSIGN(Tensor wide, writable(c.in(i), DType::i32));
  if (!c.has(zero)) return wide;
  NNEX_ASSIGN(Tensor zeros, convert(c.in(zero), DType::i32));
  const int64_t items = zeros.count() == 1 ? 1 : zeros.count();
  if (items != 1 && (wide.shape().rank() == 0 || items != wide.shape()[0]))
    return c.fault("{} has {} elements; {} has shape {}", c.op().inputs[zero].name, items, c.op().inputs[i].name,
                   wide.shape().text());
  const int64_t each = items == 0 ? 0 : wide.count() / items;
  int32_t* at = wide.mutable_as<int32_t>().data();
  for (const int32_t z : zeros.as<int32_t>())
    for (int64_t k = 0; k < each; ++k) *at++ -= z;
  return wide;
}

/// Ports that say what is convolved.
struct Sides {
  size_t x, x_zero, filter, filter_zero;
};

/// y = bias + the sum over taps, wrapped. Padding is the zero point.
Status sum_up(const Call& c, const Sides& p, const int32_t* bias, int32_t* y) {
  NNEX_ASSIGN(ConvGeometry g, ConvGeometry::of(c.attr<ConvAttrs>(), c.shape(p.x), c.shape(p.filter)));
  NNEX_ASSIGN(Tensor x, centred(c, p.x, p.x_zero));
  NNEX_ASSIGN(Tensor filter, centred(c, p.filter, p.filter_zero));
  correlate<int32_t>(g, x.as<int32_t>().data(), filter.as<int32_t>().data(), bias, y);
  return {};
}

// ---- conv_integer

enum : size_t { kIntX, kIntFilter, kIntXZero, kIntFilterZero };

Status infer_conv_integer(InferCall& c) {
  NNEX_TRY(check_count(c, kIntXZero));
  NNEX_TRY(check_count(c, kIntFilterZero, filter_dims(c, kIntFilter)));
  NNEX_ASSIGN(MaybeDims out, conv_dims(c, c.attr<ConvAttrs>(), c.dims(kIntX), c.dims(kIntFilter), {}));
  c.result(0, std::move(out));
  return {};
}

Status run_conv_integer(Call& c) {
  if (c.out(0).count() == 0) return {};
  return sum_up(c, {kIntX, kIntXZero, kIntFilter, kIntFilterZero}, nullptr, c.out<int32_t>(0).data());
}

// ---- qlinear_conv

enum Quantised : size_t {
  kIntQX,
  kIntQXScale,
  kIntQXZero,
  kIntQFilter,
  kIntQFilterScale,
  kIntQFilterZero,
  kIntYScale,
  kIntYZero,
  kIntBias
};

Status infer_qlinear_conv(InferCall& c) {
  for (size_t i : {kIntQXScale, kIntQXZero, kIntYScale, kIntYZero}) NNEX_TRY(check_count(c, i));
  for (size_t i : {kIntQFilterScale, kIntQFilterZero}) NNEX_TRY(check_count(c, i, filter_dims(c, kIntQFilter)));
  NNEX_ASSIGN(MaybeDims out,
              conv_dims(c, c.attr<ConvAttrs>(), c.dims(kIntQX), c.dims(kIntQFilter), dims_if(c, kIntBias)));
  c.result(0, std::move(out));
  return {};
}

/// Sums of one channel to the result's type: one f32 factor, ties to even, saturated.
template <class T>
void requantise(const int32_t* sums, int64_t n, int64_t step, float factor, double zero, DType type, T* y) {
  for (int64_t i = 0; i < n; ++i)
    y[i * step] = static_cast<T>(saturated_int<int64_t>(
        static_cast<double>(std::nearbyint(static_cast<float>(sums[i * step]) * factor)) + zero, type));
}

Status run_qlinear_conv(Call& c) {
  Tensor& y = c.out(0);
  if (y.count() == 0) return {};
  NNEX_ASSIGN(Tensor sums, Tensor::make(DType::i32, y.shape()));
  NNEX_TRY(sum_up(c, {kIntQX, kIntQXZero, kIntQFilter, kIntQFilterZero},
                  c.has(kIntBias) ? c.in<int32_t>(kIntBias).data() : nullptr, sums.mutable_as<int32_t>().data()));
  const bool last = c.attr<ConvAttrs>().channels_last;
  const int64_t rank = y.shape().rank(), channels = c.shape(kIntQFilter)[0];
  const int64_t places = y.count() / channels / (last ? 1 : y.shape()[0]), groups = last ? 1 : y.shape()[0];
  const auto scale = [&](size_t i, int64_t m) {
    const auto s = c.in<float>(i);
    return s[s.size() == 1 ? 0 : static_cast<size_t>(m)];
  };
  NNEX_ASSERT(rank >= 3);
  const auto zero = static_cast<double>(int_at(c.in(kIntYZero), 0));
  for (int64_t n = 0; n < groups; ++n)
    for (int64_t m = 0; m < channels; ++m) {
      const float factor = scale(kIntQXScale, 0) * scale(kIntQFilterScale, m) / scale(kIntYScale, 0);
      const int64_t at = last ? m : (n * channels + m) * places, step = last ? channels : 1;
      const int32_t* from = sums.as<int32_t>().data() + at;
      if (y.dtype() == DType::u8)
        requantise(from, places, step, factor, zero, DType::u8, y.mutable_as<uint8_t>().data() + at);
      else
        requantise(from, places, step, factor, zero, DType::i8, y.mutable_as<int8_t>().data() + at);
    }
  return {};
}

constexpr List<Rename, 10> kOnnxWindow = {
    {"stride", "strides"}, {"dilation", "dilations"}, {"padding", "pads", &begins_ends}, {"groups", "group"}};

void conv_integer_interval(IntervalCall& c) { dot_interval(c, {.has_zeros = true, .padded = true}); }

constexpr OpRow kConvIntegerOps[] = {
    {.name = "conv_integer",
     .summary = "The exact convolution of bytes less their zero points, in i32; padding is the zero point.",
     .source = "ONNX ConvInteger-10",
     .inputs = {{"x", kBytes},
                {"filter", kBytes},
                {"x_zero", same_type_as("x"), Arity::optional},
                {.name = "filter_zero",
                 .type = same_type_as("filter"),
                 .arity = Arity::optional,
                 .doc = "One, or one for each output channel."}},
     .outputs = {{"y", DType::i32}},
     .attrs = kConvAttrs,
     .infer = infer_conv_integer,
     .interval = conv_integer_interval,
     .reference = any(run_conv_integer),
     .spelled = {{onnx, "ConvInteger", kOnnxWindow, 10}},
     .layout = LayoutRole::channels,
     .work = Work::conv},
    {.name = "qlinear_conv",
     .summary = "The convolution of quantised tensors, quantised again: exact sum, one f32 factor, ties to even.",
     .source = "ONNX QLinearConv-10",
     .inputs = {{"x", kBytes},
                {"x_scale", DType::f32},
                {"x_zero", same_type_as("x")},
                {"filter", kBytes},
                {.name = "filter_scale", .type = DType::f32, .doc = "One, or one for each output channel."},
                {"filter_zero", same_type_as("filter")},
                {"y_scale", DType::f32},
                {"y_zero", kBytes},
                {.name = "bias",
                 .type = DType::i32,
                 .arity = Arity::optional,
                 .doc = "In units of x_scale times filter_scale."}},
     .outputs = {{"y", same_type_as("y_zero")}},
     .attrs = kConvAttrs,
     .infer = infer_qlinear_conv,
     .reference = any(run_qlinear_conv),
     .spelled = {{onnx, "QLinearConv", kOnnxWindow, 10}},
     .layout = LayoutRole::channels,
     .work = Work::conv},
};
}  // namespace

std::span<const OpDef> conv_integer_ops() { return stored<kConvIntegerOps>(); }

}  // namespace nnex
