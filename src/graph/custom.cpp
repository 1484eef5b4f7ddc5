#include "graph/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/copy_bytes.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "graph/type_info.h"
#include "graph/verify.h"
#include "tensor/has_memory.h"
#include "tensor/kept.h"
#include "tensor/nesting.h"

namespace nnex {
namespace {

std::string shown(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : fmt::format("{}:{}", domain, name);
}

/// Calls a function of the host: what it throws becomes an Error, and all errors say whose they are.
template <class F>
auto from_host(std::string_view op, std::string_view doing, F&& f) -> decltype(f()) {
  auto result = called(f, [&](Code code, const char* what) { return failure(code, "{}: {}", op, what); });
  if (result.ok()) return result;
  return std::move(result).error().during(fmt::format("{} of custom operator '{}'", doing, op));
}

Status copy_into(Tensor& to, const Tensor& from) {
  if (to.count() == 0 || to.data() == from.data()) return {};
  if (to.dtype() == DType::str)
    std::copy(from.strings().begin(), from.strings().end(), to.mutable_as<std::string>().begin());
  else
    copy_bytes(to.mutable_data(), from.data(), to.bytes());
  return {};
}

}  // namespace

std::string operator_name(const Node& node) {
  return node.custom ? shown(node.custom->domain, node.custom->name) : std::string(node.op->name);
}

Error placed(Error error, const Node& node, std::string_view place) {
  if (node.custom && !place.empty() && !error.where().empty() && error.where() != place)
    error = std::move(error).during(fmt::format("at {}", place));
  return std::move(error).at(place);
}

Status CustomOperators::add(CustomOperator op) {
  if (op.name.empty()) return Error(Code::invalid_argument, "a custom operator needs a name");
  if (!op.run)
    return failure(Code::invalid_argument, "custom operator '{}' has no function that runs it",
                   shown(op.domain, op.name));
  if (op.since > op.until)
    return failure(Code::invalid_argument, "custom operator '{}' serves versions {} to {}: none",
                   shown(op.domain, op.name), op.since, op.until);
  for (const auto& other : all_)
    if (other->domain == op.domain && other->name == op.name && op.since <= other->until && other->since <= op.until)
      return failure(Code::invalid_argument, "custom operator '{}' is there already", shown(op.domain, op.name));
  all_.push_back(std::make_shared<const CustomOperator>(std::move(op)));
  return {};
}

std::shared_ptr<const CustomOperator> CustomOperators::find(std::string_view domain, std::string_view name,
                                                            int64_t version) const {
  for (const auto& op : all_)
    if (op->domain == domain && op->name == name && (version == 0 || (op->since <= version && version <= op->until)))
      return op;
  return nullptr;
}

void resolve_custom(ir::Graph& graph, const CustomOperators& operators) {
  if (operators.empty()) return;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.op != &custom_op() || !node.custom) continue;
    const auto version = graph.meta.opsets.find(node.custom->domain);
    auto host = operators.find(node.custom->domain, node.custom->name,
                               version == graph.meta.opsets.end() ? 0 : version->second);
    if (!host || host == node.custom->host) continue;
    auto resolved = std::make_shared<CustomNode>(*node.custom);
    resolved->host = std::move(host);
    graph.set_custom(id, std::move(resolved));
  }
}

Status infer_custom(const Node& node, InferCall& call) {
  const CustomOperator& host = *node.custom->host;
  if (!host.infer) return {};
  const std::string name = operator_name(node);
  std::vector<TypeInfo> in;
  std::vector<const Tensor*> contents;
  for (size_t i = 0; i < call.inputs(); ++i) {
    in.push_back(call.has(i) ? type_info(call.in(i)) : TypeInfo());
    contents.push_back(call.has(i) ? call.constant(i) : nullptr);
  }
  const CustomInfer seen{name, node.custom->attrs, in, contents, call.outputs()};
  NNEX_ASSIGN(const std::vector<TypeInfo> said, from_host(name, "the shape rule", [&] { return host.infer(seen); }));
  if (said.size() != call.outputs())
    return failure(Code::invalid_model, "{}: the shape rule gives {} types; the node has {} outputs", name, said.size(),
                   call.outputs());
  for (size_t o = 0; o < said.size(); ++o) {
    auto type = type_of(said[o]);
    if (!type.ok()) return failure(Code::invalid_model, "{}: output {}: {}", name, o, type.error().message());
    if (type->is_tensor() && type->dtype == DType::none) type->dims.reset();  // no memory could be planned for it
    NNEX_TRY(call.check_extents(o, *type));
    call.result_type(o, std::move(type).value());
  }
  return {};
}

Status run_custom(const CustomNode& node, const Call& call, std::span<const Type> expected) {
  const std::string name = shown(node.domain, node.name);
  std::vector<const Value*> in;
  std::vector<Value*> out;
  for (size_t i = 0; i < call.inputs(); ++i) in.push_back(call.has(i) ? &call.value(i) : nullptr);
  std::vector<Value> made(call.outputs());
  for (size_t o = 0; o < call.outputs(); ++o) {
    if (call.ready(o)) {  // lent: a copy that shared owned memory could not be written
      Tensor& real = call.out(o);
      made[o] = Value(Tensor::borrow_mutable(real.dtype(), real.shape(), real.mutable_data()));
    }
    out.push_back(call.wants(o) ? &made[o] : nullptr);
  }
  CustomRun run(name, node.attrs, in, out);
  NNEX_TRY(from_host(name, "the kernel", [&] { return node.host->run(run); }));
  for (size_t o = 0; o < made.size(); ++o) {
    if (!call.wants(o)) continue;
    if (!run.made(o)) return failure(Code::fault, "{}: the kernel did not make output {}", name, o);
    if (call.ready(o)) continue;
    if (const Type found = type_of(made[o]); o < expected.size() && !agree(expected[o], found))
      return failure(Code::fault, "{}: the kernel made output {} as {}; the shape rule said {}", name, o, found.text(),
                     expected[o].text());
    NNEX_ASSIGN(Value held, kept(made[o]));
    call.set(o, std::move(held));
  }
  return {};
}

Result<Tensor*> CustomRun::output(size_t o, DType dtype, const Shape& shape) {
  if (o >= out_.size()) return failure(Code::invalid_argument, "{}: output {}; the node has {}", op_, o, out_.size());
  Value* to = out_[o];
  if (!to) to = unwanted_.emplace_back(std::make_unique<Value>()).get();
  if (Tensor* t = to->tensor()) {
    if (t->dtype() == dtype && t->shape() == shape) return made_[o] = true, t;
    return failure(Code::invalid_argument, "{}: output {} is made as {}{}; needed {}", op_, o, name(dtype),
                   shape.text(), to->text());
  }
  NNEX_ASSIGN(Tensor made, Tensor::make(dtype, shape));
  *to = Value(std::move(made));
  made_[o] = true;
  return to->tensor();
}

Status CustomRun::set(size_t o, Value value) {
  if (o >= out_.size()) return failure(Code::invalid_argument, "{}: output {}; the node has {}", op_, o, out_.size());
  if (value.empty()) return failure(Code::invalid_argument, "{}: output {} is set to nothing", op_, o);
  if (const Status flat = check_nesting(value); !flat.ok())
    return failure(Code::limit, "{}: output {}: {}", op_, o, flat.error().message());
  if (!out_[o]) return {};
  Tensor* planned = out_[o]->tensor();
  const Tensor* t = value.tensor();
  if (t && !has_memory(*t)) return failure(Code::invalid_argument, "{}: output {} has no memory", op_, o);
  if (!planned) {
    *out_[o] = std::move(value);
    made_[o] = true;
    return {};
  }
  if (t && t->dtype() == planned->dtype() && t->shape() == planned->shape()) {
    NNEX_TRY(copy_into(*planned, *t));
    made_[o] = true;
    return {};
  }
  return failure(Code::invalid_argument, "{}: output {} is set to {}; needed {}", op_, o, value.text(),
                 out_[o]->text());
}

}  // namespace nnex
