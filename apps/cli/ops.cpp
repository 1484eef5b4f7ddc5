// nnex ops: the operator table, as a list, or an operator with all it takes.

#include <algorithm>
#include <set>

#include "cli.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/operators.h"
#include "nnex/suggest.h"
#include "webnn_ops.h"

namespace nnex::cli {
namespace {

std::vector<std::string_view> types_of(const PortDef& p) {
  std::vector<std::string_view> out;
  for (DType t : p.types) out.push_back(name(t));
  return out;
}

/// What an attribute is where it is not given; none for those that must be.
std::string default_of(const AttributeDef& a) { return a.required ? "" : text(a.otherwise); }

// ---- JSON

Json port(const PortDef& p) {
  Json j = {{"name", p.name}};
  if (p.any_value)
    j["any_value"] = true;
  else if (!p.from.empty())
    j["type_from"] = p.from;
  if (!p.same_as.empty())
    j["same_type_as"] = p.same_as;
  else if (p.from.empty() && !p.any_value)
    j["types"] = types_of(p);
  if (p.optional || p.variadic) j[p.optional ? "optional" : "variadic"] = true;
  if (p.parameter) j["parameter"] = true;
  if (!p.doc.empty()) j["doc"] = p.doc;
  return j;
}

Json attribute(const AttributeDef& a) {
  Json j = {{"name", a.name}, {"kind", a.kind}};
  if (a.required)
    j["required"] = true;
  else if (const std::string value = default_of(a); !value.empty())
    j["default"] = value;
  if (!a.words.empty()) j["words"] = a.words;
  if (!a.doc.empty()) j["doc"] = a.doc;
  return j;
}

Json spelling(const SpellingDef& s) {
  Json j = {{"name", s.name}};
  if (s.since > 1) j["since"] = s.since;
  if (!s.domain.empty()) j["domain"] = s.domain;
  for (const auto& [ours, theirs] : s.renames) j["renames"][std::string(ours)] = theirs;
  for (const auto& [ours, value] : s.presets) j["presets"][std::string(ours)] = value;
  return j;
}

Json row(const OperatorDef& op) {
  Json j = {{"name", op.name},           {"summary", op.summary},        {"source", op.source},
            {"inputs", Json::array()},   {"outputs", Json::array()},     {"attributes", Json::array()},
            {"spelled", Json::object()}, {"elementwise", op.elementwise}};
  for (const PortDef& p : op.inputs) j["inputs"].push_back(port(p));
  for (const PortDef& p : op.outputs) j["outputs"].push_back(port(p));
  for (const AttributeDef& a : op.attributes) j["attributes"].push_back(attribute(a));
  for (const SpellingDef& s : op.spellings) j["spelled"][std::string(s.standard)].push_back(spelling(s));
  if (!op.body.empty()) j["body"] = op.body;
  if (!op.kernels.empty()) j["kernels"] = op.kernels;
  return j;
}

// ---- Text

std::string type_text(const PortDef& p) {
  if (p.any_value) return "any value";
  if (!p.from.empty())
    return p.same_as.empty() ? fmt::format("as attribute {} says", p.from)
                             : fmt::format("as attribute {} says, or as {}", p.from, p.same_as);
  if (!p.same_as.empty()) return fmt::format("as {}", p.same_as);
  return p.all_types ? "any element type" : fmt::format("{}", fmt::join(types_of(p), " "));
}

void print_ports(std::string_view title, const std::vector<PortDef>& ports) {
  if (ports.empty()) return;
  say("{}\n", title);
  for (const PortDef& p : ports) {
    say("  {:<16} {}{}{}\n", p.name, type_text(p),
        p.optional   ? ", may be absent"
        : p.variadic ? ", any number"
                     : "",
        p.parameter ? ", by value" : "");
    if (!p.doc.empty()) say("  {:<16}   {}\n", "", p.doc);
  }
}

void print_attributes(const OperatorDef& op) {
  if (op.attributes.empty()) return;
  say("attributes\n");
  for (const AttributeDef& a : op.attributes) {
    const std::string value = default_of(a);
    std::string kind(a.kind);
    if (!a.words.empty()) kind = fmt::format("{}", fmt::join(a.words, "|"));
    say("  {:<16} {}{}\n", a.name, kind, a.required ? ", required" : value.empty() ? "" : fmt::format(" = {}", value));
    if (!a.doc.empty()) say("  {:<16}   {}\n", "", a.doc);
  }
}

void print_spellings(const OperatorDef& op) {
  if (op.spellings.empty()) return;
  say("spelled\n");
  for (const SpellingDef& s : op.spellings) {
    std::string notes;
    if (!s.domain.empty()) notes += fmt::format(" of {}", s.domain);
    if (s.since > 1) notes += fmt::format(" from version {}", s.since);
    for (const auto& [ours, theirs] : s.renames)
      if (ours != theirs) notes += fmt::format("{} {}: {}", notes.empty() ? "" : ",", ours, theirs);
    for (const auto& [ours, value] : s.presets)
      notes += fmt::format("{} {} = {}", notes.empty() ? "" : ",", ours, value);
    say("  {:<6} {}\n", s.standard, notes.empty() ? std::string(s.name) : fmt::format("{:<24}{}", s.name, notes));
  }
}

void print(const OperatorDef& op) {
  say("{}: {}\n  ({})\n", op.name, op.summary, op.source);
  print_ports("inputs", op.inputs);
  print_ports("outputs", op.outputs);
  print_attributes(op);
  print_spellings(op);
  if (!op.body.empty()) say("body\n  {}\n", op.body);
}

// ---- Of models

using Names = std::set<std::string>;

/// f(id, node) for every node of a graph, with those of blocks.
template <class F>
void each_node(const Graph& graph, F f) {
  std::vector<NodeId> nodes = graph.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeInfo node = graph.node(nodes[i]).value();
    f(nodes[i], node);
    for (BlockId block : node.blocks) {
      const auto inner = graph.nodes(block).value();
      nodes.insert(nodes.end(), inner.begin(), inner.end());
    }
  }
}

/// f(stage, graph) of a model's graph as the file has it ("read"), ready to run ("prepare") and after each pass.
Status each_stage(const std::string& path, const Graph::Observer& f) {
  LoadOptions options;
  options.weight_seed = 1;
  auto graph = load_graph(path, options);
  if (!graph.ok()) return std::move(graph).error();
  if (Status read = f("read", *graph); !read.ok()) return read;
  return graph->optimize(f);
}

/// The operators of a graph's nodes; "call" for those that the table has not.
void add_operators(const Graph& graph, Names& to) {
  each_node(graph, [&](NodeId, const NodeInfo& node) { to.insert(node.custom ? "call" : node.op); });
}

/// The operators that a build for a model must run: each as it was written, compound ones as what they are made of, and
/// as it runs after the passes.
Status add_used(const std::string& path, Names& to) {
  for (bool optimize : {false, true}) {
    LoadOptions options;
    options.optimize = optimize;
    options.weight_seed = 1;
    auto model = Model::load(path, options);
    if (!model.ok()) return std::move(model).error();
    NNEX_ASSIGN(const Graph graph, model->graph());
    add_operators(graph, to);
    to.erase("call");  // a custom operator, which is the host's
  }
  return {};
}

/// Those, and all that stand in its graph between the file and the run.
Status add_met(const std::string& path, Names& to) {
  if (Status used = add_used(path, to); !used.ok()) return used;
  return each_stage(path, [&](std::string_view, const Graph& graph) -> Status {
    add_operators(graph, to);
    return {};
  });
}

/// A graph's nodes as text that tells whether a pass changed them.
std::string shape_of(const Graph& graph) {
  std::string out;
  each_node(graph, [&](NodeId id, const NodeInfo& node) {
    out += fmt::format("{} {}", id.n, node.op);
    for (const auto& values : {node.inputs, node.outputs}) {
      out += ';';
      for (ValueId v : values) out += fmt::format(" {}", v.n);
    }
    for (const auto& [name, value] : node.attributes) out += fmt::format("; {} {}", name, text(value));
    out += '\n';
  });
  return out;
}

/// The passes that change something in a model's graph, and "expand_bodies" where compound operators become others.
Status add_passes(const std::string& path, Names& to) {
  Names read;
  std::string shape;
  return each_stage(path, [&](std::string_view stage, const Graph& graph) -> Status {
    Names operators;
    add_operators(graph, operators);
    std::string now = shape_of(graph);
    if (stage == "read")
      read = std::move(operators);
    else if (stage == "prepare" && operators != read)
      to.insert("expand_bodies");
    else if (stage != "prepare" && now != shape)
      to.emplace(stage);
    shape = std::move(now);
    return {};
  });
}

/// The types of elements that a model's values have between the file and the run.
Status add_types(const std::string& path, Names& to) {
  return each_stage(path, [&](std::string_view, const Graph& graph) -> Status {
    each_node(graph, [&](NodeId, const NodeInfo& node) {
      for (const auto& values : {node.inputs, node.outputs})
        for (ValueId v : values)
          if (const auto value = graph.value(v); value.ok() && value->type.dtype != DType::none)
            to.emplace(name(value->type.dtype));
    });
    return {};
  });
}

/// The operators of a file of ONNX as it names them.
Status add_named(const std::string& path, Names& to) {
  auto found = file_operators(path);
  if (!found.ok()) return std::move(found).error();
  to.insert(found->begin(), found->end());
  return {};
}

int print_names(const std::vector<std::string>& models, Status (*add)(const std::string& path, Names& to)) {
  Names names;
  for (const std::string& path : models)
    if (const Status added = add(path, names); !added.ok()) return report(added.error());
  for (const std::string& name : names) say("{}\n", one_line(name));
  return kOk;
}

struct OpsArguments {
  std::vector<std::string> names, used_by, met_by, named_by, passes_of, types_of;
  bool json = false, webnn = false;
};

/// An operator of ONNX that is none of the table but becomes some of it.
struct ImportedOperator {
  std::string name, domain;
};

/// Those of that name, but for what `rows` are called in their domain.
std::vector<ImportedOperator> imported_operators(const std::string& name, const std::vector<OperatorDef>& rows) {
  std::vector<ImportedOperator> out;
  for (const std::string_view domain : import_domains(name)) {
    const auto is_it = [&](const SpellingDef& s) {
      return s.standard == "onnx" && s.name == name && s.domain == domain;
    };
    const auto spells = [&](const OperatorDef& op) {
      return std::any_of(op.spellings.begin(), op.spellings.end(), is_it);
    };
    if (std::none_of(rows.begin(), rows.end(), spells)) out.push_back({name, std::string(domain)});
  }
  return out;
}

int ops(const OpsArguments& asked) {
  std::vector<OperatorDef> chosen;
  std::vector<ImportedOperator> imported;
  for (const std::string& name : asked.names) {
    std::vector<OperatorDef> found = operators_called(name);
    const std::vector<ImportedOperator> others = imported_operators(name, found);
    imported.insert(imported.end(), others.begin(), others.end());
    if (found.empty() && others.empty())
      return report(Error(Code::invalid_argument, fmt::format("no operator is called '{}'{}; `nnex ops` lists them",
                                                              name, did_you_mean(name, called_names()))));
    for (OperatorDef& op : found)
      if (std::none_of(chosen.begin(), chosen.end(), [&](const OperatorDef& c) { return c.name == op.name; }))
        chosen.push_back(std::move(op));
  }
  const bool all = asked.names.empty();
  if (all)
    for (std::string_view name : operator_names()) chosen.push_back(find_operator(name).value());
  if (asked.json) {
    Json list = Json::array();
    for (const OperatorDef& op : chosen) list.push_back(row(op));
    Json out = {{"schema", "nnex.ops/2"}, {"operators", list}};
    for (const ImportedOperator& op : imported) out["imported"].push_back({{"name", op.name}, {"domain", op.domain}});
    say("{}\n", out.dump(1));
    return kOk;
  }
  for (const OperatorDef& op : chosen) {
    if (all)
      say("{:<28} {}\n", op.name, op.summary);
    else
      say("{}", &op == &chosen[0] ? "" : "\n"), print(op);
  }
  if (!chosen.empty() && !imported.empty()) say("\n");
  for (const ImportedOperator& op : imported)
    say("{}: an operator of {}, read as operators of the table (nnex dump MODEL shows which)\n", op.name,
        op.domain.empty() ? "ONNX" : op.domain);
  return kOk;
}

}  // namespace

void add_ops(CommandLine& line) {
  auto asked = std::make_shared<OpsArguments>();
  Verb verb = line.verb("ops", "List the operators, or show what one takes and what standards call it", [asked] {
    if (!asked->used_by.empty()) return print_names(asked->used_by, add_used);
    if (!asked->met_by.empty()) return print_names(asked->met_by, add_met);
    if (!asked->named_by.empty()) return print_names(asked->named_by, add_named);
    if (!asked->passes_of.empty()) return print_names(asked->passes_of, add_passes);
    if (!asked->types_of.empty()) return print_names(asked->types_of, add_types);
    return asked->webnn ? webnn_ops(asked->json) : ops(*asked);
  });
  verb.option("name", asked->names, "Operators, by our name or a standard's: conv, Gemm, conv2d");
  verb.option("--used-by", asked->used_by, "List those that a build for these models must run (CMake's NNEX_OPS)");
  verb.option("--met-by", asked->met_by, "List those and all that such a build must know (NNEX_OPS_ALONE)");
  verb.option("--named-by", asked->named_by, "List the operators of ONNX files as the files name them");
  verb.option("--passes-of", asked->passes_of, "List the passes that change something in these models");
  verb.option("--types-of", asked->types_of, "List the types of elements in these models");
  verb.flag("--json", asked->json, "Print a JSON object with all of the table");
  verb.flag("--webnn", asked->webnn, "List WebNN's operations and what they take: its opSupportLimits()");
}

}  // namespace nnex::cli
