#include "serve/spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "nnex/environment.h"
#include "serve/http.h"
#include "shared/json.h"

namespace nnex::serve {
namespace {

using cli::Json;

constexpr size_t kLongestText = 256;  // of a path or a state that a client chose
constexpr int kTries = 5;             // of one message

bool is_hexadecimal(std::string_view s) { return s.find_first_not_of("0123456789abcdef") == std::string_view::npos; }
bool is_zero(std::string_view s) { return s.find_first_not_of('0') == std::string_view::npos; }

Json text(std::string_view key, std::string_view value) { return {{"key", key}, {"value", {{"stringValue", value}}}}; }
Json number(std::string_view key, int64_t value) {
  return {{"key", key}, {"value", {{"intValue", fmt::to_string(value)}}}};
}

/// The path as the protocol writes it, without the names that clients choose; empty: none of the protocol's.
std::string route_of(const std::string& path) {
  auto segments = segments_of(path);
  if (!segments || segments->size() < 2 || (*segments)[0] != "v2") return path == "/v2" ? path : std::string();
  auto& s = *segments;
  const size_t name = s[1] == "models" ? 2 : s[1] == "repository" && s.size() > 3 && s[2] == "models" ? 3 : s.size();
  if (name < s.size()) s[name] = "{model}";
  if (name == 2 && s.size() > 4 && s[3] == "versions") s[4] = "{version}";
  const std::string& last = s.back();
  constexpr std::string_view kLast[] = {"{model}", "{version}", "infer", "ready", "load", "unload", "index"};
  if (std::find(std::begin(kLast), std::end(kLast), last) == std::end(kLast) || s.size() > 6) return {};
  std::string out;
  for (const std::string& segment : s) out += "/" + segment;
  return out;
}

std::string nanoseconds(std::chrono::system_clock::time_point t) {
  return fmt::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count());
}

}  // namespace

std::optional<TraceParent> read_traceparent(std::string_view s) {
  constexpr size_t kTrace = 3, kSpan = 36, kFlags = 53, kSize = 55;
  if (s.size() != kSize || s.substr(0, kTrace) != "00-" || s[kSpan - 1] != '-' || s[kFlags - 1] != '-') return {};
  TraceParent out;
  out.trace_id = s.substr(kTrace, 32);
  out.span_id = s.substr(kSpan, 16);
  const std::string flags(s.substr(kFlags));
  if (!is_hexadecimal(out.trace_id) || !is_hexadecimal(out.span_id) || !is_hexadecimal(flags)) return {};
  if (is_zero(out.trace_id) || is_zero(out.span_id)) return {};
  out.flags = static_cast<uint8_t>(std::stoi(flags, nullptr, 16));
  return out;
}

Spans::Spans(Send send, std::string instance, Metrics& metrics, std::chrono::milliseconds pause)
    : send_(std::move(send)), instance_(std::move(instance)), metrics_(metrics), pause_(pause) {
  std::random_device random;
  ids_ = (uint64_t{random()} << 32) ^ random();
  thread_ = std::thread([this] { work(); });
}

Spans::~Spans() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void Spans::add(RequestSpan span) {
  if (span.parent && !span.parent->sampled()) return;
  if (span.path.size() > kLongestText) span.path.resize(kLongestText);
  const auto now = std::chrono::system_clock::now();
  const std::lock_guard lock(mutex_);
  if (queue_.size() == kQueue) {
    ++metrics_.spans_dropped;
    return;
  }
  queue_.push_back({std::move(span), now});
}

/// Waits for the pause to pass; false: the end comes first.
bool Spans::wait() {
  std::unique_lock lock(mutex_);
  return !ending_.wait_for(lock, pause_, [this] { return ends_; });
}

void Spans::work() {
  bool last = false, delivers = true;
  std::vector<Recorded> all, batch;
  while (!last) {
    last = !wait();
    all.clear();
    {
      const std::lock_guard lock(mutex_);
      all.swap(queue_);
    }
    for (size_t at = 0; at < all.size(); at += batch.size()) {
      const size_t end = std::min(at + kBatch, all.size());
      batch.assign(std::make_move_iterator(all.begin() + static_cast<ptrdiff_t>(at)),
                   std::make_move_iterator(all.begin() + static_cast<ptrdiff_t>(end)));
      // At the end, a collector that does not answer is asked once and no more.
      if (delivers || !ending()) delivers = deliver(batch);
      (delivers ? metrics_.spans_sent : metrics_.spans_dropped) += batch.size();
    }
  }
}

bool Spans::ending() {
  const std::lock_guard lock(mutex_);
  return ends_;
}

/// Sends a message until it is taken, refused, or has been tried often enough.
bool Spans::deliver(const std::vector<Recorded>& batch) {
  const std::string body = message_of(batch);
  for (int i = 0; i < kTries; ++i) {
    const Sent sent = send_(body);
    if (sent != Sent::later) return sent == Sent::yes;
    if (!wait()) return false;
  }
  return false;
}

/// Digits that no other span has, from a generator (splitmix64) that began at random.
std::string Spans::new_id(size_t digits) {
  std::string out;
  while (out.size() < digits) {
    constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
    uint64_t x = ids_.fetch_add(kStep) + kStep;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    out += fmt::format("{:016x}", (x ^ (x >> 31)) | 1);  // never zeros alone, which are no id
  }
  return out;
}

/// ExportTraceServiceRequest in the JSON encoding of OTLP: ids in hexadecimal digits, 64-bit numbers as text.
std::string Spans::message_of(const std::vector<Recorded>& batch) {
  constexpr int kServer = 2, kInternal = 1, kError = 2;
  Json spans = Json::array();
  for (const Recorded& recorded : batch) {
    const RequestSpan& r = recorded.span;
    const auto at = [&](Clock::time_point t) {
      return nanoseconds(recorded.answered -
                         std::chrono::duration_cast<std::chrono::system_clock::duration>(r.answered - t));
    };
    const std::string begun = r.trace_id.empty() ? new_id(32) : r.trace_id;
    const std::string trace_id = r.parent ? r.parent->trace_id : begun, id = new_id(16);
    const std::string route = route_of(r.path);
    Json span = {{"traceId", trace_id}, {"spanId", id}};
    if (r.parent) span["parentSpanId"] = r.parent->span_id;
    if (r.parent && !r.parent->state.empty()) span["traceState"] = r.parent->state;
    span["flags"] = r.parent ? r.parent->flags : 1;
    span["name"] = route.empty() ? r.method : r.method + " " + route;
    span["kind"] = kServer;
    span["startTimeUnixNano"] = at(r.arrived);
    span["endTimeUnixNano"] = at(r.answered);
    span["attributes"] = {r.grpc ? text("rpc.system", "grpc") : text("http.request.method", r.method),
                          text("url.path", r.path), number("http.response.status_code", r.status),
                          text("network.peer.address", r.peer)};
    if (!route.empty()) span["attributes"].push_back(text("http.route", route));
    if (r.status >= 500) span["status"] = {{"code", kError}};
    spans.push_back(std::move(span));
    if (!r.submitted) continue;
    const auto part = [&](std::string_view name, Clock::time_point begin, Clock::duration time) {
      return Json{{"traceId", trace_id},
                  {"spanId", new_id(16)},
                  {"parentSpanId", id},
                  {"name", name},
                  {"kind", kInternal},
                  {"startTimeUnixNano", at(begin)},
                  {"endTimeUnixNano", at(begin + time)}};
    };
    spans.push_back(part("queue", *r.submitted, r.queued));
    if (r.batch_rows == 0) continue;  // it left the queue without a run
    spans.push_back(part("run", *r.submitted + r.queued, r.running));
    spans.back()["attributes"] =
        Json::array({number("nnex.batch_rows", r.batch_rows)});  // braces alone: one compiler copies
  }
  const Json resource = {{"attributes",
                          {text("service.name", "nnex"), text("service.version", environment().version),
                           text("service.instance.id", instance_)}}};
  const Json scope = {{"name", "nnex.serve"}, {"version", environment().version}};
  const Json scoped = Json::array({Json{{"scope", scope}, {"spans", std::move(spans)}}});
  const Json j = {{"resourceSpans", Json::array({Json{{"resource", resource}, {"scopeSpans", scoped}}})}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nnex::serve
