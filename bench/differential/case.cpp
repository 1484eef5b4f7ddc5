#include "case.h"

#include <fmt/format.h>

#include "onnx_bytes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace wire = test::onnx;
namespace {

constexpr DType kTypes[] = {DType::none, DType::f32, DType::u8,  DType::i8,      DType::u16, DType::i16,
                            DType::i32,  DType::i64, DType::str, DType::boolean, DType::f16, DType::f64,
                            DType::u32,  DType::u64, DType::c64, DType::c128,    DType::bf16};

std::string real_field(uint32_t field, float value) {
  return wire::varint(field << 3 | 5) + std::string(reinterpret_cast<const char*>(&value), 4);
}

/// AttributeProto without its name.
struct AttributeBytes {
  std::string operator()(int64_t n) const { return wire::num(3, n) + wire::num(20, 2); }
  std::string operator()(float x) const { return real_field(2, x) + wire::num(20, 1); }
  std::string operator()(const std::string& s) const { return wire::msg(4, s) + wire::num(20, 3); }
  std::string operator()(const Tensor& t) const { return wire::msg(5, tensor_message(t, "")) + wire::num(20, 4); }
  std::string operator()(const Body& b) const { return wire::msg(6, b.bytes) + wire::num(20, 5); }
  std::string operator()(const Extents& list) const {
    std::string out;
    for (int64_t n : list) out += wire::num(8, n);
    return out + wire::num(20, 7);
  }
  std::string operator()(const std::vector<float>& list) const {
    std::string out;
    for (float x : list) out += real_field(7, x);
    return out + wire::num(20, 6);
  }
  std::string operator()(const Names& list) const {
    std::string out;
    for (const std::string& s : list) out += wire::msg(9, s);
    return out + wire::num(20, 8);
  }
};

struct AttributeText {
  std::string operator()(int64_t n) const { return fmt::format("{}", n); }
  std::string operator()(float x) const { return number_text(x); }
  std::string operator()(const std::string& s) const { return '"' + s + '"'; }
  std::string operator()(const Tensor& t) const { return tensor_text(t); }
  std::string operator()(const Body& b) const { return "{" + b.text + "}"; }
  template <class List>
  std::string operator()(const List& list) const {
    std::string out = "[";
    for (const auto& item : list) out += (out.size() > 1 ? "," : "") + (*this)(item);
    return out + "]";
  }
};

std::string node_text(const ModelNode& node) {
  std::string out;
  for (const std::string& name : node.out) out += (out.empty() ? "" : ", ") + name;
  out += " = " + node.op + "(";
  for (size_t i = 0; i < node.in.size(); ++i) out += (i ? ", " : "") + (node.in[i].empty() ? "-" : node.in[i]);
  for (const Attribute& a : node.attributes) out += "; " + a.name + " = " + std::visit(AttributeText(), a.value);
  return out + ")";
}

/// ValueInfoProto: the type, and the extents as far as `dims` says them.
std::string value_info(std::string_view name, DType type, const Names* dims) {
  std::string tensor = wire::num(1, onnx_number(type));
  if (dims) {
    std::string shape;
    for (const std::string& dim : *dims) {
      const bool number = !dim.empty() && dim[0] >= '0' && dim[0] <= '9';
      shape += wire::msg(1, number ? wire::num(1, std::stoll(dim)) : dim.empty() ? "" : wire::msg(2, dim));
    }
    tensor += wire::msg(2, shape);
  }
  return wire::msg(1, name) + wire::msg(2, wire::msg(1, tensor));
}

int64_t ir_of(int opset) {
  constexpr int kFirst[] = {9, 10, 11, 12, 15, 19, 21, 23, 24, 25};  // opsets that brought IR 4, 5, ...
  int64_t ir = 3;
  for (int first : kFirst) ir += opset >= first;
  return ir;
}

}  // namespace

uint64_t Dice::next() {  // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

int onnx_number(DType type) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i] == type) return int(i);
  return 0;
}

DType dtype_of(int number) { return number > 0 && size_t(number) < std::size(kTypes) ? kTypes[number] : DType::none; }

std::string tensor_message(const Tensor& tensor, std::string_view name) {
  std::string out;
  for (int64_t extent : tensor.shape()) out += wire::num(1, extent);
  out += wire::num(2, onnx_number(tensor.dtype())) + wire::msg(8, name);
  if (tensor.dtype() != DType::str)
    return out + wire::msg(9, {reinterpret_cast<const char*>(tensor.data()), size_t(tensor.bytes())});
  for (const std::string& s : tensor.strings()) out += wire::msg(6, s);
  return out;
}

std::string node_message(const ModelNode& node) {
  std::string more;
  for (const Attribute& a : node.attributes)
    more += wire::msg(5, wire::msg(1, a.name) + std::visit(AttributeBytes(), a.value));
  return wire::node(node.op, node.in, node.out, more, node.domain);
}

Body make_body(const std::vector<ModelNode>& nodes, const std::vector<std::pair<std::string, DType>>& inputs,
               const std::vector<std::pair<std::string, DType>>& outputs) {
  wire::Graph graph;
  Body body;
  const Names scalar;
  for (const auto& [name, type] : inputs)
    graph.inputs.push_back(value_info(name, type, type == DType::f32 ? nullptr : &scalar));
  for (const auto& [name, type] : outputs) graph.outputs.push_back(value_info(name, type, nullptr));
  for (const ModelNode& node : nodes) {
    graph.nodes.push_back(node_message(node));
    body.text += node_text(node) + "; ";
  }
  body.bytes = graph.bytes();
  return body;
}

std::string tensor_text(const Tensor& tensor, int64_t max) {
  std::string out = std::string(name(tensor.dtype())) + tensor.shape().text();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (i == max) return out + fmt::format(" ... {} in all", tensor.count());
    out += ' ' + element_text(tensor, i);
  }
  return out;
}

const ModelNode& Case::subject() const {
  for (const ModelNode& node : nodes)
    if (node.op == op) return node;
  return nodes.at(0);
}

const AttributeValue* Case::find(std::string_view attribute) const {
  for (const Attribute& a : subject().attributes)
    if (a.name == attribute) return &a.value;
  return nullptr;
}

int64_t Case::integer(std::string_view attribute, int64_t otherwise) const {
  const AttributeValue* value = find(attribute);
  return value ? std::get<int64_t>(*value) : otherwise;
}

std::string Case::word(std::string_view attribute, std::string_view otherwise) const {
  const AttributeValue* value = find(attribute);
  return value ? std::get<std::string>(*value) : std::string(otherwise);
}

Extents Case::list(std::string_view attribute) const {
  const AttributeValue* value = find(attribute);
  return value ? std::get<Extents>(*value) : Extents{};
}

const Tensor* Case::port(size_t index) const {
  const Names& in = subject().in;
  if (index >= in.size()) return nullptr;
  for (const Given& g : given)
    if (g.name == in[index]) return &g.value;
  return nullptr;
}

std::string Case::model() const {
  wire::Graph graph;
  std::string domains;
  for (const Given& g : given) {
    if (!g.constant || opset < 9) graph.inputs.push_back(value_info(g.name, g.value.dtype(), &g.dims));
    if (g.constant) graph.weights.push_back(tensor_message(g.value, g.name));
  }
  for (const ModelNode& node : nodes) {
    graph.nodes.push_back(node_message(node));
    if (node.domain == "com.microsoft") domains = wire::opset(node.domain, 1);
    if (node.domain == "ai.onnx.ml") domains = wire::opset(node.domain, opset >= 22 ? 5 : opset >= 19 ? 4 : 3);
  }
  for (const std::string& name : outputs) graph.outputs.push_back(wire::msg(1, name));
  return wire::model(graph, domains, opset, ir_of(opset));
}

std::string Case::text() const {
  std::string out = fmt::format("    opset {}\n", opset);
  for (const ModelNode& node : nodes) out += "    " + node_text(node) + "\n";
  for (const Given& g : given) {
    std::string dims;
    for (const std::string& dim : g.dims) dims += (dims.empty() ? "" : ",") + (dim.empty() ? "?" : dim);
    out +=
        fmt::format("    {} {} [{}]: {}\n", g.constant ? "constant" : "input", g.name, dims, tensor_text(g.value, 64));
  }
  return out;
}

}  // namespace nnex::differential
