// Convolutions and pools: what lies beyond the border, extents that round up, divisors.

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/conv.h"
#include "ops/deconv.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/pool.h"
#include "ops/roi.h"
#include "standards/onnx/legalize.h"

namespace nnex::onnx_format {
namespace {

PadBorder pad_border(std::string_view word) {
  constexpr auto words = enumerators(PadBorder{});
  const auto at = std::find(words.begin(), words.end(), word);
  return at == words.end() ? PadBorder::constant : static_cast<PadBorder>(at - words.begin());
}

/// x with these amounts around it.
ValueId padded(Legalized& l, ValueId x, Ints before, const Ints& after, PadBorder border) {
  before.insert(before.end(), after.begin(), after.end());
  PadAttrs a;
  a.border = border;
  const ValueId y = l.b("pad", {x, l.ints(before)}, a);
  l.graph.set_type(y, Type::tensor(l.type_of_value(x).dtype));
  return y;
}

/// Input 0 with the amounts that windows reach beyond it, from axis `first` on, and less what negative padding crops.
ValueId padded(Legalized& l, const std::vector<AxisWindow>& windows, size_t first, PadBorder border) {
  Ints before(first, 0), after(first, 0);
  for (const AxisWindow& w : windows) {
    const int64_t reach = w.reach_of(w.output);
    before.push_back(w.before);
    after.push_back(std::max<int64_t>(reach - w.input - w.before, std::min<int64_t>(w.after, 0)));
  }
  return padded(l, l.in(0), std::move(before), after, border);
}

/// ONNX's padding only adds.
bool crops(const Pairs& padding) {
  return std::any_of(padding.begin(), padding.end(), [](const auto& p) { return p.first < 0 || p.second < 0; });
}

/// A bias of other extents than one number a channel.
void flat_bias(Legalized& l, size_t at) {
  if (l.has(at) && l.rank(at).value_or(1) != 1) l.graph.set_input(l.id, at, l.reshaped(l.in(at), {-1}));
}

// ---- Convolutions

void conv_border(Legalized& l) {
  ConvAttrs a = l.attrs<ConvAttrs>();
  const auto x = l.shape(0), filter = l.shape(1);
  if ((a.border == ConvBorder::constant && !crops(a.padding)) || !x || !filter) return;
  const std::string_view border = enumerators(a.border)[static_cast<size_t>(a.border)];
  std::vector<AxisWindow> windows;
  for (int64_t i = 2; i < x->rank(); ++i) {
    const auto at = static_cast<size_t>(i - 2);
    const auto pads = at < a.padding.size() ? a.padding[at] : std::pair<int64_t, int64_t>{};
    auto w =
        window_of((*x)[i], (*filter)[i], entry(a.stride, at, 1), entry(a.dilation, at, 1), pads, a.auto_pad, false);
    if (!w.ok()) return;
    windows.push_back(*w);
  }
  l.graph.set_input(l.id, 0, padded(l, windows, 2, pad_border(border)));
  a.padding.clear(), a.auto_pad = AutoPad::off, a.border = ConvBorder::constant;
  l.set(a);
}

void conv(Legalized& l) {
  conv_border(l);
  flat_bias(l, 2);
}

/// Channel by channel, then a single tap over all of them.
void separable_conv(Legalized& l) {
  conv_border(l);
  const auto x = l.shape(0);
  ConvAttrs plane = l.attrs<ConvAttrs>(), point;
  if (!x || plane.border != ConvBorder::constant) return;
  point.groups = plane.groups, plane.groups = (*x)[1];
  std::vector<ValueId> in = {l.b("conv", {l.in(0), l.in(1)}, plane), l.in(2)};
  flat_bias(l, 3);
  if (l.has(3)) in.push_back(l.in(3));
  l.replace(l.b("conv", std::move(in), point));
}

/// What is put around the sum of all windows, places that none reaches, or cropped from it.
struct Around {
  Ints before = {0, 0}, after = {0, 0};
  bool any = false;  ///< Whether padding and output padding cannot say it.
};

/// An asked extent and negative padding become padding and output padding in numbers that ONNX takes, and what must be
/// put around the result. Nothing: extents are not known.
std::optional<Around> in_numbers(DeconvAttrs& a, const Shape& x, const Shape& filter) {
  Pairs pads;
  Ints more;
  Around around;
  for (int64_t i = 2; i < x.rank(); ++i) {
    auto w = reverse_window_of(a, static_cast<size_t>(i - 2), x[i], filter[i]);
    if (!w.ok()) return std::nullopt;
    const int64_t whole = w->reach_of(x[i]);
    const int64_t after = whole - w->before - w->output;
    pads.emplace_back(w->before, std::max<int64_t>(after, 0));
    more.push_back(std::max<int64_t>(-after, 0));
    around.before.push_back(-w->before), around.after.push_back(-after);
    around.any |= w->before < 0 || -after >= std::max(w->stride, w->dilation);
  }
  a.padding = around.any ? Pairs{} : std::move(pads);
  a.output_shape.clear(), a.auto_pad = AutoPad::off;
  const bool longer = std::any_of(more.begin(), more.end(), [](int64_t n) { return n != 0; });
  a.output_padding = longer && !around.any ? more : Ints{};
  return around;
}

bool needs_numbers(const DeconvAttrs& a) {
  return !a.output_shape.empty() || a.auto_pad != AutoPad::off || crops(a.padding);
}

/// y with what is around it, then its bias.
ValueId surrounded(Legalized& l, ValueId y, const Around& around, ValueId bias) {
  l.graph.set_type(y, Type::tensor(l.dtype(0)));
  y = padded(l, y, around.before, around.after, PadBorder::constant);
  if (!bias.valid()) return y;
  Ints extents(around.before.size(), 1);
  extents[1] = -1;
  return l.b("add", {y, l.reshaped(bias, extents)});
}

void separable_deconv(Legalized& l) {
  auto x = l.shape(0);
  const auto plane_filter = l.shape(1);
  DeconvAttrs plane = l.attrs<DeconvAttrs>(), point;
  if (!x || !plane_filter || plane.border != ConvBorder::constant) return;
  point.groups = plane.groups, plane.groups = (*plane_filter)[0];
  flat_bias(l, 3);
  std::vector<ValueId> in = {l.b("deconv", {l.in(0), l.in(2)}, point), l.in(1)};
  ValueId bias = l.has(3) ? l.in(3) : ValueId{};
  std::optional<Around> around = Around{};
  if (needs_numbers(plane)) around = in_numbers(plane, *x, *plane_filter);
  if (!around) return;
  if (!around->any && bias.valid()) in.push_back(std::exchange(bias, {}));
  const ValueId y = l.b("deconv", std::move(in), plane);
  l.replace(around->any ? surrounded(l, y, *around, bias) : y);
}

void deconv(Legalized& l) {
  flat_bias(l, 2);
  DeconvAttrs a = l.attrs<DeconvAttrs>();
  const auto x = l.shape(0), filter = l.shape(1);
  if (!needs_numbers(a) || a.border != ConvBorder::constant || !x || !filter) return;
  const auto around = in_numbers(a, *x, *filter);
  if (!around) return;
  if (!around->any) return l.set(a);
  l.replace(surrounded(l, l.b("deconv", {l.in(0), l.in(1)}, a), *around, l.has(2) ? l.in(2) : ValueId{}));
}

// ---- Pools

bool pads_nothing(const PoolAttrs& a) {
  return a.auto_pad == AutoPad::off && !a.ceil &&
         std::all_of(a.padding.begin(), a.padding.end(), [](const auto& p) { return p.first == 0 && p.second == 0; });
}

/// Where nothing lies beyond the input, what negative padding crops is never seen. False: it crops everything.
bool crop_first(Legalized& l, PoolAttrs& a) {
  if (!crops(a.padding)) return true;
  const auto x = l.shape(0);
  if (!x) return false;
  Ints before, after;
  for (size_t i = 0; i < a.padding.size(); ++i) {
    auto& [p, q] = a.padding[i];
    before.push_back(std::min<int64_t>(p, 0)), after.push_back(std::min<int64_t>(q, 0));
    if ((*x)[static_cast<int64_t>(i)] + before[i] + after[i] <= 0) return false;
    p = std::max<int64_t>(p, 0), q = std::max<int64_t>(q, 0);
  }
  l.graph.set_input(l.id, 0, padded(l, l.in(0), std::move(before), after, PadBorder::constant));
  return true;
}

/// The padding becomes a node of its own, what its border holds in it. False: extents are not known.
bool pad_first(Legalized& l, PoolAttrs& a) {
  const auto x = l.shape(0);
  if (!x) return false;
  const auto windows = windows_over(a, *x);
  if (!windows.ok()) return false;
  const std::string_view border = enumerators(a.border)[static_cast<size_t>(a.border)];
  l.graph.set_input(l.id, 0, padded(l, *windows, 0, pad_border(border)));
  a.padding.clear(), a.auto_pad = AutoPad::off, a.ceil = false, a.border = PoolBorder::ignore;
  return true;
}

void max_pool(Legalized& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  const bool index = l.node().out.size() > 1 && l.node().out[1].valid();
  if (!index) a.index_as = IndexAs::tensor;
  if (a.border == PoolBorder::ignore) {
    if (crops(a.padding) && (index || !crop_first(l, a))) return;
  } else if (pads_nothing(a)) {
    a.border = PoolBorder::ignore;
  } else if (index || !pad_first(l, a)) {
    return;
  }
  l.set(a);
}

/// Numbers of padding instead of a word, where a divisor counts them.
bool explicit_padding(Legalized& l, PoolAttrs& a) {
  if (a.auto_pad == AutoPad::off) return true;
  const auto x = l.shape(0);
  const auto windows = x ? windows_over(a, *x) : Result<std::vector<AxisWindow>>(Error(Code::unsupported, ""));
  if (!windows.ok()) return false;
  a.padding.clear(), a.auto_pad = AutoPad::off;
  for (const AxisWindow& w : *windows) a.padding.emplace_back(w.before, w.after);
  return true;
}

double volume(const PoolAttrs& a) {
  double taps = 1;
  for (int64_t n : a.size) taps *= static_cast<double>(n);
  return taps;
}

/// The node's result times a number.
void scale_result(Legalized& l, double factor) {
  const ValueId y = l.again(l.node().in);
  l.replace(l.b("mul", {y, l.b.number(l.dtype(0), factor)}));
}

/// ONNX's padding is of spatial axes.
bool pads_others(const PoolAttrs& a) {
  for (size_t i = 0; i < std::min<size_t>(a.padding.size(), 2); ++i)
    if (a.padding[i] != std::pair<int64_t, int64_t>{}) return true;
  return false;
}

void box(Legalized& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  const bool sum = a.divisor == Divisor::one;
  if (a.border == PoolBorder::ignore || (a.border == PoolBorder::constant && a.divisor == Divisor::inside)) {
    if (!crop_first(l, a)) return;
    a.divisor = sum ? Divisor::padded : divisor_of(a);
    if (a.divisor == Divisor::window) a.divisor = Divisor::inside;
    a.border = PoolBorder::ignore;
    if (a.divisor == Divisor::padded && (!explicit_padding(l, a) || (sum && a.ceil))) return;
  } else if (pads_nothing(a)) {
    a.border = PoolBorder::ignore, a.divisor = Divisor::inside;
  } else if (a.border == PoolBorder::constant && (!a.ceil || a.divisor == Divisor::padded) && !crops(a.padding) &&
             !pads_others(a)) {
    if (!explicit_padding(l, a)) return;
    a.border = PoolBorder::ignore, a.divisor = Divisor::padded;
  } else if (!(a.ceil && a.divisor == Divisor::padded) && pad_first(l, a)) {
    a.divisor = Divisor::inside;
  } else {
    return;
  }
  l.set(a);
  if (sum) scale_result(l, volume(a));
}

/// The root of a mean of powers: its divisor differs from window to window, which only an average knows.
void mean_root(Legalized& l, PoolAttrs a) {
  const double p = std::exchange(a.p, PoolAttrs().p);
  const Type type = l.type(0);
  const auto made = [&](ValueId v) {
    l.graph.set_type(v, type);
    return v;
  };
  const auto number = [&](double v) { return l.b.number(type.dtype, v); };
  ValueId x = p == 2 ? l.b("mul", {l.in(0), l.in(0)}) : made(l.b("abs", {l.in(0)}));
  if (p != 2 && p != 1) x = l.b("pow", {x, number(p)});
  const ValueId mean = l.b("box", {made(x)}, a);
  Legalized average(l.graph, l.graph[mean].producer, l.bits);
  box(average);
  l.replace(p == 1 ? mean : p == 2 ? l.b("sqrt", {mean}) : l.b("pow", {mean, number(1 / p)}));
}

void lp_pool(Legalized& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  const Divisor divisor = pads_nothing(a) && a.divisor != Divisor::one ? Divisor::window : divisor_of(a);
  if (divisor == Divisor::inside || divisor == Divisor::padded) return mean_root(l, a);
  if (a.border == PoolBorder::constant) a.border = PoolBorder::ignore;  // a zero adds nothing
  if (a.border == PoolBorder::ignore ? !crop_first(l, a) : !pad_first(l, a)) return;
  a.divisor = Divisor::one;
  l.set(a);
  if (divisor == Divisor::window) scale_result(l, std::pow(1 / volume(a), 1 / a.p));
}

/// An index counts elements of the result; what lies beyond the border is of no matter there.
void desample(Legalized& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  if (a.auto_pad != AutoPad::off) return;
  a.border = PoolBorder::constant;
  l.set(a);
}

// ---- Regions

ValueId columns(Legalized& l, ValueId rois, const Ints& order) {
  GatherAttrs a;
  a.axis = 1;
  return l.b("gather", {rois, l.ints(order)}, a);
}

/// Corners are x, y there: what a reader exchanged before is taken back.
void roi_align(Legalized& l) {
  const Ints order = {1, 0, 3, 2};
  const Node* producer = l.graph.producer(l.in(1));
  if (producer && producer->op->name == "gather" && l.graph.attrs<GatherAttrs>(*producer).axis == 1)
    if (const Tensor* index = l.graph.constant_in(*producer, 1); index && ints_of(*index) == order)
      return l.graph.set_input(l.id, 1, producer->in[0]);
  l.graph.set_input(l.id, 1, columns(l, l.in(1), order));
}

/// Rows of [image, x, y, x, y], of which images and corners are columns: the writer reads the rows themselves.
void max_roi_pool(Legalized& l) {
  const auto a = l.attrs<RoiPoolAttrs>();
  if (a.cells != RoiCells::spread || !a.inclusive) return;
  AxisAttrs columns_of;
  columns_of.axis = 1;
  const ValueId image = l.cast(l.reshaped(l.in(2), {-1, 1}), l.dtype(1));
  const ValueId rows = l.b("concat", {image, columns(l, l.in(1), {1, 0, 3, 2})}, columns_of);
  l.graph.set_type(rows, Type::tensor(l.dtype(1)));
  l.graph.set_inputs(l.id, {l.in(0), columns(l, rows, {2, 1, 4, 3}), l.cast(columns(l, rows, {0}), DType::i64)});
}

constexpr LegalizeRow kWindowRows[] = {
    {"conv", conv},
    {"separable_conv", separable_conv},
    {"separable_deconv", separable_deconv},
    {"deconv", deconv},
    {"max_pool", max_pool},
    {"box", box},
    {"lp_pool", lp_pool},
    {"desample", desample},
    {"roi_align", roi_align},
    {"max_roi_pool", max_roi_pool},
};

}  // namespace

std::span<const LegalizeRow> legalize_windows() { return kWindowRows; }

}  // namespace nnex::onnx_format
