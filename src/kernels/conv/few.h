#pragma once
// Convolutions from many channels to few: vectors run along lines of planes, of which those under some lines are copied
// with their border.

#include "kernels/conv/conv.h"

namespace nnex::kernels {

/// Whether a convolution is one of these: one or two axes in steps of one, to at most four channels. Tiles of pixels
/// would leave most of each vector empty. The shape alone decides.
bool is_few_conv(const ConvShape& shape);

/// Floats of the packed filter: [out_channels, taps, in_channels].
int64_t few_filter_floats(const ConvShape& shape);
void pack_few_filter(const ConvShape& shape, const std::byte* filter, float* packed);

/// Bytes of workspace conv_few() needs with a team of `threads`.
int64_t few_workspace(const simd::Loops& loops, const ConvShape& shape, int threads);

/// As conv(), the same bytes as its tiles give. `planes`: x is [batch, in_channels, in...] and y [batch, out_channels,
/// out...], dense, and there is no residual.
void conv_few(const simd::Loops& loops, Team& team, const ConvShape& shape, bool planes, const float* x,
              const float* packed, float* y, const Epilogue& end, std::byte* workspace);

}  // namespace nnex::kernels
