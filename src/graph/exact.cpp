#include "graph/exact.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "graph/queries.h"

namespace nnex {
namespace {

bool floats(const Type& t) {
  return t.dtype != DType::none && !is_int(t.dtype) && t.dtype != DType::boolean && t.dtype != DType::str;
}

}  // namespace

Status check_exact(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const auto refuse = [&](std::string_view does) {
    return failure(Code::unsupported, "{}: {}; exact mode runs whole numbers alone", node.op->name, does)
        .at(graph.place_of(id));
  };
  if (!node.op->pure && node.blocks.empty()) return refuse("draws random numbers or keeps a state");
  for (ValueId v : node.out)
    if (v.valid() && floats(graph[v].type)) return refuse(fmt::format("computes with {}", name(graph[v].type.dtype)));
  for (size_t i = 0; i < node.in.size(); ++i) {
    const ValueId v = node.in[i];
    if (!v.valid() || !floats(graph[v].type)) continue;
    if (!reads_by_value(node, i) || !graph[v].is_constant())
      return refuse(fmt::format("reads {}", name(graph[v].type.dtype)));
  }
  return {};
}

Status check_exact(const ir::Graph& graph) {
  for (NodeId id : graph.order_with_blocks()) NNEX_TRY(check_exact(graph, id));
  return {};
}

}  // namespace nnex
