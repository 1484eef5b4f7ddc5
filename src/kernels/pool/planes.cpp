#include "kernels/pool/planes.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/split.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kMaxTaps = 128;           // of a window, or along an axis
constexpr int64_t kDirectTaps = 9;          // a maximum of more taps goes along rows or columns first
constexpr int64_t kDownTaps = 4;            // where windows are apart
constexpr int64_t kMaxFloats = 1 << 20;     // of a padded plane
constexpr int64_t kBandFloats = 4096;       // copied at once: half of the first level cache
constexpr int64_t kMinLines = 8;            // of a band: fewer copy more rows twice
constexpr int64_t kPartFloats = 16 * 1024;  // work that pays for a part

// What lies beyond the input: -0 added to anything leaves it as it is.
constexpr float kNothing = -std::numeric_limits<float>::infinity(), kNoTerm = -0.0F;

int64_t reach(const PoolWindow& w, int axis) {
  return windows_reach(w.out[axis], w.stride[axis], window_reach(w.size[axis], w.dilation[axis]));
}

/// Whether long lines are folded in vectors.
bool has_steps(const PoolWindow& w) {
  return w.stride[2] == 1 || (w.stride[2] == 2 && w.dilation[2] == 1 && w.size[2] > 1);
}

}  // namespace

PoolPlanes::PoolPlanes(const simd::Loops& loops, const PoolWindow& w, bool maximum) : window_(w) {
  volumes_ = w.in[0] != 1 || w.out[0] != 1 || w.size[0] != 1 || w.before[0] != 0;
  if ((volumes_ && !maximum) || w.batch * w.channels == 0 || w.out[0] * w.out[1] * w.out[2] == 0) return;
  for (int axis = 0; axis < 3; ++axis) {
    if (w.size[axis] > kMaxTaps || w.stride[axis] > kMaxTaps || w.dilation[axis] > kMaxTaps) return;
    if (w.in[axis] > kMaxFloats || w.out[axis] > kMaxFloats) return;
  }
  const int64_t area = w.size[1] * w.size[2], passes = w.size[1] + w.size[2] + 2;
  separable_ = maximum && w.stride[1] == 1 && area > std::max(passes, kDirectTaps);
  if (!separable_ && area > kMaxTaps) return;
  // Without a loop that reads parts of vectors long lines alone are fast.
  const int64_t lanes = loops.tile_shape_f32().lanes, places = windows_reach(w.out[2], w.stride[2], 1);
  const bool narrow = lanes >= 8 && w.out[2] < lanes && places <= 2 * lanes;
  if (!has_steps(w) && !(maximum && narrow)) return;
  const bool apart = has_steps(w) && w.stride[2] == 2 && !narrow;
  copies_ = w.before[1] != 0 || w.before[2] != 0 || reach(w, 1) > w.in[1] || reach(w, 2) > w.in[2] ||
            (apart && w.size[2] > 2);
  rows_ = copies_ ? reach(w, 1) : w.in[1];
  pitch_ = copies_ ? reach(w, 2) : w.in[2];
  fits_ = rows_ * pitch_ <= kMaxFloats && rows_ * pitch_ <= 4 * (w.in[1] * w.in[2] + 64) && slab() <= kMaxFloats;
  if (maximum && w.size[1] > 1 && w.size[2] > 1 && area > (w.stride[1] * w.stride[2] > 1 ? kDownTaps : kDirectTaps)) {
    down_pitch_ = std::max(reach(w, 2), w.in[2] + std::max<int64_t>(0, w.before[2]));
    down_lines_ = std::clamp<int64_t>(kBandFloats / down_pitch_, 1, w.out[1]);
  }
  band_ = w.out[1];
  if (!copies_) return;
  if (apart) {
    phase_ = round_up(ceil_div(pitch_, 2), 16);
    pitch_ = 2 * phase_;
  }
  const int64_t fitting = (kBandFloats / pitch_ - band_rows(1)) / w.stride[1] + 1;
  band_ = std::clamp(fitting, std::min(kMinLines, w.out[1]), w.out[1]);
  band_ = ceil_div(w.out[1], ceil_div(w.out[1], band_));
}

/// Floats of a volume's planes, each pooled by itself.
int64_t PoolPlanes::slab() const { return volumes_ ? window_.in[0] * window_.out[1] * window_.out[2] : 0; }

/// Floats of what is copied of planes. After a fold down columns that does not hold they go one by one.
int64_t PoolPlanes::copied_floats() const {
  return copies_ ? band_rows(band_) * pitch_ * (down_lines_ ? 1 : at_once()) : 0;
}

/// Floats of lines folded down columns.
int64_t PoolPlanes::down_floats() const { return down_lines_ * down_pitch_ * at_once(); }

/// Rows under the windows of so many output lines.
int64_t PoolPlanes::band_rows(int64_t lines) const {
  return windows_reach(lines, window_.stride[1], window_reach(window_.size[1], window_.dilation[1]));
}

int64_t PoolPlanes::scratch_floats() const {
  const int64_t rows = copies_ ? band_rows(band_) : rows_;
  const int64_t across = separable_ ? std::max(rows, band_) * std::max(pitch_, window_.out[2]) : 0;
  return round_up(copied_floats() + down_floats() + across * at_once() + slab(), 16);
}

int64_t PoolPlanes::parts(int threads) const {
  const int64_t planes = window_.batch * window_.channels;
  if (threads <= 1) return 1;
  const int64_t work = planes * window_.in[0] * (rows_ * pitch_ + window_.out[1] * window_.out[2] * 4) / kPartFloats;
  return std::clamp<int64_t>(work, 1, std::min(planes, int64_t{4} * threads));
}

int64_t PoolPlanes::workspace(int threads) const { return parts(threads) * scratch_floats() * 4; }

/// So many rows of the plane that windows see; what lies around them in a line is there already.
void PoolPlanes::copy_in(const simd::Loops& loops, const float* x, int64_t first, int64_t rows, float outside,
                         float* to) const {
  const PoolWindow& w = window_;
  const int64_t width = windows_reach(w.out[2], w.stride[2], window_reach(w.size[2], w.dilation[2]));
  const int64_t from = std::max<int64_t>(0, -w.before[2]), at = from + w.before[2];
  const int64_t n = std::max<int64_t>(0, std::min(w.in[2], width - w.before[2]) - from);
  const int64_t begin = std::clamp<int64_t>(w.before[1] - first, 0, rows);
  const int64_t end = std::clamp<int64_t>(w.in[1] + w.before[1] - first, begin, rows);
  std::fill_n(to, begin * pitch_, outside);
  std::fill_n(to + end * pitch_, (rows - end) * pitch_, outside);
  const float* row = x + (first + begin - w.before[1]) * w.in[2] + from;
  to += begin * pitch_;
  if (phase_ == 0) {
    simd::PoolLines copy;  // windows of one tap
    copy.x = row, copy.x_step = static_cast<size_t>(w.in[2]), copy.lines = static_cast<size_t>(end - begin);
    copy.y = to + at, copy.y_step = static_cast<size_t>(pitch_), copy.n = static_cast<size_t>(n);
    return loops.pool_lines_f32(copy);
  }
  const int64_t odd = at % 2;
  simd::Phases p;
  p.x = row, p.x_row = static_cast<size_t>(w.in[2]), p.rows = static_cast<size_t>(end - begin);
  p.n = static_cast<size_t>(n), p.phases = 2;
  p.y = to + odd * phase_ + at / 2, p.y_row = static_cast<size_t>(pitch_), p.y_stride = odd ? 1 - phase_ : phase_;
  loops.phases_f32(p);
}

/// Of a maximum rows may go first, then columns: the first of equal ones and the last NaN are the same as in row-major
/// order.
void PoolPlanes::fold(const simd::Loops& loops, bool maximum, float divisor, const float* divisors, const float* from,
                      float* across, int64_t lines, int64_t planes, float* y) const {
  const PoolWindow& w = window_;
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  simd::PoolLines p;
  p.maximum = maximum, p.divisor = divisor, p.divisors = divisors, p.x = from, p.y = y;
  p.x_step = size(w.stride[1] * pitch_), p.row_step = size(w.dilation[1] * pitch_), p.rows = size(w.size[1]);
  p.taps = size(w.size[2]), p.stride = phase_ ? 1 : size(w.stride[2]), p.dilation = size(w.dilation[2]);
  p.phase = size(phase_);
  p.y_step = p.n = size(w.out[2]), p.lines = size(lines);
  p.planes = size(planes), p.x_plane = size(rows_ * pitch_), p.y_plane = size(w.out[1] * w.out[2]);
  if (separable_) {
    simd::PoolLines along = p;
    // Short lines run on into each other: what lies between their results is not read.
    const int64_t rows = (planes - 1) * rows_ + band_rows(lines), lanes = loops.tile_shape_f32().lanes;
    const bool runs_on = p.stride == 1 && phase_ == 0 && pitch_ < round_up(w.out[2], lanes);
    const int64_t step = runs_on ? pitch_ : w.out[2];
    along.x_step = size(pitch_), along.rows = 1, along.y = across, along.y_step = size(step), along.lines = size(rows);
    if (runs_on) along.n = size((rows - 1) * pitch_ + w.out[2]), along.lines = 1;
    along.planes = 1;
    loops.pool_lines_f32(along);
    p.x = across, p.x_step = size(step), p.x_plane = size(rows_ * step), p.row_step = size(w.dilation[1] * step);
    p.taps = p.stride = p.dilation = 1, p.phase = 0;
  }
  loops.pool_lines_f32(p);
}

/// Maxima of what each window has of a column, then of those: rows are vectors that need no rearranging and are not
/// copied. The first of equal ones and the last NaN are the same as in row-major order where no column has -0 or NaN.
/// Returns whether it was so; else y holds anything.
bool PoolPlanes::max_down(const simd::Loops& loops, const float* x, int64_t planes, float* folded, float* y) const {
  const PoolWindow& w = window_;
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t from = std::max<int64_t>(0, -w.before[2]), at = from + w.before[2];
  const int64_t n = std::max<int64_t>(0, std::min(w.in[2], reach(w, 2) - w.before[2]) - from);
  simd::PoolLines p;
  p.maximum = true, p.planes = size(planes);
  for (int64_t first = 0; first < w.out[1]; first += down_lines_) {
    const int64_t lines = std::min(down_lines_, w.out[1] - first);
    for (int64_t line = 0, next = 0; line < lines; line = next) {
      const AxisTaps taps = axis_taps(w, 1, first + line);
      const int64_t count = taps.last - taps.first;
      const auto goes_on = [&] {
        const AxisTaps t = axis_taps(w, 1, first + next);
        return t.last - t.first == count && t.first == taps.first;
      };
      for (next = line + 1; next < lines && count == w.size[1] && goes_on();) ++next;
      float* const to = folded + line * down_pitch_ + at;
      if (count == 0 || n == 0) {
        for (int64_t i = 0; i < planes; ++i) std::fill_n(to + i * down_lines_ * down_pitch_, n, kNothing);
        continue;
      }
      simd::PoolLines down = p;
      down.x = x + (taps.start + taps.first * w.dilation[1]) * w.in[2] + from, down.x_plane = size(w.in[1] * w.in[2]);
      down.x_step = size(w.stride[1] * w.in[2]), down.row_step = size(w.dilation[1] * w.in[2]);
      down.rows = size(count), down.n = size(n), down.lines = size(next - line);
      down.y = to, down.y_step = size(down_pitch_), down.y_plane = size(down_lines_ * down_pitch_);
      if (!loops.max_rows_f32(down)) return false;
    }
    simd::PoolLines across = p;
    across.plain = true;
    across.x = folded, across.x_step = size(down_pitch_), across.x_plane = size(down_lines_ * down_pitch_);
    across.taps = size(w.size[2]), across.stride = size(w.stride[2]), across.dilation = size(w.dilation[2]);
    across.y = y + first * w.out[2], across.y_step = across.n = size(w.out[2]), across.lines = size(lines);
    across.y_plane = size(w.out[1] * w.out[2]);
    loops.pool_lines_f32(across);
  }
  return true;
}

/// The maximum of each of the planes x, at most at_once(), into y. Scratch memory: what is copied, then what is folded
/// down, both with their border, then what the other ways write.
void PoolPlanes::max_planes(const simd::Loops& loops, const float* x, int64_t planes, float* scratch, float* y) const {
  const int64_t in = window_.in[1] * window_.in[2], out = window_.out[1] * window_.out[2];
  float* const folded = scratch + copied_floats();
  if (down_lines_ == 0) return pool(loops, true, 1, nullptr, x, planes, scratch, y);
  if (max_down(loops, x, planes, folded, y)) return;
  for (int64_t i = 0; i < planes; ++i) pool(loops, true, 1, nullptr, x + i * in, 1, scratch, y + i * out);
}

/// Planes that are read where they lie go together, as many as the first level cache keeps.
int64_t PoolPlanes::at_once() const {
  if (!down_lines_ && copies_ && band_ < window_.out[1]) return 1;
  const int64_t floats = down_lines_ ? down_lines_ * down_pitch_ : rows_ * pitch_;
  return std::max<int64_t>(1, kBandFloats / std::max<int64_t>(floats, 1));
}

/// Calls f(part's scratch memory, number, count) for planes, or a volume of planes, of the batch.
template <class F>
void PoolPlanes::each_channel(Team& team, std::byte* workspace, float outside, F f) const {
  const int64_t channels = window_.batch * window_.channels, count = parts(std::min(team.size(), usable_threads()));
  team.run(count, [&](int64_t part) {
    float* const scratch = reinterpret_cast<float*>(workspace) + part * scratch_floats();
    std::fill_n(scratch, copied_floats() + down_floats(), outside);
    const Part own = part_of(channels, count, part);
    const int64_t step = volumes_ ? 1 : at_once();
    for (int64_t i = own.begin; i < own.end; i += step) f(scratch, i, std::min(step, own.end - i));
  });
}

/// Folds each of the planes x, at most at_once(), into y; `outside` stands for what is beyond it.
void PoolPlanes::pool(const simd::Loops& loops, bool maximum, float divisor, const float* divisors, const float* x,
                      int64_t planes, float* scratch, float* y) const {
  const float outside = maximum ? kNothing : kNoTerm;
  float* const across = scratch + copied_floats() + down_floats();
  for (int64_t line = 0; line < window_.out[1]; line += band_) {
    const int64_t n = std::min(band_, window_.out[1] - line), first = line * window_.out[2];
    for (int64_t i = 0; copies_ && i < planes; ++i)
      copy_in(loops, x + i * window_.in[1] * window_.in[2], line * window_.stride[1], band_rows(n), outside,
              scratch + i * rows_ * pitch_);
    fold(loops, maximum, divisor, divisors ? divisors + first : nullptr, copies_ ? scratch : x, across, n, planes,
         y + first);
  }
}

/// Of a volume each plane goes first, then what is the same of all planes: the first of equal ones and the last NaN are
/// the same as in row-major order.
void PoolPlanes::max(const simd::Loops& loops, Team& team, const float* x, float* y, std::byte* workspace) const {
  const PoolWindow& w = window_;
  const int64_t in = w.in[1] * w.in[2], out = w.out[1] * w.out[2];
  each_channel(team, workspace, kNothing, [&](float* scratch, int64_t channel, int64_t count) {
    float* const to = y + channel * w.out[0] * out;
    float* const planes = volumes_ ? scratch + scratch_floats() - slab() : to;
    const int64_t all = volumes_ ? w.in[0] : count;
    for (int64_t i = 0; i < all; i += at_once())
      max_planes(loops, x + (channel * w.in[0] + i) * in, std::min(at_once(), all - i), scratch, planes + i * out);
    for (int64_t i = 0; volumes_ && i < w.out[0]; ++i) {
      const AxisTaps taps = axis_taps(w, 0, i);
      if (taps.last == taps.first) {
        std::fill_n(to + i * out, out, kNothing);
        continue;
      }
      simd::PoolLines p;
      p.maximum = true, p.x = planes + (taps.start + taps.first * w.dilation[0]) * out, p.y = to + i * out;
      p.rows = static_cast<size_t>(taps.last - taps.first), p.row_step = static_cast<size_t>(w.dilation[0] * out);
      p.lines = 1, p.n = static_cast<size_t>(out);
      loops.pool_lines_f32(p);
    }
  });
}

void PoolPlanes::average(const simd::Loops& loops, Team& team, PoolDivisor divisor, const float* x, float* y,
                         std::byte* workspace) const {
  const PoolWindow& w = window_;
  const int64_t in = w.in[1] * w.in[2], out = w.out[1] * w.out[2];
  const bool counts = divisor == PoolDivisor::padded || divisor == PoolDivisor::inside;
  // What each row and each column of windows divides by; 0: they are empty.
  const auto divisors = [&](int axis) {
    std::vector<float> all;
    for (int64_t i = 0; i < w.out[axis]; ++i) {
      const AxisTaps t = axis_taps(w, axis, i);
      const int64_t n = divisor == PoolDivisor::one      ? 1
                        : !counts                        ? w.size[axis]
                        : divisor == PoolDivisor::padded ? t.padded
                                                         : t.last - t.first;
      all.push_back(t.last == t.first ? 0.0F : static_cast<float>(n));
    }
    return all;
  };
  const std::vector<float> rows = divisors(1), columns = divisors(2);
  std::vector<float> by;  // of every window; an empty one is 0
  std::vector<int64_t> empty;
  for (float row : rows)
    for (float column : columns) {
      if (row * column == 0) empty.push_back(static_cast<int64_t>(by.size()));
      by.push_back(row * column == 0 ? 1.0F : row * column);
    }
  const bool same = std::all_of(by.begin(), by.end(), [&](float n) { return n == by[0]; });
  each_channel(team, workspace, kNoTerm, [&](float* scratch, int64_t channel, int64_t count) {
    float* const to = y + channel * out;
    pool(loops, false, by[0], same ? nullptr : by.data(), x + channel * in, count, scratch, to);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t at : empty) to[i * out + at] = 0;
  });
}

namespace {

/// The greatest of one window and its place.
struct Best {
  float value = -std::numeric_limits<float>::infinity();
  int64_t row = -1, column = -1, tap = -1;
};

Best best_of(const PoolWindow& w, const float* plane, const AxisTaps& rows, const AxisTaps& columns) {
  Best best;
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const int64_t r = rows.start + i * w.dilation[1];
    for (int64_t j = columns.first; j < columns.last; ++j) {
      const int64_t c = columns.start + j * w.dilation[2];
      const float value = plane[r * w.in[2] + c];
      const bool wins = value > best.value || (value != value && best.value == best.value);
      if (wins || best.tap < 0) best = {value, r, c, i * w.size[2] + j};
    }
  }
  return best;
}

constexpr int64_t kTogether = 64;  // windows of a line that are folded at once

/// Takes tap `tap` of `count` windows `stride` apart. Without jumps, so that the compiler makes vectors.
void take_tap(const float* x, int64_t stride, int64_t count, int32_t tap, float* best, int32_t* at) {
  const auto by = [&](auto step) {
    for (int64_t c = 0; c < count; ++c) {
      const float v = x[c * step], b = best[c];
      const bool wins = !(v <= b) & (b == b);
      best[c] = wins ? v : b;
      at[c] = wins ? tap : at[c];
    }
  };
  if (stride == 1)
    by(std::integral_constant<int64_t, 1>());
  else if (stride == 2)
    by(std::integral_constant<int64_t, 2>());
  else
    by(stride);
}

/// The greatest of `count` windows from the one that begins at x on, whose columns lie inside, and their taps.
void best_of_many(const PoolWindow& w, const float* x, const AxisTaps& rows, int64_t count, float* best, int32_t* at) {
  const int64_t stride = w.stride[2];
  for (int64_t i = rows.first; i < rows.last; ++i)
    for (int64_t j = 0; j < w.size[2]; ++j) {
      const float* const from = x + (rows.start + i * w.dilation[1]) * w.in[2] + j * w.dilation[2];
      const auto tap = static_cast<int32_t>(i * w.size[2] + j);
      if (i == rows.first && j == 0) {
        for (int64_t c = 0; c < count; ++c) best[c] = from[c * stride], at[c] = tap;
      } else {
        take_tap(from, stride, count, tap, best, at);
      }
    }
}

}  // namespace

void max_pool_indices(Team& team, const PoolWindow& w, PoolIndex index, const float* x, float* y, int64_t* at) {
  const int64_t in = w.in[1] * w.in[2], out = w.out[1] * w.out[2], planes = w.batch * w.channels;
  std::vector<AxisTaps> columns;
  for (int64_t c = 0; c < w.out[2]; ++c) columns.push_back(axis_taps(w, 2, c));
  const auto whole = [&](int64_t c) {
    const AxisTaps& t = columns[static_cast<size_t>(c)];
    return t.first == 0 && t.last == w.size[2];
  };
  const bool few = w.size[1] * w.size[2] <= INT32_MAX;
  split(team, planes, planes * (in + out * w.size[1] * w.size[2]) * 4, 1, [&](int64_t begin, int64_t end) {
    float best[kTogether];
    int32_t taps[kTogether];
    for (int64_t plane = begin; plane < end; ++plane)
      for (int64_t r = 0; r < w.out[1]; ++r) {
        const AxisTaps rows = axis_taps(w, 1, r);
        const int64_t line = plane * out + r * w.out[2];
        const auto put = [&](int64_t c, float value, int64_t row, int64_t column, int64_t tap) {
          if (y) y[line + c] = value;
          if (!at) return;
          const int64_t inside = index == PoolIndex::tensor ? row * w.in[2] + column : column * w.in[1] + row;
          at[line + c] = index == PoolIndex::window || tap < 0 ? tap : plane * in + inside;
        };
        for (int64_t c = 0; c < w.out[2];) {
          const AxisTaps& first = columns[static_cast<size_t>(c)];
          int64_t n = 0;
          while (few && rows.first < rows.last && n < kTogether && c + n < w.out[2] && whole(c + n)) ++n;
          if (n == 0) {
            const Best b = best_of(w, x + plane * in, rows, first);
            put(c++, b.value, b.row, b.column, b.tap);
            continue;
          }
          best_of_many(w, x + plane * in + first.start, rows, n, best, taps);
          const auto width = static_cast<int32_t>(w.size[2]);
          for (int64_t k = 0; k < n; ++k)
            put(c + k, best[k], rows.start + taps[k] / width * w.dilation[1],
                first.start + k * w.stride[2] + taps[k] % width * w.dilation[2], taps[k]);
          c += n;
        }
      }
  });
}

}  // namespace nnex::kernels
