#pragma once
// A model in the form of a standard, on its way into files or memory.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/export.h"
#include "api/read.h"
#include "nnex/save.h"
#include "standards/c/write.h"
#include "standards/webnn/export.h"

namespace nnex {

/// A model in the messages of its standard, before it is in a file.
struct Made {
  Format format = Format::onnx;
  std::unique_ptr<ir::Graph> graph;  ///< ONNX's message has views of its tensors.
  onnx_format::Written onnx;
  nnef_format::Written nnef;
  ml::Program webnn;
  cvm_format::ModelFiles cvm;
  c_format::Written c;
  std::vector<std::string> notes;
  std::optional<OnnxFile> copy_of;  ///< ONNX's messages are those of this model.
  bool is_text = false;             ///< They are said in the textual syntax.
};

/// What a graph was read from, where that was an ONNX model, and whether its texts are written.
struct ReadFrom {
  std::shared_ptr<const OnnxFile> file = {};
  bool texts = true;
};

/// The graph in a standard. `file_name`: of the file that is written, which ONNX's other file is named after.
Result<Made> made_in(ir::Graph graph, Format format, const SaveOptions& options, const std::string& file_name,
                     const ReadFrom& from = {});

/// What the model's file is called where nobody says; in a folder of files its names are the standard's.
std::string default_name(Format format, const SaveOptions& options);

/// Its files: the one of that name, and those beside it, which are named after it; or those of a folder.
Result<std::vector<NamedBytes>> bytes_of(Made made, const SaveOptions& options, const std::string& file);

}  // namespace nnex
