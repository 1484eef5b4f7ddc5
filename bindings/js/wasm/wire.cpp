#include "wire.h"

#include "../remedies.h"

namespace nnex::wasm {
std::string_view Reader::text() {
  const uint32_t size = u32();
  const std::string_view s(reinterpret_cast<const char*>(at_), size);
  at_ += size;
  return s;
}

ml::BufferSource Reader::buffer() {
  const ml::BufferKind kind{u8()};
  const auto* bytes = address<const std::byte>();
  return {kind, std::span(bytes, u32())};
}

ml::OperandDescriptor Reader::descriptor() {
  ml::OperandDescriptor d;
  d.dataType = *ml::data_type_named(text());
  d.shape.resize(u32());
  for (uint32_t& extent : d.shape) extent = u32();
  return d;
}

std::vector<ml::idl::Value> Reader::values() {
  std::vector<ml::idl::Value> all(u32());
  for (ml::idl::Value& v : all) v = value();
  return all;
}

ml::idl::Value Reader::value() {
  switch (Kind{u8()}) {
    case Kind::undefined:
      return {};
    case Kind::null:
      return ml::idl::Null{};
    case Kind::no:
      return false;
    case Kind::yes:
      return true;
    case Kind::number:
      return number<double>();
    case Kind::bigint:
      return *ml::idl::big_int_of(text());
    case Kind::text:
      return std::string(text());
    case Kind::operand:
      return copied<ml::Operand>();
    case Kind::tensor:
      return copied<ml::Tensor>();
    case Kind::buffer:
      return ml::idl::View{buffer(), nullptr};
    case Kind::list:
      return values();
    case Kind::numbers: {
      ml::idl::Sequence all(u32());
      for (ml::idl::Value& v : all) v = number<double>();
      return all;
    }
    case Kind::dictionary: {
      ml::idl::Dictionary all(u32());
      for (auto& [key, member] : all) {
        key = text();
        member = value();
      }
      return all;
    }
    case Kind::object:
      break;
  }
  __builtin_trap();
}

Reply& Reply::fresh() {
  static Reply reply;
  reply.bytes_.assign(sizeof(uint32_t), '\0');
  return reply;
}

const uint8_t* Reply::done() {
  const auto size = static_cast<uint32_t>(bytes_.size() - sizeof(uint32_t));
  std::memcpy(bytes_.data(), &size, sizeof size);
  return reinterpret_cast<const uint8_t*>(bytes_.data());
}

void Reply::bad(std::string_view error, std::string_view message) {
  u8(1);
  text(error);
  text(message);
}

void Reply::bad(const Error& e) {
  u8(2);
  text(name(e.code()));
  text(e.where());
  text(e.message());
  u32(static_cast<uint32_t>(e.tasks().size()));
  for (const std::string& task : e.tasks()) text(task);
  u32(static_cast<uint32_t>(e.remedies().size()));
  for (const Remedy& remedy : e.remedies()) {
    const Remedy r = js::in_javascript(remedy);
    text(r.option);
    text(r.value);
    text(r.effect);
  }
}

}  // namespace nnex::wasm
