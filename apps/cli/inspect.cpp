// nnex inspect, check: what is there, and whether it is sound.

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "cli.h"
#include "edit.h"
#include "nnex/check.h"
#include "nnex/inspect.h"
#include "sarif.h"
#include "shared/flags.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

/// A number, a formula that can be read at a glance, or what it depends on.
std::string shown(const Inspection& model) {
  constexpr size_t kGlance = 80;
  if (model.multiply_adds.size() <= kGlance) return model.multiply_adds;
  return fmt::format("(depends on {})", fmt::join(model.multiply_add_symbols, ", "));
}

/// Bytes in the largest unit of which there is one.
std::string in_units(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  size_t unit = 0;
  double count = static_cast<double>(bytes);
  for (; count >= 1024 && unit + 1 < std::size(kUnits); ++unit) count /= 1024;
  return fmt::format("{:.1f} {}", count, kUnits[unit]);
}

/// What the verbs that take several models are asked for.
struct Asked {
  std::vector<std::string> paths;
  bool json = false, diff = false;
  double timeout = 0;  ///< Of all of them together.
  LoadOptions options;
  bool sarif = false, strict = false, rules = false;
  Json* results = nullptr;  ///< Where what was found goes instead of being printed.
};

void print(const Json& j) { say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace)); }

Json ports_json(const std::vector<PortInfo>& ports) {
  Json out = Json::array();
  for (const PortInfo& p : ports) out.push_back({{"name", p.name}, {"type", p.type}});
  return out;
}

Json inspection_json(const std::string& path, const Inspection& model) {
  Json j = {
      {"schema", "nnex.inspect/1"}, {"model", path}, {"producer", model.producer}, {"ir_version", model.ir_version}};
  j["opsets"] = Json::object();
  for (const auto& [domain, version] : model.opsets) j["opsets"][domain] = version;
  j["properties"] = Json::object();
  for (const MetadataEntry& entry : model.metadata) j["properties"][entry.key] = entry.text;
  j["inputs"] = ports_json(model.inputs);
  j["outputs"] = ports_json(model.outputs);
  if (!model.states.empty()) j["states"] = ports_json(model.states);
  j["symbols"] = model.symbols;
  if (!model.defaults.empty()) j["defaults"] = model.defaults;
  if (!model.external_files.empty()) j["external_files"] = model.external_files;
  j["nodes"] = model.nodes;
  j["operators"] = Json::object();
  for (const OperatorCount& op : model.operators) j["operators"][op.name] = op.nodes;
  j["parameters"] = model.parameters;
  j["parameter_bytes"] = model.parameter_bytes;
  if (model.activation_bytes) j["activation_bytes"] = *model.activation_bytes;
  j["macs"] = model.multiply_add_count ? Json(*model.multiply_add_count) : Json(model.multiply_adds);
  return j;
}

/// Who made the model, and what else the file says of it in short texts.
void print_origin(const Inspection& model, const std::string& path) {
  say("{}\n", path);
  if (!model.producer.empty() || model.ir_version > 0 || !model.opsets.empty()) {
    say("  made by {}{}{}", model.producer.empty() ? "an unnamed tool" : one_line(model.producer),
        model.producer_version.empty() ? "" : " ", one_line(model.producer_version));
    if (model.ir_version > 0) say(", IR {}", model.ir_version);
    for (const auto& [domain, version] : model.opsets)
      say(", {} {}", domain.empty() ? "ai.onnx" : one_line(domain), version);
    say("\n");
  }
  for (const auto& [key, text, internal] : model.metadata)
    if (!text.empty() && text.size() <= 80 && text.find('\n') == std::string::npos && !internal)
      say("  {} = {}\n", one_line(key), one_line(text));
}

/// How many nodes an ONNX file has: one may be several here, or none. Nothing: of another standard's model.
std::optional<int64_t> nodes_in_file(const ModelSource& source, const LoadOptions& options) {
  const auto counts = file_nodes(source, options);
  if (!counts.ok() || counts->empty()) return std::nullopt;
  int64_t nodes = 0;
  for (const OperatorCount& c : *counts) nodes += c.nodes;
  return nodes;
}

int inspect(const std::string& path, const Asked& asked) {
  const auto source = source_of(path);
  if (!source.ok()) return report(source.error());
  const auto model = awaited("inspecting", [&] { return nnex::inspect(*source, asked.options); });
  if (!model.ok()) return report(model.error());
  const auto in_file = nodes_in_file(*source, asked.options);
  if (asked.json) {
    Json j = inspection_json(path, *model);
    if (in_file) j["file_nodes"] = *in_file;
    print(j);
    return kOk;
  }
  print_origin(*model, path);
  for (const PortInfo& p : model->inputs) say("  input   {}  {}\n", one_line(p.name), one_line(p.type));
  if (const size_t n = model->defaults.size(); n > 3)
    say("  defaults of {} inputs, {} the first: constants here\n", n, one_line(model->defaults[0]));
  else
    for (const std::string& name : model->defaults) say("  default {}  a constant here\n", one_line(name));
  for (const PortInfo& p : model->outputs) say("  output  {}  {}\n", one_line(p.name), one_line(p.type));
  for (const PortInfo& p : model->states) say("  state   {}  {}\n", one_line(p.name), one_line(p.type));
  if (!model->external_files.empty())
    say("  data in {}\n", one_line(fmt::format("{}", fmt::join(model->external_files, ", "))));
  if (!model->symbols.empty()) say("  symbols {}\n", one_line(fmt::format("{}", fmt::join(model->symbols, ", "))));
  const std::string of_file = in_file && *in_file != model->nodes ? fmt::format(" ({} in the file)", *in_file) : "";
  say("  {} parameters, {} multiply-adds, {} nodes{}\n", model->parameters, one_line(shown(*model)), model->nodes,
      of_file);
  say("  parameters take {}", in_units(model->parameter_bytes));
  if (model->activation_bytes)
    say(", activations {} at once", in_units(*model->activation_bytes));
  else if (!model->symbols.empty())
    say("; activations depend on extents: --set gives them");
  say("\n");
  std::vector<OperatorCount> rows = model->operators;
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  for (const OperatorCount& op : rows) say("  {:>6}  {}\n", op.nodes, one_line(op.name));
  return kOk;
}

Json fault_json(const Fault& f) {
  Json out = {{"severity", name(f.severity)}, {"code", name(f.code)}, {"where", f.where}, {"message", f.message}};
  if (!f.rule.empty()) out["rule"] = f.rule;
  if (!f.found.empty()) out["found"] = f.found;
  if (!f.needed.empty()) out["needed"] = f.needed;
  for (const Remedy& r : f.remedies) out["remedies"].push_back(flag_words(r) + " " + r.effect);
  return out;
}

/// As a compiler tells it: the file, the place, what is wrong, and the rule where the sentence does not begin with it.
void print(const std::string& path, const Fault& f) {
  std::string text = f.text(flag_words);
  if (!f.rule.empty() && !f.message.starts_with(f.rule))
    text.insert(std::min(text.find("\n  while "), text.size()), fmt::format(" [{}]", f.rule));
  const bool named = f.where.starts_with(path);
  say("{}{}{}\n", named ? "" : path + ": ", f.forgiven() ? "warning: " : "", own_lines(text));
}

/// The rules as a table of Markdown, which documents hold.
int print_rules(bool json) {
  Json out = {{"schema", "nnex.rules/1"}, {"rules", Json::array()}};
  if (!json) say("| rule | severity | what holds |\n|---|---|---|\n");
  for (const CheckRule& r : onnx_rules())
    if (json)
      out["rules"].push_back({{"id", r.id}, {"severity", name(r.severity)}, {"summary", r.summary}});
    else
      say("| `{}` | {} | {} |\n", r.id, name(r.severity), r.summary);
  if (json) print(out);
  return kOk;
}

Json certificate_json(const Certificate& certificate) {
  Json out = {{"schema", "nnex.certificate/1"}, {"safe", certificate.safe}, {"nodes", Json::array()}};
  for (const NodeProof& n : certificate.nodes) {
    Json row = {{"place", n.where}, {"op", n.op}};
    row["bits_by_rule"] = n.bits_by_rule ? Json(*n.bits_by_rule) : Json(nullptr);
    row["bits_proven"] = n.bits_proven;
    row["low"] = n.low, row["high"] = n.high;
    if (n.accumulator_bound) row["accumulator_bound"] = *n.accumulator_bound;
    row["overflows"] = n.overflows;
    if (!n.bounded) row["bounded"] = false;
    out["nodes"].push_back(std::move(row));
  }
  out["beyond_rule"] = Json::array();
  for (const BrokenPromise& v : certificate.beyond_rule)
    out["beyond_rule"].push_back(
        {{"value", v.value}, {"bits_by_rule", v.bits_by_rule}, {"bits_proven", v.bits_proven}});
  return out;
}

Json report_json(const std::string& path, const CheckReport& found) {
  Json j = {{"schema", "nnex.check/1"}, {"model", path}, {"faults", Json::array()}};
  for (const Fault& n : found.notes) j["notes"].push_back(n.message);
  if (found.certificate) j["certificate"] = certificate_json(*found.certificate);
  for (const Fault& f : found.faults) j["faults"].push_back(fault_json(f));
  j["fault_count"] = found.fault_count;
  if (found.blame != CvmBlame::none) j["blame"] = found.blame == CvmBlame::logic ? "logic" : "runtime";
  return j;
}

/// A fault outweighs a limit, and that what is missing here.
int exit_code_of(const CheckReport& found) {
  int code = found.sound() ? kOk : kUnsupported;
  for (const Fault& f : found.faults) {
    if (f.code == Code::limit && code == kUnsupported) code = kRefused;
    if (f.severity == Severity::error) code = kNegative;
  }
  return code;
}

int check(const std::string& path, const Asked& asked) {
  const auto source = source_of(path);
  if (!source.ok()) return report(source.error());
  auto found = awaited("checking", [&] { return nnex::check(*source, asked.options); });
  if (found.ok() && asked.strict) found->be_strict();
  if (!found.ok()) {  // it cannot be looked into: its fault as any other's, and its own exit code
    const Error& e = found.error();
    if (asked.results) add_sarif(*asked.results, path, e);
    if (asked.json)
      print(
          {{"schema", "nnex.check/1"},
           {"model", path},
           {"faults", Json::array({fault_json(
                          {Severity::error, e.code(), {}, e.where(), e.message(), {}, {}, e.tasks(), e.remedies()})})},
           {"fault_count", 1}});
    return report(e);
  }
  if (asked.results) {
    add_sarif(*asked.results, path, *found);
    return exit_code_of(*found);
  }
  if (asked.json) {
    print(report_json(path, *found));
    return exit_code_of(*found);
  }
  for (const Fault& n : found->notes) say("{}: note: {}\n", path, own_lines(n.message));
  for (const Fault& f : found->faults) print(path, f);
  const auto counted = [](size_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); };
  const size_t warnings = found->forgiven_count, faults = found->fault_count - warnings;
  say("{}: {}{}\n", path, faults ? counted(faults, "fault") : "sound",
      warnings ? ", " + counted(warnings, "warning") : "");
  return exit_code_of(*found);
}

/// A verb that takes models, one after the other; the exit code is the gravest.
void add_models(CommandLine& line, const std::string& name, const std::string& help, bool finds_faults,
                int (*run)(const std::string&, const Asked&)) {
  auto asked = std::make_shared<Asked>();
  auto reading = std::make_shared<ReadingOptions>();
  Verb verb = line.verb(name, help, [asked, reading, run] {
    auto options = reading->options();
    if (!options.ok()) return report(options.error());
    asked->options = std::move(options).value();
    const TimeLimit limit(asked->timeout);
    if (asked->rules) return print_rules(asked->json);
    if (asked->paths.empty()) return report(Error(Code::invalid_argument, "found no model; needed one or more"));
    if (asked->diff) return show_difference(asked->paths, asked->options, asked->json);
    if (asked->sarif && asked->json)
      return report(Error(Code::invalid_argument, "found both --json and --sarif; needed one of them"));
    Json results = Json::array();
    if (asked->sarif) asked->results = &results;
    int code = kOk;
    for (const std::string& path : asked->paths) code = std::max(code, run(path, *asked));
    if (asked->sarif) print(sarif_log(std::move(results)));
    return code;
  });
  auto models = verb.option("model", asked->paths, std::string(kModelHelp) + "; several, one after the other");
  if (!finds_faults) models.required();
  verb.flag("--json", asked->json, "Print a JSON object for each");
  if (name == "inspect")
    verb.flag("--diff", asked->diff, "Of two models: nodes, attributes, constants and ports that differ; exit code 1");
  if (finds_faults) {
    verb.flag("--sarif", asked->sarif, "Print one log in SARIF 2.1.0 for all, as editors and code hosts read it");
    verb.flag("--strict", asked->strict, "Of ONNX: what readers forgive is an error, too");
    verb.flag("--rules", asked->rules, "Of ONNX: print the rules as a table instead of checking models");
  }
  reading->add_to(verb);
  add_timeout(verb, asked->timeout);
}

}  // namespace

void add_inspect(CommandLine& line) {
  add_models(line, "inspect", "Show a model's inputs, outputs, operators and sizes", false, inspect);
}

void add_check(CommandLine& line) {
  add_models(line, "check", "Check a model and list every fault with its place", true, check);
}

}  // namespace nnex::cli
