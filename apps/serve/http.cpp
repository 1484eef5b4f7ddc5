#include "serve/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "shared/json.h"

namespace nnex::serve {
namespace {

constexpr int kMaxEmptyLines = 8;
constexpr std::string_view kNoHosts = " \t/@?#\\\"<>^`{|}";  ///< Characters that names and addresses lack.

bool is_token(std::string_view s) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !s.empty() && std::all_of(s.begin(), s.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string in_small_letters(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), small);
  return out;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = small(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Whether it is a number, however large.
bool is_number(std::string_view s, int base) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [=](char c) { return hex(c) >= 0 && hex(c) < base; });
}

/// Whether a request may begin so: with a method, or the end of an empty line before it.
bool begins(char c) { return is_token({&c, 1}) || c == '\r' || c == '\n'; }

/// A number of at most 18 digits, and nothing else.
std::optional<uint64_t> whole(std::string_view s, int base) {
  uint64_t n = 0;
  if (s.empty() || s.size() > (base == 16 ? 15u : 18u)) return {};
  const auto [end, fault] = std::from_chars(s.data(), s.data() + s.size(), n, base);
  if (fault != std::errc() || end != s.data() + s.size()) return {};
  return n;
}

/// Whether a list of words ("keep-alive, Upgrade") has the word, in any letters.
bool lists(const std::string& value, std::string_view word) {
  const std::string all = in_small_letters(value);
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find(',', at), all.size());
    if (trimmed(std::string_view(all).substr(at, end - at)) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

const std::string* Request::header(std::string_view name) const {
  for (const Header& h : headers)
    if (h.name == name) return &h.value;
  return nullptr;
}

bool RequestReader::fail(int status, std::string message) {
  fault_ = {status, std::move(message)};
  state_ = State::failed;
  return false;
}

bool RequestReader::wants_continue() { return std::exchange(continue_, false); }

Request RequestReader::take() {
  Request out = std::move(request_);
  *this = RequestReader(limits_);
  return out;
}

/// Reads on in head_ to the end of a line ("\r\n"), which it leaves out; line_ended_ tells whether it was there.
size_t RequestReader::read_line(std::string_view bytes, size_t limit, int status, const char* what) {
  const size_t newline = bytes.find('\n');
  const size_t taken = newline == std::string_view::npos ? bytes.size() : newline + 1;
  line_ended_ = false;
  if (head_.size() + taken > limit) return fail(status, fmt::format("{} is longer than {} bytes", what, limit)), taken;
  head_.append(bytes.substr(0, taken));
  if (newline == std::string_view::npos) return taken;
  if (head_.size() < 2 || head_[head_.size() - 2] != '\r')
    return fail(400, "a line ends without a carriage return"), taken;
  line_ended_ = true;
  return taken;
}

size_t RequestReader::feed(std::string_view bytes) {
  size_t read = 0;
  while (read < bytes.size() && (state_ == State::head || state_ == State::body)) {
    const std::string_view rest = bytes.substr(read);
    switch (part_) {
      case Part::head: {
        const bool is_first = request_.method.empty();
        if (head_.empty() && !begins(rest[0])) {
          fail(400, "the request begins with no method of HTTP (a client of TLS? needed http)");
          break;
        }
        read += read_line(rest, limits_.head, 431, "the head of the request");
        if (state_ == State::failed && fault_.status == 431 && !is_first) {  // whose page may read the answer
          const HttpFault fault = fault_;
          read_headers(std::string_view(head_).substr(0, head_.rfind("\r\n") + 2));
          fault_ = fault;
        }
        if (!line_ended_ || state_ == State::failed) break;
        if (empty_lines_ < kMaxEmptyLines && head_ == "\r\n") {  // before a request
          head_.clear();
          ++empty_lines_;
        } else if (head_.size() == 2) {
          fail(400, "no request line");
        } else if (is_first) {
          read_request_line(std::string_view(head_).substr(0, head_.size() - 2));
        } else if (head_.ends_with("\r\n\r\n")) {
          if (read_headers(std::exchange(head_, {})) && read_framing() && state_ == State::head) state_ = State::body;
        }
        break;
      }
      case Part::plain:
      case Part::chunk:
        read += read_plain(rest);
        break;
      case Part::chunk_size:
        read += read_line(rest, 1024, 400, "the line of a chunk's size");
        if (line_ended_ && state_ != State::failed) read_chunk_size();
        break;
      case Part::chunk_end:
        read += read_line(rest, 2, 400, "what follows a chunk");
        if (line_ended_ && state_ != State::failed) head_.clear(), part_ = Part::chunk_size;
        break;
      case Part::trailers:
        read += read_line(rest, limits_.head - trailers_, 431, "the trailers");
        if (!line_ended_ || state_ == State::failed) break;
        trailers_ += head_.size();
        if (head_ == "\r\n") state_ = State::complete;
        head_.clear();
        break;
    }
  }
  return read;
}

/// The lines behind the first one.
bool RequestReader::read_headers(std::string_view head) {
  head.remove_prefix(head.find("\r\n") + 2);
  while (head.size() > 2) {
    const size_t end = head.find("\r\n");
    if (!read_header(head.substr(0, end))) return false;
    head.remove_prefix(end + 2);
  }
  return true;
}

/// METHOD TARGET HTTP/1.x
bool RequestReader::read_request_line(std::string_view line) {
  const size_t a = line.find(' '), b = line.rfind(' ');
  if (a == std::string_view::npos || a == b) return fail(400, "the request line is not METHOD PATH HTTP/1.1");
  const std::string_view method = line.substr(0, a), version = line.substr(b + 1);
  std::string_view target = line.substr(a + 1, b - a - 1);
  if (!is_token(method)) return fail(400, "the request line has no method");
  if (version.size() != 8 || !version.starts_with("HTTP/"))
    return fail(400, "the request line names no version of HTTP");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return fail(505, "needed HTTP/1.1 or HTTP/1.0");
  minor_ = version.back() - '0';
  if (target.empty() || std::any_of(target.begin(), target.end(), [](char c) { return c <= ' ' || c == 0x7f; }))
    return fail(400, "the path of the request line has characters that no path has");
  if (target[0] != '/' && target != "*") {  // as it is sent to proxies
    const size_t scheme = target.find("://");
    const size_t slash = scheme == std::string_view::npos ? scheme : target.find('/', scheme + 3);
    if (slash == std::string_view::npos) return fail(400, "the request line has no path");
    authority_ = target.substr(scheme + 3, slash - scheme - 3);
    target.remove_prefix(slash);
  }
  request_.method = method;
  request_.path = target.substr(0, target.find('?'));
  return true;
}

bool RequestReader::read_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return fail(400, "a header is not NAME: VALUE");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(),
                  [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f; }))
    return fail(400, "the value of a header has control characters");
  if (request_.headers.size() >= limits_.headers)
    return fail(431, fmt::format("more than {} headers", limits_.headers));
  request_.headers.push_back({in_small_letters(line.substr(0, colon)), std::string(value)});
  return true;
}

/// How long the body is and what becomes of the connection. A request with two lengths, or a length and chunks, is
/// refused: two programs could read it as two different requests.
bool RequestReader::read_framing() {
  int hosts = 0, lengths = 0, codings = 0;
  bool close = false, keep = false;
  for (const Header& h : request_.headers) {
    keep = keep || (h.name == "connection" && lists(h.value, "keep-alive"));
    close = close || (h.name == "connection" && lists(h.value, "close"));
    hosts += h.name == "host";
    lengths += h.name == "content-length";
    codings += h.name == "transfer-encoding";
  }
  if (hosts > 1 || (hosts == 0 && minor_ == 1)) return fail(400, "needed one header Host");
  if (authority_ && hosts == 0) request_.headers.push_back({"host", {}});
  for (Header& h : request_.headers) {
    if (h.name != "host") continue;
    if (authority_) h.value = *authority_;  // RFC 9112, 3.2.2: what a whole address names counts
    if (h.value.find_first_of(kNoHosts) != std::string::npos)
      return fail(400, "Host: needed a name or an address, and perhaps a port");
  }
  if (lengths + codings > 1) return fail(400, "needed one header Content-Length or Transfer-Encoding");
  request_.asked_keep_alive = minor_ == 0 && keep;
  request_.keep_alive = !close && (minor_ == 1 || keep);
  if (const std::string* expect = request_.header("expect")) {
    if (in_small_letters(*expect) != "100-continue") return fail(417, "Expect: needed 100-continue");
    continue_ = minor_ == 1;
  }
  if (codings) {
    if (minor_ == 0) return fail(400, "Transfer-Encoding in HTTP/1.0");
    if (in_small_letters(*request_.header("transfer-encoding")) != "chunked")
      return fail(501, "Transfer-Encoding: needed chunked");
    request_.has_body = true;
    part_ = Part::chunk_size;
    return true;
  }
  if (!lengths) {
    state_ = State::complete;
    return true;
  }
  const auto length = whole(*request_.header("content-length"), 10);
  if (!length && is_number(*request_.header("content-length"), 10))
    return fail(
        413, fmt::format("the body has {} bytes; the limit is {}", *request_.header("content-length"), limits_.body));
  if (!length) return fail(400, "Content-Length is no number of bytes");
  if (*length > limits_.body)
    return fail(413, fmt::format("the body has {} bytes; the limit is {}", *length, limits_.body));
  request_.has_body = true;
  part_ = Part::plain;
  announced_ = remaining_ = *length;
  if (remaining_ == 0) state_ = State::complete;
  return true;
}

size_t RequestReader::read_plain(std::string_view bytes) {
  const size_t n = static_cast<size_t>(std::min<uint64_t>(remaining_, bytes.size()));
  reserve(n);
  request_.body.append(bytes.substr(0, n));
  advance(n);
  return n;
}

void RequestReader::advance(size_t bytes) {
  remaining_ -= bytes;
  if (remaining_ > 0) return;
  if (part_ == Part::plain)
    state_ = State::complete;
  else
    part_ = Part::chunk_end;
}

std::span<char> RequestReader::room(size_t limit) {
  if (state_ != State::body || part_ != Part::plain) return {};
  room_ = static_cast<size_t>(std::min<uint64_t>(remaining_, limit));
  reserve(room_);
  const size_t came = request_.body.size();
  request_.body.resize(came + room_);
  return {request_.body.data() + came, room_};
}

void RequestReader::filled(size_t bytes) {
  request_.body.resize(request_.body.size() - (std::exchange(room_, 0) - bytes));
  advance(bytes);
}

/// Memory grows with what has come, by half, and to no more than what was announced: a string of its own, since one
/// that grows in place takes twice what it had. What is announced has 1 MiB from the start.
void RequestReader::reserve(size_t more) {
  constexpr size_t kAtOnce = 1 << 20;
  std::string& body = request_.body;
  const size_t needed = body.size() + more;
  if (needed <= body.capacity()) return;
  size_t room = std::max({needed, body.capacity() + body.capacity() / 2, announced_ ? kAtOnce : 0});
  if (announced_) room = std::min(room, static_cast<size_t>(*announced_));
  std::string larger;
  larger.reserve(room);
  larger = body;
  body.swap(larger);
}

/// SIZE [; extensions], in hexadecimal digits.
void RequestReader::read_chunk_size() {
  const std::string_view line = std::string_view(head_).substr(0, head_.size() - 2);
  const std::string_view digits = trimmed(line.substr(0, line.find(';')));
  const auto size = whole(digits, 16);
  if (!size && !is_number(digits, 16)) return void(fail(400, "the size of a chunk is no hexadecimal number"));
  if (!size || *size > limits_.body - request_.body.size())
    return void(fail(413, fmt::format("the body has more than {} bytes, which is the limit", limits_.body)));
  head_.clear();
  remaining_ = *size;
  part_ = *size == 0 ? Part::trailers : Part::chunk;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

Response Response::error(int status, std::string_view message) {
  Response r;
  r.status = status;
  r.body =
      nlohmann::ordered_json{{"error", message}}.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return r;
}

std::string date_of(std::time_t seconds) {
  constexpr std::string_view kDays = "SunMonTueWedThuFriSat", kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::tm t{};
  ::gmtime_r(&seconds, &t);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays.substr(static_cast<size_t>(t.tm_wday) * 3, 3),
                     t.tm_mday, kMonths.substr(static_cast<size_t>(t.tm_mon) * 3, 3), t.tm_year + 1900, t.tm_hour,
                     t.tm_min, t.tm_sec);
}

std::string head_of(const Response& response, bool close, std::string_view date) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, reason_of(response.status), date);
  for (const Header& h : response.headers) head += fmt::format("{}: {}\r\n", h.name, h.value);
  if (!response.body.empty()) head += fmt::format("Content-Type: {}\r\n", response.type);
  if (response.status != 204) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  return head + (close ? "Connection: close\r\n\r\n" : "\r\n");
}

namespace {

/// Whether the next segment is the name of a model, or a version of it.
bool is_chosen(const std::vector<std::string>& before) {
  const size_t n = before.size();
  return (n == 2 && before[1] == "models") || (n == 3 && before[1] == "repository" && before[2] == "models") ||
         (n == 4 && before[1] == "models" && before[3] == "versions");
}

}  // namespace

std::optional<std::vector<std::string>> segments_of(std::string_view path) {
  std::vector<std::string> out;
  if (path.empty() || path[0] != '/') return {};
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view raw = path.substr(at + 1, end - at - 1);
    std::string segment;
    if (raw.find('%') != std::string_view::npos && !is_chosen(out)) return {};
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '%') {
        segment += raw[i];
        continue;
      }
      const int high = i + 2 < raw.size() ? hex(raw[i + 1]) : -1, low = high >= 0 ? hex(raw[i + 2]) : -1;
      if (low < 0 || high * 16 + low == 0) return {};
      segment += static_cast<char>(high * 16 + low);
      i += 2;
    }
    out.push_back(std::move(segment));
    at = end;
  }
  return out;
}

}  // namespace nnex::serve
