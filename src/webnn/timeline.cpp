#include "webnn/timeline.h"

#if !defined(__EMSCRIPTEN__)
#include <pthread.h>
#endif

#include <chrono>

#include "webnn/context.h"

namespace nnex::ml {
namespace {

/// How long the thread looks for new work before it sleeps: a wake costs about as much.
constexpr auto kSpinTime = std::chrono::microseconds(20);

std::atomic<uint32_t> forks = 0;
/// How many forks lie between this process and the first that asked.
uint32_t process() {
#if !defined(__EMSCRIPTEN__)
  static const bool watched = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  (void)watched;
#endif
  return forks.load(std::memory_order_relaxed);
}

/// Never joined, detached or destroyed: in this process its number may be that of another thread by now.
void forget(std::thread thread) {
  static auto* const kept = new std::vector<std::thread>;
  kept->push_back(std::move(thread));
}

}  // namespace

void Work::run() {
  if (graph)
    graph->run(tensors);
  else if (call)
    call();
  else if (!tensors.empty() && !tensors[0]->gone)
    tensors[0]->bytes = std::move(bytes);
}

Timeline::Timeline(bool own_thread) : queue_(std::make_shared<Queue>()), process_(process()) {
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
  own_thread = false;
#endif
  if (!own_thread) return;
  try {
    thread_ = std::thread([queue = queue_] { live(queue); });
  } catch (...) {  // no thread to be had: work runs in the calls
  }
}

bool Timeline::forked() const { return process_ != process() && thread_.joinable(); }

Timeline::~Timeline() {
  if (!thread_.joinable()) return;
  if (forked()) {  // it may have held the queue's mutex, for ever
    forget(std::move(thread_));
    return;
  }
  {
    std::lock_guard lock(queue_->mutex);
    queue_->stop = true;
    queue_->filled.store(true, std::memory_order_relaxed);
  }
  queue_->wake.notify_one();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Timeline::push(Work work) {
  bool wake = false;
  {
    std::lock_guard lock(queue_->mutex);
    queue_->pending.push_back(std::move(work));
    queue_->filled.store(true, std::memory_order_relaxed);
    wake = queue_->sleeping;
  }
  if (!thread_.joinable())
    queue_->drain();
  else if (wake)
    queue_->wake.notify_one();
}

/// Waits for work and takes all of it; false at the end.
bool Timeline::Queue::take(std::vector<Work>& batch) {
  const auto start = std::chrono::steady_clock::now();
  while (!filled.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() - start < kSpinTime) {
  }
  std::unique_lock lock(mutex);
  sleeping = true;
  wake.wait(lock, [&] { return !pending.empty() || stop; });
  sleeping = false;
  batch.swap(pending);
  filled.store(stop, std::memory_order_relaxed);
  return !batch.empty();
}

void Timeline::live(const std::shared_ptr<Queue>& queue) {
  std::vector<Work> batch;
  while (queue->take(batch)) {
    for (Work& work : batch) {
      work.run();
      work = Work();  // what it held is let go before the next one runs
    }
    batch.clear();
  }
}

/// Runs what is queued on the calling thread, unless a call further up the stack (or another thread) is at it.
void Timeline::Queue::drain() {
  std::unique_lock lock(mutex);
  if (draining) return;
  draining = true;
  while (!pending.empty()) {
    std::vector<Work> batch;
    batch.swap(pending);
    lock.unlock();
    for (Work& work : batch) {
      work.run();
      work = Work();
    }
    lock.lock();
  }
  draining = false;
}

}  // namespace nnex::ml
