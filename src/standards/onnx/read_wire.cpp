#include "standards/onnx/read_wire.h"

namespace nnex::wire {

bool Reader::varint(uint64_t& value) {
  if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return value = static_cast<uint8_t>(*at_++), true;  // most are
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) return fail("a number is cut off");
    const auto byte = static_cast<uint8_t>(*at_++);
    if (shift == 63 && byte > 1) return fail("a number has more than 64 bits");
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return fail("a number has more than 10 bytes");
}

bool Reader::next(Field& f) {
  if (fault_ || at_ == end_) return false;
  uint64_t tag = 0;
  if (!varint(tag)) return false;
  if (tag >> 35 || tag >> 3 == 0) return fail("a field number is out of range");
  f.number = static_cast<FieldNumber>(tag >> 3);
  f.kind = static_cast<Kind>(tag & 7);
  f.bits = 0;
  f.bytes = {};
  const auto left = static_cast<uint64_t>(end_ - at_);
  switch (f.kind) {
    case Kind::varint:
      return varint(f.bits);
    case Kind::fixed64:
    case Kind::fixed32: {
      const size_t width = f.kind == Kind::fixed64 ? 8 : 4;
      if (left < width) return fail("a number is cut off");
      std::memcpy(&f.bits, at_, width);
      at_ += width;
      return true;
    }
    case Kind::bytes: {
      uint64_t size = 0;
      if (!varint(size)) return false;
      if (size > static_cast<uint64_t>(end_ - at_)) return fail("a length runs past the end of the message");
      f.bytes = {at_, static_cast<size_t>(size)};
      at_ += size;
      return true;
    }
  }
  return fail("a field has an unknown kind");
}

}  // namespace nnex::wire
