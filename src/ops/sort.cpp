// What an order picks: the k largest, the distinct, those that are not zero. Orders are
// stable: of equal elements the one with the lower index stands first, so that there is one result.

#include <algorithm>
#include <complex>
#include <numeric>
#include <string>

#include "base/checked.h"
#include "base/function_ref.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/share_out.h"
#include "ops/stored.h"
#include "tensor/counted.h"

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
  NNEX_TRY(need_number(c, 1));
  if (auto v = c.values(1)) {
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

// ---- Elements as whole numbers that have their order, with their index behind: equal ones stand by index

/// Where an element stands among all of its type, as an unsigned number of its size.
template <class T>
auto place_of(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return ~Bits{0};
      x += T{0};  // one zero
    }
    const Bits bits = __builtin_bit_cast(Bits, x);
    return static_cast<Bits>(std::is_integral_v<T> || !(bits & sign) ? bits ^ sign : ~bits);
  }
}

/// An element of this place.
template <class T, class Bits>
T at_place(Bits place) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  if constexpr (std::is_unsigned_v<T>) return place;
  return __builtin_bit_cast(T, static_cast<Bits>(std::is_integral_v<T> || (place & sign) ? place ^ sign : ~place));
}

/// A place and an index in one number.
struct Key {
  uint64_t both;
  Key() = default;
  Key(uint32_t place, int64_t index) : both(uint64_t{place} << 32 | static_cast<uint64_t>(index)) {}
  bool operator<(Key k) const { return both < k.both; }
  uint32_t place() const { return static_cast<uint32_t>(both >> 32); }
  int64_t index() const { return static_cast<int64_t>(both & 0xffffffff); }
};

/// The same of what does not fit into one.
template <class Place>
struct WideKey {
  Place at;
  int64_t from;
  WideKey() = default;
  WideKey(Place place, int64_t index) : at(place), from(index) {}
  bool operator<(const WideKey& k) const { return at != k.at ? at < k.at : from < k.from; }
  Place place() const { return at; }
  int64_t index() const { return from; }
};

/// Calls with the key that the elements of a list need.
template <class T, class Call>
void with_key(int64_t n, const Call& call) {
  if constexpr (sizeof(T) == 4) {
    if (n <= int64_t{1} << 32) return call(Key());
  }
  call(WideKey<decltype(place_of(T{}))>());
}

template <class K, bool last_first, class T>
K key_at(const T* x, int64_t i) {
  const auto place = place_of(x[i]);
  return {static_cast<decltype(place_of(x[i]))>(last_first ? ~place : place), i};
}

/// Puts a key among those before it, of which the last is dropped; they are in order.
template <class K>
void insert(K key, std::vector<K>& keys) {
  size_t at = keys.size() - 1;
  for (; at > 0 && key < keys[at - 1]; --at) keys[at] = keys[at - 1];
  keys[at] = key;
}

/// The k first of n elements, in order. Few are kept in order; of more as many again are gathered before those that
/// are too many are dropped. `last` is one behind which none is taken, nor its equals: their index is higher.
template <bool largest, bool few, class T, class K>
void pick_first(const T* x, int64_t n, int64_t k, std::vector<K>& keys) {
  constexpr size_t kGathered = 256;
  const auto first_of = [&] {
    std::nth_element(keys.begin(), keys.begin() + (k - 1), keys.end());
    keys.resize(static_cast<size_t>(k));
  };
  few ? std::sort(keys.begin(), keys.end()) : first_of();
  const auto last_of = [&] {
    const auto place = keys.back().place();
    return at_place<T>(static_cast<decltype(place_of(T{}))>(largest ? ~place : place));
  };
  T last = last_of();
  const size_t full = keys.size() + std::max(keys.size(), kGathered);
  const auto maybe = [&](T e) { return largest ? !(e <= last) : !(e >= last); };  // NaN may stand anywhere
  const auto take = [&](int64_t i) {
    const K key = key_at<K, largest>(x, i);
    if constexpr (few) {
      if (keys.back() < key) return;
      insert(key, keys);
    } else {
      keys.push_back(key);
      if (keys.size() < full) return;
      first_of();
    }
    last = last_of();
  };
  if constexpr (!std::is_floating_point_v<T>) {
    for (int64_t i = k; i < n; ++i)
      if (maybe(x[i])) take(i);
  } else {  // in vectors: most blocks have none that is taken
    constexpr int64_t kBlock = 32;
    for (int64_t at = k; at < n; at += kBlock) {
      const int64_t end = std::min(n, at + kBlock);
      int any = 0;
      for (int64_t i = at; i < end; ++i) any |= maybe(x[i]);
      for (int64_t i = at; any && i < end; ++i)
        if (maybe(x[i])) take(i);
    }
  }
  if (few) return;
  first_of();
  std::sort(keys.begin(), keys.end());
}

/// Not inlined: g++ 12 keeps less of it in registers where the caller is large (18 us instead of 13 for 100 of 20,000).
template <bool largest, class T, class K>
__attribute__((noinline)) void pick_first(const T* x, int64_t n, int64_t k, std::vector<K>& keys) {
  constexpr int64_t kFew = 16;
  keys.clear();
  for (int64_t i = 0; i < k; ++i) keys.push_back(key_at<K, largest>(x, i));
  if (k == n) return std::sort(keys.begin(), keys.end());
  if (k != 0) k <= kFew ? pick_first<largest, true>(x, n, k, keys) : pick_first<largest, false>(x, n, k, keys);
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
    const int64_t blocks = ceil_div(lanes.inner, together);
    const T* const all = c.in<T>(0).data();
    with_key<T>(lanes.n, [&]<class K>(K) {
      share_out(c, lanes.outer * blocks, c.in(0).bytes() * 4, [&](int64_t begin, int64_t end) {
        std::vector<K> keys;
        std::vector<T> rows(static_cast<size_t>(lanes.inner == 1 ? 0 : std::min(together, lanes.inner) * lanes.n));
        for (int64_t block = begin; block < end; ++block) {
          const int64_t o = block / blocks, first = block % blocks * together;
          const int64_t count = std::min(together, lanes.inner - first);
          const T* x = all + o * lanes.n * lanes.inner + first;
          if (!rows.empty()) turn(x, lanes, count, rows.data()), x = rows.data();
          for (int64_t i = 0; i < count; ++i, x += lanes.n) {
            a.largest ? pick_first<true>(x, lanes.n, k, keys) : pick_first<false>(x, lanes.n, k, keys);
            for (int64_t j = 0; j < k; ++j) {
              const int64_t from = keys[static_cast<size_t>(j)].index(), at = (o * k + j) * lanes.inner + first + i;
              if (value) value[at] = x[from];
              if (index) index[at] = from;
            }
          }
        }
      });
    });
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

using Indices = CountedVector<int64_t>;

/// Which slices of a tensor are the same.
struct Groups {
  Indices first, of, count;  ///< First slice and number of each group; the group of each slice.
};

/// The groups of slices in `order`, in that order or in the one of their first appearance.
Groups grouped(const Indices& order, bool sorted, FunctionRef<bool(int64_t, int64_t)> less) {
  Groups g;
  g.of.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || less(order[i - 1], order[i])) g.first.push_back(order[i]), g.count.push_back(0);
    g.of[static_cast<size_t>(order[i])] = static_cast<int64_t>(g.first.size()) - 1;
    ++g.count.back();
  }
  if (sorted) return g;
  CountedVector<size_t> turn(g.first.size());
  std::iota(turn.begin(), turn.end(), size_t{0});
  std::sort(turn.begin(), turn.end(), [&](size_t a, size_t b) { return g.first[a] < g.first[b]; });
  Groups t;
  Indices place(turn.size());
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
Indices order_of(const T* x, int64_t n) {
  Indices order(static_cast<size_t>(n));
  with_key<T>(n, [&]<class K>(K) {
    CountedVector<K> keys(order.size());
    for (int64_t i = 0; i < n; ++i) keys[static_cast<size_t>(i)] = key_at<K, false>(x, i);
    std::sort(keys.begin(), keys.end());
    std::transform(keys.begin(), keys.end(), order.begin(), [](const K& key) { return key.index(); });
  });
  return order;
}

Status write_list(Call& c, size_t o, const Indices& list) {
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
    Indices order;
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
