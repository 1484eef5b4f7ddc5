#pragma once
/// The standards that nnex reads and writes.

#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace nnex {

enum class Format : uint8_t { nnef, onnx, webnn, cvm };

/// "NNEF", "ONNX", "WebNN", "CVM".
std::string_view name(Format format);

}  // namespace nnex
#pragma GCC visibility pop
