#pragma once
// The JSON object of a request, read in one pass: elements of tensors go into flat memory, not into a tree.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/tensor.h"

namespace nnex::serve {

using Parameters = std::vector<std::pair<std::string, std::variant<bool, int64_t, double, std::string>>>;

/// The items of "data", row by row, and how their lists were nested.
struct JsonData {
  /// wide: a whole number from 2^63 on, as uint64_t; fraction: a real that is none, though its double is.
  enum class Kind : uint8_t { whole, wide, real, boolean, fraction };
  std::vector<uint64_t> numbers;  ///< Bits of an int64_t, a uint64_t, a double or a bool.
  std::vector<Kind> kinds;
  std::vector<std::pair<size_t, std::string>> strings;  ///< Items that are text, by their place; their number is 0.
  std::vector<int64_t> lengths;                         ///< Of the lists, the outer one first.
};

struct JsonInput {
  std::string name, datatype;
  bool has_shape = false;
  std::vector<int64_t> shape;
  Parameters parameters;
  std::optional<JsonData> data;
};

struct JsonOutput {
  std::string name;
  Parameters parameters;
};

struct InferJson {
  std::optional<std::string> id;
  Parameters parameters;
  std::vector<JsonInput> inputs;
  std::vector<JsonOutput> outputs;
};

/// Reads the object. What the protocol does not name is skipped. Error: invalid_argument, with the place in the text.
Result<InferJson> read_infer_json(std::string_view text);

/// The items as a tensor. Lists of one level are in row-major order; nested ones must have the shape's extents. Reals
/// may be "NaN", "Infinity", "-Infinity". Errors: invalid_argument (how many there are, one that the type does not
/// hold), limit.
Result<Tensor> tensor_of(const JsonData& data, DType type, const std::vector<int64_t>& shape, std::string_view whose);

}  // namespace nnex::serve
