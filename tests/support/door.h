#pragma once
// What tests of the public door share: a model of each standard, folders for their files, and their answers.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cvm_model.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "onnx_bytes.h"

namespace nnex::test {

namespace fs = std::filesystem;
namespace pb = onnx;

using Files = std::vector<NamedBytes>;

inline constexpr Format kFormats[] = {Format::nnef, Format::onnx, Format::webnn, Format::cvm};

/// A folder that ends with the test.
class Folder {
 public:
  Folder() {
    std::string path = testing::TempDir() + "/nnex_door_XXXXXX";
    path_ = mkdtemp(path.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  /// Writes the files: the path of the folder.
  std::string put(const Files& files) const {
    for (const NamedBytes& file : files) {
      fs::create_directories(fs::path(*this / file.name).parent_path());
      std::ofstream(*this / file.name, std::ios::binary) << file.bytes;
    }
    return path_;
  }

 private:
  std::string path_;
};

// ---- Models

/// y = relu(x * w + b) of f32[2,3]; w lies in weights.bin.
inline Files onnx_files() {
  const std::string w = pb::raw_bytes(std::vector<float>{1, -2, 3});
  pb::Graph g{{pb::node("Mul", {"x", "w"}, {"m"}), pb::node("Add", {"m", "b"}, {"a"}), pb::node("Relu", {"a"}, {"y"})},
              {pb::value("x", {2, 3})},
              {pb::value("y", {2, 3})},
              {pb::external("w", {3}, {{"location", "weights.bin"}}),
               pb::tensor("b", {3}, pb::raw_bytes(std::vector<float>{0.5f, 1, -1}))}};
  return {{"net.onnx", pb::model(g)}, {"weights.bin", w}};
}

inline Files cvm_files() {
  return {{"symbol", cvm_model::write_symbol(cvm_model::base_symbol())},
          {"params", cvm_model::write_params(cvm_model::base_params())}};
}

/// A model of each standard, as the files it has in memory.
inline Files files_of(Format format) {
  if (format == Format::cvm) return cvm_files();
  if (format == Format::onnx) return onnx_files();
  auto graph = load_graph(ModelSource::memory(onnx_files()));
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  SaveOptions options;
  auto files = to_bytes(*graph, format, options);
  EXPECT_TRUE(files.ok()) << files.error().text();
  return files.ok() ? *files : Files();
}

/// What a model makes of 1, -2, 3, ... in its input, as numbers.
inline std::vector<double> answers(const Model& model) {
  const PortInfo& port = model.inputs()[0];
  Tensor x = *Tensor::make(port.dtype, Shape(port.extents));
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const int number = static_cast<int>(i % 2 ? -i - 1 : i + 1);
    if (port.dtype == DType::f32) x.mutable_as<float>()[at] = static_cast<float>(number);
    if (port.dtype == DType::i32) x.mutable_as<int32_t>()[at] = number;
    if (port.dtype == DType::i64) x.mutable_as<int64_t>()[at] = number;
    if (port.dtype == DType::i8) x.mutable_as<int8_t>()[at] = static_cast<int8_t>(number);
  }
  const std::vector<Value> in = {Value(std::move(x))};
  auto out = model.session().run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  std::vector<double> numbers;
  if (!out.ok()) return numbers;
  const Tensor& y = *(*out)[0].tensor();
  for (int64_t i = 0; i < y.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (y.dtype() == DType::f32) numbers.push_back(y.as<float>()[at]);
    if (y.dtype() == DType::i32) numbers.push_back(y.as<int32_t>()[at]);
    if (y.dtype() == DType::i64) numbers.push_back(static_cast<double>(y.as<int64_t>()[at]));
    if (y.dtype() == DType::i8) numbers.push_back(y.as<int8_t>()[at]);
  }
  return numbers;
}

inline const std::vector<double> kReal = {1.5, 5, 8, 0, 0, 0}, kWhole = {0, 0, 1, 0, 1, 0};
inline const std::vector<double>& wanted(Format format) { return format == Format::cvm ? kWhole : kReal; }

inline void expect_answers(Result<Model> model, const std::vector<double>& wanted) {
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(answers(*model), wanted);
}

template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& says) {
  ASSERT_FALSE(result.ok()) << "needed: " << says;
  EXPECT_EQ(name(result.error().code()), name(code)) << result.error().text();
  EXPECT_NE(result.error().text().find(says), std::string::npos) << result.error().text() << "\nneeded: " << says;
}

}  // namespace nnex::test
