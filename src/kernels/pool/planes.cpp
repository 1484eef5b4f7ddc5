#include "kernels/pool/planes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/split.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kMaxTaps = 128;           // of a window
constexpr int64_t kMaxFloats = 1 << 20;     // of a padded plane
constexpr int64_t kPartFloats = 16 * 1024;  // work that pays for a part

int64_t reach(const PoolWindow& w, int axis) {
  return windows_reach(w.out[axis], w.stride[axis], window_reach(w.size[axis], w.dilation[axis]));
}

/// Whether loops take the steps along lines.
bool has_steps(const PoolWindow& w) {
  return w.stride[2] == 1 || (w.stride[2] == 2 && w.dilation[2] == 1 && w.size[2] > 1);
}

}  // namespace

PoolPlanes::PoolPlanes(const PoolWindow& w) : window_(w) {
  if (w.in[0] != 1 || w.out[0] != 1 || w.size[0] != 1 || w.before[0] != 0 || w.batch * w.channels == 0) return;
  if (w.out[1] == 0 || w.out[2] == 0 || w.size[1] > kMaxTaps || w.size[2] > kMaxTaps || !has_steps(w)) return;
  const int64_t steps = std::max({w.stride[1], w.dilation[1], w.dilation[2]});
  const int64_t extents = std::max({w.out[1], w.out[2], w.in[1], w.in[2]});
  if (w.size[1] * w.size[2] > kMaxTaps || steps > kMaxTaps || extents > kMaxFloats) return;
  copies_ = w.before[1] != 0 || w.before[2] != 0 || reach(w, 1) > w.in[1] || reach(w, 2) > w.in[2];
  rows_ = copies_ ? reach(w, 1) : w.in[1];
  pitch_ = copies_ ? reach(w, 2) : w.in[2];
  fits_ = rows_ * pitch_ <= kMaxFloats && rows_ * pitch_ <= 4 * (w.in[1] * w.in[2] + 64);
  separable_ = w.stride[1] == 1 && w.size[1] * w.size[2] > w.size[1] + w.size[2] + 2;
}

int64_t PoolPlanes::scratch_floats() const {
  const int64_t across = separable_ ? rows_ * window_.out[2] : 0;
  return ((copies_ ? rows_ * pitch_ : 0) + across + 15) / 16 * 16;
}

int64_t PoolPlanes::parts(int threads) const {
  const int64_t planes = window_.batch * window_.channels;
  if (threads <= 1) return 1;
  const int64_t work = planes * (rows_ * pitch_ + window_.out[1] * window_.out[2] * 4) / kPartFloats;
  return std::clamp<int64_t>(work, 1, std::min(planes, int64_t{4} * threads));
}

int64_t PoolPlanes::workspace(int threads) const { return parts(threads) * scratch_floats() * 4; }

/// What lies around the input is there already.
void PoolPlanes::copy_in(const float* x, float* plane) const {
  const PoolWindow& w = window_;
  const int64_t first = std::max<int64_t>(0, -w.before[2]), end = std::min(w.in[2], pitch_ - w.before[2]);
  if (first >= end) return;
  for (int64_t r = std::max<int64_t>(0, -w.before[1]); r < std::min(w.in[1], rows_ - w.before[1]); ++r)
    std::memcpy(plane + (r + w.before[1]) * pitch_ + first + w.before[2], x + r * w.in[2] + first,
                static_cast<size_t>(end - first) * 4);
}

/// Of a maximum rows may go first, then columns: the first of equal ones and the last NaN are the same as in row-major
/// order.
void PoolPlanes::fold(const simd::Loops& loops, bool maximum, float divisor, const float* divisors, const float* plane,
                      float* across, float* y) const {
  const PoolWindow& w = window_;
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  simd::PoolLines p;
  p.maximum = maximum, p.divisor = divisor, p.divisors = divisors, p.x = plane, p.y = y;
  p.x_step = size(w.stride[1] * pitch_), p.row_step = size(w.dilation[1] * pitch_), p.rows = size(w.size[1]);
  p.taps = size(w.size[2]), p.stride = size(w.stride[2]), p.dilation = size(w.dilation[2]);
  p.y_step = p.n = size(w.out[2]), p.lines = size(w.out[1]);
  if (maximum && separable_) {
    simd::PoolLines along = p;
    along.x_step = size(pitch_), along.rows = 1, along.y = across, along.lines = size(rows_);
    loops.pool_lines_f32(along);
    p.x = across, p.x_step = size(w.out[2]), p.row_step = size(w.dilation[1] * w.out[2]);
    p.taps = p.stride = p.dilation = 1;
    p.n = size(w.out[1] * w.out[2]), p.lines = 1;  // lines lie one after another
  }
  loops.pool_lines_f32(p);
}

/// Calls f(the plane that windows see, scratch memory for a pass along rows, the plane's number); `outside` stands for
/// what is beyond the input.
template <class F>
void PoolPlanes::each_plane(Team& team, std::byte* workspace, float outside, const float* x, F f) const {
  const int64_t planes = window_.batch * window_.channels, in = window_.in[1] * window_.in[2];
  const int64_t count = parts(std::min(team.size(), usable_threads())), padded = copies_ ? rows_ * pitch_ : 0;
  team.run(count, [&](int64_t part) {
    float* const scratch = reinterpret_cast<float*>(workspace) + part * scratch_floats();
    std::fill_n(scratch, padded, outside);
    const Part own = part_of(planes, count, part);
    for (int64_t i = own.begin; i < own.end; ++i) {
      if (copies_) copy_in(x + i * in, scratch);
      f(copies_ ? scratch : x + i * in, scratch + padded, i);
    }
  });
}

void PoolPlanes::max(const simd::Loops& loops, Team& team, const float* x, float* y, std::byte* workspace) const {
  const int64_t out = window_.out[1] * window_.out[2];
  each_plane(
      team, workspace, -std::numeric_limits<float>::infinity(), x,
      [&](const float* plane, float* across, int64_t i) { fold(loops, true, 1, nullptr, plane, across, y + i * out); });
}

void PoolPlanes::average(const simd::Loops& loops, Team& team, PoolDivisor divisor, const float* x, float* y,
                         std::byte* workspace) const {
  const PoolWindow& w = window_;
  const int64_t out = w.out[1] * w.out[2];
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
  // -0 added to anything leaves it as it is.
  each_plane(team, workspace, -0.0F, x, [&](const float* plane, float* across, int64_t i) {
    float* const to = y + i * out;
    fold(loops, false, by[0], same ? nullptr : by.data(), plane, across, to);
    for (int64_t at : empty) to[at] = 0;
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

}  // namespace

void max_pool_indices(Team& team, const PoolWindow& w, PoolIndex index, const float* x, float* y, int64_t* at) {
  const int64_t in = w.in[1] * w.in[2], out = w.out[1] * w.out[2], planes = w.batch * w.channels;
  std::vector<AxisTaps> columns;
  for (int64_t c = 0; c < w.out[2]; ++c) columns.push_back(axis_taps(w, 2, c));
  split(team, planes, planes * (in + out * w.size[1] * w.size[2]) * 4, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      for (int64_t r = 0; r < w.out[1]; ++r) {
        const AxisTaps rows = axis_taps(w, 1, r);
        const int64_t line = plane * out + r * w.out[2];
        for (int64_t c = 0; c < w.out[2]; ++c) {
          const Best best = best_of(w, x + plane * in, rows, columns[static_cast<size_t>(c)]);
          if (y) y[line + c] = best.value;
          if (!at) continue;
          const int64_t inside =
              index == PoolIndex::tensor ? best.row * w.in[2] + best.column : best.column * w.in[1] + best.row;
          at[line + c] = index == PoolIndex::window || best.tap < 0 ? best.tap : plane * in + inside;
        }
      }
  });
}

}  // namespace nnex::kernels
