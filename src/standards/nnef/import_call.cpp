#include "standards/nnef/import_call.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/joined.h"
#include "ops/cast.h"
#include "standards/nnef/check_call.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

Type tensor_type(DType type, const Ints& extents) { return Type::tensor(type, Dims(extents.begin(), extents.end())); }

Status check_real(double x) {
  if (!std::isfinite(x) || std::isfinite(static_cast<float>(x))) return {};
  return failure(Code::invalid_model, "{:g} does not fit in a real of 32 bits, which tensors have", x);
}

Result<Tensor> literal_tensor(const Arg& arg, DType integers) {
  switch (arg.kind()) {
    case Arg::Kind::logical:
      return Tensor::scalar<bool>(arg.logical());
    case Arg::Kind::integer:
      if (integers == DType::i32) return Tensor::scalar<int32_t>(static_cast<int32_t>(arg.integer()));
      return Tensor::scalar<int64_t>(arg.integer());
    case Arg::Kind::scalar:
      NNEX_TRY(check_real(arg.scalar()));
      return Tensor::scalar<float>(static_cast<float>(arg.scalar()));
    default:
      return Error(Code::unsupported, "strings are no tensors here");
  }
}

namespace {

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

}  // namespace

Error ImportCall::error(std::string message, Code code) const {
  Error e(code, fmt::format("{}: {}", name(), message));
  return op.places ? op.places->placed(std::move(e)) : std::move(e);
}

/// "input [2,3,4], shape [5,5]": tensors and lists of the call, which the table's words are about.
std::string ImportCall::about() const {
  constexpr size_t kShown = 8;  ///< Of both, and of the items of a list.
  std::vector<std::string> all;
  const auto show = [&](std::string_view parameter, const Arg& a) {
    const bool ints = a.is_list() && !a.items().empty() && a.items()[0].is(Arg::Kind::integer);
    if (a.is_tensor() || (ints && a.items().size() <= kShown))
      all.push_back(fmt::format("{} {}", parameter, text(ints ? IntList(a).ints() : extents_of(a, tensors_))));
  };
  for (size_t i = 0; i < op.args.size(); ++i) {
    const std::string_view parameter = op.declaration->parameters[i].name;
    show(parameter, op.args[i]);
    const auto items = op.args[i].is_list() ? op.args[i].items() : std::span<const Arg>();
    for (size_t k = 0; k < items.size() && all.size() < kShown; ++k)
      show(fmt::format("{}[{}]", parameter, k), items[k]);
  }
  return all.empty() ? std::string() : fmt::format(" ({})", joined(all, ", "));
}

Error ImportCall::refused(const Error& e) const {
  const Code code = e.code() == Code::unsupported ? e.code() : Code::invalid_model;
  const std::string misfit = aligned_ ? misfit_text(op, tensors_) : std::string();
  if (!misfit.empty()) return op.fault(rule_, fmt::format("{}: {}", name(), misfit), code);
  std::string_view words = e.message();
  if (const size_t colon = words.find(": "); colon < words.find(' ')) words.remove_prefix(colon + 2);  // the row's name
  return op.fault(rule_, fmt::format("{}: {}{}{}", name(), words, hint, about()), code);
}

ValueId ImportCall::inferred(ValueId v) {
  Status s = infer(graph_[v].producer);
  if (status_.ok()) status_ = std::move(s);
  return v;
}

Status ImportCall::infer(NodeId id) {
  inference_.grow();
  NNEX_TRY(inference_.node(id));
  for (ValueId v : graph_[id].out)
    if (v.valid()) graph_.set_type(v, inference_.type(v));
  return {};
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
  if (!literal.ok() && literal.error().code() == Code::invalid_model)
    return op.fault("L2", fmt::format("{}: {}", op.declaration->name, literal.error().message()));
  if (!literal.ok()) return error(literal.error().message());
  in.push_back(b.constant(std::move(literal).value()));
  in_extents.emplace_back();
  return {};
}

Status ImportCall::read() {
  attrs.reserve(op.args.size());
  in.reserve(op.args.size());
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
  return make("cast", {v}, a);
}

ValueId ImportCall::known(std::string_view row, ValueId v, const Ints& list, const Ints& extents) {
  Type type = tensor_type(graph_[v].type.dtype, extents);
  const ValueId made = dry ? graph_.add_param(kMain, {}, type) : b(row, {v, b.ints(list)});
  inference_.grow();
  inference_.bind(made, type);
  graph_.set_type(made, std::move(type));
  return made;
}

ValueId ImportCall::trailing(ValueId v, const Ints& extents, size_t rank) {
  if (extents.empty() || extents.size() >= rank) return v;
  Ints axes, out = extents;
  for (size_t i = extents.size(); i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  out.resize(rank, 1);
  return known("unsqueeze", v, axes, out);
}

void ImportCall::align(size_t first, size_t count) {
  const size_t end = count ? std::min(first + count, in.size()) : in.size();
  size_t rank = 0;
  aligned_ = true;
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

void ImportCall::give(const Arg& result, ValueId v) {
  done = true;
  TensorInfo& t = tensors_[result.tensor()];
  if (const DType made = graph_[v].type.dtype; t.type == ItemType::integer && is_int(made)) v = as_type(v, integers);
  const Type& type = graph_[v].type;
  t.value = v;
  t.shaped = type.is_tensor() && type.dims;
  t.extents.clear();
  if (t.shaped)
    for (const Dim& d : *type.dims) {
      t.extents.push_back(d.value());
      t.shaped &= d.is_number();
    }
  if (status_.ok() && !(t.shaped && countable(t.extents)))
    status_ = failure(Code::invalid_model, "the result {} has more elements than can be counted", type.text());
  t.shaped &= status_.ok();
  if (!dry && !t.name.empty() && graph_[v].name.empty() && !graph_[v].param_of.valid())
    graph_.set_name(v, std::string(t.name));
}

Result<NodeId> ImportCall::spelled(std::string_view as, size_t outputs) {
  SpelledNode node;
  node.spelled = find_spelling(nnef, {}, as);
  if (!node.spelled.op) return error("no operator of the engine is spelled so");
  node.in = std::move(in);
  node.attrs = std::move(attrs);
  node.outputs = outputs;
  inference_.grow();
  auto made = make_spelled(b, std::move(node), [&](ValueId v) -> const Type& { return inference_.type(v); });
  if (!made.ok()) return refused(made.error());
  inferred(graph_[*made].out[0]);
  return made;
}

Status ImportCall::plain(std::string_view as) {
  const bool list = op.results.size() == 1 && op.results[0].is_list();
  const auto results = list ? op.results[0].items() : op.results;
  NNEX_ASSIGN(const NodeId id, spelled(as.empty() ? name() : as, results.size()));
  for (size_t i = 0; i < results.size(); ++i) give(results[i], graph_[id].out[i]);
  return {};
}

}  // namespace nnex::nnef_format
