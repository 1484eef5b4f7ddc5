#pragma once
// What a server answers, without sockets: paths to functions.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/access.h"
#include "serve/budget.h"
#include "serve/http.h"
#include "serve/log.h"
#include "serve/metrics.h"
#include "serve/repository.h"
#include "serve/spans.h"
#include "serve/worker.h"
#include "shared/json.h"

namespace nnex::serve {

struct ApiOptions {
  std::chrono::microseconds timeout{60'000'000};  ///< Of a request, where it asks for none or a longer one.
  bool log_requests = false;
  size_t request_limit = 64 << 20;  ///< Bytes that a compressed body may unpack to.
  bool compress = false;            ///< Answers, for clients that take them so.
};

/// What the log tells of a request beside its path, as far as it came.
struct RequestNote {
  std::string model, version, id;
};

/// One request on its way.
struct Call {
  Request request;
  Lease lease;  ///< Of its memory.
  std::string peer;
  bool grpc = false;  ///< It came over gRPC.
  Clock::time_point arrived = Clock::now();
  std::shared_ptr<RequestSpan> span;  ///< Where spans are recorded.
  std::shared_ptr<RequestNote> note;  ///< Where requests are logged.
};

/// A request that is being answered.
class Pending {
 public:
  /// Nobody waits for the answer any more.
  void cancel();

 private:
  friend class Api;
  /// It is answered; whether it was cancelled before.
  bool forget();

  std::mutex mutex_;
  bool cancelled_ = false;
  std::shared_ptr<Served> served_;
  std::shared_ptr<Work> work_;
};

class Api {
 public:
  Api(Repository& repository, Metrics& metrics, Budget& budget, const Log& log, ApiOptions options);
  /// stop(). Every scheduler of the repository must be closed by then.
  ~Api();
  /// Waits for the bodies that it still reads.
  void stop() { reader_.stop(); }

  /// Who is answered. All but keys is set before the first request alone.
  Access& access() { return access_; }

  /// Records requests from now on, all but those for health and metrics. Before the first request alone.
  void trace_to(Spans& spans) { spans_ = &spans; }

  /// Counts a request that was refused before it was read whole, if it is one for inference by a model that is loaded.
  void count_refused(const Request& request, int status, Clock::time_point arrived) const;

  /// Called exactly once for each request, by any thread; it takes over what the request holds of the budget.
  using Reply = std::function<void(Response, Lease)>;
  /// Answers a request. Those for inference return what is pending, and those to the repository are done by its
  /// threads; all others are answered before it returns. A cancelled one may still be answered.
  std::shared_ptr<Pending> answer(Call call, Reply reply);
  /// The same of a call that could not be read: it is counted and logged.
  void refuse(Call call, Response response, Reply reply) const;

 private:
  struct Inference;

  Response route(const Call& call, const std::vector<std::string>& path);
  Response health(const Request& request, const std::vector<std::string>& path) const;
  Response server_metadata() const;
  Response model(const Call& call, const std::vector<std::string>& path) const;
  bool control(const Request& request, const std::vector<std::string>& path, const Reply& reply);
  Status index(const cli::Json& body, const Reply& reply);
  Status change(const std::string& name, bool load, const cli::Json& body, const Reply& reply);
  std::shared_ptr<Pending> infer(Call& call, const std::vector<std::string>& path, const Reply& reply);
  Response not_loaded(const std::string& name, const std::string& version) const;
  static void refuse(const std::shared_ptr<Inference>& inference, int status, std::string_view message);
  static void refuse(const std::shared_ptr<Inference>& inference, Response response);
  void fail(const std::shared_ptr<Inference>& inference, const Error& error, std::string_view message) const;
  void unpack(const std::shared_ptr<Inference>& inference);
  void admit(const std::shared_ptr<Inference>& inference, bool by_reader);
  void read(const std::shared_ptr<Inference>& inference);
  void compress(const std::shared_ptr<Inference>& inference, Response& response) const;
  static Result<Response> answer_of(const Inference& in, const std::vector<Value>& results);
  static bool make_room(const std::shared_ptr<Inference>& inference, int64_t bytes);
  void finish(const std::shared_ptr<Inference>& inference, Outcome outcome) const;
  Reply watched(Call& call, Reply reply) const;

  Repository& repository_;
  Metrics& metrics_;
  Budget& budget_;
  const Log& log_;
  ApiOptions options_;
  Spans* spans_ = nullptr;
  Access access_;
  Worker reader_;  // of large bodies
};

}  // namespace nnex::serve
