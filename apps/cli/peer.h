#pragma once
// ONNX Runtime as the other side of a comparison.

#include <string>
#include <vector>

#include "nnex/result.h"

namespace nnex::cli {

/// The command that runs a model on ONNX Runtime: a program for node that reads a request of nnex/exchange and prints
/// the answer. The folder is that of bench/install_peer, named by PEER_ORT. Error: unsupported (it is not there).
Result<std::vector<std::string>> peer_command();

}  // namespace nnex::cli
