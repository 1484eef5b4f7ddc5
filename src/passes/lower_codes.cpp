// Quantised numbers as arithmetic on reals, where that gives the same codes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/conv.h"
#include "ops/int_limits.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "ops/window.h"
#include "passes/lower.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

constexpr double kWhole = 1 << 24;  ///< float32 holds every whole number up to it.

// ---- Granularity: scale and zero point as they lie along x

/// One number for an axis is repeated to its extent; `at` is the axis, `block` how many elements share one.
ValueId repeated(Lowering& l, ValueId v, Ints& shape, size_t at, int64_t block, int64_t extent) {
  Ints apart = shape, wide;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(at) + 1, 1);
  wide = apart;
  wide[at + 1] = block;
  shape[at] *= block;
  v = l.reshaped(l.row("expand", {l.reshaped(v, apart), l.b.ints(wide)}), shape);
  if (shape[at] == extent) return v;
  v = l.sliced(v, static_cast<int64_t>(at), 0, extent);
  shape[at] = extent;
  return v;
}

/// A scale or zero point under extents that broadcast to those of x.
Result<ValueId> along(Lowering& l, size_t port, const Shape& x, int64_t axis, int64_t block_size) {
  NNEX_ASSIGN(const Shape have, l.shape(port));
  const auto at = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  Ints shape(have.begin(), have.end());
  ValueId v = l.in(port);
  if (have.count() == 1) return have.rank() == 0 ? v : l.reshaped(v, {});
  if (have.rank() == 1 && x.rank() != 1) {
    shape.assign(static_cast<size_t>(x.rank()), 1);
    shape[at] = have[0];
    v = l.reshaped(v, shape);
  }
  for (size_t a = 0; a < shape.size(); ++a) {
    const int64_t n = x[static_cast<int64_t>(a)];
    if (shape[a] == 1 || shape[a] == n) continue;
    v = repeated(l, v, shape, a, block_size > 0 && a == at ? block_size : n / shape[a], n);
  }
  return v;
}

/// What is no number, as quotients by 0 are, counts as 0. Constant scales make numbers.
ValueId numbers_alone(Lowering& l, ValueId v, std::initializer_list<size_t> scales) {
  if (std::all_of(scales.begin(), scales.end(), [&](size_t port) { return l.constant(port) != nullptr; })) return v;
  return l.row("select", {l.row("eq", {v, v}), v, l.b.number(DType::f32, 0)});
}

/// Reals as codes of this type: whole numbers, moved by `zero`, limited.
ValueId to_codes(Lowering& l, ValueId reals, ValueId zero, DType type, std::initializer_list<size_t> scales = {}) {
  const IntLimits range = int_limits(type);
  ValueId codes = l.whole(reals);
  if (zero.valid()) codes = l.row("add", {codes, l.cast(zero, DType::f32)});
  codes = numbers_alone(l, codes, scales);
  codes = l.row("clamp", {codes, l.b.number(DType::f32, static_cast<double>(range.low)),
                          l.b.number(DType::f32, static_cast<double>(range.high))});
  return l.cast_whole(codes, type);
}

/// Whether float32 holds the codes of a type, and differences of two.
bool is_short(DType type) { return is_int(type) && bits(type) <= 16; }

/// The largest magnitude of whole numbers; nothing for those that are computed.
std::optional<double> largest_of(const Tensor* known) {
  if (!known) return std::nullopt;
  double largest = 0;
  for (int64_t i = 0; i < known->count(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(int_at(*known, i))));
  return largest;
}

Status quantize(Lowering& l) {
  const auto& a = l.attrs<QuantizeAttrs>();
  const DType to = l.result_type();
  if (!is_short(to)) return l.error("codes of {} are not all numbers of float32", name(to));
  if (l.type(0) != DType::f32 || l.type(1) != DType::f32 || a.precision.value_or(DType::f32) != DType::f32)
    return l.error("it divides {} by {}; needed float32", name(l.type(0)), name(l.type(1)));
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const ValueId scale, along(l, 1, x, a.axis, a.block_size));
  ValueId zero;
  if (l.given(2)) {
    NNEX_ASSIGN(zero, along(l, 2, x, a.axis, a.block_size));
  }
  l.give(0, to_codes(l, numbers_alone(l, l.row("div", {l.in(0), scale}), {1}), zero, to));
  return {};
}

Status dequantize(Lowering& l) {
  const auto& a = l.attrs<DequantizeAttrs>();
  const DType from = l.type(0), to = l.result_type();
  if (to != DType::f32) return l.error("its result is {}; needed float32", name(to));
  const bool centred = l.given(2) && largest_of(l.constant(2)) != 0.0;
  if (!is_short(from) && (centred || from != DType::i32))
    return l.error("differences of {} are not all numbers of float32", name(from));
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const ValueId scale, along(l, 1, x, a.axis, a.block_size));
  ValueId y = l.cast(l.in(0), DType::f32);
  if (centred) {
    NNEX_ASSIGN(const ValueId zero, along(l, 2, x, a.axis, a.block_size));
    y = l.row("sub", {y, l.cast(zero, DType::f32)});
  }
  l.give(0, l.row("mul", {y, l.cast(scale, DType::f32)}));
  return {};
}

/// The range of x widened to 0 is cut into 255 steps.
Status dynamic_quantize(Lowering& l) {
  NNEX_ASSIGN(const Shape shape, l.shape(0));
  Ints axes;
  for (int64_t i = 0; i < shape.rank(); ++i) axes.push_back(i);
  const auto number = [&](double v) { return l.b.number(DType::f32, v); };
  ExtremeAttrs all;
  all.keepdims = false;
  const ValueId x = l.in(0);
  const auto extreme = [&](std::string_view reduce, std::string_view bound) {
    const ValueId of_x = axes.empty() ? x : l.row(reduce, {x, l.b.ints(axes)}, all);
    return l.row(bound, {of_x, number(0)});
  };
  const ValueId low = extreme("min_reduce", "min"), high = extreme("max_reduce", "max");
  const ValueId range = l.row("select", {l.row("eq", {high, low}), number(1), l.row("sub", {high, low})});
  const ValueId scale = l.row("div", {range, number(255)});
  const ValueId zero = l.row("div", {l.row("sub", {number(0), low}), scale});
  const ValueId place = l.whole(l.row("clamp", {zero, number(0), number(255)}));
  if (l.wants(0)) l.give(0, to_codes(l, l.row("div", {x, scale}), place, DType::u8));
  if (l.wants(1)) l.give(1, scale);
  if (l.wants(2)) l.give(2, to_codes(l, place, {}, DType::u8));
  return {};
}

// ---- Products of codes: sums of whole numbers, which float32 must hold

/// Codes of a port less their zero point, and the largest magnitude that has.
struct Centred {
  ValueId v;
  double largest = 0;
};

/// `along`: the axis that a vector of zero points lies on.
Result<Centred> centred(Lowering& l, size_t port, size_t zero, int64_t along) {
  const DType type = l.type(port);
  if (!is_short(type))
    return l.error("its {} is {}; needed codes of 16 bits or fewer", l.node().op->inputs[port].name, name(type));
  NNEX_ASSIGN(const Shape shape, l.shape(port));
  const IntLimits range = int_limits(type);
  const double low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  Centred out{l.cast(l.in(port), DType::f32), std::max(-low, high)};
  if (!l.given(zero)) return out;
  NNEX_ASSIGN(const Shape zeros, l.shape(zero));
  out.largest = high - low;
  if (const Tensor* known = l.constant(zero)) {
    out.largest = 0;
    for (int64_t i = 0; i < known->count(); ++i) {
      const double z = static_cast<double>(int_at(*known, i));
      out.largest = std::max({out.largest, high - z, z - low});
    }
  }
  Ints lies;
  if (zeros.count() > 1 && zeros.rank() == 1) {
    lies.assign(static_cast<size_t>(shape.rank()), 1);
    lies[static_cast<size_t>(along)] = zeros[0];
  } else if (zeros.count() > 1) {
    lies.assign(zeros.begin(), zeros.end());
  }
  out.v = l.row("sub", {out.v, l.cast(l.reshaped(l.in(zero), lies), DType::f32)});
  return out;
}

/// The greatest sum of magnitudes of the codes that meet in one sum: of a constant as they are, else all the largest.
/// Constants of a convolution have a row for each sum, those of a product a column.
double greatest_sum(const Lowering& l, size_t port, size_t zero, int64_t summed, double largest, bool columns) {
  const Tensor *codes = l.constant(port), *zeros = l.given(zero) ? l.constant(zero) : nullptr;
  if (!codes || (l.given(zero) && !zeros) || (zeros && zeros->count() > 1) || codes->count() % summed)
    return static_cast<double>(summed) * largest;
  const double z = zeros ? static_cast<double>(int_at(*zeros, 0)) : 0;
  const int64_t sums = codes->count() / summed, width = columns ? codes->shape()[codes->shape().rank() - 1] : 1;
  std::vector<double> sum(static_cast<size_t>(sums));
  for (int64_t i = 0; i < codes->count(); ++i) {
    const int64_t at = columns ? i / (summed * width) * width + i % width : i / summed;
    sum[static_cast<size_t>(at)] += std::abs(static_cast<double>(int_at(*codes, i)) - z);
  }
  return *std::max_element(sum.begin(), sum.end());
}

Status fits(const Lowering& l, double greatest) {
  if (greatest <= kWhole) return {};
  return l.error("its sums reach {:.0f}; float32 holds whole numbers up to {:.0f}", greatest, kWhole);
}

/// The sums of a convolution of codes, as float32; rounded, since fast ways to them are not exact. Ports: x, filter,
/// and their zero points. `more`: the magnitude of what is added after.
Result<ValueId> conv_sums(Lowering& l, size_t x, size_t filter, size_t x_zero, size_t filter_zero, double more = 0) {
  if (l.attrs<ConvAttrs>().channels_last) return l.error("its channels are the last axis; needed axis 1");
  NNEX_ASSIGN(const Centred a, centred(l, x, x_zero, 1));
  NNEX_ASSIGN(const Centred b, centred(l, filter, filter_zero, 0));
  NNEX_ASSIGN(const Shape f, l.shape(filter));
  NNEX_TRY(fits(l, more + a.largest * greatest_sum(l, filter, filter_zero, f.count() / f[0], b.largest, false)));
  return l.whole(l.row("conv", {a.v, b.v}, l.attrs<ConvAttrs>()));
}

Result<ValueId> matmul_sums(Lowering& l, size_t x, size_t y, size_t x_zero, size_t y_zero) {
  NNEX_ASSIGN(const Shape left, l.shape(x));
  NNEX_ASSIGN(const Shape right, l.shape(y));
  if (left.rank() < 2 || right.rank() < 2) return l.error("an operand is a vector; needed matrices");
  NNEX_ASSIGN(const Centred a, centred(l, x, x_zero, left.rank() - 2));
  NNEX_ASSIGN(const Centred b, centred(l, y, y_zero, right.rank() - 1));
  NNEX_TRY(fits(l, a.largest * greatest_sum(l, y, y_zero, left[left.rank() - 1], b.largest, true)));
  return l.matmul(a.v, b.v);
}

Status conv_integer(Lowering& l) {
  NNEX_ASSIGN(const ValueId sums, conv_sums(l, 0, 1, 2, 3));
  l.give(0, l.cast_whole(sums, l.result_type()));
  return {};
}

Status matmul_integer(Lowering& l) {
  NNEX_ASSIGN(const ValueId sums, matmul_sums(l, 0, 1, 2, 3));
  l.give(0, l.cast_whole(sums, l.result_type()));
  return {};
}

/// Sums of products of codes as the result's codes. Values: the scales of both operands, the result's scale and zero.
Status requantize(Lowering& l, ValueId sums, ValueId x_scale, ValueId y_scale, ValueId scale, ValueId zero) {
  const DType to = l.result_type();
  if (!is_short(to)) return l.error("codes of {} are not all numbers of float32", name(to));
  const ValueId factor = l.row("div", {l.row("mul", {x_scale, y_scale}), scale});
  l.give(0, to_codes(l, l.row("mul", {sums, factor}), zero, to, {1, 4, 6}));  // 0, not the zero point
  return {};
}

// Ports: x, its scale and zero; filter, its scale and zero; the result's scale and zero; the bias.
Status qlinear_conv(Lowering& l) {
  const auto bias = l.given(8) ? largest_of(l.constant(8)) : 0.0;
  if (!bias) return l.error("its bias is computed; needed numbers, to know how far sums reach");
  NNEX_ASSIGN(ValueId sums, conv_sums(l, 0, 3, 2, 5, *bias));
  NNEX_ASSIGN(const Shape y, l.result_shape());
  const auto by_channel = [&](size_t port) -> Result<ValueId> {
    NNEX_ASSIGN(const Shape have, l.shape(port));
    if (have.rank() == 0) return l.in(port);
    Ints shape(have.count() == 1 ? size_t{0} : static_cast<size_t>(y.rank()), 1);
    if (!shape.empty()) shape[1] = have.count();
    return l.reshaped(l.in(port), shape);
  };
  if (l.given(8)) {
    NNEX_ASSIGN(const ValueId of_channels, by_channel(8));
    sums = l.row("add", {sums, l.cast(of_channels, DType::f32)});
  }
  NNEX_ASSIGN(const ValueId x_scale, by_channel(1));
  NNEX_ASSIGN(const ValueId filter_scale, by_channel(4));
  NNEX_ASSIGN(const ValueId scale, by_channel(6));
  NNEX_ASSIGN(const ValueId zero, by_channel(7));
  return requantize(l, sums, x_scale, filter_scale, scale, zero);
}

// Ports: x, its scale and zero; y, its scale and zero; the result's scale and zero.
Status qlinear_matmul(Lowering& l) {
  NNEX_ASSIGN(const ValueId sums, matmul_sums(l, 0, 3, 2, 5));
  const auto real = [&](size_t port) { return l.cast(l.in(port), DType::f32); };
  return requantize(l, sums, real(1), real(4), real(6), l.in(7));
}

constexpr LowerRow kLowerCodes[] = {
    {"quantize_linear", quantize},
    {"dequantize_linear", dequantize},
    {"dynamic_quantize_linear", dynamic_quantize},
    {"conv_integer", conv_integer},
    {"matmul_integer", matmul_integer},
    {"qlinear_conv", qlinear_conv},
    {"qlinear_matmul", qlinear_matmul},
};

}  // namespace

std::span<const LowerRow> lower_codes() { return kLowerCodes; }

}  // namespace nnex::passes
