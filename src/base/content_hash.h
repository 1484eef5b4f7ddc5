#pragma once
// Names bytes so that accidents are found: a damaged file, a file of another content. Whoever wants to can make bytes
// of the same name; SHA-256 (base/sha256.h) stands against that, at a twentieth of the speed.

#include <cstdint>
#include <string>
#include <string_view>

namespace nnex {

struct ContentHash {
  uint64_t low = 0, high = 0;
  friend bool operator==(const ContentHash& a, const ContentHash& b) { return a.low == b.low && a.high == b.high; }
  /// 32 hexadecimal letters.
  std::string text() const;
};

/// XXH3 of 128 bits.
ContentHash content_hash(std::string_view bytes);

}  // namespace nnex
