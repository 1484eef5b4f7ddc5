#pragma once
// External tensor data, by the rules of standards/below.h: only regular files below the model's folder, no links.

#include <map>
#include <string>

#include "standards/container.h"
#include "standards/onnx/read_proto.h"

namespace nnex::onnx_format {

/// Opens what the entries (`location`, `offset`, `length`) name of the model's files.
/// Errors: invalid_model (absolute location, a `..` component, offset or length out of the file), unreadable (missing,
/// a link, not a regular file, more than one name), limit (memory).
Result<External> open_external(const Container& files, const std::map<std::string, std::string>& entries);

}  // namespace nnex::onnx_format
