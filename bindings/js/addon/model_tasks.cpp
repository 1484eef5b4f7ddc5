#include "model_tasks.h"

#include <algorithm>

#include "nnex/environment.h"

namespace nnex::js {

std::shared_ptr<Tasks> Tasks::make(Napi::Env env) {
  auto tasks = std::make_shared<Tasks>(env);
  const Napi::String name = Napi::String::New(env, "nnex");
  const napi_status status = napi_create_threadsafe_function(
      env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, tasks.get(),
      [](napi_env running, napi_value, void* context, void*) {
        if (running) static_cast<Tasks*>(context)->settle();  // null: the environment is ending
      },
      &tasks->wake_);
  if (status != napi_ok) throw Napi::Error::New(env);
  napi_unref_threadsafe_function(env, tasks->wake_);
  // Hooks run last in, first out: this one before the threadsafe function's own.
  env.AddCleanupHook([tasks] { tasks->end(); });
  return tasks;
}

void Tasks::post(const std::shared_ptr<Strand>& strand, std::unique_ptr<Task> task) {
  if (pending_++ == 0) napi_ref_threadsafe_function(env_, wake_);
  bool wake = false, start = false;
  {
    const std::lock_guard lock(mutex_);
    strand->waiting_.push_back(std::move(task));
    if (!strand->scheduled_) {
      strand->scheduled_ = true;
      queue_.push_back(strand);
      wake = idle_ >= queue_.size();
      start = !wake;
    }
  }
  if (wake) more_.notify_one();
  if (start) start_thread();
}

std::shared_ptr<std::atomic<bool>> Tasks::stop_flag() {
  if (flags_.size() >= 2 * flags_looked_at_ + 64) {  // those of runs that are over
    std::erase_if(flags_, [](const auto& flag) { return flag.expired(); });
    flags_looked_at_ = flags_.size();
  }
  auto flag = std::make_shared<std::atomic<bool>>(false);
  flags_.push_back(flag);
  return flag;
}

void Tasks::start_thread() {
  // More than the processors there are: one that waits for a file, or for a network without end, leaves room for
  // others.
  const auto limit = static_cast<size_t>(std::max(4, usable_threads()));
  if (threads_.size() < limit) threads_.emplace_back([this] { work(); });
}

void Tasks::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    more_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (stopping_) return;
    const std::shared_ptr<Strand> strand = std::move(queue_.front());
    queue_.pop_front();
    std::unique_ptr<Task> task = std::move(strand->waiting_.front());
    strand->waiting_.pop_front();
    lock.unlock();
    task->work();
    lock.lock();
    strand->scheduled_ = !strand->waiting_.empty();
    if (strand->scheduled_) queue_.push_back(strand);
    done_.push_back(std::move(task));
    // One call wakes JavaScript for all that is done until it looks.
    if (done_.size() == 1 && !stopping_) napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
  }
}

void Tasks::settle() {
  std::vector<std::unique_ptr<Task>> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  const Napi::Env env = env_;
  for (const auto& task : done) {
    try {
      const Napi::HandleScope scope(env);
      task->done(env);
    } catch (const Napi::Error&) {
      // The environment is being terminated: nobody is there to be told.
    }
  }
  if ((pending_ -= done.size()) == 0) napi_unref_threadsafe_function(env, wake_);
}

void Tasks::end() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (const auto& flag : flags_)
    if (const auto set = flag.lock()) *set = true;
  more_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  // What was not settled may hold references of this environment, which still takes them back.
  for (const auto& strand : queue_) strand->waiting_.clear();
  queue_.clear();
  done_.clear();
  napi_release_threadsafe_function(wake_, napi_tsfn_abort);
}

}  // namespace nnex::js
