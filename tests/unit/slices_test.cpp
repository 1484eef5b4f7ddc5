// Runs of nodes that go a few items at a time: the same bytes as all items at once, in less memory.

#include "plan/slices.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/text/build.h"
#include "kernels/simd/loops.h"
#include "nnex/model.h"
#include "passes/pipeline.h"
#include "plan/plan.h"
#include "run/compile.h"

namespace nnex::plan {
namespace {

/// Numbers in [-1, 1] that repeat on every machine.
Tensor noise(const Shape& shape, uint32_t seed) {
  Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
  for (float& v : t.mutable_as<float>()) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return t;
}

Tensor whole_noise(const Shape& shape, uint32_t seed) {
  Tensor t = std::move(Tensor::make(DType::i32, shape)).value();
  const Tensor f = noise(shape, seed);
  for (int64_t i = 0; i < t.count(); ++i) t.mutable_as<int32_t>()[i] = static_cast<int32_t>(f.as<float>()[i] * 1000);
  return t;
}

constexpr int64_t kWhole = -1, kOneByOne = 0;  ///< Bytes of the cache: none goes in slices; all that can.

Model compiled(const std::string& text, int64_t cache, bool optimize = true) {
  auto graph = graph_text::read_graph(text, "test");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  LoadOptions options;
  options.optimize = optimize;
  auto model = compile(std::move(graph).value(), options, cache);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(model).value();
}

std::vector<Value> inputs_of(const Model& model) {
  std::vector<Value> fed;
  uint32_t seed = 1;
  for (const PortInfo& p : model.inputs())
    fed.emplace_back(p.dtype == DType::boolean ? Tensor::scalar(true)
                     : p.dtype == DType::i32   ? whole_noise(Shape(p.extents), ++seed)
                                               : noise(Shape(p.extents), ++seed));
  return fed;
}

void expect_same(const std::vector<Value>& a, const std::vector<Value>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const Tensor &x = *a[i].tensor(), &y = *b[i].tensor();
    ASSERT_EQ(x.shape().text(), y.shape().text());
    EXPECT_EQ(std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())), 0) << "output " << i;
  }
}

/// The operators of each run, in the plan of the graph as it was read: "conv relu | add".
std::string runs_of(const std::string& text, int64_t cache, std::shared_ptr<const Plan>* made = nullptr,
                    int threads = 1) {
  auto graph = graph_text::read_graph(text, "test");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_TRUE(passes::prepare(*graph).ok());
  kernels::Packs packs;
  AlignedConstants constants(*graph);
  ConstantMemory memory(*graph);
  Team team(threads);
  const PlanContext context{*graph,
                            kernels::simd::loops(kernels::simd::best_isa(), kernels::simd::Numbers::fast),
                            packs,
                            constants,
                            int64_t{1} << 30,
                            team,
                            memory,
                            cache};
  std::vector<Live> live;
  for (ValueId v : graph->inputs()) live.push_back({v, (*graph)[v].type, std::nullopt});
  auto plan = make_plan(context, kMain, (*graph)[kMain].first, live);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  std::string runs;
  int last = -1;
  for (const Step& s : (*plan)->steps) {
    if (s.slices < 0) continue;
    runs += (runs.empty() ? "" : s.slices != last ? " | " : " ") + std::string((*graph)[s.node].op->name);
    last = s.slices;
  }
  if (made) *made = *plan;
  return runs;
}

const struct {
  const char *name, *graph, *runs;
} kGraphs[] = {
    {"a residual and a row from outside",
     "graph g(x: f32[4,6,5,5], w: f32[6,6,3,3], b: f32[6]) -> (y)\n{\n"
     "  r = relu(x);\n  c = conv(r, w, b, padding = [(1,1),(1,1)]);\n  s = add(c, x);\n  y = tanh(s);\n}\n",
     "relu conv add tanh"},
    {"read within a run, behind it, and wanted",
     "graph g(x: f32[4,3]) -> (a, y, z)\n{\n"
     "  a = exp(x);\n  b = tanh(a);\n  m = mean_reduce(b, [0]);\n  y = sub(b, m);\n  z = mul(y, a);\n}\n",
     "exp tanh | sub mul"},
    {"softmax over items and within one",
     "graph g(x: f32[4,3,2]) -> (y)\n{\n  a = exp(x);\n  b = softmax(a, axes = [0]);\n  y = softmax(b, axes = "
     "[-2]);\n}\n",
     "exp | softmax"},
    {"operands with and without the axis of items",
     "graph g(x: f32[4,3], r: f32[1,3], v: f32[3], c: f32[4,1], s: f32[]) -> (y)\n{\n"
     "  a = add(x, r);\n  b = mul(a, v);\n  d = sub(c, b);\n  y = mul(s, d);\n}\n",
     "add mul sub mul"},
    {"a matrix by itself is read both ways", "graph g(x: f32[4,4]) -> (y)\n{\n  y = matmul(x, x);\n}\n", ""},
    {"a product of what the run makes ends it",
     "graph g(x: f32[4,4], w: f32[4,4]) -> (y)\n{\n  a = exp(w);\n  b = matmul(x, a);\n  y = relu(b);\n}\n",
     "exp | matmul relu"},
    {"matrices an item, and one for all",
     "graph g(x: f32[4,2,3], w: f32[4,3,2], o: f32[1,2,5], p: f32[5,4]) -> (y)\n{\n"
     "  a = matmul(x, w);\n  b = matmul(a, o);\n  y = matmul(b, p);\n}\n",
     "matmul matmul matmul"},
    {"a constant with an item for each",
     "graph g(x: f32[2,2]) -> (y)\n{\n  a = add(x, f32[2,2](1.0, 2.0, 3.0, 4.0));\n  y = matmul(a, f32[2,2](1.0, 2.0, "
     "3.0, 4.0));\n}\n",
     "add matmul"},
    {"transposes that keep items and that do not",
     "graph g(x: f32[4,2,4]) -> (y)\n{\n"
     "  a = transpose(x, axes = [0, 2, 1]);\n  b = exp(a);\n  c = transpose(b, axes = [1, 0, 2]);\n  y = exp(c);\n}\n",
     "transpose exp | exp"},
    {"joined along items, and along others",
     "graph g(x: f32[2,3], z: f32[2,3]) -> (y)\n{\n"
     "  a = concat([x, z], axis = 1);\n  b = concat([a, a], axis = 0);\n  y = exp(b);\n}\n",
     "concat | exp"},
    {"items under another shape, and taken apart",
     "graph g(x: f32[4,2,3]) -> (y, z)\n{\n"
     "  a = reshape(x, [4, 6]);\n  b = exp(a);\n  y = reshape(b, [4, 3, 2]);\n  c = reshape(b, [2, 2, 6]);\n  z = "
     "exp(c);\n}\n",
     "reshape exp reshape | exp"},
    {"forwards and backwards",
     "graph g(x: f32[4,4]) -> (y)\n{\n"
     "  a = slice(x, [0, 1], [4, 3], [0, 1]);\n  b = slice(a, [-1], [-9], [0], [-1]);\n  y = exp(b);\n}\n",
     "slice | exp"},
    {"the number of items as a number",
     "graph g(x: f32[4,3]) -> (y)\n{\n"
     "  s = shape_of(x);\n  n = slice(s, [0], [1], [0]);\n  f = cast(n, to = 'f32');\n  a = exp(x);\n  b = div(a, f);\n"
     "  r = reshape(b, s);\n  y = tanh(r);\n}\n",
     "exp div tanh"},
    {"positions count from the first item on",
     "graph g(x: f32[3,2,4,4]) -> (y, i)\n{\n"
     "  a = exp(x);\n  [y, i] = max_pool(a, size = [1, 1, 2, 2], border = 'ignore', index_as = 'tensor');\n}\n",
     "exp"},
    {"a window over items",
     "graph g(x: f32[3,2,4,4]) -> (y, z)\n{\n"
     "  y = box(x, size = [2, 1, 1, 1], border = 'ignore');\n  z = box(x, size = [1, 1, 2, 2], border = "
     "'ignore');\n}\n",
     "box"},
    {"channels as many as items",
     "graph g(x: f32[3,3,2,2], m: f32[3], v: f32[3], w: f32[3,3,1,1]) -> (y)\n{\n"
     "  q = mul(v, v);\n  a = conv(x, w);\n  b = batch_normalization(a, m, q, m, q);\n  y = instance_normalization(b, "
     "q, m);\n}\n",
     "mul conv | batch_normalization instance_normalization"},
    {"parts of an item",
     "graph g(x: f32[3,4]) -> (y)\n{\n  [a, b] = split(x, axis = 1, chunks = 2);\n  c = mul(a, b);\n  y = "
     "layer_normalization(c, axes = [1]);\n}\n",
     "split mul layer_normalization"},
    {"a region that no kernel serves",
     "graph g(x: f32[4,3]) -> (y, z)\n{\n  a = exp(x);\n"
     "  [y] = fused([a, f32[3](1.0, 2.0, 3.0)], body = graph (p: f32[4,3], c: f32[3]) -> (q)\n  {\n"
     "    d = exp(c);\n    e = softmax(p, axes = [1]);\n    q = mul(e, d);\n  });\n  z = tanh(y);\n}\n",
     "exp fused tanh"},
    {"regions of integers, as large as a slice",
     "graph g(x: i32[64,1024], r: i32[1024], c: i32[64,1], z: i32[64,1024]) -> (y, b)\n{\n"
     "  a = add(x, r);\n  b = mul(a, c);\n  d = max(b, z);\n  e = sub(d, i32[1](7));\n  y = cvm_clip(e, precision = "
     "24);\n}\n",
     "add mul max sub cvm_clip"},
    {"a block reads what the run makes",
     "graph g(x: f32[4,2], c: bool[]) -> (y)\n{\n  a = exp(x);\n  b = tanh(a);\n"
     "  y = if_else(c, then_branch = graph () -> (p)\n  {\n    p = neg(b);\n  }, else_branch = graph () -> (q)\n  {\n  "
     "  q = exp(b);\n  });\n}\n",
     "exp tanh"},
};

TEST(Slices, RunsEndWhereItemsMeet) {
  for (const auto& row : kGraphs) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(runs_of(row.graph, kOneByOne), row.runs);
    EXPECT_EQ(runs_of(row.graph, kWhole), "");
  }
}

TEST(Slices, SameBytes) {
  for (const auto& row : kGraphs) {
    SCOPED_TRACE(row.name);
    for (bool optimize : {false, true}) {
      const Model whole = compiled(row.graph, kWhole, optimize), sliced = compiled(row.graph, kOneByOne, optimize);
      const std::vector<Value> in = inputs_of(whole);
      auto want = whole.session().run(in);
      ASSERT_TRUE(want.ok()) << want.error().text();
      Session session = sliced.session({.threads = 2});
      for (int i = 0; i < 2; ++i) {
        auto got = session.run(in);
        ASSERT_TRUE(got.ok()) << got.error().text();
        expect_same(*want, *got);
      }
    }
  }
}

constexpr const char* kChain =
    "graph g(x: f32[N,8,16,16]) -> (y)\n{\n"
    "  a = exp(x);\n  b = max_pool(a, size = [1, 1, 2, 2], border = 'ignore');\n  c = softmax(b, axes = [1]);\n  y = "
    "tanh(c);\n}\n";

std::string chain(int64_t items) {
  return std::string(kChain).replace(std::string(kChain).find('N'), 1, std::to_string(items));
}

/// One item's step takes 16 KiB at most here, and nothing weighs.
TEST(Slices, SizesFollowTheCache) {
  const struct {
    int64_t items, cache, size;
  } rows[] = {{8, 16 << 10, 1}, {8, 40 << 10, 2}, {9, 70 << 10, 3},
              {7, 50 << 10, 2}, {5, 66 << 10, 3}, {2, 1 << 20, 0}};
  for (const auto& row : rows) {
    std::shared_ptr<const Plan> plan;
    runs_of(chain(row.items), row.cache, &plan);
    ASSERT_EQ(plan->slices.size(), row.size > 0 ? 1u : 0u) << row.items << " items, " << row.cache;
    for (const Slices& s : plan->slices) EXPECT_EQ(s.size, row.size) << row.items << " items, " << row.cache;
  }
}

TEST(Slices, ItemsThatSlicesDoNotDivide) {
  for (int64_t items : {2, 3, 5, 7, 8}) {
    const Model whole = compiled(chain(items), kWhole);
    const std::vector<Value> in = inputs_of(whole);
    const auto want = *whole.session().run(in);
    for (int64_t cache : {0, 33 << 10, 50 << 10, 70 << 10})
      expect_same(want, *compiled(chain(items), cache).session().run(in));
  }
}

TEST(Slices, ACallersMemoryIsWrittenInPlace) {
  const Model whole = compiled(chain(6), kWhole), sliced = compiled(chain(6), kOneByOne);
  const std::vector<Value> in = inputs_of(whole);
  const auto want = *whole.session().run(in);
  std::vector<Tensor> out = {std::move(Tensor::make(DType::f32, want[0].tensor()->shape())).value()};
  Session session = sliced.session();
  ASSERT_TRUE(session.run_into(in, out).ok());
  expect_same(want, {Value(out[0])});
}

SessionOptions threads(int n) {
  SessionOptions options;
  options.threads = n;
  return options;
}

TEST(Slices, MemoryIsThatOfASlice) {
  const std::vector<Value> in = inputs_of(compiled(chain(16), kWhole));
  Session whole = compiled(chain(16), kWhole, false).session(threads(1)),
          sliced = compiled(chain(16), kOneByOne, false).session(threads(1));
  ASSERT_TRUE(whole.run(in).ok() && sliced.run(in).ok());
  EXPECT_LT(sliced.memory() * 8, whole.memory());
}

TEST(Slices, AProfileHasALineANode) {
  const std::vector<Value> in = inputs_of(compiled(chain(6), kWhole));
  Session whole = compiled(chain(6), kWhole).session(), sliced = compiled(chain(6), kOneByOne).session();
  whole.profile(true), sliced.profile(true);
  ASSERT_TRUE(whole.run(in).ok() && sliced.run(in).ok());
  ASSERT_EQ(sliced.nodes().size(), whole.nodes().size());
  for (size_t i = 0; i < whole.nodes().size(); ++i) {
    EXPECT_EQ(sliced.nodes()[i].op, whole.nodes()[i].op);
    EXPECT_EQ(sliced.nodes()[i].bytes, whole.nodes()[i].bytes);
    EXPECT_EQ(sliced.nodes()[i].multiply_adds, whole.nodes()[i].multiply_adds);
  }
}

TEST(Slices, StopBetweenThem) {
  const Model model = compiled(chain(6), kOneByOne);
  const std::vector<Value> in = inputs_of(model);
  Session session = model.session();
  RunOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto stopped = session.run(in, late);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), Code::cancelled);
  auto want = compiled(chain(6), kWhole).session().run(in);
  expect_same(*want, *session.run(in));
}

/// Batches of other sizes in turn share a session's memory.
TEST(Slices, BatchesInTurn) {
  auto graph = [](int64_t cache) { return compiled(kChain, cache); };
  const Model whole = graph(kWhole), sliced = graph(kOneByOne);
  Session a = whole.session(), b = sliced.session();
  for (int64_t items : {3, 8, 1, 5, 8}) {
    const std::vector<Value> in = {noise(Shape{items, 8, 16, 16}, 5)};
    expect_same(*a.run(in), *b.run(in));
  }
}

TEST(Slices, KeptValuesGoOn) {
  const std::string text =
      "graph g(x: f32[3,4], s: f32[3,4]) -> (y, t)\n{\n  a = add(x, s);\n  t = tanh(a);\n  y = exp(t);\n}\n";
  const auto session_of = [&](int64_t cache) {
    auto graph = graph_text::read_graph(text, "test");
    LoadOptions options;
    options.carry = {{"t", "s"}};
    return compile(std::move(graph).value(), options, cache)->session();
  };
  Session whole = session_of(kWhole), sliced = session_of(kOneByOne);
  for (uint32_t i = 0; i < 3; ++i) {
    const std::vector<Value> in = {noise(Shape{3, 4}, i)};
    expect_same(*whole.run(in), *sliced.run(in));
  }
}

// ---- Side by side ----

constexpr int64_t kLarge = 1 << 30;  ///< A cache that everything stays in: slices are for threads alone.

/// Where threads have items each, they share no node; no item runs twice, and little is waited for.
TEST(Lanes, OneForEachThread) {
  const struct {
    int64_t items, cache;
    int threads, lanes;
    int64_t size;
  } rows[] = {
      {64, kLarge, 1, 0, 0},    // one thread has the cache to itself
      {64, kLarge, 2, 2, 32},   //
      {64, kLarge, 4, 4, 16},   //
      {64, 66 << 10, 2, 2, 2},  // a lane has its share of the cache
      {63, kLarge, 2, 2, 9},    // 7 slices: 4 and 3
      {61, kLarge, 2, 2, 1},    //
      {65, kLarge, 64, 0, 0},   // 65 turns for 128
      {3, kLarge, 4, 0, 0},     // threads without an item
      {8, kLarge, 2, 0, 0},     // too little to wake one for
  };
  for (const auto& row : rows) {
    std::shared_ptr<const Plan> plan;
    runs_of(chain(row.items), row.cache, &plan, row.threads);
    ASSERT_EQ(plan->slices.size(), row.lanes > 0 ? 1u : 0u) << row.items << " items, " << row.threads << " threads";
    for (const Slices& s : plan->slices) {
      EXPECT_EQ(s.lanes, row.lanes) << row.items << " items, " << row.threads << " threads";
      EXPECT_EQ(s.size, row.size) << row.items << " items, " << row.threads << " threads";
    }
  }
}

TEST(Lanes, SameBytes) {
  for (const int64_t items : {32, 61, 64}) {
    const Model whole = compiled(chain(items), kWhole);
    const std::vector<Value> in = inputs_of(whole);
    const auto want = *whole.session(threads(1)).run(in);
    for (int64_t cache : {int64_t{0}, int64_t{70 << 10}, kLarge})
      for (const bool optimize : {false, true})
        for (int n : {1, 2, 3, 5}) {
          Session session = compiled(chain(items), cache, optimize).session(threads(n));
          for (int i = 0; i < 4; ++i) expect_same(want, *session.run(in));
        }
  }
}

/// A residual that lies behind a run, a view, a result in the caller's memory, and two runs after each other.
TEST(Lanes, WhatStandsAtTheirEnds) {
  const std::string text =
      "graph g(x: f32[64,8,16,16], w: f32[8,8,3,3], b: f32[8]) -> (y, z)\n{\n"
      "  r = relu(x);\n  c = conv(r, w, b, padding = [(1,1),(1,1)]);\n  s = add(c, x);\n  t = tanh(s);\n"
      "  m = mean_reduce(t, [0]);\n  d = sub(t, m);\n  y = exp(d);\n  z = softmax(y, axes = [1]);\n}\n";
  const Model whole = compiled(text, kWhole), lanes = compiled(text, kLarge);
  const std::vector<Value> in = inputs_of(whole);
  const auto want = *whole.session(threads(1)).run(in);
  Session session = lanes.session(threads(2));
  expect_same(want, *session.run(in));
  std::vector<Tensor> out;
  for (const Value& v : want) out.push_back(std::move(Tensor::make(DType::f32, v.tensor()->shape())).value());
  ASSERT_TRUE(session.run_into(in, out).ok());
  expect_same(want, {Value(out[0]), Value(out[1])});
  session.profile(true);
  ASSERT_TRUE(session.run(in).ok());
  const size_t lines = session.nodes().size();
  for (const NodeTime& line : session.nodes()) EXPECT_GT(line.us, 0) << line.op;
  Session alone = whole.session(threads(1));
  alone.profile(true);
  ASSERT_TRUE(alone.run(in).ok());
  EXPECT_EQ(lines, alone.nodes().size());
}

TEST(Lanes, StopBetweenSlices) {
  const Model model = compiled(chain(64), kLarge);
  const std::vector<Value> in = inputs_of(model);
  Session session = model.session(threads(2));
  RunOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto stopped = session.run(in, late);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), Code::cancelled);
  expect_same(*compiled(chain(64), kWhole).session().run(in), *session.run(in));
}

}  // namespace
}  // namespace nnex::plan
