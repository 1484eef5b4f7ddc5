#pragma once
// Right-hand sides of products that stay codes of 4 or 8 bits in memory, or float16 or bfloat16: what
// dequantize_linear, dequantize_codebook or cast makes of them is computed where it is multiplied, with the same bytes.

#include <optional>

#include "base/built.h"
#include "base/threads.h"
#include "kernels/simd/loops.h"
#include "nnex/tensor.h"
#include "ops/built.h"

namespace nnex::kernels {

/// Whether this build has products of weights that are float16 or bfloat16.
constexpr bool kHasHalfWeights = is_built("cast") && (runs_on(DType::f16) || runs_on(DType::bf16));

constexpr bool kHasCodebooks = is_built("dequantize_codebook");

/// A matrix of k rows and n columns that dequantize_linear, dequantize_codebook or cast makes of constants, by their
/// types and shapes.
struct CodeShape {
  int bits = 4;
  bool is_signed = true;
  bool brain = false;  ///< Of 16 bits: bfloat16.
  int64_t k = 0, n = 0;
  int64_t k_step = 0, n_step = 0;  ///< Between codes of neighbouring rows and columns.
  int64_t block = 0;               ///< Rows that share a scale: a multiple of 8.
  int64_t blocks = 1;
  int64_t block_step = 0, scale_step = 0;  ///< Between scales of neighbouring blocks and columns.
  bool own_zeros = false;                  ///< As many zero points as scales; else one, or none.
  bool codebook = false;                   ///< Codes of 4 bits stand for numbers of a codebook.

  /// Nothing where blocks lie along columns, or end within words of codes. `zero` may be null; `transposed`: the codes
  /// are [n, k].
  static std::optional<CodeShape> of(DType type, const Shape& codes, const Shape& scale, const Shape* zero,
                                     int64_t axis, int64_t block_size, bool transposed);
  /// Of one of the matrices along the first axis of codes, which all have scales of their own; nothing where they do
  /// not begin at bytes.
  static std::optional<CodeShape> of_each(DType type, const Shape& codes, const Shape& scale, const Shape* zero,
                                          int64_t axis, int64_t block_size, bool transposed);
  /// Of float16 or bfloat16, [k, n] or where transposed [n, k]; nothing for other types.
  static std::optional<CodeShape> of_halves(DType type, const Shape& weights, bool transposed);
};

/// Constants as loops read them: panels as wide as those of floats.
class CodeColumns {
 public:
  /// `packed`: what pack() made for the same loops and shape, aligned to 4 bytes; perhaps not yet.
  CodeColumns(const simd::Loops& loops, const CodeShape& of, const Tensor* zero, const std::byte* packed);

  int64_t bytes() const;
  /// `zero`: or the codebook.
  void pack(Team& team, const Tensor& codes, const Tensor& scale, const Tensor* zero, std::byte* packed) const;
  /// Of halves.
  void pack(Team& team, const Tensor& halves, std::byte* packed) const;
  simd::CodePanel panel(int64_t i) const;
  /// All weights, as pack_b packs floats.
  void unpack(const simd::Loops& loops, float* to) const;

 private:
  int64_t word_rows() const { return 32 / of_.bits; }
  int64_t words() const { return (of_.k + word_rows() - 1) / word_rows(); }
  int64_t padded_columns() const;
  int64_t book_bytes() const { return of_.codebook ? 16 * 4 : 0; }

  simd::TileShape shape_;
  CodeShape of_;
  int32_t bias_ = 0;      ///< What is added to signed codes, so that none is below 0.
  int32_t one_zero_ = 0;  ///< With it added.
  const std::byte* packed_;
};

}  // namespace nnex::kernels
