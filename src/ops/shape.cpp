#include "ops/shape.h"
#include "base/failure.h"
#include "ops/answer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/precision_call.h"
#include "ops/progression.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

// ---- shape, size ----

/// Start and end of ONNX Shape-15, clamped to [0, rank].
std::pair<int64_t, int64_t> shape_range(const ShapeAttrs& a, int64_t rank) {
  auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = bound(a.start), end = a.end ? bound(*a.end) : rank;
  return {start, std::max(start, end)};
}

Status infer_shape(InferCall& c) {
  if (!c.dims(0)) {
    c.result(0, Dims{c.unknown()});
    return {};
  }
  auto [start, end] = shape_range(c.attr<ShapeAttrs>(), *c.rank(0));
  c.result(0, Dims{Dim(end - start)});
  c.result_values(0, Dims(c.dims(0)->begin() + start, c.dims(0)->begin() + end));
  return {};
}

Status run_shape(Call& c) {
  const Shape& s = c.shape(0);
  auto [start, end] = shape_range(c.attr<ShapeAttrs>(), s.rank());
  NNEX_ASSIGN(Tensor * y, c.make(0, DType::i64, Shape{end - start}));
  std::copy(s.begin() + start, s.begin() + end, y->mutable_as<int64_t>().begin());
  return {};
}

Status infer_size(InferCall& c) {
  c.result(0, Dims{});
  if (c.dims(0)) c.result_values(0, {product(*c.dims(0))});
  return {};
}

Status run_size(Call& c) {
  c.out<int64_t>(0)[0] = c.in(0).count();
  return {};
}

// ---- reshape ----

/// The extents a reshape asks for, from the input's and the numbers given.
Status infer_reshape(InferCall& c) {
  const auto& a = c.attr<ReshapeAttrs>();
  auto wanted = c.values(1);
  if (!wanted) {
    auto length = c.dims(1) && c.dims(1)->size() == 1 ? (*c.dims(1))[0].number() : std::nullopt;
    const bool whole = a.axis_start == 0 && a.axis_count == -1;
    c.result(0, whole && length && *length <= 64 ? MaybeDims(c.unknowns(*length)) : MaybeDims{});
    return {};
  }
  const bool whole = a.axis_start == 0 && a.axis_count == -1;
  if (!c.dims(0) && !whole) {
    c.result(0, MaybeDims{});
    return {};
  }
  Dims before, middle, after;
  if (c.dims(0)) {
    const int64_t rank = *c.rank(0);
    NNEX_ASSIGN(int64_t start, positive_axis(c, a.axis_start, rank + 1, "axis_start"));
    const int64_t count = a.axis_count < 0 ? rank - start : a.axis_count;
    if (count > rank - start) return c.error("{} axes from axis {} are outside {} axes", count, start, rank);
    before.assign(c.dims(0)->begin(), c.dims(0)->begin() + start);
    middle.assign(c.dims(0)->begin() + start, c.dims(0)->begin() + start + count);
    after.assign(c.dims(0)->begin() + start + count, c.dims(0)->end());
  }
  Dims out;
  out.reserve(wanted->size() + before.size() + after.size());
  int64_t hole = -1;
  bool zero_extent = false;
  Dim have = product(middle), fill = 1;
  for (size_t i = 0; i < wanted->size(); ++i) {
    Dim d = (*wanted)[i];
    if (d == Dim(-1)) {
      if (hole >= 0) return c.error("shape has -1 at {} and {}; one extent can be inferred", hole, i);
      hole = static_cast<int64_t>(i);
      out.push_back(1);
      continue;
    }
    if (d == Dim(0) && a.zero == ZeroExtent::copy) {
      if (!c.dims(0)) {
        c.result(0, c.unknowns(static_cast<int64_t>(wanted->size())));
        return {};
      }
      if (i >= middle.size()) return c.error("shape copies extent {} of an input of {} axes", i, middle.size());
      d = middle[i];
      out.push_back(d);
      // A copied extent stands on both sides: it cancels, even when it is 0.
      have = Dim(1);
      continue;
    }
    if (d.is_number() && d.value() < -1) return c.error("shape has extent {} at {}; needed -1 or more", d.value(), i);
    zero_extent |= d == Dim(0);
    out.push_back(d);
  }
  // Copied places cancel; the others must hold what is left. Where a copied extent is 0, both sides hold nothing.
  have = Dim(1);
  bool nothing = false;
  for (size_t i = 0; i < middle.size(); ++i) {
    const bool copied = a.zero == ZeroExtent::copy && i < wanted->size() && (*wanted)[i] == Dim(0);
    if (!copied) have = have * middle[i];
    nothing |= copied && middle[i] == Dim(0);
  }
  for (size_t i = 0; i < wanted->size(); ++i) {
    const bool copied = a.zero == ZeroExtent::copy && (*wanted)[i] == Dim(0);
    if (!copied && static_cast<int64_t>(i) != hole) fill = fill * out[i];
  }
  if (hole >= 0) {
    if (zero_extent) return c.error("shape has extent 0 beside -1: the inferred extent is open");
    Dim missing = c.dims(0) ? floor_div(have, fill) : c.unknown();
    if (c.dims(0) && have.is_number() && fill.is_number() && (fill.value() == 0 || have.value() % fill.value() != 0))
      return c.error("{} elements cannot fill a shape of {}", have.value(), fill.value());
    out[static_cast<size_t>(hole)] = missing;
  } else if (!nothing && c.dims(0) && have.is_number() && fill.is_number() && have.value() != fill.value()) {
    return c.error("{} elements cannot fill a shape of {}", have.value(), fill.value());
  }
  before.insert(before.end(), out.begin(), out.end());
  before.insert(before.end(), after.begin(), after.end());
  c.result(0, std::move(before));
  return {};
}

/// Copies all elements in order under the output's shape.
template <class T>
Status same_elements(Call& c) {
  std::copy(c.in<T>(0).begin(), c.in<T>(0).end(), c.out<T>(0).begin());
  return {};
}

struct SameElements {
  template <class T>
  Status operator()(Call& c) const {
    return same_elements<T>(c);
  }
};

Status infer_flatten(InferCall& c) {
  if (!c.dims(0)) {
    c.result(0, c.unknowns(2));
    return {};
  }
  const int64_t rank = *c.rank(0);
  int64_t axis = c.attr<FlattenAttrs>().axis;
  if (axis < -rank || axis > rank) return c.error("axis {} is outside [{}, {}]", axis, -rank, rank);
  if (axis < 0) axis += rank;
  c.result(0, Dims{product(Dims(c.dims(0)->begin(), c.dims(0)->begin() + axis)),
                   product(Dims(c.dims(0)->begin() + axis, c.dims(0)->end()))});
  return {};
}

/// Numbers of a parameter port when every one is known.
std::optional<Ints> known_ints(InferCall& c, size_t i) {
  auto v = c.values(i);
  if (!v) return std::nullopt;
  Ints out;
  for (const Dim& d : *v) {
    if (!d.is_number()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

Status infer_squeeze(InferCall& c) {
  auto axes = c.has(1) ? known_ints(c, 1) : std::nullopt;
  if (!c.dims(0) || (c.has(1) && !axes)) {
    auto count = c.has(1) && c.dims(1) ? product(*c.dims(1)).number() : std::nullopt;
    c.result(0, c.dims(0) && count && *count <= *c.rank(0) ? MaybeDims(c.unknowns(*c.rank(0) - *count)) : MaybeDims{});
    return {};
  }
  Dims out;
  std::vector<bool> gone(c.dims(0)->size());
  if (axes) {
    for (int64_t axis : *axes) {
      NNEX_ASSIGN(int64_t a, positive_axis(c, axis, *c.rank(0)));
      const Dim& d = (*c.dims(0))[static_cast<size_t>(a)];
      if (d.is_number() && d.value() != 1)
        return c.error("axis {} has extent {}; only extents of 1 can go", a, d.value());
      gone[static_cast<size_t>(a)] = true;
    }
  } else {
    for (const Dim& d : *c.dims(0))
      if (!d.is_number()) {
        c.result(0, MaybeDims{});
        return {};
      }
    for (size_t i = 0; i < gone.size(); ++i) gone[i] = (*c.dims(0))[i] == Dim(1);
  }
  for (size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) out.push_back((*c.dims(0))[i]);
  c.result(0, std::move(out));
  return {};
}

Status infer_unsqueeze(InferCall& c) {
  auto axes = known_ints(c, 1);
  if (!c.dims(0) || !axes) {
    auto count = c.dims(1) ? product(*c.dims(1)).number() : std::nullopt;
    const bool few = count && *count <= kMaxRank;
    c.result(0, c.dims(0) && few ? c.unknowns_if_possible(*c.rank(0) + *count) : MaybeDims{});
    return {};
  }
  const int64_t rank = *c.rank(0) + static_cast<int64_t>(axes->size());
  NNEX_ASSIGN(Ints at, positive_axes(c, *axes, rank));
  Dims out(static_cast<size_t>(rank), Dim(1));
  std::vector<bool> added(out.size());
  for (int64_t a : at) added[static_cast<size_t>(a)] = true;
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (!added[i]) out[i] = (*c.dims(0))[next++];
  c.result(0, std::move(out));
  return {};
}

// ---- transpose ----

Result<Ints> permutation(const InferCall& c, int64_t rank) {
  Ints axes = c.attr<TransposeAttrs>().axes;
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i) axes[static_cast<size_t>(i)] = rank - 1 - i;
    return axes;
  }
  if (static_cast<int64_t>(axes.size()) != rank) return c.error("axes names {} axes; x has {}", axes.size(), rank);
  return positive_axes(c, axes, rank);
}

Status infer_transpose(InferCall& c) {
  if (!c.dims(0)) {
    const auto& axes = c.attr<TransposeAttrs>().axes;
    c.result(0, axes.empty() ? MaybeDims{} : MaybeDims(c.unknowns(static_cast<int64_t>(axes.size()))));
    return {};
  }
  NNEX_ASSIGN(Ints axes, permutation(c, *c.rank(0)));
  Dims out;
  out.reserve(axes.size());
  for (int64_t a : axes) out.push_back((*c.dims(0))[static_cast<size_t>(a)]);
  c.result(0, std::move(out));
  return {};
}

struct Transpose {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& from = c.shape(0);
    const Ints strides = row_major_strides(from);
    const Ints& given = c.attr<TransposeAttrs>().axes;
    Ints moved;
    for (int64_t i = 0; i < from.rank(); ++i) {
      int64_t axis = given.empty() ? from.rank() - 1 - i : given[static_cast<size_t>(i)];
      moved.push_back(strides[static_cast<size_t>(axis < 0 ? axis + from.rank() : axis)]);
    }
    const Shape& to = c.out(0).shape();
    copy_strided(to, c.in<T>(0).data(), moved, c.out<T>(0).data(), row_major_strides(to));
    return {};
  }
};

// ---- constant_of_shape, eye_like, range ----

Status infer_constant_of_shape(InferCall& c) {
  const Tensor& value = c.attr<ConstantOfShapeAttrs>().value;
  if (value.count() != 1) return c.error("value has {} elements; needed 1", value.count());
  auto extents = c.values(0);
  MaybeDims dims;
  if (extents) {
    for (const Dim& d : *extents)
      if (d.is_number() && d.value() < 0) return c.error("extent {} is negative", d.value());
    dims = *extents;
  } else if (c.dims(0) && c.dims(0)->size() == 1 && (*c.dims(0))[0].is_number()) {
    dims = c.unknowns_if_possible((*c.dims(0))[0].value());
  }
  c.result(0, value.dtype(), std::move(dims));
  return {};
}

Status run_constant_of_shape(Call& c) {
  const Tensor& value = c.attr<ConstantOfShapeAttrs>().value;
  if (value.count() != 1) return c.fault("value has {} elements; needed 1", value.count());
  Ints extents = ints_of(c.in(0));
  for (int64_t e : extents)
    if (e < 0) return c.fault("extent {} is negative", e);
  NNEX_ASSIGN(Tensor * y, c.make(0, value.dtype(), Shape(extents)));
  if (value.dtype() == DType::str) {
    for (std::string& s : y->mutable_as<std::string>()) s = value.strings()[0];
    return {};
  }
  if (bits(value.dtype()) < 8) {
    for (int64_t i = 0; i < y->count(); ++i) set_real(*y, i, real_at(value, 0));
    return {};
  }
  const auto width = static_cast<size_t>(bits(value.dtype()) / 8);
  // One element, then what is there is doubled, up to what the first level cache keeps beside the rest.
  constexpr size_t kBlock = 4096;
  std::byte* const to = y->mutable_data();
  const size_t all = static_cast<size_t>(y->count()) * width;
  if (all > 0) std::memcpy(to, value.data(), width);
  for (size_t filled = width, n = 0; filled < all; filled += n) {
    n = std::min({filled, all - filled, kBlock});
    std::memcpy(to + filled, to, n);
  }
  return {};
}

Status infer_eye_like(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 2));
  return same_shape(c);
}

Status run_eye_like(Call& c) {
  Tensor& y = c.out(0);
  const int64_t k = c.attr<EyeLikeAttrs>().diagonal, columns = y.shape()[1];
  if (is_object(y.dtype())) return c.fault("found {}; needed a type of numbers", name(y.dtype()));
  std::memset(y.mutable_data(), 0, static_cast<size_t>(y.bytes()));  // 0 of every element type
  if (k >= columns || k <= -y.shape()[0]) return {};
  for (int64_t row = std::max<int64_t>(0, -k); row < y.shape()[0] && row < columns - k; ++row)
    set_int(y, row * columns + row + k, 1);
  return {};
}

/// Numbers in a range; 0 when the step leads away from the limit.
Result<int64_t> range_count(const InferCall& c, double start, double limit, double delta) {
  if (delta == 0) return c.error("delta is 0");
  const double n = std::ceil((limit - start) / delta);
  if (!(n < 1e15)) return c.error("{} numbers are too many", n);
  return std::max<int64_t>(static_cast<int64_t>(n), 0);
}

Status infer_range(InferCall& c) {
  for (size_t i = 0; i < 3; ++i)
    if (auto d = c.dims(i); d && !d->empty() && product(*d).number().value_or(1) != 1)
      return c.error("{} has {}; needed one number", c.op().inputs[i].name, text(c.dims(i)));
  const Tensor *start = c.constant(0), *limit = c.constant(1), *delta = c.constant(2);
  if (start && limit && delta && start->count() == 1 && limit->count() == 1 && delta->count() == 1) {
    if (is_int(start->dtype())) {
      const int64_t step = int_at(*delta, 0), from = int_at(*start, 0), to = int_at(*limit, 0);
      if (step == 0) return c.error("delta is 0");
      const auto span = static_cast<__int128>(to) - from;
      __int128 n = step > 0 ? (span + step - 1) / step : (span + step + 1) / step;
      if (n < 0 || (step > 0) != (span > 0)) n = 0;
      if (n > INT64_MAX / 16) return c.error("the range has too many numbers");
      c.result(0, Dims{Dim(static_cast<int64_t>(n))});
      return {};
    }
    NNEX_ASSIGN(int64_t n, range_count(c, real_at(*start, 0), real_at(*limit, 0), real_at(*delta, 0)));
    c.result(0, Dims{Dim(n)});
    return {};
  }
  auto from = c.values(0), to = c.values(1), step = c.values(2);
  if (from && to && step && from->size() == 1 && to->size() == 1 && step->size() == 1 && (*step)[0] == Dim(1) &&
      (*from)[0] == Dim(0))
    c.result(0, Dims{(*to)[0]});
  else
    c.result(0, Dims{c.unknown()});
  return {};
}

struct Range {
  template <class T>
  Status operator()(Call& c) const {
    const T start = c.in<T>(0)[0], limit = c.in<T>(1)[0], delta = c.in<T>(2)[0];
    if (delta == T(0)) return c.fault("delta is 0");
    int64_t n = 0;
    if constexpr (std::is_integral_v<T>) {
      const auto span = static_cast<__int128>(limit) - start, step = static_cast<__int128>(delta);
      if ((step > 0) == (span > 0)) n = static_cast<int64_t>((span + step + (step > 0 ? -1 : 1)) / step);
    } else {
      const double count =
          std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
      if (!(count < 1e15)) return failure(Code::limit, "range: {} numbers are too many", count);
      n = std::max<int64_t>(static_cast<int64_t>(count), 0);
    }
    NNEX_ASSIGN(Tensor * y, c.make(0, dtype_for<T>, Shape{n}));
    progression<T>(start, delta, y->mutable_as<T>().data(), n);
    return {};
  }
};

constexpr AttrType kNoAttrs = {};

constexpr OpRow kShapeOps[] = {
    {.name = "shape",
     .summary = "The extents of x from axis start to axis end.",
     .source = "ONNX Shape-15",
     .inputs = {{"x", any_value()}},
     .outputs = {{"y", DType::i64}},
     .attrs = attrs_of<ShapeAttrs>({field<&ShapeAttrs::start>("start", "First axis; clamped."),
                                    field<&ShapeAttrs::end>("end", "Axis after the last; absent: all; clamped.")}),
     .infer = infer_shape,
     .reference = any(run_shape),
     .spelled = {{onnx, "Shape"}}},
    {.name = "size",
     .summary = "The number of elements of x.",
     .source = "ONNX Size-1",
     .inputs = {{"x"}},
     .outputs = {{"y", DType::i64}},
     .attrs = kNoAttrs,
     .infer = infer_size,
     .reference = any(run_size),
     .spelled = {{onnx, "Size"}}},
    {.name = "reshape",
     .summary = "The same elements under another shape; one -1 is inferred.",
     .source = "NNEF 1.0.5 reshape; ONNX Reshape-14 (5: attribute); WebNN reshape(); CVM reshape",
     .inputs = {{"x"}, {.name = "shape", .type = kIndex, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ReshapeAttrs>(
         {field<&ReshapeAttrs::zero>("zero", "What an extent 0 means: itself, or the input's extent there."),
          field<&ReshapeAttrs::axis_start>("axis_start", "First axis that is reshaped."),
          field<&ReshapeAttrs::axis_count>("axis_count", "How many axes; -1: all that follow.")}),
     .infer = infer_reshape,
     .precision = keeps_precision,
     .reference = moving(SameElements{}),
     .spelled = {{nnef, "reshape", {}, 1, "", {{"zero", "'copy'"}}},
                 {onnx, "Reshape", {{"zero", "allowzero", &zero_literal}}, 1, "", {{"zero", "'copy'"}}},
                 {webnn, "reshape", {{"shape", "newShape"}}},
                 {cvm, "reshape"}},
     .view = true,
     .elements = Elements::of_first},
    {.name = "flatten",
     .summary = "Two axes: the product before axis, and from it on.",
     .source = "ONNX Flatten-11; CVM flatten",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<FlattenAttrs>(
         {field<&FlattenAttrs::axis>("axis", "First axis of the second part; negative counts from the last.")}),
     .infer = infer_flatten,
     .precision = keeps_precision,
     .reference = moving(SameElements{}),
     .spelled = {{onnx, "Flatten"}, {cvm, "flatten"}},
     .view = true,
     .elements = Elements::of_first},
    {.name = "squeeze",
     .summary = "Takes axes of extent 1 away; all of them when none is named.",
     .source = "NNEF 1.0.5 squeeze; ONNX Squeeze-13 (1, 11: attribute); CVM squeeze",
     .inputs = {{"x"}, {.name = "axes", .type = kIndex, .arity = Arity::optional, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kNoAttrs,
     .infer = infer_squeeze,
     .precision = keeps_precision,
     .reference = moving(SameElements{}),
     .spelled = {{nnef, "squeeze"}, {onnx, "Squeeze"}, {cvm, "squeeze", {{"axes", "axis"}}}},
     .view = true,
     .elements = Elements::of_first},
    {.name = "unsqueeze",
     .summary = "Puts axes of extent 1 at the named places of the result.",
     .source = "NNEF 1.0.5 unsqueeze; ONNX Unsqueeze-13 (1, 11: attribute); CVM expand_dims",
     .inputs = {{"x"}, {.name = "axes", .type = kIndex, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kNoAttrs,
     .infer = infer_unsqueeze,
     .precision = keeps_precision,
     .reference = moving(SameElements{}),
     .spelled = {{nnef, "unsqueeze"}, {onnx, "Unsqueeze"}, {cvm, "expand_dims", {{"axes", "axis"}}}},
     .view = true,
     .elements = Elements::of_first},
    {.name = "transpose",
     .summary = "Axes in another order.",
     .source = "NNEF 1.0.5 transpose; ONNX Transpose-1; WebNN transpose(); CVM transpose",
     .inputs = {{"x"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<TransposeAttrs>(
         {field<&TransposeAttrs::axes>("axes", "Axis of x that each axis of y shows; empty: reversed.")}),
     .infer = infer_transpose,
     .precision = keeps_precision,
     .reference = moving(Transpose{}),
     .spelled = {{nnef, "transpose"},
                 {onnx, "Transpose", {{"axes", "perm"}}},
                 {webnn, "transpose", {{"axes", "permutation"}}},
                 {cvm, "transpose"}},
     .in_bytes = ByteRole::moves,
     .elements = Elements::of_first},
    {.name = "constant_of_shape",
     .summary = "One value everywhere.",
     .source = "ONNX ConstantOfShape-9",
     .inputs = {{.name = "shape", .type = kIndex, .by_value = true}},
     .outputs = {{"y"}},
     .attrs = attrs_of<ConstantOfShapeAttrs>(
         {field<&ConstantOfShapeAttrs::value>("value", "A tensor of one element; its type is the result's.")}),
     .infer = infer_constant_of_shape,
     .reference = any(run_constant_of_shape),
     .spelled = {{onnx, "ConstantOfShape"}}},
    {.name = "eye_like",
     .summary = "Ones on a diagonal of a matrix, zeros elsewhere.",
     .source = "ONNX EyeLike-9",
     .inputs = {{"x"}},
     .outputs = {{"y", type_among(kN | kB, "result", "x")}},
     .attrs = attrs_of<EyeLikeAttrs>({field<&EyeLikeAttrs::diagonal>("diagonal", "Column minus row of the ones."),
                                      field<&EyeLikeAttrs::result>("result", "Element type; absent: x's.")}),
     .infer = infer_eye_like,
     .reference = any(run_eye_like),
     .spelled = {{onnx, "EyeLike", {{"diagonal", "k"}, {"result", "dtype", &onnx_dtype}}}}},
    {.name = "range",
     .summary = "Numbers from start to before limit, delta apart.",
     .source = "ONNX Range-11 (27: stash)",
     .inputs = {{.name = "start", .type = kN, .by_value = true},
                {.name = "limit", .type = same_type_as("start"), .by_value = true},
                {.name = "delta", .type = same_type_as("start"), .by_value = true}},
     .outputs = {{"y", same_type_as("start")}},
     .attrs = attrs_of<RangeAttrs>(
         {field<&RangeAttrs::stash>("stash", "Type in which the numbers of narrower floats are computed.")}),
     .infer = infer_range,
     .reference = typed<float, double, int64_t>(Range{}),
     .spelled = {{onnx, "Range", {{"stash", "stash_type", &onnx_dtype}}}}},
};
}  // namespace

std::span<const OpDef> shape_ops() { return stored<kShapeOps>(); }

}  // namespace nnex
