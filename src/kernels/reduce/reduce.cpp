#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/split.h"
#include "base/try.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kChunk = 8192;  // longer rows fold in chunks, whose size their length alone decides
constexpr int64_t kMaxChunks = 64;
constexpr int64_t kColumns = 64;  // folded together

/// How results of parts of a fold join.
ReduceKind join_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::product:
    case ReduceKind::max:
    case ReduceKind::min:
      return kind;
    default:
      return ReduceKind::sum;
  }
}

/// The loops of an element type.
template <class T>
struct Folds {
  simd::ReduceRow<T>* row;
  simd::ReduceColumns<T>* columns;
};
template <class T>
Folds<T> folds_of(const simd::Loops& l) {
  if constexpr (std::is_same_v<T, float>) return {l.reduce_f32, l.reduce_columns_f32};
  if constexpr (std::is_same_v<T, double>) return {l.reduce_f64, l.reduce_columns_f64};
  if constexpr (std::is_same_v<T, int32_t>) return {l.reduce_i32, l.reduce_columns_i32};
  if constexpr (std::is_same_v<T, int64_t>) return {l.reduce_i64, l.reduce_columns_i64};
  if constexpr (std::is_same_v<T, uint8_t>) return {l.reduce_u8, l.reduce_columns_u8};
  if constexpr (std::is_same_v<T, int8_t>) return {l.reduce_i8, l.reduce_columns_i8};
}

/// What is left to do to a finished fold of n elements.
template <class T>
T finished(ReduceKind kind, T folded, int64_t n) {
  if (kind == ReduceKind::mean) return static_cast<T>(folded / static_cast<T>(n));
  if constexpr (std::is_floating_point_v<T>)
    if (kind == ReduceKind::l2) return std::sqrt(folded);
  return folded;
}

template <class T>
T reduce_long_row(const Folds<T>& folds, Team& team, ReduceKind kind, const T* x, int64_t n) {
  if (n <= kChunk) return folds.row(kind, x, static_cast<size_t>(n));
  const int64_t size = std::max(kChunk, ((n + kMaxChunks - 1) / kMaxChunks + 15) / 16 * 16);
  const int64_t chunks = (n + size - 1) / size;
  T part[kMaxChunks];
  split(team, chunks, n * int64_t{sizeof(T)}, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      part[i] = folds.row(kind, x + i * size, static_cast<size_t>(std::min(size, n - i * size)));
  });
  return folds.row(join_of(kind), part, static_cast<size_t>(chunks));
}

/// Rows of so few that vectors across them beat vectors along them.
constexpr int64_t kShortRow = 16;

/// Calls fold(columns, first row, rows) for blocks of short rows of four-byte T that were turned into columns,
/// kShortRows numbers apart.
constexpr int64_t kShortRows = 64;
template <class T, class F>
void each_turned(const simd::Loops& loops, Team& team, const T* x, int64_t rows, int64_t n, F fold) {
  split(team, rows, rows * n * 8, kShortRows, [&](int64_t begin, int64_t end) {
    alignas(64) T columns[kShortRow * kShortRows];
    for (int64_t row = begin; row < end; row += kShortRows) {
      const int64_t count = std::min(kShortRows, end - row);
      loops.transpose_u32(reinterpret_cast<const uint32_t*>(x + row * n), static_cast<size_t>(n),
                          reinterpret_cast<uint32_t*>(columns), kShortRows, static_cast<size_t>(count),
                          static_cast<size_t>(n));
      fold(columns, row, count);
    }
  });
}

template <class T>
void fold_short_rows(const simd::Loops& loops, Team& team, ReduceKind kind, const T* x, T* y, int64_t rows, int64_t n) {
  each_turned(loops, team, x, rows, n, [&](const T* columns, int64_t row, int64_t count) {
    folds_of<T>(loops).columns(kind, columns, kShortRows, static_cast<size_t>(n), y + row, static_cast<size_t>(count));
  });
}

/// Without the last step of mean and l2.
template <class T>
void fold_middle(const simd::Loops& loops, Team& team, ReduceKind kind, const T* x, T* y, int64_t outer, int64_t n,
                 int64_t inner) {
  const Folds<T> folds = folds_of<T>(loops);
  const int64_t bytes = outer * n * inner * int64_t{sizeof(T)};
  if constexpr (sizeof(T) == 4)
    if (inner == 1 && n <= kShortRow) return fold_short_rows(loops, team, kind, x, y, outer, n);
  if (inner == 1 && n > kChunk && outer < 16) {  // few long rows: each on the whole team
    for (int64_t o = 0; o < outer; ++o) y[o] = reduce_long_row(folds, team, kind, x + o * n, n);
  } else if (inner == 1) {
    split(team, outer, bytes, 1, [&](int64_t begin, int64_t end) {
      Team alone(1);
      for (int64_t o = begin; o < end; ++o) y[o] = reduce_long_row(folds, alone, kind, x + o * n, n);
    });
  } else {
    const int64_t pieces = (inner + kColumns - 1) / kColumns;
    split(team, outer * pieces, bytes, 1, [&](int64_t begin, int64_t end) {
      while (begin < end) {  // the pieces of one `o` together
        const int64_t o = begin / pieces, last = std::min(end, (o + 1) * pieces);
        const int64_t c0 = begin % pieces * kColumns, c1 = std::min(inner, (last - o * pieces) * kColumns);
        folds.columns(kind, x + o * n * inner + c0, static_cast<size_t>(inner), static_cast<size_t>(n),
                      y + o * inner + c0, static_cast<size_t>(c1 - c0));
        begin = last;
      }
    });
  }
}

template <class T>
void finish(ReduceKind kind, T* y, int64_t count, int64_t n) {
  if (kind != ReduceKind::mean && kind != ReduceKind::l2) return;
  for (int64_t i = 0; i < count; ++i) y[i] = finished(kind, y[i], n);
}

/// Takes row k of `count` columns: its elements that go before the best so far, or as well of ties where the last wins.
/// The first NaN stays. Without jumps, so that the compiler makes vectors.
template <bool greatest, bool last_of_ties>
void take_row(const float* x, int64_t count, int32_t k, float* best, int32_t* at) {
  for (int64_t c = 0; c < count; ++c) {
    const float v = x[c], b = best[c];
    const bool stays = greatest ? (last_of_ties ? v < b : v <= b) : (last_of_ties ? v > b : v >= b);
    const bool wins = !stays & (b == b);
    best[c] = wins ? v : b;
    at[c] = wins ? k : at[c];
  }
}

/// Places of the extremes of `count` columns of n rows.
void arg_of_columns(bool greatest, bool last_of_ties, const float* x, int64_t n, int64_t stride, int64_t count,
                    int64_t* y) {
  const auto take = greatest ? (last_of_ties ? take_row<true, true> : take_row<true, false>)
                             : (last_of_ties ? take_row<false, true> : take_row<false, false>);
  float best[kColumns];
  int32_t at[kColumns] = {};
  std::copy_n(x, count, best);
  for (int64_t k = 1; k < n; ++k) take(x + k * stride, count, static_cast<int32_t>(k), best, at);
  std::copy_n(at, count, y);
}

int64_t arg_of_row(const simd::Loops& loops, bool greatest, bool last_of_ties, const float* x, int64_t n) {
  const float best = loops.reduce_f32(greatest ? ReduceKind::max : ReduceKind::min, x, static_cast<size_t>(n));
  if (!last_of_ties || best != best) return static_cast<int64_t>(loops.find_f32(x, static_cast<size_t>(n), best));
  int64_t at = n - 1;
  while (x[at] != best) --at;
  return at;
}

}  // namespace

AxisFold::AxisFold(ReduceKind kind, std::span<const int64_t> shape, std::span<const int64_t> axes) : kind_(kind) {
  const auto folds = [&](size_t axis) {
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
  };
  int64_t inner = 1, outer = 1;
  for (int64_t extent : shape) outer *= extent;
  bool in_group = false;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const int64_t extent = shape[axis];
    if (folds(axis)) {
      folded_ *= extent;
      if (extent == 1) continue;
      if (!in_group && count_ == kMaxStages) {
        ok_ = false;
        return;
      }
      if (!in_group) stages_[count_++] = {1, 1, inner};
      stages_[count_ - 1].n *= extent;
      in_group = true;
    } else if (extent != 1) {
      inner *= extent;
      in_group = false;
    }
  }
  if (count_ == 0) stages_[count_++] = {1, 1, outer};  // nothing folds: each element by itself
  // What stands before a group still has its folded axes: the groups are folded from the last to the first.
  for (int i = 0; i < count_; ++i) {
    int64_t before = 1;
    int64_t after = 1;
    size_t axis = shape.size();
    int group = -1;
    bool inside = false;
    while (axis-- > 0) {
      const bool folded = folds(axis);
      if (shape[axis] == 1) continue;
      if (folded && !inside) ++group;
      inside = folded;
      if (group > i || (group == i && !folded)) before *= shape[axis];
      if (group < i && !folded) after *= shape[axis];
    }
    if (group >= 0) {
      stages_[i].outer = before;
      stages_[i].inner = after;
    }
  }
}

int64_t AxisFold::workspace(int64_t element) const {
  if (count_ < 2) return 0;
  const auto results = [&](int i) { return stages_[i].outer * stages_[i].inner; };
  return element * (results(0) + (count_ > 2 ? results(1) : 0));
}

template <class T>
void AxisFold::run(const simd::Loops& loops, Team& team, const T* x, T* y, void* workspace) const {
  NNEX_ASSERT(ok_);
  T* first = static_cast<T*>(workspace);
  T* second = first ? first + stages_[0].outer * stages_[0].inner : nullptr;
  const T* from = x;
  for (int i = 0; i < count_; ++i) {
    T* to = i + 1 == count_ ? y : i % 2 == 0 ? first : second;
    const Stage& stage = stages_[i];
    fold_middle(loops, team, i == 0 ? kind_ : join_of(kind_), from, to, stage.outer, stage.n, stage.inner);
    from = to;
  }
  finish(kind_, y, stages_[count_ - 1].outer * stages_[count_ - 1].inner, folded_);
}

#define NNEX_FOLD(T) template void AxisFold::run(const simd::Loops&, Team&, const T*, T*, void*) const
NNEX_FOLD(float);
NNEX_FOLD(double);
NNEX_FOLD(int32_t);
NNEX_FOLD(int64_t);
NNEX_FOLD(uint8_t);
NNEX_FOLD(int8_t);
#undef NNEX_FOLD

void reduce_middle(const simd::Loops& loops, Team& team, ReduceKind kind, const float* x, float* y, int64_t outer,
                   int64_t n, int64_t inner) {
  fold_middle(loops, team, kind, x, y, outer, n, inner);
  finish(kind, y, outer * inner, n);
}

void arg_extreme(const simd::Loops& loops, Team& team, bool greatest, bool last_of_ties, const float* x, int64_t* y,
                 int64_t outer, int64_t n, int64_t inner) {
  NNEX_ASSERT(n >= 1);
  const int64_t bytes = outer * n * inner * 8;
  if (inner == 1 && n <= kShortRow) {
    each_turned(loops, team, x, outer, n, [&](const float* columns, int64_t row, int64_t count) {
      arg_of_columns(greatest, last_of_ties, columns, n, kShortRows, count, y + row);
    });
    return;
  }
  if (inner == 1) {
    split(team, outer, bytes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) y[o] = arg_of_row(loops, greatest, last_of_ties, x + o * n, n);
    });
    return;
  }
  NNEX_ASSERT(n <= INT32_MAX);
  const int64_t pieces = (inner + kColumns - 1) / kColumns;
  split(team, outer * pieces, bytes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t o = unit / pieces, c0 = unit % pieces * kColumns;
      arg_of_columns(greatest, last_of_ties, x + o * n * inner + c0, n, inner, std::min(kColumns, inner - c0),
                     y + o * inner + c0);
    }
  });
}

}  // namespace nnex::kernels
