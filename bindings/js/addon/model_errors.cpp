#include "model_errors.h"

namespace nnex::js {
namespace {

/// The tasks of an error, inner ones first: what its text has beyond place and sentence, a line each.
Napi::Array tasks_of(Napi::Env env, const Error& error) {
  static constexpr std::string_view kWhile = "\n  while ";
  auto tasks = Napi::Array::New(env);
  const std::string text = error.text();
  size_t at = error.message().size() + (error.where().empty() ? 0 : error.where().size() + 2);
  for (uint32_t i = 0; at < text.size(); ++i) {
    const size_t from = at + kWhile.size();
    const size_t to = std::min(text.find(kWhile, at + 1), text.size());
    tasks.Set(i, Napi::String::New(env, text.substr(std::min(from, to), to - std::min(from, to))));
    at = to;
  }
  return tasks;
}

}  // namespace

Napi::Error to_js(Napi::Env env, const Error& error) {
  const Napi::Error made = Napi::Error::New(env, error.text());
  Napi::Object members = made.Value();
  members.Set("code", Napi::String::New(env, std::string(name(error.code()))));
  members.Set("where", Napi::String::New(env, error.where()));
  members.Set("detail", Napi::String::New(env, error.message()));
  members.Set("tasks", tasks_of(env, error));
  return made;
}

}  // namespace nnex::js
