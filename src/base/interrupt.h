#pragma once
// Interrupt: how work deep inside a run learns that the run shall stop, without an argument through every call.

#include "base/function_ref.h"

namespace nnex {

/// While it lives, wanted() on this thread (and, inside Team::run, on the team's) asks `stop`, which must be safe from
/// any thread.
class Interrupt {
 public:
  explicit Interrupt(FunctionRef<bool()> stop) : stop_(stop), outer_(innermost) { innermost = this; }
  ~Interrupt() { innermost = outer_; }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether the innermost scope wants this thread to stop; false without one. Costs a look at the clock: ask once a
  /// few thousand steps.
  static bool wanted() { return innermost && innermost->stop_(); }
  static const Interrupt* current() { return innermost; }
  bool stop() const { return stop_(); }

 private:
  static inline thread_local const Interrupt* innermost = nullptr;
  FunctionRef<bool()> stop_;
  const Interrupt* outer_;
};

/// Asks whether the thread shall stop each time that many steps were done.
class SeldomAsked {
 public:
  bool stop(int64_t steps) {
    constexpr int64_t kEvery = 1 << 16;
    if ((done_ += steps) < kEvery) return false;
    done_ = 0;
    return Interrupt::wanted();
  }

 private:
  int64_t done_ = 0;
};

}  // namespace nnex
