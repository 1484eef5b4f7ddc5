#include "standards/nnef/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/failure.h"
#include "base/joined.h"
#include "graph/infer.h"
#include "graph/text/lexer.h"
#include "standards/nnef/check_operations.h"
#include "standards/nnef/export_document.h"
#include "standards/nnef/import_calls.h"
#include "standards/nnef/import_row.h"
#include "standards/nnef/properties.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/weights.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

constexpr int64_t kMaxInText = 16;  ///< Elements of a constant that stands in the text; of named ones, one.
constexpr int64_t kMaxOfText = int64_t{1} << 20;  ///< Of constants that came from a text.

bool is_label(std::string_view s) {
  if (s.empty() || s.front() == '/' || s.back() == '/' || s.find("..") != std::string_view::npos ||
      s.find("//") != std::string_view::npos)
    return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-';
  });
}

/// The label with every part cut to what file systems take, with room for a number and an ending.
std::string file_name(const std::string& label) {
  constexpr size_t kMaxPart = 200;
  std::string out;
  for (size_t at = 0; at <= label.size();) {
    const size_t end = std::min(label.find('/', at), label.size());
    out += (at > 0 ? "/" : "") + label.substr(at, std::min(end - at, kMaxPart));
    at = end + 1;
  }
  return out;
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

/// Whether a tensor of the document that holds this value has integers; those of more than 32 bits are `wide`.
bool is_integer(const ValueDef& def, bool& wide) {
  if (const Tensor* t = def.constant.tensor()) {
    if (!is_int(t->dtype())) return false;
    const bool narrow = t->dtype() != DType::i64 && t->dtype() != DType::u64 && t->dtype() != DType::u32;
    for (int64_t i = 0; !narrow && !wide && i < t->count(); ++i)
      wide = int_at(*t, i) < INT32_MIN || int_at(*t, i) > INT32_MAX;
    return t->dtype() == DType::i32;
  }
  if (!def.type.is_tensor() || !is_int(def.type.dtype)) return false;
  wide |= def.type.dtype != DType::i32;
  return true;
}

/// Whether the value is int64 as the table's rows give places, and every user takes it as int32: what an operation of a
/// document of 32-bit integers makes.
bool is_places(const ir::Graph& graph, ValueId v) {
  const Node* producer = graph.producer(v);
  if (!producer || !producer->op || producer->op->name == "cast" || graph[v].type.dtype != DType::i64) return false;
  const auto& uses = graph[v].uses;
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& u) {
    const Node* user = u.node.valid() ? &graph[u.node] : nullptr;
    return user && user->op && user->op->name == "cast" && graph[user->out[0]].type.dtype == DType::i32;
  });
}

/// Whether the document says that its integers have 32 bits: some do, and none needs more.
bool has_integers32(const ir::Graph& graph, const WriteOptions& options) {
  if (!options.integers32 && !(graph.provenance.nnef && graph.provenance.nnef->integers32)) return false;
  bool any = false, wide = false;
  for (ValueId v : graph.inputs()) any |= is_integer(graph[v], wide);
  for (ValueId v : graph.outputs()) any |= is_integer(graph[v], wide);
  for (NodeId id : graph.order())
    for (const auto* list : {&graph[id].in, &graph[id].out})
      for (ValueId v : *list)
        if (v.valid() && !is_places(graph, v)) any |= is_integer(graph[v], wide);
  return any && !wide;
}

/// "<integer>"; nothing for scalars, which are the default.
std::string generic_of(ItemType type) { return type == ItemType::scalar ? "" : fmt::format("<{}>", name(type)); }

}  // namespace

// ---- Names and lines

Document::Document(const ir::Graph& graph, const WriteOptions& options)
    : graph_(graph),
      options_(options),
      integers_(has_integers32(graph, options) ? DType::i32 : DType::i64),
      from_nnef_(graph.provenance.nnef.has_value()),
      variable_labels_(graph.provenance.nnef.value_or(NnefProvenance()).labels) {
  if (from_nnef_) own_fragments_ = own_fragments(graph.provenance.nnef->document);
}

Ints Document::extents(ValueId v) const {
  if (const Tensor* t = graph_[v].constant.tensor()) return Ints(t->shape().begin(), t->shape().end());
  const auto shape = concrete(graph_[v].type);
  return shape ? Ints(shape->begin(), shape->end()) : Ints{};
}

Result<Ints> Document::numbers(const WriteNode& w, size_t port, std::string_view name) const {
  const Tensor* t = graph_.constant_in(*w.node, port);
  if (t && t->shape().rank() <= 1 && is_int(t->dtype())) return ints_of(*t);
  return failure(Code::unsupported, "{}: its {} is computed; NNEF needs numbers", w.plain.op->name, name);
}

std::string Document::unique(std::string wanted) {
  if (wanted.empty()) wanted = "t";
  std::string name = wanted;
  while (!taken_.insert(name).second) name = fmt::format("{}_{}", wanted, ++numbers_[wanted]);
  return name;
}

/// Labels differ by more than letter case, and no part of one is too long for the name of a file.
std::string Document::label_for(const std::string& wanted) {
  std::string base = file_name(is_label(wanted) ? wanted : identifier(wanted)), label = base;
  while (!labels_.insert(label_key(label)).second) label = fmt::format("{}_{}", base, ++label_numbers_[base]);
  return label;
}

/// Results and parameters have the first choice of names, as the user knows them; among them, and among the others,
/// what is called by an identifier keeps it. A result that is a constant is a copy of it: the copy has the name.
void Document::name_values() {
  std::vector<ValueId> ports(graph_.inputs().begin(), graph_.inputs().end()), inside;
  ports.insert(ports.end(), graph_.outputs().begin(), graph_.outputs().end());
  for (NodeId id : graph_.order())
    for (ValueId v : graph_[id].out)
      if (v.valid()) inside.push_back(v);
  for (const auto& values : {ports, inside})
    for (const bool kept : {true, false})
      for (ValueId v : values) {
        const std::string& given = graph_[v].name;
        if (!given.empty() && !names_.count(v.n) && !graph_[v].is_constant() && (identifier(given) == given) == kept)
          names_[v.n] = unique(identifier(given));
      }
  for (size_t i = 0; i + graph_.states.size() < graph_.outputs().size(); ++i)
    if (const ValueDef& v = graph_[graph_.outputs()[i]]; v.is_constant() && !v.name.empty())
      constant_results_[i] = unique(identifier(v.name));
  share_names();
}

/// The places that an operation of a document of 32-bit integers gives are int64 here, and cast behind it: one name.
void Document::share_names() {
  for (NodeId id : graph_.order()) {
    const Node& n = graph_[id];
    if (!n.op || n.op->name != "cast" || !gives_places(n.in[0]) || names_.count(n.in[0].n)) continue;
    auto known = names_.find(n.out[0].n);
    if (known == names_.end()) known = names_.emplace(n.out[0].n, unique("")).first;
    names_[n.in[0].n] = known->second;
  }
}

bool Document::gives_places(ValueId v) const { return integers_ == DType::i32 && is_places(graph_, v); }

bool Document::is_shared(ValueId a, ValueId b) const {
  const auto x = names_.find(a.n), y = names_.find(b.n);
  return x != names_.end() && y != names_.end() && x->second == y->second;
}

/// Ports whose names are no identifiers, or were taken. `inputs` and `outputs` are those that the document has.
void Document::note_names(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  constexpr size_t kShown = 8;
  std::vector<std::string> all;
  const auto note = [&](const std::vector<ValueId>& ports, const std::vector<std::string>& names,
                        std::string_view what) {
    for (size_t i = 0; i < names.size(); ++i)
      if (const std::string& given = graph_[ports[i]].name; !given.empty() && names[i] != given)
        all.push_back(fmt::format("{} '{}' is '{}'", what, given, names[i]));
  };
  note(graph_.inputs(), inputs, "input");
  note(graph_.outputs(), outputs, "output");
  if (all.empty()) return;
  out_.renamed = fmt::format("names in NNEF are letters, digits and '_', each once: {}{}",
                             joined(std::span(all).first(std::min(all.size(), kShown)), ", "),
                             all.size() > kShown ? fmt::format(" and {} more", all.size() - kShown) : "");
}

std::string Document::line(const std::string& hint, const std::string& call) {
  return named_line(unique(identifier(hint)), call);
}

std::string Document::named_line(std::string name, const std::string& call) {
  body_ += fmt::format("    {} = {};\n", name, call);
  return name;
}

void Document::define(ValueId v, const std::string& call) {
  auto known = names_.find(v.n);
  if (known == names_.end()) known = names_.emplace(v.n, unique(identifier(graph_[v].name))).first;
  body_ += fmt::format("    {} = {};\n", known->second, call);
}

std::optional<std::string> Document::constant_text(const Tensor& content, const Ints& shape) const {
  const auto type = item_type_of(content.dtype());
  if (!type || content.count() == 0 || !all_finite(content)) return std::nullopt;
  std::vector<std::string> items;
  for (int64_t i = 0; i < content.count(); ++i) items.push_back(element(content, i));
  if (std::all_of(items.begin(), items.end(), [&](const std::string& item) { return item == items[0]; }))
    items.resize(1);  // repeated
  return fmt::format("constant{}(shape = {}, value = [{}])", generic_of(*type), extents_text(shape),
                     with_commas(items));
}

Result<std::string> Document::constant(ValueId v, const Tensor& content, const std::string& hint) {
  const auto type = item_type_of(content.dtype());
  if (!type) return failure(Code::unsupported, "a constant of {}", name(content.dtype()));
  const Ints shape(content.shape().begin(), content.shape().end());
  if (content.count() == 0) return Error(Code::unsupported, "a constant without elements");
  const std::string& given = v.valid() ? graph_[v].name : hint;
  const std::string& wanted = given.empty() ? hint : given;
  const auto known = variable_labels_.find(given);
  const bool variable = v.valid() && known != variable_labels_.end();
  const int64_t max = given.empty() ? kMaxInText : from_nnef_ && v.valid() ? kMaxOfText : 1;
  if (!variable && content.count() <= max)
    if (const auto text = constant_text(content, shape)) return line(wanted, *text);
  std::string label = label_for(variable ? known->second : wanted);
  std::string made =
      line(wanted, fmt::format("variable{}(shape = {}, label = '{}')", generic_of(*type), extents_text(shape), label));
  if (v.valid()) written_labels_[made] = label;
  out_.variables.emplace_back(std::move(label), content);
  return made;
}

Result<std::string> Document::operand(ValueId v, bool literals) {
  const Tensor* t = graph_[v].constant.tensor();
  if (!t) {
    if (!names_.count(v.n) && waits(v)) NNEX_TRY(node_now(graph_[v].producer));
    auto known = names_.find(v.n);
    if (known == names_.end()) return Error(Code::unsupported, "it reads a value that could not be written");
    return known->second;
  }
  const bool nameless = !from_nnef_ || graph_[v].name.empty();
  if (literals && nameless && t->shape().scalar() && item_type_of(t->dtype()) && all_finite(*t)) return element(*t, 0);
  if (auto known = names_.find(v.n); known != names_.end()) return known->second;
  std::string made;
  if (const auto known = viewed_.find(v.n); from_nnef_ && known != viewed_.end()) {
    const std::string& from = known->second.name;
    made = line(from, fmt::format("reshape({}, shape = {})", from, extents_text(extents(v))));
  } else {
    NNEX_ASSIGN(made, constant(v, *t, "c"));
  }
  names_[v.n] = made;
  return made;
}

Status Document::stand_for(ValueId v, ValueId of) {
  NNEX_ASSIGN(names_[v.n], operand(of, false));
  return {};
}

bool Document::is_view(ValueId v) const {
  const Node* producer = graph_.producer(v);
  if (!producer || !producer->op || !graph_[v].name.empty() || producer->in.empty() || !producer->in[0].valid())
    return false;
  return producer->op->name == "reshape" || producer->op->name == "unsqueeze" || producer->op->name == "squeeze";
}

std::vector<ValueId> Document::views(ValueId v) const {
  std::vector<ValueId> out = {v};
  while (out.size() <= kMaxViews && is_view(out.back())) out.push_back(graph_.producer(out.back())->in[0]);
  return out;
}

bool Document::waits(ValueId v) const {
  size_t steps = 0;
  for (; steps <= kMaxViews; ++steps) {
    const Node* producer = graph_.producer(v);
    const bool repeats = producer && producer->op && producer->op->name == "expand" && graph_[v].name.empty();
    if (!repeats && !is_view(v)) break;
    v = producer->in[0];
  }
  return steps > 0 && steps <= kMaxViews;
}

ValueId Document::repeated_element(ValueId v) const {
  const Node* producer = graph_.producer(v);
  if (!producer || !producer->op || producer->op->name != "expand" || !graph_[v].name.empty()) return {};
  const ValueId from = views(producer->in[0]).back();
  const Ints e = extents(from);
  return std::all_of(e.begin(), e.end(), [](int64_t n) { return n == 1; }) ? from : ValueId{};
}

ValueId Document::without_trailing_ones(ValueId v) const {
  if (!is_view(v)) return {};
  const ValueId from = graph_.producer(v)->in[0];
  Ints e = extents(from);
  const Ints all = extents(v);
  if (e.empty() || e.size() >= all.size()) return {};
  e.resize(all.size(), 1);
  return e == all ? from : ValueId{};
}

Result<std::string> Document::view(ValueId v, const Ints& extents) {
  for (ValueId from : views(v))
    if (this->extents(from) == extents) return operand(from, false);
  const std::string key = fmt::format("{}:{}", v.n, extents_text(extents));
  if (auto known = made_.find(key); known != made_.end()) return known->second;
  std::string made;
  if (const Tensor* t = graph_[v].constant.tensor(); t && (!from_nnef_ || !names_.count(v.n))) {
    NNEX_ASSIGN(made, constant(v, t->reshaped(Shape(extents)), "c"));
    viewed_.try_emplace(v.n, Viewed{made, extents});
  } else {
    NNEX_ASSIGN(const std::string from, operand(v, false));
    made = line(from, fmt::format("reshape({}, shape = {})", from, extents_text(extents)));
  }
  made_[key] = made;
  return made;
}

Result<std::string> Document::channels(ValueId v, int64_t count) {
  for (ValueId from : views(v)) {
    Ints e = extents(from);
    if (from == v || e.size() < 2 || e[1] != count) continue;
    e[1] = 1;
    if (std::all_of(e.begin(), e.end(), [](int64_t n) { return n == 1; })) return operand(from, false);
  }
  return view(v, {1, count});
}

Result<std::string> Document::aligned(ValueId v, size_t rank, bool literals) {
  Ints e = extents(v);
  const bool ones = std::all_of(e.begin(), e.end(), [](int64_t n) { return n == 1; });
  if (e.size() >= rank || ones) return operand(v, literals);
  e.insert(e.begin(), rank - e.size(), 1);
  return view(v, e);
}

// ---- Whole numbers as reals

namespace {

constexpr int64_t kWhole = int64_t{1} << 24;  ///< float32 holds every whole number up to it.

constexpr size_t kNamed = 4;  ///< Of nodes that compute integers as reals, in a sentence.

bool is_small(const std::optional<Interval>& i) { return i && i->low >= -kWhole && i->high <= kWhole; }

}  // namespace

Result<std::string> Document::reals(ValueId v, std::string text) {
  if (const Tensor* t = graph_[v].constant.tensor(); t && t->count() == 1)
    return real_text(static_cast<double>(int_at(*t, 0)));
  if (text.empty()) {
    NNEX_ASSIGN(text, operand(v, false));
  }
  std::string& made = made_[text + ":scalar"];
  if (made.empty()) made = line(text, fmt::format("cast<scalar>({})", text));
  return made;
}

/// Whether whole numbers are known to be ones of float32.
bool Document::is_proven(const WriteNode& w, const Intervals& known) const {
  const auto small = [&](ValueId v) { return !v.valid() || !is_int(graph_[v].type.dtype) || is_small(known.of(v)); };
  const bool stays = w.whole == Whole::kept || small(w.out[0]);
  return stays && std::all_of(w.plain.in.begin(), w.plain.in.end(), small);
}

void Document::note_whole(const WriteNode& w) {
  const bool any = std::any_of(w.plain.in.begin(), w.plain.in.end(),
                               [&](ValueId v) { return v.valid() && is_int(graph_[v].type.dtype); });
  if (!any) return;
  if (!intervals_) intervals_.emplace(graph_, std::map<ValueId, Interval>());
  if (is_proven(w, *intervals_)) return;
  const std::string& name = graph_[w.out[0]].name;
  whole_.push_back(name.empty() ? std::string(w.plain.op->name) : fmt::format("{} '{}'", w.plain.op->name, name));
  if (!of_bytes_) {
    std::map<ValueId, Interval> bytes;
    for (const ValueId v : graph_.inputs())
      if (is_int(graph_[v].type.dtype)) bytes[v] = Interval{-128, 255};
    of_bytes_.emplace(graph_, bytes);
  }
  out_.bytes_grow |= !is_proven(w, *of_bytes_);
}

void Document::count_from_start(const WriteNode& w) {
  out_.counts_from_start = true;
  out_.conditions.push_back(
      fmt::format("the indices of gather '{}' are not negative: NNEF's count from the start", graph_[w.out[0]].name));
}

/// Reals of a document have no width: a reader makes float32 of them.
void Document::note_types() {
  std::set<std::string_view> others;
  for (uint32_t n = 0; n < graph_.value_count(); ++n) {
    const ValueDef& def = graph_[ValueId{n}];
    const bool there = def.producer.valid() || def.param_of.valid() || (def.is_constant() && !def.uses.empty());
    const DType type = def.is_constant() ? type_of(def.constant).dtype : def.type.dtype;
    if (def.producer.valid() && graph_[def.producer].erased) continue;
    if (there && is_float(type) && type != element_type(ItemType::scalar)) others.insert(name(type));
  }
  for (const std::string_view type : others)
    out_.changes.push_back(fmt::format("reals of {} become float32, which NNEF's reals are", type));
}

// ---- The document

Status Document::check_types() const {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const ValueDef& def = graph_[graph_.inputs()[i]];
    if (!def.type.is_tensor() || !item_type_of(def.type.dtype))
      return failure(Code::unsupported, "input '{}' is {}; NNEF has no such tensor", def.name, def.type.text());
  }
  NNEX_TRY(needs_numbers("NNEF", graph_));
  for (const ValueId v : graph_.inputs()) {
    const ValueDef& def = graph_[v];
    const std::optional<Shape> shape = concrete(def.type);
    if (std::find(shape->begin(), shape->end(), 0) != shape->end())
      return failure(Code::unsupported, "input '{}' is {}; NNEF's extents are above 0", def.name, def.type.text());
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
    if (!start) return failure(Code::unsupported, "state '{}' is no tensor", graph_.states[i].label);
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
  std::set<std::string> taken;
  const size_t own = graph_.outputs().size() - graph_.states.size();
  for (size_t i = 0; i < own; ++i) {
    const ValueId v = graph_.outputs()[i];
    NNEX_ASSIGN(std::string name, operand(v, false));
    const std::string copy = fmt::format("copy({})", name);
    if (const auto own = constant_results_.find(i); own != constant_results_.end())
      name = named_line(own->second, copy);
    else if (taken.count(name) || graph_[v].is_constant() || (graph_[v].param_of.valid() && !from_nnef_))
      name = line(name + "_out", copy);
    taken.insert(name);
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

namespace {

/// The record for a tensor with `ones` extents of 1 more in front, since parameters meet it from its first axis on.
void put_in_front(QuantRecord& r, size_t ones) {
  for (auto& [name, arg] : r.args)
    for (size_t i = 0; arg.get<Literals>() && i < ones; ++i) {
      Literal inner = std::move(arg);
      arg = {};
      arg.value = Literals{std::move(inner)};
    }
}

}  // namespace

/// Adds the record under a line's name, unless its parameters do not meet the extents that the line has.
void Document::add_record(QuantRecord r, const std::string& name, const Ints& own, const Ints& written, QuantFile& to) {
  const size_t more = written.size() - std::min(own.size(), written.size());
  Ints in_front = own, behind = own;
  in_front.insert(in_front.begin(), more, 1), behind.resize(own.size() + more, 1);
  const bool fits = std::all_of(r.args.begin(), r.args.end(), [&](const auto& a) {
    const auto of_axes = literal_extents(a.second);
    return !a.second.template get<Literals>() || (of_axes && broadcasts_to(*of_axes, written));
  });
  if (!fits && written == in_front)
    put_in_front(r, more);
  else if (!fits && written != behind)
    return;
  r.tensor = name;
  if (const auto label = written_labels_.find(name); label != written_labels_.end()) {
    const auto content = std::find_if(out_.variables.begin(), out_.variables.end(),
                                      [&](const auto& v) { return v.first == label->second; });
    if (codes_of_reals(content->second, r)) out_.codes.emplace(label->second, r);
  }
  to.push_back(std::move(r));
}

/// The lines of the quantisation file that came with the graph, for the tensors that are still there; variables that
/// hold nothing but reals of codes are stored as their codes.
std::string Document::quant() {
  auto file = parse_quant(graph_.provenance.quantization, "graph.quant");
  if (!file.ok()) return {};
  std::map<std::string, ValueId> now;
  const auto note = [&](uint32_t v) {
    if (!graph_[ValueId{v}].name.empty()) now.emplace(graph_[ValueId{v}].name, ValueId{v});
  };
  for (const auto& [v, name] : names_) note(v);
  for (const auto& [v, viewed] : viewed_) note(v);
  QuantFile kept;
  for (QuantRecord& r : *file) {
    const auto at = now.find(r.tensor);
    if (at == now.end()) continue;
    const Ints own = extents(at->second);
    const auto viewed = viewed_.find(at->second.n);
    if (viewed != viewed_.end()) add_record(r, viewed->second.name, own, viewed->second.extents, kept);
    const auto name = names_.find(at->second.n);
    if (name != names_.end() && (viewed == viewed_.end() || !from_nnef_))
      add_record(std::move(r), name->second, own, own, kept);
  }
  return quant_text(kept);
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
  out_.has_whole_reals = !whole_.empty();
  if (out_.has_whole_reals)
    out_.conditions.push_back(
        fmt::format("whole numbers of {}{} stay within {} either way: NNEF computes them as reals",
                    joined(std::span(whole_).first(std::min(whole_.size(), kNamed)), ", "),
                    whole_.size() > kNamed ? fmt::format(" and {} more", whole_.size() - kNamed) : "", kWhole));
  note_types();
  NNEX_ASSIGN(const std::vector<std::string> last, results());
  NNEX_TRY(updates());
  std::vector<std::string> first;
  for (size_t i = 0; i + graph_.states.size() < graph_.inputs().size(); ++i)
    first.push_back(names_.at(graph_.inputs()[i].n));
  if (first.empty() || last.empty())
    return Error(Code::unsupported, "the graph has no input or no output; NNEF needs one of each");
  note_names(first, last);
  std::string name = identifier(options_.name.empty() ? graph_.meta.graph_name : options_.name);
  if (name.empty()) name = "network";
  out_.graph = "version 1.0;\n";
  if (integers_ == DType::i32) out_.graph += fmt::format("extension {};\n", graph_text::kIntegers32);
  if (!fragments_.empty()) out_.graph += "extension KHR_enable_fragment_definitions;\n" + fragments_;
  out_.graph += fmt::format("\ngraph {}({}) -> ({})\n{{\n{}}}\n", name, with_commas(first), with_commas(last), body_);
  if (const std::string lines = property_lines(graph_, names_); !lines.empty()) out_.graph += "\n" + lines;
  out_.quant = quant();
  return std::move(out_);
}

Result<Written> write_document(const ir::Graph& graph, const WriteOptions& options, std::vector<Unwritable>& refused) {
  return Document(graph, options).write(refused);
}

}  // namespace nnex::nnef_format
