#pragma once
// What clients of Triton ask of a model beside its metadata: its configuration, and what was counted of it.

#include <memory>
#include <span>
#include <string>

#include "serve/repository.h"
#include "shared/json.h"

namespace nnex::serve {

/// As Triton's ModelConfig in JSON: names, types and extents of inputs and outputs, and how requests run together;
/// where they do, extents are those of one row.
cli::Json config_of(const Served& served);

/// As Triton's ModelStatistics in JSON, of these versions of models: rows, waiting and computing are of requests that
/// were answered 200, each with the whole time of the run that it shared; what nnex does not count is 0.
cli::Json statistics_of(std::span<const std::shared_ptr<Served>> versions);

}  // namespace nnex::serve
