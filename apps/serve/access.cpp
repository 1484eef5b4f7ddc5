#include "serve/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nnex/elements.h"
#include "nnex/file.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

std::string in_lower_case(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return s;
}

/// The key of "Bearer KEY", whose first word may have any letters; empty: it is none.
std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  for (size_t i = 0; i < kScheme.size(); ++i)
    if (i >= authorization.size() || (authorization[i] | 0x20) != kScheme[i]) return {};
  const size_t at = authorization.find_first_not_of(' ', kScheme.size());
  return at == std::string_view::npos ? std::string_view() : authorization.substr(at);
}

/// "host:port" without the port, "[::1]:8000" as "::1".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Whether it is an address, to which no name has led.
bool is_address(std::string_view host) {
  in6_addr address{};
  const std::string text(host);
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 || ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_health(const std::vector<std::string>& path) {
  return path.size() == 3 && path[0] == "v2" && path[1] == "health";
}

/// repository/models/NAME/load and unload
bool is_control(const std::vector<std::string>& path) {
  return path.size() == 5 && path[0] == "v2" && path[1] == "repository" && path[2] == "models" &&
         (path[4] == "load" || path[4] == "unload");
}

Response without_key(std::string_view needed) {
  Response r = Response::error(401, needed);
  r.headers.push_back({"WWW-Authenticate", "Bearer"});
  return r;
}

}  // namespace

Status Keys::read(const std::string& path) {
  constexpr std::string_view kBlanks = " \t\r";
  NNEX_ASSIGN(const std::string text, read_file(path));
  std::vector<std::string> hashes;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const size_t first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos || line[first] == '#') continue;
    hashes.push_back(sha256(line.substr(first, line.find_last_not_of(kBlanks) + 1 - first)));
  }
  if (hashes.empty()) return Error(Code::invalid_argument, fmt::format("'{}' has no key; needed one a line", path));
  const std::lock_guard lock(mutex_);
  hashes_ = std::move(hashes);
  return {};
}

/// Hashes are compared, whole: how long that takes tells nothing of a key.
bool Keys::admit(const Request& request) const {
  const std::lock_guard lock(mutex_);
  if (hashes_.empty()) return true;
  const auto known = [&](std::string_view key) {
    return std::find(hashes_.begin(), hashes_.end(), sha256(key)) != hashes_.end();
  };
  const std::string* key = request.header("x-api-key");
  const std::string* authorization = request.header("authorization");
  return (key && known(*key)) || (authorization && known(bearer_of(*authorization)));
}

bool Keys::any() const {
  const std::lock_guard lock(mutex_);
  return !hashes_.empty();
}

bool Access::allows(const std::string& origin) const {
  return std::any_of(origins.begin(), origins.end(), [&](const std::string& o) { return o == "*" || o == origin; });
}

/// Whether a host (in small letters, perhaps with a port) is certainly this server: a name that a page chose may lead
/// here, too, since whoever has the name says where it leads (DNS rebinding).
bool Access::knows(std::string_view host) const {
  const std::string_view name = without_port(host);
  return is_address(name) || name == "localhost" || name.ends_with(".localhost") ||
         std::find(hosts.begin(), hosts.end(), name) != hosts.end();
}

/// Whether "http://host:port" is of the host that the request names, and that is this server. A scheme's own port may
/// be left out.
bool Access::is_own(const std::string& origin, const std::string* host) const {
  const size_t scheme = origin.find("://");
  if (!host || scheme == std::string::npos) return false;
  std::string page = in_lower_case(origin.substr(scheme + 3)), ours = in_lower_case(*host);
  const std::string port = in_lower_case(origin.substr(0, scheme)) == "https" ? ":443" : ":80";
  for (std::string* s : {&page, &ours})
    if (s->ends_with(port)) s->resize(s->size() - port.size());
  return page == ours && knows(ours);
}

void Access::allow_page(const Request& request, Response& response) const {
  const std::string* origin = request.header("origin");
  if (!origin || !allows(*origin)) return;
  response.headers.push_back({"Access-Control-Allow-Origin", *origin});
  response.headers.push_back({"Access-Control-Expose-Headers", "Inference-Header-Content-Length, Retry-After"});
  response.headers.push_back({"Vary", "Origin"});
}

std::optional<Response> Access::answer(const Request& request) const {
  const std::string* origin = request.header("origin");
  const std::string* host = request.header("host");
  if (!hosts.empty() && host && !knows(in_lower_case(*host)))
    return Response::error(421, fmt::format("no server of '{}': needed an address, localhost, or its name in "
                                            "--allow-host",
                                            *host));
  const bool asks_leave =
      request.method == "OPTIONS" && origin && request.header("access-control-request-method") != nullptr;
  if ((request.method == "POST" || asks_leave) && origin && !allows(*origin) && !is_own(*origin, host))
    return Response::error(403, fmt::format("web pages of '{}' may not ask: needed a page of this server's address, or "
                                            "its origin in --allow-origin, or its host in --allow-host",
                                            *origin));
  if (asks_leave || (request.method == "OPTIONS" && request.path == "*")) {
    Response r;
    r.status = 204;
    r.headers.push_back({"Allow", "GET, HEAD, POST, OPTIONS"});
    if (!asks_leave) return r;
    r.headers.push_back({"Access-Control-Allow-Methods", "GET, HEAD, POST"});
    r.headers.push_back(
        {"Access-Control-Allow-Headers",
         "Authorization, Content-Encoding, Content-Type, Inference-Header-Content-Length, Timeout, Traceparent, "
         "Tracestate, X-API-Key"});
    r.headers.push_back({"Access-Control-Max-Age", "600"});
    return r;
  }
  const auto path = segments_of(request.path);
  if (path && is_health(*path)) return {};
  const bool controls = path && is_control(*path);
  if (controls && !model_control)
    return Response::error(403, "models are neither loaded nor unloaded by requests (--model-control none)");
  if (controls && control_keys.any()) {
    if (control_keys.admit(request)) return {};
    return without_key("needed a key for the control of models: Authorization: Bearer KEY, or X-API-Key: KEY");
  }
  if (keys.admit(request)) return {};
  return without_key("needed a key: Authorization: Bearer KEY, or X-API-Key: KEY");
}

}  // namespace nnex::serve
