#include "kernels/elementwise/elementwise.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/split.h"
#include "base/try.h"
#include "kernels/elementwise/chain.h"
#include "kernels/elementwise/pairs.h"

namespace nnex::kernels {
namespace {

/// Calls body(offsets of the operands, row, begin, end) for the parts of a nest: whole rows, or pieces of long ones
/// when there are few.
void split_rows(Team& team, const Nest& nest, int64_t bytes,
                FunctionRef<void(const NestRows& offsets, int64_t row, int64_t begin, int64_t end)> body) {
  if (nest.elements == 0) return;
  const int64_t n = nest.row_length(), rows = nest.rows();
  if (rows >= parts_for(team, bytes)) {
    split(team, rows, bytes, 1, [&](int64_t begin, int64_t end) {
      NestRows at(nest, begin);
      for (int64_t row = begin; row < end; ++row, at.next()) body(at, row * n, int64_t{0}, n);
    });
  } else {
    split(team, n, bytes, 64, [&](int64_t begin, int64_t end) {
      NestRows at(nest, 0);
      for (int64_t row = 0; row < rows; ++row, at.next()) body(at, row * n, begin, end);
    });
  }
}

simd::CompareOf<float>* compare_loop(const simd::Loops& loops, const float*) { return loops.compare_f32; }
simd::CompareOf<int32_t>* compare_loop(const simd::Loops& loops, const int32_t*) { return loops.compare_i32; }
simd::CompareOf<int64_t>* compare_loop(const simd::Loops& loops, const int64_t*) { return loops.compare_i64; }

/// Bytes may alias what a closure refers to: everything stands in registers here.
void equal_bits(const float* x, uint32_t kept, uint32_t wanted, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    y[i] = (bits & kept) == wanted;
  }
}

/// Of an element that `which` chooses; by bits, not by a jump that nobody can foretell.
template <class T>
void select_row(const uint8_t* which, const T* a, const T* b, T* y, int64_t n, int64_t step_w, int64_t step_a,
                int64_t step_b) {
  const auto chosen = [](uint8_t w, T u, T v) {
    const T mask = static_cast<T>(T(0) - T(w != 0));
    return static_cast<T>((u & mask) | (v & static_cast<T>(~mask)));
  };
  if (step_w == 1 && step_a == 1 && step_b == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = chosen(which[i], a[i], b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = chosen(which[i * step_w], a[i * step_a], b[i * step_b]);
  }
}

template <class T>
void select_elements(Team& team, const Nest& nest, const uint8_t* which, const T* a, const T* b, T* y) {
  const int64_t step_w = nest.row_stride(0), step_a = nest.row_stride(1), step_b = nest.row_stride(2);
  split_rows(team, nest, nest.elements * int64_t{sizeof(T)} * 3,
             [&](const NestRows& at, int64_t to, int64_t begin, int64_t end) {
               select_row(which + at.offset(0) + begin * step_w, a + at.offset(1) + begin * step_a,
                          b + at.offset(2) + begin * step_b, y + to + begin, end - begin, step_w, step_a, step_b);
             });
}

}  // namespace

void unary_map(const simd::Loops& loops, Team& team, const Unary& f, const float* x, float* y, int64_t n) {
  split(team, n, n * (8 + cost_of({.a = 0, .unary = f})), 1024, [&](int64_t begin, int64_t end) {
    loops.unary_f32(f, x + begin, y + begin, static_cast<size_t>(end - begin));
  });
}

void binary_broadcast(const simd::Loops& loops, Team& team, BinaryKind kind, const Nest& nest, const float* a,
                      const float* b, float* y) {
  NNEX_ASSERT(nest.operands == 2);
  const ChainStep step = {.a = 0, .b = 1, .binary = kind};
  const float* const inputs[] = {a, b};
  Chain::make(nest, {&step, 1})->run(loops, team, inputs, y);
}

template <class T>
void compare_broadcast(const simd::Loops& loops, Team& team, CompareKind kind, const Nest& nest, const T* a, const T* b,
                       uint8_t* y) {
  const auto compare = compare_loop(loops, a);
  each_pair(team, nest, sizeof(T), 1, a, b, y, [&](const void* u, const void* v, void* to, int64_t n) {
    compare(kind, static_cast<const T*>(u), static_cast<const T*>(v), static_cast<uint8_t*>(to),
            static_cast<size_t>(n));
  });
}
template void compare_broadcast(const simd::Loops&, Team&, CompareKind, const Nest&, const float*, const float*,
                                uint8_t*);
template void compare_broadcast(const simd::Loops&, Team&, CompareKind, const Nest&, const int32_t*, const int32_t*,
                                uint8_t*);
template void compare_broadcast(const simd::Loops&, Team&, CompareKind, const Nest&, const int64_t*, const int64_t*,
                                uint8_t*);

void logic_broadcast(Team& team, LogicKind kind, const Nest& nest, const uint8_t* a, const uint8_t* b, uint8_t* y) {
  const auto apply = [&](auto f) { each_pair(team, nest, a, b, y, f); };
  switch (kind) {
    case LogicKind::both:
      return apply([](uint8_t u, uint8_t v) { return static_cast<uint8_t>((u != 0) & (v != 0)); });
    case LogicKind::either:
      return apply([](uint8_t u, uint8_t v) { return static_cast<uint8_t>((u | v) != 0); });
    case LogicKind::one:
      return apply([](uint8_t u, uint8_t v) { return static_cast<uint8_t>((u != 0) != (v != 0)); });
    case LogicKind::count:
      break;
  }
}

void logic_not(Team& team, const uint8_t* x, uint8_t* y, int64_t n) {
  split(team, n, n * 2, 64, [&](int64_t begin, int64_t end) {
    const uint8_t* from = x + begin;  // bytes may alias what the closure refers to
    uint8_t* to = y + begin;
    for (int64_t i = 0; i < end - begin; ++i) to[i] = from[i] == 0;
  });
}

void is_nan(const simd::Loops& loops, Team& team, const float* x, uint8_t* y, int64_t n) {
  split(team, n, n * 5, 64, [&](int64_t begin, int64_t end) {
    loops.compare_f32(CompareKind::ne, x + begin, x + begin, y + begin, static_cast<size_t>(end - begin));
  });
}

void is_inf(Team& team, bool negative, bool positive, const float* x, uint8_t* y, int64_t n) {
  constexpr uint32_t kInfinity = 0x7f800000, kSign = 0x80000000;
  if (!negative && !positive) {
    std::fill_n(y, n, uint8_t{0});
    return;
  }
  const uint32_t kept = negative && positive ? ~kSign : ~uint32_t{0};
  const uint32_t wanted = positive ? kInfinity : kInfinity | kSign;
  split(team, n, n * 5, 64,
        [&](int64_t begin, int64_t end) { equal_bits(x + begin, kept, wanted, y + begin, end - begin); });
}

void select_broadcast(const simd::Loops& loops, Team& team, int element_bytes, const Nest& nest, const uint8_t* which,
                      const void* a, const void* b, void* y) {
  NNEX_ASSERT(nest.operands == 3);
  const auto plain = [&]<class T>(T* to) {
    select_elements(team, nest, which, static_cast<const T*>(a), static_cast<const T*>(b), to);
  };
  const int64_t step_a = nest.row_stride(1), step_b = nest.row_stride(2);
  const bool has_loop = nest.row_stride(0) == 1 && (step_a | 1) == 1 && (step_b | 1) == 1 && nest.row_length() >= 16;
  switch (element_bytes) {
    case 1:
      return plain(static_cast<uint8_t*>(y));
    case 2:
      return plain(static_cast<uint16_t*>(y));
    case 8:
      return plain(static_cast<uint64_t*>(y));
    default:
      break;
  }
  NNEX_ASSERT(element_bytes == 4);
  if (!has_loop) return plain(static_cast<uint32_t*>(y));
  split_rows(team, nest, nest.elements * 13, [&](const NestRows& at, int64_t to, int64_t begin, int64_t end) {
    loops.select_u32(which + at.offset(0) + begin, static_cast<const uint32_t*>(a) + at.offset(1) + begin * step_a,
                     static_cast<const uint32_t*>(b) + at.offset(2) + begin * step_b,
                     static_cast<uint32_t*>(y) + to + begin, static_cast<size_t>(end - begin),
                     static_cast<size_t>(step_a), static_cast<size_t>(step_b));
  });
}

}  // namespace nnex::kernels
