#pragma once
// What the operators of the domain com.microsoft share on their way to rows.

#include <fmt/format.h>

#include <initializer_list>

#include "base/failure.h"
#include "ops/cast.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format::microsoft {

inline constexpr std::string_view kDomain = "com.microsoft";

/// The operator is known; not what it is asked for.
inline Error lacks(const NodeImport& n, std::string_view what) {
  return failure(Code::unsupported, "{} with {}", n.op, what);
}

inline Status needs(const NodeImport& n, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (!n.has(i)) return n.error(fmt::format("input {} is required", i));
  return {};
}

inline DType real_type(const NodeImport& n, size_t i) {
  return n.type(i).dtype == DType::none ? DType::f32 : n.type(i).dtype;
}

inline ValueId cast_to(NodeImport& n, ValueId x, DType to) {
  CastAttrs a;
  a.to = to;
  return n.b("cast", {x}, a);
}

/// Goes on as the operator of the standard domain.
inline Quirked as_standard(NodeImport& n, std::string op) {
  n.op = std::move(op), n.domain.clear(), n.version = kNewestOpset;
  return Quirked::no;
}

/// x, and input i where it is given.
inline ValueId plus(NodeImport& n, ValueId x, size_t i) { return n.has(i) ? n.b("add", {x, n.in[i]}) : x; }

/// Codes of `bits` bits that fill whole bytes in every row of `row`, as a tensor of rows * row codes.
Result<Tensor> codes_of(const NodeImport& n, const Tensor& packed, DType type, int64_t bits, int64_t rows, int64_t row);

/// x with its channels in their other place: from behind the batch to the end, or back; as many axes as input 0 has.
Result<ValueId> with_channels(NodeImport& n, ValueId x, bool last);

/// make(x) gives the result of an operator whose input 0 is x, with channels where the standard has them.
template <class Make>
Result<ValueId> channels_second(NodeImport& n, bool last, ValueId x, Make make) {
  if (!last) return make(x);
  NNEX_ASSIGN(const ValueId second, with_channels(n, x, false));
  NNEX_ASSIGN(const ValueId y, make(second));
  return with_channels(n, y, true);
}

/// alpha times the product of inputs 0 and 1, each transposed where the node says so.
Result<ValueId> fused_product(NodeImport& n);

/// What fused operators apply to their result.
Result<ValueId> activated(NodeImport& n, ValueId x, const std::string& name, const Reals& params);

/// No node has that many.
inline constexpr size_t kNoInput = ~size_t{0};

/// Where a node has what its attention needs: an input of its real type, the mask, the past (keys, then values, as the
/// present is given), what is added to scores.
struct PackedPlaces {
  size_t real, mask, past, score_bias = kNoInput;
};

/// Attention that makes queries, keys and values itself: columns of `product`, which is input 0 by input 1, and of the
/// bias at input 2.
Result<Quirked> packed_attention(NodeImport& n, ValueId product, const PackedPlaces& at);

}  // namespace nnex::onnx_format::microsoft
