// Rows of products: matrices, convolutions, pools, recurrent layers, quantised numbers.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ops/deconv.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/quantize.h"
#include "ops/recurrent.h"
#include "ops/window.h"
#include "standards/webnn/export.h"
#include "tensor/convert.h"

namespace nnex::ml {
namespace {

bool all(const Ints& list, int64_t n) {
  return std::all_of(list.begin(), list.end(), [n](int64_t i) { return i == n; });
}

int64_t product(const Ints& list) { return std::accumulate(list.begin(), list.end(), int64_t{1}, std::multiplies<>()); }

/// The last two axes exchanged.
Ref turned(Writer& to, Ref r) {
  Ints axes(to.shape(r).size());
  std::iota(axes.begin(), axes.end(), 0);
  if (axes.size() > 1) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return to.transposed(r, axes);
}

// ---- Matrices

/// x y of matrices; a vector is a row in front and a column behind.
Ref multiplied(Writer& to, Ref a, Ref b) {
  Ints x = to.shape(a), y = to.shape(b);
  if (x.size() == 1) x.insert(x.begin(), 1);
  if (y.size() == 1) y.push_back(1);
  return to.call("matmul", {{"a", to.reshaped(a, x)}, {"b", to.reshaped(b, y)}});
}

void matmul(RowNode& w) {
  const auto& a = w.attr<MatmulAttrs>();
  Ref x = w.in(0), y = w.in(1);
  if (w.to.failed()) return;
  if (w.x(0).empty() || w.x(1).empty()) return w.refuse("matmul: an operand of rank 0");
  if (a.transpose_a) x = turned(w.to, x);
  if (a.transpose_b) y = turned(w.to, y);
  const Ref z = multiplied(w.to, x, y);
  w.give(w.to.reshaped(z, w.y()));
}

void linear(RowNode& w) {
  const auto& a = w.attr<LinearAttrs>();
  Ref x = w.in(0), filter = w.in(1);
  if (w.to.failed()) return;
  if (w.x(0).size() == 2 && w.x(1).size() == 2 && w.x(2).size() <= 2) {
    std::vector<Named> args = {{"a", x},
                               {"b", filter},
                               {"c", w.in(2)},
                               {"alpha", AttrValue(a.alpha)},
                               {"aTranspose", AttrValue(a.transpose_a)},
                               {"bTranspose", AttrValue(a.transpose_b)}};
    if (w.given(2)) args.emplace_back("beta", AttrValue(a.beta));
    return w.give(w.to.call("gemm", std::move(args)));
  }
  if (a.transpose_a) x = turned(w.to, x);
  if (a.transpose_b) filter = turned(w.to, filter);
  const auto scaled = [&](Ref r, double factor) {
    return factor == 1 ? r : w.to.call("mul", {{"a", r}, {"b", w.to.scalar(w.to.type(r), factor)}});
  };
  Ref y = scaled(multiplied(w.to, x, filter), a.alpha);
  if (w.given(2)) y = w.to.call("add", {{"a", y}, {"b", scaled(w.in(2), a.beta)}});
  w.give(w.to.reshaped(y, w.y()));
}

// ---- Convolutions: of two spatial axes; one alone gets a height of 1.

Ints two_axes(Ints shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
  return shape;
}

/// What options say about windows: lists of two items, left out where they say nothing.
struct WindowOptions {
  Ints padding, strides, dilations;

  explicit WindowOptions(const std::vector<AxisWindow>& windows) {
    if (windows.size() == 1) add({});
    for (const AxisWindow& a : windows) add(a);
  }
  void add(const AxisWindow& a) {
    padding.insert(padding.end(), {a.before, a.after});
    strides.push_back(a.stride);
    dilations.push_back(a.dilation);
  }
  void put(std::vector<Named>& args) const {
    if (!all(padding, 0)) args.emplace_back("padding", AttrValue(padding));
    if (!all(strides, 1)) args.emplace_back("strides", AttrValue(strides));
    if (!all(dilations, 1)) args.emplace_back("dilations", AttrValue(dilations));
  }
};

/// A bias of one number for each channel; one number serves all.
Ref bias_of(RowNode& w, int64_t channels) {
  if (!w.given(2)) return {};
  const Ref b = w.in(2);
  if (w.to.failed()) return {};
  if (product(w.to.shape(b)) == channels) return w.to.reshaped(b, {channels});
  return w.to.call("expand", {{"input", w.to.reshaped(b, {1})}, {"newShape", AttrValue(Ints{channels})}});
}

/// x with these elements around it, as the border has them.
Ref padded(RowNode& w, Ref x, const Ints& before, const Ints& after, PoolBorder border) {
  if (all(before, 0) && all(after, 0)) return x;
  std::vector<Named> args = {
      {"input", x}, {"beginningPadding", AttrValue(before)}, {"endingPadding", AttrValue(after)}};
  if (border == PoolBorder::replicate) args.emplace_back("mode", AttrValue(std::string("edge")));
  if (border == PoolBorder::reflect) args.emplace_back("mode", AttrValue(std::string("reflection")));
  return w.to.call("pad", std::move(args));
}

/// Input 0 with what lies beyond a border other than zeros, which WebNN's windows do not put there. False: no `pad`
/// puts it either.
bool with_own_border(RowNode& w, ConvBorder border, std::vector<AxisWindow>& windows, Ints& x, Ref& input) {
  Ints before(2, 0), after(2, 0);
  for (AxisWindow& v : windows) {
    if (v.before < 0 || v.after < 0) return false;
    before.push_back(v.before), after.push_back(v.after);
    x[before.size() - 1] += v.before + v.after;
    v.before = v.after = 0;
  }
  if (border == ConvBorder::reflect_even) return false;
  input = padded(w, input, before, after, border == ConvBorder::reflect ? PoolBorder::reflect : PoolBorder::replicate);
  return true;
}

void conv(RowNode& w) {
  const auto& a = w.attr<ConvAttrs>();
  Ints x = w.x();
  const Ints f = w.x(1);
  if (x.size() != 3 && x.size() != 4)
    return w.refuse(fmt::format("conv: {} spatial axes; WebNN has two", x.size() - std::min<size_t>(2, x.size())));
  std::vector<AxisWindow> windows;
  for (size_t i = 2; i < x.size(); ++i) {
    const auto window =
        window_of(x[i], f[i], entry(a.stride, i - 2, 1), entry(a.dilation, i - 2, 1),
                  i - 2 < a.padding.size() ? a.padding[i - 2] : std::pair<int64_t, int64_t>{}, a.auto_pad, false);
    if (!window.ok()) return w.refuse("conv: " + window.error().message());
    windows.push_back(*window);
  }
  if (a.channels_last) return w.refuse("conv: channels must come before the spatial axes");
  Ref input = w.in(0);
  if (a.border != ConvBorder::constant && !all(WindowOptions(windows).padding, 0) &&
      !with_own_border(w, a.border, windows, x, input))
    return w.refuse("conv: WebNN pads with zeros, edges or reflections");
  const WindowOptions options(windows);
  std::vector<Named> args = {{"input", w.to.reshaped(input, two_axes(x))},
                             {"filter", w.to.reshaped(w.in(1), two_axes(f))},
                             {"groups", AttrValue(a.groups)},
                             {"bias", bias_of(w, f[0])}};
  options.put(args);
  w.give(w.to.reshaped(w.to.call("conv2d", std::move(args)), w.y()));
}

/// Where the extents asked for are more than the windows reach, that is output padding.
void deconv(RowNode& w) {
  const auto& a = w.attr<DeconvAttrs>();
  const Ints x = w.x(), f = w.x(1);
  if (x.size() != 3 && x.size() != 4) return w.refuse("deconv: WebNN has two spatial axes");
  if (a.channels_last) return w.refuse("deconv: channels must come before the spatial axes");
  auto windows = reverse_windows(a, nnex::Shape(x), nnex::Shape(f));
  if (!windows.ok()) return w.refuse("deconv: " + windows.error().message());
  Ints more;
  for (AxisWindow& v : *windows) {
    const int64_t whole = v.reach_of(v.input);
    v.after = std::max<int64_t>(whole - v.before - v.output, 0);
    more.push_back(v.output - (whole - v.before - v.after));
  }
  if (more.size() == 1) more.insert(more.begin(), 0);
  const WindowOptions options(*windows);
  if (a.border != ConvBorder::constant) return w.refuse("deconv: WebNN has no other border than zeros");
  std::vector<Named> args = {{"input", w.to.reshaped(w.in(0), two_axes(x))},
                             {"filter", w.to.reshaped(w.in(1), two_axes(f))},
                             {"groups", AttrValue(a.groups)},
                             {"bias", bias_of(w, f[1] * a.groups)}};
  options.put(args);
  if (!all(more, 0)) args.emplace_back("outputPadding", AttrValue(more));
  w.give(w.to.reshaped(w.to.call("convTranspose2d", std::move(args)), w.y()));
}

// ---- Pools

/// Input 0 with what WebNN's windows do not pad: padding of batch and channels is put there, what negative padding
/// crops is taken away; `windows` and `x`, its extents, are those that are left. False: nothing lies there to be put.
bool with_own_padding(RowNode& w, const PoolAttrs& a, std::vector<AxisWindow>& windows, Ints& x, Ref& input) {
  Ints before(x.size()), after(x.size()), first(x.size());
  const bool ignored = a.border == PoolBorder::ignore;
  for (size_t i = 0; i < windows.size(); ++i) {
    AxisWindow& v = windows[i];
    if (i >= 2 && v.before >= 0 && v.after >= 0) continue;
    if (i < 2 && ignored && (v.before > 0 || v.after > 0)) return false;
    first[i] = std::max<int64_t>(-v.before, 0);
    const int64_t cropped = std::min<int64_t>(v.before, 0) + std::min<int64_t>(v.after, 0);
    if (ignored) {  // what is cropped is never seen
      x[i] += cropped;
      v.before = std::max<int64_t>(v.before, 0), v.after = std::max<int64_t>(v.after, 0);
    } else {
      before[i] = std::max<int64_t>(v.before, 0), after[i] = std::max<int64_t>(v.after, 0);
      x[i] += before[i] + after[i] + cropped;
      v.before = v.after = 0;
    }
    v.input = x[i];
  }
  const bool puts = !all(before, 0) || !all(after, 0);
  if (puts && (a.border == PoolBorder::reflect_even || divisor_of(a) == Divisor::inside)) return false;
  input = padded(w, input, before, after, a.border);
  for (size_t i = 0; i < x.size(); ++i) input = w.to.sliced(input, i, first[i], x[i]);
  return true;
}

void pool(RowNode& w) {
  const auto& a = w.attr<PoolAttrs>();
  Ints x = w.x();
  const bool average = w.row() == "box", greatest = w.row() == "max_pool";
  if (greatest && w.wants(1)) return w.refuse("max_pool: WebNN does not say where the largest are");
  if (x.size() != 3 && x.size() != 4) return w.refuse(fmt::format("{}: WebNN has two spatial axes", w.row()));
  auto all_windows = windows_over(a, nnex::Shape(x));
  if (!all_windows.ok()) return w.refuse(fmt::format("{}: {}", w.row(), all_windows.error().message()));
  Ref input = w.in(0);
  const bool own = with_own_padding(w, a, *all_windows, x, input);
  for (size_t i = 0; i < 2; ++i)
    if (const AxisWindow& v = (*all_windows)[i]; !own || v.size != 1 || v.output != x[i])
      return w.refuse(fmt::format("{}: windows over batch or channels", w.row()));
  if (a.channels_last || (!average && !greatest && a.p != 2))
    return w.refuse(fmt::format("{}: WebNN has powers of 2", w.row()));
  std::vector<AxisWindow> windows(all_windows->begin() + 2, all_windows->end());

  bool pads = false, overhang = false;
  int64_t taps = 1;
  for (const AxisWindow& v : windows) {
    const int64_t reach = v.reach_of(v.output);
    pads |= v.before != 0 || v.after != 0;
    overhang |= reach > v.before + v.input + v.after;
    taps *= v.size;
  }
  const Divisor divisor = average || !greatest ? divisor_of(a) : Divisor::inside;
  const bool full = !pads && !overhang;  // every window lies inside
  input = w.to.reshaped(input, two_axes(x));
  // What counts as an element must be one.
  const bool elements =
      pads && (average ? divisor == Divisor::padded || divisor == Divisor::window ||
                             (a.border != PoolBorder::ignore && a.border != PoolBorder::constant)
                       : a.border != PoolBorder::ignore && (greatest || a.border != PoolBorder::constant));
  if (elements) {
    if (a.border == PoolBorder::reflect_even) return w.refuse(fmt::format("{}: no such border in WebNN", w.row()));
    if (divisor == Divisor::window && overhang) return w.refuse("box: windows beyond the padding divide by all taps");
    Ints before(4), after(4);
    for (size_t i = 0; i < windows.size(); ++i) {
      const size_t axis = 4 - windows.size() + i;
      before[axis] = std::exchange(windows[i].before, 0), after[axis] = std::exchange(windows[i].after, 0);
    }
    input = padded(w, input, before, after, a.border);
  }
  const bool sum = average && divisor == Divisor::one;
  if (sum && !full) return w.refuse("box: WebNN has no sum over padded windows");
  if (average && divisor == Divisor::window && !full && !elements && a.border != PoolBorder::ignore)
    return w.refuse("box: windows beyond the input divide by all taps");
  if (!average && !greatest && divisor != Divisor::one) return w.refuse("lp_pool: WebNN does not divide it");

  const WindowOptions options(windows);
  Ints size;
  for (const AxisWindow& v : windows) size.push_back(v.size);
  if (size.size() == 1) size.insert(size.begin(), 1);
  std::vector<Named> args = {{"input", input}, {"windowDimensions", AttrValue(size)}};
  options.put(args);
  if (overhang) args.emplace_back("outputShapeRounding", AttrValue(std::string("ceil")));
  Ref y = w.to.call(average ? "averagePool2d" : greatest ? "maxPool2d" : "l2Pool2d", std::move(args));
  if (sum && !w.to.failed())
    y = w.to.call("mul", {{"a", y}, {"b", w.to.scalar(w.to.type(y), static_cast<double>(taps))}});
  w.give(w.to.reshaped(y, w.y()));
}

// ---- Recurrent layers

/// Names of gate functions that WebNN has; those of a second direction must be the same.
std::optional<Texts> activations_of(const Texts& words, size_t each) {
  Texts out;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (word != "relu" && word != "sigmoid" && word != "tanh") return std::nullopt;
    if (i < each)
      out.push_back(word);
    else if (word != out[i % each])
      return std::nullopt;
  }
  return out;
}

/// lstm and gru: WebNN gives the states first, then the sequence, and has two biases of one half each.
template <class A>
void layer(RowNode& w, std::string_view operation, size_t gates, size_t functions) {
  const auto& a = w.attr<A>();
  const Ints x = w.x();
  const bool cells = operation == "lstm";
  if (a.clip) return w.refuse(fmt::format("{}: WebNN does not clip gates", w.row()));
  if (!a.activation_alpha.empty() || !a.activation_beta.empty())
    return w.refuse(fmt::format("{}: WebNN's functions have no numbers", w.row()));
  const auto words = activations_of(a.activations, functions);
  if (!words) return w.refuse(fmt::format("{}: WebNN has relu, sigmoid and tanh, the same both ways", w.row()));
  if (w.given(4)) {
    const nnex::Tensor* lengths = w.constant(4);
    if (!lengths || !all(ints_of(*lengths), x[0])) return w.refuse(fmt::format("{}: rows of other lengths", w.row()));
  }
  const int64_t hidden = w.x(2).back(), rows = static_cast<int64_t>(gates) * hidden;
  std::vector<Named> args = {{"input", w.in(0)},
                             {"weight", w.in(1)},
                             {"recurrentWeight", w.in(2)},
                             {"steps", AttrValue(x[0])},
                             {"hiddenSize", AttrValue(hidden)},
                             {"initialHiddenState", w.in(5)},
                             {"returnSequence", AttrValue(w.wants(0))}};
  if (w.given(3)) {
    const auto half = [&](int64_t start) { return w.to.sliced(w.in(3), 1, start, rows); };
    args.emplace_back("bias", half(0));
    args.emplace_back("recurrentBias", half(rows));
  }
  constexpr std::string_view kDirections[] = {"forward", "backward", "both"};
  args.emplace_back("direction", AttrValue(std::string(kDirections[static_cast<size_t>(a.direction)])));
  if (!words->empty()) args.emplace_back("activations", AttrValue(*words));
  if constexpr (std::is_same_v<A, LstmAttrs>) {
    if (a.input_forget) return w.refuse("lstm: WebNN does not couple input and forget gates");
    args.emplace_back("initialCellState", w.in(6));
    args.emplace_back("peepholeWeight", w.in(7));
  } else {
    args.emplace_back("resetAfter", AttrValue(a.reset_after));
  }
  const auto made = w.to.calls(operation, std::move(args));
  if (made.empty()) return;
  if (w.wants(0)) w.to.give(w.node.out[0], made.back());
  if (w.wants(1)) w.to.give(w.node.out[1], made[0]);
  if (cells && w.wants(2)) w.to.give(w.node.out[2], made[1]);
}

void lstm(RowNode& w) { layer<LstmAttrs>(w, "lstm", 4, 3); }
void gru(RowNode& w) { layer<GruAttrs>(w, "gru", 3, 2); }

// ---- Quantised numbers

/// A scale or zero point with the rank of x, so that its extents say which elements it serves.
Ref granular(RowNode& w, Ref r, int64_t axis, int64_t block_size) {
  if (w.to.failed() || !r.valid()) return {};
  const Ints x = w.x(), have = w.to.shape(r);
  if (have.size() == x.size() && (have.size() != 1 || have == Ints{1} || have == x || block_size)) return r;
  Ints shape(x.size(), 1);
  if (product(have) != 1) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    shape[at] = product(have);
  }
  return w.to.reshaped(r, shape);
}

/// The zero point, or zeros of that type.
Ref zero_of(RowNode& w, DataType type, const Ints& shape) {
  if (w.given(2)) return w.in(2);
  auto zeros = nnex::Tensor::make(dtype_of(type), nnex::Shape(shape));
  if (!zeros.ok()) return {};
  std::fill_n(zeros->mutable_data(), zeros->bytes(), std::byte{0});
  return w.to.constant(*zeros);
}

void quantize(RowNode& w) {
  const auto& a = w.attr<QuantizeAttrs>();
  const DType to = w.graph()[w.node.out[0]].type.dtype;
  const auto type = data_type_of(to);
  const DType precision = a.precision.value_or(DType::f32), scale = w.dtype(1);
  if (!type || !is_int(to)) return w.refuse(fmt::format("quantize_linear: to {}", nnex::name(to)));
  if (precision != DType::f32 || w.dtype(0) != scale)
    return w.refuse("quantize_linear: WebNN divides in float32, by a scale of the input's type");
  const Ref by = w.in(1);
  if (w.to.failed()) return;
  const Ref zero = zero_of(w, *type, w.to.shape(by));
  w.give(w.to.call("quantizeLinear", {{"input", w.in(0)},
                                      {"scale", granular(w, by, a.axis, a.block_size)},
                                      {"zeroPoint", granular(w, zero, a.axis, a.block_size)}}));
}

void dequantize(RowNode& w) {
  const auto& a = w.attr<DequantizeAttrs>();
  const Ref x = w.in(0), by = w.in(1);
  if (w.to.failed()) return;
  if (a.result && *a.result != w.dtype(1)) return w.refuse("dequantize_linear: WebNN gives the scale's type");
  const Ref zero = zero_of(w, w.to.type(x), w.to.shape(by));
  w.give(w.to.call("dequantizeLinear", {{"input", x},
                                        {"scale", granular(w, by, a.axis, a.block_size)},
                                        {"zeroPoint", granular(w, zero, a.axis, a.block_size)}}));
}

/// The range with 0 in it makes scale and zero point.
void dynamic_quantize(RowNode& w) {
  const Ref x = w.in(0);
  if (w.to.failed()) return;
  const auto number = [&](double v) { return w.to.scalar(DataType::float32, v); };
  const Ref low = w.to.call("min", {{"a", w.to.call("reduceMin", {{"input", x}})}, {"b", number(0)}});
  const Ref high = w.to.call("max", {{"a", w.to.call("reduceMax", {{"input", x}})}, {"b", number(0)}});
  const Ref span = w.to.call("sub", {{"a", high}, {"b", low}});
  const Ref none = w.to.call("equal", {{"a", span}, {"b", number(0)}});
  const Ref range = w.to.call("where", {{"condition", none}, {"trueValue", number(1)}, {"falseValue", span}});
  const Ref scale = w.to.call("div", {{"a", range}, {"b", number(255)}});
  const Ref at = w.to.call("div", {{"a", w.to.call("sub", {{"a", number(0)}, {"b", low}})}, {"b", scale}});
  const Ref bounded = w.to.call("clamp", {{"input", at}, {"minValue", AttrValue(0.0)}, {"maxValue", AttrValue(255.0)}});
  const Ref zero = w.to.call("roundEven", {{"input", bounded}});
  if (w.to.failed()) return;
  const Ref code = w.to.cast(zero, DataType::uint8);
  const Ints ones(w.x().size(), 1);
  const Ref y =
      w.to.call("quantizeLinear",
                {{"input", x}, {"scale", w.to.reshaped(scale, ones)}, {"zeroPoint", w.to.reshaped(code, ones)}});
  w.to.give(w.node.out[0], y);
  if (w.wants(1)) w.to.give(w.node.out[1], scale);
  if (w.wants(2)) w.to.give(w.node.out[2], code);
}

/// Sums of products of bytes are whole in float32 below this.
constexpr int64_t kWhole = int64_t{1} << 24;

/// The bytes less their zero point, as float32; `along`: where a vector of zero points lies.
Ref centred(RowNode& w, size_t i, size_t zero, size_t along) {
  Ref x = w.to.failed() ? Ref{} : w.to.cast(w.in(i), DataType::float32);
  if (!w.given(zero) || w.to.failed()) return x;
  Ref z = w.to.cast(w.in(zero), DataType::float32);
  if (w.to.failed()) return {};
  const Ints have = w.to.shape(z);
  if (have.size() == 1) {
    Ints shape(w.x(i).size(), 1);
    if (have[0] != 1) shape[along] = have[0];
    z = w.to.reshaped(z, shape);
  }
  return w.to.call("sub", {{"a", x}, {"b", z}});
}

void matmul_integer(RowNode& w) {
  const Ints x = w.x(), y = w.x(1);
  if (x.size() < 2 || y.size() < 2) return w.refuse("matmul_integer: vectors");
  if (x.back() > kWhole / (255 * 255)) return w.refuse("matmul_integer: sums may not be whole in float32");
  const Ref a = centred(w, 0, 2, x.size() - 2), b = centred(w, 1, 3, y.size() - 1);
  const Ref z = w.to.call("matmul", {{"a", a}, {"b", b}});
  if (!w.to.failed()) w.give(w.to.cast(z, DataType::int32));
}

void conv_integer(RowNode& w) {
  const auto& a = w.attr<ConvAttrs>();
  const Ints x = w.x(), f = w.x(1);
  if (x.size() != 4) return w.refuse("conv_integer: WebNN has two spatial axes");
  if (product(f) / f[0] > kWhole / (255 * 255)) return w.refuse("conv_integer: sums may not be whole in float32");
  std::vector<AxisWindow> windows;
  for (size_t i = 2; i < 4; ++i) {
    const auto window =
        window_of(x[i], f[i], entry(a.stride, i - 2, 1), entry(a.dilation, i - 2, 1),
                  i - 2 < a.padding.size() ? a.padding[i - 2] : std::pair<int64_t, int64_t>{}, a.auto_pad, false);
    if (!window.ok()) return w.refuse("conv_integer: " + window.error().message());
    windows.push_back(*window);
  }
  std::vector<Named> args = {
      {"input", centred(w, 0, 2, 1)}, {"filter", centred(w, 1, 3, 0)}, {"groups", AttrValue(a.groups)}};
  WindowOptions(windows).put(args);
  const Ref y = w.to.call("conv2d", std::move(args));
  if (!w.to.failed()) w.give(w.to.cast(y, DataType::int32));
}

constexpr RowEntry kProductRows[] = {
    {"matmul", matmul},
    {"linear", linear},
    {"conv", conv},
    {"deconv", deconv},
    {"max_pool", pool},
    {"box", pool},
    {"lp_pool", pool},
    {"lstm", lstm},
    {"gru", gru},
    {"quantize_linear", quantize},
    {"dequantize_linear", dequantize},
    {"dynamic_quantize_linear", dynamic_quantize},
    {"matmul_integer", matmul_integer},
    {"conv_integer", conv_integer},
};

}  // namespace

std::span<const RowEntry> product_rows() { return kProductRows; }

}  // namespace nnex::ml
