// Windows: convolutions, pools and what undoes them.
#include <algorithm>

#include "recipes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

/// Window attributes over 1 to 3 spatial axes.
struct Window {
  size_t axes = 2;
  Extents kernel, strides, dilations, pads;
  std::string auto_pad = "NOTSET";
};

struct WindowLimits {
  bool dilated = true, reach = true;  ///< reach: the window fits into the padded input.
  int64_t max_pad = 3;
};

Window window(Maker& m, const Extents& spatial, WindowLimits limits = {}) {
  Window w;
  w.axes = spatial.size();
  for (size_t i = 0; i < w.axes; ++i) {
    w.kernel.push_back(m.dice.in(1, 4));
    w.strides.push_back(m.dice.in(1, 3));
    w.dilations.push_back(limits.dilated && m.dice.chance(0.3) ? m.dice.in(2, 3) : 1);
  }
  w.pads.resize(2 * w.axes);
  if (m.dice.chance(0.3)) {
    w.auto_pad = m.dice.word({"SAME_UPPER", "SAME_LOWER", "VALID"});
  } else if (m.dice.chance(0.7)) {
    for (size_t i = 0; i < 2 * w.axes; ++i)
      w.pads[i] = m.dice.in(0, std::min(limits.max_pad, w.kernel[i % w.axes] - 1));
  }
  for (size_t i = 0; limits.reach && i < w.axes; ++i) {
    const int64_t room = spatial[i] + w.pads[i] + w.pads[i + w.axes];
    if (w.auto_pad[0] != 'S' && (w.kernel[i] - 1) * w.dilations[i] + 1 > room) {
      w.kernel[i] = w.dilations[i] = 1;
      w.pads[i] = w.pads[i + w.axes] = 0;
    }
  }
  return w;
}

bool all_are(const Extents& list, int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
}

void say(Maker& m, const Window& w, bool kernel_needed, bool with_dilations = true) {
  if (kernel_needed || m.dice.chance(0.6)) m.attribute("kernel_shape", w.kernel);
  if (!all_are(w.strides, 1) || m.dice.chance(0.3)) m.attribute("strides", w.strides);
  if (with_dilations && (!all_are(w.dilations, 1) || m.dice.chance(0.2))) m.attribute("dilations", w.dilations);
  if (w.auto_pad != "NOTSET")
    m.attribute("auto_pad", w.auto_pad);
  else if (!all_are(w.pads, 0) || m.dice.chance(0.2))
    m.attribute("pads", w.pads);
}

Extents spatial_extents(Maker& m) {
  Extents out(size_t(m.dice.chance(0.6) ? 2 : m.dice.chance(0.6) ? 1 : 3));
  for (int64_t& e : out) e = m.dice.chance(0.15) ? m.dice.in(1, 3) : m.dice.in(3, 9);
  return out;
}

Extents with(std::initializer_list<int64_t> front, const Extents& back) {
  Extents out(front);
  out.insert(out.end(), back.begin(), back.end());
  return out;
}

DType window_type(Maker& m) { return m.dice.chance(0.15) ? m.floating(0.3) : DType::f32; }

/// Groups with channels of the input and of the output.
struct Channels {
  int64_t groups, in, out;
};
Channels channels(Maker& m) {
  const int64_t groups = m.dice.chance(0.4) ? m.dice.in(2, 4) : 1;
  const bool depthwise = groups > 1 && m.dice.chance(0.4);
  return {groups, groups * (depthwise ? 1 : m.dice.in(1, 4)), groups * m.dice.in(1, m.dice.chance(0.2) ? 20 : 4)};
}

void conv(Maker& m) {
  const Extents spatial = spatial_extents(m);
  const Window w = window(m, spatial);
  const Channels c = channels(m);
  say(m, w, false);
  m.maybe(c.groups > 1 ? 1 : 0.2, "group", c.groups);
  const DType type = window_type(m);
  Names in = {m.add(m.reals(type, with({m.extent(), c.in}, spatial))),
              m.add(m.reals(type, with({c.out, c.in / c.groups}, w.kernel)), 0.6)};
  if (m.dice.chance(0.5)) in.push_back(m.add(m.reals(type, {c.out}), 0.6));
  m.finish(in);
}

void conv_transpose(Maker& m) {
  const Extents spatial = spatial_extents(m);
  Window w = window(m, spatial, {.reach = false});
  const Channels c = channels(m);
  Extents extra(w.axes);
  for (size_t i = 0; i < w.axes; ++i) extra[i] = m.dice.in(0, std::max(w.strides[i], w.dilations[i]) - 1);
  const bool extended = m.dice.chance(0.3);
  if (extended) m.attribute("output_padding", extra);
  if (m.dice.chance(0.25)) {
    Extents shape(w.axes);
    for (size_t i = 0; i < w.axes; ++i)
      shape[i] = std::max<int64_t>(1, (spatial[i] - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1 +
                                          (extended ? extra[i] : 0) - m.dice.in(0, 2));
    m.attribute("output_shape", shape);
    w.pads.assign(2 * w.axes, 0);
    if (w.auto_pad == "VALID") w.auto_pad = "NOTSET";
  }
  say(m, w, false);
  m.maybe(c.groups > 1 ? 1 : 0.2, "group", c.groups);
  const DType type = DType::f32;
  Names in = {m.add(m.reals(type, with({m.extent(), c.in}, spatial))),
              m.add(m.reals(type, with({c.in, c.out / c.groups}, w.kernel)), 0.6)};
  if (m.dice.chance(0.5)) in.push_back(m.add(m.reals(type, {c.out}), 0.6));
  m.finish(in);
}

DType byte_type(Maker& m) { return m.dice.one_of({DType::u8, DType::i8}); }

void conv_integer(Maker& m) {
  const Extents spatial = spatial_extents(m);
  const Window w = window(m, spatial);
  const Channels c = channels(m);
  say(m, w, false);
  m.maybe(c.groups > 1 ? 1 : 0.2, "group", c.groups);
  const DType x = DType::u8, f = byte_type(m);
  Names in = {m.add(m.whole(x, with({m.positive_extent(), c.in}, spatial), 0, 255)),
              m.add(m.whole(f, with({c.out, c.in / c.groups}, w.kernel), f == DType::u8 ? 0 : -128, 127))};
  if (m.dice.chance(0.7)) in.push_back(m.add(m.whole(x, {}, 0, 255)));
  if (in.size() == 3 && m.dice.chance(0.6)) in.push_back(m.add(m.whole(f, {}, 0, 100)));
  m.finish(in);
}

Tensor scale(Maker& m, const Extents& shape) {
  Tensor t = Tensor::make(DType::f32, Shape(shape)).value();
  for (int64_t i = 0; i < t.count(); ++i) set_real(t, i, 1.0 / double(int64_t(1) << m.dice.in(0, 6)));
  return t;
}

void qlinear_conv(Maker& m) {
  const Extents spatial = spatial_extents(m);
  const Window w = window(m, spatial);
  const Channels c = channels(m);
  say(m, w, false);
  m.maybe(c.groups > 1 ? 1 : 0.2, "group", c.groups);
  const DType x = byte_type(m), f = x == DType::u8 ? byte_type(m) : DType::i8, y = x;
  const Extents per = m.dice.chance(0.4) ? Extents{c.out} : Extents{};
  const auto bytes = [&](DType type, const Extents& shape) {
    return m.whole(type, shape, type == DType::u8 ? 0 : -128, 127);
  };
  Names in = {m.add(bytes(x, with({m.positive_extent(), c.in}, spatial))), m.add(scale(m, {})), m.add(bytes(x, {})),
              m.add(bytes(f, with({c.out, c.in / c.groups}, w.kernel)), 0.6), m.add(scale(m, per), 0.6)};
  in.push_back(m.add(f == DType::i8 ? m.whole(f, per, 0, 0) : m.whole(f, per, 7, 7), 0.6));
  in.push_back(m.add(scale(m, {})));
  in.push_back(m.add(bytes(y, {})));
  if (m.dice.chance(0.5)) in.push_back(m.add(m.whole(DType::i32, {c.out}, -500, 500), 0.6));
  m.finish(in);
}

Extents pooled(Maker& m, const Extents& spatial) { return with({m.extent(), m.extent()}, spatial); }

void average_pool(Maker& m) {
  const Extents spatial = spatial_extents(m);
  say(m, window(m, spatial, {.dilated = m.opset() >= 19}), true, m.opset() >= 19);
  m.maybe(0.5, "count_include_pad", m.dice.in(0, 1));
  if (m.opset() >= 10) m.maybe(0.5, "ceil_mode", m.dice.in(0, 1));
  m.finish({m.add(m.reals(window_type(m), pooled(m, spatial)))});
}

void max_pool(Maker& m) {
  const Extents spatial = spatial_extents(m);
  say(m, window(m, spatial, {.dilated = m.opset() >= 10}), true, m.opset() >= 10);
  if (m.opset() >= 10) m.maybe(0.5, "ceil_mode", m.dice.in(0, 1));
  const DType type = m.opset() >= 12 && m.dice.chance(0.15) ? byte_type(m) : window_type(m);
  const bool ties = m.dice.chance(0.4);
  const auto x = m.add(ties ? m.whole(type, pooled(m, spatial), 0, 2) : m.any(type, pooled(m, spatial)));
  const bool indices = m.opset() >= 8 && m.dice.chance(0.5);
  if (indices) m.maybe(0.5, "storage_order", m.dice.in(0, 1));
  m.finish({x}, indices ? 2 : 1);
}

void lp_pool(Maker& m) {
  const Extents spatial = spatial_extents(m);
  say(m, window(m, spatial, {.dilated = m.opset() >= 18}), true, m.opset() >= 18);
  if (m.opset() >= 18) m.maybe(0.4, "ceil_mode", m.dice.in(0, 1));
  m.maybe(0.7, "p", m.dice.in(1, 4));
  m.finish({m.add(m.reals(DType::f32, pooled(m, spatial)))});
}

void global_pool(Maker& m) {
  if (m.made.op == "GlobalLpPool") m.maybe(0.6, "p", m.dice.in(1, 3));
  Extents spatial = spatial_extents(m);
  m.finish({m.add(m.reals(window_type(m), pooled(m, spatial)))});
}

/// Indices as MaxPool makes them: inside each window that is read.
void max_unpool(Maker& m) {
  const Extents spatial = {m.dice.in(1, 4), m.dice.in(1, 4)};
  const int64_t k = m.dice.in(1, 3), s = m.dice.in(1, k);
  const int64_t n = m.dice.in(1, 2), c = m.dice.in(1, 3);
  m.attribute("kernel_shape", Extents{k, k});
  m.attribute("strides", Extents{s, s});
  const int64_t h = (spatial[0] - 1) * s + k, w = (spatial[1] - 1) * s + k;
  Tensor at = Tensor::make(DType::i64, Shape{n, c, spatial[0], spatial[1]}).value();
  for (int64_t i = 0; i < at.count(); ++i) {
    const int64_t x = i % spatial[1], y = i / spatial[1] % spatial[0], plane = i / (spatial[0] * spatial[1]);
    set_int(at, i, (plane * h + y * s + m.dice.in(0, s - 1)) * w + x * s + m.dice.in(0, s - 1));
  }
  m.finish({m.add(m.reals(DType::f32, {n, c, spatial[0], spatial[1]})), m.add(at)});
}

void col2im(Maker& m) {
  const Extents image = {m.dice.in(3, 8), m.dice.in(3, 8)};
  Window w = window(m, image);
  w.auto_pad = "NOTSET";
  int64_t blocks = 1, window_size = 1;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t room = image[i] + w.pads[i] + w.pads[i + 2];
    if (reach > room) w.kernel[i] = 1;
    blocks *= (room - (w.kernel[i] - 1) * w.dilations[i] - 1) / w.strides[i] + 1;
    window_size *= w.kernel[i];
  }
  m.attribute("strides", w.strides);
  m.attribute("dilations", w.dilations);
  m.attribute("pads", w.pads);
  const auto x = m.add(m.reals(DType::f32, {m.dice.in(1, 2), m.dice.in(1, 3) * window_size, blocks}));
  m.finish({x, m.add(m.longs(image), 0.7), m.add(m.longs(w.kernel), 0.7)});
}

void deform_conv(Maker& m) {
  const Extents spatial = {m.dice.in(3, 7), m.dice.in(3, 7)};
  Window w = window(m, spatial);
  if (w.auto_pad != "NOTSET") w.auto_pad = "NOTSET";
  const Channels c = channels(m);
  const int64_t offset_groups = m.dice.chance(0.3) && c.in % 2 == 0 ? 2 : 1;
  Extents out(2);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1, room = spatial[i] + w.pads[i] + w.pads[i + 2];
    if (reach > room) w.kernel[i] = w.dilations[i] = 1;
    out[i] = (room - (w.kernel[i] - 1) * w.dilations[i] - 1) / w.strides[i] + 1;
  }
  say(m, w, false);
  m.maybe(c.groups > 1 ? 1 : 0.2, "group", c.groups);
  m.maybe(offset_groups > 1 ? 1 : 0.2, "offset_group", offset_groups);
  const int64_t n = m.dice.in(1, 2), points = offset_groups * w.kernel[0] * w.kernel[1];
  Names in = {m.add(m.reals(DType::f32, with({n, c.in}, spatial))),
              m.add(m.reals(DType::f32, with({c.out, c.in / c.groups}, w.kernel))),
              m.add(m.reals(DType::f32, with({n, 2 * points}, out), Fill::normal))};
  if (m.dice.chance(0.6)) in.push_back(m.dice.chance(0.5) ? m.add(m.reals(DType::f32, {c.out})) : m.absent());
  if (in.size() == 4 && (in[3].empty() || m.dice.chance(0.5)))
    in.push_back(m.add(m.reals(DType::f32, with({n, points}, out))));
  m.finish(in);
}

void lrn(Maker& m) {
  m.attribute("size", m.dice.chance(0.9) ? m.dice.in(0, 2) * 2 + 1 : m.dice.in(1, 6));  // the peer wants odd ones
  m.maybe(0.6, "alpha", m.dice.one_of({0.0001f, 0.5f, 1.0f}));
  m.maybe(0.6, "beta", m.dice.one_of({0.5f, 0.75f, 1.0f}));
  m.maybe(0.6, "bias", m.dice.one_of({1.0f, 2.0f}));
  m.finish({m.add(m.reals(DType::f32, with({m.extent(), m.extent()}, {m.extent(), m.extent()})))});
}

constexpr Recipe kRecipes[] = {
    {"AveragePool", 7, average_pool},
    {"Col2Im", 18, col2im},
    {"Conv", 1, conv},
    {"ConvInteger", 10, conv_integer},
    {"ConvTranspose", 1, conv_transpose},
    {"DeformConv", 19, deform_conv},
    {"GlobalAveragePool", 1, global_pool},
    {"GlobalLpPool", 2, global_pool, {}, 21},
    {"GlobalMaxPool", 1, global_pool},
    {"LRN", 1, lrn},
    {"LpPool", 2, lp_pool},
    {"MaxPool", 1, max_pool},
    {"MaxUnpool", 9, max_unpool},
    {"QLinearConv", 10, qlinear_conv},
};

}  // namespace

std::span<const Recipe> window_recipes() { return kRecipes; }

}  // namespace nnex::differential
