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

TEST(Rows, MeetWhereANodeWorksAlongThem) {
  const struct {
    const char *body, *says;
  } rows[] = {
      {"r = relu(x); y = cum_sum(r, i64[](0));", "works along the rows"},
      {"y = reverse(x, axes = [0]);", "works along the rows"},
      {"y = slice(x, i64[1](-1), i64[1](-9223372036854775807), i64[1](0), i64[1](-1));", "works along the rows"},
      {"y = slice(x, i64[1](0), i64[1](2), i64[1](0));", "not known to keep rows"},
      {"y = l2_normalization(x, axes = [0]);", "works along the rows"},
      {"y = mean_variance_normalization(x, axes = [0]);", "works along the rows"},
      {"y = softmax(x, axes = [0]);", "works along the rows"},
      {"y = layer_normalization(x, f32[4](1, 1, 1, 1), axes = [0], to_end = true);", "works along the rows"},
      {"t = transpose(x, axes = [1, 0]); u = cum_sum(t, i64[](1)); y = transpose(u, axes = [1, 0]);",
       "works along the rows"},
      {"f = reshape(x, i64[1](-1)); c = cum_sum(f, i64[](0)); y = reshape(c, i64[2](-1, 4));", "works along the rows"},
      {"u = reshape(x, i64[4](1, 1, -1, 4)); c = conv(u, f32[1,1,3,1](1, 1, 1), padding = [(1, 1), (0, 0)]); "
       "y = reshape(c, i64[2](-1, 4));",
       "works along the rows"},
      {"u = reshape(x, i64[3](1, -1, 4)); c = max_pool(u, size = [1, 3, 1], padding = [(0, 0), (1, 1), (0, 0)]); "
       "y = reshape(c, i64[2](-1, 4));",
       "works along the rows"},
      {"y = reshape(transpose(x, axes = [1, 0]), i64[2](-1, 4));", "works along the rows"},
      {"t = transpose(reshape(x, i64[3](-1, 2, 2)), axes = [1, 0, 2]); m = relu(reshape(t, i64[2](-1, 2))); "
       "y = reshape(m, i64[3](-1, 2, 2));",
       "works along the rows"},
      {"y = pad(x, i64[4](1, 0, -1, 0), 0.0);", "works along the rows"},
      {"p = pad(x, i64[4](1, 0, 0, 0), 0.0); y = slice(p, i64[1](0), i64[1](-1), i64[1](0));", "works along the rows"},
      {"i = argmax_reduce(x, axes = [1], keepdims = false); y = gather(x, i);", "works along the rows"},
      {"(v, i) = top_k(x, i64[1](1), axis = 0); y = sub(x, v);", "of all rows"},
      {"s = shape(x); n = cast(gather(s, i64[](0)), to = 'f32'); d = mul(x, n); y = relu(d);",
       "how many rows there are"},
      {"y = scatter_nd(x, i64[1,1](0), f32[1,4](1, 2, 3, 4));", "not known to keep rows"},
      {"n = cast(range(i64[](0), gather(shape(x), i64[](0)), i64[](1)), to = 'f32'); y = add(x, unsqueeze(n, "
       "i64[1](1)));",
       "how many rows there are"},
  };
  for (bool optimize : {true, false}) {
    for (const auto& row : rows) {
      SCOPED_TRACE(row.body);
      EXPECT_NE(met(row.body, optimize).find(row.says), std::string::npos) << met(row.body, optimize);
    }
  }
}

TEST(Rows, StayApartWhereTheyMoveTogether) {
  const char* bodies[] = {
      "y = cum_sum(x, i64[](1));",
      "y = softmax(add(x, f32[4](1, 2, 3, 4)), axes = [1]);",
      "y = reverse(x, axes = [1]);",
      "t = transpose(x, axes = [1, 0]); u = cum_sum(t, i64[](0)); y = transpose(u, axes = [1, 0]);",
      "u = reshape(x, i64[4](-1, 1, 2, 2)); c = conv(u, f32[3,1,1,1](1, 2, 3)); y = reshape(c, i64[2](-1, 12));",
      "u = reshape(x, i64[3](-1, 2, 2)); v = reshape(u, i64[2](-1, 2)); w = matmul(v, f32[2,3](1, 2, 3, 4, 5, 6)); "
      "y = reshape(w, i64[3](-1, 2, 3));",
      "t = transpose(reshape(x, i64[3](-1, 2, 2)), axes = [1, 0, 2]); m = matmul(reshape(t, i64[2](-1, 2)), "
      "f32[2,3](1, 2, 3, 4, 5, 6)); y = transpose(reshape(m, i64[3](2, -1, 3)), axes = [1, 0, 2]);",
      "u = reshape(x, i64[3](-1, 2, 2)); a = softmax(matmul(u, u, transposeB = true), axes = [2]); y = matmul(a, u);",
      "u = reshape(x, i64[3](-1, 2, 2)); y = einsum(u, u, equation = 'bij,bkj->bik');",
      "i = argmax_reduce(x, axes = [1], keepdims = false); y = gather(f32[4,2](1, 2, 3, 4, 5, 6, 7, 8), i);",
      "s = slice(x, i64[1](1), i64[1](3), i64[1](1)); y = concat(s, x, axis = 1);",
      "z = constant_of_shape(concat(gather(shape(x), i64[1](0)), i64[1](2), axis = 0)); y = concat(x, z, axis = 1);",
      "e = expand(f32[1,1](3), concat(gather(shape(x), i64[1](0)), i64[1](1), axis = 0)); y = mul(x, e);",
      "y = layer_normalization(x, f32[4](1, 1, 1, 1), axes = [1]);",
      "(v, i) = top_k(x, i64[1](2), axis = 1); y = mul(v, 2.0);",
      "y = pad(x, i64[4](0, 1, 0, 1), 0.0);",
      "m = mean_reduce(x, i64[1](1), keepdims = false); y = unsqueeze(m, i64[1](1));",
  };
  for (bool optimize : {true, false}) {
    for (const char* body : bodies) {
      SCOPED_TRACE(body);
      EXPECT_EQ(met(body, optimize), "");
    }
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
