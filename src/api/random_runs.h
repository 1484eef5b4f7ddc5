#pragma once
// Inputs made of nothing, and runs on them: to prove that a network computes what another one does.

#include <cstdint>
#include <random>
#include <vector>

#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// What the inputs of a run are made of.
enum class Numbers : uint8_t {
  usual,     ///< Reals of [-1, 1), integers 0 and 1, which are in place wherever a network looks something up.
  positive,  ///< The same, but reals of (0, 1): roots and logarithms take them.
  edges,     ///< Zeros of both signs, ones, the smallest and some larger reals; integers of 8 bits.
  special    ///< Edges, and NaN and infinities among them.
};

/// Draws numbers: the same of one seed on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}

  double real(Numbers kind);
  int64_t whole(Numbers kind, DType type);

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  std::mt19937_64 random_;
};

/// What extents that are no numbers become, in the order they are tried.
inline constexpr int64_t kUsualExtents[] = {2, 1, 4, 8, 16, 32, 64, 128, 224};

bool has_open_extents(const std::vector<PortInfo>& ports);

/// A tensor for an input; its extents that are no numbers become `unknown`. Errors: unsupported, an input that is no
/// tensor of numbers.
Result<Tensor> made_input(const PortInfo& port, int64_t unknown, Numbers kind, Dice& dice);

/// The outputs of a copy of the graph, run as it stands: no pass. Errors: those of compiling and running.
Result<std::vector<Value>> plain_run(const ir::Graph& graph, const std::vector<Value>& inputs, const RunOptions& run);

struct RandomRun {
  std::vector<Value> inputs, outputs;
};

/// A run on usual inputs, with the first of the usual extents that the graph takes. Errors: as above; that of the first
/// extent, where it takes none.
Result<RandomRun> random_run(const ir::Graph& graph, const RunOptions& run);

/// A run on the inputs that were given, else on usual ones. Errors: as above; unsupported, where it takes none that are
/// made up: numbers that mean something (a rate, an index, a length) cannot be.
Result<RandomRun> proof_run(const ir::Graph& graph, const RunOptions& run, const std::vector<Value>& given);

}  // namespace nnex
