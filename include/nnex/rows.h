#pragma once
/// Whether the rows of a batch stay apart.

#include <string>

#include "nnex/model.h"

#pragma GCC visibility push(default)
namespace nnex {

/// Where rows may meet that lie along a symbol ("N") of the model's inputs, as the first node that is not proven to
/// keep them apart by what it is, its attributes and the extents of its tensors: "node 'm' (ReduceMax) makes f32[] of
/// all rows", "node 'c' (CumSum) works along the rows of f32[N,4]", "node 's' (ScatterND) is not known to keep rows of
/// f32[N,4] apart"; or that no input has such an extent. Empty: nowhere, whatever the numbers are.
std::string where_rows_meet(const Model& model, const std::string& symbol);

}  // namespace nnex
#pragma GCC visibility pop
