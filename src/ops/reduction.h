#pragma once
// What operators that reduce axes share: which axes go, the extents that stay, and the walk over the elements.

#include <span>
#include <vector>

#include "ops/call.h"
#include "ops/infer_call.h"

namespace nnex {

/// How a list of axes is meant.
struct ReduceRule {
  bool keepdims = true;  ///< Reduced axes stay with extent 1.
  bool empty_is_all = false;
  bool to_end = false;  ///< The one axis listed, and every later one.
};

/// Which axes of `rank` a list names. Errors: outside, twice, to_end with other than one item.
Result<std::vector<bool>> reduced_axes(std::string_view op, const Ints& axes, int64_t rank, const ReduceRule& rule);

/// Extents after a reduction whose axes stand at an optional port (absent: all). Unknown where they are computed.
Result<MaybeDims> reduced_dims(InferCall& c, size_t x, size_t axes_port, const ReduceRule& rule);
/// The same for a list that is known.
Result<MaybeDims> reduced_dims(InferCall& c, size_t x, const Ints& axes, const ReduceRule& rule);

/// The elements that one element of the result is made of, in row-major order.
template <class T>
struct ElementSet {
  const T* base = nullptr;
  const int64_t* offsets = nullptr;  ///< Of every element; null: evenly spaced by `step`.
  int64_t step = 1;
  int64_t n = 0;
  /// How far from `base` element i lies.
  int64_t place(int64_t i) const { return offsets ? offsets[i] : i * step; }
  const T& operator[](int64_t i) const { return base[place(i)]; }
};

/// A tensor's elements, sorted into one set for each element of the result.
class Reduction {
 public:
  Reduction(const Shape& x, const std::vector<bool>& gone, bool keepdims);

  const Shape& result() const { return result_; }
  int64_t set_size() const { return set_size_; }

  /// Calls f(o, set) for every element o of the result, in order.
  template <class T, class F>
  void each(std::span<const T> x, F f) const {
    const int64_t count = result_.count();
    std::vector<int64_t> index(kept_.size());
    ElementSet<T> set{x.data(), offsets_.empty() ? nullptr : offsets_.data(), step_, set_size_};
    int64_t from = 0;
    for (int64_t o = 0; o < count; ++o) {
      if (set_size_ > 0) set.base = x.data() + from;
      f(o, static_cast<const ElementSet<T>&>(set));
      for (size_t a = 0; a < kept_.size(); ++a) {
        from += kept_[a].step;
        if (++index[a] < kept_[a].extent) break;
        index[a] = 0;
        from -= kept_[a].step * kept_[a].extent;
      }
    }
  }

 private:
  struct Axis {
    int64_t extent, step;
  };
  static void join(std::vector<Axis>& axes, Axis axis);

  Shape result_;
  std::vector<Axis> kept_;  // innermost first
  std::vector<int64_t> offsets_;
  int64_t step_ = 1, set_size_ = 1;
};

/// The reduction of input x by the axes at an optional port, checked again since they may be computed.
Result<Reduction> reduction(const Call& c, size_t x, size_t axes_port, const ReduceRule& rule);
Result<Reduction> reduction(const Call& c, size_t x, const Ints& axes, const ReduceRule& rule);

/// The sum of term(set[i]) in T: blocks of 32 left to right, then pairwise, so that the error grows with the logarithm
/// and the order depends on n alone.
template <class T, class Set, class F>
T pairwise_sum(const Set& set, int64_t from, int64_t n, const F& term) {
  if (n <= 32) {
    T sum(0);
    for (int64_t i = from; i < from + n; ++i) sum = sum + term(set[i]);
    return sum;
  }
  const int64_t left = (n / 32 + 1) / 2 * 32;
  return pairwise_sum<T>(set, from, left, term) + pairwise_sum<T>(set, from + left, n - left, term);
}

}  // namespace nnex
