#pragma once
// The content of an NNEF variable, from its tensor file (rules C2, C3, C6, C7).

#include "standards/container.h"
#include "standards/nnef/operation.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/read_tensor.h"

namespace nnex::nnef_format {

/// The file that holds a variable's content: "conv/w" -> "conv/w.dat".
std::string tensor_file_name(std::string_view label);

/// The content of the variable `label`, which the document declares as `type` with `extents`: f32 for scalars (f16 and
/// f64 are converted), i64 for integers, bool for logical ones. Codes of quantised files become reals by `record` (the
/// entry of graph.quant for the variable's tensor; null: there is none). Where the file's items are what is needed, the
/// tensor borrows the container's bytes.
/// Errors: unreadable (C2: no such file), invalid_model (B rules; C6 extents; C7 item type), unsupported (B12).
Result<Tensor> variable_content(const Container& from, std::string_view label, ItemType type, const Ints& extents,
                                const QuantRecord* record);
/// The same for a file that is read already.
Result<Tensor> variable_content(const TensorFile& file, ItemType type, const Ints& extents, const QuantRecord* record);
/// Why a variable's file could not be read, under its rule (C2, C9), with what helps.
Error missing_content(Error e, const Container& from, const std::string& file_name);

}  // namespace nnex::nnef_format
