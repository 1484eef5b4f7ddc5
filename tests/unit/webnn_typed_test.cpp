// What is printed from the operations' descriptions is what stands in the tree; NNEX_PRINT=1 writes it there anew.
#include "webnn/typed.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "nnex/webnn.h"
#include "source.h"

namespace nnex::ml {
namespace {

const struct {
  const char* path;
  std::string (*print)();
} kPrinted[] = {
    {"include/nnex/webnn_ops.h", typed_methods_header},
    {"src/webnn/operations.cpp", typed_methods_source},
};

TEST(Typed, StandsAsPrinted) {
  for (const auto& file : kPrinted) {
    const std::string path = test::source_dir() + "/" + file.path;
    if (std::getenv("NNEX_PRINT")) std::ofstream(path, std::ios::binary) << file.print();
    std::ifstream in(path, std::ios::binary);
    const std::string found((std::istreambuf_iterator<char>(in)), {});
    EXPECT_TRUE(found == file.print()) << file.path << " differs; NNEX_PRINT=1 unit_tests webnn_typed_test writes it";
  }
}

TEST(Typed, VectorsHaveTheirTypes) {
  const Context context = *createContext().get();
  GraphBuilder builder = *GraphBuilder::create(context);
  const auto refused = [&](DataType type, const auto& values) {
    return !builder.constant({.dataType = type, .shape = {2}}, values).ok();
  };
  EXPECT_FALSE(refused(DataType::float32, std::vector<float>{1, 2}));
  EXPECT_TRUE(refused(DataType::float32, std::vector<int>{1, 2}));
  EXPECT_TRUE(refused(DataType::float32, std::vector<uint32_t>{1, 2}));
  EXPECT_FALSE(refused(DataType::int32, std::vector<int>{1, 2}));
  EXPECT_TRUE(refused(DataType::int64, std::vector<uint64_t>{1, 2}));
  EXPECT_FALSE(refused(DataType::float16, std::vector<uint16_t>{0x3C00, 0x4000}));
  EXPECT_FALSE(refused(DataType::float32, std::vector<std::byte>(8)));
}

/// Members by name, the label of every operation's options too, and nothing that a compiler warns about.
TEST(Typed, OptionsByName) {
  const Context context = *createContext().get();
  GraphBuilder builder = *GraphBuilder::create(context);
  const OperandDescriptor image{.dataType = DataType::float32, .shape = {1, 1, 3, 3}};
  const Operand x = *builder.input("x", image), w = *builder.input("w", image);
  const auto y = builder.conv2d(x, w, {.label = "first", .padding = {{1, 1, 1, 1}}, .strides = {{2, 2}}, .bias = {}});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->shape(), (std::vector<uint32_t>{1, 1, 2, 2}));
  EXPECT_EQ(builder.relu(x, {.label = "second"})->shape(), image.shape);
  EXPECT_EQ(builder.averagePool2d(x, {.label = "mean"})->shape(), (std::vector<uint32_t>{1, 1, 1, 1}));
  const auto wrong = builder.conv2d(x, w, {.label = "third", .strides = {{0, 1}}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("[third]"), std::string::npos) << wrong.error().message;
  const Tensor in = *context.createTensor(image, {.writable = true}).get();
  EXPECT_TRUE(in.writable());
  EXPECT_FALSE(in.readable());
  const Tensor out =
      *context.createTensor({.dataType = DataType::int8, .shape = {2}, .readable = true, .writable = false}).get();
  EXPECT_EQ(out.dataType(), DataType::int8);
  EXPECT_TRUE(out.readable());
}

}  // namespace
}  // namespace nnex::ml
