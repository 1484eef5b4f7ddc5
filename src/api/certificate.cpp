#include "api/certificate.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/intervals.h"
#include "graph/precision.h"
#include "standards/cvm/import.h"

namespace nnex {

bool is_integer_model(const ir::Graph& graph) {
  return cvm_format::model_info(graph) || !graph.provenance.bits.empty();
}

namespace {

/// Values that may need more bits than the rules promise, each where that begins: what follows from it is left out, as
/// is what nobody bounds.
std::vector<BrokenPromise> beyond_rule(const ir::Graph& graph, const Intervals& intervals,
                                       const std::vector<int64_t>& by_rule) {
  std::vector<bool> beyond(graph.value_count());
  for (const NodeBound& n : intervals.nodes())
    if (!n.bounded) beyond[graph[n.node].out[0].n] = true;
  std::vector<BrokenPromise> out;
  const auto look = [&](ValueId v, const std::vector<ValueId>& from) {
    const auto proven = intervals.of(v);
    const int64_t rule = by_rule[v.n];
    if (beyond[v.n] || !proven || rule < 1 || proven->bits() <= rule) return;
    beyond[v.n] = true;
    if (std::any_of(from.begin(), from.end(), [&](ValueId x) { return x.valid() && beyond[x.n]; })) return;
    out.push_back({from.empty() || !graph[v].name.empty() ? graph[v].name : graph.place_of(graph[v].producer), rule,
                   proven->bits()});
  };
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (graph[ValueId{n}].is_constant()) look(ValueId{n}, {});
  // What an input holds is the caller's affair; its clip is a node.
  for (NodeId id : graph.order())
    for (ValueId v : graph[id].out)
      if (v.valid()) look(v, graph[id].in);
  return out;
}

}  // namespace

Certificate certify(const ir::Graph& graph, bool compatible) {
  Faults faults;
  const std::vector<int64_t> by_rule = infer_precision(graph, {compatible}, faults);
  const Intervals intervals(graph, {});
  Certificate out;
  for (const NodeBound& n : intervals.nodes()) {
    const int64_t rule = by_rule[graph[n.node].out[0].n];
    NodeProof row;
    row.where = graph.place_of(n.node);
    row.op = graph[n.node].op->name;
    if (rule > 0) row.bits_by_rule = rule;
    row.bits_proven = n.result.bits();
    row.low = n.result.low, row.high = n.result.high;
    if (n.partial > 0) row.accumulator_bound = n.partial;
    row.overflows = n.overflows;
    row.bounded = n.bounded;
    if (n.overflows || !n.bounded) out.safe = false;
    out.nodes.push_back(std::move(row));
  }
  out.beyond_rule = beyond_rule(graph, intervals, by_rule);
  return out;
}

void add_faults(const Certificate& certificate, bool compatible, Faults& faults, std::vector<std::string>& notes) {
  for (const NodeProof& n : certificate.nodes) {
    if (!n.bounded) notes.push_back(fmt::format("{}: {}: nothing bounds its result: no proof", n.where, n.op));
    if (!n.bounded || !n.overflows) continue;
    std::string text = fmt::format("{}: a sum can pass int32: [{}, {}]", n.op, n.low, n.high);
    if (n.accumulator_bound) text += fmt::format(", on its way +-{}", *n.accumulator_bound);
    faults.add(Error(Code::invalid_model, std::move(text)).at(n.where));
  }
  for (const BrokenPromise& v : certificate.beyond_rule) {
    std::string text =
        fmt::format("'{}' may need {} bits; the rules promise {}", v.value, v.bits_proven, v.bits_by_rule);
    if (compatible)
      notes.push_back(std::move(text));
    else
      faults.add(Error(Code::invalid_model, std::move(text)));
  }
}

}  // namespace nnex
