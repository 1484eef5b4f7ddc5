#pragma once
// A line on the terminal while something takes long.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace nnex::cli {

/// How standard error shows what takes long.
enum class Shown : uint8_t {
  no,
  over,   ///< On a terminal: one line, written over, gone at the end.
  lines,  ///< In a log: a line now and then.
};
/// Not where standard error is no terminal or a dumb one, unless NNEX_PROGRESS=always; never with NNEX_PROGRESS=never.
Shown progress_shown();
/// From a line of progress to the next.
inline std::chrono::milliseconds progress_pace(Shown shown) {
  return std::chrono::milliseconds(shown == Shown::lines ? 10'000 : 200);
}
/// Our own words and commands, which no file has a part in: say() would show them. A log has it as a line.
void put_progress(Shown shown, const std::string& text);
/// What is written over goes.
void clear_progress(Shown shown);

/// While it lives, and once a second has passed, standard error shows what is done, for how long, and how much of it
/// where that is known.
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
  std::string text(double seconds) const;

  const std::string what_;
  const int64_t total_;
  const Shown shown_ = progress_shown();
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
