// The parts of Model that meet files and public graphs.

#include "nnex/model.h"

#include <filesystem>

#include "api/graph_impl.h"
#include "api/read.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/symbols.h"
#include "nnex/environment.h"
#include "nnex/load.h"
#include "run/compile.h"

namespace nnex {
namespace {

Result<ir::Graph> read(const ModelSource& source, const LoadOptions& options) {
  auto graph = read_model(source, options);
  if (!graph.ok()) return std::move(graph).error().during("reading " + source.shown());
  return graph;
}

/// The folder whose files' names decide what is read of a model: those of one that names none.
std::string folder_of(const Recognised& model, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::absolute(path, error).string();
  const bool lone = model.format == ModelFormat::nnef_text || model.format == ModelFormat::cvm_lone;
  return lone ? fs::absolute(model.path, error).parent_path().string() : std::string();
}

/// Of a path.
Result<Model> load_cached(const ModelSource& source, const LoadOptions& options) {
  const auto read_now = [&]() -> Result<ReadGraph> {
    std::string folder;
    auto graph = [&]() -> Result<ir::Graph> {
      NNEX_ASSIGN(const Recognised model, recognise(source));
      folder = folder_of(model, source.name());
      return read_model(model, options);
    }();
    if (!graph.ok()) return std::move(graph).error().during("reading " + source.shown());
    return ReadGraph{*std::move(graph), std::move(folder)};
  };
  return compile_cached(source.name(), options, read_now);
}

/// `own`: nobody else holds the source's bytes, so that what plans have packed may be given back.
Result<Model> load(const ModelSource& source, const LoadOptions& options, bool own) {
  return guarded([&]() -> Result<Model> {
    NNEX_TRY(check_environment());
    if (!options.cache.empty() && !source.reader()) return load_cached(source, options);
    NNEX_ASSIGN(ir::Graph graph, read(source, options));
    auto model = own ? compile_own(std::move(graph), options) : compile(std::move(graph), options);
    if (!model.ok()) return std::move(model).error().during("loading " + source.shown());
    return model;
  });
}

}  // namespace

Result<Graph> load_graph(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<Graph> {
    NNEX_ASSIGN(ir::Graph graph, read(source, options));
    NNEX_TRY(fix_symbols(graph, options.symbols));
    return wrap(std::move(graph));
  });
}

Result<Model> load_model(const ModelSource& source, const LoadOptions& options) {
  return load(source, options, source.reader() == nullptr);
}

Result<Model> Model::load(const std::string& path, const LoadOptions& options) { return load_model(path, options); }

Result<Model> Model::from_bytes(std::string_view bytes, const LoadOptions& options) {
  return nnex::load(ModelSource::memory(bytes), options, true);  // a copy that ends here
}

Result<Model> Model::compile(Graph graph, const LoadOptions& options) {
  NNEX_TRY(check_environment());
  return nnex::compile(std::move(graph.impl().graph), options);
}

Graph Model::graph() const { return wrap(graph_of(*this)); }

}  // namespace nnex
