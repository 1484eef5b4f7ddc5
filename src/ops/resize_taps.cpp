// What each axis of a resize reads.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/checked.h"
#include "base/failure.h"
#include "base/try.h"
#include "ops/resize.h"

namespace nnex {
namespace {

constexpr double kFarthest = 1e12;  ///< Coordinates beyond are as good as this one, and fit an int64.

Error invalid(std::string message) { return Error(Code::invalid_model, std::move(message)); }

/// The axes meant, positive.
Result<Ints> axes_of(const ResizeAttrs& a, int64_t rank) {
  Ints axes;
  if (a.axes.empty())
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  for (int64_t axis : a.axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
      return invalid(fmt::format("axis {} is outside [{}, {}] for x of {} axes", axis, -rank, rank - 1, rank));
    if (std::find(axes.begin(), axes.end(), at) != axes.end())
      return invalid(fmt::format("axes names axis {} twice", axis));
    axes.push_back(at);
  }
  return axes;
}

Status check_count(std::string_view what, size_t found, size_t needed) {
  if (found == needed) return {};
  return invalid(fmt::format("{} has {} numbers; needed {}", what, found, needed));
}

/// One scale for all axes, so that none becomes larger (or smaller) than asked for.
Status keep_aspect(const ResizeAttrs& a, const Ints& axes, const Ints& sizes, std::vector<ResizeTarget>& targets) {
  size_t best = 0;
  const auto ratio = [&](size_t k) {
    return static_cast<double>(sizes[k]) / static_cast<double>(targets[static_cast<size_t>(axes[k])].in);
  };
  for (size_t k = 0; k < axes.size(); ++k) {
    if (targets[static_cast<size_t>(axes[k])].in == 0) return invalid("an axis of 0 elements has no aspect to keep");
    if (a.aspect == Aspect::not_larger ? ratio(k) < ratio(best) : ratio(k) > ratio(best)) best = k;
  }
  const auto num = static_cast<double>(sizes[best]);
  const auto den = static_cast<double>(targets[static_cast<size_t>(axes[best])].in);
  for (int64_t axis : axes) {
    ResizeTarget& t = targets[static_cast<size_t>(axis)];
    t.num = num, t.den = den;
    const double extent = std::floor(static_cast<double>(t.in) * num / den + 0.5);
    if (!(extent <= kFarthest)) return failure(Code::limit, "resize: extent {} is too large", extent);
    t.out = static_cast<int64_t>(extent);
  }
  return {};
}

Status take_sizes(const ResizeAttrs& a, const Ints& axes, const Ints& sizes, std::vector<ResizeTarget>& targets) {
  NNEX_TRY(check_count("sizes", sizes.size(), axes.size()));
  for (size_t k = 0; k < axes.size(); ++k) {
    if (sizes[k] < 0 || static_cast<double>(sizes[k]) > kFarthest)
      return invalid(fmt::format("sizes asks for {} elements at axis {}", sizes[k], axes[k]));
    ResizeTarget& t = targets[static_cast<size_t>(axes[k])];
    t.out = sizes[k];
    t.num = static_cast<double>(t.out), t.den = static_cast<double>(t.in);
  }
  return a.aspect == Aspect::stretch ? Status{} : keep_aspect(a, axes, sizes, targets);
}

/// Extents are floor(x * scale) in f32, as the models' declared shapes have it.
Status take_scales(const ResizeAttrs& a, const Ints& axes, const Reals& scales, std::vector<ResizeTarget>& targets) {
  NNEX_TRY(check_count("scales", scales.size(), axes.size()));
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto scale = static_cast<float>(scales[k]);
    if (!(scale > 0) || !std::isfinite(scale)) return invalid(fmt::format("scale {} is not positive", scales[k]));
    ResizeTarget& t = targets[static_cast<size_t>(axes[k])];
    std::tie(t.num, t.den) = simplest_fraction(scale);
    float extent = static_cast<float>(t.in);
    if (a.transform == Transform::tf_crop_and_resize) extent *= static_cast<float>(t.end - t.begin);
    extent = std::floor(extent * scale);
    if (!(extent >= 0) || extent > kFarthest)
      return invalid(fmt::format("an axis of {} elements scaled by {} has no valid extent", t.in, scale));
    t.out = static_cast<int64_t>(extent);
  }
  return {};
}

/// The input coordinate of output position o.
double coordinate(const ResizeAttrs& a, const ResizeTarget& t, double o) {
  const auto in = static_cast<double>(t.in);
  switch (a.transform) {
    case Transform::half_pixel:
      return (o + 0.5) * t.den / t.num - 0.5;
    case Transform::pytorch_half_pixel:
      return t.out > 1 ? (o + 0.5) * t.den / t.num - 0.5 : 0;
    case Transform::half_pixel_symmetric:
      return in / 2 * (1 - static_cast<double>(t.out) * t.den / (t.num * in)) + (o + 0.5) * t.den / t.num - 0.5;
    case Transform::tf_half_pixel:  // an axis that keeps its extent (the batch, the channels) is not moved by half
      return t.num == t.den ? o : (o + 0.5) * t.den / t.num;
    case Transform::asymmetric:
      return o * t.den / t.num;
    case Transform::align_corners:
      return in * t.num == t.den ? 0 : o * (in - 1) * t.den / (in * t.num - t.den);
    case Transform::tf_crop_and_resize: {
      const auto length = static_cast<double>(t.out);
      if (t.out <= 1) return 0.5 * (t.begin + t.end) * (in - 1);
      return t.begin * (in - 1) + o * (t.end - t.begin) * (in - 1) / (length - 1);
    }
  }
  return 0;
}

double rounded(NearestRounding rounding, double x) {
  switch (rounding) {
    case NearestRounding::half_down:
      return std::ceil(x - 0.5);
    case NearestRounding::half_up:
      return std::floor(x + 0.5);
    case NearestRounding::floor:
      return std::floor(x);
    case NearestRounding::ceil:
      return std::ceil(x);
  }
  return x;
}

double weight_at(const ResizeAttrs& a, double t) {
  t = std::fabs(t);
  if (a.mode == ResizeMode::linear) return std::max(0.0, 1 - t);
  const double c = a.cubic_a;
  if (t <= 1) return ((c + 2) * t - (c + 3)) * t * t + 1;
  return t < 2 ? ((c * t - 5 * c) * t + 8 * c) * t - 4 * c : 0;
}

/// The position inside that stands for position i; -1: none.
int64_t inside(ResizeBorder border, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (border) {
    case ResizeBorder::replicate:
      return i < 0 ? 0 : n - 1;
    case ResizeBorder::reflect: {
      if (n == 1) return 0;
      const int64_t period = 2 * (n - 1), k = i - period * floor_div(i, period);
      return k < n ? k : period - k;
    }
    case ResizeBorder::reflect_even: {
      const int64_t k = i - 2 * n * floor_div(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    case ResizeBorder::constant:
    case ResizeBorder::ignore:
      return -1;
  }
  return -1;
}

/// The taps around coordinate c: those within `reach` of it, weighed by their distance times `stretch`.
void weigh(const ResizeAttrs& a, ResizeTaps& y, int64_t o, double c, double stretch) {
  const int half = y.taps / 2;
  const auto first = static_cast<int64_t>(std::floor(c)) - half + 1;
  const auto at = static_cast<size_t>(o * y.taps);
  double all = 0, kept = 0;
  int count = 0;
  for (int k = 0; k < y.taps; ++k) {
    const double w = weight_at(a, (static_cast<double>(first + k) - c) * stretch);
    all += w;
    const int64_t i = inside(a.border, first + k, y.in);
    if (i < 0) continue;
    kept += w;
    y.index[at + static_cast<size_t>(count)] = i;
    y.weight[at + static_cast<size_t>(count++)] = w;
  }
  y.count[static_cast<size_t>(o)] = count;
  // The plain filters sum to 1; a stretched one does not, and what is ignored is missing.
  const double sum = a.border == ResizeBorder::ignore ? kept : stretch < 1 ? all : 1;
  if (sum == 1 || sum == 0) return;
  for (int k = 0; k < count; ++k) y.weight[at + static_cast<size_t>(k)] /= sum;
}

}  // namespace

std::pair<double, double> simplest_fraction(float scale) {
  constexpr float kMax = std::numeric_limits<float>::max();
  double low = (static_cast<double>(scale) + static_cast<double>(std::nextafter(scale, 0.0F))) / 2,
         high = (static_cast<double>(scale) + static_cast<double>(std::nextafter(scale, kMax))) / 2;
  // Terms of the continued fraction both ends share, then the smallest that lies between them.
  double p0 = 1, q0 = 0, p1 = 0, q1 = 1;  // p1 / q1 = the fraction before, p0 / q0 the one of the terms so far
  for (int step = 0; step < 40; ++step) {
    const double whole = std::floor(low), next = whole == low ? whole : whole + 1;
    const double term = next <= high ? next : whole;
    const double p = term * p0 + p1, q = term * q0 + q1;
    if (static_cast<float>(p / q) == scale) return {p, q};
    if (next <= high || p > 1e7 || q > 1e7) break;
    p1 = p0, q1 = q0, p0 = p, q0 = q;
    const double l = 1 / (high - whole), h = 1 / (low - whole);
    low = l, high = h;
  }
  return {static_cast<double>(scale), 1};
}

Result<std::vector<ResizeTarget>> resize_targets(const ResizeAttrs& a, const Shape& x, const Reals& roi,
                                                 const Reals& scales, const Ints& sizes) {
  NNEX_ASSIGN(Ints axes, axes_of(a, x.rank()));
  std::vector<ResizeTarget> targets(static_cast<size_t>(x.rank()));
  for (int64_t i = 0; i < x.rank(); ++i)
    targets[static_cast<size_t>(i)].in = targets[static_cast<size_t>(i)].out = x[i];
  for (int64_t axis : axes) targets[static_cast<size_t>(axis)].given = true;
  if (a.transform == Transform::tf_crop_and_resize) {
    NNEX_TRY(check_count("roi", roi.size(), axes.size() * 2));
    for (size_t k = 0; k < axes.size(); ++k) {
      ResizeTarget& t = targets[static_cast<size_t>(axes[k])];
      t.begin = roi[k], t.end = roi[axes.size() + k];
    }
  }
  if (!sizes.empty())
    NNEX_TRY(take_sizes(a, axes, sizes, targets));
  else if (!scales.empty())
    NNEX_TRY(take_scales(a, axes, scales, targets));
  else if (!axes.empty())
    return invalid("neither scales nor sizes are given");
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i].in == 0 && targets[i].out > 0)
      return invalid(fmt::format("axis {} of 0 elements cannot become {}", i, targets[i].out));
  return targets;
}

Result<ResizeTaps> resize_taps(const ResizeAttrs& a, const ResizeTarget& t) {
  ResizeTaps y;
  y.in = t.in, y.out = t.out;
  std::vector<double> at(static_cast<size_t>(t.out));
  y.same = t.in == t.out;
  for (int64_t o = 0; o < t.out; ++o) {
    double c = t.given ? coordinate(a, t, static_cast<double>(o)) : static_cast<double>(o);
    if (!(c >= -kFarthest)) c = -kFarthest;  // NaN, too
    c = std::min(c, kFarthest);
    at[static_cast<size_t>(o)] = c;
    y.same &= c == static_cast<double>(o);
  }
  if (y.same) return y;
  if (a.transform == Transform::tf_crop_and_resize) {
    y.outside.resize(at.size());
    for (size_t o = 0; o < at.size(); ++o) y.outside[o] = at[o] < 0 || at[o] > static_cast<double>(t.in - 1);
  }
  double stretch = 1;
  if (a.mode != ResizeMode::nearest) {
    if (a.antialias) stretch = std::min(1.0, t.num / t.den);
    const double reach = std::ceil((a.mode == ResizeMode::linear ? 1 : 2) / stretch);
    if (!(reach <= 4.0 * static_cast<double>(t.in) + 4))
      return failure(Code::limit, "a filter of {} elements over an axis of {}", reach, t.in);
    y.taps = 2 * static_cast<int>(reach);
    y.count.resize(at.size());
    y.weight.resize(at.size() * static_cast<size_t>(y.taps));
  }
  y.index.resize(at.size() * static_cast<size_t>(y.taps));
  for (int64_t o = 0; o < t.out; ++o) {
    const double c = at[static_cast<size_t>(o)];
    if (a.mode == ResizeMode::nearest)
      y.index[static_cast<size_t>(o)] =
          std::clamp<int64_t>(static_cast<int64_t>(rounded(a.nearest_rounding, c)), 0, t.in - 1);
    else
      weigh(a, y, o, c, stretch);
  }
  return y;
}

}  // namespace nnex
