#include "plan/items.h"

#include <algorithm>
#include <unordered_map>

#include "graph/infer.h"
#include "graph/queries.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "tensor/convert.h"

namespace nnex::plan {
namespace {

using Reads = std::optional<std::vector<bool>>;

/// One node, by the columns of its row: how it meets the axes of a layout, what its attributes say of axes.
class NodeItems {
 public:
  NodeItems(const ir::Graph& graph, const Node& node, int64_t n, const Known& known)
      : graph_(graph), node_(node), op_(*node.op), n_(n), known_(known) {}

  Reads reads() {
    if (!op_.pure || node_.in.empty() || node_.out.empty() || !node_.out[0].valid()) return std::nullopt;
    for (ValueId v : node_.out)
      if (v.valid() && !has_items(v)) return std::nullopt;
    for (ValueId v : node_.in) {
      if (!v.valid()) continue;
      const Type& t = known_.type(v);
      if (!t.is_tensor() || is_object(t.dtype) || !concrete(t)) return std::nullopt;
    }
    if (!node_.blocks.empty()) return op_.name == "fused" ? of_region() : std::nullopt;
    if (!node_.in[0].valid() || op_.inputs.empty() || reads_by_value(node_, 0)) return std::nullopt;
    if (op_.elementwise) return of_broadcast();
    if (op_.view) return of_view();
    if (has<TransposeAttrs>()) return of_transpose();
    if (has<MatmulAttrs>() && op_.work == Work::product) return of_matmul();
    if (has<LinearAttrs>()) return of_linear();
    if (has<SoftmaxAttrs>()) return of_axes(attrs<SoftmaxAttrs>().axes);
    if (has<LayerNormAttrs>()) return of_axes(attrs<LayerNormAttrs>().axes);
    if (has<LpNormAttrs>()) return of_axes(attrs<LpNormAttrs>().axes);
    if (has<MeanVarianceNormAttrs>()) return of_axes(attrs<MeanVarianceNormAttrs>().axes);
    if (has<InstanceNormAttrs>() || has<GroupNormAttrs>()) return of_first();
    return of_layout();
  }

 private:
  template <class A>
  bool has() const {
    return op_.attrs.type == &detail::type_tag<A>;
  }
  template <class A>
  const A& attrs() const {
    return graph_.attrs<A>(node_);
  }
  /// The attribute of that name; `otherwise` where the row has none.
  template <class T>
  T attr(std::string_view name, T otherwise) const {
    const auto* field = op_.attrs.find(name);
    return field ? std::get<T>(field->get(node_.attrs.get())) : otherwise;
  }

  bool given(size_t i) const { return i < node_.in.size() && node_.in[i].valid(); }
  Shape shape(ValueId v) const { return *concrete(known_.type(v)); }
  /// Items whose bytes can be told apart.
  bool has_items(ValueId v) const {
    const Type& t = known_.type(v);
    if (!t.is_tensor() || is_object(t.dtype) || bits(t.dtype) < 8) return false;
    const auto s = concrete(t);
    return s && s->rank() > 0 && (*s)[0] == n_;
  }
  int64_t rank_of(size_t input) const { return shape(node_.in[input]).rank(); }
  bool is_first_axis(int64_t axis, int64_t rank) const { return (axis < 0 ? axis + rank : axis) == 0; }
  /// Elements of an integer input, when they are known.
  std::optional<Ints> numbers(size_t i) const {
    const Tensor* t = known_.content(node_.in[i]);
    if (!t || !is_int(t->dtype()) || t->dtype() == kDimType) return std::nullopt;
    const auto aligned = t->aligned_copy();
    if (!aligned.ok()) return std::nullopt;
    return ints_of(*aligned);
  }

  Reads of_first() const {
    if (!has_items(node_.in[0])) return std::nullopt;
    std::vector<bool> items(node_.in.size());
    items[0] = true;
    return items;
  }

  /// Operands meet from the last axis on: one with as many axes as the result has its items, or one for all.
  Reads of_broadcast() const {
    const int64_t rank = shape(node_.out[0]).rank();
    std::vector<bool> items(node_.in.size());
    for (size_t i = 0; i < items.size(); ++i) {
      if (!given(i)) continue;
      const Shape s = shape(node_.in[i]);
      if (s.rank() > rank || (s.rank() == rank && s[0] != 1 && s[0] != n_)) return std::nullopt;
      items[i] = s.rank() == rank && s[0] == n_;
      if (items[i] && (!has_items(node_.in[i]) || reads_by_value(node_, i))) return std::nullopt;
    }
    for (ValueId v : node_.out)
      if (v.valid() && shape(v).rank() != rank) return std::nullopt;
    if (std::none_of(items.begin(), items.end(), [](bool b) { return b; })) return std::nullopt;
    return items;
  }

  /// The same elements in the same order, as many an item.
  Reads of_view() const {
    if (node_.out.size() != 1 || shape(node_.in[0]).count() != shape(node_.out[0]).count()) return std::nullopt;
    return of_first();
  }

  Reads of_transpose() const {
    const Ints& axes = attrs<TransposeAttrs>().axes;
    const int64_t rank = rank_of(0), first = axes.empty() ? rank - 1 : axes[0];
    return is_first_axis(first, rank) ? of_first() : std::nullopt;
  }

  /// Rows of a matrix, or matrices; the right side has items where it has as many axes.
  Reads of_matmul() const {
    if (node_.in.size() != 2 || !given(1)) return std::nullopt;
    const Shape a = shape(node_.in[0]), b = shape(node_.in[1]);
    const int64_t rank = shape(node_.out[0]).rank();
    if (a.rank() != rank || rank < 2 || b.rank() > rank) return std::nullopt;
    if (rank == 2) return attrs<MatmulAttrs>().transpose_a ? std::nullopt : of_first();
    auto items = of_first();
    if (items && b.rank() == rank && b[0] != 1) {
      if (!has_items(node_.in[1])) return std::nullopt;
      (*items)[1] = true;
    }
    return items;
  }

  Reads of_linear() const {
    if (attrs<LinearAttrs>().transpose_a || !given(1) || rank_of(0) != 2 || rank_of(1) != 2 ||
        shape(node_.out[0]).rank() != 2)
      return std::nullopt;
    auto items = of_first();
    if (items && given(2) && rank_of(2) == 2 && shape(node_.in[2])[0] != 1) {
      if (!has_items(node_.in[2])) return std::nullopt;
      (*items)[2] = true;
    }
    return items;
  }

  /// What goes over axes, others than the first (or over one and all later ones); further inputs are broadcast to what
  /// those axes hold.
  Reads of_axes(const Ints& axes) const {
    const int64_t rank = rank_of(0);
    if (axes.empty()) return std::nullopt;
    for (int64_t axis : axes)
      if (is_first_axis(axis, rank)) return std::nullopt;
    for (size_t i = 1; i < node_.in.size(); ++i)
      if (given(i) && rank_of(i) >= rank) return std::nullopt;
    return of_first();
  }

  Reads of_layout() const {
    switch (op_.layout) {
      case LayoutRole::channels:
        return of_channels();
      case LayoutRole::axis:
        return of_axis();
      case LayoutRole::reduced:
        return of_reduced();
      case LayoutRole::slice:
        return of_slice();
      case LayoutRole::sizes: {
        const Ints sizes = attr<Ints>("size", {});
        return !sizes.empty() && sizes[0] == 1 ? of_first() : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  /// [batch, channels, places...] or [batch, places..., channels]; a pool's window may cover other items too.
  Reads of_channels() const {
    if (node_.out.size() > 1) return std::nullopt;  // positions count from the first item on
    if (has<PoolAttrs>()) {
      const auto& a = attrs<PoolAttrs>();
      if (entry(a.size, 0, 1) != 1 || entry(a.stride, 0, 1) != 1 || pads_of(a, 0) != std::pair<int64_t, int64_t>{})
        return std::nullopt;
    }
    return of_first();
  }

  Reads of_axis() const {
    if (is_first_axis(attr<int64_t>("axis", 0), rank_of(0)) || attr<bool>("training", false)) return std::nullopt;
    if (op_.elements == Elements::of_any) {
      for (ValueId v : node_.in)
        if (!has_items(v)) return std::nullopt;
      return std::vector<bool>(node_.in.size(), true);
    }
    if (op_.elements == Elements::computed && node_.out.size() > 1) return std::nullopt;
    for (size_t i = 1; i < node_.in.size(); ++i)
      if (given(i) && rank_of(i) > 1) return std::nullopt;
    return of_first();
  }

  Reads of_reduced() const {
    if (!given(1)) return std::nullopt;
    const auto axes = numbers(1);
    if (!axes || axes->empty()) return std::nullopt;
    for (int64_t axis : *axes)
      if (is_first_axis(axis, rank_of(0))) return std::nullopt;
    return of_first();
  }

  /// As many items as before are all of them, unless they come backwards.
  Reads of_slice() const {
    if (given(4)) {
      const auto steps = numbers(4);
      if (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s < 1; })) return std::nullopt;
    }
    return of_first();
  }

  /// Every node of the region, or what it makes of constants alone.
  Reads of_region() const {
    enum class Read : uint8_t { not_yet, items, whole };
    struct State {
      Read read = Read::not_yet;
      bool constant = false;
    };
    std::unordered_map<uint32_t, State> states;
    const Block& body = graph_[node_.blocks[0]];
    for (size_t i = 0; i < body.params.size(); ++i)
      states[body.params[i].n] = {Read::not_yet, graph_[node_.in[i]].is_constant()};
    const auto read_as = [&](ValueId v, Read how) {
      Read& read = states[v.n].read;
      if (read != Read::not_yet && read != how) return false;
      read = how;
      return true;
    };
    for (NodeId id = body.first; id.valid(); id = graph_[id].next) {
      const Node& inner = graph_[id];
      const bool constant =
          std::all_of(inner.in.begin(), inner.in.end(), [&](ValueId v) { return !v.valid() || states[v.n].constant; });
      Reads reads;
      if (constant)
        reads.emplace(inner.in.size());
      else
        reads = NodeItems(graph_, inner, n_, known_).reads();
      if (!reads) return std::nullopt;
      for (size_t i = 0; i < inner.in.size(); ++i)
        if (inner.in[i].valid() && !read_as(inner.in[i], (*reads)[i] ? Read::items : Read::whole)) return std::nullopt;
      for (ValueId v : inner.out)
        if (v.valid()) states[v.n] = {constant ? Read::whole : Read::items, constant};
    }
    for (ValueId v : body.results)
      if (states[v.n].read != Read::items) return std::nullopt;
    std::vector<bool> items;
    for (ValueId v : body.params) items.push_back(states[v.n].read == Read::items);
    return items;
  }

  const ir::Graph& graph_;
  const Node& node_;
  const OpDef& op_;
  int64_t n_;
  const Known& known_;
};

}  // namespace

Reads reads_items(const ir::Graph& graph, const Node& node, int64_t n, const Known& known) {
  return NodeItems(graph, node, n, known).reads();
}

}  // namespace nnex::plan
