#pragma once
// HTTP/1.1 as a server reads and writes it (RFC 9112), without sockets.

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nnex::serve {

/// Without blanks and tabs around it, as the parts of headers are read.
std::string_view trimmed(std::string_view s);

struct Header {
  std::string name;  ///< In small letters, in requests.
  std::string value;
};

struct Request {
  std::string method;
  std::string path;  ///< As it was sent, without the query: percent signs are not resolved.
  std::vector<Header> headers;
  std::string body;
  bool has_body = false;    ///< A length or chunks were announced, of no bytes perhaps.
  bool keep_alive = false;  ///< The client would send another request on this connection.

  bool asked_keep_alive = false;  ///< By HTTP/1.0, whose clients wait to be told.

  /// The value of a header (name in small letters); null when it is absent. Where it came twice, the first.
  const std::string* header(std::string_view name) const;
};

/// What a request may take.
struct RequestLimits {
  size_t head = 16 << 10;  ///< Bytes of the request line and all headers; of trailers too.
  size_t headers = 100;
  size_t body = 64 << 20;  ///< Bytes, once chunks are put together.
};

/// A request that cannot be answered as it came. The connection ends with the answer.
struct HttpFault {
  int status = 400;
  std::string message;
};

/// Reads one request after another from bytes as they come. Memory is for what has come, and for 1 MiB at most of what
/// is announced, which the system gives only when it is written.
class RequestReader {
 public:
  explicit RequestReader(const RequestLimits& limits) : limits_(limits) {}

  enum class State : uint8_t {
    head,      ///< The request line or a header is not there yet.
    body,      ///< The body is.
    complete,  ///< take() has the request.
    failed     ///< fault() tells why; nothing more is read.
  };

  /// Reads on, to the end of one request at most; how many bytes were read.
  size_t feed(std::string_view bytes);
  State state() const { return state_; }
  /// Whether any byte of the request has come, but for empty lines before it.
  bool begun() const { return !head_.empty() || part_ != Part::head || state_ != State::head; }
  /// Where the next bytes of a body whose length is known may be put, `most` of them at the most; empty where the
  /// request has none to come. filled() must follow.
  std::span<char> room(size_t limit);
  /// So many bytes were put there.
  void filled(size_t bytes);
  /// Bytes of it that have come.
  size_t held() const { return head_.capacity() + request_.body.size(); }
  /// Whether the client waits for "100 Continue" before it sends the body; true once.
  bool wants_continue();
  const HttpFault& fault() const { return fault_; }
  /// What of the request has been read.
  const Request& request() const { return request_; }
  /// The complete request; the reader begins with the next.
  Request take();

 private:
  enum class Part : uint8_t { head, plain, chunk_size, chunk, chunk_end, trailers };

  size_t read_line(std::string_view bytes, size_t limit, int status, const char* what);
  bool read_headers(std::string_view head);
  bool read_request_line(std::string_view line);
  bool read_header(std::string_view line);
  bool read_framing();
  size_t read_plain(std::string_view bytes);
  void read_chunk_size();
  void reserve(size_t more);
  void advance(size_t bytes);
  bool fail(int status, std::string message);

  RequestLimits limits_;
  State state_ = State::head;
  Part part_ = Part::head;
  bool continue_ = false, line_ended_ = false;
  int empty_lines_ = 0;
  int minor_ = 1;
  std::optional<std::string> authority_;  ///< Where the request line names it.
  std::string head_;                      // the head, a chunk's size or a trailer, as far as it has come
  size_t trailers_ = 0;                   // bytes of them
  uint64_t remaining_ = 0;
  std::optional<uint64_t> announced_;
  size_t room_ = 0;  // bytes at the end of the body that nothing was put into so far
  Request request_;
  HttpFault fault_;
};

/// The words of a status: "Not Found".
std::string_view reason_of(int status);

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::vector<Header> headers;
  std::string body;

  /// {"error": "..."}
  static Response error(int status, std::string_view message);
};

/// Seconds since 1970 as HTTP writes them (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_of(std::time_t seconds);

/// The status line and headers of a response, with the empty line; `close`: the connection ends with it.
std::string head_of(const Response& response, bool close, std::string_view date);

/// A path's segments, those that clients name without their percent signs: "/v2/models/a%20b" is v2, models, "a b". A
/// word of the protocol has one spelling, or rules of proxies would see another path than we do: nothing where it is
/// escaped. Nothing, too, where an escape is none, or a segment would hold a zero byte.
std::optional<std::vector<std::string>> segments_of(std::string_view path);

}  // namespace nnex::serve
