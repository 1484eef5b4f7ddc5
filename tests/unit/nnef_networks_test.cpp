// slow: networks that exist as NNEF and as ONNX give the same answers; those of the corpus without weights are shaped
// and run on seeded ones.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "graph/graph.h"
#include "nnex/model.h"
#include "stored.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

std::string shared() { return stored::shared().string(); }
bool exists(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(path, none);
}

Tensor image(const std::vector<int64_t>& extents, uint32_t seed) {
  Tensor t = *Tensor::make(DType::f32, Shape(extents));
  for (float& x : t.mutable_as<float>()) x = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
  return t;
}

Result<Tensor> run(const Model& model, const Tensor& in) {
  Session session = model.session();
  const Value input(in);
  NNEX_ASSIGN(auto out, session.run(std::span<const Value>(&input, 1)));
  return *out[0].tensor();
}

/// The same digit network, exported to both: three images at once in NNEF, one at a time in ONNX.
TEST(NnefNetworks, DigitsAgreeWithOnnx) {
  const std::string nnef = shared() + "/conformance/nnef/graphs/mivisionx-mnist";
  const std::string onnx = shared() + "/models/onnx/mnist_8/model.onnx";
  if (!exists(nnef) || !exists(onnx)) GTEST_SKIP() << "the networks are not here (NNEX_SHARED)";
  auto a = Model::load(nnef), b = Model::load(onnx);
  ASSERT_TRUE(a.ok()) << a.error().text();
  ASSERT_TRUE(b.ok()) << b.error().text();
  const Tensor images = image({3, 1, 28, 28}, 7);
  auto all = run(*a, images);
  ASSERT_TRUE(all.ok()) << all.error().text();
  for (int64_t n = 0; n < 3; ++n) {
    Tensor one = *Tensor::make(DType::f32, Shape{1, 1, 28, 28});
    for (int64_t i = 0; i < 28 * 28; ++i) set_real(one, i, real_at(images, n * 28 * 28 + i));
    auto answer = run(*b, one);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    for (int64_t i = 0; i < 10; ++i)
      EXPECT_NEAR(real_at(*answer, i), real_at(*all, n * 10 + i), 1e-5 * (1 + std::fabs(real_at(*answer, i))));
  }
}

TEST(NnefNetworks, NetworksWithoutWeightsAreShapedAndRun) {
  const std::string graphs = shared() + "/conformance/nnef/graphs/";
  if (!exists(graphs)) GTEST_SKIP() << "the networks are not here (NNEX_SHARED)";
  const struct {
    const char* unit;
    const char* type;
  } rows[] = {{"khronos-googlenet", "f32[1,1000,1,1]"},
              {"khronos-provisional-googlenet_flat", "f32[1,1000,1,1]"},
              {"khronos-resnet", nullptr},
              {"khronos-2018-resnet_flat", nullptr},
              {"khronos-provisional-resnet_flat", nullptr}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.unit);
    if (!exists(graphs + row.unit)) continue;
    LoadOptions options;
    options.weight_seed = 3;
    auto model = Model::load(graphs + row.unit, options);
    ASSERT_TRUE(model.ok()) << model.error().text();
    if (row.type) {
      EXPECT_EQ(model->outputs()[0].type, row.type);
    }
    auto out = run(*model, image(model->inputs()[0].extents, 11));
    ASSERT_TRUE(out.ok()) << out.error().text();
    for (int64_t i = 0; i < out->count(); ++i) ASSERT_TRUE(std::isfinite(real_at(*out, i))) << i;
  }
}

/// The same network written in 2017 and for 1.0: equal labels, so equal seeded weights, so the same answer.
TEST(NnefNetworks, TheDraftGivesTheAnswerOfTheStandard) {
  const std::string graphs = shared() + "/conformance/nnef/graphs/";
  if (!exists(graphs)) GTEST_SKIP() << "the networks are not here (NNEX_SHARED)";
  LoadOptions options;
  options.weight_seed = 3;
  auto old = Model::load(graphs + "khronos-provisional-alexnet_flat", options);
  auto now = Model::load(graphs + "khronos-alexnet", options);
  ASSERT_TRUE(old.ok()) << old.error().text();
  ASSERT_TRUE(now.ok()) << now.error().text();
  const Tensor in = image({1, 3, 224, 224}, 5);
  auto a = run(*old, in), b = run(*now, in);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->count(), 1000);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(real_at(*a, i), real_at(*b, i));
}

TEST(NnefNetworks, ShapesOfOnnxInputsCanBeSet) {
  const std::string onnx = shared() + "/models/onnx/mnist_8/model.onnx";
  if (!exists(onnx)) GTEST_SKIP() << "the network is not here (NNEX_SHARED)";
  auto plain = Model::load(onnx);
  ASSERT_TRUE(plain.ok());
  LoadOptions options;
  options.shapes[plain->inputs()[0].name] = {1, 1, 28, 28};
  EXPECT_TRUE(Model::load(onnx, options).ok());
  options.shapes[plain->inputs()[0].name] = {1, 28, 28};
  auto rank = Model::load(onnx, options);
  ASSERT_FALSE(rank.ok());
  EXPECT_NE(rank.error().message().find("needed 4"), std::string::npos) << rank.error().text();
  options.shapes.clear();
  options.shapes["nobody"] = {1};
  auto name = Model::load(onnx, options);
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace nnex
