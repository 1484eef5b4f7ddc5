#include "kernels/product/tiles.h"

#include <algorithm>

#include "base/checked.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kBlockFloats = 96 * 1024;  // columns of one depth that stay in the second level cache
constexpr int64_t kWorkOfPart = 100'000;     // multiply-adds below which another part costs more than it brings
constexpr int64_t kPartsOfThread = 4;

/// Everything a part needs; parts differ in their ranges of tiles and panels only.
struct Job {
  const simd::Loops& loops;
  const RowSource<float>& source;
  const Columns& columns;
  float* c;
  int64_t c_stride;
  const Epilogue& end;
  int64_t depth;
  int64_t block_panels;

  void run(int64_t tile_begin, int64_t tile_end, int64_t panel_begin, int64_t panel_end) const;
  struct Part;
  void run_tile(int64_t t, int64_t k0, int64_t panel_begin, int64_t panel_end, Part& own) const;
};

/// What a part's tiles use one after another; made once, as a tile of few multiply-adds takes no longer than that.
struct Job::Part {
  alignas(64) float scratch[kMaxTileRows * kScratchStride<float>];
  simd::RowRun runs[kMaxRuns];
  simd::TileEnd finish;
};

void Job::run(int64_t tile_begin, int64_t tile_end, int64_t panel_begin, int64_t panel_end) const {
  Part own;
  own.finish = kernels::tile_end(end, 0, 0);
  for (int64_t panel = panel_begin; panel < panel_end; panel += block_panels) {
    const int64_t block_end = std::min(panel + block_panels, panel_end);
    int64_t k0 = 0;
    do {
      for (int64_t t = tile_begin; t < tile_end; ++t) run_tile(t, k0, panel, block_end, own);
      k0 += depth;
    } while (k0 < columns.k);
  }
}

/// Panels of whole width one call takes, from `panel` on.
int64_t panels_at_once(int rows, int64_t panel, int64_t panel_end, const Columns& columns) {
  int64_t whole = panel_end - panel;
  if (columns.columns(panel_end - 1) < columns.shape.columns) --whole;
  int64_t wanted = simd::few_rows_panels(rows);
  while (wanted > std::max<int64_t>(whole, 1)) wanted /= 2;
  return wanted;
}

void Job::run_tile(int64_t t, int64_t k0, int64_t panel_begin, int64_t panel_end, Part& own) const {
  const TileRows rows = source.tile(t);
  const int64_t here = std::min(depth, columns.k - k0);
  const bool last = k0 + here == columns.k;
  simd::Tile tile;
  tile.runs = own.runs;
  tile.n_runs = source.runs(rows, k0, here, panel_end - panel_begin, own.scratch, own.runs);
  tile.panel_stride = columns.panel_stride();
  tile.c_stride = c_stride;
  tile.rows = rows.count;
  tile.go_on = k0 > 0;
  if (last) tile.end = &own.finish;

  float* const row = c + rows.first * c_stride;
  for (int64_t panel = panel_begin; panel < panel_end;) {
    const int64_t count = panels_at_once(rows.count, panel, panel_end, columns);
    const int64_t column = panel * columns.shape.columns;
    tile.b = columns.at(panel, k0);
    tile.b_stride = columns.k_stride(panel);
    tile.columns = count > 1 ? static_cast<int>(count) * columns.shape.columns : columns.columns(panel);
    tile.c = row + column;
    if (last) {  // the rest of it is the same for all tiles
      if (end.bias) own.finish.bias = end.bias + column;
      if (end.row_bias) own.finish.row_bias = end.row_bias + rows.first;
      if (end.residual) own.finish.residual = end.residual + rows.first * end.residual_stride + column;
    }
    loops.tile_f32(tile);
    panel += count;
  }
  if (!last || ends_in_tile(end.activation)) return;
  const int64_t column = panel_begin * columns.shape.columns;
  const int64_t n = std::min(panel_end * columns.shape.columns, columns.n) - column;
  for (int i = 0; i < rows.count; ++i) {
    float* const y = row + i * c_stride + column;
    loops.unary_f32(end.activation, y, y, static_cast<size_t>(n));
  }
}

}  // namespace

int Columns::columns(int64_t panel) const {
  return static_cast<int>(std::min<int64_t>(shape.columns, n - panel * shape.columns));
}

int Columns::width(int64_t panel) const { return (columns(panel) + shape.lanes - 1) / shape.lanes * shape.lanes; }

int64_t Columns::floats() const { return k * ((n + shape.lanes - 1) / shape.lanes * shape.lanes); }

Parts::Parts(const Team& team, int64_t tiles, int64_t panels, int64_t rows, int64_t columns, int64_t depth)
    : tiles_(tiles), panels_(panels), tile_parts_(1), panel_parts_(1) {
  if (team.size() == 1) return;
  const int64_t work = rows * columns * std::max<int64_t>(depth, 1);
  const int64_t wanted = std::clamp<int64_t>(work / kWorkOfPart, 1, kPartsOfThread * team.size());
  if (columns >= rows) {
    panel_parts_ = std::min(panels, wanted);
    tile_parts_ = std::min(tiles, ceil_div(wanted, panel_parts_));
  } else {
    tile_parts_ = std::min(tiles, wanted);
    panel_parts_ = std::min(panels, ceil_div(wanted, tile_parts_));
  }
}

Parts::Range Parts::range(int64_t part) const {
  const int64_t i = part / panel_parts_, j = part % panel_parts_;
  return {share(tiles_, tile_parts_, i), share(tiles_, tile_parts_, i + 1), share(panels_, panel_parts_, j),
          share(panels_, panel_parts_, j + 1)};
}

simd::TileEnd tile_end(const Epilogue& end, int64_t row, int64_t column) {
  simd::TileEnd made;
  made.scale = end.scale;
  if (end.bias) made.bias = end.bias + column;
  if (end.row_bias) made.row_bias = end.row_bias + row;
  if (end.residual) made.residual = end.residual + row * end.residual_stride + column;
  made.residual_stride = end.residual_stride;
  made.residual_scale = end.residual_scale;
  if (ends_in_tile(end.activation)) made.activation = end.activation;
  return made;
}

void multiply_tiles(const simd::Loops& loops, Team& team, const RowSource<float>& source, const Columns& columns,
                    float* c, int64_t c_stride, const Epilogue& end) {
  const int64_t tiles = source.tiles(), panels = columns.panels();
  if (tiles == 0 || panels == 0) return;
  Job job{loops, source, columns, c, c_stride, end, columns.k, panels};
  job.depth = source.block_depth(columns.k);
  if (tiles > 1)
    job.block_panels = std::max<int64_t>(1, kBlockFloats / (std::max<int64_t>(job.depth, 1) * columns.shape.columns));
  const Parts parts(team, tiles, panels, source.rows(), columns.n, columns.k);
  team.run(parts.count(), [&](int64_t part) {
    const Parts::Range r = parts.range(part);
    job.run(r.tile_begin, r.tile_end, r.panel_begin, r.panel_end);
  });
}

}  // namespace nnex::kernels
