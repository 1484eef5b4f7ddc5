#include "time_limit.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cli.h"

#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
#define NNEX_CAN_WATCH 1
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

namespace nnex::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// How much longer a run has that looks at the time by itself.
constexpr auto kGrace = std::chrono::milliseconds(200);

int refuse(double seconds) {
  say(stderr, "nnex: refused: took longer than {} s (--timeout)\n", seconds);
  return kRefused;
}

}  // namespace

void add_timeout(Verb verb, double& seconds) {
  verb.option("--timeout", seconds, "Refuse what takes longer, reading included; exit code 3")
      .type("SECONDS")
      .above_zero();
}

#ifdef NNEX_CAN_WATCH

/// A thread that ends the program.
struct TimeLimit::Watch {
  std::mutex mutex;
  std::condition_variable changed;
  bool in_time = false;
  std::thread thread;

  Watch(double seconds, Clock::time_point end)
      : thread([this, seconds, end] {
          std::unique_lock lock(mutex);
          if (changed.wait_until(lock, end, [this] { return in_time; })) return;
          std::fflush(stdout);
          end_now(refuse(seconds));
        }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex);
      in_time = true;
    }
    changed.notify_one();
    thread.join();
  }
};

#else

struct TimeLimit::Watch {
  Watch(double, Clock::time_point) {}
};

#endif

TimeLimit::TimeLimit(double seconds) : seconds_(seconds) {
  constexpr double kLongest = 1e9;  // decades, which the clock can still count
  if (seconds <= 0 || seconds > kLongest) return;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  options_.deadline = end;
  watch_ = std::make_unique<Watch>(seconds, end + kGrace);
}

TimeLimit::~TimeLimit() = default;

int TimeLimit::report(const Error& error) const {
  return error.code() == Code::cancelled ? refuse(seconds_) : cli::report(error);
}

}  // namespace nnex::cli
