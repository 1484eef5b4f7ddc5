// Rules of the sliding-window operations (reference section 7): convolutions, boxes and pools, sampling, regions.

#include <algorithm>

#include "base/checked.h"
#include "ops/window.h"
#include "standards/nnef/check_call.h"

namespace nnex::nnef_format {
namespace {

constexpr int64_t kMax = int64_t{1} << 30;  ///< Of one number of a window.

constexpr std::string_view kBorderWords[] = {"constant", "replicate", "reflect", "reflect-even", "ignore"};

}  // namespace

Status check_border(const CheckCall& c, unsigned allowed, std::string_view rule, std::string_view unknown_rule) {
  const std::string_view border = c.word("border");
  bool known = false;
  for (size_t i = 0; i < std::size(kBorderWords) && !known; ++i) {
    known = border == kBorderWords[i];
    if (known && (allowed & (1u << i))) return {};
  }
  std::string words;
  for (size_t i = 0; i < std::size(kBorderWords); ++i)
    if (allowed & (1u << i)) words += fmt::format("{}{}", words.empty() ? "" : ", ", kBorderWords[i]);
  return c.fault(known ? rule : unknown_rule, "border is '{}'; needed one of {}", border, words);
}

namespace {

Status check_positive(const CheckCall& c, std::string_view what, std::string_view rule) {
  const IntList list = c.ints(what);
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] <= 0 || list[i] > kMax)
      return c.fault(rule, "{} is {} at item {}; needed 1 to {}", what, list[i], i, kMax);
  return {};
}

/// The lists of a window have an entry for each of its dimensions, or none; and their numbers are such that there are.
Status check_window(const CheckCall& c, size_t dimensions, std::string_view rule) {
  const PairList padding = c.pairs("padding");
  const std::pair<std::string_view, size_t> lists[] = {
      {"padding", padding.size()}, {"stride", c.ints("stride").size()}, {"dilation", c.ints("dilation").size()}};
  for (const auto& [what, n] : lists)
    if (n != 0 && n != dimensions)
      return c.fault(rule, "{} has {} items; needed {}, or none for the default", what, n, dimensions);
  NNEX_TRY(check_positive(c, "stride", "O-SW-2"));
  NNEX_TRY(check_positive(c, "dilation", "O-SW-3"));
  for (size_t i = 0; i < padding.size(); ++i)
    if (const auto [p, q] = padding[i]; std::max(p, q) > kMax || std::min(p, q) < -kMax)
      return c.fault("O-SW-4", "padding is ({},{}) at item {}; needed {} at most", p, q, i, kMax);
  return {};
}

/// How many windows of `size` elements there are over `extent` elements, by entry i of the window's lists; nothing: not
/// one fits.
std::optional<int64_t> windows_over(const CheckCall& c, int64_t extent, int64_t size, size_t i) {
  const PairList padding = c.pairs("padding");
  const auto pads = padding.empty() ? std::pair<int64_t, int64_t>{} : padding[i];
  const auto window = window_of(extent, size, c.ints("stride").at(i, 1), c.ints("dilation").at(i, 1), pads,
                                padding.empty() ? AutoPad::same_upper : AutoPad::off, false);
  return window.ok() ? std::optional(window->output) : std::nullopt;
}

/// The extent that output_shape asks for at a dimension leads back to the input's.
Status check_asked(const CheckCall& c, size_t dimension, int64_t size, size_t entry) {
  const IntList asked = c.ints("output_shape");
  if (asked.empty()) return {};
  const int64_t extent = asked[dimension], input = c.extents("input")[dimension];
  const auto back = extent < 1 ? std::nullopt : windows_over(c, extent, size, entry);
  if (back == input) return {};
  return c.fault("O-SW-7",
                 "output_shape is {} at dimension {}; a window over that many gives {} elements, the input has {}",
                 extent, dimension, back ? std::to_string(*back) : "no", input);
}

/// Explicit padding leaves elements to place a window on: the table gives no result for a window of one on an axis of
/// none.
Status check_padded(const CheckCall& c) {
  const Ints& x = c.extents("input");
  const PairList padding = c.pairs("padding");
  for (size_t i = 0; i < padding.size(); ++i) {
    const auto [p, q] = padding[i];
    const int64_t extent = x[x.size() - padding.size() + i];
    if (extent <= -p - q)
      return c.fault("O-SW-4", "axis {} of the window has nothing to stand on: the input has {}, padded by ({},{})", i,
                     extent, p, q);
  }
  return {};
}

// ---- Convolutions

/// Extent 1 everywhere but in dimension 1, which is 1 or the number of channels.
Status check_bias(const CheckCall& c, int64_t channels) {
  const Ints& bias = c.extents("bias");
  bool fits = true;
  for (size_t i = 0; i < bias.size(); ++i) fits &= bias[i] == 1 || (i == 1 && bias[i] == channels);
  if (fits) return {};
  return c.fault("O-CONV-5", "bias has shape {}; needed [1,{}] (a number for each output channel) or extents of 1",
                 text(bias), channels);
}

Status check_ranks(const CheckCall& c, std::string_view what) {
  const Ints &x = c.extents("input"), &filter = c.extents(what);
  if (x.size() < 3)
    return c.fault("O-CONV-1", "the input {} has rank {}; needed batch, channels and a spatial dimension or more",
                   text(x), x.size());
  if (filter.size() == x.size()) return {};
  return c.fault("O-CONV-1", "{} {} has rank {}, the input {} rank {}; needed the same", what, text(filter),
                 filter.size(), text(x), x.size());
}

/// The number of groups that the attribute stands for; `channels` are those of the large side.
Result<int64_t> groups_of(const CheckCall& c, int64_t groups, int64_t channels, const Ints& filter) {
  if (groups < 0 || groups > kMax) return c.fault("O-CONV-3", "groups is {}; needed 0 (one a channel) or more", groups);
  const int64_t n = groups == 0 ? channels : groups;
  if (n < 1 || filter[0] % n != 0)
    return c.fault("O-CONV-3", "the filter has batch {}, which {} groups do not divide", filter[0], n);
  return n;
}

/// A convolution of `channels` channels by the filter.
Status check_channels(const CheckCall& c, int64_t channels, const Ints& filter, int64_t groups) {
  NNEX_ASSIGN(const int64_t n, groups_of(c, groups, channels, filter));
  if (checked_mul(filter[1], n) == channels) return {};
  return c.fault("O-CONV-4", "the filter {} takes {} channels in each of {} groups; found {}", text(filter), filter[1],
                 n, channels);
}

/// The reverse; how many channels it gives.
Result<int64_t> reverse_channels(const CheckCall& c, int64_t channels, const Ints& filter, int64_t groups,
                                 const IntList& asked) {
  if (filter[0] != channels)
    return c.fault("O-CONV-4", "the filter {} has batch {}; it is given {} channels, needed the same", text(filter),
                   filter[0], channels);
  NNEX_ASSIGN(const int64_t n, groups_of(c, groups, asked.empty() ? channels : asked[1], filter));
  const auto out = checked_mul(filter[1], n);
  if (!out) return c.fault("O-CONV-4", "there are too many channels");
  return *out;
}

/// What an output_shape says of the result of a deconvolution with this filter.
Status check_asked_shape(const CheckCall& c, const Ints& filter, int64_t channels) {
  const Ints& x = c.extents("input");
  const IntList asked = c.ints("output_shape");
  const int64_t needed[] = {x[0], channels};
  for (size_t i = 0; i < 2 && !asked.empty(); ++i)
    if (asked[i] != needed[i])
      return c.fault("O-SW-7", "output_shape is {} at dimension {}; needed {} ({})", asked[i], i, needed[i],
                     i ? "filter[1] times the groups" : "the batch");
  for (size_t i = 2; i < x.size(); ++i) NNEX_TRY(check_asked(c, i, filter[i], i - 2));
  return {};
}

Status check_asked_length(const CheckCall& c) {
  const Ints& x = c.extents("input");
  const size_t n = c.ints("output_shape").size();
  if (n == 0 || n == x.size()) return {};
  return c.fault("O-SW-7", "output_shape has {} items; needed {}, one for each dimension of {}", n, x.size(), text(x));
}

/// What all convolutions ask for alike.
Status check_lists(const CheckCall& c) {
  NNEX_TRY(check_window(c, c.extents("input").size() - 2, "O-CONV-2"));
  return check_border(c, kValueBorders, "O-CONV-6");
}

Status check_point_filter(const CheckCall& c) {
  NNEX_TRY(check_ranks(c, "plane_filter"));
  NNEX_TRY(check_ranks(c, "point_filter"));
  const Ints &plane = c.extents("plane_filter"), &point = c.extents("point_filter");
  if (plane[1] != 1) return c.fault("O-SEP-1", "plane_filter {} has {} channels; needed 1", text(plane), plane[1]);
  for (size_t i = 2; i < point.size(); ++i)
    if (point[i] != 1)
      return c.fault("O-SEP-1", "point_filter {} has extent {} at dimension {}; needed 1", text(point), point[i], i);
  const int64_t groups = c.integer("groups");
  if (groups > 0 && checked_mul(point[1], groups) != plane[0])
    return c.fault("O-SEP-1", "point_filter {} has {} channels in each of {} groups; plane_filter {} has batch {}",
                   text(point), point[1], groups, text(plane), plane[0]);
  return {};
}

}  // namespace

Status check_conv(CheckCall& c) {
  NNEX_TRY(check_ranks(c, "filter"));
  NNEX_TRY(check_lists(c));
  NNEX_TRY(check_padded(c));
  const Ints& filter = c.extents("filter");
  NNEX_TRY(check_channels(c, c.extents("input")[1], filter, c.integer("groups")));
  return check_bias(c, filter[0]);
}

Status check_deconv(CheckCall& c) {
  NNEX_TRY(check_ranks(c, "filter"));
  NNEX_TRY(check_lists(c));
  NNEX_TRY(check_asked_length(c));
  const Ints& filter = c.extents("filter");
  NNEX_ASSIGN(const int64_t channels,
              reverse_channels(c, c.extents("input")[1], filter, c.integer("groups"), c.ints("output_shape")));
  NNEX_TRY(check_asked_shape(c, filter, channels));
  return check_bias(c, channels);
}

Status check_separable_conv(CheckCall& c) {
  NNEX_TRY(check_point_filter(c));
  NNEX_TRY(check_lists(c));
  NNEX_TRY(check_padded(c));
  const Ints &plane = c.extents("plane_filter"), &point = c.extents("point_filter");
  NNEX_TRY(check_channels(c, c.extents("input")[1], plane, 0));
  NNEX_TRY(check_channels(c, plane[0], point, c.integer("groups")));
  return check_bias(c, point[0]);
}

Status check_separable_deconv(CheckCall& c) {
  NNEX_TRY(check_point_filter(c));
  NNEX_TRY(check_lists(c));
  NNEX_TRY(check_asked_length(c));
  const Ints &plane = c.extents("plane_filter"), &point = c.extents("point_filter");
  NNEX_ASSIGN(const int64_t middle, reverse_channels(c, c.extents("input")[1], point, c.integer("groups"), IntList()));
  NNEX_ASSIGN(const int64_t channels, reverse_channels(c, middle, plane, 0, c.ints("output_shape")));
  NNEX_TRY(check_asked_shape(c, plane, channels));
  return check_bias(c, channels);
}

// ---- Boxes, pools and sampling: every dimension has a window

namespace {

Status check_size(const CheckCall& c, std::string_view rule, std::string_view items_rule) {
  const Ints& x = c.extents("input");
  const size_t n = c.ints("size").size();
  if (n != x.size())
    return c.fault(rule, "size has {} items; needed {}, one for each dimension of {}", n, x.size(), text(x));
  return check_positive(c, "size", items_rule);
}

Status check_box(const CheckCall& c, unsigned borders, std::string_view border_rule) {
  NNEX_TRY(check_size(c, "O-BOX-1", "O-SW-1"));
  NNEX_TRY(check_window(c, c.extents("input").size(), "O-BOX-1"));
  return check_border(c, borders, border_rule);
}

constexpr unsigned kPoolBorders = kValueBorders | kIgnore;

/// What the windows leave of the result: as much as is asked for, or something.
Status check_result(const CheckCall& c) {
  NNEX_TRY(check_asked_length(c));
  const Ints& x = c.extents("input");
  const IntList size = c.ints("size");
  const PairList padding = c.pairs("padding");
  const bool asked = !c.ints("output_shape").empty();
  for (size_t i = 0; i < size.size(); ++i) {
    if (asked) NNEX_TRY(check_asked(c, i, size[i], i));
    if (asked || padding.empty()) continue;
    const auto [p, q] = padding[i];
    const int64_t whole =
        windows_reach(x[i], c.ints("stride").at(i, 1), window_reach(size[i], c.ints("dilation").at(i, 1)));
    if (whole <= p + q)
      return c.fault("O-SW-4", "axis {}: padding ({},{}) leaves nothing of the {} elements that {} windows reach over",
                     i, p, q, whole, x[i]);
  }
  return {};
}

}  // namespace

Status check_pool(CheckCall& c) {
  NNEX_TRY(check_box(c, kPoolBorders, "O-SW-6"));
  return check_padded(c);
}

Status check_reverse_pool(CheckCall& c) {
  NNEX_TRY(check_box(c, kPoolBorders, "O-SW-6"));
  return check_result(c);
}

Status check_sample(CheckCall& c) {
  NNEX_TRY(check_box(c, kValueBorders, "O-SAMPLE-2"));
  NNEX_TRY(check_padded(c));
  const IntList size = c.ints("size");
  Ints needed = c.extents("input");
  for (size_t i = 0; i < needed.size(); ++i) {
    const auto n = windows_over(c, needed[i], size[i], i);
    if (!n) return {};  // the table says so
    needed[i] = *n;
  }
  const Ints& index = c.extents("index");
  if (index == needed) return {};
  return c.fault("O-SAMPLE-1", "index has shape {}; needed {}, that of the result", text(index), text(needed));
}

Status check_desample(CheckCall& c) {
  NNEX_TRY(check_box(c, kConstant, "O-SAMPLE-2"));
  const Ints &x = c.extents("input"), &index = c.extents("index");
  if (index != x)
    return c.fault("O-SAMPLE-1", "index has shape {}; needed {}, that of the input", text(index), text(x));
  return check_result(c);
}

Status check_local_norm(CheckCall& c) { return check_size(c, c.rule, c.rule); }

// ---- Factors and regions of interest

namespace {

/// A list has a positive number for each spatial dimension of the input.
Status check_spatial(const CheckCall& c, std::string_view list) {
  const Ints& x = c.extents("input");
  const size_t n = c.ints(list).size();
  if (x.size() < 2 || n != x.size() - 2)
    return c.fault(c.rule, "{} has {} items; the input {} has {} spatial dimensions, needed one for each", list, n,
                   text(x), x.size() < 2 ? 0 : x.size() - 2);
  return check_positive(c, list, c.rule);
}

/// Of operations that have it.
Status check_method(const CheckCall& c, std::string_view parameter, std::string_view rule) {
  if (!c.has(parameter)) return {};
  const std::string_view method = c.word(parameter);
  if (method == "symmetric" || method == "asymmetric" || method == "aligned") return {};
  return c.fault(rule, "{} is '{}'; needed symmetric, asymmetric or aligned", parameter, method);
}

}  // namespace

Status check_upsample(CheckCall& c) {
  NNEX_TRY(check_spatial(c, "factor"));
  NNEX_TRY(check_method(c, "method", "O-UPS-2"));
  return c.has("border") ? check_border(c, kValueBorders, "O-UPS-2") : Status();
}

Status check_downsample(CheckCall& c) {
  NNEX_TRY(check_spatial(c, "factor"));
  const Ints& x = c.extents("input");
  const IntList factor = c.ints("factor");
  for (size_t i = 0; i < factor.size(); ++i)
    if (x[i + 2] % factor[i] != 0)
      return c.fault(c.rule, "extent {} of dimension {} does not divide by the factor {}", x[i + 2], i + 2, factor[i]);
  return {};
}

/// sampling_rate may have an item for every dimension, as the standard's own definition does: 1 for batch and channels.
Status check_roi(CheckCall& c) {
  const Ints& x = c.extents("input");
  if (x.size() < 3)
    return c.fault(c.rule, "the input {} has rank {}; needed batch, channels and a spatial dimension or more", text(x),
                   x.size());
  NNEX_TRY(check_spatial(c, "output_size"));
  NNEX_TRY(check_method(c, "method", c.rule));
  NNEX_TRY(check_method(c, "resize_method", c.rule));
  if (!c.has("sampling_rate")) return {};
  const IntList rate = c.ints("sampling_rate");
  if (rate.size() == x.size() - 2 || (rate.size() == x.size() && rate[0] == 1 && rate[1] == 1)) return {};
  return c.fault(c.rule, "sampling_rate has {} items; needed {}, one for each spatial dimension", rate.size(),
                 x.size() - 2);
}

}  // namespace nnex::nnef_format
