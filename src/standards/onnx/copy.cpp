// ONNX to ONNX: a model's messages once more. Only what leads to tensors and opsets is looked at.
#include <map>
#include <optional>

#include "base/try.h"
#include "standards/onnx/copy_ways.h"
#include "standards/onnx/import_quirks.h"
#include "standards/onnx/write.h"
#include "standards/onnx/write_external.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Message;

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

/// f(bytes) for every TensorProto below a message.
template <class F>
Status each_tensor(std::string_view bytes, MessageKind part, int depth, F& f) {
  if (depth > kDeepestCopy) return Error(Code::limit, "messages are nested deeper than 256");
  wire::Reader r(bytes);
  for (Field field; r.next(field);) {
    const MessageKind to = leads_to(part, field);
    if (to == MessageKind::count) continue;
    NNEX_TRY(to == MessageKind::tensor ? f(field.bytes) : each_tensor(field.bytes, to, depth + 1, f));
  }
  return r.ok() ? Status() : broken("the model", r.fault());
}

/// The operators of all nodes below a message.
Status add_operators(std::string_view bytes, MessageKind part, int depth, std::set<std::string>& found) {
  if (depth > kDeepestCopy) return Error(Code::limit, "messages are nested deeper than 256");
  wire::Reader r(bytes);
  for (Field field; r.next(field);) {
    if (part == MessageKind::node && field.number == NodeProto::op_type) {
      found.emplace(field.bytes);
      if (const std::string_view further = goes_on_as(field.bytes); !further.empty()) found.emplace(further);
    }
    const FieldForm* form = find_field(part, field.number);
    if (field.kind == wire::Kind::bytes && form && form->holds == Holds::message &&
        form->message != MessageKind::tensor)
      NNEX_TRY(add_operators(field.bytes, form->message, depth + 1, found));
  }
  return r.ok() ? Status() : broken("the model", r.fault());
}

/// Counts the nodes of graphs below a message, by operator. Those of functions are called, not there.
Status count_nodes(std::string_view bytes, MessageKind part, int depth, std::map<std::string, int64_t>& counts) {
  if (depth > kDeepestCopy) return Error(Code::limit, "messages are nested deeper than 256");
  wire::Reader r(bytes);
  for (Field field; r.next(field);) {
    if (part == MessageKind::node && field.number == NodeProto::op_type) ++counts[std::string(field.bytes)];
    const FieldForm* form = find_field(part, field.number);
    if (field.kind == wire::Kind::bytes && form && form->holds == Holds::message &&
        form->message != MessageKind::tensor && form->message != MessageKind::function)
      NNEX_TRY(count_nodes(field.bytes, form->message, depth + 1, counts));
  }
  return r.ok() ? Status() : broken("the model", r.fault());
}

class Copier {
 public:
  Copier(Source source, const WriteOptions& options)
      : source_(std::move(source)), options_(options), external_(options.external) {}

  Result<Written> run(std::string_view model) {
    NNEX_ASSIGN(auto changed, message(model, MessageKind::model, 0));
    if (changed)
      out_.model = std::move(*changed);
    else
      out_.model.fields(model);
    out_.external = std::move(external_.pieces()), out_.files = external_.files();
    if (const MappedFile* file = file_of(source_.owner)) out_.files.insert(file);
    if (!out_.external.empty()) out_.external_name = options_.external;
    out_.file = source_.owner;
    return std::move(out_);
  }

 private:
  using Changed = std::optional<Message>;  ///< Nothing: the bytes stay as they are.

  Result<Changed> message(std::string_view bytes, MessageKind part, int depth) {
    if (depth > kDeepestCopy) return Error(Code::limit, "messages are nested deeper than 256");
    const bool main = part == MessageKind::graph && depth == 1;  // training's are one deeper
    bool rename = main && !options_.name.empty();
    Message out;
    const char* copied = bytes.data();
    wire::Reader r(bytes);
    Field f;
    for (const char* at = r.where(); r.next(f); at = r.where()) {
      if (part == MessageKind::model && f.number == ModelProto::opset_import) opset(f.bytes);
      if (main) {
        out_.nodes += f.number == GraphProto::node;
        out_.initializers += is_one_of(f.number, GraphProto::initializer, GraphProto::sparse_initializer);
      }
      Changed inner;
      if (rename && f.number == GraphProto::name) {
        out.fields(between(copied, at));
        out.bytes(GraphProto::name, options_.name);
        copied = r.where(), rename = false;
        continue;
      }
      const MessageKind to = leads_to(part, f);
      if (to == MessageKind::count) continue;
      if (to == MessageKind::tensor) {
        NNEX_ASSIGN(inner, tensor(f.bytes, part == MessageKind::graph));
      } else {
        NNEX_ASSIGN(inner, message(f.bytes, to, depth + 1));
      }
      if (!inner) continue;
      out.fields(between(copied, at));
      out.message(f.number, std::move(*inner));
      copied = r.where();
    }
    if (!r.ok()) return broken("the model", r.fault());
    if (rename) out.bytes(GraphProto::name, options_.name);
    if (copied == bytes.data() && out.size() == 0) return Changed();
    out.fields(between(copied, bytes.data() + bytes.size()));
    return Changed(std::move(out));
  }

  Result<Changed> tensor(std::string_view bytes, bool initializer) {
    bool elsewhere = false;
    wire::Reader r(bytes);
    for (Field f; r.next(f);) elsewhere |= is_elsewhere(f);
    if (!r.ok()) return broken("a tensor", r.fault());
    if (!elsewhere && !(initializer && !options_.external.empty())) return Changed();
    NNEX_ASSIGN(NamedTensor read, read_tensor(bytes, source_));
    const bool moves = initializer && external_.takes(read.tensor);
    if (!elsewhere && !moves) return Changed();
    Message out;
    wire::Reader fields(bytes);
    const char* at = fields.where();
    for (Field f; fields.next(f); at = fields.where())
      if (!is_data(f.number)) out.fields(between(at, fields.where()));
    if (moves)
      external_.place(read.tensor, out);
    else
      out.borrowed(TensorProto::raw_data,
                   {reinterpret_cast<const char*>(read.tensor.data()), static_cast<size_t>(read.tensor.bytes())});
    out_.kept.push_back(std::move(read.tensor));
    return Changed(std::move(out));
  }

  void opset(std::string_view message) {
    std::string_view domain;
    int64_t version = 0;
    wire::Reader r(message);
    for (Field f; r.next(f);) {
      if (f.number == OperatorSetIdProto::domain) domain = f.bytes;
      if (f.number == OperatorSetIdProto::version) version = f.integer();
    }
    if (domain_of(domain).empty()) out_.opset = version;
  }

  const Source source_;
  const WriteOptions& options_;
  ExternalWriter external_;
  Written out_;
};

}  // namespace

Result<Written> copy_model(std::string_view model, Source source, const WriteOptions& options) {
  return Copier(std::move(source), options).run(model);
}

Result<std::vector<std::string>> operator_names(std::string_view model) {
  std::set<std::string> found;
  NNEX_TRY(add_operators(model, MessageKind::model, 0, found));
  return std::vector<std::string>(found.begin(), found.end());
}

Result<std::map<std::string, int64_t>> node_counts(std::string_view model) {
  std::map<std::string, int64_t> counts;
  NNEX_TRY(count_nodes(model, MessageKind::model, 0, counts));
  return counts;
}

Result<std::vector<std::string>> external_files(std::string_view model) {
  std::set<std::string> found;
  const auto look = [&](std::string_view tensor) -> Status {
    std::string location;
    bool elsewhere = false;
    wire::Reader r(tensor);
    for (Field f; r.next(f);) {
      elsewhere |= is_elsewhere(f);
      if (f.number != TensorProto::external_data) continue;
      std::string_view key, value;
      wire::Reader entry(f.bytes);
      for (Field e; entry.next(e);) (e.number == StringStringEntryProto::key ? key : value) = e.bytes;
      if (key == "location") location = std::string(value);
    }
    if (elsewhere && !location.empty()) found.insert(std::move(location));
    return {};
  };
  NNEX_TRY(each_tensor(model, MessageKind::model, 0, look));
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace nnex::onnx_format
