// Rotary position embedding: pairs of numbers of every head turned by an angle that depends on the position.

#include <algorithm>

#include "ops/attention.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/share_out.h"
#include "ops/stored.h"

namespace nnex {
namespace {

enum RotaryPort : size_t { kRotaryX, kRotaryCos, kRotarySin, kRotaryPosition };

Status need_even(const InferCall& c, const RotaryAttrs& a, const Dim& depth) {
  if (a.rotary_dim < 0 || a.rotary_dim % 2 != 0)
    return c.error("rotary_dim is {}; needed an even number, or 0", a.rotary_dim);
  if (!depth.is_number()) return {};
  if (a.rotary_dim > depth.value()) return c.error("rotary_dim is {}; a head has {}", a.rotary_dim, depth.value());
  if (a.rotary_dim == 0 && depth.value() % 2 != 0)
    return c.error("a head has {} numbers; needed an even number", depth.value());
  return {};
}

/// cos and sin: [batch, positions, pairs], or [places, pairs] looked up by position.
Status check_tables(InferCall& c, const Dim& batch, const Dim& positions, const Dim& pairs) {
  for (size_t i : {kRotaryCos, kRotarySin}) {
    NNEX_TRY(need_rank(c, i, c.has(kRotaryPosition) ? 2 : 3));
    if (!c.dims(i)) continue;
    const std::string_view name = c.op().inputs[i].name;
    const Dims& d = *c.dims(i);
    NNEX_TRY(meet(c, d.back(), pairs, fmt::format("numbers a position of {}", name)));
    if (c.has(kRotaryPosition)) continue;
    NNEX_TRY(meet(c, d[0], batch, fmt::format("batches of {}", name)));
    NNEX_TRY(meet(c, d[1], positions, fmt::format("positions of {}", name)));
  }
  if (c.has(kRotaryPosition) && c.dims(kRotaryCos) && c.dims(kRotarySin))
    NNEX_TRY(meet(c, (*c.dims(kRotarySin))[0], (*c.dims(kRotaryCos))[0], "places of sin"));
  if (!c.has(kRotaryPosition)) return {};
  NNEX_TRY(need_rank(c, kRotaryPosition, 2));
  if (!c.dims(kRotaryPosition)) return {};
  NNEX_TRY(meet(c, (*c.dims(kRotaryPosition))[0], batch, "batches of position"));
  NNEX_TRY(meet(c, (*c.dims(kRotaryPosition))[1], positions, "positions of position"));
  return {};
}

/// y as x.
Status infer_rotary(InferCall& c) {
  const auto& a = c.attr<RotaryAttrs>();
  if (auto rank = c.rank(kRotaryX)) {
    if (*rank != 3 && *rank != 4) return c.error("x has {} axes; needed 3 or 4", *rank);
    const Dims& x = *c.dims(kRotaryX);
    Dim depth = x.back();
    if (*rank == 3) {
      if (a.heads <= 0) return c.error("x has 3 axes: heads is required; found {}", a.heads);
      if (depth.is_number() && depth.value() % a.heads != 0)
        return c.error("x has {} numbers a position; needed a multiple of heads = {}", depth.value(), a.heads);
      depth = floor_div(depth, Dim(a.heads));
    }
    NNEX_TRY(need_even(c, a, depth));
    const Dim pairs = a.rotary_dim ? Dim(a.rotary_dim / 2) : floor_div(depth, Dim(2));
    NNEX_TRY(check_tables(c, x[0], x[*rank == 3 ? 1 : 2], pairs));
  }
  return same_shape(c);
}

/// One head at one position.
template <class T>
void turn(const RotaryAttrs& a, const T* x, const T* cos, const T* sin, T* y, int64_t pairs, int64_t depth) {
  const auto each = [=](int64_t step, int64_t second) {
    for (int64_t p = 0; p < pairs; ++p) {
      const T re = x[p * step], im = x[p * step + second];
      y[p * step] = cos[p] * re - sin[p] * im;
      y[p * step + second] = sin[p] * re + cos[p] * im;
    }
  };
  if (a.interleaved)
    each(2, 1);
  else
    each(1, pairs);
  std::copy(x + 2 * pairs, x + depth, y + 2 * pairs);
}

template <class T>
Status run_rotary(Call& c) {
  const auto& a = c.attr<RotaryAttrs>();
  const Shape& shape = c.shape(kRotaryX);
  const bool side_by_side = shape.rank() == 3;
  const int64_t batch = shape[0], heads = side_by_side ? a.heads : shape[1], positions = shape[side_by_side ? 1 : 2];
  const int64_t depth = side_by_side ? shape[2] / heads : shape[3];
  const int64_t pairs = (a.rotary_dim ? a.rotary_dim : depth) / 2, places = c.shape(kRotaryCos)[0];
  const T *const x = c.in<T>(kRotaryX).data(), *const cos = c.in<T>(kRotaryCos).data(),
                 *const sin = c.in<T>(kRotarySin).data();
  std::span<const int64_t> position;
  if (c.has(kRotaryPosition)) position = c.in<int64_t>(kRotaryPosition);
  for (const int64_t given : position)
    if (given < -places || given >= places)
      return c.fault("position {} is outside [{}, {}]", given, -places, places - 1);
  T* const y = c.out<T>(0).data();
  share_out(c, batch * positions, c.in(kRotaryX).bytes() * 2, [=, &a](int64_t begin, int64_t end) {
    int64_t b = begin / positions, i = begin % positions;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t given = position.empty() ? row : position[static_cast<size_t>(row)];
      const int64_t table = (given < 0 ? given + places : given) * pairs;
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t at = side_by_side ? row * heads + h : (b * heads + h) * positions + i;
        turn(a, x + at * depth, cos + table, sin + table, y + at * depth, pairs, depth);
      }
      if (++i == positions) i = 0, ++b;
    }
  });
  return {};
}

constexpr OpRow kRotaryOps[] = {
    {.name = "rotary_embedding",
     .summary = "Pairs of numbers of each head turned by the angle of their position.",
     .source = "ONNX RotaryEmbedding-23",
     .inputs = {{.name = "x",
                 .type = kF,
                 .doc = "[batch, heads, positions, depth] or [batch, positions, heads * depth]."},
                {"cos", same_type_as("x")},
                {"sin", same_type_as("x")},
                {.name = "position",
                 .type = kI64,
                 .arity = Arity::optional,
                 .doc = "[batch, positions]: rows of cos and sin; absent: they have a row for each position."}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<RotaryAttrs>(
         {field<&RotaryAttrs::interleaved>("interleaved", "Pairs are neighbours; else of the first and second half."),
          field<&RotaryAttrs::rotary_dim>("rotary_dim", "Numbers of a head that are turned, the first ones; 0: all."),
          field<&RotaryAttrs::heads>("heads", "Needed where heads lie side by side.")}),
     .infer = infer_rotary,
     .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_rotary<T>(c); }),
     .spelled =
         {{onnx,
           "RotaryEmbedding",
           {{"interleaved", "interleaved", &int_bool}, {"rotary_dim", "rotary_embedding_dim"}, {"heads", "num_heads"}},
           23}}},
};
}  // namespace

std::span<const OpDef> rotary_ops() { return stored<kRotaryOps>(); }

}  // namespace nnex
