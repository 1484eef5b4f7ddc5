#include "certificate.h"

#include "base/faults.h"
#include "graph/intervals.h"
#include "graph/precision.h"

namespace nnex::cli {

bool is_integer_model(const Graph& graph) { return !declared_bits(graph).empty(); }

Json certificate(const Graph& graph) {
  Faults faults;
  const std::vector<int64_t> by_rule = infer_precision(graph, {}, faults);
  const Intervals intervals(graph, {});
  Json out = {{"schema", "nnex.certificate/1"}, {"safe", true}, {"nodes", Json::array()}};
  for (const NodeBound& n : intervals.nodes()) {
    const ValueId y = graph[n.node].out[0];
    Json row = {{"place", graph.place_of(n.node)}, {"op", graph[n.node].op->name}};
    const int64_t rule = y.n < by_rule.size() ? by_rule[y.n] : 0;
    row["bits_by_rule"] = rule > 0 ? Json(rule) : Json(nullptr);
    row["bits_proven"] = n.result.bits();
    row["low"] = n.result.low, row["high"] = n.result.high;
    if (n.partial > 0) row["accumulator_bound"] = n.partial;
    // Either proof is enough: the rules' bits hold every value too.
    const bool overflows = n.overflows && (rule < 1 || rule > 32);
    row["overflows"] = overflows;
    if (overflows) out["safe"] = false;
    out["nodes"].push_back(std::move(row));
  }
  return out;
}

}  // namespace nnex::cli
