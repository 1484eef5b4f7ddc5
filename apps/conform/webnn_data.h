#pragma once
// Numbers and buffers as the WebNN vectors write them, and the comparison the vectors ask for.

#include <memory>
#include <string>
#include <vector>

#include "conform.h"
#include "webnn/idl.h"

namespace nnex::cli {

/// A tensor of the type from a list of numbers: JSON numbers, "NaN", "Infinity", "-Infinity", "-0", "123n",
/// {"$bigint": "123"}, {"$num": "NaN"}. One number alone fills the shape.
Result<Tensor> tensor_of(DType type, const Shape& shape, const Json& data);

/// A number of an options dictionary, special names too; nothing when the JSON is no number.
std::optional<ml::idl::Value> number_of(const Json& j);

/// {"metric": "ULP" or "ATOL", "value": N}; exact without one.
struct Closeness {
  bool ulp = true;
  double bound = 0;
  bool signed_zero = false;  ///< +0 and -0 differ.
};
Closeness closeness_of(const Json& tolerance);

/// What differs in the first `count` elements, or nothing.
std::string difference(const Tensor& got, const Tensor& want, const Closeness& closeness, int64_t count);

/// A buffer of JavaScript's: the bytes of {"$buffer": ...}, or of the buffer under {"$typed": ...}.
struct Buffer {
  std::shared_ptr<std::vector<std::byte>> bytes = std::make_shared<std::vector<std::byte>>();
  size_t offset = 0, length = 0;  ///< The view's part.
  ml::BufferKind kind = ml::BufferKind::ArrayBuffer;

  ml::idl::View view() const { return {{kind, {bytes->data() + offset, length}}, bytes}; }
  std::span<std::byte> writable() const { return {bytes->data() + offset, length}; }
};
Result<Buffer> buffer_of(const Json& j);

/// The kind and the element type of a view's name ("Float32Array").
struct ViewType {
  ml::BufferKind kind;
  DType dtype;
};
std::optional<ViewType> view_named(std::string_view name);

}  // namespace nnex::cli
