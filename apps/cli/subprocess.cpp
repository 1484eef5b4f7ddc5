#include "subprocess.h"

#include <fmt/format.h>

#ifndef __EMSCRIPTEN__
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

extern char** environ;
#endif

namespace nnex::cli {

#ifdef __EMSCRIPTEN__

Result<std::string> run_program(const Program& program, const std::string&, size_t) {
  return Error(Code::unsupported, fmt::format("'{}' cannot be started: this system starts no programs", program.name));
}

#else

namespace {

/// Both ends of a pipe, closed in the end.
struct Pipe {
  std::array<int, 2> ends = {-1, -1};
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close(0), close(1); }
  void close(size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
};

Error failed(const std::string& program, int error) {
  return {Code::unreadable, fmt::format("'{}' cannot be started: {}", program, std::strerror(error))};
}

/// Starts the program between the pipes.
Result<pid_t> start(const std::vector<std::string>& words, const Pipe& in, const Pipe& out) {
  posix_spawn_file_actions_t actions;
  if (const int error = posix_spawn_file_actions_init(&actions)) return failed(words[0], error);
  const auto destroy = [](posix_spawn_file_actions_t* a) { posix_spawn_file_actions_destroy(a); };
  const std::unique_ptr<posix_spawn_file_actions_t, decltype(destroy)> owner(&actions, destroy);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  // What we ignore while we write to it, the program does not inherit.
  posix_spawnattr_t attributes;
  if (const int error = posix_spawnattr_init(&attributes)) return failed(words[0], error);
  const auto drop = [](posix_spawnattr_t* a) { posix_spawnattr_destroy(a); };
  const std::unique_ptr<posix_spawnattr_t, decltype(drop)> its(&attributes, drop);
  sigset_t ignored;
  sigemptyset(&ignored), sigaddset(&ignored, SIGPIPE), sigaddset(&ignored, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ))
    return failed(words[0], error);
  return pid;
}

/// Feeds and reads until the program closes its output. Whether it stayed within the limit.
bool exchange(Pipe& in, Pipe& out, const std::string& input, size_t max_output, std::string& printed) {
  size_t written = 0;
  std::string piece(size_t{1} << 16, '\0');
  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  if (input.empty()) in.close(1);
  while (true) {
    std::array<pollfd, 2> ends = {pollfd{out.ends[0], POLLIN, 0}, pollfd{in.ends[1], POLLOUT, 0}};
    if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return true;
    if (in.ends[1] >= 0 && ends[1].revents) {
      const ssize_t n = ::write(in.ends[1], input.data() + written, input.size() - written);
      if (n > 0) written += static_cast<size_t>(n);
      // A program that reads no more has what it needs.
      if ((n < 0 && errno != EAGAIN && errno != EINTR) || written == input.size()) in.close(1);
    }
    if (!ends[0].revents) continue;
    const ssize_t n = ::read(out.ends[0], piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (printed.size() + static_cast<size_t>(n) > max_output) return false;
    printed.append(piece, 0, static_cast<size_t>(n));
  }
}

}  // namespace

Result<std::string> run_program(const Program& program, const std::string& input, size_t max_output) {
  Pipe in, out;
  if (!in.open() || !out.open()) return failed(program.name, errno);
  struct sigaction quiet = {}, before = {};
  quiet.sa_handler = SIG_IGN;  // writing to a program that has ended is an error, not our end
  ::sigaction(SIGPIPE, &quiet, &before);
  auto pid = start(program.words, in, out);
  std::string printed;
  bool within = true;
  if (pid.ok()) {
    in.close(0), out.close(1);
    within = exchange(in, out, input, max_output, printed);
    if (!within) ::kill(*pid, SIGKILL);  // waited for below, whatever it does with other signals
    in.close(1), out.close(0);
  }
  ::sigaction(SIGPIPE, &before, nullptr);
  if (!pid.ok()) return std::move(pid).error();
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!within) return Error(Code::limit, fmt::format("'{}' printed more than {} bytes", program.name, max_output));
  if (WIFSIGNALED(status))
    return Error(Code::unreadable, fmt::format("'{}' was ended by signal {}", program.name, WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return Error(Code::unreadable, fmt::format("'{}' ended with exit code {}", program.name, WEXITSTATUS(status)));
  return printed;
}

#endif

}  // namespace nnex::cli
