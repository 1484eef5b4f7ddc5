// Whether what was written computes the same: what a proof says of models that do and of models that do not.

#include "api/prove.h"

#include <gtest/gtest.h>

namespace nnex {
namespace {

ModelSource nnef(const std::string& body) {
  return ModelSource::memory("version 1.0;\nextension KHR_enable_operator_expressions;\n" + body, "x.nnef");
}

ModelSource unary(const std::string& y, const std::string& shape = "[2,3]") {
  return nnef("graph g(x) -> (y) { x = external(shape = " + shape + "); y = " + y + "; }");
}

Proof proof_of(const ModelSource& a, const ModelSource& b) {
  auto proof = prove(a, {}, b, {}, {});
  EXPECT_TRUE(proof.ok()) << proof.error().text();
  return proof.ok() ? std::move(*proof) : Proof{};
}

const Probe& probe(const Proof& proof, std::string_view name) {
  for (const Probe& p : proof.probes)
    if (p.name == name) return p;
  static const Probe none;
  ADD_FAILURE() << "no run '" << name << "'";
  return none;
}

TEST(Prove, OneFunctionInTwoForms) {
  const Proof proof = proof_of(unary("x * 2.0 + 1.0"), unary("x + x + 1.0"));
  EXPECT_TRUE(proof.holds());
  EXPECT_EQ(proof.unproven, "");
  ASSERT_EQ(proof.probes.size(), 3U);  // no extents are open
  for (const Probe& p : proof.probes) {
    EXPECT_EQ(p.outcome, ProbeOutcome::same) << p.name;
    ASSERT_EQ(p.outputs.size(), 1U);
    EXPECT_EQ(p.outputs[0].difference.count, 6);
  }
}

TEST(Prove, AnotherConstant) {
  const Proof proof = proof_of(unary("x * 2.0"), unary("x * 2.01"));
  EXPECT_FALSE(proof.holds());
  EXPECT_EQ(probe(proof, "usual").outcome, ProbeOutcome::differs);
}

TEST(Prove, WhatDiffersAtAnEdgeAlone) {  // a sign of zero decides: 1 / x
  const Proof proof = proof_of(unary("1.0 / x", "[64]"), unary("1.0 / (x + 0.0)", "[64]"));
  EXPECT_EQ(probe(proof, "usual").outcome, ProbeOutcome::same);
  EXPECT_EQ(probe(proof, "edges").outcome, ProbeOutcome::differs);
  EXPECT_FALSE(proof.holds());
}

TEST(Prove, NotANumberKeepsNothingFromBeingWritten) {
  const Proof proof = proof_of(unary("select(x == x, x, 0.0)", "[64]"), unary("copy(x)", "[64]"));
  EXPECT_EQ(probe(proof, "NaN and infinity").outcome, ProbeOutcome::differs);
  EXPECT_FALSE(probe(proof, "NaN and infinity").counts);
  EXPECT_TRUE(proof.holds());
}

TEST(Prove, AFewNumbersHaveANotANumberAmongThem) {
  for (const char* shape : {"[1]", "[3]"}) {
    const Proof proof = proof_of(unary("select(x == x, x, 0.0)", shape), unary("copy(x)", shape));
    EXPECT_EQ(probe(proof, "NaN and infinity").outcome, ProbeOutcome::differs) << shape;
  }
}

TEST(Prove, AnotherNumberOfOutputs) {
  const Proof proof = proof_of(unary("x * 2.0"),
                               nnef("graph g(x) -> (y, z) { x = external(shape = [2,3]); y = x * 2.0; z = copy(x); }"));
  EXPECT_FALSE(proof.holds());
  EXPECT_EQ(probe(proof, "usual").note, "found 2 outputs; needed 1");
}

TEST(Prove, BothBranchesOfACondition) {
  const auto choice = [](const std::string& yes, const std::string& no) {
    return ModelSource::memory(
        "<ir_version: 8, opset_import: [\"\" : 17]>\ng (bool c, float[4] x) => (float[4] y) { y = If (c) <then_branch "
        "= "
        "t () => (float[4] a) { a = " +
            yes + " (x) }, else_branch = e () => (float[4] b) { b = " + no + " (x) }> }",
        "x.onnxtxt");
  };
  EXPECT_TRUE(proof_of(choice("Sin", "Neg"), choice("Sin", "Neg")).holds());
  EXPECT_FALSE(proof_of(choice("Sin", "Neg"), choice("Cos", "Neg")).holds());
  EXPECT_FALSE(proof_of(choice("Sin", "Neg"), choice("Sin", "Abs")).holds());
}

TEST(Prove, OtherShapes) {
  const Proof proof = proof_of(unary("x * 2.0"), unary("reshape(x * 2.0, shape = [3,2])"));
  EXPECT_FALSE(proof.holds());
  EXPECT_NE(probe(proof, "usual").outputs.at(0).difference.mismatch, "");
}

}  // namespace
}  // namespace nnex
