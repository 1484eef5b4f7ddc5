// Rules of a model's structure that its bytes alone tell.
#include "standards/onnx/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "standards/onnx/check_node.h"
#include "standards/onnx/import_function.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

constexpr int kDeepest = 16;  ///< Importers refuse what is nested deeper.

/// What is missing in a TypeProto of the main graph's inputs and outputs; null: nothing.
const char* missing_in_type(std::string_view message) {
  constexpr uint32_t kTensor = 1, kDenotation = 6, kOpaque = 7, kSparse = 8;
  bool any = false;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes || f.number == kDenotation) continue;
    any = true;
    if (f.number == kOpaque) continue;
    bool has_element = false, has_shape = f.number != kTensor && f.number != kSparse;
    wire::Reader inner(f.bytes);
    Field g;
    while (inner.next(g)) {
      has_element |= g.number == 1 && (g.kind == Kind::bytes || g.integer() != 0);
      has_shape |= g.number == 2;
    }
    if (!has_element) return "element type";
    if (!has_shape) return "shape";
  }
  return any ? nullptr : "type";
}

class Structure {
 public:
  explicit Structure(Faults& faults) : faults_(faults) {}

  void model(std::string_view message) {
    std::vector<std::string_view> graphs, functions, opsets, properties;
    bool has_ir = false;
    wire::Reader r(message);
    Field f;
    while (r.next(f)) {
      if (f.number == 1) has_ir = true, ir_ = f.integer();
      if (f.kind != Kind::bytes) continue;
      if (f.number == 7) graphs.push_back(f.bytes);
      if (f.number == 8) opsets.push_back(f.bytes);
      if (f.number == 14) properties.push_back(f.bytes);
      if (f.number == 25) functions.push_back(f.bytes);
    }
    if (!r.ok() || graphs.empty()) return;  // the importer tells
    if (!has_ir || ir_ < 1) fault({}, "the model has no IR version");
    imports(opsets);
    std::set<std::string> seen;
    for (std::string_view m : properties)
      if (auto pair = read_pair(m); pair.ok() && !seen.insert(pair->first).second)
        fault({}, fmt::format("property '{}' of the model is given twice", pair->first));
    for (std::string_view m : functions)
      if (auto parts = function_parts(m); parts.ok()) known_.functions.insert(key_of(*parts));
    Scope scope;
    graph(graphs.back(), scope, true, 0, known_);
    for (std::string_view m : functions) function(m);
    cycles(functions);
  }

 private:
  void fault(const std::string& place, std::string message) {
    Error e(Code::invalid_model, std::move(message));
    faults_.add(place.empty() ? std::move(e) : std::move(e).at(place));
  }

  void imports(const std::vector<std::string_view>& messages) {
    for (std::string_view m : messages) {
      auto opset = read_opset(m);
      if (!opset.ok()) continue;
      const auto [first, fresh] = known_.opsets.emplace(domain_of(opset->first), opset->second);
      if (!fresh && first->second != opset->second)  // exporters say the same one twice
        fault({}, fmt::format("the opset of domain '{}' is imported twice, as {} and {}", opset->first, first->second,
                              opset->second));
    }
    if (messages.empty() && ir_ >= 3) fault({}, "the model imports no opset");
    if (!messages.empty() && ir_ > 0 && ir_ < 3)
      fault({}, fmt::format("the model imports opsets; IR version {} has none", ir_));
    if (messages.empty()) known_.opsets[""] = 1;
  }

  // ---- Graphs

  struct Parts {
    std::string name;
    std::vector<std::string_view> nodes, inputs, outputs, initializers;
  };

  void graph(std::string_view message, Scope& scope, bool main, int depth, const Known& known) {
    if (depth > kDeepest) return;
    Parts p;
    wire::Reader r(message);
    Field f;
    while (r.next(f)) {
      if (f.kind != Kind::bytes) continue;
      if (f.number == 1) p.nodes.push_back(f.bytes);
      if (f.number == 2) p.name = std::string(f.bytes);
      if (f.number == 5) p.initializers.push_back(field_text(f.bytes, 8));
      if (f.number == 15) p.initializers.push_back(field_text(field_text(f.bytes, 1), 8));
      if (f.number == 11) p.inputs.push_back(f.bytes);
      if (f.number == 12) p.outputs.push_back(f.bytes);
      if (f.number == 13 && field_text(f.bytes, 1).empty())
        fault({}, fmt::format("{}a value with a type has no name", known.prefix));
    }
    if (!r.ok()) return;
    if (p.name.empty()) fault({}, fmt::format("{}a graph has no name", known.prefix));
    for (std::string_view m : p.inputs) scope.names.insert(std::string(field_text(m, 1)));
    for (std::string_view name : p.initializers)
      if (!scope.names.count(std::string(name)) && ir_ > 0 && ir_ <= 3 && main)
        fault({}, fmt::format("initializer '{}' is no input; IR version {} needs it there", name, ir_));
    for (std::string_view name : p.initializers) scope.names.insert(std::string(name));
    if (main) main_types(p);
    for (std::string_view m : p.nodes) node(m, scope, depth, known);
    for (std::string_view m : p.outputs) {
      const std::string name(field_text(m, 1));
      if (!scope.names.count(name) && (depth > 0 || !known.prefix.empty()))
        fault({}, fmt::format("{}output '{}' of graph '{}' is made by no node in it", known.prefix, name, p.name));
    }
  }

  void main_types(const Parts& p) {
    for (const auto* side : {&p.inputs, &p.outputs})
      for (std::string_view m : *side) {
        const std::string_view type = field_text(m, 2);
        const char* missing = missing_in_type(type);
        if (missing && (side == &p.outputs || !type.empty()))  // an input without any: the importer tells
          fault({},
                fmt::format("{} '{}' has no {}", side == &p.inputs ? "input" : "output", field_text(m, 1), missing));
      }
  }

  void node(std::string_view message, Scope& scope, int depth, const Known& known) {
    CheckedNode n(message, known, ir_);
    for (std::string& rule : n.faults(scope)) fault(n.place(), std::move(rule));
    for (std::string_view inner : n.graphs()) {
      Scope block;
      block.outer = &scope;
      graph(inner, block, false, depth + 1, known);
    }
    for (const std::string& name : n.outputs()) scope.names.insert(name);
  }

  // ---- Functions

  static std::string key_of(const FunctionParts& p) { return fmt::format("{}:{}:{}", p.domain, p.name, p.overload); }

  void function(std::string_view message) {
    auto parts = function_parts(message);
    if (!parts.ok()) return;
    const std::string place = fmt::format("function '{}'", key_of(*parts));
    Known known = known_;
    known.opsets = parts->opsets, known.prefix = place + " > ";
    known.attributes.emplace();
    Scope scope;
    for (const std::string& name : parts->inputs)
      if (!scope.names.insert(name).second) fault(place, fmt::format("input '{}' is given twice", name));
    std::set<std::string> outputs;
    for (const std::string& name : parts->outputs)
      if (!outputs.insert(name).second) fault(place, fmt::format("output '{}' is given twice", name));
    std::vector<std::string> attributes = parts->attributes;
    for (std::string_view d : parts->defaults) attributes.emplace_back(field_text(d, 1));
    for (const std::string& name : attributes)
      if (!known.attributes->insert(name).second) fault(place, fmt::format("attribute '{}' is given twice", name));
    for (std::string_view n : parts->nodes) node(n, scope, 0, known);
    for (const std::string& name : parts->outputs)
      if (!scope.names.count(name)) fault(place, fmt::format("output '{}' is made by no node", name));
  }

  void cycles(const std::vector<std::string_view>& messages) {
    for (Error& e : function_cycles(messages)) faults_.add(std::move(e));
  }

  Faults& faults_;
  Known known_;
  int64_t ir_ = 0;
};

}  // namespace

void check_structure(std::string_view message, Faults& faults) { Structure(faults).model(message); }

ir::Graph read_checked(std::string_view message, Source source, Faults& faults, Findings& findings) {
  check_structure(message, faults);
  ir::Graph graph;
  Faults imported;
  Importer importer(graph, std::move(source), {});
  importer.go_on(imported, findings);
  imported.check(importer.model(message));
  faults.add_elsewhere(std::move(imported));
  return graph;
}

}  // namespace nnex::onnx_format
