// Transposes with views between them: one transpose moves each element where they all together would.

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/queries.h"
#include "ops/shape.h"
#include "passes/passes.h"
#include "passes/transposes.h"

namespace nnex::passes {
namespace {

/// Where axes go. Each is a product of factors, the outer ones first; a view that cuts an axis makes two factors of
/// one.
class Axes {
 public:
  explicit Axes(const Dims& x) {
    for (const Dim& d : x) {
      axes_.emplace_back();
      if (d == Dim(1)) continue;
      axes_.back().push_back(extents_.size());
      from_.push_back(extents_.size());
      extents_.push_back(d);
      outermost_ += axes_.size() == 1;
    }
  }

  void transpose(const Perm& p) {
    std::vector<Factors> to;
    for (int64_t axis : p) to.push_back(axes_[static_cast<size_t>(axis)]);
    axes_ = std::move(to);
  }

  /// Under another shape; false where its axes are not made of factors.
  bool view(const Dims& to) {
    Factors all = flat();
    axes_.clear();
    size_t next = 0;
    for (const Dim& d : to) {
      Factors& axis = axes_.emplace_back();
      if (d == Dim(1)) continue;
      if (!d.is_number()) {
        if (next == all.size() || !(extents_[all[next]] == d)) return false;
        axis.push_back(all[next++]);
        continue;
      }
      for (int64_t rest = d.value(); rest != 1;) {
        if (next == all.size() || !extents_[all[next]].is_number()) return false;
        const size_t f = all[next];
        const int64_t n = extents_[f].value();
        if (rest <= 0 || n <= 0) return false;
        if (rest % n != 0 && n % rest != 0) return false;
        if (n > rest) all.insert(all.begin() + static_cast<ptrdiff_t>(next) + 1, cut(f, rest));
        axis.push_back(f), ++next;
        rest /= std::min(n, rest);
      }
    }
    return next == all.size();
  }

  /// What x is seen as, and how the axes of that are transposed: as few as there can be, but for the outermost one of x
  /// where it stays that: plans run a batch item by item.
  std::pair<Dims, Perm> joined() const {
    const Factors to = flat();
    const auto place = [&](size_t f) { return std::find(from_.begin(), from_.end(), f) - from_.begin(); };
    std::vector<std::pair<ptrdiff_t, Dim>> groups;  // where each begins among x's factors, in the order of the result
    for (size_t i = 0; i < to.size(); ++i) {
      const bool items_end = i == outermost_ && place(to[0]) == 0 && groups.size() == 1;
      if (i > 0 && place(to[i]) == place(to[i - 1]) + 1 && !items_end)
        groups.back().second = groups.back().second * extents_[to[i]];
      else
        groups.emplace_back(place(to[i]), extents_[to[i]]);
    }
    auto sorted = groups;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::pair<Dims, Perm> out;
    for (const auto& group : sorted) out.first.push_back(group.second);
    for (const auto& group : groups)
      out.second.push_back(
          std::find_if(sorted.begin(), sorted.end(), [&](const auto& other) { return other.first == group.first; }) -
          sorted.begin());
    return out;
  }

 private:
  using Factors = std::vector<size_t>;

  Factors flat() const {
    Factors all;
    for (const Factors& axis : axes_) all.insert(all.end(), axis.begin(), axis.end());
    return all;
  }

  /// Leaves `outer` in factor f; the factor that has the rest. f stands alone in what is being viewed.
  size_t cut(size_t f, int64_t outer) {
    const size_t inner = extents_.size();
    extents_.push_back(Dim(extents_[f].value() / outer));
    extents_[f] = Dim(outer);
    const auto at = std::find(from_.begin(), from_.end(), f);
    outermost_ += static_cast<size_t>(at - from_.begin()) < outermost_;
    from_.insert(at + 1, inner);
    return inner;
  }

  std::vector<Dim> extents_;   ///< By factor.
  Factors from_;               ///< Those of x, in its order.
  size_t outermost_ = 0;       ///< How many of these make its outermost axis.
  std::vector<Factors> axes_;  ///< Of what x has become.
};

class MoveJoiner {
 public:
  explicit MoveJoiner(ir::Graph& graph) : graph_(graph), transposes_(graph) {}

  int run() {
    const std::vector<NodeId> order = graph_.order_with_blocks();
    int joined = 0;
    for (auto id = order.rbegin(); id != order.rend(); ++id)  // from the last one of each chain on
      if (!graph_[*id].erased && is_move(graph_[*id])) joined += join(*id);
    return joined;
  }

 private:
  bool is_move(const Node& node) const {
    return node.op->name == "transpose" && node.out[0].valid() && !graph_[node.out[0]].uses.empty();
  }

  int join(NodeId last) {
    // Up to the first transpose of the chain.
    std::vector<NodeId> chain, all = {last};  // the last one first
    int moves = 1;
    for (ValueId v = graph_[last].in[0]; graph_.read_once(v);) {
      const Node* node = graph_.producer(v);
      const bool move = node && node->op->name == "transpose";
      if (!node || !(move || node->op->view) || !(node->parent == graph_[last].parent)) break;
      if (!dims(node->out[0]) || !dims(node->in[0])) break;
      all.push_back(graph_[v].producer);
      if (move) ++moves, chain = all;
      v = node->in[0];
    }
    if (moves < 2 || !dims(graph_[last].out[0])) return 0;
    const ValueId x = graph_[chain.back()].in[0], y = graph_[last].out[0];
    Axes axes(*dims(x));
    for (auto id = chain.rbegin(); id != chain.rend(); ++id) {
      const auto perm = transposes_.perm_of(graph_[*id]);
      if (perm)
        axes.transpose(*perm);
      else if (!axes.view(*dims(graph_[*id].out[0])))
        return 0;
    }
    const auto [seen, perm] = axes.joined();
    if (!sayable(seen) || !sayable(*dims(y))) return 0;
    const ValueId v = moved(last, x, seen, perm, *dims(y));
    if (!(v == x)) graph_.set_name(v, graph_[y].name);
    graph_.replace_uses(y, v);
    for (NodeId id : chain) graph_.erase(id);
    return 1;
  }

  /// x, seen under another shape, turned, and seen as `to`.
  ValueId moved(NodeId before, ValueId x, const Dims& seen, const Perm& perm, const Dims& to) {
    if (std::is_sorted(perm.begin(), perm.end())) return view(before, x, to);
    Dims turned;
    for (int64_t axis : perm) turned.push_back(seen[static_cast<size_t>(axis)]);
    const ValueId v = transposes_.plain_transpose(before, view(before, x, seen), perm);
    graph_.set_type(v, Type::tensor(graph_[x].type.dtype, turned));
    return view(before, v, to);
  }

  /// A reshape can leave one extent to be found out.
  static bool sayable(const Dims& d) {
    return std::count_if(d.begin(), d.end(), [](const Dim& n) { return !n.is_number(); }) <= 1 &&
           std::none_of(d.begin(), d.end(), [](const Dim& n) { return n == Dim(0); });
  }

  ValueId view(NodeId before, ValueId x, const Dims& to) {
    if (*dims(x) == to) return x;
    Builder b(graph_, before);
    Ints extents;
    for (const Dim& d : to) extents.push_back(d.is_number() ? d.value() : -1);
    const ValueId v = b("reshape", {x, b.ints(extents)});
    graph_.set_type(v, Type::tensor(graph_[x].type.dtype, to));
    return v;
  }

  const Dims* dims(ValueId v) const {
    const MaybeDims& d = graph_[v].type.dims;
    return graph_[v].type.is_tensor() && d ? &*d : nullptr;
  }

  ir::Graph& graph_;
  Transposes transposes_;
};

}  // namespace

/// The channels of ShuffleNet change places within pixels:
///     transpose(reshape(transpose(reshape(transpose(x, [0,3,1,2]), [1,4,34,28,28]), [0,2,1,3,4]), [1,136,28,28]),
///     [0,2,3,1])
///         ->   reshape(transpose(reshape(x, [784,4,34]), [0,2,1]), [1,28,28,136])
/// A chain that comes to nothing is the view it began with.
Result<int> join_moves(ir::Graph& graph) { return MoveJoiner(graph).run(); }

}  // namespace nnex::passes
