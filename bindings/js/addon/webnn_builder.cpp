// Graph builders and their operands.

#include "webnn_promise.h"

namespace nnex::js {
namespace {

constexpr auto kMethod = static_cast<napi_property_attributes>(napi_writable | napi_configurable);

/// An operand with its type and shape as properties.
Napi::Object made(Napi::Env env, const std::shared_ptr<Part>& part, const ml::Operand& operand) {
  Napi::Object object = make(env, part, part->operand, operand);
  put(env, object, "dataType", string_of(env, ml::name(operand.dataType())));
  put(env, object, "shape", shape_array(env, operand.shape()));
  return object;
}

}  // namespace

Napi::Function BuilderObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeBuilder",
      {InstanceMethod<&BuilderObject::input>("input", kMethod),
       InstanceMethod<&BuilderObject::constant>("constant", kMethod),
       InstanceMethod<&BuilderObject::scalar>("scalar", kMethod),
       InstanceMethod<&BuilderObject::constant_tensor>("constantTensor", kMethod),
       InstanceMethod<&BuilderObject::call>("call", kMethod), InstanceMethod<&BuilderObject::build>("build", kMethod)});
}

Napi::Value BuilderObject::input(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ml::OperandDescriptor descriptor = descriptor_of(info[1].As<Napi::Object>());
  return made(env, part_, needed(env, handle_.input(text_of(env, info[0]), descriptor)));
}

Napi::Value BuilderObject::constant(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ml::BufferSource source = source_of(info[1].As<Napi::Object>());
  const ml::Operand operand = needed(env, handle_.constant(descriptor_of(info[0].As<Napi::Object>()), source));
  tell(env, static_cast<int64_t>(source.bytes.size()));
  return made(env, part_, operand);
}

Napi::Value BuilderObject::scalar(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ml::Number value =
      info[1].IsBigInt() ? ml::Number(big_int_of(env, info[1])) : ml::Number(info[1].ToNumber().DoubleValue());
  return made(env, part_, needed(env, handle_.constant(data_type_of(env, info[0]), value)));
}

Napi::Value BuilderObject::constant_tensor(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const TensorObject* tensor = wrapped<TensorObject>(env, info[0]);
  if (!tensor) throw Napi::TypeError::New(env, "needed a tensor");
  return made(env, part_, needed(env, handle_.constant(tensor->handle())));
}

Napi::Value BuilderObject::call(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ml::idl::Value args = value_of(env, info[1]);
  if (!args.sequence()) throw Napi::TypeError::New(env, "needed a list of arguments");
  const auto operands = needed(env, ml::call(handle_, text_of(env, info[0]), *args.sequence()));
  Napi::Array all = Napi::Array::New(env, operands.size());
  for (size_t i = 0; i < operands.size(); ++i) put(env, all, i, made(env, part_, operands[i]));
  return all;
}

Napi::Value BuilderObject::build(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ml::NamedOperands outputs;
  const Napi::Array all = info[0].As<Napi::Array>();
  for (uint32_t i = 0; i < all.Length(); ++i) {
    const Napi::Array pair = Napi::Value(all[i]).As<Napi::Array>();
    const auto* operand = wrapped<OperandObject>(env, Napi::Value(pair[1u]));
    if (!operand) throw Napi::TypeError::New(env, "needed an operand");
    outputs.insert_or_assign(text_of(env, Napi::Value(pair[0u])), operand->handle());
  }
  const auto future = handle_.build(outputs);
  int64_t constants = 0;
  if (!future.settled()) {  // it has built: the constants are the graph's
    constants = told_;
    tell(env, -told_);
  }
  return promise_of(env, part_, future, [part = part_, constants](Napi::Env e, const ml::Graph& graph) {
    const Napi::Object object = make(e, part, part->graph, graph);
    if (auto* graph = wrapped<GraphObject>(e, object))
      graph->take(e, constants);  // none where the worker is ended just now
    return object;
  });
}

}  // namespace nnex::js
