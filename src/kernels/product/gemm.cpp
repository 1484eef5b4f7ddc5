#include "kernels/product/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/mapped_file.h"
#include "base/split.h"
#include "kernels/product/matrix_rows.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kRowsAtOnce = 128;  // a panel's part that stays in the first level cache

/// Columns that lie one after the other in memory, each k floats that are aligned.
void pack_transposed(const simd::Loops& loops, const std::byte* b, int64_t k, int columns, int width,
                     int64_t col_stride, float* packed) {
  for (int64_t first = 0; first < k; first += kRowsAtOnce) {
    const int64_t rows = std::min(kRowsAtOnce, k - first);
    float* const to = packed + first * width;
    loops.transpose_u32(reinterpret_cast<const uint32_t*>(b) + first, static_cast<size_t>(col_stride),
                        reinterpret_cast<uint32_t*>(to), static_cast<size_t>(width), static_cast<size_t>(columns),
                        static_cast<size_t>(rows));
    if (columns == width) continue;
    for (int64_t i = 0; i < rows; ++i) std::fill(to + i * width + columns, to + (i + 1) * width, 0.0F);
  }
}

/// Rows of kWidth columns that lie dense: the constant makes of each copy a few instructions.
template <int kWidth>
void copy_rows(const std::byte* b, int64_t k, int64_t row_stride, float* packed) {
  for (int64_t i = 0; i < k; ++i) std::memcpy(packed + i * kWidth, b + i * row_stride * 4, kWidth * 4);
}

/// One panel; the source's bytes may lie anywhere.
void pack_panel(const simd::Loops& loops, const std::byte* b, int64_t k, int columns, int width, int64_t row_stride,
                int64_t col_stride, float* packed) {
  if (col_stride == 1) {
    if (columns < width) {
      std::fill_n(packed, k * width, 0.0F);
    } else if (width == 32) {
      return copy_rows<32>(b, k, row_stride, packed);
    } else if (width == 24) {
      return copy_rows<24>(b, k, row_stride, packed);
    } else if (width == 16) {
      return copy_rows<16>(b, k, row_stride, packed);
    } else if (width == 8) {
      return copy_rows<8>(b, k, row_stride, packed);
    }
    for (int64_t i = 0; i < k; ++i)
      for (int j = 0; j < columns; ++j) std::memcpy(packed + i * width + j, b + (i * row_stride + j) * 4, 4);
    return;
  }
  if (row_stride == 1 && reinterpret_cast<uintptr_t>(b) % alignof(float) == 0)
    return pack_transposed(loops, b, k, columns, width, col_stride, packed);
  for (int64_t first = 0; first < k; first += kRowsAtOnce) {
    const int64_t end = std::min(first + kRowsAtOnce, k);
    for (int j = 0; j < width; ++j) {
      const std::byte* column = b + j * col_stride * 4;
      for (int64_t i = first; i < end; ++i) {
        float value = 0;
        if (j < columns) std::memcpy(&value, column + i * row_stride * 4, 4);
        packed[i * width + j] = value;
      }
    }
  }
}

Columns columns_of(const simd::Loops& loops, int64_t k, int64_t n, const float* b) {
  return {loops.tile_shape_f32(), k, n, b, 0};
}

void pack_panel_of(const simd::Loops& loops, const Columns& columns, const std::byte* b, int64_t panel,
                   int64_t row_stride, int64_t col_stride, float* packed) {
  pack_panel(loops, b + panel * columns.shape.columns * col_stride * 4, columns.k, columns.columns(panel),
             columns.width(panel), row_stride, col_stride, packed + panel * columns.panel_stride());
}

/// Products that read the matrix b one after the other: the extent of the last axes along which b stands still.
int64_t reuse_of(const BatchGemm& products) {
  int64_t reuse = 1;
  for (size_t i = products.axes.size(); i-- > 0 && products.axes[i].b == 0;) reuse *= products.axes[i].extent;
  return reuse;
}

/// Whether b is read where it lies: by few rows, or where it is dense and small.
bool reads_b_in_place(const simd::Loops& loops, const BatchGemm& products) {
  constexpr int64_t kFewRows = 28;  // that read it in less time than packing it takes beside
  constexpr int64_t kSmall = 8192;  // floats that stay in the first level cache
  const simd::TileShape shape = loops.tile_shape_f32();
  const Gemm& one = products.one;
  if (products.b_col_stride != 1 || products.b_row_stride <= 0 || one.n % shape.lanes != 0) return false;
  return one.m * reuse_of(products) <= kFewRows || (products.b_row_stride == one.n && one.k * one.n <= kSmall);
}

/// Whether b is one column that lies dense: rows are multiplied with it in vectors of rows.
bool has_one_column(const BatchGemm& products) {
  const Gemm& one = products.one;
  return one.n == 1 && !products.packed && products.b_row_stride == 1 && one.a_col_stride == 1 && one.c_row_stride == 1;
}

/// What tiles do, of one column.
void multiply_column(const simd::Loops& loops, Team& team, const Gemm& one) {
  split(team, one.m, one.m * one.k * 4, 16, [&](int64_t begin, int64_t end) {
    float* const c = one.c + begin;
    const auto rows = static_cast<size_t>(end - begin);
    loops.dot_rows_f32(one.a + begin * one.a_row_stride, static_cast<size_t>(one.a_row_stride), one.b, c, rows,
                       static_cast<size_t>(one.k));
    const Epilogue& e = one.end;
    for (size_t i = 0; i < rows; ++i) {
      const int64_t row = begin + static_cast<int64_t>(i);
      if (e.scale != 1) c[i] *= e.scale;
      if (e.bias) c[i] += *e.bias;
      if (e.row_bias) c[i] += e.row_bias[row];
      if (e.residual) c[i] += e.residual[row * e.residual_stride] * e.residual_scale;
    }
    if (e.activation.kind != UnaryKind::identity || e.activation.replaces_nan())
      loops.unary_f32(e.activation, c, c, rows);
  });
}

/// Products a part packs for, one after the other. A team may have more threads than the workspace was made for.
int64_t batch_parts(const BatchGemm& products, int threads) {
  return std::min<int64_t>(products.batch(), std::min(threads, usable_threads()));
}

/// A whole number of cache lines, so that neighbours share none.
int64_t workspace_floats(const simd::Loops& loops, const BatchGemm& products) {
  return ceil_div(packed_floats(loops, products.one.k, products.one.n), 16) * 16;
}

Gemm product_of(const BatchGemm& products, int64_t i) {
  BatchAxis at;
  for (size_t axis = products.axes.size(); axis-- > 0; i /= products.axes[axis].extent) {
    const BatchAxis& step = products.axes[axis];
    const int64_t index = i % step.extent;
    at.a += index * step.a, at.b += index * step.b, at.c += index * step.c;
    at.bias += index * step.bias, at.row_bias += index * step.row_bias, at.residual += index * step.residual;
  }
  Gemm one = products.one;
  one.a += at.a;
  one.b += at.b;
  one.c += at.c;
  if (one.end.bias) one.end.bias += at.bias;
  if (one.end.row_bias) one.end.row_bias += at.row_bias;
  if (one.end.residual) one.end.residual += at.residual;
  return one;
}

/// One of the products or a piece of it, its b packed (one.b) or read in place.
void multiply(const simd::Loops& loops, Team& team, const BatchGemm& products, const Gemm& one, bool in_place) {
  if (!in_place) return gemm(loops, team, one);
  const Columns columns{loops.tile_shape_f32(), one.k, one.n, one.b, products.b_row_stride};
  multiply_tiles(loops, team,
                 MatrixRows<LiftFloat>(columns.shape, {}, one.a, one.m, one.a_row_stride, one.a_col_stride), columns,
                 one.c, one.c_row_stride, one.end);
}

/// Some of the products, one after the other.
class BatchRun {
 public:
  BatchRun(const simd::Loops& loops, Team& team, const BatchGemm& products, float* space)
      : loops_(loops), team_(team), products_(products), space_(space), in_place_(reads_b_in_place(loops, products)) {}

  void run(int64_t i) {
    Gemm one = product_of(products_, i);
    if (has_one_column(products_)) return multiply_column(loops_, team_, one);
    if (!products_.packed && !in_place_) {
      if (in_space_ != one.b)
        pack_b(loops_, team_, reinterpret_cast<const std::byte*>(one.b), one.k, one.n, products_.b_row_stride,
               products_.b_col_stride, space_);
      in_space_ = one.b;
      one.b = space_;
    }
    multiply(loops_, team_, products_, one, in_place_ && !products_.packed);
  }

 private:
  const simd::Loops& loops_;
  Team& team_;
  const BatchGemm& products_;
  float* space_;
  bool in_place_;
  const float* in_space_ = nullptr;  ///< What space_ has packed.
};

/// Whether all products are cut at once: too few to be a thread's each, and little work, between the parts of which
/// threads would wait for each other as often as there are products.
bool cuts_all(const simd::Loops& loops, const BatchGemm& products, int threads) {
  constexpr int64_t kPackedFloats = 1 << 20;  // of all products together
  const int64_t batch = products.batch();
  if (batch < 2 || batch >= 2 * std::min(threads, usable_threads())) return false;
  if (products.one.codes || has_one_column(products)) return false;
  return products.packed || reads_b_in_place(loops, products) ||
         workspace_floats(loops, products) <= kPackedFloats / batch;
}

/// The rows and columns of a product that are a part's.
Gemm piece_of(Gemm one, const Columns& columns, bool in_place, const Parts::Range& range) {
  const int64_t row = range.tile_begin * columns.shape.rows, column = range.panel_begin * columns.shape.columns;
  one.m = std::min(one.m, range.tile_end * columns.shape.rows) - row;
  one.n = std::min(one.n, range.panel_end * columns.shape.columns) - column;
  one.a += row * one.a_row_stride;
  one.b += in_place ? column : range.panel_begin * columns.panel_stride();
  one.c += row * one.c_row_stride + column;
  if (one.end.bias) one.end.bias += column;
  if (one.end.row_bias) one.end.row_bias += row;
  if (one.end.residual) one.end.residual += row * one.end.residual_stride + column;
  return one;
}

/// `space`: workspace_floats of every b, where they are packed.
void multiply_all(const simd::Loops& loops, Team& team, const BatchGemm& products, float* space) {
  const Gemm& any = products.one;
  const Columns columns = columns_of(loops, any.k, any.n, nullptr);
  const int64_t batch = products.batch(), reuse = reuse_of(products), floats = workspace_floats(loops, products);
  const bool in_place = !products.packed && reads_b_in_place(loops, products), packs = !products.packed && !in_place;
  if (packs)
    team.run(batch / reuse * columns.panels(), [&](int64_t i) {
      const int64_t product = i / columns.panels();
      pack_panel_of(loops, columns, reinterpret_cast<const std::byte*>(product_of(products, product * reuse).b),
                    i % columns.panels(), products.b_row_stride, products.b_col_stride, space + product * floats);
    });
  const int64_t tiles = ceil_div(any.m, columns.shape.rows);
  const Parts parts(tiles, columns.panels(), any.n >= any.m,
                    parts_of_work(team, any.m * any.n * any.k, ceil_div(4 * team.size(), batch)));
  team.run(batch * parts.count(), [&](int64_t i) {
    Team alone;
    Gemm one = product_of(products, i / parts.count());
    if (packs) one.b = space + i / parts.count() / reuse * floats;
    multiply(loops, alone, products, piece_of(one, columns, in_place, parts.range(i % parts.count())), in_place);
  });
}

}  // namespace

int64_t BatchGemm::batch() const {
  int64_t n = 1;
  for (const BatchAxis& axis : axes) n *= axis.extent;
  return n;
}

int64_t packed_floats(const simd::Loops& loops, int64_t k, int64_t n) {
  return columns_of(loops, k, n, nullptr).floats();
}

void pack_b(const simd::Loops& loops, Team& team, const std::byte* b, int64_t k, int64_t n, int64_t row_stride,
            int64_t col_stride, float* packed) {
  const Columns columns = columns_of(loops, k, n, packed);
  team.run(columns.panels(),
           [&](int64_t panel) { pack_panel_of(loops, columns, b, panel, row_stride, col_stride, packed); });
}

void pack_constant_b(const simd::Loops& loops, Team& team, const std::shared_ptr<const void>& owner, const std::byte* b,
                     int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, float* packed) {
  constexpr int64_t kReleased = int64_t{32} << 20;  // bytes at a time, some panels for each thread
  const Columns columns = columns_of(loops, k, n, packed);
  const int64_t width = columns.shape.columns;
  const int64_t some = col_stride == k ? ceil_div(kReleased, k * 4 * width) * width : n;
  for (int64_t first = 0; first < n; first += some) {
    const int64_t count = std::min(some, n - first);
    const std::byte* const from = b + first * col_stride * 4;
    pack_b(loops, team, from, k, count, row_stride, col_stride, packed + first / width * columns.panel_stride());
    release_pages(owner, from, static_cast<uint64_t>(count * k * 4));
  }
}

void gemm(const simd::Loops& loops, Team& team, const Gemm& product) {
  Columns columns = columns_of(loops, product.k, product.n, product.b);
  columns.codes = product.codes, columns.unpacked = product.unpacked;
  const MatrixRows<LiftFloat> rows(columns.shape, {}, product.a, product.m, product.a_row_stride, product.a_col_stride);
  multiply_tiles(loops, team, rows, columns, product.c, product.c_row_stride, product.end);
}

int64_t gemm_batch_workspace(const simd::Loops& loops, const BatchGemm& products, int threads) {
  if (products.packed || has_one_column(products) || reads_b_in_place(loops, products)) return 0;
  const int64_t at_once =
      cuts_all(loops, products, threads) ? products.batch() / reuse_of(products) : batch_parts(products, threads);
  return std::max<int64_t>(1, at_once) * workspace_floats(loops, products) * 4;
}

void gemm_batch(const simd::Loops& loops, Team& team, const BatchGemm& products, std::byte* workspace) {
  float* const packed = reinterpret_cast<float*>(workspace);
  const int64_t batch = products.batch(), parts = batch_parts(products, team.size());
  if (cuts_all(loops, products, team.size())) return multiply_all(loops, team, products, packed);
  if (batch < 2 * team.size()) {  // too few to share out: each is cut instead
    BatchRun run(loops, team, products, packed);
    for (int64_t i = 0; i < batch; ++i) run.run(i);
    return;
  }
  const int64_t floats = workspace_floats(loops, products);
  team.run(parts, [&](int64_t part) {
    Team alone;
    BatchRun run(loops, alone, products, packed ? packed + part * floats : nullptr);
    for (int64_t i = share(batch, parts, part); i < share(batch, parts, part + 1); ++i) run.run(i);
  });
}

}  // namespace nnex::kernels
