#include "c/watch.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/guarded.h"

namespace nnex::c {
namespace {

/// So many nanoseconds from now; the last moment that the clock has, where it does not reach as far.
std::chrono::steady_clock::time_point in(int64_t ns) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds wait(ns);
  return wait < Clock::time_point::max() - now ? now + wait : Clock::time_point::max();
}

/// What the last caller that was asked for this thread threw.
thread_local std::optional<Error> thrown;

}  // namespace

Status of_the_host(Status s) {
  std::optional<Error> error = std::exchange(thrown, std::nullopt);
  if (!error || s.ok() || s.error().code() != Code::cancelled) return s;
  return *std::move(error);
}

/// One thread for the callbacks of all runs. It sleeps where no run has been for a while: a thread for each would cost
/// a short one more than the run itself.
class Watcher {
 public:
  /// That of this process, which outlives every static object.
  static Watcher* get() {
    static std::mutex making;
    static Watcher* made = nullptr;
    static pid_t of = 0;
    const std::lock_guard<std::mutex> lock(making);
    if (!made || of != getpid()) {  // after a fork the thread is the parent's
      made = new Watcher;
      of = getpid();
    }
    return made;
  }

  void add(Watch& watch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!started_) start();
    watches_.push_back(&watch);
    if (asleep_) changed_.notify_all();
  }

  void remove(Watch& watch) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !watch.asking_; });
    watches_.erase(std::find(watches_.begin(), watches_.end(), &watch));
  }

 private:
  static constexpr std::chrono::milliseconds kPause{2};
  static constexpr int kIdle = 100;  ///< Pauses without a run.

  void start() {
    std::thread([this] {
      sigset_t all;
      sigfillset(&all);
      // Signals are for the threads of the host. This sets the mask of one thread, too, and every glibc has it.
      sigprocmask(SIG_SETMASK, &all, nullptr);
      watch_all();
    }).detach();
    started_ = true;
  }

  [[noreturn]] void watch_all() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int idle = 0;; idle = watches_.empty() ? idle + 1 : 0) {
      if (idle == kIdle) {
        asleep_ = true;
        changed_.wait(lock, [&] { return !watches_.empty(); });
        asleep_ = false;
      }
      lock.unlock();
      std::this_thread::sleep_for(kPause);
      lock.lock();
      ++round_;
      while (Watch* const watch = next()) ask(*watch, lock);
    }
  }

  /// One that was not asked in this round; runs come and go meanwhile.
  Watch* next() {
    const auto at = std::find_if(watches_.begin(), watches_.end(),
                                 [&](const Watch* w) { return w->round_ != round_ && !w->flag_; });
    return at == watches_.end() ? nullptr : *at;
  }

  void ask(Watch& watch, std::unique_lock<std::mutex>& lock) {
    watch.round_ = round_;
    watch.asking_ = true;
    lock.unlock();
    if (watch.asked()) watch.flag_ = true;
    lock.lock();
    watch.asking_ = false;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watch*> watches_;
  uint64_t round_ = 0;
  bool started_ = false, asleep_ = false;
};

Result<nnex_run_options> run_options(const nnex_run_options* given) {
  NNEX_ASSIGN(const nnex_run_options o, known(given));
  if (o.timeout_ns < 0)
    return Error(Code::invalid_argument,
                 "found a timeout of " + std::to_string(o.timeout_ns) + " ns; needed 0 or more");
  return o;
}

Watch::Watch(const nnex_run_options& given) : given_(given) {
  thrown.reset();
  if (given_.timeout_ns) options_.deadline = in(given_.timeout_ns);
  if (!given_.cancelled) return;
  options_.cancel = &flag_;
  flag_ = asked();
  if (flag_) return;
  Watcher* const watcher = Watcher::get();
  watcher->add(*this);
  watcher_ = watcher;
}

Watch::~Watch() {
  if (watcher_) watcher_->remove(*this);
  if (thrown_) thrown = std::move(thrown_);
}

bool Watch::asked() {
  return called([&] { return given_.cancelled(given_.context); },
                [&](Code code, const char* what) {
                  thrown_ = Error(code, what).during("the host's 'cancelled' was called");
                  return true;
                });
}

namespace {

nnex_run_options asking(const nnex_load_options* given) {
  nnex_run_options run = {};
  run.size = sizeof run;
  if (given) run.timeout_ns = given->timeout_ns, run.cancelled = given->cancelled, run.context = given->context;
  return run;
}

}  // namespace

LoadWatch::LoadWatch(const nnex_load_options* given) : watch_(asking(given)) {
  if (given) options_ = given->options;
  options_.cancel = watch_.options().cancel, options_.deadline = watch_.options().deadline;
}

}  // namespace nnex::c
