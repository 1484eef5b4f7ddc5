// The parts of Model that meet files and public graphs.

#include "nnex/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/formats.h"
#include "api/graph_impl.h"
#include "api/read.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/loading.h"
#include "base/try.h"
#include "graph/custom.h"
#include "graph/symbols.h"
#include "nnex/environment.h"
#include "nnex/load.h"
#include "passes/pipeline.h"
#include "run/carry.h"
#include "run/compile.h"
#include "tensor/unknown_names.h"

namespace nnex {
namespace {

Result<ir::Graph> read(const ModelSource& source, const LoadOptions& options,
                       std::shared_ptr<const OnnxFile>* file = nullptr) {
  auto graph = [&]() -> Result<ir::Graph> {
    NNEX_ASSIGN(const Recognised model, recognise(source, options));
    return read_model(model, options, file);
  }();
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
      NNEX_ASSIGN(const Recognised model, recognise(source, options));
      folder = folder_of(model, source.name());
      return read_model(model, options);
    }();
    if (!graph.ok()) return std::move(graph).error().during("reading " + source.shown());
    return ReadGraph{*std::move(graph), std::move(folder)};
  };
  return compile_cached(source.name(), options, read_now);
}

/// `alone`: nobody else holds the source's bytes.
Result<Model> load(const ModelSource& source, const LoadOptions& options, bool alone) {
  return guarded([&]() -> Result<Model> {
    NNEX_TRY(check_environment());
    const UnknownNames named;
    if (!options.cache.empty() && !source.reader()) return load_cached(source, options);
    NNEX_ASSIGN(ir::Graph graph, read(source, options));
    auto model = compile_own(std::move(graph), options, alone);
    if (!model.ok()) return std::move(model).error().during("loading " + source.shown());
    return model;
  });
}

// ---- What a graph was read with

bool has_port(const ir::Graph& graph, const std::vector<ValueId>& ports, const std::string& name) {
  return std::any_of(ports.begin(), ports.end(), [&](ValueId v) { return graph[v].name == name; });
}

/// Symbols that reading fixed are numbers by now, and may be named again.
Result<std::map<std::string, int64_t>> open_symbols(const ir::Graph& graph, const LoadOptions& then,
                                                    const std::map<std::string, int64_t>& named) {
  const std::vector<std::string> open = graph.symbols();
  std::map<std::string, int64_t> out;
  for (const auto& [name, extent] : named) {
    const auto fixed = then.symbols.find(name);
    if (fixed == then.symbols.end() || std::find(open.begin(), open.end(), name) != open.end())
      out.emplace(name, extent);
    else if (fixed->second != extent)
      return failure(Code::invalid_argument, "symbol '{}' was fixed as {} when the graph was read; found {}", name,
                     fixed->second, extent);
  }
  return out;
}

/// The options of a compilation, with those of reading where they say nothing.
Result<LoadOptions> compiling(const Graph::Impl& graph, LoadOptions options) {
  if (!graph.read_with) return options;
  const LoadOptions& then = *graph.read_with;
  NNEX_ASSIGN(options.symbols, open_symbols(graph.graph, then, options.symbols));
  options.exact = options.exact || then.exact;
  options.portable = options.portable || then.portable;
  options.optimize = options.optimize && then.optimize;
  if (options.memory_limit == 0) options.memory_limit = then.memory_limit;
  if (options.isa == InstructionSet::best) options.isa = then.isa;
  for (const auto& op : then.custom_operators.all())
    (void)options.custom_operators.add(*op);  // one of its name that is given now counts
  if (options.carry.empty())                  // of ports that edits have left
    for (const Carry& c : then.carry)
      if (has_port(graph.graph, graph.graph.outputs(), c.output) &&
          has_port(graph.graph, graph.graph.inputs(), c.input))
        options.carry.push_back(c);
  return options;
}

/// Nodes that nobody gave a place are called after what they make, as readers of files call them.
void name_places(ir::Graph& graph) {
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    const auto named =
        std::find_if(node.out.begin(), node.out.end(), [&](ValueId v) { return v.valid() && !graph[v].name.empty(); });
    if (graph.place_of(id).empty() && named != node.out.end())
      graph.set_where(id, graph.add_place(fmt::format("node '{}' ({})", graph[*named].name, operator_name(node))));
  }
}

/// Whether pairs can be carried, as loading says it.
Status check_carry(const ir::Graph& graph, const LoadOptions& options) {
  if (options.carry.empty()) return {};
  ir::Graph typed = graph;
  NNEX_TRY(passes::prepare(typed, options.custom_operators));
  return run::carry(typed, options.carry);
}

}  // namespace

Result<Format> format_of_model(const ModelSource& source) {
  return guarded([&]() -> Result<Format> {
    NNEX_ASSIGN(const Recognised model, recognise(source, {}));
    return format_of(model.format);
  });
}

Result<Graph> load_graph(const ModelSource& source, const LoadOptions& options) {
  const Loading loading(options.cancel, options.deadline);
  return guarded([&]() -> Result<Graph> {
    const UnknownNames named;
    std::shared_ptr<const OnnxFile> file;
    NNEX_ASSIGN(ir::Graph graph, read(source, options, &file));
    NNEX_TRY(fix_symbols(graph, options.symbols));
    resolve_custom(graph, options.custom_operators);
    NNEX_TRY(check_carry(graph, options));
    LoadOptions kept = options;
    kept.cancel = nullptr, kept.deadline.reset();  // of this call alone
    return wrap(std::move(graph), std::make_shared<const LoadOptions>(std::move(kept)), std::move(file));
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
  return guarded([&]() -> Result<Model> {
    NNEX_TRY(check_environment());
    NNEX_ASSIGN(const LoadOptions all, compiling(graph.impl(), options));
    NNEX_TRY(set_input_shapes(graph.impl().graph, all.shapes, all.symbols));
    name_places(graph.impl().graph);
    return nnex::compile(std::move(graph.impl().graph), all);
  });
}

Result<Graph> Model::graph() const {
  return guarded([&]() -> Result<Graph> {
    NNEX_ASSIGN(ir::Graph graph, whole_graph(*this));
    return wrap(std::move(graph));
  });
}

}  // namespace nnex
