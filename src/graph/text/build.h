#pragma once
// From parsed text to nodes: expressions are evaluated, calls become nodes, what is known now becomes attributes and
// constants. Bodies of compound operators and graph dumps go this way.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/text/evaluation.h"
#include "graph/text/parser.h"
#include "graph/text/value.h"

namespace nnex::graph_text {

struct BuildLimits {
  size_t nodes = 1'000'000;  ///< That one text may make, fragments and comprehensions unrolled.
  int nesting = 240;         ///< Of expressions, through calls of fragments.
  int blocks = 8;            ///< Blocks in blocks; inference of nested loops doubles with each.
};

/// What a builder keeps of the call of a fragment.
struct FragmentCall {
  const FragmentText* fragment = nullptr;
  bool names = false;  ///< Whether values take names where it is called.
};

class TextBuilder : private Evaluation<TextBuilder, Item, FragmentCall> {
 public:
  /// Nodes go where `into` says. `types` knows the graph's values so far and learns the new ones. `source` names the
  /// text in places.
  TextBuilder(ir::Graph& graph, Inference& types, Builder into, std::string source, BuildLimits limits = {})
      : graph_(graph), types_(types), into_(into), source_(std::move(source)), limits_(limits) {}

  /// What a name, which outlives the builder, stands for from here on.
  void define(std::string_view name, Item item) { add(name, std::move(item)); }
  void define(const FragmentText& fragment) { fragments_.emplace(std::string(fragment.name), &fragment); }
  /// The word given(port), dtype(port), rank(port) of bodies: `ports` are the operator's.
  void allow_port_words() { port_words_ = true; }
  /// Values take the names they are assigned to, and nodes the place in the text (dumps); bodies leave both.
  void keep_names() { names_ = true; }

  Status run(std::span<const Assignment> assignments);
  /// The parameters, nodes and results of a graph text, into the block that nodes go to.
  Status graph_text(const GraphText& text);
  using Evaluation::find;
  Result<Item> evaluate(const Expr& e, size_t outputs = 1);

  Error error(Position at, std::string message, Code code = Code::invalid_model) const;

 private:
  friend Evaluation;
  struct Arguments;

  // The policy of evaluation
  bool enter(const Expr& e, size_t depth);
  bool leave(const Expr& e, const Item& item);
  bool atom(const Expr& e, Item& out);
  bool free_name(const Expr& e, Item& out);
  static Item list(Parts items, bool array);
  static std::span<const Item> items(const Item& array) { return array.items; }
  CallForm begin_call(const Expr& e);
  ArgumentUse argument(const Expr& e, size_t i);
  bool unary(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool binary(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool index(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool slice(const Expr& e, Parts parts, Item& out, const Goal& goal);
  bool call(const Expr& e, Parts arguments, Item& out, const Goal& goal);
  Branch branch(const Expr& e, const Item& condition);
  bool select(const Expr& e, Parts parts, Item& out);
  bool loop(const Expr& e, size_t i, const Item& first, const Item& over);
  bool turn(const Expr& e);
  bool twice(const Expr& e, size_t i);
  bool truth(const Expr& condition, const Item& item, bool& out);
  void begin_statement(const Assignment&) {}
  bool assign(const Assignment& a, Item value);
  bool end_body(FragmentCall& call, Item& out);
  void abandon(FragmentCall& call) { names_ = call.names; }

  /// Keeps the error of what failed.
  bool done(Status s) { return s.ok() || fail(std::move(s).error()); }
  bool done(Result<Item> r, Item& out) { return r.ok() ? (out = std::move(*r), true) : fail(std::move(r).error()); }
  bool fail(Error e);

  Status assign(const Target& to, const Item& item);
  Status name_value(const Target& to, const Item& item);
  /// A call whose arguments are no values, or are sorted one by one.
  Result<Item> whole_call(const Expr& e, size_t outputs);
  Result<Item> sparse(const Expr& e);
  Result<Item> port_word(const Expr& e);
  Result<Item> shape_of(const Expr& e, const Item& x);
  bool is_port_word(std::string_view name) const {
    return port_words_ && (name == "given" || name == "dtype" || name == "rank");
  }
  Status begin_fragment(const Expr& e, const FragmentText& f, std::vector<Item> args);
  Result<Item> call_custom(const Expr& e, size_t outputs);
  /// The node of an operator with these arguments; its outputs, a tuple when there are several.
  Result<Item> node(const OpDef& op, std::span<const std::string_view> names, std::vector<Item> args, Position at,
                    size_t outputs);
  Status sort_argument(const OpDef& op, std::string_view name, size_t position, Item item, Arguments& to);
  Status set_attr(const OpDef& op, const Field& field, const Item& item, Arguments& to);
  Result<std::vector<ValueId>> inputs(const OpDef& op, const Arguments& args);
  Result<ValueId> input(const OpDef& op, const Port& port, const Item& item, const Arguments& args);
  DType literal_type(const OpDef& op, const Port& port, const Item& literal, const Arguments& args) const;
  Result<BlockId> block(const GraphText& text);
  Result<Item> outputs_of(NodeId id, Position at);
  Status count_node(Position at);
  /// The result, its error at a place of the text.
  template <class T>
  Result<T> placed(Result<T> r, Position at) const {
    if (r.ok()) return r;
    return std::move(r).error().at(place(at));
  }
  std::string place(Position at) const;

  ir::Graph& graph_;
  Inference& types_;
  Builder into_;
  std::string source_;
  BuildLimits limits_;
  std::map<std::string, const FragmentText*, std::less<>> fragments_;
  std::optional<Error> error_;  ///< Of what has just failed.
  bool port_words_ = false, names_ = false;
  int blocks_ = 0;
  size_t nodes_ = 0, steps_ = 0;
};

/// A graph from its text (dumps, cases). Errors: those of parsing; names that mean nothing, arguments that do not fit.
/// Types are those declared; infer_types finds the others.
Result<ir::Graph> read_graph(std::string_view text, std::string_view name, const ParseLimits& parse = {},
                             const BuildLimits& build = {});

}  // namespace nnex::graph_text
