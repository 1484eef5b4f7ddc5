#pragma once
// Element-wise operators over whole tensors: dense results, numpy broadcast. Shapes and lengths count elements.

#include <cstdint>
#include <span>

#include "base/threads.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/nest.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// y[i] = f(x[i]) for i in [0, n). x and y may be the same buffer.
void unary_map(const simd::Loops& loops, Team& team, const Unary& f, const float* x, float* y, int64_t n);

/// y = kind(a, b); nest has operands a, b (broadcast_nest). y may be a or b where that has y's shape.
void binary_broadcast(const simd::Loops& loops, Team& team, BinaryKind kind, const Nest& nest, const float* a,
                      const float* b, float* y);

/// y = a ? b as bytes 1 and 0, for float32 and integers of 32 and 64 bits; nest has operands a, b.
template <class T>
void compare_broadcast(const simd::Loops& loops, Team& team, CompareKind kind, const Nest& nest, const T* a, const T* b,
                       uint8_t* y);

/// y[i] = whether x[i] is not a number; whether it is an infinity of a sign that counts.
void is_nan(const simd::Loops& loops, Team& team, const float* x, uint8_t* y, int64_t n);
void is_inf(Team& team, bool negative, bool positive, const float* x, uint8_t* y, int64_t n);

enum class LogicKind : uint8_t { both, either, one, count };
/// y = a and b, a or b, or just one of them, as bytes 1 and 0; any nonzero byte is true. nest has operands a, b.
void logic_broadcast(Team& team, LogicKind kind, const Nest& nest, const uint8_t* a, const uint8_t* b, uint8_t* y);
/// y[i] = x[i] is 0, for i in [0, n).
void logic_not(Team& team, const uint8_t* x, uint8_t* y, int64_t n);

/// y = which ? a : b, where any nonzero byte is true, for elements of 1, 2, 4 or 8 bytes; nest has operands which, a,
/// b.
void select_broadcast(const simd::Loops& loops, Team& team, int element_bytes, const Nest& nest, const uint8_t* which,
                      const void* a, const void* b, void* y);

}  // namespace nnex::kernels
