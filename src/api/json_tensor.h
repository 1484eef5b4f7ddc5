#pragma once
// Tensors as JSON, in and out. Numbers that JSON lacks are the words "NaN", "Infinity", "-Infinity".

#include "base/json.h"
#include "nnex/tensor.h"
#include "tensor/type.h"

namespace nnex {

/// A tensor from nested lists of numbers, strings or booleans; a type of none means str where all
/// items are texts, else f32. Errors: unreadable (lists that make no array), invalid_argument (an item that the type
/// does not hold exactly enough: a fraction for an integer, unless `cast`, a number out of its range, or without a type
/// a whole number that f32 does not hold), unsupported (complex numbers).
Result<Tensor> tensor_of(const nlohmann::ordered_json& lists, DType type, bool cast);

/// A value of the type: a sequence from a list of its items, an optional from null or what it has, a map from an
/// object. Errors: as of tensor_of(); unsupported (a sparse tensor).
Result<Value> value_of(const nlohmann::ordered_json& json, const Type& type, bool cast);

/// Nested lists of all elements. Error: unsupported for complex numbers, more axes than lists may be nested, or extents
/// that they do not show: those after one of 0.
Result<nlohmann::ordered_json> lists_of(const Tensor& t);
/// Any value as value_of() reads it. Errors: as above; unsupported (a sparse tensor).
Result<nlohmann::ordered_json> json_of(const Value& value);

}  // namespace nnex
