#pragma once
// One operator of CVM by itself, as its importer makes it: run on numbers, or refused.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/cvm/import.h"

namespace nnex::cvm_rows {

using cvm_format::Importer;
using cvm_format::TextMap;
using Numbers = std::vector<int32_t>;

struct In {
  std::vector<int64_t> shape;
  int64_t bits;
  Numbers values;
};

constexpr int32_t kMax = INT32_MAX;
/// Of non_max_suppression: classes, scores and corners.
inline const In kBoxes = {{2, 2, 6}, 8, {0, 5, 0, 0, 10, 10, 0, 9, 0, 0, 10, 9, 1, 3, 0, 0, 4, 4, 1, 4, 5, 5, 9, 9}};

struct Answer {
  std::vector<Numbers> values;
  std::vector<int64_t> bits;
  std::string error;
  cvm_format::Blame blame = cvm_format::Blame::none;
};

inline Answer refused(const Error& e) { return {{}, {}, e.text(), cvm_format::blame(e)}; }

inline Answer run(std::string_view op, const TextMap& attrs, const std::vector<In>& inputs, bool compatible = false) {
  ir::Graph graph;
  Importer importer(graph, compatible);
  std::vector<ValueId> in;
  std::vector<Value> values;
  for (const In& i : inputs) {
    in.push_back(importer.variable("x" + std::to_string(in.size()), i.shape, i.bits));
    values.emplace_back(Tensor::of(Shape(i.shape), i.values));
  }
  auto out = importer.add(op, attrs, in, "y", 0);
  if (!out.ok()) return refused(out.error());
  Answer answer;
  for (ValueId v : *out) answer.bits.push_back(importer.bits(v));
  graph.set_results(kMain, *out);
  auto model = compile(std::move(graph));
  if (!model.ok()) return refused(model.error());
  auto got = model->session().run(values);
  if (!got.ok()) return refused(got.error());
  for (const Value& v : *got) {
    auto x = v.tensor()->as<int32_t>();
    answer.values.emplace_back(x.begin(), x.end());
  }
  return answer;
}

inline Numbers one(std::string_view op, const TextMap& attrs, const std::vector<In>& inputs, bool compatible = false) {
  Answer a = run(op, attrs, inputs, compatible);
  EXPECT_EQ(a.error, "");
  return a.values.empty() ? Numbers{} : a.values[0];
}

}  // namespace nnex::cvm_rows
