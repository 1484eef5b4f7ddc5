// Rows that only passes make: never read, never written.

#include "ops/fused.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/table.h"

namespace nnex {
namespace {

/// The results are the block's.
Status infer_fused(InferCall& c) {
  std::vector<Type> params;
  for (size_t i = 0; i < c.inputs(); ++i) params.push_back(c.in(i));
  NNEX_ASSIGN(std::vector<Type> types, c.block(0, params));
  if (c.outputs() > types.size())
    return c.error("the node has {} results; its block gives {}", c.outputs(), types.size());
  for (size_t o = 0; o < c.outputs(); ++o) c.result_type(o, types[o]);
  return {};
}

constexpr OpRow kEngineOps[] = {
    {.name = "fused",
     .summary = "Nodes that a kernel serves as one; without such a kernel the run interprets them.",
     .source = "This engine.",
     .inputs = {{"x", any_value(), Arity::variadic}},
     .outputs = {{"y", any_value(), Arity::variadic}},
     .blocks = {"body"},
     .attrs = attrs_of<FusedAttrs>({}),
     .infer = infer_fused},
};
}  // namespace

std::span<const OpDef> engine_ops() { return stored<kEngineOps>(); }

}  // namespace nnex
