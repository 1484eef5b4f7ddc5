// Evaluation: expressions.

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "graph/text/signs.h"
#include "standards/nnef/import_evaluator.h"

namespace nnex::nnef_format {
namespace {

using ExprKind = Expr::Kind;
using A = Arg::Kind;

constexpr size_t kMaxTasks = 200'000;  ///< Expressions in expressions, through calls.

bool equal(const Arg& x, const Arg& y) {
  if (x.kind() != y.kind()) return false;
  switch (x.kind()) {
    case A::logical:
      return x.logical() == y.logical();
    case A::integer:
      return x.integer() == y.integer();
    case A::scalar:
      return x.scalar() == y.scalar();
    case A::string:
      return x.text() == y.text();
    case A::array:
    case A::tuple:
      return std::equal(x.items().begin(), x.items().end(), y.items().begin(), y.items().end(), equal);
    default:
      return false;
  }
}

template <class T>
Arg compared(Tok op, const T& x, const T& y) {
  switch (op) {
    case Tok::less:
      return Arg(x < y);
    case Tok::less_equal:
      return Arg(x <= y);
    case Tok::greater:
      return Arg(x > y);
    default:
      return Arg(x >= y);
  }
}

std::optional<int64_t> integer_power(int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;
  int64_t y = 1;
  while (n > 0) {
    if (n & 1) {
      auto product = checked_mul(y, x);
      if (!product) return std::nullopt;
      y = *product;
    }
    n >>= 1;
    if (n == 0) break;
    auto square = checked_mul(x, x);
    if (!square) return std::nullopt;
    x = *square;
  }
  return y;
}

/// Null: the result does not fit. Division by zero is excluded before.
std::optional<int64_t> arithmetic(Tok op, int64_t x, int64_t y) {
  switch (op) {
    case Tok::plus:
      return checked_add(x, y);
    case Tok::minus:
      if (y == std::numeric_limits<int64_t>::min()) return x < 0 ? std::optional(wrap_sub(x, y)) : std::nullopt;
      return checked_add(x, -y);
    case Tok::star:
      return checked_mul(x, y);
    case Tok::slash:
      if (y == -1) return checked_mul(x, -1);
      return x / y;
    default:
      return integer_power(x, y);
  }
}

double arithmetic(Tok op, double x, double y) {
  switch (op) {
    case Tok::plus:
      return x + y;
    case Tok::minus:
      return x - y;
    case Tok::star:
      return x * y;
    case Tok::slash:
      return x / y;
    default:
      return std::pow(x, y);
  }
}

bool is_comparison(Tok op) {
  return op == Tok::less || op == Tok::less_equal || op == Tok::greater || op == Tok::greater_equal;
}

/// A whole literal: [-] digits, and of reals also a fraction and an exponent.
bool is_number_literal(std::string_view s, bool real) {
  if (!s.empty() && s[0] == '-') s.remove_prefix(1);
  if (s.empty() || s[0] < '0' || s[0] > '9' || s.back() < '0' || s.back() > '9') return false;
  return s.find_first_not_of(real ? "0123456789.eE+-" : "0123456789") == std::string_view::npos;
}

std::string spelled(const Arg& x) {
  if (x.is(A::logical)) return x.logical() ? "true" : "false";
  if (x.is(A::integer)) return fmt::format("{}", x.integer());
  if (x.is(A::string)) return std::string(x.text());
  std::string out = fmt::format("{}", x.scalar());
  return out.find_first_of(".einf") == std::string::npos ? out + ".0" : out;
}

}  // namespace

// ---- Expressions

bool Evaluator::enter(const Expr& e, size_t depth) {
  if (stopped_ || !step(e.at)) return false;
  if (depth < kMaxTasks) return true;
  fault(e.at, "E16", fmt::format("expressions nested deeper than {}", kMaxTasks), Code::limit);
  stopped_ = true;
  return false;
}

/// A name of the graph's body; in the body of a fragment there are no others than its own.
bool Evaluator::free_name(const Expr& e, Arg& out) {
  const Arg* known = in_body() ? nullptr : of_graph(e.text);
  return known && (out = *known, true);
}

graph_text::Branch Evaluator::branch(const Expr&, const Arg& condition) {
  using graph_text::Branch;
  if (!condition.is(A::logical)) return Branch::fault;
  return condition.logical() ? Branch::first : Branch::second;
}

bool Evaluator::loop(const Expr& e, size_t i, const Arg& first, const Arg& over) {
  const size_t length = first.items().size(), other = over.items().size();
  return length == other ||
         fault(e.items[i].at, "E10", fmt::format("a loop over arrays of {} and {} items", length, other));
}

bool Evaluator::truth(const Expr&, const Arg& x, bool& out) {
  out = x.logical();
  return x.is(A::logical);
}

bool Evaluator::tensor_operator(const Expr& e, bool is_unary, Values operands, Arg& out, const Target* target) {
  const Declaration* const called = find_declaration(graph_text::operation_of(e.op, is_unary));
  if (!called) return false;
  const Declaration& d = *called;
  Generic generic;
  for (size_t i = 0; i < operands.size(); ++i)
    if (!fits(operands[i], *d.parameters[i].type, generic))
      return fault(e.at, "E14", fmt::format("'{}' does not fit '{}'", d.parameters[i].name, d.name));
  return invoke(d, operands, item_type(generic.of), e.at, target, out);
}

bool Evaluator::unary(const Expr& e, Values parts, Arg& out, const Goal& goal) {
  const Arg& x = parts[0];
  if (x.is_tensor()) return tensor_operator(e, true, parts, out, goal.target);
  if (e.op == Tok::bang) return x.is(A::logical) ? (out = Arg(!x.logical()), true) : false;
  if (e.op == Tok::plus) return out = x, true;
  if (x.is(A::scalar)) return out = Arg(-x.scalar()), true;
  if (!x.is(A::integer)) return false;
  const auto negative = checked_mul(x.integer(), -1);
  if (!negative) return fault(e.at, "L2", fmt::format("-{} does not fit in 64 bits", x.integer()));
  return out = Arg(*negative), true;
}

bool Evaluator::binary(const Expr& e, Values parts, Arg& out, const Goal& goal) {
  const Arg &x = parts[0], &y = parts[1];
  if (x.is_tensor() || y.is_tensor()) return tensor_operator(e, false, parts, out, goal.target);
  if (e.op == Tok::word) {
    if (!step(e.at, y.items().size())) return false;
    out = Arg(std::any_of(y.items().begin(), y.items().end(), [&](const Arg& i) { return equal(x, i); }));
    return true;
  }
  if (e.op == Tok::equal || e.op == Tok::unequal) return out = Arg(equal(x, y) == (e.op == Tok::equal)), true;
  if (e.op == Tok::both) return out = Arg(x.logical() && y.logical()), true;
  if (e.op == Tok::either) return out = Arg(x.logical() || y.logical()), true;
  if (e.op == Tok::plus && (x.is_list() || x.is(A::string))) return join(e, x, y, out);
  if (e.op == Tok::star && (x.is_list() || x.is(A::string))) return repeat(e, x, y, out);
  if (x.is(A::scalar) && y.is(A::scalar)) {
    out = is_comparison(e.op) ? compared(e.op, x.scalar(), y.scalar()) : Arg(arithmetic(e.op, x.scalar(), y.scalar()));
    return true;
  }
  if (!x.is(A::integer) || !y.is(A::integer)) return false;
  if (is_comparison(e.op)) return out = compared(e.op, x.integer(), y.integer()), true;
  if (e.op == Tok::slash && y.integer() == 0) return fault(e.at, "E1", fmt::format("{} / 0 has no value", x.integer()));
  const auto result = arithmetic(e.op, x.integer(), y.integer());
  if (!result)
    return fault(e.at, "L2",
                 fmt::format("{} {} {} does not fit in 64 bits", x.integer(), graph_text::shown(e.op), y.integer()));
  return out = Arg(*result), true;
}

bool Evaluator::join(const Expr& e, const Arg& x, const Arg& y, Arg& out) {
  if (x.is(A::string)) {
    if (!step(e.at, x.text().size() + y.text().size())) return false;
    return out = Arg(values_.copy(std::string_view(std::string(x.text()) + std::string(y.text())))), true;
  }
  if (!step(e.at, x.items().size() + y.items().size())) return false;
  std::vector<Arg> all(x.items().begin(), x.items().end());
  all.insert(all.end(), y.items().begin(), y.items().end());
  return out = Arg(values_.copy(all.data(), all.size())), true;
}

bool Evaluator::repeat(const Expr& e, const Arg& x, const Arg& y, Arg& out) {
  const size_t length = x.is(A::string) ? x.text().size() : x.items().size();
  const int64_t times = y.integer();
  if (times < 0) return fault(e.at, "E16", fmt::format("* {}: a list is repeated 0 times at least", times));
  const auto total = checked_mul(times, static_cast<int64_t>(length));
  if (!total || *total > static_cast<int64_t>(options_.limits.items))
    return fault(e.at, "E16",
                 fmt::format("{} items {} times; at most {} items are made", length, times, options_.limits.items),
                 Code::limit);
  if (!step(e.at, static_cast<size_t>(*total))) return false;
  if (x.is(A::string)) {
    std::string all;
    for (int64_t i = 0; i < (length ? times : 0); ++i) all += x.text();
    return out = Arg(values_.copy(std::string_view(all))), true;
  }
  std::vector<Arg> all;
  all.reserve(static_cast<size_t>(*total));
  for (int64_t i = 0; i < (length ? times : 0); ++i) all.insert(all.end(), x.items().begin(), x.items().end());
  return out = Arg(values_.copy(all.data(), all.size())), true;
}

bool Evaluator::index(const Expr& e, Values parts, Arg& out, const Goal&) {
  const Arg &x = parts[0], &i = parts[1];
  if (!i.is(A::integer)) return false;
  const size_t length = x.is(A::string) ? x.text().size() : x.items().size();
  if (i.integer() < 0 || static_cast<uint64_t>(i.integer()) >= length)
    return fault(e.at, "E6", fmt::format("index {} is outside a list of {} items", i.integer(), length));
  const auto at = static_cast<size_t>(i.integer());
  out = x.is(A::string) ? Arg(x.text().substr(at, 1)) : x.items()[at];
  return true;
}

bool Evaluator::slice(const Expr& e, Values parts, Arg& out, const Goal&) {
  const Arg& x = parts[0];
  const auto length = static_cast<int64_t>(x.is(A::string) ? x.text().size() : x.items().size());
  int64_t ends[2] = {0, length};
  for (size_t k = 0; k < 2; ++k) {
    if (e.items[k + 1].kind == ExprKind::none) continue;
    if (!parts[k + 1].is(A::integer)) return false;
    ends[k] = parts[k + 1].integer();
    if (ends[k] < 0 || ends[k] > length)
      return fault(e.at, "E6", fmt::format("range [{}:{}] leaves a list of {} items", ends[0], ends[1], length));
  }
  const auto from = static_cast<size_t>(ends[0]);
  const size_t count = ends[1] > ends[0] ? static_cast<size_t>(ends[1] - ends[0]) : 0;
  out = x.is(A::string) ? Arg(x.text().substr(from, count)) : Arg(x.items().subspan(from, count));
  return true;
}

bool Evaluator::shape_of(const Arg& x, Arg& out) {
  if (!x.is_tensor()) return out = Arg(std::span<const Arg>{}), true;
  const TensorInfo& t = tensors_[x.tensor()];
  if (!t.shaped) return false;
  std::vector<Arg> extents;
  for (int64_t n : t.extents) extents.emplace_back(n);
  return out = Arg(values_.copy(extents.data(), extents.size())), true;
}

bool Evaluator::built_in(const Expr& e, const Arg& x, Arg& out) {
  if (e.text == "shape_of") return shape_of(x, out);
  if (e.text == "length_of" || e.text == "range_of") {
    const size_t length = x.is(A::string) ? x.text().size() : x.items().size();
    if (e.text == "length_of") return out = Arg(static_cast<int64_t>(length)), true;
    if (!step(e.at, length)) return false;
    std::vector<Arg> all;
    for (size_t i = 0; i < length; ++i) all.emplace_back(static_cast<int64_t>(i));
    return out = Arg(values_.copy(all.data(), all.size())), true;
  }
  if (e.text == "string") return out = Arg(values_.copy(std::string_view(spelled(x)))), true;
  if (e.text == "logical") {
    out = Arg(x.is(A::string) ? !x.text().empty() : x.is(A::integer) ? x.integer() != 0 : x.scalar() != 0);
    return true;
  }
  if (e.text == "scalar") {
    double number = x.is(A::logical) ? x.logical() : x.is(A::integer) ? static_cast<double>(x.integer()) : 0;
    if (x.is(A::string)) {
      const auto s = x.text();
      const auto [end, wrong] = fast_float::from_chars(s.data(), s.data() + s.size(), number);
      if (!is_number_literal(s, true) || wrong != std::errc() || end != s.data() + s.size())
        return fault(e.at, "E11", fmt::format("scalar('{}'): the string is no number", s));
    }
    return out = Arg(number), true;
  }
  if (x.is(A::logical)) return out = Arg(static_cast<int64_t>(x.logical())), true;
  if (x.is(A::scalar)) {
    const double floor = std::floor(x.scalar());
    if (!(std::fabs(floor) < 9.2e18)) return fault(e.at, "E11", fmt::format("integer({}) does not fit", x.scalar()));
    return out = Arg(static_cast<int64_t>(floor)), true;
  }
  const auto s = x.text();
  int64_t number = 0;
  const auto [end, wrong] = std::from_chars(s.data(), s.data() + s.size(), number);
  if (!is_number_literal(s, false) || wrong != std::errc() || end != s.data() + s.size())
    return fault(e.at, "E11", fmt::format("integer('{}'): the string is no integer", s));
  return out = Arg(number), true;
}

}  // namespace nnex::nnef_format
