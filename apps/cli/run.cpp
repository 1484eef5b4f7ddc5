// nnex run: one run, its answers printed or saved.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "cli.h"
#include "formats/nnef/quantise.h"
#include "formats/nnef/write.h"
#include "graph/graph.h"
#include "nnex/cvm.h"
#include "numbers.h"
#include "run/compile.h"
#include "tensor/convert.h"
#include "webnn/read_any.h"

namespace nnex::cli {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> inputs, save;
  std::string labels, save_variables, save_bytes;
  Picture picture;
  int topk = 0;
  int64_t steps = 1;
  bool json = false, quiet = false, random = false, exact = false, hash = false, hash_layers = false, quantised = false;
};

std::pair<std::string, std::string> named(const std::string& s) {
  const size_t eq = s.find('=');
  return eq == std::string::npos ? std::pair<std::string, std::string>{"", s}
                                 : std::pair{s.substr(0, eq), s.substr(eq + 1)};
}

bool is_npz(const std::string& path) { return path.size() >= 4 && path.compare(path.size() - 4, 4, ".npz") == 0; }

Result<std::vector<Value>> inputs_of(const Model& model, const Options& o) {
  const auto& ports = model.inputs();
  std::vector<std::string> files(ports.size());
  std::map<std::string, Value> given;
  size_t next = 0;
  for (const std::string& s : o.inputs) {
    auto [name, file] = named(s);
    if (name.empty() && is_npz(file)) {
      NNEX_ASSIGN(auto read, read_all_inputs(file, ports));
      given.merge(read);
      continue;
    }
    size_t at = next;
    if (!name.empty()) {
      at = 0;
      while (at < ports.size() && ports[at].name != name) ++at;
      if (at == ports.size()) {
        std::string known;
        for (const PortInfo& p : ports) known += " '" + p.name + "'";
        return Error(Code::invalid_argument, fmt::format("no input '{}'; the model has:{}", name, known));
      }
    } else if (at >= ports.size()) {
      return Error(Code::invalid_argument,
                   fmt::format("found {} inputs; the model takes {}", o.inputs.size(), ports.size()));
    }
    files[at] = file;
    next = at + 1;
  }
  std::vector<Value> values;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (auto it = given.find(ports[i].name); it != given.end() && files[i].empty()) {
      values.push_back(it->second);
      continue;
    }
    if (files[i].empty() && !o.random) {
      if (auto initial = cvm_initial_input(model)) {
        values.push_back(std::move(*initial));
        continue;
      }
    }
    if (files[i].empty() && !o.random)
      return Error(Code::invalid_argument,
                   fmt::format("input '{}' is missing; it takes {} (--input {}=FILE, or --random)", ports[i].name,
                               ports[i].type, ports[i].name));
    auto v = files[i].empty() ? random_input(ports[i], i + 1, {}, 1, bits_of(model))
                              : read_input(files[i], ports[i], o.picture);
    if (!v.ok()) return std::move(v).error();
    values.push_back(std::move(v).value());
  }
  return values;
}

Result<std::vector<std::string>> labels_of(const std::string& path) {
  std::vector<std::string> out;
  if (path.empty()) return out;
  NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
  std::string_view rest = file.bytes();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// The k largest of the last axis of the first row.
std::vector<int64_t> largest(const Tensor& t, int k) {
  const int64_t n = t.shape().rank() ? t.shape()[t.shape().rank() - 1] : 1;
  std::vector<int64_t> order(static_cast<size_t>(std::min(n, t.count())));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return real_at(t, a) > real_at(t, b); });
  order.resize(std::min(order.size(), static_cast<size_t>(k)));
  return order;
}

std::string preview(const Value& v) {
  const Tensor* t = v.tensor();
  if (!t) return v.text();
  std::string out;
  for (int64_t i = 0; i < std::min<int64_t>(t->count(), 8); ++i) out += (i ? " " : "") + element_text(*t, i);
  return fmt::format("{}  {}{}", v.text(), out, t->count() > 8 ? " ..." : "");
}

void print_topk(const Tensor& t, int k, const std::vector<std::string>& labels) {
  for (int64_t i : largest(t, k))
    fmt::print("  {:>8.4f}  {}\n", real_at(t, i),
               static_cast<size_t>(i) < labels.size() ? labels[static_cast<size_t>(i)] : std::to_string(i));
}

Status save(const Model& model, const std::vector<Value>& out, const std::vector<std::string>& targets) {
  for (const std::string& s : targets) {
    auto [name, file] = named(s);
    if (name.empty() && is_npz(file)) {
      NNEX_TRY(save_outputs(file, model.outputs(), out));
      continue;
    }
    size_t at = 0;
    while (!name.empty() && at < model.outputs().size() && model.outputs()[at].name != name) ++at;
    if (at >= out.size()) return Error(Code::invalid_argument, fmt::format("no output '{}'", name));
    NNEX_TRY(save_output(file, out[at], model.outputs()[at].name));
  }
  return {};
}

/// SHA-256 of a tensor's elements as they lie in memory, little endian, row by row; "" for what is no such tensor.
std::string hash_of(const Value& v) {
  const Tensor* t = v.tensor();
  if (!t || t->dtype() == DType::str) return {};
  Sha256 h;
  h.add(t->data(), static_cast<size_t>(t->bytes()));
  return h.text();
}

/// The model with every tensor of its main block as an output behind its own: what each layer is called, by output.
/// Parameters are kept beside them.
struct Layers {
  Model model;
  std::vector<std::string> labels;
  std::vector<std::pair<std::string, Value>> parameters;
};
Result<Layers> layers_of(const ModelOptions& o, bool exact) {
  ModelOptions plain = o;
  plain.no_optimize = true;
  NNEX_ASSIGN(const Model read, plain.load());
  Graph graph = read.graph();
  std::vector<ValueId> results = graph.outputs(), layers;
  Layers out;
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (const ValueDef& v = graph[ValueId{n}]; v.constant.tensor() && !v.name.empty() && !v.uses.empty())
      out.parameters.emplace_back(v.name, v.constant);
  for (NodeId id : graph.order()) {
    const std::vector<ValueId>& in = graph[id].in;
    if (!in.empty() &&
        std::all_of(in.begin(), in.end(), [&](ValueId v) { return v.valid() && graph[v].is_constant(); }))
      continue;  // a filter, stored otherwise
    for (size_t k = 0; k < graph[id].out.size(); ++k) {
      const ValueId v = graph[id].out[k];
      if (!v.valid()) continue;
      layers.push_back(v);
      out.labels.push_back(fmt::format("{} {}", graph.place_of(id), graph[id].op->name));
      if (graph[id].out.size() > 1) out.labels.back() += fmt::format(" output {}", k);
    }
  }
  // What states become stays behind everything else.
  results.insert(results.end() - static_cast<ptrdiff_t>(graph.states.size()), layers.begin(), layers.end());
  graph.set_results(kMain, std::move(results));
  LoadOptions options;
  options.optimize = !o.no_optimize;
  options.exact = exact;
  NNEX_ASSIGN(out.model, Model::compile(std::move(graph), options));
  return out;
}

/// Hashes of every tensor, in the order of the model's nodes.
int hash_layers(const Options& o) {
  auto layers = layers_of(o.model, o.exact);
  if (!layers.ok()) return report(layers.error());
  auto inputs = inputs_of(layers->model, o);
  if (!inputs.ok()) return report(inputs.error());
  SessionOptions options;
  options.threads = o.model.threads;
  Session session = layers->model.session(options);
  auto out = session.run(*inputs);
  if (!out.ok()) return report(out.error());
  Json j = {{"schema", "nnex.layers/1"}};
  for (const char* list : {"inputs", "parameters", "outputs", "layers"}) j[list] = Json::array();
  const auto show = [&](const char* list, std::string_view kind, const std::string& label, const Value& v) {
    const std::string hash = hash_of(v);
    j[list].push_back({{"name", label}, {"type", v.text()}, {"sha256", hash}});
    if (!o.json) fmt::print("{}  {}  {}{}\n", hash, v.text(), kind, label);
  };
  for (size_t i = 0; i < inputs->size(); ++i) show("inputs", "input ", layers->model.inputs()[i].name, (*inputs)[i]);
  for (const auto& [name, value] : layers->parameters) show("parameters", "parameter ", name, value);
  const size_t outputs = out->size() - layers->labels.size();
  for (size_t i = 0; i < out->size(); ++i) {
    if (i >= outputs)
      show("layers", "", layers->labels[i - outputs], (*out)[i]);
    else
      show("outputs", "output ", layers->model.outputs()[i].name, (*out)[i]);
  }
  if (o.json) fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  return kOk;
}

/// One tensor file a state, as the model's folder would have it.
Status save_states(const Model& model, const Session& session, const std::string& folder) {
  if (model.states().empty()) return Error(Code::invalid_argument, "--save-variables: the model updates no variable");
  for (const PortInfo& p : model.states()) {
    NNEX_ASSIGN(const Value v, session.state(p.name));
    NNEX_TRY(save_variable(folder, p.name, v));
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
Status hand_out(const Model& model, const CvmFacts& facts, const std::vector<Value>& out, const Options& o, Json& j) {
  auto bytes = cvm_output_bytes(model, out);
  if (!bytes.ok()) return std::move(bytes).error().during("joining the heads");
  if (!o.save_bytes.empty()) NNEX_TRY(write_file(o.save_bytes, *bytes));
  Sha256 h;
  h.add(bytes->data(), bytes->size());
  const std::string mode = facts.postprocess.empty() ? "none" : facts.postprocess, hash = h.text();
  const int64_t width = facts.output_width;
  j["cvm"] = {{"postprocess", mode}, {"bytes", bytes->size()}, {"element_bytes", width}, {"sha256", hash}};
  if (o.json || o.quiet || (facts.postprocess.empty() && o.save_bytes.empty())) return {};
  fmt::print("postprocess {}: {} bytes  {}\n", mode, bytes->size(), preview_bytes(*bytes, width));
  if (o.hash || o.exact) fmt::print("  sha256 {}\n", hash);
  return {};
}

/// The model; with its quantisation file applied when that is asked for.
Result<Model> load(const Options& o) {
  NNEX_ASSIGN(LoadOptions options, o.model.options());
  options.exact = o.exact;
  if (!o.quantised) return Model::load(o.model.path, options);
  NNEX_ASSIGN(Graph graph, read_any(o.model.path, options));
  if (!nnef_format::find_property(graph, nnef_format::kQuantProperty))
    return Error(Code::invalid_argument, "--quantized: the model has no quantisation file (graph.quant)");
  NNEX_TRY(nnef_format::apply_quantisation(graph));
  return compile_own(std::move(graph), options);
}

int run(const Options& o) {
  if (o.hash_layers) return hash_layers(o);
  auto model = load(o);
  if (!model.ok()) return report(model.error());
  auto labels = labels_of(o.labels);
  if (!labels.ok()) return report(labels.error());
  auto inputs = inputs_of(*model, o);
  if (!inputs.ok()) return report(inputs.error());
  SessionOptions options;
  options.threads = o.model.threads;
  Session session = model->session(options);
  auto out = o.steps == 1 ? session.run(*inputs) : run_steps(session, model->inputs(), *inputs, o.steps);
  if (!out.ok()) return report(out.error());
  if (Status s = save(*model, *out, o.save); !s.ok()) return report(s.error());
  if (!o.save_variables.empty())
    if (Status s = save_states(*model, session, o.save_variables); !s.ok()) return report(s.error());
  Json j = {{"schema", "nnex.run/1"}, {"outputs", Json::array()}};
  for (size_t i = 0; i < out->size(); ++i) {
    const Tensor* t = (*out)[i].tensor();
    Json row = {{"name", model->outputs()[i].name}, {"type", (*out)[i].text()}};
    const bool hashed = o.hash || o.exact;
    if (hashed) row["sha256"] = hash_of((*out)[i]);
    if (t && o.topk > 0 && t->dtype() != DType::str) {
      row["top"] = Json::array();
      for (int64_t k : largest(*t, o.topk))
        row["top"].push_back(
            {{"index", k},
             {"value", real_at(*t, k)},
             {"label", static_cast<size_t>(k) < labels->size() ? (*labels)[static_cast<size_t>(k)] : ""}});
    }
    j["outputs"].push_back(std::move(row));
    if (o.json || o.quiet) continue;
    fmt::print("{}: {}\n", model->outputs()[i].name, preview((*out)[i]));
    if (hashed) fmt::print("  sha256 {}\n", hash_of((*out)[i]));
    if (t && o.topk > 0 && t->dtype() != DType::str) print_topk(*t, o.topk, *labels);
  }
  const auto cvm = cvm_facts(*model);
  if (!cvm && !o.save_bytes.empty())
    return report(Error(Code::invalid_argument, "--save-bytes: the model is not of CVM's format"));
  if (cvm && o.steps == 1)
    if (Status s = hand_out(*model, *cvm, *out, o, j); !s.ok()) return report(s.error());
  if (o.json) fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  return kOk;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("run", "Run a model once and show its answers");
  auto o = std::make_shared<Options>();
  o->model.add_to(*verb);
  verb->add_option(
      "-i,--input", o->inputs,
      "An input: FILE in the model's order, or NAME=FILE (.npy .npz .pb .dat .json .raw .png .jpg); a .npz FILE gives "
      "every "
      "input it has an array for");
  verb->add_option("--save", o->save,
                   "Save an output: FILE, or NAME=FILE (.npy .npz .pb .dat .json); a .npz FILE takes all of them");
  verb->add_option("--steps", o->steps,
                   "Run N times, the model's states carried on; an input with one axis more than the model's is a "
                   "sequence, and outputs come on a new first axis")
      ->check(whole_number(1))
      ->type_name("N");
  verb->add_option("--save-variables", o->save_variables,
                   "Write what became of the variables that the model updates: FOLDER/LABEL.dat")
      ->type_name("FOLDER");
  verb->add_option("--save-bytes", o->save_bytes,
                   "Write the bytes that CVM's runtime hands out: heads joined, after the model's postprocess")
      ->type_name("FILE");
  verb->add_option("--topk", o->topk, "Show the K largest of each output")->check(whole_number(0));
  verb->add_option("--labels", o->labels, "A file with one label a line, for --topk");
  verb->add_option("--layout", o->picture.layout, "How a picture lies in the input")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  verb->add_option("--mean", o->picture.mean, "Subtracted from a picture's channels (0 to 1)")->delimiter(',');
  verb->add_option("--scale", o->picture.scale, "Divides a picture's channels after that")->delimiter(',');
  verb->add_flag("--bgr", o->picture.bgr, "A picture's channels blue first");
  verb->add_flag("--random", o->random, "Random numbers for inputs that are not given");
  verb->add_flag("--exact", o->exact,
                 "Run whole numbers alone, the same bytes on every machine; refuse a node that computes with floats");
  verb->add_flag("--hash", o->hash, "Show the SHA-256 of each output (as --exact does)");
  verb->add_flag("--quantized", o->quantised,
                 "Run with what the model's quantisation file says of its tensors (NNEF graph.quant), which is a hint "
                 "otherwise");
  verb->add_flag("--hash-layers", o->hash_layers,
                 "Show the SHA-256 of every tensor, to find where two machines differ");
  verb->add_flag("--json", o->json, "Print a JSON object");
  verb->add_flag("-q,--quiet", o->quiet, "Print nothing but errors");
  verb->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace nnex::cli
