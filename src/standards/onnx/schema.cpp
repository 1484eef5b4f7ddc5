#include "standards/onnx/schema.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/built.h"

namespace nnex::onnx_format {
namespace {

#define NNEX_MESSAGE(message, name) constexpr FieldForm k##message[] = {
#define NNEX_FIELD(number, field, times, holds) {wire::FieldNumber{number}, #field, Holds::holds, Times::times},
#define NNEX_PART(number, field, times, kind) \
  {wire::FieldNumber{number}, #field, Holds::message, Times::times, MessageKind::kind},
#define NNEX_END \
  }              \
  ;
#include "standards/onnx/schema.def"
#undef NNEX_MESSAGE
#undef NNEX_FIELD
#undef NNEX_PART
#undef NNEX_END

struct MessageForm {
  std::string_view name;
  std::span<const FieldForm> fields;
};
constexpr MessageForm kMessages[] = {
#define NNEX_MESSAGE(message, name) {#name, k##message},
#define NNEX_FIELD(number, field, times, holds)
#define NNEX_PART(number, field, times, kind)
#define NNEX_END
#include "standards/onnx/schema.def"
#undef NNEX_MESSAGE
#undef NNEX_FIELD
#undef NNEX_PART
#undef NNEX_END
};

constexpr bool numbers_ascend() {
  for (const MessageForm& m : kMessages)
    for (size_t i = 1; i < m.fields.size(); ++i)
      if (m.fields[i].number <= m.fields[i - 1].number) return false;
  return true;
}
static_assert(numbers_ascend(), "a field stands twice in a message of schema.def, or not in the order of the numbers");

/// A number of the wire format in front of `bytes`, which it leaves; nothing: they end before, or it has none.
std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

constexpr auto kCount = static_cast<size_t>(MessageKind::count);

/// Which messages lead to tensors: a message does when a field of it holds one that does.
constexpr std::array<bool, kCount> reach_tensors() {
  std::array<bool, kCount> out{};
  out[static_cast<size_t>(MessageKind::tensor)] = true;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < kCount; ++i)
      for (const FieldForm& f : kMessages[i].fields)
        if (!out[i] && f.holds == Holds::message && out[static_cast<size_t>(f.message)]) out[i] = more = true;
  }
  return out;
}
constexpr std::array<bool, kCount> kReachTensors = reach_tensors();

}  // namespace

std::span<const FieldForm> message_fields(MessageKind kind) { return kMessages[static_cast<size_t>(kind)].fields; }

bool begins_model(std::string_view begin) {
  if (!is_built(Format::onnx)) return false;
  constexpr int kFields = 2;  // one may be chance
  for (int fields = 0; fields < kFields; ++fields) {
    const auto tag = take_number(begin);
    const FieldForm* form = tag ? find_field(MessageKind::model, static_cast<wire::FieldNumber>(*tag >> 3)) : nullptr;
    const bool number = form && form->holds == Holds::number;
    if (!form || (*tag & 7) != static_cast<uint64_t>(number ? wire::Kind::varint : wire::Kind::bytes)) return false;
    const auto value = take_number(begin);
    if (!value) return false;
    if (number) continue;
    if (*value > begin.size()) return form->number == ModelProto::graph;  // most of the file
    begin.remove_prefix(*value);
  }
  return true;
}

const FieldForm* find_field(MessageKind kind, wire::FieldNumber number) {
  const auto fields = message_fields(kind);
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldForm& f) { return f.number == number; });
  return found == fields.end() ? nullptr : &*found;
}

std::string_view message_name(MessageKind kind) { return kMessages[static_cast<size_t>(kind)].name; }

bool has_tensors(MessageKind kind) { return kReachTensors[static_cast<size_t>(kind)]; }

}  // namespace nnex::onnx_format
