// nnex compare: whether two models compute the same, and which tensor differs first.

#include "nnex/compare.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli.h"
#include "describe.h"
#include "exchange.h"
#include "nnex/file.h"
#include "nnex/inspect.h"
#include "peer.h"
#include "stored.h"
#include "subprocess.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

/// What another program may print.
constexpr size_t kMaxAnswer = size_t{4} << 30;

struct CompareArguments {
  ModelOptions model;
  InputOptions inputs;
  WritingOptions writing;
  std::string other, command, against, bisect;
  std::optional<uint64_t> ulp;
  std::string atol_text, rtol_text;
  double timeout = 0;
  bool layers = false, no_search = false, json = false;
};

/// A number of at least 0, or nothing for an empty word.
Result<std::optional<double>> tolerance_of(const std::string& option, const std::string& word) {
  if (word.empty()) return std::optional<double>();
  char* end = nullptr;
  const double x = std::strtod(word.c_str(), &end);
  if (*end || !(x >= 0))
    return Error(Code::invalid_argument, fmt::format("{} '{}': needed a number of at least 0", option, word));
  return std::optional<double>(x);
}

/// The program on the other side.
Result<Program> program_of(const CompareArguments& o) {
  if (!o.against.empty()) return peer_command();
  return Program{o.command, {"/bin/sh", "-c", o.command}};
}

Others others_of(const Program& program, const std::string& model) {
  Others out;
  out.run = [program](const std::string& path, const std::map<std::string, Value>& inputs,
                      std::span<const std::string> names) -> Result<std::map<std::string, Value>> {
    NNEX_ASSIGN(const std::string request, exchange_request(path, inputs, names));
    NNEX_ASSIGN(const std::string answer, run_program(program, request, kMaxAnswer));
    return exchange_answer(answer);
  };
  out.tensors = [run = out.run, model](const std::map<std::string, Value>& inputs, std::span<const std::string> names) {
    return run(model, inputs, names);
  };
  return out;
}

Others others_of(std::map<std::string, Value> tensors) {
  Others out;
  out.tensors = [tensors = std::move(tensors)](const std::map<std::string, Value>&,
                                               std::span<const std::string> names) {
    std::map<std::string, Value> there;
    for (const std::string& n : names)
      if (const auto it = tensors.find(n); it != tensors.end()) there.insert(*it);
    return Result<std::map<std::string, Value>>(std::move(there));
  };
  return out;
}

/// Whether another program can answer with what the model makes.
Status can_be_exchanged(const Model& model) {
  for (const PortInfo& port : model.outputs())
    if (is_object(port.dtype))
      return Error(
          Code::unsupported,
          fmt::format("output '{}' is {}; only tensors of numbers are exchanged (nnex extract --to OTHERS leaves "
                      "it out)",
                      port.name, port.type));
  return {};
}

/// The inputs of the run, and where they are from, for the report.
struct Inputs {
  std::vector<std::string> names;
  std::vector<Given> given;

  /// Of both sides' runs. Made up they have both signs: else nothing would be known of half of the numbers.
  InputsOf reader(const CompareArguments& o) {
    return [this, &o](const Model& model) -> Result<std::vector<Value>> {
      if (o.other.empty()) NNEX_TRY(can_be_exchanged(model));
      InputOptions inputs = o.inputs;
      inputs.random_from = -1;
      const auto otherwise = [&](size_t i, const KnownExtents& known) {
        return stored_or_random(model, i, o.model, inputs, known);
      };
      NNEX_ASSIGN(given, inputs.values(model, o.model, otherwise));
      for (const PortInfo& port : model.inputs()) names.push_back(port.name);
      return values_of(given);
    };
  }
  /// Of a run whose outputs are stored: those beside them, or what `run --random` made them from.
  InputsOf reader(const CompareArguments& o, const std::vector<std::string>& stored) {
    return [this, &o, stored](const Model& model) -> Result<std::vector<Value>> {
      InputOptions inputs = o.inputs;
      if (inputs.files.empty() && !inputs.random) inputs.files = stored;
      const auto otherwise = [&](size_t i, const KnownExtents&) -> Result<Given> {
        NNEX_ASSIGN(std::optional<Given> beside, stored_input(model, i, o.model, inputs));
        if (beside) return std::move(*beside);
        return Error(Code::invalid_argument,
                     fmt::format("'{}' has nothing for input '{}': give what its tensors were made from with --input, "
                                 "or --random where that is what run had",
                                 o.other, model.inputs()[i].name));
      };
      NNEX_ASSIGN(given, inputs.values(model, o.model, otherwise));
      for (const PortInfo& port : model.inputs()) names.push_back(port.name);
      return values_of(given);
    };
  }
};

/// Whether "N" or "x.0" is an extent that the model leaves open.
bool leaves_open(const Inspection& model, const std::string& symbol) {
  if (std::find(model.symbols.begin(), model.symbols.end(), symbol) != model.symbols.end()) return true;
  for (const PortInfo& p : model.inputs)
    for (size_t i = 0; i < p.extents.size(); ++i)
      if (p.extents[i] < 0 && symbol == fmt::format("{}.{}", p.name, i)) return true;
  return false;
}

/// What --set and --set-shape say of the second model, which may have other symbols and inputs, or none.
Status fit_extents(LoadOptions& options, const ModelSource& source) {
  if (options.symbols.empty() && options.shapes.empty()) return {};
  LoadOptions as_it_stands = options;
  as_it_stands.symbols.clear(), as_it_stands.shapes.clear();
  NNEX_ASSIGN(const Inspection model, inspect(source, as_it_stands));
  std::erase_if(options.symbols, [&](const auto& s) { return !leaves_open(model, s.first); });
  std::erase_if(options.shapes, [&](const auto& s) {
    return std::none_of(model.inputs.begin(), model.inputs.end(), [&](const PortInfo& p) {
      return p.name == s.first && (!p.known_rank || p.extents.size() == s.second.size());
    });
  });
  return {};
}

Result<CompareOptions> options_of(const CompareArguments& o) {
  CompareOptions out;
  NNEX_ASSIGN(out.a, o.model.options());
  out.b = out.a;
  out.session = o.model.session_options();
  NNEX_ASSIGN(out.tolerance.atol, tolerance_of("--atol", o.atol_text));
  NNEX_ASSIGN(out.tolerance.rtol, tolerance_of("--rtol", o.rtol_text));
  if (o.ulp) out.tolerance.ulp = static_cast<int64_t>(std::min<uint64_t>(*o.ulp, INT64_MAX));
  out.layers = o.layers, out.search = !o.no_search;
  out.isolate = o.bisect, out.overwrite = o.writing.force;
  return out;
}

Status check(const CompareArguments& o) {
  const int sides = !o.other.empty() + !o.command.empty() + !o.against.empty();
  if (sides != 1)
    return Error(
        Code::invalid_argument,
        fmt::format("found {} second sides; needed one: a model or stored tensors, --command or --against", sides));
  if (o.bisect.empty()) return {};
  if (!has_ending(o.bisect, ".onnx"))
    return Error(Code::invalid_argument, fmt::format("--bisect '{}': needed a name in .onnx", o.bisect));
  const std::string stem = o.bisect.substr(0, o.bisect.size() - 5);
  for (const std::string& path : {o.bisect, stem + ".other.onnx", stem + ".inputs.npz"})
    NNEX_TRY(may_write(path, o.writing.existing()));
  return {};
}

/// A folder with a model in it is that model: where it is the first one, what was meant is the data beside it.
Status is_another(const CompareArguments& o) {
  std::error_code error;
  const std::filesystem::path folder(o.other), model(o.model.path);
  if (!std::filesystem::is_directory(folder, error) || std::filesystem::is_directory(model, error) ||
      !std::filesystem::equivalent(folder, model.has_parent_path() ? model.parent_path() : ".", error))
    return {};
  const auto stored = folder / kStoredInputs;
  return Error(Code::invalid_argument,
               fmt::format("'{}' is the folder that the model is in{}", o.other,
                           std::filesystem::exists(stored, error)
                               ? fmt::format("; needed one of its folders of test data, such as '{}'", stored.string())
                               : "; needed another model, or stored tensors"));
}

Result<CompareReport> compare(const CompareArguments& o, Inputs& inputs, const RunOptions& run) {
  NNEX_ASSIGN(CompareOptions options, options_of(o));
  options.run = run;
  NNEX_ASSIGN(const ModelSource a, source_of(o.model.path));
  if (o.other.empty()) {
    if (o.model.path == "-")
      return Error(Code::invalid_argument, "another program cannot be given standard input; needed the model's path");
    NNEX_ASSIGN(const auto program, program_of(o));
    return nnex::compare(a, others_of(program, o.model.path), inputs.reader(o), options);
  }
  if (!holds_tensors(o.other)) {
    NNEX_TRY(is_another(o));
    NNEX_ASSIGN(const ModelSource b, source_of(o.other));
    options.a.nnef.quantized = false;  // its answers are what the second's are measured by
    NNEX_TRY(fit_extents(options.b, b));
    return nnex::compare(a, b, inputs.reader(o), options);
  }
  NNEX_ASSIGN(const Model ports, o.model.load());
  NNEX_ASSIGN(Stored stored, read_stored(o.other, ports, o.inputs.file_options(o.model)));
  return nnex::compare(a, others_of(std::move(stored.tensors)), inputs.reader(o, stored.inputs), options);
}

// ---- For programs

Json difference_json(const Difference& d) {
  if (!d.mismatch.empty()) return {{"same", false}, {"mismatch", d.mismatch}};
  Json j = {{"same", d.same()},
            {"elements", d.count},
            {"differing", d.differing},
            {"max_ulp", d.max_ulp ? Json(*d.max_ulp) : Json(nullptr)},
            {"max_absolute", number_of(d.max_absolute)},
            {"max_relative", number_of(d.max_relative)},
            {"cosine", number_of(d.cosine)},
            {"sqnr_db", number_of(d.sqnr_db)},
            {"nan_both", d.nan_both},
            {"nan_mismatch", d.nan_mismatch},
            {"infinity_mismatch", d.infinity_mismatch},
            {"atol", d.atol},
            {"rtol", d.rtol}};
  if (d.worst >= 0) j["worst"] = {{"index", d.worst}, {"a", d.worst_a}, {"b", d.worst_b}};
  return j;
}

Json tensor_json(const ComparedTensor& t) {
  Json j = {{"a", t.a}, {"b", t.b}, {"type", t.type}, {"matched", name(t.matched)}};
  if (!t.op.empty()) j["operator"] = t.op;
  if (!t.place_a.empty()) j["place_a"] = t.place_a;
  if (!t.place_b.empty()) j["place_b"] = t.place_b;
  if (t.matched != MatchedBy::none) j["difference"] = difference_json(t.difference);
  return j;
}

Json list_json(const std::vector<ComparedTensor>& list) {
  Json out = Json::array();
  for (const ComparedTensor& t : list) out.push_back(tensor_json(t));
  return out;
}

void print_json(const CompareArguments& o, const Inputs& inputs, const CompareReport& r) {
  Json j = {{"schema", "nnex.compare/1"},
            {"a", o.model.path},
            {"b", !o.other.empty()     ? o.other
                  : !o.command.empty() ? o.command
                                       : o.against},
            {"same", r.same},
            {"inputs", Json::array()}};
  for (size_t i = 0; i < inputs.given.size(); ++i)
    j["inputs"].push_back(
        {{"name", inputs.names[i]}, {"type", inputs.given[i].value.text()}, {"from", inputs.given[i].from}});
  j["outputs"] = list_json(r.outputs);
  if (!r.only_a.empty()) j["only_a"] = r.only_a;
  if (!r.only_b.empty()) j["only_b"] = r.only_b;
  if (r.searched) {
    j["layers_a"] = r.layers_a, j["layers_b"] = r.layers_b, j["skipped"] = r.skipped;
    j["layers"] = list_json(r.layers);
    j["first"] = nullptr;
  }
  if (r.first) {
    j["first"] = tensor_json(r.first->tensor);
    j["first"]["made_from"] = r.first->inputs;
    j["first"]["nodes_a"] = r.first->nodes_a, j["first"]["nodes_b"] = r.first->nodes_b;
  }
  if (r.isolated)
    j["bisect"] = {{"model", r.isolated->model},     {"other", r.isolated->other},
                   {"inputs", r.isolated->inputs},   {"nodes_a", r.isolated->nodes_a},
                   {"nodes_b", r.isolated->nodes_b}, {"reproduced", r.isolated->reproduced},
                   {"note", r.isolated->note}};
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

// ---- For people

std::string shown_name(const ComparedTensor& t) { return t.a == t.b || t.b.empty() ? t.a : t.a + " = " + t.b; }

void print_rows(const std::vector<ComparedTensor>& rows) {
  size_t width = 6;
  for (const ComparedTensor& t : rows) width = std::max(width, std::min<size_t>(shown_name(t).size(), 48));
  say("{:<{}}  {:>10} {:>10} {:>10} {:>10} {:>10} {:>11} {:>8}  {}\n", "tensor", width, "elements", "differing",
      "max ulp", "max abs", "max rel", "cosine", "SQNR dB", "");
  for (const ComparedTensor& t : rows) {
    const Difference& d = t.difference;
    if (!d.mismatch.empty()) {
      say("{:<{}}  {}\n", one_line(shown_name(t)), width, one_line(d.mismatch));
      continue;
    }
    std::string odd;
    if (d.nan_both)
      odd += fmt::format("{} NaN on both sides ", d.nan_both == d.count ? "all" : std::to_string(d.nan_both));
    if (d.nan_mismatch) odd += fmt::format("{} NaN on one side ", d.nan_mismatch);
    if (d.infinity_mismatch) odd += fmt::format("{} infinite on one side ", d.infinity_mismatch);
    say("{:<{}}  {:>10} {:>10} {:>10} {:>10.3g} {:>10.3g} {:>11.8f} {:>8.1f}  {}{}\n", one_line(shown_name(t)), width,
        d.count, d.differing, d.max_ulp ? fmt::format("{}", *d.max_ulp) : "-", d.max_absolute, d.max_relative, d.cosine,
        d.sqnr_db, odd, d.same() ? "" : "differs");
  }
}

void print_list(std::string_view what, const std::vector<std::string>& list) {
  constexpr size_t kShown = 8;
  if (list.empty()) return;
  say("  {}\n", what);
  for (size_t i = 0; i < std::min(list.size(), kShown); ++i) say("    {}\n", one_line(list[i]));
  if (list.size() > kShown) say("    ... {} in all\n", list.size());
}

void print_first(const CompareReport& r) {
  if (!r.first) {
    const bool differs =
        std::any_of(r.outputs.begin(), r.outputs.end(), [](const ComparedTensor& t) { return !t.difference.same(); });
    if (r.searched && differs)
      say("node by node no tensor that corresponds differs ({} compared): the difference comes with fusing and "
          "folding; --no-optimize runs both without\n",
          r.layers.size());
    return;
  }
  const ComparedTensor& t = r.first->tensor;
  say("\nfirst tensor that differs: '{}'  {}\n", one_line(t.a), t.type);
  say("  made by {}{}{}\n", one_line(t.op), t.place_a.empty() ? "" : " at ", one_line(t.place_a));
  if (t.matched == MatchedBy::none)
    say("  nothing in the second model corresponds to it, nor to what follows\n");
  else if (t.a != t.b)
    say("  the second model's '{}' (matched by {})\n", one_line(t.b), name(t.matched));
  if (t.difference.worst >= 0)
    say("  worst at element {}: {} and {}; tolerated: {:.3g} + {:.3g} x |a|\n", t.difference.worst,
        t.difference.worst_a, t.difference.worst_b, t.difference.atol, t.difference.rtol);
  else if (!t.difference.mismatch.empty())
    say("  {}\n", one_line(t.difference.mismatch));
  print_list("from tensors that are the same on both sides:", r.first->inputs);
  if (r.first->nodes_a.size() > 1 || r.first->nodes_b.size() > 1) {
    print_list("nodes between, first model:", r.first->nodes_a);
    print_list("nodes between, second model:", r.first->nodes_b);
  }
}

void print_isolated(const Isolated& i) {
  if (!i.model.empty())
    say("wrote {} ({} node{}){}{}{}\n", i.model, i.nodes_a, i.nodes_a == 1 ? "" : "s",
        i.other.empty() ? "" : fmt::format(", {} ({} node{})", i.other, i.nodes_b, i.nodes_b == 1 ? "" : "s"),
        i.inputs.empty() ? "" : ", ", i.inputs);
  if (!i.note.empty())
    say("  {}\n", i.note);
  else
    say("  {}\n", i.reproduced ? "run again, they differ" : "run again, they do not differ");
}

void print_report(const CompareArguments& o, const Inputs& inputs, const CompareReport& r) {
  for (size_t i = 0; i < inputs.given.size(); ++i)
    say("input {}  {}  ({})\n", one_line(inputs.names[i]), inputs.given[i].value.text(), inputs.given[i].from);
  print_rows(r.outputs);
  for (const std::string& n : r.only_a) say("output '{}': nothing on the second side corresponds\n", one_line(n));
  for (const std::string& n : r.only_b) say("output '{}' of the second side: nothing on the first\n", one_line(n));
  if (o.layers) {
    say("\n{} tensors inside, {} compared\n", r.layers_a, r.layers.size());
    print_rows(r.layers);
  }
  if (r.skipped) say("{} pairs were too far apart in order to be held in memory\n", r.skipped);
  print_first(r);
  if (r.isolated) print_isolated(*r.isolated);
  for (const ComparedTensor& t : r.outputs)
    if (const Difference& d = t.difference; d.count > 0 && d.nan_both == d.count)
      say("note: all elements of '{}' are NaN on both sides, so that nothing is known of it (nnex run --check-nan)\n",
          one_line(t.a));
  say("{}\n", r.same ? "same" : "different");
}

/// Whether it was a side's run that failed, whatever was wrong with it, and not what the command line says.
bool failed_to_run(const Error& e) {
  return std::any_of(e.tasks().begin(), e.tasks().end(),
                     [](const std::string& t) { return t.starts_with("running "); });
}

int run(const CompareArguments& o) {
  if (Status s = check(o); !s.ok()) return report(s.error());
  const TimeLimit limit(o.timeout);
  Inputs inputs;
  const auto found = awaited("comparing", [&] { return compare(o, inputs, limit.run_options()); });
  if (!found.ok()) {  // 1 is a verdict: a run that failed gives none
    const int code = limit.report(found.error());
    return code == kNegative || (code == kUsage && failed_to_run(found.error())) ? kRefused : code;
  }
  if (o.json)
    print_json(o, inputs, *found);
  else if (!o.inputs.quiet)
    print_report(o, inputs, *found);
  return found->same ? kOk : kNegative;
}

}  // namespace

void add_compare(CommandLine& line) {
  auto o = std::make_shared<CompareArguments>();
  Verb verb = line.verb("compare", "Compare two models, or a model and stored tensors, and find what differs first",
                        [o] { return run(*o); });
  o->model.add_to(verb);
  verb.option(
      "other", o->other,
      "What it is compared with: a model of any standard, or tensors (.npz .npy .pb .dat .json .csv, a folder of "
      "test data)");
  verb.option("--command", o->command,
              "Compare with what a program prints that reads the inputs as JSON (docs/command-line.md)")
      .type("CMD");
  verb.option("--against", o->against, "Compare with another engine: peer is ONNX Runtime, where PEER_ORT names it")
      .one_of({"peer"});
  o->inputs.add_to(verb);
  verb.option("--atol", o->atol_text, "Tolerated: atol + rtol x |a|; absent: by the element type").type("X");
  verb.option("--rtol", o->rtol_text, "The relative part; absent: f64 1e-9, f32 1e-4, f16 1e-2, bf16 5e-2, integers 0")
      .type("X");
  verb.option("--ulp", o->ulp, "Floats with at most so many between them are the same").type("N");
  verb.flag("--layers", o->layers, "Compare every tensor, though the outputs be the same");
  verb.flag("--outputs-only", o->no_search, "Do not look for the first tensor that differs");
  verb.option("--bisect", o->bisect,
              "Write the nodes that make the first difference as a model, with their inputs (FILE.inputs.npz) and the "
              "other side's (FILE.other.onnx)")
      .type("FILE.onnx");
  o->writing.add_to(verb);
  add_timeout(verb, o->timeout);
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("-q,--quiet", o->inputs.quiet, "Print nothing but errors, and what --json asks for");
}

}  // namespace nnex::cli
