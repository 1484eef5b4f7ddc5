#pragma once
// Nodes of an ONNX file that a graph still has as they were read: writers say them in the file's own words.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "standards/onnx/import.h"
#include "standards/onnx/write_wire.h"

namespace nnex::onnx_format {

/// A model as it is read, and which of its messages made which nodes of the main graph.
struct OwnModel {
  ir::Graph graph;
  std::vector<OwnNode> nodes;
  std::unordered_map<std::string, ValueId> names;  ///< Values of the main graph.
  Source source;                                   ///< Keeps the messages alive.
};
Result<std::shared_ptr<const OwnModel>> read_own(std::string_view model, const Source& source);

/// A value that a kept node names: of the graph, or a constant that only the message reads and the model still has.
struct OwnName {
  ValueId value, constant;
};

struct KeptNode {
  const OwnNode* own = nullptr;
  std::vector<NodeId> nodes;                ///< What it is in the graph, in order.
  std::vector<OwnName> in;                  ///< By input of the message; neither: empty.
  std::vector<ValueId> out;                 ///< Invalid: nobody reads it.
  std::map<std::string, OwnName> captured;  ///< What its blocks read of the main graph, by the message's names.
  std::set<std::pair<std::string, std::string>> operators;  ///< Domains and names, of nodes in its blocks, too.
};

/// Of a graph that was made of the model by edits: the nodes that are what the messages say, whatever their values are
/// called now, and whose operators are the same ones in the opset that is written.
class KeptNodes {
 public:
  KeptNodes() = default;
  KeptNodes(std::shared_ptr<const OwnModel> own, const ir::Graph& graph, int64_t opset);

  bool has(NodeId id) const { return all_.count(id.n) != 0; }
  /// Of the first of its nodes; null: of no other.
  const KeptNode* first(NodeId id) const;
  /// The Constant whose content the value still is; null: it is none.
  const OwnNode* constant(ValueId v) const;
  const OwnModel* model() const { return own_.get(); }
  /// Of the opset that the model imports of a domain.
  int64_t version(const std::string& domain) const;
  bool empty() const { return kept_.empty(); }

 private:
  class Match;
  std::optional<KeptNode> matched(const OwnNode& own, std::span<const NodeId> made, std::span<const NodeId> ours,
                                  const ir::Graph& graph, int64_t opset) const;
  void keep(KeptNode node, const ir::Graph& graph);

  std::shared_ptr<const OwnModel> own_;
  std::unordered_map<uint32_t, KeptNode> kept_;  ///< By the first node.
  std::unordered_set<uint32_t> all_;             ///< Nodes of blocks, too.
  std::unordered_set<std::string> outer_;        ///< Names of the main graph's values.
  std::unordered_map<uint32_t, const OwnNode*> constants_;
};

/// What a copy of a NodeProto says otherwise.
struct NodeWords {
  std::vector<std::string> in, out;
  std::map<std::string, std::string> captured;  ///< New names of the main graph's values, by old ones, for its blocks.
  bool name = true, doc = true;
  bool texts = true;  ///< Documentation, properties and descriptions of values in its blocks, and its properties.
};
wire::Message copy_node(std::string_view message, const NodeWords& words);

}  // namespace nnex::onnx_format
