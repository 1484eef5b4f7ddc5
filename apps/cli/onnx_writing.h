#pragma once
// Options of verbs that write ONNX models.

#include <fmt/format.h>

#include "nnex/save.h"
#include "shared/command_line.h"

namespace nnex::cli {

struct OnnxWritingOptions {
  int64_t opset = 0;
  bool external = false;

  void add_to(Verb verb) {
    verb.option("--opset", opset,
                "ONNX: this opset exactly, or it is refused; absent or 0: a model of ONNX that nothing changes stays "
                "as it is, all others the lowest that takes them, 17 at least")
        .whole(0);
    verb.flag("--external-data", external,
              "ONNX: tensors in a file of their own beside the model, as models of more than 2 GB have them anyway");
  }
  /// Refuses what is asked of ONNX where something else is written.
  Status check(const std::string& out, Format format) const {
    if (format == Format::onnx || (opset == 0 && !external)) return {};
    return Error(Code::invalid_argument, fmt::format("{}: it is of ONNX; '{}' is written as {}",
                                                     opset != 0 ? "--opset" : "--external-data", out, name(format)));
  }
  void put(OnnxSaveOptions& to) const { to.opset = opset, to.external_data = external; }
};

}  // namespace nnex::cli
