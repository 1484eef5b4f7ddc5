#include "formats/read.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/mapped_file.h"
#include "formats/container.h"
#include "formats/cvm/files.h"
#include "formats/cvm/import.h"
#include "formats/nnef/model.h"
#include "formats/onnx/external.h"
#include "formats/onnx/import.h"
#include "graph/symbols.h"

namespace nnex {
namespace {

Result<Graph> read_onnx(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& folder) {
  Graph graph;
  onnx_format::Source source{std::move(owner), nullptr};
  if (!folder.empty())
    source.external = [folder](const std::map<std::string, std::string>& entries) {
      return onnx_format::open_external(folder, entries);
    };
  onnx_format::Importer importer(graph, std::move(source), {});
  NNEX_TRY(importer.model(bytes));
  return graph;
}

/// The two files; parameters stay in memory of their own, which the graph keeps alive.
Result<Graph> read_cvm(const cvm_format::Files& files, const LoadOptions& options) {
  NNEX_ASSIGN(MappedFile symbol, MappedFile::open(files.symbol, MapPolicy::never));
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(files.params, MapPolicy::never));
  auto params = shared_file(std::move(opened));
  return cvm_format::read_model(symbol.bytes(), params->bytes(), params, options.compat == "formal");
}

Error error_of(const cvm_format::LoneFile& lone) {
  const bool seeds = !lone.symbol.empty();
  return Error(Code::unreadable,
               lone.text + (seeds ? "; --seed-weights N reads networks that come without their weights" : ""));
}

/// A CVM model that came with one of its files alone.
Result<Graph> read_lone(const cvm_format::LoneFile& lone, const LoadOptions& options) {
  if (lone.symbol.empty() || !options.weight_seed) return error_of(lone);
  NNEX_ASSIGN(MappedFile symbol, MappedFile::open(lone.symbol, MapPolicy::never));
  return cvm_format::read_seeded(symbol.bytes(), *options.weight_seed, options.compat == "formal");
}

Status check_options(const LoadOptions& options) {
  if (!options.dialect.empty() && options.dialect != "standard" && options.dialect != "tract")
    return Error(Code::invalid_argument, fmt::format("no dialect '{}'; there are: standard, tract", options.dialect));
  if (options.compat.empty() || options.compat == "formal") return {};
  return Error(Code::invalid_argument, fmt::format("no compatibility '{}'; there is: formal", options.compat));
}

MapPolicy policy(Mapping map) {
  return map == Mapping::never ? MapPolicy::never : map == Mapping::always ? MapPolicy::always : MapPolicy::automatic;
}

Result<Graph> read_nnef(const Container& from, const LoadOptions& options) {
  nnef_format::ImportOptions import;
  import.language.dialect = options.dialect.empty()      ? nnef_format::Dialect::any
                            : options.dialect == "tract" ? nnef_format::Dialect::tract
                                                         : nnef_format::Dialect::standard;
  for (const auto& [name, extents] : options.shapes) import.language.shapes.emplace(name, extents);
  import.weight_seed = options.weight_seed;
  import.expand_compounds = options.expand_compounds;
  return nnef_format::read_nnef(from, std::move(import));
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

/// Whether the name ends as an archive's does: then its bytes must be one.
bool names_archive(std::string_view path) {
  for (std::string_view end : {".tar", ".tgz", ".tar.gz"})
    if (path.size() > end.size() && path.substr(path.size() - end.size()) == end) return true;
  return false;
}

/// The NNEF model that the bytes of a single file are, or whose structure they are.
Result<std::optional<Container>> nnef_of_file(FileBytes file, const std::string& path, const std::string& folder,
                                              const LoadOptions& options) {
  if (nnef_format::is_document(file.bytes)) {
    // The structure alone names its data: they lie beside it.
    Container all = Container::of_folder(folder, policy(options.map));
    all.add("graph.nnef", path, std::move(file));
    return std::optional(std::move(all));
  }
  if (!Container::is_archive(file.bytes) && !names_archive(path)) return std::optional<Container>();
  NNEX_ASSIGN(Container archive, Container::from_bytes(path, std::move(file)));
  return std::optional(std::move(archive));
}

/// What the bytes are, of a single file.
Result<Graph> read_file(FileBytes file, const std::string& path, const std::string& folder,
                        const LoadOptions& options) {
  NNEX_ASSIGN(const auto nnef, nnef_of_file(file, path, folder, options));
  if (nnef) return read_nnef(*nnef, options);
  NNEX_ASSIGN(Graph graph, read_onnx(file.bytes, file.owner, folder));
  NNEX_TRY(set_input_shapes(graph, options.shapes));
  return graph;
}

struct OpenedFile {
  FileBytes bytes;
  std::string folder;
};
Result<OpenedFile> open_file(const std::string& path, const LoadOptions& options) {
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(path, policy(options.map)));
  auto file = shared_file(std::move(opened));
  const size_t slash = path.rfind('/');
  std::string folder = !options.external_folder.empty() ? options.external_folder
                       : slash == std::string::npos     ? "."
                                                        : path.substr(0, slash + 1);
  return OpenedFile{{file->bytes(), file}, std::move(folder)};
}

}  // namespace

Result<std::optional<Container>> open_nnef(const std::string& path, const LoadOptions& options) {
  if (cvm_format::find_files(path)) return std::optional<Container>();
  if (const auto lone = cvm_format::lone_file(path)) {
    if (lone->symbol.empty() || !options.weight_seed) return error_of(*lone);
    return std::optional<Container>();
  }
  if (is_folder(path)) return std::optional(Container::of_folder(path, policy(options.map)));
  NNEX_ASSIGN(OpenedFile file, open_file(path, options));
  return nnef_of_file(std::move(file.bytes), path, file.folder, options);
}

Result<Graph> read_model(const std::string& path, const LoadOptions& options) {
  NNEX_TRY(check_options(options));
  if (const auto files = cvm_format::find_files(path)) {
    if (!options.shapes.empty())
      return Error(Code::invalid_argument, "a CVM model says its shapes itself; none can be set");
    return read_cvm(*files, options);
  }
  if (const auto lone = cvm_format::lone_file(path)) return read_lone(*lone, options);
  if (is_folder(path)) return read_nnef(Container::of_folder(path, policy(options.map)), options);
  NNEX_ASSIGN(OpenedFile file, open_file(path, options));
  return read_file(std::move(file.bytes), path, file.folder, options);
}

Result<Graph> read_model_bytes(std::string_view bytes, const LoadOptions& options) {
  NNEX_TRY(check_options(options));
  auto copy = std::make_shared<const std::string>(bytes);
  return read_file({*copy, copy}, "the model", options.external_folder, options);
}

}  // namespace nnex
