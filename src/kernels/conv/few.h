#pragma once
// Convolutions from many channels to few: vectors run along lines of planes, of which those under some lines are copied
// with their border.

#include "kernels/conv/conv.h"

namespace nnex::kernels {

/// Filters of a convolution that may be one of these: tiles of pixels would leave much of each vector empty.
constexpr int64_t kMaxFewOutputs = 14, kMinInputsToFew = 8, kMinTapsToFew = 3;

/// Whether a convolution is one of these, in steps of one along one or two axes. The shape alone decides.
bool is_few_conv(const ConvShape& shape);

/// Floats of the packed filter: [out_channels, taps, in_channels].
int64_t few_filter_floats(const ConvShape& shape);
void pack_few_filter(const ConvShape& shape, const std::byte* filter, float* packed);

/// Bytes of workspace conv_few() needs with a team of `threads`.
int64_t few_workspace(const ConvShape& shape, int threads);

/// As conv(), the same bytes as its tiles give. `planes`: x is [batch, in_channels, in...] and y [batch, out_channels,
/// out...], dense, and there is no residual.
void conv_few(const simd::Loops& loops, Team& team, const ConvShape& shape, bool planes, const float* x,
              const float* packed, float* y, const Epilogue& end, std::byte* workspace);

}  // namespace nnex::kernels
