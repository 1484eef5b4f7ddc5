#pragma once
// Names, texts and numbers as ONNX's textual syntax has them.

#include <string>
#include <string_view>

#include "nnex/result.h"
#include "standards/onnx/schema.h"

namespace nnex::onnx_format {

bool is_identifier(std::string_view s);
/// Identifiers with points between them; nothing is one, too.
bool is_qualified(std::string_view s);

std::string quoted(std::string_view s);
/// A name: as it is where it is an identifier that begins no type.
std::string named(std::string_view s);
/// The shortest digits that are read as the same number, with a point where nothing else tells a reader that it is
/// real.
std::string real_text(float x);
/// Whether it is a NaN of other bits than those that the syntax has words for: they are read with their sign alone.
bool has_payload(double x);
bool has_payload(float x);

/// Whether a field of a TensorProto has elements.
bool has_elements(wire::FieldNumber field);
/// The elements of a TensorProto of that type (TensorProto.DataType) between braces; those that has_payload() tells are
/// counted. Error: invalid_model (numbers that are cut off).
Status print_elements(std::string_view message, int64_t type, std::string& out, int64_t& payloads);

}  // namespace nnex::onnx_format
