#pragma once
// Changing element types of whole tensors: quantise, dequantise, cast.

#include <cstdint>
#include <type_traits>

#include "base/threads.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// y[o, c, i] = saturate(half_even(x[o, c, i] / scale[c]) + zero[c]) for T of 8 or 16 bits; zero may be null. One
/// scale for the tensor: channels = 1. NaN counts as 0.
template <class T>
void quantize(const simd::Loops& loops, Team& team, const float* x, const float* scale, const T* zero, T* y,
              int64_t outer, int64_t channels, int64_t inner);

/// y[o, c, i] = (x[o, c, i] - zero[c]) * scale[c].
template <class T>
void dequantize(const simd::Loops& loops, Team& team, const T* x, const float* scale, const T* zero, float* y,
                int64_t outer, int64_t channels, int64_t inner);

/// Runs one of the conversion loops (loops.f16_from_f32, ...) over n elements on the team.
template <class From, class To>
using ConvertLoop = std::type_identity_t<void (*)(const From*, To*, size_t)>;
template <class From, class To>
void convert(Team& team, ConvertLoop<From, To> loop, const From* x, To* y, int64_t n);

/// Casts without a loop of vectors: wider integers lose their high bits.
void cast_i64_to_i32(Team& team, const int64_t* x, int32_t* y, int64_t n);
void cast_i32_to_i64(Team& team, const int32_t* x, int64_t* y, int64_t n);

}  // namespace nnex::kernels
