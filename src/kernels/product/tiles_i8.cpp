#include "kernels/product/tiles_i8.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/interrupt.h"
#include "kernels/product/loops_tile_avx2.h"
#include "kernels/product/loops_tile_u8.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kBlockBytes = 384 * 1024;  // columns of one depth that stay in the second level cache
constexpr int64_t kMaxBlockPanels = 32;
constexpr int64_t kOwnColumns = 256;  // of a tile, whose sums wait in the first level cache for what follows
template <class T>
constexpr int64_t kOwnSums = kOwnColumns* kMaxTileRows<T>;

constexpr int kVectorsWithMore = simd::kTileShapeAvx2.columns / simd::kTileShapeAvx2.lanes;

/// What a part of the work needs for a tile at a time, and the sums of tiles that wait for what follows.
template <class T>
struct IntScratch {
  alignas(64) T rows[kMaxTileRows<T> * kScratchStride<T>];
  alignas(64) int32_t sums[kOwnSums<T>];
  int64_t waiting = 0;  // rows of sums
  int32_t unit = 0;
  simd::RowRunOf<T> runs[kMaxRuns];
  int32_t row_factors[kMaxTileRows<T>];
  simd::IntTile<T> tiles[kMaxBlockPanels];  // of a block's panels, whose rows come and go
  simd::MoreWeights more[kMaxBlockPanels][kVectorsWithMore];
};

template <class T>
struct IntJob {
  void (*tile)(const simd::IntTile<T>&);
  const simd::Loops& loops;
  const RowSource<T>& source;
  const IntColumns& columns;
  const int32_t* terms;
  const IntEpilogue& end;
  int32_t* c;  // null: one block of k, sums go from a part's own memory to bytes
  int64_t c_stride;
  int64_t depth;
  int64_t block_panels;
  int64_t own_panels;

  void run(const Parts::Range& range) const;
  void prepare(int64_t k0, const Parts::Range& r, IntScratch<T>& scratch) const;
  void run_tile(int64_t t, int64_t k0, const Parts::Range& r, IntScratch<T>& scratch) const;
};

template <class T>
void IntJob<T>::run(const Parts::Range& r) const {
  IntScratch<T> scratch;
  SeldomAsked asked;
  bool stopped = false;
  for (int64_t panel = r.panel_begin; panel < r.panel_end && !Interrupt::wanted(); panel += block_panels) {
    const Parts::Range block = {r.tile_begin, r.tile_end, panel, std::min(panel + block_panels, r.panel_end)};
    const int64_t steps = (block.panel_end - panel) * std::min(depth, columns.k);
    int64_t k0 = 0;
    do {
      prepare(k0, block, scratch);
      for (int64_t t = r.tile_begin; t < r.tile_end && !stopped; ++t) {
        run_tile(t, k0, block, scratch);
        stopped = asked.stop(steps);
      }
      k0 += depth;
    } while (k0 < columns.k && !stopped);
  }
  if (scratch.unit != 0) loops.release_unit();
}

/// The sum of n bytes, each with these bits turned: eight at a time, in four sums of 16 bits that take 257 of them.
uint32_t sum_of(const uint8_t* a, int64_t n, uint64_t flip = 0) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ffU;
  constexpr int64_t kPiece = 128 * 8;
  uint32_t sum = 0;
  int64_t i = 0;
  while (n - i >= 8) {
    uint64_t lanes = 0;
    for (const int64_t end = i + std::min(kPiece, (n - i) / 8 * 8); i < end; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, a + i, sizeof eight);
      eight ^= flip;
      lanes += (eight & kEven) + ((eight >> 8) & kEven);
    }
    for (; lanes; lanes >>= 16) sum += static_cast<uint32_t>(lanes & 0xffffU);
  }
  for (; i < n; ++i) sum += a[i] ^ static_cast<uint8_t>(flip);
  return sum;
}

/// The sum of n differences of bytes: eight at a time, in sums of 16 bits that take 128 of them.
uint32_t sum_of(const int16_t* a, int64_t n) {
  constexpr int64_t kLanes = 8, kPiece = 128 * kLanes;
  using Eight [[gnu::vector_size(2 * kLanes)]] = int16_t;
  uint32_t sum = 0;
  int64_t i = 0;
  while (n - i >= kLanes) {
    Eight sums = {};
    for (const int64_t end = i + std::min(kPiece, (n - i) / kLanes * kLanes); i < end; i += kLanes) {
      Eight values;
      std::memcpy(&values, a + i, sizeof values);
      sums += values;
    }
    for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<uint32_t>(int32_t{sums[lane]});
  }
  for (; i < n; ++i) sum += static_cast<uint32_t>(int32_t{a[i]});
  return sum;
}

/// -(sum of a row's values), for the columns' zero points.
template <class T>
void negative_row_sums(const simd::RowRunOf<T>* runs, int n_runs, int rows, int32_t* sums) {
  for (int i = 0; i < rows; ++i) {
    uint32_t sum = 0;
    for (int r = 0; r < n_runs; ++r) {
      sum += sum_of(runs[r].a + i * runs[r].row_stride, runs[r].k);
    }
    sums[i] = static_cast<int32_t>(0U - sum);
  }
}

/// The tiles of a block's panels, less their rows.
template <class T>
void IntJob<T>::prepare(int64_t k0, const Parts::Range& r, IntScratch<T>& scratch) const {
  const int64_t width = columns.shape.columns, lanes = columns.shape.lanes;
  const bool last = k0 + depth >= columns.k;
  for (int64_t panel = r.panel_begin; panel < r.panel_end; ++panel) {
    simd::IntTile<T>& tile = scratch.tiles[panel - r.panel_begin];
    tile = {};
    tile.runs = scratch.runs;
    tile.b = columns.at(panel, k0);
    tile.b_stride = columns.width(panel) * columns.group;
    tile.c_stride = c ? c_stride : std::min(r.panel_end - r.panel_begin, own_panels) * width;
    tile.columns = static_cast<int>(columns.columns_of(panel));
    tile.go_on = k0 > 0;
    tile.whole = !c;
    tile.row_factor = columns.any_zero() ? scratch.row_factors : nullptr;
    tile.column_factor = columns.zeros() + panel * width;
    tile.column_add = last ? terms + panel * width : nullptr;
    tile.unit = loops.release_unit ? &scratch.unit : nullptr;
    if (!columns.any_more()) continue;
    tile.first_group = k0 / columns.group;
    tile.more = scratch.more[panel - r.panel_begin];
    for (int64_t v = 0; v < columns.width(panel) / lanes; ++v)
      scratch.more[panel - r.panel_begin][v] = columns.more(panel * (width / lanes) + v, tile.first_group);
  }
}

template <class T>
void IntJob<T>::run_tile(int64_t t, int64_t k0, const Parts::Range& r, IntScratch<T>& scratch) const {
  const TileRows rows = source.tile(t);
  const int64_t here = std::min(depth, columns.k - k0), panels = r.panel_end - r.panel_begin;
  const bool last = k0 + here == columns.k;
  const int n_runs = source.runs(rows, k0, here, panels, scratch.rows, scratch.runs);
  if (columns.any_zero()) negative_row_sums(scratch.runs, n_runs, rows.count, scratch.row_factors);
  const int64_t width = columns.shape.columns, stride = scratch.tiles[0].c_stride;
  for (int64_t first = r.panel_begin; first < r.panel_end; first += own_panels) {
    const int64_t group_end = std::min(first + own_panels, r.panel_end), column = first * width;
    int32_t* const sums = c ? c + rows.first * c_stride + column : scratch.sums + scratch.waiting * stride;
    for (int64_t panel = first; panel < group_end; ++panel) {
      simd::IntTile<T>& one = scratch.tiles[panel - r.panel_begin];
      one.n_runs = n_runs, one.rows = rows.count;
      one.c = sums + (panel - first) * width;
      tile(one);
    }
    if (!last || end.keeps_sums()) continue;
    const int64_t count = std::min(group_end * width, columns.n) - column;
    if (c) {
      finish_sums(loops, end, {sums, c_stride}, rows.first, rows.count, column, count);
    } else if (const int64_t ready = scratch.waiting + rows.count;
               t + 1 < r.tile_end && (ready + kMaxTileRows<T>)*stride <= kOwnSums<T>) {
      scratch.waiting = ready;
    } else {
      finish_sums(loops, end, {scratch.sums, stride}, rows.first - scratch.waiting, ready, column, count);
      scratch.waiting = 0;
    }
  }
}

template <class T>
void multiply(void (*tile)(const simd::IntTile<T>&), const simd::Loops& loops, Team& team, const RowSource<T>& source,
              const IntColumns& columns, const int32_t* terms, const IntEpilogue& end, int32_t* sums) {
  const int64_t tiles = source.tiles(), panels = columns.panels();
  if (tiles == 0 || panels == 0) return;
  const bool through_sums = !end.keeps_sums() && source.block_depth(columns.k) < columns.k;
  IntJob<T> job{tile,
                loops,
                source,
                columns,
                terms,
                end,
                nullptr,
                0,
                source.block_depth(columns.k),
                std::min(panels, kMaxBlockPanels),
                kOwnColumns / columns.shape.columns};
  job.c = through_sums ? sums : end.keeps_sums() ? end.c : nullptr;
  job.c_stride = through_sums ? columns.n : end.c_row_stride;
  if (tiles > 1)
    job.block_panels = std::clamp<int64_t>(kBlockBytes / (std::max<int64_t>(job.depth, 1) * columns.shape.columns), 1,
                                           kMaxBlockPanels);
  const Parts parts(team, tiles, panels, source.rows(), columns.n, columns.k / 4 + 1);
  team.run(parts.count(), [&](int64_t part) { job.run(parts.range(part)); });
}

constexpr int64_t kPackDepth = 512;  // a panel's columns of it stay in the first level cache

/// Values [k0, k0 + n) of column j as int8, side by side; returns their sum.
int32_t gather_column(const ByteColumns& from, int64_t j, int64_t k0, int64_t n, int8_t* to) {
  const auto flip = static_cast<uint8_t>(from.is_signed ? 0 : 0x80);
  const int64_t stride = from.row_stride, length = from.run, run_stride = from.run_stride;  // `to` may alias all else
  const std::byte* run = from.b + j * from.column_stride + k0 / length * run_stride;
  int64_t in_run = k0 % length;
  for (int64_t done = 0; done < n; in_run = 0, run += run_stride) {
    const std::byte* const at = run + in_run * stride;
    const int64_t count = std::min(length - in_run, n - done);
    int64_t i = 0;
    if (stride == 1) {
      for (; i + 8 <= count; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, at + i, sizeof eight);
        eight ^= flip * 0x0101010101010101U;
        std::memcpy(to + done + i, &eight, sizeof eight);
      }
    } else {
      for (; i + 4 <= count; i += 4) {
        const std::byte* const four = at + i * stride;
        const auto byte = [&](int64_t g) { return static_cast<uint32_t>(four[g * stride]) << (8 * g); };
        const uint32_t together = (byte(0) | byte(1) | byte(2) | byte(3)) ^ flip * 0x01010101U;
        std::memcpy(to + done + i, &together, sizeof together);
      }
    }
    for (; i < count; ++i) to[done + i] = static_cast<int8_t>(static_cast<uint8_t>(at[i * stride]) ^ flip);
    done += count;
  }
  constexpr uint64_t kUp = 0x8080808080808080U;  // to bytes without sign, 128 more each
  const auto* const bytes = reinterpret_cast<const uint8_t*>(to);
  return static_cast<int32_t>(sum_of(bytes, n, kUp) - 128U * static_cast<uint32_t>(n));
}

/// Columns [first, first + count) of a panel, `width` of them, and their sums.
void pack_panel(const simd::Loops& loops, const IntColumns& columns, const ByteColumns& from, int64_t first,
                int64_t count, int64_t width, int8_t* to, int32_t* sums) {
  alignas(64) int8_t values[simd::kMaxTileColumns * kPackDepth];
  const auto turn = [&](const auto& transpose, auto group, int64_t k0, int64_t groups) {
    using Group = decltype(group);
    transpose(reinterpret_cast<const Group*>(values), kPackDepth / sizeof(Group),
              reinterpret_cast<Group*>(to + k0 * width), static_cast<size_t>(width), static_cast<size_t>(count),
              static_cast<size_t>(groups));
  };
  const auto piece = [&](int64_t k0, int64_t n) {
    const int64_t groups = ceil_div(n, columns.group);
    for (int64_t j = 0; j < count; ++j) {
      int8_t* const column = values + j * kPackDepth;
      const auto sum = static_cast<uint32_t>(gather_column(from, first + j, k0, n, column));
      sums[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + sum);  // wraps as the products do
      std::fill(column + n, column + groups * columns.group, int8_t{0});
    }
    if (columns.group == 4)
      turn(loops.transpose_u32, uint32_t{}, k0, groups);
    else
      turn(loops.transpose_u16, uint16_t{}, k0, groups);
  };
  std::fill_n(sums, count, 0);
  // The runs of a window's places lie in one another: a part of them all is taken while it is in the cache.
  const int64_t run = from.run < columns.k && from.run % columns.group == 0 ? from.run : columns.k;
  const int64_t depth = from.row_stride == 1 ? kPackDepth : kPackDepth / 4;
  for (int64_t in_run = 0; in_run < run; in_run += depth)
    for (int64_t k0 = in_run; k0 < columns.k; k0 += run) piece(k0, std::min(depth, run - in_run));
}

}  // namespace

IntTiles int_tiles(const simd::Loops& loops) {
  return loops.tile_u8 ? IntTiles::bytes : loops.tile_pairs ? IntTiles::pairs : IntTiles::wide;
}

IntColumns::IntColumns(const simd::Loops& loops, int64_t depth, int64_t columns, const std::byte* bytes)
    : shape(loops.tile_u8 ? loops.tile_shape_u8 : loops.tile_shape_i16()),
      tiles(bytes && bytes[1] != std::byte{0} ? IntTiles::wide : int_tiles(loops)),
      group(tiles == IntTiles::wide ? LiftWide::kGroup : LiftBytes::kGroup),
      k(depth),
      n(columns),
      packed(bytes),
      panels_(ceil_div(columns, shape.columns)),
      padded_k_(ceil_div(depth, group) * group) {
  last_width_ = ceil_div(n - (panels_ - 1) * shape.columns, shape.lanes) * shape.lanes;
  sums_offset_ = ceil_div(kHeader + ceil_div(n, shape.lanes) * shape.lanes * padded_k_, 64) * 64;
}

int64_t IntColumns::bytes() const {
  switch (tiles) {
    case IntTiles::bytes:
      return more_offset() + kBeyond;
    case IntTiles::pairs:
      return more_weights_offset() + (room_for_more() + vectors()) * vector_bytes();
    case IntTiles::wide:
      return more_offset();
  }
  return 0;
}

simd::MoreWeights IntColumns::more(int64_t vector, int64_t group) const {
  const auto* const firsts = reinterpret_cast<const int32_t*>(packed + more_offset());
  const int32_t* const groups = firsts + vectors() + 1;
  const int32_t *const begin = groups + firsts[vector], *const end = groups + firsts[vector + 1] - 1;
  const int32_t* const at = group == 0 ? begin : std::lower_bound(begin, end, group);
  return {at, reinterpret_cast<const int8_t*>(packed + more_weights_offset()) + (at - groups) * vector_bytes()};
}

namespace {

/// A panel's vectors of columns in packed memory.
struct PanelVectors {
  int8_t* b;
  int64_t first;  ///< The number of the first.
  int64_t count;
  int64_t stride;  ///< From one group to the next.

  PanelVectors(const IntColumns& columns, int64_t panel, std::byte* packed)
      : b(reinterpret_cast<int8_t*>(packed + columns.panel_offset(panel))),
        first(panel * columns.shape.columns / columns.shape.lanes),
        count(columns.width(panel) / columns.shape.lanes),
        stride(columns.width(panel) * columns.group) {}
};

/// Of how many groups of each vector of a panel pairs are beyond kMaxPair; returns the sum.
int64_t count_beyond(const IntColumns& columns, const PanelVectors& at, std::span<int64_t> counts) {
  int64_t sum = 0;
  for (int64_t j = 0; j < at.count; ++j) {
    int64_t& count = counts[static_cast<size_t>(at.first + j)];
    count = simd::groups_beyond(at.b + j * columns.vector_bytes(), at.stride, columns.padded_k() / columns.group);
    sum += count;
  }
  return sum;
}

/// Takes out of packed panels what their pairs have beyond kMaxPair; `counts`: of how many groups of each vector.
void take_more(Team& team, const IntColumns& columns, std::span<const int64_t> counts, std::byte* packed) {
  auto* const firsts = reinterpret_cast<int32_t*>(packed + columns.more_offset());
  int32_t* const numbers = firsts + columns.vectors() + 1;
  auto* const weights = reinterpret_cast<int8_t*>(packed + columns.more_weights_offset());
  int64_t next = 0;
  for (size_t v = 0; v < counts.size(); ++v) {
    firsts[v] = static_cast<int32_t>(next);
    next += counts[v];
    numbers[next++] = INT32_MAX;
  }
  firsts[counts.size()] = static_cast<int32_t>(next);
  team.run(columns.panels(), [&](int64_t panel) {
    const PanelVectors at(columns, panel, packed);
    for (int64_t j = 0; j < at.count; ++j) {
      const int32_t first = firsts[at.first + j];
      simd::take_beyond(at.b + j * columns.vector_bytes(), at.stride, columns.padded_k() / columns.group,
                        numbers + first, weights + first * columns.vector_bytes());
    }
  });
  packed[2] = std::byte{1};
}

/// All but the header, which says for which tiles; returns whether those can multiply the columns, of which some are
/// missing otherwise.
bool pack_panels(const simd::Loops& loops, Team& team, int64_t k, int64_t n, const ByteColumns& from,
                 std::byte* packed) {
  const IntColumns columns(loops, k, n, packed);
  auto* const sums = reinterpret_cast<int32_t*>(packed + columns.sums_offset());
  auto* const zeros = reinterpret_cast<int32_t*>(packed + columns.zeros_offset());
  for (int64_t j = 0; j < n; ++j) {
    zeros[j] = (from.zero ? from.zero[j * from.zero_stride] : 0) - (from.is_signed ? 0 : 128);
    if (zeros[j] != 0) packed[0] = std::byte{1};
  }
  std::vector<int64_t> counts(static_cast<size_t>(columns.tiles == IntTiles::pairs ? columns.vectors() : 0));
  std::atomic<int64_t> beyond = 0;
  const int64_t panels = columns.panels(), room = columns.room_for_more();
  const auto pack = [&](int64_t panel) {
    const int64_t first = panel * columns.shape.columns, count = columns.columns_of(panel),
                  width = columns.width(panel);
    auto* const to = reinterpret_cast<int8_t*>(packed + columns.panel_offset(panel));
    if (width > count) std::memset(to, 0, static_cast<size_t>(width * columns.padded_k()));
    pack_panel(loops, columns, from, first, count, width, to, sums + first);
    if (!counts.empty()) beyond += count_beyond(columns, PanelVectors(columns, panel, packed), counts);
  };
  if (panels > 0) pack(0);
  if (beyond * panels > 2 * room) return false;  // the others will hardly have so few that all find room
  team.run(std::max<int64_t>(panels - 1, 0), [&](int64_t part) {
    if (beyond <= room) pack(part + 1);
  });
  if (beyond > room) return false;
  if (beyond > 0) take_more(team, columns, counts, packed);
  return true;
}

}  // namespace

void pack_int_columns(const simd::Loops& loops, Team& team, int64_t k, int64_t n, const ByteColumns& from,
                      std::byte* packed) {
  std::memset(packed, 0, IntColumns::kHeader);
  if (pack_panels(loops, team, k, n, from, packed)) return;
  packed[1] = std::byte{1};
  pack_panels(loops, team, k, n, from, packed);
}

void column_terms(const IntColumns& columns, int32_t a_zero, const int32_t* bias, int32_t* terms) {
  const auto zero = static_cast<uint32_t>(a_zero), depth = static_cast<uint32_t>(columns.k);
  for (int64_t j = 0; j < columns.n; ++j) {
    const uint32_t add = bias ? static_cast<uint32_t>(bias[j]) : 0;
    const auto sum = static_cast<uint32_t>(columns.sums()[j]), b_zero = static_cast<uint32_t>(columns.zeros()[j]);
    terms[j] = static_cast<int32_t>(add - zero * sum + depth * zero * b_zero);
  }
}

bool sums_needed(const simd::Loops& loops, int64_t k, bool to_bytes) {
  return to_bytes && k > (int_tiles(loops) == IntTiles::bytes ? kMaxDepth<uint8_t> : kMaxDepth<int16_t>);
}

void finish_sums(const simd::Loops& loops, const IntEpilogue& end, const SumBlock& block, int64_t row, int64_t rows,
                 int64_t column, int64_t count) {
  if (end.chain) return end.chain->run(loops, block.sums, block.stride, row, end.first_column + column, rows, count);
  simd::Requantize f = end.to_bytes;
  f.scale += column * f.step;
  auto* const y = reinterpret_cast<uint8_t*>(end.y + row * end.y_row_stride + column);
  loops.requantize_i32(f, {block.sums, block.stride, rows}, y, end.y_row_stride, static_cast<size_t>(count));
}

void multiply_int_tiles(const simd::Loops& loops, Team& team, const RowSource<uint8_t>& source,
                        const IntColumns& columns, const int32_t* terms, const IntEpilogue& end, int32_t* sums) {
  multiply<uint8_t>(loops.tile_u8 ? loops.tile_u8 : loops.tile_pairs, loops, team, source, columns, terms, end, sums);
}

void multiply_int_tiles(const simd::Loops& loops, Team& team, const RowSource<int16_t>& source,
                        const IntColumns& columns, const int32_t* terms, const IntEpilogue& end, int32_t* sums) {
  multiply<int16_t>(loops.tile_i16, loops, team, source, columns, terms, end, sums);
}

}  // namespace nnex::kernels
