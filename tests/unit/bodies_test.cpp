// Every row that has a body and a reference kernel: both give the same answers, for every element type.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "graph/verify.h"
#include "node_run.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "run/compile.h"

namespace nnex::passes {
namespace {

using test::Dice;

/// A tensor of the type: reals in [-3, 3] whose sums are exact in any order, integers in [-100, 120].
/// With `wild`, every fourth real is a zero, an infinity or a NaN.
Tensor drawn(Dice& dice, DType type, const Shape& shape, bool wild = false) {
  Tensor t = std::move(Tensor::make(type, shape)).value();
  static constexpr double kOdd[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN};
  const bool real = is_float(type), unsigned_type = is_unsigned_int(type);
  for (int64_t i = 0; i < t.count(); ++i) {
    if (real && wild && dice.roll(0, 3) == 0)
      set_real(t, i, kOdd[dice.roll(0, 4)]);
    else if (real)
      set_real(t, i, static_cast<double>(dice.roll(-3072, 3072)) / 1024);
    else
      set_int(t, i, type == DType::boolean ? dice.roll(0, 1) : dice.roll(unsigned_type ? 0 : -100, 120));
  }
  return t;
}

struct Choice {
  AttrMap attrs;
  bool parameters = false;  ///< Whether optional parameter ports are given.
};

/// The defaults; each word of each enumeration and each switch turned, one at a time; with optional parameters or not.
std::vector<Choice> choices_of(const OpDef& op) {
  std::vector<Choice> out = {{}};
  for (const Field& f : op.attrs.fields) {
    for (std::string_view word : f.words) out.push_back({{{std::string(f.name), AttrValue(std::string(word))}}});
    if (f.kind == "bool") {
      const auto defaults = op.attrs.make();
      out.push_back({{{std::string(f.name), AttrValue(!std::get<bool>(f.get(defaults.get())))}}});
    }
  }
  const bool optional = std::any_of(op.inputs.begin(), op.inputs.end(),
                                    [](const Port& p) { return p.by_value && p.arity == Arity::optional; });
  for (size_t i = 0, n = out.size(); optional && i < n; ++i) out.push_back({out[i].attrs, true});
  return out;
}

/// A rounding or two of the type. A body rounds after every step, the reference often only once: so far may it be from
/// the reference, relative to the greatest result, since what is rounded on the way may be as great (bound_of).
double relative_bound(DType type) {
  switch (type) {
    case DType::f64:
      return 1e-13;
    case DType::f16:
      return 1.0 / 1024;
    case DType::bf16:
      return 1.0 / 128;
    default:
      return 2e-6;
  }
}

test::Bound bound_of(const Tensor& wanted, DType rounds) {
  const double relative = relative_bound(rounds);
  double greatest = rounds == DType::f64 ? 10 : 1;
  for (int64_t i = 0; is_float(wanted.dtype()) && i < wanted.count(); ++i)
    if (const double y = std::fabs(real_at(wanted, i)); std::isfinite(y)) greatest = std::max(greatest, y);
  return {relative, relative * greatest};
}

void compare(const OpDef& op, DType type, const Choice& choice, std::vector<Tensor> inputs) {
  ir::Graph graph;
  std::vector<ValueId> in;
  std::vector<Value> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& p = op.inputs[i];
    if (p.by_value) {
      in.push_back(choice.parameters ? graph.add_constant(inputs[i]) : ValueId{});
      continue;
    }
    in.push_back(graph.add_param(kMain, std::string(p.name), type_of(Value(inputs[i]))));
    fed.emplace_back(inputs[i]);
  }
  auto wanted = test::run_op(op.name, inputs, choice.attrs, op.outputs.size());
  if (!wanted.ok()) return;  // one axis named twice, and the like: nothing to compare
  const NodeId id = graph.add_node(kMain, op, in, op.outputs.size(), test::attrs_with(op, choice.attrs));
  std::vector<ValueId> results = graph[id].out;
  for (size_t o = 0; o < results.size(); ++o) graph.set_name(results[o], fmt::format("result{}", o));
  graph.set_results(kMain, results);
  ASSERT_TRUE(prepare(graph).ok());
  const Status expanded = expand_body(graph, id);
  ASSERT_TRUE(expanded.ok()) << expanded.error().text();
  const Status fine = verify(graph, "expand_body");
  ASSERT_TRUE(fine.ok()) << fine.error().text();
  for (size_t o = 0; o < results.size(); ++o) EXPECT_EQ(graph[graph.outputs()[o]].name, fmt::format("result{}", o));
  LoadOptions options;
  options.optimize = false;
  auto model = compile(std::move(graph), options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto got = model->session().run(fed);
  ASSERT_TRUE(got.ok()) << got.error().text();
  const DType rounds = type == DType::f64 && op.attrs.find("stash") ? DType::f32 : type;  // in the first stage
  for (size_t o = 0; o < wanted->size(); ++o) {
    const Tensor &w = (*wanted)[o], &g = *(*got)[o].tensor();
    const test::Bound bound = bound_of(w, rounds);
    ASSERT_EQ(name(g.dtype()), name(w.dtype()));
    ASSERT_EQ(g.shape().text(), w.shape().text());
    for (int64_t i = 0; i < w.count(); ++i)
      ASSERT_TRUE(is_float(w.dtype()) ? test::near(real_at(g, i), real_at(w, i), bound) : int_at(g, i) == int_at(w, i))
          << "element " << i << ": the body gives " << element_text(g, i) << ", the reference " << element_text(w, i);
  }
}

void compare(const OpDef& op, DType type, const Choice& choice, uint32_t seed, bool wild) {
  Dice dice(seed);
  std::vector<Tensor> inputs;
  for (const Port& p : op.inputs)
    inputs.push_back(!p.by_value         ? drawn(dice, type, {3, 4, 5}, wild)
                     : choice.parameters ? Tensor::of(Shape{1}, std::vector<int64_t>{1})
                                         : test::absent());
  compare(op, type, choice, std::move(inputs));
}

/// Of the row and what is asked of it alone: rows that come or go leave the others their numbers. NNEX_BODY_SEED takes
/// others for all.
uint32_t seed_of(const std::string& what) {
  const char* wish = std::getenv("NNEX_BODY_SEED");
  uint32_t hash = 2166136261U + (wish ? static_cast<uint32_t>(std::strtoul(wish, nullptr, 10)) : 0);
  for (const char c : what) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return hash;
}

TEST(Bodies, GiveWhatTheReferenceGives) {
  int rows = 0, compared = 0;
  for (const OpDef* op : all_ops()) {
    if (op->body.empty() || !op->reference) continue;
    ++rows;
    for (int t = 1; t < kDTypes; ++t) {
      const auto type = static_cast<DType>(t);
      if (!(op->inputs[0].type.allowed & only(type)) || !has_reference(*op, type)) continue;
      for (const Choice& choice : choices_of(*op)) {
        std::string what = fmt::format("{} {}{}", op->name, name(type), choice.parameters ? " with parameters" : "");
        for (const auto& [field, value] : choice.attrs) what += fmt::format(" {} = {}", field, text(value));
        SCOPED_TRACE(what);
        for (const bool wild : {false, true}) {
          if (wild && !(op->elementwise && is_float(type))) continue;
          compare(*op, type, choice, seed_of(what + (wild ? " wild" : "")), wild);
          ++compared;
        }
      }
    }
  }
  fmt::print("{} rows, {} comparisons\n", rows, compared);
  EXPECT_GE(rows, 35);
  EXPECT_GE(compared, 892);
}

/// Rows whose inputs have shapes of their own.
TEST(Bodies, OfNormalisationsAndBlocks) {
  const struct {
    const char* op;
    std::vector<Shape> inputs;
    AttrMap attrs;
  } rows[] = {
      {"layer_normalization", {{2, 3, 4}, {4}, {4}}, {{"epsilon", AttrValue(0.5)}}},
      {"layer_normalization", {{2, 3, 4}, {3, 4}, {3, 4}}, {{"axes", AttrValue(Ints{1})}, {"to_end", AttrValue(true)}}},
      {"rms_normalization", {{2, 3, 4}, {4}}, {}},
      {"instance_normalization", {{2, 3, 4, 5}, {3}, {3}}, {}},
      {"instance_normalization", {{2, 3, 4}, {3}}, {}},
      {"group_normalization", {{2, 6, 4}, {6}, {6}}, {{"groups", AttrValue(int64_t{2})}}},
      {"depth_to_space", {{2, 8, 3, 5}}, {{"block", AttrValue(int64_t{2})}}},
      {"depth_to_space", {{2, 8, 3, 5}}, {{"block", AttrValue(int64_t{2})}, {"order", AttrValue(std::string("crd"))}}},
      {"space_to_depth", {{2, 3, 4, 6}}, {{"block", AttrValue(int64_t{2})}}},
  };
  for (const auto& row : rows)
    for (DType type : {DType::f32, DType::f16}) {
      const std::string what = fmt::format("{} {} {}", row.op, row.inputs[0].text(), name(type));
      SCOPED_TRACE(what);
      Dice dice(seed_of(what));
      std::vector<Tensor> inputs;
      for (const Shape& shape : row.inputs) inputs.push_back(drawn(dice, type, shape));
      ASSERT_TRUE(test::run_op(row.op, inputs, row.attrs, op(row.op).outputs.size()).ok());
      compare(op(row.op), type, {row.attrs}, std::move(inputs));
    }
}

TEST(Bodies, RunWhereNothingElseCan) {
  OpDef bare = op("mish");
  bare.name = "mish_without_a_kernel", bare.reference = {};
  for (DType type : {DType::f32, DType::f16}) {
    ir::Graph graph;
    Dice dice(7);
    const Tensor x = drawn(dice, type, {2, 9});
    const ValueId in = graph.add_param(kMain, "x", type_of(Value(x)));
    const NodeId id = graph.add_node(kMain, bare, {in}, 1);
    graph.set_name(graph[id].out[0], "y");
    graph.set_results(kMain, {graph[id].out[0]});
    auto model = compile(std::move(graph));
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(model->outputs()[0].name, "y");
    EXPECT_EQ(model->outputs()[0].type, std::string(name(type)) + "[2,9]");
    std::vector<Value> fed = {Value(x)};
    auto got = model->session().run(fed);
    ASSERT_TRUE(got.ok()) << got.error().text();
    auto wanted = test::run_op("mish", {x});
    ASSERT_TRUE(wanted.ok());
    const test::Bound bound{relative_bound(type), 1e-6};
    for (int64_t i = 0; i < x.count(); ++i)
      EXPECT_TRUE(test::near(real_at(*(*got)[0].tensor(), i), real_at((*wanted)[0], i), bound)) << i;
  }
}

}  // namespace
}  // namespace nnex::passes
