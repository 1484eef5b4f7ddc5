// Operators that move elements, or make tensors of their own.
#include <algorithm>

#include "recipes.h"

namespace nnex::differential {
namespace {

int64_t product(const Extents& shape) {
  int64_t n = 1;
  for (int64_t e : shape) n *= e;
  return n;
}

DType moved(Maker& m) { return m.dice.chance(0.1) ? DType::str : m.dice.chance(0.1) ? DType::boolean : m.number(); }
std::string moved_tensor(Maker& m, const Extents& shape) { return m.add(m.any(moved(m), shape, Fill::special)); }

/// Another factoring of a count.
Extents factors(Maker& m, int64_t count) {
  Extents out;
  for (int64_t f = 2; f <= count && out.size() < 4;) {
    if (count % f == 0 && m.dice.chance(0.8)) {
      out.push_back(f);
      count /= f;
    } else {
      ++f;
    }
  }
  if (count != 1 || out.empty()) out.push_back(count);
  if (m.dice.chance(0.3)) out.insert(out.begin() + m.dice.in(0, int64_t(out.size())), 1);
  return out;
}

void reshape(Maker& m) {
  const Extents shape = m.shape(0, 4);
  Extents target = factors(m, product(shape));
  if (m.opset() >= 14) m.maybe(0.4, "allowzero", m.dice.in(0, 1));
  if (product(shape) != 0) {
    for (size_t i = 0; i < std::min(target.size(), shape.size()); ++i)
      if (target[i] == shape[i] && m.dice.chance(0.4) && m.opset() < 14) target[i] = 0;
    if (m.dice.chance(0.4)) {
      const size_t at = size_t(m.dice.in(0, int64_t(target.size()) - 1));
      if (target[at] != 0) target[at] = -1;
    }
  }
  m.finish({moved_tensor(m, shape), m.add(m.longs(target), 0.6)});
}

void flatten(Maker& m) {
  const Extents shape = m.shape(m.opset() < 11 ? 1 : 0, 4);
  const int64_t rank = int64_t(shape.size());
  m.maybe(rank == 0 ? 0.0 : 0.7, "axis", m.opset() < 11 ? m.dice.in(0, rank) : m.dice.in(-rank, rank));
  if (rank == 0) m.attribute("axis", int64_t(0));
  m.finish({moved_tensor(m, shape)});
}

void squeeze(Maker& m) {
  Extents shape = m.shape(1, 4);
  for (int64_t& e : shape)
    if (m.dice.chance(0.5)) e = 1;
  const int64_t rank = int64_t(shape.size());
  Extents axes;
  for (int64_t i = 0; i < rank; ++i)
    if (shape[size_t(i)] == 1 && m.dice.chance(0.6))
      axes.push_back(m.opset() >= 11 && m.dice.chance(0.3) ? i - rank : i);
  Names in = {moved_tensor(m, shape)};
  const bool given = !axes.empty() && m.dice.chance(0.8);
  if (given && m.opset() >= 13) in.push_back(m.add(m.longs(axes), 0.7));
  if (given && m.opset() < 13) m.attribute("axes", axes);
  m.finish(in);
}

void unsqueeze(Maker& m) {
  const Extents shape = m.shape(0, 3);
  const int64_t added = m.dice.in(1, 2), rank = int64_t(shape.size()) + added;
  Extents axes = m.axes(rank, added);
  while (int64_t(axes.size()) != added) axes = m.axes(rank, added);
  if (m.opset() < 11)
    for (int64_t& a : axes) a = (a + rank) % rank;
  Names in = {moved_tensor(m, shape)};
  if (m.opset() >= 13)
    in.push_back(m.add(m.longs(axes), 0.7));
  else
    m.attribute("axes", axes);
  m.finish(in);
}

void transpose(Maker& m) {
  const Extents shape = m.shape(0, 5);
  Extents perm;
  for (size_t i = 0; i < shape.size(); ++i) perm.insert(perm.begin() + m.dice.in(0, int64_t(i)), int64_t(i));
  m.maybe(shape.empty() ? 0.0 : 0.8, "perm", perm);
  m.finish({moved_tensor(m, shape)});
}

void concat(Maker& m) {
  const Extents shape = m.shape(1, 4);
  const int64_t rank = int64_t(shape.size()), axis = m.dice.in(0, rank - 1);
  m.attribute("axis", m.opset() >= 11 && m.dice.chance(0.4) ? axis - rank : axis);
  const DType type = moved(m);
  Names in;
  for (int64_t n = m.dice.in(1, 4); n-- > 0;) {
    Extents part = shape;
    part[size_t(axis)] = m.extent();
    in.push_back(m.add(m.any(type, part)));
  }
  m.finish(in);
}

void split(Maker& m) {
  Extents shape = m.shape(1, 4);
  const int64_t rank = int64_t(shape.size()), axis = m.dice.in(0, rank - 1), parts = m.dice.in(1, 4);
  Extents lengths;
  for (int64_t i = 0; i < parts; ++i) lengths.push_back(m.extent());
  const bool equal = m.dice.chance(0.5);
  int64_t total = 0;
  for (int64_t& n : lengths) total += equal ? n = lengths[0] : n;
  shape[size_t(axis)] = total;
  m.attribute("axis", m.opset() >= 11 && m.dice.chance(0.4) ? axis - rank : axis);
  Names in = {moved_tensor(m, shape)};
  if (equal && m.opset() >= 18 && m.dice.chance(0.7)) {
    m.attribute("num_outputs", parts);  // the last part may be smaller
    if (m.dice.chance(0.4) && lengths[0] > 1) {
      in = {};
      m.made.given.clear();
      shape[size_t(axis)] -= 1;
      in.push_back(moved_tensor(m, shape));
    }
  } else if (!equal || m.opset() >= 18 || m.dice.chance(0.5)) {
    if (m.opset() >= 13)
      in.push_back(m.add(m.longs(lengths), 0.7));
    else
      m.attribute("split", lengths);
  }
  m.finish(in, int(parts));
}

int64_t bound(Maker& m, int64_t n) {
  return m.dice.chance(0.1) ? m.dice.one_of<int64_t>({INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, -n - 1, n, -n})
                            : m.dice.in(-n - 2, n + 2);
}

void slice(Maker& m) {
  const Extents shape = m.shape(1, 4);
  const int64_t rank = int64_t(shape.size());
  const Extents axes = m.axes(rank);
  const bool with_axes = m.dice.chance(0.8), with_steps = with_axes && m.dice.chance(0.7);
  const size_t count = with_axes ? axes.size() : size_t(rank);
  Extents starts, ends, steps;
  for (size_t i = 0; i < count; ++i) {
    const int64_t n = shape[size_t(with_axes ? (axes[i] + rank) % rank : int64_t(i))];
    starts.push_back(bound(m, n));
    ends.push_back(bound(m, n));
    steps.push_back(m.dice.one_of<int64_t>({1, 1, 2, 3, -1, -1, -2, -3, 100, -100}));
  }
  if (m.opset() < 10) {
    m.attribute("starts", starts);
    m.attribute("ends", ends);
    Extents positive = axes;
    for (int64_t& a : positive) a = (a + rank) % rank;
    if (with_axes) m.attribute("axes", positive);
    m.finish({moved_tensor(m, shape)});
    return;
  }
  const DType type = m.dice.chance(0.7) ? DType::i64 : DType::i32;
  const auto index = [&](const Extents& list) {
    Extents fit = list;
    if (type == DType::i32)
      for (int64_t& v : fit) v = std::clamp<int64_t>(v, INT32_MIN, INT32_MAX);
    return m.add(m.longs(fit, type), 0.5);
  };
  Names in = {moved_tensor(m, shape), index(starts), index(ends)};
  if (with_axes) in.push_back(index(axes));
  if (with_steps) in.push_back(index(steps));
  m.finish(in);
}

void expand(Maker& m) {
  const Extents full = m.shape(0, 4), x = m.part_of(full), target = m.part_of(full);
  m.finish({moved_tensor(m, x), m.add(m.longs(target), 0.6)});
}

void tile(Maker& m) {
  const Extents shape = m.shape(1, 4);
  Extents repeats;
  for (size_t i = 0; i < shape.size(); ++i) repeats.push_back(m.dice.chance(0.05) ? 0 : m.dice.in(1, 3));
  m.finish({moved_tensor(m, shape), m.add(m.longs(repeats), 0.6)});
}

void pad(Maker& m) {
  const Extents shape = m.positive_shape(1, 4);
  const std::string mode = m.opset() >= 19 ? m.dice.word({"constant", "reflect", "edge", "wrap"})
                                           : m.dice.word({"constant", "reflect", "edge"});
  const int64_t rank = int64_t(shape.size());
  const Extents axes = m.opset() >= 18 && m.dice.chance(0.4) ? m.axes(rank) : Extents{};
  const size_t padded = axes.empty() ? size_t(rank) : axes.size();
  Extents pads(padded * 2);
  for (size_t i = 0; i < pads.size(); ++i) {
    const size_t at = i % padded;
    const int64_t n = shape[size_t(axes.empty() ? int64_t(at) : (axes[at] + rank) % rank)];
    pads[i] = m.dice.chance(0.3) ? 0 : m.dice.in(0, mode == "constant" || mode == "edge" ? 3 : n - 1);
    if (mode == "constant" && m.dice.chance(0.15)) pads[i] = -m.dice.in(0, n / 2);
  }
  m.maybe(0.9, "mode", mode);
  if (m.opset() < 11) {
    m.maybe(0.5, "value", 1.5f);
    m.attribute("pads", pads);
    m.finish({m.add(m.reals(m.floating(0), shape))});
    return;
  }
  const DType type = m.number();
  Names in = {m.add(m.any(type, shape)), m.add(m.longs(pads), 0.6)};
  const bool value = m.dice.chance(0.5);
  if (value || !axes.empty()) in.push_back(value ? m.add(m.any(type, {})) : m.absent());
  if (!axes.empty()) in.push_back(m.add(m.longs(axes), 0.6));
  m.finish(in);
}

void shape_of(Maker& m) {
  const Extents shape = m.shape(0, 4);
  if (m.opset() >= 15) {
    m.maybe(0.5, "start", m.dice.in(-6, 6));
    m.maybe(0.5, "end", m.dice.in(-6, 6));
  }
  m.finish({moved_tensor(m, shape)});
}

void size_of(Maker& m) { m.finish({moved_tensor(m, m.shape(0, 4))}); }

void constant_of_shape(Maker& m) {
  m.maybe(0.7, "value", m.any(m.dice.chance(0.1) ? DType::boolean : m.number(), {1}, Fill::special));
  m.finish({m.add(m.longs(m.shape(0, 4)), 0.5)});
}

void constant(Maker& m) {
  const int kind = m.opset() < 12 ? 0 : int(m.dice.in(0, 4));
  if (kind == 0) m.attribute("value", m.any(moved(m), m.shape(0, 3), Fill::special));
  if (kind == 1) m.attribute("value_float", 1.25f);
  if (kind == 2) m.attribute("value_floats", std::vector<float>{1.5f, -2});
  if (kind == 3) m.attribute("value_int", m.dice.in(-9, 9));
  if (kind == 4) m.attribute("value_ints", Extents{m.dice.in(-9, 9), 3});
  m.finish({});
}

void eye_like(Maker& m) {
  m.maybe(0.6, "k", m.dice.in(-5, 5));
  m.maybe(0.5, "dtype",
          int64_t(onnx_number(m.dice.one_of({DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}))));
  m.finish({m.add(m.any(m.number(), m.shape(2, 2)))});
}

void range(Maker& m) {
  const DType type = m.dice.one_of({DType::f32, DType::f64, DType::i32, DType::i64, DType::i16});
  const int64_t step = m.dice.one_of<int64_t>({1, 2, 3, -1, -2});
  const double unit = is_float(type) ? 0.25 : 1;
  m.finish({m.add(m.scalar(type, double(m.dice.in(-8, 8)) * unit)),
            m.add(m.scalar(type, double(m.dice.in(-8, 8)) * unit)), m.add(m.scalar(type, double(step) * unit))});
}

void trilu(Maker& m) {
  m.maybe(0.6, "upper", m.dice.in(0, 1));
  Names in = {m.add(m.any(m.number(), m.shape(2, 4), Fill::special))};
  if (m.dice.chance(0.7)) in.push_back(m.add(m.scalar(DType::i64, double(m.dice.in(-6, 6)))));
  m.finish(in);
}

void depth_to_space(Maker& m) {
  const int64_t block = m.dice.in(1, 3);
  m.attribute("blocksize", block);
  if (m.opset() >= 11) m.maybe(0.7, "mode", m.dice.word({"DCR", "CRD"}));
  const DType type = m.opset() < 13 ? DType::f32 : m.floating();
  m.finish({m.add(m.reals(type, {m.extent(), m.dice.in(1, 3) * block * block, m.extent(), m.extent()}))});
}

void space_to_depth(Maker& m) {
  const int64_t block = m.dice.in(1, 3);
  m.attribute("blocksize", block);
  const DType type = m.opset() < 13 ? DType::f32 : m.floating();
  m.finish({m.add(m.reals(type, {m.extent(), m.extent(), m.extent() * block, m.extent() * block}))});
}

void reverse_sequence(Maker& m) {
  Extents shape = m.positive_shape(2, 4);
  const int64_t batch = m.dice.in(0, 1);
  m.attribute("batch_axis", batch);
  m.attribute("time_axis", 1 - batch);
  Tensor lengths = m.whole(DType::i64, {shape[size_t(batch)]}, 1, shape[size_t(1 - batch)]);
  m.finish({moved_tensor(m, shape), m.add(lengths)});
}

void center_crop_pad(Maker& m) {
  const Extents shape = m.positive_shape(1, 4);
  const int64_t rank = int64_t(shape.size());
  Extents axes = m.axes(rank);
  const bool all = m.dice.chance(0.4);
  if (!all) m.attribute("axes", axes);
  Extents target(all ? size_t(rank) : axes.size());
  for (int64_t& e : target) e = m.positive_extent();
  m.finish({m.add(m.any(m.floating(0), shape)), m.add(m.longs(target), 0.6)});
}

void bit_cast(Maker& m) {
  const bool wide = m.dice.chance(0.5);
  const auto type = [&] {
    return wide ? m.dice.one_of({DType::f32, DType::i32, DType::u32})
                : m.dice.one_of({DType::i64, DType::f64, DType::u64});
  };
  m.attribute("to", int64_t(onnx_number(type())));
  m.finish({m.add(m.any(type(), m.shape(0, 3)))});
}

/// Cuts into a sequence and joins or picks from it: sequences themselves are no outputs here.
void split_to_sequence(Maker& m) {
  const Extents shape = m.positive_shape(1, 3);
  const int64_t rank = int64_t(shape.size()), axis = m.dice.in(0, rank - 1);
  m.attribute("axis", m.dice.chance(0.3) ? axis - rank : axis);
  m.maybe(0.4, "keepdims", m.dice.in(0, 1));
  Names in = {m.add(m.any(m.floating(0), shape))};
  const bool given = m.dice.chance(0.5);
  if (given) in.push_back(m.add(m.scalar(DType::i64, double(m.dice.in(1, 3))), 0.8));
  const Names sequence = m.finish(in);
  m.made.outputs.clear();
  const auto at = m.add(m.scalar(DType::i64, m.dice.chance(0.5) ? 0 : -1));
  m.output(m.node("SequenceAt", {sequence[0], at})[0]);
  m.output(m.node("SequenceLength", {sequence[0]})[0]);
}

void sequences(Maker& m) {
  const Extents shape = m.positive_shape(1, 3);
  const DType type = m.floating(0);
  Names items;
  for (int64_t n = m.dice.in(1, 3); n-- > 0;) items.push_back(m.add(m.any(type, shape)));
  std::string sequence = m.node("SequenceConstruct", items)[0];
  const int64_t count = int64_t(items.size());
  if (m.dice.chance(0.5)) {
    const auto at = m.add(m.scalar(DType::i64, double(m.dice.in(-count, count))));
    sequence = m.node("SequenceInsert", {sequence, m.add(m.any(type, shape)), at})[0];
  } else if (count > 1) {
    sequence = m.node("SequenceErase", {sequence, m.add(m.scalar(DType::i64, double(m.axis(count))))})[0];
  }
  const int64_t whole = m.dice.in(0, 1), rank = int64_t(shape.size()) + whole;
  m.attribute("axis", m.axis(rank));
  m.maybe(whole ? 1 : 0.5, "new_axis", whole);
  m.finish({sequence});
}

constexpr Recipe kRecipes[] = {
    {"BitCast", 26, bit_cast},
    {"CenterCropPad", 18, center_crop_pad},
    {"Concat", 4, concat},
    {"ConcatFromSequence", 11, sequences},
    {"Constant", 1, constant},
    {"ConstantOfShape", 9, constant_of_shape},
    {"DepthToSpace", 1, depth_to_space},
    {"Expand", 8, expand},
    {"EyeLike", 9, eye_like},
    {"Flatten", 1, flatten},
    {"Pad", 2, pad},
    {"Range", 11, range},
    {"Reshape", 5, reshape},
    {"ReverseSequence", 10, reverse_sequence},
    {"Shape", 1, shape_of},
    {"Size", 1, size_of},
    {"Slice", 1, slice},
    {"SpaceToDepth", 1, space_to_depth},
    {"Split", 2, split},
    {"SplitToSequence", 11, split_to_sequence},
    {"Squeeze", 1, squeeze},
    {"Tile", 6, tile},
    {"Transpose", 1, transpose},
    {"Trilu", 14, trilu},
    {"Unsqueeze", 1, unsqueeze},
};

}  // namespace

std::span<const Recipe> shape_recipes() { return kRecipes; }

}  // namespace nnex::differential
