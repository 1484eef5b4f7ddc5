// Options are written with the names of the members that matter alone: whoever compiles with -Wextra and -Werror is
// told of no other member. That this file compiles is the test.

#pragma GCC diagnostic error "-Wmissing-field-initializers"

#include <gtest/gtest.h>

#include "nnex/compare.h"
#include "nnex/custom.h"
#include "nnex/graph.h"
#include "nnex/input_file.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/quantize.h"
#include "nnex/save.h"
#include "nnex/source.h"
#include "nnex/tensor_file.h"
#include "nnex/view.h"
#include "nnex/webnn.h"

namespace nnex {
namespace {

TEST(Options, MembersByName) {
  const LoadOptions load = {.symbols = {{"N", 1}}};
  EXPECT_EQ(load.symbols.at("N"), 1);
  EXPECT_TRUE(load.optimize && LoadOptions{.cache = "folder"}.carry.empty());
  EXPECT_EQ((LoadOptions{.memory_limit = 1, .carry = {{.output = "h"}}}.carry[0].input), "");
  EXPECT_EQ((LoadOptions{.nnef = {.dialect = NnefDialect::tract}}.cvm.answers), CvmAnswers::nnex);
  EXPECT_EQ(SessionOptions{.threads = 2}.seed, 0u);
  EXPECT_FALSE(RunOptions{.cancel = nullptr}.deadline);
  EXPECT_EQ(SaveOptions{.overwrite = Overwrite::replace}.name, "");
  EXPECT_EQ((SaveOptions{.onnx = {.external_data = true}}.onnx.opset), 0);
  EXPECT_EQ((SaveOptions{.nnef = {.packing = NnefPacking::tgz}, .webnn = {.form = WebnnForm::program}}.name), "");
  EXPECT_EQ(ProofOptions{.seed = 2}.session.threads, 0);
  EXPECT_FALSE(ConvertOptions{.load = {.exact = true}}.proof);
  EXPECT_TRUE(ConvertOptions{.proof = ProofOptions{}}.load.optimize);
  EXPECT_FALSE(Tolerance{.rtol = 0.5}.atol);
  EXPECT_FALSE(CompareOptions{.layers = true}.overwrite);
  EXPECT_FALSE(Others{.tensors = {}}.run);
  EXPECT_EQ((QuantizeOptions{.settings = {.per_channel = false}}.settings.block), 32);
  EXPECT_FALSE(QuantizeOptions{.min_sqnr_db = 3}.recipe);
  EXPECT_TRUE(QuantizeRecipe{.settings = {}}.ranges.empty());
  EXPECT_FALSE(SampleSet{.count = 3}.read);
  EXPECT_FALSE(AddOptions{.location = "here"}.before.valid());
  EXPECT_EQ(PrintOptions{.types = true}.types, true);
  EXPECT_TRUE(ViewOptions{.load = {}}.times.empty());
  EXPECT_EQ(PlaceTime{.place = "conv"}.place, "conv");
  EXPECT_TRUE((InputFileOptions{.picture = {.bgr = true}}.picture.mean.empty()));
  EXPECT_FALSE(FileReader{.list = {}}.read);
  EXPECT_EQ(NamedBytes{.name = "a"}.bytes, "");
  EXPECT_FALSE(OwnedBytes{.bytes = "a"}.owner);
  EXPECT_EQ(NamedTensor{.name = "a"}.tensor.count(), 0);
  EXPECT_FALSE((CustomOperator{.domain = "d", .name = "n"}.run));
  EXPECT_FALSE(ml::ContextOptions{.accelerated = false}.accelerated);
  EXPECT_TRUE(ml::TensorDescriptor{.readable = true}.shape.empty());
  EXPECT_EQ(ml::Conv2dOptions{.groups = 2}.label, "");
}

}  // namespace
}  // namespace nnex
