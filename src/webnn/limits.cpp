#include <algorithm>
#include <array>

#include "base/try.h"
#include "webnn/method.h"

namespace nnex::ml {
namespace {

constexpr TypeSet kFloats = data_types(DataType::float32, DataType::float16);
constexpr TypeSet kInt32 = only(DataType::int32);
constexpr TypeSet kTruth = only(DataType::uint8);
constexpr TypeSet kBytes = data_types(DataType::int8, DataType::uint8);
constexpr TypeSet kIndices = data_types(DataType::int32, DataType::uint32, DataType::int64);
constexpr TypeSet kCore = kFloats | kInt32;
constexpr TypeSet kMoved = kCore | kBytes;
constexpr TypeSet kSigned = kCore | data_types(DataType::int64, DataType::int8);
constexpr TypeSet kWide = kCore | data_types(DataType::uint32, DataType::int64, DataType::uint64);
constexpr TypeSet kAny = kWide | kBytes;
/// What quantised numbers are stored as. The 4-bit types are ours: the specification once had them.
constexpr TypeSet kCodes = kBytes | data_types(DataType::uint32, DataType::int32, DataType::int4, DataType::uint4);

/// Operations that share their limits. {operand, allowed types, required types, ranks, required ranks, the operand
/// whose type it has, the operand whose rank it has}. Ranks up to 8 stand for any.
struct Row {
  std::string_view operations = {};
  Limits limits = {};
};

// Source: W3C WebNN, editor's draft of 2026-06-26, the tables "tensor limits" of each operation.
constexpr Row kRows[] = {
    {"argMin argMax",
     {{"input", kAny, kCore, {1, 8}, {1, 5}}, {"output", kInt32 | only(DataType::int64), kInt32, {0, 8}, {0, 5}}}},
    {"batchNormalization",
     {{"input", kFloats, kFloats, {1, 8}, {3, 5}},
      {"mean", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"variance", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"scale", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"bias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"output", kFloats, kFloats, {1, 8}, {3, 5}, "input", "input"}}},
    {"cast", {{"input", kAny, kMoved, {0, 8}, {0, 5}}, {"output", kAny, kMoved, {0, 8}, {0, 5}, "", "input"}}},
    {"clamp", {{"input", kAny, kFloats, {0, 8}, {0, 5}}, {"output", kAny, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"concat", {{"inputs", kAny, kCore, {1, 8}, {1, 5}}, {"output", kAny, kCore, {1, 8}, {1, 5}, "inputs", "inputs"}}},
    {"conv2d",
     {{"input", kFloats, kFloats, {4, 4}, {4, 4}},
      {"filter", kFloats, kFloats, {4, 4}, {4, 4}, "input"},
      {"bias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"output", kFloats, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"convTranspose2d",
     {{"input", kFloats, kFloats, {4, 4}, {4, 4}},
      {"filter", kFloats, kFloats, {4, 4}, {4, 4}, "input"},
      {"bias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"output", kFloats, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"cumulativeSum",
     {{"input", kWide, kCore, {1, 8}, {1, 5}}, {"output", kWide, kCore, {1, 8}, {1, 5}, "input", "input"}}},
    {"add sub mul div max min pow",
     {{"a", kAny, kCore, {0, 8}, {0, 5}},
      {"b", kAny, kCore, {0, 8}, {0, 5}, "a"},
      {"output", kAny, kCore, {0, 8}, {0, 5}, "a"}}},
    {"equal notEqual greater greaterOrEqual lesser lesserOrEqual",
     {{"a", kAny, kCore, {0, 8}, {0, 5}},
      {"b", kAny, kCore, {0, 8}, {0, 5}, "a"},
      {"output", kTruth, kTruth, {0, 8}, {0, 5}}}},
    {"logicalNot", {{"a", kTruth, kTruth, {0, 8}, {0, 5}}, {"output", kTruth, kTruth, {0, 8}, {0, 5}}}},
    {"logicalAnd logicalOr logicalXor",
     {{"a", kTruth, kTruth, {0, 8}, {0, 5}},
      {"b", kTruth, kTruth, {0, 8}, {0, 5}, "a"},
      {"output", kTruth, kTruth, {0, 8}, {0, 5}}}},
    {"isNaN isInfinite", {{"a", kAny, kFloats, {0, 8}, {0, 5}}, {"output", kTruth, kTruth, {0, 8}, {0, 5}}}},
    {"abs neg",
     {{"input", kSigned, kCore, {0, 8}, {0, 5}}, {"output", kSigned, kCore, {0, 8}, {0, 5}, "input", "input"}}},
    {"ceil cos erf exp floor log reciprocal roundEven sin sqrt tan",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"identity", {{"input", kAny, kCore, {0, 8}, {0, 5}}, {"output", kAny, kCore, {0, 8}, {0, 5}, "input", "input"}}},
    {"sign", {{"input", kSigned, kCore, {0, 8}, {0, 5}}, {"output", kSigned, kCore, {0, 8}, {0, 5}, "input", "input"}}},
    {"dequantizeLinear",
     {{"input", kCodes, kBytes, {0, 8}, {0, 5}},
      {"scale", kFloats, kFloats, {0, 8}, {0, 5}, "", "input"},
      {"zeroPoint", kCodes, kBytes | only(DataType::int32), {0, 8}, {0, 5}, "input", "input"},
      {"output", kFloats, kFloats, {0, 8}, {0, 5}, "scale", "input"}}},
    {"quantizeLinear",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}},
      {"scale", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"},
      {"zeroPoint", kCodes, kBytes, {0, 8}, {0, 5}, "", "input"},
      {"output", kCodes, kBytes, {0, 8}, {0, 5}, "zeroPoint", "input"}}},
    {"elu",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"expand", {{"input", kAny, kCore, {0, 8}, {0, 5}}, {"output", kAny, kCore, {0, 8}, {0, 5}, "input"}}},
    {"gather",
     {{"input", kAny, kMoved, {1, 8}, {1, 5}},
      {"indices", kIndices, kInt32, {0, 8}, {0, 5}},
      {"output", kAny, kMoved, {1, 8}, {1, 5}, "input"}}},
    {"gatherElements",
     {{"input", kAny, kCore, {1, 8}, {1, 5}},
      {"indices", kIndices, kInt32, {1, 8}, {1, 5}, "", "input"},
      {"output", kAny, kCore, {1, 8}, {1, 5}, "input", "input"}}},
    {"gatherND",
     {{"input", kAny, kMoved, {1, 8}, {1, 5}},
      {"indices", kIndices, kInt32, {1, 8}, {1, 5}},
      {"output", kAny, kMoved, {0, 8}, {0, 5}, "input"}}},
    {"gelu",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"gemm",
     {{"a", kFloats, kFloats, {2, 2}, {2, 2}},
      {"b", kFloats, kFloats, {2, 2}, {2, 2}, "a"},
      {"c", kFloats, kFloats, {0, 2}, {0, 2}, "a"},
      {"output", kFloats, kFloats, {2, 2}, {2, 2}, "a"}}},
    {"gru",
     {{"input", kFloats, kFloats, {3, 3}, {3, 3}},
      {"weight", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"recurrentWeight", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"bias", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"recurrentBias", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"initialHiddenState", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"output0", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"output1", kFloats, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"gruCell",
     {{"input", kFloats, kFloats, {2, 2}, {2, 2}},
      {"weight", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"recurrentWeight", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"hiddenState", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"bias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"recurrentBias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"output", kFloats, kFloats, {2, 2}, {2, 2}, "input"}}},
    {"hardSigmoid",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"hardSwish",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"instanceNormalization",
     {{"input", kFloats, kFloats, {4, 4}, {4, 4}},
      {"scale", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"bias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"output", kFloats, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"layerNormalization",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}},
      {"scale", kFloats, kFloats, {0, 8}, {0, 5}, "input"},
      {"bias", kFloats, kFloats, {0, 8}, {0, 5}, "input"},
      {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"leakyRelu",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"linear",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"lstm",
     {{"input", kFloats, kFloats, {3, 3}, {3, 3}},
      {"weight", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"recurrentWeight", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"bias", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"recurrentBias", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"peepholeWeight", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"initialHiddenState", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"initialCellState", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"output0", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"output1", kFloats, kFloats, {3, 3}, {3, 3}, "input"},
      {"output2", kFloats, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"lstmCell",
     {{"input", kFloats, kFloats, {2, 2}, {2, 2}},
      {"weight", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"recurrentWeight", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"hiddenState", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"cellState", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"bias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"recurrentBias", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"peepholeWeight", kFloats, kFloats, {1, 1}, {1, 1}, "input"},
      {"output0", kFloats, kFloats, {2, 2}, {2, 2}, "input"},
      {"output1", kFloats, kFloats, {2, 2}, {2, 2}, "input"}}},
    {"matmul",
     {{"a", kFloats, kFloats, {2, 8}, {2, 5}},
      {"b", kFloats, kFloats, {2, 8}, {2, 5}, "a"},
      {"output", kFloats, kFloats, {2, 8}, {2, 5}, "a"}}},
    {"pad", {{"input", kAny, kFloats, {0, 8}, {0, 5}}, {"output", kAny, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"averagePool2d l2Pool2d",
     {{"input", kFloats, kFloats, {4, 4}, {4, 4}}, {"output", kFloats, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"maxPool2d", {{"input", kAny, kFloats, {4, 4}, {4, 4}}, {"output", kAny, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"prelu",
     {{"input", kSigned, kFloats, {0, 8}, {0, 5}},
      {"slope", kSigned, kFloats, {0, 8}, {0, 5}, "input"},
      {"output", kSigned, kFloats, {0, 8}, {0, 5}, "input"}}},
    {"reduceL1 reduceSum reduceSumSquare",
     {{"input", kWide, kCore, {0, 8}, {0, 5}}, {"output", kWide, kCore, {0, 8}, {0, 5}, "input"}}},
    {"reduceL2 reduceLogSum reduceLogSumExp reduceMean",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input"}}},
    {"reduceMax reduceMin", {{"input", kAny, kCore, {0, 8}, {0, 5}}, {"output", kAny, kCore, {0, 8}, {0, 5}, "input"}}},
    {"reduceProduct", {{"input", kWide, kFloats, {0, 8}, {0, 5}}, {"output", kWide, kFloats, {0, 8}, {0, 5}, "input"}}},
    {"relu",
     {{"input", kSigned, kFloats, {0, 8}, {0, 5}}, {"output", kSigned, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"resample2d",
     {{"input", kFloats | kBytes, kFloats, {4, 4}, {4, 4}},
      {"output", kFloats | kBytes, kFloats, {4, 4}, {4, 4}, "input"}}},
    {"reshape", {{"input", kAny, kMoved, {0, 8}, {0, 5}}, {"output", kAny, kMoved, {0, 8}, {0, 5}, "input"}}},
    {"reverse", {{"input", kAny, kCore, {0, 8}, {0, 5}}, {"output", kAny, kCore, {0, 8}, {0, 5}, "input", "input"}}},
    {"scatterElements",
     {{"input", kAny, kCore, {1, 8}, {1, 5}},
      {"indices", kIndices, kInt32, {1, 8}, {1, 5}, "", "input"},
      {"updates", kAny, kCore, {1, 8}, {1, 5}, "input", "input"},
      {"output", kAny, kCore, {1, 8}, {1, 5}, "input", "input"}}},
    {"scatterND",
     {{"input", kAny, kCore, {1, 8}, {1, 5}},
      {"indices", kIndices, kInt32, {1, 8}, {1, 5}},
      {"updates", kAny, kCore, {0, 8}, {0, 5}, "input"},
      {"output", kAny, kCore, {1, 8}, {1, 5}, "input"}}},
    {"sigmoid",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"slice", {{"input", kAny, kMoved, {0, 8}, {0, 5}}, {"output", kAny, kMoved, {0, 8}, {0, 5}, "input", "input"}}},
    {"softmax",
     {{"input", kFloats, kFloats, {1, 8}, {1, 5}}, {"output", kFloats, kFloats, {1, 8}, {1, 5}, "input", "input"}}},
    {"softplus",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"softsign",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"split", {{"input", kAny, kCore, {1, 8}, {1, 5}}, {"outputs", kAny, kCore, {1, 8}, {1, 5}, "input", "input"}}},
    {"tanh",
     {{"input", kFloats, kFloats, {0, 8}, {0, 5}}, {"output", kFloats, kFloats, {0, 8}, {0, 5}, "input", "input"}}},
    {"tile", {{"input", kAny, kCore, {0, 8}, {0, 5}}, {"output", kAny, kCore, {0, 8}, {0, 5}, "input", "input"}}},
    {"transpose", {{"input", kAny, kCore, {0, 8}, {0, 5}}, {"output", kAny, kCore, {0, 8}, {0, 5}, "input", "input"}}},
    {"triangular",
     {{"input", kAny, kFloats, {2, 8}, {2, 5}}, {"output", kAny, kFloats, {2, 8}, {2, 5}, "input", "input"}}},
    {"where",
     {{"condition", kTruth, kTruth, {0, 8}, {0, 5}},
      {"trueValue", kAny, kCore, {0, 8}, {0, 5}},
      {"falseValue", kAny, kCore, {0, 8}, {0, 5}, "trueValue"},
      {"output", kAny, kCore, {0, 8}, {0, 5}, "trueValue"}}},
};

bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t space = std::min(list.find(' '), list.size());
    if (list.substr(0, space) == name) return true;
    list.remove_prefix(std::min(space + 1, list.size()));
  }
  return false;
}

struct StoredRow {
  std::string_view operations = {};
  std::span<const OperandLimit> limits = {};
};
constexpr auto kStoredRows = [] {
  std::array<StoredRow, std::size(kRows)> all = {};
  for (size_t i = 0; i < all.size(); ++i) all[i] = {kRows[i].operations, ItemsOf<kRows, &Row::limits>::of(i)};
  return all;
}();

}  // namespace

std::span<const OperandLimit> limits_of(std::string_view operation) {
  const auto row = std::find_if(kStoredRows.begin(), kStoredRows.end(),
                                [&](const StoredRow& r) { return names(r.operations, operation); });
  NNEX_ASSERT(row != kStoredRows.end());
  return row->limits;
}

}  // namespace nnex::ml
