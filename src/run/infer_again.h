#pragma once
// The rule of a node asked once more when its inputs exist.

#include <span>

#include "graph/graph.h"

namespace nnex::run {

/// Gives the outputs of a node memory where its shape rule knows their extents from the inputs' contents, of any
/// length, and empties the others: their kernel makes them. Errors: fault where the rule refuses the inputs; limit.
Status infer_outputs_again(const Node& node, std::span<const Value* const> in, std::span<Value* const> out);

/// What a rule found wrong with values or extents of a run, invalid_model, as a fault: the model has passed it without
/// them. Other errors stay.
Error of_the_data(Error error);

}  // namespace nnex::run
