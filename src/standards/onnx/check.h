#pragma once
// What a model says, against its bytes, the standard and inference: every fault, with its place.

#include "standards/onnx/import.h"

namespace nnex::onnx_format {

/// Rules that the bytes alone tell: versions, names, single assignment, order, attributes, functions that nobody calls
/// (section 3 of the reference on ONNX).
void check_structure(std::string_view message, Faults& faults);

/// The model as far as it can be read, after all faults of its structure and its import. Values that could not be made
/// are unknown in it.
ir::Graph read_checked(std::string_view message, Source source, Faults& faults, Findings& findings);

/// What the model declares of its values against what was inferred of the same graph, and the types that its operators
/// take in the opset it imports. An extent's name is one number in the whole model.
void check_types(const ir::Graph& inferred, const Findings& findings, Faults& faults);

}  // namespace nnex::onnx_format
