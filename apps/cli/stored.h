#pragma once
// Tensors in files as one side of a comparison.

#include <map>
#include <string>

#include "cli.h"

namespace nnex::cli {

/// Tensors that were stored, and what they were computed from where that lies with them.
struct Stored {
  std::map<std::string, Value> tensors;  ///< By the names that the model has for them.
  std::vector<std::string> inputs;       ///< Files for --input, where the user gives none.
};

/// Whether the path holds tensors, not a model: .npz .npy .pb .dat .json .csv, or a folder with output_0.pb or arrays.
bool holds_tensors(const std::string& path);

/// The tensors of a path: of .npz and .json (an answer of another program) by name; a file of one tensor is the model's
/// only output, and output_0.pb was made from the input_0.pb beside it; output_0.pb, output_1.pb ... of a folder its
/// outputs in order, other files (NAME.npy, NAME.pb, NAME.dat) are named by their stems. Errors: unreadable,
/// invalid_argument (one tensor, several outputs).
Result<Stored> read_stored(const std::string& path, const Model& model, const InputFileOptions& limits);

}  // namespace nnex::cli
