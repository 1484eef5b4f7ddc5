#pragma once
// Evaluation where a value is something known now, or a value of the graph (Item): of graph text, and of what
// sonos/tract writes. Who derives says what a name, an operator and a call make of values of the graph.

#include <optional>
#include <string>

#include "graph/text/evaluation.h"
#include "graph/text/value.h"
#include "nnex/result.h"

namespace nnex::graph_text {

/// What is kept of the call of a fragment.
struct FragmentCall {
  const FragmentText* fragment = nullptr;
  Position at;
  std::string_view left;  ///< The name that is assigned where it is called.
};

class ItemEvaluation : protected Evaluation<ItemEvaluation, Item, FragmentCall> {
 public:
  using Evaluation::find;
  Result<Item> evaluate(const Expr& e, size_t outputs = 1) { return evaluate(e, Goal{nullptr, outputs}); }
  Result<Item> evaluate(const Expr& e, const Goal& goal);
  Error error(Position at, std::string message, Code code = Code::invalid_model) const {
    return Error(code, std::move(message)).at(place(at));
  }

 protected:
  /// Whom a call's arguments are for.
  struct Callee {
    const FragmentText* text = nullptr;  ///< Its parameters; null: the arguments are sorted where the call is made.
    bool is_fragment = false;            ///< With a body in this language.
    bool lenient = false;                ///< Arguments that it does not declare are left out.
  };

  ItemEvaluation() = default;
  ~ItemEvaluation() = default;

  virtual std::string place(Position at) const = 0;
  /// The error of a call that breaks a numbered rule.
  virtual Error broken(Position at, std::string_view rule, std::string message) const = 0;
  /// Before every expression, after every value, and before every turn of a loop: limits.
  virtual Status enter_expression(const Expr& e, size_t depth) = 0;
  virtual Status leave_expression(const Expr&, const Item&) { return {}; }
  virtual Status begin_turn(const Expr&) { return {}; }
  virtual bool atom(const Expr& e, Item& out) { return literal(e, out); }
  virtual Item list(Parts items, bool array) = 0;
  virtual Result<Item> named(const Expr& e) = 0;
  /// Whether +x is x, whatever that is.
  virtual bool plus_keeps(const Item& x) const { return x.kind == Item::Kind::value; }
  /// Whether an operator on these is one of the graph.
  virtual bool is_computed(Tok op, const Item& x, const Item& y) const = 0;
  /// The operation of that name on these ("": the operator has none).
  virtual Result<Item> operate(std::string_view operation, std::vector<Item> operands, Position at) = 0;
  /// x[i], x[begin : end] where x is a value of the graph.
  virtual Result<Item> part_of(const Item& x, const Item& begin, const Item& end, bool one, Position at) = 0;
  /// Which side of a choice is taken on a condition that is no truth value.
  virtual Result<Branch> computed_branch(const Expr& e, const Item& condition) = 0;
  virtual Result<CallForm> form_of(const Expr& call) = 0;
  virtual Callee callee(const Expr& call) const = 0;
  /// The call of what is no fragment. `args`: one a parameter where the callee has them, as written where it has none.
  virtual Result<Item> make_call(const Expr& e, std::vector<Item> args, const Goal& goal) = 0;
  virtual Status assign_to(const Target& to, const Item& item) = 0;

  /// Whether a fragment's body is evaluated.
  bool in_fragment() const { return bodies_ > 0; }
  /// Before an assignment of the text.
  void begin_statement(const Assignment& a);
  /// The result, its error at a place of the text.
  template <class T>
  Result<T> placed(Result<T> r, Position at) const {
    if (r.ok()) return r;
    return std::move(r).error().at(place(at));
  }

  std::string_view left_;  ///< The name that is assigned now; of several the first.

 private:
  friend Evaluation;

  static std::span<const Item> items(const Item& array) { return array.items; }
  bool enter(const Expr& e, size_t depth) { return done(enter_expression(e, depth)); }
  bool leave(const Expr& e, const Item& item) { return done(leave_expression(e, item)); }
  bool turn(const Expr& e) { return done(begin_turn(e)); }
  bool free_name(const Expr& e, Item& out) { return done(named(e), out); }
  CallForm begin_call(const Expr& e);
  ArgumentUse argument(const Expr& e, size_t i);
  bool unary(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool binary(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool index(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool slice(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool call(const Expr& e, Parts parts, Item& out, const Goal& goal);
  Branch branch(const Expr& e, const Item& condition);
  bool select(const Expr& e, Parts parts, Item& out) { return done(operate("select", moved(parts), e.at), out); }
  bool loop(const Expr& e, size_t i, const Item& first, const Item& over);
  bool twice(const Expr& e, size_t i);
  bool truth(const Expr& condition, const Item& item, bool& out);
  bool assign(const Assignment& a, const Item& value) { return done(assign_to(a.left, value)); }
  bool end_body(FragmentCall& call, Item& out);
  void abandon(FragmentCall& call);

  /// One item a parameter, its default where none is given.
  Result<std::vector<Item>> bound(const Expr& e, std::span<const FragmentParam> params, Parts given);
  bool fail(Error e);
  bool done(Status s) { return s.ok() || fail(std::move(s).error()); }
  bool done(Result<Item> r, Item& out) { return r.ok() ? (out = std::move(*r), true) : fail(std::move(r).error()); }

  std::optional<Error> error_;  ///< Of what has just failed.
  int bodies_ = 0;              ///< Of fragments, one in another.
  int told_ = 0;                ///< Calls around it that the error tells.
};

}  // namespace nnex::graph_text
