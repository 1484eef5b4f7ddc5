#pragma once
// A list of fixed capacity that constant data can hold: what the operator table is written in.

#include <cstddef>
#include <initializer_list>
#include <span>

namespace nnex {

template <class T, size_t N>
struct List {
  T item[N] = {};
  size_t n = 0;

  constexpr List() = default;
  constexpr List(std::initializer_list<T> items) {
    for (const T& x : items) item[n++] = x;  // too many items: not a constant expression, so it does not compile
  }
  constexpr size_t size() const { return n; }
  constexpr bool empty() const { return n == 0; }
  constexpr const T* begin() const { return item; }
  constexpr const T* end() const { return item + n; }
  constexpr const T& operator[](size_t i) const { return item[i]; }
  constexpr const T& back() const { return item[n - 1]; }
};

/// The same without room of its own.
template <class T, size_t>
using ListView = std::span<const T>;

}  // namespace nnex
