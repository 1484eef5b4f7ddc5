// A graph against the rules of names: single assignment, order, inputs and outputs, what is described.
#include <fmt/format.h>

#include <algorithm>

#include "standards/onnx/check_context.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

/// The name that a place shows of a node, as importers choose it, and its operator.
struct ShownNode {
  std::string_view name, op;
  bool named = false;
};

ShownNode shown_node(std::string_view message) {
  ShownNode out;
  std::string_view name, result;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == NodeProto::output && !result.data()) result = f.bytes;
    if (f.number == NodeProto::name) name = f.bytes;
    if (f.number == NodeProto::op_type) out.op = f.bytes;
  }
  out.named = !name.empty();
  out.name = out.named ? name : result.data() ? result : out.op;
  return out;
}

class GraphCheck {
 public:
  GraphCheck(CheckContext& context, NameScope& scope, GraphRole role, const Surroundings& around)
      : context_(context), scope_(scope), role_(role), around_(around) {}

  void check(std::string_view message) {
    read(message);
    const Site site = Site::of(around_.prefix.empty() ? "" : around_.prefix.substr(0, around_.prefix.size() - 3));
    if (name_.empty()) context_.tell(Rule::graph_name, site, "a graph has no name");
    check_properties(context_, properties_, site);
    inputs();
    initializers();
    check_nodes(context_, nodes_, scope_, around_);
    outputs();
    infos();
    annotations();
  }

 private:
  void read(std::string_view message) {
    wire::Reader r(message);
    Field f;
    while (r.next(f)) {
      if (f.kind != Kind::bytes) continue;
      if (f.number == GraphProto::node) nodes_.push_back(f.bytes);
      if (f.number == GraphProto::name) name_ = f.bytes;
      if (f.number == GraphProto::initializer)
        initializers_.push_back({f.bytes, field_text(f.bytes, TensorProto::name), false});
      if (f.number == GraphProto::input) inputs_.push_back(f.bytes);
      if (f.number == GraphProto::output) outputs_.push_back(f.bytes);
      if (f.number == GraphProto::value_info) infos_.push_back(f.bytes);
      if (f.number == GraphProto::quantization_annotation) annotations_.push_back(f.bytes);
      if (f.number == GraphProto::sparse_initializer) {
        const std::string_view values = field_text(f.bytes, SparseTensorProto::values);
        initializers_.push_back({f.bytes, field_text(values, TensorProto::name), true});
      }
      if (f.number == GraphProto::metadata_props) properties_.push_back(f.bytes);
    }
  }

  /// "input 'x'", or by its number where it has no name.
  Site site_of(std::string_view kind, std::string_view name, size_t index, std::string_view message) {
    Site site = Site::of(name.empty() ? fmt::format("{}{} {}", around_.prefix, kind, index)
                                      : fmt::format("{}{} '{}'", around_.prefix, kind, name));
    if (!message.empty() && !around_.function && (name.empty() || !around_.prefix.empty()))
      context_.findings.places[message.data()] = site.place;
    return site;
  }

  /// The parts of a value's description that all share; its name.
  std::string_view described(std::string_view message, const Site& site) {
    const std::string_view name = field_text(message, ValueInfoProto::name);
    if (name.empty()) context_.tell(Rule::value_name, site, "it has no name");
    check_properties(context_, fields_of(message, ValueInfoProto::metadata_props), site);
    const bool port = role_ == GraphRole::main;
    const std::string_view type = field_text(message, ValueInfoProto::type);
    if (type.data())
      check_type(context_, type, site, port && !info_);
    else if (port && !info_)
      context_.tell(Rule::type_missing, site, "it has no type");
    return name;
  }

  void hides(std::string_view name, const Site& site) {
    if (scope_.around(name))
      context_.tell(Rule::shadow_port, site, fmt::format("'{}' is a value of a graph around it", name));
  }

  void inputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Site site = site_of("input", field_text(inputs_[i], ValueInfoProto::name), i, inputs_[i]);
      const std::string_view name = described(inputs_[i], site);
      if (name.empty()) continue;
      if (!scope_.names.insert(name).second)
        context_.tell(Rule::input_twice, site, fmt::format("input '{}' is given twice", name));
      hides(name, site);
    }
  }

  void initializers() {
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < initializers_.size(); ++i) {
      const auto& [message, name, sparse] = initializers_[i];
      const Site site = site_of("initializer", name, i, message);
      if (sparse)
        check_sparse_tensor(context_, message, site);
      else
        check_tensor(context_, message, site);
      if (name.empty()) {
        context_.tell(Rule::initializer_name, site, "an initializer has no name");
        continue;
      }
      if (!seen.insert(name).second)
        context_.tell(Rule::initializer_twice, site, fmt::format("initializer '{}' is given twice", name));
      if (role_ == GraphRole::main && context_.ir > 0 && context_.ir <= 3 && !scope_.here(name))
        context_.tell(Rule::initializer_input, site,
                      fmt::format("it is no input; IR version {} needs it there", context_.ir));
      hides(name, site);
    }
    scope_.names.insert(seen.begin(), seen.end());
  }

  void outputs() {
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Site site = site_of("output", field_text(outputs_[i], ValueInfoProto::name), i, outputs_[i]);
      const std::string_view name = described(outputs_[i], site);
      if (name.empty()) continue;
      if (!seen.insert(name).second)
        context_.tell(Rule::output_twice, site, fmt::format("output '{}' is given twice", name));
      if (!scope_.here(name))
        context_.tell(Rule::output_unknown, site,
                      fmt::format("output '{}' of graph '{}' is made by no node in it", name, name_));
    }
  }

  void infos() {
    info_ = true;
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < infos_.size(); ++i) {
      const Site site = site_of("value", field_text(infos_[i], ValueInfoProto::name), i, infos_[i]);
      const std::string_view name = described(infos_[i], site);
      if (name.empty()) continue;
      if (!seen.insert(name).second)
        context_.tell(Rule::value_info_twice, site, fmt::format("value '{}' is described twice", name));
      if (!scope_.here(name))
        context_.tell(Rule::value_info_unknown, site, fmt::format("the graph has no value '{}'", name));
    }
  }

  void annotations() {
    std::unordered_set<std::string_view> parameters;
    for (const Initializer& t : initializers_) parameters.insert(t.name);
    for (size_t i = 0; i < annotations_.size(); ++i) {
      const std::string_view tensor = field_text(annotations_[i], TensorAnnotation::tensor_name);
      const Site site = site_of("quantization annotation", tensor, i, {});
      if (!scope_.here(tensor))
        context_.tell(Rule::annotation_tensor, site, fmt::format("the graph has no value '{}'", tensor));
      const std::vector<std::string_view> named =
          fields_of(annotations_[i], TensorAnnotation::quant_parameter_tensor_names);
      check_properties(context_, named, site);
      for (std::string_view p : named) {
        const std::string_view name = field_text(p, StringStringEntryProto::value);
        if (!parameters.count(name))
          context_.tell(Rule::annotation_tensor, site,
                        fmt::format("its parameter {} is '{}', which is no initializer",
                                    field_text(p, StringStringEntryProto::key), name));
      }
    }
  }

  struct Initializer {
    std::string_view message, name;
    bool sparse;
  };

  CheckContext& context_;
  NameScope& scope_;
  GraphRole role_;
  const Surroundings& around_;
  std::string_view name_;
  std::vector<Initializer> initializers_;
  std::vector<std::string_view> nodes_, inputs_, outputs_, infos_, annotations_, properties_;
  bool info_ = false;  ///< What is described is value_info, no port.
};

/// The names that a node reads and makes, against those of its graph.
void check_names(CheckContext& context, std::string_view message, NameScope& scope, const Site& site) {
  wire::Reader r(message);
  Field f;
  std::vector<std::string_view> made;
  while (r.next(f)) {
    if (f.kind != Kind::bytes || f.bytes.empty()) continue;
    if (f.number == NodeProto::output) made.push_back(f.bytes);
    if (f.number != NodeProto::input || scope.here(f.bytes) || scope.around(f.bytes)) continue;
    if (scope.comes(f.bytes))
      context.tell(Rule::order, site, fmt::format("input '{}' is made by a node behind it", f.bytes));
    else
      context.tell(Rule::input_unknown, site,
                   fmt::format("input '{}' is not made by any node before, nor an input or initializer", f.bytes));
  }
  for (std::string_view name : made) {
    if (!scope.here(name) && scope.around(name))
      context.tell(Rule::shadow, site, fmt::format("value '{}' hides one of a graph around it", name));
    if (!scope.names.insert(name).second)
      context.tell(Rule::value_twice, site, fmt::format("value '{}' is made twice", name));
  }
}

}  // namespace

std::string_view field_text(std::string_view message, wire::FieldNumber number) {
  wire::Reader r(message);
  Field f;
  while (r.next(f))
    if (f.number == number && f.kind == Kind::bytes) return f.bytes;
  return {};
}

std::vector<std::string_view> fields_of(std::string_view message, wire::FieldNumber number) {
  std::vector<std::string_view> out;
  wire::Reader r(message);
  Field f;
  while (r.next(f))
    if (f.number == number && f.kind == Kind::bytes) out.push_back(f.bytes);
  return out;
}

void check_nodes(CheckContext& context, const std::vector<std::string_view>& messages, NameScope& scope,
                 const Surroundings& around) {
  std::unordered_set<std::string_view> shown, doubled, named;
  for (std::string_view m : messages) {
    for (std::string_view name : fields_of(m, NodeProto::output)) scope.later.insert(name);
    const ShownNode node = shown_node(m);
    if (!shown.insert(node.name).second) doubled.insert(node.name);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const ShownNode node = shown_node(messages[i]);
    Site site = Site::of(fmt::format("{}node '{}' ({})", around.prefix, node.name, node.op));
    if (doubled.count(node.name)) site = Site::of(fmt::format("{} number {}", site.place, i));
    if (!around.function && (!around.prefix.empty() || doubled.count(node.name)))
      context.findings.places[messages[i].data()] = site.place;
    if (node.named && !named.insert(node.name).second)
      context.tell(Rule::node_name_twice, site, fmt::format("an earlier node is named '{}' too", node.name));
    check_node(context, messages[i], scope, around, site);
    check_names(context, messages[i], scope, site);
  }
}

void check_graph(CheckContext& context, std::string_view message, NameScope& scope, GraphRole role,
                 const Surroundings& around) {
  GraphCheck(context, scope, role, around).check(message);
}

}  // namespace nnex::onnx_format
