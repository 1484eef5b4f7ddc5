// Attention: the rules by hand-computed values, and the fast kernel against the reference.

#include <cstring>

#include "node_run.h"
#include "ops/shape.h"
#include "run/compile.h"

namespace nnex {
namespace {

using test::absent;
using test::Dice;
using test::expect_same;
using test::NodeCase;
using test::run_node;
using test::run_op;
using test::shown;

Tensor floats(Shape s, const std::vector<float>& v) { return Tensor::of<float>(std::move(s), v); }

// With q = 0 every key counts the same, so results are means of v over the keys that are seen.
const Tensor kQ = floats({1, 1, 3, 1}, {0, 0, 0}), kK = floats({1, 1, 4, 1}, {1, 2, 3, 4}),
             kV = floats({1, 1, 4, 1}, {1, 2, 4, 8});

TEST(AttentionRow, Masks) {
  const struct {
    const char* name;
    std::vector<Tensor> more;
    AttrMap attrs;
    const char* y;
  } rows[] = {
      {"all keys", {}, {}, "f32[1,1,3,1] 3.75 3.75 3.75"},
      {"causal", {}, {{"causal", true}}, "f32[1,1,3,1] 1 1.5 2.3333333"},
      {"left window", {}, {{"causal", true}, {"left_window", int64_t{1}}}, "f32[1,1,3,1] 1 1.5 3"},
      {"both windows", {}, {{"left_window", int64_t{0}}, {"right_window", int64_t{1}}}, "f32[1,1,3,1] 1.5 3 6"},
      {"a short mask hides what is past it", {Tensor::of<bool>({2}, {false, true})}, {}, "f32[1,1,3,1] 2 2 2"},
      {"numbers are added", {floats({4}, {0, 0, -HUGE_VALF, -HUGE_VALF})}, {}, "f32[1,1,3,1] 1.5 1.5 1.5"},
      {"nothing seen gives zeros",
       {Tensor::of<bool>({3, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1})},
       {},
       "f32[1,1,3,1] 0 1 8"},
      {"valid keys", {absent(), absent(), absent(), Tensor::of<int64_t>({1}, {2})}, {}, "f32[1,1,3,1] 1.5 1.5 1.5"},
      {"queries end where valid keys end",
       {absent(), absent(), absent(), Tensor::of<int64_t>({1}, {2})},
       {{"causal", true}},
       "f32[1,1,3,1] 0 1 1.5"},
      {"a cache stands in front",
       {absent(), floats({1, 1, 1, 1}, {0}), floats({1, 1, 1, 1}, {3})},
       {{"causal", true}},
       "f32[1,1,3,1] 2 2 2.5"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::vector<Tensor> in = {kQ, kK, kV};
    in.insert(in.end(), row.more.begin(), row.more.end());
    EXPECT_EQ(shown(run_op("attention", in, row.attrs)), row.y);
  }
}

TEST(AttentionRow, CachesAndScores) {
  const std::vector<Tensor> in = {floats({1, 1, 2}, {1, 2}), floats({1, 1, 1}, {3}),   floats({1, 1, 1}, {5}), absent(),
                                  floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {7})};
  const AttrMap attrs = {{"q_heads", int64_t{2}}, {"kv_heads", int64_t{1}}, {"scale", 2.0}};
  const auto out = run_op("attention", in, attrs, 4);
  EXPECT_EQ(shown(out, 1), "f32[1,1,2,1] 1 3");
  EXPECT_EQ(shown(out, 2), "f32[1,1,2,1] 7 5");
  EXPECT_EQ(shown(out, 3), "f32[1,2,1,2] 2 6 4 12");
}

TEST(AttentionRow, Errors) {
  const Tensor x = floats({1, 2, 3}, std::vector<float>(6)), four = floats({1, 1, 2, 3}, std::vector<float>(6));
  const AttrMap heads = {{"q_heads", int64_t{2}}, {"kv_heads", int64_t{1}}};
  EXPECT_EQ(shown(run_op("attention", {x, x, x})),
            "attention: q, k and v have 3 axes: q_heads and kv_heads are required; found 0 and 0");
  EXPECT_EQ(shown(run_op("attention", {x, x, x}, heads)),
            "attention: q has 3 numbers a position; needed a multiple of q_heads = 2");
  EXPECT_EQ(shown(run_op("attention", {x, four, four})),
            "attention: k has 4 axes; needed 3, as q, k and v have the same");
  EXPECT_EQ(shown(run_op("attention", {four, four, four, floats({3}, {0, 0, 0})})),
            "attention: mask has 3 keys; there are 2");
  EXPECT_EQ(shown(run_op("attention", {four, four, four, absent(), four})),
            "attention: past_key is given without past_value");
}

TEST(RotaryRow, HalvesAndNeighbours) {
  const Tensor x = floats({1, 1, 1, 5}, {1, 2, 3, 4, 9});
  const Tensor cos = floats({2, 2}, {7, 7, 0, 1}), sin = floats({2, 2}, {7, 7, 1, 0});
  const Tensor last = Tensor::of<int64_t>({1, 1}, {-1}), out = Tensor::of<int64_t>({1, 1}, {2});
  const AttrMap four = {{"rotary_dim", int64_t{4}}};
  EXPECT_EQ(shown(run_op("rotary_embedding", {x, cos, sin, last}, four)), "f32[1,1,1,5] -3 2 1 4 9");
  EXPECT_EQ(shown(run_op("rotary_embedding", {x, cos, sin, last}, {four[0], {"interleaved", true}})),
            "f32[1,1,1,5] -2 1 3 4 9");
  EXPECT_EQ(shown(run_op("rotary_embedding", {x, cos, sin, out}, four)),
            "rotary_embedding: position 2 is outside [-2, 1]");
  EXPECT_EQ(shown(run_op("rotary_embedding", {x, cos, sin, last})),
            "rotary_embedding: a head has 5 numbers; needed an even number");
}

TEST(LinearAttentionRow, GatedDelta) {
  const Tensor q = floats({1, 2, 1}, {1, 1}), k = floats({1, 2, 1}, {2, 1}), v = floats({1, 2, 1}, {3, 5});
  const AttrMap one = {{"q_heads", int64_t{1}}, {"kv_heads", int64_t{1}}};
  const Tensor none = floats({1, 2, 1}, {0, 0}), half = floats({1, 2, 1}, {0.5F, 0.5F});
  // state: 0 -> 0.5 * 3 * 2 = 3 -> 3 + 0.5 * (5 - 3) = 4
  EXPECT_EQ(shown(run_op("linear_attention", {q, k, v, absent(), none, half}, one, 2), 0), "f32[1,2,1] 3 4");
  EXPECT_EQ(shown(run_op("linear_attention", {q, k, v, absent(), none}, one, 2)),
            "linear_attention: rule 'gated_delta' needs beta");
}

// ---- The fast kernel. Scores of size 10 are off by 1e-5, probabilities by as much of themselves.

constexpr test::Bound kBound = {1e-4, 1e-4};

struct Extents {
  int64_t batch, q_heads, kv_heads, queries, keys, past, depth, value_depth;
};

NodeCase attention_case(Dice& dice, const Extents& e, bool side_by_side) {
  NodeCase c{"attention", {}};
  if (side_by_side) {
    c.inputs = {dice.floats({e.batch, e.queries, e.q_heads * e.depth}),
                dice.floats({e.batch, e.keys, e.kv_heads * e.depth}),
                dice.floats({e.batch, e.keys, e.kv_heads * e.value_depth})};
    c.attrs = {{"q_heads", e.q_heads}, {"kv_heads", e.kv_heads}};
  } else {
    c.inputs = {dice.floats({e.batch, e.q_heads, e.queries, e.depth}),
                dice.floats({e.batch, e.kv_heads, e.keys, e.depth}),
                dice.floats({e.batch, e.kv_heads, e.keys, e.value_depth})};
  }
  c.inputs.resize(8, absent());
  if (e.past > 0) {
    c.inputs[4] = dice.floats({e.batch, e.kv_heads, e.past, e.depth});
    c.inputs[5] = dice.floats({e.batch, e.kv_heads, e.past, e.value_depth});
  }
  return c;
}

Extents extents(Dice& dice) {
  static constexpr int64_t kDepths[] = {1, 3, 8, 16, 20, 32, 64};
  Extents e{};
  e.batch = dice.roll(1, 2), e.kv_heads = dice.roll(1, 3), e.q_heads = e.kv_heads * dice.roll(1, 3);
  e.queries = dice.roll(0, 1) ? dice.extent() : dice.roll(1, 2);
  e.keys = dice.extent(), e.past = dice.roll(0, 2) ? 0 : dice.extent();
  e.depth = kDepths[dice.roll(0, 6)], e.value_depth = kDepths[dice.roll(0, 6)];
  return e;
}

TEST(AttentionKernel, LikeTheReference) {
  Dice dice(60);
  for (int i = 0; i < 150; ++i) {
    const Extents e = extents(dice);
    NodeCase c = attention_case(dice, e, i % 2 == 0);
    const int64_t total = e.past + e.keys;
    const Shape masks[] = {
        {total}, {e.queries, total}, {e.q_heads, 1, dice.roll(1, total)}, {e.batch, 1, e.queries, total}};
    const Shape& mask = masks[dice.roll(0, 3)];
    if (i % 5 == 1) c.inputs[3] = dice.floats(mask);
    if (i % 5 == 2) c.inputs[3] = dice.ints<uint8_t>(mask, 0, 1).reinterpreted(DType::boolean);
    if (i % 7 == 3) c.inputs[6] = dice.ints<int64_t>({e.batch}, -1, total + 1);
    if (i % 3 == 1) c.attrs.emplace_back("causal", true);
    if (i % 4 == 1) c.attrs.emplace_back("left_window", dice.roll(0, 9));
    if (i % 8 == 1) c.attrs.emplace_back("right_window", dice.roll(0, 9));
    if (i % 6 == 5) c.attrs.emplace_back("softcap", 1.5);
    if (i % 9 == 5) c.attrs.emplace_back("scale", 0.3);
    if (i % 4 >= 2) c.inputs[7] = dice.floats({e.q_heads});
    c.outputs = i % 4 == 3 ? 3 : 1;
    expect_same(c, "attention_f32", kBound);
  }
}

TEST(AttentionKernel, ValuesThatAreNotFinite) {
  Dice dice(61);
  NodeCase c = attention_case(dice, {1, 1, 1, 70, 70, 0, 16, 16}, false);
  c.attrs.emplace_back("causal", true);
  c.inputs[2].mutable_as<float>()[69 * 16] = NAN;  // of a key that only the last query sees
  expect_same(c, "attention_f32", kBound);
  c.inputs[6] = Tensor::of<int64_t>({1}, {40});
  expect_same(c, "attention_f32", kBound);
  c.inputs[0].mutable_as<float>()[3] = -HUGE_VALF;
  expect_same(c, "attention_f32", kBound);
}

TEST(AttentionKernel, LeavesOtherCasesAlone) {
  Dice dice(62);
  const Extents e = {1, 2, 2, 3, 5, 0, 4, 4};
  NodeCase c = attention_case(dice, e, false);
  c.outputs = 4;
  expect_same(c, "reference");
  c.outputs = 1;
  c.attrs = {{"softmax_type", DType::f64}};
  expect_same(c, "reference");
}

TEST(AttentionKernel, SameBytesOnEveryThreadCount) {
  Dice dice(63);
  for (const Extents& e : {Extents{1, 1, 1, 300, 300, 0, 64, 64}, Extents{2, 6, 3, 130, 70, 33, 32, 20},
                           Extents{1, 8, 1, 1, 400, 100, 64, 64}, Extents{1, 12, 12, 128, 128, 0, 64, 64}}) {
    NodeCase c = attention_case(dice, e, false);
    c.attrs.emplace_back("causal", true);
    c.inputs[7] = dice.floats({e.q_heads});
    auto alone = run_node(c, 1), together = run_node(c, 2);
    ASSERT_TRUE(alone.ok() && together.ok());
    EXPECT_EQ(alone->kernel, "attention_f32");
    const Tensor &a = alone->out[0], &b = together->out[0];
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0);
  }
}

/// One query over so many keys of one head that threads share them.
TEST(AttentionKernel, LongCachesInPieces) {
  Dice dice(65);
  for (const Extents& e : {Extents{1, 1, 1, 1, 3001, 1000, 64, 64}, Extents{1, 6, 1, 1, 2100, 0, 64, 48},
                           Extents{1, 3, 1, 1, 1, 5000, 40, 32}})
    for (int variant = 0; variant < 4; ++variant) {
      const int64_t total = e.past + e.keys;
      NodeCase c = attention_case(dice, e, variant % 2 == 1);
      if (variant == 1) c.inputs[3] = dice.ints<uint8_t>({total}, 0, 1).reinterpreted(DType::boolean);
      if (variant == 2) c.inputs[3] = dice.floats({total - 7});
      if (variant == 3) c.attrs.emplace_back("softcap", 1.5);
      if (variant % 2 == 0) c.inputs[7] = dice.floats({e.q_heads});
      c.outputs = variant == 0 ? 3 : 1;
      expect_same(c, "attention_f32", kBound);
      auto alone = run_node(c, 1), together = run_node(c, 2);
      ASSERT_TRUE(alone.ok() && together.ok());
      for (size_t o = 0; o < static_cast<size_t>(c.outputs); ++o) {
        const Tensor &a = alone->out[o], &b = together->out[o];
        ASSERT_EQ(a.bytes(), b.bytes());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0) << variant;
      }
      if (variant > 0) continue;
      c.inputs[6] = Tensor::of<int64_t>({1}, {total - 1});
      expect_same(c, "attention_f32", kBound);
    }
}

/// A query's result does not depend on which queries stand beside it.
TEST(AttentionKernel, SameBytesOneByOne) {
  Dice dice(64);
  NodeCase all = attention_case(dice, {1, 2, 1, 40, 100, 0, 24, 16}, false);
  auto whole = run_node(all);
  ASSERT_TRUE(whole.ok());
  for (int64_t i : {0, 7, 39}) {
    NodeCase one = all;
    std::vector<float> q;
    for (int64_t h : {0, 1})
      for (int64_t d = 0; d < 24; ++d)
        q.push_back(all.inputs[0].as<float>()[static_cast<size_t>((h * 40 + i) * 24 + d)]);
    one.inputs[0] = floats({1, 2, 1, 24}, q);
    auto alone = run_node(one);
    ASSERT_TRUE(alone.ok());
    for (int64_t h : {0, 1})
      EXPECT_EQ(std::memcmp(alone->out[0].as<float>().data() + h * 16,
                            whole->out[0].as<float>().data() + (h * 40 + i) * 16, 64),
                0);
  }
}

// ---- The pass that finds attention in what exporters write

/// matmul(softmax(scale * q k^T [+ mask | where mask]), v) of heads that are cut out of one axis and put back.
struct Written {
  enum class Mask { none, added, chosen } mask = Mask::none;
  bool side_by_side = false;
  bool keys_turned_at_once = false;
  bool scores_read_twice = false;
};

ir::Graph sentence(const Written& w, std::vector<Value>& fed) {
  Dice dice(70);
  ir::Graph graph;
  Builder b(graph, kMain);
  const auto input = [&](const Tensor& t) {
    fed.emplace_back(t);
    return graph.add_param(kMain, "x" + std::to_string(fed.size()), Type::tensor(t.dtype(), dims_of(t.shape())));
  };
  const auto turned = [&](ValueId x, Ints axes) {
    TransposeAttrs a;
    a.axes = std::move(axes);
    return b("transpose", {x}, a);
  };
  ValueId heads[3];
  for (ValueId& v : heads) {
    if (!w.side_by_side) {
      v = input(dice.floats({2, 3, 5, 8}));
      continue;
    }
    v = b("reshape", {input(dice.floats({2, 5, 24})), b.ints({2, 5, 3, 8})});
    const bool at_once = &v == &heads[1] && w.keys_turned_at_once;
    v = turned(v, at_once ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3});
  }
  if (!w.side_by_side || !w.keys_turned_at_once) heads[1] = turned(heads[1], {0, 1, 3, 2});
  ValueId scores = b("div", {b("matmul", {heads[0], heads[1]}), b.number(DType::f32, 3)});
  const ValueId read_again = scores;
  if (w.mask == Written::Mask::added) scores = b("add", {scores, input(dice.floats({2, 1, 1, 5}))});
  if (w.mask == Written::Mask::chosen) {
    Tensor which = dice.ints<uint8_t>({5, 5}, 0, 1).reinterpreted(DType::boolean);
    for (int64_t i = 0; i < 5; ++i) which.mutable_as<uint8_t>()[static_cast<size_t>(i)] = 0;
    scores = b("select", {input(which), scores, b.number(DType::f32, -3)});
  }
  ValueId y = b("matmul", {b("softmax", {scores}), heads[2]});
  if (w.side_by_side) y = b("reshape", {turned(y, {0, 2, 1, 3}), b.ints({2, 5, 24})});
  std::vector<ValueId> results = {y};
  if (w.scores_read_twice) results.push_back(read_again);
  graph.set_results(kMain, results);
  return graph;
}

TEST(FuseAttention, SameResults) {
  using Mask = Written::Mask;
  const struct {
    Written written;
    size_t transposes;  ///< Left; as many as 9 where nothing is found.
  } rows[] = {
      {{}, 0},
      {{Mask::added}, 0},
      {{Mask::chosen}, 0},
      {{Mask::added, true}, 0},
      {{Mask::chosen, true}, 0},
      {{Mask::none, true, true}, 0},
      {{Mask::added, true, false, true}, 9},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(&row - rows);
    std::vector<Value> fed, fed_again;
    LoadOptions plain;
    plain.optimize = false;
    auto wanted_model = compile(sentence(row.written, fed), plain);
    auto model = compile(sentence(row.written, fed_again));
    ASSERT_TRUE(wanted_model.ok() && model.ok());
    Session session = model->session(), wanted_session = wanted_model->session();
    session.profile(true);
    auto got = session.run(fed);
    auto wanted = wanted_session.run(fed);
    ASSERT_TRUE(got.ok() && wanted.ok());
    size_t attentions = 0, transposes = 0;
    for (const NodeTime& n : session.nodes()) {
      attentions += n.op == "attention" && n.kernel == "attention_f32";
      transposes += n.op == "transpose";
    }
    EXPECT_EQ(attentions, row.transposes == 9 ? 0U : 1U);
    if (row.transposes < 9) {
      EXPECT_EQ(transposes, row.transposes);
    }
    const Tensor &g = *(*got)[0].tensor(), &t = *(*wanted)[0].tensor();
    ASSERT_EQ(g.shape().text(), t.shape().text());
    for (int64_t i = 0; i < t.count(); ++i) EXPECT_TRUE(test::near(real_at(g, i), real_at(t, i), {1e-5, 1e-5})) << i;
  }
}

}  // namespace
}  // namespace nnex
