#pragma once
// Evaluation of NNEF: expressions to values, fragments to the operations they call.

#include <unordered_map>
#include <vector>

#include "formats/nnef/checker.h"
#include "graph/text/flat.h"

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
  struct Frame {
    const Declaration* fragment = nullptr;
    ItemType generic = ItemType::scalar;
    Position called;
    NameTable<Arg, 16> names;
  };
  struct Loop {
    std::string_view name;
    Arg value;
  };

  bool fault(Position at, std::string_view rule, const std::string& message, Code code = Code::invalid_model);
  bool step(Position at, size_t n = 1);

  bool evaluate(const Expr& e, Arg& out, const Target* target = nullptr);
  bool value_of(const Expr& e, Arg& out, const Target* target);
  bool items(const Expr& e, Arg& out);
  bool unary(const Expr& e, Arg& out, const Target* target);
  bool binary(const Expr& e, Arg& out, const Target* target);
  bool tensor_operator(const Expr& e, bool is_unary, std::span<const Arg> operands, Arg& out, const Target* target);
  bool join(const Expr& e, const Arg& x, const Arg& y, Arg& out);
  bool repeat(const Expr& e, const Arg& x, const Arg& y, Arg& out);
  bool index(const Expr& e, Arg& out);
  bool slice(const Expr& e, Arg& out);
  bool comprehension(const Expr& e, Arg& out);
  bool built_in(const Expr& e, Arg& out);
  bool shape_of(const Expr& e, const Arg& x, Arg& out);
  bool call(const Expr& e, Arg& out, const Target* target);
  bool invoke(const Declaration& d, std::span<const Arg> args, ItemType generic, Position at, const Target* target,
              Arg& out);
  bool fragment(const Declaration& d, std::span<const Arg> args, ItemType generic, Position at, Arg& out);
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
  std::vector<Frame*> frames_;
  std::vector<Loop> loops_;
  graph_text::Arena values_;  ///< Of one assignment of the graph.
  std::vector<Arg> stack_, flat_args_, results_;
  std::unordered_map<const Declaration*, bool> broken_;
  std::vector<uint32_t> variables_;  ///< Tensors that update() may take, in ascending order.
  Position at_;
  bool in_standard_ = false;
  int depth_ = 0;
  size_t operations_ = 0, steps_ = 0;
  bool stopped_ = false;
};

}  // namespace nnex::nnef_format
