#pragma once
// One pool of threads a process. A run holds a Team while it is in flight; kernels hand it parts of their work.

#include <cstdint>

#include "base/function_ref.h"
#include "nnex/environment.h"

namespace nnex {

struct ThreadPool;

/// The right to use up to `threads` threads (the caller's own included) for the time of one run. While a Team exists
/// the pool's workers spin (at most 1 ms after the last parallel call), then sleep. Without one they spin 0.1 ms more,
/// so that the next run of a small network need not wake them. A Team made while another one holds the pool runs its
/// parts on the calling thread alone: same bytes, never waits.
class Team {
 public:
  /// threads = 0 means usable_threads().
  explicit Team(int threads = 1);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Threads that will take part; results never depend on it.
  int size() const { return size_; }

  /// Calls work(part) once for every part in [0, parts), on any thread of the team in any order; returns when all are
  /// done. A thread takes the same stretch of them in every call, and then what others have left: parts that follow
  /// each other, and parts of the same number, find in its cache what went before. work must not throw and must write
  /// only what its part owns. A call from inside a part runs its parts on that thread. Once the run shall stop
  /// (Interrupt), the parts that have not begun are left out.
  void run(int64_t parts, FunctionRef<void(int64_t part)> work);

 private:
  void run_all(int64_t parts, FunctionRef<void(int64_t part)> work);

  int size_ = 1;
  ThreadPool* pool_ = nullptr;  // held by this Team; null = works alone
};

}  // namespace nnex
