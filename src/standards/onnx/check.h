#pragma once
// What a model says, against its bytes, the standard and inference: every fault, with its rule and place.

#include "standards/onnx/check_rules.h"
#include "standards/onnx/import.h"

namespace nnex::onnx_format {

/// The rules that the bytes alone tell: versions, names, single assignment, order, attributes, tensors, functions that
/// nobody calls. `findings`: places of what importers show under less than its whole path, and functions with faults.
void check_structure(std::string_view message, const Source& source, BrokenRules& broken, Findings& findings);

/// The model as far as it can be read, after all faults of its structure and its import. Values that could not be made
/// are unknown in it; nothing where the bytes leave nothing to go on with. The graph's functions use the findings when
/// they are expanded.
std::optional<ir::Graph> read_checked(std::string_view message, Source source, BrokenRules& broken,
                                      const std::shared_ptr<Findings>& findings);

/// What was found at places whose fault is not told yet, by importers and inference.
void add_found(Faults faults, BrokenRules& broken);

/// The types that operators are given against those they take in the opset that the model imports. What they make of
/// others is doubtful: nothing more is told of it.
void check_operands(const ir::Graph& inferred, Findings& findings, BrokenRules& broken);
/// A model that calls the functions which were not expanded so far, with arguments of which nothing is known: those
/// that no other calls, or where there are none, all of them. Nothing: none is left. Functions with faults are left
/// out, and those with attributes that have no default: what they mean only a caller says. The findings' values are
/// that model's from then on.
std::optional<ir::Graph> uncalled_functions(const ir::Graph& model, Findings& findings);
/// What the model declares of its values against what was inferred of the same graph. An extent's name is one number in
/// the whole model.
void check_declared(const ir::Graph& inferred, Findings& findings, BrokenRules& broken);

}  // namespace nnex::onnx_format
