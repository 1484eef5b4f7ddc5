#include "nnex/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "api/compiled_c.h"
#include "api/formats.h"
#include "api/graph_impl.h"
#include "api/made.h"
#include "api/prove.h"
#include "api/read.h"
#include "api/tolerance.h"
#include "base/choice.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/joined.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "base/unfinished.h"
#include "graph/custom.h"
#include "graph/missing.h"
#include "graph/queries.h"
#include "graph/symbols.h"
#include "nnex/edit.h"
#include "nnex/load.h"
#include "passes/passes.h"
#include "run/options.h"
#include "standards/c/write.h"
#include "standards/nnef/model.h"
#include "standards/onnx/text.h"
#include "standards/webnn/export.h"
#include "standards/webnn/program_file.h"
#include "tensor/memory_account.h"
#include "tensor/unknown_names.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;

Existing existing_of(Overwrite overwrite) {
  return overwrite == Overwrite::replace ? Existing::replace : Existing::refuse;
}

// ---- Files

bool is_folder(const std::string& path, Format format) {
  return format == Format::cvm ||
         (format == Format::nnef && nnef_format::packing_of(path) == nnef_format::Packing::folder);
}

/// A folder may be named with a slash behind it.
std::string without_slash(std::string path, Format format) {
  while (is_folder(path, format) && path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// Whether a model may become this folder, or go into it.
Status check_folder(const std::string& path, Format format, Overwrite overwrite) {
  std::error_code error;
  if (!fs::exists(path, error)) return may_write(path, Existing::replace);
  if (!fs::is_directory(path, error))
    return failure(Code::invalid_argument, "'{}' exists and is no folder{}", path,
                   format == Format::nnef ? "; a model of NNEF is one, or an archive in .tgz or .tar" : "");
  if (format == Format::cvm) {
    NNEX_TRY(may_write(path + "/symbol", existing_of(overwrite)));
    return may_write(path + "/params", existing_of(overwrite));
  }
  if (overwrite == Overwrite::refuse && !fs::is_empty(path, error))
    return failure(Code::invalid_argument, "folder '{}' is not empty", path)
        .helped_by({"overwrite", "replace", "replaces the model's files in it"});
  return {};
}

NnefPacking packing_of(const std::string& path) {
  switch (nnef_format::packing_of(path)) {
    case nnef_format::Packing::tgz:
      return NnefPacking::tgz;
    case nnef_format::Packing::tar:
      return NnefPacking::tar;
    default:
      return NnefPacking::folder;
  }
}
WebnnForm webnn_form_of(const std::string& path) {
  if (has_ending(path, ".js")) return WebnnForm::script;
  return has_ending(path, ".mjs") ? WebnnForm::module : WebnnForm::program;
}

/// A packing or form that was asked for is the one that the path's ending tells.
Status check_form(const std::string& path, Format format, const SaveOptions& options) {
  const auto needed = [&](std::string_view ending) {
    return failure(Code::invalid_argument, "'{}': needed a name in {}", path, ending);
  };
  const NnefPacking packing = options.nnef.packing;
  if (format == Format::nnef && packing != NnefPacking::folder && packing != packing_of(path))
    return needed(packing == NnefPacking::tar ? ".tar" : ".tgz or .tar.gz");
  const WebnnForm form = options.webnn.form;
  if (format == Format::webnn && form != WebnnForm::program && form != webnn_form_of(path))
    return needed(form == WebnnForm::module ? ".mjs" : ".js");
  return {};
}

/// Whether a file of the format may have this name.
Status check_name(const std::string& path, Format format, const SaveOptions& options) {
  NNEX_TRY(check_form(path, format, options));
  const auto ends_in = [&](std::string_view end) { return has_ending(path, end); };
  if (format == Format::webnn && !ends_in(".webnn") && !ends_in(".mjs") && !ends_in(".js"))
    return failure(Code::invalid_argument, "'{}': needed a name in .webnn, .mjs or .js", path);
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (format == Format::c && path.ends_with(".C"))
    return failure(Code::invalid_argument, "'{}': needed a name in .c, as compilers take .C for C++", path);
  if (format == Format::c &&
      (!ends_in(".c") || name.find_first_of("\"\\\n") != std::string_view::npos))  // #include "NAME.h"
    return failure(Code::invalid_argument, "'{}': needed a name in .c, without quotes", path);
  return {};
}

/// What can be said of a path before anything is read: whether it may be written, and has a name of the format.
Status check_path(const std::string& path, Format format, const SaveOptions& options) {
  if (is_folder(path, format)) NNEX_TRY(check_form(path, format, options));
  if (is_folder(path, format)) return check_folder(path, format, options.overwrite);
  NNEX_TRY(may_write(path, existing_of(options.overwrite)));
  NNEX_TRY(check_name(path, format, options));
  return format == Format::c ? may_write(c_format::header_path(path), existing_of(options.overwrite)) : Status();
}

bool is_text(const std::string& path, const SaveOptions& options) {
  return options.onnx.text || has_ending(path, ".onnxtxt");
}

/// The model in the textual syntax: the same file, for people. What the syntax has no words for is noted.
Status to_text(Made& made) {
  NNEX_ASSIGN(onnx_format::ModelText printed, onnx_format::print_model_text(made.onnx.model.text()));
  for (const std::string& what : printed.left_out)
    made.notes.push_back("left out, as the syntax has no words for it: " + what);
  made.onnx.model = {};
  made.onnx.model.append(printed.text);
  made.is_text = true;
  return {};
}

/// The file of tensors beside the model that is replaced, where the new one has none: it may be others', so it stays.
std::string left_behind(const Made& made, const std::string& path) {
  const std::string data = path + ".data";
  std::error_code error;
  if (!made.onnx.external_name.empty() || !fs::exists(data, error) || !fs::exists(path, error)) return {};
  const auto old = MappedFile::open(path, MapPolicy::automatic);
  if (!old.ok()) return {};
  const auto files = onnx_format::external_files(old->bytes());
  const std::string name = fs::path(data).filename().string();
  const bool its = files.ok() && std::find(files->begin(), files->end(), name) != files->end();
  return its ? fmt::format("'{}' held the tensors of the model that was replaced; it is still there", data) : "";
}

Status write_onnx(const Made& made, const std::string& path, const SaveOptions& options, SaveReport& report) {
  if (const std::string note = left_behind(made, path); !note.empty()) report.notes.push_back(note);
  NNEX_TRY(onnx_format::save_model(made.onnx, path, existing_of(options.overwrite)));
  report.files = {path};
  if (!made.onnx.external_name.empty())
    report.files.push_back((fs::path(path).parent_path() / made.onnx.external_name).string());
  return {};
}

Status write_nnef(const Made& made, const std::string& path, const SaveOptions& options, SaveReport& report) {
  NNEX_TRY(nnef_format::save_model(made.nnef, path, options.overwrite == Overwrite::replace));
  report.files = {path};
  if (nnef_format::packing_of(path) == nnef_format::Packing::folder) {
    report.files.clear();
    for (const std::string& name : nnef_format::file_names(made.nnef))
      report.files.push_back((fs::path(path) / name).string());
  }
  return {};
}

Status write_webnn(const Made& made, const std::string& path, const SaveOptions& options, SaveReport& report) {
  NNEX_TRY(ml::save_program(made.webnn, path, existing_of(options.overwrite)));
  report.files = {path};
  if (!has_ending(path, ".js") && !ml::WeightFile(made.webnn).empty())
    report.files.push_back(fs::path(path).replace_extension(".weights").string());
  return {};
}

Status write_cvm(const Made& made, const std::string& path, const SaveOptions& options, SaveReport& report) {
  NNEX_TRY(cvm_format::save_files(made.cvm, path, options.overwrite == Overwrite::replace));
  report.files = {(fs::path(path) / "symbol").string(), (fs::path(path) / "params").string()};
  return {};
}

Status write_c(const Made& made, const std::string& path, const SaveOptions& options, SaveReport& report) {
  NNEX_TRY(c_format::save_source(made.c, path, existing_of(options.overwrite)));
  report.files = {path, c_format::header_path(path)};
  return {};
}

/// What is known of a model wherever it goes.
SaveReport report_of(const Made& made) {
  SaveReport r;
  r.format = made.format;
  r.notes = made.notes;
  r.external_file = made.onnx.external_name;
  r.opset = made.onnx.opset;
  r.initializers = static_cast<int64_t>(made.onnx.initializers);
  r.operations = static_cast<int64_t>(made.onnx.nodes + made.webnn.calls.size() + made.c.steps);
  r.operands = static_cast<int64_t>(made.webnn.operands.size());
  r.variables = static_cast<int64_t>(made.nnef.variables.size());
  for (const auto& [label, content] : made.nnef.variables) {
    const auto codes = made.nnef.codes.find(label);
    const int64_t bits = codes == made.nnef.codes.end() ? 0 : codes->second.integer("bits", 8);
    r.variable_bytes += bits == 0 ? content.bytes() : (content.count() * bits + 7) / 8;
  }
  r.symbol_bytes = static_cast<int64_t>(made.cvm.symbol.size());
  r.params_bytes = static_cast<int64_t>(made.cvm.params.size());
  r.weight_bytes = made.c.weight_bytes, r.arena_bytes = made.c.arena_bytes;
  return r;
}

Result<SaveReport> write(const Made& made, const std::string& path, const SaveOptions& options) {
  SaveReport report = report_of(made);
  switch (made.format) {
    case Format::onnx:
      if (built(Format::onnx)) NNEX_TRY(write_onnx(made, path, options, report));
      break;
    case Format::nnef:
      if (built(Format::nnef)) NNEX_TRY(write_nnef(made, path, options, report));
      break;
    case Format::webnn:
      if (built(Format::webnn)) NNEX_TRY(write_webnn(made, path, options, report));
      break;
    case Format::cvm:
      if (built(Format::cvm)) NNEX_TRY(write_cvm(made, path, options, report));
      break;
    case Format::c:
      if (built(Format::c)) NNEX_TRY(write_c(made, path, options, report));
      break;
  }
  std::error_code none;
  for (const std::string& file : report.files)
    if (const auto size = fs::file_size(file, none); !none) report.bytes += static_cast<int64_t>(size);
  return report;
}

Result<Format> known(Format format) {
  if (format > Format::c) return failure(Code::invalid_argument, "no format {}", static_cast<int>(format));
  return format;
}

Result<Format> target(const std::string& path, const SaveOptions& options) {
  if (path.empty()) return Error(Code::invalid_argument, "found no path to write to");
  NNEX_TRY(check_choice("overwrite", options.overwrite, Overwrite::replace));
  return options.format ? known(*options.format) : format_of_path(path);
}

/// Puts into options what a path's ending says besides the standard.
Status say_by_name(const std::string& path, Format format, SaveOptions& options) {
  NNEX_TRY(check_name(path, format, options));
  options.nnef.packing = packing_of(path), options.webnn.form = webnn_form_of(path);
  options.onnx.text = is_text(path, options);
  return {};
}

ReadFrom read_from(const Graph& graph) { return {graph.impl().file, graph.impl().texts}; }

// ---- Conversion

/// What was read of a source, or an error that names it.
template <typename T>
Result<T> read_from(const ModelSource& source, Result<T> r) {
  if (!r.ok()) return std::move(r).error().during("reading " + source.shown());
  return r;
}

Result<ir::Graph> graph_of(const Recognised& model, const LoadOptions& load,
                           std::shared_ptr<const OnnxFile>* file = nullptr) {
  NNEX_ASSIGN(ir::Graph graph, read_model(model, load, file));
  NNEX_TRY(fix_symbols(graph, load.symbols));
  return graph;
}

/// Where nothing else is asked for, a model of the provisional draft becomes one of 1.0 as a text: names, labels and
/// fragments stay. Nothing: another model.
Result<std::optional<Made>> upgrade(const Recognised& model, const ConvertOptions& o) {
  if (o.load.nnef.dialect != NnefDialect::automatic || o.load.nnef.quantized || !o.load.symbols.empty() ||
      !o.load.shapes.empty() || o.load.weight_seed || !o.save.name.empty() || o.load.nnef.expand_compounds)
    return std::optional<Made>();
  if (!built(Format::nnef)) return not_built(Format::nnef);
  NNEX_ASSIGN(const auto files, open_nnef(model, o.load));
  if (!files || !files->has("graph.nnef")) return std::optional<Made>();
  NNEX_ASSIGN(auto upgraded, nnef_format::upgraded_model(*files));
  if (!upgraded) return std::optional<Made>();
  Made out;
  out.format = Format::nnef;
  out.nnef = std::move(upgraded->model);
  out.notes = {"of the provisional draft of 2017, upgraded to 1.0"};
  out.notes.insert(out.notes.end(), upgraded->notes.begin(), upgraded->notes.end());
  return std::optional(std::move(out));
}

/// Where nothing else is asked for, an ONNX model is its own messages again. Nothing: another model.
Result<std::optional<Made>> copied(const ModelSource& source, const Recognised& model, const ConvertOptions& o,
                                   const std::string& file_name) {
  if (model.format != ModelFormat::onnx || !o.load.symbols.empty() || !o.load.shapes.empty() || o.load.weight_seed ||
      o.save.onnx.opset != 0 || o.load.nnef.quantized)
    return std::optional<Made>();
  if (!built(Format::onnx)) return not_built(Format::onnx);
  NNEX_ASSIGN(const ir::Graph graph,
              read_from(source, graph_of(model, o.load)));  // what cannot be read is not handed on
  NNEX_ASSIGN(OnnxFile file, open_onnx(model, o.load));
  onnx_format::WriteOptions wanted;
  wanted.name = o.save.name;
  if (o.save.onnx.external_data || constant_bytes(graph) > onnx_format::kMaxInline)
    wanted.external = file_name + ".data";
  Made out;
  NNEX_ASSIGN(out.onnx, onnx_format::copy_model(file.bytes, file.source, wanted));
  out.copy_of = std::move(file);
  return std::optional(std::move(out));
}

/// What a standard cannot say, it may say by the bodies of NNEF's compound operations: that is tried.
Error with_hint(Error e, const Recognised& model, Format format, const ConvertOptions& o, const std::string& name) {
  if (e.code() != Code::unsupported || o.load.nnef.expand_compounds || format == Format::nnef) return e;
  LoadOptions load = o.load;
  load.nnef.expand_compounds = true;
  auto graph = graph_of(model, load);
  if (!graph.ok() || !graph->provenance.nnef || !made_in(std::move(*graph), format, o.save, name).ok()) return e;
  return std::move(e).helped_by({"nnef.expand_compounds", "true", "writes compound operations by their bodies"});
}

Result<Made> converted(const ModelSource& source, Format format, const ConvertOptions& o, const std::string& name) {
  NNEX_ASSIGN(const Recognised model, read_from(source, recognise(source, o.load)));
  if (format == Format::webnn && model.format == ModelFormat::webnn) {
    Made out;
    out.format = format;
    NNEX_ASSIGN(out.webnn, read_from(source, read_program(model, o.load)));
    NNEX_TRY(read_from(source, ml::graph_of(out.webnn)));
    return out;
  }
  if (format == Format::nnef) {
    NNEX_ASSIGN(auto upgraded, read_from(source, upgrade(model, o)));
    if (upgraded) return std::move(*upgraded);
  }
  if (format == Format::onnx) {
    NNEX_ASSIGN(auto copy, copied(source, model, o, name));
    if (copy) return std::move(*copy);
  }
  ReadFrom from;
  NNEX_ASSIGN(ir::Graph graph, read_from(source, graph_of(model, o.load, &from.file)));
  const AccountScope counted(account_of(o.load));  // of what is written
  auto made = made_in(std::move(graph), format, o.save, name, from);
  if (!made.ok()) return with_hint(std::move(made).error(), model, format, o, name);
  return made;
}

// ---- Proof

/// "3 of 10 elements differ, by 0.5 at most"; numbers apart are told of numbers alone.
std::string how_far(const Difference& d) {
  if (!d.mismatch.empty()) return d.mismatch;
  std::string out = fmt::format("{} of {} elements differ", d.differing, d.count);
  if (d.nan_mismatch) out += fmt::format(", {} NaN in one alone", d.nan_mismatch);
  if (d.infinity_mismatch) out += fmt::format(", {} infinite in one alone", d.infinity_mismatch);
  if (d.differing > d.nan_mismatch + d.infinity_mismatch) out += fmt::format(", by {:.3g} at most", d.max_absolute);
  return out;
}

/// The run that does not agree: "in the run 'edges' output 'y': 3 of 10 elements differ, by 0.5 at most".
std::string disagreement(const Probe& p) {
  for (const ComparedTensor& t : p.outputs)
    if (!t.difference.same()) return fmt::format("in the run '{}' output '{}': {}", p.name, t.a, how_far(t.difference));
  return fmt::format("in the run '{}': {}", p.name, p.note);
}

/// Whether outputs differ only where the source's are NaN: of those standards say little, NNEF nothing at all.
bool loses_nan(const Probe& p) {
  return p.note.empty() && std::all_of(p.outputs.begin(), p.outputs.end(), [](const ComparedTensor& t) {
           const Difference& d = t.difference;
           return d.same() || (d.mismatch.empty() && d.differing == d.nan_mismatch && d.worst_a.ends_with("nan"));
         });
}

/// The proof of a copy needs no run: what was written says the same. Errors: internal, where it does not.
Result<Proof> proven_copy(const OnnxFile& source, const std::string& written, const ConvertOptions& options) {
  LoadOptions load;
  load.map = options.load.map, load.memory_limit = options.load.memory_limit;
  NNEX_ASSIGN(const Recognised model, recognise(written));
  NNEX_ASSIGN(const OnnxFile copy, open_onnx(model, load));
  NNEX_TRY(onnx_format::same_model(source.bytes, source.source, copy.bytes, copy.source, options.save.name));
  Proof proof;
  proof.identical = true;
  return proof;
}

/// Operators of the model that are neither here nor among the host's: "a (...), b (...)"; empty: none.
Result<std::string> lacking_operators(const Recognised& model, const LoadOptions& load) {
  NNEX_ASSIGN(ir::Graph graph, graph_of(model, load));
  NNEX_TRY(passes::inline_functions(graph));
  resolve_custom(graph, load.custom_operators);
  std::vector<std::string> names;
  for (const Missing& m : missing_operators(graph)) names.push_back(m.text());
  return joined(names, ", ");
}

/// The proof of a text that nobody can run here: it is read as the network of the source, and printed as itself.
Result<Proof> proven_text(const ModelSource& source, const std::string& written, const ConvertOptions& options) {
  NNEX_ASSIGN(const Graph a, load_graph(source, options.load));
  NNEX_ASSIGN(const Graph b, load_graph(written));
  const GraphDifference apart = graph_difference(a, b);
  NNEX_ASSIGN(const MappedFile file, MappedFile::open(written));
  NNEX_ASSIGN(const std::string messages, onnx_format::parse_model_text(file.bytes()));
  NNEX_ASSIGN(const onnx_format::ModelText again, onnx_format::print_model_text(messages));
  if (!apart.same() || again.text != file.bytes())
    return failure(Code::internal, "the text is not read as what it was written from: {}",
                   apart.changed.empty() ? "it differs" : apart.changed[0].what);
  Proof proof;
  proof.identical = true;
  return proof;
}

/// Writes beside the path, runs that beside the source, and takes it away again.
Result<Proof> run_made(const Made& made, const ModelSource& source, const std::string& path,
                       const ConvertOptions& options) {
  NNEX_ASSIGN(const FolderBeside scratch, FolderBeside::make(path));
  fs::path written = fs::path(scratch.path()) / fs::path(path).filename();
  if (made.format == Format::webnn) written.replace_extension(".webnn");  // what JavaScript builds
  NNEX_TRY(write(made, written.string(), options.save));
  if (made.copy_of && made.is_text && built(Format::onnx)) {
    NNEX_ASSIGN(const Recognised model, recognise(source, options.load));
    NNEX_ASSIGN(const std::string lacking, lacking_operators(model, options.load));
    if (!lacking.empty()) return proven_text(source, written.string(), options);
  } else if (made.copy_of && built(Format::onnx)) {
    return proven_copy(*made.copy_of, written.string(), options);
  }
  if (made.format == Format::c) {
    const OpenWritten open = [&] { return compile_c(made.c, written.string(), options.proof->run); };
    return prove(source, options.load, open, *options.proof);
  }
  LoadOptions load;
  load.archive_ratio = std::numeric_limits<int32_t>::max();  // zeros pack well, and this archive is known
  load.memory_limit = options.load.memory_limit, load.isa = options.load.isa;
  load.portable = options.load.portable;
  load.custom_operators = options.load.custom_operators, load.cvm = options.load.cvm;
  const Undefined undefined{made.nnef.counts_from_start, made.nnef.bytes_grow};
  auto proof = prove(source, options.load, written.string(), load, *options.proof, undefined);
  if (proof.ok() || proof.error().code() != Code::unsupported) return proof;
  NNEX_ASSIGN(const Recognised model, recognise(source, options.load));
  NNEX_ASSIGN(const std::string lacking, lacking_operators(model, options.load));
  if (lacking.empty()) return proof;
  Proof unproven;
  unproven.unproven = fmt::format("nobody here can run {}", lacking);
  return unproven;
}

/// A run that disproves what was made: a mistake of ours, unless numbers are others in the standard, which may be why.
Error disproof(const Made& made, const ModelSource& source, const Probe& p) {
  std::string why;
  for (const std::string& what : made.nnef.changes) why += "; " + what;
  for (const std::string& what : made.nnef.conditions) why += "; it is the same only where " + what;
  const bool expected = !made.nnef.changes.empty() || made.nnef.has_whole_reals;
  return failure(expected ? Code::unsupported : Code::internal,
                 "what would be written does not compute what {} does: {}{}", source.shown(), disagreement(p), why);
}

/// The proof of what was made; an error where it does not hold.
Result<Proof> proven(const Made& made, const ModelSource& source, const std::string& path,
                     const ConvertOptions& options) {
  NNEX_ASSIGN(Proof proof, run_made(made, source, path, options));
  for (Probe& p : proof.probes) {
    if (p.counts && p.outcome == ProbeOutcome::differs && loses_nan(p))
      return failure(Code::unsupported, "{} computes NaN, which its operations in {} would make other numbers of: {}",
                     source.shown(), name(made.format), disagreement(p));
    if (p.counts && p.outcome == ProbeOutcome::differs) return disproof(made, source, p);
    for (const std::string& what : made.nnef.conditions)  // inputs of proofs keep to them
      if (p.outcome == ProbeOutcome::same) p.note += fmt::format("{}only where {}", p.note.empty() ? "" : "; ", what);
  }
  return proof;
}

}  // namespace

Result<SaveReport> convert(const ModelSource& source, const std::string& given, const ConvertOptions& options) {
  return guarded([&]() -> Result<SaveReport> {
    NNEX_ASSIGN(const Format format, target(given, options.save));
    const std::string path = without_slash(given, format);
    NNEX_TRY(check_path(path, format, options.save));
    const UnknownNames named;
    if (options.proof) NNEX_TRY(check_options(options.proof->session));
    if (options.proof) NNEX_TRY(check_tolerance(options.proof->tolerance));
    NNEX_ASSIGN(Made made, converted(source, format, options, fs::path(path).filename().string()));
    if (format == Format::onnx && built(Format::onnx) && is_text(path, options.save)) NNEX_TRY(to_text(made));
    std::optional<Proof> proof;
    if (options.proof) {
      NNEX_ASSIGN(proof, proven(made, source, path, options));
    }
    NNEX_ASSIGN(SaveReport report, write(made, path, options.save));
    report.proof = std::move(proof);
    return report;
  });
}

Status may_save(const std::string& path, const SaveOptions& options) {
  return guarded([&]() -> Status {
    NNEX_ASSIGN(const Format format, target(path, options));
    return check_path(without_slash(path, format), format, options);
  });
}

Result<SaveReport> save(const Graph& graph, const std::string& given, const SaveOptions& options) {
  return guarded([&]() -> Result<SaveReport> {
    NNEX_ASSIGN(const Format format, target(given, options));
    const std::string path = without_slash(given, format);
    NNEX_TRY(check_path(path, format, options));
    NNEX_ASSIGN(Made made, made_in(ir::Graph(graph.impl().graph), format, options, fs::path(path).filename().string(),
                                   read_from(graph)));
    if (format == Format::onnx && built(Format::onnx) && is_text(path, options)) NNEX_TRY(to_text(made));
    return write(made, path, options);
  });
}

Result<std::vector<NamedBytes>> to_bytes(const Graph& graph, Format format, const SaveOptions& options) {
  return guarded([&]() -> Result<std::vector<NamedBytes>> {
    const std::string file = default_name(format, options);
    NNEX_ASSIGN(Made made, made_in(ir::Graph(graph.impl().graph), format, options, file, read_from(graph)));
    if (format == Format::onnx && built(Format::onnx) && options.onnx.text) NNEX_TRY(to_text(made));
    return bytes_of(std::move(made), options, file);
  });
}

Result<SavedBytes> convert_to_bytes(const ModelSource& source, const ConvertOptions& given, const std::string& path) {
  return guarded([&]() -> Result<SavedBytes> {
    ConvertOptions options = given;
    if (path.empty() && !options.save.format) options.save.format = Format::onnx;
    NNEX_ASSIGN(const Format format, path.empty() ? known(*options.save.format) : target(path, options.save));
    if (!path.empty()) NNEX_TRY(say_by_name(path, format, options.save));
    const UnknownNames named;
    const std::string file = path.empty() ? default_name(format, options.save) : path.substr(path.rfind('/') + 1);
    NNEX_ASSIGN(Made made, converted(source, format, options, file));
    if (format == Format::onnx && built(Format::onnx) && options.save.onnx.text) NNEX_TRY(to_text(made));
    SavedBytes out;
    out.report = report_of(made);
    NNEX_ASSIGN(out.files, bytes_of(std::move(made), options.save, file));
    for (const NamedBytes& f : out.files) {
      out.report.files.push_back(f.name);
      out.report.bytes += static_cast<int64_t>(f.bytes.size());
    }
    return out;
  });
}

}  // namespace nnex
