#pragma once
// Compiling a graph that nobody else holds, and looking at it.

#include <mutex>

#include "base/function_ref.h"
#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// A model of a graph, as Model::compile().
Result<Model> compile(ir::Graph graph, const LoadOptions& options = {});
/// The same where activations are to stay in so many bytes of the cache: of runs that can go in slices, 0 takes one
/// item at a time, and less than 0 all of them.
Result<Model> compile(ir::Graph graph, const LoadOptions& options, int64_t cache_bytes);
/// The same for a graph whose constants nobody else holds, as it was just read: what plans have packed copies of may be
/// given back. `alone`: nobody else holds the memory that they lie in.
Result<Model> compile_own(ir::Graph graph, const LoadOptions& options, bool alone = true);

/// The model that LoadOptions::cache has for what lies at a path, or else the one that `load` reads, which is kept once
/// it has run. `load` is called at most once and says what it read. Errors: those of `load`; those of compile().
struct ReadGraph {
  ir::Graph graph;
  std::string folder;  ///< One whose files' names decided what was read; empty: none.
};
Result<Model> compile_cached(const std::string& path, const LoadOptions& options,
                             FunctionRef<Result<ReadGraph>()> load);

/// A model that has run, as another process would find it in the cache of the options: for tests.
Result<Model> kept_and_found(const Model& model, const LoadOptions& options);

/// The graph as it runs, after the passes; from now on its constants stay.
const ir::Graph& graph_of(const Model& model);

/// A copy of it, with all constants. Error: invalid_argument where runs have packed some of them away.
Result<ir::Graph> whole_graph(const Model& model);

/// A model's graph for as long as this lives, during which nobody plans. Unlike graph_of() it lets constants go
/// later, so nothing may be held of it afterwards but tensors, by copy.
class GraphView {
 public:
  explicit GraphView(const Model& model);
  const ir::Graph& operator*() const { return graph_; }

 private:
  std::lock_guard<std::mutex> lock_;
  const ir::Graph& graph_;
};

}  // namespace nnex
