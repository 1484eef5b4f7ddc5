#include "c/webnn_limits.h"

#include "base/json.h"

namespace nnex::c {
namespace {

using Json = nlohmann::ordered_json;

Json tensor_json(const ml::TensorLimits& limits) {
  Json types = Json::array();
  for (const ml::DataType type : limits.dataTypes) types.push_back(std::string(ml::name(type)));
  const Json range = {{"min", limits.rankRange.min}, {"max", limits.rankRange.max}};
  return {{"dataTypes", std::move(types)}, {"rankRange", range}};
}

}  // namespace

std::string limits_json(const ml::OpSupportLimits& limits) {
  const bool nchw = limits.preferredInputLayout == ml::InputOperandLayout::nchw;
  Json all = {{"preferredInputLayout", nchw ? "nchw" : "nhwc"}, {"maxTensorByteLength", limits.maxTensorByteLength}};
  all["input"] = tensor_json(limits.input);
  all["constant"] = tensor_json(limits.constant);
  all["output"] = tensor_json(limits.output);
  for (const ml::OperationLimits& operation : limits.operations) {
    Json& operands = all[operation.name];
    for (const auto& [name, operand] : operation.operands) operands[name] = tensor_json(operand);
  }
  return all.dump();
}

}  // namespace nnex::c
