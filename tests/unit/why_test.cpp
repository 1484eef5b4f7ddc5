// What `nnex why` tells: extents as formulas, kernels and what they decline, reach of the standards.

#include "nnex/why.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nnex/graph.h"
#include "nnex/save.h"

namespace nnex {
namespace {

Why explained(const std::string& text, const LoadOptions& options = {}) {
  auto found = why(ModelSource::memory({{"graph.nnef", text}}), options);
  EXPECT_TRUE(found.ok()) << found.error().text();
  return found.ok() ? *std::move(found) : Why();
}

std::string formula(const Why& w, std::string_view value) {
  const auto v = std::find_if(w.values.begin(), w.values.end(), [&](const auto& v) { return v.value == value; });
  return v == w.values.end() ? "absent" : v->formula;
}

const KernelOrigin* kernel(const Why& w, std::string_view place) {
  const auto k = std::find_if(w.kernels.begin(), w.kernels.end(),
                              [&](const auto& k) { return k.place.find(place) != std::string::npos; });
  return k == w.kernels.end() ? nullptr : &*k;
}

TEST(Why, ExtentsAreFormulasOfInputs) {
  const Why w = explained(
      "version 1.0;\ngraph g(x) -> (z) { x = external(shape = [2,3,8,8]); "
      "y = max_pool(x, size = [1,1,2,2], stride = [1,1,2,2], padding = [(0,0),(0,0),(0,0),(0,0)]); "
      "z = concat([x, x], axis = 1); }\n");
  EXPECT_EQ(formula(w, "x"), "f32[x.0,x.1,x.2,x.3]");
  EXPECT_EQ(formula(w, "z"), "f32[x.0,2*x.1,x.2,x.3]");
  EXPECT_NE(formula(w, "y").find("x.2"), std::string::npos) << formula(w, "y");
  EXPECT_TRUE(w.fixed.empty());
}

TEST(Why, FixedExtentsNameTheNodeThatBreaks) {
  const Why w =
      explained("version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2,6]); y = reshape(x, shape = [2,2,3]); }\n");
  ASSERT_EQ(w.fixed.size(), 2u);
  EXPECT_EQ(w.fixed[0].extent, "x.0");
  EXPECT_EQ(w.fixed[0].found, 2);
  EXPECT_EQ(w.fixed[1].extent, "x.1");
  EXPECT_NE(w.fixed[1].why.find("reshape"), std::string::npos) << w.fixed[1].why;
  EXPECT_EQ(formula(w, "x"), "f32[2,6]");
}

/// Patches of 4 of 8 x 8 are 4 tokens; of 9 x 8 too, for the last row is left over, but of 12 x 8 they are 6.
TEST(Why, AnExtentThatOneMoreLeavesAsItIsMayStillBeFixed) {
  const Why w = explained(
      "version 1.0;\ngraph g(x) -> (y) { x = external(shape = [1,3,8,8]); f = variable(shape = [5,3,4,4], label = "
      "'f'); "
      "p = conv(x, f, stride = [4,4], padding = [(0,0),(0,0)]); y = reshape(p, shape = [1,5,4]); }\n",
      [] {
        LoadOptions o;
        o.weight_seed = 1;
        return o;
      }());
  EXPECT_EQ(formula(w, "x"), "f32[1,3,8,8]");
  ASSERT_EQ(w.fixed.size(), 4u);
  EXPECT_EQ(w.fixed[2].extent, "x.2");
  EXPECT_NE(w.fixed[2].why.find("reshape"), std::string::npos) << w.fixed[2].why;
}

/// A window of 2 leaves the last of 17 out, as of 16: it goes, too, and 32 does not.
TEST(Why, ExtentsThatGoAreTold) {
  const Why w = explained(
      "version 1.0;\ngraph g(x) -> (y) { x = external(shape = [1,3,16]); "
      "p = max_pool(x, size = [1,1,2], stride = [1,1,2], padding = [(0,0),(0,0),(0,0)]); "
      "y = reshape(p, shape = [1,24]); }\n");
  ASSERT_EQ(w.fixed.size(), 3u);
  EXPECT_EQ(w.fixed[2].extent, "x.2");
  EXPECT_EQ(w.fixed[2].found, 16);
  EXPECT_EQ(w.fixed[2].also, std::vector<int64_t>{17});
  EXPECT_EQ(w.fixed[2].broken, 32);
}

TEST(Why, KernelsSayWhatTheyWouldNeed) {
  Graph g;
  const ValueId x = *g.add_input("x", "f64[2,64]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("softmax", {x})}}).ok());
  auto files = to_bytes(g, Format::onnx);
  ASSERT_TRUE(files.ok()) << files.error().text();
  const Why w = *why(ModelSource::memory(*files));
  ASSERT_EQ(w.kernels.size(), 1u) << w.kernels_unknown;
  EXPECT_EQ(w.kernels[0].op, "softmax");
  EXPECT_EQ(w.kernels[0].types, "f64[2,64] -> f64[2,64]");
  EXPECT_EQ(w.kernels[0].kernel, "reference");
  ASSERT_FALSE(w.kernels[0].declined.empty());
  EXPECT_EQ(w.kernels[0].declined[0].kernel, "softmax_f32");
  EXPECT_EQ(w.kernels[0].declined[0].why, "needs float32");
}

TEST(Why, OpenExtentsLeaveKernelsUnknown) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,4]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("tanh", {x})}}).ok());
  auto files = to_bytes(g, Format::onnx);
  ASSERT_TRUE(files.ok()) << files.error().text();
  const Why open = *why(ModelSource::memory(*files));
  EXPECT_NE(open.kernels_unknown.find("extent N"), std::string::npos) << open.kernels_unknown;
  EXPECT_TRUE(open.kernels.empty());
  LoadOptions fixed;
  fixed.symbols = {{"N", 3}};
  const Why known = *why(ModelSource::memory(*files), fixed);
  EXPECT_EQ(known.kernels_unknown, "");
  EXPECT_EQ(known.kernels.size(), 1u);
  EXPECT_EQ(formula(known, "y"), "f32[x.0,x.1]");
}

TEST(Why, StandardsSayWhatIsInTheWay) {
  const Why w = explained("version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2,3]); y = tanh(x); }\n");
  for (const StandardReach& s : w.standards) {
    SCOPED_TRACE(name(s.format));
    EXPECT_EQ(s.can, s.format != Format::cvm);
    EXPECT_EQ(s.why_not.empty(), s.can);
  }
  const KernelOrigin* tanh = kernel(w, "");
  ASSERT_TRUE(tanh);
  EXPECT_EQ(tanh->op, "tanh");
  EXPECT_NE(tanh->kernel, "reference");
}

TEST(Why, WhatAStandardNeedsKeepsToTheLimit) {
  LoadOptions options;
  options.memory_limit = int64_t{64} << 20;
  const auto w = why(ModelSource::memory("<ir_version: 8, opset_import: [\"\": 13]>\n"
                                         "g (int64[1] i) => (float[1, 30000000] y)\n"
                                         "<int64 d = {30000000}, float[2] v = {0.0, 1.0}>\n"
                                         "{ y = OneHot <axis = -1> (i, d, v) }\n"),
                     options);
  ASSERT_TRUE(w.ok()) << w.error().text();
  const auto webnn = std::find_if(w->standards.begin(), w->standards.end(),
                                  [](const StandardReach& r) { return r.format == Format::webnn; });
  ASSERT_NE(webnn, w->standards.end());
  EXPECT_NE(webnn->why_not.find("passes the limit"), std::string::npos) << webnn->why_not;
}

TEST(Why, BadModelsAreErrors) {
  const auto none = why(ModelSource::memory("no model"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), Code::unreadable);
}

}  // namespace
}  // namespace nnex
