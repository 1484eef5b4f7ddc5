#include "model_errors.h"

#include "../remedies.h"
#include "buffers.h"

namespace nnex::js {
namespace {

Napi::Array tasks_of(Napi::Env env, const Error& error) {
  auto tasks = Napi::Array::New(env);
  for (const std::string& task : error.tasks()) tasks.Set(tasks.Length(), Napi::String::New(env, task));
  return tasks;
}

}  // namespace

Napi::Array remedies_to_js(Napi::Env env, const std::vector<Remedy>& remedies) {
  auto all = Napi::Array::New(env);
  for (const Remedy& remedy : remedies) {
    const Remedy r = in_javascript(remedy);
    auto one = Napi::Object::New(env);
    one.Set("option", Napi::String::New(env, r.option));
    one.Set("value", Napi::String::New(env, r.value));
    one.Set("effect", Napi::String::New(env, r.effect));
    all.Set(all.Length(), one);
  }
  return all;
}

Napi::Error to_js(Napi::Env env, const Error& error) {
  const Napi::Error made = Napi::Error::New(env, error.text(javascript_words));
  Napi::Object members = made.Value();
  members.Set("code", Napi::String::New(env, std::string(name(error.code()))));
  members.Set("where", Napi::String::New(env, error.where()));
  members.Set("detail", Napi::String::New(env, error.message()));
  members.Set("tasks", tasks_of(env, error));
  members.Set("remedies", remedies_to_js(env, error.remedies()));
  return made;
}

Error no_memory() {
  try {
    throw;
  } catch (const NoMemory& known) {
    return Error(Code::limit, known.what());
  } catch (...) {
    return Error(Code::limit, "there is no memory left");
  }
}

}  // namespace nnex::js
