// http_load [--split] [--on] PORT CONNECTIONS SECONDS REQUESTS PAIR...: asks a server of HTTP/1.1 on 127.0.0.1 as fast
// as it answers, one request at a time on each connection, until SECONDS have passed or REQUESTS are answered (0: no
// bound), and compares every answer. A PAIR is two files, NAME.request (the whole request as it is sent) and
// NAME.answer (the body that must come back, byte for byte); connections take them in turn. Prints one JSON object.
//   failed    no answer, half an answer, or another status than 200
//   wrong     another body
//   again     asked once more, on a new connection, since the connection ended before a byte of the answer came
// --on: SIGTERM is needed, too: it goes on after REQUESTS, and before that SIGTERM ends nothing. SECONDS bound it
// still.
// --split: every other connection sends the head of a request and its body in two parts, as many clients do.
// The time of a request is from its first try to its answer.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t told = 0;  // to end

struct Pair {
  std::string request, answer;
  size_t head = 0;  // bytes of the request's head
};

struct Connection {
  int fd = -1;
  size_t pair = 0, sent = 0;
  std::string in;
  Clock::time_point asked;  // the request's first try
  bool repeated = false;    // it was asked before, on another connection
  bool over = false;
};

struct Counts {
  uint64_t requests = 0, failed = 0, wrong = 0, again = 0, reopened = 0;
  std::map<int, uint64_t> statuses;
  std::vector<float> microseconds;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "http_load: %s\n", what.c_str());
  std::exit(2);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The value of a header; its name in small letters.
std::string_view header(std::string_view head, std::string_view name) {
  for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    if (!std::equal(name.begin(), name.end(), line.begin(), [&](char b, char a) { return same(a, b); })) continue;
    line.remove_prefix(name.size() + 1);
    while (!line.empty() && line[0] == ' ') line.remove_prefix(1);
    return line;
  }
  return {};
}

class Load {
 public:
  Load(uint16_t port, std::vector<Pair> pairs, uint64_t wanted, bool split, bool on)
      : port_(port), pairs_(std::move(pairs)), wanted_(wanted), split_(split), on_(on), epoll_(::epoll_create1(0)) {}

  void run(size_t connections, double seconds) {
    connections_.resize(connections);
    began_ = Clock::now();
    for (size_t i = 0; i < connections; ++i) {
      connections_[i].pair = i % pairs_.size();
      begin(connections_[i]);
    }
    const auto end = began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<epoll_event> events(connections);
    live_ = connections;
    while (live_ > 0) {
      const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
      ending_ = ending_ || (seconds > 0 && Clock::now() >= end);
      for (int i = 0; i < n; ++i)
        step(connections_[events[static_cast<size_t>(i)].data.u64], events[static_cast<size_t>(i)].events);
      // Who hangs at the end has lost its request.
      if (!ending_ || Clock::now() < end + std::chrono::seconds(kPatience)) continue;
      for (Connection& c : connections_)
        if (!c.over) ++counts.failed, ++counts.statuses[0], leave(c);
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - began_).count();
  }

  void print() {
    auto& times = counts.microseconds;
    std::sort(times.begin(), times.end());
    const auto at = [&](double part) {
      return times.empty()
                 ? 0
                 : times[std::min(times.size() - 1, static_cast<size_t>(part * static_cast<double>(times.size())))];
    };
    std::printf(
        "{\"requests\": %lu, \"failed\": %lu, \"wrong\": %lu, \"again\": %lu, \"reopened\": %lu, \"seconds\": %.3f, "
        "\"rate\": %.1f, ",
        counts.requests, counts.failed, counts.wrong, counts.again, counts.reopened, seconds_,
        static_cast<double>(counts.requests) / seconds_);
    std::printf(
        "\"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f, \"statuses\": {",
        at(0.5), at(0.9), at(0.99), at(0.999), at(1));
    const char* comma = "";
    for (const auto& [status, n] : counts.statuses) std::printf("%s\"%d\": %lu", std::exchange(comma, ", "), status, n);
    std::printf("}}\n");
  }

  Counts counts;

 private:
  static constexpr int kPatience = 70;

  void begin(Connection& c) {
    c.asked = Clock::now();
    c.repeated = false;
    open(c);
  }

  void open(Connection& c) {
    c.in.clear();
    c.sent = 0;
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (c.fd < 0) fail(std::strerror(errno));
    const int yes = 1;
    (void)::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT;
    e.data.u64 = static_cast<uint64_t>(&c - connections_.data());
    if (::connect(c.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS)
      fail(std::strerror(errno));
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &e);
  }

  void send(Connection& c) {
    const bool waited = c.sent < pairs_[c.pair].request.size() && c.in.empty();
    write(c);
    if (waited) watch(c, c.sent < pairs_[c.pair].request.size() ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  /// Sends what the system takes now; what ended is told by the next read.
  void write(Connection& c) const {
    const Pair& pair = pairs_[c.pair];
    const bool split = split_ && (&c - connections_.data()) % 2 == 1;
    while (c.sent < pair.request.size()) {
      const size_t end = split && c.sent < pair.head ? pair.head : pair.request.size();
      const ssize_t n = ::send(c.fd, pair.request.data() + c.sent, end - c.sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      c.sent += static_cast<size_t>(n);
      if (split && c.sent == pair.head) return;  // the body when the loop turns
    }
  }

  void watch(Connection& c, uint32_t what) const {
    epoll_event e{};
    e.events = what;
    e.data.u64 = static_cast<uint64_t>(&c - connections_.data());
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &e);
  }

  void step(Connection& c, uint32_t what) {
    if (c.over) return;
    if ((what & EPOLLOUT) && c.sent < pairs_[c.pair].request.size()) send(c);
    if (!(what & (EPOLLIN | EPOLLERR | EPOLLHUP))) return;
    char part[65536];
    const ssize_t n = ::recv(c.fd, part, sizeof part, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return ended(c);
    c.in.append(part, static_cast<size_t>(n));
    const size_t end = c.in.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const std::string_view head(c.in.data(), end + 2);
    const std::string_view length = header(head, "content-length");
    const size_t size = end + 4 + std::strtoul(std::string(length).c_str(), nullptr, 10);
    if (c.in.size() < size) return;
    const int status = std::atoi(c.in.c_str() + 9);
    ++counts.requests;
    counts.microseconds.push_back(std::chrono::duration<float, std::micro>(Clock::now() - c.asked).count());
    if (status != 200) {
      ++counts.failed, ++counts.statuses[status];
    } else if (std::string_view(c.in).substr(end + 4) != pairs_[c.pair].answer) {
      ++counts.wrong;
    }
    const bool closes = header(head, "connection") == "close";
    c.pair = (c.pair + 1) % pairs_.size();
    if (closes) ++counts.reopened;
    next(c, closes);
  }

  /// The next request, unless there have been enough.
  void next(Connection& c, bool anew) {
    const bool enough = wanted_ > 0 && counts.requests + live_ > wanted_;
    if (ending_ || (enough && (!on_ || told != 0))) return leave(c);
    if (anew) {
      ::close(c.fd);
      return begin(c);
    }
    c.asked = Clock::now();
    c.repeated = false;
    c.sent = 0;
    c.in.clear();
    write(c);
    if (c.sent < pairs_[c.pair].request.size()) watch(c, EPOLLIN | EPOLLOUT);
  }

  /// The connection has ended. Where no byte of an answer had come the request is asked once more, as HTTP's clients
  /// do.
  void ended(Connection& c) {
    ::close(c.fd);
    if (c.in.empty() && !c.repeated && !ending_) {
      ++counts.again;
      c.repeated = true;
      return open(c);
    }
    ++counts.requests, ++counts.failed, ++counts.statuses[0];
    if (ending_) {
      c.over = true;
      --live_;
    } else {
      begin(c);
    }
  }

  void leave(Connection& c) {
    ::close(c.fd);
    c.over = true;
    --live_;
  }

  uint16_t port_;
  std::vector<Pair> pairs_;
  uint64_t wanted_;
  bool split_, on_;
  int epoll_;
  std::vector<Connection> connections_;
  Clock::time_point began_;
  double seconds_ = 0;
  size_t live_ = 0;
  bool ending_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  bool split = false, on = false;
  for (; argc > 1 && argv[1][0] == '-'; --argc, ++argv) {
    split = split || std::string_view(argv[1]) == "--split";
    on = on || std::string_view(argv[1]) == "--on";
  }
  if (argc < 6) fail("needed [--split] [--on] PORT CONNECTIONS SECONDS REQUESTS PAIR...");
  std::vector<Pair> pairs;
  for (int i = 5; i < argc; ++i) {
    pairs.push_back({read_file(std::string(argv[i]) + ".request"), read_file(std::string(argv[i]) + ".answer")});
    pairs.back().head = pairs.back().request.find("\r\n\r\n") + 4;
  }
  const double seconds = std::atof(argv[3]);
  const uint64_t wanted = std::strtoul(argv[4], nullptr, 10);
  if (seconds <= 0 && wanted == 0) fail("needed a bound: SECONDS or REQUESTS above 0");
  Load load(static_cast<uint16_t>(std::atoi(argv[1])), std::move(pairs), wanted, split, on);
  if (on) std::signal(SIGTERM, [](int) { told = 1; });
  load.run(static_cast<size_t>(std::max(1, std::atoi(argv[2]))), seconds);
  load.print();
  return load.counts.failed + load.counts.wrong > 0;
}
