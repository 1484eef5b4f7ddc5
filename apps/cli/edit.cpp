// nnex extract, rename, set-shape, set-batch, set-input, simplify, fold, inline, narrow, strip: a network changed and
// written.

#include "nnex/edit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "cli.h"
#include "edit.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "onnx_writing.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

/// What these verbs share: a model in, a file out.
struct EditOptions {
  ModelOptions reading;
  InputOptions inputs;  ///< Of verbs that prove by runs.
  WritingOptions writing;
  OnnxWritingOptions onnx;
  std::string path, out;
  std::vector<std::string> words;
  std::string batch;
  double timeout = 0;
  bool json = false, quiet = false, names = false;
  std::string type = "f16";
  std::vector<std::string> from, to;
  InputOptions fit;  ///< Of set-input.
};

/// An edit of the graph; what it has to tell goes into the object, and is printed for people.
using Edit = std::function<Result<Json>(Graph& graph, const EditOptions& o, const RunOptions& run)>;

void print_json(const Json& j) { say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace)); }

/// The nodes of the network and of its blocks.
size_t count_nodes(const Graph& g, const std::vector<NodeId>& nodes) {
  size_t count = 0;
  for (NodeId id : nodes) {
    const NodeInfo node = *g.node(id);
    count += !node.implied;
    for (BlockId b : node.blocks) count += count_nodes(g, *g.nodes(b));
  }
  return count;
}

/// By the name's ending. A folder is of CVM where the model is, else of NNEF.
Result<Format> format_of(const EditOptions& o) {
  if (o.out == "-") return Format::onnx;
  NNEX_ASSIGN(const Format format, format_of_path(o.out));
  if (format != Format::nnef || !std::filesystem::path(o.out).extension().empty() || o.path == "-") return format;
  NNEX_ASSIGN(const ModelSource source, source_of(o.path));
  NNEX_ASSIGN(const Format own, format_of_model(source));
  return own == Format::cvm ? own : format;
}

/// What the nodes of a graph are counted as: by nnex's operators, or, of an ONNX file, as it has them.
using Counts = std::map<std::string, int64_t>;

Counts counts_of(const ModelSource& source, const LoadOptions& load) {
  Counts out;
  if (const auto counts = file_nodes(source, load); counts.ok())
    for (const OperatorCount& c : *counts) out[c.name] = c.nodes;
  return out;
}

int64_t sum_of(const Counts& counts) {
  int64_t sum = 0;
  for (const auto& [op, nodes] : counts) sum += nodes;
  return sum;
}

/// Where both files are of ONNX, what is told of nodes is of these files: an operator of nnex's may be several there.
void count_in_files(Json& j, const ModelSource& source, const LoadOptions& load, const std::string& out) {
  const Counts before = counts_of(source, load);
  const Counts after = before.empty() ? before : counts_of(ModelSource(out), {});
  if (before.empty() || after.empty()) return;
  j["nodes_before"] = sum_of(before), j["nodes_after"] = sum_of(after);
  if (!j.contains("operators")) return;
  Json operators = Json::object();
  for (const auto& [op, nodes] : before) operators[op] = {nodes, 0};
  for (const auto& [op, nodes] : after) {
    if (!operators.contains(op)) operators[op] = {0, 0};
    operators[op][1] = nodes;
  }
  j["operators"] = std::move(operators);
}

/// The inputs of proofs, where some were given: in the model's order.
Result<std::vector<Value>> proof_inputs(const Graph& graph, const EditOptions& o) {
  if (o.inputs.files.empty()) return std::vector<Value>();
  LoadOptions plain;
  plain.optimize = false;
  NNEX_ASSIGN(const Model model, Model::compile(Graph(graph), plain));
  ModelOptions reading = o.reading;
  reading.path = o.path;
  NNEX_ASSIGN(const auto given, o.inputs.values(model, reading, [&](size_t i, const KnownExtents& known) {
    return o.inputs.random_numbers(model, i, known);
  }));
  return values_of(given);
}

bool talks(const EditOptions& o) { return !o.json && !o.quiet && o.out != "-"; }

void print_operators(const Json& operators) {
  say("\n{:<24} {:>6} {:>6}\n", "operator", "before", "after");
  for (const auto& [op, n] : operators.items())
    say("{:<24} {:>6} {:>6}\n", one_line(op), n[0].get<int64_t>(), n[1].get<int64_t>());
}

int edit(const EditOptions& o, const std::string& verb, const Edit& apply) {
  const TimeLimit limit(o.timeout);
  auto result = [&]() -> Result<Json> {
    NNEX_ASSIGN(const LoadOptions load, o.reading.ReadingOptions::options());
    SaveOptions save_options;
    save_options.overwrite = o.writing.force ? Overwrite::replace : Overwrite::refuse;
    o.onnx.put(save_options.onnx);
    NNEX_ASSIGN(const Format format, format_of(o));
    NNEX_TRY(o.onnx.check(o.out, format));
    if (format == Format::cvm) save_options.format = format;
    NNEX_ASSIGN(OutputFile out, OutputFile::open(o.out, "model.onnx"));
    if (out.is_standard_output() && o.json)
      return Error(Code::invalid_argument, "--json: standard output takes the model; needed a file for it");
    NNEX_TRY(may_save(out.path(), save_options));
    NNEX_ASSIGN(const ModelSource source, source_of(o.path));
    NNEX_ASSIGN(Graph graph, awaited("reading", [&] { return load_graph(source, load); }));
    const size_t before = count_nodes(graph, graph.nodes());
    NNEX_ASSIGN(Json told, apply(graph, o, limit.run_options()));
    NNEX_ASSIGN(const SaveReport written, awaited("writing", [&] { return save(graph, out.path(), save_options); }));
    NNEX_TRY(out.finish());
    Json j = {{"schema", "nnex.edit/1"}, {"verb", verb},
              {"model", o.path},         {"out", o.out},
              {"nodes_before", before},  {"nodes_after", count_nodes(graph, graph.nodes())},
              {"notes", written.notes}};
    j.update(told);
    if (!out.is_standard_output()) count_in_files(j, source, load, o.out);
    if (format == Format::nnef && j.contains("bytes_after")) {
      j["bytes_after"] = written.variable_bytes;
      if (talks(o))
        say("{}: tensor files of {} bytes, before {}\n", o.out, written.variable_bytes,
            j["bytes_before"].get<int64_t>());
    }
    return j;
  }();
  if (!result.ok()) return limit.report(result.error());
  if (o.json) {
    print_json(*result);
  } else if (talks(o)) {
    if (result->contains("operators")) print_operators((*result)["operators"]);
    say("{}: {} nodes, before {}\n", o.out, (*result)["nodes_after"].get<size_t>(),
        (*result)["nodes_before"].get<size_t>());
    for (const auto& note : (*result)["notes"]) say("{}: note: {}\n", o.path, own_lines(note.get<std::string>()));
  }
  return kOk;
}

/// "a,b" and "a" "b" alike.
std::vector<std::string> names_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    size_t at = 0;
    while (at <= word.size()) {
      const size_t end = std::min(word.find(',', at), word.size());
      if (end > at) out.push_back(word.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

Result<Json> run_extract(Graph& graph, const EditOptions& o, const RunOptions&) {
  NNEX_ASSIGN(graph, extract(graph, names_of(o.from), names_of(o.to)));
  return Json::object();
}

Result<Json> run_rename(Graph& graph, const EditOptions& o, const RunOptions&) {
  NNEX_ASSIGN(const Format format, format_of(o));
  std::map<std::string, std::string> names;
  for (const std::string& word : o.words) {
    const auto [from, to] = named(word);
    if (from.empty() || to.empty()) return Error(Code::invalid_argument, fmt::format("'{}': needed OLD=NEW", word));
    if (!names.emplace(from, to).second)
      return Error(Code::invalid_argument, fmt::format("'{}' is renamed twice", from));
    NNEX_TRY(check_tensor_name(to, format));
    if (format == Format::cvm && from == "data" && to != from)
      return Error(Code::invalid_argument, "'data': the input of a model of CVM has this name, and no other");
  }
  NNEX_TRY(rename(graph, names));
  return Json{{"renamed", names.size()}};
}

Json rewritten_json(const std::vector<BakedShape>& rewritten, const EditOptions& o) {
  Json list = Json::array();
  for (const BakedShape& b : rewritten) {
    list.push_back({{"node", b.node}, {"from", b.from}, {"to", b.to}});
    if (talks(o)) say("reshape at {}: [{}] -> [{}]\n", one_line(b.node), fmt::join(b.from, ","), fmt::join(b.to, ","));
  }
  return list;
}

/// The number of a word; nothing: it is none of 0 and more.
std::optional<int64_t> whole(std::string_view word) {
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), n);
  return fault == std::errc() && end == word.data() + word.size() && n >= 0 ? std::optional(n) : std::nullopt;
}

/// Whether a word may name an extent that stays open: it begins with a letter or an underscore.
bool is_symbol(std::string_view word) {
  const auto letter = [](char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)); };
  return !word.empty() && letter(word[0]) && std::all_of(word.begin(), word.end(), [&](char c) {
    return letter(c) || c == '.' || c == '-' || std::isdigit(static_cast<unsigned char>(c));
  });
}

/// "x=[N,3,224,224]".
Result<std::pair<std::string, std::vector<NewExtent>>> new_shape(const std::string& word) {
  const auto refused = [&] {
    return Error(
        Code::invalid_argument,
        fmt::format("'{}': needed INPUT=[1,3,224,224], or a name where an axis stays open: INPUT=[N,3,224,224]", word));
  };
  const size_t eq = word.find('=');
  if (eq == std::string::npos || eq == 0 || word.size() < eq + 3 || word[eq + 1] != '[' || word.back() != ']')
    return refused();
  std::vector<NewExtent> extents;
  const std::string_view list = std::string_view(word).substr(eq + 2, word.size() - eq - 3);
  for (size_t at = 0; at <= list.size() && !list.empty();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string_view item = list.substr(at, end - at);
    if (const auto n = whole(item))
      extents.push_back({*n, {}});
    else if (is_symbol(item))
      extents.push_back({0, std::string(item)});
    else
      return refused();
    at = end + 1;
  }
  return std::pair{word.substr(0, eq), std::move(extents)};
}

Result<Json> run_set_shape(Graph& graph, const EditOptions& o, const RunOptions&) {
  std::map<std::string, std::vector<NewExtent>> shapes;
  for (const std::string& word : o.words) {
    NNEX_ASSIGN(auto shape, new_shape(word));
    if (!shapes.insert(shape).second)
      return Error(Code::invalid_argument, fmt::format("'{}' is given two shapes", shape.first));
  }
  NNEX_ASSIGN(const auto rewritten, open_shapes(graph, shapes));
  return Json{{"rewritten", rewritten_json(rewritten, o)}};
}

/// Inputs that have one value for good become constants of the network.
Result<Json> run_set_input(Graph& graph, const EditOptions& o, const RunOptions&) {
  std::vector<PortInfo> ports;
  for (ValueId v : graph.inputs()) {
    NNEX_ASSIGN(const ValueInfo input, graph.value(v));
    PortInfo& port = ports.emplace_back();
    port = {input.name, input.type.text, input.type.dtype, input.type.known_rank, input.type.extents, input.type.dims};
  }
  Json names = Json::array();
  for (const std::string& word : o.words) {
    const auto [name, file] = named(word, ports);
    if (name.empty() || file.empty()) return Error(Code::invalid_argument, fmt::format("'{}': needed NAME=FILE", word));
    NNEX_ASSIGN(const size_t at, port_at("input", ports, name));
    NNEX_ASSIGN(const InputFile from, InputFile::open(file));
    NNEX_ASSIGN(Value value, from.value(ports[at], o.fit.file_options(o.reading)));
    NNEX_TRY(graph.make_constant(graph.find(name), std::move(value)));
    names.push_back(name);
  }
  NNEX_TRY(graph.infer());
  return Json{{"constant", std::move(names)}};
}

Result<Json> run_set_batch(Graph& graph, const EditOptions& o, const RunOptions& run) {
  const auto batch = whole(o.batch);
  if ((batch && *batch < 1) || (!batch && !is_symbol(o.batch)))
    return Error(Code::invalid_argument,
                 fmt::format("--batch: found '{}'; needed a whole number of at least 1, or a name", o.batch));
  NNEX_ASSIGN(const BatchReport report, awaited("proving the batch", [&] {
                return batch ? set_batch(graph, *batch, run) : open_batch(graph, o.batch, run);
              }));
  Json j = {{"batch", report.batch}, {"rewritten", rewritten_json(report.rewritten, o)}};
  if (!batch) j["batch"] = o.batch;
  j["proof"] = {{"runs", report.runs}, {"max_absolute", report.max_absolute}};
  if (talks(o))
    say("one run of {} and {} runs of 1 on random inputs: the same, within {:.3g}\n", report.batch, report.runs,
        report.max_absolute);
  return j;
}

/// How many replacements of one pass a person reads.
constexpr size_t kShownReplacements = 12;

Json replaced_json(const std::vector<Replaced>& replaced, bool talks) {
  Json list = Json::array();
  size_t shown = 0;
  for (const Replaced& r : replaced) {
    list.push_back({{"tensor", r.tensor},
                    {"place", r.place},
                    {"before", r.before},
                    {"after", r.after},
                    {"elements", r.elements},
                    {"max_absolute", r.max_absolute},
                    {"same", r.same}});
    if (talks && shown++ < kShownReplacements)
      say("    {}: {} -> {}  {} elements, {}\n", one_line(r.tensor.empty() ? r.place : r.tensor), one_line(r.before),
          one_line(r.after), r.elements, r.same ? fmt::format("same within {:.3g}", r.max_absolute) : r.reason);
  }
  if (talks && shown > kShownReplacements)
    say("    and {} more, all of which --json lists\n", shown - kShownReplacements);
  return list;
}

Json simplified_json(const SimplifyReport& report, const EditOptions& o) {
  Json j = {{"rewrites", Json::array()}, {"operators", Json::object()}};
  for (const Rewrite& r : report.rewrites) {
    if (talks(o))
      say("{:<16} {:>5} times  {:>6} -> {:<6} nodes  {}\n", r.pass, r.applied, r.nodes_before, r.nodes_after,
          r.kept ? fmt::format("same outputs, within {:.3g}", r.max_absolute) : "taken back: " + r.reason);
    j["rewrites"].push_back({{"pass", r.pass},
                             {"applied", r.applied},
                             {"nodes_before", r.nodes_before},
                             {"nodes_after", r.nodes_after},
                             {"kept", r.kept},
                             {"max_absolute", r.max_absolute},
                             {"reason", r.reason},
                             {"replaced", replaced_json(r.replaced, talks(o))}});
  }
  for (const auto& [op, n] : report.operators) j["operators"][op] = {n.first, n.second};
  return j;
}

Result<Json> run_simplify(Graph& graph, const EditOptions& o, const RunOptions& run) {
  NNEX_ASSIGN(const std::vector<Value> inputs, proof_inputs(graph, o));
  NNEX_ASSIGN(const SimplifyReport report, awaited("simplifying", [&] { return simplify(graph, run, inputs); }));
  return simplified_json(report, o);
}

Result<Json> run_fold(Graph& graph, const EditOptions& o, const RunOptions& run) {
  NNEX_ASSIGN(const std::vector<Value> inputs, proof_inputs(graph, o));
  NNEX_ASSIGN(const SimplifyReport report, awaited("folding", [&] { return fold(graph, run, inputs); }));
  return simplified_json(report, o);
}

Result<Json> run_inline(Graph& graph, const EditOptions& o, const RunOptions&) {
  NNEX_ASSIGN(const int64_t calls, inline_calls(graph));
  if (talks(o)) say("{} calls of functions inlined\n", calls);
  return Json{{"inlined", calls}};
}

Result<Json> run_narrow(Graph& graph, const EditOptions& o, const RunOptions& run) {
  const DType to = o.type == "bf16" ? DType::bf16 : DType::f16;
  NNEX_ASSIGN(const Format format, format_of(o));
  if (format == Format::nnef && to == DType::bf16)
    return Error(
        Code::unsupported,
        "--to bf16: a tensor file of NNEF holds no bfloat16, which would lose digits and no bytes; needed f16");
  NNEX_ASSIGN(const std::vector<Value> inputs, proof_inputs(graph, o));
  NNEX_ASSIGN(const NarrowReport r, awaited("narrowing", [&] { return narrow_weights(graph, to, run, inputs); }));
  const std::string bytes =  // a document of NNEF keeps halves of products' weights alone: edit() tells its bytes
      format == Format::nnef ? "" : fmt::format(": {} bytes, before {}", r.bytes_after, r.bytes_before);
  if (talks(o))
    say("{} constants stored as {}, {} left{}; outputs on {} inputs within {:.3g}, {:.3g} of the greatest\n",
        r.constants, o.type, r.left, bytes, inputs.empty() ? "random" : "these", r.max_absolute, r.max_relative);
  return Json{{"narrowed", r.constants},
              {"left", r.left},
              {"bytes_before", r.bytes_before},
              {"bytes_after", r.bytes_after},
              {"proof", {{"runs", 1}, {"max_absolute", r.max_absolute}, {"max_relative", r.max_relative}}}};
}

Result<Json> run_strip(Graph& graph, const EditOptions& o, const RunOptions&) {
  strip(graph, o.names);
  return Json::object();
}

/// A verb of this kind, with the options that all have.
std::pair<std::shared_ptr<EditOptions>, Verb> add_edit(CommandLine& line, const std::string& name,
                                                       const std::string& help, Edit apply) {
  auto o = std::make_shared<EditOptions>();
  Verb verb = line.verb(name, help, [o, name, apply] { return edit(*o, name, apply); });
  verb.option("model", o->path, kModelHelp).required();
  verb.option("-o,--out", o->out, "Where to write; the ending says the standard, as for convert")
      .type("FILE")
      .required();
  o->onnx.add_to(verb);
  o->writing.add_to(verb);
  add_timeout(verb, o->timeout);
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("-q,--quiet", o->quiet, "Print nothing but errors, and what --json asks for");
  return {o, verb};
}

/// How a model is read, and the inputs of the runs that prove what is written.
void add_proof(EditOptions& o, Verb verb) {
  o.reading.ReadingOptions::add_to(verb);
  verb.option("-i,--input", o.inputs.files,
              "What the proof runs on, as for run: FILE or NAME=FILE; others, or all, are random numbers")
      .type("[NAME=]FILE");
}

}  // namespace

void add_edits(CommandLine& line) {
  {
    auto [o, verb] =
        add_edit(line, "extract", "Write the part of a model between some tensors and others", run_extract);
    verb.option("--from", o->from, "Tensors that become inputs: a,b; absent: the model's inputs that are needed")
        .type("NAMES")
        .one_each();
    verb.option("--to", o->to, "Tensors that become outputs: c,d; absent: the model's outputs")
        .type("NAMES")
        .one_each();
    o->reading.ReadingOptions::add_to(verb);
  }
  {
    auto [o, verb] = add_edit(line, "rename", "Give inputs, outputs and tensors inside other names", run_rename);
    verb.option("names", o->words, "OLD=NEW, as many as there are; symbols of extents, too").required();
    o->reading.ReadingOptions::add_to(verb);
  }
  {
    auto [o, verb] = add_edit(line, "set-shape", "Write a model for other extents of its inputs", run_set_shape);
    verb.option("shapes", o->words,
                "INPUT=[1,3,224,224], as many as there are; INPUT=[N,3,224,224]: an axis open under a name")
        .required();
    o->reading.ReadingOptions::add_to(verb);
  }
  {
    auto [o, verb] =
        add_edit(line, "set-batch", "Write a model for another batch, proven: one run of it equals as many of batch 1",
                 run_set_batch);
    verb.option("--batch", o->batch, "The first extent of every input that has axes; a name leaves it open")
        .type("N|NAME")
        .required();
    o->reading.ReadingOptions::add_to(verb);
  }
  {
    auto [o, verb] =
        add_edit(line, "set-input", "Write a model some of whose inputs are constants of it", run_set_input);
    verb.option("inputs", o->words, "NAME=FILE, as many as there are; files as for run -i").required();
    o->fit.add_fit_to(verb);
    o->reading.ReadingOptions::add_to(verb);
  }
  {
    auto [o, verb] = add_edit(line, "simplify",
                              "Write a model with fewer nodes: folded, merged, cleaned; each step proven by running it",
                              run_simplify);
    add_proof(*o, verb);
  }
  {
    auto [o, verb] = add_edit(
        line, "fold", "Write a model whose constants and known shapes are computed, proven by running it", run_fold);
    add_proof(*o, verb);
  }
  {
    auto [o, verb] =
        add_edit(line, "inline", "Write a model without functions: each call becomes what it says", run_inline);
    o->reading.ReadingOptions::add_to(verb);
  }
  {
    auto [o, verb] =
        add_edit(line, "narrow", "Write a model whose weights are stored in 16 bits; it computes in float32 as before",
                 run_narrow);
    verb.option("--to", o->type, "How weights are stored").one_of({"f16", "bf16"});
    add_proof(*o, verb);
  }
  {
    auto [o, verb] = add_edit(line, "strip", "Write a model without texts and properties that no run needs", run_strip);
    verb.flag("--names", o->names, "Names of tensors inside and of nodes, too");
    o->reading.ReadingOptions::add_to(verb);
  }
}

int show_difference(const std::vector<std::string>& paths, const LoadOptions& options, bool json) {
  if (paths.size() != 2)
    return report(Error(Code::invalid_argument, fmt::format("--diff: found {} models; needed two", paths.size())));
  std::vector<Graph> graphs;
  for (const std::string& path : paths) {
    auto graph = awaited("reading", [&] { return load_graph(path, options); });
    if (!graph.ok()) return report(graph.error());
    (void)graph->infer().ok();  // what it cannot find out stays unknown
    graphs.push_back(std::move(*graph));
  }
  const GraphDifference d = awaited("comparing", [&] { return graph_difference(graphs[0], graphs[1]); });
  if (json) {
    Json j = {{"schema", "nnex.diff/1"}, {"a", paths[0]},      {"b", paths[1]},
              {"same", d.same()},        {"inputs", d.inputs}, {"outputs", d.outputs},
              {"only_a", d.only_a},      {"only_b", d.only_b}, {"changed", Json::array()}};
    for (const auto& c : d.changed) j["changed"].push_back({{"tensor", c.tensor}, {"what", c.what}});
    print_json(j);
    return d.same() ? kOk : kNegative;
  }
  for (const std::string& s : d.inputs) say("input   {}\n", one_line(s));
  for (const std::string& s : d.outputs) say("output  {}\n", one_line(s));
  for (const std::string& s : d.only_a) say("- {}\n", one_line(s));
  for (const std::string& s : d.only_b) say("+ {}\n", one_line(s));
  for (const auto& c : d.changed) say("~ {}: {}\n", one_line(c.tensor), one_line(c.what));
  say("{}\n", d.same() ? "same" : "different");
  return d.same() ? kOk : kNegative;
}

}  // namespace nnex::cli
