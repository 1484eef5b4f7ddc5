#pragma once
// Types and tensors of ONNX's textual syntax, read.

#include <optional>
#include <string>
#include <vector>

#include "standards/onnx/text_scanner.h"
#include "standards/onnx/write_wire.h"

namespace nnex::onnx_format {

/// A type, and of a tensor's what a constant of it needs.
struct TextType {
  wire::Message proto;
  int64_t element = 0;                           ///< 0: no tensor.
  std::optional<std::vector<std::string>> dims;  ///< As they are written; nothing: the rank is open.
};

class TextTypes {
 public:
  /// Reads on where the scanner stands, which lives longer.
  explicit TextTypes(TextScanner& scanner) : s_(scanner) {}

  Result<TextType> type(int depth);
  /// A TensorProto of the type: its elements between braces, or where they are between brackets.
  Result<wire::Message> tensor(const TextType& type, const std::string& name);
  /// Pairs of texts between brackets, as entries of a field.
  Status pairs(wire::FieldNumber field, wire::Message& out);

 private:
  /// opaque(), opaque(name), opaque(domain, name), the first with points in it.
  Status opaque(wire::Message& out);
  /// What follows the element type: nothing (rank 0), [] (any rank), or extents.
  Result<wire::Message> tensor_type(TextType& out);
  /// "?" stays, a symbol stands in quotes, a number as it is.
  Status extent(std::vector<std::string>& dims);
  Result<wire::Message> extents(const TextType& type);
  template <class T>
  Result<std::string> numbers(bool varints);
  Status elements(int64_t type, wire::Message& out);

  TextScanner& s_;
};

}  // namespace nnex::onnx_format
