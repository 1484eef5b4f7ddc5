#pragma once
// Evaluation of NNEF: expressions to values, fragments to the operations they call.

#include <memory>
#include <unordered_map>
#include <vector>

#include "graph/text/flat.h"
#include "standards/nnef/check.h"

namespace nnex::nnef_format {

/// Functions return false after a fault, or where a fault before left no value.
class Evaluator : public Places {
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
  struct Loop {
    std::string_view name;
    Arg value;
  };
  /// A call of a fragment whose body is evaluated.
  struct Frame {
    const Declaration* fragment = nullptr;
    ItemType generic = ItemType::scalar;
    Position called, at;
    bool in_standard = false;  ///< Where it is called from, as the loops there.
    std::vector<Loop> loops;
    NameTable<Arg, 16> names;
  };
  /// An expression whose parts are evaluated one after another; or the newest frame, whose statements are.
  struct Task {
    const Expr* e = nullptr;
    const Target* target = nullptr;  ///< What the value is assigned to, where that is its whole left side.
    size_t base = 0;                 ///< Where the values of its parts begin in done_.
    size_t next = 0;
  };
  using Values = std::span<const Arg>;

  bool fault(Position at, std::string_view rule, const std::string& message, Code code = Code::invalid_model);
  bool step(Position at, size_t n = 1);

  bool evaluate(const Expr& e, Arg& out, const Target* target) { return finish(begin(e, target), out); }
  bool finish(bool fine, Arg& out);
  bool begin(const Expr& e, const Target* target = nullptr);
  bool go_on();
  bool whole_of(const Task& t, Values parts, Arg& out);
  bool choice();
  bool comprehension();
  bool statement();
  bool unary(const Expr& e, Values parts, Arg& out, const Target* target);
  bool binary(const Expr& e, Values parts, Arg& out, const Target* target);
  bool tensor_operator(const Expr& e, bool is_unary, Values operands, Arg& out, const Target* target);
  bool join(const Expr& e, const Arg& x, const Arg& y, Arg& out);
  bool repeat(const Expr& e, const Arg& x, const Arg& y, Arg& out);
  bool index(const Expr& e, Values parts, Arg& out);
  bool slice(const Expr& e, Values parts, Arg& out);
  bool built_in(const Expr& e, const Arg& x, Arg& out);
  bool shape_of(const Arg& x, Arg& out);
  bool call(const Expr& e, Values parts, Arg& out, const Target* target);
  Values completed(const Declaration& d, Values args, std::vector<Arg>& out);
  /// Calls an operation; `out` stays none where that is a fragment, which is begun.
  bool invoke(const Declaration& d, Values args, ItemType generic, Position at, const Target* target, Arg& out);
  bool begin_fragment(const Declaration& d, Values args, ItemType generic, Position at);
  bool end_fragment();
  bool emit(const Declaration& d, std::span<const Arg> args, ItemType generic, const Target* target, Arg& out);
  bool make_results(const Declaration& d, std::span<const Arg> args, ItemType generic, const Target* target);
  bool as_tensors(const DeclaredType& type, Arg& value);
  bool flat_statement(graph_text::FlatReader& in, Checker& checker);
  bool flat_arguments(graph_text::FlatReader& in, const Declaration& d, Generic& generic);
  bool flat_value(graph_text::FlatReader& in, Arg& out, int depth);
  bool flat_list(graph_text::FlatReader& in, Arg& out, int depth);
  bool fits(const Arg& x, const DeclaredType& type, Generic& generic) const;
  const Arg* named(std::string_view name) const;
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

  Names& names_;  ///< Of the graph's body.
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Loop> loops_;
  std::vector<Task> tasks_;   ///< What is begun; not on the stack of calls, since texts nest deep.
  std::vector<Arg> done_;     ///< Values of their parts.
  graph_text::Arena values_;  ///< Of one assignment of the graph.
  std::vector<Arg> stack_, flat_args_, results_;
  std::unordered_map<const Declaration*, bool> broken_;
  std::vector<uint32_t> variables_;  ///< Tensors that update() may take, in ascending order.
  Position at_;
  bool in_standard_ = false;
  size_t operations_ = 0, steps_ = 0;
  bool stopped_ = false;
};

}  // namespace nnex::nnef_format
