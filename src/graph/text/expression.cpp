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

/// <expression> ::= <binary> [ "if" <expression> "else" <expression> ]
/// <binary>     ::= <unary> ( <operator> <unary> )*           tighter operators first, equal ones from the left
/// <unary>      ::= ("+" | "-" | "!")* <primary> <subscript>*
/// What is begun and not complete lies in open_, not on the stack of calls: texts nest as deep as they like.
bool Parser::expression(Expr& out) {
  if (alone()) return atom(out);
  const size_t bottom = open_.size();
  const int calls = calls_;
  while (true) {
    Step now = alone() ? read(atom(out)) : primary(out);
    while (now == Step::complete) {
      if (open_.size() == bottom && !goes_on()) return true;
      now = behind(out, bottom);
    }
    if (now == Step::wanted) continue;
    open_.resize(bottom);
    calls_ = calls;
    return false;
  }
}

/// Whether a value is part of a greater expression, by what stands behind it.
bool Parser::goes_on() const { return at(Tok::open_square) || at(Word::if_) || level_of(*now_) >= 0; }

/// Begins an expression whose parts follow.
Parser::Step Parser::begin(Open::What what, const Expr& e) {
  if (nesting_ + static_cast<int>(open_.size()) >= limits_.nesting) {
    limit(now_->at, fmt::format("nested deeper than {}", limits_.nesting));
    return Step::fault;
  }
  open_.push_back({what, -1, e, stack_.size(), names_.size()});
  return Step::wanted;
}

/// Ends the newest of the expressions that are open.
Parser::Step Parser::close(Expr& out) {
  const Open o = open_.back();
  open_.pop_back();
  out = o.e;
  if (names_.size() > o.names) {
    out.names = arena_->copy(names_.data() + o.names, names_.size() - o.names);
    names_.resize(o.names);
  }
  return read(made(out, o.base));
}

/// What a complete expression is part of: an operator that stands behind it, or what is open.
Parser::Step Parser::behind(Expr& e, size_t bottom) {
  using What = Open::What;
  if (at(Tok::open_square)) return subscript(e);
  const auto top = [&](What what) { return open_.size() > bottom && open_.back().what == what; };
  const int level = level_of(*now_);
  if (top(What::sign) || (top(What::right) && level <= open_.back().level)) {
    stack_.push_back(e);
    return close(e);
  }
  const bool choice = at(Word::if_) && !top(What::loop) && !top(What::filter);
  if (level < 0 && !choice) {
    stack_.push_back(e);
    return part(e);
  }
  Expr whole;
  whole.kind = choice ? Expr::Kind::choice : Expr::Kind::binary, whole.op = choice ? Tok::end : now_->kind;
  whole.at = now_->at;
  extended(now_->at, choice ? "an if-else" : fmt::format("operator '{}'", now_->text));
  if (begin(choice ? What::condition : What::right, whole) == Step::fault) return Step::fault;
  open_.back().level = level;
  stack_.push_back(e);
  step();
  return Step::wanted;
}

/// Behind a part, which lies on the stack: the next part, or the end.
Parser::Step Parser::part(Expr& out) {
  using What = Open::What;
  switch (open_.back().what) {
    case What::condition:
      open_.back().what = What::other;
      return word(Word::else_, "S17") ? Step::wanted : Step::fault;
    case What::index:
      return at(Tok::colon) ? range(out) : subscript_end(out);
    case What::end:
      return subscript_end(out);
    case What::call:
      return at(Tok::close_round) ? call_end(out) : argument(true);
    case What::array:
      return array_item(out);
    case What::round:
      return round_item(out);
    case What::loop:
    case What::filter:
    case What::yield:
      return comprehension(out);
    default:
      return close(out);
  }
}

/// "[" <expression> "]" | "[" [<expression>] ":" [<expression>] "]", behind a value
Parser::Step Parser::subscript(Expr& of) {
  extended(now_->at, "a subscript");
  Expr e;
  e.kind = Expr::Kind::index, e.at = now_->at;
  if (begin(Open::What::index, e) == Step::fault) return Step::fault;
  stack_.push_back(of);
  step();
  if (at(Tok::close_square) && !dump()) return read(fault(now_->at, "S15", "found ']'; needed an index or a range"));
  if (!at(Tok::colon)) return Step::wanted;
  stack_.emplace_back();
  return range(of);
}

Parser::Step Parser::range(Expr& out) {
  open_.back().what = Open::What::end, open_.back().e.kind = Expr::Kind::slice;
  step();
  if (!at(Tok::close_square) && !at(Tok::colon)) return Step::wanted;
  stack_.emplace_back();
  return subscript_end(out);
}

Parser::Step Parser::subscript_end(Expr& out) {
  if (at(Tok::colon) || at(Tok::comma))
    return read(fault(now_->at, "S15", fmt::format("found '{}'; a subscript is an index or one range", now_->text)));
  return want(Tok::close_square, "S15") ? close(out) : Step::fault;
}

/// A sign before a number belongs to it.
Parser::Step Parser::sign(Expr& out) {
  const Token sign = step();
  if (sign.kind == Tok::minus && (at(Tok::integer) || at(Tok::real) || (dump() && at_plain("inf"))))
    return read(number(true, out));
  if (sign.kind == Tok::plus && !operators_ && !dump() && !in_default_ && (at(Tok::integer) || at(Tok::real))) {
    fault(sign.at, "L8", "a number has no '+' before it in flat syntax");
    return read(number(false, out));
  }
  extended(sign.at, fmt::format("operator '{}'", sign.text));
  Expr e;
  e.kind = Expr::Kind::unary, e.op = sign.kind, e.at = sign.at;
  return begin(Open::What::sign, e);
}

Parser::Step Parser::primary(Expr& out) {
  switch (now_->kind) {
    case Tok::minus:
    case Tok::plus:
    case Tok::bang:
      return sign(out);
    case Tok::integer:
    case Tok::real:
      return read(number(false, out));
    case Tok::string: {
      if (kind_ == TextKind::tract && next_->kind == Tok::open_round) return call(step(), out);
      out = Expr{};
      out.kind = Expr::Kind::string, out.at = now_->at;
      return read(text(out.text) && made(out, stack_.size()));
    }
    case Tok::open_square:
      return brackets(out);
    case Tok::open_round:
      return round();
    case Tok::word:
      return named(out);
    case Tok::close_round:
    case Tok::close_square:
    case Tok::comma:
      return read(wanted(!dump() && calls_ > 0 ? "S16" : "S7", "a value"));
    default:
      return read(wanted(calls_ > 0 ? "S7" : "S8", "a value"));
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
    if (std::isinf(x) && !dump())
      return fault(t.at, "L2", fmt::format("{} does not fit in a real of 64 bits", t.text.substr(0, 40)));
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
    const uint64_t max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
    fits = wrong == std::errc() && end == t.text.data() + t.text.size() && magnitude <= max;
  }
  if (!fits) {
    fault(t.at, "L2", fmt::format("{}{} does not fit in 64 bits", negative ? "-" : "", t.text.substr(0, 40)));
    return false;
  }
  out.integer = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return made(out, stack_.size());
}

/// Whether a word or nothing stands between '<' and ">(": a call that says a type, if one that there is not.
bool Parser::is_in_angles() const {
  std::string_view rest = source_.substr(static_cast<size_t>(now_->text.data() - source_.data()) + 1);
  const auto skip = [&](const auto& of) {
    while (!rest.empty() && of(rest.front())) rest.remove_prefix(1);
  };
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  skip(blank);
  skip([](char c) { return is_word(std::string_view(&c, 1)) || (c >= '0' && c <= '9'); });
  skip(blank);
  if (rest.empty() || rest.front() != '>') return false;
  rest.remove_prefix(1);
  skip(blank);
  return !rest.empty() && rest.front() == '(';
}

/// A word: true, false, none, nan, inf, a name, a call, a tensor or a block.
Parser::Step Parser::named(Expr& out) {
  out = Expr{};
  out.at = now_->at;
  if (at(Word::true_) || at(Word::false_)) {
    out.kind = Expr::Kind::boolean, out.integer = at(Word::true_);
    step();
    return read(made(out, stack_.size()));
  }
  if (dump()) {
    if (at_plain("inf")) return read(number(false, out));
    if (at_plain("nan")) {
      out.kind = Expr::Kind::real, out.real = std::numeric_limits<double>::quiet_NaN();
      step();
      return read(made(out, stack_.size()));
    }
    if (at(Word::graph)) {
      out.kind = Expr::Kind::block;
      GraphText g;
      if (!graph(g, false)) return Step::fault;
      out.block = arena_->make(g);
      return read(made(out, stack_.size()));
    }
  }
  const Token name = step();
  if (dump() && name.text == "none") return read(made(out, stack_.size()));
  if (dump() && at(Tok::open_square) && dtype_named(name.text)) return read(tensor(name, out));
  const bool function = is_function(name.word);
  if (name.word != Word::none && !function) {
    if (name.word == Word::for_ || name.word == Word::yield)
      return read(fault(name.at, "S14", "a comprehension is written [for i in a yield ...]"));
    return read(fault(name.at, "L4", fmt::format("'{}' is a keyword; needed a value", name.text)));
  }
  const bool generic = at(Tok::less) && (next_->kind == Tok::question ||
                                         (next_->kind == Tok::word && is_type(next_->word)) || is_in_angles());
  if (at(Tok::open_round) || (dump() && at(Tok::string)) || generic) return call(name, out);
  if (function) return read(wanted("L4", fmt::format("'(': '{}' is a keyword", name.text)));
  out.kind = Expr::Kind::name, out.text = name.text;
  return read(made(out, stack_.size()));
}

/// <call> ::= <identifier> [ <string> ] [ "<" <type-name> ">" ] "(" [<arguments>] ")"
Parser::Step Parser::call(Token name, Expr& out) {
  Expr e;
  e.kind = Expr::Kind::call, e.at = name.at, e.text = name.text;
  e.label = nullptr;
  if (is_function(name.word)) extended(name.at, fmt::format("'{}'", name.text));
  if (calls_ > 0) extended(name.at, "a nested invocation");
  if (dump() && at(Tok::string)) {
    std::string_view label;
    if (!text(label)) return Step::fault;
    e.label = arena_->make(label);
  }
  if (at(Tok::less) && !call_type(e)) return Step::fault;
  if (!want(Tok::open_round, "S7") || begin(Open::What::call, e) == Step::fault) return Step::fault;
  ++calls_;
  if (!at(Tok::close_round)) return argument(false);
  if (!dump()) return read(fault(now_->at, "S7", fmt::format("'{}' has no arguments; needed at least one", e.text)));
  return call_end(out);
}

bool Parser::call_type(Expr& e) {
  step();
  if (at(Word::tensor)) return fault(now_->at, "T11", "'tensor' is no data-type: scalar, integer, logical or string");
  e.is_generic = true;
  return type_name(e.generic, "T11") && want(Tok::greater, "T11");
}

/// <arguments> ::= [ <argument> ("," <argument>)* ] ")"        <argument> ::= [ (<identifier> | <string>) "=" ]
/// <expression>
Parser::Step Parser::argument(bool another) {
  const Open& call = open_.back();
  if (another) {
    if (!want(Tok::comma, "S7", "',' or ')'")) return Step::fault;
    if (!dump() && (at(Tok::close_round) || at(Tok::comma)))
      return read(fault(now_->at, "S16", fmt::format("found '{}' behind ','; needed an argument", now_->text)));
  }
  std::string_view name;
  if (next_->kind == Tok::assign && (at(Tok::word) || at(Tok::string))) {
    if (!argument_name(name)) return Step::fault;
  } else if (dump() && another && !names_.back().empty()) {
    return read(fault(now_->at, {},
                      fmt::format("argument {} of '{}' has no name, but the one before has",
                                  stack_.size() - call.base + 1, call.e.text)));
  }
  names_.push_back(name);
  return Step::wanted;
}

bool Parser::argument_name(std::string_view& name) {
  if (at(Tok::string) && !dump() && kind_ != TextKind::tract) return wanted("S7", "an argument's name");
  if (at(Tok::string) ? !text(name) : !identifier(name, "S7", "an argument's name")) return false;
  step();
  return true;
}

Parser::Step Parser::call_end(Expr& out) {
  step();
  --calls_;
  return close(out);
}

/// <array> ::= "[" [ <expression> ("," <expression>)* ] "]" | <comprehension>
Parser::Step Parser::brackets(Expr& out) {
  Expr e;
  e.kind = Expr::Kind::array, e.at = now_->at;
  step();
  if (at(Word::for_)) {
    e.kind = Expr::Kind::comprehension;
    extended(now_->at, "a comprehension");
    if (begin(Open::What::loop, e) == Step::fault) return Step::fault;
    return loop();
  }
  if (begin(Open::What::array, e) == Step::fault) return Step::fault;
  if (!at(Tok::close_square)) return Step::wanted;
  step();
  return close(out);
}

/// Behind an item of an array.
Parser::Step Parser::array_item(Expr& out) {
  if (at(Tok::close_square)) return step(), close(out);
  if (at(Word::for_)) return read(fault(now_->at, "S14", "a comprehension is written [for i in a yield ...]"));
  if (!want(Tok::comma, "S16", "',' or ']'")) return Step::fault;
  if (!dump() && (at(Tok::close_square) || at(Tok::comma)))
    return read(fault(now_->at, "S16", fmt::format("found '{}' behind ','; needed a value", now_->text)));
  return Step::wanted;
}

/// <comprehension> ::= "[" "for" <identifier> "in" <binary> ("," <identifier> "in" <binary>)* [ "if" <binary> ]
///                     "yield" <expression> "]"
Parser::Step Parser::comprehension(Expr& out) {
  using What = Open::What;
  Open& o = open_.back();
  if (o.what == What::yield) return want(Tok::close_square, "S14") ? close(out) : Step::fault;
  if (o.what == What::loop && at(Tok::comma)) return loop();
  if (o.what == What::loop && at(Word::if_)) {
    o.what = What::filter;
    return step(), Step::wanted;
  }
  if (o.what == What::loop) stack_.emplace_back();
  o.what = What::yield;
  return word(Word::yield, "S14") ? Step::wanted : Step::fault;
}

/// ("for" | ",") <identifier> "in"
Parser::Step Parser::loop() {
  step();
  std::string_view name;
  if (!identifier(name, "S14", "a loop's name") || !word(Word::in, "S14")) return Step::fault;
  names_.push_back(name);
  return Step::wanted;
}

/// "(" <expression> ")", or <tuple> ::= "(" <expression> ("," <expression>)+ ")"
Parser::Step Parser::round() {
  Expr e;
  e.kind = Expr::Kind::tuple, e.at = now_->at;
  if (next_->kind == Tok::close_round && !dump())
    return read(fault(now_->at, "S9", "a tuple has at least two items; found 0"));
  step();
  return begin(Open::What::round, e);
}

/// Behind an item of a tuple, or behind the one value in parentheses.
Parser::Step Parser::round_item(Expr& out) {
  const Open& o = open_.back();
  if (at(Tok::comma)) {
    step();
    if (!at(Tok::close_round) || dump()) return Step::wanted;
    return read(fault(now_->at, "S16", "found ')' behind ','; needed a value"));
  }
  if (!want(Tok::close_round, "S9", "',' or ')'")) return Step::fault;
  if (stack_.size() - o.base > 1) return close(out);
  const Position begin = o.e.at;
  out = stack_.back();
  stack_.pop_back(), open_.pop_back();
  if (in_default_ && kind_ == TextKind::document)
    return read(fault(begin, "S13", "a default is a literal; found parentheses around one value"));
  const bool literal = out.kind != Expr::Kind::name && out.kind != Expr::Kind::call && out.kind != Expr::Kind::binary;
  if (!operators_ && !told_extended_ && literal && !in_default_) {
    told_extended_ = true;
    return read(fault(begin, "S9", "a tuple has at least two items; found 1"));
  }
  extended(begin, "parentheses around one value");
  return Step::complete;
}

}  // namespace nnex::graph_text
