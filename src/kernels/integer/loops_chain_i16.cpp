// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/integer/loops_chain_i16.cpp"
#include <hwy/foreach_target.h>

#include <utility>

#include "kernels/integer/chain-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/signatures.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

int64_t chain_i16(const IntBlock& /*b*/) { return 0; }

#else

using HalfTag = hn::ScalableTag<int16_t>;
using Half = hn::Vec<HalfTag>;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kMaxRows = 7;
#else
constexpr int kMaxRows = 3;
#endif

/// a's elements, then b's, saturated.
HWY_INLINE Half narrowed(Int a, Int b) {
  const HalfTag d16;
  const Half v = hn::ReorderDemote2To(d16, a, b);
  constexpr size_t kLanes = hn::MaxLanes(IntTag());
  if constexpr (kLanes > 4) {
    // Blocks of 16 bytes hold four elements of a and four of b.
    constexpr size_t kBlocks = kLanes / 4;
    alignas(64) int32_t from[kLanes];
    for (size_t block = 0; block < kBlocks; ++block)
      for (size_t i = 0; i < 2; ++i) {
        from[2 * block + i] = static_cast<int32_t>(4 * block + i);
        from[kLanes / 2 + 2 * block + i] = static_cast<int32_t>(4 * block + 2 + i);
      }
    const IntTag d32;
    return hn::BitCast(d16, hn::TableLookupLanes(hn::BitCast(d32, v), hn::SetTableIndices(d32, from)));
  } else {
    return v;
  }
}

/// kRows rows of one vector of int16.
template <int kRows>
struct HalfPart {
  Half v[kRows];

  HWY_INLINE HalfPart() {}  // written out: an implied one is made outside the instruction set's region

  template <class F>
  HWY_INLINE void each(const F& f) {
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) v[i] = f(v[i], i);
  }

  template <class T>
  HWY_INLINE void load_from(const IntOperand& o, int64_t row, int64_t column) {
    const HalfTag d;
    const T* p = static_cast<const T*>(o.p) + row * o.row_stride + (o.one ? 0 : column);
    if (o.one) return each([&](Half, int i) HWY_ATTR { return hn::Set(d, static_cast<int16_t>(p[i * o.row_stride])); });
    const hn::Rebind<T, HalfTag> from;
    each([&](Half, int i) HWY_ATTR {
      if constexpr (sizeof(T) == sizeof(int16_t)) {
        return hn::LoadU(from, p + i * o.row_stride);
      } else {
        return hn::PromoteTo(d, hn::LoadU(from, p + i * o.row_stride));
      }
    });
  }
  HWY_INLINE void load(const IntOperand& o, int64_t row, int64_t column) {
    each([&](Half, int) HWY_ATTR { return hn::Zero(HalfTag()); });
    if (o.type == IntType::i8) return load_from<int8_t>(o, row, column);
    if (o.type == IntType::u8) return load_from<uint8_t>(o, row, column);
    load_from<int16_t>(o, row, column);
  }

  HWY_INLINE void store(const IntBlock& b, int64_t row, int64_t column) {
    const hn::RebindToUnsigned<HalfTag> du;
    const hn::Rebind<uint8_t, decltype(du)> d8;
    const int64_t at = row * b.y_row_stride + column;
    if (b.y_type == IntType::i16)
      each([&](Half x, int i) HWY_ATTR {
        hn::StoreU(x, HalfTag(), static_cast<int16_t*>(b.y) + at + i * b.y_row_stride);
        return x;
      });
    else
      each([&](Half x, int i) HWY_ATTR {
        hn::StoreU(hn::TruncateTo(d8, hn::BitCast(du, x)), d8, static_cast<uint8_t*>(b.y) + at + i * b.y_row_stride);
        return x;
      });
  }

  HWY_INLINE void clamp(int32_t low, int32_t high) {
    const HalfTag d;
    if (low > INT16_MIN) {
      const Half min = hn::Set(d, static_cast<int16_t>(HWY_MIN(low, INT16_MAX)));
      each([&](Half x, int) HWY_ATTR { return hn::Max(x, min); });
    }
    if (high < INT16_MAX) {
      const Half max = hn::Set(d, static_cast<int16_t>(HWY_MAX(high, INT16_MIN)));
      each([&](Half x, int) HWY_ATTR { return hn::Min(x, max); });
    }
  }

  HWY_INLINE void stage(const IntStage& s) {
    const HalfTag d;
    clamp(s.low, s.high);
    if (s.shift > 0) {
      const Half fixed = hn::Set(d, s.fixed);
      each([&](Half x, int) HWY_ATTR { return hn::MulFixedPoint15(x, fixed); });
    } else if (s.factor != 1) {
      const Half factor = hn::Set(d, static_cast<int16_t>(s.factor));
      each([&](Half x, int) HWY_ATTR { return hn::Mul(x, factor); });
    }
    clamp(s.min, s.max);
  }

  HWY_INLINE void combine(IntStepKind kind, const HalfPart& o) {
    switch (kind) {
      case IntStepKind::add:
        return each([&](Half x, int i) HWY_ATTR { return hn::Add(x, o.v[i]); });
      case IntStepKind::subtract:
        return each([&](Half x, int i) HWY_ATTR { return hn::Sub(x, o.v[i]); });
      case IntStepKind::subtract_from:
        return each([&](Half x, int i) HWY_ATTR { return hn::Sub(o.v[i], x); });
      case IntStepKind::multiply:
        return each([&](Half x, int i) HWY_ATTR { return hn::Mul(x, o.v[i]); });
      case IntStepKind::maximum:
        return each([&](Half x, int i) HWY_ATTR { return hn::Max(x, o.v[i]); });
      case IntStepKind::minimum:
        return each([&](Half x, int i) HWY_ATTR { return hn::Min(x, o.v[i]); });
      case IntStepKind::stage:
        return;
    }
  }
};

/// The wide steps of a part, saturated; the last limits of a stage before `narrow` follow on int16.
template <int kRows>
HWY_INLINE void narrow_part(const IntBlock& b, int64_t row, int64_t column, HalfPart<kRows>& half) {
  const size_t lanes = hn::Lanes(IntTag());
  const IntStep* last = b.narrow > 0 ? &b.steps[b.narrow - 1] : nullptr;
  if (last && last->kind != IntStepKind::stage) last = nullptr;
  Part<kRows, 2> part;
  part.load(b.x, row, column, lanes);
  run_steps(b, last ? b.narrow - 1 : b.narrow, row, column, lanes, part);
  if (last) part.product(last->stage);
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) half.v[i] = narrowed(part.v[i][0], part.v[i][1]);
  if (last) half.clamp(last->stage.min, last->stage.max);
}

template <int kRows>
HWY_NOINLINE void run_half(const IntBlock& b, int64_t row, int64_t column) {
  HalfPart<kRows> half;
  if (b.narrow == 0 && b.x.type != IntType::i32) {
    half.load(b.x, row, column);
  } else {
    narrow_part(b, row, column, half);
  }
  for (int s = b.narrow; s < b.n_steps; ++s) {
    const IntStep& step = b.steps[s];
    if (step.kind == IntStepKind::stage) {
      half.stage(step.stage);
    } else {
      HalfPart<kRows> other;
      other.load(b.operands[step.operand], row, column);
      half.combine(step.kind, other);
    }
  }
  half.store(b, row, column);
}

template <int... kRow>
HWY_INLINE void run_rows(const IntBlock& b, int64_t row, int64_t rows, int64_t columns,
                         std::integer_sequence<int, kRow...> /*rows*/) {
  using Function = void (*)(const IntBlock&, int64_t, int64_t);
  static constexpr Function functions[] = {run_half<kRow + 1>...};
  const auto lanes = static_cast<int64_t>(hn::Lanes(HalfTag()));
  for (int64_t column = 0; column < columns; column += lanes) functions[rows - 1](b, row, column);
}

int64_t chain_i16(const IntBlock& b) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(HalfTag()));
  const int64_t columns = b.columns / lanes * lanes;
  for (int64_t row = 0; columns > 0 && row < b.rows;) {
    const int64_t left = b.rows - row;
    const int64_t rows = left >= 2 * kMaxRows ? kMaxRows : left > kMaxRows ? (left + 1) / 2 : left;
    run_rows(b, row, rows, columns, std::make_integer_sequence<int, kMaxRows>());
    row += rows;
  }
  return columns;
}

#endif

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(chain_i16);
}  // namespace nnex::kernels::simd
#endif
