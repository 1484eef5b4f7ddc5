// What the machine can do at most: what profiles compare with.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "base/threads.h"
#include "kernels/product/loops_tile_avx2.h"
#include "kernels/product/tiles.h"
#include "kernels/simd/loops.h"
#include "nnex/environment.h"
#include "nnex/tensor.h"

namespace nnex {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The greatest rate of `amount` a call, over calls for so long.
double best_rate(double seconds, double amount, const std::function<void()>& call) {
  double best = 0;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    call();
    best = std::max(best, amount / seconds_since(start));
  } while (seconds_since(begin) < seconds);
  return best;
}

constexpr int64_t kDepth = 256, kRounds = 2000;  // a tile's operands take 40 KiB at most; about a millisecond a call

/// The register tile over one row of values and one panel, again and again.
double f32_rate(const kernels::simd::Loops& loops, Team& team, double seconds) {
  const kernels::simd::TileShape shape = loops.tile_shape_f32();
  const double work = static_cast<double>(kDepth * kRounds) * shape.rows * shape.columns * team.size();
  return best_rate(seconds, work, [&] {
    team.run(team.size(), [&](int64_t) {
      alignas(64) float a[kDepth], b[kDepth * kernels::simd::kMaxTileColumns], c[16 * kernels::simd::kMaxTileColumns];
      std::fill(std::begin(a), std::end(a), 1e-3f), std::fill(std::begin(b), std::end(b), 1e-3f);
      const kernels::simd::RowRun run = {a, 0, kDepth};
      kernels::simd::Tile t;
      t.runs = &run, t.n_runs = 1, t.b = b, t.b_stride = shape.columns, t.c = c, t.c_stride = shape.columns;
      t.rows = shape.rows, t.columns = shape.columns;
      for (int64_t i = 0; i < kRounds; ++i) loops.tile_f32(t);
    });
  });
}

template <class T>
double i8_rate(const kernels::simd::TileShape& shape, void (*tile)(const kernels::simd::IntTile<T>&), Team& team,
               double seconds) {
  const double work = static_cast<double>(kDepth * kRounds) * shape.rows * shape.columns * team.size();
  constexpr int kGroup = sizeof(T) == 1 ? 4 : 2;
  return best_rate(seconds, work, [&] {
    team.run(team.size(), [&](int64_t) {
      alignas(64) T a[kDepth];
      alignas(64) int8_t b[kDepth * kernels::simd::kMaxTileColumns];
      alignas(64) int32_t c[kernels::kMaxTileRows<T> * kernels::simd::kMaxTileColumns];
      std::fill(std::begin(a), std::end(a), T{1}), std::fill(std::begin(b), std::end(b), int8_t{1});
      const kernels::simd::RowRunOf<T> run = {a, 0, kDepth};
      kernels::simd::IntTile<T> t;
      t.runs = &run, t.n_runs = 1, t.b = b, t.b_stride = kGroup * shape.columns, t.c = c, t.c_stride = shape.columns;
      t.rows = shape.rows, t.columns = shape.columns, t.whole = true;
      for (int64_t i = 0; i < kRounds; ++i) tile(t);
    });
  });
}

/// Sums of a block of memory far larger than the caches.
double memory_rate(const kernels::simd::Loops& loops, Team& team, double seconds) {
  constexpr int64_t kFloats = int64_t{48} << 20, kPart = int64_t{1} << 16;
  auto block = Tensor::make(DType::f32, Shape{kFloats});
  if (!block.ok()) return 0;
  std::memset(block->mutable_data(), 0, static_cast<size_t>(block->bytes()));
  const float* x = block->as<float>().data();
  return best_rate(seconds, static_cast<double>(block->bytes()), [&] {
    team.run(kFloats / kPart, [&](int64_t part) {
      [[maybe_unused]] volatile float sum = loops.reduce_f32(kernels::ReduceKind::sum, x + part * kPart, kPart);
    });
  });
}

}  // namespace

MachineLimits measure_machine(int threads, double seconds) {
  const kernels::simd::Loops& loops = kernels::simd::loops(kernels::simd::best_isa());
  Team team(threads);
  MachineLimits out;
  out.threads = team.size();
  out.f32_gmacs = f32_rate(loops, team, seconds / 3) / 1e9;
  const double rate = loops.tile_u8 ? i8_rate<uint8_t>(loops.tile_shape_u8, loops.tile_u8, team, seconds / 3)
                      : loops.tile_pairs
                          ? i8_rate<uint8_t>(kernels::simd::kTileShapeAvx2, loops.tile_pairs, team, seconds / 3)
                          : i8_rate<int16_t>(loops.tile_shape_i16(), loops.tile_i16, team, seconds / 3);
  out.i8_gmacs = rate / 1e9;
  out.memory_gbs = memory_rate(loops, team, seconds / 3) / 1e9;
  return out;
}

}  // namespace nnex
