#pragma once
// Moving elements without looking at them: transpose, slice, expand, concat, split, pad's inner part, gather. Elements
// have 1, 2, 4 or 8 bytes; pointers need no alignment.

#include <cstdint>
#include <span>

#include "base/threads.h"
#include "kernels/nest.h"
#include "kernels/simd/loops.h"
#include "ops/gather.h"

namespace nnex::kernels {

/// Fills a dense y from x, whose strides the nest's one operand gives: transpose (permuted strides), slice (x points to
/// its first element; steps multiply strides, negative ones walk back), expand (stride 0), or any mixture. Long runs
/// are copied, a transpose goes through square blocks.
void copy_from_strided(const simd::Loops& loops, Team& team, int element_bytes, const Nest& nest, const void* x,
                       void* y);

/// Writes a dense x into y at the strides of the nest's one operand: concat, pad, scatter of slices. No two elements
/// may meet.
void copy_to_strided(Team& team, int element_bytes, const Nest& nest, const void* x, void* y);

/// Copies `rows` runs of `run` bytes, `x_step` and `y_step` bytes apart: one part of a concat or a split.
void copy_runs(Team& team, const void* x, int64_t x_step, void* y, int64_t y_step, int64_t rows, int64_t run);

/// Whether columns of one element, so many, that become rows side by side or are made of them go through blocks that
/// are transposed.
bool turns_columns(int element_bytes, int64_t columns, int64_t rows);
/// y[i, j] = x[j][i]; and y[j][i] = x[i, j], where y[j] is not null.
void join_columns(const simd::Loops& loops, Team& team, int element_bytes, std::span<const void* const> x, int64_t rows,
                  void* y);
void part_columns(const simd::Loops& loops, Team& team, int element_bytes, const void* x, int64_t rows,
                  std::span<void* const> y);

/// The nest of a transpose of a dense x: y[i_axes[0], i_axes[1], ...] = x[i0, i1, ...]. Nothing when more than 8 axes
/// remain.
std::optional<Nest> transpose_nest(std::span<const int64_t> x_shape, std::span<const int64_t> axes);

/// y[o, i, :] = x[o, indices[i], :] for x of shape [outer, extent, inner bytes]. With from_end an index -extent..-1
/// counts from the end, before `outside` acts: a fault, or the nearest legal index. Returns -1, or the position in
/// `indices` of the first index outside; then y is not written.
template <class Index>
int64_t gather(Team& team, const void* x, int64_t outer, int64_t extent, int64_t inner, const Index* indices,
               int64_t count, bool from_end, Outside outside, void* y);

}  // namespace nnex::kernels
