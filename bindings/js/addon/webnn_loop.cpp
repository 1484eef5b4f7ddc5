#include "webnn_loop.h"

#include <utility>

namespace nnex::js {
namespace {

using Task = std::function<void()>;

void run(napi_env env, napi_value, void*, void* data) {
  const std::unique_ptr<Task> task(static_cast<Task*>(data));
  if (env) (*task)();  // null: the environment is ending
}

}  // namespace

std::shared_ptr<Loop> Loop::make(Napi::Env env) {
  auto loop = std::make_shared<Loop>(env);
  const Napi::String name = Napi::String::New(env, "nnex timeline");
  // Each task is a call of its own, so that what waits for one promise runs before the next one is settled.
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, run, &loop->call_);
  if (status != napi_ok) throw Napi::Error::New(env);
  napi_unref_threadsafe_function(env, loop->call_);
  return loop;
}

void Loop::post(Task task) {
  auto given = std::make_unique<Task>(std::move(task));
  const std::lock_guard lock(mutex_);
  if (!closed_ && napi_call_threadsafe_function(call_, given.get(), napi_tsfn_nonblocking) == napi_ok)
    static_cast<void>(given.release());
}

void Loop::hold() {
  if (held_++ == 0 && open()) napi_ref_threadsafe_function(env_, call_);
}

void Loop::let_go() {
  if (--held_ == 0 && open()) napi_unref_threadsafe_function(env_, call_);
}

void Loop::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  napi_release_threadsafe_function(call_, napi_tsfn_abort);
}

void Releases::push(std::shared_ptr<const void> object) {
  if (!object) return;
  const std::lock_guard lock(mutex_);
  if (stop_) return;  // the caller's handle is the last one then
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { live(); });
    } catch (const std::exception&) {  // no thread to be had
      return;
    }
  }
  objects_.push_back(std::move(object));
  if (objects_.size() == 1) wake_.notify_one();
}

void Releases::live() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !objects_.empty(); });
    if (objects_.empty()) return;
    std::vector<std::shared_ptr<const void>> gone = std::exchange(objects_, {});
    lock.unlock();
    gone.clear();
    lock.lock();
  }
}

void Releases::close() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace nnex::js
