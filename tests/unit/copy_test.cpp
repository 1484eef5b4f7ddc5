#include "kernels/moves/copy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "simd_test.h"

namespace nnex::kernels {
namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

std::vector<uint8_t> bytes(size_t n) {
  std::vector<uint8_t> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<uint8_t>((i * 2654435761U) >> 13);
  return x;
}

TEST(SimdTranspose, PixelsOfTwoToFour) {
  test::for_each_table([&](const simd::Loops& table) {
    for (size_t k : {2, 3, 4})
      for (size_t n : {1, 7, 16, 34, 100}) {
        std::vector<uint32_t> planes(k * n), pixels(k * n), back(k * n), expected(k * n);
        std::iota(planes.begin(), planes.end(), 1U);
        for (size_t i = 0; i < n; ++i)
          for (size_t c = 0; c < k; ++c) expected[i * k + c] = planes[c * n + i];
        table.transpose_u32(planes.data(), n, pixels.data(), k, k, n);
        test::expect_same(pixels, expected);
        table.transpose_u32(pixels.data(), k, back.data(), n, n, k);
        test::expect_same(back, planes);
      }
  });
}

TEST(SimdTranspose, EqualsPlainLoop) {
  test::for_each_table([&](const simd::Loops& table) {
    for (auto [rows, columns] : {std::pair{1, 1}, {4, 4}, {16, 16}, {17, 33}, {3, 50}, {50, 3}, {40, 70}, {0, 5}}) {
      const size_t r = static_cast<size_t>(rows), c = static_cast<size_t>(columns);
      std::vector<uint32_t> x(r * (c + 3) + 1), y(c * (r + 2) + 1, 7), expected = y;
      std::iota(x.begin(), x.end(), 100U);
      for (size_t i = 0; i < r; ++i)
        for (size_t j = 0; j < c; ++j) expected[j * (r + 2) + i] = x[i * (c + 3) + j];
      table.transpose_u32(x.data(), c + 3, y.data(), r + 2, r, c);
      test::expect_same(y, expected);
    }
  });
}

/// y by the definition, an element at a time.
std::vector<uint8_t> plain_transpose(const std::vector<uint8_t>& x, const Shape& shape, const Shape& axes,
                                     size_t size) {
  std::vector<uint8_t> y(x.size());
  const size_t rank = shape.size();
  Shape index(rank, 0);
  for (int64_t to = 0; to < count(shape); ++to) {
    int64_t rest = to;
    for (size_t k = rank; k-- > 0;) {
      const int64_t extent = shape[static_cast<size_t>(axes[k])];
      index[static_cast<size_t>(axes[k])] = rest % extent;
      rest /= extent;
    }
    int64_t from = 0;
    for (size_t k = 0; k < rank; ++k) from = from * shape[k] + index[k];
    std::copy_n(x.begin() + from * static_cast<int64_t>(size), size, y.begin() + to * static_cast<int64_t>(size));
  }
  return y;
}

const struct {
  const char* name;
  Shape shape, axes;
} transpose_rows[] = {
    {"scalar", {}, {}},
    {"matrix", {37, 53}, {1, 0}},
    {"to channels last", {2, 19, 8, 9}, {0, 2, 3, 1}},
    {"to channels first", {2, 8, 9, 19}, {0, 3, 1, 2}},
    {"heads", {2, 10, 4, 16}, {0, 2, 1, 3}},
    {"keys", {2, 10, 4, 16}, {0, 2, 3, 1}},
    {"image of 3", {30, 31, 3}, {2, 0, 1}},
    {"pairs", {20, 30, 2}, {1, 0, 2}},
    {"reversed", {3, 4, 5, 6, 2}, {4, 3, 2, 1, 0}},
    {"identity", {3, 4, 5}, {0, 1, 2}},
    {"large", {300, 500}, {1, 0}},
    {"empty", {3, 0, 5}, {2, 1, 0}},
    {"ones", {1, 7, 1, 5}, {3, 2, 1, 0}},
};

TEST(Copy, TransposeOfEveryElementSize) {
  Team team(2);
  for (const auto& row : transpose_rows) {
    SCOPED_TRACE(row.name);
    const auto nest = transpose_nest(row.shape, row.axes);
    ASSERT_TRUE(nest);
    for (size_t size : {1, 2, 4, 8}) {
      const std::vector<uint8_t> x = bytes(static_cast<size_t>(count(row.shape)) * size);
      std::vector<uint8_t> y(x.size());
      copy_from_strided(simd::loops(simd::best_isa()), team, static_cast<int>(size), *nest, x.data(), y.data());
      test::expect_same(y, plain_transpose(x, row.shape, row.axes, size));
    }
  }
}

TEST(Copy, SliceWithStepsAndExpand) {
  Team team(1);
  const simd::Loops& loops = simd::loops(simd::best_isa());
  std::vector<float> x(6 * 8);
  std::iota(x.begin(), x.end(), 0.0F);
  const Shape out = {3, 4}, backwards = {16, -2}, stretched = {0, 1};
  const std::span<const int64_t> slice[] = {backwards}, expand[] = {stretched};
  std::vector<float> y(12), expected(12);
  copy_from_strided(loops, team, 4, *strided_nest(out, slice), x.data() + 7, y.data());
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 4; ++j) expected[i * 4 + j] = x[i * 16 + 7 - 2 * j];
  test::expect_same(y, expected);
  copy_from_strided(loops, team, 4, *strided_nest(out, expand), x.data(), y.data());
  test::expect_same(y, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
}

template <class T>
void expect_transposed(simd::TransposeOf<T>* loop) {
  for (size_t rows : {1, 7, 8, 16, 17, 40})
    for (size_t columns : {1, 15, 16, 33, 100}) {
      std::vector<T> x(rows * (columns + 3)), y(columns * (rows + 2), 9), expected = y;
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 2654435761U >> 7);
      for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) expected[c * (rows + 2) + r] = x[r * (columns + 3) + c];
      loop(x.data(), columns + 3, y.data(), rows + 2, rows, columns);
      test::expect_same(y, expected);
      for (size_t few : {2, 3, 4}) {  // lines of so few, side by side
        std::vector<T> planes(few * (columns + 1), 9), parted = planes;
        for (size_t r = 0; r < columns; ++r)
          for (size_t c = 0; c < few; ++c) parted[c * (columns + 1) + r] = x[(r * few + c) % x.size()];
        std::vector<T> lines;
        for (size_t i = 0; i < columns * few; ++i) lines.push_back(x[i % x.size()]);
        loop(lines.data(), few, planes.data(), columns + 1, columns, few);
        test::expect_same(planes, parted);
      }
      if (rows != 7) continue;  // three rows, and lines of three
      std::vector<T> pixels(columns * 3), wanted(columns * 3);
      for (size_t r = 0; r < 3; ++r)
        for (size_t c = 0; c < columns; ++c) wanted[c * 3 + r] = x[r * (columns + 3) + c];
      loop(x.data(), columns + 3, pixels.data(), 3, 3, columns);
      test::expect_same(pixels, wanted);
    }
}

TEST(SimdTranspose, OtherElements) {
  test::for_each_table([&](const simd::Loops& table) {
    expect_transposed<uint8_t>(table.transpose_u8);
    expect_transposed<uint16_t>(table.transpose_u16);
    expect_transposed<uint64_t>(table.transpose_u64);
  });
}

/// Rows and blocks that are repeated, as Tile lays them out: x is [3, 5, n], y [3, 2, 5, 3, n].
TEST(Copy, Repeats) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  for (int threads : {1, 2})
    for (size_t size : {1, 2, 4, 8})
      for (size_t n : {1, 3, 28, 300}) {
        Team team(threads);
        const std::vector<uint8_t> x = bytes(15 * n * size);
        const auto step = static_cast<int64_t>(n);
        const Shape out = {3, 2, 5, 3, step}, strides = {5 * step, 0, step, 0, 1};
        const std::span<const int64_t> lists[] = {strides};
        std::vector<uint8_t> y(x.size() * 6), expected;
        copy_from_strided(loops, team, static_cast<int>(size), *strided_nest(out, lists), x.data(), y.data());
        for (size_t i = 0; i < 3; ++i)
          for (size_t j = 0; j < 2; ++j)
            for (size_t row = 0; row < 15; ++row) {
              const auto from = x.begin() + static_cast<std::ptrdiff_t>((i * 5 + row / 3) * n * size);
              expected.insert(expected.end(), from, from + static_cast<std::ptrdiff_t>(n * size));
            }
        test::expect_same(y, expected);
      }
}

TEST(Copy, ToStridedAndRuns) {
  Team team(2);
  std::vector<uint16_t> x(2 * 3), y(4 * 5, 9), expected = y;
  std::iota(x.begin(), x.end(), uint16_t{1});
  const Shape out = {2, 3}, strides = {5, 1};
  const std::span<const int64_t> lists[] = {strides};
  copy_to_strided(team, 2, *strided_nest(out, lists), x.data(), y.data() + 6);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j) expected[6 + i * 5 + j] = x[i * 3 + j];
  test::expect_same(y, expected);
  copy_runs(team, x.data(), 6, y.data(), 10, 2, 4);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j) expected[i * 5 + j] = x[i * 3 + j];
  test::expect_same(y, expected);
  for (int64_t run : {1, 2, 3, 4, 8, 16, 20}) {
    const std::vector<uint8_t> from = bytes(static_cast<size_t>(5000 * (run + 3)));
    std::vector<uint8_t> to(static_cast<size_t>(5000 * (run + 1)), 9), wanted = to;
    for (int64_t row = 0; row < 5000; ++row)
      std::copy_n(from.begin() + row * (run + 3), run, wanted.begin() + row * (run + 1));
    copy_runs(team, from.data(), run + 3, to.data(), run + 1, 5000, run);
    test::expect_same(to, wanted);
  }
  const std::vector<uint8_t> large = bytes(1000003);
  std::vector<uint8_t> copied(large.size());
  copy_runs(team, large.data(), 0, copied.data(), 0, 1, static_cast<int64_t>(large.size()));
  test::expect_same(copied, large);
}

TEST(Copy, ColumnsJoinedAndParted) {
  Team team(2);
  test::for_each_table([&](const simd::Loops& table) {
    for (const int size : {1, 2, 4})
      for (const int64_t columns : {2, 3, 4, 5, 8})
        for (const int64_t rows : {64, 257, 20001})
          for (const int64_t shift : {0, 1}) {  // from an aligned address
            ASSERT_TRUE(turns_columns(size, columns, rows));
            const int64_t length = rows * size;
            const std::vector<uint8_t> x = bytes(static_cast<size_t>(columns * length));
            std::vector<uint8_t> joined(x.size() + 2, 9), wanted = joined, back(x.size(), 9);
            for (int64_t row = 0; row < rows; ++row)
              for (int64_t i = 0; i < columns; ++i)
                std::copy_n(x.begin() + i * length + row * size, size,
                            wanted.begin() + shift + (row * columns + i) * size);
            std::vector<const void*> from;
            std::vector<void*> to;
            for (int64_t i = 0; i < columns; ++i)
              from.push_back(x.data() + i * length), to.push_back(back.data() + i * length);
            join_columns(table, team, size, from, rows, joined.data() + shift);
            test::expect_same(joined, wanted);
            part_columns(table, team, size, joined.data() + shift, rows, to);
            test::expect_same(back, x);
          }
  });
}

TEST(Copy, Gather) {
  Team team(2);
  const std::vector<int32_t> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // [2, 3, 2]
  const std::vector<int64_t> indices = {2, 0, -1, 1};
  std::vector<int32_t> y(2 * 4 * 2);
  EXPECT_EQ(gather(team, x.data(), 2, 3, 8, indices.data(), 4, true, Outside::fault, y.data()), -1);
  test::expect_same(y, {4, 5, 0, 1, 4, 5, 2, 3, 10, 11, 6, 7, 10, 11, 8, 9});
  EXPECT_EQ(gather(team, x.data(), 2, 3, 8, indices.data(), 4, false, Outside::fault, y.data()), 2);
  EXPECT_EQ(gather(team, x.data(), 2, 3, 8, indices.data(), 4, false, Outside::clamp, y.data()), -1);
  EXPECT_EQ(y[4], 0);
  const std::vector<int32_t> high = {3};
  EXPECT_EQ(gather(team, x.data(), 2, 3, 8, high.data(), 1, true, Outside::fault, y.data()), 0);
  EXPECT_EQ(gather(team, x.data(), 1, 0, 8, high.data(), 1, true, Outside::clamp, y.data()), 0);
}

}  // namespace
}  // namespace nnex::kernels
