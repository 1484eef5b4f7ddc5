#include "api/compare_whole.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "base/joined.h"
#include "base/try.h"
#include "nnex/elements.h"
#include "nnex/load.h"

namespace nnex {
namespace {

/// Standards have integers and floats of other widths; between kinds nothing is converted.
Result<Value> in_width_of(const PortInfo& port, const Value& value) {
  const Tensor* t = value.tensor();
  if (!t || port.dtype == DType::none || t->dtype() == port.dtype) return value;
  const auto whole = [](DType d) { return is_int(d) || d == DType::boolean; };
  if (!(whole(t->dtype()) && whole(port.dtype)) && !(is_real(t->dtype()) && is_real(port.dtype))) return value;
  NNEX_ASSIGN(Tensor converted, cast(*t, port.dtype));
  return Value(std::move(converted));
}

}  // namespace

Result<WholeRun> run_whole(const ModelSource& source, const LoadOptions& load, const SessionOptions& session,
                           const RunOptions& run, const InputsOf& inputs) {
  NNEX_ASSIGN(const Model model, load_model(source, load));
  WholeRun out;
  out.inputs = model.inputs(), out.outputs = model.outputs(), out.states = model.states().size();
  NNEX_ASSIGN(out.given, inputs(model));
  Session runs = model.session(session);
  auto results = runs.run(out.given, run);
  if (!results.ok()) return std::move(results).error().during("running " + source.shown());
  out.results = std::move(*results);
  for (const PortInfo& state : model.states()) {
    NNEX_ASSIGN(Value kept, runs.state(state.name));
    out.outputs.push_back(state);
    out.results.push_back(std::move(kept));
  }
  return out;
}

std::vector<std::pair<size_t, size_t>> match_ports(const std::vector<PortInfo>& a, const std::vector<PortInfo>& b) {
  std::vector<std::pair<size_t, size_t>> out;
  std::map<std::string, size_t> in_b;
  for (size_t j = 0; j < b.size(); ++j) in_b.try_emplace(b[j].name, j);
  std::vector<size_t> left_a, left_b;
  std::vector<bool> taken(b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto it = in_b.find(a[i].name);
    if (it == in_b.end() || taken[it->second]) {
      left_a.push_back(i);
      continue;
    }
    taken[it->second] = true;
    out.emplace_back(i, it->second);
  }
  for (size_t j = 0; j < b.size(); ++j)
    if (!taken[j]) left_b.push_back(j);
  if (left_a.size() == left_b.size())
    for (size_t k = 0; k < left_a.size(); ++k) out.emplace_back(left_a[k], left_b[k]);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<Value>> inputs_for(const WholeRun& a, const std::vector<PortInfo>& b) {
  std::vector<Value> out(b.size());
  std::vector<bool> given(b.size());
  for (const auto& [i, j] : match_ports(a.inputs, b)) {
    NNEX_ASSIGN(out[j], in_width_of(b[j], a.given[i]));
    given[j] = true;
  }
  std::vector<std::string> found, needed;
  for (const PortInfo& port : a.inputs) found.push_back(fmt::format("'{}'", port.name));
  for (size_t j = 0; j < b.size(); ++j)
    if (!given[j]) needed.push_back(fmt::format("'{}' ({})", b[j].name, b[j].type));
  if (needed.empty()) return out;
  return failure(Code::invalid_argument, "the second model's inputs {} correspond to none of the first, which takes {}",
                 joined(needed, ", "), joined(found, ", "));
}

std::map<std::string, Value> inputs_by_name(const WholeRun& a) {
  std::map<std::string, Value> out;
  for (size_t i = 0; i < a.inputs.size(); ++i) out[a.inputs[i].name] = a.given[i];
  return out;
}

}  // namespace nnex
