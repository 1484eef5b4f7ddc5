#pragma once
// Rows of the engine that the standard has no word for, as custom operations: how their fragments are called.

#include <string_view>

#include "ops/table.h"

namespace nnex::nnef_format {

class ImportCall;

/// The fragment of row `conv` is `nnex_conv`; a second one with other parameters, `nnex_conv__2`.
inline constexpr std::string_view kRowPrefix = "nnex_";
/// Its attribute that names element types which are not those that NNEF's tensors have here, one word an input and
/// result: "i32 i32 -> i32". "-" is an input or result that is absent, "i64[0]" a constant without elements; neither is
/// an operand of the call.
inline constexpr std::string_view kRowTypes = "element_types";

/// The row that a custom operation stands for; null: none of this engine's.
const OpDef* row_of_custom(std::string_view name);

/// Makes its node. Errors: unsupported (an attribute, or extents that only a run knows), the row's own.
Status import_row(ImportCall& call, const OpDef& row);

}  // namespace nnex::nnef_format
