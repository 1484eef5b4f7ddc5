// Slices: begin, end and stride an axis. ONNX begins at the first element where a backward slice
// begins before it: its reader says so (standards/onnx/import_shape.cpp).

#include "ops/slice.h"

#include <algorithm>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/index.h"
#include "ops/infer_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {

std::pair<int64_t, int64_t> slice_range(int64_t n, int64_t begin, int64_t end, int64_t stride) {
  auto from_start = [&](int64_t i) { return i < 0 ? (i < INT64_MIN + n ? INT64_MIN : i + n) : i; };
  begin = from_start(begin), end = from_start(end);
  if (stride > 0) {
    begin = std::clamp<int64_t>(begin, 0, n), end = std::clamp<int64_t>(end, 0, n);
    return {begin, end > begin ? (end - begin - 1) / stride + 1 : 0};
  }
  begin = std::clamp<int64_t>(begin, -1, n - 1), end = std::clamp<int64_t>(end, -1, n - 1);
  // -stride of the smallest integer does not exist: one step is all such a slice can take.
  const int64_t step = stride == INT64_MIN ? INT64_MAX : -stride;
  return {begin, begin > end ? (begin - end - 1) / step + 1 : 0};
}

namespace {

Status infer_slice(InferCall& c) {
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  const int64_t rank = *c.rank(0);
  auto begin = c.values(1), end = c.values(2);
  std::optional<Dims> axes = c.has(3) ? c.values(3) : std::nullopt, stride = c.has(4) ? c.values(4) : std::nullopt;
  Dims out = *c.dims(0);
  if (c.has(3) && !axes) {
    c.result(0, c.unknowns(rank));
    return {};
  }
  Ints at;
  if (axes) {
    for (const Dim& a : *axes) at.push_back(a.number().value_or(0));
    if (std::any_of(axes->begin(), axes->end(), [](const Dim& a) { return !a.is_number(); })) {
      c.result(0, c.unknowns(rank));
      return {};
    }
  } else {
    // As many as the first of begin, end and stride names whose extent is known.
    size_t n = out.size();
    for (const size_t port : {size_t{4}, size_t{2}, size_t{1}})
      if (c.has(port) && c.dims(port) && c.dims(port)->size() == 1 && (*c.dims(port))[0].is_number())
        n = static_cast<size_t>((*c.dims(port))[0].value());
    if (n > out.size()) return c.error("begin names {} axes; x has {}", n, rank);
    for (size_t i = 0; i < n; ++i) at.push_back(static_cast<int64_t>(i));
  }
  NNEX_ASSIGN(at, positive_axes(c, at, rank));
  if ((begin && begin->size() != at.size()) || (end && end->size() != at.size()) ||
      (stride && stride->size() != at.size()))
    return c.error("begin, end and stride must name {} axes each", at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    Dim& d = out[static_cast<size_t>(at[i])];
    const bool unit = !c.has(4) || (stride && (*stride)[i] == Dim(1));
    if (stride && (*stride)[i] == Dim(0)) return c.error("stride of axis {} is 0", at[i]);
    const bool known = begin && end && (!c.has(4) || (stride && (*stride)[i].is_number())) && (*begin)[i].is_number() &&
                       (*end)[i].is_number();
    if (known && d.is_number()) {
      d = Dim(slice_range(d.value(), (*begin)[i].value(), (*end)[i].value(), stride ? (*stride)[i].value() : 1).second);
    } else if (unit && begin && end && (*begin)[i] == Dim(0) &&
               ((*end)[i] == d || ((*end)[i].is_number() && (*end)[i].value() >= INT32_MAX))) {
      continue;
    } else {
      d = c.unknown();
    }
  }
  c.result(0, std::move(out));
  return {};
}

struct Slice {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& from = c.shape(0);
    const Ints begin = ints_of(c.in(1)), end = ints_of(c.in(2)), stride = c.has(4) ? ints_of(c.in(4)) : Ints{};
    const auto named = static_cast<int64_t>(begin.size());
    if (named > from.rank()) return c.fault("begin names {} axes; x has {}", named, from.rank());
    NNEX_ASSIGN(const Ints axes, distinct_axes(c, c.has(3) ? ints_of(c.in(3)) : first_axes(named), from.rank()));
    if (end.size() != begin.size() || axes.size() != begin.size() || (c.has(4) && stride.size() != begin.size()))
      return c.fault("begin, end and stride must name {} axes each", axes.size());
    Ints strides = row_major_strides(from);
    Shape to = from;
    int64_t start = 0;
    for (size_t i = 0; i < begin.size(); ++i) {
      const int64_t axis = axes[i];
      const int64_t step = stride.empty() ? 1 : stride[i];
      if (step == 0) return c.fault("stride of axis {} is 0", axis);
      auto [first, count] = slice_range(from[axis], begin[i], end[i], step);
      to.set(axis, count);
      if (count == 0) continue;
      start += first * strides[static_cast<size_t>(axis)];
      strides[static_cast<size_t>(axis)] *= count > 1 ? step : 1;
    }
    NNEX_ASSIGN(Tensor * y, c.make(0, c.in(0).dtype(), to));
    if (to.count() == 0) return {};
    copy_strided(to, c.in<T>(0).data() + start, strides, y->mutable_as<T>().data(), row_major_strides(to));
    return {};
  }
};

// ---- slice_like ----

struct SliceLikeAttrs {
  Ints axes;
};

Status infer_slice_like(InferCall& c) {
  MaybeDims out = c.dims(0);
  if (out && c.dims(1)) {
    const Dims& like = *c.dims(1);
    Ints axes = c.attr<SliceLikeAttrs>().axes;
    if (axes.empty()) {
      if (like.size() != out->size()) return c.error("x has {} axes, like {}", out->size(), like.size());
      for (size_t i = 0; i < like.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    }
    NNEX_ASSIGN(axes, positive_axes(c, axes, *c.rank(0)));
    for (int64_t axis : axes) {
      const auto a = static_cast<size_t>(axis);
      if (a >= like.size()) return c.error("axes names axis {}; like has {} axes", axis, like.size());
      if (like[a].is_number() && (*out)[a].is_number() && like[a].value() > (*out)[a].value())
        return c.error("like has extent {} at axis {}; x has {}", like[a].value(), axis, (*out)[a].value());
      (*out)[a] = like[a];
    }
  } else if (out) {
    out = c.unknowns(*c.rank(0));
  }
  c.result(0, std::move(out));
  return {};
}

struct SliceLike {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& to = c.out(0).shape();
    for (int64_t i = 0; i < to.rank(); ++i)
      if (to[i] > c.shape(0)[i]) return c.fault("like has extent {} at axis {}; x has {}", to[i], i, c.shape(0)[i]);
    copy_strided(to, c.in<T>(0).data(), row_major_strides(c.shape(0)), c.out<T>(0).data(), row_major_strides(to));
    return {};
  }
};

constexpr OpRow kSliceOps[] = {
    {.name = "slice",
     .summary = "Every stride-th element from begin to before end, along axes.",
     .source = "NNEF 1.0.5 slice; ONNX Slice-10 (1: attributes); WebNN slice(); CVM strided_slice",
     .inputs = {{"x"},
                {.name = "begin", .type = kIndex, .by_value = true},
                {.name = "end", .type = kIndex, .by_value = true},
                {.name = "axes", .type = kIndex, .arity = Arity::optional, .by_value = true},
                {.name = "stride", .type = kIndex, .arity = Arity::optional, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .infer = infer_slice,
     .precision = keeps_precision,
     .reference = moving(Slice{}),
     .spelled = {{nnef, "slice"},
                 {nnef, "nearest_downsample", {{"stride", "factor"}}},
                 {onnx, "Slice", {}, 10},
                 {onnx, "Slice", {{"begin", "starts"}, {"end", "ends"}}},
                 {webnn, "slice", {{"begin", "starts"}, {"stride", "strides"}}},
                 {cvm, "strided_slice"}},
     .in_bytes = ByteRole::moves,
     .elements = Elements::of_first,
     .layout = LayoutRole::slice},
    {.name = "slice_like",
     .summary = "The leading part of x that has the extents of another tensor along axes.",
     .source = "CVM slice_like",
     .inputs = {{"x"}, {"like"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<SliceLikeAttrs>({field<&SliceLikeAttrs::axes>("axes", "The axes cut; empty: all.")}),
     .infer = infer_slice_like,
     .precision = keeps_precision,
     .reference = moving(SliceLike{}),
     .spelled = {{cvm, "slice_like", {{"axes", "axis"}}}},
     .elements = Elements::of_first},
};
}  // namespace

std::span<const OpDef> slice_ops() { return stored<kSliceOps>(); }

}  // namespace nnex
