#include "kernels/normalize/normalize.h"

#include <algorithm>
#include <cmath>

#include "base/split.h"
#include "base/try.h"

namespace nnex::kernels {

void normalize_rows(const simd::Loops& loops, Team& team, const Normalize& what, int64_t rows, int64_t n) {
  const auto at = [n](auto* p, int64_t row) { return p ? p + row * n : nullptr; };
  split(team, rows, rows * n * 12, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float stats[2];
      const simd::NormalizeRow one = {.x = at(what.x, row),
                                      .residual = at(what.residual, row),
                                      .scale = what.scale,
                                      .offset = what.offset,
                                      .sum = at(what.sum, row),
                                      .y = at(what.y, row),
                                      .stats = stats,
                                      .epsilon = what.epsilon,
                                      .centred = what.centred};
      loops.normalize_f32(one, static_cast<size_t>(n));
      if (what.mean) what.mean[row] = stats[0];
      if (what.inv_std) what.inv_std[row] = stats[1];
    }
  });
}

namespace {

/// Deviations from 0 beyond which a mean is taken off first: x factor - mean factor would lose as many bits.
constexpr float kFar = 4;

/// y = (x - mean) factor + offset for n elements.
void scale_away(const simd::Loops& loops, const float* x, float mean, float factor, float offset, bool far, float* y,
                int64_t n) {
  if (!far) return loops.unary_f32({UnaryKind::affine, factor, offset - mean * factor}, x, y, static_cast<size_t>(n));
  constexpr int64_t kPiece = 2048;  // stays in the first level cache
  for (int64_t i = 0; i < n; i += kPiece) {
    const auto count = static_cast<size_t>(std::min(kPiece, n - i));
    loops.binary_f32(BinaryKind::sub, Form::vector_scalar, x + i, &mean, y + i, count);
    loops.unary_f32({UnaryKind::affine, factor, offset}, y + i, y + i, count);
  }
}

}  // namespace

void normalize_groups(const simd::Loops& loops, Team& team, const float* x, const float* scale, const float* offset,
                      float* y, int64_t batch, int64_t channels, int64_t inner, int64_t groups, float epsilon) {
  const int64_t per_group = channels / groups, n = per_group * inner;
  split(team, batch * groups, batch * channels * inner * 12, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x + row * n;
      float stats[2];
      loops.normalize_f32({.x = from, .stats = stats, .epsilon = epsilon}, static_cast<size_t>(n));
      for (int64_t k = 0; k < per_group; ++k) {
        const int64_t c = row % groups * per_group + k;
        const float factor = scale ? stats[1] * scale[c] : stats[1], added = offset ? offset[c] : 0.0F;
        scale_away(loops, from + k * inner, stats[0], factor, added, std::abs(stats[0]) * stats[1] > kFar,
                   y + row * n + k * inner, inner);
      }
    }
  });
}

namespace {

constexpr int64_t kMaxReach = 256;

/// sums = (bias + factor sums)^beta for n elements; `scratch` is used up.
void raise(const simd::Loops& loops, const LocalResponse& what, float* sums, float* scratch, int64_t n) {
  const size_t count = static_cast<size_t>(n);
  loops.unary_f32({UnaryKind::affine, what.factor, what.bias}, sums, sums, count);
  // The common powers 3/4 and 1/2 by square roots.
  if (what.beta == 0.5F || what.beta == 0.75F) {
    loops.unary_f32({UnaryKind::sqrt}, sums, sums, count);
    if (what.beta == 0.5F) return;
    loops.unary_f32({UnaryKind::sqrt}, sums, scratch, count);
    loops.binary_f32(BinaryKind::mul, Form::vector_vector, sums, scratch, sums, count);
  } else {
    loops.binary_f32(BinaryKind::pow, Form::vector_scalar, sums, &what.beta, sums, count);
  }
}

constexpr int64_t kTileFloats = 2048, kMaxPiece = 1024;

/// Channels side by side. Squares of several rows, zeros before and after each, stand in a tile, so that loops run over
/// all of them at once.
void respond_rows(const simd::Loops& loops, const LocalResponse& what, const float* x, float* y, int64_t rows,
                  int64_t channels) {
  float squares[kTileFloats + kMaxReach], sums[kTileFloats];
  const int64_t reach = what.before + what.after;
  for (int64_t c0 = 0; c0 < channels; c0 += kMaxPiece) {
    const int64_t n = std::min(kMaxPiece, channels - c0), step = n + reach;
    const int64_t low = std::max<int64_t>(0, c0 - what.before), high = std::min(channels, c0 + n + what.after);
    const int64_t before = low - (c0 - what.before), max = std::max<int64_t>(1, kTileFloats / step);
    for (int64_t row = 0; row < rows; row += max) {
      const int64_t tile_rows = std::min(max, rows - row), count = tile_rows * step - reach;
      for (int64_t r = 0; r < tile_rows; ++r) {
        const float* from = x + (row + r) * channels + low;
        float* to = squares + r * step;
        std::fill_n(to, before, 0.0F);
        loops.binary_f32(BinaryKind::mul, Form::vector_vector, from, from, to + before,
                         static_cast<size_t>(high - low));
        std::fill(to + before + high - low, to + step, 0.0F);
      }
      std::copy_n(squares, count, sums);
      for (int64_t k = 1; k <= reach; ++k)
        loops.binary_f32(BinaryKind::add, Form::vector_vector, sums, squares + k, sums, static_cast<size_t>(count));
      raise(loops, what, sums, squares, count);
      for (int64_t r = 0; r < tile_rows; ++r) {
        const int64_t at = (row + r) * channels + c0;
        loops.binary_f32(BinaryKind::div, Form::vector_vector, x + at, sums + r * step, y + at, static_cast<size_t>(n));
      }
    }
  }
}

constexpr int64_t kWindowFloats = 8192;

/// Columns whose squares are kept at once: the window's rows of them stay in the first cache.
int64_t window_columns(int64_t window) { return std::clamp<int64_t>(kWindowFloats / window / 16 * 16, 16, 512); }

/// `columns` neighbouring elements of every channel, `inner` apart; the window's squares stand in a ring.
void respond_columns(const simd::Loops& loops, const LocalResponse& what, const float* x, float* y, int64_t channels,
                     int64_t inner, int64_t columns) {
  const int64_t window = what.before + what.after + 1, width = window_columns(window);
  const size_t n = static_cast<size_t>(columns);
  float ring[kWindowFloats], sums[512], scratch[512];
  const auto squares = [&](int64_t channel) { return ring + (channel + window) % window * width; };
  const auto enter = [&](int64_t channel) {
    const float* from = x + channel * inner;
    if (channel >= 0 && channel < channels)
      loops.binary_f32(BinaryKind::mul, Form::vector_vector, from, from, squares(channel), n);
    else
      std::fill_n(squares(channel), columns, 0.0F);
  };
  for (int64_t c = -what.before; c < what.after; ++c) enter(c);
  for (int64_t c = 0; c < channels; ++c) {
    enter(c + what.after);
    std::copy_n(squares(c - what.before), columns, sums);
    for (int64_t k = 1 - what.before; k <= what.after; ++k)
      loops.binary_f32(BinaryKind::add, Form::vector_vector, sums, squares(c + k), sums, n);
    raise(loops, what, sums, scratch, columns);
    loops.binary_f32(BinaryKind::div, Form::vector_vector, x + c * inner, sums, y + c * inner, n);
  }
}

}  // namespace

void local_response(const simd::Loops& loops, Team& team, const LocalResponse& what, const float* x, float* y,
                    int64_t outer, int64_t channels, int64_t inner) {
  NNEX_ASSERT(what.before >= 0 && what.after >= 0 && what.before + what.after <= kMaxReach);
  const int64_t cost = outer * channels * inner * 60;
  if (inner == 1) {
    split(team, outer, cost, 1, [&](int64_t begin, int64_t end) {
      respond_rows(loops, what, x + begin * channels, y + begin * channels, end - begin, channels);
    });
    return;
  }
  const int64_t width = window_columns(what.before + what.after + 1), pieces = (inner + width - 1) / width;
  split(team, outer * pieces, cost, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % pieces * width, at = unit / pieces * channels * inner + column;
      respond_columns(loops, what, x + at, y + at, channels, inner, std::min(width, inner - column));
    }
  });
}

}  // namespace nnex::kernels
