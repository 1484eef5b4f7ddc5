// What a model's messages hold that a graph has no place for: those who change a model are told what goes.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "standards/onnx/copy_ways.h"
#include "standards/onnx/import.h"
#include "standards/onnx/write.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

/// A field that no graph holds, in words; "{}" is how often it is there.
struct Beside {
  MessageKind in;
  wire::FieldNumber field;
  std::string_view words;
};
constexpr Beside kBeside[] = {
    {MessageKind::model, ModelProto::training_info, "{} entries of training information"},
    {MessageKind::model, ModelProto::configuration, "{} device configurations"},
    {MessageKind::graph, GraphProto::doc_string, "documentation of {} graphs inside"},
    {MessageKind::graph, GraphProto::quantization_annotation, "quantization annotations of {} tensors"},
    {MessageKind::graph, GraphProto::metadata_props, "{} properties of graphs"},
    {MessageKind::node, NodeProto::metadata_props, "{} properties of nodes"},
    {MessageKind::node, NodeProto::device_configurations, "{} device annotations of nodes"},
    {MessageKind::attribute, AttributeProto::doc_string, "documentation of {} attributes"},
    {MessageKind::value_info, ValueInfoProto::metadata_props, "{} properties of values"},
    {MessageKind::type, TypeProto::denotation, "denotations of {} types"},
    {MessageKind::dimension, DimensionProto::denotation, "denotations of {} extents"},
    {MessageKind::tensor, TensorProto::doc_string, "documentation of {} tensors"},
    {MessageKind::tensor, TensorProto::metadata_props, "{} properties of tensors"}};

/// The message that a field holds, where such fields may lie below it: where tensors do, and what describes values.
MessageKind goes_to(MessageKind in, const Field& f) {
  using K = MessageKind;
  constexpr K kOfTypes[] = {K::value_info, K::type, K::tensor_type, K::element, K::map_type, K::shape, K::dimension};
  const FieldForm* const known = f.kind == wire::Kind::bytes ? find_field(in, f.number) : nullptr;
  const bool of_type =
      known && std::find(std::begin(kOfTypes), std::end(kOfTypes), known->message) != std::end(kOfTypes);
  return of_type ? known->message : leads_to(in, f);
}

/// Whether a type may say what it denotes: the byte with which such a field begins is there.
bool may_denote(std::string_view type) {
  const auto tag = [](wire::FieldNumber n) {
    return static_cast<char>(static_cast<uint32_t>(n) << 3 | static_cast<uint32_t>(wire::Kind::bytes));
  };
  constexpr auto kNone = std::string_view::npos;
  return type.find(tag(TypeProto::denotation)) != kNone || type.find(tag(DimensionProto::denotation)) != kNone;
}

class BesideFinder {
 public:
  BesideFinder() {
    for (size_t kind = 0; kind < std::size(ordinary_); ++kind)
      for (const FieldForm& f : message_fields(static_cast<MessageKind>(kind))) {
        ordinary_[kind] |= bit(f.number);
        if (f.holds != Holds::message) flat_[kind] |= bit(f.number);
      }
    for (const Beside& b : kBeside) ordinary_[static_cast<size_t>(b.in)] &= ~bit(b.field);
  }

  void message(std::string_view bytes, MessageKind part, int depth) {
    wire::Reader r(bytes);
    for (Field f; depth <= kDeepestCopy && r.next(f);) {
      const bool held = part == MessageKind::graph && f.number == GraphProto::doc_string && depth == kMainGraph;
      if (!held && !(ordinary_[static_cast<size_t>(part)] & bit(f.number))) field(f, part);
      if (flat_[static_cast<size_t>(part)] & bit(f.number)) continue;
      // Functions go as they are; of training all is told by its one line.
      const MessageKind to = goes_to(part, f);
      if (to == MessageKind::type && !may_denote(f.bytes)) continue;
      if (to != MessageKind::count && to != MessageKind::function && to != MessageKind::training)
        message(f.bytes, to, depth + 1);
    }
  }

  std::vector<std::string> words() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < std::size(kBeside); ++i)
      if (counts_[i] > 0) out.push_back(fmt::format(fmt::runtime(kBeside[i].words), counts_[i]));
    for (const auto& [what, count] : unknown_)
      out.push_back(fmt::format("{} fields of number {} in a {}, which this version does not know", count,
                                static_cast<uint32_t>(what.second), message_name(what.first)));
    return out;
  }

 private:
  static constexpr int kMainGraph = 1;  ///< Its depth: the model's own is 0.

  static uint64_t bit(wire::FieldNumber n) {
    return static_cast<uint32_t>(n) < 64 ? uint64_t{1} << static_cast<uint32_t>(n) : 0;
  }

  void field(const Field& f, MessageKind part) {
    if (!find_field(part, f.number)) ++unknown_[{part, f.number}];
    for (size_t i = 0; i < std::size(kBeside); ++i) {
      const bool empty = f.kind == wire::Kind::bytes && f.bytes.empty();
      counts_[i] += kBeside[i].in == part && kBeside[i].field == f.number && !empty;
    }
  }

  uint64_t ordinary_[static_cast<size_t>(MessageKind::count)] = {};  ///< The numbers of fields that a graph holds.
  uint64_t flat_[static_cast<size_t>(MessageKind::count)] = {};      ///< Those that hold no message.
  int64_t counts_[std::size(kBeside)] = {};
  std::map<std::pair<MessageKind, wire::FieldNumber>, int64_t> unknown_;
};

}  // namespace

namespace {

/// The first field of that number; empty: none.
std::string_view part_of(std::string_view message, wire::FieldNumber number) {
  wire::Reader r(message);
  for (Field f; r.next(f);)
    if (f.number == number && f.kind == wire::Kind::bytes) return f.bytes;
  return {};
}

constexpr size_t kShownDefaults = 3;

/// Before IR version 4 every initializer had to be an input.
bool inputs_are_chosen(std::string_view model) {
  constexpr int64_t kFree = 4;
  wire::Reader r(model);
  for (Field f; r.next(f);)
    if (f.number == ModelProto::ir_version) return f.integer() >= kFree;
  return false;
}

}  // namespace

Result<std::vector<std::string>> default_inputs(std::string_view model) {
  if (!inputs_are_chosen(model)) return std::vector<std::string>();
  const std::string_view graph = part_of(model, ModelProto::graph);
  std::set<std::string_view> held;
  std::vector<std::string> out;
  wire::Reader initializers(graph);
  for (Field f; initializers.next(f);) {
    if (f.kind != wire::Kind::bytes) continue;
    if (f.number == GraphProto::initializer) held.insert(part_of(f.bytes, TensorProto::name));
    if (f.number == GraphProto::sparse_initializer)
      held.insert(part_of(part_of(f.bytes, SparseTensorProto::values), TensorProto::name));
  }
  wire::Reader inputs(graph);
  for (Field f; inputs.next(f);)
    if (f.number == GraphProto::input && f.kind == wire::Kind::bytes)
      if (const std::string_view name = part_of(f.bytes, ValueInfoProto::name); held.count(name))
        out.emplace_back(name);
  return inputs.ok() ? Result(std::move(out)) : broken("the graph", inputs.fault());
}

std::vector<std::string> beside_network(std::string_view model) {
  BesideFinder finder;
  finder.message(model, MessageKind::model, 0);
  std::vector<std::string> out = finder.words();
  const auto inputs = default_inputs(model);
  if (!inputs.ok()) return out;
  if (const size_t n = inputs->size(); n > kShownDefaults)  // all weights, as exporters of 2019 wrote them
    out.push_back(fmt::format("{} inputs, '{}' the first, as their defaults are constants", n, (*inputs)[0]));
  else
    for (const std::string& name : *inputs)
      out.push_back(fmt::format("input '{}', as its default is a constant", name));
  return out;
}

}  // namespace nnex::onnx_format
