#include "standards/onnx/write_wire.h"

#include <cstring>

namespace nnex::wire {
namespace {

void put_varint(std::string& out, uint64_t v) {
  while (v >= 0x80) {
    out += static_cast<char>(v | 0x80);
    v >>= 7;
  }
  out += static_cast<char>(v);
}

std::string tag(FieldNumber field, Kind kind) {
  std::string out;
  put_varint(out, uint64_t{static_cast<uint32_t>(field)} << 3 | static_cast<uint64_t>(kind));
  return out;
}

}  // namespace

std::string& Message::own() {
  if (pieces_.empty() || pieces_.back().borrowed) pieces_.emplace_back();
  return pieces_.back().own;
}

void Message::append(std::string_view bytes) {
  own() += bytes;
  size_ += bytes.size();
}

void Message::head(FieldNumber field, uint64_t length) {
  std::string out = tag(field, Kind::bytes);
  put_varint(out, length);
  append(out);
}

void Message::integer(FieldNumber field, int64_t value) {
  std::string out = tag(field, Kind::varint);
  put_varint(out, static_cast<uint64_t>(value));
  append(out);
}

void Message::real(FieldNumber field, float value) {
  std::string out = tag(field, Kind::fixed32);
  char bits[4];
  std::memcpy(bits, &value, 4);
  append(out.append(bits, 4));
}

void Message::bytes(FieldNumber field, std::string_view value) {
  head(field, value.size());
  append(value);
}

void Message::borrowed(FieldNumber field, std::string_view value) {
  head(field, value.size());
  fields(value);
}

void Message::fields(std::string_view fields) {
  if (fields.empty()) return;
  pieces_.push_back({true, {}, fields});
  size_ += fields.size();
}

void Message::message(FieldNumber field, Message inner) {
  head(field, inner.size_);
  for (Piece& p : inner.pieces_) {
    if (p.borrowed) {
      size_ += p.view.size();
      pieces_.push_back(std::move(p));
    } else {
      append(p.own);
    }
  }
}

void Message::integers(FieldNumber field, std::span<const int64_t> values) {
  if (values.empty()) return;
  std::string packed;
  for (int64_t v : values) put_varint(packed, static_cast<uint64_t>(v));
  bytes(field, packed);
}

void Message::reals(FieldNumber field, std::span<const float> values) {
  if (values.empty()) return;
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

std::string Message::text() const {
  std::string out;
  out.reserve(size_);
  each([&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace nnex::wire
