// Messages to a collector of OpenTelemetry, over HTTP (libevent's client).

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "serve/spans.h"

namespace nnex::serve {
namespace {

constexpr int kCollectorSeconds = 2;  // for a collector to connect, to read and to answer
constexpr ev_ssize_t kLongestAnswer = 64 << 10;

class Collector {
 public:
  Collector(std::string host, uint16_t port, std::string path)
      : host_(std::move(host)), path_(std::move(path)), port_(port), base_(event_base_new()) {}
  ~Collector() {
    if (connection_) evhttp_connection_free(connection_);
    if (base_) event_base_free(base_);
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  Spans::Sent send(const std::string& body) {
    if (!base_) return Spans::Sent::never;
    if (!connection_) {
      connection_ = evhttp_connection_base_new(base_, nullptr, host_.c_str(), port_);
      if (!connection_) return Spans::Sent::later;
      evhttp_connection_set_timeout(connection_, kCollectorSeconds);
      evhttp_connection_set_max_headers_size(connection_, kLongestAnswer);
      evhttp_connection_set_max_body_size(connection_, kLongestAnswer);
    }
    status_ = 0;
    answered_ = false;
    const auto on_answer = [](evhttp_request* r, void* self) {
      auto& its = *static_cast<Collector*>(self);
      its.status_ = r ? evhttp_request_get_response_code(r) : 0;
      its.answered_ = true;
      event_base_loopbreak(its.base_);
    };
    evhttp_request* request = evhttp_request_new(on_answer, this);
    if (!request) return Spans::Sent::later;
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    const bool v6 = host_.find(':') != std::string::npos;
    evhttp_add_header(headers, "Host", fmt::format("{}:{}", v6 ? "[" + host_ + "]" : host_, port_).c_str());
    evhttp_add_header(headers, "Content-Type", "application/json");
    evbuffer_add(evhttp_request_get_output_buffer(request), body.data(), body.size());
    const bool made = evhttp_make_request(connection_, request, EVHTTP_REQ_POST, path_.c_str()) == 0;
    if (made && !answered_) event_base_dispatch(base_);  // a name that is none has been answered already
    if (status_ == 0) evhttp_connection_free(std::exchange(connection_, nullptr));
    return meaning_of(status_);
  }

 private:
  /// What OTLP says of statuses: these may be sent again, others not.
  static Spans::Sent meaning_of(int status) {
    if (status >= 200 && status < 300) return Spans::Sent::yes;
    for (const int again : {0, 429, 502, 503, 504})
      if (status == again) return Spans::Sent::later;
    return Spans::Sent::never;
  }

  std::string host_, path_;
  uint16_t port_;
  event_base* base_;
  evhttp_connection* connection_ = nullptr;
  int status_ = 0;  // 0: no answer
  bool answered_ = false;
};

}  // namespace

Result<Spans::Send> otlp_over_http(const std::string& url) {
  const std::unique_ptr<evhttp_uri, decltype(&evhttp_uri_free)> uri(evhttp_uri_parse(url.c_str()), evhttp_uri_free);
  const char* scheme = uri ? evhttp_uri_get_scheme(uri.get()) : nullptr;
  const char* host = uri ? evhttp_uri_get_host(uri.get()) : nullptr;
  if (!scheme || std::string_view(scheme) != "http" || !host || !*host)
    return Error(Code::invalid_argument,
                 fmt::format("--otlp '{}': needed http://HOST:PORT of a collector (TLS is left to a proxy)", url));
  std::string name = host;
  if (name.front() == '[') name = name.substr(1, name.size() - 2);
  const int port = evhttp_uri_get_port(uri.get());
  if (port == 0 || port > UINT16_MAX)
    return Error(Code::invalid_argument, fmt::format("--otlp '{}': found port {}; needed 1 to 65535", url, port));
  constexpr int kStandardPort = 4318;
  const std::string path = evhttp_uri_get_path(uri.get());
  const auto collector = std::make_shared<Collector>(name, static_cast<uint16_t>(port < 0 ? kStandardPort : port),
                                                     path.empty() || path == "/" ? "/v1/traces" : path);
  return Spans::Send([collector](const std::string& body) { return collector->send(body); });
}

}  // namespace nnex::serve
