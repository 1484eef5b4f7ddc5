// Where the rows of a batch meet, found in graphs.

#include "nnex/rows.h"

#include <gtest/gtest.h>

#include "nnex/edit.h"
#include "nnex/graph.h"

namespace {

using nnex::Graph;
using nnex::Model;

std::string met(const std::string& body, bool optimize = true) {
  const auto graph = Graph::parse("graph g(x: f32[N,4]) -> (y) { " + body + " }");
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  nnex::LoadOptions options;
  options.optimize = optimize;
  const auto model = Model::compile(*graph, options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  return nnex::where_rows_meet(*model, "N");
}

TEST(Rows, StayApart) {
  for (bool optimize : {true, false}) {
    EXPECT_EQ(met("y = relu(x);", optimize), "");
    EXPECT_EQ(met("m = max_reduce(x, i64[1](1)); y = sub(x, m);", optimize), "");
    EXPECT_EQ(
        met("w = f32[4,2](1, 2, 3, 4, 5, 6, 7, 8); p = matmul(x, w); s = sqrt(f32[2](4, 9)); y = mul(p, s);", optimize),
        "");
    EXPECT_EQ(met("s = shape(x); f = reshape(x, i64[1](-1)); y = reshape(f, s);", optimize), "");
  }
}

TEST(Rows, MeetWhereWhatIsMadeHasNone) {
  for (bool optimize : {true, false}) {
    EXPECT_NE(met("m = max_reduce(x, i64[2](0, 1)); b = gt(m, 1.0); d = div(x, 255.0); y = select(b, d, x);", optimize)
                  .find("of all rows"),
              std::string::npos);
    EXPECT_NE(met("t = transpose(x, axes = [1, 0]); g = matmul(t, x); y = matmul(x, g);", optimize).find("f32[4,4]"),
              std::string::npos);
    EXPECT_NE(met("t = transpose(x, axes = [1, 0]); g = matmul(x, t); y = matmul(g, x);", optimize).find("f32[N,N]"),
              std::string::npos);
  }
}

TEST(Rows, AnExtentThatIsNotThereIsTold) {
  const auto model = Model::compile(*Graph::parse("graph g(x: f32[N,4]) -> (y) { y = relu(x); }"));
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(nnex::where_rows_meet(*model, "M"), "no input has an extent 'M'");
}

TEST(Rows, ABatchThatMixesIsRefusedWhateverItsNumbers) {
  auto graph = Graph::parse(
      "graph g(x: f32[1,4]) -> (y) { m = max_reduce(x, i64[2](0, 1)); b = gt(m, 1e9); d = div(x, 255.0); "
      "y = select(b, d, x); }");
  ASSERT_TRUE(graph.ok());
  const auto batched = nnex::set_batch(*graph, 3);
  ASSERT_FALSE(batched.ok());
  EXPECT_EQ(batched.error().code(), nnex::Code::unsupported);
  EXPECT_NE(batched.error().message().find("not independent"), std::string::npos) << batched.error().text();
  EXPECT_FALSE(nnex::open_batch(*graph, "N").ok());
}

TEST(Rows, ABatchIsOpenUnderAName) {
  auto graph = Graph::parse("graph g(x: f32[1,4]) -> (y) { y = relu(x); }");
  ASSERT_TRUE(graph.ok());
  for (const char* name : {"", "3", "-1", "N*N", "2*H", "f32]", "?"})
    EXPECT_FALSE(nnex::open_batch(*graph, name).ok()) << name;
  EXPECT_TRUE(nnex::open_batch(*graph, "batch_size").ok());
  EXPECT_FALSE(nnex::rename(*graph, {{"batch_size", "3"}}).ok());
  EXPECT_TRUE(nnex::rename(*graph, {{"batch_size", "N"}}).ok());
}

}  // namespace
