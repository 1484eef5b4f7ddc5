// Layout: convolutions and pools run channels last; the transposes this needs move on until they meet others.

#include <algorithm>
#include <optional>

#include "ops/conv.h"
#include "ops/deconv.h"
#include "ops/join.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// Readers looked at to tell whether a convolution stays as it is.
constexpr size_t kNear = 64;

/// Axis i of the result is axis perm[i] of the source.
using Perm = Ints;

Perm to_last(size_t rank) {
  Perm p = {0};
  for (size_t i = 2; i < rank; ++i) p.push_back(static_cast<int64_t>(i));
  p.push_back(1);
  return p;
}
Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}
bool identity(const Perm& p) {
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] != static_cast<int64_t>(i)) return false;
  return true;
}
Type permuted(Type t, const Perm& p) {
  Dims out;
  for (int64_t axis : p) out.push_back((*t.dims)[static_cast<size_t>(axis)]);
  t.dims = std::move(out);
  return t;
}

class Layout {
 public:
  explicit Layout(ir::Graph& graph) : graph_(graph) {}

  int run() {
    for (NodeId id : graph_.order_with_blocks()) {
      if (graph_[id].erased) continue;
      const OpDef& op = *graph_[id].op;
      if (op.layout == LayoutRole::channels && op.attrs.type == kConvAttrs.type)
        turn<ConvAttrs>(id);
      else if (op.layout == LayoutRole::channels && op.attrs.type == &detail::type_tag<DeconvAttrs>)
        turn<DeconvAttrs>(id);
      else if (op.layout == LayoutRole::channels)
        turn<PoolAttrs>(id);
      else if (op.name == "transpose")
        join(id);
      else
        pass(id);
    }
    return changed_;
  }

 private:
  // ---- Transposes ----

  std::optional<Perm> perm_of(const Node& node) const {
    if (node.op->name != "transpose" || !node.out[0].valid() || !graph_[node.in[0]].type.dims) return std::nullopt;
    const auto rank = static_cast<int64_t>(graph_[node.in[0]].type.dims->size());
    Perm p = graph_.attrs<TransposeAttrs>(node).axes;
    if (p.empty())
      for (int64_t i = rank; i-- > 0;) p.push_back(i);
    for (int64_t& axis : p) axis += axis < 0 ? rank : 0;
    return p;
  }
  /// The permutation v comes out of, if a transpose made it.
  std::optional<Perm> perm_of(ValueId v) const {
    const Node* producer = v.valid() ? graph_.producer(v) : nullptr;
    return producer ? perm_of(*producer) : std::nullopt;
  }

  /// The same, unless what is turned is constant: that will be folded where it stands.
  std::optional<Perm> perm_to_move(ValueId v) const {
    const auto p = perm_of(v);
    return p && !graph_[graph_.producer(v)->in[0]].is_constant() ? p : std::nullopt;
  }

  /// v through p. A node of one scale that turns v to or from bytes for this reader alone comes after the transpose.
  ValueId transposed(NodeId before, ValueId v, const Perm& p) {
    const Node* producer = graph_.producer(v);
    if (producer && (producer->op->name == "dequantize_linear" || producer->op->name == "quantize_linear") &&
        graph_.read_once(v) && graph_[producer->in[0]].type.dims && !graph_[producer->in[0]].is_constant() &&
        std::all_of(producer->in.begin() + 1, producer->in.end(),
                    [&](ValueId n) { return !n.valid() || (graph_[n].type.dims && graph_[n].type.dims->empty()); })) {
      std::vector<ValueId> in = producer->in;
      in[0] = transposed(before, in[0], p);
      const NodeId node =
          graph_.insert_node(before, *producer->op, std::move(in), 1, producer->attrs, {}, producer->where);
      graph_.set_type(graph_[node].out[0], permuted(graph_[v].type, p));
      return graph_[node].out[0];
    }
    if (auto q = perm_of(v)) {  // two become one, or none
      Perm both;
      for (int64_t axis : p) both.push_back((*q)[static_cast<size_t>(axis)]);
      const ValueId source = graph_.producer(v)->in[0];
      if (identity(both)) return source;
      return plain_transpose(before, source, both);
    }
    return plain_transpose(before, v, p);
  }
  ValueId plain_transpose(NodeId before, ValueId v, const Perm& p) {
    Builder b(graph_, before);
    const ValueId y = b("transpose", {v}, TransposeAttrs{p});
    graph_.set_type(y, permuted(graph_[v].type, p));
    return y;
  }

  /// transpose(transpose(x))   ->   transpose(x) or x
  void join(NodeId id) {
    const auto p = perm_of(graph_[id]);
    const ValueId x = graph_[id].in[0];
    if (!p || !perm_of(x)) return;
    const ValueId y = transposed(id, x, *p);
    graph_.set_name(y, graph_[graph_[id].out[0]].name);
    replace(id, {y});
  }

  void replace(NodeId id, const std::vector<ValueId>& by) {
    for (size_t o = 0; o < by.size(); ++o)
      if (graph_[id].out[o].valid()) graph_.replace_uses(graph_[id].out[o], by[o]);
    graph_.erase(id);
    ++changed_;
  }

  /// A node like `id` on other inputs, whose outputs then go through p; the old node goes.
  void rebuild(NodeId id, std::vector<ValueId> in, std::shared_ptr<const void> attrs, const std::vector<Perm>& perms) {
    const Node& old = graph_[id];
    const NodeId fresh =
        graph_.insert_node(id, *old.op, std::move(in), old.out.size(), std::move(attrs), {}, old.where);
    std::vector<ValueId> by;
    for (size_t o = 0; o < graph_[id].out.size(); ++o) {
      const ValueId was = graph_[id].out[o];
      if (!was.valid()) {
        graph_.drop_output(fresh, o);
        by.push_back({});
        continue;
      }
      const ValueId y = graph_[fresh].out[o];
      graph_.set_type(y, permuted(graph_[was].type, inverse(perms[o])));
      by.push_back(identity(perms[o]) ? y : plain_transpose(id, y, perms[o]));
      graph_.set_name(by.back(), graph_[was].name);
    }
    replace(id, by);
  }

  // ---- Nodes that turn ----

  /// Constant, or constant bytes under a scale, perhaps turned.
  bool fixed(ValueId v) const {
    const Node* producer = graph_.producer(v);
    if (graph_[v].is_constant()) return true;
    if (!producer || (producer->op->name != "dequantize_linear" && producer->op->name != "cast")) return false;
    const Node* turn = made_by(graph_, producer->in[0], "transpose");
    return graph_[turn ? turn->in[0] : producer->in[0]].is_constant();
  }

  /// Known rank, and elements that a kernel takes channels last: floats and whole numbers of networks.
  bool turns(const Node& node, ValueId v) const {
    if (!v.valid() || !graph_[v].type.is_tensor() || !graph_[v].type.dims) return false;
    const DType t = graph_[v].type.dtype;
    const bool bytes = t == DType::u8 || t == DType::i8;
    if (node.op->name == "conv" || node.op->name == "max_pool")
      return t == DType::f32 || t == DType::i32 || (bytes && node.op->name == "max_pool");
    if (node.op->name == "box" || node.op->name == "deconv") return t == DType::f32;
    return bytes || t == DType::i32;
  }

  bool suits(const Node& node) const {
    const ValueId x = node.in[0], y = node.out[0];
    if (!turns(node, x) || !turns(node, y)) return false;
    const size_t rank = graph_[x].type.dims->size();
    if (rank < 3 || rank > 5) return false;
    if (node.op->attrs.type == kConvAttrs.type)
      return fixed(node.in[static_cast<size_t>(node.op->input("filter"))]) &&
             graph_.attrs<ConvAttrs>(node).border == ConvBorder::constant;
    if (node.op->name == "deconv")
      return fixed(node.in[1]) && graph_.attrs<DeconvAttrs>(node).border == ConvBorder::constant;
    const auto& a = graph_.attrs<PoolAttrs>(node);
    return (node.out.size() < 2 || !node.out[1].valid()) && a.size.size() == rank && a.size[0] == 1 && a.size[1] == 1 &&
           (a.border == PoolBorder::constant || a.border == PoolBorder::ignore);
  }

  // ---- Depthwise convolutions and pools between tensors whose channels come first ----

  /// One input channel a group, or a pool over one or two axes in small steps: a kernel of planes serves it where it
  /// is.
  bool is_planar(const Node& node) const {
    if (graph_[node.in[0]].type.dtype != DType::f32) return false;
    if (node.op->name == "max_pool" || node.op->name == "box") {
      const auto& a = graph_.attrs<PoolAttrs>(node);
      return a.size.size() <= 4 && entry(a.stride, a.size.size() - 1, 1) <= 2 &&
             (node.op->name == "box" || a.border == PoolBorder::ignore);
    }
    if (node.op->name != "conv") return false;
    const int64_t groups = graph_.attrs<ConvAttrs>(node).groups;
    return groups > 1 && (*graph_[node.in[0]].type.dims)[1] == Dim(groups);
  }
  static bool wants_last(const Node& node) { return node.op->layout == LayoutRole::channels; }
  bool is_transposed(ValueId v) const {
    const auto p = perm_of(v);
    return p && *p == inverse(to_last(p->size()));
  }

  /// Whether v, or what nodes that let transposes through make of it, meets nodes that work channels last or tensors
  /// that are so already: then transposes on v's account are paid, or spared, elsewhere too. `x` is as v is. Looks no
  /// further than at kNear readers.
  bool meets_last(ValueId v, ValueId x) const {
    std::vector<ValueId> reached = {x, v};
    std::vector<NodeId> joins;
    size_t seen = 0;
    const auto known = [&](ValueId w) { return std::find(reached.begin(), reached.end(), w) != reached.end(); };
    for (size_t i = 1; i < reached.size(); ++i) {
      for (const Use& use : graph_[reached[i]].uses) {
        if (!use.node.valid()) continue;
        if (++seen > kNear) return false;
        const Node& reader = graph_[use.node];
        const bool passes = reader.op->elementwise || (reader.op->layout != LayoutRole::fixed && !wants_last(reader));
        if (const auto p = perm_of(reader); p && *p == to_last(p->size())) return true;
        if (wants_last(reader) && suits(reader) && !is_planar(reader)) return true;
        if (!passes && !(wants_last(reader) && suits(reader))) continue;
        joins.push_back(use.node);
        for (ValueId out : reader.out)
          if (out.valid() && !known(out)) reached.push_back(out);
      }
    }
    for (NodeId id : joins)
      for (ValueId in : graph_[id].in)
        if (in.valid() && !fixed(in) && !known(in)) return true;
    return false;
  }

  /// Whether transposes around this node would stand there on its account alone.
  bool stays(NodeId id) const {
    const Node& node = graph_[id];
    const ValueId x = node.in[0];
    if (!is_planar(node) || is_transposed(x)) return false;
    const auto& uses = graph_[x].uses;
    for (size_t i = 0; i < std::min(uses.size(), kNear); ++i) {
      const Use& use = uses[i];
      if (!use.node.valid() || use.node == id) continue;
      const Node& reader = graph_[use.node];
      if (wants_last(reader) && suits(reader) && !is_planar(reader)) return false;
    }
    return !meets_last(node.out[0], x);
  }

  template <class A>
  void turn(NodeId id) {
    if (graph_.attrs<A>(id).channels_last || !suits(graph_[id]) || stays(id)) return;
    auto attrs = std::make_shared<A>(graph_.attrs<A>(id));
    attrs->channels_last = true;
    std::vector<ValueId> in = graph_[id].in;
    const Perm last = to_last(graph_[in[0]].type.dims->size());
    in[0] = transposed(id, in[0], last);
    rebuild(id, std::move(in), std::move(attrs), std::vector<Perm>(graph_[id].out.size(), inverse(last)));
  }

  // ---- Nodes that let a transpose through ----

  void pass(NodeId id) {
    const Node& node = graph_[id];
    if (!node.blocks.empty() || node.in.empty() || node.out.empty()) return;
    for (ValueId v : node.out)
      if (v.valid() && (!graph_[v].type.is_tensor() || !graph_[v].type.dims)) return;
    if (node.op->elementwise) return pass_elementwise(id);
    if (node.op->layout == LayoutRole::fixed) return;
    const auto p = perm_to_move(node.in[0]);
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

  /// v under the inverse of p, where that costs nothing at a run: v came out of p, is constant, or has one element.
  std::optional<ValueId> under(NodeId id, ValueId v, const Perm& p) {
    if (!v.valid()) return v;
    const ValueDef& def = graph_[v];
    if (!def.type.is_tensor() || !def.type.dims) return std::nullopt;
    const Dims& dims = *def.type.dims;
    if (dims.empty()) return v;
    if (auto q = perm_of(v)) {
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
    return plain_transpose(id, full, inverse(p));
  }
  /// Whether under() would find a form of v, without making it.
  bool can_go_under(ValueId v, const Perm& p) const {
    if (!v.valid()) return true;
    const Type& t = graph_[v].type;
    if (!t.is_tensor() || !t.dims) return false;
    if (t.dims->empty()) return true;
    if (auto q = perm_of(v)) return *q == p;
    return graph_[v].constant.tensor() && t.dims->size() <= p.size();
  }

  void pass_elementwise(NodeId id) {
    const Node& node = graph_[id];
    std::optional<Perm> p;
    for (ValueId v : node.in)
      if (auto q = perm_to_move(v); q && !p) p = q;
    if (!p) return;
    for (ValueId v : node.in)
      if (!can_go_under(v, *p)) return;
    for (ValueId v : node.out)
      if (v.valid() && graph_[v].type.dims->size() != p->size()) return;
    std::vector<ValueId> in;
    for (ValueId v : std::vector<ValueId>(node.in)) in.push_back(*under(id, v, *p));
    rebuild(id, std::move(in), graph_[id].attrs, std::vector<Perm>(graph_[id].out.size(), *p));
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
    rebuild(id, std::move(in), with(id, "axis", axis_of(id, p)), perms);
  }

  void pass_joined(NodeId id, const Perm& p) {
    for (ValueId v : graph_[id].in)
      if (!can_go_under(v, p) || graph_[v].type.dims->size() != p.size()) return;
    std::vector<ValueId> in;
    for (ValueId v : std::vector<ValueId>(graph_[id].in)) in.push_back(*under(id, v, p));
    rebuild(id, std::move(in), with(id, "axis", axis_of(id, p)), {p});
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
    rebuild(id, {graph_.producer(node.in[0])->in[0], b.ints(*axes)}, graph_[id].attrs, {kept});
  }

  void pass_softmax(NodeId id, const Perm& p) {
    const auto& a = graph_.attrs<SoftmaxAttrs>(id);
    if (a.to_end) return;
    SoftmaxAttrs to = a;
    for (int64_t& axis : to.axes)
      axis = p[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(p.size()) : axis)];
    rebuild(id, {graph_.producer(graph_[id].in[0])->in[0]}, std::make_shared<SoftmaxAttrs>(std::move(to)), {p});
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
    rebuild(id, std::move(in), graph_[id].attrs, {p});
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
    rebuild(id, std::move(in), graph_[id].attrs, {p});
  }

  void pass_sizes(NodeId id, const Perm& p) {
    const auto sizes = std::get<Ints>(graph_[id].op->attrs.find("size")->get(graph_[id].attrs.get()));
    if (sizes.size() != p.size()) return;
    Ints to(p.size());
    for (size_t i = 0; i < p.size(); ++i) to[static_cast<size_t>(p[i])] = sizes[i];
    rebuild(id, {graph_.producer(graph_[id].in[0])->in[0]}, with(id, "size", AttrValue(to)), {p});
  }

  ir::Graph& graph_;
  int changed_ = 0;
};

}  // namespace

/// Convolutions, deconvolutions and pools of known rank, of float32 and of whole numbers   ->   the same with
/// channels_last, between transposes; transposes move down past nodes that do not mind, and cancel. A depthwise
/// convolution around which no transpose would cancel stays. Every result keeps its bytes: no sum changes its order.
Result<int> channels_last(ir::Graph& graph) { return Layout(graph).run(); }

}  // namespace nnex
