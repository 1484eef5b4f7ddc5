// nnex ops: the operator table, as a list, or an operator with all it takes.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli.h"
#include "ops/table.h"
#include "webnn_ops.h"

namespace nnex::cli {
namespace {

constexpr std::string_view kFormats[] = {"nnef", "onnx", "webnn", "cvm"};
std::string_view format_of(const Spelling& s) { return kFormats[static_cast<size_t>(s.format)]; }

std::vector<std::string_view> types_of(const TypeRule& rule) {
  std::vector<std::string_view> out;
  for (int t = 1; t < 64; ++t)
    if (rule.allowed >> t & 1)
      if (const std::string_view type = name(static_cast<DType>(t)); !type.empty()) out.push_back(type);
  return out;
}

/// Rows of that name, or that a standard calls so.
std::vector<const OpDef*> find(const std::string& name) {
  std::vector<const OpDef*> found;
  for (const OpDef* op : all_ops()) {
    const bool spelled =
        std::any_of(op->spelled.begin(), op->spelled.end(), [&](const Spelling& s) { return s.name == name; });
    if (op->name == name || spelled) found.push_back(op);
  }
  return found;
}

/// A field's value in a fresh struct; none for those that must be given.
std::string default_of(const OpDef& op, const Field& f) {
  if (f.required || !op.attrs.make) return "";
  return text(f.get(op.attrs.make().get()));
}

// ---- JSON

Json port(const Port& p) {
  Json j = {{"name", p.name}};
  if (p.type.any_value)
    j["any_value"] = true;
  else if (!p.type.from.empty())
    j["type_from"] = p.type.from;
  if (!p.type.same.empty())
    j["same_type_as"] = p.type.same;
  else if (p.type.from.empty() && !p.type.any_value)
    j["types"] = types_of(p.type);
  if (p.arity != Arity::one) j[p.arity == Arity::optional ? "optional" : "variadic"] = true;
  if (p.by_value) j["parameter"] = true;
  if (!p.doc.empty()) j["doc"] = p.doc;
  return j;
}

Json attribute(const OpDef& op, const Field& f) {
  Json j = {{"name", f.name}, {"kind", f.kind}};
  if (f.required)
    j["required"] = true;
  else if (const std::string value = default_of(op, f); !value.empty())
    j["default"] = value;
  if (!f.words.empty()) j["words"] = std::vector<std::string_view>(f.words.begin(), f.words.end());
  if (!f.doc.empty()) j["doc"] = f.doc;
  return j;
}

Json spelling(const Spelling& s) {
  Json j = {{"name", s.name}};
  if (s.since > 1) j["since"] = s.since;
  if (!s.domain.empty()) j["domain"] = s.domain;
  for (const Rename& r : s.renames) j["renames"][std::string(r.ours)] = r.theirs;
  for (const Preset& p : s.presets) j["presets"][std::string(p.ours)] = p.value;
  return j;
}

Json row(const OpDef& op) {
  Json j = {{"name", op.name},           {"summary", op.summary},        {"source", op.source},
            {"inputs", Json::array()},   {"outputs", Json::array()},     {"attributes", Json::array()},
            {"spelled", Json::object()}, {"elementwise", op.elementwise}};
  for (const Port& p : op.inputs) j["inputs"].push_back(port(p));
  for (const Port& p : op.outputs) j["outputs"].push_back(port(p));
  for (const Field& f : op.attrs.fields) j["attributes"].push_back(attribute(op, f));
  for (const Spelling& s : op.spelled) j["spelled"][std::string(format_of(s))].push_back(spelling(s));
  if (!op.body.empty()) j["body"] = op.body;
  return j;
}

// ---- Text

std::string type_text(const TypeRule& rule) {
  if (rule.any_value) return "any value";
  if (!rule.from.empty())
    return rule.same.empty() ? fmt::format("as attribute {} says", rule.from)
                             : fmt::format("as attribute {} says, or as {}", rule.from, rule.same);
  if (!rule.same.empty()) return fmt::format("as {}", rule.same);
  return rule.allowed == kA ? "any element type" : fmt::format("{}", fmt::join(types_of(rule), " "));
}

void print_ports(std::string_view title, std::span<const Port> ports) {
  if (ports.empty()) return;
  fmt::print("{}\n", title);
  for (const Port& p : ports) {
    constexpr std::string_view kArity[] = {"", ", may be absent", ", any number"};
    fmt::print("  {:<16} {}{}{}\n", p.name, type_text(p.type), kArity[static_cast<size_t>(p.arity)],
               p.by_value ? ", by value" : "");
    if (!p.doc.empty()) fmt::print("  {:<16}   {}\n", "", p.doc);
  }
}

void print_attributes(const OpDef& op) {
  if (op.attrs.fields.empty()) return;
  fmt::print("attributes\n");
  for (const Field& f : op.attrs.fields) {
    const std::string value = default_of(op, f);
    std::string kind(f.kind);
    if (!f.words.empty()) kind = fmt::format("{}", fmt::join(f.words, "|"));
    fmt::print("  {:<16} {}{}\n", f.name, kind,
               f.required      ? ", required"
               : value.empty() ? ""
                               : fmt::format(" = {}", value));
    if (!f.doc.empty()) fmt::print("  {:<16}   {}\n", "", f.doc);
  }
}

void print_spellings(const OpDef& op) {
  if (op.spelled.empty()) return;
  fmt::print("spelled\n");
  for (const Spelling& s : op.spelled) {
    std::string notes;
    if (!s.domain.empty()) notes += fmt::format(" of {}", s.domain);
    if (s.since > 1) notes += fmt::format(" from version {}", s.since);
    for (const Rename& r : s.renames)
      if (r.ours != r.theirs) notes += fmt::format("{} {}: {}", notes.empty() ? "" : ",", r.ours, r.theirs);
    for (const Preset& p : s.presets) notes += fmt::format("{} {} = {}", notes.empty() ? "" : ",", p.ours, p.value);
    fmt::print("  {:<6} {}\n", format_of(s),
               notes.empty() ? std::string(s.name) : fmt::format("{:<24}{}", s.name, notes));
  }
}

void print(const OpDef& op) {
  fmt::print("{}: {}\n  ({})\n", op.name, op.summary, op.source);
  print_ports("inputs", {op.inputs.begin(), op.inputs.end()});
  print_ports("outputs", {op.outputs.begin(), op.outputs.end()});
  print_attributes(op);
  print_spellings(op);
  if (!op.body.empty()) fmt::print("body\n  {}\n", op.body);
}

struct Asked {
  std::vector<std::string> names;
  bool json = false, webnn = false;
};

int ops(const Asked& asked) {
  std::vector<const OpDef*> chosen;
  for (const std::string& name : asked.names) {
    const std::vector<const OpDef*> found = find(name);
    if (found.empty())
      return report(
          Error(Code::invalid_argument, fmt::format("no operator is called '{}'; `nnex ops` lists them", name)));
    for (const OpDef* op : found)
      if (std::find(chosen.begin(), chosen.end(), op) == chosen.end()) chosen.push_back(op);
  }
  const bool all = asked.names.empty();
  if (all) chosen.assign(all_ops().begin(), all_ops().end());
  if (asked.json) {
    Json list = Json::array();
    for (const OpDef* op : chosen) list.push_back(row(*op));
    fmt::print("{}\n", Json{{"schema", "nnex.ops/2"}, {"operators", list}}.dump(1));
    return kOk;
  }
  for (const OpDef* op : chosen) {
    if (all)
      fmt::print("{:<28} {}\n", op->name, op->summary);
    else
      fmt::print("{}", op == chosen[0] ? "" : "\n"), print(*op);
  }
  return kOk;
}

}  // namespace

void add_ops(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("ops", "List the operators, or show what one takes and what standards call it");
  auto asked = std::make_shared<Asked>();
  verb->add_option("name", asked->names, "Operators, by our name or a standard's: conv, Gemm, conv2d");
  verb->add_flag("--json", asked->json, "Print a JSON object with all of the table");
  verb->add_flag("--webnn", asked->webnn, "List WebNN's operations and what they take: its opSupportLimits()");
  verb->callback([asked, &exit_code] { exit_code = asked->webnn ? webnn_ops(asked->json) : ops(*asked); });
}

}  // namespace nnex::cli
