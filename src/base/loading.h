#pragma once
// Loading: how reading and compiling a model learn that they shall stop, without an argument through every call.

#include <atomic>
#include <chrono>
#include <optional>

#include "base/try.h"

namespace nnex {

/// While it lives, check() on this thread asks the flag and the clock, and those of Loadings around it.
class Loading {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  Loading(const std::atomic<bool>* cancel, const Deadline& deadline)
      : cancel_(cancel), deadline_(deadline), outer_(innermost) {
    innermost = this;
  }
  ~Loading() { innermost = outer_; }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  /// Error: cancelled. Costs a look at the clock where somebody set a time: asked between nodes.
  static Status check() { return innermost ? innermost->asked() : Status(); }

 private:
  Status asked() const;
  static inline thread_local const Loading* innermost = nullptr;
  const std::atomic<bool>* cancel_;
  Deadline deadline_;
  const Loading* outer_;
};

}  // namespace nnex
