#pragma once
// Depthwise convolution, or of few channels, whose channels come first: every output channel is one plane under its own
// filter, computed along lines. Sums are those of kernels/conv/conv.h: the same bytes in either layout.

#include "kernels/conv/conv.h"

namespace nnex::kernels {

/// Whether a convolution is one of these: one input channel for each group, or few without groups, and lines short
/// enough for a copy of those under the filter. The shape alone decides.
bool is_plane_conv(const ConvShape& shape);
/// Along lines, where there are but one or few input channels, and no groups.
constexpr int64_t kMaxStepOfOne = 2, kMaxTapsOfOne = 7, kMaxInputsOfPlanes = 4;
/// Of one tap on every pixel, which is multiplied where it lies: pixels of a plane, and where there are groups,
/// channels of a group on either side.
constexpr int64_t kMinPointwisePixels = 128, kMinPointwiseChannels = 16;
/// Output channels of a deconvolution that lines of them are added up for (node_transposed_few.cpp).
constexpr int64_t kMaxFewChannels = 4;

/// Floats of the packed filter: [out_channels, taps, inputs of a group].
int64_t plane_filter_floats(const ConvShape& shape);
void pack_plane_filter(const ConvShape& shape, const std::byte* filter, float* packed);

/// Bytes of workspace conv_planes() needs with a team of `threads`.
int64_t plane_workspace(const simd::Loops& loops, const ConvShape& shape, int threads);

/// y[batch, out_channels, out...] = finish(x[batch, in_channels, in...] * filter). The epilogue's bias has one number a
/// channel; row_bias and residual are not used. y overlaps nothing that is read; `workspace` is aligned to 64 bytes.
void conv_planes(const simd::Loops& loops, Team& team, const ConvShape& shape, const float* x, const float* packed,
                 float* y, const Epilogue& end, std::byte* workspace);

}  // namespace nnex::kernels
