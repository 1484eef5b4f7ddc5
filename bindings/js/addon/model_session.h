#pragma once
// A session of a model, as the addon keeps it: its runs one after the other, off the event loop, or at once where that
// is the shorter way.

#include <napi.h>

#include "model_tasks.h"
#include "model_values.h"
#include "nnex/model.h"

namespace nnex::js {

/// A model, and what TypeScript is told of it.
class ModelBox {
 public:
  Model model;
  Metadata metadata;
  bool straight = false;  ///< Few nodes, and none chooses or repeats: runs on equal shapes take equal time.
  int64_t source = 0;     ///< Bytes that it came from, where they are in memory.

  /// Tells V8 what memory stands behind it now. JavaScript's thread.
  void account(Napi::Env env) { account(env, source + model.packed_memory()); }
  void account(Napi::Env env, int64_t bytes) {
    Napi::MemoryManagement::AdjustExternalMemory(env, bytes - told_);
    told_ = bytes;
  }

 private:
  int64_t told_ = 0;
};

/// What one call of run() asks for.
struct RunRequest {
  std::vector<Value> inputs;
  std::vector<bool> wanted;  ///< By output; empty: all.
  std::shared_ptr<std::atomic<bool>> cancel;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool profile = false;
};

class SessionBox : public std::enable_shared_from_this<SessionBox> {
 public:
  SessionBox(std::shared_ptr<ModelBox> model, const SessionOptions& options, std::shared_ptr<Tasks> tasks)
      : model_(std::move(model)), session_(model_->model.session(options)), tasks_(std::move(tasks)) {}

  // Of JavaScript's thread:

  /// [inputs, {wanted, cancel, timeout, profile, borrow, thread}] -> the outputs, or a promise of them.
  Napi::Value run(const Napi::CallbackInfo& info);
  /// The same, here and now.
  Napi::Value run_sync(const Napi::CallbackInfo& info);
  Napi::Value prepare(const Napi::CallbackInfo& info);
  Napi::Value state(const Napi::CallbackInfo& info);
  Napi::Value set_state(const Napi::CallbackInfo& info);
  Napi::Value reset_states(const Napi::CallbackInfo& info);
  /// Bytes of activations and scratch memory, as the last run left them.
  int64_t memory() const { return memory_; }
  /// Nobody in JavaScript holds the session any more.
  void forget(Napi::Env env) { Napi::MemoryManagement::AdjustExternalMemory(env, -std::exchange(memory_, 0)); }

 private:
  using Outcome = Result<std::vector<Value>>;

  RunRequest request_from(const Napi::CallbackInfo& info, Bytes bytes);
  Outcome compute(const RunRequest& request);  // on any thread
  /// What TypeScript is given: the values, and after a profiled run the times of its nodes.
  Napi::Value give(Napi::Env env, std::vector<Value> values, const RunRequest& request, Handing handing);
  /// Whether the same shapes ran in so short a time that handing the run to a thread would cost more.
  bool brief(const std::vector<Value>& inputs) const;
  /// f on a thread, after what was asked for before; then `give` makes JavaScript's value of its result.
  template <class F, class G>
  Napi::Promise later(Napi::Env env, F f, G give);
  void account(Napi::Env env);

  const std::shared_ptr<ModelBox> model_;
  Session session_;
  const std::shared_ptr<Tasks> tasks_;
  const std::shared_ptr<Strand> strand_ = std::make_shared<Strand>();
  size_t waiting_ = 0;  // promises that are not settled; of JavaScript's thread
  int64_t memory_ = 0;

  // Of whoever runs: a thread while waiting_ > 0, else JavaScript's.
  std::vector<Shape> last_shapes_;
  double last_us_ = 0;
  int64_t used_ = 0;
  std::vector<NodeTime> times_;
};

}  // namespace nnex::js
