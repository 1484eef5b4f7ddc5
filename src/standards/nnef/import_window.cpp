// Windows on their way to the table: automatic padding, groups, biases, borders.

#include "ops/window.h"
#include "standards/nnef/import_call.h"

namespace nnex::nnef_format {
namespace {

/// No padding means automatic padding, which is the table's same_upper.
void automatic_padding(ImportCall& c) {
  if (!c.empty("padding")) return;
  c.drop("padding");
  c.set("auto_pad", std::string("same_upper"));
}

/// A bias of a number, [1,1] or [1,c] as [c]; 0.0 is absent.
Status flat_bias(ImportCall& c, int64_t channels) {
  const Ints& e = c.extents("bias");
  if (c.literal("bias") == 0.0) {
    c.in.pop_back();  // the last of the tensors
    return {};
  }
  ValueId& bias = c.value("bias");
  const bool full = e.size() > 1 && e[1] == channels;
  bias = c.reshaped(bias, {full ? channels : 1});
  if (!full && channels != 1) bias = c.expanded(bias, channels);
  return {};
}

/// The large side's extents as text gives them, batch and channels left out: the table has none for those.
void spatial_output_shape(ImportCall& c, const Ints& input, const Ints& filter) {
  const Ints asked = c.ints("output_shape");
  c.drop("output_shape");
  if (asked.empty()) return;
  if (c.find("auto_pad")) {
    c.set("output_shape", Ints(asked.begin() + 2, asked.end()));
    return;
  }
  // Explicit padding: what the windows leave out of the extent asked for comes after them.
  const Ints stride = c.ints("stride"), dilation = c.ints("dilation");
  const Pairs padding = std::get<Pairs>(*c.find("padding"));
  Ints more;
  for (size_t i = 0; i + 2 < input.size(); ++i) {
    const int64_t s = stride.empty() ? 1 : stride[i], d = dilation.empty() ? 1 : dilation[i];
    const int64_t reached =
        windows_reach(input[i + 2], s, window_reach(filter[i + 2], d)) - padding[i].first - padding[i].second;
    more.push_back(asked[i + 2] - reached);
  }
  c.set("output_padding", std::move(more));
}

int64_t groups_of(ImportCall& c, int64_t channels) {
  const int64_t given = std::get<int64_t>(*c.find("groups"));
  return given == 0 ? channels : given;
}

}  // namespace

Status import_conv(ImportCall& c) {
  automatic_padding(c);
  c.set("groups", groups_of(c, c.extents("input")[1]));
  return flat_bias(c, c.extents("filter")[0]);
}

Status import_deconv(ImportCall& c) {
  automatic_padding(c);
  const Ints asked = c.ints("output_shape");
  const Ints& filter = c.extents("filter");
  const int64_t groups = groups_of(c, asked.empty() ? c.extents("input")[1] : asked[1]);
  c.set("groups", groups);
  spatial_output_shape(c, c.extents("input"), filter);
  return flat_bias(c, filter[1] * groups);
}

/// The row's own groups are those of the second, one-tap convolution.
Status import_separable_conv(ImportCall& c) {
  automatic_padding(c);
  c.set("groups", groups_of(c, c.extents("plane_filter")[0]));
  return flat_bias(c, c.extents("point_filter")[0]);
}

Status import_separable_deconv(ImportCall& c) {
  automatic_padding(c);
  const Ints& plane = c.extents("plane_filter");
  c.set("groups", groups_of(c, c.extents("input")[1]));
  spatial_output_shape(c, c.extents("input"), plane);
  return flat_bias(c, plane[0]);
}

Status import_pool(ImportCall& c) {
  automatic_padding(c);
  return {};
}

/// The index alone: the table's max_pool, whose first result nobody names.
Status import_argmax_pool(ImportCall& c) {
  automatic_padding(c);
  NNEX_ASSIGN(const NodeId id, c.spelled("argmax_pool", 2));
  c.graph().drop_output(id, 0);
  c.give(c.graph()[id].out[1]);
  return {};
}

Status import_reverse_pool(ImportCall& c) {
  automatic_padding(c);
  if (c.empty("output_shape")) c.drop("output_shape");
  return {};
}

/// Every factor-th element.
Status import_nearest_downsample(ImportCall& c) {
  const Ints factor = c.ints("factor");
  const Ints& x = c.extents("input");
  Ints axes, begin(factor.size(), 0), end(x.begin() + 2, x.end());
  for (size_t i = 0; i < factor.size(); ++i) axes.push_back(static_cast<int64_t>(i) + 2);
  c.set("axes", std::move(axes));
  c.set("begin", std::move(begin));
  c.set("end", std::move(end));
  return {};
}

/// sampling_rate may be written for all dimensions, as the standard's own definition does.
Status import_roi_align(ImportCall& c) {
  const Ints rate = c.ints("sampling_rate");
  const auto spatial = static_cast<ptrdiff_t>(c.rank("input") - 2);
  c.set("sampling_rate", Ints(rate.end() - spatial, rate.end()));
  return {};
}

}  // namespace nnex::nnef_format
