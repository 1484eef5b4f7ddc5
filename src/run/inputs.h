#pragma once
// Whether the values a caller hands in are what a model takes.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "nnex/model.h"
#include "tensor/has_memory.h"
#include "tensor/type.h"

namespace nnex {

/// What a value's type says of it as an input or output.
PortInfo port_info(std::string name, const Type& type);
inline PortInfo port_info(const ir::Graph& graph, ValueId v) { return port_info(graph[v].name, graph[v].type); }

/// A port and its type before the passes.
struct InputPort {
  PortInfo info;
  Type type;
};

/// Extents of symbols, which the ports name.
using SymbolExtents = std::vector<std::pair<std::string_view, int64_t>>;

/// Whether a value can be run on: its kind, types and known extents, and memory behind every tensor in it. `symbols`
/// gathers the extents of symbols over all inputs; `what`: "input" or "state". Error: invalid_argument.
Status check_input(const InputPort& port, const Value& value, SymbolExtents& symbols, std::string_view what = "input");

}  // namespace nnex
