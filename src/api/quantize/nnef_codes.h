#pragma once
// A float network whose codes stand in a quantisation file of NNEF beside it.

#include "api/quantize/choose.h"
#include "api/quantize/rewrite.h"
#include "base/try.h"

namespace nnex {

/// The network with weights that are exactly what their codes stand for, biases corrected as insert_codes() corrects
/// them, and the lines of the file as metadata: the writer stores such weights as codes.
Result<ir::Graph> with_quant_file(const ir::Graph& graph, const Coding& coding, const Measured& measured,
                                  const QuantizeSettings& settings);

/// Lines of a quantisation file for what the graph makes of constants of one byte, so that the writer of NNEF stores
/// codes where those are exactly what folding gives.
void record_weights(ir::Graph& graph);

}  // namespace nnex
