#pragma once
// Requests for one model, in order, by several instances, run together where that changes no answer.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nnex/model.h"
#include "serve/metrics.h"

namespace nnex::serve {

using Clock = std::chrono::steady_clock;

struct SchedulerOptions {
  int instances = 1;                   ///< Sessions that run at the same time.
  int threads = 0;                     ///< Of each; 0: all this process may use.
  int64_t max_batch = 1;               ///< Rows that are run together; 1: each request alone.
  std::chrono::microseconds delay{0};  ///< How much later others that join it may make an answer.
  size_t queue = 1024;                 ///< Requests that may wait.
  /// A session that nobody has used for so long gives back the memory of its runs.
  std::chrono::microseconds idle{10'000'000};
  /// Inputs of runs that each instance does before it is used, and how many.
  std::vector<Value> trial;
  int64_t warm_up = 0;
  /// Runs that take no longer are done by the caller's thread (run_now): what waking another and being woken takes.
  std::chrono::microseconds brief{20};
};

/// What became of a request.
struct Outcome {
  Result<std::vector<Value>> results;
  Clock::duration queued{}, running{};
  int64_t batch_rows = 0, rows = 0;  ///< Of the run; of the request.
};

/// One request. `done` is called exactly once, by a thread of the scheduler or by cancel().
struct Work {
  std::vector<Value> inputs;
  std::optional<Clock::time_point> deadline;
  std::function<void(Outcome)> done;

 private:
  friend class Scheduler;
  struct Batch {
    std::atomic<bool> cancel{false};
    size_t wanted = 0;  // requests of it that somebody waits for
  };
  Clock::time_point arrived_;
  int64_t rows_ = -1;
  bool cancelled_ = false;
  std::shared_ptr<Batch> batch_;  // set while it runs
};

enum class Admission : uint8_t { taken, full, closed };

/// Errors that it adds to those of runs: cancelled, where the deadline passed or cancel() was called.
class Scheduler {
 public:
  /// Throws std::system_error where a thread cannot be started: those that were have ended by then.
  Scheduler(const Model& model, const SchedulerOptions& options, std::shared_ptr<ModelMetrics> metrics);
  /// As close().
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Puts a request into the queue; where it does not take it, `done` is not called.
  Admission submit(const std::shared_ptr<Work>& work);
  /// Runs a request on the caller's thread, at once, where waking another thread would take longer: an instance is
  /// free, nobody waits, and its last runs of these shapes were brief. false: it was not, or its run was longer than
  /// those and was stopped after a moment; then submit() is for it.
  bool run_now(const std::shared_ptr<Work>& work);
  /// Nobody wants the answer any more: it leaves the queue, and a run that nobody else waits for stops.
  void cancel(const std::shared_ptr<Work>& work);
  /// Waits until every instance has done its runs of warm_up; why one could not, else empty.
  std::string warmed();
  /// Takes no more, and returns when all that it took is done.
  void close();

 private:
  using Works = std::vector<std::shared_ptr<Work>>;
  /// A session, and what its last runs were like.
  struct Instance {
    Session session;
    std::vector<Shape> shapes;  ///< Of the last run's inputs.
    int brief = 0;              ///< Runs of these shapes without a longer one among them.
    Clock::time_point used{};   ///< When it was given back.
    bool trimmed = true;        ///< Since then.
  };

  void serve();
  void keep_time();
  void expire(std::unique_lock<std::mutex>& lock, Clock::time_point now);
  void trim(std::unique_lock<std::mutex>& lock, Clock::time_point now);
  Works next(std::unique_ptr<Instance>& instance);
  void give_back(std::unique_ptr<Instance> instance);
  void gather(std::unique_lock<std::mutex>& lock, Works& batch);
  void learn_late(Clock::duration late);
  int64_t add_matching(Works& batch, int64_t rows, int64_t limit);
  void note(Clock::duration time, int64_t rows, bool ok);
  void run(Instance& instance, const Works& batch);
  void run_together(Instance& instance, const Works& batch);
  void run_alone(Instance& instance, const std::shared_ptr<Work>& work);
  Result<std::vector<Value>> run_one(Instance& instance, const Work& work, const RunOptions& options);
  std::shared_ptr<Work::Batch> begin(const Works& batch);
  void finish(const std::shared_ptr<Work>& work, Clock::time_point started, Result<std::vector<Value>> results,
              int64_t batch_rows);
  RunOptions options_of(const Works& batch, const Work::Batch& shared) const;

  Model model_;
  SchedulerOptions options_;
  bool stateful_;
  std::shared_ptr<ModelMetrics> metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> queue_;
  std::vector<std::unique_ptr<Instance>> idle_;  // instances that nobody uses, the last one used at the end
  size_t begun_ = 0;                             // instances that were warmed up
  std::string cold_;                             // why one was not
  bool closed_ = false, gathering_ = false;
  Clock::duration late_{0};                                   // that the clock wakes a thread by, of late
  Clock::duration row_time_{0};                               // of a run's row, of late
  std::condition_variable sooner_;                            // one of these came nearer, or the scheduler is closed
  Clock::time_point next_expiry_ = Clock::time_point::max();  // no request in the queue has an earlier deadline
  Clock::time_point next_trim_ = Clock::time_point::max();    // no session may give memory back earlier
  std::vector<std::thread> workers_;
  std::thread timekeeper_;
};

}  // namespace nnex::serve
