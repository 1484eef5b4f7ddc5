#pragma once
// Evaluation of NNEF: expressions to values, fragments to the operations they call.

#include <unordered_map>
#include <vector>

#include "graph/text/evaluation.h"
#include "graph/text/flat.h"
#include "standards/nnef/check.h"
#include "tensor/memory_account.h"

namespace nnex::nnef_format {

/// What the evaluator keeps of the call of a fragment.
struct BodyCall {
  const Declaration* fragment = nullptr;
  ItemType generic = ItemType::scalar;
  Position called, at;
  bool in_standard = false;  ///< Where it is called from.
};

/// Values are Args, calls go to a sink. Functions return false after a fault, or where a fault before left no value.
class Evaluator : public Places, private graph_text::Evaluation<Evaluator, Arg, BodyCall> {
 public:
  Evaluator(const graph_text::Lexer& lexer, std::string_view file, Sink& sink, Tensors& tensors, Faults& faults,
            const EvaluateOptions& options, Names& names)
      : lexer_(lexer), file_(file), sink_(sink), tensors_(tensors), faults_(faults), options_(options), names_(names) {}

  Declared declared;

  /// Assignments of the graph's body, from where the reader stands, that are plain calls of the standard's operations
  /// whose arguments fit; how many there were. The reader stands behind the last of them: what follows is something
  /// else, or has a fault for the parser or the checker to find.
  size_t flat(graph_text::FlatReader& in, Checker& checker);
  /// An assignment that the checker found fine, of the type it gave.
  void assignment(const Assignment& a, const DeclaredType& type);
  /// The tensor of a name of the graph's body; invalid: there is none.
  TensorId tensor(std::string_view name) const;
  /// A fragment whose calls have no values, because its body has faults.
  void break_fragment(const Declaration* d) { broken_.emplace(d, true); }

  // Places
  Error placed(Error e) const override;
  std::string place() const override;

 private:
  friend Evaluation;
  using Goal = graph_text::Goal;
  using Values = std::span<const Arg>;

  bool fault(Position at, std::string_view rule, const std::string& message, Code code = Code::invalid_model);
  bool step(Position at, size_t n = 1);

  // The policy of evaluation
  bool enter(const Expr& e, size_t depth);
  bool leave(const Expr&, const Arg&) { return true; }
  bool atom(const Expr& e, Arg& out) { return nnef_format::atom(e, out); }
  bool free_name(const Expr& e, Arg& out);
  Arg list(Values items, bool array) {
    return Arg(values_.copy(items.data(), items.size()), array ? Arg::Kind::array : Arg::Kind::tuple);
  }
  static Values items(const Arg& array) { return array.items(); }
  static graph_text::CallForm begin_call(const Expr&) { return graph_text::CallForm::parts; }
  static graph_text::ArgumentUse argument(const Expr&, size_t) { return graph_text::ArgumentUse::evaluated; }
  bool unary(const Expr& e, Values parts, Arg& out, const Goal& goal);
  bool binary(const Expr& e, Values parts, Arg& out, const Goal& goal);
  bool index(const Expr& e, Values parts, Arg& out, const Goal&);
  bool slice(const Expr& e, Values parts, Arg& out, const Goal&);
  bool call(const Expr& e, Values parts, Arg& out, const Goal& goal);
  static graph_text::Branch branch(const Expr& e, const Arg& condition);
  static bool select(const Expr&, Values, Arg&) { return false; }
  bool loop(const Expr& e, size_t i, const Arg& first, const Arg& over);
  bool turn(const Expr& e) { return step(e.at, e.names.size()); }
  static bool twice(const Expr&, size_t) { return true; }
  static bool truth(const Expr& condition, const Arg& x, bool& out);
  static void begin_statement(const Assignment&) {}
  bool assign(const Assignment& a, const Arg& value) { return bind(a.left, value); }
  bool end_body(BodyCall& call, Arg& out);
  void abandon(const BodyCall& call) { in_standard_ = call.in_standard; }

  bool tensor_operator(const Expr& e, bool is_unary, Values operands, Arg& out, const Target* target);
  bool join(const Expr& e, const Arg& x, const Arg& y, Arg& out);
  bool repeat(const Expr& e, const Arg& x, const Arg& y, Arg& out);
  bool built_in(const Expr& e, const Arg& x, Arg& out);
  bool shape_of(const Arg& x, Arg& out);
  bool named_call(const Expr& e, Values parts, Arg& out, const Target* target);
  Values completed(const Declaration& d, Values args, std::vector<Arg>& out);
  /// Calls an operation; `out` stays none where that is a fragment, which is begun.
  bool invoke(const Declaration& d, Values args, ItemType generic, Position at, const Target* target, Arg& out);
  bool begin_fragment(const Declaration& d, Values args, ItemType generic, Position at);
  bool emit(const Declaration& d, std::span<const Arg> args, ItemType generic, const Target* target, Arg& out);
  bool make_results(const Declaration& d, std::span<const Arg> args, ItemType generic, const Target* target);
  bool as_tensors(const DeclaredType& type, Arg& value);
  bool flat_statement(graph_text::FlatReader& in, Checker& checker);
  bool flat_arguments(graph_text::FlatReader& in, const Declaration& d, Generic& generic);
  bool flat_value(graph_text::FlatReader& in, Arg& out, int depth);
  bool flat_list(graph_text::FlatReader& in, Arg& out, int depth);
  bool fits(const Arg& x, const DeclaredType& type, Generic& generic) const;
  bool bind(const Target& t, const Arg& value);
  void bind(std::string_view name, Name& to, const Arg& value);
  /// The value of a name of the graph's body; null: it has none yet.
  const Arg* of_graph(std::string_view name) const {
    const Name* known = names_.find(name);
    return known && !known->value.is(Arg::Kind::none) ? &known->value : nullptr;
  }
  void unknown(const Target& t, const DeclaredType& type);
  Position at() const { return at_; }

  const graph_text::Lexer& lexer_;
  std::string_view file_;
  Sink& sink_;
  Tensors& tensors_;
  Faults& faults_;
  const EvaluateOptions& options_;

  Names& names_;              ///< Of the graph's body.
  graph_text::Arena values_;  ///< Of one assignment of the graph.
  std::vector<Arg> stack_, flat_args_, results_;
  std::unordered_map<const Declaration*, bool> broken_;
  std::vector<uint32_t> variables_;  ///< Tensors that update() may take, in ascending order.
  Position at_;
  bool in_standard_ = false;
  size_t operations_ = 0, steps_ = 0;
  const size_t most_operations_ = nodes_within_limit(options_.limits.operations);
  bool stopped_ = false;
};

}  // namespace nnex::nnef_format
