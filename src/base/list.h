#pragma once
// A list of fixed capacity that constant data can hold: what the operator table is written in.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>

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

/// What a program holds of a list that each row of a constant table has: the items of all, without empty places.
template <const auto& kRows, auto kList>
struct ItemsOf {
  using Item = std::remove_cvref_t<decltype((kRows[0].*kList)[0])>;
  static constexpr auto kAll = [] {
    constexpr size_t kCount = [] {
      size_t count = 0;
      for (const auto& row : kRows) count += (row.*kList).size();
      return count;
    }();
    std::array<Item, kCount> all = {};
    size_t n = 0;
    for (const auto& row : kRows)
      for (const Item& item : row.*kList) all[n++] = item;
    return all;
  }();
  static constexpr std::span<const Item> of(size_t row) {
    size_t begin = 0;
    for (size_t i = 0; i < row; ++i) begin += (kRows[i].*kList).size();
    return std::span<const Item>(kAll).subspan(begin, (kRows[row].*kList).size());
  }
};

}  // namespace nnex
