// Resampling of tensors to other extents.

#include "ops/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/copy_bytes.h"
#include "base/failure.h"
#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"
#include "ops/words.h"

namespace nnex {
namespace {

enum : size_t { kResizeX, kResizeRoi, kResizeScales, kResizeSizes };

/// An optional list that may also be absent by having no elements.
bool given(const InferCall& c, size_t i) {
  return c.has(i) && !(c.dims(i) && c.dims(i)->size() == 1 && c.dims(i)->front() == Dim(0));
}

/// What is known of extents: numbers at once where all drivers are known, else axis by axis.
struct Drivers {
  Reals roi, scales;
  std::optional<Dims> sizes;
  bool known = true;  ///< All contents are.
};

Drivers drivers_of(InferCall& c) {
  const auto& a = c.attr<ResizeAttrs>();
  Drivers d;
  const auto reals = [&](size_t i, Reals& to) {
    if (const Tensor* t = c.constant(i))
      to = reals_of(*t);
    else
      d.known = false;
  };
  if (a.transform == Transform::tf_crop_and_resize && given(c, kResizeRoi)) reals(kResizeRoi, d.roi);
  if (given(c, kResizeSizes)) {
    d.sizes = c.values(kResizeSizes);
    d.known &= d.sizes.has_value();
  } else if (given(c, kResizeScales)) {
    reals(kResizeScales, d.scales);
  }
  return d;
}

/// Some extent of x or of sizes is a formula.
Status infer_formulas(InferCall& c, const Drivers& d, const Ints& axes, Dims out) {
  const auto& a = c.attr<ResizeAttrs>();
  const bool plain = d.known && a.transform != Transform::tf_crop_and_resize;
  if (d.known && d.sizes && d.sizes->size() != axes.size())
    return c.error("sizes has {} numbers; needed {}", d.sizes->size(), axes.size());
  if (d.known && !d.sizes && d.scales.size() != axes.size())
    return c.error("scales has {} numbers; needed {}", d.scales.size(), axes.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    Dim& extent = out[static_cast<size_t>(axes[k])];
    if (d.known && d.sizes && a.aspect == Aspect::stretch) {
      extent = (*d.sizes)[k];
      if (extent.is_number() && extent.value() < 0)
        return c.error("sizes asks for {} elements at axis {}", extent.value(), axes[k]);
    } else if (plain && !d.sizes) {
      const auto scale = static_cast<float>(d.scales[k]);
      if (!(scale > 0) || !std::isfinite(scale)) return c.error("scale {} is not positive", d.scales[k]);
      const auto [num, den] = simplest_fraction(scale);
      if (extent.is_number())
        extent = Dim(static_cast<int64_t>(std::min(std::floor(static_cast<float>(extent.value()) * scale), 1e18F)));
      else if (num == std::floor(num) && num < 1e9)
        extent = floor_div(extent * Dim(static_cast<int64_t>(num)), Dim(static_cast<int64_t>(den)));
      else
        extent = c.unknown();
    } else {
      extent = c.unknown();
    }
  }
  c.result(0, std::move(out));
  return {};
}

Status infer_resize(InferCall& c) {
  const auto& a = c.attr<ResizeAttrs>();
  if (!c.dims(kResizeX)) {
    c.result(0, MaybeDims{});
    return {};
  }
  if (!given(c, kResizeScales) && !given(c, kResizeSizes)) return c.error("neither scales nor sizes are given");
  const Dims& x = *c.dims(kResizeX);
  const auto rank = static_cast<int64_t>(x.size());
  NNEX_ASSIGN(Ints axes, positive_axes(c, a.axes, rank));
  if (a.axes.empty())
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  const Drivers d = drivers_of(c);
  const auto shape = shape_of(x), sizes = d.sizes ? shape_of(*d.sizes) : Shape{};
  if (!d.known || !shape || !sizes) return infer_formulas(c, d, axes, x);
  auto targets = resize_targets(a, *shape, d.roi, d.scales, Ints(sizes->begin(), sizes->end()));
  if (!targets.ok()) return c.error("{}", targets.error().message());
  Dims out;
  for (const ResizeTarget& t : *targets) out.emplace_back(t.out);
  c.result(0, std::move(out));
  return {};
}

/// The tensor seen as [outer, axis, inner].
struct Around {
  int64_t outer = 1, inner = 1;
};
Around around(const Shape& shape, size_t axis) {
  Around s;
  for (size_t i = 0; i < static_cast<size_t>(shape.rank()); ++i)
    (i < axis ? s.outer : s.inner) *= i == axis ? 1 : shape[static_cast<int64_t>(i)];
  return s;
}

template <class T>
void move_axis(const T* x, T* y, const Around& s, const ResizeTaps& t) {
  for (int64_t i = 0; i < s.outer; ++i, x += t.in * s.inner)
    for (int64_t o = 0; o < t.out; ++o, y += s.inner)
      std::copy_n(x + t.index[static_cast<size_t>(o)] * s.inner, s.inner, y);
}

template <class T>
void weigh_axis(const T* x, T* y, const Around& s, const ResizeTaps& t) {
  const std::vector<T> weight(t.weight.begin(), t.weight.end());
  for (int64_t i = 0; i < s.outer; ++i, x += t.in * s.inner) {
    for (int64_t o = 0; o < t.out; ++o, y += s.inner) {
      const int64_t* index = t.index.data() + o * t.taps;
      const T* w = weight.data() + o * t.taps;
      std::fill_n(y, s.inner, T{});
      for (int k = 0; k < t.count[static_cast<size_t>(o)]; ++k) {
        const T* from = x + index[k] * s.inner;
        for (int64_t j = 0; j < s.inner; ++j) y[j] += w[k] * from[j];
      }
    }
  }
}

/// Resamples one axis after another, from the last; elements of T, weighed unless the tables have no weights.
template <class T>
Result<Tensor> resample(Tensor x, const std::vector<ResizeTaps>& taps) {
  for (size_t axis = taps.size(); axis-- > 0;) {
    const ResizeTaps& t = taps[axis];
    if (t.same) continue;
    Shape shape = x.shape();
    shape.set(static_cast<int64_t>(axis), t.out);
    NNEX_ASSIGN(Tensor y, Tensor::make(x.dtype(), shape));
    const T* from = reinterpret_cast<const T*>(x.data());
    T* to = reinterpret_cast<T*>(y.mutable_data());
    if (shape.count() == 0) {
    } else if (t.weight.empty()) {
      move_axis(from, to, around(shape, axis), t);
    } else if constexpr (std::is_floating_point_v<T>) {
      weigh_axis(from, to, around(shape, axis), t);
    }
    x = std::move(y);
  }
  return x;
}

Result<Tensor> moved(const Tensor& x, const std::vector<ResizeTaps>& taps) {
  switch (x.dtype() == DType::c128 ? 16 : bits(x.dtype()) / 8) {
    case 1:
      return resample<uint8_t>(x, taps);
    case 2:
      return resample<uint16_t>(x, taps);
    case 4:
      return resample<uint32_t>(x, taps);
    default:
      return resample<uint64_t>(x, taps);
  }
}

/// Integers are interpolated in f32, rounded half to even and saturated.
Result<Tensor> interpolated(const Tensor& x, const std::vector<ResizeTaps>& taps) {
  if (x.dtype() == DType::f64) return resample<double>(x, taps);
  NNEX_ASSIGN(Tensor wide, x.dtype() == DType::f32 ? Result<Tensor>(x) : convert(x, DType::f32));
  NNEX_ASSIGN(Tensor y, resample<float>(std::move(wide), taps));
  if (x.dtype() == DType::f32) return y;
  if (is_int(x.dtype())) {
    NNEX_ASSIGN(Tensor whole, Tensor::make(DType::f32, y.shape()));
    std::transform(y.as<float>().begin(), y.as<float>().end(), whole.mutable_as<float>().begin(),
                   [](float v) { return std::nearbyint(v); });
    return convert(whole, x.dtype());
  }
  return convert(y, x.dtype());
}

/// Every element whose position on some axis lies outside becomes `value`, one element.
void extrapolate(Tensor& y, const std::vector<ResizeTaps>& taps, const Tensor& value) {
  const auto width = static_cast<size_t>(value.bytes());
  for (size_t axis = 0; axis < taps.size(); ++axis) {
    const Around s = around(y.shape(), axis);
    for (size_t o = 0; o < taps[axis].outside.size(); ++o) {
      if (!taps[axis].outside[o]) continue;
      for (int64_t i = 0; i < s.outer; ++i) {
        std::byte* to =
            y.mutable_data() + static_cast<size_t>((i * taps[axis].out + static_cast<int64_t>(o)) * s.inner) * width;
        for (int64_t j = 0; j < s.inner; ++j, to += width) std::memcpy(to, value.data(), width);
      }
    }
  }
}

Status run_resize(Call& c) {
  const auto& a = c.attr<ResizeAttrs>();
  const auto reals = [&](size_t i) { return c.has(i) ? reals_of(c.in(i)) : Reals{}; };
  auto targets = resize_targets(a, c.shape(kResizeX), reals(kResizeRoi), reals(kResizeScales),
                                c.has(kResizeSizes) ? ints_of(c.in(kResizeSizes)) : Ints{});
  if (!targets.ok() && targets.error().code() == Code::limit) return std::move(targets).error();
  if (!targets.ok()) return c.fault("{}", targets.error().message());
  Shape shape = c.shape(kResizeX);
  for (size_t i = 0; i < targets->size(); ++i) shape.set(static_cast<int64_t>(i), (*targets)[i].out);
  if (!shape.checked_count()) return failure(Code::limit, "resize: extents {} are too large", shape.text());
  const DType type = c.in(kResizeX).dtype();
  NNEX_ASSIGN(Tensor * y, c.make(0, type, shape));
  if (y->count() == 0) return {};
  std::vector<ResizeTaps> taps;
  bool outside = false;
  for (size_t i = 0; i < targets->size(); ++i) {
    auto t = resize_taps(a, (*targets)[i]);
    if (!t.ok()) return c.fault("axis {}: {}", i, t.error().message());
    outside |= !t->outside.empty();
    taps.push_back(std::move(t).value());
  }
  NNEX_ASSIGN(Tensor made,
              a.mode == ResizeMode::nearest ? moved(c.in(kResizeX), taps) : interpolated(c.in(kResizeX), taps));
  copy_bytes(y->mutable_data(), made.data(), made.bytes());
  if (outside) {
    NNEX_ASSIGN(Tensor value, convert(Tensor::scalar<double>(a.extrapolate), type));
    extrapolate(*y, taps, value);
  }
  return {};
}

// ---- Spellings ----

constexpr Word kOnnxTransforms[] = {{"tf_half_pixel_for_nn", "tf_half_pixel"}};
constexpr Word kOnnxRoundings[] = {{"round_prefer_floor", "half_down"}, {"round_prefer_ceil", "half_up"}};
constexpr Word kNnefMethods[] = {{"symmetric", "half_pixel"}, {"aligned", "align_corners"}};
constexpr Word kNnefBorders[] = {{"reflect-even", "reflect_even"}};
constexpr Word kWebnnModes[] = {{"nearest-neighbor", "nearest"}};

constexpr Codec kTransformWord = word_codec<kOnnxTransforms>("onnx_transform");
constexpr Codec kRoundingWord = word_codec<kOnnxRoundings>("onnx_nearest_mode");
constexpr Codec kMethodWord = word_codec<kNnefMethods>("nnef_method");
constexpr Codec kBorderWord = word_codec<kNnefBorders>("nnef_border");
constexpr Codec kModeWord = word_codec<kWebnnModes>("webnn_mode");

/// exclude_outside = 1  <->  border = ignore
constexpr Codec kExcludeOutside = {"exclude_outside",
                                   [](const AttrValue& v) -> Result<AttrValue> {
                                     auto* i = std::get_if<int64_t>(&v);
                                     if (!i) return Error(Code::invalid_model, "needed 0 or 1, found " + text(v));
                                     return AttrValue(std::string(*i ? "ignore" : "replicate"));
                                   },
                                   [](const AttrValue& v) -> Result<AttrValue> {
                                     auto* s = std::get_if<std::string>(&v);
                                     if (!s || (*s != "ignore" && *s != "replicate"))
                                       return Error(Code::invalid_model,
                                                    "needed 'replicate' or 'ignore', found " + text(v));
                                     return AttrValue(int64_t{*s == "ignore"});
                                   }};

/// factor = [2, 3], or 2 for two spatial axes  <->  scales = [1, 1, 2, 3]
constexpr Codec kSpatialFactors = {"spatial_factors",
                                   [](const AttrValue& v) -> Result<AttrValue> {
                                     Reals scales = {1, 1};
                                     if (auto* one = std::get_if<int64_t>(&v))
                                       scales.insert(scales.end(), 2, static_cast<double>(*one));
                                     else if (auto* list = std::get_if<Ints>(&v))
                                       scales.insert(scales.end(), list->begin(), list->end());
                                     else
                                       return Error(Code::invalid_model, "needed whole factors, found " + text(v));
                                     return AttrValue(std::move(scales));
                                   },
                                   [](const AttrValue& v) -> Result<AttrValue> {
                                     auto* scales = std::get_if<Reals>(&v);
                                     Ints factors;
                                     for (size_t i = 0; scales && i < scales->size(); ++i) {
                                       const double s = (*scales)[i];
                                       if (s < 1 || s > 1 << 20 || s != std::floor(s) || (i < 2 && s != 1)) break;
                                       if (i >= 2) factors.push_back(static_cast<int64_t>(s));
                                     }
                                     if (!scales || factors.size() + 2 != scales->size())
                                       return Error(Code::invalid_model,
                                                    "needed whole factors of spatial axes, found " + text(v));
                                     return AttrValue(std::move(factors));
                                   }};

/// Elements of x, where each result is the nearest one.
void resize_interval(IntervalCall& c) {
  const auto& a = c.attr<ResizeAttrs>();
  if (a.mode == ResizeMode::nearest && a.transform != Transform::tf_crop_and_resize) keeps_interval(c);
}

constexpr OpRow kResizeOps[] = {
    {.name = "resize",
     .summary = "x resampled to other extents.",
     .source = "ONNX Resize-19, Upsample-9; NNEF 1.0.5 nearest_upsample, multilinear_upsample; WebNN resample2d(); "
               "CVM upsampling",
     .inputs = {{"x", kN},
                {.name = "roi",
                 .type = kF,
                 .arity = Arity::optional,
                 .by_value = true,
                 .doc = "[begin..., end...] of the part looked at, 0 to 1; tf_crop_and_resize only."},
                {.name = "scales", .type = DType::f32, .arity = Arity::optional, .by_value = true},
                {.name = "sizes", .type = kI64, .arity = Arity::optional, .by_value = true, .doc = "Beat scales."}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ResizeAttrs>(
         {field<&ResizeAttrs::axes>("axes", "The axes that roi, scales and sizes speak of; empty: all."),
          field<&ResizeAttrs::mode>("mode", "How values between elements are made."),
          field<&ResizeAttrs::transform>("transform", "Where the input coordinate of an output position lies."),
          field<&ResizeAttrs::nearest_rounding>("nearest_rounding", "Which element a coordinate is nearest to."),
          field<&ResizeAttrs::border>("border", "What lies beyond the input; ignore: nothing, the others weigh more."),
          field<&ResizeAttrs::cubic_a>("cubic_a", "Coefficient of the cubic."),
          field<&ResizeAttrs::extrapolate>("extrapolate", "The value of positions outside; tf_crop_and_resize only."),
          field<&ResizeAttrs::antialias>("antialias", "Stretch the filter when an axis shrinks."),
          field<&ResizeAttrs::aspect>("aspect", "Whether sizes stretch each axis, or bound one scale for all.")}),
     .infer = infer_resize,
     .precision = keeps_precision,
     .interval = resize_interval,
     .reference = any(run_resize),
     .spelled = {{onnx,
                  "Resize",
                  {{"transform", "coordinate_transformation_mode", &kTransformWord},
                   {"nearest_rounding", "nearest_mode", &kRoundingWord},
                   {"border", "exclude_outside", &kExcludeOutside},
                   {"cubic_a", "cubic_coeff_a"},
                   {"extrapolate", "extrapolation_value"},
                   {"aspect", "keep_aspect_ratio_policy"}}},
                 {nnef,
                  "multilinear_upsample",
                  {{"scales", "factor", &kSpatialFactors},
                   {"transform", "method", &kMethodWord},
                   {"border", "border", &kBorderWord}},
                  1,
                  "",
                  {{"mode", "'linear'"}}},
                 {nnef,
                  "nearest_upsample",
                  {{"scales", "factor", &kSpatialFactors}},
                  1,
                  "",
                  {{"transform", "'asymmetric'"}, {"nearest_rounding", "'floor'"}}},
                 {webnn, "resample2d", {{"mode", "mode", &kModeWord}}, 1, "", {{"axes", "[2,3]"}}},
                 {cvm,
                  "upsampling",
                  {{"sizes", "scale"}},
                  1,
                  "",
                  {{"transform", "'asymmetric'"}, {"nearest_rounding", "'floor'"}}}}},
};
}  // namespace

std::span<const OpDef> resize_ops() { return stored<kResizeOps>(); }

}  // namespace nnex
