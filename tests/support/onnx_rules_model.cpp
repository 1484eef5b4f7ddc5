#include "onnx_rules.h"

namespace nnex::test::onnx_rules {

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

namespace {

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

}  // namespace

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
  add("external-twice", {{"location", "w.bin"}, {"location", "w.bin"}});
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

}  // namespace nnex::test::onnx_rules
