// ONNX operators of this kind whose files differ from the table by more than names: old opsets, columns in another
// order, formulas written out. Values worked out by hand.

#include <gtest/gtest.h>

#include "nnex/model.h"
#include "onnx_bytes.h"
#include "op_run.h"
#include "tensor_of.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;
using nnex::test::f;
using nnex::test::i64;
using nnex::test::shown;

struct Input {
  std::string name;
  Tensor tensor;
  std::vector<int64_t> declared = {};  ///< Extents in the file, where they differ.
  bool constant = false;               ///< Numbers in the file instead of an input.
};

int64_t element(const Tensor& t) { return t.dtype() == DType::i64 ? kInt64 : t.dtype() == DType::boolean ? 9 : kFloat; }

/// A model of one node run on these inputs; all its outputs have `rank` symbolic extents in the file.
Result<std::vector<Tensor>> run_node(int64_t opset_version, const std::string& op, const std::vector<Input>& inputs,
                                     const std::string& attrs, const std::vector<std::string>& outputs) {
  nnex::test::onnx::Graph g;
  std::vector<std::string> names;
  std::vector<Value> values;
  for (const Input& i : inputs) {
    std::vector<int64_t> extents(i.tensor.shape().begin(), i.tensor.shape().end());
    names.push_back(i.name);
    if (i.constant) {
      const std::string_view raw(reinterpret_cast<const char*>(i.tensor.data()), static_cast<size_t>(i.tensor.bytes()));
      g.weights.push_back(tensor(i.name, extents, raw, element(i.tensor)));
      continue;
    }
    g.inputs.push_back(value(i.name, i.declared.empty() ? extents : i.declared, element(i.tensor)));
    values.emplace_back(i.tensor);
  }
  g.nodes = {node(op, names, outputs, attrs)};
  for (const std::string& o : outputs) g.outputs.push_back(msg(1, o));
  NNEX_ASSIGN(Model m, Model::from_bytes(model(g, {}, opset_version)));
  NNEX_ASSIGN(std::vector<Value> got, m.session().run(values));
  std::vector<Tensor> tensors;
  for (const Value& v : got) tensors.push_back(*v.tensor());
  return tensors;
}

std::string attr_ints(std::string_view name, const std::vector<int64_t>& list) {
  std::string bytes = msg(1, name);
  for (int64_t n : list) bytes += num(8, n);
  return msg(5, bytes + num(20, 7));
}
std::string attr_real(std::string_view name, float x) {
  return msg(5, msg(1, name) + varint(2 << 3 | 5) + raw_bytes(std::vector<float>{x}) + num(20, 1));
}
std::string attr_text(std::string_view name, std::string_view text) {
  return msg(5, msg(1, name) + msg(4, text) + num(20, 3));
}

TEST(SelectOnnx, OldOpsets) {
  auto top = run_node(1, "TopK", {{"x", f({4}, {1, 9, 9, 3})}}, attr_int("k", 2), {"y", "i"});
  EXPECT_EQ(shown(top, 0), "f32[2] 9 9");
  EXPECT_EQ(shown(top, 1), "i64[2] 1 2");
  EXPECT_EQ(
      shown(run_node(9, "Scatter", {{"x", f({3}, {1, 2, 3})}, {"i", i64({1}, {2})}, {"u", f({1}, {7})}}, {}, {"y"})),
      "f32[3] 1 2 7");
  const std::vector<Input> hot = {{"i", i64({2}, {-1, 1})}, {"d", i64({}, {2})}, {"v", f({2}, {0, 1})}};
  EXPECT_EQ(shown(run_node(9, "OneHot", hot, {}, {"y"})), "f32[2,2] 0 0 0 1");
  EXPECT_EQ(shown(run_node(11, "OneHot", hot, {}, {"y"})), "f32[2,2] 0 1 0 1");
  // (x - mean) / sqrt(variance + 0) * scale + offset, element by element
  EXPECT_EQ(shown(run_node(7, "BatchNormalization",
                           {{"x", f({1, 1, 2}, {3, 5})},
                            {"s", f({1, 2}, {1, 10})},
                            {"b", f({1, 2}, {0, 1})},
                            {"m", f({1, 2}, {1, 1})},
                            {"v", f({1, 2}, {4, 16})}},
                           attr_int("spatial", 0) + attr_real("epsilon", 0), {"y"})),
            "f32[1,1,2] 1 11");
}

/// Resize-10 from asymmetric coordinates: from above where an axis gets smaller, from below where it grows.
TEST(SelectOnnx, NearestOfOldResize) {
  const Input x = {"x", f({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})};
  const auto resized = [&](std::vector<float> s) {
    return shown(run_node(10, "Resize", {x, {"s", f({4}, std::move(s)), {}, true}}, {}, {"y"}));
  };
  EXPECT_EQ(resized({1, 1, 0.6F, 0.6F}), "f32[1,1,1,2] 1 3");
  EXPECT_EQ(resized({1, 1, 1, 1.5F}), "f32[1,1,2,6] 1 1 2 3 3 4 5 5 6 7 7 8");
  EXPECT_EQ(resized({1, 1, 1.5F, 0.6F}), "f32[1,1,3,2] 1 3 1 3 5 7");
}

TEST(SelectOnnx, BiasOfUnknownExtentsMayBroadcast) {
  const std::vector<Input> in = {{"a", f({2, 1}, {2, 3})}, {"b", f({1, 1}, {5})}, {"c", f({1, 1}, {100}), {-1, -1}}};
  EXPECT_EQ(shown(run_node(13, "Gemm", in, {}, {"y"})), "f32[2,1] 110 115");
}

TEST(SelectOnnx, Pools) {
  const Input x = {"x", f({1, 1, 2, 3}, {1, 9, 2, 3, 4, 8})};
  auto max = run_node(12, "MaxPool", {x}, attr_ints("kernel_shape", {2, 2}) + attr_int("storage_order", 1), {"y", "i"});
  EXPECT_EQ(shown(max, 1), "i64[1,1,1,2] 2 2");
  const std::vector<Input> back = {{"x", f({1, 1, 1, 2}, {5, 6})}, {"i", i64({1, 1, 1, 2}, {0, 3})}};
  const std::string two = attr_ints("kernel_shape", {1, 2}) + attr_ints("strides", {1, 2});
  EXPECT_EQ(shown(run_node(11, "MaxUnpool", back, two, {"y"})), "f32[1,1,1,4] 5 0 0 6");
  // The place counts in the extents that follow from the windows; that block is the corner of the larger result.
  std::vector<Input> larger = back;
  larger.push_back({"s", i64({4}, {1, 1, 2, 5})});
  EXPECT_EQ(shown(run_node(11, "MaxUnpool", larger, two, {"y"})), "f32[1,1,2,5] 5 0 0 6 0 0 0 0 0 0");
  EXPECT_EQ(shown(run_node(18, "LpPool", {x}, attr_ints("kernel_shape", {2, 1}) + attr_int("p", 1), {"y"})),
            "f32[1,1,1,3] 4 13 10");
  EXPECT_EQ(shown(run_node(1, "GlobalLpPool", {x}, attr_real("p", 1), {"y"})), "f32[1,1,1,1] 27");
}

TEST(SelectOnnx, PoolsOverSymbols) {
  const std::string ceil = attr_ints("kernel_shape", {2}) + attr_ints("strides", {2}) + attr_int("ceil_mode", 1);
  for (const char* op : {"MaxPool", "AveragePool"}) {
    Input x = {"x", f({1, 1, 5}, {1, 1, 3, 3, 5}), {1, 1, -1}};
    EXPECT_EQ(shown(run_node(12, op, {x}, ceil, {"y"})), "f32[1,1,3] 1 3 5") << op;
  }
}

TEST(SelectOnnx, Regions) {
  const Input x = {"x", f({1, 1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})};
  // [image, x, y, x, y]: columns 2 to 3 of rows 0 to 1, both ends taken
  EXPECT_EQ(shown(run_node(1, "MaxRoiPool", {x, {"r", f({1, 5}, {0, 2, 0, 3, 1})}}, attr_ints("pooled_shape", {2, 2}),
                           {"y"})),
            "f32[1,1,2,2] 2 3 6 7");
  EXPECT_EQ(shown(run_node(1, "MaxRoiPool", {x, {"r", f({1, 5}, {0, 4, 0, 6, 2})}},
                           attr_ints("pooled_shape", {1, 1}) + attr_real("spatial_scale", 0.5f), {"y"})),
            "f32[1,1,1,1] 7");
  // corners x 1 to 3, y 0 to 2 in elements' edges: one sample in the middle, at row 0.5, column 1.5
  const std::vector<Input> align = {x, {"r", f({1, 4}, {1, 0, 3, 2})}, {"b", i64({1}, {0})}};
  EXPECT_EQ(shown(run_node(16, "RoiAlign", align, attr_int("sampling_ratio", 1), {"y"})), "f32[1,1,1,1] 3.5");
  // until opset 16 corners counted from the middle of elements: row 1, column 2
  EXPECT_EQ(shown(run_node(10, "RoiAlign", align, attr_int("sampling_ratio", 1), {"y"})), "f32[1,1,1,1] 6");
  EXPECT_EQ(shown(run_node(16, "RoiAlign", align, attr_int("sampling_ratio", 1) + attr_text("mode", "max"), {"y"})),
            "f32[1,1,1,1] 1.5");
}

TEST(SelectOnnx, Suppress) {
  const std::vector<Input> boxes = {{"b", f({1, 2, 4}, {1, 1, 2, 2, 1, 2, 2, 2})}, {"s", f({1, 1, 2}, {0.5f, 0.9f})}};
  EXPECT_EQ(shown(run_node(11, "NonMaxSuppression", boxes, {}, {"y"})), "i64[0,3]");
  std::vector<Input> capped = boxes;
  capped.push_back({"n", i64({1}, {5})});
  capped.push_back({"iou", f({1}, {0.3f})});
  // as centres and extents, they share a third
  EXPECT_EQ(shown(run_node(11, "NonMaxSuppression", capped, attr_int("center_point_box", 1), {"y"})), "i64[1,3] 0 0 1");
}

}  // namespace
