#pragma once
// Pools: the attributes they share, and the walk over their windows.

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/window.h"

namespace nnex {

enum class PoolBorder : uint8_t { constant, replicate, reflect, reflect_even, ignore };
constexpr std::array<std::string_view, 5> enumerators(PoolBorder) {
  return {"constant", "replicate", "reflect", "reflect_even", "ignore"};
}

/// What the sum over a window is divided by.
enum class Divisor : uint8_t { one, window, padded, inside };
constexpr std::array<std::string_view, 4> enumerators(Divisor) { return {"one", "window", "padded", "inside"}; }

/// What an index counts: taps of the window, row-major; or elements of the whole tensor, row-major, or with its spatial
/// axes column-major.
enum class IndexAs : uint8_t { window, tensor, tensor_column_major };
constexpr std::array<std::string_view, 3> enumerators(IndexAs) { return {"window", "tensor", "tensor_column_major"}; }

/// What elements written to one place do.
enum class Collide : uint8_t { add, last };
constexpr std::array<std::string_view, 2> enumerators(Collide) { return {"add", "last"}; }

/// Attributes of every pool; a row lists those it has.
struct PoolAttrs {
  Ints size, stride, dilation;
  Pairs padding;
  AutoPad auto_pad = AutoPad::off;
  PoolBorder border = PoolBorder::constant;
  bool ceil = false;
  bool channels_last = false;
  Divisor divisor = Divisor::one;
  IndexAs index_as = IndexAs::window;
  double p = 2;
  Collide collide = Collide::add;
  Ints output_shape, output_padding;
};

/// The fields of every pool, then those given.
constexpr AttrType pool_attrs(std::initializer_list<detail::FieldOf<PoolAttrs>> more) {
  AttrType t = attrs_of<PoolAttrs>({
      field<&PoolAttrs::size>("size", "Extent of the window on every axis, batch and channel included.", required),
      field<&PoolAttrs::stride>("stride", "Elements between windows; empty: 1."),
      field<&PoolAttrs::dilation>("dilation", "Elements between taps; empty: 1."),
      field<&PoolAttrs::padding>("padding", "(before, after) of every axis; empty: 0."),
      field<&PoolAttrs::auto_pad>("auto_pad", "Padding that keeps ceil(extent / stride)."),
      field<&PoolAttrs::border>("border", "What lies beyond the input; ignore: nothing."),
  });
  for (const auto& f : more) t.fields.item[t.fields.n++] = f.field;
  return t;
}

inline std::pair<int64_t, int64_t> pads_of(const PoolAttrs& a, size_t i) {
  return i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
}

/// What sums are divided by: where nothing lies beyond the input, a window is the taps inside.
inline Divisor divisor_of(const PoolAttrs& a) {
  return a.border == PoolBorder::ignore && a.divisor == Divisor::window ? Divisor::inside : a.divisor;
}

/// The attributes count axes as [batch, channel, spatial...]; where axis i of them lies in x.
inline size_t axis_at(const PoolAttrs& a, size_t i, size_t rank) {
  return !a.channels_last || i == 0 ? i : i == 1 ? rank - 1 : i - 1;
}

/// The element in [0, n) that stands for place i of an axis; -1 where nothing does.
int64_t border_index(int64_t i, int64_t n, PoolBorder border);

/// Every output has the extents of the windows over input 0.
Status infer_pool(InferCall& c);
/// The lists have one entry for each of `rank` axes, or none.
Status check_pool_lists(const InferCall& c, size_t rank);

/// The windows over x at known extents, one an axis of x.
Result<std::vector<AxisWindow>> windows_over(const PoolAttrs& a, const Shape& x);

/// One element a window reads.
struct Tap {
  int64_t offset = 0;    ///< Of the element that stands there in the input; -1: none.
  int64_t position = 0;  ///< In the window, row-major.
};

/// The taps [first, end) of a window from `start` on that lie in [low, high) of their axis.
inline std::pair<int64_t, int64_t> taps_within(const AxisWindow& a, int64_t start, int64_t low, int64_t high) {
  const int64_t first = std::clamp<int64_t>(ceil_div(low - start, a.dilation), 0, a.size);
  return {first, std::clamp<int64_t>(ceil_div(high - start, a.dilation), first, a.size)};
}

/// Calls each(tap) for every tap of the window that begins at `start`, in row-major order; where the border is ignored,
/// for those that lie in the input.
template <class F>
void for_each_tap(const std::vector<AxisWindow>& w, const Ints& strides, const Ints& start, PoolBorder border,
                  const Tap& so_far, size_t axis, F& each) {
  if (w.empty()) {
    each(so_far);
    return;
  }
  const AxisWindow& a = w[axis];
  const auto [first, end] =
      border == PoolBorder::ignore ? taps_within(a, start[axis], 0, a.input) : std::pair<int64_t, int64_t>{0, a.size};
  for (int64_t t = first; t < end; ++t) {
    const int64_t at = start[axis] + t * a.dilation;
    const int64_t from = at >= 0 && at < a.input ? at : border_index(at, a.input, border);
    Tap tap = so_far;
    tap.offset = from < 0 || so_far.offset < 0 ? -1 : so_far.offset + from * strides[axis];
    tap.position = wrap_add(wrap_mul(so_far.position, a.size), t);
    if (axis + 1 == w.size())
      each(tap);
    else
      for_each_tap(w, strides, start, border, tap, axis + 1, each);
  }
}

/// Calls each(index, number) for every index of `shape`, in row-major order.
template <class F>
Status for_each_index(const Shape& shape, F each) {
  Ints index(static_cast<size_t>(shape.rank()));
  for (int64_t n = 0, count = shape.count(); n < count; ++n) {
    NNEX_TRY(each(static_cast<const Ints&>(index), n));
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < shape[static_cast<int64_t>(i)]) break;
      index[i] = 0;
    }
  }
  return {};
}

}  // namespace nnex
