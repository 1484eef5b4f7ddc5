#include "ops/window.h"

#include <algorithm>

#include "base/checked.h"

namespace nnex {
namespace {
constexpr int64_t kMost =
    int64_t{1} << 40;  ///< Strides, dilations, pads and sizes beyond this are nonsense, and would overflow.
}

Result<AxisWindow> window_of(int64_t input, int64_t size, int64_t stride, int64_t dilation,
                             std::pair<int64_t, int64_t> pads, AutoPad automatic, bool ceil) {
  for (int64_t n : {size, stride, dilation})
    if (n < 1 || n > kMost)
      return Error(Code::invalid_model,
                   fmt::format("window size {}, stride {} and dilation {} must be at least 1", size, stride, dilation));
  for (int64_t n : {pads.first, pads.second})
    if (n < -kMost || n > kMost) return Error(Code::invalid_model, fmt::format("padding {} is out of range", n));
  auto span = checked_mul(size - 1, dilation);
  if (!span) return Error(Code::invalid_model, "the dilated window is too long");
  const int64_t reach = *span + 1;
  AxisWindow w{size, stride, dilation, pads.first, pads.second, input, 0};
  if (automatic != AutoPad::off) {
    w.output = ceil_div(input, stride);
    const int64_t total = std::max<int64_t>((w.output - 1) * stride + reach - input, 0);
    w.before = automatic == AutoPad::same_upper ? total / 2 : total - total / 2;
    w.after = total - w.before;
    return w;
  }
  const int64_t room = input + w.before + w.after - reach;
  if (room < 0)
    return Error(Code::invalid_model, fmt::format("a window of {} elements does not fit into {} padded by ({}, {})",
                                                  reach, input, w.before, w.after));
  w.output = (ceil ? ceil_div(room, stride) : room / stride) + 1;
  if (ceil) w.output = std::min(w.output, std::max<int64_t>(ceil_div(input + w.before, stride), 0));
  return w;
}

Dim window_extent(const Dim& input, int64_t size, int64_t stride, int64_t dilation, std::pair<int64_t, int64_t> pads,
                  AutoPad automatic, bool ceil) {
  if (automatic != AutoPad::off) return ceil_div(input, Dim(stride));
  // Rounded up, and no window begins past the input and the padding before it: the lesser of
  // ceil((X + p + q - reach) / s) + 1 and ceil((X + p) / s), which does not depend on X.
  const int64_t reach = (size - 1) * dilation + 1;
  if (ceil && pads.second + stride >= reach) return ceil_div(input + Dim(pads.first), Dim(stride));
  if (ceil) return ceil_div(input + Dim(pads.first + pads.second - reach), Dim(stride)) + Dim(1);
  return floor_div(input + Dim(pads.first + pads.second - (size - 1) * dilation - 1), Dim(stride)) + Dim(1);
}

}  // namespace nnex
