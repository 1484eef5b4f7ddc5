// One node of an ONNX file: its attributes, its quirk, its spelling.
#include "base/failure.h"
#include "standards/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/control.h"
#include "standards/onnx/import_function.h"
#include "standards/onnx/import_quirks.h"
#include "standards/onnx/signatures.h"
#include "standards/spelling.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

/// Models before IR version 2 do not say an attribute's type: it is that of the first field that has a value.
void unless_given(AttributeType& type, AttributeType of_value) {
  if (type == AttributeType::undefined) type = of_value;
}

/// The fields of an attribute that may be its value.
struct AttributeFields {
  AttributeType type = {};
  int64_t integer = 0;
  double real = 0;
  std::string word;
  Ints ints;
  Reals reals;
  Texts words;
  std::string_view tensor, sparse;
};

/// The value is the field that the type says.
Status give_value(Attribute& a, AttributeFields f, const Source& source) {
  switch (f.type) {
    case AttributeType::real:
      a.value = f.real;
      break;
    case AttributeType::integer:
      a.value = f.integer;
      break;
    case AttributeType::string:
      a.value = std::move(f.word);
      break;
    case AttributeType::tensor: {
      NNEX_ASSIGN(NamedTensor t, read_tensor(f.tensor, source));
      a.value = std::move(t.tensor);
      break;
    }
    case AttributeType::graph:
      a.is_graph = true;
      break;
    case AttributeType::reals:
      a.value = std::move(f.reals);
      break;
    case AttributeType::integers:
      a.value = std::move(f.ints);
      break;
    case AttributeType::strings:
      a.value = std::move(f.words);
      break;
    case AttributeType::sparse_tensor:
      a.sparse = f.sparse;
      break;
    case AttributeType::type:
      a.value = a.type.text();
      break;
    default:
      break;
  }
  return {};
}

/// The letter of an attribute's kind in signatures; 0: not known.
char kind_of(const Attribute& a) {
  if (a.is_graph) return 'g';
  if (!a.sparse.empty()) return 'p';
  if (a.type.kind != nnex::Kind::unknown) return 'T';
  if (std::holds_alternative<int64_t>(a.value)) return 'i';
  if (std::holds_alternative<double>(a.value)) return 'f';
  if (std::holds_alternative<std::string>(a.value)) return 's';
  if (std::holds_alternative<Tensor>(a.value)) return 't';
  if (std::holds_alternative<Ints>(a.value)) return 'I';
  if (std::holds_alternative<Reals>(a.value)) return 'F';
  return std::holds_alternative<Texts>(a.value) ? 'S' : '\0';
}

/// Of an operator whose import makes rows itself: an attribute that none of its forms has is refused. Which opset has
/// which is the checker's to say, and of the standard's own domain the importer asks for the kind.
Status known_attributes(const NodeImport& n) {
  const auto is_named = [&](const Attribute& a) { return names_attribute(n.domain, n.op, a.name); };
  if (n.attrs.empty() || (n.domain.empty() && std::all_of(n.attrs.begin(), n.attrs.end(), is_named))) return {};
  const std::vector<Form>& forms = forms_of(n.domain, n.op);
  if (forms.empty() || n.version < forms.front().since) return {};  // an experiment, before it was the standard's
  for (const Attribute& a : n.attrs) {
    if (a.name.rfind("__", 0) == 0) continue;
    const char kind = kind_of(a);
    Form alone;
    for (const Form& form : forms)
      if (const FormAttribute* declared = form.find(a.name);
          declared && (alone.attributes.empty() || declared->kind == kind))
        alone.attributes = {*declared};
    if (alone.attributes.empty()) return n.error(fmt::format("it has no attribute '{}'", a.name));
    alone.attributes[0].words = {};  // those of one form; the import knows all
    alone.attributes[0].needs_one = false;
    FormUse use;
    use.attributes = {{a.name, kind, {}, 0}};
    if (const auto broken = broken_rules(alone, use); !broken.empty()) return n.error(sentences(broken));
  }
  return {};
}

}  // namespace

Result<Attribute> Importer::attribute(std::string_view message) {
  using A = AttributeProto;
  Attribute a;
  AttributeFields v;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    bool fine = true;
    switch (f.number) {
      case A::name:
        a.name = std::string(f.bytes);
        break;
      case A::f:
        v.real = static_cast<double>(f.real());
        unless_given(v.type, AttributeType::real);
        break;
      case A::i:
        v.integer = f.integer();
        unless_given(v.type, AttributeType::integer);
        break;
      case A::s:
        v.word = std::string(f.bytes);
        unless_given(v.type, AttributeType::string);
        break;
      case A::t:
        v.tensor = f.bytes;
        unless_given(v.type, AttributeType::tensor);
        break;
      case A::g:
        a.graph = f.bytes;
        unless_given(v.type, AttributeType::graph);
        break;
      case A::floats:
        fine = wire::each_number(f, 4, [&](uint64_t b) {
          v.reals.push_back(static_cast<double>(__builtin_bit_cast(float, static_cast<uint32_t>(b))));
        });
        break;
      case A::ints:
        fine = wire::each_number(f, 0, [&](uint64_t b) { v.ints.push_back(static_cast<int64_t>(b)); });
        break;
      case A::strings:
        v.words.emplace_back(f.bytes);
        break;
      case A::graphs:
        a.graphs.push_back(f.bytes);
        break;
      case A::tp: {
        NNEX_ASSIGN(a.type, read_type(f.bytes));
        break;
      }
      case A::type:
        v.type = AttributeType(f.integer());
        break;
      case A::ref_attr_name:
        a.reference = std::string(f.bytes);
        break;
      case A::sparse_tensor:
        v.sparse = f.bytes;
        unless_given(v.type, AttributeType::sparse_tensor);
        break;
      default:
        break;
    }
    if (!fine) return broken("attribute '" + a.name + "'", "its numbers are cut off");
  }
  if (!r.ok()) return broken("attribute '" + a.name + "'", r.fault());
  if (a.name.empty()) return Error(Code::invalid_model, "an attribute has no name");
  if (!v.reals.empty()) unless_given(v.type, AttributeType::reals);
  if (!v.ints.empty()) unless_given(v.type, AttributeType::integers);
  if (!v.words.empty()) unless_given(v.type, AttributeType::strings);
  NNEX_TRY(give_value(a, std::move(v), source_));
  return a;
}

Status Importer::node(std::string_view message, BlockId block, NodeId before) {
  if (++nodes_ > limits_.nodes) return failure(Code::limit, "the model has more than {} nodes", limits_.nodes);
  std::string overload;
  std::string_view doc;
  std::vector<std::string> inputs;
  std::vector<std::string_view> attributes;
  NodeImport n{*this, Builder(graph_, block), {}, {}, {}, 0, {}, {}, {}};
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    switch (f.number) {
      case NodeProto::input:
        inputs.emplace_back(f.bytes);
        break;
      case NodeProto::output:
        n.out.emplace_back(f.bytes);
        break;
      case NodeProto::name:
        n.name = std::string(f.bytes);
        break;
      case NodeProto::op_type:
        n.op = std::string(f.bytes);
        break;
      case NodeProto::attribute:
        attributes.push_back(f.bytes);
        break;
      case NodeProto::domain:
        n.domain = domain_of(f.bytes);
        break;
      case NodeProto::overload:
        overload = std::string(f.bytes);
        break;
      case NodeProto::doc_string:
        doc = f.bytes;
        break;
      default:
        break;
    }
  }
  if (!r.ok()) return broken("a node", r.fault());
  if (!doc.empty() && prefix_.empty())
    if (const auto made = std::find_if(n.out.begin(), n.out.end(), [](const auto& name) { return !name.empty(); });
        made != n.out.end())
      graph_.meta.node_docs.emplace(*made, doc);
  const std::string& shown = !n.name.empty() ? n.name : !n.out.empty() ? n.out[0] : n.op;
  std::string place = prefix_ + "node '" + shown + "' (" + n.op + ")";
  if (findings_)
    if (const auto path = findings_->places.find(message.data()); path != findings_->places.end()) place = path->second;
  const Where where = graph_.add_place(place);
  const bool recorded = own_ && depth_ == 0;
  const std::vector<std::string> outputs = recorded ? n.out : std::vector<std::string>();
  if (recorded) own_->push_back({message, static_cast<uint32_t>(graph_.node_count()), 0, {}, {}});
  n.before = before;
  n.b = before.valid() ? Builder(graph_, before, where) : Builder(graph_, block, where);
  auto run = [&]() -> Status {
    if (n.op.empty()) return Error(Code::invalid_model, "a node has no operator");
    NNEX_TRY(inputs_of(inputs, place, n));
    if (recorded) own_->back().in.assign(n.in.begin(), n.in.end());
    for (const std::string& name : n.out)
      if (!name.empty() && scopes_.back().count(name))
        return failure(Code::invalid_model, "value '{}' is made twice", name);
    while (!n.out.empty() && n.out.back().empty()) n.out.pop_back();
    std::set<std::string> given_names;
    for (std::string_view a : attributes) {
      NNEX_ASSIGN(Attribute read, attribute(a));
      if (!given_names.insert(read.name).second)
        return failure(Code::invalid_model, "attribute '{}' is given twice", read.name);
      if (!read.reference.empty()) {
        const Attribute* given = nullptr;
        for (size_t i = 0; bound_ && i < bound_->size(); ++i)
          if ((*bound_)[i].name == read.reference) given = &(*bound_)[i];
        if (!given) continue;  // the call left it out: the operator's default holds
        std::string own = std::move(read.name);
        read = *given;
        read.name = std::move(own);
      }
      n.attrs.push_back(std::move(read));
    }
    const bool call = graph_.functions.count(fmt::format("{}:{}:{}", n.domain, n.op, overload)) != 0;
    if (call) return custom_node(n, true, overload);
    auto opset = opsets_.find(n.domain);
    if (opset == opsets_.end() && n.domain.empty()) {
      return Error(Code::invalid_model, "the model imports no opset for the standard domain");
    }
    n.version = opset == opsets_.end() ? 0 : opset->second;
    if (!findings_ || !is_standard(n.domain)) return make(n);
    Findings::Used used{place, n.domain, n.op, n.version, n.in, {}, n.integer("broadcast", 0) != 0};
    const std::vector<std::string> names = n.out;
    NNEX_TRY(make(n));
    for (const std::string& name : names) {
      auto v = lookup(name);
      used.out.push_back(v.ok() ? *v : ValueId{});
    }
    findings_->nodes.push_back(std::move(used));
    return {};
  };
  Status s = run();
  if (!s.ok()) {
    NNEX_TRY(kept(std::move(s).error().at(place)));
    for (const std::string& name : n.out)
      if (!name.empty() && !scopes_.back().count(name)) bind_name(name, unknown(name));
  }
  whole_ = graph_.node_count();
  if (recorded) {
    own_->back().end = whole_;
    for (const std::string& name : outputs) {
      const auto made = scopes_[0].find(name);
      own_->back().out.push_back(made == scopes_[0].end() ? ValueId{} : made->second);
    }
  }
  return {};
}

Status Importer::inputs_of(const std::vector<std::string>& names, const std::string& place, NodeImport& n) {
  for (const std::string& name : names) {
    if (name.empty() || absent_.count(name)) {
      n.in.emplace_back();
      continue;
    }
    auto v = lookup(name);
    if (!v.ok()) {
      NNEX_TRY(kept(std::move(v).error().at(place)));
      v = unknown(name);
    }
    n.in.push_back(*v);
  }
  return {};
}

Status Importer::takes(const NodeImport& n) {
  const Form* const form = taken_form(n.domain, n.op);
  if (!form) return find_quirk(n.domain, n.op) ? known_attributes(n) : Status();
  static const Type kUnknown;  // types are the rows' to judge
  FormUse use;
  for (const ValueId v : n.in) use.in.push_back(v.valid() ? &kUnknown : nullptr);
  for (const std::string& name : n.out) use.out.push_back(name.empty() ? nullptr : &kUnknown);
  while (!use.in.empty() && !use.in.back()) use.in.pop_back();
  for (const Attribute& a : n.attrs) use.attributes.push_back({a.name, kind_of(a), {}, 0});
  const auto broken = broken_rules(*form, use);
  return broken.empty() ? Status() : Status(n.error(sentences(broken)));
}

Status Importer::make(NodeImport& n) {
  n.drop("consumed_inputs");
  NNEX_TRY(takes(n));
  while (const Quirk quirk = find_quirk(n.domain, n.op)) {
    const std::string before = n.domain;
    NNEX_ASSIGN(Quirked done, quirk(n));
    if (done == Quirked::done) return {};
    if (n.domain == before) break;  // else it goes on as the standard's
  }
  if (n.domain == kRowDomain)
    if (const OpDef* def = find_op(n.op); def && def != &custom_op() && def != &call_op()) return row(n, *def);
  if (!find_spelling(Format::onnx, n.domain, n.op, static_cast<int>(std::max<int64_t>(n.version, 1))).op)
    return custom_node(n, false, {});
  NNEX_ASSIGN(NodeId id, spell(n));
  const auto& ports = graph_[id].op->outputs;
  for (size_t o = 0; o < n.out.size(); ++o) {
    if (!n.out[o].empty())
      n.bind(o, graph_[id].out[o]);
    else if (o < ports.size() && ports[o].arity == Arity::optional)
      graph_.drop_output(id, o);
  }
  return {};
}

Status Importer::row(NodeImport& n, const OpDef& def) {
  static const Spelling kOwn{Format::onnx, "nnex row"};
  if (!def.blocks.empty()) return n.error("a row that owns blocks has no operator of its own");
  SpelledNode s{{&def, &kOwn}, n.in, {}, n.out.size(), {}};
  for (Attribute& a : n.attrs) {
    const nnex::Field* f = def.attrs.find(a.name);
    if (auto* flat = std::get_if<Ints>(&a.value); flat && f && f->kind == "pairs") {
      if (flat->size() % 2)
        return n.error(fmt::format("attribute '{}' has {} numbers; needed pairs", a.name, flat->size()));
      Pairs pairs;
      for (size_t i = 0; i < flat->size(); i += 2) pairs.emplace_back((*flat)[i], (*flat)[i + 1]);
      a.value = std::move(pairs);
    }
    if (!a.is_graph) s.attrs.emplace_back(a.name, a.value);
  }
  NNEX_ASSIGN(const NodeId id, make_spelled(n.b, std::move(s), [&](ValueId v) -> const Type& { return type_of(v); }));
  for (size_t o = 0; o < n.out.size(); ++o)
    if (!n.out[o].empty()) n.bind(o, graph_[id].out[o]);
  return {};
}

std::vector<Type> Importer::body_types(const NodeImport& n, std::string_view op) const {
  std::vector<Type> out;
  if (op == "loop") out = {Type::tensor(DType::i64, Dims{}), Type::tensor(DType::boolean, Dims{})};
  if (op != "loop" && op != "scan") return out;
  for (size_t i = out.size(); i < n.in.size(); ++i) {
    Type& t = out.emplace_back();
    // Extents may change from step to step; the element type does not.
    if (n.in[i].valid() && n.type(i).is_tensor()) t = Type::tensor(n.type(i).dtype, std::nullopt);
  }
  return out;
}

Result<NodeId> Importer::spell(NodeImport& n) {
  Spelled spelled = find_spelling(Format::onnx, n.domain, n.op, static_cast<int>(std::max<int64_t>(n.version, 1)));
  if (!spelled.op) return n.error("nnex does not have this operator");
  SpelledNode s{spelled, n.in, {}, n.out.size(), {}};
  for (const Attribute& a : n.attrs)
    if (!a.is_graph) s.attrs.emplace_back(a.name, a.value);
  for (std::string_view wanted : spelled.op->blocks) {
    auto a = std::find_if(n.attrs.begin(), n.attrs.end(),
                          [&](const Attribute& x) { return x.name == wanted && x.is_graph; });
    if (a == n.attrs.end()) return n.error(fmt::format("attribute '{}' is required", wanted));
    NNEX_ASSIGN(BlockId b, block(a->graph, depth_ + 1, body_types(n, spelled.op->name)));
    s.blocks.push_back(b);
    if (const size_t takes = graph_[b].params.size(), given = block_params(*spelled.op, n.in.size()); takes != given)
      return n.error(fmt::format("{} takes {} values; it is given {}", wanted, takes, given));
  }
  return make_spelled(n.b, std::move(s), [&](ValueId v) -> const Type& { return type_of(v); });
}

Result<ValueId> Importer::standard_result(const NodeImport& n, std::string_view op, Inputs in) {
  NodeImport inner = n;
  inner.op = op, inner.domain.clear(), inner.version = kNewestOpset;
  inner.in = std::move(in), inner.out = {"result"};
  whole_ = graph_.node_count();
  scopes_.emplace_back();  // the name is nobody's beside it
  auto run = [&]() -> Result<ValueId> {
    NNEX_TRY(make(inner));
    return lookup("result");
  };
  Result<ValueId> result = run();
  scopes_.pop_back();
  return result;
}

Status Importer::custom_node(NodeImport& n, bool call, const std::string& overload) {
  auto f = std::make_shared<CustomNode>();
  const bool fragment = !call && n.domain == kFragmentDomain &&
                        std::none_of(n.attrs.begin(), n.attrs.end(), [](const Attribute& a) { return a.is_graph; });
  f->domain = fragment ? "" : n.domain, f->name = n.op, f->overload = overload;
  for (const Attribute& a : n.attrs) f->attrs.emplace_back(a.name, a.value);
  if (!fragment) f->source = std::make_shared<std::vector<Attribute>>(n.attrs);
  NodeId id = n.b.node(call ? call_op() : custom_op(), n.in, n.out.size(), nullptr);
  graph_.set_custom(id, std::move(f));
  for (size_t o = 0; o < n.out.size(); ++o) {
    if (n.out[o].empty())
      graph_.drop_output(id, o);
    else
      n.bind(o, graph_[id].out[o]);
  }
  return {};
}

// ---- NodeImport ----

const AttrValue* NodeImport::find(std::string_view attr) const {
  for (const Attribute& a : attrs)
    if (a.name == attr) return &a.value;
  return nullptr;
}

int64_t NodeImport::integer(std::string_view attr, int64_t otherwise) const {
  auto* v = find(attr);
  auto* i = v ? std::get_if<int64_t>(v) : nullptr;
  return i ? *i : otherwise;
}
double NodeImport::real(std::string_view attr, double otherwise) const {
  auto* v = find(attr);
  auto* x = v ? std::get_if<double>(v) : nullptr;
  return x ? *x : otherwise;
}
std::string NodeImport::word(std::string_view attr, std::string_view otherwise) const {
  auto* v = find(attr);
  auto* s = v ? std::get_if<std::string>(v) : nullptr;
  return s ? *s : std::string(otherwise);
}
Ints NodeImport::ints(std::string_view attr) const {
  auto* v = find(attr);
  auto* l = v ? std::get_if<Ints>(v) : nullptr;
  return l ? *l : Ints{};
}
Reals NodeImport::reals(std::string_view attr) const {
  auto* v = find(attr);
  auto* l = v ? std::get_if<Reals>(v) : nullptr;
  return l ? *l : Reals{};
}
Texts NodeImport::words(std::string_view attr) const {
  auto* v = find(attr);
  auto* l = v ? std::get_if<Texts>(v) : nullptr;
  return l ? *l : Texts{};
}
void NodeImport::drop(std::string_view attr) {
  attrs.erase(std::remove_if(attrs.begin(), attrs.end(), [&](const Attribute& a) { return a.name == attr; }),
              attrs.end());
}
void NodeImport::set(std::string_view attr, AttrValue value) {
  drop(attr);
  Attribute a;
  a.name = std::string(attr), a.value = std::move(value);
  attrs.push_back(std::move(a));
}
const Type& NodeImport::type(size_t i) const {
  static const Type unknown;
  return has(i) ? importer.type_of(in[i]) : unknown;
}
std::optional<int64_t> NodeImport::rank(size_t i) const {
  if (!has(i) || !type(i).dims) return std::nullopt;
  return static_cast<int64_t>(type(i).dims->size());
}
const Tensor* NodeImport::constant(size_t i) const {
  return has(i) ? importer.graph()[in[i]].constant.tensor() : nullptr;
}
void NodeImport::bind(size_t o, ValueId v) {
  if (wants(o)) importer.bind_name(out[o], v);
}

}  // namespace nnex::onnx_format
