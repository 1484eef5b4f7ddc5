// Attention as exporters write it: products, a scale, a mask and a softmax become one node.

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/queries.h"
#include "ops/attention.h"
#include "ops/cast.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// What stands between q, k, v and the result y: of four axes each, or of three, one head then.
struct Sentence {
  ValueId q, k, v, y;
  ValueId k_transposed;      ///< [batch, heads, depth, keys], instead of k where nobody has it the other way round.
  ValueId mask;              ///< Numbers that are added, or truths; perhaps none.
  bool shows_false = false;  ///< The mask is true where scores are hidden.
  std::optional<double> hidden;
  double scale = 1;
};

class AttentionFinder {
 public:
  explicit AttentionFinder(ir::Graph& graph) : graph_(graph) {}

  int run() {
    int found = 0;
    for (NodeId id : graph_.order_with_blocks()) {
      if (graph_[id].erased || graph_[id].op->name != "matmul") continue;
      if (auto s = read(id)) {
        write(id, *s);
        ++found;
      }
    }
    return found;
  }

 private:
  // ---- Looking ----

  const Dims* dims(ValueId v) const {
    return v.valid() && is_f32(graph_, v) && graph_[v].type.dims ? &*graph_[v].type.dims : nullptr;
  }
  bool all_axes(ValueId v) const { return dims(v) && dims(v)->size() == rank_; }

  /// The node that makes v for one reader only when it is this operator.
  const Node* only_made_by(ValueId v, std::string_view op) const {
    const Node* n = v.valid() && graph_.read_once(v) ? graph_.producer(v) : nullptr;
    return n && n->op->name == op ? n : nullptr;
  }

  std::optional<double> number(ValueId v) const {
    const Tensor* t = v.valid() ? graph_[v].constant.tensor() : nullptr;
    if (!t || t->count() != 1 || t->dtype() != DType::f32 || t->shape().rank() > 4) return std::nullopt;
    return real_at(*t, 0);
  }
  /// A number that scores can be multiplied with here or there.
  std::optional<double> factor(ValueId v) const {
    const auto c = number(v);
    return c && *c != 0 && std::isfinite(*c) ? c : std::nullopt;
  }

  /// Whether a mask says something of every key, and no more.
  bool masks(ValueId mask, ValueId scores) const {
    const ValueDef& m = graph_[mask];
    if (!m.type.is_tensor() || !m.type.dims || m.type.dims->empty() || m.type.dims->size() > rank_) return false;
    const Dims &d = *m.type.dims, &of = *dims(scores);
    for (size_t i = 0; i < d.size(); ++i) {
      const Dim& mine = d[d.size() - 1 - i];
      if (!(mine == of[rank_ - 1 - i]) && (i == 0 || !(mine == Dim(1)))) return false;
    }
    return true;
  }

  std::optional<Sentence> read(NodeId id) {
    const Node& last = graph_[id];
    rank_ = dims(last.in[0]) ? dims(last.in[0])->size() : 0;
    if (rank_ != 3 && rank_ != 4) return std::nullopt;
    const auto& a = graph_.attrs<MatmulAttrs>(last);
    if (a.transpose_a || a.transpose_b || !all_axes(last.in[0]) || !all_axes(last.in[1])) return std::nullopt;
    const Node* softmax = only_made_by(last.in[0], "softmax");
    if (!softmax) return std::nullopt;
    const auto& over = graph_.attrs<SoftmaxAttrs>(*softmax);
    if (over.axes.size() != 1 || (over.axes[0] != -1 && over.axes[0] != static_cast<int64_t>(rank_) - 1))
      return std::nullopt;
    Sentence s;
    s.v = last.in[1], s.y = last.out[0];
    const ValueId scores = unscaled(s, unmasked(s, softmax->in[0]));
    const Node* product = only_made_by(scores, "matmul");
    if (!product || !read_product(s, *product) || !std::isfinite(static_cast<float>(s.scale))) return std::nullopt;
    return same_heads(s) ? std::optional(s) : std::nullopt;
  }

  /// scores + mask, where(mask, scores, number) or where(mask, number, scores): the scores.
  ValueId unmasked(Sentence& s, ValueId x) const {
    const Node* add = only_made_by(x, "add");
    for (size_t i = 0; add && i < 2; ++i) {
      const ValueId scores = add->in[i], mask = add->in[1 - i];
      if (!is_scores(scores) || !dims(mask) || !same_extents(graph_, scores, x) || !masks(mask, x)) continue;
      s.mask = mask;
      return scores;
    }
    const Node* select = only_made_by(x, "select");
    const DType truth = select ? graph_[select->in[0]].type.dtype : DType::none;
    if (truth != DType::boolean && truth != DType::u8) return x;
    for (size_t i : {size_t{1}, size_t{2}}) {
      const auto hidden = number(select->in[3 - i]);
      if (!hidden || !is_scores(select->in[i]) || !same_extents(graph_, select->in[i], x) || !masks(select->in[0], x))
        continue;
      s.mask = select->in[0], s.hidden = hidden, s.shows_false = i == 2;
      return select->in[i];
    }
    return x;
  }

  bool is_scores(ValueId v) const {
    if (!all_axes(v)) return false;
    Sentence scratch;
    return only_made_by(unscaled(scratch, v), "matmul") != nullptr;
  }

  /// x without a factor, which the scale takes.
  ValueId unscaled(Sentence& s, ValueId x) const {
    if (const Node* div = only_made_by(x, "div"))
      if (auto c = factor(div->in[1]); c && all_axes(div->in[0])) return s.scale /= *c, div->in[0];
    if (const Node* mul = only_made_by(x, "mul"))
      for (size_t i : {size_t{0}, size_t{1}})
        if (auto c = factor(mul->in[i]); c && all_axes(mul->in[1 - i])) return s.scale *= *c, mul->in[1 - i];
    return x;
  }

  bool read_product(Sentence& s, const Node& product) const {
    const auto& a = graph_.attrs<MatmulAttrs>(product);
    if (a.transpose_a || !all_axes(product.in[0]) || !all_axes(product.in[1])) return false;
    s.q = unscaled(s, product.in[0]);
    const ValueId right = unscaled(s, product.in[1]);
    if (a.transpose_b) return s.k = right, true;
    const Node* turn = made_by(graph_, right, "transpose");
    const Ints swapped = rank_ == 4 ? Ints{0, 1, 3, 2} : Ints{0, 2, 1};
    if (turn && graph_.attrs<TransposeAttrs>(*turn).axes == swapped)
      s.k = graph_.read_once(right) ? unscaled(s, turn->in[0]) : turn->in[0];
    else
      s.k_transposed = right;
    // Turning the keys for one query costs more than the product.
    return s.k.valid() || (turn && graph_.attrs<TransposeAttrs>(*turn).axes == Ints{0, 2, 3, 1});
  }

  /// Batches and heads are the same everywhere: nothing broadcasts.
  bool same_heads(const Sentence& s) const {
    const Dims &q = *dims(s.q), &k = *dims(s.k.valid() ? s.k : s.k_transposed), &v = *dims(s.v);
    const size_t rows = rank_ - 2, keys = s.k.valid() ? rows : rows + 1;
    for (size_t i = 0; i < rows; ++i)
      if (!(q[i] == k[i]) || !(q[i] == v[i])) return false;
    return k[keys] == v[rows];
  }

  // ---- Heads side by side ----

  struct Flat {
    ValueId
        x;  ///< [batch, rows, heads * depth]; where there are parts, with an axis of them and heads and depth apart.
    int64_t heads = 0, depth = 0;
    std::optional<int64_t> part = {};  ///< The part that is meant.
    size_t parts_axis = 0;
  };
  /// v = transpose(reshape(x, [batch, rows, heads, depth]), axes) of x [batch, rows, heads * depth], or one of the
  /// parts that x was transposed into.
  std::optional<Flat> flat(ValueId v, const Ints& axes = {0, 2, 1, 3}) const {
    if (auto f = flat_part(v, axes)) return f;
    const Node* turn = made_by(graph_, v, "transpose");
    if (!turn || graph_.attrs<TransposeAttrs>(*turn).axes != axes) return std::nullopt;
    const Node* reshape = made_by(graph_, turn->in[0], "reshape");
    if (!reshape) return std::nullopt;
    const Dims *from = dims(reshape->in[0]), *to = dims(turn->in[0]);
    if (!from || from->size() != 3 || !to || !((*from)[0] == (*to)[0]) || !((*from)[1] == (*to)[1]))
      return std::nullopt;
    const Dim &heads = (*to)[2], &depth = (*to)[3];
    if (!heads.is_number() || heads.value() < 1 || !((*from)[2] == heads * depth)) return std::nullopt;
    return Flat{reshape->in[0], heads.value()};
  }

  /// One index of an axis, which is gone then.
  struct Pick {
    ValueId from;
    int64_t axis = 0, index = 0;
  };
  /// v = gather(from, index), or squeeze(split(from)[index]).
  std::optional<Pick> picked(ValueId v) const {
    const Node* n = v.valid() ? graph_.producer(v) : nullptr;
    if (!n || !dims(v)) return std::nullopt;
    const auto rank_of = [&](ValueId of) { return dims(of) ? static_cast<int64_t>(dims(of)->size()) : 0; };
    if (n->op->name == "gather") {
      const Tensor* index = graph_[n->in[1]].constant.tensor();
      const auto& a = graph_.attrs<GatherAttrs>(*n);
      if (!index || index->shape().rank() != 0 || (!a.from_end && real_at(*index, 0) < 0)) return std::nullopt;
      return Pick{n->in[0], a.axis < 0 ? a.axis + rank_of(n->in[0]) : a.axis, static_cast<int64_t>(real_at(*index, 0))};
    }
    if (n->op->name != "squeeze" && n->op->name != "reshape") return std::nullopt;
    const Node* split = made_by(graph_, n->in[0], "split");
    if (!split || rank_of(n->in[0]) != rank_of(v) + 1) return std::nullopt;
    int64_t axis = graph_.attrs<SplitAttrs>(*split).axis;
    if (axis < 0) axis += rank_of(n->in[0]);
    Dims left = *dims(n->in[0]);
    if (axis < 0 || axis >= static_cast<int64_t>(left.size()) || !(left[static_cast<size_t>(axis)] == Dim(1)))
      return std::nullopt;
    left.erase(left.begin() + axis);
    const Dims* whole = dims(split->in[0]);
    if (left != *dims(v) || !whole ||
        !((*whole)[static_cast<size_t>(axis)] == Dim(static_cast<int64_t>(split->out.size()))))
      return std::nullopt;
    const auto place = std::find(split->out.begin(), split->out.end(), n->in[0]);
    return Pick{split->in[0], axis, place - split->out.begin()};
  }

  /// v = one index of transpose(x, ...), where x [batch, rows, parts, heads, depth] has queries, keys and values side
  /// by side (or the parts behind the heads), and the transpose would be `axes` without them.
  std::optional<Flat> flat_part(ValueId v, const Ints& axes) const {
    const auto pick = picked(v);
    const Node* turn = pick ? made_by(graph_, pick->from, "transpose") : nullptr;
    const Dims* from = turn ? dims(turn->in[0]) : nullptr;
    if (!from || from->size() != 5) return std::nullopt;
    Ints left = graph_.attrs<TransposeAttrs>(*turn).axes;
    if (left.size() != 5 || pick->axis < 0 || pick->axis > 4) return std::nullopt;
    const int64_t parts_axis = left[static_cast<size_t>(pick->axis)];
    left.erase(left.begin() + pick->axis);
    for (int64_t& axis : left) axis -= axis > parts_axis;
    const auto at = [&](int64_t i) -> const Dim& { return (*from)[static_cast<size_t>(i)]; };
    const Dim &parts = at(parts_axis), &heads = at(parts_axis == 2 ? 3 : 2), &depth = at(parts_axis == 4 ? 3 : 4);
    if (left != axes || parts_axis < 2 || !parts.is_number() || !heads.is_number() || !depth.is_number())
      return std::nullopt;
    const int64_t part = pick->index < 0 ? pick->index + parts.value() : pick->index;
    if (part < 0 || part >= parts.value() || heads.value() < 1) return std::nullopt;
    return Flat{turn->in[0], heads.value(), depth.value(), part, static_cast<size_t>(parts_axis)};
  }

  /// [batch, rows, heads * depth].
  ValueId side_by_side(Builder& b, const Flat& f) {
    if (!f.part) return f.x;
    const Dims& d = *dims(f.x);
    const int64_t columns = f.heads * f.depth, parts = d[f.parts_axis].value();
    if (f.parts_axis == 2) return part(b, flattened(b, f.x, parts * columns), 2, *f.part * columns, columns);
    return flattened(b, part(b, f.x, f.parts_axis, *f.part, 1), columns);
  }
  /// [batch, rows, columns] of x.
  ValueId flattened(Builder& b, ValueId x, int64_t columns) {
    ReshapeAttrs same;
    same.zero = ZeroExtent::copy;
    const Dims d = {(*dims(x))[0], (*dims(x))[1], Dim(columns)};
    const ValueId y = b("reshape", {x, b.ints({0, 0, columns})}, same);
    graph_.set_type(y, Type::tensor(DType::f32, d));
    return y;
  }
  ValueId part(Builder& b, ValueId x, size_t axis, int64_t begin, int64_t extent) {
    Dims d = *dims(x);
    d[axis] = Dim(extent);
    const ValueId y = b("slice", {x, b.ints({begin}), b.ints({begin + extent}), b.ints({static_cast<int64_t>(axis)})});
    graph_.set_type(y, Type::tensor(DType::f32, std::move(d)));
    return y;
  }

  /// The reshape that puts the heads of y side by side again, if that is what becomes of y.
  NodeId flat_reader(ValueId y) const {
    const NodeId turn = only_reader(graph_, y);
    if (!turn.valid() || graph_[turn].op->name != "transpose" ||
        graph_.attrs<TransposeAttrs>(turn).axes != Ints{0, 2, 1, 3})
      return {};
    const NodeId reshape = only_reader(graph_, graph_[turn].out[0]);
    if (!reshape.valid() || graph_[reshape].op->name != "reshape" || !(graph_[reshape].in[0] == graph_[turn].out[0]))
      return {};
    const Dims *from = dims(graph_[turn].out[0]), *to = dims(graph_[reshape].out[0]);
    if (!from || !to || to->size() != 3 || !((*to)[0] == (*from)[0]) || !((*to)[1] == (*from)[1])) return {};
    return (*to)[2] == (*from)[2] * (*from)[3] ? reshape : NodeId{};
  }

  // ---- Writing ----

  void write(NodeId id, Sentence s) {
    AttentionAttrs a;
    a.scale = s.scale, a.hidden = s.hidden, a.guard = false;
    if (s.hidden) s.mask = truths(id, s.mask, s.shows_false);
    if (rank_ == 3) {
      a.q_heads = a.kv_heads = 1;
      put(id, Builder(graph_, id)("attention", operands(s.q, s.k, s.v, one_head(id, s.mask)), a));
      return;
    }
    const auto q = flat(s.q), k = s.k.valid() ? flat(s.k) : flat(s.k_transposed, {0, 2, 3, 1}), v = flat(s.v);
    const NodeId reshape = q && k && v ? flat_reader(s.y) : NodeId{};
    if (reshape.valid()) {
      a.q_heads = q->heads, a.kv_heads = k->heads;
      Builder b(graph_, id);
      const ValueId queries = side_by_side(b, *q), keys = side_by_side(b, *k), values = side_by_side(b, *v);
      put(reshape, b("attention", operands(queries, keys, values, s.mask), a));
      return;
    }
    ValueId keys = s.k;
    if (!keys.valid()) {  // k_turned = transpose(x, [0, 2, 3, 1])
      TransposeAttrs axes;
      axes.axes = {0, 2, 1, 3};
      keys = Builder(graph_, id)("transpose", {graph_.producer(s.k_transposed)->in[0]}, axes);
    }
    put(id, Builder(graph_, id)("attention", operands(s.q, keys, s.v, s.mask), a));
  }

  /// The condition of a choice as truth values, the other way round where the choice was.
  ValueId truths(NodeId id, ValueId mask, bool inverted) {
    Builder b(graph_, id);
    const Type type = Type::tensor(DType::boolean, graph_[mask].type.dims);
    if (graph_[mask].type.dtype != DType::boolean) {
      CastAttrs to;
      to.to = DType::boolean;
      graph_.set_type(mask = b("cast", {mask}, to), type);
    }
    if (inverted) graph_.set_type(mask = b("not", {mask}), type);
    return mask;
  }

  /// A mask of three axes speaks of batches: it gets an axis for the one head.
  ValueId one_head(NodeId id, ValueId mask) {
    if (!mask.valid() || graph_[mask].type.dims->size() < 3) return mask;
    Dims d = *graph_[mask].type.dims;
    d.insert(d.begin() + 1, Dim(1));
    Builder b(graph_, id);
    const ValueId wide = b("unsqueeze", {mask, b.ints({1})});
    graph_.set_type(wide, Type::tensor(graph_[mask].type.dtype, std::move(d)));
    return wide;
  }

  static std::vector<ValueId> operands(ValueId q, ValueId k, ValueId v, ValueId mask) {
    std::vector<ValueId> in = {q, k, v};
    if (mask.valid()) in.push_back(mask);
    return in;
  }

  /// y stands for what the node made.
  void put(NodeId node, ValueId y) {
    const ValueId old = graph_[node].out[0];
    graph_.set_type(y, graph_[old].type);
    graph_.set_name(y, graph_[old].name);
    graph_.replace_uses(old, y);
    graph_.erase(node);
  }

  ir::Graph& graph_;
  size_t rank_ = 4;  ///< Of the sentence being read.
};

// ---- Caches

/// concat([past, fresh]) along the positions of [batch, heads, positions, depth].
struct Cache {
  ValueId past, fresh, joined;
};
std::optional<Cache> cache_of(const ir::Graph& graph, ValueId v) {
  const Node* join = made_by(graph, v, "concat");
  if (!join || join->in.size() != 2 || !is_f32(graph, v) || graph[v].type.dims->size() != 4) return std::nullopt;
  const int64_t axis = graph.attrs<AxisAttrs>(*join).axis;
  if ((axis != 2 && axis != -2) || !is_f32(graph, join->in[0]) || !is_f32(graph, join->in[1])) return std::nullopt;
  return Cache{join->in[0], join->in[1], v};
}
/// Whether this node alone reads v, beside the network's results.
bool reads_alone(const ir::Graph& graph, ValueId v, NodeId reader) {
  return std::all_of(graph[v].uses.begin(), graph[v].uses.end(), [&](const Use& u) {
    return !u.node.valid() ? u.block == graph[reader].parent : u.node == reader;
  });
}

}  // namespace

/// attention(q, concat([past_k, k]), concat([past_v, v]))   ->   attention(q, k, v, past_k, past_v), which joins a head
/// at a time and reads it at once. What the network returns of the joined tensors are outputs of the node.
Result<int> fuse_caches(ir::Graph& graph) {
  namespace port = attention_port;
  int fused = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || node.op->name != "attention" || node.in.size() > port::past_key || node.out.size() > 1) continue;
    const auto& a = graph.attrs<AttentionAttrs>(node);
    if (a.causal || a.left_window >= 0 || a.right_window >= 0) continue;  // they count from the cache's end
    const auto k = cache_of(graph, node.in[port::k]), v = cache_of(graph, node.in[port::v]);
    if (!k || !v || k->joined == v->joined || !reads_alone(graph, k->joined, id) || !reads_alone(graph, v->joined, id))
      continue;
    if (!((*graph[k->past].type.dims)[2] == (*graph[v->past].type.dims)[2])) continue;
    std::vector<ValueId> in = node.in;
    in.resize(port::past_value + 1);
    in[port::k] = k->fresh, in[port::v] = v->fresh, in[port::past_key] = k->past, in[port::past_value] = v->past;
    const NodeId made = graph.insert_node(id, *node.op, std::move(in), 3, node.attrs, {}, node.where);
    const ValueId old[] = {graph[id].out[0], k->joined, v->joined};
    for (size_t o = 0; o < 3; ++o) {
      const ValueId y = graph[made].out[o];
      graph.set_type(y, graph[old[o]].type);
      if (o > 0 && graph[old[o]].uses.size() == 1) continue;  // read by the old node alone
      graph.set_name(y, graph[old[o]].name);
    }
    graph.replace_uses(old[0], graph[made].out[0]);
    graph.erase(id);
    for (size_t o = 1; o < 3; ++o) {
      if (graph[old[o]].uses.empty())
        graph.drop_output(made, o);
      else
        graph.replace_uses(old[o], graph[made].out[o]);
    }
    ++fused;
  }
  return fused;
}

/// matmul(softmax(matmul(q, k, transpose_b) * scale + mask), v)   ->   attention(q, k, v, mask)
/// The scale may stand before the product, the mask be a choice. With the transposes and reshapes around it where heads
/// come out of one axis and go back into it.
Result<int> fuse_attention(ir::Graph& graph) { return AttentionFinder(graph).run(); }

}  // namespace nnex::passes
