#pragma once
// Prints the typed methods of the graph builder from the operations' descriptions.

#include <string>

namespace nnex::ml {

/// include/nnex/webnn_ops.h, as it must be.
std::string typed_methods_header();
/// src/webnn/operations.cpp, as it must be.
std::string typed_methods_source();

}  // namespace nnex::ml
