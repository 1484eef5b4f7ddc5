#include "kernels/convert/convert.h"

#include <limits>
#include <type_traits>

#include "base/split.h"

namespace nnex::kernels {
namespace {

template <class T>
void dequantize_wide(const T* x, const float* scale, const T* zero, size_t step, float* y, size_t n) {
  const float first = *scale;
  const int32_t one_zero = zero ? *zero : 0;
  if (step == 0) {
    for (size_t i = 0; i < n; ++i) y[i] = static_cast<float>(int32_t{x[i]} - one_zero) * first;
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = static_cast<float>(int32_t{x[i]} - (zero ? zero[i] : 0)) * scale[i];
  }
}

template <class T>
simd::QuantizeTo<T>* quantize_loop(const simd::Loops& loops) {
  if constexpr (sizeof(T) == 2) {
    if constexpr (std::is_signed_v<T>)
      return loops.quantize_s16;
    else
      return loops.quantize_u16;
  } else if constexpr (std::is_signed_v<T>) {
    return loops.quantize_s8;
  } else {
    return loops.quantize_u8;
  }
}

template <class T>
auto dequantize_loop([[maybe_unused]] const simd::Loops& loops) {
  if constexpr (sizeof(T) == 2) {
    return dequantize_wide<T>;
  } else if constexpr (std::is_signed_v<T>) {
    return loops.dequantize_s8;
  } else {
    return loops.dequantize_u8;
  }
}

/// Calls loop(x, scale, zero, step, y, n) for [outer, channels, inner].
template <class X, class Y, class Z, class Loop>
void by_channel(Team& team, Loop loop, const X* x, const float* scale, const Z* zero, Y* y, int64_t outer,
                int64_t channels, int64_t inner) {
  const int64_t elements = outer * channels * inner, bytes = elements * 8;
  const auto at = [zero](int64_t c) { return zero ? zero + c : nullptr; };
  if (channels == 1) {
    split(team, elements, bytes, 64, [&](int64_t begin, int64_t end) {
      loop(x + begin, scale, zero, 0, y + begin, static_cast<size_t>(end - begin));
    });
  } else if (inner == 1) {
    split(team, outer, bytes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        loop(x + o * channels, scale, zero, 1, y + o * channels, static_cast<size_t>(channels));
    });
  } else {
    split(team, outer * channels, bytes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        loop(x + row * inner, scale + row % channels, at(row % channels), 0, y + row * inner,
             static_cast<size_t>(inner));
    });
  }
}

template <class X, class Y, class F>
void each(Team& team, const X* x, Y* y, int64_t n, F f) {
  split(team, n, n * int64_t{sizeof(X) + sizeof(Y)}, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
  });
}

}  // namespace

template <class T>
void quantize(const simd::Loops& loops, Team& team, const float* x, const float* scale, const T* zero, T* y,
              int64_t outer, int64_t channels, int64_t inner) {
  by_channel(team, quantize_loop<T>(loops), x, scale, zero, y, outer, channels, inner);
}
template void quantize(const simd::Loops&, Team&, const float*, const float*, const uint8_t*, uint8_t*, int64_t,
                       int64_t, int64_t);
template void quantize(const simd::Loops&, Team&, const float*, const float*, const int8_t*, int8_t*, int64_t, int64_t,
                       int64_t);
template void quantize(const simd::Loops&, Team&, const float*, const float*, const uint16_t*, uint16_t*, int64_t,
                       int64_t, int64_t);
template void quantize(const simd::Loops&, Team&, const float*, const float*, const int16_t*, int16_t*, int64_t,
                       int64_t, int64_t);

template <class T>
void dequantize(const simd::Loops& loops, Team& team, const T* x, const float* scale, const T* zero, float* y,
                int64_t outer, int64_t channels, int64_t inner) {
  by_channel(team, dequantize_loop<T>(loops), x, scale, zero, y, outer, channels, inner);
}
template void dequantize(const simd::Loops&, Team&, const uint8_t*, const float*, const uint8_t*, float*, int64_t,
                         int64_t, int64_t);
template void dequantize(const simd::Loops&, Team&, const int8_t*, const float*, const int8_t*, float*, int64_t,
                         int64_t, int64_t);
template void dequantize(const simd::Loops&, Team&, const uint16_t*, const float*, const uint16_t*, float*, int64_t,
                         int64_t, int64_t);
template void dequantize(const simd::Loops&, Team&, const int16_t*, const float*, const int16_t*, float*, int64_t,
                         int64_t, int64_t);

template <class From, class To>
void convert(Team& team, ConvertLoop<From, To> loop, const From* x, To* y, int64_t n) {
  split(team, n, n * int64_t{sizeof(From) + sizeof(To)}, 64,
        [&](int64_t begin, int64_t end) { loop(x + begin, y + begin, static_cast<size_t>(end - begin)); });
}
template void convert(Team&, ConvertLoop<float, uint16_t>, const float*, uint16_t*, int64_t);
template void convert(Team&, ConvertLoop<uint16_t, float>, const uint16_t*, float*, int64_t);
template void convert(Team&, ConvertLoop<float, int32_t>, const float*, int32_t*, int64_t);
template void convert(Team&, ConvertLoop<int32_t, float>, const int32_t*, float*, int64_t);
template void convert(Team&, ConvertLoop<float, uint8_t>, const float*, uint8_t*, int64_t);
template void convert(Team&, ConvertLoop<uint8_t, float>, const uint8_t*, float*, int64_t);
template void convert(Team&, ConvertLoop<float, int64_t>, const float*, int64_t*, int64_t);
template void convert(Team&, ConvertLoop<int64_t, uint8_t>, const int64_t*, uint8_t*, int64_t);
template void convert(Team&, ConvertLoop<int64_t, float>, const int64_t*, float*, int64_t);
template void convert(Team&, ConvertLoop<double, float>, const double*, float*, int64_t);
template void convert(Team&, ConvertLoop<int32_t, int64_t>, const int32_t*, int64_t*, int64_t);

void cast_i64_to_i32(Team& team, const int64_t* x, int32_t* y, int64_t n) {
  each(team, x, y, n, [](int64_t v) { return static_cast<int32_t>(v); });
}
void cast_i32_to_i64(Team& team, const int32_t* x, int64_t* y, int64_t n) {
  each(team, x, y, n, [](int32_t v) { return int64_t{v}; });
}

}  // namespace nnex::kernels
