// Tensors and inputs in files, through the public headers alone.

#include "nnex/tensor_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nnex/elements.h"
#include "nnex/environment.h"
#include "nnex/input_file.h"
#include "nnex/suggest.h"
#include "nnex/version.h"

namespace nnex {
namespace {

constexpr TensorFormat kFormats[] = {TensorFormat::npy, TensorFormat::npz, TensorFormat::onnx, TensorFormat::nnef,
                                     TensorFormat::json};

std::string unhex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

/// What Python's zipfile makes of an array f32[2,3] = 1 to 6, deflated.
const std::string kDeflated = unhex(
    "504b03041400000008000000210073cb7828580000009800000005000000612e6e70799bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e"
    "93"
    "66a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463ac63a9a3a0ab50a64032e0686067b060606072002e2"
    "06"
    "205e00c4071c00504b010214031400000008000000210073cb78285800000098000000050000000000000000000000800100000000612e6e70"
    "79"
    "504b05060000000001000100330000007b0000000000");
/// f32[2] = 1, 2 as numpy.savez streams it: 64-bit sizes in the local header.
const std::string kStreamed = unhex(
    "504b03042d0000000000000021009acaabe7ffffffffffffffff05001400612e6e707901001000880000000000000088000000000000"
    "00934e554d5059010076007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046616c73652c202773"
    "68617065273a2028322c292c207d20202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "20202020202020202020202020202020202020200a0000803f00000040504b01022d032d0000000000000021009acaabe78800000088"
    "000000050000000000000000000000800100000000612e6e7079504b0506000000000100010033000000bf0000000000");

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  for (int64_t i = 0; i < a.count(); ++i)
    if (element_text(a, i) != element_text(b, i)) return false;
  return true;
}

/// A folder that goes with the test.
struct Scratch {
  std::filesystem::path path;
  Scratch() {
    path = std::filesystem::temp_directory_path() /
           ("nnex_tensor_file_test_" + std::to_string(reinterpret_cast<uintptr_t>(this)));
    std::filesystem::create_directories(path);
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

TEST(TensorFile, EveryFormatGivesBackWhatItTook) {
  const Tensor t = Tensor::of<float>(Shape{2, 3}, {1, -2.5f, 0, 1e-30f, 3e30f, 7});
  const Tensor scalar = Tensor::scalar<float>(0.1f);
  for (const TensorFormat format : kFormats)
    for (const Tensor& from : {t, scalar}) {
      SCOPED_TRACE(static_cast<int>(format));
      const auto bytes = tensor_bytes(from, format, "x");
      ASSERT_TRUE(bytes.ok()) << bytes.error().text();
      const auto back = tensor_from_bytes(format, *bytes);
      ASSERT_TRUE(back.ok()) << back.error().text();
      EXPECT_TRUE(same(from, *back));
    }
}

TEST(TensorFile, WritesAndReadsFilesByTheirEnding) {
  const Scratch scratch;
  const Tensor t = Tensor::of<int32_t>(Shape{3}, {1, -2, 3});
  for (const char* name : {"t.npy", "t.npz", "t.pb", "t.dat"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(write_tensor(scratch.file(name), t, "t").ok());
    const auto back = read_tensor(scratch.file(name));
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_TRUE(same(t, *back));
    const Status again = write_tensor(scratch.file(name), t, "t");
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code(), Code::invalid_argument);
    EXPECT_TRUE(write_tensor(scratch.file(name), t, "t", Existing::replace).ok());
  }
  EXPECT_FALSE(write_tensor(scratch.file("t.txt"), t).ok());
  EXPECT_FALSE(read_tensor(scratch.file("t.txt")).ok());
  EXPECT_EQ(read_tensor(scratch.file("none.npy")).error().code(), Code::unreadable);
}

std::string npy(std::string header, std::string_view data) {
  header.resize(118, ' ');
  header.back() = '\n';
  return std::string("\x93NUMPY\1\0\x76\0", 10) + header + std::string(data);
}

TEST(TensorFile, HeadersOfArraysAreReadAsPythonDoes) {
  const Tensor t = Tensor::of<int8_t>(Shape{2, 1}, {1, 2});
  for (const char* header : {"{'descr': '|i1', 'fortran_order': False, 'shape': (2, 1), }",
                             "{'shape':(2,1),'fortran_order':False,'descr':'|i1'}",
                             "{\"descr\": \"|i1\", \"fortran_order\": True, \"shape\": (2L, 1L)}"}) {
    const auto read = tensor_from_bytes(TensorFormat::npy, npy(header, "\1\2"));
    ASSERT_TRUE(read.ok()) << header << ": " << read.error().text();
    EXPECT_TRUE(same(*read, t)) << header;
  }
  for (const char* header : {"{'descr': '|i1', 'fortran_order': False, 'shape': (-2, 1), }",
                             "{'descr': '|i1', 'fortran_order': False, 'shape': (1e1,), }",
                             "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 1",
                             "{'descr': '|i1', 'fortran_order': False, 'shape': 'a'}",
                             "{'descr': '|i1', 'fortran_order': Truest, 'shape': (2, 1)}",
                             "{'descr': '|i1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                             "{'descr': '|i1', 'shape': (2, 1)}",
                             "{'descr': '|i1', 'descr': '|i1', 'fortran_order': False, 'shape': (2, 1)}",
                             "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 1)} and more", ""}) {
    const auto read = tensor_from_bytes(TensorFormat::npy, npy(header, "\1\2"));
    ASSERT_FALSE(read.ok()) << header;
    EXPECT_EQ(read.error().code(), Code::unreadable) << header;
  }
}

TEST(TensorFile, ArchivesHoldSeveralArrays) {
  const Scratch scratch;
  const std::vector<NamedTensor> two = {{"a", Tensor::of<float>(Shape{2}, {1, 2})},
                                        {"folder/b", Tensor::of<int64_t>(Shape{0, 4}, {})}};
  ASSERT_TRUE(write_tensors(scratch.file("two.npz"), two).ok());
  const auto back = read_tensors(scratch.file("two.npz"));
  ASSERT_TRUE(back.ok()) << back.error().text();
  ASSERT_EQ(back->size(), 2u);
  for (const NamedTensor& t : two) EXPECT_TRUE(same(t.tensor, back->at(t.name))) << t.name;
  EXPECT_EQ(read_tensor(scratch.file("two.npz")).error().message(),
            "found 2 arrays; needed one (read_tensors reads all)");
  EXPECT_FALSE(write_tensors(scratch.file("two.npy"), two).ok());
  const auto limited = read_tensors(scratch.file("two.npz"), 100);
  ASSERT_FALSE(limited.ok());
  EXPECT_EQ(limited.error().code(), Code::limit);
}

TEST(TensorFile, ReadsArchivesOfOthers) {
  const auto streamed = tensor_from_bytes(TensorFormat::npz, kStreamed);
  ASSERT_TRUE(streamed.ok()) << streamed.error().text();
  EXPECT_TRUE(same(*streamed, Tensor::of<float>(Shape{2}, {1, 2})));
  const auto deflated = tensor_from_bytes(TensorFormat::npz, kDeflated);
  if (!deflated.ok() && deflated.error().code() == Code::unsupported) GTEST_SKIP() << "built without zlib";
  ASSERT_TRUE(deflated.ok()) << deflated.error().text();
  EXPECT_TRUE(same(*deflated, Tensor::of<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(TensorFile, BrokenArchivesAreRefused) {
  for (const std::string& whole : {kDeflated, kStreamed}) {
    for (size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(tensor_from_bytes(TensorFormat::npz, std::string_view(whole).substr(0, n)).ok()) << n;
    // A bit of the content: what its checksum is of is not there any more.
    std::string flipped = whole;
    flipped[60] = static_cast<char>(flipped[60] ^ 4);
    EXPECT_FALSE(tensor_from_bytes(TensorFormat::npz, flipped).ok());
    for (size_t at = 0; at < whole.size(); ++at) {  // any byte: an error or an answer, no more
      std::string other = whole;
      other[at] = static_cast<char>(other[at] ^ 0xFF);
      (void)tensor_from_bytes(TensorFormat::npz, other).ok();
    }
  }
}

TEST(TensorFile, SaysWhatAFormatLacks) {
  const Tensor words = Tensor::of<std::string>(Shape{1}, {"a"});
  EXPECT_EQ(tensor_bytes(words, TensorFormat::nnef).error().code(), Code::unsupported);
  EXPECT_EQ(tensor_bytes(words, TensorFormat::npy, "w").error().code(), Code::unsupported);
  const auto half = tensor_from_bytes(TensorFormat::json, "[1, [2]]");
  EXPECT_EQ(half.error().code(), Code::unreadable);
}

PortInfo port(const std::string& name, DType type, std::vector<int64_t> extents) {
  PortInfo p;
  p.name = name, p.dtype = type, p.known_rank = true, p.extents = std::move(extents);
  p.type = std::string(nnex::name(type)) + Shape(p.extents).text();
  return p;
}

TEST(InputFile, TakesWhatTheInputNeeds) {
  const Tensor t = Tensor::of<float>(Shape{2}, {1, 2});
  const auto file = InputFile::from_bytes("x", *tensor_bytes(t, TensorFormat::npy));
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_FALSE(file->by_names());
  const auto fits = file->value(port("x", DType::f32, {2}));
  ASSERT_TRUE(fits.ok());
  EXPECT_TRUE(same(*fits->tensor(), t));
  EXPECT_EQ(file->value(port("x", DType::i32, {2})).error().code(), Code::invalid_argument);
  InputFileOptions cast;
  cast.cast = true;
  const auto converted = file->value(port("x", DType::i32, {2}), cast);
  ASSERT_TRUE(converted.ok());
  EXPECT_TRUE(same(*converted->tensor(), Tensor::of<int32_t>(Shape{2}, {1, 2})));
}

TEST(InputFile, GivesInputsByName) {
  const auto file = InputFile::from_bytes("-", R"({"a": [1, 2], "b": [[true]]})");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_TRUE(file->by_names());
  const auto values = file->values({port("a", DType::i64, {2}), port("b", DType::boolean, {1, 1})});
  ASSERT_TRUE(values.ok()) << values.error().text();
  EXPECT_EQ(int_at(*values->at("a").tensor(), 1), 2);
  const auto none = file->values({port("a", DType::i64, {2})});
  EXPECT_NE(none.error().text().find("no input 'b'"), std::string::npos);
  EXPECT_EQ(InputFile::open("nosuch.npy").error().code(), Code::unreadable);
  EXPECT_EQ(InputFile::open("nosuch.txt").error().code(), Code::unreadable);
}

TEST(Elements, CastSliceStackHash) {
  const Tensor t = Tensor::of<float>(Shape{2, 2}, {1.5f, -2.5f, 3e9f, 0});
  EXPECT_TRUE(same(*cast(t, DType::i32), Tensor::of<int32_t>(Shape{2, 2}, {1, -2, 2147483647, 0})));
  const Tensor row = *slice_at(t, 0, 1);
  EXPECT_TRUE(same(row, Tensor::of<float>(Shape{2}, {3e9f, 0})));
  const Tensor parts[] = {*slice_at(t, 0, 0), row};
  EXPECT_TRUE(same(*stack(parts, 0), t));
  EXPECT_EQ(stack({}, 0).error().code(), Code::invalid_argument);
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(Tensor::of<uint8_t>(Shape{3}, {'a', 'b', 'c'})), sha256("abc"));
  EXPECT_EQ(sha256(Tensor::of<std::string>(Shape{1}, {"abc"})), "");
}

TEST(Environment, SaysWhatThisIs) {
  const Environment e = environment();
  EXPECT_EQ(e.version, kVersion);
  EXPECT_EQ(kVersion.substr(0, kVersion.find('.')), std::to_string(kVersionMajor));
  EXPECT_GT(e.operators, 100u);
  EXPECT_NE(std::find(e.isas.begin(), e.isas.end(), e.isa), e.isas.end());
  EXPECT_GE(usable_threads(), 1);
  EXPECT_GT(usable_memory(), 0);
}

TEST(Environment, LimitsWhatTensorsHold) {
  const MemoryLimit limit(1000);
  EXPECT_TRUE(Tensor::make(DType::f32, Shape{100}).ok());
  const auto more = Tensor::make(DType::f32, Shape{300});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code(), Code::limit);
}

TEST(Suggest, NamesThatWereMeant) {
  const std::string_view names[] = {"picture", "mask"};
  EXPECT_EQ(nearest("pictrue", names), "picture");
  EXPECT_EQ(did_you_mean("nothing", names), "");
}

}  // namespace
}  // namespace nnex
