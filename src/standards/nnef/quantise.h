#pragma once
// What a quantisation file does to a network: its tensors take only the values that their codes stand for
// (NNEF 1.0.5, chapter 5.3: as if the operation were applied to the tensor right after it is computed).

#include "graph/graph.h"

namespace nnex::nnef_format {

/// Puts the operation of each record of the graph's quantisation file (Provenance::quantization) behind the tensor that
/// it names, for all who read it; these records are gone from the metadata then. Records of a document's own fragments
/// stay: they are hints, and what they mean is in no table. A graph without such metadata stays as it is. Errors: those
/// of parse_quant, and of the table for arguments that do not fit.
Status apply_quantisation(ir::Graph& graph);

}  // namespace nnex::nnef_format
