#pragma once
// The parser's class: one function a grammar rule. Users of dumps include graph/text/parser.h.

#include <utility>

#include "graph/text/parser.h"

namespace nnex::graph_text {

/// Functions of the grammar return false after a fault, which is in the Faults then.
class Parser {
 public:
  Parser(std::string_view source, std::string_view name, const ParseLimits& limits, Faults& faults, Arena& arena,
         TextKind kind);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// Reads the first tokens; before anything else.
  bool start();

  // document.cpp
  /// Everything up to the '{' of the graph's body. False when no body follows.
  bool head(Document& d);
  /// Whether an assignment follows in the body.
  bool more() const { return !at(Tok::close_curly) && !at(Tok::end) && !stopped_; }
  /// One assignment. After a fault the parser stands behind it, and a.left is what could be read.
  bool assignment(Assignment& a);
  /// The '}' of the graph and the end of the text. `empty`: no assignment stood there.
  bool tail(bool empty);
  /// After faults: reports the extension of a vendor that the document names, as their likely reason.
  void blame_vendor();
  /// Whether faults made the parser leave out text, so that names may seem missing.
  bool skipped() const { return skipped_; }
  /// Where the token that stands there begins. Not of strings, nor in texts with a map of places.
  Cursor cursor() const { return {now_->text.data(), now_->text.data() - (now_->at.column - 1), now_->at.line}; }
  /// Goes on behind what was read without tokens.
  void go_on(const Cursor& behind) {
    lexer_.seek(behind);
    lexer_.next(*now_);
    lexer_.next(*next_);
  }
  /// Where nodes go from here on.
  void use(Arena& arena) { arena_ = &arena; }
  /// A whole document at once (dumps).
  bool document(Document& d);
  bool body(Tok end, std::span<const Assignment>& out);

  // expression.cpp
  bool expression(Expr& out);

  // literal.cpp (dumps)
  Result<Type> type();

  bool want(Tok kind, std::string_view rule, std::string_view what = {}) {
    if (!at(kind)) return missing(kind, rule, what);
    step();
    return true;
  }
  bool at(Tok kind) const { return now_->kind == kind; }
  Position position() const { return now_->at; }
  const Lexer& lexer() const { return lexer_; }
  /// Before start(): as Lexer::use().
  void use(const PlaceMap* places) { lexer_.use(places); }

 private:
  /// One bracket inside another; leaves it at the end of the rule.
  struct Depth {
    explicit Depth(int& nesting) : nesting_(nesting) { ++nesting_; }
    ~Depth() { --nesting_; }
    int& nesting_;
  };

  bool at(Word word) const { return now_->kind == Tok::word && now_->word == word; }
  bool at_plain(std::string_view word) const { return now_->kind == Tok::word && now_->text == word; }
  bool dump() const { return kind_ == TextKind::dump; }
  /// The token that stands there; the next one stands there then. At the end it stays.
  Token step() {
    const Token t = *now_;
    std::swap(now_, next_);
    if (now_->kind != Tok::end)
      lexer_.next(*next_);
    else
      *next_ = *now_;
    return t;
  }
  bool missing(Tok kind, std::string_view rule, std::string_view what);
  bool fault(Position at, std::string_view rule, std::string message, const std::vector<Remedy>& remedies = {});
  bool wanted(std::string_view rule, std::string_view what);
  bool limit(Position at, std::string message);
  bool add(Error e);
  bool word(Word which, std::string_view rule);
  bool identifier(std::string_view& out, std::string_view rule, std::string_view what);
  bool text(std::string_view& out);
  bool deeper();
  void recover();
  /// Reports syntax that only KHR_enable_operator_expressions allows, once an assignment.
  void extended(Position at, std::string_view what, const std::vector<Remedy>& remedies = {});

  bool version(Document& d);
  bool extension(Document& d);
  void know(std::string_view name, Position at);
  bool fragment(FragmentText& f);
  bool fragment_params(std::span<const FragmentParam>& out, bool results);
  bool fragment_param(FragmentParam& p, bool result);
  bool declared_type(DeclaredType& t);
  bool type_name(DeclaredType::Of& of, std::string_view rule);
  bool graph(GraphText& g, bool named);
  bool graph_head(GraphText& g, bool named);
  bool graph_names(std::span<const Target>& out, std::string_view what);
  bool statement(Assignment& a);
  bool left_side(Target& t);
  bool target(Target& t);
  bool targets(Tok close, std::span<const Target>& out);
  bool right_side(Expr& out);

  /// An expression that is begun: its parts so far lie on the stack.
  struct Open {
    enum class What : uint8_t {
      sign,
      right,      ///< Of a binary operator.
      condition,  ///< a if CONDITION else other
      other,
      index,
      end,  ///< Of a range.
      call,
      array,
      round,
      loop,  ///< [for name in LOOP if FILTER yield YIELD]
      filter,
      yield,
    };
    What what;
    int level;           ///< Of its binary operator.
    Expr e;              ///< As far as it is known.
    size_t base, names;  ///< Where its parts and their names begin.
  };
  /// What a rule has done: met a fault, left an open expression that wants its next part, or completed one.
  enum class Step : uint8_t { fault, wanted, complete };
  static Step read(bool fine) { return fine ? Step::complete : Step::fault; }

  bool alone() const;
  bool goes_on() const;
  bool atom(Expr& out);
  Step begin(Open::What what, const Expr& e);
  Step close(Expr& out);
  Step behind(Expr& e, size_t bottom);
  Step part(Expr& out);
  Step subscript(Expr& of);
  Step range(Expr& out);
  Step subscript_end(Expr& out);
  Step sign(Expr& out);
  Step primary(Expr& out);
  Step named(Expr& out);
  bool is_in_angles() const;
  Step call(Token name, Expr& out);
  bool call_type(Expr& e);
  Step argument(bool another);
  bool argument_name(std::string_view& name);
  Step call_end(Expr& out);
  Step brackets(Expr& out);
  Step array_item(Expr& out);
  Step comprehension(Expr& out);
  Step loop();
  Step round();
  Step round_item(Expr& out);
  bool number(bool negative, Expr& out);
  /// Counts an expression and bounds the depth of its tree. Its items are those on the stack from `base` on.
  bool made(Expr& e, size_t base) { return (stack_.size() == base || joined(e, base)) && (!dump() || counted(e)); }
  bool joined(Expr& e, size_t base);
  bool counted(const Expr& e);
  bool only_literals(const Expr& e);

  // As above, for the additions of dumps, whose functions hand errors up.
  Result<Token> advance();
  Result<Token> take(Tok kind, std::string_view what = {});
  Status expect(Tok kind, std::string_view what = {});
  Result<std::string> string_content();
  Error error(Position at, std::string message) const { return lexer_.error(at, std::move(message)); }
  Error needed(std::string_view what) const;
  Status not_deeper() const;

  bool tensor(Token dtype, Expr& out);
  Result<Tensor> tensor_literal(Token dtype);
  Result<MaybeDims> dims();
  Result<Dim> dim();
  Result<Dim> dim_product();
  Result<int64_t> whole(const Token& t) const;
  Status tensor_items(Tensor& t);
  Status tensor_item(Tensor& t, int64_t i);
  Status tensor_bytes(Tensor& t);

  std::string_view source_;
  TextKind kind_;
  Lexer lexer_;
  ParseLimits limits_;
  Faults& faults_;
  Arena* arena_;
  Token tokens_[2];
  Token *now_ = &tokens_[0], *next_ = &tokens_[1];  ///< The token that stands there, and the one behind it.
  std::vector<Expr> stack_;                         ///< Items of the expressions that are being read.
  std::vector<Open> open_;                          ///< Those that are begun.
  std::vector<std::string_view> names_;             ///< Names of their arguments and loops.
  std::vector<Target> targets_;                     ///< Items of left sides.
  int nesting_ = 0, calls_ = 0;
  size_t expressions_ = 0;
  bool operators_ = false, fragments_ = false;  ///< The extensions that are on.
  bool any_extension_ = false;
  std::string_view vendor_;
  Position vendor_at_;
  bool told_extended_ = false, in_default_ = false;
  bool skipped_ = false, stopped_ = false;
};

}  // namespace nnex::graph_text
