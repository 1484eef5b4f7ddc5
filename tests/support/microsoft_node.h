#pragma once
// Models of one node of the domain com.microsoft, and their answers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "nnex/load.h"
#include "nnex/model.h"
#include "tensor/convert.h"

namespace nnex::test {

using Tensors = std::vector<Tensor>;

/// A model of one node in ONNX's text: inputs and outputs as the syntax declares them, initializers between.
inline std::string text(std::string_view inputs, std::string_view outputs, std::string_view held,
                        std::string_view node) {
  return fmt::format("<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\ng ({}) => ({}){} {{ {} }}",
                     inputs, outputs, held.empty() ? "" : fmt::format(" <{}>", held), node);
}

/// Outputs of a run, or what is wrong as an output of no elements with the message in `error`.
inline Tensors run(const std::string& model, const Tensors& inputs, std::string* error = nullptr) {
  const auto failed = [&](const Error& e) {
    if (error) *error = e.message();
    EXPECT_TRUE(error) << e.text();
    return Tensors{};
  };
  auto m = load_model(ModelSource::memory(model));
  if (!m.ok()) return failed(m.error());
  std::vector<Value> values(inputs.begin(), inputs.end());
  auto got = m->session().run(values);
  if (!got.ok()) return failed(got.error());
  Tensors out;
  for (const Value& v : *got) out.push_back(*v.tensor());
  return out;
}

inline void expect_near(const Tensor& t, const Shape& shape, const std::vector<double>& wanted) {
  EXPECT_EQ(t.shape(), shape);
  ASSERT_EQ(static_cast<size_t>(t.count()), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(real_at(t, static_cast<int64_t>(i)), wanted[i], 1e-5) << "element " << i;
}

}  // namespace nnex::test
