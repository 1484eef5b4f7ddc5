#include "kernels/elementwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/activation.h"
#include "ops/arithmetic.h"

namespace nnex::kernels {
namespace {

struct NamedUnary {
  std::string_view op;
  UnaryKind kind;
};
constexpr NamedUnary kPlain[] = {
#define NNEX_UNARY(kind, cost, row) {row, UnaryKind::kind},
#define NNEX_UNARY_ATTRS(kind, cost, row)
#define NNEX_UNARY_INNER(kind, cost)
#include "kernels/elementwise/unary.def"
};

struct NamedBinary {
  std::string_view op;
  BinaryKind kind;
};
constexpr NamedBinary kBinaries[] = {
#define NNEX_BINARY(kind, row) {row, BinaryKind::kind},
#define NNEX_BINARY_ATTRS(kind, row)
#define NNEX_BINARY_INNER(kind)
#include "kernels/elementwise/binary.def"
};

template <class A>
const A& as(const OpDef& op, const void* attrs) {
  NNEX_ASSERT(op.attrs.type == &nnex::detail::type_tag<A>);
  return *static_cast<const A*>(attrs);
}

/// One element that is known; NaN where the input is absent, nothing where it is computed.
std::optional<float> limit(std::span<const Operand> in, size_t i) {
  if (i >= in.size() || !in[i].given()) return std::numeric_limits<float>::quiet_NaN();
  const Tensor* t = in[i].content ? in[i].content : in[i].constant;
  if (!t || t->count() != 1) return std::nullopt;
  return static_cast<float>(real_at(*t, 0));
}

std::optional<Unary> clamp_of(const ClampAttrs& a, std::span<const Operand> in) {
  const auto low = limit(in, 1), high = limit(in, 2);
  if (!low || !high) return std::nullopt;
  const bool low_wins = *low > *high && a.crossed == Crossed::low;  // over everything: a range of one number
  Unary f = {UnaryKind::clamp, *low, low_wins ? *low : *high};
  if (a.nans == Nans::compare) {
    if (*low != *low || *high != *high) return std::nullopt;
    f.nan = a.crossed == Crossed::low ? f.beta : std::min(*low, *high);
  }
  return f;
}

}  // namespace

std::optional<Unary> unary_of(const OpDef& op, const void* attrs, std::span<const Operand> in) {
  for (const NamedUnary& u : kPlain)
    if (u.op == op.name) return Unary{u.kind};
  const auto f = [](double x) { return static_cast<float>(x); };
  if (op.name == "relu") {
    Unary relu = {UnaryKind::relu};
    if (as<NansAttrs>(op, attrs).nans == Nans::compare) relu.nan = 0;
    return relu;
  }
  if (op.name == "leaky_relu") return Unary{UnaryKind::leaky_relu, f(as<LeakyReluAttrs>(op, attrs).alpha)};
  if (op.name == "elu") return Unary{UnaryKind::elu, f(as<AlphaAttrs>(op, attrs).alpha)};
  if (op.name == "celu") return Unary{UnaryKind::celu, f(as<AlphaAttrs>(op, attrs).alpha)};
  if (op.name == "silu") return Unary{UnaryKind::silu, f(as<AlphaAttrs>(op, attrs).alpha)};
  if (op.name == "thresholded_relu") return Unary{UnaryKind::thresholded_relu, f(as<AlphaAttrs>(op, attrs).alpha)};
  if (op.name == "selu")
    return Unary{UnaryKind::selu, f(as<SeluAttrs>(op, attrs).alpha), f(as<SeluAttrs>(op, attrs).lambda)};
  if (op.name == "hard_sigmoid")
    return Unary{UnaryKind::hard_sigmoid, f(as<HardSigmoidAttrs>(op, attrs).alpha),
                 f(as<HardSigmoidAttrs>(op, attrs).beta)};
  if (op.name == "affine")
    return Unary{UnaryKind::affine, f(as<AffineAttrs>(op, attrs).alpha), f(as<AffineAttrs>(op, attrs).beta)};
  if (op.name == "round" && as<RoundAttrs>(op, attrs).rounding == Rounding::half_even) return Unary{UnaryKind::round};
  if (op.name == "clamp") return clamp_of(as<ClampAttrs>(op, attrs), in);
  if (op.name == "gelu") {
    static constexpr UnaryKind kForms[] = {UnaryKind::gelu_erf, UnaryKind::gelu_tanh, UnaryKind::gelu_sigmoid};
    return Unary{kForms[static_cast<size_t>(as<GeluAttrs>(op, attrs).form)]};
  }
  return std::nullopt;
}

std::optional<BinaryKind> binary_of(const OpDef& op, const void* attrs) {
  const bool min = op.name == "min";
  if (min || op.name == "max") {
    if (as<NansAttrs>(op, attrs).nans == Nans::pass) return min ? BinaryKind::min : BinaryKind::max;
    return min ? BinaryKind::lesser : BinaryKind::greater;
  }
  for (const NamedBinary& b : kBinaries)
    if (b.op == op.name) return b.kind;
  return std::nullopt;
}

}  // namespace nnex::kernels
