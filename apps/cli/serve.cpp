// nnex serve: models for other programs, by the Open Inference Protocol over HTTP.

#include "serve/serve.h"

#include <algorithm>
#include <optional>

#include "cli.h"
#include "nnex/environment.h"

namespace nnex::cli {
namespace {

struct ServeOptions {
  ReadingOptions reading;
  serve::Options server;
  std::string log = "text", cache, model_control = "open";
  int queue = 1024, max_batch = 8, batch_delay = 0;
  int queue_mib = 512, total_mib = 0;
  int64_t request_limit = int64_t{64} << 20;
  int client_rate = 1024;
  double timeout = 60, client_timeout = 10, idle_timeout = 75, drain_timeout = 30;
  int drain_delay = 1000;
  std::optional<uint64_t> grpc_port;

  void add_to(Verb verb);
};

void ServeOptions::add_to(Verb verb) {
  verb.option("models", server.paths,
              "A model, or a folder of models: NAME.onnx, NAME/model.onnx or NAME/VERSION/model.onnx; several of them");
  verb.option("--model", server.named, "A model, or a folder of its versions, by the name that clients call it")
      .type("NAME=PATH")
      .one_each();
  verb.option("--model-settings", server.settings_file,
              "Settings of single models: {\"NAME\": {\"threads\": 1, \"max-batch\": 4, \"set\": {\"N\": 4}, "
              "\"warm-up\": 3}}")
      .type("FILE");
  verb.option("--versions", server.versions, "Versions of each model to load, the highest ones; 0: all").whole(0);
  verb.option("--host", server.host,
              "The address to listen on, or unix:PATH; others than 127.0.0.1 let other machines in");
  verb.option("--port", server.port, "The port; 0: a free one, which is printed").whole(0);
  verb.option("--grpc-port", grpc_port,
              "A port for the same protocol over gRPC, where the build has it (nnex-grpc.so); 0: a free one, which is "
              "printed")
      .type("PORT")
      .seed();
  verb.option("--instances", server.instances, "Requests, or batches of them, that a model runs at the same time")
      .whole(1);
  verb.option("--threads", server.threads,
              "Threads of each instance; 0: those this process may use, shared among the instances")
      .whole(0);
  verb.option("--max-batch", max_batch,
              "Rows of waiting requests that run together, where a model's rows are independent; 1: none do")
      .whole(1);
  verb.option("--batch-delay", batch_delay, "How much later others that join a request may make its answer")
      .type("MICROSECONDS")
      .whole(0);
  verb.option("--queue", queue, "Requests of a model that may wait; more are answered 429").type("REQUESTS").whole(1);
  verb.option("--queue-bytes", queue_mib,
              "MiB that requests and answers may hold together; more are answered 429, and 413 what alone is larger")
      .type("MIB")
      .whole(1);
  verb.option("--total-memory", total_mib,
              "MiB that all models together, and --queue-bytes, may take; a model that would pass it is not loaded; 0: "
              "no such limit")
      .type("MIB")
      .whole(0);
  verb.option("--request-limit", request_limit, "Bytes of one request's body; larger ones are answered 413")
      .type("BYTES")
      .whole(1);
  verb.option("--timeout", timeout, "Longest time of a request; then it is answered 504").type("SECONDS").above_zero();
  verb.option("--client-timeout", client_timeout, "How long a client may stall before its connection is cut")
      .type("SECONDS")
      .above_zero();
  verb.option(
          "--client-rate", client_rate,
          "Bytes a second that a client sends or reads at least, beside what it may stall; 0: it may be as slow as it "
          "likes while it does not stall")
      .type("BYTES")
      .whole(0);
  verb.option("--idle-timeout", idle_timeout, "How long a connection is kept between two requests")
      .type("SECONDS")
      .above_zero();
  verb.option("--connections", server.connections,
              "Connections at the same time, over HTTP and over gRPC; for more, those over HTTP that wait longest for "
              "a request go, and those over gRPC are closed at once")
      .whole(1);
  verb.option("--drain-delay", drain_delay,
              "On SIGTERM: how long connections are still taken, while /v2/health/ready says 503")
      .type("MILLISECONDS")
      .whole(0);
  verb.option("--drain-timeout", drain_timeout, "On SIGTERM: longest time for what is in flight after that")
      .type("SECONDS")
      .above_zero();
  verb.option("--api-key", server.key_file, "Keys, one a line, of which clients must show one").type("FILE");
  verb.option("--model-control", model_control, "Whether requests may load and unload models: open, none")
      .one_of({"open", "none"});
  verb.option("--control-key", server.control_key_file,
              "Keys, one a line, of which those must show one who load and unload models; others do not count there")
      .type("FILE");
  verb.option("--allow-origin", server.origins,
              "Web pages that may ask, beside the server's own: scheme://host:port as browsers send it, or *")
      .type("ORIGIN")
      .one_each();
  verb.option("--allow-host", server.hosts,
              "Names by which requests may reach the server, beside addresses and localhost; others are answered 421; "
              "without it all may")
      .type("NAME")
      .one_each();
  verb.flag("--compress", server.compress,
            "Compress answers for clients that take them so (Accept-Encoding: gzip, deflate); requests may always be");
  verb.option("--log", log, "Form of the log on standard error: text, json").one_of({"text", "json"});
  verb.flag("--log-requests", server.log_requests, "Log every request");
  verb.option("--otlp", server.otlp, "Send spans of requests to a collector of OpenTelemetry (OTLP over HTTP, JSON)")
      .type("http://HOST:PORT");
  reading.add_to(verb);
  add_cache(verb, cache);
}

std::chrono::microseconds microseconds(double seconds) {
  constexpr double kLongest = 1e9;  // decades, which the clock can still count
  return std::chrono::microseconds(static_cast<int64_t>(std::min(seconds, kLongest) * 1e6));
}

/// Threads of each instance, so that all of them together are no more than this process may use.
int threads_of(int threads, int instances) {
  const int each = std::max(1, usable_threads() / instances);
  if (threads == 0) return each;
  if (int64_t{threads} * instances > usable_threads())
    say(stderr, "nnex: --instances {} --threads {}: this process may use {} threads; more would wait for each other\n",
        instances, threads, usable_threads());
  return threads;
}

/// Whether a browser may send it as a page's origin ("null": a page of no host), or it stands for all.
bool is_origin(const std::string& text) {
  const size_t scheme = text.find("://");
  return text == "*" || text == "null" ||
         (scheme != 0 && scheme != std::string::npos && scheme + 3 < text.size() &&
          text.find_first_of("/ ,", scheme + 3) == std::string::npos);
}

int serve_models(const ServeOptions& o) {
  if (!serve::available()) {
    const auto absent = serve::serve({});
    return report(absent.error());
  }
  serve::Options s = o.server;
  auto load = o.reading.options();
  if (!load.ok()) return report(load.error());
  s.load = std::move(load).value();
  s.load.cache = o.cache;
  s.load.map = Mapping::never;  // whoever updates a model may write into its file
  if (s.paths.empty() && s.named.empty())
    return report(Error(Code::invalid_argument, "needed a model, a folder of models, or --model NAME=PATH"));
  if (s.host.starts_with('[') && s.host.ends_with(']')) s.host = s.host.substr(1, s.host.size() - 2);
  if (o.grpc_port && s.host.starts_with("unix:"))
    return report(
        Error(Code::invalid_argument, fmt::format("--grpc-port: found --host {}; needed an address", s.host)));
  if (s.port > 65535) return report(Error(Code::invalid_argument, fmt::format("--port {}: needed 0 to 65535", s.port)));
  if (o.grpc_port && *o.grpc_port > 65535)
    return report(Error(Code::invalid_argument, fmt::format("--grpc-port {}: needed 0 to 65535", *o.grpc_port)));
  if (o.grpc_port) s.grpc_port = static_cast<int>(*o.grpc_port);
  for (const std::string& origin : s.origins)
    if (!is_origin(origin))
      return report(
          Error(Code::invalid_argument,
                fmt::format("--allow-origin: found '{}'; needed scheme://host or scheme://host:port without a "
                            "path, null, or *",
                            origin)));
  for (std::string& host : s.hosts) {
    if (host.empty() || host.find_first_of("/:, ") != std::string::npos)
      return report(Error(Code::invalid_argument,
                          fmt::format("--allow-host: found '{}'; needed a name without scheme, port and path", host)));
    std::transform(host.begin(), host.end(), host.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  s.threads = threads_of(s.threads, s.instances);
  s.max_batch = o.max_batch;
  s.batch_delay = std::chrono::microseconds(o.batch_delay);
  s.queue = o.queue;
  s.queue_bytes = int64_t{o.queue_mib} << 20;
  s.total_memory = int64_t{o.total_mib} << 20;
  if (s.total_memory > 0 && s.total_memory <= s.queue_bytes)
    return report(Error(Code::invalid_argument, fmt::format("--total-memory {}: needed more than --queue-bytes {}, "
                                                            "which requests and answers may hold of it",
                                                            o.total_mib, o.queue_mib)));
  s.request_limit = o.request_limit;
  s.timeout = microseconds(o.timeout);
  s.client_timeout = microseconds(o.client_timeout);
  s.client_rate = o.client_rate;
  s.idle_timeout = microseconds(o.idle_timeout);
  s.drain_delay = std::chrono::milliseconds(o.drain_delay);
  s.drain_timeout = microseconds(o.drain_timeout);
  s.model_control = o.model_control == "open";
  s.json_log = o.log == "json";
  const auto all = serve::serve(s);
  if (!all.ok()) return s.json_log ? exit_code(all.error()) : report(all.error());  // the log has it
  return *all ? kOk : kNegative;
}

}  // namespace

void add_serve(CommandLine& line) {
  auto o = std::make_shared<ServeOptions>();
  o->add_to(line.verb("serve", "Serve models over HTTP (Open Inference Protocol), until SIGTERM",
                      [o] { return serve_models(*o); }));
}

}  // namespace nnex::cli
