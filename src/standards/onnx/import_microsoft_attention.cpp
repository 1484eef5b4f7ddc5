// Attention of the domain com.microsoft: the older operator that makes queries, keys and values itself, the one of many
// heads, and the one of groups with a cache that decoders use. All become the table's attention.

#include "standards/onnx/import_microsoft_attention.h"

#include <algorithm>
#include <limits>

#include "ops/gather.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace microsoft {

Status none_of(const NodeImport& n, std::initializer_list<std::pair<size_t, std::string_view>> inputs) {
  for (const auto& [i, name] : inputs)
    if (n.has(i)) return lacks(n, name);
  return {};
}

namespace {
constexpr int64_t kMostHeads = int64_t{1} << 20, kWidest = int64_t{1} << 40;
}

Result<int64_t> head_count(const NodeImport& n, std::string_view attr) {
  const int64_t heads = n.integer(attr, 0);
  if (heads < 1 || heads > kMostHeads) return n.error(fmt::format("{} is {}; needed 1 to {}", attr, heads, kMostHeads));
  return heads;
}

Result<int64_t> width(const NodeImport& n, size_t i) {
  const Type& t = n.type(i);
  const auto number = t.dims && !t.dims->empty() ? t.dims->back().number() : std::nullopt;
  if (!number || *number > kWidest) return lacks(n, fmt::format("input {} of unknown width", i));
  return *number;
}

ValueId extent(NodeImport& n, ValueId x, int64_t axis) {
  ShapeAttrs a;
  a.start = axis, a.end = axis + 1;
  return n.b("shape", {x}, a);
}

ValueId reshaped(NodeImport& n, ValueId x, const Ints& shape) {
  ReshapeAttrs a;
  a.zero = ZeroExtent::copy;
  return n.b("reshape", {x, n.b.ints(shape)}, a);
}

ValueId by_heads(NodeImport& n, ValueId x, int64_t heads) {
  return n.b("transpose", {reshaped(n, x, {0, 0, heads, -1})}, TransposeAttrs{{0, 2, 1, 3}});
}

namespace {

/// Of [batch, positions, heads, several, depth] one as [batch, heads, positions, depth].
ValueId picked(NodeImport& n, size_t i, int64_t which) {
  GatherAttrs a;
  a.axis = 3;
  return n.b("transpose", {n.b("gather", {n.in[i], n.b.integer(which)}, a)}, TransposeAttrs{{0, 2, 1, 3}});
}

}  // namespace

ValueId side_by_side(NodeImport& n, ValueId x) {
  return reshaped(n, n.b("transpose", {x}, TransposeAttrs{{0, 2, 1, 3}}), {0, 0, -1});
}

ValueId columns(NodeImport& n, ValueId x, int64_t begin, int64_t end) {
  return n.b("slice", {x, n.b.ints({begin}), n.b.ints({end}), n.b.ints({-1})});
}

ValueId joined(NodeImport& n, ValueId a, ValueId b, int64_t axis) { return n.b("concat", {a, b}, AxisAttrs{axis}); }

ValueId count_to(NodeImport& n, ValueId limit) {
  const ValueId scalar = reshaped(n, limit, {});
  return n.b("range", {n.b.integer(0), scalar, n.b.integer(1)});
}

Result<ValueId> mask_term(NodeImport& n, size_t i, ValueId keys, DType type) {
  const auto rank = n.rank(i);
  if (!rank) return lacks(n, "a mask of unknown rank");
  ValueId counts;
  if (*rank == 1) {
    const Type& t = n.type(i);
    const auto batch = n.rank(0).value_or(0) > 0 ? (*n.type(0).dims)[0].number() : std::nullopt;
    const auto given = (*t.dims)[0].number();
    if (batch && given && *batch != *given) return lacks(n, "a mask of starts and ends");
    const ValueId lengths = reshaped(n, cast_to(n, n.in[i], DType::i64), {-1, 1, 1, 1});
    counts = n.b("lt", {count_to(n, keys), lengths});
  } else if (*rank == 2) {
    counts = n.b("ne", {reshaped(n, cast_to(n, n.in[i], DType::i64), {0, 1, 1, -1}), n.b.integer(0)});
  } else if (*rank == 3) {
    counts = n.b("ne", {n.b("unsqueeze", {cast_to(n, n.in[i], DType::i64), n.b.ints({1})}), n.b.integer(0)});
  } else {
    return lacks(n, fmt::format("a mask of {} axes", *rank));
  }
  return n.b("select", {counts, n.b.number(type, 0), n.b.number(type, n.real("mask_filter_value", -10000))});
}

std::vector<ValueId> attention(NodeImport& n, const Heads& h, const AttentionAttrs& a) {
  std::vector<ValueId> in = {h.q, h.k, h.v, h.mask, h.past_key, h.past_value};
  while (!in.back().valid()) in.pop_back();
  const NodeId id =
      n.b.node(op("attention"), std::move(in), h.past_key.valid() ? 3 : 1, std::make_shared<AttentionAttrs>(a));
  std::vector<ValueId> out = n.importer.graph()[id].out;
  if (out.size() < 3) out.insert(out.end(), {h.k, h.v});
  return out;
}

AttentionAttrs attention_attrs(const NodeImport& n) {
  AttentionAttrs a;
  a.scale = n.real("scale", 0);
  a.causal = n.integer("unidirectional", 0) != 0;
  return a;
}

namespace {

/// Keys of the past and the new ones.
ValueId key_count(NodeImport& n, ValueId k, ValueId past) {
  const ValueId now = extent(n, k, 2);
  return past.valid() ? n.b("add", {now, extent(n, past, 2)}) : now;
}

}  // namespace

Result<ValueId> masks(NodeImport& n, const Heads& h, size_t padding, size_t bias, DType type) {
  ValueId mask = n.has(bias) ? n.in[bias] : ValueId{};
  if (!n.has(padding)) return mask;
  NNEX_ASSIGN(const ValueId term, mask_term(n, padding, key_count(n, h.k, h.past_key), type));
  return mask.valid() ? n.b("add", {mask, term}) : term;
}

Result<Ints> packed_sizes(const NodeImport& n, int64_t all) {
  Ints sizes = n.ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes = {all / 3, all / 3, all / 3};
  const bool fine = std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size >= 1 && size <= all; });
  if (sizes.size() != 3 || !fine || sizes[0] + sizes[1] + sizes[2] != all)
    return n.error(fmt::format("weights have {} columns, which qkv_hidden_sizes does not divide", all));
  return sizes;
}

Result<Quirked> packed_attention(NodeImport& n, ValueId product, const PackedPlaces& at) {
  enum : size_t { kWeights = 1, kBias };
  if (n.integer("do_rotary", 0)) return lacks(n, "do_rotary");
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  NNEX_ASSIGN(const int64_t all, width(n, kWeights));
  NNEX_ASSIGN(const Ints sizes, packed_sizes(n, all));
  const ValueId x = plus(n, product, kBias);
  Heads h;
  h.q = by_heads(n, columns(n, x, 0, sizes[0]), heads);
  h.k = by_heads(n, columns(n, x, sizes[0], sizes[0] + sizes[1]), heads);
  h.v = by_heads(n, columns(n, x, sizes[0] + sizes[1], all), heads);
  if (n.has(at.past)) {
    const auto half = [&](int64_t i) { return n.b("gather", {n.in[at.past], n.b.integer(i)}, GatherAttrs{}); };
    h.past_key = half(0), h.past_value = half(1);
  }
  NNEX_ASSIGN(h.mask, masks(n, h, at.mask, at.score_bias, real_type(n, at.real)));
  const std::vector<ValueId> out = attention(n, h, attention_attrs(n));
  n.bind(0, side_by_side(n, out[0]));
  const auto raised = [&](ValueId v) { return n.b("unsqueeze", {v, n.b.ints({0})}); };
  if (n.wants(1)) n.bind(1, joined(n, raised(out[1]), raised(out[2]), 0));
  return Quirked::done;
}

namespace {

Result<Quirked> real_attention(NodeImport& n) {
  enum : size_t { kX, kWeights, kBias, kMask, kPast, kScoreBias, kPastLength };
  NNEX_TRY(needs(n, {kX, kWeights}));
  NNEX_TRY(none_of(n, {{kPastLength, "past_sequence_length"}}));
  return packed_attention(n, n.b("matmul", {n.in[kX], n.in[kWeights]}), {kX, kMask, kPast, kScoreBias});
}

/// MultiHeadAttention: queries, keys and values apart, keys and values with their heads apart already or in one tensor,
/// or all three in one.
Result<Quirked> multi_head_attention(NodeImport& n) {
  enum : size_t { kQ, kK, kV, kBias, kPadding, kScoreBias, kPastKey, kPastValue, kPastLength, kIndirection };
  NNEX_TRY(needs(n, {kQ}));
  NNEX_TRY(none_of(n, {{kPastLength, "past_sequence_length"}, {kIndirection, "cache_indirection"}}));
  if (n.wants(3)) return lacks(n, "output 3");
  if (n.has(kPastKey) != n.has(kPastValue)) return n.error("past_key and past_value come together");
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  const bool all_in_one = n.rank(kQ) == 5, two_in_one = n.rank(kK) == 5, apart = n.rank(kK) == 4;
  if (all_in_one ? n.has(kK) || n.has(kV) : !n.has(kK) || n.has(kV) == two_in_one)
    return lacks(n, "queries, keys and values that are neither three, nor one of 5 axes, nor two of which keys have 5");
  if (n.has(kBias) && (all_in_one || two_in_one)) return lacks(n, "a bias of packed queries, keys or values");
  Heads h;
  if (all_in_one) {
    h.q = picked(n, kQ, 0), h.k = picked(n, kQ, 1), h.v = picked(n, kQ, 2);
  } else {
    if (n.rank(kQ) != 3 || (!apart && !two_in_one && n.rank(kK) != 3) || (!two_in_one && n.rank(kV) != n.rank(kK)))
      return lacks(n, "queries, keys or values of other than 3 axes, or keys and values of other than 3 or 4");
    ValueId q = n.in[kQ], k = n.in[kK], v = two_in_one ? ValueId{} : n.in[kV];
    if (n.has(kBias)) {
      NNEX_ASSIGN(const int64_t hidden, width(n, kQ));
      NNEX_ASSIGN(const int64_t all, width(n, kBias));
      q = n.b("add", {q, columns(n, n.in[kBias], 0, hidden)});
      if (!apart) {
        k = n.b("add", {k, columns(n, n.in[kBias], hidden, 2 * hidden)});
        v = n.b("add", {v, columns(n, n.in[kBias], 2 * hidden, all)});
      }
    }
    h.q = by_heads(n, q, heads);
    h.k = two_in_one ? picked(n, kK, 0) : apart ? k : by_heads(n, k, heads);
    h.v = two_in_one ? picked(n, kK, 1) : apart ? v : by_heads(n, v, heads);
  }
  if (n.has(kPastKey)) h.past_key = n.in[kPastKey], h.past_value = n.in[kPastValue];
  NNEX_ASSIGN(h.mask, masks(n, h, kPadding, kScoreBias, real_type(n, kQ)));
  const std::vector<ValueId> out = attention(n, h, attention_attrs(n));
  n.bind(0, side_by_side(n, out[0]));
  n.bind(1, out[1]);
  n.bind(2, out[2]);
  return Quirked::done;
}

// ---- Rotary embedding

ValueId rotated(NodeImport& n, ValueId x, ValueId position, size_t cos, size_t sin, RotaryAttrs a) {
  return n.b("rotary_embedding", {x, n.in[cos], n.in[sin], position}, a);
}

/// Positions from a first one on, for every batch row alike where it is one number: [batch, positions].
ValueId positions_from(NodeImport& n, ValueId first, ValueId x, int64_t axis) {
  const ValueId row = n.b("add", {first, count_to(n, extent(n, x, axis))});
  return n.b("expand", {row, joined(n, extent(n, x, 0), extent(n, x, axis), 0)});
}

Result<Quirked> rotary_embedding(NodeImport& n) {
  enum : size_t { kX, kPosition, kCos, kSin };
  NNEX_TRY(needs(n, {kX, kPosition, kCos, kSin}));
  if (n.real("scale", 1) != 1) return lacks(n, "a scale");
  if (n.integer("is_packed_batching", 0)) return lacks(n, "is_packed_batching");
  const int64_t rank = n.rank(kX).value_or(0);
  if (rank != 3 && rank != 4) return lacks(n, "an input of other than 3 or 4 axes");
  RotaryAttrs a;
  a.interleaved = n.integer("interleaved", 0) != 0;
  a.rotary_dim = n.integer("rotary_embedding_dim", 0);
  a.heads = n.integer("num_heads", 0);
  if (rank == 3 && a.heads == 0) {
    NNEX_ASSIGN(const int64_t all, width(n, kX));
    NNEX_ASSIGN(const int64_t pairs, width(n, kCos));
    if (pairs < 1) return n.error("cos_cache has no columns");
    a.heads = all / (2 * pairs);
  }
  const ValueId position =
      n.rank(kPosition) == 2 ? n.in[kPosition] : positions_from(n, n.in[kPosition], n.in[kX], rank == 3 ? 1 : 2);
  n.bind(0, rotated(n, n.in[kX], position, kCos, kSin, a));
  return Quirked::done;
}

// ---- GroupQueryAttention

/// The cache with the new keys (or values) written behind those of each batch row that count; as long as the longest
/// row with them, or as it was where that is more.
ValueId grown(NodeImport& n, ValueId cache, ValueId added, ValueId start, ValueId total) {
  const ValueId longer = joined(n, cache, added, 2);  // room for them; what stands there is written over
  const ValueId written = n.b("tensor_scatter", {longer, added, start});
  const ValueId end = n.b("max", {total, extent(n, cache, 2)});
  return n.b("slice", {written, n.b.ints({0}), end, n.b.ints({2})});
}

/// seqlens_k has one whole number for each row of the query, as [B] or as [B, 1]; total_sequence_length is one.
Status check_counts(NodeImport& n, size_t query, size_t lengths, size_t total) {
  const auto count = [&](size_t i) { return n.type(i).dims ? product(*n.type(i).dims).number() : std::nullopt; };
  for (const auto& [i, name] : {std::pair(lengths, "seqlens_k"), std::pair(total, "total_sequence_length")})
    if (const DType type = n.type(i).dtype; type != DType::none && !is_int(type))
      return n.error(fmt::format("{} is {}; needed i32", name, nnex::name(type)));
  const auto found = count(lengths);
  const auto rows = n.rank(query).value_or(0) > 0 ? (*n.type(query).dims)[0].number() : std::nullopt;
  if (found && rows && *found != *rows)
    return n.error(fmt::format("seqlens_k has {} numbers; needed {}, one for each batch row", *found, *rows));
  if (const auto one = count(total); one.value_or(1) != 1)
    return n.error(fmt::format("total_sequence_length has {} numbers; needed 1", *one));
  const Tensor* known = n.constant(lengths);
  for (int64_t row = 0; known && row < known->count(); ++row)
    if (const int64_t last = int_at(*known, row); last < 0)
      return n.error(
          fmt::format("seqlens_k is {} in batch row {}; needed 0 or more, the keys that count less 1", last, row));
  return {};
}

/// Causal attention of groups of query heads at one key head. seqlens_k holds one less than the keys that count in each
/// batch row, the new ones among them; in a first prompt rows may end in padding.
Result<Quirked> group_query_attention(NodeImport& n) {
  enum : size_t { kQ, kK, kV, kPastKey, kPastValue, kLengths, kTotal, kCos, kSin, kPosition, kBias, kSink, kKeyScale };
  NNEX_TRY(needs(n, {kQ, kLengths, kTotal}));
  NNEX_TRY(none_of(n, {{kKeyScale, "a quantised cache"}, {14, "q_norm_weight"}}));
  if (n.wants(3)) return lacks(n, "output 3");
  const bool smooth = n.integer("smooth_softmax", 0) > 0;
  if (smooth && n.has(kSink)) return n.error("head_sink and smooth_softmax exclude each other");
  if (n.integer("sliding_window_cache", 0)) return lacks(n, "sliding_window_cache");
  if (n.has(kPastKey) != n.has(kPastValue)) return n.error("past_key and past_value come together");
  NNEX_TRY(check_counts(n, kQ, kLengths, kTotal));
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  NNEX_ASSIGN(const int64_t kv_heads, head_count(n, "kv_num_heads"));
  NNEX_ASSIGN(const int64_t all, width(n, kQ));
  ValueId q = n.in[kQ], k, v;
  if (n.has(kK) != n.has(kV)) return n.error("key and value come together");
  if (n.has(kK)) {
    k = n.in[kK], v = n.in[kV];
  } else {
    const int64_t depth = all / (heads + 2 * kv_heads);
    k = columns(n, q, heads * depth, (heads + kv_heads) * depth);
    v = columns(n, q, (heads + kv_heads) * depth, all);
    q = columns(n, q, 0, heads * depth);
  }
  const ValueId queries = extent(n, q, 1);
  const ValueId last = reshaped(n, cast_to(n, n.in[kLengths], DType::i64), {-1});
  const ValueId counted = n.b("max", {n.b("add", {last, n.b.integer(1)}), queries});
  const ValueId start = n.b("sub", {counted, queries});
  if (n.integer("do_rotary", 0)) {
    NNEX_TRY(needs(n, {kCos, kSin}));
    RotaryAttrs a;
    a.interleaved = n.integer("rotary_interleaved", 0) != 0;
    NNEX_ASSIGN(const int64_t pairs, width(n, kCos));
    a.rotary_dim = 2 * pairs;
    const ValueId position = n.has(kPosition) ? n.in[kPosition] : positions_from(n, reshaped(n, start, {-1, 1}), q, 1);
    a.heads = heads;
    q = rotated(n, q, position, kCos, kSin, a);
    a.heads = kv_heads;
    k = rotated(n, k, position, kCos, kSin, a);
  }
  q = by_heads(n, q, heads), k = by_heads(n, k, kv_heads), v = by_heads(n, v, kv_heads);
  const ValueId total = reshaped(n, cast_to(n, n.in[kTotal], DType::i64), {1});
  if (n.has(kPastKey)) {
    k = grown(n, n.in[kPastKey], k, start, total);
    v = grown(n, n.in[kPastValue], v, start, total);
  }
  AttentionAttrs a;
  a.scale = n.real("scale", 0), a.softcap = n.real("softcap", 0);
  a.causal = n.integer("causal", 1) != 0;
  const int64_t window = n.integer("local_window_size", -1);
  if (window > 0) a.left_window = window - 1;
  const ValueId mask = n.has(kBias) ? n.in[kBias] : ValueId{};
  // What cannot be stays as it is, for the attention to refuse: a negative length, more keys in all than there are.
  ValueId lengths = n.b("select", {n.b("lt", {last, n.b.integer(0)}), last, counted});
  lengths = n.b("select", {n.b("gt", {total, extent(n, k, 2)}), total, lengths});
  std::vector<ValueId> in = {q, k, v, mask, ValueId{}, ValueId{}, lengths};
  if (n.has(kSink)) in.push_back(n.in[kSink]);
  if (smooth) in.push_back(n.b("expand", {n.b.number(real_type(n, kQ), 0), n.b.ints({heads})}));
  n.bind(0, side_by_side(n, n.b("attention", std::move(in), a)));
  n.bind(1, k);
  n.bind(2, v);
  return Quirked::done;
}

// ---- SparseAttention

/// Of each layout which blocks of keys each block of queries sees, [layouts, blocks, blocks]: columns
/// [rows[i], rows[i + 1]) of its list are those of block i.
Result<Tensor> blocks_seen(const NodeImport& n, size_t row_places, size_t columns) {
  const Tensor *const rows = n.constant(row_places), *const list = n.constant(columns);
  if (!rows || !list) return lacks(n, "blocks that are no initializer");
  constexpr int64_t kMostBlocks = int64_t{1} << 12, kMostPairs = int64_t{1} << 28;
  const Shape &r = rows->shape(), &l = list->shape();
  if (r.rank() != 2 || l.rank() != 2 || r[0] != l[0] || r[0] < 1 || r[1] < 2 || r[1] > kMostBlocks)
    return n.error(fmt::format("found blocks {} and {}; needed rows and columns of each layout", r.text(), l.text()));
  const int64_t blocks = r[1] - 1;
  if (r[0] > kMostPairs / (blocks * blocks)) return lacks(n, fmt::format("{} layouts of {} blocks", r[0], blocks));
  NNEX_ASSIGN(Tensor out, Tensor::make(DType::boolean, Shape{r[0], blocks, blocks}));
  auto* const seen = out.mutable_as<uint8_t>().data();
  std::fill(seen, seen + out.count(), uint8_t{0});
  const Ints places = ints_of(*rows), numbers = ints_of(*list);
  for (int64_t row = 0; row < r[0] * blocks; ++row) {
    const int64_t layout = row / blocks, at = row + layout;
    const int64_t begin = places[static_cast<size_t>(at)], end = places[static_cast<size_t>(at + 1)];
    if (begin < 0 || end > l[1]) return n.error(fmt::format("block {} has columns up to {} of {}", row, end, l[1]));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = numbers[static_cast<size_t>(layout * l[1] + i)];
      if (column < 0 || column >= blocks) return n.error(fmt::format("block {} sees block {}", row, column));
      seen[row * blocks + column] = 1;
    }
  }
  return out;
}

/// GroupQueryAttention whose queries see the keys of some blocks alone; heads take layouts in turn.
Result<Quirked> sparse_attention(NodeImport& n) {
  enum : size_t { kQ, kK, kV, kPastKey, kPastValue, kRows, kColumns, kTotal, kLengths, kCos, kSin };
  NNEX_TRY(needs(n, {kQ, kPastKey, kPastValue, kRows, kColumns, kTotal, kLengths}));
  NNEX_ASSIGN(const int64_t heads, head_count(n, "num_heads"));
  NNEX_ASSIGN(const Tensor blocks, blocks_seen(n, kRows, kColumns));
  const int64_t size = n.integer("sparse_block_size", 0), layouts = blocks.shape()[0];
  if (size < 1 || heads % layouts != 0)
    return n.error(fmt::format("blocks of {} positions in {} layouts of {} heads", size, layouts, heads));
  const ValueId lengths = cast_to(n, n.in[kLengths], DType::i64), queries = extent(n, n.in[kQ], 1);
  const ValueId start = n.b("max", {n.b("sub", {lengths, queries}), n.b.integer(0)});
  const ValueId query = n.b("add", {reshaped(n, start, {-1, 1}), count_to(n, queries)});
  const ValueId key = count_to(n, reshaped(n, cast_to(n, n.in[kTotal], DType::i64), {1}));
  const auto picked_along = [&](ValueId seen, int64_t axis, ValueId which) {
    GatherAttrs a;
    a.axis = axis;
    return n.b("gather", {seen, which}, a);
  };
  const auto block_of = [&](ValueId position) { return n.b("div", {position, n.b.integer(size)}); };
  Ints turns(static_cast<size_t>(heads));
  for (int64_t head = 0; head < heads; ++head) turns[static_cast<size_t>(head)] = head % layouts;
  ValueId seen = picked_along(n.b.constant(blocks), 1, block_of(query));  // [layouts, batch, queries, blocks]
  seen = picked_along(picked_along(seen, 3, block_of(key)), 0, n.b.ints(turns));
  const DType type = real_type(n, kQ);
  const ValueId hidden = n.b.number(type, -std::numeric_limits<double>::infinity());
  const ValueId by_row = n.b("transpose", {seen}, TransposeAttrs{{1, 0, 2, 3}});
  const ValueId bias = n.b("select", {by_row, n.b.number(type, 0), hidden});
  const ValueId last = n.b("sub", {lengths, n.b.integer(1)});
  n.in = {n.in[kQ],   n.in[kK],  n.in[kV], n.in[kPastKey], n.in[kPastValue], last, n.in[kTotal], n.in[kCos],
          n.in[kSin], ValueId{}, bias};
  return group_query_attention(n);
}

// ---- States instead of keys and values

Result<Quirked> linear_attention(NodeImport& n) { return as_standard(n, n.op); }

/// The standard's has one spatial axis.
Result<Quirked> causal_conv(NodeImport& n) {
  if (n.integer("ndim", 1) != 1) return lacks(n, fmt::format("ndim {}; needed 1", n.integer("ndim", 1)));
  n.drop("ndim");
  if (n.word("activation", "none") == "swish") n.set("activation", std::string("silu"));
  return as_standard(n, n.op);
}

// Not read: that past and present share memory (past_present_share_buffer), how many elements do_rotary turns, which is
// refused, and the bits and types of a quantised cache, which is refused by its scales.
constexpr QuirkRow kAttentionRows[] = {
    {"Attention", real_attention, kDomain,
     "1 T T T? T1? T? T? T1? > T T? | do_rotary:i mask_filter_value:f num_heads:i past_present_share_buffer:i "
     "qkv_hidden_sizes:I rotary_embedding_dim:i scale:f unidirectional:i"},
    {"CausalConvWithState", causal_conv, kDomain, "1 T T T? T? > T T? | activation:s ndim:i"},
    {"GroupQueryAttention", group_query_attention, kDomain,
     "1 T T? T? T? T? T1 T1 T? T? T2? T? T? T3? T3? T? T? > T T? T? T? | causal:i do_rotary:i k_quant_type:s "
     "kv_cache_bit_width:i kv_num_heads:i local_window_size:i num_heads:i qk_norm_epsilon:f qk_output:i "
     "rotary_interleaved:i scale:f sliding_window_cache:i smooth_softmax:i softcap:f v_quant_type:s"},
    {"LinearAttention", linear_attention, kDomain,
     "1 T T T S? T? T? > T S? | chunk_size:i kv_num_heads:i q_num_heads:i scale:f update_rule:s"},
    {"MultiHeadAttention", multi_head_attention, kDomain,
     "1 T T? T? T? T1? T? T? T? T1? T1? > T T? T? T? | mask_filter_value:f num_heads:i scale:f unidirectional:i"},
    {"RotaryEmbedding", rotary_embedding, kDomain,
     "1 T T1 T T > T | interleaved:i is_packed_batching:i num_heads:i rotary_embedding_dim:i scale:f"},
    {"SparseAttention", sparse_attention, kDomain,
     "1 T T? T? T T M M M M T? T? > T T? T? | do_rotary:i kv_num_heads:i num_heads:i rotary_interleaved:i scale:f "
     "sparse_block_size:i"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_attention_quirks() { return read_of<microsoft::kAttentionRows>(); }

}  // namespace nnex::onnx_format
