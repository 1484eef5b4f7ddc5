// Quantising: networks of codes against those of floats.

#include "nnex/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "nnex/compare.h"
#include "nnex/cvm.h"
#include "nnex/elements.h"
#include "nnex/load.h"
#include "nnex/nnef.h"
#include "nnex/save.h"
#include "normal.h"

namespace nnex {
namespace {

using test::normal;

// ---- Networks

/// conv, relu, conv, an added branch, maxima, matrix.
Graph network() {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,3,12,12]");
  const std::vector<float> w = normal(16 * 3 * 9, 10, 0.3F);
  const auto constant = [&](Shape s, std::vector<float> v, const char* name) {
    return *g.add_constant(Tensor::of<float>(std::move(s), v), name);
  };
  const ValueId c1 = *g.add("conv", {x, constant({16, 3, 3, 3}, w, "w1"), constant({16}, normal(16, 11), "b1")});
  const ValueId r1 = *g.add("relu", {c1});
  const ValueId c2 = *g.add("conv", {r1, constant({16, 16, 1, 1}, normal(256, 12, 0.1F), "w2")});
  const ValueId sum = *g.add("relu", {*g.add("add", {c2, r1})});
  const ValueId flat =
      *g.add("max_reduce", {sum, *g.add_constant(Tensor::of<int64_t>(Shape{2}, {2, 3}))}, {{"keepdims", false}});
  const ValueId y =
      *g.add("linear", {flat, constant({5, 16}, normal(80, 13), "w3"), constant({5}, normal(5, 14), "b3")});
  EXPECT_TRUE(g.set_name(y, "scores").ok());
  EXPECT_TRUE(g.set_outputs({{"scores", y}}).ok());
  return g;
}

SampleSet samples(int64_t count, std::vector<int64_t> extents = {2, 3, 12, 12}) {
  SampleSet out;
  out.count = count;
  out.read = [extents](const std::vector<PortInfo>&, int64_t index) -> Result<std::vector<Value>> {
    const Shape s(extents);
    return std::vector<Value>{
        Tensor::of<float>(s, normal(static_cast<size_t>(s.count()), static_cast<uint32_t>(100 + index)))};
  };
  return out;
}

QuantizeOptions quick() {
  QuantizeOptions o;
  o.seconds = 0.01;
  return o;
}

std::string file_of(const Quantized& q) { return (*to_bytes(q.graph, Format::onnx))[0].bytes; }

TEST(Quantize, NetworkOfCodesAnswersAsTheFloatOne) {
  const Graph g = network();
  auto q = quantize(g, samples(8), quick());
  ASSERT_TRUE(q.ok()) << q.error().text();
  ASSERT_EQ(q->report.layers.size(), 4U);
  for (const QuantizedLayer& l : q->report.layers) {
    EXPECT_EQ(l.kept_float, "") << l.name;
    ASSERT_TRUE(l.sqnr_db) << l.name;
    EXPECT_GT(*l.sqnr_db, 30) << l.name;
  }
  ASSERT_EQ(q->report.outputs.size(), 1U);
  EXPECT_EQ(q->report.outputs[0].name, "scores");
  EXPECT_GT(q->report.outputs[0].sqnr_db, 28);
  EXPECT_EQ(q->report.outputs[0].rows, 16);
  EXPECT_LT(q->report.quantized_bytes, q->report.float_bytes / 2);
}

TEST(Quantize, ReportedSqnrIsThatOfTheWrittenFile) {
  const Graph g = network();
  auto q = quantize(g, samples(3), quick());
  ASSERT_TRUE(q.ok());
  auto written = Model::from_bytes(file_of(*q));
  ASSERT_TRUE(written.ok()) << written.error().text();
  auto plain = Model::compile(g);
  Session a = plain->session(), b = written->session();
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < 3; ++i) {
    const auto in = *samples(3).read({}, i);
    const Value x = (*a.run(in))[0], y = (*b.run(in))[0];
    for (int64_t k = 0; k < x.tensor()->count(); ++k) {
      const double u = real_at(*x.tensor(), k), v = real_at(*y.tensor(), k);
      signal += u * u, noise += (u - v) * (u - v);
    }
  }
  EXPECT_NEAR(10 * std::log10(signal / noise), q->report.outputs[0].sqnr_db, 0.5);
}

TEST(Quantize, PlanRunsCodesInIntegerKernels) {
  auto q = quantize(network(), samples(2), quick());
  ASSERT_TRUE(q.ok());
  auto model = Model::compile(q->graph);
  Session s = model->session();
  s.profile(true);
  ASSERT_TRUE(s.run(*samples(1).read({}, 0)).ok());
  std::map<std::string, int> kernels;
  for (const NodeTime& n : s.nodes()) ++kernels[n.kernel];
  EXPECT_EQ(kernels["conv_i8"], 2);
  EXPECT_EQ(kernels["chain_i8"], 1);
  EXPECT_EQ(kernels["gemm_i8"], 1);
}

/// 256 numbers from 0 to 1 a row.
SampleSet fractions(int64_t count) {
  SampleSet out;
  out.count = count;
  out.read = [](const std::vector<PortInfo>&, int64_t index) -> Result<std::vector<Value>> {
    std::vector<float> v = normal(8 * 256, static_cast<uint32_t>(index), 0.15F);
    for (float& e : v) e = std::clamp(e + 0.5F, 0.0F, 1.0F);
    return std::vector<Value>{Tensor::of<float>(Shape{8, 256}, v)};
  };
  return out;
}

TEST(Quantize, ScalesByOutputServeUnequalChannels) {
  // One output of a single weight of 1, one of many that all round to 0 beside it.
  Graph g;
  std::vector<float> w(2 * 256, 0.003F);
  std::fill(w.begin(), w.begin() + 256, 0.0F);
  w[0] = 1;
  const ValueId y =
      *g.add("linear", {*g.add_input("x", "f32[N,256]"), *g.add_constant(Tensor::of<float>(Shape{2, 256}, w))});
  ASSERT_TRUE(g.set_outputs({{"y", y}}).ok());
  QuantizeOptions o = quick();
  o.settings.correct_bias = false;
  auto by_output = quantize(g, fractions(4), o);
  o.settings.per_channel = false;
  auto one = quantize(g, fractions(4), o);
  ASSERT_TRUE(by_output.ok() && one.ok());
  EXPECT_LT(one->report.outputs[0].sqnr_db, 5);
  EXPECT_GT(by_output->report.outputs[0].sqnr_db, 35);
}

TEST(Quantize, EqualizingServesUnequalChannelsOfOneScale) {
  // Channels that are made small and read large, beside others.
  Graph g;
  const size_t n = 32;
  std::vector<float> made = normal(n * 256, 30, 0.1F), read = normal(4 * n, 31, 0.2F);
  for (size_t c = 0; c < n; ++c) {
    const float factor = std::ldexp(1.0F, static_cast<int>(c % 7));
    for (size_t i = 0; i < 256; ++i) made[c * 256 + i] *= factor;
    for (size_t o = 0; o < 4; ++o) read[o * n + c] /= factor;
  }
  const ValueId h =
      *g.add("linear", {*g.add_input("x", "f32[N,256]"), *g.add_constant(Tensor::of<float>(Shape{32, 256}, made)),
                        *g.add_constant(Tensor::of<float>(Shape{32}, normal(32, 32)))});
  const ValueId y = *g.add("linear", {*g.add("relu", {h}), *g.add_constant(Tensor::of<float>(Shape{4, 32}, read))});
  ASSERT_TRUE(g.set_outputs({{"y", y}}).ok());
  QuantizeOptions o = quick();
  for (bool per_channel : {true, false}) {
    o.settings.per_channel = per_channel, o.settings.equalize = false;
    auto plain = quantize(g, fractions(4), o);
    o.settings.equalize = true;
    auto equalized = quantize(g, fractions(4), o);
    ASSERT_TRUE(plain.ok() && equalized.ok());
    EXPECT_GT(equalized->report.outputs[0].sqnr_db, plain->report.outputs[0].sqnr_db + 6) << per_channel;
  }
}

TEST(Quantize, SmoothingMovesOutliersOfANormalisationIntoWeights) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,256]");
  std::vector<float> gain(256, 1), w = normal(64 * 256, 33, 0.1F);
  for (size_t c = 0; c < 256; c += 50) gain[c] = 60;
  const ValueId n = *g.add("layer_normalization", {x, *g.add_constant(Tensor::of<float>(Shape{256}, gain)),
                                                   *g.add_constant(Tensor::of<float>(Shape{256}, normal(256, 34)))});
  for (size_t o = 0; o < 64; ++o)
    for (size_t c = 0; c < 256; c += 50) w[o * 256 + c] /= 60;
  const ValueId y = *g.add("linear", {n, *g.add_constant(Tensor::of<float>(Shape{64, 256}, w))});
  ASSERT_TRUE(g.set_outputs({{"y", y}}).ok());
  QuantizeOptions o = quick();
  auto plain = quantize(g, fractions(4), o);
  o.settings.smooth = true;
  auto smoothed = quantize(g, fractions(4), o);
  ASSERT_TRUE(plain.ok() && smoothed.ok());
  EXPECT_GT(smoothed->report.outputs[0].sqnr_db, plain->report.outputs[0].sqnr_db + 6);
  QuantizeOptions again = quick();
  again.recipe = *parse_recipe(recipe_text(smoothed->recipe));
  auto repeated = quantize(g, {}, again);
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_EQ(file_of(*smoothed), file_of(*repeated));
}

TEST(Quantize, SameBytesWithAnyThreadsAndInAnyOrder) {
  QuantizeOptions o = quick();
  o.session.threads = 1;
  auto one = quantize(network(), samples(6), o);
  o.session.threads = 4;
  auto four = quantize(network(), samples(6), o);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(file_of(*one), file_of(*four));
  EXPECT_EQ(recipe_text(one->recipe), recipe_text(four->recipe));
}

TEST(Quantize, RecipeRepeatsTheFileWithoutSamples) {
  for (RangeMethod method : {RangeMethod::minmax, RangeMethod::percentile, RangeMethod::mse, RangeMethod::entropy}) {
    QuantizeOptions o = quick();
    o.settings.method = method;
    auto first = quantize(network(), samples(5), o);
    ASSERT_TRUE(first.ok());
    auto recipe = parse_recipe(recipe_text(first->recipe));
    ASSERT_TRUE(recipe.ok()) << recipe.error().text();
    EXPECT_EQ(recipe_text(*recipe), recipe_text(first->recipe));
    QuantizeOptions again = quick();
    again.recipe = *recipe;
    auto second = quantize(network(), {}, again);
    ASSERT_TRUE(second.ok()) << second.error().text();
    EXPECT_EQ(file_of(*first), file_of(*second)) << name(method);
  }
}

TEST(Quantize, LayersStayFloatAsAsked) {
  QuantizeOptions o = quick();
  o.settings.keep_float = {"scores"};
  auto q = quantize(network(), samples(2), o);
  ASSERT_TRUE(q.ok()) << q.error().text();
  EXPECT_EQ(q->report.layers.back().kept_float, "as asked");
  EXPECT_FALSE(q->report.layers.back().sqnr_db);
  o.settings.keep_float = {"score"};
  auto wrong = quantize(network(), samples(2), o);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message().find("no layer 'score' (did you mean 'scores'?)"), std::string::npos)
      << wrong.error().message();
}

TEST(Quantize, LayersThatErrTooMuchStayFloat) {
  QuantizeOptions o = quick();
  const auto all = quantize(network(), samples(3), o);
  ASSERT_TRUE(all.ok());
  double least = HUGE_VAL;
  for (const QuantizedLayer& l : all->report.layers) least = std::min(least, *l.sqnr_db);
  o.min_sqnr_db = least + 1;
  const auto mixed = quantize(network(), samples(3), o);
  ASSERT_TRUE(mixed.ok());
  size_t left = 0;
  for (const QuantizedLayer& l : mixed->report.layers) {
    left += l.kept_float.find("error: ") == 0 ? 1 : 0;
    if (l.kept_float.empty()) {
      EXPECT_GE(*l.sqnr_db, o.min_sqnr_db) << l.name;
    }
  }
  EXPECT_GE(left, 1U);
  EXPECT_LT(left, mixed->report.layers.size());
  QuantizeOptions again = quick();
  again.recipe = *parse_recipe(recipe_text(mixed->recipe));
  const auto repeated = quantize(network(), {}, again);
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_EQ(file_of(*mixed), file_of(*repeated));
}

TEST(Quantize, MeasuredPlanIsNoSlowerAndIsRepeated) {
  QuantizeOptions o = quick();
  o.plan = QuantizePlan::measured;
  const auto planned = quantize(network(), samples(3), o);
  ASSERT_TRUE(planned.ok()) << planned.error().text();
  EXPECT_LE(*planned->report.quantized_us, *planned->report.float_us);
  for (const QuantizedLayer& l : planned->report.layers)
    if (!l.kept_float.empty()) {
      EXPECT_EQ(l.kept_float.find("no gain"), 0U) << l.kept_float;
    }
  QuantizeOptions again = quick();
  again.recipe = *parse_recipe(recipe_text(planned->recipe));
  const auto repeated = quantize(network(), {}, again);
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_EQ(file_of(*planned), file_of(*repeated));
}

TEST(Quantize, BiasTakesBackWhatRoundingAdds) {
  // Weights just below a half step, all rounded down, under inputs of mean 1.
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,64]");
  std::vector<float> w(2 * 64, 0.4F / 127);
  w[0] = w[64] = 1;
  const ValueId y = *g.add("linear", {x, *g.add_constant(Tensor::of<float>(Shape{2, 64}, w)),
                                      *g.add_constant(Tensor::of<float>(Shape{2}, {0, 0}))});
  ASSERT_TRUE(g.set_outputs({{"y", y}}).ok());
  SampleSet set;
  set.count = 4;
  set.read = [](const std::vector<PortInfo>&, int64_t index) -> Result<std::vector<Value>> {
    std::vector<float> v = normal(8 * 64, static_cast<uint32_t>(index), 0.1F);
    for (float& e : v) e += 1;
    return std::vector<Value>{Tensor::of<float>(Shape{8, 64}, v)};
  };
  QuantizeOptions o = quick();
  auto corrected = quantize(g, set, o);
  o.settings.correct_bias = false;
  auto plain = quantize(g, set, o);
  ASSERT_TRUE(corrected.ok() && plain.ok());
  EXPECT_GT(corrected->report.outputs[0].sqnr_db, plain->report.outputs[0].sqnr_db + 6);
}

TEST(Quantize, WeightsOfFourBitsNeedNoSamples) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,64]");
  const ValueId h =
      *g.add("matmul", {x, *g.add_constant(Tensor::of<float>(Shape{64, 48}, normal(64 * 48, 20, 0.1F)), "w")});
  const ValueId y = *g.add(
      "linear", {*g.add("relu", {h}), *g.add_constant(Tensor::of<float>(Shape{8, 48}, normal(8 * 48, 21)), "v")});
  ASSERT_TRUE(g.set_outputs({{"y", y}}).ok());
  QuantizeOptions o = quick();
  o.settings.weights = WeightCodes::int4, o.settings.block = 16;
  auto q = quantize(g, {}, o);
  ASSERT_TRUE(q.ok()) << q.error().text();
  EXPECT_LT(q->report.quantized_bytes, q->report.float_bytes / 4);
  auto model = Model::from_bytes(file_of(*q));
  ASSERT_TRUE(model.ok()) << model.error().text();
  const Value in = Tensor::of<float>(Shape{32, 64}, normal(32 * 64, 22));
  const Value want = (*Model::compile(g)->session().run(std::vector<Value>{in}))[0];
  const Value got = (*model->session().run(std::vector<Value>{in}))[0];
  EXPECT_GT(difference(want, got).sqnr_db, 15);
  o.settings.block = 24;
  EXPECT_EQ(quantize(g, {}, o).error().message(), "block 24: needed a power of two from 16 to 4096");
}

// ---- Whole numbers

/// conv, clamp, depthwise conv, relu, a branch and its sum, mean, matrix, softmax.
Graph picture_network() {
  Graph out;
  const auto constant = [&](Shape s, float scale, uint32_t seed) {
    const auto n = static_cast<size_t>(s.count());
    return *out.add_constant(Tensor::of<float>(std::move(s), normal(n, seed, scale)));
  };
  const auto number = [&](float x) { return *out.add_constant(Tensor::scalar(x)); };
  const Attribute same = std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 1}};
  const ValueId x = *out.add_input("picture", "f32[1,3,16,16]");
  const ValueId a =
      *out.add("conv", {x, constant({8, 3, 3, 3}, 0.3F, 40), constant({8}, 0.3F, 41)}, {{"padding", same}});
  const ValueId b = *out.add("clamp", {a, number(0), number(6)});
  const ValueId c = *out.add("conv", {b, constant({8, 1, 3, 3}, 0.3F, 42), constant({8}, 0.3F, 43)},
                             {{"padding", same}, {"groups", int64_t{8}}});
  const ValueId d = *out.add("relu", {c});
  const ValueId f = *out.add("conv", {d, constant({8, 8, 1, 1}, 0.3F, 44), constant({8}, 0.3F, 45)});
  const ValueId r = *out.add("relu", {*out.add("add", {f, d})});
  const ValueId m =
      *out.add("mean_reduce", {r, *out.add_constant(Tensor::of<int64_t>(Shape{2}, {2, 3}))}, {{"keepdims", false}});
  const ValueId l = *out.add("linear", {m, constant({5, 8}, 1, 46), constant({5}, 0.3F, 47)});
  EXPECT_TRUE(out.set_outputs({{"y", *out.add("softmax", {l})}}).ok());
  return out;
}

SampleSet pictures(int64_t count) {
  SampleSet out;
  out.count = count;
  out.read = [](const std::vector<PortInfo>&, int64_t index) -> Result<std::vector<Value>> {
    std::vector<float> v = normal(3 * 16 * 16, static_cast<uint32_t>(500 + index), 0.3F);
    for (float& e : v) e = std::nearbyint(std::clamp(e + 0.5F, 0.0F, 1.0F) * 255) / 255;
    return std::vector<Value>{Tensor::of<float>(Shape{1, 3, 16, 16}, v)};
  };
  return out;
}

TEST(Quantize, WholeNumbersAreProvenAndTheSameInEveryBuild) {
  QuantizeOptions o = quick();
  o.to = Format::cvm;
  auto q = quantize(picture_network(), pictures(12), o);
  ASSERT_TRUE(q.ok()) << q.error().text();
  ASSERT_TRUE(q->report.certificate);
  EXPECT_TRUE(q->report.certificate->safe);
  EXPECT_GT(q->report.outputs[0].sqnr_db, 25);
  for (const QuantizedLayer& l : q->report.layers) EXPECT_GT(l.sqnr_db.value_or(0), 20) << l.name;
  auto files = to_bytes(q->graph, Format::cvm);
  ASSERT_TRUE(files.ok()) << files.error().text();
  std::vector<int32_t> pixels;
  const Value picture = (*pictures(1).read({}, 0))[0];
  for (float v : picture.tensor()->as<float>()) pixels.push_back(static_cast<int32_t>(std::nearbyint(v * 255)));
  const std::vector<Value> in = {Tensor::of<int32_t>(Shape{1, 3, 16, 16}, pixels)};
  std::optional<Value> first;
  for (InstructionSet isa : {InstructionSet::scalar, InstructionSet::sse4, InstructionSet::avx2, InstructionSet::avx512,
                             InstructionSet::neon, InstructionSet::best}) {
    LoadOptions load;
    load.isa = isa, load.exact = true;
    auto model = load_cvm((*files)[0].bytes, (*files)[1].bytes, load);
    if (!model.ok()) continue;  // not on this machine
    auto out = model->session().run(in);
    ASSERT_TRUE(out.ok()) << out.error().text();
    if (!first) first = (*out)[0];
    EXPECT_TRUE(difference(*first, (*out)[0], {0, 0, 0}).same()) << name(isa);
  }
  ASSERT_TRUE(first);
}

TEST(Quantize, QuantisationFileOfNnefGivesTheCodesValues) {
  QuantizeOptions o = quick();
  const auto onnx = quantize(picture_network(), pictures(6), o);
  o.to = Format::nnef;
  const auto q = quantize(picture_network(), pictures(6), o);
  ASSERT_TRUE(onnx.ok() && q.ok());
  const std::string folder = ::testing::TempDir() + "quantize_nnef";
  SaveOptions to;
  to.format = Format::nnef, to.overwrite = Overwrite::replace;
  const auto saved = save(q->graph, folder, to);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  const auto coded = load_quantized(folder);
  ASSERT_TRUE(coded.ok()) << coded.error().text();
  const auto in = *pictures(1).read({}, 0);
  const Value want = (*Model::compile(picture_network())->session().run(in))[0];
  const Value nnef = (*coded->session().run(in))[0], same = (*Model::compile(onnx->graph)->session().run(in))[0];
  EXPECT_GT(difference(want, nnef).sqnr_db, 25);
  // The same codes but for halves, which NNEF rounds up.
  EXPECT_GT(difference(same, nnef).sqnr_db, 35);
  std::filesystem::remove_all(folder);
}

TEST(Quantize, WholeNumbersNameWhatTheyCannotSay) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2,64]");
  const ValueId h = *g.add("linear", {x, *g.add_constant(Tensor::of<float>(Shape{4, 64}, normal(256, 50)))});
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("tanh", {h})}}).ok());
  QuantizeOptions o = quick();
  o.to = Format::cvm;
  Graph constant;
  ASSERT_TRUE(constant.add_input("x", "f32[2,64]").ok());
  ASSERT_TRUE(constant.set_outputs({{"y", *constant.add_constant(Tensor::of<float>(Shape{1}, {1}))}}).ok());
  EXPECT_EQ(quantize(constant, samples(1, {2, 64}), o).error().code(), Code::unsupported);
  const Error e = quantize(g, samples(1, {2, 64}), o).error();
  EXPECT_EQ(e.code(), Code::unsupported);
  EXPECT_NE(e.message().find("whole numbers cannot say 1 of the nodes:\n  tanh"), std::string::npos) << e.message();
}

TEST(Quantize, SaysWhatCannotBe) {
  EXPECT_EQ(quantize(network(), {}, quick()).error().code(), Code::invalid_argument);
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,4]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("tanh", {x})}}).ok());
  const Error none = quantize(g, samples(1, {2, 4}), quick()).error();
  EXPECT_EQ(none.code(), Code::unsupported);
  EXPECT_EQ(none.message(),
            "no layer can be quantised: the network has no product of float32 data and constant weights");
  SampleSet nan = samples(2);
  nan.read = [](const std::vector<PortInfo>&, int64_t) -> Result<std::vector<Value>> {
    return std::vector<Value>{Tensor::of<float>(Shape{1, 3, 12, 12}, std::vector<float>(432, NAN))};
  };
  const Error fault = quantize(network(), nan, quick()).error();
  EXPECT_EQ(fault.code(), Code::invalid_argument);
  EXPECT_EQ(fault.message(), "sample 0: input 'x' has elements that are NaN; needed finite numbers");
}

TEST(Quantize, RecipesAreReadWithCare) {
  const struct {
    const char *text, *says;
  } rows[] = {
      {"{", "line 1"},
      {"[]", "needed a recipe, 'nnex.recipe/1'"},
      {R"({"schema":"nnex.recipe/1","settings":{"method":"best"}})", "needed minmax, percentile, mse or entropy"},
      {R"({"schema":"nnex.recipe/1","settings":{"colour":1}})", "found 'colour', which no recipe has"},
      {R"({"schema":"nnex.recipe/1","ranges":{"x":[1,2]}})", "needed [low, high] with low <= 0 <= high"},
      {R"({"schema":"nnex.recipe/1","ranges":{"x":[-1,1e999]}})", ""},
      {R"({"schema":"nnex.recipe/1","means":{"x":["a"]}})", "needed a finite number"},
      {R"({"schema":"nnex.recipe/1","smoothed_by":{"x":[0.5]}})", "needed whole powers"},
      {R"({"schema":"nnex.recipe/1","ranges":{"x":[0,1],"x":[0,1]}})", "given twice"},
  };
  for (const auto& row : rows) {
    const auto recipe = parse_recipe(row.text);
    ASSERT_FALSE(recipe.ok()) << row.text;
    EXPECT_NE(recipe.error().message().find(row.says), std::string::npos) << recipe.error().message();
  }
  QuantizeOptions o = quick();
  o.recipe = *parse_recipe(R"({"schema":"nnex.recipe/1","ranges":{"other":[0,1]}})");
  EXPECT_NE(quantize(network(), {}, o).error().message().find("the recipe has 'other', which the network does not"),
            std::string::npos);
  const auto whole = quantize(network(), samples(2), quick());
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  o.recipe = whole->recipe;
  o.recipe->ranges.erase("x");
  EXPECT_NE(quantize(network(), {}, o).error().message().find("the recipe has no range of 'x'"), std::string::npos);
}

}  // namespace
}  // namespace nnex
