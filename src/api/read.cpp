#include "api/read.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/formats.h"
#include "base/loading.h"
#include "base/mapped_file.h"
#include "graph/symbols.h"
#include "run/options.h"
#include "standards/below.h"
#include "standards/container.h"
#include "standards/cvm/import.h"
#include "standards/nnef/model.h"
#include "standards/nnef/quantise.h"
#include "standards/onnx/check.h"
#include "standards/onnx/import.h"
#include "standards/onnx/read_external.h"
#include "standards/onnx/schema.h"
#include "standards/onnx/text.h"
#include "tensor/memory_account.h"

namespace nnex {

MapPolicy map_policy(Mapping map) {
  return map == Mapping::never ? MapPolicy::never : map == Mapping::always ? MapPolicy::always : MapPolicy::automatic;
}

std::shared_ptr<MemoryAccount> account_of(const LoadOptions& options) {
  return options.memory_limit > 0 ? std::make_shared<MemoryAccount>(options.memory_limit) : default_account();
}

ContainerLimits archive_limits(const LoadOptions& options) {
  ContainerLimits limits;
  if (options.archive_ratio > 0) limits.growth = static_cast<uint64_t>(options.archive_ratio);
  if (options.archive_limit > 0) limits.bytes = static_cast<uint64_t>(options.archive_limit);
  return limits;
}

namespace {

/// Whether an ONNX model is in the textual syntax: by its bytes, and by its name where they begin otherwise.
bool is_onnx_text(std::string_view bytes, const std::string& name) {
  const std::string_view begin = bytes.substr(0, kLookedAt);
  return built(Format::onnx) &&
         (onnx_format::is_model_text(begin) || (has_ending(name, ".onnxtxt") && !onnx_format::begins_model(begin)));
}

/// How one model is read: its options, and what its files and the tensors made of them may take together.
struct Reading {
  Reading(const LoadOptions& given, const Recognised& model)
      : options(given), memory(model.memory ? model.memory : account_of(given)) {}

  /// A file of the model: a path, or a name among the files of a model that is none.
  Result<FileBytes> open(const Recognised& model, const std::string& name, MapPolicy how) const {
    if (model.files) return model.files->read(name);
    NNEX_ASSIGN(MappedFile opened, MappedFile::open(name, how, memory));
    auto file = shared_file(std::move(opened));
    return FileBytes{file->bytes(), file};
  }
  /// The file that the model is, or its structure.
  Result<FileBytes> main(const Recognised& model) const {
    return open(model, model.files ? model.main : model.path, map);
  }
  /// An ONNX model's messages, which a text is read as.
  Result<FileBytes> messages(const Recognised& model) const {
    NNEX_ASSIGN(FileBytes file, main(model));
    if (!is_onnx_text(file.bytes, model.files ? model.main : model.path)) return file;
    NNEX_ASSIGN(std::string parsed, onnx_format::parse_model_text(file.bytes));
    auto bytes = std::make_shared<const std::string>(std::move(parsed));
    return FileBytes{*bytes, bytes};
  }
  /// The model's files, or what lies beside the one that it is. Nothing: a lone file of no folder.
  std::optional<Container> beside(const Recognised& model) const {
    if (model.format == ModelFormat::nnef_folder) return model.files ? *model.files : folder(model.path);
    if (!options.external_folder.empty() && (!model.files || model.alone)) return folder(options.external_folder);
    if (model.files) return model.alone ? std::nullopt : std::optional(*model.files);
    const size_t slash = model.path.rfind('/');
    return Container::of_folder(slash == std::string::npos ? "." : model.path.substr(0, slash + 1), map, memory,
                                home_of(model.path));
  }
  Container folder(const std::string& path) const { return Container::of_folder(path, map, memory); }
  Result<Container> archive(const std::string& name, FileBytes file) const {
    return Container::from_bytes(name, std::move(file), archive_limits(options), memory);
  }

  const LoadOptions& options;
  const MapPolicy map = map_policy(options.map);
  const std::shared_ptr<MemoryAccount> memory;
  const AccountScope tensors{memory};
};

/// What importing keeps of the file; functions of the model read tensors later.
onnx_format::Source onnx_source(const FileBytes& file, const Recognised& model, const Reading& reading) {
  const ContainerLimits limits = archive_limits(reading.options);
  const uint64_t size = file.bytes.size(), dense = std::min<uint64_t>(max_unpacked(size, limits), INT64_MAX);
  Remedy more = more_unpacked(size, limits);
  more.effect = "raises what sparse tensors may take";
  onnx_format::Source source{file.owner, nullptr};
  source.dense = std::make_shared<onnx_format::DenseLimit>(static_cast<int64_t>(dense), std::move(more));
  if (auto beside = reading.beside(model))
    source.external = [files = std::move(*beside)](const std::map<std::string, std::string>& entries) {
      return onnx_format::open_external(files, entries);
    };
  return source;
}

Result<ir::Graph> read_onnx(const Recognised& model, const Reading& reading,
                            std::shared_ptr<const OnnxFile>* file_read) {
  if (!built(Format::onnx)) return not_built(Format::onnx);
  NNEX_ASSIGN(const FileBytes file, reading.messages(model));
  ir::Graph graph;
  const onnx_format::Source source = onnx_source(file, model, reading);
  onnx_format::Importer importer(graph, source, {});
  NNEX_TRY(importer.model(file.bytes));
  if (file_read) *file_read = std::make_shared<const OnnxFile>(OnnxFile{file.bytes, source});
  NNEX_TRY(set_input_shapes(graph, reading.options.shapes, reading.options.symbols));
  return graph;
}

struct CvmFiles {
  FileBytes symbol, params;
};

/// The two files; parameters stay in memory of their own, which the graph keeps alive.
Result<CvmFiles> cvm_files(const Recognised& model, const Reading& reading) {
  if (!built(Format::cvm)) return not_built(Format::cvm);
  if (!reading.options.shapes.empty())
    return Error(Code::invalid_argument, "a CVM model says its shapes itself; none can be set");
  NNEX_ASSIGN(FileBytes symbol, reading.open(model, model.cvm.symbol, MapPolicy::never));
  NNEX_ASSIGN(FileBytes params, reading.open(model, model.cvm.params, MapPolicy::never));
  return CvmFiles{std::move(symbol), std::move(params)};
}

Result<ir::Graph> read_cvm(const Recognised& model, const Reading& reading) {
  NNEX_ASSIGN(const CvmFiles files, cvm_files(model, reading));
  return cvm_format::read_model(files.symbol.bytes, files.params.bytes, files.params.owner,
                                reading.options.cvm.answers == CvmAnswers::formal);
}

Error error_of(const cvm_format::LoneFile& lone) {
  Error e(Code::unreadable, lone.text);
  if (lone.symbol.empty()) return e;
  return std::move(e).helped_by({"weight_seed", "", "reads networks that come without their weights"});
}

/// A CVM model that came with one of its files alone.
Result<ir::Graph> read_lone(const Recognised& model, const Reading& reading) {
  if (!built(Format::cvm)) return not_built(Format::cvm);
  const LoadOptions& options = reading.options;
  if (model.lone.symbol.empty() || !options.weight_seed) return error_of(model.lone);
  NNEX_ASSIGN(const FileBytes symbol, reading.open(model, model.lone.symbol, MapPolicy::never));
  return cvm_format::read_seeded(symbol.bytes, *options.weight_seed, options.cvm.answers == CvmAnswers::formal);
}

Result<ir::Graph> read_nnef(const Container& from, const LoadOptions& options) {
  if (!built(Format::nnef)) return not_built(Format::nnef);
  nnef_format::ImportOptions import;
  import.language.dialect = options.nnef.dialect == NnefDialect::automatic ? nnef_format::Dialect::any
                            : options.nnef.dialect == NnefDialect::tract   ? nnef_format::Dialect::tract
                                                                           : nnef_format::Dialect::standard;
  for (const auto& [name, extents] : options.shapes) import.language.shapes.emplace(name, extents);
  import.weight_seed = options.weight_seed;
  import.expand_compounds = options.nnef.expand_compounds;
  import.lowering.custom_operators = options.custom_operators;
  return nnef_format::read_nnef(from, std::move(import));
}

/// The NNEF model's files: a folder, an archive, or the structure with the data that it names and that lie beside it.
Result<Container> nnef_files(const Recognised& model, const Reading& reading) {
  if (model.format == ModelFormat::nnef_folder) return *reading.beside(model);
  if (model.archive) return *model.archive;
  NNEX_ASSIGN(FileBytes file, reading.main(model));
  if (model.format == ModelFormat::nnef_archive) return reading.archive(model.path, std::move(file));
  Container all = reading.beside(model).value_or(reading.folder(""));
  all.add("graph.nnef", model.path, std::move(file));
  return all;
}

}  // namespace

Result<Recognised> recognise(const ModelSource& source, const LoadOptions& options) {
  NNEX_ASSIGN(Recognised model, recognise(source));
  if (model.format != ModelFormat::nnef_archive) return model;
  const Loading loading(options.cancel, options.deadline);
  const Reading reading(options, model);
  NNEX_ASSIGN(FileBytes file, reading.main(model));
  NNEX_ASSIGN(Container opened, reading.archive(model.path, std::move(file)));
  NNEX_ASSIGN(auto inside, model_in(opened, model.member));
  if (inside)
    model = *std::move(inside);
  else
    model.archive = std::make_shared<const Container>(std::move(opened));
  model.memory = reading.memory;
  return model;
}

Result<OnnxFile> open_onnx(const Recognised& model, const LoadOptions& options) {
  NNEX_TRY(check_options(options));
  const Reading reading(options, model);
  NNEX_ASSIGN(FileBytes file, reading.messages(model));
  onnx_format::Source source = onnx_source(file, model, reading);
  return OnnxFile{file.bytes, std::move(source)};
}

Result<std::optional<Container>> open_nnef(const Recognised& model, const LoadOptions& options) {
  NNEX_TRY(check_options(options));
  const Reading reading(options, model);
  if (model.format == ModelFormat::cvm_lone && (model.lone.symbol.empty() || !options.weight_seed))
    return error_of(model.lone);
  if (model.format != ModelFormat::nnef_folder && model.format != ModelFormat::nnef_text &&
      model.format != ModelFormat::nnef_archive)
    return std::optional<Container>();
  NNEX_ASSIGN(Container all, nnef_files(model, reading));
  return std::optional(std::move(all));
}

Result<ml::Program> read_program(const Recognised& model, const LoadOptions& options) {
  if (!built(Format::webnn)) return not_built(Format::webnn);
  NNEX_TRY(check_options(options));
  const Reading reading(options, model);
  NNEX_ASSIGN(const FileBytes text, reading.open(model, model.files ? model.main : model.path, MapPolicy::never));
  return ml::read_program(text.bytes, model.path, reading.beside(model).value_or(reading.folder("")));
}

namespace {

Result<ir::Graph> read_format(const Recognised& model, const LoadOptions& options,
                              std::shared_ptr<const OnnxFile>* file) {
  const Reading reading(options, model);
  switch (model.format) {
    case ModelFormat::cvm:
      return read_cvm(model, reading);
    case ModelFormat::cvm_lone:
      return read_lone(model, reading);
    case ModelFormat::nnef_folder:
    case ModelFormat::nnef_text:
    case ModelFormat::nnef_archive: {
      NNEX_ASSIGN(const Container files, nnef_files(model, reading));
      return read_nnef(files, options);
    }
    case ModelFormat::webnn: {
      NNEX_ASSIGN(ml::Program program, read_program(model, options));
      auto graph = ml::graph_of(program);
      if (!graph.ok()) return std::move(graph).error().at(model.path);
      return graph;
    }
    default:
      return read_onnx(model, reading, file);
  }
}

}  // namespace

Result<ir::Graph> read_model(const Recognised& model, const LoadOptions& options,
                             std::shared_ptr<const OnnxFile>* file) {
  NNEX_TRY(check_options(options));
  const Loading loading(options.cancel, options.deadline);
  auto graph = read_format(model, options, file);
  NNEX_TRY(Loading::check());  // before what a reader that was stopped says of the rest
  if (graph.ok() && options.nnef.quantized) {
    if (!built(Format::nnef) || graph->provenance.quantization.empty())
      return Error(Code::invalid_argument, "the model has no quantisation file (graph.quant)");
    NNEX_TRY(nnef_format::apply_quantisation(*graph));
  }
  if (graph.ok() && options.memory_limit > 0) graph->fold_limit = options.memory_limit;
  return graph;
}

Result<std::optional<ir::Graph>> check_cvm(const Recognised& model, const LoadOptions& options, Faults& faults) {
  NNEX_TRY(check_options(options));
  const Reading reading(options, model);
  NNEX_ASSIGN(const CvmFiles files, cvm_files(model, reading));
  return cvm_format::check_model(files.symbol.bytes, model.cvm.symbol, files.params.bytes, files.params.owner,
                                 options.cvm.answers == CvmAnswers::formal, faults);
}

Result<CheckedOnnx> check_onnx(const Recognised& model, const LoadOptions& options) {
  if (!built(Format::onnx)) return not_built(Format::onnx);
  NNEX_TRY(check_options(options));
  const Reading reading(options, model);
  CheckedOnnx out;
  out.findings = std::make_shared<onnx_format::Findings>();
  auto file = reading.messages(model);
  if (!file.ok()) {
    if (file.error().code() != Code::invalid_model) return std::move(file).error();
    out.broken.add({}, {onnx_format::Rule::syntax, std::move(file).error(), {}, {}});
    return out;
  }
  out.graph = onnx_format::read_checked(file->bytes, onnx_source(*file, model, reading), out.broken, out.findings);
  if (out.graph) NNEX_TRY(set_input_shapes(*out.graph, options.shapes, options.symbols));
  return out;
}

Result<ir::Graph> read_model(const ModelSource& source, const LoadOptions& options) {
  NNEX_ASSIGN(const Recognised model, recognise(source, options));
  return read_model(model, options);
}

Result<ir::Graph> read_model_bytes(std::string_view bytes, const LoadOptions& options) {
  return read_model(ModelSource::memory(bytes), options);
}

}  // namespace nnex
