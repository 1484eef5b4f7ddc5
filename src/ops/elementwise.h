#pragma once
// Making reference kernels of operators whose result at i depends on element i (after broadcast) alone.

#include <span>

#include "ops/broadcast_walk.h"
#include "ops/call.h"
#include "ops/share_out.h"

namespace nnex {

/// y[i] = f(x[i]).
template <class T, class R, class F>
void map_one(std::span<const T> x, std::span<R> y, F f) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
}

/// z = f(x, y), both stretched to the shape of z.
template <class T, class U, class R, class F>
void map_two(std::span<const T> x, const Shape& x_shape, std::span<const U> y, const Shape& y_shape, std::span<R> z,
             const Shape& z_shape, F f) {
  BroadcastWalk<2>(z_shape, {&x_shape, &y_shape}).rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
    const T* a = x.data() + from[0];
    const U* b = y.data() + from[1];
    R* c = z.data() + at;
    if (step[0] == 1 && step[1] == 1) {
      for (int64_t i = 0; i < n; ++i) c[i] = f(a[i], b[i]);
    } else if (step[0] == 1 && step[1] == 0) {
      for (int64_t i = 0; i < n; ++i) c[i] = f(a[i], *b);
    } else if (step[0] == 0 && step[1] == 1) {
      for (int64_t i = 0; i < n; ++i) c[i] = f(*a, b[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) c[i] = f(a[i * step[0]], b[i * step[1]]);
    }
  });
}

/// The reference of an operator of one operand: F is a function object with operator()(T) for each T.
template <class F, class... T>
constexpr Reference unary() {
  return typed<T...>([]<class E>(Call& c) -> Status {
    constexpr int64_t kCost = 16;  // bytes moved in the time that an element takes
    const auto x = c.in<E>(0);
    const auto y = c.out<E>(0);
    share_out(c, static_cast<int64_t>(y.size()), static_cast<int64_t>(y.size()) * kCost,
              [=](int64_t begin, int64_t end) {
                const auto first = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
                map_one(x.subspan(first, count), y.subspan(first, count), F{});
              });
    return {};
  });
}

/// The reference of an operator of two operands of one type.
template <class F, class... T>
constexpr Reference binary() {
  return typed<T...>([]<class E>(Call& c) -> Status {
    map_two(c.in<E>(0), c.shape(0), c.in<E>(1), c.shape(1), c.out<E>(0), c.out(0).shape(), F{});
    return {};
  });
}

}  // namespace nnex
