#pragma once
// Chains of element-wise float32 operations that read and write memory once, whatever their number.

#include <cstdint>
#include <optional>
#include <span>

#include "base/threads.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/nest.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// One operation of a chain. Values are numbered: the inputs first, then the results of the steps in order.
struct ChainStep {
  int8_t a = 0;
  int8_t b = -1;  ///< -1: a function of one number, `unary`; else `binary`
  Unary unary = {};
  BinaryKind binary = BinaryKind::add;
};

/// Bytes that a thread could move in the time the step takes for one element.
int64_t cost_of(const ChainStep& step);

/// A chain of steps over a dense result, prepared once. It runs in tiles of 1,024 elements that stay in the first
/// cache; the last step's value is the result. Plain data: copies freely, allocates nothing.
class Chain {
 public:
  static constexpr int kMaxSteps = 24, kMaxInputs = Nest::kMaxOperands, kTiles = 6;

  /// Nothing when there are too many steps, inputs, axes or values alive at once, or shapes do not broadcast to `out`:
  /// the caller then cuts the chain or does without.
  static std::optional<Chain> make(std::span<const int64_t> out, std::span<const std::span<const int64_t>> inputs,
                                   std::span<const ChainStep> steps);
  /// The same for inputs with strides of their own (a transposed or sliced operand).
  static std::optional<Chain> make(const Nest& nest, std::span<const ChainStep> steps);

  /// y may be the buffer of an input that has y's shape.
  void run(const simd::Loops& loops, Team& team, const float* const* inputs, float* y) const;

  int64_t elements() const { return nest_.elements; }

 private:
  struct Step {
    ChainStep what;
    int8_t to = 0;        // the tile it writes; -1: the result
    bool scales = false;  // a product that the next step alone reads, to add to it
  };
  struct Operand;
  struct Tile;

  bool place_values();
  bool run_flat(const simd::Loops& loops, Team& team, const float* const* inputs, float* y) const;
  void run_rows(const simd::Loops& loops, const float* const* inputs, float* y, int64_t begin, int64_t end) const;
  void run_columns(const simd::Loops& loops, const float* const* inputs, float* y, int64_t begin, int64_t end) const;
  void run_tile(const simd::Loops& loops, Tile& tile, float* y) const;
  Operand operand_of(const Tile& tile, int value) const;
  bool run_affine(const simd::Loops& loops, Tile& tile, int i, float* y) const;
  void run_binary(const simd::Loops& loops, const Tile& tile, BinaryKind kind, const Operand& a, const Operand& b,
                  float* y) const;

  Nest nest_;
  Step steps_[kMaxSteps] = {};
  int count_ = 0;
  int64_t cost_ = 0;  // bytes a thread could move in the time of one element
};

}  // namespace nnex::kernels
