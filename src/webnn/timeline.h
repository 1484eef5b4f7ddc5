#pragma once
// Timeline: the one ordered thread of a context. Whatever is queued runs in the order of the calls.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "nnex/tensor.h"

namespace nnex::ml {

struct GraphCore;
struct TensorMemory;

/// One piece of queued work: an inference, a write, or a call.
struct Work {
  std::shared_ptr<GraphCore> graph;                    ///< An inference of this graph,
  std::vector<std::shared_ptr<TensorMemory>> tensors;  ///< on these inputs and outputs, by name in ascending order;
  nnex::Tensor bytes;                                  ///< or what tensors[0] holds from now on;
  std::function<void()> call;                          ///< or this.

  void run();
};

class Timeline {
 public:
  /// Without a thread of its own, work runs inside push().
  explicit Timeline(bool own_thread);
  /// Waits until everything queued has run; on the timeline's own thread it does not wait, and the rest still runs. In
  /// a child of fork() neither: the thread is the parent's.
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Queues work. Safe from any thread, the timeline's own included.
  void push(Work work);
  /// Whether its thread is another process's: this one is a child of fork() of that which made the timeline.
  bool forked() const;

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable wake;
    std::vector<Work> pending;
    std::atomic<bool> filled = false;  ///< Whether pending has work: read without the mutex while spinning.
    bool sleeping = false, stop = false;
    bool draining = false;  ///< Without a thread: a push() is running work.

    bool take(std::vector<Work>& batch);
    void drain();
  };
  static void live(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;
  std::thread thread_;
  uint32_t process_;  ///< Which of the processes since this library was loaded, each a child of the one before.
};

}  // namespace nnex::ml
