// Operators that sample at computed places; signals.
#include <algorithm>
#include <cmath>

#include "recipes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

/// Mode, transform and what hangs on them, for the opset's form of Resize.
struct Resizing {
  std::string mode, transform;
  bool cubic = false;
};
Resizing resizing(Maker& m) {
  Resizing r;
  r.mode = m.opset() >= 11 ? m.dice.word({"nearest", "linear", "cubic"}) : m.dice.word({"nearest", "linear"});
  r.cubic = r.mode == "cubic";
  m.attribute("mode", r.mode);
  if (m.opset() < 11) return r;
  r.transform = m.dice.word({"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"});
  if (m.opset() < 13 && m.dice.chance(0.1)) r.transform = "tf_half_pixel_for_nn";
  if (m.opset() >= 19 && m.dice.chance(0.15)) r.transform = "half_pixel_symmetric";
  if (m.dice.chance(0.1)) r.transform = "tf_crop_and_resize";
  m.attribute("coordinate_transformation_mode", r.transform);
  if (r.mode == "nearest")
    m.maybe(0.7, "nearest_mode", m.dice.word({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (r.cubic) m.maybe(0.4, "cubic_coeff_a", m.dice.one_of({-0.5f, -0.75f}));
  if (r.cubic || (r.mode == "linear" && m.opset() >= 18)) m.maybe(0.3, "exclude_outside", m.dice.in(0, 1));
  if (m.opset() >= 18 && r.mode != "nearest") m.maybe(0.3, "antialias", m.dice.in(0, 1));
  if (r.transform == "tf_crop_and_resize") m.maybe(0.5, "extrapolation_value", 7.5f);
  return r;
}

/// Scales whose products with small extents are exact, and others.
float random_scale(Maker& m) {
  return m.dice.chance(0.7) ? m.dice.one_of({0.25f, 0.5f, 0.75f, 1.5f, 2.0f, 2.5f, 3.0f})
                            : float(m.dice.real() * 2.5 + 0.3);
}

/// The part that tf_crop_and_resize looks at: begin of each axis, then end; batch and channels are whole.
Tensor region(Maker& m, const Extents& axes, size_t rank) {
  Tensor t = Tensor::make(DType::f32, Shape{int64_t(2 * axes.size())}).value();
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool crops = rank < 4 || axes[i] >= 2;
    set_real(t, int64_t(i), crops ? double(m.dice.in(0, 3)) / 8 : 0);
    set_real(t, int64_t(i + axes.size()), crops ? double(m.dice.in(5, 9)) / 8 : 1);
  }
  return t;
}

/// What an axis becomes: either of the two is said.
struct Targets {
  std::vector<float> scales;
  Extents sizes;
};
Targets targets(Maker& m, const Extents& x, const Extents& axes) {
  Targets t;
  for (int64_t a : axes) {
    const bool changes = x.size() < 4 || a >= 2;
    t.scales.push_back(changes && m.dice.chance(0.9) ? random_scale(m) : 1.0f);
    if (std::floor(double(t.scales.back()) * double(x[size_t(a)])) < 1) t.scales.back() = 1;
    t.sizes.push_back(t.scales.back() == 1 ? x[size_t(a)] : m.dice.in(1, 10));
  }
  return t;
}

void resize(Maker& m) {
  const Resizing r = resizing(m);
  Extents x = {m.positive_extent(), m.positive_extent(), m.dice.in(2, 7), m.dice.in(2, 7)};
  if (m.dice.chance(0.15)) x = m.positive_shape(1, 3);
  Extents axes;
  for (size_t i = 0; i < x.size(); ++i) axes.push_back(int64_t(i));
  const bool some = m.opset() >= 18 && m.dice.chance(0.3);
  if (some) axes.erase(axes.begin(), axes.begin() + m.dice.in(0, int64_t(x.size()) - 1));
  const Targets t = targets(m, x, axes);
  const bool by_size = m.opset() >= 11 && m.dice.chance(0.5);
  if (some) m.attribute("axes", axes);
  if (by_size && m.opset() >= 18 && x.size() == 4 && axes.size() == 2)
    m.maybe(0.4, "keep_aspect_ratio_policy", m.dice.word({"stretch", "not_larger", "not_smaller"}));
  const Tensor scale = Tensor::of(Shape{int64_t(t.scales.size())}, t.scales), none = Tensor::of<float>(Shape{0}, {});
  const DType type =
      m.opset() >= 11 && m.dice.chance(0.15) ? m.dice.one_of({DType::u8, DType::i8, DType::i32}) : DType::f32;
  const auto data = m.add(m.any(type, x));
  if (m.opset() < 11) {
    m.finish({data, m.add(scale, 0.6)});
    return;
  }
  std::string roi = m.absent();
  if (r.transform == "tf_crop_and_resize")
    roi = m.add(region(m, axes, x.size()), 0.8);
  else if (m.opset() < 13)
    roi = m.add(none, 1);
  if (!by_size)
    m.finish({data, roi, m.add(scale, 0.7)});
  else
    m.finish({data, roi, m.opset() < 13 ? m.add(none, 1) : m.absent(), m.add(m.longs(t.sizes), 0.7)});
}

void upsample(Maker& m) {
  m.maybe(0.8, "mode", m.dice.word({"nearest", "linear"}));
  const Extents x = {m.positive_extent(), m.positive_extent(), m.dice.in(1, 6), m.dice.in(1, 6)};
  const std::vector<float> scales = {1, 1, m.dice.one_of({1.0f, 2.0f, 3.0f, 1.5f}), m.dice.one_of({1.0f, 2.0f, 2.5f})};
  const auto data = m.add(m.reals(DType::f32, x));
  if (m.opset() < 9) {
    m.attribute("scales", scales);
    m.finish({data});
  } else {
    m.finish({data, m.add(Tensor::of(Shape{4}, scales), 0.8)});
  }
}

void grid_sample(Maker& m) {
  const bool newer = m.opset() >= 20;
  m.attribute("mode",
              newer ? m.dice.word({"linear", "nearest", "cubic"}) : m.dice.word({"bilinear", "nearest", "bicubic"}));
  m.maybe(0.8, "padding_mode", m.dice.word({"zeros", "border", "reflection"}));
  m.maybe(0.6, "align_corners", m.dice.in(0, 1));
  const bool volume = newer && m.dice.chance(0.25);
  const int64_t n = m.positive_extent(), c = m.positive_extent();
  Extents x = {n, c, m.dice.in(1, 6), m.dice.in(1, 6)}, grid = {n, m.dice.in(1, 5), m.dice.in(1, 5), 2};
  if (volume) {
    x.push_back(m.dice.in(1, 5));
    grid = {n, m.dice.in(1, 4), m.dice.in(1, 4), m.dice.in(1, 4), 3};
  }
  Tensor at = Tensor::make(DType::f32, Shape(grid)).value();
  for (int64_t i = 0; i < at.count(); ++i)
    set_real(at, i, m.dice.chance(0.3) ? double(m.dice.in(-12, 12)) / 8 : m.dice.real() * 3 - 1.5);
  m.finish({m.add(m.reals(m.dice.chance(0.1) ? DType::f64 : DType::f32, x)), m.add(at)});
}

void affine_grid(Maker& m) {
  m.maybe(0.6, "align_corners", m.dice.in(0, 1));
  const int64_t n = m.dice.in(1, 3);
  const bool volume = m.dice.chance(0.4);
  Extents size = {n, m.dice.in(1, 3), m.dice.in(1, 6), m.dice.in(1, 6)};
  if (volume) size.push_back(m.dice.in(1, 4));
  m.finish({m.add(m.reals(DType::f32, {n, volume ? 3 : 2, volume ? 4 : 3})), m.add(m.longs(size), 0.6)});
}

/// At no place where a sample falls on the border of the picture.
Tensor regions(Maker& m, int64_t count) {
  Tensor t = Tensor::make(DType::f32, Shape{count, 4}).value();
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < 4; ++k) set_real(t, i * 4 + k, m.dice.real() * 3 + (k < 2 ? 0 : 3));
  return t;
}

void roi_align(Maker& m) {
  m.maybe(0.6, "mode", m.dice.word({"avg", "max"}));
  m.maybe(0.7, "output_height", m.dice.in(1, 4));
  m.maybe(0.7, "output_width", m.dice.in(1, 4));
  m.maybe(0.6, "sampling_ratio", m.dice.in(0, 3));
  m.maybe(0.6, "spatial_scale", m.dice.one_of({0.5f, 1.0f, 2.0f}));
  if (m.opset() >= 16) m.maybe(0.6, "coordinate_transformation_mode", m.dice.word({"half_pixel", "output_half_pixel"}));
  const int64_t n = m.dice.in(1, 2), count = m.dice.in(1, 3);
  m.finish({m.add(m.reals(DType::f32, {n, m.dice.in(1, 3), m.dice.in(2, 8), m.dice.in(2, 8)})),
            m.add(regions(m, count)), m.add(m.whole(DType::i64, {count}, 0, n - 1))});
}

void max_roi_pool(Maker& m) {
  m.attribute("pooled_shape", Extents{m.dice.in(1, 4), m.dice.in(1, 4)});
  m.maybe(0.6, "spatial_scale", m.dice.one_of({0.5f, 1.0f}));
  const int64_t n = m.dice.in(1, 2), count = m.dice.in(1, 3);
  Tensor rois = Tensor::make(DType::f32, Shape{count, 5}).value();
  for (int64_t i = 0; i < count; ++i) {
    set_real(rois, i * 5, double(m.dice.in(0, n - 1)));
    for (int64_t k = 1; k < 5; ++k) set_real(rois, i * 5 + k, double(k < 3 ? m.dice.in(0, 3) : m.dice.in(3, 8)));
  }
  m.finish({m.add(m.reals(DType::f32, {n, m.dice.in(1, 3), m.dice.in(4, 9), m.dice.in(4, 9)})), m.add(rois)});
}

// ---- Signals -----------------------------------------------------------------------------------------------------

void dft(Maker& m) {
  const bool inverse = m.dice.chance(0.4), onesided = !inverse && m.dice.chance(0.4);
  const int64_t components = onesided ? 1 : m.dice.in(1, 2);
  Extents x = m.positive_shape(2, 3);
  x.push_back(components);
  const int64_t rank = int64_t(x.size()), axis = m.dice.in(0, rank - 2);
  m.maybe(inverse ? 1 : 0.3, "inverse", int64_t(inverse));
  m.maybe(onesided ? 1 : 0.3, "onesided", int64_t(onesided));
  Names in = {m.add(m.reals(m.dice.chance(0.2) ? DType::f64 : DType::f32, x))};
  const bool length = m.dice.chance(0.4);
  if (length) in.push_back(m.add(m.scalar(DType::i64, double(m.dice.in(1, 9)))));
  if (m.opset() < 20) {
    m.attribute("axis", axis);
  } else {
    if (!length) in.push_back(m.absent());
    in.push_back(m.add(m.scalar(DType::i64, double(m.dice.chance(0.4) ? axis - rank : axis))));
  }
  m.finish(in);
}

void stft(Maker& m) {
  const int64_t frame = m.dice.in(2, 8), signal = frame + m.dice.in(0, 12);
  m.maybe(0.6, "onesided", m.dice.in(0, 1));
  const bool window = m.dice.chance(0.6);
  Names in = {m.add(m.reals(DType::f32, {m.dice.in(1, 2), signal, 1})),
              m.add(m.scalar(DType::i64, double(m.dice.in(1, 4))))};
  if (window) in.push_back(m.add(m.reals(DType::f32, {frame}, Fill::positive)));
  if (!window) in.push_back(m.absent());
  if (!window || m.dice.chance(0.5)) in.push_back(m.add(m.scalar(DType::i64, double(frame))));
  m.finish(in);
}

void window_function(Maker& m) {
  m.maybe(0.6, "periodic", m.dice.in(0, 1));
  m.maybe(0.4, "output_datatype", int64_t(onnx_number(m.dice.one_of({DType::f32, DType::f64}))));
  m.finish({m.add(m.scalar(m.dice.one_of({DType::i64, DType::i32}), double(m.dice.in(2, 20))))});
}

void mel_weights(Maker& m) {
  const int64_t rate = 8000;
  const double low = double(m.dice.in(0, 500)), high = double(m.dice.in(1000, 4000));
  m.finish({m.add(m.scalar(DType::i64, double(m.dice.in(2, 8)))),
            m.add(m.scalar(DType::i64, double(m.dice.one_of({16, 32, 64})))), m.add(m.scalar(DType::i64, double(rate))),
            m.add(m.scalar(DType::f32, low)), m.add(m.scalar(DType::f32, high))});
}

constexpr Recipe kRecipes[] = {
    {"AffineGrid", 20, affine_grid},
    {"BlackmanWindow", 17, window_function},
    {"DFT", 17, dft},
    {"GridSample", 16, grid_sample},
    {"HammingWindow", 17, window_function},
    {"HannWindow", 17, window_function},
    {"MaxRoiPool", 1, max_roi_pool, {}, 21},
    {"MelWeightMatrix", 17, mel_weights},
    {"Resize", 10, resize},
    {"RoiAlign", 10, roi_align, {}, 21},
    {"STFT", 17, stft},
    {"Upsample", 7, upsample, {}, 9},
};

}  // namespace

std::span<const Recipe> image_recipes() { return kRecipes; }

}  // namespace nnex::differential
