// Writing by index. Elements are written in row-major order of update, so the last of several
// at one place stays.

#include "ops/scatter.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/function_ref.h"
#include "ops/index.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

// ---- What happens to the element that is there

struct Replace {
  template <class T>
  T operator()(const T&, const T& x) const {
    return x;
  }
};
struct Add {
  template <class T>
  T operator()(T y, T x) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(wrap_add(static_cast<int64_t>(y), static_cast<int64_t>(x)));
    else
      return y + x;
  }
};
struct Multiply {
  template <class T>
  T operator()(T y, T x) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(wrap_mul(static_cast<int64_t>(y), static_cast<int64_t>(x)));
    else
      return y * x;
  }
};
struct Least {
  template <class T>
  T operator()(T y, T x) const {
    return y != y || y < x ? y : x;
  }
};
struct Most {
  template <class T>
  T operator()(T y, T x) const {
    return y != y || y > x ? y : x;
  }
};

/// Calls body(meet) with the function that `how` names; Replace alone for elements that are only moved.
template <class T, class F>
Status with_collision(Collision how, F body) {
  if constexpr (std::is_arithmetic_v<T>) {
    switch (how) {
      case Collision::add:
        return body(Add{});
      case Collision::mul:
        return body(Multiply{});
      case Collision::min:
        return body(Least{});
      case Collision::max:
        return body(Most{});
      case Collision::none:
        break;
    }
  }
  return body(Replace{});
}

/// Told where in y the next blocks of update land, counted in blocks from its first element on.
using Landing = FunctionRef<void(std::span<const int64_t>)>;

/// Places as they are found, handed on many at a time.
class Places {
 public:
  explicit Places(Landing land) : land_(land) {}
  ~Places() { land_(std::span(found_).first(n_)); }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  void add(int64_t place) {
    room(1)[0] = place;
    ++n_;
  }
  /// Room for `n` places, kMost at most, which are there once they are added().
  int64_t* room(int64_t n) {
    if (n_ + static_cast<size_t>(n) > found_.size()) {
      land_(std::span(found_).first(n_));
      n_ = 0;
    }
    return found_.data() + n_;
  }
  void added(int64_t n) { n_ += static_cast<size_t>(n); }
  static constexpr int64_t kMost = 256;

 private:
  Landing land_;
  std::array<int64_t, kMost> found_;
  size_t n_ = 0;
};

/// Writes blocks of `inner` elements where `places` finds that they land: what looks at indices is the same for every
/// type.
template <class T>
Status scatter(Call& c, Collision how, int64_t inner, Status (*places)(Call&, Landing)) {
  T* const y = c.out<T>(0).data();
  std::copy(c.in<T>(0).begin(), c.in<T>(0).end(), y);
  const T* x = c.in<T>(2).data();
  return with_collision<T>(how, [&](auto meet) {
    return places(c, [&](std::span<const int64_t> found) {
      for (int64_t place : found) {
        T* const to = y + place * inner;
        if (inner == 1)
          *to = meet(*to, *x);
        else if constexpr (std::is_same_v<decltype(meet), Replace>)
          std::copy_n(x, inner, to);
        else
          for (int64_t k = 0; k < inner; ++k) to[k] = meet(to[k], x[k]);
        x += inner;
      }
    });
  });
}

/// Moved when elements replace each other, else as numbers.
template <class Attrs, class Kernel>
Status moved_or_met(Call& c) {
  static constexpr Reference kMoved = moving(Kernel{});
  static constexpr Reference kMet = typed<float, double, int64_t, uint64_t>(Kernel{});
  return run_reference(c, c.attr<Attrs>().reduction == Collision::none ? kMoved : kMet);
}

Status check_reducible(InferCall& c, Collision how) {
  const DType type = c.dtype(0);
  if (how != Collision::none && type != DType::none && !(kN & only(type)))
    return c.error("reduction needs numbers; x has elements of type {}", name(type));
  return {};
}

// ---- scatter_elements ----

Status infer_scatter_elements(InferCall& c) {
  const auto& a = c.attr<ScatterElementsAttrs>();
  NNEX_TRY(check_reducible(c, a.reduction));
  if (c.dims(0)) {
    if (c.dims(0)->empty()) return c.error("x is one number; needed at least one axis");
    NNEX_ASSIGN(int64_t axis, positive_axis(c, a.axis, *c.rank(0)));
    if (c.dims(1)) {
      if (c.dims(1)->size() != c.dims(0)->size())
        return c.error("index has {} axes; x has {}", c.dims(1)->size(), c.dims(0)->size());
      for (size_t i = 0; i < c.dims(0)->size(); ++i) {
        const Dim &n = (*c.dims(1))[i], &all = (*c.dims(0))[i];
        if (static_cast<int64_t>(i) != axis && n.is_number() && all.is_number() && n.value() > all.value())
          return c.error("index has extent {} at axis {}; x has {}", n.value(), i, all.value());
      }
    }
    NNEX_TRY(known_inside(c, std::span(*c.dims(0)).subspan(static_cast<size_t>(axis), 1), axis, a.from_end, a.outside));
  }
  if (c.dims(1) && c.dims(2)) {
    if (c.dims(1)->size() != c.dims(2)->size())
      return c.error("index has {} axes; update has {}", c.dims(1)->size(), c.dims(2)->size());
    for (size_t i = 0; i < c.dims(1)->size(); ++i)
      NNEX_TRY(meet(c, (*c.dims(2))[i], (*c.dims(1))[i], fmt::format("extent of update at axis {}", i)));
  }
  return same_shape(c);
}

Status places_of_elements(Call& c, Landing land) {
  const auto& a = c.attr<ScatterElementsAttrs>();
  const Shape &all = c.shape(0), &some = c.shape(1);
  const int64_t axis = a.axis < 0 ? a.axis + all.rank() : a.axis, n = all[axis];
  for (int64_t i = 0; i < some.rank(); ++i)
    if (i != axis && some[i] > all[i]) return c.fault("index has extent {} at axis {}; x has {}", some[i], i, all[i]);
  if (!(some == c.shape(2))) return c.fault("index is {}, update {}; needed the same", some.text(), c.shape(2).text());
  Ints strides = row_major_strides(all);
  const int64_t step = strides[static_cast<size_t>(axis)], last = some.rank() - 1;
  strides[static_cast<size_t>(axis)] = 0;
  const int64_t along = strides[static_cast<size_t>(last)], row = some[last];
  const Tensor& index = c.in(1);
  Places places(land);
  int64_t i = 0;
  Status status;
  const auto land_row = [&](int64_t at, const auto& asked_at) {
    for (int64_t first = 0; first < row && status.ok(); first += Places::kMost) {
      const int64_t count = std::min(Places::kMost, row - first);
      int64_t* const to = places.room(count);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t asked = asked_at(i + k), place = index_in(asked, n, a.from_end, a.outside);
        if (place < 0) {
          status = c.fault("index {} is outside [{}, {}) of axis {}", asked, a.from_end ? -n : 0, n, axis);
          return;
        }
        to[k] = at + (first + k) * along + place * step;
      }
      places.added(count), i += count;
    }
  };
  const auto* const wide = index.dtype() == DType::i64 ? index.as<int64_t>().data() : nullptr;
  for_each_row(some, strides, strides, [&](int64_t at, int64_t) {
    if (wide) return land_row(at, [&](int64_t k) { return wide[k]; });
    land_row(at, [&](int64_t k) { return int_at(index, k); });
  });
  return status;
}

struct ScatterElements {
  template <class T>
  Status operator()(Call& c) const {
    return scatter<T>(c, c.attr<ScatterElementsAttrs>().reduction, 1, places_of_elements);
  }
};

// ---- scatter_nd ----

Status infer_scatter_nd(InferCall& c) {
  NNEX_TRY(check_reducible(c, c.attr<ScatterNdAttrs>().reduction));
  if (c.dims(1) && c.dims(1)->empty()) return c.error("index is one number; needed at least one axis");
  if (c.dims(0) && c.dims(1) && c.dims(1)->back().is_number()) {
    const int64_t taken = c.dims(1)->back().value();
    if (taken > *c.rank(0)) return c.error("index names {} axes; x has {}", taken, *c.rank(0));
    const auto& a = c.attr<ScatterNdAttrs>();
    NNEX_TRY(known_inside(c, std::span(*c.dims(0)).first(static_cast<size_t>(taken)), 0, a.from_end, a.outside));
    Dims needed(c.dims(1)->begin(), c.dims(1)->end() - 1);
    needed.insert(needed.end(), c.dims(0)->begin() + taken, c.dims(0)->end());
    if (c.dims(2)) {
      if (c.dims(2)->size() != needed.size())
        return c.error("update has {} axes; needed {}", c.dims(2)->size(), needed.size());
      for (size_t i = 0; i < needed.size(); ++i)
        NNEX_TRY(meet(c, (*c.dims(2))[i], needed[i], fmt::format("extent of update at axis {}", i)));
    }
  }
  return same_shape(c);
}

/// Elements of a block of update.
int64_t block_of_nd(Call& c) {
  const Shape& all = c.shape(0);
  int64_t elements = 1;
  for (int64_t i = c.shape(1)[c.shape(1).rank() - 1]; i < all.rank(); ++i) elements *= all[i];
  return elements;
}

Status places_of_nd(Call& c, Landing land) {
  const auto& a = c.attr<ScatterNdAttrs>();
  const Shape &all = c.shape(0), &at = c.shape(1);
  const int64_t taken = at[at.rank() - 1];
  std::vector<int64_t> needed(at.begin(), at.end() - 1);
  needed.insert(needed.end(), all.begin() + taken, all.end());
  if (!(c.shape(2) == Shape(needed)))
    return c.fault("update is {}; needed {}", c.shape(2).text(), Shape(needed).text());
  if (c.in(2).count() == 0) return {};
  Places places(land);
  for (int64_t i = 0, n = c.in(2).count() / block_of_nd(c); i < n; ++i) {
    NNEX_ASSIGN(int64_t block, block_at(c, c.in(1), i * taken, taken, all, 0, a.from_end, a.outside));
    places.add(block);
  }
  return {};
}

struct ScatterNd {
  template <class T>
  Status operator()(Call& c) const {
    return scatter<T>(c, c.attr<ScatterNdAttrs>().reduction, block_of_nd(c), places_of_nd);
  }
};

// ---- tensor_scatter ----

/// That rows which are known to begin somewhere have room from there on.
Status known_to_fit(InferCall& c, int64_t axis) {
  const auto m = c.dims(1) ? (*c.dims(1))[static_cast<size_t>(axis)].number() : std::nullopt;
  const auto n = (*c.dims(0))[static_cast<size_t>(axis)].number();
  const auto starts = c.values(2);
  if (!m || !n || !starts || *m == 0) return {};
  for (size_t b = 0; b < starts->size(); ++b) {
    const auto start = (*starts)[b].number();
    if (start && (*start < 0 || (c.attr<TensorScatterAttrs>().mode == CacheMode::linear && *start > *n - *m)))
      return c.error("{} elements from {} on do not fit into {} of row {}", *m, *start, *n, b);
  }
  return {};
}

Status infer_tensor_scatter(InferCall& c) {
  if (c.dims(0)) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<TensorScatterAttrs>().axis, *c.rank(0)));
    if (axis == 0) return c.error("axis 0 is the batch");
    if (c.dims(1) && c.dims(1)->size() != c.dims(0)->size())
      return c.error("update has {} axes; cache has {}", c.dims(1)->size(), c.dims(0)->size());
    for (size_t i = 0; c.dims(1) && i < c.dims(0)->size(); ++i) {
      const Dim &n = (*c.dims(1))[i], &all = (*c.dims(0))[i];
      if (static_cast<int64_t>(i) != axis)
        NNEX_TRY(meet(c, n, all, fmt::format("extent of update at axis {}", i)));
      else if (n.is_number() && all.is_number() && n.value() > all.value())
        return c.error("update has {} elements along axis {}; cache has {}", n.value(), axis, all.value());
    }
    if (c.has(2) && c.dims(2)) {
      NNEX_TRY(need_rank(c, 2, 1));
      NNEX_TRY(meet(c, (*c.dims(2))[0], (*c.dims(0))[0], "numbers of start"));
      NNEX_TRY(known_to_fit(c, axis));
    }
  }
  return same_shape(c);
}

struct TensorScatter {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<TensorScatterAttrs>();
    const Shape &all = c.shape(0), &some = c.shape(1);
    const int64_t axis = a.axis < 0 ? a.axis + all.rank() : a.axis, n = all[axis], m = some[axis];
    int64_t heads = 1, inner = 1;
    for (int64_t i = 1; i < axis; ++i) heads *= all[i];
    for (int64_t i = axis + 1; i < all.rank(); ++i) inner *= all[i];
    T* y = c.out<T>(0).data();
    const T* x = c.in<T>(1).data();
    std::copy(c.in<T>(0).begin(), c.in<T>(0).end(), y);
    for (int64_t b = 0; b < all[0]; ++b) {
      const int64_t start = c.has(2) ? int_at(c.in(2), b) : 0;
      if (start < 0 || (m > 0 && a.mode == CacheMode::linear && start > n - m))
        return c.fault("{} elements from {} on do not fit into {} of row {}", m, start, n, b);
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t k = 0; k < m; ++k) {
          const T* from = x + ((b * heads + h) * m + k) * inner;
          std::copy(from, from + inner, y + ((b * heads + h) * n + (start % n + k) % n) * inner);
        }
    }
    return {};
  }
};

constexpr OpRow kScatterOps[] = {
    {.name = "scatter_elements",
     .summary = "x with the elements of update written at their index along one axis.",
     .source = "ONNX ScatterElements-18, Scatter-9; WebNN scatterElements()",
     .inputs = {{"x"}, {"index", kIndex}, {"update", same_type_as("x")}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ScatterElementsAttrs>(
         {field<&ScatterElementsAttrs::axis>("axis",
                                             "The axis the indices count along; negative counts from the last."),
          field<&ScatterElementsAttrs::reduction>("reduction", "How a written element meets the one there."),
          field<&ScatterElementsAttrs::from_end>("from_end", "A negative index counts from the end."),
          field<&ScatterElementsAttrs::outside>("outside", "What an index still outside does.")}),
     .infer = infer_scatter_elements,
     .reference = any(moved_or_met<ScatterElementsAttrs, ScatterElements>),
     .spelled = {{onnx, "ScatterElements"},
                 {onnx, "Scatter"},
                 {webnn, "scatterElements", {}, 1, "", {{"outside", "'clamp'"}}}}},
    {.name = "scatter_nd",
     .summary = "x with the slices of update written at the places that rows of index name.",
     .source = "ONNX ScatterND-18; WebNN scatterND()",
     .inputs = {{"x"}, {"index", kIndex}, {"update", same_type_as("x")}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ScatterNdAttrs>(
         {field<&ScatterNdAttrs::reduction>("reduction", "How a written element meets the one there."),
          field<&ScatterNdAttrs::from_end>("from_end", "A negative index counts from the end."),
          field<&ScatterNdAttrs::outside>("outside", "What an index still outside does.")}),
     .infer = infer_scatter_nd,
     .reference = any(moved_or_met<ScatterNdAttrs, ScatterNd>),
     .spelled = {{onnx, "ScatterND"}, {webnn, "scatterND", {}, 1, "", {{"outside", "'clamp'"}}}}},
    {.name = "tensor_scatter",
     .summary = "A cache with new elements written from each batch row's start on.",
     .source = "ONNX TensorScatter-24",
     .inputs = {{"cache"},
                {"update", same_type_as("cache")},
                {.name = "start", .type = kI64, .arity = Arity::optional, .doc = "One a batch row; absent: 0."}},
     .outputs = {{"y", same_type_as("cache")}},
     .attrs = attrs_of<TensorScatterAttrs>(
         {field<&TensorScatterAttrs::axis>("axis",
                                           "The axis that grows, not the batch; negative counts from the last."),
          field<&TensorScatterAttrs::mode>("mode", "Past the end: a fault, or on from the start.")}),
     .infer = infer_tensor_scatter,
     .reference = moving(TensorScatter{}),
     .spelled = {{onnx, "TensorScatter"}}},
};
}  // namespace

std::span<const OpDef> scatter_ops() { return stored<kScatterOps>(); }

}  // namespace nnex
