// Every kernel of a row's own against the row: its stored cases with other numbers, extents and axes, by the plan and
// by the reference or body (NNEX_KERNEL_SEED takes others). Who adds a kernel adds nothing here: a kernel that none of
// them ran is a failure.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "case_file.h"
#include "kernels/kernel.h"
#include "node_run.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "plan/plan.h"
#include "run/compile.h"
#include "share.h"
#include "source.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using test::Dice;
using test::OpCase;

constexpr int64_t kLargest = 1 << 16;  ///< Elements of an input: what kernels do apart begins far below.

const Port& port_at(const OpDef& op, size_t i) { return op.inputs[std::min(i, op.inputs.size() - 1)]; }

bool has_numbers(const Tensor& t) { return !is_object(t.dtype()) && !is_complex(t.dtype()); }

/// A case's inputs with other extents: equal ones stay equal, and those of the highest rank may get axes at either end.
std::vector<Shape> other_shapes(const OpCase& c, Dice& dice) {
  std::map<int64_t, int64_t> extents = {{0, 0}, {1, dice.roll(0, 3) ? 1 : dice.roll(2, 5)}};
  int64_t rank = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i] && !port_at(*c.op, i).by_value) rank = std::max(rank, c.inputs[i]->shape().rank());
  const int64_t before = dice.roll(0, 2) ? 0 : dice.roll(1, 4), behind = dice.roll(0, 3) ? 0 : dice.roll(2, 9);
  std::vector<Shape> out;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    out.emplace_back();
    if (!c.inputs[i]) continue;
    out.back() = c.inputs[i]->shape();
    if (port_at(*c.op, i).by_value) continue;
    Ints now;
    for (const int64_t e : c.inputs[i]->shape()) {
      const auto at = extents.find(e);
      now.push_back(at != extents.end() ? at->second : extents[e] = dice.roll(0, 1) ? e : e * dice.roll(1, 9));
    }
    if (rank > 0 && static_cast<int64_t>(now.size()) == rank) {
      if (before > 0) now.insert(now.begin(), before);
      if (behind > 0) now.push_back(behind);
    }
    out.back() = Shape(now);
  }
  return out;
}

/// Numbers between the least and the greatest of a tensor.
Tensor other_numbers(const Tensor& like, DType type, const Shape& shape, Dice& dice) {
  double low = 0, high = 0;
  bool any = false;
  for (int64_t i = 0; i < like.count(); ++i) {
    const double x = is_float(like.dtype()) ? real_at(like, i) : static_cast<double>(int_at(like, i));
    if (!std::isfinite(x) || std::fabs(x) > 1e4) continue;
    low = any ? std::min(low, x) : x, high = any ? std::max(high, x) : x;
    any = true;
  }
  Tensor t = Tensor::make(type, shape).value();
  if (is_float(like.dtype()) && low == high) low -= 1, high += 1;
  for (int64_t i = 0; i < t.count(); ++i)
    is_float(type)
        ? set_real(t, i, low + (high - low) * static_cast<double>(dice.roll(0, 1 << 20)) / (1 << 20))
        : set_int(t, i, dice.roll(static_cast<int64_t>(std::ceil(low)), static_cast<int64_t>(std::floor(high))));
  return t;
}

/// In every other variant another type that the row takes, one after another, for all inputs that are of the first
/// one's.
DType other_type(const OpCase& c, int64_t variant) {
  const DType now = c.inputs[0]->dtype();
  if (variant % 2 == 0) return now;
  std::vector<DType> types;
  for (int t = 1; t < kDTypes; ++t)
    if (const auto type = static_cast<DType>(t); port_at(*c.op, 0).type.allowed & only(type))
      if (!is_object(type) && !is_complex(type)) types.push_back(type);
  return types.empty() ? now : types[static_cast<size_t>(variant / 2) % types.size()];
}

/// Now and then another axis, be it an attribute or a parameter; the operator refuses one that cannot be.
void turn_axes(OpCase& c, Dice& dice) {
  const int64_t rank = c.inputs[0]->shape().rank();
  if (rank == 0 || dice.roll(0, 1)) return;
  const auto axis = [&] { return dice.roll(-rank, rank - 1); };
  for (auto& [name, value] : c.attrs) {
    if (auto* one = std::get_if<int64_t>(&value); one && name == "axis") *one = axis();
    if (auto* list = std::get_if<Ints>(&value); list && name == "axes") std::generate(list->begin(), list->end(), axis);
  }
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    const Port& p = port_at(*c.op, i);
    if (!c.inputs[i] || !p.by_value || (p.name != "axis" && p.name != "axes")) continue;
    Tensor other = c.inputs[i]->clone().value();
    for (int64_t n = 0; n < other.count(); ++n) set_int(other, n, axis());
    c.inputs[i] = std::move(other);
  }
}

/// A case whose every input is a tensor of numbers.
std::optional<OpCase> varied(OpCase c, int64_t variant, Dice& dice) {
  if (c.inputs.empty() || !c.inputs[0]) return std::nullopt;
  const std::vector<Shape> shapes = other_shapes(c, dice);
  const DType now = c.inputs[0]->dtype(), type = other_type(c, variant);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) continue;
    if (!has_numbers(*c.inputs[i]) || shapes[i].count() > kLargest) return std::nullopt;
    if (port_at(*c.op, i).by_value && (c.inputs[i]->dtype() != now || !is_float(now))) continue;
    const DType to = c.inputs[i]->dtype() == now ? type : c.inputs[i]->dtype();
    c.inputs[i] = other_numbers(*c.inputs[i], to, shapes[i], dice);
  }
  turn_axes(c, dice);
  return c;
}

using Tensors = std::vector<Tensor>;

/// By the reference, or by the body where there is none.
Result<Tensors> by_definition(const OpCase& c) {
  Tensors inputs;
  for (const auto& t : c.inputs) inputs.push_back(t ? t->aligned_copy().value() : test::absent());
  if (c.op->reference) return test::run_op(c.op->name, inputs, c.attrs, c.output_count());
  ir::Graph graph;
  std::vector<ValueId> in;
  for (const auto& t : c.inputs) in.push_back(t ? graph.add_constant(*t) : ValueId{});
  const NodeId id = graph.add_node(kMain, *c.op, in, c.output_count(), test::attrs_with(*c.op, c.attrs));
  graph.set_results(kMain, graph[id].out);
  NNEX_TRY(passes::prepare(graph));
  NNEX_TRY(passes::expand_body(graph, id));
  LoadOptions options;
  options.optimize = false;
  NNEX_ASSIGN(Model model, compile(std::move(graph), options));
  NNEX_ASSIGN(const std::vector<Value> made, model.session().run(std::vector<Value>()));
  Tensors out;
  for (const Value& v : made) out.push_back(*v.tensor());
  return out;
}

Result<Tensors> by_plan(const OpCase& c, Dice& dice) {
  ir::Graph graph;
  std::vector<ValueId> in;
  std::vector<Value> fed;
  const bool held = dice.roll(0, 1);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) {
      in.emplace_back();
    } else if (port_at(*c.op, i).by_value || (held && i > 0)) {
      in.push_back(graph.add_constant(*c.inputs[i]));
    } else {
      const Tensor& t = *c.inputs[i];
      in.push_back(graph.add_param(kMain, fmt::format("in{}", i), Type::tensor(t.dtype(), dims_of(t.shape()))));
      fed.emplace_back(t);
    }
  }
  const NodeId id = graph.add_node(kMain, *c.op, in, c.output_count(), test::attrs_with(*c.op, c.attrs));
  graph.set_results(kMain, graph[id].out);
  LoadOptions options;
  options.optimize = false;
  NNEX_ASSIGN(Model model, compile(std::move(graph), options));
  SessionOptions how;
  how.threads = static_cast<int>(dice.roll(1, 2));
  NNEX_ASSIGN(const std::vector<Value> made, model.session(how).run(fed));
  Tensors out;
  for (const Value& v : made) out.push_back(*v.tensor());
  return out;
}

/// A few roundings to the type, of the greatest number that is met: sums are added up in another order.
double bound_of(const OpCase& c, const Tensor& wanted) {
  double greatest = 1;
  const auto see = [&](const Tensor& t) {
    for (int64_t i = 0; is_float(t.dtype()) && i < t.count(); ++i)
      if (const double x = std::fabs(real_at(t, i)); std::isfinite(x)) greatest = std::max(greatest, x);
  };
  see(wanted);
  for (const auto& t : c.inputs)
    if (t) see(*t);
  const DType type = wanted.dtype();
  return greatest * (type == DType::bf16  ? 1.0 / 64
                     : type == DType::f16 ? 1.0 / 512
                     : type == DType::f64 ? 1e-12
                                          : 1e-5);
}

void expect_same(const OpCase& c, const Tensors& wanted, const Tensors& got) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < wanted.size(); ++o) {
    const Tensor &w = wanted[o], &g = got[o];
    ASSERT_EQ(name(g.dtype()), name(w.dtype())) << "output " << o;
    ASSERT_EQ(g.shape().text(), w.shape().text()) << "output " << o;
    if (!has_numbers(w)) continue;
    const double bound = is_float(w.dtype()) ? bound_of(c, w) : 0;
    for (int64_t i = 0; i < w.count(); ++i)
      ASSERT_TRUE(is_float(w.dtype()) ? test::near(real_at(g, i), real_at(w, i), {bound, bound})
                                      : int_at(g, i) == int_at(w, i))
          << "output " << o << ", element " << i << ": found " << element_text(g, i) << ", needed "
          << element_text(w, i);
  }
}

std::string text_of(const OpCase& c) {
  std::string out = c.place + " " + c.name + ":";
  for (const auto& t : c.inputs) out += t ? fmt::format(" {}{}", name(t->dtype()), t->shape().text()) : " -";
  return out;
}

TEST(AllKernels, GiveWhatTheRowsGive) {
  constexpr int64_t kVariants = 80;
  std::set<const kernels::KernelDef*> ran;
  size_t compared = 0;
  for (const OpDef* op : all_ops()) {
    if (kernels::kernels_of(op->name).empty()) continue;
    const std::string path = test::source_dir() + "/tests/cases/ops/" + std::string(op->name) + ".case";
    if (!std::filesystem::exists(path)) continue;
    const auto cases = test::read_op_cases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    const char* const wish = std::getenv("NNEX_KERNEL_SEED");
    uint32_t seed = wish ? static_cast<uint32_t>(std::strtoul(wish, nullptr, 10)) : 0;
    for (const OpCase& c : *cases) {
      if (!c.says.empty()) continue;
      for (int64_t i = 0; i < test::some_of(kVariants); ++i) {
        Dice dice(++seed);
        const auto v = varied(c, i, dice);
        if (!v) continue;
        const auto wanted = by_definition(*v);
        if (!wanted.ok()) continue;  // the operator takes no such extents
        SCOPED_TRACE(text_of(*v));
        std::set<const kernels::KernelDef*> chosen;
        const plan::PlanWatch watch([&](NodeId, const kernels::KernelRequest& r, const kernels::KernelDef* def) {
          if (def && &r.op == op) chosen.insert(def);
        });
        const auto got = by_plan(*v, dice);
        ASSERT_TRUE(got.ok()) << got.error().text();
        SCOPED_TRACE(chosen.empty() ? "by the reference" : "by " + std::string((*chosen.begin())->name));
        expect_same(*v, *wanted, *got);
        if (HasFatalFailure()) return;
        ran.insert(chosen.begin(), chosen.end());
        compared += chosen.size();
      }
    }
  }
  fmt::print("{} kernels, {} comparisons\n", ran.size(), compared);
  if (test::share() > 1) return;
  for (const kernels::KernelDef* def : kernels::all_kernels()) {
    if (def->op == "fused") continue;  // of regions: random_networks_test
    EXPECT_TRUE(ran.count(def)) << def->name << ", a kernel of " << def->op << ", ran in no variant of tests/cases/ops/"
                                << def->op << ".case: needed is a case of its "
                                << "types and extents";
  }
}

}  // namespace
}  // namespace nnex
