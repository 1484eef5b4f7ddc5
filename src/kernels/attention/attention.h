#pragma once
// Attention on float32: for a block of queries at a time, products with the keys, masked softmax, product with the
// values. The scores of a block stay in the second level cache.

#include <cstddef>
#include <cstdint>

#include "base/threads.h"
#include "kernels/simd/loops.h"
#include "ops/attention.h"

namespace nnex::kernels {

/// Rows of `row` floats apart, heads and batches with strides of their own: counts of elements.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};
/// [batch, heads, rows, depth], or [batch, rows, heads * depth] when heads lie side by side.
HeadStrides head_strides(bool side_by_side, int64_t heads, int64_t rows, int64_t depth);

/// A cache and the new positions of keys or values, joined: [batch, heads, past + rows, depth].
struct CacheJoin {
  const float* past = nullptr;   ///< [batch, heads, past_rows, depth]
  const float* fresh = nullptr;  ///< New rows, where `fresh_at` says.
  HeadStrides fresh_at;
  int64_t heads = 0, past_rows = 0, rows = 0, depth = 0;
  float* to = nullptr;

  /// Positions of one batch's head, from begin to end.
  void run(int64_t batch, int64_t head, int64_t begin, int64_t end) const;
};

/// Prepared for one set of extents. Every output element is the same chain of operations whatever the block, the part
/// or the thread that computes it.
class Attention {
 public:
  struct Data {
    const float* q = nullptr;
    const float* k = nullptr;
    const float* v = nullptr;
    HeadStrides q_at, k_at, v_at, y_at;
    const float* added = nullptr;      ///< Mask of numbers.
    const uint8_t* allowed = nullptr;  ///< Mask of truths.
    MaskStrides mask;
    const int64_t* lengths = nullptr;  ///< Valid keys of each batch; null: all.
    const float* sink = nullptr;       ///< Of each head of q.
    float* y = nullptr;
    const CacheJoin* join_k = nullptr;  ///< Makes k, head by head: each is read while it is in the cache.
    const CacheJoin* join_v = nullptr;
  };

  /// sizes: no extent is zero.
  Attention(const simd::Loops& loops, const AttentionAttrs& attrs, const AttentionSizes& sizes, bool has_sink);

  /// Bytes of scratch memory, a multiple of 64.
  int64_t workspace() const;
  void run(Team& team, const Data& data, std::byte* workspace) const;

 private:
  class Unit;

  const simd::Loops& loops_;
  AttentionAttrs attrs_;
  AttentionSizes s_;
  simd::TileShape tile_;
  int64_t rows_ = 0;        ///< Of one product: queries, or with one query the heads that share keys.
  int64_t block_ = 0;       ///< Rows at a time.
  int64_t chunks_ = 1;      ///< Shares of the rows where there are few heads.
  int64_t parts_ = 1;       ///< Of all units; each has scratch of its own.
  int64_t pieces_ = 1;      ///< Of one query's keys, and of its values' columns, where there are few heads.
  int64_t k_floats_ = 0;    ///< Packed keys of a head, or a few packed queries.
  int64_t v_floats_ = 0;    ///< Packed values; 0: read where they lie.
  int64_t row_floats_ = 0;  ///< From one row of scores to the next.
  int64_t transposed_floats_ = 0;
  float hidden_ = 0;  ///< Score of a key that a mask of truths hides.
  bool one_query_ = false;
  bool few_rows_ = false;  ///< Keys times queries: packing the keys would cost more than the product.
};

}  // namespace nnex::kernels
