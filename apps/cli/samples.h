#pragma once
// The samples that a network is measured on: items of a folder or list, or rows of arrays.

#include "cli.h"
#include "nnex/quantize.h"

namespace nnex::cli {

/// Samples, and what is to be said of where they came from.
struct Samples {
  SampleSet set;
  std::string note;  ///< What of a folder was left out; empty: nothing.
};

/// A folder or a list of items (as `nnex batch` takes them), each one sample; or a .npz, .npy or .csv file, whose
/// arrays have a sample for each index of their first axis, or for as many as the model's input asks for. Empty: no
/// samples. Files of a folder whose endings no sample has are left out; a list is taken at its word.
/// Errors: those of items_of, unreadable, invalid_argument (an input that is missing, arrays of different lengths, a
/// folder without samples).
Result<Samples> samples_of(const std::string& source, const InputFileOptions& fit, const std::vector<PortInfo>& inputs);

}  // namespace nnex::cli
