#include "onnx_rules.h"

namespace nnex::test::onnx_rules {

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
  const auto pooled = [](std::string_view attribute) {
    return "node 'y' (MaxPool) > attribute '" + std::string(attribute) + "'";
  };
  const auto pool = [](const std::string& more, const std::vector<int64_t>& result) {
    const std::string window = ints_attr("kernel_shape", {2, 2});
    return model({{node("MaxPool", {"x"}, {"y"}, window + more)}, {value("x", {1, 1, 4, 4})}, {value("y", result)}});
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
       {"attribute-off", of("Dropout", "is_test"), one("Dropout", {"x"}, {}, 6)},
       {"attribute-off", of("Dropout", "is_test"), one("Dropout", {"x"}, attr_int("is_test", 0), 6)},
       {"negative-axis", of("Softmax", "axis"), one("Softmax", {"x"}, attr_int("axis", -1), 10)},
       {"negative-axis", of("ReduceSum", "axes"), one("ReduceSum", {"x"}, ints_attr("axes", {0, -1}), 10)},
       {"negative-axis", of("Transpose", "perm"), one("Transpose", {"x"}, ints_attr("perm", {0, -1}))},
       {"attribute-number", of("ReduceMax", "keepdims"), one("ReduceMax", {"x"}, attr_int("keepdims", 2))},
       {"attribute-number", of("Gemm", "transB"), one("Gemm", {"x", "x"}, attr_int("transB", -1))},
       {"attribute-number", pooled("pads"), pool(ints_attr("pads", {-1, 0, 0, 0}), {1, 1, 2, 3})},
       {"padding-twice", pooled("pads"),
        pool(ints_attr("pads", {0, 0, 1, 1}) + text_attr("auto_pad", "VALID"), {1, 1, 3, 3})},
       {"padding-twice", "function 'f:g:' > node 'b' (MaxPool) > attribute 'pads'",
        with_functions(body(
            node("MaxPool", {"a"}, {"b"},
                 ints_attr("kernel_shape", {2}) + ints_attr("pads", {0, 1}) + text_attr("auto_pad", "SAME_UPPER"))))},
       {"pool-padding", pooled("pads"), pool(ints_attr("pads", {0, 0, 2, 0}), {1, 1, 5, 3})},
       {"pool-padding", pooled("pads"),
        pool(ints_attr("pads", {0, 0, 0, 3}) + ints_attr("dilations", {1, 2}), {1, 1, 3, 5})},
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
       {"operand-rank", y + "(GridSample)",
        model({{node("GridSample", {"x", "i"}, {"y"})},
               {value("x", {1, 1, 2, 2, 2}), value("i", {1, 1, 1, 3})},
               {value("y", {1, 1, 1, 1})}},
              {}, 16)},
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

}  // namespace nnex::test::onnx_rules
