// Filters that take in what follows them are made when kernels are chosen: the same answers as where they are made
// with the graph, and no memory that stays.

#include "graph/late.h"

#include <gtest/gtest.h>

#include <cstring>

#include "nnex/model.h"
#include "onnx_bytes.h"
#include "passes/passes.h"
#include "plan/constant_memory.h"
#include "run/compile.h"

namespace nnex::plan {
namespace {

using namespace nnex::test::onnx;

constexpr int64_t kChannels = 64, kSide = 9;

std::string numbers(std::string_view name, const std::vector<int64_t>& extents, float from) {
  size_t count = 1;
  for (int64_t n : extents) count *= static_cast<size_t>(n);
  std::vector<float> w(count);
  for (size_t i = 0; i < w.size(); ++i) w[i] = from + static_cast<float>(i * 37 % 101) / 128;
  return tensor(name, extents, raw_bytes(w));
}

struct Layer {
  std::string filter;  ///< Its name.
  bool normalized;     ///< A batch normalization follows it.
};

/// Convolutions one after the other, their filters of 3x3 taps, or of one.
std::string network(int64_t batch, int64_t taps, const std::vector<Layer>& layers) {
  test::onnx::Graph g{{}, {value("x", {batch, kChannels, kSide, kSide})}, {}, {}};
  std::string last = "x";
  std::vector<std::string> filters;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [filter, normalized] = layers[i];
    const std::string n = std::to_string(i);
    if (std::find(filters.begin(), filters.end(), filter) == filters.end()) {
      g.weights.push_back(numbers(filter, {kChannels, kChannels, taps, taps}, -0.4F));
      filters.push_back(filter);
    }
    g.nodes.push_back(node("Conv", {last, filter}, {"c" + n}));
    last = "c" + n;
    if (!normalized) continue;
    for (const char* part : {"s", "b", "m", "v"}) g.weights.push_back(numbers(part + n, {kChannels}, 0.25F));
    g.nodes.push_back(node("BatchNormalization", {last, "s" + n, "b" + n, "m" + n, "v" + n}, {"y" + n}));
    last = "y" + n;
  }
  g.outputs.push_back(value(last, {-1, -1, -1, -1}));
  return model(g);
}

Model loaded(const std::string& bytes) {
  auto model = Model::from_bytes(bytes);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(model).value();
}

std::string answer(const Model& model, int threads = 1) {
  Tensor x = Tensor::make(DType::f32, Shape{2, kChannels, kSide, kSide}).value();
  for (int64_t i = 0; i < x.count(); ++i)
    x.mutable_as<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 13) / 8 - 0.5F;
  const Value in(std::move(x));
  SessionOptions options;
  options.threads = threads;
  auto out = model.session(options).run(std::span<const Value>(&in, 1));
  EXPECT_TRUE(out.ok()) << out.error().text();
  if (!out.ok()) return {};
  const Tensor& y = *(*out)[0].tensor();
  return {reinterpret_cast<const char*>(y.data()), static_cast<size_t>(y.bytes())};
}

struct Counts {
  size_t late = 0, lost = 0;
};
Counts counts(const Model& model) {
  const GraphView view(model);
  Counts out;
  for (uint32_t n = 0; n < (*view).value_count(); ++n) {
    const Tensor* const t = (*view)[ValueId{n}].constant.tensor();
    const bool late = (*view).late(ValueId{n});
    out.late += late, out.lost += t && !late && ConstantMemory::is_lost(*t);
  }
  return out;
}

const std::vector<std::vector<Layer>> kNetworks = {
    {{"w", true}},
    {{"w", true}, {"v", true}, {"u", false}},
    {{"w", true}, {"w", true}},   // one filter, scaled in two ways
    {{"w", false}, {"w", true}},  // what was packed as it is must be there to be scaled
    {{"w", true}, {"w", false}},
};

TEST(LateConstants, TheSameAnswersAsMadeWithTheGraph) {
  for (const int64_t taps : {1, 3})
    for (const std::vector<Layer>& layers : kNetworks) {
      const Model fixed = loaded(network(2, taps, layers)), open = loaded(network(-1, taps, layers));
      EXPECT_GT(counts(fixed).late, 0U);
      EXPECT_EQ(counts(open).late, 0U);
      const std::string first = answer(fixed);
      EXPECT_EQ(first, answer(open));
      EXPECT_EQ(counts(fixed).late, 0U);
      EXPECT_EQ(answer(fixed, 2), first);  // another session
    }
}

TEST(LateConstants, NothingStaysOfWhatIsPacked) {
  const Model model = loaded(network(2, 3, kNetworks[1]));
  EXPECT_EQ(counts(model).late, 2U);
  EXPECT_EQ(counts(model).lost, 0U);
  answer(model);
  EXPECT_GE(counts(model).lost, 3U);  // those and the third, which was read
  EXPECT_FALSE(model.graph().ok());
}

TEST(LateConstants, AGraphThatIsLookedAtIsWhole) {
  for (const int64_t taps : {1, 3}) {
    const Model model = loaded(network(2, taps, kNetworks[1]));
    const ir::Graph copy = graph_of(model);
    EXPECT_EQ(counts(model).late, 0U);
    EXPECT_EQ(counts(model).lost, 0U);
    const std::string first = answer(model);
    auto again = compile(copy);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(answer(*again), first);
    EXPECT_EQ(answer(loaded(network(2, taps, kNetworks[1]))), first);
  }
}

/// y = x * factor in double, rounded once, for as many threads as there are.
TEST(LateConstants, EachOutputHasItsFactor) {
  const std::vector<float> w = {1, 3, 1e-30F, 0.1F, -7, 16777215};
  const Reals scale = {0.1, 3, 1.0 / 3};
  const Tensor source = Tensor::borrow(DType::f32, Shape{3, 2}, reinterpret_cast<const std::byte*>(w.data()));
  Tensor room;
  std::vector<Tensor> held;  // what somebody holds stays as it is
  for (const int threads : {1, 2}) {
    Team team(threads);
    const auto made = LateConstant{source, scale}.make(team, room);
    ASSERT_TRUE(made.ok());
    if (!held.empty()) {
      EXPECT_NE(made->data(), held[0].data());
    }
    held.push_back(*made);
    for (size_t i = 0; i < w.size(); ++i)
      EXPECT_EQ(made->as<float>()[i], static_cast<float>(static_cast<double>(w[i]) * scale[i / 2]));
  }
  const std::byte* const last = room.data();
  held.clear();
  Team alone;
  EXPECT_EQ((LateConstant{source, scale}.make(alone, room)->data()), last);
}

}  // namespace
}  // namespace nnex::plan
