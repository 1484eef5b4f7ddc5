#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/whole.h"

#include <gtest/gtest.h>

#include "kernels/elementwise/chain.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

/// Index of the element of a dense tensor of `shape` that meets element `i` of a dense result of shape `out`.
int64_t meets(const Shape& out, const Shape& shape, int64_t i) {
  int64_t at = 0, step = 1;
  for (size_t k = 1; k <= out.size(); ++k) {
    const int64_t index = i % out[out.size() - k];
    i /= out[out.size() - k];
    if (k > shape.size()) continue;
    const int64_t extent = shape[shape.size() - k];
    if (extent != 1) at += index * step;
    step *= extent;
  }
  return at;
}

const struct {
  const char* name;
  Shape out, a, b;
} broadcast_rows[] = {
    {"scalars", {}, {}, {}},
    {"same", {7, 300}, {7, 300}, {7, 300}},
    {"long enough to split", {300, 1000}, {300, 1000}, {300, 1000}},
    {"scalar right", {3, 5, 7}, {3, 5, 7}, {}},
    {"scalar left", {3, 5, 70}, {1}, {3, 5, 70}},
    {"row", {40, 65}, {40, 65}, {65}},
    {"short row", {400, 3}, {400, 3}, {3}},
    {"column", {40, 100}, {40, 100}, {40, 1}},
    {"short column", {700, 3}, {700, 1}, {700, 3}},
    {"channel of an image", {2, 5, 12, 11}, {2, 5, 12, 11}, {1, 5, 1, 1}},
    {"short rows of two kinds in turn", {6, 200, 5}, {6, 200, 5}, {6, 1, 5}},
    {"a row that is widened, with a rest", {1003, 100}, {1003, 100}, {100}},
    {"both stretch", {4, 6, 100}, {4, 1, 100}, {1, 6, 1}},
    {"outer product", {50, 70}, {50, 1}, {1, 70}},
    {"both from one row", {30, 70}, {70}, {70}},
    {"both single in rows", {30, 70}, {30, 1}, {30, 1}},
    {"one long row", {200000}, {200000}, {1}},
    {"two long rows", {2, 100000}, {100000}, {2, 1}},
    {"empty", {0, 5}, {0, 5}, {5}},
    {"alternating axes", {2, 3, 2, 3, 2, 3}, {2, 1, 2, 1, 2, 1}, {1, 3, 1, 3, 1, 3}},
};

TEST(Elementwise, BroadcastEqualsPlainLoop) {
  Team team(2);
  const simd::Loops& loops = simd::loops(simd::best_isa());
  for (const auto& row : broadcast_rows) {
    SCOPED_TRACE(row.name);
    const std::vector<float> a = test::uniform_floats(static_cast<size_t>(count(row.a)), 4, 1);
    const std::vector<float> b = test::uniform_floats(static_cast<size_t>(count(row.b)), 4, 2);
    const size_t n = static_cast<size_t>(count(row.out));
    std::vector<float> sub(n), y(n), chosen(n), selected(n);
    std::vector<uint8_t> less(n), z(n);
    std::vector<int64_t> ia(a.begin(), a.end()), ib(b.begin(), b.end()), iy(n), product(n);
    for (size_t i = 0; i < n; ++i) {
      const size_t at_a = static_cast<size_t>(meets(row.out, row.a, static_cast<int64_t>(i)));
      const size_t at_b = static_cast<size_t>(meets(row.out, row.b, static_cast<int64_t>(i)));
      sub[i] = a[at_a] - b[at_b];
      less[i] = a[at_a] < b[at_b];
      product[i] = ia[at_a] * ib[at_b];
      chosen[i] = less[i] ? a[at_a] : b[at_b];
    }
    const std::span<const int64_t> shapes[] = {row.a, row.b}, three[] = {row.out, row.a, row.b};
    const auto nest = broadcast_nest(row.out, shapes);
    ASSERT_TRUE(nest);
    binary_broadcast(loops, team, BinaryKind::sub, *nest, a.data(), b.data(), y.data());
    test::expect_same(y, sub);
    compare_broadcast(loops, team, CompareKind::lt, *nest, a.data(), b.data(), z.data());
    test::expect_same(z, less);
    whole_broadcast(loops, team, WholeBinary::mul, *nest, ia.data(), ib.data(), iy.data());
    test::expect_same(iy, product);
    select_broadcast(loops, team, 4, *broadcast_nest(row.out, three), less.data(), a.data(), b.data(), selected.data());
    test::expect_same(selected, chosen);
  }
}

TEST(Elementwise, ShapesThatDoNotMeet) {
  const Shape out = {2, 3}, two = {2}, longer = {1, 2, 3};
  const std::span<const int64_t> shapes[] = {two}, long_shapes[] = {longer};
  EXPECT_FALSE(broadcast_nest(out, shapes));
  EXPECT_FALSE(broadcast_nest(out, long_shapes));
}

TEST(Elementwise, UnaryInPlaceWhateverTheTeam) {
  const std::vector<float> x = test::test_floats(100003);
  std::vector<float> alone(x.size()), together = x;
  const simd::Loops& loops = simd::loops(simd::best_isa());
  Team one(1), two(2);
  unary_map(loops, one, {UnaryKind::sigmoid}, x.data(), alone.data(), static_cast<int64_t>(x.size()));
  unary_map(loops, two, {UnaryKind::sigmoid}, together.data(), together.data(), static_cast<int64_t>(x.size()));
  test::expect_same(together, alone);
}

/// (x * scale + offset) relu, times sigmoid(x), minus row: one chain against separate passes.
TEST(Chain, EqualsItsStepsOneByOne) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  Team team(2);
  const struct {
    Shape out, scale, offset, row;
  } rows[] = {
      {{4, 9, 130}, {9, 1}, {}, {130}},
      {{4, 9, 1300}, {9, 1}, {9, 1}, {1}},
      {{4, 9, 49}, {9, 1}, {9, 1}, {1}},
      {{500, 5}, {500, 1}, {5}, {1}},
      {{3000}, {1}, {3000}, {}},
      {{2, 90000}, {2, 1}, {90000}, {1}},
      {{3, 16, 7, 7}, {16, 1, 1}, {1, 16, 1, 1}, {3, 1, 1, 1}},
  };
  for (const auto& r : rows) {
    const std::vector<float> x = test::uniform_floats(static_cast<size_t>(count(r.out)), 3, 1);
    const std::vector<float> scale = test::uniform_floats(static_cast<size_t>(count(r.scale)), 2, 2);
    const std::vector<float> offset = test::uniform_floats(static_cast<size_t>(count(r.offset)), 2, 3);
    const std::vector<float> row = test::uniform_floats(static_cast<size_t>(count(r.row)), 2, 4);
    const std::span<const int64_t> shapes[] = {r.out, r.scale, r.offset, r.row};
    const ChainStep steps[] = {
        {.a = 0, .b = 1, .binary = BinaryKind::mul}, {.a = 4, .b = 2, .binary = BinaryKind::add},
        {.a = 5, .unary = {UnaryKind::relu}},        {.a = 0, .unary = {UnaryKind::sigmoid}},
        {.a = 6, .b = 7, .binary = BinaryKind::mul}, {.a = 8, .b = 3, .binary = BinaryKind::sub},
    };
    const auto chain = Chain::make(r.out, shapes, steps);
    ASSERT_TRUE(chain);
    std::vector<float> y(x.size()), expected(x.size()), gate(x.size());
    const float* inputs[] = {x.data(), scale.data(), offset.data(), row.data()};
    chain->run(loops, team, inputs, y.data());
    loops.unary_f32({UnaryKind::sigmoid}, x.data(), gate.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const auto at = [&](const std::vector<float>& v, const Shape& shape) {
        return v[static_cast<size_t>(meets(r.out, shape, static_cast<int64_t>(i)))];
      };
      const float scaled = x[i] * at(scale, r.scale), moved = scaled + at(offset, r.offset);
      expected[i] = (moved > 0 ? moved : 0.0F) * gate[i] - at(row, r.row);
    }
    test::expect_same(y, expected);
  }
}

TEST(Chain, TransposedOperand) {
  const Shape out = {37, 53}, dense = {53, 1}, turned = {1, 37};
  const std::span<const int64_t> strides[] = {dense, turned};
  const std::vector<float> a = test::uniform_floats(37 * 53, 1, 1), b = test::uniform_floats(37 * 53, 1, 2);
  std::vector<float> y(a.size()), expected(a.size());
  Team team(1);
  binary_broadcast(simd::loops(simd::best_isa()), team, BinaryKind::add, *strided_nest(out, strides), a.data(),
                   b.data(), y.data());
  for (size_t i = 0; i < 37; ++i)
    for (size_t j = 0; j < 53; ++j) expected[i * 53 + j] = a[i * 53 + j] + b[j * 37 + i];
  test::expect_same(y, expected);
}

TEST(Chain, RefusesWhatItCannotHold) {
  const Shape out = {4};
  const std::span<const int64_t> shapes[] = {out};
  std::vector<ChainStep> steps(Chain::kMaxSteps + 1, ChainStep{.a = 0, .unary = {UnaryKind::neg}});
  EXPECT_FALSE(Chain::make(out, shapes, steps));
  const ChainStep ahead = {.a = 1, .unary = {UnaryKind::neg}};
  EXPECT_FALSE(Chain::make(out, shapes, {&ahead, 1}));
  EXPECT_FALSE(Chain::make(out, shapes, {}));
  // Eight values that all live to the end do not fit into six tiles.
  std::vector<ChainStep> wide(8, ChainStep{.a = 0, .unary = {UnaryKind::neg}});
  for (int8_t i = 0; i < 7; ++i)
    wide.push_back({.a = static_cast<int8_t>(i == 0 ? 1 : 8 + i), .b = static_cast<int8_t>(2 + i)});
  EXPECT_FALSE(Chain::make(out, shapes, wide));
}

}  // namespace
}  // namespace nnex::kernels
