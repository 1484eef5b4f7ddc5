// Speed of the product and convolution kernels on shapes of real networks, each for every instruction set from AVX2 up
// (or the best one), beside the machine's own peak in the same run. Counter: GFLOP/s (multiply and add counted);
// convolutions of bytes (i8_) count GMAC/s. simd/NAME is every inner loop of simd.def on 1024 elements, channels or
// columns, which lie in the first level caches or near them.
//   kernels_bench --benchmark_filter=r50 --benchmark_min_time=0.1

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/conv/int8.h"
#include "kernels/product/gemm.h"
#include "simd_cases.h"

namespace nnex::kernels {
namespace {

using simd::Isa;
using simd::Loops;

struct ConvRow {
  const char* name;
  int64_t in_channels, out_channels, extent, kernel, stride;
  bool depthwise = false;
};

const ConvRow conv_rows[] = {
    {"r50_conv1", 3, 64, 224, 7, 2},
    {"r50_64_64_1x1", 64, 64, 56, 1, 1},
    {"r50_64_64_3x3", 64, 64, 56, 3, 1},
    {"r50_64_256_1x1", 64, 256, 56, 1, 1},
    {"r50_256_64_1x1", 256, 64, 56, 1, 1},
    {"r50_128_128_3x3", 128, 128, 28, 3, 1},
    {"r50_512_128_1x1", 512, 128, 28, 1, 1},
    {"r50_256_256_3x3", 256, 256, 14, 3, 1},
    {"r50_256_1024_1x1", 256, 1024, 14, 1, 1},
    {"r50_512_512_3x3", 512, 512, 7, 3, 1},
    {"r50_2048_512_1x1", 2048, 512, 7, 1, 1},
    {"r50_256_512_1x1_s2", 256, 512, 56, 1, 2},
    {"r50_128_128_3x3_s2", 128, 128, 56, 3, 2},
    {"vgg_64_64_3x3", 64, 64, 224, 3, 1},
    {"unet_32_32_3x3", 32, 32, 256, 3, 1},
    {"mb_3_32_3x3_s2", 3, 32, 224, 3, 2},
    {"mb_32_16_1x1", 32, 16, 112, 1, 1},
    {"mb_16_96_1x1", 16, 96, 112, 1, 1},
    {"mb_144_24_1x1", 144, 24, 56, 1, 1},
    {"mb_384_64_1x1", 384, 64, 14, 1, 1},
    {"mb_960_320_1x1", 960, 320, 7, 1, 1},
    {"dw_32_3x3", 32, 32, 112, 3, 1, true},
    {"dw_96_3x3_s2", 96, 96, 112, 3, 2, true},
    {"dw_144_3x3", 144, 144, 56, 3, 1, true},
    {"dw_384_3x3", 384, 384, 14, 3, 1, true},
    {"dw_960_3x3", 960, 960, 7, 3, 1, true},
    {"dw_240_5x5", 240, 240, 28, 5, 1, true},
    {"r18_64_128_3x3_s2", 64, 128, 56, 3, 2},
    {"r18_128_256_3x3_s2", 128, 256, 28, 3, 2},
    {"r18_256_512_3x3_s2", 256, 512, 14, 3, 2},
    {"mb1_64_128_1x1", 64, 128, 56, 1, 1},
    {"mb1_128_256_1x1", 128, 256, 28, 1, 1},
    {"mb1_512_512_1x1", 512, 512, 14, 1, 1},
    {"dw_512_3x3", 512, 512, 14, 3, 1, true},
};

struct ProductRow {
  const char* name;
  int64_t batch, m, n, k;
  bool packed = true;  // else the right-hand side is an activation
};

const ProductRow product_rows[] = {
    {"sq64", 1, 64, 64, 64},
    {"sq256", 1, 256, 256, 256},
    {"sq1024", 1, 1024, 1024, 1024},
    {"bert_128x768x768", 1, 128, 768, 768},
    {"bert_128x3072x768", 1, 128, 3072, 768},
    {"bert_128x768x3072", 1, 128, 768, 3072},
    {"gemv_768x768", 1, 1, 768, 768},
    {"gemv_3072x768", 1, 1, 3072, 768},
    {"gemv_1000x2048", 1, 1, 1000, 2048},
    {"m4_768x768", 1, 4, 768, 768},
    {"m16_768x768", 1, 16, 768, 768},
    {"attention_qk", 12, 128, 128, 64, false},
    {"attention_pv", 12, 128, 64, 128, false},
    {"attention_pv_one", 12, 1, 64, 512, false},
};

/// 64-byte aligned floats in [-1, 1).
class Floats {
 public:
  explicit Floats(int64_t n) : memory_(static_cast<size_t>(n) + 16) {
    uint32_t state = 1;
    for (float& v : memory_) v = static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / 8388608.0F - 1.0F;
  }
  float* data() { return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory_.data()) + 63) / 64 * 64); }

 private:
  std::vector<float> memory_;
};

void report(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

/// One tile whose operands stay in the first level cache: what the multipliers and this kernel can do at best.
void bench_tile(benchmark::State& state, Isa isa) {
  const Loops& table = simd::loops(isa);
  const simd::TileShape shape = table.tile_shape_f32();
  const int64_t k = 64;
  Floats a(shape.rows * k), b(k * shape.columns), c(shape.rows * shape.columns);
  const simd::RowRun run{a.data(), k, k};
  simd::Tile tile{.runs = &run, .n_runs = 1, .b = b.data(), .b_stride = shape.columns};
  tile.c = c.data();
  tile.c_stride = shape.columns;
  tile.rows = shape.rows;
  tile.columns = shape.columns;
  for (auto _ : state) table.tile_f32(tile);
  report(state, 2.0 * static_cast<double>(shape.rows * shape.columns * k));
}

/// A line of simd.def by itself.
void bench_loop(benchmark::State& state, Isa isa, const test::SimdLine& line) {
  const test::SimdCase one = line.make(simd::loops(isa), {1024, true});
  for (auto _ : state) {
    one.run();
    benchmark::ClobberMemory();
  }
}

void bench_product(benchmark::State& state, Isa isa, const ProductRow& row) {
  const Loops& table = simd::loops(isa);
  Team team(static_cast<int>(state.range(0)));
  Floats a(row.batch * row.m * row.k), b(row.batch * row.k * row.n), c(row.batch * row.m * row.n);
  Floats packed(packed_floats(table, row.k, row.n));
  BatchGemm p;
  p.one = {.m = row.m, .n = row.n, .k = row.k, .a = a.data(), .a_row_stride = row.k, .b = b.data(), .c = c.data()};
  p.one.c_row_stride = row.n;
  p.b_row_stride = row.n;
  p.axes = {{row.batch, row.m * row.k, row.k * row.n, row.m * row.n}};
  Floats workspace(gemm_batch_workspace(table, p, team.size()) / 4);
  if (row.packed) {
    pack_b(table, team, reinterpret_cast<const std::byte*>(b.data()), row.k, row.n, row.n, 1, packed.data());
    p.one.b = packed.data();
  }
  for (auto _ : state) {
    if (row.packed) {
      gemm(table, team, p.one);
    } else {
      gemm_batch(table, team, p, reinterpret_cast<std::byte*>(workspace.data()));
    }
  }
  report(state, 2.0 * static_cast<double>(row.batch * row.m * row.n * row.k));
}

ConvShape shape_of(const ConvRow& row) {
  const int64_t padding = row.kernel / 2, out = (row.extent + 2 * padding - row.kernel) / row.stride + 1;
  ConvShape s{.in_channels = row.in_channels, .out_channels = row.out_channels};
  if (row.depthwise) s.groups = row.in_channels;
  s.in = {1, row.extent, row.extent};
  s.out = {1, out, out};
  s.kernel = {1, row.kernel, row.kernel};
  s.stride = {1, row.stride, row.stride};
  s.before = {0, padding, padding};
  return s;
}

void bench_conv(benchmark::State& state, Isa isa, const ConvRow& row) {
  const Loops& table = simd::loops(isa);
  Team team(static_cast<int>(state.range(0)));
  const ConvShape s = shape_of(row);
  Floats x(s.in_pixels() * s.in_channels), y(s.out_pixels() * s.out_channels), bias(s.out_channels);
  Floats filter(s.out_channels * s.group_inputs() * s.taps()), packed(conv_filter_floats(table, s));
  Floats workspace(conv_workspace(table, s, team.size()) / 4);
  conv_pack_filter(table, team, s, reinterpret_cast<const std::byte*>(filter.data()), packed.data());
  const Epilogue end{.bias = bias.data(), .activation = {UnaryKind::relu}};
  for (auto _ : state)
    conv(table, team, s, x.data(), packed.data(), y.data(), end, reinterpret_cast<std::byte*>(workspace.data()));
  report(state, 2.0 * static_cast<double>(s.out_pixels() * s.out_channels * s.group_inputs() * s.taps()));
}

/// Bytes to bytes: bias, relu, a factor, a right shift and a clip behind the sums. Counts multiply-adds.
void bench_conv_i8(benchmark::State& state, Isa isa, const ConvRow& row) {
  const Loops& table = simd::loops(isa);
  Team team(static_cast<int>(state.range(0)));
  const ConvShape s = shape_of(row);
  const auto floats = [](int64_t bytes) { return bytes / 4 + 1; };
  Floats x(floats(s.in_pixels() * s.in_channels)), y(floats(s.out_pixels() * s.out_channels)), bias(s.out_channels);
  Floats filter(floats(s.out_channels * s.group_inputs() * s.taps())), packed(floats(conv_i8_filter_bytes(table, s)));
  Floats workspace(floats(conv_i8_workspace(table, s, true)));
  conv_i8_pack_filter(table, team, s, {.w = reinterpret_cast<const std::byte*>(filter.data())},
                      reinterpret_cast<std::byte*>(packed.data()));
  IntSteps steps;
  steps.clamp(0, INT32_MAX);
  steps.multiply(93);
  steps.shift_right(15);
  steps.clamp(-127, 127);
  const int64_t max = s.group_inputs() * s.taps() * 255 * 128;
  steps.finish({-max, max}, simd::IntType::i32, simd::IntType::u8);
  IntChain chain;
  chain.steps = steps.steps(), chain.narrow = steps.narrow();
  chain.y = reinterpret_cast<std::byte*>(y.data());
  chain.y_type = simd::IntType::u8, chain.y_row_stride = s.out_channels;
  ConvI8 c;
  c.x = reinterpret_cast<const std::byte*>(x.data());
  c.packed = reinterpret_cast<const std::byte*>(packed.data());
  c.end.bias = reinterpret_cast<const int32_t*>(bias.data());
  c.end.chain = &chain;
  for (auto _ : state) conv_i8(table, team, s, c, reinterpret_cast<std::byte*>(workspace.data()));
  const double macs = static_cast<double>(s.out_pixels() * s.out_channels * s.group_inputs() * s.taps());
  state.counters["GMAC/s"] =
      benchmark::Counter(macs * 1e-9, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void add_all(Isa isa, int threads) {
  const std::string end = "/" + std::string(simd::name(isa));
  const auto add = [&](const std::string& name, auto run) {
    // One thread is timed by its own clock, which neighbours on the machine disturb less.
    auto* added = benchmark::RegisterBenchmark((name + end).c_str(), run)->Arg(threads)->ArgName("threads");
    if (threads > 1) added->UseRealTime();
  };
  if (threads == 1) add("tile", [isa](benchmark::State& state) { bench_tile(state, isa); });
  for (const test::SimdLine& line : threads == 1 ? test::simd_lines() : std::vector<test::SimdLine>())
    add("simd/" + std::string(line.name), [isa, line](benchmark::State& state) { bench_loop(state, isa, line); });
  for (const ProductRow& row : product_rows)
    add(row.name, [isa, &row](benchmark::State& state) { bench_product(state, isa, row); });
  for (const ConvRow& row : conv_rows)
    add(row.name, [isa, &row](benchmark::State& state) { bench_conv(state, isa, row); });
  for (const ConvRow& row : conv_rows)
    add("i8_" + std::string(row.name), [isa, &row](benchmark::State& state) { bench_conv_i8(state, isa, row); });
}

}  // namespace
}  // namespace nnex::kernels

int main(int argc, char** argv) {
  using nnex::kernels::simd::Isa;
  for (int threads : {1, 2}) {
    bool any = false;
    for (Isa isa : {Isa::avx2, Isa::avx512}) {
      if (!nnex::kernels::simd::can_run(isa)) continue;
      nnex::kernels::add_all(isa, threads);
      any = true;
    }
    if (!any) nnex::kernels::add_all(nnex::kernels::simd::best_isa(), threads);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
