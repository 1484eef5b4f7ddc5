// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/chain_i32.cpp"
#include <hwy/foreach_target.h>

#include <cstring>

#include "kernels/simd/builds.h"
#include "kernels/simd/int_loops.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::ScalableTag<int32_t>;
using Int = hn::Vec<IntTag>;

/// The first `count` elements at p as int32, then zeros.
template <class T>
HWY_INLINE Int load_ints(const T* p, size_t count) {
  const IntTag d;
  const hn::Rebind<T, IntTag> from;
  const auto narrow = [&]() HWY_ATTR {
    if (count == hn::Lanes(d)) return hn::LoadU(from, p);
    HWY_ALIGN T padded[HWY_MAX_BYTES / sizeof(int32_t)] = {};
    std::memcpy(padded, p, count * sizeof(T));
    return hn::LoadU(from, padded);
  };
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    return narrow();
  } else {
    return hn::PromoteTo(d, narrow());
  }
}

/// The low bits of v to the first `count` elements at p.
template <class T>
HWY_INLINE void store_ints(Int v, T* p, size_t count) {
  const IntTag d;
  const hn::RebindToUnsigned<IntTag> du;
  const hn::Rebind<T, decltype(du)> to;
  const auto narrow = [&]() HWY_ATTR {
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      return hn::BitCast(du, v);
    } else {
      return hn::TruncateTo(to, hn::BitCast(du, v));
    }
  };
  if (count == hn::Lanes(d)) return hn::StoreU(narrow(), to, p);
  HWY_ALIGN T padded[HWY_MAX_BYTES / sizeof(int32_t)];
  hn::StoreU(narrow(), to, padded);
  std::memcpy(p, padded, count * sizeof(T));
}

/// A part of a block: kRows rows of kVectors vectors, of which the last has `count` elements.
template <int kRows, int kVectors>
struct Part {
  Int v[kRows][kVectors];

  template <class F>
  HWY_INLINE void each(const F& f) {
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) v[i][j] = f(v[i][j], i, j);
    }
  }

  template <class F>
  HWY_INLINE void fill(const F& f) {
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) v[i][j] = f(i, j);
    }
  }

  template <class T>
  HWY_INLINE void load_from(const IntOperand& o, int64_t row, int64_t column, size_t count) {
    const IntTag d;
    const T* p = static_cast<const T*>(o.p) + row * o.row_stride + (o.one ? 0 : column);
    if (o.one) {
      fill([&](int i, int) HWY_ATTR { return hn::Set(d, static_cast<int32_t>(p[i * o.row_stride])); });
    } else {
      fill([&](int i, int j)
               HWY_ATTR { return load_ints(p + i * o.row_stride + static_cast<int64_t>(hn::Lanes(d)) * j, count); });
    }
  }
  HWY_INLINE void load(const IntOperand& o, int64_t row, int64_t column, size_t count) {
    if (o.type == IntType::i8) return load_from<int8_t>(o, row, column, count);
    if (o.type == IntType::u8) return load_from<uint8_t>(o, row, column, count);
    if (o.type == IntType::i16) return load_from<int16_t>(o, row, column, count);
    load_from<int32_t>(o, row, column, count);
  }

  template <class T>
  HWY_INLINE void store_to(const IntBlock& b, int64_t row, int64_t column, size_t count) {
    T* y = static_cast<T*>(b.y) + row * b.y_row_stride + column;
    each([&](Int value, int i, int j) HWY_ATTR {
      store_ints(value, y + i * b.y_row_stride + static_cast<int64_t>(hn::Lanes(IntTag())) * j, count);
      return value;
    });
  }
  HWY_INLINE void store(const IntBlock& b, int64_t row, int64_t column, size_t count) {
    switch (b.y_type) {
      case IntType::i8:
      case IntType::u8:
        return store_to<uint8_t>(b, row, column, count);
      case IntType::i16:
        return store_to<uint16_t>(b, row, column, count);
      case IntType::i32:
        return store_to<uint32_t>(b, row, column, count);
    }
  }

  HWY_INLINE void clamp(int32_t low, int32_t high) {
    const IntTag d;
    const Int least = hn::Set(d, low), most = hn::Set(d, high);
    each([&](Int x, int, int) HWY_ATTR { return hn::Min(hn::Max(x, least), most); });
  }

  HWY_INLINE void stage(const IntStage& s) {
    const IntTag d;
    if (s.low != INT32_MIN || s.high != INT32_MAX) clamp(s.low, s.high);
    if (s.factor != 1) {
      const Int factor = hn::Set(d, s.factor);
      each([&](Int x, int, int) HWY_ATTR { return hn::Mul(x, factor); });
    }
    if (s.shift > 0) {
      // ((x >> (s - 1)) + 1) >> 1 without the sum's carry: halves go up.
      const int whole = HWY_MIN(s.shift, 31), half = s.shift - 1;
      const Int one = hn::Set(d, 1);
      each([&](Int x, int, int)
               HWY_ATTR { return hn::Add(hn::ShiftRightSame(x, whole), hn::And(hn::ShiftRightSame(x, half), one)); });
    }
    if (s.least != INT32_MIN || s.most != INT32_MAX) clamp(s.least, s.most);
  }

  HWY_INLINE void combine(IntStepKind kind, const Part& o) {
    switch (kind) {
      case IntStepKind::add:
        return each([&](Int x, int i, int j) HWY_ATTR { return hn::Add(x, o.v[i][j]); });
      case IntStepKind::subtract:
        return each([&](Int x, int i, int j) HWY_ATTR { return hn::Sub(x, o.v[i][j]); });
      case IntStepKind::subtract_from:
        return each([&](Int x, int i, int j) HWY_ATTR { return hn::Sub(o.v[i][j], x); });
      case IntStepKind::multiply:
        return each([&](Int x, int i, int j) HWY_ATTR { return hn::Mul(x, o.v[i][j]); });
      case IntStepKind::maximum:
        return each([&](Int x, int i, int j) HWY_ATTR { return hn::Max(x, o.v[i][j]); });
      case IntStepKind::minimum:
        return each([&](Int x, int i, int j) HWY_ATTR { return hn::Min(x, o.v[i][j]); });
      case IntStepKind::stage:
        return;
    }
  }
};

template <int kRows, int kVectors>
HWY_NOINLINE void run_part(const IntBlock& b, int64_t row, int64_t column, size_t count) {
  Part<kRows, kVectors> part;
  part.load(b.x, row, column, count);
  for (int s = 0; s < b.n_steps; ++s) {
    const IntStep& step = b.steps[s];
    if (step.kind == IntStepKind::stage) {
      part.stage(step.stage);
    } else {
      Part<kRows, kVectors> other;
      other.load(b.operands[step.operand], row, column, count);
      part.combine(step.kind, other);
    }
  }
  part.store(b, row, column, count);
}

void chain_i32(const IntBlock& b) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(IntTag()));
  const auto all = static_cast<size_t>(lanes);
  int64_t row = 0;
  for (; row + 4 <= b.rows; row += 4) {
    int64_t column = 0;
    for (; column + 2 * lanes <= b.columns; column += 2 * lanes) run_part<4, 2>(b, row, column, all);
    for (; column < b.columns; column += lanes)
      run_part<4, 1>(b, row, column, static_cast<size_t>(HWY_MIN(lanes, b.columns - column)));
  }
  for (; row < b.rows; ++row) {
    int64_t column = 0;
    for (; column + 2 * lanes <= b.columns; column += 2 * lanes) run_part<1, 2>(b, row, column, all);
    for (; column < b.columns; column += lanes)
      run_part<1, 1>(b, row, column, static_cast<size_t>(HWY_MIN(lanes, b.columns - column)));
  }
}

/// y[i] = the greatest of taps[t][i]; flip 0x80: of signed bytes.
void max_bytes(uint8_t flip, const uint8_t* const* taps, size_t count, uint8_t* y, size_t n) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const auto sign = hn::Set(d, flip);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t here = HWY_MIN(lanes, n - i);
    const auto load = [&](const uint8_t* p)
                          HWY_ATTR { return here == lanes ? hn::LoadU(d, p) : load_part(d, p, here); };
    auto most = hn::Xor(load(taps[0] + i), sign);
    for (size_t t = 1; t < count; ++t) most = hn::Max(most, hn::Xor(load(taps[t] + i), sign));
    most = hn::Xor(most, sign);
    if (here == lanes) {
      hn::StoreU(most, d, y + i);
    } else {
      store_part(most, d, y + i, here);
    }
  }
}

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(chain_i32);
NNEX_SIMD_BUILDS(max_bytes);
}  // namespace nnex::simd
#endif
