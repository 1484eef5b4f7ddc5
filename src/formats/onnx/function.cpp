#include "formats/onnx/function.h"

#include <fmt/format.h>

namespace nnex::onnx_format {

using wire::Field;
using wire::Kind;

Result<std::pair<std::string, std::string>> read_pair(std::string_view message) {
  std::pair<std::string, std::string> p;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == 1) p.first = std::string(f.bytes);
    if (f.number == 2) p.second = std::string(f.bytes);
  }
  if (!r.ok()) return Error(Code::invalid_model, fmt::format("a property: {}", r.fault()));
  return p;
}

Result<std::pair<std::string, int64_t>> read_opset(std::string_view message) {
  std::pair<std::string, int64_t> p{"", 0};
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == 1) p.first = std::string(f.bytes);
    if (f.number == 2) p.second = f.integer();
  }
  if (!r.ok()) return Error(Code::invalid_model, fmt::format("an opset import: {}", r.fault()));
  if (p.second < 0 || p.second > INT32_MAX)
    return Error(Code::invalid_model, fmt::format("opset version {} is out of range", p.second));
  return p;
}

Result<FunctionParts> function_parts(std::string_view message) {
  FunctionParts p;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    switch (f.number) {
      case 1:
        p.name = std::string(f.bytes);
        break;
      case 4:
        p.inputs.emplace_back(f.bytes);
        break;
      case 5:
        p.outputs.emplace_back(f.bytes);
        break;
      case 7:
        p.nodes.push_back(f.bytes);
        break;
      case 9: {
        NNEX_ASSIGN(auto opset, read_opset(f.bytes));
        p.opsets[opset.first == "ai.onnx" ? "" : opset.first] = opset.second;
        break;
      }
      case 10:
        p.domain = f.bytes == "ai.onnx" ? "" : std::string(f.bytes);
        break;
      case 11:
        p.defaults.push_back(f.bytes);
        break;
      case 13:
        p.overload = std::string(f.bytes);
        break;
      default:
        break;
    }
  }
  if (!r.ok()) return Error(Code::invalid_model, fmt::format("function '{}': {}", p.name, r.fault()));
  return p;
}

Result<std::shared_ptr<const OnnxFunction>> read_function(std::string_view message, const Source& source,
                                                          Limits limits) {
  NNEX_ASSIGN(FunctionParts p, function_parts(message));
  if (p.name.empty()) return Error(Code::invalid_model, "a function has no name");
  return std::shared_ptr<const OnnxFunction>(
      std::make_shared<OnnxFunction>(fmt::format("{}:{}:{}", p.domain, p.name, p.overload), message, source, limits));
}

Status OnnxFunction::expand(Graph& graph, NodeId call) const {
  const std::string place = graph.place_of(call);
  Importer importer(graph, source_, limits_);
  Status s = importer.function_body(message_, call);
  if (!s.ok()) return std::move(s).error().at(place).during(fmt::format("expanding function '{}'", key_));
  return {};
}

}  // namespace nnex::onnx_format
