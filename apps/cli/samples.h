#pragma once
// The samples that a network is measured on: items of a folder or list, or rows of arrays.

#include "cli.h"
#include "nnex/quantize.h"

namespace nnex::cli {

/// A folder or a list of items (as `nnex batch` takes them), each one sample; or a .npz or .npy file, whose arrays have
/// a sample for each index of their first axis, or for as many as the model's input asks for. Empty: no samples.
/// Errors: those of items_of, unreadable, invalid_argument (an input that is missing, arrays of different lengths).
Result<SampleSet> samples_of(const std::string& source, const InputFileOptions& fit,
                             const std::vector<PortInfo>& inputs);

}  // namespace nnex::cli
