#pragma once
// Transposed windows: extents and attributes of deconvolutions.

#include <optional>
#include <vector>

#include "ops/window.h"

namespace nnex {

struct DeconvAttrs {
  Ints stride, dilation;
  Pairs padding;
  AutoPad auto_pad = AutoPad::off;
  int64_t groups = 1;
  Ints output_padding, output_shape;
  ConvBorder border = ConvBorder::constant;
  bool channels_last = false;
};

/// One axis at known extents: `input` is the small side, `output` the large one, which starts `before` elements into
/// the sum of all windows. Error: what is wrong, without the operator's name.
Result<AxisWindow> reverse_window_of(const DeconvAttrs& a, size_t axis, int64_t input, int64_t size);
/// The large side's extent when the small side's is a formula; what is wrong with the attributes, else.
Result<Dim> reverse_extent(const DeconvAttrs& a, size_t axis, const Dim& input, int64_t size);
/// Extents as [batch, channels, spatial...], which are [batch, spatial..., channels] where channels come last.
Shape channels_first(const Shape& shape, bool channels_last);
/// All spatial axes of x [batch, channels, ...] and a filter [in, out / groups, ...].
Result<std::vector<AxisWindow>> reverse_windows(const DeconvAttrs& a, const Shape& x, const Shape& filter);

}  // namespace nnex
