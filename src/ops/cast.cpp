// Elements under another type: by value, or by their bits.

#include "ops/cast.h"

#include <cstring>

#include "base/copy_bytes.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

Status infer_cast(InferCall& c) {
  const DType to = c.attr<CastAttrs>().to, from = c.dtype(0);
  if (to == DType::none || to == kDimType) return c.error("to names no element type");
  if (from != DType::none && is_complex(from) != is_complex(to))
    return c.error("elements of type {} do not become {}", name(from), name(to));
  c.result(0, c.dims(0));
  const bool whole = (is_int(from) || from == DType::boolean) && is_int(to) && bits(to) >= 32;
  if (auto values = c.values(0); values && whole) {
    for (const Dim& v : *values)
      if (!v.is_number()) return c.result_values(0, *values), Status{};
  }
  return {};
}

Status run_cast(Call& c) {
  const auto& a = c.attr<CastAttrs>();
  CastOptions options;
  options.overflow = a.saturate ? Overflow::saturate : Overflow::overflow;
  options.float_to_int = a.rounding == CastRounding::floor ? FloatToInt::floor : FloatToInt::truncate;
  options.power = static_cast<PowerRounding>(a.e8m0);
  auto cast = convert(c.in(0), a.to, options);
  if (!cast.ok()) return c.fault("{}", cast.error().message());
  NNEX_ASSIGN(Tensor * y, c.make(0, a.to, c.shape(0)));
  if (a.to == DType::str)
    std::copy(cast->strings().begin(), cast->strings().end(), y->mutable_as<std::string>().begin());
  else if (cast->bytes() > 0)
    copy_bytes(y->mutable_data(), cast->data(), cast->bytes());
  return {};
}

Status infer_bit_cast(InferCall& c) {
  const DType to = c.attr<BitCastAttrs>().to, from = c.dtype(0);
  if (to == DType::none || is_object(to) || is_object(from))
    return c.error("the bits of {} elements do not make {}", name(from), name(to));
  if (from != DType::none && bits(from) != bits(to))
    return c.error("x has elements of {} bits; {} has {}", bits(from), name(to), bits(to));
  return same_shape(c);
}

Status run_bit_cast(Call& c) {
  NNEX_ASSIGN(Tensor * y, c.make(0, c.attr<BitCastAttrs>().to, c.shape(0)));
  copy_bytes(y->mutable_data(), c.in(0).data(), y->bytes());
  return {};
}

/// Whole numbers need as many bits as before.
Status precision_of_cast(PrecisionCall& c) {
  if (c.attr<CastAttrs>().to != DType::i32 || c.bits(0) == 0)
    return c.error("bits are counted of integers that become {}", name(DType::i32));
  return keeps_precision(c);
}

constexpr OpRow kCastOps[] = {
    {
        .name = "cast",
        .summary = "Every element under another type, by value.",
        .source = "NNEF 1.0.5 cast (rounds down); ONNX Cast-25; WebNN cast()",
        .inputs = {{"x", kA}},
        .outputs = {{"y", type_from("to")}},
        .attrs = attrs_of<CastAttrs>(
            {field<&CastAttrs::to>("to", "The element type wanted.", required),
             field<&CastAttrs::saturate>("saturate", "To float8: clamp to the largest finite; else NaN or infinity."),
             field<&CastAttrs::rounding>(
                 "rounding",
                 "How a float becomes an integer; of 4 and 2 bits it is the nearest, of which they keep the low bits."),
             field<&CastAttrs::e8m0>("e8m0", "How a number becomes a power of two, to f8e8m0.")}),
        .infer = infer_cast,
        .precision = precision_of_cast,
        .interval = keeps_interval,
        .reference = any(run_cast),
        .spelled = {{nnef, "cast", {}, 1, "", {{"rounding", "'floor'"}}},
                    {onnx,
                     "Cast",
                     {{"to", "to", &onnx_dtype}, {"saturate", "saturate", &int_bool}, {"e8m0", "round_mode"}}},
                    {webnn, "cast", {{"to", "dataType"}}}},
        .elementwise = true,
    },
    {
        .name = "bit_cast",
        .summary = "The same bits under another type of equal width.",
        .source = "ONNX BitCast-26",
        .inputs = {{"x", kA}},
        .outputs = {{"y", type_from("to")}},
        .attrs = attrs_of<BitCastAttrs>({field<&BitCastAttrs::to>("to", "The element type wanted.", required)}),
        .infer = infer_bit_cast,
        .reference = any(run_bit_cast),
        .spelled = {{onnx, "BitCast", {{"to", "to", &onnx_dtype}}, 26}},
        .elementwise = true,
    },
};
}  // namespace

std::span<const OpDef> cast_ops() { return stored<kCastOps>(); }

}  // namespace nnex
