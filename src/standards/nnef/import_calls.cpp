#include "standards/nnef/import_calls.h"

#include <algorithm>
#include <cmath>

#include "graph/infer.h"
#include "ops/cast.h"
#include "standards/nnef/check_shape_call.h"
#include "standards/nnef/import_call.h"
#include "standards/nnef/import_row.h"
#include "standards/nnef/write.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

DType element_type(ItemType type) {
  switch (type) {
    case ItemType::scalar:
      return DType::f32;
    case ItemType::integer:
      return DType::i64;
    case ItemType::logical:
      return DType::boolean;
    case ItemType::string:
      return DType::str;
  }
  return DType::none;
}

namespace {

Type type_of(DType type, const Ints& extents) { return Type::tensor(type, Dims(extents.begin(), extents.end())); }

/// What a literal is called in the engine: numbers of scalar tensors are f32, integers of the document's width.
Result<Tensor> literal_tensor(const Arg& arg, DType integers) {
  switch (arg.kind()) {
    case Arg::Kind::logical:
      return Tensor::scalar<bool>(arg.logical());
    case Arg::Kind::integer:
      if (integers == DType::i32) return Tensor::scalar<int32_t>(static_cast<int32_t>(arg.integer()));
      return Tensor::scalar<int64_t>(arg.integer());
    case Arg::Kind::scalar:
      return Tensor::scalar<float>(static_cast<float>(arg.scalar()));
    default:
      return Error(Code::unsupported, "strings are no tensors here");
  }
}

/// An evaluated attribute as the table's codecs take it.
Result<AttrValue> attribute(const Arg& arg) {
  switch (arg.kind()) {
    case Arg::Kind::logical:
      return AttrValue(arg.logical());
    case Arg::Kind::integer:
      return AttrValue(arg.integer());
    case Arg::Kind::scalar:
      return AttrValue(arg.scalar());
    case Arg::Kind::string:
      return AttrValue(std::string(arg.text()));
    default:
      break;
  }
  if (!arg.is_list()) return AttrValue();
  const auto items = arg.items();
  if (items.empty() || items[0].is(Arg::Kind::integer)) {
    Ints list;
    for (const Arg& item : items) list.push_back(item.integer());
    return AttrValue(std::move(list));
  }
  if (items[0].is(Arg::Kind::scalar)) {
    Reals list;
    for (const Arg& item : items) list.push_back(item.scalar());
    return AttrValue(std::move(list));
  }
  if (items[0].is(Arg::Kind::string)) {
    Texts list;
    for (const Arg& item : items) list.emplace_back(item.text());
    return AttrValue(std::move(list));
  }
  Pairs pairs;
  for (const Arg& item : items) {
    if (!item.is_list() || item.items().size() != 2 || !item.items()[0].is(Arg::Kind::integer) ||
        !item.items()[1].is(Arg::Kind::integer))
      return Error(Code::unsupported, "an attribute of this type has no place in the engine");
    pairs.emplace_back(item.items()[0].integer(), item.items()[1].integer());
  }
  return AttrValue(std::move(pairs));
}

/// The special rows of the operation; null: the table's spelling says everything.
ImportFunction find_import(std::string_view name) {
  static const std::map<std::string_view, ImportFunction> kRows = [] {
    std::map<std::string_view, ImportFunction> rows;
    for (auto list : {import_window_rows(), import_move_rows(), import_math_rows()})
      for (const ImportRow& r : list) rows.emplace(r.name, r.import_call);
    return rows;
  }();
  auto it = kRows.find(name);
  return it == kRows.end() ? nullptr : it->second;
}

}  // namespace

// ---- ImportCall

Error ImportCall::error(std::string message, Code code) const {
  Error e(code, fmt::format("{}: {}", name(), message));
  return op.places ? op.places->placed(std::move(e)) : std::move(e);
}

Status ImportCall::read_tensor(const Arg& arg, const DeclaredType& type) {
  if (arg.is_tensor()) {
    const TensorInfo& t = tensors_[arg.tensor()];
    if (!t.shaped || !t.value.valid()) {
      const Node* producer = t.value.valid() ? graph_.producer(t.value) : nullptr;
      return error(producer && producer->custom
                       ? fmt::format("the shape of '{}' is known only to the custom operation '{}', a fragment without "
                                     "body; give it one",
                                     t.name, producer->custom->name)
                       : "the shape of an operand is known only to a custom operation");
    }
    in.push_back(t.value);
    in_extents.push_back(t.extents);
    return {};
  }
  if (arg.is_list()) {
    for (const Arg& item : arg.items()) NNEX_TRY(read_tensor(item, type));
    return {};
  }
  auto literal = literal_tensor(arg, integers);
  if (!literal.ok()) return error(literal.error().message());
  in.push_back(b.constant(std::move(literal).value()));
  in_extents.emplace_back();
  return {};
}

Status ImportCall::read() {
  for (size_t i = 0; i < op.args.size(); ++i) {
    const Parameter& p = op.declaration->parameters[i];
    const bool list = p.type->kind == DeclaredType::Kind::array && p.type->items;
    if (p.type->kind == DeclaredType::Kind::tensor || (list && p.type->items[0].kind == DeclaredType::Kind::tensor)) {
      NNEX_TRY(read_tensor(op.args[i], *p.type));
      continue;
    }
    auto value = attribute(op.args[i]);
    if (!value.ok()) return error(fmt::format("attribute '{}': {}", p.name, value.error().message()));
    const bool of_pairs = list && p.type->items[0].kind == DeclaredType::Kind::tuple;
    if (const Ints* none = std::get_if<Ints>(&*value); none && none->empty() && of_pairs) value = AttrValue(Pairs{});
    attrs.emplace_back(std::string(p.name), std::move(value).value());
  }
  return {};
}

const Ints& ImportCall::extents(std::string_view parameter) const {
  static const Ints kNone;
  const Arg& a = op.arg(parameter);
  return a.is_tensor() ? tensors_[a.tensor()].extents : kNone;
}

ValueId& ImportCall::value(std::string_view parameter) {
  const int at = op.declaration->find(parameter);
  NNEX_ASSERT(at >= 0 && static_cast<size_t>(at) < in.size());
  return in[static_cast<size_t>(at)];
}

std::optional<double> ImportCall::literal(std::string_view parameter) const {
  const Arg& a = op.arg(parameter);
  if (a.is(Arg::Kind::scalar)) return a.scalar();
  if (a.is(Arg::Kind::integer)) return static_cast<double>(a.integer());
  return std::nullopt;
}

ValueId ImportCall::typed(ValueId v, DType type, const Ints& extents) {
  graph_.set_type(v, type_of(type, extents));
  return v;
}

ValueId ImportCall::as_type(ValueId v, DType to) {
  if (graph_[v].type.dtype == to) return v;
  if (const Node* producer = graph_.producer(v); producer && producer->op->name == "cast") {
    const DType from = graph_[producer->in[0]].type.dtype;
    if (from == to && is_int(to) && is_int(graph_[v].type.dtype) && bits(graph_[v].type.dtype) > bits(to))
      return producer->in[0];
  }
  constexpr int64_t kFew = 64;  ///< Numbers that rows may want to know before a run.
  if (const Tensor* t = graph_[v].constant.tensor(); t && t->count() <= kFew && is_int(t->dtype()) && is_int(to))
    if (auto same = convert(*t, to); same.ok() && ints_of(*same) == ints_of(*t)) return b.constant(std::move(*same));
  CastAttrs a;
  a.to = to;
  Type type = graph_[v].type;
  type.dtype = to;
  const ValueId y = b("cast", {v}, a);
  graph_.set_type(y, std::move(type));
  return y;
}

Result<ValueId> ImportCall::as_result(ValueId v, const TensorInfo& t) {
  const DType wanted = element(t.type);
  typed(v, wanted, t.extents);
  if (t.type != ItemType::integer || wanted == element_type(t.type)) return v;
  const NodeId producer = graph_[v].producer;
  uint32_t first = v.n;
  for (ValueId o : graph_[producer].out)
    if (o.valid()) first = std::min(first, o.n);
  Inference made(graph_, first);
  NNEX_TRY(made.node(producer));
  const DType type = made.type(v).dtype;
  if (type == wanted || !is_int(type)) return v;
  typed(v, type, t.extents);
  return as_type(v, wanted);
}

ValueId ImportCall::reshaped(ValueId v, const Ints& extents) {
  const DType type = graph_[v].type.dtype;
  return make("reshape", {v, b.ints(extents)}, type, extents);
}

ValueId ImportCall::trailing(ValueId v, const Ints& extents, size_t rank) {
  if (extents.empty() || extents.size() >= rank) return v;
  Ints axes, out = extents;
  for (size_t i = extents.size(); i < rank; ++i) axes.push_back(static_cast<int64_t>(i)), out.push_back(1);
  const DType type = graph_[v].type.dtype;
  return make("unsqueeze", {v, b.ints(axes)}, type, out);
}

void ImportCall::align(size_t first, size_t count) {
  const size_t end = count ? std::min(first + count, in.size()) : in.size();
  size_t rank = 0;
  for (size_t i = first; i < end; ++i) rank = std::max(rank, in_extents[i].size());
  for (size_t i = first; i < end; ++i) {
    in[i] = trailing(in[i], in_extents[i], rank);
    if (!in_extents[i].empty()) in_extents[i].resize(rank, 1);
  }
}

AttrValue* ImportCall::find(std::string_view attribute) {
  for (auto& [key, value] : attrs)
    if (key == attribute) return &value;
  return nullptr;
}

void ImportCall::set(std::string_view attribute, AttrValue value) {
  if (AttrValue* found = find(attribute))
    *found = std::move(value);
  else
    attrs.emplace_back(std::string(attribute), std::move(value));
}

void ImportCall::drop(std::string_view attribute) {
  attrs.erase(std::remove_if(attrs.begin(), attrs.end(), [&](const auto& a) { return a.first == attribute; }),
              attrs.end());
}

Ints ImportCall::ints(std::string_view attribute) {
  const AttrValue* v = find(attribute);
  const Ints* list = v ? std::get_if<Ints>(v) : nullptr;
  return list ? *list : Ints{};
}

bool ImportCall::empty(std::string_view attribute) {
  const AttrValue* v = find(attribute);
  if (!v) return true;
  if (auto* list = std::get_if<Ints>(v)) return list->empty();
  if (auto* list = std::get_if<Pairs>(v)) return list->empty();
  return false;
}

void ImportCall::give(ValueId v, size_t i) {
  done = true;
  TensorInfo& t = tensors_[op.results[i].tensor()];
  t.value = v;
  if (!t.name.empty() && graph_[v].name.empty() && !graph_[v].param_of.valid()) graph_.set_name(v, std::string(t.name));
}

Result<NodeId> ImportCall::spelled(std::string_view as, size_t outputs) {
  SpelledNode node;
  node.spelled = find_spelling(nnef, {}, as);
  if (!node.spelled.op) return error("no operator of the engine is spelled so");
  node.in = in;
  node.attrs = std::move(attrs);
  node.outputs = outputs;
  auto made = make_spelled(b, std::move(node), Inference(graph_, static_cast<uint32_t>(graph_.value_count())));
  if (!made.ok()) return error(made.error().message(), made.error().code());
  return made;
}

Status ImportCall::plain(std::string_view as) {
  const bool list = op.results.size() == 1 && op.results[0].is_list();
  const auto results = list ? op.results[0].items() : op.results;
  NNEX_ASSIGN(const NodeId id, spelled(as.empty() ? name() : as, results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    TensorInfo& t = tensors_[results[i].tensor()];
    NNEX_ASSIGN(const ValueId v, as_result(graph_[id].out[i], t));
    t.value = v;
    if (!t.name.empty()) graph_.set_name(v, std::string(t.name));
  }
  done = true;
  return {};
}

// ---- Importer

void Importer::begin(const GraphHeader& header) {
  graph_.meta.graph_name = header.name;
  graph_.provenance.nnef.emplace().integers32 = header.integers32;
  fragments_ = !header.fragments.empty();
  if (header.integers32) integers_ = DType::i32;
  for (std::string_view p : header.parameters) params_.emplace(p, graph_.add_param(kMain, std::string(p), Type()));
  result_names_.assign(header.results.begin(), header.results.end());
}

void Importer::operation(const Operation& op, Tensors& tensors, Faults& faults) {
  if (faults.check(infer_shapes(op, tensors, variables_)) && faults.none()) faults.check(import_operation(op, tensors));
}

Status check_integers32(const Operation& op) {
  const auto fits = [](const Arg& a, const auto& self) -> const Arg* {
    for (const Arg& item : a.is_list() ? a.items() : std::span<const Arg>())
      if (const Arg* wide = self(item, self)) return wide;
    return a.is(Arg::Kind::integer) && a.integer() != static_cast<int32_t>(a.integer()) ? &a : nullptr;
  };
  for (size_t i = 0; i < op.args.size(); ++i) {
    const Parameter& p = op.declaration->parameters[i];
    const bool list = p.type->kind == DeclaredType::Kind::array && p.type->items;
    const bool tensor = (list ? p.type->items[0] : *p.type).kind == DeclaredType::Kind::tensor;
    if (!tensor && (op.declaration->name != "constant" || p.name != "value")) continue;
    if (const Arg* wide = fits(op.args[i], fits))
      return op.fault("S18", fmt::format("{}: {} needs more than 32 bits; 'extension {};' says that there are no more",
                                         op.declaration->name, wide->integer(), graph_text::kIntegers32));
  }
  return {};
}

Result<Tensor> as_integers32(const Tensor& t) {
  if (t.dtype() == DType::i32) return t;
  for (int64_t i = 0; i < t.count(); ++i)
    if (const int64_t x = int_at(t, i); x < INT32_MIN || x > INT32_MAX)
      return Error(Code::invalid_model, fmt::format("C7: item {} is {}; the document's integers have 32 bits", i, x));
  return convert(t, DType::i32);
}

Status Importer::import_operation(const Operation& op, Tensors& tensors) {
  if (integers_ == DType::i32) NNEX_TRY(check_integers32(op));
  if (op.declaration->is_custom()) return custom(op, tensors);
  const std::string_view name = op.declaration->name;
  if (name == "external") return introduce_external(op, tensors);
  if (name == "constant") return introduce_constant(op, tensors);
  if (name == "variable") return introduce_variable(op, tensors);
  if (name == "update") return update(op, tensors);
  std::string place = op.places ? op.places->place() : std::string();
  if (!op.results.empty() && op.results[0].is_tensor() && !tensors[op.results[0].tensor()].name.empty())
    place += fmt::format(" '{}' ({})", tensors[op.results[0].tensor()].name, name);
  else
    place += fmt::format(" ({})", name);
  ImportCall call(graph_, op, tensors, graph_.add_place(std::move(place)), integers_);
  NNEX_TRY(call.read());
  if (const ImportFunction special = find_import(name)) NNEX_TRY(special(call));
  return call.done ? Status() : call.plain();
}

Status Importer::introduce_external(const Operation& op, Tensors& tensors) {
  TensorInfo& t = tensors[op.results[0].tensor()];
  auto param = params_.find(t.name);
  if (param == params_.end()) return op.fault("A3", fmt::format("external: '{}' is no parameter of the graph", t.name));
  t.value = param->second;
  graph_.set_type(t.value, type_of(element(t.type), t.extents));
  return {};
}

Status Importer::introduce_constant(const Operation& op, Tensors& tensors) {
  TensorInfo& t = tensors[op.results[0].tensor()];
  if (t.type == ItemType::string) return op.fault({}, "constant: strings cannot be computed with", Code::unsupported);
  const Arg& value = op.arg("value");
  const std::span<const Arg> items = value.is_list() ? value.items() : std::span<const Arg>(&value, 1);
  constexpr int64_t kRepeated = 1 << 16;  ///< Of one item: what a few bytes of text may take before a run.
  if (items.size() == 1 && Shape(t.extents).count() > kRepeated) {
    auto literal = literal_tensor(items[0], integers_);
    if (!literal.ok()) return op.fault({}, "constant: " + literal.error().message(), literal.error().code());
    Builder b(graph_, kMain, graph_.add_place(op.places ? op.places->place() : std::string()));
    t.value = b("expand", {b.constant(std::move(literal).value()), b.ints(t.extents)});
    graph_.set_type(t.value, type_of(element(t.type), t.extents));
    graph_.set_name(t.value, std::string(t.name));
    return {};
  }
  NNEX_ASSIGN(Tensor content, Tensor::make(element(t.type), Shape(t.extents)));
  for (int64_t i = 0; i < content.count(); ++i) {
    const Arg& item = items[items.size() == 1 ? 0 : static_cast<size_t>(i)];
    if (auto* x = item.get<double>())
      set_real(content, i, *x);
    else if (auto* n = item.get<int64_t>())
      set_int(content, i, *n);
    else if (auto* b = item.get<bool>())
      set_int(content, i, *b);
  }
  t.value = graph_.add_constant(std::move(content), std::string(t.name));
  return {};
}

Status Importer::introduce_variable(const Operation& op, Tensors& tensors) {
  TensorInfo& t = tensors[op.results[0].tensor()];
  const std::string_view label = op.arg("label").text();
  const std::string key = label_key(label);
  if (auto known = kept_.find(key); known != kept_.end()) {
    t.value = known->second.value;
    return {};
  }
  const auto refused = [&](const Error& e) {
    return op.fault({}, fmt::format("variable: '{}': {}", label, e.text()), e.code());
  };
  if (t.type == ItemType::string) return refused(Error(Code::unsupported, "strings cannot be computed with"));
  if (!options_.variable)
    return refused(Error(Code::unreadable, "there are no tensor files beside the text, which would hold it"));
  auto content = options_.variable({label, t.name, t.type, t.extents});
  if (content.ok() && element(t.type) == DType::i32) content = as_integers32(*content);
  if (!content.ok()) return refused(content.error());
  t.value = graph_.add_constant(std::move(content).value(), std::string(t.name.empty() ? label : t.name));
  kept_[key] = Kept{t.value, {}, std::string(label)};
  return {};
}

Status Importer::update(const Operation& op, Tensors& tensors) {
  TensorInfo& t = tensors[op.results[0].tensor()];
  const Arg &variable = op.arg("variable"), &value = op.arg("value");
  const SharedLabel* shared = variable.is_tensor() ? variables_.find(variable.tensor()) : nullptr;
  if (!shared) return op.fault("A13", "update: the first argument is no variable");
  if (value.is_tensor() && !tensors[value.tensor()].value.valid())
    return op.fault({}, "update: the value's shape is known only to a custom operation", Code::unsupported);
  if (value.is_tensor()) {
    t.value = tensors[value.tensor()].value;
  } else {
    auto literal = literal_tensor(value, integers_);
    if (!literal.ok()) return op.fault({}, "update: " + literal.error().message(), literal.error().code());
    t.value = graph_.add_constant(std::move(literal).value(), std::string(t.name));
  }
  if (!t.name.empty() && graph_[t.value].name.empty()) graph_.set_name(t.value, std::string(t.name));
  kept_.find(shared->key)->second.next = t.value;
  updated_.emplace_back(shared->key);
  return {};
}

Status Importer::custom(const Operation& op, Tensors& tensors) {
  const Where where = graph_.add_place(op.places ? op.places->place() : std::string());
  ImportCall call(graph_, op, tensors, where, integers_);
  NNEX_TRY(call.read());
  if (const OpDef* row = row_of_custom(op.declaration->name)) return import_row(call, *row);
  const bool list = op.results.size() == 1 && op.results[0].is_list();
  const auto results = list ? op.results[0].items() : op.results;
  auto custom = std::make_shared<CustomNode>();
  custom->name = op.declaration->name;
  custom->attrs = std::move(call.attrs);
  custom->host = options_.custom_operators.find("", custom->name);
  const bool has_rule = custom->host && custom->host->infer;
  const NodeId id = call.b.node(custom_op(), std::move(call.in), results.size(), nullptr);
  graph_.set_custom(id, std::move(custom));
  for (size_t i = 0; i < results.size(); ++i) {
    TensorInfo& t = tensors[results[i].tensor()];
    t.value = graph_[id].out[i];
    graph_.set_type(t.value, Type::tensor(element(t.type)));
    if (!t.name.empty()) graph_.set_name(t.value, std::string(t.name));
  }
  if (!has_rule) return {};
  Inference inference(graph_, Inference::Few::nodes);
  for (ValueId v : graph_[id].in)
    if (v.valid()) inference.bind(v, graph_[v].type);
  NNEX_TRY(inference.node(id));
  for (const auto& result : results) {
    TensorInfo& t = tensors[result.tensor()];
    const Type& found = inference.type(t.value);
    graph_.set_type(t.value, found);
    const auto shape = found.is_tensor() ? concrete(found) : std::nullopt;
    if (!shape) continue;
    t.shaped = true;
    t.extents.assign(shape->begin(), shape->end());
  }
  return {};
}

/// What a fragment made of other operations has no name before.
void Importer::assigned(std::string_view name, TensorId id, Tensors& tensors) {
  const ValueId v = tensors[id].value;
  if (v.valid() && graph_[v].name.empty() && graph_[v].producer.valid()) graph_.set_name(v, std::string(name));
}

/// A value that carries exactly this name, for a result: a copy where the value has another already.
ValueId Importer::named_result(ValueId v, const std::string& name) {
  const ValueDef& def = graph_[v];
  if (def.name == name && !def.is_constant()) return v;
  const Type type = def.type;
  Builder b(graph_, kMain);
  const ValueId copy = b("copy", {v});
  graph_.set_type(copy, type);
  graph_.set_name(copy, name);
  return copy;
}

/// Updated variables, which stand in the graph as constants so far, become its last parameters; what they become, its
/// last results.
void Importer::make_states(std::vector<ValueId>& results) {
  std::vector<ValueId> next;
  std::map<uint32_t, ValueId> params;  // by the constants that they were
  for (const std::string& key : updated_) {
    const Kept& kept = kept_.find(key)->second;
    const ValueDef& variable = graph_[kept.value];
    graph_.states.push_back({kept.label, variable.constant});
    const ValueId param = graph_.add_param(kMain, variable.name, variable.type);
    graph_.replace_uses(kept.value, param);
    params.emplace(kept.value.n, param);
    next.push_back(kept.next);
  }
  // Another variable's old value may be what one becomes: swaps read parameters.
  results.insert(results.end(), next.begin(), next.end());
  for (ValueId& v : results)
    if (const auto param = params.find(v.n); param != params.end()) v = param->second;
}

/// The labels of variables that stand in the graph as constants, for writers.
void Importer::note_variables() {
  auto& labels = graph_.provenance.nnef->labels;
  for (const auto& [key, kept] : kept_)
    if (!kept.next.valid()) labels.emplace(graph_[kept.value].name, kept.label);
}

void Importer::end(std::span<const TensorId> results, Tensors& tensors) {
  note_variables();
  std::vector<ValueId> values;
  for (TensorId id : results) values.push_back(tensors[id].value);
  const size_t own = values.size();
  make_states(values);
  for (size_t i = 0; i < own && i < result_names_.size(); ++i) values[i] = named_result(values[i], result_names_[i]);
  graph_.set_results(kMain, std::move(values));
}

// ---- Weights for networks that come without

Result<Tensor> seeded_weights(const VariableRequest& request, uint64_t seed) {
  constexpr int64_t kMax = int64_t{1} << 31;
  const auto count = Shape(request.extents).checked_count();
  if (!count || *count > kMax)
    return Error(Code::limit, fmt::format("{} holds more than {} numbers", text(request.extents), kMax));
  NNEX_ASSIGN(Tensor t, Tensor::make(element_type(request.type), Shape(request.extents)));
  const std::string key = label_key(request.label);
  uint64_t state = seed ^ 0x9e3779b97f4a7c15u;
  for (char c : key) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  const auto unit = [&state] {  // splitmix64: 53 bits in (0, 1)
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  };
  if (request.type != ItemType::scalar) {
    for (int64_t i = 0; i < t.count(); ++i) set_int(t, i, unit() < 0.5);
    return t;
  }
  const Ints& e = request.extents;
  double inputs = 1;
  for (size_t i = 1; i < e.size(); ++i) inputs *= static_cast<double>(e[i]);
  const bool vector = e.size() < 2 || (e.size() == 2 && e[0] == 1);
  const auto called = [&](std::string_view word) { return key.find(word) != std::string::npos; };
  const double middle = called("var") || called("scale") || called("gamma") ? 1 : 0;
  const double reach = vector ? 0.1 : std::sqrt(6 / inputs);
  for (float& v : t.mutable_as<float>()) v = static_cast<float>(middle + reach * (2 * unit() - 1));
  return t;
}

}  // namespace nnex::nnef_format
