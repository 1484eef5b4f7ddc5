#pragma once
// What is known of a conversion: a line for people, and the certificate.

#include <string>
#include <vector>

#include "cli.h"
#include "nnex/save.h"

namespace nnex::cli {

/// Prints what the runs of both models said.
void print_proof(const std::string& source, const std::string& out, const Proof& proof);

/// The files that a model at a path was read from: itself, a folder's, both of SYMBOL+PARAMS, those of external
/// tensors. None: it came from standard input, whose external tensors are told alone. Errors: those of inspect().
Result<std::vector<std::string>> files_of(const std::string& path, const ModelSource& source, const LoadOptions& load);

/// The runs: of `convert --json`, too.
Json proof_json(const Proof& proof);

/// Schema nnex.conversion/1: which files were read and written (at `out`), by SHA-256, what the model's constants are
/// (so external data count), how many nodes of which operators both have, and the runs. Errors: those of reading the
/// files again.
Result<Json> certificate(const std::string& path, const ModelSource& source, const LoadOptions& load,
                         const std::string& out, const SaveReport& written);

}  // namespace nnex::cli
