#pragma once
// The parser's class: one function a grammar rule. Its users include graph/text/parser.h.

#include "graph/text/parser.h"

namespace nnex::graph_text {

class Parser {
 public:
  Parser(std::string_view source, std::string_view name, const ParseLimits& limits)
      : source_(source), lexer_(source, name), limits_(limits) {}

  /// Reads the first tokens; before anything else.
  Status start();

  // parser.cpp: documents
  Result<Document> document();
  Result<GraphText> graph(bool named);
  Result<FragmentText> fragment();
  Result<std::vector<Assignment>> body(Tok end);
  Result<Assignment> assignment();
  Result<Target> left_side();
  Result<Target> target();
  Result<TypeText> type_text();

  // expression.cpp
  Result<Expr> expression();
  Result<Expr> binary(int level);
  Result<Expr> unary();
  Result<Expr> postfix();
  Result<Expr> primary();
  Result<Expr> call(Token name);
  Result<Expr> word();
  Result<Expr> brackets();
  Result<Expr> comprehension(Position at);
  Result<Expr> round();
  Result<Expr> number(bool negative);

  // literal.cpp
  Result<Type> type();
  Result<Expr> tensor(Token dtype);

  Status expect(Tok kind, std::string_view what = {});
  bool at(Tok kind) const { return now_.kind == kind; }

 private:
  /// One bracket inside another; leaves it at the end of the rule.
  struct Depth {
    explicit Depth(int& nesting) : nesting_(nesting) { ++nesting_; }
    ~Depth() { --nesting_; }
    int& nesting_;
  };

  bool at_word(std::string_view word) const { return now_.kind == Tok::word && now_.text == word; }
  Result<Token> advance();
  Result<Token> take(Tok kind, std::string_view what = {});
  Status expect_word(std::string_view word);
  Result<std::string> identifier(std::string_view what);
  Result<std::string> string_content();
  Error error(Position at, std::string message) const { return lexer_.error(at, std::move(message)); }
  Error wanted(std::string_view what) const;
  Status deeper();
  /// Counts an expression and bounds the depth of its tree.
  Result<Expr> made(Expr e);
  Status arguments(Expr& call);
  Result<std::vector<Target>> targets(Tok close);
  Result<FragmentParam> fragment_param(bool result);

  Result<MaybeDims> dims();
  Result<Dim> dim();
  Result<Dim> dim_product();
  Result<int64_t> whole(const Token& t) const;
  Status tensor_items(Tensor& t);
  Status tensor_item(Tensor& t, int64_t i);
  Status tensor_bytes(Tensor& t);

  std::string_view source_;
  Lexer lexer_;
  ParseLimits limits_;
  Token now_, next_;
  int nesting_ = 0;
  size_t expressions_ = 0;
};

}  // namespace nnex::graph_text
