#pragma once
// Little-endian numbers and texts as bytes, which a ByteReader reads again.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace nnex {

class ByteWriter {
 public:
  /// Any integer, enumeration or floating type.
  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  /// A count of 32 bits, then the bytes: ByteReader::text() reads them.
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace nnex
