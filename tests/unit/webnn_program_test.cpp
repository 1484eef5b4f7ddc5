// Builder programs: what is written of a graph reads back to the same network; hostile texts are refused.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "api/read.h"
#include "graph/symbols.h"
#include "graph/text/build.h"
#include "graph/work.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "share.h"
#include "standards/webnn/export.h"
#include "standards/webnn/program_file.h"
#include "stored.h"
#include "tensor/convert.h"

namespace nnex::ml {
namespace {

nnex::Result<Program> written(const std::string& text) {
  NNEX_ASSIGN(ir::Graph graph, graph_text::read_graph(text, "test"));
  return to_program(graph, "");
}

/// The program's text and weights read again; every constant must be the one that was written.
nnex::Result<Program> read_back(const Program& program) {
  const std::string path = testing::TempDir() + "/nnex_program.webnn";
  NNEX_TRY(save_program(program, path, Existing::replace));
  return load_program(path);
}

/// Numbers from -2 to 2 (integers: 0 to 2), the same each time.
nnex::Value numbers(const PortInfo& port, uint32_t seed) {
  nnex::Tensor t = *nnex::Tensor::make(port.dtype, nnex::Shape(port.extents));
  for (int64_t i = 0; i < t.count(); ++i) {
    seed = seed * 1664525 + 1013904223;
    if (is_real(port.dtype))
      set_real(t, i, static_cast<double>(seed >> 8) / (1 << 22) - 2);
    else
      set_int(t, i, (seed >> 16) % (port.dtype == DType::boolean ? 2 : 3));
  }
  return t;
}

std::vector<nnex::Value> inputs_of(const Model& m) {
  std::vector<nnex::Value> in;
  for (const PortInfo& p : m.inputs()) in.push_back(numbers(p, static_cast<uint32_t>(in.size()) + 1));
  return in;
}

/// Truth values are bytes in WebNN.
nnex::Value stored_as_bytes(const nnex::Value& v) {
  const nnex::Tensor& t = *v.tensor();
  return t.dtype() == DType::boolean ? *convert(t, DType::u8) : t;
}

void expect_near(const nnex::Value& got, const nnex::Value& want, double relative) {
  const nnex::Tensor &a = *got.tensor(), b = *stored_as_bytes(want).tensor();
  ASSERT_EQ(name(a.dtype()), name(b.dtype()));
  ASSERT_EQ(a.shape().text(), b.shape().text());
  for (int64_t i = 0; i < b.count(); ++i) {
    const double x = real_at(a, i), y = real_at(b, i);
    if (std::isnan(y) || std::isinf(y))
      ASSERT_TRUE(std::isnan(y) ? std::isnan(x) : x == y) << i << ": " << x << " and " << y;
    else
      ASSERT_LE(std::fabs(x - y), 1e-6 + relative * std::fabs(y)) << i << ": " << x << " and " << y;
  }
}

/// Both models give the same for the same inputs.
void expect_same_answers(const Model& before, const Model& after, std::vector<nnex::Value> in, double relative) {
  auto want = before.session().run(in);
  for (nnex::Value& v : in) v = stored_as_bytes(v);
  auto got = after.session().run(in);
  ASSERT_TRUE(want.ok()) << want.error().text();
  ASSERT_TRUE(got.ok()) << got.error().text();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    SCOPED_TRACE(before.outputs()[i].name);
    EXPECT_EQ(after.outputs()[i].name, before.outputs()[i].name);
    expect_near((*got)[i], (*want)[i], relative);
  }
}

void expect_round_trip(const std::string& text) {
  SCOPED_TRACE(text);
  auto program = written(text);
  ASSERT_TRUE(program.ok()) << program.error().text();
  auto back = read_back(*program);
  ASSERT_TRUE(back.ok()) << back.error().text();
  auto played = graph_of(*back);
  ASSERT_TRUE(played.ok()) << played.error().text();
  // What is read says the same again.
  const std::string first = program_text(*program, WeightFile(*program), "w");
  EXPECT_EQ(program_text(*back, WeightFile(*back), "w"), first);
  const auto before = compile(std::move(graph_text::read_graph(text, "test")).value());
  const auto after = compile(std::move(played).value());
  ASSERT_TRUE(before.ok() && after.ok()) << first;
  expect_same_answers(*before, *after, inputs_of(*before), 1e-5);
}

std::string graph(const std::string& params, const std::string& body) {
  return "graph g(" + params + ") -> (y) { " + body + " }";
}

TEST(WebnnProgram, Elements) {
  for (const char* body : {"y = add(x, f32[3](1.0, 2.0, 3.0));",
                           "y = pow(x, i64[](2));",
                           "y = clamp(x, f32[](-1.0), f32[](1.0));",
                           "y = clamp(x, f32[](-1.0));",
                           "y = clamp(x);",
                           "y = clamp(x, f32[3](-1.0, 0.0, 1.0), f32[](0.5));",
                           "y = clamp(x, f32[](1.0), f32[](-1.0), crossed = 'high');",
                           "y = sqr(x);",
                           "y = rsqrt(abs(x));",
                           "y = silu(x);",
                           "y = gelu(x, form = 'tanh');",
                           "y = gelu(x, form = 'sigmoid');",
                           "y = gelu(x);",
                           "y = selu(x);",
                           "y = mish(x);",
                           "y = affine(x, alpha = 2.0, beta = -1.0);",
                           "b = gt(x, f32[3](0.0, 1.0, -1.0)); y = select(b, x, f32[](0.0));",
                           "y = prelu(x, f32[3](0.1, 0.2, 0.3));",
                           "y = add_n(x, f32[3](1.0, 2.0, 3.0), f32[](1.0));",
                           "y = cast(x, to = 'i32');",
                           "y = cast(x, to = 'bool');",
                           "y = cast(gt(x, f32[](0.0)), to = 'f32');",
                           "y = lt(x, f32[](0.5));",
                           "y = not(lt(x, f32[](0.5)));",
                           "y = copy(x);",
                           "y = is_inf(rcp(sub(x, x)), negative = false);",
                           "y = softplus(x);",
                           "y = elu(x, alpha = 0.5);"})
    expect_round_trip(graph("x: f32[2,2,3]", body));
  expect_round_trip(graph("x: i64[2,3]", "y = mod(sub(x, i64[](1)), i64[](2));"));
  expect_round_trip(graph("x: bool[4], z: bool[4]", "y = and(x, not(z));"));
}

TEST(WebnnProgram, Windows) {
  const std::string filter = "f32[2,1,2,2](1.0, 2.0, -1.0, 0.5, 0.25, 3.0, -2.0, 1.0)";
  for (const std::string& body : {
           "y = conv(x, " + filter + ", groups = 2);",
           "y = conv(x, " + filter + ", f32[2](0.5, -0.5), groups = 2, padding = [(1, 0), (0, 1)], stride = [2, 1]);",
           "y = conv(x, " + filter + ", groups = 2, auto_pad = 'same_lower', stride = [2, 2]);",
           "y = deconv(x, " + filter + ", groups = 2, stride = [2, 2]);",
           "y = deconv(x, " + filter + ", f32[2](1.0, 2.0), groups = 2, stride = [2, 3], output_padding = [1, 2]);",
           "y = deconv(x, " + filter + ", groups = 2, stride = [2, 2], auto_pad = 'same_upper');",
           std::string("y = max_pool(x, size = [1, 1, 2, 2], border = 'ignore');"),
           std::string("y = max_pool(x, size = [1, 1, 2, 2], border = 'ignore', ceil = true, stride = [1, 1, 2, 2]);"),
           std::string("y = max_pool(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)]);"),
           std::string("y = box(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)], border = 'ignore', "
                       "divisor = 'inside');"),
           std::string("y = box(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)], border = 'ignore', "
                       "divisor = 'padded');"),
           std::string("y = box(x, size = [1, 1, 2, 2], stride = [1, 1, 3, 3]);"),
           std::string("y = lp_pool(x, size = [1, 1, 2, 2]);"),
       })
    expect_round_trip(graph("x: f32[1,2,5,5]", body));
  expect_round_trip(graph("x: f32[1,2,5]", "y = conv(x, f32[1,2,2](1.0, 2.0, -1.0, 0.5), f32[1](3.0));"));
  expect_round_trip(graph("x: f32[1,2,5]", "y = max_pool(x, size = [1, 1, 2], border = 'ignore');"));
}

TEST(WebnnProgram, Moves) {
  for (const char* body : {"y = reshape(x, i64[2](4, 3));",
                           "y = flatten(x);",
                           "y = unsqueeze(x, i64[1](0));",
                           "y = transpose(x);",
                           "y = transpose(x, axes = [1, 0, 2]);",
                           "y = slice(x, i64[1](1), i64[1](3), i64[1](2));",
                           "y = slice(x, i64[2](-1, 1), i64[2](-9, 2), i64[2](2, 0), i64[2](-1, 1));",
                           "y = slice(x, i64[1](2), i64[1](-9), i64[1](2), i64[1](-2));",
                           "y = pad(x, i64[6](0, 1, 0, 0, 1, 2), f32[](1.5));",
                           "y = pad(x, i64[6](0, 0, -1, 0, 1, 0));",
                           "y = pad(x, i64[6](0, 1, 1, 0, 0, 1), border = 'reflect');",
                           "y = pad(x, i64[6](0, 1, 1, 0, 0, 1), border = 'replicate');",
                           "[a, b] = split(x, i64[2](1, 2), axis = -1); y = concat(b, a, axis = 2);",
                           "y = expand(x, i64[4](3, 2, 2, 3));",
                           "y = tile(x, i64[3](2, 1, 2));",
                           "y = stack(x, x, axis = 1);",
                           "y = gather(x, i64[2](-1, 0), axis = -1);",
                           "y = gather(x, i64[](1), axis = 1);",
                           "y = gather_elements(x, i64[2,2,1](0, 2, 1, 0), axis = 2);",
                           "y = gather_nd(x, i64[2,2](0, 1, 1, 0));",
                           "y = scatter_elements(x, i64[2,2,1](0, 2, 1, 0), f32[2,2,1](5.0, 6.0, 7.0, 8.0), axis = 2);",
                           "y = reverse(x, axes = [0, 2]);",
                           "y = trilu(x);",
                           "y = cum_sum(x, i64[](-1));"})
    expect_round_trip(graph("x: f32[2,2,3]", body));
  expect_round_trip(graph("x: f32[1,8,2,3]", "y = depth_to_space(x, block = 2);"));
  expect_round_trip(graph("x: f32[1,8,2,3]", "y = depth_to_space(x, block = 2, order = 'crd');"));
  expect_round_trip(graph("x: f32[1,2,4,6]", "y = space_to_depth(x, block = 2);"));
  expect_round_trip(graph("x: i64[3]", "y = one_hot(x, i64[](3), f32[2](-1.0, 2.0));"));
}

TEST(WebnnProgram, Resampling) {
  for (const char* how :
       {"mode = 'nearest'", "mode = 'linear'", "mode = 'nearest', transform = 'asymmetric', nearest_rounding = 'floor'",
        "mode = 'linear', transform = 'align_corners'", "mode = 'cubic'"})
    expect_round_trip(
        graph("x: f32[1,2,4,5]", "y = resize(x, none, none, i64[4](1, 2, 7, 3), " + std::string(how) + ");"));
  expect_round_trip(graph("x: f32[1,2,4,5]", "y = resize(x, none, f32[4](1.0, 1.0, 2.0, 2.0), mode = 'linear');"));
}

TEST(WebnnProgram, ProductsAndNormalisations) {
  for (const char* body :
       {"y = matmul(x, f32[3,2](1.0, 2.0, 3.0, 4.0, 5.0, 6.0));", "y = matmul(x, f32[3](1.0, 2.0, 3.0));",
        "y = matmul(x, x, transposeB = true);", "y = softmax(x);", "y = softmax(x, axes = [1], to_end = true);",
        "y = log_softmax(x);", "y = layer_normalization(x, f32[3](1.0, 2.0, 3.0), f32[3](0.0, 1.0, 0.0));",
        "y = layer_normalization(x, axes = [0, 2]);", "y = rms_normalization(x, f32[3](1.0, 2.0, 3.0));",
        "y = instance_normalization(x, f32[2](1.0, 2.0), f32[2](0.0, 1.0));",
        "y = group_normalization(x, f32[2](1.0, 2.0), f32[2](0.0, 1.0), groups = 1);",
        "y = batch_normalization(x, f32[2](0.5, 1.0), f32[2](4.0, 2.0), offset = f32[2](0.5, 1.0), scale = "
        "f32[2](2.0, 3.0));",
        "y = sum_reduce(x, i64[1](-1));", "y = mean_reduce(x, i64[2](0, 2), keepdims = false);", "y = max_reduce(x);",
        "y = argmax_reduce(x, axes = [-1]);", "y = any_reduce(gt(x, f32[](1.9)), i64[1](2));"})
    expect_round_trip(graph("x: f32[2,2,3]", body));
  for (const char* body :
       {"y = linear(x, f32[2,3](1.0, 2.0, 3.0, 4.0, 5.0, 6.0), f32[2](0.5, 1.0));",
        "y = linear(x, f32[2,3](1.0, 2.0, 3.0, 4.0, 5.0, 6.0), f32[2](0.5, 1.0), alpha = 2.0, beta = "
        "0.5);"})
    expect_round_trip(graph("x: f32[4,3]", body));
}

TEST(WebnnProgram, QuantisedNumbers) {
  for (const char* body : {"y = dequantize_linear(quantize_linear(x, f32[](0.5), u8[](128)), f32[](0.5), u8[](128));",
                           "y = quantize_linear(x, f32[3](0.5, 0.25, 1.0), i8[3](0, 1, 2), axis = 2);",
                           "y = quantize_linear(x, f32[](0.1));", "(y, s, z) = dynamic_quantize_linear(x);"})
    expect_round_trip(graph("x: f32[2,2,3]", body));
  expect_round_trip(graph("x: u8[2,3], w: i8[3,2]", "y = matmul_integer(x, w, u8[](1));"));
  expect_round_trip(graph("x: u8[1,1,4,4]", "y = conv_integer(x, u8[1,1,2,2](1, 2, 3, 4), u8[](1), u8[](2));"));
}

/// Weights that are stored as codes are written so: a program of them is as small and as fast as the network.
TEST(WebnnProgram, CodesStayCodes) {
  const auto program = written(graph("x: f32[1,2,4,4]",
                                     "q = quantize_linear(x, f32[](0.5), u8[](3));"
                                     "d = dequantize_linear(q, f32[](0.5), u8[](3));"
                                     "w = dequantize_linear(i8[2,2,1,1](1, 2, 3, 4), f32[2](0.25, 0.5), axis = 0);"
                                     "b = dequantize_linear(i32[2](8, -4), f32[2](0.125, 0.25), axis = 0);"
                                     "y = conv(d, w, bias = b);"));
  ASSERT_TRUE(program.ok()) << program.error().text();
  const auto made = [](const ProgramCall& c) { return c.method->name == "dequantizeLinear"; };
  EXPECT_EQ(std::count_if(program->calls.begin(), program->calls.end(), made), 3);
}

TEST(WebnnProgram, RecurrentLayers) {
  const auto list = [](const std::string& shape, int n) {
    std::string s = "f32[" + shape + "](";
    for (int i = 0; i < n; ++i) s += (i ? ", " : "") + std::to_string((i * 7 % 11 - 5) * 0.1);
    return s + ")";
  };
  const std::string lstm = list("1,8,3", 24) + ", " + list("1,8,2", 16) + ", " + list("1,16", 16);
  expect_round_trip(graph("x: f32[4,2,3]", "(y, h, c) = lstm(x, " + lstm + ");"));
  expect_round_trip("graph g(x: f32[4,2,3]) -> (y, h, c) { (y, h, c) = lstm(x, " + lstm +
                    ", direction = 'reverse'); }");
  const std::string gru = list("2,6,3", 36) + ", " + list("2,6,2", 24) + ", " + list("2,12", 24);
  expect_round_trip("graph g(x: f32[4,2,3]) -> (y, h) { (y, h) = gru(x, " + gru + ", direction = 'bidirectional'); }");
}

TEST(WebnnProgram, WhatCannotBeSaidIsNamedOperationByOperation) {
  auto program =
      written("graph g(x: f32[2,3], z: f64[2]) -> (y, w) { y = det(matmul(x, x, transposeB = true)); w = neg(z); }");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code(), Code::unsupported);
  EXPECT_NE(program.error().message().find("input 'z' is f64[2]"), std::string::npos) << program.error().text();
  program = written("graph g(x: f32[2,2]) -> (y, w) { y = det(x); (w, i) = top_k(x, i64[1](1)); }");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code(), Code::unsupported);
  for (const char* said : {"WebNN cannot say 2 operations", "det: WebNN has no such operation", "top_k"})
    EXPECT_NE(program.error().message().find(said), std::string::npos) << program.error().text();
  program = written("graph g(x: f32[N,2]) -> (y) { y = neg(x); }");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code(), Code::invalid_argument);
}

TEST(WebnnProgram, HostileTexts) {
  const std::string head =
      R"({"format": "nnex.webnn/1", "inputs": [{"name": "x", "dataType": "float32", "shape": [2]}])";
  const struct {
    std::string text;
    const char* says;
  } rows[] = {
      {"", "as JSON: line 1, column 1"},
      {"[1", "as JSON: line 1, column 3"},
      {"{\n \"format\": \"nnex.webnn/1\",\n \"inputs\": [,\n}", "as JSON: line 3, column 13"},
      {"{}", "needed an object with \"format\": \"nnex.webnn/1\""},
      {R"({"format": "nnex.webnn/2"})", "this build reads nnex.webnn/1"},
      {head + "}", "\"outputs\" is no object"},
      {head + R"(, "outputs": {}})", "no outputs"},
      {head + R"(, "outputs": {"y": "z"}})", "no operand 'z'"},
      {head + R"(, "outputs": {"y": "x"}})", "is an input or a constant"},
      {head + R"(, "operations": [{"op": "fly"}], "outputs": {}})", "no operation"},
      {head + R"(, "operations": [{"op": "relu", "results": ["y"]}]})", "'input' is not given"},
      {head + R"(, "operations": [{"op": "relu", "args": {"input": "x", "z": 1}, "results": ["y"]}]})",
       "it has no 'z'"},
      {head + R"(, "operations": [{"op": "relu", "args": {"input": "x"}}]})", "names of its \"results\""},
      {head + R"(, "operations": [{"op": "relu", "args": {"input": "x"}, "results": ["x"]}]})", "two operands 'x'"},
      {head + R"(, "operations": [{"op": "softmax", "args": {"input": "x", "axis": 0.5}, "results": ["y"]}]})",
       "needed a whole number"},
      {head + R"(, "constants": [{"name": "c", "dataType": "float32", "shape": [2], "data": [1]}]})",
       "found 1 elements; its shape has 2"},
      {head + R"(, "constants": [{"name": "c", "dataType": "float32", "shape": [2], "offset": 0}]})",
       "the weights have 0"},
      {head + R"(, "constants": [{"name": "c", "dataType": "float32", "shape": [2147483647, 9], "offset": 0}]})", "c"},
      {head + R"(, "constants": [{"name": "c", "dataType": "float32", "shape": [2], "offset": -1}]})",
       "\"offset\" is -1; needed a whole number from 0 on"},
      {head + R"(, "constants": [{"name": "c", "dataType": "int16", "shape": [], "data": [1]}]})", "no data type"},
      {head + R"(, "constants": [{"name": "c", "shape": [], "data": [1]}]})", "'c': needed the word of a \"dataType\""},
      {head + R"(, "constants": [{"name": "c", "dataType": "int8", "shape": [], "data": [300]}]})",
       "'c': element 0 is 300; needed a number of int8"},
      {head + R"(, "constants": [{"name": "c", "dataType": "uint8", "shape": [2], "data": [1, -1]}]})",
       "'c': element 1 is -1; needed a number of uint8"},
      {head + R"(, "constants": [{"name": "c", "dataType": "int32", "shape": [], "data": [1.5]}]})",
       "'c': element 0 is 1.5; needed a number of int32"},
      {head + R"(, "constants": [{"name": "c", "dataType": "int32", "shape": [], "data": ["NaN"]}]})",
       "'c': element 0 is \"NaN\"; needed a number of int32"},
      {head + R"(, "constants": [{"name": "c", "dataType": "int64", "shape": [], "data": ["9223372036854775808n"]}]})",
       "'c': element 0 is \"9223372036854775808n\"; needed a number of int64"},
      {head + R"(, "constants": [{"name": "c", "dataType": "int32", "shape": [], "data": [1], "offset": 0}]})",
       "'c': both \"data\" and \"offset\"; needed one of them"},
      {head + R"(, "constant": []})", "it has no member 'constant' (did you mean 'constants'?); needed format, name,"},
      {R"({"format": "nnex.webnn/1", "inputs": [{"name": "x", "dataType": "float32", "shape": [2], "data": [1, 2]}]})",
       "it has no member 'data' (did you mean 'dataType'?); needed name, dataType, shape"},
      {head + R"(, "operations": [{"op": "relu", "arg": {"input": "x"}, "results": ["y"]}]})",
       "it has no member 'arg' (did you mean 'args'?)"},
      {head + R"(, "operations": [{"op": "rellu", "results": ["y"]}]})",
       "no operation \"rellu\" (did you mean 'relu'?)"},
      {head + R"(, "operations": [{"args": {"input": "x"}, "results": ["y"]}]})", "needed the name of its \"op\""},
      {head + R"(, "operations": [{"op": "relu", "args": {"input": "x"}, "results": ["y", "z"]}]})",
       "relu: found the names of 2 results; needed 1"},
      {head + R"(, "operations": [{"op": "relu", "args": {"input": "x"}, "options": {"label": 5}, "results": ["y"]}]})",
       "\"label\" is 5; needed a text"},
      {head + R"(, "operations": [{"op": "relu", "args": {"input": "x"}, "results": ["y"]}], "outputs": {"": "y"}})",
       "an output has an empty name"},
      {R"({"format": "nnex.webnn/1", "name": 5})", "\"name\" is 5; needed a text"},
      {head + R"(, "weights": "../secret"})", "no weights"},
      {std::string(100, '[') + std::string(100, ']'), "line 1, column 65: nested deeper than 64"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto program = read_program(row.text, [](const std::string&) -> nnex::Result<FileBytes> {
      return nnex::Error(Code::unreadable, "no weights");
    });
    ASSERT_FALSE(program.ok());
    EXPECT_NE(program.error().text().find(row.says), std::string::npos) << program.error().text();
  }
}

/// What reads may still break the specification's rules: playing it says so.
TEST(WebnnProgram, PlayingChecks) {
  auto program = read_program(
      R"({"format": "nnex.webnn/1", "inputs": [{"name": "x", "dataType": "float32", "shape": [2]}],
          "operations": [{"op": "softmax", "args": {"input": "x", "axis": 3}, "options": {"label": "here"}, "results": ["y"]}],
          "outputs": {"y": "y"}})",
      [](const std::string&) -> nnex::Result<FileBytes> { return nnex::Error(Code::unreadable, "no weights"); });
  ASSERT_TRUE(program.ok()) << program.error().text();
  const auto played = graph_of(*program);
  ASSERT_FALSE(played.ok());
  EXPECT_NE(played.error().message().find("[here] softmax: axes names axis 3"), std::string::npos)
      << played.error().text();
  EXPECT_NE(played.error().text().find("playing operations[0]"), std::string::npos) << played.error().text();
}

/// An operand that is two outputs is copied for the second; the first is the operand itself.
TEST(WebnnProgram, LoadsLikeAnyModel) {
  auto program = written("graph g(x: f32[2]) -> (y) { y = add(x, f32[2](1.0, 2.0)); }");
  ASSERT_TRUE(program.ok()) << program.error().text();
  program->outputs.emplace_back("z", program->outputs.front().second);
  const std::string path = testing::TempDir() + "/nnex_loaded.webnn";
  ASSERT_TRUE(save_program(*program, path, Existing::replace).ok());
  auto model = Model::load(path);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->outputs()[0].name, "y");
  EXPECT_EQ(model->outputs()[1].name, "z");
  auto out = model->session().run(std::vector<nnex::Value>{nnex::Tensor::of(nnex::Shape{2}, std::vector<float>{3, 4})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  for (const nnex::Value& v : *out) {
    const auto y = v.tensor()->as<float>();
    EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{4, 6}));
  }
  model = Model::load(testing::TempDir() + "/nnex_absent.webnn");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code(), Code::unreadable);
}

TEST(WebnnProgram, Modules) {
  auto program = written("graph g(new: f32[2]) -> (y) { y = mul(clamp(new, f32[](0.0)), f32[2](1.0, 2.0)); }");
  ASSERT_TRUE(program.ok());
  const auto text = module_text(*program, WeightFile(*program), "w.weights");
  ASSERT_TRUE(text.ok());
  for (const char* line :
       {"const new_1 = builder.input(\"new\", {dataType: 'float32', shape: [2]});", "constant('float32', [2], 0, 8)",
        "builder.clamp(new_1, {", "minValue: 0.0", "return builder.build({[\"y\"]: y});"})
    EXPECT_NE(text->find(line), std::string::npos) << line << " in\n" << *text;
}

/// Multiply-adds of a graph whose extents are known.
int64_t work_of(const ir::Graph& graph) {
  Dim sum = 0;
  for (NodeId id : graph.order_with_blocks()) sum = sum + multiply_adds(graph, graph[id]);
  return sum.number().value_or(0);
}

/// Every stored network at the extents of its stored inputs. Where code is not optimised, large ones do not run.
TEST(WebnnProgram, Networks) {
  const auto folder = stored::shared() / "models/onnx";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << " (NNEX_SHARED)";
  // Trees are not WebNN's; silero_vad chooses between graphs as it runs.
  const std::set<std::string> other = {"xgboost_classifier_tree", "xgboost_regressor_tree", "silero_vad"};
  size_t said = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string network = entry.path().filename().string();
    if (!std::filesystem::exists(entry.path() / "model.onnx")) continue;
    SCOPED_TRACE(network);
    const std::string path = (entry.path() / "model.onnx").string();
    auto graph = read_model(path, {});
    ASSERT_TRUE(graph.ok());
    const auto in = stored::inputs(entry.path(), *graph);
    for (size_t i = 0; i < in.size(); ++i) {
      const ValueId v = graph->inputs()[i];
      graph->set_type(v, Type::tensor(in[i].tensor()->dtype(), dims_of(in[i].tensor()->shape())));
    }
    auto program = to_program(*graph, "");
    EXPECT_EQ(program.ok(), other.count(network) == 0) << (program.ok() ? "" : program.error().text());
    if (!program.ok()) continue;
    auto played = graph_of(*program);
    ASSERT_TRUE(played.ok()) << played.error().text();
    ++said;
    if (test::share() > 1 && work_of(*played) > 5'000'000) continue;
    const auto before = Model::load(path), after = compile(std::move(played).value());
    ASSERT_TRUE(before.ok() && after.ok());
    expect_same_answers(*before, *after, in, 1e-3);
  }
  RecordProperty("networks", static_cast<int>(said));
}

}  // namespace
}  // namespace nnex::ml
