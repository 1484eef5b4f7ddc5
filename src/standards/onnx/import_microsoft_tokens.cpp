// Operators of the domain com.microsoft over tokens: batches without their padding, biases of distances, the step of a
// decoder, and what keeps n-grams from being said twice.

#include <cmath>
#include <limits>

#include "ops/gather.h"
#include "ops/join.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "ops/shape.h"
#include "standards/onnx/import_microsoft_attention.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

ValueId whole(NodeImport& n, ValueId x) { return cast_to(n, x, DType::i64); }

// ---- Batches without padding

/// Rows of tokens at the places that token_offset [batch, positions] begins with, as [batch, positions, width]; zeros
/// stand at the others.
ValueId with_padding(NodeImport& n, ValueId tokens, ValueId offset) {
  const ValueId all = reshaped(n, whole(n, offset), {-1});
  const ValueId first = n.b("slice", {all, n.b.ints({0}), extent(n, tokens, 0), n.b.ints({0})});
  const ValueId columns = extent(n, tokens, 1);
  const ValueId zeros = n.b("expand", {n.b.number(real_type(n, 0), 0), joined(n, extent(n, all, 0), columns, 0)});
  const ValueId rows = n.b("scatter_nd", {zeros, n.b("unsqueeze", {first, n.b.ints({1})}), tokens});
  return n.b("reshape", {rows, joined(n, n.b("shape", {offset}), columns, 0)});
}

/// Back again: the rows of x [batch, positions, width] at as many places as `tokens` has rows.
ValueId without_padding(NodeImport& n, ValueId x, ValueId offset, ValueId tokens) {
  const ValueId all = reshaped(n, whole(n, offset), {-1});
  const ValueId first = n.b("slice", {all, n.b.ints({0}), extent(n, tokens, 0), n.b.ints({0})});
  const ValueId rows = n.b("reshape", {x, joined(n, n.b.ints({-1}), extent(n, x, 2), 0)});
  return n.b("gather", {rows, first}, GatherAttrs{});
}

/// Tokens of [batch, positions, width] that count, those of all rows one behind another; where they and the others
/// stood; how many are before each row; the most of a row.
Result<Quirked> remove_padding(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const auto within = [&](ValueId x, ValueId which) -> Result<ValueId> {
    n.set("axis", int64_t{0});
    return n.importer.standard_result(n, "Compress", {x, which});
  };
  const ValueId counts = n.in[1], positions = extent(n, n.in[0], 1);
  const ValueId real = n.b("lt", {count_to(n, positions), n.b("unsqueeze", {whole(n, counts), n.b.ints({1})})});
  const ValueId which = reshaped(n, real, {-1});
  const ValueId rows = n.b("reshape", {n.in[0], joined(n, n.b.ints({-1}), extent(n, n.in[0], 2), 0)});
  NNEX_ASSIGN(const ValueId tokens, within(rows, which));
  n.bind(0, tokens);
  const ValueId places = count_to(n, extent(n, which, 0));
  NNEX_ASSIGN(const ValueId first, within(places, which));
  NNEX_ASSIGN(const ValueId others, within(places, n.b("not", {which})));
  const ValueId shape = joined(n, extent(n, n.in[0], 0), positions, 0);
  n.bind(1, cast_to(n, n.b("reshape", {joined(n, first, others, 0), shape}), DType::i32));
  const ValueId none = n.b.constant(Tensor::of<int32_t>(Shape{1}, {0}));
  n.bind(2, joined(n, none, n.b("cum_sum", {counts, n.b.integer(0)}, CumulativeAttrs{}), 0));
  n.bind(3, n.b("max_reduce", {counts, n.b.ints({0})}, ExtremeAttrs{}));
  return Quirked::done;
}

Result<Quirked> restore_padding(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  n.bind(0, with_padding(n, n.in[0], n.in[1]));
  return Quirked::done;
}

/// Where an operator of packed tokens says where they stood, how many are before each row of the batch, and what is
/// added to scores.
struct TokenPlaces {
  size_t offset, cumulated, score_bias;
};

/// Of tokens [tokens, heads * depth]: attention within each row of the batch.
Result<Quirked> attention_of_tokens(NodeImport& n, ValueId q, ValueId k, ValueId v, const TokenPlaces& at) {
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  const ValueId offset = n.in[at.offset], tokens = q;
  const auto split = [&](ValueId x) { return by_heads(n, with_padding(n, x, offset), heads); };
  const ValueId cumulated = whole(n, n.in[at.cumulated]);
  const ValueId ends = n.b("slice", {cumulated, n.b.ints({1}), n.b.ints({INT64_MAX}), n.b.ints({0})});
  const ValueId begins = n.b("slice", {cumulated, n.b.ints({0}), n.b.ints({-1}), n.b.ints({0})});
  const ValueId lengths = reshaped(n, n.b("sub", {ends, begins}), {-1, 1, 1, 1});
  const ValueId counts = n.b("lt", {count_to(n, extent(n, offset, 1)), lengths});
  const DType type = real_type(n, 0);
  const ValueId hidden = n.b.number(type, -std::numeric_limits<double>::infinity());
  Heads h;
  h.q = split(q), h.k = split(k), h.v = split(v);
  h.mask = n.b("select", {counts, n.has(at.score_bias) ? n.in[at.score_bias] : n.b.number(type, 0), hidden});
  const ValueId y = side_by_side(n, attention(n, h, attention_attrs(n))[0]);
  n.bind(0, without_padding(n, y, offset, tokens));
  return Quirked::done;
}

Result<Quirked> attention_of_packed(NodeImport& n) {
  enum : size_t { kX, kWeights, kBias, kOffset, kCumulated, kScoreBias };
  NNEX_TRY(needs(n, {kX, kWeights, kBias, kOffset, kCumulated}));
  NNEX_ASSIGN(const int64_t all, width(n, kWeights));
  NNEX_ASSIGN(const Ints sizes, packed_sizes(n, all));
  const ValueId x = plus(n, n.b("matmul", {n.in[kX], n.in[kWeights]}), kBias);
  return attention_of_tokens(n, columns(n, x, 0, sizes[0]), columns(n, x, sizes[0], sizes[0] + sizes[1]),
                             columns(n, x, sizes[0] + sizes[1], all), {kOffset, kCumulated, kScoreBias});
}

Result<Quirked> heads_of_packed(NodeImport& n) {
  enum : size_t { kQ, kK, kV, kBias, kOffset, kCumulated, kScoreBias };
  NNEX_TRY(needs(n, {kQ, kOffset, kCumulated}));
  constexpr TokenPlaces at = {kOffset, kCumulated, kScoreBias};
  if (n.has(kK) != n.has(kV)) return n.error("key and value come together");
  if (!n.has(kK)) {  // [tokens, heads, 3, depth]
    if (n.rank(kQ) != 4 || n.has(kBias))
      return lacks(n, "packed queries, keys and values of other than 4 axes, or a bias of them");
    const auto picked_of = [&](int64_t which) {
      GatherAttrs a;
      a.axis = 2;
      return reshaped(n, n.b("gather", {n.in[kQ], n.b.integer(which)}, a), {0, -1});
    };
    return attention_of_tokens(n, picked_of(0), picked_of(1), picked_of(2), at);
  }
  ValueId q = n.in[kQ], k = n.in[kK], v = n.in[kV];
  if (n.has(kBias)) {
    NNEX_ASSIGN(const int64_t hidden, width(n, kQ));
    NNEX_ASSIGN(const int64_t all, width(n, kBias));
    q = n.b("add", {q, columns(n, n.in[kBias], 0, hidden)});
    k = n.b("add", {k, columns(n, n.in[kBias], hidden, 2 * hidden)});
    v = n.b("add", {v, columns(n, n.in[kBias], 2 * hidden, all)});
  }
  return attention_of_tokens(n, q, k, v, at);
}

// ---- Biases of distances

/// T5's: of each head a number for each bucket of distances, of which the first half are one distance each and the
/// others grow up to max_distance. The table's columns stand one behind another, whatever its shape says.
Result<Quirked> relative_position_bias(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  NNEX_ASSIGN(const int64_t heads, width(n, 0));
  const auto rows = n.rank(0) == 2 ? (*n.type(0).dims)[0].number() : std::nullopt;
  if (!rows) return lacks(n, "a table that is no matrix of known extents");
  constexpr int64_t kFarthest = int64_t{1} << 20;
  const int64_t farthest = n.integer("max_distance", 0);
  const bool both_ways = n.integer("is_bidirectional", 0) != 0;
  const int64_t buckets = both_ways ? *rows / 2 : *rows, exact = buckets / 2;
  if (farthest <= exact || farthest > kFarthest || exact < 1)
    return n.error(fmt::format("max_distance is {} with {} buckets", farthest, *rows));
  std::vector<int64_t> bucket(static_cast<size_t>(2 * farthest + 1));  // of key - query from -farthest on
  const auto bucket_of = [&](int64_t distance) {
    if (distance < exact) return distance;
    const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                        std::log(static_cast<float>(farthest) / static_cast<float>(exact));
    return std::min(exact + static_cast<int64_t>(share * static_cast<float>(buckets - exact)), buckets - 1);
  };
  for (int64_t i = -farthest; i <= farthest; ++i)
    bucket[static_cast<size_t>(i + farthest)] =
        both_ways ? bucket_of(std::abs(i)) + (i > 0 ? buckets : 0) : bucket_of(std::max<int64_t>(-i, 0));
  const auto places = [&](size_t i) { return count_to(n, reshaped(n, whole(n, n.in[i]), {1})); };
  const ValueId distance = n.b("sub", {places(2), n.b("unsqueeze", {places(1), n.b.ints({1})})});
  const ValueId near = n.b("clamp", {distance, n.b.integer(-farthest), n.b.integer(farthest)});
  const ValueId which = n.b("gather", {n.b.ints(bucket), n.b("add", {near, n.b.integer(farthest)})}, GatherAttrs{});
  GatherAttrs of_each;
  of_each.axis = 1;
  const ValueId table = n.b("reshape", {n.in[0], n.b.ints({heads, *rows})});
  n.bind(0, n.b("unsqueeze", {n.b("gather", {table, which}, of_each), n.b.ints({0})}));
  return Quirked::done;
}

/// WavLM's: rel_pos times u (r eco_a - 1) + 2, where sigmoids u and r of each query are the sums of the halves of a
/// product.
Result<Quirked> gated_position_bias(NodeImport& n) {
  enum : size_t { kQ, kQBias, kPositions, kWeight, kBias, kEcoA, kOffset };
  NNEX_TRY(needs(n, {kQ, kQBias, kPositions, kWeight, kBias, kEcoA}));
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  const ValueId queries = n.has(kOffset) ? with_padding(n, n.in[kQ], n.in[kOffset]) : n.in[kQ];
  const ValueId q = by_heads(n, plus(n, queries, kQBias), heads);
  const ValueId product = plus(n, n.b("matmul", {q, n.in[kWeight]}), kBias);
  ReduceAttrs sum;
  sum.keepdims = false;
  const ValueId halves = n.b("sum_reduce", {reshaped(n, product, {0, 0, 0, 2, -1}), n.b.ints({-1})}, sum);
  const ValueId gates = n.b("sigmoid", {halves});
  const DType type = real_type(n, 0);
  const ValueId eased = n.b("sub", {n.b("mul", {columns(n, gates, 1, 2), n.in[kEcoA]}), n.b.number(type, 1)});
  const ValueId gate = n.b("add", {n.b("mul", {columns(n, gates, 0, 1), eased}), n.b.number(type, 2)});
  n.bind(0, n.b("mul", {gate, n.in[kPositions]}));
  return Quirked::done;
}

// ---- Decoders

/// Attention of one query a row: over given keys and values, or over those of the past and its own. A past that has
/// room for all holds past_sequence_length of them.
Result<Quirked> decoder_attention(NodeImport& n) {
  enum : size_t { kQ, kK, kV, kMask, kScoreBias, kPastKey, kPastValue, kPastLength, kBeams, kBeamOf, kBias };
  NNEX_TRY(needs(n, {kQ}));
  NNEX_TRY(none_of(n, {{kBeamOf, "cache_indirection"}}));
  if (n.wants(3)) return lacks(n, "output 3");
  if (n.has(kK) != n.has(kV) || n.has(kPastKey) != n.has(kPastValue)) return n.error("keys and values come together");
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  NNEX_ASSIGN(const int64_t all, width(n, kQ));
  if (n.rank(kQ) != 3) return lacks(n, "queries of other than 3 axes");
  const bool packed = !n.has(kK), crossed = n.rank(kK) == 4;
  if (packed && all % 3 != 0) return n.error(fmt::format("{} columns are no queries, keys and values", all));
  const int64_t hidden = packed ? all / 3 : all;
  const auto part = [&](size_t i, int64_t which) {
    ValueId x = packed ? columns(n, n.in[kQ], which * hidden, (which + 1) * hidden) : n.in[i];
    if (n.has(kBias)) x = n.b("add", {x, columns(n, n.in[kBias], which * hidden, (which + 1) * hidden)});
    return by_heads(n, x, heads);
  };
  Heads h;
  h.q = part(kQ, 0);
  h.k = crossed ? n.in[kK] : part(kK, 1), h.v = crossed ? n.in[kV] : part(kV, 2);
  if (!crossed && n.has(kPastKey) && n.integer("past_present_share_buffer", 0)) {
    NNEX_TRY(needs(n, {kPastLength}));
    const ValueId length = reshaped(n, whole(n, n.in[kPastLength]), {1});
    const ValueId each = n.b("expand", {length, extent(n, n.in[kQ], 0)});
    const auto written = [&](size_t past, ValueId added, size_t output) {
      const ValueId present = n.b("tensor_scatter", {n.in[past], added, each}, TensorScatterAttrs{});
      n.bind(output, present);
      return n.b("slice", {present, n.b.ints({0}), n.b("add", {length, n.b.integer(1)}), n.b.ints({2})});
    };
    h.k = written(kPastKey, h.k, 1), h.v = written(kPastValue, h.v, 2);
  } else if (!crossed && n.has(kPastKey)) {
    h.k = joined(n, n.in[kPastKey], h.k, 2), h.v = joined(n, n.in[kPastValue], h.v, 2);
    n.bind(1, h.k), n.bind(2, h.v);
  } else {
    n.bind(1, h.k), n.bind(2, h.v);
  }
  NNEX_ASSIGN(h.mask, masks(n, h, kMask, kScoreBias, real_type(n, kQ)));
  n.bind(0, side_by_side(n, attention(n, h, attention_attrs(n))[0]));
  return Quirked::done;
}

/// -inf for each token that would end an n-gram which the row has already.
Result<Quirked> block_ngrams(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  constexpr int64_t kLongest = 1024;
  const int64_t size = n.integer("ngram_size", 0);
  if (size < 1 || size > kLongest) return n.error(fmt::format("ngram_size is {}; needed 1 to {}", size, kLongest));
  // With as many places before the first token, every row has a last n-gram.
  const ValueId ids = n.b("pad", {n.in[0], n.b.ints({0, size, 0, 0})}), length = extent(n, ids, 1);
  const auto from = [&](ValueId begin, ValueId end) { return n.b("slice", {ids, begin, end, n.b.ints({1})}); };
  const ValueId windows = n.b("sub", {length, n.b.ints({2 * size - 1})});  // n-grams without such places
  const ValueId none = n.b("max", {windows, n.b.ints({0})});
  ValueId differs =
      n.b("expand", {n.b.constant(Tensor::of<bool>(Shape{}, {false})), joined(n, extent(n, ids, 0), none, 0)});
  const auto token = [&](int64_t i) {  // of each n-gram
    const ValueId begin = n.b.ints({size + i});
    return from(begin, n.b("add", {begin, none}));
  };
  for (int64_t i = 0; i + 1 < size; ++i) {
    const ValueId last =
        from(n.b("sub", {length, n.b.ints({size - 1 - i})}), n.b("sub", {length, n.b.ints({size - 2 - i})}));
    differs = n.b("or", {differs, n.b("ne", {token(i), last})});
  }
  const DType type = real_type(n, 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ValueId banned = n.b("select", {differs, n.b.number(type, kInfinity), n.b.number(type, -kInfinity)});
  ScatterElementsAttrs a;
  a.axis = 1, a.reduction = Collision::min;
  n.bind(0, n.b("scatter_elements", {n.in[1], token(size - 1), banned}, a));
  return Quirked::done;
}

constexpr QuirkRow kTokenRows[] = {
    // beam_width: what cache_indirection is read by, which is refused; output_qk: output 3 says it.
    {"DecoderMaskedMultiHeadAttention", decoder_attention, kDomain,
     "1 T T? T? M? T? T? T? M? M? M? T? > T T? T? QK? | mask_filter_value:f num_heads:i output_qk:i "
     "past_present_share_buffer:i scale:f"},
    {"GatedRelativePositionBias", gated_position_bias, kDomain, "1 T T T T T T M? > T | num_heads:i"},
    {"NGramRepeatBlock", block_ngrams, kDomain, "1 Tid T > T | ngram_size:i"},
    {"PackedAttention", attention_of_packed, kDomain, "1 T T T M M T? > T | num_heads:i qkv_hidden_sizes:I scale:f"},
    // mask_filter_value: keys beyond a row's end are left out.
    {"PackedMultiHeadAttention", heads_of_packed, kDomain,
     "1 T T? T? T? M M T? > T | mask_filter_value:f num_heads:i scale:f"},
    {"RelativePositionBias", relative_position_bias, kDomain, "1 T U U > T | is_bidirectional:i max_distance:i"},
    {"RemovePadding", remove_padding, kDomain, "1 T M > T M? M? M?", "Compress"},
    {"RestorePadding", restore_padding, kDomain, "1 T M > T"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_token_quirks() { return read_of<microsoft::kTokenRows>(); }

}  // namespace nnex::onnx_format
