// Drawings: texts that a model holds, what weights are like, parts that repeat.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/view/repeats.h"
#include "api/view/scene.h"
#include "api/view/statistics.h"
#include "api/view/words.h"
#include "graph/text/build.h"
#include "nnex/load.h"
#include "nnex/view.h"
#include "onnx_bytes.h"

namespace nnex::drawing {
namespace {

namespace pb = test::onnx;

TEST(View, TextsAreCleanedMeasuredAndEscaped) {
  EXPECT_EQ(cleaned("a\nb\x01\x7f"), "a\u240ab\u2401\u2421");
  EXPECT_EQ(cleaned("\xff\xc0\xafx\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFDx\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(cleaned("\u202eabc\u200b\ufeff"), "\uFFFDabc\uFFFD\uFFFD");
  EXPECT_EQ(cleaned("名前 é"), "名前 é");
  EXPECT_EQ(escaped("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
  const std::string longest = "encoder/layer_11/attention/output/dense/MatMul_名前_7";
  for (double width = 20; width < 400; width += 7) {
    const std::string out = fitted(longest, width, 12);
    EXPECT_LE(width_of(out, 12), std::max(width, width_of("…", 12)));
    if (out != longest) {
      EXPECT_NE(out.find("…"), std::string::npos);
      EXPECT_EQ(cleaned(out), out);  // no character was cut
    }
  }
  EXPECT_EQ(fitted(longest, 4000, 12), longest);
}

TEST(View, StatisticsAreThoseOfTheNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto s = statistics_of(Tensor::of<float>({8}, {-1, 0, 0, 1, 2, 6, inf, NAN}), 100);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->count, 8);
  EXPECT_EQ(s->looked, 8);
  EXPECT_EQ(s->finite, 6);
  EXPECT_EQ(s->zeros, 2);
  EXPECT_EQ(s->low, -1);
  EXPECT_EQ(s->high, 6);
  EXPECT_DOUBLE_EQ(s->mean, 8.0 / 6);
  EXPECT_NEAR(s->deviation, std::sqrt(42.0 / 6 - 64.0 / 36), 1e-12);
  EXPECT_EQ(s->bars[0], 1);          // -1
  EXPECT_EQ(s->bars[4], 2);          // 0: 1/7 of 32
  EXPECT_EQ(s->bars[kBars - 1], 1);  // 6
  // Numbers whose difference is greater than any double.
  const double max = std::numeric_limits<double>::max();
  const auto wide = statistics_of(Tensor::of<double>({2}, {-max, max}), 100);
  EXPECT_EQ(wide->bars[0] + wide->bars[kBars - 1], 2);
  EXPECT_EQ(statistics_of(Tensor::of<float>({3}, {5, 5, 5}), 100)->bars[kBars / 2], 3);
  EXPECT_FALSE(statistics_of(Tensor::of<float>({0}, {}), 100));
  EXPECT_FALSE(statistics_of(Tensor::of<std::string>({1}, {"a"}), 100));
  // Of a large one the ends are looked at, and no more than asked for.
  std::vector<float> ramp(100'000);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  const auto part = statistics_of(Tensor::of<float>({100'000}, ramp), 1600);
  EXPECT_EQ(part->looked, 1600);
  EXPECT_EQ(part->low, 0);
  EXPECT_EQ(part->high, 99'999);
  EXPECT_NEAR(part->mean, 50'000, 500);
}

/// A graph of text, and its repeats as (first, period, copies).
std::vector<std::array<size_t, 3>> found(const std::string& text) {
  auto graph = graph_text::read_graph(text, "test");
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  std::vector<std::array<size_t, 3>> out;
  if (graph.ok())
    for (const Repeat& r : repeats_of(*graph, graph->order())) out.push_back({r.first, r.period, r.copies});
  return out;
}

std::string layers(size_t n, size_t changed = 1000, const std::string& last = "") {
  std::string text = "graph main(x: f32[4]) -> (y)\n{\n";
  std::string in = "x";
  for (size_t i = 0; i < n; ++i) {
    text += fmt::format(
        "  a{0}: f32[4] = relu({1});\n  b{0}: f32[4] = {2}(a{0});\n  c{0}: f32[4] = sigmoid(b{0});\n"
        "  d{0}: f32[4] = add(c{0}, {1});\n",
        i, in, i == changed ? "exp" : "tanh");
    in = fmt::format("d{}", i);
  }
  return text + (last.empty() ? "  y: f32[4] = neg(" + in + ");\n}\n" : last + "}\n");
}

TEST(View, EqualPartsAreFound) {
  using Found = std::vector<std::array<size_t, 3>>;
  EXPECT_EQ(found(layers(1)), Found());
  EXPECT_EQ(found(layers(12)), (Found{{0, 4, 12}}));
  // One layer is another: what stands around it repeats.
  EXPECT_EQ(found(layers(12, 6)), (Found{{0, 4, 6}, {28, 4, 5}}));
  // What the third layer makes is read at the end: it cannot be folded away.
  const Found cut = found(layers(8, 1000, "  y: f32[4] = add(d7, b2);\n"));
  for (const auto& [first, period, copies] : cut) {
    const bool folded_away = first <= 9 && 9 < first + period * (copies - 1);
    EXPECT_FALSE(folded_away);
  }
  EXPECT_FALSE(cut.empty());
}

TEST(View, BrokenModelsAreDrawnAsFarAsTheyCanBeRead) {
  pb::Graph g{{pb::node("Relu", {"nothing"}, {"r"}), pb::node("Softmax", {"x"}, {"y"})},
              {pb::value("x", {4})},
              {pb::value("y", {4})}};
  const ModelSource broken = ModelSource::memory(pb::model(g));
  EXPECT_FALSE(load_graph(broken).ok());
  const auto graph = drawn_graph(broken);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::vector<NodeId> nodes = graph->nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(graph->value(graph->node(nodes[1])->outputs[0])->type.text, "f32[4]");
  EXPECT_FALSE(drawn_graph(ModelSource::memory("nothing of the kind")).ok());
}

TEST(View, EqualModelsGiveEqualBytesInEveryForm) {
  pb::Graph g{{}, {pb::value("x", {4})}, {pb::value("y9", {4})}};
  for (int i = 0; i < 10; ++i) {
    const std::string in = i == 0 ? "x" : fmt::format("y{}", i - 1);
    g.nodes.push_back(pb::node("Softmax", {in}, {fmt::format("s{}", i)}));
    g.nodes.push_back(pb::node("Add", {fmt::format("s{}", i), in}, {fmt::format("y{}", i)}));
  }
  const std::string bytes = pb::model(g);
  for (ViewFormat format : {ViewFormat::html, ViewFormat::svg, ViewFormat::dot}) {
    ViewOptions options;
    options.format = format;
    const auto a = view(ModelSource::memory(bytes), options), b = view(ModelSource::memory(bytes), options);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->text, b->text);
    EXPECT_EQ(a->nodes, 20);
    EXPECT_NE(a->text.find("Softmax"), std::string::npos);
  }
  EXPECT_FALSE(view(ModelSource::memory("no model")).ok());
}

TEST(View, TimesStandAtTheirNodes) {
  pb::Graph g{
      {pb::node("Relu", {"x"}, {"a"}), pb::node("Exp", {"a"}, {"y"})}, {pb::value("x", {4})}, {pb::value("y", {4})}};
  ViewOptions options;
  options.format = ViewFormat::svg;
  options.times = {{"node 'a' (Relu) + node 'y' (Exp)", 750}, {"node 'y' (Exp)", 250}, {"node 'b' (Relu)", 1000}};
  const auto drawn = view(ModelSource::memory(pb::model(g)), options);
  ASSERT_TRUE(drawn.ok());
  EXPECT_EQ(drawn->unplaced, 1);
  EXPECT_NE(drawn->text.find(">750 µs · 37.5 %<"), std::string::npos);
  EXPECT_NE(drawn->text.find(">250 µs · 12.5 %<"), std::string::npos);
}

}  // namespace
}  // namespace nnex::drawing
