// Convolutions, and scans of opset 8, as ONNX files spell them. Values worked out by hand.

#include <gtest/gtest.h>

#include "nnex/model.h"
#include "onnx_bytes.h"
#include "op_run.h"
#include "ops/codecs.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;

struct Input {
  std::string name;
  Tensor tensor;
};

int64_t element(const Tensor& t) { return onnx_number(t.dtype()); }

std::string attr_ints(std::string_view name, const std::vector<int64_t>& list) {
  std::string bytes = msg(1, name);
  for (int64_t n : list) bytes += num(8, n);
  return msg(5, bytes + num(20, 7));
}
std::string attr_word(std::string_view name, std::string_view word) {
  return msg(5, msg(1, name) + msg(4, word) + num(20, 3));
}

/// A model of one node on these inputs (names that are empty are absent), as text: its outputs, or what is wrong.
std::string run(int64_t opset_version, const std::string& op, const std::vector<Input>& inputs,
                const std::string& attrs, const std::vector<std::string>& outputs = {"y"}) {
  nnex::test::onnx::Graph g;
  std::vector<std::string> names;
  std::vector<Value> values;
  for (const Input& i : inputs) {
    names.push_back(i.name);
    if (i.name.empty()) continue;
    g.inputs.push_back(value(i.name, {i.tensor.shape().begin(), i.tensor.shape().end()}, element(i.tensor)));
    values.emplace_back(i.tensor);
  }
  g.nodes = {node(op, names, outputs, attrs)};
  for (const std::string& o : outputs) g.outputs.push_back(msg(1, o));
  auto m = Model::from_bytes(model(g, {}, opset_version));
  if (!m.ok()) return m.error().message();
  auto got = m->session().run(values);
  if (!got.ok()) return got.error().message();
  std::string text;
  for (const Value& v : *got) text += (text.empty() ? "" : " | ") + test::shown(std::vector<Tensor>{*v.tensor()});
  return text;
}

template <class T>
Tensor row(std::vector<T> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{1, 1, n}, v);
}
template <class T>
Tensor number(T v) {
  return Tensor::scalar<T>(v);
}

TEST(OnnxConv, IntegersPadWithTheirZeroPoint) {
  const Input x{"x", row<uint8_t>({2, 3, 4, 5})}, w{"w", row<uint8_t>({1, 2})}, zero{"z", number<uint8_t>(1)};
  EXPECT_EQ(run(10, "ConvInteger", {x, w, zero}, attr_ints("pads", {1, 1})), "i32[1,1,5] 2 5 8 11 4");
  EXPECT_EQ(run(10, "ConvInteger", {x, w, zero}, attr_word("auto_pad", "SAME_UPPER")), "i32[1,1,4] 5 8 11 4");
  EXPECT_EQ(run(10, "ConvInteger", {x, w, {}, zero}, attr_ints("kernel_shape", {2})), "i32[1,1,3] 3 4 5");
  EXPECT_EQ(run(10, "ConvInteger", {x, w}, attr_ints("kernel_shape", {3})),
            "ConvInteger: kernel_shape says 3 at axis 0; the filter has 2");
}

TEST(OnnxConv, QuantisedFilterStandsFourth) {
  const std::vector<Input> in = {{"x", row<uint8_t>({10, 20})}, {"xs", number(0.5F)},      {"xz", number<uint8_t>(4)},
                                 {"w", row<int8_t>({3})},       {"ws", number(0.25F)},     {"wz", number<int8_t>(1)},
                                 {"ys", number(0.0625F)},       {"yz", number<uint8_t>(5)}};
  EXPECT_EQ(run(10, "QLinearConv", in, attr_ints("kernel_shape", {1})), "u8[1,1,2] 29 69");
  EXPECT_EQ(run(10, "QLinearConv", in, attr_ints("kernel_shape", {2})),
            "QLinearConv: kernel_shape says 2 at axis 0; the filter has 1");
}

TEST(OnnxConv, FiltersOfFewAxes) {
  const Input x{"x", row<float>({1, 2})}, w{"w", Tensor::of<float>(Shape{1}, {3})};
  for (const char* shape : {"output_shape", "kernel_shape"}) {
    const std::string said = run(11, "ConvTranspose", {x, w}, attr_ints(shape, {1}));
    EXPECT_NE(said.rfind("f32", 0), 0U) << said;  // no answer
    EXPECT_NE(said.find("filter"), std::string::npos) << said;
  }
  EXPECT_EQ(run(11, "ConvTranspose", {x, w}, attr_ints("kernel_shape", {1})),
            "ConvTranspose: kernel_shape has 1 axes; the filter has 0 spatial ones");
}

TEST(OnnxConv, DeformedAndCausal) {
  const Input x{"x", row<float>({10, 20, 30, 40})}, w{"w", row<float>({1})};
  EXPECT_EQ(
      run(19, "DeformConv", {x, w, {"o", row<float>({0.5F, 1, -2, 0.5F})}, {}, {"m", row<float>({1, 2, 1, 0.5F})}},
          attr_ints("kernel_shape", {1})),
      "f32[1,1,4] 15 60 10 10");
  EXPECT_EQ(run(27, "CausalConvWithState", {x, {"w", row<float>({1, 10})}, {}, {"p", row<float>({5})}}, {}, {"y", "s"}),
            "f32[1,1,4] 105 210 320 430 | f32[1,1,1] 40");
  EXPECT_EQ(run(27, "CausalConvWithState", {{"x", row<float>({0, 100})}, w}, attr_word("activation", "swish")),
            "f32[1,1,2] 0 100");
  EXPECT_EQ(run(27, "CausalConvWithState", {x, w}, attr_word("activation", "relu")),
            "CausalConvWithState: attribute 'activation': found 'relu'; needed one of none silu");
}

// ---- Scan of opset 8

/// s + x, carried and stacked.
std::string sum_body() {
  return attr_graph("body", nnex::test::onnx::Graph{{node("Add", {"s", "e"}, {"t"}), node("Identity", {"t"}, {"o"})},
                                                    {value("s", {}), value("e", {})},
                                                    {value("t", {}), value("o", {})}}
                                .bytes());
}

TEST(OnnxScan, BatchesOfOpset8) {
  const Input state{"i", Tensor::of<float>(Shape{2}, {0, 100})},
      x{"x", Tensor::of<float>(Shape{2, 3}, {1, 2, 3, 10, 20, 30})};
  const std::string attrs = sum_body() + attr_int("num_scan_inputs", 1);
  EXPECT_EQ(run(8, "Scan", {{}, state, x}, attrs, {"s1", "o1"}), "f32[2] 6 160 | f32[2,3] 1 3 6 110 130 160");
  EXPECT_EQ(run(8, "Scan", {{}, state, x}, attrs + attr_ints("directions", {1}), {"s1", "o1"}),
            "f32[2] 6 160 | f32[2,3] 3 5 6 130 150 160");
  // Each item has a length of its own; zeros follow it.
  const Input lengths{"n", Tensor::of<int64_t>(Shape{2}, {3, 2})};
  EXPECT_EQ(run(8, "Scan", {lengths, state, x}, attrs, {"s1", "o1"}), "f32[2] 6 130 | f32[2,3] 1 3 6 110 130 0");
  EXPECT_EQ(run(8, "Scan", {lengths, state, x}, attrs + attr_ints("directions", {1}), {"s1", "o1"}),
            "f32[2] 6 130 | f32[2,3] 3 5 6 120 130 0");
  EXPECT_EQ(run(8, "Scan", {{}, state, x}, sum_body() + attr_int("num_scan_inputs", 3), {"s1", "o1"}),
            "Scan: 3 scanned inputs; the node has 2 inputs after the lengths, at least 1 is scanned");
}

}  // namespace
