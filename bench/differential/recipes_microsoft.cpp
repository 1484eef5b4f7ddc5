// Operators of the domain com.microsoft, which the peer's own tools write.
#include <algorithm>

#include "recipes_sized.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

/// A power of two: products of scales are exact, and both sides round the same number.
std::string scale(Maker& m) { return m.add(m.scalar(DType::f32, 1.0 / double(int64_t{1} << m.dice.in(3, 6))), 1); }

// ---- Activations, norms

void biased_gelu(Maker& m) {
  const Extents shape = m.positive_shape(1, 3);
  Names in = {reals(m, shape)};
  if (m.made.op == "BiasGelu" || (m.made.op == "FastGelu" && m.dice.chance(0.5)))
    in.push_back(reals(m, {shape.back()}, 0.5));
  m.finish(in);
}

void quick_gelu(Maker& m) {
  m.maybe(0.5, "alpha", float(m.dice.in(1, 8)) / 4);
  m.finish({reals(m, m.positive_shape(1, 3))});
}

void skip_norm(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4), width = m.dice.in(2, 9);
  const bool simplified = m.made.op == "SkipSimplifiedLayerNormalization";
  Names in = {reals(m, {batch, length, width}), reals(m, {batch, length, width}), reals(m, {width}, 0.5)};
  if (!simplified) in.push_back(m.dice.chance(0.7) ? reals(m, {width}, 0.5) : m.absent());
  if (m.dice.chance(0.5)) in.push_back(reals(m, {width}, 0.5));
  m.attribute("epsilon", 1e-5F);
  m.finish(in);
}

void embed_norm(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4), width = m.dice.in(2, 9), words = m.dice.in(1, 12);
  const bool segments = m.dice.chance(0.5);
  Names in = {sized(m, m.whole(DType::i32, {batch, length}, 0, words - 1), 0),
              segments ? sized(m, m.whole(DType::i32, {batch, length}, 0, 1), 0) : m.absent(),
              reals(m, {words, width}, 1),
              reals(m, {length + 2, width}, 1),
              segments ? reals(m, {2, width}, 1) : m.absent(),
              reals(m, {width}, 1),
              reals(m, {width}, 1)};
  if (m.dice.chance(0.5)) in.push_back(sized(m, m.whole(DType::i32, {batch, length}, 0, 1), 0));
  m.attribute("epsilon", 1e-5F);
  m.finish(in, 2);
}

// ---- Products

void fused_matmul(Maker& m) {
  const int64_t rows = m.dice.in(1, 5), depth = m.dice.in(1, 9), columns = m.dice.in(1, 6), batch = m.dice.in(1, 3);
  const bool a = m.dice.chance(0.5), b = m.dice.chance(0.5), batched = m.dice.chance(0.5), both = m.dice.chance(0.4);
  Extents left = a ? Extents{depth, rows} : Extents{rows, depth};
  Extents right = b ? Extents{columns, depth} : Extents{depth, columns};
  if (batched) left.insert(left.begin(), batch);
  if (batched && both) right.insert(right.begin(), batch);
  const auto first_behind = [&](const char* name, Extents& shape) {
    if (m.made.op != "FusedMatMul" || shape.size() < 3 || m.dice.chance(0.6)) return;
    std::swap(shape[0], shape[1]);
    m.attribute(name, int64_t(1));
  };
  first_behind("transBatchA", left);
  first_behind("transBatchB", right);
  m.maybe(a ? 1 : 0, "transA", int64_t(1));
  m.maybe(b ? 1 : 0, "transB", int64_t(1));
  m.maybe(0.5, "alpha", 0.5F);
  const auto x = reals(m, left);
  m.finish({x, reals(m, right, 0.5)});
}

void fused_gemm(Maker& m) {
  const int64_t rows = m.dice.in(1, 5), depth = m.dice.in(1, 9), columns = m.dice.in(1, 6);
  m.attribute("activation", m.dice.word({"Relu", "LeakyRelu", "Tanh", "Sigmoid"}));
  m.attribute("activation_alpha", 0.25F);
  m.maybe(0.5, "alpha", 0.5F);
  m.maybe(0.5, "beta", 2.0F);
  const auto a = reals(m, {rows, depth});
  Names in = {a, reals(m, {depth, columns}, 0.5)};
  if (m.dice.chance(0.7)) in.push_back(reals(m, {columns}, 0.5));
  m.finish(in);
}

void fused_conv(Maker& m) {
  const int64_t channels = m.dice.in(1, 5), outputs = m.dice.in(1, 6), extent = m.dice.in(3, 9),
                kernel = m.dice.in(1, 3);
  const std::string activation = m.dice.word({"Relu", "LeakyRelu", "Clip", "HardSigmoid", "Tanh", "Sigmoid"});
  m.attribute("activation", activation);
  if (activation == "LeakyRelu") m.attribute("activation_params", std::vector<float>{0.25F});
  if (activation == "Clip") m.attribute("activation_params", std::vector<float>{-0.5F, 1.5F});
  if (activation == "HardSigmoid") m.attribute("activation_params", std::vector<float>{0.25F, 0.5F});
  m.maybe(0.5, "pads", Extents{1, 1, 1, 1});
  // Numbers whose sums are exact: those that cancel show no order.
  const auto given = [&](const Extents& shape, double constant) {
    return sized(m, m.reals(DType::f32, shape), constant);
  };
  const auto x = given({1, channels, extent, extent}, 0);
  Names in = {x, given({outputs, channels, kernel, kernel}, 1)};
  if (m.dice.chance(0.5)) in.push_back(given({outputs}, 1));
  m.finish(in);
}

void matmul_n_bits(Maker& m) {
  const int64_t k = m.dice.in(1, 80), n = m.dice.in(1, 6), block = m.dice.one_of<int64_t>({16, 32}),
                bits = m.dice.one_of<int64_t>({4, 4, 8}), blocks = (k + block - 1) / block;
  m.attribute("K", k);
  m.attribute("N", n);
  m.attribute("bits", bits);
  m.attribute("block_size", block);
  const auto a = reals(m, m.dice.chance(0.5) ? Extents{m.dice.in(1, 3), k} : Extents{2, m.dice.in(1, 3), k});
  Names in = {a, bytes(m, DType::u8, {n, blocks, block * bits / 8}, 1), reals(m, {n, blocks}, 1)};
  const double zeros = m.dice.real();
  if (zeros < 0.4) in.push_back(bytes(m, DType::u8, {n, (blocks * bits + 7) / 8}, 1));
  m.finish(in);
}

void matmul_bnb4(Maker& m) {
  const int64_t block = m.dice.one_of<int64_t>({16, 32, 64}), n = m.dice.in(1, 6),
                k = m.dice.chance(0.5) ? block * m.dice.in(1, 4) : m.dice.in(1, 80);
  m.attribute("K", k);
  m.attribute("N", n);
  m.attribute("block_size", block);
  m.attribute("quant_type", m.dice.in(0, 1));
  const auto a = reals(m, m.dice.chance(0.5) ? Extents{m.dice.in(1, 3), k} : Extents{2, m.dice.in(1, 3), k});
  m.finish({a, bytes(m, DType::u8, {(n * k + 1) / 2}, 1), reals(m, {(n * k + block - 1) / block}, 1)});
}

// ---- Mixtures of experts

/// Scores of experts in a random order: equal ones are chosen in another order by the peer.
Tensor scores(Maker& m, DType type, int64_t tokens, int64_t experts) {
  Tensor out = Tensor::make(type, Shape{tokens, experts}).value();
  for (int64_t t = 0; t < tokens; ++t) {
    Extents order;
    for (int64_t e = 0; e < experts; ++e) order.insert(order.begin() + m.dice.in(0, e), e);
    for (int64_t e = 0; e < experts; ++e)
      set_real(out, t * experts + e, 0.5 * double(order[size_t(e)]) - m.dice.real() / 3);
  }
  return out;
}

/// Tokens, scores of experts, attributes.
struct Mixture {
  int64_t experts, hidden, inner, k;
  int64_t fused = 1;  ///< Products in one.
  Names in;

  Mixture(Maker& m, DType type, int64_t experts, int64_t hidden, int64_t inner)
      : experts(experts), hidden(hidden), inner(inner), k(m.dice.in(1, experts)) {
    const std::string activation = m.dice.word({"relu", "gelu", "silu", "identity", "swiglu", "swiglu"});
    m.attribute("activation_type", activation);
    m.attribute("k", k);
    m.maybe(0.5, "normalize_routing_weights", int64_t(1));
    if (activation == "swiglu") {
      fused = 2;
      m.attribute("swiglu_fusion", int64_t(1));
      m.maybe(0.5, "swiglu_limit", 1.5F);
      m.maybe(0.5, "activation_alpha", 1.75F);
      m.maybe(0.5, "activation_beta", 1.0F);
    }
    const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4);
    const Extents shape = m.dice.chance(0.5) ? Extents{batch, length, hidden} : Extents{batch * length, hidden};
    in = {sized(m, m.reals(type, shape, Fill::normal), 0), sized(m, scores(m, type, batch * length, experts), 0)};
  }
};

void mixture_of_experts(Maker& m) {
  Mixture x(m, DType::f32, m.dice.in(1, 5), m.dice.in(1, 9), m.dice.in(1, 9));
  const bool other_order = x.hidden != x.inner && m.dice.chance(0.2);
  const auto weights = [&](int64_t outputs, int64_t inputs) {
    return reals(m, other_order ? Extents{x.experts, inputs, outputs} : Extents{x.experts, outputs, inputs}, 0.8);
  };
  const auto bias = [&](int64_t outputs) {
    return m.dice.chance(0.5) ? reals(m, {x.experts, outputs}, 0.8) : m.absent();
  };
  x.in.push_back(weights(x.fused * x.inner, x.hidden));
  x.in.push_back(bias(x.fused * x.inner));
  x.in.push_back(weights(x.hidden, x.inner));
  x.in.push_back(bias(x.hidden));
  while (x.in.back().empty()) x.in.pop_back();
  m.finish(x.in);
}

/// The peer takes a first product of one block for one without blocks, and then expects the second without.
void mixture_of_codes(Maker& m) {
  const int64_t bits = m.dice.one_of<int64_t>({4, 8}), block = m.dice.one_of<int64_t>({0, 16, 32}), pack = 8 / bits,
                step = block > 0 ? 2 * block : 2, most = block > 0 ? 2 : 9;
  const DType type = m.dice.chance(0.8) ? DType::f32 : DType::f16;
  Mixture x(m, type, m.dice.in(1, 4), step * m.dice.in(1, most), step * m.dice.in(1, most));
  m.attribute("expert_weight_bits", bits);
  if (block > 0) m.attribute("block_size", block);
  const auto codes = [&](const Extents& shape) {  // small numbers, so that sums are no noise
    return sized(m, m.whole(DType::u8, shape, bits == 4 ? 0 : 120, bits == 4 ? 255 : 136), 1);
  };
  const auto given = [&](const Extents& shape, Fill fill) { return sized(m, m.reals(type, shape, fill), 1); };
  const auto layer = [&](int64_t outputs, int64_t inputs) {
    x.in.push_back(codes({x.experts, outputs, inputs / pack}));
    x.in.push_back(
        given(block > 0 ? Extents{x.experts, outputs, inputs / block} : Extents{x.experts, outputs}, Fill::small));
    x.in.push_back(m.dice.chance(0.5) ? given({x.experts, outputs}, Fill::normal) : m.absent());
  };
  layer(x.fused * x.inner, x.hidden);
  layer(x.hidden, x.inner);
  x.in.insert(x.in.end(), 3, m.absent());
  const bool zeros = m.dice.chance(0.4);
  const auto points = [&](int64_t outputs, int64_t inputs) {
    if (!zeros) return m.absent();
    return codes(block > 0 ? Extents{x.experts, outputs, inputs / block / pack} : Extents{x.experts, outputs / pack});
  };
  x.in.push_back(points(x.fused * x.inner, x.hidden));
  x.in.push_back(points(x.hidden, x.inner));
  x.in.push_back(m.absent());
  if (m.dice.chance(0.2)) {
    const Extents shape = {m.made.given[1].value.shape()[0], x.experts};
    x.in.push_back(sized(m, m.reals(type, shape, Fill::positive), 0));
  }
  while (x.in.back().empty()) x.in.pop_back();
  m.finish(x.in);
}

void distances(Maker& m) {
  const int64_t width = m.dice.in(1, 6);
  m.attribute("metric", m.dice.word({"euclidean", "sqeuclidean"}));
  const auto a = sized(m, m.reals(DType::f32, {m.dice.in(1, 5), width}), 0);
  m.finish({a, sized(m, m.reals(DType::f32, {m.dice.in(1, 5), width}), 0.5)});
}

void gather_blocks(Maker& m) {
  const int64_t words = m.dice.in(1, 9), blocks = m.dice.in(1, 3), bits = m.dice.one_of<int64_t>({4, 8});
  m.attribute("bits", bits);
  m.attribute("block_size", int64_t(16));
  m.attribute("gather_axis", int64_t(0));
  m.attribute("quantize_axis", int64_t(1));
  const auto data = bytes(m, DType::u8, {words, 16 * blocks * bits / 8}, 1);
  const auto rows = sized(m, m.whole(DType::i64, m.positive_shape(1, 2), 0, words - 1), 0);
  Names in = {data, rows, reals(m, {words, blocks}, 1)};
  if (m.dice.chance(0.5)) in.push_back(bytes(m, DType::u8, {words, (blocks * bits + 7) / 8}, 1));
  m.finish(in);
}

// ---- Bytes

std::string zero(Maker& m, DType type) { return m.add(m.scalar(type, double(m.dice.in(0, 100))), 1); }

void byte_pair(Maker& m) {
  const DType type = m.dice.chance(0.5) ? DType::u8 : DType::i8;
  const Extents shape = m.positive_shape(1, 3);
  Names in;
  if (m.made.op == "QLinearWhere") in.push_back(sized(m, m.whole(DType::boolean, m.part_of(shape), 0, 1), 0));
  for (const Extents& part : {shape, m.part_of(shape)}) {
    in.push_back(bytes(m, type, part));
    in.push_back(scale(m));
    in.push_back(zero(m, type));
  }
  in.push_back(scale(m));
  in.push_back(zero(m, type));
  m.finish(in);
}

void byte_concat(Maker& m) {
  const Extents shape = m.positive_shape(1, 3);
  m.attribute("axis", int64_t(0));
  Names in = {scale(m), zero(m, DType::u8)};
  for (int64_t parts = m.dice.in(1, 3); parts > 0; --parts) {
    in.push_back(bytes(m, DType::u8, shape));
    in.push_back(scale(m));
    in.push_back(zero(m, DType::u8));
  }
  m.finish(in);
}

void max_pool_last(Maker& m) {
  m.attribute("kernel_shape", Extents{m.dice.in(1, 3), m.dice.in(1, 3)});
  m.maybe(0.5, "strides", Extents{m.dice.in(1, 2), m.dice.in(1, 2)});
  m.maybe(0.3, "ceil_mode", int64_t(1));
  const DType type = m.dice.chance(0.5) ? DType::u8 : DType::i8;
  m.finish({bytes(m, type, {m.dice.in(1, 2), m.dice.in(3, 7), m.dice.in(3, 7), m.dice.in(1, 5)})});
}

void byte_conv(Maker& m) {
  const int64_t channels = m.dice.in(1, 5), outputs = m.dice.in(1, 6), kernel = m.dice.in(1, 3);
  const bool last = m.dice.chance(0.5);
  Extents shape = {m.dice.in(1, 2), channels, m.dice.in(3, 7), m.dice.in(3, 7)};
  if (last) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  m.maybe(last ? 1 : 0, "channels_last", int64_t(1));
  m.maybe(0.5, "pads", Extents{1, 1, 1, 1});
  m.maybe(0.5, "strides", Extents{m.dice.in(1, 2), m.dice.in(1, 2)});
  Names in = {bytes(m, DType::u8, shape), scale(m), zero(m, DType::u8)};
  // Of seven bits, as below.
  in.push_back(sized(m, m.whole(DType::i8, {outputs, channels, kernel, kernel}, -64, 63), 1));
  in.insert(in.end(), {scale(m), m.add(m.scalar(DType::i8, 0), 1), scale(m), zero(m, DType::u8)});
  if (m.dice.chance(0.5)) in.push_back(sized(m, m.whole(DType::i32, {outputs}, -500, 500), 1));
  m.finish(in);
}

void byte_embed_norm(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4), width = m.dice.in(2, 9), words = m.dice.in(1, 12);
  const bool segments = m.dice.chance(0.5);
  Names in = {sized(m, m.whole(DType::i32, {batch, length}, 0, words - 1), 0),
              segments ? sized(m, m.whole(DType::i32, {batch, length}, 0, 1), 0) : m.absent(),
              bytes(m, DType::u8, {words, width}, 1),
              bytes(m, DType::u8, {length + 2, width}, 1),
              segments ? bytes(m, DType::u8, {2, width}, 1) : m.absent(),
              bytes(m, DType::u8, {width}, 1),
              bytes(m, DType::u8, {width}, 1),
              m.dice.chance(0.5) ? sized(m, m.whole(DType::i32, {batch, length}, 0, 1), 0) : m.absent()};
  for (int i = 0; i < 5; ++i) in.push_back(i == 2 && !segments ? m.absent() : scale(m));
  for (int i = 0; i < 5; ++i) in.push_back(i == 2 && !segments ? m.absent() : zero(m, DType::u8));
  m.attribute("epsilon", 1e-5F);
  m.finish(in, 2);
}

void integer_product(Maker& m) {
  const int64_t rows = m.dice.in(1, 5), depth = m.dice.in(1, 9), columns = m.dice.in(1, 6);
  const bool dynamic = m.made.op == "DynamicQuantizeMatMul";
  const auto a = dynamic ? reals(m, {rows, depth}) : bytes(m, DType::u8, {rows, depth});
  // Of seven bits: on AVX2 the peer adds two products of bytes in 16 bits, which saturate.
  Names in = {a, sized(m, m.whole(DType::i8, {depth, columns}, -64, 63), 1)};
  if (!dynamic) in.push_back(scale(m));
  in.push_back(m.dice.chance(0.5) ? scale(m) : reals(m, {columns}, 1));
  if (!dynamic) in.push_back(m.add(m.scalar(DType::u8, double(m.dice.in(0, 255))), 1));
  const bool zeros = m.dice.chance(0.5), bias = m.dice.chance(0.5);
  if (zeros || bias) in.push_back(zeros ? m.add(m.scalar(DType::i8, double(m.dice.in(-50, 50))), 1) : m.absent());
  if (bias) in.push_back(reals(m, {columns}, 1));
  m.finish(in);
}

// ---- Texts

void tokenizer(Maker& m) {
  constexpr std::string_view kLetters[] = {"a", "b", "c", " ", ",", "1", "\xc3\xa9"};
  Tensor x = Tensor::make(DType::str, Shape(m.positive_shape(1, 2))).value();
  for (std::string& text : x.mutable_as<std::string>())
    for (int64_t i = m.dice.in(0, 12); i > 0; --i) text += kLetters[m.dice.in(0, 6)];
  const bool words = m.dice.chance(0.5), letters = !words && m.dice.chance(0.2);
  if (words) m.attribute("tokenexp", m.dice.word({"[a-c]+", "a|ab", "[a-zA-Z0-9_]+", "a*", "\\w\\w", "(?i)B.?"}));
  if (letters) m.attribute("separators", Names{""});
  if (!words && !letters)
    m.attribute("separators", m.dice.chance(0.5) ? Names{m.dice.word({" ", ",+", "[ ,]", "b"})} : Names{" ", "[,1]+"});
  m.attribute("mark", m.dice.in(0, 1));
  m.attribute("pad_value", std::string("#"));
  m.attribute("mincharnum", letters ? int64_t(1) : m.dice.in(1, 3));
  m.finish({sized(m, std::move(x), 0)});
}

// ---- Attention

void rotary(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4), heads = m.dice.in(1, 3), depth = 2 * m.dice.in(1, 4);
  const bool apart = m.dice.chance(0.5);
  m.maybe(0.5, "interleaved", int64_t(1));
  const auto x = reals(m, apart ? Extents{batch, heads, length, depth} : Extents{batch, length, heads * depth});
  const auto position = m.dice.chance(0.5) ? sized(m, m.whole(DType::i64, {batch, length}, 0, 9), 0)
                                           : sized(m, m.longs({m.dice.in(0, 5)}), 0);
  m.finish({x, position, reals(m, {10, depth / 2}, 1), reals(m, {10, depth / 2}, 1)});
}

void many_heads(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), queries = m.dice.in(1, 4), heads = m.dice.in(1, 3), depth = m.dice.in(1, 6);
  const bool past = m.dice.chance(0.4), causal = m.dice.chance(0.4);
  const int64_t keys = past || causal ? queries : m.dice.in(1, 5), before = past ? m.dice.in(1, 4) : 0;
  m.attribute("num_heads", heads);
  m.maybe(causal ? 1 : 0, "unidirectional", int64_t(1));
  m.maybe(0.3, "scale", 0.25F);
  const int64_t width = heads * depth;
  Names in = {reals(m, {batch, queries, width}), reals(m, {batch, keys, width}), reals(m, {batch, keys, width})};
  in.push_back(m.dice.chance(0.4) ? reals(m, {3 * width}, 0.5) : m.absent());
  Tensor mask = m.whole(DType::i32, {batch, before + keys}, 0, 1);
  for (int64_t b = 0; b < batch; ++b) mask.mutable_as<int32_t>()[size_t(b * (before + keys))] = 1;
  in.push_back(m.dice.chance(0.4) ? sized(m, std::move(mask), 0) : m.absent());
  in.push_back(m.dice.chance(0.3) ? reals(m, {1, heads, queries, before + keys}) : m.absent());
  if (past)
    for (int i = 0; i < 2; ++i) in.push_back(reals(m, {batch, heads, before, depth}));
  while (in.back().empty()) in.pop_back();
  m.finish(in, past ? 3 : 1);
}

void packed(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4), heads = m.dice.in(1, 3), depth = m.dice.in(1, 6),
                inputs = m.dice.in(1, 8), width = heads * depth;
  const bool past = m.dice.chance(0.4);
  const int64_t before = past ? m.dice.in(1, 4) : 0;
  m.attribute("num_heads", heads);
  m.maybe(0.4, "unidirectional", int64_t(1));
  Names in = {reals(m, {batch, length, inputs}), reals(m, {inputs, 3 * width}, 1), reals(m, {3 * width}, 1)};
  const bool masked = m.dice.chance(0.4);
  Tensor mask = m.whole(DType::i32, {batch, before + length}, 0, 1);
  for (int64_t b = 0; b < batch; ++b) mask.mutable_as<int32_t>()[size_t(b * (before + length))] = 1;
  if (masked || past) in.push_back(masked ? sized(m, std::move(mask), 0) : m.absent());
  if (past) in.push_back(reals(m, {2, batch, heads, before, depth}));
  m.finish(in, past ? 2 : 1);
}

void byte_attention(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(1, 4), heads = m.dice.in(1, 3), depth = m.dice.in(1, 6),
                inputs = m.dice.in(1, 8), width = heads * depth;
  m.attribute("num_heads", heads);
  m.maybe(0.4, "unidirectional", int64_t(1));
  Names in = {bytes(m, DType::u8, {batch, length, inputs}),
              sized(m, m.whole(DType::i8, {inputs, 3 * width}, -64, 63), 1), reals(m, {3 * width}, 1), scale(m),
              scale(m)};
  Tensor mask = m.whole(DType::i32, {batch, length}, 0, 1);
  for (int64_t b = 0; b < batch; ++b) mask.mutable_as<int32_t>()[size_t(b * length)] = 1;
  in.push_back(m.dice.chance(0.4) ? sized(m, std::move(mask), 0) : m.absent());
  in.insert(in.end(), {zero(m, DType::u8), m.add(m.scalar(DType::i8, double(m.dice.in(-50, 50))), 1)});
  m.finish(in);
}

/// Every batch row has the whole past: what caches hold beyond the keys that count is nobody's promise.
void groups(Maker& m) {
  const int64_t before = m.dice.chance(0.6) ? m.dice.in(1, 6) : 0, queries = m.dice.in(1, 4),
                batch = before > 0 && queries > 1 ? 1 : m.dice.in(1, 3), kv_heads = m.dice.in(1, 2),
                heads = kv_heads * m.dice.in(1, 3), depth = 16, total = before + queries;
  const bool turned = m.dice.chance(0.5), one = m.dice.chance(0.3), sink = m.dice.chance(0.3);
  m.attribute("num_heads", heads);
  m.attribute("kv_num_heads", kv_heads);
  m.maybe(turned ? 1 : 0, "do_rotary", int64_t(1));
  m.maybe(0.3, "rotary_interleaved", int64_t(1));
  m.maybe(0.3, "scale", 0.25F);
  m.maybe(0.3, "local_window_size", m.dice.in(1, 5));
  m.maybe(0.2, "softcap", 2.0F);
  if (!sink) m.maybe(0.3, "smooth_softmax", int64_t(1));
  Names in;
  if (one) {
    in = {reals(m, {batch, queries, (heads + 2 * kv_heads) * depth}), m.absent(), m.absent()};
  } else {
    in = {reals(m, {batch, queries, heads * depth})};
    for (int i = 0; i < 2; ++i) in.push_back(reals(m, {batch, queries, kv_heads * depth}));
  }
  for (int i = 0; i < 2; ++i) in.push_back(before > 0 ? reals(m, {batch, kv_heads, before, depth}) : m.absent());
  in.push_back(sized(m, m.whole(DType::i32, {batch}, total - 1, total - 1), 0));
  in.push_back(sized(m, m.scalar(DType::i32, double(total)), 0));
  if (turned)
    for (int i = 0; i < 2; ++i) in.push_back(reals(m, {16, depth / 2}, 1));
  if (sink) {
    in.resize(11, m.absent());
    in.push_back(reals(m, {heads}));
  }
  m.finish(in, 3);
}

// ---- Moves

void padded(Maker& m) {
  const Extents shape = m.positive_shape(1, 4);
  const std::string mode = m.dice.word({"constant", "reflect", "edge"});
  Extents pads(shape.size() * 2);
  for (size_t i = 0; i < pads.size(); ++i) pads[i] = m.dice.in(0, mode == "constant" ? 3 : shape[i % shape.size()] - 1);
  m.maybe(0.9, "mode", mode);
  Tensor amounts = m.longs(pads);
  if (m.dice.chance(0.5)) amounts = amounts.reshaped({1, amounts.count()});
  Names in = {reals(m, shape), sized(m, std::move(amounts), 0.6)};
  if (m.dice.chance(0.5)) in.push_back(sized(m, m.reals(DType::f32, {1}, Fill::normal), 0.5));
  m.finish(in);
}

void unfolded(Maker& m) {
  const Extents shape = m.positive_shape(1, 4);
  const int64_t rank = int64_t(shape.size()), dim = m.dice.in(-rank, rank - 1);
  m.attribute("size", m.dice.in(1, shape[size_t((dim + rank) % rank)]));
  if (dim != -1 || m.dice.chance(0.5)) m.attribute("dim", dim);
  m.maybe(0.6, "step", m.dice.in(1, 3));
  m.finish({reals(m, shape)});
}

void distinct(Maker& m) { m.finish({sized(m, m.whole(DType::f32, {m.dice.in(1, 12)}, -3, 3), 0)}, 3); }

constexpr std::string_view kDomain = "com.microsoft";
constexpr Recipe kRecipes[] = {
    {"Attention", 1, packed, kDomain},
    {"BiasGelu", 1, biased_gelu, kDomain},
    {"CDist", 1, distances, kDomain},
    {"DynamicQuantizeMatMul", 1, integer_product, kDomain},
    {"EmbedLayerNormalization", 1, embed_norm, kDomain},
    {"FastGelu", 1, biased_gelu, kDomain},
    {"FusedConv", 1, fused_conv, kDomain},
    {"FusedGemm", 1, fused_gemm, kDomain},
    {"FusedMatMul", 1, fused_matmul, kDomain},
    {"GatherBlockQuantized", 1, gather_blocks, kDomain},
    {"Gelu", 1, biased_gelu, kDomain},
    {"GroupQueryAttention", 1, groups, kDomain},
    {"MatMulBnb4", 1, matmul_bnb4, kDomain},
    {"MatMulIntegerToFloat", 1, integer_product, kDomain},
    {"MatMulNBits", 1, matmul_n_bits, kDomain},
    {"MoE", 1, mixture_of_experts, kDomain},
    {"MultiHeadAttention", 1, many_heads, kDomain},
    {"NhwcMaxPool", 1, max_pool_last, kDomain},
    {"Pad", 1, padded, kDomain},
    {"QAttention", 1, byte_attention, kDomain},
    {"QEmbedLayerNormalization", 1, byte_embed_norm, kDomain},
    {"QLinearAdd", 1, byte_pair, kDomain},
    {"QLinearConcat", 1, byte_concat, kDomain},
    {"QLinearConv", 1, byte_conv, kDomain},
    {"QLinearMul", 1, byte_pair, kDomain},
    {"QLinearWhere", 1, byte_pair, kDomain},
    {"QMoE", 1, mixture_of_codes, kDomain},
    {"QuickGelu", 1, quick_gelu, kDomain},
    {"RotaryEmbedding", 1, rotary, kDomain},
    {"SkipLayerNormalization", 1, skip_norm, kDomain},
    {"SkipSimplifiedLayerNormalization", 1, skip_norm, kDomain},
    {"Tokenizer", 1, tokenizer, kDomain},
    {"UnfoldTensor", 1, unfolded, kDomain},
    {"Unique", 1, distinct, kDomain},
};

}  // namespace

std::span<const Recipe> microsoft_recipes() { return kRecipes; }

}  // namespace nnex::differential
