#pragma once
// Sliding windows: the attributes and extents that convolutions and pools share.

#include <array>

#include "base/checked.h"
#include "ops/attrs.h"
#include "ops/infer_call.h"

namespace nnex {

enum class AutoPad : uint8_t { off, same_upper, same_lower };
constexpr std::array<std::string_view, 3> enumerators(AutoPad) { return {"off", "same_upper", "same_lower"}; }

enum class ConvBorder : uint8_t { constant, replicate, reflect, reflect_even };
constexpr std::array<std::string_view, 4> enumerators(ConvBorder) {
  return {"constant", "replicate", "reflect", "reflect_even"};
}

struct ConvAttrs {
  Ints stride, dilation;
  Pairs padding;
  AutoPad auto_pad = AutoPad::off;
  int64_t groups = 1;
  ConvBorder border = ConvBorder::constant;
  bool channels_last = false;
};

// The rule of windows, which every standard goes by. Results end at 2^62 either way: numbers out of files do not wrap.

constexpr int64_t kMaxReach = int64_t{1} << 62;

/// first + n step, within those bounds.
constexpr int64_t reach_on(int64_t first, int64_t n, int64_t step) {
  int64_t way = 0, end = 0;
  const bool beyond = __builtin_mul_overflow(n, step, &way) || __builtin_add_overflow(way, first, &end);
  if (beyond) return (n < 0) != (step < 0) ? -kMaxReach : kMaxReach;
  return end > kMaxReach ? kMaxReach : end < -kMaxReach ? -kMaxReach : end;
}

/// Elements from the first tap of a window to its last.
constexpr int64_t window_reach(int64_t size, int64_t dilation) { return reach_on(1, size - 1, dilation); }

/// How many windows there are on an axis of `padded` elements that one of them fits on; rounded up, the last may go
/// beyond its end.
constexpr int64_t window_count(int64_t padded, int64_t reach, int64_t stride, bool ceil) {
  const int64_t room = padded - reach;
  return (ceil ? ceil_div(room, stride) : floor_div(room, stride)) + 1;
}

/// How many there are where padding is automatic.
constexpr int64_t automatic_count(int64_t input, int64_t stride) { return ceil_div(input, stride); }

/// The reverse: elements from the first tap of the first of `count` windows to the last tap of the last.
constexpr int64_t windows_reach(int64_t count, int64_t stride, int64_t reach) {
  return reach_on(reach, count - 1, stride);
}

/// One axis of a window at known extents.
struct AxisWindow {
  int64_t size = 1, stride = 1, dilation = 1, before = 0, after = 0, input = 1, output = 1;

  int64_t reach() const { return window_reach(size, dilation); }
  /// What windows that begin at each of `count` elements reach over, `stride` apart.
  int64_t reach_of(int64_t count) const { return windows_reach(count, stride, reach()); }
};

/// The item of a list with one entry an axis; `otherwise` where the list is empty.
inline int64_t entry(const Ints& list, size_t i, int64_t otherwise) { return i < list.size() ? list[i] : otherwise; }

/// Whether the numbers of a window over one axis are such that none of what follows from them passes 63 bits.
Status check_window(int64_t size, int64_t stride, int64_t dilation, std::pair<int64_t, int64_t> pads);
/// Pads and output extent of one axis. Error: what is wrong, without the operator's name.
Result<AxisWindow> window_of(int64_t input, int64_t size, int64_t stride, int64_t dilation,
                             std::pair<int64_t, int64_t> pads, AutoPad automatic, bool ceil);
/// The output extent when the input's is a formula; of numbers that check_window() lets pass.
Dim window_extent(const Dim& input, int64_t size, int64_t stride, int64_t dilation, std::pair<int64_t, int64_t> pads,
                  AutoPad automatic, bool ceil);

}  // namespace nnex
