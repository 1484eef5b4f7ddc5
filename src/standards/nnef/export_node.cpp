// Nodes of a graph as lines of NNEF.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/faults.h"
#include "base/joined.h"
#include "graph/infer.h"
#include "graph/text/lexer.h"
#include "graph/text/rules.h"
#include "standards/nnef/export_document.h"
#include "standards/nnef/import_calls.h"
#include "standards/nnef/import_row.h"
#include "standards/nnef/types.h"

namespace nnex::nnef_format {
namespace {

/// A default as the text would have it.
std::string argument_text(const Arg& a) {
  switch (a.kind()) {
    case Arg::Kind::logical:
      return a.logical() ? "true" : "false";
    case Arg::Kind::integer:
      return fmt::to_string(a.integer());
    case Arg::Kind::scalar:
      return attribute_text(AttrValue(a.scalar()), true);
    case Arg::Kind::string:
      return graph_text::quoted(a.text());
    case Arg::Kind::array:
    case Arg::Kind::tuple: {
      std::vector<std::string> items;
      for (const Arg& item : a.items()) items.push_back(argument_text(item));
      return a.is(Arg::Kind::array) ? "[" + with_commas(items) + "]" : "(" + with_commas(items) + ")";
    }
    default:
      return {};
  }
}

bool is_tensor(const graph_text::DeclaredType& t) {
  using Kind = graph_text::DeclaredType::Kind;
  return t.kind == Kind::tensor || (t.kind == Kind::array && t.items && t.items[0].kind == Kind::tensor);
}

bool of_reals(const graph_text::DeclaredType& t) {
  using Of = graph_text::DeclaredType::Of;
  return t.items ? of_reals(t.items[0]) : t.of == Of::scalar;
}

/// The data-type a tensor parameter asks for; nothing where any will do.
std::optional<ItemType> wanted_type(const graph_text::DeclaredType& t) {
  using Of = graph_text::DeclaredType::Of;
  if (t.items) return wanted_type(t.items[0]);
  switch (t.of) {
    case Of::scalar:
      return ItemType::scalar;
    case Of::integer:
      return ItemType::integer;
    case Of::logical:
      return ItemType::logical;
    default:
      return std::nullopt;
  }
}

/// Whether an attribute's numbers are ones that a text has.
bool is_finite(const AttrValue& value) {
  if (const double* x = std::get_if<double>(&value)) return std::isfinite(*x);
  const Reals* all = std::get_if<Reals>(&value);
  return !all || std::all_of(all->begin(), all->end(), [](double x) { return std::isfinite(x); });
}

bool is_generic(const graph_text::DeclaredType& t) {
  return t.items ? is_generic(t.items[0]) : t.of == graph_text::DeclaredType::Of::generic;
}

}  // namespace

// ---- WriteNode

AttrValue WriteNode::get(std::string_view field) const {
  const Field* f = plain.op->attrs.find(field);
  return f ? f->get(attrs.get()) : AttrValue();
}
void WriteNode::set(std::string_view field, const AttrValue& value) {
  const Field* f = plain.op->attrs.find(field);
  NNEX_ASSERT(f && f->set(attrs.get(), value));
}
void WriteNode::reset(std::string_view field) {
  if (const Field* f = plain.op->attrs.find(field)) f->set(attrs.get(), f->get(plain.op->attrs.make().get()));
}
Ints WriteNode::ints(std::string_view field) const {
  const AttrValue v = get(field);
  const Ints* l = std::get_if<Ints>(&v);
  return l ? *l : Ints{};
}
std::string WriteNode::word(std::string_view field) const {
  const AttrValue v = get(field);
  const std::string* s = std::get_if<std::string>(&v);
  return s ? *s : std::string();
}
bool WriteNode::flag(std::string_view field) const {
  const AttrValue v = get(field);
  const bool* b = std::get_if<bool>(&v);
  return b && *b;
}

/// Integers whose numbers are small as a rule; of few bits where they are only kept, since sums would be cut.
bool Document::as_reals(const WriteNode& w) const {
  const auto fits = [&](ValueId v) {
    const Tensor* t = v.valid() ? graph_[v].constant.tensor() : nullptr;
    const DType type = t ? t->dtype() : v.valid() ? graph_[v].type.dtype : DType::none;
    return !is_int(type) || type == DType::i32 || type == DType::i64 || (w.whole == Whole::kept && bits(type) <= 16);
  };
  return options_.integers_as_reals && w.whole != Whole::none &&
         std::all_of(w.plain.in.begin(), w.plain.in.end(), fits) && fits(w.out[0]);
}

// ---- Nodes

Status Document::node(NodeId id) {
  const Node& n = graph_[id];
  return n.out.size() == 1 && n.out[0].valid() && waits(n.out[0]) ? Status() : node_now(id);
}

Status Document::node_now(NodeId id) {
  const Node& n = graph_[id];
  if (n.custom) return custom(n);
  if (!n.blocks.empty()) return failure(Code::unsupported, "{}: NNEF has no control flow", n.op->name);
  if (!n.custom && n.op->name == "bit_cast")
    for (ValueId v : {n.in[0], n.out[0]})
      if (graph_[v].type.dtype == DType::f64)
        return Error(Code::unsupported, "bit_cast: scalars of a document are float32, which keeps no bits of float64");
  for (ValueId v : n.out)
    if (v.valid() && !concrete(graph_[v].type))
      return failure(Code::unsupported, "{}: its result is {}; NNEF {}", n.op->name, graph_[v].type.text(),
                     graph_[v].type.is_tensor() ? "needs known extents" : "has tensors alone");
  WriteNode w;
  w.node = &n;
  if (n.op->attrs.copy && n.attrs) w.attrs = n.op->attrs.copy(n.attrs.get());
  if (!w.attrs && n.op->attrs.make) w.attrs = n.op->attrs.make();
  w.plain = {n.op, w.attrs.get(), n.in, {}};
  w.out = n.out;
  w.text.resize(n.in.size());
  const bool list = !n.op->outputs.empty() && n.op->outputs.back().arity == Arity::variadic;
  while (!list && !w.out.empty() && !w.out.back().valid()) w.out.pop_back();
  if (w.out.empty()) return {};  // nobody reads it
  Status s = prepare_axes(*this, w);
  if (const Prepare prepare = find_prepare(n.op->name); s.ok() && prepare) s = prepare(*this, w);
  if (s.ok() && !w.written) s = spelled(w);
  return s.ok() || !options_.custom ? std::move(s) : custom(n);
}

/// The first of the row's spellings that can say the node.
Status Document::spelled(WriteNode& w) {
  std::string reasons;
  for (const Spelling& s : w.plain.op->spelled) {
    if (s.format != nnef || (!w.want.empty() && s.name != w.want)) continue;
    const Declaration* d = find_declaration(s.name);
    if (!d) continue;
    const auto has = [&](std::string_view name) {
      const int at = d->find(name);
      return at >= 0 && !is_tensor(*d->parameters[static_cast<size_t>(at)].type);
    };
    auto u = export_spelling(graph_, w.plain, s, has);
    if (u.ok()) return spelled_as(w, *d, *u);
    reasons += (reasons.empty() ? "" : "; ") + u.error().message();
  }
  if (reasons.empty()) reasons = "NNEF has no such operation";
  return failure(Code::unsupported, "{}: {}", w.plain.op->name, reasons);
}

Result<std::string> Document::arguments(WriteNode& w, const Declaration& d, const ExportedNode& u) {
  bool all_constant = true;
  for (int i : u.in) all_constant &= i < 0 || graph_[w.plain.in[static_cast<size_t>(i)]].is_constant();
  std::optional<ItemType> generic;
  const auto text_of = [&](int i, const graph_text::DeclaredType& type) -> Result<std::string> {
    const auto at = static_cast<size_t>(i);
    const ValueId v = w.plain.in[at];
    const Tensor* t = graph_[v].constant.tensor();
    const auto found = item_type_of(t ? t->dtype() : graph_[v].type.dtype);
    auto wanted = wanted_type(type);
    if (!wanted && is_generic(type)) wanted = generic ? generic : (generic = found);
    if (as_reals(w) && found == ItemType::integer && wanted == ItemType::scalar) return reals(v, w.text[at]);
    if (!found || (wanted && found != wanted))
      return failure(Code::unsupported, "{}: an operand is {}; NNEF's {} takes {}", w.plain.op->name,
                     nnex::name(graph_[v].type.dtype), d.name, wanted ? name(*wanted) : "numbers or truth values");
    if (!w.text[at].empty()) return w.text[at];
    return operand(v, !all_constant);
  };
  std::vector<std::string> out;
  size_t next = 0;
  bool skipped = false;
  for (const Parameter& p : d.parameters) {
    if (is_tensor(*p.type)) {
      if (p.type->kind == graph_text::DeclaredType::Kind::array) {
        std::vector<std::string> items;
        for (; next < u.in.size(); ++next) {
          NNEX_ASSIGN(std::string item, text_of(u.in[next], p.type->items[0]));
          items.push_back(std::move(item));
        }
        out.push_back("[" + with_commas(items) + "]");
        continue;
      }
      const int at = next < u.in.size() ? u.in[next] : -1;
      ++next;
      if (at < 0 && p.has_default) {
        skipped = true;
        continue;
      }
      if (at < 0) return failure(Code::unsupported, "{}: '{}' is absent", d.name, p.name);
      NNEX_ASSIGN(std::string item, text_of(at, *p.type));
      out.push_back(skipped ? fmt::format("{} = {}", p.name, item) : std::move(item));
      continue;
    }
    const auto given = std::find_if(u.attrs.begin(), u.attrs.end(),
                                    [&, n = std::string_view(p.name)](const auto& a) { return a.first == n; });
    if (given == u.attrs.end()) {
      if (p.has_default) continue;
      return failure(Code::unsupported, "{}: attribute '{}' is not known", d.name, p.name);
    }
    if (!is_finite(given->second))
      return failure(Code::unsupported, "{}: attribute '{}' is {}; NNEF's numbers are finite", w.plain.op->name, p.name,
                     text(given->second));
    const std::string text = attribute_text(given->second, of_reals(*p.type));
    if (!p.has_default || text != argument_text(p.otherwise)) out.push_back(fmt::format("{} = {}", p.name, text));
  }
  if (next < u.in.size()) return failure(Code::unsupported, "{}: it has too many inputs", d.name);
  return with_commas(out);
}

Status Document::spelled_as(WriteNode& w, const Declaration& d, const ExportedNode& u) {
  NNEX_ASSIGN(const std::string args, arguments(w, d, u));
  std::string call = fmt::format("{}{}({})", d.name, w.generic.empty() ? "" : fmt::format("<{}>", w.generic), args);
  const bool list = d.results.size() == 1 && d.results[0].type->kind == graph_text::DeclaredType::Kind::array;
  if (!list && w.out.size() > d.results.size())
    return failure(Code::unsupported, "{}: it has {} results; NNEF's {} has {}", w.plain.op->name, w.out.size(), d.name,
                   d.results.size());
  if (as_reals(w)) note_whole(w);
  if (as_reals(w) && !list && w.out.size() == 1 && is_int(graph_[w.out[0]].type.dtype) &&
      wanted_type(*d.results[0].type) == ItemType::scalar)
    call = fmt::format("cast<integer>({})", line(graph_[w.out[0]].name, call));
  if (!w.squeeze.empty() || w.reshape) {
    if (w.out.size() != 1) return failure(Code::unsupported, "{}: its results lose axes", d.name);
    const std::string kept = line(graph_[w.out[0]].name, call);
    define(w.out[0], w.reshape ? fmt::format("reshape({}, shape = {})", kept, extents_text(extents(w.out[0])))
                               : fmt::format("squeeze({}, axes = {})", kept, extents_text(w.squeeze)));
    return {};
  }
  if (!list && d.results.size() == 1) {
    define(w.out[0], call);
    return {};
  }
  std::vector<std::string> left;
  for (size_t i = 0; i < std::max(w.out.size(), list ? size_t{0} : d.results.size()); ++i) {
    const ValueId v = i < w.out.size() ? w.out[i] : ValueId{};
    if (v.valid() && names_.count(v.n)) {
      left.push_back(names_[v.n]);
    } else {
      left.push_back(unique(identifier(v.valid() ? graph_[v].name : "unused")));
      if (v.valid()) names_[v.n] = left.back();
    }
  }
  body_ += list ? fmt::format("    [{}] = {};\n", with_commas(left), call)
                : fmt::format("    {} = {};\n", with_commas(left), call);
  return {};
}

std::map<std::string, OwnFragment, std::less<>> own_fragments(std::string_view source) {
  std::map<std::string, OwnFragment, std::less<>> out;
  if (source.empty()) return out;
  graph_text::Arena memory;
  graph_text::Document document;
  Faults faults;  // what was read has none, and a part of it is enough
  graph_text::Parser parser(source, "graph.nnef", {}, faults, memory, graph_text::TextKind::document);
  if (parser.start()) (void)parser.head(document);
  const auto listed = [](const graph_text::DeclaredType& t) { return has_tensor(t) && t.kind != TypeKind::tensor; };
  for (const graph_text::FragmentText& f : document.fragments) {
    if (f.has_body || f.generic) continue;
    OwnFragment own;
    std::vector<std::string> params, results;
    bool plain = true;
    for (const auto& p : f.params) {
      plain &= !listed(p.type);
      if (p.type.kind == TypeKind::tensor)
        own.tensors.push_back(wanted_type(p.type));
      else
        own.attributes.emplace(p.name);
      params.push_back(fmt::format("{}: {}", p.name, text(p.type)));
      if (p.otherwise) params.back() += " = " + argument_text(literal(*p.otherwise, memory));
    }
    for (const auto& r : f.results) {
      plain &= !listed(r.type);
      results.push_back(fmt::format("{}: {}", r.name, text(r.type)));
    }
    own.results = results.size();
    own.declared = fmt::format("({}) -> ({})", with_commas(params), with_commas(results));
    if (plain) out.emplace(f.name, std::move(own));
  }
  return out;
}

bool has_fragment_bodies(std::string_view source) {
  if (source.empty()) return false;
  graph_text::Arena memory;
  graph_text::Document document;
  Faults faults;
  graph_text::Parser parser(source, "graph.nnef", {}, faults, memory, graph_text::TextKind::document);
  if (parser.start()) (void)parser.head(document);
  return std::any_of(document.fragments.begin(), document.fragments.end(), [](const auto& f) { return f.has_body; });
}

std::string custom_fragments(std::string_view document) {
  std::string out;
  for (const auto& [name, own] : own_fragments(document)) out += fmt::format("fragment {}{};\n", name, own.declared);
  return out.empty() ? out : "version 1.0;\nextension KHR_enable_fragment_definitions;\n" + out;
}

/// The declaration that the document had, where it is of such a call: its tensors, and no other attributes.
const std::string* Document::own_declaration(const Node& n, size_t inputs) const {
  const auto own = n.custom && n.custom->domain.empty() ? own_fragments_.find(n.custom->name) : own_fragments_.end();
  if (own == own_fragments_.end() || own->second.tensors.size() != inputs || own->second.results != n.out.size())
    return nullptr;
  for (size_t i = 0; i < inputs; ++i)
    if (const auto type = own->second.tensors[i]; type && type != item_type_of(graph_[n.in[i]].type.dtype))
      return nullptr;
  for (const auto& [key, value] : n.custom->attrs)
    if (!own->second.attributes.count(key)) return nullptr;
  return &own->second.declared;
}

/// A fragment without body for what the standard has no word for, and its call.
Status Document::custom(const Node& n) {
  const std::string plain = identifier(n.custom ? n.custom->name : std::string(n.op->name));
  if (!n.custom && !options_.custom) return failure(Code::unsupported, "{}: no such operation", n.op->name);
  if (n.custom && !n.custom->domain.empty() && !options_.custom)
    return failure(Code::unsupported, "'{}' of domain '{}' is no operation of NNEF", n.custom->name, n.custom->domain);
  if (n.custom && !from_nnef_ && !options_.custom)  // of a document it is a fragment's
    return failure(Code::unsupported, "'{}' is no operation of NNEF", n.custom->name);
  if (!n.blocks.empty()) return failure(Code::unsupported, "{}: NNEF has no control flow", n.op->name);
  std::vector<std::string> params, args, outs, left, types_in, types_out;
  bool other_types = false;
  const auto note = [&](ValueId v, ItemType type, std::vector<std::string>& to) {
    const DType t = graph_[v].type.dtype, usual = type == ItemType::integer ? integers_ : element_type(type);
    other_types |= t != usual;
    to.emplace_back(name(t));
  };
  const auto note_words = [&](std::string words, std::vector<std::string>& to) {
    other_types = true;
    to.push_back(std::move(words));
  };
  size_t inputs = n.in.size();
  while (inputs > 0 && !n.in[inputs - 1].valid()) --inputs;
  for (size_t i = 0; i < inputs; ++i) {
    if (!n.in[i].valid()) {
      if (n.custom) return failure(Code::unsupported, "{}: an input in the middle is absent", plain);
      note_words("-", types_in);
      continue;
    }
    if (const Tensor* t = graph_[n.in[i]].constant.tensor(); t && t->count() == 0 && !n.custom) {
      note_words(fmt::format("{}[{}]", name(t->dtype()), joined(t->shape(), ",")), types_in);
      continue;
    }
    const auto type = item_type_of(graph_[n.in[i]].type.dtype);
    if (!type) return failure(Code::unsupported, "{}: an input is {}", plain, graph_[n.in[i]].type.text());
    NNEX_ASSIGN(std::string text, operand(n.in[i], false));
    args.push_back(std::move(text));
    params.push_back(fmt::format("in{}: tensor<{}>", i, name(*type)));
    note(n.in[i], *type, types_in);
  }
  AttrMap attrs;
  if (n.custom)
    attrs = n.custom->attrs;
  else
    for (const Field& f : n.op->attrs.fields) attrs.emplace_back(std::string(f.name), f.get(n.attrs.get()));
  for (const auto& [key, value] : attrs) {
    constexpr std::string_view kTypes[] = {
        "",      "logical", "integer", "scalar", "string", "integer[]", "scalar[]", "string[]", "(integer, integer)[]",
        "string"};
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (std::holds_alternative<Tensor>(value))
      return failure(Code::unsupported, "{}: attribute '{}' is a tensor", plain, key);
    const AttrValue said =
        std::holds_alternative<DType>(value) ? AttrValue(std::string(name(std::get<DType>(value)))) : value;
    const bool real = std::holds_alternative<double>(said) || std::holds_alternative<Reals>(said);
    params.push_back(fmt::format("{}: {}", identifier(key), kTypes[said.index()]));
    args.push_back(fmt::format("{} = {}", identifier(key), attribute_text(said, real)));
  }
  for (size_t i = 0; i < n.out.size(); ++i) {
    const ValueId v = n.out[i];
    const auto type = v.valid() ? item_type_of(graph_[v].type.dtype) : ItemType::scalar;
    if (!type) return failure(Code::unsupported, "{}: a result is {}", plain, graph_[v].type.text());
    outs.push_back(fmt::format("out{}: tensor<{}>", i, name(*type)));
    if (v.valid())
      note(v, *type, types_out);
    else
      note_words("-", types_out);
    if (!v.valid() || !names_.count(v.n)) {
      const std::string fresh = unique(identifier(v.valid() ? graph_[v].name : "unused"));
      left.push_back(fresh);
      if (v.valid()) names_[v.n] = fresh;
    } else {
      left.push_back(names_[v.n]);
    }
  }
  if (other_types && !n.custom) {
    params.push_back(fmt::format("{}: string", kRowTypes));
    args.push_back(fmt::format("{} = '{} -> {}'", kRowTypes, joined(types_in, " "), joined(types_out, " ")));
  }
  const std::string* own = own_declaration(n, inputs);
  const std::string declared = own ? *own : fmt::format("({}) -> ({})", with_commas(params), with_commas(outs));
  auto& known = custom_names_[plain + declared];
  if (known.empty()) {
    const std::string base = n.custom ? plain : std::string(kRowPrefix) + plain;
    known = base;
    for (int& i = fragment_numbers_.try_emplace(base, 1).first->second;
         find_declaration(known) || !fragment_names_.insert(known).second;)
      known = fmt::format("{}__{}", base, ++i);
    fragments_ += fmt::format("\nfragment {}{};\n", known, declared);
  }
  body_ += fmt::format("    {} = {}({});\n", with_commas(left), known, with_commas(args));
  return {};
}

}  // namespace nnex::nnef_format
