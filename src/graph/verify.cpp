#include "graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/failure.h"
#include "graph/infer.h"
#include "ops/control.h"

namespace nnex {
namespace {

const Port* port_if_any(const auto& ports, size_t i) {
  if (i < ports.size()) return &ports[i];
  return ports.size() > 0 && ports[ports.size() - 1].arity == Arity::variadic ? &ports[ports.size() - 1] : nullptr;
}

bool agree(const MaybeDims& a, const MaybeDims& b) {
  if (!a || !b) return true;
  if (a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    const auto x = (*a)[i].number(), y = (*b)[i].number();
    if (x && y && *x != *y) return false;
  }
  return true;
}

class Verifier {
 public:
  Verifier(const ir::Graph& graph, Faults& faults)
      : graph_(graph),
        faults_(faults),
        visible_(graph.value_count()),
        reads_(graph.value_count()),
        owned_(graph.block_count()) {}

  void run() {
    if (graph_[kMain].owner.valid()) fault({}, "the main block has an owner");
    block(kMain);
    for (uint32_t n = 0; n < graph_.value_count() && !broken_; ++n) uses(ValueId{n});
    if (!broken_) types();
  }

 private:
  template <class... A>
  void fault(NodeId id, fmt::format_string<A...> format, A&&... args) {
    Error e = failure(Code::internal, format, std::forward<A>(args)...);
    faults_.add(id.valid() ? std::move(e).at(graph_.place_of(id)) : std::move(e));
  }
  std::string shown(ValueId v) const {
    return graph_[v].name.empty() ? fmt::format("value {}", v.n) : fmt::format("'{}'", graph_[v].name);
  }
  bool exists(ValueId v) const { return v.n < graph_.value_count(); }

  /// The nodes of a block; empty, with a fault, when its list is broken.
  std::vector<NodeId> nodes_of(BlockId b) {
    std::vector<NodeId> out;
    NodeId before;
    for (NodeId id = graph_[b].first; id.valid(); id = graph_[id].next) {
      const Node& n = graph_[id];
      if (!(n.prev == before) || !(n.parent == b) || n.erased || out.size() > graph_.node_count()) {
        broken_ = true;
        fault(id, "the list of block {} is broken at node {}", b.n, id.n);
        return {};
      }
      out.push_back(id);
      before = id;
    }
    if (!(graph_[b].last == before) || graph_[b].size != out.size())
      broken_ = true, fault({}, "block {} counts {} nodes; it holds {}", b.n, graph_[b].size, out.size());
    return out;
  }

  void block(BlockId b) {
    owned_[b.n] = true;
    std::vector<ValueId> made = graph_[b].params;
    for (ValueId v : made) {
      const ValueDef& def = graph_[v];
      if (!(def.param_of == b) || def.producer.valid() || def.is_constant())
        fault(graph_[b].owner, "parameter {} of block {} is something else as well", shown(v), b.n);
      visible_[v.n] = true;
    }
    for (NodeId id : nodes_of(b)) {
      node(id);
      for (ValueId v : graph_[id].out)
        if (v.valid()) visible_[v.n] = true, made.push_back(v);
    }
    for (ValueId v : graph_[b].results) read(v, graph_[b].owner, fmt::format("a result of block {}", b.n));
    for (ValueId v : made) visible_[v.n] = false;
  }

  void read(ValueId v, NodeId by, std::string_view as) {
    if (!exists(v)) return fault(by, "{} does not exist", as);
    ++reads_[v.n];
    if (!visible_[v.n] && !graph_[v].is_constant()) fault(by, "{} is {}, which is not known there", as, shown(v));
  }

  void node(NodeId id) {
    const Node& n = graph_[id];
    inputs(id, n);
    for (size_t b = 0; b < n.blocks.size(); ++b) {
      const BlockId inner = n.blocks[b];
      if (owned_[inner.n] || !(graph_[inner].owner == id)) {
        fault(id, "{}: block {} has another owner", n.op->name, inner.n);
        continue;
      }
      block(inner);
    }
    if (n.blocks.size() != n.op->blocks.size())
      fault(id, "{}: found {} blocks; needed {}", n.op->name, n.blocks.size(), n.op->blocks.size());
    if (Status s = check_blocks(graph_, n); !s.ok()) faults_.add(std::move(s).error().at(graph_.place_of(id)));
    for (size_t o = 0; o < n.out.size(); ++o) {
      const ValueId v = n.out[o];
      if (!port_if_any(n.op->outputs, o))
        fault(id, "{}: output {}; the row has {}", n.op->name, o, n.op->outputs.size());
      if (!v.valid()) continue;
      const ValueDef& def = graph_[v];
      if (!(def.producer == id) || def.output != o || def.is_constant() || def.param_of.valid())
        fault(id, "{}: output {} ({}) has another producer", n.op->name, o, shown(v));
    }
    attributes(id, n);
  }

  void inputs(NodeId id, const Node& n) {
    for (size_t i = 0; i < n.in.size(); ++i) {
      const Port* port = port_if_any(n.op->inputs, i);
      if (!port) fault(id, "{}: input {}; the row has {}", n.op->name, i, n.op->inputs.size());
      if (n.in[i].valid()) read(n.in[i], id, fmt::format("{}: input {}", n.op->name, i));
    }
    for (size_t p = 0; p < n.op->inputs.size(); ++p)
      if (n.op->inputs[p].arity == Arity::one && (p >= n.in.size() || !n.in[p].valid()))
        fault(id, "{}: input '{}' is not given", n.op->name, n.op->inputs[p].name);
  }

  void attributes(NodeId id, const Node& n) {
    const bool custom = n.op == &custom_op() || n.op == &call_op();
    if (custom != (n.custom != nullptr)) fault(id, "{}: what it stands for is not kept", n.op->name);
    if ((n.op->attrs.make != nullptr) != (n.attrs != nullptr)) return fault(id, "{}: no attributes", n.op->name);
    if (!n.attrs) return;
    const auto fresh = n.op->attrs.make();
    for (const Field& f : n.op->attrs.fields)
      if (const AttrValue v = f.get(n.attrs.get()); !f.set(fresh.get(), v))
        fault(id, "{}: attribute '{}' cannot be {}", n.op->name, f.name, text(v));
  }

  /// Whether it stands in a block that no node has taken over.
  bool is_loose(const Use& u) const {
    BlockId b = u.node.valid() ? graph_[u.node].parent : u.block;
    while (graph_[b].owner.valid()) b = graph_[graph_[b].owner].parent;
    return !(b == kMain);
  }

  /// The recorded uses of a value are those that were read, each once.
  void uses(ValueId v) {
    const ValueDef& def = graph_[v];
    auto key = [](const Use& u) { return std::tuple(u.node.n, u.block.n, u.index); };
    std::vector<Use> uses = def.uses;
    std::sort(uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return key(a) < key(b); });
    for (size_t i = 0; i < uses.size(); ++i) {
      const Use& u = uses[i];
      const bool real =
          u.node.valid()
              ? !graph_[u.node].erased && u.index < graph_[u.node].in.size() && graph_[u.node].in[u.index] == v
              : u.index < graph_[u.block].results.size() && graph_[u.block].results[u.index] == v;
      if (!real || (i > 0 && key(uses[i - 1]) == key(u)))
        fault(u.node, "{} records a use at index {} that is none", shown(v), u.index);
    }
    const auto read =
        static_cast<size_t>(std::count_if(uses.begin(), uses.end(), [&](const Use& u) { return !is_loose(u); }));
    if (read != reads_[v.n])
      fault(def.producer, "{} records {} uses; it is read {} times", shown(v), read, reads_[v.n]);
    if (def.is_constant() && !nnex::agree(def.type, type_of(def.constant)))
      fault({}, "constant {} is {}; its type says {}", shown(v), type_of(def.constant).text(), def.type.text());
  }

  void types() {
    Inference inference(graph_);
    inference.block(kMain, faults_);
    for (uint32_t n = 0; n < graph_.value_count(); ++n) {
      const ValueDef& def = graph_[ValueId{n}];
      if (!def.producer.valid() || graph_[def.producer].erased) continue;
      const Type& found = inference.type(ValueId{n});
      if (!nnex::agree(found, def.type))
        fault(def.producer, "{}: {} has type {}; inference finds {}", graph_[def.producer].op->name, shown(ValueId{n}),
              def.type.text(), found.text());
    }
  }

  const ir::Graph& graph_;
  Faults& faults_;
  std::vector<bool> visible_;    ///< By value: whether a node here may read it.
  std::vector<uint32_t> reads_;  ///< By value.
  std::vector<bool> owned_;      ///< By block.
  bool broken_ = false;          ///< Lists of nodes cannot be walked.
};

}  // namespace

bool agree(const Type& a, const Type& b) {
  if (a.kind == Kind::unknown || b.kind == Kind::unknown) return true;
  if (a.kind != b.kind) return false;
  if (a.dtype != DType::none && b.dtype != DType::none && a.dtype != b.dtype) return false;
  if (a.element && b.element && !agree(*a.element, *b.element)) return false;
  return agree(a.dims, b.dims);
}

Status check_blocks(const ir::Graph& graph, const Node& node) {
  for (size_t b = 0; b < node.blocks.size() && b < node.op->blocks.size(); ++b)
    if (const size_t takes = graph[node.blocks[b]].params.size(), given = block_params(*node.op, node.in.size());
        takes != given)
      return failure_of(Code::invalid_model, node.op->name, "{} takes {} values; it is given {}", node.op->blocks[b],
                        takes, given);
  return {};
}

void verify(const ir::Graph& graph, Faults& faults) { Verifier(graph, faults).run(); }

Status verify(const ir::Graph& graph, std::string_view what) {
  Faults faults;
  verify(graph, faults);
  if (faults.none()) return {};
  const size_t count = faults.count();
  Error first = std::move(faults).first();
  return failure(Code::internal, "after {}: {}{}", what, first.message(),
                 count > 1 ? fmt::format(" (and {} more)", count - 1) : "")
      .at(first.where());
}

}  // namespace nnex
