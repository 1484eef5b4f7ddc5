// Operators of the domain com.microsoft. The numbers are those of their formulas, worked out beside the program;
// bench/differential compares random models of each with ONNX Runtime.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "microsoft_node.h"
#include "nnex/file.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "ops/table.h"
#include "source.h"
#include "standards/onnx/import_quirks.h"
#include "tensor/convert.h"
#include "tensor_of.h"

namespace {

using nnex::test::f;
using nnex::test::i32;
using nnex::test::u8;

using namespace nnex;
using nnex::test::expect_near;
using nnex::test::run;
using nnex::test::Tensors;
using nnex::test::text;

TEST(OnnxMicrosoft, Activations) {
  const Tensor x = f({3}, {-1, 0, 2});
  const auto one = [&](std::string_view node) { return run(text("float[3] x", "float[3] y", "", node), {x}).at(0); };
  expect_near(one("y = com.microsoft.QuickGelu(x)"), {3}, {-0.1542042, 0, 1.9356586});
  expect_near(one("y = com.microsoft.QuickGelu<alpha: float = 0.5>(x)"), {3}, {-0.3775407, 0, 1.4621172});
  const std::string_view two = "float[2] x, float[2] b";
  const Tensors in = {f({2}, {1, -2}), f({2}, {0.5, 1})};
  expect_near(run(text(two, "float[2] y", "", "y = com.microsoft.BiasGelu(x, b)"), in).at(0), {2},
              {1.3997892, -0.1586553});
  expect_near(run(text(two, "float[2] y", "", "y = com.microsoft.FastGelu(x, b)"), in).at(0), {2},
              {1.3995716, -0.1588080});
}

TEST(OnnxMicrosoft, Moves) {
  const Tensor x = f({4}, {3, 1, 3, 2});
  const Tensors padded = run(text("float[4] x", "float[N] y", "int64[1,2] pads = {1, 2}, float[1] v = {9}",
                                  "y = com.microsoft.Pad(x, pads, v)"),
                             {x});
  expect_near(padded.at(0), {7}, {9, 3, 1, 3, 2, 9, 9});
  const Tensors distinct = run(
      text("float[4] x", "float[N] y, int64[M] which, int64[N] often", "", "y, which, often = com.microsoft.Unique(x)"),
      {x});
  ASSERT_EQ(distinct.size(), 3U);
  expect_near(distinct[0], {3}, {3, 1, 2});
  expect_near(distinct[1], {4}, {0, 1, 0, 2});
  expect_near(distinct[2], {3}, {2, 1, 1});
  const Tensor rows = f({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto unfolded = [&](std::string_view given, std::string* error = nullptr) {
    return run(text("float[2,L] x", "float[A,B,C] y", "", fmt::format("y = com.microsoft.UnfoldTensor<{}>(x)", given)),
               {rows}, error);
  };
  expect_near(unfolded("size: int = 3, step: int = 2").at(0), {2, 2, 3}, {0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9});
  expect_near(unfolded("size: int = 2, dim: int = 0").at(0), {1, 5, 2}, {0, 5, 1, 6, 2, 7, 3, 8, 4, 9});
  std::string error;
  unfolded("size: int = 0", &error);
  EXPECT_NE(error.find("UnfoldTensor: size 0, step 1; needed 1 or more"), std::string::npos) << error;
  unfolded("size: int = 1, dim: int = 2", &error);
  EXPECT_NE(error.find("UnfoldTensor: dim 2 of a tensor of 2 axes"), std::string::npos) << error;
}

TEST(OnnxMicrosoft, NormsOfSums) {
  const Tensors sln =
      run(text("float[1,1,2] x, float[1,1,2] s", "float[1,1,2] y, float[1,1,2] sum",
               "float[2] g = {2, 3}, float[2] b = {0.5, -0.5}, float[2] more = {1, -1}",
               "y, , , sum = com.microsoft.SkipLayerNormalization<epsilon: float = 0.0>(x, s, g, b, more)"),
          {f({1, 1, 2}, {1, 2}), f({1, 1, 2}, {2, 1})});
  ASSERT_EQ(sln.size(), 2U);
  expect_near(sln[0], {1, 1, 2}, {2.5, -3.5});
  expect_near(sln[1], {1, 1, 2}, {4, 2});
  const Tensors rms = run(text("float[1,1,2] x, float[1,1,2] s", "float[1,1,2] y", "float[2] g = {1, 3}",
                               "y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon: float = 0.0>(x, s, g)"),
                          {f({1, 1, 2}, {1, 2}), f({1, 1, 2}, {2, -2})});
  expect_near(rms.at(0), {1, 1, 2}, {1.4142136, 0});
}

/// Codes 0 to 15 twice: row 0 sums to 120 - 16 * 8, row 1 has zero point 3.
TEST(OnnxMicrosoft, WeightsOfFourBits) {
  const char* codes = "uint8[2,1,8] w = {16, 50, 84, 118, 152, 186, 220, 254, 16, 50, 84, 118, 152, 186, 220, 254}";
  const auto product = [&](std::string_view more, std::string_view inputs) {
    return run(text("float[1,16] x", "float[1,2] y", fmt::format("{}, float[2,1] s = {{0.5, 2}}{}", codes, more),
                    fmt::format("y = com.microsoft.MatMulNBits<K: int = 16, N: int = 2, block_size: int = 16>({})",
                                inputs)),
               {f({1, 16}, std::vector<float>(16, 1))})
        .at(0);
  };
  expect_near(product("", "x, w, s"), {1, 2}, {-4, -16});
  expect_near(product(", uint8[2,1] z = {8, 3}", "x, w, s, z"), {1, 2}, {-4, 144});
  expect_near(product(", float[2,1] z = {7.5, 0}", "x, w, s, z"), {1, 2}, {0, 240});
  expect_near(product(", float[2] b = {1, 2}", "x, w, s, , , b"), {1, 2}, {-3, -14});
}

/// An odd number of blocks: zero points of a row begin in a new byte.
TEST(OnnxMicrosoft, ZeroPointsFillBytesByRows) {
  std::string w = "uint8[2,3,8] w = {";
  for (int i = 0; i < 48; ++i) w += i ? ", 17" : "17";  // every code is 1
  const Tensor y = run(text("float[1,48] x", "float[1,2] y",
                            w + "}, float[2,3] s = {1, 1, 1, 1, 1, 1}, uint8[2,2] z = {33, 3, 101, 7}",
                            "y = com.microsoft.MatMulNBits<K: int = 48, N: int = 2, block_size: int = 16>(x, w, s, z)"),
                       {f({1, 48}, std::vector<float>(48, 1))})
                       .at(0);
  expect_near(y, {1, 2}, {-16.0 * (0 + 1 + 2), -16.0 * (4 + 5 + 6)});  // zero points 1 2 3 and 5 6 7
}

/// a - 2 = {-1, 0} {1, 2}; b - zero = {1, 2} {-1, 1}; their product is {-1, -2} {-1, 4}.
TEST(OnnxMicrosoft, ProductsOfBytes) {
  const Tensor a = u8({2, 2}, {1, 2, 3, 4});
  const auto product = [&](std::string_view type, std::string_view more, std::string_view inputs,
                           std::string_view attributes = "") {
    return run(text("uint8[2,2] a", fmt::format("{}[2,2] y", type),
                    fmt::format("float as = {{0.5}}, uint8 az = {{2}}, float[2] bs = {{2, 4}}{}", more),
                    fmt::format("y = com.microsoft.QGemm{}({})", attributes, inputs)),
               {a})
        .at(0);
  };
  const std::string b = ", int8[2,2] b = {2, 5, 0, 4}, int8[2] bz = {1, 3}", c = ", int32[2] c = {10, -4}";
  expect_near(product("float", b, "a, as, az, b, bs, bz"), {2, 2}, {-1, -4, -1, 8});
  expect_near(product("float", b + c, "a, as, az, b, bs, bz, c"), {2, 2}, {9, -12, 9, 0});
  expect_near(product("float", b + c, "a, as, az, b, bs, bz, c", "<alpha: float = 0.5>"), {2, 2}, {4.5, -6, 4.5, 0});
  // By the transpose of b, whose columns have the scales.
  const std::string rows = ", int8[2,2] b = {2, 0, 5, 4}, int8[2] bz = {1, 3}";
  expect_near(product("float", rows, "a, as, az, b, bs, bz", "<transB: int = 1>"), {2, 2}, {-1, -4, -1, 8});
  // a by columns: a - 2 = {-1, 1} {0, 2}; the product is {-2, -1} {-2, 2}.
  expect_near(product("float", b, "a, as, az, b, bs, bz", "<transA: int = 1>"), {2, 2}, {-2, -2, -2, 4});
  // Without zero points: {1, 2} {3, 4} by {2, 5} {0, 4} is {2, 13} {6, 31}.
  expect_near(product("float", b, "a, as, , b, bs"), {2, 2}, {2, 26, 6, 62});
  // Bytes: {9, -12} {9, 0} / 2 + 3, ties to even; and saturated.
  const std::string y = ", float ys = {2}, uint8 yz = {3}";
  const Tensor bytes = product("uint8", b + c + y, "a, as, az, b, bs, bz, c, ys, yz");
  EXPECT_EQ(bytes.dtype(), DType::u8);
  expect_near(bytes, {2, 2}, {7, 0, 7, 3});
  std::string error;
  EXPECT_TRUE(run(text("uint8[2,2] a", "uint8[2,2] y", "float s = {1}, uint8[2,2] b = {1, 1, 1, 1}, uint8 z = {0}",
                       "y = com.microsoft.QGemm(a, s, , b, s, , , , z)"),
                  {a}, &error)
                  .empty());
  EXPECT_NE(error.find("input 8 is a zero point without the scale at input 7"), std::string::npos) << error;
}

TEST(OnnxMicrosoft, RowsOfCodes) {
  std::string table = "uint8[3,8] t = {0, 0, 0, 0, 0, 0, 0, 0";  // rows of 0, 1 and 15
  for (int i = 0; i < 16; ++i) table += i < 8 ? ", 17" : ", 255";
  const Tensor y =
      run(text("int32[2] i", "float[2,16] y", table + "}, float[3,1] s = {1, 2, 0.5}",
               "y = com.microsoft.GatherBlockQuantized<bits: int = 4, block_size: int = 16, gather_axis: int = 0, "
               "quantize_axis: int = 1>(t, i, s)"),
          {i32({2}, {2, 1})})
          .at(0);
  std::vector<double> wanted(32, 3.5);
  std::fill(wanted.begin() + 16, wanted.end(), -14);
  expect_near(y, {2, 16}, wanted);
}

TEST(OnnxMicrosoft, AttentionOfManyHeads) {
  const std::string_view in = "float[1,1,1] q, float[1,2,1] k, float[1,2,1] v", out = "float[1,1,1] y";
  const Tensors qkv = {f({1, 1, 1}, {1}), f({1, 2, 1}, {1, 3}), f({1, 2, 1}, {10, 20})};
  expect_near(run(text(in, out, "", "y = com.microsoft.MultiHeadAttention<num_heads: int = 1>(q, k, v)"), qkv).at(0),
              {1, 1, 1}, {18.8079708});
  expect_near(run(text(in, out, "int32[1,2] m = {1, 0}",
                       "y = com.microsoft.MultiHeadAttention<num_heads: int = 1>(q, k, v, , m)"),
                  qkv)
                  .at(0),
              {1, 1, 1}, {10});
  expect_near(
      run(text(in, out, "int32[1] m = {1}", "y = com.microsoft.MultiHeadAttention<num_heads: int = 1>(q, k, v, , m)"),
          qkv)
          .at(0),
      {1, 1, 1}, {10});
}

/// Two batch rows, of whose cache one and two keys count: the new key stands behind those, and nothing else is seen.
TEST(OnnxMicrosoft, CachesOfUnequalLength) {
  const std::string model = text(
      "float[2,1,1] q, float[2,1,1] k, float[2,1,1] v, float[2,1,2,1] pk, float[2,1,2,1] pv, int32[2] n, int32 total",
      "float[2,1,1] y, float[2,1,N,1] key, float[2,1,N,1] value", "",
      "y, key, value = com.microsoft.GroupQueryAttention<num_heads: int = 1, kv_num_heads: int = 1>(q, k, v, pk, pv, "
      "n, "
      "total)");
  const Tensors out =
      run(model, {f({2, 1, 1}, {0, 0}), f({2, 1, 1}, {5, 6}), f({2, 1, 1}, {30, 60}), f({2, 1, 2, 1}, {1, 99, 2, 3}),
                  f({2, 1, 2, 1}, {10, 999, 20, 40}), i32({2}, {1, 2}), i32({}, {3})});
  ASSERT_EQ(out.size(), 3U);
  expect_near(out[0], {2, 1, 1}, {20, 40});  // no query: the mean of 10, 30 and of 20, 40, 60
  EXPECT_EQ(out[1].shape(), (Shape{2, 1, 3, 1}));
  for (const auto& [i, key] : {std::pair(0, 1.0), {1, 5.0}, {3, 2.0}, {4, 3.0}, {5, 6.0}})
    EXPECT_EQ(real_at(out[1], i), key);
}

/// Counts that do not fit are told in the operator's words, before any run; one of each row may be a column, too.
TEST(OnnxMicrosoft, CountsOfGroupQueryAttention) {
  const auto fault = [](const char* counts, const char* more) {
    const std::string model =
        text(std::string("float[2,1,1] q, float[2,1,1] k, float[2,1,1] v, ") + counts, "float[2,1,1] y", "",
             std::string(more) +
                 "y = com.microsoft.GroupQueryAttention<num_heads: int = 1, kv_num_heads: int = 1>"
                 "(q, k, v, , , n, total)");
    const auto loaded = load_graph(ModelSource::memory(model));
    return loaded.ok() ? std::string() : loaded.error().message();
  };
  EXPECT_EQ(fault("int32[2] n, int32 total", ""), "");
  EXPECT_EQ(fault("int32[2,1] n, int32[1] total", ""), "");
  EXPECT_EQ(fault("int32[3] n, int32 total", ""),
            "GroupQueryAttention: seqlens_k has 3 numbers; needed 2, one for each batch row");
  EXPECT_EQ(fault("float[2] n, int32 total", ""), "GroupQueryAttention: seqlens_k is f32; needed i32");
  EXPECT_EQ(fault("int32[2] n, int32[2] total", ""),
            "GroupQueryAttention: total_sequence_length has 2 numbers; needed 1");
  EXPECT_EQ(fault("int32 total", "n = Constant<value = int32[2] {0, -1}>()"),
            "GroupQueryAttention: seqlens_k is -1 in batch row 1; needed 0 or more, the keys that count less 1");
}

/// Lengths that cannot be are refused: less than no keys, more than there are, more in all than the past and the new.
TEST(OnnxMicrosoft, CachesOfImpossibleLength) {
  const std::string attention =
      "y, key, value = com.microsoft.GroupQueryAttention<num_heads: int = 1, kv_num_heads: int = 1>";
  const std::string outputs = "float[2,1,1] y, float[2,1,N,1] key, float[2,1,N,1] value";
  const std::string cached = text(
      "float[2,1,1] q, float[2,1,1] k, float[2,1,1] v, float[2,1,2,1] pk, float[2,1,2,1] pv, int32[2] n, int32 total",
      outputs, "", attention + "(q, k, v, pk, pv, n, total)");
  const std::string first = text("float[2,1,1] q, float[2,1,1] k, float[2,1,1] v, int32[2] n, int32 total", outputs, "",
                                 attention + "(q, k, v, , , n, total)");
  const struct {
    int32_t a, b, total;
    const char* found;
  } rows[] = {{-5, 2, 3, "found -5 valid keys in row 0"},
              {1, INT32_MIN, 3, "found -2147483648 valid keys in row 1"},
              {1, 99, 3, "do not fit into 3 of row 1"},
              {1, 2, 99, "found 99 valid keys"},
              {1, 2, -3, "found 3 valid keys in row 1; there are 2"},
              {1, 2, 0, "found 3 valid keys in row 1; there are 2"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.found);
    const Tensor x = f({2, 1, 1}, {1, 2}), past = f({2, 1, 2, 1}, {1, 2, 3, 4});
    std::string error;
    run(cached, {x, x, x, past, past, i32({2}, {row.a, row.b}), i32({}, {row.total})}, &error);
    EXPECT_NE(error.find(row.found), std::string::npos) << error;
  }
  const auto prompt = [&](int32_t a, int32_t b) {
    const Tensor x = f({2, 1, 1}, {1, 2});
    std::string error;
    run(first, {x, x, x, i32({2}, {a, b}), i32({}, {1})}, &error);
    return error;
  };
  EXPECT_EQ(prompt(0, 0), "");
  EXPECT_NE(prompt(-1, 0), "");
  EXPECT_NE(prompt(0, 3), "");
}

/// One query in two heads, keys of three positions; the formula computed apart.
TEST(OnnxMicrosoft, SinksOfHeads) {
  const auto attention = [](std::string_view attribute, std::string_view held, std::string_view sink) {
    return run(text("float[1,1,4] q, float[1,1,2] k, float[1,1,2] v, float[1,1,2,2] pk, float[1,1,2,2] pv, int32[1] n, "
                    "int32 total",
                    "float[1,1,4] y, float[1,1,N,2] key, float[1,1,N,2] value", held,
                    fmt::format("y, key, value = com.microsoft.GroupQueryAttention<num_heads: int = 2, kv_num_heads: "
                                "int = 1{}>(q, k, v, pk, pv, n, total{})",
                                attribute, sink)),
               {f({1, 1, 4}, {1, 2, 0.5, -1}), f({1, 1, 2}, {1, 1}), f({1, 1, 2}, {3, 30}),
                f({1, 1, 2, 2}, {0.5, 1, 2, -1}), f({1, 1, 2, 2}, {1, 10, 2, 20}), i32({1}, {2}), i32({}, {3})})
        .at(0);
  };
  expect_near(attention(", smooth_softmax: int = 1", "", ""), {1, 1, 4}, {2.0299006, 20.299006, 1.7054549, 17.054549});
  expect_near(attention("", "float[2] s = {2, -1}", ", , , , , s"), {1, 1, 4},
              {1.455764, 14.55764, 1.8922366, 18.922366});
}

/// 24 ones a row in blocks of 16, which rows share; then codes of both halves of a byte, the upper one first.
TEST(OnnxMicrosoft, FloatsOfFourBits) {
  const auto product = [](std::string_view kind, int width, std::string_view bytes, std::string_view scales) {
    return run(text(fmt::format("float[1,{}] x", width), "float[1,2] y",
                    fmt::format("uint8[{}] w = {{{}}}, float[{}] s = {{{}}}", width, bytes, width / 8, scales),
                    fmt::format("y = com.microsoft.MatMulBnb4<K: int = {}, N: int = 2, block_size: int = 16, "
                                "quant_type: int = {}>(x, w, s)",
                                width, kind)),
               {f({1, width},
                  [&] {
                    std::vector<float> x(static_cast<size_t>(width), 1);
                    x[1] = 2;
                    return x;
                  }())})
        .at(0);
  };
  const auto repeated = [](int n, std::string_view byte) {
    std::string list(byte);
    for (int i = 1; i < n; ++i) list += fmt::format(", {}", byte);
    return list;
  };
  expect_near(product("1", 24, repeated(24, "255"), "1, 2, 3"), {1, 2}, {17 + 8 * 2, 9 * 2 + 16 * 3});
  const std::string zeros = repeated(7, "119");  // NF4: code 7 is 0, code 0 is -1, code 15 is 1
  expect_near(product("1", 16, fmt::format("15, {}, 127, {}", zeros, zeros), "2, 3"), {1, 2}, {(2 - 1) * 2, 2 * 3});
  const std::string none = repeated(7, "0");  // FP4: 3 is 1, 11 is -1, 1 is 1/192
  expect_near(product("0", 16, fmt::format("59, {}, 19, {}", none, none), "2, 3"), {1, 2},
              {(1 - 2) * 2, (1.0 / 192 + 2) * 3});
}

/// Half a byte a weight, and a scale for 64 of them.
TEST(OnnxMicrosoft, FloatsOfFourBitsStayInMemory) {
  constexpr int kColumns = 256, kRows = 512;
  const auto list = [](int n, std::string_view item) {
    std::string all(item);
    for (int i = 1; i < n; ++i) (all += ", ") += item;
    return all;
  };
  const std::string model = text(
      "float[1,512] x", "float[1,256] y",
      fmt::format("uint8[65536] w = {{{}}}, float[2048] s = {{{}}}", list(kRows * kColumns / 2, "85"),
                  list(kRows * kColumns / 64, "0.5")),
      "y = com.microsoft.MatMulBnb4<K: int = 512, N: int = 256, block_size: int = 64, quant_type: int = 0>(x, w, s)");
  auto m = load_model(ModelSource::memory(model));
  ASSERT_TRUE(m.ok()) << m.error().text();
  const Value x(f({1, kRows}, std::vector<float>(kRows, 1)));
  auto got = m->session().run(std::span(&x, 1));
  ASSERT_TRUE(got.ok()) << got.error().text();
  expect_near(*(*got)[0].tensor(), {1, kColumns}, std::vector<double>(kColumns, kRows * 0.5 * 0.5));
  EXPECT_EQ(m->packed_memory(), kRows * kColumns / 2 + kRows * kColumns / 64 * 4 + 16 * 4);
}

TEST(OnnxMicrosoft, DistancesOfRows) {
  const auto distances = [](std::string_view metric) {
    return run(text("float[2,2] a, float[2,2] b", "float[2,2] y", "",
                    fmt::format("y = com.microsoft.CDist<metric: string = \"{}\">(a, b)", metric)),
               {f({2, 2}, {0, 0, 3, 4}), f({2, 2}, {0, 0, 6, 8})})
        .at(0);
  };
  expect_near(distances("euclidean"), {2, 2}, {0, 10, 5, 5});
  expect_near(distances("sqeuclidean"), {2, 2}, {0, 100, 25, 25});
}

TEST(OnnxMicrosoft, ImagesWithTheirChannelsLast) {
  expect_near(run(text("uint8[1,2,2,2] x", "uint8[1,1,1,2] y", "",
                       "y = com.microsoft.NhwcMaxPool<kernel_shape: ints = [2, 2]>(x)"),
                  {u8({1, 2, 2, 2}, {1, 10, 2, 9, 3, 8, 4, 7})})
                  .at(0),
              {1, 1, 1, 2}, {4, 10});
  const std::string_view held =
      "float s = {1}, uint8 z = {0}, uint8 three = {3}, int8[1,2,1,1] w = {2, 1}, int8 wz = {0}";
  expect_near(run(text("uint8[1,1,2,2] x", "uint8[1,1,2,1] y", held,
                       "y = com.microsoft.QLinearConv<channels_last: int = 1>(x, s, z, w, s, wz, s, three)"),
                  {u8({1, 1, 2, 2}, {1, 2, 3, 4})})
                  .at(0),
              {1, 1, 2, 1}, {2 + 2 + 3, 6 + 4 + 3});
  expect_near(run(text("uint8[1,1,2,2] x", "uint8[1,1,1,2] y", held,
                       "y = com.microsoft.QLinearGlobalAveragePool<channels_last: int = 1>(x, s, z, s, three)"),
                  {u8({1, 1, 2, 2}, {1, 2, 3, 4})})
                  .at(0),
              {1, 1, 1, 2}, {2 + 3, 3 + 3});
  expect_near(run(text("uint8[2,2] x", "uint8[2] y", held,
                       "y = com.microsoft.QLinearReduceMean<axes: ints = [1], keepdims: int = 0>(x, s, z, s, three)"),
                  {u8({2, 2}, {1, 3, 5, 9})})
                  .at(0),
              {2}, {2 + 3, 7 + 3});
}

TEST(OnnxMicrosoft, ChoicesAndRowsOfBytes) {
  // 0.5 * {10, 20} or 0.25 * (100 - 20).
  expect_near(
      run(text("bool[2] c, uint8[2] x, uint8[1] y", "uint8[2] z",
               "float xs = {0.5}, uint8 xz = {0}, float ys = {0.25}, uint8 yz = {20}, float zs = {1}, uint8 zz = {3}",
               "z = com.microsoft.QLinearWhere(c, x, xs, xz, y, ys, yz, zs, zz)"),
          {Tensor::of<bool>(Shape{2}, {true, false}), u8({2}, {10, 20}), u8({1}, {100})})
          .at(0),
      {2}, {5 + 3, 20 + 3});
  // Row 1 of the words is {4, 2}, the first position {2, 0}: {6, 2} of mean 4 and deviation 2; times 2, plus {-1, 1}.
  const Tensors embedded =
      run(text("int32[1,1] ids", "float[1,1,2] y, int32[1] n",
               "uint8[2,2] w = {0, 0, 12, 8}, uint8[1,2] p = {3, 1}, uint8[2] g = {2, 2}, uint8[2] b = {1, 3}, float "
               "half = {0.5}, "
               "float one = {1}, uint8 four = {4}, uint8 ace = {1}, uint8 two = {2}, uint8 none = {0}",
               "y, n = com.microsoft.QEmbedLayerNormalization<epsilon: float = 0.0>(ids, , w, p, , g, b, , half, one, "
               ", one, one, "
               "four, ace, , none, two)"),
          {i32({1, 1}, {1})});
  ASSERT_EQ(embedded.size(), 2U);
  expect_near(embedded[0], {1, 1, 2}, {1, -1});
  expect_near(embedded[1], {1}, {0});
}

/// Queries and keys are 0, values {20, 0}.
TEST(OnnxMicrosoft, AttentionOfBytes) {
  const auto attention = [](std::string_view mask) {
    return run(text("uint8[1,2,1] x", "float[1,2,1] y",
                    "int8[1,3] w = {0, 0, 5}, float[3] b = {0, 0, 0}, float xs = {1}, float ws = {2}, uint8 xz = {1}, "
                    "int8 wz = {0}, int32[1,2] m = {1, 0}",
                    fmt::format("y = com.microsoft.QAttention<num_heads: int = 1>(x, w, b, xs, ws, {}, xz, wz)", mask)),
               {u8({1, 2, 1}, {3, 1})})
        .at(0);
  };
  expect_near(attention(""), {1, 2, 1}, {10, 10});
  expect_near(attention("m"), {1, 2, 1}, {20, 20});
}

TEST(OnnxMicrosoft, PackedQueriesKeysAndValues) {
  const auto packed = [](std::string_view inputs, std::string_view node, const Tensors& given) {
    return run(text(inputs, "float[1,2,1] y", "",
                    fmt::format("y = com.microsoft.MultiHeadAttention<num_heads: int = 1>({})", node)),
               given)
        .at(0);
  };
  const std::vector<double> wanted = {18.8079708, 18.8079708};  // queries 1, 1; keys 1, 3; values 10, 20
  expect_near(packed("float[1,2,1,3,1] x", "x", {f({1, 2, 1, 3, 1}, {1, 1, 10, 1, 3, 20})}), {1, 2, 1}, wanted);
  expect_near(
      packed("float[1,2,1] q, float[1,2,1,2,1] x", "q, x", {f({1, 2, 1}, {1, 1}), f({1, 2, 1, 2, 1}, {1, 10, 3, 20})}),
      {1, 2, 1}, wanted);
}

/// Weights of {0, 0.5, 1, 1.5} and {1, 0, -1, 2}, as reals and as bytes.
TEST(OnnxMicrosoft, LstmOfBytes) {
  const auto outputs = [](std::string_view held, std::string_view node) {
    return run(text("float[3,1,1] x", "float[3,1,1,1] y, float[1,1,1] h, float[1,1,1] c", held,
                    fmt::format("y, h, c = {}", node)),
               {f({3, 1, 1}, {1, -2, 0.5})});
  };
  const Tensors reals = outputs("float[1,4,1] w = {0, 0.5, 1, 1.5}, float[1,4,1] r = {1, 0, -1, 2}",
                                "LSTM<hidden_size: int = 1>(x, w, r)");
  const std::string_view node =
      "com.microsoft.DynamicQuantizeLSTM<hidden_size: int = 1>(x, w, r, , , , , , ws, wz, rs, rz)";
  const std::string_view forms[] = {
      "int8[1,1,4] w = {2, 4, 6, 8}, float[1] ws = {0.25}, int8[1] wz = {2}, int8[1,1,4] r = {4, 2, 0, 6}, float[1] rs "
      "= {0.5}, "
      "int8[1] rz = {2}",
      "int8[1,1,4] w = {0, 2, 2, 3}, float[1,4] ws = {1, 0.25, 0.5, 0.5}, int8[1,4] wz = {0, 0, 0, 0}, int8[1,1,4] r = "
      "{1, 0, -2, 8}, float[1,4] rs = {1, 1, 0.5, 0.25}, int8[1,4] rz = {0, 0, 0, 0}"};
  for (std::string_view held : forms) {
    const Tensors bytes = outputs(held, node);
    ASSERT_EQ(bytes.size(), reals.size());
    for (size_t o = 0; o < reals.size(); ++o)
      for (int64_t i = 0; i < reals[o].count(); ++i) EXPECT_NEAR(real_at(bytes[o], i), real_at(reals[o], i), 1e-6);
  }
}

TEST(OnnxMicrosoft, RangesWithoutAStep) {
  expect_near(
      run(text("float a, float b", "float[N] y", "", "y = com.microsoft.Range(a, b)"), {f({}, {2}), f({}, {5})}).at(0),
      {3}, {2, 3, 4});
}

/// What an import does not say that it takes would be passed over without a word.
TEST(OnnxMicrosoft, RefusesWhatAnOperatorDoesNotTake) {
  const Tensor x = f({1, 2}, {1, 2});
  const auto refused = [&](std::string_view node) {
    std::string error;
    run(text("float[1,2] x", "float[1,2] y", "float[2] g = {1, 1}", node), {x}, &error);
    return error;
  };
  EXPECT_EQ(refused("y = com.microsoft.QuickGelu<alhpa: float = 0.5>(x)"),
            "QuickGelu: it has no attribute 'alhpa' in its form of opset 1");
  EXPECT_EQ(refused("y = com.microsoft.QuickGelu<alpha: int = 3>(x)"),
            "QuickGelu: attribute 'alpha' is an integer; needed a number");
  EXPECT_EQ(refused("y = com.microsoft.QuickGelu(x, g)"), "QuickGelu: found 2 inputs; needed at most 1");
  EXPECT_EQ(refused("y, z = com.microsoft.QuickGelu(x)"), "QuickGelu: found 2 outputs; needed at most 1");
  EXPECT_EQ(refused("y = com.microsoft.SkipSimplifiedLayerNormalization<epsilonn: float = 100.0>(x, x, g)"),
            "SkipSimplifiedLayerNormalization: it has no attribute 'epsilonn' in its form of opset 1");
  EXPECT_EQ(refused("y = SimplifiedLayerNormalization<epsilonn: float = 100.0>(x, g)"),
            "SimplifiedLayerNormalization: it has no attribute 'epsilonn' in its form of opset 1");
  EXPECT_EQ(refused("y = com.microsoft.QuickGelu<__note: string = \"of a tool\">(x)"), "");
  EXPECT_EQ(refused("y = com.microsoft.SkipLayerNormalization<epsilon: float = 1.0>(x, x, g, , )"), "");
  EXPECT_EQ(refused("y = SimplifiedLayerNormalization<stash_type: int = 1>(x, g)"), "");
}

/// ... and docs/conformance.md names it; README.md has their number.
TEST(OnnxMicrosoft, EveryImportSaysWhatItTakes) {
  using namespace onnx_format;
  const auto page = read_file(test::source_dir() + "/docs/conformance.md");
  const auto readme = read_file(test::source_dir() + "/README.md");
  ASSERT_TRUE(page.ok() && readme.ok());
  const auto is_named = [&](std::string_view op) {
    return std::regex_search(*page, std::regex(fmt::format("\\| [^|\n]*\\b{}\\b", op)));
  };
  size_t rows = 0;
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled)
      if (s.domain == "com.microsoft") {
        EXPECT_TRUE(is_named(s.name)) << s.name;
        ++rows;
      }
  for (const auto theme : all_microsoft_quirks())
    for (const QuirkRow& row : theme) {
      if (row.domain.empty()) continue;
      SCOPED_TRACE(row.op);
      ++rows;
      const Form* const form = taken_form(row.domain, row.op);
      EXPECT_TRUE(is_named(row.op)) << "docs/conformance.md does not name it";
      ASSERT_TRUE(form) << "its line in the list says no inputs, outputs and attributes";
      EXPECT_FALSE(form->in.empty());
      EXPECT_FALSE(form->out.empty());
      for (const FormAttribute& a : form->attributes)
        EXPECT_TRUE(std::string_view("ifsIFSt").find(a.kind) != std::string_view::npos) << a.name;
    }
  EXPECT_NE(readme->find(fmt::format("(`com.microsoft`): {} operators", rows)), std::string::npos) << rows;
}

TEST(OnnxMicrosoft, SaysWhatItLacks) {
  const auto wrong = [](std::string_view inputs, std::string_view held, std::string_view node, const Tensors& given) {
    std::string error;
    run(text(inputs, "float[N,M] y", held, node), given, &error);
    return error;
  };
  const Tensor x = f({1, 16}, std::vector<float>(16, 1));
  const char* held =
      "uint8[2,1,8] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float[2] s = {1, 1}, int32[16] g = "
      "{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}";
  const char* sizes = "K: int = 16, N: int = 2, block_size: int = 16";
  EXPECT_EQ(wrong("float[1,16] x", held, fmt::format("y = com.microsoft.MatMulNBits<{}>(x, w, s, , g)", sizes), {x}),
            "MatMulNBits with g_idx, which ONNX Runtime gave up too");
  EXPECT_EQ(wrong("float[1,16] x", held,
                  fmt::format("y = com.microsoft.MatMulNBits<{}, bits: int = 3>(x, w, s)", sizes), {x}),
            "MatMulNBits with weights of 3 bits");
  EXPECT_EQ(wrong("float[1,16] x", held,
                  "y = com.microsoft.MatMulNBits<K: int = 16, N: int = 3, block_size: int = 16>(x, w, s)", {x}),
            "MatMulNBits: u8 [2,1,8] holds no 3 rows of 16 codes of 4 bits");
  EXPECT_EQ(wrong("float[1,16] x", held,
                  "y = com.microsoft.MatMulNBits<K: int = 16, N: int = 2, block_size: int = 12>(x, w, s)", {x}),
            "MatMulNBits: block_size is 12; needed a power of 2 of at least 16");
  EXPECT_EQ(wrong("float[1,1,3] x", "", "y = com.microsoft.MultiHeadAttention<num_heads: int = 1>(x)",
                  {f({1, 1, 3}, {1, 2, 3})}),
            "MultiHeadAttention with queries, keys and values that are neither three, nor one of 5 axes, nor two of "
            "which keys "
            "have 5");
  const char* softmax = "y = com.microsoft.QLinearSoftmax<opset: int = 12, axis: int = 1>(x, s, , s)";
  EXPECT_EQ(wrong("uint8[1,2,2] x", "float s = {1}", softmax, {Tensor::of<uint8_t>(Shape{1, 2, 2}, {1, 2, 3, 4})}),
            "QLinearSoftmax with axes made one by an old opset");
  EXPECT_NE(wrong("float[1,16] x", "", "y = com.microsoft.Nothing(x)", {x}).find("Nothing"), std::string::npos);
}

}  // namespace
