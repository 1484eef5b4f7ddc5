// Nodes that let a transpose through.

#include <optional>

#include "ops/norm.h"
#include "ops/softmax.h"
#include "passes/transposes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

class TransposePasser {
 public:
  explicit TransposePasser(Transposes& transposes) : t_(transposes), graph_(transposes.graph()) {}

  void pass(NodeId id) {
    const Node& node = graph_[id];
    if (!node.blocks.empty() || node.in.empty() || node.out.empty()) return;
    for (ValueId v : node.out)
      if (v.valid() && (!graph_[v].type.is_tensor() || !graph_[v].type.dims)) return;
    if (node.op->elementwise) return pass_elementwise(id);
    if (node.op->layout == LayoutRole::fixed) return;
    const auto p = t_.perm_to_move(node.in[0]);
    if (!p) return;
    switch (node.op->layout) {
      case LayoutRole::fixed:
      case LayoutRole::channels:
        return;
      case LayoutRole::axis:
        return node.op->elements == Elements::of_any ? pass_joined(id, *p) : pass_axis(id, *p);
      case LayoutRole::reduced:
        return pass_reduce(id, *p);
      case LayoutRole::axes:
        return pass_softmax(id, *p);
      case LayoutRole::pad:
        return pass_pad(id, *p);
      case LayoutRole::slice:
        return pass_slice(id, *p);
      case LayoutRole::sizes:
        return pass_sizes(id, *p);
    }
  }

 private:
  /// v under the inverse of p, where that costs nothing at a run: v came out of p, is constant, or has one element.
  std::optional<ValueId> under(NodeId id, ValueId v, const Perm& p) {
    if (!v.valid()) return v;
    const ValueDef& def = graph_[v];
    if (!def.type.is_tensor() || !def.type.dims) return std::nullopt;
    const Dims& dims = *def.type.dims;
    if (dims.empty()) return v;
    if (auto q = t_.perm_of(v)) {
      if (*q == p) return graph_.producer(v)->in[0];
      return std::nullopt;
    }
    if (!def.constant.tensor() || dims.size() > p.size()) return std::nullopt;
    ValueId full = v;
    if (dims.size() < p.size()) {
      Ints axes;
      for (size_t i = 0; i < p.size() - dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
      Builder b(graph_, id);
      full = b("unsqueeze", {v, b.ints(axes)});
      Type t = graph_[v].type;
      t.dims->insert(t.dims->begin(), axes.size(), Dim(1));
      graph_.set_type(full, std::move(t));
    }
    return t_.plain_transpose(id, full, inverse(p));
  }
  /// Whether under() would find a form of v, without making it.
  bool can_go_under(ValueId v, const Perm& p) const {
    if (!v.valid()) return true;
    const Type& t = graph_[v].type;
    if (!t.is_tensor() || !t.dims) return false;
    if (t.dims->empty()) return true;
    if (auto q = t_.perm_of(v)) return *q == p;
    return graph_[v].constant.tensor() && t.dims->size() <= p.size();
  }

  void pass_elementwise(NodeId id) {
    const Node& node = graph_[id];
    std::optional<Perm> p;
    for (ValueId v : node.in)
      if (auto q = t_.perm_to_move(v); q && !p) p = q;
    if (!p) return;
    for (ValueId v : node.in)
      if (!can_go_under(v, *p)) return;
    for (ValueId v : node.out)
      if (v.valid() && graph_[v].type.dims->size() != p->size()) return;
    std::vector<ValueId> in;
    for (ValueId v : std::vector<ValueId>(node.in)) in.push_back(*under(id, v, *p));
    t_.rebuild(id, std::move(in), graph_[id].attrs, std::vector<Perm>(graph_[id].out.size(), *p));
  }

  /// The node's attributes with another value of one of them.
  std::shared_ptr<const void> with(NodeId id, std::string_view field, const AttrValue& value) const {
    const auto& type = graph_[id].op->attrs;
    std::shared_ptr<void> copy = type.copy(graph_[id].attrs.get());
    const bool fits = type.find(field)->set(copy.get(), value);
    NNEX_ASSERT(fits);
    return copy;
  }
  int64_t axis_of(NodeId id, const Perm& p) const {
    const auto axis = std::get<int64_t>(graph_[id].op->attrs.find("axis")->get(graph_[id].attrs.get()));
    return p[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(p.size()) : axis)];
  }

  void pass_axis(NodeId id, const Perm& p) {
    const Node& node = graph_[id];
    for (size_t i = 1; i < node.in.size(); ++i)
      if (node.in[i].valid() && (!graph_[node.in[i]].type.dims || graph_[node.in[i]].type.dims->size() > 1)) return;
    std::vector<ValueId> in = node.in;
    in[0] = graph_.producer(in[0])->in[0];
    // An optional statistic of one axis stays as it is.
    std::vector<Perm> perms;
    for (ValueId v : node.out) {
      if (v.valid() && graph_[v].type.dims->size() != p.size()) return;
      perms.push_back(p);
    }
    t_.rebuild(id, std::move(in), with(id, "axis", axis_of(id, p)), perms);
  }

  void pass_joined(NodeId id, const Perm& p) {
    for (ValueId v : graph_[id].in)
      if (!can_go_under(v, p) || graph_[v].type.dims->size() != p.size()) return;
    std::vector<ValueId> in;
    for (ValueId v : std::vector<ValueId>(graph_[id].in)) in.push_back(*under(id, v, p));
    t_.rebuild(id, std::move(in), with(id, "axis", axis_of(id, p)), {p});
  }

  std::optional<Ints> constant_ints(const Node& node, size_t i) const {
    const Tensor* t = graph_.constant_in(node, i);
    if (!t) return std::nullopt;
    auto aligned = t->aligned_copy();
    if (!aligned.ok()) return std::nullopt;
    return ints_of(*aligned);
  }

  void pass_reduce(NodeId id, const Perm& p) {
    const Node& node = graph_[id];
    const auto& type = node.op->attrs;
    if (node.in.size() < 2 || !node.in[1].valid() || std::get<bool>(type.find("to_end")->get(node.attrs.get()))) return;
    auto axes = constant_ints(node, 1);
    if (!axes || axes->empty()) return;
    const auto rank = static_cast<int64_t>(p.size());
    std::vector<bool> goes(p.size());
    for (int64_t& axis : *axes) {
      axis = p[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
      goes[static_cast<size_t>(axis)] = true;
    }
    Perm kept = p;
    if (!std::get<bool>(type.find("keepdims")->get(node.attrs.get()))) {
      Ints rank_of(p.size());  // where an axis of the source stands once the others are gone
      int64_t n = 0;
      for (size_t i = 0; i < p.size(); ++i) rank_of[i] = goes[i] ? -1 : n++;
      kept.clear();
      for (int64_t axis : p)
        if (!goes[static_cast<size_t>(axis)]) kept.push_back(rank_of[static_cast<size_t>(axis)]);
    }
    Builder b(graph_, id);
    t_.rebuild(id, {graph_.producer(node.in[0])->in[0], b.ints(*axes)}, graph_[id].attrs, {kept});
  }

  void pass_softmax(NodeId id, const Perm& p) {
    const auto& a = graph_.attrs<SoftmaxAttrs>(id);
    if (a.to_end) return;
    SoftmaxAttrs to = a;
    for (int64_t& axis : to.axes)
      axis = p[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(p.size()) : axis)];
    t_.rebuild(id, {graph_.producer(graph_[id].in[0])->in[0]}, std::make_shared<SoftmaxAttrs>(std::move(to)), {p});
  }

  /// The axes a by-value list names (absent: the first n), as axes of the source.
  std::optional<Ints> listed_axes(const Node& node, size_t port, size_t n, const Perm& p) const {
    Ints axes;
    if (port < node.in.size() && node.in[port].valid()) {
      auto given = constant_ints(node, port);
      if (!given) return std::nullopt;
      axes = std::move(*given);
    } else {
      for (size_t i = 0; i < n; ++i) axes.push_back(static_cast<int64_t>(i));
    }
    for (int64_t& axis : axes) axis = p[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(p.size()) : axis)];
    return axes;
  }

  void pass_pad(NodeId id, const Perm& p) {
    const Node& node = graph_[id];
    auto axes = listed_axes(node, 3, p.size(), p);
    if (!axes) return;
    std::vector<ValueId> in = node.in;
    in.resize(4);
    in[0] = graph_.producer(in[0])->in[0];
    in[3] = Builder(graph_, id).ints(*axes);
    t_.rebuild(id, std::move(in), graph_[id].attrs, {p});
  }

  void pass_slice(NodeId id, const Perm& p) {
    const Node& node = graph_[id];
    const MaybeDims& begin = graph_[node.in[1]].type.dims;
    if (!begin || begin->size() != 1 || !(*begin)[0].is_number()) return;
    auto axes = listed_axes(node, 3, static_cast<size_t>((*begin)[0].value()), p);
    if (!axes) return;
    std::vector<ValueId> in = node.in;
    in.resize(std::max<size_t>(in.size(), 4));
    in[0] = graph_.producer(in[0])->in[0];
    in[3] = Builder(graph_, id).ints(*axes);
    t_.rebuild(id, std::move(in), graph_[id].attrs, {p});
  }

  void pass_sizes(NodeId id, const Perm& p) {
    const auto sizes = std::get<Ints>(graph_[id].op->attrs.find("size")->get(graph_[id].attrs.get()));
    if (sizes.size() != p.size()) return;
    Ints to(p.size());
    for (size_t i = 0; i < p.size(); ++i) to[static_cast<size_t>(p[i])] = sizes[i];
    t_.rebuild(id, {graph_.producer(graph_[id].in[0])->in[0]}, with(id, "size", AttrValue(to)), {p});
  }

  Transposes& t_;
  ir::Graph& graph_;
};

}  // namespace

void pass_transpose(Transposes& transposes, NodeId id) { TransposePasser(transposes).pass(id); }

}  // namespace nnex::passes
