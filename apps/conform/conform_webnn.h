#pragma once
// The two kinds of WebNN cases: graphs with inputs and outputs, and traces of calls. Each gives what differs, or
// nothing.

#include <string>

#include "conform.h"

namespace nnex::cli {

std::string run_webnn_graph(const Json& one, int threads);
/// The same graph written in another standard, read back and run. Error: unsupported, where the standard lacks words
/// for it.
Result<std::string> run_webnn_graph_through(const Json& one, std::string_view standard);
std::string run_webnn_trace(const Json& one, int threads);

}  // namespace nnex::cli
