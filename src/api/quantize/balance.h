#pragma once
// Channels that are scaled by powers of two between what makes them and the products that read them: the float network
// computes what it did, bit for bit where nothing underflows, and codes fit it better.

#include <cstdint>
#include <vector>

#include "base/try.h"
#include "graph/graph.h"

namespace nnex {

/// Channels between two products get like reach in the weights of both:
/// conv(relu(conv(x, w / s)), v * s). Returns how many tensors changed.
Result<int> equalize(ir::Graph& graph);

/// What a normalisation over the last axis makes for products alone.
struct Smoothable {
  ValueId value;
  NodeId norm;
  std::vector<NodeId> products;
};
std::vector<Smoothable> smoothable(const ir::Graph& graph);

/// By how much, as powers of two, each channel is divided so that its reach and that of the weights it meets are as far
/// from 1: what is hard to say in codes of one scale moves to weights, whose outputs have their own.
Result<std::vector<int64_t>> smoothing_powers(const ir::Graph& graph, const Smoothable& s,
                                              const std::vector<float>& reach);
/// Divides the channels and multiplies the weights. Error: invalid_argument (another number of channels).
Status smooth(ir::Graph& graph, const Smoothable& s, const std::vector<int64_t>& powers);

}  // namespace nnex
