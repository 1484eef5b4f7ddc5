// The operator table as a whole: every row complete, every spelling once, and every operator of the standards counted.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "graph/graph.h"
#include "graph/text/parser.h"
#include "kernels/kernel.h"
#include "ops/call.h"
#include "ops/stored.h"
#include "ops/traits.h"
#include "source.h"
#include "standards/onnx/import.h"

namespace nnex {
namespace {

bool is_name(std::string_view s) {
  return !s.empty() && s[0] >= 'a' && s[0] <= 'z' && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// What tests/operators.txt calls a standard.
constexpr std::pair<std::string_view, Format> kStandards[] = {
    {"nnef", nnef}, {"onnx", onnx}, {"webnn", webnn}, {"cvm", cvm}};

std::string_view standard_of(Format format) {
  for (const auto& [name, of] : kStandards)
    if (of == format) return name;
  return "a standard that tests/unit/table_test.cpp does not list";
}

std::string label(const Spelling& s) {
  return fmt::format("{} {}{}{} since {}", standard_of(s.format), s.domain, s.domain.empty() ? "" : ".", s.name,
                     s.since);
}

TEST(Table, RowsAreComplete) {
  std::set<std::string_view> names;
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    EXPECT_TRUE(names.insert(op->name).second) << "twice";
    EXPECT_TRUE(is_name(op->name));
    EXPECT_FALSE(op->summary.empty());
    EXPECT_FALSE(op->source.empty());
    EXPECT_GT(op->outputs.size() + op->blocks.size(), 0u);
    EXPECT_TRUE(op->infer || op->blocks.size() > 0);
    EXPECT_EQ(&nnex::op(op->name), op);
  }
}

/// What keeps a row from being compiled, rule by rule.
TEST(Table, FaultsOfRowsAreTold) {
  const OpRow sound = {.name = "row",
                       .summary = "One.",
                       .inputs = {{"x", kF}},
                       .outputs = {{"y", same_type_as("x")}},
                       .infer = [](InferCall&) { return Status(); }};
  EXPECT_EQ(fault_of(sound), RowFault::none);
  const auto spelled = [&](const SpellingRow& s) {
    OpRow row = sound;
    row.spelled = {s};
    return fault_of(row);
  };
  EXPECT_EQ(spelled({onnx, "Row", {{"x", "theirs"}}}), RowFault::none);
  EXPECT_EQ(spelled({onnx, "Row", {{"axes", "axis"}}}), RowFault::rename);
  EXPECT_EQ(spelled({onnx, "Row", {}, 1, "", {{"mode", "'linear'"}}}), RowFault::preset);
  EXPECT_EQ(spelled({onnx, "Row", {}, 1, "", {}, {"x", "z"}}), RowFault::port);
  OpRow row = sound;
  row.outputs.item[0].type.from = "result";
  EXPECT_EQ(fault_of(row), RowFault::output_type);
  row.infer = nullptr;
  EXPECT_EQ(fault_of(row), RowFault::infer);
  row.summary = "";
  EXPECT_EQ(fault_of(row), RowFault::summary);
  row.name = "";
  EXPECT_EQ(fault_of(row), RowFault::name);
}

std::set<std::string_view> rows_that(bool (*trait)(const OpDef&)) {
  std::set<std::string_view> out;
  for (const OpDef* op : all_ops())
    if (trait(*op)) out.insert(op->name);
  return out;
}

/// A row more or less here is a rewrite or a kernel more or less there.
TEST(Table, TraitsAreOfTheseRows) {
  using Names = std::set<std::string_view>;
  EXPECT_EQ(rows_that(is_product), (Names{"conv", "linear", "matmul"}));
  EXPECT_EQ(rows_that(is_biased_product), (Names{"conv", "linear"}));
  EXPECT_EQ(rows_that(is_limit), (Names{"clamp", "relu"}));
  EXPECT_EQ(rows_that(takes_greatest), (Names{"max_pool"}));
  EXPECT_EQ(rows_that(is_answer), (Names{"and", "eq", "ge", "gt", "is_nan", "le", "lt", "ne", "not", "or", "xor"}));
  EXPECT_EQ(rows_that([](const OpDef& op) { return op.view; }), (Names{"flatten", "reshape", "squeeze", "unsqueeze"}));
}

TEST(Table, EveryRowRuns) {
  std::set<std::string_view> served;
  for (const kernels::KernelDef* k : kernels::all_kernels()) {
    EXPECT_TRUE(find_op(k->op)) << "kernel " << k->name << " serves '" << k->op << "', which is no row";
    served.insert(k->op);
  }
  for (const OpDef* op : all_ops()) {
    // Carried and checked; what it asks for is another graph, which nothing here makes yet.
    const bool described = op->name == "gradient";
    const bool by_run = op->blocks.size() > 0 || described;
    EXPECT_TRUE(op->reference || !op->body.empty() || by_run)
        << op->name << " has neither a reference kernel nor a body" << (served.count(op->name) ? ", only kernels" : "");
  }
}

TEST(Table, PortsAndAttributesAreNamedOnce) {
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    std::set<std::string_view> names, outputs;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const Port& p = op->inputs[i];
      EXPECT_TRUE(is_name(p.name) || p.name.find_first_of("ABCXY") != std::string_view::npos) << p.name;
      EXPECT_TRUE(names.insert(p.name).second) << p.name;
      EXPECT_TRUE(p.type.same.empty() || op->input(p.type.same) >= 0) << p.name << " is like '" << p.type.same << "'";
      EXPECT_TRUE(p.arity != Arity::variadic || i + 1 == op->inputs.size()) << p.name << ": the variadic port is last";
      EXPECT_TRUE(p.type.any_value || p.type.allowed != 0 || !p.type.same.empty()) << p.name;
    }
    for (const Port& p : op->outputs) {
      EXPECT_TRUE(outputs.insert(p.name).second) << p.name;
      EXPECT_TRUE(p.type.same.empty() || op->input(p.type.same) >= 0) << p.name;
      EXPECT_TRUE(p.type.from.empty() || op->attrs.find(p.type.from)) << p.name;
    }
    for (const Field& f : op->attrs.fields) {
      EXPECT_TRUE(names.insert(f.name).second) << f.name;
      EXPECT_FALSE(f.doc.empty()) << f.name << " has no doc";
    }
    for (std::string_view b : op->blocks) EXPECT_TRUE(names.insert(b).second) << b;
  }
}

TEST(Table, DefaultsAreValues) {
  for (const OpDef* op : all_ops()) {
    if (!op->attrs.make) continue;
    SCOPED_TRACE(op->name);
    const auto defaults = op->attrs.make(), other = op->attrs.make();
    for (const Field& f : op->attrs.fields) {
      const AttrValue v = f.get(defaults.get());
      EXPECT_TRUE(f.set(other.get(), v)) << f.name << " = " << text(v);
      EXPECT_TRUE(same(f.get(other.get()), v)) << f.name;
      if (const auto* word = std::get_if<std::string>(&v); word && !f.words.empty()) {
        EXPECT_EQ(std::count(f.words.begin(), f.words.end(), *word), 1) << f.name;
      }
      std::set<std::string_view> words(f.words.begin(), f.words.end());
      EXPECT_EQ(words.size(), f.words.size()) << f.name << " has a word twice";
    }
  }
}

TEST(Table, PresetsFit) {
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled)
      for (const Preset& p : s.presets) {
        SCOPED_TRACE(fmt::format("{}: {}: {} = {}", op->name, label(s), p.ours, p.value));
        const Field* f = op->attrs.find(p.ours);
        ASSERT_TRUE(f);
        const bool quoted = !p.value.empty() && p.value[0] == '\'';
        if (quoted && !f->words.empty()) {
          EXPECT_EQ(std::count(f->words.begin(), f->words.end(), p.value.substr(1, p.value.size() - 2)), 1);
        }
      }
}

/// One operator of one standard at one version has one row. Two forms may share a name and a version where an attribute
/// or the number of operands tells them apart: those are few, and listed.
TEST(Table, SpellingsAreUnique) {
  std::map<std::string, std::string> seen;
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled) {
      EXPECT_FALSE(s.name.empty()) << op->name;
      EXPECT_GE(s.since, 1) << op->name;
      auto [it, fresh] = seen.try_emplace(label(s), std::string(op->name));
      const std::set<std::string> shared = {"onnx LpNormalization since 1", "cvm sum since 1"};
      EXPECT_TRUE(fresh || shared.count(label(s))) << label(s) << " is " << it->second << " and " << op->name;
    }
}

TEST(Table, BodiesParseAndCallRows) {
  for (const OpDef* op : all_ops()) {
    if (op->body.empty()) continue;
    SCOPED_TRACE(op->name);
    auto body = graph_text::parse_body(op->body, std::string(op->name));
    ASSERT_TRUE(body.ok()) << body.error().text();
    for (const Port& p : op->outputs)
      EXPECT_TRUE(std::any_of(body->begin(), body->end(), [&](const auto& a) { return a.left.name == p.name; }))
          << "no " << p.name;
    const std::function<void(const graph_text::Expr&)> calls = [&](const graph_text::Expr& e) {
      const bool word = e.text == "given" || e.text == "dtype" || e.text == "rank" || graph_text::is_keyword(e.text);
      if (e.kind == graph_text::Expr::Kind::call && !word) {
        EXPECT_TRUE(find_op(e.text)) << e.text;
        EXPECT_NE(e.text, op->name) << "calls itself";
      }
      for (const auto& item : e.items) calls(item);
    };
    for (const auto& a : *body) calls(a.right);
  }
}

/// How tests/operators.txt shortens the domains of ONNX.
const std::map<std::string, std::string> kDomains = {
    {"", ""}, {"ml", "ai.onnx.ml"}, {"training", "ai.onnx.preview.training"}, {"preview", "ai.onnx.preview"}};

/// Operators that can be read in a standard: those spelled, and those the ONNX reader rewrites.
bool is_readable(Format format, const std::string& name) {
  const size_t dot = name.find('.');
  const std::string bare = format == onnx && dot != std::string::npos ? name.substr(dot + 1) : name;
  const std::string prefix = format == onnx && dot != std::string::npos ? name.substr(0, dot) : "";
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled)
      if (s.format == format && s.name == bare &&
          (prefix.empty() ? s.domain.empty() : s.domain.find(prefix) != std::string_view::npos))
        return true;
  return format == onnx && onnx_format::find_quirk(kDomains.at(prefix), bare);
}

/// The name of a spelling's operator in tests/operators.txt.
std::string listed_name(const Spelling& s) {
  for (const auto& [prefix, domain] : kDomains)
    if (!prefix.empty() && domain == s.domain) return prefix + "." + std::string(s.name);
  return std::string(s.name);
}

/// tests/operators.txt lists every operator of the standards; each can be read, and each that a row spells is there.
TEST(Table, OperatorsOfTheStandards) {
  std::ifstream in(test::source_dir() + "/tests/operators.txt");
  std::map<std::string_view, std::set<std::string>> listed;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(fmt::format("tests/operators.txt:{}: {}", number, line));
    std::istringstream words(line);
    std::string standard, name, row;
    words >> standard >> name >> row;
    const auto of = std::find_if(std::begin(kStandards), std::end(kStandards),
                                 [&](const auto& known) { return known.first == standard; });
    if (of == std::end(kStandards)) {
      ADD_FAILURE() << "no standard is called '" << standard << "'";
      continue;
    }
    EXPECT_TRUE(listed[of->first].insert(name).second) << "listed twice";
    EXPECT_TRUE(is_readable(of->second, name)) << "no row spells it, and no import makes rows of it";
    EXPECT_TRUE(row == "(rewrite)" || find_op(row)) << "there is no row '" << row << "'";
  }
  const auto is_a_standard = [](std::string_view domain) {
    return std::any_of(kDomains.begin(), kDomains.end(), [&](const auto& known) { return known.second == domain; });
  };
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled)
      EXPECT_TRUE(!is_a_standard(s.domain) || listed[standard_of(s.format)].count(listed_name(s)))
          << op->name << " is " << label(s) << "; tests/operators.txt has no line for it";
  for (const auto& [standard, format] : kStandards) EXPECT_FALSE(listed[standard].empty()) << standard;
}

}  // namespace
}  // namespace nnex
