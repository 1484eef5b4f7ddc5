#pragma once
// Graph to better graph: each pass is a free function that returns how often it applied. Dead nodes are left to
// drop_unused.

#include "graph/graph.h"

namespace nnex {

Result<int> inline_functions(Graph& graph);
Result<int> differentiate(Graph& graph);
Status expand_body(Graph& graph, NodeId id);
Result<int> expand_bodies(Graph& graph);
Result<int> drop_unused(Graph& graph);
Result<int> drop_copies(Graph& graph);
Result<int> fold_constants(Graph& graph);
/// fold_constants, but weights stored as bytes stay bytes.
Result<int> fold_but_bytes(Graph& graph);
Result<int> merge_equal(Graph& graph);
Result<int> fold_affine(Graph& graph);
Result<int> simplify(Graph& graph);
Result<int> fuse_norms(Graph& graph);
Result<int> plain_scales(Graph& graph);
Result<int> channels_last(Graph& graph);
Result<int> quantize_pools(Graph& graph);
Result<int> fuse_quantized(Graph& graph);
Result<int> fuse_attention(Graph& graph);
Result<int> fuse_caches(Graph& graph);
Result<int> fuse_products(Graph& graph);
Result<int> fuse_chains(Graph& graph);

}  // namespace nnex
