#pragma once
// A thread that does tasks, one after the other.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace nnex::serve {

class Worker {
 public:
  Worker();
  /// stop()
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void post(std::function<void()> task);
  /// Whether a task is being done or waits.
  bool busy() const;
  /// Does what was posted, and ends.
  void stop();

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // the first one is being done
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace nnex::serve
