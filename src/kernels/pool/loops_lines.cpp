// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/loops_lines.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LineTag = hn::ScalableTag<float>;
using Line = hn::Vec<LineTag>;

/// Of equal ones the earlier stays, NaN wins.
template <bool maximum>
HWY_INLINE float folded(float kept, float next) {
  if constexpr (maximum) return next > kept || next != next ? next : kept;
  return kept + next;
}

/// Where tap t of a window lies in its row.
HWY_INLINE size_t tap_at(const PoolLines& p, size_t t) { return p.phase ? t % 2 * p.phase + t / 2 : t * p.dilation; }

/// One result by itself.
template <bool maximum>
HWY_INLINE float pool_one(const PoolLines& p, const float* x, float divisor) {
  float kept = x[0];
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t t = 0; t < p.taps; ++t)
      if (r + t > 0) kept = folded<maximum>(kept, x[r * p.row_step + tap_at(p, t)]);
  return maximum ? kept : kept / divisor;
}

/// Neighbouring vectors of results; two at once hide what each waits for.
template <size_t kVectors>
using Results = Line[kVectors];

/// Results whose windows are one apart: step(kept, next) folds, load(from, k) reads vector k of those that begin there.
template <bool kPhases, size_t kVectors, class Load, class Step>
HWY_INLINE void pool_near(const PoolLines& p, const float* x, Load load, Step step, Results<kVectors>& kept) {
  HWY_UNROLL(4)
  for (size_t k = 0; k < kVectors; ++k) kept[k] = load(x, k);
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t t = r == 0; t < p.taps; ++t) {
      const float* const from = x + r * p.row_step + (kPhases ? t % 2 * p.phase + t / 2 : t * p.dilation);
      HWY_UNROLL(4)
      for (size_t k = 0; k < kVectors; ++k) kept[k] = step(kept[k], load(from, k));
    }
}

struct WholeVectors {
  HWY_INLINE Line operator()(const float* from, size_t k) const {
    const LineTag d;
    return hn::LoadU(d, from + k * hn::Lanes(d));
  }
};

#if HWY_TARGET != HWY_SCALAR
/// The same of windows two apart, two taps at a time; of an odd count the last is read with the one before it.
template <size_t kVectors, class Step>
HWY_INLINE void pool_far(const PoolLines& p, const float* x, Step step, Results<kVectors>& kept) {
  const LineTag d;
  Line a, b;
  HWY_UNROLL(2)
  for (size_t k = 0; k < kVectors; ++k) {
    hn::LoadInterleaved2(d, x + 2 * k * hn::Lanes(d), a, b);
    kept[k] = step(a, b);
  }
  for (size_t r = 0; r < p.rows; ++r) {
    const float* const row = x + r * p.row_step;
    size_t t = r == 0 ? 2 : 0;
    for (; t + 2 <= p.taps; t += 2) {
      HWY_UNROLL(2)
      for (size_t k = 0; k < kVectors; ++k) {
        hn::LoadInterleaved2(d, row + t + 2 * k * hn::Lanes(d), a, b);
        kept[k] = step(step(kept[k], a), b);
      }
    }
    if (t == p.taps) continue;
    HWY_UNROLL(2)
    for (size_t k = 0; k < kVectors; ++k) {
      hn::LoadInterleaved2(d, row + t - 1 + 2 * k * hn::Lanes(d), a, b);
      kept[k] = step(kept[k], b);
    }
  }
}
#else
template <size_t kVectors, class Step>
HWY_INLINE void pool_far(const PoolLines& p, const float* x, Step step, Results<kVectors>& kept) {
  for (size_t k = 0; k < kVectors; ++k) {  // vectors of one lane
    Results<1> one;
    pool_near<false>(p, x + 2 * k, WholeVectors(), step, one);
    kept[k] = one[0];
  }
}
#endif

template <size_t kVectors, class Step>
HWY_INLINE void pool_vectors(const PoolLines& p, const float* x, Step step, Results<kVectors>& kept) {
  if (p.phase != 0) {
    pool_near<true>(p, x, WholeVectors(), step, kept);
  } else if (p.stride == 1) {
    pool_near<false>(p, x, WholeVectors(), step, kept);
  } else {
    pool_far(p, x, step, kept);
  }
}

/// next > kept ? next : kept, which is x86's own rule.
HWY_INLINE Line greater_of(Line next, Line kept) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(next, kept);
#else
  return hn::IfThenElse(hn::Gt(next, kept), next, kept);
#endif
}

/// By comparisons alone, which keep a NaN that comes first but none that comes later: then all is folded again.
template <size_t kVectors>
HWY_INLINE void greatest(const PoolLines& p, const float* x, Results<kVectors>& kept) {
  const LineTag d;
  auto nan = hn::FirstN(d, 0);
  pool_vectors(
      p, x,
      [&](Line best, Line next) HWY_ATTR {
        nan = hn::Or(nan, hn::IsNaN(next));
        return greater_of(next, best);
      },
      kept);
  if (HWY_LIKELY(hn::AllFalse(d, nan))) return;
  pool_vectors(
      p, x, [&](Line best, Line next) HWY_ATTR { return max_f32(d, next, best); }, kept);
}

/// Whether a NaN may lie in what the windows read or between: then the sum of all is NaN. So it may be without one,
/// where both infinities are there.
HWY_INLINE bool may_be_nan(const PoolLines& p) {
  const LineTag d;
  const size_t last = HWY_MAX(tap_at(p, p.taps - 1), p.taps > 1 ? tap_at(p, p.taps - 2) : 0);
  const size_t lanes = hn::Lanes(d);
  const size_t n = (p.planes - 1) * p.x_plane + (p.lines - 1) * p.x_step + (p.rows - 1) * p.row_step +
                   (p.n - 1) * p.stride + last + 1;
  constexpr size_t kChains = 4;
  Line sum[kChains];
  HWY_UNROLL(4)
  for (size_t k = 0; k < kChains; ++k) sum[k] = hn::Zero(d);
  size_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
    HWY_UNROLL(4)
    for (size_t k = 0; k < kChains; ++k) sum[k] = hn::Add(sum[k], hn::LoadU(d, p.x + i + k * lanes));
  }
  for (; i + lanes <= n; i += lanes) sum[0] = hn::Add(sum[0], hn::LoadU(d, p.x + i));
  if (i < n && n >= lanes) i = n, sum[1] = hn::Add(sum[1], hn::LoadU(d, p.x + n - lanes));
  float rest = 0;
  for (; i < n; ++i) rest += p.x[i];
  const Line all = hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]));
  return rest != rest || !hn::AllFalse(d, hn::IsNaN(all));
}

/// What a call folds by.
enum class Fold { sum, max, max_of_numbers };  // the last: no NaN is there

/// A sum by its divisor; `at` is where y has the result.
HWY_INLINE Line divided(const PoolLines& p, Line sum, size_t at) {
  const LineTag d;
  if (p.divisors) return hn::Div(sum, hn::LoadU(d, p.divisors + at));
  return p.divisor == 1 ? sum : hn::Div(sum, hn::Set(d, p.divisor));
}

/// Of at least kVectors vectors; the last ones of a line may overlap those before them.
template <Fold kFold, size_t kVectors>
HWY_INLINE void pool_wide(const PoolLines& p, const float* x, size_t line) {
  const LineTag d;
  const size_t lanes = hn::Lanes(d), many = kVectors * lanes;
  float* const y = p.y + line * p.y_step;
  for (size_t i = 0; i < p.n; i += many) {
    const size_t o = HWY_MIN(i, p.n - many);
    Results<kVectors> kept;
    if constexpr (kFold == Fold::max) {
      greatest(p, x + o * p.stride, kept);
    } else if constexpr (kFold == Fold::max_of_numbers) {
      pool_vectors(
          p, x + o * p.stride, [](Line best, Line next) HWY_ATTR { return greater_of(next, best); }, kept);
    } else {
      pool_vectors(
          p, x + o * p.stride, [](Line sum, Line next) HWY_ATTR { return hn::Add(sum, next); }, kept);
    }
    if constexpr (kFold == Fold::sum) {
      HWY_UNROLL(2)
      for (size_t k = 0; k < kVectors; ++k) kept[k] = divided(p, kept[k], line * p.y_step + o + k * lanes);
    }
    HWY_UNROLL(2)
    for (size_t k = 0; k < kVectors; ++k) hn::StoreU(kept[k], d, y + o + k * lanes);
  }
}

// Of AVX2 those of 32 bits do not fault.
#define NNEX_READS_PARTS ((!HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_AVX2) && HWY_TARGET != HWY_SCALAR)

#if NNEX_READS_PARTS
/// Lines of fewer results than a vector has lanes, kTogether at once, of whichever planes: the windows that begin at
/// each of kVectors vectors of places are folded, and those that are `stride` apart are picked. The last lines may be
/// done twice. Two vectors overlap where there are fewer places: loads of whole ones take AMD's AVX2 a fraction of
/// those of parts.
template <Fold kFold, size_t kVectors, size_t kTogether>
HWY_INLINE void pool_narrow(const PoolLines p, size_t places) {  // its own copy: y overlaps nothing of it
  const LineTag d;
  const hn::RebindToSigned<LineTag> di;
  const size_t lanes = hn::Lanes(d);
  const auto all_places = hn::FirstN(d, places), results = hn::FirstN(d, p.n);
  const size_t second = places - lanes;  // where the second of two vectors begins
  const auto place = hn::Min(hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(p.stride))),
                             hn::Set(di, static_cast<int32_t>(places - 1)));
  const auto width = hn::Set(di, static_cast<int32_t>(lanes));
  const auto inside = hn::Sub(width, hn::Set(di, 1));
  const auto picked = hn::IndicesFromVec(d, hn::And(place, inside));
  const auto picked_second =
      hn::IndicesFromVec(d, hn::And(hn::Sub(place, hn::Set(di, static_cast<int32_t>(second))), inside));
  const auto in_first = hn::RebindMask(d, hn::Lt(place, width));
  const auto step = [&](Line kept, Line next) HWY_ATTR {
    if constexpr (kFold == Fold::sum) return hn::Add(kept, next);
    if constexpr (kFold == Fold::max_of_numbers) return greater_of(next, kept);
    return max_f32(d, next, kept);
  };
  const size_t total = p.planes * p.lines;
  // Results that follow on each other are stored as whole vectors: what a vector has beyond its line is written by the
  // lines after it. A masked store takes AMD's AVX2 some twelve cycles.
  const bool lines_follow = p.y_step == p.n, planes_follow = p.y_plane == p.lines * p.n;
  const auto end_of_run = [&](size_t of_plane) {
    return lines_follow ? planes_follow ? total * p.n : of_plane * p.y_plane + p.lines * p.n : 0;
  };
  size_t plane = 0, in_it = 0;  // the next line
  for (size_t first = 0; first < total; first += kTogether) {
    const size_t line = total < kTogether ? 0 : HWY_MIN(first, total - kTogether);
    if (line != first) plane = line / p.lines, in_it = line % p.lines;
    size_t begins[kTogether], ends[kTogether], in_plane[kTogether], run_ends[kTogether];
    HWY_UNROLL(4)
    for (size_t k = 0; k < kTogether; ++k) {
      in_plane[k] = in_it * p.y_step;
      begins[k] = plane * p.x_plane + in_it * p.x_step, ends[k] = plane * p.y_plane + in_plane[k];
      run_ends[k] = end_of_run(plane);
      if (line + k + 1 < total && ++in_it == p.lines) ++plane, in_it = 0;
    }
    const auto load = [&](const float* from, size_t k) HWY_ATTR {
      const float* const x = from + begins[k / kVectors];
      if constexpr (kVectors == 1) return hn::MaskedLoad(all_places, d, x);
      return hn::LoadU(d, k % kVectors == 0 ? x : x + second);
    };
    Results<kVectors * kTogether> kept;
    pool_near<false>(p, p.x, load, step, kept);
    HWY_UNROLL(4)
    for (size_t k = 0; k < kTogether; ++k) {
      Line all = kept[k * kVectors];
      if (p.stride != 1) all = hn::TableLookupLanes(all, picked);
      if constexpr (kVectors == 2)
        all = hn::IfThenElse(in_first, all, hn::TableLookupLanes(kept[k * kVectors + 1], picked_second));
      if (kFold == Fold::sum && p.divisors)
        all = hn::Div(all, hn::MaskedLoad(results, d, p.divisors + in_plane[k]));
      else if (kFold == Fold::sum && p.divisor != 1)
        all = hn::Div(all, hn::Set(d, p.divisor));
      if (ends[k] + lanes <= run_ends[k])
        hn::StoreU(all, d, p.y + ends[k]);
      else
        store_part(all, d, p.y + ends[k], p.n);
    }
  }
}
#endif

/// Returns whether the lines are short ones, which are done then, in all planes.
template <Fold kFold>
HWY_INLINE bool pool_narrow_lines(const PoolLines& p) {
#if NNEX_READS_PARTS
  const size_t lanes = hn::Lanes(LineTag()), places = (p.n - 1) * p.stride + 1;
  if (p.n >= lanes || places > 2 * lanes || p.phase != 0) return false;
  constexpr size_t kMany = kFold == Fold::max ? 2 : 4;  // with NaN is rare
  if (places > lanes) {
    pool_narrow<kFold, 2, 2>(p, places);
  } else if (p.planes * p.lines < kMany) {
    pool_narrow<kFold, 1, 2>(p, places);
  } else {
    pool_narrow<kFold, 1, kMany>(p, places);
  }
  return true;
#else
  (void)p;
  return false;
#endif
}

#undef NNEX_READS_PARTS

template <Fold kFold>
HWY_INLINE void pool_line(const PoolLines& p, size_t line) {
  const float* const x = p.x + line * p.x_step;
  const size_t lanes = hn::Lanes(LineTag());
  const bool in_vectors = p.stride == 1 || (p.stride == 2 && p.dilation == 1);
  if (in_vectors && p.n >= 2 * lanes) {
    pool_wide<kFold, 2>(p, x, line);
  } else if (in_vectors && p.n >= lanes) {
    pool_wide<kFold, 1>(p, x, line);
  } else {
    for (size_t o = 0; o < p.n; ++o) {
      const size_t at = line * p.y_step + o;
      p.y[at] = pool_one<kFold != Fold::sum>(p, x + o * p.stride, p.divisors ? p.divisors[at] : p.divisor);
    }
  }
}

/// Windows of three by three, one apart, of kTogether lines at once: each vector is loaded once for all lines it meets,
/// and their sums hide each other's latency; of a maximum, without NaN, each row's is folded once. Returns how many
/// lines are done.
template <bool maximum>
HWY_INLINE size_t three_by_three(const PoolLines p) {
  const LineTag d;
  constexpr size_t kTogether = 4, kTaps = 3;
  const size_t lanes = hn::Lanes(d);
  if (p.rows != kTaps || p.taps != kTaps || p.stride != 1 || p.x_step != p.row_step || p.n < lanes) return 0;
  size_t line = 0;
  for (; line + kTogether <= p.lines; line += kTogether)
    for (size_t i = 0; i < p.n; i += lanes) {
      const size_t o = HWY_MIN(i, p.n - lanes);
      const float* const x = p.x + line * p.x_step + o;
      Line kept[kTogether];
      HWY_UNROLL(6)
      for (size_t q = 0; q < kTogether + kTaps - 1; ++q) {
        Line row[kTaps];
        HWY_UNROLL(3)
        for (size_t t = 0; t < kTaps; ++t) row[t] = hn::LoadU(d, x + q * p.row_step + tap_at(p, t));
        if constexpr (maximum) row[0] = greater_of(row[2], greater_of(row[1], row[0]));
        HWY_UNROLL(3)
        for (size_t t = 0; t < (maximum ? 1 : kTaps); ++t) {
          HWY_UNROLL(4)
          for (size_t l = 0; l < kTogether; ++l)
            if (q == l && t == 0)
              kept[l] = row[t];
            else if (q >= l && q < l + kTaps)
              kept[l] = maximum ? greater_of(row[t], kept[l]) : hn::Add(kept[l], row[t]);
        }
      }
      HWY_UNROLL(4)
      for (size_t l = 0; l < kTogether; ++l) {
        const size_t at = (line + l) * p.y_step + o;
        hn::StoreU(maximum ? kept[l] : divided(p, kept[l], at), d, p.y + at);
      }
    }
  return line;
}

/// Maxima down columns, without NaN, of kTogether lines at once: what all of their windows share is folded once. What
/// is read goes through `seen`, results through `done`. Returns how many lines are done.
template <size_t kTogether, class Seen, class Done>
HWY_INLINE size_t maxima_together(const PoolLines& p, Seen seen, Done done) {
  const LineTag d;
  const size_t lanes = hn::Lanes(d);
  if (p.rows < kTogether || p.taps != 1 || p.stride != 1 || p.x_step != p.row_step || p.n < lanes) return 0;
  const size_t rows = p.rows, step = p.row_step, n = p.n, y_step = p.y_step;
  size_t line = 0;
  for (; line + kTogether <= p.lines; line += kTogether)
    for (size_t i = 0; i < n; i += lanes) {
      const size_t o = HWY_MIN(i, n - lanes);
      const float* const x = p.x + line * step + o;
      const auto row = [&](size_t r) HWY_ATTR { return seen(hn::LoadU(d, x + r * step)); };
      Line best[kTogether];  // best[l]: of rows l up to the first window's last
      best[kTogether - 1] = row(kTogether - 1);
      for (size_t r = kTogether; r < rows; ++r) best[kTogether - 1] = greater_of(row(r), best[kTogether - 1]);
      HWY_UNROLL(4)
      for (size_t l = kTogether - 1; l > 0; --l) best[l - 1] = greater_of(best[l], row(l - 1));
      float* const y = p.y + line * y_step + o;
      hn::StoreU(done(best[0]), d, y);
      Line after = row(rows);
      HWY_UNROLL(4)
      for (size_t l = 1; l < kTogether; ++l) {
        if (l > 1) after = greater_of(row(rows + l - 1), after);
        hn::StoreU(done(greater_of(after, best[l])), d, y + l * y_step);
      }
    }
  return line;
}

/// Sums of one tap.
HWY_INLINE void copy_lines(const PoolLines p) {
  const LineTag d;
  const size_t lanes = hn::Lanes(d), end = p.n - lanes;
  const float* x = p.x;
  float* y = p.y;
  for (size_t line = 0; line < p.lines; ++line, x += p.x_step, y += p.y_step) {
    for (size_t i = 0; i < end; i += lanes) hn::StoreU(hn::LoadU(d, x + i), d, y + i);
    hn::StoreU(hn::LoadU(d, x + end), d, y + end);
  }
}

template <Fold kFold>
HWY_INLINE void pool_plane(const PoolLines& p) {
  const bool copies = p.rows * p.taps * p.stride == 1 && p.divisor == 1 && !p.divisors;
  if (kFold == Fold::sum && copies && p.n >= hn::Lanes(LineTag())) return copy_lines(p);
  size_t line = 0;
  if constexpr (kFold != Fold::max) line = three_by_three<kFold != Fold::sum>(p);
  if constexpr (kFold == Fold::max_of_numbers) {
    const auto as_it_is = [](Line v) HWY_ATTR { return v; };
    if (line == 0)
      line = p.rows < 4 ? maxima_together<2>(p, as_it_is, as_it_is) : maxima_together<4>(p, as_it_is, as_it_is);
  }
  for (; line < p.lines; ++line) pool_line<kFold>(p, line);
}

template <Fold kFold>
HWY_INLINE void pool_all_lines(const PoolLines& all) {
  if (pool_narrow_lines<kFold>(all)) return;
  PoolLines p = all;
  for (size_t plane = 0; plane < all.planes; ++plane, p.x += all.x_plane, p.y += all.y_plane) pool_plane<kFold>(p);
}

void pool_lines_f32(const PoolLines& p) {
  if (p.planes == 0 || p.lines == 0 || p.n == 0) return;
  // In steps of two the loads of a look beforehand cost more.
  const bool numbers = p.plain || ((p.stride != 2 || p.n < hn::Lanes(LineTag())) && p.maximum && !may_be_nan(p));
  if (!p.maximum) {
    pool_all_lines<Fold::sum>(p);
  } else if (numbers) {
    pool_all_lines<Fold::max_of_numbers>(p);
  } else {
    pool_all_lines<Fold::max>(p);
  }
}

/// v, which the compiler is not to load again for each use: windows cross cache lines, which costs a load two.
HWY_INLINE Line loaded_once(Line v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  asm("" : "+v"(v.raw));
#endif
  return v;
}

bool max_rows_f32(const PoolLines& all) {
  const LineTag d;
  const hn::RebindToSigned<LineTag> di;
  PoolLines p = all;  // its own copy: y overlaps nothing of it
  const size_t lanes = hn::Lanes(d);
  auto nan = hn::FirstN(d, 0);
  auto least = hn::Zero(di);  // of the bits of results: those of -0 are the least
  const auto seen = [&](Line v) HWY_ATTR {
    v = loaded_once(v);
    nan = hn::Or(nan, hn::IsNaN(v));
    return v;
  };
  const auto done = [&](Line v) HWY_ATTR {
    least = hn::Min(least, hn::BitCast(di, v));
    return v;
  };
  for (size_t plane = 0; plane < all.planes; ++plane, p.x += p.x_plane, p.y += p.y_plane)
    for (size_t line = maxima_together<4>(p, seen, done); line < p.lines; ++line) {
      const float* const x = p.x + line * p.x_step;
      float* const y = p.y + line * p.y_step;
      const auto best = [&](auto load) HWY_ATTR {
        Line kept = seen(load(x));
        for (size_t r = 1; r < p.rows; ++r) kept = greater_of(seen(load(x + r * p.row_step)), kept);
        return done(kept);
      };
      if (p.n < lanes) {
        store_part(best([&](const float* from) HWY_ATTR { return load_part(d, from, p.n); }), d, y, p.n);
        continue;
      }
      for (size_t i = 0; i < p.n; i += lanes) {
        const size_t o = HWY_MIN(i, p.n - lanes);
        hn::StoreU(best([&](const float* from) HWY_ATTR { return hn::LoadU(d, from + o); }), d, y + o);
      }
    }
  return hn::AllFalse(d, nan) && hn::AllFalse(di, hn::Eq(least, hn::Set(di, hwy::LimitsMin<int32_t>())));
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(pool_lines_f32);
NNEX_SIMD_BUILDS(max_rows_f32);
}  // namespace nnex::kernels::simd
#endif
