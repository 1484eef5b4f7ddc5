// Rules of value expressions (NNEF 1.0.5, 3.3 of the grammar).

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "graph/text/rules.h"

namespace nnex::graph_text {
namespace {

/// Levels of binary operators, the loosest first; each associates to the left.
int level_of(const Token& t) {
  switch (t.kind) {
    case Tok::word:
      return t.text == "in" ? 0 : -1;
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

}  // namespace

Result<Expr> Parser::made(Expr e) {
  if (++expressions_ > limits_.expressions)
    return Error(Code::limit, fmt::format("more than {} expressions", limits_.expressions)).at(error(e.at, {}).where());
  for (const Expr& item : e.items) e.depth = std::max<uint16_t>(e.depth, item.depth + 1);
  if (e.depth > limits_.depth)
    return Error(Code::limit, fmt::format("an expression of more than {} levels", limits_.depth))
        .at(error(e.at, {}).where());
  return e;
}

/// <expression> ::= <binary> [ "if" <expression> "else" <expression> ]
Result<Expr> Parser::expression() {
  NNEX_TRY(deeper());
  Depth depth(nesting_);
  NNEX_ASSIGN(Expr value, binary(0));
  if (!at_word("if")) return value;
  Expr choice;
  choice.kind = Expr::Kind::choice, choice.at = now_.at;
  NNEX_TRY(advance());
  NNEX_ASSIGN(Expr condition, expression());
  NNEX_TRY(expect_word("else"));
  NNEX_ASSIGN(Expr otherwise, expression());
  choice.items.push_back(std::move(value));
  choice.items.push_back(std::move(condition));
  choice.items.push_back(std::move(otherwise));
  return made(std::move(choice));
}

/// Operators of this level and tighter ones, from left to right.
Result<Expr> Parser::binary(int level) {
  NNEX_ASSIGN(Expr left, unary());
  // Precedence climbing: `left` holds what is read so far, at ever looser levels.
  while (true) {
    const int found = level_of(now_);
    if (found < level) return left;
    Expr e;
    e.kind = Expr::Kind::binary, e.op = now_.kind, e.at = now_.at;
    NNEX_TRY(advance());
    NNEX_ASSIGN(Expr right, found == kTightest ? unary() : binary(found + 1));
    e.items.push_back(std::move(left));
    e.items.push_back(std::move(right));
    NNEX_ASSIGN(left, made(std::move(e)));
  }
}

/// <unary> ::= ("+" | "-" | "!") <unary> | <postfix>       a sign before a number belongs to it
Result<Expr> Parser::unary() {
  if (!at(Tok::minus) && !at(Tok::plus) && !at(Tok::bang)) return postfix();
  NNEX_TRY(deeper());
  Depth depth(nesting_);
  NNEX_ASSIGN(Token sign, advance());
  if (sign.kind == Tok::minus && (at(Tok::integer) || at(Tok::real) || at_word("inf"))) return number(true);
  Expr e;
  e.kind = Expr::Kind::unary, e.op = sign.kind, e.at = sign.at;
  NNEX_ASSIGN(Expr of, unary());
  e.items.push_back(std::move(of));
  return made(std::move(e));
}

/// <postfix> ::= <primary> ( "[" <expression> "]" | "[" [<expression>] ":" [<expression>] "]" )*
Result<Expr> Parser::postfix() {
  NNEX_ASSIGN(Expr e, primary());
  while (at(Tok::open_square)) {
    Expr part;
    part.kind = Expr::Kind::index, part.at = now_.at;
    NNEX_TRY(advance());
    part.items.push_back(std::move(e));
    Expr begin, end;
    if (!at(Tok::colon)) {
      NNEX_ASSIGN(begin, expression());
    }
    part.items.push_back(std::move(begin));
    if (at(Tok::colon)) {
      NNEX_TRY(advance());
      part.kind = Expr::Kind::slice;
      if (!at(Tok::close_square)) {
        NNEX_ASSIGN(end, expression());
      }
      part.items.push_back(std::move(end));
    }
    NNEX_TRY(expect(Tok::close_square));
    NNEX_ASSIGN(e, made(std::move(part)));
  }
  return e;
}

Result<Expr> Parser::primary() {
  switch (now_.kind) {
    case Tok::integer:
    case Tok::real:
      return number(false);
    case Tok::string: {
      Expr e;
      e.kind = Expr::Kind::string, e.at = now_.at;
      NNEX_ASSIGN(e.text, string_content());
      return made(std::move(e));
    }
    case Tok::word:
      return word();
    case Tok::open_square:
      return brackets();
    case Tok::open_round:
      return round();
    default:
      return wanted("a value");
  }
}

Result<Expr> Parser::number(bool negative) {
  Expr e;
  e.at = now_.at;
  NNEX_ASSIGN(Token t, advance());
  if (t.kind == Tok::integer) {
    e.kind = Expr::Kind::integer;
    const std::string digits = (negative ? "-" : "") + std::string(t.text);
    auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), e.integer);
    if (fault != std::errc()) return error(t.at, fmt::format("{} does not fit in 64 bits", digits.substr(0, 40)));
    return made(std::move(e));
  }
  e.kind = Expr::Kind::real;
  if (t.text == "inf") {
    e.real = std::numeric_limits<double>::infinity();
  } else if (t.text == "nan") {
    e.real = std::numeric_limits<double>::quiet_NaN();
  } else {
    fast_float::from_chars(t.text.data(), t.text.data() + t.text.size(), e.real);
    if (e.real > std::numeric_limits<double>::max())
      return error(t.at, fmt::format("{} is larger than every number of 64 bits", t.text.substr(0, 40)));
  }
  if (negative) e.real = -e.real;
  return made(std::move(e));
}

/// Names, calls, and the words that are values: true, false, none, nan, inf; tensors and blocks of dumps.
Result<Expr> Parser::word() {
  Expr e;
  e.at = now_.at;
  if (at_word("graph")) {
    e.kind = Expr::Kind::block;
    NNEX_ASSIGN(GraphText g, graph(false));
    e.block = std::make_shared<const GraphText>(std::move(g));
    return made(std::move(e));
  }
  if (at_word("nan") || at_word("inf")) return number(false);
  if (at_word("true") || at_word("false")) {
    NNEX_ASSIGN(Token t, advance());
    e.kind = Expr::Kind::boolean, e.integer = t.text == "true";
    return made(std::move(e));
  }
  NNEX_ASSIGN(Token name, advance());
  if (name.text == "none") return made(std::move(e));
  if (at(Tok::open_square) && dtype_named(name.text)) return tensor(name);
  constexpr std::string_view kFunctions[] = {"shape_of", "length_of", "range_of", "integer",
                                             "scalar",   "logical",   "string"};
  const bool function = std::find(std::begin(kFunctions), std::end(kFunctions), name.text) != std::end(kFunctions);
  if (is_keyword(name.text) && !function)
    return error(name.at, fmt::format("'{}' is a keyword; needed a value", name.text));
  const bool generic = at(Tok::less) && (next_.kind == Tok::question ||
                                         (next_.kind == Tok::word && is_keyword(next_.text) && next_.text != "true" &&
                                          next_.text != "false" && next_.text != "shape_of" &&
                                          next_.text != "length_of" && next_.text != "range_of"));
  if (at(Tok::open_round) || at(Tok::string) || generic) return call(name);
  if (function) return wanted("'('");
  e.kind = Expr::Kind::name, e.text = name.text;
  return made(std::move(e));
}

/// <call> ::= <identifier> [ <string> ] [ "<" <type-name> ">" ] "(" [<arguments>] ")"
Result<Expr> Parser::call(Token name) {
  Expr e;
  e.kind = Expr::Kind::call, e.at = name.at, e.text = name.text;
  if (at(Tok::string)) {
    NNEX_ASSIGN(e.label, string_content());
  }
  if (at(Tok::less)) {
    NNEX_TRY(advance());
    NNEX_ASSIGN(TypeText t, type_text());
    e.generic = t.primitive;
    NNEX_TRY(expect(Tok::greater));
  }
  NNEX_TRY(expect(Tok::open_round));
  NNEX_TRY(arguments(e));
  return made(std::move(e));
}

/// <arguments> ::= [ <argument> ("," <argument>)* ] ")"        <argument> ::= [ (<identifier> | <string>) "=" ]
/// <expression>
Status Parser::arguments(Expr& call) {
  while (!at(Tok::close_round)) {
    if (!call.items.empty()) NNEX_TRY(expect(Tok::comma));
    std::string name;
    if (next_.kind == Tok::assign && (at(Tok::word) || at(Tok::string))) {
      if (at(Tok::string)) {
        NNEX_ASSIGN(name, string_content());
      } else {
        NNEX_ASSIGN(name, identifier("an argument's name"));
      }
      NNEX_TRY(advance());
    } else if (!call.names.empty() && !call.names.back().empty()) {
      return error(now_.at, fmt::format("argument {} of '{}' has no name, but the one before has",
                                        call.items.size() + 1, call.text));
    }
    NNEX_ASSIGN(Expr value, expression());
    call.names.push_back(std::move(name));
    call.items.push_back(std::move(value));
  }
  NNEX_TRY(advance());
  return {};
}

/// <array> ::= "[" [ <expression> ("," <expression>)* ] "]" | <comprehension>
Result<Expr> Parser::brackets() {
  Expr e;
  e.kind = Expr::Kind::array, e.at = now_.at;
  NNEX_TRY(advance());
  if (at_word("for")) return comprehension(e.at);
  while (!at(Tok::close_square)) {
    if (!e.items.empty()) NNEX_TRY(expect(Tok::comma));
    NNEX_ASSIGN(Expr item, expression());
    e.items.push_back(std::move(item));
  }
  NNEX_TRY(advance());
  return made(std::move(e));
}

/// <comprehension> ::= "[" "for" <identifier> "in" <binary> ("," <identifier> "in" <binary>)* [ "if" <binary> ]
///                     "yield" <expression> "]"
Result<Expr> Parser::comprehension(Position at_bracket) {
  Expr e;
  e.kind = Expr::Kind::comprehension, e.at = at_bracket;
  NNEX_TRY(advance());
  while (true) {
    NNEX_ASSIGN(std::string name, identifier("a loop's name"));
    NNEX_TRY(expect_word("in"));
    NNEX_ASSIGN(Expr over, binary(0));
    e.names.push_back(std::move(name));
    e.items.push_back(std::move(over));
    if (!at(Tok::comma)) break;
    NNEX_TRY(advance());
  }
  Expr condition;
  if (at_word("if")) {
    NNEX_TRY(advance());
    NNEX_ASSIGN(condition, binary(0));
  }
  e.items.push_back(std::move(condition));
  NNEX_TRY(expect_word("yield"));
  NNEX_ASSIGN(Expr value, expression());
  e.items.push_back(std::move(value));
  NNEX_TRY(expect(Tok::close_square));
  return made(std::move(e));
}

/// "(" <expression> ")", or <tuple> ::= "(" <expression> ("," <expression>)+ ")"
Result<Expr> Parser::round() {
  Expr e;
  e.kind = Expr::Kind::tuple, e.at = now_.at;
  do {
    NNEX_TRY(advance());
    NNEX_ASSIGN(Expr item, expression());
    e.items.push_back(std::move(item));
  } while (at(Tok::comma));
  NNEX_TRY(expect(Tok::close_round));
  if (e.items.size() > 1) return made(std::move(e));
  Expr only = std::move(e.items.front());
  return only;
}

}  // namespace nnex::graph_text
