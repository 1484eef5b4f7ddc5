// Every rule of ONNX models: models that break it in one place, and what a check says of each: that rule, that place,
// and nothing else.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nnex/check.h"
#include "onnx_bytes.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;
using OnnxGraph = nnex::test::onnx::Graph;

const std::string kX = value("x", {2, 3}), kY = value("y", {2, 3});

struct Case {
  std::string rule;  ///< Without "onnx/".
  std::string place;
  std::string bytes;
  std::vector<NamedBytes> beside = {};  ///< Other files.
};

std::string relu(const char* in, const char* out, std::string_view more = {}) {
  return node("Relu", {in}, {out}, more);
}
std::string text_attr(std::string_view name, std::string_view word) {
  return msg(5, msg(1, name) + msg(4, word) + num(20, 3));
}
std::string real_attr(std::string_view name) {
  return msg(5, msg(1, name) + varint(2 << 3 | 5) + std::string(4, '\0') + num(20, 1));
}
std::string ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  std::string out = msg(1, name);
  for (const int64_t v : values) out += num(8, v);
  return msg(5, out + num(20, 7));
}
/// A model of these nodes from x to y.
std::string of_nodes(const std::vector<std::string>& nodes, std::string_view more = {}, int64_t version = 17,
                     int64_t ir = 8) {
  return model({nodes, {kX}, {kY}}, more, version, ir);
}
/// y = relu(x), and more fields of the model.
std::string sound(std::string_view more = {}, int64_t version = 17, int64_t ir = 8) {
  return of_nodes({relu("x", "y")}, more, version, ir);
}
/// The same with more fields of the graph.
std::string with_graph(const std::string& fields, int64_t version = 17, int64_t ir = 8) {
  return num(1, ir) + msg(7, OnnxGraph{{relu("x", "y")}, {kX}, {kY}}.bytes() + fields) + opset("", version);
}
std::string with_initializer(const std::string& tensor, int64_t ir = 13) { return with_graph(msg(5, tensor), 17, ir); }
std::string with_attribute(const std::string& attribute) {
  return of_nodes({node("Softmax", {"x"}, {"y"}, msg(5, attribute))});
}
std::string with_input(const std::string& type, int64_t ir = 13) {
  return with_graph(msg(11, msg(1, "z") + msg(2, type)), 17, ir);
}
std::string with_functions(const std::string& functions, std::string_view op = {}) {
  return of_nodes({op.empty() ? relu("x", "y") : node(op, {"x"}, {"y"}, {}, "f")}, opset("f", 1) + functions);
}
/// Fields of a function besides those that `function` writes.
std::string function_with(std::string_view name, const std::string& fields, std::string_view domain = "f") {
  return msg(25, msg(1, name) + fields + msg(9, num(2, 17)) + msg(9, msg(1, "f") + num(2, 1)) + msg(10, domain));
}
std::string body(const std::string& inside) { return function("g", {"a"}, {"b"}, {inside}); }
const std::string kIdentityBody = msg(4, "a") + msg(5, "b") + msg(7, relu("a", "b"));

/// If in x -> y, whose first branch is the given graph.
std::string with_branch(const std::string& branch, const std::vector<std::string>& before = {},
                        const std::vector<std::string>& behind = {}) {
  const std::string other = OnnxGraph{{relu("x", "r")}, {}, {value("r", {2, 3})}}.bytes();
  std::vector<std::string> nodes = before;
  nodes.push_back(node("If", {"c"}, {"y"}, attr_graph("then_branch", branch) + attr_graph("else_branch", other)));
  nodes.insert(nodes.end(), behind.begin(), behind.end());
  return model({nodes, {kX, value("c", {}, 9)}, {kY}});
}
std::string branch(const std::vector<std::string>& nodes, const std::string& result = "q",
                   const std::vector<std::string>& weights = {}) {
  return OnnxGraph{nodes, {}, {value(result, {2, 3})}, weights}.bytes();
}
const std::string kThen = "node 'y' (If) > attribute 'then_branch'";

void add_model_cases(std::vector<Case>& out) {
  const std::string graph = OnnxGraph{{relu("x", "y")}, {kX}, {kY}}.bytes();
  const auto bare = [&](const std::string& fields) { return fields + msg(7, graph) + opset("", 17); };
  const std::string pair = msg(1, "k") + msg(2, "v");
  const auto twice = [&](uint32_t field) { return msg(field, pair) + msg(field, pair); };
  out.insert(
      out.end(),
      {{"wire", "graph.node[1]", with_graph(msg(1, varint(1 << 3 | 2) + varint(100)))},
       {"wire", "ir_version", bare(msg(1, "8"))},
       {"wire", "graph.initializer[0].dims",
        with_initializer(msg(1, "\xff") + num(2, 1) + msg(8, "w") + msg(9, "four"))},
       {"wire", "graph.initializer[0].raw_data", with_initializer(num(1, 1) + num(2, 1) + msg(8, "w") + num(9, 4))},
       {"wire", "graph.node[0].attribute[0].floats", with_attribute(msg(1, "axis") + msg(7, "abc") + num(20, 6))},
       {"wire", "opset_import[1].version", sound(msg(8, msg(1, "f") + msg(2, "1")))},
       {"wire", "functions[0].node[0].attribute[0].t.data_type",
        with_functions(body(relu("a", "b", msg(5, msg(1, "k") + msg(5, msg(2, "1"))))))},
       {"syntax", "line 2, column 3", "<ir_version: 8>\ng = () => () {}"},
       {"text", "producer_name", sound(msg(2, "\xff"))},
       {"text", "graph.doc_string", with_graph(msg(10, std::string_view("a\0b", 3)))},
       {"text", "graph.node[0].name", of_nodes({relu("x", "y", msg(3, "\xed\xa0\x80"))})},
       {"text", "metadata_props[0].value", sound(msg(14, msg(1, "k") + msg(2, "\xc0\x80")))},
       {"ir-version", "", bare({})},
       {"ir-version", "", bare(num(1, 0))},
       {"ir-version", "", bare(num(1, -3))},
       {"ir-known", "", sound({}, 17, 14)},
       {"ir-known", "", sound({}, 17, 1000)},
       {"opset-missing", "", num(1, 8) + msg(7, graph)},
       {"opset-missing", "", sound({}, 1, 2)},
       {"opset-range", "", sound({}, 0)},
       {"opset-range", "", sound({}, -1)},
       {"opset-range", "", sound({}, int64_t{1} << 33)},
       {"opset-range", "", sound(opset("lab", -7))},
       {"opset-range", "function 'g'",
        with_functions(function_with("g", kIdentityBody + msg(9, msg(1, "lab") + num(2, -1))))},
       {"opset-known", "", sound({}, 29)},
       {"opset-known", "", sound(opset("ai.onnx.ml", 6))},
       {"opset-known", "", sound(opset("ai.onnx.preview.training", 2))},
       {"opset-twice", "", sound(opset("", 16))},
       {"opset-twice", "", sound(opset("ai.onnx", 18))},
       {"opset-twice", "", sound(opset("lab", 1) + opset("lab", 2))},
       {"opset-repeated", "", sound(opset("", 17))},
       {"opset-repeated", "", sound(opset("ai.onnx", 17))},
       {"metadata-twice", "", sound(twice(14))},
       {"metadata-twice", "", with_graph(twice(16))},
       {"metadata-twice", "node 'y' (Relu)", of_nodes({relu("x", "y", twice(9))})},
       {"metadata-twice", "input 'z'", with_graph(msg(11, value("z", {1}) + twice(4)))},
       {"metadata-twice", "initializer 'w'", with_initializer(tensor("w", {1}, "four") + twice(16))},
       {"metadata-twice", "function 'f:g:'", with_functions(function_with("g", kIdentityBody + twice(14)))},
       {"graph-missing", "", num(1, 8) + opset("", 17)},
       {"graph-name", "", num(1, 8) + msg(7, msg(1, relu("x", "y")) + msg(11, kX) + msg(12, kY)) + opset("", 17)},
       {"graph-name", kThen, with_branch(msg(1, relu("x", "q")) + msg(12, value("q", {2, 3})))}});
  const std::string binding = msg(1, "w") + msg(2, "o");
  const std::string algorithm = OnnxGraph{{node("Neg", {"w"}, {"o"})}, {}, {value("o", {1})}}.bytes();
  const auto training = [&](const std::string& bindings, int64_t ir = 8) {
    return num(1, ir) + msg(7, graph + msg(5, tensor("w", {1}, "four"))) + opset("", 17) +
           msg(20, msg(2, algorithm) + bindings);
  };
  const std::string device = msg(26, msg(1, "two") + num(2, 2));
  const auto placed = [&](std::string_view id, std::string_view tensor) {
    return relu("x", "y", msg(10, msg(1, id) + msg(2, msg(1, tensor))));
  };
  out.insert(out.end(),
             {{"training-binding", "training 0 > algorithm", training(msg(4, msg(1, "v") + msg(2, "o")))},
              {"training-binding", "training 0 > algorithm", training(msg(4, msg(1, "w") + msg(2, "p")))},
              {"training-binding", "training 0 > algorithm", training(msg(4, binding) + msg(4, binding))},
              {"training-binding", "training 0 > initialization", training(msg(3, binding))},
              {"ir-too-old", "training 0", training(msg(4, binding), 6)},
              {"annotation-tensor", "quantization annotation 'nobody'", with_graph(msg(14, msg(1, "nobody")))},
              {"annotation-tensor", "quantization annotation 'y'",
               with_graph(msg(14, msg(1, "y") + msg(2, msg(1, "SCALE_TENSOR") + msg(2, "s"))))},
              {"device-name", "device configuration 'two'", sound(device + device, 17, 11)},
              {"device-name", "device configuration ''", sound(msg(26, num(2, 2)), 17, 11)},
              {"device-name", "node 'y' (Relu)", of_nodes({placed("three", "x")}, device, 17, 11)},
              {"device-tensor", "node 'y' (Relu)", of_nodes({placed("two", "w")}, device, 17, 11)},
              {"ir-too-old", "device configuration 'two'", sound(device, 17, 10)}});
}

void add_name_cases(std::vector<Case>& out) {
  const std::string w = tensor("w", {2, 3}, std::string(24, '\0'));
  const auto info = [](const std::string& v) { return with_graph(msg(13, v)); };
  out.insert(
      out.end(),
      {{"value-name", "input 1", with_graph(msg(11, msg(2, tensor_type({1}))))},
       {"value-name", "output 1", with_graph(msg(12, msg(2, tensor_type({1}))))},
       {"value-name", "value 0", info(msg(2, tensor_type({1})))},
       {"value-name", "function 'f:g:'", with_functions(function("g", {"a", ""}, {"b"}, {relu("a", "b")}))},
       {"input-twice", "input 'x'", with_graph(msg(11, kX))},
       {"input-twice", "function 'f:g:'", with_functions(function("g", {"a", "a"}, {"b"}, {relu("a", "b")}))},
       {"output-twice", "output 'y'", with_graph(msg(12, kY))},
       {"output-twice", "function 'f:g:'", with_functions(function("g", {"a"}, {"b", "b"}, {relu("a", "b")}))},
       {"value-twice", "node 'y' (Neg) number 1", of_nodes({relu("x", "y"), node("Neg", {"x"}, {"y"})})},
       {"value-twice", "node 'n' (Neg)", of_nodes({relu("x", "y"), node("Neg", {"x"}, {"y"}, msg(3, "n"))})},
       {"value-twice", "node 'x' (Neg)", of_nodes({relu("x", "y"), node("Neg", {"x"}, {"x"})})},
       {"value-twice", "node 'w' (Neg)", model({{relu("x", "y"), node("Neg", {"x"}, {"w"})}, {kX}, {kY}, {w}})},
       {"value-twice", "node 'a' (Split)",
        of_nodes({relu("x", "y"), node("Split", {"x"}, {"a", "a"}, attr_int("axis", 0))})},
       {"value-twice", "function 'f:g:' > node 'a' (Neg)",
        with_functions(function("g", {"a"}, {"b"}, {node("Neg", {"a"}, {"a"}), relu("a", "b")}))},
       {"value-twice", kThen + " > node 'q' (Neg) number 1",
        with_branch(branch({relu("x", "q"), node("Neg", {"x"}, {"q"})}))},
       {"shadow", kThen + " > node 'x' (Relu)", with_branch(branch({relu("x", "x"), relu("x", "q")}))},
       {"shadow", kThen + " > node 't' (Neg)",
        with_branch(branch({node("Neg", {"x"}, {"t"}), relu("t", "q")}), {relu("x", "t")})},
       {"shadow-port", kThen + " > initializer 'x'",
        with_branch(branch({relu("x", "q")}, "q", {tensor("x", {2, 3}, std::string(24, '\0'))}))},
       {"value-info-twice", "value 'y'", with_graph(msg(13, kY) + msg(13, kY))},
       {"value-info-twice", "function 'f:g:' > value 'b'",
        with_functions(function_with("g", kIdentityBody + msg(12, value("b", {2, 3})) + msg(12, value("b", {2, 3})))) +
            num(1, 10)},
       {"value-info-unknown", "value 'nobody'", info(value("nobody", {1}))},
       {"initializer-name", "initializer 0", with_initializer(num(1, 1) + num(2, 1) + msg(9, "four"))},
       {"initializer-twice", "initializer 'w'",
        with_graph(msg(5, tensor("w", {1}, "four")) + msg(5, tensor("w", {1}, "four")))},
       {"initializer-twice", "initializer 'w'",
        with_graph(msg(5, tensor("w", {1}, "four")) +
                   msg(15, msg(1, tensor("w", {1}, "four")) + msg(2, longs("", {2})) + num(3, 4)))},
       {"initializer-input", "initializer 'w'", with_initializer(tensor("w", {1}, "four"), 3)},
       {"order", "node 'y' (Relu)", of_nodes({relu("t", "y"), relu("x", "t")})},
       {"order", kThen + " > node 'q' (Relu)", with_branch(branch({relu("late", "q")}), {}, {relu("x", "late")})},
       {"order", "function 'f:g:' > node 'b' (Relu)",
        with_functions(function("g", {"a"}, {"b"}, {relu("c", "b"), relu("a", "c")}))},
       {"input-unknown", "node 'y' (Relu)", of_nodes({relu("nobody", "y")})},
       {"input-unknown", "node 'a' (Add)", of_nodes({relu("x", "y"), node("Add", {"x", "z"}, {"a"})})},
       {"input-unknown", kThen + " > node 'q' (Relu)", with_branch(branch({relu("nobody", "q")}))},
       {"input-unknown", "function 'f:g:' > node 'b' (Relu)", with_functions(body(relu("z", "b")))},
       {"input-unknown", "function 'f:g:' > node 'b' (Relu)", with_functions(body(relu("x", "b")), "g")},
       {"output-unknown", "output 'z'", with_graph(msg(12, value("z", {1})))},
       {"output-unknown", kThen + " > output 'x'", with_branch(branch({relu("x", "q")}, "x"))},
       {"output-unknown", "function 'f:g:'", with_functions(body(relu("a", "c")))},
       {"node-name-twice", "node 'n' (Neg) number 1",
        of_nodes({relu("x", "t", msg(3, "n")), node("Neg", {"t"}, {"y"}, msg(3, "n"))})}});
}

void add_type_cases(std::vector<Case>& out) {
  const std::string shape = msg(2, msg(1, num(1, 2)));
  const std::string tensor = tensor_type({1});
  out.insert(
      out.end(),
      {{"type-missing", "input 'z'", with_graph(msg(11, msg(1, "z")))},
       {"type-missing", "input 'z'", with_input("")},
       {"type-missing", "output 'x'", with_graph(msg(12, msg(1, "x")))},
       {"type-parts", "input 'z'", with_input(msg(1, shape))},
       {"type-parts", "input 'z'", with_input(msg(1, num(1, 1)))},
       {"type-parts", "input 'z'", with_input(msg(8, num(1, 1)))},
       {"type-parts", "input 'z'", with_input(msg(4, ""))},
       {"type-parts", "input 'z'", with_input(msg(9, ""))},
       {"type-parts", "input 'z'", with_input(msg(4, msg(1, "")))},
       {"type-parts", "input 'z'", with_input(msg(4, msg(1, msg(1, shape))))},
       {"type-parts", "input 'z'", with_input(msg(5, num(1, 7)))},
       {"type-parts", "input 'z'", with_input(msg(5, msg(2, tensor)))},
       {"type-parts", "input 'z'", with_input(msg(7, msg(1, "lab")))},
       {"type-parts", "output 'x'", with_graph(msg(12, msg(1, "x") + msg(2, msg(1, num(1, 1)))))},
       {"type-element", "input 'z'", with_input(tensor_type({1}, 99))},
       {"type-element", "input 'z'", with_input(tensor_type({1}, -1))},
       {"type-element", "input 'z'", with_input(msg(4, msg(1, tensor_type({1}, 27))))},
       {"type-element", "value 'y'", with_graph(msg(13, value("y", {2, 3}, 50)))},
       {"type-key", "input 'z'", with_input(msg(5, num(1, 1) + msg(2, tensor)))},
       {"type-key", "input 'z'", with_input(msg(5, num(1, 9) + msg(2, tensor)))},
       {"type-key", "input 'z'", with_input(msg(5, num(1, 77) + msg(2, tensor)))},
       {"type-extent", "input 'z'", with_input(msg(1, num(1, 1) + msg(2, msg(1, num(1, -1)))))},
       {"type-extent", "input 'z'", with_input(msg(4, msg(1, msg(1, num(1, 1) + msg(2, msg(1, num(1, -5)))))))},
       {"type-extent", "value 'y'",
        with_graph(msg(13, msg(1, "y") + msg(2, msg(1, num(1, 1) + msg(2, msg(1, num(1, 2)) + msg(1, num(1, -3)))))))},
       {"ir-too-old", "input 'z'", with_input(msg(9, msg(1, tensor)), 7)}});
  std::string deep = tensor_type({1});
  for (int i = 0; i < 70; ++i) deep = msg(4, msg(1, deep));
  out.push_back({"nesting", "input 'z'", with_input(deep)});
  // Element types that came with an IR version, one version before it, in a type and in a tensor.
  constexpr std::pair<int64_t, int64_t> kNew[] = {{16, 4},  {17, 9},  {18, 9},  {19, 9},  {20, 9}, {21, 10},
                                                  {22, 10}, {23, 11}, {24, 12}, {25, 13}, {26, 13}};
  for (const auto& [element, ir] : kNew) {
    out.push_back({"ir-too-old", "input 'z'", with_input(tensor_type({4}, element), ir - 1)});
    const size_t bytes = element == 16 ? 8 : element < 21 || element == 24 ? 4 : element < 24 ? 2 : 1;
    out.push_back({"ir-too-old", "initializer 'w'",
                   with_graph(msg(5, test::onnx::tensor("w", {4}, std::string(bytes, '\0'), element)) +
                                  (ir - 1 < 4 ? msg(11, value("w", {4}, element)) : ""),
                              17, ir - 1)});
    if (ir - 1 < 4) out.pop_back();  // the input tells it too
  }
}

/// Bytes that `count` elements take, and the field that holds them when they are typed.
struct Element {
  int64_t number;
  int bits;
  uint32_t field;
};
constexpr Element kElements[] = {{1, 32, 4},   {2, 8, 5},    {3, 8, 5},   {4, 16, 5},    {5, 16, 5},
                                 {6, 32, 5},   {7, 64, 7},   {9, 8, 5},   {10, 16, 5},   {11, 64, 10},
                                 {12, 32, 11}, {13, 64, 11}, {14, 64, 4}, {15, 128, 10}, {16, 16, 5},
                                 {17, 8, 5},   {18, 8, 5},   {19, 8, 5},  {20, 8, 5},    {21, 4, 5},
                                 {22, 4, 5},   {23, 4, 5},   {24, 8, 5},  {25, 2, 5},    {26, 2, 5}};

void add_tensor_cases(std::vector<Case>& out) {
  const std::string place = "initializer 'w'";
  const auto w = [](const std::string& fields) { return with_initializer(msg(8, "w") + fields); };
  for (const Element& e : kElements) {
    const std::string type = num(1, 8) + num(2, e.number);
    const auto numbers = [&](int count) {
      if (e.number == 14 || e.number == 15) count *= 2;
      const size_t width = e.field == 4 ? 4 : e.field == 10 ? 8 : 1;  // varints of one byte
      return msg(e.field, std::string(static_cast<size_t>(count) * width, '\0'));
    };
    const std::string raw(static_cast<size_t>(e.bits), '\0');  // of 8 elements
    out.push_back({"tensor-short", place, w(type + msg(9, raw.substr(1)))});
    out.push_back({"tensor-surplus", place, w(type + msg(9, raw + "x"))});
    out.push_back({"tensor-short", place, w(type + numbers(e.bits < 8 ? 1 : 7))});
    out.push_back({"tensor-long", place, w(type + numbers(9))});
    out.push_back({"tensor-field", place, w(type + msg(e.field == 7 ? 11 : 7, std::string(8, '\0')))});
    out.push_back({"tensor-missing", place, w(type)});
    out.push_back({"tensor-fields", place, w(type + numbers(8) + msg(9, raw))});
  }
  const std::string six = std::string(24, '\0'), shaped = num(1, 2) + num(1, 3) + num(2, 1);
  out.insert(
      out.end(),
      {{"tensor-type", place, w(num(1, 1) + msg(9, "four"))},
       {"tensor-type", place, w(num(1, 1) + num(2, 27) + msg(9, "four"))},
       {"tensor-type", place, w(num(1, 1) + num(2, -1) + msg(9, "four"))},
       {"tensor-extent", place, w(num(1, -1) + num(2, 1) + msg(9, "four"))},
       {"tensor-extent", place, w(num(1, int64_t{1} << 40) + num(1, int64_t{1} << 40) + num(2, 1) + msg(9, six))},
       {"tensor-extent", place, w(num(1, int64_t{1} << 62) + num(2, 1) + msg(9, six))},
       {"tensor-fields", place, w(shaped + msg(4, six) + msg(7, std::string(6, '\0')))},
       {"tensor-field", place, w(num(1, 1) + num(2, 8) + msg(5, "a"))},
       {"tensor-field", place, w(num(1, 1) + num(2, 1) + msg(6, "text"))},
       {"tensor-raw-text", place, w(num(1, 1) + num(2, 8) + msg(9, "text"))},
       {"tensor-short", place, w(num(1, 2) + num(2, 8) + msg(6, "one"))},
       {"tensor-long", place, w(num(1, 1) + num(2, 8) + msg(6, "one") + msg(6, "two"))},
       {"tensor-missing", place, w(num(1, 1) + num(2, 8))},
       {"tensor-missing", place, w(num(2, 1))},
       {"tensor-empty", place, w(num(1, 0) + num(2, 1) + msg(9, "four"))},
       {"tensor-empty", place, w(num(1, 0) + num(2, 7) + msg(7, "a"))},
       {"tensor-segment", place, w(shaped + msg(9, six) + msg(3, num(1, 0) + num(2, 6)))},
       {"tensor-short", "node 'k' (Constant) > attribute 'value'",
        of_nodes({relu("x", "y"), node("Constant", {}, {"k"}, attr_tensor("value", tensor("", {2}, "four")))})},
       {"tensor-short", kThen + " > initializer 'v'",
        with_branch(branch({relu("x", "q")}, "q", {tensor("v", {2}, "four")}))},
       {"tensor-short", "function 'f:g:' > node 'k' (Constant) > attribute 'value'",
        with_functions(
            function("g", {"a"}, {"b"},
                     {node("Constant", {}, {"k"}, attr_tensor("value", tensor("", {2}, "four"))), relu("a", "b")}))}});
}

void add_external_cases(std::vector<Case>& out) {
  using Entries = std::vector<std::pair<std::string, std::string>>;
  const std::string place = "initializer 'w'";
  const std::vector<NamedBytes> beside = {{"w.bin", std::string(16, 'w')}};
  const auto add = [&](const char* rule, const Entries& entries, const std::string& more = {}) {
    out.push_back({rule, place, with_initializer(external("w", {4}, entries) + more), beside});
  };
  add("external-inline", {{"location", "w.bin"}}, msg(9, std::string(16, '\0')));
  add("external-inline", {{"location", "w.bin"}}, msg(4, std::string(16, '\0')));
  add("external-location", {});
  add("external-location", {{"offset", "0"}});
  add("external-path", {{"location", ""}});
  add("external-path", {{"location", "/w.bin"}});
  add("external-path", {{"location", "../w.bin"}});
  add("external-path", {{"location", "a/../../w.bin"}});
  add("external-path", {{"location", "a\\w.bin"}});
  add("external-path", {{"location", "."}});
  add("external-file", {{"location", "v.bin"}});
  add("external-file", {{"location", "a..b"}});
  add("external-number", {{"location", "w.bin"}, {"offset", "-4"}});
  add("external-number", {{"location", "w.bin"}, {"length", "0x10"}});
  add("external-number", {{"location", "w.bin"}, {"length", ""}});
  add("external-number", {{"location", "w.bin"}, {"offset", "99999999999999999999"}});
  add("external-range", {{"location", "w.bin"}, {"offset", "17"}});
  add("external-range", {{"location", "w.bin"}, {"length", "17"}});
  add("external-range", {{"location", "w.bin"}, {"offset", "8"}, {"length", "9"}});
  add("external-range", {{"location", "w.bin"}, {"offset", "9223372036854775807"}, {"length", "9223372036854775807"}});
  add("external-short", {{"location", "w.bin"}, {"offset", "4"}});
  add("external-short", {{"location", "w.bin"}, {"length", "12"}});
  add("external-key", {{"location", "w.bin"}, {"colour", "red"}});
  add("external-key", {{"location", "w.bin"}, {"location", "w.bin"}});
  out.push_back({"tensor-surplus", place,
                 with_initializer(external("w", {3}, {{"location", "w.bin"}, {"length", "16"}})), beside});
  out.push_back({"tensor-raw-text", place,
                 with_initializer(num(1, 1) + num(2, 8) + msg(8, "w") + msg(13, msg(1, "location") + msg(2, "w.bin")) +
                                  num(14, 1)),
                 beside});
  out.push_back({"external-unmarked", place,
                 with_initializer(tensor("w", {1}, "four") + msg(13, msg(1, "location") + msg(2, "w.bin"))), beside});
}

void add_sparse_cases(std::vector<Case>& out) {
  const std::string place = "initializer 'w'";
  const auto sparse = [](const std::string& values, const std::string& indices, const std::vector<int64_t>& dims,
                         int64_t ir = 8) {
    std::string m = values.empty() ? "" : msg(1, values);
    if (!indices.empty()) m += msg(2, indices);
    for (const int64_t d : dims) m += num(3, d);
    return with_graph(msg(15, m), 17, ir);
  };
  const std::string two = tensor("w", {2}, std::string(8, '\0'));
  const auto rows = [](const std::vector<int64_t>& at, int64_t columns) {
    return tensor("", {static_cast<int64_t>(at.size()) / columns, columns}, raw_bytes(at), kInt64);
  };
  out.insert(out.end(),
             {{"sparse-values", place, sparse(tensor("w", {2, 1}, std::string(8, '\0')), longs("", {0, 1}), {4})},
              {"sparse-values", place, sparse(tensor("w", {}, std::string(4, '\0')), longs("", {0}), {4})},
              {"sparse-extent", place, sparse(two, longs("", {0, 1}), {})},
              {"sparse-extent", place, sparse(two, longs("", {0, 1}), {4, 0})},
              {"sparse-extent", place, sparse(two, longs("", {0, 1}), {-4})},
              {"sparse-extent", place, sparse(two, longs("", {0, 1}), {int64_t{1} << 40, int64_t{1} << 40})},
              {"sparse-indices", place, sparse(two, {}, {4})},
              {"sparse-indices", place, sparse(two, longs("", {0, 1, 2}), {4})},
              {"sparse-indices", place, sparse(two, tensor("", {2}, std::string(8, '\0'), 6), {4})},
              {"sparse-indices", place, sparse(two, rows({0, 0, 0, 1, 1, 1}, 3), {4, 4})},
              {"sparse-range", place, sparse(two, longs("", {0, 4}), {4})},
              {"sparse-range", place, sparse(two, longs("", {-1, 2}), {4})},
              {"sparse-range", place, sparse(two, rows({0, 1, 1, 4}, 2), {4, 4})},
              {"sparse-order", place, sparse(two, longs("", {2, 1}), {4})},
              {"sparse-order", place, sparse(two, longs("", {1, 1}), {4})},
              {"sparse-order", place, sparse(two, rows({1, 0, 0, 3}, 2), {4, 4})},
              {"tensor-short", place, sparse(tensor("w", {2}, "four"), longs("", {0, 1}), {4})},
              {"ir-too-old", place, sparse(two, longs("", {0, 1}), {4}, 5)}});
}

void add_node_cases(std::vector<Case>& out) {
  const std::string y = "node 'y' (Relu)";
  const auto one = [](std::string_view op, const std::vector<std::string>& in, std::string_view more = {},
                      int64_t version = 17) {
    return of_nodes({relu("x", "y"), node(op, in, {"k"}, more)}, {}, version);
  };
  const auto ml = [](std::string_view op, std::string_view more, int64_t version = 3) {
    return of_nodes({relu("x", "y"), node(op, {"x"}, {"k"}, more, "ai.onnx.ml")}, opset("ai.onnx.ml", version));
  };
  const auto of = [](std::string_view op, std::string_view attribute = {}) {
    const std::string place = "node 'k' (" + std::string(op) + ")";
    return attribute.empty() ? place : place + " > attribute '" + std::string(attribute) + "'";
  };
  out.insert(
      out.end(),
      {{"node-operator", "node 'k' ()", one("", {"x"})},
       {"node-empty", "node 'g' (g)",
        of_nodes({relu("x", "y"), node("g", {}, {}, {}, "f")}, opset("f", 1) + function("g", {}, {}, {}))},
       {"domain-import", "node 'k' (Fft)", of_nodes({relu("x", "y"), node("Fft", {"x"}, {"k"}, {}, "lab")})},
       {"domain-import", "node 'k' (Scaler)",
        of_nodes({relu("x", "y"), node("Scaler", {"x"}, {"k"}, {}, "ai.onnx.ml")})},
       {"domain-import", "node 'y' (Relu)",
        num(1, 8) + msg(7, OnnxGraph{{relu("x", "y")}, {kX}, {kY}}.bytes()) + opset("lab", 1)},
       {"domain-import", "node 'k' (g)",
        of_nodes({relu("x", "y"), node("g", {"x"}, {"k"}, {}, "f")}, body(relu("a", "b")))},
       {"domain-import", "function 'f:g:' > node 'b' (Fft)",
        with_functions(body(node("Fft", {"a"}, {"b"}, {}, "lab")))},
       {"operator-unknown", of("Fft"), one("Fft", {"x"})},
       {"operator-unknown", of("relu"), one("relu", {"x"})},
       {"operator-unknown", of("Forest"), ml("Forest", {})},
       {"operator-unknown", "function 'f:g:' > node 'b' (Fft)", with_functions(body(node("Fft", {"a"}, {"b"})))},
       {"operator-unknown", kThen + " > node 'q' (Fft)", with_branch(branch({node("Fft", {"x"}, {"q"})}))},
       {"operator-later", of("Gelu"), one("Gelu", {"x"})},
       {"operator-later", of("Swish"), one("Swish", {"x"}, {}, 23)},
       {"operator-later", of("Mish"), one("Mish", {"x"})},
       {"operator-later", of("HardSwish"), one("HardSwish", {"x"}, {}, 13)},
       {"operator-later", of("BitwiseNot"), one("BitwiseNot", {"x"})},
       {"operator-later", "node 'k' (TreeEnsemble)", ml("TreeEnsemble", {})},
       {"operator-withdrawn", of("Upsample"), one("Upsample", {"x", "x"})},
       {"operator-withdrawn", of("Scatter"), one("Scatter", {"x", "x", "x"})},
       {"operator-withdrawn", "node 'k' (TreeEnsembleRegressor)", ml("TreeEnsembleRegressor", {}, 5)},
       {"operator-experimental", "function 'f:g:' > node 'b' (Affine)",
        with_functions(body(node("Affine", {"a"}, {"b"})))},
       {"operator-experimental", "function 'f:g:' > node 'b' (ImageScaler)",
        with_functions(body(node("ImageScaler", {"a"}, {"b"})))},
       {"overload", "node 'k' (g)",
        of_nodes({relu("x", "y"), node("g", {"x"}, {"k"}, msg(8, "v2"), "f")}, opset("f", 1) + body(relu("a", "b")))},
       {"input-count", of("Neg"), one("Neg", {"x", "x"})},
       {"input-count", of("Add"), one("Add", {"x", "x", "x"})},
       {"input-count", "node 'k' (g)",
        of_nodes({relu("x", "y"), node("g", {"x", "x"}, {"k"}, {}, "f")}, opset("f", 1) + body(relu("a", "b")))},
       {"input-required", of("Neg"), of_nodes({relu("x", "y"), node("Neg", {}, {"k"})})},
       {"input-required", of("Add"), one("Add", {"x"})},
       {"input-required", of("Add"), one("Add", {"", "x"})},
       {"input-required", of("Gather"), one("Gather", {"x"})},
       {"input-required", of("Concat"), one("Concat", {}, attr_int("axis", 0))},
       {"input-required", "function 'f:g:' > node 'b' (Add)", with_functions(body(node("Add", {"a"}, {"b"})))},
       {"output-count", of("Neg"), of_nodes({relu("x", "y"), node("Neg", {"x"}, {"k", "l"})})},
       {"output-count", "node 'k' (g)",
        of_nodes({relu("x", "y"), node("g", {"x"}, {"k", "l"}, {}, "f")}, opset("f", 1) + body(relu("a", "b")))},
       {"output-required", "node 'Neg' (Neg)", of_nodes({relu("x", "y"), node("Neg", {"x"}, {})})},
       {"output-required", "node 'k' (TopK)",
        model({{relu("x", "y"), node("TopK", {"x", "n"}, {"k"})}, {kX}, {kY}, {longs("n", {1})}})},
       {"output-unnamed", "node 'q' (DynamicQuantizeLinear)",
        of_nodes({relu("x", "y"), node("DynamicQuantizeLinear", {"x"}, {"q", "", "p"})})},
       {"call-attribute", "node 'k' (g) > attribute 'alpha'",
        of_nodes({relu("x", "y"), node("g", {"x"}, {"k"}, attr_int("alpha", 1), "f")},
                 opset("f", 1) + body(relu("a", "b")))},
       {"attribute-unknown", of("Neg", "axis"), one("Neg", {"x"}, attr_int("axis", 1))},
       {"attribute-unknown", of("Softmax", "axes"), one("Softmax", {"x"}, attr_int("axes", 1))},
       {"attribute-unknown", of("ReduceMax", "axes"), one("ReduceMax", {"x"}, ints_attr("axes", {1}), 18)},
       {"attribute-unknown", of("Squeeze", "axes"), one("Squeeze", {"x"}, ints_attr("axes", {0}), 13)},
       {"attribute-unknown", of("Clip", "min"), one("Clip", {"x"}, real_attr("min"), 11)},
       {"attribute-unknown", "function 'f:g:' > node 'b' (Relu) > attribute 'alpha'",
        with_functions(body(relu("a", "b", attr_int("alpha", 1))))},
       {"attribute-kind", of("Softmax", "axis"), one("Softmax", {"x"}, real_attr("axis"))},
       {"attribute-kind", of("Softmax", "axis"), one("Softmax", {"x"}, ints_attr("axis", {1}))},
       {"attribute-kind", of("Elu", "alpha"), one("Elu", {"x"}, attr_int("alpha", 1))},
       {"attribute-kind", of("Transpose", "perm"), one("Transpose", {"x"}, attr_int("perm", 1))},
       {"attribute-kind", of("LeakyRelu", "alpha"), one("LeakyRelu", {"x"}, text_attr("alpha", "one"))},
       {"attribute-word", "node 'y' (Pad) > attribute 'mode'",
        model({{node("Pad", {"x", "p"}, {"y"}, text_attr("mode", "wrap"))}, {kX}, {kY}, {longs("p", {0, 0, 0, 0})}})},
       {"attribute-required", of("Concat", "axis"), one("Concat", {"x", "x"})},
       {"attribute-required", of("Cast", "to"), one("Cast", {"x"})},
       {"attribute-required", "function 'f:g:' > node 'b' (Cast) > attribute 'to'",
        with_functions(body(node("Cast", {"a"}, {"b"})))},
       {"attribute-required", "node 'y' (If) > attribute 'else_branch'",
        model({{node("If", {"c"}, {"y"}, attr_graph("then_branch", branch({relu("x", "q")})))},
               {kX, value("c", {}, 9)},
               {kY}})},
       {"attribute-name", "node 'y' (Softmax) > attribute 0", with_attribute(num(3, 1) + num(20, 2))},
       {"attribute-twice", "node 'y' (Softmax) > attribute 'axis'",
        of_nodes({node("Softmax", {"x"}, {"y"}, attr_int("axis", 1) + attr_int("axis", 1))})},
       {"attribute-type", "node 'y' (Softmax) > attribute 'axis'", with_attribute(msg(1, "axis") + num(3, 1))},
       {"attribute-type", "node 'y' (Softmax) > attribute '__note'",
        with_attribute(msg(1, "__note") + num(3, 1) + num(20, 15))},
       {"attribute-field", "node 'y' (Softmax) > attribute 'axis'",
        with_attribute(msg(1, "axis") + msg(4, "one") + num(20, 2))},
       {"attribute-fields", "node 'y' (Softmax) > attribute 'axis'",
        with_attribute(msg(1, "axis") + num(3, 1) + msg(4, "one") + num(20, 2))},
       {"attribute-fields", "function 'f:g:' > node 'b' (Softmax) > attribute 'axis'",
        with_functions(
            body(node("Softmax", {"a"}, {"b"}, msg(5, msg(1, "axis") + num(3, 1) + num(8, 1) + num(20, 2)))))},
       {"attribute-value", "node 'k' (Constant) > attribute 'value'",
        of_nodes({relu("x", "y"), node("Constant", {}, {"k"}, msg(5, msg(1, "value") + num(20, 4)))})},
       {"attribute-value", "node 'y' (If) > attribute 'else_branch'",
        model({{node("If", {"c"}, {"y"},
                     attr_graph("then_branch", branch({relu("x", "q")})) + msg(5, msg(1, "else_branch") + num(20, 5)))},
               {kX, value("c", {}, 9)},
               {kY}})},
       {"reference-outside", "node 'y' (Softmax) > attribute 'axis'",
        with_attribute(msg(1, "axis") + num(20, 2) + msg(21, "a"))},
       {"reference-unknown", "function 'f:g:' > node 'b' (Softmax) > attribute 'axis'",
        with_functions(body(node("Softmax", {"a"}, {"b"}, msg(5, msg(1, "axis") + num(20, 2) + msg(21, "k")))))},
       {"reference-value", "function 'f:g:' > node 'b' (Softmax) > attribute 'axis'",
        with_functions(
            function_with("g", msg(4, "a") + msg(5, "b") + msg(6, "k") +
                                   msg(7, node("Softmax", {"a"}, {"b"},
                                               msg(5, msg(1, "axis") + num(3, 1) + num(20, 2) + msg(21, "k"))))))}});
  // The q of a branch hides no other: that of its If is there only behind it.
  std::string inner = branch({relu("x", "q", attr_graph("__more", branch({relu("x", "q")})))}), place = kThen;
  for (int i = 0; i < 15; ++i) {
    inner = branch({node("If", {"c"}, {"q"},
                         attr_graph("then_branch", inner) + attr_graph("else_branch", branch({relu("x", "q")})))});
    place += " > node 'q' (If) > attribute 'then_branch'";
  }
  out.push_back({"nesting", place + " > node 'q' (Relu) > attribute '__more'", with_branch(inner)});
}

void add_function_cases(std::vector<Case>& out) {
  const auto calling = [](const std::string& name, const std::string& callee) {
    return function(name, {"a"}, {"b"}, {node(callee, {"a"}, {"b"}, {}, "f")});
  };
  std::string chain, many;
  for (int i = 0; i < 101; ++i) {
    const std::string own = "f" + std::to_string(i), next = "f" + std::to_string(i + 1);
    chain += i < 100 ? calling(own, next) : function(own, {"a"}, {"b"}, {relu("a", "b")});
  }
  for (int i = 0; i < 10'001; ++i) many += function("f" + std::to_string(i), {"a"}, {"b"}, {relu("a", "b")});
  const auto softmax12 = msg(25, msg(1, "g") + msg(4, "a") + msg(5, "b") + msg(7, node("Softmax", {"a"}, {"b"})) +
                                     msg(9, num(2, 12)) + msg(10, "f"));
  const auto squeeze =
      msg(25, msg(1, "g") + msg(4, "a") + msg(5, "b") + msg(7, node("Squeeze", {"a"}, {"b"}, ints_attr("axes", {0}))) +
                  msg(9, num(2, 11)) + msg(10, "f"));
  const std::string overloaded = function_with("g", kIdentityBody + msg(13, "v2"));
  const std::string with_default = function_with("g", kIdentityBody + msg(11, msg(1, "k") + num(3, 1) + num(20, 2)));
  const auto at_ir = [](const std::string& functions, int64_t ir) { return sound(opset("f", 1) + functions, 17, ir); };
  out.insert(out.end(),
             {{"function-name", "function 'f::'", with_functions(function("", {"a"}, {"b"}, {relu("a", "b")}))},
              {"function-domain", "function ':g:'", with_functions(function_with("g", kIdentityBody, ""))},
              {"function-twice", "function 'f:g:'", with_functions(body(relu("a", "b")) + body(relu("a", "b")))},
              {"function-twice", "function 'f:g:v2'", at_ir(overloaded + overloaded, 10)},
              {"function-attribute-twice", "function 'f:g:'",
               with_functions(function_with("g", kIdentityBody + msg(6, "k") + msg(6, "k")))},
              {"function-attribute-twice", "function 'f:g:'",
               sound(opset("f", 1) + function_with("g", kIdentityBody + msg(6, "k") +
                                                            msg(11, msg(1, "k") + num(3, 1) + num(20, 2))),
                     17, 9)},
              {"function-cycle", "function 'f:g:'", with_functions(calling("g", "g"))},
              {"function-cycle", "function 'f:g:'", with_functions(calling("g", "h") + calling("h", "g"))},
              {"function-cycle", "function 'f:g:'", with_functions(calling("g", "g"), "g")},
              {"function-cycle", "function 'f:g:'",
               of_nodes({relu("x", "y")},
                        opset("f", 1) +
                            function("g", {"a", "c"}, {"b"},
                                     {node("If", {"c"}, {"b"},
                                           attr_graph("then_branch", branch({node("g", {"a", "c"}, {"q"}, {}, "f")})) +
                                               attr_graph("else_branch", branch({relu("a", "q")})))}))},
              {"function-count", "", with_functions(many)},
              {"function-depth", "function 'f:f0:'", with_functions(chain)},
              {"function-opset", "function 'f:g:' > node 'b' (Softmax)", with_functions(softmax12)},
              {"function-opset", "function 'f:g:' > node 'b' (Squeeze)", with_functions(squeeze)},
              {"ir-too-old", "function 'f:g:'", at_ir(body(relu("a", "b")), 7)},
              {"ir-too-old", "function 'f:g:v2'", at_ir(overloaded, 9)},
              {"ir-too-old", "function 'f:g:'", at_ir(with_default, 8)}});
}

void add_meaning_cases(std::vector<Case>& out) {
  const std::string y = "node 'y' ";
  const auto typed = [](std::string_view op, int64_t in, int64_t result, int64_t version, size_t inputs = 1,
                        std::string_view more = {}) {
    return model({{node(op, std::vector<std::string>(inputs, "x"), {"y"}, more)},
                  {value("x", {2, 3}, in)},
                  {value("y", {2, 3}, result)}},
                 {}, version, 13);
  };
  constexpr int64_t kI8 = 3, kI32 = 6, kBool = 9, kHalf = 10, kDouble = 11, kBrain = 16;
  out.insert(
      out.end(),
      {{"operand-type", y + "(Equal)", typed("Equal", kString, kBool, 17, 2)},
       {"operand-type", y + "(Relu)", typed("Relu", kBool, kBool, 17)},
       {"operand-type", y + "(Relu)", typed("Relu", kI32, kI32, 13)},
       {"operand-type", y + "(Relu)", typed("Relu", kBrain, kBrain, 6)},
       {"operand-type", y + "(Sqrt)", typed("Sqrt", kI32, kI32, 17)},
       {"operand-type", y + "(Abs)", typed("Abs", kI8, kI8, 1)},
       {"operand-type", y + "(Add)", typed("Add", kI8, kI8, 13, 2)},
       {"operand-type", y + "(And)", typed("And", kI32, kBool, 17, 2)},
       {"operand-type", y + "(Sin)", typed("Sin", kBrain, kBrain, 17)},
       {"operand-type", y + "(Tanh)", typed("Tanh", kInt64, kInt64, 17)},
       {"operand-type", y + "(Not)", typed("Not", kFloat, kBool, 17)},
       {"operand-type", y + "(Mod)", typed("Mod", kBrain, kBrain, 10, 2)},
       {"operand-type", "function 'f:g:' > node 'b' (Sqrt)",
        with_functions(function("g", {"a"}, {"b"}, {node("Shape", {"a"}, {"s"}), node("Sqrt", {"s"}, {"b"})}))},
       {"one-type", "function 'f:g:' > node 'b' (Mul)",
        with_functions(function(
            "g", {"a"}, {"b"},
            {node("Shape", {"a"}, {"s"}), node("Constant", {}, {"k"}, attr_tensor("value", tensor("", {1}, "four"))),
             node("Mul", {"s", "k"}, {"b"})}))},
       {"operand-type", "function 'f:h:' > node 'b' (g) > node 'b' (Sqrt)",
        with_functions(function("g", {"a"}, {"b"}, {node("Sqrt", {"a"}, {"b"})}) +
                       function("h", {"a"}, {"b"}, {node("Shape", {"a"}, {"s"}), node("g", {"s"}, {"b"}, {}, "f")}))},
       {"symbol", "output 'b'",
        model({{relu("x", "a"), relu("z", "b")},
               {value("x", {2}), value("z", {3})},
               {value("a", {-1}), value("b", {-1})}})},
       {"operands", y + "(Add)",
        model({{node("Add", {"x", "z"}, {"y"})}, {kX, value("z", {4, 3})}, {value("y", {4, 3})}})},
       {"operands", y + "(MatMul)", model({{node("MatMul", {"x", "z"}, {"y"})}, {kX, value("z", {4, 3})}, {kY}})},
       {"one-type", y + "(Where)",
        model({{node("Where", {"c", "x", "i"}, {"y"})}, {kX, value("c", {}, 9), value("i", {2, 3}, kInt64)}, {kY}})},
       {"one-type", y + "(Add)", model({{node("Add", {"x", "i"}, {"y"})}, {kX, value("i", {2, 3}, kInt64)}, {kY}})},
       {"operands", y + "(Concat)",
        model({{node("Concat", {"x", "z"}, {"y"}, attr_int("axis", 0))}, {kX, value("z", {4, 4})}, {kY}})},
       {"operands", y + "(Transpose)",
        model({{node("Transpose", {"x"}, {"y"}, ints_attr("perm", {0, 2}))}, {kX}, {kY}})},
       {"operands", y + "(Reshape)",
        model({{node("Reshape", {"x", "s"}, {"y"})}, {kX}, {value("y", {4, 2})}, {longs("s", {4, 2})}})},
       {"operands", "node 'y' (g) > node 'b' (Add)",
        model({{node("g", {"x", "z"}, {"y"}, {}, "f")}, {kX, value("z", {4, 3})}, {value("y", {4, 3})}},
              opset("f", 1) + function("g", {"a", "c"}, {"b"}, {node("Add", {"a", "c"}, {"b"})}))},
       {"declared", "output 'y'", model({{relu("x", "y")}, {kX}, {value("y", {2, 4})}})},
       {"declared", "output 'y'", model({{relu("x", "y")}, {kX}, {value("y", {6})}})},
       {"declared", "output 'y'", model({{relu("x", "y")}, {kX}, {value("y", {2, 3}, kDouble)}})},
       {"declared", "output 'y'",
        model({{relu("x", "y")}, {kX}, {msg(1, "y") + msg(2, msg(4, msg(1, tensor_type({2, 3}))))}})},
       {"declared", "value 't'", model({{relu("x", "t"), relu("t", "y")}, {kX}, {kY}, {}, {value("t", {3, 2})}})},
       {"declared", "value 'x'", with_graph(msg(13, value("x", {2, 3}, kHalf)))},
       {"declared", "value 'w'", with_graph(msg(5, tensor("w", {1}, "four")) + msg(13, value("w", {2})))},
       {"declared", "input 'w'", with_graph(msg(5, tensor("w", {1}, "four")) + msg(11, value("w", {2})))},
       {"declared", kThen + " > output 'q'",
        with_branch(OnnxGraph{{relu("x", "q")}, {}, {value("q", {2, 4})}}.bytes())},
       {"declared", kThen + " > value 't'",
        with_branch(
            OnnxGraph{{relu("x", "t"), relu("t", "q")}, {}, {value("q", {2, 3})}, {}, {value("t", {9})}}.bytes())},
       {"symbol", "output 'y'",
        model(
            {{relu("x", "t"), relu("t", "y")}, {value("x", {-1, 3})}, {value("y", {5, 3})}, {}, {value("t", {4, 3})}})},
       {"symbol", "output 'y'",
        model({{relu("x", "y")}, {value("x", {-1, -1})}, {msg(1, "y") + msg(2, tensor_type({5, 6}))}})}});
}

std::vector<Case> cases() {
  std::vector<Case> out;
  add_model_cases(out);
  add_name_cases(out);
  add_type_cases(out);
  add_tensor_cases(out);
  add_external_cases(out);
  add_sparse_cases(out);
  add_node_cases(out);
  add_function_cases(out);
  add_meaning_cases(out);
  return out;
}

CheckReport report_of(const Case& c) {
  std::vector<NamedBytes> files = c.beside;
  files.insert(files.begin(), NamedBytes{"model.onnx", c.bytes});
  auto report = check(c.beside.empty() ? ModelSource::memory(c.bytes) : ModelSource::memory(std::move(files)));
  EXPECT_TRUE(report.ok()) << report.error().text();
  return report.ok() ? std::move(*report) : CheckReport();
}

TEST(CheckRulesOnnx, EveryCaseTellsItsRuleAndPlaceAlone) {
  const std::vector<Case> all = cases();
  std::set<std::string> kinds;
  for (size_t i = 0; i < all.size(); ++i) {
    const Case& c = all[i];
    SCOPED_TRACE(fmt::format("case {}: {} at {}", i, c.rule, c.place));
    kinds.insert(c.bytes);
    const CheckReport report = report_of(c);
    ASSERT_FALSE(report.faults.empty());
    const Fault& f = report.faults[0];
    EXPECT_EQ(f.rule, "onnx/" + c.rule) << f.text();
    EXPECT_EQ(f.where, c.place) << f.text();
    for (size_t more = 1; more < report.faults.size(); ++more) ADD_FAILURE() << report.faults[more].text();
  }
  EXPECT_GE(kinds.size(), 300u);
}

TEST(CheckRulesOnnx, EveryRuleHasACase) {
  std::set<std::string> covered = {"onnx/message-size"};  // tests/check.py has a file of 5 GiB
  for (const Case& c : cases()) covered.insert("onnx/" + c.rule);
  for (const CheckRule& r : onnx_rules()) EXPECT_EQ(covered.erase(std::string(r.id)), 1u) << r.id;
  EXPECT_TRUE(covered.empty()) << *covered.begin() << " is no rule";
}

TEST(CheckRulesOnnx, WarningsAreForgivenUnlessOneIsStrict) {
  std::map<std::string, Severity> severities;
  for (const CheckRule& r : onnx_rules()) severities[std::string(r.id)] = r.severity;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.rule + " at " + c.place);
    CheckReport report = report_of(c);
    ASSERT_EQ(report.faults.size(), 1u);
    const bool forgiven = severities["onnx/" + c.rule] == Severity::warning;
    EXPECT_EQ(report.faults[0].forgiven(), forgiven);
    EXPECT_EQ(report.sound(), forgiven);
    report.be_strict();
    EXPECT_FALSE(report.sound());
  }
}

/// Several faults of one model, of unlike kinds, in whatever parts of it: all are told.
TEST(CheckRulesOnnx, AllOfSeveral) {
  const std::string w = tensor("w", {2, 3}, "few");
  const std::string bytes =
      msg(7, OnnxGraph{{node("Add", {"x", "nobody"}, {"a"}), node("Softmax", {"a"}, {"b"}, attr_int("axes", 1)),
                        node("Concat", {"x", "x"}, {"c"}), node("Gelu", {"w"}, {"d"}), node("Relu", {"x", "x"}, {"e"}),
                        node("MatMul", {"x", "x"}, {"m"}), relu("x", "y"), node("Neg", {"x"}, {"y"}, msg(3, "again"))},
                       {kX, msg(1, "z") + msg(2, tensor_type({1}, 99))},
                       {value("y", {2, 4}), value("nowhere", {1})},
                       {w, w}}
                 .bytes()) +
      opset("", 17) + opset("f", 1) + msg(14, msg(1, "k") + msg(2, "a")) + msg(14, msg(1, "k") + msg(2, "b")) +
      function("g", {"a", "a"}, {"b"}, {relu("late", "b")});
  const CheckReport report = report_of({"", "", bytes});
  std::multiset<std::string> found;
  for (const Fault& f : report.faults) found.insert(f.rule + " at " + f.where);
  const std::multiset<std::string> needed = {"onnx/ir-version at ",
                                             "onnx/metadata-twice at ",
                                             "onnx/type-element at input 'z'",
                                             "onnx/tensor-short at initializer 'w'",
                                             "onnx/tensor-short at initializer 'w'",
                                             "onnx/initializer-twice at initializer 'w'",
                                             "onnx/input-unknown at node 'a' (Add)",
                                             "onnx/attribute-unknown at node 'b' (Softmax) > attribute 'axes'",
                                             "onnx/attribute-required at node 'c' (Concat) > attribute 'axis'",
                                             "onnx/operator-later at node 'd' (Gelu)",
                                             "onnx/input-count at node 'e' (Relu)",
                                             "onnx/value-twice at node 'again' (Neg)",
                                             "onnx/output-unknown at output 'nowhere'",
                                             "onnx/input-twice at function 'f:g:'",
                                             "onnx/input-unknown at function 'f:g:' > node 'b' (Relu)",
                                             "onnx/operands at node 'm' (MatMul)",
                                             "onnx/declared at output 'y'"};
  EXPECT_EQ(found, needed);
}

/// Behind a node that does not take the type it is given nothing is told of the types that come of it.
TEST(CheckRulesOnnx, WhatFollowsIsSilent) {
  constexpr int64_t kComplex = 14;
  const std::string conv = attr_int("group", 1);
  const CheckReport report = report_of({"", "",
                                        model({{node("Conv", {"x", "w"}, {"a"}, conv), relu("a", "b"),
                                                node("MaxPool", {"b"}, {"c"}, ints_attr("kernel_shape", {2, 2})),
                                                node("Neg", {"c"}, {"d"}), relu("d", "y")},
                                               {value("x", {1, 1, 8, 8}, kComplex)},
                                               {value("y", {1, 1, 5, 5})},
                                               {tensor("w", {1, 1, 3, 3}, std::string(72, '\0'), kComplex)}})});
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.faults[0].rule, "onnx/operand-type");
  EXPECT_EQ(report.faults[0].where, "node 'a' (Conv)");
}

}  // namespace
