#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "serve/server_impl.h"

namespace nnex::serve {
namespace {

constexpr size_t kReadAtOnce = 128 << 10;  // bytes of a body that one call of the system hands over
constexpr int kReadsInTurn = 8;            // of one connection, before others have theirs

/// Writes what the system takes without waiting; how many bytes.
size_t write_now(evutil_socket_t fd, std::string_view head, std::string_view body) {
  iovec parts[] = {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}};
  const ssize_t n = ::writev(fd, parts, body.empty() ? 1 : 2);  // what fails now fails again, with its event
  return n > 0 ? static_cast<size_t>(n) : 0;
}

}  // namespace

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
    case RequestReader::State::body:  // which nobody reads of a client that is refused
      if (c.admitted) break;
      if (auto refusal = api.access().answer(c.reader.request())) {
        ++metrics.refused;
        return fail(c, std::move(*refusal), refusal->status == 401 ? "no key" : "no leave"), false;
      }
      c.admitted = true;
      break;
    case RequestReader::State::head:
      break;
  }
  if (const auto held = static_cast<int64_t>(c.reader.held()); !c.lease.resize(held)) {
    ++metrics.refused;
    if (c.lease.ever(held)) return fail(c, 429, "requests hold all memory there is for them"), false;
    return fail(c, 413,
                fmt::format("the request takes {} bytes or more; requests and answers may hold {} together", held,
                            c.lease.limit())),
           false;
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
  c.asked_keep_alive = call.request.asked_keep_alive;
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
    if (first) wake_loop();
  });
  if (c.state == State::answering) c.pending = std::move(pending);
}

void Server::Impl::wake_loop() const {
  const uint64_t one = 1;
  (void)!::write(wake_fd, &one, sizeof one);
}

void Server::Impl::take_answers() {
  uint64_t count = 0;
  (void)!::read(wake_fd, &count, sizeof count);
  if (stopped) event_base_loopbreak(base.get());
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
  Response r = Response::error(status, message);  // which says why in the log, too
  if (status == 429) r.headers.push_back({"Retry-After", "1"});
  api.count_refused(c.reader.request(), status, c.since);
  fail(c, std::move(r), message);
}

void Server::Impl::fail(Connection& c, Response r, std::string_view because) {
  c.keep_alive = false;
  api.access().allow_page(c.reader.request(), r);
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
  ++metrics.answered[static_cast<size_t>(response.status)];
  c.pending.reset();
  c.lease = std::move(lease);
  c.keep_alive = !closing(c);
  c.enter(State::answered);
  if (const std::time_t now = std::time(nullptr); now != date_at) {
    date_at = now;
    date = date_of(now);
  }
  if (c.keep_alive && c.asked_keep_alive) response.headers.push_back({"Connection", "keep-alive"});
  c.head = head_of(response, !c.keep_alive, date);
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
    c.unsent = untaken(c);
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

void Server::Impl::on_event(Connection& c, short what) {
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

bool Server::Impl::closing(const Connection& c) const { return !c.keep_alive || ending != Ending::no; }

}  // namespace nnex::serve
