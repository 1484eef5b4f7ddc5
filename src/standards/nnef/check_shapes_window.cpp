// Shapes of the sliding-window operations (reference section 7): convolutions, boxes and pools, sampling, regions.

#include <algorithm>

#include "ops/window.h"
#include "standards/nnef/check_shape_call.h"

namespace nnex::nnef_format {
namespace {

constexpr int64_t kMax = int64_t{1} << 30;  ///< Of one number of a window: products of two stay far from overflow.

enum Borders : unsigned { kConstant = 1, kReplicate = 2, kReflect = 4, kReflectEven = 8, kIgnore = 16 };
constexpr unsigned kValues = kConstant | kReplicate | kReflect | kReflectEven;
constexpr std::string_view kBorderWords[] = {"constant", "replicate", "reflect", "reflect-even", "ignore"};

/// The border is one of `allowed`; a known one that is not breaks `rule`, an unknown one O-SW-6.
Status check_border(ShapeCall& c, unsigned allowed, std::string_view rule) {
  const std::string_view border = c.word("border");
  bool known = false;
  for (size_t i = 0; i < std::size(kBorderWords) && !known; ++i) {
    known = border == kBorderWords[i];
    if (known && (allowed & (1u << i))) return {};
  }
  std::string words;
  for (size_t i = 0; i < std::size(kBorderWords); ++i)
    if (allowed & (1u << i)) words += fmt::format("{}{}", words.empty() ? "" : ", ", kBorderWords[i]);
  return c.fault(known ? rule : "O-SW-6", "border is '{}'; needed one of {}", border, words);
}

/// The lists of a window: one entry for each of its dimensions, or none.
struct Window {
  explicit Window(const ShapeCall& c)
      : stride(c.ints("stride")), dilation(c.ints("dilation")), padding(c.pairs("padding")) {}

  IntList stride, dilation;
  PairList padding;
};

Status check_positive(ShapeCall& c, const IntList& list, std::string_view what, std::string_view rule) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] <= 0 || list[i] > kMax)
      return c.fault(rule, "{} is {} at item {}; needed 1 to {}", what, list[i], i, kMax);
  return {};
}

/// Lengths of the lists, and their numbers.
Status check_window(ShapeCall& c, const Window& w, size_t dimensions, std::string_view rule) {
  const std::pair<std::string_view, size_t> lists[] = {
      {"padding", w.padding.size()}, {"stride", w.stride.size()}, {"dilation", w.dilation.size()}};
  for (const auto& [what, n] : lists)
    if (n != 0 && n != dimensions)
      return c.fault(rule, "{} has {} items; needed {}, or none for the default", what, n, dimensions);
  NNEX_TRY(check_positive(c, w.stride, "stride", "O-SW-2"));
  NNEX_TRY(check_positive(c, w.dilation, "dilation", "O-SW-3"));
  for (size_t i = 0; i < w.padding.size(); ++i)
    if (const auto [p, q] = w.padding[i]; std::max(p, q) > kMax || std::min(p, q) < -kMax)
      return c.fault("O-SW-4", "padding is ({},{}) at item {}; needed {} at most", p, q, i, kMax);
  return {};
}

/// One dimension of a window.
struct AxisOf {
  size_t axis = 0;  ///< In the lists.
  int64_t size = 1, stride = 1, dilation = 1;
  std::optional<std::pair<int64_t, int64_t>> padding;  ///< Nothing: automatic.

  AxisOf(const Window& w, size_t axis, int64_t size)
      : axis(axis), size(size), stride(w.stride.at(axis, 1)), dilation(w.dilation.at(axis, 1)) {
    if (!w.padding.empty()) padding = w.padding[axis];
  }
  int64_t reach() const { return window_reach(size, dilation); }
};

/// x of X: the basic formula.
Result<int64_t> basic(ShapeCall& c, const AxisOf& a, int64_t input) {
  if (!a.padding) return automatic_count(input, a.stride);
  const auto [p, q] = *a.padding;
  const int64_t padded = p + input + q;
  if (padded < a.reach())
    return c.fault("O-SW-4",
                   "axis {} of the window reaches over {} elements (size {}, dilation {}); the input has {}, padded by "
                   "({},{}) {}",
                   a.axis, a.reach(), a.size, a.dilation, input, p, q, padded);
  return window_count(padded, a.reach(), a.stride, false);
}

/// X of x: the reverse formula.
Result<int64_t> reverse(ShapeCall& c, const AxisOf& a, int64_t input) {
  int64_t out = 0;
  if (!a.padding) {
    if (__builtin_mul_overflow(input, a.stride, &out)) return c.fault("O-SW-5", "axis {} is too large", a.axis);
    return out;
  }
  const auto [p, q] = *a.padding;
  const int64_t whole = windows_reach(input, a.stride, a.reach());
  if (whole == kMaxReach) return c.fault("O-SW-4", "axis {} is too large", a.axis);
  out = whole - p - q;
  if (out < 1)
    return c.fault("O-SW-4", "axis {}: padding ({},{}) leaves nothing of the {} elements that {} windows reach over",
                   a.axis, p, q, out + p + q, input);
  return out;
}

/// X as the text gives it: the basic formula must lead back to x.
Status check_output_extent(ShapeCall& c, const AxisOf& a, int64_t input, int64_t asked, size_t dimension) {
  int64_t back = -1;
  if (asked >= 1 && !a.padding) back = automatic_count(asked, a.stride);
  if (asked >= 1 && asked < kMax * kMax / 4 && a.padding) {
    const int64_t padded = a.padding->first + asked + a.padding->second;
    if (padded >= a.reach()) back = window_count(padded, a.reach(), a.stride, false);
  }
  if (back == input) return {};
  return c.fault("O-SW-7",
                 "output_shape is {} at dimension {}; a window over that many gives {} elements, the input has {}",
                 asked, dimension, back < 0 ? "no" : std::to_string(back), input);
}

/// X of x: as asked for where that leads back to x, else by the reverse formula.
Result<int64_t> reverse_or_asked(ShapeCall& c, const AxisOf& a, int64_t input, const IntList& asked, size_t dimension) {
  if (asked.empty()) return reverse(c, a, input);
  NNEX_TRY(check_output_extent(c, a, input, asked[dimension], dimension));
  return asked[dimension];
}

Status check_filter_sizes(ShapeCall& c, const Ints& filter) {
  for (size_t i = 2; i < filter.size(); ++i)
    if (filter[i] < 1 || filter[i] > kMax)
      return c.fault("O-SW-1", "the filter {} has extent {} at dimension {}; needed 1 to {}", text(filter), filter[i],
                     i, kMax);
  return {};
}

/// Extent 1 everywhere but in dimension 1, which is 1 or the number of channels.
Status check_bias(ShapeCall& c, const Ints& bias, int64_t channels) {
  bool fits = true;
  for (size_t i = 0; i < bias.size(); ++i) fits &= bias[i] == 1 || (i == 1 && bias[i] == channels);
  if (fits) return {};
  return c.fault("O-CONV-5", "bias has shape {}; needed [1,{}] (a number for each output channel) or extents of 1",
                 text(bias), channels);
}

Status check_ranks(ShapeCall& c, const Ints& x, const Ints& filter, std::string_view what) {
  if (x.size() < 3)
    return c.fault("O-CONV-1", "the input {} has rank {}; needed batch, channels and a spatial dimension or more",
                   text(x), x.size());
  if (filter.size() == x.size()) return {};
  return c.fault("O-CONV-1", "{} {} has rank {}, the input {} rank {}; needed the same", what, text(filter),
                 filter.size(), text(x), x.size());
}

/// The number of groups that the attribute stands for; `channels` are those of the large side.
Result<int64_t> groups_of(ShapeCall& c, int64_t groups, int64_t channels, int64_t filters) {
  if (groups < 0 || groups > kMax) return c.fault("O-CONV-3", "groups is {}; needed 0 (one a channel) or more", groups);
  const int64_t n = groups == 0 ? channels : groups;
  if (n < 1 || filters % n != 0)
    return c.fault("O-CONV-3", "the filter has batch {}, which {} groups do not divide", filters, n);
  return n;
}

/// A convolution of x by filter with the window's lists; null: stride, dilation 1 and automatic padding.
Result<Ints> conv_extents(ShapeCall& c, const Ints& x, const Ints& filter, const Window* w, int64_t groups) {
  NNEX_ASSIGN(const int64_t n, groups_of(c, groups, x[1], filter[0]));
  if (filter[1] > kMax || filter[1] * n != x[1])
    return c.fault("O-CONV-4", "the filter {} takes {} channels in each of {} groups; the input {} has {}",
                   text(filter), filter[1], n, text(x), x[1]);
  NNEX_TRY(check_filter_sizes(c, filter));
  Ints out;
  out.reserve(x.size());
  out.assign({x[0], filter[0]});
  for (size_t i = 2; i < x.size(); ++i) {
    int64_t extent = x[i];
    if (w) {
      NNEX_ASSIGN(extent, basic(c, AxisOf(*w, i - 2, filter[i]), x[i]));
    }
    out.push_back(extent);
  }
  return out;
}

/// The reverse of that, to the extents that `asked` gives unless it is empty.
Result<Ints> deconv_extents(ShapeCall& c, const Ints& x, const Ints& filter, const Window* w, const IntList& asked,
                            int64_t groups) {
  if (filter[0] != x[1])
    return c.fault("O-CONV-4", "the filter {} has batch {}; the input {} has {} channels, needed the same",
                   text(filter), filter[0], text(x), x[1]);
  if (!asked.empty() && asked.size() != x.size())
    return c.fault("O-SW-7", "output_shape has {} items; needed {}, batch and channels too", asked.size(), x.size());
  NNEX_ASSIGN(const int64_t n, groups_of(c, groups, asked.empty() ? x[1] : asked[1], filter[0]));
  NNEX_TRY(check_filter_sizes(c, filter));
  Ints out = {x[0], filter[1]};
  if (__builtin_mul_overflow(out[1], n, &out[1])) return c.fault("O-CONV-4", "there are too many channels");
  for (size_t i = 0; i < 2 && !asked.empty(); ++i)
    if (asked[i] != out[i])
      return c.fault("O-SW-7", "output_shape is {} at dimension {}; needed {} ({})", asked[i], i, out[i],
                     i ? "filter[1] times the groups" : "the batch");
  for (size_t i = 2; i < x.size(); ++i) {
    int64_t extent = x[i];
    if (w) {
      NNEX_ASSIGN(extent, reverse_or_asked(c, AxisOf(*w, i - 2, filter[i]), x[i], asked, i));
    }
    out.push_back(extent);
  }
  return out;
}

/// What conv and deconv check alike.
Status check_conv(ShapeCall& c, const Window& w, const Ints& x) {
  NNEX_TRY(check_window(c, w, x.size() - 2, "O-CONV-2"));
  return check_border(c, kValues, "O-CONV-6");
}

Status check_point_filter(ShapeCall& c, const Ints& plane, const Ints& point, int64_t groups) {
  if (plane[1] != 1) return c.fault("O-SEP-1", "plane_filter {} has {} channels; needed 1", text(plane), plane[1]);
  for (size_t i = 2; i < point.size(); ++i)
    if (point[i] != 1)
      return c.fault("O-SEP-1", "point_filter {} has extent {} at dimension {}; needed 1", text(point), point[i], i);
  const int64_t n = std::clamp<int64_t>(groups, 1, kMax);
  if (groups > 0 && (point[1] > kMax || point[1] * n != plane[0]))
    return c.fault("O-SEP-1", "point_filter {} has {} channels in each of {} groups; plane_filter {} has batch {}",
                   text(point), point[1], n, text(plane), plane[0]);
  return {};
}

}  // namespace

Status conv_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &filter = c.extents("filter");
  const Window w(c);
  NNEX_TRY(check_ranks(c, x, filter, "filter"));
  NNEX_TRY(check_conv(c, w, x));
  NNEX_ASSIGN(Ints out, conv_extents(c, x, filter, &w, c.integer("groups")));
  NNEX_TRY(check_bias(c, c.extents("bias"), out[1]));
  return c.give(std::move(out));
}

Status deconv_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &filter = c.extents("filter");
  const Window w(c);
  NNEX_TRY(check_ranks(c, x, filter, "filter"));
  NNEX_TRY(check_conv(c, w, x));
  NNEX_ASSIGN(Ints out, deconv_extents(c, x, filter, &w, c.ints("output_shape"), c.integer("groups")));
  NNEX_TRY(check_bias(c, c.extents("bias"), out[1]));
  return c.give(std::move(out));
}

Status separable_conv_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &plane = c.extents("plane_filter"), &point = c.extents("point_filter");
  const Window w(c);
  NNEX_TRY(check_ranks(c, x, plane, "plane_filter"));
  NNEX_TRY(check_ranks(c, x, point, "point_filter"));
  NNEX_TRY(check_point_filter(c, plane, point, c.integer("groups")));
  NNEX_TRY(check_conv(c, w, x));
  NNEX_ASSIGN(const Ints middle, conv_extents(c, x, plane, &w, 0));
  NNEX_ASSIGN(Ints out, conv_extents(c, middle, point, nullptr, c.integer("groups")));
  NNEX_TRY(check_bias(c, c.extents("bias"), out[1]));
  return c.give(std::move(out));
}

Status separable_deconv_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &plane = c.extents("plane_filter"), &point = c.extents("point_filter");
  const Window w(c);
  NNEX_TRY(check_ranks(c, x, plane, "plane_filter"));
  NNEX_TRY(check_ranks(c, x, point, "point_filter"));
  NNEX_TRY(check_point_filter(c, plane, point, c.integer("groups")));
  NNEX_TRY(check_conv(c, w, x));
  NNEX_ASSIGN(const Ints middle, deconv_extents(c, x, point, nullptr, IntList(), c.integer("groups")));
  NNEX_ASSIGN(Ints out, deconv_extents(c, middle, plane, &w, c.ints("output_shape"), 0));
  NNEX_TRY(check_bias(c, c.extents("bias"), out[1]));
  return c.give(std::move(out));
}

// ---- Boxes, pools and sampling: every dimension has a window

namespace {

/// The window of an operation that has one for every dimension of the input.
Status check_box(ShapeCall& c, const Window& w, const IntList& size, const Ints& x) {
  if (size.size() != x.size())
    return c.fault("O-BOX-1", "size has {} items; needed {}, one for each dimension of {}", size.size(), x.size(),
                   text(x));
  NNEX_TRY(check_positive(c, size, "size", "O-SW-1"));
  return check_window(c, w, x.size(), "O-BOX-1");
}

Result<Ints> basic_extents(ShapeCall& c, const Window& w, const IntList& size, const Ints& x) {
  Ints out;
  for (size_t i = 0; i < x.size(); ++i) {
    NNEX_ASSIGN(const int64_t extent, basic(c, AxisOf(w, i, size[i]), x[i]));
    out.push_back(extent);
  }
  return out;
}

Result<Ints> reverse_extents(ShapeCall& c, const Window& w, const IntList& size, const Ints& x) {
  const IntList asked = c.ints("output_shape");
  if (!asked.empty() && asked.size() != x.size())
    return c.fault("O-SW-7", "output_shape has {} items; needed {}, one for each dimension of {}", asked.size(),
                   x.size(), text(x));
  Ints out;
  for (size_t i = 0; i < x.size(); ++i) {
    NNEX_ASSIGN(const int64_t extent, reverse_or_asked(c, AxisOf(w, i, size[i]), x[i], asked, i));
    out.push_back(extent);
  }
  return out;
}

}  // namespace

Status pool_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const Window w(c);
  const IntList size = c.ints("size");
  NNEX_TRY(check_box(c, w, size, x));
  NNEX_TRY(check_border(c, kValues | kIgnore, "O-SW-6"));
  NNEX_ASSIGN(Ints out, basic_extents(c, w, size, x));
  for (size_t r = 1; r < c.op().results.size(); ++r) NNEX_TRY(c.give(out, r));
  return c.give(std::move(out));
}

Status reverse_pool_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const Window w(c);
  const IntList size = c.ints("size");
  NNEX_TRY(check_box(c, w, size, x));
  NNEX_TRY(check_border(c, kValues | kIgnore, "O-SW-6"));
  NNEX_ASSIGN(Ints out, reverse_extents(c, w, size, x));
  return c.give(std::move(out));
}

Status sample_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &index = c.extents("index");
  const Window w(c);
  const IntList size = c.ints("size");
  NNEX_TRY(check_box(c, w, size, x));
  NNEX_TRY(check_border(c, kValues, "O-SAMPLE-2"));
  NNEX_ASSIGN(Ints out, basic_extents(c, w, size, x));
  if (index != out)
    return c.fault("O-SAMPLE-1", "index has shape {}; needed {}, that of the result", text(index), text(out));
  return c.give(std::move(out));
}

Status desample_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &index = c.extents("index");
  const Window w(c);
  const IntList size = c.ints("size");
  NNEX_TRY(check_box(c, w, size, x));
  NNEX_TRY(check_border(c, kConstant, "O-SAMPLE-2"));
  if (index != x)
    return c.fault("O-SAMPLE-1", "index has shape {}; needed {}, that of the input", text(index), text(x));
  NNEX_ASSIGN(Ints out, reverse_extents(c, w, size, x));
  return c.give(std::move(out));
}

Status local_norm_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const IntList size = c.ints("size");
  if (size.size() != x.size())
    return c.fault(c.rule, "size has {} items; needed {}, one for each dimension of {}", size.size(), x.size(),
                   text(x));
  NNEX_TRY(check_positive(c, size, "size", c.rule));
  return c.give(x);
}

// ---- Factors

namespace {

Status check_factors(ShapeCall& c, const Ints& x, const IntList& factor) {
  if (x.size() < 2 || factor.size() != x.size() - 2)
    return c.fault(c.rule, "factor has {} items; the input {} has {} spatial dimensions, needed one for each",
                   factor.size(), text(x), x.size() < 2 ? 0 : x.size() - 2);
  return check_positive(c, factor, "factor", c.rule);
}

Status check_method(ShapeCall& c, std::string_view parameter, std::string_view rule) {
  const std::string_view method = c.word(parameter);
  if (method == "symmetric" || method == "asymmetric" || method == "aligned") return {};
  return c.fault(rule, "{} is '{}'; needed symmetric, asymmetric or aligned", parameter, method);
}

bool has(const ShapeCall& c, std::string_view parameter) { return c.op().declaration->find(parameter) >= 0; }

}  // namespace

Status upsample_shape(ShapeCall& c) {
  Ints out = c.extents("input");
  const IntList factor = c.ints("factor");
  NNEX_TRY(check_factors(c, out, factor));
  if (has(c, "method")) {
    NNEX_TRY(check_method(c, "method", "O-UPS-2"));
    NNEX_TRY(check_border(c, kValues, "O-UPS-2"));
  }
  for (size_t i = 0; i < factor.size(); ++i)
    if (__builtin_mul_overflow(out[i + 2], factor[i], &out[i + 2]))
      return c.fault(c.rule, "dimension {} is too large", i + 2);
  return c.give(std::move(out));
}

Status downsample_shape(ShapeCall& c) {
  Ints out = c.extents("input");
  const IntList factor = c.ints("factor");
  NNEX_TRY(check_factors(c, out, factor));
  for (size_t i = 0; i < factor.size(); ++i) {
    if (out[i + 2] % factor[i] != 0)
      return c.fault(c.rule, "extent {} of dimension {} does not divide by the factor {}", out[i + 2], i + 2,
                     factor[i]);
    out[i + 2] /= factor[i];
  }
  return c.give(std::move(out));
}

// ---- Regions of interest

Status roi_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &rois = c.extents("rois"), &batch = c.extents("batch_index");
  const IntList size = c.ints("output_size");
  if (x.size() < 3)
    return c.fault(c.rule, "the input {} has rank {}; needed batch, channels and a spatial dimension or more", text(x),
                   x.size());
  const size_t spatial = x.size() - 2;
  if (size.size() != spatial)
    return c.fault(c.rule, "output_size has {} items; the input {} has {} spatial dimensions, needed one for each",
                   size.size(), text(x), spatial);
  NNEX_TRY(check_positive(c, size, "output_size", c.rule));
  if (rois.size() != 2 || rois[1] != static_cast<int64_t>(2 * spatial))
    return c.fault(c.rule, "rois has shape {}; needed [regions,{}], two corners in each row", text(rois), 2 * spatial);
  const bool column = batch.size() == 2 && batch[1] == 1, row = batch.size() == 1;
  if (!(column || row) || batch[0] != rois[0])
    return c.fault(c.rule, "batch_index has shape {}; needed [{},1], a number for each region", text(batch), rois[0]);
  if (has(c, "method")) NNEX_TRY(check_method(c, "method", c.rule));
  if (has(c, "resize_method")) NNEX_TRY(check_method(c, "resize_method", c.rule));
  if (has(c, "sampling_rate")) {
    const IntList rate = c.ints("sampling_rate");
    const bool full = rate.size() == x.size() && rate[0] == 1 && rate[1] == 1;
    if (rate.size() != spatial && !full)
      return c.fault(c.rule, "sampling_rate has {} items; needed {}, one for each spatial dimension", rate.size(),
                     spatial);
    NNEX_TRY(check_positive(c, rate, "sampling_rate", c.rule));
  }
  Ints out = {rois[0], x[1]};
  for (size_t i = 0; i < spatial; ++i) out.push_back(size[i]);
  return c.give(std::move(out));
}

}  // namespace nnex::nnef_format
