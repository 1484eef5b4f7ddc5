#pragma once
// What a model takes while it is served.

#include <cstdint>
#include <string>

#include "nnex/inspect.h"
#include "nnex/model.h"

namespace nnex::serve {

struct ModelMemory {
  int64_t weights = 0, instance = 0;  ///< Bytes; of each instance.
  int instances = 1;

  int64_t all() const { return weights + instance * instances; }
  /// "12.5 MiB (weights 10, each of 2 instances 1.2)"
  std::string text() const;
};

/// "12.5"
std::string in_mib(int64_t bytes);

/// What the model and its sessions take for inputs of the extents that it declares, open first ones as `rows`, other
/// open ones as 1. It plans one session, by which weights are packed. What only a run can tell is not in it.
ModelMemory memory_of(const Model& model, const Inspection& inspection, const SessionOptions& options, int instances,
                      int64_t rows);

}  // namespace nnex::serve
