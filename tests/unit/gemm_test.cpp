#include "kernels/product/gemm.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/mapped_file.h"
#include "oracle_math.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

/// The plain form of a product with its own epilogue: what every byte must be.
float expected_element(const Gemm& p, const std::vector<float>& b, int64_t i, int64_t j, bool fused) {
  float sum = 0;
  for (int64_t k = 0; k < p.k; ++k) {
    const float a = p.a[i * p.a_row_stride + k * p.a_col_stride], v = b[static_cast<size_t>(k * p.n + j)];
    sum = fused ? std::fma(a, v, sum) : sum + a * v;
  }
  const Epilogue& end = p.end;
  if (end.scale != 1) sum = sum * end.scale;
  if (end.bias) sum = sum + end.bias[j];
  if (end.row_bias) sum = sum + end.row_bias[i];
  if (end.residual) sum = sum + end.residual[i * end.residual_stride + j] * end.residual_scale;
  return fused ? oracle::unary<true>(end.activation, sum) : oracle::unary<false>(end.activation, sum);
}

struct Case {
  int64_t m, n, k;
  bool a_transposed = false;
  bool b_transposed = false;
  Epilogue end = {};  // pointers that are not null get data
};
const float* const kGiven = reinterpret_cast<const float*>(64);

void check(const Case& row, const Loops& table, Team& team) {
  SCOPED_TRACE(testing::Message() << row.m << "x" << row.n << "x" << row.k << (row.a_transposed ? " a^t" : "")
                                  << (row.b_transposed ? " b^t" : ""));
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t c_stride = row.n + 3, residual_stride = row.n + 1;
  const std::vector<float> a = test::uniform_floats(size(row.m * row.k), 2, 1);
  const std::vector<float> b = test::uniform_floats(size(row.k * row.n), 2, 2);
  std::vector<float> bias = test::uniform_floats(size(row.n), 1, 3);
  if (row.end.activation.replaces_nan()) bias.back() = std::nanf("");
  const std::vector<float> row_bias = test::uniform_floats(size(row.m), 1, 4);
  const std::vector<float> residual = test::uniform_floats(size(row.m * residual_stride), 1, 5);
  std::vector<float> c(size(row.m * c_stride), 7.0F), expected = c;

  Gemm p{.m = row.m, .n = row.n, .k = row.k, .a = a.data(), .c = c.data(), .c_row_stride = c_stride, .end = row.end};
  p.a_row_stride = row.a_transposed ? 1 : row.k;
  p.a_col_stride = row.a_transposed ? row.m : 1;
  if (row.end.bias) p.end.bias = bias.data();
  if (row.end.row_bias) p.end.row_bias = row_bias.data();
  if (row.end.residual) p.end.residual = residual.data();
  p.end.residual_stride = residual_stride;

  // The right-hand side at an odd address, as files have it.
  std::vector<std::byte> bytes(b.size() * 4 + 1);
  for (int64_t k = 0; k < row.k; ++k)
    for (int64_t j = 0; j < row.n; ++j)
      std::memcpy(&bytes[size(1 + 4 * (row.b_transposed ? j * row.k + k : k * row.n + j))], &b[size(k * row.n + j)], 4);
  std::vector<float> packed(size(packed_floats(table, row.k, row.n)) + 1);
  pack_b(table, team, bytes.data() + 1, row.k, row.n, row.b_transposed ? 1 : row.n, row.b_transposed ? row.k : 1,
         packed.data());
  p.b = packed.data();
  gemm(table, team, p);
  for (int64_t i = 0; i < row.m; ++i)
    for (int64_t j = 0; j < row.n; ++j)
      expected[size(i * c_stride + j)] = expected_element(p, b, i, j, test::fuses(table));
  test::expect_same(c, expected);
}

TEST(Gemm, EqualsTheChainOfEveryElement) {
  const Case rows[] = {{0, 5, 3},
                       {5, 0, 3},
                       {3, 5, 0},
                       {1, 1, 1},
                       {1, 130, 33},
                       {2, 70, 20},
                       {3, 100, 17},
                       {7, 33, 40},
                       {14, 32, 9},
                       {15, 31, 64},
                       {29, 65, 50},
                       {16, 16, 16},
                       {5, 24, 600},
                       {30, 40, 1030},
                       {20, 200, 256},
                       {4, 8, 513, true},
                       {31, 17, 520, true, true},
                       {1, 48, 700, true},
                       {9, 50, 140, false, true}};
  test::for_each_table([&](const Loops& table) {
    for (int threads : {1, 2}) {
      Team team(threads);
      for (const Case& row : rows) check(row, table, team);
    }
  });
}

TEST(Gemm, EveryEpilogue) {
  std::vector<Epilogue> ends;
  for (int bits = 0; bits < 16; ++bits) {
    Epilogue end;
    if (bits & 1) end.scale = 0.37F;
    if (bits & 2) end.bias = kGiven;
    if (bits & 4) end.row_bias = kGiven;
    if (bits & 8) end.residual = kGiven, end.residual_scale = bits & 1 ? 0.3F : 1.0F;
    ends.push_back(end);
  }
  for (int kind = 0; kind < static_cast<int>(UnaryKind::count); ++kind)
    ends.push_back({.bias = kGiven, .activation = {static_cast<UnaryKind>(kind), 0.3F, 0.9F}});
  test::for_each_table([&](const Loops& table) {
    Team team(2);
    for (const Epilogue& end : ends) check({5, 37, 11, false, false, end}, table, team);
    check({17, 75, 40, false, false, {.bias = kGiven, .activation = {UnaryKind::clamp, -1, 1, 0.25F}}}, table, team);
    for (int64_t m : {1, 2, 3})  // several panels at once, time and again
      check({m, 300, 21, false, false, {.bias = kGiven, .residual = kGiven}}, table, team);
    for (UnaryKind kind : {UnaryKind::relu, UnaryKind::gelu_erf})  // the activation waits for the last part of k
      check({17, 75, 1025, false, false, {.bias = kGiven, .residual = kGiven, .activation = {kind}}}, table, team);
  });
}

TEST(Gemm, RowDoesNotDependOnHowManyThereAre) {
  const int64_t n = 200, k = 1100;
  const std::vector<float> a = test::uniform_floats(40 * k), b = test::uniform_floats(k * n, 1, 2);
  test::for_each_table([&](const Loops& table) {
    Team team(2);
    std::vector<float> packed(static_cast<size_t>(packed_floats(table, k, n)));
    pack_b(table, team, reinterpret_cast<const std::byte*>(b.data()), k, n, n, 1, packed.data());
    std::vector<float> all(40 * n);
    Gemm p{.m = 40,
           .n = n,
           .k = k,
           .a = a.data(),
           .a_row_stride = k,
           .b = packed.data(),
           .c = all.data(),
           .c_row_stride = n};
    gemm(table, team, p);
    for (int64_t m : {1, 2, 3, 4, 13, 39}) {
      std::vector<float> some(static_cast<size_t>(m * n));
      p.m = m;
      p.c = some.data();
      gemm(table, team, p);
      test::expect_same(some, {all.begin(), all.begin() + m * n});
    }
  });
}

/// One of 40 MB in a file, the pages of which are given back while it is packed: the packed form is that of memory.
TEST(Gemm, PacksALargeConstantPieceByPiece) {
  constexpr int64_t k = 10007, n = 1000;  // the last piece ends within a panel
  std::vector<float> b = test::uniform_floats(static_cast<size_t>(k * n), 2, 1);
  const std::string path = testing::TempDir() + "/nnex_columns_" + std::to_string(getpid());
  const std::string_view bytes(reinterpret_cast<const char*>(b.data()), b.size() * sizeof(float));
  ASSERT_TRUE(write_file(path, bytes).ok());
  auto opened = MappedFile::open(path, MapPolicy::always);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const auto file = shared_file(std::move(*opened));
  const Loops& table = simd::loops(simd::best_isa());
  Team team;
  const auto floats = static_cast<size_t>(packed_floats(table, k, n));
  std::vector<float> from_memory(floats), from_file(floats);
  for (const bool transposed : {true, false}) {
    const int64_t row_stride = transposed ? 1 : n, col_stride = transposed ? k : 1;
    pack_b(table, team, reinterpret_cast<const std::byte*>(b.data()), k, n, row_stride, col_stride, from_memory.data());
    pack_constant_b(table, team, file, reinterpret_cast<const std::byte*>(file->bytes().data()), k, n, row_stride,
                    col_stride, from_file.data());
    EXPECT_EQ(std::memcmp(from_memory.data(), from_file.data(), floats * sizeof(float)), 0);
    EXPECT_EQ(file->bytes(), bytes);
  }
  std::filesystem::remove(path);
}

TEST(Gemm, BatchWithoutPacking) {
  const struct {
    int64_t batch, m, n, k;
    bool b_transposed;
  } rows[] = {{1, 20, 33, 40, false}, {3, 5, 64, 17, false}, {5, 1, 64, 300, false}, {5, 1, 40, 64, true},
              {7, 16, 16, 16, true},  {0, 3, 3, 3, false},   {2, 60, 64, 64, false}, {2, 3, 0, 5, false},
              {3, 40, 40, 17, false}, {3, 90, 70, 60, true}, {2, 1, 500, 700, true}, {2, 200, 96, 64, false}};
  test::for_each_table([&](const Loops& table) {
    for (const auto& row : rows) {
      SCOPED_TRACE(testing::Message() << row.batch << " of " << row.m << "x" << row.n << "x" << row.k);
      const auto size = [](int64_t n) { return static_cast<size_t>(n); };
      const std::vector<float> a = test::uniform_floats(size(row.batch * row.m * row.k), 1, 1);
      const std::vector<float> b = test::uniform_floats(size(row.batch * row.k * row.n), 1, 2);
      const std::vector<float> bias = test::uniform_floats(size(row.batch * row.n), 1, 3);
      const std::vector<float> row_bias = test::uniform_floats(size(row.batch * row.m), 1, 4);
      const std::vector<float> residual = test::uniform_floats(size(row.batch * row.m * row.n), 1, 5);
      std::vector<float> c(size(row.batch * row.m * row.n)), expected = c;
      BatchGemm p;
      p.one = {.m = row.m,
               .n = row.n,
               .k = row.k,
               .a = a.data(),
               .a_row_stride = row.k,
               .b = b.data(),
               .c = c.data(),
               .c_row_stride = row.n,
               .end = {.bias = bias.data(), .row_bias = row_bias.data(), .residual = residual.data()}};
      p.one.end.residual_stride = row.n;
      p.b_row_stride = row.b_transposed ? 1 : row.n;
      p.b_col_stride = row.b_transposed ? row.k : 1;
      p.axes = {{row.batch, row.m * row.k, row.k * row.n, row.m * row.n, row.n, row.m, row.m * row.n}};
      Team team(2);
      std::vector<std::byte> workspace(size(gemm_batch_workspace(table, p, team.size())));
      gemm_batch(table, team, p, workspace.data());
      for (int64_t i = 0; i < row.batch; ++i) {
        std::vector<float> plain(size(row.k * row.n));
        for (int64_t k = 0; k < row.k; ++k)
          for (int64_t j = 0; j < row.n; ++j)
            plain[size(k * row.n + j)] = b[size(i * p.axes[0].b + k * p.b_row_stride + j * p.b_col_stride)];
        Gemm one = p.one;
        one.a += i * p.axes[0].a;
        one.end.bias += i * p.axes[0].bias;
        one.end.row_bias += i * p.axes[0].row_bias;
        one.end.residual += i * p.axes[0].residual;
        for (int64_t r = 0; r < row.m; ++r)
          for (int64_t j = 0; j < row.n; ++j)
            expected[size(i * p.axes[0].c + r * row.n + j)] = expected_element(one, plain, r, j, test::fuses(table));
      }
      test::expect_same(c, expected);
    }
  });
}

TEST(Gemm, ManyProductsReadOneMatrix) {
  constexpr int64_t k = 19, n = 21;
  struct Sizes {
    int64_t outer, inner, m;
  };
  for (const Sizes& of : {Sizes{2, 5, 1}, {2, 5, 9}, {2, 5, 40}, {1, 3, 700}}) {
    const int64_t outer = of.outer, inner = of.inner, m = of.m;
    const std::vector<float> a = test::uniform_floats(static_cast<size_t>(inner * outer * m * k), 1, 1);
    const std::vector<float> b = test::uniform_floats(outer * k * n, 1, 2);
    test::for_each_table([&](const Loops& table) {
      Team team(2);
      std::vector<float> c(static_cast<size_t>(inner * outer * m * n)), expected = c;
      BatchGemm p;
      p.one = {.m = m, .n = n, .k = k, .a = a.data(), .a_row_stride = k, .b = b.data(), .c = c.data()};
      p.one.c_row_stride = n;
      p.b_row_stride = n;
      p.axes = {{outer, m * k, k * n, m * n}, {inner, outer * m * k, 0, outer * m * n}};
      std::vector<float> workspace(static_cast<size_t>(gemm_batch_workspace(table, p, team.size()) / 4) + 16);
      gemm_batch(table, team, p, reinterpret_cast<std::byte*>(workspace.data()));
      for (int64_t i = 0; i < inner * outer; ++i) {
        Gemm one = p.one;
        one.a += i * m * k;
        const auto from = b.begin() + i % outer * k * n;
        for (int64_t r = 0; r < m; ++r)
          for (int64_t j = 0; j < n; ++j)
            expected[static_cast<size_t>((i * m + r) * n + j)] =
                expected_element(one, {from, from + k * n}, r, j, test::fuses(table));
      }
      test::expect_same(c, expected);
    });
  }
}

}  // namespace
}  // namespace nnex::kernels
