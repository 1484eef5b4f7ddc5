#pragma once
// The protobuf wire format, read field by field from memory: 64-bit lengths, no allocation, no exception.
// Source of the format: Protocol Buffers encoding; the numbers of fields: schema.h.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace nnex::wire {

enum class Kind : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// A field's number in its message. A type of its own, so that numbers have names: those of schema.h.
enum class FieldNumber : uint32_t {};

struct Field {
  FieldNumber number = {};
  Kind kind = {};
  uint64_t bits = 0;       ///< varint, fixed64, fixed32; 0 for bytes.
  std::string_view bytes;  ///< Of kind bytes: a view of the file; else empty.

  int64_t integer() const { return static_cast<int64_t>(bits); }
  float real() const { return __builtin_bit_cast(float, static_cast<uint32_t>(bits)); }
};

/// Walks the fields of one message: `while (r.next(f)) switch (f.number)`; then ask fault().
class Reader {
 public:
  explicit Reader(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  /// The next field; false at the end and at the first fault.
  bool next(Field& f);
  /// What is wrong with the bytes; null when nothing is.
  const char* fault() const { return fault_; }
  bool ok() const { return !fault_; }
  const char* where() const { return at_; }

 private:
  bool varint(uint64_t& value);
  bool fail(const char* what) {
    fault_ = what;
    return false;
  }

  const char* at_;
  const char* end_;
  const char* fault_ = nullptr;
};

/// Calls each(bits) for every number of a repeated numeric field, packed or single. `width` 0: varints; 4, 8: fixed.
/// False: the packed bytes are broken.
template <class F>
bool each_number(const Field& f, int width, F&& each) {
  if (f.kind != Kind::bytes) {
    each(f.bits);
    return true;
  }
  const char* p = f.bytes.data();
  const char* end = p + f.bytes.size();
  if (width) {
    if (f.bytes.size() % static_cast<size_t>(width)) return false;
    for (; p != end; p += width) {
      uint64_t bits = 0;
      std::memcpy(&bits, p, static_cast<size_t>(width));
      each(bits);
    }
    return true;
  }
  while (p != end) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (p == end || shift > 63) return false;
      const auto byte = static_cast<uint8_t>(*p++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    each(value);
  }
  return true;
}

/// How many numbers a repeated numeric field holds, without reading them.
inline size_t count_numbers(const Field& f, int width) {
  if (f.kind != Kind::bytes) return 1;
  if (width) return f.bytes.size() / static_cast<size_t>(width);
  size_t n = 0;
  for (char c : f.bytes) n += static_cast<uint8_t>(c) < 0x80;
  return n;
}

}  // namespace nnex::wire
