// Operators that choose elements by index, order or condition; text; quantisation.
#include <algorithm>
#include <cmath>

#include "recipes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

DType any_type(Maker& m) {
  return m.dice.chance(0.08) ? DType::str : m.dice.chance(0.08) ? DType::boolean : m.number();
}
DType index_type(Maker& m) { return m.dice.chance(0.7) ? DType::i64 : DType::i32; }

/// Indices into an axis of n elements, some counted from the end.
Tensor indices(Maker& m, DType type, const Extents& shape, int64_t n) {
  return m.whole(type, shape, m.opset() >= 11 ? -n : 0, n - 1);
}

void gather(Maker& m) {
  const Extents x = m.positive_shape(1, 4);
  const int64_t rank = int64_t(x.size()), axis = m.opset() < 11 ? m.dice.in(0, rank - 1) : m.axis(rank);
  m.maybe(axis == 0 ? 0.5 : 1, "axis", axis);
  const int64_t n = x[size_t((axis + rank) % rank)];
  m.finish({m.add(m.any(any_type(m), x)), m.add(indices(m, index_type(m), m.shape(0, 3), n))});
}

void gather_elements(Maker& m) {
  const Extents x = m.positive_shape(1, 4);
  const int64_t rank = int64_t(x.size()), axis = m.axis(rank), real = (axis + rank) % rank;
  m.maybe(axis == 0 ? 0.5 : 1, "axis", axis);
  Extents shape = x;
  for (int64_t& e : shape) e = m.dice.in(1, e);
  shape[size_t(real)] = m.extent();
  m.finish({m.add(m.any(any_type(m), x)), m.add(indices(m, index_type(m), shape, x[size_t(real)]))});
}

/// Index tuples into the axes from `first` on.
Tensor tuples(Maker& m, const Extents& x, Extents shape, size_t first, bool distinct) {
  const int64_t depth = shape.back();
  Tensor t = Tensor::make(DType::i64, Shape(shape)).value();
  const int64_t count = depth ? t.count() / depth : 0;
  std::vector<int64_t> used;
  for (int64_t i = 0; i < count; ++i) {
    int64_t linear = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t n = x[first + size_t(k)], at = m.dice.in(0, n - 1);
      linear = linear * n + at;
      set_int(t, i * depth + k, m.opset() >= 11 && m.dice.chance(0.3) ? at - n : at);
    }
    if (distinct && std::find(used.begin(), used.end(), linear) != used.end()) return Tensor();
    used.push_back(linear);
  }
  return t;
}

void gather_nd(Maker& m) {
  const Extents x = m.positive_shape(1, 4);
  const int64_t rank = int64_t(x.size());
  const int64_t batch = m.opset() >= 12 ? m.dice.in(0, std::min<int64_t>(rank - 1, 1)) : 0;
  m.maybe(batch ? 1 : m.opset() >= 12 ? 0.5 : 0, "batch_dims", batch);
  Extents shape(x.begin(), x.begin() + batch);
  for (int64_t n = m.dice.in(0, 2); n-- > 0;) shape.push_back(m.positive_extent());
  shape.push_back(m.dice.in(1, rank - batch));
  m.finish({m.add(m.any(any_type(m), x)), m.add(tuples(m, x, shape, size_t(batch), false))});
}

std::string scatter_reduction(Maker& m) {
  if (m.opset() < 16 || m.dice.chance(0.4)) return "none";
  const std::string how = m.opset() >= 18 ? m.dice.word({"add", "mul", "max", "min"}) : m.dice.word({"add", "mul"});
  m.attribute("reduction", how);
  return how;
}

void scatter_elements(Maker& m) {
  const Extents x = m.positive_shape(1, 3);
  const int64_t rank = int64_t(x.size()), axis = m.axis(rank), real = (axis + rank) % rank;
  const bool unique = scatter_reduction(m) == "none";
  m.attribute("axis", axis);
  Extents shape = x;
  for (int64_t& e : shape) e = m.dice.in(1, e);
  const int64_t n = x[size_t(real)];
  if (unique && shape[size_t(real)] > 1) shape[size_t(real)] = 1;  // equal indices have no order
  const DType type = m.number();
  m.finish({m.add(m.any(type, x)), m.add(indices(m, index_type(m), shape, n)), m.add(m.any(type, shape))});
}

void scatter(Maker& m) { scatter_elements(m); }

void scatter_nd(Maker& m) {
  const Extents x = m.positive_shape(1, 3);
  const bool unique = scatter_reduction(m) == "none";
  Extents shape;
  for (int64_t n = m.dice.in(0, 2); n-- > 0;) shape.push_back(m.dice.in(1, 3));
  const int64_t depth = m.dice.in(1, int64_t(x.size()));
  shape.push_back(depth);
  Tensor at = tuples(m, x, shape, 0, unique);
  for (; at.dtype() == DType::f32; at = tuples(m, x, shape, 0, unique)) shape.assign({1, depth});
  Extents updates(shape.begin(), shape.end() - 1);
  updates.insert(updates.end(), x.begin() + depth, x.end());
  const DType type = m.number();
  m.finish({m.add(m.any(type, x)), m.add(at), m.add(m.any(type, updates))});
}

void one_hot(Maker& m) {
  const Extents shape = m.shape(0, 3);
  m.maybe(0.6, "axis", m.axis(int64_t(shape.size()) + 1));
  const int64_t depth = m.dice.in(1, 6);
  const DType type = m.dice.one_of({DType::f32, DType::i64, DType::f32});
  const DType index = m.dice.one_of({DType::i64, DType::f32, DType::i32});
  const Tensor at = m.whole(index, shape, m.opset() >= 11 ? -depth - 1 : 0, depth + 1);
  Tensor n = m.scalar(m.dice.one_of({DType::i64, DType::f32}), double(depth));
  if (m.dice.chance(0.5)) n = n.reshaped({1});
  m.finish({m.add(at), m.add(n, 0.6), m.add(m.any(type, {2}))});
}

void non_zero(Maker& m) {
  const DType type = m.dice.one_of({DType::f32, DType::boolean, DType::i64, DType::i32, DType::u8});
  m.finish({m.add(type == DType::boolean ? m.any(type, m.shape(0, 4)) : m.whole(type, m.shape(0, 4), 0, 2))});
}

void compress(Maker& m) {
  const Extents x = m.positive_shape(1, 3);
  const int64_t rank = int64_t(x.size());
  int64_t n = 1;
  for (int64_t e : x) n *= e;
  if (m.dice.chance(0.7)) {
    const int64_t axis = m.opset() < 11 ? m.dice.in(0, rank - 1) : m.axis(rank);
    m.attribute("axis", axis);
    n = x[size_t((axis + rank) % rank)];
  }
  m.finish({m.add(m.any(any_type(m), x)), m.add(m.any(DType::boolean, {m.dice.in(1, n)}))});
}

void top_k(Maker& m) {
  const Extents x = m.positive_shape(1, 4);
  const int64_t rank = int64_t(x.size()), axis = m.opset() < 11 ? m.dice.in(0, rank - 1) : m.axis(rank);
  m.attribute("axis", axis);
  if (m.opset() >= 11) {
    m.maybe(0.5, "largest", m.dice.in(0, 1));
    m.maybe(0.3, "sorted", int64_t(1));
  }
  const int64_t k = m.dice.in(m.dice.chance(0.05) ? 0 : 1, x[size_t((axis + rank) % rank)]);
  const auto data = m.add(m.any(m.opset() < 11 ? DType::f32 : m.number(), x));
  if (m.opset() < 10) {
    m.attribute("k", std::max<int64_t>(k, 1));
    m.finish({data}, 2);
  } else {
    m.finish({data, m.add(m.longs({k}), 0.6)}, 2);
  }
}

void unique(Maker& m) {
  const Extents x = m.positive_shape(1, 3);
  m.maybe(0.6, "axis", m.axis(int64_t(x.size())));
  m.maybe(0.5, "sorted", m.dice.in(0, 1));
  const DType type = m.dice.one_of({DType::f32, DType::i64, DType::str, DType::f64, DType::i8});
  m.finish({m.add(type == DType::str ? m.any(type, x) : m.whole(type, x, 0, 3))}, 4);
}

void non_max_suppression(Maker& m) {
  const int64_t batches = m.dice.in(1, 2), boxes = m.dice.in(1, 8), classes = m.dice.in(1, 3);
  m.maybe(0.5, "center_point_box", m.dice.in(0, 1));
  Tensor scores = Tensor::make(DType::f32, Shape{batches, classes, boxes}).value();
  for (int64_t i = 0; i < scores.count(); ++i) set_real(scores, i, double(m.dice.in(0, 1000)) / 1024);
  Names in = {m.add(m.reals(DType::f32, {batches, boxes, 4}, Fill::positive)), m.add(scores)};
  if (m.dice.chance(0.9)) in.push_back(m.add(m.longs({m.dice.in(0, 5)})));
  if (in.size() == 3 && m.dice.chance(0.8)) in.push_back(m.add(m.scalar(DType::f32, m.dice.real()).reshaped({1})));
  if (in.size() == 4 && m.dice.chance(0.6)) in.push_back(m.add(m.scalar(DType::f32, m.dice.real()).reshaped({1})));
  m.finish(in);
}

void tensor_scatter(Maker& m) {
  const int64_t batch = m.dice.in(1, 3), length = m.dice.in(2, 6), part = m.dice.in(1, length), width = m.dice.in(1, 4);
  const bool circular = m.dice.chance(0.4);
  m.maybe(circular ? 1 : 0.5, "mode", std::string(circular ? "circular" : "linear"));
  Names in = {m.add(m.any(DType::f32, {batch, length, width})), m.add(m.any(DType::f32, {batch, part, width}))};
  if (m.dice.chance(0.7)) in.push_back(m.add(m.whole(DType::i64, {batch}, 0, circular ? length - 1 : length - part)));
  m.finish(in);
}

void string_concat(Maker& m) {
  const Extents full = m.shape(0, 3);
  m.finish({m.add(m.any(DType::str, m.part_of(full))), m.add(m.any(DType::str, m.part_of(full)))});
}

void string_split(Maker& m) {
  m.maybe(0.6, "delimiter", m.dice.word({" ", "a", "b", ""}));
  m.maybe(0.4, "maxsplit", m.dice.in(0, 3));
  m.finish({m.add(m.any(DType::str, m.positive_shape(0, 2)))}, 2);
}

void regex(Maker& m) {
  m.attribute("pattern", m.dice.word({"a.*", "[ab]+", "", "A?b c", "z\\d"}));
  m.finish({m.add(m.any(DType::str, m.shape(1, 3)))});
}

// ---- Quantisation ------------------------------------------------------------------------------------------------

DType byte_type(Maker& m) { return m.dice.one_of({DType::u8, DType::i8}); }

/// Scales are powers of two, so that products of them are exact.
Tensor scales(Maker& m, const Extents& shape) {
  Tensor t = Tensor::make(DType::f32, Shape(shape)).value();
  for (int64_t i = 0; i < t.count(); ++i) set_real(t, i, std::ldexp(1.0, int(m.dice.in(-4, 1))));
  return t;
}

Tensor zero_points(Maker& m, DType type, const Extents& shape) {
  if (type == DType::i32) return m.whole(type, shape, 0, 0);
  return m.whole(type, shape, is_unsigned_int(type) ? 0 : -9, 9);
}

/// The shape of scale and zero point: one, one for each index of an axis, or one a block.
Extents granularity(Maker& m, const Extents& x) {
  if (m.opset() < 13 || x.empty() || m.dice.chance(0.4)) return {};
  const int64_t rank = int64_t(x.size()), axis = m.axis(rank), real = (axis + rank) % rank;
  m.attribute("axis", axis);
  if (m.opset() < 21 || m.dice.chance(0.6)) return {x[size_t(real)]};
  const int64_t block = m.dice.in(1, x[size_t(real)]);
  m.attribute("block_size", block);
  Extents blocks = x;
  blocks[size_t(real)] = (blocks[size_t(real)] + block - 1) / block;
  return blocks;
}

void quantize(Maker& m) {
  const Extents x = m.positive_shape(0, 4), scale = granularity(m, x);
  const DType type = m.opset() >= 21 && m.dice.chance(0.2) ? m.dice.one_of({DType::u16, DType::i16}) : byte_type(m);
  Names in = {m.add(m.reals(DType::f32, x, m.dice.one_of({Fill::exact, Fill::exact, Fill::special}))),
              m.add(scales(m, scale))};
  const bool zero = m.dice.chance(0.8);
  if (zero) in.push_back(m.add(zero_points(m, type, scale)));
  if (!zero && m.opset() >= 21) m.maybe(0.5, "output_dtype", int64_t(onnx_number(type)));
  m.finish(in);
}

void dequantize(Maker& m) {
  const Extents x = m.positive_shape(0, 4), scale = granularity(m, x);
  const DType type = m.dice.chance(0.15)                     ? DType::i32
                     : m.opset() >= 21 && m.dice.chance(0.2) ? m.dice.one_of({DType::u16, DType::i16})
                                                             : byte_type(m);
  Names in = {m.add(m.any(type, x)), m.add(scales(m, scale))};
  if (m.dice.chance(0.7)) in.push_back(m.add(zero_points(m, type, scale)));
  m.finish(in);
}

void dynamic_quantize(Maker& m) { m.finish({m.add(m.reals(DType::f32, m.positive_shape(0, 3), Fill::exact))}, 3); }

constexpr Recipe kRecipes[] = {
    {"Compress", 9, compress},
    {"DequantizeLinear", 10, dequantize},
    {"DynamicQuantizeLinear", 11, dynamic_quantize},
    {"Gather", 1, gather},
    {"GatherElements", 11, gather_elements},
    {"GatherND", 11, gather_nd},
    {"NonMaxSuppression", 10, non_max_suppression},
    {"NonZero", 9, non_zero},
    {"OneHot", 9, one_hot},
    {"QuantizeLinear", 10, quantize},
    {"RegexFullMatch", 20, regex},
    {"Scatter", 9, scatter, {}, 10},
    {"ScatterElements", 11, scatter_elements},
    {"ScatterND", 11, scatter_nd},
    {"StringConcat", 20, string_concat},
    {"StringSplit", 20, string_split},
    {"TensorScatter", 24, tensor_scatter},
    {"TopK", 1, top_k},
    {"Unique", 11, unique},
};

}  // namespace

std::span<const Recipe> select_recipes() { return kRecipes; }

}  // namespace nnex::differential
