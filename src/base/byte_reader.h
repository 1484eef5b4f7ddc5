#pragma once
// Little-endian numbers and slices out of bytes that may be hostile.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace nnex {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "nnex is little-endian only");

/// Reads forward through bytes it does not own and never past their end: the first read that would overrun gives zero
/// (or an empty slice), and from then on every read does and ok() is false. So a header can be read whole and checked
/// once.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  /// Bytes read so far.
  size_t position() const { return position_; }
  size_t remaining() const { return ok_ ? bytes_.size() - position_ : 0; }
  bool at_end() const { return remaining() == 0; }

  /// The next number: any integer or floating type, unaligned, little-endian; or an enumeration, which may have a value
  /// that has no name.
  template <class T>
  T number() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    const std::string_view from = bytes(sizeof(T));
    if (ok_) std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }

  /// The next n bytes, a view into the reader's own.
  std::string_view bytes(uint64_t n) {
    if (n > remaining()) {
      ok_ = false;
      return {};
    }
    const std::string_view found = bytes_.substr(position_, static_cast<size_t>(n));
    position_ += static_cast<size_t>(n);
    return found;
  }

  /// What ByteWriter::text() wrote.
  std::string_view text() { return bytes(number<uint32_t>()); }
  /// A number of items that follow, of `least` bytes each at least: one that cannot be true is 0, and ok() is false.
  size_t count(size_t least) {
    const auto n = number<uint32_t>();
    if (n <= remaining() / least) return n;
    ok_ = false;
    return 0;
  }

  /// What was read makes no sense: nothing more is read.
  void fail() { ok_ = false; }

  void skip(uint64_t n) { (void)bytes(n); }

  /// Goes to an absolute position.
  void seek(uint64_t position) {
    if (position > bytes_.size()) {
      ok_ = false;
    } else {
      position_ = static_cast<size_t>(position);
    }
  }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace nnex
