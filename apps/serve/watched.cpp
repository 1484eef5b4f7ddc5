// What happens to a request beside its answer: the log, spans, headers that go back.

#include <fmt/format.h>

#include "serve/api.h"

namespace nnex::serve {

using cli::Json;

/// Gives the trace back to the client, writes the log and records spans.
Api::Reply Api::watched(Call& call, Reply reply) const {
  const std::string* trace = call.request.header("traceparent");
  auto parent = trace ? read_traceparent(*trace) : std::nullopt;
  if (!parent) trace = nullptr;
  const std::string& path = call.request.path;
  const bool recorded = spans_ && path != "/metrics" && !path.starts_with("/v2/health");
  if (call.request.header("origin")) {
    Request page;
    page.headers = {{"origin", *call.request.header("origin")}};
    reply = [this, page = std::move(page), reply = std::move(reply)](Response response, Lease lease) {
      access_.allow_page(page, response);
      reply(std::move(response), std::move(lease));
    };
  }
  if (!trace && !options_.log_requests && !recorded) return reply;
  if (recorded) {
    call.span = std::make_shared<RequestSpan>();
    constexpr size_t kLongestState = 512;
    const std::string* state = call.request.header("tracestate");
    if (parent && state && state->size() <= kLongestState) parent->state = *state;
    *call.span = {
        std::move(parent), call.request.method, path, call.peer, call.grpc, 0, call.arrived, {}, {}, {}, {}, 0, {}};
    if (!call.span->parent) call.span->trace_id = spans_->new_trace_id();
  }
  if (options_.log_requests) call.note = std::make_shared<RequestNote>();
  struct Facts {
    std::string trace, method, path, peer;
    size_t bytes;
    bool grpc;
    Clock::time_point arrived;
    std::shared_ptr<RequestSpan> span;
    std::shared_ptr<RequestNote> note;
  };
  auto facts = std::make_shared<Facts>(Facts{trace ? *trace : std::string(), call.request.method, path, call.peer,
                                             call.request.body.size(), call.grpc, call.arrived, call.span, call.note});
  return [this, facts, reply = std::move(reply)](Response response, Lease lease) {
    if (!facts->trace.empty()) response.headers.push_back({"traceparent", facts->trace});
    const auto now = Clock::now();
    if (options_.log_requests) {
      const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now - facts->arrived).count();
      Json line = {{"status", response.status}, {"method", facts->method},     {"path", facts->path}, {"us", us},
                   {"in", facts->bytes},        {"out", response.body.size()}, {"peer", facts->peer}};
      for (const auto& [name, text] :
           {std::pair("model", &facts->note->model), {"version", &facts->note->version}, {"id", &facts->note->id}})
        if (!text->empty()) line[name] = *text;
      if (facts->grpc) line["protocol"] = "grpc";
      if (!facts->trace.empty()) line["traceparent"] = facts->trace;
      if (facts->span && !facts->span->trace_id.empty()) line["trace"] = facts->span->trace_id;
      if (response.status >= 400) {
        const Json error = Json::parse(response.body, nullptr, false);
        if (error.is_object() && error.contains("error")) line["because"] = error["error"];
      }
      log_.line("request", line);
    }
    if (facts->span) {
      facts->span->status = response.status;
      facts->span->answered = now;
    }
    reply(std::move(response), std::move(lease));
    if (facts->span) spans_->add(std::move(*facts->span));
  };
}

}  // namespace nnex::serve
