// Tensors put together, taken apart, repeated.

#include "ops/join.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

// ---- concat ----

Status infer_concat(InferCall& c) {
  if (c.inputs() == 0) return c.error("found no items; needed at least 1");
  MaybeDims out;
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.dims(i)) {
      c.result(0, MaybeDims{});
      return {};
    }
    const Dims& d = *c.dims(i);
    if (!out) {
      NNEX_TRY(positive_axis(c, c.attr<AxisAttrs>().axis, static_cast<int64_t>(d.size())));
      out = d;
      continue;
    }
    if (d.size() != out->size()) return c.error("items have {} and {} axes", out->size(), d.size());
    const auto axis = static_cast<size_t>(from_front(c.attr<AxisAttrs>().axis, static_cast<int64_t>(d.size())));
    for (size_t a = 0; a < d.size(); ++a) {
      if (a == axis)
        (*out)[a] = (*out)[a] + d[a];
      else {
        NNEX_ASSIGN((*out)[a], meet(c, d[a], (*out)[a], fmt::format("extent of item {} at axis {}", i, a)));
      }
    }
  }
  c.result(0, std::move(out));
  return {};
}

struct Concat {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& to = c.out(0).shape();
    const int64_t axis = from_front(c.attr<AxisAttrs>().axis, to.rank());
    const int64_t outer = count_between(to, 0, axis), row = count_between(to, axis, to.rank());
    T* y = c.out<T>(0).data();
    int64_t at = 0;
    for (size_t i = 0; i < c.inputs(); ++i) {
      const int64_t part = count_between(c.shape(i), axis, to.rank());
      const T* x = c.in<T>(i).data();
      for (int64_t o = 0; o < outer; ++o) std::copy(x + o * part, x + (o + 1) * part, y + o * row + at);
      at += part;
    }
    return {};
  }
};

// ---- stack, unstack ----

Status infer_stack(InferCall& c) {
  if (c.inputs() == 0) return c.error("found no items; needed at least 1");
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  Dims out = *c.dims(0);
  for (size_t i = 1; i < c.inputs(); ++i) {
    if (!c.dims(i)) continue;
    const Dims& d = *c.dims(i);
    if (d.size() != out.size()) return c.error("items have {} and {} axes", out.size(), d.size());
    for (size_t a = 0; a < d.size(); ++a) {
      NNEX_ASSIGN(out[a], meet(c, d[a], out[a], fmt::format("extent of item {} at axis {}", i, a)));
    }
  }
  NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<AxisAttrs>().axis, static_cast<int64_t>(out.size()) + 1));
  out.insert(out.begin() + axis, Dim(static_cast<int64_t>(c.inputs())));
  c.result(0, std::move(out));
  return {};
}

struct Stack {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& to = c.out(0).shape();
    const int64_t axis = from_front(c.attr<AxisAttrs>().axis, to.rank());
    const int64_t outer = count_between(to, 0, axis), inner = count_between(to, axis + 1, to.rank()), n = to[axis];
    for (int64_t i = 0; i < n; ++i) {
      const T* x = c.in<T>(static_cast<size_t>(i)).data();
      for (int64_t o = 0; o < outer; ++o)
        std::copy(x + o * inner, x + (o + 1) * inner, c.out<T>(0).data() + (o * n + i) * inner);
    }
    return {};
  }
};

Status infer_unstack(InferCall& c) {
  MaybeDims out = c.dims(0);
  if (out) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<AxisAttrs>().axis, static_cast<int64_t>(out->size())));
    NNEX_TRY(meet(c, (*out)[static_cast<size_t>(axis)], Dim(static_cast<int64_t>(c.outputs())), "results"));
    out->erase(out->begin() + axis);
  }
  for (size_t o = 0; o < c.outputs(); ++o) c.result(o, out);
  return {};
}

struct Unstack {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& from = c.shape(0);
    const int64_t axis = from_front(c.attr<AxisAttrs>().axis, from.rank());
    const int64_t outer = count_between(from, 0, axis), inner = count_between(from, axis + 1, from.rank()),
                  n = from[axis];
    for (int64_t i = 0; i < n; ++i) {
      if (!c.wants(static_cast<size_t>(i))) continue;
      T* y = c.out<T>(static_cast<size_t>(i)).data();
      for (int64_t o = 0; o < outer; ++o) std::copy_n(c.in<T>(0).data() + (o * n + i) * inner, inner, y + o * inner);
    }
    return {};
  }
};

// ---- split ----

/// The extents of the parts; unknown ones where sizes are computed.
Result<Dims> parts(InferCall& c, const Dim& extent) {
  const auto& a = c.attr<SplitAttrs>();
  const auto n = static_cast<int64_t>(c.outputs());
  if (c.has(1)) {
    auto sizes = c.values(1);
    if (!sizes) return c.unknowns(n);
    if (static_cast<int64_t>(sizes->size()) != n)
      return c.error("sizes names {} parts; the node has {}", sizes->size(), n);
    Dim sum = 0;
    for (const Dim& d : *sizes) {
      if (d.is_number() && d.value() < 0) return c.error("size {} is negative", d.value());
      sum = sum + d;
    }
    NNEX_TRY(meet(c, sum, extent, "sum of sizes"));
    return *sizes;
  }
  if (!a.ratios.empty()) {
    int64_t all = 0;
    for (int64_t r : a.ratios) {
      const auto sum = checked_add(all, std::max<int64_t>(r, 0));
      if (!sum) return c.error("the sum of the ratios passes 64 bits");
      all = *sum;
    }
    if (static_cast<int64_t>(a.ratios.size()) != n || all == 0)
      return c.error("{} ratios for {} parts", a.ratios.size(), n);
    if (extent.is_number() && extent.value() % all)
      return c.error("ratios add up to {}, which does not divide extent {}", all, extent.value());
    Dims out;
    for (int64_t r : a.ratios) out.push_back(floor_div(extent, Dim(all)) * Dim(r));
    return out;
  }
  const int64_t chunks = a.chunks ? a.chunks : n;
  if (chunks != n) return c.error("{} chunks for {} parts", chunks, n);
  const Dim each = ceil_div(extent, Dim(chunks));
  Dims out(static_cast<size_t>(n), each);
  Dim rest = extent;
  for (Dim& d : out) {
    if (extent.is_number())
      d = Dim(std::clamp<int64_t>(rest.value(), 0, each.value()));
    else if (&d == &out.back())
      d = rest;
    rest = rest - d;
  }
  return out;
}

Status infer_split(InferCall& c) {
  if (!c.dims(0)) return {};
  Dims dims = *c.dims(0);
  NNEX_ASSIGN(int64_t axis, positive_axis(c, c.attr<SplitAttrs>().axis, static_cast<int64_t>(dims.size())));
  NNEX_ASSIGN(Dims each, parts(c, dims[static_cast<size_t>(axis)]));
  for (size_t o = 0; o < c.outputs(); ++o) {
    dims[static_cast<size_t>(axis)] = each[o];
    c.result(o, dims);
  }
  return {};
}

struct Split {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& from = c.shape(0);
    const int64_t axis = from_front(c.attr<SplitAttrs>().axis, from.rank());
    const int64_t outer = count_between(from, 0, axis), inner = count_between(from, axis + 1, from.rank()),
                  row = from[axis] * inner;
    Ints sizes = c.has(1) ? ints_of(c.in(1)) : Ints{};
    int64_t at = 0;
    for (size_t o = 0; o < c.outputs(); ++o) {
      int64_t part;
      if (c.has(1))
        part = sizes[o] * inner;
      else {
        const auto& a = c.attr<SplitAttrs>();
        if (!a.ratios.empty()) {
          int64_t all = 0;
          for (int64_t r : a.ratios) all += r;
          part = from[axis] / all * a.ratios[o] * inner;
        } else {
          const int64_t each = ceil_div(from[axis], static_cast<int64_t>(c.outputs()));
          part = std::clamp<int64_t>(from[axis] - static_cast<int64_t>(o) * each, 0, each) * inner;
        }
      }
      if (c.wants(o))
        for (int64_t i = 0; i < outer; ++i)
          std::copy_n(c.in<T>(0).data() + i * row + at, part, c.out<T>(o).data() + i * part);
      at += part;
    }
    return {};
  }
};

// ---- expand, tile, repeat ----

Status infer_expand(InferCall& c) {
  auto shape = c.values(1);
  if (shape) {
    for (const Dim& d : *shape)
      if (d.is_number() && d.value() < 0) return c.error("shape has extent {}", d.value());
    NNEX_ASSIGN(MaybeDims out, broadcast(c, c.dims(0), MaybeDims(*shape)));
    c.result(0, std::move(out));
    return {};
  }
  auto length = c.dims(1) && c.dims(1)->size() == 1 ? (*c.dims(1))[0].number() : std::nullopt;
  c.result(0, length && c.dims(0) ? MaybeDims(c.unknowns(std::max(*length, *c.rank(0)))) : MaybeDims{});
  return {};
}

/// Strides of x seen under a larger shape: 0 where it stretches.
Ints stretched(const Shape& x, const Shape& to) {
  const Ints dense = row_major_strides(x);
  Ints out(static_cast<size_t>(to.rank()), 0);
  for (int64_t i = 0; i < x.rank(); ++i)
    if (x[i] != 1) out[static_cast<size_t>(to.rank() - x.rank() + i)] = dense[static_cast<size_t>(i)];
  return out;
}

struct Expand {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& to = c.out(0).shape();
    copy_strided(to, c.in<T>(0).data(), stretched(c.shape(0), to), c.out<T>(0).data(), row_major_strides(to));
    return {};
  }
};

Status infer_tile(InferCall& c) {
  auto repeats = c.values(1);
  if (!c.dims(0) || !repeats) {
    c.result(0, c.dims(0) ? MaybeDims(c.unknowns(*c.rank(0))) : MaybeDims{});
    return {};
  }
  if (repeats->size() != c.dims(0)->size())
    return c.error("repeats has {} numbers; x has {} axes", repeats->size(), c.dims(0)->size());
  Dims out;
  for (size_t i = 0; i < repeats->size(); ++i) {
    const Dim& r = (*repeats)[i];
    if (r.is_number() && r.value() < 0) return c.error("repeats has {} at axis {}", r.value(), i);
    out.push_back((*c.dims(0))[i] * r);
  }
  c.result(0, std::move(out));
  return {};
}

struct Tile {
  template <class T>
  Status operator()(Call& c) const {
    const Shape &from = c.shape(0), &to = c.out(0).shape();
    const Ints xs = row_major_strides(from);
    const int64_t rank = to.rank();
    if (to.count() == 0) return {};
    if (rank == 0) return c.out<T>(0)[0] = c.in<T>(0)[0], Status{};
    const Ints ys = row_major_strides(to);
    for_each_row(to, Ints(static_cast<size_t>(rank), 0), ys, [&](int64_t, int64_t y) {
      int64_t x = 0, rest = y;
      for (int64_t a = 0; a < rank; ++a) {
        const auto i = static_cast<size_t>(a);
        x += (rest / ys[i]) % from[a] * xs[i];
        rest %= ys[i];
      }
      const int64_t n = from[rank - 1];
      for (int64_t k = 0; k < to[rank - 1]; k += n) std::copy_n(c.in<T>(0).data() + x, n, c.out<T>(0).data() + y + k);
    });
    return {};
  }
};

Status infer_repeat(InferCall& c) {
  MaybeDims out = c.dims(0);
  const auto& a = c.attr<RepeatAttrs>();
  if (a.repeats < 0) return c.error("repeats is {}", a.repeats);
  if (out) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, a.axis, static_cast<int64_t>(out->size())));
    (*out)[static_cast<size_t>(axis)] = (*out)[static_cast<size_t>(axis)] * Dim(a.repeats);
  }
  c.result(0, std::move(out));
  return {};
}

struct Repeat {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<RepeatAttrs>();
    const Shape& from = c.shape(0);
    const int64_t axis = from_front(a.axis, from.rank()), outer = count_between(from, 0, axis + 1),
                  inner = count_between(from, axis + 1, from.rank());
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t r = 0; r < a.repeats; ++r)
        std::copy_n(c.in<T>(0).data() + o * inner, inner, c.out<T>(0).data() + (o * a.repeats + r) * inner);
    return {};
  }
};

// ---- depth and space ----

constexpr int64_t kMaxBlock = int64_t{1} << 31;  ///< Its square is a number.

Status infer_depth_to_space(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 4));
  const int64_t b = c.attr<DepthToSpaceAttrs>().block;
  if (b < 1 || b > kMaxBlock) return c.error("block is {}; needed 1 to {}", b, kMaxBlock);
  if (!c.dims(0)) {
    c.result(0, c.unknowns(4));
    return {};
  }
  const Dims& d = *c.dims(0);
  if (d[1].is_number() && d[1].value() % (b * b))
    return c.error("{} channels are no multiple of block * block = {}", d[1].value(), b * b);
  c.result(0, Dims{d[0], floor_div(d[1], Dim(b * b)), d[2] * Dim(b), d[3] * Dim(b)});
  return {};
}

struct DepthToSpace {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<DepthToSpaceAttrs>();
    const Shape& s = c.shape(0);
    const int64_t b = a.block, depth = s[1] / (b * b), h = s[2], w = s[3];
    // x as [n, b, b, depth, h, w] (dcr) or [n, depth, b, b, h, w] (crd); y as [n, depth, h, b, w, b].
    const int64_t plane = h * w, dd = a.order == DepthOrder::dcr ? plane : b * b * plane;
    const int64_t by = a.order == DepthOrder::dcr ? b * depth * plane : b * plane,
                  bx = a.order == DepthOrder::dcr ? depth * plane : plane;
    const Shape shape{s[0], depth, h, b, w, b};
    copy_strided(shape, c.in<T>(0).data(), {s[1] * plane, dd, w, by, 1, bx}, c.out<T>(0).data(),
                 row_major_strides(shape));
    return {};
  }
};

Status infer_space_to_depth(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 4));
  const int64_t b = c.attr<SpaceToDepthAttrs>().block;
  if (b < 1 || b > kMaxBlock) return c.error("block is {}; needed 1 to {}", b, kMaxBlock);
  if (!c.dims(0)) {
    c.result(0, c.unknowns(4));
    return {};
  }
  const Dims& d = *c.dims(0);
  for (size_t i : {size_t{2}, size_t{3}})
    if (d[i].is_number() && d[i].value() % b)
      return c.error("extent {} at axis {} is no multiple of block {}", d[i].value(), i, b);
  c.result(0, Dims{d[0], d[1] * Dim(b * b), floor_div(d[2], Dim(b)), floor_div(d[3], Dim(b))});
  return {};
}

struct SpaceToDepth {
  template <class T>
  Status operator()(Call& c) const {
    const int64_t b = c.attr<SpaceToDepthAttrs>().block;
    const Shape &s = c.shape(0), &t = c.out(0).shape();
    const int64_t w = s[3], plane = s[2] * w;
    const Shape shape{s[0], b, b, s[1], t[2], t[3]};
    copy_strided(shape, c.in<T>(0).data(), {s[1] * plane, w, 1, plane, b * w, b}, c.out<T>(0).data(),
                 row_major_strides(shape));
    return {};
  }
};

constexpr AttrType kAxis =
    attrs_of<AxisAttrs>({field<&AxisAttrs::axis>("axis", "The axis; negative counts from the last.", required)});

constexpr OpRow kJoinOps[] = {
    {.name = "concat",
     .summary = "Tensors one after another along an axis.",
     .source = "NNEF 1.0.5 concat; ONNX Concat-4 (1: axis defaults to 1); WebNN concat(); CVM concatenate",
     .inputs = {{"x", {}, Arity::variadic}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kAxis,
     .infer = infer_concat,
     .precision = widest_precision,
     .reference = moving(Concat{}),
     .spelled = {{nnef, "concat"},
                 {onnx, "Concat", {}, 4},
                 {onnx, "Concat", {}, 1, "", {{"axis", "1"}}},
                 {webnn, "concat"},
                 {cvm, "concatenate", {}, 1, "", {{"axis", "1"}}}},
     .elements = Elements::of_any,
     .layout = LayoutRole::axis},
    {.name = "stack",
     .summary = "Tensors of one shape along a new axis.",
     .source = "NNEF 1.0.5 stack",
     .inputs = {{"x", {}, Arity::variadic}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kAxis,
     .infer = infer_stack,
     .reference = moving(Stack{}),
     .spelled = {{nnef, "stack"}},
     .elements = Elements::of_any},
    {.name = "unstack",
     .summary = "The slices along an axis, without it.",
     .source = "NNEF 1.0.5 unstack",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x"), Arity::variadic}},
     .attrs = kAxis,
     .infer = infer_unstack,
     .reference = moving(Unstack{}),
     .spelled = {{nnef, "unstack"}},
     .elements = Elements::of_first},
    {.name = "split",
     .summary = "Parts along an axis: by sizes, by ratios, or in equal chunks with a smaller last one.",
     .source = "NNEF 1.0.5 split; ONNX Split-18 (1, 2, 11: attribute; 13: input); WebNN split()",
     .inputs = {{"x"}, {.name = "sizes", .type = kIndex, .arity = Arity::optional, .by_value = true}},
     .outputs = {{"y", same_type_as("x"), Arity::variadic}},
     .attrs = attrs_of<SplitAttrs>(
         {field<&SplitAttrs::axis>("axis", "The axis; negative counts from the last."),
          field<&SplitAttrs::ratios>("ratios", "Relative extents of the parts; they divide the extent."),
          field<&SplitAttrs::chunks>("chunks", "Number of parts of ceil(extent / chunks).")}),
     .infer = infer_split,
     .reference = moving(Split{}),
     .spelled = {{nnef, "split"},
                 {onnx, "Split", {}, 13},
                 {onnx, "Split", {{"sizes", "split"}}},
                 {webnn, "split", {{"sizes", "splits"}}}},
     .elements = Elements::of_first,
     .layout = LayoutRole::axis},
    {.name = "expand",
     .summary = "x stretched to the broadcast of its shape and the one given.",
     .source = "ONNX Expand-8; WebNN expand()",
     .inputs = {{"x"}, {.name = "shape", .type = kIndex, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .infer = infer_expand,
     .reference = moving(Expand{}),
     .spelled = {{onnx, "Expand"}, {webnn, "expand", {{"shape", "newShape"}}}},
     .elements = Elements::of_first},
    {.name = "tile",
     .summary = "x again and again along each axis.",
     .source = "NNEF 1.0.5 tile; ONNX Tile-6; WebNN tile(); CVM tile",
     .inputs = {{"x"}, {.name = "repeats", .type = kIndex, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .infer = infer_tile,
     .precision = keeps_precision,
     .reference = moving(Tile{}),
     .spelled = {{nnef, "tile"},
                 {onnx, "Tile"},
                 {webnn, "tile", {{"repeats", "repetitions"}}},
                 {cvm, "tile", {{"repeats", "reps"}}}},
     .elements = Elements::of_first},
    {.name = "repeat",
     .summary = "Each slice along an axis several times in a row.",
     .source = "CVM repeat",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs =
         attrs_of<RepeatAttrs>({field<&RepeatAttrs::repeats>("repeats", "Times each slice stands there.", required),
                                field<&RepeatAttrs::axis>("axis", "The axis; negative counts from the last.")}),
     .infer = infer_repeat,
     .precision = keeps_precision,
     .reference = moving(Repeat{}),
     .spelled = {{cvm, "repeat"}},
     .elements = Elements::of_first},
    {.name = "depth_to_space",
     .summary = "Blocks of channels spread over rows and columns.",
     .source = "ONNX DepthToSpace-13 (1: dcr)",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<DepthToSpaceAttrs>(
         {field<&DepthToSpaceAttrs::block>("block", "Rows and columns a channel block becomes.", required),
          field<&DepthToSpaceAttrs::order>("order",
                                           "Whether the block index is the slow or the fast part of the channel.")}),
     .infer = infer_depth_to_space,
     .reference = moving(DepthToSpace{}),
     .body = "n = shape_of(x); c = n[1] / (block * block); "
             "t = transpose(reshape(x, shape = [n[0], block, block, c, n[2], n[3]]), axes = [0, 3, 4, 1, 5, 2]) "
             "if order == 'dcr' else "
             "transpose(reshape(x, shape = [n[0], c, block, block, n[2], n[3]]), axes = [0, 1, 4, 2, 5, 3]); "
             "y = reshape(t, shape = [n[0], c, n[2] * block, n[3] * block]);",
     .spelled = {{onnx, "DepthToSpace", {{"block", "blocksize"}, {"order", "mode", &lower_case}}}},
     .elements = Elements::of_first},
    {.name = "space_to_depth",
     .summary = "Blocks of rows and columns gathered into channels.",
     .source = "ONNX SpaceToDepth-1",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<SpaceToDepthAttrs>(
         {field<&SpaceToDepthAttrs::block>("block", "Rows and columns that become channels.", required)}),
     .infer = infer_space_to_depth,
     .reference = moving(SpaceToDepth{}),
     .body = "n = shape_of(x); h = n[2] / block; w = n[3] / block; "
             "y = reshape(transpose(reshape(x, shape = [n[0], n[1], h, block, w, block]), axes = [0, 3, 5, 1, 2, 4]), "
             "shape = [n[0], block * block * n[1], h, w]);",
     .spelled = {{onnx, "SpaceToDepth", {{"block", "blocksize"}}}},
     .elements = Elements::of_first},
};
}  // namespace

std::span<const OpDef> join_ops() { return stored<kJoinOps>(); }

}  // namespace nnex
