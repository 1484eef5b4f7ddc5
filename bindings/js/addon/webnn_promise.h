#pragma once
// Promises of JavaScript for futures of nnex/webnn.h.

#include <napi.h>

#include <exception>
#include <memory>
#include <utility>

#include "webnn_objects.h"
#include "webnn_values.h"

namespace nnex::js {

/// What the callbacks of a promise share: a future's callbacks are copied.
template <class Make>
struct Deferred {
  std::shared_ptr<Part> part;
  napi_deferred deferred = nullptr;
  Make make;
  bool holds = false;  ///< The process stays until it is settled.
};

/// A promise that is settled as the future is, with what `make(Napi::Env, const T&)` makes of its value. Futures are
/// settled on JavaScript's thread; a future that has an error already rejects at once. Nothing throws here: a call of
/// JavaScript fails when its environment is being terminated, and then nobody is there to be told.
template <class T, class Make>
Napi::Value promise_of(Napi::Env env, const std::shared_ptr<Part>& part, const ml::Future<T>& future, Make make) {
  napi_value promise = nullptr;
  auto open = std::make_shared<Deferred<Make>>(Deferred<Make>{part, nullptr, std::move(make)});
  if (napi_create_promise(env, &open->deferred, &promise) != napi_ok) throw Napi::Error::New(env);
  if (!future.settled()) {
    open->holds = true;
    part->loop->hold();
  }
  future.then([open](const ml::Result<T>& result) {
    Loop& loop = *open->part->loop;
    if (open->holds) loop.let_go();
    if (!loop.open()) return;
    napi_value reason = nullptr;
    try {
      if (result.ok()) {
        napi_resolve_deferred(loop.env(), open->deferred, open->make(Napi::Env(loop.env()), *result));
        return;
      }
      reason = exception_of(loop.env(), result.error());
    } catch (const Napi::Error& e) {
      reason = e.Value();
    } catch (const std::exception& e) {  // no memory
      reason = exception_of(loop.env(), {ml::ErrorKind::UnknownError, e.what()});
    }
    if (reason) napi_reject_deferred(loop.env(), open->deferred, reason);
  });
  return {env, promise};
}

}  // namespace nnex::js
