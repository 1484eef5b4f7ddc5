#pragma once
// A small CVM model, its parts to change, and what a loader says of it.

#include <string>
#include <vector>

#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"

namespace nnex::cvm_model {

using namespace cvm_format;

/// relu(data * w + b), shifted right by 4 to 8 bits; data is [2,3], w [3], b [2,3].
inline Symbol base_symbol() {
  Symbol s;
  s.nodes = {{"data", "", {}},
             {"w", "", {}},
             {"b", "", {}},
             {"m", "broadcast_mul", {{0, 0}, {1, 0}}},
             {"a", "elemwise_add", {{3, 0}, {2, 0}}},
             {"r", "relu", {{4, 0}}},
             {"s", "cvm_right_shift", {{5, 0}}}};
  s.heads = {{6, 0}};
  s.arg_nodes = Ints{0, 1, 2};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4, 5, 6, 7};
  s.shapes = {{2, 3}, {3}, {2, 3}, {2, 3}, {2, 3}, {2, 3}, {2, 3}};
  s.storage_ids = {0, 1, 2, 3, 4, 5, 6};
  s.precision = Ints{8, 8, 16, -1, -1, -1, -1};
  s.op_attrs = {"", "", "", "{}", "{}", "{}", R"({"precision": "8", "shift_bit": "4"})"};
  return s;
}

inline std::vector<Param> base_params() {
  return {{"w", Tensor::of<int8_t>(Shape{3}, {1, 2, 3})}, {"b", Tensor::of<int32_t>(Shape{2, 3}, {0, 1, 2, 3, 4, 5})}};
}

struct Loaded {
  Blame symbol = Blame::none, all = Blame::none;
  int64_t gas = 0;
  std::string error;
};

inline Loaded load(const std::string& symbol, const std::string& params, bool compatible = false) {
  Loaded out;
  auto read = read_symbol(symbol);
  ir::Graph graph;
  Importer importer(graph, compatible);
  Status s = read.ok() ? importer.symbol(*read) : Status(std::move(read).error());
  if (!s.ok()) out.symbol = out.all = blame(s.error()), out.error = s.error().text();
  if (!s.ok()) return out;
  out.gas = importer.info().gas;
  s = importer.finish(params, nullptr);
  if (!s.ok()) out.all = blame(s.error()), out.error = s.error().text();
  return out;
}

inline Loaded load(const Symbol& symbol, bool compatible = false) {
  return load(write_symbol(symbol), write_params(base_params()), compatible);
}

}  // namespace nnex::cvm_model
