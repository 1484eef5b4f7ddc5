#pragma once
// The messages of onnx.proto by name.

#include <cstdint>
#include <string_view>

namespace nnex::onnx_format {

enum class MessageKind : uint8_t { model, function, graph, node, attribute, value_info, tensor, type };

/// What onnx.proto calls a field; empty: it does not know the number.
std::string_view field_name(MessageKind kind, uint32_t number);

}  // namespace nnex::onnx_format
