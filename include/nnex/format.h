#pragma once
/// The standards that nnex reads and writes, and C, which it writes.

#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace nnex {

enum class Format : uint8_t {
  nnef,
  onnx,
  webnn,
  cvm,
  c  ///< A C source file with its header: written, never read.
};

/// "NNEF", "ONNX", "WebNN", "CVM", "C".
std::string_view name(Format format);

}  // namespace nnex
#pragma GCC visibility pop
