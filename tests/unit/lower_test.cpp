// Rows in simpler words: as documents of NNEF and programs of WebNN they compute what they did.

#include "passes/lower.h"

#include <gtest/gtest.h>

#include <cmath>

#include "api/export.h"
#include "graph/text/build.h"
#include "nnef_written.h"
#include "numbers_for.h"
#include "run/compile.h"
#include "standards/nnef/model.h"
#include "standards/webnn/export.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using nnef_format::Written;

/// Of inputs in the element types that the model has: truths are bytes in WebNN, integers int64 in NNEF.
std::vector<Value> answers(const Model& m, const std::vector<Value>& inputs) {
  std::vector<Value> in;
  for (size_t i = 0; i < inputs.size(); ++i) in.push_back(*convert(*inputs[i].tensor(), m.inputs()[i].dtype));
  Session session = m.session();
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? std::move(out).value() : std::vector<Value>{};
}

void expect_same(const std::vector<Value>& got, const std::vector<Value>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < want.size(); ++o) {
    const Tensor &a = *got[o].tensor(), &b = *want[o].tensor();
    ASSERT_EQ(a.shape().text(), b.shape().text());
    for (int64_t i = 0; i < b.count(); ++i) {
      const double x = real_at(a, i), y = real_at(b, i);
      EXPECT_TRUE(x == y || std::fabs(x - y) <= tolerance * (1 + std::fabs(y)))
          << "output " << o << ", element " << i << ": " << x << " and " << y;
    }
  }
}

enum In : unsigned { kNnef = 1, kWebnn = 2, kBoth = 3 };

/// Both forms of the graph answer as it does. `tolerance` 0: the same numbers.
void expect_said(const std::string& text, double tolerance = 1e-5, unsigned forms = kBoth) {
  SCOPED_TRACE(text);
  const auto parsed = graph_text::read_graph(text, "test");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  const auto read = [&] { return ir::Graph(*parsed); };
  const auto model = compile(read());
  ASSERT_TRUE(model.ok()) << model.error().text();
  const std::vector<Value> in = inputs_of(*model), want = answers(*model, in);
  if (forms & kNnef) {
    ir::Graph graph = read();
    auto w = to_nnef(graph, {});
    ASSERT_TRUE(w.ok()) << w.error().text();
    auto back = nnef_format::read_nnef(container_of(*w));
    ASSERT_TRUE(back.ok()) << back.error().text() << "\n" << w->graph;
    const auto after = compile(std::move(back).value());
    ASSERT_TRUE(after.ok()) << after.error().text() << "\n" << w->graph;
    expect_same(answers(*after, in), want, tolerance);
  }
  if (forms & kWebnn) {
    ir::Graph graph = read();
    auto program = ml::to_program(graph, "");
    ASSERT_TRUE(program.ok()) << program.error().text();
    auto played = ml::graph_of(*program);
    ASSERT_TRUE(played.ok()) << played.error().text();
    const auto after = compile(std::move(played).value());
    ASSERT_TRUE(after.ok()) << after.error().text();
    expect_same(answers(*after, in), want, tolerance);
  }
}

std::string network(const std::string& params, const std::string& results, const std::string& body) {
  return "graph g(" + params + ") -> (" + results + ") { " + body + " }";
}

std::string filled(const std::string& type, size_t count, const std::string& number) {
  std::string out = type + "(" + number;
  for (size_t i = 1; i < count; ++i) out += ", " + number;
  return out + ")";
}

// ---- Recurrent layers

TEST(Lower, RecurrentLayers) {
  const std::string params =
      "x: f32[3,2,2], w: f32[1,8,2], r: f32[1,8,2], b: f32[1,16], h0: f32[1,2,2], c0: f32[1,2,2], "
      "p: f32[1,6]";
  const std::string all = "y, h, c", start = "[y, h, c] = lstm(x, w, r, b, h0 = h0, c0 = c0, p = p";
  for (const char* more :
       {"", ", direction = 'reverse'", ", clip = 0.5", ", input_forget = true",
        ", activations = ['hard_sigmoid', 'softsign', 'relu']",
        ", activations = ['affine', 'scaled_tanh', 'elu'], activation_alpha = [0.5, 2.0, 0.7], "
        "activation_beta = [0.1, 0.3]",
        ", activations = ['leaky_relu', 'thresholded_relu', 'softplus'], activation_alpha = [0.2, 0.3]"})
    expect_said(network(params, all, start + more + ");"));
  expect_said(network("x: f32[3,2,2]", "y",
                      "y = lstm(x, " + filled("f32[1,4,2]", 8, "0.5") + ", " + filled("f32[1,4,1]", 4, "0.25") + ");"));
  const std::string both = "x: f32[3,2,2], w: f32[2,6,2], r: f32[2,6,2], b: f32[2,12]";
  for (const char* more : {"", ", reset_after = true", ", activations = ['relu', 'tanh', 'sigmoid', 'elu']"})
    expect_said(
        network(both, "y, h", std::string("[y, h] = gru(x, w, r, b, direction = 'bidirectional'") + more + ");"));
  expect_said(network("x: f32[3,2,2], w: f32[1,2,2], r: f32[1,2,2]", "y, h", "[y, h] = rnn(x, w, r);"));
}

/// Rows of other lengths: states stay and results are 0 past them, backwards, too.
TEST(Lower, RowsOfOtherLengths) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    const bool two = std::string(direction) == "bidirectional";
    const std::string d = two ? "2" : "1";
    const std::string params = "x: f32[3,2,2], w: f32[" + d + ",8,2], r: f32[" + d + ",8,2]";
    for (const char* lengths : {"i32[2](1, 3)", "i32[2](0, 2)", "i32[2](3, 3)"})
      expect_said(network(
          params, "y, h, c",
          std::string("[y, h, c] = lstm(x, w, r, lengths = ") + lengths + ", direction = '" + direction + "');"));
  }
  expect_said(
      network("x: f32[2,2,2], w: f32[1,6,2], r: f32[1,6,2], n: i32[2]", "y, h", "[y, h] = gru(x, w, r, lengths = n);"));
}

TEST(Lower, TooManySteps) {
  auto graph = graph_text::read_graph(
      network("x: f32[5000,1,1], w: f32[1,1,1], r: f32[1,1,1]", "y", "y = rnn(x, w, r);"), "test");
  const auto w = to_nnef(*graph, {});
  ASSERT_FALSE(w.ok());
  EXPECT_NE(w.error().text().find("rnn: NNEF has no such operation; it has 5000 steps; at most 4096 are unrolled"),
            std::string::npos)
      << w.error().text();
}

// ---- Products

TEST(Lower, Einsum) {
  for (const char* equation : {"ij,jk->ik", "ij,jk", "ij,kj->ki", "ij,jk->", "ij,jk->kij", "ij,kl->ikjl"})
    expect_said(
        network("x: f32[3,2], y0: f32[2,2]", "y", std::string("y = einsum([x, y0], equation = '") + equation + "');"),
        1e-5);
  for (const char* equation :
       {"bhqd,bhkd->bhqk", "bhqd,bhkd->bqk", "bhqd,bhqd->bh", "...qd,...kd->...kq", "bhqd,bhkd->hd"})
    expect_said(network("x: f32[2,2,3,4], z: f32[2,2,3,4]", "y",
                        std::string("y = einsum([x, z], equation = '") + equation + "');"));
  for (const char* equation : {"ii->i", "ii", "ij->ji", "ij->", "ij->j"})
    expect_said(network("x: f32[3,3]", "y", std::string("y = einsum([x], equation = '") + equation + "');"));
  expect_said(network("x: f32[2,3,3]", "y", "y = einsum([x], equation = '...ii->...i');"));
  expect_said(
      network("x: f32[2,3], z: f32[1,3], v: f32[3,4]", "y", "y = einsum([x, z, v], equation = 'ab,ab,bc->ca');"));
  expect_said(network("x: f32[2,3], z: f32[3], v: f32[2]", "y", "y = einsum([x, z, v], equation = 'ab,b,a->a');"));
}

TEST(Lower, Attention) {
  const std::string qkv = "q: f32[2,4,3,2], k: f32[2,2,5,2], v: f32[2,2,5,3]";
  for (const char* more :
       {"", ", causal = true", ", softcap = 1.5, scale = 0.3", ", left_window = 1, right_window = 0"})
    expect_said(network(qkv, "y", std::string("y = attention(q, k, v") + more + ");"));
  for (const char* mask : {"m: f32[3,5]", "m: bool[2,1,3,5]", "m: f32[1,4,3,4]", "m: bool[3,2]"})
    expect_said(network(qkv + ", " + mask, "y", "y = attention(q, k, v, m, causal = true);"));
  expect_said(network("q: f32[1,3,8], k: f32[1,2,4], v: f32[1,2,4], a: f32[1,2,1,2], b: f32[1,2,1,2]", "y, t, u, s",
                      "[y, t, u, s] = attention(q, k, v, past_key = a, past_value = b, q_heads = 4, kv_heads = 2, "
                      "scores_at = 'softmax');"));
  expect_said(
      network("x: f32[1,2,3,4], c: f32[5,2], s: f32[5,2], p: i64[1,3]", "y", "y = rotary_embedding(x, c, s, p);"));
  expect_said(network("x: f32[1,3,8], c: f32[1,3,1], s: f32[1,3,1]", "y",
                      "y = rotary_embedding(x, c, s, heads = 2, rotary_dim = 2, interleaved = true);"));
}

// ---- Quantised numbers: the same codes

TEST(Lower, Quantising) {
  const std::string x = "x: f32[2,4]";
  for (const char* call :
       {"quantize_linear(x, f32[](0.25), u8[](3))", "quantize_linear(x, f32[](0.25), i8[](-3))",
        "quantize_linear(x, f32[4](0.25, 0.5, 0.75, 1.0), u8[4](1, 2, 3, 4), axis = 1)",
        "quantize_linear(x, f32[2,2](0.25, 0.5, 0.75, 1.0), u8[2,2](1, 2, 3, 4), axis = 1, block_size = 2)",
        "quantize_linear(x, f32[](0.001), u8[](128))", "quantize_linear(x, f32[](0.25), result = 'i16')"}) {
    expect_said(network(x, "y", std::string("y = ") + call + ";"), 0, kNnef);
    expect_said(network(x, "y", std::string("c = ") + call + "; y = dequantize_linear(c, f32[](0.5));"), 0, kNnef);
  }
  expect_said(network("x: f32[2,4], s: f32[]", "y",  // 0 / 0
                      "n = sub(s, s); a = mul(x, n); y = quantize_linear(a, n, u8[](3));"),
              0, kNnef);
  expect_said(network(x, "y, s, z", "[y, s, z] = dynamic_quantize_linear(x);"), 0, kNnef);
  expect_said(network("x: u8[2,3], w: u8[3,2]", "y", "y = matmul_integer(x, w, u8[](1), u8[](2));"), 0, kNnef);
  expect_said(network("x: u8[2,3], w: i8[3,2]", "y",
                      "y = qlinear_matmul(x, f32[](0.5), u8[](1), w, f32[](0.25), i8[](0), f32[](0.125), u8[](7));"),
              0);
  for (const char* scale : {"s", "n"})
    expect_said(network("x: u8[2,3], w: u8[3,2], s: f32[]", "y",
                        std::string("n = sub(s, s); y = qlinear_matmul(x, n, u8[](1), w, s, u8[](0), ") + scale +
                            ", u8[](7));"),
                0);
  const std::string filter = "i8[2,1,2,2](1, -2, 3, 4, 5, 6, -7, 8)";
  expect_said(network("x: u8[1,1,4,4]", "y", "y = conv_integer(x, " + filter + ", u8[](1));"), 0, kNnef);
  expect_said(network("x: u8[1,1,4,4]", "y",
                      "y = qlinear_conv(x, f32[](0.5), u8[](1), " + filter +
                          ", f32[2](0.25, 0.5), i8[2](0, 0), f32[](0.75), u8[](7), i32[2](100, -3));"),
              0);
}

/// Sums that float32 does not hold are refused, by the codes that there are.
TEST(Lower, SumsThatFloatsDoNotHold) {
  const auto said = [](const std::string& text) {
    auto graph = graph_text::read_graph(text, "test");
    return to_nnef(*graph, {});
  };
  const auto w = said(network("x: u8[1,300], w: u8[300,1]", "y", "y = matmul_integer(x, w);"));
  ASSERT_FALSE(w.ok());
  EXPECT_NE(w.error().text().find("its sums reach 19507500; float32 holds whole numbers up to 16777216"),
            std::string::npos)
      << w.error().text();
  EXPECT_TRUE(said(network("x: u8[1,300]", "y", "y = matmul_integer(x, " + filled("u8[300,1]", 300, "3") + ");")).ok());
}

/// Constants of bytes are stored as their codes, with a line of the quantisation file that says what they stand for.
TEST(Lower, WeightsStayCodes) {
  const std::string text = network(
      "x: f32[1,2]", "y",
      "w = dequantize_linear(i8[3,2](1, -2, 3, -128, 5, 127), f32[3](0.5, 0.25, 0.75), i8[3](0, 1, 2), axis = 0); "
      "y = matmul(x, w, transposeB = true);");
  expect_said(text);
  auto graph = graph_text::read_graph(text, "test");
  const auto w = to_nnef(*graph, {});
  ASSERT_TRUE(w.ok()) << w.error().text();
  ASSERT_EQ(w->variables.size(), 1U);
  EXPECT_EQ(
      w->quant,
      "'w': zero_point_linear_quantize(zero_point = [0, 1, 2], scale = [0.5, 0.25, 0.75], bits = 8, signed = true, "
      "symmetric = false);\n");
  EXPECT_EQ(w->codes.size(), 1U);
}

// ---- Elements moved

TEST(Lower, Moves) {
  for (const char* call :
       {"gather_elements(x, i64[2,2](0, 2, -1, 1), axis = 1)", "gather_nd(x, i64[2,2](0, 2, 1, -1))",
        "scatter_elements(x, i64[1,2](0, -1), f32[1,2](9.0, 8.0), axis = 1)",
        "scatter_nd(x, i64[2,1](1, 0), f32[2,3](1.0, 2.0, 3.0, 4.0, 5.0, 6.0))",
        "scatter_nd(x, i64[3,2](1, 0, 0, 0, 1, 0), f32[3](1.0, 2.0, 3.0))", "trilu(x)",
        "trilu(x, i64[](1), upper = false)", "compress(x, bool[3](true, false, true), axis = 1)",
        "reverse_sequence(x, i64[3](1, 2, 1))", "cum_sum(x, i64[](1))",
        "cum_sum(x, i64[](0), exclusive = true, reverse = true)", "hardmax(x)", "reduce_log_sum_exp(x, axes = [1])",
        "pad(x, padding = [1, 0, 0, 2], value = f32[](-inf))", "dropout(x)",
        "resize(x, sizes = i64[2](3, 7), mode = 'linear')", "resize(x, sizes = i64[2](3, 5), mode = 'cubic')",
        "resize(x, sizes = i64[2](5, 2), mode = 'nearest')"}) {
    if (std::string(call).find("inf") != std::string::npos)
      expect_said(network("x: f32[2,3]", "y", std::string("p = ") + call + "; y = max_reduce(p, axes = [0]);"), 1e-5,
                  kNnef);
    else
      expect_said(network("x: f32[2,3]", "y", std::string("y = ") + call + ";"));
  }
  expect_said(network("x: f32[2,3], i: i64[2,2]", "y", "y = gather_elements(x, i, axis = 1);"));
  expect_said(network("x: f32[3,3,2], i: i64[2,2]", "y", "y = gather_nd(x, i);"));
  expect_said(network("x: f32[2,3,2], i: i64[2,2,1]", "y", "y = gather_nd(x, i, batch_dims = 1);"));
  expect_said(network("i: f32[2,2]", "y", "y = one_hot(i, i64[](3), f32[2](0.5, 2.0));"));
  expect_said(network("i: i64[2,2]", "y", "y = one_hot(i, i64[](3), f32[2](0.5, 2.0), axis = 1);"));
  expect_said(network("x: f32[2,3]", "y", "[a, b] = split(x, i64[2](3, 0), axis = 1); y = concat([a, b], axis = 1);"));
}

TEST(Lower, Classes) {
  for (const char* post : {"none", "softmax", "logistic"}) {
    const std::string more = std::string(", post = '") + post + "');";
    expect_said(network("x: f32[2,3]", "l, p", "[l, p] = classify(x, labels = i64[3](4, 9, 6)" + more));
    for (const char* one : {"negate", "complement", "single"})
      expect_said(network("x: f32[4,1]", "l, p",
                          "[l, p] = classify(x, labels = i64[2](4, 9), threshold = 0.25, one_column = '" +
                              std::string(one) + "'" + more));
  }
}

TEST(Lower, Rounding) {
  for (const char* rounding : {"half_even", "half_away", "half_up"})
    expect_said(network("x: f32[5,7]", "y", std::string("y = round(x, rounding = '") + rounding + "');"), 0);
  expect_said(network("x: f32[5,7], a: f32[], b: f32[]", "y", "y = clamp(x, a, b, crossed = 'high');"), 0);
  expect_said(network("x: f32[2,2], n: i32[2]", "y", "y = pow(x, n);"));
  expect_said(network("x: i64[2,3]", "y", "y = cum_sum(x, i64[](1));"), 0, kNnef);
  expect_said(network("x: bool[4], z: bool[4]", "y", "a = xor(x, z); b = eq(x, a); y = ne(b, z);"), 0);
}

}  // namespace
}  // namespace nnex
