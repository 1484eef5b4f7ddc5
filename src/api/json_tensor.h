#pragma once
// Tensors as JSON, in and out. Numbers that JSON lacks are the words "NaN", "Infinity", "-Infinity".

#include "base/json.h"
#include "nnex/tensor.h"

namespace nnex {

/// A tensor from nested lists of numbers, strings or booleans; a type of none means f32. Errors: unreadable (lists that
/// make no array), invalid_argument (an item that the type does not hold exactly enough: a fraction for an integer,
/// unless `cast`, or a number out of its range), unsupported (complex numbers).
Result<Tensor> tensor_of(const nlohmann::ordered_json& lists, DType type, bool cast);

/// Nested lists of all elements. Error: unsupported for complex numbers, or more axes than lists may be nested.
Result<nlohmann::ordered_json> lists_of(const Tensor& t);

}  // namespace nnex
