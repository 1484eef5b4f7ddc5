#pragma once
// Reading a model of any format: a folder is NNEF's; of files the first bytes say which reader.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/container.h"
#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// Reads the model at `path`: an ONNX file, or an NNEF model (its folder, an archive of it, or its structure). Weights
/// stay in the file's memory, which the graph keeps alive. Errors: unreadable, invalid_model, limit.
Result<Graph> read_model(const std::string& path, const LoadOptions& options);
/// The same from memory, which is copied.
Result<Graph> read_model_bytes(std::string_view bytes, const LoadOptions& options);

/// The NNEF model at `path` as its files: a folder, an archive, or a structure with what lies beside it. Nothing where
/// another kind of model is there. Errors: unreadable, those of Container.
Result<std::optional<Container>> open_nnef(const std::string& path, const LoadOptions& options);

}  // namespace nnex
