// Cases of graphs/: documents as other projects write them. Models with a stored answer run from their folder and from
// archives of it; documents of the draft of 2017 upgrade to clean ones; documents in tract's dialect are refused
// without it, and read and run with it.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/read.h"
#include "base/mapped_file.h"
#include "conform_nnef_checked.h"
#include "nnex/tensor_file.h"
#include "run/compile.h"
#include "shared/random_input.h"
#include "standards/container.h"
#include "standards/gzip.h"
#include "standards/nnef/model.h"
#include "standards/nnef/read_provisional.h"
#include "standards/nnef/tract/reader.h"
#include "standards/tar.h"
#include "tensor/convert.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;
using namespace nnef_format;

/// Fragments alone: in a document of their own.
std::string with_graph(const std::string& fragments) {
  return "version 1.0;\nextension KHR_enable_fragment_definitions, KHR_enable_operator_expressions;\n" + fragments +
         "\ngraph g(x) -> (y) { x = external(shape = [1]); y = copy(x); }\n";
}

bool is_file(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

std::string compare_tensors(const Tensor& got, const Tensor& want, double tolerance) {
  if (!(got.shape() == want.shape()))
    return fmt::format("found {}; needed {}", got.shape().text(), want.shape().text());
  for (int64_t i = 0; i < want.count(); ++i)
    if (const double g = real_at(got, i), w = real_at(want, i); !(std::fabs(g - w) <= tolerance * (1 + std::fabs(w))))
      return fmt::format("element {}: found {}; needed {}", i, g, w);
  return {};
}

// ---- A stored answer: input.dat in, output.dat out

Result<Tensor> stored(const std::string& path) {
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(path, MapPolicy::never));
  auto owner = std::make_shared<const std::string>(opened.bytes());
  NNEX_ASSIGN(TensorFile file, read_tensor_file(*owner, owner));
  return items(file);
}

/// The folder's files as an archive in memory.
Result<std::string> packed(const std::string& folder, bool gzip) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string tar;
  for (const std::string& name : names) {
    NNEX_ASSIGN(MappedFile file, MappedFile::open(folder + "/" + name, MapPolicy::never));
    tar += tar_header(name, file.bytes().size());
    tar += file.bytes();
    tar += std::string(tar_padding(file.bytes().size()), '\0');
  }
  tar += std::string(kTarEnd, '\0');
  if (!gzip) return tar;
  NNEX_ASSIGN(Gzip writer, Gzip::start());
  std::string out;
  NNEX_TRY(writer.add(tar, out));
  NNEX_TRY(writer.finish(out));
  return out;
}

std::string run_stored(const std::string& folder) {
  auto in = stored(folder + "/input.dat"), want = stored(folder + "/output.dat");
  if (!in.ok() || !want.ok()) return "input.dat or output.dat cannot be read";
  for (const char* form : {"folder", "tar", "tgz"}) {
    const bool archive = form[0] == 't';
    auto bytes = archive ? packed(folder, form[1] == 'g') : Result<std::string>(std::string());
    if (!bytes.ok()) return bytes.error().text();
    auto model = archive ? Model::from_bytes(*bytes) : Model::load(folder);
    if (!model.ok()) return fmt::format("{}: {}", form, model.error().text());
    if (model->inputs().size() != 1) return "the model has another count of inputs than one";
    Session session = model->session();
    const Value input(*in);
    auto out = session.run(std::span<const Value>(&input, 1));
    if (!out.ok()) return fmt::format("{}: {}", form, out.error().text());
    if (out->size() != 1) return "the model has another count of outputs than one";
    const Tensor* got = (*out)[0].tensor();
    if (const std::string s = got ? compare_tensors(*got, *want, 1e-5) : "no tensor"; !s.empty())
      return fmt::format("{}: {}", form, s);
  }
  return {};
}

// ---- The draft of 2017

/// A document of the draft upgrades to one without faults, which needs no upgrade itself.
std::string compare_upgraded(const Checked& c, const std::string& file) {
  if (!is_provisional(c.source)) return {};
  Faults faults;
  EvaluateOptions options;
  options.dialect = Dialect::any;
  const Edition edition(c.source, file, options, faults);
  ShapeChecker sink;
  Tensors tensors;
  if (faults.none()) evaluate(edition.text(), file, sink, tensors, faults, edition.options());
  if (!faults.none()) return "upgraded from the draft: " + faults.list()[0].text();
  return is_provisional(edition.text()) ? "the upgraded text is of the draft still" : std::string();
}

// ---- tract's dialect

/// What io.npz says: inputs by name, and the outputs that must come of them.
std::string run_npz(const Model& model, const std::string& path) {
  auto arrays = read_tensors(path);
  if (!arrays.ok()) return arrays.error().text();
  std::map<std::string, Value> inputs;
  bool half = false;
  for (const PortInfo& port : model.inputs()) {
    const auto found = arrays->find(port.name);
    if (found == arrays->end()) return fmt::format("io.npz has no '{}'", port.name);
    auto t = convert(found->second, port.dtype);
    if (!t.ok()) return t.error().text();
    half |= port.dtype == DType::f16 || port.dtype == DType::bf16;
    inputs.emplace(port.name, std::move(t).value());
  }
  Session session = model.session();
  auto out = session.run(inputs);
  if (!out.ok()) return out.error().text();
  for (const auto& [name, stored] : *arrays)
    if (!inputs.count(name) && !out->count(name)) return fmt::format("io.npz has '{}', which the model has not", name);
  for (const auto& [name, got] : *out) {
    const auto want = arrays->find(name);
    if (want == arrays->end() || !got.tensor()) return fmt::format("io.npz has no '{}'", name);
    if (std::string s = compare_tensors(*got.tensor(), want->second, half ? 2e-3 : 1e-4); !s.empty())
      return fmt::format("'{}': {}", name, s);
  }
  return {};
}

/// Runs a model on seeded numbers; extents that a document leaves open are 8.
std::string run_seeded(const Model& model) {
  constexpr int64_t kOpen = 8;
  std::vector<Value> inputs;
  for (const PortInfo& port : model.inputs()) {
    auto in = random_input(port, inputs.size() + 1, {}, kOpen);
    if (!in.ok()) return in.error().text();
    inputs.push_back(std::move(in).value());
  }
  Session session = model.session();
  auto out = session.run(inputs);
  return out.ok() ? std::string() : out.error().text();
}

/// Refused for operations that are missing, all of them named at once.
bool names_missing(const Error& e) {
  return e.code() == Code::unsupported && e.message().find("missing: ") != std::string::npos;
}

std::string run_dialect(const std::string& folder, const std::string& file, const Checked& c) {
  if (file == "fragment.nnef") {
    Faults faults;
    if (import_tract(c.source, file, {}, faults, true)) return {};
    return faults.count() == 1 && names_missing(faults.list()[0]) ? "" : "tract: " + faults.list()[0].text();
  }
  LoadOptions options;
  options.nnef.dialect = NnefDialect::tract;
  options.weight_seed = 1;
  auto graph = read_model(file == "graph.nnef" ? folder : folder + "/" + file, options);
  if (!graph.ok()) return names_missing(graph.error()) ? "" : "tract: " + graph.error().text();
  auto model = compile(std::move(graph).value(), options);
  if (!model.ok()) return "tract: " + model.error().text();
  const std::string answers = folder + "/io.npz";
  const std::string difference = is_file(answers) ? run_npz(*model, answers) : run_seeded(*model);
  return difference.empty() ? difference : "tract: " + difference;
}

std::string run_unit(const std::string& folder, const std::string& file, const Json& one, const Verdicts& out) {
  const std::string verdict = one.value("verdict", "");
  const bool text = file.ends_with(".nnef");
  Checked c;
  if (text) {
    if (Status s = read_text(folder + "/" + file, c); !s.ok()) return s.error().text();
    if (file == "fragment.nnef") c.source = with_graph(c.source);
    check_text(c, file);
  }
  if (verdict == "valid") {
    if (std::string s = compare_valid(c, one); !s.empty()) return s;
    return is_file(folder + "/input.dat") && is_file(folder + "/output.dat") ? run_stored(folder) : std::string();
  }
  if (text)
    if (std::string s = compare_invalid(c, ""); !s.empty()) return s;
  if (verdict != "dialect") return compare_upgraded(c, file);
  return out.load.nnef.dialect == NnefDialect::standard ? std::string() : run_dialect(folder, file, c);
}

}  // namespace

Status conform_nnef_graphs(const std::string& folder, Verdicts& out) {
  NNEX_ASSIGN(const Json index, read_index(folder + "/index.json"));
  return each_case(index, "units", folder, "unit", out, [&](const std::string& name, const Json& one) {
    std::string file, archive;
    for (const Json& f : one.at("files")) {
      const std::string s = f.get<std::string>();
      if (s == "graph.nnef" || s == "fragment.nnef") file = s;
      if (s.ends_with(".tgz") || s.ends_with(".tar")) archive = s;
    }
    if (file.empty() && one.value("verdict", "") == "dialect") file = archive;
    if (file.empty())
      out.skip(name, "no text of its own");
    else
      out.add(name, run_unit(folder + "/" + one.value("unit", ""), file, one, out));
  });
}

}  // namespace nnex::cli
