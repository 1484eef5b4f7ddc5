#pragma once
// Graph to better graph: each pass is a free function that returns how often it applied. Dead nodes are left to
// drop_unused.

#include "graph/graph.h"

namespace nnex::passes {

Result<int> inline_functions(ir::Graph& graph);
Result<int> differentiate(ir::Graph& graph);
Status expand_body(ir::Graph& graph, NodeId id);
Result<int> expand_bodies(ir::Graph& graph);
Result<int> drop_unused(ir::Graph& graph);
Result<int> drop_copies(ir::Graph& graph);
Result<int> fold_constants(ir::Graph& graph);
/// fold_constants, but weights stored as bytes stay bytes.
Result<int> fold_but_bytes(ir::Graph& graph);
/// fold_constants, but what products read as codes stays codes.
Result<int> fold_but_codes(ir::Graph& graph);
/// fold_constants, but whatever is stored as codes stays codes.
Result<int> fold_but_stored_codes(ir::Graph& graph);
/// fold_constants, but weights of products that are stored as halves stay halves.
Result<int> fold_but_halves(ir::Graph& graph);
/// fold_constants, but not what a file holds in fewer bytes: codes, halves, and what grows beyond 4 KiB.
Result<int> fold_for_files(ir::Graph& graph);
/// fold_constants of nodes from this id on.
Result<int> fold_from(ir::Graph& graph, uint32_t first);
/// Small values that inference knows, among them extents of what is computed, become constants.
Result<int> fold_known(ir::Graph& graph);
/// Choices whose condition is constant become what they choose.
Result<int> take_branches(ir::Graph& graph);
Result<int> merge_equal(ir::Graph& graph);
Result<int> widen_halves(ir::Graph& graph);
Result<int> fold_affine(ir::Graph& graph);
Result<int> simplify(ir::Graph& graph);
Result<int> fuse_norms(ir::Graph& graph);
Result<int> plain_scales(ir::Graph& graph);
Result<int> channels_last(ir::Graph& graph);
Result<int> quantize_pools(ir::Graph& graph);
Result<int> move_codes(ir::Graph& graph);
Result<int> fuse_quantized(ir::Graph& graph);
Result<int> fuse_attention(ir::Graph& graph);
Result<int> fuse_caches(ir::Graph& graph);
Result<int> join_moves(ir::Graph& graph);
Result<int> fuse_products(ir::Graph& graph);
Result<int> fuse_chains(ir::Graph& graph);

}  // namespace nnex::passes
