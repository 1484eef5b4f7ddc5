#pragma once
// Weights of products that are stored in 4, 8 or 16 bits, and read where they are.

#include <cstdint>

#include "kernels/product/loops_tile.h"

namespace nnex::kernels::simd {

/// One panel of `columns` columns, which are whole vectors. Row k of column j is the code in bits
/// (k % (32 / bits)) * bits and up of words[k / (32 / bits) * columns + j], and stands for (code - zero) * scale, the
/// difference exact, the product rounded. Rows of a block share scale[k / block * columns + j] and the zero point at
/// the same place of zero, or one_zero where that is null. With a codebook a code of 4 bits stands for codebook[code] *
/// scale. Of 16 bits, row k of column j is the float16, or bfloat16,
/// halves[k * columns + j], and nothing else is read.
struct CodePanel {
  int bits = 4;
  bool brain = false;  ///< bfloat16.
  int columns = 0;
  const uint16_t* halves = nullptr;
  const uint32_t* words = nullptr;
  const float* scale = nullptr;
  const uint8_t* zero = nullptr;
  const float* codebook = nullptr;  ///< 16 numbers.
  int32_t one_zero = 0;
  int64_t block = 8;  ///< A multiple of 8.
};

constexpr int kCodeTileRows = 4;  ///< Of tiles that read codes.

/// A tile whose rows are one run of all k and whose sums begin at 0; its b is that of `codes`. One row may have two
/// whole panels: words, scales, zero points or halves of the second follow those of the first.
struct CodeTile {
  Tile tile;
  CodePanel codes;
};

}  // namespace nnex::kernels::simd
