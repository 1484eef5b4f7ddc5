#include "ops/window.h"

#include <algorithm>

#include "base/failure.h"

namespace nnex {
namespace {

/// Extents, strides, dilations, pads and sizes beyond this are nonsense, and would overflow.
constexpr int64_t kMax = int64_t{1} << 40;

}  // namespace

Status check_window(int64_t size, int64_t stride, int64_t dilation, std::pair<int64_t, int64_t> pads) {
  for (int64_t n : {size, stride, dilation})
    if (n < 1 || n > kMax)
      return failure(Code::invalid_model, "window size {}, stride {} and dilation {} must be at least 1{}", size,
                     stride, dilation, n < 1 ? "" : ", at most 2^40");
  for (int64_t n : {pads.first, pads.second})
    if (n < -kMax || n > kMax) return failure(Code::invalid_model, "found padding {}; needed -2^40 to 2^40", n);
  if (const auto span = checked_mul(size - 1, dilation); !span || *span > kMax)
    return Error(Code::invalid_model, "the dilated window is longer than 2^40");
  return {};
}

Result<AxisWindow> window_of(int64_t input, int64_t size, int64_t stride, int64_t dilation,
                             std::pair<int64_t, int64_t> pads, AutoPad automatic, bool ceil) {
  NNEX_TRY(check_window(size, stride, dilation, pads));
  if (input > kMax) return failure(Code::limit, "found an extent of {}; windows reach over 2^40", input);
  const int64_t reach = window_reach(size, dilation);
  AxisWindow w{size, stride, dilation, pads.first, pads.second, input, 0};
  if (automatic != AutoPad::off) {
    w.output = automatic_count(input, stride);
    const int64_t total = std::max<int64_t>(w.reach_of(w.output) - input, 0);
    w.before = automatic == AutoPad::same_upper ? total / 2 : total - total / 2;
    w.after = total - w.before;
    return w;
  }
  const int64_t room = input + w.before + w.after - reach;
  const bool nothing = room == -1 && reach == 1;  // one element has no place on an axis of none
  const bool begins = ceil && room > -stride;     // rounded up, a window that begins inside is one
  if (room < 0 && !nothing && !begins)
    return failure(Code::invalid_model, "a window of {} elements does not fit into {} padded by ({}, {})", reach, input,
                   w.before, w.after);
  w.output = window_count(input + w.before + w.after, reach, stride, ceil);
  if (ceil) w.output = std::min(w.output, std::max<int64_t>(ceil_div(input + w.before, stride), 0));
  return w;
}

Dim window_extent(const Dim& input, int64_t size, int64_t stride, int64_t dilation, std::pair<int64_t, int64_t> pads,
                  AutoPad automatic, bool ceil) {
  if (automatic != AutoPad::off) return ceil_div(input, Dim(stride));
  // Rounded up, and no window begins past the input and the padding before it: the lesser of
  // ceil((X + p + q - reach) / s) + 1 and ceil((X + p) / s), which does not depend on X.
  const int64_t reach = window_reach(size, dilation);
  if (stride == 1 && !ceil) return input + Dim(pads.first + pads.second - reach + 1);
  if (ceil && pads.second + stride >= reach) return ceil_div(input + Dim(pads.first), Dim(stride));
  if (ceil) return ceil_div(input + Dim(pads.first + pads.second - reach), Dim(stride)) + Dim(1);
  return floor_div(input + Dim(pads.first + pads.second - reach), Dim(stride)) + Dim(1);
}

}  // namespace nnex
