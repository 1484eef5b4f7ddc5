// Models: read, checked, inspected, converted and run. Functions over opaque objects, which hold a shared pointer that
// garbage collection, or release(), gives back; packages/nnex/src/model has the classes that users see.

#include "module.h"

#include "model_options.h"
#include "model_promise.h"
#include "model_reports.h"
#include "model_session.h"
#include "nnex/environment.h"
#include "nnex/load.h"

namespace nnex::js {
namespace {

template <class T>
using Handle = Napi::External<std::shared_ptr<T>>;

/// Graphs of more nodes are not looked through for runs that may be done at once: theirs are not brief.
constexpr size_t kStraightNodes = 1000;

template <class T>
std::shared_ptr<T>& held(const Napi::CallbackInfo& info) {
  auto& held = *info[0].As<Handle<T>>().Data();
  if (!held) throw to_js(info.Env(), Error(Code::invalid_argument, "it was released"));
  return held;
}

Tasks& tasks_of(const Napi::CallbackInfo& info) { return *static_cast<Tasks*>(info.Data()); }

using Flag = std::shared_ptr<std::atomic<bool>>;

/// What stops a call, if anything does.
Flag flag_from(const Napi::Value& v) { return v.IsExternal() ? *v.As<Napi::External<Flag>>().Data() : nullptr; }

/// f, where it is not told to stop before. What it makes of a call that is stopped meanwhile goes on its thread.
template <class F>
auto unless(Flag stop, F f) {
  return [stop = std::move(stop), f = std::move(f)]() -> std::invoke_result_t<const F&> {
    const auto stopped = [&] { return stop && *stop; };
    if (stopped()) return Error(Code::cancelled, "the call was cancelled");
    auto made = f();
    if (stopped()) return Error(Code::cancelled, "the call was cancelled");
    return made;
  };
}

int64_t bytes_of(const Napi::Object& source) {
  const Napi::Value bytes = source.Get("bytes");
  return bytes.IsTypedArray() ? static_cast<int64_t>(bytes.As<Napi::TypedArray>().ByteLength()) : 0;
}

Napi::Value load(const Napi::CallbackInfo& info) {
  const auto given = info[0].As<Napi::Object>();
  auto read = [source = source_from(given), options = load_options_from(info[1].As<Napi::Object>()),
               bytes = bytes_of(given)]() -> Result<std::shared_ptr<ModelBox>> {
    auto model = load_model(source, options);
    if (!model.ok()) return std::move(model).error();
    auto box = std::make_shared<ModelBox>();
    box->model = std::move(*model);
    box->metadata = box->model.metadata();
    const std::optional<size_t> nodes = box->model.nodes_once();
    box->straight = nodes && *nodes <= kStraightNodes;
    box->source = bytes;
    return box;
  };
  return promise_of(info.Env(), tasks_of(info), std::make_shared<Strand>(), unless(flag_from(info[2]), std::move(read)),
                    [](Napi::Env env, std::shared_ptr<ModelBox>& box) {
                      box->account(env);
                      return Handle<ModelBox>::New(env, new std::shared_ptr<ModelBox>(std::move(box)),
                                                   [](Napi::Env at, std::shared_ptr<ModelBox>* held) {
                                                     if (*held) (*held)->account(at, 0);
                                                     delete held;
                                                   });
                    });
}

Napi::Value describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ModelBox& box = *held<ModelBox>(info);
  auto to = Napi::Object::New(env);
  to.Set("inputs", to_js(env, box.model.inputs()));
  to.Set("outputs", to_js(env, box.model.outputs()));
  to.Set("states", to_js(env, box.model.states()));
  to.Set("metadata", to_js(env, box.metadata));
  return to;
}

Napi::Value packed_memory(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(held<ModelBox>(info)->model.packed_memory()));
}

Napi::Value cache(const Napi::CallbackInfo& info) {
  static constexpr const char* kWords[] = {"none", "found", "due", "written", "failed"};  // as CacheUse has them
  const Napi::Env env = info.Env();
  const CacheInfo told = held<ModelBox>(info)->model.cache();
  auto to = Napi::Object::New(env);
  to.Set("use", Napi::String::New(env, kWords[static_cast<size_t>(told.use)]));
  to.Set("file", Napi::String::New(env, told.file));
  to.Set("why", Napi::String::New(env, told.why));
  return to;
}

Napi::Value session(const Napi::CallbackInfo& info) {
  auto made = std::make_shared<SessionBox>(held<ModelBox>(info), session_options_from(info[1].As<Napi::Object>()),
                                           tasks_of(info).shared_from_this());
  return Handle<SessionBox>::New(info.Env(), new std::shared_ptr<SessionBox>(std::move(made)),
                                 [](Napi::Env env, std::shared_ptr<SessionBox>* held) {
                                   if (*held) (*held)->forget(env);
                                   delete held;
                                 });
}

template <Napi::Value (SessionBox::*Method)(const Napi::CallbackInfo&)>
Napi::Value of_session(const Napi::CallbackInfo& info) {
  return ((*held<SessionBox>(info)).*Method)(info);
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(held<SessionBox>(info)->memory()));
}

void release_model(const Napi::CallbackInfo& info) {
  auto& held = *info[0].As<Handle<ModelBox>>().Data();
  if (held) held->account(info.Env(), 0);
  held.reset();
}

void release_session(const Napi::CallbackInfo& info) {
  auto& held = *info[0].As<Handle<SessionBox>>().Data();
  if (held) held->forget(info.Env());
  held.reset();
}

Napi::Value canceller(const Napi::CallbackInfo& info) {
  return Napi::External<Flag>::New(info.Env(), new Flag(tasks_of(info).stop_flag()),
                                   [](Napi::Env, Flag* held) { delete held; });
}

void cancel(const Napi::CallbackInfo& info) { *held<std::atomic<bool>>(info) = true; }

/// A promise of what f makes of a source and load options, as a plain object.
template <class T>
Napi::Value report(const Napi::CallbackInfo& info, Result<T> (*f)(const ModelSource&, const LoadOptions&)) {
  auto read = [f, source = source_from(info[0].As<Napi::Object>()),
               options = load_options_from(info[1].As<Napi::Object>())] { return f(source, options); };
  return promise_of(info.Env(), tasks_of(info), std::make_shared<Strand>(), unless(flag_from(info[2]), std::move(read)),
                    [](Napi::Env env, T& found) { return to_js(env, found); });
}

Napi::Value check(const Napi::CallbackInfo& info) { return report<CheckReport>(info, nnex::check); }
Napi::Value inspect(const Napi::CallbackInfo& info) { return report<Inspection>(info, nnex::inspect); }

Napi::Value convert(const Napi::CallbackInfo& info) {
  auto source = source_from(info[0].As<Napi::Object>());
  const ConvertOptions options = {
      load_options_from(info[1].As<Napi::Object>()), save_options_from(info[2].As<Napi::Object>()), {}};
  const Flag flag = flag_from(info[4]);
  if (info[3].IsString()) {
    auto write = [source = std::move(source), options, path = info[3].As<Napi::String>().Utf8Value()] {
      return nnex::convert(source, path, options);
    };
    return promise_of(info.Env(), tasks_of(info), std::make_shared<Strand>(), unless(flag, std::move(write)),
                      [](Napi::Env env, SaveReport& written) { return to_js(env, written); });
  }
  auto make = [source = std::move(source), options] { return convert_to_bytes(source, options); };
  return promise_of(info.Env(), tasks_of(info), std::make_shared<Strand>(), unless(flag, std::move(make)),
                    [](Napi::Env env, SavedBytes& made) { return to_js(env, made.files); });
}

Napi::Array dtypes(Napi::Env env) {
  auto names = Napi::Array::New(env);
  for (uint32_t i = 0; i <= static_cast<uint32_t>(DType::str); ++i)
    names.Set(i, Napi::String::New(env, std::string(name(static_cast<DType>(i)))));
  return names;
}

Napi::Object about(Napi::Env env) {
  auto to = Napi::Object::New(env);
  to.Set("isa", Napi::String::New(env, std::string(environment().isa)));
  to.Set("threads", Napi::Number::New(env, usable_threads()));
  return to;
}

}  // namespace

void add_models(Napi::Env env, Napi::Object exports) {
  const std::shared_ptr<Tasks> tasks = Tasks::make(env);  // its cleanup hook keeps it as long as JavaScript runs
  const auto add = [&](const char* name, auto f) {
    const auto called = [f](const Napi::CallbackInfo& info) {
      try {
        return f(info);
      } catch (const std::bad_alloc&) {
        throw to_js(info.Env(), no_memory());
      }
    };
    exports.Set(name, Napi::Function::New(env, called, name, tasks.get()));
  };
  add("load", load);
  add("describe", describe);
  add("packedMemory", packed_memory);
  add("cache", cache);
  add("releaseModel", release_model);
  add("session", session);
  add("run", of_session<&SessionBox::run>);
  add("runSync", of_session<&SessionBox::run_sync>);
  add("prepare", of_session<&SessionBox::prepare>);
  add("state", of_session<&SessionBox::state>);
  add("setState", of_session<&SessionBox::set_state>);
  add("resetStates", of_session<&SessionBox::reset_states>);
  add("memory", memory);
  add("releaseSession", release_session);
  add("canceller", canceller);
  add("cancel", cancel);
  add("check", check);
  add("inspect", inspect);
  add("convert", convert);
  exports.Set("dtypes", dtypes(env));
  exports.Set("environment", about(env));
}

}  // namespace nnex::js
