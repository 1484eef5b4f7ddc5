// slow
// Ten times the network, about ten times the work: reading, checking, every pass, planning and a run of networks of
// 10,000 and of 100,000 nodes, in each format.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "api/read.h"
#include "cvm_model.h"
#include "graph/infer.h"
#include "graph/verify.h"
#include "nnex/model.h"
#include "onnx_bytes.h"
#include "run/compile.h"
#include "share.h"
#include "standards/nnef/model.h"
#include "standards/webnn/program_file.h"

namespace nnex {
namespace {

namespace pb = test::onnx;
using Names = std::vector<std::string>;

/// A network of about n nodes, and what it is as bytes.
struct Files {
  std::string bytes;           ///< ONNX, NNEF, or a WebNN program.
  std::string symbol, params;  ///< CVM.
};

std::string name(char letter, size_t i) { return letter + std::to_string(i); }
Names names(char letter, size_t n) {
  Names out;
  for (size_t i = 0; i < n; ++i) out.push_back(name(letter, i));
  return out;
}

// ---- ONNX: x is f32[4]

std::string onnx(std::vector<std::string> nodes, const Names& outputs, std::vector<std::string> weights = {},
                 const Names& inputs = {"x"}) {
  pb::Graph g{std::move(nodes), {}, {}, std::move(weights)};
  for (const std::string& x : inputs) g.inputs.push_back(pb::value(x, {4}));
  for (const std::string& y : outputs) g.outputs.push_back(pb::value(y, {4}));
  return pb::model(g);
}

Files onnx_chain(size_t n) {
  std::vector<std::string> nodes = {pb::node("Relu", {"x"}, {"y0"})};
  for (size_t i = 1; i < n; ++i) nodes.push_back(pb::node("Relu", {name('y', i - 1)}, {name('y', i)}));
  return {onnx(std::move(nodes), {name('y', n - 1)}), {}, {}};
}

/// Nodes that no kernel takes together, so that each has memory of its own.
Files onnx_loose_chain(size_t n) {
  std::vector<std::string> nodes = {pb::node("Softmax", {"x"}, {"y0"})};
  for (size_t i = 1; i < n; ++i) nodes.push_back(pb::node("Softmax", {name('y', i - 1)}, {name('y', i)}));
  return {onnx(std::move(nodes), {name('y', n - 1)}), {}, {}};
}

Files onnx_wide(size_t n) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < n; ++i)
    nodes.push_back(pb::node("Softmax", {"x"}, {name('y', i)}, pb::attr_int("axis", i % 2 ? 0 : -1)));
  for (size_t i = 0; i < n; ++i) nodes.push_back(pb::node("Add", {name('y', i), name('c', i)}, {name('z', i)}));
  std::vector<std::string> weights;
  for (size_t i = 0; i < n; ++i)
    weights.push_back(pb::tensor(name('c', i), {4}, pb::raw_bytes(std::vector<float>(4, static_cast<float>(i)))));
  nodes.push_back(pb::node("Sum", names('z', n), {"y"}));
  return {onnx(std::move(nodes), {"y"}, std::move(weights)), {}, {}};
}

Files onnx_constants(size_t n) {
  std::vector<std::string> nodes, weights;
  for (size_t i = 0; i < n; ++i) {
    weights.push_back(pb::tensor(name('c', i), {4}, pb::raw_bytes(std::vector<float>(4, static_cast<float>(i)))));
    nodes.push_back(pb::node("Add", {i > 0 ? name('y', i - 1) : "x", name('c', i)}, {name('y', i)}));
  }
  return {onnx(std::move(nodes), {name('y', n - 1)}, std::move(weights)), {}, {}};
}

Files onnx_outputs(size_t n) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < n; ++i) nodes.push_back(pb::node("Softmax", {i > 0 ? name('y', i - 1) : "x"}, {name('y', i)}));
  return {onnx(std::move(nodes), names('y', n)), {}, {}};
}

/// Every input goes into one sum.
Files onnx_inputs(size_t n) {
  return {onnx({pb::node("Sum", names('x', n), {"y"})}, {"y"}, {}, names('x', n)), {}, {}};
}

/// One value goes into a sum again and again.
Files onnx_one_input(size_t n) {
  return {
      pb::model({{pb::node("Sum", Names(n, "x"), {"y"})}, {pb::value("x", {2, 3})}, {pb::value("y", {2, 3})}}), {}, {}};
}

/// Convolutions that look around whether to change their layout.
Files onnx_depthwise(size_t n) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < n; ++i)
    nodes.push_back(pb::node("Conv", {i > 0 ? name('y', i - 1) : "x", "w"}, {name('y', i)}, pb::attr_int("group", 2)));
  const pb::Graph g{std::move(nodes),
                    {pb::value("x", {1, 2, 3, 3})},
                    {pb::value(name('y', n - 1), {1, 2, 3, 3})},
                    {pb::tensor("w", {2, 1, 1, 1}, pb::raw_bytes(std::vector<float>{1, 2}))}};
  return {pb::model(g), {}, {}};
}

/// Factors that a pass collects.
Files onnx_quotients(size_t n) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < n; ++i)
    nodes.push_back(pb::node("Div", {i > 0 ? name('y', i - 1) : "x", "c"}, {name('y', i)}));
  return {
      onnx(std::move(nodes), {name('y', n - 1)}, {pb::tensor("c", {}, pb::raw_bytes(std::vector<float>{2}))}), {}, {}};
}

/// Blocks in blocks, as deep as a file may have them, a tenth of the nodes in each.
Files onnx_deep(size_t n) {
  constexpr size_t kDepth = 10;
  std::string inner;
  for (size_t d = kDepth; d-- > 0;) {
    std::vector<std::string> nodes;
    const std::string last = fmt::format("d{}", d);
    std::string at = d > 0 ? fmt::format("d{}_0", d - 1) : "x";
    for (size_t i = 0; i < n / kDepth; ++i) {
      nodes.push_back(pb::node("Softmax", {at}, {fmt::format("d{}_{}", d, i)}));
      at = fmt::format("d{}_{}", d, i);
    }
    if (inner.empty())
      nodes.push_back(pb::node("Relu", {at}, {last}));
    else
      nodes.push_back(pb::node(
          "If", {"c"}, {last},
          pb::attr_graph("then_branch", inner) +
              pb::attr_graph(
                  "else_branch",
                  pb::Graph{{pb::node("Relu", {at}, {last + "e"})}, {}, {pb::value(last + "e", {4})}}.bytes())));
    if (d > 0)
      inner = pb::Graph{nodes, {}, {pb::value(last, {4})}}.bytes();
    else
      return {
          pb::model(
              {nodes, {pb::value("x", {4})}, {pb::value(last, {4})}, {pb::tensor("c", {}, std::string(1, '\1'), 9)}}),
          {},
          {}};
  }
  return {};
}

/// Extents that only a run knows, again and again: as many stretches are planned, each for itself.
Files onnx_cuts(size_t n) {
  std::vector<std::string> nodes;
  std::string at = "x";
  for (size_t i = 0; i < n / 3; ++i) {
    nodes.push_back(pb::node("NonZero", {at}, {name('n', i)}));
    nodes.push_back(pb::node("Cast", {name('n', i)}, {name('f', i)}, pb::attr_int("to", pb::kFloat)));
    nodes.push_back(pb::node("Squeeze", {name('f', i), "axes"}, {name('y', i)}));
    at = name('y', i);
  }
  return {pb::model({nodes, {pb::value("x", {4})}, {pb::value(at, {-1})}, {pb::longs("axes", {0})}}), {}, {}};
}

/// Functions that call one another, as deep as they are many.
Files onnx_functions(size_t n) {
  std::string functions;
  n /= 10;
  for (size_t i = 0; i < n; ++i)
    functions +=
        pb::function(name('F', i), {"a"}, {"b"},
                     {i + 1 < n ? pb::node(name('F', i + 1), {"a"}, {"b"}, {}, "f") : pb::node("Relu", {"a"}, {"b"})});
  const pb::Graph g{{pb::node("F0", {"x"}, {"y"}, {}, "f")}, {pb::value("x", {4})}, {pb::value("y", {4})}};
  return {pb::model(g, functions + pb::opset("f", 1)), {}, {}};
}

/// One block after another.
Files onnx_blocks(size_t n) {
  std::vector<std::string> nodes;
  for (size_t i = 0; i < n / 2; ++i) {
    const std::string at = i > 0 ? name('y', i - 1) : "x";
    const auto branch = [&](const char* op, const char* end) {
      return pb::Graph{{pb::node(op, {at}, {name('b', i) + end})}, {}, {pb::value(name('b', i) + end, {4})}}.bytes();
    };
    nodes.push_back(pb::node(
        "If", {"c"}, {name('y', i)},
        pb::attr_graph("then_branch", branch("Relu", "t")) + pb::attr_graph("else_branch", branch("Neg", "e"))));
  }
  pb::Graph g{std::move(nodes), {pb::value("x", {4}), pb::value("c", {}, 9)}, {pb::value(name('y', n / 2 - 1), {4})}};
  return {pb::model(g), {}, {}};
}

// ---- NNEF

std::string nnef(const std::string& body, const std::string& outputs) {
  return fmt::format("version 1.0;\ngraph g(x) -> ({})\n{{\n  x = external(shape = [1, 4]);\n{}}}\n", outputs, body);
}

Files nnef_chain(size_t n) {
  std::string body;
  for (size_t i = 0; i < n; ++i) body += fmt::format("  y{} = relu({});\n", i, i > 0 ? name('y', i - 1) : "x");
  return {nnef(body, name('y', n - 1)), {}, {}};
}

Files nnef_wide(size_t n) {
  std::string body;
  for (size_t i = 0; i < n; ++i) body += fmt::format("  y{} = mul(x, {}.5);\n", i, i);
  body += fmt::format("  y = concat([{}], axis = 0);\n", fmt::join(names('y', n), ", "));
  return {nnef(body, "y"), {}, {}};
}

Files nnef_outputs(size_t n) {
  std::string body;
  for (size_t i = 0; i < n; ++i) body += fmt::format("  y{} = softmax({});\n", i, i > 0 ? name('y', i - 1) : "x");
  return {nnef(body, fmt::format("{}", fmt::join(names('y', n), ", "))), {}, {}};
}

// ---- CVM

struct CvmNetwork {
  cvm_model::Symbol s;
  std::vector<cvm_model::Param> params;

  CvmNetwork() {
    s.precision.emplace(), s.node_row_ptr.emplace(), s.arg_nodes.emplace();
    variable("data");
  }
  int64_t entry(std::string name, std::string op, std::vector<cvm_model::Entry> in, int64_t bits, Ints shape,
                std::string attrs) {
    const auto at = static_cast<int64_t>(s.nodes.size());
    s.nodes.push_back({std::move(name), std::move(op), std::move(in)});
    s.shapes.push_back(std::move(shape)), s.storage_ids.push_back(at), s.op_attrs.push_back(std::move(attrs));
    s.precision->push_back(bits), s.node_row_ptr->push_back(at);
    return at;
  }
  int64_t variable(const std::string& name) {
    const int64_t at = entry(name, "", {}, 8, {2, 2}, "");
    s.arg_nodes->push_back(at);
    return at;
  }
  int64_t parameter(size_t i) {
    params.push_back({name('c', i), Tensor::of<int8_t>(Shape{2, 2}, {1, 2, 3, static_cast<int8_t>(i % 100)})});
    return variable(name('c', i));
  }
  int64_t node(const std::string& op, const std::vector<int64_t>& in, const std::string& attrs = "{}",
               Ints shape = {2, 2}) {
    std::vector<cvm_model::Entry> entries;
    for (int64_t i : in) entries.push_back({i, 0});
    return entry(name('n', s.nodes.size()), op, std::move(entries), -1, std::move(shape), attrs);
  }
  Files files(const std::vector<int64_t>& heads) {
    for (int64_t h : heads) s.heads.push_back({h, 0});
    s.node_row_ptr->push_back(static_cast<int64_t>(s.nodes.size()));
    return {{}, cvm_model::write_symbol(s), cvm_model::write_params(params)};
  }
};

constexpr const char* kClip = R"({"precision": "8"})";

Files cvm_chain(size_t n) {
  CvmNetwork net;
  int64_t at = 0;
  for (size_t i = 0; i < n; ++i) at = net.node("relu", {at});
  return net.files({at});
}

/// Clips and shifts, which cannot all be one region.
Files cvm_mixed_chain(size_t n) {
  CvmNetwork net;
  int64_t at = 0;
  for (size_t i = 0; i < n / 4; ++i) {
    at = net.node("cvm_clip", {at}, kClip);
    at = net.node("negative", {net.node("transpose", {at}, R"({"axes": "[1, 0]"})")});
    at = net.node("elemwise_add", {at, 0});
  }
  return net.files({at});
}

Files cvm_wide(size_t n) {
  CvmNetwork net;
  std::vector<int64_t> all;
  for (size_t i = 0; i < n; ++i) all.push_back(net.node("negative", {0}, "{}"));
  const auto rows = static_cast<int64_t>(2 * n);
  return net.files({net.node("concatenate", all, R"({"axis": "0"})", {rows, 2})});
}

Files cvm_constants(size_t n) {
  CvmNetwork net;
  int64_t at = 0;
  for (size_t i = 0; i < n / 2; ++i) {
    const int64_t c = net.parameter(i);
    at = net.node("cvm_clip", {net.node("elemwise_add", {at, c})}, kClip);
  }
  return net.files({at});
}

Files cvm_heads(size_t n) {
  CvmNetwork net;
  std::vector<int64_t> all;
  for (size_t i = 0; i < n; ++i) all.push_back(net.node("relu", {all.empty() ? 0 : all.back()}));
  return net.files(all);
}

// ---- WebNN

std::string program(const std::string& constants, const std::string& operations, const std::string& outputs) {
  return fmt::format(
      R"({{"format": "nnex.webnn/1", "inputs": [{{"name": "x", "dataType": "float32", "shape": [4]}}], "constants": [{}],
"operations": [{}], "outputs": {{{}}}}})",
      constants, operations, outputs);
}

std::string unary(const char* op, const std::string& in, const std::string& out) {
  return fmt::format(R"({{"op": "{}", "args": {{"input": "{}"}}, "results": ["{}"]}})", op, in, out);
}

Files webnn_chain(size_t n) {
  Names calls;
  for (size_t i = 0; i < n; ++i)
    calls.push_back(unary(i % 3 ? "relu" : "tanh", i > 0 ? name('y', i - 1) : "x", name('y', i)));
  return {
      program("", fmt::format("{}", fmt::join(calls, ",\n")), fmt::format(R"("y": "{}")", name('y', n - 1))), {}, {}};
}

Files webnn_wide(size_t n) {
  constexpr size_t kJoined = 100;  // a call takes 8,192 operands
  Names calls, all, some, constants;
  const auto join = [&](const Names& names, const std::string& y) {
    calls.push_back(fmt::format(R"({{"op": "concat", "args": {{"inputs": [{}], "axis": 0}}, "results": ["{}"]}})",
                                fmt::join(names, ", "), y));
  };
  for (size_t i = 0; i < n; ++i) {
    constants.push_back(
        fmt::format(R"({{"name": "c{}", "dataType": "float32", "shape": [4], "data": [1, 2, 3, {}]}})", i, i));
    calls.push_back(fmt::format(R"({{"op": "mul", "args": {{"a": "x", "b": "c{}"}}, "results": ["y{}"]}})", i, i));
    some.push_back(fmt::format(R"("y{}")", i));
    if (some.size() < kJoined) continue;
    join(some, name('z', i)), all.push_back(fmt::format(R"("z{}")", i)), some.clear();
  }
  join(all, "y");
  return {program(fmt::format("{}", fmt::join(constants, ",\n")), fmt::format("{}", fmt::join(calls, ",\n")),
                  R"("y": "y")"),
          {},
          {}};
}

// ---- What is timed

Result<ir::Graph> read_bytes(const Files& files) { return read_model_bytes(files.bytes, {}); }
Result<ir::Graph> read_cvm(const Files& files) {
  return cvm_format::read_model(files.symbol, files.params, nullptr, false);
}
Result<ir::Graph> read_webnn(const Files& files) {
  NNEX_ASSIGN(ml::Program program,
              ml::read_program(files.bytes, [](const std::string&) -> Result<FileBytes> { return FileBytes{}; }));
  return ml::graph_of(program);
}

Result<std::vector<Value>> inputs_of(const Model& model) {
  std::vector<Value> out;
  for (const PortInfo& p : model.inputs()) {
    NNEX_ASSIGN(Tensor t, Tensor::make(p.dtype, Shape(p.extents)));
    std::fill_n(t.mutable_data(), t.bytes(), std::byte{0});
    out.emplace_back(std::move(t));
  }
  return out;
}

struct Network {
  const char* name;
  Files (*make)(size_t n);
  Result<ir::Graph> (*read)(const Files&);
};

constexpr const char* kStages[] = {"read", "check", "compile", "run"};
using Times = std::array<double, 4>;  ///< Of each stage: seconds of this process.

Result<Times> times_of(const Network& network, size_t n) {
  const Files files = network.make(n);
  Times out = {};
  size_t stage = 0;
  std::clock_t began = std::clock();
  const auto done = [&] {
    const std::clock_t now = std::clock();
    out[stage++] = static_cast<double>(now - began) / CLOCKS_PER_SEC;
    began = now;
  };
  NNEX_ASSIGN(ir::Graph graph, network.read(files));
  done();
  NNEX_TRY(verify(graph, "reading"));
  done();
  NNEX_ASSIGN(Model model, compile(std::move(graph)));
  done();
  NNEX_ASSIGN(const std::vector<Value> inputs, inputs_of(model));
  SessionOptions one_thread;
  one_thread.threads = 1;
  NNEX_ASSIGN(const std::vector<Value> outputs, model.session(one_thread).run(inputs));
  done();
  return out;
}

class Scaling : public testing::TestWithParam<Network> {};

TEST_P(Scaling, TenTimesTheNetworkIsAboutTenTimesTheWork) {
  // Ten times the nodes take 10.1 times the instructions; time grows more where only the smaller network stays in the
  // caches, and says nothing of growth below kFloor. What is quadratic takes 100 times as long.
  constexpr double kRatio = 50, kFloor = 0.05;
  const size_t small = 10'000 / test::share(), large = 10 * small;
  auto few = times_of(GetParam(), small);
  ASSERT_TRUE(few.ok()) << few.error().text();
  auto many = times_of(GetParam(), large);
  ASSERT_TRUE(many.ok()) << many.error().text();
  for (size_t i = 0; i < 4; ++i) {
    fmt::print("{:8} {:.3f} -> {:.3f} s\n", kStages[i], (*few)[i], (*many)[i]);
    EXPECT_LE((*many)[i], kRatio * std::max((*few)[i], kFloor)) << kStages[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Scaling,
    testing::Values(Network{"onnx_chain", onnx_chain, read_bytes},
                    Network{"onnx_loose_chain", onnx_loose_chain, read_bytes},
                    Network{"onnx_wide", onnx_wide, read_bytes}, Network{"onnx_constants", onnx_constants, read_bytes},
                    Network{"onnx_outputs", onnx_outputs, read_bytes}, Network{"onnx_inputs", onnx_inputs, read_bytes},
                    Network{"onnx_one_input", onnx_one_input, read_bytes}, Network{"onnx_deep", onnx_deep, read_bytes},
                    Network{"onnx_blocks", onnx_blocks, read_bytes},
                    Network{"onnx_depthwise", onnx_depthwise, read_bytes},
                    Network{"onnx_quotients", onnx_quotients, read_bytes}, Network{"onnx_cuts", onnx_cuts, read_bytes},
                    Network{"onnx_functions", onnx_functions, read_bytes},
                    Network{"nnef_chain", nnef_chain, read_bytes}, Network{"nnef_wide", nnef_wide, read_bytes},
                    Network{"nnef_outputs", nnef_outputs, read_bytes}, Network{"cvm_chain", cvm_chain, read_cvm},
                    Network{"cvm_mixed_chain", cvm_mixed_chain, read_cvm}, Network{"cvm_wide", cvm_wide, read_cvm},
                    Network{"cvm_constants", cvm_constants, read_cvm}, Network{"cvm_heads", cvm_heads, read_cvm},
                    Network{"webnn_chain", webnn_chain, read_webnn}, Network{"webnn_wide", webnn_wide, read_webnn}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace nnex
