#include "standards/nnef/read_tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "standards/nnef/weights.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

std::string u32(uint32_t n) { return std::string(reinterpret_cast<const char*>(&n), 4); }

/// A file written by hand, field after field, so that the reader does not meet the writer's habits.
std::string file_of(const std::vector<uint32_t>& extents, uint32_t bits, uint32_t item, const std::string& data,
                    const std::vector<uint32_t>& parameters = {}) {
  std::string out("\x4e\xef\x01\x00", 4);
  out += u32(static_cast<uint32_t>(data.size())) + u32(static_cast<uint32_t>(extents.size()));
  for (size_t i = 0; i < 8; ++i) out += u32(i < extents.size() ? extents[i] : 0);
  out += u32(bits) + u32(item);
  for (size_t i = 0; i < 8; ++i) out += u32(i < parameters.size() ? parameters[i] : 0);
  out.resize(kTensorHeaderBytes, '\0');
  return out + data;
}

std::vector<int64_t> read_ints(const std::string& bytes) {
  auto file = read_tensor_file(bytes);
  EXPECT_TRUE(file.ok()) << file.error().text();
  auto t = items(*file);
  EXPECT_TRUE(t.ok()) << t.error().text();
  return ints_of(*t);
}

std::string fault_of(const std::string& bytes) {
  auto file = read_tensor_file(bytes);
  return file.ok() ? "" : file.error().message();
}

bool names(const std::string& message, const char* rule) { return message.rfind(std::string(rule) + ": ", 0) == 0; }

TEST(NnefTensorFile, ItemsOfEveryWidth) {
  EXPECT_EQ(read_ints(file_of({4}, 1, 1, "\xb0")), (std::vector<int64_t>{1, 0, 1, 1}));
  EXPECT_EQ(read_ints(file_of({3}, 3, 4, std::string("\x7d\x00", 2))), (std::vector<int64_t>{3, -1, 2}));
  EXPECT_EQ(read_ints(file_of({3}, 4, 1, std::string("\x1f\x80", 2))), (std::vector<int64_t>{1, 15, 8}));
  EXPECT_EQ(read_ints(file_of({2}, 12, 4, std::string("\x7f\xf8\x00", 3))), (std::vector<int64_t>{2047, -2048}));
  EXPECT_EQ(read_ints(file_of({2}, 24, 4, std::string("\x01\x02\x03\xff\xff\xff", 6))),
            (std::vector<int64_t>{0x030201, -1}));
  EXPECT_EQ(read_ints(file_of({1}, 63, 4, std::string("\xff\xff\xff\xff\xff\xff\xff\xfe", 8))),
            (std::vector<int64_t>{-1}));
  EXPECT_EQ(read_ints(file_of({}, 16, 4, "\xfe\xff")), (std::vector<int64_t>{-2}));
  EXPECT_EQ(read_ints(file_of({2}, 16, 1, "\xfe\xff\x01\x01", {1})), (std::vector<int64_t>{-2, 257}));
}

TEST(NnefTensorFile, BytesOfTheFileAreBorrowed) {
  auto bytes = std::make_shared<const std::string>(file_of({2, 2}, 8, 4, "\x01\x02\x03\xff"));
  auto file = read_tensor_file(*bytes, bytes);
  ASSERT_TRUE(file.ok());
  auto t = items(*file);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(static_cast<const void*>(t->data()), bytes->data() + kTensorHeaderBytes);
  EXPECT_EQ(t->dtype(), DType::i8);
  EXPECT_TRUE(t->owned());
}

TEST(NnefTensorFile, IntegersOfVariablesHaveASign) {
  const auto content = [](const std::string& bytes) {
    auto file = read_tensor_file(bytes);
    EXPECT_TRUE(file.ok());
    return variable_content(*file, ItemType::integer, {1}, nullptr);
  };
  auto max = content(file_of({1}, 64, 1, std::string(7, '\xff') + '\x7f'));
  ASSERT_TRUE(max.ok()) << max.error().text();
  EXPECT_EQ(int_at(*max, 0), std::numeric_limits<int64_t>::max());
  auto more = content(file_of({1}, 64, 1, std::string(8, '\xff')));
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code(), Code::unsupported);
  EXPECT_NE(more.error().text().find("18446744073709551615"), std::string::npos) << more.error().text();
}

TEST(NnefTensorFile, OldParametersGiveReals) {
  const float range[] = {-1, 1};
  uint32_t words[2];
  std::memcpy(words, range, sizeof words);
  auto file = read_tensor_file(file_of({3}, 8, 2, std::string("\x00\xff\x7f", 3), {words[0], words[1]}));
  ASSERT_TRUE(file.ok());
  const std::string kept = file_of({3}, 8, 2, std::string("\x00\xff\x7f", 3), {words[0], words[1]});
  file->data = std::string_view(kept).substr(kTensorHeaderBytes);
  auto t = real_items(*file);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(real_at(*t, 0), -1);
  EXPECT_EQ(real_at(*t, 1), 1);
  EXPECT_NEAR(real_at(*t, 2), 127.0 / 255 * 2 - 1, 1e-6);
}

TEST(NnefTensorFile, FaultsNameTheirRule) {
  std::string good = file_of({2}, 8, 4, "ab");
  EXPECT_EQ(fault_of(good), "");
  auto changed = [&](size_t at, char c) {
    std::string s = good;
    s[at] = c;
    return s;
  };
  EXPECT_PRED2(names, fault_of(changed(0, 'x')), "B1");
  EXPECT_PRED2(names, fault_of(changed(2, 2)), "B2");
  EXPECT_PRED2(names, fault_of(""), "B3");
  EXPECT_PRED2(names, fault_of(good.substr(0, 129)), "B3");
  EXPECT_PRED2(names, fault_of(good + "c"), "B3");
  EXPECT_PRED2(names, fault_of(changed(8, 9)), "B4");
  EXPECT_PRED2(names, fault_of(changed(12, 0)), "B4");
  EXPECT_PRED2(names, fault_of(changed(20, 1)), "B4");
  EXPECT_PRED2(names, fault_of(changed(4, 3)), "B5");
  EXPECT_PRED2(names, fault_of(changed(44, 65)), "B6");
  EXPECT_PRED2(names, fault_of(changed(48, 0)), "B6");
  EXPECT_PRED2(names, fault_of(changed(48, 16)), "B6");
  EXPECT_PRED2(names, fault_of(file_of({4}, 2, 5, "x")), "B7");
  std::string header = file_of({0xffffffff, 0xffffffff, 0xffffffff}, 64, 4, "");
  EXPECT_PRED2(names, fault_of(header), "B5");
  EXPECT_NE(fault_of(file_of({2}, 8, 4, "ab") + "1234").find("2018"), std::string::npos);
}

TEST(NnefTensorFile, TypesOfVendorsAreCarried) {
  auto file = read_tensor_file(file_of({2}, 8, 0x5452'0007, "ab"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->header.vendor, 0x5452);
  EXPECT_EQ(file->header.item, 7);
  auto t = items(*file);
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.error().code(), Code::unsupported);
  EXPECT_PRED2(names, t.error().message(), "B12");
}

TEST(NnefTensorFile, OldCodesOnRequest) {
  TensorReadOptions options;
  options.old_codes = true;
  auto file = read_tensor_file(file_of({2}, 8, 16, "ab"), nullptr, options);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->header.is(StoredItem::quantized_unsigned));
}

TEST(NnefTensorFile, WhatIsWrittenReadsBack) {
  const Tensor floats = Tensor::of<float>({2, 2}, {0.5f, -1, 3e38f, 0});
  const DType types[] = {DType::f64, DType::f32, DType::f16, DType::i64,    DType::i32, DType::i16,
                         DType::i8,  DType::i4,  DType::i2,  DType::u64,    DType::u32, DType::u16,
                         DType::u8,  DType::u4,  DType::u2,  DType::boolean};
  for (DType type : types) {
    SCOPED_TRACE(name(type));
    auto t = convert(floats, type);
    ASSERT_TRUE(t.ok());
    auto written = write_tensor_file(*t);
    ASSERT_TRUE(written.ok()) << written.error().text();
    const std::string bytes = written->joined();
    auto file = read_tensor_file(bytes);
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_EQ(file->header.bits, type == DType::boolean ? 8u : static_cast<uint32_t>(bits(type)));
    auto back = items(*file);
    ASSERT_TRUE(back.ok());
    auto same = convert(*back, type);
    ASSERT_TRUE(same.ok());
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(real_at(*same, i), real_at(*t, i)) << i;
  }
}

TEST(NnefTensorFile, WidthsOnRequest) {
  const Tensor t = Tensor::of<int64_t>({3}, {-4, 3, 0});
  StoreAs as{StoredItem::signed_integer, 3};
  auto written = write_tensor_file(t, &as);
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(written->data, std::string_view("\x8c\x00", 2));
  EXPECT_EQ(read_ints(written->joined()), (std::vector<int64_t>{-4, 3, 0}));
  as.bits = 2;
  EXPECT_FALSE(write_tensor_file(t, &as).ok());
  as = {StoredItem::unsigned_integer, 64};
  EXPECT_FALSE(write_tensor_file(t, &as).ok());
}

TEST(NnefTensorFile, WhatAFileCannotHold) {
  EXPECT_FALSE(write_tensor_file(Tensor::of<std::string>({1}, {"a"})).ok());
  EXPECT_FALSE(write_tensor_file(Tensor::of<float>({0}, {})).ok());
  EXPECT_FALSE(write_tensor_file(Tensor::of<float>({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})).ok());
}

}  // namespace
}  // namespace nnex::nnef_format
