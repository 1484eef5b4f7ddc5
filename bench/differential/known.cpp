// Differences that are settled: why ours stands, by the specification. Each entry covers no more than what it explains.
#include <algorithm>
#include <cmath>

#include "compare.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

bool any_is(const Extents& list, bool (*is)(int64_t)) { return std::any_of(list.begin(), list.end(), is); }
bool flat(const Case& c, const Difference&) {
  const AttributeValue* alpha = c.find("alpha");
  return alpha && std::get<float>(*alpha) == 0;
}
bool has_nan(const Tensor* t) {
  for (int64_t i = 0; t && is_float(t->dtype()) && i < t->count(); ++i)
    if (std::isnan(real_at(*t, i))) return true;
  return false;
}
bool zeros_alone(const Case& c, const Difference&) {
  const Tensor* x = c.port(0);
  for (int64_t i = 0; x && i < x->count(); ++i)
    if (real_at(*x, i) != 0) return false;
  return x != nullptr;
}
bool is_empty(const Tensor* t) { return t && t->count() == 0; }

bool same_padding(const Case& c, const Difference&) { return c.word("auto_pad", "NOTSET").rfind("SAME", 0) == 0; }
bool dilated_same(const Case& c, const Difference& d) {
  return same_padding(c, d) && any_is(c.list("dilations"), [](int64_t n) { return n > 1; });
}
/// A stride longer than the window leaves nothing to pad: the formula of the padding is negative there.
bool sparse_same(const Case& c, const Difference& d) {
  Extents kernel = c.list("kernel_shape");
  const Extents strides = c.list("strides"), dilations = c.list("dilations");
  if (kernel.empty() && c.port(1)) kernel.assign(c.port(1)->shape().begin() + 2, c.port(1)->shape().end());
  bool sparse = false;
  for (size_t i = 0; i < kernel.size() && i < strides.size(); ++i)
    sparse |= strides[i] > (kernel[i] - 1) * (dilations.empty() ? 1 : dilations[i]) + 1;
  return same_padding(c, d) && sparse;
}
bool empty_text(const Case& c, const Difference&) {
  if (!c.port(0) || c.port(0)->dtype() != DType::str) return false;
  const auto texts = c.port(0)->strings();
  return std::find(texts.begin(), texts.end(), "") != texts.end();
}
bool reduces_nothing(const Case& c, const Difference&) { return is_empty(c.port(0)); }
bool nan_in_x(const Case& c, const Difference&) { return has_nan(c.port(0)); }
bool whole_numbers(const Case& c, const Difference&) { return c.port(0) && is_int(c.port(0)->dtype()); }
bool unsigned_numbers(const Case& c, const Difference&) { return c.port(0) && is_unsigned_int(c.port(0)->dtype()); }
bool texts(const Case& c, const Difference&) { return c.port(0) && c.port(0)->dtype() == DType::str; }
bool off_by_one(const Case&, const Difference& d) { return d.distance <= 1; }
bool single_precision(const Case&, const Difference& d) { return d.distance > 0 && d.share < 1e-4; }
bool double_by_single(const Case& c, const Difference& d) {
  return single_precision(c, d) && c.port(0) && c.port(0)->dtype() == DType::f64;
}
/// The element that a position num / den (den > 0) is nearest to.
int64_t nearest(int64_t num, int64_t den, const std::string& rounding) {
  const auto floor = [](int64_t a, int64_t b) { return a / b - (a % b < 0); };
  if (rounding == "floor") return floor(num, den);
  if (rounding == "ceil") return -floor(-num, den);
  return rounding == "round_prefer_ceil" ? floor(2 * num + den, 2 * den) : -floor(den - 2 * num, 2 * den);
}
/// For each place of an axis of n elements that becomes one of m, the element it takes, in exact arithmetic.
Extents exact_places(const Case& c, int64_t n, int64_t m) {
  const std::string transform = c.word("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = c.word("nearest_mode", "round_prefer_floor");
  Extents out;
  for (int64_t k = 0; k < m; ++k) {
    int64_t num = (2 * k + 1) * n - m, den = 2 * m;
    if (transform == "asymmetric") num = k * n, den = m;
    if (transform == "align_corners") num = k * (n - 1), den = std::max<int64_t>(m - 1, 1);
    if (transform == "pytorch_half_pixel" && m == 1) num = 0;
    out.push_back(std::clamp<int64_t>(nearest(num, den, rounding), 0, n - 1));
  }
  return out;
}
/// Ours is what exact arithmetic gives for these sizes.
bool exact_nearest(const Case& c, const Difference& d) {
  const Tensor *x = c.port(0), *sizes = c.port(3);
  const bool stretched = c.word("keep_aspect_ratio_policy", "stretch") == "stretch";
  if (!x || !sizes || !d.ours || !stretched || c.word("mode", "nearest") != "nearest") return false;
  const Shape &from = x->shape(), &to = d.ours->shape();
  std::vector<Extents> places;
  for (int64_t i = 0; i < from.rank(); ++i)
    places.push_back(to[i] == from[i] ? Extents{} : exact_places(c, from[i], to[i]));
  for (int64_t y = 0; y < to.count(); ++y) {
    int64_t at = 0, rest = y, inner = to.count();
    for (int64_t i = 0; i < to.rank(); ++i) {
      inner /= to[i];
      const int64_t k = rest / inner;
      at = at * from[i] + (places[size_t(i)].empty() ? k : places[size_t(i)][size_t(k)]);
      rest %= inner;
    }
    if (real_at(*x, at) != real_at(*d.ours, y)) return false;
  }
  return true;
}
bool between_by_single(const Case& c, const Difference& d) {
  if (c.word("mode", "nearest") != "nearest") return single_precision(c, d);
  return c.word("coordinate_transformation_mode", "") == "half_pixel_symmetric";
}
bool last_places(const Case&, const Difference& d) { return d.distance > 0 && d.distance < 1e-6; }
bool many_roundings(const Case&, const Difference& d) { return d.distance > 0 && d.distance < 1e-5; }
/// No more than rounding makes of numbers as large as the inputs, which cancel.
bool cancels(const Case& c, const Difference& d) {
  if (!d.ours) return false;
  double largest = 1;
  for (const Given& g : c.given)
    for (int64_t i = 0; g.value.dtype() != DType::str && i < g.value.count(); ++i)
      largest = std::max(largest, std::abs(real_at(g.value, i)));
  return d.distance > 0 && d.distance <= 8 * (d.ours->dtype() == DType::f16 ? 0x1p-10 : 0x1p-23) * largest;
}
bool below_zero_cut(const Case& c, const Difference&) {
  return c.integer("antialias", 0) != 0 && c.port(0) && c.port(0)->dtype() == DType::i8;
}
bool softplus_inside(const Case& c, const Difference&) {
  const AttributeValue* list = c.find("activations");
  if (!list) return false;
  const Names& names = std::get<Names>(*list);
  return std::find(names.begin(), names.end(), "Softplus") != names.end();
}
bool causal(const Case& c, const Difference&) {
  const auto length = [&](size_t port, bool flat) { return c.port(port) ? c.port(port)->shape()[flat ? 1 : 2] : 0; };
  const bool flat = c.port(0) && c.port(0)->shape().rank() == 3;
  return c.integer("is_causal", 0) != 0 && length(0, flat) != length(1, flat);
}
bool crops(const Case& c, const Difference&) {
  return c.word("coordinate_transformation_mode", "") == "tf_crop_and_resize";
}
bool aligned_by_scales(const Case& c, const Difference&) {
  const bool scaled =
      (c.port(2) && c.port(2)->count() > 0) || c.word("keep_aspect_ratio_policy", "stretch") != "stretch";
  return c.word("coordinate_transformation_mode", "") == "align_corners" && scaled;
}
bool is_cubic(const Case& c) {
  const std::string mode = c.word("mode", "");
  return mode == "cubic" || mode == "bicubic";
}
bool cubic_outside(const Case& c, const Difference&) {
  return is_cubic(c) && c.word("padding_mode", "zeros") != "zeros";
}
bool cubic_cancels(const Case& c, const Difference& d) { return is_cubic(c) && cancels(c, d); }
bool one_wide_corners(const Case& c, const Difference&) {
  if (c.integer("align_corners", 0) == 0 || !c.port(1)) return false;
  const Extents size = ints_of(*c.port(1));
  return std::find(size.begin() + 2, size.end(), 1) != size.end();
}
bool limits_absent(const Case& c, const Difference&) {
  if (c.opset < 11) return !c.find("min") || !c.find("max");
  return c.subject().in.size() < 3 || c.subject().in[1].empty();
}
bool zeros_to_softmax(const Case& c, const Difference&) { return c.word("post_transform", "NONE") == "SOFTMAX_ZERO"; }
bool base_values(const Case& c, const Difference&) { return c.find("base_values") && c.integer("n_targets", 1) > 1; }
bool interpolates_whole_numbers(const Case& c, const Difference& d) {
  return whole_numbers(c, d) && c.word("mode", "nearest") != "nearest" && d.distance <= 2;
}
/// Every scaled axis keeps its extent; with antialias, where the peer goes axis by axis, one of them.
bool keeps_extents(const Case& c, const Difference&) {
  const Tensor* scales = c.port(c.opset < 11 ? 1 : 2);
  const Tensor* x = c.port(0);
  const Extents axes = c.list("axes");
  bool all = true, any = false;
  for (int64_t i = 0; scales && x && i < scales->count(); ++i) {
    const double scale = real_at(*scales, i), n = double(x->shape()[axes.empty() ? i : axes[size_t(i)]]);
    const bool keeps = std::floor(n * scale) == n;
    all &= keeps;
    any |= keeps && scale != 1;
  }
  return any && (all || c.integer("antialias", 0) != 0);
}
bool no_iteration(const Case& c, const Difference&) {
  const auto none = [&](size_t port) { return c.port(port) && int_at(*c.port(port), 0) == 0; };
  return none(0) || none(1);
}
/// Some window has no element inside.
bool blind_window(const Case& c, const Difference&) {
  const Extents kernel = c.list("kernel_shape"), pads = c.list("pads"), dilations = c.list("dilations");
  const Extents strides = c.list("strides");
  for (size_t i = 0; c.port(0) && i < kernel.size() && pads.size() == 2 * kernel.size(); ++i) {
    const int64_t n = c.port(0)->shape()[int64_t(i) + 2], dilation = dilations.empty() ? 1 : dilations[i];
    for (int64_t start = -pads[i]; start < n; start += strides.empty() ? 1 : strides[i]) {
      bool inside = false;
      for (int64_t t = 0; t < kernel[i]; ++t) inside |= start + t * dilation >= 0 && start + t * dilation < n;
      if (!inside) return true;
    }
  }
  return false;
}
bool far_end_backwards(const Case& c, const Difference&) {
  const Tensor *ends = c.port(2), *steps = c.port(4);
  for (int64_t i = 0; ends && steps && i < ends->count(); ++i)
    if (int_at(*ends, i) >= INT32_MAX && int_at(*steps, i) < 0) return true;
  return false;
}
bool empty_symbol(const Case& c, const Difference&) { return is_empty(c.port(0)); }
bool beyond_range(const Case& c, const Difference&) {
  const Tensor* x = c.port(0);
  for (int64_t i = 0; x && i < x->count(); ++i)
    if (!(std::abs(real_at(*x, i)) < 1e8)) return true;
  return false;
}
bool before_opset_12(const Case& c, const Difference&) { return c.opset < 12; }
bool split_given(const Case& c, const Difference&) { return c.subject().in.size() > 1; }
bool one_target(const Case& c, const Difference&) {
  return c.integer("targets", c.integer("n_targets", 1)) == 1 && c.word("post_transform", "NONE") != "NONE";
}
bool no_products(const Case& c, const Difference&) {
  return is_empty(c.port(0)) || is_empty(c.port(1)) || is_empty(c.port(3));
}

constexpr std::string_view kSame =
    "SAME: output_shape[i] = ceil(input_shape[i] / strides[i]), with the dilations in the formula of the padding; the "
    "peer leaves them out";
constexpr std::string_view kSparse =
    "SAME pads, so that there are ceil(input / stride) windows; where none is needed (the inference of the standard "
    "takes 0 for a negative total) the peer crops";
constexpr std::string_view kNoProducts =
    "a sum of no products is 0; the peer does not write its output, or does not broadcast there";
constexpr std::string_view kSoftplus = "ln(e^x + 1) is a finite number; the peer's e^x overflows";
constexpr std::string_view kOneTarget =
    "post_transform is applied to the regression output vector, of one target or more; the peer leaves it out for one";
constexpr std::string_view kZeros =
    "SOFTMAX_ZERO leaves zeros alone, so zeros alone stay zeros; the peer divides 0 by 0";
constexpr std::string_view kWhole = "the text does not say how a logarithm becomes a whole number";
constexpr std::string_view kNan = "the text is silent on NaN: ours keeps it, the peer's answer depends on its place";
constexpr std::string_view kSingle =
    "both are sums of rounded numbers; the peer's twiddle factors and sums have single precision";

constexpr std::string_view kTies =
    "a sum between two steps goes to the even one before the zero point is added; the peer adds it first";
constexpr Known kKnown[] = {
    {"AveragePool", "", dilated_same, kSame},
    {"MaxPool", "", dilated_same, kSame},
    {"LpPool", "", dilated_same, kSame},
    {"AveragePool", "values", sparse_same, kSparse},
    {"MaxPool", "values", sparse_same, kSparse},
    {"LpPool", "values", sparse_same, kSparse},
    {"ConvTranspose", "shape", sparse_same,
     "SAME: output_shape[i] = input_shape[i] * strides[i]; the peer's is smaller where the stride is longer than the "
     "kernel"},
    {"Attention", "values", causal,
     "causal: query i attends key j iff j <= i + offset, offset being the past's length (0 without one); the peer "
     "aligns the last query with the last key"},
    {"Resize", "", crops,
     "tf_crop_and_resize: output = floor(input * (roi_end - roi_start) * scale), and every position starts at "
     "roi_start; the peer leaves the region out"},
    {"Resize", "values", aligned_by_scales,
     "align_corners with scales: length_resized = input * scale before it is rounded down, as the stored node cases "
     "have it"},
    {"Resize", "values", interpolates_whole_numbers,
     "the text does not say how a number between becomes whole: ours rounds once, to the nearest, half to even; the "
     "peer after "
     "each axis"},
    {"Resize", "values", below_zero_cut, "an int8 may be below 0; with antialias the peer cuts at 0"},
    {"Resize", "values", keeps_extents,
     "coordinates are divided by the scale where the extents stay as they are, too; the peer copies"},
    {"GridSample", "values", cubic_outside,
     "border and reflection are for out-of-bound grid locations: the location moves inside, then its neighbours are "
     "read; the peer moves the neighbours alone"},
    {"GridSample", "values", single_precision, "cubic weights of coordinates in single precision"},
    {"GridSample", "values", cubic_cancels, "the same, where the taps' products are large and nearly cancel"},
    {"AffineGrid", "values", one_wide_corners,
     "align_corners on an extent of 1: the step 2 / (extent - 1) has no value; ours is the centre"},
    {"Clip", "values (infinite)", limits_absent,
     "the text names the largest finite number as the limit that is absent, the body of the function leaves infinities "
     "alone; ours follows the body, in every opset"},
    {"Reduce*", "", reduces_nothing,
     "reduced axes have extent 1 or go, and an empty set gives the neutral element (mean: undefined); the peer mixes "
     "up negative axes there"},
    {"ReduceMax", "values (NaN)", nan_in_x, kNan},
    {"ReduceMin", "values (NaN)", nan_in_x, kNan},
    {"Sign", "values (NaN)", nan_in_x, kNan},
    {"HardSigmoid", "values (NaN)", flat,
     "0 * infinity inside: the text is silent on max(0, min(1, NaN)); ours is 1, the peer keeps NaN"},
    {"ReduceLogSum", "", whole_numbers, kWhole},
    {"ReduceLogSumExp", "", whole_numbers, kWhole},
    {"QuantizeLinear", "values", beyond_range,
     "saturate(x / y_scale + y_zero_point): the last number on that side, for infinities too; what a NaN becomes is "
     "not said"},
    {"QLinearAdd", "values", off_by_one, kTies},
    {"QLinearMul", "values", off_by_one, kTies},
    {"DynamicQuantizeLinear", "values", zeros_alone,
     "the formula gives a scale of 0 for zeros alone, and 0 / 0 for the rest; ours is 1 / 255, as the reference "
     "implementation has it"},
    {"Shrink", "values", unsigned_numbers, "x + bias outside of the type's range is undefined"},
    {"DFT", "values", single_precision, kSingle},
    {"STFT", "values", single_precision, kSingle},
    {"GroupNormalization", "values", single_precision,
     "the variance is the mean of squared differences; the peer subtracts two large numbers"},
    {"LayerNormalization", "values", double_by_single,
     "stash_type = 1 (the default): mean and variance are computed in single precision, for doubles too"},
    {"Resize", "values", between_by_single,
     "the text names no precision of coordinates: the peer's are single, and one that would be whole falls on either "
     "side"},
    {"Resize", "values", exact_nearest,
     "sizes give x_resized * input / output; the peer divides by a rounded scale, and a whole place falls on either "
     "side; ours is what exact arithmetic gives"},
    {"network", "values", many_roundings, "values that cancel leave what rounding made of them"},
    {"LayerNormalization", "values", cancels, "scale times the deviation and bias cancel; what is left is rounding"},
    {"Gelu", "values", last_places, "1 + tanh loses places near -1; the peer computes it in single precision"},
    {"MeanVarianceNormalization", "values (NaN)", nullptr,
     "the function's body adds 1e-9 to the deviation: one element gives 0"},
    {"Softplus", "values (infinite)", nullptr, kSoftplus},
    {"GRU", "values", softplus_inside, kSoftplus},
    {"LSTM", "values", softplus_inside, kSoftplus},
    {"RNN", "values", softplus_inside, kSoftplus},
    {"Dropout", "values", before_opset_12,
     "opset 10 does not say what the mask holds in inference; ours: everything stays"},
    {"Gather", "values", texts, "data[index] of every place; the peer copies one string"},
    {"Gemm", "values", no_products, "alpha A B + beta C with A B = 0: beta counts; the peer copies C"},
    {"MatMul", "", no_products, kNoProducts},
    {"MatMulInteger", "", no_products, kNoProducts},
    {"QLinearMatMul", "", no_products, kNoProducts},
    {"LinearRegressor", "values", one_target, kOneTarget},
    {"LinearRegressor", "values (NaN)", zeros_to_softmax, kZeros},
    {"TreeEnsembleRegressor", "values", one_target, kOneTarget},
    {"TreeEnsembleRegressor", "values (NaN)", zeros_to_softmax, kZeros},
    {"TreeEnsembleRegressor", "values", base_values,
     "base_values are added to the final prediction of every target; the peer leaves out targets that no leaf names"},
    {"Slice", "shape", far_end_backwards,
     "for negative stepping an end is clamped to [-1, dims - 1], INT_MAX too (to the end backwards is INT_MIN); the "
     "peer goes on to the first element"},
    {"Loop", "shape", no_iteration, "what each step would have given has no extents where the body does not say them"},
    {"MaxPool", "values", blind_window,
     "a window of padding alone: the text names no value; ours is -infinity, the peer's the lowest number"},
    {"SplitToSequence", "shape", split_given, "keepdims is ignored where split is given"},
    {"StringSplit", "", empty_text,
     "delimiters delimit empty strings: an empty string between none is one substring; the peer counts 0"},
    {"Reshape", "ours refuses", empty_symbol,
     "only an extent of 0 makes such a shape fit: what fails for every other extent is refused with the model"},
};

}  // namespace

std::span<const Known> known_differences() { return kKnown; }

}  // namespace nnex::differential
