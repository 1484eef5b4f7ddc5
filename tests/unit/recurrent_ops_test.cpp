// Recurrent layers: the fast kernels against the reference, and hard cases by hand.

#include <cmath>

#include "node_run.h"
#include "ops/recurrent.h"

namespace nnex {
namespace {

using test::absent;
using test::Bound;
using test::Dice;
using test::expect_same;
using test::NodeCase;
using test::run_op;

constexpr Bound kBound = {1e-5, 1e-5};

TEST(Recurrent, LstmKernelEqualsTheReference) {
  Dice dice(1);
  for (int i = 0; i < 24; ++i) {
    const int64_t dirs = i % 3 == 2 ? 2 : 1, steps = dice.roll(1, 5), batch = dice.roll(1, 4), in = dice.roll(1, 9),
                  h = dice.roll(1, 20);
    AttrMap attrs = {{"direction", std::string(i % 3 == 0 ? "forward" : i % 3 == 1 ? "reverse" : "bidirectional")}};
    if (i % 4 == 1) attrs.push_back({"clip", 0.4});
    if (i % 5 == 1) attrs.push_back({"input_forget", true});
    NodeCase c{"lstm",
               {dice.floats({steps, batch, in}), dice.floats({dirs, 4 * h, in}), dice.floats({dirs, 4 * h, h}),
                i % 2 ? dice.floats({dirs, 8 * h}) : absent(), absent(), dice.floats({dirs, batch, h}),
                dice.floats({dirs, batch, h}), i % 3 ? dice.floats({dirs, 3 * h}) : absent()},
               attrs,
               {1, 2, 3},
               3};
    expect_same(c, "lstm_f32", kBound);
  }
}

TEST(Recurrent, GruKernelEqualsTheReference) {
  Dice dice(2);
  for (int i = 0; i < 24; ++i) {
    const int64_t dirs = i % 3 == 2 ? 2 : 1, steps = dice.roll(1, 5), batch = dice.roll(1, 4), in = dice.roll(1, 9),
                  h = dice.roll(1, 20);
    AttrMap attrs = {{"direction", std::string(i % 3 == 0   ? "forward"
                                               : i % 3 == 1 ? "reverse"
                                                            : "bidirectional")},
                     {"reset_after", i % 2 == 0}};
    if (i % 4 == 1) attrs.push_back({"clip", 0.4});
    NodeCase c{
        "gru",
        {dice.floats({steps, batch, in}), dice.floats({dirs, 3 * h, in}), dice.floats({dirs, 3 * h, h}),
         i % 5 ? dice.floats({dirs, 6 * h}) : absent(), absent(), i % 3 ? dice.floats({dirs, batch, h}) : absent()},
        attrs,
        {1, 2, 3},
        2};
    expect_same(c, "gru_f32", kBound);
  }
}

TEST(Recurrent, RnnKernelEqualsTheReference) {
  Dice dice(4);
  for (int i = 0; i < 24; ++i) {
    const int64_t dirs = i % 3 == 2 ? 2 : 1, steps = dice.roll(1, 5), batch = dice.roll(1, 4), in = dice.roll(1, 9),
                  h = dice.roll(1, 20);
    AttrMap attrs = {{"direction", std::string(i % 3 == 0 ? "forward" : i % 3 == 1 ? "reverse" : "bidirectional")}};
    if (i % 4 == 1) attrs.push_back({"clip", 0.4});
    if (i % 4 >= 2) attrs.push_back({"activations", Texts{i % 4 == 2 ? "relu" : "sigmoid"}});
    NodeCase c{
        "rnn",
        {dice.floats({steps, batch, in}), dice.floats({dirs, h, in}), dice.floats({dirs, h, h}, -0.5F, 0.5F),
         i % 5 ? dice.floats({dirs, 2 * h}) : absent(), absent(), i % 3 ? dice.floats({dirs, batch, h}) : absent()},
        attrs,
        {1, 2, 3},
        2};
    expect_same(c, "rnn_f32", kBound);
  }
}

TEST(Recurrent, OtherFunctionsAndLengthsStayWithTheReference) {
  Dice dice(3);
  NodeCase c{"lstm",
             {dice.floats({3, 2, 4}), dice.floats({1, 20, 4}), dice.floats({1, 20, 5}), absent(),
              Tensor::of<int32_t>(Shape{2}, {3, 1})},
             {},
             {1, 2, 4},
             3};
  expect_same(c, "reference", kBound);
  c.inputs.pop_back();
  c.attrs = {{"activations", Texts{"relu", "softsign", "tanh"}}};
  expect_same(c, "reference", kBound);
}

Tensor ones(const Shape& s, float v) {
  Tensor t = std::move(Tensor::make(DType::f32, s)).value();
  for (float& x : t.mutable_as<float>()) x = v;
  return t;
}

/// h' = x + h by an affine function: sums that can be counted by hand.
TEST(Recurrent, LengthsAndDirections) {
  const Tensor x = Tensor::of<float>(Shape{3, 2, 1}, {1, 10, 2, 20, 4, 40}), one = ones({1, 1, 1}, 1);
  const Tensor lengths = Tensor::of<int32_t>(Shape{2}, {2, 0});
  const AttrMap affine = {{"activations", Texts{"affine"}}};
  auto forward = run_op("rnn", {x, one, one, absent(), lengths, ones({1, 2, 1}, 100)}, affine, 2);
  ASSERT_TRUE(forward.ok()) << forward.error().text();
  const auto y = (*forward)[0].as<float>(), h = (*forward)[1].as<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{101, 0, 103, 0, 0, 0}));
  EXPECT_EQ(std::vector<float>(h.begin(), h.end()), (std::vector<float>{103, 100}));
  AttrMap reverse = affine;
  reverse.push_back({"direction", std::string("reverse")});
  auto back = run_op("rnn", {x, one, one, absent(), lengths}, reverse, 2);
  ASSERT_TRUE(back.ok()) << back.error().text();
  const auto z = (*back)[0].as<float>();
  EXPECT_EQ(std::vector<float>(z.begin(), z.end()), (std::vector<float>{3, 0, 2, 0, 0, 0}));
}

TEST(Recurrent, NumbersGoToTheFunctionsThatHaveThem) {
  RnnAttrs a;
  a.direction = Direction::bidirectional;
  a.activations = {"tanh", "leaky_relu", "hard_sigmoid", "sigmoid"};
  a.activation_alpha = {0.5, 0.25};
  const GateFunction::Kind two[] = {GateFunction::Kind::sigmoid, GateFunction::Kind::tanh};
  auto f = gate_functions(a, two);
  ASSERT_TRUE(f.ok());
  EXPECT_EQ((*f)[1].alpha, 0.5);
  EXPECT_EQ((*f)[2].alpha, 0.25);
  EXPECT_EQ((*f)[2].beta, 0.5);
  a.activations = {"tanh", "sine"};
  EXPECT_EQ(gate_functions(a, two).error().message().substr(0, 17), "activation 'sine'");
}

TEST(Recurrent, WrongExtentsAreNamed) {
  const Tensor x = ones({3, 2, 4}, 1);
  auto r = run_op("lstm", {x, ones({1, 20, 3}, 1), ones({1, 20, 5}, 1)}, {}, 3);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message(), "lstm: columns of w: found 3, needed 4");
  r = run_op("gru", {x, ones({1, 20, 4}, 1), ones({1, 20, 5}, 1)}, {}, 2);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message(), "gru: rows of r: found 20, needed 15");
  r = run_op("rnn", {x, ones({1, 5, 4}, 1), ones({1, 5, 5}, 1), absent(), Tensor::of<int32_t>(Shape{2}, {1, 4})}, {},
             2);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message(), "rnn: length 4 of row 1 is outside [0, 3]");
}

}  // namespace
}  // namespace nnex
