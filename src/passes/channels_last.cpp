// Layout: convolutions and pools run channels last; the transposes this needs move on until they meet others.

#include <algorithm>
#include <optional>

#include "graph/queries.h"
#include "kernels/conv/few.h"
#include "kernels/conv/planes.h"
#include "ops/conv.h"
#include "ops/deconv.h"
#include "ops/pool.h"
#include "ops/traits.h"
#include "passes/passes.h"
#include "passes/transposes.h"

namespace nnex::passes {
namespace {

/// Readers looked at to tell whether a convolution stays as it is.
constexpr size_t kNear = 64;

class Layout {
 public:
  explicit Layout(ir::Graph& graph) : t_(graph), graph_(graph) {}

  int run() {
    for (NodeId id : graph_.order_with_blocks()) {
      if (graph_[id].erased) continue;
      const OpDef& op = *graph_[id].op;
      if (op.layout == LayoutRole::channels && op.attrs.type == kConvAttrs.type)
        turn<ConvAttrs>(id);
      else if (op.layout == LayoutRole::channels && op.attrs.type == &nnex::detail::type_tag<DeconvAttrs>)
        turn<DeconvAttrs>(id);
      else if (op.layout == LayoutRole::channels)
        turn<PoolAttrs>(id);
      else if (op.name == "transpose")
        t_.join(id);
      else
        pass_transpose(t_, id);
    }
    return t_.changed();
  }

 private:
  /// Constant, or constant bytes under a scale, perhaps turned.
  bool fixed(ValueId v) const {
    const Node* producer = graph_.producer(v);
    if (graph_[v].is_constant()) return true;
    if (!producer || (producer->op->name != "dequantize_linear" && producer->op->name != "cast")) return false;
    const Node* turn = made_by(graph_, producer->in[0], "transpose");
    return graph_[turn ? turn->in[0] : producer->in[0]].is_constant();
  }

  /// Halves run by the kernels of float32.
  static bool is_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

  /// Known rank, and elements that a kernel takes channels last: floats and whole numbers of networks.
  bool turns(const Node& node, ValueId v) const {
    if (!v.valid() || !graph_[v].type.is_tensor() || !graph_[v].type.dims) return false;
    const DType t = graph_[v].type.dtype;
    const bool bytes = t == DType::u8 || t == DType::i8;
    const bool max = takes_greatest(*node.op);
    if (max || is_product(*node.op)) return is_float(t) || t == DType::i32 || (bytes && max);
    if (attrs_if<PoolAttrs>(node) || attrs_if<DeconvAttrs>(node)) return is_float(t);
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
    if (const auto* deconv = attrs_if<DeconvAttrs>(node))
      return fixed(node.in[1]) && deconv->border == ConvBorder::constant;
    const auto& a = graph_.attrs<PoolAttrs>(node);
    return (node.out.size() < 2 || !node.out[1].valid()) && a.size.size() == rank && a.size[0] == 1 && a.size[1] == 1 &&
           (a.border == PoolBorder::constant || a.border == PoolBorder::ignore);
  }

  // ---- Convolutions and pools between tensors whose channels come first ----

  /// One input channel a group, a convolution from few or to few, a deconvolution to few, or a pool over one or two
  /// axes in small steps, of a maximum over three or of short lines, too: a kernel of planes serves it where it is.
  bool is_planar(const Node& node) const {
    if (!is_float(graph_[node.in[0]].type.dtype)) return false;
    if (const auto* a = attrs_if<PoolAttrs>(node)) {
      constexpr int64_t kShortLine = 32;  // the kernel's limit, or near it
      const Dim& line = graph_[node.in[0]].type.dims->back();
      const bool short_lines = line.is_number() && line.value() <= kShortLine;
      const bool max = takes_greatest(*node.op);
      return a->size.size() <= (max ? 5 : 4) &&
             ((max && short_lines) || entry(a->stride, a->size.size() - 1, 1) <= 2) &&
             (!max || a->border == PoolBorder::ignore);
    }
    if (const auto* deconv = attrs_if<DeconvAttrs>(node)) {
      const auto& filter = graph_[node.in[1]].type.dims;
      return deconv->groups == 1 && filter && filter->size() <= 4 && (*filter)[1].is_number() &&
             (*filter)[1].value() <= kernels::kMaxFewChannels;
    }
    const auto* conv = is_product(*node.op) ? attrs_if<ConvAttrs>(node) : nullptr;
    if (!conv) return false;
    const auto& filter = graph_[node.in[1]].type.dims;
    if (is_to_few(*conv, filter)) return true;
    const Dim& channels = (*graph_[node.in[0]].type.dims)[1];
    const auto is_one = [](const Dim& d) { return d == Dim(1); };
    const bool few = conv->groups == 1 && filter && filter->size() <= 4 && channels.is_number() &&
                     channels.value() <= kernels::kMaxInputsOfPlanes &&
                     !std::all_of(filter->begin() + 2, filter->end(), is_one);
    if (!(channels == Dim(conv->groups)) && !few) return false;
    return conv->groups > 1 ||
           (filter && filter->back().is_number() && filter->back().value() <= kernels::kMaxTapsOfOne &&
            entry(conv->stride, filter->size() - 3, 1) <= kernels::kMaxStepOfOne);
  }
  static bool is_to_few(const ConvAttrs& conv, const MaybeDims& filter) {
    if (!filter || filter->size() > 4 || conv.groups != 1) return false;
    int64_t taps = 1;
    for (size_t i = 0; i < filter->size(); ++i) {
      if (!(*filter)[i].is_number() || (i > 1 && entry(conv.stride, i - 2, 1) != 1)) return false;
      if (i > 1) taps *= std::min<int64_t>((*filter)[i].value(), kernels::kMinTapsToFew);
    }
    return (*filter)[0].value() <= kernels::kMaxFewOutputs && (*filter)[1].value() >= kernels::kMinInputsToFew &&
           taps >= kernels::kMinTapsToFew;
  }
  /// One tap on every pixel of an image that is known to be large, in groups of many channels if in groups: a kernel
  /// multiplies it where it lies. Beside other convolutions channels last is better: it packs no image.
  bool is_pointwise(const Node& node) const {
    const auto* a = is_product(*node.op) ? attrs_if<ConvAttrs>(node) : nullptr;
    if (!a || !is_float(graph_[node.in[0]].type.dtype)) return false;
    const auto &x = graph_[node.in[0]].type.dims, &filter = graph_[node.in[1]].type.dims;
    if (a->groups > 1 && !(filter && (*filter)[0].is_number() && (*filter)[1].is_number() &&
                           (*filter)[1].value() >= kernels::kMinPointwiseChannels &&
                           (*filter)[0].value() >= a->groups * kernels::kMinPointwiseChannels))
      return false;
    const auto is_one = [](int64_t n) { return n == 1; };
    const auto is_none = [](const std::pair<int64_t, int64_t>& p) { return p.first == 0 && p.second == 0; };
    if (!filter || !std::all_of(filter->begin() + 2, filter->end(), [](const Dim& d) { return d == Dim(1); }) ||
        !std::all_of(a->stride.begin(), a->stride.end(), is_one) ||
        !std::all_of(a->padding.begin(), a->padding.end(), is_none))
      return false;
    double pixels = 1;
    for (size_t i = 2; i < x->size(); ++i) {
      if (!(*x)[i].is_number()) return false;
      pixels *= static_cast<double>((*x)[i].value());
    }
    return pixels >= kernels::kMinPointwisePixels;
  }
  static bool wants_last(const Node& node) { return node.op->layout == LayoutRole::channels; }
  bool is_transposed(ValueId v) const {
    const auto p = t_.perm_of(v);
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
        if (const auto p = t_.perm_of(reader); p && *p == to_last(p->size())) return true;
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
    if ((!is_planar(node) && !is_pointwise(node)) || is_transposed(x)) return false;
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
    in[0] = t_.transposed(id, in[0], last);
    t_.rebuild(id, std::move(in), std::move(attrs), std::vector<Perm>(graph_[id].out.size(), inverse(last)));
  }

  Transposes t_;
  ir::Graph& graph_;
};

}  // namespace

/// Convolutions, deconvolutions and pools of known rank, of floats and of whole numbers   ->   the same with
/// channels_last, between transposes; transposes move down past nodes that do not mind, and cancel. A depthwise
/// or pointwise convolution around which no transpose would cancel stays. Every result keeps its bytes: no sum changes
/// its order.
Result<int> channels_last(ir::Graph& graph) { return Layout(graph).run(); }

}  // namespace nnex::passes
