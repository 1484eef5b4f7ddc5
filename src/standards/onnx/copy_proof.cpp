// Whether a copy of a model says the same: field by field, and of tensors byte by byte wherever these lie.

#include <cstring>

#include "base/failure.h"
#include "base/try.h"
#include "standards/onnx/copy_ways.h"
#include "standards/onnx/import.h"
#include "standards/onnx/write.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

constexpr size_t kPiece = size_t{32} << 20;  ///< So much of two mapped files is in memory at once.

bool same_field(const Field& a, const Field& b) {
  return a.number == b.number && a.kind == b.kind && a.bits == b.bits && a.bytes == b.bytes;
}

void release(const MappedFile* file, std::string_view piece) {
  if (file) file->release_pages(static_cast<uint64_t>(piece.data() - file->bytes().data()), piece.size());
}

std::string_view bytes_of(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())};
}

bool same_numbers(const Tensor& x, const Tensor& y) {
  std::string_view a = bytes_of(x), b = bytes_of(y);
  const MappedFile *of_a = file_of(x.owner()), *of_b = file_of(y.owner());
  while (!a.empty()) {
    const std::string_view p = a.substr(0, kPiece), q = b.substr(0, kPiece);
    if (p != q) return false;
    release(of_a, p), release(of_b, q);
    a.remove_prefix(p.size()), b.remove_prefix(q.size());
  }
  return true;
}

class SideBySide {
 public:
  SideBySide(const Source& a, const Source& b, const std::string& name) : a_(a), b_(b), name_(name) {}

  Status message(std::string_view a, std::string_view b, MessageKind part, int depth) {
    if (depth > kDeepestCopy) return Error(Code::limit, "messages are nested deeper than 256");
    const bool main = part == MessageKind::graph && depth == 1;
    bool renamed = !main || name_.empty();
    wire::Reader r(a), s(b);
    Field f, g;
    while (r.next(f)) {
      if (!s.next(g)) return differs(part, f.number, "it is missing");
      if (main && f.number == GraphProto::name && !renamed) {
        renamed = true;
        if (g.number != GraphProto::name || g.bytes != name_) return differs(part, g.number, "it is another name");
        continue;
      }
      NNEX_TRY(field(f, g, part, depth));
    }
    if (!renamed && (!s.next(g) || g.number != GraphProto::name || g.bytes != name_))
      return differs(part, GraphProto::name, "it is another name");
    if (s.next(g)) return differs(part, g.number, "it was added");
    if (!r.ok() || !s.ok()) return broken("the model", r.ok() ? s.fault() : r.fault());
    return {};
  }

 private:
  Status field(const Field& f, const Field& g, MessageKind part, int depth) {
    const MessageKind to = leads_to(part, f);
    if (to == MessageKind::count)
      return same_field(f, g) ? Status() : differs(part, f.number, "its content is another");
    if (g.number != f.number || g.kind != f.kind) return differs(part, f.number, "another field stands in its place");
    if (to != MessageKind::tensor) return message(f.bytes, g.bytes, to, depth + 1);
    return tensor(f.bytes, g.bytes);
  }

  Status tensor(std::string_view a, std::string_view b) {
    wire::Reader r(a), s(b);
    Field f, g;
    for (bool more = next_about(r, f); more; more = next_about(r, f))
      if (!next_about(s, g) || !same_field(f, g))
        return differs(MessageKind::tensor, f.number, "its content is another");
    if (next_about(s, g)) return differs(MessageKind::tensor, g.number, "it was added");
    NNEX_ASSIGN(const NamedTensor x, read_tensor(a, a_));
    NNEX_ASSIGN(const NamedTensor y, read_tensor(b, b_));
    const bool alike = x.tensor.dtype() == y.tensor.dtype() && x.tensor.shape() == y.tensor.shape();
    const bool same = alike && (x.tensor.dtype() == DType::str ? a == b : same_numbers(x.tensor, y.tensor));
    return same ? Status() : failure(Code::internal, "the copy's tensor '{}' has other numbers", x.name);
  }

  /// The next field of a tensor that is not of its data.
  static bool next_about(wire::Reader& r, Field& f) {
    while (r.next(f))
      if (!is_data(f.number)) return true;
    return false;
  }

  static Error differs(MessageKind part, wire::FieldNumber field, std::string_view how) {
    const FieldForm* const known = find_field(part, field);
    return failure(Code::internal, "the copy's {} of a {} is not the model's: {}",
                   known ? known->name : "unknown field", message_name(part), how);
  }

  const Source &a_, &b_;
  const std::string& name_;
};

}  // namespace

Status same_model(std::string_view model, const Source& source, std::string_view copy, const Source& of_copy,
                  const std::string& name) {
  return SideBySide(source, of_copy, name).message(model, copy, MessageKind::model, 0);
}

}  // namespace nnex::onnx_format
