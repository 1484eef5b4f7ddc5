// Tables of numbers and sound in files, through the public headers alone.

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "nnex/elements.h"
#include "nnex/input_file.h"
#include "nnex/tensor_file.h"
#include "scratch.h"

namespace nnex {
namespace {

using test::Scratch;

PortInfo port_of(DType type, const std::vector<int64_t>& extents) {
  PortInfo p;
  p.name = "x", p.dtype = type, p.known_rank = true, p.extents = extents;
  p.type = std::string(name(type)) + "[";
  for (size_t i = 0; i < extents.size(); ++i)
    p.type += (i ? "," : "") + (extents[i] < 0 ? std::string("N") : std::to_string(extents[i]));
  p.type += "]";
  return p;
}

/// "f32[2,2] 1 2 3 4", or why there is none.
std::string read_as(const std::string& name, std::string_view bytes, const PortInfo& port,
                    const InputFileOptions& options = {}) {
  const Scratch scratch;
  const std::string path = (scratch.path / name).string();
  std::ofstream(path, std::ios::binary) << bytes;
  const auto file = InputFile::open(path);
  if (!file.ok()) return file.error().text();
  const auto v = file->value(port, options);
  if (!v.ok()) return v.error().message();
  std::string out = v->text();
  for (int64_t i = 0; i < v->tensor()->count(); ++i) out += " " + element_text(*v->tensor(), i);
  return out;
}

TEST(Csv, RowsOfNumbers) {
  const PortInfo f = port_of(DType::f32, {-1, 2}), list = port_of(DType::f32, {-1}), one = port_of(DType::f32, {}),
                 picture = port_of(DType::f32, {-1, 1, 2, 2}), i = port_of(DType::i64, {-1, 2}),
                 b = port_of(DType::boolean, {-1, 2}), u = port_of(DType::u8, {-1, 2}),
                 s = port_of(DType::str, {-1, 2}), half = port_of(DType::f16, {-1, 2});
  const struct {
    std::string text;
    const PortInfo& port;
    std::string wanted;
  } rows[] = {
      {"1,2\n3,4\n", f, "f32[2,2] 1 2 3 4"},
      {"\xef\xbb\xbf# a, b\r\nleft,right\r\n1, -2.5\r\n\r\n+3,1e-1", f, "f32[2,2] 1 -2.5 3 0.1"},
      {"1;2\n3;4\n", f, "f32[2,2] 1 2 3 4"},
      {"1\t2\n3\t4\n", f, "f32[2,2] 1 2 3 4"},
      {"  1   2 \n 3 4\n", f, "f32[2,2] 1 2 3 4"},
      {"\"1\",\"2\"\n", f, "f32[1,2] 1 2"},
      {"nan,-inf\n", f, "f32[1,2] nan -inf"},
      {"1,2,3\n", list, "f32[3] 1 2 3"},
      {"x\n1\n2\n", list, "f32[2] 1 2"},
      {"1,2\n3,4\n", list, "f32[2,2] 1 2 3 4"},  // the run says what it needs
      {"7\n", one, "f32[] 7"},
      {"1,2,3,4\n5,6,7,8\n", picture, "f32[2,1,2,2] 1 2 3 4 5 6 7 8"},
      {"1,2,3\n", picture, "found 1 rows of 3 numbers, which do not fill f32[N,1,2,2]"},
      {"9223372036854775807,-9223372036854775808\n", i, "i64[1,2] 9223372036854775807 -9223372036854775808"},
      {"3.0,1e3\n", i, "i64[1,2] 3 1000"},
      {"3,2.5\n", i, "line 1, column 2: found '2.5'; needed a whole number"},
      {"0,256\n", u, "line 1, column 2: found '256'; needed a number that u8 holds"},
      {"0,-1\n", u, "line 1, column 2: found '-1'; needed a number that u8 holds"},
      {"1e5,1\n", half, "line 1, column 1: found '1e5'; needed a number that f16 holds"},
      {"1,False\ntrue,0\n", b, "bool[2,2] true false true false"},
      {"1,2\n", b, "line 1, column 2: found '2'; needed 0, 1, true or false"},
      {"a,\"b, \"\"c\"\"\"\n", s, "str[1,2] \"a\" \"b, \"c\"\""},
      {"1,2\n3\n", f, "line 2: found 1 cells; needed 2, as in the rows before"},
      {"1,2\n3,x\n", f, "line 2, column 2: found 'x'; needed a number"},
      {"1,2\n3,\n", f, "line 2, column 2: found nothing; needed a number"},
      {"1,2,\n", f, "line 1, column 3: found nothing; needed a number"},
      {"1,0x10\n", f, "line 1, column 2: found '0x10'; needed a number"},
      {"1,\"2\n", f, "line 1, column 2: a quote does not end on its line"},
      {"a,b\n", f, "line 1, column 1: found 'a'; needed a number"},
      {"# nothing\n\n", f, "found no rows; needed numbers"},
      {"", f, "found no rows; needed numbers"},
  };
  for (const auto& row : rows) EXPECT_EQ(read_as("x.csv", row.text, row.port), row.wanted) << row.text;
  EXPECT_EQ(read_as("x.csv", "2.5,-300\n", i, {.cast = true}), "i64[1,2] 2 -300");
  // What a last byte has room for beyond the elements is 0, so that equal tensors have equal bytes.
  for (const char* text : {"1,2,3", "[1, 2, 3]"}) {
    const auto nibbles = InputFile::from_bytes("-", text)->value(port_of(DType::i4, {3}));
    ASSERT_TRUE(nibbles.ok()) << nibbles.error().text();
    EXPECT_EQ(nibbles->tensor()->data()[1], std::byte{3});
  }
  const auto piped = InputFile::from_bytes("-", "1,2\n3,4\n");
  ASSERT_TRUE(piped.ok());
  EXPECT_EQ(piped->value(f)->text(), "f32[2,2]");
}

TEST(Csv, AreWrittenAsTheyAreRead) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const struct {
    Tensor t;
    const char* text;
  } rows[] = {
      {Tensor::of<float>(Shape{2, 3}, {1, -2.5f, 0.1f, 1e-30f, nan, -inf}), "1,-2.5,0.1\n1e-30,nan,-inf\n"},
      {Tensor::of<int64_t>(Shape{3}, {1, -2, 9007199254740993}), "1\n-2\n9007199254740993\n"},
      {Tensor::of<uint64_t>(Shape{1, 1}, {18446744073709551615U}), "18446744073709551615\n"},
      {Tensor::of<int8_t>(Shape{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -8}), "1,2\n3,4\n5,6\n7,-8\n"},
      {Tensor::of<std::string>(Shape{1, 2}, {"a \"b\", c", ""}), "\"a \"\"b\"\", c\",\"\"\n"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(tensor_bytes(row.t, TensorFormat::csv).value_or("refused"), row.text);
    std::string wanted = Value(row.t).text();
    for (int64_t i = 0; i < row.t.count(); ++i) wanted += " " + element_text(row.t, i);
    EXPECT_EQ(read_as("t.csv", row.text, port_of(row.t.dtype(), {row.t.shape().begin(), row.t.shape().end()})), wanted);
  }
  const auto table = tensor_from_bytes(TensorFormat::csv, "1;2\n3;4\n");
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(Value(*table).text(), "f32[2,2]");
  EXPECT_EQ(element_text(*table, 3), "4");
  const auto typed = tensor_from_bytes(TensorFormat::csv, "9007199254740993,true\n", DType::i64);
  EXPECT_EQ(typed.error().message(), "line 1, column 2: found 'true'; needed a whole number");
  EXPECT_EQ(element_text(*tensor_from_bytes(TensorFormat::csv, "9007199254740993\n", DType::i64), 0),
            "9007199254740993");
  EXPECT_EQ(element_text(*tensor_from_bytes(TensorFormat::csv, "0.1\n", DType::f64), 0), "0.1");
  EXPECT_EQ(tensor_from_bytes(TensorFormat::csv, "16777217\n").error().message(),
            "line 1, column 1: found '16777217'; needed a number that f32 holds, which numbers become that are read "
            "without a type");
  for (const Tensor& t : {Tensor::of<float>(Shape{2, 0}, {}), Tensor::make(DType::c64, Shape{1}).value(),
                          Tensor::of<std::string>(Shape{1}, {"a\nb"})})
    EXPECT_EQ(tensor_bytes(t, TensorFormat::csv).error().code(), Code::unsupported) << t.shape().text();
}

void put(std::string& to, uint32_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i));
}

/// A .wav file of 8000 samples a second. `extra`: chunks before the samples.
std::string wav(uint16_t tag, uint16_t channels, uint16_t bits, const std::string& data,
                const std::string& extra = "") {
  std::string fmt;
  put(fmt, tag, 2), put(fmt, channels, 2), put(fmt, 8000, 4), put(fmt, 8000u * channels * bits / 8, 4);
  put(fmt, channels * bits / 8u, 2), put(fmt, bits, 2);
  std::string out = "RIFF";
  put(out, static_cast<uint32_t>(4 + 8 + fmt.size() + extra.size() + 8 + data.size()), 4);
  out += "WAVEfmt ";
  put(out, static_cast<uint32_t>(fmt.size()), 4);
  out += fmt + extra + "data";
  put(out, static_cast<uint32_t>(data.size()), 4);
  return out + data;
}

std::string samples(int bytes, const std::vector<int32_t>& numbers) {
  std::string out;
  for (int32_t n : numbers) put(out, static_cast<uint32_t>(n), bytes);
  return out;
}

TEST(Wav, Samples) {
  const PortInfo flat = port_of(DType::f32, {-1}), batch = port_of(DType::f32, {-1, -1}),
                 last = port_of(DType::f32, {-1, 1}), two = port_of(DType::f32, {2, -1}),
                 pairs = port_of(DType::f32, {-1, 2}), deep = port_of(DType::f32, {1, 2, -1}),
                 i16 = port_of(DType::i16, {-1}), i32 = port_of(DType::i32, {-1}), u8 = port_of(DType::u8, {-1});
  const std::string mono16 = wav(1, 1, 16, samples(2, {0, 16384, -32768})),
                    stereo = wav(1, 2, 16, samples(2, {0, 16384, -32768, 8192}));
  const float parts[] = {0.25F, -2.0F};
  const std::string floats(reinterpret_cast<const char*>(parts), sizeof parts);
  std::string list = "LIST";
  put(list, 3, 4), list += std::string("abc\0", 4);  // odd: a byte more
  std::string endless = mono16;
  for (size_t i = endless.size() - 10; i < endless.size() - 6; ++i) endless[i] = '\xff';
  const struct {
    const char* what;
    std::string bytes;
    const PortInfo& port;
    std::string wanted;
  } rows[] = {
      {"16 bits", mono16, flat, "f32[3] 0 0.5 -1"},
      {"8 bits", wav(1, 1, 8, samples(1, {128, 192, 0})), flat, "f32[3] 0 0.5 -1"},
      {"24 bits", wav(1, 1, 24, samples(3, {0, 4194304, -8388608})), flat, "f32[3] 0 0.5 -1"},
      {"32 bits", wav(1, 1, 32, samples(4, {0, 1073741824, INT32_MIN})), flat, "f32[3] 0 0.5 -1"},
      {"floats", wav(3, 1, 32, floats), flat, "f32[2] 0.25 -2"},
      {"as they are", mono16, i16, "i16[3] 0 16384 -32768"},
      {"24 bits as they are", wav(1, 1, 24, samples(3, {5, -5})), i32, "i32[2] 5 -5"},
      {"bytes", wav(1, 1, 8, samples(1, {128, 255})), u8, "u8[2] 128 255"},
      {"a batch of one", mono16, batch, "f32[1,3] 0 0.5 -1"},
      {"channels last", mono16, last, "f32[3,1] 0 0.5 -1"},
      {"two channels", stereo, two, "f32[2,2] 0 -1 0.5 0.25"},
      {"two channels last", stereo, pairs, "f32[2,2] 0 0.5 -1 0.25"},
      {"two channels of a batch", stereo, deep, "f32[1,2,2] 0 -1 0.5 0.25"},
      {"another chunk", wav(1, 1, 16, samples(2, {0, 16384}), list), flat, "f32[2] 0 0.5"},
      {"a stream", endless, flat, "f32[3] 0 0.5 -1"},
      {"two for one", stereo, flat,
       "found 2 channels for f32[N]; needed an axis of 2 (channels are never mixed: give a file of one channel, or "
       "each alone)"},
      {"two for a batch", stereo, batch,
       "found 2 channels for f32[N,N]; needed an axis of 2 (channels are never mixed: give a file of one channel, or "
       "each alone)"},
      {"one for two", mono16, two, "found 1 channel for f32[2,N]; needed an axis of 1"},
      {"16 bits for 32", mono16, i32,
       "found PCM of 16 bits for i32[N]; needed an input of floats, or u8 for 8 bits, i16 for 16, i32 for 24 and 32"},
      {"compressed", wav(7, 1, 8, "abc"), flat,
       "found sound of format 7 with 8 bits; needed PCM (1) of 8, 16, 24 or 32 bits, or floats (3) of 32 or 64"},
      {"cut", mono16.substr(0, mono16.size() - 1), flat, "not a .wav file: its part 'data' has 5 of 6 bytes"},
      {"a cut sample", wav(1, 2, 16, samples(2, {1, 2, 3})), two,
       "not a .wav file: 6 bytes of samples are no multiple of 4"},
      {"no samples", mono16.substr(0, 36), flat, "not a .wav file: it has no samples"},
      {"no sound", "RIFF", flat, "not a .wav file: it does not begin with RIFF and WAVE"},
      {"nothing", "", flat, "not a .wav file: it does not begin with RIFF and WAVE"},
  };
  for (const auto& row : rows) EXPECT_EQ(read_as("x.wav", row.bytes, row.port), row.wanted) << row.what;
  EXPECT_EQ(read_as("x.wav", mono16, flat, {.audio = {.sample_rate = 8000}}), "f32[3] 0 0.5 -1");
  EXPECT_EQ(read_as("x.wav", mono16, flat, {.audio = {.sample_rate = 16000}}),
            "found 8000 samples a second; needed 16000 (nothing is resampled)");
  EXPECT_EQ(read_as("x.wav", mono16, flat, {.audio = {.sample_rate = -1}}),
            "option 'sample_rate': found -1; needed 0 or more");
  for (size_t n = 0; n < stereo.size(); ++n)  // cut anywhere, it is refused
    EXPECT_NE(read_as("x.wav", stereo.substr(0, n), two).find("not a .wav file"), std::string::npos) << n;
  EXPECT_TRUE(InputFile::from_bytes("-", mono16)->may_be_sound());
}

}  // namespace
}  // namespace nnex
