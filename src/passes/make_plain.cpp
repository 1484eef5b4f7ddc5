#include "passes/make_plain.h"

#include <algorithm>
#include <string_view>

#include "base/faults.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/precision.h"
#include "graph/queries.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// Types of everything, or the first place where inference fails.
Status infer(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

bool fits_int32(const Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i)
    if (const int64_t x = int_at(t, i); x < INT32_MIN || x > INT32_MAX) return false;
  return true;
}

/// A constant that is read by casts to int32 alone, which lose nothing of it, becomes one of int32 itself: unlike the
/// results of folding those casts it keeps its name.
///     y = cast(w, i32)   ->   w
Status widen_constants(ir::Graph& graph) {
  constexpr int64_t kMax = int64_t{1} << 24;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const Tensor* t = v.constant.tensor();
    if (!t || !is_int(t->dtype()) || t->dtype() == DType::i32 || t->count() > kMax || v.uses.empty()) continue;
    const bool declared = graph.provenance.bits.count(v.name) > 0;  // results, too, have their bits by that name
    const bool cast = std::all_of(v.uses.begin(), v.uses.end(), [&](const Use& u) {
      return u.node.valid() && graph[u.node].op->name == "cast" &&
             graph[graph[u.node].out[0]].type.dtype == DType::i32 &&
             (declared || !is_result(graph, graph[u.node].out[0]));
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

/// What is nothing but a parameter under other extents takes its name, where nobody else reads the parameter: folding
/// makes one constant of them, and its bits are declared by that name.
void keep_names(ir::Graph& graph) {
  const DeclaredBits& declared = graph.provenance.bits;
  if (declared.empty()) return;
  for (NodeId id : graph.order()) {
    const Node& n = graph[id];
    if (!(n.op->view || n.op->name == "cast") || !graph.read_once(n.in[0])) continue;
    const ValueDef& from = graph[n.in[0]];
    if (declared.count(from.name) && !is_result(graph, n.out[0])) graph.set_name(n.out[0], from.name);
  }
}

}  // namespace

Status make_plain(ir::Graph& graph, StoredCodes codes) {
  NNEX_TRY(inline_functions(graph));
  NNEX_TRY(infer(graph));
  NNEX_TRY(drop_unused(graph));
  NNEX_TRY(widen_constants(graph));
  keep_names(graph);
  NNEX_TRY(drop_copies(graph));
  for (bool again = true; again;) {
    NNEX_TRY(codes == StoredCodes::keep          ? fold_but_bytes(graph)
             : codes == StoredCodes::keep_halves ? fold_but_halves(graph)
                                                 : fold_constants(graph));
    NNEX_TRY(fold_known(graph));
    NNEX_ASSIGN(const int taken, take_branches(graph));
    NNEX_TRY(drop_copies(graph));
    NNEX_TRY(drop_unused(graph));
    NNEX_TRY(infer(graph));
    again = taken > 0;
  }
  return {};
}

}  // namespace nnex::passes
