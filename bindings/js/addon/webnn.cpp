// WebNN's part of the module.

#include <algorithm>
#include <cstdlib>

#include "module.h"
#include "webnn_promise.h"

namespace nnex::js {
namespace {

ml::ContextOptions options_of(const Napi::Object& options) {
  ml::ContextOptions o;
  o.accelerated = options.Get("accelerated").ToBoolean();
  const std::string preference = text_of(options.Env(), options.Get("powerPreference").ToString());
  if (preference == "high-performance") o.powerPreference = ml::PowerPreference::high_performance;
  if (preference == "low-power") o.powerPreference = ml::PowerPreference::low_power;
  return o;
}

/// Threads of an inference that NNEX_THREADS asks for; 0: all this process may use. WebNN has no option for it.
int threads_wanted() {
  const char* wish = std::getenv("NNEX_THREADS");
  return wish ? static_cast<int>(std::clamp(std::strtol(wish, nullptr, 10), 0L, 1024L)) : 0;
}

}  // namespace

void Part::add(const ml::Context& context) {
  if (contexts.size() >= 64 && contexts.size() == contexts.capacity())
    std::erase_if(contexts, [](const auto& gone) { return gone.expired(); });
  contexts.push_back(context.state());
}

void Part::close() {
  loop->close();
  for (const auto& weak : contexts)
    if (auto state = weak.lock()) ml::Context(std::move(state)).destroy();
  releases.close();
  for (auto* constructor : {&context, &builder, &operand, &tensor, &graph}) constructor->Reset();
}

void add_webnn(Napi::Env env, Napi::Object exports) {
  auto part = std::make_shared<Part>();
  part->loop = Loop::make(env);
  part->context = Napi::Persistent(ContextObject::define(env));
  part->builder = Napi::Persistent(BuilderObject::define(env));
  part->operand = Napi::Persistent(OperandObject::define(env));
  part->tensor = Napi::Persistent(TensorObject::define(env));
  part->graph = Napi::Persistent(GraphObject::define(env));
  // Hooks run last in, first out: this one before that of the loop's own function.
  env.AddCleanupHook([part] { part->close(); });
  const auto create_context = [part](const Napi::CallbackInfo& info) {
    ml::Environment environment;
    environment.post = [loop = part->loop](std::function<void()> task) { loop->post(std::move(task)); };
    environment.threads = threads_wanted();
    const auto future = ml::createContext(options_of(info[0].As<Napi::Object>()), std::move(environment));
    return promise_of(info.Env(), part, future, [part](Napi::Env e, const ml::Context& context) {
      part->add(context);
      return make(e, part, part->context, context);
    });
  };
  exports.Set("createContext", Napi::Function::New(env, create_context, "createContext"));
}

}  // namespace nnex::js
