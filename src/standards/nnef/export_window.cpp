// What windows, resizing and regions of the table need before NNEF's words fit them.

#include <fmt/format.h>

#include <algorithm>

#include "ops/window.h"
#include "standards/nnef/export_document.h"

namespace nnex::nnef_format {
namespace {

// ---- Windows

/// What windows of spatial axes, or of all axes, look like at known extents.
struct Windows {
  std::vector<AxisWindow> axis;
  Pairs given;  ///< The padding as the node has it.
};

Result<Windows> windows_of(const WriteNode& w, const Ints& input, const Ints& size) {
  Windows out;
  const AttrValue pads = w.get("padding");
  if (const Pairs* p = std::get_if<Pairs>(&pads)) out.given = *p;
  out.given.resize(size.size());
  const std::string word = w.word("auto_pad");
  const AutoPad automatic = word == "same_lower"   ? AutoPad::same_lower
                            : word == "same_upper" ? AutoPad::same_upper
                                                   : AutoPad::off;
  const Ints stride = w.ints("stride"), dilation = w.ints("dilation");
  for (size_t i = 0; i < size.size(); ++i) {
    NNEX_ASSIGN(AxisWindow a, window_of(input[i], size[i], entry(stride, i, 1), entry(dilation, i, 1), out.given[i],
                                        automatic, w.flag("ceil")));
    out.axis.push_back(a);
  }
  return out;
}

/// Padding in numbers, or automatic; extents that round up become padding behind. `overhang`: windows reach beyond the
/// padding that the node has.
Status say_padding(WriteNode& w, const Ints& input, const Ints& size, bool* overhang = nullptr) {
  if (w.word("auto_pad") == "same_upper" && !w.flag("ceil")) {
    w.set("padding", Pairs{});
    w.reset("auto_pad");
    return {};
  }
  NNEX_ASSIGN(const Windows found, windows_of(w, input, size));
  Pairs pads;
  for (const AxisWindow& a : found.axis) {
    const int64_t reach = a.reach_of(a.output) - a.input - a.before;
    pads.emplace_back(a.before, w.flag("ceil") ? reach : a.after);
    if (overhang && w.flag("ceil") && reach > a.after) *overhang = true;
  }
  w.set("padding", std::move(pads));
  w.reset("auto_pad");
  w.reset("ceil");
  return {};
}

Ints spatial(const Ints& extents) { return extents.size() > 2 ? Ints(extents.begin() + 2, extents.end()) : Ints{}; }

/// A bias of [c] is [1, c] in NNEF.
Status channel_bias(Document& to, WriteNode& w, size_t at) {
  if (!w.given(at)) return {};
  for (size_t i = 0; i < at; ++i) {  // what stands before it in the call stands before it in the text
    NNEX_ASSIGN(w.text[i], to.operand(w.plain.in[i], false));
  }
  if (const ValueId one = to.repeated_element(w.plain.in[at]); one.valid()) {
    NNEX_ASSIGN(w.text[at], to.operand(one, true));
    return {};
  }
  const Ints e = to.extents(w.plain.in[at]);
  if (e.size() != 1) return {};
  NNEX_ASSIGN(w.text[at], to.channels(w.plain.in[at], e[0]));
  return {};
}

Status conv(Document& to, WriteNode& w) {
  NNEX_TRY(say_padding(w, spatial(to.extents(w.plain.in[0])), spatial(to.extents(w.plain.in[1]))));
  return channel_bias(to, w, 2);
}

Status separable_conv(Document& to, WriteNode& w) {
  NNEX_TRY(say_padding(w, spatial(to.extents(w.plain.in[0])), spatial(to.extents(w.plain.in[1]))));
  return channel_bias(to, w, 3);
}

/// Of reverse windows: the extents of the result say what output padding and an asked shape, a field or a port, say
/// here.
Status say_output(Document& to, WriteNode& w, const Ints& input, const Ints& size) {
  const Ints more = w.ints("output_padding"), y = to.extents(w.out[0]);
  const bool padded = std::any_of(more.begin(), more.end(), [](int64_t n) { return n != 0; });
  const int port = w.plain.op->input("output_shape");
  const std::string automatic = w.word("auto_pad");
  const bool asked = padded || !w.ints("output_shape").empty() || (port >= 0 && w.given(static_cast<size_t>(port))) ||
                     automatic == "same_lower";
  const size_t skip = y.size() - size.size();
  AttrValue pads = w.get("padding");
  Pairs padding = std::holds_alternative<Pairs>(pads) ? std::get<Pairs>(pads) : Pairs{};
  padding.resize(size.size());
  if (automatic == "same_upper") padding.clear();
  for (size_t i = 0; automatic == "same_lower" && i < size.size(); ++i) {
    const int64_t s = entry(w.ints("stride"), i, 1), d = entry(w.ints("dilation"), i, 1);
    const int64_t total = std::max<int64_t>(windows_reach(input[i], s, window_reach(size[i], d)) - y[i + skip], 0);
    padding[i] = {total - total / 2, total / 2};
  }
  w.set("padding", std::move(padding));
  w.reset("auto_pad");
  w.reset("output_padding");
  if (port < 0)
    w.set("output_shape", asked ? y : Ints{});
  else if (asked)
    w.know("output_shape", y);
  return {};
}

Status deconv(Document& to, WriteNode& w) {
  NNEX_TRY(say_output(to, w, spatial(to.extents(w.plain.in[0])), spatial(to.extents(w.plain.in[1]))));
  return channel_bias(to, w, 2);
}

Status separable_deconv(Document& to, WriteNode& w) {
  NNEX_TRY(say_output(to, w, spatial(to.extents(w.plain.in[0])), spatial(to.extents(w.plain.in[1]))));
  return channel_bias(to, w, 3);
}

Status reverse_pool(Document& to, WriteNode& w) { return say_output(to, w, to.extents(w.plain.in[0]), w.ints("size")); }

Status pool(Document& to, WriteNode& w) { return say_padding(w, to.extents(w.plain.in[0]), w.ints("size")); }

Status max_pool(Document& to, WriteNode& w) {
  const bool y = !w.out.empty() && w.out[0].valid(), index = w.out.size() > 1 && w.out[1].valid();
  if (!index) w.reset("index_as");
  if (!index) w.whole = Whole::kept;
  w.want = index ? (y ? "max_pool_with_index" : "argmax_pool") : "max_pool";
  if (index && !y) w.out = {w.out[1]};
  return pool(to, w);
}

/// Dividing by the taps inside is what averages do where nothing lies beyond the input; by the padded ones, where zeros
/// do.
Status average(Document& to, WriteNode& w) {
  bool overhang = false;
  NNEX_TRY(say_padding(w, to.extents(w.plain.in[0]), w.ints("size"), &overhang));
  const std::string divisor = w.word("divisor"), border = w.word("border");
  const bool nothing = border == "ignore" || border == "constant";
  if (divisor == "inside" && nothing) {
    w.set("border", std::string("ignore"));
    w.set("divisor", std::string("window"));
  } else if (divisor == "padded" && nothing && !overhang) {
    w.set("border", std::string("constant"));
    w.set("divisor", std::string("window"));
  }
  if (w.plain.op->name == "box" && w.word("divisor") == "window") w.want = "avg_pool";
  return {};
}

// ---- Resizing

/// Whole factors of the spatial axes.
Status resize(Document& to, WriteNode& w) {
  const Ints x = to.extents(w.plain.in[0]), y = to.extents(w.out[0]);
  Reals scales;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0 || y[i] % x[i] || (i < 2 && y[i] != x[i]))
      return cannot(w, fmt::format("{} to {} is no whole factor of spatial axes", extents_text(x), extents_text(y)));
    const int64_t factor = y[i] / x[i];
    scales.push_back(static_cast<double>(factor));
  }
  const std::string mode = w.word("mode"), transform = w.word("transform"), rounding = w.word("nearest_rounding");
  if (mode == "nearest") {
    const bool centred =
        (transform == "half_pixel" || transform == "pytorch_half_pixel") && rounding.starts_with("half");
    if (!centred && !(transform == "asymmetric" && rounding == "floor"))
      return cannot(w, fmt::format("nearest by '{}' and '{}'", transform, rounding));
    w.set("transform", std::string("asymmetric"));
    w.set("nearest_rounding", std::string("floor"));
    w.reset("border");
  } else {
    w.reset("nearest_rounding");
  }
  if (mode != "nearest" && w.word("border") == "ignore") return cannot(w, "weights of what lies beyond are left out");
  if (transform == "pytorch_half_pixel" && mode != "nearest") w.set("transform", std::string("half_pixel"));
  w.want = mode == "nearest" ? "nearest_upsample" : "multilinear_upsample";
  w.reset("antialias");  // it stretches filters of axes that shrink
  w.reset("aspect");
  w.reset("cubic_a");
  w.reset("extrapolate");
  w.reset("axes");
  w.plain.in.resize(1);
  w.plain.known.clear();
  w.know("scales", std::move(scales));
  return {};
}

/// Which batch each region is of: (N, 1) in NNEF.
Status regions(Document& to, WriteNode& w) {
  const Ints e = to.extents(w.plain.in[2]);
  if (e.size() != 1) return {};
  NNEX_ASSIGN(w.text[2], to.view(w.plain.in[2], {e[0], 1}));
  return {};
}

constexpr PrepareRow kWindowRows[] = {
    {"conv", conv},
    {"deconv", deconv},
    {"separable_conv", separable_conv},
    {"separable_deconv", separable_deconv},
    {"max_pool", max_pool},
    {"box", average},
    {"lp_pool", average},
    {"sample", pool},
    {"debox", reverse_pool},
    {"desample", reverse_pool},
    {"resize", resize},
    {"avg_roi_pool", regions},
    {"max_roi_pool", regions},
    {"roi_resample", regions},
    {"avg_roi_align", regions},
    {"max_roi_align", regions},
};

}  // namespace

std::span<const PrepareRow> window_prepares() { return kWindowRows; }

}  // namespace nnex::nnef_format
