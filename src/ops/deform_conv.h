#pragma once
// Convolution whose taps are moved by data: its attributes and ports.

#include "ops/conv.h"

namespace nnex {

struct DeformConvAttrs {
  Ints stride, dilation;
  Pairs padding;
  int64_t groups = 1, offset_groups = 1;
};

enum : size_t { kDeformX, kDeformFilter, kDeformOffset, kDeformBias, kDeformMask };

/// The convolution whose windows these are.
ConvAttrs deform_windows(const DeformConvAttrs& a);

}  // namespace nnex
