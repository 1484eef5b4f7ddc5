#include "run/output_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "run/compile.h"
#include "tensor/memory_account.h"

namespace nnex::run {
namespace {

constexpr int64_t kLarge = 40'000;  // floats

TEST(OutputPool, MemoryComesBackWhenItsLastOwnerIsGone) {
  auto pool = std::make_shared<OutputPool>();
  Tensor a = std::move(pool->make(DType::f32, Shape{kLarge})).value();
  const std::byte* first = a.data();
  Tensor held = a;
  a = Tensor();
  const Tensor b = std::move(pool->make(DType::f32, Shape{kLarge})).value();
  EXPECT_NE(b.data(), first);
  held = Tensor();
  EXPECT_NE(std::move(pool->make(DType::f32, Shape{2 * kLarge})).value().data(), first) << "larger";
  EXPECT_EQ(std::move(pool->make(DType::f32, Shape{kLarge + 100, 1})).value().data(), first) << "nearly as large";
  EXPECT_EQ(std::move(pool->make(DType::f32, Shape{kLarge})).value().data(), first);
}

TEST(OutputPool, WhatCameBackLastGoesFirst) {
  auto pool = std::make_shared<OutputPool>();
  Tensor a = std::move(pool->make(DType::f32, Shape{kLarge})).value();
  Tensor b = std::move(pool->make(DType::f32, Shape{kLarge})).value();
  const std::byte* const last = a.data();
  b = Tensor(), a = Tensor();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(std::move(pool->make(DType::f32, Shape{kLarge})).value().data(), last);
}

/// The memory of a result that its caller has let go of is the next one's; what the caller holds stays.
TEST(OutputPool, ARunWritesWhereTheLastOneDid) {
  ir::Graph graph;
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, dims_of(Shape{kLarge})));
  graph.set_results(kMain, {Builder(graph, kMain)("neg", {x})});
  auto model = compile(std::move(graph));
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session session = model->session();
  const auto run = [&](float v) {
    auto out = session.run(std::vector<Value>{Value(Tensor::of(Shape{kLarge}, std::vector<float>(kLarge, v)))});
    return *std::move(out).value()[0].tensor();
  };
  const std::byte* const first = run(1).data();
  const Tensor held = run(2);
  EXPECT_EQ(held.data(), first);
  EXPECT_NE(run(3).data(), first);
  EXPECT_EQ(held.as<float>()[7], -2);
}

TEST(OutputPool, TensorsOutliveIt) {
  auto pool = std::make_shared<OutputPool>();
  Tensor t = std::move(pool->make(DType::f32, Shape{kLarge})).value();
  pool.reset();
  t.mutable_as<float>()[0] = 1;
  EXPECT_EQ(t.as<float>()[0], 1);
}

TEST(OutputPool, WhatIsHandedOutIsCountedAndWhatLiesUnusedIsNot) {
  auto pool = std::make_shared<OutputPool>();
  const auto account = std::make_shared<MemoryAccount>(kLarge * 4 + 100);
  AccountScope scope(account);
  for (int i = 0; i < 3; ++i) {
    auto t = pool->make(DType::f32, Shape{kLarge});
    ASSERT_TRUE(t.ok());
    EXPECT_EQ(account->held(), kLarge * 4);
    EXPECT_FALSE(pool->make(DType::f32, Shape{kLarge}).ok());
  }
  EXPECT_EQ(account->held(), 0);
}

TEST(OutputPool, KeepsALimitedAmount) {
  auto pool = std::make_shared<OutputPool>();
  std::vector<Tensor> all;
  for (int i = 0; i < 100; ++i) all.push_back(std::move(pool->make(DType::f32, Shape{kLarge})).value());
  all.clear();
  for (int i = 0; i < 5; ++i) all.push_back(std::move(pool->make(DType::u8, Shape{int64_t{30} << 20})).value());
  all.clear();
  EXPECT_TRUE(pool->make(DType::f32, Shape{kLarge}).ok());
}

/// As caches of a decoder do: a block serves until an eighth more is needed, and what nobody will want goes.
TEST(OutputPool, WhatGrowsFindsTheMemoryOfTheRunBefore) {
  auto pool = std::make_shared<OutputPool>();
  const std::byte* last = nullptr;
  int moved = 0;
  Tensor other;  // the result before, which a run reads
  for (int64_t n = kLarge; n < 8 * kLarge; n += 128) {
    Tensor t = std::move(pool->make(DType::f32, Shape{n})).value();
    const int64_t bytes = t.bytes();
    EXPECT_EQ(bytes, n * 4);
    moved += t.data() != last;
    last = other.data(), other = std::move(t);
    EXPECT_LE(pool->held(), 6 * bytes);
  }
  EXPECT_LT(moved, 80);
  for (int i = 0; i < 200; ++i) other = std::move(pool->make(DType::f32, Shape{kLarge})).value();
  EXPECT_LE(pool->held(), 2 * kLarge * 4);
}

TEST(OutputPool, OwnersMayBeOnAnyThread) {
  auto pool = std::make_shared<OutputPool>();
  for (int i = 0; i < 50; ++i) {
    Tensor t = std::move(pool->make(DType::f32, Shape{kLarge})).value();
    t.mutable_as<float>()[7] = static_cast<float>(i);
    std::thread reader([held = std::move(t), i] { EXPECT_EQ(held.as<float>()[7], static_cast<float>(i)); });
    std::move(pool->make(DType::f32, Shape{kLarge})).value().mutable_as<float>()[7] = -1;
    reader.join();
  }
}

}  // namespace
}  // namespace nnex::run
