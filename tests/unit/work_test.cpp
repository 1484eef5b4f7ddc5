// How much a graph computes: multiply-adds by operator, and blocks as often as they run.

#include "graph/work.h"

#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/text/build.h"

namespace nnex {
namespace {

/// Each number by hand: elements of the output times what each one sums.
const struct {
  const char* name;
  const char* text;
  const char* multiply_adds;
} kRows[] = {
    {"conv: 2x3x3 outputs, 4 channels of 2x2",
     "(x: f32[1,4,4,4], w: f32[2,4,2,2]) -> (y) { y = conv(x, w, padding = "
     "[(0,0), (0,0)]); }",
     "288"},
    {"matmul", "(x: f32[2,3], w: f32[3,4]) -> (y) { y = matmul(x, w); }", "24"},
    {"matmul of a transposed matrix", "(x: f32[3,2], w: f32[3,4]) -> (y) { y = matmul(x, w, transposeA = true); }",
     "24"},
    {"matmul of a symbol", "(x: f32[N,3], w: f32[3,4]) -> (y) { y = matmul(x, w); }", "12*N"},
    {"linear", "(x: f32[2,3], w: f32[4,3]) -> (y) { y = linear(x, w); }", "24"},
    {"rnn: 10 times 4x3 and 4x4", "(x: f32[5,2,3], w: f32[1,4,3], r: f32[1,4,4]) -> (y) { [y, h] = rnn(x, w, r); }",
     "280"},
    {"gru: 10 times 12x3 and 12x4", "(x: f32[5,2,3], w: f32[1,12,3], r: f32[1,12,4]) -> (y) { [y, h] = gru(x, w, r); }",
     "840"},
    {"lstm: 10 times 16x3 and 16x4",
     "(x: f32[5,2,3], w: f32[1,16,3], r: f32[1,16,4]) -> (y) { [y, h, c] = lstm(x, w, r); }", "1120"},
    {"attention: 24 queries by 5 keys, 24 answers of 5 values",
     "(q: f32[1,2,3,4], k: f32[1,2,5,4], v: f32[1,2,5,4]) -> (y) { [y, a, b, c] = attention(q, k, v); }", "240"},
    {"einsum", "(x: f32[2,3,4], w: f32[2,4,5]) -> (y) { y = einsum([x, w], equation = 'bij, bjk -> bik'); }", "120"},
    {"einsum with an ellipsis", "(x: f32[7,2,3], w: f32[3,4]) -> (y) { y = einsum([x, w], equation = '...ij,jk'); }",
     "168"},
    {"einsum of one: nothing is multiplied", "(x: f32[2,3]) -> (y) { y = einsum([x], equation = 'ij->ji'); }", "0"},
    {"a loop of 3 steps",
     "(x: f32[2,2], w: f32[2,2]) -> (s) { [s] = loop(count = i64[](3), state = [x], body = graph (i: i64[], go: "
     "bool[], "
     "v) -> (go, u) { u = matmul(v, w); }); }",
     "24"},
    {"a scan of 6 steps",
     "(h: f32[2,2], x: f32[6,2,2]) -> (s, y) { [s, y] = scan([h, x], inputs = 1, body = graph (g, v) -> (u, u) { u = "
     "matmul(g, v); }); }",
     "48"},
    {"of an If the branch with more",
     "(c: bool[], x: f32[2,2]) -> (y) { [y] = if_else(c, then_branch = graph () -> (a) { a = matmul(x, x); }, "
     "else_branch = graph () -> (b) { b = neg(x); }); }",
     "8"},
};

Dim work_of(const std::string& text) {
  auto graph = graph_text::read_graph("graph g" + text, "g");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  if (!graph.ok()) return Dim::symbol("broken");
  Faults faults;
  infer_types(*graph, faults);
  EXPECT_TRUE(faults.none()) << faults.list()[0].text();
  return multiply_adds(*graph);
}

TEST(Work, MultiplyAdds) {
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(work_of(row.text).text(), row.multiply_adds);
  }
}

TEST(Work, StepsThatOnlyARunKnowsAreASymbol) {
  const Dim work = work_of(
      "(x: f32[2,2], n: i64[]) -> (s) { [s] = loop(count = n, state = [x], body = graph (i: i64[], go: bool[], v) -> "
      "(go, u) { u = matmul(v, v); }); }");
  EXPECT_EQ(work.text().substr(0, 8), "8*steps(") << work.text();
}

}  // namespace
}  // namespace nnex
