#include "shared/ending.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "nnex/unfinished.h"

#if !defined(__EMSCRIPTEN__)
#define NNEX_HAS_SIGNALS 1
#include <signal.h>

#include <cerrno>
#include <system_error>
#include <thread>
#endif

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  std::mutex mutex;
  std::set<std::string> folders;
};

/// Never destroyed: a signal may come while the program ends.
Scratch& scratch() {
  static auto& all = *new Scratch;
  return all;
}

void remove_everything() {
  remove_unfinished();
  scratch().mutex.lock();  // and nobody gets it any more
  std::error_code ignored;
  for (const std::string& folder : scratch().folders) fs::remove_all(folder, ignored);
}

}  // namespace

void end_now(int exit_code) {
  remove_everything();
  std::_Exit(exit_code);
}

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code error;
  ScratchFolder out;
  const std::lock_guard lock(scratch().mutex);
  std::string folder = (fs::temp_directory_path(error) / "nnex.XXXXXX").string();
  if (error || !::mkdtemp(folder.data()))
    return Error(Code::unreadable, fmt::format("cannot make a scratch folder '{}'", folder));
  scratch().folders.insert(folder);
  out.path_ = std::move(folder);
  return out;
}

void ScratchFolder::remove() {
  if (path_.empty()) return;
  const std::lock_guard lock(scratch().mutex);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  scratch().folders.erase(path_);
  path_.clear();
}

#ifdef NNEX_HAS_SIGNALS

namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

int wake_end = -1;  // written to by the handler, before which it is set

std::atomic<int> asked_code = -1;  // below 0: the program ends by the signal

/// Wakes the thread, which the first signal ends: some senders send two.
void wake(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(wake_end, &byte, 1);
  errno = before;
}

void wait_for_signal(int end) {
  unsigned char number = 0;
  while (::read(end, &number, 1) < 0 && errno == EINTR) {
  }
  if (number == 0) return;
  remove_everything();
  if (const int code = asked_code; code >= 0) std::_Exit(code);
  sigset_t its;
  sigemptyset(&its), sigaddset(&its, number);
  ::signal(number, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &its, nullptr);
  ::raise(number);
  std::_Exit(128 + number);
}

}  // namespace

void keep_standard_streams() {
  for (const int number : {0, 1, 2})  // opened the wrong way round: who uses one is told that it is closed
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF) (void)!::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
}

void clean_up_on_signals() {
  ::signal(SIGXFSZ,
           SIG_IGN);  // a file that grows past a limit is an error of its write, after which things are cleaned up
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  wake_end = ends[1];
  try {
    std::thread(wait_for_signal, ends[0]).detach();
  } catch (const std::system_error&) {
    return;  // without threads signals end the program as ever
  }
  for (const int number : kEnding) {
    struct sigaction now = {}, before = {};
    now.sa_handler = wake;
    now.sa_flags = SA_RESTART;
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) ::sigaction(number, &now, nullptr);
  }
}

void end_on_signals_with(int exit_code) { asked_code = exit_code; }

#else

void keep_standard_streams() {}
void clean_up_on_signals() {}
void end_on_signals_with(int) {}

#endif

}  // namespace nnex::cli
