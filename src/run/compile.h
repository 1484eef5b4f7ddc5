#pragma once
// Compiling a graph that nobody else holds, and looking at it.

#include <mutex>

#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// Model::compile() for a graph whose constants' memory is held by nobody else (it was just read from a file): what
/// plans have packed copies of may be given back.
Result<Model> compile_own(Graph graph, const LoadOptions& options);

/// A model's graph for as long as this lives, during which nobody plans. Unlike Model::graph() it lets constants go
/// later, so nothing may be held of it afterwards but tensors, by copy.
class GraphView {
 public:
  explicit GraphView(const Model& model);
  const Graph& operator*() const { return graph_; }

 private:
  std::lock_guard<std::mutex> lock_;
  const Graph& graph_;
};

}  // namespace nnex
