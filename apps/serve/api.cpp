#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>

#include "nnex/elements.h"
#include "nnex/environment.h"
#include "serve/coding.h"
#include "serve/model_facts.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

using cli::Json;
using Path = std::vector<std::string>;

/// JSON of more bytes than this is not read by the thread that serves the sockets.
constexpr size_t kLargeJson = 64 << 10;

std::string dumped(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

Response json(const Json& j) {
  Response r;
  r.body = dumped(j);
  return r;
}

Response not_found(const Request& request) { return Response::error(404, fmt::format("no path '{}'", request.path)); }

Response not_allowed(const char* allowed) {
  Response r = Response::error(405, fmt::format("needed {}", allowed));
  r.headers.push_back({"Allow", std::string_view(allowed) == "GET" ? "GET, HEAD" : allowed});
  return r;
}

Response busy(int status, std::string_view message) {
  Response r = Response::error(status, message);
  r.headers.push_back({"Retry-After", "1"});
  return r;
}

bool reads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

int status_of(const Error& error) {
  switch (error.code()) {
    case Code::invalid_argument:
    case Code::fault:
      return 400;
    case Code::limit:
      return 413;
    case Code::unsupported:
      return 501;
    case Code::cancelled:
      return 504;
    default:
      return 500;
  }
}

/// The sentence and its place, as "node 'y' (Gather)". What would let the call pass is no business of a client's.
std::string told(const Error& error) {
  return error.where().empty() ? error.message() : fmt::format("{}: {}", error.where(), error.message());
}

std::optional<int64_t> whole(const std::string& s) {
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (s.empty() || fault != std::errc() || end != s.data() + s.size()) return {};
  return n;
}

/// The object that a request to the repository may have for a body; of none, an empty one. Errors: invalid_argument,
/// limit.
Result<Json> control_body(const std::string& body) {
  constexpr size_t kLargest = 4096;  // of the little that it says
  if (body.empty()) return Json::object();
  if (body.size() > kLargest)
    return Error(Code::limit, fmt::format("the body has {} bytes; the limit is {}", body.size(), kLargest));
  Json j = Json::parse(body, nullptr, false);
  if (!j.is_object() || body.find('\0') != std::string::npos) return refused("the body is no JSON object");
  return j;
}

/// What of it asks for another model than the folder's, which would be loaded without a word.
Status check_load(const Json& body) {
  const auto parameters = body.find("parameters");
  if (parameters == body.end() || parameters->is_null()) return {};
  if (!parameters->is_object()) return refused("\"parameters\": needed an object");
  for (const auto& [name, value] : parameters->items())
    if (name == "config" || name.starts_with("file:"))
      return refused(fmt::format("the parameter '{}' is not supported: models are loaded from their folder", name));
  return {};
}

std::string_view name_of(const Path& path) { return path[2]; }

/// A request holds so many bytes from now on. Error: limit; `busy`: others hold what it would need.
Status hold(Lease& lease, int64_t bytes, bool& busy) {
  if (lease.resize(bytes)) return {};
  busy = lease.ever(bytes);
  if (busy) return Error(Code::limit, "requests hold all memory there is for them");
  return Error(Code::limit, fmt::format("the request takes {} bytes or more; requests and answers may hold {} together",
                                        bytes, lease.limit()));
}

/// models/NAME[/versions/VERSION]: the version and where what follows begins.
std::pair<std::string, size_t> version_in(const Path& path) {
  if (path.size() >= 5 && path[3] == "versions") return {path[4], 5};
  return {{}, 3};
}

}  // namespace

void Pending::cancel() {
  std::shared_ptr<Served> served;
  std::shared_ptr<Work> work;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    served = served_;
    work = work_;
  }
  if (work) served->scheduler->cancel(work);
}

bool Pending::forget() {
  const std::lock_guard lock(mutex_);
  if (work_) work_->done = {};  // which holds what this belongs to
  work_.reset();
  served_.reset();
  return cancelled_;
}

/// Whoever asks again soon finds a model that is loading; others are there when somebody loads them.
Response Api::not_loaded(const std::string& name, const std::string& version) const {
  const Repository::Missing missing = repository_.missing(name, version);
  const std::string message =
      fmt::format("model '{}'{} is not loaded: {}", name, version.empty() ? "" : " of version " + version, missing.why);
  return missing.loading ? busy(503, message) : Response::error(503, message);
}

/// What an inference needs until it is answered.
struct Api::Inference {
  Call call;
  std::string name, version;
  Coding coding = Coding::none;  // of the body
  std::optional<size_t> json_bytes;
  std::shared_ptr<const std::string> body;
  Reply reply;
  std::shared_ptr<Pending> pending = std::make_shared<Pending>();
  std::shared_ptr<Served> served;
  InferRequest request;  // its inputs are with the scheduler
};

Api::Api(Repository& repository, Metrics& metrics, Budget& budget, const Log& log, ApiOptions options)
    : repository_(repository), metrics_(metrics), budget_(budget), log_(log), options_(options) {}

Api::~Api() { stop(); }

void Api::count_refused(const Request& request, int status, Clock::time_point arrived) const {
  const auto path = segments_of(request.path);
  if (!path || path->size() < 4 || (*path)[0] != "v2" || (*path)[1] != "models") return;
  const auto [version, rest] = version_in(*path);
  const auto& statuses = ModelMetrics::kStatuses;  // others are of what is no request
  if (path->size() != rest + 1 || path->back() != "infer" ||
      std::find(statuses.begin(), statuses.end(), status) == statuses.end())
    return;
  if (const auto served = repository_.find(std::string(name_of(*path)), version))
    served->metrics->count(status, Clock::now() - arrived);
}

void Api::refuse(Call call, Response response, Reply given) const {
  count_refused(call.request, response.status, call.arrived);
  const Reply reply = watched(call, std::move(given));
  reply(std::move(response), std::move(call.lease));
}

std::shared_ptr<Pending> Api::answer(Call call, Reply given) {
  const Reply reply = watched(call, std::move(given));
  const Request& request = call.request;
  const auto path = segments_of(request.path);
  if (auto response = access_.answer(request)) {
    reply(std::move(*response), std::move(call.lease));
    return nullptr;
  }
  if (!path) {
    reply(Response::error(400, "the path has a wrong escape"), std::move(call.lease));
    return nullptr;
  }
  const bool is_v2 = path->size() >= 3 && (*path)[0] == "v2";
  if (is_v2 && (*path)[1] == "models" && path->size() > 3 && path->back() == "infer") return infer(call, *path, reply);
  if (is_v2 && (*path)[1] == "repository" && control(request, *path, reply)) return nullptr;
  reply(route(call, *path), std::move(call.lease));
  return nullptr;
}

Response Api::route(const Call& call, const Path& path) {
  const Request& request = call.request;
  if (path.size() == 1 && path[0] == "metrics") {
    if (!reads(request)) return not_allowed("GET");
    metrics_.held_bytes = budget_.used();
    metrics_.held_limit = budget_.limit();
    metrics_.log_lost = log_.lost();
    Response r;
    r.type = "text/plain; version=0.0.4; charset=utf-8";
    r.body = metrics_.text();
    return r;
  }
  if (path.empty() || path[0] != "v2") return not_found(request);
  if (path.size() == 1) return reads(request) ? server_metadata() : not_allowed("GET");
  if (path[1] == "health" && path.size() == 3) return health(request, path);
  if (path[1] == "models" && path.size() >= 3) return model(call, path);
  return not_found(request);
}

Response Api::health(const Request& request, const Path& path) const {
  if (path[2] != "live" && path[2] != "ready") return not_found(request);
  if (!reads(request)) return not_allowed("GET");
  const bool good = path[2] == "live" || (!metrics_.draining && repository_.ready());
  Response r = json({{path[2], good}});
  r.status = good ? 200 : 503;
  if (!good && !metrics_.draining) r.headers.push_back({"Retry-After", "1"});  // models are being loaded
  return r;
}

Response Api::server_metadata() const {
  return json({{"name", "nnex"},
               {"version", environment().version},
               {"extensions",
                {"binary_tensor_data", "classification", "model_configuration", "model_repository", "parameters",
                 "statistics"}}});
}

Response Api::model(const Call& call, const Path& path) const {
  const Request& request = call.request;
  const std::string name(name_of(path));
  const auto [version, rest] = version_in(path);
  const std::string_view asked = path.size() == rest + 1 ? std::string_view(path[rest]) : std::string_view();
  const bool asks_ready = asked == "ready";
  if (path.size() != rest && !asks_ready && asked != "config" && asked != "stats") return not_found(request);
  if (!reads(request)) return not_allowed("GET");
  // Of all models: over HTTP without the name, as Triton has it, where no model is called so; over gRPC with an empty
  // one.
  const bool asks_all = call.grpc ? name.empty() && asked == "stats"
                                  : path.size() == 3 && name == "stats" && !repository_.knows(name, {});
  if (asks_all) return json(statistics_of(repository_.loaded()));
  const auto served = repository_.find(name, version);
  if (!served && !repository_.knows(name, version))
    return Response::error(404, fmt::format("no model '{}'{}", name, version.empty() ? "" : " of version " + version));
  if (asks_ready) {
    if (served) return json({{"name", name}, {"ready", true}});
    const Repository::Missing missing = repository_.missing(name, version);
    Response r = json({{"name", name}, {"ready", false}, {"reason", missing.why}});
    r.status = 503;
    if (missing.loading) r.headers.push_back({"Retry-After", "1"});
    return r;
  }
  if (!served) return not_loaded(name, version);
  if (asked == "config") return json(config_of(*served));
  if (asked == "stats") {
    std::vector<std::shared_ptr<Served>> versions = {served};
    if (version.empty()) {
      versions.clear();
      for (const std::string& each : repository_.versions(name))
        if (auto one = repository_.find(name, each)) versions.push_back(std::move(one));
    }
    return json(statistics_of(versions));
  }
  Response r;
  r.body = metadata_of(name, repository_.versions(name), served->platform, served->ports());
  return r;
}

/// What the repository's threads do, and answer when it is done: repository/index, repository/models/NAME/load and
/// unload. false: the path is another one.
bool Api::control(const Request& request, const Path& path, const Reply& reply) {
  const bool is_index = path.size() == 3 && path[2] == "index";
  const bool is_model = path.size() == 5 && path[2] == "models" && (path[4] == "load" || path[4] == "unload");
  if (!is_index && !is_model) return false;
  if (request.method != "POST") return reply(not_allowed("POST"), {}), true;
  const auto body = control_body(request.body);
  const Status status = !body.ok() ? Status(Error(body.error().code(), body.error().message()))
                        : is_index ? index(*body, reply)
                                   : change(path[3], path[4] == "load", *body, reply);
  if (!status.ok()) reply(Response::error(status_of(status.error()), status.error().message()), {});
  return true;
}

Status Api::index(const Json& body, const Reply& reply) {
  const auto ready = body.find("ready");
  if (ready != body.end() && !ready->is_boolean()) return refused("\"ready\": needed true or false");
  const bool ready_alone = ready != body.end() && ready->get<bool>();
  repository_.index([reply, ready_alone](const std::vector<IndexEntry>& entries) {
    Json out = Json::array();
    for (const IndexEntry& e : entries)
      if (!ready_alone || e.state == "READY")
        out.push_back({{"name", e.name}, {"version", e.version}, {"state", e.state}, {"reason", e.reason}});
    reply(json(out), {});
  });
  return {};
}

Status Api::change(const std::string& name, bool load, const Json& body, const Reply& reply) {
  if (load) NNEX_TRY(check_load(body));
  const auto done = [this, name, reply](const Status& status) {
    Response r = json(Json::object());
    if (!status.ok()) {
      const bool unknown = status.error().code() == Code::invalid_argument && !repository_.knows(name, {});
      r = Response::error(unknown ? 404 : 400, status.error().text());
    }
    reply(std::move(r), {});
  };
  if (load)
    repository_.load(name, done);
  else
    repository_.unload(name, done);
  return {};
}

void Api::refuse(const std::shared_ptr<Inference>& inference, int status, std::string_view message) {
  refuse(inference, status == 429 ? busy(status, message) : Response::error(status, message));
}

void Api::refuse(const std::shared_ptr<Inference>& inference, Response response) {
  inference->pending->forget();
  if (inference->served) inference->served->metrics->count(response.status, Clock::now() - inference->call.arrived);
  inference->call.lease.force(0);
  inference->reply(std::move(response), std::move(inference->call.lease));
}

/// Refuses a request for an error of the model or of its reading. What a client is told as 500 it can neither help nor
/// explain: the log says whose request it was, and why.
void Api::fail(const std::shared_ptr<Inference>& in, const Error& error, std::string_view message) const {
  const int status = status_of(error);
  if (status == 500) {
    Json facts = {{"model", in->served->place.name}, {"version", in->served->place.version}};
    if (in->request.id) facts["id"] = *in->request.id;
    if (const std::string* trace = in->call.request.header("traceparent")) facts["traceparent"] = *trace;
    facts["peer"] = in->call.peer;
    facts["error"] = error.text();
    log_.line("inference failed", facts);
  }
  refuse(in, status, message);
}

std::shared_ptr<Pending> Api::infer(Call& call, const Path& path, const Reply& reply) {
  const auto in = std::make_shared<Inference>();
  in->reply = reply;
  in->call = std::move(call);
  const Request& request = in->call.request;
  const auto [version, rest] = version_in(path);
  in->name = name_of(path);
  in->version = version;
  if (path.size() != rest + 1) return reply(not_found(request), std::move(in->call.lease)), nullptr;
  if (request.method != "POST") return reply(not_allowed("POST"), std::move(in->call.lease)), nullptr;
  in->served = repository_.find(in->name, version);
  if (in->call.note) *in->call.note = {in->name, in->served ? in->served->place.version : version, {}};
  if (!in->served) {
    if (repository_.knows(in->name, version))
      refuse(in, not_loaded(in->name, version));
    else
      refuse(in, 404, fmt::format("no model '{}'{}", in->name, version.empty() ? "" : " of version " + version));
    return nullptr;
  }
  if (!request.has_body) return refuse(in, 411, "the request has no body: needed Content-Length"), nullptr;
  if (const std::string* h = request.header("content-encoding")) {
    const auto coding = coding_of(*h);
    if (!coding) return refuse(in, 415, fmt::format("Content-Encoding '{}': needed {}", *h, known_codings())), nullptr;
    in->coding = *coding;
  }
  if (const std::string* h = request.header("inference-header-content-length")) {
    const auto n = whole(*h);
    if (!n || *n < 0) return refuse(in, 400, "Inference-Header-Content-Length is no number of bytes"), nullptr;
    in->json_bytes = static_cast<size_t>(*n);
  }
  if (const std::string* h = request.header("timeout")) {
    const auto n = whole(*h);
    if (!n || *n < 0) return refuse(in, 400, "timeout: needed a number of microseconds"), nullptr;
    if (*n > 0) in->request.timeout_us = *n;
  }
  if (in->coding == Coding::none) {
    in->body = std::make_shared<const std::string>(std::move(in->call.request.body));
    admit(in, false);
  } else {
    reader_.post([this, in] { unpack(in); });  // a small one, too, may become large
  }
  return in->pending;
}

/// The body as it was before it was compressed.
void Api::unpack(const std::shared_ptr<Inference>& in) {
  std::string packed = std::exchange(in->call.request.body, {});
  const auto held = static_cast<int64_t>(packed.capacity());
  bool busy = false;
  const auto room = [&](int64_t bytes) { return hold(in->call.lease, held + bytes, busy); };
  auto body = unpacked(packed, in->coding, options_.request_limit, room);
  if (!body.ok()) return refuse(in, busy ? 429 : status_of(body.error()), body.error().message());
  in->body = std::make_shared<const std::string>(std::move(body).value());
  std::string().swap(packed);
  admit(in, true);
}

/// Takes the memory that reading the body may take, and reads it: a large one by the thread for that.
void Api::admit(const std::shared_ptr<Inference>& in, bool by_reader) {
  const size_t json_bytes = std::min(in->json_bytes.value_or(in->body->size()), in->body->size());
  const int64_t needed =
      static_cast<int64_t>(in->body->capacity()) + reading_memory(std::string_view(*in->body).substr(0, json_bytes));
  if (!in->call.lease.ever(needed))
    return refuse(in, 413,
                  fmt::format("reading {} bytes of JSON may take {} MiB, more than requests may hold together; numbers "
                              "as binary data take a tenth",
                              json_bytes, needed >> 20));
  if (!in->call.lease.resize(needed)) return refuse(in, 429, "requests hold all memory there is for them");
  if (json_bytes > kLargeJson && !by_reader)
    reader_.post([this, in] { read(in); });
  else
    read(in);
}

/// The response, or the Error that memory for it cannot be had.
Result<Response> Api::answer_of(const Inference& in, const std::vector<Value>& results) {
  const Served& served = *in.served;
  try {
    return write_infer(served.place.name, served.place.version, in.request, served.ports(), results);
  } catch (const std::bad_alloc&) {
    return Error(Code::limit, "out of memory");
  }
}

/// Reads the body and hands the request to the model's scheduler. A model that was replaced meanwhile takes no more:
/// then the new one has it.
void Api::read(const std::shared_ptr<Inference>& in) {
  const std::optional<int64_t> header_timeout = in->request.timeout_us;
  bool busy = false;
  const Room room = [&](int64_t bytes) { return hold(in->call.lease, in->call.lease.bytes() + bytes, busy); };
  while (true) {
    auto request = read_infer(in->body, in->json_bytes, in->served->ports(), &in->request.id, room);
    if (in->call.note) in->call.note->id = in->request.id.value_or("");
    if (!request.ok() && busy) return refuse(in, 429, request.error().message());
    if (!request.ok()) return fail(in, request.error(), request.error().message());
    in->request = std::move(request).value();
    in->call.lease.force(static_cast<int64_t>(in->body->capacity()) + in->request.own_bytes);
    auto timeout = in->served->timeout.value_or(options_.timeout);
    for (const auto& asked : {header_timeout, in->request.timeout_us})
      if (asked) timeout = std::min(timeout, std::chrono::microseconds(*asked));
    auto work = std::make_shared<Work>();
    work->inputs = std::move(in->request.inputs);
    work->deadline = in->call.arrived + timeout;
    bool gone = false;
    {
      const std::lock_guard lock(in->pending->mutex_);
      work->done = [this, in](Outcome outcome) { finish(in, std::move(outcome)); };
      in->pending->served_ = in->served;
      in->pending->work_ = work;
      gone = in->pending->cancelled_;
    }
    if (gone) return refuse(in, 499, "nobody waits for the answer");
    if (in->call.span) in->call.span->submitted = Clock::now();
    if (in->served->scheduler->run_now(work)) return;
    switch (in->served->scheduler->submit(work)) {
      case Admission::taken:
        return;
      case Admission::full:
        return refuse(in, 429, fmt::format("the queue of model '{}' is full", in->name));
      case Admission::closed:
        break;
    }
    auto now = repository_.find(in->name, in->version);
    if (!now || now == in->served) return refuse(in, not_loaded(in->name, in->version));
    in->served = std::move(now);
  }
}

/// Whether there is memory for an answer of so many bytes; else the request is refused.
bool Api::make_room(const std::shared_ptr<Inference>& in, int64_t bytes) {
  Lease& lease = in->call.lease;
  if (lease.resize(bytes)) return true;
  if (lease.ever(bytes))
    refuse(in, 429, "requests and answers hold all memory there is for them");
  else
    refuse(in, 413,
           fmt::format("the answer takes {} bytes or more; requests and answers may hold {} together", bytes,
                       lease.limit()));
  return false;
}

/// Compresses an answer for a client that takes it so, where there is memory for both.
void Api::compress(const std::shared_ptr<Inference>& in, Response& response) const {
  constexpr size_t kSmall = 1024;  // bytes that a network sends at once anyway
  const std::string* accept = in->call.request.header("accept-encoding");
  if (!options_.compress || in->call.grpc) return;
  response.headers.push_back({"Vary", "Accept-Encoding"});
  const Coding coding = accept ? accepted(*accept) : Coding::none;
  Lease& lease = in->call.lease;
  const auto held = static_cast<int64_t>(response.body.capacity());
  if (coding == Coding::none || response.body.size() < kSmall || !lease.resize(2 * held)) return;
  if (auto smaller = packed(response.body, coding)) {
    response.body = std::move(*smaller);
    response.body.shrink_to_fit();
    response.headers.push_back({"Content-Encoding", std::string(name_of(coding))});
  }
  lease.force(static_cast<int64_t>(response.body.capacity()));
}

void Api::finish(const std::shared_ptr<Inference>& in, Outcome outcome) const {
  const bool gone = in->pending->forget();
  const auto served = in->served;
  if (RequestSpan* span = in->call.span.get()) {
    span->queued = outcome.queued;
    span->running = outcome.running;
    span->batch_rows = outcome.batch_rows;
  }
  if (!outcome.results.ok()) {
    const Error& error = outcome.results.error();
    return gone ? refuse(in, 499, told(error)) : fail(in, error, told(error));
  }
  in->body.reset();
  if (!make_room(in, response_bytes(in->request, served->ports(), *outcome.results))) return;
  auto response = answer_of(*in, *outcome.results);
  if (!response.ok()) return fail(in, response.error(), response.error().message());
  if (!make_room(in, static_cast<int64_t>(response->body.capacity()))) return;
  compress(in, *response);
  const auto time = Clock::now() - in->call.arrived;
  served->metrics->count(gone ? 499 : 200, time);
  if (!gone) {
    served->metrics->latency.observe(std::chrono::duration<double>(time).count());
    served->metrics->rows.fetch_add(static_cast<uint64_t>(outcome.rows), std::memory_order_relaxed);
    served->metrics->waited.add(outcome.queued);
    served->metrics->computed.add(outcome.running);
  }
  in->reply(std::move(response).value(), std::move(in->call.lease));
}

}  // namespace nnex::serve
