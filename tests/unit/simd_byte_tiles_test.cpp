// Tiles of bytes by themselves, against plain C++: runs of any length and distance, every number of rows and columns,
// what goes on and what is added.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/product/loops_tile_avx2.h"
#include "kernels/product/tiles.h"
#include "share.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

constexpr int kGuard = 64;  // around what a tile may write

/// A tile of random runs and columns, its c and what that holds afterwards.
class ByteTile {
 public:
  /// Columns within [-max, max], or of any bytes.
  ByteTile(const simd::TileShape& shape, std::mt19937& random, int max = 0) : random_(random) {
    t_.rows = 1 + below(shape.rows), t_.columns = below(3) ? shape.columns : 1 + below(shape.columns);
    const int width = (t_.columns + shape.lanes - 1) / shape.lanes * shape.lanes;
    const int common = 1 + below(200);
    for (int r = 1 + below(4); r > 0; --r) add_run(below(3) ? common : 1 + below(300));
    const int64_t groups = total_groups();
    columns_ = numbers<int8_t>(static_cast<size_t>((groups + simd::kGroupsBeyond) * width * 4));
    for (int8_t& w : columns_)
      if (max > 0) w = static_cast<int8_t>(w % (max + 1));
    t_.runs = runs_.data(), t_.n_runs = static_cast<int64_t>(runs_.size());
    t_.b = columns_.data(), t_.b_stride = int64_t{width} * 4;
    t_.c_stride = width + below(20), t_.whole = below(2) == 0, t_.go_on = below(3) == 0;
    c_ = numbers<int32_t>(static_cast<size_t>(t_.rows * t_.c_stride + kGuard));
    row_factor_ = numbers<int32_t>(static_cast<size_t>(t_.rows));
    column_factor_ = numbers<int32_t>(static_cast<size_t>(t_.columns));
    column_add_ = numbers<int32_t>(static_cast<size_t>(t_.columns));
    if (below(3) == 0) t_.row_factor = row_factor_.data(), t_.column_factor = column_factor_.data();
    if (below(3)) t_.column_add = column_add_.data();
  }

  const simd::IntTile<uint8_t>& job() const { return t_; }
  const std::vector<int8_t>& columns() const { return columns_; }
  const std::vector<int32_t>& before() const { return c_; }

  /// What c holds; where a tile may write anything, what it wrote.
  std::vector<int32_t> expected(const std::vector<int32_t>& found) const {
    std::vector<int32_t> out = c_;
    for (int i = 0; i < t_.rows; ++i) {
      for (int64_t j = 0; j < t_.b_stride / 4; ++j) {
        const auto at = static_cast<size_t>(i * t_.c_stride + j);
        if (j < t_.columns)
          out[at] = sum(i, j);
        else if (t_.whole)
          out[at] = found[at];
      }
    }
    return out;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  template <class T>
  std::vector<T> numbers(size_t n) {
    std::vector<T> out(n);
    for (T& x : out) x = static_cast<T>(random_());
    return out;
  }
  void add_run(int k) {
    const int64_t stride = (k + 3) / 4 * 4 + below(90);
    values_.push_back(numbers<uint8_t>(static_cast<size_t>(t_.rows * stride)));
    for (int i = 0; i < t_.rows; ++i)  // as those that copy rows leave it
      for (int64_t p = k; p % 4 != 0; ++p) values_.back()[static_cast<size_t>(i * stride + p)] = 0;
    runs_.push_back({values_.back().data(), stride, k});
  }
  int64_t total_groups() const {
    int64_t groups = 0;
    for (const auto& run : runs_) groups += (run.k + 3) / 4;
    return groups;
  }
  int32_t sum(int i, int64_t j) const {
    uint32_t s = t_.go_on ? static_cast<uint32_t>(c_[static_cast<size_t>(i * t_.c_stride + j)]) : 0;
    const int8_t* b = t_.b;
    for (const auto& run : runs_) {
      for (int64_t k = 0; k < run.k; ++k) {
        const int32_t left = run.a[i * run.row_stride + k], right = b[k / 4 * t_.b_stride + j * 4 + k % 4];
        s += static_cast<uint32_t>(left * right);
      }
      b += (run.k + 3) / 4 * t_.b_stride;
    }
    if (t_.row_factor) s += static_cast<uint32_t>(t_.row_factor[i]) * static_cast<uint32_t>(t_.column_factor[j]);
    return static_cast<int32_t>(s + (t_.column_add ? static_cast<uint32_t>(t_.column_add[j]) : 0));
  }

  std::mt19937& random_;
  simd::IntTile<uint8_t> t_;
  std::vector<std::vector<uint8_t>> values_;
  std::vector<simd::RowRunOf<uint8_t>> runs_;
  std::vector<int8_t> columns_;
  std::vector<int32_t> c_, row_factor_, column_factor_, column_add_;
};

TEST(ByteTiles, EveryUnitSumsAsPlainCodeDoes) {
  int tried = 0;
  test::for_each_table([&](const simd::Loops& table) {
    if (table.numbers == simd::Numbers::exact) return;  // integers are the same
    for (const test::ByteTable& of : test::byte_tables(table)) {
      if (!of.loops.tile_u8) continue;
      SCOPED_TRACE(of.name);
      std::mt19937 random(7);
      int32_t unit = 0;
      for (int i = 0; i < test::some_of(3000); ++i, ++tried) {
        const ByteTile tile(of.loops.tile_shape_u8, random);
        simd::IntTile<uint8_t> job = tile.job();
        std::vector<int32_t> c = tile.before();
        job.c = c.data();
        if (of.loops.release_unit && i % 3 != 0)
          job.unit = &unit;
        else if (unit != 0)
          of.loops.release_unit(), unit = 0;
        of.loops.tile_u8(job);
        ASSERT_EQ(c, tile.expected(c)) << "tile " << i << ", " << job.rows << " rows, " << job.columns << " columns";
      }
      if (unit != 0) of.loops.release_unit();
    }
  });
  if (tried == 0) GTEST_SKIP() << "this machine has no dot products of bytes";
}

/// A tile's columns without what pairs have beyond kMaxPair, and that.
struct Parted {
  std::vector<int8_t> columns;
  std::vector<std::vector<int32_t>> groups;
  std::vector<std::vector<int8_t>> weights;
  std::vector<simd::MoreWeights> more;

  Parted(const ByteTile& tile, const simd::TileShape& shape, int64_t first_group) : columns(tile.columns()) {
    const int64_t stride = tile.job().b_stride, bytes = int64_t{shape.lanes} * 4;
    const int64_t n = static_cast<int64_t>(columns.size()) / stride - simd::kGroupsBeyond;
    for (int8_t* b = columns.data(); b != columns.data() + stride; b += bytes) {
      const int64_t count = simd::groups_beyond(b, stride, n);
      std::vector<int32_t>& numbers = groups.emplace_back(count + 1, INT32_MAX);
      simd::take_beyond(b, stride, n, numbers.data(), weights.emplace_back(count * bytes).data());
      EXPECT_EQ(simd::groups_beyond(b, stride, n), 0);
      EXPECT_EQ(simd::groups_beyond(weights.back().data(), bytes, count), 0);
      for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] += static_cast<int32_t>(first_group);
      more.push_back({numbers.data(), weights.back().data()});
    }
  }
};

TEST(ByteTiles, PairsSumAsPlainCodeDoes) {
  int tried = 0;
  test::for_each_table([&](const simd::Loops& table) {
    if (!table.tile_pairs) return;
    std::mt19937 random(11);
    for (int i = 0; i < test::some_of(3000); ++i, ++tried) {
      const bool fits = i % 2 == 0;
      const ByteTile tile(table.tile_shape_i16(), random, fits ? simd::kMaxPair / 2 : 0);
      simd::IntTile<uint8_t> job = tile.job();
      job.first_group = i % 7;
      const Parted parted(tile, table.tile_shape_i16(), job.first_group);
      if (!fits) job.b = parted.columns.data(), job.more = parted.more.data();
      std::vector<int32_t> c = tile.before();
      job.c = c.data();
      table.tile_pairs(job);
      ASSERT_EQ(c, tile.expected(c)) << "tile " << i << ", " << job.rows << " rows, " << job.columns << " columns";
    }
  });
  if (tried == 0) GTEST_SKIP() << "no instruction set here has tiles of pairs";
}

}  // namespace
}  // namespace nnex::kernels
