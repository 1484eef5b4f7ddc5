// Reading by index.

#include "ops/gather.h"

#include <algorithm>
#include <numeric>

#include "ops/call.h"
#include "ops/index.h"
#include "ops/infer_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

int64_t between(const Shape& s, int64_t begin, int64_t end) {
  return std::accumulate(s.begin() + begin, s.begin() + end, int64_t{1}, std::multiplies<>());
}

/// Every index into [0, n), by the attributes' rules.
Result<Ints> settled(Call& c, const Tensor& index, int64_t n, int64_t axis) {
  const auto& a = c.attr<GatherAttrs>();
  Ints out(static_cast<size_t>(index.count()));
  for (int64_t i = 0; i < index.count(); ++i) {
    const int64_t k = index_at(index, i);
    const int64_t place = index_in(k, n, a.from_end, a.outside);
    if (place < 0) return c.fault("index {} is outside [{}, {}) of axis {}", k, a.from_end ? -n : 0, n, axis);
    out[static_cast<size_t>(i)] = place;
  }
  return out;
}

/// The same for one axis.
Status known_inside(InferCall& c, int64_t axis) {
  const auto& a = c.attr<GatherAttrs>();
  return known_inside(c, std::span(*c.dims(0)).subspan(static_cast<size_t>(axis), 1), axis, a.from_end, a.outside);
}

Status infer_gather(InferCall& c) {
  if (!c.dims(0) || !c.dims(1)) {
    c.result(0, MaybeDims{});
    return {};
  }
  NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<GatherAttrs>().axis, *c.rank(0)));
  NNEX_TRY(known_inside(c, axis));
  Dims out(c.dims(0)->begin(), c.dims(0)->begin() + axis);
  out.insert(out.end(), c.dims(1)->begin(), c.dims(1)->end());
  out.insert(out.end(), c.dims(0)->begin() + axis + 1, c.dims(0)->end());
  c.result(0, std::move(out));
  return {};
}

struct Gather {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& from = c.shape(0);
    int64_t axis = c.attr<GatherAttrs>().axis;
    if (axis < 0) axis += from.rank();
    NNEX_ASSIGN(Ints index, settled(c, c.in(1), from[axis], axis));
    const int64_t outer = between(from, 0, axis), inner = between(from, axis + 1, from.rank()), n = from[axis];
    T* y = c.out<T>(0).data();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k : index) {
        const T* x = c.in<T>(0).data() + (o * n + k) * inner;
        y = std::copy(x, x + inner, y);
      }
    return {};
  }
};

/// Index has as many axes as x, and no more places along others than the one it names.
Status index_fits(InferCall& c, int64_t axis) {
  const Dims &x = *c.dims(0), &index = *c.dims(1);
  if (x.size() != index.size()) return c.error("index has {} axes; x has {}", index.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<int64_t>(i) != axis && index[i].is_number() && x[i].is_number() && index[i].value() > x[i].value())
      return c.error("index has extent {} at axis {}; x has {}", index[i].value(), i, x[i].value());
  return {};
}

Status infer_gather_elements(InferCall& c) {
  if (c.dims(0)) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<GatherAttrs>().axis, *c.rank(0)));
    if (c.dims(1)) NNEX_TRY(index_fits(c, axis));
    NNEX_TRY(known_inside(c, axis));
  }
  c.result(0, c.dims(1));
  return {};
}

struct GatherElements {
  template <class T>
  Status operator()(Call& c) const {
    const Shape &from = c.shape(0), &to = c.shape(1);
    int64_t axis = c.attr<GatherAttrs>().axis;
    if (axis < 0) axis += from.rank();
    for (int64_t a = 0; a < to.rank(); ++a)
      if (a != axis && to[a] > from[a]) return c.fault("index has extent {} at axis {}; x has {}", to[a], a, from[a]);
    NNEX_ASSIGN(Ints index, settled(c, c.in(1), from[axis], axis));
    const Ints xs = row_major_strides(from), ys = row_major_strides(to);
    for (int64_t i = 0; i < c.in(1).count(); ++i) {
      int64_t x = 0, rest = i;
      for (int64_t a = 0; a < to.rank(); ++a) {
        const auto k = static_cast<size_t>(a);
        x += (a == axis ? index[static_cast<size_t>(i)] : rest / ys[k]) * xs[k];
        rest %= ys[k];
      }
      c.out<T>(0)[static_cast<size_t>(i)] = c.in<T>(0)[static_cast<size_t>(x)];
    }
    return {};
  }
};

// ---- gather_nd ----

Status infer_gather_nd(InferCall& c) {
  const int64_t batch = c.attr<GatherNdAttrs>().batch_dims;
  if (!c.dims(0) || !c.dims(1) || c.dims(1)->empty() || !c.dims(1)->back().is_number()) {
    if (c.dims(1) && c.dims(1)->empty()) return c.error("index is one number; needed at least one axis");
    c.result(0, MaybeDims{});
    return {};
  }
  const Dims &x = *c.dims(0), &index = *c.dims(1);
  const int64_t rank = *c.rank(0), taken = index.back().value();
  if (batch < 0 || batch >= *c.rank(1) || batch > rank)
    return c.error("batch_dims is {}; x has {} axes, index {}", batch, rank, index.size());
  if (taken < 0 || taken > rank - batch)
    return c.error("index names {} axes after {} of the batch; x has {}", taken, batch, rank);
  const auto& attrs = c.attr<GatherNdAttrs>();
  const auto named = std::span(x).subspan(static_cast<size_t>(batch), static_cast<size_t>(taken));
  NNEX_TRY(known_inside(c, named, batch, attrs.from_end, attrs.outside));
  Dims out;
  for (int64_t i = 0; i < batch; ++i) {
    const auto a = static_cast<size_t>(i);
    NNEX_ASSIGN(Dim d, meet(c, index[a], x[a], "extent of index in the batch"));
    out.push_back(d);
  }
  out.insert(out.end(), index.begin() + batch, index.end() - 1);
  out.insert(out.end(), x.begin() + batch + taken, x.end());
  c.result(0, std::move(out));
  return {};
}

struct GatherNd {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<GatherNdAttrs>();
    const Shape &from = c.shape(0), &at = c.shape(1);
    const int64_t batch = a.batch_dims, taken = at[at.rank() - 1], inner = between(from, batch + taken, from.rank());
    const int64_t batches = between(at, 0, batch), each = between(at, batch, at.rank() - 1);
    const int64_t step = between(from, batch, from.rank());
    std::vector<int64_t> extents(at.begin(), at.end() - 1);
    extents.insert(extents.end(), from.begin() + batch + taken, from.end());
    NNEX_ASSIGN(Tensor * out, c.make(0, c.in(0).dtype(), Shape(extents)));
    if (out->count() == 0) return {};
    const T* x = c.in<T>(0).data();
    T* y = out->mutable_as<T>().data();
    for (int64_t i = 0; i < batches * each; ++i) {
      NNEX_ASSIGN(int64_t k, block_at(c, c.in(1), i * taken, taken, from, batch, a.from_end, a.outside));
      const T* block = x + i / each * step + k * inner;
      y = std::copy(block, block + inner, y);
    }
    return {};
  }
};

// ---- one_hot ----

Status infer_one_hot(InferCall& c) {
  NNEX_TRY(need_number(c, 1));
  if (const auto given = c.dims(2) ? product(*c.dims(2)).number() : std::nullopt; given && *given != 2)
    return c.error("values has {} elements; needed 2", *given);
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  Dims out = *c.dims(0);
  NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<OneHotAttrs>().axis, static_cast<int64_t>(out.size()) + 1));
  Dim depth = c.unknown();
  if (auto v = c.values(1); v && v->size() == 1)
    depth = (*v)[0];
  else if (const Tensor* t = c.constant(1); t && t->count() == 1)
    depth = Dim(int_at(*t, 0));
  if (depth.is_number() && depth.value() < 0) return c.error("depth is {}", depth.value());
  out.insert(out.begin() + axis, std::move(depth));
  c.result(0, std::move(out));
  return {};
}

struct OneHot {
  template <class T>
  Status operator()(Call& c) const {
    const Tensor& index = c.in(0);
    if (c.in(1).count() != 1 || c.in(2).count() != 2) return c.fault("depth must be one number, values two");
    const int64_t depth = int_at(c.in(1), 0), rank = index.shape().rank() + 1;
    if (depth < 0) return c.fault("depth is {}", depth);
    const bool from_end = c.attr<OneHotAttrs>().from_end;
    int64_t axis = c.attr<OneHotAttrs>().axis;
    if (axis < 0) axis += rank;
    std::vector<int64_t> extents(index.shape().begin(), index.shape().end());
    extents.insert(extents.begin() + axis, depth);
    NNEX_ASSIGN(Tensor * y, c.make(0, c.in(2).dtype(), Shape(extents)));
    std::fill(y->mutable_as<T>().begin(), y->mutable_as<T>().end(), c.in<T>(2)[0]);
    const int64_t inner = between(index.shape(), axis, index.shape().rank());
    for (int64_t i = 0; i < index.count(); ++i) {
      int64_t k = int_at(index, i);
      if (k < 0 && from_end) k += depth;
      if (k < 0 || k >= depth) continue;
      y->mutable_as<T>()[static_cast<size_t>(i / inner * depth * inner + k * inner + i % inner)] = c.in<T>(2)[1];
    }
    return {};
  }
};

constexpr AttrType kGatherNdAttrs = attrs_of<GatherNdAttrs>({
    field<&GatherNdAttrs::batch_dims>("batch_dims", "Leading axes that x and index share."),
    field<&GatherNdAttrs::from_end>("from_end", "A negative index counts from the end."),
    field<&GatherNdAttrs::outside>("outside", "What an index still outside does."),
});

constexpr AttrType kGatherAttrs = attrs_of<GatherAttrs>({
    field<&GatherAttrs::axis>("axis", "The axis the indices count along; negative counts from the last."),
    field<&GatherAttrs::from_end>("from_end", "A negative index counts from the end."),
    field<&GatherAttrs::outside>("outside", "What an index still outside does."),
});

constexpr OpRow kGatherOps[] = {
    {.name = "gather",
     .summary = "Slices of x at the indices of one axis.",
     .source = "NNEF 1.0.5 gather; ONNX Gather-11; WebNN gather(); CVM take, cvm_lut",
     .inputs = {{"x"}, {"index", kIndex}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kGatherAttrs,
     .infer = infer_gather,
     .precision = keeps_precision,
     .reference = moving(Gather{}),
     .spelled = {{nnef, "gather", {}, 1, "", {{"from_end", "false"}}},
                 {onnx, "Gather"},
                 {webnn, "gather", {}, 1, "", {{"outside", "'clamp'"}}},
                 {cvm, "take", {}, 1, "", {{"from_end", "false"}, {"outside", "'clamp'"}}},
                 {cvm, "cvm_lut", {}, 1, "", {{"from_end", "false"}, {"outside", "'clamp'"}}, {"index", "x"}}},
     .elements = Elements::of_first},
    {.name = "gather_elements",
     .summary = "For every place of index, the element of x at that index of one axis and that place of the others.",
     .source = "ONNX GatherElements-11; WebNN gatherElements()",
     .inputs = {{"x"}, {"index", kIndex}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kGatherAttrs,
     .infer = infer_gather_elements,
     .reference = moving(GatherElements{}),
     .spelled = {{onnx, "GatherElements"}, {webnn, "gatherElements", {}, 1, "", {{"outside", "'clamp'"}}}},
     .elements = Elements::of_first},
    {.name = "gather_nd",
     .summary = "Slices of x at the places that rows of index name.",
     .source = "ONNX GatherND-12; WebNN gatherND()",
     .inputs = {{"x"}, {"index", kIndex}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kGatherNdAttrs,
     .infer = infer_gather_nd,
     .reference = moving(GatherNd{}),
     .spelled = {{onnx, "GatherND"}, {webnn, "gatherND", {}, 1, "", {{"outside", "'clamp'"}}}},
     .elements = Elements::of_first},
    {.name = "one_hot",
     .summary = "A new axis of `depth` places: on at the index, off elsewhere.",
     .source = "ONNX OneHot-11 (9: negative indices are off)",
     .inputs = {{"index", kN}, {.name = "depth", .type = kN, .by_value = true}, {.name = "values", .doc = "[off, on]"}},
     .outputs = {{"y", same_type_as("values")}},
     .attrs = attrs_of<OneHotAttrs>(
         {field<&OneHotAttrs::axis>("axis", "Place of the new axis in the result; negative counts from its last."),
          field<&OneHotAttrs::from_end>("from_end", "A negative index counts from the end; else it is off.")}),
     .infer = infer_one_hot,
     .reference = moving(OneHot{}, 2),
     .spelled = {{onnx, "OneHot", {}, 11}, {onnx, "OneHot", {}, 9, "", {{"from_end", "false"}}}}},
};
}  // namespace

std::span<const OpDef> gather_ops() { return stored<kGatherOps>(); }

}  // namespace nnex
