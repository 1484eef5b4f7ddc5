#pragma once
// The two kinds of WebNN cases: graphs with inputs and outputs, and traces of calls. Each gives what differs, or
// nothing.

#include <string>

#include "conform.h"

namespace nnex::cli {

std::string run_webnn_graph(const Json& one, int threads);
std::string run_webnn_trace(const Json& one, int threads);

}  // namespace nnex::cli
