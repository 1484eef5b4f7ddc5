#pragma once
// From parsed text to nodes: expressions are evaluated, calls become nodes, what is known now becomes attributes and
// constants. Bodies of compound operators and graph dumps go this way.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/text/item_evaluation.h"
#include "graph/text/parser.h"

namespace nnex::graph_text {

struct BuildLimits {
  size_t nodes = 1'000'000;  ///< That one text may make, fragments and comprehensions unrolled.
  int nesting = 240;         ///< Of expressions, through calls of fragments.
  int blocks = 8;            ///< Blocks in blocks; inference of nested loops doubles with each.
};

class TextBuilder : public ItemEvaluation {
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

 private:
  struct Arguments;

  // The policy of evaluation
  std::string place(Position at) const override;
  Error broken(Position at, std::string_view, std::string message) const override {
    return error(at, std::move(message));
  }
  Status enter_expression(const Expr& e, size_t depth) override;
  Status leave_expression(const Expr& e, const Item& item) override;
  Status begin_turn(const Expr& e) override;
  bool atom(const Expr& e, Item& out) override;
  Item list(Parts items, bool array) override;
  Result<Item> named(const Expr& e) override;
  bool is_computed(Tok op, const Item& x, const Item& y) const override;
  Result<Item> operate(std::string_view operation, std::vector<Item> operands, Position at) override;
  Result<Item> part_of(const Item& x, const Item& begin, const Item& end, bool one, Position at) override;
  Result<Branch> computed_branch(const Expr& e, const Item& condition) override;
  Result<CallForm> form_of(const Expr& call) override;
  Callee callee(const Expr& call) const override;
  Result<Item> make_call(const Expr& e, std::vector<Item> args, const Goal& goal) override;
  Status assign_to(const Target& to, const Item& item) override;

  Status assign(const Target& to, const Item& item);
  Status name_value(const Target& to, const Item& item);
  Result<Item> sparse(const Expr& e);
  Result<Item> port_word(const Expr& e);
  Result<Item> shape_of(const Expr& e, const Item& x);
  bool is_port_word(std::string_view name) const {
    return port_words_ && (name == "given" || name == "dtype" || name == "rank");
  }
  bool is_whole(const Expr& call) const {
    return call.label || (keeps_names() && call.text == "sparse") || is_port_word(call.text);
  }
  /// Values inside fragments have none.
  bool keeps_names() const { return names_ && !in_fragment(); }
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

  ir::Graph& graph_;
  Inference& types_;
  Builder into_;
  std::string source_;
  BuildLimits limits_;
  std::map<std::string, const FragmentText*, std::less<>> fragments_;
  bool port_words_ = false, names_ = false;
  int blocks_ = 0;
  size_t nodes_ = 0, steps_ = 0;
};

/// A graph from its text (dumps, cases). Errors: those of parsing; names that mean nothing, arguments that do not fit.
/// Types are those declared; infer_types finds the others.
Result<ir::Graph> read_graph(std::string_view text, std::string_view name, const ParseLimits& parse = {},
                             const BuildLimits& build = {});

}  // namespace nnex::graph_text
