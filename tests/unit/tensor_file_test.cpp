// Tensors and inputs in files, through the public headers alone.

#include "nnex/tensor_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "nnex/elements.h"
#include "nnex/environment.h"
#include "nnex/file.h"
#include "nnex/input_file.h"
#include "nnex/suggest.h"
#include "nnex/version.h"
#include "scratch.h"

namespace nnex {
namespace {

using test::Scratch;

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

TEST(TensorFile, TextsOfNumPyAreUtf8) {
  std::string header = "{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }";
  header.resize(117, ' '), header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + header;
  for (const char32_t c : {U'a', U'b', U'\u00df', U'\u20ac', U'\0', U'\0', U'\U0001f600', U'\0', U'\0'})
    bytes.append(reinterpret_cast<const char*>(&c), 4);
  const auto t = tensor_from_bytes(TensorFormat::npy, bytes);
  ASSERT_TRUE(t.ok()) << t.error().text();
  const std::vector<std::string> needed = {"ab\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  EXPECT_EQ(std::vector<std::string>(t->strings().begin(), t->strings().end()), needed);
}

TEST(TensorFile, TextsGoIntoNumpyAndBack) {
  const std::vector<std::string> words = {"ab\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80", ""};
  const auto bytes = tensor_bytes(Tensor::of<std::string>(Shape{2, 2}, words), TensorFormat::npy);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  EXPECT_NE(bytes->find("'descr': '<U3'"), std::string::npos);
  const auto t = tensor_from_bytes(TensorFormat::npy, *bytes);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->shape(), (Shape{2, 2}));
  EXPECT_EQ(std::vector<std::string>(t->strings().begin(), t->strings().end()), words);
}

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

/// What run() of the command line would be given, in one line.
std::string text_of(const Value& v) {
  if (const Tensor* t = v.tensor()) {
    std::string out = v.text();
    for (int64_t i = 0; i < t->count(); ++i) out += " " + element_text(*t, i);
    return out;
  }
  std::string out;
  if (const Optional* o = v.optional()) return o->item ? "just " + text_of(*o->item) : "nothing";
  if (const Map* m = v.map())
    for (size_t i = 0; i < m->values.size(); ++i)
      out += element_text(m->keys, static_cast<int64_t>(i)) + ": " + text_of(m->values[i]) + "; ";
  if (const Sequence* s = v.sequence())
    for (const Value& item : s->items) out += "[" + text_of(item) + "]";
  return v.text() + " " + out;
}

TEST(TensorFile, ArraysOfOtherMachinesAreRead) {
  const auto read = [](const char* descr, const char* shape, std::string_view data) {
    const auto t = tensor_from_bytes(
        TensorFormat::npy,
        npy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + "}", data));
    return t.ok() ? text_of(Value(*t)) : t.error().message();
  };
  using namespace std::literals;
  EXPECT_EQ(read(">f4", "(2,)", "\x3f\x80\0\0\xc0\0\0\0"sv), "f32[2] 1 -2");
  EXPECT_EQ(read(">i2", "(3,)", "\0\1\1\0\xff\xfe"sv), "i16[3] 1 256 -2");
  EXPECT_EQ(read(">u8", "()", "\0\0\0\0\0\0\1\2"sv), "u64[] 258");
  EXPECT_EQ(read(">c8", "(1,)", "\x3f\x80\0\0\xc0\0\0\0"sv), read("<c8", "(1,)", "\0\0\x80\x3f\0\0\0\xc0"sv));
  EXPECT_EQ(read(">U2", "(1,)", "\0\0\0a\0\0\0b"sv), "str[1] \"ab\"");
  EXPECT_EQ(read(">f4", "(2,)", "\x3f"sv), "not a .npy file: its data end before shape [2] is filled");
  EXPECT_EQ(read("|O", "(1,)", "\x80"sv),
            "a .npy file of element type '|O', Python objects, which it is pickled for: save it as numbers "
            "(astype('f4')) or texts");
  EXPECT_EQ(read("<M8[ns]", "(1,)", "12345678"sv),
            "a .npy file of element type '<M8[ns]', which nnex does not read: needed numbers, booleans or texts of "
            "fixed width");
}

TEST(TensorFile, ListsLoseNoExtents) {
  for (const Shape& shape : {Shape{0}, Shape{2, 0}, Shape{2, 3, 0}}) {
    const auto bytes = tensor_bytes(*Tensor::make(DType::f32, shape), TensorFormat::json);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_TRUE(tensor_from_bytes(TensorFormat::json, *bytes)->shape() == shape) << *bytes;
  }
  const auto lost = tensor_bytes(*Tensor::make(DType::f32, Shape{2, 0, 3}), TensorFormat::json);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code(), Code::unsupported);
  EXPECT_EQ(lost.error().message(),
            "f32[2,0,3]: nested lists end at the extent of 0 and lose those after it; save it as .npy");
}

TEST(TensorFile, CountsBelowZeroHaveNoBytes) {
  EXPECT_EQ(bytes_for(DType::f32, -1), std::nullopt);
  EXPECT_EQ(bytes_for(DType::i4, -1), std::nullopt);
  EXPECT_EQ(bytes_for(DType::i4, 3), 2);
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
  EXPECT_EQ(read_tensor(scratch.file("two.npz")).error().message(), "found 2 arrays; needed one");
  EXPECT_FALSE(write_tensors(scratch.file("two.npy"), two).ok());
  const std::vector<NamedTensor> twice = {two[0], {"a", two[1].tensor}};
  const Status refused = write_tensors(scratch.file("twice.npz"), twice);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "found the name 'a' twice");
  EXPECT_EQ(tensor_bytes(Tensor::make(DType::bf16, Shape{2}).value(), TensorFormat::npy).error().message(),
            "NumPy has no element type bf16; save it as .pb or .json");
  ASSERT_TRUE(write_tensors(scratch.file("none.npz"), {}).ok());
  const auto none = read_tensors(scratch.file("none.npz"));
  ASSERT_TRUE(none.ok()) << none.error().text();
  EXPECT_TRUE(none->empty());
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
  const Tensor bytes = Tensor::of<std::string>(Shape{1}, {"\xff"});
  EXPECT_EQ(tensor_bytes(bytes, TensorFormat::npy, "w").error().message(),
            "NumPy has no text that is no UTF-8 or ends in a zero byte; save 'w' as .pb or .json");
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
  using namespace std::literals;
  EXPECT_EQ(sha256(Tensor::of<std::string>(Shape{2}, {"abc", ""})), sha256("\3\0\0\0\0\0\0\0abc\0\0\0\0\0\0\0\0"sv));
  EXPECT_NE(sha256(Tensor::of<std::string>(Shape{2}, {"a", "bc"})),
            sha256(Tensor::of<std::string>(Shape{2}, {"ab", "c"})));
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
  EXPECT_THROW((void)Tensor::of(Shape{300}, std::vector<float>(300)), std::bad_alloc);
}

TEST(Suggest, NamesThatWereMeant) {
  const std::string_view names[] = {"picture", "mask"};
  EXPECT_EQ(nearest("pictrue", names), "picture");
  EXPECT_EQ(did_you_mean("nothing", names), "");
}

TEST(TensorFile, EndingsMayBeLargeLetters) {
  const Scratch scratch;
  PortInfo port;
  port.name = "x", port.type = "f32[2]", port.dtype = DType::f32, port.known_rank = true, port.extents = {2};
  for (const char* name : {"x.NPY", "x.Npz", "x.PB", "x.DAT", "x.JSON"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(write_tensor(scratch.file(name), Tensor::of<float>(Shape{2}, {1, 2}), "x").ok());
    EXPECT_TRUE(read_tensor(scratch.file(name)).ok());
    const auto file = InputFile::open(scratch.file(name));
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_TRUE(file->value(port).ok());
  }
  EXPECT_TRUE(InputFile::has_ending("IMG_1.JPG"));
  EXPECT_TRUE(has_ending("a/b.Tar.GZ", ".tar.gz"));
  EXPECT_FALSE(has_ending(".npy", ".npy"));  // a name, and no ending
  EXPECT_FALSE(has_ending("x.npz", ".npy"));
}

TEST(TensorFile, SequencesOptionalsAndMapsAreMessagesAndJson) {
  const Tensor one = Tensor::of<float>(Shape{2}, {1, 2.5f}), other = Tensor::of<float>(Shape{1}, {-3});
  const auto optional = [](Value v) { return Value(Optional{std::make_shared<const Value>(std::move(v))}); };
  const Value list(Sequence{DType::f32, {one, other}});
  const Map numbered{Tensor::of<int64_t>(Shape{2}, {-4, 7}), {Tensor::scalar(1.0f), Tensor::scalar(2.0f)}},
      named{Tensor::of<std::string>(Shape{1}, {"a b"}), {one}};
  const struct {
    const char* type;
    Value value;
    std::string json;
  } rows[] = {
      {"sequence(f32[N])", list, "[[1.0,2.5],[-3.0]]\n"},
      {"sequence(f32[?])", Sequence{DType::f32, {}}, "[]\n"},
      {"sequence(sequence(f32[?]))", Sequence{DType::none, {list}}, "[[[1.0,2.5],[-3.0]]]\n"},
      {"optional(f32[2])", optional(one), "[1.0,2.5]\n"},
      {"optional(sequence(f32[?]))", optional(list), "[[1.0,2.5],[-3.0]]\n"},
      {"optional(f32[?])", Optional{}, "null\n"},
      {"map(i64, f32[])", numbered, "{\"-4\":1.0,\"7\":2.0}\n"},
      {"map(str, f32[?])", named, "{\"a b\":[1.0,2.5]}\n"},
      {"map(str, f32[?])", Map{Tensor::of<std::string>(Shape{0}, {}), {}}, "{}\n"},
      {"sequence(map(i64, f32[]))", Sequence{DType::none, {Value(numbered)}}, "[{\"-4\":1.0,\"7\":2.0}]\n"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.json);
    PortInfo port;
    port.name = "x", port.type = row.type;
    for (const TensorFormat format : {TensorFormat::onnx, TensorFormat::json}) {
      const auto bytes = value_bytes(row.value, format, "x");
      ASSERT_TRUE(bytes.ok()) << bytes.error().text();
      if (format == TensorFormat::json) {
        EXPECT_EQ(*bytes, row.json);
      }
      const auto back = value_from_bytes(format, *bytes, row.type);
      ASSERT_TRUE(back.ok()) << back.error().text();
      EXPECT_EQ(text_of(*back), text_of(row.value));
      const Scratch scratch;
      const std::string file = scratch.file(format == TensorFormat::json ? "x.json" : "x.pb");
      ASSERT_TRUE(write_value(file, row.value, "x").ok());
      const auto given = InputFile::open(file)->value(port);
      ASSERT_TRUE(given.ok()) << given.error().text();
      EXPECT_EQ(text_of(*given), text_of(row.value));
    }
    EXPECT_EQ(value_bytes(row.value, TensorFormat::npy, "x").error().code(), Code::unsupported);
    EXPECT_EQ(value_from_bytes(TensorFormat::npy, "x", row.type).error().code(), Code::invalid_argument);
  }
  const SparseTensor sparse{Tensor::of<float>(Shape{1}, {5}), Tensor::of<int64_t>(Shape{1}, {2}), Shape{4}};
  const auto bytes = value_bytes(sparse, TensorFormat::onnx, "x");
  ASSERT_TRUE(bytes.ok());
  const auto back = value_from_bytes(TensorFormat::onnx, *bytes, "sparse f32[4]");
  ASSERT_TRUE(back.ok() && back->sparse());
  EXPECT_TRUE(same(back->sparse()->values, sparse.values));
  EXPECT_EQ(value_bytes(sparse, TensorFormat::json).error().code(), Code::unsupported);
  EXPECT_EQ(value_from_bytes(TensorFormat::json, "3", "sequence(f32[?])").error().message(),
            "found 3; needed a list of the items of sequence(f32[?])");
  EXPECT_EQ(value_from_bytes(TensorFormat::json, "{\"a\": 1}", "map(i64, f32[])").error().message(),
            "found the key 'a'; needed a whole number");
  EXPECT_EQ(value_from_bytes(TensorFormat::json, "[]", "list(f32[?])").error().code(), Code::invalid_argument);
}

TEST(TensorFile, ListsWithoutATypeAreNumbersOrTexts) {
  const auto read = [](std::string_view json) { return tensor_from_bytes(TensorFormat::json, json); };
  const auto texts = read(R"([["a", "NaN"], ["", "b"]])");
  ASSERT_TRUE(texts.ok()) << texts.error().text();
  EXPECT_EQ(Value(*texts).text(), "str[2,2]");
  EXPECT_EQ(texts->strings()[3], "b");
  const auto words = read(R"(["NaN", "Infinity"])");
  ASSERT_TRUE(words.ok()) << words.error().text();
  EXPECT_EQ(words->dtype(), DType::f32);
  EXPECT_FALSE(read(R"(["a", 1])").ok());
  EXPECT_EQ(read("[16777216, 9223372036854775808]")->as<float>()[1], 9223372036854775808.0F);
  for (const char* wide : {"[9007199254740993]", "[16777217]", "[-16777217]", "[18446744073709551615]"}) {
    const auto t = read(wide);
    ASSERT_FALSE(t.ok()) << wide;
    EXPECT_NE(t.error().message().find("; needed a number that f32 holds, which numbers become that are read without"),
              std::string::npos)
        << t.error().message();
  }
  const auto typed = value_from_bytes(TensorFormat::json, "[9007199254740993]", "i64[1]");
  ASSERT_TRUE(typed.ok()) << typed.error().text();
  EXPECT_EQ(typed->tensor()->as<int64_t>()[0], 9007199254740993);
}

TEST(InputFile, SaysThatBytesAreOfNoKind) {
  PortInfo port;
  port.name = "x", port.type = "f32[2]", port.dtype = DType::f32, port.known_rank = true, port.extents = {2};
  EXPECT_EQ(InputFile::from_bytes("photo.png", "").error().message(), "found 0 bytes; needed those of a file");
  for (const char* bytes : {"zzzz", "hello"}) {
    const auto file = InputFile::from_bytes("a.npy", bytes);
    ASSERT_TRUE(file.ok()) << file.error().text();
    const auto value = file->value(port);
    ASSERT_FALSE(value.ok());
    EXPECT_EQ(value.error().code(), Code::unreadable);
    EXPECT_EQ(value.error().message().find("the bytes are of no kind that is known by its content"), 0u)
        << value.error().message();
  }
}

TEST(TensorFile, TextThatIsNoUtf8GoesIntoMessagesAlone) {
  const Tensor t = Tensor::of<std::string>(Shape{1}, {"\xff"});
  const std::string needed = "'y' holds text that is no UTF-8, which JSON cannot hold; .pb can";
  for (const Value& v : {Value(t), Value(Sequence{DType::str, {t}})}) {
    auto json = value_bytes(v, TensorFormat::json, "y");
    ASSERT_FALSE(json.ok());
    EXPECT_EQ(json.error().message(), needed);
    EXPECT_EQ(json.error().code(), Code::invalid_argument);
    EXPECT_TRUE(value_bytes(v, TensorFormat::onnx, "y").ok());
  }
}

TEST(TensorFile, ArraysAreWhatAnOptionalHas) {
  const Scratch scratch;
  ASSERT_TRUE(write_tensor(scratch.file("x.npy"), Tensor::of<float>(Shape{1}, {3})).ok());
  const auto file = InputFile::open(scratch.file("x.npy"));
  PortInfo port;
  port.name = "x", port.type = "optional(f32[N])";
  EXPECT_EQ(text_of(*file->value(port)), "just f32[1] 3");
  port.type = "sequence(f32[N])";
  EXPECT_EQ(file->value(port).error().message(), "found a tensor; needed sequence(f32[N]), as .pb or .json");
}

}  // namespace
}  // namespace nnex
