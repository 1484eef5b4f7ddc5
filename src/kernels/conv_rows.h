#pragma once
// Windows of a channels-last tensor as the rows of a product: one row for each output pixel.

#include "kernels/conv.h"
#include "kernels/tiles.h"

namespace nnex {

/// Output pixels of a batch in tiles: pieces of a line, or where lines are short, of the sequence of all pixels. Row
/// values are x at tap 0, 1, ... each with its group's channels; zeros outside x.
class ConvRows final : public RowSource {
 public:
  ConvRows(const simd::TileShape& tile, const ConvShape& shape, const float* x);

  int64_t rows() const override { return lines_ * width_; }
  int64_t tiles() const override { return lines_ * line_tiles_; }
  TileRows tile(int64_t t) const override;
  bool any_depth() const override { return false; }
  int runs(int64_t t, int64_t k0, int64_t depth, int64_t panels, float* scratch, simd::RowRun* out) const override;

 private:
  /// Where an output pixel's window begins: image and coordinates in x, possibly outside.
  struct Window {
    const float* image;
    int64_t z, y, x;
  };
  Window window(int64_t row) const;
  bool line_inside(const Window& window, int64_t z_tap, int64_t y_tap) const;
  const float* line(const Window& window, int64_t z_tap, int64_t y_tap) const;
  bool can_stay(const TileRows& rows) const;
  int stay(const Window& first, int64_t k0, int64_t depth, simd::RowRun* out) const;
  void copy_row(const Window& window, int64_t k0, int64_t depth, float* out) const;
  void copy_span(const Window& window, int64_t tap, int64_t begin, int64_t count, float* out) const;

  const ConvShape& s_;
  const float* x_;
  int64_t lines_;       // of output pixels; one of all of them when tiles ignore lines
  int64_t width_;       // output pixels of a line
  int64_t line_tiles_;  // tiles of a line
  int64_t channels_;    // of a group
  int64_t span_taps_;   // taps whose values lie side by side in x: all of the last axis, or one
  bool whole_lines_;    // tiles keep to one output line
};

}  // namespace nnex
