#pragma once
/// Whether the rows of a batch stay apart.

#include <string>

#include "nnex/model.h"

#pragma GCC visibility push(default)
namespace nnex {

/// Where rows meet that lie along a symbol ("N") of the model's inputs: "node 'm' (ReduceMax) makes f32[] of all
/// rows", of the first node whose output follows from elements of rows and has the symbol in no extent, or in more than
/// one; or that no input has such an extent. Empty: nowhere. Outputs whose extents are not known count as apart, as
/// does what an operator does along an axis that it keeps (a softmax over rows): a run of rows alone and among others
/// tells that.
std::string where_rows_meet(const Model& model, const std::string& symbol);

}  // namespace nnex
#pragma GCC visibility pop
