#pragma once
/// Loading a model of any standard from any source.

#include "nnex/format.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

/// Reads a model's graph, as its file has it: no pass has run. Extents that options.symbols names are fixed. Custom
/// operators and all else that decides how it runs is kept, in copies too, for Model::compile() and what runs it
/// meanwhile. Weights stay in the source's memory, which the graph keeps alive. Errors: unreadable, invalid_model,
/// limit; unsupported; invalid_argument (options); those of the source's callbacks.
Result<Graph> load_graph(const ModelSource& source, const LoadOptions& options = {});

/// Reads and compiles a model. Errors: those of load_graph and of Model::compile, which names every operator that is
/// missing.
Result<Model> load_model(const ModelSource& source, const LoadOptions& options = {});

/// The standard that a model is of, by what its files say. Error: unreadable (they cannot be opened, or are no
/// model's).
Result<Format> format_of_model(const ModelSource& source);

}  // namespace nnex
#pragma GCC visibility pop
