// nnex-conform: runs a folder or archive of stored cases and compares.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/read.h"
#include "archive.h"
#include "base/mapped_file.h"
#include "conform.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "nnex/environment.h"
#include "run/compile.h"
#include "shared/ending.h"
#include "shared/reading.h"
#include "standards/onnx/read_proto.h"
#include "tensor/convert.h"

namespace nnex::cli {
namespace {

/// |got - want| <= atol + rtol * |want|, or relative_to_max times the largest |want|.
struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
  std::optional<double> relative_to_max;
};

bool close(double got, double want, double bound) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::fabs(got - want) <= bound;
}

std::string compare_tensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.dtype() != want.dtype() || !(got.shape() == want.shape()))
    return fmt::format("found {}{}; needed {}{}", name(got.dtype()), got.shape().text(), name(want.dtype()),
                       want.shape().text());
  if (want.dtype() == DType::str || is_complex(want.dtype())) {
    for (int64_t i = 0; i < want.count(); ++i)
      if (element_text(got, i) != element_text(want, i))
        return fmt::format("element {}: found {}; needed {}", i, element_text(got, i), element_text(want, i));
    return {};
  }
  const bool exact = !is_real(want.dtype());
  double largest = 0;
  if (tolerance.relative_to_max)
    for (int64_t i = 0; i < want.count(); ++i) largest = std::max(largest, std::fabs(real_at(want, i)));
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double w = real_at(want, i);
    const double bound = tolerance.relative_to_max ? *tolerance.relative_to_max * largest
                                                   : tolerance.atol + tolerance.rtol * std::fabs(w);
    const bool fine = exact ? int_at(got, i) == int_at(want, i) : close(real_at(got, i), w, bound);
    if (!fine && wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements differ; element {}: found {}; needed {}", wrong, want.count(), first,
                     element_text(got, first), element_text(want, first));
}

std::string compare(const Value& got, const Value& want, const Tolerance& tolerance) {
  if (got.tensor() && want.tensor()) return compare_tensors(*got.tensor(), *want.tensor(), tolerance);
  if (got.sequence() && want.sequence()) {
    const auto &a = got.sequence()->items, &b = want.sequence()->items;
    if (a.size() != b.size()) return fmt::format("found {} items; needed {}", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      if (std::string s = compare(a[i], b[i], tolerance); !s.empty()) return fmt::format("item {}: {}", i, s);
    return {};
  }
  if (got.map() && want.map()) {
    if (std::string s = compare_tensors(got.map()->keys, want.map()->keys, tolerance); !s.empty()) return "keys: " + s;
    for (size_t i = 0; i < want.map()->values.size(); ++i)
      if (std::string s = compare(got.map()->values[i], want.map()->values[i], tolerance); !s.empty())
        return fmt::format("value {}: {}", i, s);
    return {};
  }
  if (got.optional() && want.optional()) {
    if (!got.optional()->item || !want.optional()->item)
      return !got.optional()->item == !want.optional()->item
                 ? ""
                 : fmt::format("found {}; needed {}", got.text(), want.text());
    return compare(*got.optional()->item, *want.optional()->item, tolerance);
  }
  if (want.optional() && want.optional()->item) return compare(got, *want.optional()->item, tolerance);
  return fmt::format("found {}; needed {}", got.text(), want.text());
}

/// Element i of n is i / n.
Result<Value> ramp(const Type& type) {
  const auto shape = concrete(type);
  if (type.dtype != DType::f32 || !shape) return Error(Code::invalid_model, "no inputs are stored with the case");
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::f32, *shape));
  const auto n = static_cast<double>(t.count());
  int64_t i = 0;
  for (float& v : t.mutable_as<float>()) v = static_cast<float>(static_cast<double>(i++) / n);
  return Value(std::move(t));
}

/// The stored value of a port; an error where the file is missing.
Result<Value> stored(const Case& from, const std::string& name, const Type& type) {
  auto file = from.files.find(name);
  if (file == from.files.end()) return Error(Code::unreadable, name + " is missing");
  auto owner = std::make_shared<const std::string>(file->second);
  NNEX_ASSIGN(auto v, onnx_format::read_value(*owner, type, {owner, nullptr}));
  return std::move(v.value);
}

/// What one case runs with.
struct Ports {
  std::vector<Type> inputs, outputs;
};

/// One data set: runs the model on input_I.pb and compares with output_J.pb; what differs, or nothing.
Result<std::string> run_set(const Model& model, const Case& from, const std::string& set, const Ports& ports,
                            const Tolerance& tolerance, int threads) {
  std::vector<Value> values;
  for (size_t i = 0; i < ports.inputs.size(); ++i) {
    NNEX_ASSIGN(Value v, from.ramp_inputs ? ramp(ports.inputs[i])
                                          : stored(from, fmt::format("{}/input_{}.pb", set, i), ports.inputs[i]));
    values.push_back(std::move(v));
  }
  SessionOptions options;
  options.threads = threads;
  Session session = model.session(options);
  NNEX_ASSIGN(std::vector<Value> got, session.run(values));
  for (size_t o = 0; o < ports.outputs.size(); ++o) {
    NNEX_ASSIGN(Value want, stored(from, fmt::format("{}/output_{}.pb", set, o), ports.outputs[o]));
    if (std::string s = compare(got[o], want, tolerance); !s.empty())
      return fmt::format("output {} ('{}'): {}", o, model.outputs()[o].name, s);
  }
  for (const auto& [kind, count] : {std::pair("input", ports.inputs.size()), std::pair("output", ports.outputs.size())})
    if (from.files.count(fmt::format("{}/{}_{}.pb", set, kind, count)))
      return fmt::format("{}_{}.pb is stored; the model has {} {}s", kind, count, count, kind);
  return std::string();
}

Result<Tolerance> tolerance_of(const Case& from) {
  Tolerance out;
  auto text = from.files.find("tolerance.json");
  if (text == from.files.end()) return out;
  NNEX_ASSIGN(const Json j, parse_json(text->second));
  const auto number = [&](const char* name) -> std::optional<double> {
    if (!j.is_object() || !j.contains(name) || !j[name].is_number()) return std::nullopt;
    return j[name].get<double>();
  };
  out.rtol = number("rtol").value_or(out.rtol);
  out.atol = number("atol").value_or(out.atol);
  out.relative_to_max = number("relative_to_max");
  return out;
}

/// How cases are run.
struct How {
  int threads = 1;
  std::string known = "all";  ///< What is left of the types a model declares: all, ranks, types.
  LoadOptions load;
};

/// A symbol for every extent, or nothing of the extents.
Type blurred(Type type, const std::string& name, bool ranks) {
  if (type.element) type.element = std::make_shared<const Type>(blurred(*type.element, name, ranks));
  if (!type.dims || !ranks) {
    type.dims.reset();
    return type;
  }
  for (size_t i = 0; i < type.dims->size(); ++i) (*type.dims)[i] = Dim::symbol(fmt::format("{}_{}", name, i));
  return type;
}

/// Forgets declared extents, so that a run finds them out: of inputs as `known` says, of all other values.
void forget(ir::Graph& graph, const std::string& known) {
  if (known == "all") return;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueId v{n};
    if (!graph[v].is_constant())
      graph.set_type(v, blurred(graph[v].type, fmt::format("v{}", n), known == "ranks" && graph[v].param_of == kMain));
  }
}

Result<std::string> run_case(const Case& from, const How& how) {
  NNEX_ASSIGN(const Tolerance tolerance, tolerance_of(from));
  LoadOptions options = how.load;
  options.external_folder = from.folder;
  NNEX_ASSIGN(ir::Graph graph, read_model_bytes(from.files.at("model.onnx"), options));
  Ports ports;
  for (ValueId v : graph.inputs()) ports.inputs.push_back(graph[v].type);
  for (ValueId v : graph.outputs()) ports.outputs.push_back(graph[v].type);
  forget(graph, how.known);
  NNEX_ASSIGN(Model model, compile(std::move(graph), options));
  int sets = 0;
  for (int k = 0;; ++k) {
    const std::string set = fmt::format("test_data_set_{}", k);
    auto at = from.files.lower_bound(set + "/");
    if (at == from.files.end() || at->first.rfind(set + "/", 0) != 0) break;
    if (sets++ == 0 && !options.cache.empty()) {
      NNEX_TRY(run_set(model, from, set, ports, tolerance, how.threads));
      NNEX_ASSIGN(model, kept_and_found(model, options));
    }
    NNEX_ASSIGN(std::string difference, run_set(model, from, set, ports, tolerance, how.threads));
    if (!difference.empty()) return fmt::format("{}: {}", set, difference);
  }
  if (sets == 0) return std::string("no test_data_set_0");
  return std::string();
}

int run_conform(const std::string& path, const RowsFile& json, const std::string& filter, bool quiet, const How& how) {
  std::vector<Verdict> rows;
  Status s = each_case(path, [&](const Case& one) {
    const std::string& name = one.name;
    if (!filter.empty() && name.find(filter) == std::string::npos) return;
    auto difference = run_case(one, how);
    if (!difference.ok()) {
      const bool skip = difference.error().code() == Code::unsupported;
      rows.push_back({name, skip ? "skipped" : "failed", difference.error().text()});
    } else {
      rows.push_back({name, difference->empty() ? "passed" : "failed", *difference});
    }
    if (!quiet && rows.back().verdict != "passed") say("{} {}: {}\n", rows.back().verdict, name, rows.back().reason);
  });
  if (!s.ok()) return report(s.error());
  return finish(rows, json);
}

}  // namespace

int finish(const std::vector<Verdict>& rows, const RowsFile& json) {
  size_t passed = 0, failed = 0, skipped = 0, informative = 0;
  Json list = Json::array();
  for (const Verdict& v : rows) {
    (v.verdict == "passed"    ? passed
     : v.verdict == "failed"  ? failed
     : v.verdict == "skipped" ? skipped
                              : informative)++;
    list.push_back({{"name", v.name}, {"verdict", v.verdict}, {"reason", v.reason}});
  }
  if (!json.path.empty()) {
    const Json all = {{"schema", "nnex.conform/1"}, {"passed", passed},           {"failed", failed},
                      {"skipped", skipped},         {"informative", informative}, {"cases", std::move(list)}};
    const std::string text = all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    Status written = write_file(json.path, text, json.existing);
    if (!written.ok()) return report(written.error());
  }
  if (rows.empty()) return report(Error(Code::unreadable, "no cases found"));
  if (informative) say("{} informative\n", informative);
  say("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  return failed ? kNegative : kOk;
}

namespace {

/// What is asked of the program.
struct Options {
  std::string standard, path, json, filter, through, isa, compat, dialect;
  bool quiet = false, no_optimize = false;
  WritingOptions writing;
  How how;

  void add_to(Verb verb);
};

void Options::add_to(Verb verb) {
  verb.option("standard", standard, "Whose cases: onnx, nnef, webnn, cvm")
      .required()
      .one_of({"onnx", "nnef", "webnn", "cvm"});
  verb.option("path", path, "A case, a folder of cases or archives, or an archive (.tar.xz, .tar.gz, .zip)").required();
  verb.option("--json", json,
              "Write a JSON object to this file: the counts, and of each case name, verdict and reason");
  writing.add_to(verb);
  verb.option("--filter", filter, "Only cases whose name contains this");
  verb.option("--threads", how.threads, "Threads a run may use");
  verb.option("--known", how.known, "What a model may keep of its declared types: all, ranks alone, types alone")
      .one_of({"all", "ranks", "types"});
  verb.option("--isa", isa, "Lowers the instruction set: scalar, sse4, avx2, avx512");
  add_compat(verb, compat);
  add_dialect(verb, dialect);
  verb.option(
          "--through", through,
          "NNEF's values: also write each graph in this standard, and run what is read back; WebNN's graphs: do that "
          "alone: nnef, onnx, webnn")
      .one_of({"nnef", "onnx", "webnn"});
  verb.option(
          "--cache", how.load.cache,
          "Of ONNX and CVM: run each model once, keep it in this folder as it was compiled, and judge what is found "
          "there")
      .type("FOLDER");
  verb.flag("--no-optimize", no_optimize, "Run graphs as they were read, without fusing or folding");
  verb.flag("-q,--quiet", quiet, "Only the closing line");
}

int conform(Options& o) {
  o.how.load.optimize = !o.no_optimize;
  o.how.load.cvm.answers = answers_of(o.compat);
  o.how.load.nnef.dialect = dialect_of(o.dialect);
  if (!o.isa.empty()) {
    const auto isa = instruction_set_named(o.isa);
    if (!isa) return report(Error(Code::invalid_argument, fmt::format("no instruction set '{}'", o.isa)));
    o.how.load.isa = *isa;
  }
  const RowsFile json{o.json, o.writing.existing()};
  if (!json.path.empty())
    if (Status s = may_write(json.path, json.existing); !s.ok()) return report(s.error());
  if (o.standard == "cvm") return conform_cvm({o.path, json, o.filter, o.quiet, o.how.threads, o.how.load});
  if (o.standard == "nnef") return conform_nnef(o.path, json, o.filter, o.quiet, o.how.load, o.through);
  if (o.standard == "onnx") return run_conform(o.path, json, o.filter, o.quiet, o.how);
  Verdicts verdicts(o.filter, o.quiet);
  verdicts.through = o.through;
  const int code = conform_webnn(o.path, o.how.threads, verdicts);
  return code == kOk ? finish(verdicts.rows(), json) : code;
}

}  // namespace
}  // namespace nnex::cli

int main(int argc, char** argv) {
  using namespace nnex::cli;
  keep_standard_streams();
  CommandLine line("nnex conform", "Run stored conformance cases and compare the answers");
  Options options;
  options.add_to(line.whole([&options] { return conform(options); }));
  const nnex::MemoryLimit tensors;
  return line.run(argc, argv);
}
