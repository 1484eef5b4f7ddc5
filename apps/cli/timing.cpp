#include "timing.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "nnex/inspect.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

Result<std::vector<Given>> inputs_of(const Model& model, const TimingOptions& o) {
  return o.inputs.values(model, o.model, [&](size_t i, const KnownExtents& known) {
    return stored_or_random(model, i, o.model, o.inputs, known);
  });
}

/// What carried inputs and others share of open extents.
std::vector<std::string> shared_extents(const Inspection& model, const std::vector<Carry>& carried) {
  const auto is_carried = [&](const PortInfo& p) {
    return std::any_of(carried.begin(), carried.end(), [&](const Carry& c) { return c.input == p.name; });
  };
  std::set<std::string> ours, others;
  for (const PortInfo& p : model.inputs)
    for (size_t i = 0; i < p.extents.size(); ++i)
      if (p.extents[i] < 0) (is_carried(p) ? ours : others).insert(p.dims[i]);
  std::vector<std::string> out;
  std::set_intersection(ours.begin(), ours.end(), others.begin(), others.end(), std::back_inserter(out));
  return out;
}

}  // namespace

Result<Model> load_timed(const ModelOptions& o) {
  NNEX_ASSIGN(const ModelSource source, source_of(o.path));
  NNEX_ASSIGN(LoadOptions options, o.carrying(source));
  if (!options.carry.empty()) {
    LoadOptions as_it_stands = options;
    as_it_stands.carry.clear();
    NNEX_ASSIGN(const Inspection model, inspect(source, as_it_stands));
    for (const std::string& extent : shared_extents(model, options.carry)) options.symbols.emplace(extent, 1);
  }
  return load_model(source, options);
}

void TimingOptions::add_to(Verb verb) {
  model.add_to(verb);
  model.add_carry_to(verb);
  add_cache(verb, model.cache);
  inputs.add_to(verb);
  verb.option("--seconds", seconds, "How long to measure").above_zero();
  add_timeout(verb, timeout);
  verb.flag("--json", json, "Print a JSON object");
}

Result<Prepared> prepare(const TimingOptions& o, const RunOptions& options) {
  const auto start = Clock::now();
  NNEX_ASSIGN(Model model, awaited("loading", [&] { return load_timed(o.model); }));
  const double load_ms = ms_since(start);
  NNEX_ASSIGN(std::vector<Given> given, inputs_of(model, o));
  const SessionOptions session = o.model.session_options();
  Prepared p{model, model.session(session), std::move(given), {}, session.threads, load_ms, 0};
  p.inputs = values_of(p.given);
  const auto first = Clock::now();
  auto ran = awaited("running", [&] { return p.session.run(p.inputs, options); });
  p.first_ms = ms_since(first);
  ModelOptions::tell_cache(p.model);
  if (ran.ok()) return p;
  const bool stored =
      std::any_of(p.given.begin(), p.given.end(), [](const Given& g) { return g.from == kStoredInputs; });
  if (!stored || ran.error().code() != Code::invalid_argument) return std::move(ran).error();
  return std::move(ran).error().during("running the test data beside the model; --random or -i gives other inputs");
}

Json inputs_json(const Prepared& p) {
  Json list = Json::array();
  for (size_t i = 0; i < p.given.size(); ++i)
    list.push_back({{"name", p.model.inputs()[i].name}, {"type", p.inputs[i].text()}, {"from", p.given[i].from}});
  return list;
}

void print_inputs(const Prepared& p) {
  for (size_t i = 0; i < p.given.size(); ++i)
    say("  input {}  {}  ({})\n", one_line(p.model.inputs()[i].name), p.inputs[i].text(), p.given[i].from);
}

}  // namespace nnex::cli
