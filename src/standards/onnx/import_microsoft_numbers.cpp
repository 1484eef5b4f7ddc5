// Operators of the domain com.microsoft over whole numbers, and transforms of numbers.

#include "ops/cast.h"
#include "ops/reduce.h"
#include "ops/signal.h"
#include "standards/onnx/import_microsoft.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

/// (a - its zero point) * (b - its zero point).
Result<Quirked> mul_integer(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 2}));
  const auto less_zero = [&](size_t i) {
    const ValueId x = cast_to(n, n.in[i], DType::i32);
    return n.has(i + 1) ? n.b("sub", {x, cast_to(n, n.in[i + 1], DType::i32)}) : x;
  };
  n.bind(0, n.b("mul", {less_zero(0), less_zero(2)}));
  return Quirked::done;
}

/// Sums of bytes in 32 bits, signed as they are.
Result<Quirked> reduce_sum_integer(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  ReduceAttrs over;
  over.keepdims = n.integer("keepdims", 1) != 0;
  const DType wide = n.type(0).dtype == DType::u8 ? DType::u32 : DType::i32;
  std::vector<ValueId> in = {cast_to(n, n.in[0], wide)};
  if (n.given("axes")) in.push_back(n.b.ints(n.ints("axes")));
  n.bind(0, n.b("sum_reduce", std::move(in), over));
  return Quirked::done;
}

/// The exact product of 16-bit matrices, in 32 bits.
Result<Quirked> matmul_integer_16(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const bool is_signed = n.type(0).dtype != DType::u16 || n.type(1).dtype != DType::u16;
  const DType wide = is_signed ? DType::i32 : DType::u32;
  n.bind(0, n.b("matmul", {cast_to(n, n.in[0], wide), cast_to(n, n.in[1], wide)}));
  return Quirked::done;
}

/// The transform of real numbers along the last axes, of which the last keeps the half that says all.
Result<Quirked> real_transform(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  if (n.integer("normalized", 0)) return lacks(n, "normalized");
  if (!n.integer("onesided", 1)) return lacks(n, "onesided of 0");
  const int64_t axes = n.integer("signal_ndim", 1);
  if (axes < 1 || axes > 3) return n.error(fmt::format("signal_ndim is {}; needed 1 to 3", axes));
  DftAttrs half;
  half.onesided = true;
  ValueId y = n.b("dft", {n.b("unsqueeze", {n.in[0], n.b.ints({-1})}), {}, n.b.integer(-2)}, half);
  for (int64_t axis = 1; axis < axes; ++axis) y = n.b("dft", {y, {}, n.b.integer(-2 - axis)}, DftAttrs{});
  n.bind(0, y);
  return Quirked::done;
}

constexpr QuirkRow kNumberRows[] = {
    {"MatMulInteger16", matmul_integer_16, kDomain, "1 T1 T2 > T3"},
    {"MulInteger", mul_integer, kDomain, "1 T T? T T? > T1"},
    {"ReduceSumInteger", reduce_sum_integer, kDomain, "1 T1 > T2 | axes:I keepdims:i"},
    {"Rfft", real_transform, kDomain, "1 T > T | normalized:i onesided:i signal_ndim:i"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_number_quirks() { return read_of<microsoft::kNumberRows>(); }

}  // namespace nnex::onnx_format
