#pragma once
// Compiling a graph that nobody else holds.

#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// Model::compile() for a graph whose constants' memory is held by nobody else (it was just read from a file): what
/// plans have packed copies of may be given back.
Result<Model> compile_own(Graph graph, const LoadOptions& options);

}  // namespace nnex
