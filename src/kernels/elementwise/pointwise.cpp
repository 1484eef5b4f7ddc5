#include "kernels/elementwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/activation.h"
#include "ops/arithmetic.h"

namespace nnex::kernels {
namespace {

template <class Kind>
struct Row {
  std::string_view op;
  Kind kind;
};
constexpr Row<UnaryKind> kUnaries[] = {
#define NNEX_UNARY(kind, cost, row) {row, UnaryKind::kind},
#define NNEX_UNARY_ATTRS(kind, cost, row) {row, UnaryKind::kind},
#define NNEX_UNARY_INNER(kind, cost)
#include "kernels/elementwise/unary.def"
};
constexpr Row<BinaryKind> kBinaries[] = {
#define NNEX_BINARY(kind, row) {row, BinaryKind::kind},
#define NNEX_BINARY_ATTRS(kind, row) {row, BinaryKind::kind},
#define NNEX_BINARY_INNER(kind)
#include "kernels/elementwise/binary.def"
};

template <class Kind, size_t n>
std::optional<Kind> kind_of(const Row<Kind> (&rows)[n], const OpDef& op) {
  for (const Row<Kind>& row : rows)
    if (row.op == op.name) return row.kind;
  return std::nullopt;
}

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
  const auto kind = kind_of(kUnaries, op);
  if (!kind) return std::nullopt;
  Unary f = {*kind};
  const auto set = [&](double alpha, double beta = 0) {
    f.alpha = static_cast<float>(alpha), f.beta = static_cast<float>(beta);
  };
  switch (*kind) {
    case UnaryKind::relu:
      if (as<NansAttrs>(op, attrs).nans == Nans::compare) f.nan = 0;
      break;
    case UnaryKind::leaky_relu:
      set(as<LeakyReluAttrs>(op, attrs).alpha);
      break;
    case UnaryKind::elu:
    case UnaryKind::celu:
    case UnaryKind::silu:
    case UnaryKind::thresholded_relu:
      set(as<AlphaAttrs>(op, attrs).alpha);
      break;
    case UnaryKind::selu:
      set(as<SeluAttrs>(op, attrs).alpha, as<SeluAttrs>(op, attrs).lambda);
      break;
    case UnaryKind::hard_sigmoid:
      set(as<HardSigmoidAttrs>(op, attrs).alpha, as<HardSigmoidAttrs>(op, attrs).beta);
      break;
    case UnaryKind::affine:
      set(as<AffineAttrs>(op, attrs).alpha, as<AffineAttrs>(op, attrs).beta);
      break;
    case UnaryKind::round:
      if (as<RoundAttrs>(op, attrs).rounding != Rounding::half_even) return std::nullopt;
      break;
    case UnaryKind::clamp:
      return clamp_of(as<ClampAttrs>(op, attrs), in);
    case UnaryKind::gelu_erf: {
      static constexpr UnaryKind kForms[] = {UnaryKind::gelu_erf, UnaryKind::gelu_tanh, UnaryKind::gelu_sigmoid};
      f.kind = kForms[static_cast<size_t>(as<GeluAttrs>(op, attrs).form)];
      break;
    }
    default:
      break;
  }
  return f;
}

std::optional<BinaryKind> binary_of(const OpDef& op, const void* attrs) {
  const auto kind = kind_of(kBinaries, op);
  const bool extreme = kind == BinaryKind::min || kind == BinaryKind::max;
  if (!extreme || as<NansAttrs>(op, attrs).nans == Nans::pass) return kind;
  return kind == BinaryKind::min ? BinaryKind::lesser : BinaryKind::greater;
}

}  // namespace nnex::kernels
