// Rules of value expressions (NNEF 1.0.5, 3.3 of the grammar).

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "graph/text/rules.h"

namespace nnex::graph_text {
namespace {

/// Levels of binary operators, the loosest first; each associates to the left.
int level_of(const Token& t) {
  switch (t.kind) {
    case Tok::word:
      return t.word == Word::in ? 0 : -1;
    case Tok::both:
    case Tok::either:
      return 1;
    case Tok::less:
    case Tok::less_equal:
    case Tok::greater:
    case Tok::greater_equal:
    case Tok::equal:
    case Tok::unequal:
      return 2;
    case Tok::plus:
    case Tok::minus:
      return 3;
    case Tok::star:
    case Tok::slash:
      return 4;
    case Tok::caret:
      return 5;
    default:
      return -1;
  }
}
constexpr int kTightest = 5;

bool is_function(Word w) {
  return w == Word::shape_of || w == Word::length_of || w == Word::range_of || w == Word::integer ||
         w == Word::scalar || w == Word::logical || w == Word::string;
}
bool is_type(Word w) {
  return w == Word::integer || w == Word::scalar || w == Word::logical || w == Word::string || w == Word::tensor;
}

}  // namespace

bool Parser::joined(Expr& e, size_t base) {
  e.items = arena_->copy(stack_.data() + base, stack_.size() - base);
  stack_.resize(base);
  for (const Expr& item : e.items) e.depth = std::max(e.depth, static_cast<uint16_t>(item.depth + 1));
  if (e.depth > limits_.depth) return limit(e.at, fmt::format("an expression of more than {} levels", limits_.depth));
  return true;
}

bool Parser::counted(const Expr& e) {
  if (++expressions_ <= limits_.expressions) return true;
  return limit(e.at, fmt::format("more than {} expressions", limits_.expressions));
}

/// Whether one number, name or string is the whole expression, as most arguments and items are.
bool Parser::alone() const {
  if (next_->kind != Tok::comma && next_->kind != Tok::close_square && next_->kind != Tok::close_round) return false;
  return at(Tok::integer) || at(Tok::real) || (!dump() && (at(Word::none) || at(Tok::string)));
}

bool Parser::atom(Expr& out) {
  if (!at(Tok::word) && !at(Tok::string)) return number(false, out);
  out = Expr{};
  out.at = now_->at;
  if (at(Tok::string)) {
    out.kind = Expr::Kind::string;
    return text(out.text);
  }
  out.kind = Expr::Kind::name, out.text = now_->text;
  step();
  return true;
}

bool Parser::item() {
  if (alone()) return atom(stack_.emplace_back());
  Expr e;
  if (!expression(e)) return false;
  stack_.push_back(e);
  return true;
}

/// <expression> ::= <binary> [ "if" <expression> "else" <expression> ]
bool Parser::expression(Expr& out) {
  if (alone()) return atom(out);
  if (!deeper()) return false;
  Depth depth(nesting_);
  if (!binary(0, out)) return false;
  if (!at(Word::if_)) return true;
  Expr choice;
  choice.kind = Expr::Kind::choice, choice.at = now_->at;
  extended(now_->at, "an if-else");
  const size_t base = stack_.size();
  stack_.push_back(out);
  step();
  Expr part;
  if (!expression(part)) return false;
  stack_.push_back(part);
  if (!word(Word::else_, "S17") || !expression(part)) return false;
  stack_.push_back(part);
  out = choice;
  return made(out, base);
}

/// Operators of this level and tighter ones, from left to right.
bool Parser::binary(int level, Expr& out) {
  if (!unary(out)) return false;
  // Precedence climbing: `out` holds what is read so far, at ever looser levels.
  while (true) {
    const int found = level_of(*now_);
    if (found < level) return true;
    Expr e;
    e.kind = Expr::Kind::binary, e.op = now_->kind, e.at = now_->at;
    extended(now_->at, fmt::format("operator '{}'", now_->text));
    step();
    Expr right;
    if (!(found == kTightest ? unary(right) : binary(found + 1, right))) return false;
    const size_t base = stack_.size();
    stack_.push_back(out);
    stack_.push_back(right);
    if (!made(e, base)) return false;
    out = e;
  }
}

/// <unary> ::= ("+" | "-" | "!") <unary> | <postfix>       a sign before a number belongs to it
bool Parser::unary(Expr& out) {
  if (!at(Tok::minus) && !at(Tok::plus) && !at(Tok::bang)) return postfix(out);
  if (!deeper()) return false;
  Depth depth(nesting_);
  const Token sign = step();
  if (sign.kind == Tok::minus && (at(Tok::integer) || at(Tok::real) || (dump() && at_plain("inf"))))
    return number(true, out);
  if (sign.kind == Tok::plus && !operators_ && !dump() && !in_default_ && (at(Tok::integer) || at(Tok::real))) {
    fault(sign.at, "L8", "a number has no '+' before it in flat syntax");
    return number(false, out);
  }
  extended(sign.at, fmt::format("operator '{}'", sign.text));
  Expr e;
  e.kind = Expr::Kind::unary, e.op = sign.kind, e.at = sign.at;
  Expr of;
  if (!unary(of)) return false;
  const size_t base = stack_.size();
  stack_.push_back(of);
  out = e;
  return made(out, base);
}

/// <postfix> ::= <primary> ( "[" <expression> "]" | "[" [<expression>] ":" [<expression>] "]" )*
bool Parser::postfix(Expr& out) {
  if (!primary(out)) return false;
  while (at(Tok::open_square)) {
    extended(now_->at, "a subscript");
    if (!subscript(out)) return false;
  }
  return true;
}

bool Parser::subscript(Expr& e) {
  Expr part;
  part.kind = Expr::Kind::index, part.at = now_->at;
  step();
  if (at(Tok::close_square) && !dump()) return fault(now_->at, "S15", "found ']'; needed an index or a range");
  const size_t base = stack_.size();
  stack_.push_back(e);
  Expr begin, end;
  if (!at(Tok::colon) && !expression(begin)) return false;
  stack_.push_back(begin);
  if (at(Tok::colon)) {
    part.kind = Expr::Kind::slice;
    step();
    if (!at(Tok::close_square) && !at(Tok::colon) && !expression(end)) return false;
    stack_.push_back(end);
  }
  if (at(Tok::colon) || at(Tok::comma))
    return fault(now_->at, "S15", fmt::format("found '{}'; a subscript is an index or one range", now_->text));
  if (!want(Tok::close_square, "S15")) return false;
  e = part;
  return made(e, base);
}

bool Parser::primary(Expr& out) {
  switch (now_->kind) {
    case Tok::integer:
    case Tok::real:
      return number(false, out);
    case Tok::string: {
      if (kind_ == TextKind::tract && next_->kind == Tok::open_round) return call(step(), out);
      out = Expr{};
      out.kind = Expr::Kind::string, out.at = now_->at;
      return text(out.text) && made(out, stack_.size());
    }
    case Tok::open_square:
      return brackets(out);
    case Tok::open_round:
      return round(out);
    case Tok::word:
      return named(out);
    case Tok::close_round:
    case Tok::close_square:
    case Tok::comma:
      if (!dump() && calls_ > 0) return wanted("S16", "a value");
      return wanted("S7", "a value");
    default:
      return wanted(calls_ > 0 ? "S7" : "S8", "a value");
  }
}

bool Parser::number(bool negative, Expr& out) {
  out = Expr{};
  out.at = now_->at;
  if (dump() && now_->kind == Tok::word) {
    out.kind = Expr::Kind::real;
    out.real = negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    step();
    return made(out, stack_.size());
  }
  const Token t = step();
  if (t.kind == Tok::real) {
    out.kind = Expr::Kind::real;
    double x = 0;
    fast_float::from_chars(t.text.data(), t.text.data() + t.text.size(), x);
    if (std::isinf(x) && !dump()) fault(t.at, "L2", fmt::format("{} does not fit in a real of 64 bits", t.text));
    out.real = negative ? -x : x, out.text = t.text;
    return made(out, stack_.size());
  }
  out.kind = Expr::Kind::integer;
  uint64_t magnitude = 0;
  bool fits = true;
  if (constexpr size_t kSafeDigits = 18; t.text.size() <= kSafeDigits) {
    for (char c : t.text) magnitude = magnitude * 10 + static_cast<uint64_t>(c - '0');
  } else {
    const auto [end, wrong] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), magnitude);
    const uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
    fits = wrong == std::errc() && end == t.text.data() + t.text.size() && magnitude <= most;
  }
  if (!fits) {
    fault(t.at, "L2", fmt::format("{}{} does not fit in 64 bits", negative ? "-" : "", t.text.substr(0, 40)));
    if (dump()) return false;
    magnitude = 1;
  }
  out.integer = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return made(out, stack_.size());
}

/// A word: true, false, none, nan, inf, a name, a call, a tensor or a block.
bool Parser::named(Expr& out) {
  out = Expr{};
  out.at = now_->at;
  if (at(Word::true_) || at(Word::false_)) {
    out.kind = Expr::Kind::boolean, out.integer = at(Word::true_);
    step();
    return made(out, stack_.size());
  }
  if (dump()) {
    if (at_plain("inf")) return number(false, out);
    if (at_plain("nan")) {
      out.kind = Expr::Kind::real, out.real = std::numeric_limits<double>::quiet_NaN();
      step();
      return made(out, stack_.size());
    }
    if (at(Word::graph)) {
      out.kind = Expr::Kind::block;
      GraphText g;
      if (!graph(g, false)) return false;
      out.block = arena_->make(g);
      return made(out, stack_.size());
    }
  }
  const Token name = step();
  if (dump() && name.text == "none") return made(out, stack_.size());
  if (dump() && at(Tok::open_square) && dtype_named(name.text)) return tensor(name, out);
  const bool function = is_function(name.word);
  if (name.word != Word::none && !function) {
    if (name.word == Word::for_ || name.word == Word::yield)
      return fault(name.at, "S14", "a comprehension is written [for i in a yield ...]");
    return fault(name.at, "L4", fmt::format("'{}' is a keyword; needed a value", name.text));
  }
  const bool generic =
      at(Tok::less) && (next_->kind == Tok::question || (next_->kind == Tok::word && is_type(next_->word)));
  if (at(Tok::open_round) || (dump() && at(Tok::string)) || generic) return call(name, out);
  if (function) return wanted("L4", fmt::format("'(': '{}' is a keyword", name.text));
  out.kind = Expr::Kind::name, out.text = name.text;
  return made(out, stack_.size());
}

/// <call> ::= <identifier> [ <string> ] [ "<" <type-name> ">" ] "(" [<arguments>] ")"
bool Parser::call(Token name, Expr& out) {
  out = Expr{};
  out.kind = Expr::Kind::call, out.at = name.at, out.text = name.text;
  out.label = nullptr;
  if (is_function(name.word)) extended(name.at, fmt::format("'{}'", name.text));
  if (calls_ > 0) extended(name.at, "a nested invocation");
  if (dump() && at(Tok::string)) {
    std::string_view label;
    if (!text(label)) return false;
    out.label = arena_->make(label);
  }
  if (at(Tok::less) && !call_type(out)) return false;
  if (!want(Tok::open_round, "S7")) return false;
  ++calls_;
  const bool fine = arguments(out);
  --calls_;
  return fine;
}

bool Parser::call_type(Expr& e) {
  step();
  if (at(Word::tensor)) return fault(now_->at, "T11", "'tensor' is no data-type: scalar, integer, logical or string");
  e.is_generic = true;
  return type_name(e.generic, "T11") && want(Tok::greater, "T11");
}

/// <arguments> ::= [ <argument> ("," <argument>)* ] ")"        <argument> ::= [ (<identifier> | <string>) "=" ]
/// <expression>
bool Parser::arguments(Expr& call) {
  const size_t base = stack_.size(), first_name = names_.size();
  bool any_name = false;
  if (at(Tok::close_round) && !dump())
    return fault(now_->at, "S7", fmt::format("'{}' has no arguments; needed at least one", call.text));
  while (!at(Tok::close_round)) {
    if (stack_.size() > base) {
      if (!want(Tok::comma, "S7", "',' or ')'")) return false;
      if (!dump() && (at(Tok::close_round) || at(Tok::comma)))
        return fault(now_->at, "S16", fmt::format("found '{}' behind ','; needed an argument", now_->text));
    }
    std::string_view name;
    if (next_->kind == Tok::assign && (at(Tok::word) || at(Tok::string))) {
      if (!argument_name(name)) return false;
      any_name = true;
    } else if (any_name && dump()) {
      return fault(
          now_->at, {},
          fmt::format("argument {} of '{}' has no name, but the one before has", stack_.size() - base + 1, call.text));
    }
    names_.push_back(name);
    if (!item()) return false;
  }
  step();
  call.names = arena_->copy(names_.data() + first_name, names_.size() - first_name);
  names_.resize(first_name);
  return made(call, base);
}

bool Parser::argument_name(std::string_view& name) {
  if (at(Tok::string) && !dump() && kind_ != TextKind::tract) return wanted("S7", "an argument's name");
  if (at(Tok::string) ? !text(name) : !identifier(name, "S7", "an argument's name")) return false;
  step();
  return true;
}

/// <array> ::= "[" [ <expression> ("," <expression>)* ] "]" | <comprehension>
bool Parser::brackets(Expr& out) {
  Expr e;
  e.kind = Expr::Kind::array, e.at = now_->at;
  step();
  if (at(Word::for_)) {
    e.kind = Expr::Kind::comprehension;
    out = e;
    return comprehension(out);
  }
  const size_t base = stack_.size();
  while (!at(Tok::close_square)) {
    if (stack_.size() > base) {
      if (at(Word::for_)) return fault(now_->at, "S14", "a comprehension is written [for i in a yield ...]");
      if (!want(Tok::comma, "S16", "',' or ']'")) return false;
      if (!dump() && (at(Tok::close_square) || at(Tok::comma)))
        return fault(now_->at, "S16", fmt::format("found '{}' behind ','; needed a value", now_->text));
    }
    if (!item()) return false;
  }
  step();
  out = e;
  return made(out, base);
}

/// <comprehension> ::= "[" "for" <identifier> "in" <binary> ("," <identifier> "in" <binary>)* [ "if" <binary> ]
///                     "yield" <expression> "]"
bool Parser::comprehension(Expr& out) {
  Expr e = out;
  extended(now_->at, "a comprehension");
  step();
  const size_t base = stack_.size(), first_name = names_.size();
  while (true) {
    std::string_view name;
    Expr over;
    if (!identifier(name, "S14", "a loop's name") || !word(Word::in, "S14") || !binary(0, over)) return false;
    names_.push_back(name);
    stack_.push_back(over);
    if (!at(Tok::comma)) break;
    step();
  }
  Expr condition, value;
  if (at(Word::if_)) {
    step();
    if (!binary(0, condition)) return false;
  }
  stack_.push_back(condition);
  if (!word(Word::yield, "S14") || !expression(value)) return false;
  stack_.push_back(value);
  if (!want(Tok::close_square, "S14")) return false;
  e.names = arena_->copy(names_.data() + first_name, names_.size() - first_name);
  names_.resize(first_name);
  out = e;
  return made(out, base);
}

/// "(" <expression> ")", or <tuple> ::= "(" <expression> ("," <expression>)+ ")"
bool Parser::round(Expr& out) {
  Expr e;
  e.kind = Expr::Kind::tuple, e.at = now_->at;
  const size_t base = stack_.size();
  if (next_->kind == Tok::close_round && !dump())
    return fault(now_->at, "S9", "a tuple has at least two items; found 0");
  do {
    step();
    if (stack_.size() > base && at(Tok::close_round) && !dump())
      return fault(now_->at, "S16", "found ')' behind ','; needed a value");
    if (!item()) return false;
  } while (at(Tok::comma));
  if (!want(Tok::close_round, "S9", "',' or ')'")) return false;
  if (stack_.size() - base > 1) {
    out = e;
    return made(out, base);
  }
  out = stack_.back();
  stack_.pop_back();
  const bool literal = out.kind != Expr::Kind::name && out.kind != Expr::Kind::call && out.kind != Expr::Kind::binary;
  if (!operators_ && !told_extended_ && literal && !in_default_) {
    told_extended_ = true;
    return fault(e.at, "S9", "a tuple has at least two items; found 1");
  }
  extended(e.at, "parentheses around one value");
  return true;
}

}  // namespace nnex::graph_text
