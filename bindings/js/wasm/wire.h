#pragma once
// What crosses between JavaScript and the module: small streams of bytes in the heap, little-endian, without padding.
// packages/nnex/src/wasm/wire.ts is the other side.
//
//     text      u32 length, UTF-8
//     value     u8 kind, then: number f64; bigint text of digits; text; operand and tensor u32 address; buffer u8 what
//     it is
//               (the order of BufferKind), u32 address, u32 length;
//               list u32 count, values; numbers u32 count, f64s (a list of them); dictionary u32 count, (text, value)s
//     descriptor  text type, u32 rank, u32 extents
//               (replies alone) object: (u8 1, text, value)s, u8 0
//     reply     u32 length of what follows; u8 0, then what was asked; or u8 1, text name, text message (WebNN's
//     errors); or
//               u8 2, text code, text where, text message, text of all (errors of models)

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "nnex/webnn_call.h"

namespace nnex::wasm {

enum class Kind : uint8_t {
  undefined,
  null,
  no,
  yes,
  number,
  bigint,
  text,
  operand,
  tensor,
  buffer,
  list,
  numbers,
  dictionary,
  object
};

/// Reads what JavaScript wrote, which is trusted: it is a part of this program.
class Reader {
 public:
  Reader(const uint8_t* at) : at_(at) {}  // NOLINT: implicit on purpose

  template <class T>
  T number() {
    T v;
    std::memcpy(&v, at_, sizeof v);
    at_ += sizeof v;
    return v;
  }
  uint8_t u8() { return number<uint8_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  std::string_view text();
  template <class T>
  T* address() {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(u32()));
  }
  /// The object at an address; an empty one at 0.
  template <class T>
  T copied() {
    const T* object = address<const T>();
    return object ? *object : T();
  }
  ml::BufferSource buffer();
  ml::OperandDescriptor descriptor();
  ml::idl::Value value();
  /// u32 count, values.
  std::vector<ml::idl::Value> values();

 private:
  const uint8_t* at_;
};

/// What an export gives back. There is one: JavaScript reads it before it calls again.
class Reply {
 public:
  static Reply& fresh();
  const uint8_t* done();

  void u8(uint8_t v) { put(&v, sizeof v); }
  void u32(uint32_t v) { put(&v, sizeof v); }
  void f64(double v) { put(&v, sizeof v); }
  void kind(Kind v) { u8(static_cast<uint8_t>(v)); }
  void address(const void* p) { u32(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p))); }
  void text(std::string_view s) {
    u32(static_cast<uint32_t>(s.size()));
    put(s.data(), s.size());
  }
  /// Type, shape.
  template <class Descriptor>
  void descriptor(const Descriptor& d) {
    text(name(d.dataType));
    shape(d.shape);
  }
  void shape(const std::vector<uint32_t>& extents) {
    u32(static_cast<uint32_t>(extents.size()));
    for (uint32_t e : extents) u32(e);
  }
  /// Begins an answer, or is the error.
  void good() { u8(0); }
  void bad(std::string_view error, std::string_view message);
  void bad(const ml::Error& e) { bad(name(e.kind), e.message); }
  void bad(const Error& e);

 private:
  void put(const void* from, size_t size) { bytes_.append(static_cast<const char*>(from), size); }
  std::string bytes_;
};

}  // namespace nnex::wasm

/// A function that JavaScript calls.
#define NNEX_EXPORT extern "C" __attribute__((used, visibility("default")))
