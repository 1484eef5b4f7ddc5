#pragma once
// Convolutions of bytes over few channels (pictures): a copy of x with its border, lifted, in which the window of every
// output pixel is one run of bytes a row, read where it is.

#include "kernels/conv/conv.h"
#include "kernels/lift.h"
#include "kernels/product/tiles.h"

namespace nnex::kernels {

/// Whether a convolution is one of these: a plane of few channels, or of more where tiles take no bytes as they are and
/// windows would be copied. The shape decides.
bool is_span_conv(const simd::Loops& loops, const ConvShape& shape);

/// Values of a window's row with those added to fill a group of k: they meet zero points of the filter.
int64_t span_values(const ConvShape& shape, int64_t group);

/// Values of the copy.
int64_t span_copy_values(const ConvShape& shape);

template <class Lift>
class SpanRows final : public RowSource<typename Lift::To> {
 public:
  using To = typename Lift::To;
  /// Makes the copy; it outlives this. `span`: values of a window's row as the filter was packed (span_values).
  SpanRows(Team& team, const simd::TileShape& tile, const ConvShape& shape, int64_t span, const Lift& lift,
           const typename Lift::From* x, To* copy);

  int64_t rows() const override { return lines_ * s_.out[2]; }
  int64_t tiles() const override { return lines_ * line_tiles_; }
  TileRows tile(int64_t t) const override;
  bool any_depth() const override { return true; }
  int runs(const TileRows& rows, int64_t k0, int64_t depth, int64_t panels, To* scratch,
           simd::RowRunOf<To>* out) const override;

 private:
  void copy_line(const Lift& lift, const typename Lift::From* line, To* to) const;

  const ConvShape& s_;
  const int64_t span_;
  const To* copy_;
  int64_t lines_, line_tiles_, tile_rows_, longer_tiles_;
  int64_t copy_rows_, copy_step_;  // of one image; values of a row
};

extern template class SpanRows<LiftBytes>;
extern template class SpanRows<LiftWide>;

}  // namespace nnex::kernels
