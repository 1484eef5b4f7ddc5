// http_echo PORT ANSWER [TYPE]: a bare server of HTTP on libevent, to compare `nnex serve` with: it reads each request
// whole and answers with the bytes of the file ANSWER. With --raw as a fourth word libevent's own reader of HTTP is
// left out, too: it looks for the end of the head and for the body's length, and nothing else. One thread.

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

struct Answer {
  std::string body, type;
  std::string whole;  // with its head, for --raw
};

void answer(evhttp_request* request, void* p) {
  const auto& its = *static_cast<const Answer*>(p);
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", its.type.c_str());
  evbuffer* out = evbuffer_new();
  evbuffer_add_reference(out, its.body.data(), its.body.size(), nullptr, nullptr);
  evhttp_send_reply(request, 200, "OK", out);
  evbuffer_free(out);
}

/// Answers every request that is there whole.
void read_raw(bufferevent* stream, void* p) {
  const auto& its = *static_cast<const Answer*>(p);
  evbuffer* in = bufferevent_get_input(stream);
  while (true) {
    const evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, nullptr);
    if (end.pos < 0) return;
    const auto* head = reinterpret_cast<const char*>(evbuffer_pullup(in, end.pos + 4));
    constexpr char kLength[] = "\r\nContent-Length: ";
    const auto* at =
        static_cast<const char*>(::memmem(head, static_cast<size_t>(end.pos) + 4, kLength, sizeof kLength - 1));
    const size_t body = at ? std::strtoul(at + sizeof kLength - 1, nullptr, 10) : 0;
    const size_t size = static_cast<size_t>(end.pos) + 4 + body;
    if (evbuffer_get_length(in) < size) return;
    evbuffer_drain(in, size);
    bufferevent_write(stream, its.whole.data(), its.whole.size());
  }
}

void accept_raw(evconnlistener* listener, evutil_socket_t fd, sockaddr*, int, void* p) {
  const int yes = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  bufferevent* stream = bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
  const auto on_event = [](bufferevent* s, short, void*) { bufferevent_free(s); };
  bufferevent_setcb(stream, read_raw, nullptr, on_event, p);
  bufferevent_enable(stream, EV_READ | EV_WRITE);
}

int fail(const char* what) {
  std::fprintf(stderr, "http_echo: %s\n", what);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fail("needed PORT ANSWER [TYPE] [--raw]");
  std::ifstream file(argv[2], std::ios::binary);
  if (!file) return fail("the file of the answer cannot be read");
  Answer its;
  its.body.assign(std::istreambuf_iterator<char>(file), {});
  its.type = argc > 3 ? argv[3] : "application/json";
  its.whole = "HTTP/1.1 200 OK\r\nContent-Type: " + its.type +
              "\r\nContent-Length: " + std::to_string(its.body.size()) + "\r\n\r\n" + its.body;
  const auto port = static_cast<uint16_t>(std::atoi(argv[1]));
  event_base* base = event_base_new();
  if (argc > 4 && std::strcmp(argv[4], "--raw") == 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!evconnlistener_new_bind(base, accept_raw, &its, LEV_OPT_REUSEABLE, SOMAXCONN,
                                 reinterpret_cast<sockaddr*>(&address), sizeof address))
      return fail("the port is taken");
  } else {
    evhttp* server = evhttp_new(base);
    evhttp_set_gencb(server, answer, &its);
    if (evhttp_bind_socket(server, "127.0.0.1", port) != 0) return fail("the port is taken");
  }
  event_base_dispatch(base);
}
