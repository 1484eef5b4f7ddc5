// Operators whose work threads share: as many bytes alike on one thread as on several, at sizes that are shared.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace {

using nnex::DType;
using nnex::Graph;
using nnex::Model;
using nnex::Tensor;
using nnex::Value;

struct Case {
  const char* name;
  const char* graph;
};

class SharedWork : public testing::TestWithParam<Case> {};

Tensor numbers(DType type, const nnex::Shape& shape, uint32_t seed) {
  Tensor made = *Tensor::make(type, shape);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < made.count(); ++i) {
    const auto number = static_cast<int>(random() % 2001) - 1000;
    if (type == DType::f32) made.mutable_as<float>()[static_cast<size_t>(i)] = static_cast<float>(number) / 250;
    if (type == DType::f64) made.mutable_as<double>()[static_cast<size_t>(i)] = number / 250.0;
    if (type == DType::i64) made.mutable_as<int64_t>()[static_cast<size_t>(i)] = (number + 1000) % 50;
  }
  return made;
}

std::vector<Value> run(const Model& model, int threads) {
  nnex::Session session = model.session({.threads = threads});
  std::vector<Value> fed;
  uint32_t seed = 1;
  for (const nnex::PortInfo& port : model.inputs()) {
    Tensor x = numbers(port.dtype, nnex::Shape(port.extents), seed++);
    fed.emplace_back(std::move(x));
  }
  auto results = session.run(std::span<const Value>(fed));
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().text());
  return results.ok() ? *std::move(results) : std::vector<Value>();
}

TEST_P(SharedWork, IsTheSameOnOneThread) {
  const auto graph = Graph::parse(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto model = Model::compile(*graph);
  ASSERT_TRUE(model.ok()) << model.error().text();
  const std::vector<Value> alone = run(*model, 1);
  for (int threads : {2, 3, 8}) {
    const std::vector<Value> shared = run(*model, threads);
    ASSERT_EQ(shared.size(), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      const Tensor &a = *alone[i].tensor(), &b = *shared[i].tensor();
      ASSERT_EQ(a.shape(), b.shape());
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0) << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, SharedWork,
    testing::Values(
        Case{"top_k_of_rows", "graph g(x: f32[130,300]) -> (v, i) { v, i = top_k(x, i64[](5)); }"},
        Case{"top_k_of_columns", "graph g(x: f32[3,300,37]) -> (v, i) { v, i = top_k(x, i64[](20), axis = 1); }"},
        Case{"top_k_of_whole_numbers",
             "graph g(x: i64[64,300]) -> (v, i) { v, i = top_k(x, i64[](7), largest = false); }"},
        Case{"trilu", "graph g(x: f32[3,150,130]) -> (y) { y = trilu(x, i64[](2)); }"},
        Case{"cum_sum", "graph g(x: f32[200,170]) -> (y) { y = cum_sum(x, i64[](1)); }"},
        Case{"cum_sum_of_columns", "graph g(x: f64[30,20,50]) -> (y) { y = cum_sum(x, i64[](1), reverse = true); }"},
        Case{"tan", "graph g(x: f32[40003]) -> (y) { y = tan(x); }"},
        Case{"reverse_sequence",
             "graph g(x: f32[20,50,70], n: i64[20]) -> (y) { y = reverse_sequence(x, n, batch_axis = 0, time_axis = "
             "1); }"},
        Case{"reverse_sequence_of_steps",
             "graph g(x: f32[50,20,70], n: i64[20]) -> (y) { y = reverse_sequence(x, n, batch_axis = 1, time_axis = "
             "0); }"},
        Case{"rotary_embedding",
             "graph g(x: f32[2,6,100,32], c: f32[50,16], s: f32[50,16], p: i64[2,100]) -> (y) { y = "
             "rotary_embedding(x, c, "
             "s, p); }"},
        Case{"rotary_embedding_side_by_side",
             "graph g(x: f32[3,100,192], c: f32[3,100,16], s: f32[3,100,16]) -> (y) { y = rotary_embedding(x, c, s, "
             "heads = "
             "6, interleaved = true); }"},
        Case{"lstm_of_a_batch",
             "graph g(x: f32[5,40,32]) -> (y) { k = range(f32[](0), f32[](8192), f32[](1)); s = sin(k); "
             "w = reshape(s, i64[3](1, 256, 32)); l = range(f32[](0), f32[](16384), f32[](1)); t = cos(l); "
             "r = reshape(t, i64[3](1, 256, 64)); y = lstm(x, w, r); }"},
        Case{"gru_of_a_batch",
             "graph g(x: f32[5,48,32]) -> (y) { k = range(f32[](0), f32[](6144), f32[](1)); s = sin(k); "
             "w = reshape(s, i64[3](1, 192, 32)); l = range(f32[](0), f32[](12288), f32[](1)); t = cos(l); "
             "r = reshape(t, i64[3](1, 192, 64)); y = gru(x, w, r); }"},
        Case{"to_channels_first", "graph g(x: f32[1,3001,5]) -> (y) { y = transpose(x, axes = [0, 2, 1]); }"},
        Case{"transpose_of_bytes_that_do_not_fill_lines",
             "graph g(x: f32[2,1999,67]) -> (y) { y = transpose(x, axes = [0, 2, 1]); }"},
        Case{"max_pool_of_one_line",
             "graph g(x: f32[1,70,3001]) -> (y, i) { y, i = max_pool(x, size = [1, 1, 4], stride = [1, 1, 3], padding "
             "= [(0, 0), (0, 0), (2, 1)]); "
             "}"},
        Case{"product_of_one_row_of_doubles", "graph g(x: f64[1,300], w: f64[300,500]) -> (y) { y = matmul(x, w); }"},
        Case{"product_of_doubles", "graph g(x: f64[37,300], w: f64[300,501]) -> (y) { y = matmul(x, w); }"},
        Case{"product_of_whole_numbers", "graph g(x: i64[100,60], w: i64[60,41]) -> (y) { y = matmul(x, w); }"},
        Case{"products_of_few_heads",
             "graph g(x: f32[3,70,64], w: f32[3,70,64]) -> (y) { y = matmul(x, w, transposeB = true); }"},
        Case{"products_of_many_heads", "graph g(x: f32[7,70,64], w: f32[7,64,90]) -> (y) { y = matmul(x, w); }"},
        Case{"deconv_to_few_channels",
             "graph g(x: f32[1,24,40,40], w: f32[24,3,4,4]) -> (y) { y = deconv(x, w, stride = [2, 2], padding = [(1, "
             "1), (1, "
             "1)]); }"}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

}  // namespace
