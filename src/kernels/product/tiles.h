#pragma once
// The loop over tiles that products and convolutions share: rows of any origin times columns in panels.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "base/split.h"
#include "base/threads.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

class CodeColumns;

/// What happens to a finished sum s of row i and column j: s * scale, + bias[j], + row_bias[i], + residual[i][j] *
/// residual_scale, then the activation; each step rounds on its own. Null pointers are steps left out. The residual
/// must not overlap the output.
struct Epilogue {
  float scale = 1;
  const float* bias = nullptr;
  const float* row_bias = nullptr;
  const float* residual = nullptr;
  int64_t residual_stride = 0;  ///< Elements from one row to the next.
  float residual_scale = 1;
  Unary activation = {};
};

/// Values of k between two visits of c when rows are copied.
template <class T>
constexpr int64_t kMaxDepth = 2048 / sizeof(T);
/// From one copied row to the next: an odd number of cache lines, so that rows fall into different sets.
template <class T>
constexpr int64_t kScratchStride = 2112 / sizeof(T);
/// Of any instruction set's tiles.
template <class T>
constexpr int kMaxTileRows = sizeof(T) == 1 ? 32 : 14;
constexpr int kMaxRuns = 128;  ///< Of one tile and depth.

/// k rows of n columns, as tile_f32 reads them. Packed: panels of shape.columns columns, all k rows of one after the
/// other, the last panel rounded up to whole vectors with zeros. Else rows in place (n a multiple of shape.lanes).
struct Columns {
  simd::TileShape shape;
  int64_t k = 0;
  int64_t n = 0;
  const float* b = nullptr;
  int64_t row_stride = 0;              ///< 0: packed.
  const CodeColumns* codes = nullptr;  ///< Read instead of b, of the same shape.
  float* unpacked = nullptr;           ///< With codes: unpacked_floats().
  int64_t first_k = 0;                 ///< Of packed ones, the first of `packed_k` rows that k of them begin at.
  int64_t packed_k = 0;                ///< 0: k.
  int64_t run_k = 0;                   ///< Of those k that many lie together, before skip_k others; 0: all do.
  int64_t skip_k = 0;

  int64_t panels() const { return (n + shape.columns - 1) / shape.columns; }
  int columns(int64_t panel) const;
  /// Columns with those added to fill the last vector.
  int width(int64_t panel) const;
  int64_t k_stride(int64_t panel) const { return row_stride ? row_stride : width(panel); }
  int64_t panel_stride() const { return row_stride ? shape.columns : shape.columns * (packed_k ? packed_k : k); }
  const float* at(int64_t panel, int64_t k0) const {
    return b + panel * panel_stride() + (first_k + k0 + (run_k ? k0 / run_k * skip_k : 0)) * k_stride(panel);
  }
  /// Floats of the packed form.
  int64_t floats() const;
};

/// The longest blocks of k values, at most kMaxDepth<float> of them, that a run of so many can be cut into.
constexpr int64_t depth_of_run(int64_t run) {
  int64_t parts = ceil_div(run, kMaxDepth<float>);
  while (run % parts != 0) ++parts;
  return run / parts;
}

/// Room in which columns that are codes become floats, block by block, with a team of `threads`.
constexpr int64_t kUnpackedFloats = 32 * 1024;  // of a thread
constexpr int64_t unpacked_floats(int threads) { return threads * kUnpackedFloats; }

/// Rows of a tile whose values are read where they lie: several register tiles of short rows, as a tile of few
/// products takes no longer than finding its rows. `floats`: of one row; `rows`: of all tiles.
constexpr int64_t rows_at_once(const simd::TileShape& shape, int64_t floats, int64_t rows) {
  constexpr int64_t kFloats = 4096;  // which stay in the first level cache, of all rows together
  constexpr int64_t kMinTiles = 8;
  const int64_t fit = floats > 0 ? kFloats / floats : 1;
  return std::max<int64_t>(1, std::min(fit, rows / kMinTiles) / shape.rows) * shape.rows;
}

/// Rows of a left-hand side, cut into tiles.
struct TileRows {
  int64_t first = 0;  ///< Row of c.
  int count = 0;      ///< 1 to shape.rows where they are copied, else any number.
  int64_t line = 0;   ///< The source's own: where the first row comes from.
  int64_t column = 0;
};

/// Tiles and their values, of type T.
template <class T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t tiles() const = 0;
  virtual TileRows tile(int64_t t) const = 0;
  /// The runs of values [k0, k0 + depth) of what tile() gave (at most kMaxRuns, written to `out`); returns how many.
  /// `scratch` holds kMaxTileRows<T> * kScratchStride<T> values for rows that are copied; `panels` will read them.
  virtual int runs(const TileRows& rows, int64_t k0, int64_t depth, int64_t panels, T* scratch,
                   simd::RowRunOf<T>* out) const = 0;
  /// Whether runs() takes any depth, else at most kMaxDepth<T>.
  virtual bool any_depth() const = 0;

  /// Depth of the blocks of k values.
  int64_t block_depth(int64_t k) const {
    if (any_depth() || k <= kMaxDepth<T>) return k;
    const int64_t blocks = (k + kMaxDepth<T> - 1) / kMaxDepth<T>;
    return ((k + blocks - 1) / blocks + 7) / 8 * 8;
  }
};

/// Whether tiles end with this activation themselves, else unary_f32 follows.
inline bool ends_in_tile(const Unary& f) {
  return f.kind == UnaryKind::identity || f.kind == UnaryKind::relu || f.kind == UnaryKind::clamp;
}

/// The epilogue of a tile whose first row and column these are, less an activation that follows it.
simd::TileEnd tile_end(const Epilogue& end, int64_t row, int64_t column);

/// Parts that pay for so many multiply-adds on this team, at most that many.
int64_t parts_of_work(const Team& team, int64_t work, int64_t most);

/// How tiles and panels are shared out: parts of about the same work, few when there is little. The longer side is cut
/// first: what all parts read is then the smaller operand.
class Parts {
 public:
  Parts(const Team& team, int64_t tiles, int64_t panels, int64_t rows, int64_t columns, int64_t depth,
        int64_t of_thread = 4);
  /// As many as wanted, where tiles and panels allow.
  Parts(int64_t tiles, int64_t panels, bool panels_first, int64_t wanted);
  int64_t count() const { return tile_parts_ * panel_parts_; }
  struct Range {
    int64_t tile_begin, tile_end, panel_begin, panel_end;
  };
  Range range(int64_t part) const;

 private:
  int64_t tiles_, panels_, tile_parts_, panel_parts_;
};

/// c[i][j] = finish(sum over k of rows[i][k] * columns[k][j]), one multiply-add chain over ascending k, whatever the
/// split.
void multiply_tiles(const simd::Loops& loops, Team& team, const RowSource<float>& source, const Columns& columns,
                    float* c, int64_t c_stride, const Epilogue& end);

}  // namespace nnex::kernels
