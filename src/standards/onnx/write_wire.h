#pragma once
// The protobuf wire format, written: a message is put together from its parts, so that its length is known before the
// first byte is in a file, and tensors are never copied.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "standards/onnx/read_wire.h"

namespace nnex::wire {

/// A message: bytes of its own, and between them views of bytes that others keep alive.
class Message {
 public:
  void integer(FieldNumber field, int64_t value);
  void real(FieldNumber field, float value);
  /// Copied.
  void bytes(FieldNumber field, std::string_view value);
  /// Not copied: whoever owns them keeps them until the message is written.
  void borrowed(FieldNumber field, std::string_view value);
  void message(FieldNumber field, Message inner);
  /// Whole fields, as another message has them. Not copied.
  void fields(std::string_view fields);
  /// One packed field; nothing for an empty list.
  void integers(FieldNumber field, std::span<const int64_t> values);
  void reals(FieldNumber field, std::span<const float> values);

  uint64_t size() const { return size_; }
  /// Its bytes, in order, piece by piece.
  template <class F>
  void each(F f) const {
    for (const Piece& p : pieces_) f(p.borrowed ? p.view : std::string_view(p.own));
  }
  std::string text() const;
  /// Bytes of no field: what is put together is no message then.
  void append(std::string_view bytes);

 private:
  struct Piece {
    bool borrowed = false;
    std::string own;
    std::string_view view;
  };
  std::string& own();
  void head(FieldNumber field, uint64_t length);

  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

}  // namespace nnex::wire
