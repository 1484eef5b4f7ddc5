#include "standards/onnx/schema.h"

#include <algorithm>
#include <array>

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

const FieldForm* find_field(MessageKind kind, wire::FieldNumber number) {
  const auto fields = message_fields(kind);
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldForm& f) { return f.number == number; });
  return found == fields.end() ? nullptr : &*found;
}

std::string_view message_name(MessageKind kind) { return kMessages[static_cast<size_t>(kind)].name; }

bool has_tensors(MessageKind kind) { return kReachTensors[static_cast<size_t>(kind)]; }

}  // namespace nnex::onnx_format
