#include "kernels/moves/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/split.h"
#include "base/try.h"
#include "kernels/lift.h"

namespace nnex::kernels {
namespace {

constexpr int kMaxRank = 64;

/// An element of `bytes` bytes at any address.
template <int bytes>
void copy_element(const char* from, char* to) {
  std::memcpy(to, from, bytes);
}

/// y[i] = x[i * step] for n elements; steps count bytes.
template <int bytes>
void copy_row(const char* x, int64_t x_step, char* y, int64_t y_step, int64_t n) {
  if (x_step == bytes && y_step == bytes) {
    copy_run(x, n * bytes, y);
  } else if (x_step == 0 && y_step == bytes) {  // one element, then what is there is doubled
    if (n > 0) std::memcpy(y, x, bytes);
    for (int64_t filled = 1; filled < n; filled *= 2)
      std::memcpy(y + filled * bytes, y, static_cast<size_t>(std::min(filled, n - filled) * bytes));
  } else {
    for (int64_t i = 0; i < n; ++i) copy_element<bytes>(x + i * x_step, y + i * y_step);
  }
}

/// y[c * y_step + r] = x[r * x_step + c]: rows of x are dense, rows of y are dense; steps count bytes.
template <int bytes>
void transpose_plain(const char* x, int64_t x_step, char* y, int64_t y_step, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 32;
  for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
    const int64_t c1 = std::min(columns, c0 + kBlock);
    for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
      const int64_t r1 = std::min(rows, r0 + kBlock);
      for (int64_t c = c0; c < c1; ++c)
        for (int64_t r = r0; r < r1; ++r) copy_element<bytes>(x + r * x_step + c * bytes, y + c * y_step + r * bytes);
    }
  }
}

void transpose_2d(const simd::Loops& loops, int bytes, const char* x, int64_t x_step, char* y, int64_t y_step,
                  int64_t rows, int64_t columns) {
  const auto address = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y);
  const auto by = [&]<class T>(auto loop, T) {
    if (address % sizeof(T) != 0) return transpose_plain<sizeof(T)>(x, x_step, y, y_step, rows, columns);
    const auto elements = [](int64_t step) { return static_cast<size_t>(step) / sizeof(T); };
    loop(reinterpret_cast<const T*>(x), elements(x_step), reinterpret_cast<T*>(y), elements(y_step),
         static_cast<size_t>(rows), static_cast<size_t>(columns));
  };
  switch (bytes) {
    case 1:
      if (rows == 3 && y_step == 3) {  // planes of three to pixels of three
        const auto* const from = reinterpret_cast<const uint8_t*>(x);
        return loops.interleave_three(from, from + x_step, from + 2 * x_step, reinterpret_cast<uint8_t*>(y),
                                      static_cast<size_t>(columns));
      }
      return by(loops.transpose_u8, uint8_t());
    case 2:
      return by(loops.transpose_u16, uint16_t());
    case 4:
      return by(loops.transpose_u32, uint32_t());
    default:
      return by(loops.transpose_u64, uint64_t());
  }
}

template <class F>
void with_bytes(int element_bytes, F use) {
  switch (element_bytes) {
    case 1:
      return use.template operator()<1>();
    case 2:
      return use.template operator()<2>();
    case 4:
      return use.template operator()<4>();
    default:
      NNEX_ASSERT(element_bytes == 8);
      return use.template operator()<8>();
  }
}

/// A run of the last axis that is dense on both sides and as long as a wider element becomes one.
void widen_elements(Nest& nest, int& element_bytes) {
  const int last = nest.axes - 1;
  const int64_t run = nest.row_length() * element_bytes;
  if (last == 0 || nest.stride[0][last] != 1 || (run != 2 && run != 4 && run != 8)) return;
  for (int axis = 0; axis < last; ++axis)
    if (nest.stride[0][axis] % nest.extent[last] != 0) return;
  for (int axis = 0; axis < last; ++axis) nest.stride[0][axis] /= nest.extent[last];
  nest.elements /= nest.extent[last];
  nest.axes = last;
  element_bytes = static_cast<int>(run);
}

/// The axis along which x is dense, if it is worth turning blocks; -1 when there is none.
int dense_axis(const Nest& nest) {
  for (int axis = 0; axis + 1 < nest.axes; ++axis)
    if (nest.stride[0][axis] == 1 && nest.extent[axis] > 1) return axis;
  return -1;
}

/// Blocks of (dense axis of x) by (last axis of y), over all other axes.
void copy_transposed(const simd::Loops& loops, Team& team, int bytes, const Nest& nest, int transposed, const char* x,
                     char* y) {
  const int last = nest.axes - 1;
  const int64_t rows = nest.row_length(), x_step = nest.row_stride(0) * bytes;
  const int64_t columns = nest.extent[transposed];
  int64_t y_step = bytes;  // of the transposed axis
  for (int axis = transposed + 1; axis <= last; ++axis) y_step *= nest.extent[axis];
  const int64_t piece = std::max<int64_t>(64, 8192 / rows / 64 * 64);
  const int64_t pieces = ceil_div(columns, piece), outer = nest.elements / (rows * columns);
  const int64_t bytes_moved = nest.elements * bytes * 4;
  // Few columns leave too few parts, and rows are cut too.
  const int64_t row_parts = std::min(ceil_div(parts_for(team, bytes_moved), outer * pieces), ceil_div(rows, 64));
  split(team, outer * pieces * row_parts, bytes_moved, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const bool whole = row_parts == 1;
      const Part part = whole ? Part{0, rows} : part_of(rows, row_parts, unit % row_parts, 64);
      int64_t at = whole ? unit : unit / row_parts, step = rows * bytes;
      const int64_t column = at % pieces * piece;
      at /= pieces;
      int64_t from = column * bytes + part.begin * x_step, to = column * y_step + part.begin * bytes;
      for (int axis = last - 1; axis >= 0; --axis) {
        if (axis != transposed) {
          const int64_t index = at % nest.extent[axis];
          at /= nest.extent[axis];
          from += index * nest.stride[0][axis] * bytes;
          to += index * step;
        }
        step *= nest.extent[axis];
      }
      transpose_2d(loops, bytes, x + from, x_step, y + to, y_step, part.size(), std::min(piece, columns - column));
    }
  });
}

/// Whether an axis between the outermost and the last repeats what lies within it.
bool repeats(const Nest& nest) {
  if (nest.row_stride(0) != 1 || nest.stride[0][0] == 0) return false;
  for (int axis = 1; axis + 1 < nest.axes; ++axis)
    if (nest.stride[0][axis] == 0) return true;
  return false;
}

/// One index of the axes before `axis`: what an axis repeats is copied once, then from the result.
void copy_block(const Nest& nest, int bytes, int axis, const char* x, char* y) {
  if (axis == nest.axes - 1) {
    copy_run(x, nest.row_length() * bytes, y);
    return;
  }
  int64_t block = bytes;
  for (int inner = axis + 1; inner < nest.axes; ++inner) block *= nest.extent[inner];
  const int64_t step = nest.stride[0][axis] * bytes;
  for (int64_t i = 0; i < nest.extent[axis]; ++i) {
    if (i > 0 && step == 0) {
      copy_run(static_cast<const char*>(y), block, y + i * block);
    } else {
      copy_block(nest, bytes, axis + 1, x + i * step, y + i * block);
    }
  }
}

void copy_repeated(Team& team, const Nest& nest, int bytes, const char* x, char* y) {
  const int64_t block = nest.elements / nest.extent[0] * bytes;
  split(team, nest.extent[0], nest.elements * bytes * 2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) copy_block(nest, bytes, 1, x + i * nest.stride[0][0] * bytes, y + i * block);
  });
}

/// Rows of the nest one after the other, or pieces of long rows: body(offset in x, offset in y, elements).
template <class F>
void each_run(Team& team, const Nest& nest, int bytes, F body) {
  const int64_t n = nest.row_length(), rows = nest.rows(), work = nest.elements * bytes * 2;
  if (rows >= parts_for(team, work)) {
    split(team, rows, work, 1, [&](int64_t begin, int64_t end) {
      NestRows at(nest, begin);
      for (int64_t row = begin; row < end; ++row, at.next()) body(at.offset(0), row * n, n);
    });
  } else {
    split(team, n, work, 4096, [&](int64_t begin, int64_t end) {
      NestRows at(nest, 0);
      for (int64_t row = 0; row < rows; ++row, at.next())
        body(at.offset(0) + begin * nest.row_stride(0), row * n + begin, end - begin);
    });
  }
}

}  // namespace

std::optional<Nest> transpose_nest(std::span<const int64_t> x_shape, std::span<const int64_t> axes) {
  if (axes.size() != x_shape.size() || axes.size() > kMaxRank) return std::nullopt;
  int64_t dense[kMaxRank], out[kMaxRank], strides[kMaxRank];
  int64_t step = 1;
  for (size_t axis = x_shape.size(); axis-- > 0;) {
    dense[axis] = step;
    step *= x_shape[axis];
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const size_t from = static_cast<size_t>(axes[axis]);
    NNEX_ASSERT(from < axes.size());
    out[axis] = x_shape[from];
    strides[axis] = dense[from];
  }
  const std::span<const int64_t> lists[] = {{strides, axes.size()}};
  return strided_nest({out, axes.size()}, lists);
}

void copy_from_strided(const simd::Loops& loops, Team& team, int element_bytes, const Nest& whole, const void* from,
                       void* to) {
  if (whole.elements == 0) return;
  const char* x = static_cast<const char*>(from);
  char* y = static_cast<char*>(to);
  Nest nest = whole;
  widen_elements(nest, element_bytes);
  const int transposed = dense_axis(nest);
  const int64_t step = nest.row_stride(0);
  if (step != 1 && step > 0 && transposed >= 0) {
    copy_transposed(loops, team, element_bytes, nest, transposed, x, y);
    return;
  }
  if (repeats(nest)) return copy_repeated(team, nest, element_bytes, x, y);
  with_bytes(element_bytes, [&]<int bytes>() {
    each_run(team, nest, bytes, [&](int64_t x_at, int64_t y_at, int64_t n) {
      copy_row<bytes>(x + x_at * bytes, step * bytes, y + y_at * bytes, bytes, n);
    });
  });
}

void copy_to_strided(Team& team, int element_bytes, const Nest& nest, const void* from, void* to) {
  const char* x = static_cast<const char*>(from);
  char* y = static_cast<char*>(to);
  const int64_t step = nest.row_stride(0);
  with_bytes(element_bytes, [&]<int bytes>() {
    each_run(team, nest, bytes, [&](int64_t y_at, int64_t x_at, int64_t n) {
      copy_row<bytes>(x + x_at * bytes, bytes, y + y_at * bytes, step * bytes, n);
    });
  });
}

void copy_runs(Team& team, const void* from, int64_t x_step, void* to, int64_t y_step, int64_t rows, int64_t run) {
  if (run == 0) return;
  const char* x = static_cast<const char*>(from);
  char* y = static_cast<char*>(to);
  if (rows == 1 || (x_step == run && y_step == run)) {
    split(team, rows * run, rows * run * 2, 4096,
          [&](int64_t begin, int64_t end) { std::memcpy(y + begin, x + begin, static_cast<size_t>(end - begin)); });
    return;
  }
  split(team, rows, rows * run * 2, 1, [&](int64_t begin, int64_t end) {
    const char* a = x + begin * x_step;
    char* b = y + begin * y_step;
    if (run == 1 || run == 2 || run == 4 || run == 8)  // a call for each takes longer than the run
      return with_bytes(static_cast<int>(run),
                        [&]<int bytes>() { copy_row<bytes>(a, x_step, b, y_step, end - begin); });
    for (int64_t row = begin; row < end; ++row, a += x_step, b += y_step) copy_run(a, run, b);
  });
}

namespace {

constexpr int64_t kMaxColumns = 8, kTurnedRows = 256;

/// Calls turn(first row, rows, scratch) for blocks of rows; scratch has a row of kTurnedRows elements for each column.
template <class F>
void each_turned_block(Team& team, int bytes, int64_t columns, int64_t rows, F turn) {
  split(team, rows, rows * columns * bytes * 2, kTurnedRows, [&](int64_t begin, int64_t end) {
    alignas(64) char scratch[kMaxColumns * kTurnedRows * 4];
    for (int64_t row = begin; row < end; row += kTurnedRows) turn(row, std::min(kTurnedRows, end - row), scratch);
  });
}

}  // namespace

bool turns_columns(int element_bytes, int64_t columns, int64_t rows) {
  return element_bytes <= 4 && columns > 1 && columns <= kMaxColumns && rows >= 64;
}

void join_columns(const simd::Loops& loops, Team& team, int element_bytes, std::span<const void* const> x, int64_t rows,
                  void* y) {
  const int64_t bytes = element_bytes, columns = static_cast<int64_t>(x.size());
  each_turned_block(team, element_bytes, columns, rows, [&](int64_t row, int64_t n, char* scratch) {
    for (int64_t i = 0; i < columns; ++i)
      std::memcpy(scratch + i * kTurnedRows * bytes, static_cast<const char*>(x[static_cast<size_t>(i)]) + row * bytes,
                  static_cast<size_t>(n * bytes));
    transpose_2d(loops, element_bytes, scratch, kTurnedRows * bytes, static_cast<char*>(y) + row * columns * bytes,
                 columns * bytes, columns, n);
  });
}

void part_columns(const simd::Loops& loops, Team& team, int element_bytes, const void* x, int64_t rows,
                  std::span<void* const> y) {
  const int64_t bytes = element_bytes, columns = static_cast<int64_t>(y.size());
  each_turned_block(team, element_bytes, columns, rows, [&](int64_t row, int64_t n, char* scratch) {
    transpose_2d(loops, element_bytes, static_cast<const char*>(x) + row * columns * bytes, columns * bytes, scratch,
                 kTurnedRows * bytes, n, columns);
    for (int64_t i = 0; i < columns; ++i)
      if (void* const to = y[static_cast<size_t>(i)])
        std::memcpy(static_cast<char*>(to) + row * bytes, scratch + i * kTurnedRows * bytes,
                    static_cast<size_t>(n * bytes));
  });
}

template <class Index>
int64_t gather(Team& team, const void* from, int64_t outer, int64_t extent, int64_t inner, const Index* indices,
               int64_t count, bool from_end, Outside outside, void* to) {
  const auto resolve = [&](int64_t i) {
    int64_t index = indices[i];
    if (from_end && index < 0) index += extent;
    return outside == Outside::clamp ? std::clamp<int64_t>(index, 0, std::max<int64_t>(extent - 1, 0)) : index;
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = resolve(i);
    if (index < 0 || index >= extent) return i;
  }
  const char* x = static_cast<const char*>(from);
  char* y = static_cast<char*>(to);
  const int64_t rows = outer * count, bytes = rows * (inner * 2 + 16), parts = parts_for(team, bytes);
  if (rows > 0 && rows < parts) {  // a part of a tensor, say: each row is cut
    const int64_t cuts = ceil_div(parts, rows);
    team.run(rows * cuts, [&](int64_t part) {
      const int64_t row = part / cuts;
      const Part p = part_of(inner, cuts, part % cuts, 64);
      std::memcpy(y + row * inner + p.begin, x + (row / count * extent + resolve(row % count)) * inner + p.begin,
                  static_cast<size_t>(p.size()));
    });
    return -1;
  }
  split(team, rows, bytes, 1, [&](int64_t begin, int64_t end) {
    int64_t o = begin / count, i = begin % count;
    for (int64_t row = begin; row < end; ++row) {
      const char* source = x + (o * extent + resolve(i)) * inner;
      char* target = y + row * inner;
      switch (inner) {  // a call of memcpy costs more than such a copy
        case 4:
          copy_element<4>(source, target);
          break;
        case 8:
          copy_element<8>(source, target);
          break;
        default:
          std::memcpy(target, source, static_cast<size_t>(inner));
      }
      if (++i == count) {
        i = 0;
        ++o;
      }
    }
  });
  return -1;
}
template int64_t gather(Team&, const void*, int64_t, int64_t, int64_t, const int32_t*, int64_t, bool, Outside, void*);
template int64_t gather(Team&, const void*, int64_t, int64_t, int64_t, const int64_t*, int64_t, bool, Outside, void*);

}  // namespace nnex::kernels
