// slow: nine image networks with weights made by a written rule (bench/light_seeded.py).

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "api/read.h"
#include "base/mapped_file.h"
#include "nnex/model.h"
#include "ops/matmul.h"
#include "run/compile.h"
#include "standards/nnef/import.h"
#include "stored.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;

fs::path shared() { return stored::shared() / "conformance/onnx"; }

uint32_t mix(uint32_t h) {
  h ^= h >> 16, h *= 0x85ebca6bU;
  h ^= h >> 13, h *= 0xc2b2ae35U;
  return h ^ (h >> 16);
}

Tensor values(const Shape& shape, uint32_t k, double low, double high) {
  Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
  const uint32_t key = mix(k + 1);
  uint32_t i = 0;
  for (float& v : t.mutable_as<float>())
    v = static_cast<float>(low + (high - low) * ((mix(i++ ^ key) >> 8) * std::ldexp(1.0, -24)));
  return t;
}

struct Bounds {
  double low, high;
};
Bounds symmetric(double terms) { return {-std::sqrt(6 / terms), std::sqrt(6 / terms)}; }

/// The bounds of a weight that its first reader decides.
Bounds bounds_of(const ir::Graph& g, ValueId weight, const Shape& shape) {
  const auto first_reader = [&](ValueId v) -> std::pair<const Node*, size_t> {
    for (NodeId id : g.order())
      for (size_t i = 0; i < g[id].in.size(); ++i)
        if (g[id].in[i] == v) return {&g[id], i};
    return {nullptr, 0};
  };
  const auto [reader, port] = first_reader(weight);
  EXPECT_NE(reader, nullptr);
  if (!reader) return {0, 0};
  const std::string_view op = reader->op->name;
  const auto inner = static_cast<double>(shape.count()) / static_cast<double>(shape[0]);
  if ((op == "conv" || op == "linear") && port == 2) return {-0.1, 0.1};
  if (op == "conv" || op == "reshape") return symmetric(inner);
  if (op == "linear") return symmetric(static_cast<double>(shape[g.attrs<LinearAttrs>(*reader).transpose_b ? 1 : 0]));
  if (op == "batch_normalization") {
    const std::string_view name = reader->op->inputs[port].name;
    return name == "scale" || name == "variance" ? Bounds{0.5, 1.5} : Bounds{-0.2, 0.2};
  }
  EXPECT_EQ(op, "unsqueeze");
  return first_reader(reader->out[0]).first->op->name == "mul" ? Bounds{0.5, 1.5} : Bounds{-0.2, 0.2};
}

/// The network with its weights, ending before its last softmax.
ir::Graph seeded(const fs::path& path) {
  ir::Graph g = std::move(read_model(path.string(), {})).value();
  uint32_t k = 0;
  for (NodeId id : g.order()) {
    if (g[id].op->name != "constant_of_shape") continue;
    const Shape shape(ints_of(*g.constant_in(g[id], 0)));
    const ValueId weight = g[id].out[0];
    const Bounds b = bounds_of(g, weight, shape);
    g.make_constant(weight, Value(values(shape, k++, b.low, b.high)));
    g.erase(id);
  }
  const Node* last = g.producer(g.outputs()[0]);
  if (last->op->name == "softmax") g.set_results(kMain, {last->in[0]});
  return g;
}

/// The weights and biases of convolutions and products, in the order of the network.
std::vector<Tensor> parameters(const ir::Graph& g) {
  std::vector<Tensor> out;
  for (NodeId id : g.order()) {
    if (g[id].op->name != "conv" && g[id].op->name != "linear") continue;
    for (size_t port = 1; port < g[id].in.size(); ++port) {
      ValueId v = g[id].in[port];
      while (!g[v].is_constant() && g.producer(v)) v = g.producer(v)->in[0];
      const Tensor* t = g[v].is_constant() ? g[v].constant.tensor() : nullptr;
      EXPECT_NE(t, nullptr) << g[id].op->name << " " << port;
      if (t) out.push_back(*t);
    }
  }
  return out;
}

Tensor logits(const fs::path& path) { return stored::value(path, Type::tensor(DType::f32)).tensor()->clone().value(); }

void compare(ir::Graph graph, const Tensor& want, bool optimize, double bound) {
  LoadOptions options;
  options.optimize = optimize;
  auto compiled = compile(std::move(graph), options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().text();
  SessionOptions session_options;
  session_options.threads = 0;
  auto session = compiled->session(session_options);
  std::vector<Value> in = {Value(values(Shape{1, 3, 224, 224}, 1'000'000, -1, 1))};
  auto out = session.run(in);
  ASSERT_TRUE(out.ok()) << out.error().text();
  const auto got = (*out)[0].tensor()->as<float>(), expected = want.as<float>();
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0, apart = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    apart = std::max(apart, std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
  }
  EXPECT_LE(apart, bound * largest) << (optimize ? "with" : "without") << " passes";
}

TEST(LightSeeded, TheRuleGivesTheWrittenInput) {
  const Tensor t = values(Shape{3}, 1'000'000, -1, 1);
  EXPECT_FLOAT_EQ(t.as<float>()[0], 0.147874236F);
  EXPECT_FLOAT_EQ(t.as<float>()[1], -0.706603050F);
  EXPECT_FLOAT_EQ(t.as<float>()[2], -0.686271310F);
}

TEST(LightSeeded, NineNetworksGiveTheirLogits) {
  if (!fs::exists(shared() / "light.tar.xz")) GTEST_SKIP() << "the conformance sets are not here (NNEX_SHARED)";
  const fs::path folder = fs::temp_directory_path() / ("nnex_light_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string unpack =
      "cd '" + folder.string() + "' && cmake -E tar xf '" + fs::absolute(shared() / "light.tar.xz").string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  int networks = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    const std::string name = file.path().stem().string();
    SCOPED_TRACE(name);
    ++networks;
    compare(seeded(file.path()), logits(shared() / "light_seeded" / (name + "_logits.pb")), true, 2e-5);
  }
  EXPECT_EQ(networks, 9);
  fs::remove_all(folder);
}

/// Khronos's text of VGG-19 is the same network: with the same weights it gives the same logits.
TEST(LightSeeded, Vgg19ReadFromNnefGivesTheLogitsOfOnnx) {
  const fs::path nnef = stored::shared() / "conformance/nnef/graphs/khronos-vgg/graph.nnef";
  const fs::path archive = shared() / "light.tar.xz";
  if (!fs::exists(archive) || !fs::exists(nnef)) GTEST_SKIP() << "the conformance sets are not here (NNEX_SHARED)";
  const fs::path folder = fs::temp_directory_path() / ("nnex_light_vgg_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string unpack = "cd '" + folder.string() + "' && cmake -E tar xf '" + fs::absolute(archive).string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  fs::path onnx;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    if (file.path().stem() == "light_vgg19" && file.path().extension() == ".onnx") onnx = file.path();
  ASSERT_FALSE(onnx.empty());
  const std::vector<Tensor> weights = parameters(seeded(onnx));
  fs::remove_all(folder);
  size_t next = 0;
  nnef_format::ImportOptions options;
  options.lowering.variable = [&](const nnef_format::VariableRequest& r) -> Result<Tensor> {
    const Shape shape(r.extents);
    if (next >= weights.size() || weights[next].count() != shape.count())
      return Error(Code::internal, "the networks have other weights");
    const auto kept = std::make_shared<const Tensor>(weights[next++]);
    return Tensor::borrow(DType::f32, shape, kept->data(), kept);
  };
  auto text = MappedFile::open(nnef.string(), MapPolicy::never);
  ASSERT_TRUE(text.ok()) << text.error().text();
  auto graph = nnef_format::import_document(text->bytes(), "graph.nnef", options);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(next, weights.size());
  compare(*std::move(graph), logits(shared() / "light_seeded/light_vgg19_logits.pb"), true, 2e-5);
}

}  // namespace
}  // namespace nnex
