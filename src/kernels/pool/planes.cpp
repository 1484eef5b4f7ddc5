#include "kernels/pool/planes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/split.h"

namespace nnex {
namespace {

constexpr int64_t kMaxTaps = 64;           // pointers of a fold
constexpr int64_t kMaxFloats = 1 << 18;    // of a padded plane
constexpr int64_t kPartFloats = 16 * 1024; // work that pays for a part

int64_t reach(const PoolWindow& w, int axis) {
  return (w.out[axis] - 1) * w.stride[axis] + (w.size[axis] - 1) * w.dilation[axis] + 1;
}

/// Every `stride`-th of n values.
void copy_phase(const float* x, int64_t n, int64_t stride, float* to) {
  if (stride == 2) {  // a constant, so that the compiler makes vectors
    for (int64_t i = 0; i < n; ++i) to[i] = x[i * 2];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = x[i * stride];
  }
}

}  // namespace

PoolPlanes::PoolPlanes(const PoolWindow& w) : window_(w) {
  if (w.in[0] != 1 || w.out[0] != 1 || w.size[0] != 1 || w.before[0] != 0 || w.batch * w.channels == 0) return;
  if (w.out[1] == 0 || w.out[2] == 0 || w.size[1] > kMaxTaps || w.size[2] > kMaxTaps) return;
  const int64_t steps = std::max({w.stride[1], w.stride[2], w.dilation[1], w.dilation[2]});
  const int64_t extents = std::max({w.out[1], w.out[2], w.in[1], w.in[2]});
  if (w.size[1] * w.size[2] > kMaxTaps || steps > 16 || extents > kMaxFloats) return;
  rows_ = (reach(w, 1) + w.stride[1] - 1) / w.stride[1];
  pitch_ = (reach(w, 2) + w.stride[2] - 1) / w.stride[2];
  fits_ = plane_floats() <= kMaxFloats && plane_floats() <= 4 * (w.in[1] * w.in[2] + 64);
  separable_ = w.stride[1] == 1 && w.size[1] * w.size[2] > w.size[1] + w.size[2] + 2;
}

int64_t PoolPlanes::place(int64_t r, int64_t c) const {
  const int64_t s1 = window_.stride[1], s2 = window_.stride[2];
  return ((r % s1 * s2 + c % s2) * rows_ + r / s1) * pitch_ + c / s2;
}

int64_t PoolPlanes::scratch_floats() const {
  const int64_t across = separable_ ? rows_ * pitch_ : 0;
  return (plane_floats() + across + window_.out[1] * pitch_ + 15) / 16 * 16;
}

int64_t PoolPlanes::parts(int threads) const {
  const int64_t planes = window_.batch * window_.channels;
  if (threads <= 1) return 1;
  const int64_t work = planes * (plane_floats() + window_.out[1] * window_.out[2] * 4) / kPartFloats;
  return std::clamp<int64_t>(work, 1, std::min(planes, int64_t{4} * threads));
}

int64_t PoolPlanes::workspace(int threads) const { return parts(threads) * scratch_floats() * 4; }

PoolPlanes::Scratch PoolPlanes::scratch(std::byte* workspace, int64_t part) const {
  Scratch s = {};
  s.plane = reinterpret_cast<float*>(workspace) + part * scratch_floats();
  s.across = s.plane + plane_floats();
  s.result = s.across + (separable_ ? rows_ * pitch_ : 0);
  return s;
}

/// What lies around the input is there already.
void PoolPlanes::copy_in(const float* x, float* plane) const {
  const PoolWindow& w = window_;
  const int64_t s2 = w.stride[2], before = w.before[2];
  const int64_t first_row = std::max<int64_t>(0, -w.before[1]);
  const int64_t end_row = std::min(w.in[1], reach(w, 1) - w.before[1]);
  const int64_t first = std::max<int64_t>(0, -before), end = std::min(w.in[2], reach(w, 2) - before);
  for (int64_t r = first_row; r < end_row; ++r) {
    const float* const row = x + r * w.in[2];
    for (int64_t c = first; c < std::min(end, first + s2); ++c) {
      float* const to = plane + place(r + w.before[1], c + before);
      const int64_t n = (end - c + s2 - 1) / s2;
      if (s2 == 1) {
        std::memcpy(to, row + c, static_cast<size_t>(n) * 4);
      } else {
        copy_phase(row + c, n, s2, to);
      }
    }
  }
}

void PoolPlanes::copy_out(const float* result, float* y) const {
  const int64_t columns = window_.out[2];
  for (int64_t r = 0; r < window_.out[1]; ++r)
    std::memcpy(y + r * columns, result + r * pitch_, static_cast<size_t>(columns) * 4);
}

/// Between two rows of the result stands what nobody reads.
void PoolPlanes::fold(const simd::Loops& loops, bool maximum, const Scratch& s, float divisor, float* to) const {
  const PoolWindow& w = window_;
  const float* taps[kMaxTaps];
  size_t count = 0;
  for (int64_t i = 0; i < w.size[1]; ++i)
    for (int64_t j = 0; j < w.size[2]; ++j) taps[count++] = s.plane + place(i * w.dilation[1], j * w.dilation[2]);
  loops.fold_taps_f32(maximum, taps, count, nullptr, divisor, to,
                      static_cast<size_t>((w.out[1] - 1) * pitch_ + w.out[2]));
}

/// Rows first, then columns: the first of equal ones and the last NaN are the same as in row-major order.
void PoolPlanes::fold_across(const simd::Loops& loops, const Scratch& s, float* to) const {
  const PoolWindow& w = window_;
  const float* taps[kMaxTaps];
  for (int64_t j = 0; j < w.size[2]; ++j) taps[j] = s.plane + place(0, j * w.dilation[2]);
  loops.fold_taps_f32(true, taps, static_cast<size_t>(w.size[2]), nullptr, 1, s.across,
                      static_cast<size_t>((rows_ - 1) * pitch_ + w.out[2]));
  for (int64_t i = 0; i < w.size[1]; ++i) taps[i] = s.across + i * w.dilation[1] * pitch_;
  loops.fold_taps_f32(true, taps, static_cast<size_t>(w.size[1]), nullptr, 1, to,
                      static_cast<size_t>((w.out[1] - 1) * pitch_ + w.out[2]));
}

/// Calls f(scratch with the plane, where its result goes); `outside` stands for what is beyond the input.
template <class F>
void PoolPlanes::each_plane(Team& team, std::byte* workspace, float outside, F f) const {
  const int64_t planes = window_.batch * window_.channels;
  const int64_t count = parts(std::min(team.size(), usable_threads()));
  team.run(count, [&](int64_t part) {
    const Scratch s = scratch(workspace, part);
    std::fill_n(s.plane, plane_floats(), outside);
    const Part own = part_of(planes, count, part);
    for (int64_t plane = own.begin; plane < own.end; ++plane) f(s, plane);
  });
}

void PoolPlanes::max(const simd::Loops& loops, Team& team, const float* x, float* y, std::byte* workspace) const {
  const int64_t in = window_.in[1] * window_.in[2], out = window_.out[1] * window_.out[2];
  each_plane(team, workspace, -std::numeric_limits<float>::infinity(), [&](const Scratch& s, int64_t plane) {
    copy_in(x + plane * in, s.plane);
    float* const to = pitch_ == window_.out[2] ? y + plane * out : s.result;
    if (separable_) {
      fold_across(loops, s, to);
    } else {
      fold(loops, true, s, 1, to);
    }
    if (to == s.result) copy_out(to, y + plane * out);
  });
}

void PoolPlanes::average(const simd::Loops& loops, Team& team, PoolDivisor divisor, const float* x, float* y,
                         std::byte* workspace) const {
  const PoolWindow& w = window_;
  const int64_t in = w.in[1] * w.in[2], out = w.out[1] * w.out[2];
  // What each row and each column of windows divides by; 0: they are empty.
  const bool counts = divisor == PoolDivisor::padded || divisor == PoolDivisor::inside;
  const float by = divisor == PoolDivisor::window ? static_cast<float>(w.size[1] * w.size[2]) : 1.0F;
  const auto divisors = [&](int axis) {
    std::vector<float> all;
    for (int64_t i = 0; i < w.out[axis]; ++i) {
      const AxisTaps t = axis_taps(w, axis, i);
      const int64_t n = !counts ? 1 : divisor == PoolDivisor::padded ? t.padded : t.last - t.first;
      all.push_back(t.last == t.first ? 0.0F : static_cast<float>(n));
    }
    return all;
  };
  const std::vector<float> rows = divisors(1), columns = divisors(2);
  const auto is_one = [](float n) { return n == 1; };
  const bool divides = !std::all_of(rows.begin(), rows.end(), is_one) || !std::all_of(columns.begin(), columns.end(), is_one);
  // -0 added to anything leaves it as it is.
  each_plane(team, workspace, -0.0F, [&](const Scratch& s, int64_t plane) {
    copy_in(x + plane * in, s.plane);
    float* const to = pitch_ == w.out[2] ? y + plane * out : s.result;
    fold(loops, false, s, by, to);
    for (int64_t r = 0; divides && r < w.out[1]; ++r) {
      float* const line = to + r * pitch_;
      const float row = rows[static_cast<size_t>(r)];
      for (int64_t c = 0; c < w.out[2]; ++c) {
        const float n = row * columns[static_cast<size_t>(c)];
        line[c] = n > 0 ? line[c] / n : 0.0F;
      }
    }
    if (to == s.result) copy_out(to, y + plane * out);
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
          const int64_t inside = index == PoolIndex::tensor ? best.row * w.in[2] + best.column
                                                            : best.column * w.in[1] + best.row;
          at[line + c] = index == PoolIndex::window || best.tap < 0 ? best.tap : plane * in + inside;
        }
      }
  });
}

}  // namespace nnex
