#include "standards/onnx/import_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/failure.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {

using wire::Field;
using wire::Kind;

Result<std::pair<std::string, std::string>> read_pair(std::string_view message) {
  std::pair<std::string, std::string> p;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == StringStringEntryProto::key) p.first = std::string(f.bytes);
    if (f.number == StringStringEntryProto::value) p.second = std::string(f.bytes);
  }
  if (!r.ok()) return failure(Code::invalid_model, "a property: {}", r.fault());
  return p;
}

Result<std::pair<std::string, int64_t>> read_opset(std::string_view message) {
  std::pair<std::string, int64_t> p{"", 0};
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == OperatorSetIdProto::domain) p.first = std::string(f.bytes);
    if (f.number == OperatorSetIdProto::version) p.second = f.integer();
  }
  if (!r.ok()) return failure(Code::invalid_model, "an opset import: {}", r.fault());
  if (p.second < 0 || p.second > INT32_MAX)
    return failure(Code::invalid_model, "opset version {} is out of range", p.second);
  return p;
}

Result<FunctionParts> function_parts(std::string_view message) {
  FunctionParts p;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    switch (f.number) {
      case FunctionProto::name:
        p.name = std::string(f.bytes);
        break;
      case FunctionProto::input:
        p.inputs.emplace_back(f.bytes);
        break;
      case FunctionProto::output:
        p.outputs.emplace_back(f.bytes);
        break;
      case FunctionProto::attribute:
        p.attributes.emplace_back(f.bytes);
        break;
      case FunctionProto::node:
        p.nodes.push_back(f.bytes);
        break;
      case FunctionProto::opset_import: {
        NNEX_ASSIGN(auto opset, read_opset(f.bytes));
        p.opsets[opset.first == "ai.onnx" ? "" : opset.first] = opset.second;
        break;
      }
      case FunctionProto::domain:
        p.domain = f.bytes == "ai.onnx" ? "" : std::string(f.bytes);
        break;
      case FunctionProto::attribute_proto:
        p.defaults.push_back(f.bytes);
        break;
      case FunctionProto::overload:
        p.overload = std::string(f.bytes);
        break;
      default:
        break;
    }
  }
  if (!r.ok()) return failure(Code::invalid_model, "function '{}': {}", p.name, r.fault());
  return p;
}

namespace {

/// f(domain, operator, overload) for all nodes, those of nested graphs too. `depth` ends hostile nesting.
template <class F>
void each_node(const std::vector<std::string_view>& nodes, const F& f, int depth = 0) {
  for (std::string_view message : nodes) {
    std::string op, domain, overload;
    wire::Reader r(message);
    Field part;
    while (r.next(part)) {
      if (part.kind != Kind::bytes) continue;
      if (part.number == NodeProto::op_type) op = std::string(part.bytes);
      if (part.number == NodeProto::domain) domain = domain_of(part.bytes);
      if (part.number == NodeProto::overload) overload = std::string(part.bytes);
      if (part.number != NodeProto::attribute || depth > 16) continue;
      wire::Reader attribute(part.bytes);
      Field a;
      while (attribute.next(a)) {
        if (a.kind != Kind::bytes || !is_one_of(a.number, AttributeProto::g, AttributeProto::graphs)) continue;
        std::vector<std::string_view> inner;
        wire::Reader graph(a.bytes);
        Field g;
        while (graph.next(g))
          if (g.number == GraphProto::node && g.kind == Kind::bytes) inner.push_back(g.bytes);
        each_node(inner, f, depth + 1);
      }
    }
    f(domain, op, overload);
  }
}

/// Functions that the nodes call.
void find_calls(const std::vector<std::string_view>& nodes, std::set<std::string>& calls) {
  each_node(nodes, [&](const std::string& domain, const std::string& op, const std::string& overload) {
    calls.insert(fmt::format("{}:{}:{}", domain, op, overload));
  });
}

class CycleFinder {
 public:
  explicit CycleFinder(const FunctionCalls& calls) : calls_(calls) {}

  std::vector<FunctionCycle> run() {
    for (const auto& [key, calls] : calls_) from(key);
    return std::move(found_);
  }

 private:
  /// Walks the calls depth first, without recursion: chains may be long.
  void from(const std::string& start) {
    if (!seen_.insert(start).second) return;
    struct Step {
      std::string key;
      std::set<std::string>::const_iterator next;
    };
    std::vector<Step> path = {{start, calls_.at(start).begin()}};
    while (!path.empty()) {
      Step& now = path.back();
      if (now.next == calls_.at(now.key).end()) {
        path.pop_back();
        continue;
      }
      const std::string& callee = *now.next++;
      const auto on_path = std::find_if(path.begin(), path.end(), [&](const Step& s) { return s.key == callee; });
      if (on_path != path.end()) {
        std::string circle;
        for (auto s = on_path; s != path.end(); ++s) circle += fmt::format("'{}' > ", s->key);
        found_.push_back({callee, fmt::format("function '{}' calls itself: {}'{}'", callee, circle, callee)});
      } else if (calls_.count(callee) && seen_.insert(callee).second) {
        path.push_back({callee, calls_.at(callee).begin()});
      }
    }
  }

  const FunctionCalls& calls_;
  std::set<std::string> seen_;
  std::vector<FunctionCycle> found_;
};

}  // namespace

std::string FunctionParts::key() const { return fmt::format("{}:{}:{}", domain, name, overload); }

FunctionCalls function_calls(const std::vector<std::string_view>& messages) {
  FunctionCalls out;
  for (std::string_view m : messages)
    if (auto p = function_parts(m); p.ok()) find_calls(p->nodes, out[p->key()]);
  return out;
}

std::vector<FunctionCycle> function_cycles(const FunctionCalls& calls) { return CycleFinder(calls).run(); }

Result<std::shared_ptr<const OnnxFunction>> read_function(std::string_view message, const Source& source, Limits limits,
                                                          std::shared_ptr<Findings> findings) {
  NNEX_ASSIGN(FunctionParts p, function_parts(message));
  if (p.name.empty()) return Error(Code::invalid_model, "a function has no name");
  return std::shared_ptr<const OnnxFunction>(
      std::make_shared<OnnxFunction>(p.key(), message, source, limits, std::move(findings)));
}

bool bodies_fit(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets) {
  bool fit = true;
  for (const auto& [key, function] : graph.functions) {
    const auto* own = onnx_function(function.get());
    if (!own) continue;
    const auto parts = function_parts(own->message());
    if (!parts.ok()) continue;
    each_node(parts->nodes, [&](const std::string& domain, const std::string& op, const std::string& overload) {
      const auto here = parts->opsets.find(domain), model = opsets.find(domain);
      if (here == parts->opsets.end() || model == opsets.end() || here->second == model->second) return;
      if (!is_standard(domain) || graph.functions.count(fmt::format("{}:{}:{}", domain, op, overload))) return;
      const Form *form = find_form(domain, op, here->second), *theirs = find_form(domain, op, model->second);
      fit &= form && theirs && form->since == theirs->since;
    });
  }
  return fit;
}

void add_call(const OnnxFunction& function, ir::Graph& graph) {
  auto parts = function_parts(function.message());
  if (!parts.ok()) return;
  std::vector<ValueId> inputs;
  for (const std::string& name : parts->inputs) inputs.push_back(graph.add_param(kMain, name, Type{}));
  auto call = std::make_shared<CustomNode>();
  call->domain = parts->domain, call->name = parts->name, call->overload = parts->overload;
  call->source = std::make_shared<std::vector<Attribute>>();
  Builder b(graph, kMain, graph.add_place(fmt::format("function '{}'", function.key())));
  const NodeId id = b.node(call_op(), std::move(inputs), parts->outputs.size(), nullptr);
  graph.set_custom(id, std::move(call));
}

Status OnnxFunction::expand(ir::Graph& graph, NodeId call) const {
  const std::string place = graph.place_of(call);
  Importer importer(graph, source_, limits_);
  if (findings_) {
    importer.go_on(findings_);
    findings_->expanded_functions.insert(key_);
  }
  if (findings_ && findings_->broken_functions.count(key_)) return importer.drop_call(call), Status();
  Status s = importer.function_body(message_, call);
  if (!s.ok() && findings_) {
    findings_->faults.add(std::move(s).error().at(place));
    importer.drop_call(call);
  } else if (!s.ok()) {
    return std::move(s).error().at(place).during(fmt::format("expanding function '{}'", key_));
  }
  return {};
}

}  // namespace nnex::onnx_format
