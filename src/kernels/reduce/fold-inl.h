// What reductions do with vectors of any element type: the functions that they fold by, rows by partials, columns by
// chains. Included by files under simd/ inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_REDUCE_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_REDUCE_FOLD_INL_H_
#undef NNEX_KERNELS_REDUCE_FOLD_INL_H_
#else
#define NNEX_KERNELS_REDUCE_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/reduce/reduce_kind.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How a kind takes an element into a partial and joins two partials; both for vectors of any length.
struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Times {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct Greater {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>)
      return max_f32(d, a, b);
    else
      return hn::Max(a, b);
  }
};
struct Less {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>)
      return min_f32(d, a, b);
    else
      return hn::Min(a, b);
  }
};
struct AddAbs {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V x) const {
    return hn::Add(a, hn::Abs(x));
  }
};
template <class M>
struct AddSquare {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V x) const {
    return M::madd(x, x, a);
  }
};

/// Where a maximum (or minimum) over nothing starts.
template <class T>
constexpr T kLowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
template <class T>
constexpr T kHighest = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

/// Calls use(start, take, join) for the kind; whole numbers have sums and extremes alone.
template <class M, class T, class R, class Use>
HWY_INLINE R with_fold(ReduceKind kind, Use use) {
  if (kind == ReduceKind::max) return use(kLowest<T>, Greater(), Greater());
  if (kind == ReduceKind::min) return use(kHighest<T>, Less(), Less());
  if constexpr (std::is_floating_point_v<T>) {
    if (kind == ReduceKind::product) return use(T(1), Times(), Times());
    if (kind == ReduceKind::l2 || kind == ReduceKind::sum_squares) return use(T(0), AddSquare<M>(), Add());
    if (kind == ReduceKind::sum_abs) return use(T(0), AddAbs(), Add());
  }
  return use(T(0), Add(), Add());
}

/// Joins the lanes of a vector, lane j with j + lanes / 2, then the halves of that.
template <class D, class Join, class T = hn::TFromD<D>>
HWY_INLINE T join_lanes([[maybe_unused]] D d, hn::Vec<D> v, [[maybe_unused]] Join join) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) * sizeof(T) > 16) {
    const hn::Half<D> h;
    return join_lanes(h, join(h, hn::LowerHalf(h, v), hn::UpperHalf(h, v)), join);
  } else if constexpr (hn::MaxLanes(D()) > 1) {
    HWY_ALIGN T lane[2 * hn::MaxLanes(D())] = {};
    for (size_t far = hn::MaxLanes(D()) / 2; far > 0; far /= 2) {
      hn::Store(v, d, lane);
      v = join(d, v, hn::LoadU(d, lane + far));
    }
  }
#endif
  return hn::GetLane(v);
}

/// A row by `partials` partials: partial j takes the elements at j, j + partials, ... in order, and one tree joins j
/// with j + partials / 2, then the halves of that, whatever the length of a vector. Extremes and whole numbers may take
/// more of them than sums, whose order is promised.
template <class T, size_t partials, class Take, class Join>
HWY_INLINE T fold_partials(const T* x, size_t n, T start, Take take, Join join) {
  const hn::CappedTag<T, HWY_MIN(partials, 64 / sizeof(T))> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)()), kVectors = partials / kLanes;
  hn::Vec<decltype(d)> p[kVectors];
  HWY_UNROLL(16)
  for (size_t k = 0; k < kVectors; ++k) p[k] = hn::Set(d, start);
  size_t i = 0;
  for (; i + partials <= n; i += partials) {
    HWY_UNROLL(16)
    for (size_t k = 0; k < kVectors; ++k) p[k] = take(d, p[k], hn::LoadU(d, x + i + k * kLanes));
  }
  for (size_t k = 0; i < n; ++k, i += kLanes) {
    if (n - i >= kLanes) {
      p[k] = take(d, p[k], hn::LoadU(d, x + i));
    } else {
      const auto part = load_part(d, x + i, n - i);
      p[k] = hn::IfThenElse(hn::FirstN(d, n - i), take(d, p[k], part), p[k]);
    }
  }
  for (size_t half = kVectors / 2; half > 0; half /= 2)
    for (size_t k = 0; k < half; ++k) p[k] = join(d, p[k], p[k + half]);
  return join_lanes(d, p[0], join);
}

/// a > b ? a : b, or a < b ? a : b: one instruction where it is x86's own rule.
template <bool greatest, class D, class V>
HWY_INLINE V beyond(D, V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return greatest ? hn::Max(a, b) : hn::Min(a, b);
#else
  return hn::IfThenElse(greatest ? hn::Gt(a, b) : hn::Lt(a, b), a, b);
#endif
}

/// The greatest (or least) element of a row; NaN where there is one.
template <bool greatest, class T>
HWY_INLINE T extreme_of_row(const T* x, size_t n) {
  constexpr T kStart = greatest ? kLowest<T> : kHighest<T>;
  constexpr size_t kPartials = 256 / sizeof(T);
  if constexpr (std::is_floating_point_v<T>) {
    const hn::CappedTag<T, HWY_MIN(kPartials, 64 / sizeof(T))> d;
    auto nan = hn::FirstN(d, 0);
    const auto kept = [](auto tag, auto a, auto v) HWY_ATTR { return beyond<greatest>(tag, a, v); };
    const T best = fold_partials<T, kPartials>(
        x, n, kStart,
        [&](auto tag, auto a, auto v) HWY_ATTR {
          nan = hn::Or(nan, hn::IsNaN(v));
          return kept(tag, a, v);
        },
        kept);
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
    return hn::AllFalse(d, nan) ? best : kNan;
  } else if constexpr (greatest) {
    return fold_partials<T, kPartials>(x, n, kStart, Greater(), Greater());
  } else {
    return fold_partials<T, kPartials>(x, n, kStart, Less(), Less());
  }
}

constexpr size_t kChainRows = 128;  // a column's chain is cut here; reduce_kind.h promises it

/// `vectors` neighbouring vectors of columns, or one part of a vector.
template <size_t vectors, class T, class Take, class Join, class Load, class Store>
HWY_INLINE void fold_columns(const T* x, size_t stride, size_t rows, T start, Take take, Join join, Load load,
                             Store store) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V total[vectors], chain[vectors];
  HWY_UNROLL(4)
  for (size_t k = 0; k < vectors; ++k) total[k] = chain[k] = hn::Set(d, start);
  for (size_t r0 = 0; r0 < rows; r0 += kChainRows) {
    const size_t r1 = HWY_MIN(rows, r0 + kChainRows);
    for (size_t r = r0; r < r1; ++r) {
      HWY_UNROLL(4)
      for (size_t k = 0; k < vectors; ++k) chain[k] = take(d, chain[k], load(x + r * stride + k * hn::Lanes(d)));
    }
    HWY_UNROLL(4)
    for (size_t k = 0; k < vectors; ++k) {
      total[k] = r0 == 0 ? chain[k] : join(d, total[k], chain[k]);
      chain[k] = hn::Set(d, start);
    }
  }
  for (size_t k = 0; k < vectors; ++k) store(k, total[k]);
}

template <class T, class Take, class Join>
HWY_INLINE void fold_all_columns(const T* x, size_t stride, size_t rows, T* y, size_t columns, T start, Take take,
                                 Join join) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const auto load = [&](const T* p) HWY_ATTR { return hn::LoadU(d, p); };
  size_t c = 0;
  const auto store = [&](size_t k, V v) HWY_ATTR { hn::StoreU(v, d, y + c + k * lanes); };
  for (; c + 4 * lanes <= columns; c += 4 * lanes) fold_columns<4>(x + c, stride, rows, start, take, join, load, store);
  for (; c + lanes <= columns; c += lanes) fold_columns<1>(x + c, stride, rows, start, take, join, load, store);
  if (c < columns) {
    const size_t n = columns - c;
    fold_columns<1>(
        x + c, stride, rows, start, take, join, [&](const T* p) HWY_ATTR { return load_part(d, p, n); },
        [&](size_t, V v) HWY_ATTR { store_part(v, d, y + c, n); });
  }
}

/// Extremes by comparisons alone, whose chains are short; returns false where there is a NaN, which they may lose.
template <bool greatest, class T>
HWY_INLINE bool extremes_of_numbers(const T* x, size_t stride, size_t rows, T* y, size_t columns) {
  const hn::ScalableTag<T> d;
  auto nan = hn::FirstN(d, 0);
  const auto kept = [](auto tag, auto a, auto v) HWY_ATTR { return beyond<greatest>(tag, a, v); };
  fold_all_columns(
      x, stride, rows, y, columns, greatest ? kLowest<T> : kHighest<T>,
      [&](auto tag, auto a, auto v) HWY_ATTR {
        nan = hn::Or(nan, hn::IsNaN(v));
        return kept(tag, a, v);
      },
      kept);
  return hn::AllFalse(d, nan);
}

template <class M, class T>
HWY_INLINE void reduce_columns(ReduceKind kind, const T* x, size_t stride, size_t rows, T* y, size_t columns) {
  if constexpr (std::is_floating_point_v<T>) {
    if (kind == ReduceKind::max && extremes_of_numbers<true>(x, stride, rows, y, columns)) return;
    if (kind == ReduceKind::min && extremes_of_numbers<false>(x, stride, rows, y, columns)) return;
  }
  with_fold<M, T, void>(kind, [&](T start, auto take, auto join)
                                  HWY_ATTR { fold_all_columns(x, stride, rows, y, columns, start, take, join); });
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
