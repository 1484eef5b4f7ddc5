#pragma once
// Graph: the values and nodes of a network, the blocks that hold them, and where each came from.
//
// One Graph owns all values and nodes. A block is (parameters, nodes in order, results); block 0 is the network itself,
// the others belong to nodes (If, Loop, Scan, fused regions). A node inside a block may read any value of the blocks
// around it: an ordinary use.

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/stable_list.h"
#include "base/try.h"
#include "graph/provenance.h"
#include "nnex/format.h"
#include "nnex/ids.h"
#include "nnex/metadata.h"
#include "nnex/result.h"
#include "ops/built.h"
#include "ops/table.h"
#include "tensor/type.h"

namespace nnex {

inline constexpr BlockId kMain{0};

/// An index into the graph's table of places; 0: nobody knows.
using Where = uint32_t;

/// One reading of a value: input `index` of `node`, or (node invalid) result `index` of `block`.
struct Use {
  NodeId node;
  BlockId block;
  uint32_t index = 0;
};

/// A value of the graph: a parameter of a block, a constant, or an output of a node.
struct ValueDef {
  std::string name;       ///< The author's; may be empty, may repeat in other blocks.
  Type type;              ///< Declared or inferred.
  nnex::Value constant;   ///< The content, when it is constant (tensor or sparse tensor).
  NodeId producer;        ///< The node whose output it is, if any.
  uint32_t output = 0;    ///< Which output.
  BlockId param_of;       ///< The block whose parameter it is, if any.
  std::vector<Use> uses;  ///< In no order.

  bool is_constant() const { return !constant.empty(); }
};

struct CustomOperator;
struct LateConstant;

/// An operator the table does not have (or a call of a function of the model): kept as it came.
struct CustomNode {
  std::string domain, name, overload;
  AttrMap attrs;
  std::shared_ptr<const CustomOperator> host;  ///< The host's functions for it, once they were looked up.
  std::shared_ptr<const void> source;          ///< What the format keeps beside it, for writing it back.
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> in;    ///< Invalid ids: absent optional inputs.
  std::vector<ValueId> out;   ///< Invalid ids: outputs nobody named.
  std::vector<uint32_t> use;  ///< By input: which of its value's uses it is.
  std::shared_ptr<const void> attrs;
  std::vector<BlockId> blocks;
  std::shared_ptr<const CustomNode> custom;  ///< For nodes of the rows `custom` and `call`.
  BlockId parent;
  Where where = 0;
  NodeId prev, next;  ///< Neighbours in the block's order.
  bool erased = false;
};

struct Block {
  NodeId owner;
  std::vector<ValueId> params, results;
  std::vector<uint32_t> use;  ///< By result: which of its value's uses it is.
  NodeId first, last;
  size_t size = 0;
};

namespace ir {
class Graph;
}
class Snapshot;

/// Readers of one value read another one since; both the same: it was computed and is constant since.
struct Replacement {
  ValueId from, to;
};

/// A value that a session keeps from one run to the next (an NNEF variable that is updated). State i of n enters as
/// parameter i of the last n of block 0, and what it becomes leaves as result i of the last n: an ordinary value to
/// passes and plans.
struct StateDef {
  std::string label;  ///< The author's, unique in the graph.
  nnex::Value start;  ///< Its content before the first run.
};

/// A function of the model: a definition that a pass inlines where it is called. The format that read it knows how.
class Function {
 public:
  virtual ~Function() = default;
  /// The standard whose function it is: that standard's code may take it for its own class.
  virtual Format format() const = 0;
  /// Replaces the call node by the function's body, in the call's place. Errors: the body's.
  virtual Status expand(ir::Graph& graph, NodeId call) const = 0;
};

/// The engine's representation, which passes and plans share (`nnex/graph.h` is the door to it).
namespace ir {
class Graph {
 public:
  Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph(const Graph& other);
  ~Graph();

  // ---- Reading ----
  const Node& operator[](NodeId id) const { return nodes_[id.n]; }
  const ValueDef& operator[](ValueId id) const { return values_[id.n]; }
  const Block& operator[](BlockId id) const { return blocks_[id.n]; }
  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }
  size_t block_count() const { return blocks_.size(); }
  const std::vector<ValueId>& inputs() const { return blocks_[0].params; }
  const std::vector<ValueId>& outputs() const { return blocks_[0].results; }
  /// The nodes of a block, in order: a copy, so that the block may be edited meanwhile.
  std::vector<NodeId> order(BlockId block = kMain) const;
  /// The nodes of a block and of the blocks inside it, each owner before its blocks' nodes.
  std::vector<NodeId> order_with_blocks(BlockId block = kMain) const;
  /// The node that makes a value; null for parameters and constants.
  const Node* producer(ValueId v) const;
  /// Whether exactly one node input reads the value and no block returns it.
  bool read_once(ValueId v) const;
  /// Values of outer blocks that the blocks of a node read.
  std::vector<ValueId> captures(NodeId id) const;
  template <class A>
  const A& attrs(const Node& node) const {
    NNEX_ASSERT(node.op->attrs.type == &detail::type_tag<A>);
    if constexpr (!kKnowsAll) {  // what a pass made of a row that is left out stands until types are inferred
      static const A none;
      if (!node.attrs) return none;
    }
    return *static_cast<const A*>(node.attrs.get());
  }
  template <class A>
  const A& attrs(NodeId id) const {
    return attrs<A>((*this)[id]);
  }
  /// The constant tensor at input i of a node; null when it is absent or computed.
  const Tensor* constant_in(const Node& node, size_t i) const;
  /// How a constant without memory is made; null for all others.
  const LateConstant* late(ValueId v) const;

  // ---- Building ----
  ValueId add_param(BlockId block, std::string name, Type type);
  ValueId add_constant(Tensor content, std::string name = {});
  ValueId add_constant(nnex::Value content, std::string name = {});
  /// A constant that has a type and no memory yet: who wants the content makes it (graph/late.h), and may put it in
  /// its place (make_constant).
  ValueId add_late(LateConstant late);
  /// A block owned by nobody yet; add_node takes it over.
  BlockId add_block();
  /// Appends a node to a block. attrs: a struct of the operator's type, or null for the defaults.
  NodeId add_node(BlockId block, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                  std::shared_ptr<const void> attrs = nullptr, std::vector<BlockId> blocks = {}, Where where = 0);
  /// The same, before another node of the same block.
  NodeId insert_node(NodeId before, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                     std::shared_ptr<const void> attrs = nullptr, std::vector<BlockId> blocks = {}, Where where = 0);
  void set_results(BlockId block, std::vector<ValueId> results);
  void set_custom(NodeId id, std::shared_ptr<const CustomNode> custom) { nodes_[id.n].custom = std::move(custom); }
  Where add_place(std::string text);
  const std::string& place(Where where) const { return places_[where]; }
  const std::string& place_of(NodeId id) const { return places_[nodes_[id.n].where]; }

  // ---- Editing ----
  void set_input(NodeId id, size_t index, ValueId v);
  void set_inputs(NodeId id, std::vector<ValueId> in);
  /// Every reader of `from` reads `to` instead; a result too. Names stay where they are.
  void replace_uses(ValueId from, ValueId to);
  /// An output the node has not named so far.
  ValueId add_output(NodeId id, size_t index);
  /// Output `index` of a node becomes unnamed; nobody may read it.
  void drop_output(NodeId id, size_t index);
  template <class A>
  void set_attrs(NodeId id, A attrs) {
    set_attrs(id, std::shared_ptr<const void>(std::make_shared<A>(std::move(attrs))));
  }
  void set_attrs(NodeId id, std::shared_ptr<const void> attrs);
  void set_where(NodeId id, Where where) { nodes_[id.n].where = where; }
  /// Takes a node, its outputs and its blocks away; nobody may read the outputs.
  void erase(NodeId id);
  /// Takes a node's blocks from it: add_node may give them to another.
  std::vector<BlockId> release_blocks(NodeId id);
  /// Moves a node before another one of any block.
  void move_before(NodeId id, NodeId before);
  void move_to_end(NodeId id, BlockId block);
  void set_name(ValueId v, std::string name) { values_[v.n].name = std::move(name); }
  void set_type(ValueId v, Type type);
  void make_constant(ValueId v, nnex::Value content);
  /// What replace_uses and make_constant do is added to `to` from now on; null: to nothing.
  void record(std::vector<Replacement>* to) { record_ = to; }
  void remove_param(BlockId block, size_t index);
  /// Parameter `from` becomes parameter `to`; those between move by one.
  void move_param(BlockId block, size_t from, size_t to);

  Metadata meta;                 ///< What it says of itself: nothing goes by it.
  Provenance provenance;         ///< What its reader learnt: proofs and writers go by it.
  std::vector<StateDef> states;  ///< Kept values: the last parameters and results of block 0, in this order.
  static constexpr int64_t kFoldsAny = INT64_MAX;
  int64_t fold_limit = kFoldsAny;  ///< Bytes by which passes that compute constants may still make them larger.
  bool takes_late = false;         ///< Passes may leave large constants to who plans (add_late).
  /// Functions of the model by "domain:name:overload".
  std::map<std::string, std::shared_ptr<const Function>> functions;
  /// Names of symbolic extents in the order they appear in the inputs.
  std::vector<std::string> symbols() const;

 private:
  friend class nnex::Snapshot;
  NodeId make_node(BlockId block, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                   std::shared_ptr<const void> attrs, std::vector<BlockId> blocks, Where where);
  void link(NodeId id, BlockId block, NodeId before);
  void unlink(NodeId id);
  /// Where it stands among its value's uses.
  uint32_t& standing(const Use& use);
  void add_use(ValueId v, Use use);
  void drop_use(ValueId v, Use use);
  std::shared_ptr<const void> interned(const OpDef& op, std::shared_ptr<const void> attrs);

  StableList<ValueDef> values_;
  StableList<Node> nodes_;
  StableList<Block> blocks_;
  std::vector<std::string> places_;
  std::unordered_map<std::string, Where> place_ids_;
  std::unordered_map<uint32_t, std::shared_ptr<const LateConstant>> late_;
  std::unordered_map<std::string, std::shared_ptr<const void>> attr_pool_;
  std::vector<Replacement>* record_ = nullptr;
};

}  // namespace ir

/// A row for nodes the table lacks, and one for calls of model functions: never spelled, never run.
const OpDef& custom_op();
const OpDef& call_op();

/// Writes nodes one after another: `ValueId y = b("add", {x, w});`. Whatever it makes carries one place.
class Builder {
 public:
  /// At the end of a block.
  Builder(ir::Graph& graph, BlockId block, Where where = 0) : graph_(&graph), block_(block), where_(where) {}
  /// Before a node, with that node's place.
  Builder(ir::Graph& graph, NodeId before)
      : graph_(&graph), block_(graph[before].parent), before_(before), where_(graph[before].where) {}
  /// Before a node, with a place of its own.
  Builder(ir::Graph& graph, NodeId before, Where where)
      : graph_(&graph), block_(graph[before].parent), before_(before), where_(where) {}

  /// A node with default attributes; its first output.
  ValueId operator()(std::string_view op_name, std::vector<ValueId> in);
  ValueId operator()(std::string_view op_name, std::initializer_list<ValueId> in);
  template <class A>
  ValueId operator()(std::string_view op_name, std::vector<ValueId> in, A attrs) {
    return made(op_name, std::move(in), &detail::type_tag<A>, std::make_shared<A>(std::move(attrs)));
  }
  template <class A>
  ValueId operator()(std::string_view op_name, std::initializer_list<ValueId> in, A attrs) {
    return made(op_name, in, &detail::type_tag<A>, std::make_shared<A>(std::move(attrs)));
  }
  /// A node with several outputs, or with blocks.
  NodeId node(const OpDef& op, std::vector<ValueId> in, size_t outputs, std::shared_ptr<const void> attrs,
              std::vector<BlockId> blocks = {});
  ValueId constant(Tensor t) { return graph_->add_constant(std::move(t)); }
  ValueId ints(const Ints& values);  ///< An i64 vector.
  ValueId ints(std::initializer_list<int64_t> values);
  ValueId integer(int64_t value);  ///< An i64 scalar.
  /// A scalar of a real or integer type.
  ValueId number(DType type, double value);
  ir::Graph& graph() { return *graph_; }
  BlockId block() const { return block_; }
  Where where() const { return where_; }

 private:
  ValueId first(NodeId id) const { return (*graph_)[id].out[0]; }
  ValueId made(std::string_view op_name, std::vector<ValueId> in, const void* type, std::shared_ptr<const void> attrs);
  ir::Graph* graph_;
  BlockId block_;
  NodeId before_;
  Where where_ = 0;
};

}  // namespace nnex
