#include "c/watch.h"

#include <chrono>

namespace nnex::c {
namespace {

/// So many nanoseconds from now; the last moment that the clock has, where it does not reach as far.
std::chrono::steady_clock::time_point in(int64_t ns) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds wait(ns);
  return wait < Clock::time_point::max() - now ? now + wait : Clock::time_point::max();
}

}  // namespace

Result<nnex_run_options> run_options(const nnex_run_options* given) {
  NNEX_ASSIGN(const nnex_run_options o, known(given));
  if (o.timeout_ns < 0)
    return Error(Code::invalid_argument,
                 "found a timeout of " + std::to_string(o.timeout_ns) + " ns; needed 0 or more");
  return o;
}

Watch::Watch(const nnex_run_options& given) {
  if (given.timeout_ns) options_.deadline = in(given.timeout_ns);
  if (!given.cancelled) return;
  options_.cancel = &flag_;
  thread_ = std::thread([this, cancelled = given.cancelled, context = given.context] {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!over_ && !flag_) {
      lock.unlock();
      if (cancelled(context)) flag_ = true;
      lock.lock();
      changed_.wait_for(lock, std::chrono::milliseconds(2), [&] { return over_; });
    }
  });
}

Watch::~Watch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace nnex::c
