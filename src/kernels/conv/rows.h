#pragma once
// Windows of a channels-last tensor as the rows of a product: one row for each output pixel.

#include "kernels/conv/conv.h"
#include "kernels/lift.h"
#include "kernels/product/tiles.h"

namespace nnex::kernels {

/// Output pixels of a batch in tiles: pieces of a line, or where lines are short, of the sequence of all pixels. Row
/// values are x at tap 0, 1, ... each with its group's channels, lifted; lift.outside() outside x.
template <class Lift>
class ConvRows final : public RowSource<typename Lift::To> {
 public:
  using From = typename Lift::From;
  using To = typename Lift::To;
  ConvRows(const simd::TileShape& tile, const ConvShape& shape, const Lift& lift, const From* x);

  int64_t rows() const override { return lines_ * width_; }
  int64_t tiles() const override { return lines_ * line_tiles_; }
  TileRows tile(int64_t t) const override;
  bool any_depth() const override { return false; }
  int runs(const TileRows& rows, int64_t k0, int64_t depth, int64_t panels, To* scratch,
           simd::RowRunOf<To>* out) const override;

 private:
  /// Where an output pixel's window begins: image and coordinates in x, possibly outside.
  struct Window {
    const From* image;
    int64_t z, y, x;
  };
  /// A place in the values of a window: a span of taps side by side, and a value of it.
  struct Place {
    int64_t z_tap, y_tap, x_tap, within;
  };
  Window window(int64_t line, int64_t column) const;
  Place place(int64_t k) const;
  void advance(Place& place, int64_t count) const;
  const From* line_of(const Window& window, const Place& place) const;
  bool can_stay(const TileRows& rows, const Window& first) const;
  /// Of a tile.
  int64_t rows_of(const simd::TileShape& tile) const;
  int stay(const Window& first, int64_t k0, int64_t depth, simd::RowRunOf<To>* out) const;
  void copy_rows(Window window, Place from, int64_t depth, int count, To* out) const;
  void copy_edge(const From* line, int64_t x, int64_t begin, int64_t count, To* out) const;

  const ConvShape& s_;
  const Lift lift_;
  const From* x_;
  int64_t lines_;       // of output pixels; one of all of them when tiles ignore lines
  int64_t width_;       // output pixels of a line
  int64_t line_tiles_;  // tiles of a line
  int64_t tile_rows_;   // pixels of its tiles; the first `longer_tiles_` have one more
  int64_t longer_tiles_;
  int64_t channels_;                       // of a group
  int64_t span_taps_;                      // taps whose values lie side by side in x: all of the last axis, or one
  int64_t span_;                           // their values
  bool whole_lines_;                       // tiles keep to one output line
  bool few_runs_;                          // a tile's values are few enough spans
  alignas(64) To outside_[kMaxDepth<To>];  // a row outside x
};

extern template class ConvRows<LiftFloat>;
extern template class ConvRows<LiftBytes>;
extern template class ConvRows<LiftWide>;

}  // namespace nnex::kernels
