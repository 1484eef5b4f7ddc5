#pragma once
// ONNX Runtime as the other side of a comparison.

#include "nnex/result.h"
#include "subprocess.h"

namespace nnex::cli {

/// What runs a model on ONNX Runtime: a program for node that reads a request of nnex/exchange and prints
/// the answer. The package is that of the folder which PEER_ORT names, else of this folder or one above. Error:
/// unsupported (it is not there).
Result<Program> peer_command();

}  // namespace nnex::cli
