#include "formats/nnef/write.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/nnef/lower.h"
#include "formats/nnef/lower_row.h"
#include "formats/nnef/quant_file.h"
#include "formats/nnef/shapes.h"
#include "formats/nnef/weights.h"
#include "formats/nnef/write_document.h"
#include "graph/infer.h"
#include "graph/text/lexer.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

constexpr int64_t kMostInText = 16;  ///< Elements of a constant that stands in the text; of named ones, one.

std::string with_commas(const std::vector<std::string>& items) { return fmt::format("{}", fmt::join(items, ", ")); }

/// An identifier made of a name of any characters.
std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fine ? c : '_';
  }
  if (!out.empty() && out[0] >= '0' && out[0] <= '9') out.insert(0, "t");
  if (graph_text::is_keyword(out)) out += "_";
  return out;
}

bool is_label(std::string_view s) {
  if (s.empty() || s.front() == '/' || s.back() == '/' || s.find("..") != std::string_view::npos ||
      s.find("//") != std::string_view::npos)
    return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-';
  });
}

bool all_finite(const Tensor& t) {
  for (int64_t i = 0; is_real(t.dtype()) && i < t.count(); ++i)
    if (!std::isfinite(real_at(t, i))) return false;
  return true;
}

std::string element(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::boolean) return int_at(t, i) ? "true" : "false";
  return is_real(t.dtype()) ? real_text(real_at(t, i)) : fmt::to_string(int_at(t, i));
}

/// "<integer>"; nothing for scalars, which are the default.
std::string generic_of(ItemType type) { return type == ItemType::scalar ? "" : fmt::format("<{}>", type_name(type)); }

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

bool is_generic(const graph_text::DeclaredType& t) {
  return t.items ? is_generic(t.items[0]) : t.of == graph_text::DeclaredType::Of::generic;
}

}  // namespace

// ---- Texts

std::optional<ItemType> item_type_of(DType type) {
  if (type == DType::boolean) return ItemType::logical;
  if (is_real(type)) return ItemType::scalar;
  if (is_int(type)) return ItemType::integer;
  return std::nullopt;
}

std::string real_text(double x) {
  const auto narrow = static_cast<float>(x);
  std::string s = number_text(x);
  if (static_cast<double>(narrow) == x) {
    const std::string shorter = number_text(narrow);
    double back = 0;
    fast_float::from_chars(shorter.data(), shorter.data() + shorter.size(), back);
    if (static_cast<float>(back) == narrow) s = shorter;
  }
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}

std::string extents_text(const Ints& extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

std::string attribute_text(const AttrValue& value, bool real) {
  if (auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (auto* i = std::get_if<int64_t>(&value)) return real ? real_text(static_cast<double>(*i)) : fmt::to_string(*i);
  if (auto* x = std::get_if<double>(&value)) return real_text(*x);
  if (auto* s = std::get_if<std::string>(&value)) return graph_text::quoted(*s);
  std::vector<std::string> items;
  if (auto* l = std::get_if<Ints>(&value))
    for (int64_t i : *l) items.push_back(real ? real_text(static_cast<double>(i)) : fmt::to_string(i));
  if (auto* l = std::get_if<Reals>(&value))
    for (double x : *l) items.push_back(real ? real_text(x) : fmt::format("{:.0f}", x));
  if (auto* l = std::get_if<Texts>(&value))
    for (const std::string& s : *l) items.push_back(graph_text::quoted(s));
  if (auto* l = std::get_if<Pairs>(&value))
    for (auto [a, b] : *l) items.push_back(fmt::format("({}, {})", a, b));
  return "[" + with_commas(items) + "]";
}

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

// ---- Names and lines

Ints Document::extents(ValueId v) const {
  if (const Tensor* t = graph_[v].constant.tensor()) return Ints(t->shape().begin(), t->shape().end());
  const auto shape = concrete(graph_[v].type);
  return shape ? Ints(shape->begin(), shape->end()) : Ints{};
}

Result<Ints> Document::numbers(const WriteNode& w, size_t port, std::string_view name) const {
  const Tensor* t = graph_.constant_in(*w.node, port);
  if (t && t->shape().rank() <= 1 && is_int(t->dtype())) return ints_of(*t);
  return Error(Code::unsupported, fmt::format("'{}' is computed; NNEF needs numbers", name));
}

std::string Document::unique(std::string wanted) {
  if (wanted.empty()) wanted = "t";
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

/// Labels differ by more than letter case.
std::string Document::label_for(const std::string& wanted) {
  std::string base = is_label(wanted) ? wanted : identifier(wanted), label = base;
  for (int i = 1; !labels_.insert(label_key(label)).second; ++i) label = fmt::format("{}_{}", base, i);
  return label;
}

/// Results and parameters have the first choice of names, as the user knows them.
void Document::name_values() {
  const auto name = [&](ValueId v) {
    const std::string& given = graph_[v].name;
    if (v.valid() && !given.empty() && !names_.count(v.n) && !graph_[v].is_constant())
      names_[v.n] = unique(identifier(given));
  };
  for (ValueId v : graph_.inputs()) name(v);
  for (ValueId v : graph_.outputs()) name(v);
  for (NodeId id : graph_.order())
    for (ValueId v : graph_[id].out)
      if (v.valid()) name(v);
}

std::string Document::line(const std::string& hint, const std::string& call) {
  std::string name = unique(identifier(hint));
  body_ += fmt::format("    {} = {};\n", name, call);
  return name;
}

void Document::define(ValueId v, const std::string& call) {
  auto known = names_.find(v.n);
  if (known == names_.end()) known = names_.emplace(v.n, unique(identifier(graph_[v].name))).first;
  body_ += fmt::format("    {} = {};\n", known->second, call);
}

Result<std::string> Document::constant(ValueId v, const Tensor& content, const std::string& hint) {
  const auto type = item_type_of(content.dtype());
  if (!type) return Error(Code::unsupported, fmt::format("a constant of {}", name(content.dtype())));
  const Ints shape(content.shape().begin(), content.shape().end());
  if (content.count() == 0) return Error(Code::unsupported, "a constant without elements");
  const std::string& given = v.valid() ? graph_[v].name : hint;
  const std::string& wanted = given.empty() ? hint : given;
  if (content.count() <= (given.empty() ? kMostInText : 1) && all_finite(content)) {
    std::vector<std::string> items;
    for (int64_t i = 0; i < content.count(); ++i) items.push_back(element(content, i));
    return line(wanted, fmt::format("constant{}(shape = {}, value = [{}])", generic_of(*type), extents_text(shape),
                                    with_commas(items)));
  }
  std::string label = label_for(wanted);
  std::string made =
      line(wanted, fmt::format("variable{}(shape = {}, label = '{}')", generic_of(*type), extents_text(shape), label));
  out_.variables.emplace_back(std::move(label), content);
  return made;
}

Result<std::string> Document::operand(ValueId v, bool literals) {
  const Tensor* t = graph_[v].constant.tensor();
  if (!t) {
    auto known = names_.find(v.n);
    if (known == names_.end()) return Error(Code::unsupported, "it reads a value that could not be written");
    return known->second;
  }
  if (literals && t->shape().scalar() && item_type_of(t->dtype()) && all_finite(*t)) return element(*t, 0);
  if (auto known = names_.find(v.n); known != names_.end()) return known->second;
  NNEX_ASSIGN(std::string made, constant(v, *t, "c"));
  names_[v.n] = made;
  return made;
}

Result<std::string> Document::view(ValueId v, const Ints& extents) {
  if (this->extents(v) == extents) return operand(v, false);
  const std::string key = fmt::format("{}:{}", v.n, extents_text(extents));
  if (auto known = made_.find(key); known != made_.end()) return known->second;
  std::string made;
  if (const Tensor* t = graph_[v].constant.tensor()) {
    NNEX_ASSIGN(made, constant(v, t->reshaped(Shape(extents)), "c"));
  } else {
    NNEX_ASSIGN(const std::string from, operand(v, false));
    made = line(from, fmt::format("reshape({}, shape = {})", from, extents_text(extents)));
  }
  made_[key] = made;
  return made;
}

Result<std::string> Document::aligned(ValueId v, size_t rank, bool literals) {
  Ints e = extents(v);
  const bool ones = std::all_of(e.begin(), e.end(), [](int64_t n) { return n == 1; });
  if (e.size() >= rank || ones) return operand(v, literals);
  e.insert(e.begin(), rank - e.size(), 1);
  return view(v, e);
}

// ---- The document

Status Document::check_types() const {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const ValueDef& def = graph_[graph_.inputs()[i]];
    if (!def.type.is_tensor() || !item_type_of(def.type.dtype))
      return Error(Code::unsupported,
                   fmt::format("input '{}' is {}; NNEF has no such tensor", def.name, def.type.text()));
    const auto shape = concrete(def.type);
    if (!shape)
      return Error(Code::invalid_argument,
                   fmt::format("input '{}' is {}; NNEF needs numbers: fix its extents with --set SYMBOL=N", def.name,
                               def.type.text()));
    for (int64_t extent : *shape)
      if (extent == 0) return Error(Code::unsupported, fmt::format("input '{}' has an extent of 0", def.name));
  }
  return {};
}

Status Document::externals() {
  const size_t own = graph_.inputs().size() - graph_.states.size();
  for (size_t i = 0; i < own; ++i) {
    const ValueId v = graph_.inputs()[i];
    define(v, fmt::format("external{}(shape = {})", generic_of(*item_type_of(graph_[v].type.dtype)),
                          extents_text(extents(v))));
  }
  for (size_t i = 0; i < graph_.states.size(); ++i) {
    const ValueId v = graph_.inputs()[own + i];
    const Tensor* start = graph_.states[i].start.tensor();
    if (!start) return Error(Code::unsupported, fmt::format("state '{}' is no tensor", graph_.states[i].label));
    std::string label = label_for(graph_.states[i].label);
    define(v, fmt::format("variable{}(shape = {}, label = '{}')", generic_of(*item_type_of(graph_[v].type.dtype)),
                          extents_text(extents(v)), label));
    out_.variables.emplace_back(std::move(label), *start);
  }
  return {};
}

/// Names of the results: values of their own, each once.
Result<std::vector<std::string>> Document::results() {
  std::vector<std::string> out;
  const size_t own = graph_.outputs().size() - graph_.states.size();
  for (size_t i = 0; i < own; ++i) {
    const ValueId v = graph_.outputs()[i];
    NNEX_ASSIGN(std::string name, operand(v, false));
    const bool again = std::find(out.begin(), out.end(), name) != out.end();
    if (again || graph_[v].is_constant() || graph_[v].param_of.valid())
      name = line(name + "_out", fmt::format("copy({})", name));
    out.push_back(std::move(name));
  }
  return out;
}

Status Document::updates() {
  const size_t in = graph_.inputs().size() - graph_.states.size(), out = graph_.outputs().size() - graph_.states.size();
  for (size_t i = 0; i < graph_.states.size(); ++i) {
    NNEX_ASSIGN(const std::string variable, operand(graph_.inputs()[in + i], false));
    NNEX_ASSIGN(const std::string next, operand(graph_.outputs()[out + i], false));
    line(variable + "_next", fmt::format("update({}, {})", variable, next));
  }
  return {};
}

/// The lines of the quantisation file that came with the graph, for the tensors that are still there.
std::string Document::quant() const {
  std::map<std::string, std::string> now;
  for (const auto& [v, name] : names_)
    if (!graph_[ValueId{v}].name.empty()) now.emplace(graph_[ValueId{v}].name, name);
  for (const auto& [key, text] : graph_.meta.properties) {
    if (key != kQuantProperty) continue;
    auto file = parse_quant(text, "graph.quant");
    if (!file.ok()) return {};
    QuantFile kept;
    for (QuantRecord& r : *file)
      if (auto at = now.find(r.tensor); at != now.end()) {
        r.tensor = at->second;
        kept.push_back(std::move(r));
      }
    return quant_text(kept);
  }
  return {};
}

Result<Written> Document::write(std::vector<Unwritable>& refused) {
  NNEX_TRY(check_types());
  name_values();
  NNEX_TRY(externals());
  for (NodeId id : graph_.order()) {
    const size_t before = body_.size();
    if (Status s = node(id); !s.ok()) {
      refused.push_back({id, s.error().message()});
      body_.resize(before);
      for (ValueId v : graph_[id].out)
        if (v.valid() && !names_.count(v.n)) names_[v.n] = unique(identifier(graph_[v].name));
    }
  }
  if (!refused.empty()) return std::move(out_);
  NNEX_ASSIGN(const std::vector<std::string> last, results());
  NNEX_TRY(updates());
  std::vector<std::string> first;
  for (size_t i = 0; i + graph_.states.size() < graph_.inputs().size(); ++i)
    first.push_back(names_.at(graph_.inputs()[i].n));
  if (first.empty() || last.empty())
    return Error(Code::unsupported, "the graph has no input or no output; NNEF needs one of each");
  std::string name = identifier(options_.name.empty() ? graph_.meta.graph_name : options_.name);
  if (name.empty()) name = "network";
  out_.graph = "version 1.0;\n";
  if (!fragments_.empty()) out_.graph += "extension KHR_enable_fragment_definitions;\n" + fragments_;
  out_.graph += fmt::format("\ngraph {}({}) -> ({})\n{{\n{}}}\n", name, with_commas(first), with_commas(last), body_);
  out_.quant = quant();
  return std::move(out_);
}

// ---- Nodes

Status Document::node(NodeId id) {
  const Node& n = graph_[id];
  if (n.foreign) return custom(n);
  if (!n.blocks.empty()) return Error(Code::unsupported, fmt::format("{}: NNEF has no control flow", n.op->name));
  for (ValueId v : n.out)
    if (v.valid() && !concrete(graph_[v].type))
      return Error(Code::unsupported,
                   fmt::format("{}: its result is {}; NNEF needs known extents", n.op->name, graph_[v].type.text()));
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
    auto u = unspell(graph_, w.plain, s, has);
    if (u.ok()) return spelled_as(w, *d, *u);
    reasons += (reasons.empty() ? "" : "; ") + u.error().message();
  }
  if (reasons.empty()) reasons = "NNEF has no such operation";
  return Error(Code::unsupported, fmt::format("{}: {}", w.plain.op->name, reasons));
}

Result<std::string> Document::arguments(WriteNode& w, const Declaration& d, const UnspelledNode& u) {
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
    if (!found || (wanted && found != wanted))
      return Error(Code::unsupported,
                   fmt::format("{}: an operand is {}; NNEF's {} takes {}", w.plain.op->name, graph_[v].type.text(),
                               d.name, wanted ? type_name(*wanted) : "numbers or truth values"));
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
      if (at < 0) return Error(Code::unsupported, fmt::format("{}: '{}' is absent", d.name, p.name));
      NNEX_ASSIGN(std::string item, text_of(at, *p.type));
      out.push_back(skipped ? fmt::format("{} = {}", p.name, item) : std::move(item));
      continue;
    }
    const auto given = std::find_if(u.attrs.begin(), u.attrs.end(),
                                    [&, n = std::string_view(p.name)](const auto& a) { return a.first == n; });
    if (given == u.attrs.end()) {
      if (p.has_default) continue;
      return Error(Code::unsupported, fmt::format("{}: attribute '{}' is not known", d.name, p.name));
    }
    const std::string text = attribute_text(given->second, of_reals(*p.type));
    if (!p.has_default || text != argument_text(p.otherwise)) out.push_back(fmt::format("{} = {}", p.name, text));
  }
  if (next < u.in.size()) return Error(Code::unsupported, fmt::format("{}: it has too many inputs", d.name));
  return with_commas(out);
}

Status Document::spelled_as(WriteNode& w, const Declaration& d, const UnspelledNode& u) {
  NNEX_ASSIGN(const std::string args, arguments(w, d, u));
  const std::string call =
      fmt::format("{}{}({})", d.name, w.generic.empty() ? "" : fmt::format("<{}>", w.generic), args);
  const bool list = d.results.size() == 1 && d.results[0].type->kind == graph_text::DeclaredType::Kind::array;
  if (!list && w.out.size() > d.results.size())
    return Error(Code::unsupported, fmt::format("{}: it has {} results; NNEF's {} has {}", w.plain.op->name,
                                                w.out.size(), d.name, d.results.size()));
  if (!w.squeeze.empty() || w.reshape) {
    if (w.out.size() != 1) return Error(Code::unsupported, fmt::format("{}: its results lose axes", d.name));
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

/// A fragment without body for what the standard has no word for, and its call.
Status Document::custom(const Node& n) {
  const std::string plain = identifier(n.foreign ? n.foreign->name : std::string(n.op->name));
  if (!n.foreign && !options_.custom) return Error(Code::unsupported, fmt::format("{}: no such operation", n.op->name));
  if (n.foreign && !n.foreign->domain.empty() && !options_.custom)
    return Error(Code::unsupported,
                 fmt::format("'{}' of domain '{}' is no operation of NNEF", n.foreign->name, n.foreign->domain));
  if (!n.blocks.empty()) return Error(Code::unsupported, fmt::format("{}: NNEF has no control flow", n.op->name));
  std::vector<std::string> params, args, outs, left, types_in, types_out;
  bool other_types = false;
  const auto note = [&](ValueId v, ItemType type, std::vector<std::string>& to) {
    const DType t = v.valid() ? graph_[v].type.dtype : element_type(type);
    other_types |= t != element_type(type);
    to.emplace_back(name(t));
  };
  size_t inputs = n.in.size();
  while (inputs > 0 && !n.in[inputs - 1].valid()) --inputs;
  for (size_t i = 0; i < inputs; ++i) {
    if (!n.in[i].valid()) return Error(Code::unsupported, fmt::format("{}: an input in the middle is absent", plain));
    const auto type = item_type_of(graph_[n.in[i]].type.dtype);
    if (!type) return Error(Code::unsupported, fmt::format("{}: an input is {}", plain, graph_[n.in[i]].type.text()));
    NNEX_ASSIGN(std::string text, operand(n.in[i], false));
    args.push_back(std::move(text));
    params.push_back(fmt::format("in{}: tensor<{}>", i, type_name(*type)));
    note(n.in[i], *type, types_in);
  }
  AttrMap attrs;
  if (n.foreign)
    attrs = n.foreign->attrs;
  else
    for (const Field& f : n.op->attrs.fields) attrs.emplace_back(std::string(f.name), f.get(n.attrs.get()));
  for (const auto& [key, value] : attrs) {
    constexpr std::string_view kTypes[] = {
        "",      "logical", "integer", "scalar", "string", "integer[]", "scalar[]", "string[]", "(integer, integer)[]",
        "string"};
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (std::holds_alternative<Tensor>(value))
      return Error(Code::unsupported, fmt::format("{}: attribute '{}' is a tensor", plain, key));
    const AttrValue said =
        std::holds_alternative<DType>(value) ? AttrValue(std::string(name(std::get<DType>(value)))) : value;
    const bool real = std::holds_alternative<double>(said) || std::holds_alternative<Reals>(said);
    params.push_back(fmt::format("{}: {}", identifier(key), kTypes[said.index()]));
    args.push_back(fmt::format("{} = {}", identifier(key), attribute_text(said, real)));
  }
  for (size_t i = 0; i < n.out.size(); ++i) {
    const ValueId v = n.out[i];
    const auto type = v.valid() ? item_type_of(graph_[v].type.dtype) : ItemType::scalar;
    if (!type) return Error(Code::unsupported, fmt::format("{}: a result is {}", plain, graph_[v].type.text()));
    outs.push_back(fmt::format("out{}: tensor<{}>", i, type_name(*type)));
    note(v, *type, types_out);
    if (!v.valid() || !names_.count(v.n)) {
      const std::string fresh = unique(identifier(v.valid() ? graph_[v].name : "unused"));
      left.push_back(fresh);
      if (v.valid()) names_[v.n] = fresh;
    } else {
      left.push_back(names_[v.n]);
    }
  }
  if (other_types && !n.foreign) {
    params.push_back(fmt::format("{}: string", kRowTypes));
    args.push_back(fmt::format("{} = '{} -> {}'", kRowTypes, fmt::join(types_in, " "), fmt::join(types_out, " ")));
  }
  const std::string declared = fmt::format("({}) -> ({})", with_commas(params), with_commas(outs));
  auto& known = custom_names_[plain + declared];
  if (known.empty()) {
    const std::string base = n.foreign ? plain : std::string(kRowPrefix) + plain;
    known = base;
    for (int i = 2; find_declaration(known) || fragments_.find("fragment " + known + "(") != std::string::npos; ++i)
      known = fmt::format("{}__{}", base, i);
    fragments_ += fmt::format("\nfragment {}{};\n", known, declared);
  }
  body_ += fmt::format("    {} = {}({});\n", with_commas(left), known, with_commas(args));
  return {};
}

Result<Written> write_document(const Graph& graph, const WriteOptions& options, std::vector<Unwritable>& refused) {
  return Document(graph, options).write(refused);
}

}  // namespace nnex::nnef_format
