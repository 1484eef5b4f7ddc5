// Where engines answer differently, what ONNX's text says: each row was a class of difference of bench/differential.
// Values worked out by hand. A row runs with its later inputs in the file and given, its extents known and symbolic.

#include <gtest/gtest.h>

#include "nnex/model.h"
#include "onnx_bytes.h"
#include "op_run.h"
#include "ops/codecs.h"
#include "tensor_of.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;
using nnex::test::f;
using Tensors = std::vector<Tensor>;

std::string ints(std::string_view name, const std::vector<int64_t>& list) {
  std::string bytes = msg(1, name);
  for (int64_t n : list) bytes += num(8, n);
  return msg(5, bytes + num(20, 7));
}
std::string real(std::string_view name, float x) {
  return msg(5, msg(1, name) + varint(2 << 3 | 5) + raw_bytes(std::vector<float>{x}) + num(20, 1));
}
std::string word(std::string_view name, std::string_view text) {
  return msg(5, msg(1, name) + msg(4, text) + num(20, 3));
}

/// ValueInfoProto: an extent of n is the symbol "Nn" when it is not said.
std::string declared(std::string_view name, const Tensor& t, bool known) {
  std::string dims;
  for (int64_t n : t.shape()) dims += msg(1, known ? num(1, n) : msg(2, "N" + std::to_string(n)));
  return msg(1, name) + msg(2, msg(1, num(1, onnx_number(t.dtype())) + msg(2, dims)));
}

struct Way {
  bool constants, extents;
};
constexpr Way kWays[] = {{true, true}, {true, false}, {false, true}, {false, false}};

/// A model of one node, run; its outputs as text, or what is wrong.
std::string run(int64_t opset_version, const std::string& op, const Tensors& inputs, const std::string& attrs,
                size_t outputs, Way way) {
  nnex::test::onnx::Graph g;
  std::vector<std::string> names, made;
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    names.push_back(test::is_absent(t) ? "" : "x" + std::to_string(i));
    if (names.back().empty()) continue;
    const std::vector<int64_t> shape(t.shape().begin(), t.shape().end());
    if (i > 0 && way.constants) {
      g.weights.push_back(tensor(names.back(), shape,
                                 {reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())},
                                 onnx_number(t.dtype())));
      continue;
    }
    g.inputs.push_back(declared(names.back(), t, way.extents));
    values.emplace_back(t);
  }
  for (size_t o = 0; o < outputs; ++o) made.push_back("y" + std::to_string(o));
  const bool ml = op == "LinearRegressor";
  g.nodes = {node(op, names, made, attrs, ml ? "ai.onnx.ml" : "")};
  for (const std::string& o : made) g.outputs.push_back(msg(1, o));
  auto m = Model::from_bytes(model(g, ml ? opset("ai.onnx.ml", 3) : "", opset_version));
  if (!m.ok()) return m.error().message();
  auto got = m->session().run(values);
  if (!got.ok()) return got.error().message();
  std::string text;
  for (const Value& v : *got) text += (text.empty() ? "" : " | ") + test::shown(Tensors{*v.tensor()});
  return text;
}

Tensor texts(Shape s, std::vector<std::string> v) { return Tensor::of(std::move(s), v); }
Tensor i64(std::vector<int64_t> v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }
Tensor i32(std::vector<int32_t> v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }

struct Row {
  const char* name;
  int64_t opset;
  const char* op;
  Tensors inputs;
  std::string attrs;
  const char* want;
  size_t outputs = 1;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    for (const Way way : kWays) {
      SCOPED_TRACE(std::string(row.name) + (way.constants ? ", constants" : "") + (way.extents ? ", extents" : ""));
      EXPECT_EQ(run(row.opset, row.op, row.inputs, row.attrs, row.outputs, way), row.want);
    }
}

TEST(OnnxAnswers, SliceBeginsInside) {
  const Tensor x = f({4}, {1, 2, 3, 4}), square = f({2, 2}, {1, 2, 3, 4}), none = test::absent();
  check({
      {"a start before the first element is the first",
       13,
       "Slice",
       {x, i64({-9}), i64({-99}), i64({0}), i64({-1})},
       "",
       "f32[1] 1"},
      {"and goes nowhere from there", 13, "Slice", {x, i64({-9}), i64({0}), i64({0}), i64({-1})}, "", "f32[0]"},
      {"the smallest number too",
       13,
       "Slice",
       {x, i64({INT64_MIN}), i64({INT64_MIN}), i64({-1}), i64({-3})},
       "",
       "f32[1] 1"},
      {"in 32 bits", 10, "Slice", {x, i32({-9}), i32({-99}), i32({0}), i32({-2})}, "", "f32[1] 1"},
      {"without axes", 13, "Slice", {square, i64({-5, 1}), i64({-9, -9}), none, i64({-1, -1})}, "", "f32[1,2] 2 1"},
      {"a far end backwards is the last element",
       13,
       "Slice",
       {x, i64({-1}), i64({INT32_MAX}), i64({0}), i64({-1})},
       "",
       "f32[0]"},
      {"forwards as ever", 13, "Slice", {x, i64({-9}), i64({2}), i64({0}), i64({1})}, "", "f32[2] 1 2"},
  });
}

TEST(OnnxAnswers, Windows) {
  const std::string two = ints("kernel_shape", {2}), one = ints("kernel_shape", {1}), threes = ints("strides", {3});
  const std::string same = word("auto_pad", "SAME_UPPER"), twos = ints("dilations", {2});
  const Tensor x = f({1, 1, 3}, {1, 2, 3});
  check({
      {"no batch", 13, "MaxPool", {f({0, 1, 3}, {})}, two, "f32[0,1,2]"},
      {"no channel", 13, "AveragePool", {f({1, 0, 3}, {})}, two + threes, "f32[1,0,1]"},
      {"neither", 13, "LpPool", {f({0, 0, 3}, {})}, two, "f32[0,0,2]"},
      {"nothing to pool by one", 13, "MaxPool", {f({1, 1, 0}, {})}, one + threes, "f32[1,1,0]"},
      {"the padding knows of dilations", 19, "AveragePool", {x}, two + twos + same, "f32[1,1,3] 2 2 2"},
      {"a stride past the window crops nothing", 13, "LpPool", {x}, one + threes + same, "f32[1,1,1] 1"},
      {"of equal elements the first",
       13,
       "MaxPool",
       {f({1, 1, 3}, {2, 2, 1})},
       two,
       "f32[1,1,2] 2 2 | i64[1,1,2] 0 1",
       2},
      {"the result has input times stride",
       13,
       "ConvTranspose",
       {f({1, 1, 2}, {1, 2}), f({1, 1, 1}, {1})},
       threes + same,
       "f32[1,1,6] 1 0 0 2 0 0"},
  });
}

TEST(OnnxAnswers, Places) {
  const Tensor none = test::absent(), row = f({4}, {1, 2, 3, 4});
  const std::string crop = word("coordinate_transformation_mode", "tf_crop_and_resize") + word("mode", "linear");
  check({
      {"opset 10 takes the nearest from above where an axis shrinks",
       10,
       "Resize",
       {row, f({1}, {0.75F})},
       "",
       "f32[3] 1 3 4"},
      {"and from below where it grows",
       10,
       "Resize",
       {f({1, 4}, {1, 2, 3, 4}), f({2}, {2, 0.75F})},
       "",
       "f32[2,3] 1 3 4 1 3 4"},
      {"a crop starts where the region does",
       13,
       "Resize",
       {f({6}, {1, 2, 3, 4, 5, 6}), f({2}, {0.5F, 1}), f({1}, {2})},
       crop,
       "f32[6] 3.5 4 4.5 5 5.5 6"},
      {"a place outside moves to the border, then its neighbours are read",
       20,
       "GridSample",
       {f({1, 1, 1, 4}, {1, 2, 3, 4}), f({1, 1, 1, 2}, {-2, 0})},
       word("mode", "cubic") + word("padding_mode", "border") + attr_int("align_corners", 1),
       "f32[1,1,1,1] 1"},
  });
}

TEST(OnnxAnswers, Sums) {
  const Tensor q = f({1, 1, 1, 1}, {1}), k = f({1, 1, 2, 1}, {1, 1}), v = f({1, 1, 2, 1}, {5, 9});
  check({
      {"scale and bias of groups, channels symbolic",
       18,
       "GroupNormalization",
       {f({1, 2, 1, 2}, {1, 3, 10, 12}), f({2}, {1, 2}), f({2}, {0, 1})},
       attr_int("num_groups", 2) + real("epsilon", 0),
       "f32[1,2,1,2] -1 1 -1 3"},
      {"beta counts beside no products",
       13,
       "Gemm",
       {f({1, 0}, {}), f({0, 2}, {}), f({2}, {1, 2})},
       real("beta", 2),
       "f32[1,2] 2 4"},
      {"axes from the end over nothing", 18, "ReduceProd", {f({1, 2, 0}, {}), i64({-1, 0})}, "", "f32[1,2,1] 1 1"},
      {"the first query sees the first key", 23, "Attention", {q, k, v}, attr_int("is_causal", 1), "f32[1,1,1,1] 5"},
      {"one element deviates by nothing",
       13,
       "MeanVarianceNormalization",
       {f({1, 1, 1, 1}, {7})},
       "",
       "f32[1,1,1,1] 0"},
      {"a root is a power, of -infinity too",
       15,
       "Pow",
       {f({3}, {-INFINITY, 4, 0}), f({1}, {0.5F})},
       "",
       "f32[3] inf 2 0"},
      {"infinities saturate", 13, "QuantizeLinear", {f({2}, {INFINITY, -INFINITY}), f({}, {1})}, "", "u8[2] 255 0"},
  });
}

TEST(OnnxAnswers, TextsAndScores) {
  const Tensor index = Tensor::scalar<int32_t>(-1);
  const auto linear = [](std::vector<float> coefficients, std::string_view transform) {
    std::string list = msg(1, "coefficients");
    for (float x : coefficients) list += varint(7 << 3 | 5) + raw_bytes(std::vector<float>{x});
    return msg(5, list + num(20, 6)) + attr_int("targets", int64_t(coefficients.size())) +
           word("post_transform", transform);
  };
  check({
      {"between no delimiters stands one text",
       20,
       "StringSplit",
       {texts({2}, {"", "ab"})},
       word("delimiter", "b"),
       "str[2,2] \"\" \"\" \"a\" \"\" | i64[2] 1 2",
       2},
      {"every text of a place",
       13,
       "Gather",
       {texts({1, 2}, {"a", "b"}), index},
       attr_int("axis", 0),
       "str[2] \"a\" \"b\""},
      {"one target is transformed too",
       13,
       "LinearRegressor",
       {f({1, 1}, {0})},
       linear({1}, "LOGISTIC"),
       "f32[1,1] 0.5"},
      {"zeros alone stay zeros",
       13,
       "LinearRegressor",
       {f({1, 1}, {0})},
       linear({1, 2}, "SOFTMAX_ZERO"),
       "f32[1,2] 0 0"},
  });
}

TEST(OnnxAnswers, OldestOpsets) {
  const Tensor x = f({4}, {1, 2, 3, 4});
  check({
      {"a mask of the data's type", 7, "Dropout", {x}, "", "f32[4] 1 2 3 4 | f32[4] 1 1 1 1", 2},
      {"a mask of opset 6", 6, "Dropout", {x}, attr_int("is_test", 1), "f32[4] 1 2 3 4 | f32[4] 1 1 1 1", 2},
      {"a mask of opset 1", 1, "Dropout", {x}, attr_int("is_test", 1), "f32[4] 1 2 3 4 | f32[4] 1 1 1 1", 2},
      {"a mask of truths", 10, "Dropout", {x}, "", "f32[4] 1 2 3 4 | bool[4] true true true true", 2},
  });
  for (const bool known : {true, false})  // the extents of parts are known
    EXPECT_EQ(run(1, "Split", {x, f({2}, {1, 3})}, attr_int("axis", 0), 2, {true, known}), "f32[1] 1 | f32[3] 2 3 4");
}

TEST(OnnxAnswers, ReshapeOfNothing) {
  check({{"a copied extent of 0 makes the others fit", 14, "Reshape", {f({0, 5}, {}), i64({0})}, "", "f32[0]"}});
}

}  // namespace
