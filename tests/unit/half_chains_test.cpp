// Element-wise nodes of halves that feed one another: computed in float32, rounded once.

#include <gtest/gtest.h>

#include <string>

#include "graph_run.h"
#include "node_run.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using test::Dice;
using test::GraphRun;
using test::run_graph;

struct HalfChain {
  const char* extents;  ///< Of z, which broadcasts to [3, 5000].
  Shape z;
};

TEST(HalfChains, RoundOnce) {
  Dice dice(11);
  const HalfChain rows[] = {
      {"[3,5000]", Shape{3, 5000}}, {"[]", Shape{}}, {"[5000]", Shape{5000}}, {"[3,1]", Shape{3, 1}}};
  for (const DType half : {DType::f16, DType::bf16})
    for (const HalfChain& row : rows) {
      const std::string type(name(half)),
          head = "graph g(x: " + type + "[3,5000], z: " + type + row.extents + ") -> (y)";
      const std::string narrow =
          head + " { a = add(x, z); b = mul(a, " + type + "[](0.375)); c = tanh(b); y = sub(c, x); }";
      const std::string wide =
          head +
          " { v = cast(x, to = 'f32'); w = cast(z, to = 'f32'); a = add(v, w); b = mul(a, f32[](0.375));"
          " c = tanh(b); d = sub(c, v); y = cast(d, to = '" +
          type + "'); }";
      SCOPED_TRACE(narrow);
      const Tensor x = *convert(dice.floats({3, 5000}, -4, 4), half), z = *convert(dice.floats(row.z, -4, 4), half);
      const Tensor wanted = run_graph(wide, {x, z}, false).y;
      for (int threads : {1, 2}) {
        const GraphRun ran = run_graph(narrow, {x, z}, true, threads);
        EXPECT_EQ(ran.nodes.size(), 1U);
        EXPECT_EQ(ran.kernels("fused"), "widened ");
        ASSERT_EQ(ran.y.dtype(), half);
        ASSERT_EQ(ran.y.shape(), wanted.shape());
        for (int64_t i = 0; i < wanted.count(); ++i)
          ASSERT_EQ(real_at(ran.y, i), real_at(wanted, i)) << "element " << i;
      }
    }
}

}  // namespace
}  // namespace nnex
