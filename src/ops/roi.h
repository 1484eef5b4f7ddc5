#pragma once

#include <array>

#include "ops/attrs.h"

namespace nnex {

/// How a region is cut into cells: extents ceil(r / p) every floor(r / p), or from floor(i r / p) to ceil((i + 1) r /
/// p).
enum class RoiCells : uint8_t { uniform, spread };
constexpr std::array<std::string_view, 2> enumerators(RoiCells) { return {"uniform", "spread"}; }

/// Where the samples of a region of r elements stand when there are n: symmetric (i + 1/2) r / n - 1/2, asymmetric
/// i r / n, aligned i (r - 1) / (n - 1).
enum class RoiTransform : uint8_t { symmetric, asymmetric, aligned };
constexpr std::array<std::string_view, 3> enumerators(RoiTransform) { return {"symmetric", "asymmetric", "aligned"}; }

/// half_pixel: corners count from the middle of elements; output_half_pixel: from their edge, and a region has at least
/// one element.
enum class RoiAlignTransform : uint8_t { half_pixel, output_half_pixel };
constexpr std::array<std::string_view, 2> enumerators(RoiAlignTransform) { return {"half_pixel", "output_half_pixel"}; }

enum class RoiMode : uint8_t { avg, max };
constexpr std::array<std::string_view, 2> enumerators(RoiMode) { return {"avg", "max"}; }

struct RoiPoolAttrs {
  Ints output_size;
  RoiCells cells = RoiCells::uniform;
  bool inclusive = false;
};

struct RoiResampleAttrs {
  Ints output_size, sampling;
  RoiTransform transform = RoiTransform::symmetric;
};

struct RoiAlignAttrs {
  Ints output_size = {1, 1};
  int64_t sampling = 0;
  double scale = 1;
  RoiAlignTransform transform = RoiAlignTransform::half_pixel;
  RoiMode mode = RoiMode::avg;
};

}  // namespace nnex
