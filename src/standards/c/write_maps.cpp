// Rows whose result at i depends on their operands at i alone, as expressions of C.

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/try.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/cvm.h"
#include "ops/int_limits.h"
#include "ops/quantize.h"
#include "ops/strided.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// A node, the expressions of its operands, and where lines before its own go.
class Map {
 public:
  Map(StepWriter& w, const Node& n, const std::vector<std::string>& operands)
      : w_(w), n_(n), in_(operands), type_(w.type(n.in[0])), to_(w.type(n.out[0])) {}

  StepWriter& writer() const { return w_; }
  std::string_view row() const { return n_.op->name; }
  template <class A>
  const A& attr() const {
    return w_.graph().attrs<A>(n_);
  }
  const std::string& x(size_t i = 0) const { return in_[i]; }
  bool given(size_t i) const { return i < in_.size() && !in_[i].empty(); }
  size_t operands() const { return in_.size(); }
  DType type() const { return type_; }  ///< Of operand 0.
  DType type(size_t i) const { return w_.type(n_.in[i]); }
  DType to() const { return to_; }
  bool real() const { return is_float(type_); }
  std::string number(double v) const { return literal(v, type_); }
  std::string call(std::string_view function, const std::string& x) const {
    return fmt::format("{}({})", math(function, type_), x);
  }
  std::string need(std::string_view function) const { return w_.need(function, type_); }

  /// x op y for + - *; integers wrap.
  std::string wrapped(char op, const std::string& x, const std::string& y) const {
    if (real()) return fmt::format("{} {} {}", x, op, y);
    const std::string_view wide = bits(type_) == 64 ? "uint64_t" : "uint32_t";
    return fmt::format("({})(({}){} {} ({}){})", c_type(type_), wide, x, op, wide, y);
  }
  std::string refused(std::string reason) const {
    w_.refuse(fmt::format("{}: {}", row(), reason));
    return {};
  }

 private:
  StepWriter& w_;
  const Node& n_;
  const std::vector<std::string>& in_;
  DType type_, to_;
};

using MapWriter = std::string (*)(const Map& m);

// ---- One operand

template <const char* const& function>
std::string of_math(const Map& m) {
  return m.call(function, m.x());
}

std::string negated(const Map& m) { return m.real() ? "-" + m.x() : m.wrapped('-', "0", m.x()); }

std::string absolute(const Map& m) {
  if (m.real()) return m.call("fabs", m.x());
  if (is_unsigned_int(m.type())) return m.x();
  return fmt::format("{0} < 0 ? {1} : {0}", m.x(), m.wrapped('-', "0", m.x()));
}

std::string sign(const Map& m) {
  if (is_unsigned_int(m.type())) return fmt::format("{} > 0", m.x());
  return fmt::format("{0} > 0 ? 1 : {0} < 0 ? -1 : {0}", m.x());
}

std::string rounded(const Map& m) {
  switch (m.attr<RoundAttrs>().rounding) {
    case Rounding::half_even:
      return m.call("rint", m.x());
    case Rounding::half_up:
      return fmt::format("{}({})", m.need("half_up"), m.x());
    case Rounding::half_away:
      return m.call("round", m.x());
  }
  return {};
}

std::string affine(const Map& m) {
  const auto& a = m.attr<AffineAttrs>();
  return fmt::format("{} * {} + {}", m.number(a.alpha), m.x(), m.number(a.beta));
}

std::string relu(const Map& m) {
  if (is_unsigned_int(m.type())) return m.x();
  if (m.real() && m.attr<NansAttrs>().nans == Nans::pass)
    return fmt::format("{0} <= 0 ? 0 : {0}", m.x());  // a NaN is not, and stays
  return fmt::format("{0} > 0 ? {0} : 0", m.x());
}

std::string sigmoid(const Map& m) { return fmt::format("{}({})", m.need("sigmoid"), m.x()); }
std::string softplus(const Map& m) { return fmt::format("{}({})", m.need("softplus"), m.x()); }
std::string silu(const Map& m) {
  const double alpha = m.attr<AlphaAttrs>().alpha;
  return alpha == 1 ? fmt::format("{1} * {0}({1})", m.need("sigmoid"), m.x())
                    : fmt::format("{1} * {0}({2} * {1})", m.need("sigmoid"), m.x(), m.number(alpha));
}

/// Without the 1 + erf or 1 + tanh of the formulas, which has no digits left where x is far below 0.
std::string gelu(const Map& m) {
  switch (m.attr<GeluAttrs>().form) {
    case GeluForm::erf:
      return fmt::format("{} / 2 * {}", m.x(), m.call("erfc", m.number(-0.70710678118654752440) + " * " + m.x()));
    case GeluForm::tanh:
      return fmt::format("{1} * {0}({2} * ({1} + {3} * {1} * {1} * {1}))", m.need("sigmoid"), m.x(),
                         m.number(2 * 0.79788456080286535588), m.number(0.044715));
    case GeluForm::sigmoid:
      return fmt::format("{1} * {0}({2} * {1})", m.need("sigmoid"), m.x(), m.number(1.702));
  }
  return {};
}

std::string elu(const Map& m) {
  return fmt::format("{0} < 0 ? {1} * {2} : {0}", m.x(), m.number(m.attr<AlphaAttrs>().alpha), m.call("expm1", m.x()));
}
std::string selu(const Map& m) {
  const auto& a = m.attr<SeluAttrs>();
  return fmt::format("{3} * ({0} < 0 ? {1} * {2} : {0})", m.x(), m.number(a.alpha), m.call("expm1", m.x()),
                     m.number(a.lambda));
}
std::string celu(const Map& m) {
  const std::string alpha = m.number(m.attr<AlphaAttrs>().alpha);
  return fmt::format("{0} > 0 ? {0} : {1} * {2}", m.x(), alpha, m.call("expm1", m.x() + " / " + alpha));
}
std::string leaky_relu(const Map& m) {
  return fmt::format("{0} < 0 ? {1} * {0} : {0}", m.x(), m.number(m.attr<LeakyReluAttrs>().alpha));
}
std::string thresholded_relu(const Map& m) {
  return fmt::format("{0} > {1} ? {0} : 0", m.x(), m.number(m.attr<AlphaAttrs>().alpha));
}
std::string shrink(const Map& m) {
  if (!m.real()) return m.refused("of integers");
  const auto& a = m.attr<ShrinkAttrs>();
  return fmt::format("{0} < {3} ? {0} + {2} : {0} > {1} ? {0} - {2} : 0", m.x(), m.number(a.lambda), m.number(a.bias),
                     m.number(-a.lambda));
}
std::string hard_sigmoid(const Map& m) {
  const auto& a = m.attr<HardSigmoidAttrs>();
  return fmt::format("{}({} * {} + {}, 0, 1)", m.need("limited"), m.number(a.alpha), m.x(), m.number(a.beta));
}
std::string hard_swish(const Map& m) { return fmt::format("{1} * ({0}({1} + 3, 0, 6) / 6)", m.need("limited"), m.x()); }
std::string mish(const Map& m) {
  return fmt::format("{} * {}", m.x(), m.call("tanh", fmt::format("{}({})", m.need("softplus"), m.x())));
}
std::string softsign(const Map& m) { return fmt::format("{0} / (1 + {1})", m.x(), m.call("fabs", m.x())); }

std::string rsqrt(const Map& m) {
  return fmt::format("isinf({0}) ? 0 : 1 / {1}", m.x(), m.call("sqrt", m.x() + " + 0"));
}

// ---- Two operands and more

std::string add(const Map& m) { return m.wrapped('+', m.x(0), m.x(1)); }
std::string sub(const Map& m) { return m.wrapped('-', m.x(0), m.x(1)); }
std::string mul(const Map& m) { return m.wrapped('*', m.x(0), m.x(1)); }
std::string sqr(const Map& m) { return m.wrapped('*', m.x(0), m.x(0)); }

std::string quotient(const Map& m) {
  if (m.real()) return fmt::format("{} / {}", m.x(0), m.x(1));
  if (is_unsigned_int(m.type())) return fmt::format("{1} == 0 ? 0 : {0} / {1}", m.x(0), m.x(1));
  return fmt::format("{1} == 0 ? 0 : {1} == -1 ? {2} : {0} / {1}", m.x(0), m.x(1), m.wrapped('-', "0", m.x(0)));
}

template <char op>
std::string extreme(const Map& m) {
  const bool number = m.x(0)[0] == '-' || (m.x(0)[0] >= '0' && m.x(0)[0] <= '9');  // no NaN
  const bool nan = m.real() && m.attr<NansAttrs>().nans == Nans::pass && !number;
  if (nan) return fmt::format("{0} {2} {1} || {0} != {0} ? {0} : {1}", m.x(0), m.x(1), op);
  return fmt::format("{0} {2} {1} ? {0} : {1}", m.x(0), m.x(1), op);
}

std::string remainder_of(const Map& m) {
  const bool floors = m.attr<ModAttrs>().division == Division::floor;
  if (!m.real() && !floors) {
    if (is_unsigned_int(m.type())) return fmt::format("{1} == 0 ? 0 : {0} % {1}", m.x(0), m.x(1));
    return fmt::format("{1} == 0 || {1} == -1 ? 0 : {0} % {1}", m.x(0), m.x(1));
  }
  if (!m.real() && is_unsigned_int(m.type())) return fmt::format("{1} == 0 ? 0 : {0} % {1}", m.x(0), m.x(1));
  if (m.real() && !floors) return fmt::format("{}({}, {})", math("fmod", m.type()), m.x(0), m.x(1));
  return fmt::format("{}({}, {})", m.need(m.real() ? "floor_mod_real" : "floor_mod"), m.x(0), m.x(1));
}

std::string power(const Map& m) {
  if (!m.real()) return m.refused("of integers");
  if (m.x(1) == "2.0f" || m.x(1) == "2.0") return fmt::format("{0} * {0}", m.x(0));
  if (m.type() == DType::f32 && m.type(1) == DType::f32) return fmt::format("powf({}, {})", m.x(0), m.x(1));
  return fmt::format("({})pow((double){}, (double){})", c_type(m.type()), m.x(0), m.x(1));
}

std::string add_n(const Map& m) {
  std::string sum = m.x(0);
  for (size_t i = 1; i < m.operands(); ++i) sum = m.wrapped('+', i > 1 && !m.real() ? "(" + sum + ")" : sum, m.x(i));
  return sum;
}

/// `limit` where it lies above (below) x: a NaN limit is none, where NaN passes.
std::string clamp(const Map& m) {
  const auto& a = m.attr<ClampAttrs>();
  const bool compare = a.nans == Nans::compare;
  const auto name = [&](std::string_view side) {
    return m.need(fmt::format("{}{}", side, m.real() && compare ? "_compared" : ""));
  };
  std::string v = m.x(0);
  const auto raise = [&] { v = fmt::format("{}({}, {})", name("raised"), v, m.x(1)); };
  const bool high_wins = a.crossed == Crossed::high;
  if (m.given(1) && high_wins) raise();
  if (m.given(2)) v = fmt::format("{}({}, {})", name("lowered"), v, m.x(2));
  if (m.given(1) && !high_wins) raise();
  return v;
}

std::string prelu(const Map& m) {
  if (is_unsigned_int(m.type())) return m.x(0);
  return fmt::format("{0} < 0 ? {1} : {0}", m.x(0), m.wrapped('*', m.x(1), m.x(0)));
}
std::string swiglu(const Map& m) { return fmt::format("{} * {}", silu(m), m.x(1)); }

template <const char* const& op>
std::string comparison(const Map& m) {
  return fmt::format("{} {} {}", m.x(0), op, m.x(1));
}
template <const char* const& op>
std::string truth(const Map& m) {
  return fmt::format("({} != 0) {} ({} != 0)", m.x(0), op, m.x(1));
}
template <const char* const& op>
std::string bitwise(const Map& m) {
  return fmt::format("({})({} {} {})", c_type(m.type()), m.x(0), op, m.x(1));
}
std::string bitwise_not(const Map& m) { return fmt::format("({})~{}", c_type(m.type()), m.x()); }
std::string is_false(const Map& m) { return fmt::format("{} == 0", m.x()); }
std::string is_nan(const Map& m) { return m.real() ? fmt::format("{0} != {0}", m.x()) : "0"; }
std::string is_inf(const Map& m) {
  const auto& a = m.attr<IsInfAttrs>();
  if (!m.real() || (!a.negative && !a.positive)) return "0";
  if (a.negative && a.positive) return fmt::format("isinf({}) != 0", m.x());
  return fmt::format("{} == {}INFINITY", m.x(), a.negative ? "-" : "");
}
std::string select(const Map& m) { return fmt::format("{} ? {} : {}", m.x(0), m.x(1), m.x(2)); }

// ---- Types

std::string cast(const Map& m) {
  const DType to = m.to();
  if (to == DType::boolean) return m.type() == DType::boolean ? m.x() : fmt::format("{} != 0", m.x());
  if (m.type() == DType::boolean) return fmt::format("({})({} != 0)", c_type(to), m.x());
  if (!m.real() || is_float(to)) return fmt::format("({}){}", c_type(to), m.x());
  const bool floors = m.attr<CastAttrs>().rounding == CastRounding::floor;
  // Saturated; a NaN is 0.
  const std::string v = "(double)" + m.x();
  return fmt::format("{}({})", m.writer().need("whole", to), floors ? "floor(" + v + ")" : v);
}

std::string bound_of(int64_t bits) { return std::to_string((int64_t{1} << (bits - 1)) - 1); }
std::string cvm_clip(const Map& m) {
  return fmt::format("{}({}, {})", m.need("bounded"), m.x(), bound_of(m.attr<CvmClipAttrs>().precision));
}
std::string cvm_right_shift(const Map& m) {
  const auto& a = m.attr<CvmShiftAttrs>();
  return fmt::format("{}((((int64_t){} >> {}) + 1) >> 1, {})", m.need("bounded"), m.x(), a.shift_bit - 1,
                     bound_of(a.precision));
}
std::string cvm_left_shift(const Map& m) {
  const auto& a = m.attr<CvmShiftAttrs>();
  return fmt::format("{}((int64_t){} * {}, {})", m.need("bounded"), m.x(),
                     fmt::format("INT64_C({})", int64_t{1} << a.shift_bit), bound_of(a.precision));
}
std::string cvm_digits(const Map& m) { return fmt::format("{}({})", m.need("digits"), m.x()); }

std::string quantized(const Map& m) {
  const auto& a = m.attr<QuantizeAttrs>();
  const DType scale = m.type(1), precision = a.precision.value_or(is_float(scale) ? scale : DType::f32), to = m.to();
  if (precision != DType::f32) return m.refused(fmt::format("divides in {}", name(precision)));
  if (!is_int(to) || bits(to) > 16) return m.refused(fmt::format("into {}", name(to)));
  const IntLimits range = int_limits(to);
  return fmt::format("({}){}(rintf({}((float){} / (float){})) + (float){}, {}, {})", c_type(to),
                     m.writer().need("limited", DType::f32), m.writer().need("zero_if_nan", DType::f32), m.x(0), m.x(1),
                     m.given(2) ? m.x(2) : "0", range.low, range.high);
}

std::string dequantized(const Map& m) {
  if (!is_float(m.to())) return m.refused(fmt::format("into {}", name(m.to())));
  const std::string difference =
      m.given(2) ? fmt::format("({0}){1} - ({0}){2}", bits(m.type()) > 16 ? "double" : "int32_t", m.x(0), m.x(2))
                 : m.x(0);
  return fmt::format("({0})({1}) * ({0}){2}", c_type(m.to()), difference, m.x(1));
}

std::string min_max_levels(const Map& m) {
  const auto& a = m.attr<RangeQuantizeAttrs>();
  const double steps = std::exp2(static_cast<double>(a.bits)) - 1 - (a.is_signed && a.symmetric ? 1 : 0);
  if (steps <= 0) return m.x(1);
  return fmt::format("({0}){1}({2}, {3}, {4}, {5})", c_type(m.type()), m.writer().need("level", DType::f64), m.x(0),
                     m.x(1), m.x(2), literal(steps, DType::f64));
}

struct MapEntry {
  std::string_view name;
  MapWriter write = nullptr;
};

constexpr const char *kExp = "exp", *kLog = "log", *kLog2 = "log2", *kSin = "sin", *kCos = "cos", *kTan = "tan",
                     *kAsin = "asin", *kAcos = "acos", *kAtan = "atan", *kSinh = "sinh", *kCosh = "cosh",
                     *kTanh = "tanh", *kAsinh = "asinh", *kAcosh = "acosh", *kAtanh = "atanh", *kErf = "erf",
                     *kFloor = "floor", *kCeil = "ceil", *kSqrt = "sqrt";
constexpr const char *kEq = "==", *kNe = "!=", *kLt = "<", *kLe = "<=", *kGt = ">", *kGe = ">=", *kAnd = "&&",
                     *kOr = "||", *kBitAnd = "&", *kBitOr = "|", *kBitXor = "^";

constexpr MapEntry kMaps[] = {
    {"copy", [](const Map& m) { return m.x(); }},
    {"neg", negated},
    {"abs", absolute},
    {"sign", sign},
    {"sqr", sqr},
    {"rcp", [](const Map& m) { return "1 / " + m.x(); }},
    {"rsqr", [](const Map& m) { return fmt::format("1 / ({0} * {0})", m.x()); }},
    {"sqrt", of_math<kSqrt>},
    {"rsqrt", rsqrt},
    {"exp", of_math<kExp>},
    {"log", of_math<kLog>},
    {"log2", of_math<kLog2>},
    {"sin", of_math<kSin>},
    {"cos", of_math<kCos>},
    {"tan", of_math<kTan>},
    {"asin", of_math<kAsin>},
    {"acos", of_math<kAcos>},
    {"atan", of_math<kAtan>},
    {"sinh", of_math<kSinh>},
    {"cosh", of_math<kCosh>},
    {"tanh", of_math<kTanh>},
    {"asinh", of_math<kAsinh>},
    {"acosh", of_math<kAcosh>},
    {"atanh", of_math<kAtanh>},
    {"erf", of_math<kErf>},
    {"floor", of_math<kFloor>},
    {"ceil", of_math<kCeil>},
    {"round", rounded},
    {"affine", affine},
    {"relu", relu},
    {"sigmoid", sigmoid},
    {"softplus", softplus},
    {"silu", silu},
    {"gelu", gelu},
    {"elu", elu},
    {"selu", selu},
    {"celu", celu},
    {"prelu", prelu},
    {"leaky_relu", leaky_relu},
    {"thresholded_relu", thresholded_relu},
    {"shrink", shrink},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_swish", hard_swish},
    {"mish", mish},
    {"softsign", softsign},
    {"swiglu", swiglu},
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", quotient},
    {"min", extreme<'<'>},
    {"max", extreme<'>'>},
    {"mod", remainder_of},
    {"pow", power},
    {"add_n", add_n},
    {"clamp", clamp},
    {"eq", comparison<kEq>},
    {"ne", comparison<kNe>},
    {"lt", comparison<kLt>},
    {"le", comparison<kLe>},
    {"gt", comparison<kGt>},
    {"ge", comparison<kGe>},
    {"and", truth<kAnd>},
    {"or", truth<kOr>},
    {"xor", truth<kNe>},
    {"not", is_false},
    {"is_nan", is_nan},
    {"is_inf", is_inf},
    {"select", select},
    {"bitwise_and", bitwise<kBitAnd>},
    {"bitwise_or", bitwise<kBitOr>},
    {"bitwise_xor", bitwise<kBitXor>},
    {"bitwise_not", bitwise_not},
    {"cast", cast},
    {"cvm_clip", cvm_clip},
    {"cvm_right_shift", cvm_right_shift},
    {"cvm_left_shift", cvm_left_shift},
    {"cvm_precision", cvm_digits},
    {"quantize_linear", quantized},
    {"dequantize_linear", dequantized},
    {"min_max_linear_quantize", min_max_levels},
};

const MapEntry* find_map(std::string_view row) {
  const auto at = std::find_if(std::begin(kMaps), std::end(kMaps), [&](const MapEntry& e) { return e.name == row; });
  return at == std::end(kMaps) ? nullptr : at;
}

/// Where a scale or zero point of rank 1 lies, and how many elements share one; nothing: the row has none.
struct AlongAxis {
  int64_t axis = 0, block_size = 0;
};
std::optional<AlongAxis> along_axis(const ir::Graph& graph, const Node& node) {
  if (node.op->attrs.type == &detail::type_tag<QuantizeAttrs>) {
    const auto& a = graph.attrs<QuantizeAttrs>(node);
    return AlongAxis{a.axis, a.block_size};
  }
  if (node.op->attrs.type == &detail::type_tag<DequantizeAttrs>) {
    const auto& a = graph.attrs<DequantizeAttrs>(node);
    return AlongAxis{a.axis, a.block_size};
  }
  return {};
}

Shape shape_of_value(const ir::Graph& graph, ValueId v) {
  if (const Tensor* t = graph[v].constant.tensor()) return t->shape();
  std::vector<int64_t> extents;
  if (const auto& dims = graph[v].type.dims)
    for (const Dim& d : *dims) extents.push_back(d.value());
  return Shape(extents);
}

}  // namespace

bool is_map(const OpDef& op) { return find_map(op.name) != nullptr; }

Result<Shape> operand_shape(const ir::Graph& graph, const Node& node, size_t i) {
  const Shape own = shape_of_value(graph, node.in[i]), x = shape_of_value(graph, node.in[0]);
  const auto along = along_axis(graph, node);
  if (!along || i == 0 || own.count() == 1) return own;
  if (own.rank() != 1 || along->block_size > 0)
    return failure(Code::unsupported,
                   "{}: {} has a number for each block; needed one, or one for each index "
                   "of an axis",
                   node.op->name, node.op->inputs[i].name);
  std::vector<int64_t> extents(static_cast<size_t>(x.rank()), 1);
  extents[static_cast<size_t>(along->axis < 0 ? along->axis + x.rank() : along->axis)] = own[0];
  return Shape(extents);
}

std::string map_expression(StepWriter& w, const Node& node, const std::vector<std::string>& operands) {
  return find_map(node.op->name)->write(Map(w, node, operands));
}

}  // namespace nnex::c_format
