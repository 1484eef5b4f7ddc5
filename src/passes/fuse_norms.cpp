// Normalisations of rows as frameworks spell them out.

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/queries.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

class NormFinder {
 public:
  explicit NormFinder(ir::Graph& graph) : graph_(graph) {}

  int run() {
    for (NodeId id : graph_.order_with_blocks()) {
      if (graph_[id].erased || graph_[id].out.size() != 1 || !is_f32(graph_, graph_[id].out[0])) continue;
      if (auto q = quotient(graph_[id])) {
        if (is_f32(graph_, q->top) && same_extents(graph_, q->top, graph_[id].out[0]) && !centred(id, *q))
          by_root_of_squares(id, *q);
      } else if (graph_[id].op->name == "add") {
        multiplied_out(id);
      }
    }
    return changed_;
  }

 private:
  // ---- Looking ----

  /// v = w^(-1/2): w.
  std::optional<ValueId> inverse_root(ValueId v) const {
    if (const Node* r = made_by(graph_, v, "rsqrt")) return r->in[0];
    const Node *rcp = made_by(graph_, v, "rcp"), *pow = made_by(graph_, v, "pow"), *div = made_by(graph_, v, "div");
    if (pow && real_constant(graph_, pow->in[1]) == -0.5) return pow->in[0];
    if (div && real_constant(graph_, div->in[0]) != 1.0) return std::nullopt;
    const Node* root = rcp ? made_by(graph_, rcp->in[0], "sqrt") : div ? made_by(graph_, div->in[1], "sqrt") : nullptr;
    return root ? std::optional(root->in[0]) : std::nullopt;
  }

  struct Quotient {
    ValueId top, square;  ///< top / sqrt(square)
  };
  std::optional<Quotient> quotient(const Node& node) const {
    if (node.op->name == "div") {
      const Node* root = made_by(graph_, node.in[1], "sqrt");
      return root ? std::optional(Quotient{node.in[0], root->in[0]}) : std::nullopt;
    }
    if (node.op->name != "mul") return std::nullopt;
    for (size_t i : {size_t{0}, size_t{1}})
      if (auto square = inverse_root(node.in[i])) return Quotient{node.in[1 - i], *square};
    return std::nullopt;
  }

  /// v = mean_reduce(of) over the last axes, which stay; how many.
  struct Mean {
    ValueId of;
    size_t axes = 0;
  };
  std::optional<Mean> row_mean(ValueId v) const {
    const Node* m = made_by(graph_, v, "mean_reduce");
    if (!m || m->in.size() < 2 || !is_f32(graph_, m->in[0])) return std::nullopt;
    const auto& a = graph_.attrs<ReduceAttrs>(*m);
    const Tensor* list = graph_.constant_in(*m, 1);
    if (!a.keepdims || a.to_end || !list || !is_int(list->dtype()) || list->count() == 0) return std::nullopt;
    const auto rank = static_cast<int64_t>(graph_[m->in[0]].type.dims->size());
    Ints axes = ints_of(*list);
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return std::nullopt;
    return Mean{m->in[0], axes.size()};
  }

  /// v = mean(d^2) + epsilon.
  struct Spread {
    ValueId d;
    size_t axes = 0;
    double epsilon = 0;
  };
  std::optional<Spread> spread(ValueId v) const {
    const Node* add = made_by(graph_, v, "add");
    if (!add) return std::nullopt;
    for (size_t i : {size_t{0}, size_t{1}}) {
      const auto epsilon = real_constant(graph_, add->in[i]);
      const auto mean = epsilon ? row_mean(add->in[1 - i]) : std::nullopt;
      if (!mean) continue;
      const Node *square = made_by(graph_, mean->of, "sqr"), *product = made_by(graph_, mean->of, "mul");
      if (square) return Spread{square->in[0], mean->axes, *epsilon};
      if (product && product->in[0] == product->in[1]) return Spread{product->in[0], mean->axes, *epsilon};
    }
    return std::nullopt;
  }

  /// d = x - mean(x) over as many axes; the node.
  const Node* deviation(ValueId d, size_t axes) const {
    const Node* sub = made_by(graph_, d, "sub");
    const auto mean = sub ? row_mean(sub->in[1]) : std::nullopt;
    return mean && mean->of == sub->in[0] && mean->axes == axes ? sub : nullptr;
  }

  /// A constant with one number for each element of x's last axes.
  bool is_parameter(ValueId v, ValueId x, size_t axes) const {
    const Tensor* t = is_f32(graph_, v) ? graph_[v].constant.tensor() : nullptr;
    const Dims& d = *graph_[x].type.dims;
    const auto rank = t ? static_cast<size_t>(t->shape().rank()) : 0;
    if (!t || rank < axes || rank > d.size()) return false;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t extent = t->shape()[static_cast<int64_t>(rank - 1 - i)];
      if (i < axes ? !(d[d.size() - 1 - i] == Dim(extent)) : extent != 1) return false;
    }
    return true;
  }

  /// A constant with one number for each channel of x [batch, channels, ...].
  bool is_of_channels(ValueId v, ValueId x) const {
    const Tensor* t = is_f32(graph_, v) ? graph_[v].constant.tensor() : nullptr;
    const Dims& d = *graph_[x].type.dims;
    const auto rank = t ? static_cast<size_t>(t->shape().rank()) : 0;
    if (!t || rank < d.size() - 1 || rank > d.size() || !(d[1] == Dim(t->count()))) return false;
    return t->shape()[static_cast<int64_t>(rank + 1 - d.size())] == t->count();
  }

  /// What is scaled and shifted behind a node: the last node of it, and the parameters.
  struct Affine {
    NodeId last;
    ValueId scale, offset;
  };
  template <class Fits>
  Affine affine_after(NodeId at, Fits fits) const {
    Affine a;
    a.last = at;
    for (const auto& [op, parameter] : {std::pair{"mul", &a.scale}, std::pair{"add", &a.offset}}) {
      const NodeId reader = only_reader(graph_, graph_[a.last].out[0]);
      if (!reader.valid() || graph_[reader].op->name != op) continue;
      const ValueId other = graph_[reader].in[graph_[reader].in[0] == graph_[a.last].out[0] ? 1 : 0];
      if (!fits(other)) continue;
      *parameter = other, a.last = reader;
    }
    return a;
  }

  // ---- Writing ----

  static LayerNormAttrs attributes(const Spread& s) {
    LayerNormAttrs a;
    a.axes.resize(s.axes);
    std::iota(a.axes.begin(), a.axes.end(), -static_cast<int64_t>(s.axes));
    a.epsilon = s.epsilon;
    return a;
  }

  template <class Attrs>
  void become(NodeId id, std::string_view op, std::vector<ValueId> in, Attrs attrs) {
    while (!in.empty() && !in.back().valid()) in.pop_back();
    const ValueId y = Builder(graph_, id)(op, std::move(in), std::move(attrs)), old = graph_[id].out[0];
    graph_.set_type(y, graph_[old].type);
    graph_.set_name(y, graph_[old].name);
    graph_.replace_uses(old, y);
    graph_.erase(id);
    ++changed_;
  }

  bool centred(NodeId id, const Quotient& q) {
    const auto s = spread(q.square);
    const Node* sub = s && s->d == q.top ? deviation(s->d, s->axes) : nullptr;
    if (!sub) return false;
    const ValueId x = sub->in[0];
    const Affine rows = affine_after(id, [&](ValueId v) { return is_parameter(v, x, s->axes); });
    const bool planes = graph_[x].type.dims->size() > 2 && s->axes + 2 == graph_[x].type.dims->size();
    if (planes && rows.last == id) {
      const Affine channels = affine_after(id, [&](ValueId v) { return is_of_channels(v, x); });
      if (!(channels.last == id)) {
        become(channels.last, "instance_normalization", {x, listed(channels.scale), listed(channels.offset)},
               InstanceNormAttrs{s->epsilon});
        return true;
      }
    }
    become(rows.last, "layer_normalization", {x, rows.scale, rows.offset}, attributes(*s));
    return true;
  }

  /// A constant as a list of its numbers.
  ValueId listed(ValueId v) {
    if (!v.valid()) return v;
    const Tensor& t = *graph_[v].constant.tensor();
    return graph_.add_constant(t.reshaped(Shape{t.count()}));
  }

  void by_root_of_squares(NodeId id, const Quotient& q) {
    const auto s = spread(q.square);
    if (!s || !(s->d == q.top)) return;
    const NodeId scaled = only_reader(graph_, graph_[id].out[0]);
    if (!scaled.valid() || graph_[scaled].op->name != "mul") return;
    const ValueId scale = graph_[scaled].in[graph_[scaled].in[0] == graph_[id].out[0] ? 1 : 0];
    if (is_parameter(scale, q.top, s->axes)) become(scaled, "rms_normalization", {q.top, scale}, attributes(*s));
  }

  /// x r + (offset - mean r) with r = [scale] / sqrt(variance + epsilon).
  void multiplied_out(NodeId id) {
    for (size_t i : {size_t{0}, size_t{1}}) {
      const Node *product = made_by(graph_, graph_[id].in[i], "mul"),
                 *rest = made_by(graph_, graph_[id].in[1 - i], "sub");
      const Node* taken = rest ? made_by(graph_, rest->in[1], "mul") : nullptr;
      if (!product || !taken) continue;
      for (size_t k : {size_t{0}, size_t{1}})
        if (multiplied_out(id, product->in[k], product->in[1 - k], *taken, rest->in[0])) return;
    }
  }
  bool multiplied_out(NodeId id, ValueId x, ValueId r, const Node& taken, ValueId offset) {
    if (!(taken.in[0] == r) && !(taken.in[1] == r)) return false;
    const auto mean = row_mean(taken.in[taken.in[0] == r ? 1 : 0]);
    if (!mean || !(mean->of == x) || !is_parameter(offset, x, mean->axes)) return false;
    if (!same_extents(graph_, x, graph_[id].out[0])) return false;
    ValueId root = r, scale;
    if (const Node* m = made_by(graph_, r, "mul"))
      for (size_t i : {size_t{0}, size_t{1}})
        if (is_parameter(m->in[i], x, mean->axes)) scale = m->in[i], root = m->in[1 - i];
    const auto square = inverse_root(root);
    const auto s = square ? spread(*square) : std::nullopt;
    const Node* sub = s && s->axes == mean->axes ? deviation(s->d, s->axes) : nullptr;
    if (!sub || !(sub->in[0] == x)) return false;
    if (!scale.valid()) {
      auto ones = Tensor::make(DType::f32, graph_[offset].constant.tensor()->shape());
      if (!ones.ok()) return false;
      std::fill_n(ones->mutable_as<float>().data(), ones->count(), 1.0F);
      scale = graph_.add_constant(std::move(*ones));
    }
    become(id, "layer_normalization", {x, scale, offset}, attributes(*s));
    return true;
  }

  ir::Graph& graph_;
  int changed_ = 0;
};

}  // namespace

/// d = x - mean(x); v = mean(d^2) + epsilon; over the last axes:
///     d / sqrt(v) [* scale] [+ offset]                  ->   layer_normalization(x, scale, offset)
///     the same over all axes behind the channels, with a number for each channel   ->   instance_normalization
///     x s + (offset - mean(x) s), s = scale / sqrt(v)   ->   the same
///     x / sqrt(mean(x^2) + epsilon) * scale             ->   rms_normalization(x, scale)
/// The root may be taken by rsqrt, by a reciprocal or by a power. Scales and offsets are constants with a number for
/// every element of the axes; nothing broadcasts. Results differ by the roundings of sums taken in another order.
Result<int> fuse_norms(ir::Graph& graph) { return NormFinder(graph).run(); }

}  // namespace nnex::passes
