#pragma once
// Ranges of tensors, from samples.

#include "api/quantize/choose.h"
#include "api/quantize/rewrite.h"
#include "nnex/quantize.h"

namespace nnex {

/// Runs the float network on the samples and watches what becomes codes. Errors: invalid_argument (no samples), fault
/// (NaN or infinity), those of runs.
Result<Measured> calibrate(const ir::Graph& graph, const Coding& coding, const SampleSet& samples,
                           const QuantizeSettings& settings, const QuantizeOptions& options);

/// The reach of each channel of the last axis, by tensor. Errors: the same.
Result<std::map<uint32_t, std::vector<float>>> channel_reach(const ir::Graph& graph, const std::vector<ValueId>& values,
                                                             const SampleSet& samples, const QuantizeOptions& options);

}  // namespace nnex
