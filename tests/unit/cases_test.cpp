// Every case under tests/cases: by reference, by every kernel of every instruction set, with constants and without,
// with known extents and without, item by item, through every pass, and printed and read back; networks by every
// instruction set.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "case_file.h"
#include "graph/infer.h"
#include "graph/text/build.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "kernels/simd/loops.h"
#include "node_run.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "run/compile.h"
#include "share.h"
#include "source.h"
#include "tensor/convert.h"
#include "true_types.h"

namespace nnex {
namespace simd = kernels::simd;
namespace {

using test::OpCase;

enum class Held : uint8_t { nothing, parameters, all_but_first, everything };  ///< Which inputs are constants.
enum class Known : uint8_t { extents, rank, nothing };                         ///< What is known of the others.

struct Way {
  Held held = Held::parameters;
  Known known = Known::extents;
  bool optimize = true, inside = false, sliced = false;
  int threads = 1;
  simd::Isa isa = simd::Isa::count;  ///< count: the best.

  std::string text() const {
    static constexpr const char* kHeld[] = {"no constants", "constant parameters", "all but one constant",
                                            "all constant"};
    static constexpr const char* kKnown[] = {"", ", extents unknown", ", rank unknown"};
    return fmt::format("{}{}{}{}{}{}{}", kHeld[static_cast<int>(held)], kKnown[static_cast<int>(known)],
                       optimize ? ", optimised" : "", inside ? ", between copies" : "", sliced ? ", in slices" : "",
                       threads > 1 ? ", two threads" : "",
                       isa == simd::Isa::count ? "" : ", " + std::string(simd::name(isa)));
  }
};

const Port& port_of(const OpDef& op, size_t i) { return op.inputs[std::min(i, op.inputs.size() - 1)]; }

bool is_held(const OpCase& c, size_t i, Held held) {
  switch (held) {
    case Held::nothing:
      return false;
    case Held::parameters:
      return port_of(*c.op, i).by_value;
    case Held::all_but_first:
      return i > 0;
    default:
      return true;
  }
}

Type type_known(const Tensor& t, size_t input, Known known) {
  if (known == Known::nothing) return Type::tensor(t.dtype());
  Dims dims;
  for (int64_t a = 0; a < t.shape().rank(); ++a)
    dims.push_back(known == Known::extents ? Dim(t.shape()[a]) : Dim::symbol(fmt::format("d{}_{}", input, a)));
  return Type::tensor(t.dtype(), std::move(dims));
}

/// Of every case's ways those that are its turn: all, or one in four where code is not optimised, each case others.
class Turn {
 public:
  explicit Turn(size_t number) : at_(number) {}
  bool next() { return at_++ % one_in_ == 0; }

 private:
  size_t at_, one_in_ = test::share() > 1 ? 4 : 1;
};

struct Net {
  ir::Graph graph;
  std::vector<Value> fed;
};

Net net_of(const OpCase& c, const Way& way) {
  Net n;
  std::vector<ValueId> in;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) {
      in.emplace_back();
      continue;
    }
    if (is_held(c, i, way.held)) {
      in.push_back(n.graph.add_constant(*c.inputs[i]));
      continue;
    }
    in.push_back(n.graph.add_param(kMain, fmt::format("in{}", i), type_known(*c.inputs[i], i, way.known)));
    n.fed.emplace_back(*c.inputs[i]);
    if (way.inside) in.back() = Builder(n.graph, kMain)("copy", {in.back()});
  }
  NodeId id = n.graph.add_node(kMain, *c.op, in, c.output_count(), test::attrs_with(*c.op, c.attrs));
  std::vector<ValueId> results = n.graph[id].out;
  if (way.inside)
    for (ValueId& v : results) v = Builder(n.graph, kMain)("copy", {v});
  for (size_t o = 0; o < results.size(); ++o) n.graph.set_name(results[o], fmt::format("out{}", o));
  n.graph.set_results(kMain, results);
  return n;
}

Result<std::vector<Tensor>> run(ir::Graph graph, const std::vector<Value>& fed, const Way& way) {
  LoadOptions options;
  options.optimize = way.optimize;
  if (way.isa != simd::Isa::count) options.isa = *instruction_set_named(simd::name(way.isa));
  NNEX_ASSIGN(Model model, way.sliced ? compile(std::move(graph), options, 0) : compile(std::move(graph), options));
  SessionOptions how;
  how.threads = way.threads;
  NNEX_ASSIGN(auto out, model.session(how).run(fed));
  std::vector<Tensor> tensors;
  for (const Value& v : out) tensors.push_back(*v.tensor());
  return tensors;
}

void expect(const test::Expected& e, const Tensor& g, std::string_view port) {
  ASSERT_EQ(name(g.dtype()), name(e.tensor.dtype())) << port;
  ASSERT_EQ(g.shape().text(), e.tensor.shape().text()) << port;
  for (int64_t i = 0; i < g.count(); ++i)
    ASSERT_TRUE(test::fits(e, g, i)) << port << ", element " << i << ": found " << element_text(g, i) << ", needed "
                                     << element_text(e.tensor, i);
}

void expect(const OpCase& c, const Result<std::vector<Tensor>>& got) {
  if (!got.ok() && got.error().message().find("it was built without") != std::string::npos) return;  // a library
  if (!c.says.empty()) {
    ASSERT_FALSE(got.ok()) << "it ran";
    EXPECT_EQ(got.error().message(), c.says);
    return;
  }
  ASSERT_TRUE(got.ok()) << got.error().text();
  for (const test::Expected& e : c.outputs)
    expect(e, (*got)[e.output], c.op->outputs[std::min(e.output, c.op->outputs.size() - 1)].name);
}

/// Whether nothing that is known of a type is otherwise in the tensor.
bool is_true_of(const Type& type, const Tensor& t) {
  if (type.kind == Kind::unknown) return true;
  if (!type.is_tensor() || (type.dtype != DType::none && type.dtype != t.dtype())) return false;
  if (!type.dims) return true;
  const Shape& shape = t.shape();
  bool fits = static_cast<int64_t>(type.dims->size()) == shape.rank();
  for (int64_t a = 0; fits && a < shape.rank(); ++a) {
    const auto extent = (*type.dims)[static_cast<size_t>(a)].number();
    fits = !extent || *extent == shape[a];
  }
  return fits;
}

/// The row's own shape and type rule, before its body says more: what it knows of an output is what comes out.
void by_rule(const OpCase& c) {
  if (!c.says.empty()) return;
  for (const Way& way : {Way{.held = Held::everything}, Way{}, Way{.held = Held::nothing}, Way{.known = Known::rank}}) {
    SCOPED_TRACE("rule, " + way.text());
    const Net n = net_of(c, way);
    const NodeId id = n.graph.order().back();
    Inference inference(n.graph);
    const Status ruled = inference.node(id);
    ASSERT_TRUE(ruled.ok()) << ruled.error().text();
    for (const test::Expected& e : c.outputs) {
      const Type& type = inference.type(n.graph[id].out[e.output]);
      EXPECT_TRUE(is_true_of(type, e.tensor)) << "output " << e.output << ": the rule says " << type.text()
                                              << ", the case " << name(e.tensor.dtype()) << e.tensor.shape().text();
    }
  }
}

void by_reference(const OpCase& c) {
  if (!c.op->reference) return;
  SCOPED_TRACE("reference");
  std::vector<Tensor> inputs;
  for (const auto& t : c.inputs) inputs.push_back(t ? *t : test::absent());
  expect(c, test::run_op(c.op->name, inputs, c.attrs, c.output_count()));
}

void by_plan(const OpCase& c, Turn turn) {
  std::vector<Way> ways;
  for (bool optimize : {false, true}) {
    for (Held held : {Held::nothing, Held::parameters, Held::all_but_first, Held::everything})
      ways.push_back({.held = held, .optimize = optimize});
    for (Known known : {Known::rank, Known::nothing}) ways.push_back({.known = known, .optimize = optimize});
    for (int i = 0; i < static_cast<int>(simd::Isa::count); ++i)
      if (simd::can_run(static_cast<simd::Isa>(i)))
        ways.push_back({.optimize = optimize, .isa = static_cast<simd::Isa>(i)});
    ways.push_back({.optimize = optimize, .inside = true});
    ways.push_back({.optimize = optimize, .threads = 2});
    for (Held held : {Held::nothing, Held::parameters, Held::all_but_first})
      ways.push_back({.held = held, .optimize = optimize, .inside = true, .sliced = true});
  }
  for (const Way& way : ways) {
    if (!turn.next()) continue;
    SCOPED_TRACE(way.text());
    Net n = net_of(c, way);
    expect(c, run(std::move(n.graph), n.fed, way));
  }
}

void through_passes(const OpCase& c, Turn turn) {
  Way way;
  way.optimize = false;
  std::set<std::string_view> done;
  for (const passes::PassDef& pass : passes::pipeline()) {
    if (!done.insert(pass.name).second) continue;
    for (bool inside : {false, true}) {
      if (!turn.next()) continue;
      way.inside = inside;
      SCOPED_TRACE(fmt::format("pass {}{}", pass.name, inside ? ", between copies" : ""));
      Net n = net_of(c, way);
      if (!passes::prepare(n.graph).ok()) return;  // the other ways say why
      const std::string before = graph_text::print(n.graph);
      auto applied = pass.run(n.graph);
      ASSERT_TRUE(applied.ok()) << applied.error().text();
      EXPECT_TRUE(*applied > 0 || pass.name == "infer_types" || graph_text::print(n.graph) == before);
      const Status fine = verify(n.graph, pass.name);
      ASSERT_TRUE(fine.ok()) << fine.error().text();
      test::expect_true_types(n.graph);
      for (size_t o = 0; o < n.graph.outputs().size(); ++o)
        EXPECT_EQ(n.graph[n.graph.outputs()[o]].name, fmt::format("out{}", o));
      expect(c, run(std::move(n.graph), n.fed, way));
    }
  }
}

void through_text(const OpCase& c) {
  SCOPED_TRACE("as text");
  Way way;
  Net n = net_of(c, way);
  const std::string text = graph_text::print(n.graph);
  auto back = graph_text::read_graph(text, "g");
  ASSERT_TRUE(back.ok()) << back.error().text() << "\n" << text;
  EXPECT_EQ(graph_text::print(*back), text);
  expect(c, run(std::move(*back), n.fed, way));
}

std::vector<std::string> files_in(const char* folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() + "/tests/cases/" + folder))
    files.insert(entry.path().string());
  return {files.begin(), files.end()};
}

TEST(Cases, Operators) {
  size_t cases = 0;
  std::set<std::string_view> rows;
  for (const std::string& path : files_in("ops")) {
    auto read = test::read_op_cases(path);
    if (!read.ok()) {
      ADD_FAILURE() << read.error().text();
      continue;
    }
    for (const OpCase& c : *read) {
      SCOPED_TRACE(c.place + " " + c.name);
      by_rule(c);
      by_reference(c);
      by_plan(c, Turn(cases));
      through_passes(c, Turn(cases));
      through_text(c);
      rows.insert(c.op->name);
      ++cases;
    }
  }
  fmt::print("{} cases of {} operators\n", cases, rows.size());
  EXPECT_GE(cases, 508u);
  EXPECT_GE(rows.size(), 199u);
}

/// The networks of a case, by every way; `rows` gathers the operators they are made of.
void by_graph(const test::GraphCase& c, std::set<std::string_view>& rows) {
  auto graph = graph_text::read_graph(c.graph, c.place);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (NodeId id : graph->order_with_blocks()) rows.insert((*graph)[id].op->name);
  std::vector<Value> fed;
  for (ValueId v : graph->inputs()) {
    const test::Expected* given = c.value((*graph)[v].name);
    ASSERT_TRUE(given) << "no value for input " << (*graph)[v].name;
    fed.emplace_back(given->tensor);
  }
  ASSERT_EQ(fed.size() + graph->outputs().size(), c.values.size()) << "values that are neither inputs nor outputs";
  const std::string text = graph_text::print(*graph);
  auto again = graph_text::read_graph(text, "printed");
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << text;
  EXPECT_EQ(graph_text::print(*again), text);
  std::vector<Way> ways = {{.optimize = false},
                           {.optimize = false, .threads = 2},
                           {.threads = 2},
                           {.optimize = false, .sliced = true},
                           {.sliced = true}};
  for (int i = 0; i < static_cast<int>(simd::Isa::count); ++i)
    if (simd::can_run(static_cast<simd::Isa>(i))) ways.push_back({.isa = static_cast<simd::Isa>(i)});
  for (const Way& way : ways) {
    SCOPED_TRACE(way.text());
    const auto got = run(ir::Graph(way.optimize ? *graph : *again), fed, way);
    ASSERT_TRUE(got.ok()) << got.error().text();
    for (size_t o = 0; o < got->size(); ++o) {
      const std::string& output = (*graph)[graph->outputs()[o]].name;
      const test::Expected* e = c.value(output);
      ASSERT_TRUE(e) << "no value for output " << output;
      expect(*e, (*got)[o], output);
    }
  }
}

/// A row has a case: of its own, or a network that it is part of, be it one that a pass makes.
TEST(Cases, EveryRowHasOne) {
  std::set<std::string_view> rows;
  for (const std::string& path : files_in("ops")) {
    const auto cases = test::read_op_cases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const OpCase& c : *cases) rows.insert(c.op->name);
  }
  for (const std::string& path : files_in("passes")) {
    const auto cases = test::read_pass_cases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const test::PassCase& c : *cases) {
      const auto graph = graph_text::read_graph(c.after.empty() ? c.before : c.after, c.place);
      ASSERT_TRUE(graph.ok()) << graph.error().text();
      for (NodeId id : graph->order_with_blocks()) rows.insert((*graph)[id].op->name);
    }
  }
  for (const std::string& path : files_in("graphs")) {
    auto cases = test::read_graph_cases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const test::GraphCase& c : *cases) {
      SCOPED_TRACE(c.place + " " + c.name);
      by_graph(c, rows);
    }
  }
  for (const OpDef* op : all_ops()) EXPECT_TRUE(rows.count(op->name)) << op->name << " has no case in tests/cases";
}

/// The graph with the types inference finds, as text.
std::string shown(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  return faults.none() ? graph_text::print(graph) : std::move(faults).first().text();
}

/// Numbers for a graph's inputs, the same each time; nothing where they are no tensors of known extents.
std::optional<std::vector<Value>> numbers_for(const ir::Graph& graph) {
  std::vector<Value> fed;
  uint32_t seed = 1;
  for (ValueId v : graph.inputs()) {
    const Type& type = graph[v].type;
    std::vector<int64_t> extents;
    if (!type.is_tensor() || !type.dims || is_object(type.dtype)) return std::nullopt;
    for (const Dim& d : *type.dims) {
      if (!d.is_number()) return std::nullopt;
      extents.push_back(d.value());
    }
    auto t = Tensor::make(type.dtype, Shape(extents));
    if (!t.ok()) return std::nullopt;
    for (int64_t i = 0; i < t->count(); ++i) {
      seed = seed * 1664525U + 1013904223U;
      if (is_real(type.dtype))
        set_real(*t, i, static_cast<double>(seed >> 8) / (1 << 23) - 1);
      else
        set_int(*t, i, static_cast<int64_t>((seed >> 16) % (type.dtype == DType::boolean ? 2 : 100)));
    }
    fed.emplace_back(std::move(*t));
  }
  return fed;
}

/// What a few roundings to a type change, of one.
double roundings_of(DType t) {
  if (t == DType::bf16) return 1.0 / (1 << 6);
  return t == DType::f16 ? 1.0 / (1 << 9) : 1e-5;
}

/// A pass keeps what a graph computes: whole numbers but for so many steps, other numbers within a few roundings.
void expect_same_values(ir::Graph before, ir::Graph after, int64_t steps) {
  const auto fed = numbers_for(before);
  if (!fed) return;
  const auto want = run(std::move(before), *fed, {.optimize = false});
  const auto got = run(std::move(after), *fed, {.optimize = false});
  ASSERT_EQ(want.ok(), got.ok()) << (want.ok() ? got.error().text() : want.error().text());
  if (!want.ok()) return;
  for (size_t o = 0; o < want->size(); ++o) {
    const Tensor &w = (*want)[o], &g = (*got)[o];
    ASSERT_EQ(name(g.dtype()), name(w.dtype())) << "output " << o;
    ASSERT_EQ(g.shape().text(), w.shape().text()) << "output " << o;
    for (int64_t i = 0; i < w.count(); ++i) {
      if (!is_real(w.dtype())) {
        ASSERT_LE(std::llabs(int_at(w, i) - int_at(g, i)), steps) << "output " << o << ", element " << i;
        continue;
      }
      const double a = real_at(w, i), b = real_at(g, i);
      if (!std::isfinite(a))
        ASSERT_TRUE(std::isnan(a) ? std::isnan(b) : a == b) << "output " << o << ", element " << i;
      else
        ASSERT_LE(std::fabs(a - b), roundings_of(w.dtype()) * (1 + std::fabs(a)))
            << "output " << o << ", element " << i;
    }
  }
}

TEST(Cases, Passes) {
  std::set<std::string> tried;
  for (const std::string& path : files_in("passes")) {
    const std::string pass_name = std::filesystem::path(path).stem().string();
    const auto all = passes::pipeline();
    const auto pass =
        std::find_if(all.begin(), all.end(), [&](const passes::PassDef& p) { return p.name == pass_name; });
    ASSERT_NE(pass, all.end()) << pass_name;
    tried.insert(pass_name);
    auto cases = test::read_pass_cases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const test::PassCase& c : *cases) {
      SCOPED_TRACE(c.place + " " + c.name);
      auto graph = graph_text::read_graph(c.before, c.place + " before");
      ASSERT_TRUE(graph.ok()) << graph.error().text();
      auto wanted = graph_text::read_graph(c.after.empty() ? c.before : c.after, c.place + " after");
      ASSERT_TRUE(wanted.ok()) << wanted.error().text();
      const Status ready = passes::prepare(*graph);
      ASSERT_TRUE(ready.ok()) << ready.error().text();
      auto applied = pass->run(*graph);
      ASSERT_TRUE(applied.ok()) << applied.error().text();
      EXPECT_EQ(*applied > 0, !c.after.empty());
      const Status fine = verify(*graph, pass_name);
      ASSERT_TRUE(fine.ok()) << fine.error().text();
      EXPECT_EQ(shown(*graph), shown(*wanted));
      if (!c.after.empty()) expect_same_values(*graph_text::read_graph(c.before, "before"), std::move(*graph), c.steps);
    }
  }
  for (const passes::PassDef& pass : passes::pipeline())
    EXPECT_TRUE(pass.name == "infer_types" || tried.count(std::string(pass.name)) > 0) << "no cases for " << pass.name;
}

TEST(Cases, Errors) {
  for (const std::string& path : files_in("errors")) {
    auto cases = test::read_error_cases(path);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const test::ErrorCase& c : *cases) {
      SCOPED_TRACE(c.place + " " + c.name);
      auto graph = graph_text::read_graph(c.graph, "graph");
      std::string found = "nothing is wrong";
      if (!graph.ok())
        found = graph.error().text();
      else if (auto model = compile(std::move(graph).value()); !model.ok())
        found = model.error().text();
      EXPECT_EQ(found, c.says);
    }
  }
}

}  // namespace
}  // namespace nnex
