#pragma once
// Promises of what threads compute.

#include <optional>

#include "model_errors.h"
#include "model_tasks.h"

namespace nnex::js {

/// A promise of what `f`, which returns a Result, gives on a thread, in the form that `give(env, value)` makes of it.
/// `settled` is called on JavaScript's thread just before the promise is.
template <class F, class G>
Napi::Promise promise_of(Napi::Env env, Tasks& tasks, const std::shared_ptr<Strand>& strand, F f, G give,
                         std::function<void()> settled = {}) {
  struct Job {
    Job(Napi::Env env, F f, G give, std::function<void()> settled)
        : deferred(env), f(std::move(f)), give(std::move(give)), settled(std::move(settled)) {}
    Napi::Promise::Deferred deferred;
    F f;
    G give;
    std::function<void()> settled;
    std::optional<decltype(f())> result;
  };
  auto job = std::make_shared<Job>(env, std::move(f), std::move(give), std::move(settled));
  const Napi::Promise promise = job->deferred.Promise();
  auto task = std::make_unique<Task>();
  task->work = [job] { job->result.emplace(caught(job->f)); };
  task->done = [job](Napi::Env settling) {
    if (job->settled) job->settled();
    if (!job->result->ok()) return job->deferred.Reject(to_js(settling, job->result->error()).Value());
    try {
      job->deferred.Resolve(job->give(settling, **job->result));
    } catch (const Napi::Error& e) {
      job->deferred.Reject(e.Value());
    } catch (const std::bad_alloc&) {
      job->deferred.Reject(to_js(settling, no_memory()).Value());
    }
  };
  tasks.post(strand, std::move(task));
  return promise;
}

}  // namespace nnex::js
