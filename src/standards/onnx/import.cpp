#include "standards/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "base/loading.h"
#include "standards/onnx/import_function.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

/// What a later version means nobody knows yet.
Status check_versions(int64_t ir, const std::map<std::string, int64_t>& opsets) {
  if (ir > kNewestIr)
    return failure(Code::unsupported, "the model has IR version {}; nnex knows those up to {}", ir, kNewestIr);
  auto standard = opsets.find("");
  if (standard != opsets.end() && standard->second > kNewestOpset)
    return failure(Code::unsupported, "the model imports opset {} of the standard domain; nnex knows those up to {}",
                   standard->second, kNewestOpset);
  return {};
}

}  // namespace

Error broken(std::string_view what, const char* fault) { return failure(Code::invalid_model, "{}: {}", what, fault); }

int64_t newest_opset(std::string_view domain) { return domain.empty() ? kNewestOpset : domain == "ai.onnx.ml" ? 5 : 1; }

std::string domain_of(std::string_view domain) { return domain == "ai.onnx" ? "" : std::string(domain); }

struct Importer::GraphParts {
  std::string name, doc;
  std::vector<std::string_view> nodes, initializers, sparse_initializers, inputs, outputs, infos;
};

Result<Importer::GraphParts> Importer::graph_parts(std::string_view message) const {
  GraphParts p;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    switch (f.number) {
      case GraphProto::node:
        p.nodes.push_back(f.bytes);
        break;
      case GraphProto::name:
        p.name = std::string(f.bytes);
        break;
      case GraphProto::doc_string:
        p.doc = std::string(f.bytes);
        break;
      case GraphProto::initializer:
        p.initializers.push_back(f.bytes);
        break;
      case GraphProto::input:
        p.inputs.push_back(f.bytes);
        break;
      case GraphProto::output:
        p.outputs.push_back(f.bytes);
        break;
      case GraphProto::value_info:
        p.infos.push_back(f.bytes);
        break;
      case GraphProto::sparse_initializer:
        p.sparse_initializers.push_back(f.bytes);
        break;
      default:
        break;
    }
  }
  if (!r.ok()) return broken("graph '" + p.name + "'", r.fault());
  return p;
}

Status Importer::value_info(std::string_view message, std::string& name, Type& type) {
  wire::Reader r(message);
  std::string_view doc;
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    if (f.number == ValueInfoProto::name) name = std::string(f.bytes);
    if (f.number == ValueInfoProto::type) {
      NNEX_ASSIGN(type, read_type(f.bytes));
    }
    if (f.number == ValueInfoProto::doc_string && !f.bytes.empty()) doc = f.bytes;
  }
  if (!doc.empty()) graph_.meta.value_docs[name] = std::string(doc);
  if (!r.ok()) return broken("a value's type", r.fault());
  return {};
}

Result<ValueId> Importer::lookup(const std::string& name) {
  for (size_t s = scopes_.size(); s-- > 0;)
    if (auto it = scopes_[s].find(name); it != scopes_[s].end()) return it->second;
  const bool later = std::any_of(coming_.begin(), coming_.end(), [&](std::string_view node) {
    wire::Reader r(node);
    for (Field f; r.next(f);)
      if (f.number == NodeProto::output && f.bytes == name) return true;
    return false;
  });
  if (later) return failure(Code::invalid_model, "input '{}' is made by a node behind it", name);
  return failure(Code::invalid_model, "input '{}' is not made by any node before, nor an input or initializer", name);
}

void Importer::bind_name(const std::string& name, ValueId v) {
  scopes_.back()[name] = v;
  if (graph_[v].name.empty()) graph_.set_name(v, name);
  auto declared = declared_.find(name);
  if (declared == declared_.end()) return;
  find_declared(name, v);
  if (graph_[v].type.kind == nnex::Kind::unknown) graph_.set_type(v, declared->second.type);
}

void Importer::find_declared(const std::string& name, ValueId v) {
  const auto declared = findings_ ? declared_.find(name) : declared_.end();
  if (findings_ && declared != declared_.end())
    findings_->declared.push_back({v, declared->second.place, declared->second.type, depth_ > 0});
}

const Type& Importer::type_of(ValueId v) {
  inference_.grow();
  for (; inferred_ < whole_; ++inferred_)
    if (!graph_[NodeId{inferred_}].erased) (void)inference_.node(NodeId{inferred_}).ok();
  return inference_.type(v);
}

Status Importer::kept(Status s) {
  if (s.ok() || !findings_) return s;
  findings_->faults.add(std::move(s).error());
  return {};
}

std::string Importer::place_of(std::string_view kind, std::string_view name, std::string_view message) const {
  if (const auto it = findings_->places.find(message.data()); it != findings_->places.end()) return it->second;
  return fmt::format("{}{} '{}'", prefix_, kind, name);
}

Status Importer::kept_at(Status s, std::string_view kind, std::string_view name, std::string_view message) {
  if (s.ok() || !findings_) return s;
  return kept(std::move(s).error().at(place_of(kind, name, message)));
}

ValueId Importer::unknown(const std::string& name) {
  if (!unknowns_.valid()) unknowns_ = graph_.add_block();
  const ValueId v = graph_.add_param(unknowns_, name, Type{});
  inference_.grow();
  return v;
}

Status Importer::constant(std::string_view message, Stored stored) {
  NamedValue v;
  if (stored == Stored::kept) {
    NNEX_ASSIGN(v, read_sparse_tensor(message, source_));
  } else {
    NNEX_ASSIGN(NamedTensor t, stored == Stored::sparse ? read_dense(message, source_) : read_tensor(message, source_));
    v.name = std::move(t.name), v.value = Value(std::move(t.tensor));
  }
  if (v.name.empty()) return Error(Code::invalid_model, "an initializer has no name");
  if (scopes_.back().count(v.name)) return failure(Code::invalid_model, "initializer '{}' is given twice", v.name);
  scopes_.back()[v.name] = graph_.add_constant(std::move(v.value), v.name);
  return {};
}

namespace {

/// The name of a ValueInfoProto, however broken the rest is.
std::string_view field_name(std::string_view message) {
  wire::Reader r(message);
  Field f;
  while (r.next(f))
    if (f.number == ValueInfoProto::name && f.kind == Kind::bytes) return f.bytes;
  return {};
}

/// The name in a TensorProto or SparseTensorProto, however broken the rest is.
std::string tensor_name(std::string_view message, bool sparse) {
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes || f.number != (sparse ? SparseTensorProto::values : TensorProto::name)) continue;
    return sparse ? tensor_name(f.bytes, false) : std::string(f.bytes);
  }
  return {};
}

}  // namespace

bool Importer::declared_sparse(const GraphParts& parts, std::string_view name) {
  for (const auto* infos : {&parts.inputs, &parts.outputs, &parts.infos})
    for (std::string_view message : *infos) {
      Field f;
      for (wire::Reader r(message); field_name(message) == name && r.next(f);)
        if (f.number == ValueInfoProto::type && f.kind == Kind::bytes)
          if (const auto type = read_type(f.bytes); type.ok() && type->kind == nnex::Kind::sparse) return true;
    }
  return false;
}

Status Importer::constants(const GraphParts& parts) {
  for (const bool sparse : {false, true})
    for (std::string_view message : sparse ? parts.sparse_initializers : parts.initializers) {
      const std::string name = tensor_name(message, sparse);
      Status s = constant(message, !sparse                        ? Stored::dense
                                   : declared_sparse(parts, name) ? Stored::kept
                                                                  : Stored::sparse);
      if (s.ok()) continue;
      NNEX_TRY(kept_at(std::move(s), "initializer", name, message));
      if (!name.empty() && !scopes_.back().count(name)) scopes_.back()[name] = unknown(name);
    }
  return {};
}

Status Importer::declare(const GraphParts& parts) {
  for (std::string_view message : parts.infos) {
    std::string name;
    Type type;
    NNEX_TRY(kept(value_info(message, name, type)));
    declared_[name] = {std::move(type), findings_ ? place_of("value", name, message) : std::string()};
    if (const auto known = scopes_.back().find(name); known != scopes_.back().end()) find_declared(name, known->second);
  }
  return {};
}

namespace {

bool is_nameless(const Dim& d) { return d.has_unknown() && d.text().substr(1).starts_with(kNameless); }

}  // namespace

/// Extents of the main graph's inputs that have no name get one that every reading of the file gives them: a caller may
/// say it.
Status Importer::input(std::string_view message, BlockId block, bool main, std::set<std::string>& seen) {
  std::string name;
  Type type;
  NNEX_TRY(value_info(message, name, type));
  if (name.empty() || !seen.insert(name).second)
    return failure(Code::invalid_model, "input '{}' is nameless or given twice", name);
  if (const auto known = scopes_.back().find(name); known != scopes_.back().end()) {
    // An input with a default: the initializer.
    if (findings_) findings_->declared.push_back({known->second, place_of("input", name, message), type, false});
    return {};
  }
  if (main && type.dims)
    for (Dim& d : *type.dims)
      if (is_nameless(d)) d = Dim::symbol(fmt::format("?dim{}", nameless_++));
  const bool typed = type.kind != nnex::Kind::unknown,
             whole = typed && (!type.is_tensor() || type.dtype != DType::none);
  if (main && !whole) {
    scopes_.back()[name] = graph_.add_param(block, name, std::move(type));
    return failure(Code::invalid_model, "input '{}' has no {}", name, typed ? "element type" : "type");
  }
  const ValueId param = graph_.add_param(block, name, type);
  scopes_.back()[name] = param;
  if (findings_ && !main && typed) {  // extents may change from step to step; the element type does not
    type.dims.reset();
    findings_->declared.push_back({param, place_of("input", name, message), std::move(type), true});
  }
  return {};
}

Status Importer::output(std::string_view message, BlockId block, bool main, std::vector<ValueId>& results,
                        std::set<uint32_t>& seen) {
  std::string name;
  Type type;
  NNEX_TRY(value_info(message, name, type));
  auto v = lookup(name);
  if (!v.ok()) {
    NNEX_TRY(kept_at(failure(Code::invalid_model, "output '{}' is made by no node", name), "output", name, message));
    v = unknown(name);
  }
  if (findings_ && main) {
    findings_->outputs.push_back(name);
    findings_->output_types.push_back(type);
  } else if (findings_) {
    findings_->declared.push_back({*v, place_of("output", name, message), type, true});
  }
  if (graph_[*v].type.kind == nnex::Kind::unknown) graph_.set_type(*v, std::move(type));
  if (main && (graph_[*v].name != name || !seen.insert(v->n).second)) {
    // Two names for one value, or an output that is an input: a copy keeps both names.
    Builder b(graph_, block);
    ValueId copy = b("copy", {*v});
    graph_.set_name(copy, name);
    *v = copy;
  }
  results.push_back(*v);
  return {};
}

Status Importer::graph_body(const GraphParts& parts, BlockId block, bool main, std::span<const Type> given) {
  NNEX_TRY(constants(parts));
  std::set<std::string> seen;
  for (std::string_view message : parts.inputs)
    NNEX_TRY(kept_at(input(message, block, main, seen), "input", field_name(message), message));
  NNEX_TRY(declare(parts));
  inference_.grow();
  for (size_t i = 0; !main && i < graph_[block].params.size(); ++i) {
    const ValueId v = graph_[block].params[i];
    const bool told = graph_[v].type.kind != nnex::Kind::unknown || i >= given.size();
    inference_.bind(v, told ? graph_[v].type : given[i]);
  }
  const auto coming = std::exchange(coming_, parts.nodes);
  Status made = [&]() -> Status {
    for (std::string_view message : parts.nodes) {
      NNEX_TRY(Loading::check());
      NNEX_TRY(node(message, block, {}));
    }
    return {};
  }();
  coming_ = coming;
  NNEX_TRY(std::move(made));
  std::vector<ValueId> results;
  std::set<uint32_t> given_out;
  for (std::string_view message : parts.outputs) NNEX_TRY(kept(output(message, block, main, results, given_out)));
  graph_.set_results(block, std::move(results));
  return {};
}

Result<BlockId> Importer::block(std::string_view message, int depth, std::span<const Type> given) {
  if (depth > limits_.depth) return failure(Code::limit, "sub-graphs are nested deeper than {}", limits_.depth);
  NNEX_ASSIGN(GraphParts parts, graph_parts(message));
  BlockId id = graph_.add_block();
  scopes_.emplace_back();
  const int outer = std::exchange(depth_, depth);
  auto declared = std::exchange(declared_, {});  // a block's names are its own
  Status s = graph_body(parts, id, false, given);
  declared_ = std::move(declared);
  depth_ = outer;
  scopes_.pop_back();
  if (!s.ok()) return std::move(s).error();
  return id;
}

Result<std::vector<ValueId>> Importer::inlined(std::string_view message, const NodeImport& n,
                                               std::span<const ValueId> params) {
  if (depth_ >= limits_.depth) return failure(Code::limit, "sub-graphs are nested deeper than {}", limits_.depth);
  NNEX_ASSIGN(GraphParts parts, graph_parts(message));
  whole_ = graph_.node_count();
  scopes_.emplace_back();
  auto declared = std::exchange(declared_, {});
  ++depth_;
  auto body = [&]() -> Result<std::vector<ValueId>> {
    NNEX_TRY(constants(parts));
    std::vector<ValueId> results;
    size_t given = 0;
    for (std::string_view input : parts.inputs) {
      std::string name;
      Type type;
      NNEX_TRY(value_info(input, name, type));
      if (scopes_.back().count(name)) continue;  // an input with a default: the initializer
      if (given < params.size()) scopes_.back()[name] = params[given];
      ++given;
    }
    if (given != params.size())
      return failure(Code::invalid_model, "graph '{}' takes {} inputs; it is given {}", parts.name, given,
                     params.size());
    NNEX_TRY(declare(parts));
    inference_.grow();
    for (std::string_view m : parts.nodes) NNEX_TRY(node(m, n.b.block(), n.before));
    for (std::string_view output : parts.outputs) {
      std::string name;
      Type type;
      NNEX_TRY(value_info(output, name, type));
      NNEX_ASSIGN(ValueId v, lookup(name));
      results.push_back(v);
    }
    return results;
  };
  auto results = body();
  --depth_;
  declared_ = std::move(declared);
  scopes_.pop_back();
  return results;
}

Status Importer::add_function(std::string_view message) {
  NNEX_ASSIGN(auto function, read_function(message, source_, limits_, findings_));
  if (!graph_.functions.emplace(function->key(), function).second)
    return failure(Code::invalid_model, "function '{}' is defined twice", function->key());
  return {};
}

Status Importer::model(std::string_view message) {
  std::string_view main;
  std::vector<std::string_view> functions, opsets;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    switch (f.number) {
      case ModelProto::ir_version:
        graph_.meta.ir_version = f.integer();
        break;
      case ModelProto::producer_name:
        graph_.meta.producer = std::string(f.bytes);
        break;
      case ModelProto::producer_version:
        graph_.meta.producer_version = std::string(f.bytes);
        break;
      case ModelProto::domain:
        graph_.meta.domain = std::string(f.bytes);
        break;
      case ModelProto::model_version:
        graph_.meta.model_version = f.integer();
        break;
      case ModelProto::doc_string:
        graph_.meta.doc = std::string(f.bytes);
        break;
      case ModelProto::graph:
        if (!main.empty())
          return Error(Code::invalid_model, "the graph comes in two parts; nnex reads models whose graph is one");
        main = f.bytes;
        break;
      case ModelProto::opset_import:
        opsets.push_back(f.bytes);
        break;
      case ModelProto::metadata_props: {
        NNEX_ASSIGN(auto entry, read_pair(f.bytes));
        graph_.meta.properties.push_back(std::move(entry));
        break;
      }
      case ModelProto::functions:
        functions.push_back(f.bytes);
        break;
      default:
        break;
    }
  }
  if (!r.ok()) return broken("not an ONNX model, or cut off", r.fault());
  take_provenance(graph_.meta.properties, graph_.provenance);
  if (!findings_) graph_.provenance.beside = beside_network(message);
  if (!main.data()) return Error(Code::invalid_model, "not an ONNX model: it has no graph");
  for (std::string_view o : opsets) {
    NNEX_ASSIGN(auto opset, read_opset(o));
    int64_t& version = opsets_[domain_of(opset.first)];
    version = std::max(version, opset.second);  // onnx.proto: the highest, where a domain is imported twice
  }
  NNEX_TRY(check_versions(graph_.meta.ir_version, opsets_));
  if (opsets_.empty() && graph_.meta.ir_version < 3) opsets_[""] = 1;
  graph_.meta.opsets = opsets_;
  for (std::string_view fn : functions) {
    Status s = add_function(fn);
    if (!s.ok() && !findings_) return s;  // a checker has told it
  }
  if (!findings_ && !functions.empty())
    if (const auto circles = function_cycles(function_calls(functions)); !circles.empty())
      return Error(Code::invalid_model, circles[0].text);
  NNEX_ASSIGN(GraphParts parts, graph_parts(main));
  graph_.meta.graph_name = parts.name, graph_.meta.graph_doc = parts.doc;
  return graph_body(parts, kMain, true);
}

namespace {

/// What the places in a function's body begin with: where it is called; of calls deep in others the two ends of that.
std::string place_prefix(const std::string& call) {
  constexpr size_t kEnd = 300;
  if (call.size() <= 2 * kEnd) return call + " > ";
  const auto inside_character = [&](size_t at) { return (static_cast<unsigned char>(call[at]) & 0xC0) == 0x80; };
  size_t head = kEnd, tail = call.size() - kEnd;
  while (head > 0 && inside_character(head)) --head;
  while (tail < call.size() && inside_character(tail)) ++tail;
  return call.substr(0, head) + " ... " + call.substr(tail) + " > ";
}

}  // namespace

Status Importer::function_body(std::string_view message, NodeId call) {
  NNEX_ASSIGN(FunctionParts parts, function_parts(message));
  const Node& node = graph_[call];
  opsets_ = parts.opsets;
  std::vector<Attribute> bound = *static_cast<const std::vector<Attribute>*>(node.custom->source.get());
  for (std::string_view a : parts.defaults) {
    NNEX_ASSIGN(Attribute d, attribute(a));
    if (std::none_of(bound.begin(), bound.end(), [&](const Attribute& b) { return b.name == d.name; }))
      bound.push_back(std::move(d));
  }
  bound_ = &bound;
  prefix_ = place_prefix(graph_.place_of(call));
  if (node.in.size() > parts.inputs.size())
    return failure(Code::invalid_model, "function '{}' takes {} inputs; it is given {}", node.custom->name,
                   parts.inputs.size(), node.in.size());
  inferred_ = static_cast<uint32_t>(graph_.node_count());
  for (size_t i = 0; i < node.in.size(); ++i)
    if (node.in[i].valid()) scopes_.back()[parts.inputs[i]] = node.in[i];
  absent_.clear();
  for (size_t i = 0; i < parts.inputs.size(); ++i)
    if (i >= node.in.size() || !node.in[i].valid()) absent_.insert(parts.inputs[i]);
  const auto first = static_cast<uint32_t>(graph_.node_count());
  for (std::string_view n : parts.nodes) NNEX_TRY(this->node(n, node.parent, call));
  std::set<uint32_t> named;
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (!node.out[o].valid()) continue;
    if (o >= parts.outputs.size())
      return failure(Code::invalid_model, "function '{}' has {} outputs", node.custom->name, parts.outputs.size());
    NNEX_ASSIGN(ValueId v, lookup(parts.outputs[o]));
    // What the body does not make keeps the name it has elsewhere: a copy takes the output's.
    const bool own = graph_[v].producer.valid() && graph_[v].producer.n >= first && named.insert(v.n).second;
    if (!own) v = Builder(graph_, call, node.where)("copy", {v});
    graph_.set_name(v, graph_[node.out[o]].name);
    graph_.replace_uses(node.out[o], v);
    if (findings_) findings_->replaced.emplace(node.out[o].n, v);
  }
  graph_.erase(call);
  bound_ = nullptr;
  return {};
}

void Importer::drop_call(NodeId call) {
  const std::vector<ValueId> outputs(graph_[call].out.begin(), graph_[call].out.end());
  for (const ValueId v : outputs)
    if (v.valid()) graph_.replace_uses(v, unknown(graph_[v].name));
  graph_.erase(call);
}

}  // namespace nnex::onnx_format
