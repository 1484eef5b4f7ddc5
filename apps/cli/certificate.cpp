#include "certificate.h"

#include <algorithm>

#include "formats/cvm/import.h"
#include "graph/intervals.h"
#include "graph/precision.h"

namespace nnex::cli {

bool is_integer_model(const Graph& graph) {
  return cvm_format::model_info(graph).has_value() || !declared_bits(graph).empty();
}

namespace {

/// Values that may need more bits than the rules promise, each where that begins: what follows from it is left out, as
/// is what nobody bounds.
Json beyond_rule(const Graph& graph, const Intervals& intervals, const std::vector<int64_t>& by_rule) {
  std::vector<bool> beyond(graph.value_count());
  for (const NodeBound& n : intervals.nodes())
    if (!n.bounded) beyond[graph[n.node].out[0].n] = true;
  Json out = Json::array();
  const auto look = [&](ValueId v, const std::vector<ValueId>& from) {
    const auto proven = intervals.of(v);
    const int64_t rule = by_rule[v.n];
    if (beyond[v.n] || !proven || rule < 1 || proven->bits() <= rule) return;
    beyond[v.n] = true;
    if (std::any_of(from.begin(), from.end(), [&](ValueId x) { return x.valid() && beyond[x.n]; })) return;
    const std::string name = from.empty() || !graph[v].name.empty() ? graph[v].name : graph.place_of(graph[v].maker);
    out.push_back({{"value", name}, {"bits_by_rule", rule}, {"bits_proven", proven->bits()}});
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

Json certificate(const Graph& graph, bool compatible) {
  Faults faults;
  const std::vector<int64_t> by_rule = infer_precision(graph, {compatible}, faults);
  const Intervals intervals(graph, {});
  Json out = {{"schema", "nnex.certificate/1"}, {"safe", true}, {"nodes", Json::array()}};
  for (const NodeBound& n : intervals.nodes()) {
    const int64_t rule = by_rule[graph[n.node].out[0].n];
    Json row = {{"place", graph.place_of(n.node)}, {"op", graph[n.node].op->name}};
    row["bits_by_rule"] = rule > 0 ? Json(rule) : Json(nullptr);
    row["bits_proven"] = n.result.bits();
    row["low"] = n.result.low, row["high"] = n.result.high;
    if (n.partial > 0) row["accumulator_bound"] = n.partial;
    row["overflows"] = n.overflows;
    if (!n.bounded) row["bounded"] = false;
    if (n.overflows || !n.bounded) out["safe"] = false;
    out["nodes"].push_back(std::move(row));
  }
  out["beyond_rule"] = beyond_rule(graph, intervals, by_rule);
  return out;
}

void add_faults(const Json& certificate, bool compatible, Faults& faults, std::vector<std::string>& notes) {
  for (const Json& n : certificate["nodes"]) {
    const auto op = n["op"].get<std::string>(), place = n["place"].get<std::string>();
    if (n.contains("bounded")) notes.push_back(fmt::format("{}: {}: nothing bounds its result: no proof", place, op));
    if (n.contains("bounded") || !n["overflows"].get<bool>()) continue;
    std::string text =
        fmt::format("{}: a sum can pass int32: [{}, {}]", op, n["low"].get<int64_t>(), n["high"].get<int64_t>());
    if (n.contains("accumulator_bound"))
      text += fmt::format(", on its way +-{}", n["accumulator_bound"].get<int64_t>());
    faults.add(Error(Code::invalid_model, std::move(text)).at(place));
  }
  for (const Json& v : certificate["beyond_rule"]) {
    std::string text = fmt::format("'{}' may need {} bits; the rules promise {}", v["value"].get<std::string>(),
                                   v["bits_proven"].get<int64_t>(), v["bits_by_rule"].get<int64_t>());
    if (compatible)
      notes.push_back(std::move(text));
    else
      faults.add(Error(Code::invalid_model, std::move(text)));
  }
}

}  // namespace nnex::cli
