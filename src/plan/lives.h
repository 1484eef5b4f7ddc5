#pragma once
// Where the values of a stretch live: from which step to which, and in whose memory.

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"
#include "plan/slices.h"

namespace nnex::plan {

/// Of one value that a stretch makes.
struct Life {
  size_t first = 0, last = 0;  ///< Numbers of nodes: the one that makes it, the last one that reads it.
  bool outside = false;        ///< A later stretch reads it, or it is the block's result.
  bool arena = false;
  bool bound = false;  ///< Computed while planning: the slot holds it from run to run.
  int slices = -1;     ///< Which of the plan's slices alone make and read it; -1: none.
  DType dtype = DType::none;
  Shape shape;  ///< In memory, with dtype, of what is in the arena or shows something there.
};

/// Bytes for a message: in MiB where they are whole or many.
std::string size_text(int64_t bytes);

class Lives {
 public:
  Life& operator[](ValueId v) { return lives_[v.n]; }
  const Life* find(ValueId v) const {
    const auto at = lives_.find(v.n);
    return at == lives_.end() ? nullptr : &at->second;
  }
  bool in_arena(ValueId v) const {
    const Life* life = find(v);
    return life && life->arena;
  }
  /// Whose memory v lies in.
  ValueId root(ValueId v) const {
    const auto at = roots_.find(v.n);
    return at == roots_.end() ? v : at->second;
  }

  /// v gets memory of its own in the arena.
  void place(ValueId v, DType dtype, const Shape& shape);
  /// v lies in the memory of the root r, which lives on with it.
  void show(ValueId v, ValueId r, DType dtype, const Shape& shape);
  /// The same of a value that its step makes there.
  void reuse(ValueId v, ValueId r, DType dtype, const Shape& shape);

  /// Sizes the plan's workspace, lanes and arena, gives its tensors their slots, drops the views that need no step, and
  /// says when objects go. `nodes` are the stretch's, `runs` those of the plan's slices. Error: limit when activations
  /// pass `memory_limit` bytes.
  Status lay_out(Plan& plan, std::span<const NodeId> nodes, std::span<const ItemRun> runs, int64_t memory_limit) const;

 private:
  using Offsets = std::unordered_map<uint32_t, int64_t>;
  Result<Offsets> find_offsets(Plan& plan, std::span<const ItemRun> runs) const;
  void add_slot(Plan& plan, ValueId v, int64_t offset) const;
  void place_views(Plan& plan, const Offsets& offsets) const;
  void release_objects(Plan& plan, std::span<const NodeId> nodes) const;

  std::unordered_map<uint32_t, Life> lives_;
  std::unordered_map<uint32_t, ValueId> roots_;  ///< Of what lies in another's memory.
  std::vector<ValueId> placed_, reusing_;
};

}  // namespace nnex::plan
