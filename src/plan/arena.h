#pragma once
// Offsets of tensors in one block of memory, so that those alive together never overlap.

#include <cstdint>
#include <vector>

#include "nnex/result.h"

namespace nnex::plan {

struct ArenaRequest {
  size_t first = 0, last = 0;  ///< Steps from its making to its last reading.
  int64_t bytes = 0;
  int64_t offset = 0;  ///< The answer, a multiple of 64.
};

/// Sets every offset; the bytes of the whole arena. Larger tensors are placed first, each at the lowest place that is
/// free while it lives; of very many the earlier ones first, each in the piece that fits it best. Error: limit when the
/// sum overflows.
Result<int64_t> arena_offsets(std::vector<ArenaRequest>& requests);

}  // namespace nnex::plan
