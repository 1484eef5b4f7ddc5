#include "run/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/faults.h"
#include "formats/cvm/import.h"
#include "formats/unwritable.h"
#include "graph/infer.h"
#include "graph/precision.h"
#include "passes/passes.h"
#include "run/raise_integers.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// Types of everything, or the first place where inference fails.
Status infer(Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// What helps where something cannot be said, and was not done already.
std::string_view remedy(bool custom) { return custom ? "" : " (--custom carries them as they are)"; }

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
  explicit Narrower(Graph& graph) : graph_(graph) {}

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
      if (graph_[narrow->second].maker.valid()) graph_.set_name(narrow->second, graph_[v].name);
      v = narrow->second;
    }
    graph_.set_results(kMain, std::move(results));
    NNEX_TRY(drop_unused(graph_));
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

  Graph& graph_;
  std::map<uint32_t, ValueId> carried_;  ///< Of a value of int64, or one that was: its numbers in int32.
};

}  // namespace

namespace {

/// A constant that is read by casts to int32 alone, which lose nothing of it, becomes one of int32 itself: unlike the
/// results of folding those casts it keeps its name.
///     y = cast(w, i32)   ->   w
Status widen_constants(Graph& graph) {
  constexpr int64_t kMost = int64_t{1} << 24;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const Tensor* t = v.constant.tensor();
    if (!t || !is_int(t->dtype()) || t->dtype() == DType::i32 || t->count() > kMost || v.uses.empty()) continue;
    const bool cast = std::all_of(v.uses.begin(), v.uses.end(), [&](const Use& u) {
      return u.node.valid() && graph[u.node].op->name == "cast" && graph[graph[u.node].out[0]].type.dtype == DType::i32;
    });
    if (!cast || !fits_int32(*t)) continue;
    NNEX_ASSIGN(Tensor wide, convert(*t, DType::i32));
    const std::vector<Use> uses = v.uses;
    Type type = v.type;
    type.dtype = DType::i32;
    graph.set_type(ValueId{n}, std::move(type));
    graph.make_constant(ValueId{n}, std::move(wide));
    for (const Use& u : uses) graph.replace_uses(graph[u.node].out[0], ValueId{n});
  }
  return {};
}

/// A result that only copies a parameter becomes the parameter, as CVM's heads may be: folding would make a second one.
///     y = copy(w)   ->   w          also where w is cast(bytes, i32)
void drop_copied_heads(Graph& graph) {
  std::vector<ValueId> results = graph.outputs();
  for (ValueId& v : results) {
    const Node* copy = graph.maker(v);
    if (!copy || copy->op->name != "copy") continue;
    const Node* cast = graph.maker(copy->in[0]);
    if (graph[cast && cast->op->name == "cast" ? cast->in[0] : copy->in[0]].is_constant()) v = copy->in[0];
  }
  graph.set_results(kMain, std::move(results));
}

/// Limits that a constant keeps anyway (CVM's indices are clamped) leave it as it is, with its name.
///     y = max(w, 0), y = min(w, n - 1)   ->   w
void drop_idle_limits(Graph& graph) {
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
void forget_unread(Graph& graph) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const bool input = !graph.inputs().empty() && v.name == graph[graph.inputs()[0]].name;
    if (v.is_constant() && v.uses.empty() && !input) graph.set_name(ValueId{n}, {});
  }
}

/// Whether the graph was read from a CVM model's own files, by no way over another format.
bool is_from_cvm(const Graph& graph) {
  return cvm_format::model_info(graph) && graph.meta.opsets.empty() &&
         !nnef_format::find_property(graph, nnef_format::kVariablesProperty);
}

/// What is nothing but a parameter under other extents takes its name, where nobody else reads the parameter: folding
/// makes one constant of them, and its bits are declared by that name.
void keep_names(Graph& graph) {
  constexpr std::string_view kViews[] = {"reshape", "squeeze", "unsqueeze", "flatten", "cast"};
  const DeclaredBits declared = declared_bits(graph);
  if (declared.empty()) return;
  for (NodeId id : graph.order()) {
    const Node& n = graph[id];
    if (std::find(std::begin(kViews), std::end(kViews), n.op->name) == std::end(kViews) || !graph.read_once(n.in[0]))
      continue;
    const ValueDef& from = graph[n.in[0]];
    const auto& uses = graph[n.out[0]].uses;
    const bool result = std::any_of(uses.begin(), uses.end(), [](const Use& u) { return !u.node.valid(); });
    if (declared.count(from.name) && !result) graph.set_name(n.out[0], from.name);
  }
}

}  // namespace

Status make_plain(Graph& graph) {
  NNEX_TRY(inline_functions(graph));
  NNEX_TRY(infer(graph));
  NNEX_TRY(drop_unused(graph));
  NNEX_TRY(widen_constants(graph));
  keep_names(graph);
  NNEX_TRY(drop_copies(graph));
  NNEX_TRY(fold_constants(graph));
  NNEX_TRY(drop_unused(graph));
  return infer(graph);
}

Result<cvm_format::ModelFiles> to_cvm(Graph& graph) {
  if (is_from_cvm(graph)) {  // it can be said as it is, with what nobody reads: gas counts that too
    NNEX_TRY(infer(graph));
    auto files = cvm_format::write_model(graph);
    if (files.ok()) return files;
  }
  NNEX_TRY(inline_functions(graph));
  drop_copied_heads(graph);
  drop_idle_limits(graph);
  NNEX_TRY(make_plain(graph));
  NNEX_TRY(raise_integers(graph));
  NNEX_TRY(Narrower(graph).run());
  forget_unread(graph);
  return cvm_format::write_model(graph);
}

Result<nnef_format::Written> to_nnef(Graph& graph, const nnef_format::WriteOptions& wanted) {
  NNEX_TRY(inline_functions(graph));
  NNEX_TRY(infer(graph));
  if (wanted.keep_fragments && nnef_format::find_property(graph, nnef_format::kDocumentProperty))
    return nnef_format::kept_document(graph);
  nnef_format::WriteOptions options = wanted;
  options.custom = false;
  options.integers32 |= wanted.custom;  // a document with fragments of ours needs this reader anyway
  if (nnef_format::find_property(graph, nnef_format::kVariablesProperty)) {  // read from NNEF: it can be said as it is
    std::vector<Unwritable> refused;
    auto written = nnef_format::write_document(graph, options, refused);
    if (written.ok() && refused.empty()) return written;
  }
  NNEX_TRY(make_plain(graph));
  for (int depth = 0; depth < 8; ++depth) {
    std::vector<Unwritable> refused;
    NNEX_ASSIGN(auto written, nnef_format::write_document(graph, options, refused));
    if (refused.empty()) return written;
    bool expanded = false;
    for (const auto& r : refused) {
      if (!graph[r.node].op || graph[r.node].op->body.empty()) continue;
      NNEX_TRY(expand_body(graph, r.node));
      expanded = true;
    }
    if (!expanded && (options.custom || !wanted.custom))
      return cannot_say("NNEF", remedy(wanted.custom), graph, refused);
    if (!expanded) options.custom = true;
    NNEX_TRY(infer(graph));
    NNEX_TRY(fold_constants(graph));
    NNEX_TRY(drop_unused(graph));
    NNEX_TRY(infer(graph));
  }
  return Error(Code::internal, "bodies of operators nested too deep");
}

Result<onnx_format::Written> to_onnx(Graph& graph, const onnx_format::WriteOptions& wanted) {
  onnx_format::WriteOptions options = wanted;
  options.custom = false;
  NNEX_TRY(infer(graph));
  for (int depth = 0; depth < 8; ++depth) {
    Graph lowered(graph);
    std::vector<Unwritable> refused;
    NNEX_TRY(onnx_format::lower_for_onnx(lowered, !wanted.custom));
    NNEX_ASSIGN(auto written, onnx_format::write_graph(lowered, options, refused));
    if (refused.empty()) {
      graph = std::move(lowered);
      return written;
    }
    bool changed = !graph.functions.empty();
    if (changed) {
      NNEX_TRY(inline_functions(graph));
      graph.functions.clear();
      NNEX_TRY(infer(graph));
      continue;
    }
    for (const auto& r : refused) {
      if (r.node.n >= graph.node_count()) continue;
      const Node& n = graph[r.node];
      if (n.erased || !n.op || n.op->body.empty()) continue;
      NNEX_TRY(expand_body(graph, r.node));
      changed = true;
    }
    if (!changed && (options.custom || !wanted.custom))
      return cannot_say("ONNX", remedy(wanted.custom), lowered, refused);
    if (!changed) options.custom = true;
    NNEX_TRY(infer(graph));
  }
  return Error(Code::internal, "bodies of operators nested too deep");
}

}  // namespace nnex
