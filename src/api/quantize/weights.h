#pragma once
// Constants as codes.

#include <vector>

#include "api/quantize/choose.h"
#include "base/try.h"
#include "nnex/quantize.h"

namespace nnex {

/// Codes of 8 bits of a tensor's range.
struct ByteCodes {
  float scale = 1;
  int32_t zero = 0;
};
/// Unsigned codes; 0 has one exactly.
ByteCodes codes_of(const CodeRange& range);

/// Signed codes of a weight, -127 to 127, and the scale of each output, or one of all.
struct CodedWeight {
  Tensor codes;
  std::vector<float> scales;
  /// By output and channel of the input: the sum over the taps of what rounding added, in weights.
  std::vector<double> added;
};
/// `min_scales`: scales that the biases need, by output.
Result<CodedWeight> coded_weight(const Tensor& w, const ProductShape& shape, bool per_channel,
                                 const std::vector<float>& min_scales);

/// For each output the least scale with which its bias, in steps of x_scale times it, fits an accumulator beside the
/// sums: of outputs whose weights are next to nothing, the bias is all.
std::vector<float> scales_for_bias(const std::vector<float>& bias, float x_scale);

/// Takes from each bias what rounding added to its weights, times the mean of the channels they weigh.
void correct_bias(const std::vector<float>& means, const ProductShape& shape, const std::vector<double>& added,
                  std::vector<float>& bias);

/// Codes of 4 bits in blocks along an axis, -7 to 7 each times its block's scale: the one of least squared error among
/// a few.
struct BlockedWeight {
  Tensor codes, scales;
};
Result<BlockedWeight> blocked_weight(const Tensor& w, int64_t axis, int64_t block);

}  // namespace nnex
