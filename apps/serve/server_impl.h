#pragma once
// What the files of the server share: its state, on the thread of the event loop. server.cpp listens, watches the time
// and ends; connection.cpp reads requests and writes answers.

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <sys/socket.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "serve/server.h"

namespace nnex::serve {

struct Server::Impl {
  template <class T, void (*Free)(T*)>
  struct Freed {
    void operator()(T* p) const { Free(p); }
  };
  using Base = std::unique_ptr<event_base, Freed<event_base, event_base_free>>;
  using Event = std::unique_ptr<event, Freed<event, event_free>>;
  using Listener = std::unique_ptr<evconnlistener, Freed<evconnlistener, evconnlistener_free>>;
  using Stream = std::unique_ptr<bufferevent, Freed<bufferevent, bufferevent_free>>;

  struct Connection;
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

  ServerOptions options;
  Api& api;
  Metrics& metrics;
  Budget& budget;
  const Log& log;
  Base base;
  Listener listener;
  Event tick, wake, flush;
  Event waiting;            // to be taken, while no more are
  std::vector<Event> ends;  // SIGTERM, SIGINT
  Event hangup;
  int wake_fd = -1;
  std::string address, path;  // path: of a socket in a folder
  int admitted = 0;
  std::function<void()> reload;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections;
  uint64_t last_id = 0;
  std::thread::id loop_thread;
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::vector<Answer> answers;     // of other threads
  std::vector<uint64_t> answered;  // connections in that state
  enum class Ending : uint8_t { no, soon, now } ending = Ending::no;
  std::mutex ending_mutex;  // while it begins
  Clock::time_point ending_since;
  bool all_answered = true, paused = false;
  std::time_t date_at = -1;
  std::string date;  // of that second

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
  void on_event(Connection& c, short what);
  void drop(Connection& c);
  void take_answers();
  void wake_loop() const;
  void check_times();
  bool too_slow(const Connection& c, Clock::time_point now) const;
  static size_t untaken(const Connection& c);
  void end(bool at_once);
  void check_end(Clock::time_point now);
  void cut();
  void accept_waiting();
  void stop_listening();
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
  bool keep_alive = true, asked_keep_alive = false, head_alone = false, ended = false, admitted = false;
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

}  // namespace nnex::serve
