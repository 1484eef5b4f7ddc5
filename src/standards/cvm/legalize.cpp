#include "standards/cvm/legalize.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/faults.h"
#include "base/try.h"
#include "graph/infer.h"
#include "passes/make_plain.h"
#include "passes/passes.h"
#include "standards/cvm/legalize_integers.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {
namespace {

/// Types of everything, or the first place where inference fails.
Status infer(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// Rows that move elements, be they stored as they may.
constexpr std::string_view kMovers[] = {"transpose", "reshape", "flatten", "squeeze", "unsqueeze", "slice",
                                        "concat",    "expand",  "tile",    "repeat",  "stack",     "copy",
                                        "split",     "unstack", "reverse", "pad"};

bool fits_int32(const Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i)
    if (const int64_t x = int_at(t, i); x < INT32_MIN || x > INT32_MAX) return false;
  return true;
}

/// Values of int64 that carry int32 become int32.
class Narrower {
 public:
  explicit Narrower(ir::Graph& graph) : graph_(graph) {}

  Status run() {
    for (ValueId v : std::vector<ValueId>(graph_.inputs()))
      if (graph_[v].type.dtype == DType::i64 && only_narrowed(v)) retype(v);
    const std::vector<NodeId> order = graph_.order();
    for (NodeId id : order) node(id);
    std::vector<ValueId> results = graph_.outputs();
    for (ValueId v : results) narrow_constant(v);
    for (ValueId& v : results) {
      const auto narrow = carried_.find(v.n);
      if (narrow == carried_.end() || narrow->second == v) continue;
      if (graph_[narrow->second].producer.valid()) graph_.set_name(narrow->second, graph_[v].name);
      v = narrow->second;
    }
    graph_.set_results(kMain, std::move(results));
    NNEX_TRY(passes::drop_unused(graph_));
    return infer(graph_);
  }

 private:
  bool narrows(const Node& node) const {
    return node.op->name == "cast" && graph_[node.out[0]].type.dtype == DType::i32;
  }
  bool only_narrowed(ValueId v) const {
    for (const Use& u : graph_[v].uses)
      if (!u.node.valid() || !narrows(graph_[u.node])) return false;
    return !graph_[v].uses.empty();
  }
  void retype(ValueId v) {
    Type t = graph_[v].type;
    t.dtype = DType::i32;
    graph_.set_type(v, std::move(t));
    carried_[v.n] = v;
  }
  ValueId carried(ValueId v) const {
    const auto it = carried_.find(v.n);
    return it == carried_.end() ? ValueId{} : it->second;
  }

  /// A constant of int64 beside carried values: its numbers in int32, where they fit.
  void narrow_constant(ValueId v) {
    const Tensor* t = graph_[v].constant.tensor();
    if (!t || t->dtype() != DType::i64 || carried(v).valid() || !fits_int32(*t)) return;
    auto narrow = convert(*t, DType::i32);
    if (!narrow.ok()) return;
    carried_[v.n] = graph_.add_constant(std::move(*narrow), graph_[v].name);
  }

  void node(NodeId id) {
    const Node& n = graph_[id];
    if (n.op->name == "cast") {
      const DType from = graph_[n.in[0]].type.dtype, to = graph_[n.out[0]].type.dtype;
      if (from == DType::i32 && to == DType::i64) carried_[n.out[0].n] = n.in[0];
      const ValueId narrow = carried(n.in[0]);
      if (to == DType::i32 && narrow.valid()) graph_.replace_uses(n.out[0], narrow);
      return;
    }
    if (std::find(std::begin(kMovers), std::end(kMovers), n.op->name) == std::end(kMovers)) return;
    const size_t elements = n.op->name == "concat" || n.op->name == "stack" ? n.in.size() : 1;
    bool any = false;
    for (size_t i = 0; i < elements; ++i) any |= carried(n.in[i]).valid();
    for (size_t i = 0; any && i < elements; ++i) narrow_constant(n.in[i]);
    for (size_t i = 0; i < elements; ++i)
      if (!carried(n.in[i]).valid()) return;
    for (size_t i = 0; i < elements; ++i) graph_.set_input(id, i, carried(n.in[i]));
    for (ValueId v : std::vector<ValueId>(n.out))
      if (v.valid()) retype(v);
  }

  ir::Graph& graph_;
  std::map<uint32_t, ValueId> carried_;  ///< Of a value of int64, or one that was: its numbers in int32.
};

/// A result that only copies a parameter becomes the parameter, as CVM's heads may be: folding would make a second one.
///     y = copy(w)   ->   w          also where w is cast(bytes, i32)
void drop_copied_heads(ir::Graph& graph) {
  std::vector<ValueId> results = graph.outputs();
  for (ValueId& v : results) {
    const Node* copy = graph.producer(v);
    if (!copy || copy->op->name != "copy") continue;
    const Node* cast = graph.producer(copy->in[0]);
    if (graph[cast && cast->op->name == "cast" ? cast->in[0] : copy->in[0]].is_constant()) v = copy->in[0];
  }
  graph.set_results(kMain, std::move(results));
}

/// Limits that a constant keeps anyway (CVM's indices are clamped) leave it as it is, with its name.
///     y = max(w, 0), y = min(w, n - 1)   ->   w
void drop_idle_limits(ir::Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& n = graph[id];
    const bool low = n.op->name == "max";
    if (!low && n.op->name != "min") continue;
    const Tensor *w = graph.constant_in(n, 0), *limit = graph.constant_in(n, 1);
    if (!w || !limit || !is_int(w->dtype()) || limit->dtype() != w->dtype() || limit->count() != 1 ||
        limit->shape().rank() > w->shape().rank())
      continue;
    bool idle = true;
    for (int64_t i = 0; idle && i < w->count(); ++i)
      idle = low ? int_at(*w, i) >= int_at(*limit, 0) : int_at(*w, i) <= int_at(*limit, 0);
    if (idle) graph.replace_uses(n.out[0], n.in[0]);
  }
}

/// Parameters that folding made others of leave no variable behind; an input that is given in the file stays.
void forget_unread(ir::Graph& graph) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const bool input = !graph.inputs().empty() && v.name == graph[graph.inputs()[0]].name;
    if (v.is_constant() && v.uses.empty() && !input) graph.set_name(ValueId{n}, {});
  }
}

}  // namespace

Status legalize(ir::Graph& graph) {
  NNEX_TRY(passes::inline_functions(graph));
  drop_copied_heads(graph);
  drop_idle_limits(graph);
  NNEX_TRY(passes::make_plain(graph));
  NNEX_TRY(legalize_integers(graph));
  NNEX_TRY(Narrower(graph).run());
  forget_unread(graph);
  return {};
}

}  // namespace nnex::cvm_format
