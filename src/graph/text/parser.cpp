#include "graph/text/parser.h"

#include <fmt/format.h>

#include "graph/text/rules.h"

namespace nnex::graph_text {

// ---- Tokens

Status Parser::start() {
  if (source_.size() > limits_.bytes)
    return Error(Code::limit, fmt::format("text of {} bytes; at most {} are read", source_.size(), limits_.bytes));
  NNEX_ASSIGN(now_, lexer_.next());
  NNEX_ASSIGN(next_, lexer_.next());
  return {};
}

Result<Token> Parser::advance() {
  Token t = now_;
  now_ = next_;
  NNEX_ASSIGN(next_, lexer_.next());
  return t;
}

Error Parser::wanted(std::string_view what) const {
  std::string found = now_.kind == Tok::end ? "the end" : fmt::format("'{}'", now_.text.substr(0, 40));
  if (now_.kind == Tok::string) found = "a string";
  return error(now_.at, fmt::format("found {}; needed {}", found, what));
}

Result<Token> Parser::take(Tok kind, std::string_view what) {
  if (!at(kind)) {
    const bool sign = kind > Tok::string;
    return wanted(!what.empty() ? std::string(what)
                  : sign        ? fmt::format("'{}'", shown(kind))
                                : std::string(shown(kind)));
  }
  return advance();
}

Status Parser::expect(Tok kind, std::string_view what) {
  NNEX_TRY(take(kind, what));
  return {};
}

Status Parser::expect_word(std::string_view word) {
  if (!at_word(word)) return wanted(fmt::format("'{}'", word));
  NNEX_TRY(advance());
  return {};
}

Result<std::string> Parser::identifier(std::string_view what) {
  if (!at(Tok::word)) return wanted(what);
  if (is_keyword(now_.text)) return error(now_.at, fmt::format("'{}' is a keyword; needed {}", now_.text, what));
  NNEX_ASSIGN(Token t, advance());
  return std::string(t.text);
}

Result<std::string> Parser::string_content() {
  NNEX_ASSIGN(Token t, take(Tok::string));
  std::string out;
  if (!unescape(t.text, out)) return error(t.at, "the string has an escape other than \\', \\\", \\\\ and \\xNN");
  return out;
}

Status Parser::deeper() {
  if (nesting_ < limits_.nesting) return {};
  return Error(Code::limit, fmt::format("nested deeper than {}", limits_.nesting)).at(error(now_.at, {}).where());
}

// ---- Documents

/// <document> ::= [ "version" <number> ";" ] ( "extension" <identifier>+ ";" )* <fragment>* <graph>
Result<Document> Parser::document() {
  Document d;
  if (at_word("version")) {
    NNEX_TRY(advance());
    NNEX_ASSIGN(Token t, take(Tok::real, "a version as 1.0"));
    d.version = t.text;
    NNEX_TRY(expect(Tok::semicolon));
  }
  while (at_word("extension")) {
    NNEX_TRY(advance());
    do {
      NNEX_ASSIGN(std::string name, identifier("the name of an extension"));
      d.extensions.push_back(std::move(name));
    } while (!at(Tok::semicolon));
    NNEX_TRY(advance());
  }
  while (at_word("fragment")) {
    NNEX_ASSIGN(FragmentText f, fragment());
    d.fragments.push_back(std::move(f));
  }
  NNEX_ASSIGN(d.graph, graph(true));
  if (!at(Tok::end)) return wanted("the end");
  return d;
}

/// <graph> ::= "graph" <identifier> [<string>] "(" <targets> ")" "->" "(" <targets> ")" "{" <assignment>* "}"
/// A block of a node has no name.
Result<GraphText> Parser::graph(bool named) {
  NNEX_TRY(deeper());
  Depth depth(nesting_);
  GraphText g;
  g.at = now_.at;
  NNEX_TRY(expect_word("graph"));
  if (named) {
    NNEX_ASSIGN(g.name, identifier("the graph's name"));
    if (at(Tok::string)) {
      NNEX_ASSIGN(g.label, string_content());
    }
  }
  NNEX_TRY(expect(Tok::open_round));
  NNEX_ASSIGN(g.params, targets(Tok::close_round));
  NNEX_TRY(expect(Tok::arrow));
  NNEX_TRY(expect(Tok::open_round));
  NNEX_ASSIGN(g.results, targets(Tok::close_round));
  NNEX_TRY(expect(Tok::open_curly));
  NNEX_ASSIGN(g.body, body(Tok::close_curly));
  NNEX_TRY(advance());
  return g;
}

/// <fragment> ::= "fragment" <identifier> [ "<" "?" [ "=" <type-name> ] ">" ] "(" <parameters> ")" "->" "(" <results>
/// ")"
///                ( "{" <assignment>+ "}" | ";" )
Result<FragmentText> Parser::fragment() {
  FragmentText f;
  f.at = now_.at;
  NNEX_TRY(expect_word("fragment"));
  NNEX_ASSIGN(f.name, identifier("the fragment's name"));
  if (at(Tok::less)) {
    NNEX_TRY(advance());
    NNEX_TRY(expect(Tok::question));
    f.generic = true;
    if (at(Tok::assign)) {
      NNEX_TRY(advance());
      NNEX_ASSIGN(TypeText t, type_text());
      f.generic_default = t.primitive;
    }
    NNEX_TRY(expect(Tok::greater));
  }
  for (auto* list : {&f.params, &f.results}) {
    if (list == &f.results) NNEX_TRY(expect(Tok::arrow));
    NNEX_TRY(expect(Tok::open_round));
    while (true) {
      NNEX_ASSIGN(FragmentParam p, fragment_param(list == &f.results));
      list->push_back(std::move(p));
      if (!at(Tok::comma)) break;
      NNEX_TRY(advance());
    }
    NNEX_TRY(expect(Tok::close_round));
  }
  if (at(Tok::semicolon)) {
    NNEX_TRY(advance());
    return f;
  }
  f.has_body = true;
  NNEX_TRY(expect(Tok::open_curly, "'{' or ';'"));
  NNEX_ASSIGN(f.body, body(Tok::close_curly));
  NNEX_TRY(advance());
  if (f.body.empty()) return error(f.at, fmt::format("fragment '{}' has an empty body", f.name));
  return f;
}

/// <parameter> ::= <identifier> ":" <type> [ "=" <literal> ]        a result has no default
Result<FragmentParam> Parser::fragment_param(bool result) {
  FragmentParam p;
  p.at = now_.at;
  NNEX_ASSIGN(p.name, identifier("a name"));
  NNEX_TRY(expect(Tok::colon));
  NNEX_ASSIGN(p.type, type_text());
  if (result || !at(Tok::assign)) return p;
  NNEX_TRY(advance());
  NNEX_ASSIGN(p.otherwise, expression());
  return p;
}

/// <type> ::= ( <type-name> | "tensor" "<" [<type-name>] ">" | "(" <type> ("," <type>)+ ")" ) ( "[" "]" )*
Result<TypeText> Parser::type_text() {
  NNEX_TRY(deeper());
  Depth depth(nesting_);
  TypeText t;
  auto primitive = [&]() -> Result<std::string> {
    if (at(Tok::question) || at_word("integer") || at_word("scalar") || at_word("logical") || at_word("string")) {
      NNEX_ASSIGN(Token name, advance());
      return std::string(name.text);
    }
    return wanted("a type");
  };
  if (at(Tok::open_round)) {
    t.kind = TypeText::Kind::tuple;
    do {
      NNEX_TRY(advance());
      NNEX_ASSIGN(TypeText item, type_text());
      t.items.push_back(std::move(item));
    } while (at(Tok::comma));
    if (t.items.size() < 2) return wanted("','; a tuple has at least two items");
    NNEX_TRY(expect(Tok::close_round));
  } else if (at_word("tensor")) {
    t.kind = TypeText::Kind::tensor;
    NNEX_TRY(advance());
    NNEX_TRY(expect(Tok::less));
    if (!at(Tok::greater)) {
      NNEX_ASSIGN(t.primitive, primitive());
    }
    NNEX_TRY(expect(Tok::greater));
  } else {
    NNEX_ASSIGN(t.primitive, primitive());
  }
  for (int arrays = 0; at(Tok::open_square); ++arrays) {
    if (arrays == limits_.nesting) return error(now_.at, fmt::format("arrays nested deeper than {}", limits_.nesting));
    NNEX_TRY(advance());
    NNEX_TRY(expect(Tok::close_square));
    TypeText array;
    array.kind = TypeText::Kind::array;
    array.items.push_back(std::move(t));
    t = std::move(array);
  }
  return t;
}

/// <assignment>* up to the token `end`, which stays.
Result<std::vector<Assignment>> Parser::body(Tok end) {
  std::vector<Assignment> out;
  while (!at(end)) {
    NNEX_ASSIGN(Assignment a, assignment());
    out.push_back(std::move(a));
  }
  return out;
}

/// <assignment> ::= <left side> "=" <expression> ";"
Result<Assignment> Parser::assignment() {
  Assignment a;
  NNEX_ASSIGN(a.left, left_side());
  NNEX_TRY(expect(Tok::assign));
  NNEX_ASSIGN(a.right, expression());
  NNEX_TRY(expect(Tok::semicolon));
  return a;
}

/// <left side> ::= <target> ("," <target>)*
Result<Target> Parser::left_side() {
  NNEX_ASSIGN(Target first, target());
  if (!at(Tok::comma)) return first;
  Target tuple;
  tuple.kind = Target::Kind::tuple, tuple.at = first.at;
  tuple.items.push_back(std::move(first));
  while (at(Tok::comma)) {
    NNEX_TRY(advance());
    NNEX_ASSIGN(Target item, target());
    tuple.items.push_back(std::move(item));
  }
  return tuple;
}

/// <target> ::= <identifier> [<string>] [":" <type>] | "[" [<targets>] "]" | "(" <targets> ")" | "none"
Result<Target> Parser::target() {
  NNEX_TRY(deeper());
  Depth depth(nesting_);
  Target t;
  t.at = now_.at;
  if (at(Tok::open_square) || at(Tok::open_round)) {
    t.kind = at(Tok::open_square) ? Target::Kind::array : Target::Kind::tuple;
    NNEX_ASSIGN(Token open, advance());
    NNEX_ASSIGN(t.items, targets(open.kind == Tok::open_square ? Tok::close_square : Tok::close_round));
    if (t.kind == Target::Kind::tuple && t.items.size() < 2)
      return error(t.at, fmt::format("a tuple has at least two items; found {}", t.items.size()));
    return t;
  }
  if (at_word("none")) {
    NNEX_TRY(advance());
    t.kind = Target::Kind::none;
    return t;
  }
  NNEX_ASSIGN(t.name, identifier("a name"));
  if (at(Tok::string)) {
    NNEX_ASSIGN(t.label, string_content());
  }
  if (at(Tok::colon)) {
    NNEX_TRY(advance());
    NNEX_ASSIGN(t.type, type());
  }
  return t;
}

/// [ <target> ("," <target>)* ] and the closing token.
Result<std::vector<Target>> Parser::targets(Tok close) {
  std::vector<Target> out;
  while (!at(close)) {
    if (!out.empty()) NNEX_TRY(expect(Tok::comma));
    NNEX_ASSIGN(Target t, target());
    out.push_back(std::move(t));
  }
  NNEX_TRY(advance());
  return out;
}

// ---- Entries

Result<Document> parse_document(std::string_view source, std::string_view name, const ParseLimits& limits) {
  Parser p(source, name, limits);
  NNEX_TRY(p.start());
  return p.document();
}

Result<std::vector<Assignment>> parse_body(std::string_view source, std::string_view name, const ParseLimits& limits) {
  Parser p(source, name, limits);
  NNEX_TRY(p.start());
  return p.body(Tok::end);
}

Result<Expr> parse_expression(std::string_view source, std::string_view name, const ParseLimits& limits) {
  Parser p(source, name, limits);
  NNEX_TRY(p.start());
  NNEX_ASSIGN(Expr e, p.expression());
  NNEX_TRY(p.expect(Tok::end));
  return e;
}

Result<Type> parse_type(std::string_view source, std::string_view name) {
  Parser p(source, name, {});
  NNEX_TRY(p.start());
  NNEX_ASSIGN(Type t, p.type());
  NNEX_TRY(p.expect(Tok::end));
  return t;
}

}  // namespace nnex::graph_text
