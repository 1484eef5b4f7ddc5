// Graphs written as ONNX models: what is read back computes the same bytes, and what cannot be said is named.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "api/export.h"
#include "api/read.h"
#include "graph/infer.h"
#include "nnex/check.h"
#include "nnex/compare.h"
#include "nnex/edit.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "onnx_bytes.h"
#include "onnx_written.h"
#include "ops/join.h"
#include "ops/pool.h"
#include "standards/onnx/read_wire.h"
#include "standards/onnx/text.h"
#include "standards/onnx/write_wire.h"
#include "stored.h"
#include "stored_networks.h"
#include "tensor_of.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;
using namespace test::onnx_written;

/// x -> build(b, x) -> y, of the extents of one input.
template <class F>
ir::Graph network(const Shape& shape, F build) {
  ir::Graph graph;
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, dims_of(shape)));
  Builder b(graph, kMain);
  const ValueId y = build(b, x);
  graph.set_name(y, "y");
  graph.set_results(kMain, {y});
  return graph;
}

void round_trip(const ir::Graph& graph, const Shape& shape) {
  const std::vector<Value> in = {ramp(shape)};
  auto bytes = written(graph);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  expect_same(answers_to(ir::Graph(graph), in), answers_to(read(*bytes), in));
}

// ---- The wire

TEST(WireWriter, LengthsAreKnownBeforeBytes) {
  using namespace wire;
  const std::string far(300, 'x');
  Message inner;
  inner.integer(FieldNumber{1}, -1);
  inner.borrowed(FieldNumber{2}, far);
  inner.real(FieldNumber{3}, 0.5F);
  Message outer;
  outer.bytes(FieldNumber{4}, "name");
  outer.message(FieldNumber{5}, std::move(inner));
  outer.integers(FieldNumber{6}, Ints{1, 300, -2});
  const std::string text = outer.text();
  EXPECT_EQ(text.size(), outer.size());
  Reader r(text);
  wire::Field f;
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.bytes, "name");
  ASSERT_TRUE(r.next(f));
  Reader in(f.bytes);
  wire::Field g;
  ASSERT_TRUE(in.next(g));
  EXPECT_EQ(g.integer(), -1);
  ASSERT_TRUE(in.next(g));
  EXPECT_EQ(g.bytes, far);
  ASSERT_TRUE(in.next(g));
  EXPECT_EQ(g.real(), 0.5F);
  ASSERT_TRUE(r.next(f));
  Ints back;
  EXPECT_TRUE(each_number(f, 0, [&](uint64_t n) { back.push_back(static_cast<int64_t>(n)); }));
  EXPECT_EQ(back, (Ints{1, 300, -2}));
  EXPECT_FALSE(r.next(f));
  EXPECT_TRUE(r.ok());
}

// ---- Rows that ONNX says in other words

TEST(OnnxWrite, RowsWithoutASpelling) {
  const Shape shape{2, 3, 4, 5};
  const struct {
    const char* name;
    ValueId (*build)(Builder&, ValueId);
  } rows[] = {
      {"a product with itself", [](Builder& b, ValueId x) { return b("sqr", {x}); }},
      {"slices one by one",
       [](Builder& b, ValueId x) {
         AxisAttrs a;
         a.axis = 1;
         return b("stack", {x, b("neg", {x})}, a);
       }},
      {"each slice twice",
       [](Builder& b, ValueId x) {
         RepeatAttrs a;
         a.repeats = 2, a.axis = 2;
         return b("repeat", {x}, a);
       }},
      {"backwards", [](Builder& b, ValueId x) { return b("reverse", {x}); }},
      {"not equal",
       [](Builder& b, ValueId x) {
         return b("select", {b("ne", {x, b("abs", {x})}), x, b("neg", {x})});
       }},
      {"limits that cross",
       [](Builder& b, ValueId x) {
         return b("clamp", {x, b.number(DType::f32, 1), b.number(DType::f32, -1)});
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    round_trip(network(shape, row.build), shape);
  }
}

TEST(OnnxWrite, BordersOfPools) {
  const Shape shape{1, 2, 5, 6};
  for (PoolBorder border : {PoolBorder::constant, PoolBorder::replicate, PoolBorder::reflect, PoolBorder::ignore}) {
    PoolAttrs a;
    a.size = {1, 1, 3, 2}, a.stride = {1, 1, 2, 1}, a.padding = {{0, 0}, {0, 0}, {1, 1}, {1, 0}}, a.border = border;
    round_trip(network(shape, [&](Builder& b, ValueId x) { return b("max_pool", {x}, a); }), shape);
    a.divisor = Divisor::window;
    round_trip(network(shape, [&](Builder& b, ValueId x) { return b("box", {x}, a); }), shape);
  }
}

/// A root of a mean divides by the taps inside the input, of which a border has fewer than the rest.
TEST(OnnxWrite, RootsOfMeansAtTheBorder) {
  const Shape shape{1, 2, 5, 6};
  PoolAttrs a;
  a.size = {1, 1, 3, 2}, a.stride = {1, 1, 2, 1}, a.padding = {{0, 0}, {0, 0}, {1, 1}, {1, 0}};
  for (PoolBorder border : {PoolBorder::constant, PoolBorder::replicate, PoolBorder::ignore})
    for (Divisor divisor : {Divisor::window, Divisor::inside})
      for (double p : {1.0, 2.0, 3.0}) {
        if (border == PoolBorder::replicate && divisor == Divisor::inside) continue;  // an average of nobody
        SCOPED_TRACE(
            fmt::format("border {}, divisor {}, p {}", static_cast<int>(border), static_cast<int>(divisor), p));
        a.border = border, a.divisor = divisor, a.p = p;
        const ir::Graph graph = network(shape, [&](Builder& b, ValueId x) { return b("lp_pool", {x}, a); });
        auto bytes = written(graph);
        ASSERT_TRUE(bytes.ok()) << bytes.error().text();
        const auto wanted = answers_to(ir::Graph(graph), {ramp(shape)}),
                   found = answers_to(read(*bytes), {ramp(shape)});
        ASSERT_EQ(found.size(), 1U);
        const Tensor &w = *wanted[0].tensor(), &f = *found[0].tensor();
        ASSERT_EQ(f.count(), w.count());
        for (int64_t i = 0; i < w.count(); ++i) EXPECT_NEAR(real_at(f, i), real_at(w, i), 1e-5) << i;
      }
}

/// SparseTensorProto {0, 5} {6, 0} under that name.
std::string sparse_named(std::string_view name) {
  using namespace test::onnx;
  return msg(1, tensor(name, {2}, raw_bytes<float>({5, 6}))) + msg(2, longs("", {1, 2})) + num(3, 2) + num(3, 2);
}

/// What a sparse constant stands for is a dense tensor, whether it is an initializer or a node's.
TEST(OnnxWrite, SparseConstantsAreDense) {
  using namespace test::onnx;
  const std::string x = value("x", {2, 2}), y = value("y", {2, 2}), add = node("Add", {"x", "s"}, {"y"});
  const std::string node_of =
      node("Constant", {}, {"s"}, msg(5, msg(1, "sparse_value") + msg(22, sparse_named("")) + num(20, 11)));
  const test::onnx::Graph held{{add}, {x}, {y}};
  const std::string initializer = num(1, 8) + msg(7, held.bytes() + msg(15, sparse_named("s"))) + opset("", 17);
  for (const std::string& bytes : {model({{node_of, add}, {x}, {y}}), initializer}) {
    const std::vector<Value> in = {test::f({2, 2}, {1, 2, 3, 4})};
    const auto out = answers_to(read(bytes), in);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_TRUE(same_value(out[0], test::f({2, 2}, {1, 7, 9, 4})));
    const auto again = written(read(bytes));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_TRUE(same_value(answers_to(read(*again), in).at(0), out[0]));
    const auto report = nnex::check(ModelSource::memory(bytes));
    EXPECT_TRUE(report.ok() && report->sound());
  }
}

/// One that is declared sparse stays so, there and back.
TEST(OnnxWrite, SparseOutputsStaySparse) {
  using namespace test::onnx;
  const std::string extents = msg(1, num(1, 2)) + msg(1, num(1, 2));
  const std::string sparse = msg(1, "s") + msg(2, msg(8, num(1, kFloat) + msg(2, extents)));
  const std::string x = value("x", {2, 2}), y = value("y", {2, 2});
  const test::onnx::Graph all{{node("Relu", {"x"}, {"y"})}, {x}, {y, sparse}};
  std::string bytes = num(1, 8) + msg(7, all.bytes() + msg(15, sparse_named("s"))) + opset("", 17);
  for (int times = 0; times < 2; ++times) {
    const ir::Graph graph = read(bytes);
    ASSERT_EQ(graph.outputs().size(), 2u);
    EXPECT_TRUE(graph[graph.outputs()[1]].constant.sparse());
    const auto again = written(graph);
    ASSERT_TRUE(again.ok()) << again.error().text();
    bytes = *again;
  }
}

/// A few bytes ask for 4 GB.
TEST(OnnxWrite, SparseConstantsAreBounded) {
  using namespace test::onnx;
  const std::string large = msg(1, tensor("s", {1}, raw_bytes<float>({5}))) + msg(2, longs("", {7})) + num(3, 1 << 30);
  const test::onnx::Graph held{{node("Shape", {"s"}, {"y"})}, {}, {value("y", {1}, kInt64)}};
  const std::string bytes = num(1, 8) + msg(7, held.bytes() + msg(15, large)) + opset("", 17);
  const auto graph = read_model_bytes(bytes, {});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::limit);
  ASSERT_EQ(graph.error().remedies().size(), 1u);
  EXPECT_EQ(graph.error().remedies()[0].option, "archive_ratio");
}

/// Bodies of functions are written as they are where the opset has the same operators, else in place of the calls.
TEST(OnnxWrite, FunctionsFollowTheOpset) {
  using namespace test::onnx;
  const auto bytes = [](const char* op) {
    return model({{node("g", {"x"}, {"y"}, {}, "f")}, {value("x", {2, 3})}, {value("y", {2, 3})}},
                 opset("f", 1) + function("g", {"a"}, {"b"}, {node(op, {"a"}, {"b"})}));
  };
  const auto at_12 = [](const std::string& from) {
    ir::Graph graph = read(from);
    auto made = to_onnx(graph, {{}, false, {}, 12});
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made.ok() ? made->model.text() : std::string();
  };
  for (const char* op : {"Relu", "Softmax"}) {
    const std::string out = at_12(bytes(op));
    EXPECT_TRUE(read(out).functions.empty()) << op;
    const auto report = nnex::check(ModelSource::memory(out));
    EXPECT_TRUE(report.ok() && report->sound()) << op;
  }
  EXPECT_EQ(read(at_12(bytes("Ceil"))).functions.size(), 0u);  // another one from opset 13 on
  EXPECT_EQ(read(at_12(bytes("Softplus"))).functions.size(), 1u);
}

/// Extents reach into the bodies of functions.
TEST(OnnxWrite, ShapesGoThroughFunctions) {
  using namespace test::onnx;
  const std::string bytes = model({{node("g", {"x"}, {"y"}, {}, "f")}, {value("x", {2, 3})}, {value("y", {2, 3})}},
                                  opset("f", 1) + function("g", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})}));
  auto graph = load_graph(ModelSource::memory(bytes));
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(set_shapes(*graph, {{"x", {5, 4}}}).ok());
  const auto files = to_bytes(*graph, Format::onnx);
  ASSERT_TRUE(files.ok()) << files.error().text();
  const auto report = nnex::check(ModelSource::memory(*files));
  EXPECT_TRUE(report.ok() && report->sound());
  EXPECT_EQ(load_model(ModelSource::memory(*files))->outputs()[0].type, "f32[5,4]");
}

/// An operation without a domain, as NNEF's fragments without bodies are: in ONNX it has one, and is no operator of
/// ONNX that happens to have its name.
TEST(OnnxWrite, OperationsWithoutADomain) {
  ir::Graph graph;
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, dims_of(Shape{2})));
  Builder b(graph, kMain);
  const NodeId made = b.node(custom_op(), {x}, 1, nullptr);
  auto custom = std::make_shared<CustomNode>();
  custom->name = "Relu", custom->attrs = {{"k", int64_t{3}}};
  graph.set_custom(made, std::move(custom));
  const ValueId y = graph[made].out[0];
  graph.set_name(y, "y");
  graph.set_type(y, Type::tensor(DType::f32));
  graph.set_results(kMain, {y});
  for (int times = 0; times < 2; ++times) {  // from NNEF, and from ONNX again
    auto model = to_onnx(graph, {{}, true, {}});
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(model->nodes, 1u);
    graph = read(model->model.text());
    EXPECT_EQ(graph.meta.opsets.count("nnef"), 1u);
    const Node* node = graph.producer(graph.outputs()[0]);
    ASSERT_TRUE(node && node->custom);
    EXPECT_EQ(node->custom->domain + ":" + node->custom->name, ":Relu");
    ASSERT_EQ(node->custom->attrs.size(), 1u);
    EXPECT_EQ(node->custom->attrs[0].first, "k");
    const auto* k = std::get_if<int64_t>(&node->custom->attrs[0].second);
    EXPECT_TRUE(k && *k == 3);
  }
}

/// Nobody says what a custom operator gives: the file has no type for the output, which a note tells.
TEST(OnnxWrite, OutputsWithoutATypeAreNoted) {
  auto graph = Graph::parse("graph main(x: f32[N,2]) -> (y) { [y] = custom 'a.b:Op:'([x]); }");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  SaveOptions options;
  options.custom = true;
  const std::string path = ::testing::TempDir() + "untyped.onnx";
  options.overwrite = Overwrite::replace;
  const auto report = save(*graph, path, options);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0].rfind("output 'y' has no type, which checkers of ONNX ask for: operator 'Op'", 0), 0u);
}

/// Two operators that ONNX lacks are both in the message; as custom ones they come back as they were.
TEST(OnnxWrite, WhatOnnxLacksIsNamedOrCustom) {
  const Shape shape{1, 2, 4, 4};
  PoolAttrs a;
  a.size = {1, 1, 2, 2}, a.stride = {1, 1, 2, 2};
  const ir::Graph graph = network(shape, [&](Builder& b, ValueId x) {
    const ValueId wide = b("debox", {x}, a);
    return b("debox", {b("relu", {wide})}, a);
  });
  auto plain = written(graph);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code(), Code::unsupported);
  EXPECT_NE(plain.error().text().find("2 operations"), std::string::npos) << plain.error().text();
  auto bytes = written(graph, true);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  const std::vector<Value> in = {ramp(shape)};
  expect_same(answers_to(ir::Graph(graph), in), answers_to(read(*bytes), in));
}

// ---- The file

TEST(OnnxWrite, TheSameBytesEveryTime) {
  const Shape shape{2, 3};
  const ir::Graph graph = network(shape, [](Builder& b, ValueId x) {
    return b("add", {b("mul", {x, b.number(DType::f32, 2)}), b.constant(Tensor::of<float>(Shape{3}, {1, 2, 3}))});
  });
  const auto one = written(graph), two = written(graph);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, *two);
}

TEST(OnnxWrite, MetadataSurvives) {
  ir::Graph graph = network(Shape{2}, [](Builder& b, ValueId x) { return b("relu", {x}); });
  graph.meta.producer = "somebody", graph.meta.doc = "what it is", graph.meta.model_version = 7;
  graph.meta.graph_name = "main", graph.meta.domain = "org.example";
  graph.meta.properties = {{"author", "A"}, {"licence", "B"}};
  auto bytes = written(graph);
  ASSERT_TRUE(bytes.ok());
  const Metadata back = read(*bytes).meta;
  EXPECT_EQ(back.producer, "somebody");
  EXPECT_EQ(back.doc, "what it is");
  EXPECT_EQ(back.model_version, 7);
  EXPECT_EQ(back.graph_name, "main");
  EXPECT_EQ(back.domain, "org.example");
  EXPECT_EQ(back.properties, graph.meta.properties);
}

TEST(OnnxWrite, ExternalData) {
  const Shape shape{64, 32};
  ir::Graph graph = network(shape, [&](Builder& b, ValueId x) {
    return b("add", {b("mul", {x, b.constant(ramp(shape))}), b.constant(ramp(Shape{32}))});
  });
  const fs::path folder = fs::temp_directory_path() / "nnex_onnx_write_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  ir::Graph copy(graph);
  auto model = to_onnx(copy, {{}, false, "m.onnx.data"});
  ASSERT_TRUE(model.ok()) << model.error().text();
  ASSERT_TRUE(onnx_format::save_model(*model, path).ok());
  EXPECT_EQ(fs::file_size(folder / "m.onnx.data"), 64U * 32 * 4);  // the vector is too small for a place there
  auto back = read_model(path, {});
  ASSERT_TRUE(back.ok()) << back.error().text();
  const std::vector<Value> in = {ramp(shape)};
  expect_same(answers_to(std::move(graph), in), answers_to(std::move(*back), in));
  fs::remove_all(folder);
}

/// The file's reader need not know R's shape before it runs.
TEST(OnnxWrite, HiddenSizeOfWeightsThatARunMakes) {
  using namespace test::onnx;
  const std::vector<std::string> nodes = {node("Reshape", {"u", "s"}, {"w"}), node("Reshape", {"v", "t"}, {"r"}),
                                          node("LSTM", {"x", "w", "r"}, {"y"}, attr_int("hidden_size", 3))};
  const std::string bytes = model(
      {nodes,
       {value("x", {5, 1, 2}), value("u", {24}), value("v", {36}), value("s", {3}, kInt64), value("t", {3}, kInt64)},
       {value("y", {5, 1, 1, 3})}});
  ir::Graph graph = read(bytes);
  EXPECT_EQ(graph[graph.outputs()[0]].type.text(), "f32[5,1,1,3]");
  const auto written = to_onnx(graph, {});
  ASSERT_TRUE(written.ok()) << written.error().text();
  const std::string text = onnx_format::print_model_text(written->model.text())->text;
  EXPECT_NE(text.find("hidden_size: int = 3"), std::string::npos) << text;
}

// ---- Networks

class OnnxNetworks : public testing::TestWithParam<stored::Network> {};

TEST_P(OnnxNetworks, AnswerTheSameWhenWrittenAndRead) {
  auto graph = read_model((GetParam().folder / "model.onnx").string(), {});
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto bytes = written(*graph);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  const std::vector<Value> in = stored::inputs(GetParam().folder, *graph);
  expect_same(answers_to(std::move(*graph), in), answers_to(read(*bytes), in));
}

INSTANTIATE_TEST_SUITE_P(Stored, OnnxNetworks, testing::ValuesIn(stored::networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace nnex
