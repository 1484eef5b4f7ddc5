// Nodes of a graph as NodeProtos.

#include <algorithm>
#include <cctype>

#include "base/failure.h"
#include "base/try.h"
#include "ops/codecs.h"
#include "standards/export_spelling.h"
#include "standards/onnx/export_graph.h"
#include "standards/onnx/import.h"
#include "standards/spelling.h"

namespace nnex::onnx_format {
namespace {

using wire::Message;

/// Says an attribute's type by its kind, a letter.
void set_type(char kind, Message& to) {
  const AttributeForm* const form = attribute_form(&AttributeForm::letter, kind);
  to.integer(AttributeProto::type, static_cast<int64_t>(form->type));
}

/// The kind that a value has by itself.
char kind_of(const AttrValue& v) {
  constexpr char kKinds[] = {0, 'i', 'i', 'f', 's', 'I', 'F', 'S', 'I', 's', 't'};
  return kKinds[v.index()];
}

std::optional<int64_t> as_integer(const AttrValue& v) {
  if (auto* b = std::get_if<bool>(&v)) return *b;
  if (auto* i = std::get_if<int64_t>(&v)) return *i;
  if (auto* t = std::get_if<DType>(&v)) return onnx_number(*t);
  if (auto* l = std::get_if<Ints>(&v); l && l->size() == 1)
    return l->front();  // an input of one number, said as itself
  auto* x = std::get_if<double>(&v);
  return x && *x == static_cast<double>(static_cast<int64_t>(*x)) ? std::optional(static_cast<int64_t>(*x))
                                                                  : std::nullopt;
}

std::optional<float> as_real(const AttrValue& v) {
  if (auto* x = std::get_if<double>(&v)) return static_cast<float>(*x);
  if (auto* i = std::get_if<int64_t>(&v)) return static_cast<float>(*i);
  return std::nullopt;
}

std::optional<std::vector<float>> as_reals(const AttrValue& v) {
  if (auto* l = std::get_if<Reals>(&v)) return std::vector<float>(l->begin(), l->end());
  if (auto* l = std::get_if<Ints>(&v)) return std::vector<float>(l->begin(), l->end());
  return std::nullopt;
}

std::optional<Ints> as_integers(const AttrValue& v) {
  if (auto* l = std::get_if<Ints>(&v)) return *l;
  if (auto* p = std::get_if<Pairs>(&v)) {
    Ints out;
    for (const auto& [a, b] : *p) out.push_back(a), out.push_back(b);
    return out;
  }
  return std::nullopt;
}

bool is_empty_list(const AttrValue& v) {
  if (auto* l = std::get_if<Ints>(&v)) return l->empty();
  if (auto* l = std::get_if<Reals>(&v)) return l->empty();
  if (auto* l = std::get_if<Texts>(&v)) return l->empty();
  if (auto* l = std::get_if<Pairs>(&v)) return l->empty();
  return std::holds_alternative<std::monostate>(v);
}

/// Padding words are capitals, and "off" is nothing said.
AttrValue padding_word(const AttrValue& v) {
  auto* word = std::get_if<std::string>(&v);
  if (!word || *word == "off") return {};
  std::string out = *word;
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

const AttrValue* find(const AttrMap& attrs, std::string_view name) {
  for (const auto& [key, value] : attrs)
    if (key == name) return &value;
  return nullptr;
}

/// What a file's node without attributes has, in the file's words.
AttrMap defaults(const OpDef& op, const Spelling& spelling, const HasAttribute& has) {
  AttrMap out;
  if (!op.attrs.make) return out;
  const std::shared_ptr<void> base = op.attrs.make();
  for (const Preset& p : spelling.presets) op.attrs.find(p.ours)->set(base.get(), preset_value(p.value));
  for (const Field& f : op.attrs.fields) {
    bool renamed = false;
    for (const Rename& r : spelling.renames) {
      if (r.ours != f.name) continue;
      renamed = true;
      Result<AttrValue> value = r.codec && r.codec->write ? r.codec->write(f.get(base.get())) : f.get(base.get());
      if (has(r.theirs) && value.ok()) out.emplace_back(std::string(r.theirs), std::move(*value));
    }
    if (!renamed && has(f.name)) out.emplace_back(std::string(f.name), f.get(base.get()));
  }
  return out;
}

/// Whether another spelling of the same name is the one for an opset (0: the newest): the last that it takes.
bool is_superseded(const OpDef& op, const Spelling& spelling, int64_t opset) {
  const auto taken = [&](const Spelling& s) { return opset == 0 || s.since <= opset; };
  return std::any_of(op.spelled.begin(), op.spelled.end(), [&](const Spelling& s) {
    if (s.format != Format::onnx || s.name != spelling.name || s.domain != spelling.domain) return false;
    return taken(spelling) ? taken(s) && s.since > spelling.since : s.since < spelling.since;
  });
}

}  // namespace

const FormAttribute* declared_in(const std::vector<Form>& forms, std::string_view name) {
  for (size_t i = forms.size(); i-- > 0;)
    if (const FormAttribute* a = forms[i].find(name)) return a;
  return nullptr;
}

// ---- Attributes

Status GraphWriter::attribute(const std::string& name, const AttrValue& value, char kind, Message& to) {
  Message m;
  m.bytes(AttributeProto::name, name);
  const auto wrong = [&] {
    return failure(Code::unsupported, "attribute '{}' is {}, which ONNX's cannot be", name, text(value));
  };
  switch (kind) {
    case 'i': {
      const auto i = as_integer(value);
      if (!i) return wrong();
      m.integer(AttributeProto::i, *i);
      break;
    }
    case 'f': {
      const auto x = as_real(value);
      if (!x) return wrong();
      m.real(AttributeProto::f, *x);
      break;
    }
    case 's':
      if (auto* s = std::get_if<std::string>(&value))
        m.bytes(AttributeProto::s, *s);
      else if (auto* t = std::get_if<DType>(&value))
        m.bytes(AttributeProto::s, nnex::name(*t));
      else
        return wrong();
      break;
    case 't': {
      auto* t = std::get_if<Tensor>(&value);
      if (!t) return wrong();
      need_type(Type::tensor(t->dtype()));
      NNEX_ASSIGN(Message tensor, tensor_message(*t, name, out_.kept));
      m.message(AttributeProto::t, std::move(tensor));
      break;
    }
    case 'I': {
      const auto l = as_integers(value);
      if (!l) return wrong();
      for (int64_t i : *l) m.integer(AttributeProto::ints, i);
      break;
    }
    case 'F': {
      const auto l = as_reals(value);
      if (!l) return wrong();
      for (float x : *l) m.real(AttributeProto::floats, x);
      break;
    }
    case 'S': {
      auto* l = std::get_if<Texts>(&value);
      if (!l && !is_empty_list(value)) return wrong();
      for (size_t i = 0; l && i < l->size(); ++i) m.bytes(AttributeProto::strings, (*l)[i]);
      break;
    }
    default:
      return wrong();
  }
  set_type(kind, m);
  to.message(NodeProto::attribute, std::move(m));
  return {};
}

// ---- The row's spelling

/// What the spelling says of the node, without what the operator's defaults say already.
Result<OnnxNode> GraphWriter::spelled_as(const Node& node, const Spelling& spelling, const Form& form) const {
  const auto has = [&](std::string_view name) { return form.find(name) != nullptr; };
  NNEX_ASSIGN(ExportedNode u, export_spelling(graph_, {node.op, node.attrs.get(), node.in, {}}, spelling, has));
  const AttrMap usual = defaults(*node.op, spelling, has);
  OnnxNode out{std::string(spelling.name), std::string(spelling.domain), {}, {}};
  for (int i : u.in) out.in.push_back(i < 0 ? ValueId{} : node.in[static_cast<size_t>(i)]);
  for (auto& [name, value] : u.attrs) {
    const FormAttribute* declared = form.find(name);
    if (name == "auto_pad") value = padding_word(value);
    const AttrValue* otherwise = find(usual, name);
    const bool said_anyway = !declared->required && (is_empty_list(value) || (otherwise && same(*otherwise, value)));
    if (said_anyway || std::holds_alternative<std::monostate>(value)) continue;
    out.set(name, std::move(value));
  }
  return out;
}

Result<OnnxNode> GraphWriter::spelled(const Node& node) const {
  std::string reasons;
  for (const Spelling& s : node.op->spelled) {
    const int64_t opset = s.domain.empty() ? options_.opset : 0;
    if (s.format != Format::onnx || is_superseded(*node.op, s, opset)) continue;
    const std::vector<Form>& forms = forms_of(s.domain, s.name);
    if (forms.empty()) continue;
    // Of an opset that is asked for the form has the say: what are inputs now may have been attributes then.
    const Form* then = opset > 0 ? find_form(s.domain, s.name, opset) : nullptr;
    const Form& form = then ? *then : forms.back();
    if (form.deprecated) continue;
    auto out = spelled_as(node, s, form);
    if (out.ok()) return out;
    reasons += (reasons.empty() ? "" : "; ") + out.error().message();
  }
  if (reasons.empty()) reasons = "ONNX has no such operator";
  return failure(Code::unsupported, "{}: {}", node.op->name, reasons);
}

/// The row under its own name and attributes, in our domain. What the row requires is said even where it is the
/// default.
OnnxNode GraphWriter::custom(const Node& node) const {
  OnnxNode out{std::string(node.op->name), std::string(kRowDomain), node.in, {}};
  const std::shared_ptr<void> base = node.op->attrs.make ? node.op->attrs.make() : nullptr;
  for (const Field& f : node.op->attrs.fields) {
    AttrValue value = f.get(node.attrs.get());
    if (f.required || !same(value, f.get(base.get()))) out.set(f.name, std::move(value));
  }
  return out;
}

Result<OnnxNode> GraphWriter::said(const Node& node) const {
  auto plain = [&]() -> Result<OnnxNode> {
    std::optional<OnnxNode> done;
    const Say older = options_.opset > 0 ? find_older_say(node.op->name, options_.opset) : nullptr;
    if (const Say say = older ? older : find_say(node.op->name)) {
      NNEX_ASSIGN(done, say(graph_, node));
    }
    if (!done) {
      NNEX_ASSIGN(done, spelled(node));
    }
    NNEX_TRY(find_opset(node, *done));
    return std::move(*done);
  }();
  return plain.ok() || !options_.custom ? std::move(plain) : Result<OnnxNode>(custom(node));
}

// ---- Nodes

/// What every NodeProto has: names of inputs and outputs, and the operator.
void GraphWriter::tail(const Node& node, const OnnxNode& said, Message& to) {
  size_t inputs = said.in.size();
  while (inputs > 0 && !said.in[inputs - 1].valid()) --inputs;
  for (size_t i = 0; i < inputs; ++i) {
    to.bytes(NodeProto::input, name_of(said.in[i]));
    if (said.in[i].valid()) used_.insert(said.in[i].n);
  }
  size_t outputs = node.out.size();
  while (outputs > 0 && !node.out[outputs - 1].valid()) --outputs;
  for (size_t o = 0; o < outputs; ++o)  // the first result of an operator is never optional in ONNX
    to.bytes(NodeProto::output, node.out[o].valid() || o > 0 ? name_of(node.out[o]) : unique("unused"));
  to.bytes(NodeProto::op_type, said.op);
}

/// What its author called a node, and wrote of it.
void GraphWriter::author_words(NodeId id, Message& to) {
  if (const std::string name = node_name(id); !name.empty()) to.bytes(NodeProto::name, name);
  for (ValueId v : graph_[id].out) {
    const auto doc = v.valid() ? graph_.meta.node_docs.find(name_of(v)) : graph_.meta.node_docs.end();
    if (doc == graph_.meta.node_docs.end()) continue;
    to.bytes(NodeProto::doc_string, doc->second);
    return;
  }
}

Status GraphWriter::custom_node(NodeId id, Message& to) {
  const Node& node = graph_[id];
  const CustomNode& f = *node.custom;
  const auto* attributes = static_cast<const std::vector<Attribute>*>(f.source.get());
  const bool fragment = node.op == &custom_op() && f.domain.empty() && !attributes;
  const std::string domain = fragment ? std::string(kFragmentDomain) : f.domain;
  ++out_.nodes;
  Message m;
  tail(node, {f.name, domain, node.in, {}}, m);
  author_words(id, m);
  for (size_t i = 0; i < (attributes ? attributes->size() : 0); ++i) {
    const Attribute& a = (*attributes)[i];
    if (a.is_graph) {
      Message graph;
      graph.bytes(AttributeProto::name, a.name);
      graph.borrowed(AttributeProto::g, a.graph);
      set_type('g', graph);
      m.message(NodeProto::attribute, std::move(graph));
      all_used_ = true;  // its free names are not known
    } else if (!std::holds_alternative<std::monostate>(a.value)) {
      NNEX_TRY(attribute(a.name, a.value, kind_of(a.value), m));
    }
  }
  for (size_t i = 0; !attributes && i < f.attrs.size(); ++i)
    if (const char kind = kind_of(f.attrs[i].second)) NNEX_TRY(attribute(f.attrs[i].first, f.attrs[i].second, kind, m));
  if (!domain.empty()) m.bytes(NodeProto::domain, domain);
  if (!f.overload.empty()) m.bytes(NodeProto::overload, f.overload);
  const auto known = graph_.meta.opsets.find(domain);
  need(domain, known == graph_.meta.opsets.end() ? 1 : static_cast<int>(known->second));
  to.message(GraphProto::node, std::move(m));
  return {};
}

Status GraphWriter::node(NodeId id, Message& to) {
  const Node& n = graph_[id];
  if (const KeptNode* kept = kept_.first(id)) return kept_node(*kept, to), Status();
  if (kept_.has(id)) return {};  // one of several that a node of the file is
  if (std::none_of(n.out.begin(), n.out.end(), [](ValueId v) { return v.valid(); })) return {};  // nobody reads it
  if (n.custom) return custom_node(id, to);
  if (is_absorbed(graph_, n) || is_only_laid_out(n)) return inside_.insert(id.n), Status();
  ++out_.nodes;
  NNEX_ASSIGN(OnnxNode said, this->said(n));
  if (options_.opset > 0) note_counting(n, said);
  const std::vector<Form>& forms = forms_of(said.domain, said.op);
  Message m;
  tail(n, said, m);
  author_words(id, m);
  for (const auto& [name, value] : said.attrs) {
    const FormAttribute* declared = declared_in(forms, name);
    if (declared && declared->kind == 'T') {
      Message type;
      type.bytes(AttributeProto::name, name);
      const Type& whole = graph_[n.out[0]].type;
      type.message(AttributeProto::tp, whole.element ? type_message(*whole.element, false) : Message());
      set_type('T', type);
      m.message(NodeProto::attribute, std::move(type));
      continue;
    }
    NNEX_TRY(attribute(name, value, declared ? declared->kind : kind_of(value), m));
  }
  for (size_t b = 0; b < n.blocks.size(); ++b) {
    NNEX_ASSIGN(Message inner, block(n.blocks[b], false));
    Message graph;
    graph.bytes(AttributeProto::name, n.op->blocks[b]);
    graph.message(AttributeProto::g, std::move(inner));
    set_type('g', graph);
    m.message(NodeProto::attribute, std::move(graph));
  }
  if (!said.domain.empty()) m.bytes(NodeProto::domain, said.domain);
  need(said.domain, said.since);
  if (!forms.empty()) said_.emplace_back(id, std::move(said));
  to.message(GraphProto::node, std::move(m));
  return {};
}

}  // namespace nnex::onnx_format
