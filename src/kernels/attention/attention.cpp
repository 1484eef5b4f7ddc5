#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/split.h"
#include "kernels/product/gemm.h"
#include "kernels/product/matrix_rows.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kScoreFloats = 64 * 1024;  // of a block, in the second level cache
constexpr int64_t kPartsOfThread = 2;
constexpr int64_t kPieceBytes = 256 * 1024;  // of keys and values: less is read by one thread

int64_t whole_lines(int64_t floats) { return ceil_div(floats, 16) * 16; }

/// Whether every number of rows of `n` floats is finite.
bool all_finite(const float* x, int64_t rows, int64_t stride, int64_t n) {
  constexpr uint32_t kExponent = 0x7f800000;
  for (int64_t r = 0; r < rows; ++r) {
    uint32_t bad = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto b = __builtin_bit_cast(uint32_t, x[r * stride + i]);
      bad |= static_cast<uint32_t>((b & kExponent) == kExponent);
    }
    if (bad) return false;
  }
  return true;
}

}  // namespace

HeadStrides head_strides(bool side_by_side, int64_t heads, int64_t rows, int64_t depth) {
  if (side_by_side) return {rows * heads * depth, depth, heads * depth};
  return {heads * rows * depth, rows * depth, depth};
}

void CacheJoin::run(int64_t batch, int64_t head, int64_t begin, int64_t end) const {
  const int64_t all = batch * heads + head;
  float* y = to + (all * (past_rows + rows) + begin) * depth;
  const auto copy = [&](const float* from, int64_t n) {
    if (n > 0) std::memcpy(y, from, static_cast<size_t>(n) * 4);
    y += n;
  };
  const int64_t old = std::clamp(past_rows, begin, end);
  if (begin < old) copy(past + (all * past_rows + begin) * depth, (old - begin) * depth);
  if (old == end) return;
  const float* from = fresh + batch * fresh_at.batch + head * fresh_at.head + (old - past_rows) * fresh_at.row;
  if (fresh_at.row == depth) return copy(from, (end - old) * depth);
  for (int64_t i = old; i < end; ++i, from += fresh_at.row) copy(from, depth);
}

Attention::Attention(const simd::Loops& loops, const AttentionAttrs& attrs, const AttentionSizes& sizes, bool has_sink)
    : loops_(loops), attrs_(attrs), s_(sizes), tile_(loops.tile_shape_f32()) {
  hidden_ = attrs.hidden ? static_cast<float>(*attrs.hidden) : -__builtin_huge_valf();
  one_query_ = s_.queries == 1;
  rows_ = one_query_ ? s_.group() : s_.queries;
  few_rows_ = s_.group() * s_.queries <= tile_.lanes;
  const int64_t heads = s_.batch * s_.kv_heads, wanted = kPartsOfThread * usable_threads();
  chunks_ = std::clamp<int64_t>(ceil_div(wanted, heads), 1, ceil_div(rows_, tile_.rows));
  parts_ = std::min(heads * chunks_, wanted);
  row_floats_ = whole_lines(s_.total() + has_sink);
  block_ =
      few_rows_ ? rows_ : std::clamp<int64_t>(kScoreFloats / row_floats_ / tile_.rows * tile_.rows, tile_.rows, rows_);
  k_floats_ = few_rows_ ? packed_floats(loops, s_.depth, rows_) : packed_floats(loops, s_.depth, s_.total());
  k_floats_ = whole_lines(k_floats_);
  if (s_.value_depth % tile_.lanes != 0) v_floats_ = whole_lines(packed_floats(loops, s_.total(), s_.value_depth));
  if (few_rows_ && rows_ > 1) transposed_floats_ = whole_lines(rows_ * s_.total());
  if (one_query_ && few_rows_ && v_floats_ == 0 && heads < usable_threads())
    pieces_ =
        std::clamp<int64_t>(s_.total() * (s_.depth + s_.value_depth) * 4 / kPieceBytes, 1, ceil_div(wanted, heads));
}

/// The queries of a few rows, in one batch and at one key head.
class Attention::Unit {
 public:
  Unit(const Attention& a, const Data& data, int64_t batch, int64_t kv_head, float* scratch)
      : a_(a), d_(data), s_(a.s_), loops_(a.loops_), batch_(batch), kv_head_(kv_head) {
    packed_k_ = scratch;
    packed_v_ = packed_k_ + a.k_floats_;
    transposed_ = packed_v_ + a.v_floats_;
    scores_ = transposed_ + a.transposed_floats_;
    k_ = d_.k + batch * d_.k_at.batch + kv_head * d_.k_at.head;
    v_ = d_.v + batch * d_.v_at.batch + kv_head * d_.v_at.head;
    if (d_.lengths) length_ = d_.lengths[batch];
    valid_ = valid_keys(s_, length_);
  }

  // One query in turns, whose pieces may run at once; of each number the same chain as by run().

  /// Whether the query sees every valid key.
  bool sees_all() const { return visible(0).begin == 0 && visible(0).end == valid_; }
  void pack() { pack_queries(query(0, 0), a_.rows_); }
  /// Scores of the keys from begin to end.
  void score(int64_t begin, int64_t end) {
    end = std::min(end, valid_);
    if (begin < end) multiply_keys(query(0, 0), a_.rows_, {begin, end});
  }
  void normalize_row(int64_t row) { normalize(scores_ + row * a_.row_floats_, head_of(0, row), 0, {0, valid_}); }
  /// Columns from begin to end of the result.
  void combine(int64_t begin, int64_t end) {
    if (begin < end) multiply_values(0, 0, a_.rows_, {0, valid_}, {begin, end});
  }

  void run(int64_t begin, int64_t end) {
    const int64_t last = a_.one_query_ ? 0 : end - 1, first = a_.one_query_ ? 0 : begin;
    seen_ = {visible(first).begin, visible(last).end};
    if (seen_.end > seen_.begin && !a_.few_rows_) pack_keys();
    if (a_.v_floats_ > 0)
      pack_b(loops_, alone_, reinterpret_cast<const std::byte*>(v_), valid_, s_.value_depth, d_.v_at.row, 1, packed_v_);
    // Skipping a key whose probability is 0 changes nothing where its values are finite.
    const bool hidden = seen_.begin > 0 || seen_.end < valid_ || visible(first).end < visible(last).end;
    skips_ = a_.v_floats_ == 0 && hidden && all_finite(v_, valid_, d_.v_at.row, s_.value_depth);
    const int64_t heads = a_.one_query_ ? 1 : s_.group();
    for (int64_t g = 0; g < heads; ++g)
      for (int64_t row = begin; row < end; row += a_.block_) block(g, row, std::min(row + a_.block_, end));
  }

 private:
  KeyRange visible(int64_t query) const { return visible_keys(a_.attrs_, s_, length_, query); }

  /// Panels of keys that some query sees.
  void pack_keys() {
    const Columns columns{a_.tile_, s_.depth, s_.total(), packed_k_, 0};
    for (int64_t p = seen_.begin / a_.tile_.columns; p * a_.tile_.columns < seen_.end; ++p) {
      const auto n = static_cast<size_t>(columns.columns(p)), width = static_cast<size_t>(columns.width(p));
      float* const to = packed_k_ + p * columns.panel_stride();
      if (n < width) std::fill_n(to, width * static_cast<size_t>(s_.depth), 0.0F);
      loops_.transpose_u32(reinterpret_cast<const uint32_t*>(k_ + p * a_.tile_.columns * d_.k_at.row),
                           static_cast<size_t>(d_.k_at.row), reinterpret_cast<uint32_t*>(to), width, n,
                           static_cast<size_t>(s_.depth));
    }
  }

  /// Head and query of a row of this group.
  int64_t head_of(int64_t g, int64_t row) const { return kv_head_ * s_.group() + (a_.one_query_ ? row : g); }
  int64_t query_of(int64_t row) const { return a_.one_query_ ? 0 : row; }

  const float* query(int64_t g, int64_t row) const {
    return d_.q + batch_ * d_.q_at.batch + head_of(g, row) * d_.q_at.head + query_of(row) * d_.q_at.row;
  }
  int64_t q_row() const { return a_.one_query_ ? d_.q_at.head : d_.q_at.row; }

  void block(int64_t g, int64_t begin, int64_t end) {
    const int64_t rows = end - begin;
    KeyRange seen = visible(query_of(begin));
    if (!a_.one_query_) seen.end = visible(end - 1).end;
    if (a_.few_rows_) pack_queries(query(g, begin), rows);
    if (seen.end > seen.begin) multiply_keys(query(g, begin), rows, seen);
    const KeyRange used = skips_ ? seen : KeyRange{0, valid_};
    for (int64_t r = 0; r < rows; ++r)
      normalize(scores_ + r * a_.row_floats_, head_of(g, begin + r), query_of(begin + r), used);
    multiply_values(g, begin, rows, used, {0, s_.value_depth});
  }

  /// Columns of the result of some rows, by the probabilities of the keys used.
  void multiply_values(int64_t g, int64_t row, int64_t rows, KeyRange used, KeyRange columns) {
    const int64_t y_row = a_.one_query_ ? d_.y_at.head : d_.y_at.row, n = columns.end - columns.begin;
    float* const y =
        d_.y + batch_ * d_.y_at.batch + head_of(g, row) * d_.y_at.head + query_of(row) * d_.y_at.row + columns.begin;
    Columns values{a_.tile_, used.end - used.begin, n, packed_v_, 0};
    if (a_.v_floats_ == 0) values.b = v_ + used.begin * d_.v_at.row + columns.begin, values.row_stride = d_.v_at.row;
    if (values.k <= 0) {
      for (int64_t r = 0; r < rows; ++r) std::fill_n(y + r * y_row, n, 0.0F);
      return;
    }
    multiply_tiles(loops_, alone_, MatrixRows<LiftFloat>(a_.tile_, {}, scores_ + used.begin, rows, a_.row_floats_, 1),
                   values, y, y_row, {});
  }

  /// scores[r][j] = cap(scale * q[r] k[j]) for the keys seen, and perhaps some around them.
  void multiply_keys(const float* q, int64_t rows, KeyRange seen) {
    Epilogue end;
    end.scale = static_cast<float>(s_.scale(a_.attrs_));
    if (a_.attrs_.softcap > 0) {
      const auto cap = static_cast<float>(a_.attrs_.softcap);
      end.activation = {UnaryKind::scaled_tanh, cap, 1 / cap};
    }
    if (a_.few_rows_) {
      if (rows == 1) return multiply_query(q, seen, end);
      multiply_queries(rows, seen, end);
      return;
    }
    const int64_t panel = seen.begin / a_.tile_.columns, from = panel * a_.tile_.columns;
    const int64_t to = std::min(ceil_div(seen.end, a_.tile_.columns) * a_.tile_.columns, s_.total());
    Columns keys{a_.tile_, s_.depth, to - from, packed_k_, 0};
    keys.b += panel * keys.panel_stride();
    multiply_tiles(loops_, alone_, MatrixRows<LiftFloat>(a_.tile_, {}, q, rows, q_row(), 1), keys, scores_ + from,
                   a_.row_floats_, end);
  }

  /// The same of one query.
  void multiply_query(const float* q, KeyRange seen, const Epilogue& end) {
    const auto n = static_cast<size_t>(seen.end - seen.begin);
    float* const c = scores_ + seen.begin;
    loops_.dot_rows_f32(k_ + seen.begin * d_.k_at.row, static_cast<size_t>(d_.k_at.row), q, c, n,
                        static_cast<size_t>(s_.depth));
    if (end.scale != 1) loops_.binary_f32(BinaryKind::mul, Form::vector_scalar, c, &end.scale, c, n);
    if (end.activation.kind != UnaryKind::identity) loops_.unary_f32(end.activation, c, c, n);
  }

  /// The same of queries that are packed, with the keys as rows: every element is the same chain.
  void multiply_queries(int64_t rows, KeyRange seen, const Epilogue& end) {
    const int64_t n = seen.end - seen.begin;
    float* const c = transposed_ + seen.begin * rows;
    multiply_tiles(loops_, alone_,
                   MatrixRows<LiftFloat>(a_.tile_, {}, k_ + seen.begin * d_.k_at.row, n, d_.k_at.row, 1),
                   {a_.tile_, s_.depth, rows, packed_k_, 0}, c, rows, end);
    loops_.transpose_u32(reinterpret_cast<const uint32_t*>(c), static_cast<size_t>(rows),
                         reinterpret_cast<uint32_t*>(scores_ + seen.begin), static_cast<size_t>(a_.row_floats_),
                         static_cast<size_t>(n), static_cast<size_t>(rows));
  }
  void pack_queries(const float* q, int64_t rows) {
    if (rows == 1) return;  // read where it lies
    pack_b(loops_, alone_, reinterpret_cast<const std::byte*>(q), s_.depth, rows, 1, q_row(), packed_k_);
  }

  /// A row of scores becomes probabilities, zeros where keys are masked, on all of `used`.
  void normalize(float* row, int64_t head, int64_t query, KeyRange used) const {
    KeyRange seen = visible(query);
    if (d_.added || d_.allowed) seen.end = std::min(seen.end, d_.mask.keys);
    float* const x = row + seen.begin;
    const auto n = static_cast<size_t>(std::max<int64_t>(seen.end - seen.begin, 0));
    if (n == 0 || hides_all(x, n, batch_ * d_.mask.batch + head * d_.mask.head + query * d_.mask.query + seen.begin)) {
      std::fill(row + used.begin, row + std::max(used.begin, used.end), 0.0F);
      return;
    }
    if (d_.sink) x[n] = d_.sink[head];
    loops_.softmax_f32(x, x, n + (d_.sink ? 1 : 0), 1);
    std::fill(row + std::min(used.begin, seen.begin), row + seen.begin, 0.0F);
    std::fill(row + seen.end, row + std::max(used.end, seen.end), 0.0F);
  }

  /// Applies the mask's elements from `at` on. Whether nothing is left, and that makes zeros.
  bool hides_all(float* x, size_t n, int64_t at) const {
    const float none = -__builtin_huge_valf(), hidden = a_.hidden_;
    if (d_.added)
      loops_.binary_f32(BinaryKind::add, Form::vector_vector, x, d_.added + at, x, n);
    else if (d_.allowed)
      loops_.select_u32(d_.allowed + at, reinterpret_cast<const uint32_t*>(x),
                        reinterpret_cast<const uint32_t*>(&hidden), reinterpret_cast<uint32_t*>(x), n, 1, 0);
    return a_.attrs_.guard && std::all_of(x, x + n, [&](float score) { return score == none; });  // the first says no
  }

  const Attention& a_;
  const Data& d_;
  const AttentionSizes& s_;
  const simd::Loops& loops_;
  Team alone_;
  int64_t batch_, kv_head_, valid_ = 0;
  std::optional<int64_t> length_;
  KeyRange seen_;       ///< By any query of this unit.
  bool skips_ = false;  ///< Keys that no query of a block sees are left out of the product with the values.
  const float *k_ = nullptr, *v_ = nullptr;
  float *packed_k_ = nullptr, *packed_v_ = nullptr, *transposed_ = nullptr, *scores_ = nullptr;
};

int64_t Attention::workspace() const {
  return parts_ * (k_floats_ + v_floats_ + transposed_floats_ + block_ * row_floats_) * 4;
}

void Attention::run(Team& team, const Data& data, std::byte* workspace) const {
  const int64_t heads = s_.batch * s_.kv_heads, units = heads * chunks_, scratch = this->workspace() / 4 / parts_;
  float* const own = reinterpret_cast<float*>(workspace);
  const auto unit = [&](int64_t head, int64_t part) {
    return Unit(*this, data, head / s_.kv_heads, head % s_.kv_heads, own + part * scratch);
  };
  const auto join = [&](int64_t head, int64_t begin, int64_t end) {
    for (const CacheJoin* j : {data.join_k, data.join_v})
      if (j) j->run(head / s_.kv_heads, head % s_.kv_heads, begin, end);
  };
  bool in_pieces = pieces_ > 1 && team.size() > 1;
  for (int64_t head = 0; in_pieces && head < heads; ++head) in_pieces = unit(head, head).sees_all();
  if (in_pieces) {
    for (int64_t head = 0; head < heads; ++head) unit(head, head).pack();
    const auto each_piece = [&](int64_t n, int64_t multiple, auto work) {
      team.run(heads * pieces_, [&](int64_t i) {
        const Part p = part_of(n, pieces_, i % pieces_, multiple);
        work(i / pieces_, p.begin, p.end);
      });
    };
    each_piece(s_.total(), 1, [&](int64_t head, int64_t begin, int64_t end) {
      join(head, begin, end);
      unit(head, head).score(begin, end);
    });
    team.run(heads * rows_, [&](int64_t i) { unit(i / rows_, i / rows_).normalize_row(i % rows_); });
    each_piece(s_.value_depth, tile_.lanes,
               [&](int64_t head, int64_t begin, int64_t end) { unit(head, head).combine(begin, end); });
    return;
  }
  // Chunks share their head's keys, which must then be there before all of them.
  const bool joins = data.join_k || data.join_v;
  if (chunks_ > 1 && joins) team.run(heads, [&](int64_t head) { join(head, 0, s_.total()); });
  team.run(parts_, [&](int64_t part) {
    for (int64_t u = share(units, parts_, part); u < share(units, parts_, part + 1); ++u) {
      const int64_t chunk = u % chunks_, head = u / chunks_;
      if (chunks_ == 1) join(head, 0, s_.total());
      unit(head, part).run(share(rows_, chunks_, chunk), share(rows_, chunks_, chunk + 1));
    }
  });
}

}  // namespace nnex::kernels
