#pragma once
// What stands behind contexts, tensors and graphs.
//
// Work on the timeline holds cores (TensorMemory, GraphCore, ContextCore), never the states behind the handles: the
// last handle of a context to go waits for the timeline, on the thread that lets it go.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nnex/model.h"
#include "nnex/webnn.h"
#include "webnn/timeline.h"

namespace nnex::ml {

/// Calls whose futures are open. Who claims one settles it; nobody else does.
class Pending {
 public:
  using Reject = std::function<void(const Error&)>;

  uint64_t add(Reject reject);
  bool claim(uint64_t id);
  /// Claims all and rejects them.
  void reject_all(const Error& error);

 private:
  std::mutex mutex_;
  std::map<uint64_t, Reject> open_;
  uint64_t next_ = 0;
};

/// The content of a tensor. `bytes` and `gone` belong to the timeline.
struct TensorMemory {
  nnex::Tensor bytes;
  bool gone = false;
  Pending reads;

  void free();
};

/// What the timeline knows of a context.
struct ContextCore {
  std::function<void(std::function<void()>)> post;
  std::atomic<bool> lost = false;
  Promise<ContextLostInfo> lost_promise;
  Pending pending;  ///< createTensor() and build().

  /// Runs a task where futures are settled.
  void complete(std::function<void()> task) const;
  /// Once: nothing is readable or runnable any more, and everything pending is rejected.
  void lose(const std::string& message);
  void add(const std::shared_ptr<TensorMemory>& memory);
  void add(const std::shared_ptr<GraphCore>& graph);
  /// On the timeline: lets the memory of all tensors and graphs go.
  void free_all();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<TensorMemory>> memories_;
  std::vector<std::weak_ptr<GraphCore>> graphs_;
};

/// A compiled graph and the session that runs it. Belongs to the timeline.
struct GraphCore {
  std::shared_ptr<ContextCore> context;
  std::optional<Session> session;
  std::vector<size_t> input_of, output_of;  ///< Index in the engine's model, for each name in ascending order.
  std::vector<Value> in;
  std::vector<nnex::Tensor> out;

  /// Inputs, then outputs, by name in ascending order. A failure loses the context: its outputs are not what was asked.
  /// A context that is lost meanwhile ends the run at its next node.
  void run(const std::vector<std::shared_ptr<TensorMemory>>& tensors);
};

/// What calls say in a child of the process that made a context, where nothing can be queued.
inline constexpr const char* kForked = "the context belongs to the process that made it, not to one that was forked";

struct ContextState {
  ContextOptions options;
  int threads = 0;
  bool checks_only = false;
  std::shared_ptr<ContextCore> core = std::make_shared<ContextCore>();
  Timeline timeline;

  explicit ContextState(bool own_thread) : timeline(own_thread) {}
  bool lost() const { return core->lost.load(std::memory_order_acquire); }
};

struct TensorState {
  std::shared_ptr<ContextState> context;
  TensorDescriptor descriptor;
  bool constant = false;
  nnex::Tensor content;  ///< Of a constant tensor; never changes.
  int64_t bytes = 0;
  std::shared_ptr<TensorMemory> memory = std::make_shared<TensorMemory>();
  std::atomic<bool> destroyed = false;

  bool gone() const { return destroyed.load(std::memory_order_acquire) || context->lost(); }
};

struct GraphState {
  std::shared_ptr<ContextState> context;
  std::map<std::string, OperandDescriptor> inputs, outputs;
  std::shared_ptr<GraphCore> core = std::make_shared<GraphCore>();
  std::atomic<bool> destroyed = false;
};

}  // namespace nnex::ml
