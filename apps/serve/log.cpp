#include "serve/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace nnex::serve {
namespace {

std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc = {};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, ms);
}

constexpr auto kFlush = std::chrono::milliseconds(500);
constexpr size_t kPiece = 4096;  // that a pipe takes without waiting once it takes any

/// A text that a client chose fills no log.
void cut(std::string& text) {
  constexpr size_t kLongest = 4096;
  if (text.size() <= kLongest) return;
  size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text += "...";
}

/// Whether standard error takes a piece now.
bool takes(int wait_ms) {
  pollfd out = {STDERR_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, wait_ms) > 0;
}

/// false: whoever read it is gone, or there is no room; then `piece` is what was not written.
bool write_piece(std::string_view& piece) {
  while (!piece.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, piece.data(), piece.size());
    if (n < 0 && errno == EAGAIN) {
      takes(100);
      continue;
    }
    if (n < 0 && errno != EINTR) return false;
    piece.remove_prefix(n < 0 ? 0 : static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

/// Shared with the thread, which may outlive the log in a call that does not return.
struct Log::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::string lines;
  uint64_t dropped = 0, lost = 0;                                      // since it was last told; in all
  bool started = false, writing = false, ending = false, cut = false;  // cut: a line, whose rest had no room
  std::chrono::steady_clock::time_point end;                           // of what waits at the end
  std::function<std::string(uint64_t)> told;                           // the line that tells of so many

  void write() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || !lines.empty() || dropped > 0; });
      if (lines.empty() && dropped == 0) return;
      std::string batch = std::exchange(lines, {});
      if (dropped > 0) batch += told(std::exchange(dropped, 0));
      writing = true;
      lock.unlock();
      const bool over = !write_all(batch);
      lock.lock();
      writing = false;
      changed.notify_all();
      if (over) return;
    }
  }
  /// false: the process ends, and nobody reads.
  bool write_all(std::string_view batch) {
    for (; !batch.empty(); batch.remove_prefix(std::min(kPiece, batch.size()))) {
      while (!takes(100)) {
        const std::lock_guard lock(mutex);
        if (ending && std::chrono::steady_clock::now() > end) return false;
      }
      std::string_view piece = batch.substr(0, kPiece);
      if (write_piece(piece)) continue;
      const std::lock_guard lock(mutex);  // nobody reads any more, so that nobody is told either
      lost += static_cast<uint64_t>(std::count(batch.begin(), batch.end(), '\n'));
      return true;
    }
    return true;
  }
};

Log::Log(Form form) : form_(form), queue_(std::make_shared<Queue>()) {
  queue_->told = [form](uint64_t lines) { return text_of(form, "log lines lost", {{"lines", lines}}); };
}

Log::~Log() { flush(); }

void Log::flush() const {
  std::unique_lock lock(queue_->mutex);
  if (!std::exchange(queue_->ending, true)) queue_->end = std::chrono::steady_clock::now() + kFlush;
  queue_->changed.notify_all();
  queue_->changed.wait_until(lock, queue_->end, [&] {
    return !queue_->started || (queue_->lines.empty() && !queue_->dropped && !queue_->writing);
  });
}

uint64_t Log::lost() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->lost;
}

std::string Log::text_of(Form form, std::string_view event, const cli::Json& all) {
  cli::Json facts = all;
  for (auto& fact : facts)
    if (fact.is_string()) cut(fact.get_ref<std::string&>());
  constexpr auto kReplace = cli::Json::error_handler_t::replace;
  std::string out;
  if (form == Form::json) {
    cli::Json j = {{"time", now()}, {"event", event}};
    j.update(facts);
    out = j.dump(-1, ' ', false, kReplace);
  } else {
    out = fmt::format("{} {}", now(), event);
    for (const auto& [key, value] : facts.items()) {
      // Text that a client chose keeps to one line: JSON's quotes where it is no plain word.
      const bool plain = value.is_string() && value.get_ref<const std::string&>().find_first_not_of(
                                                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                  "-_./:") == std::string::npos;
      out += fmt::format(" {}={}", key, plain ? value.get<std::string>() : value.dump(-1, ' ', true, kReplace));
    }
  }
  out += '\n';
  return out;
}

void Log::line(std::string_view event, const cli::Json& facts) const {
  const std::string out = text_of(form_, event, facts);
  struct stat about = {};
  const bool known = ::fstat(STDERR_FILENO, &about) == 0;
  Queue& queue = *queue_;
  std::unique_lock lock(queue.mutex);
  const bool queued = !queue.lines.empty() || queue.writing;
  if (!known || S_ISREG(about.st_mode) || (S_ISCHR(about.st_mode) && !queued && takes(0))) {
    const std::string all = (queue.cut ? "\n" : "") + (queue.dropped > 0 ? queue.told(queue.dropped) : "") + out;
    std::string_view left = all;
    if (write_piece(left)) {
      queue.dropped = 0;
      queue.cut = false;
      return;
    }
    queue.cut = queue.cut || left.size() < all.size();  // the disk is full, for example
    ++queue.dropped;
    ++queue.lost;
    return;
  }
  if (queue.ending || queue.lines.size() + out.size() > kQueueBytes) {
    ++queue.dropped;
    ++queue.lost;
    return;
  }
  queue.lines += out;
  if (!std::exchange(queue.started, true)) {
    try {
      std::thread([its = queue_] { its->write(); }).detach();
    } catch (const std::system_error&) {
      queue.started = false;  // lines wait for one that comes when there are threads
    }
  }
  queue.changed.notify_all();
}

}  // namespace nnex::serve
