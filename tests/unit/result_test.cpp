#include "nnex/result.h"

#include <gtest/gtest.h>

#include "base/nearest.h"
#include "base/shorten.h"
#include "base/try.h"

namespace nnex {
namespace {

Result<int> half_of(int x) {
  if (x % 2) return Error(Code::invalid_argument, "found 3; needed an even number");
  return x / 2;
}

Result<int> quarter_of(int x) {
  NNEX_ASSIGN(int half, half_of(x));
  return half_of(half);
}

TEST(Result, HandsErrorsUp) {
  EXPECT_EQ(*quarter_of(8), 2);
  ASSERT_FALSE(quarter_of(6).ok());
  EXPECT_EQ(quarter_of(6).error().code(), Code::invalid_argument);
}

TEST(Result, AssignmentLeavesNothingBehind) {
  Status status = Error(Code::fault, "first"), ok, next = Error(Code::limit, "second");
  status = std::move(next);
  EXPECT_EQ(status.error().message(), "second");
  EXPECT_TRUE(next.ok());  // NOLINT(bugprone-use-after-move): not the error that it replaced
  status = std::move(ok);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(ok.ok());  // NOLINT(bugprone-use-after-move)

  Result<std::string> text = std::string("a text of more than fifteen letters"), failed = Error(Code::fault, "none");
  failed = std::move(text);
  EXPECT_EQ(*failed, "a text of more than fifteen letters");
  failed = Error(Code::limit, "too long");
  EXPECT_EQ(failed.error().code(), Code::limit);
}

TEST(Error, InnerPlaceWinsAndTasksStackOutwards) {
  Error e =
      Error(Code::fault, "index 7 is outside").at("node 'a'").during("running 'a'").at("node 'b'").during("serving");
  EXPECT_EQ(e.text(), "node 'a': index 7 is outside\n  while running 'a'\n  while serving");
}

TEST(Error, RemediesFollowTheSentence) {
  Error e = Error(Code::invalid_argument, "'x' exists")
                .helped_by({"overwrite", "replace", "replaces it"})
                .at("model")
                .during("saving");
  EXPECT_EQ(e.message(), "'x' exists");
  EXPECT_EQ(e.tasks(), std::vector<std::string>{"saving"});
  EXPECT_EQ(e.text(), "model: 'x' exists; option overwrite = replace replaces it\n  while saving");
  e = std::move(e).worded("C1: 'x' exists").helped_by({"name", "", "gives it another"});
  const auto flags = [](const Remedy& r) { return "--" + r.option; };
  EXPECT_EQ(e.text(flags), "model: C1: 'x' exists; --overwrite replaces it; --name gives it another\n  while saving");
  e = std::move(e).worded("two faults:\n  a\n  b");
  EXPECT_EQ(e.text(flags),
            "model: two faults:\n  a\n  b\n  --overwrite replaces it\n  --name gives it another\n  while saving");
}

/// "1, 2, ... n"
std::string numbers(int n, const char* between) {
  std::string out;
  for (int i = 1; i <= n; ++i) out += (i > 1 ? between : "") + std::to_string(i);
  return out;
}

TEST(Error, LongListsAndNamesAreCutInEveryMessage) {
  const std::string prose(180, 'p'), name(5000, 'n');
  const struct {
    const char* what;
    std::string message, expected;
  } rows[] = {
      {"short messages stay", "axes [1, 2, 3]", "axes [1, 2, 3]"},
      {"lists of 16 stay", prose + " [" + numbers(16, ", ") + "]", prose + " [" + numbers(16, ", ") + "]"},
      {"longer ones are cut", prose + " [" + numbers(100000, ", ") + "]; needed 1",
       prose + " [1, 2, 3, 4, 5, 6, 7, 8, ... (100000 in all)]; needed 1"},
      {"without spaces", prose + " f32[" + numbers(100, ",") + "]", prose + " f32[1,2,3,4,5,6,7,8, ... (100 in all)]"},
      {"lists in a list", prose + " [(0,1), " + numbers(20, ", ") + "]",
       prose + " [(0,1), 1, 2, 3, 4, 5, 6, 7, ... (21 in all)]"},
      {"brackets that match nothing", prose + "] ([" + numbers(3, ","), prose + "] ([" + numbers(3, ",")},
      {"names", "no input '" + name + "'; needed\n'" + prose + "'",
       "no input '" + name.substr(0, 1190) + " ... (" + std::to_string(5019 - 1600) + " bytes left out) ... " +
           name.substr(0, 391) + "'; needed\n'" + prose + "'"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const Error e = Error(Code::invalid_model, row.message).at(row.message).during(row.message);
    EXPECT_EQ(e.message(), row.expected);
    EXPECT_EQ(e.where(), row.expected);
    EXPECT_EQ(e.text(), row.expected + ": " + row.expected + "\n  while " + row.expected);
  }
  std::string letters(1199, 'a');
  for (int i = 0; i < 1000; ++i) letters += "\xC3\xA4";  // of two bytes: none is cut in half
  const std::string cut = shortened(letters);
  EXPECT_EQ(cut.substr(0, 1203), std::string(1199, 'a') + " ...");
  EXPECT_EQ(cut.substr(cut.find(") ... ") + 6, 2), "\xC3\xA4");
}

TEST(Nearest, WhatWasProbablyMeant) {
  const std::vector<std::string_view> names = {"picture", "mask", "input_ids", "input_mask"};
  const struct {
    const char *found, *meant;
  } rows[] = {{"pictrue", "picture"},     {"Mask", "mask"}, {"pic", "picture"}, {"input", ""}, {"x", ""}, {"", ""},
              {"input_idx", "input_ids"}, {"nothing", ""}};
  for (const auto& row : rows) EXPECT_EQ(nearest(row.found, names), row.meant) << row.found;
  EXPECT_EQ(no_such("input", "pic", names),
            "no input 'pic' (did you mean 'picture'?); the model has: 'picture' 'mask' 'input_ids' 'input_mask'");
  EXPECT_EQ(no_such("state", "s", {}), "no state 's'; the model has none");
}

}  // namespace
}  // namespace nnex
