// Graphs written as ONNX and read again, and whether two answers are the same bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "api/export.h"
#include "api/read.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "tensor/convert.h"

namespace nnex::test::onnx_written {

inline Result<std::string> written(const ir::Graph& graph, bool custom = false) {
  ir::Graph copy(graph);
  NNEX_ASSIGN(auto model, to_onnx(copy, {{}, custom, {}}));
  return model.model.text();
}

inline ir::Graph read(const std::string& bytes) {
  auto graph = read_model_bytes(bytes, {});
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return graph.ok() ? std::move(*graph) : ir::Graph();
}

inline std::vector<Value> answers_to(ir::Graph graph, const std::vector<Value>& in) {
  auto model = compile(std::move(graph));
  EXPECT_TRUE(model.ok()) << model.error().text();
  if (!model.ok()) return {};
  auto out = model->session().run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? std::move(*out) : std::vector<Value>();
}

inline bool same_value(const Value& a, const Value& b) {
  if (a.tensor() && b.tensor()) {
    const Tensor &x = *a.tensor(), &y = *b.tensor();
    if (x.dtype() != y.dtype() || !(x.shape() == y.shape())) return false;
    for (int64_t i = 0; is_object(x.dtype()) && i < x.count(); ++i)
      if (element_text(x, i) != element_text(y, i)) return false;
    return is_object(x.dtype()) || x.bytes() == 0 ||
           std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
  }
  if (a.sequence() && b.sequence()) {
    const auto &x = a.sequence()->items, &y = b.sequence()->items;
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), same_value);
  }
  if (a.map() && b.map())
    return same_value(Value(a.map()->keys), Value(b.map()->keys)) &&
           std::equal(a.map()->values.begin(), a.map()->values.end(), b.map()->values.begin(), b.map()->values.end(),
                      same_value);
  return a.text() == b.text();
}

inline void expect_same(const std::vector<Value>& a, const std::vector<Value>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_value(a[i], b[i])) << "output " << i;
}

inline Tensor ramp(const Shape& shape) {
  Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
  for (int64_t i = 0; i < t.count(); ++i) set_real(t, i, static_cast<double>(i * 37 % 19) / 4 - 2);
  return t;
}

}  // namespace nnex::test::onnx_written
