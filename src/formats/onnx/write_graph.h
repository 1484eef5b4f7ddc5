#pragma once
// A model while it is written: names of values, blocks, nodes and their attributes.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/onnx/schema.h"
#include "formats/onnx/write.h"

namespace nnex::onnx_format {

/// A node in ONNX's words.
struct OnnxNode {
  std::string op, domain;
  std::vector<ValueId> in;  ///< Invalid ids: absent.
  AttrMap attrs;            ///< By ONNX's names; those that repeat a default are left out already.
  int since = 1;            ///< The opset that has what the node says.

  void set(std::string_view name, AttrValue value) { attrs.emplace_back(std::string(name), std::move(value)); }
};

/// Where a row is said by other means than its spelling: the reverse of the reader's quirk. Nothing: its spelling says
/// it.
using Say = Result<std::optional<OnnxNode>> (*)(const Graph& graph, const Node& node);
Say find_say(std::string_view row);
/// Whether the node reduces every spatial axis: ONNX has an operator for that.
bool is_global_pool(const Graph& graph, const Node& node);
/// Whether the node is said by the one that reads it.
bool is_absorbed(const Graph& graph, const Node& node);

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const WriteOptions& options) : graph_(graph), options_(options) {}

  Result<Written> run(std::vector<Unwritable>& refused);

 private:
  // Names (write.cpp)
  void name_values();
  void name_block(BlockId block);
  std::string unique(std::string wanted);
  const std::string& name_of(ValueId v) const;
  std::string node_name(NodeId id);

  // The model (write.cpp)
  Status check() const;
  Result<wire::Message> block(BlockId id, bool main);
  Result<std::vector<std::string>> results(BlockId id, bool main, wire::Message& to);
  Status initializers(wire::Message& to);
  Status initializer(const ValueDef& def, const std::string& name, wire::Message& to);
  wire::Message value_info(const std::string& name, const Type& type, bool exact);
  wire::Message model(wire::Message graph);
  void need(std::string_view domain, int version);
  void need_type(const Type& type);

  // Nodes (write_node.cpp)
  Status node(NodeId id, wire::Message& to);
  Result<OnnxNode> said(const Node& node);
  Result<OnnxNode> spelled(const Node& node);
  Result<OnnxNode> spelled_as(const Node& node, const Spelling& spelling, const Schema& schema);
  OnnxNode custom(const Node& node) const;
  Status foreign(const Node& node, wire::Message& to);
  void tail(const Node& node, const OnnxNode& said, wire::Message& to);
  Status attribute(const std::string& name, const AttrValue& value, char kind, wire::Message& to);
  void identity(const std::string& from, const std::string& to_name, wire::Message& to);

  const Graph& graph_;
  const WriteOptions& options_;
  Written out_;
  std::map<uint32_t, std::string> names_;
  std::set<std::string> taken_, node_names_;
  std::set<uint32_t> used_;  ///< Values that a written node or block reads.
  bool all_used_ = false;
  std::map<std::string, int64_t> opsets_;
  std::vector<Unwritable>* refused_ = nullptr;
  uint64_t external_size_ = 0;
};

/// A TensorProto whose numbers are not copied; `kept` owns those that are made here. Error: unsupported for types
/// ONNX has not.
Result<wire::Message> tensor_message(const Tensor& t, const std::string& name, std::vector<Tensor>& kept);
/// A TypeProto; `exact`: extents that are formulas are named by their text.
wire::Message type_message(const Type& type, bool exact);

}  // namespace nnex::onnx_format
