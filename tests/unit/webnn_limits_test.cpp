// What every operation takes, compared with the specification's tables; what the builder's checks make of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "nnex.h"
#include "stored.h"
#include "webnn/call.h"
#include "webnn/interface.h"
#include "webnn/method.h"

namespace nnex::ml {
namespace {

using Json = nlohmann::json;

std::set<std::string> names(const std::vector<DataType>& types) {
  std::set<std::string> out;
  for (DataType t : types) out.emplace(name(t));
  return out;
}

std::set<std::string> names(TypeSet types) {
  std::set<std::string> out;
  for (int i = 0; i < kDataTypes; ++i)
    if (const auto t = static_cast<DataType>(i); (types & only(t)) && in_interface(t)) out.emplace(name(t));
  return out;
}

std::string ranks(int64_t low, int64_t high) { return std::to_string(low) + ".." + std::to_string(high); }
std::string ranks(const Json& range) { return ranks(range["min"].get<int64_t>(), range["max"].get<int64_t>()); }

TEST(WebnnLimits, AreThoseOfTheSpecification) {
  const auto path = stored::shared() / "reference" / "webnn_limits.json";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no " << path << " (NNEX_SHARED)";
  const Json tables = Json::parse(file)["ops"];
  std::map<std::string, const OperationLimits*> ours;
  for (const OperationLimits& op : op_support_limits().operations) ours[op.name] = &op;
  EXPECT_EQ(ours.size(), tables.size());
  for (const auto& [op, operands] : tables.items()) {
    SCOPED_TRACE(op);
    ASSERT_TRUE(ours.count(op));
    const OperationLimits& of = *ours[op];
    EXPECT_EQ(of.operands.size(), operands.size());
    for (const auto& [operand, limits] : operands.items()) {
      SCOPED_TRACE(operand);
      const auto at = std::find_if(of.operands.begin(), of.operands.end(),
                                   [&, &n = operand](const auto& o) { return o.first == n; });
      ASSERT_NE(at, of.operands.end());
      const Json &allowed = limits["allowed"], &required = limits["required"];
      EXPECT_EQ(names(at->second.dataTypes), allowed["dataTypes"].get<std::set<std::string>>());
      EXPECT_EQ(ranks(at->second.rankRange.min, at->second.rankRange.max), ranks(allowed["rankRange"]));
      for (const OperandLimit& l : limits_of(op)) {
        if (l.name != operand) continue;
        EXPECT_EQ(names(l.required), required["dataTypes"].get<std::set<std::string>>());
        EXPECT_EQ(ranks(l.required_ranks.min, l.required_ranks.max), ranks(required["rankRange"]));
      }
    }
  }
}

/// Types and ranks outside the limits are refused by the calls themselves.
TEST(WebnnLimits, AreWhatTheBuilderChecks) {
  const auto context = createContext().get();
  ASSERT_TRUE(context.ok());
  auto builder = GraphBuilder::create(*context);
  ASSERT_TRUE(builder.ok());
  // Operations of one operand and no required arguments: whether the call succeeds is the limits' word alone.
  for (const Method& m : methods()) {
    if (m.params.size() != 1 || m.params[0].kind != ArgKind::operand) continue;
    const OperandLimit& limit = *limits_of(m.name).begin();
    for (int t = 0; t < kDataTypes; ++t) {
      const auto type = static_cast<DataType>(t);
      for (uint32_t rank = 0; rank <= 9; ++rank) {
        SCOPED_TRACE(std::string(m.name) + " " + std::string(name(type)) + " rank " + std::to_string(rank));
        const auto x =
            builder->input("x" + std::to_string(t * 10) + std::to_string(rank), {type, std::vector<uint32_t>(rank, 2)});
        if (!x.ok()) {
          EXPECT_GT(rank, 8u);
          continue;
        }
        const idl::Value args[] = {*x};
        const bool fits =
            (limit.allowed & only(type)) && int64_t{rank} >= limit.ranks.min && int64_t{rank} <= limit.ranks.max;
        const auto made = call(*builder->state(), m.name, args);
        EXPECT_EQ(made.ok(), fits) << (made.ok() ? "" : made.error().text());
        if (!made.ok()) {
          EXPECT_EQ(made.error().kind, ErrorKind::TypeError);
        }
      }
    }
  }
}

TEST(WebnnLimits, AreJsonForC) {
  nnex_ml_context* context = nullptr;
  ASSERT_EQ(nnex_ml_context_make(nullptr, 1, &context), nullptr);
  const Json all = Json::parse(nnex_ml_context_limits(context));
  nnex_ml_context_free(context);
  const OpSupportLimits& ours = op_support_limits();
  const auto same = [](const Json& json, const TensorLimits& limits) {
    EXPECT_EQ(json.size(), 2u);
    EXPECT_EQ(json["dataTypes"].get<std::set<std::string>>(), names(limits.dataTypes));
    EXPECT_EQ(ranks(json["rankRange"]), ranks(limits.rankRange.min, limits.rankRange.max));
  };
  EXPECT_EQ(all["preferredInputLayout"], ours.preferredInputLayout == InputOperandLayout::nchw ? "nchw" : "nhwc");
  EXPECT_EQ(all["maxTensorByteLength"], ours.maxTensorByteLength);
  same(all["input"], ours.input);
  same(all["constant"], ours.constant);
  same(all["output"], ours.output);
  EXPECT_EQ(all.size(), 5 + ours.operations.size());
  for (const OperationLimits& operation : ours.operations) {
    SCOPED_TRACE(operation.name);
    ASSERT_TRUE(all.contains(operation.name));
    EXPECT_EQ(all[operation.name].size(), operation.operands.size());
    for (const auto& [name, operand] : operation.operands) same(all[operation.name][name], operand);
  }
}

}  // namespace
}  // namespace nnex::ml
