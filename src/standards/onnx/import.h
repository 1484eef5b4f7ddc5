#pragma once
// One ONNX node on its way into the graph, and the importer that walks a model's messages.

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/faults.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "standards/onnx/read_proto.h"

namespace nnex::onnx_format {

constexpr int64_t kNewestIr = 13;
constexpr int64_t kNewestOpset = 28;  ///< Of the standard domain.

struct Limits {
  int depth = 16;              ///< Nested sub-graphs; inference of nested loops doubles with each.
  int64_t nodes = 10'000'000;  ///< Nodes of all graphs.
};

/// The error of a message whose bytes are no protocol buffer.
Error broken(std::string_view what, const char* fault);
/// A domain's one name: the standard one's is empty.
std::string domain_of(std::string_view domain);

/// An attribute as the file has it.
struct Attribute {
  std::string name;
  AttrValue value;
  std::string_view graph;   ///< A GraphProto's bytes, when it is one.
  std::string_view sparse;  ///< A SparseTensorProto's, which Constant reads.
  bool is_graph = false;
  std::string reference;  ///< The function attribute it stands for.
  Type type;              ///< When it is a TypeProto.
  std::vector<std::string_view> graphs;
};

/// What a model's messages hold that a graph has no place for, in words: "1 entries of training information". Functions
/// are carried as they are and not looked into.
std::vector<std::string> beside_network(std::string_view model);

/// The newest opset of a standard domain that is known here.
int64_t newest_opset(std::string_view domain);

/// What a checker knows before an import, and wants of it beside the graph.
struct Findings {
  struct Declared {
    ValueId value;
    std::string place;
    Type type;
    bool inner = false;  ///< Of a block: its extents may be others each time.
  };
  struct Used {
    std::string place, domain, op;
    int64_t version = 0;
    std::vector<ValueId> in, out;  ///< Invalid: left out.
    bool broadcast = false;        ///< Whether its attribute says so, which opsets before 7 have.
  };
  std::unordered_map<const char*, std::string> places;  ///< Of messages, where importers would show less than the path.
  std::set<std::string> broken_functions;               ///< Whose calls tell nothing more.
  std::set<std::string> expanded_functions;             ///< That were called.
  Faults faults{1000};                                  ///< What was wrong, here and when functions are expanded.
  std::vector<Declared> declared;                       ///< By value_info, by inputs with a default and by blocks.
  std::vector<std::string> outputs;                     ///< Names of the model's, as the file has them,
  std::vector<Type> output_types;                       ///< and what it says of them.
  std::vector<Used> nodes;                              ///< Those of standard domains.
  std::unordered_set<uint32_t> doubtful;           ///< Values of nodes whose operator does not take what it is given.
  std::unordered_map<uint32_t, ValueId> replaced;  ///< Results of calls, by what the functions' bodies make instead.

  /// The value that stands for this one by now.
  ValueId now(ValueId v) const {
    for (auto it = replaced.find(v.n); it != replaced.end(); it = replaced.find(v.n)) v = it->second;
    return v;
  }
};

/// A node of the main graph's messages, and what it was read as.
struct OwnNode {
  std::string_view message;
  uint32_t first = 0, end = 0;   ///< Ids of the nodes that it made.
  std::vector<ValueId> in, out;  ///< By its inputs and outputs; invalid: those without a name.
};

class Importer;

/// A node before it is spelled in the table's words. Quirks change or replace it.
/// A node's inputs; what the file does not give is an invalid id, however far a quirk looks.
class Inputs : public std::vector<ValueId> {
 public:
  using std::vector<ValueId>::vector;
  Inputs(std::vector<ValueId> ids) : std::vector<ValueId>(std::move(ids)) {}  // NOLINT: implicit on purpose
  ValueId operator[](size_t i) const { return i < size() ? data()[i] : ValueId(); }
  ValueId& operator[](size_t i) {
    if (i >= size()) resize(i + 1);
    return data()[i];
  }
};

struct NodeImport {
  Importer& importer;
  Builder b;
  std::string op, domain, name;
  int64_t version = 0;           ///< Of the opset its domain imports.
  Inputs in;                     ///< Invalid ids: empty names.
  std::vector<std::string> out;  ///< Names; empty: not wanted.
  std::vector<Attribute> attrs;
  NodeId before = {};  ///< The node it is written before; invalid: at the block's end.

  bool has(size_t i) const { return i < in.size() && in[i].valid(); }
  bool wants(size_t o) const { return o < out.size() && !out[o].empty(); }
  const AttrValue* find(std::string_view attr) const;
  bool given(std::string_view attr) const { return find(attr) != nullptr; }
  int64_t integer(std::string_view attr, int64_t otherwise) const;
  double real(std::string_view attr, double otherwise) const;
  std::string word(std::string_view attr, std::string_view otherwise) const;
  Ints ints(std::string_view attr) const;
  Reals reals(std::string_view attr) const;
  Texts words(std::string_view attr) const;
  void drop(std::string_view attr);
  void set(std::string_view attr, AttrValue value);
  /// What is known of input i.
  const Type& type(size_t i) const;
  std::optional<int64_t> rank(size_t i) const;
  /// The content of input i when it is constant.
  const Tensor* constant(size_t i) const;
  /// Output o of the node is this value.
  void bind(size_t o, ValueId v);
  Error error(std::string message) const { return Error(Code::invalid_model, op + ": " + std::move(message)); }
};

/// Done: the quirk bound the outputs itself. Otherwise the node, perhaps changed, goes on to its spelling.
enum class Quirked : uint8_t { no, done };
using Quirk = Result<Quirked> (*)(NodeImport&);
/// The function for an operator that needs more than names and attributes; null for most.
Quirk find_quirk(std::string_view domain, std::string_view op);

class Importer {
 public:
  /// Values the graph has already keep the types it has for them.
  Importer(ir::Graph& graph, Source source, Limits limits)
      : graph_(graph),
        source_(std::move(source)),
        limits_(limits),
        inference_(graph, static_cast<uint32_t>(graph.value_count())) {}

  /// From now on a fault is kept and the import goes on behind it, with values that nothing is known of.
  void go_on(std::shared_ptr<Findings> findings) { findings_ = std::move(findings); }

  /// From now on the main graph's nodes are told apart.
  void record(std::vector<OwnNode>* nodes) { own_ = nodes; }
  /// Values of the main graph by their names, once it was read.
  const std::unordered_map<std::string, ValueId>& names() const { return scopes_.front(); }

  Status model(std::string_view message);
  /// A function's body in place of a call.
  Status function_body(std::string_view message, NodeId call);
  /// Values of which nothing is known in place of a call that cannot be expanded.
  void drop_call(NodeId call);

  ir::Graph& graph() { return graph_; }
  const Source& source() const { return source_; }
  /// What is known of a value that an earlier node made. Most nodes are made without a question.
  const Type& type_of(ValueId v);
  void bind_name(const std::string& name, ValueId v);
  /// Imports a GraphProto into a block; its free names are those of the scopes around it. `given`: what is known of
  /// parameters that declare no type.
  Result<BlockId> block(std::string_view message, int depth, std::span<const Type> given = {});
  /// Imports a GraphProto among the nodes that node n becomes, these values being its parameters; its results.
  Result<std::vector<ValueId>> inlined(std::string_view message, const NodeImport& n, std::span<const ValueId> params);
  /// Makes the table's node of a node whose quirk wants to go on with its outputs. Error: invalid_model when nobody
  /// spells it.
  Result<NodeId> spell(NodeImport& n);
  /// What an operator of the standard domain, in its newest form, gives for these inputs with the attributes of n.
  Result<ValueId> standard_result(const NodeImport& n, std::string_view op, Inputs in);
  int depth() const { return depth_; }

 private:
  using Scope = std::unordered_map<std::string, ValueId>;
  /// Of an initializer. `kept`: a sparse one whose name is declared as one.
  enum class Stored : uint8_t { dense, sparse, kept };
  struct GraphParts;

  Result<GraphParts> graph_parts(std::string_view message) const;
  /// Who checks compares what a name is with what is said of it.
  void find_declared(const std::string& name, ValueId v);
  /// Initializers become constants of the innermost scope.
  Status constants(const GraphParts& parts);
  /// Whether an input, output or value of that name is declared as a sparse tensor.
  static bool declared_sparse(const GraphParts& parts, std::string_view name);
  Status declare(const GraphParts& parts);
  Status graph_body(const GraphParts& parts, BlockId block, bool main, std::span<const Type> given = {});
  /// What a loop or scan node's inputs say of its body's parameters.
  std::vector<Type> body_types(const NodeImport& n, std::string_view op) const;
  Status node(std::string_view message, BlockId block, NodeId before);
  /// Who goes beyond what its import says that it takes is refused.
  static Status takes(const NodeImport& n);
  Status make(NodeImport& n);
  Status custom_node(NodeImport& n, bool call, const std::string& overload);
  /// A row of the table under its own name, in the domain "nnex".
  Status row(NodeImport& n, const OpDef& op);
  Result<Attribute> attribute(std::string_view message);
  Result<ValueId> lookup(const std::string& name);
  Status add_function(std::string_view message);
  Status value_info(std::string_view message, std::string& name, Type& type);
  /// An initializer's name and content.
  Status constant(std::string_view message, Stored stored);
  /// Who goes on past faults keeps this one; else it is passed on.
  Status kept(Status s);
  /// The same, at the place of a message: "input 'x'" of the main graph.
  Status kept_at(Status s, std::string_view kind, std::string_view name, std::string_view message);
  std::string place_of(std::string_view kind, std::string_view name, std::string_view message) const;
  /// A value of which nothing is known, in place of one that could not be made.
  ValueId unknown(const std::string& name);
  Status input(std::string_view message, BlockId block, bool main, std::set<std::string>& seen);
  Status output(std::string_view message, BlockId block, bool main, std::vector<ValueId>& results,
                std::set<uint32_t>& seen);
  Status inputs_of(const std::vector<std::string>& names, const std::string& place, NodeImport& n);

  ir::Graph& graph_;
  Source source_;
  Limits limits_;
  Inference inference_;
  uint32_t inferred_ = 0;  ///< Nodes below this id are inferred.
  uint32_t whole_ = 0;     ///< Nodes below this id belong to operators that are imported.
  std::vector<Scope> scopes_ = {{}};
  std::map<std::string, int64_t> opsets_;
  struct Description {
    Type type;
    std::string place;
  };
  std::unordered_map<std::string, Description> declared_;
  const std::vector<Attribute>* bound_ = nullptr;  ///< Attributes of the call whose function body is imported.
  std::set<std::string> absent_;                   ///< Parameters of that function the call leaves out.
  std::string prefix_;                             ///< Of places inside a function body.
  int depth_ = 0;
  int64_t nodes_ = 0;
  std::span<const std::string_view> coming_;  ///< Nodes of the graph that is read.
  int nameless_ = 0;                          ///< Extents of the main graph's inputs without a name.
  std::vector<OwnNode>* own_ = nullptr;       ///< Null: nobody asks.
  std::shared_ptr<Findings> findings_;        ///< Of who goes on past faults; functions keep them.
  BlockId unknowns_;  ///< A block of nobody, whose parameters stand for values that could not be made.
};

}  // namespace nnex::onnx_format
