// A model against the rules that its bytes tell.
#include "standards/onnx/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "standards/onnx/check_context.h"
#include "standards/onnx/import_function.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

class ModelCheck {
 public:
  explicit ModelCheck(CheckContext& context) : context_(context) {}

  void check(std::string_view message) {
    check_wire(context_, message);
    if (context_.broken.errors()) return context_.broken.stop();
    if (message.size() > INT32_MAX)
      context_.tell(Rule::message_size, {}, fmt::format("the model has {} bytes", message.size()),
                    std::to_string(message.size()), fmt::format("at most {}", INT32_MAX));
    read(message);
    ir_version();
    imports();
    check_properties(context_, properties_, {});
    devices();
    if (!graph_.data()) {
      context_.tell(Rule::graph_missing, {}, "not an ONNX model: it has no graph");
      return context_.broken.stop();
    }
    faces();
    NameScope scope;
    Surroundings around;
    around.opsets = &context_.opsets;
    check_graph(context_, graph_, scope, GraphRole::main, around);
    check_training(context_, training_, graph_, scope);
    check_functions(context_, functions_);
  }

 private:
  void read(std::string_view message) {
    wire::Reader r(message);
    Field f;
    while (r.next(f)) {
      if (f.number == ModelProto::ir_version) has_ir_ = true, context_.ir = f.integer();
      if (f.number == ModelProto::graph) graph_ = f.bytes;
      if (f.number == ModelProto::opset_import) opsets_.push_back(f.bytes);
      if (f.number == ModelProto::metadata_props) properties_.push_back(f.bytes);
      if (f.number == ModelProto::training_info) training_.push_back(f.bytes);
      if (f.number == ModelProto::functions) functions_.push_back(f.bytes);
      if (f.number == ModelProto::configuration) devices_.push_back(f.bytes);
    }
  }

  void ir_version() {
    const int64_t ir = context_.ir;
    if (!has_ir_ || ir < 1)
      context_.tell(Rule::ir_version, {},
                    has_ir_ ? fmt::format("the model has the IR version {}", ir) : "the model has no IR version");
    if (ir <= kNewestIr) return;
    context_.refuse(Rule::ir_known, Code::unsupported, {},
                    fmt::format("the model has IR version {}; nnex knows those up to {}", ir, kNewestIr),
                    std::to_string(ir), fmt::format("at most {}", kNewestIr));
    context_.broken.stop();
  }

  void imports() {
    for (std::string_view m : opsets_) opset(m);
    if (opsets_.empty() && context_.ir >= 3) {
      context_.tell(Rule::opset_missing, {}, "the model imports no opset");
      context_.broken.stop();
    }
    if (!opsets_.empty() && context_.ir > 0 && context_.ir < 3)
      context_.tell(Rule::opset_missing, {},
                    fmt::format("the model imports opsets; IR version {} has none", context_.ir));
    if (opsets_.empty() && context_.ir < 3) context_.opsets[""] = 1;
  }

  void opset(std::string_view message) {
    int64_t version = 0;
    wire::Reader r(message);
    Field f;
    while (r.next(f))
      if (f.number == OperatorSetIdProto::version) version = f.integer();
    const std::string domain = domain_of(field_text(message, OperatorSetIdProto::domain));
    const std::string shown = domain.empty() ? "ai.onnx" : domain;
    const bool standard = is_standard(domain);
    if (version < (standard ? 1 : 0) || version > INT32_MAX) {
      context_.tell(Rule::opset_range, {},
                    fmt::format("opset version {} of the domain '{}' is out of range", version, shown),
                    std::to_string(version));
      return context_.broken.stop();
    }
    if (standard && version > newest_opset(domain)) {
      context_.refuse(Rule::opset_known, Code::unsupported, {},
                      fmt::format("the model imports opset {} of the domain '{}'; nnex knows those up to {}", version,
                                  shown, newest_opset(domain)),
                      std::to_string(version), fmt::format("at most {}", newest_opset(domain)));
      if (domain.empty()) context_.broken.stop();
    }
    const auto [first, fresh] = context_.opsets.emplace(domain, version);
    if (fresh) return;
    if (first->second != version)
      context_.tell(
          Rule::opset_twice, {},
          fmt::format("the opset of domain '{}' is imported twice, as {} and {}", shown, first->second, version));
    else
      context_.tell(Rule::opset_repeated, {}, fmt::format("the opset of domain '{}' is imported twice", shown));
    first->second = std::max(first->second, version);  // as importers have it
  }

  void devices() {
    for (std::string_view m : devices_) {
      const std::string name(field_text(m, DeviceConfigurationProto::name));
      const Site site = Site::of(fmt::format("device configuration '{}'", name));
      context_.needs_ir(11, site, "a device configuration");
      if (name.empty()) context_.tell(Rule::device_name, site, "a device configuration has no name");
      if (!context_.configurations.insert(name).second)
        context_.tell(Rule::device_name, site, fmt::format("device configuration '{}' is given twice", name));
    }
  }

  /// What callers know of the functions, before any node is looked at.
  void faces() {
    for (std::string_view m : functions_) {
      auto parts = function_parts(m);
      if (!parts.ok()) continue;
      FunctionFace face{parts->inputs.size(), parts->outputs.size(), {}};
      face.attributes.insert(parts->attributes.begin(), parts->attributes.end());
      for (std::string_view d : parts->defaults) face.attributes.emplace(field_text(d, AttributeProto::name));
      context_.functions.emplace(parts->key(), std::move(face));
    }
  }

  CheckContext& context_;
  bool has_ir_ = false;
  std::string_view graph_;
  std::vector<std::string_view> opsets_, properties_, training_, functions_, devices_;
};

}  // namespace

void check_structure(std::string_view message, const Source& source, BrokenRules& broken, Findings& findings) {
  CheckContext context{source, broken, findings};
  ModelCheck(context).check(message);
}

std::optional<ir::Graph> uncalled_functions(const ir::Graph& model, Findings& findings) {
  findings.replaced.clear();  // of the values of another graph
  std::vector<const OnnxFunction*> left, roots;
  std::vector<std::string_view> messages;
  for (const auto& [key, f] : model.functions)
    if (const auto* own = onnx_function(f.get()); own && !findings.expanded_functions.count(key)) {
      messages.push_back(own->message());
      const auto parts = function_parts(own->message());
      if (parts.ok() && parts->attributes.empty() && !findings.broken_functions.count(key)) left.push_back(own);
    }
  if (left.empty()) return std::nullopt;
  std::set<std::string> callees;
  for (const auto& [key, called] : function_calls(messages)) callees.insert(called.begin(), called.end());
  for (const OnnxFunction* f : left)
    if (!callees.count(f->key())) roots.push_back(f);
  ir::Graph graph;
  graph.functions = model.functions;
  for (const OnnxFunction* f : roots.empty() ? left : roots) add_call(*f, graph);
  return graph;
}

void add_found(Faults faults, BrokenRules& broken) {
  std::vector<Error> fresh;
  for (Error& e : std::move(faults).take())
    if (!broken.at(e.where())) fresh.push_back(std::move(e));
  for (Error& e : fresh) {
    const std::string where = e.where();
    const std::optional<Rule> rule = e.code() == Code::invalid_model ? std::optional(Rule::operands) : std::nullopt;
    broken.add(where, {rule, std::move(e), {}, {}});
  }
}

std::optional<ir::Graph> read_checked(std::string_view message, Source source, BrokenRules& broken,
                                      const std::shared_ptr<Findings>& findings) {
  check_structure(message, source, broken, *findings);
  if (broken.stopped()) return std::nullopt;
  std::optional<ir::Graph> graph(std::in_place);
  Importer importer(*graph, std::move(source), {});
  importer.go_on(findings);
  findings->faults.check(importer.model(message));
  add_found(std::exchange(findings->faults, Faults(kMaxBroken)), broken);
  return graph;
}

}  // namespace nnex::onnx_format
