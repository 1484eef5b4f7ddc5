#include "webnn/read_any.h"

#include <fmt/format.h>

#include "base/try.h"
#include "formats/read.h"
#include "run/compile.h"
#include "run/guarded.h"
#include "webnn/program_file.h"

namespace nnex {

bool is_program(const std::string& path) { return path.ends_with(".webnn"); }

Result<Graph> read_any(const std::string& path, const LoadOptions& options) {
  if (!is_program(path)) return read_model(path, options);
  const MapPolicy map = options.map == Mapping::never    ? MapPolicy::never
                        : options.map == Mapping::always ? MapPolicy::always
                                                         : MapPolicy::automatic;
  NNEX_ASSIGN(ml::Program program, ml::load_program(path, map));
  auto graph = ml::graph_of(program);
  if (!graph.ok()) return std::move(graph).error().at(path);
  return graph;
}

/// Stands here, where every format is known.
Result<Model> Model::load(const std::string& path, const LoadOptions& options) {
  return guarded([&]() -> Result<Model> {
    auto graph = read_any(path, options);
    if (!graph.ok()) return std::move(graph).error().during(fmt::format("reading '{}'", path));
    auto model = compile_own(std::move(graph).value(), options);
    if (!model.ok()) return std::move(model).error().during(fmt::format("loading '{}'", path));
    return model;
  });
}

}  // namespace nnex
