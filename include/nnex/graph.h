#pragma once
/// Graph: a network as values and nodes, to be built, walked, edited, printed, parsed and compiled.
///
///     nnex::Graph g;
///     auto x = g.add_input("x", "f32[N,3]");
///     auto w = g.add_constant(weights);
///     auto y = g.add("matmul", {*x, *w});
///     auto ok = g.set_outputs({{"y", *y}});
///     auto model = nnex::Model::compile(g);
///
/// Operators have the names that `nnex ops` lists (nnex/operators.h). Every mistake comes back as an Error; the graph
/// is then as it was. A Graph that was moved elsewhere may only be assigned to: another use ends the program.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex/attribute.h"
#include "nnex/custom.h"
#include "nnex/ids.h"
#include "nnex/metadata.h"
#include "nnex/result.h"
#include "nnex/tensor.h"
#include "nnex/type.h"

#pragma GCC visibility push(default)
namespace nnex {

/// One reading of a value: input `index` of `node`, or (node invalid) result `index` of `block`.
struct ValueUse {
  NodeId node;
  BlockId block;
  size_t index = 0;
};

/// A value: an input of the network, a parameter of a block, a constant, or an output of a node.
struct ValueInfo {
  std::string name;             ///< The author's; may be empty.
  TypeInfo type;                ///< Declared or inferred.
  Value constant;               ///< The content of a constant; empty: it is none.
  NodeId producer;              ///< The node whose output it is, if any.
  size_t output = 0;            ///< Which output of it.
  BlockId parameter_of;         ///< The block whose parameter it is, if any; of an input: the network's.
  std::vector<ValueUse> users;  ///< In no order.
};

struct NodeInfo {
  std::string op;                ///< The operator: "conv"; of a custom one its name: "Rotate".
  bool custom = false;           ///< The table lacks it: a custom operator, or a call of a function of the model.
  std::string domain;            ///< Of a custom operator: "com.example".
  std::vector<ValueId> inputs;   ///< In the order of the operator's ports; invalid: absent.
  std::vector<ValueId> outputs;  ///< Invalid: nobody named it.
  Attributes attributes;         ///< All of the operator's, defaults too.
  std::vector<BlockId> blocks;   ///< Those it owns: branches of if_else, bodies of loops.
  BlockId parent;                ///< The block it stands in.
  std::string location;          ///< Where the author's file has it; may be empty: messages then name its output.
  bool implied = false;          ///< A document of NNEF has it not: extents of 1, say, that broadcasting means.
};

/// Nodes in order, with parameters and results: the network itself, or what a node repeats or chooses.
struct BlockInfo {
  NodeId owner;  ///< Invalid: the network, or a block that no node took over so far.
  std::vector<ValueId> parameters, results;
  std::vector<NodeId> nodes;
};

/// What a session keeps from run to run.
struct StateInfo {
  std::string label;
  ValueId before, after;  ///< What it is when a run begins, and what the run makes of it.
  Value start;            ///< Its content before the first run.
};

struct AddOptions {
  size_t outputs = 1;                ///< How many the node has.
  NodeId before = {};                ///< Stands before this node; invalid: at the end of its block.
  BlockId block = {};                ///< Where it stands when `before` is invalid; invalid: the network.
  std::vector<BlockId> blocks = {};  ///< Those it takes over, from add_block(), in the operator's order.
  std::string location = {};         ///< For messages and profiles.
};

struct PrintOptions {
  bool types = true;       ///< Of every value; inputs and parameters always have theirs.
  bool locations = false;  ///< A comment at each node: where the author's file has it.
  int64_t elements = -1;   ///< Constants of more are left out ("..."), and nobody reads the text back; -1: none is.
};

/// A network. Copies are independent, share the bytes of constants, and understand the same ids: whatever was there
/// when the copy was made has the same id in both; what is made later has one that may mean something else in the
/// other. Ids of other graphs are refused, as those of what is gone.
class Graph {
 public:
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(const Graph& other);
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  // ---- Walking

  /// Of the network, without what sessions keep (states()).
  std::vector<ValueId> inputs() const;
  std::vector<ValueId> outputs() const;
  std::vector<StateInfo> states() const;
  /// The nodes of the network in order; those of blocks are reached through their owners.
  std::vector<NodeId> nodes() const;
  /// Error of these: invalid_argument, no such id in this graph.
  Result<std::vector<NodeId>> nodes(BlockId block) const;
  Result<NodeInfo> node(NodeId id) const;
  Result<ValueInfo> value(ValueId id) const;
  Result<BlockInfo> block(BlockId id) const;
  /// The network as a block.
  BlockId network() const;
  /// The value of that name, in the network first, then in its blocks; invalid: there is none.
  ValueId find(std::string_view name) const;
  /// Functions that the model defines, as "domain:name" (and ":overload").
  std::vector<std::string> functions() const;
  /// Symbols of extents, in the order in which they appear in the inputs.
  std::vector<std::string> symbols() const;
  const Metadata& metadata() const;
  Metadata& metadata();

  // ---- Building. Errors: invalid_argument (found and needed), and what is said beside each.

  /// An input, of a type as "f32[N,3]", "f32[?]" or "sequence(f32[?])".
  Result<ValueId> add_input(std::string name, std::string_view type);
  /// A constant: a tensor with memory, or a sparse one.
  Result<ValueId> add_constant(Value content, std::string name = {});
  /// A node with one output, and that output.
  Result<ValueId> add(std::string_view op, const std::vector<ValueId>& inputs, const Attributes& attributes = {});
  /// A node. `op`: an operator of the table, or "domain:name" for a custom one (":name": of no domain). Inputs stand in
  /// the order of the operator's ports; invalid ids are absent ones. Its outputs' types are inferred as far as its
  /// inputs tell. Errors: invalid_argument (no such operator, and what was probably meant; wrong number or kind of
  /// inputs, outputs, blocks or attributes; an input that is made later or in a block inside), invalid_model (its shape
  /// rule).
  Result<NodeId> add_node(std::string_view op, const std::vector<ValueId>& inputs, const Attributes& attributes = {},
                          const AddOptions& options = {});
  /// A block that the next add_node() with it takes over. Its nodes may read the values around that node.
  BlockId add_block();
  /// A parameter of such a block. type "unknown": as the owner gives it.
  Result<ValueId> add_parameter(BlockId block, std::string name, std::string_view type = "unknown");
  Status set_results(BlockId block, const std::vector<ValueId>& results);
  /// What the network gives, in this order, under these names, each once. What is an input, or is given already, is
  /// copied by a node of its own.
  Status set_outputs(const std::vector<std::pair<std::string, ValueId>>& outputs);

  // ---- Editing. Errors: invalid_argument, as above.

  /// Input `index` of the node becomes v; invalid: it is absent from now on.
  Status set_input(NodeId node, size_t index, ValueId v);
  /// Whoever reads `from` reads `to` instead; outputs of the network too.
  Status replace_uses(ValueId from, ValueId to);
  /// Takes a node and its blocks away. Refused while anybody reads its outputs.
  Status erase(NodeId node);
  Status set_name(ValueId v, std::string name);
  /// One attribute of a node; monostate: its default (of a custom operator: none).
  Status set_attribute(NodeId node, std::string_view name, Attribute value);
  /// An input, or an output of a node, is this from now on. Refused when its type is another.
  Status make_constant(ValueId v, Value content);
  /// Puts a node before another one, of any block; or at the end of a block.
  Status move(NodeId node, NodeId before);
  Status move_to_end(NodeId node, BlockId block);
  /// Extents of inputs by symbol, or as "input.axis", become numbers everywhere.
  Status set_symbols(const std::map<std::string, int64_t>& symbols);

  // ---- The whole

  /// Infers all types anew from the inputs. Errors: invalid_model and more, the first node whose inputs break its rule,
  /// and how many there are. What can be inferred nevertheless, is.
  Status infer(const CustomOperators& operators = {});
  /// Everything that is wrong with it: structure, types, rules. Empty: it is sound.
  std::vector<Error> verify() const;

  /// The graph as text, which parse() reads back: names that are identifiers stay, others stand beside one. What no
  /// node needs (metadata, functions, constants that nobody reads) is not printed.
  std::string text(const PrintOptions& options = {}) const;
  /// A graph from such a text (docs/graph-text.md). Types that it does not declare are unknown until infer() has run.
  /// `name` stands in messages. Errors: invalid_model, with line and
  /// column; limit.
  static Result<Graph> parse(std::string_view text, std::string_view name = "graph");

  /// Called when the graph is ready to run ("prepare"), and after every pass; an Error of it stops and comes back, and
  /// so does what it throws, as a fault.
  using Observer = std::function<Status(std::string_view pass, const Graph& graph)>;
  /// Makes it ready to run, as Model::compile() does, then folds, simplifies and fuses. Errors: those of infer() and of
  /// the observer; the graph is then what it had become.
  Status optimize(const Observer& observer = {}, const CustomOperators& operators = {});
  /// The names of the passes, in order of their first turn.
  static std::vector<std::string> passes();

  struct [[gnu::visibility("hidden")]] Impl;
  /// For nnex itself.
  explicit Graph(std::unique_ptr<Impl> impl);
  Impl& impl() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace nnex
#pragma GCC visibility pop
