#pragma once
// A sum of products of two operands over some of their indices, as matrix products: indices that both have and the
// result too count the products, those of one operand are rows or columns, those that are summed over are the depth.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/threads.h"
#include "kernels/nest.h"
#include "kernels/product/gemm.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// An index: its extent, and how far an operand and the result move with it (0: not theirs).
struct ContractionIndex {
  int64_t extent = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
};

/// Prepared for one set of extents: c[result] = sum over `summed` of a * b, each a chain in an order that the extents
/// alone decide. Operands lie anywhere (steps are free), the result is dense.
class Contraction {
 public:
  /// Result indices in order, their `c` is set here; no extent is 0. Without a second operand (alone) every b step is 0
  /// and b counts as 1. Nothing when more axes remain than a Nest holds.
  static std::optional<Contraction> make(const simd::Loops& loops, std::vector<ContractionIndex> result,
                                         std::vector<ContractionIndex> summed, bool alone);

  /// Bytes of scratch memory, a multiple of 64.
  int64_t workspace() const;
  /// Elements of the result.
  int64_t count() const { return count_; }
  void run(Team& team, const float* a, const float* b, float* c, std::byte* workspace) const;

 private:
  /// A copy that brings an operand or the result into the order wanted.
  struct Copy {
    std::optional<Nest> nest;
    int64_t bytes = 0;
    /// x itself, or its copy in `to`.
    const float* of(const simd::Loops& loops, Team& team, const float* x, std::byte* to) const;
  };
  enum class How : uint8_t { copy, multiply, products };
  using Indices = std::vector<ContractionIndex>;

  Contraction(const simd::Loops& loops, bool alone) : loops_(&loops), alone_(alone) {}
  bool plan(Indices result, Indices summed);
  bool plan_products(Indices result, Indices summed);
  bool join_summed(Indices& result, Indices& summed);
  bool make_dense(int64_t ContractionIndex::*side, Copy& copy, const std::vector<ContractionIndex*>& order);
  bool place_result(Indices& result);

  const simd::Loops* loops_;
  bool alone_;
  How how_ = How::products;
  Nest nest_;  ///< Of copy and multiply.
  int64_t count_ = 1;
  bool swapped_ = false;  ///< The second operand multiplies from the left.
  Copy a_, b_, c_;
  BatchGemm products_;
};

}  // namespace nnex::kernels
