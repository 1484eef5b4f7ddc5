#include "kernels/product/tiles.h"

#include <algorithm>

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/try.h"
#include "kernels/product/codes.h"
#include "ops/built.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kBlockFloats = 96 * 1024;  // columns of one depth that stay in the second level cache
constexpr int64_t kWorkOfPart = 100'000;     // multiply-adds below which another part costs more than it brings
constexpr int64_t kMaxFetchingTiles = 16;    // more of them wait for their columns too little for it to count
constexpr int64_t kUnpackedPanels = 4;       // of columns that are codes; rows that are copied are read so often

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
  bool unpacks = false;  ///< Codes become floats block by block; else tiles read them.

  void run(const Parts::Range& range, float* unpacked) const;
  struct Part;
  struct Block;
  void plan_fetching(const Parts::Range& range, Block& block) const;
  void run_tile(int64_t t, int64_t nth, const Block& block, Part& own) const;
};

/// Columns are codes where a region makes them of stored ones (node.cpp).
constexpr bool kHasCodes = is_built("dequantize_linear") || kHasCodebooks || kHasHalfWeights;

/// What a part's tiles use one after another; made once, as a tile of few multiply-adds takes no longer than that.
struct Job::Part {
  alignas(64) float scratch[kMaxTileRows<float> * kScratchStride<float>];
  simd::RowRun runs[kMaxRuns];
  simd::TileEnd finish;
  float* unpacked = nullptr;  ///< The block of columns, where it was codes.
};

/// Columns that all tiles of a part are multiplied with before the next ones, and what is fetched meanwhile.
struct Job::Block {
  int64_t k0, panel_begin, panel_end;
  int64_t fetching = 0;  ///< Tiles of which each fetches a share; 0: nothing is fetched.
  int64_t next_panel = 0, end_of_next = 0, next_k0 = 0;
};

void Job::run(const Parts::Range& range, float* unpacked) const {
  Part own;
  own.finish = kernels::tile_end(end, 0, 0);
  own.unpacked = unpacked;
  // A part may be all of a large product: of one thread it is.
  SeldomAsked asked;
  for (int64_t panel = range.panel_begin; panel < range.panel_end && !Interrupt::wanted(); panel += block_panels) {
    Block block{0, panel, std::min(panel + block_panels, range.panel_end)};
    const int64_t steps =
        (block.panel_end - panel) * std::min(depth, columns.k);  // a tile's, of 100 to 1,000 sums each
    do {
      for (int64_t p = panel; kHasCodes && unpacked && p < block.panel_end; ++p)
        loops.unpack_codes_f32(columns.codes->panel(p), block.k0, std::min(block.k0 + depth, columns.k),
                               unpacked + (p - panel) * columns.shape.columns * depth);
      plan_fetching(range, block);
      for (int64_t t = range.tile_begin; t < range.tile_end; ++t) {
        if (asked.stop(steps)) return;
        run_tile(t, t - range.tile_begin, block, own);
      }
      block.k0 += depth;
    } while (block.k0 < columns.k);
  }
}

/// Few tiles multiply packed columns faster than memory brings them where it is asked for them only then. One tile
/// fetches its own next panels, several the next block's; columns that fill no block may be near from the last time.
void Job::plan_fetching(const Parts::Range& range, Block& block) const {
  const int64_t tiles = range.tile_end - range.tile_begin;
  block.fetching = 0;
  if (columns.row_stride || columns.codes || tiles > kMaxFetchingTiles || columns.k * columns.n <= kBlockFloats) return;
  const int rows = tiles == 1 ? source.tile(range.tile_begin).count : 0;
  if (rows == 1) return;  // four streams at once, which memory brings by itself
  block.fetching = tiles;
  block.end_of_next = range.panel_end;
  block.next_k0 = tiles == 1 ? block.k0 : block.k0 + depth;
  if (tiles == 1) {
    block.next_panel = block.panel_begin + simd::few_rows_panels(columns.shape, rows);
  } else if (block.next_k0 < columns.k) {
    block.next_panel = block.panel_begin;
    block.end_of_next = block.panel_end;
  } else {
    block.next_panel = block.panel_end;
    block.next_k0 = 0;
  }
}

/// Panels of whole width that one span takes where so many are left: at most `wanted`, a power of two.
int64_t panels_at_once(int64_t wanted, int64_t whole) {
  while (wanted > std::max<int64_t>(whole, 1)) wanted /= 2;
  return wanted;
}

void Job::run_tile(int64_t t, int64_t nth, const Block& block, Part& own) const {
  const int64_t k0 = block.k0, panel_begin = block.panel_begin, panel_end = block.panel_end;
  const TileRows rows = source.tile(t);
  const int64_t here = std::min(depth, columns.k - k0);
  const bool last = k0 + here == columns.k;
  simd::Tile tile;
  tile.runs = own.runs;
  tile.n_runs = source.runs(rows, k0, here, panel_end - panel_begin, own.scratch, own.runs);
  tile.panel_stride = own.unpacked ? columns.shape.columns * depth : columns.panel_stride();
  tile.c_stride = c_stride;
  tile.rows = rows.count;
  tile.go_on = k0 > 0;
  if (last) tile.end = &own.finish;

  const bool reads_codes = columns.codes && !unpacks;
  const int64_t wanted = reads_codes ? 1 + (rows.count == 1) : simd::few_rows_panels(columns.shape, rows.count);
  float* const row = c + rows.first * c_stride;
  const int64_t end_of_whole = columns.columns(panel_end - 1) < columns.shape.columns ? panel_end - 1 : panel_end;
  for (int64_t panel = panel_begin; panel < panel_end;) {
    const int64_t count = panels_at_once(wanted, end_of_whole - panel);
    tile.spans = reads_codes ? 1 : std::max<int64_t>(1, (end_of_whole - panel) / count);
    const int64_t column = panel * columns.shape.columns;
    if (own.unpacked)
      tile.b = own.unpacked + (panel - panel_begin) * tile.panel_stride;
    else if (!reads_codes)
      tile.b = columns.at(panel, k0);
    tile.b_stride = columns.k_stride(panel);
    tile.columns = count > 1 ? static_cast<int>(count) * columns.shape.columns : columns.columns(panel);
    tile.c = row + column;
    tile.ahead = nullptr;
    const int64_t next = block.next_panel + panel - panel_begin;
    if (block.fetching > 0 && next < block.end_of_next) {
      tile.spans = std::min(tile.spans, ceil_div(block.end_of_next - next, count));
      tile.ahead_step = count * columns.shape.columns * static_cast<int64_t>(sizeof(float)) / block.fetching;
      tile.ahead = reinterpret_cast<const std::byte*>(columns.at(next, block.next_k0)) + nth * here * tile.ahead_step;
    }
    if (last) {  // the rest of it is the same for all tiles
      if (end.bias) own.finish.bias = end.bias + column;
      if (end.row_bias) own.finish.row_bias = end.row_bias + rows.first;
      if (end.residual) own.finish.residual = end.residual + rows.first * end.residual_stride + column;
    }
    if (kHasCodes && reads_codes)
      loops.tile_codes_f32({tile, columns.codes->panel(panel)});
    else
      loops.tile_f32(tile);
    panel += count * tile.spans;
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

int64_t parts_of_work(const Team& team, int64_t work, int64_t most) {
  return team.size() == 1 ? 1 : whole_rounds(team, std::clamp<int64_t>(work / kWorkOfPart, 1, most));
}

Parts::Parts(const Team& team, int64_t tiles, int64_t panels, int64_t rows, int64_t columns, int64_t depth,
             int64_t of_thread)
    : Parts(tiles, panels, columns >= rows,
            parts_of_work(team, rows * columns * std::max<int64_t>(depth, 1), of_thread * team.size())) {}

Parts::Parts(int64_t tiles, int64_t panels, bool panels_first, int64_t wanted)
    : tiles_(tiles), panels_(panels), tile_parts_(1), panel_parts_(1) {
  int64_t& first = panels_first ? panel_parts_ : tile_parts_;
  int64_t& second = panels_first ? tile_parts_ : panel_parts_;
  first = std::min(panels_first ? panels : tiles, wanted);
  second = std::min(panels_first ? tiles : panels, ceil_div(wanted, std::max<int64_t>(first, 1)));
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
  job.depth = columns.run_k ? depth_of_run(columns.run_k) : source.block_depth(columns.k);
  if (tiles > 1)
    job.block_panels = std::max<int64_t>(1, kBlockFloats / (std::max<int64_t>(job.depth, 1) * columns.shape.columns));
  if (columns.codes && (tiles > 1 || source.rows() > simd::kCodeTileRows || job.depth < columns.k)) {
    job.unpacks = true;
    job.block_panels = kUnpackedPanels;
    job.depth = std::min(job.depth, kUnpackedFloats / (kUnpackedPanels * columns.shape.columns) / 8 * 8);
  }
  NNEX_ASSERT(!job.unpacks || columns.unpacked);
  const Parts parts(team, tiles, panels, source.rows(), columns.n, columns.k, job.unpacks ? 1 : 4);
  if (!job.unpacks) return team.run(parts.count(), [&](int64_t part) { job.run(parts.range(part), nullptr); });
  const int64_t count = parts.count(), rooms = std::min<int64_t>({count, team.size(), usable_threads()});
  team.run(rooms, [&](int64_t room) {
    for (int64_t i = share(count, rooms, room); i < share(count, rooms, room + 1); ++i)
      job.run(parts.range(i), columns.unpacked + room * kUnpackedFloats);
  });
}

}  // namespace nnex::kernels
