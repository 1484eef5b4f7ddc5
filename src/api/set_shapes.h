#pragma once
// Other extents of inputs: constants of reshapes that hold what an axis was follow.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "nnex/edit.h"

namespace nnex {

using Shapes = std::map<std::string, std::vector<int64_t>>;
using SymbolicShapes = std::map<std::string, std::vector<NewExtent>>;

/// The shapes of all inputs, with numbers for extents that are open: the same for equal formulas. Error:
/// invalid_argument (an input whose rank is not known).
Result<Shapes> input_shapes(const ir::Graph& g);
/// Whether an extent of input_shapes() is none of those numbers.
bool is_given(int64_t extent);

/// Of a graph whose extents are forgotten: gives the inputs the shapes `now`, where they had `was` when constants were
/// made, and lets reshapes follow. What is open and has one number in both stays open. Errors: those of inference.
Result<std::vector<BakedShape>> follow_shapes(ir::Graph& g, const Shapes& was, const Shapes& now);

/// The same with symbols. Axes past those that are given stay as they are.
Result<std::vector<BakedShape>> follow_symbols(ir::Graph& g, const SymbolicShapes& wanted);

/// What is tried in the place of an extent n, at most 2^40: windows, strides and patches pass over one more or two.
std::array<int64_t, 5> other_extents(int64_t n);

}  // namespace nnex
