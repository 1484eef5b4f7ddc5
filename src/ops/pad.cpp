// Pads and reversed axes.

#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/index.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/join.h"
#include "ops/share_out.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

/// Amounts before and after each axis of x, from the padding and axes inputs; nullopt when they are not known.
Result<std::optional<std::pair<Dims, Dims>>> amounts(InferCall& c, int64_t rank) {
  auto padding = c.values(1);
  std::optional<Dims> axes = c.has(3) ? c.values(3) : std::nullopt;
  if (!padding || (c.has(3) && !axes)) return std::optional<std::pair<Dims, Dims>>{};
  Ints at;
  if (axes) {
    for (const Dim& a : *axes) {
      if (!a.is_number()) return std::optional<std::pair<Dims, Dims>>{};
      at.push_back(a.value());
    }
    NNEX_ASSIGN(at, positive_axes(c, at, rank));
  } else {
    for (int64_t i = 0; i < rank; ++i) at.push_back(i);
  }
  if (padding->size() != 2 * at.size())
    return c.error("padding has {} numbers; {} axes need {}", padding->size(), at.size(), 2 * at.size());
  std::pair<Dims, Dims> out{Dims(static_cast<size_t>(rank), Dim(0)), Dims(static_cast<size_t>(rank), Dim(0))};
  for (size_t i = 0; i < at.size(); ++i) {
    out.first[static_cast<size_t>(at[i])] = (*padding)[i];
    out.second[static_cast<size_t>(at[i])] = (*padding)[at.size() + i];
  }
  return std::optional(std::move(out));
}

Status infer_pad(InferCall& c) {
  NNEX_TRY(need_number(c, 2));
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  NNEX_ASSIGN(auto pads, amounts(c, *c.rank(0)));
  if (!pads) {
    c.result(0, c.unknowns(*c.rank(0)));
    return {};
  }
  Dims out;
  for (size_t i = 0; i < c.dims(0)->size(); ++i) {
    const Dim& x = (*c.dims(0))[i];
    Dim e = x + pads->first[i] + pads->second[i];
    if (e.is_number() && e.value() < 0)
      return c.error("padding ({}, {}) leaves {} elements of axis {}", pads->first[i].text(), pads->second[i].text(),
                     e.value(), i);
    if (x == Dim(0) && e.is_number() && e.value() > 0 && c.attr<PadAttrs>().border != PadBorder::constant)
      return c.error("axis {} is empty: nothing to pad with", i);
    out.push_back(std::move(e));
  }
  c.result(0, std::move(out));
  return {};
}

/// The element of [0, n) that place i shows, n > 0; -1: the constant.
int64_t source_of(int64_t i, int64_t n, PadBorder border) {
  if (i >= 0 && i < n) return i;
  auto modulo = [](int64_t a, int64_t m) { return a - m * floor_div(a, m); };
  switch (border) {
    case PadBorder::constant:
      return -1;
    case PadBorder::replicate:
      return i < 0 ? 0 : n - 1;
    case PadBorder::reflect: {
      if (n == 1) return 0;
      const int64_t k = modulo(i, 2 * (n - 1));
      return k < n ? k : 2 * (n - 1) - k;
    }
    case PadBorder::reflect_even: {
      const int64_t k = modulo(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    case PadBorder::wrap:
      return modulo(i, n);
  }
  return -1;
}

/// Where each place of y comes from, the same for every type.
struct PadSources {
  Shape from, to;
  std::vector<Ints> source;  ///< For every axis and place of y an offset in x, or -1: the constant.
  int64_t before = 0;        ///< Of the last axis.
};

Result<PadSources> pad_sources(Call& c) {
  PadSources s;
  s.from = s.to = c.shape(0);
  const int64_t rank = s.from.rank();
  const PadBorder border = c.attr<PadAttrs>().border;
  const Ints padding = ints_of(c.in(1));
  NNEX_ASSIGN(const Ints axes, distinct_axes(c, c.has(3) ? ints_of(c.in(3)) : first_axes(rank), rank));
  if (padding.size() != 2 * axes.size())
    return c.fault("padding has {} numbers; {} axes need {}", padding.size(), axes.size(), 2 * axes.size());
  if (c.has(2) && c.in(2).count() != 1) return c.fault("value has {} numbers; needed one", c.in(2).count());
  Ints before(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t front = padding[i], behind = padding[axes.size() + i];
    const auto amount = checked_add(front, behind);
    const auto extent = amount ? checked_add(s.from[axes[i]], *amount) : std::nullopt;
    if (!extent || *extent < 0 || front == INT64_MIN || behind == INT64_MIN)
      return c.fault("padding ({}, {}) of axis {} with {} elements leaves nothing", front, behind, axes[i],
                     s.from[axes[i]]);
    before[static_cast<size_t>(axes[i])] = front;
    s.to.set(axes[i], *extent);
  }
  NNEX_TRY(c.make(0, c.in(0).dtype(), s.to));  // before tables of its extents, which a limit may refuse
  const Ints strides = row_major_strides(s.from);
  s.source.resize(static_cast<size_t>(rank));
  for (int64_t a = 0; a < rank; ++a) {
    const auto i = static_cast<size_t>(a);
    const int64_t n = s.from[a];
    if (n == 0 && s.to[a] > 0 && border != PadBorder::constant)
      return c.fault("axis {} is empty: nothing to pad with", a);
    for (int64_t k = 0; k < s.to[a]; ++k) {
      const int64_t at = n > 0 ? source_of(k - before[i], n, border) : -1;
      s.source[i].push_back(at < 0 ? -1 : at * strides[i]);
    }
  }
  if (rank > 0) s.before = before.back();
  return s;
}

struct Pad {
  template <class T>
  Status operator()(Call& c) const {
    NNEX_ASSIGN(const PadSources s, pad_sources(c));
    const T value = c.has(2) ? c.in<T>(2)[0] : T{};
    const T* from_x = c.in<T>(0).data();
    T* y = c.out<T>(0).data();
    const int64_t rank = s.to.rank();
    if (rank == 0) return y[0] = from_x[0], Status{};
    // Of the last axis, what lies within x is there in one piece.
    const Ints strides = row_major_strides(s.to), &last = s.source.back();
    const int64_t width = s.to[rank - 1], begin = std::clamp<int64_t>(s.before, 0, width);
    const int64_t end = std::clamp(s.before + s.from[rank - 1], begin, width);
    for_each_row(s.to, Ints(static_cast<size_t>(rank), 0), strides, [&](int64_t, int64_t row) {
      int64_t x = 0, rest = row;
      bool inside = true;
      for (int64_t a = 0; a + 1 < rank; ++a) {
        const auto i = static_cast<size_t>(a);
        const int64_t offset = s.source[i][static_cast<size_t>(rest / strides[i])];
        rest %= strides[i];
        inside &= offset >= 0;
        x += offset;
      }
      if (!inside) {
        std::fill(y + row, y + row + width, value);
        return;
      }
      auto place = [&](int64_t k) {
        const int64_t at = last[static_cast<size_t>(k)];
        y[row + k] = at >= 0 ? from_x[x + at] : value;
      };
      for (int64_t k = 0; k < begin; ++k) place(k);
      if (begin < end) std::copy_n(from_x + x + (begin - s.before), end - begin, y + row + begin);
      for (int64_t k = end; k < width; ++k) place(k);
    });
    return {};
  }
};

// ---- center_crop_pad ----

struct CenterCropPadAttrs {
  Ints axes;
};

Status infer_center_crop_pad(InferCall& c) {
  NNEX_TRY(need_rank(c, 1, 1));
  MaybeDims out = c.dims(0);
  if (out) {
    const auto wanted = c.values(1);
    Ints axes = c.attr<CenterCropPadAttrs>().axes;
    if (axes.empty())
      for (int64_t i = 0; i < *c.rank(0); ++i) axes.push_back(i);
    NNEX_ASSIGN(axes, positive_axes(c, axes, *c.rank(0)));
    if (wanted && wanted->size() != axes.size())
      return c.error("shape has {} extents; needed {}", wanted->size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      const Dim n = wanted ? (*wanted)[i] : c.unknown();
      if (n.is_number() && n.value() < 0) return c.error("shape has extent {}", n.value());
      (*out)[static_cast<size_t>(axes[i])] = n;
    }
  }
  c.result(0, std::move(out));
  return {};
}

/// Of an odd surplus the larger half is cut, of an odd lack the larger half is filled, at the end.
struct CenterCropPad {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& from = c.shape(0);
    Ints axes = c.attr<CenterCropPadAttrs>().axes;
    if (axes.empty())
      for (int64_t i = 0; i < from.rank(); ++i) axes.push_back(i);
    const Ints wanted = ints_of(c.in(1));
    if (wanted.size() != axes.size()) return c.fault("shape has {} extents; needed {}", wanted.size(), axes.size());
    Shape to = from, both = from;
    const Ints xs = row_major_strides(from);
    int64_t x_start = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + from.rank() : axes[i], n = from[axis];
      if (wanted[i] < 0) return c.fault("shape has extent {}", wanted[i]);
      to.set(axis, wanted[i]);
      both.set(axis, std::min(n, wanted[i]));
      if (n > wanted[i]) x_start += (n - wanted[i]) / 2 * xs[static_cast<size_t>(axis)];
    }
    NNEX_ASSIGN(Tensor * out, c.make(0, c.in(0).dtype(), to));
    const Ints ys = row_major_strides(to);
    int64_t y_start = 0;
    for (int64_t i = 0; i < to.rank(); ++i)
      if (to[i] > from[i]) y_start += (to[i] - from[i]) / 2 * ys[static_cast<size_t>(i)];
    T* y = out->mutable_as<T>().data();
    std::fill(y, y + out->count(), T{});
    if (both.count() > 0) copy_strided(both, c.in<T>(0).data() + x_start, xs, y + y_start, ys);
    return {};
  }
};

struct ReverseAttrs {
  std::optional<Ints> axes;
};

Status infer_reverse(InferCall& c) {
  const auto& a = c.attr<ReverseAttrs>();
  if (a.axes && c.dims(0)) NNEX_TRY(positive_axes(c, *a.axes, *c.rank(0)));
  return same_shape(c);
}

struct Reverse {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& s = c.shape(0);
    Ints axes;
    if (c.attr<ReverseAttrs>().axes)
      axes = *c.attr<ReverseAttrs>().axes;
    else
      for (int64_t i = 0; i < s.rank(); ++i) axes.push_back(i);
    const Ints dense = row_major_strides(s);
    Ints strides = dense;
    int64_t start = 0;
    for (int64_t axis : axes) {
      const auto a = static_cast<size_t>(axis < 0 ? axis + s.rank() : axis);
      start += dense[a] * (s[static_cast<int64_t>(a)] - 1);
      strides[a] = -dense[a];
    }
    if (s.count() == 0) return {};
    copy_strided(s, c.in<T>(0).data() + start, strides, c.out<T>(0).data(), dense);
    return {};
  }
};

struct ReverseSequenceAttrs {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
};

Status infer_reverse_sequence(InferCall& c) {
  const auto& a = c.attr<ReverseSequenceAttrs>();
  if (c.dims(0)) {
    NNEX_ASSIGN(int64_t batch, positive_axis(c, a.batch_axis, *c.rank(0), "batch_axis"));
    NNEX_ASSIGN(int64_t time, positive_axis(c, a.time_axis, *c.rank(0), "time_axis"));
    if (batch == time || batch > 1 || time > 1)
      return c.error("batch_axis {} and time_axis {} must be 0 and 1", batch, time);
    if (c.dims(1) && c.dims(1)->size() == 1)
      NNEX_TRY(meet(c, (*c.dims(1))[0], (*c.dims(0))[static_cast<size_t>(batch)], "lengths"));
  }
  NNEX_TRY(need_rank(c, 1, 1));
  return same_shape(c);
}

struct ReverseSequence {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& s = c.shape(0);
    const bool time_first = c.attr<ReverseSequenceAttrs>().time_axis == 0;
    const int64_t steps = s[time_first ? 0 : 1], batch = s[time_first ? 1 : 0],
                  inner = s.count() / std::max<int64_t>(s[0] * s[1], 1);
    const Ints lengths = ints_of(c.in(1));
    for (int64_t b = 0; b < batch; ++b)
      if (const int64_t n = lengths[static_cast<size_t>(b)]; n < 0 || n > steps)
        return c.fault("length {} of row {} is outside [0, {}]", n, b, steps);
    const T* const x = c.in<T>(0).data();
    T* const y = c.out<T>(0).data();
    share_out(c, batch * steps, c.in(0).bytes(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = time_first ? i % batch : i / steps, t = time_first ? i / batch : i % steps;
        const int64_t n = lengths[static_cast<size_t>(b)], from = t < n ? n - 1 - t : t;
        std::copy_n(x + (time_first ? from * batch + b : b * steps + from) * inner, inner, y + i * inner);
      }
    });
    return {};
  }
};

void pad_interval(IntervalCall& c) {
  const auto x = c.in(0), value = c.has(2) ? c.in(2) : std::optional(Interval{0, 0});
  if (x && value) c.result(hull(*x, *value));
}

constexpr OpRow kPadOps[] = {
    {.name = "pad",
     .summary = "Place i of an axis shows place i - before of x, which the border continues; negative amounts crop.",
     .source = "NNEF 1.0.5 pad; ONNX Pad-18 (1: paddings, 2: attribute, 11: input); WebNN pad()",
     .inputs = {{"x"},
                {.name = "padding", .type = kIndex, .by_value = true, .doc = "All amounts before, then all after."},
                {.name = "value", .type = same_type_as("x"), .arity = Arity::optional},
                {.name = "axes", .type = kIndex, .arity = Arity::optional, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<PadAttrs>({field<&PadAttrs::border>("border", "What the places hold.")}),
     .infer = infer_pad,
     .interval = pad_interval,
     .reference = moving(Pad{}),
     .spelled = {{nnef, "pad", {{"padding", "padding", &halves}, {"border", "border", &nnef_border}}},
                 {onnx, "Pad", {{"border", "mode", &onnx_border}}, 11},
                 {onnx, "Pad", {{"border", "mode", &onnx_border}, {"padding", "pads"}}},
                 {webnn, "pad", {{"border", "mode", &webnn_border}}}},
     .layout = LayoutRole::pad},
    {.name = "center_crop_pad",
     .summary = "The middle of x, cut or padded with zeros to the extents asked for.",
     .source = "ONNX CenterCropPad-18",
     .inputs = {{"x"}, {.name = "shape", .type = kIndex, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<CenterCropPadAttrs>(
         {field<&CenterCropPadAttrs::axes>("axes", "The axes that shape speaks of; empty: all.")}),
     .infer = infer_center_crop_pad,
     .reference = moving(CenterCropPad{}),
     .spelled = {{onnx, "CenterCropPad"}}},
    {.name = "reverse",
     .summary = "Elements in reversed order along axes.",
     .source = "WebNN reverse()",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ReverseAttrs>({field<&ReverseAttrs::axes>("axes", "The axes; absent: all.")}),
     .infer = infer_reverse,
     .reference = moving(Reverse{}),
     .spelled = {{webnn, "reverse"}},
     .elements = Elements::of_first},
    {.name = "reverse_sequence",
     .summary = "The first `length` steps of each row of a batch in reversed order.",
     .source = "ONNX ReverseSequence-10",
     .inputs = {{"x"}, {"lengths", DType::i64}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ReverseSequenceAttrs>({field<&ReverseSequenceAttrs::batch_axis>("batch_axis", "0 or 1."),
                                              field<&ReverseSequenceAttrs::time_axis>("time_axis", "1 or 0.")}),
     .infer = infer_reverse_sequence,
     .reference = moving(ReverseSequence{}),
     .spelled = {{onnx, "ReverseSequence"}}},
};
}  // namespace

std::span<const OpDef> pad_ops() { return stored<kPadOps>(); }

}  // namespace nnex
