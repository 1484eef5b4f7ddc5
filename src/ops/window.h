#pragma once
// Sliding windows: the attributes and extents that convolutions and pools share (operators.md 4.1, 4.2).

#include <array>

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

/// One axis of a window at known extents.
struct AxisWindow {
  int64_t size = 1, stride = 1, dilation = 1, before = 0, after = 0, input = 1, output = 1;
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
