// What an order picks: the k largest, the distinct, those that are not zero (operators.md 2.15, 4.18). Orders are
// stable: of equal elements the one with the lower index stands first, so that there is one result.

#include <algorithm>
#include <complex>
#include <numeric>
#include <string>

#include "base/function_ref.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- The order of elements: NaN above all numbers, every NaN the same

template <class T>
bool below(const T& a, const T& b) {
  return a < b || (b != b && a == a);
}
template <class T>
bool below(const std::complex<T>& a, const std::complex<T>& b) {
  if (below(a.real(), b.real())) return true;
  return !below(b.real(), a.real()) && below(a.imag(), b.imag());
}

/// A tensor seen along one axis: `outer` blocks of `n` slices of `inner` elements.
struct Lanes {
  int64_t outer = 1, n = 1, inner = 1;

  Lanes(const Shape& s, int64_t axis) : n(s[axis]) {
    for (int64_t i = 0; i < axis; ++i) outer *= s[i];
    for (int64_t i = axis + 1; i < s.rank(); ++i) inner *= s[i];
  }
};

int64_t from_first(int64_t axis, const Shape& s) { return axis < 0 ? axis + s.rank() : axis; }

// ---- top_k ----

struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true;
  bool sorted = true;
};

Status infer_top_k(InferCall& c) {
  MaybeDims out = c.dims(0);
  Dim k = c.unknown();
  if (auto v = c.values(1)) {
    if (v->size() != 1) return c.error("k has {} numbers; needed one", v->size());
    k = (*v)[0];
    if (k.is_number() && k.value() < 0) return c.error("k is {}; needed at least 0", k.value());
  }
  if (out) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<TopKAttrs>().axis, *c.rank(0)));
    Dim& n = (*out)[static_cast<size_t>(axis)];
    if (k.is_number() && n.is_number() && k.value() > n.value())
      return c.error("k is {}; axis {} has {} elements", k.value(), axis, n.value());
    n = k;
  }
  c.result(0, out);
  c.result(1, std::move(out));
  return {};
}

template <class T>
struct Ranked {
  T value;
  int64_t index;
};

/// Whether p stands before q: of equal ones the one with the lower index.
template <bool largest>
struct StandsBefore {
  template <class T>
  bool operator()(const Ranked<T>& p, const Ranked<T>& q) const {
    if (largest ? below(q.value, p.value) : below(p.value, q.value)) return true;
    if (largest ? below(p.value, q.value) : below(q.value, p.value)) return false;
    return p.index < q.index;
  }
  /// Without indices; NaN may stand anywhere.
  template <class T>
  bool maybe(T a, T b) const {
    return largest ? !(a <= b) : !(a >= b);
  }
};

/// Puts x among the elements before it, of which the last is dropped; they are in order.
template <class T, class First>
void insert(const Ranked<T>& x, const First& first, std::vector<Ranked<T>>& picked) {
  size_t at = picked.size() - 1;
  for (; at > 0 && first(x, picked[at - 1]); --at) picked[at] = picked[at - 1];
  picked[at] = x;
}

/// Puts x into a heap instead of its top.
template <class T, class First>
void replace_top(const Ranked<T>& x, const First& first, std::vector<Ranked<T>>& heap) {
  const size_t n = heap.size();
  size_t at = 0;
  for (size_t next = 1; next < n; next = 2 * at + 1) {
    if (next + 1 < n && first(heap[next], heap[next + 1])) ++next;
    if (!first(x, heap[next])) break;
    heap[at] = heap[next];
    at = next;
  }
  heap[at] = x;
}

/// The k first of n elements, in order. Few are kept in order; of more a heap whose top is the last of them takes each
/// that stands before it. Equal elements do not: their index is higher.
template <bool few, class T, class First>
void pick_first(const T* x, int64_t n, int64_t k, const First& first, std::vector<Ranked<T>>& picked) {
  const auto last_of = [&]() -> const Ranked<T>& { return few ? picked.back() : picked.front(); };
  few ? std::sort(picked.begin(), picked.end(), first) : std::make_heap(picked.begin(), picked.end(), first);
  T last = last_of().value;
  const auto take = [&](int64_t i) {
    const Ranked<T> next = {x[i], i};
    if (std::is_floating_point_v<T> && !first(next, last_of())) return;  // NaN
    if constexpr (few) {
      insert(next, first, picked);
    } else {
      replace_top(next, first, picked);
    }
    last = last_of().value;
  };
  if constexpr (!std::is_floating_point_v<T>) {
    for (int64_t i = k; i < n; ++i)
      if (first.maybe(x[i], last)) take(i);
  } else {  // in vectors: most blocks have none that is taken
    constexpr int64_t kBlock = 32;
    for (int64_t at = k; at < n; at += kBlock) {
      const int64_t end = std::min(n, at + kBlock);
      int any = 0;
      for (int64_t i = at; i < end; ++i) any |= first.maybe(x[i], last);
      for (int64_t i = at; any && i < end; ++i)
        if (first.maybe(x[i], last)) take(i);
    }
  }
  if (!few) std::sort(picked.begin(), picked.end(), first);
}

template <class T>
void pick_first(const T* x, int64_t n, int64_t k, bool largest, std::vector<Ranked<T>>& picked) {
  constexpr int64_t kFew = 16;
  picked.clear();
  for (int64_t i = 0; i < k; ++i) picked.push_back({x[i], i});
  if (k == 0) return;
  const auto by = [&](const auto& first) {
    k <= kFew ? pick_first<true>(x, n, k, first, picked) : pick_first<false>(x, n, k, first, picked);
  };
  largest ? by(StandsBefore<true>()) : by(StandsBefore<false>());
}

struct TopK {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<TopKAttrs>();
    const int64_t axis = from_first(a.axis, c.shape(0));
    const Lanes lanes(c.shape(0), axis);
    if (c.in(1).count() != 1) return c.fault("k has {} numbers; needed one", c.in(1).count());
    const int64_t k = int_at(c.in(1), 0);
    if (k < 0 || k > lanes.n) return c.fault("k is {}; axis {} has {} elements", k, axis, lanes.n);
    Shape to = c.shape(0);
    to.set(axis, k);
    T* value = nullptr;
    int64_t* index = nullptr;
    if (c.wants(0)) {
      NNEX_ASSIGN(Tensor * y, c.make(0, c.in(0).dtype(), to));
      value = y->mutable_as<T>().data();
    }
    if (c.wants(1)) {
      NNEX_ASSIGN(Tensor * y, c.make(1, DType::i64, to));
      index = y->mutable_as<int64_t>().data();
    }
    // Columns that share the lines of a cache become rows together, as long as they are few elements.
    constexpr int64_t kTogether = 16, kElements = 1 << 18;
    const int64_t together = std::clamp<int64_t>(kElements / std::max<int64_t>(lanes.n, 1), 1, kTogether);
    std::vector<T> rows(static_cast<size_t>(lanes.inner == 1 ? 0 : std::min(together, lanes.inner) * lanes.n));
    std::vector<Ranked<T>> picked;
    for (int64_t o = 0; o < lanes.outer; ++o)
      for (int64_t i = 0; i < lanes.inner; ++i) {
        const T* const x = c.in<T>(0).data() + o * lanes.n * lanes.inner + i;
        if (!rows.empty() && i % together == 0) turn(x, lanes, std::min(together, lanes.inner - i), rows.data());
        pick_first(rows.empty() ? x : rows.data() + i % together * lanes.n, lanes.n, k, a.largest, picked);
        for (int64_t j = 0; j < k; ++j) {
          const Ranked<T>& p = picked[static_cast<size_t>(j)];
          const int64_t at = (o * k + j) * lanes.inner + i;
          if (value) value[at] = p.value;
          if (index) index[at] = p.index;
        }
      }
    return {};
  }

  /// `count` neighbouring columns as rows.
  template <class T>
  static void turn(const T* x, const Lanes& lanes, int64_t count, T* rows) {
    for (int64_t j = 0; j < lanes.n; ++j)
      for (int64_t i = 0; i < count; ++i) rows[i * lanes.n + j] = x[j * lanes.inner + i];
  }
};

// ---- unique ----

struct UniqueAttrs {
  std::optional<int64_t> axis;
  bool sorted = true;
};

Status infer_unique(InferCall& c) {
  const auto& axis = c.attr<UniqueAttrs>().axis;
  const Dim n = c.unknown();
  MaybeDims out = Dims{n};
  Dim all = c.dims(0) ? product(*c.dims(0)) : c.unknown();
  if (axis) {
    out = c.dims(0);
    if (out) {
      NNEX_ASSIGN(int64_t a, positive_axis(c, *axis, *c.rank(0)));
      all = (*out)[static_cast<size_t>(a)];
      (*out)[static_cast<size_t>(a)] = n;
    }
  }
  c.result(0, std::move(out));
  c.result(1, Dims{n});
  c.result(2, Dims{all});
  c.result(3, Dims{n});
  return {};
}

/// Which slices of a tensor are the same.
struct Groups {
  std::vector<int64_t> first, of, count;  ///< First slice and number of each group; the group of each slice.
};

/// The groups of slices in `order`, in that order or in the one of their first appearance.
Groups grouped(const std::vector<int64_t>& order, bool sorted, FunctionRef<bool(int64_t, int64_t)> less) {
  Groups g;
  g.of.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || less(order[i - 1], order[i])) g.first.push_back(order[i]), g.count.push_back(0);
    g.of[static_cast<size_t>(order[i])] = static_cast<int64_t>(g.first.size()) - 1;
    ++g.count.back();
  }
  if (sorted) return g;
  std::vector<size_t> turn(g.first.size());
  std::iota(turn.begin(), turn.end(), size_t{0});
  std::sort(turn.begin(), turn.end(), [&](size_t a, size_t b) { return g.first[a] < g.first[b]; });
  Groups t;
  std::vector<int64_t> place(turn.size());
  for (size_t i = 0; i < turn.size(); ++i) {
    place[turn[i]] = static_cast<int64_t>(i);
    t.first.push_back(g.first[turn[i]]);
    t.count.push_back(g.count[turn[i]]);
  }
  for (int64_t group : g.of) t.of.push_back(place[static_cast<size_t>(group)]);
  return t;
}

/// Where n numbers stand in order, by the numbers themselves: they lie side by side while they are sorted.
template <class T>
std::vector<int64_t> order_of(const T* x, int64_t n) {
  std::vector<Ranked<T>> ranked(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) ranked[static_cast<size_t>(i)] = {x[i], i};
  std::sort(ranked.begin(), ranked.end(), StandsBefore<false>());
  std::vector<int64_t> order;
  order.reserve(ranked.size());
  for (const Ranked<T>& r : ranked) order.push_back(r.index);
  return order;
}

Status write_list(Call& c, size_t o, const std::vector<int64_t>& list) {
  if (!c.wants(o)) return {};
  NNEX_ASSIGN(Tensor * y, c.make(o, DType::i64, Shape{static_cast<int64_t>(list.size())}));
  std::copy(list.begin(), list.end(), y->mutable_as<int64_t>().begin());
  return {};
}

struct Unique {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<UniqueAttrs>();
    const Shape from = a.axis ? c.shape(0) : Shape{c.in(0).count()};
    const int64_t axis = a.axis ? from_first(*a.axis, from) : 0;
    const Lanes lanes(from, axis);
    const T* x = c.in<T>(0).data();
    auto element = [&](int64_t slice, int64_t o, int64_t i) -> const T& {
      return x[(o * lanes.n + slice) * lanes.inner + i];
    };
    const auto slice_below = [&](int64_t p, int64_t q) {
      for (int64_t o = 0; o < lanes.outer; ++o)
        for (int64_t i = 0; i < lanes.inner; ++i) {
          if (below(element(p, o, i), element(q, o, i))) return true;
          if (below(element(q, o, i), element(p, o, i))) return false;
        }
      return false;
    };
    const FunctionRef<bool(int64_t, int64_t)> less = slice_below;  // one sort for all types
    std::vector<int64_t> order;
    if (std::is_arithmetic_v<T> && lanes.outer * lanes.inner == 1) {
      if constexpr (std::is_arithmetic_v<T>) order = order_of(x, lanes.n);
    } else {
      order.resize(static_cast<size_t>(lanes.n));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), less);
    }
    const Groups g = grouped(order, a.sorted, less);
    if (c.wants(0)) {
      Shape to = from;
      to.set(axis, static_cast<int64_t>(g.first.size()));
      NNEX_ASSIGN(Tensor * y, c.make(0, c.in(0).dtype(), to));
      T* at = y->mutable_as<T>().data();
      for (int64_t o = 0; o < lanes.outer; ++o)
        for (int64_t slice : g.first) {
          const T* block = x + (o * lanes.n + slice) * lanes.inner;
          at = std::copy(block, block + lanes.inner, at);
        }
    }
    NNEX_TRY(write_list(c, 1, g.first));
    NNEX_TRY(write_list(c, 2, g.of));
    return write_list(c, 3, g.count);
  }
};

constexpr Reference unique_reference() {
  Reference r = typed<float, double, int64_t, uint64_t, std::string>(Unique{});
  r.kernels.item[r.kernels.n++] = {DType::c64, [](Call& c) { return Unique{}.operator()<std::complex<float>>(c); }};
  r.kernels.item[r.kernels.n++] = {DType::c128, [](Call& c) { return Unique{}.operator()<std::complex<double>>(c); }};
  return r;
}

// ---- non_zero ----

Status infer_non_zero(InferCall& c) {
  const Dim rank = c.rank(0) ? Dim(std::max<int64_t>(*c.rank(0), 1)) : c.unknown();
  c.result(0, Dims{rank, c.unknown()});
  return {};
}

struct NonZero {
  template <class T>
  Status operator()(Call& c) const {
    using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const auto x = c.in<Element>(0);
    const Shape from = c.shape(0).scalar() ? Shape{1} : c.shape(0);
    const int64_t n = std::count_if(x.begin(), x.end(), [](const Element& e) { return e != Element{}; });
    NNEX_ASSIGN(Tensor * y, c.make(0, DType::i64, Shape{from.rank(), n}));
    int64_t* const out = y->mutable_as<int64_t>().data();
    // Rows of the last axis: each place is written, and kept where the element is not zero.
    const int64_t last = from.rank() - 1, row = from[last];
    Ints index(static_cast<size_t>(last));
    const Element* element = x.data();
    for (int64_t at = 0; at < n; element += row) {
      const int64_t first = at;
      for (int64_t i = 0; i < row && at < n; ++i) {
        out[last * n + at] = i;
        at += element[i] != Element{} ? 1 : 0;
      }
      for (int64_t axis = 0; axis < last; ++axis)
        std::fill(out + axis * n + first, out + axis * n + at, index[static_cast<size_t>(axis)]);
      for (int64_t axis = last; axis-- > 0;) {
        if (++index[static_cast<size_t>(axis)] < from[axis]) break;
        index[static_cast<size_t>(axis)] = 0;
      }
    }
    return {};
  }
};

constexpr OpRow kSortOps[] = {
    {.name = "top_k",
     .summary = "The k largest or smallest elements along an axis, in order, and where they stand.",
     .source = "ONNX TopK-24 (1: k is an attribute; 11: largest, sorted)",
     .inputs = {{"x", kN}, {.name = "k", .type = kIndex, .by_value = true}},
     .outputs = {{.name = "value", .type = same_type_as("x")}, {.name = "index", .type = DType::i64}},
     .attrs = attrs_of<TopKAttrs>(
         {field<&TopKAttrs::axis>("axis", "The axis; negative counts from the last."),
          field<&TopKAttrs::largest>("largest", "The largest, NaN first; else the smallest, NaN last."),
          field<&TopKAttrs::sorted>("sorted", "Whether the order matters; the result has it either way.")}),
     .infer = infer_top_k,
     .reference = typed<float, double, int64_t, uint64_t>(TopK{}),
     .spelled = {{onnx, "TopK", {{"largest", "largest", &int_bool}, {"sorted", "sorted", &int_bool}}}}},
    {.name = "unique",
     .summary =
         "The distinct elements, or slices along an axis; where each stands first, which one each element is, and "
         "how often it occurs.",
     .source = "ONNX Unique-11",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")},
                 {"first", DType::i64, Arity::optional},
                 {"inverse", DType::i64, Arity::optional},
                 {"count", DType::i64, Arity::optional}},
     .attrs = attrs_of<UniqueAttrs>(
         {field<&UniqueAttrs::axis>("axis", "Slices along this axis; absent: single elements, in one row."),
          field<&UniqueAttrs::sorted>("sorted", "Ascending, NaN last; else in the order of first appearance.")}),
     .infer = infer_unique,
     .reference = unique_reference(),
     .spelled = {{onnx, "Unique", {{"sorted", "sorted", &int_bool}}}}},
    {.name = "non_zero",
     .summary = "Coordinates of the elements that are not zero, one column each, in row-major order.",
     .source = "ONNX NonZero-13",
     .inputs = {{"x", kN | kB}},
     .outputs = {{"y", DType::i64}},
     .infer = infer_non_zero,
     .reference = typed<float, double, int64_t, uint64_t, bool>(NonZero{}),
     .spelled = {{onnx, "NonZero"}}},
};
}  // namespace

std::span<const OpDef> sort_ops() { return stored<kSortOps>(); }

}  // namespace nnex
