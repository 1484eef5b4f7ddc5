// A NodeProto once more, with other names.
#include "standards/onnx/check_context.h"
#include "standards/onnx/own_nodes.h"

namespace nnex::onnx_format {
namespace {

/// Copies what lies in a node's blocks. A name that a block gives to something of its own hides the one around it.
class BlockCopy {
 public:
  explicit BlockCopy(const NodeWords& words) : words_(words) {}

  wire::Message attribute(std::string_view message) {
    wire::Message out;
    wire::Reader r(message);
    const char* at = r.where();
    for (wire::Field f; r.next(f); at = r.where()) {
      if (is_one_of(f.number, AttributeProto::g, AttributeProto::graphs))
        out.message(f.number, graph(f.bytes));
      else if (words_.texts || f.number != AttributeProto::doc_string)
        out.fields({at, static_cast<size_t>(r.where() - at)});
    }
    return out;
  }

 private:
  wire::Message graph(std::string_view message) {
    const auto outside = hidden_;
    wire::Reader first(message);
    for (wire::Field f; first.next(f);) {
      if (f.number == GraphProto::input) hidden_.insert(field_text(f.bytes, ValueInfoProto::name));
      if (f.number == GraphProto::initializer) hidden_.insert(field_text(f.bytes, TensorProto::name));
      if (f.number != GraphProto::node) continue;
      wire::Reader node(f.bytes);
      for (wire::Field out; node.next(out);)
        if (out.number == NodeProto::output) hidden_.insert(out.bytes);
    }
    wire::Message out;
    wire::Reader r(message);
    const char* at = r.where();
    for (wire::Field f; r.next(f); at = r.where()) {
      if (f.number == GraphProto::node)
        out.message(f.number, node(f.bytes));
      else if (f.number == GraphProto::output && renamed(field_text(f.bytes, ValueInfoProto::name)))
        out.message(f.number, value(f.bytes));
      else if (words_.texts ||
               !is_one_of(f.number, GraphProto::doc_string, GraphProto::metadata_props, GraphProto::value_info))
        out.fields({at, static_cast<size_t>(r.where() - at)});
    }
    hidden_ = outside;
    return out;
  }

  wire::Message node(std::string_view message) {
    wire::Message out;
    wire::Reader r(message);
    const char* at = r.where();
    for (wire::Field f; r.next(f); at = r.where()) {
      if (f.number == NodeProto::input)
        out.bytes(f.number, renamed(f.bytes) ? std::string_view(*renamed(f.bytes)) : f.bytes);
      else if (f.number == NodeProto::attribute)
        out.message(f.number, attribute(f.bytes));
      else if (f.number != NodeProto::device_configurations &&
               (words_.texts || !is_one_of(f.number, NodeProto::doc_string, NodeProto::metadata_props)))
        out.fields({at, static_cast<size_t>(r.where() - at)});
    }
    return out;
  }

  wire::Message value(std::string_view message) {
    wire::Message out;
    wire::Reader r(message);
    const char* at = r.where();
    for (wire::Field f; r.next(f); at = r.where())
      if (f.number == ValueInfoProto::name)
        out.bytes(f.number, *renamed(f.bytes));
      else
        out.fields({at, static_cast<size_t>(r.where() - at)});
    return out;
  }

  /// The new name of a value around the block; null: it has its old one, or is none.
  const std::string* renamed(std::string_view name) const {
    const auto it = hidden_.count(name) ? words_.captured.end() : words_.captured.find(std::string(name));
    return it == words_.captured.end() ? nullptr : &it->second;
  }

  const NodeWords& words_;
  std::set<std::string_view> hidden_;
};

}  // namespace

wire::Message copy_node(std::string_view message, const NodeWords& words) {
  wire::Message out;
  size_t in = 0, made = 0;
  wire::Reader r(message);
  const char* at = r.where();
  for (wire::Field f; r.next(f); at = r.where()) {
    if (f.number == NodeProto::input)
      out.bytes(f.number, words.in[in++]);
    else if (f.number == NodeProto::output)
      out.bytes(f.number, words.out[made++]);
    else if (f.number == NodeProto::attribute)
      out.message(f.number, BlockCopy(words).attribute(f.bytes));
    else if ((f.number != NodeProto::name || words.name) && (f.number != NodeProto::doc_string || words.doc) &&
             (f.number != NodeProto::metadata_props || words.texts) && f.number != NodeProto::device_configurations)
      out.fields({at, static_cast<size_t>(r.where() - at)});
  }
  return out;
}

}  // namespace nnex::onnx_format
