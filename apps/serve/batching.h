#pragma once
// Requests run together along the first axis of a model whose rows are independent of each other.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nnex/model.h"

namespace nnex::serve {

/// Why a model's requests cannot be run together; empty: they can. They can where the first extent of every input and
/// output is one symbol that stands nowhere else, nothing is kept from run to run, rows meet at no node
/// (nnex/rows.h), and rows of seeded random numbers give the same bytes alone as among others.
std::string why_not_batched(const Model& model, const SessionOptions& session);

/// Rows of a request; -1 where its inputs disagree.
int64_t rows_of(const std::vector<Value>& inputs);

/// Whether two requests can be one: all but the first extents of their inputs agree.
bool joinable(const std::vector<Value>& a, const std::vector<Value>& b);

/// The inputs of several requests, one after the other along the first axis. Error: limit.
Result<std::vector<Value>> join(std::span<const std::vector<Value>* const> parts);

/// Rows [begin, begin + count) of all results, which share the bytes. Error: internal (a result has other rows).
Result<std::vector<Value>> rows(const std::vector<Value>& results, int64_t total, int64_t begin, int64_t count);

}  // namespace nnex::serve
