#pragma once
// Resampling: attributes, and what each axis of a resize reads. The reference kernel and the fast
// ones take their tables from here.

#include <array>
#include <string_view>
#include <vector>

#include "ops/attrs.h"

namespace nnex {

enum class ResizeMode : uint8_t { nearest, linear, cubic };
constexpr std::array<std::string_view, 3> enumerators(ResizeMode) { return {"nearest", "linear", "cubic"}; }

/// Where the input coordinate of an output position lies.
enum class Transform : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  tf_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize
};
constexpr std::array<std::string_view, 7> enumerators(Transform) {
  return {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel",
          "align_corners", "asymmetric",           "tf_crop_and_resize"};
}

enum class NearestRounding : uint8_t { half_down, half_up, floor, ceil };
constexpr std::array<std::string_view, 4> enumerators(NearestRounding) {
  return {"half_down", "half_up", "floor", "ceil"};
}

/// What taps beyond the input read; ignore: nothing, and the others weigh more.
enum class ResizeBorder : uint8_t { replicate, constant, reflect, reflect_even, ignore };
constexpr std::array<std::string_view, 5> enumerators(ResizeBorder) {
  return {"replicate", "constant", "reflect", "reflect_even", "ignore"};
}

/// Whether sizes stretch each axis, or bound one scale for all of them.
enum class Aspect : uint8_t { stretch, not_larger, not_smaller };
constexpr std::array<std::string_view, 3> enumerators(Aspect) { return {"stretch", "not_larger", "not_smaller"}; }

struct ResizeAttrs {
  Ints axes;
  ResizeMode mode = ResizeMode::nearest;
  Transform transform = Transform::half_pixel;
  NearestRounding nearest_rounding = NearestRounding::half_down;
  ResizeBorder border = ResizeBorder::replicate;
  double cubic_a = -0.75;
  double extrapolate = 0;
  bool antialias = false;
  Aspect aspect = Aspect::stretch;
};

/// One axis: extents, the scale out / in as a fraction, and the part of the input that is looked at.
struct ResizeTarget {
  int64_t in = 1, out = 1;
  double num = 1, den = 1;
  double begin = 0, end = 1;
  bool given = false;  ///< Named by `axes`; the others stay as they are.
};

/// The fraction of smallest terms that rounds to this float, so that 0.6 means 3/5: {3, 5}. scale > 0.
std::pair<double, double> simplest_fraction(float scale);

/// Every axis of x. Empty lists stand for inputs that were not given; sizes beat scales. Errors: invalid_model, without
/// the operator's name.
Result<std::vector<ResizeTarget>> resize_targets(const ResizeAttrs& a, const Shape& x, const Reals& roi,
                                                 const Reals& scales, const Ints& sizes);

/// What the outputs of one axis read: position o reads input positions index[o * taps + k] with weights
/// weight[o * taps + k], where k < count[o].
struct ResizeTaps {
  int64_t in = 1, out = 1;
  int taps = 1;
  bool same = false;             ///< Every output is the input of its position: the tables are empty.
  std::vector<int64_t> index;    ///< In [0, in).
  std::vector<int> count;        ///< Empty: `taps` everywhere.
  std::vector<double> weight;    ///< Empty: all 1 (nearest; taps is 1).
  std::vector<uint8_t> outside;  ///< Positions that take `extrapolate`; empty: none.
};
/// Error: limit when a filter is far longer than the input.
Result<ResizeTaps> resize_taps(const ResizeAttrs& a, const ResizeTarget& t);

}  // namespace nnex
