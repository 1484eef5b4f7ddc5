#pragma once
// Every line of simd.def with operands of its own, for the test that compares instruction sets and for the benchmark
// that times them: a line whose type has no case here does not compile.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/simd/loops.h"

namespace nnex::test {

namespace simd = kernels::simd;
using kernels::BinaryKind;
using kernels::CompareKind;
using kernels::Form;
using kernels::ReduceKind;
using kernels::UnaryKind;
using kernels::WholeStep;

using simd::Loops;

/// What the operands of a case lie in: each is followed by room for whole vectors. The same case has the same numbers.
class Operands {
 public:
  /// In [-2, 2).
  float* floats(size_t n) {
    float* const p = room<float>(n);
    for (size_t i = 0; i < n; ++i) p[i] = static_cast<float>(static_cast<int32_t>(random_()) >> 8) * 0x1p-22F;
    return p;
  }
  double* doubles(size_t n) {
    double* const p = room<double>(n);
    for (size_t i = 0; i < n; ++i) p[i] = static_cast<int32_t>(random_()) * 0x1p-30;
    return p;
  }
  template <class T>
  T* integers(size_t n) {
    T* const p = room<T>(n);
    for (size_t i = 0; i < n; ++i) p[i] = static_cast<T>(random_());
    return p;
  }
  /// Any numbers of the type.
  template <class T>
  T* numbers(size_t n) {
    if constexpr (std::is_same_v<T, float>)
      return floats(n);
    else if constexpr (std::is_same_v<T, double>)
      return doubles(n);
    else
      return integers<T>(n);
  }
  /// All are the same number.
  template <class T>
  T* filled(size_t n, T value) {
    T* const p = room<T>(n);
    std::fill(p, p + n, value);
    return p;
  }
  /// A result: its bytes are compared.
  template <class T>
  T* result(size_t n) {
    T* const p = room<T>(n);
    std::memset(static_cast<void*>(p), kUnwritten, n * sizeof(T));
    results_.push_back({reinterpret_cast<const char*>(p), n * sizeof(T)});
    return p;
  }
  std::string bytes() const {
    std::string out;
    for (std::string_view r : results_) out += r;
    return out;
  }

  static constexpr int kUnwritten = 0xA5;

 private:
  template <class T>
  T* room(size_t n) {
    constexpr size_t kBeyond = 64;  // elements of the widest vector, and what taps reach
    memory_.emplace_back((n + kBeyond) * sizeof(T) / 8 + 9);
    const auto at = reinterpret_cast<uintptr_t>(memory_.back().data());
    return reinterpret_cast<T*>((at + 63) / 64 * 64);
  }

  std::mt19937 random_{7};
  std::deque<std::vector<uint64_t>> memory_;
  std::vector<std::string_view> results_;
};

/// Operands of one line; run() writes its results, as often as it is called.
struct SimdCase {
  std::shared_ptr<Operands> operands = std::make_shared<Operands>();
  std::function<void()> run;
};

/// How large: n elements, channels or columns. `whole_tiles`: tiles as large as an instruction set has them, whose
/// results differ in shape then.
struct SimdSize {
  size_t n = 0;
  bool whole_tiles = false;
};

using Run = std::function<void()>;

// ---- Element by element

inline Run simd_run(simd::UnaryF32* f, const Loops&, Operands& o, SimdSize s) {
  const float* x = o.floats(s.n);
  float* y = o.result<float>(s.n);
  return [=] { f({UnaryKind::sigmoid}, x, y, s.n); };
}
inline Run simd_run(simd::UnaryF64* f, const Loops&, Operands& o, SimdSize s) {
  const double* x = o.doubles(s.n);
  double* y = o.result<double>(s.n);
  return [=] { f(UnaryKind::tanh, x, y, s.n); };
}
inline Run simd_run(simd::BinaryF32* f, const Loops&, Operands& o, SimdSize s) {
  const float *a = o.floats(s.n), *b = o.floats(s.n);
  float* y = o.result<float>(s.n);
  return [=] { f(BinaryKind::div, Form::vector_vector, a, b, y, s.n); };
}
template <class T>
Run simd_run(simd::CompareOf<T>* f, const Loops&, Operands& o, SimdSize s) {
  const T *a = o.numbers<T>(s.n), *b = o.numbers<T>(s.n);
  uint8_t* y = o.result<uint8_t>(s.n);
  return [=] { f(CompareKind::lt, a, b, y, s.n); };
}
template <class T>
Run simd_run(simd::WholeLoop<T>* f, const Loops&, Operands& o, SimdSize s) {
  const T *a = o.numbers<T>(s.n), *b = o.numbers<T>(s.n);
  T* y = o.result<T>(s.n);
  return [=] { f(WholeStep::max, a, b, 1, y, s.n); };
}
inline Run simd_run(simd::SelectU32* f, const Loops&, Operands& o, SimdSize s) {
  const uint8_t* which = o.integers<uint8_t>(s.n);
  const uint32_t *a = o.integers<uint32_t>(s.n), *b = o.integers<uint32_t>(s.n);
  uint32_t* y = o.result<uint32_t>(s.n);
  return [=] { f(which, a, b, y, s.n, 1, 1); };
}
template <class To, class From>
Run simd_run(simd::Convert<To, From>* f, const Loops&, Operands& o, SimdSize s) {
  const From* x = nullptr;
  if constexpr (std::is_same_v<From, float>)
    x = o.floats(s.n);
  else if constexpr (sizeof(From) == 2)
    x = o.filled<From>(s.n, 0x3bcd);
  else
    x = o.integers<From>(s.n);
  To* y = o.result<To>(s.n);
  return [=] { f(x, y, s.n); };
}
template <class T>
Run simd_run(simd::QuantizeTo<T>* f, const Loops&, Operands& o, SimdSize s) {
  const float *x = o.floats(s.n), *scale = o.filled(s.n, 0.0123F);
  const T* zero = o.integers<T>(s.n);
  T* y = o.result<T>(s.n);
  return [=] { f(x, scale, zero, 1, y, s.n); };
}
template <class T>
Run simd_run(simd::DequantizeFrom<T>* f, const Loops&, Operands& o, SimdSize s) {
  const float* scale = o.floats(s.n);
  const T *x = o.integers<T>(s.n), *zero = o.integers<T>(s.n);
  float* y = o.result<float>(s.n);
  return [=] { f(x, scale, zero, 1, y, s.n); };
}
inline Run simd_run(simd::RequantizeI32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr int64_t kRows = 3;
  const int64_t stride = static_cast<int64_t>(s.n) + 5;
  const int32_t* c = o.integers<int32_t>(static_cast<size_t>(kRows * stride));
  simd::Requantize to;
  to.scale = o.filled(s.n, 1e-7F), to.step = 1, to.zero = 100;
  uint8_t* y = o.result<uint8_t>(kRows * s.n);
  return [=] { f(to, {c, stride, kRows}, y, static_cast<int64_t>(s.n), s.n); };
}

// ---- Moves

template <class T>
Run simd_run(simd::TransposeOf<T>* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kRows = 21;
  const T* x = o.integers<T>(kRows * s.n);
  T* y = o.result<T>(kRows * s.n);
  return [=] { f(x, s.n, y, kRows, kRows, s.n); };
}
inline Run simd_run(simd::PhasesF32* f, const Loops&, Operands& o, SimdSize s) {
  simd::Phases p;
  p.rows = 2, p.n = p.x_row = s.n, p.phases = 2;
  p.y_row = (s.n + 1) / 2 * 2;  // the second phase is no longer than the first
  p.y_stride = static_cast<int64_t>(p.y_row / 2);
  p.x = o.floats(2 * s.n), p.y = o.result<float>(s.n + p.y_row);
  if (s.n % 2) p.y[s.n] = 0;
  return [=] { f(p); };
}
/// Some places are outside.
inline Run simd_run(simd::GatherTapsF32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kCount = 4;
  const float *x = o.floats(s.n), *weights = o.floats(kCount * s.n);
  const uint8_t* bytes = o.integers<uint8_t>(kCount * s.n);
  int32_t* at = o.filled<int32_t>(kCount * s.n, 0);
  for (size_t i = 0; i < kCount * s.n; ++i) at[i] = static_cast<int32_t>(bytes[i] % (s.n + 1)) - 1;
  float* y = o.result<float>(s.n);
  return [=] { f(x, at, weights, s.n, kCount, y, s.n); };
}
inline Run simd_run(simd::PickBytes* f, const Loops&, Operands& o, SimdSize s) {
  const size_t n = s.n + simd::kPickBytes - 1, blocks = (n + simd::kPickBytes - 1) / simd::kPickBytes;
  const uint8_t* x = o.integers<uint8_t>(n);
  const uint8_t* bytes = o.integers<uint8_t>(blocks * simd::kPickBytes);
  uint8_t* places = o.filled<uint8_t>(blocks * simd::kPickBytes, 0);
  int32_t* from = o.filled<int32_t>(blocks, 0);
  for (size_t i = 0; i < blocks * simd::kPickBytes; ++i) places[i] = bytes[i] % simd::kPickBytes;
  for (size_t b = 0; b < blocks; ++b) from[b] = static_cast<int32_t>(bytes[b] % s.n);
  uint8_t* y = o.result<uint8_t>(n);
  return [=] { f(x, from, places, y, n); };
}
inline Run simd_run(simd::InterleaveThree* f, const Loops&, Operands& o, SimdSize s) {
  const uint8_t *a = o.integers<uint8_t>(s.n), *b = o.integers<uint8_t>(s.n), *c = o.integers<uint8_t>(s.n);
  uint8_t* y = o.result<uint8_t>(3 * s.n);
  return [=] { f(a, b, c, y, s.n); };
}

// ---- Pools, rows and columns

constexpr size_t kTaps = 5;
template <class T>
std::vector<const T*> taps(Operands& o, size_t n) {
  std::vector<const T*> out;
  for (size_t t = 0; t < kTaps; ++t)
    if constexpr (std::is_same_v<T, float>)
      out.push_back(o.floats(n));
    else
      out.push_back(o.integers<T>(n));
  return out;
}
inline Run simd_run(simd::FoldTapsF32* f, const Loops&, Operands& o, SimdSize s) {
  const auto x = taps<float>(o, s.n);
  float *sum = o.result<float>(s.n), *max = o.result<float>(s.n);
  return [=] {
    f(false, x.data(), kTaps, nullptr, 3.0F, sum, s.n, 1, 0);
    f(true, x.data(), kTaps, nullptr, 1.0F, max, s.n, 1, 0);
  };
}
inline Run simd_run(simd::PoolLinesF32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kLines = 5, kWindow = 3;
  simd::PoolLines p;
  p.rows = p.taps = kWindow, p.row_step = p.x_step = s.n + kWindow - 1;
  p.x = o.floats((kLines + kWindow - 1) * p.x_step);
  p.lines = kLines, p.n = p.y_step = s.n, p.divisor = 9;
  simd::PoolLines max = p, each = p;
  p.y = o.result<float>(kLines * s.n), max.y = o.result<float>(kLines * s.n), max.maximum = true;
  each.y = o.result<float>(kLines * s.n), each.divisors = o.floats(kLines * s.n);
  return [=] { f(p), f(max), f(each); };
}
inline Run simd_run(simd::MaxRowsF32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kLines = 5;
  simd::PoolLines p, apart;
  p.rows = kTaps, p.row_step = p.x_step = p.y_step = p.n = s.n, p.lines = kLines;
  p.x = o.floats((kLines + kTaps - 1) * s.n);
  apart = p, apart.x_step = 2 * s.n, apart.lines = kLines / 2;
  p.y = o.result<float>(kLines * s.n), apart.y = o.result<float>(apart.lines * s.n);
  float* plain = o.result<float>(2);
  return [=] { plain[0] = f(p), plain[1] = f(apart); };
}
inline Run simd_run(simd::WeighTapsF32* f, const Loops&, Operands& o, SimdSize s) {
  const auto x = taps<float>(o, s.n);
  const float* weights = o.floats(kTaps);
  float* y = o.result<float>(s.n);
  return [=] { f(x.data(), weights, kTaps, y, s.n); };
}
inline Run simd_run(simd::MaxBytesLoop* f, const Loops&, Operands& o, SimdSize s) {
  const auto x = taps<uint8_t>(o, s.n);
  uint8_t* y = o.result<uint8_t>(s.n);
  return [=] { f({x.data(), kTaps, 0x80, 1, 0, y, 0, s.n}); };
}
template <class T>
Run simd_run(simd::ReduceRow<T>* f, const Loops&, Operands& o, SimdSize s) {
  const T* x = o.numbers<T>(s.n);
  T* y = o.result<T>(2);
  return [=] { y[0] = f(ReduceKind::sum, x, s.n), y[1] = f(ReduceKind::max, x, s.n); };
}
inline Run simd_run(simd::SumAboutF32* f, const Loops&, Operands& o, SimdSize s) {
  const float* x = o.floats(s.n);
  float* y = o.result<float>(1);
  return [=] { *y = f(x, s.n, 0.3F); };
}
template <class T>
Run simd_run(simd::ReduceColumns<T>* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kRows = 20;
  const T* x = o.numbers<T>(kRows * s.n);
  T *sum = o.result<T>(s.n), *max = o.result<T>(s.n);
  return [=] {
    f(ReduceKind::sum, x, s.n, kRows, sum, s.n);
    f(ReduceKind::max, x, s.n, kRows, max, s.n);
  };
}
inline Run simd_run(simd::ExtremesF32* f, const Loops&, Operands& o, SimdSize s) {
  const float* x = o.floats(s.n);
  float* y = o.result<float>(2);
  return [=] { f(x, s.n, y, y + 1); };
}
inline Run simd_run(simd::FindF32* f, const Loops&, Operands& o, SimdSize s) {
  const float* x = o.floats(s.n);
  size_t* y = o.result<size_t>(1);
  return [=] { *y = f(x, s.n, x[s.n - 1]); };
}
inline Run simd_run(simd::LogSumExpF32* f, const Loops&, Operands& o, SimdSize s) {
  const float* x = o.floats(s.n);
  float* y = o.result<float>(1);
  return [=] { *y = f(x, s.n); };
}
inline Run simd_run(simd::SoftmaxF32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kRows = 3;
  const float* x = o.floats(kRows * s.n);
  float* y = o.result<float>(kRows * s.n);
  return [=] { f(x, y, s.n, kRows); };
}
inline Run simd_run(simd::SoftmaxColumnsF32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kRows = 20;
  const float* x = o.floats(kRows * s.n);
  float* y = o.result<float>(kRows * s.n);
  return [=] { f(false, x, y, s.n, kRows, s.n); };
}
inline Run simd_run(simd::NormalizeF32* f, const Loops&, Operands& o, SimdSize s) {
  simd::NormalizeRow row;
  row.x = o.floats(s.n), row.residual = o.floats(s.n), row.scale = o.floats(s.n), row.offset = o.floats(s.n);
  row.sum = o.result<float>(s.n), row.y = o.result<float>(s.n), row.stats = o.result<float>(2), row.epsilon = 1e-5F;
  return [=] { f(row, s.n); };
}

// ---- Recurrent layers

inline Run simd_run(simd::LstmF32* f, const Loops&, Operands& o, SimdSize s) {
  simd::LstmRow row;
  row.z_input = o.floats(s.n), row.z_output = o.floats(s.n), row.z_forget = o.floats(s.n), row.z_cell = o.floats(s.n);
  row.p_input = o.floats(s.n), row.p_output = o.floats(s.n), row.p_forget = o.floats(s.n);
  row.c_before = o.floats(s.n), row.c = o.result<float>(s.n), row.h = o.result<float>(s.n);
  return [=] { f(row, s.n); };
}
inline Run simd_run(simd::GruF32* f, const Loops&, Operands& o, SimdSize s) {
  simd::GruRow row;
  row.z_update = o.floats(s.n), row.z_reset = o.floats(s.n), row.z_hidden = o.floats(s.n);
  row.r_hidden = o.floats(s.n), row.h_before = o.floats(s.n), row.h = o.result<float>(s.n);
  return [=] { f(row, s.n); };
}
inline Run simd_run(simd::GruResetF32* f, const Loops&, Operands& o, SimdSize s) {
  const float *z = o.floats(s.n), *h = o.floats(s.n);
  float* y = o.result<float>(s.n);
  return [=] { f(z, h, 0, y, s.n); };
}

// ---- Products

/// A tile's shape is an instruction set's own: what all keep to.
inline Run simd_run(simd::TileShapeF32* f, const Loops&, Operands& o, SimdSize) {
  bool* fine = o.result<bool>(3);
  return [=] {
    const simd::TileShape shape = f();
    fine[0] = shape.rows > 0 && shape.lanes > 0;
    fine[1] = shape.columns <= simd::kMaxTileColumns;
    fine[2] = shape.columns % shape.lanes == 0;
  };
}
inline Run simd_run(simd::TileF32* f, const Loops& table, Operands& o, SimdSize s) {
  const simd::TileShape shape = table.tile_shape_f32();
  const int rows = s.whole_tiles ? shape.rows : 2, columns = s.whole_tiles ? shape.columns : 3;
  auto run = std::make_shared<simd::RowRun>();
  const auto k = static_cast<int64_t>(s.n);
  run->a = o.floats(s.n * static_cast<size_t>(rows)), run->row_stride = k, run->k = k;
  const float* dense = o.floats(s.n * static_cast<size_t>(columns));
  float* b = o.filled(s.n * static_cast<size_t>(shape.columns), 0.0F);
  for (int64_t i = 0; i < k; ++i) std::copy_n(dense + i * columns, columns, b + i * shape.columns);
  simd::Tile tile{.runs = run.get(), .n_runs = 1, .b = b, .b_stride = shape.columns};
  tile.rows = rows, tile.columns = columns, tile.c_stride = columns;
  tile.c = o.result<float>(static_cast<size_t>(rows * columns));
  return [=, keep = run] { f(tile); };
}
/// Codes of 4 bits in blocks of 16 rows, for some k of a codebook, or float16 or bfloat16, of as many columns; those
/// that fill the last vector are zeros.
inline simd::CodePanel code_panel(Operands& o, size_t k, int columns, int lanes) {
  const size_t words = (k + 7) / 8, blocks = (k + 15) / 16;
  simd::CodePanel p;
  p.block = 16, p.columns = (columns + lanes - 1) / lanes * lanes;
  const auto padded = [&](const auto* dense, size_t rows) {
    auto* to = o.filled(rows * static_cast<size_t>(p.columns), std::decay_t<decltype(*dense)>{});
    for (size_t i = 0; i < rows; ++i)
      std::copy_n(dense + i * static_cast<size_t>(columns), columns, to + i * static_cast<size_t>(p.columns));
    return to;
  };
  if (k % 3 != 0) {
    const size_t count = k * static_cast<size_t>(columns);
    const uint16_t* any = o.integers<uint16_t>(count);
    uint16_t* finite = o.filled(count, uint16_t{0});
    std::transform(any, any + count, finite, [](uint16_t h) { return static_cast<uint16_t>(h & 0xbfffU); });
    p.bits = 16, p.brain = k % 3 == 1, p.halves = padded(finite, k);
    return p;
  }
  p.words = padded(o.integers<uint32_t>(words * static_cast<size_t>(columns)), words);
  p.scale = padded(o.floats(blocks * static_cast<size_t>(columns)), blocks);
  if (k % 2 == 0) {
    p.codebook = o.floats(16);
    return p;
  }
  p.zero = padded(o.integers<uint8_t>(blocks * static_cast<size_t>(columns)), blocks);
  return p;
}
inline Run simd_run(simd::TileCodesF32* f, const Loops& table, Operands& o, SimdSize s) {
  const simd::TileShape shape = table.tile_shape_f32();
  const int rows = s.whole_tiles ? 1 : 2, columns = s.whole_tiles ? shape.columns : 3;
  auto run = std::make_shared<simd::RowRun>();
  run->k = run->row_stride = static_cast<int64_t>(s.n);
  run->a = o.floats(s.n * static_cast<size_t>(rows));
  simd::CodeTile t = {{.runs = run.get(), .n_runs = 1}, code_panel(o, s.n, columns, shape.lanes)};
  t.tile.rows = rows, t.tile.columns = columns, t.tile.c_stride = columns;
  t.tile.c = o.result<float>(static_cast<size_t>(rows * columns));
  return [=, keep = run] { f(t); };
}
/// Its rows are as long as the panel is wide: the first columns are compared.
inline Run simd_run(simd::UnpackCodesF32* f, const Loops& table, Operands& o, SimdSize s) {
  const simd::TileShape shape = table.tile_shape_f32();
  const int columns = s.whole_tiles ? shape.columns : 3;
  const simd::CodePanel p = code_panel(o, s.n, columns, shape.lanes);
  float* all = o.filled(s.n * static_cast<size_t>(p.columns), 0.0F);
  float* y = o.result<float>(s.n * static_cast<size_t>(columns));
  return [=, n = s.n] {
    f(p, 0, static_cast<int64_t>(n), all);
    for (size_t i = 0; i < n; ++i)
      std::copy_n(all + i * static_cast<size_t>(p.columns), columns, y + i * static_cast<size_t>(columns));
  };
}
inline Run simd_run(simd::TileI16* f, const Loops& table, Operands& o, SimdSize s) {
  const simd::TileShape shape = table.tile_shape_i16();
  const int rows = s.whole_tiles ? shape.rows : 2, columns = s.whole_tiles ? shape.columns : 3;
  auto run = std::make_shared<simd::RowRunOf<int16_t>>();
  const size_t groups = (s.n + 1) / 2;
  const auto a = o.integers<int8_t>(2 * groups * static_cast<size_t>(rows));
  int16_t* wide = o.filled<int16_t>(2 * groups * static_cast<size_t>(rows), 0);
  std::copy_n(a, 2 * groups * static_cast<size_t>(rows), wide);
  run->a = wide, run->row_stride = static_cast<int64_t>(2 * groups), run->k = static_cast<int64_t>(s.n);
  const int8_t* dense = o.integers<int8_t>(2 * groups * static_cast<size_t>(columns));
  simd::IntTile<int16_t> tile;
  tile.b_stride = 2 * shape.columns;
  int8_t* b = o.filled<int8_t>(groups * static_cast<size_t>(tile.b_stride), 0);
  for (size_t g = 0; g < groups; ++g)
    std::copy_n(dense + g * static_cast<size_t>(2 * columns), 2 * columns, b + g * static_cast<size_t>(tile.b_stride));
  tile.runs = run.get(), tile.n_runs = 1, tile.b = b;
  tile.rows = rows, tile.columns = columns, tile.c_stride = columns;
  tile.c = o.result<int32_t>(static_cast<size_t>(rows * columns));
  return [=, keep = run] { f(tile); };
}
inline Run simd_run(simd::DotRowsF32* f, const Loops&, Operands& o, SimdSize s) {
  constexpr size_t kDepth = 23;
  const float *a = o.floats(s.n * (kDepth + 2)), *b = o.floats(kDepth);
  float* y = o.result<float>(s.n);
  return [=] { f(a, kDepth + 2, b, y, s.n, kDepth); };
}
template <class T>
Run simd_run(simd::ProductOf<T>* f, const Loops&, Operands& o, SimdSize s) {
  simd::TypedProduct<T> p;
  p.m = 3, p.k = 17, p.n = s.n;
  p.a = o.numbers<T>(p.m * p.k), p.a_row = p.k, p.a_column = 1;
  p.b = o.numbers<T>(p.k * p.n), p.b_row = p.n;
  p.z = o.result<T>(p.m * p.n), p.z_row = p.n;
  return [=] { f(p); };
}

// ---- Convolutions

constexpr int64_t kWidth = 9;  ///< Pixels of an image's row.

inline Run simd_run(simd::DepthwiseF32* f, const Loops&, Operands& o, SimdSize s) {
  auto rows = std::make_shared<std::vector<const float*>>();
  for (int r = 0; r < 3; ++r) rows->push_back(o.floats(s.n * kWidth));
  simd::DepthwiseLine line;
  line.rows = rows->data(), line.n_rows = 3, line.taps = 3, line.before = 1;
  line.zeros = o.filled(s.n, 0.0F);
  line.w = o.floats(9 * s.n), line.w_stride = line.channels = line.x_stride = line.y_stride = static_cast<int64_t>(s.n);
  line.in_width = line.out_width = kWidth;
  line.y = o.result<float>(s.n * kWidth);
  line.end.bias = o.floats(s.n), line.end.activation = {UnaryKind::relu};
  // The same of three channels, fewer than most vectors have, s.n pixels wide.
  constexpr size_t kFew = 3, kStride = 64;
  auto few_rows = std::make_shared<std::vector<const float*>>();
  for (int r = 0; r < 3; ++r) few_rows->push_back(o.floats(s.n * kFew));
  simd::DepthwiseLine few = line;
  few.rows = few_rows->data(), few.channels = few.x_stride = few.y_stride = kFew;
  few.in_width = few.out_width = static_cast<int64_t>(s.n);
  float* w = o.floats(9 * kStride);
  for (size_t i = 0; i < 9 * kStride; ++i)
    if (i % kStride >= kFew) w[i] = w[i - kFew];
  few.zeros = o.filled(kFew, 0.0F);
  few.w = w, few.w_stride = kStride, few.repeated = true;
  few.y = o.result<float>(s.n * kFew);
  few.end.bias = o.floats(kFew);
  return [=, keep = rows, kept = few_rows] { f(line), f(few); };
}
/// Of groups of every size, s.n of them or channels for about as many.
inline Run simd_run(simd::GroupedF32* f, const Loops& table, Operands& o, SimdSize s) {
  auto rows = std::make_shared<std::vector<const float*>>();
  std::vector<simd::GroupedLine> lines;
  for (const int64_t group : {2, 4, 8}) {
    const auto channels = static_cast<size_t>((static_cast<int64_t>(s.n) + group - 1) / group * group);
    simd::GroupedLine line;
    line.group = group, line.n_rows = 3, line.taps = 3, line.before = 1;
    line.zeros = o.filled(16, 0.0F);
    const int64_t lanes = table.tile_shape_f32().lanes, terms = 9 * group, all = static_cast<int64_t>(channels);
    const float* dense = o.floats(channels * static_cast<size_t>(terms));  // of each channel
    float* w = o.filled(static_cast<size_t>((all + lanes - 1) / lanes * lanes * terms), 0.0F);
    line.w = w;
    for (int64_t v = 0; v * lanes < all; ++v)
      for (int64_t i = 0; i < terms; ++i)
        for (int64_t c = 0; c < lanes; ++c, ++w)
          if (c < all) *w = dense[(simd::grouped_first(v, lanes, all) + c) * terms + i];
    line.channels = line.x_stride = line.y_stride = static_cast<int64_t>(channels);
    line.in_width = line.out_width = kWidth;
    line.y = o.result<float>(channels * kWidth);
    line.end.bias = o.floats(channels), line.end.activation = {UnaryKind::relu};
    lines.push_back(line);
    simd::GroupedLine strided = line;
    strided.stride = 2, strided.out_width = (kWidth + 1) / 2;
    strided.y = o.result<float>(channels * static_cast<size_t>(strided.out_width));
    lines.push_back(strided);
  }
  const size_t most = (s.n + 7) / 8 * 8;
  for (const float* row : {o.floats(most * kWidth), static_cast<float*>(nullptr), o.floats(most * kWidth)})
    rows->push_back(row);
  for (simd::GroupedLine& line : lines) line.rows = rows->data();
  return [=, keep = rows] {
    for (const simd::GroupedLine& line : lines) f(line);
  };
}
inline Run simd_run(simd::DepthwiseI8* f, const Loops&, Operands& o, SimdSize s) {
  auto rows = std::make_shared<std::vector<const uint8_t*>>();
  for (int r = 0; r < 3; ++r) rows->push_back(o.integers<uint8_t>(s.n * kWidth));
  simd::DepthwiseByteLine line;
  line.rows = rows->data(), line.n_rows = 3, line.taps = 3, line.before = 1, line.flip = 0x80;
  line.outside = o.filled<uint8_t>(s.n, 0x80);
  const int8_t* weights = o.integers<int8_t>(9 * s.n);
  int32_t* w = o.filled<int32_t>(9 * s.n, 0);
  std::copy_n(weights, 9 * s.n, w);
  line.w = w, line.add = o.integers<int32_t>(s.n);
  line.w_stride = line.channels = line.x_stride = line.sums_stride = static_cast<int64_t>(s.n);
  line.in_width = line.out_width = kWidth;
  line.sums = o.result<int32_t>(s.n * kWidth);
  return [=, keep = rows] { f(line); };
}
inline Run simd_run(simd::DepthwisePlanesF32* f, const Loops&, Operands& o, SimdSize s) {
  static constexpr int64_t kOffsets[] = {0, 1, 2};
  constexpr size_t kLines = 4;
  auto rows = std::make_shared<std::vector<const float*>>();
  for (size_t r = 0; r < kLines + 2; ++r) rows->push_back(o.floats(s.n + 2));
  simd::PlaneLines lines;
  lines.rows = rows->data(), lines.n_rows = lines.taps = 3, lines.offsets = kOffsets;
  lines.slice_rows = kLines + 2, lines.lines = kLines;
  lines.w = o.floats(9), lines.end.bias = o.floats(1);
  lines.out_width = lines.y_stride = static_cast<int64_t>(s.n);
  lines.y = o.result<float>(kLines * s.n);
  return [=, keep = rows] { f(lines); };
}
inline Run simd_run(simd::WinogradPatchF32* f, const Loops&, Operands& o, SimdSize s) {
  simd::WinogradPatch patch;
  for (const float*& d : patch.d) d = o.floats(s.n);
  patch.y_stride = patch.channels = static_cast<int64_t>(s.n);
  patch.y = o.result<float>(16 * s.n);
  return [=] { f(patch); };
}
inline Run simd_run(simd::WinogradResultF32* f, const Loops&, Operands& o, SimdSize s) {
  simd::WinogradResult r;
  r.m = o.floats(16 * s.n), r.m_stride = r.channels = static_cast<int64_t>(s.n);
  for (float*& y : r.y) y = o.result<float>(s.n);
  r.end.bias = o.floats(s.n);
  return [=] { f(r); };
}

// ---- Networks of whole numbers

/// x * 93, rounded after a shift by 7 and limited to bytes.
struct IntRow {
  simd::IntStep step;
  simd::IntBlock block;
};
inline std::shared_ptr<IntRow> int_row(Operands& o, size_t n) {
  auto row = std::make_shared<IntRow>();
  simd::IntStage& stage = row->step.stage;
  stage.low = -1000, stage.high = 1000, stage.factor = 93, stage.shift = 7, stage.min = -127, stage.max = 127;
  stage.fixed = 93 << (15 - 7), stage.carries = false;
  simd::IntBlock& b = row->block;
  b.rows = 1, b.columns = static_cast<int64_t>(n), b.steps = &row->step, b.n_steps = 1;
  b.x = {o.integers<int16_t>(n), simd::IntType::i16, false, b.columns};
  b.y = o.result<int8_t>(n), b.y_type = simd::IntType::i8, b.y_row_stride = b.columns;
  return row;
}
inline Run simd_run(simd::ChainI32* f, const Loops&, Operands& o, SimdSize s) {
  return [f, row = int_row(o, s.n)] { f(row->block); };
}
/// As many columns as it does by itself, the others as chain_i32 does them.
inline Run simd_run(simd::ChainI16* f, const Loops& table, Operands& o, SimdSize s) {
  return [f, rest = table.chain_i32, row = int_row(o, s.n)] {
    simd::IntBlock b = row->block;
    b.narrow = 0;
    const int64_t done = f(b);
    b.columns -= done;
    b.x.p = static_cast<const int16_t*>(b.x.p) + done;
    b.y = static_cast<int8_t*>(b.y) + done;
    if (b.columns > 0) rest(b);
  };
}
inline Run simd_run(simd::AddBytesLoop* f, const Loops&, Operands& o, SimdSize s) {
  simd::AddBytes sum;
  sum.a = {o.integers<uint8_t>(s.n), 0x80, 131, 0.02F};
  sum.b = {o.integers<uint8_t>(s.n), 0, 7, 0.013F};
  sum.to = {nullptr, 0, 120, 0.03F};
  sum.min = 0, sum.max = 6, sum.n = s.n;
  sum.y = o.result<uint8_t>(s.n);
  return [=] { f(sum); };
}

// ---- The list

struct SimdLine {
  std::string_view name;
  bool fused = false;  ///< NNEX_SIMD_FUSED.
  SimdCase (*make)(const Loops& table, SimdSize size) = nullptr;
};

inline std::vector<SimdLine> simd_lines() {
#define NNEX_LINE(name, fused)                                       \
  SimdLine{#name, fused, [](const Loops& table, SimdSize size) {     \
             SimdCase c;                                             \
             c.run = simd_run(table.name, table, *c.operands, size); \
             return c;                                               \
           }},
#define NNEX_SIMD(name, signature) NNEX_LINE(name, false)
#define NNEX_SIMD_FUSED(name, signature) NNEX_LINE(name, true)
  return {
#include "kernels/simd/simd.def"
  };
#undef NNEX_LINE
#undef NNEX_SIMD
#undef NNEX_SIMD_FUSED
}

}  // namespace nnex::test
