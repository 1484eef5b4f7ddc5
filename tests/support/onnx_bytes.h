#pragma once
// ONNX models as bytes, written field by field so that a test can break any of them. Field numbers: onnx.proto.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace nnex::test::onnx {

inline std::string varint(uint64_t n) {
  std::string out;
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  return out + static_cast<char>(n);
}

/// A number field (wire kind 0).
inline std::string num(uint32_t field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}

/// A field of bytes: text, raw data or a message (wire kind 2).
inline std::string msg(uint32_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += p;
  return out;
}

constexpr int64_t kFloat = 1, kInt64 = 7, kString = 8;

/// TypeProto of a tensor. Extents below 0 are the symbol "N".
inline std::string tensor_type(const std::vector<int64_t>& extents, int64_t element = kFloat) {
  std::string dims;
  for (int64_t e : extents) dims += msg(1, e < 0 ? msg(2, "N") : num(1, e));
  return msg(1, num(1, element) + msg(2, dims));
}

/// ValueInfoProto: an input or output.
inline std::string value(std::string_view name, const std::vector<int64_t>& extents, int64_t element = kFloat) {
  return msg(1, name) + msg(2, tensor_type(extents, element));
}

/// TensorProto with raw data.
inline std::string tensor(std::string_view name, const std::vector<int64_t>& extents, std::string_view raw,
                          int64_t element = kFloat) {
  std::string out;
  for (int64_t e : extents) out += num(1, e);
  return out + num(2, element) + msg(8, name) + msg(9, raw);
}

inline std::string longs(std::string_view name, const std::vector<int64_t>& values) {
  return tensor(name, {static_cast<int64_t>(values.size())}, raw_bytes(values), kInt64);
}

/// TensorProto whose data lie in another file.
inline std::string external(std::string_view name, const std::vector<int64_t>& extents,
                            const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (int64_t e : extents) out += num(1, e);
  out += num(2, kFloat) + msg(8, name);
  for (const auto& [key, text] : entries) out += msg(13, msg(1, key) + msg(2, text));
  return out + num(14, 1);
}

inline std::string attr_int(std::string_view name, int64_t n) { return msg(5, msg(1, name) + num(3, n) + num(20, 2)); }
inline std::string attr_tensor(std::string_view name, const std::string& t) {
  return msg(5, msg(1, name) + msg(5, t) + num(20, 4));
}
inline std::string attr_graph(std::string_view name, const std::string& graph) {
  return msg(5, msg(1, name) + msg(6, graph) + num(20, 5));
}

/// NodeProto; `more` are attributes or other fields.
inline std::string node(std::string_view op, const std::vector<std::string>& in, const std::vector<std::string>& out,
                        std::string_view more = {}, std::string_view domain = {}) {
  std::string bytes;
  for (const std::string& i : in) bytes += msg(1, i);
  for (const std::string& o : out) bytes += msg(2, o);
  bytes += msg(4, op);
  if (!domain.empty()) bytes += msg(7, domain);
  return bytes + std::string(more);
}

/// The lists of a GraphProto, each item a message.
struct Graph {
  std::vector<std::string> nodes, inputs, outputs, weights = {}, infos = {};

  std::string bytes() const {
    std::string out;
    for (const std::string& n : nodes) out += msg(1, n);
    out += msg(2, "g");
    for (const std::string& w : weights) out += msg(5, w);
    for (const std::string& i : inputs) out += msg(11, i);
    for (const std::string& o : outputs) out += msg(12, o);
    for (const std::string& i : infos) out += msg(13, i);
    return out;
  }
};

inline std::string opset(std::string_view domain, int64_t version) { return msg(8, msg(1, domain) + num(2, version)); }

/// ModelProto of a graph; `more` are functions or other fields.
inline std::string model(const Graph& graph, std::string_view more = {}, int64_t version = 17, int64_t ir = 8) {
  return num(1, ir) + msg(7, graph.bytes()) + opset("", version) + std::string(more);
}

/// FunctionProto in the domain "f".
inline std::string function(std::string_view name, const std::vector<std::string>& in,
                            const std::vector<std::string>& out, const std::vector<std::string>& nodes) {
  std::string bytes = msg(1, name);
  for (const std::string& i : in) bytes += msg(4, i);
  for (const std::string& o : out) bytes += msg(5, o);
  for (const std::string& n : nodes) bytes += msg(7, n);
  return msg(25, bytes + msg(9, num(2, 17)) + msg(9, msg(1, "f") + num(2, 1)) + msg(10, "f"));
}

}  // namespace nnex::test::onnx
