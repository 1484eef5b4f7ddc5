#include "standards/webnn/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/faults.h"
#include "base/joined.h"
#include "graph/infer.h"
#include "ops/shape.h"
#include "passes/lower.h"
#include "passes/make_plain.h"
#include "passes/passes.h"
#include "standards/spelling.h"
#include "tensor/convert.h"
#include "webnn/call.h"
#include "webnn/ports.h"

namespace nnex::ml {
namespace {

/// The interface's type for an engine's: truth values are bytes.
std::optional<DataType> stored_as(DType type) {
  return type == DType::boolean ? std::optional(DataType::uint8) : data_type_of(type);
}

/// Whether a value is what the IDL puts where nothing is given.
bool is_standard(const Param& p, const ProgramValue& v) {
  const auto* a = std::get_if<AttrValue>(&v);
  if (p.standard.empty() || !a) return false;
  if (auto* b = std::get_if<bool>(a)) return p.standard == (*b ? "true" : "false");
  if (auto* s = std::get_if<std::string>(a)) return p.standard == *s;
  const auto standard = idl::to_number(std::string(p.standard), p.name);
  if (auto* i = std::get_if<int64_t>(a)) return *standard == static_cast<double>(*i);
  if (auto* x = std::get_if<double>(a)) return *standard == *x;
  return false;
}

/// Types become words of the interface.
ProgramValue in_words(AttrValue v) {
  if (auto* type = std::get_if<DType>(&v)) {
    const auto stored = stored_as(*type);
    return AttrValue(std::string(stored ? name(*stored) : nnex::name(*type)));
  }
  return v;
}

Ints concrete_extents(const ir::Graph& graph, ValueId v) {
  if (const nnex::Tensor* t = graph[v].constant.tensor()) return Ints(t->shape().begin(), t->shape().end());
  const auto shape = concrete(graph[v].type);
  return shape ? Ints(shape->begin(), shape->end()) : Ints{};
}

bool is_tensor_of_numbers(const ir::Graph& graph, ValueId v) {
  const nnex::Tensor* t = graph[v].constant.tensor();
  return t ? stored_as(t->dtype()).has_value()
           : graph[v].type.is_tensor() && stored_as(graph[v].type.dtype) && concrete(graph[v].type);
}

nnex::Status infer(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// Shapes whose extents are numbers become constants, and what is computed of them with them.
nnex::Status fold_shapes(ir::Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& n = graph[id];
    const auto extents = n.op->name == "shape" ? concrete(graph[n.in[0]].type) : std::nullopt;
    if (!extents) continue;
    const auto& a = graph.attrs<ShapeAttrs>(n);
    const int64_t rank = extents->rank();
    const auto place = [&](int64_t i) { return std::clamp(i < 0 ? i + rank : i, int64_t{0}, rank); };
    const int64_t from = place(a.start), to = std::max(from, place(a.end.value_or(rank)));
    const Ints kept(extents->begin() + from, extents->begin() + to);
    const ValueId y = graph.add_constant(nnex::Tensor::of(nnex::Shape{to - from}, kept));
    graph.set_type(y, graph[n.out[0]].type);
    graph.replace_uses(n.out[0], y);
    graph.erase(id);
  }
  NNEX_TRY(passes::fold_but_bytes(graph));
  NNEX_TRY(passes::drop_unused(graph));
  return infer(graph);
}

}  // namespace

Named::Named(std::string_view n, ProgramValue v) : name(n), value(std::move(v)) {}

// ---- Operands

Ints Writer::shape(Ref r) const {
  if (!r.valid()) return {};
  const auto& s = descriptor(r).shape;
  return Ints(s.begin(), s.end());
}

Ints Writer::extents(ValueId v) const { return concrete_extents(graph_, v); }

void Writer::refuse(std::string reason) {
  if (!failed_) reason_ = std::move(reason);
  failed_ = true;
}

Ref Writer::add(ProgramOperand operand) {
  if (const Status s = player_.add(operand); !s.ok()) {
    refuse(s.error().message);
    return {};
  }
  program_.operands.push_back(std::move(operand));
  wanted_.emplace_back();
  return {static_cast<int32_t>(program_.operands.size()) - 1};
}

void Writer::know(ValueId v, Ref r) {
  values_[v.n] = r;
  known_.push_back(v.n);
}

Ref Writer::of(ValueId v) {
  if (const auto known = values_.find(v.n); known != values_.end()) return known->second;
  const nnex::Tensor* t = graph_[v].constant.tensor();
  if (!t) {
    follows_ = !failed_ || follows_;
    refuse("it reads what cannot be said");
    return {};
  }
  const Ref r = constant(*t, graph_[v].name);
  if (r.valid()) know(v, r);
  return r;
}

Ref Writer::constant(const nnex::Tensor& content, std::string name) {
  if (failed_) return {};
  const auto type = stored_as(content.dtype());
  if (!type) {
    refuse(fmt::format("a constant is {}; WebNN has no such type", nnex::name(content.dtype())));
    return {};
  }
  ProgramOperand o;
  o.descriptor.dataType = *type;
  for (int64_t extent : content.shape()) {
    if (extent < 1 || extent > kMaxDimension) {
      refuse(fmt::format("a constant has extent {}", extent));
      return {};
    }
    o.descriptor.shape.push_back(static_cast<uint32_t>(extent));
  }
  o.role = OperandState::Role::constant;
  o.content = content;
  if (content.dtype() == DType::boolean) {
    auto bytes = convert(content, DType::u8);
    if (!bytes.ok()) {
      refuse(bytes.error().text());
      return {};
    }
    o.content = std::move(bytes).value();
  }
  const Ref r = add(std::move(o));
  if (r.valid()) wanted_.back() = std::move(name);
  return r;
}

Ref Writer::scalar(DataType type, double value) { return constant(cast_number(type, value)); }

std::vector<Ref> Writer::calls(std::string_view operation, std::vector<Named> args) {
  if (failed_) return {};
  ProgramCall c;
  c.method = find_method(operation);
  NNEX_ASSERT(c.method);
  c.label = label_;
  c.values.resize(c.method->params.size() + c.method->options->members.size());
  for (Named& a : args) {
    const int at = param_index(*c.method, a.name);
    NNEX_ASSERT(at >= 0);
    if (auto* r = std::get_if<Ref>(&a.value); r && !r->valid()) continue;
    const auto i = static_cast<size_t>(at);
    if (i >= c.method->params.size() && is_standard(param_of(*c.method, i), a.value)) continue;
    c.values[i] = std::move(a.value);
  }
  const auto made = player_.call(c);
  if (!made.ok()) {
    refuse(made.error().message);
    return {};
  }
  for (const Operand& o : *made) {
    program_.operands.push_back({{}, {o.dataType(), o.shape()}, OperandState::Role::computed, {}});
    wanted_.emplace_back();
    c.results.push_back({static_cast<int32_t>(program_.operands.size()) - 1});
  }
  program_.calls.push_back(c);
  return c.results;
}

Ref Writer::reshaped(Ref r, const Ints& to) {
  if (failed_ || shape(r) == to) return r;
  const ProgramOperand& o = program_.operands[static_cast<size_t>(r.n)];
  if (o.role == OperandState::Role::constant) return constant(o.content.reshaped(nnex::Shape(to)));
  return call("reshape", {{"input", r}, {"newShape", AttrValue(to)}});
}

Ref Writer::cast(Ref r, DataType to) {
  if (failed_ || type(r) == to) return r;
  return call("cast", {{"input", r}, {"dataType", AttrValue(std::string(name(to)))}});
}

Ref Writer::transposed(Ref r, const Ints& axes) {
  bool same = true;
  for (size_t i = 0; i < axes.size(); ++i) same &= axes[i] == static_cast<int64_t>(i);
  if (failed_ || same) return r;
  return call("transpose", {{"input", r}, {"permutation", AttrValue(axes)}});
}

Ref Writer::sliced(Ref r, size_t axis, int64_t start, int64_t size) {
  Ints sizes = shape(r), starts(sizes.size());
  if (failed_ || sizes[axis] == size) return r;
  starts[axis] = start, sizes[axis] = size;
  return call("slice", {{"input", r}, {"starts", AttrValue(starts)}, {"sizes", AttrValue(sizes)}});
}

void Writer::give(ValueId v, Ref r) {
  if (failed_ || !v.valid() || !r.valid()) return;
  const auto wanted = stored_as(graph_[v].type.dtype);
  if (wanted != type(r) || extents(v) != shape(r))
    return refuse(fmt::format("it should give {}; WebNN gives {} [{}]", graph_[v].type.text(), name(type(r)),
                              joined(shape(r), ",")));
  know(v, r);
  if (std::string& name = wanted_[static_cast<size_t>(r.n)];
      name.empty() && program_.operands[static_cast<size_t>(r.n)].role == OperandState::Role::computed)
    name = graph_[v].name;
}

// ---- The program

nnex::Status Writer::inputs() {
  if (!graph_.states.empty())
    return nnex::Error(Code::unsupported,
                       fmt::format("the model keeps '{}' from run to run; WebNN has no state", graph_.states[0].label));
  for (ValueId v : graph_.inputs()) {
    const ValueDef& def = graph_[v];
    const auto type = def.type.is_tensor() ? stored_as(def.type.dtype) : std::nullopt;
    if (!type)
      return nnex::Error(Code::unsupported,
                         fmt::format("input '{}' is {}; WebNN has no such tensor", def.name, def.type.text()));
    if (nnex::Status open = needs_numbers("WebNN", graph_); !open.ok()) return open;
    ProgramOperand o;
    o.name = def.name;
    o.descriptor.dataType = *type;
    for (int64_t extent : extents(v)) o.descriptor.shape.push_back(static_cast<uint32_t>(extent));
    o.role = OperandState::Role::input;
    const Ref r = add(std::move(o));
    if (failed_) return nnex::Error(Code::unsupported, reason_);
    wanted_.back() = def.name;
    values_[v.n] = r;
  }
  return {};
}

void Writer::node(NodeId id) {
  const Node& n = graph_[id];
  label_ = graph_.place_of(id);
  if (n.custom || !n.op) return refuse("an operation of another domain");
  if (!n.blocks.empty()) return refuse(fmt::format("{}: WebNN has no control flow", n.op->name));
  for (ValueId v : n.out)
    if (v.valid() && !is_tensor_of_numbers(graph_, v))
      return refuse(fmt::format("{}: a result is {}; {}", n.op->name, graph_[v].type.text(),
                                !graph_[v].type.is_tensor() ? "WebNN has tensors alone"
                                : concrete(graph_[v].type)  ? "WebNN has no such tensor"
                                                            : "WebNN needs known extents"));
  if (std::none_of(n.out.begin(), n.out.end(), [](ValueId v) { return v.valid(); })) return;
  RowNode w{*this, n, {n.op, n.attrs.get(), n.in, {}}, nullptr};
  if (n.op->attrs.copy) {
    w.attrs = n.op->attrs.copy(n.attrs.get());
    w.plain.attrs = w.attrs.get();
  }
  const RowWriter row = find_row(n.op->name);
  (row ? row : plain_row)(w);
  for (size_t i = 0; i < n.out.size() && !failed_; ++i)
    if (w.wants(i) && !values_.count(n.out[i].n)) refuse(fmt::format("{}: result {} is read", n.op->name, i));
}

/// Names stay where the graph has them; an output that is an input or a constant has a value of its own.
void Writer::outputs() {
  std::set<std::string> taken;
  for (ValueId v : graph_.outputs()) {
    Ref r = of(v);
    if (failed_) return;
    if (program_.operands[static_cast<size_t>(r.n)].role != OperandState::Role::computed)
      r = call("identity", {{"input", r}});
    std::string name = graph_[v].name.empty() ? fmt::format("output{}", program_.outputs.size()) : graph_[v].name;
    for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", graph_[v].name, i);
    program_.outputs.emplace_back(std::move(name), r);
  }
}

void Writer::name_operands() {
  std::set<std::string> taken;
  for (const ProgramOperand& o : program_.operands)
    if (o.role == OperandState::Role::input) taken.insert(o.name);
  for (size_t i = 0; i < program_.operands.size(); ++i) {
    ProgramOperand& o = program_.operands[i];
    if (o.role == OperandState::Role::input) continue;
    const std::string base =
        !wanted_[i].empty() ? wanted_[i] : fmt::format("{}{}", o.role == OperandState::Role::constant ? "c" : "t", i);
    o.name = base;
    for (int k = 1; !taken.insert(o.name).second; ++k) o.name = fmt::format("{}_{}", base, k);
  }
}

nnex::Status Writer::write(std::vector<Unwritable>& refused) {
  NNEX_TRY(inputs());
  for (NodeId id : graph_.order()) {
    failed_ = follows_ = false;
    known_.clear();
    node(id);
    if (!failed_) continue;
    for (uint32_t v : known_) values_.erase(v);
    if (!follows_) refused.push_back({id, reason_});
  }
  failed_ = follows_ = false;
  label_.clear();
  outputs();
  if (failed_ && refused.empty()) return nnex::Error(Code::unsupported, fmt::format("an output: {}", reason_));
  name_operands();
  return {};
}

// ---- Rows as the table has them

bool RowNode::wants(size_t i) const {
  return i < node.out.size() && node.out[i].valid() && !graph()[node.out[i]].uses.empty();
}
AttrValue RowNode::get(std::string_view field) const {
  const Field* f = node.op->attrs.find(field);
  return f ? f->get(attrs.get()) : AttrValue();
}
void RowNode::set(std::string_view field, const AttrValue& value) {
  const Field* f = node.op->attrs.find(field);
  NNEX_ASSERT(f && f->set(attrs.get(), value));
}
void RowNode::reset(std::string_view field) {
  if (const Field* f = node.op->attrs.find(field)) f->set(attrs.get(), f->get(node.op->attrs.make().get()));
}

AttrValue number_of(const nnex::Tensor* t) {
  if (!t || t->count() != 1) return {};
  if (is_real(t->dtype())) return real_at(*t, 0);
  if (!is_int(t->dtype())) return {};
  const int64_t i = int_at(*t, 0);
  if (t->dtype() == DType::u64 && i < 0) return fmt::format("{}n", static_cast<uint64_t>(i));
  return i;
}

void plain_row(RowNode& w) {
  // Truth values are bytes of 0 and 1.
  if (auto result = w.get("result"); std::holds_alternative<DType>(result) && std::get<DType>(result) == DType::boolean)
    w.set("result", DType::u8);
  std::string reasons;
  for (const Spelling& s : w.node.op->spelled) {
    if (s.format != Format::webnn) continue;
    const Method& m = *find_method(s.name);
    const auto is_operand = [&](std::string_view name) {
      const int at = param_index(m, name);
      return at >= 0 && (param_of(m, static_cast<size_t>(at)).kind == ArgKind::operand ||
                         param_of(m, static_cast<size_t>(at)).kind == ArgKind::operands);
    };
    const auto u = export_spelling(
        w.graph(), w.plain, s, [&](std::string_view name) { return param_index(m, name) >= 0 && !is_operand(name); });
    if (!u.ok()) {
      reasons += (reasons.empty() ? "" : "; ") + u.error().message();
      continue;
    }
    std::vector<Named> args;
    size_t place = 0;
    for (size_t i = 0; i < m.params.size() + m.options->members.size(); ++i) {
      const Param& p = param_of(m, i);
      if (p.kind == ArgKind::operands) {
        std::vector<Ref> all;
        for (size_t k = 0; k < w.node.in.size(); ++k) all.push_back(w.in(k));
        args.emplace_back(p.name, std::move(all));
      } else if (p.kind == ArgKind::operand) {
        const size_t port = port_of(*w.node.op, s, p.name, place++);
        if (w.given(port)) args.emplace_back(p.name, w.in(port));
      }
    }
    for (const auto& [name, value] : u->attrs)
      if (value.index() != 0) args.emplace_back(name, in_words(value));
    const std::vector<Ref> made = w.to.calls(s.name, std::move(args));
    for (size_t i = 0; i < made.size() && i < w.node.out.size(); ++i) w.to.give(w.node.out[i], made[i]);
    return;
  }
  w.refuse(fmt::format("{}: {}", w.row(), reasons.empty() ? "WebNN has no such operation" : reasons));
}

// ---- Graphs

nnex::Result<Program> to_program(ir::Graph& graph, const std::string& name) {
  if (graph.outputs().empty())
    return nnex::Error(Code::unsupported, "the network has no output; WebNN builds none without");
  NNEX_TRY(passes::make_plain(graph, passes::StoredCodes::keep));
  NNEX_TRY(fold_shapes(graph));
  for (int depth = 0; depth < 8; ++depth) {
    Writer writer(graph);
    std::vector<Unwritable> refused;
    NNEX_TRY(writer.write(refused));
    if (refused.empty()) {
      Program program = writer.take();
      program.name = !name.empty() ? name : graph.meta.graph_name;
      return program;
    }
    bool expanded = false;
    for (Unwritable& r : refused) {
      NNEX_ASSIGN(const bool lowered, passes::lower(graph, r.node, r.reason));
      expanded |= lowered;
    }
    NNEX_TRY(infer(graph));
    NNEX_ASSIGN(const int computed, passes::fold_constants(graph));  // codes, too, that WebNN has no words for
    if (!expanded && computed == 0) return cannot_say("WebNN", graph, refused);
    NNEX_TRY(passes::drop_unused(graph));
    NNEX_TRY(infer(graph));
  }
  return nnex::Error(Code::internal, "bodies of operators nested too deep");
}

}  // namespace nnex::ml
