#include "waiting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace nnex::cli {
namespace {

bool is_wanted() {
  const char* said = std::getenv("NNEX_PROGRESS");
  if (said && std::string_view(said) == "always") return true;
  if (said && std::string_view(said) == "never") return false;
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
}

/// Our own words and commands, which no file has a part in.
void put(const std::string& line) { (void)std::fputs(line.c_str(), stderr); }

}  // namespace

Waiting::Waiting(std::string what, int64_t total) : what_(std::move(what)), total_(total) {
  if (!is_wanted()) return;
  thread_.emplace([this] {
    constexpr std::chrono::milliseconds kFirst{1000}, kNext{200};
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (auto wait = kFirst; !wake_.wait_for(lock, wait, [this] { return over_; }); wait = kNext)
      show(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (std::chrono::steady_clock::now() - start >= kFirst) put("\r\x1b[K");
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

void Waiting::show(double seconds) {
  constexpr int64_t kWidth = 24;
  const int64_t done = done_;
  if (total_ <= 0) {
    put(fmt::format("\r{} ... {:.0f} s\x1b[K", what_, seconds));
    return;
  }
  const int64_t full = std::min(done, total_) * kWidth / total_;
  put(fmt::format("\r{} [{}{}] {} of {}, {:.0f} s\x1b[K", what_, std::string(static_cast<size_t>(full), '#'),
                  std::string(static_cast<size_t>(kWidth - full), '.'), done, total_, seconds));
}

}  // namespace nnex::cli
