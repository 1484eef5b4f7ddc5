#pragma once
// Frame: the values of one session while a model runs, and the interpreter of plans and blocks.

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "nnex/model.h"
#include "plan/plan.h"
#include "run/given.h"
#include "run/output_pool.h"
#include "tensor/memory_account.h"

namespace nnex::run {

/// What all sessions of a model share.
struct Compiled {
  ir::Graph graph;
  const kernels::simd::Loops* loops = nullptr;
  int64_t memory_limit = 0;
  int64_t cache_bytes = 0;  ///< Of activations that stay where kernels find them again; below 0: as many as there are.
  kernels::Packs packs;
  plan::AlignedConstants constants{graph};
  plan::ConstantMemory memory{graph};

  explicit Compiled(ir::Graph g) : graph(std::move(g)) {}

  /// Extents never change and nobody else holds the constants: one plan of the network serves all sessions, and may
  /// lose constants.
  bool one_plan = false;
  std::mutex planning;  ///< Then held while any session plans, or reads what planning changes.
  std::vector<int64_t> plan_key;
  std::shared_ptr<const plan::Plan> plan;
};

/// Runs blocks of one graph. Every value has one slot; a block that runs again writes its slots again.
class Frame {
 public:
  Frame(std::shared_ptr<Compiled> model, const SessionOptions& options);

  /// Runs the network on its inputs, which are checked already. Outputs and states own their memory and share none with
  /// the inputs. The states go in with them, and are what the run makes of them when it succeeds.
  Result<std::vector<Value>> run(std::span<const Value> inputs, const RunOptions& options);

  /// The same with outputs written into the caller's memory. Error: invalid_argument where one has another type or
  /// extents than the output, which is called as `ports` says.
  Status run_into(std::span<const Value> inputs, std::span<Tensor> outputs, std::span<const PortInfo> ports,
                  const RunOptions& options);

  /// Plans the network for inputs like these, of which types alone are read, and packs its weights: as far as nothing
  /// depends on their contents. Errors: those of planning.
  Status prepare(std::span<const Value> inputs, const RunOptions& options);

  std::atomic<bool> profiling{false};  ///< Of the runs that begin from now on.
  std::vector<NodeTime> times;
  std::vector<Value> states;  ///< In the graph's order.
  /// May be asked while a run is on.
  int64_t memory() const { return held_ + pool_->held(); }
  /// Lets go of all memory and plans of its own; states stay.
  void trim();

 private:
  /// A plan bound to this frame's memory.
  struct Bound {
    std::vector<int64_t> key;
    std::shared_ptr<const plan::Plan> plan;
    /// A step's inputs and outputs: pointers into slots_ and lanes.
    struct Wires {
      std::vector<const Value*> in;
      std::vector<Value*> out;
    };
    /// What the steps of slices see where several slices run side by side.
    struct Lane {
      std::vector<Value> border;                  ///< Of one slice, by the plan's borders.
      std::unordered_map<uint32_t, Value> inner;  ///< Made and read within; the first lane has them in the slots.
      std::vector<Wires> wires;                   ///< From the slices' first step on.
    };
    std::vector<Wires> wires;              ///< Of steps that are no part of slices.
    std::vector<ValueId> lent;             ///< Slots whose memory results may have.
    std::vector<std::vector<Lane>> lanes;  ///< By slices of the plan.
  };
  /// Who runs a step.
  struct Worker {
    Team& team;
    std::byte* workspace;
    std::vector<NodeTime>& times;
  };
  /// Plans of the stretch that starts at one node: the newest first.
  struct Stretch {
    std::vector<plan::LiveIn> live;
    std::list<Bound> plans;
    const Bound* active = nullptr;  ///< The one whose arena tensors stand in the slots, in that version of the arena.
    int version = 0;
    std::vector<int64_t> key;  ///< Scratch for the key of the coming run.
  };
  struct Memory {
    Tensor bytes;
    int version = 0;  ///< Counts how often it was let go.
  };

  /// A type of the graph with the extents that this run's inputs give its symbols.
  Type in_this_run(const Type& type) const;
  /// Everything of a run but its results.
  Status run_nodes(std::span<const Value> inputs, const RunOptions& options);
  Status run_block(BlockId block);
  /// Slots of what has run since `ran_` had so many: their memory is from now on that of whoever has the results alone.
  void let_go(size_t from);
  /// The stretch that starts at `from`, which knows what it reads from outside.
  Stretch& stretch_at(BlockId block, NodeId from);
  Result<Bound*> bound(BlockId block, NodeId from);
  /// A plan for what the slots hold; the model's own where one serves all sessions.
  Result<std::shared_ptr<const plan::Plan>> plan_for(BlockId block, NodeId from, const Stretch& stretch);
  Status bind(BlockId block, Bound& b);
  void wire(Bound& b);
  static void find_lent(const plan::Step& step, Bound& b);
  Status run_steps(std::span<const plan::Step> steps, std::span<const Bound::Wires> wires, Worker worker);
  /// Steps that are those of one of the plan's slices.
  Status run_slices(Bound& b, std::span<const plan::Step> steps);
  /// One slice after the other, as long as `next` gives their first items; below 0: none is left.
  Status run_lane(const plan::Slices& slices, Bound::Lane& lane, std::span<const plan::Step> steps, Worker worker,
                  FunctionRef<int64_t()> next);
  DType dtype_of(const plan::Step& step, const Bound::Wires& wires) const;
  /// Of the inputs and outputs of a step.
  int64_t bytes_of(const plan::Step& step, const Bound::Wires& wires) const;
  Status run_step(const plan::Step& step, const Bound::Wires& wires, Worker worker);
  /// Memory for an output of a step: the caller's when it is to be written there.
  Status give_memory(const plan::Step::Fresh& f);
  Status run_view(const plan::Step& step, const Bound::Wires& wires);
  Status run_blocks(const plan::Step& step, const Bound::Wires& wires);
  Status run_if(const Node& node);
  Status run_loop(const Node& node);
  Status run_scan(const Node& node);
  Status run_sequence_map(const Node& node);
  Status run_region(const plan::Step& step, const Bound::Wires& wires);
  /// Runs a block on these parameters; its results own their memory.
  Result<std::vector<Value>> call_block(BlockId block, std::vector<Value> params);
  Result<std::vector<Value>> results(BlockId block);
  /// The slot of a block's result, filled where it is a constant.
  Result<const Value*> result(ValueId v);
  Result<Value> owned(const Value& v) const;
  Status interrupted() const;
  Status reserve(Memory& memory, int64_t bytes);
  /// Refuses a plan whose results, which get memory of their own while it runs, pass the memory limit.
  Status check_results(const plan::Plan& plan) const;
  /// Refuses a step whose strings could pass the memory limit: each of `count` may be as long as the longest of each
  /// input together.
  Status check_strings(const Bound::Wires& wires, const plan::Step& step) const;

  std::shared_ptr<Compiled> model_;
  std::span<const Value> given_;  ///< The inputs of the run that is on,
  GivenMemory given_memory_;      ///< and where they lie, once it has run.
  const ir::Graph& graph_;
  SessionOptions options_;
  std::vector<Value> slots_;
  std::unordered_map<uint32_t, plan::Liveness> liveness_;  ///< By block.
  std::unordered_map<uint32_t, Stretch> stretches_;        ///< By first node.
  std::unordered_map<uint32_t, Memory> arenas_;            ///< By block.
  Memory workspace_;
  std::atomic<int64_t> held_{0};  ///< Bytes of all these.
  bool timing_ = false;           ///< What `profiling` was when the run began.
  std::shared_ptr<OutputPool> pool_ = std::make_shared<OutputPool>();
  std::span<Tensor> into_;                  ///< While run_into() runs: where the network's results are wanted.
  std::shared_ptr<MemoryAccount> account_;  ///< Of this run, or of an earlier one whose tensors are gone.
  std::vector<const Bound*> ran_;           ///< By blocks that are on, the stretches that ran.
  Team* team_ = nullptr;
  const RunOptions* run_options_ = nullptr;
  uint64_t run_counter_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace nnex::run
