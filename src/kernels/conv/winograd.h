#pragma once
// Convolutions with 3x3 filters by Winograd's F(2x2, 3x3): 16 products of matrices over patches of 4x4 pixels make 2x2
// outputs each, with 16 multiplications where the definition has 36. Each product is one multiply-add chain over
// ascending channels; the transforms around it are additions in a fixed order (kernels/conv/loops_winograd.h).

#include "kernels/conv/conv.h"

namespace nnex::kernels {

/// Whether a convolution is computed so: a 3x3 filter that moves by one, with channels and pixels enough to pay for the
/// transforms. The shape of one image alone decides.
bool is_winograd_conv(const ConvShape& shape);

int64_t winograd_filter_floats(const simd::Loops& loops, const ConvShape& shape);
void pack_winograd_filter(const simd::Loops& loops, Team& team, const ConvShape& shape, const std::byte* filter,
                          float* packed);
int64_t winograd_workspace(const ConvShape& shape, int threads);

/// As conv().
void conv_winograd(const simd::Loops& loops, Team& team, const ConvShape& shape, const float* x, const float* packed,
                   float* y, const Epilogue& end, std::byte* workspace);

}  // namespace nnex::kernels
