#include "nnex/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/compare_layers.h"
#include "api/tolerance.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/try.h"
#include "nnex/file.h"
#include "run/options.h"

namespace nnex {
namespace {

ComparedTensor compared_port(const PortInfo& a, const std::string& b, const Value& x, const Value& y,
                             const Tolerance& tolerance) {
  ComparedTensor out;
  out.a = a.name, out.b = b, out.type = x.text(), out.matched = MatchedBy::port;
  out.difference = difference(x, y, tolerance);
  return out;
}

void compare_outputs(const WholeRun& a, const WholeRun& b, const Tolerance& tolerance, CompareReport& report) {
  std::vector<bool> seen_a(a.outputs.size()), seen_b(b.outputs.size());
  for (const auto& [i, j] : match_ports(a.outputs, b.outputs)) {
    report.outputs.push_back(compared_port(a.outputs[i], b.outputs[j].name, a.results[i], b.results[j], tolerance));
    seen_a[i] = seen_b[j] = true;
  }
  for (size_t i = 0; i < seen_a.size(); ++i)
    if (!seen_a[i]) report.only_a.push_back(a.outputs[i].name);
  for (size_t j = 0; j < seen_b.size(); ++j)
    if (!seen_b[j]) report.only_b.push_back(b.outputs[j].name);
}

bool outputs_same(const CompareReport& report) {
  return report.only_a.empty() && report.only_b.empty() &&
         std::all_of(report.outputs.begin(), report.outputs.end(),
                     [](const ComparedTensor& t) { return t.difference.same(); });
}

std::string shown_node(const LayerNetwork& n, NodeId id) {
  const std::string& place = n.graph.place_of(id);
  return place.empty() ? std::string(n.op_of(id)) : fmt::format("{} at {}", n.op_of(id), place);
}

std::vector<std::string> shown_nodes(const LayerNetwork& n, const Cut& cut) {
  std::vector<std::string> out;
  for (NodeId id : cut.nodes) out.push_back(shown_node(n, id));
  return out;
}

/// The search for the first tensor that differs.
class LayerSearch {
 public:
  LayerSearch(const LayerNetwork& a, const LayerNetwork* b, const Others* others, const CompareOptions& options,
              CompareReport& report)
      : a_(a), b_(b), others_(others), options_(options), report_(report) {}

  Status run(const ValuePairs& inputs, const ValuePairs& outputs, const std::map<std::string, Value>& named_inputs);

 private:
  Status match(const ValuePairs& inputs, const ValuePairs& outputs);
  void find_first();
  void write_isolated(const Cut& cut_a, const PairState& target, const Cut& cut_b, const ValuePairs& inputs);
  /// Which of b's values corresponds to a's, or none.
  ValueId partner(ValueId v, const ValuePairs& inputs, bool of_b) const;

  const LayerNetwork& a_;
  const LayerNetwork* b_;
  const Others* others_;
  const CompareOptions& options_;
  CompareReport& report_;
  std::vector<PairState> pairs_;
  bool by_name_ = true;
  ValuePairs inputs_;
};

Status LayerSearch::match(const ValuePairs& inputs, const ValuePairs& outputs) {
  std::vector<LayerPair> found;
  if (!b_) {
    for (size_t l = 0; l < a_.layers.size(); ++l)
      if (!a_.graph[a_.layers[l].value].name.empty()) found.push_back({l, 0, MatchedBy::name});
  } else if (auto named = match_by_name(a_, *b_)) {
    found = std::move(*named);
  } else {
    by_name_ = false;
    NNEX_ASSIGN(const auto in_a, fingerprints(a_, options_.a, options_));
    NNEX_ASSIGN(const auto in_b, fingerprints(*b_, options_.b, options_));
    found = match_by_value(a_, *b_, in_a, in_b, inputs);
  }
  if (b_) {  // outputs correspond in any case
    for (const auto& [x, y] : outputs) {
      const auto l = a_.layer_of.find(x.n), m = b_->layer_of.find(y.n);
      if (l == a_.layer_of.end() || m == b_->layer_of.end()) continue;
      std::erase_if(found, [&](const LayerPair& p) { return (p.a == l->second) != (p.b == m->second); });
      if (std::none_of(found.begin(), found.end(), [&](const LayerPair& p) { return p.a == l->second; }))
        found.push_back({l->second, m->second, MatchedBy::port});
    }
  }
  std::sort(found.begin(), found.end(), [](const LayerPair& x, const LayerPair& y) { return x.a < y.a; });
  for (const LayerPair& p : found) pairs_.push_back({p, {}, false});
  return {};
}

Status LayerSearch::run(const ValuePairs& inputs, const ValuePairs& outputs,
                        const std::map<std::string, Value>& named_inputs) {
  inputs_ = inputs;
  NNEX_TRY(match(inputs, outputs));
  const Until until = options_.layers ? Until::end : Until::first;
  if (b_)
    NNEX_TRY(compare_pairs(a_, *b_, pairs_, options_, until));
  else
    NNEX_TRY(compare_named(a_, *others_, named_inputs, pairs_, options_, until));
  report_.searched = true;
  report_.layers_a = a_.layers.size(), report_.layers_b = b_ ? b_->layers.size() : 0;
  for (const PairState& p : pairs_) {
    if (p.compared) report_.layers.push_back(*p.compared);
    report_.skipped += b_ && p.skipped;
  }
  find_first();
  return {};
}

void LayerSearch::find_first() {
  const auto target = std::find_if(pairs_.begin(), pairs_.end(),
                                   [](const PairState& p) { return p.compared && !p.compared->difference.same(); });
  if (target == pairs_.end()) return;
  std::vector<bool> equal_a(a_.layers.size()), equal_b(b_ ? b_->layers.size() : 0);
  for (const PairState& p : pairs_) {
    if (!p.compared || !p.compared->difference.same()) continue;
    equal_a[p.pair.a] = true;
    if (b_) equal_b[p.pair.b] = true;
  }
  const Cut cut_a = cut_before(a_, target->pair.a, equal_a);
  const Cut cut_b = b_ ? cut_before(*b_, target->pair.b, equal_b) : Cut{};
  FirstDifference first;
  first.tensor = *target->compared;
  // Without names what has no partner may be what differs: the first of it is where both part. What was found by
  // structure, or by its name then, is made of partners.
  const MatchedBy matched = target->pair.matched;
  if (!by_name_ && cut_a.nodes.size() > 1 && matched != MatchedBy::structure && matched != MatchedBy::name) {
    const NodeId node = cut_a.nodes.front();
    for (size_t l = 0; l < a_.layers.size(); ++l) {
      if (!(a_.layers[l].node == node)) continue;
      first.tensor = {};
      first.tensor.a = a_.layers[l].label, first.tensor.op = a_.op(l), first.tensor.place_a = a_.place(l);
      first.tensor.type = a_.graph[a_.layers[l].value].type.text();
      first.tensor.matched = MatchedBy::none;
      break;
    }
  }
  for (ValueId v : cut_a.inputs) {
    const auto it = a_.layer_of.find(v.n);
    first.inputs.push_back(it == a_.layer_of.end() ? a_.graph[v].name : a_.layers[it->second].label);
  }
  first.nodes_a = shown_nodes(a_, cut_a);
  if (b_) first.nodes_b = shown_nodes(*b_, cut_b);
  report_.first = std::move(first);
  if (!options_.isolate.empty()) write_isolated(cut_a, *target, cut_b, inputs_);
}

ValueId LayerSearch::partner(ValueId v, const ValuePairs& inputs, bool of_b) const {
  for (const auto& [x, y] : inputs)
    if ((of_b ? y : x) == v) return of_b ? x : y;
  for (const PairState& p : pairs_) {
    const ValueId x = a_.layers[p.pair.a].value, y = b_->layers[p.pair.b].value;
    if ((of_b ? y : x) == v) return of_b ? x : y;
  }
  return {};
}

void LayerSearch::write_isolated(const Cut& cut_a, const PairState& target, const Cut& cut_b,
                                 const ValuePairs& inputs) {
  ValuePairs both;
  for (ValueId v : cut_a.inputs) both.emplace_back(v, b_ ? partner(v, inputs, false) : ValueId{});
  bool whole = true;
  for (ValueId v : cut_b.inputs) {
    const ValueId x = partner(v, inputs, true);
    whole &= x.valid();
    if (x.valid() && std::none_of(both.begin(), both.end(), [&](const auto& p) { return p.second == v; }))
      both.emplace_back(x, v);
  }
  if (!whole) {
    report_.isolated.emplace();
    report_.isolated->note = "the second model reads an input there that the first has none for";
    return;
  }
  report_.isolated = isolate(a_, cut_a, a_.layers[target.pair.a].value, b_, cut_b,
                             b_ ? b_->layers[target.pair.b].value : ValueId{}, both, others_, options_);
}

/// Ports of two runs as values of their networks: parameters and results stand in the ports' order, states last.
ValuePairs value_pairs(const std::vector<PortInfo>& a, const std::vector<PortInfo>& b, const std::vector<ValueId>& in_a,
                       const std::vector<ValueId>& in_b) {
  ValuePairs out;
  for (const auto& [i, j] : match_ports(a, b)) out.emplace_back(in_a[i], in_b[j]);
  return out;
}

/// Whether to look at layers; a run that was whole has said what it has to say.
bool wants_search(const CompareReport& report, const CompareOptions& options) {
  return options.layers || (!report.same && options.search);
}

void conclude(CompareReport& report, const CompareOptions& options) {
  if (!options.layers) return;
  for (const ComparedTensor& t : report.layers) report.same &= t.difference.same();
}

Result<CompareReport> compare_models(const ModelSource& a, const ModelSource& b, const InputsOf& inputs,
                                     const CompareOptions& options) {
  CompareReport report;
  NNEX_ASSIGN(const WholeRun run_a, run_whole(a, options.a, options.session, options.run, inputs));
  NNEX_ASSIGN(const WholeRun run_b, run_whole(b, options.b, options.session, options.run,
                                              [&](const Model& m) { return inputs_for(run_a, m.inputs()); }));
  compare_outputs(run_a, run_b, options.tolerance, report);
  report.same = outputs_same(report);
  if (!wants_search(report, options)) return report;
  NNEX_ASSIGN(const LayerNetwork net_a, LayerNetwork::open(a, options.a, run_a.given));
  NNEX_ASSIGN(const LayerNetwork net_b, LayerNetwork::open(b, options.b, run_b.given));
  ValuePairs in = value_pairs(run_a.inputs, run_b.inputs, net_a.graph.inputs(), net_b.graph.inputs());
  for (size_t i = 0; i < net_a.graph.states.size(); ++i)
    for (size_t j = 0; j < net_b.graph.states.size(); ++j)
      if (net_a.graph.states[i].label == net_b.graph.states[j].label)
        in.emplace_back(net_a.graph.inputs()[run_a.inputs.size() + i], net_b.graph.inputs()[run_b.inputs.size() + j]);
  const ValuePairs out = value_pairs(run_a.outputs, run_b.outputs, net_a.graph.outputs(), net_b.graph.outputs());
  LayerSearch search(net_a, &net_b, nullptr, options, report);
  NNEX_TRY(search.run(in, out, {}));
  conclude(report, options);
  return report;
}

Result<CompareReport> compare_others(const ModelSource& a, const Others& b, const InputsOf& inputs,
                                     const CompareOptions& options) {
  CompareReport report;
  NNEX_ASSIGN(const WholeRun run_a, run_whole(a, options.a, options.session, options.run, inputs));
  const std::map<std::string, Value> named = inputs_by_name(run_a);
  std::vector<std::string> names;
  for (const PortInfo& port : run_a.outputs) names.push_back(port.name);
  NNEX_ASSIGN(const auto there, b.tensors(named, names));
  for (size_t i = 0; i < run_a.outputs.size(); ++i) {
    const auto it = there.find(run_a.outputs[i].name);
    if (it == there.end())
      report.only_a.push_back(run_a.outputs[i].name);
    else
      report.outputs.push_back(
          compared_port(run_a.outputs[i], it->first, run_a.results[i], it->second, options.tolerance));
  }
  report.same = outputs_same(report);
  if (!wants_search(report, options)) return report;
  NNEX_ASSIGN(const LayerNetwork net_a, LayerNetwork::open(a, options.a, run_a.given));
  LayerSearch search(net_a, nullptr, &b, options, report);
  NNEX_TRY(search.run({}, {}, named));
  conclude(report, options);
  return report;
}

constexpr const char* kInputs = "the host gave the inputs of a run";

Status check_arguments(const InputsOf& inputs, const CompareOptions& options) {
  if (!inputs) return Error(Code::invalid_argument, "needed a function that gives the inputs of a run");
  NNEX_TRY(check_options(options.session));
  NNEX_TRY(check_tolerance(options.tolerance));
  if (options.held_bytes < 0)
    return failure(Code::invalid_argument, "option 'held_bytes': found {}; needed 0 or more", options.held_bytes);
  if (options.isolate.empty() || has_ending(options.isolate, ".onnx")) return {};
  return failure(Code::invalid_argument, "'{}': nodes that differ are written to a name that ends in .onnx",
                 options.isolate);
}

}  // namespace

Result<CompareReport> compare(const ModelSource& a, const ModelSource& b, const InputsOf& inputs,
                              const CompareOptions& options) {
  NNEX_TRY(check_arguments(inputs, options));
  return guarded([&] { return compare_models(a, b, caught(inputs, kInputs), options); });
}

Result<CompareReport> compare(const ModelSource& a, const Others& b, const InputsOf& inputs,
                              const CompareOptions& options) {
  NNEX_TRY(check_arguments(inputs, options));
  if (!b.tensors) return Error(Code::invalid_argument, "needed a function that gives the tensors to compare with");
  constexpr const char* kTensors = "the host gave tensors to compare with";
  return guarded([&] {
    const Others others = {caught(b.tensors, kTensors), caught(b.run, kTensors)};
    return compare_others(a, others, caught(inputs, kInputs), options);
  });
}

}  // namespace nnex
