// nnex inspect, check, env: what is there, and whether it is sound.

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/faults.h"
#include "base/mapped_file.h"
#include "base/quota.h"
#include "base/threads.h"
#include "certificate.h"
#include "cli.h"
#include "formats/cvm/files.h"
#include "formats/cvm/symbol.h"
#include "formats/nnef/model.h"
#include "formats/read.h"
#include "graph/infer.h"
#include "graph/missing.h"
#include "graph/symbols.h"
#include "graph/work.h"
#include "kernels/simd/loops.h"
#include "passes/passes.h"
#include "webnn/read_any.h"

namespace nnex::cli {
namespace {

std::string op_name(const Graph& graph, NodeId id) {
  const Node& n = graph[id];
  return n.foreign ? (n.foreign->domain.empty() ? "" : n.foreign->domain + ".") + n.foreign->name
                   : std::string(n.op->name);
}

int64_t parameters(const Graph& graph) {
  int64_t n = 0;
  for (uint32_t v = 0; v < graph.value_count(); ++v)
    if (const Tensor* t = graph[ValueId{v}].constant.tensor(); t && !graph[ValueId{v}].uses.empty()) n += t->count();
  return n;
}

/// Multiply-adds of convolutions and matrix products, where extents are known.
Dim macs(const Graph& graph) {
  Dim sum = 0;
  for (NodeId id : graph.order_with_blocks()) sum = sum + multiply_adds(graph, graph[id]);
  return sum;
}

/// A number, a formula that can be read at a glance, or what it depends on.
std::string shown(const Dim& d) {
  constexpr size_t kGlance = 80;
  if (d.text().size() <= kGlance) return d.text();
  return fmt::format("(depends on {})", fmt::join(d.symbols(), ", "));
}

/// What the verbs that take several models are asked for.
struct Asked {
  std::vector<std::string> paths;
  bool json = false;
  LoadOptions options;
};

/// Who made the model, and what else the file says of it in short texts.
void print_origin(const Graph& graph, const std::string& path) {
  fmt::print("{}\n", path);
  const Metadata& meta = graph.meta;
  if (!meta.producer.empty() || meta.ir_version > 0 || !meta.opsets.empty()) {
    fmt::print("  made by {}{}{}", meta.producer.empty() ? "an unnamed tool" : meta.producer,
               meta.producer_version.empty() ? "" : " ", meta.producer_version);
    if (meta.ir_version > 0) fmt::print(", IR {}", meta.ir_version);
    for (const auto& [domain, version] : meta.opsets)
      fmt::print(", {} {}", domain.empty() ? "ai.onnx" : domain, version);
    fmt::print("\n");
  }
  for (const auto& [key, value] : meta.properties)
    if (!value.empty() && value.size() <= 80 && value.find('\n') == std::string::npos &&
        key != nnef_format::kVariablesProperty)
      fmt::print("  {} = {}\n", key, value);
}

int inspect(const std::string& path, const Asked& asked) {
  const bool json = asked.json;
  LoadOptions options = asked.options;
  // A structure whose tensor files are elsewhere has shapes all the same.
  if (!options.weight_seed) options.weight_seed = 0;
  auto read = read_any(path, options);
  if (!read.ok()) return report(std::move(read).error().during(fmt::format("reading '{}'", path)));
  Graph graph = std::move(read).value();
  if (Status s = fix_symbols(graph, options.symbols); !s.ok()) return report(s.error());
  if (auto inlined = inline_functions(graph); !inlined.ok()) return report(inlined.error());
  Faults faults;
  infer_types(graph, faults);
  std::map<std::string, int> counts;
  for (NodeId id : graph.order_with_blocks()) ++counts[op_name(graph, id)];
  Json j = {{"schema", "nnex.inspect/1"},
            {"model", path},
            {"producer", graph.meta.producer},
            {"ir_version", graph.meta.ir_version}};
  j["opsets"] = graph.meta.opsets;
  j["properties"] = Json::object();
  for (const auto& [key, value] : graph.meta.properties) j["properties"][key] = value;
  // States are the last inputs, and what they become the last outputs.
  const size_t states = graph.states.size();
  const auto ports = [&](const std::vector<ValueId>& all) {
    return std::span<const ValueId>(all.data(), all.size() - std::min(states, all.size()));
  };
  for (const char* side : {"inputs", "outputs"}) {
    j[side] = Json::array();
    for (ValueId v : ports(side[0] == 'i' ? graph.inputs() : graph.outputs()))
      j[side].push_back({{"name", graph[v].name}, {"type", graph[v].type.text()}});
  }
  for (size_t i = 0; i < states; ++i) {
    const ValueId v = graph.inputs()[graph.inputs().size() - states + i];
    j["states"].push_back({{"name", graph.states[i].label}, {"type", graph[v].type.text()}});
  }
  j["symbols"] = graph.symbols();
  j["nodes"] = graph.order_with_blocks().size();
  j["operators"] = counts;
  j["parameters"] = parameters(graph);
  const Dim work = macs(graph);
  j["macs"] = work.number() ? Json(*work.number()) : Json(work.text());
  if (json) {
    fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  print_origin(graph, path);
  for (ValueId v : ports(graph.inputs())) fmt::print("  input   {}  {}\n", graph[v].name, graph[v].type.text());
  for (ValueId v : ports(graph.outputs())) fmt::print("  output  {}  {}\n", graph[v].name, graph[v].type.text());
  if (states > 0)
    for (const Json& state : j["states"])
      fmt::print("  state   {}  {}\n", state["name"].get<std::string>(), state["type"].get<std::string>());
  if (!graph.symbols().empty()) fmt::print("  symbols {}\n", fmt::join(graph.symbols(), ", "));
  fmt::print("  {} parameters, {} multiply-adds, {} nodes\n", parameters(graph), shown(work),
             graph.order_with_blocks().size());
  std::vector<std::pair<std::string, int>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, count] : rows) fmt::print("  {:>6}  {}\n", count, name);
  return kOk;
}

/// All faults of an NNEF model: of a text alone (.nnef) its own, of a folder or an archive those of all files. Whether
/// the path is of such a model.
Result<bool> check_nnef(const std::string& path, const LoadOptions& asked, Faults& faults,
                        std::vector<std::string>& notes) {
  nnef_format::EvaluateOptions options;
  if (asked.dialect.empty()) options.dialect = nnef_format::Dialect::any;
  for (const auto& [name, extents] : asked.shapes) options.shapes.emplace(name, extents);
  if (path.ends_with(".nnef") && !std::filesystem::is_directory(path)) {
    NNEX_ASSIGN(MappedFile text, MappedFile::open(path, MapPolicy::automatic));
    NNEX_TRY(nnef_format::check_document(text.bytes(), path, options, faults, notes));
    return true;
  }
  if (path.ends_with(".webnn")) return false;
  NNEX_ASSIGN(const std::optional<Container> model, open_nnef(path, asked));
  if (!model) return false;
  NNEX_TRY(nnef_format::check_model(*model, options, faults, notes));
  return true;
}

int check(const std::string& path, const Asked& asked) {
  const bool json = asked.json;
  Faults faults;
  std::vector<std::string> notes;
  const bool is_cvm = cvm_format::find_files(path).has_value();
  std::string blame;  // of a CVM model that is refused: logic or runtime
  const bool tract = asked.options.dialect == "tract";
  LoadOptions options = asked.options;
  if (tract && !options.weight_seed) options.weight_seed = 0;
  bool is_nnef = false;
  if (!tract && !is_cvm) {
    auto checked = check_nnef(path, asked.options, faults, notes);
    if (!checked.ok()) return report(checked.error());
    is_nnef = *checked;
  }
  Graph graph;
  bool is_read = true;
  if (!is_nnef) {
    auto read = read_any(path, options);
    is_read = read.ok();
    if (is_read) {
      graph = std::move(*read);
    } else {
      if (!is_cvm && read.error().code() == Code::unreadable) return report(read.error());
      if (is_cvm) blame = name(cvm_format::blame(read.error()));
      faults.add(std::move(read).error());
    }
  }
  if (is_read)
    if (Status s = fix_symbols(graph, options.symbols); !s.ok()) return report(s.error());
  if (is_read && !is_nnef) {
    auto inlined = inline_functions(graph);
    if (!inlined.ok())
      faults.add(std::move(inlined).error());
    else
      infer_types(graph, faults);
    for (const Missing& m : missing_operators(graph))
      faults.add(Error(Code::unsupported, fmt::format("operator {} is missing", m.text())));
  }
  Json proof;
  if (is_read && faults.none() && is_integer_model(graph)) {
    const bool compatible = options.compat == "formal";
    proof = certificate(graph, compatible);
    add_faults(proof, compatible, faults, notes);
  }
  Json j = {{"schema", "nnex.check/1"}, {"model", path}, {"faults", Json::array()}};
  if (!notes.empty()) j["notes"] = notes;
  for (const std::string& n : notes)
    if (!json) fmt::print("{}: note: {}\n", path, n);
  if (!proof.is_null()) j["certificate"] = std::move(proof);
  bool invalid = false;
  for (const Error& e : faults.list()) {
    invalid |= e.code() != Code::unsupported;
    j["faults"].push_back({{"code", name(e.code())}, {"where", e.where()}, {"message", e.message()}});
    if (!json) fmt::print("{}\n", e.text());
  }
  if (!blame.empty()) j["blame"] = blame;
  if (json)
    fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  else if (faults.none())
    fmt::print("{}: sound\n", path);
  else
    fmt::print("{}: {} fault{}\n", path, faults.count(), faults.count() == 1 ? "" : "s");
  return faults.none() ? kOk : invalid ? kNegative : kUnsupported;
}

int env(bool json) {
  Json j = {{"schema", "nnex.env/1"},
            {"version", "0.1.0"},
            {"threads", usable_threads()},
            {"memory_mib", usable_memory() >> 20},
            {"isa", simd::name(simd::best_isa())}};
  j["runnable_isas"] = Json::array();
  for (int i = 0; i < static_cast<int>(simd::Isa::count); ++i)
    if (simd::can_run(static_cast<simd::Isa>(i))) j["runnable_isas"].push_back(simd::name(static_cast<simd::Isa>(i)));
  j["operators"] = all_ops().size();
  if (json) {
    fmt::print("{}\n", j.dump(1));
    return kOk;
  }
  for (const auto& [key, value] : j.items())
    if (key != "schema") fmt::print("{:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  return kOk;
}

/// The verb takes models, one after the other; the exit code is the gravest.
void add_models(CLI::App& verb, int (*run)(const std::string&, const Asked&), int& exit_code) {
  auto asked = std::make_shared<Asked>();
  auto reading = std::make_shared<ReadingOptions>();
  verb.add_option("model", asked->paths, std::string(kModelHelp) + "; several, one after the other")->required();
  verb.add_flag("--json", asked->json, "Print a JSON object for each");
  reading->add_to(verb);
  verb.callback([asked, reading, run, &exit_code] {
    auto options = reading->options();
    if (!options.ok()) {
      exit_code = report(options.error());
      return;
    }
    asked->options = std::move(options).value();
    for (const std::string& path : asked->paths) exit_code = std::max(exit_code, run(path, *asked));
  });
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("inspect", "Show a model's inputs, outputs, operators and sizes");
  add_models(*verb, inspect, exit_code);
}

void add_check(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("check", "Check a model and list every fault with its place");
  add_models(*verb, check, exit_code);
}

void add_env(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("env", "Show what this build and machine can do");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Print a JSON object");
  verb->callback([json, &exit_code] { exit_code = env(*json); });
}

}  // namespace nnex::cli
