#include "read_any.h"

#include "base/try.h"
#include "formats/read.h"
#include "webnn/program_file.h"

namespace nnex::cli {

bool is_program(const std::string& path) { return path.ends_with(".webnn"); }

Result<Graph> read_any(const std::string& path, const LoadOptions& options) {
  if (!is_program(path)) return read_model(path, options);
  NNEX_ASSIGN(ml::Program program, ml::load_program(path));
  auto graph = ml::graph_of(program);
  if (!graph.ok()) return std::move(graph).error().at(path);
  return graph;
}

}  // namespace nnex::cli
