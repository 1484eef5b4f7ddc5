#include "buffers.h"

namespace nnex::js {
namespace {

/// Below this V8 is asked itself, which is faster.
constexpr size_t kLarge = size_t{1} << 20;

/// ArrayBuffer as it was when the module was loaded: a page may replace the global.
struct Constructor {
  Napi::FunctionReference array_buffer;
};

}  // namespace

void prepare_buffers(Napi::Env env) {
  env.SetInstanceData(new Constructor{Napi::Persistent(env.Global().Get("ArrayBuffer").As<Napi::Function>())});
}

Napi::ArrayBuffer make_buffer(Napi::Env env, size_t bytes) {
  if (bytes < kLarge) return Napi::ArrayBuffer::New(env, bytes);
  try {
    const auto& constructor = env.GetInstanceData<Constructor>()->array_buffer;
    return constructor.New({Napi::Number::New(env, static_cast<double>(bytes))}).As<Napi::ArrayBuffer>();
  } catch (const Napi::Error&) {
    throw NoMemory(bytes);
  }
}

}  // namespace nnex::js
