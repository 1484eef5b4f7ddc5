#include "api/quantize/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/failure.h"
#include "base/faults.h"
#include "graph/infer.h"
#include "passes/passes.h"

namespace nnex {
namespace {

constexpr int kMaxRounds = 8;
constexpr Result<int> (*kPasses[])(ir::Graph&) = {passes::fold_known,  passes::simplify,    passes::fold_affine,
                                                  passes::merge_equal, passes::drop_copies, passes::drop_unused};

Status infer(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// What nodes make without a name, or with one that another tensor has, gets one of its own.
void name_all(ir::Graph& graph) {
  std::set<std::string> taken;
  for (const BlockId b : {kMain})
    for (ValueId v : graph[b].params) taken.insert(graph[v].name);
  for (ValueId v : graph.outputs()) taken.insert(graph[v].name);
  const std::set<ValueId> results(graph.outputs().begin(), graph.outputs().end());
  size_t number = 0;
  for (NodeId id : graph.order())
    for (ValueId v : graph[id].out) {
      if (!v.valid() || results.count(v)) continue;
      std::string name = graph[v].name;
      while (name.empty() || !taken.insert(name).second) name = fmt::format("{}_{}", graph[id].op->name, number++);
      graph.set_name(v, std::move(name));
    }
}

bool has_nan(const Value& value) {
  const Tensor* t = value.tensor();
  if (!t || t->dtype() != DType::f32) return false;
  const auto x = t->as<float>();
  return std::any_of(x.begin(), x.end(), [](float v) { return std::isnan(v); });
}

}  // namespace

Result<ir::Graph> float_network(const ir::Graph& graph, bool keeps_codes) {
  ir::Graph out(graph);
  NNEX_TRY(passes::inline_functions(out));
  NNEX_TRY(infer(out));
  std::vector<std::string> names;
  for (ValueId v : out.outputs()) names.push_back(out[v].name);
  for (int round = 0, changed = 1; changed != 0 && round < kMaxRounds; ++round) {
    changed = 0;
    const auto apply = [&](Result<int> (*pass)(ir::Graph&)) -> Status {
      NNEX_ASSIGN(const int applied, pass(out));
      changed += applied;
      return applied != 0 ? infer(out) : Status();
    };
    NNEX_TRY(apply(keeps_codes ? passes::fold_but_stored_codes : passes::fold_constants));
    for (const auto pass : kPasses) NNEX_TRY(apply(pass));
  }
  for (size_t i = 0; i < names.size(); ++i) out.set_name(out.outputs()[i], names[i]);
  name_all(out);
  return out;
}

ir::Graph with_results(const ir::Graph& graph, const std::vector<ValueId>& more) {
  ir::Graph out(graph);
  std::vector<ValueId> results = out.outputs();
  // What states become stays behind everything else.
  results.insert(results.end() - static_cast<ptrdiff_t>(out.states.size()), more.begin(), more.end());
  out.set_results(kMain, std::move(results));
  return out;
}

std::string sample_text(const SampleSet& samples, int64_t index) {
  return samples.name ? samples.name(index) : fmt::format("sample {}", index);
}

Status run_samples(const std::vector<Model>& models, const SampleSet& samples, int64_t count,
                   const QuantizeOptions& options,
                   const std::function<Status(int64_t sample, const std::vector<std::vector<Value>>& results)>& seen) {
  std::vector<Session> sessions;
  for (const Model& m : models) sessions.push_back(m.session(options.session));
  for (int64_t i = 0; i < count; ++i) {
    NNEX_ASSIGN(const std::vector<Value> inputs, samples.read(models[0].inputs(), i));
    for (size_t k = 0; k < inputs.size() && k < models[0].inputs().size(); ++k)
      if (has_nan(inputs[k]))
        return failure(Code::invalid_argument, "{}: input '{}' has elements that are NaN; needed finite numbers",
                       sample_text(samples, i), models[0].inputs()[k].name);
    std::vector<std::vector<Value>> results;
    for (Session& s : sessions) {
      NNEX_TRY(s.reset_states());
      auto r = s.run(inputs, options.run);
      if (!r.ok()) return std::move(r).error().during("running " + sample_text(samples, i));
      results.push_back(std::move(*r));
    }
    NNEX_TRY(seen(i, results));
  }
  return {};
}

}  // namespace nnex
