// Product nodes by their kernels against the operators' reference kernels: weights that are constants and weights that
// are fed give the same bytes, on one thread and on two.

#include <cstring>

#include "node_run.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using test::Bound;
using test::Dice;
using test::expect_same;
using test::NodeCase;
using test::run_node;

constexpr Bound kFloatBound = {1e-5, 1e-4};  // sums of at most 300 products of numbers of size 2

void expect_equal_bytes(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.bytes(), b.bytes());
  EXPECT_TRUE(a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

/// By the kernel with every input fed; then with input 1 a constant, and on two threads: the same bytes.
void expect_everywhere(NodeCase c, std::string_view kernel, const Bound& bound) {
  expect_same(c, kernel, bound);
  const auto fed = run_node(c), shared = run_node(c, 2);
  ASSERT_TRUE(fed.ok() && shared.ok()) << (fed.ok() ? "" : fed.error().text());
  expect_equal_bytes(fed->out[0], shared->out[0]);
  c.constant = {1};
  const auto packed = run_node(c);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->kernel, kernel);
  expect_equal_bytes(fed->out[0], packed->out[0]);
}

TEST(ProductKernels, LinearWithEveryAddend) {
  Dice dice(1);
  for (int i = 0; i < 60; ++i) {
    const int64_t m = i % 5 == 0 ? 1 : dice.roll(1, 40), n = dice.extent(), k = dice.roll(1, 70);
    const bool ta = i & 1, tb = i & 2;
    const AttrMap attrs = {
        {"transposeA", ta}, {"transposeB", tb}, {"alpha", i % 3 ? 1.0 : 0.5}, {"beta", i % 4 ? 1.0 : 0.25}};
    NodeCase c = {
        "linear", {dice.floats(ta ? Shape{k, m} : Shape{m, k}), dice.floats(tb ? Shape{n, k} : Shape{k, n})}, attrs};
    const Shape addends[] = {{n}, {1, n}, {m, n}, {m, 1}, {1}, {1, 1}, {}};
    if (i % 8) c.inputs.push_back(dice.floats(addends[i % 8 - 1]));
    expect_everywhere(c, "gemm_f32", kFloatBound);
  }
}

TEST(ProductKernels, MatricesThatMeet) {
  Dice dice(2);
  const struct {
    Shape x, w;
  } rows[] = {{{5}, {5, 7}},
              {{4, 5}, {5}},
              {{5}, {5}},
              {{3, 4, 5}, {5, 7}},
              {{3, 4, 5}, {3, 5, 7}},
              {{3, 4, 5}, {1, 5, 7}},
              {{1, 4, 5}, {3, 5, 7}},
              {{2, 3, 4, 5}, {3, 5, 33}},
              {{3, 4, 5}, {2, 1, 5, 16}},
              {{2, 1, 1, 70}, {3, 70, 32}},
              {{2, 3, 40, 17}, {2, 3, 17, 40}},
              {{5}, {6, 5, 16}},
              {{2, 9, 5}, {5}},
              {{64, 2, 3}, {64, 3, 4}},
              {{7, 1, 4, 5}, {1, 6, 5, 8}}};
  for (const auto& row : rows)
    expect_everywhere({"matmul", {dice.floats(row.x), dice.floats(row.w)}}, "gemm_f32", kFloatBound);
  for (int bits = 1; bits < 4; ++bits) {
    const AttrMap attrs = {{"transposeA", (bits & 1) != 0}, {"transposeB", (bits & 2) != 0}};
    for (int64_t m : {1, 6}) {
      const Shape x = bits & 1 ? Shape{2, 13, m} : Shape{2, m, 13}, w = bits & 2 ? Shape{37, 13} : Shape{13, 37};
      expect_everywhere({"matmul", {dice.floats(x), dice.floats(w)}, attrs}, "gemm_f32", kFloatBound);
      const Shape many = bits & 2 ? Shape{3, 1, 37, 13} : Shape{3, 1, 13, 37};
      expect_everywhere({"matmul", {dice.floats(x), dice.floats(many)}, attrs}, "gemm_f32", kFloatBound);
    }
  }
}

TEST(ProductKernels, WholeNumbers) {
  Dice dice(32);
  const int64_t wide = int64_t{1} << 62;
  for (int i = 0; i < 40; ++i) {
    const int64_t m = i % 5 == 0 ? 1 : dice.roll(1, 60), n = dice.extent(), k = dice.roll(1, 70);
    const bool ta = i & 1, tb = i & 2;
    const AttrMap attrs = {{"transposeA", ta}, {"transposeB", tb}};
    const Shape a = ta ? Shape{2, k, m} : Shape{2, m, k}, b = tb ? Shape{n, k} : Shape{k, n};
    expect_everywhere({"matmul", {dice.bytes(DType::i32, a), dice.bytes(DType::i32, b)}, attrs}, "product_typed", {});
    expect_everywhere({"matmul", {dice.ints<int64_t>(a, -wide, wide), dice.ints<int64_t>(b, -wide, wide)}, attrs},
                      "product_typed", {});
    const NodeCase linear = {"linear",
                             {dice.ints<int64_t>({m, k}, -wide, wide), dice.ints<int64_t>({n, k}, -wide, wide),
                              dice.ints<int64_t>({n}, -wide, wide)}};
    expect_everywhere(linear, "product_typed", {});
  }
}

TEST(ProductKernels, Doubles) {
  Dice dice(31);
  const Bound bound = {1e-12, 1e-12};
  const auto doubles = [&](const Shape& s) { return *convert(dice.floats(s), DType::f64); };
  for (int i = 0; i < 60; ++i) {
    const int64_t m = i % 5 == 0 ? 1 : dice.roll(1, 60), n = dice.extent(), k = dice.roll(1, 70);
    const bool ta = i & 1, tb = i & 2;
    const AttrMap attrs = {{"transposeA", ta}, {"transposeB", tb}};
    NodeCase c = {"linear", {doubles(ta ? Shape{k, m} : Shape{m, k}), doubles(tb ? Shape{n, k} : Shape{k, n})}, attrs};
    if (i % 3) c.inputs.push_back(doubles(i % 3 == 1 ? Shape{n} : Shape{m, 1}));
    expect_everywhere(c, "product_typed", bound);
  }
  for (bool transposed : {false, true}) {
    const AttrMap attrs = {{"transposeB", transposed}};
    const Shape w = transposed ? Shape{1, 3, 19, 11} : Shape{1, 3, 11, 19};
    expect_everywhere({"matmul", {doubles({2, 3, 13, 11}), doubles(w)}, attrs}, "product_typed", bound);
    const Tensor b = doubles(transposed ? Shape{33, 50} : Shape{50, 33}), x = doubles({9, 50});
    const auto all = run_node({"matmul", {x, b}, attrs});
    ASSERT_TRUE(all.ok());
    for (int64_t row = 0; row < 9; ++row) {  // the same bytes alone
      const auto part = x.as<double>().subspan(static_cast<size_t>(row * 50), 50);
      const auto one =
          run_node({"matmul", {Tensor::of({1, 50}, std::vector<double>(part.begin(), part.end())), b}, attrs});
      ASSERT_TRUE(one.ok());
      EXPECT_EQ(std::memcmp(one->out[0].data(), all->out[0].data() + row * 33 * 8, 33 * 8), 0);
    }
  }
  expect_same({"linear", {doubles({2, 3}), doubles({3, 2})}, {{"alpha", 2.0}}}, "reference");
}

/// A row gives the same bytes by itself and among others, however its product is arranged.
TEST(ProductKernels, RowsAlone) {
  Dice dice(3);
  for (bool transposed : {false, true}) {
    const AttrMap attrs = {{"transposeB", transposed}};
    const Tensor x = dice.floats({9, 50}), w = dice.floats(transposed ? Shape{33, 50} : Shape{50, 33}),
                 b = dice.floats({33});
    const auto all = run_node({"linear", {x, w, b}, attrs});
    ASSERT_TRUE(all.ok());
    for (int64_t i = 0; i < 9; ++i) {
      const auto row = x.as<float>().subspan(static_cast<size_t>(i * 50), 50);
      const auto one =
          run_node({"linear", {Tensor::of({1, 50}, std::vector<float>(row.begin(), row.end())), w, b}, attrs});
      ASSERT_TRUE(one.ok());
      EXPECT_EQ(std::memcmp(one->out[0].data(), all->out[0].data() + i * 33 * 4, 33 * 4), 0);
    }
  }
}

/// A column gives the same bytes by itself and beside another.
TEST(ProductKernels, OneColumn) {
  Dice dice(7);
  for (int64_t rows : {1, 7, 16, 33, 200}) {
    const Tensor x = dice.floats({3, rows, 50}), pair = dice.floats({3, 50, 2});
    std::vector<float> first;
    for (size_t i = 0; i < 150; ++i) first.push_back(pair.as<float>()[2 * i]);
    const Tensor column = Tensor::of({3, 50, 1}, first);
    expect_everywhere({"matmul", {x, column}}, "gemm_f32", {1e-5, 2e-3});
    const auto both = run_node({"matmul", {x, pair}}), one = run_node({"matmul", {x, column}}, 2);
    ASSERT_TRUE(both.ok() && one.ok());
    for (size_t i = 0; i < static_cast<size_t>(3 * rows); ++i)
      EXPECT_EQ(one->out[0].as<float>()[i], both->out[0].as<float>()[2 * i]);
  }
}

TEST(ProductKernels, FedFilters) {
  Dice dice(4);
  const struct {
    Shape x, w;
    int64_t groups;
  } rows[] = {{{2, 6, 9}, {5, 6, 3}, 1},
              {{1, 3, 12, 11}, {8, 3, 3, 3}, 1},
              {{2, 8, 7, 9}, {8, 1, 3, 3}, 8},
              {{1, 33, 5, 6}, {40, 33, 1, 1}, 1},
              {{1, 12, 8, 8}, {18, 4, 2, 3}, 3},
              {{1, 16, 18, 18}, {32, 16, 3, 3}, 1},
              {{1, 64, 16, 16}, {64, 64, 3, 3}, 1},
              {{2, 20, 12, 17}, {33, 20, 1, 1}, 1},
              {{2, 48, 12, 17}, {60, 16, 1, 1}, 3},
              {{2, 32, 12, 13}, {16, 16, 1, 1}, 2},
              {{1, 2, 4, 5, 6}, {3, 2, 2, 2, 2}, 1}};
  for (const auto& row : rows) {
    const AttrMap attrs = {{"groups", row.groups}};
    expect_everywhere({"conv", {dice.floats(row.x), dice.floats(row.w), dice.floats({row.w[0]})}, attrs}, "conv_f32",
                      {1e-5, 2e-3});
    std::vector<int64_t> w(row.w.begin(), row.w.end());
    w[0] = row.x[1], w[1] = 6;
    expect_everywhere({"deconv", {dice.floats(row.x), dice.floats(Shape(w))}, attrs}, "deconv_f32", {1e-5, 2e-3});
  }
}

/// To few channels: every stride, padding and dilation, several bands of lines, either layout.
TEST(ProductKernels, DeconvolutionsToFewChannels) {
  Dice dice(6);
  const struct {
    Shape x, w;
    AttrMap attrs;
  } rows[] = {{{2, 6, 9}, {6, 1, 3}, {}},
              {{1, 16, 12, 11}, {16, 1, 4, 4}, {{"stride", Ints{2, 2}}, {"padding", Pairs{{1, 1}, {1, 1}}}}},
              {{2, 5, 7, 9}, {5, 3, 3, 2}, {{"stride", Ints{3, 1}}, {"dilation", Ints{1, 3}}}},
              {{1, 4, 40, 70}, {4, 4, 5, 3}, {{"stride", Ints{2, 3}}, {"padding", Pairs{{2, 1}, {0, 2}}}}},
              {{1, 64, 33, 50}, {64, 2, 16, 16}, {{"stride", Ints{8, 8}}, {"padding", Pairs{{4, 4}, {4, 4}}}}},
              {{1, 3, 5, 6}, {3, 2, 1, 1}, {{"stride", Ints{3, 4}}}},
              {{1, 16, 106, 106}, {16, 1, 4, 4}, {{"stride", Ints{2, 2}}}},  // the last band is packed, others are not
              {{1, 1, 6, 6}, {1, 2, 3, 3}, {{"dilation", Ints{4, 2}}, {"stride", Ints{2, 2}}}}};
  for (const auto& row : rows) {
    const Tensor x = dice.floats(row.x), w = dice.floats(row.w), bias = dice.floats({row.w[1]});
    for (bool last : {false, true}) {
      AttrMap attrs = row.attrs;
      Tensor given = x;
      if (last) {
        attrs.push_back({"channels_last", true});
        Ints axes = {0};
        for (int64_t i = 2; i < row.x.rank(); ++i) axes.push_back(i);
        axes.push_back(1);
        given = std::move(test::run_op("transpose", {x}, {{"axes", axes}})).value()[0];
      }
      expect_everywhere({"deconv", {given, w, bias}, attrs}, "deconv_few_f32", {1e-5, 2e-3});
      expect_everywhere({"deconv", {given, w, bias}, attrs, {1, 2}}, "deconv_few_f32", {1e-5, 2e-3});
    }
  }
}

/// One tap on every pixel gives the same bytes in both layouts, by any number of threads.
TEST(ProductKernels, PointwiseFiltersInBothLayouts) {
  Dice dice(5);
  for (const Shape& s : {Shape{2, 20, 12, 17}, Shape{1, 3, 128}, Shape{3, 70, 9, 4, 5}}) {
    const Tensor x = dice.floats(s), bias = dice.floats({33});
    std::vector<int64_t> ones(static_cast<size_t>(s.rank()), 1);
    ones[0] = 33, ones[1] = s[1];
    const Tensor w = dice.floats(Shape(ones));
    Ints to_last = {0}, to_first = {0, s.rank() - 1};
    for (int64_t i = 2; i < s.rank(); ++i) to_last.push_back(i), to_first.push_back(i - 1);
    to_last.push_back(1);
    const auto turned = [](const Tensor& t, const Ints& axes) {
      return std::move(test::run_op("transpose", {t}, {{"axes", axes}})).value()[0];
    };
    auto last = run_node({"conv", {turned(x, to_last), w, bias}, {{"channels_last", true}}, {1, 2}});
    ASSERT_TRUE(last.ok());
    const Tensor wanted = turned(last->out[0], to_first);
    for (int threads : {1, 2}) {
      const auto first = run_node({"conv", {x, w, bias}, {}, {1, 2}}, threads);
      ASSERT_TRUE(first.ok());
      EXPECT_EQ(first->kernel, "conv_f32");
      ASSERT_EQ(first->out[0].bytes(), wanted.bytes());
      EXPECT_EQ(std::memcmp(first->out[0].data(), wanted.data(), static_cast<size_t>(wanted.bytes())), 0);
    }
  }
}

// ---- Halves

/// float16 and bfloat16: the float32 kernel's result rounded once, and near the reference.
TEST(ProductKernels, HalvesAreRoundedOnce) {
  Dice dice(7);
  const auto f = [&](const std::vector<int64_t>& s) { return dice.floats(Shape(s), -1, 1); };
  const NodeCase cases[] = {
      {"matmul", {f({9, 50}), f({50, 33})}},
      {"matmul", {f({2, 3, 17, 20}), f({3, 20, 16})}},
      {"linear", {f({20, 30}), f({33, 30}), f({33})}, {{"transposeB", true}, {"beta", 0.5}}},
      {"linear", {f({1, 30}), f({33, 30}), f({1})}, {{"transposeB", true}}},
      {"conv", {f({2, 8, 12, 12}), f({16, 8, 3, 3}), f({16})}},
      {"conv", {f({1, 8, 12, 12}), f({8, 1, 3, 3})}, {{"groups", int64_t{8}}}},
      {"deconv", {f({1, 8, 7, 6}), f({8, 5, 2, 2}), f({5})}, {{"stride", Ints{2, 2}}}},
      {"einsum", {f({2, 17, 3, 8}), f({2, 9, 3, 8})}, {{"equation", std::string("bqhd,bkhd->bhqk")}}},
      {"attention", {f({2, 3, 5, 16}), f({2, 3, 9, 16}), f({2, 3, 9, 16})}},
      {"rnn", {f({3, 2, 9}), f({1, 20, 9}), f({1, 20, 20})}, {}, {1, 2}, 2},
      {"tanh", {f({7})}},
      {"tanh", {f({3, 9001})}},  // blocks, and a rest
      {"tanh", {f({8192})}},
      {"add", {f({2, 8192}), f({2, 8192})}},
      {"add", {f({9000}), f({})}},
      {"mul", {f({1, 1}), f({100, 100})}},
      {"add", {f({2, 3, 50, 60}), f({3, 1, 1})}},
      {"softmax", {f({20, 30})}, {{"axes", Ints{1}}}},
      {"max_pool", {f({1, 3, 12, 12})}, {{"size", Ints{1, 1, 3, 3}}, {"stride", Ints{1, 1, 2, 2}}}},
  };
  for (const NodeCase& one : cases)
    for (DType half : {DType::f16, DType::bf16}) {
      SCOPED_TRACE(one.op + " " + std::string(name(half)));
      NodeCase c = one, wide = one;
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        c.inputs[i] = convert(one.inputs[i], half).value();
        wide.inputs[i] = convert(c.inputs[i], DType::f32).value();
      }
      const double unit = half == DType::f16 ? 0x1p-10 : 0x1p-7;
      expect_same(c, "widened", {unit, unit / 8});
      for (bool constant : {false, true}) {
        if (constant) c.constant = wide.constant = {1, 2};
        if (c.inputs.size() == 2) c.constant.resize(std::min<size_t>(c.constant.size(), 1)), wide.constant = c.constant;
        const auto got = run_node(c), shared = run_node(c, 2), wanted = run_node(wide);
        ASSERT_TRUE(got.ok() && shared.ok() && wanted.ok());
        for (size_t o = 0; o < c.outputs; ++o) {
          expect_equal_bytes(got->out[o], convert(wanted->out[o], half).value());
          expect_equal_bytes(got->out[o], shared->out[o]);
        }
      }
    }
}

// ---- Einsum

void expect_einsum(std::string_view equation, std::vector<Tensor> x) {
  SCOPED_TRACE(std::string(equation));
  const NodeCase c = {"einsum", std::move(x), {{"equation", std::string(equation)}}};
  expect_same(c, "einsum_f32", kFloatBound);
  const auto alone = run_node(c), shared = run_node(c, 2);
  ASSERT_TRUE(alone.ok() && shared.ok());
  expect_equal_bytes(alone->out[0], shared->out[0]);
}

TEST(ProductKernels, EquationsOfModels) {
  Dice dice(5);
  const auto f = [&](const std::vector<int64_t>& s) { return dice.floats(Shape(s)); };
  expect_einsum("ij,jk->ik", {f({20, 30}), f({30, 33})});
  expect_einsum("bij,bjk->bik", {f({3, 5, 7}), f({3, 7, 16})});
  expect_einsum("bhqd,bhkd->bhqk", {f({2, 3, 17, 8}), f({2, 3, 9, 8})});
  expect_einsum("bqhd,bkhd->bhqk", {f({2, 17, 3, 8}), f({2, 9, 3, 8})});
  expect_einsum("bhqk,bkhd->bqhd", {f({2, 3, 5, 9}), f({2, 9, 3, 16})});
  expect_einsum("...ij,...jk->...ik", {f({2, 1, 4, 5}), f({3, 5, 6})});
  expect_einsum("bhwc,hkc->bhwk", {f({2, 7, 5, 8}), f({7, 6, 8})});
  expect_einsum("bhwc,wkc->bhwk", {f({2, 7, 5, 8}), f({5, 6, 8})});
  expect_einsum("abc,cd,de->abe", {f({2, 3, 4}), f({4, 5}), f({5, 6})});
  expect_einsum("ab,cb,ad->dc", {f({4, 3}), f({5, 3}), f({4, 6})});
  expect_einsum("nchw,oc->nohw", {f({2, 8, 5, 6}), f({7, 8})});
  expect_einsum("i,i->", {f({300}), f({300})});
  expect_einsum("ij->", {f({30, 7})});
  expect_einsum("ii->i", {f({9, 9})});
  expect_einsum("iij->j", {f({6, 6, 5})});
  expect_einsum("abcd->db", {f({2, 3, 4, 5})});
  expect_einsum("abcd->ba", {f({2, 3, 4, 5})});
  expect_einsum("abcd->dcab", {f({2, 3, 4, 5})});
  expect_einsum("bij,bij->bij", {f({2, 3, 4}), f({2, 3, 4})});
  expect_einsum("bij,bij->b", {f({2, 3, 4}), f({2, 3, 4})});
  expect_einsum("bi,bj->bij", {f({2, 33}), f({2, 17})});
  expect_einsum("ikb,kjb->jib", {f({3, 4, 5}), f({4, 6, 5})});
  expect_einsum("ij,ij,ij->ji", {f({3, 4}), f({3, 4}), f({1, 4})});
  expect_einsum("ab,cd,ef->", {f({4, 5}), f({3, 4}), f({2, 3})});
  expect_einsum("ab,bc,de->c", {f({4, 5}), f({5, 20}), f({2, 3})});
  expect_einsum("ab,ac,bd,cd->", {f({5, 6}), f({5, 7}), f({6, 8}), f({7, 8})});
}

TEST(ProductKernels, AnyEquation) {
  Dice dice(6);
  for (int i = 0; i < 300; ++i) {
    constexpr std::string_view kLetters = "abcdef";
    int64_t extents[6];
    for (int64_t& e : extents) e = dice.roll(1, i % 3 ? 4 : 9);
    std::string equation, used;
    std::vector<Tensor> x;
    for (int64_t operands = dice.roll(1, 3); operands > 0; --operands) {
      std::vector<int64_t> shape;
      for (int64_t axes = dice.roll(0, 4); axes > 0; --axes) {
        const auto letter = static_cast<size_t>(dice.roll(0, 5));
        equation += kLetters[letter];
        if (used.find(kLetters[letter]) == std::string::npos) used += kLetters[letter];
        shape.push_back(dice.roll(0, 7) == 0 ? 1 : extents[letter]);
      }
      x.push_back(dice.floats(Shape(shape)));
      if (operands > 1) equation += ',';
    }
    equation += "->";
    while (!used.empty() && dice.roll(0, 2) > 0) {
      const auto at = static_cast<size_t>(dice.roll(0, static_cast<int64_t>(used.size()) - 1));
      equation += used[at];
      used.erase(at, 1);
    }
    expect_einsum(equation, std::move(x));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace nnex
