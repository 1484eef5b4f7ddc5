// Nodes of a graph that an ONNX file has already, in that file's words.

#include <algorithm>

#include "base/try.h"
#include "standards/onnx/check_context.h"
#include "standards/onnx/export_graph.h"

namespace nnex::onnx_format {

using wire::Message;

std::string GraphWriter::name_of(const OwnName& v) {
  if (v.value.valid()) {
    used_.insert(v.value.n);
    return name_of(v.value);
  }
  if (!v.constant.valid()) return {};
  const auto [at, fresh] = absorbed_.try_emplace(v.constant.n);
  if (fresh) at->second = unique(kept_.model()->graph[v.constant].name);
  return at->second;
}

void GraphWriter::kept_node(const KeptNode& node, Message& to) {
  const NodeId first = node.nodes[0];
  const std::string_view message = node.own->message;
  NodeWords words;
  for (const OwnName& v : node.in) words.in.push_back(name_of(v));
  for (const auto& [name, v] : node.captured)
    if (std::string now = name_of(v); now != name) words.captured.emplace(name, std::move(now));
  const std::vector<std::string_view> outputs = fields_of(message, NodeProto::output);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const ValueId v = o < node.out.size() ? node.out[o] : ValueId{};
    const bool made = v.valid() && std::count(node.nodes.begin(), node.nodes.end(), graph_[v].producer);
    if (made) described_.insert(v.n);
    words.out.push_back(made ? name_of(v) : outputs[o].empty() ? "" : unique(std::string(outputs[o])));
  }
  words.texts = options_.texts;
  words.name = !graph_.place_of(first).empty();
  words.doc = std::any_of(words.out.begin(), words.out.end(),
                          [&](const std::string& name) { return graph_.meta.node_docs.count(name) != 0; });
  for (const auto& [domain, op] : node.operators)
    if (!domain.empty()) need(domain, static_cast<int>(kept_.version(domain)));
  to.message(GraphProto::node, copy_node(message, words));
  ++out_.nodes;
}

/// Constants that nodes of the file make stand before those that read them.
void GraphWriter::kept_constants(Message& to) {
  if (kept_.empty()) return;
  out_.file = kept_.model()->source.owner;
  if (const MappedFile* file = file_of(out_.file)) out_.files.insert(file);
  std::set<uint32_t> read;
  for (NodeId id : graph_.order())
    if (const KeptNode* node = kept_.first(id)) {
      for (const OwnName& v : node->in) read.insert(v.value.n);
      for (const auto& [name, v] : node->captured) read.insert(v.value.n);
    }
  for (const auto& [n, name] : names_) {
    const OwnNode* own = read.count(n) ? kept_.constant(ValueId{n}) : nullptr;
    if (!own || external_.takes(*graph_[ValueId{n}].constant.tensor())) continue;
    NodeWords words;
    words.out = {name};
    words.texts = options_.texts;
    words.doc = graph_.meta.node_docs.count(name) != 0;
    to.message(GraphProto::node, copy_node(own->message, words));
    as_nodes_.insert(n);
    ++out_.nodes;
  }
}

Status GraphWriter::absorbed_constants(Message& to) {
  for (const auto& [n, name] : absorbed_) {
    NNEX_TRY(initializer(kept_.model()->graph[ValueId{n}], name, to));
    ++out_.initializers;
  }
  return {};
}

/// Whether what is kept means the same in the opsets that all nodes need together.
void GraphWriter::check_kept() {
  for (NodeId id : graph_.order()) {
    const KeptNode* node = kept_.first(id);
    if (!node) continue;
    for (const auto& [domain, op] : node->operators) {
      const int64_t own = kept_.version(domain), now = opsets_[domain];
      if (own == now || !is_standard(domain)) continue;
      const Form *then = find_form(domain, op, own), *form = find_form(domain, op, now);
      out_.kept_fit &= then && form && then->since == form->since;
    }
  }
}

}  // namespace nnex::onnx_format
