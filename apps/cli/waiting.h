#pragma once
// A line on the terminal while something takes long.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace nnex::cli {

/// While it lives, and once a second has passed, standard error shows what is done, for how long, and how much of it
/// where that is known: one line, written over, gone at the end. Nothing where standard error is no terminal, unless
/// NNEX_PROGRESS=always; never with NNEX_PROGRESS=never.
class Waiting {
 public:
  /// `what`: "comparing"; `total` steps, 0: nobody knows.
  explicit Waiting(std::string what, int64_t total = 0);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Steps done so far. From any thread.
  void done(int64_t steps) { done_ = steps; }

 private:
  void show(double seconds);

  const std::string what_;
  const int64_t total_;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::optional<std::thread> thread_;
};

/// The result of f, with such a line while it runs.
template <class F>
auto awaited(const std::string& what, F&& f) {
  const Waiting waiting(what);
  return f();
}

}  // namespace nnex::cli
