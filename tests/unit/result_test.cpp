#include "nnex/result.h"

#include <gtest/gtest.h>

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

TEST(Error, InnerPlaceWinsAndTasksStackOutwards) {
  Error e =
      Error(Code::fault, "index 7 is outside").at("node 'a'").during("running 'a'").at("node 'b'").during("serving");
  EXPECT_EQ(e.text(), "node 'a': index 7 is outside\n  while running 'a'\n  while serving");
}

}  // namespace
}  // namespace nnex
