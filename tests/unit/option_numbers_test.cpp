// Numbers in options that nothing can be meant by: below 0, or none at all. Each is refused, found and needed.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "door.h"
#include "nnex/check.h"
#include "nnex/compare.h"
#include "nnex/input_file.h"
#include "nnex/inspect.h"
#include "nnex/quantize.h"
#include "nnex/tensor_file.h"
#include "nnex/view.h"
#include "nnex/webnn.h"

namespace nnex::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Graph two_layers() {
  auto graph = Graph::parse("graph main(x: f32[1,2]) -> (y) { y = relu(matmul(x, f32[2,2](1, 2, 3, 4))); }");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return *std::move(graph);
}

TEST(OptionNumbers, OfLoading) {
  const struct {
    LoadOptions options;
    std::string says;
  } rows[] = {{{.memory_limit = -5}, "option 'memory_limit': found -5; needed 0 or more"},
              {{.archive_ratio = -1}, "option 'archive_ratio': found -1; needed 0 or more"},
              {{.archive_limit = -7}, "option 'archive_limit': found -7; needed 0 or more"},
              {{.shapes = {{"x", {-2, 3}}}}, "input 'x' cannot have an extent of -2; needed 0 or more"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.says);
    for (Format format : kFormats) {
      const ModelSource source = ModelSource::memory(files_of(format));
      expect_error(load_model(source, row.options), Code::invalid_argument, row.says);
      expect_error(load_graph(source, row.options), Code::invalid_argument, row.says);
      expect_error(check(source, row.options), Code::invalid_argument, row.says);
      expect_error(inspect(source, row.options), Code::invalid_argument, row.says);
      expect_error(view(source, {.load = row.options}), Code::invalid_argument, row.says);
      const Folder folder;
      expect_error(convert(source, folder / "out.onnx", {.load = row.options}), Code::invalid_argument, row.says);
      const std::string path = folder.put(files_of(format));
      LoadOptions cached = row.options;
      cached.cache = folder / "cache";
      expect_error(Model::load(path, cached), Code::invalid_argument, row.says);
    }
    expect_error(Model::compile(two_layers(), row.options), Code::invalid_argument, row.says);
  }
}

TEST(OptionNumbers, OfSessions) {
  const auto model = Model::compile(two_layers());
  ASSERT_TRUE(model.ok());
  Session session = model->session({.threads = -3});
  const std::string says = "found -3 threads; needed 0 or more";
  const std::vector<Value> in = {Value(Tensor::of<float>({1, 2}, {1, 2}))};
  expect_error(session.run(in), Code::invalid_argument, says);
  expect_error(session.run({{"x", in[0]}}), Code::invalid_argument, says);
  std::vector<Tensor> out = {*Tensor::make(DType::f32, {1, 2})};
  EXPECT_EQ(session.run_into(in, out).error().message(), says);
  EXPECT_EQ(session.prepare().error().message(), says);
  EXPECT_EQ(session.reset_states().error().message(), says);
  ml::Environment environment;
  environment.threads = -3;
  const auto context = ml::createContext({}, environment).get();
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.error().kind, ml::ErrorKind::TypeError);
  EXPECT_EQ(context.error().message, says);
}

TEST(OptionNumbers, OfComparing) {
  const ModelSource source = ModelSource::memory(onnx_files());
  const InputsOf inputs = [](const Model&) -> Result<std::vector<Value>> {
    return std::vector<Value>{Value(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}))};
  };
  const struct {
    CompareOptions options;
    std::string says;
  } rows[] = {{{.session = {.threads = -1}}, "found -1 threads; needed 0 or more"},
              {{.tolerance = {.atol = -1}}, "tolerance 'atol': found -1; needed 0 or more"},
              {{.tolerance = {.rtol = kNan}}, "tolerance 'rtol': found nan; needed 0 or more"},
              {{.tolerance = {.ulp = -2}}, "tolerance 'ulp': found -2; needed 0 or more"},
              {{.held_bytes = -1}, "option 'held_bytes': found -1; needed 0 or more"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.says);
    expect_error(compare(source, source, inputs, row.options), Code::invalid_argument, row.says);
  }
  const Value one = Value(Tensor::scalar(1.0F));
  EXPECT_EQ(difference(one, one, {.ulp = -2}).mismatch, "tolerance 'ulp': found -2; needed 0 or more");
  EXPECT_TRUE(difference(one, one, {.atol = std::numeric_limits<double>::infinity()}).same());
}

TEST(OptionNumbers, OfSavingAndQuantising) {
  const Folder folder;
  const ModelSource source = ModelSource::memory(onnx_files());
  expect_error(convert(source, folder / "a.nnef", {.proof = ProofOptions{.session = {.threads = -1}}}),
               Code::invalid_argument, "found -1 threads; needed 0 or more");
  expect_error(convert(source, folder / "a.nnef", {.proof = ProofOptions{.tolerance = {.rtol = -1}}}),
               Code::invalid_argument, "tolerance 'rtol': found -1");
  expect_error(convert(source, folder / "a.onnx", {.save = {.onnx = {.opset = -5}}}), Code::invalid_argument,
               "option 'onnx.opset': found -5; needed 0");
  expect_error(save(two_layers(), folder / "b.onnx", {.onnx = {.opset = -5}}), Code::invalid_argument,
               "option 'onnx.opset': found -5; needed 0");
  expect_error(save(two_layers(), ""), Code::invalid_argument, "found no path to write to");
  expect_error(convert(source, ""), Code::invalid_argument, "found no path to write to");
  EXPECT_FALSE(fs::exists(folder / "a.onnx") || fs::exists(folder / "a.nnef") || fs::exists(folder / "b.onnx"));
  const QuantizeSettings four = {.weights = WeightCodes::int4};
  expect_error(quantize(two_layers(), {}, {.settings = four, .session = {.threads = -1}}), Code::invalid_argument,
               "found -1 threads");
  expect_error(quantize(two_layers(), {}, {.settings = four, .seconds = kNan}), Code::invalid_argument,
               "option 'seconds': found nan; needed 0 or more");
}

TEST(OptionNumbers, OfArchives) {
  const Folder folder;
  const std::string path = folder / "x.npz";
  const std::vector<NamedTensor> arrays = {{"x", Tensor::of<float>({2}, {1, 2})}};
  ASSERT_TRUE(write_tensors(path, arrays).ok());
  expect_error(read_tensors(path, -1), Code::invalid_argument, "option 'archive_limit': found -1; needed 0 or more");
  expect_error(read_tensors(path, 0, -4), Code::invalid_argument, "option 'archive_ratio': found -4; needed 0 or more");
  const auto file = InputFile::open(path);
  ASSERT_TRUE(file.ok());
  PortInfo port;
  port.name = "x", port.dtype = DType::f32;
  expect_error(file->value(port, {.archive_limit = -1}), Code::invalid_argument, "option 'archive_limit': found -1");
  EXPECT_TRUE(file->value(port).ok());
}

}  // namespace
}  // namespace nnex::test
