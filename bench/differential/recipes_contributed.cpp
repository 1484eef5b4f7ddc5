// Operators that ONNX Runtime has beside the standard's and that few of its tools write: early experiments, parts of
// images, steps of decoders.
#include <algorithm>

#include "recipes_sized.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

// ---- Early experiments

void scaled_map(Maker& m) {
  const bool both = m.made.op != "Scale";
  const bool defaults = m.made.op == "Affine" || m.made.op == "Scale";
  const auto maybe = [&](const char* name) { m.maybe(defaults ? 0.7 : 1, name, float(m.dice.in(-6, 6)) / 4); };
  if (both) maybe("alpha"), maybe("beta");
  if (!both) maybe("scale");
  m.finish({m.add(m.reals(DType::f32, m.positive_shape(1, 4), Fill::normal))});
}

void image_scaler(Maker& m) {
  const int64_t channels = m.dice.in(1, 4);
  std::vector<float> bias;
  for (int64_t i = 0; i < channels; ++i) bias.push_back(float(m.dice.in(-9, 9)) / 2);
  m.attribute("bias", bias);
  m.attribute("scale", float(m.dice.in(-6, 6)) / 4);
  m.finish({m.add(m.reals(DType::f32, {m.dice.in(1, 2), channels, m.dice.in(1, 5), m.dice.in(1, 5)}, Fill::normal))});
}

void crop(Maker& m) {
  const int64_t rows = m.dice.in(2, 8), columns = m.dice.in(2, 8);
  const int64_t left = m.dice.in(0, columns - 1), top = m.dice.in(0, rows - 1);
  if (m.dice.chance(0.5)) {
    m.attribute("border", Extents{left, top, m.dice.in(0, columns - left - 1), m.dice.in(0, rows - top - 1)});
  } else {
    m.attribute("border", Extents{left, top, 0, 0});
    m.attribute("scale", Extents{m.dice.in(1, rows - top), m.dice.in(1, columns - left)});
  }
  m.finish({m.add(m.reals(DType::f32, {m.dice.in(1, 2), m.dice.in(1, 3), rows, columns}, Fill::normal))});
}

void dynamic_slice(Maker& m) {
  const Extents shape = m.positive_shape(1, 4);
  Extents starts, ends, axes;
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis) {
    if (m.dice.chance(0.4)) continue;
    const int64_t n = shape[size_t(axis)];
    axes.push_back(axis), starts.push_back(m.dice.in(-n, n)), ends.push_back(m.dice.in(-n, n + 2));
  }
  if (axes.empty()) axes = starts = {0}, ends = {1};
  const auto x = m.add(m.reals(DType::f32, shape));
  m.finish({x, m.add(m.longs(starts)), m.add(m.longs(ends)), m.add(m.longs(axes))});
}

void mean_variance(Maker& m) {
  m.maybe(0.5, "across_channels", m.dice.in(0, 1));
  m.maybe(0.5, "normalize_variance", m.dice.in(0, 1));
  const Extents shape = {m.dice.in(1, 3), m.dice.in(1, 3), m.dice.in(2, 4), m.dice.in(2, 4)};
  m.finish({m.add(m.reals(DType::f32, shape, Fill::normal))});
}

// ---- Images

void crop_and_resize(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), parts = m.dice.in(1, 4);
  m.maybe(0.6, "mode", m.dice.word({"bilinear", "nearest"}));
  m.maybe(0.5, "extrapolation_value", float(m.dice.in(-4, 4)));
  const auto x = reals(m, {batch, m.dice.in(1, 4), m.dice.in(1, 7), m.dice.in(1, 7)});
  Tensor regions = m.reals(DType::f32, {parts, 4});
  for (int64_t i = 0; i < parts * 4; ++i) set_real(regions, i, double(m.dice.in(-4, 20)) / 16);
  m.finish({x, sized(m, std::move(regions), 0), sized(m, m.whole(DType::i32, {parts}, 0, batch - 1), 0),
            m.add(m.longs({m.dice.in(1, 5), m.dice.in(1, 5)}, DType::i32), 1)});
}

void dynamic_pads(Maker& m) {
  const int64_t channels = m.dice.in(1, 4), outputs = m.dice.in(1, 4), rows = m.dice.in(1, 3),
                columns = m.dice.in(1, 3);
  m.maybe(0.5, "strides", Extents{m.dice.in(1, 3), m.dice.in(1, 3)});
  m.maybe(0.3, "dilations", Extents{m.dice.in(1, 2), m.dice.in(1, 2)});
  const auto given = [&](const Extents& shape, double constant) {
    return sized(m, m.reals(DType::f32, shape), constant);
  };
  const auto x = given({m.dice.in(1, 2), channels, m.dice.in(3, 6), m.dice.in(3, 6)}, 0);
  const auto filter = given({channels, outputs, rows, columns}, 1);
  Names in = {x, filter, sized(m, m.longs({m.dice.in(0, 1), m.dice.in(0, 1), m.dice.in(0, 1), m.dice.in(0, 1)}), 0.5)};
  if (m.dice.chance(0.5)) in.push_back(given({outputs}, 1));
  m.finish(in);
}

// ---- Tokens

void block_ngrams(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), words = m.dice.in(1, 5);
  m.attribute("ngram_size", m.dice.in(1, 4));
  const auto ids = sized(m, m.whole(DType::i64, {batch, m.dice.in(1, 12)}, 0, words - 1), 0);
  m.finish({ids, reals(m, {batch, words})});
}

/// Over given keys: those that the peer joins to a past with room for more are beyond its memory.
void decoder_attention(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), heads = m.dice.in(1, 3), depth = m.dice.in(1, 6), keys = m.dice.in(1, 5);
  m.attribute("num_heads", heads);
  m.maybe(0.3, "scale", 0.25F);
  Names in = {reals(m, {batch, 1, heads * depth}), reals(m, {batch, heads, keys, depth}),
              reals(m, {batch, heads, keys, depth})};
  Tensor mask = m.whole(DType::i32, {batch, keys}, 0, 1);
  for (int64_t b = 0; b < batch; ++b) mask.mutable_as<int32_t>()[size_t(b * keys)] = 1;
  in.push_back(m.dice.chance(0.4) ? sized(m, std::move(mask), 0) : m.absent());
  while (in.size() < 10) in.push_back(m.absent());
  in.push_back(m.dice.chance(0.3) ? reals(m, {3 * heads * depth}, 0.5) : m.absent());
  while (in.back().empty()) in.pop_back();
  m.finish(in);
}

/// Words, texts and reals.
void hash(Maker& m) {
  const Extents shape = m.positive_shape(1, 3);
  m.maybe(0.5, "positive", m.dice.in(0, 1));
  m.maybe(0.5, "seed", m.dice.in(0, 99));
  if (m.dice.chance(0.7)) {
    const DType type = m.dice.one_of<DType>({DType::i32, DType::u32, DType::i64, DType::u64, DType::f32, DType::f64});
    m.finish({m.add(m.any(type, shape), 0)});
    return;
  }
  Tensor x = Tensor::make(DType::str, Shape(shape)).value();
  for (std::string& text : x.mutable_as<std::string>())
    for (int64_t i = m.dice.in(0, 9); i > 0; --i) text += char(m.dice.in('a', 'z'));
  m.finish({m.add(std::move(x), 0)});
}

void linear_attention(Maker& m) {
  const int64_t batch = m.dice.in(1, 2), length = m.dice.in(1, 5), heads = m.dice.in(1, 2), depth = m.dice.in(1, 4),
                value = m.dice.in(1, 4), queries = heads * m.dice.in(1, 2);
  const std::string rule = m.dice.word({"linear", "gated", "delta", "gated_delta"});
  m.attribute("update_rule", rule);
  m.attribute("q_num_heads", queries);
  m.attribute("kv_num_heads", heads);
  m.maybe(0.3, "scale", 0.5F);
  const auto small = [&](const Extents& shape) { return sized(m, m.reals(DType::f32, shape, Fill::small), 0); };
  Names in = {small({batch, length, queries * depth}), small({batch, length, heads * depth}),
              small({batch, length, heads * value})};
  in.push_back(m.dice.chance(0.5) ? small({batch, heads, depth, value}) : m.absent());
  in.push_back(rule.starts_with("gated") ? small({batch, length, m.dice.chance(0.5) ? heads : heads * depth})
                                         : m.absent());
  in.push_back(rule.ends_with("delta") ? small({batch, length, heads}) : m.absent());
  while (in.back().empty()) in.pop_back();
  m.finish(in, 2);
}

void causal_conv(Maker& m) {
  const int64_t batch = m.dice.in(1, 2), channels = m.dice.in(1, 5), taps = m.dice.in(1, 4);
  m.maybe(0.6, "activation", m.dice.word({"silu", "swish", "none"}));
  m.maybe(0.3, "ndim", int64_t(1));
  Names in = {reals(m, {batch, channels, m.dice.in(1, 6)}), reals(m, {channels, 1, taps}, 0.5)};
  in.push_back(m.dice.chance(0.5) ? reals(m, {channels}, 0.5) : m.absent());
  in.push_back(taps > 1 && m.dice.chance(0.5) ? reals(m, {batch, channels, taps - 1}) : m.absent());
  while (in.back().empty()) in.pop_back();
  m.finish(in, 2);
}

void short_product(Maker& m) {
  const int64_t rows = m.dice.in(1, 5), depth = m.dice.in(1, 9), columns = m.dice.in(1, 6);
  const auto a = sized(m, m.whole(DType::i16, {rows, depth}, -9000, 9000), 0);
  m.finish({a, sized(m, m.whole(DType::i16, {depth, columns}, -9000, 9000), 0.5)});
}

/// Matrices that are far from having no inverse.
void inverse(Maker& m) {
  const int64_t n = m.dice.in(1, 5), batch = m.dice.in(1, 3);
  Tensor x = m.reals(DType::f32, m.dice.chance(0.5) ? Extents{n, n} : Extents{batch, n, n}, Fill::small);
  for (int64_t i = 0; i < x.count(); ++i)
    if (i % (n * n) % (n + 1) == 0) set_real(x, i, m.dice.chance(0.5) ? 3 : -3);
  m.finish({sized(m, std::move(x), 0)});
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr int kNewestExperiments = 9;
constexpr Recipe kRecipes[] = {
    {"Affine", 1, scaled_map, "", kNewestExperiments},
    {"CausalConvWithState", 1, causal_conv, kDomain},
    {"ConvTransposeWithDynamicPads", 1, dynamic_pads, kDomain},
    {"Crop", 1, crop, "", kNewestExperiments},
    {"CropAndResize", 1, crop_and_resize, kDomain},
    {"DecoderMaskedMultiHeadAttention", 1, decoder_attention, kDomain},
    {"DynamicSlice", 1, dynamic_slice, "", kNewestExperiments},
    {"ImageScaler", 1, image_scaler, "", kNewestExperiments},
    {"Inverse", 1, inverse, kDomain},
    {"LinearAttention", 1, linear_attention, kDomain},
    {"MatMulInteger16", 1, short_product, kDomain},
    {"MeanVarianceNormalization", 1, mean_variance, "", 8},
    {"MurmurHash3", 1, hash, kDomain},
    {"NGramRepeatBlock", 1, block_ngrams, kDomain},
    {"ParametricSoftplus", 1, scaled_map, "", kNewestExperiments},
    {"Scale", 1, scaled_map, "", kNewestExperiments},
    {"ScaledTanh", 1, scaled_map, "", kNewestExperiments},
};

}  // namespace

std::span<const Recipe> contributed_recipes() { return kRecipes; }

}  // namespace nnex::differential
