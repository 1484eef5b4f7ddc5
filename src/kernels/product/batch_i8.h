#pragma once
// Products of bytes of which neither side is constant: a right-hand side is packed when it is multiplied.

#include "kernels/product/gemm_i8.h"
#include "kernels/product/matrices.h"

namespace nnex::kernels {

class ByteProducts {
 public:
  struct Side {
    const std::byte* x = nullptr;
    bool is_signed = false;
    int32_t zero = 0;
  };

  /// `which`: extents, steps and axes of the products.
  ByteProducts(const simd::Loops& loops, BatchGemm which);

  int64_t columns() const { return which_.one.n; }
  /// Bytes; `to_bytes`: with end.y.
  int64_t workspace(bool to_bytes) const;
  /// `end` is that of the first product: end.y or end.c moves on with the products. `workspace` is aligned to 64 bytes.
  void run(Team& team, const Side& a, const Side& b, const IntEpilogue& end, std::byte* workspace) const;

 private:
  int64_t slab(bool to_bytes) const;

  const simd::Loops* loops_;
  BatchGemm which_;
};

}  // namespace nnex::kernels
