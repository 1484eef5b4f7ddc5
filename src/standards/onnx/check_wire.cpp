// Every message of a model, down to its last field: whether its bytes can be read and are of the kinds that onnx.proto
// says.
#include <fmt/format.h>

#include <algorithm>

#include "standards/onnx/check_context.h"
#include "standards/onnx/schema.h"

namespace nnex::onnx_format {
namespace {

using wire::Kind;

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead == 0) return false;
    const size_t more = lead < 0x80                   ? 0
                        : lead >= 0xC2 && lead < 0xE0 ? 1
                        : lead >= 0xE0 && lead < 0xF0 ? 2
                        : lead >= 0xF0 && lead < 0xF5 ? 3
                                                      : 4;
    if (more == 4 || i + more >= text.size()) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return false;
      point = point << 6 | (byte & 0x3Fu);
    }
    const bool longer = (more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10FFFF));
    if (longer || (point >= 0xD800 && point < 0xE000)) return false;
    i += more + 1;
  }
  return true;
}

class WireCheck {
 public:
  explicit WireCheck(CheckContext& context) : context_(context) {}

  void message(std::string_view bytes, MessageKind kind, int depth = 0) {
    constexpr int kDeepest = 256;  // graphs and types in each other; each level is a call of this function
    if (depth > kDeepest) {
      context_.refuse(Rule::nesting, Code::limit, here(), fmt::format("messages are nested deeper than {}", kDeepest));
      return;
    }
    wire::Reader r(bytes);
    wire::Field f;
    std::vector<std::pair<const FieldForm*, size_t>> seen;
    while (r.next(f)) {
      const FieldForm* const known = find_field(kind, f.number);
      if (!known) continue;  // of a later standard
      auto count = std::find_if(seen.begin(), seen.end(), [&](const auto& s) { return s.first == known; });
      if (count == seen.end()) count = seen.insert(count, {known, 0});
      path_.push_back({known, count->second++});
      if (count->second == 2 && depth == 0 && known->number == ModelProto::graph && kind == MessageKind::model)
        context_.tell(Rule::wire, here(), "the graph comes in two parts; nnex reads models whose graph is one");
      field(f, *known, depth);
      path_.pop_back();
    }
    if (!r.ok())
      context_.tell(Rule::wire, here(), (depth == 0 ? "not an ONNX model, or cut off: " : "") + std::string(r.fault()));
  }

 private:
  struct Step {
    const FieldForm* field;
    size_t index;
  };

  static bool fits(Kind kind, Holds holds) {
    switch (holds) {
      case Holds::number:
        return kind == Kind::varint;
      case Holds::real:
        return kind == Kind::fixed32;
      case Holds::numbers:
        return kind == Kind::varint || kind == Kind::bytes;
      case Holds::reals:
        return kind == Kind::fixed32 || kind == Kind::bytes;
      case Holds::doubles:
        return kind == Kind::fixed64 || kind == Kind::bytes;
      default:
        return kind == Kind::bytes;
    }
  }

  void field(const wire::Field& f, const FieldForm& known, int depth) {
    if (!fits(f.kind, known.holds)) {
      context_.tell(Rule::wire, here(), "the field is not of the kind that onnx.proto says");
      return;
    }
    const auto nothing = [](uint64_t) {};
    bool whole = true;
    if (known.holds == Holds::message) message(f.bytes, known.message, depth + 1);
    if (known.holds == Holds::numbers) whole = wire::each_number(f, 0, nothing);
    if (known.holds == Holds::reals) whole = f.bytes.size() % 4 == 0;
    if (known.holds == Holds::doubles) whole = f.bytes.size() % 8 == 0;
    if (!whole) context_.tell(Rule::wire, here(), "its numbers are cut off");
    if (known.holds == Holds::text && !is_utf8(f.bytes))
      context_.tell(Rule::text, here(), "the text is not UTF-8, or has a zero byte in it");
  }

  /// The path in the names of onnx.proto: "graph.node[3].attribute[0].t".
  Site here() const {
    std::string out;
    for (const Step& s : path_) {
      out += fmt::format("{}{}", out.empty() ? "" : ".", s.field->name);
      if (s.field->times == Times::many) out += fmt::format("[{}]", s.index);
    }
    return Site::of(std::move(out));
  }

  CheckContext& context_;
  std::vector<Step> path_;
};

}  // namespace

void check_wire(CheckContext& context, std::string_view model) {
  WireCheck(context).message(model, MessageKind::model);
}

}  // namespace nnex::onnx_format
