#pragma once
// A strided matrix as the rows of a product.

#include "base/checked.h"
#include "kernels/lift.h"
#include "kernels/product/tiles.h"

namespace nnex::kernels {

/// m rows in tiles of nearly equal size, values lifted.
template <class Lift>
class MatrixRows final : public RowSource<typename Lift::To> {
 public:
  using From = typename Lift::From;
  using To = typename Lift::To;

  MatrixRows(const simd::TileShape& shape, const Lift& lift, const From* a, int64_t m, int64_t row_stride,
             int64_t col_stride)
      : lift_(lift),
        a_(a),
        m_(m),
        row_stride_(row_stride),
        col_stride_(col_stride),
        tiles_(ceil_div(m, rows_of(shape))),
        tile_rows_(m / std::max<int64_t>(tiles_, 1)),
        longer_tiles_(m % std::max<int64_t>(tiles_, 1)) {}

  int64_t rows() const override { return m_; }
  int64_t tiles() const override { return tiles_; }
  TileRows tile(int64_t t) const override {
    return {tile_rows_ * t + std::min(t, longer_tiles_), static_cast<int>(tile_rows_ + (t < longer_tiles_ ? 1 : 0)), 0,
            0};
  }
  bool any_depth() const override { return Lift::kGroup == 1 && tiles_ == 1 && can_stay(); }

  int runs(const TileRows& rows, int64_t k0, int64_t depth, int64_t panels, To* scratch,
           simd::RowRunOf<To>* out) const override {
    const From* a = a_ + rows.first * row_stride_ + k0 * col_stride_;
    if constexpr (std::is_same_v<From, To>) {
      if (can_stay() && depth % Lift::kGroup == 0 && (any_depth() || panels < kPanelsThatPayForCopy || is_short())) {
        out[0] = {a, row_stride_, depth};
        return 1;
      }
    }
    copy(a, rows.count, depth, scratch);
    out[0] = {scratch, kScratchStride<To>, depth};
    return 1;
  }

 private:
  static constexpr int64_t kPanelsThatPayForCopy = 4, kShort = 128;

  bool is_short() const { return std::is_same_v<Lift, LiftFloat> && row_stride_ <= kShort && can_stay(); }
  int64_t rows_of(const simd::TileShape& shape) const {
    return is_short() ? rows_at_once(shape, row_stride_, m_) : shape.rows;
  }

  /// Whether tiles can read the rows where they are, which do not start in the same few sets of the first level cache:
  /// a tile's rows would push each other out.
  bool can_stay() const {
    return lift_.as_it_is() && col_stride_ == 1 &&
           (m_ <= 4 || row_stride_ * static_cast<int64_t>(sizeof(To)) % 1024 != 0);
  }

  void copy(const From* a, int rows, int64_t depth, To* scratch) const {
    for (int i = 0; i < rows; ++i) {
      To* const to = scratch + i * kScratchStride<To>;
      if (col_stride_ == 1) lift_.copy(a + i * row_stride_, depth, to);
      for (int64_t k = 0; col_stride_ != 1 && k < depth; ++k)
        lift_.copy(a + i * row_stride_ + k * col_stride_, 1, to + k);
      for (int64_t k = depth; k % Lift::kGroup != 0; ++k) to[k] = 0;
    }
  }

  Lift lift_;
  const From* a_;
  int64_t m_;
  int64_t row_stride_;
  int64_t col_stride_;
  int64_t tiles_;
  int64_t tile_rows_, longer_tiles_;  ///< The first ones have a row more.
};

}  // namespace nnex::kernels
