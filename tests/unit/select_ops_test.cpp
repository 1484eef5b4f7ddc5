// Elements written, picked and pooled by index, by their reference kernels; values worked out by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "nnex/graph.h"
#include "nnex/model.h"
#include "op_run.h"
#include "tensor_of.h"

namespace nnex {
namespace {

using test::absent;
using test::f;
using test::i64;
using test::i8;
using test::run_op;
using test::shown;
using test::u8;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

AttrValue word(const char* s) { return std::string(s); }

TEST(Slice, NamesAsManyAxesAsAnyOfItsListsSays) {
  auto graph = Graph::parse(R"(graph g(x: f32[4,3], begin: i64[k]) -> (y)
{
  y = slice(x, begin, end = [3]);
})");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto model = Model::compile(std::move(*graph));
  ASSERT_TRUE(model.ok()) << model.error().text();
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  auto out =
      model->session().run({{Value(Tensor::of<float>(Shape{4, 3}, x)), Value(Tensor::of<int64_t>(Shape{1}, {1}))}});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{2, 3}));
  EXPECT_EQ((*out)[0].tensor()->as<float>()[0], 3);
}

TEST(Scatter, TheLastOfTwoStays) {
  const Tensor x = f({4}, {0, 0, 0, 0});
  EXPECT_EQ(shown(run_op("scatter_elements", {x, i64({3}, {1, 1, -1}), f({3}, {5, 6, 7})})), "f32[4] 0 6 0 7");
  EXPECT_EQ(
      shown(run_op("scatter_elements", {x, i64({3}, {1, 1, -1}), f({3}, {5, 6, 7})}, {{"reduction", word("add")}})),
      "f32[4] 0 11 0 7");
  EXPECT_EQ(shown(run_op("scatter_elements", {x, i64({1}, {4}), f({1}, {5})})),
            "scatter_elements: index 4 is outside [-4, 4) of axis 0");
  EXPECT_EQ(shown(run_op("scatter_elements", {x, i64({2}, {4, -9}), f({2}, {5, 6})}, {{"outside", word("clamp")}})),
            "f32[4] 6 0 0 5");
  EXPECT_EQ(shown(run_op("scatter_elements", {x, i64({0}, {}), f({0}, {})})), "f32[4] 0 0 0 0");
}

TEST(Scatter, Numbers) {
  EXPECT_EQ(shown(run_op("scatter_elements", {i8({2}, {100, 100}), i64({2}, {0, 1}), i8({2}, {100, 3})},
                         {{"reduction", word("add")}})),
            "i8[2] -56 103");
  EXPECT_EQ(shown(run_op("scatter_elements", {f({3}, {1, kNan, 3}), i64({3}, {0, 1, 2}), f({3}, {kNan, 2, 4})},
                         {{"reduction", word("max")}})),
            "f32[3] nan nan 4");
  EXPECT_EQ(shown(run_op("scatter_elements", {f({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1, 2}, {2, 0}), f({1, 2}, {8, 9})},
                         {{"axis", int64_t{1}}})),
            "f32[2,3] 9 2 8 4 5 6");
}

TEST(Scatter, Slices) {
  const Tensor x = f({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(shown(run_op("scatter_nd", {x, i64({2, 1}, {-1, 0}), f({2, 2}, {5, 6, 7, 8})})), "f32[2,2] 7 8 5 6");
  EXPECT_EQ(shown(run_op("scatter_nd", {x, i64({2, 2}, {0, 1, 0, 1}), f({2}, {5, 6})}, {{"reduction", word("mul")}})),
            "f32[2,2] 1 60 3 4");
  EXPECT_EQ(shown(run_op("scatter_nd", {x, i64({1, 2}, {0, 2}), f({1}, {5})})),
            "scatter_nd: index 2 is outside [-2, 2) of axis 1");
  EXPECT_EQ(shown(run_op("scatter_nd", {x, i64({1, 3}, {0, 0, 0}), f({1}, {5})})),
            "scatter_nd: index names 3 axes; x has 2");
}

TEST(Scatter, Cache) {
  const Tensor cache = f({1, 3, 1}, {1, 2, 3}), fresh = f({1, 2, 1}, {8, 9});
  EXPECT_EQ(shown(run_op("tensor_scatter", {cache, fresh, i64({1}, {1})})), "f32[1,3,1] 1 8 9");
  EXPECT_EQ(shown(run_op("tensor_scatter", {cache, fresh, i64({1}, {2})}, {{"mode", word("circular")}})),
            "f32[1,3,1] 9 2 8");
  EXPECT_EQ(shown(run_op("tensor_scatter", {cache, fresh, i64({1}, {2})})),
            "tensor_scatter: 2 elements from 2 on do not fit into 3 of row 0");
}

TEST(Pick, RowsAndMasks) {
  const Tensor x = f({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(shown(run_op("gather_nd", {x, i64({2, 2}, {0, 1, -1, 0})})), "f32[2] 2 3");
  EXPECT_EQ(shown(run_op("gather_nd", {x, i64({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}})), "f32[2] 2 3");
  EXPECT_EQ(shown(run_op("compress", {x, u8({1}, {1}).reinterpreted(DType::boolean)}, {{"axis", int64_t{1}}})),
            "f32[2,1] 1 3");
  EXPECT_EQ(shown(run_op("compress", {x, u8({3}, {0, 1, 1}).reinterpreted(DType::boolean)})), "f32[2] 2 3");
  EXPECT_EQ(shown(run_op("trilu", {f({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})})), "f32[2,3] 0 2 3 0 0 6");
  EXPECT_EQ(shown(run_op("trilu", {f({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {-1})}, {{"upper", false}})),
            "f32[2,3] 0 0 0 4 0 0");
  EXPECT_EQ(shown(run_op("center_crop_pad", {f({5}, {1, 2, 3, 4, 5}), i64({1}, {2})})), "f32[2] 2 3");
  EXPECT_EQ(shown(run_op("center_crop_pad", {f({2}, {1, 2}), i64({1}, {5})})), "f32[5] 0 1 2 0 0");
  EXPECT_EQ(shown(run_op("one_hot", {i64({2}, {-1, 1}), i64({}, {2}), f({2}, {0, 1})}, {{"from_end", false}})),
            "f32[2,2] 0 0 0 1");
}

TEST(Order, TiesAndNan) {
  auto top = run_op("top_k", {f({5}, {2, kNan, 7, 7, 2}), i64({1}, {4})}, {}, 2);
  EXPECT_EQ(shown(top, 0), "f32[4] nan 7 7 2");
  EXPECT_EQ(shown(top, 1), "i64[4] 1 2 3 0");
  auto low = run_op("top_k", {f({5}, {2, kNan, 7, 7, 2}), i64({1}, {5})}, {{"largest", false}}, 2);
  EXPECT_EQ(shown(low, 1), "i64[5] 0 4 2 3 1");
  EXPECT_EQ(shown(run_op("top_k", {f({2, 0}, {}), i64({1}, {0})}, {}, 2), 1), "i64[2,0]");
  EXPECT_EQ(shown(run_op("top_k", {f({2}, {1, 2}), i64({1}, {3})}, {}, 2)), "top_k: k is 3; axis 0 has 2 elements");
}

/// Many numbers with ties and NaN against a stable sort.
template <class T>
void expect_order(const std::vector<T>& x) {
  const auto n = static_cast<int64_t>(x.size());
  const auto below = [](T a, T b) { return a < b || (b != b && a == a); };
  const auto listed = [](Shape s, const std::vector<int64_t>& v) { return shown(std::vector<Tensor>{i64(s, v)}); };
  std::vector<int64_t> up(x.size());
  std::iota(up.begin(), up.end(), int64_t{0});
  std::vector<int64_t> down = up;
  const auto at = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
  std::stable_sort(up.begin(), up.end(), [&](int64_t p, int64_t q) { return below(at(p), at(q)); });
  std::stable_sort(down.begin(), down.end(), [&](int64_t p, int64_t q) { return below(at(q), at(p)); });
  for (int64_t k : {int64_t{1}, int64_t{5}, int64_t{16}, int64_t{17}, int64_t{100}, n})
    for (bool largest : {false, true}) {
      const auto& order = largest ? down : up;
      const auto picked = run_op("top_k", {Tensor::of(Shape{n}, x), i64({1}, {k})}, {{"largest", largest}}, 2);
      EXPECT_EQ(shown(picked, 1), listed({k}, {order.begin(), order.begin() + k}));
    }
  std::vector<int64_t> first, zero_free;
  for (size_t i = 0; i < up.size(); ++i)
    if (i == 0 || below(at(up[i - 1]), at(up[i]))) first.push_back(up[i]);
  const auto count = static_cast<int64_t>(first.size());
  EXPECT_EQ(shown(run_op("unique", {Tensor::of(Shape{n}, x)}, {}, 4), 1), listed({count}, first));
  for (int64_t axis = 0; axis < 3; ++axis)
    for (int64_t i = 0; i < n; ++i)
      if (at(i) != T{}) zero_free.push_back(axis == 0 ? i / 50 : axis == 1 ? i / 10 % 5 : i % 10);
  const auto left = static_cast<int64_t>(zero_free.size()) / 3;
  EXPECT_EQ(shown(run_op("non_zero", {Tensor::of(Shape{n / 50, 5, 10}, x)})), listed({3, left}, zero_free));
}

TEST(Order, ManyNumbers) {
  std::vector<int64_t> whole;
  std::vector<uint64_t> natural;
  std::vector<float> real;
  for (uint32_t i = 0, n = 1; i < 2000; ++i) {
    n = n * 1664525 + 1013904223;
    whole.push_back(static_cast<int64_t>(n >> 26) - 20);
    natural.push_back(uint64_t{n >> 26} << 58 | n >> 31);
    real.push_back(n >> 28 == 3 ? kNan : n >> 28 == 4 ? -0.0F : static_cast<float>(n >> 26) - 20);
  }
  expect_order(whole);
  expect_order(natural);
  expect_order(real);
  expect_order(std::vector<double>(real.begin(), real.end()));
  std::sort(whole.begin(), whole.end());  // each is taken, and drops another
  expect_order(whole);
}

/// The first of columns are those of the transpose's rows.
TEST(Order, FirstOfColumns) {
  for (int64_t columns : {2, 16, 37}) {
    constexpr int64_t kRows = 9, kFirst = 3;
    std::vector<float> x(static_cast<size_t>(2 * kRows * columns)), turned = x;
    uint32_t n = 1;
    for (float& v : x) v = static_cast<float>((n = n * 1664525 + 1013904223) >> 28);
    const auto at = [](int64_t i) { return static_cast<size_t>(i); };
    for (int64_t o = 0; o < 2; ++o)
      for (int64_t r = 0; r < kRows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          turned[at((o * columns + c) * kRows + r)] = x[at((o * kRows + r) * columns + c)];
    const auto by_columns = run_op("top_k", {f({2, kRows, columns}, x), i64({1}, {kFirst})}, {{"axis", int64_t{1}}}, 2);
    const auto by_rows =
        run_op("top_k", {f({2, columns, kRows}, turned), i64({1}, {kFirst})}, {{"axis", int64_t{2}}}, 2);
    ASSERT_TRUE(by_columns.ok() && by_rows.ok());
    for (int64_t o = 0; o < 2; ++o)
      for (int64_t r = 0; r < kFirst; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          const size_t from = at((o * columns + c) * kFirst + r), to = at((o * kFirst + r) * columns + c);
          EXPECT_EQ((*by_columns)[0].as<float>()[to], (*by_rows)[0].as<float>()[from]);
          EXPECT_EQ((*by_columns)[1].as<int64_t>()[to], (*by_rows)[1].as<int64_t>()[from]);
        }
  }
}

TEST(Order, Distinct) {
  auto all = run_op("unique", {f({5}, {3, kNan, 1, kNan, 3})}, {}, 4);
  EXPECT_EQ(shown(all, 0), "f32[3] 1 3 nan");
  EXPECT_EQ(shown(all, 1), "i64[3] 2 0 1");
  EXPECT_EQ(shown(all, 2), "i64[5] 1 2 0 2 1");
  EXPECT_EQ(shown(all, 3), "i64[3] 1 2 2");
  auto rows = run_op("unique", {f({3, 2}, {5, 1, 2, 9, 5, 1})}, {{"axis", int64_t{0}}, {"sorted", false}}, 4);
  EXPECT_EQ(shown(rows, 0), "f32[2,2] 5 1 2 9");
  EXPECT_EQ(shown(rows, 2), "i64[3] 0 1 0");
  EXPECT_EQ(shown(run_op("unique", {f({0}, {})}, {}, 4), 3), "i64[0]");
  EXPECT_EQ(shown(run_op("non_zero", {f({2, 2}, {0, 5, -0.f, kNan})})), "i64[2,2] 0 1 1 1");
  EXPECT_EQ(shown(run_op("non_zero", {f({}, {5})})), "i64[1,1] 0");
}

TEST(Suppress, Boundaries) {
  // Boxes 0 and 1 share a third of what both cover; box 2 is box 0 with its corners turned; box 3 has no area.
  const Tensor boxes = f({1, 4, 4}, {0, 0, 2, 2, 0, 1, 2, 3, 2, 2, 0, 0, 1, 1, 1, 5});
  const Tensor scores = f({1, 1, 4}, {0.5f, 0.9f, 0.5f, 0.1f});
  auto run = [&](float iou, float score, int64_t max) {
    return shown(run_op("non_max_suppression", {boxes, scores, i64({}, {max}), f({}, {iou}), f({}, {score})}));
  };
  EXPECT_EQ(run(0.4f, 0.0f, 9), "i64[3,3] 0 0 1 0 0 0 0 0 3");
  EXPECT_EQ(run(0.3f, 0.0f, 9), "i64[2,3] 0 0 1 0 0 3");
  EXPECT_EQ(run(1.0f, 0.0f, 9), "i64[4,3] 0 0 1 0 0 0 0 0 2 0 0 3");
  EXPECT_EQ(run(1.0f, 0.5f, 9), "i64[1,3] 0 0 1");
  EXPECT_EQ(run(0.4f, 0.0f, 1), "i64[1,3] 0 0 1");
  EXPECT_EQ(run(0.4f, 0.0f, 0), "i64[0,3]");
}

/// A pool over the last axis of [1, 1, n].
std::string pooled(const char* op, std::vector<float> x, int64_t size, Pairs padding, AttrMap more, size_t output = 0) {
  AttrMap attrs = {{"size", Ints{1, 1, size}}, {"padding", Pairs{{0, 0}, {0, 0}, padding.at(0)}}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  const auto n = static_cast<int64_t>(x.size());
  return shown(run_op(op, {f({1, 1, n}, x)}, attrs, output + 1), output);
}

TEST(Pool, Borders) {
  const std::vector<float> x = {-1, -2, -3};
  auto sum = [&](const char* border) { return pooled("box", x, 3, {{2, 2}}, {{"border", word(border)}}); };
  EXPECT_EQ(sum("constant"), "f32[1,1,5] -1 -3 -6 -5 -3");
  EXPECT_EQ(sum("ignore"), "f32[1,1,5] -1 -3 -6 -5 -3");
  EXPECT_EQ(sum("replicate"), "f32[1,1,5] -3 -4 -6 -8 -9");
  EXPECT_EQ(sum("reflect"), "f32[1,1,5] -6 -5 -6 -7 -6");       // -3 -2 [-1 -2 -3] -2 -1
  EXPECT_EQ(sum("reflect_even"), "f32[1,1,5] -4 -4 -6 -8 -8");  // -2 -1 [-1 -2 -3] -3 -2
  auto max = [&](const char* border, size_t output) {
    return pooled("max_pool", x, 3, {{1, 1}}, {{"border", word(border)}}, output);
  };
  EXPECT_EQ(max("constant", 0), "f32[1,1,3] 0 -1 0");
  EXPECT_EQ(max("constant", 1), "i64[1,1,3] 0 0 2");
  EXPECT_EQ(max("ignore", 0), "f32[1,1,3] -1 -1 -2");
  EXPECT_EQ(max("ignore", 1), "i64[1,1,3] 1 0 0");
  EXPECT_EQ(pooled("max_pool", {1, kNan, 3}, 2, {{0, 0}}, {}), "f32[1,1,2] nan nan");
  EXPECT_EQ(pooled("max_pool", {5}, 1, {{1, 1}}, {{"border", word("ignore")}}, 1), "i64[1,1,3] -1 0 -1");
}

TEST(Pool, Divisors) {
  auto mean = [](const char* divisor, const char* border) {
    return pooled("box", {2, 4, 6}, 2, {{1, 0}},
                  {{"divisor", word(divisor)}, {"border", word(border)}, {"stride", Ints{1, 1, 2}}, {"ceil", true}});
  };
  EXPECT_EQ(mean("window", "constant"), "f32[1,1,2] 1 5");
  EXPECT_EQ(mean("window", "ignore"), "f32[1,1,2] 2 5");
  EXPECT_EQ(mean("inside", "ignore"), "f32[1,1,2] 2 5");
  auto over = [](const char* divisor) {  // the last window reaches past the input
    return pooled("box", {2, 4, 6}, 2, {{0, 0}},
                  {{"divisor", word(divisor)}, {"border", word("ignore")}, {"stride", Ints{1, 1, 2}}, {"ceil", true}});
  };
  EXPECT_EQ(over("padded"), "f32[1,1,2] 3 6");
  EXPECT_EQ(over("one"), "f32[1,1,2] 6 6");
  EXPECT_EQ(pooled("lp_pool", {3, -4, 0}, 2, {{0, 0}}, {}), "f32[1,1,2] 5 4");
  EXPECT_EQ(pooled("lp_pool", {3, -4, 0}, 2, {{0, 0}}, {{"p", 1.0}}), "f32[1,1,2] 7 4");
}

TEST(Pool, IndicesAndTheWayBack) {
  const Tensor x = f({1, 1, 2, 3}, {1, 9, 2, 3, 4, 8});
  const AttrMap whole = {{"size", Ints{1, 1, 2, 2}}, {"border", word("ignore")}};
  auto indices = [&](const char* as) {
    AttrMap attrs = whole;
    attrs.emplace_back("index_as", word(as));
    return shown(run_op("max_pool", {x}, attrs, 2), 1);
  };
  EXPECT_EQ(indices("window"), "i64[1,1,1,2] 1 0");
  EXPECT_EQ(indices("tensor"), "i64[1,1,1,2] 1 1");
  EXPECT_EQ(indices("tensor_column_major"), "i64[1,1,1,2] 2 2");
  const AttrMap apart = {{"size", Ints{1, 1, 2}}, {"stride", Ints{1, 1, 2}}, {"index_as", word("tensor")}};
  const Tensor two = f({1, 1, 2}, {5, 6});
  EXPECT_EQ(shown(run_op("desample", {two, i64({1, 1, 2}, {1, 2})}, apart)), "f32[1,1,4] 0 5 6 0");
  EXPECT_EQ(shown(run_op("desample", {two, i64({1, 1, 2}, {1, 1})}, apart)), "f32[1,1,4] 0 11 0 0");
  EXPECT_EQ(shown(run_op("desample", {two, i64({1, 1, 2}, {1, 4})}, apart)),
            "desample: index 4 is outside [0, 4) at element 1");
  EXPECT_EQ(shown(run_op("desample", {two, i64({1, 1, 2}, {1, 2}), i64({3}, {1, 1, 6})}, apart)),
            "f32[1,1,6] 0 5 6 0 0 0");
  EXPECT_EQ(shown(run_op("sample", {f({1, 1, 4}, {1, 2, 3, 4}), i64({1, 1, 2}, {1, 0})},
                         {{"size", Ints{1, 1, 2}}, {"stride", Ints{1, 1, 2}}})),
            "f32[1,1,2] 2 3");
  EXPECT_EQ(shown(run_op("debox", {two}, {{"size", Ints{1, 1, 3}}, {"stride", Ints{1, 1, 2}}})),
            "f32[1,1,5] 5 5 11 6 6");
}

TEST(Pool, Columns) {
  const std::vector<float> ones(8, 1);  // 2 x 2 blocks of a 2 x 3 image: the middle column lies in both
  EXPECT_EQ(shown(run_op("col2im", {f({1, 4, 2}, ones), i64({2}, {2, 3}), i64({2}, {2, 2})})),
            "f32[1,1,2,3] 1 2 1 1 2 1");
  EXPECT_EQ(shown(run_op("col2im", {f({1, 4, 2}, ones), i64({2}, {2, 4}), i64({2}, {2, 2})})),
            "col2im: blocks of x: found 2, needed 3");
  EXPECT_EQ(shown(run_op("col2im", {f({1, 3, 2}, {1, 1, 1, 1, 1, 1}), i64({2}, {2, 3}), i64({2}, {2, 2})})),
            "col2im: x has 3 rows; needed a multiple of 4, the elements of a block");
}

TEST(Regions, Corners) {
  const Tensor x = f({1, 1, 2, 2}, {1, 2, 3, 4}), all = f({1, 4}, {0, 0, 2, 2}), image = i64({1}, {0});
  const AttrValue one = Ints{1, 1}, two = Ints{2, 2};
  EXPECT_EQ(shown(run_op("max_roi_pool", {x, all, image}, {{"output_size", two}})), "f32[1,1,2,2] 1 2 3 4");
  EXPECT_EQ(shown(run_op("avg_roi_pool", {x, all, image}, {{"output_size", one}})), "f32[1,1,1,1] 2.5");
  EXPECT_EQ(shown(run_op("max_roi_pool", {x, f({1, 4}, {5, 5, 9, 9}), image}, {{"output_size", one}})),
            "f32[1,1,1,1] 0");
  EXPECT_EQ(shown(run_op("max_roi_pool", {x, all, i64({1}, {1})}, {{"output_size", one}})),
            "max_roi_pool: batch index 1 of region 0 is outside [0, 1)");
  EXPECT_EQ(shown(run_op("roi_resample", {x, all, image}, {{"output_size", one}})), "f32[1,1,1,1] 2.5");
  EXPECT_EQ(shown(run_op("avg_roi_align", {x, all, image}, {{"output_size", one}, {"sampling", two}})),
            "f32[1,1,1,1] 2.5");
  EXPECT_EQ(shown(run_op("max_roi_align", {x, all, image}, {{"output_size", one}, {"sampling", two}})),
            "f32[1,1,1,1] 4");
  EXPECT_EQ(shown(run_op("roi_align", {x, all, image}, {{"sampling", int64_t{2}}})), "f32[1,1,1,1] 2.5");
}

/// Ports that only a run knows: the kernels check what the rules could not.
TEST(Pick, ComputedPorts) {
  auto hidden = [](const char* op, const std::vector<Tensor>& in, AttrMap attrs = {}) {
    return shown(run_op(op, in, attrs, 1, true));
  };
  const Tensor x = f({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(hidden("slice", {x, i64({1}, {1}), i64({1}, {2})}), "f32[1,2] 3 4");
  EXPECT_EQ(hidden("slice", {x, i64({1}, {1}), i64({2}, {2, 2})}),
            "slice: begin, end and stride must name 1 axes each");
  EXPECT_EQ(hidden("slice", {x, i64({1}, {0}), i64({1}, {1}), i64({1}, {2})}), "slice: axis 2 is outside [-2, 2)");
  EXPECT_EQ(hidden("slice", {x, i64({2}, {0, 0}), i64({2}, {1, 1}), i64({2}, {1, -1})}),
            "slice: axis 1 is named twice");
  EXPECT_EQ(hidden("pad", {x, i64({4}, {0, 1, 0, 0})}), "f32[2,3] 0 1 2 0 3 4");
  EXPECT_EQ(hidden("pad", {x, i64({3}, {0, 1, 0})}), "pad: padding has 3 numbers; 2 axes need 4");
  EXPECT_EQ(hidden("pad", {x, i64({2}, {-2, -1}), absent(), i64({1}, {0})}),
            "pad: padding (-2, -1) of axis 0 with 2 elements leaves nothing");
  EXPECT_EQ(hidden("trilu", {x, i64({}, {INT64_MIN})}), "f32[2,2] 1 2 3 4");
  EXPECT_EQ(hidden("center_crop_pad", {x, i64({2}, {1, -1})}), "center_crop_pad: shape has extent -1");
  EXPECT_EQ(hidden("col2im", {f({1, 4, 1}, {1, 2, 3, 4}), i64({2}, {2, 2}), i64({2}, {2, 2})}), "f32[1,1,2,2] 1 2 3 4");
  EXPECT_EQ(hidden("col2im", {f({1, 4, 1}, {1, 2, 3, 4}), i64({2}, {2, 2}), i64({2}, {2, 0})}),
            "col2im: window size 0, stride 1 and dilation 1 must be at least 1");
  EXPECT_EQ(shown(run_op("top_k", {x, i64({1}, {3})}, {}, 2, true)), "top_k: k is 3; axis 1 has 2 elements");
  EXPECT_EQ(shown(run_op("top_k", {x, i64({1}, {1})}, {}, 2, true)), "f32[2,1] 2 4");
}

/// The element at the place a pool names is the one it found, under every border, stride and dilation.
TEST(Pool, SamplesAreTheMaxima) {
  uint32_t seed = 7;
  auto random = [&](int64_t n) { return static_cast<int64_t>((seed = seed * 1664525u + 1013904223u) >> 16) % n; };
  const char* borders[] = {"constant", "replicate", "reflect", "reflect_even"};
  int ran = 0;
  for (int i = 0; i < 400; ++i) {
    const Shape s{1 + random(2), 1 + random(3), 1 + random(6), 1 + random(6)};
    AttrMap attrs;
    Ints size, stride, dilation;
    Pairs padding;
    for (int axis = 0; axis < 4; ++axis) {
      size.push_back(1 + random(3)), stride.push_back(1 + random(3)), dilation.push_back(1 + random(2));
      padding.emplace_back(random(4) - 1, random(4) - 1);
    }
    std::vector<float> x(static_cast<size_t>(s.count()));
    for (float& v : x) v = static_cast<float>(random(9)) - 6;
    attrs = {{"size", size}, {"stride", stride}, {"dilation", dilation}, {"padding", padding}};
    attrs.emplace_back("border", word(borders[random(4)]));
    attrs.emplace_back("index_as", word("window"));
    if (i % 5 == 0) attrs.emplace_back("auto_pad", word(random(2) ? "same_upper" : "same_lower"));
    auto pooled = run_op("max_pool", {f(s, x)}, attrs, 2);
    if (!pooled.ok()) continue;  // a window longer than the padded input
    ++ran;
    EXPECT_EQ(shown(run_op("sample", {f(s, x), (*pooled)[1]}, attrs)), shown(pooled)) << i;
  }
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace nnex
