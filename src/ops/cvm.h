#pragma once
// Attributes of CVM's own operators.

#include "ops/attrs.h"

namespace nnex {

struct CvmClipAttrs {
  int64_t precision = 0;
  bool is_sign = true;
};

struct CvmShiftAttrs {
  int64_t precision = 0;
  int64_t shift_bit = 0;
  bool is_sign = true;
};

struct ValidCountsAttrs {
  int64_t score_threshold = 0;
};

struct CvmSuppressAttrs {
  int64_t iou_threshold = 50;
  int64_t max_output_size = -1;
  int64_t top_k = -1;
  bool force_suppress = false;
};

/// round-half-up of x / 2^shift, x and shift (1..32) as CVM's formula has them: ((x >> (shift - 1)) + 1) >> 1.
constexpr int64_t cvm_right_shifted(int64_t x, int64_t shift) { return ((x >> (shift - 1)) + 1) >> 1; }

/// Overlap of two boxes {x1, y1, x2, y2} in whole percent, by CVM's integer formula; boxes are not repaired.
int64_t cvm_overlap_percent(const int32_t* a, const int32_t* b);

}  // namespace nnex
