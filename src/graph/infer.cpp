#include "graph/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/failure.h"
#include "base/function_ref.h"
#include "graph/custom.h"
#include "graph/verify.h"
#include "graph/work.h"
#include "ops/call.h"
#include "ops/infer_call.h"
#include "tensor/text_bytes.h"

namespace nnex {
namespace {

constexpr int64_t kSmall = 256;         ///< Elements of a content worth carrying.
constexpr int64_t kLongestText = 4096;  ///< Bytes of one of its texts.
constexpr double kSteps = 1 << 20;      ///< Of one node: contents are not worth more.
constexpr int64_t kConstant = 65536;    ///< Elements of a constant whose values a rule may ask for.

const Port& port_at(const auto& ports, size_t i) { return ports[std::min(i, ports.size() - 1)]; }

std::string type_names(Types allowed) {
  std::string out;
  for (int t = 1; t < kDTypes; ++t)
    if (allowed & only(static_cast<DType>(t)))
      out += (out.empty() ? "" : " ") + std::string(name(static_cast<DType>(t)));
  return out;
}

std::optional<Dims> dims_in(const Tensor* t) {
  if (!t || t->count() > kConstant) return std::nullopt;
  if (t->dtype() == kDimType) return Dims(t->as<Dim>().begin(), t->as<Dim>().end());
  if (!is_int(t->dtype()) && t->dtype() != DType::boolean) return std::nullopt;
  Dims out;
  out.reserve(static_cast<size_t>(t->count()));
  for (int64_t i = 0; i < t->count(); ++i) out.emplace_back(int_at(*t, i));
  return out;
}

/// Formulas as a tensor: of the element type itself where every one is a number.
std::optional<Tensor> tensor_of(const Dims& dims, DType type, const Shape& shape) {
  bool numbers = std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_number(); });
  auto t = Tensor::make(numbers ? type : kDimType, shape);
  if (!t.ok() || t->count() != static_cast<int64_t>(dims.size())) return std::nullopt;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (numbers)
      set_int(*t, static_cast<int64_t>(i), dims[i].value());
    else
      t->mutable_as<Dim>()[i] = dims[i];
  }
  return std::move(t).value();
}

/// What inference found, made sharper by what the model declares where inference knows less.
Type refined(Type found, const Type& declared) {
  if (found.kind == Kind::unknown) return declared;
  if (found.is_tensor() && found.dtype == DType::none) {
    if (declared.kind != Kind::unknown && !declared.is_tensor()) return declared;
    found.dtype = declared.dtype;
  }
  if (!found.is_tensor() || !declared.is_tensor() || !declared.dims) return found;
  if (!found.dims) return Type::tensor(found.dtype, declared.dims);
  if (found.dims->size() != declared.dims->size()) return found;
  for (size_t i = 0; i < found.dims->size(); ++i)
    if ((*found.dims)[i].has_unknown() && !(*declared.dims)[i].has_unknown()) (*found.dims)[i] = (*declared.dims)[i];
  return found;
}

}  // namespace

class Inference::NodeCall : public InferCall {
 public:
  NodeCall(Inference& inference, const Node& node) : inference_(inference), node_(node) {
    op_ = node.op, attrs_ = node.attrs.get();
    in_.reserve(node.in.size()), out_.reserve(node.out.size());
    for (ValueId v : node.in) in_.push_back(v.valid() ? &inference.type(v) : nullptr);
    results_.resize(node.out.size());
    contents_.resize(node.out.size());
    for (size_t o = 0; o < node.out.size(); ++o) out_.push_back(node.out[o].valid() ? &results_[o] : nullptr);
    for (size_t o = 0; o < node.out.size(); ++o)
      if (out_[o] && !port_at(op_->outputs, o).type.any_value) results_[o] = Type::tensor(rule_type(o));
  }

  /// Rules, kernels and readers count on what the table says of ports, whoever made the node.
  Status check_ports() const {
    const auto& ports = op_->inputs;
    const auto& made = op_->outputs;
    const bool many = !ports.empty() && ports.back().arity == Arity::variadic;
    if (!many && in_.size() > ports.size())
      return error("found {} inputs; it takes at most {}", in_.size(), ports.size());
    for (size_t i = 0; i < std::max(ports.size(), in_.size()); ++i)
      if (const Port& port = port_at(ports, i); !has(i) && needed(port, i))
        return error("{} is missing (input {})", port.name, i);
    if (!(!made.empty() && made.back().arity == Arity::variadic) && out_.size() > made.size())
      return error("found {} outputs; it has at most {}", out_.size(), made.size());
    if (node_.blocks.size() != op_->blocks.size() && op_->blocks.size() > 0)
      return error("found {} blocks; needed {}", node_.blocks.size(), op_->blocks.size());
    return check_blocks(inference_.graph_, node_);
  }

  Status check_types() const {
    for (size_t i = 0; i < in_.size(); ++i) {
      if (!in_[i]) continue;
      const Port& port = port_at(op_->inputs, i);
      if (port.type.any_value || in_[i]->kind == Kind::unknown) continue;
      if (!in_[i]->is_tensor()) return error("{} is a {}; needed a tensor", port.name, in_[i]->text());
      if (in_[i]->dtype == DType::none) continue;
      if (!port.type.same.empty())
        NNEX_TRY(check_same(i, port));
      else if (!(port.type.allowed & only(in_[i]->dtype)))
        return error("{} has elements of type {}; allowed: {}", port.name, name(in_[i]->dtype),
                     type_names(port.type.allowed));
      else if (port.arity == Arity::variadic && i > 0 && in_[i - 1] && in_[i - 1]->dtype != DType::none &&
               in_[i - 1]->dtype != in_[i]->dtype && op_->inputs.size() == 1)
        return error("items have elements of types {} and {}; needed one type", name(in_[i - 1]->dtype),
                     name(in_[i]->dtype));
    }
    return {};
  }

  std::optional<Dims> values(size_t i) override {
    return has(i) ? dims_in(inference_.content(node_.in[i])) : std::nullopt;
  }

  const Tensor* constant(size_t i) override {
    const Tensor* t = has(i) ? inference_.content(node_.in[i]) : nullptr;
    return t && t->dtype() != kDimType ? t : nullptr;
  }

  Result<std::vector<Type>> block(size_t b, std::span<const Type> params, std::span<const Tensor> contents) override {
    const Block& block = inference_.graph_[node_.blocks[b]];
    if (params.size() != block.params.size())
      return error("{} takes {} values; it is given {}", op_->blocks[b], block.params.size(), params.size());
    for (size_t i = 0; i < params.size(); ++i)
      inference_.bind(block.params[i], refined(params[i], inference_.graph_[block.params[i]].type));
    for (size_t i = 0; i < contents.size() && i < params.size(); ++i)
      if (contents[i].count()) inference_.bind_content(block.params[i], contents[i]);
    ++inference_.nesting_;
    Status s = inference_.block(node_.blocks[b]);
    --inference_.nesting_;
    NNEX_TRY(std::move(s));
    std::vector<Type> out;
    for (ValueId v : block.results) out.push_back(inference_.type(v));
    return out;
  }

  const Tensor* block_content(size_t b, size_t i) override {
    const Block& block = inference_.graph_[node_.blocks[b]];
    return i < block.results.size() ? inference_.content(block.results[i]) : nullptr;
  }

  int nesting() const override { return inference_.nesting_; }

  void result_values(size_t o, Dims elements) override {
    if (!wants(o) || elements.size() > kSmall || !results_[o].dims) return;
    auto shape = shape_of(*results_[o].dims);
    if (shape) contents_[o] = tensor_of(elements, results_[o].dtype, *shape);
  }

  /// Whether what the rule said can be; what cannot is forgotten.
  Status check_results() {
    for (size_t o = 0; o < results_.size(); ++o) {
      if (!out_[o] || !results_[o].is_tensor() || !results_[o].dims) continue;
      Status s = check_extents(o, results_[o]);
      const TypeRule& rule = port_at(op_->outputs, o).type;
      if (s.ok() && !rule.from.empty() && results_[o].dtype != DType::none && !(rule.allowed & only(results_[o].dtype)))
        s = error("{} cannot have elements of type {}; allowed: {}", port_at(op_->outputs, o).name,
                  name(results_[o].dtype), type_names(rule.allowed));
      if (s.ok()) continue;
      results_[o].dims.reset();
      contents_[o].reset();
      return s;
    }
    return {};
  }

  /// Whether what a host said of its operator's outputs can be what the graph says.
  Status check_declared() {
    for (size_t o = 0; o < results_.size(); ++o) {
      if (!out_[o]) continue;
      Type declared = inference_.graph_[node_.out[o]].type;
      declared.dims.reset();  // extents may differ from one turn of a loop to the next
      if (agree(results_[o], declared)) continue;
      Type said = std::exchange(results_[o], Type{});
      return failure(Code::invalid_model, "{}: output {} is {}; its shape rule says {}", operator_name(node_), o,
                     declared.text(), said.text());
    }
    return {};
  }

  void finish() {
    for (size_t o = 0; o < results_.size(); ++o) {
      if (!out_[o]) continue;
      inference_.fact(node_.out[o]) = {refined(std::move(results_[o]), inference_.graph_[node_.out[o]].type),
                                       std::move(contents_[o])};
    }
  }

 private:
  /// Whether input i, which is absent, must be there: of a variadic port every item that is counted.
  bool needed(const Port& port, size_t i) const {
    return port.arity == Arity::variadic ? i < in_.size() : port.arity == Arity::one;
  }

  Status check_same(size_t i, const Port& port) const {
    int other = op_->input(port.type.same);
    if (other < 0 || !has(static_cast<size_t>(other))) return {};
    const Type& t = in(static_cast<size_t>(other));
    if (!t.is_tensor() || t.dtype == DType::none || t.dtype == in_[i]->dtype) return {};
    return error("{} has elements of type {}, {} of type {}; needed one type", port.type.same, name(t.dtype), port.name,
                 name(in_[i]->dtype));
  }

  Inference& inference_;
  const Node& node_;
  std::vector<Type> results_;
  std::vector<std::optional<Tensor>> contents_;
};

namespace {

/// Whether the graph's own type of a value counts from the start.
bool is_given(const ValueDef& v) { return v.is_constant() || v.param_of == kMain; }

}  // namespace

Inference::Inference(const ir::Graph& graph, uint32_t first) : graph_(graph), first_(first) { grow(); }
Inference::~Inference() = default;

Inference::Fact& Inference::sparse_fact(ValueId v) const {
  const auto [it, fresh] = few_.try_emplace(v.n);
  if (fresh && is_given(graph_[v])) it->second.type = graph_[v].type;
  return it->second;
}

void Inference::grow() {
  if (sparse_) return;
  const auto known = first_ + static_cast<uint32_t>(facts_.size());
  facts_.resize(graph_.value_count() - first_);
  for (uint32_t n = known; n < graph_.value_count(); ++n) {
    const ValueDef& v = graph_[ValueId{n}];
    if (is_given(v)) fact(ValueId{n}).type = v.type;
  }
}

const Tensor* Inference::content(ValueId v) const {
  if (const Tensor* t = graph_[v].constant.tensor()) return t;
  return v.n >= first_ && fact(v).content ? &*fact(v).content : nullptr;
}

namespace {

bool is_word_of(std::string_view word, std::string_view text) {
  const auto part = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

/// An error that names inputs as the table does, with what the model calls them, and their types: "matmul: x has rows
/// of 63; ... (x: 'a' f32[2,63])". A standard whose words the table has needs none of it.
Error in_model_words(Error e, const Node& node, std::string_view place, FunctionRef<std::string(ValueId)> described) {
  if (!place.starts_with("node ")) return e;
  std::string known;
  for (size_t i = 0; i < node.in.size() && i < node.op->inputs.size(); ++i) {
    const Port& port = node.op->inputs[i];
    if (!node.in[i].valid() || port.arity == Arity::variadic || !is_word_of(port.name, e.message())) continue;
    known += fmt::format("{}{}: {}", known.empty() ? "" : ", ", port.name, described(node.in[i]));
  }
  if (known.empty()) return e;
  std::string text = fmt::format("{} ({})", e.message(), known);
  return std::move(e).worded(std::move(text));
}

}  // namespace

Status Inference::node(NodeId id) {
  const Node& node = graph_[id];
  NodeCall call(*this, node);
  if (node.op == &custom_op() || node.op == &call_op()) {
    Status s = has_host(node) ? infer_custom(node, call) : Status();
    if (s.ok()) s = call.check_declared();
    call.finish();
    if (!s.ok()) return placed(std::move(s).error(), node, graph_.place_of(id));
    return {};
  }
  Status s = call.check_ports();
  if (s.ok()) s = call.check_types();
  if (s.ok() && node.op->infer) s = node.op->infer(call);
  if (s.ok()) s = call.check_results();
  call.finish();
  if (!s.ok()) {
    const auto described = [&](ValueId v) {
      const std::string& name = graph_[v].name;
      const std::string text = (graph_[v].is_constant() ? type_of(graph_[v].constant) : type(v)).text();
      return name.empty() ? text : fmt::format("'{}' {}", name, text);
    };
    return in_model_words(std::move(s).error(), node, graph_.place_of(id), described).at(graph_.place_of(id));
  }
  propagate(node);
  return {};
}

Status Inference::block(BlockId id) {
  for (NodeId n = graph_[id].first; n.valid(); n = graph_[n].next) NNEX_TRY(node(n));
  return {};
}

void Inference::block(BlockId id, Faults& faults) {
  for (NodeId n = graph_[id].first; n.valid(); n = graph_[n].next) faults.check(node(n));
}

void Inference::propagate(const Node& node) {
  if (!node.op->pure || !node.blocks.empty() || !node.op->reference || node.in.empty() || node.in.size() > 64) return;
  for (ValueId v : node.out)
    if (v.valid() && fact(v).content) return;  // the rule said it itself
  std::vector<const Tensor*> in;
  bool formulas = false;
  for (ValueId v : node.in) {
    const Tensor* t = v.valid() ? content(v) : nullptr;
    if (v.valid() && (!t || t->count() > kSmall)) return;
    if (t && t->dtype() == kDimType) formulas = true;
    in.push_back(t);
  }
  const int64_t longest = longest_text(in);
  for (ValueId v : node.out) {
    if (!v.valid()) continue;
    auto shape = concrete(fact(v).type);
    if (!shape || shape->checked_count().value_or(kSmall + 1) > kSmall) return;
    if (fact(v).type.dtype == DType::str && longest > kLongestText) return;
  }
  if (steps_bound(node, [&](ValueId v) -> const Type& { return type(v); }) > kSteps) return;
  if (formulas)
    propagate_formulas(node, in);
  else
    propagate_numbers(node, in);
}

void Inference::propagate_numbers(const Node& node, std::span<const Tensor* const> in) {
  std::vector<Value> held(in.size()), made(node.out.size());
  std::vector<const Value*> inputs;
  std::vector<Value*> outputs;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i]) {
      auto aligned = in[i]->aligned_copy();
      if (!aligned.ok()) return;
      held[i] = std::move(aligned).value();
    }
    inputs.push_back(in[i] ? &held[i] : nullptr);
  }
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (node.out[o].valid()) {
      const Type& t = fact(node.out[o]).type;
      auto ready = Tensor::make(t.dtype, *concrete(t));
      if (!ready.ok()) return;
      made[o] = std::move(ready).value();
    }
    outputs.push_back(node.out[o].valid() ? &made[o] : nullptr);
  }
  Call call(*node.op, node.attrs.get(), inputs, outputs);
  if (!run_reference(call).ok()) return;  // the run will say what is wrong with the data
  for (size_t o = 0; o < node.out.size(); ++o)
    if (node.out[o].valid() && made[o].tensor()) keep(node.out[o], *made[o].tensor());
}

void Inference::propagate_formulas(const Node& node, std::span<const Tensor* const> in) {
  const OpDef& op = *node.op;
  if (!has_reference(op, kDimType) || op.reference.choice == Reference::Choice::any) return;
  const size_t chooser = static_cast<size_t>(op.reference.port);
  std::string_view chosen = port_at(op.inputs, chooser).name;
  std::vector<Value> held(in.size()), made(node.out.size());
  std::vector<const Value*> inputs;
  std::vector<Value*> outputs;
  for (size_t i = 0; i < in.size(); ++i) {
    inputs.push_back(in[i] ? &held[i] : nullptr);
    if (!in[i]) continue;
    const Port& port = port_at(op.inputs, i);
    const bool formula = port.name == chosen || port.type.same == chosen;
    if (formula == (in[i]->dtype() == kDimType)) {
      auto aligned = in[i]->aligned_copy();
      if (!aligned.ok()) return;
      held[i] = std::move(aligned).value();
      continue;
    }
    auto dims = dims_in(in[i]);
    auto t = dims && formula ? Tensor::make(kDimType, in[i]->shape())
                             : Result<Tensor>(Error(Code::internal, "a formula where a number is needed"));
    if (!t.ok()) return;
    std::copy(dims->begin(), dims->end(), t->mutable_as<Dim>().begin());
    held[i] = std::move(t).value();
  }
  for (size_t o = 0; o < node.out.size(); ++o) {
    outputs.push_back(node.out[o].valid() ? &made[o] : nullptr);
    if (!node.out[o].valid()) continue;
    const Type& t = fact(node.out[o]).type;
    const TypeRule& rule = port_at(op.outputs, o).type;
    auto ready = Tensor::make(rule.from.empty() && rule.same == chosen ? kDimType : t.dtype, *concrete(t));
    if (!ready.ok()) return;
    made[o] = std::move(ready).value();
  }
  Call call(op, node.attrs.get(), inputs, outputs);
  if (!run_reference(call).ok()) return;
  for (size_t o = 0; o < node.out.size(); ++o)
    if (node.out[o].valid() && made[o].tensor()) keep(node.out[o], *made[o].tensor());
}

void Inference::keep(ValueId v, const Tensor& content) {
  if (content.dtype() != kDimType) {
    fact(v).content = content;
    return;
  }
  for (const Dim& d : content.as<Dim>())
    if (d.overflowed()) return;  // integers wrap: the run knows what it is
  fact(v).content =
      tensor_of(Dims(content.as<Dim>().begin(), content.as<Dim>().end()), fact(v).type.dtype, content.shape());
}

void infer_types(ir::Graph& graph, Faults& faults) {
  Inference inference(graph);
  inference.block(kMain, faults);
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (!v.is_constant() && inference.type(ValueId{n}).kind != Kind::unknown)
      graph.set_type(ValueId{n}, inference.type(ValueId{n}));
  }
}

std::optional<Shape> concrete(const Type& type) {
  if (!type.is_tensor() || !type.dims) return std::nullopt;
  auto shape = shape_of(*type.dims);
  return shape && shape->checked_count() ? shape : std::nullopt;
}

}  // namespace nnex
