#pragma once
// SHA-256 (FIPS 180-4): names bytes, so that two machines can compare what they computed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nnex {

// nnex/elements.h has sha256() of bytes that lie together.

/// Takes bytes in any pieces; text() ends it.
class Sha256 {
 public:
  Sha256();
  void add(const void* bytes, size_t n);
  void add(std::string_view bytes) { add(bytes.data(), bytes.size()); }
  /// The digest as 64 hexadecimal letters. Nothing may be added afterwards.
  std::string text();

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_ = {};
  uint64_t length_ = 0;  ///< Bytes so far.
};

}  // namespace nnex
