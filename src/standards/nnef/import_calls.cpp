#include "standards/nnef/import_calls.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/loading.h"
#include "standards/nnef/check_call.h"
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

/// Calls f(arg) for every tensor among the arguments.
template <class F>
void each_tensor(std::span<const Arg> args, const F& f) {
  for (const Arg& a : args) {
    if (a.is_tensor()) f(a.tensor());
    if (a.is_list()) each_tensor(a.items(), f);
  }
}

/// Whether the importer knows every tensor among the arguments, and its shape.
bool is_known(std::span<const Arg> args, const Tensors& tensors) {
  bool known = true;
  each_tensor(args, [&](TensorId id) { known = known && tensors[id].shaped && tensors[id].value.valid(); });
  return known;
}

}  // namespace

void Importer::begin(const GraphHeader& header) {
  graph_.meta.graph_name = header.name;
  graph_.provenance.nnef.emplace().integers32 = header.integers32;
  fragments_ = !header.fragments.empty();
  if (header.integers32) integers_ = DType::i32;
  for (std::string_view p : header.parameters) params_.emplace(p, graph_.add_param(kMain, std::string(p), Type()));
  result_names_.assign(header.results.begin(), header.results.end());
}

/// After a fault nobody gets the graph: what follows is imported for its shapes and faults alone.
void Importer::operation(const Operation& op, Tensors& tensors, Faults& faults) {
  dry_ |= !faults.none();
  if (dry_ && (op.declaration->is_custom() || !is_known(op.args, tensors))) return;
  Status s = import_operation(op, tensors);
  if (!s.ok() && !(dry_ && s.error().code() == Code::unsupported)) faults.add(std::move(s).error());
  each_tensor(op.results, [&](TensorId id) {
    if (TensorInfo& t = tensors[id]; t.shaped && !t.value.valid()) stand_in(t);
  });
}

/// A value without content for a tensor that has a shape.
void Importer::stand_in(TensorInfo& t) {
  t.value = graph_.add_param(kMain, {}, tensor_type(element(t.type), t.extents));
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
      return failure(Code::invalid_model, "C7: item {} is {}; the document's integers have 32 bits", i, x);
  return convert(t, DType::i32);
}

Status Importer::import_operation(const Operation& op, Tensors& tensors) {
  NNEX_TRY(Loading::check());
  if (op.declaration->is_custom()) return custom(op, tensors);
  const OperationRow& row = operation_row(*op.declaration);
  if (!is_known(op.args, tensors)) return ImportCall(graph_, op, tensors, 0, row.rule, integers_, dry_).read();
  if (row.check) {
    CheckCall check(op, tensors, variables_, row.rule);
    NNEX_TRY(row.check(check));
  }
  if (integers_ == DType::i32) NNEX_TRY(check_integers32(op));
  const std::string_view name = op.declaration->name;
  if (const Introduce introduce = introducing(name)) return dry_ ? Status() : (this->*introduce)(op, tensors);
  ImportCall call(graph_, op, tensors, dry_ ? 0 : place_of(op, tensors), row.rule, integers_, dry_);
  NNEX_TRY(call.read());
  if (row.import_call) NNEX_TRY(row.import_call(call));
  if (!call.done) NNEX_TRY(call.plain());
  return call.status();
}

Importer::Introduce Importer::introducing(std::string_view name) {
  if (name == "external") return &Importer::introduce_external;
  if (name == "constant") return &Importer::introduce_constant;
  if (name == "variable") return &Importer::introduce_variable;
  return name == "update" ? &Importer::update : nullptr;
}

Where Importer::place_of(const Operation& op, const Tensors& tensors) {
  std::string place = op.places ? op.places->place() : std::string();
  if (!op.results.empty() && op.results[0].is_tensor() && !tensors[op.results[0].tensor()].name.empty())
    place.append(" '").append(tensors[op.results[0].tensor()].name).append("'");
  return graph_.add_place(std::move(place.append(" (").append(op.declaration->name).append(")")));
}

Status Importer::introduce_external(const Operation& op, Tensors& tensors) {
  TensorInfo& t = tensors[op.results[0].tensor()];
  auto param = params_.find(t.name);
  if (param == params_.end()) return op.fault("A3", fmt::format("external: '{}' is no parameter of the graph", t.name));
  t.value = param->second;
  graph_.set_type(t.value, tensor_type(element(t.type), t.extents));
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
    graph_.set_type(t.value, tensor_type(element(t.type), t.extents));
    graph_.set_name(t.value, std::string(t.name));
    return {};
  }
  NNEX_ASSIGN(Tensor content, Tensor::make(element(t.type), Shape(t.extents)));
  for (int64_t i = 0; i < content.count(); ++i) {
    const Arg& item = items[items.size() == 1 ? 0 : static_cast<size_t>(i)];
    if (auto* x = item.get<double>()) {
      if (Status s = check_real(*x); !s.ok()) return op.fault("L2", "constant: " + s.error().message());
      set_real(content, i, *x);
    } else if (auto* n = item.get<int64_t>()) {
      set_int(content, i, *n);
    } else if (auto* b = item.get<bool>()) {
      set_int(content, i, *b);
    }
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
    const std::string found = (e.where().empty() ? "" : e.where() + ": ") + e.message();
    Error out = op.fault({}, fmt::format("variable: '{}': {}", label, found), e.code()).helped_by(e.remedies());
    for (const std::string& task : e.tasks()) out = std::move(out).during(task);
    return out;
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
  if (integers_ == DType::i32) NNEX_TRY(check_integers32(op));
  const Where where = graph_.add_place(op.places ? op.places->place() : std::string());
  ImportCall call(graph_, op, tensors, where, {}, integers_, false);
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
    return failure(Code::limit, "{} holds more than {} numbers", text(request.extents), kMax);
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
