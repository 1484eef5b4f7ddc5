#pragma once
// Networks as quantising meets them: made plain, every tensor with a name, and run on samples.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/try.h"
#include "graph/graph.h"
#include "nnex/quantize.h"

namespace nnex {

/// The network without functions, with normalisations folded into weights and a name for whatever its nodes make.
/// Inputs and outputs keep theirs. `keeps_codes`: constants that are stored as codes are not decoded. Errors: those of
/// inference.
Result<ir::Graph> float_network(const ir::Graph& graph, bool keeps_codes);

/// The graph with further results.
ir::Graph with_results(const ir::Graph& graph, const std::vector<ValueId>& more);

/// What a sample is called in messages.
std::string sample_text(const SampleSet& samples, int64_t index);

/// Runs models on the samples, one after another; all read the same inputs. `seen`: what they gave, by model. Errors:
/// those of samples and runs, with the sample's number.
Status run_samples(const std::vector<Model>& models, const SampleSet& samples, int64_t count,
                   const QuantizeOptions& options,
                   const std::function<Status(int64_t sample, const std::vector<std::vector<Value>>& results)>& seen);

}  // namespace nnex
