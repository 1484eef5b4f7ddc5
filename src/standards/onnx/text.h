#pragma once
// ONNX's textual syntax (docs/Syntax.md of the standard), of files in .onnxtxt: messages to text and back.

#include <string>
#include <string_view>
#include <vector>

#include "nnex/result.h"

namespace nnex::onnx_format {

/// Whether a text begins as a model's does: "<" and one of its keys.
bool is_model_text(std::string_view begin);

/// A ModelProto's bytes of the text; tensors have their elements in typed fields, those of less than 8 bits as the
/// bytes they are packed into. Errors: invalid_model with line and column, limit (nesting).
Result<std::string> parse_model_text(std::string_view text);

struct ModelText {
  std::string text;
  std::vector<std::string>
      left_out;  ///< What a run does not need and the syntax has no words for: "3 x graph.node.doc_string".
};

/// A model's text. Errors: unsupported (what the network computes with and the syntax has no words for: sparse tensors,
/// names that are no identifiers where one is needed), invalid_model (bytes that are no messages).
Result<ModelText> print_model_text(std::string_view model);

}  // namespace nnex::onnx_format
