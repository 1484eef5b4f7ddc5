#pragma once
// From parsed text to nodes: expressions are evaluated, calls become nodes, what is known now becomes attributes and
// constants. Bodies of compound operators and graph dumps go this way.

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/text/parser.h"
#include "graph/text/value.h"

namespace nnex::graph_text {

struct BuildLimits {
  size_t nodes = 1'000'000;  ///< That one text may make, fragments and comprehensions unrolled.
  int nesting = 240;         ///< Of expressions, through calls of fragments.
  int blocks = 8;            ///< Blocks in blocks; inference of nested loops doubles with each.
};

/// Names and what they stand for, one scope in another.
class Scopes {
 public:
  void push() { scopes_.emplace_back(); }
  void pop() { scopes_.pop_back(); }
  const Item* find(const std::string& name) const;
  /// False when the innermost scope has the name.
  bool add(const std::string& name, Item item) { return scopes_.back().emplace(name, std::move(item)).second; }
  /// Hides all scopes (a fragment sees its parameters only) until restore().
  std::vector<std::unordered_map<std::string, Item>> hide();
  void restore(std::vector<std::unordered_map<std::string, Item>> scopes) { scopes_ = std::move(scopes); }

 private:
  std::vector<std::unordered_map<std::string, Item>> scopes_ = {{}};
};

class TextBuilder {
 public:
  /// Nodes go where `into` says. `types` knows the graph's values so far and learns the new ones. `source` names the
  /// text in places.
  TextBuilder(ir::Graph& graph, Inference& types, Builder into, std::string source, BuildLimits limits = {})
      : graph_(graph), types_(types), into_(into), source_(std::move(source)), limits_(limits) {}

  /// What a name stands for from here on.
  void define(const std::string& name, Item item) { scopes_.add(name, std::move(item)); }
  void define(const FragmentText& fragment) { fragments_.emplace(std::string(fragment.name), &fragment); }
  /// The word given(port), dtype(port), rank(port) of bodies: `ports` are the operator's.
  void allow_port_words() { port_words_ = true; }
  /// Values take the names they are assigned to, and nodes the place in the text (dumps); bodies leave both.
  void keep_names() { names_ = true; }

  Status run(std::span<const Assignment> assignments);
  /// The parameters, nodes and results of a graph text, into the block that nodes go to.
  Status graph_text(const GraphText& text);
  const Item* find(const std::string& name) const { return scopes_.find(name); }
  Result<Item> evaluate(const Expr& e, size_t outputs = 1);

  Error error(Position at, std::string message, Code code = Code::invalid_model) const;

 private:
  struct Arguments;

  Result<Item> value_of(const Expr& e, size_t outputs);
  Status assign(const Target& to, const Item& item);
  Status name_value(const Target& to, const Item& item);
  Result<Item> unary_of(const Expr& e);
  Result<Item> binary_of(const Expr& e);
  Result<Item> choice(const Expr& e);
  Result<Item> comprehension(const Expr& e);
  Status unroll(const Expr& e, const std::vector<Item>& over, std::vector<Item>& out);
  Result<Item> call(const Expr& e, size_t outputs);
  Result<Item> sparse(const Expr& e);
  Result<Item> port_word(const Expr& e);
  Result<Item> shape_of(const Expr& e, const Item& x);
  Result<Item> call_fragment(const Expr& e, const FragmentText& f);
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
  Scopes scopes_;
  std::map<std::string, const FragmentText*, std::less<>> fragments_;
  bool port_words_ = false, names_ = false;
  int nesting_ = 0, blocks_ = 0;
  size_t nodes_ = 0, steps_ = 0;
};

/// A graph from its text (dumps, cases). Errors: those of parsing; names that mean nothing, arguments that do not fit.
/// Types are those declared; infer_types finds the others.
Result<ir::Graph> read_graph(std::string_view text, std::string_view name, const ParseLimits& parse = {},
                             const BuildLimits& build = {});

}  // namespace nnex::graph_text
