#pragma once
// The memory of a graph's constants: aligned where steps read it, and given back once kernels have copies.

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace nnex::plan {

/// Pages of mapped files are given back at any time: they are read again from the file. Other memory is given back only
/// where the content will not be needed again: by a plan that is the only one, of a graph whose constants nobody else
/// holds. What its owner may hold too (a caller's files in memory) is let go of, to be freed with the last constant.
class ConstantMemory {
 public:
  explicit ConstantMemory(ir::Graph& graph) : graph_(graph) {}

  /// The graph's constants are nobody else's, and its extents never change; `alone`: their memory is nobody else's
  /// either. If it may be, small constants get memory of their own, so that none of them keeps all of a file. Before
  /// the first plan.
  void allow_loss(bool alone);
  /// Somebody has seen the graph and may hold its constants.
  void keep_all() { loss_allowed_ = false; }
  bool may_lose() const { return loss_allowed_; }

  /// Gives back every page of the mapped files that constants lie in, once those who looked at all of them are done.
  void release_files() const;

  /// One input of one node that read constant v is packed; v's memory is given back when it is of a file, or,
  /// where this is the only plan there will be, when nothing is left that reads it. Only the only plan's producer may
  /// say `only_plan`, and nobody may read the graph meanwhile.
  void packed(ValueId v, bool only_plan);

  /// What a late constant (ir::Graph::late) was made to be stays; what it was made of is as if it were packed.
  void keep(ValueId v, Tensor made, bool only_plan);
  /// Makes every late constant that is left. Error: limit.
  Status keep_late();

  /// Whether the content of the constant was given back.
  static bool is_lost(const Tensor& t) { return t.data() == nullptr && t.bytes() > 0; }

 private:
  /// Constants in one piece of memory: those that share bytes, one after the other.
  struct Piece {
    const std::byte *begin = nullptr, *end = nullptr;
    std::vector<ValueId> values;
    size_t readers = 0;  ///< Uses that no packed copy serves.
  };
  void move_small();
  void find_pieces();
  void lose(const Piece& piece);

  ir::Graph& graph_;
  std::atomic<bool> loss_allowed_{false};
  bool alone_ = false;
  bool found_ = false;
  std::vector<Piece> pieces_;
  std::unordered_map<uint32_t, size_t> piece_of_;
};

/// Constants of a graph in aligned memory, made at first use. Safe from any thread.
class AlignedConstants {
 public:
  explicit AlignedConstants(const ir::Graph& graph) : graph_(graph) {}
  Result<Value> get(ValueId v);

 private:
  const ir::Graph& graph_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, Value> made_;
};

}  // namespace nnex::plan
