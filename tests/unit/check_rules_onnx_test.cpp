// Every rule of ONNX models: models that break it in one place (tests/support/onnx_rules.h), and what a check says of
// each: that rule, that place, and nothing else.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "onnx_rules.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx_rules;

std::vector<Case> cases() {
  std::vector<Case> out;
  add_model_cases(out);
  add_name_cases(out);
  add_type_cases(out);
  add_tensor_cases(out);
  add_external_cases(out);
  add_sparse_cases(out);
  add_node_cases(out);
  add_function_cases(out);
  add_meaning_cases(out);
  return out;
}

CheckReport report_of(const Case& c) {
  std::vector<NamedBytes> files = c.beside;
  files.insert(files.begin(), NamedBytes{"model.onnx", c.bytes});
  auto report = check(c.beside.empty() ? ModelSource::memory(c.bytes) : ModelSource::memory(std::move(files)));
  EXPECT_TRUE(report.ok()) << report.error().text();
  return report.ok() ? std::move(*report) : CheckReport();
}

TEST(CheckRulesOnnx, EveryCaseTellsItsRuleAndPlaceAlone) {
  const std::vector<Case> all = cases();
  std::set<std::string> kinds;
  for (size_t i = 0; i < all.size(); ++i) {
    const Case& c = all[i];
    SCOPED_TRACE(fmt::format("case {}: {} at {}", i, c.rule, c.place));
    kinds.insert(c.bytes);
    const CheckReport report = report_of(c);
    ASSERT_FALSE(report.faults.empty());
    const Fault& f = report.faults[0];
    EXPECT_EQ(f.rule, "onnx/" + c.rule) << f.text();
    EXPECT_EQ(f.where, c.place) << f.text();
    for (size_t more = 1; more < report.faults.size(); ++more) ADD_FAILURE() << report.faults[more].text();
  }
  EXPECT_GE(kinds.size(), 300u);
}

TEST(CheckRulesOnnx, EveryRuleHasACase) {
  std::set<std::string> covered = {"onnx/message-size"};  // tests/check.py has a file of 5 GiB
  for (const Case& c : cases()) covered.insert("onnx/" + c.rule);
  for (const CheckRule& r : onnx_rules()) EXPECT_EQ(covered.erase(std::string(r.id)), 1u) << r.id;
  EXPECT_TRUE(covered.empty()) << *covered.begin() << " is no rule";
}

TEST(CheckRulesOnnx, WarningsAreForgivenUnlessOneIsStrict) {
  std::map<std::string, Severity> severities;
  for (const CheckRule& r : onnx_rules()) severities[std::string(r.id)] = r.severity;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.rule + " at " + c.place);
    CheckReport report = report_of(c);
    ASSERT_EQ(report.faults.size(), 1u);
    const bool forgiven = severities["onnx/" + c.rule] == Severity::warning;
    EXPECT_EQ(report.faults[0].forgiven(), forgiven);
    EXPECT_EQ(report.sound(), forgiven);
    report.be_strict();
    EXPECT_FALSE(report.sound());
  }
}

/// Several faults of one model, of unlike kinds, in whatever parts of it: all are told.
TEST(CheckRulesOnnx, AllOfSeveral) {
  const std::string w = tensor("w", {2, 3}, "few");
  const std::string bytes =
      msg(7, OnnxGraph{{node("Add", {"x", "nobody"}, {"a"}), node("Softmax", {"a"}, {"b"}, attr_int("axes", 1)),
                        node("Concat", {"x", "x"}, {"c"}), node("Gelu", {"w"}, {"d"}), node("Relu", {"x", "x"}, {"e"}),
                        node("MatMul", {"x", "x"}, {"m"}), relu("x", "y"), node("Neg", {"x"}, {"y"}, msg(3, "again"))},
                       {kX, msg(1, "z") + msg(2, tensor_type({1}, 99))},
                       {value("y", {2, 4}), value("nowhere", {1})},
                       {w, w}}
                 .bytes()) +
      opset("", 17) + opset("f", 1) + msg(14, msg(1, "k") + msg(2, "a")) + msg(14, msg(1, "k") + msg(2, "b")) +
      function("g", {"a", "a"}, {"b"}, {relu("late", "b")});
  const CheckReport report = report_of({"", "", bytes});
  std::multiset<std::string> found;
  for (const Fault& f : report.faults) found.insert(f.rule + " at " + f.where);
  const std::multiset<std::string> needed = {"onnx/ir-version at ",
                                             "onnx/metadata-twice at ",
                                             "onnx/type-element at input 'z'",
                                             "onnx/tensor-short at initializer 'w'",
                                             "onnx/tensor-short at initializer 'w'",
                                             "onnx/initializer-twice at initializer 'w'",
                                             "onnx/input-unknown at node 'a' (Add)",
                                             "onnx/attribute-unknown at node 'b' (Softmax) > attribute 'axes'",
                                             "onnx/attribute-required at node 'c' (Concat) > attribute 'axis'",
                                             "onnx/operator-later at node 'd' (Gelu)",
                                             "onnx/input-count at node 'e' (Relu)",
                                             "onnx/value-twice at node 'again' (Neg)",
                                             "onnx/output-unknown at output 'nowhere'",
                                             "onnx/input-twice at function 'f:g:'",
                                             "onnx/input-unknown at function 'f:g:' > node 'b' (Relu)",
                                             "onnx/operands at node 'm' (MatMul)",
                                             "onnx/declared at output 'y'"};
  EXPECT_EQ(found, needed);
}

/// Behind a node that does not take the type it is given nothing is told of the types that come of it.
TEST(CheckRulesOnnx, WhatFollowsIsSilent) {
  constexpr int64_t kComplex = 14;
  const std::string conv = attr_int("group", 1);
  const CheckReport report = report_of({"", "",
                                        model({{node("Conv", {"x", "w"}, {"a"}, conv), relu("a", "b"),
                                                node("MaxPool", {"b"}, {"c"}, ints_attr("kernel_shape", {2, 2})),
                                                node("Neg", {"c"}, {"d"}), relu("d", "y")},
                                               {value("x", {1, 1, 8, 8}, kComplex)},
                                               {value("y", {1, 1, 5, 5})},
                                               {tensor("w", {1, 1, 3, 3}, std::string(72, '\0'), kComplex)}})});
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.faults[0].rule, "onnx/operand-type");
  EXPECT_EQ(report.faults[0].where, "node 'a' (Conv)");
}

}  // namespace
