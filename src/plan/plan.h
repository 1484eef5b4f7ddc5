#pragma once
// Plan: for one stretch of a block at known extents, which kernel runs each node, in which order, at which offset of
// the arena.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/interrupt.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "kernels/kernel.h"
#include "plan/constant_memory.h"

namespace nnex::plan {

/// How one node runs.
struct Step {
  enum class How : uint8_t {
    kernel,     ///< A prepared fast kernel.
    reference,  ///< The table's reference kernel.
    view,       ///< Output 0 is input 0 under another shape.
    blocks,     ///< Control flow, or a fused region without a kernel: the run interprets its blocks.
  };
  How how = How::reference;
  NodeId node;
  std::unique_ptr<kernels::Kernel> kernel;
  const kernels::KernelDef* def = nullptr;
  std::vector<ValueId> in, out;
  struct Fresh {
    ValueId value;
    DType dtype;
    Shape shape;
  };
  int64_t multiply_adds = 0;     ///< Those of a fused region's nodes together; 0: none, or nobody knows.
  bool open = false;             ///< Some output's extents are not known to the plan.
  int slices = -1;               ///< Which of the plan's slices it is a part of; -1: none.
  int64_t sliced_bytes = 0;      ///< Of such a step: of its inputs and outputs, for all items.
  Shape view_shape;              ///< Of a view: output 0's extents.
  std::vector<Fresh> fresh;      ///< Outputs that get memory of their own before the step runs.
  std::vector<ValueId> release;  ///< Object values nobody reads after the step.
};

/// A tensor of the arena.
struct ArenaSlot {
  ValueId value;
  int64_t offset = 0;
  DType dtype = DType::f32;
  Shape shape;
  int slices = -1;  ///< Which of the plan's slices alone make and read it, in the first lane here; -1: none.
};

/// Consecutive steps that run for a few items along axis 0 at a time, for some after the other: their activations stay
/// in the cache. What they read and make within is as large as one slice needs. Some slices may run side by side, each
/// in a lane: on one thread, with memory of its own.
struct Slices {
  int64_t items = 0, size = 0;  ///< Of all, and of one slice; the last begins where it ends with the last item.
  int lanes = 1;
  int64_t lane_bytes = 0, workspace_bytes = 0;  ///< Of a lane, multiples of 64: from what it has to what the next has.
  /// A value that is there as a whole, of which a step sees one slice.
  struct Border {
    ValueId value;
    DType dtype = DType::f32;
    Shape shape;  ///< Of a slice.
    int64_t item_bytes = 0;
    bool made = false;  ///< By a step of these.
  };
  std::vector<Border> borders;
  std::vector<Step::Fresh> fresh;  ///< Results that get memory of their own before the first slice.
};

struct Plan {
  std::vector<Step> steps;
  std::vector<Slices> slices;  ///< In the order of their steps.
  std::vector<ArenaSlot> slots;
  std::vector<std::pair<ValueId, Value>>
      constants;  ///< Aligned constants and small contents that were computed while planning.
  int64_t arena_bytes = 0, workspace_bytes = 0;
  NodeId next;  ///< Where the stretch ends because an extent depends on data; invalid: at the block's end.
};

/// A value that exists before the stretch runs: a parameter, an outer value, a result of an earlier stretch.
struct Live {
  ValueId value;
  Type type;
  std::optional<Tensor> content;  ///< Of values whose content decides extents.
};

struct PlanContext {
  const ir::Graph& graph;
  const kernels::simd::Loops& loops;
  kernels::Packs& packs;
  AlignedConstants& constants;
  int64_t memory_limit;
  Team& team;
  ConstantMemory& memory;
  int64_t cache_bytes;  ///< Activations that pass it run in slices, which hold as much.
  /// No other plan will be made of this block: a plan of all its nodes may lose the constants that it packs.
  bool only_plan = false;
  /// Asked between nodes, unless the plan loses constants as it goes: nobody could plan again. Null: nobody stops it.
  const Interrupt* stop = nullptr;
};

/// Plans the nodes of a block from `from` on. Errors: those of inference (with the node's place), limit when the arena
/// would exceed the memory limit.
Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context, BlockId block, NodeId from,
                                              std::span<const Live> live);

/// While it lives, each choice of a kernel by the plans that this thread makes is told: the node, what was asked, and
/// what was chosen (null: the reference kernel).
class PlanWatch {
 public:
  using Told =
      std::function<void(NodeId node, const kernels::KernelRequest& request, const kernels::KernelDef* chosen)>;
  explicit PlanWatch(Told told);
  ~PlanWatch();
  PlanWatch(const PlanWatch&) = delete;
  PlanWatch& operator=(const PlanWatch&) = delete;

 private:
  Told told_;
  const Told* before_;
};

/// What a stretch that starts at `from` reads from outside (parameters, outer values, earlier results), and which of
/// those decide extents by their content.
struct LiveIn {
  ValueId value;
  bool by_content = false;
};

/// Of one block: the values that its stretches read from outside, told for one stretch after another.
class Liveness {
 public:
  Liveness(const ir::Graph& graph, BlockId block);
  /// Those of the stretch that starts at `from`, a node of the block. Fast where stretches are asked for in their
  /// order.
  std::vector<LiveIn> before(NodeId from);

 private:
  struct Life {
    ValueId value;
    int64_t made = -1;     ///< By which of the block's nodes; -1: before them all.
    int64_t last = -1;     ///< The last node that reads it or has a block that does; their count: it is a result.
    int64_t decides = -1;  ///< The last node for which its content may decide something; -1: none.
  };
  void find_deciders(const std::vector<NodeId>& nodes, const std::vector<int64_t>& steps,
                     std::unordered_map<uint32_t, Life>& lives) const;

  const ir::Graph& graph_;
  std::unordered_map<uint32_t, int64_t> step_of_;  ///< Where a node stands in the block.
  std::vector<Life> lives_;                        ///< By when they are made.
  std::vector<size_t> alive_;                      ///< Of lives_: those made before step_ and read from there on.
  size_t next_ = 0;
  int64_t step_ = 0;
};

}  // namespace nnex::plan
