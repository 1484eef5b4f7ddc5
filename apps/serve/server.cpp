#include "serve/server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shared/try.h"

namespace nnex::serve {
namespace {

constexpr size_t kReadAhead = 64 << 10;                     // bytes of a connection that wait unread
constexpr size_t kReadAtOnce = 128 << 10;                   // bytes of a body that one call of the system hands over
constexpr int kReadsInTurn = 8;                             // of one connection, before others have theirs
constexpr double kMinRate = 16 << 10;                       // bytes a second of a client, beside its timeout
constexpr auto kIdle = std::chrono::seconds(75);            // between two requests of a connection
constexpr auto kLinger = std::chrono::seconds(2);           // for a client to read the last answer
constexpr auto kOnTheWay = std::chrono::milliseconds(100);  // that a request may take from its client to us
constexpr timeval kTick = {0, 50'000};

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* p) const { Free(p); }
};
using Base = std::unique_ptr<event_base, Freed<event_base, event_base_free>>;
using Event = std::unique_ptr<event, Freed<event, event_free>>;
using Listener = std::unique_ptr<evconnlistener, Freed<evconnlistener, evconnlistener_free>>;
using Stream = std::unique_ptr<bufferevent, Freed<bufferevent, bufferevent_free>>;

/// "127.0.0.1:8000", "[::1]:8000"
std::string text_of(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(address, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  return address->sa_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

/// Writes what the system takes without waiting; how many bytes.
size_t write_now(evutil_socket_t fd, std::string_view head, std::string_view body) {
  iovec parts[] = {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}};
  const ssize_t n = ::writev(fd, parts, body.empty() ? 1 : 2);  // what fails now fails again, with its event
  return n > 0 ? static_cast<size_t>(n) : 0;
}

/// Raises the limit of open files to what the system lets this process have; connections that it admits.
int connections_admitted(int wanted) {
  constexpr rlim_t kOwn = 64;  // files of models, the log, the loop
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > static_cast<rlim_t>(wanted) + kOwn) return wanted;
  return std::max(1, static_cast<int>(limit.rlim_cur) - static_cast<int>(kOwn));
}

enum class State : uint8_t {
  reading,    ///< Of the next request.
  answering,  ///< The Api has it.
  answered,   ///< Its answer is written when the loop turns.
  writing,    ///< Of its answer.
  lingering   ///< The last answer is sent; the client may still be sending.
};

struct Answer {
  uint64_t connection = 0, sequence = 0;
  Response response;
  Lease lease;
};

}  // namespace

struct Server::Impl {
  struct Connection;
  ServerOptions options;
  Api& api;
  Metrics& metrics;
  Budget& budget;
  const Log& log;
  Base base;
  Listener listener;
  Event tick, wake, flush;
  std::vector<Event> signals;
  int wake_fd = -1;
  std::string address;
  int admitted = 0;
  std::function<void()> reload;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections;
  uint64_t last_id = 0;
  std::thread::id loop_thread;
  std::mutex mutex;
  std::vector<Answer> answers;     // of other threads
  std::vector<uint64_t> answered;  // connections in that state
  enum class Ending : uint8_t { no, soon, now } ending = Ending::no;
  Clock::time_point ending_since;
  bool all_answered = true, paused = false;

  Impl(const ServerOptions& o, Api& a, Metrics& m, Budget& b, const Log& l);
  ~Impl();

  Status bind();
  void accept(evutil_socket_t fd, const sockaddr* from, int length);
  void read(Connection& c);
  bool moved(Connection& c, size_t bytes);
  void read_body(Connection& c);
  void dispatch(Connection& c);
  void fail(Connection& c, int status, std::string_view message);
  void fail(Connection& c, Response response, std::string_view because);
  void respond(Connection& c, Response response, Lease lease);
  void written(Connection& c);
  void write_answers();
  void event(Connection& c, short what);
  void drop(Connection& c);
  void take_answers();
  void check_times();
  bool too_slow(const Connection& c, Clock::time_point now) const;
  void end(bool at_once);
  void check_end(Clock::time_point now);
  void accept_waiting();
  void drop_idlest();
  bool in_flight() const;
  bool closing(const Connection& c) const;
};

struct Server::Impl::Connection {
  Impl& server;
  uint64_t id = 0;
  Stream stream;
  std::string peer;
  RequestReader reader;
  Lease lease;
  State state = State::reading;
  uint64_t sequence = 0;  // of its requests
  bool keep_alive = true, head_alone = false, ended = false, admitted = false;
  std::shared_ptr<Pending> pending;
  Clock::time_point since = Clock::now(), moved = since;  // of the state; bytes last came or went
  size_t bytes = 0;                                       // that came or went since then
  std::string head, body;                                 // of an answer, until the loop turns
  size_t unsent = 0;

  explicit Connection(Impl& s) : server(s), reader(s.options.limits), lease(s.budget) {}

  void enter(State next) {
    state = next;
    since = moved = Clock::now();
    bytes = 0;
    admitted = false;
  }
};

Server::Impl::Impl(const ServerOptions& o, Api& a, Metrics& m, Budget& b, const Log& l)
    : options(o), api(a), metrics(m), budget(b), log(l) {}

Server::Impl::~Impl() {
  connections.clear();
  wake.reset();
  if (wake_fd >= 0) ::close(wake_fd);
}

Status Server::Impl::bind() {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string port = fmt::to_string(options.port);
  const auto refused = [&](std::string_view why) {
    return Error(Code::unreadable, fmt::format("cannot listen on {}:{}: {}", options.host, options.port, why));
  };
  if (const int fault = ::getaddrinfo(options.host.c_str(), port.c_str(), &hints, &found); fault != 0)
    return refused(::gai_strerror(fault));
  const std::unique_ptr<addrinfo, Freed<addrinfo, ::freeaddrinfo>> owner(found);
  base.reset(event_base_new());
  if (!base) return refused("no event loop");
  const auto on_accept = [](evconnlistener*, evutil_socket_t fd, sockaddr* from, int length, void* self) {
    static_cast<Impl*>(self)->accept(fd, from, length);
  };
  listener.reset(evconnlistener_new_bind(base.get(), on_accept, this,
                                         LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, SOMAXCONN,
                                         found->ai_addr, static_cast<int>(found->ai_addrlen)));
  if (!listener) return refused(std::strerror(errno));
  // Too many open files, for example: connections wait until the next tick.
  evconnlistener_set_error_cb(listener.get(), [](evconnlistener* l, void* self) {
    evconnlistener_disable(l);
    static_cast<Impl*>(self)->paused = true;
  });
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(evconnlistener_get_fd(listener.get()), reinterpret_cast<sockaddr*>(&bound), &length);
  address = text_of(reinterpret_cast<const sockaddr*>(&bound), length);
  admitted = connections_admitted(options.connections);

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
  const auto on_signal = [](evutil_socket_t number, short, void* self) {
    Impl& server = *static_cast<Impl*>(self);
    if (number == SIGHUP)
      server.reload();
    else
      server.end(number == SIGINT);
  };
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    signals.emplace_back(evsignal_new(base.get(), number, on_signal, this));
    event_add(signals.back().get(), nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  return {};
}

void Server::Impl::accept(evutil_socket_t fd, const sockaddr* from, int length) {
  ++metrics.accepted;
  auto c = std::make_unique<Connection>(*this);
  c->id = ++last_id;
  c->peer = text_of(from, static_cast<socklen_t>(length));
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
        its.server.event(its, what);
      },
      c.get());
  bufferevent_setwatermark(c->stream.get(), EV_READ, 0, kReadAhead);
  bufferevent_enable(c->stream.get(), EV_READ | EV_WRITE);
  connections.emplace(c->id, std::move(c));
  if (connections.size() >= static_cast<size_t>(admitted)) {
    evconnlistener_disable(listener.get());
    paused = true;
  }
}

/// Bytes have come, or a request may begin with bytes that came before. What comes while a request is being answered
/// waits; there is room for kReadAhead bytes of it.
void Server::Impl::read(Connection& c) {
  evbuffer* in = bufferevent_get_input(c.stream.get());
  if (c.state == State::lingering) {
    evbuffer_drain(in, evbuffer_get_length(in));
    return;
  }
  while (c.state == State::reading && evbuffer_get_length(in) > 0) {
    evbuffer_iovec part{};
    evbuffer_peek(in, -1, nullptr, &part, 1);
    if (!c.reader.begun()) c.enter(State::reading);
    const size_t taken = c.reader.feed({static_cast<const char*>(part.iov_base), part.iov_len});
    evbuffer_drain(in, taken);
    if (!moved(c, taken)) return;
  }
  if (c.state == State::reading) read_body(c);
}

/// The reader of the request has so many bytes more. Whether it takes others; what is to be done where it does not is.
bool Server::Impl::moved(Connection& c, size_t bytes) {
  c.moved = Clock::now();
  c.bytes += bytes;
  switch (c.reader.state()) {
    case RequestReader::State::failed:
      ++metrics.refused;
      return fail(c, c.reader.fault().status, c.reader.fault().message), false;
    case RequestReader::State::complete:
      return dispatch(c), false;
    case RequestReader::State::body:  // which nobody reads of a client without a key
      if (c.admitted) break;
      if (auto refusal = api.without_key(c.reader.request())) {
        ++metrics.refused;
        return fail(c, std::move(*refusal), "no key"), false;
      }
      c.admitted = true;
      break;
    case RequestReader::State::head:
      break;
  }
  if (!c.lease.resize(static_cast<int64_t>(c.reader.held()))) {
    ++metrics.refused;
    return fail(c, 429, "requests hold all memory there is for them"), false;
  }
  if (c.reader.wants_continue()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    bufferevent_write(c.stream.get(), kContinue.data(), kContinue.size());
  }
  return true;
}

/// What has come of a large body, straight into it: libevent takes 4 KiB at a time. What is left, and the end of the
/// connection, libevent finds when the loop turns.
void Server::Impl::read_body(Connection& c) {
  for (int i = 0; i < kReadsInTurn; ++i) {
    const std::span<char> room = c.reader.room(kReadAtOnce);
    if (room.empty()) return;
    const ssize_t n = ::recv(bufferevent_getfd(c.stream.get()), room.data(), room.size(), MSG_DONTWAIT);
    const size_t came = n > 0 ? static_cast<size_t>(n) : 0;
    c.reader.filled(came);
    if (came == 0 || !moved(c, came) || came < room.size()) return;
  }
}

void Server::Impl::dispatch(Connection& c) {
  ++metrics.requests;
  Call call;
  call.request = c.reader.take();
  call.lease = std::exchange(c.lease, Lease(budget));
  call.peer = c.peer;
  c.keep_alive = call.request.keep_alive;
  c.head_alone = call.request.method == "HEAD";
  c.enter(State::answering);
  const uint64_t id = c.id, sequence = ++c.sequence;
  auto pending = api.answer(std::move(call), [this, id, sequence](Response response, Lease lease) {
    if (std::this_thread::get_id() == loop_thread) {
      const auto at = connections.find(id);
      if (at != connections.end() && at->second->sequence == sequence)
        respond(*at->second, std::move(response), std::move(lease));
      return;
    }
    bool first = false;
    {
      const std::lock_guard lock(mutex);
      first = answers.empty();
      answers.push_back({id, sequence, std::move(response), std::move(lease)});
    }
    const uint64_t one = 1;
    if (first) (void)!::write(wake_fd, &one, sizeof one);
  });
  if (c.state == State::answering) c.pending = std::move(pending);
}

void Server::Impl::take_answers() {
  uint64_t count = 0;
  (void)!::read(wake_fd, &count, sizeof count);
  std::vector<Answer> ready;
  {
    const std::lock_guard lock(mutex);
    ready.swap(answers);
  }
  for (Answer& answer : ready) {
    const auto at = connections.find(answer.connection);
    if (at != connections.end() && at->second->sequence == answer.sequence && at->second->state == State::answering)
      respond(*at->second, std::move(answer.response), std::move(answer.lease));
  }
}

/// Answers what cannot be read; the connection ends.
void Server::Impl::fail(Connection& c, int status, std::string_view message) {
  Response r = Response::error(status, message);
  if (status == 429) r.headers.push_back({"Retry-After", "1"});
  fail(c, std::move(r), message);
}

void Server::Impl::fail(Connection& c, Response r, std::string_view because) {
  c.keep_alive = false;
  if (options.log_requests) {
    const Request& request = c.reader.request();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - c.since).count();
    log.line("request", {{"status", r.status},
                         {"method", request.method},
                         {"path", request.path},
                         {"us", us},
                         {"in", request.body.size()},
                         {"out", r.body.size()},
                         {"peer", c.peer},
                         {"because", because}});
  }
  respond(c, std::move(r), Lease(budget));
}

void Server::Impl::respond(Connection& c, Response response, Lease lease) {
  c.pending.reset();
  c.lease = std::move(lease);
  c.keep_alive = !closing(c);
  c.enter(State::answered);
  c.head = head_of(response, !c.keep_alive);
  c.body = c.head_alone ? std::string() : std::move(response.body);
  if (answered.empty()) event_active(flush.get(), EV_TIMEOUT, 0);
  answered.push_back(c.id);
}

/// Writes what was answered since the loop turned last: one after the other, so that a client who is woken by the first
/// finds the others, too. What the system does not take at once is left to libevent.
void Server::Impl::write_answers() {
  std::vector<uint64_t> ids;
  ids.swap(answered);
  for (const uint64_t id : ids) {
    const auto at = connections.find(id);
    if (at == connections.end()) continue;
    Connection& c = *at->second;
    c.enter(State::writing);
    evbuffer* out = bufferevent_get_output(c.stream.get());
    // "100 Continue" may be there still.
    const size_t sent = evbuffer_get_length(out) > 0 ? 0 : write_now(bufferevent_getfd(c.stream.get()), c.head, c.body);
    if (sent == c.head.size() + c.body.size()) {
      written(c);
      continue;
    }
    if (sent < c.head.size()) evbuffer_add(out, c.head.data() + sent, c.head.size() - sent);
    const size_t from = sent - std::min(sent, c.head.size());
    auto body = std::make_unique<std::string>(std::move(c.body));
    const auto done = [](const void*, size_t, void* p) { delete static_cast<std::string*>(p); };
    if (from < body->size() &&
        evbuffer_add_reference(out, body->data() + from, body->size() - from, done, body.get()) == 0)
      (void)body.release();
    c.unsent = evbuffer_get_length(out);
  }
}

/// An answer is with the system: the next request may begin, or the connection ends.
void Server::Impl::written(Connection& c) {
  if (c.state != State::writing) return;
  c.lease = Lease(budget);
  c.body = {};
  if (c.keep_alive && !c.ended) {
    c.enter(State::reading);
    return read(c);
  }
  if (c.ended) return drop(c);
  // A client that is still sending would lose the answer if the connection were closed under it.
  c.enter(State::lingering);
  ::shutdown(bufferevent_getfd(c.stream.get()), SHUT_WR);
  evbuffer* in = bufferevent_get_input(c.stream.get());
  evbuffer_drain(in, evbuffer_get_length(in));
}

void Server::Impl::event(Connection& c, short what) {
  if ((c.state == State::answered || c.state == State::writing) && (what & BEV_EVENT_EOF)) {
    c.ended = true;  // it sends no more, and may read the rest
    bufferevent_disable(c.stream.get(), EV_READ);
    return;
  }
  if (c.state == State::answering) {
    ++metrics.gone;
    if (c.pending) c.pending->cancel();
  }
  drop(c);
}

void Server::Impl::drop(Connection& c) {
  --metrics.connections;
  connections.erase(c.id);
  if (paused && listener && ending != Ending::now && connections.size() < static_cast<size_t>(admitted)) {
    paused = false;
    evconnlistener_enable(listener.get());
  }
}

/// Whether a client has stalled, or sends or reads so slowly that it comes to the same.
bool Server::Impl::too_slow(const Connection& c, Clock::time_point now) const {
  const auto allowed = options.client_timeout +
                       std::chrono::microseconds(static_cast<int64_t>(static_cast<double>(c.bytes) / kMinRate * 1e6));
  return now - c.moved > options.client_timeout || now - c.since > allowed;
}

void Server::Impl::check_times() {
  const auto now = Clock::now();
  std::vector<Connection*> over;
  for (auto& [id, c] : connections) {
    bool end = false;
    switch (c->state) {
      case State::reading:
        end = c->reader.begun() ? too_slow(*c, now) : now - c->since > kIdle;
        break;
      case State::answering:
      case State::answered:
        break;
      case State::writing: {
        const size_t left = evbuffer_get_length(bufferevent_get_output(c->stream.get()));
        if (left != c->unsent) {
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
  if (paused && listener && connections.size() >= static_cast<size_t>(admitted)) drop_idlest();
  if (paused && listener && ending != Ending::now && connections.size() < static_cast<size_t>(admitted)) {
    paused = false;
    evconnlistener_enable(listener.get());
  }
  if (ending != Ending::no) check_end(now);
}

/// Connections that have waited longest for a request go, some at a time, where others wait to be taken: clients that
/// keep more than there are would shut everybody out, those who ask for the server's health, too.
void Server::Impl::drop_idlest() {
  pollfd waiting = {evconnlistener_get_fd(listener.get()), POLLIN, 0};
  if (::poll(&waiting, 1, 0) <= 0) return;
  const auto now = Clock::now();
  std::vector<Connection*> idle;
  for (auto& [id, c] : connections)
    if (c->state == State::reading && !c->reader.begun() && now - c->since >= kOnTheWay) idle.push_back(c.get());
  const size_t some = std::min(idle.size(), static_cast<size_t>(std::max(1, admitted / 64)));
  std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(some), idle.end(),
                    [](const Connection* a, const Connection* b) { return a->since < b->since; });
  for (size_t i = 0; i < some; ++i) drop(*idle[i]);
}

/// The first signal: no longer ready, and no connection is kept; after a while (at once for SIGINT) none is taken. The
/// second: that while is over. The third: nothing is waited for.
void Server::Impl::end(bool at_once) {
  const auto now = Clock::now();
  if (ending == Ending::now) {
    all_answered = !in_flight();
    event_base_loopbreak(base.get());
    return;
  }
  if (ending == Ending::no) {
    log.line("draining", {{"connections", connections.size()}});
    metrics.draining = true;
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
    listener.reset();
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
    log.line("cut", {{"connections", connections.size()}});
    all_answered = !in_flight();
    event_base_loopbreak(base.get());
  }
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

bool Server::Impl::closing(const Connection& c) const { return !c.keep_alive || ending != Ending::no; }

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, Api& api, Metrics& metrics, Budget& budget,
                                               const Log& log) {
  auto impl = std::make_unique<Impl>(options, api, metrics, budget, log);
  NNEX_TRY(impl->bind());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::address() const { return impl_->address; }

bool Server::run(const std::function<void()>& reload) {
  impl_->reload = reload;
  impl_->loop_thread = std::this_thread::get_id();
  event_base_dispatch(impl_->base.get());
  for (auto& [id, c] : impl_->connections)
    if (c->pending) c->pending->cancel();
  impl_->connections.clear();
  return impl_->all_answered;
}

std::chrono::microseconds Server::time_left() const {
  using std::chrono::microseconds;
  if (!impl_->all_answered) return microseconds(0);
  const auto end = impl_->ending_since + impl_->options.drain_delay + impl_->options.drain_timeout;
  return std::max(microseconds(0), std::chrono::duration_cast<microseconds>(end - Clock::now()));
}

}  // namespace nnex::serve
