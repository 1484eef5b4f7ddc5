// nnex convert: a model in another standard's form.

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli.h"
#include "formats/nnef/model.h"
#include "formats/read.h"
#include "graph/symbols.h"
#include "run/convert.h"
#include "webnn/program_file.h"
#include "webnn/read_any.h"
#include "webnn/write.h"

namespace nnex::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string out, to, name;
  bool custom = false, keep_fragments = false, external = false, force = false, quiet = false;
};

bool ends_in(std::string_view s, std::string_view end) { return s.size() > end.size() && s.ends_with(end); }

/// Endings that say what is written.
constexpr struct {
  std::string_view ending, standard;
} kEndings[] = {{".onnx", "onnx"},   {".nnef", "nnef"},   {".tar", "nnef"}, {".tgz", "nnef"},
                {".tar.gz", "nnef"}, {".webnn", "webnn"}, {".mjs", "webnn"}};

/// The standard asked for: the one named, else by the ending; a name without one is a folder of NNEF. A number behind a
/// point is no ending ("net-1.0"). Error: invalid_argument for an ending that says nothing.
Result<std::string> target(const Options& o) {
  if (!o.to.empty()) return o.to;
  std::string known;
  for (const auto& [ending, standard] : kEndings) {
    if (ends_in(o.out, ending)) return std::string(standard);
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", ending, standard);
  }
  const std::string ending = std::filesystem::path(o.out).extension().string();
  if (ending.find_first_not_of(".0123456789") == std::string::npos) return std::string("nnef");
  return Error(Code::invalid_argument,
               fmt::format("'{}': the ending '{}' says no standard; known are {}; a name without one, or --to nnef, is "
                           "a folder of NNEF",
                           o.out, ending, known));
}

/// A builder program or a module that builds it. A program stays as it is.
int to_webnn(const Options& o, const LoadOptions& load) {
  if (!ends_in(o.out, ".webnn") && !ends_in(o.out, ".mjs"))
    return report(Error(Code::invalid_argument, fmt::format("'{}': needed a name in .webnn or .mjs", o.out)));
  const auto program = [&]() -> Result<ml::Program> {
    if (is_program(o.model.path)) {
      NNEX_ASSIGN(ml::Program same, ml::load_program(o.model.path));
      NNEX_TRY(ml::graph_of(same));
      return same;
    }
    NNEX_ASSIGN(Graph graph, read_any(o.model.path, load));
    NNEX_TRY(fix_symbols(graph, load.symbols));
    return ml::to_program(graph, o.name);
  }();
  if (!program.ok()) return report(program.error());
  if (Status s = ml::save_program(*program, o.out); !s.ok()) return report(s.error());
  if (!o.quiet) fmt::print("{}: {} operations, {} operands\n", o.out, program->calls.size(), program->operands.size());
  return kOk;
}

/// Where nothing else is asked for, a model of the provisional draft becomes one of 1.0 as a text: names, labels and
/// fragments stay. Nothing: another model.
Result<std::optional<nnef_format::UpgradedModel>> upgrade(const Options& o, const LoadOptions& load) {
  if (!load.dialect.empty() || !load.symbols.empty() || !load.shapes.empty() || load.weight_seed || !o.name.empty() ||
      load.expand_compounds)
    return std::optional<nnef_format::UpgradedModel>();
  NNEX_ASSIGN(const auto files, open_nnef(o.model.path, load));
  if (!files || !files->has("graph.nnef")) return std::optional<nnef_format::UpgradedModel>();
  return nnef_format::upgraded_model(*files);
}

int save(const Options& o, const nnef_format::Written& written) {
  if (Status s = nnef_format::save_model(written, o.out, o.force); !s.ok()) return report(s.error());
  if (o.quiet) return kOk;
  int64_t bytes = 0;
  for (const auto& [label, t] : written.variables) bytes += t.bytes();
  fmt::print("{}: {} variables, {} bytes of them\n", o.out, written.variables.size(), bytes);
  return kOk;
}

/// Tensors go into a file of their own where they are asked to, or where one file cannot hold them.
int to_onnx_file(const Options& o, Graph& graph) {
  std::error_code error;
  if (!o.force && std::filesystem::exists(o.out, error))
    return report(Error(Code::invalid_argument, fmt::format("'{}' exists; --force replaces it", o.out)));
  onnx_format::WriteOptions options{o.name, o.custom, {}};
  if (o.external || onnx_format::constant_bytes(graph) > onnx_format::kMostInline)
    options.external = std::filesystem::path(o.out).filename().string() + ".data";
  auto written = to_onnx(graph, options);
  if (!written.ok()) return report(written.error());
  if (Status s = onnx_format::save_model(*written, o.out); !s.ok()) return report(s.error());
  if (!o.quiet)
    fmt::print("{}: opset {}, {} nodes, {} initializers{}\n", o.out, written->opset, written->nodes,
               written->initializers, written->external_name.empty() ? "" : ", data in " + written->external_name);
  return kOk;
}

int run(const Options& o) {
  auto load = o.model.options();
  if (!load.ok()) return report(load.error());
  const auto standard = target(o);
  if (!standard.ok()) return report(standard.error());
  if (*standard == "webnn") return to_webnn(o, *load);
  if (*standard == "onnx") {
    auto graph = read_any(o.model.path, *load);
    if (!graph.ok()) return report(graph.error());
    if (Status s = fix_symbols(*graph, load->symbols); !s.ok()) return report(s.error());
    return to_onnx_file(o, *graph);
  }
  auto upgraded = upgrade(o, *load);
  if (!upgraded.ok()) return report(upgraded.error());
  if (*upgraded) {
    if (!o.quiet) fmt::print("{}: note: of the provisional draft of 2017, upgraded to 1.0\n", o.model.path);
    for (const std::string& n : (*upgraded)->notes)
      if (!o.quiet) fmt::print("{}: note: {}\n", o.model.path, n);
    return save(o, (*upgraded)->model);
  }
  auto graph = read_any(o.model.path, *load);
  if (!graph.ok()) return report(graph.error());
  if (Status s = fix_symbols(*graph, load->symbols); !s.ok()) return report(s.error());
  if (*standard == "cvm") {
    auto files = to_cvm(*graph);
    if (!files.ok()) return report(files.error());
    if (Status s = cvm_format::save_files(*files, o.out, o.force); !s.ok()) return report(s.error());
    if (!o.quiet)
      fmt::print("{}: {} bytes of symbol, {} of params\n", o.out, files->symbol.size(), files->params.size());
    return kOk;
  }
  auto written = to_nnef(*graph, {o.name, o.custom, o.keep_fragments});
  if (!written.ok()) return report(written.error());
  return save(o, *written);
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("convert", "Write a model in another standard's form");
  auto o = std::make_shared<Options>();
  o->model.add_to(*verb);
  verb->add_option(
          "out", o->out,
          "Where to: an .onnx file, a folder or archive (.tar, .tgz, .tar.gz) of NNEF, a folder of CVM, a .webnn file, "
          "a .mjs module")
      ->required();
  verb->add_option("--to", o->to, "The standard: onnx, nnef, cvm, webnn; absent: by the ending")
      ->check(CLI::IsMember({"onnx", "nnef", "cvm", "webnn"}));
  verb->add_option("--name", o->name, "The graph's name; absent: as it is");
  verb->add_flag("--custom", o->custom, "Carry operations that the standard lacks as custom ones");
  verb->add_flag("--keep-fragments", o->keep_fragments,
                 "Write a document that has fragments with them; without it, as the operations they come down to");
  verb->add_flag("--external-data", o->external,
                 "ONNX: tensors in a file of their own beside the model, as models of more than 2 GB have them anyway");
  verb->add_flag("--force", o->force, "Replace the model's files in a folder that is not empty");
  verb->add_flag("-q,--quiet", o->quiet, "Print nothing but errors");
  verb->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace nnex::cli
