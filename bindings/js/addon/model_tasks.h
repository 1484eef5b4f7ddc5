#pragma once
// Work of one environment of JavaScript on threads of its own: neither the event loop nor the four threads of libuv,
// which serve files and names, wait for an inference.

#include <napi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace nnex::js {

/// Something to be done on a thread, and what then happens on JavaScript's. `work` may neither touch JavaScript nor
/// throw. Both are destroyed on JavaScript's thread.
struct Task {
  std::function<void()> work;
  std::function<void(Napi::Env)> done;
};

/// Tasks that are done in order, one at a time. Members belong to Tasks.
class Strand {
 private:
  friend class Tasks;
  std::deque<std::unique_ptr<Task>> waiting_;
  bool scheduled_ = false;  // it is in the queue, or one of its tasks is being done
};

class Tasks : public std::enable_shared_from_this<Tasks> {
 public:
  /// The tasks of this environment, which end with it: running ones are told to stop, and waited for.
  static std::shared_ptr<Tasks> make(Napi::Env env);
  explicit Tasks(Napi::Env env) : env_(env) {}
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  /// JavaScript's thread alone calls these. While a task waits or runs the process does not end by itself.
  void post(const std::shared_ptr<Strand>& strand, std::unique_ptr<Task> task);
  void post(std::unique_ptr<Task> task) { post(std::make_shared<Strand>(), std::move(task)); }

  /// What stops a run that was given it: set by whoever asks, or when the environment ends.
  std::shared_ptr<std::atomic<bool>> stop_flag();
  /// The same of whoever needs none of its own.
  const std::atomic<bool>& stopping() const { return stopping_; }

 private:
  void start_thread();
  void work();
  void settle();  // on JavaScript's thread: what is done
  void end();

  Napi::Env env_;
  napi_threadsafe_function wake_ = nullptr;  // calls settle()
  size_t pending_ = 0;                       // posted and not settled; of JavaScript's thread
  std::vector<std::thread> threads_;         // of JavaScript's thread
  std::vector<std::weak_ptr<std::atomic<bool>>> flags_;
  size_t flags_looked_at_ = 0;
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;  // guards what follows, and the members of strands
  std::condition_variable more_;
  std::deque<std::shared_ptr<Strand>> queue_;
  std::vector<std::unique_ptr<Task>> done_;
  size_t idle_ = 0;
};

}  // namespace nnex::js
