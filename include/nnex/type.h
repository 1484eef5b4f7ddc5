#pragma once
/// TypeInfo: what is known of a value before a run.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/dtype.h"
#include "nnex/result.h"
#include "nnex/shape.h"

#pragma GCC visibility push(default)
namespace nnex {

/// The kind of a value, its element type and extents as far as they are known.
struct TypeInfo {
  /// "f32[N,3,224,224]", "f32[?]" (rank unknown), "sequence(f32[?])", "optional(...)", "map(i64, ...)", "unknown".
  std::string text = "unknown";
  DType dtype = DType::none;      ///< Element type of a tensor (map: of the keys); none when it is not known.
  bool tensor = false;            ///< Whether it is known to be a dense tensor.
  bool known_rank = false;        ///< Whether `dims` and `extents` say something.
  std::vector<std::string> dims;  ///< Each extent as text: "3", "N", "2*H+1", "?" and more: unknown.
  std::vector<int64_t> extents;   ///< The same in numbers; -1 where it is no number.

  /// A tensor of known extents, of extents as text ("N", "3", "2*H"; "?" for one nobody knows), or of unknown rank.
  static TypeInfo of(DType dtype, const Shape& shape);
  static Result<TypeInfo> of(DType dtype, const std::vector<std::string>& dims);
  static TypeInfo of(DType dtype);
  /// A type as `text` has it; an extent "?" is one nobody knows. Error: invalid_argument, with the place in the text.
  static Result<TypeInfo> parse(std::string_view text);
};

}  // namespace nnex
#pragma GCC visibility pop
