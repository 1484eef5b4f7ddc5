#pragma once
// The options of a run and of loading as C says them, as those of C++.

#include <atomic>
#include <optional>

#include "base/try.h"
#include "c/handles.h"

namespace nnex::c {

/// What a caller gave for a run. Errors: invalid_argument (a forgotten size, a negative timeout).
Result<nnex_run_options> run_options(const nnex_run_options* given);

class Watcher;

/// Asks the caller at once, and then every few milliseconds, whether a run shall go on, as long as it lives; the time
/// begins with it. What the caller throws is the error of the call (guarded) where it stopped it.
class Watch {
 public:
  explicit Watch(const nnex_run_options& given);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  const RunOptions& options() const { return options_; }

 private:
  friend class Watcher;
  /// Whether the caller says that it is over, or throws.
  bool asked();
  const nnex_run_options given_;
  RunOptions options_;
  std::atomic<bool> flag_ = false;
  std::optional<Error> thrown_;
  Watcher* watcher_ = nullptr;
  bool asking_ = false;  ///< These two are the watcher's.
  uint64_t round_ = 0;
};

/// The same of loading, from options that may be null.
class LoadWatch {
 public:
  explicit LoadWatch(const nnex_load_options* given);
  const LoadOptions& options() const { return options_; }

 private:
  const Watch watch_;
  LoadOptions options_;
};

}  // namespace nnex::c
