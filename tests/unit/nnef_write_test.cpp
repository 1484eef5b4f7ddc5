// What the writer of NNEF says must read back to the same network.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "api/export.h"
#include "api/read.h"
#include "graph/text/build.h"
#include "nnef_written.h"
#include "nnex/model.h"
#include "numbers_for.h"
#include "run/compile.h"
#include "standards/nnef/model.h"
#include "standards/nnef/read_tensor.h"
#include "standards/nnef/weights.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using nnef_format::Written;

Result<Written> written(const std::string& text, bool custom = false) {
  NNEX_ASSIGN(ir::Graph graph, graph_text::read_graph(text, "test"));
  return to_nnef(graph, {"", custom});
}

void expect_same(const Value& got, const Value& want) {
  const Tensor &a = *got.tensor(), &b = *want.tensor();
  ASSERT_EQ(a.shape().text(), b.shape().text());
  for (int64_t i = 0; i < b.count(); ++i) {
    const double x = real_at(a, i), y = real_at(b, i);
    if (std::isnan(y)) {
      EXPECT_TRUE(std::isnan(x)) << i;
    } else {
      EXPECT_LE(std::fabs(x - y), 1e-5 * (1 + std::fabs(y))) << i << ": " << x << " and " << y;
    }
  }
}

/// Runs both and compares; the document for messages.
void expect_equal(ir::Graph graph, const Written& w) {
  auto back = nnef_format::read_nnef(container_of(w));
  ASSERT_TRUE(back.ok()) << back.error().text() << "\n" << w.graph;
  auto before = compile(std::move(graph)), after = compile(std::move(back).value());
  ASSERT_TRUE(before.ok()) << before.error().text();
  ASSERT_TRUE(after.ok()) << after.error().text() << "\n" << w.graph;
  const std::vector<Value> in = inputs_of(*before);
  Session first = before->session(), second = after->session();
  for (int step = 0; step < 2; ++step) {
    auto want = first.run(in), got = second.run(in);
    ASSERT_TRUE(want.ok()) << want.error().text();
    ASSERT_TRUE(got.ok()) << got.error().text() << "\n" << w.graph;
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < got->size(); ++i) expect_same((*got)[i], (*want)[i]);
  }
}

void expect_round_trip(const std::string& text) {
  SCOPED_TRACE(text);
  auto w = written(text);
  ASSERT_TRUE(w.ok()) << w.error().text();
  auto graph = graph_text::read_graph(text, "test");
  expect_equal(std::move(graph).value(), *w);
  // The document written again is the document.
  auto back = nnef_format::read_nnef(container_of(*w));
  ASSERT_TRUE(back.ok());
  auto again = to_nnef(*back, {});
  ASSERT_TRUE(again.ok()) << again.error().text();
  auto once_more = nnef_format::read_nnef(container_of(*again));
  ASSERT_TRUE(once_more.ok()) << once_more.error().text();
}

std::string graph(const std::string& params, const std::string& body) {
  return "graph g(" + params + ") -> (y) { " + body + " }";
}

TEST(NnefWrite, Broadcasting) {
  for (const char* body :
       {"y = add(x, f32[3](1.0, 2.0, 3.0));", "y = mul(f32[2,1](1.0, -2.0), x);", "y = sub(x, f32[](0.5));",
        "y = max(f32[1](0.25), x);", "y = clamp(x, f32[](-1.0), f32[](1.0));", "y = clamp(x, f32[](-1.0));",
        "b = gt(x, f32[3](0.0, 1.0, -1.0)); y = select(b, x, f32[](0.0));", "y = prelu(x, f32[3](0.1, 0.2, 0.3));",
        "y = pow(x, i64[](2));", "y = add_n(x, f32[3](1.0, 2.0, 3.0), f32[](1.0));"})
    expect_round_trip(graph("x: f32[2,2,3]", body));
}

/// NNEF computes with reals alone: whole numbers are some as long as float32 holds them.
TEST(NnefWrite, IntegersAsReals) {
  for (const char* body :
       {"y = add(x, z);", "y = sub(x, i64[](1));", "a = mul(x, z); y = max(a, i64[](2));", "y = eq(x, z);",
        "y = lt(x, i64[2](1, 2));", "y = sum_reduce(x, axes = [1]);", "y = abs(z);",
        "y = argmax_reduce(x, axes = [1]);", "y = matmul(x, z);", "y = pad(x, padding = [0, 1, 0, 0]);"})
    expect_round_trip(graph("x: i64[2,2], z: i64[2,2]", body));
  const auto added = written(graph("x: i64[2], z: i64[2]", "y = add(x, z);"));
  ASSERT_TRUE(added.ok()) << added.error().text();
  ASSERT_EQ(added->conditions.size(), 1U);
  EXPECT_EQ(added->conditions[0],
            "whole numbers of add 'y' stay within 16777216 either way: NNEF computes them as reals");
  for (const char* proven : {"y = max(x, z);", "y = lt(x, z);"}) {
    const auto w = written(graph("x: u8[2], z: u8[2]", proven));
    ASSERT_TRUE(w.ok()) << w.error().text();
    EXPECT_TRUE(w->conditions.empty()) << proven;
  }
  EXPECT_FALSE(written(graph("x: u8[2], z: u8[2]", "y = add(x, z);")).ok()) << "255 + 1 is 0 there";
}

/// Reals are limited before they become integers of few bits, as integers of NNEF have no width.
TEST(NnefWrite, RealsToFewBits) {
  const auto cut = written(graph("x: f32[2]", "y = cast(x, to = 'u8');"));
  ASSERT_TRUE(cut.ok()) << cut.error().text();
  EXPECT_NE(cut->graph.find("clamp(x, 0.0, 255.0)"), std::string::npos) << cut->graph;
  const auto limited = written(graph("x: f32[2]", "a = clamp(x, f32[](1.0), f32[](9.0)); y = cast(a, to = 'u8');"));
  ASSERT_TRUE(limited.ok()) << limited.error().text();
  EXPECT_EQ(limited->graph.find("255.0"), std::string::npos) << limited->graph;
  EXPECT_FALSE(written(graph("x: f32[2]", "y = cast(x, to = 'u4');")).ok()) << "which keeps low bits";
}

TEST(NnefWrite, LabelsAreNamesOfFiles) {
  const std::string name(300, 'w');
  const auto w = written(graph("x: f32[2]", name + " = f32[2](0.5, 1.5); y = add(x, " + name + ");"));
  ASSERT_TRUE(w.ok()) << w.error().text();
  ASSERT_EQ(w->variables.size(), 1U);
  EXPECT_EQ(w->variables[0].first, std::string(200, 'w'));
}

TEST(NnefWrite, WindowsOfSomeAxes) {
  expect_round_trip(graph("x: f32[1,4,2,2]", "y = local_response_normalization(x, size = [1, 3], alpha = 0.5);"));
}

TEST(NnefWrite, Windows) {
  const std::string filter = "f32[2,1,2,2](1.0, 2.0, -1.0, 0.5, 0.25, 3.0, -2.0, 1.0)";
  for (const std::string& body : {
           "y = conv(x, " + filter + ", groups = 2);",
           "y = conv(x, " + filter + ", f32[2](0.5, -0.5), groups = 2, padding = [(1, 0), (0, 1)], stride = [2, 1]);",
           "y = conv(x, " + filter + ", groups = 2, auto_pad = 'same_upper');",
           "y = conv(x, " + filter + ", groups = 2, auto_pad = 'same_lower', stride = [2, 2]);",
           "y = deconv(x, " + filter + ", groups = 2, stride = [2, 2]);",
           "y = deconv(x, " + filter + ", f32[2](1.0, 2.0), groups = 2, stride = [2, 3], output_padding = [1, 2]);",
           std::string("y = max_pool(x, size = [1, 1, 2, 2], border = 'ignore');"),
           std::string("y = max_pool(x, size = [1, 1, 2, 2], border = 'ignore', ceil = true, stride = [1, 1, 2, 2]);"),
           std::string("y = box(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)]);"),
           std::string("y = box(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)], border = 'ignore', "
                       "divisor = 'inside');"),
           std::string("y = box(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)], border = 'ignore', "
                       "divisor = 'padded');"),
       })
    expect_round_trip(graph("x: f32[1,2,5,5]", body));
}

TEST(NnefWrite, Moves) {
  for (const char* body :
       {"y = reshape(x, i64[2](4, -1));", "y = flatten(x);", "y = transpose(x);", "y = transpose(x, axes = [1, 0, 2]);",
        "y = slice(x, i64[1](-1), i64[1](-9), i64[1](2), i64[1](-2));",
        "y = slice(x, i64[1](1), i64[1](99), i64[1](1));", "y = slice(x, i64[2](0, 0), i64[2](1, 2));",
        "y = concat(x, x, axis = -1);", "y = stack(x, x, axis = -1);",
        "a, b = split(x, i64[2](1, 3), axis = -1); y = concat(b, a, axis = 2);",
        "y = pad(x, i64[2](1, 2), f32[](0.5), i64[1](1));", "y = tile(x, i64[3](1, 2, 1));",
        "y = expand(x, i64[4](2, 2, 3, 4));", "y = gather(x, i64[2](-1, 0), axis = -1);",
        "y = squeeze(unsqueeze(x, i64[1](-1)));", "y = resize(x, none, f32[3](1.0, 1.0, 2.0));",
        "y = cast(x, to = 'i64');", "y = cast(x, to = 'bool');"})
    expect_round_trip(graph("x: f32[2,3,4]", body));
}

TEST(NnefWrite, SumsAndProducts) {
  for (const char* body :
       {"y = sum_reduce(x, i64[1](-1));", "y = mean_reduce(x, keepdims = false);",
        "y = max_reduce(x, i64[1](1), keepdims = false);", "y = argmax_reduce(x, axes = [-1], keepdims = false);",
        "y = softmax(x, axes = [-1]);", "y = matmul(x, f32[4,1](1.0, 2.0, 3.0, 4.0));",
        "y = matmul(x, f32[4](1.0, 2.0, 3.0, 4.0));", "m, v = moments(x, i64[1](2)); y = add(m, v);",
        "y = batch_normalization(x, f32[3](0.0, 1.0, 2.0), f32[3](1.0, 2.0, 3.0), f32[3](0.0, 1.0, 0.0));",
        "y = l2_normalization(x, axes = [-1], epsilon = 0.5);"})
    expect_round_trip(graph("x: f32[2,3,4]", body));
  expect_round_trip(graph("x: f32[2,3]", "y = linear(x, f32[1,3](1.0, 2.0, 3.0), f32[1](0.5));"));
  expect_round_trip(
      graph("x: f32[2,3]", "y = linear(x, f32[3,1](1.0, 2.0, 3.0), f32[1](0.5), transposeB = false, alpha = 2.0);"));
}

TEST(NnefWrite, NamesBecomeIdentifiers) {
  auto w = written("graph g(x 'in/0:0': f32[2]) -> (y '2 out') { a 'fragment' = exp(x); y '2 out' = neg(a); }");
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_NE(w->graph.find("graph g(in_0_0) -> (t2_out)"), std::string::npos) << w->graph;
  EXPECT_NE(w->graph.find("fragment_ = exp(in_0_0);"), std::string::npos) << w->graph;
}

TEST(NnefWrite, IdentifiersKeepTheirNames) {
  auto w = written(
      "graph g(a 'a.b': f32[2], b 'a_b': f32[2], c 'a:b': f32[2]) -> (y 'o.1', z 'o_1') "
      "{ d = sub(a, b); y 'o.1' = add(d, c); z 'o_1' = neg(c); }");
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_NE(w->graph.find("graph g(a_b_1, a_b, a_b_2) -> (o_1_1, o_1)"), std::string::npos) << w->graph;
  EXPECT_EQ(w->renamed,
            "names in NNEF are letters, digits and '_', each once: input 'a.b' is 'a_b_1', input 'a:b' is 'a_b_2', "
            "output 'o.1' is 'o_1_1'");
}

TEST(NnefWrite, WhatNnefLacksIsNamed) {
  auto w = written(graph("x: f32[2]", "a = cum_prod(x, i64[](0)); b = cum_prod(a, i64[](0)); y = atan(b);"));
  ASSERT_FALSE(w.ok());
  EXPECT_EQ(w.error().code(), Code::unsupported);
  EXPECT_NE(w.error().message().find("2 operations"), std::string::npos) << w.error().text();
  auto custom = written(graph("x: f32[2]", "a = cum_prod(x, i64[](0)); b = cum_prod(a, i64[](0)); y = atan(b);"), true);
  ASSERT_TRUE(custom.ok()) << custom.error().text();
  EXPECT_NE(custom->graph.find("fragment nnex_cum_prod("), std::string::npos) << custom->graph;
  auto symbolic = written(graph("x: f32[N]", "y = exp(x);"));
  ASSERT_FALSE(symbolic.ok());
  EXPECT_NE(symbolic.error().text().find("; LoadOptions::symbols or Graph::set_symbols() fixes them"),
            std::string::npos);
}

TEST(NnefWrite, IntegersHaveNoWidth) {
  const auto cast = [](const char* from, const char* to) {
    return graph(std::string("x: ") + from + "[2]", std::string("y = cast(x, to = '") + to + "');");
  };
  const struct {
    const char *from, *to;
    bool fine;
  } rows[] = {{"i64", "i32", false}, {"u64", "i32", false}, {"u32", "i32", false}, {"i32", "u32", false},
              {"i64", "u32", false}, {"i64", "u8", false},  {"u64", "f32", false}, {"i32", "i64", true},
              {"u8", "i32", true},   {"u16", "u32", true},  {"i64", "u64", true},  {"u32", "f32", true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.from) + " to " + row.to);
    const auto w = written(cast(row.from, row.to));
    EXPECT_EQ(w.ok(), row.fine);
    EXPECT_TRUE(w.ok() || w.error().code() == Code::unsupported) << w.error().text();
    EXPECT_TRUE(written(cast(row.from, row.to), true).ok());
  }
}

TEST(NnefWrite, BitsOfDoublesAreNotKept) {
  EXPECT_TRUE(written(graph("x: f32[2]", "y = bit_cast(x, to = 'i32');"), true).ok());
  const auto w = written(graph("x: f64[2]", "y = bit_cast(x, to = 'i64');"), true);
  ASSERT_FALSE(w.ok());
  EXPECT_EQ(w.error().code(), Code::unsupported);
}

TEST(NnefWrite, RealsHaveNoWidth) {
  const auto changes = [](const char* type) {
    auto w = written(graph(std::string("x: ") + type + "[2]", "y = neg(x);"));
    EXPECT_TRUE(w.ok()) << w.error().text();
    return w.ok() ? w->changes : std::vector<std::string>();
  };
  EXPECT_EQ(changes("f32"), std::vector<std::string>());
  EXPECT_EQ(changes("f64"), std::vector<std::string>{"reals of f64 become float32, which NNEF's reals are"});
  EXPECT_EQ(changes("f16"), std::vector<std::string>{"reals of f16 become float32, which NNEF's reals are"});
}

TEST(NnefWrite, IndicesOfARunAreACondition) {
  const auto conditions = [](const char* index) {
    auto w = written(graph(std::string("x: f32[3], i: ") + index, "y = gather(x, i);"));
    EXPECT_TRUE(w.ok()) << w.error().text();
    return w.ok() ? w->conditions : std::vector<std::string>();
  };
  EXPECT_EQ(conditions("i64[2]"),
            std::vector<std::string>{"the indices of gather 'y' are not negative: NNEF's count from the start"});
  auto known = written(graph("x: f32[3]", "y = gather(x, i64[2](-1, 0));"));
  ASSERT_TRUE(known.ok()) << known.error().text();
  EXPECT_TRUE(known->conditions.empty());
}

TEST(NnefWrite, KnownExtentsAreNumbers) {
  const std::string text =
      graph("x: f32[2,3,4]",
            "s = shape(x); n = slice(s, i64[1](0), i64[1](1)); t = concat(n, i64[1](-1), axis = 0); e = exp(x); "
            "y = reshape(e, t);");
  expect_round_trip(text);
  auto custom = written(text, true);
  ASSERT_TRUE(custom.ok()) << custom.error().text();
  EXPECT_EQ(custom->graph.find("nnex_"), std::string::npos) << custom->graph;
}

TEST(NnefWrite, NothingThatCannotBeReadAgain) {
  auto w = written(graph("x: f32[2], n: i64[1]", "y: f32[4] = tile(x, n);"), true);
  ASSERT_FALSE(w.ok()) << w->graph;
  EXPECT_EQ(w.error().code(), Code::unsupported);
  EXPECT_NE(w.error().message().find("cannot be read again"), std::string::npos) << w.error().text();
  EXPECT_NE(w.error().message().find("known only to a run"), std::string::npos) << w.error().text();
}

TEST(NnefWrite, AsDeepAsDocumentsAre) {
  std::string before, behind;
  for (int i = 0; i < 9000; ++i) before += "reshape(", behind += i % 2 ? ", shape = [2])" : ", shape = [2, 1])";
  auto graph = nnef_format::import_document(
      "version 1.0; extension KHR_enable_operator_expressions; graph g(x) -> (y) { x = external(shape = [2]); y = "
      "exp(" +
          before + "x" + behind + "); }",
      "deep");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto w = to_nnef(*graph, {});
  ASSERT_TRUE(w.ok()) << w.error().text();
}

TEST(NnefWrite, ManyOfOneName) {
  std::string body;
  for (int i = 0; i < 20000; ++i)
    body += "x" + std::to_string(i + 1) + " = add(x" + std::to_string(i) + ", f32[2](1.0, 2.0)); ";
  auto w = written("graph g(x0: f32[2]) -> (x20000) { " + body + "}");
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_NE(w->graph.find("c_19999 = constant"), std::string::npos);
}

TEST(NnefWrite, TheSameBytesIntoEveryForm) {
  char name[] = "/tmp/nnex_write_XXXXXX";
  const std::string folder = mkdtemp(name);
  const std::string text =
      graph("x: f32[1,2,5,5]", "w 'conv/w' = copy(x); y = conv(x, f32[1,2,3,3]('" + std::string(144, '3') + "'));");
  auto w = written(text);
  ASSERT_TRUE(w.ok()) << w.error().text();
  for (const char* form : {"/a", "/b", "/a.tar", "/b.tar", "/a.tgz", "/b.tgz"}) {
    Status s = nnef_format::save_model(*w, folder + form, false);
    ASSERT_TRUE(s.ok()) << s.error().text();
    auto back = read_model(folder + form, {});
    ASSERT_TRUE(back.ok()) << back.error().text();
    auto first = graph_text::read_graph(text, "test");
    auto one = compile(std::move(first).value()), two = compile(std::move(back).value());
    ASSERT_TRUE(one.ok() && two.ok());
    auto in = inputs_of(*one);
    auto want = one->session().run(in), got = two->session().run(in);
    ASSERT_TRUE(want.ok() && got.ok());
    expect_same(got->front(), want->front());
  }
  for (const char* ending : {".tar", ".tgz", "/graph.nnef"}) {
    auto a = MappedFile::open(folder + "/a" + ending), b = MappedFile::open(folder + "/b" + ending);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->bytes(), b->bytes()) << ending;
  }
  EXPECT_FALSE(nnef_format::save_model(*w, folder + "/a", false).ok());
  EXPECT_TRUE(nnef_format::save_model(*w, folder + "/a", true).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nnex
