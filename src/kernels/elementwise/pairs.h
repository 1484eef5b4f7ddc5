#pragma once
// One driver for every function of two elements.

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "base/threads.h"
#include "kernels/nest.h"

namespace nnex::kernels {

/// y[i] = f(a[i], b[i]) for n elements that lie side by side; y may be a or b.
using PairLoop = FunctionRef<void(const void* a, const void* b, void* y, int64_t n)>;

/// The plain loop of a function object without state, from elements T to U. Never inlined: inside the call below g++ 12
/// makes a slower loop of some (shifts of 32 bits took 1.4 times as long).
template <class T, class U, class F>
[[gnu::noinline]] void pair_loop(const void* a, const void* b, void* y, int64_t n) {
  const T *u = static_cast<const T*>(a), *v = static_cast<const T*>(b);
  U* to = static_cast<U*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = F{}(u[i], v[i]);
}

/// Calls the loop over all of a nest with operands a and b, whose elements have 1, 2, 4 or 8 bytes.
void each_pair(Team& team, const Nest& nest, size_t element_bytes, size_t result_bytes, const void* a, const void* b,
               void* y, PairLoop loop);

/// y = f(a, b).
template <class T, class U, class F>
void each_pair(Team& team, const Nest& nest, const T* a, const T* b, U* y, F) {
  each_pair(team, nest, sizeof(T), sizeof(U), a, b, y,
            [](const void* u, const void* v, void* to, int64_t n) { pair_loop<T, U, F>(u, v, to, n); });
}

}  // namespace nnex::kernels
