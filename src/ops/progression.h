#pragma once
// Numbers that lie one step apart.

#include <cstdint>

namespace nnex {

/// to[i] = start + i * delta for i in [0, n), each computed in T; whole numbers wrap. T: float, double or int64_t.
template <class T>
void progression(T start, T delta, T* to, int64_t n);

}  // namespace nnex
