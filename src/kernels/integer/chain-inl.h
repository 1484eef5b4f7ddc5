// Vectors of int32 on their way through a chain; included once per instruction set by the files that loop over them.

#include <cstring>

#include "kernels/integer/loops_chain_i32.h"
#include "kernels/simd/map-inl.h"

#if defined(NNEX_KERNELS_SIMD_CHAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_CHAIN_INL_H_
#undef NNEX_KERNELS_SIMD_CHAIN_INL_H_
#else
#define NNEX_KERNELS_SIMD_CHAIN_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
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

/// x >> bits. AVX shifts each element by its own count with one instruction, all by the same one with two.
HWY_INLINE Int shifted(Int x, Int bits, int same) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  (void)same;
  return hn::Shr(x, bits);
#else
  (void)bits;
  return hn::ShiftRightSame(x, same);
#endif
}

/// A part of a block: kRows rows of kVectors vectors, of which the last has `count` elements.
template <int kRows, int kVectors>
struct Part {
  Int v[kRows][kVectors];

  HWY_INLINE Part() {}  // written out: an implied one is made outside the instruction set's region

  template <class F>
  HWY_INLINE void each(const F& f) {
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) v[i][j] = f(v[i][j], i, j);
    }
  }

  template <class F>
  HWY_INLINE void fill(const F& f) {
    HWY_UNROLL(8)
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
    if (low != INT32_MIN) {
      const Int min = hn::Set(d, low);
      each([&](Int x, int, int) HWY_ATTR { return hn::Max(x, min); });
    }
    if (high != INT32_MAX) {
      const Int max = hn::Set(d, high);
      each([&](Int x, int, int) HWY_ATTR { return hn::Min(x, max); });
    }
  }

  /// A stage up to its last limits.
  HWY_INLINE void product(const IntStage& s) {
    const IntTag d;
    clamp(s.low, s.high);
    if (s.factor != 1) {
      const Int factor = hn::Set(d, s.factor);
      each([&](Int x, int, int) HWY_ATTR { return hn::Mul(x, factor); });
    }
    if (s.shift > 0 && !s.carries) {
      const Int half = hn::Set(d, int32_t{1} << (s.shift - 1)), bits = hn::Set(d, s.shift);
      each([&](Int x, int, int) HWY_ATTR { return shifted(hn::Add(x, half), bits, s.shift); });
    } else if (s.shift > 0) {
      // ((x >> (s - 1)) + 1) >> 1 without the sum's carry: halves go up.
      const int whole = HWY_MIN(s.shift, 31), half = s.shift - 1;
      const Int one = hn::Set(d, 1), bits = hn::Set(d, whole), less = hn::Set(d, half);
      each([&](Int x, int, int)
               HWY_ATTR { return hn::Add(shifted(x, bits, whole), hn::And(shifted(x, less, half), one)); });
    }
  }
  HWY_INLINE void stage(const IntStage& s) {
    product(s);
    clamp(s.min, s.max);
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

/// A part of a block through the first `steps` steps.
template <int kRows, int kVectors>
HWY_INLINE void run_steps(const IntBlock& b, int steps, int64_t row, int64_t column, size_t count,
                          Part<kRows, kVectors>& part) {
  for (int s = 0; s < steps; ++s) {
    const IntStep& step = b.steps[s];
    if (step.kind == IntStepKind::stage) {
      part.stage(step.stage);
    } else {
      Part<kRows, kVectors> other;
      other.load(b.operands[step.operand], row, column, count);
      part.combine(step.kind, other);
    }
  }
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
