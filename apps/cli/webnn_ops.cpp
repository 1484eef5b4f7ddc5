// nnex ops --webnn: what the operations of WebNN take, as opSupportLimits() says it.

#include "webnn_ops.h"

#include "cli.h"
#include "nnex/webnn.h"

namespace nnex::cli {
namespace {

Json limits(const ml::TensorLimits& t) {
  Json types = Json::array();
  for (ml::DataType type : t.dataTypes) types.push_back(ml::name(type));
  return {{"dataTypes", types}, {"rankRange", {{"min", t.rankRange.min}, {"max", t.rankRange.max}}}};
}

std::string_view layout(const ml::OpSupportLimits& all) {
  return all.preferredInputLayout == ml::InputOperandLayout::nchw ? "nchw" : "nhwc";
}

/// The dictionary MLOpSupportLimits, member by member.
Json dictionary(const ml::OpSupportLimits& all) {
  Json j = {{"preferredInputLayout", layout(all)},
            {"maxTensorByteLength", all.maxTensorByteLength},
            {"input", limits(all.input)},
            {"constant", limits(all.constant)},
            {"output", limits(all.output)}};
  for (const ml::OperationLimits& op : all.operations) {
    Json& of = j[op.name] = Json::object();
    for (const auto& [name, t] : op.operands) of[name] = limits(t);
  }
  return j;
}

void row(std::string_view op, std::string_view operand, const ml::TensorLimits& t) {
  std::string types;
  for (ml::DataType type : t.dataTypes) types += fmt::format("{}{}", types.empty() ? "" : " ", ml::name(type));
  say("{:<24} {:<20} {}..{}   {}\n", op, operand, t.rankRange.min, t.rankRange.max, types);
}

}  // namespace

int webnn_ops(bool json) {
  const auto context = ml::createContext().get();
  if (!context.ok()) return report(Error(Code::internal, context.error().text()));
  const ml::OpSupportLimits& all = context->opSupportLimits();
  if (json) {
    say("{}\n", dictionary(all).dump(1));
    return kOk;
  }
  say("preferred layout {}, tensors of up to {} bytes\n\n", layout(all), all.maxTensorByteLength);
  say("{:<24} {:<20} {:<6} {}\n", "operation", "operand", "rank", "data types");
  row("(any)", "input", all.input);
  row("", "constant", all.constant);
  row("", "output", all.output);
  for (const ml::OperationLimits& op : all.operations) {
    std::string_view name = op.name;
    for (const auto& [operand, t] : op.operands) {
      row(name, operand, t);
      name = "";
    }
  }
  return kOk;
}

}  // namespace nnex::cli
