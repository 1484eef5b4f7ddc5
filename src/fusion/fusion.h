#pragma once
// The patterns that one kernel serves. Each is found by one function, which says what a graph must look like and what
// kernels are then told (kernels/fused.h).

#include <optional>

#include "fusion/region.h"

namespace nnex::fusion {

/// A product of float32 with a constant filter, then + a row, + a residual, an activation, as far as the graph goes on
/// in this order.
std::optional<Found> find_product(const ir::Graph& graph, NodeId product);

/// Element-wise nodes of float32 that feed one another and at last this one, all with its extents.
std::optional<Found> find_chain(const ir::Graph& graph, NodeId last);

}  // namespace nnex::fusion
