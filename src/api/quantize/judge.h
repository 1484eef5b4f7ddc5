#pragma once
// How far a quantised network is from the float one, and how long both take.

#include <map>

#include "base/try.h"
#include "graph/graph.h"
#include "nnex/quantize.h"

namespace nnex {

/// A tensor of the float network and the one that stands for it.
struct Counterpart {
  ValueId in_float, in_quantised;
};

struct Judgement {
  std::vector<double> sqnr_db;  ///< By counterpart.
  std::vector<QuantizedOutput> outputs;
  int64_t samples = 0;
};
/// Runs both on the samples, optimised as any model is.
Result<Judgement> judge(const ir::Graph& in_float, const ir::Graph& quantised,
                        const std::vector<Counterpart>& counterparts, const SampleSet& samples,
                        const QuantizeOptions& options);

/// The least times of a run on the first sample, of both networks in turns.
struct Times {
  double in_float = 0, quantised = 0;                            ///< Microseconds.
  std::map<std::string, double> float_places, quantised_places;  ///< Of nodes and regions, by place.
};
Result<Times> time_both(const ir::Graph& in_float, const ir::Graph& quantised, const SampleSet& samples,
                        const QuantizeOptions& options);

}  // namespace nnex
