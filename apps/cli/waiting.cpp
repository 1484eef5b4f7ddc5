#include "waiting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace nnex::cli {

Shown progress_shown() {
  const char* said = std::getenv("NNEX_PROGRESS");
  if (said && std::string_view(said) == "never") return Shown::no;
  const char* terminal = std::getenv("TERM");
  if (::isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb") return Shown::over;
  return said && std::string_view(said) == "always" ? Shown::lines : Shown::no;
}

void put_progress(Shown shown, const std::string& text) {
  if (shown != Shown::no)
    (void)std::fputs((shown == Shown::over ? "\r" + text + "\x1b[K" : text + "\n").c_str(), stderr);
}

void clear_progress(Shown shown) {
  if (shown == Shown::over) put_progress(shown, "");
}

Waiting::Waiting(std::string what, int64_t total) : what_(std::move(what)), total_(total) {
  if (shown_ == Shown::no) return;
  thread_.emplace([this] {
    constexpr std::chrono::milliseconds kFirst{1000};
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (auto wait = kFirst; !wake_.wait_for(lock, wait, [this] { return over_; }); wait = progress_pace(shown_))
      put_progress(shown_, text(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    if (std::chrono::steady_clock::now() - start >= kFirst) clear_progress(shown_);
  });
}

Waiting::~Waiting() {
  if (!thread_) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  thread_->join();
}

std::string Waiting::text(double seconds) const {
  constexpr int64_t kWidth = 24;
  const int64_t done = done_;
  if (total_ <= 0) return fmt::format("{} ... {:.0f} s", what_, seconds);
  const int64_t full = std::min(done, total_) * kWidth / total_;
  return fmt::format("{} [{}{}] {} of {}, {:.0f} s", what_, std::string(static_cast<size_t>(full), '#'),
                     std::string(static_cast<size_t>(kWidth - full), '.'), done, total_, seconds);
}

}  // namespace nnex::cli
