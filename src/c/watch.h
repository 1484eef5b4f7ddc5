#pragma once
// The options of a run as C says them, as those of C++.

#include <atomic>

#include "base/try.h"
#include "c/handles.h"

namespace nnex::c {

/// What a caller gave for a run. Errors: invalid_argument (a forgotten size, a negative timeout).
Result<nnex_run_options> run_options(const nnex_run_options* given);

class Watcher;

/// Asks the caller at once, and then every few milliseconds, whether a run shall go on, as long as it lives; the time
/// begins with it.
class Watch {
 public:
  explicit Watch(const nnex_run_options& given);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  const RunOptions& options() const { return options_; }

 private:
  friend class Watcher;
  const nnex_run_options given_;
  RunOptions options_;
  std::atomic<bool> flag_ = false;
  Watcher* watcher_ = nullptr;
  bool asking_ = false;  ///< These two are the watcher's.
  uint64_t round_ = 0;
};

}  // namespace nnex::c
