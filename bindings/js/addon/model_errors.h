#pragma once
// Errors of nnex as errors of JavaScript.

#include <napi.h>

#include "nnex/result.h"

namespace nnex::js {

/// Options that would help, as [{option, value, effect}] in the words of JavaScript.
Napi::Array remedies_to_js(Napi::Env env, const std::vector<Remedy>& remedies);

/// An Error whose message is the whole text, with members `code` (in words), `where`, `detail` (the sentence alone),
/// `tasks` and `remedies`. TypeScript makes an NnexError of it.
Napi::Error to_js(Napi::Env env, const Error& error);

/// The value, or JavaScript's exception.
template <class T>
T or_throw(Napi::Env env, Result<T> result) {
  if (!result.ok()) throw to_js(env, result.error());
  return std::move(*result);
}

/// In a handler of std::bad_alloc: the error of a call that memory is missing for.
Error no_memory();

/// What f gives; what it throws (no memory, above all) as an Error.
template <class F>
auto caught(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& e) {
    return Error(Code::internal, e.what());
  }
}

}  // namespace nnex::js
