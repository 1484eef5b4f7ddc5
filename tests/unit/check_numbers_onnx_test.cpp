// Models whose numbers do not fit: what a run would refuse, or compute something of, a check tells beforehand.

#include <gtest/gtest.h>

#include "nnex/check.h"

namespace nnex {
namespace {

/// All that a check says of a model in the textual syntax.
std::vector<std::string> faults_of(const std::string& ports, const std::string& body, int opset = 22) {
  const std::string text =
      "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>\ng " + ports + " {" + body + "}";
  const auto report = check(ModelSource::memory(text));
  if (!report.ok()) return {report.error().text()};
  std::vector<std::string> out;
  for (const Fault& f : report->faults) out.push_back(f.text());
  return out;
}

struct Row {
  const char *ports, *body, *fault;
  int opset = 22;
};

TEST(CheckNumbersOnnx, OneOfEach) {
  const Row rows[] = {
      // Indices that are known
      {"(float[4] x) => (float[1] y)", "i = Constant<value_ints = [4]>() y = GatherElements(x, i)",
       "node 'y' (GatherElements): gather_elements: index 4 is outside [-4, 4) of axis 0 (index: 'i' i64[1])"},
      {"(float[2,4] x, int64[2,5] i) => (float[2,5] y)", "y = GatherElements<axis = 0>(x, i)",
       "node 'y' (GatherElements): gather_elements: index has extent 5 at axis 1; x has 4 (x: 'x' f32[2,4], index: 'i' "
       "i64[2,5])"},
      {"(float[2,4] x) => (float[1] y)", "i = Constant<value = int64[1,2] {0, 4}>() y = GatherND(x, i)",
       "node 'y' (GatherND): gather_nd: index 4 is outside [-4, 4) of axis 1 (index: 'i' i64[1,2])"},
      {"(float[2,4] x) => (float[2,1] y)",
       "i = Constant<value = int64[2,1,1] {0, -5}>() y = GatherND<batch_dims = 1>(x, i)",
       "node 'y' (GatherND): gather_nd: index -5 is outside [-4, 4) of axis 1 (index: 'i' i64[2,1,1])"},
      {"(float[4] x, float[1] u) => (float[4] y)", "i = Constant<value_ints = [4]>() y = ScatterElements(x, i, u)",
       "node 'y' (ScatterElements): scatter_elements: index 4 is outside [-4, 4) of axis 0 (index: 'i' i64[1])"},
      {"(float[4] x, float[1] u) => (float[4] y)", "i = Constant<value = int64[1,1] {-5}>() y = ScatterND(x, i, u)",
       "node 'y' (ScatterND): scatter_nd: index -5 is outside [-4, 4) of axis 0 (index: 'i' i64[1,1])"},
      {"(float[1,2,4,3] p, float[1,2,2,3] u) => (float[1,2,4,3] y)",
       "w = Constant<value_ints = [3]>() y = TensorScatter(p, u, w)",
       "node 'y' (TensorScatter): tensor_scatter: 2 elements from 3 on do not fit into 4 of row 0", 24},
      // Operands of one number
      {"(float[4] x, float[4] m) => (float[4] y)", "y = Clip(x, m)",
       "node 'y' (Clip): Clip: min has 4 elements; needed 1"},
      {"(float[4] x, float[2] m) => (float[4] y)", "y = Clip(x, , m)",
       "node 'y' (Clip): Clip: max has 2 elements; needed 1"},
      {"(float[4] x, int64[2] k) => (float[N] y)", "y, i = TopK(x, k)",
       "node 'y' (TopK): top_k: k has 2 elements; needed 1 (k: 'k' i64[2])"},
      {"(float[4] x, int64[2] a) => (float[4] y)", "y = CumSum(x, a)",
       "node 'y' (CumSum): cum_sum: axis has 2 elements; needed 1 (axis: 'a' i64[2])"},
      {"(int64[2] i, int64[2] d, float[2] v) => (float[2,N] y)", "y = OneHot(i, d, v)",
       "node 'y' (OneHot): one_hot: depth has 2 elements; needed 1 (depth: 'd' i64[2])"},
      {"(int64[2] s) => (float[N] y)", "y = HannWindow(s)",
       "node 'y' (HannWindow): cosine_window: length has 2 elements; needed 1 (length: 's' i64[2])"},
      {"(float[2] x, float[2] v) => (float[4] y)", "p = Constant<value_ints = [1, 1]>() y = Pad(x, p, v)",
       "node 'y' (Pad): pad: value has 2 elements; needed 1 (value: 'v' f32[2])"},
      // Ranges
      {"(float[4] x) => (float[4] y)", "r = Constant<value_float = 1.5>() y = Dropout(x, r)",
       "node 'y' (Dropout): dropout: ratio is 1.5; needed 0 to 1 (ratio: 'r' f32[])"},
      {"(float[4] x) => (float[4] y)", "y = Dropout<ratio = -0.5>(x)",
       "node 'y' (Dropout): dropout: ratio is -0.5; needed 0 to 1 (ratio: f32[])", 11},
      {"(float[1,2,4] b, float[1,1,2] s) => (int64[N,3] y)",
       "m = Constant<value_int = 1>() i = Constant<value_float = 1.5>() y = NonMaxSuppression(b, s, m, i)",
       "node 'y' (NonMaxSuppression): non_max_suppression: iou is 1.5; needed 0 to 1 (iou: 'i' f32[])"},
      {"(float[0] x) => (int64[1] y)", "y = ArgMax<axis = 0>(x)",
       "node 'y' (ArgMax): argmax_reduce: found axes of 0 elements; needed at least 1"},
      {"(float[2,3] x, bool[5] c) => (float[A,3] y)", "y = Compress<axis = 0>(x, c)",
       "node 'y' (Compress): compress: condition has 5 elements; axis 0 has 2 (condition: 'c' bool[5])"},
      {"(float[3,2] x) => (float[3,2] y)",
       "y = Scan<num_scan_inputs = 1, scan_input_directions = [2], body = s (float[2] i) => (float[2] o) { o = Relu(i) "
       "}>(x)",
       "node 'y' (Scan): scan: input_reverse has 2; needed 0 or 1"},
      // What excludes each other
      {"(float[4] x) => (float[2] y, float[2] z)",
       "s = Constant<value_ints = [2, 2]>() y, z = Split<num_outputs = 2>(x, s)",
       "node 'y' (Split): Split: both split and num_outputs are given; needed one of them"},
      {"(float[4] x) => (float[2] y, float[2] z)", "y, z = Split(x)",
       "node 'y' (Split): Split: neither split nor num_outputs is given; needed one of them"},
      {"(float[1,2,3] x, float[2] s) => (float[1,2,3] y)", "y, p, q = BatchNormalization(x, s, s, s, s)",
       "node 'y' (BatchNormalization): BatchNormalization: found 3 outputs; needed 1, as training_mode is 0"},
      // Ranks
      {"(float[6] x, int64[1,2] s) => (float[A,B] y)", "y = Reshape(x, s)",
       "node 'y' (Reshape): Reshape: input 1 has 2 axes; needed 1"},
      {"(int64[1,1] s) => (float[A] y)", "y = ConstantOfShape(s)",
       "node 'y' (ConstantOfShape): ConstantOfShape: input 0 has 2 axes; needed 1"},
      {"(float[4] x, int64[1,1] s, int64[1] e) => (float[A] y)", "y = Slice(x, s, e)",
       "node 'y' (Slice): Slice: input 1 has 2 axes; needed 1"},
      {"(float[4,4] x, int64[1,1] a) => (float[A,B] y)", "y = ReduceSum(x, a)",
       "node 'y' (ReduceSum): ReduceSum: input 1 has 2 axes; needed 1"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.body);
    EXPECT_EQ(faults_of(row.ports, row.body, row.opset), std::vector<std::string>{row.fault});
  }
}

TEST(CheckNumbersOnnx, WhatABodyIsGivenAndGives) {
  const auto loop = [](const char* counter, const char* again, const char* made) {
    return faults_of("(int64 m, bool c) => (float[N] y)", std::string("y = Loop<body = b (") + counter +
                                                              " i, bool c_in) => (" + again + " c_out, float o) { " +
                                                              made + " o = Constant<value_float = 1.0>() }>(m, c)");
  };
  using Faults = std::vector<std::string>;
  EXPECT_EQ(loop("int64", "bool", "c_out = Identity(c_in)"), Faults());
  EXPECT_EQ(loop("int32", "bool", "c_out = Identity(c_in)"),
            Faults{"node 'y' (Loop) > attribute 'body' > input 'i': it is declared i32[?]; it is i64[]"});
  EXPECT_EQ(loop("int64", "float", "c_out = Cast<to = 1>(c_in)"),
            Faults{"node 'y' (Loop): loop: result 0 of the body is f32[]; needed a condition, one bool (condition: 'c' "
                   "bool[])"});
  EXPECT_EQ(loop("int64", "bool[2]", "s = Constant<value_ints = [2]>() c_out = Expand(c_in, s)"),
            Faults{"node 'y' (Loop): loop: result 0 of the body is bool[2]; needed a condition, one bool (condition: "
                   "'c' bool[])"});
}

/// What others take, too: a tensor of one element for a number, indices that only a run knows.
TEST(CheckNumbersOnnx, WhatIsSound) {
  const Row rows[] = {
      {"(float[4] x, float[1] m) => (float[4] y)", "y = Clip(x, m)", ""},
      {"(float[4] x, float[K] m) => (float[4] y)", "y = Clip(x, m)", ""},
      {"(float[4] x, int64[1] i) => (float[1] y)", "y = GatherElements(x, i)", ""},
      {"(float[N] x) => (float[1] y)", "i = Constant<value_ints = [4]>() y = GatherElements(x, i)", ""},
      {"(float[4] x) => (float[4] y)", "r = Constant<value_float = 1.0>() y = Dropout(x, r)", ""},
      {"(float[2] x) => (float[1,2] y)", "a = Constant<value_int = 0>() y = Unsqueeze(x, a)", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.body);
    EXPECT_EQ(faults_of(row.ports, row.body, row.opset), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace nnex
