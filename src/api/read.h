#pragma once
// Reading a model of any format, as api/recognise.h tells it.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/recognise.h"
#include "base/faults.h"
#include "graph/graph.h"
#include "nnex/model.h"
#include "nnex/source.h"
#include "standards/container.h"
#include "standards/onnx/check_rules.h"
#include "standards/onnx/import.h"
#include "standards/webnn/program_file.h"

namespace nnex {

/// An ONNX model's messages, and where its tensors' bytes come from.
struct OnnxFile {
  std::string_view bytes;  ///< That `source` keeps alive.
  onnx_format::Source source;
};

/// Reads an ONNX file, an NNEF model (its folder, an archive of it, or its structure), a CVM model or a builder program
/// of WebNN. Weights stay in the file's memory, which the graph keeps alive. `file`: gets an ONNX model's messages.
/// Errors: unreadable, invalid_model, limit.
Result<ir::Graph> read_model(const Recognised& model, const LoadOptions& options,
                             std::shared_ptr<const OnnxFile>* file = nullptr);
/// The same of what recognise() finds.
Result<ir::Graph> read_model(const ModelSource& source, const LoadOptions& options);
/// The same from memory, which is copied.
Result<ir::Graph> read_model_bytes(std::string_view bytes, const LoadOptions& options);
/// A builder program as it stands in its file. Errors: as read_model.
Result<ml::Program> read_program(const Recognised& model, const LoadOptions& options);
/// What the source is, as recognise() tells it; of an archive the model that lies in it. Errors: those of it.
Result<Recognised> recognise(const ModelSource& source, const LoadOptions& options);
/// How the files of a model are opened, and what they may take.
MapPolicy map_policy(Mapping map);
std::shared_ptr<MemoryAccount> account_of(const LoadOptions& options);
ContainerLimits archive_limits(const LoadOptions& options);

/// A CVM model for checkers: its graph, or nothing where there are faults, which are added. Errors: unreadable (its
/// files).
Result<std::optional<ir::Graph>> check_cvm(const Recognised& model, const LoadOptions& options, Faults& faults);

/// An NNEF model as its files: a folder, an archive, or a structure with what lies beside it. Nothing where another
/// kind of model is there. Errors: unreadable, those of Container.
Result<std::optional<Container>> open_nnef(const Recognised& model, const LoadOptions& options);

/// An ONNX model as its messages. Errors: unreadable.
Result<OnnxFile> open_onnx(const Recognised& model, const LoadOptions& options);

/// An ONNX model for checkers: as far as it can be read, and what it says that inference can judge.
struct CheckedOnnx {
  std::optional<ir::Graph> graph;  ///< Nothing: the bytes leave nothing to go on with.
  std::shared_ptr<onnx_format::Findings> findings;
  onnx_format::BrokenRules broken;
};
/// Reads an ONNX model past its faults. Errors: unreadable.
Result<CheckedOnnx> check_onnx(const Recognised& model, const LoadOptions& options);

}  // namespace nnex
