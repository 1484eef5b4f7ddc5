// The README example as a test, and the promise of repeatable bytes on the same network.

#include <gtest/gtest.h>

#include <string>

#include "nnex/model.h"
#include "source.h"

namespace {

TEST(Readme, ExampleRuns) {
  auto model = nnex::Model::load(nnex::test::source_dir() + "/models/shapes/model.onnx");
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto picture = nnex::Tensor::of(nnex::Shape{1, 3, 32, 32}, std::vector<float>(3 * 32 * 32, 0.5f));
  nnex::Session session = model->session();
  auto answers = session.run(std::vector<nnex::Value>{picture});
  ASSERT_TRUE(answers.ok()) << answers.error().text();
  float sum = 0;
  for (float p : (*answers)[0].tensor()->as<float>()) sum += p;
  EXPECT_NEAR(sum, 1, 1e-5);
}

// One row's bytes do not depend on threads, on the run, or on the rows beside it.
TEST(Promise, SameBytesWhateverTheThreadsAndTheBatch) {
  auto model = nnex::Model::load(nnex::test::source_dir() + "/models/shapes/model.onnx");
  ASSERT_TRUE(model.ok());
  std::vector<float> pixels(2 * 3 * 32 * 32);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 2654435761u % 1000) / 1000;
  auto run = [&](int64_t first, int64_t rows, int threads) {
    std::vector<float> part(pixels.begin() + first * 3072, pixels.begin() + (first + rows) * 3072);
    nnex::SessionOptions options;
    options.threads = threads;
    auto out =
        model->session(options).run(std::vector<nnex::Value>{nnex::Tensor::of(nnex::Shape{rows, 3, 32, 32}, part)});
    EXPECT_TRUE(out.ok());
    auto y = (*out)[0].tensor()->as<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  const auto both = run(0, 2, 1);
  EXPECT_EQ(both, run(0, 2, 2));
  EXPECT_EQ(both, run(0, 2, 1));
  const auto second = run(1, 1, 2);
  EXPECT_EQ(std::vector<float>(both.begin() + 8, both.end()), second);
}

}  // namespace
