#include "serve/serve.h"

#include <fmt/format.h>

#include <cstdio>

#include "serve/server.h"
#include "shared/try.h"

namespace nnex::serve {

bool available() { return true; }

Result<bool> serve(const Options& o) {
  const Log log(o.json_log ? Log::Form::json : Log::Form::text);
  Metrics metrics;
  Budget budget(o.queue_bytes);

  RepositoryOptions repository_options;
  repository_options.paths = o.paths;
  repository_options.named = o.named;
  repository_options.versions = o.versions;
  repository_options.load = o.load;
  repository_options.scheduler.instances = o.instances;
  repository_options.scheduler.threads = o.threads;
  repository_options.scheduler.max_batch = o.max_batch;
  repository_options.scheduler.delay = o.batch_delay;
  repository_options.scheduler.queue = static_cast<size_t>(o.queue);
  Repository repository(repository_options, metrics, log);

  ApiOptions api_options;
  api_options.timeout = o.timeout;
  api_options.log_requests = o.log_requests;
  Api api(repository, metrics, budget, log, api_options);
  if (!o.key_file.empty()) NNEX_TRY(api.read_keys(o.key_file));

  ServerOptions server_options;
  server_options.host = o.host;
  server_options.port = o.port;
  server_options.connections = o.connections;
  server_options.limits.body = static_cast<size_t>(o.request_limit);
  server_options.client_timeout = o.client_timeout;
  server_options.drain_delay = o.drain_delay;
  server_options.drain_timeout = o.drain_timeout;
  NNEX_TRY(repository.open());
  NNEX_ASSIGN(const auto server, Server::listen(server_options, api, metrics, budget, log));
  fmt::print("nnex: serving on http://{}\n", server->address());
  std::fflush(stdout);

  const bool all = server->run([&] {
    if (!o.key_file.empty())
      if (const Status keys = api.read_keys(o.key_file); !keys.ok())
        log.line("keys not read", {{"error", keys.error().text()}});
    repository.reload([&](const Status& status) {
      log.line("reloaded", {{"ok", status.ok()}, {"error", status.ok() ? std::string() : status.error().text()}});
    });
  });
  // Whoever still runs answers into the server: both end before it does.
  api.stop();
  repository.close();
  log.line("ended", {{"all_answered", all}});
  return all;
}

}  // namespace nnex::serve
