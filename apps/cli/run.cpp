// nnex run: one run, its answers printed or saved.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "cli.h"
#include "describe.h"
#include "nnex/cvm.h"
#include "nnex/elements.h"
#include "nnex/graph.h"
#include "nnex/layers.h"
#include "nnex/load.h"
#include "nnex/suggest.h"
#include "nnex/tensor_file.h"
#include "nonfinite.h"
#include "time_limit.h"
#include "top.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct RunArguments {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> save;
  std::string labels, save_variables, save_bytes;
  WritingOptions writing;
  int topk = 0;
  int64_t steps = 1;
  double timeout = 0;
  bool json = false, exact = false, portable = false, hash = false, hash_layers = false, check_nan = false;
};

/// A value for every input; what nothing is given for must be in the model's files.
Result<std::vector<Value>> inputs_of(const Model& model, const RunArguments& o) {
  NNEX_ASSIGN(const auto given, o.inputs.values(model, o.model, [&](size_t i, const KnownExtents&) -> Result<Given> {
    if (auto initial = cvm_initial_input(model)) return Given{std::move(*initial), "the model"};
    const PortInfo& port = model.inputs()[i];
    return Error(Code::invalid_argument,
                 fmt::format("input '{}' is missing; it takes {} (--input {}=FILE, or --random)", port.name, port.type,
                             port.name));
  }));
  return values_of(given);
}

/// Where an output is saved to, or a state; all outputs into one archive where there is neither.
struct Target {
  std::optional<size_t> output;
  std::string file;
  std::string state;
};

/// The states of carried outputs, by the names of the outputs and of the inputs that they become.
using Carried = std::map<std::string, std::string>;

/// Whether a name is an output's, or that of what is carried.
std::function<bool(const std::string&)> known_names(const Model& model, const Carried& carried) {
  return [&](const std::string& name) {
    const auto is_it = [&](const PortInfo& p) { return p.name == name; };
    return carried.count(name) > 0 || std::any_of(model.outputs().begin(), model.outputs().end(), is_it);
  };
}

/// Files without a name go on behind the output that the last one was for.
Error nothing_follows(const Model& model, const std::vector<Target>& targets, const std::string& file) {
  std::string left;
  for (size_t i = 0; i < model.outputs().size(); ++i)
    if (std::none_of(targets.begin(), targets.end(), [&](const Target& t) { return t.output == i; }))
      left += fmt::format("{}{}={}", left.empty() ? "" : " or ", model.outputs()[i].name, file);
  if (left.empty())
    return Error(Code::invalid_argument,
                 fmt::format("--save {}: no output is left for it; the model gives {}", file, model.outputs().size()));
  return Error(Code::invalid_argument, fmt::format("--save {}: no output follows '{}', which was named before it; "
                                                   "needed {}",
                                                   file, model.outputs().back().name, left));
}

/// Files without a name take outputs in the model's order, as inputs do.
Result<std::vector<Target>> targets_of(const Model& model, const Carried& carried,
                                       const std::vector<std::string>& words) {
  std::vector<Target> out;
  size_t next = 0;
  const auto is_known = known_names(model, carried);
  for (const std::string& word : words) {
    const auto [name, file] = named(word, is_known);
    if (const auto state = carried.find(name); state != carried.end()) {
      out.push_back({std::nullopt, file, state->second});
      continue;
    }
    if (name.empty() && tensor_format_of(file) == TensorFormat::npz) {
      out.push_back({std::nullopt, file, {}});
      continue;
    }
    size_t at = next;
    if (!name.empty()) {
      NNEX_ASSIGN(at, port_at("output", model.outputs(), name));
    }
    if (at >= model.outputs().size()) return nothing_follows(model, out, file);
    next = at + 1;
    out.push_back({at, file, {}});
  }
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out[i].file == out[j].file)
        return Error(Code::invalid_argument, fmt::format("--save {}: found the file twice", out[i].file));
  return out;
}

Result<std::vector<std::string>> labels_of(const std::string& path) {
  std::vector<std::string> out;
  if (path.empty()) return out;
  NNEX_ASSIGN(const std::string text, read_file(path));
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// The shortest text that reads back; of whole numbers of few bits all digits, and not 2147483600 for 2147483648.
std::string number_at(const Tensor& t, int64_t i) {
  constexpr double kFixed = 1e16;  // longer ones have an exponent
  if (!is_real(t.dtype())) return element_text(t, i);
  const double x = real_at(t, i);
  return std::abs(x) < kFixed && x == std::trunc(x) ? fmt::format("{}", x) : element_text(t, i);
}

std::string preview(const Value& v) {
  const Tensor* t = v.tensor();
  if (!t) return v.text();
  std::string out;
  for (int64_t i = 0; i < std::min<int64_t>(t->count(), 8); ++i) out += (i ? " " : "") + number_at(*t, i);
  return fmt::format("{}  {}{}", v.text(), out, t->count() > 8 ? " ..." : "");
}

/// Before the model is read: whether what its run gives can be written. What has a '=' may be a name and a file, or a
/// file, which its names tell.
Status can_save(const RunArguments& o) {
  for (const std::string& word : o.save)
    if (word.find('=') == std::string::npos) NNEX_TRY(may_write(word, o.writing.existing()));
  if (!o.save_bytes.empty()) NNEX_TRY(may_write(o.save_bytes, o.writing.existing()));
  return {};
}

/// Before a long run: the same of all files.
Status can_save(const std::vector<Target>& targets, Existing existing) {
  for (const Target& t : targets) NNEX_TRY(may_write(t.file, existing));
  return {};
}

Status save(const Model& model, const Session& session, const std::vector<Value>& out,
            const std::vector<Target>& targets, const RunArguments& o) {
  const Existing existing = o.writing.existing();
  const auto write = [&](const Target& t, const Value& v, const std::string& name) -> Status {
    if (!holds_numpy(t.file)) return write_value(t.file, v, name, existing);
    NNEX_ASSIGN(const Value fit, fit_for_numpy(v, name, o.inputs.fit.cast));
    return write_value(t.file, fit, name, existing);
  };
  for (const Target& t : targets) {
    if (!t.state.empty()) {
      NNEX_ASSIGN(const Value v, session.state(t.state));
      NNEX_TRY(write(t, v, t.state));
    } else if (t.output) {
      NNEX_TRY(write(t, out[*t.output], model.outputs()[*t.output].name));
    } else {
      NNEX_TRY(save_outputs(t.file, model.outputs(), out, o.inputs.fit.cast, existing));
    }
  }
  return {};
}

/// SHA-256 of a tensor's elements; "" for what is no tensor.
std::string hash_of(const Value& v) { return v.tensor() ? sha256(*v.tensor()) : std::string(); }

/// The model with every layer's tensor as an output.
Result<LayeredModel> layers_of(const RunArguments& o) {
  NNEX_ASSIGN(const ModelSource source, source_of(o.model.path));
  NNEX_ASSIGN(LoadOptions options, o.model.options());
  options.exact = o.exact, options.portable = o.portable;
  return load_layers(source, options);
}

/// Which tensors have elements that are no finite numbers.
int check_nan(const RunArguments& o, const TimeLimit& limit) {
  auto layers = layers_of(o);
  if (!layers.ok()) return report(layers.error());
  auto inputs = inputs_of(layers->model, o);
  if (!inputs.ok()) return report(inputs.error());
  Session session = layers->model.session(o.model.session_options());
  auto out = awaited("running", [&] { return session.run(*inputs, limit.run_options()); });
  if (!out.ok()) return limit.report(out.error());
  return show_nonfinite(*layers, *inputs, *out, o.json, o.inputs.quiet);
}

/// Hashes of every tensor, in the order of the model's nodes.
int hash_layers(const RunArguments& o, const TimeLimit& limit) {
  auto layers = layers_of(o);
  if (!layers.ok()) return report(layers.error());
  auto inputs = inputs_of(layers->model, o);
  if (!inputs.ok()) return report(inputs.error());
  Session session = layers->model.session(o.model.session_options());
  auto out = session.run(*inputs, limit.run_options());
  if (!out.ok()) return limit.report(out.error());
  Json j = {{"schema", "nnex.layers/1"}};
  for (const char* list : {"inputs", "parameters", "outputs", "layers"}) j[list] = Json::array();
  const auto show = [&](const char* list, std::string_view kind, const std::string& label, const Value& v) {
    const std::string hash = hash_of(v);
    j[list].push_back({{"name", label}, {"type", v.text()}, {"sha256", hash}});
    if (!o.json && !o.inputs.quiet) say("{}  {}  {}{}\n", hash, v.text(), kind, one_line(label));
  };
  for (size_t i = 0; i < inputs->size(); ++i) show("inputs", "input ", layers->model.inputs()[i].name, (*inputs)[i]);
  for (const auto& [name, value] : layers->parameters) show("parameters", "parameter ", name, Value(value));
  const size_t outputs = out->size() - layers->layers.size();
  for (size_t i = 0; i < out->size(); ++i) {
    if (i >= outputs)
      show("layers", "", layers->layers[i - outputs], (*out)[i]);
    else
      show("outputs", "output ", layers->model.outputs()[i].name, (*out)[i]);
  }
  if (o.json) say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  return kOk;
}

/// One tensor file a state, as the model's folder would have it.
Status save_states(const Model& model, const Session& session, const std::string& folder, Existing existing) {
  if (model.states().empty()) return Error(Code::invalid_argument, "--save-variables: the model updates no variable");
  for (const PortInfo& p : model.states()) {
    NNEX_ASSIGN(const Value v, session.state(p.name));
    NNEX_TRY(save_variable(folder, p.name, v, existing));
  }
  return {};
}

/// Numbers of `width` bytes, the first few.
std::string preview_bytes(const std::string& bytes, int64_t width) {
  std::string out;
  const auto step = static_cast<size_t>(width);
  for (size_t i = 0; i + step <= bytes.size() && i < 8 * step; i += step) {
    int32_t x = 0;
    std::memcpy(&x, bytes.data() + i, step);
    out += fmt::format("{}{}", i ? " " : "", width == 1 ? static_cast<int8_t>(x) : x);
  }
  return out + (bytes.size() > 8 * step ? " ..." : "");
}

/// The bytes that the runtime of CVM hands out for a model of its format: heads joined, narrowed, after the model's
/// postprocess.
Status hand_out(const Model& model, const CvmFacts& facts, const std::vector<Value>& out, const RunArguments& o,
                Json& j) {
  auto bytes = cvm_output_bytes(model, out);
  if (!bytes.ok()) return std::move(bytes).error().during("joining the heads");
  if (!o.save_bytes.empty()) NNEX_TRY(write_file(o.save_bytes, *bytes, o.writing.existing()));
  const std::string mode = facts.postprocess.empty() ? "none" : facts.postprocess, hash = sha256(*bytes);
  const int64_t width = facts.output_width;
  j["cvm"] = {{"postprocess", mode}, {"bytes", bytes->size()}, {"element_bytes", width}, {"sha256", hash}};
  if (o.json || o.inputs.quiet || (facts.postprocess.empty() && o.save_bytes.empty())) return {};
  say("postprocess {}: {} bytes  {}\n", mode, bytes->size(), preview_bytes(*bytes, width));
  if (o.hash || o.exact) say("  sha256 {}\n", hash);
  return {};
}

/// The model.
Result<Model> load(const RunArguments& o) {
  NNEX_ASSIGN(const ModelSource source, source_of(o.model.path));
  NNEX_ASSIGN(LoadOptions options, o.model.carrying(source));
  options.exact = o.exact, options.portable = o.portable;
  return load_model(source, options);
}

/// The named tensors of the main graph.
std::map<std::string, ValueId> tensors_of(const Graph& graph) {
  std::map<std::string, ValueId> out;
  const auto add = [&](ValueId id) {
    if (const auto v = graph.value(id); v.ok() && !v->name.empty()) out.emplace(v->name, id);
  };
  for (NodeId id : graph.nodes())
    if (const auto node = graph.node(id); node.ok())
      for (ValueId made : node->outputs)
        if (made.valid()) add(made);
  return out;
}

/// What --carry carries.
Result<Carried> carried_of(const RunArguments& o) {
  Carried out;
  if (o.model.carry.empty() || o.save.empty()) return out;
  NNEX_ASSIGN(const ModelSource source, source_of(o.model.path));
  NNEX_ASSIGN(const LoadOptions options, o.model.carrying(source));
  for (const Carry& c : options.carry) out[c.output] = out[c.input] = c.input;
  return out;
}

/// Words of --save whose names are no outputs of the model, nor carried.
std::vector<std::string> inner_words(const Model& model, const Carried& carried,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> out;
  const auto is_known = known_names(model, carried);
  for (const std::string& word : words)
    if (word.find('=') != std::string::npos && !is_known(named(word, is_known).first)) out.push_back(word);
  return out;
}

/// The model with the tensors inside that these words of --save name as further outputs. Error: invalid_argument (there
/// is no such tensor).
Result<Model> with_outputs(const RunArguments& o, const std::vector<std::string>& words) {
  NNEX_ASSIGN(const ModelSource source, source_of(o.model.path));
  NNEX_ASSIGN(LoadOptions options, o.model.carrying(source));
  options.exact = o.exact, options.portable = o.portable;
  NNEX_ASSIGN(Graph graph, load_graph(source, options));
  options.symbols.clear(), options.shapes.clear();  // they are in the graph by now
  std::vector<std::pair<std::string, ValueId>> outputs;
  for (ValueId id : graph.outputs()) {
    NNEX_ASSIGN(const ValueInfo v, graph.value(id));
    outputs.emplace_back(v.name, id);
  }
  const auto tensors = tensors_of(graph);
  std::set<std::string> added;
  for (const std::string& word : words) {
    const std::string name = named(word, [&](const std::string& n) { return tensors.count(n) > 0; }).first;
    if (name.empty() || !added.insert(name).second) continue;
    const auto at = tensors.find(name);
    if (at == tensors.end()) {
      std::vector<std::string_view> known;
      for (const auto& [other, id] : tensors) known.push_back(other);
      return Error(Code::invalid_argument, no_such("output or tensor", name, known));
    }
    outputs.emplace_back(name, at->second);
  }
  NNEX_TRY(graph.set_outputs(outputs));
  return Model::compile(std::move(graph), options);
}

/// What a run gave, and what is asked of it.
struct Answers {
  std::vector<Value> values;
  std::vector<Target> targets;
  std::vector<std::string> labels;
};

/// Says where there are fewer labels than there is to name.
void tell_of_labels(const Value& v, const std::string& name, const Answers& answers, const RunArguments& o) {
  const Tensor* t = v.tensor();
  const int64_t rank = t ? t->shape().rank() : 0;
  if (o.labels.empty() || o.inputs.quiet || rank == 0) return;
  const int64_t width = t->shape()[rank - 1];
  if (static_cast<int64_t>(answers.labels.size()) < width)
    say(stderr, "nnex: '{}' has {} labels; needed {} for output '{}', whose others are shown by their index\n",
        o.labels, answers.labels.size(), width, one_line(name));
}

/// Prints every output; in JSON all that is told of it.
Json tell(const Model& model, const Answers& answers, const RunArguments& o) {
  Json j = {{"schema", "nnex.run/1"}, {"outputs", Json::array()}};
  for (size_t i = 0; i < answers.values.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    const Value& v = answers.values[i];
    const std::string hash = o.hash || o.exact ? hash_of(v) : "";
    const auto top = o.topk > 0 ? top_of(v, o.topk) : std::nullopt;
    if (top) tell_of_labels(v, name, answers, o);
    if (o.json) {
      Json row = {{"name", name}, {"type", v.text()}};
      if (!hash.empty()) row["sha256"] = hash;
      describe(v, name, row);
      if (top) to_json(*top, answers.labels, row);
      j["outputs"].push_back(std::move(row));
    } else if (!o.inputs.quiet) {
      say("{}: {}\n", one_line(name), one_line(preview(v)));
      if (!hash.empty()) say("  sha256 {}\n", hash);
      if (top) print(*top, answers.labels);
    }
  }
  return j;
}

int run(const RunArguments& o) {
  std::optional<TimeLimit> limit(o.timeout);
  if (o.hash_layers) return hash_layers(o, *limit);
  if (o.check_nan) return check_nan(o, *limit);
  if (!o.labels.empty() && o.topk == 0)
    return report(Error(Code::invalid_argument, "--labels names what --topk shows; needed both"));
  if (Status s = can_save(o); !s.ok()) return report(s.error());
  auto model = load(o);
  if (!model.ok()) return report(model.error());
  const auto carried = carried_of(o);
  if (!carried.ok()) return report(carried.error());
  if (const auto inner = inner_words(*model, *carried, o.save); !inner.empty()) model = with_outputs(o, inner);
  if (!model.ok()) return report(model.error());
  Answers answers;
  auto labels = labels_of(o.labels);
  if (!labels.ok()) return report(labels.error());
  answers.labels = std::move(*labels);
  auto targets = targets_of(*model, *carried, o.save);
  if (!targets.ok()) return report(targets.error());
  answers.targets = std::move(*targets);
  if (Status s = can_save(answers.targets, o.writing.existing()); !s.ok()) return report(s.error());
  const auto cvm = cvm_facts(*model);
  if (!cvm && !o.save_bytes.empty())
    return report(Error(Code::invalid_argument, "--save-bytes: the model is not of CVM's format"));
  auto inputs = inputs_of(*model, o);
  if (!inputs.ok()) return report(inputs.error());
  Session session = model->session(o.model.session_options());
  auto out = o.steps == 1 ? awaited("running", [&] { return session.run(*inputs, limit->run_options()); })
                          : run_steps(session, model->inputs(), *inputs, o.steps, limit->run_options());
  ModelOptions::tell_cache(*model);
  if (!out.ok()) return limit->report(out.error());
  limit.reset();
  answers.values = std::move(*out);
  if (Status s = save(*model, session, answers.values, answers.targets, o); !s.ok()) return report(s.error());
  if (!o.save_variables.empty())
    if (Status s = save_states(*model, session, o.save_variables, o.writing.existing()); !s.ok())
      return report(s.error());
  Json j = tell(*model, answers, o);
  if (cvm && o.steps == 1)
    if (Status s = hand_out(*model, *cvm, answers.values, o, j); !s.ok()) return report(s.error());
  if (o.json) say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  return kOk;
}

}  // namespace

void add_run(CommandLine& line) {
  auto o = std::make_shared<RunArguments>();
  Verb verb = line.verb("run", "Run a model once and show its answers", [o] { return run(*o); });
  o->model.add_to(verb);
  o->model.add_carry_to(verb);
  add_cache(verb, o->model.cache);
  o->inputs.add_to(verb);
  verb.option(
          "--save", o->save,
          "Save an output: FILE in the model's order, or NAME=FILE (.npy .npz .pb .dat .json .csv), of any tensor in "
          "the graph, or what --carry carries; a .npz FILE takes all outputs, where they are tensors; sequences, "
          "optionals and maps go to .pb and .json; with --cast a type that NumPy lacks (bf16) goes to .npy and .npz as "
          "a "
          "wider one")
      .type("[NAME=]FILE");
  verb.option("--steps", o->steps,
              "Run N times, the model's states carried on; an input with one axis more than the model's is a sequence, "
              "and outputs come on a new first axis")
      .whole(1)
      .type("N");
  verb.option("--save-variables", o->save_variables,
              "Write what became of the variables that the model updates: FOLDER/LABEL.dat")
      .type("FOLDER");
  verb.option("--save-bytes", o->save_bytes,
              "Write the bytes that CVM's runtime hands out: heads joined, after the model's postprocess")
      .type("FILE");
  o->writing.add_to(verb);
  verb.option("--topk", o->topk, "Show the K largest of each row (of the last axis) of each output").whole(0);
  verb.option("--labels", o->labels, "A file with one label a line, for --topk");
  add_timeout(verb, o->timeout);
  verb.flag("--exact", o->exact,
            "Run whole numbers alone, the same bytes on every machine; refuse a node that computes with floats");
  verb.flag("--portable", o->portable,
            "Floats as every machine computes them: products and sums are rounded one by one");
  verb.flag("--hash", o->hash, "Show the SHA-256 of each output (as --exact does)");
  verb.flag("--hash-layers", o->hash_layers, "Show the SHA-256 of every tensor, to find where two machines differ");
  verb.flag("--check-nan", o->check_nan,
            "Show which tensors have NaN or infinite elements, the first of them in front; exit code 1 where one has");
  const auto answers = [o] { return !o->hash_layers && !o->check_nan; };  // whose lists are all that is shown
  for (const char* option : {"--save", "--topk", "--labels", "--steps", "--save-variables", "--save-bytes", "--hash"})
    verb.only_where(option, answers, "no effect with --hash-layers or --check-nan");
  verb.only_where(
      "--check-nan", [o] { return !o->hash_layers; }, "no effect with --hash-layers");
  verb.flag("--json", o->json,
            "Print a JSON object: values of outputs of up to 1,000 elements, statistics of larger ones");
  verb.flag("-q,--quiet", o->inputs.quiet, "Print nothing but errors, and what --json asks for");
}

}  // namespace nnex::cli
