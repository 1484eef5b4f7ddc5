#pragma once
// What a run says of its answers as JSON. Numbers that JSON lacks are the words "NaN", "Infinity", "-Infinity".

#include "cli.h"

namespace nnex::cli {

/// The number, or its word.
Json number_of(double x);

/// What a run says of an answer: of a tensor of at most 1,000 elements its "values", of larger ones "statistics" and in
/// "hint" how to have all, in a format that has the type; of sequences and maps their items, as far as that.
void describe(const Value& value, std::string_view name, Json& row);

/// The same with all elements, where the answer is nowhere else. Error: unsupported (JSON lacks what it holds).
Status describe_all(const Value& value, std::string_view name, Json& row);

}  // namespace nnex::cli
