#include "ops/progression.h"

#include <algorithm>
#include <type_traits>

namespace nnex {

template <class T>
void progression(T start, T delta, T* to, int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    auto next = static_cast<uint64_t>(start);
    for (int64_t i = 0; i < n; ++i, next += static_cast<uint64_t>(delta)) to[i] = static_cast<T>(next);
  } else {
    // Vectors count in 32 bits.
    const auto few = static_cast<int32_t>(std::min<int64_t>(n, INT32_MAX));
    for (int32_t i = 0; i < few; ++i) to[i] = start + static_cast<T>(i) * delta;
    for (int64_t i = few; i < n; ++i) to[i] = start + static_cast<T>(i) * delta;
  }
}
template void progression(float, float, float*, int64_t);
template void progression(double, double, double*, int64_t);
template void progression(int64_t, int64_t, int64_t*, int64_t);

}  // namespace nnex
