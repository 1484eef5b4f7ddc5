#include "standards/onnx/own_nodes.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/try.h"
#include "standards/onnx/check_context.h"
#include "standards/onnx/copy_ways.h"
#include "standards/onnx/import_quirks.h"
#include "standards/onnx/signatures.h"
#include "tensor/has_memory.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

// ---- What a message says

/// What its nodes are, what they read of graphs around it, and what its blocks have names for.
struct Scan {
  std::set<std::pair<std::string, std::string>> operators;  ///< Domain and name.
  std::set<std::string> free, inner;
  bool elsewhere = false;  ///< A tensor in another file.
};

using Names = std::vector<std::set<std::string_view>>;

void scan_graph(std::string_view message, int depth, Names& scopes, Scan& to);

/// A node; `inputs`: those count that it reads itself.
void scan_node(std::string_view message, int depth, bool inputs, Names& scopes, Scan& to) {
  if (depth > kDeepestCopy) return;
  std::string_view op, domain;
  wire::Reader r(message);
  for (Field f; r.next(f);) {
    if (f.number == NodeProto::op_type) op = f.bytes;
    if (f.number == NodeProto::domain) domain = f.bytes;
    if (inputs && f.number == NodeProto::input && !f.bytes.empty() &&
        std::none_of(scopes.begin(), scopes.end(), [&](const auto& names) { return names.count(f.bytes) != 0; }))
      to.free.emplace(f.bytes);
    if (f.number != NodeProto::attribute) continue;
    wire::Reader attribute(f.bytes);
    for (Field a; attribute.next(a);) {
      if (is_one_of(a.number, AttributeProto::g, AttributeProto::graphs)) scan_graph(a.bytes, depth + 1, scopes, to);
      if (is_one_of(a.number, AttributeProto::t, AttributeProto::tensors, AttributeProto::sparse_tensor)) {
        wire::Reader tensor(a.bytes);
        for (Field t; tensor.next(t);) to.elsewhere |= is_elsewhere(t);
      }
    }
  }
  to.operators.emplace(domain_of(domain), op);
}

void scan_graph(std::string_view message, int depth, Names& scopes, Scan& to) {
  std::set<std::string_view>& made = scopes.emplace_back();
  const size_t scope = scopes.size() - 1;
  wire::Reader first(message);
  for (Field f; first.next(f);) {
    if (f.number == GraphProto::input) made.insert(field_text(f.bytes, ValueInfoProto::name));
    if (f.number != GraphProto::initializer && f.number != GraphProto::sparse_initializer) continue;
    const std::string_view tensor =
        f.number == GraphProto::initializer ? f.bytes : field_text(f.bytes, SparseTensorProto::values);
    made.insert(field_text(tensor, TensorProto::name));
    wire::Reader t(tensor);
    for (Field data; t.next(data);) to.elsewhere |= is_elsewhere(data);
  }
  wire::Reader r(message);
  for (Field f; r.next(f);) {
    if (f.number == GraphProto::output)
      if (const auto name = field_text(f.bytes, ValueInfoProto::name);
          std::none_of(scopes.begin(), scopes.end(), [&](const auto& names) { return names.count(name) != 0; }))
        to.free.emplace(name);
    if (f.number != GraphProto::node) continue;
    scan_node(f.bytes, depth + 1, true, scopes, to);
    wire::Reader node(f.bytes);
    for (Field out; node.next(out);)
      if (out.number == NodeProto::output) scopes[scope].insert(out.bytes);
  }
  for (std::string_view name : scopes[scope]) to.inner.emplace(name);
  scopes.pop_back();
}

Scan scan_of(std::string_view node) {
  Scan out;
  Names scopes;
  scan_node(node, 0, false, scopes, out);
  return out;
}

// ---- What a graph has

bool same_content(const nnex::Value& a, const nnex::Value& b) {
  const Tensor *x = a.tensor(), *y = b.tensor();
  if (!x || !y || x->dtype() != y->dtype() || !(x->shape() == y->shape())) return false;
  if (x->dtype() == DType::str)
    return std::equal(x->strings().begin(), x->strings().end(), y->strings().begin(), y->strings().end());
  if (is_object(x->dtype())) return false;
  if (x->data() == y->data()) return x->data() != nullptr || x->count() == 0;
  return has_memory(*x) && has_memory(*y) && std::memcmp(x->data(), y->data(), static_cast<size_t>(x->bytes())) == 0;
}

bool same_attrs(const OpDef& op, const void* a, const void* b) {
  if (a == b) return true;
  return a && b && std::all_of(op.attrs.fields.begin(), op.attrs.fields.end(), [&](const nnex::Field& f) {
           const AttrValue x = f.get(a), y = f.get(b);
           auto *s = std::get_if<Tensor>(&x), *t = std::get_if<Tensor>(&y);
           return s && t ? same_content(nnex::Value(*s), nnex::Value(*t)) : same(x, y);
         });
}

/// What readers of a message go by: the kind, the element type and the rank, as far as both are known.
bool alike(const Type& a, const Type& b) {
  if (a.kind == nnex::Kind::unknown || b.kind == nnex::Kind::unknown) return true;
  if (a.kind != b.kind || (a.is_tensor() && a.dtype != b.dtype)) return false;
  return !a.dims || !b.dims || a.dims->size() == b.dims->size();
}

}  // namespace

Result<std::shared_ptr<const OwnModel>> read_own(std::string_view model, const Source& source) {
  auto own = std::make_shared<OwnModel>();
  own->source = source;
  Importer importer(own->graph, source, {});
  importer.record(&own->nodes);
  NNEX_TRY(importer.model(model));
  own->names = importer.names();
  return std::shared_ptr<const OwnModel>(std::move(own));
}

/// One message's nodes against those of the graph.
class KeptNodes::Match {
 public:
  Match(const OwnModel& own, const ir::Graph& graph) : own_(own), graph_(graph) {}

  bool node(NodeId theirs, NodeId ours) {
    const Node &p = own_.graph[theirs], &e = graph_[ours];
    if (p.op != e.op || p.custom || e.custom || p.in.size() != e.in.size() || p.out.size() != e.out.size())
      return false;
    if (p.blocks.size() != e.blocks.size() || !same_attrs(*p.op, p.attrs.get(), e.attrs.get())) return false;
    for (size_t i = 0; i < p.in.size(); ++i)
      if (!value(p.in[i], e.in[i])) return false;
    for (size_t b = 0; b < p.blocks.size(); ++b)
      if (!block(p.blocks[b], e.blocks[b])) return false;
    for (size_t o = 0; o < p.out.size(); ++o) {
      if (!p.out[o].valid() && e.out[o].valid()) return false;
      if (e.out[o].valid()) known_[p.out[o].n] = e.out[o];
    }
    return true;
  }

  /// A value that the message names. Nothing: the graph does not have it any more.
  std::optional<OwnName> name(ValueId theirs) const {
    if (const auto it = known_.find(theirs.n); it != known_.end()) return OwnName{it->second, {}};
    const ValueDef& p = own_.graph[theirs];
    const ValueDef* const e = theirs.n < graph_.value_count() ? &graph_[theirs] : nullptr;
    if (e && e->name == p.name && p.is_constant() && same_content(p.constant, e->constant)) return OwnName{theirs, {}};
    if (p.is_constant()) return OwnName{{}, theirs};
    return std::nullopt;  // a message's import read no more of it than its type
  }
  ValueId out(ValueId theirs) const {
    const auto it = known_.find(theirs.n);
    return it == known_.end() ? ValueId{} : it->second;
  }

 private:
  bool value(ValueId theirs, ValueId ours) {
    if (!theirs.valid() || !ours.valid()) return theirs.valid() == ours.valid();
    const auto [known, fresh] = known_.try_emplace(theirs.n, ours);
    if (!fresh) return known->second == ours;
    const ValueDef &p = own_.graph[theirs], &e = graph_[ours];
    if (p.is_constant()) return same_content(p.constant, e.constant);
    return alike(p.type, e.is_constant() ? type_of(e.constant) : e.type);
  }
  bool block(BlockId theirs, BlockId ours) {
    const Block &p = own_.graph[theirs], &e = graph_[ours];
    if (p.params.size() != e.params.size() || p.results.size() != e.results.size()) return false;
    for (size_t i = 0; i < p.params.size(); ++i) known_[p.params[i].n] = e.params[i];
    const std::vector<NodeId> a = own_.graph.order(theirs), b = graph_.order(ours);
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!node(a[i], b[i])) return false;
    for (size_t i = 0; i < p.results.size(); ++i)
      if (!value(p.results[i], e.results[i])) return false;
    return true;
  }

  const OwnModel& own_;
  const ir::Graph& graph_;
  std::unordered_map<uint32_t, ValueId> known_;  ///< The graph's values, by the model's.
};

namespace {

/// The nodes of the main graph that each message made.
std::vector<std::vector<NodeId>> made_by(const OwnModel& own) {
  std::vector<std::vector<NodeId>> out(own.nodes.size());
  for (NodeId id : own.graph.order()) {
    const auto next = std::upper_bound(own.nodes.begin(), own.nodes.end(), id.n,
                                       [](uint32_t n, const OwnNode& o) { return n < o.first; });
    if (next == own.nodes.begin()) continue;
    const auto at = std::prev(next);
    if (id.n < at->end) out[static_cast<size_t>(at - own.nodes.begin())].push_back(id);
  }
  return out;
}

/// Whether nobody else reads what the message does not name.
bool is_closed(const ir::Graph& graph, const KeptNode& node) {
  std::unordered_set<uint32_t> inside, named;
  for (ValueId v : node.out) named.insert(v.n);
  for (NodeId id : node.nodes) {
    inside.insert(id.n);
    for (BlockId b : graph[id].blocks)
      for (NodeId inner : graph.order_with_blocks(b)) inside.insert(inner.n);
  }
  const auto is_inside = [&](const Use& u) {
    const NodeId reader = u.node.valid() ? u.node : graph[u.block].owner;
    return reader.valid() && inside.count(reader.n) != 0;
  };
  for (NodeId id : node.nodes)
    for (ValueId v : graph[id].out)
      if (v.valid() && !named.count(v.n) && !std::all_of(graph[v].uses.begin(), graph[v].uses.end(), is_inside))
        return false;
  return true;
}

/// Whether the operators are the same ones in the opset that is written.
bool are_same_in(const Scan& scan, int64_t own, int64_t opset) {
  for (const auto& [domain, op] : scan.operators) {
    if (!domain.empty() || own == opset) continue;
    const Form *then = find_form(domain, op, own), *now = find_form(domain, op, opset);
    if (!then || !now || then->since != now->since || now->deprecated) return false;
  }
  return true;
}

}  // namespace

/// The message's node, where the graph's nodes from one on are what it made; nothing: they are others.
std::optional<KeptNode> KeptNodes::matched(const OwnNode& own, std::span<const NodeId> made,
                                           std::span<const NodeId> ours, const ir::Graph& graph, int64_t opset) const {
  if (made.size() > ours.size()) return std::nullopt;
  Match same(*own_, graph);
  for (size_t i = 0; i < made.size(); ++i)
    if (!same.node(made[i], ours[i])) return std::nullopt;
  KeptNode out;
  out.own = &own;
  const Scan scan = scan_of(own.message);
  for (const std::string& name : scan.inner)
    if (outer_.count(name)) return std::nullopt;  // it would hide a value that is called so now
  if (scan.elsewhere || !are_same_in(scan, version(""), opset)) return std::nullopt;
  out.operators = scan.operators;
  for (ValueId v : own.in) {
    const auto name = v.valid() ? same.name(v) : std::optional(OwnName{});
    if (!name) return std::nullopt;
    out.in.push_back(*name);
  }
  for (const std::string& name : scan.free) {
    const auto value = own_->names.find(name);
    const auto now = value == own_->names.end() ? std::nullopt : same.name(value->second);
    if (!now) return std::nullopt;
    out.captured.emplace(name, *now);
  }
  for (ValueId v : own.out) out.out.push_back(v.valid() ? same.out(v) : ValueId{});
  out.nodes.assign(ours.begin(), ours.begin() + static_cast<ptrdiff_t>(made.size()));
  return is_closed(graph, out) ? std::optional(std::move(out)) : std::nullopt;
}

void KeptNodes::keep(KeptNode node, const ir::Graph& graph) {
  for (NodeId id : node.nodes) {
    all_.insert(id.n);
    for (BlockId b : graph[id].blocks)
      for (NodeId inner : graph.order_with_blocks(b)) all_.insert(inner.n);
  }
  kept_.emplace(node.nodes[0].n, std::move(node));
}

KeptNodes::KeptNodes(std::shared_ptr<const OwnModel> own, const ir::Graph& graph, int64_t opset)
    : own_(std::move(own)) {
  const std::vector<std::vector<NodeId>> made = made_by(*own_);
  std::unordered_map<std::string, std::optional<size_t>> by_place;  // nothing: several messages have it
  std::unordered_map<uint32_t, size_t> by_id;
  for (size_t m = 0; m < made.size(); ++m) {
    if (made[m].empty()) continue;
    const auto [at, fresh] = by_place.try_emplace(own_->graph.place_of(made[m][0]), m);
    if (!fresh) at->second.reset();
    by_id.emplace(made[m][0].n, m);
  }
  const std::vector<NodeId> order = graph.order();
  for (ValueId v : graph.inputs()) outer_.insert(graph[v].name);
  for (NodeId id : order)
    for (ValueId v : graph[id].out)
      if (v.valid()) outer_.insert(graph[v].name);
  for (size_t at = 0; at < order.size();) {
    const std::span<const NodeId> ours = std::span(order).subspan(at);
    const auto named = by_place.find(graph.place_of(order[at]));
    const auto numbered = by_id.find(order[at].n);
    std::optional<KeptNode> node;
    if (named != by_place.end() && named->second)
      node = matched(own_->nodes[*named->second], made[*named->second], ours, graph, opset);
    if (!node && numbered != by_id.end())
      node = matched(own_->nodes[numbered->second], made[numbered->second], ours, graph, opset);
    at += node ? node->nodes.size() : 1;
    if (node) keep(*std::move(node), graph);
  }
  for (const OwnNode& o : own_->nodes) {
    if (o.first != o.end || o.out.empty() || field_text(o.message, NodeProto::op_type) != "Constant") continue;
    const ValueId v = o.out[0];
    if (!v.valid() || v.n >= graph.value_count() || !same_content(own_->graph[v].constant, graph[v].constant)) continue;
    const Scan scan = scan_of(o.message);
    if (!scan.elsewhere && are_same_in(scan, version(""), opset)) constants_.emplace(v.n, &o);
  }
}

int64_t KeptNodes::version(const std::string& domain) const {
  const auto& opsets = own_->graph.meta.opsets;
  const auto known = opsets.find(domain);
  return known == opsets.end() ? 1 : known->second;
}

const KeptNode* KeptNodes::first(NodeId id) const {
  const auto it = kept_.find(id.n);
  return it == kept_.end() ? nullptr : &it->second;
}

const OwnNode* KeptNodes::constant(ValueId v) const {
  const auto it = constants_.find(v.n);
  return it == constants_.end() ? nullptr : it->second;
}

}  // namespace nnex::onnx_format
