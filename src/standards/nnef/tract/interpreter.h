#pragma once
// The class behind reader.h. For tract/*.cpp.

#include <set>
#include <unordered_map>

#include "graph/infer.h"
#include "graph/text/item_evaluation.h"
#include "graph/text/rules.h"
#include "standards/nnef/tract/operations.h"
#include "standards/nnef/tract/reader.h"

namespace nnex::nnef_format {

using graph_text::Assignment;
using graph_text::DeclaredType;
using graph_text::Expr;
using graph_text::FragmentText;
using graph_text::Item;
using graph_text::Position;
using graph_text::Target;

class TractReader : private graph_text::ItemEvaluation {
 public:
  TractReader(ir::Graph& graph, const graph_text::Document& document, std::string_view file,
              const TractOptions& options)
      : graph_(graph), types_(graph), document_(document), file_(file), options_(options) {
    for (const auto& f : document.fragments)
      if (f.has_body) fragments_.emplace(f.name, &f);
    for (const QuantRecord& r : options.records) records_.insert_or_assign(r.tensor, &r);
  }

  /// Registries, symbols. Errors: unsupported (a registry nobody knows).
  Status extensions();
  /// Names of operations that the document calls and that neither it nor a registry has; in its order.
  std::vector<std::string> missing(bool fragments_too) const;
  /// The graph: all faults of its statements, but for those that read what a statement with a fault would have made.
  void graph(Faults& faults);

 private:
  Where where(Position at, std::string_view operation);
  Builder builder(Where where = 0) { return Builder(graph_, block_, where); }

  Status statement(const Assignment& a, bool main);
  Status body(std::span<const Assignment> assignments);
  /// The left side of a statement that has a fault (`lost`) or none: whether its names stand for nothing, and are
  /// missed by nobody.
  void mark(const Target& to, bool lost);
  bool reads_lost(const Expr& e) const;
  Status results();
  void make_states(std::vector<ValueId>& results);
  Status assign(const Target& to, const Item& item, bool main);
  Result<Item> quantised(const Target& to, const Item& item);
  Status properties();

  // The policy of evaluation
  std::string place(Position at) const override;
  Error broken(Position at, std::string_view rule, std::string message) const override;
  Status enter_expression(const Expr& e, size_t depth) override;
  Item list(Parts items, bool array) override;
  Result<Item> named(const Expr& e) override;
  bool plus_keeps(const Item&) const override { return true; }
  bool is_computed(graph_text::Tok op, const Item& x, const Item& y) const override;
  Result<Item> operate(std::string_view operation, std::vector<Item> operands, Position at) override;
  Result<Item> part_of(const Item& x, const Item& begin, const Item& end, bool one, Position at) override;
  Result<graph_text::Branch> computed_branch(const Expr&, const Item&) override { return graph_text::Branch::both; }
  Result<graph_text::CallForm> form_of(const Expr& call) override;
  Callee callee(const Expr& call) const override;
  Result<Item> make_call(const Expr& e, std::vector<Item> args, const graph_text::Goal& goal) override;
  Status assign_to(const Target& to, const Item& item) override { return assign(to, item, false); }

  /// What shape_of gives.
  Result<Item> extents_of(const Item& x, Position at);
  /// The extent that a symbol stands for, of an input that has it.
  Result<Item> extent(std::string_view symbol, Position at);
  Result<Dim> formula(const Expr& e);

  // Calls
  /// Of the call of what is no fragment. Null: the reader makes it itself.
  const TractOperation* operation(const Expr& call) const;
  Result<Item> whole_call(const Expr& e);
  Result<Item> run(const TractOperation& operation, std::vector<Item> args, Position at);
  Result<Item> special(const FragmentText& f, const Expr& e, std::vector<Item> args, size_t outputs);
  Result<Item> external(const Expr& e, std::string_view type);
  Result<Item> variable(const Expr& e, std::span<const Item> args);
  Result<Item> update(const Expr& e, std::span<const Item> args);
  Result<Item> copies(const Expr& e, std::span<const Item> args);
  Result<Item> constant(const Expr& e, std::span<const Item> args);
  Result<Item> cast(const Expr& e, const Item& x, std::string_view to);
  Result<Item> delay(const Expr& e, const TractOperation& operation, std::vector<Item> args);
  Result<Item> parts(const Expr& e, std::string_view row, std::vector<Item> args, size_t outputs);
  Result<Item> standard(const Expr& e);

  // tract_core_scan
  struct Scan;
  Result<Item> scan(const Expr& e);
  Result<Scan> read_scan(const Expr& e);
  Result<Item> scan_node(const Expr& e, Scan& s);
  Status scan_body(Scan& s, Position at);

  // Arguments
  Result<Item> fitted(const DeclaredType& type, Item item, Position at);
  /// A list of integers: numbers, or one vector of the graph where a run computes some.
  Result<Item> int_list(const Item& item, Position at);
  Result<Item> whole(const Item& item, Position at);
  /// All tensors of one element type, and of the rank of the largest.
  Status align(std::vector<Item>& args, std::string_view operation, Position at);
  Result<ValueId> value(const Item& item, Position at);
  Result<Item> typed(const Item& item, DType type, Position at);
  DType type_of(const Item& item) const;
  std::optional<size_t> rank_of(const Item& item) const;
  std::optional<std::vector<int64_t>> known(const Item& item) const;
  Result<NodeId> add(Builder& b, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                     std::shared_ptr<const void> attrs, std::vector<BlockId> blocks, Position at);
  void settle(size_t first_node);

  ir::Graph& graph_;
  Inference types_;
  const graph_text::Document& document_;
  std::string_view file_;
  const TractOptions& options_;
  std::unordered_map<std::string_view, const FragmentText*> fragments_;  ///< With bodies, by name.
  std::unordered_map<std::string_view, const QuantRecord*> records_;     ///< By tensor.
  std::vector<std::string> registries_ = {"tract_nnef"};
  std::set<std::string, std::less<>> symbols_;
  std::map<std::string, Item, std::less<>> extents_;  ///< Of symbols, in the main block.
  /// What a session keeps: a parameter of the graph, and what it becomes.
  struct State {
    StateDef def;
    ValueId next;
  };
  std::vector<State> states_;
  /// Variables, each label once; an updated one becomes a state at the end.
  struct Variable {
    std::string label;
    ValueId value, next;
  };
  std::vector<Variable> variables_;
  std::vector<size_t> updated_;      ///< Places in it.
  std::set<std::string_view> lost_;  ///< Names of the graph's body that stand for nothing.
  BlockId block_ = kMain;
  size_t steps_ = 0;
};

}  // namespace nnex::nnef_format
