#include "buffers.h"

#include <array>
#include <cstring>
#include <memory>

namespace nnex::js {
namespace {

/// Below this V8 is asked itself, which is faster.
constexpr size_t kLarge = size_t{1} << 20;

/// Up to this a copy costs less than memory of our own, with what V8 keeps to give it back.
constexpr size_t kCopied = size_t{1} << 20;

/// What may wait for the event loop to be given back.
constexpr size_t kWaiting = size_t{64} << 20;

/// An array of more elements is asked of JavaScript: V8 ends the process where an addon asks for one too long.
constexpr size_t kLong = size_t{1} << 31;

constexpr std::array<const char*, 11> kViews = {"Int8Array",    "Uint8Array",    "Uint8ClampedArray", "Int16Array",
                                                "Uint16Array",  "Int32Array",    "Uint32Array",       "Float32Array",
                                                "Float64Array", "BigInt64Array", "BigUint64Array"};

/// What an environment had when the module was loaded: a page may replace globals.
struct Known {
  Napi::FunctionReference array_buffer;
  std::array<Napi::FunctionReference, kViews.size()> views;  ///< By napi_typedarray_type.
  size_t longest = 0;                                        ///< Bytes of ours that it takes as they lie.
  std::shared_ptr<size_t> waiting = std::make_shared<size_t>(0);
};

/// Memory of ours that JavaScript has.
struct Lent {
  Tensor tensor;
  std::shared_ptr<size_t> waiting;  ///< What is counted until it is given back; null: it is not.

  static void give_back(napi_env, void*, void* hint) {
    const std::unique_ptr<Lent> lent(static_cast<Lent*>(hint));
    if (lent->waiting) *lent->waiting -= static_cast<size_t>(lent->tensor.bytes());
  }
};

/// The tensor's own memory; null where JavaScript does not take it: a runtime that keeps all memory in its own cage.
napi_value lend(Napi::Env env, Tensor& tensor, std::shared_ptr<size_t> waiting) {
  std::byte* const data = tensor.mutable_data();
  const auto bytes = static_cast<size_t>(tensor.bytes());
  if (waiting) *waiting += bytes;
  auto lent = std::make_unique<Lent>(Lent{tensor, std::move(waiting)});
  napi_value buffer = nullptr;
  const napi_status status = napi_create_external_arraybuffer(env, data, bytes, Lent::give_back, lent.get(), &buffer);
  if (status == napi_ok || status == napi_generic_failure) static_cast<void>(lent.release());
  if (status == napi_ok) return buffer;
  // A failure inside V8 gives back what it was lent, now or later; any other comes before that.
  if (lent) Lent::give_back(env, nullptr, lent.release());
  napi_value thrown = nullptr;
  napi_get_and_clear_last_exception(env, &thrown);
  return nullptr;
}

}  // namespace

void prepare_buffers(Napi::Env env) {
  auto known = std::make_unique<Known>();
  const Napi::Object global = env.Global();
  known->array_buffer = Napi::Persistent(global.Get("ArrayBuffer").As<Napi::Function>());
  for (size_t i = 0; i < kViews.size(); ++i)
    known->views[i] = Napi::Persistent(global.Get(kViews[i]).As<Napi::Function>());
  const napi_node_version* node = nullptr;
  napi_get_node_version(env, &node);
  known->longest = node && node->major >= 22 ? SIZE_MAX : size_t{1} << 32;  // before it, what a Buffer takes
  env.SetInstanceData(known.release());
}

Napi::ArrayBuffer make_buffer(Napi::Env env, size_t bytes) {
  if (bytes < kLarge) return Napi::ArrayBuffer::New(env, bytes);
  try {
    const auto& constructor = env.GetInstanceData<Known>()->array_buffer;
    return constructor.New({Napi::Number::New(env, static_cast<double>(bytes))}).As<Napi::ArrayBuffer>();
  } catch (const Napi::Error&) {
    throw NoMemory(bytes);
  }
}

Napi::Value buffer_of(Napi::Env env, Tensor tensor, Handing handing) {
  const auto bytes = static_cast<size_t>(tensor.bytes());
  if (bytes > kCopied && tensor.owned() && tensor.writable()) {
    const Known& known = *env.GetInstanceData<Known>();
    const bool counted = handing == Handing::at_once;
    const size_t waiting = counted ? *known.waiting : 0;
    const bool room = waiting == 0 || (waiting < kWaiting && bytes <= kWaiting - waiting);
    if (room && bytes <= known.longest)
      if (napi_value buffer = lend(env, tensor, counted ? known.waiting : nullptr)) return {env, buffer};
  }
  auto buffer = make_buffer(env, bytes);
  if (bytes > 0) std::memcpy(buffer.Data(), tensor.data(), bytes);
  return buffer;
}

Napi::Value view_of(Napi::Env env, napi_typedarray_type type, size_t length, napi_value buffer) {
  if (length > kLong) {
    try {
      return env.GetInstanceData<Known>()->views[type].New({buffer});
    } catch (const Napi::Error&) {
      throw NoMemory("found " + std::to_string(length) + " elements; needed no more than a " + kViews[type] +
                     " of this runtime has");
    }
  }
  napi_value view = nullptr;
  if (napi_create_typedarray(env, type, length, buffer, 0, &view) != napi_ok) throw Napi::Error::New(env);
  return {env, view};
}

}  // namespace nnex::js
