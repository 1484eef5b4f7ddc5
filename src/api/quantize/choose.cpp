#include "api/quantize/choose.h"

#include <algorithm>

#include "graph/queries.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/quantize.h"
#include "ops/window.h"

namespace nnex {

std::optional<ProductShape> product_shape(const ir::Graph& graph, const Node& node) {
  if (node.op->in_bytes != ByteRole::product || node.in.size() < 2) return std::nullopt;
  const Tensor* w = graph.constant_in(node, 1);
  if (!w || w->dtype() != DType::f32 || w->count() == 0 || graph[node.in[0]].is_constant()) return std::nullopt;
  ProductShape out;
  const Shape& s = w->shape();
  if (node.op->attrs.type == &detail::type_tag<ConvAttrs>) {
    if (s.rank() < 3) return std::nullopt;
    out.groups = std::max<int64_t>(1, graph.attrs<ConvAttrs>(node).groups);
    out.weight_axis = 0, out.outputs = s[0];
    out.channels = s[1] * out.groups, out.channel_axis = 1;
    return out;
  }
  if (s.rank() != 2) return std::nullopt;
  const bool transposed = node.op->attrs.type == &detail::type_tag<LinearAttrs>
                              ? graph.attrs<LinearAttrs>(node).transpose_b
                              : graph.attrs<MatmulAttrs>(node).transpose_b;
  out.weight_axis = transposed ? 0 : 1;
  out.outputs = s[out.weight_axis], out.channels = s[1 - out.weight_axis];
  out.channel_axis = -1;
  return out;
}

bool Coding::is_coded(ValueId v) const { return std::binary_search(coded.begin(), coded.end(), v); }

ValueId Coding::scale_of(ValueId v) const {
  for (auto it = scale_from.find(v.n); it != scale_from.end(); it = scale_from.find(v.n)) v = it->second;
  return v;
}

bool has_coded_weights(const ir::Graph& graph, const Node& node) {
  const Node* n = node.in.size() > 1 && node.in[1].valid() ? graph.producer(node.in[1]) : nullptr;
  for (; n && !n->in.empty() && n->in[0].valid(); n = graph.producer(n->in[0])) {
    const auto* type = n->op->attrs.type;
    if (type == &detail::type_tag<DequantizeAttrs> || type == &detail::type_tag<CodebookAttrs>)
      return graph[n->in[0]].is_constant();
  }
  return false;
}

namespace {

/// Why no kernel of codes runs a product; empty: one does.
std::string refused(const ir::Graph& graph, const Node& node) {
  if (!is_f32(graph, node.out[0])) return "it is no product of float32";
  if (has_coded_weights(graph, node)) return "its weights are codes already, which stay";
  if (node.in.size() < 2 || !graph[node.in[1]].is_constant()) return "its second operand is not constant";
  const auto shape = product_shape(graph, node);
  if (!shape) return "its second operand is no matrix or filter of float32 beside computed data";
  if (node.in.size() > 2 && node.in[2].valid()) {
    const Tensor* bias = graph.constant_in(node, 2);
    if (!bias || bias->dtype() != DType::f32) return "its bias is not constant";
    if (bias->count() != shape->outputs) return "its bias has not one number for each output";
  }
  if (node.op->attrs.type == &detail::type_tag<LinearAttrs>) {
    const auto& a = graph.attrs<LinearAttrs>(node);
    if (a.transpose_a || a.alpha != 1 || a.beta != 1) return "it has factors, or reads its first operand transposed";
  } else if (node.op->attrs.type == &detail::type_tag<MatmulAttrs>) {
    if (graph.attrs<MatmulAttrs>(node).transpose_a) return "it reads its first operand transposed";
  } else if (graph.attrs<ConvAttrs>(node).border != ConvBorder::constant) {
    return "its border is not of zeros";
  }
  return {};
}

/// A constant vector along the last axis, which a product without a bias is added to.
bool is_row(const ir::Graph& graph, const Node& add, size_t i) {
  const Tensor* row = graph.constant_in(add, i);
  const MaybeDims& dims = graph[add.in[1 - i]].type.dims;
  return row && row->dtype() == DType::f32 && dims && !dims->empty() && row->shape().rank() >= 1 &&
         row->shape().rank() <= static_cast<int64_t>(dims->size()) &&
         row->shape()[row->shape().rank() - 1] == row->count() && dims->back() == Dim(row->count());
}

bool is_limit(const ir::Graph& graph, const Node& node) {
  if (node.op->in_bytes != ByteRole::limit) return false;
  for (size_t i = 1; i < node.in.size(); ++i)
    if (node.in[i].valid() && !graph[node.in[i]].is_constant()) return false;
  return true;
}

bool moves(const ir::Graph& graph, const Node& node) {
  if (!node.op->view && node.op->in_bytes != ByteRole::moves) return false;
  if (node.out.empty() || !node.out[0].valid() || (node.out.size() > 1 && node.out[1].valid())) return false;
  if (node.op->attrs.type == &detail::type_tag<PoolAttrs> && graph.attrs<PoolAttrs>(node).border != PoolBorder::ignore)
    return false;
  return is_f32(graph, node.in[0]) && is_f32(graph, node.out[0]) && !graph[node.in[0]].is_constant();
}

class Chooser {
 public:
  Chooser(const ir::Graph& graph, const std::map<uint32_t, std::string>& kept) : graph_(graph), kept_(kept) {}

  Coding run() && {
    const std::vector<NodeId> order = graph_.order();
    for (NodeId id : order)
      if (graph_[id].op->in_bytes == ByteRole::product) product(id);
    // Moves hand codes on to sums, and sums make codes for moves: until nothing is new.
    for (size_t before = 0; before != coded_.size();) {
      before = coded_.size();
      for (NodeId id : order) sum(id), move(id);
    }
    std::map<NodeId, size_t> rank;
    for (NodeId id : order) rank.emplace(id, rank.size());
    std::stable_sort(out_.layers.begin(), out_.layers.end(),
                     [&](const CodedLayer& a, const CodedLayer& b) { return rank[a.node] < rank[b.node]; });
    for (uint32_t v : coded_) out_.coded.push_back(ValueId{v});
    return std::move(out_);
  }

 private:
  void product(NodeId id) {
    const Node& node = graph_[id];
    if (!node.out[0].valid()) return;
    CodedLayer layer{id, end_of(id, node.in.size() < 3 || !node.in[2].valid()), refused(graph_, node)};
    if (const auto it = kept_.find(id.n); it != kept_.end() && layer.kept.empty()) layer.kept = it->second;
    if (layer.kept.empty()) {
      coded_.insert(node.in[0].n), coded_.insert(layer.end.n);
      out_.ends.insert(layer.end.n), out_.readers.insert(id.n);
    }
    out_.layers.push_back(std::move(layer));
  }

  void sum(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->in_bytes != ByteRole::sum || out_.readers.count(id.n) || !coded_.count(node.in[0].n) ||
        !coded_.count(node.in[1].n) || !is_f32(graph_, node.out[0]) || !same_extents(graph_, node.in[0], node.in[1]))
      return;
    CodedLayer layer{id, end_of(id, false), {}};
    if (const auto it = kept_.find(id.n); it != kept_.end()) layer.kept = it->second;
    if (layer.kept.empty()) {
      coded_.insert(layer.end.n), out_.ends.insert(layer.end.n), out_.readers.insert(id.n);
    } else if (std::any_of(out_.layers.begin(), out_.layers.end(), [&](const CodedLayer& l) { return l.node == id; })) {
      return;
    }
    out_.layers.push_back(std::move(layer));
  }

  /// What has the elements of a coded tensor has its codes, where codes are read from it.
  void move(NodeId id) {
    const Node& node = graph_[id];
    if (out_.readers.count(id.n) || !moves(graph_, node) || !coded_.count(node.in[0].n)) return;
    if (!coded_.count(node.out[0].n) && !leads_to_codes(node.out[0])) return;
    coded_.insert(node.out[0].n);
    out_.scale_from[node.out[0].n] = node.in[0], out_.readers.insert(id.n);
  }
  /// Whether a chain of moves ends in a coded tensor.
  bool leads_to_codes(ValueId v) const {
    for (const Use& u : graph_[v].uses) {
      if (!u.node.valid() || u.index != 0 || !moves(graph_, graph_[u.node])) continue;
      const ValueId y = graph_[u.node].out[0];
      if (coded_.count(y.n) || leads_to_codes(y)) return true;
    }
    return false;
  }

  /// Behind the row and the limit that alone read what node `id` makes.
  ValueId end_of(NodeId id, bool takes_row) const {
    ValueId v = graph_[id].out[0];
    NodeId reader = only_reader(graph_, v);
    if (takes_row && reader.valid() && graph_[reader].op->in_bytes == ByteRole::sum) {
      const Node& add = graph_[reader];
      if (is_row(graph_, add, add.in[0] == v ? 1 : 0)) v = add.out[0], reader = only_reader(graph_, v);
    }
    if (reader.valid() && is_limit(graph_, graph_[reader]) && graph_[reader].in[0] == v) v = graph_[reader].out[0];
    return v;
  }

  const ir::Graph& graph_;
  const std::map<uint32_t, std::string>& kept_;
  std::set<uint32_t> coded_;
  Coding out_;
};

}  // namespace

Coding choose(const ir::Graph& graph, const std::map<uint32_t, std::string>& kept) {
  return Chooser(graph, kept).run();
}

}  // namespace nnex
