#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "serve/listen.h"
#include "serve/server_impl.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

constexpr size_t kReadAhead = 64 << 10;                     // bytes of a connection that wait unread
constexpr auto kLinger = std::chrono::seconds(2);           // for a client to read the last answer
constexpr auto kOnTheWay = std::chrono::milliseconds(100);  // that a request may take from its client to us
constexpr timeval kTick = {0, 50'000};

/// Raises the limit of open files to what the system lets this process have; connections that it admits. Of few files
/// half are for connections, each of which takes `files` of them.
int connections_admitted(int wanted, int files) {
  constexpr rlim_t kOwn = 64;  // files of models, the log, the loop
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  const auto each = static_cast<rlim_t>(files);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > static_cast<rlim_t>(wanted) * each + kOwn) return wanted;
  return std::max(1, static_cast<int>((limit.rlim_cur - std::min(kOwn, limit.rlim_cur / 2)) / each));
}

/// Those that the system has for a listener, of which there is one at least.
size_t connections_waiting(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 1;
  return std::max<size_t>(1, info.tcpi_unacked);  // Linux: of a listener, the length of its queue
}

}  // namespace

Server::Impl::Impl(const ServerOptions& o, Api& a, Metrics& m, Budget& b, const Log& l)
    : options(o), api(a), metrics(m), budget(b), log(l) {}

Server::Impl::~Impl() {
  stop_listening();
  connections.clear();
  wake.reset();
  if (wake_fd >= 0) ::close(wake_fd);
}

Status Server::Impl::bind() {
  const auto refused = [&](std::string_view why) {
    return Error(Code::unreadable, fmt::format("cannot listen: {}", why));
  };
  base.reset(event_base_new());
  if (!base) return refused("no event loop");
  NNEX_ASSIGN(const Listening listening, listen_on(options.host, options.port));
  address = listening.address;
  path = listening.path;
  const auto on_accept = [](evconnlistener*, evutil_socket_t fd, sockaddr* from, int length, void* self) {
    static_cast<Impl*>(self)->accept(fd, from, length);
  };
  constexpr int kListens = 0;  // already
  listener.reset(evconnlistener_new(base.get(), on_accept, this, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                                    kListens, listening.fd));
  if (!listener) {
    ::close(listening.fd);
    return refused(std::strerror(errno));
  }
  // Too many open files, for example: connections wait until the next tick.
  evconnlistener_set_error_cb(listener.get(), [](evconnlistener* l, void* self) {
    evconnlistener_disable(l);
    static_cast<Impl*>(self)->paused = true;
  });
  admitted = connections_admitted(options.connections, options.files);
  if (admitted < options.connections)
    log.line("connections limited", {{"connections", admitted},
                                     {"asked", options.connections},
                                     {"because", "the limit of open files of this process (ulimit -Hn)"}});
  waiting.reset(event_new(
      base.get(), evconnlistener_get_fd(listener.get()), EV_READ,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->drop_idlest(); }, this));

  wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) return refused(std::strerror(errno));
  wake.reset(event_new(
      base.get(), wake_fd, EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->take_answers(); }, this));
  event_add(wake.get(), nullptr);
  flush.reset(event_new(
      base.get(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->write_answers(); }, this));
  tick.reset(event_new(
      base.get(), -1, EV_PERSIST, [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->check_times(); },
      this));
  event_add(tick.get(), &kTick);
  const auto on_hangup = [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->reload(); };
  const auto on_end = [](evutil_socket_t number, short, void* self) {
    static_cast<Impl*>(self)->end(number == SIGINT);
  };
  hangup.reset(evsignal_new(base.get(), SIGHUP, on_hangup, this));
  event_add(hangup.get(), nullptr);
  for (const int number : {SIGTERM, SIGINT}) {
    ends.emplace_back(evsignal_new(base.get(), number, on_end, this));
    event_add(ends.back().get(), nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  return {};
}

void Server::Impl::accept(evutil_socket_t fd, const sockaddr* from, int length) {
  ++metrics.accepted;
  auto c = std::make_unique<Connection>(*this);
  c->id = ++last_id;
  c->peer = address_text(from, static_cast<socklen_t>(length));
  const int yes = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  c->stream.reset(bufferevent_socket_new(base.get(), fd, BEV_OPT_CLOSE_ON_FREE));
  if (!c->stream) {
    ::close(fd);
    return;
  }
  ++metrics.connections;
  bufferevent_setcb(
      c->stream.get(),
      [](bufferevent*, void* p) {
        Connection& its = *static_cast<Connection*>(p);
        its.server.read(its);
      },
      [](bufferevent*, void* p) {
        Connection& its = *static_cast<Connection*>(p);
        its.server.written(its);
      },
      [](bufferevent*, short what, void* p) {
        Connection& its = *static_cast<Connection*>(p);
        its.server.on_event(its, what);
      },
      c.get());
  bufferevent_setwatermark(c->stream.get(), EV_READ, 0, kReadAhead);
  bufferevent_enable(c->stream.get(), EV_READ | EV_WRITE);
  connections.emplace(c->id, std::move(c));
  if (connections.size() >= static_cast<size_t>(admitted)) {
    evconnlistener_disable(listener.get());
    paused = true;
    event_add(waiting.get(), nullptr);
  }
}

void Server::Impl::drop(Connection& c) {
  --metrics.connections;
  connections.erase(c.id);
  if (paused && listener && ending != Ending::now && connections.size() < static_cast<size_t>(admitted)) {
    paused = false;
    event_del(waiting.get());
    evconnlistener_enable(listener.get());
  }
}

/// Whether a client has stalled, or has sent or read less than its rate since the time it may stall was over.
bool Server::Impl::too_slow(const Connection& c, Clock::time_point now) const {
  if (now - c.moved > options.client_timeout) return true;
  const std::chrono::duration<double> over = now - c.since - options.client_timeout;
  return over.count() * static_cast<double>(options.client_rate) > static_cast<double>(c.bytes);
}

/// Bytes of an answer that its client has not taken: those that wait here, and those that the system has sent or holds.
size_t Server::Impl::untaken(const Connection& c) {
  int held = 0;
  if (::ioctl(bufferevent_getfd(c.stream.get()), SIOCOUTQ, &held) != 0) held = 0;
  return evbuffer_get_length(bufferevent_get_output(c.stream.get())) + static_cast<size_t>(held);
}

void Server::Impl::check_times() {
  const auto now = Clock::now();
  std::vector<Connection*> over;
  for (auto& [id, c] : connections) {
    bool end = false;
    switch (c->state) {
      case State::reading:
        end = c->reader.begun() ? too_slow(*c, now) : now - c->since > options.idle_timeout;
        break;
      case State::answering:
      case State::answered:
        break;
      case State::writing: {
        if (const size_t left = untaken(*c); left < c->unsent) {
          c->moved = now;
          c->bytes += c->unsent - left;
          c->unsent = left;
        }
        end = too_slow(*c, now);
        break;
      }
      case State::lingering:
        end = now - c->since > kLinger;
        break;
    }
    if (end) over.push_back(c.get());
  }
  for (Connection* c : over) {
    if (c->state == State::reading && c->reader.begun()) {
      ++metrics.cut;
      fail(*c, 408, "the request came too slowly");
      continue;
    }
    if (c->state == State::writing) ++metrics.cut;
    drop(*c);
  }
  // Nobody was idle when others came: those who stop meanwhile are.
  if (paused && listener && connections.size() >= static_cast<size_t>(admitted)) event_add(waiting.get(), nullptr);
  if (paused && listener && ending != Ending::now && connections.size() < static_cast<size_t>(admitted)) {
    paused = false;
    evconnlistener_enable(listener.get());
  }
  if (ending != Ending::no) check_end(now);
}

/// Connections that nobody uses go, as many as wait to be taken: clients that keep more than there are would shut
/// everybody out, those who ask for the server's health, too. First those that are answered and not closed by their
/// client, then those that have waited longest for a request.
void Server::Impl::drop_idlest() {
  if (!listener || !paused) return;
  const auto now = Clock::now();
  const auto answered_last = [](const Connection& c) { return c.state == State::lingering; };
  std::vector<Connection*> idle;
  for (auto& [id, c] : connections)
    if ((answered_last(*c) || (c->state == State::reading && !c->reader.begun())) && now - c->since >= kOnTheWay)
      idle.push_back(c.get());
  const size_t some = std::min(idle.size(), connections_waiting(evconnlistener_get_fd(listener.get())));
  std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(some), idle.end(),
                    [&](const Connection* a, const Connection* b) {
                      return std::pair(!answered_last(*a), a->since) < std::pair(!answered_last(*b), b->since);
                    });
  for (size_t i = 0; i < some; ++i) drop(*idle[i]);
}

/// The first signal: no longer ready, and no connection is kept; after a while (at once for SIGINT) none is taken. The
/// second: that while is over. The third: nothing is waited for.
void Server::Impl::end(bool at_once) {
  const auto now = Clock::now();
  if (ending == Ending::now) return cut();
  if (ending == Ending::no) {
    {
      const std::lock_guard lock(ending_mutex);
      log.line("draining", {{"connections", connections.size()}});
      metrics.draining = true;
      if (options.on_draining) options.on_draining();
    }
    ending = Ending::soon;
    ending_since = now;
  } else {
    at_once = true;
  }
  if (at_once) ending_since = now - options.drain_delay;
  check_end(now);
}

void Server::Impl::check_end(Clock::time_point now) {
  if (now - ending_since < options.drain_delay) return;
  if (ending == Ending::soon) {
    ending = Ending::now;
    accept_waiting();
    event_del(waiting.get());
    stop_listening();
  }
  const auto closed = ending_since + options.drain_delay;
  std::vector<Connection*> idle;  // those that were just taken, or kept, may get a request yet
  for (auto& [id, c] : connections)
    if (c->state == State::reading && !c->reader.begun() && now - std::max(c->since, closed) >= kOnTheWay)
      idle.push_back(c.get());
  for (Connection* c : idle) drop(*c);
  if (connections.empty()) {
    event_base_loopbreak(base.get());
  } else if (now - ending_since > options.drain_delay + options.drain_timeout) {
    cut();
  }
}

void Server::Impl::stop_listening() {
  if (!path.empty()) ::unlink(path.c_str());
  path.clear();
  listener.reset();
}

/// Waits for nobody any more.
void Server::Impl::cut() {
  log.line("cut", {{"connections", connections.size()}});
  all_answered = !in_flight();
  event_base_loopbreak(base.get());
}

/// Takes the connections that the system has for us, which it would reset when the listener goes.
void Server::Impl::accept_waiting() {
  while (connections.size() < static_cast<size_t>(admitted)) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const int fd = ::accept4(evconnlistener_get_fd(listener.get()), reinterpret_cast<sockaddr*>(&from), &length,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    accept(fd, reinterpret_cast<const sockaddr*>(&from), static_cast<int>(length));
  }
}

/// Whether a request is being read, run or answered.
bool Server::Impl::in_flight() const {
  return std::any_of(connections.begin(), connections.end(), [](const auto& each) {
    const Connection& c = *each.second;
    return c.state != State::lingering && (c.state != State::reading || c.reader.begun());
  });
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, Api& api, Metrics& metrics, Budget& budget,
                                               const Log& log) {
  auto impl = std::make_unique<Impl>(options, api, metrics, budget, log);
  NNEX_TRY(impl->bind());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::address() const { return impl_->address; }

int Server::connections() const { return impl_->admitted; }

bool Server::run(const std::function<void()>& reload) {
  impl_->reload = reload;
  impl_->loop_thread = std::this_thread::get_id();
  event_base_dispatch(impl_->base.get());
  impl_->ends.clear();
  for (auto& [id, c] : impl_->connections)
    if (c->pending) c->pending->cancel();
  impl_->connections.clear();
  return impl_->all_answered;
}

void Server::stop() {
  impl_->stopped = true;
  impl_->wake_loop();
}

void Server::unless_ending(const std::function<void()>& say) {
  const std::lock_guard lock(impl_->ending_mutex);
  if (!impl_->metrics.draining) say();
}

std::chrono::microseconds Server::time_left() const {
  using std::chrono::microseconds;
  if (!impl_->all_answered) return microseconds(0);
  const auto end = impl_->ending_since + impl_->options.drain_delay + impl_->options.drain_timeout;
  return std::max(microseconds(0), std::chrono::duration_cast<microseconds>(end - Clock::now()));
}

}  // namespace nnex::serve
