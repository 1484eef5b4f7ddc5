#include "serve/worker.h"

#include <utility>

namespace nnex::serve {

Worker::Worker() : thread_([this] { work(); }) {}

Worker::~Worker() { stop(); }

void Worker::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

bool Worker::busy() const {
  const std::lock_guard lock(mutex_);
  return !tasks_.empty();
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    lock.unlock();
    task();
    task = {};  // what it holds goes before it counts as done
    lock.lock();
    tasks_.pop_front();
  }
}

}  // namespace nnex::serve
