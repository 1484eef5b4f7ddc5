#pragma once
// A graph as formats without symbols and control flow say it.

#include "graph/graph.h"

namespace nnex::passes {

/// What becomes of weights that are stored as codes.
enum class StoredCodes : uint8_t {
  fold,
  keep,
  keep_halves  ///< Only those of products that are halves.
};

/// Makes a graph plain: functions inlined, extents known where they can be, shapes computed, constants folded, types of
/// everything. Constants keep the names by which bits are declared. Errors: those of inference.
Status make_plain(ir::Graph& graph, StoredCodes codes = StoredCodes::fold);

}  // namespace nnex::passes
