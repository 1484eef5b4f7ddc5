#pragma once
// The options of a run as C says them, as those of C++.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/try.h"
#include "c/handles.h"

namespace nnex::c {

/// What a caller gave for a run. Errors: invalid_argument (a forgotten size, a negative timeout).
Result<nnex_run_options> run_options(const nnex_run_options* given);

/// Asks the caller every few milliseconds whether a run shall go on, as long as it lives; the time begins with it.
class Watch {
 public:
  explicit Watch(const nnex_run_options& given);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  const RunOptions& options() const { return options_; }

 private:
  RunOptions options_;
  std::atomic<bool> flag_ = false;
  bool over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace nnex::c
