#pragma once
// Models that break one rule of ONNX in one place, by which tests/unit/check_rules_onnx_test.cpp judges a check.

#include <string>
#include <vector>

#include "nnex/check.h"
#include "onnx_bytes.h"

namespace nnex::test::onnx_rules {

using namespace nnex::test::onnx;
using OnnxGraph = nnex::test::onnx::Graph;

inline const std::string kX = value("x", {2, 3}), kY = value("y", {2, 3});

struct Case {
  std::string rule;  ///< Without "onnx/".
  std::string place;
  std::string bytes;
  std::vector<NamedBytes> beside = {};  ///< Other files.
};

inline std::string relu(const char* in, const char* out, std::string_view more = {}) {
  return node("Relu", {in}, {out}, more);
}
inline std::string text_attr(std::string_view name, std::string_view word) {
  return msg(5, msg(1, name) + msg(4, word) + num(20, 3));
}
inline std::string real_attr(std::string_view name) {
  return msg(5, msg(1, name) + varint(2 << 3 | 5) + std::string(4, '\0') + num(20, 1));
}
inline std::string ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  std::string out = msg(1, name);
  for (const int64_t v : values) out += num(8, v);
  return msg(5, out + num(20, 7));
}
/// A model of these nodes from x to y.
inline std::string of_nodes(const std::vector<std::string>& nodes, std::string_view more = {}, int64_t version = 17,
                            int64_t ir = 8) {
  return model({nodes, {kX}, {kY}}, more, version, ir);
}
/// y = relu(x), and more fields of the model.
inline std::string sound(std::string_view more = {}, int64_t version = 17, int64_t ir = 8) {
  return of_nodes({relu("x", "y")}, more, version, ir);
}
/// The same with more fields of the graph.
inline std::string with_graph(const std::string& fields, int64_t version = 17, int64_t ir = 8) {
  return num(1, ir) + msg(7, OnnxGraph{{relu("x", "y")}, {kX}, {kY}}.bytes() + fields) + opset("", version);
}
inline std::string with_initializer(const std::string& tensor, int64_t ir = 13) {
  return with_graph(msg(5, tensor), 17, ir);
}
inline std::string with_attribute(const std::string& attribute) {
  return of_nodes({node("Softmax", {"x"}, {"y"}, msg(5, attribute))});
}
inline std::string with_input(const std::string& type, int64_t ir = 13) {
  return with_graph(msg(11, msg(1, "z") + msg(2, type)), 17, ir);
}
inline std::string with_functions(const std::string& functions, std::string_view op = {}) {
  return of_nodes({op.empty() ? relu("x", "y") : node(op, {"x"}, {"y"}, {}, "f")}, opset("f", 1) + functions);
}
/// Fields of a function besides those that `function` writes.
inline std::string function_with(std::string_view name, const std::string& fields, std::string_view domain = "f") {
  return msg(25, msg(1, name) + fields + msg(9, num(2, 17)) + msg(9, msg(1, "f") + num(2, 1)) + msg(10, domain));
}
inline std::string body(const std::string& inside) { return function("g", {"a"}, {"b"}, {inside}); }
inline const std::string kIdentityBody = msg(4, "a") + msg(5, "b") + msg(7, relu("a", "b"));

/// If in x -> y, whose first branch is the given graph.
inline std::string with_branch(const std::string& branch, const std::vector<std::string>& before = {},
                               const std::vector<std::string>& behind = {}) {
  const std::string other = OnnxGraph{{relu("x", "r")}, {}, {value("r", {2, 3})}}.bytes();
  std::vector<std::string> nodes = before;
  nodes.push_back(node("If", {"c"}, {"y"}, attr_graph("then_branch", branch) + attr_graph("else_branch", other)));
  nodes.insert(nodes.end(), behind.begin(), behind.end());
  return model({nodes, {kX, value("c", {}, 9)}, {kY}});
}
inline std::string branch(const std::vector<std::string>& nodes, const std::string& result = "q",
                          const std::vector<std::string>& weights = {}) {
  return OnnxGraph{nodes, {}, {value(result, {2, 3})}, weights}.bytes();
}
inline const std::string kThen = "node 'y' (If) > attribute 'then_branch'";

/// Of whole models, names, types, tensors, files beside the model and sparse tensors.
void add_model_cases(std::vector<Case>& out);
void add_name_cases(std::vector<Case>& out);
void add_type_cases(std::vector<Case>& out);
void add_tensor_cases(std::vector<Case>& out);
void add_external_cases(std::vector<Case>& out);
void add_sparse_cases(std::vector<Case>& out);
/// Of nodes, functions, and of what nodes compute.
void add_node_cases(std::vector<Case>& out);
void add_function_cases(std::vector<Case>& out);
void add_meaning_cases(std::vector<Case>& out);

}  // namespace nnex::test::onnx_rules
