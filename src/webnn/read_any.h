#pragma once
// Reading a model of any standard, builder programs of WebNN included.

#include <string>

#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// Whether the path names a builder program (.webnn).
bool is_program(const std::string& path);
/// The model's graph. Errors: those of read_model and of ml::load_program.
Result<Graph> read_any(const std::string& path, const LoadOptions& options);

}  // namespace nnex
