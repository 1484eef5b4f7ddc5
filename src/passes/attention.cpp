// Attention as exporters write it: products, a scale, a mask and a softmax become one node.

#include <algorithm>
#include <optional>

#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// What stands between q, k, v and the result y, of four axes each.
struct Sentence {
  ValueId q, k, v, y;
  ValueId k_turned;  ///< [batch, heads, depth, keys], instead of k where nobody has it the other way round.
  ValueId mask;      ///< Numbers that are added, or truths; perhaps none.
  std::optional<double> hidden;
  double scale = 1;
};

class AttentionFinder {
 public:
  explicit AttentionFinder(Graph& graph) : graph_(graph) {}

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
  bool four_axes(ValueId v) const { return dims(v) && dims(v)->size() == 4; }

  /// The node that makes v for one reader only when it is this operator.
  const Node* only_made_by(ValueId v, std::string_view op) const {
    const Node* n = v.valid() && graph_.read_once(v) ? graph_.maker(v) : nullptr;
    return n && n->op->name == op ? n : nullptr;
  }
  const Node* made_by(ValueId v, std::string_view op) const {
    const Node* n = v.valid() ? graph_.maker(v) : nullptr;
    return n && n->op->name == op ? n : nullptr;
  }

  std::optional<double> number(ValueId v) const {
    const Tensor* t = v.valid() ? graph_[v].constant.tensor() : nullptr;
    if (!t || t->count() != 1 || t->dtype() != DType::f32 || t->shape().rank() > 4) return std::nullopt;
    return real_at(*t, 0);
  }

  /// Whether a mask says something of every key, and no more.
  bool masks(ValueId mask, ValueId scores) const {
    const ValueDef& m = graph_[mask];
    if (!m.type.is_tensor() || !m.type.dims || m.type.dims->empty() || m.type.dims->size() > 4) return false;
    const Dims &d = *m.type.dims, &of = *dims(scores);
    for (size_t i = 0; i < d.size(); ++i) {
      const Dim& mine = d[d.size() - 1 - i];
      if (!(mine == of[3 - i]) && (i == 0 || !(mine == Dim(1)))) return false;
    }
    return true;
  }

  std::optional<Sentence> read(NodeId id) const {
    const Node& last = graph_[id];
    const auto& a = graph_.attrs<MatmulAttrs>(last);
    if (a.transpose_a || a.transpose_b || !four_axes(last.in[0]) || !four_axes(last.in[1])) return std::nullopt;
    const Node* softmax = only_made_by(last.in[0], "softmax");
    if (!softmax) return std::nullopt;
    const auto& over = graph_.attrs<SoftmaxAttrs>(*softmax);
    if (over.axes.size() != 1 || (over.axes[0] != -1 && over.axes[0] != 3)) return std::nullopt;
    Sentence s;
    s.v = last.in[1], s.y = last.out[0];
    const ValueId scores = unscaled(s, unmasked(s, softmax->in[0]));
    const Node* product = only_made_by(scores, "matmul");
    if (!product || !read_product(s, *product)) return std::nullopt;
    return same_heads(s) ? std::optional(s) : std::nullopt;
  }

  /// scores + mask, or where(mask, scores, number): the scores.
  ValueId unmasked(Sentence& s, ValueId x) const {
    const Node* add = only_made_by(x, "add");
    for (size_t i = 0; add && i < 2; ++i) {
      const ValueId scores = add->in[i], mask = add->in[1 - i];
      if (!is_scores(scores) || !dims(mask) || !same_extents(graph_, scores, x) || !masks(mask, x)) continue;
      s.mask = mask;
      return scores;
    }
    const Node* select = only_made_by(x, "select");
    if (!select || graph_[select->in[0]].type.dtype != DType::boolean) return x;
    const auto hidden = number(select->in[2]);
    if (!hidden || !is_scores(select->in[1]) || !same_extents(graph_, select->in[1], x) || !masks(select->in[0], x))
      return x;
    s.mask = select->in[0], s.hidden = hidden;
    return select->in[1];
  }

  bool is_scores(ValueId v) const {
    if (!four_axes(v)) return false;
    Sentence scratch;
    return only_made_by(unscaled(scratch, v), "matmul") != nullptr;
  }

  ValueId unscaled(Sentence& s, ValueId x) const {
    if (const Node* div = only_made_by(x, "div"))
      if (auto c = number(div->in[1]); c && *c != 0 && four_axes(div->in[0])) return s.scale = 1 / *c, div->in[0];
    if (const Node* mul = only_made_by(x, "mul"))
      for (size_t i : {size_t{0}, size_t{1}})
        if (auto c = number(mul->in[i]); c && *c != 0 && four_axes(mul->in[1 - i])) return s.scale = *c, mul->in[1 - i];
    return x;
  }

  bool read_product(Sentence& s, const Node& product) const {
    const auto& a = graph_.attrs<MatmulAttrs>(product);
    s.q = product.in[0];
    if (a.transpose_a || !four_axes(s.q) || !four_axes(product.in[1])) return false;
    if (a.transpose_b) return s.k = product.in[1], true;
    const Node* turn = made_by(product.in[1], "transpose");
    if (turn && graph_.attrs<TransposeAttrs>(*turn).axes == Ints{0, 1, 3, 2})
      s.k = turn->in[0];
    else
      s.k_turned = product.in[1];
    // Turning the keys for one query costs more than the product.
    return s.k.valid() || (turn && graph_.attrs<TransposeAttrs>(*turn).axes == Ints{0, 2, 3, 1});
  }

  /// Batches and heads are the same everywhere: nothing broadcasts.
  bool same_heads(const Sentence& s) const {
    const Dims &q = *dims(s.q), &k = *dims(s.k.valid() ? s.k : s.k_turned), &v = *dims(s.v);
    const size_t keys = s.k.valid() ? 2 : 3;
    return q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && k[keys] == v[2];
  }

  // ---- Heads side by side ----

  struct Flat {
    ValueId x;
    int64_t heads = 0;
  };
  /// v = transpose(reshape(x, [batch, rows, heads, depth]), axes) of x [batch, rows, heads * depth].
  std::optional<Flat> flat(ValueId v, const Ints& axes = {0, 2, 1, 3}) const {
    const Node* turn = made_by(v, "transpose");
    if (!turn || graph_.attrs<TransposeAttrs>(*turn).axes != axes) return std::nullopt;
    const Node* reshape = made_by(turn->in[0], "reshape");
    if (!reshape) return std::nullopt;
    const Dims *from = dims(reshape->in[0]), *to = dims(turn->in[0]);
    if (!from || from->size() != 3 || !to || !((*from)[0] == (*to)[0]) || !((*from)[1] == (*to)[1]))
      return std::nullopt;
    const Dim &heads = (*to)[2], &depth = (*to)[3];
    if (!heads.is_number() || heads.value() < 1 || !((*from)[2] == heads * depth)) return std::nullopt;
    return Flat{reshape->in[0], heads.value()};
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

  void write(NodeId id, const Sentence& s) {
    AttentionAttrs a;
    a.scale = s.scale, a.hidden = s.hidden, a.guard = false;
    const auto q = flat(s.q), k = s.k.valid() ? flat(s.k) : flat(s.k_turned, {0, 2, 3, 1}), v = flat(s.v);
    const NodeId reshape = q && k && v ? flat_reader(s.y) : NodeId{};
    if (reshape.valid()) {
      a.q_heads = q->heads, a.kv_heads = k->heads;
      put(reshape, Builder(graph_, id)("attention", operands(q->x, k->x, v->x, s.mask), a));
      return;
    }
    ValueId keys = s.k;
    if (!keys.valid()) {  // k_turned = transpose(x, [0, 2, 3, 1])
      TransposeAttrs axes;
      axes.axes = {0, 2, 1, 3};
      keys = Builder(graph_, id)("transpose", {graph_.maker(s.k_turned)->in[0]}, axes);
    }
    put(id, Builder(graph_, id)("attention", operands(s.q, keys, s.v, s.mask), a));
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

  Graph& graph_;
};

}  // namespace

/// matmul(softmax(matmul(q, k, transpose_b) * scale + mask), v)   ->   attention(q, k, v, mask)
/// With the transposes and reshapes around it where heads come out of one axis and go back into it.
Result<int> fuse_attention(Graph& graph) { return AttentionFinder(graph).run(); }

}  // namespace nnex
