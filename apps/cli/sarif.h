#pragma once
// What a check found as SARIF 2.1.0 (OASIS), which editors and code hosts read.

#include "cli.h"
#include "nnex/check.h"

namespace nnex::cli {

/// Adds what was found in a model to a list of results: faults, and notes that have a sentence.
void add_sarif(Json& results, const std::string& path, const CheckReport& found);
/// A model that could not be looked into.
void add_sarif(Json& results, const std::string& path, const Error& error);
/// The log of one run.
Json sarif_log(Json results);

}  // namespace nnex::cli
