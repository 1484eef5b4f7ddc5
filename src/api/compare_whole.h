#pragma once
// Whole runs of models that are compared, and which of their ports correspond.

#include <string>
#include <utility>
#include <vector>

#include "nnex/compare.h"

namespace nnex {

/// A model that was run, without the model.
struct WholeRun {
  std::vector<PortInfo> inputs, outputs;  ///< Outputs: with them the states, by label.
  std::vector<Value> given, results;
  size_t states = 0;  ///< How many of the outputs are states.
};

/// Loads a model, runs it once and lets it go. Errors: those of both, and of `inputs`.
Result<WholeRun> run_whole(const ModelSource& source, const LoadOptions& load, const SessionOptions& session,
                           const RunOptions& run, const InputsOf& inputs);

/// Places in two lists of ports: those of one name, and where as many are left in both, the others in order.
std::vector<std::pair<size_t, size_t>> match_ports(const std::vector<PortInfo>& a, const std::vector<PortInfo>& b);

/// The values of a's inputs as b takes them: integers and floats in b's width. Errors: invalid_argument, the inputs
/// that b lacks a value for.
Result<std::vector<Value>> inputs_for(const WholeRun& a, const std::vector<PortInfo>& b);

/// The same by a's names.
std::map<std::string, Value> inputs_by_name(const WholeRun& a);

}  // namespace nnex
