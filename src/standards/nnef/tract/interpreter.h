#pragma once
// The class behind reader.h. For tract/*.cpp.

#include <set>
#include <unordered_map>

#include "graph/infer.h"
#include "graph/text/evaluation.h"
#include "graph/text/rules.h"
#include "graph/text/value.h"
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

/// What the reader keeps of the call of a fragment.
struct TractCall {
  const FragmentText* fragment = nullptr;
  Position at;
  std::string left;  ///< The name that is assigned where it is called.
};

class TractReader : private graph_text::Evaluation<TractReader, Item, TractCall> {
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
  /// The graph's body.
  Status graph();

 private:
  friend Evaluation;
  using Goal = graph_text::Goal;
  Error error(Position at, std::string message, Code code = Code::invalid_model) const;
  Where where(Position at, std::string_view operation);
  Builder builder(Where where = 0) { return Builder(graph_, block_, where); }

  Status body(std::span<const Assignment> assignments, bool main);
  Status assign(const Target& to, const Item& item, bool main);
  Result<Item> quantised(const Target& to, const Item& item);
  Status properties();

  // The policy of evaluation
  bool enter(const Expr& e, size_t depth);
  bool leave(const Expr&, const Item&) { return true; }
  bool atom(const Expr& e, Item& out) { return graph_text::literal(e, out); }
  bool free_name(const Expr& e, Item& out);
  static Item list(Parts items, bool array);
  static std::span<const Item> items(const Item& array) { return array.items; }
  graph_text::CallForm begin_call(const Expr& e);
  graph_text::ArgumentUse argument(const Expr& e, size_t i);
  bool unary(const Expr& e, Parts parts, Item& out, const Goal&);
  bool binary(const Expr& e, Parts parts, Item& out, const Goal&);
  bool index(const Expr& e, Parts parts, Item& out, const Goal&);
  bool slice(const Expr& e, Parts parts, Item& out, const Goal&);
  bool call(const Expr& e, Parts parts, Item& out, const Goal& goal);
  graph_text::Branch branch(const Expr& e, const Item& condition);
  bool select(const Expr& e, Parts parts, Item& out);
  bool loop(const Expr& e, size_t i, const Item& first, const Item& over);
  bool turn(const Expr&) { return true; }
  bool twice(const Expr&, size_t) { return true; }
  bool truth(const Expr& condition, const Item& item, bool& out);
  void begin_statement(const Assignment& a);
  bool assign(const Assignment& a, const Item& item) { return done(assign(a.left, item, false)); }
  bool end_body(TractCall& call, Item& out);
  void abandon(TractCall& call);

  /// Keeps the error of what failed.
  bool fail(Error e);
  bool done(Status s) { return s.ok() || fail(std::move(s).error()); }
  bool done(Result<Item> r, Item& out) { return r.ok() ? (out = std::move(*r), true) : fail(std::move(r).error()); }
  /// The result, its error at a place of the text.
  Result<Item> placed(Result<Item> r, Position at) const {
    return r.ok() ? std::move(r) : Result<Item>(error(at, r.error().message()));
  }

  // Expressions
  Result<Item> evaluate(const Expr& e);
  /// Items of x, which a run computes: one, or those from begin to end.
  Result<Item> part_of(const Item& x, const Item& begin, const Item& end, bool one, Position at);
  /// What shape_of gives.
  Result<Item> extents_of(const Item& x, Position at);
  /// The extent that a symbol stands for, of an input that has it.
  Result<Item> extent(std::string_view symbol, Position at);
  Result<Dim> formula(const Expr& e);

  // Calls
  /// The parameters of a call's fragment or operation; of other calls none.
  struct Callee {
    const FragmentText* fragment = nullptr;
    const TractOperation* operation = nullptr;
    std::span<const graph_text::FragmentParam> params() const;
  };
  Callee callee(const Expr& e) const;
  Result<std::vector<Item>> arguments(const Expr& e, std::span<const graph_text::FragmentParam> params, Parts given);
  Result<Item> whole_call(const Expr& e);
  Result<Item> run(const TractOperation& operation, std::vector<Item> args, Position at);
  Result<Item> run_operation(std::string_view name, std::vector<Item> args, Position at);
  Result<Item> special(const FragmentText& f, const Expr& e, std::vector<Item> args, size_t outputs);
  Result<Item> external(const Expr& e, std::string_view type);
  Result<Item> variable(const Expr& e, std::span<const Item> args);
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
  std::string left_;  ///< The name that is assigned now.
  BlockId block_ = kMain;
  size_t steps_ = 0;
  std::optional<Error> error_;  ///< Of what has just failed.
};

}  // namespace nnex::nnef_format
