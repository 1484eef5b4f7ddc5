// What a mask or a diagonal keeps.

#include <algorithm>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/share_out.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- compress ----

struct CompressAttrs {
  std::optional<int64_t> axis;
};

Status infer_compress(InferCall& c) {
  const auto& axis = c.attr<CompressAttrs>().axis;
  NNEX_TRY(need_rank(c, 1, 1));
  Dim kept = c.unknown();
  if (const Tensor* condition = c.constant(1)) {
    const auto all = condition->as<uint8_t>();
    kept = Dim(std::count_if(all.begin(), all.end(), [](uint8_t b) { return b != 0; }));
  }
  const auto fits = [&](const Dim& n, int64_t at) -> Status {
    const auto given = c.dims(1) ? (*c.dims(1))[0].number() : std::nullopt;
    if (!given || !n.is_number() || *given <= n.value()) return {};
    return c.error("condition has {} elements; axis {} has {}", *given, at, n.value());
  };
  if (!axis) {
    if (c.dims(0)) NNEX_TRY(fits(product(*c.dims(0)), 0));
    c.result(0, Dims{kept});
    return {};
  }
  MaybeDims out = c.dims(0);
  if (out) {
    NNEX_ASSIGN(int64_t a, positive_axis(c, *axis, *c.rank(0)));
    NNEX_TRY(fits((*out)[static_cast<size_t>(a)], a));
    (*out)[static_cast<size_t>(a)] = kept;
  }
  c.result(0, std::move(out));
  return {};
}

struct Compress {
  template <class T>
  Status operator()(Call& c) const {
    const auto& given = c.attr<CompressAttrs>().axis;
    const Shape from = given ? c.shape(0) : Shape{c.in(0).count()};
    const int64_t axis = !given ? 0 : *given < 0 ? *given + from.rank() : *given;
    std::vector<int64_t> kept;
    const auto condition = c.in<uint8_t>(1);
    if (static_cast<int64_t>(condition.size()) > from[axis])
      return c.fault("condition has {} elements; axis {} has {}", condition.size(), axis, from[axis]);
    for (size_t i = 0; i < condition.size(); ++i)
      if (condition[i]) kept.push_back(static_cast<int64_t>(i));
    Shape to = from;
    to.set(axis, static_cast<int64_t>(kept.size()));
    int64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < axis; ++i) outer *= from[i];
    for (int64_t i = axis + 1; i < from.rank(); ++i) inner *= from[i];
    NNEX_ASSIGN(Tensor * out, c.make(0, c.in(0).dtype(), to));
    const T* x = c.in<T>(0).data();
    T* y = out->mutable_as<T>().data();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k : kept) y = std::copy_n(x + (o * from[axis] + k) * inner, inner, y);
    return {};
  }
};

// ---- trilu ----

struct TriluAttrs {
  bool upper = true;
};

Status infer_trilu(InferCall& c) {
  if (c.dims(0) && c.dims(0)->size() < 2) return c.error("x has {} axes; needed at least 2", c.dims(0)->size());
  if (c.has(1) && c.dims(1) && product(*c.dims(1)).number().value_or(1) != 1)
    return c.error("diagonal has {}; needed one number", text(c.dims(1)));
  return same_shape(c);
}

struct Trilu {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& s = c.shape(0);
    const int64_t rows = s[s.rank() - 2], columns = s[s.rank() - 1];
    // The diagonal meets column row + k; far away it keeps or clears everything, whatever its size.
    const int64_t k = c.has(1) ? std::clamp<int64_t>(int_at(c.in(1), 0), -rows - 1, columns + 1) : 0;
    const bool upper = c.attr<TriluAttrs>().upper;
    const T* const from = c.in<T>(0).data();
    T* const to = c.out<T>(0).data();
    if (s.count() == 0) return {};
    share_out(c, s.count() / columns, c.in(0).bytes(), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t cut = std::clamp<int64_t>(r % rows + k + (upper ? 0 : 1), 0, columns);
        const T* const x = from + r * columns;
        T* const y = to + r * columns;
        if (upper) {
          std::fill(y, y + cut, T{});
          std::copy(x + cut, x + columns, y + cut);
        } else {
          std::copy(x, x + cut, y);
          std::fill(y + cut, y + columns, T{});
        }
      }
    });
    return {};
  }
};

constexpr OpRow kMaskOps[] = {
    {.name = "compress",
     .summary = "The slices along an axis, or the elements, at which a condition holds.",
     .source = "ONNX Compress-11",
     .inputs = {{"x"}, {"condition", kB}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs =
         attrs_of<CompressAttrs>({field<&CompressAttrs::axis>("axis", "The axis; absent: x as one row of elements.")}),
     .infer = infer_compress,
     .reference = moving(Compress{}),
     .spelled = {{onnx, "Compress"}}},
    {.name = "trilu",
     .summary = "The upper or lower triangle of every matrix; zeros elsewhere.",
     .source = "ONNX Trilu-14; WebNN triangular()",
     .inputs = {{"x"}, {.name = "diagonal", .type = kIndex, .arity = Arity::optional, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<TriluAttrs>(
         {field<&TriluAttrs::upper>("upper", "Keep columns from row + diagonal on, else up to it.")}),
     .infer = infer_trilu,
     .reference = moving(Trilu{}),
     .spelled = {{onnx, "Trilu", {{"diagonal", "k"}, {"upper", "upper", &int_bool}}}, {webnn, "triangular"}}},
};
}  // namespace

std::span<const OpDef> mask_ops() { return stored<kMaskOps>(); }

}  // namespace nnex
