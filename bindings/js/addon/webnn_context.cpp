// Contexts, and the tensors and graphs that live in them.

#include <cstring>

#include "buffers.h"
#include "webnn_promise.h"

namespace nnex::js {
namespace {

constexpr auto kMethod = static_cast<napi_property_attributes>(napi_writable | napi_configurable);

/// An argument's object; asked once a call, since a worker that is ended in the middle gives none any more.
template <class T>
const T& object_of(const Napi::CallbackInfo& info, size_t i, const char* needed) {
  const T* object = wrapped<T>(info.Env(), info[i]);
  if (!object) throw Napi::TypeError::New(info.Env(), std::string("needed ") + needed);
  return *object;
}

/// Named<NativeTensor> of engine.ts.
ml::NamedTensors named_tensors(Napi::Env env, const Napi::Value& pairs) {
  ml::NamedTensors tensors;
  const Napi::Array all = pairs.As<Napi::Array>();
  const uint32_t count = all.Length();
  for (uint32_t i = 0; i < count; ++i) {
    const Napi::Array pair = Napi::Value(all[i]).As<Napi::Array>();
    const auto* tensor = wrapped<TensorObject>(env, Napi::Value(pair[1u]));
    if (!tensor) throw Napi::TypeError::New(env, "needed a tensor");
    tensors.insert_or_assign(text_of(env, Napi::Value(pair[0u])), tensor->handle());
  }
  return tensors;
}

}  // namespace

TensorObject::TensorObject(const Napi::CallbackInfo& info) : Holder(info) {
  for (uint32_t extent : handle_.shape()) bytes_ *= extent;
  switch (handle_.dataType()) {
    case ml::DataType::int64:
    case ml::DataType::uint64:
      bytes_ *= 8;
      break;
    case ml::DataType::float32:
    case ml::DataType::int32:
    case ml::DataType::uint32:
      bytes_ *= 4;
      break;
    case ml::DataType::float16:
      bytes_ *= 2;
      break;
    default:
      break;
  }
  tell(info.Env(), bytes_);
}

Napi::Function TensorObject::define(Napi::Env env) {
  return DefineClass(env, "NativeTensor", {InstanceMethod<&TensorObject::destroy>("destroy", kMethod)});
}

void TensorObject::destroy(const Napi::CallbackInfo& info) {
  handle_.destroy();
  tell(info.Env(), -told_);
}

Napi::Function GraphObject::define(Napi::Env env) {
  return DefineClass(env, "NativeGraph", {InstanceMethod<&GraphObject::destroy>("destroy", kMethod)});
}

void GraphObject::destroy(const Napi::CallbackInfo& info) {
  handle_.destroy();
  tell(info.Env(), -told_);
}

Napi::Function ContextObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeContext",
      {InstanceAccessor<&ContextObject::accelerated>("accelerated"),
       InstanceMethod<&ContextObject::limits>("limits", kMethod),
       InstanceMethod<&ContextObject::on_lost>("onLost", kMethod),
       InstanceMethod<&ContextObject::builder>("builder", kMethod),
       InstanceMethod<&ContextObject::tensor>("tensor", kMethod),
       InstanceMethod<&ContextObject::constant_tensor>("constantTensor", kMethod),
       InstanceMethod<&ContextObject::read>("read", kMethod), InstanceMethod<&ContextObject::write>("write", kMethod),
       InstanceMethod<&ContextObject::dispatch>("dispatch", kMethod),
       InstanceMethod<&ContextObject::destroy>("destroy", kMethod)});
}

void ContextObject::Finalize(Napi::Env env) {
  if (lost_) lost_->Reset();
  Holder::Finalize(env);
}

Napi::Value ContextObject::accelerated(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), handle_.accelerated());
}

Napi::Value ContextObject::limits(const Napi::CallbackInfo& info) {
  return limits_object(info.Env(), handle_.opSupportLimits());
}

void ContextObject::on_lost(const Napi::CallbackInfo& info) {
  lost_ = std::make_shared<Napi::FunctionReference>(Napi::Persistent(info[0].As<Napi::Function>()));
  handle_.lost().then([listener = lost_, part = part_](const ml::Result<ml::ContextLostInfo>& lost) {
    if (!lost.ok() || listener->IsEmpty() || !part->loop->open()) return;
    try {
      listener->Call({string_of(part->loop->env(), lost->message)});
    } catch (const Napi::Error&) {  // the environment is being terminated
    }
  });
}

Napi::Value ContextObject::builder(const Napi::CallbackInfo& info) {
  return make(info.Env(), part_, part_->builder, needed(info.Env(), ml::GraphBuilder::create(handle_)));
}

Napi::Value ContextObject::tensor(const Napi::CallbackInfo& info) {
  const auto descriptor = info[0].As<Napi::Object>();
  ml::OperandDescriptor d = descriptor_of(descriptor);
  const ml::TensorUsage usage{descriptor.Get("readable").ToBoolean(), descriptor.Get("writable").ToBoolean()};
  return promise_of(
      info.Env(), part_, handle_.createTensor(d, usage),
      [part = part_](Napi::Env env, const ml::Tensor& tensor) { return make(env, part, part->tensor, tensor); });
}

Napi::Value ContextObject::constant_tensor(const Napi::CallbackInfo& info) {
  const ml::OperandDescriptor d = descriptor_of(info[0].As<Napi::Object>());
  return promise_of(
      info.Env(), part_, handle_.createConstantTensor(d, source_of(info[1].As<Napi::Object>())),
      [part = part_](Napi::Env env, const ml::Tensor& tensor) { return make(env, part, part->tensor, tensor); });
}

Napi::Value ContextObject::read(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto& tensor = object_of<TensorObject>(info, 0, "a tensor");
  const auto future = handle_.readTensor(tensor.handle());
  const auto copied = [](Napi::Env e, const std::vector<std::byte>& bytes) {
    try {
      auto buffer = make_buffer(e, bytes.size());
      if (!bytes.empty()) std::memcpy(buffer.Data(), bytes.data(), bytes.size());
      return buffer;
    } catch (const NoMemory& error) {
      throw_error(e, {ml::ErrorKind::UnknownError, std::string("readTensor: ") + error.what()});
    }
  };
  const int64_t size = tensor.bytes();
  if (info[1].IsNumber() && !future.settled() && info[1].As<Napi::Number>().DoubleValue() < static_cast<double>(size)) {
    ml::Promise<std::vector<std::byte>> rejected;
    rejected.settle(ml::Error{ml::ErrorKind::TypeError, "readTensor: found room for " + info[1].ToString().Utf8Value() +
                                                            " bytes; the tensor has " + std::to_string(size)});
    return promise_of(env, part_, rejected.future(), copied);
  }
  return promise_of(env, part_, future, copied);
}

void ContextObject::write(const Napi::CallbackInfo& info) {
  const auto& tensor = object_of<TensorObject>(info, 0, "a tensor").handle();
  needed(info.Env(), handle_.writeTensor(tensor, source_of(info[1].As<Napi::Object>())));
}

void ContextObject::dispatch(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto& graph = object_of<GraphObject>(info, 0, "a graph").handle();
  needed(env, handle_.dispatch(graph, named_tensors(env, info[1]), named_tensors(env, info[2])));
}

void ContextObject::destroy(const Napi::CallbackInfo&) { handle_.destroy(); }

}  // namespace nnex::js
