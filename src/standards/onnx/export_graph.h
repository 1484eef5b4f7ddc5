#pragma once
// A model while it is written: names of values, blocks, nodes and their attributes.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/intervals.h"
#include "standards/onnx/own_nodes.h"
#include "standards/onnx/signatures.h"
#include "standards/onnx/write.h"
#include "standards/onnx/write_external.h"

namespace nnex::onnx_format {

/// A node in ONNX's words.
struct OnnxNode {
  std::string op, domain;
  std::vector<ValueId> in;  ///< Invalid ids: absent.
  AttrMap attrs;            ///< By ONNX's names; those that repeat a default are left out already.
  int since = 1;            ///< The first opset that takes the node so.

  void set(std::string_view name, AttrValue value) { attrs.emplace_back(std::string(name), std::move(value)); }
};

/// Where a row is said by other means than its spelling: the reverse of the reader's quirk. Nothing: its spelling says
/// it.
using Say = Result<std::optional<OnnxNode>> (*)(const ir::Graph& graph, const Node& node);
Say find_say(std::string_view row);
/// The same for an opset that has another operator for the row.
Say find_older_say(std::string_view row, int64_t opset);
Result<std::optional<OnnxNode>> max_roi_pool_node(const ir::Graph& graph, const Node& node);
Result<std::optional<OnnxNode>> roi_align_node(const ir::Graph& graph, const Node& node);
/// Whether the node takes columns of rows that MaxRoiPool reads itself, for nobody else.
bool is_column_of_regions(const ir::Graph& graph, const Node& node);
/// Whether the node reduces every spatial axis: ONNX has an operator for that.
bool is_global_pool(const ir::Graph& graph, const Node& node);
/// Whether an operand has y's extents from that axis of y on.
bool lies_at(const Dims& operand, const Dims& y, size_t axis);
/// What v was before it got trailing axes; invalid: it is no result of such a node.
ValueId operand_before_axes(const ir::Graph& graph, ValueId v);
/// Whether the node is said by the one that reads it.
bool is_absorbed(const ir::Graph& graph, const Node& node);

/// What runtimes of the last years read: no lower opset of the standard domain is written unasked.
inline constexpr int kMinOpset = 17;

/// An attribute as the youngest form that has it declares it; null: none has.
const FormAttribute* declared_in(const std::vector<Form>& forms, std::string_view name);

class GraphWriter {
 public:
  GraphWriter(const ir::Graph& graph, const WriteOptions& options, const KeptNodes& kept)
      : graph_(graph), options_(options), kept_(kept), external_(options.external) {}

  Result<Written> run(std::vector<Unwritable>& refused);

 private:
  // Names (write.cpp)
  void name_values();
  void name_block(BlockId block);
  std::string unique(std::string wanted);
  const std::string& name_of(ValueId v) const;
  void name_nodes();
  std::string node_name(NodeId id);

  // The model (write.cpp)
  Status check() const;
  Result<wire::Message> block(BlockId id, bool main);
  Result<std::vector<std::string>> results(BlockId id, bool main, wire::Message& to);
  Status initializers(wire::Message& to);
  Status initializer(const ValueDef& def, const std::string& name, wire::Message& to);
  wire::Message value_info(const std::string& name, const Type& type, bool exact);
  wire::Message model(wire::Message graph);
  /// Of a model in that opset, with all that was written.
  int64_t ir_version(int64_t opset) const;
  void need(std::string_view domain, int version);
  void need_type(const Type& type);

  // Opsets (export_opset.cpp)
  Type type_of_value(ValueId v) const;
  FormUse use_of(const Node& node, const OnnxNode& said, std::vector<Type>& types) const;
  const Form* first_form(std::string_view domain, std::string_view op, const FormUse& use,
                         std::vector<BrokenForm>& broken) const;
  void count_axes(const Node& node, const Form& form, OnnxNode& said) const;
  void say_form(const Node& node, const Form& form, OnnxNode& said) const;
  bool is_only_laid_out(const Node& node) const;
  void note_counting(const Node& node, const OnnxNode& said);
  Status find_opset(const Node& node, OnnxNode& said) const;
  void check_opsets();
  int64_t min_opset() const { return options_.opset > 0 ? std::min<int64_t>(options_.opset, kMinOpset) : kMinOpset; }

  // Nodes (export_node.cpp)
  Status node(NodeId id, wire::Message& to);
  Result<OnnxNode> said(const Node& node) const;
  Result<OnnxNode> spelled(const Node& node) const;
  Result<OnnxNode> spelled_as(const Node& node, const Spelling& spelling, const Form& form) const;
  OnnxNode custom(const Node& node) const;
  void author_words(NodeId id, wire::Message& to);
  Status custom_node(NodeId id, wire::Message& to);
  // Nodes that are kept (export_kept.cpp)
  std::string name_of(const OwnName& v);
  void kept_node(const KeptNode& node, wire::Message& to);
  void kept_constants(wire::Message& to);
  Status absorbed_constants(wire::Message& to);
  void check_kept();
  void tail(const Node& node, const OnnxNode& said, wire::Message& to);
  Status attribute(const std::string& name, const AttrValue& value, char kind, wire::Message& to);
  void identity(ValueId from, const std::string& to_name, wire::Message& to);

  const ir::Graph& graph_;
  const WriteOptions& options_;
  const KeptNodes& kept_;
  ExternalWriter external_;
  Written out_;
  std::map<uint32_t, std::string> names_;
  std::set<std::string> taken_, node_names_;
  std::unordered_map<Where, NodeId> named_;   ///< Of the nodes with one place that which has the author's name.
  std::map<std::string, int> suffixes_;       ///< The last number that made a name unique.
  std::set<uint32_t> used_;                   ///< Values that a written node or block reads.
  std::set<uint32_t> as_nodes_;               ///< Constants that nodes make.
  std::map<uint32_t, std::string> absorbed_;  ///< Names of constants that kept nodes alone read, of the model's ids.
  std::set<uint32_t> described_;              ///< Values that kept nodes name.
  std::set<uint32_t> inside_;                 ///< Nodes that those say which read them.
  bool all_used_ = false;
  std::map<std::string, int64_t> opsets_;
  int64_t ir_ = 0;
  std::vector<wire::Message> listed_;              ///< Descriptions of initializers.
  std::vector<std::pair<NodeId, OnnxNode>> said_;  ///< Nodes written in words of the standard.
  std::vector<Unwritable>* refused_ = nullptr;
  std::optional<Intervals> intervals_;  ///< Once somebody asked.
};

/// A TensorProto whose numbers are not copied; `kept` owns those that are made here. Error: unsupported for types
/// ONNX has not.
Result<wire::Message> tensor_message(const Tensor& t, const std::string& name, std::vector<Tensor>& kept);
/// A TypeProto; `exact`: extents that are formulas are named by their text.
wire::Message type_message(const Type& type, bool exact);

}  // namespace nnex::onnx_format
