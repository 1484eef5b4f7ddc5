#include "serve/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <future>

#include "nnex/environment.h"
#include "serve/grpc/front.h"
#include "serve/notify.h"
#include "serve/server.h"
#include "shared/command_line.h"
#include "shared/ending.h"
#include "shared/flags.h"
#include "shared/say.h"
#include "shared/try.h"

namespace nnex::serve {

namespace {

constexpr int kFilesWithGrpc = 3;  // of a connection over HTTP, and of one over gRPC (grpc/door.h)

/// Calls of gRPC are answered as requests over HTTP are.
class Backend final : public GrpcBackend {
 public:
  Backend(Api& api, Budget& budget, Metrics& metrics) : api_(api), budget_(budget), metrics_(metrics) {}

  std::function<void()> ask(Request request, std::string peer, std::function<void(Response)> reply) override {
    auto pending = api_.answer(call_of(std::move(request), std::move(peer)),
                               counted([reply = std::move(reply)](Response r) { reply(std::move(r)); }));
    return [pending = std::move(pending)] {
      if (pending) pending->cancel();
    };
  }
  void refused(Request request, std::string peer, int status, const std::string& why) override {
    api_.refuse(call_of(std::move(request), std::move(peer)), Response::error(status, why), counted([](Response) {}));
  }
  void connection(Connection what) override {
    if (what == Connection::refused) {
      ++metrics_.grpc_turned_away;
      return;
    }
    if (what == Connection::opened) ++metrics_.grpc_accepted;
    metrics_.grpc_connections += what == Connection::opened ? 1 : -1;
  }

 private:
  Call call_of(Request request, std::string peer) {
    Call call;
    call.request = std::move(request);
    call.lease = Lease(budget_);
    call.peer = std::move(peer);
    call.grpc = true;
    return call;
  }
  template <class Reply>
  Api::Reply counted(Reply reply) {
    return [this, reply = std::move(reply)](Response r, const Lease&) {
      ++metrics_.grpc_answered[static_cast<size_t>(r.status)];
      reply(std::move(r));
    };
  }

  Api& api_;
  Budget& budget_;
  Metrics& metrics_;
};

Result<bool> serve_now(const Options& o, const Log& log) {
  Metrics metrics;
  Budget budget(o.queue_bytes);

  RepositoryOptions repository_options;
  repository_options.paths = o.paths;
  repository_options.named = o.named;
  repository_options.versions = o.versions;
  repository_options.load = o.load;
  repository_options.settings = o.settings_file;
  if (o.total_memory > 0) repository_options.memory = o.total_memory - o.queue_bytes;
  repository_options.scheduler.instances = o.instances;
  repository_options.scheduler.threads = o.threads;
  repository_options.scheduler.max_batch = o.max_batch;
  repository_options.scheduler.delay = o.batch_delay;
  repository_options.scheduler.queue = static_cast<size_t>(o.queue);
  Repository repository(repository_options, metrics, log);

  ApiOptions api_options;
  api_options.timeout = o.timeout;
  api_options.log_requests = o.log_requests;
  api_options.compress = o.compress;
  api_options.request_limit = static_cast<size_t>(std::min(o.request_limit, o.queue_bytes));
  Api api(repository, metrics, budget, log, api_options);
  Access& access = api.access();
  access.model_control = o.model_control;
  access.origins = o.origins;
  access.hosts = o.hosts;
  const auto read_keys = [&]() -> Status {
    if (!o.key_file.empty()) NNEX_TRY(access.keys.read(o.key_file));
    if (!o.control_key_file.empty()) NNEX_TRY(access.control_keys.read(o.control_key_file));
    return {};
  };
  NNEX_TRY(read_keys());

  ServerOptions server_options;
  server_options.host = o.host;
  server_options.port = o.port;
  server_options.connections = o.connections;
  if (o.grpc_port) server_options.files = kFilesWithGrpc;
  const int64_t request_limit = std::min(o.request_limit, o.queue_bytes);  // what is larger could never be held
  server_options.limits.body = static_cast<size_t>(request_limit);
  server_options.client_timeout = o.client_timeout;
  server_options.client_rate = o.client_rate;
  server_options.idle_timeout = o.idle_timeout;
  server_options.log_requests = o.log_requests;
  server_options.drain_delay = o.drain_delay;
  server_options.drain_timeout = o.drain_timeout;
  Spans::Send send;
  if (!o.otlp.empty()) {
    NNEX_ASSIGN(send, otlp_over_http(o.otlp));
  }
  Backend backend(api, budget, metrics);
  std::unique_ptr<GrpcFront> grpc;
  server_options.on_draining = [&grpc] {
    notify("STOPPING=1");
    if (grpc) grpc->set_ready(false);
  };
  NNEX_ASSIGN(const auto server, Server::listen(server_options, api, metrics, budget, log));
  std::optional<Spans> spans;
  if (send) api.trace_to(spans.emplace(std::move(send), server->address(), metrics));
  cli::Json addresses = {{"http", server->address()}};
  if (o.grpc_port) {
    GrpcOptions grpc_options;
    grpc_options.connections = server->connections();
    grpc_options.request_limit = request_limit;
    grpc_options.memory = o.queue_bytes;
    grpc_options.client_timeout = o.client_timeout;
    grpc_options.idle_timeout = o.idle_timeout;
    NNEX_ASSIGN(grpc, listen_grpc(backend, o.host, *o.grpc_port, std::move(grpc_options)));
    addresses["grpc"] = grpc->address();
  }
  log.line("listening", addresses);  // and alive, but not ready

  const auto opening = std::make_shared<std::promise<Status>>();  // the repository's thread may be the last to have it
  auto opened = opening->get_future();
  repository.open([&, opening](Status status) {
    const bool ok = status.ok();
    if (ok)
      server->unless_ending([&] {
        log.line("ready");
        notify("READY=1");
        if (grpc) grpc->set_ready(true);
        if (grpc) cli::say("nnex: serving on grpc://{}\n", grpc->address());
        cli::say("nnex: serving on http://{}\n", server->address());
        std::fflush(stdout);
      });
    opening->set_value(std::move(status));
    if (!ok) server->stop();
  });
  bool all = server->run([&] {
    notify(reloading());
    std::string why;  // keys are not as their file has them
    if (const Status keys = read_keys(); !keys.ok()) why = keys.error().text();
    repository.reload([&, why](const Status& status) {
      const bool ok = status.ok() && why.empty();
      ++metrics.reloads;
      if (!ok) ++metrics.failed_reloads;
      metrics.last_reload_failed = !ok;
      cli::Json facts = {{"ok", ok}};
      if (!status.ok()) facts["error"] = status.error().text();
      if (!why.empty()) facts["keys"] = why;
      log.line("reloaded", facts);
      if (repository.ready()) notify("READY=1");
    });
  });
  // Whoever still runs answers into the servers: all end before these do. A signal that comes meanwhile ends the rest
  // at once, with the exit code that it would have had.
  cli::end_on_signals_with(all && !grpc ? cli::kOk : cli::kNegative);
  if (grpc && !grpc->stop(server->time_left())) all = false;
  cli::end_on_signals_with(all ? cli::kOk : cli::kNegative);
  api.stop();
  if (opened.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    if (Status status = opened.get(); !status.ok()) {
      repository.close();
      return std::move(status).error();
    }
  }
  log.line("ended", {{"all_answered", all}});
  if (repository.busy()) {  // a model that is being loaded, perhaps for minutes, is for nobody any more
    spans.reset();
    log.flush();
    cli::end_now(all ? cli::kOk : cli::kNegative);
  }
  repository.close();
  return all;
}

}  // namespace

bool available() { return true; }

Result<bool> serve(const Options& options) {
  const Log log(options.json_log ? Log::Form::json : Log::Form::text);
  log.line("began", {{"schema", "nnex.serve_log/1"}, {"version", environment().version}});
  Result<bool> all = serve_now(options, log);
  if (!all.ok() && options.json_log) log.line("failed", {{"error", all.error().text(cli::flag_words)}});
  return all;
}

}  // namespace nnex::serve
